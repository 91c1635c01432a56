// SPDX-License-Identifier: GPL-2.0
/*
 * i-mode counters: which controls are valid.  Each overflow is reported once, exactly
 * when it is due, and changes no count.
 */
#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static struct model_config config;
static struct perfctr_cpu_control control;
static struct thread a, b;

static const struct work one = { .instructions = 1, .cycles = 2 };

/* Processors that differ in features that matter to overflows. */
#define NR_KINDS	4

static void set_config(unsigned int version, unsigned int k)
{
	config = usual_config(version);
	config.no_full_write = k & 1;
	config.no_masking = k & 2;
}

static void start(unsigned int version, unsigned int k, bool isolate)
{
	set_config(version, k);
	machine_start(&config, isolate);
	thread_init(&a);
	thread_init(&b);
}

/* ---- controls ----------------------------------------------------------- */

static int check_ireset(u32 map, u64 evntsel, s64 ireset)
{
	control_init(&control);
	control_add_imode(&control, map, evntsel, -(u64)ireset);
	return perfctr_cpu_check_control(&control);
}

/* The valid range: from -2 to the most that fits in the narrowest counter, less its sign. */
START_TEST(iresets)
{
	static const struct {
		unsigned int pmc, fixed, both;	/* widths */
	} widths[] = {
		{ 40, 48, 40 }, { 48, 40, 40 }, { 32, 32, 32 }, { 64, 64, 64 }, { 48, 48, 48 },
	};
	unsigned int i, w;

	for (w = 0; w < ARRAY_SIZE(widths); w++) {
		u64 max;

		set_config(1 + _i / 4, 0);
		config.pmc_width = widths[w].pmc;
		config.fixed_width = widths[w].fixed;
		config.no_full_write = _i & 1;
		config.no_capabilities = _i & 2;
		machine_start(&config, true);
		max = (1ULL << ((_i & 3 ? 32 : config.version == 1 ? widths[w].pmc :
							widths[w].both) - 1)) - 1;
		ck_assert_uint_eq(perfctr_cpu_info.max_period, max);
		for (i = 0; i < 2; i++) {
			u32 map = i ? FIXED(1) : 1;
			u64 evntsel = i ? FIX_USR : USER(EV_CYCLES);

			if (i && config.version < 2)
				continue;
			ck_assert_int_eq(check_ireset(map, evntsel, -1), -EINVAL);
			ck_assert_int_eq(check_ireset(map, evntsel, -2), 0);
			ck_assert_int_eq(check_ireset(map, evntsel, -(s64)max), 0);
			ck_assert_int_eq(check_ireset(map, evntsel, -max - 1), -EINVAL);
			ck_assert_int_eq(check_ireset(map, evntsel, 0), -EINVAL);
			ck_assert_int_eq(check_ireset(map, evntsel, 1), -EINVAL);
			ck_assert_int_eq(check_ireset(map, evntsel, max), -EINVAL);
			ck_assert_int_eq(check_ireset(map, evntsel, 1ULL << 63), -EINVAL);
			ck_assert_int_eq(check_ireset(map, evntsel, ~(1ULL << 63)), -EINVAL);
		}
		machine_stop();
	}
}
END_TEST

/* User space cannot set the interrupt bit, in i-mode or a-mode. */
START_TEST(interrupt_bits)
{
	start(_i, 0, true);
	ck_assert_int_eq(check_ireset(0, USER(EV_CYCLES) | SEL_INT, -2), -EINVAL);
	ck_assert_int_eq(check_ireset(0, USER(EV_CYCLES) | SEL_PC, -2), -EINVAL);
	ck_assert_int_eq(check_ireset(0, USER(EV_CYCLES) | SEL_ANY, -2), -EINVAL);
	ck_assert_int_eq(check_ireset(0, USER(EV_CYCLES), -2), 0);
	if (_i >= 2) {
		ck_assert_int_eq(check_ireset(FIXED(0), FIX_USR | FIX_PMI, -2), -EINVAL);
		ck_assert_int_eq(check_ireset(FIXED(0), FIX_USR | FIX_ANY, -2), -EINVAL);
		ck_assert_int_eq(check_ireset(FIXED(0), FIX_USR, -2), 0);
		/* The derived FIXED_CTR_CTRL has it, in that field only. */
		ck_assert_uint_eq(control.regs.fixed_ctrl, FIX_USR | FIX_PMI);
	}
	machine_stop();
}
END_TEST

