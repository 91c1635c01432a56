// SPDX-License-Identifier: GPL-2.0
/*
 * A counter that the NMI watchdog keeps, on each processor that lets it: nothing that the drivers
 * do to a CPU stops, changes or reads it, and its overflows are perf's.
 */
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define PERIOD	1000

static struct model_config config;
static u64 kept;		/* a bit of the global registers */

/* The processors: AMD's three generations, and Intel's versions from 2 on. */
enum { K7, CORE, V2, INTEL_2, INTEL_6 = INTEL_2 + 4, NR_PROCESSORS };

static void choose_processor(int i)
{
	static const enum model_amd generations[] = { MODEL_AMD_K7, MODEL_AMD_CORE, MODEL_AMD_V2 };
	static const u32 signatures[] = { 0x100f42, 0x830f10, 0xa60f12 };

	if (i >= INTEL_2) {
		config = usual_config(i - INTEL_2 + 2);
		kept = GLOBAL_FIXED(1);
		return;
	}
	config = (struct model_config) {
		.version = i == V2 ? 2 : 1, .amd = generations[i], .nr_pmcs = i == K7 ? 4 : 6,
		.pmc_width = 48, .signature = signatures[i], .no_masking = true,
	};
	kept = BIT(0);
}

static u64 *counter_of_watchdog(unsigned int cpu)
{
	return kept >> 32 ? &model.cpu[cpu].fixed[1] : &model.cpu[cpu].pmc[0];
}

/* Return what enables the counter: its event select, or its fields. */
static u64 enabled_by(unsigned int cpu)
{
	return kept >> 32 ? model.cpu[cpu].fixed_ctrl & 0xf0000000f0 : model.cpu[cpu].evntsel[0];
}

/* Return what enables it as perf sets it. */
static u64 enabled_by_perf(void)
{
	return kept >> 32 ? ((FIX_OS | FIX_USR | FIX_PMI) << 4 | FIX_NO_RDPMC(1)) &
			    model_valid_bits(REG_FIXED_CTRL) :
			    USER(EV_INSTRUCTIONS) | SEL_OS | SEL_INT;
}

static void start_watchdog(unsigned int cpu)
{
	if (kept >> 32)
		model.cpu[cpu].fixed_ctrl = enabled_by_perf();
	else
		model.cpu[cpu].evntsel[0] = enabled_by_perf();
	if (model_config()->version >= 2)
		model.cpu[cpu].global_ctrl = kept;
	*counter_of_watchdog(cpu) = -(u64)PERIOD & model_mask(0);
}

/* Start the watchdog of each CPU, load the module, and reserve the counters. */
static void begin(void)
{
	unsigned int cpu;

	model_init(&config);
	model.new_perf = true;
	model.kept = kept;
	fake_perf = (struct fake_perf) { .watchdog = kept, .period = PERIOD };
	machine_use_service();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		fake_cpu = cpu;
		start_watchdog(cpu);
		model.cpu[cpu].lvtpc = APIC_DM_NMI;	/* perf's */
	}
	fake_cpu = 0;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_pmc, (u32)kept);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_fixed, kept >> 32);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask | perfctr_cpu_info.fixed_mask << 32,
			  model_exists() & ~kept);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
}

static void end(void)
{
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_perf.claimed, 0);
	machine_exit();
}

/* The counter counts on, as perf has set it, and no other does. */
static void check_alone(unsigned int cpu)
{
	ck_assert_uint_eq(enabled_by(cpu), enabled_by_perf());
	ck_assert_uint_eq(model_counting(&model.cpu[cpu]), kept);
}

/* A thread with a counter without and one with an interrupt. */
static void use_two(struct thread *t)
{
	struct perfctr_cpu_control control;

	control_init(&control);
	control_add(&control, 1, USER(EV_INSTRUCTIONS) | SEL_OS);
	control_add_imode(&control, 2, USER(EV_INSTRUCTIONS) | SEL_OS, 7);
	thread_init(t);
	thread_control(t, &control, 0);
}

