// SPDX-License-Identifier: GPL-2.0
/*
 * NMIs at every moment.  Each operation is repeated with an NMI before one of its
 * register accesses, and before another one, up to the last.  No count and no
 * overflow is lost or found twice.  The driver claims an NMI if and only if its own
 * counters caused it.
 */
#include <limits.h>
#include <stdlib.h>

#include "model-p4.h"
#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static struct model_config config;
static struct thread a, b;

/* ---- events ------------------------------------------------------------- */

enum event {
	LATE,			/* overflow before the operation, its NMI now */
	FOREIGN,		/* an NMI that the counters did not cause */
	FOREIGN_FIRST,		/* as LATE, but a foreign NMI comes one access earlier */
	OVERFLOWS,		/* the kernel's execution makes one counter overflow */
	ALL_OVERFLOW,		/* the kernel's execution makes all counters overflow */
	OVERFLOWS_LATE,		/* as OVERFLOWS, with the NMI one access later */
	OVERFLOWS_LATER,	/* as OVERFLOWS, with the NMI after the operation */
	NR_EVENTS
};

static const char *const event_names[] = {
	"late NMI", "foreign NMI", "foreign NMI before a late one", "overflow", "all overflow",
	"overflow, NMI next", "overflow, late NMI",
};

static enum event event;
static unsigned int at;		/* the access before which the event happens */
static unsigned int accesses;	/* the accesses of this operation so far */
static unsigned int on;		/* the CPU whose accesses are counted */
static bool no_work;		/* the model cannot know which counters would count here */

static void work_inside(u64 instructions)
{
	struct thread *t = thread_of(fake_cpu);

	if (t && !no_work)
		thread_run_inside(t, &(struct work) {
			.kernel = true, .instructions = instructions,
		});
}

static void deliver_event(void)
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
		deliver_event();
	else if (accesses == at + 1 && (event == OVERFLOWS_LATE || event == FOREIGN_FIRST))
		nmi_arrives(false);
	accesses++;
}

/* ---- operations --------------------------------------------------------- */

static const struct work some = { .instructions = 3, .cycles = 5 };
static const struct work enough = { .instructions = 8, .cycles = 11 };
static const struct work in_kernel = { .instructions = 2, .cycles = 5, .kernel = true };

/* The same on the Pentium 4, whose counters 12, 13 and 16 share an ESCR. */
static void set_p4_control(struct thread *t, unsigned int first, bool amode)
{
	static const u8 maps[2][4] = { { 12, 13, 14, 16 }, { 13, 16, 17, 12 } };
	struct perfctr_cpu_control control;
	unsigned int i;

	thread_init(t);
	control_init(&control);
	if (amode)
		control_add(&control, maps[first][0], P4_INSN_CCCR);
	for (i = 1; i < 4; i++)
		control_add_imode(&control, maps[first][i], P4_INSN_CCCR, i == 1 ? 7 : 11 * i);
	for (i = 0; i < perfctr_nrctrs(&control); i++) {
		bool user = control.ctr[i].map == maps[first][2];

		control.ctr[i].aux = P4_INSTRUCTIONS | ESCR_T0_USR | (user ? 0 : ESCR_T0_OS);
	}
	thread_control(t, &control, 0);
}

static void set_control_modes(struct thread *t, unsigned int first, bool amode)
{
	struct perfctr_cpu_control control;

	if (config.p4) {
		set_p4_control(t, first, amode);
		return;
	}
	thread_init(t);
	control_init(&control);
	if (amode)
		control_add(&control, first, USER(EV_INSTRUCTIONS) | SEL_OS);
	if (amode && config.version >= 2)
		control_add(&control, FIXED(1), FIX_USR);
	control_add_imode(&control, (first + 1) % config.nr_pmcs, USER(EV_INSTRUCTIONS) | SEL_OS, 7);
	if (!amode || config.nr_pmcs > 2)
		control_add_imode(&control, (first + 2) % config.nr_pmcs, USER(EV_INSTRUCTIONS), 11);
	if (config.version >= 2)
		control_add_imode(&control, FIXED(0), FIX_USR | FIX_OS, 23);
	thread_control(t, &control, 0);
}

