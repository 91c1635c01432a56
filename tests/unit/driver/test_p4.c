// SPDX-License-Identifier: GPL-2.0
/*
 * The Pentium 4: which controls are valid, exact counts and overflows in any schedule, forced
 * overflows, cascades, and hyper-threads.
 */
#include "model-p4.h"
#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define NR	18
#define ALL	(CCCR_ALL_THREADS)
#define USER_INSNS	(P4_INSTRUCTIONS | ESCR_T0_USR)

static struct model_config config;
static struct perfctr_cpu_control control;
static struct thread a, b;

static struct model_config p4_config(unsigned int cpu_model, bool threads)
{
	return (struct model_config) {
		.p4 = true, .p4_threads = threads, .pmc_width = 40, .level = true,
		.signature = 0xf07 | cpu_model << 4,
	};
}

static void start(unsigned int cpu_model, bool threads, bool isolate)
{
	config = p4_config(cpu_model, threads);
	machine_start(&config, isolate);
	thread_init(&a);
	thread_init(&b);
}

static void add(u32 map, u64 cccr, u64 escr)
{
	control_add(&control, map, cccr);
	control.ctr[control.nractrs - 1].aux = escr;
}

static void add_imode(u32 map, u64 cccr, u64 escr, u64 period)
{
	control_add_imode(&control, map, cccr, period);
	control.ctr[control.nractrs + control.nrictrs - 1].aux = escr;
}

static int check_one(u32 map, u64 cccr, u64 escr)
{
	control_init(&control);
	add(map, cccr, escr);
	return perfctr_cpu_check_control(&control);
}

static int check_imode(u32 map, u64 cccr, u64 escr, s64 ireset)
{
	control_init(&control);
	add_imode(map, cccr, escr, -(u64)ireset);
	return perfctr_cpu_check_control(&control);
}

/* ---- detection ------------------------------------------------------------- */

static void check_type(unsigned int type)
{
	model_init(&config);
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, type);
	machine_exit();
}

START_TEST(detection)
{
	const struct vperfctr_info *info = &perfctr_cpu_info;

	start(_i, false, true);
	ck_assert_uint_eq(info->pmc_mask, 0x3ffff);
	ck_assert_uint_eq(info->fixed_mask, 0);
	ck_assert_uint_eq(info->nrctrs, NR);
	ck_assert_uint_eq(info->nrkinds, 1);
	ck_assert_uint_eq(info->pmc_width, 32);
	ck_assert_uint_eq(info->max_period, 0x7fffffff);
	ck_assert_uint_eq(info->min_period, 2);
	ck_assert_uint_eq(info->arch_events,
			  VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS |
			  VPERFCTR_EVENT_BRANCHES | VPERFCTR_EVENT_BRANCH_MISSES);
	ck_assert_uint_eq(info->features, VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
			  VPERFCTR_FEATURE_CPUS | VPERFCTR_FEATURE_ISOLATE |
			  VPERFCTR_FEATURE_PCINT);
	ck_assert_uint_gt(perfctr_cpu_sampling_ns, 0);
	machine_stop();

	/* Firmware, or a hypervisor, has no counters; registers are missing; no such model. */
	config.no_capabilities = true;
	check_type(VPERFCTR_CPU_GENERIC);
	config.no_capabilities = false;
	config.signature |= BIT(20);
	check_type(VPERFCTR_CPU_GENERIC);
	config = p4_config(7 + _i, false);
	check_type(VPERFCTR_CPU_GENERIC);
	config = p4_config(_i, false);
	config.signature |= BIT(16);
	check_type(VPERFCTR_CPU_GENERIC);
	config = p4_config(_i, false);
	config.no_apic = true;
	machine_start(&config, true);
	ck_assert_uint_eq(info->max_period, 0);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, -2), -EINVAL);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_FORCE, USER_INSNS, -1), -EINVAL);
	machine_stop();
}
END_TEST

/* Each register that the manual names must exist. */
START_TEST(missing_register)
{
	static const u32 msrs[] = { 0x300, 0x311, 0x360, 0x371, 0x3a0, 0x3e1, 0x3f1, 0x3f2 };

	config = p4_config(3, false);
	model_init(&config);
	model.absent_msr = msrs[_i];
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_GENERIC);
	machine_exit();
}
END_TEST

