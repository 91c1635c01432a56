// SPDX-License-Identifier: GPL-2.0
/* Several kinds of CPUs: they are detected, and each kind has its own counters. */
#include <stdlib.h>

#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define CORE	0x40000001
#define ATOM	0x20000001

static const struct work work = { .instructions = 1000, .cycles = 3000 };

/* As CPUID reports them: 8 + 4 counters and 6 + 3. */
static struct model_config core_config(void)
{
	struct model_config config = usual_config(5);

	config.nr_pmcs = 8;
	config.nr_fixed = 4;
	config.fixed_mask = 0xf;
	config.core_type = CORE;
	return config;
}

static struct model_config atom_config(void)
{
	struct model_config config = usual_config(5);

	config.nr_pmcs = 6;
	config.core_type = ATOM;
	return config;
}

/* CPUs 1 and 3 are of the other kind. */
#define OTHERS	0xa

static void init(const struct model_config *config, const struct model_config *other)
{
	model_init_hybrid(config, other, OTHERS);
	machine_use_service();
	perfctr_isolate = true;
	fake_warnings = 0;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
}

static unsigned long forbidden(unsigned int kind)
{
	return perfctr_cpus_forbidden(kind)->bits[0];
}

START_TEST(found)
{
	struct model_config core = core_config(), atom = atom_config();
	const struct vperfctr_info *info;

	init(&core, &atom);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 2);
	ck_assert_ptr_null(perfctr_cpu_kind(2));
	ck_assert_ptr_null(perfctr_cpu_kind(~0U));
	info = perfctr_cpu_kind(0);
	ck_assert_ptr_eq(info, &perfctr_cpu_info);
	ck_assert_uint_eq(info->core_type, CORE);
	ck_assert_uint_eq(info->pmc_mask, 0xff);
	ck_assert_uint_eq(info->fixed_mask, 0xf);
	ck_assert_uint_eq(info->nrctrs, 12);
	ck_assert_ptr_nonnull(strstr(info->cpu_name, "version 5, Core"));
	info = perfctr_cpu_kind(1);
	ck_assert_uint_eq(info->core_type, ATOM);
	ck_assert_uint_eq(info->pmc_mask, 0x3f);
	ck_assert_uint_eq(info->fixed_mask, 0x7);
	ck_assert_uint_eq(info->nrctrs, 9);
	ck_assert_ptr_nonnull(strstr(info->cpu_name, "version 5, Atom"));
	ck_assert_uint_eq(info->features, perfctr_cpu_info.features);
	ck_assert_uint_eq(info->max_period, perfctr_cpu_info.max_period);
	ck_assert_uint_eq(info->tsc_khz, tsc_khz);
	ck_assert_uint_eq(forbidden(0), OTHERS);
	ck_assert_uint_eq(forbidden(1), 0xf & ~OTHERS);
	ck_assert_uint_eq(fake_warnings, 0);
	machine_exit();
}
END_TEST

/* CPUs are of another kind if CPUID reports something else, and only then. */
START_TEST(cpuid_decides_kind)
{
	struct model_config core = core_config(), other = core;

	switch (_i) {
	case 0:
		break;
	case 1:
		other.core_type++;	/* another model of core */
		break;
	case 2:
		other.nr_pmcs = 7;
		break;
	case 3:
		other.nr_fixed = 3;
		other.fixed_mask = 7;
		break;
	case 4:
		other.events_absent = 0x10;
		break;
	case 5:		/* the same, reported in the other leaves */
		other.nr_pmcs = 4;
		other.pmc_mask = 0xff;
		break;
	}
	init(&core, &other);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, _i % 5 ? 2 : 1);
	ck_assert_uint_eq(forbidden(0), _i % 5 ? OTHERS : 0);
	ck_assert_uint_eq(fake_warnings, 0);
	machine_exit();
}
END_TEST