static void set_control(struct thread *t, unsigned int first)
{
	set_control_modes(t, first, true);
}

static bool nmi_is_late(void)
{
	return event == LATE || event == FOREIGN_FIRST;
}

/* Cause an overflow whose NMI is still pending, if the event needs one. */
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
#define NO_WORK		0x02	/* the kernel does no counted work inside */
#define NO_WORK_1	0x04	/* version 1 cannot load a counter while it is stopped */
#define IMODE_ONLY	0x08	/* without a-mode, the counts during a resume are exact */

static void start_running(void)
{
	thread_in(&a, 0);
	thread_run(&a, &some);
	service.late = true;
	overflow_before(&a);
}

static void start_suspended(void)
{
	start_running();
	thread_out(&a);
}

/* The CPU's counters at a resume: as the thread left them, used by another, or lost. */
static void start_after_b(void)
{
	start_suspended();
	thread_in(&b, 0);
	thread_out(&b);
}

static void start_lost(void)
{
	start_suspended();
	memset(model.cpu[0].pmc, 0, sizeof(model.cpu[0].pmc));
	memset(model.cpu[0].fixed, 0, sizeof(model.cpu[0].fixed));
}

static void start_on_other_cpu(void)
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

static void start_held(void)
{
	thread_in(&a, 0);
	service.holds = true;
	thread_run(&a, &enough);
	service.late = true;
	if (nmi_is_late()) {	/* leave the NMI of another thread pending */
		thread_out(&a);
		thread_in(&b, 0);
		thread_run(&b, &enough);
		thread_out(&b);
		thread_in(&a, 0);
	}
}

static void do_suspend(void)
{
	thread_out(&a);
}

static void do_resume(void)
{
	thread_in(&a, 0);
}

/* Another CPU's interrupt samples the state before its overflow is taken. */
static void do_resume_and_sample(void)
{
	service.sampled = true;
	thread_in(&a, 0);
	service.sampled = false;
}

static void do_sample(void)
{
	thread_sample(&a);
}

static void do_switch(void)
{
	thread_out(&a);
	thread_in(&b, 0);
}

static void do_iresume(void)
{
	if (a.held)
		thread_iresume(&a);
}

static void do_scrub(void)
{
	perfctr_x86_scrub();
}

static const struct operation operations[] = {
	{ "suspend", start_running, do_suspend, 0 },
	{ "suspend, to be held", start_running, do_suspend, HELD },
	{ "resume", start_suspended, do_resume, 0 },
	{ "resume after another", start_after_b, do_resume, NO_WORK },
	{ "resume of i-mode only, after another", start_after_b, do_resume, IMODE_ONLY },
	{ "resume of i-mode only, and sample", start_after_b, do_resume_and_sample, IMODE_ONLY },
	{ "resume after loss", start_lost, do_resume, 0 },
	{ "resume elsewhere", start_on_other_cpu, do_resume, 0 },
	{ "resume, to be held", start_suspended, do_resume, HELD },
	{ "sample", start_running, do_sample, 0 },
	{ "sample, to be held", start_running, do_sample, HELD },
	{ "scrub", start_running, do_scrub, NO_WORK_1 },
	{ "scrub, to be held", start_running, do_scrub, HELD | NO_WORK_1 },
	{ "switch", start_running, do_switch, 0 },
	{ "IRESUME", start_held, do_iresume, HELD },
};

static void finish_thread(struct thread *t)
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