/* The counters' places decide: exactly the last nrictrs counters have an ireset. */
START_TEST(mixed)
{
	unsigned int i;

	start(3, 0, true);
	for (i = 0; i <= 4; i++) {
		unsigned int j;

		for (j = 0; j < 4; j++) {
			struct perfctr_cpu_control bad;

			control_init(&control);
			for (unsigned int n = 0; n < 4; n++) {
				if (n < i)
					control_add(&control, n, USER(EV_CYCLES));
				else
					control_add_imode(&control, n, USER(EV_CYCLES), 10 + n);
			}
			bad = control;
			ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
			bad.ctr[j].ireset = j < i ? -10 : 0;
			ck_assert_int_eq(perfctr_cpu_check_control(&bad), -EINVAL);
		}
	}
	/* Kernel mode, and a counter used twice, are detected for i-mode counters too. */
	control_init(&control);
	control_add(&control, 0, USER(EV_CYCLES));
	control_add_imode(&control, 1, USER(EV_CYCLES) | SEL_OS, 5);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert(control.kernel);
	control_init(&control);
	control_add(&control, FIXED(1), FIX_USR);
	control_add_imode(&control, FIXED(1), FIX_USR, 5);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	control.ctr[1].map = FIXED(2);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert_uint_eq(control.regs.fixed_ctrl, FIX_USR << 4 | (FIX_USR | FIX_PMI) << 8);
	machine_stop();
}
END_TEST

/*
 * The shortest periods of each processor.  The model fails the test if a period that the
 * driver accepts is shorter.
 */
static const struct {
	u32 signature;
	u64 shortest;
	bool refuses_prec_dist;
} shortest[] = {
	{ MODEL_CORE2, 2, false },
	{ 0x106a5, 32, false }, { 0x106e5, 32, false }, { 0x106f0, 32, false }, { 0x206e6, 32, false },
	{ 0x20652, 2, false }, { 0x206c2, 2, false }, { 0x206f2, 2, false },
	{ 0x206a7, 2, false }, { 0x306a9, 2, false },
	{ 0x306c3, 32, true }, { 0x306f2, 32, true }, { 0x40651, 32, true }, { 0x40661, 32, true },
	{ 0x306d4, 2, true }, { 0x40671, 2, true }, { 0x406f1, 2, true }, { 0x50663, 2, true },
	{ 0x506e3, 2, false }, { 0x606a6, 2, false },
	{ 0x300f10 | 0x600, 2, false },
	{ 0xf41, 2, false },	/* family 15 */
};

/* A thread that inherits its control begins with a part of a period, never a shorter one than can be. */
START_TEST(parts_of_periods)
{
	static const struct {
		u64 period;
		u32 part;
		u64 first;
	} parts[] = {
		{ 1000, 0, 1000 }, { 1000, 1U << 31, 500 }, { 1000, 3U << 30, 250 },
		{ 1000, 0xffffffff, 2 }, { 2, 0xffffffff, 2 }, { 3, 0xffffffff, 2 },
		{ 1ULL << 38, 1U << 30, 3ULL << 36 }, { (1ULL << 38) - 1, 0xffffffff, 64 },
	};
	unsigned int i;

	start(3, 0, true);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		thread_init(&a);
		thread_init(&b);
		control_init(&control);
		control_add(&control, 0, USER(EV_CYCLES));
		control_add_imode(&control, 1, USER(EV_INSTRUCTIONS), parts[i].period);
		thread_control(&a, &control, 0);
		perfctr_cpu_inherit(&b.state, &a.state);
		ck_assert_uint_eq(-b.page.ctr[1].start, parts[i].period);
		perfctr_cpu_spread(&b.state, parts[i].part);
		ck_assert_uint_eq(-b.page.ctr[1].start, parts[i].first);
		/* Counters without a period begin at 0, and sums, too. */
		ck_assert_uint_eq(b.page.ctr[0].start, 0);
		ck_assert_uint_eq(b.page.ctr[1].sum, 0);
		ck_assert_uint_eq(b.page.samplecount & 1, 0);
	}
	machine_stop();
}
END_TEST