/* ---- controls --------------------------------------------------------------- */

/* The rules for one enabled a-mode counter, as the interface describes them. */
static bool is_valid(unsigned int counter, u64 cccr, u64 escr)
{
	bool extended = (config.signature >> 4 & 0xf) >= 2 && (counter == 12 || counter >= 15);

	if (cccr & ~(0x41fff000ULL | (extended ? CCCR_EXT : 0)))
		return false;
	/* Nothing else can start this counter. */
	if (!(cccr & CCCR_EN))
		return false;
	if (config.p4_threads ? !(cccr & (ALL)) : (cccr & (ALL)) != (ALL))
		return false;
	if (!p4_escr_msr(counter, cccr >> 13 & 7))
		return false;
	return !(escr & ~0x7ffffffcULL) && (escr & (ESCR_T0_USR | ESCR_T0_OS));
}

/* Each bit changed, of both registers, on each counter, on each model. */
START_TEST(bits)
{
	unsigned int i, bit;

	start(_i / 2, _i & 1, true);
	for (i = 0; i < NR; i++) {
		u64 cccr = CCCR_EN | (ALL) | CCCR_SEL(i < 4 ? 6 : i < 8 ? 0 : i < 12 ? 5 : 4);

		ck_assert_int_eq(check_one(i, cccr, USER_INSNS), 0);
		ck_assert(!control.kernel);
		ck_assert_uint_eq(control.mask, 0xffffffff);
		ck_assert_int_eq(check_one(i, cccr, P4_INSTRUCTIONS), -EINVAL);
		ck_assert_int_eq(check_one(i, cccr, P4_INSTRUCTIONS | ESCR_T0_OS), 0);
		ck_assert(control.kernel);
		ck_assert_int_eq(check_one(i, cccr & ~(ALL), USER_INSNS), -EINVAL);
		for (bit = 0; bit < 64; bit++) {
			u64 flip = BIT_ULL(bit);

			require(check_one(i, cccr ^ flip, USER_INSNS) ==
				(is_valid(i, cccr ^ flip, USER_INSNS) ? 0 : -EINVAL),
				"counter %u, bit %u of the CCCR", i, bit);
			require(check_one(i, cccr, USER_INSNS ^ flip) ==
				(is_valid(i, cccr, USER_INSNS ^ flip) ? 0 : -EINVAL),
				"counter %u, bit %u of the ESCR", i, bit);
		}
	}
	machine_stop();
}
END_TEST

START_TEST(maps)
{
	static const u32 bad[] = { 18, 31, 32, 0x40000000, 0x4000000c, 0xc000000c, 0x8000000c + 8,
				   0xffffffff };
	unsigned int i;

	start(2, false, true);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(check_one(bad[i], P4_INSN_CCCR, USER_INSNS), -EINVAL);
	ck_assert_int_eq(check_one(0x8000000c, P4_INSN_CCCR, USER_INSNS), 0);
	ck_assert_uint_eq(control.ctr[0].map, 0x8000000c);
	/* Both names of one counter. */
	control_init(&control);
	add(12, P4_INSN_CCCR, USER_INSNS);
	add(0x8000000c, P4_INSN_CCCR, USER_INSNS);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	machine_stop();
}
END_TEST

/* Each counter with each select: the ESCR that the manual names is the one that is loaded. */
START_TEST(selects)
{
	unsigned int i, select;

	start(_i, false, true);
	for (i = 0; i < NR; i++) {
		for (select = 0; select < 8; select++) {
			u64 cccr = CCCR_EN | (ALL) | CCCR_SEL(select);
			u64 escr = ESCR_EVENT(i + 1, select + 1) | ESCR_T0_USR;
			u32 msr = p4_escr_msr(i, select);

			ck_assert_int_eq(check_one(i, cccr, escr), msr ? 0 : -EINVAL);
			if (!msr)
				continue;
			thread_init(&a);
			thread_control(&a, &control, 0);
			thread_in(&a, 0);
			ck_assert_uint_eq(model.cpu[0].escr[msr - 0x3a0], escr);
			thread_run(&a, &(struct work) { .instructions = 100, .cycles = 7 });
			thread_out(&a);
			thread_check(&a);
			ck_assert_uint_gt(a.page.ctr[0].sum, 0);
		}
	}
	machine_stop();
}
END_TEST