static bool test_one_access(const struct operation *o)
{
	unsigned int i;

	machine_start(&config, perfctr_isolate);
	set_control_modes(&a, 0, !(o->flags & IMODE_ONLY));
	set_control(&b, 1);
	/* One overflow lets the driver learn whether the CPU masks LVTPC. */
	thread_in(&a, 0);
	thread_run(&a, &enough);
	thread_out(&a);
	jiffies += HZ;
	service.holds = o->flags & HELD;
	o->before();
	/* Unless an NMI is pending, leave the time in which NMIs are claimed as late. */
	if (!nmi_is_late())
		jiffies += HZ;
	fake_cpu = 0;
	accesses = 0;
	no_work = o->flags & NO_WORK || (o->flags & NO_WORK_1 && config.version < 2);
	model.on_access = on_access;
	o->op();
	model.on_access = NULL;

	/* Deliver what is still pending now, in user mode every other time. */
	service.late = false;
	service.holds = false;
	fake_cpu = 0;
	nmi_arrives(at & 1);
	for (i = 0; i < NR_CPUS; i++) {
		fake_cpu = i;
		interrupts_on();
	}
	if (a.cpu >= 0)
		finish_thread(&a);
	finish_thread(&b);
	finish_thread(&a);
	for (i = 0; i < NR_CPUS; i++)
		require(!model.cpu[i].lost_pmis, "an interrupt was lost, LVTPC being masked");
	machine_stop();
	return at >= accesses;
}

/* Versions 1 to 5, each without isolation, with it, and with it while watched. */
#define VARIANTS	(5 * 3)

static void variant(int i)
{
	config = usual_config(1 + i % 5);
	perfctr_isolate = i / 5;
	fake_watched = i / 5 == 2;
}

/*
 * Every sixteenth access is tested, from a random one on: the variants have most of them in
 * common.  EVERY=1 in the environment tests each of them.
 */
static unsigned int stride(void)
{
	const char *every = getenv("EVERY");

	return every && atoi(every) > 0 ? atoi(every) : 16;
}

static void test_accesses(unsigned int salt)
{
	unsigned int i, step = stride();

	random_restart(salt);
	for (i = 0; i < ARRAY_SIZE(operations); i++) {
		for (event = 0; event < NR_EVENTS; event++) {
			/* A second NMI next to a latched one is left to the kernel. */
			if (event == FOREIGN_FIRST && (!config.slow || config.no_masking))
				continue;
			at = random_below(step);
			do
				snprintf(model_context, sizeof(model_context),
					 "%s: %s at access %u", operations[i].name,
					 event_names[event], at);
			while (!test_one_access(&operations[i]) && (at += step));
		}
	}
}

START_TEST(masked_when_due)
{
	variant(_i);
	test_accesses(_i);
}
END_TEST

START_TEST(masked_when_it_comes)
{
	variant(_i);
	config.slow = true;
	config.level = true;
	config.no_full_write = true;
	test_accesses(_i);
}
END_TEST

/* The versions with GLOBAL_STATUS that differ for the handler, isolated. */
START_TEST(masked_and_repeated)
{
	variant(6 + 2 * _i);
	config.level = true;
	test_accesses(_i);
}
END_TEST

/* Skylake, Gracemont, Diamond Rapids, and one that is not known */
#define SKYLAKE	0x506e3
static const u32 signatures[] = { SKYLAKE, 0xb06e0, 0x400f10, 0xf0f60 };

/* Haswell and later raise another NMI if LVTPC is unmasked before the counter is reloaded. */
START_TEST(masked_until_reloaded)
{
	variant(6 + 2 * _i);
	config.early = true;
	config.signature = SKYLAKE;
	test_accesses(_i);
}
END_TEST

/* There, an overflow of a program raises one interrupt, whether it makes a sample or is held. */
START_TEST(one_interrupt_each)
{
	struct perfctr_cpu_control control;
	unsigned int i, first = 0;

	config = usual_config(4);
	config.early = true;
	config.signature = signatures[_i / 2];
	machine_start(&config, true);
	thread_init(&a);
	control_init(&control);
	control_add_imode(&control, 1, USER(EV_INSTRUCTIONS), 40);
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	for (i = 0; i < 10; i++) {
		service.holds = _i & 1;
		thread_run(&a, &(struct work) { .instructions = 50, .cycles = 70 });
		nmi_arrives(true);
		nmi_arrives(true);
		interrupts_on();
		service.holds = false;
		if (a.held)
			thread_iresume(&a);
		/* By the first one the driver learns that the processor masks LVTPC. */
		if (!i)
			first = model.cpu[0].pmis;
	}
	ck_assert_uint_eq(model.cpu[0].pmis - first, 9);
	finish_thread(&a);
	machine_stop();
}
END_TEST