static void run_periods(u32 map, u64 evntsel, u64 period)
{
	unsigned int i;

	thread_init(&a);
	control_init(&control);
	control_add_imode(&control, map, evntsel, period);
	thread_control(&a, &control, 0);
	for (i = 0; i < 5 * period; i++) {
		thread_in(&a, i & 1);
		thread_run(&a, &one);
		thread_out(&a);
	}
	ck_assert_uint_eq(a.overflows[0], 5);
}

START_TEST(shortest_periods)
{
	u64 period;

	config = usual_config(3);
	config.signature = shortest[_i].signature;
	config.shortest = shortest[_i].shortest;
	machine_start(&config, true);
	for (period = 1; period < 40; period++) {
		int err = check_ireset(0, USER(EV_INSTRUCTIONS), -period);

		ck_assert_int_eq(check_ireset(FIXED(0), FIX_USR, -period), err);
		if (!err) {
			run_periods(0, USER(EV_INSTRUCTIONS), period);
			run_periods(FIXED(0), FIX_USR, period);
		}
		ck_assert_int_eq(err, period < config.shortest ? -EINVAL : 0);
	}
	ck_assert_uint_eq(perfctr_cpu_info.min_period, config.shortest);
	/* In a-mode each processor counts it. */
	control_init(&control);
	control_add(&control, 1, USER(EV_PREC_DIST));
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	for (period = 64; period < 1 << 20; period *= 4)
		ck_assert_int_eq(check_ireset(1, USER(EV_PREC_DIST) | 0x01840000, -period),
				 shortest[_i].refuses_prec_dist ? -EINVAL : 0);
	ck_assert_int_eq(check_ireset(1, USER(EV_PREC_DIST) ^ 0x0300, -64), 0);
	machine_stop();
}
END_TEST

/* Without an APIC the driver accesses no LVTPC, and no period is valid. */
START_TEST(no_apic)
{
	config = usual_config(_i);
	config.no_apic = true;
	machine_start(&config, true);
	ck_assert_uint_eq(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT, 0);
	ck_assert_uint_eq(perfctr_cpu_info.max_period, 0);
	ck_assert_uint_eq(perfctr_cpu_info.min_period, 0);
	ck_assert_int_eq(check_ireset(0, USER(EV_CYCLES), -1), -EINVAL);
	ck_assert_int_eq(check_ireset(0, USER(EV_CYCLES), 0), -EINVAL);
	control_init(&control);
	control_add(&control, 0, USER(EV_CYCLES));
	thread_init(&a);
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	thread_run(&a, &one);
	thread_out(&a);
	thread_check(&a);
	fake_suspend_to_ram();
	machine_stop();
}
END_TEST

/* ---- periods ------------------------------------------------------------ */

/* Two a-mode and three i-mode counters; one of each is fixed, if the processor has any. */
static const u64 periods[] = { 7, 10, 23 };

