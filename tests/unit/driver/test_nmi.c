// SPDX-License-Identifier: GPL-2.0
/*
 * NMIs at any moment: each operation is done again and again, with an NMI ahead
 * of its first access to a register, of its second, and so on to the last.  No
 * count and no overflow is lost, none is found twice, and an NMI is claimed if
 * and only if it is ours.
 */
#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static struct model_config config;
static struct thread a, b;

/* ---- what happens ------------------------------------------------------- */

enum event {
	LATE,			/* the overflow was before the operation, its NMI comes now */
	FOREIGN,		/* nothing of ours */
	FOREIGN_FIRST,		/* the overflow was before; an NMI of others, its own right after */
	OVERFLOWS,		/* the kernel's own work makes one overflow, */
	ALL_OVERFLOW,		/* or all, */
	OVERFLOWS_LATE,		/* the NMI one access later, */
	OVERFLOWS_LATER,	/* or at the end */
	NR_EVENTS
};

static const char *const event_names[] = {
	"late NMI", "foreign NMI", "foreign NMI before a late one", "overflow", "all overflow",
	"overflow, NMI next", "overflow, late NMI",
};

static enum event event;
static unsigned int at, accesses, on;	/* that access, of so many, on that CPU */
static bool no_work;		/* who would be counted is not certain here */

static void work_inside(u64 instructions)
{
	struct thread *t = thread_of(fake_cpu);

	if (t && !no_work)
		thread_run_inside(t, &(struct work) {
			.kernel = true, .instructions = instructions,
		});
}

static void happen(void)
{
	switch (event) {
	case LATE:
		nmi_arrives(false);
		break;
	case FOREIGN:
	case FOREIGN_FIRST:
		nmi_foreign(false);
		break;
	case ALL_OVERFLOW:
		work_inside(50);
		nmi_arrives(false);
		break;
	case OVERFLOWS:
		work_inside(7);
		nmi_arrives(false);
		break;
	default:
		work_inside(7);
	}
}

static void on_access(void)
{
	if (fake_cpu != on)
		return;
	if (accesses == at)
		happen();
	else if (accesses == at + 1 && (event == OVERFLOWS_LATE || event == FOREIGN_FIRST))
		nmi_arrives(false);
	accesses++;
}

/* ---- what it happens to ------------------------------------------------- */

static const struct work some = { .instructions = 3, .cycles = 5 };
static const struct work enough = { .instructions = 8, .cycles = 11 };
static const struct work in_kernel = { .instructions = 2, .cycles = 5, .kernel = true };

static void give_mode(struct thread *t, unsigned int first, bool amode)
{
	struct perfctr_cpu_control control;

	thread_init(t);
	control_init(&control);
	if (amode)
		control_add(&control, first, USER(EV_INSTRUCTIONS) | SEL_OS);
	if (amode && config.version >= 2)
		control_add(&control, FIXED(1), FIX_USR);
	control_add_imode(&control, first + 1, USER(EV_INSTRUCTIONS) | SEL_OS, 7);
	control_add_imode(&control, (first + 2) % 4, USER(EV_INSTRUCTIONS), 11);
	if (config.version >= 2)
		control_add_imode(&control, FIXED(0), FIX_USR | FIX_OS, 23);
	thread_control(t, &control, 0);
}

static void give(struct thread *t, unsigned int first)
{
	give_mode(t, first, true);
}

static bool nmi_is_late(void)
{
	return event == LATE || event == FOREIGN_FIRST;
}

/* An overflow whose NMI is not there yet. */
static void overflow_before(struct thread *t)
{
	if (nmi_is_late())
		thread_run(t, &enough);
}

struct operation {
	const char *name;
	void (*before)(void);
	void (*op)(void);
	unsigned int flags;
};

#define HELD		0x01	/* overflows wait for IRESUME */
#define NO_WORK		0x02
#define NO_WORK_1	0x04	/* version 1 cannot load a counter that stands */
#define IMODE_ONLY	0x08	/* what counts can be told while it is resumed */

static void running(void)
{
	thread_in(&a, 0);
	thread_run(&a, &some);
	service.late = true;
	overflow_before(&a);
}

static void out(void)
{
	running();
	thread_out(&a);
}