/* CPUs that are too different for the driver are forbidden, and it writes none of them. */
START_TEST(too_different)
{
	struct model_config core = core_config(), other = atom_config();
	struct model_cpu before;

	switch (_i) {
	case 0:
		other.pmc_width = 40;
		break;
	case 1:
		other.fixed_width = 40;
		break;
	case 2:
		other.no_full_write = true;
		break;
	case 3:
		other.version = 1;
		break;
	case 4:
		other.version = 0;
		break;
	case 5:
		other.nr_pmcs = 0;
		break;
	}
	init(&core, &other);
	before = model.cpu[1];
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 1);
	ck_assert_uint_eq(forbidden(0), OTHERS);
	ck_assert_uint_eq(fake_warnings, 2);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_cpu = 1;
	ck_assert_int_eq(perfctr_prepare_here(), -EIO);
	perfctr_x86_scrub();
	fake_cpu_down(1);
	fake_cpu_up(1);
	fake_suspend_to_ram();
	perfctr_cpu_release();
	before.tsc = model.cpu[1].tsc;
	ck_assert_mem_eq(&before, &model.cpu[1], sizeof(before));
	machine_exit();
}
END_TEST

/* If the boot CPU has no counters, the driver uses no counters on any CPU. */
START_TEST(first_without_counters)
{
	struct model_config none = core_config(), atom = atom_config();

	none.version = _i;
	init(&none, &atom);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 1);
	ck_assert_uint_eq(forbidden(0), 0);
	machine_exit();
}
END_TEST

START_TEST(forbidden_besides)
{
	struct model_config core = core_config(), atom = atom_config();

	*fake_param_forbid_cpus = "1,2";
	init(&core, &atom);
	ck_assert_uint_eq(forbidden(0), 0xe);
	ck_assert_uint_eq(forbidden(1), 0x7);
	machine_exit();
}
END_TEST

static int check(u32 kind, u32 map, u64 evntsel)
{
	struct perfctr_cpu_control control;

	control_init(&control);
	control_add(&control, map, evntsel);
	control.kind = kind;
	return perfctr_cpu_check_control(&control);
}

START_TEST(controls)
{
	struct model_config core = core_config(), atom = atom_config();

	core.events_absent = 0x40;	/* branch misses */
	atom.events_absent = 0x20;	/* branches */
	init(&core, &atom);
	ck_assert_int_eq(check(0, 7, USER(EV_CYCLES)), 0);
	ck_assert_int_eq(check(1, 7, USER(EV_CYCLES)), -EINVAL);
	ck_assert_int_eq(check(1, 5, USER(EV_CYCLES)), 0);
	ck_assert_int_eq(check(0, VPERFCTR_FIXED | 3, FIX_USR), 0);
	ck_assert_int_eq(check(1, VPERFCTR_FIXED | 3, FIX_USR), -EINVAL);
	ck_assert_int_eq(check(0, 0, USER(0x00c4)), 0);
	ck_assert_int_eq(check(1, 0, USER(0x00c4)), -EINVAL);
	ck_assert_int_eq(check(0, 0, USER(0x00c5)), -EINVAL);
	ck_assert_int_eq(check(1, 0, USER(0x00c5)), 0);
	ck_assert_int_eq(check(2, 0, USER(EV_CYCLES)), -EINVAL);
	ck_assert_int_eq(check(~0U, 0, USER(EV_CYCLES)), -EINVAL);
	machine_exit();
}
END_TEST

/* Make a thread use all counters of a kind. */
static void use_all(struct thread *t, u32 kind)
{
	const struct vperfctr_info *info = perfctr_cpu_kind(kind);
	struct perfctr_cpu_control control;
	unsigned int i;

	control_init(&control);
	control.kind = kind;
	for (i = 0; i < 32; i++) {
		if (info->pmc_mask & BIT_ULL(i))
			control_add(&control, i, USER(EV_INSTRUCTIONS));
	}
	for (i = 0; i < 32; i++) {
		if (info->fixed_mask & BIT_ULL(i))
			control_add(&control, VPERFCTR_FIXED | i, FIX_USR);
	}
	thread_init(t);
	thread_control(t, &control, 0);
}