/* Two counters that select one ESCR must agree. */
START_TEST(shared_escr)
{
	unsigned int i, j;

	start(2, false, true);
	for (i = 12; i < NR; i++) {
		for (j = 12; j < NR; j++) {
			bool same = p4_escr_msr(i, 4) == p4_escr_msr(j, 4);

			if (i == j)
				continue;
			control_init(&control);
			add(i, P4_INSN_CCCR, USER_INSNS);
			add(j, P4_INSN_CCCR, USER_INSNS);
			ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
			control_init(&control);
			add(i, P4_INSN_CCCR, USER_INSNS);
			add(j, P4_INSN_CCCR, USER_INSNS | ESCR_T0_OS);
			ck_assert_int_eq(perfctr_cpu_check_control(&control), same ? -EINVAL : 0);
			control_init(&control);
			add(i, P4_INSN_CCCR, USER_INSNS);
			add(j, CCCR_EN | (ALL) | CCCR_SEL(5), USER_INSNS | ESCR_T0_OS);
			ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
		}
	}
	machine_stop();
}
END_TEST

START_TEST(global_words)
{
	static const struct {
		u64 enable, vert;
		int err;
	} cases[] = {
		{ 0, 0, 0 }, { 0, 1, -EINVAL }, { 0x1000001, 1, 0 }, { 0x1000607, 3, 0 },
		{ 0x1000002, 2, 0 }, { 0x1000004, 0, -EINVAL }, { 0x1000004, 4, -EINVAL },
		{ 0x1000000, 1, -EINVAL }, { 0x0000001, 1, -EINVAL }, { 0x3000001, 1, -EINVAL },
		{ 0x2000001, 1, -EINVAL }, { 0x1000008, 1, -EINVAL }, { 0x1000009, 1, -EINVAL },
		{ 0x1000001 | BIT_ULL(32), 1, -EINVAL }, { 0x1000001, 1 | BIT_ULL(63), -EINVAL },
	};
	unsigned int i;

	start(2, false, true);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		control_init(&control);
		add(12, CCCR_EN | (ALL) | CCCR_SEL(5), ESCR_EVENT(9, 1) | ESCR_T0_USR);
		control.global[0] = cases[i].enable;
		control.global[1] = cases[i].vert;
		ck_assert_int_eq(perfctr_cpu_check_control(&control), cases[i].err);
		if (cases[i].err)
			continue;
		/* Another thread must not be tagged. */
		thread_init(&a);
		thread_control(&a, &control, 0);
		thread_in(&a, 0);
		thread_out(&a);
		ck_assert_int_eq(check_one(12, P4_INSN_CCCR, USER_INSNS), 0);
		thread_control(&b, &control, 0);
		thread_in(&b, 0);
		thread_out(&b);
	}
	control_init(&control);
	control.global[0] = 0x1000001;
	control.global[1] = 1;
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	/* Whatever was tagged is forgotten when the counters are given back. */
	model.cpu[0].p4_global[0] = 0x1000001;
	machine_stop();
	ck_assert_uint_eq(model.cpu[0].p4_global[0], 0);
}
END_TEST

START_TEST(iresets)
{
	start(2, false, true);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, -2), 0);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, -1), -EINVAL);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, -0x7fffffffLL), 0);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, -0x80000000LL), -EINVAL);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, 0), -EINVAL);
	/* The interrupt bit is the driver's, and may be set in i-mode only. */
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_PMI_T0, USER_INSNS, -2), 0);
	ck_assert_int_eq(check_one(12, P4_INSN_CCCR | CCCR_PMI_T0, USER_INSNS), -EINVAL);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_PMI_T1, USER_INSNS, -2), -EINVAL);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_OVF, USER_INSNS, -2), -EINVAL);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_FORCE, USER_INSNS, -1), 0);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_FORCE, USER_INSNS, -2), -EINVAL);
	ck_assert_int_eq(check_one(12, P4_INSN_CCCR | CCCR_FORCE, USER_INSNS), -EINVAL);
	machine_stop();
}
END_TEST

/* ---- exact counts and overflows --------------------------------------------- */

#define NR_THREADS	4
#define STEPS		3000

static struct thread threads[NR_THREADS];