/* Its counters are as it left them, or another's, or nobody's. */
static void b_was_there(void)
{
	out();
	thread_in(&b, 0);
	thread_out(&b);
}

static void lost(void)
{
	out();
	memset(model.cpu[0].pmc, 0, sizeof(model.cpu[0].pmc));
	memset(model.cpu[0].fixed, 0, sizeof(model.cpu[0].fixed));
}

static void came_from_elsewhere(void)
{
	thread_in(&a, 1);
	thread_run(&a, &some);
	service.late = true;
	overflow_before(&a);
	thread_out(&a);
	fake_cpu = 1;
	nmi_arrives(false);
	fake_cpu = 0;
}

static void holds(void)
{
	thread_in(&a, 0);
	service.holds = true;
	thread_run(&a, &enough);
	service.late = true;
	if (nmi_is_late()) {	/* another's is still to come */
		thread_out(&a);
		thread_in(&b, 0);
		thread_run(&b, &enough);
		thread_out(&b);
		thread_in(&a, 0);
	}
}

static void goes(void)
{
	thread_out(&a);
}

static void comes(void)
{
	thread_in(&a, 0);
}

/* Another CPU's interrupt is first. */
static void comes_and_is_sampled(void)
{
	service.sampled = true;
	thread_in(&a, 0);
	service.sampled = false;
}

static void is_sampled(void)
{
	thread_sample(&a);
}

static void changes(void)
{
	thread_out(&a);
	thread_in(&b, 0);
}

static void resumes(void)
{
	if (a.held)
		thread_iresume(&a);
}

static const struct operation operations[] = {
	{ "suspend", running, goes, 0 },
	{ "suspend, to be held", running, goes, HELD },
	{ "resume", out, comes, 0 },
	{ "resume after another", b_was_there, comes, NO_WORK },
	{ "resume of i-mode only, after another", b_was_there, comes, IMODE_ONLY },
	{ "resume of i-mode only, and sample", b_was_there, comes_and_is_sampled, IMODE_ONLY },
	{ "resume after loss", lost, comes, 0 },
	{ "resume elsewhere", came_from_elsewhere, comes, 0 },
	{ "resume, to be held", out, comes, HELD },
	{ "sample", running, is_sampled, 0 },
	{ "sample, to be held", running, is_sampled, HELD },
	{ "scrub", running, perfctr_x86_scrub, NO_WORK_1 },
	{ "scrub, to be held", running, perfctr_x86_scrub, HELD | NO_WORK_1 },
	{ "switch", running, changes, 0 },
	{ "IRESUME", holds, resumes, HELD },
};

static void end(struct thread *t)
{
	unsigned int i;

	if (t->held)
		thread_iresume(t);
	if (t->cpu < 0)
		thread_in(t, 0);
	thread_check_settled(t);
	for (i = 0; i < 20; i++) {
		thread_run(t, i % 4 ? &some : &in_kernel);
		if (i % 7 == 6)
			thread_sample(t);
	}
	thread_out(t);
	thread_check(t);
}

static bool all_seen(const struct operation *o)
{
	unsigned int i;

	machine_start(&config, perfctr_isolate);
	give_mode(&a, 0, !(o->flags & IMODE_ONLY));
	give(&b, 1);
	/* What LVTPC does has been seen. */
	thread_in(&a, 0);
	thread_run(&a, &enough);
	thread_out(&a);
	jiffies += HZ;
	service.holds = o->flags & HELD;
	o->before();
	/* No NMI is taken for one that is late, but where one is. */
	if (!nmi_is_late())
		jiffies += HZ;
	fake_cpu = 0;
	accesses = 0;
	no_work = o->flags & NO_WORK || (o->flags & NO_WORK_1 && config.version < 2);
	model.on_access = on_access;
	o->op();
	model.on_access = NULL;

	/* What is still to come comes now, and finds user mode at times. */
	service.late = false;
	service.holds = false;
	fake_cpu = 0;
	nmi_arrives(at & 1);
	for (i = 0; i < NR_CPUS; i++) {
		fake_cpu = i;
		interrupts_on();
	}
	if (a.cpu >= 0)
		end(&a);
	end(&b);
	end(&a);
	for (i = 0; i < NR_CPUS; i++)
		require(!model.cpu[i].lost_pmis, "an interrupt was lost, LVTPC being masked");
	machine_stop();
	return at >= accesses;
}