static void set_control(struct thread *t, bool os)
{
	u64 sel = USER(EV_INSTRUCTIONS) | (os ? SEL_OS : 0);

	control_init(&control);
	control_add(&control, 0, sel);
	if (config.version >= 2)
		control_add(&control, FIXED(1), FIX_USR);
	control_add_imode(&control, 1, sel, periods[0]);
	control_add_imode(&control, 3, sel, periods[1]);
	if (config.version >= 2)
		control_add_imode(&control, FIXED(0), FIX_USR | (os ? FIX_OS : 0), periods[2]);
	else
		control_add_imode(&control, 2, sel, periods[2]);
	thread_control(t, &control, 0);
}

/*
 * One event at a time, with switches and samples at many points: there are
 * floor(events / period) overflows.
 */
START_TEST(exact_periods)
{
	unsigned int i, j, n = 0;

	start(1 + _i % 5, _i / 5 % 4, _i / 20 & 1);
	fake_watched = _i / 40;
	set_control(&a, false);
	for (i = 0; i < 2001; i++) {
		if (a.cpu < 0)
			thread_in(&a, i % 13 % NR_CPUS);
		thread_run(&a, &one);
		n++;
		if (i % 3 == 2)
			thread_sample(&a);
		if (i % 5 == 4) {
			thread_out(&a);
			thread_check(&a);
		}
		for (j = 0; j < ARRAY_SIZE(periods); j++)
			ck_assert_uint_eq(a.overflows[a.control.nractrs + j], n / periods[j]);
	}
	thread_out(&a);
	for (j = 0; j < perfctr_nrctrs(&a.control); j++)
		ck_assert_uint_eq(a.page.ctr[j].sum, j == 1 && config.version >= 2 ? 2 * n : n);
	machine_stop();
}
END_TEST

/* The longest period, and one event less. */
START_TEST(longest_period)
{
	unsigned int i;
	u64 max;

	start(1 + _i % 5, _i / 5 & 1, true);
	max = perfctr_cpu_info.max_period;
	for (i = 0; i < (config.version >= 2 ? 2 : 1); i++) {
		control_init(&control);
		control_add_imode(&control, i ? FIXED(0) : 0, i ? FIX_USR : USER(EV_INSTRUCTIONS),
				  max);
		thread_control(&a, &control, 0);
		a.overflows[0] = 0;
		thread_in(&a, 0);
		thread_run(&a, &(struct work) { .instructions = max - 1 });
		thread_out(&a);
		ck_assert_uint_eq(a.overflows[0], 0);
		thread_in(&a, 1);
		ck_assert_uint_eq(a.overflows[0], 0);
		thread_run(&a, &one);
		ck_assert_uint_eq(a.overflows[0], 1);
		thread_out(&a);
		ck_assert_uint_eq(a.page.ctr[0].sum, max);
	}
	machine_stop();
}
END_TEST

/* A resume writes no counter that still holds its value. */
START_TEST(written_if_changed)
{
	start(_i, 0, true);
	set_control(&a, false);
	thread_in(&a, 0);
	thread_run(&a, &one);
	thread_out(&a);
	model_clear_statistics();
	thread_in(&a, 0);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_PMC], 0);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_FIXED_CTR], 0);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_EVNTSEL], _i == 1 ? 4 : 0);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_OVF_CTRL], 0);
	thread_out(&a);
	/* The kernel may run perf_clear_dirty_counters() when it switches the mm. */
	memset(model.cpu[0].pmc, 0, sizeof(model.cpu[0].pmc));
	memset(model.cpu[0].fixed, 0, sizeof(model.cpu[0].fixed));
	thread_in(&a, 0);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_PMC] + model.cpu[0].wrmsrs[REG_FIXED_CTR], 3);
	thread_run(&a, &(struct work) { .instructions = 5 });
	thread_out(&a);
	thread_check(&a);
	ck_assert_uint_eq(a.overflows[a.control.nractrs], 0);
	thread_in(&a, 0);
	thread_run(&a, &one);
	ck_assert_uint_eq(a.overflows[a.control.nractrs], 1);
	thread_out(&a);
	machine_stop();
}
END_TEST