static void use_on(struct thread *t, unsigned int cpu)
{
	thread_in(t, cpu);
	thread_run(t, &work);
	thread_out(t);
	thread_check(t);
}

START_TEST(counted)
{
	struct model_config core = core_config(), atom = atom_config();
	struct thread a, b;
	unsigned int i;

	init(&core, &atom);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	/* the counters of both kinds */
	ck_assert_uint_eq(fake_pmcs.ours, 0xff);
	fake_cpu = 0;
	use_all(&a, 0);
	fake_cpu = 1;
	use_all(&b, 1);
	for (i = 0; i < 10; i++) {
		use_on(&a, 2 * (i & 1));
		use_on(&b, 1 + 2 * (i & 1));
	}
	/* CPUs keep their kind when they go offline and online */
	fake_cpu_down(1);
	fake_cpu_down(2);
	fake_cpu_up(2);
	fake_cpu_up(1);
	use_on(&a, 2);
	use_on(&b, 1);
	fake_suspend_to_ram();
	use_on(&a, 0);
	use_on(&b, 3);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 2);
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_pmcs.ours, 0);
	machine_exit();
}
END_TEST

/* ---- controls for any kind -------------------------------------------------------- */

/* The kind of a CPU, by OTHERS. */
static unsigned int kind_of(unsigned int cpu)
{
	return OTHERS >> cpu & 1;
}

/* Two tables, as the service makes them. */
static struct perfctr_cpu_kinds *new_kinds(void)
{
	struct perfctr_cpu_kinds *kinds;
	unsigned int kind;

	kinds = calloc(1, sizeof(*kinds) + 2 * sizeof(kinds->control[0]));
	ck_assert_ptr_nonnull(kinds);
	kinds->nr = 2;
	for (kind = 0; kind < 2; kind++) {
		control_init(&kinds->control[kind]);
		kinds->control[kind].kind = kind;
		kinds->control[kind].kinds = kinds;
	}
	return kinds;
}

/*
 * Make up to nr counters that both kinds have, in random order on each, with random events
 * and one mode of periods.
 */
static struct perfctr_cpu_kinds *random_kinds(unsigned int nr, u64 max_period)
{
	struct perfctr_cpu_kinds *kinds = new_kinds();
	unsigned int i, n, kind, nractrs = random_below(nr + 1);
	u64 ireset[9];

	for (i = 0; i < nr; i++)
		ireset[i] = i < nractrs ? 0 : -(2 + random_u64() % max_period);
	for (kind = 0; kind < 2; kind++) {
		struct perfctr_cpu_control *control = &kinds->control[kind];

		n = random_below(9);
		for (i = 0; i < nr; i++, n = (n + 1) % 9) {
			control->ctr[i] = (struct vperfctr_ctr) {
				.map = n < 6 ? n : VPERFCTR_FIXED | (n - 6),
				.evntsel = n >= 6 ? FIX_USR : one_in(2) ?
					   USER(EV_INSTRUCTIONS) : USER(EV_CYCLES),
				.ireset = ireset[i],
			};
		}
		control->nractrs = nractrs;
		control->nrictrs = nr - nractrs;
	}
	return kinds;
}

static void any_init(struct thread *t, struct perfctr_cpu_kinds *kinds)
{
	ck_assert_int_eq(perfctr_cpu_check_kinds(kinds), 0);
	thread_init(t);
	thread_control(t, &kinds->control[0], 0);
}

/* Resume a thread on a CPU, of which the registers then must hold that kind's table. */
static void any_in(struct thread *t, unsigned int cpu)
{
	fake_cpu = cpu;
	ck_assert(perfctr_cpu_enter_kind(&t->state));
	t->control = t->state.control.kinds->control[kind_of(cpu)];
	ck_assert_uint_eq(t->state.control.kind, kind_of(cpu));
	ck_assert_uint_eq(t->page.mask, t->control.mask);
	thread_in(t, cpu);
}