/* Versions, isolation and who watches. */
#define VARIANTS	(5 * 3)

static void variant(int i)
{
	config = usual_config(1 + i % 5);
	perfctr_isolate = i / 5;
	fake_watched = i / 5 == 2;
}

static void anywhere(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		for (event = 0; event < NR_EVENTS; event++) {
			/* Latched next to another it is the kernel's to sort out. */
			if (event == FOREIGN_FIRST && (!config.slow || config.no_masking))
				continue;
			at = 0;
			do
				snprintf(model_context, sizeof(model_context),
					 "%s: %s at access %u", operations[i].name,
					 event_names[event], at);
			while (!all_seen(&operations[i]) && ++at);
		}
	}
}

START_TEST(masked_when_due)
{
	variant(_i);
	anywhere();
}
END_TEST

START_TEST(masked_when_it_comes)
{
	variant(_i);
	config.slow = true;
	config.no_full_write = true;
	anywhere();
}
END_TEST

START_TEST(not_masked)
{
	variant(_i);
	config.no_masking = true;
	anywhere();
}
END_TEST

/* Somebody else's, as long as `a` is not there yet: whoever counts it counts wrong. */
static void works_for_others(void)
{
	if (a.cpu < 0)
		model_run(&(struct work) { .kernel = true, .instructions = 7 });
}

/* Who comes with an overflow starts nothing, and takes nothing over that was left running. */
START_TEST(others_left_running)
{
	struct perfctr_cpu_control control;

	config = usual_config(1);
	config.no_masking = _i;
	machine_start(&config, false);
	give(&a, 0);
	thread_init(&b);
	control_init(&control);
	control_add(&control, 0, USER(EV_INSTRUCTIONS) | SEL_OS);
	thread_control(&b, &control, 0);
	event = LATE;
	came_from_elsewhere();
	thread_in(&b, 0);
	thread_run(&b, &some);
	thread_out(&b);
	model.on_access = works_for_others;
	thread_in(&a, 0);
	model.on_access = NULL;
	service.late = false;
	end(&a);
	end(&b);
	machine_stop();
}
END_TEST

/* ---- what others start -------------------------------------------------- */

static const struct work a_program = { .instructions = 30 };

/* Without isolation these may go on: counter 0 and fixed counter 1, see give_mode(). */
static const u64 a_mode_counters = BIT_ULL(0) | GLOBAL_FIXED(1);

/*
 * Somebody sets all of GLOBAL_CTRL while the thread is off its CPU, and others run there.
 * An interrupt of what it left is ours, ends that, and no count goes wrong.
 */
START_TEST(started_by_others)
{
	u64 a_mode;
	unsigned int i;

	variant(_i % 4 + 1 + _i / 4 % 2 * 5);	/* those with GLOBAL_CTRL, nobody watches */
	config.no_masking = _i / 8;
	a_mode = perfctr_isolate ? 0 : a_mode_counters;
	machine_start(&config, perfctr_isolate);
	give(&a, 0);
	give(&b, 1);
	for (i = 0; i < 5; i++) {
		thread_in(&a, 0);
		thread_run(&a, &some);
		thread_out(&a);
		jiffies += HZ;
		model.cpu[0].global_ctrl = model_exists();
		service.late = true;
		stranger_run(0, &a_program);
		ck_assert(model.cpu[0].pmi);
		nmi_arrives(true);
		service.late = false;
		ck_assert(!config.no_masking || !(model.cpu[0].global_ctrl & ~a_mode));
		ck_assert_int_eq(fake_nmi(true), config.no_masking);
		jiffies += HZ;
		ck_assert(!fake_nmi(true));
		if (i % 2) {
			/* nor does what it goes on from depend on who has started it */
			model.cpu[0].global_ctrl = model_exists();
			stranger_run(0, &(struct work) { .instructions = 1, .kernel = true });
			thread_in(&b, 0);
			thread_run(&b, &some);
			thread_out(&b);
			jiffies += HZ;
		}
	}
	end(&a);
	end(&b);
	machine_stop();
}
END_TEST

/* ---- taking the CPUs and giving them back ------------------------------- */

static void reserves(void)
{
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
}