/* Any control that is valid: each ESCR has one value. */
static void random_p4_control(bool imode)
{
	u64 escrs[0x42], used = 0;
	unsigned int i, n, nr = 1 + random_below(8);

	for (i = 0; i < 0x42; i++) {
		escrs[i] = (u64)(1 + random_below(3)) << 2 |
			   (one_in(2) ? P4_INSTRUCTIONS : ESCR_EVENT(random_below(64), random_u64() & 0xffff));
	}
	control_init(&control);
	for (n = 0; n < nr; n++) {
		u64 cccr = CCCR_EN | (ALL) | CCCR_SEL(random_below(8));
		u32 msr;

		i = random_below(NR);
		if (one_in(2) && i >= 12)
			cccr = P4_INSN_CCCR;
		else if (one_in(3))
			cccr |= random_u64() & 0x01fc0000;
		msr = p4_escr_msr(i, cccr >> 13 & 7);
		if (!msr || used & BIT_ULL(i)) {
			n--;
			continue;
		}
		used |= BIT_ULL(i);
		if (one_in(3))
			i |= P4_FAST_READ;
		if (imode && n >= nr / 2)
			add_imode(i, cccr, escrs[msr - 0x3a0], 2 + random_below(one_in(2) ? 20 : 4000));
		else
			add(i, cccr, escrs[msr - 0x3a0]);
	}
	if (one_in(4)) {
		control.global[0] = BIT_ULL(24) | 0x3;
		control.global[1] = 1 + random_below(3);
	}
}

static struct thread *find_on_cpu(int cpu)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (threads[i].cpu == cpu)
			return &threads[i];
	}
	return NULL;
}

static void random_step(struct thread *t)
{
	struct work work = random_work(one_in(2) ? 10 : 5000);
	unsigned int cpu = random_below(NR_CPUS);

	if (t->cpu < 0) {
		if (one_in(8)) {
			random_p4_control(one_in(2));
			if (t->held)
				thread_iresume(t);
			thread_control(t, &control, one_in(2) ? random_u64() : 0);
		} else if (t->held && one_in(2)) {
			thread_iresume(t);
		} else if (!find_on_cpu(cpu) && !(config.p4_threads && cpu & 1)) {
			thread_in(t, cpu);
		} else if (!find_on_cpu(cpu & ~1U)) {
			stranger_run(cpu & ~1U, &work);
		}
		return;
	}
	switch (random_below(8)) {
	case 0: case 1:
		thread_out(t);
		break;
	case 2:
		thread_sample(t);
		break;
	case 3:
		if (t->held)
			thread_iresume(t);
		break;
	case 4:
		fake_cpu = t->cpu;
		perfctr_x86_scrub();
		break;
	default:
		thread_run(t, &work);
		return;
	}
	if (t->cpu < 0)
		thread_check(t);
}

START_TEST(random_schedule)
{
	unsigned int i, j;

	random_restart(__LINE__ + _i);
	fake_watched = _i & 2;
	for (j = 0; j < 3; j++) {
		config = p4_config(random_below(7), _i & 8);
		machine_start(&config, _i & 1);
		service.holds = _i & 4;
		for (i = 0; i < NR_THREADS; i++) {
			thread_init(&threads[i]);
			random_p4_control(true);
			thread_control(&threads[i], &control, 0);
		}
		for (i = 0; i < STEPS; i++)
			random_step(&threads[random_below(NR_THREADS)]);
		for (i = 0; i < NR_THREADS; i++) {
			if (threads[i].cpu >= 0)
				thread_out(&threads[i]);
			thread_check(&threads[i]);
		}
		machine_stop();
	}
}
END_TEST

/* One event at a time: there are floor(events / period) overflows. */
START_TEST(exact_periods)
{
	unsigned int i;

	start(2, false, _i & 1);
	control_init(&control);
	add(13, P4_INSN_CCCR, USER_INSNS);
	add_imode(16, P4_INSN_CCCR, USER_INSNS, 7);
	add_imode(14, P4_INSN_CCCR, USER_INSNS, 23);
	thread_control(&a, &control, 0);
	for (i = 1; i < 1000; i++) {
		if (a.cpu < 0)
			thread_in(&a, i % NR_CPUS);
		thread_run(&a, &(struct work) { .instructions = 1, .cycles = 2 });
		if (i % 3 == 2)
			thread_sample(&a);
		if (i % 5 == 4)
			thread_out(&a);
		ck_assert_uint_eq(a.overflows[1], i / 7);
		ck_assert_uint_eq(a.overflows[2], i / 23);
	}
	if (a.cpu >= 0)
		thread_out(&a);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(a.page.ctr[i].sum, 999);
	machine_stop();
}
END_TEST