/* All that the CPU executes is counted by the watchdog's counter, in whole periods and a rest. */
static u64 watchdog_has_counted(unsigned int cpu)
{
	return fake_perf.overflows * PERIOD + ((*counter_of_watchdog(cpu) + PERIOD) & model_mask(0));
}

/*
 * AMD without a global control: the watchdog's counter loses no event while threads count, sample
 * and switch, perf handles its overflows, and the threads' counts are exact.
 */
START_TEST(counts_on)
{
	static const struct work works[] = {
		{ .instructions = 3, .cycles = 5 }, { .instructions = 8, .cycles = 11 },
		{ .instructions = 2, .cycles = 5, .kernel = true }, { .instructions = 40 },
	};
	struct thread t, other;
	u64 executed = 0;
	unsigned int i;

	choose_processor(_i % 2);
	perfctr_isolate = _i / 2;
	begin();
	use_two(&t);
	use_two(&other);
	for (i = 0; i < 2000; i++) {
		struct thread *next = i % 3 ? &t : &other;
		const struct work *work = &works[i % ARRAY_SIZE(works)];

		thread_in(next, 0);
		ck_assert(model_counting(&model.cpu[0]) & kept);
		if (!i)		/* the self-test has executed something, too */
			executed = watchdog_has_counted(0);
		thread_run(next, work);
		executed += work->instructions;
		if (i % 5 == 0)
			thread_sample(next);
		if (i % 7 == 0)
			perfctr_x86_scrub();
		thread_out(next);
		if (perfctr_isolate)
			check_alone(0);
		stranger_run(0, &works[0]);
		executed += works[0].instructions;
		nmi_arrives(true);
	}
	thread_check(&t);
	thread_check(&other);
	ck_assert_uint_eq(watchdog_has_counted(0), executed);
	ck_assert_uint_gt(fake_perf.overflows, 20);
	perfctr_cpu_release();
	check_alone(0);
	ck_assert_uint_eq(model.cpu[0].lvtpc, APIC_DM_NMI);
	machine_exit();
}
END_TEST

/* The NMI of the watchdog comes with one of a thread's, before it or after it: both are handled. */
START_TEST(both_overflow)
{
	struct thread t;
	unsigned int to_go, overflows;

	choose_processor(_i);
	perfctr_isolate = true;
	begin();
	use_two(&t);
	for (to_go = 1; to_go < 20; to_go++) {
		thread_in(&t, 0);
		*counter_of_watchdog(0) = -(u64)to_go & model_mask(0);
		overflows = fake_perf.overflows;	/* those during the self-test, too */
		service.late = true;
		thread_run(&t, &(struct work) { .instructions = 19 });
		service.late = false;
		nmi_arrives(true);
		ck_assert_uint_eq(fake_perf.overflows, overflows + 1);
		interrupts_on();
		thread_check_settled(&t);
		thread_out(&t);
		thread_check(&t);
		jiffies += HZ;
	}
	end();
}
END_TEST

/* On a CPU that does not count, an NMI of the watchdog is none of ours. */
START_TEST(only_perfs)
{
	choose_processor(_i);
	begin();
	fake_cpu = 0;
	ck_assert_int_eq(perfctr_cpu_prepare(), 0);
	fake_perf.overflows = 0;
	*counter_of_watchdog(0) = -(u64)PERIOD & model_mask(0);
	stranger_run(0, &(struct work) { .instructions = PERIOD + 10 });
	ck_assert(model_take_pmi());
	ck_assert(fake_nmi(true));
	ck_assert_uint_eq(fake_perf.overflows, 1);
	ck_assert_msg(!fake_nmi(true), "a foreign NMI is claimed");
	end();
}
END_TEST

/* A counter that does not work: the CPU is perf's again, and its watchdog has not stopped. */
START_TEST(survives_failed_test)
{
	choose_processor(_i);
	config.dead = BIT(1);
	begin();
	fake_cpu = 1;
	ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
	ck_assert_uint_eq(fake_perf.claimed, 0);
	check_alone(1);
	end();
}
END_TEST