static void goes_offline(void)
{
	fake_cpu_down(1);
}

static void comes_online(void)
{
	fake_cpu_up(1);
}

static const struct {
	const char *name;
	void (*op)(void);
	bool ours;		/* before it */
} machine_operations[] = {
	{ "reserve", reserves, false },
	{ "release", perfctr_cpu_release, true },
	{ "offline", goes_offline, true },
	{ "online", comes_online, true },
	{ "suspend to RAM", fake_suspend_to_ram, true },
};

/* What the kernel, perf or nobody may have had in LVTPC. */
static const u32 lvtpcs[] = {
	APIC_LVT_MASKED, APIC_DM_NMI, APIC_DM_NMI | APIC_LVT_MASKED, 0xfe,
};

/* There is i-mode only with a handler. */
static void unexpected(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	ck_abort_msg("an overflow of %p was reported, regs %p", (void *)state, (void *)regs);
}

/* How many accesses there were.  The last of those that stop is LVTPC's: all is over then. */
static unsigned int machine_operation(unsigned int i, u32 lvtpc)
{
	void (*op)(void) = machine_operations[i].op;
	unsigned int cpu;

	model_init(&config);
	perfctr_cpu_set_ihandler(unexpected);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		model.cpu[cpu].lvtpc = lvtpc;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	jiffies += HZ;
	if (machine_operations[i].ours)
		reserves();
	if (event == LATE) {
		machine_use_service();
		give(&a, 0);
		thread_in(&a, on);
		service.late = true;
		thread_run(&a, &enough);
		thread_out(&a);
	}
	if (op == comes_online)
		fake_cpu_down(1);
	accesses = 0;
	model.on_access = on_access;
	op();
	model.on_access = NULL;

	ck_assert_uint_eq(model.cpu[on].lvtpc,
			  op == perfctr_cpu_release || op == goes_offline ? lvtpc : APIC_DM_NMI);
	fake_cpu = on;
	nmi_foreign(false);
	fake_cpu = 0;
	if (op == goes_offline)
		fake_cpu_up(1);
	if (op != perfctr_cpu_release)
		perfctr_cpu_release();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		/* A CPU that was off has what a reset leaves. */
		bool was_off = op == fake_suspend_to_ram ? cpu : on && cpu == on;

		ck_assert_uint_eq(model.cpu[cpu].lvtpc, was_off ? APIC_LVT_MASKED : lvtpc);
	}
	machine_exit();
	return accesses;
}

START_TEST(take_and_give_back)
{
	static const enum event events[] = { FOREIGN, LATE };
	unsigned int i, j, k, n;

	variant(_i % 5 + 5);
	config.slow = _i / 5 == 1;
	config.no_masking = _i / 5 == 2;
	for (i = 0; i < ARRAY_SIZE(machine_operations); i++) {
		void (*op)(void) = machine_operations[i].op;
		bool stops = op == perfctr_cpu_release || op == goes_offline;

		on = op == goes_offline || op == comes_online;
		for (j = 0; j < ARRAY_SIZE(events); j++) {
			event = events[j];
			if (event == LATE && !stops)
				continue;
			for (k = 0; k < ARRAY_SIZE(lvtpcs); k++) {
				at = ~0U;
				n = machine_operation(i, lvtpcs[k]) - (event == LATE);
				ck_assert_uint_gt(n, 0);
				for (at = 0; at < n; at++) {
					snprintf(model_context, sizeof(model_context),
						 "%s (LVTPC %#x): %s at access %u",
						 machine_operations[i].name, lvtpcs[k],
						 event_names[event], at);
					machine_operation(i, lvtpcs[k]);
				}
			}
		}
	}
}
END_TEST

/* ---- whose it is -------------------------------------------------------- */