START_TEST(not_masked)
{
	variant(_i);
	config.no_masking = true;
	test_accesses(_i);
}
END_TEST

/* Processors that are older than architectural performance monitoring, with an interrupt. */
START_TEST(old_processors)
{
	config = old_config(MODEL_P6);
	config.no_masking = _i & 1;
	perfctr_isolate = _i / 2;
	fake_watched = _i / 2 == 2;
	test_accesses(_i);
}
END_TEST

/* The Pentium 4 requests its interrupt until the overflow bit of the CCCR is clear. */
START_TEST(pentium_4)
{
	config = (struct model_config) {
		.p4 = true, .pmc_width = 40, .signature = 0xf29, .level = true, .slow = _i / 3,
	};
	perfctr_isolate = _i % 3;
	fake_watched = _i % 3 == 2;
	test_accesses(_i);
}
END_TEST

/* The kernel executes for others until `a` is resumed: no counter may count this. */
static void run_for_others(void)
{
	if (a.cpu < 0)
		model_run(&(struct work) { .kernel = true, .instructions = 7 });
}

/*
 * Resuming a thread with a pending overflow starts no counter, and does not count with
 * those that another thread left enabled.
 */
START_TEST(others_left_running)
{
	struct perfctr_cpu_control control;

	config = usual_config(1);
	config.no_masking = _i & 1;
	machine_start(&config, false);
	set_control(&a, 0);
	thread_init(&b);
	control_init(&control);
	/* Also one that the first thread loads. */
	control_add(&control, _i / 2, USER(EV_INSTRUCTIONS) | SEL_OS);
	thread_control(&b, &control, 0);
	event = LATE;
	start_on_other_cpu();
	thread_in(&b, 0);
	thread_run(&b, &some);
	thread_out(&b);
	model.on_access = run_for_others;
	thread_in(&a, 0);
	model.on_access = NULL;
	service.late = false;
	finish_thread(&a);
	finish_thread(&b);
	machine_stop();
}
END_TEST

/* ---- counters enabled by others ------------------------------------------ */

static const struct work a_program = { .instructions = 30 };
/* The counter with the shortest period overflows alone: the second does not count the kernel. */
static const struct work kernel_work = { .instructions = 7, .kernel = true };

/*
 * Without isolation these may stay enabled: counter 0 and fixed counter 1, see
 * set_control_modes().
 */
static const u64 a_mode_counters = BIT_ULL(0) | GLOBAL_FIXED(1);

/*
 * Another user sets all of GLOBAL_CTRL while the thread is off its CPU, and other
 * programs run there.  The driver claims the interrupt of a counter that the thread
 * left, stops those counters, and no count is wrong.
 */
START_TEST(started_by_others)
{
	u64 a_mode;
	unsigned int i;

	variant(_i % 4 + 1 + _i / 4 % 2 * 5);	/* those with GLOBAL_CTRL, not watched */
	config.no_masking = _i / 8;
	a_mode = perfctr_isolate ? 0 : a_mode_counters;
	machine_start(&config, perfctr_isolate);
	set_control(&a, 0);
	set_control(&b, 1);
	for (i = 0; i < 5; i++) {
		thread_in(&a, 0);
		thread_run(&a, &some);
		thread_out(&a);
		jiffies += HZ;
		model.cpu[0].global_ctrl = model_exists();
		service.late = true;
		stranger_run(0, i & 1 ? &kernel_work : &a_program);
		ck_assert(model.cpu[0].pmi);
		nmi_arrives(true);
		service.late = false;
		ck_assert(!config.no_masking || !(model.cpu[0].global_ctrl & ~a_mode));
		ck_assert_int_eq(fake_nmi(true), config.no_masking);
		jiffies += HZ;
		ck_assert(!fake_nmi(true));
		if (i % 2) {
			/* the start values that it continues from do not depend on it */
			model.cpu[0].global_ctrl = model_exists();
			stranger_run(0, &(struct work) { .instructions = 1, .kernel = true });
			thread_in(&b, 0);
			thread_run(&b, &some);
			thread_out(&b);
			jiffies += HZ;
		}
	}
	finish_thread(&a);
	finish_thread(&b);
	machine_stop();
}
END_TEST