/* Each event overflows. */
START_TEST(forced)
{
	unsigned int i;

	start(2, false, true);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR | CCCR_FORCE, USER_INSNS, -1), 0);
	control.ctr[0].ireset = -1;
	thread_control(&a, &control, 0);
	for (i = 0; i < 20; i++) {
		thread_in(&a, i & 1);
		thread_run(&a, &(struct work) { .instructions = 1 });
		thread_run(&a, &(struct work) { .instructions = 3 });
		thread_out(&a);
	}
	ck_assert_uint_eq(a.overflows[0], 40);
	ck_assert_uint_eq(a.page.ctr[0].sum, 80);
	/* With longer periods, as for samples that come too fast, not each event does. */
	service.shift = 3;
	thread_in(&a, 0);
	for (i = 0; i < 81; i++)
		thread_run(&a, &(struct work) { .instructions = 1 });
	thread_out(&a);
	ck_assert_uint_eq(a.overflows[0], 40 + 1 + 10);
	machine_stop();
}
END_TEST

/*
 * A carry from bit 31 is lost, as by the erratum of counters that stop in that cycle.  No count
 * depends on the bits above.
 */
START_TEST(lost_carry)
{
	start(2, false, true);
	ck_assert_int_eq(check_one(12, P4_INSN_CCCR, USER_INSNS), 0);
	thread_control(&a, &control, 0);
	model.cpu[0].pmc[12] = 0xfffffffe;
	thread_in(&a, 0);
	thread_run(&a, &(struct work) { .instructions = 4 });
	model.cpu[0].pmc[12] &= 0xffffffff;
	thread_out(&a);
	thread_check(&a);
	ck_assert_uint_eq(a.page.ctr[0].sum, 4);
	machine_stop();
}
END_TEST

/* ---- cascades ----------------------------------------------------------------- */

static const struct {
	unsigned int from, to;
	u64 bit;
	unsigned int since;	/* the first model that has it */
} cascades[] = {
	{ 12, 14, CCCR_CASCADE, 0 }, { 14, 12, CCCR_CASCADE, 0 }, { 13, 15, CCCR_CASCADE, 0 },
	{ 15, 13, CCCR_CASCADE, 0 }, { 16, 12, CCCR_EXT, 2 }, { 16, 17, CCCR_EXT, 2 },
	{ 17, 15, CCCR_EXT, 2 }, { 17, 16, CCCR_EXT, 2 },
};

static void set_cascade(unsigned int i, u64 period)
{
	control_init(&control);
	add(cascades[i].to, (P4_INSN_CCCR & ~CCCR_EN) | cascades[i].bit, USER_INSNS);
	add_imode(cascades[i].from, P4_INSN_CCCR, USER_INSNS, period);
}

/*
 * The cascaded counter counts what follows the first overflow, also after switches to other
 * CPUs, whether the overflow is waited for or not.
 */
START_TEST(cascaded)
{
	const unsigned int c = _i % ARRAY_SIZE(cascades);
	unsigned int cpu_model, i;

	for (cpu_model = 0; cpu_model <= 6; cpu_model++) {
		start(cpu_model, false, _i & 1);
		service.holds = _i / ARRAY_SIZE(cascades);
		set_cascade(c, 10);
		if (cpu_model < cascades[c].since) {
			ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
			machine_stop();
			continue;
		}
		thread_control(&a, &control, 0);
		set_cascade(c, 1000);
		thread_control(&b, &control, 0);
		for (i = 1; i <= 100; i++) {
			u64 before = a.page.ctr[0].sum;

			thread_in(&a, i % 2);
			/* the model does not know what a counter without enable counts */
			a.counted[0] = i <= 10 ? 0 : i - 10;
			thread_run(&a, &(struct work) { .instructions = 1 });
			if (a.held)
				thread_iresume(&a);
			thread_out(&a);
			thread_check(&a);
			ck_assert_uint_ge(a.page.ctr[0].sum, before);
			thread_in(&b, i % 2);
			thread_run(&b, &(struct work) { .instructions = 1 });
			thread_out(&b);
			thread_check(&b);
		}
		ck_assert_uint_eq(a.page.ctr[0].sum, 90);
		ck_assert_uint_eq(a.page.ctr[1].sum, 100);
		ck_assert_uint_eq(a.overflows[1], 10);
		ck_assert_uint_eq(b.page.ctr[0].sum, 0);
		/* A new control begins anew. */
		set_cascade(c, 10);
		thread_control(&a, &control, 0);
		thread_in(&a, 0);
		thread_run(&a, &(struct work) { .instructions = 5 });
		thread_out(&a);
		a.counted[0] = 0;
		thread_check(&a);
		machine_stop();
	}
}
END_TEST