/* A new control begins new periods, also if it preserves the sums. */
START_TEST(control_again)
{
	start(_i, 0, true);
	set_control(&a, false);
	thread_in(&a, 0);
	thread_run(&a, &(struct work) { .instructions = 6 });
	thread_out(&a);
	thread_control(&a, &control, ~0ULL);
	thread_in(&a, 0);
	thread_run(&a, &(struct work) { .instructions = 6 });
	ck_assert_uint_eq(a.overflows[a.control.nractrs], 0);
	thread_run(&a, &one);
	ck_assert_uint_eq(a.overflows[a.control.nractrs], 1);
	thread_out(&a);
	ck_assert_uint_eq(a.page.ctr[a.control.nractrs].sum, 13);
	machine_stop();
}
END_TEST

/* ---- longer periods ----------------------------------------------------- */

/* A period is doubled if the double can be loaded. */
START_TEST(longest_double)
{
	unsigned int i;
	u64 max, period;

	start(1 + _i % 5, _i / 5 & 1, true);
	max = perfctr_cpu_info.max_period;
	for (i = 0; i < 2; i++) {
		period = max / 2 + i;
		control_init(&control);
		control_add_imode(&control, 0, USER(EV_INSTRUCTIONS), period);
		thread_control(&a, &control, 0);
		a.overflows[0] = 0;
		a.skipped = 0;
		service.shift = 1;
		thread_in(&a, 0);
		thread_run(&a, &(struct work) { .instructions = period });
		thread_out(&a);
		ck_assert_uint_eq(a.overflows[0], 1);
		ck_assert_uint_eq(a.period[0], i ? period : 2 * period);
	}
	machine_stop();
}
END_TEST

/* Reported and skipped overflows together account for all events, whatever the shifts. */
START_TEST(shifts)
{
	static const unsigned int all[] = { 0, 1, 3, 0, 10, 31, 63, 255, 2 };
	unsigned int i, j;

	start(1 + _i % 5, _i / 5 & 1, true);
	control_init(&control);
	control_add_imode(&control, 0, USER(EV_INSTRUCTIONS), 3);
	control_add_imode(&control, 1, USER(EV_CYCLES), 1000);
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	for (i = 0; i < ARRAY_SIZE(all) * 3; i++) {
		u64 n = a.period[0];

		service.shift = all[i % ARRAY_SIZE(all)];
		for (j = 0; j < 2; j++) {
			thread_run(&a, &(struct work) { .instructions = j ? 1 : n - 1 });
			thread_out(&a);
			thread_in(&a, j);
		}
		ck_assert_uint_eq(a.overflows[0], i + 1);
		ck_assert_uint_eq((a.overflows[0] + a.skipped) * 3, a.page.ctr[0].sum);
		ck_assert_uint_le(a.period[0], perfctr_cpu_info.max_period);
	}
	/* The other counter's period is its own. */
	service.shift = 2;
	thread_run(&a, &(struct work) { .cycles = 1000 });
	ck_assert_uint_eq(a.overflows[1], 1);
	ck_assert_uint_eq(a.period[1], 4000);
	thread_out(&a);
	/* A new control resets the periods. */
	thread_control(&a, &control, 0);
	service.shift = 0;
	thread_in(&a, 0);
	a.skipped = 0;
	thread_run(&a, &(struct work) { .instructions = 3 });
	ck_assert_uint_eq(a.skipped, 0);
	thread_out(&a);
	machine_stop();
}
END_TEST

/*
 * An NMI that has interrupted the kernel has cleared the status, and the thread is switched out
 * before its overflow is handled.  The next thread's overflow must be cleared, too.
 */