/*
 * An NMI for Intel PT: perf's handler, which runs first, stops or enables all counters.  Ours
 * puts the global control right, while a thread counts and while none does.
 */
START_TEST(changed_by_perf)
{
	unsigned int i;

	variant(_i % 4 + 1 + _i / 4 * 5);
	machine_start(&config, perfctr_isolate);
	set_control(&a, 0);
	for (i = 0; i < 8; i++) {
		if (i & 1)
			thread_in(&a, 0);
		jiffies += HZ;
		model.cpu[0].global_ctrl = i & 2 ? model_exists() : 0;
		ck_assert(!fake_nmi(true));
		if (i & 1) {
			thread_check_settled(&a);
			thread_run(&a, &some);
			thread_out(&a);
			thread_check(&a);
		} else if (perfctr_isolate) {
			ck_assert_uint_eq(model.cpu[0].global_ctrl, 0);
		}
	}
	machine_stop();
}
END_TEST

/*
 * Another user sets all of GLOBAL_CTRL, and so lets PERF_METRICS count beside fixed counter 3,
 * which a thread uses.  Its overflow is not requested for ever.
 */
START_TEST(metrics_started_by_others)
{
	struct perfctr_cpu_control control;
	unsigned int i;

	config = usual_config(5);
	config.nr_fixed = 4;
	config.fixed_mask = 0xf;
	config.metrics = true;
	config.level = _i / 2;
	machine_start(&config, _i % 2);
	fake_warnings = 0;
	thread_init(&a);
	control_init(&control);
	control_add(&control, FIXED(3), FIX_USR);
	control_add(&control, 0, USER(EV_INSTRUCTIONS));
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	for (i = 0; i < 50; i++) {
		thread_run(&a, &some);
		model.cpu[0].metrics = 0;	/* the two are not started together */
		model.cpu[0].global_ctrl |= STATUS_METRICS;
		thread_run(&a, &some);
		ck_assert_uint_eq(model.cpu[0].global_ctrl & STATUS_METRICS, 0);
		ck_assert_uint_eq(model.cpu[0].overflow, 0);
	}
	ck_assert_uint_ge(model.cpu[0].pmis, 50);
	ck_assert_uint_eq(fake_warnings, 0);
	thread_out(&a);
	thread_check(&a);
	machine_stop();
}
END_TEST

/* ---- claiming and releasing the CPUs -------------------------------------- */

static void do_reserve(void)
{
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
}

static void do_offline(void)
{
	fake_cpu_down(1);
}

static void do_online(void)
{
	fake_cpu_up(1);
	machine_prepare();
}

static const struct {
	const char *name;
	void (*op)(void);
	bool ours;		/* the counters are reserved before it */
} machine_operations[] = {
	{ "reserve", do_reserve, false },
	{ "release", perfctr_cpu_release, true },
	{ "offline", do_offline, true },
	{ "online", do_online, true },
	{ "suspend to RAM", fake_suspend_to_ram, true },
};

/* Values that the kernel or perf may have left in LVTPC, and that of a reset. */
static const u32 lvtpcs[] = {
	APIC_LVT_MASKED, APIC_DM_NMI, APIC_DM_NMI | APIC_LVT_MASKED, 0xfe,
};

/* The handler that makes i-mode available: it must not be called. */
static void unexpected_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	ck_abort_msg("an overflow of %p was reported, regs %p", (void *)state, (void *)regs);
}

/*
 * Run the operation once and return the number of its accesses.  The last access of an
 * operation that stops the counters is that of LVTPC: no NMI follows it.
 */