/* Refused: no counter that could start it, one in a-mode, and an interrupt. */
START_TEST(bad_cascades)
{
	unsigned int i;

	start(2, false, true);
	for (i = 0; i < ARRAY_SIZE(cascades); i++) {
		set_cascade(i, 10);
		ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
		control.ctr[1].map = cascades[i].from ^ 1;
		ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
		set_cascade(i, 10);
		control.nractrs = 2;
		control.nrictrs = 0;
		control.ctr[1].ireset = 0;
		ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
		set_cascade(i, 10);
		control.nractrs = 0;
		control.nrictrs = 2;
		control.ctr[0].ireset = -5;
		ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	}
	/* No counter starts 16 or 17 by the plain cascade bit. */
	for (i = 16; i < NR; i++)
		ck_assert_int_eq(check_one(i, (P4_INSN_CCCR & ~CCCR_EN) | CCCR_CASCADE, USER_INSNS),
				 -EINVAL);
	machine_stop();
}
END_TEST

/* A child's cascaded counter starts by the child's own overflow. */
START_TEST(inherited_cascade)
{
	unsigned int i;

	start(2, false, true);
	set_cascade(0, 10);
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	for (i = 0; i < 12; i++)
		thread_run(&a, &(struct work) { .instructions = 1 });
	thread_out(&a);
	thread_control(&b, &control, 0);
	perfctr_cpu_inherit(&b.state, &a.state);
	thread_in(&b, 0);
	thread_run(&b, &(struct work) { .instructions = 3 });
	thread_out(&b);
	ck_assert_uint_eq(a.page.ctr[0].sum, 2);
	ck_assert_uint_eq(b.page.ctr[0].sum, 0);
	machine_stop();
}
END_TEST

static struct thread joint;
static struct perfctr_cpu_state *const parts[] = { &a.state, &b.state };

static unsigned int find_parts(const struct perfctr_cpu_state *state,
			       struct perfctr_cpu_state *const **part)
{
	*part = parts;
	return state == &joint.state ? 2 : 0;
}

static bool counts(unsigned int counter)
{
	return model.cpu[0].evntsel[counter] & CCCR_EN;
}

static void joint_in(void)
{
	fake_irqs_off = true;
	ck_assert(perfctr_cpu_join(&joint.state, parts, 2));
	perfctr_cpu_resume(&joint.state);
	perfctr_cpu_joined(&joint.state, parts, 2);
}

static void joint_out(void)
{
	perfctr_cpu_suspend(&joint.state);
	perfctr_cpu_part(&joint.state, parts, 2);
	fake_irqs_off = false;
}