START_TEST(pending_at_switch)
{
	start(_i, 0, true);
	set_control(&a, true);
	set_control(&b, true);
	service.late = true;
	thread_in(&a, 0);
	thread_run(&a, &(struct work) { .instructions = 7 });
	nmi_arrives(false);
	thread_out(&a);
	thread_in(&b, 0);
	thread_run(&b, &(struct work) { .instructions = 7 });
	thread_out(&b);
	ck_assert_uint_eq(model.cpu[0].overflow, 0);
	service.late = false;
	/* Without an overflow, there is nothing to clear. */
	thread_in(&b, 1);
	thread_run(&b, &one);
	model_clear_statistics();
	thread_out(&b);
	ck_assert_uint_eq(model.cpu[1].wrmsrs[REG_OVF_CTRL], 0);
	machine_stop();
}
END_TEST

/*
 * A state comes with an overflow that it waits to be held for.  The CPU's registers have its counter
 * then, and still the control of another state, which must not get the identity of a third one.
 */
START_TEST(identities_beside_overflow)
{
	static struct thread first, both, overflowed, other;

	start(3, 0, true);
	thread_init(&first);
	thread_init(&both);
	thread_init(&overflowed);
	thread_init(&other);
	control_init(&control);
	control_add(&control, 0, USER(EV_INSTRUCTIONS));
	thread_control(&first, &control, 0);
	control_add(&control, 1, USER(EV_CYCLES));
	thread_control(&both, &control, 0);
	control_init(&control);
	control_add_imode(&control, 1, USER(EV_CYCLES), 7);
	thread_control(&overflowed, &control, 0);
	control_init(&control);
	control_add(&control, 1, USER(EV_INSTRUCTIONS));
	thread_control(&other, &control, 0);

	service.holds = true;
	service.late = true;
	thread_in(&overflowed, 1);
	thread_run(&overflowed, &(struct work) { .cycles = 7 });
	nmi_arrives(false);
	thread_out(&overflowed);
	thread_in(&both, 0);
	thread_out(&both);
	thread_in(&first, 0);
	thread_out(&first);
	service.late = false;
	thread_in(&overflowed, 0);
	interrupts_on();
	ck_assert(overflowed.held);
	thread_out(&overflowed);
	thread_in(&both, 0);
	thread_out(&both);
	ck_assert_uint_ne(both.state.id, first.state.id);

	/* Where the identity of the first is loaded, counter 1 has another event. */
	thread_in(&other, 2);
	thread_out(&other);
	thread_in(&first, 2);
	thread_out(&first);
	thread_in(&both, 2);
	thread_run(&both, &(struct work) { .cycles = 100, .instructions = 3 });
	thread_out(&both);
	thread_check(&both);
	machine_stop();
}
END_TEST

/* ---- holding ------------------------------------------------------------ */

START_TEST(held)
{
	u64 tsc;

	start(1 + _i % 5, 0, _i / 5 & 1);
	fake_watched = _i / 10;
	set_control(&a, true);
	set_control(&b, true);
	service.holds = true;
	thread_in(&a, 0);
	thread_run(&a, &(struct work) { .instructions = 7, .cycles = 10 });
	ck_assert(a.held);
	ck_assert_uint_eq(a.page.cstatus, VPERFCTR_CSTATUS_TSC | VPERFCTR_CSTATUS_RUNNING);
	ck_assert_uint_eq(a.page.ctr[a.control.nractrs].sum, 7);
	/* A counter is cleared only if a process could look. */
	ck_assert_uint_eq(*model_counter(&model.cpu[0], 0), fake_watched && perfctr_isolate ? 0 : 7);
	model_clear_statistics();
	tsc = a.tsc_counted;
	thread_run(&a, &(struct work) { .instructions = 100, .cycles = 10 });
	thread_sample(&a);
	thread_out(&a);
	thread_in(&a, 1);
	thread_run(&a, &(struct work) { .instructions = 100, .cycles = 10, .kernel = true });
	thread_out(&a);
	thread_check(&a);
	ck_assert_uint_eq(a.tsc_counted, tsc + 20);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]) + model_wrmsrs(&model.cpu[1]), 0);

	/* Meanwhile another thread uses the same registers on the first one's CPU. */
	thread_in(&b, 0);
	thread_run(&b, &(struct work) { .instructions = 6 });
	thread_out(&b);
	thread_in(&a, 0);
	thread_iresume(&a);
	thread_run(&a, &(struct work) { .instructions = 2 });
	ck_assert(!a.held);
	thread_run(&a, &one);
	ck_assert(a.held);	/* by the counter with a period of 10 */
	thread_out(&a);
	thread_iresume(&a);
	thread_in(&a, 2);
	thread_run(&a, &(struct work) { .instructions = 3 });
	ck_assert(!a.held);
	thread_run(&a, &one);
	ck_assert(a.held);
	thread_out(&a);
	thread_check(&a);
	ck_assert_uint_eq(a.overflows[a.control.nractrs], 2);
	ck_assert_uint_eq(a.overflows[a.control.nractrs + 1], 1);
	ck_assert_uint_eq(b.overflows[b.control.nractrs], 0);
	machine_stop();
}
END_TEST