static unsigned int machine_operation(unsigned int i, u32 lvtpc)
{
	void (*op)(void) = machine_operations[i].op;
	unsigned int cpu;

	model_init(&config);
	perfctr_cpu_set_ihandler(unexpected_overflow);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		model.cpu[cpu].lvtpc = lvtpc;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	jiffies += HZ;
	if (machine_operations[i].ours)
		do_reserve();
	if (event == LATE) {
		machine_use_service();
		set_control(&a, 0);
		thread_in(&a, on);
		service.late = true;
		thread_run(&a, &enough);
		thread_out(&a);
	}
	if (op == do_online)
		fake_cpu_down(1);
	accesses = 0;
	model.on_access = on_access;
	op();
	model.on_access = NULL;

	ck_assert_uint_eq(model.cpu[on].lvtpc,
			  op == perfctr_cpu_release || op == do_offline ? lvtpc : APIC_DM_NMI);
	fake_cpu = on;
	nmi_foreign(false);
	fake_cpu = 0;
	if (op == do_offline)
		do_online();
	if (op != perfctr_cpu_release)
		perfctr_cpu_release();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		/* A CPU that was off has the values of a reset. */
		bool was_off = op == fake_suspend_to_ram ? cpu : on && cpu == on;

		ck_assert_uint_eq(model.cpu[cpu].lvtpc, was_off ? APIC_LVT_MASKED : lvtpc);
	}
	machine_exit();
	return accesses;
}