/* The counters of a CPU are given up, as in a storm of NMIs. */
START_TEST(survives_halt)
{
	struct thread t;

	choose_processor(_i);
	perfctr_isolate = true;
	begin();
	use_two(&t);
	thread_in(&t, 0);
	fake_irqs_off = true;
	fake_in_nmi = true;
	perfctr_fail_here();
	fake_in_nmi = false;
	fake_irqs_off = false;
	check_alone(0);
	fake_irqs_off = true;
	perfctr_cpu_suspend(&t.state);
	fake_irqs_off = false;
	check_alone(0);
	end();
}
END_TEST

/* Before a reboot, which may be a kexec, perf stops its events by itself, but later. */
START_TEST(survives_shutdown)
{
	struct thread t;

	choose_processor(_i);
	perfctr_isolate = true;
	begin();
	use_two(&t);
	thread_in(&t, 1);
	thread_run(&t, &(struct work) { .instructions = 3 });
	fake_cpu = 3;
	fake_reboot();
	check_alone(0);
	check_alone(1);
	thread_out(&t);
	thread_check(&t);
	check_alone(1);
	thread_refused(&t, 1);
	check_alone(1);
	/* Nothing is given back to perf any more. */
}
END_TEST

/*
 * Suspend to RAM loses the registers of the boot CPU, perf's, too.  There the driver enables
 * nothing but what perf had set, and writes no event select of perf's.  The watchdog of the others
 * starts anew when they come online.
 */
START_TEST(sleeps)
{
	struct thread t;
	unsigned int i;

	choose_processor(_i);
	perfctr_isolate = true;
	begin();
	use_two(&t);
	thread_in(&t, 0);
	thread_run(&t, &(struct work) { .instructions = 9 });
	thread_out(&t);
	fake_suspend_to_ram();
	ck_assert_uint_eq(model_counting(&model.cpu[0]) & ~kept, 0);
	if (config.version >= 2)
		ck_assert_uint_eq(model.cpu[0].global_ctrl, kept);
	if (kept >> 32)
		check_alone(0);
	else
		ck_assert_uint_eq(model.cpu[0].evntsel[0], 0);
	ck_assert_uint_eq(*counter_of_watchdog(0), 0);
	for (i = 0; i < 2; i++) {
		fake_cpu = i;
		/* perf enables the event again: of the boot CPU at its next change of events. */
		if (!(kept >> 32) || i)
			start_watchdog(i);
		thread_in(&t, i);
		thread_run(&t, &(struct work) { .instructions = 9 });
		ck_assert(model_counting(&model.cpu[i]) & kept);
		thread_out(&t);
		thread_check(&t);
		check_alone(i);
	}
	end();
}
END_TEST

/* perf takes its event off while threads count: nothing is written to a general counter. */
START_TEST(taken_off)
{
	struct thread t;
	unsigned int wrmsrs;

	choose_processor(_i);
	perfctr_isolate = true;
	begin();
	use_two(&t);
	thread_in(&t, 0);
	wrmsrs = model_wrmsrs(&model.cpu[0]);
	model.cpu[0].evntsel[0] &= ~SEL_EN;
	perfctr_x86_pmc_unkept(0);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), wrmsrs);
	thread_run(&t, &(struct work) { .instructions = 9 });
	thread_out(&t);
	thread_check(&t);
	end();
	ck_assert(!(model.cpu[0].evntsel[0] & SEL_EN));
}
END_TEST

Suite *watchdog_suite(void)
{
	Suite *suite = suite_create("watchdog");
	TCase *tc = tcase_create("watchdog");

	tcase_add_loop_test(tc, counts_on, 0, 4);
	tcase_add_loop_test(tc, both_overflow, K7, INTEL_2);
	tcase_add_loop_test(tc, only_perfs, K7, INTEL_2);
	tcase_add_loop_test(tc, survives_failed_test, 0, NR_PROCESSORS);
	tcase_add_loop_test(tc, survives_halt, 0, NR_PROCESSORS);
	tcase_add_loop_test(tc, survives_shutdown, 0, NR_PROCESSORS);
	tcase_add_loop_test(tc, sleeps, 0, NR_PROCESSORS);
	tcase_add_loop_test(tc, taken_off, K7, INTEL_2);
	suite_add_tcase(suite, tc);
	return suite;
}