/* Threads of any kind move between CPUs and meet each other, and those of one kind. */
START_TEST(any_counted)
{
	struct model_config core = core_config(), atom = atom_config();
	struct perfctr_cpu_kinds *kinds[3];
	unsigned int i, n, cpu;
	struct thread t[5];
	struct work w;

	if (_i & 1)	/* fixed counters are narrower than general ones */
		core.fixed_width = atom.fixed_width = 40;
	init(&core, &atom);
	perfctr_isolate = !(_i & 2);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	for (i = 0; i < 3; i++) {
		kinds[i] = random_kinds(1 + random_below(one_in(2) ? 2 : 9), 10000);
		any_init(&t[i], kinds[i]);
	}
	use_all(&t[3], 0);
	use_all(&t[4], 1);
	for (n = 0; n < 300; n++) {
		i = random_below(5);
		cpu = random_below(NR_CPUS);
		if (i >= 3) {
			cpu = (cpu & ~1U) | (i - 3);
			thread_in(&t[i], cpu);
		} else {
			any_in(&t[i], cpu);
		}
		for (; !one_in(3); ) {
			w = random_work(3000);
			thread_run(&t[i], &w);
		}
		thread_out(&t[i]);
		thread_check(&t[i]);
	}
	machine_stop();
	for (i = 0; i < 3; i++)
		free(kinds[i]);
}
END_TEST

/* Tables that are the same on one kind do not make those of the other kind the same. */
START_TEST(any_identity)
{
	struct model_config core = core_config(), atom = atom_config();
	struct perfctr_cpu_kinds *kinds[2];
	struct thread t[2];
	unsigned int i;
	u64 id;

	init(&core, &atom);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	for (i = 0; i < 2; i++) {
		kinds[i] = new_kinds();
		control_add(&kinds[i]->control[0], 0,
			    USER(i ? EV_CYCLES : EV_INSTRUCTIONS));
		control_add(&kinds[i]->control[1], 0, USER(EV_INSTRUCTIONS));
		any_init(&t[i], kinds[i]);
	}
	for (i = 0; i < 8; i++) {
		unsigned int cpu = i & 4 ? i & 1 : !(i & 1);

		any_in(&t[i >> 1 & 1], cpu);
		thread_run(&t[i >> 1 & 1], &work);
		thread_out(&t[i >> 1 & 1]);
		thread_check(&t[i >> 1 & 1]);
	}
	/* The second one has got the identity of the first one, on this kind. */
	any_in(&t[0], 1);
	thread_out(&t[0]);
	id = t[0].state.id;
	any_in(&t[1], 1);
	thread_out(&t[1]);
	ck_assert_uint_eq(t[1].state.id, id);
	any_in(&t[0], 0);
	thread_out(&t[0]);
	any_in(&t[1], 0);
	thread_run(&t[1], &work);
	thread_out(&t[1]);
	thread_check(&t[1]);
	ck_assert_uint_ne(t[0].state.id, t[1].state.id);
	machine_stop();
	free(kinds[0]);
	free(kinds[1]);
}
END_TEST