START_TEST(take_and_give_back)
{
	static const enum event events[] = { FOREIGN, LATE };
	unsigned int i, j, k, n, step = stride();

	random_restart(_i);
	variant(_i % 5 + 5);
	config.slow = _i / 5 == 1;
	config.level = config.slow;
	config.no_masking = _i / 5 == 2;
	for (i = 0; i < ARRAY_SIZE(machine_operations); i++) {
		void (*op)(void) = machine_operations[i].op;
		bool stops = op == perfctr_cpu_release || op == do_offline;

		on = op == do_offline || op == do_online;
		for (j = 0; j < ARRAY_SIZE(events); j++) {
			event = events[j];
			if (event == LATE && !stops)
				continue;
			for (k = 0; k < ARRAY_SIZE(lvtpcs); k++) {
				at = ~0U;
				n = machine_operation(i, lvtpcs[k]) - (event == LATE);
				ck_assert_uint_gt(n, 0);
				for (at = random_below(step); at < n; at += step) {
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

/* ---- claims ------------------------------------------------------------- */

/*
 * Where the CPU does not mask LVTPC, NMIs are claimed for a while after an overflow, and not again
 * when jiffies has wrapped.
 */
START_TEST(expected_soon)
{
	static const unsigned long late[] = {
		0, HZ / 20, HZ / 10 - 1, HZ / 10, HZ / 5, 100 * HZ, LONG_MAX, LONG_MAX + 100UL * HZ,
	};
	unsigned int i;

	variant(_i);
	config.no_masking = true;
	machine_start(&config, perfctr_isolate);
	set_control(&a, 0);
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

/* Switch a thread out between an overflow and its NMI. */
static void overflow_late(void)
{
	set_control(&a, 0);
	thread_in(&a, 0);
	service.late = true;
	thread_run(&a, &enough);
	thread_out(&a);
}

/* Where the CPU masks LVTPC, claims are exact: the first time too, and on another CPU. */
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

/*
 * Version 6, whose counters are claimed: perf's handler runs first, and may unmask LVTPC.
 * So an NMI that finds it unmasked may be ours, although the CPU masks it.
 */
START_TEST(unmasked_by_perf)
{
	config = usual_config(6);
	model_init(&config);
	model.new_perf = true;
	fake_perf = (struct fake_perf) { };
	machine_use_service();
	perfctr_isolate = _i;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	overflow_late();
	nmi_arrives(false);
	overflow_late();
	ck_assert(model_take_pmi());
	model.cpu[0].lvtpc = APIC_DM_NMI;
	ck_assert_msg(fake_nmi(false), "the NMI of an overflow is not claimed");
	service.late = false;
	machine_stop();
}
END_TEST

/*
 * AMD's PerfMonV2 beside the NMI watchdog, which keeps counter 0: perf's handler stops all
 * counters, and finds no overflow of ours.
 */
START_TEST(amd_beside_watchdog)
{
	struct perfctr_cpu_control control;

	config = (struct model_config) {
		.version = 2, .amd = MODEL_AMD_V2, .nr_pmcs = 6, .pmc_width = 48,
		.signature = 0xa60f12, .no_masking = true,
	};
	model_init(&config);
	model.new_perf = true;
	model.kept = BIT(0);
	fake_perf = (struct fake_perf) { .watchdog = BIT(0) };
	machine_use_service();
	perfctr_isolate = true;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 0x3e);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_pmc, 1);
	ck_assert_str_eq(fake_info, "the NMI watchdog keeps its counter, 0\n");
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 5);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_cpu = 0;
	ck_assert_int_eq(perfctr_cpu_prepare(), 0);
	ck_assert_uint_eq(model.cpu[0].global_ctrl, 1);

	thread_init(&a);
	control_init(&control);
	control_add(&control, 1, USER(EV_INSTRUCTIONS) | SEL_OS);
	control_add_imode(&control, 2, USER(EV_INSTRUCTIONS) | SEL_OS, 7);
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	thread_run(&a, &some);
	/* An NMI of the watchdog's, and then one of ours. */
	model.cpu[0].overflow = 1;
	fake_nmi(false);
	ck_assert_uint_eq(model.cpu[0].global_ctrl, 7);
	service.late = true;
	thread_run(&a, &enough);
	ck_assert(model.cpu[0].overflow & BIT(2));
	nmi_arrives(false);
	ck_assert_uint_eq(model.cpu[0].overflow, 0);
	ck_assert(model.cpu[0].global_ctrl & 1);
	thread_out(&a);
	ck_assert_uint_eq(model.cpu[0].global_ctrl, 1);
	service.late = false;
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_perf.claimed, 0);
	machine_exit();
}
END_TEST

static void check_foreign_nmi(void)
{
	ck_assert(!fake_nmi(false));
}

/* The kernel masks LVTPC before suspend, so a masked LVTPC says nothing about the CPU. */
START_TEST(masked_for_sleep)
{
	variant(_i);
	config.no_masking = true;
	machine_start(&config, perfctr_isolate);
	fake_almost_asleep = check_foreign_nmi;
	fake_suspend_to_ram();
	fake_almost_asleep = NULL;
	/* Late NMIs are still claimed. */
	overflow_late();
	ck_assert(model_take_pmi());
	ck_assert(fake_nmi(false));
	ck_assert(fake_nmi(false));
	service.late = false;
	machine_stop();
}
END_TEST

/* After the resume, a masked LVTPC was masked by the CPU again. */
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

/* While the counters are not reserved, no NMI is claimed, whatever LVTPC holds. */
START_TEST(not_reserved)
{
	unsigned int i;

	variant(_i);
	for (i = 0; i < ARRAY_SIZE(lvtpcs); i++) {
		model_init(&config);
		perfctr_cpu_set_ihandler(unexpected_overflow);
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

/* ---- an NMI that never ends ------------------------------------------------ */

#define MANY_NMIS	10000

/* Deliver NMIs until the CPU can go on.  Return: how many. */
static unsigned int deliver_all(void)
{
	unsigned int n = 0;

	for (; n < MANY_NMIS && model_take_pmi(); n++)
		ck_assert_msg(fake_nmi(false), "NMI %u is not claimed", n);
	return n;
}

static void overflow_with_stuck_status(void)
{
	set_control(&a, 0);
	thread_in(&a, 0);
	service.late = true;
	model.config.stuck_status = BIT_ULL(1);
	model_run(&enough);
}

/* The CPU is given up.  Nothing is counted there until it comes online again. */
static void check_given_up(void)
{
	ck_assert_uint_eq(fake_warnings, 1);
	ck_assert_uint_eq(model_counting(&model.cpu[0]) & model_interrupting(&model.cpu[0]), 0);
	ck_assert(model.cpu[0].lvtpc & APIC_LVT_MASKED);
	ck_assert_msg(!fake_nmi(false), "a foreign NMI is claimed");
	set_control(&b, 0);
	thread_refused(&b, 0);
	fake_suspend_to_ram();
	thread_refused(&b, 0);
	ck_assert_uint_eq(deliver_all(), 0);
	ck_assert_uint_eq(fake_warnings, 1);
}

/* An overflow bit that cannot be cleared does not hang the CPU. */
START_TEST(status_is_stuck)
{
	config = usual_config(2 + _i);
	config.level = true;
	machine_start(&config, true);
	fake_warnings = 0;
	overflow_with_stuck_status();
	ck_assert_uint_lt(deliver_all(), 1000);
	fake_irqs_off = true;
	perfctr_cpu_suspend(&a.state);
	fake_irqs_off = false;
	ck_assert_uint_lt(deliver_all(), 1000);
	check_given_up();
	machine_stop();
}
END_TEST

/* An overflow that the NMI handler finds. */
static void overflow_now(void)
{
	thread_in(&a, 0);
	thread_run(&a, &enough);
	thread_out(&a);
}

/*
 * Any number of NMIs may find nothing while their CPU makes progress: the thread is
 * switched, or other NMIs find overflows.
 */
START_TEST(no_storm)
{
	bool finds = _i & 1;
	unsigned int i;

	config = usual_config(2 + _i / 2);
	machine_start(&config, true);
	fake_warnings = 0;
	for (i = 0; i < 1000; i++) {
		overflow_late();
		fake_task.nvcsw += !finds;
		ck_assert(model_take_pmi());
		ck_assert(fake_nmi(false));
		service.late = false;
		if (finds)
			overflow_now();
	}
	ck_assert_uint_eq(fake_warnings, 0);
	thread_in(&a, 0);
	thread_out(&a);
	machine_stop();
}
END_TEST

START_TEST(no_handler)
{
	config = usual_config(3);
	model_init(&config);
	perfctr_cpu_set_ihandler(unexpected_overflow);
	fake_register_error = -ENOMEM;
	ck_assert_int_eq(perfctr_cpu_init(), -ENOMEM);
	fake_check_unloadable();
	fake_register_error = 0;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	machine_exit();
}
END_TEST

START_TEST(no_hotplug_state)
{
	config = usual_config(3);
	model_init(&config);
	fake_warnings = 0;
	fake_hotplug_taken = true;
	ck_assert_int_eq(perfctr_cpu_init(), -EBUSY);
	ck_assert_uint_eq(fake_warnings, 1);
	fake_check_unloadable();
	fake_hotplug_taken = false;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(fake_warnings, 1);
	machine_exit();
}
END_TEST

Suite *nmi_suite(void)
{
	Suite *suite = suite_create("nmi");
	TCase *tc = tcase_create("nmi");
	TCase *shared = tcase_create("shared with perf");
	TCase *old = tcase_create("old");

	tcase_add_loop_test(tc, masked_when_due, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_when_it_comes, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_and_repeated, 0, 2);
	tcase_add_loop_test(tc, masked_until_reloaded, 0, 2);
	tcase_add_loop_test(tc, one_interrupt_each, 0, 2 * ARRAY_SIZE(signatures));
	tcase_add_loop_test(tc, pentium_4, 0, 6);
	tcase_add_loop_test(tc, not_masked, 0, VARIANTS);
	tcase_add_loop_test(tc, others_left_running, 0, 4);
	tcase_add_loop_test(tc, started_by_others, 0, 16);
	tcase_add_loop_test(tc, changed_by_perf, 0, 8);
	tcase_add_loop_test(tc, metrics_started_by_others, 0, 4);
	tcase_add_loop_test(tc, take_and_give_back, 0, 15);
	tcase_add_loop_test(tc, expected_soon, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_is_certain, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_for_sleep, 0, VARIANTS);
	tcase_add_loop_test(tc, masked_after_sleep, 0, VARIANTS);
	tcase_add_loop_test(tc, not_reserved, 0, VARIANTS);
	tcase_add_loop_test(tc, status_is_stuck, 0, 4);
	tcase_add_loop_test(tc, no_storm, 0, 8);
	tcase_add_test(tc, no_handler);
	tcase_add_test(tc, no_hotplug_state);
	tcase_add_loop_test(old, old_processors, 0, 6);
	tcase_set_timeout(old, 60);
	suite_add_tcase(suite, old);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	tcase_add_loop_test(shared, unmasked_by_perf, 0, 2);
	tcase_add_test(shared, amd_beside_watchdog);
	suite_add_tcase(suite, shared);
	return suite;
}