/* ---- random ------------------------------------------------------------- */

#define NR_THREADS	4
#define STEPS		3000
#define MACHINES	3
#define VARIANTS	(5 * NR_KINDS * 4)

static struct thread threads[NR_THREADS];

static struct thread *on_cpu(int cpu)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (threads[i].cpu == cpu)
			return &threads[i];
	}
	return NULL;
}

static void new_control(struct thread *t)
{
	if (one_in(3))
		random_control(&control);
	else
		random_imode_control(&control, one_in(4) ? perfctr_cpu_info.max_period :
							   1ULL << random_below(14));
	thread_control(t, &control, one_in(2) ? random_u64() : 0);
}

/* The kernel may clear the counters while no owner runs. */
static void lose_counters(unsigned int cpu)
{
	u64 lost = random_u64();
	unsigned int i;

	for (i = 0; i < 64; i++) {
		u64 *counter = model_counter(&model.cpu[cpu], i < 32 ? i : FIXED(i - 32));

		if (counter && (lost & BIT_ULL(i)))
			*counter = 0;
	}
}

static void step_cpu(unsigned int cpu)
{
	struct work work = random_work(10000);

	if (one_in(10)) {
		perfctr_x86_scrub();
	} else if (on_cpu(cpu)) {
		fake_cpu = cpu;
		nmi_foreign(one_in(2));
		jiffies += random_below(HZ);
	} else if (!fake_online[cpu]) {
		fake_cpu_up(cpu);
	} else if (cpu && one_in(20)) {
		fake_cpu_down(cpu);
	} else {
		stranger_run(cpu, &work);
		lose_counters(cpu);
	}
}

static void step_off_cpu(struct thread *t)
{
	unsigned int cpu = random_below(NR_CPUS);

	if (one_in(10))
		new_control(t);
	else if (t->held && one_in(4))
		thread_iresume(t);
	else if (!on_cpu(cpu) && fake_online[cpu])
		thread_in(t, cpu);
}

static void step_on_cpu(struct thread *t)
{
	struct work work = random_work(one_in(2) ? 20 : 10000);

	service.shift = service.holds || one_in(2) ? 0 : random_below(40);
	switch (random_below(6)) {
	case 0:
		thread_out(t);
		thread_check(t);
		break;
	case 1:
		thread_sample(t);
		thread_check(t);
		break;
	case 2:
		if (t->held)
			thread_iresume(t);
		break;
	default:
		thread_run(t, &work);
	}
}