/* Where LVTPC is not masked, NMIs are claimed for a while after an overflow. */
START_TEST(expected_soon)
{
	static const unsigned long late[] = { 0, HZ / 20, HZ / 10 - 1, HZ / 10, HZ / 5, 100 * HZ };
	unsigned int i;

	variant(_i);
	config.no_masking = true;
	machine_start(&config, perfctr_isolate);
	give(&a, 0);
	thread_in(&a, 0);
	for (i = 0; i < ARRAY_SIZE(late); i++) {
		service.late = true;
		thread_run(&a, &enough);
		thread_out(&a);
		jiffies += late[i];
		ck_assert(model_take_pmi());
		ck_assert_int_eq(fake_nmi(false), late[i] < HZ / 10);
		ck_assert_int_eq(fake_nmi(false), late[i] < HZ / 10);
		service.late = false;
		thread_in(&a, 0);
		jiffies += HZ;
		ck_assert(!fake_nmi(false));
	}
	thread_out(&a);
	machine_stop();
}
END_TEST

/* An overflow of a thread that is switched out before its NMI. */
static void overflow_late(void)
{
	give(&a, 0);
	thread_in(&a, 0);
	service.late = true;
	thread_run(&a, &enough);
	thread_out(&a);
}

/* Where it is, nothing need be guessed: not the first time, and not on another CPU. */
START_TEST(masked_is_certain)
{
	variant(_i);
	machine_start(&config, perfctr_isolate);
	overflow_late();
	nmi_arrives(false);
	ck_assert_msg(!fake_nmi(false), "an NMI is claimed after that which was expected");
	service.late = false;
	thread_in(&a, 1);
	ck_assert(!fake_nmi(true));
	thread_out(&a);
	ck_assert(!fake_nmi(true));
	machine_stop();
}
END_TEST

static void foreign_now(void)
{
	ck_assert(!fake_nmi(false));
}

/* Who masks LVTPC before the system sleeps is the kernel: it tells nothing of the processor. */
START_TEST(masked_for_sleep)
{
	variant(_i);
	config.no_masking = true;
	machine_start(&config, perfctr_isolate);
	fake_almost_asleep = foreign_now;
	fake_suspend_to_ram();
	fake_almost_asleep = NULL;
	/* NMIs that come late are known still. */
	overflow_late();
	ck_assert(model_take_pmi());
	ck_assert(fake_nmi(false));
	ck_assert(fake_nmi(false));
	service.late = false;
	machine_stop();
}
END_TEST

/* And it is the processor again after that. */
START_TEST(masked_after_sleep)
{
	variant(_i);
	machine_start(&config, perfctr_isolate);
	fake_suspend_to_ram();
	overflow_late();
	nmi_arrives(false);
	service.late = false;
	ck_assert(!fake_nmi(false));
	machine_stop();
}
END_TEST

/* Nobody has asked for counters: no NMI is ours, whatever is in LVTPC. */
START_TEST(not_reserved)
{
	unsigned int i;

	variant(_i);
	for (i = 0; i < ARRAY_SIZE(lvtpcs); i++) {
		model_init(&config);
		perfctr_cpu_set_ihandler(unexpected);
		ck_assert_int_eq(perfctr_cpu_init(), 0);
		model.cpu[0].lvtpc = lvtpcs[i];
		ck_assert(!fake_nmi(false));
		ck_assert(!fake_nmi(true));
		ck_assert_uint_eq(model.cpu[0].lvtpc, lvtpcs[i]);
		machine_exit();
		ck_assert(!fake_nmi(true));
	}
}
END_TEST

START_TEST(no_handler)
{
	config = usual_config(3);
	model_init(&config);
	perfctr_cpu_set_ihandler(unexpected);
	fake_register_error = -ENOMEM;
	ck_assert_int_eq(perfctr_cpu_init(), -ENOMEM);
	fake_check_unloadable();
	fake_register_error = 0;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	machine_exit();
}
END_TEST

Suite *nmi_suite(void)
{
	Suite *suite = suite_create("nmi");
	TCase *tc = tcase_create("nmi");

	tcase_add_loop_test(tc, masked_when_due, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_when_it_comes, 0, VARIANTS);
	tcase_add_loop_test(tc, not_masked, 0, VARIANTS);
	tcase_add_loop_test(tc, others_left_running, 0, 2);
	tcase_add_loop_test(tc, started_by_others, 0, 16);
	tcase_add_loop_test(tc, take_and_give_back, 0, 15);
	tcase_add_loop_test(tc, expected_soon, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_is_certain, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_for_sleep, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_after_sleep, 0, VARIANTS);
	tcase_add_loop_test(tc, not_reserved, 0, VARIANTS);
	tcase_add_test(tc, no_handler);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return suite;
}