/* A state keeps its started cascade beside others, and takes none over from another thread. */
START_TEST(cascade_beside)
{
	const struct perfctr_cpu_control *const from[] = { &a.state.control, &b.state.control };
	struct perfctr_cpu_control both;

	start(2, false, true);
	perfctr_cpu_set_parts(find_parts, NULL);
	set_cascade(0, 10);
	thread_control(&a, &control, 0);
	control_init(&control);
	add(13, P4_INSN_CCCR, USER_INSNS);
	thread_control(&b, &control, 0);
	ck_assert_int_eq(perfctr_cpu_combine(&both, from, 2, false), 0);
	thread_init(&joint);
	thread_control(&joint, &both, 0);

	joint_in();
	ck_assert(counts(12) && counts(13) && !counts(14));
	model.cpu[0].pmc[12] = 5;	/* it has overflowed */
	joint_out();
	a.page.ctr[1].start = a.state.control.ctr[1].ireset;	/* as IRESUME does */
	joint_in();
	ck_assert(counts(14));
	joint_out();
	/* Alone. */
	fake_irqs_off = true;
	perfctr_cpu_resume(&a.state);
	ck_assert(counts(14));
	perfctr_cpu_suspend(&a.state);
	fake_irqs_off = false;
	/* A new control begins anew, which is also that of another thread. */
	set_cascade(0, 10);
	thread_control(&a, &control, 0);
	joint_in();
	ck_assert(!counts(14));
	joint_out();
	perfctr_cpu_set_parts(NULL, NULL);
	machine_stop();
}
END_TEST

/* ---- hyper-threads ------------------------------------------------------------- */

static u32 forbidden(void)
{
	return perfctr_cpus_forbidden(0)->bits[0];
}

START_TEST(second_threads)
{
	static const struct {
		bool threads;
		unsigned int cores;
		u32 forbidden;
	} cases[] = {
		{ false, 0, 0 }, { true, 0, 0xa }, { false, 2, 0 }, { true, 2, 0xa }, { false, 1, 0 },
	};
	unsigned int cpu;

	config = p4_config(3, cases[_i].threads);
	config.p4_cores = cases[_i].cores;
	machine_start(&config, true);
	ck_assert_uint_eq(forbidden(), cases[_i].forbidden);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		ck_assert_int_eq(machine_is_prepared(cpu), !(forbidden() >> cpu & 1));
	/* CPUs that have not been online are forbidden until they are. */
	machine_stop();
	fake_cpu_down(2);
	fake_cpu_down(3);
	machine_start(&config, true);
	ck_assert_uint_eq(forbidden(), cases[_i].forbidden | 0xc);
	fake_cpu_up(2);
	fake_cpu_up(3);
	ck_assert_uint_eq(forbidden(), cases[_i].forbidden);
	machine_stop();
}
END_TEST

/* The module's parameter holds, too. */
START_TEST(named_cpus)
{
	config = p4_config(3, true);
	*fake_param_forbid_cpus = (char *)"2";
	machine_start(&config, true);
	ck_assert_uint_eq(forbidden(), 0xe);
	machine_stop();
	*fake_param_forbid_cpus = NULL;
}
END_TEST

/* Events of the whole core need a core with one thread. */
START_TEST(thread_independent)
{
	start(3, _i, true);
	ck_assert_int_eq(check_one(8, CCCR_EN | (ALL) | CCCR_SEL(1),
				   ESCR_EVENT(0x04, 0x8000) | ESCR_T0_USR), 0);
	ck_assert_int_eq(control.alone, _i);
	ck_assert_int_eq(check_one(8, CCCR_EN | (ALL) | CCCR_SEL(2),
				   ESCR_EVENT(0x04, 0x8000) | ESCR_T0_USR), 0);
	ck_assert(!control.alone);
	ck_assert_int_eq(check_one(12, P4_INSN_CCCR, USER_INSNS), 0);
	ck_assert(!control.alone);
	machine_stop();
}
END_TEST

/* ---- CPUs ------------------------------------------------------------------------ */

START_TEST(reservation)
{
	config = p4_config(2, false);
	model_init(&config);
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	fake_pmcs.others = BIT_ULL(_i);
	ck_assert_int_eq(perfctr_cpu_reserve(), -EBUSY);
	ck_assert_uint_eq(fake_pmcs.ours, 0);
	fake_pmcs.others = 0;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_uint_eq(fake_pmcs.ours, 0x3ffff);
	machine_stop();
}
END_TEST