static void schedule_at_random(bool isolate)
{
	unsigned int i;
	u64 overflows = 0;

	machine_start(&config, isolate);
	/* A state is held, or skips periods, but not both. */
	service.holds = one_in(3);
	for (i = 0; i < NR_THREADS; i++) {
		thread_init(&threads[i]);
		new_control(&threads[i]);
	}
	for (i = 0; i < STEPS; i++) {
		struct thread *t = &threads[random_below(NR_THREADS)];

		if (one_in(4))
			step_cpu(random_below(NR_CPUS));
		else if (t->cpu < 0)
			step_off_cpu(t);
		else
			step_on_cpu(t);
	}
	for (i = 0; i < NR_THREADS; i++) {
		unsigned int j;

		if (threads[i].cpu >= 0)
			thread_out(&threads[i]);
		thread_check(&threads[i]);
		for (j = 0; j < VPERFCTR_MAX_CTRS; j++)
			overflows += threads[i].overflows[j];
	}
	ck_assert_uint_gt(overflows, 0);
	for (i = 0; i < NR_CPUS; i++)
		ck_assert_uint_eq(model.cpu[i].lost_pmis, 0);
	machine_stop();
}

START_TEST(random_schedule)
{
	unsigned int i;

	random_restart(__LINE__ + _i);
	fake_watched = _i & 2;
	for (i = 0; i < MACHINES; i++) {
		config = random_config(1 + _i / 4 % 5);
		config.no_full_write = _i / 20 & 1;
		config.no_masking = _i / 20 & 2;
		schedule_at_random(_i & 1);
	}
}
END_TEST

/* The same on processors that are older than architectural performance monitoring. */
START_TEST(random_schedule_old)
{
	unsigned int i;

	random_restart(__LINE__ + _i);
	fake_watched = _i & 2;
	for (i = 0; i < MACHINES; i++) {
		config = old_config(MODEL_P6);
		config.no_masking = _i & 4;
		schedule_at_random(_i & 1);
	}
}
END_TEST

static void use_generic_ops(void)
{
	machine_has_generic_ops = true;
}

Suite *overflow_suite(void)
{
	Suite *suite = suite_create("overflow");
	TCase *controls = tcase_create("controls");
	TCase *tc = tcase_create("overflow");
	TCase *generic = tcase_create("generic operations");
	TCase *old = tcase_create("old");

	tcase_add_test(controls, identities_beside_overflow);
	tcase_add_loop_test(controls, iresets, 0, 20);
	tcase_add_loop_test(controls, interrupt_bits, 1, 6);
	tcase_add_test(controls, mixed);
	tcase_add_loop_test(controls, shortest_periods, 0, ARRAY_SIZE(shortest));
	tcase_add_loop_test(controls, no_apic, 1, 6);
	tcase_add_test(controls, parts_of_periods);
	suite_add_tcase(suite, controls);
	tcase_add_loop_test(tc, exact_periods, 0, 80);
	tcase_add_loop_test(tc, longest_period, 0, 10);
	tcase_add_loop_test(tc, written_if_changed, 1, 6);
	tcase_add_loop_test(tc, control_again, 1, 6);
	tcase_add_loop_test(tc, longest_double, 0, 10);
	tcase_add_loop_test(tc, shifts, 0, 10);
	tcase_add_loop_test(tc, pending_at_switch, 1, 6);
	tcase_add_loop_test(tc, held, 0, 20);
	tcase_add_loop_test(tc, random_schedule, 0, VARIANTS);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	tcase_add_loop_test(old, random_schedule_old, 0, 8);
	tcase_set_timeout(old, 60);
	suite_add_tcase(suite, old);
	/* A driver with its own operations table need not implement take_overflow. */
	tcase_add_checked_fixture(generic, use_generic_ops, NULL);
	tcase_add_loop_test(generic, exact_periods, 0, 80);
	tcase_add_loop_test(generic, shifts, 0, 10);
	tcase_add_loop_test(generic, held, 0, 20);
	tcase_add_loop_test(generic, random_schedule, 0, VARIANTS);
	tcase_set_timeout(generic, 60);
	suite_add_tcase(suite, generic);
	return suite;
}