START_TEST(any_refused)
{
	struct model_config core = core_config(), atom = atom_config();
	struct perfctr_cpu_kinds *kinds;
	struct perfctr_cpu_control *first, *second;
	int expected = -EINVAL;

	init(&core, &atom);
	kinds = new_kinds();
	first = &kinds->control[0];
	second = &kinds->control[1];
	control_add_imode(first, 0, USER(EV_CYCLES), 1000);
	control_add_imode(second, 5, USER(EV_CYCLES), 1000);
	switch (_i) {
	case 0:
		expected = 0;
		break;
	case 1:		/* the other kind does not have them */
		first->ctr[0].map = 6;
		break;
	case 2:
		first->ctr[0].map = VPERFCTR_FIXED | 3;
		first->ctr[0].evntsel = FIX_USR;
		break;
	case 3:
		second->ctr[0].map = 6;
		break;
	case 4:
		second->ctr[0].ireset--;
		break;
	case 5:
		second->ctr[0].evntsel = 0;
		break;
	case 6:		/* one kind that has the counter is enough */
		first->ctr[0].map = 6;
		kinds->nr = 1;
		expected = 0;
		break;
	}
	ck_assert_int_eq(perfctr_cpu_check_kinds(kinds), expected);
	if (!_i) {
		ck_assert(!first->kernel && !second->kernel);
		second->ctr[0].evntsel |= SEL_OS;
		ck_assert_int_eq(perfctr_cpu_check_kinds(kinds), 0);
		ck_assert(first->kernel && second->kernel);
	}
	free(kinds);
	machine_exit();
}
END_TEST

/* A period begins on a counter of 40 bits, and ends on one of 48, or the reverse. */
START_TEST(any_widths)
{
	struct model_config core = core_config(), atom = atom_config();
	struct perfctr_cpu_kinds *kinds;
	struct thread t;
	unsigned int i;

	core.fixed_width = atom.fixed_width = 40;
	init(&core, &atom);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	kinds = new_kinds();
	control_add_imode(&kinds->control[0], VPERFCTR_FIXED, FIX_USR, 2500);
	control_add_imode(&kinds->control[1], 0, USER(EV_INSTRUCTIONS), 2500);
	any_init(&t, kinds);
	for (i = 0; i < 20; i++) {
		any_in(&t, (_i + i) & 1);
		ck_assert_uint_eq(t.overflows[0], i / 3);
		thread_run(&t, &work);
		thread_out(&t);
		thread_check(&t);
	}
	machine_stop();
	free(kinds);
}
END_TEST

/* No table for a CPU's kind: the state is unchanged. */
START_TEST(any_without_table)
{
	struct model_config core = core_config(), atom = atom_config();
	struct perfctr_cpu_kinds *kinds;
	struct thread t;

	init(&core, &atom);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	kinds = new_kinds();
	control_add(&kinds->control[0], 7, USER(EV_INSTRUCTIONS));
	kinds->nr = 1;
	any_init(&t, kinds);
	any_in(&t, 2);
	thread_run(&t, &work);
	thread_out(&t);
	fake_cpu = 3;
	ck_assert(!perfctr_cpu_enter_kind(&t.state));
	ck_assert_uint_eq(t.state.control.kind, 0);
	ck_assert_uint_eq(t.page.ctr[0].map, 7);
	any_in(&t, 0);
	thread_run(&t, &work);
	thread_out(&t);
	thread_check(&t);
	machine_stop();
	free(kinds);
}
END_TEST

/* All CPUs of a kind are offline at first: it has more counters than are reserved. */
START_TEST(late_kind)
{
	struct model_config core = core_config(), atom = atom_config();
	struct thread a, b;

	model_init_hybrid(&atom, &core, OTHERS);
	fake_cpu_down(1);
	fake_cpu_down(3);
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 1);
	ck_assert_uint_eq(perfctr_cpu_info.core_type, ATOM);
	ck_assert_uint_eq(forbidden(0), OTHERS);
	ck_assert_ptr_null(perfctr_cpu_kind(1));
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&a, 0);
	use_on(&a, 2);

	fake_cpu_up(3);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 2);
	ck_assert_uint_eq(forbidden(0), OTHERS);
	ck_assert_uint_eq(forbidden(1), 0xf & ~(1UL << 3));
	fake_cpu_up(1);
	ck_assert_uint_eq(forbidden(1), 0xf & ~OTHERS);
	fake_cpu = 1;
	use_all(&b, 1);
	use_on(&b, 3);
	use_on(&a, 0);
	use_on(&b, 1);
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);

	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_uint_eq(fake_pmcs.ours, 0xff);
	use_on(&b, 1);
	machine_stop();
}
END_TEST