/* Counters that perf or firmware has left are stopped.  Counting survives sleep and hotplug. */
START_TEST(left_by_others)
{
	unsigned int i;

	config = p4_config(2, false);
	model_init(&config);
	for (i = 0; i < NR; i++) {
		model.cpu[1].evntsel[i] = P4_INSN_CCCR | CCCR_PMI_T0;
		model.cpu[1].pmc[i] = 5;
		model.cpu[1].escr[0x18] = USER_INSNS;
	}
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	ck_assert_uint_eq(fake_suspects, BIT(1));
	ck_assert_uint_eq(fake_warnings, 1);
	thread_init(&a);
	ck_assert_int_eq(check_imode(12, P4_INSN_CCCR, USER_INSNS, -7), 0);
	control.ctr[0].ireset = -7;
	thread_control(&a, &control, 0);
	for (i = 0; i < 4; i++) {
		thread_in(&a, 1);
		thread_run(&a, &(struct work) { .instructions = 5 });
		thread_out(&a);
		thread_check(&a);
		if (i & 1)
			fake_suspend_to_ram();
		else
			fake_cpu_down(1);
		if (!(i & 1))
			fake_cpu_up(1);
		thread_in(&a, 0);
		thread_run(&a, &(struct work) { .instructions = 2 });
		thread_out(&a);
	}
	ck_assert_uint_eq(a.overflows[0], 4);
	fake_reboot();
	for (i = 0; i < NR; i++)
		ck_assert_uint_eq(model.cpu[0].evntsel[i], 0);
	machine_stop();
}
END_TEST

/* A CPU with a counter that does not work is refused. */
START_TEST(broken)
{
	config = p4_config(2, false);
	if (_i == 0)
		config.dead = BIT_ULL(13);
	else if (_i == 1)
		config.read_only = 0x362;
	else if (_i == 2)
		config.stuck = BIT_ULL(7);
	else
		config.unreadable = BIT_ULL(17);
	model_init_hybrid(&config, &config, 0);
	model.max_leaf = 2;
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_INTEL_P4);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
	ck_assert_uint_eq(fake_warnings, 1);
	thread_init(&a);
	ck_assert_int_eq(check_one(12, P4_INSN_CCCR, USER_INSNS), 0);
	thread_control(&a, &control, 0);
	thread_refused(&a, 0);
	config.dead = 0;
	model.config = config;
	machine_stop();
}
END_TEST

/* Counter 1 is said to be broken: it need not count. */
START_TEST(counter_1)
{
	config = p4_config(2, false);
	config.dead = BIT_ULL(1);
	machine_start(&config, true);
	machine_stop();
}
END_TEST

/* A switch between threads that count the same writes two CCCRs, and no ESCR. */
START_TEST(switch_cost)
{
	unsigned int i;

	start(2, false, _i);
	ck_assert_int_eq(check_one(12, P4_INSN_CCCR, USER_INSNS), 0);
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	thread_out(&a);
	perfctr_cpu_inherit(&b.state, &a.state);
	b.control = a.control;
	model_clear_statistics();
	for (i = 0; i < 4; i++) {
		thread_in(&b, 0);
		thread_out(&b);
	}
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_EVNTSEL], _i ? 8 : 0);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), _i ? 8 : 0);
	machine_stop();
}
END_TEST

Suite *p4_suite(void)
{
	Suite *suite = suite_create("p4");
	TCase *tc = tcase_create("p4");

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, detection, 0, 7);
	tcase_add_loop_test(tc, missing_register, 0, 8);
	tcase_add_loop_test(tc, bits, 0, 14);
	tcase_add_test(tc, maps);
	tcase_add_loop_test(tc, selects, 0, 7);
	tcase_add_test(tc, shared_escr);
	tcase_add_test(tc, global_words);
	tcase_add_test(tc, iresets);
	tcase_add_loop_test(tc, random_schedule, 0, 16);
	tcase_add_loop_test(tc, exact_periods, 0, 2);
	tcase_add_test(tc, forced);
	tcase_add_test(tc, lost_carry);
	tcase_add_loop_test(tc, cascaded, 0, 16);
	tcase_add_test(tc, bad_cascades);
	tcase_add_test(tc, inherited_cascade);
	tcase_add_test(tc, cascade_beside);
	tcase_add_loop_test(tc, second_threads, 0, 5);
	tcase_add_test(tc, named_cpus);
	tcase_add_loop_test(tc, thread_independent, 0, 2);
	tcase_add_loop_test(tc, reservation, 0, NR);
	tcase_add_test(tc, left_by_others);
	tcase_add_loop_test(tc, broken, 0, 4);
	tcase_add_test(tc, counter_1);
	tcase_add_loop_test(tc, switch_cost, 0, 2);
	suite_add_tcase(suite, tc);
	return suite;
}