/* CPUs of more kinds than the driver supports are not used, and it warns about them. */
START_TEST(too_many_kinds)
{
	struct model_config config = core_config();
	unsigned int i;

	init(&config, &config);
	for (i = 0; i < 6; i++) {
		fake_cpu_down(1);
		model.others = 2;
		model.hybrid = true;
		model.other = config;
		model.other.core_type += i;
		fake_cpu_up(1);
	}
	/* the processor was not hybrid when it was detected */
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 1);
	machine_exit();

	model.others = 2;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	fake_warnings = 0;
	for (i = 0; i < 6; i++) {
		fake_cpu_down(1);
		model.other.core_type++;
		fake_cpu_up(1);
	}
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 4);
	ck_assert_ptr_null(perfctr_cpu_kind(4));
	ck_assert_uint_gt(fake_warnings, 0);
	machine_exit();
}
END_TEST

/* Events that disturb the sibling, by model: from the SDM and the specification updates. */
START_TEST(disturbing_events)
{
	static const struct {
		u32 signature;
		bool disturbs;
	} models[] = {
		{ 0x206a7, true }, { 0x206d7, true }, { 0x306a9, true }, { 0x306e4, true },
		{ 0x306c3, true }, { 0x306f2, true }, { 0x40651, true }, { 0x40661, true },
		{ 0x106a5, false }, { 0x206c2, false }, { 0x306d4, false }, { 0x506e3, false },
		{ 0xf2a, false }, { 0, false },
	};
	struct model_config config = usual_config(3);
	struct perfctr_cpu_control control;
	unsigned int event;

	config.signature = models[_i].signature;
	model_init(&config);
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	for (event = 0; event < 256; event++) {
		control_init(&control);
		control_add(&control, 1, USER(EV_INSTRUCTIONS));
		control_add(&control, 0, USER(0x8100 | event));
		ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
		ck_assert_int_eq(control.alone,
				 models[_i].disturbs && event >= 0xd0 && event <= 0xd3);
	}
	machine_exit();
}
END_TEST

/*
 * When a hyper-thread comes online, its sibling must switch threads, so that the driver
 * checks the running owner again.
 */
START_TEST(sibling_online)
{
	struct model_config config = usual_config(3);

	model_init(&config);
	fake_smt = true;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	memset(fake_works, 0, sizeof(fake_works));
	fake_cpu_down(3);
	fake_cpu_up(3);
	ck_assert_uint_eq(fake_works[2], 1);
	ck_assert_uint_eq(fake_works[0] + fake_works[1] + fake_works[3], 0);
	machine_exit();
}
END_TEST

Suite *hybrid_suite(void)
{
	Suite *suite = suite_create("hybrid");
	TCase *tc = tcase_create("hybrid");

	tcase_add_test(tc, found);
	tcase_add_loop_test(tc, cpuid_decides_kind, 0, 6);
	tcase_add_loop_test(tc, too_different, 0, 6);
	tcase_add_loop_test(tc, first_without_counters, 0, 2);
	tcase_add_test(tc, forbidden_besides);
	tcase_add_test(tc, controls);
	tcase_add_test(tc, counted);
	tcase_add_loop_test(tc, any_counted, 0, 20);
	tcase_add_test(tc, any_identity);
	tcase_add_loop_test(tc, any_refused, 0, 7);
	tcase_add_loop_test(tc, any_widths, 0, 2);
	tcase_add_test(tc, any_without_table);
	tcase_add_test(tc, late_kind);
	tcase_add_test(tc, too_many_kinds);
	tcase_add_loop_test(tc, disturbing_events, 0, 14);
	tcase_add_test(tc, sibling_online);
	suite_add_tcase(suite, tc);
	return suite;
}
