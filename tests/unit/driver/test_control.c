// SPDX-License-Identifier: GPL-2.0
/* The checks of controls: exactly those that include/uapi/linux/vperfctr.h describes. */
#include "random.h"
#include "tests.h"
#include "thread.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static struct perfctr_cpu_control control;

static int check_one(u32 map, u64 evntsel)
{
	control_init(&control);
	control_add(&control, map, evntsel);
	return perfctr_cpu_check_control(&control);
}

/* ---- the rules, without the driver's code ---------------------------------- */

/* SDM: UMask and event select of bit i of CPUID.0AH:EBX. */
static const u16 events[] = { 0x003c, 0x00c0, 0x013c, 0x4f2e, 0x412e, 0x00c4, 0x00c5 };

static bool event_available(u64 evntsel)
{
	unsigned int i;

	if (model.config.amd)
		return true;
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if ((evntsel & 0xffff) == events[i])
			return i < model.config.nr_events &&
			       !(model.config.events_absent & BIT(i));
	}
	return true;
}

/* True if the event needs no extra register, or aux is a valid value for it, not zero. */
static bool is_valid_aux(const struct vperfctr_ctr *ctr)
{
	const struct model_extra *extra = model_find_extra(ctr->evntsel);

	if (ctr->map & VPERFCTR_FIXED || !extra)
		return !ctr->aux;
	return model_has_extra(extra) && ctr->aux && !(ctr->aux & ~extra->valid);
}

/* True if both are one counter, or need different values of one extra register. */
static bool counters_clash(const struct vperfctr_ctr *a, const struct vperfctr_ctr *b)
{
	if (a->map == b->map)
		return true;
	return a->aux && b->aux && a->aux != b->aux &&
	       model_find_extra(a->evntsel)->reg == model_find_extra(b->evntsel)->reg;
}

/* True if the counter is valid.  Sets *kernel if it would count in kernel mode. */
static bool is_valid_counter(const struct vperfctr_ctr *ctr, bool *kernel)
{
	u64 foreign = SEL_PC | SEL_INT | SEL_ANY | ~0xffffffffULL;

	if (model_has_event_high())
		foreign &= ~SEL_EVENT_HIGH;

	if (ctr->ireset || !is_valid_aux(ctr))
		return false;
	if (!model_counter(&model.cpu[0], ctr->map))
		return false;
	if (ctr->map & VPERFCTR_FIXED) {
		*kernel |= ctr->evntsel & FIX_OS;
		return ctr->evntsel >= 1 && ctr->evntsel <= 3;
	}
	*kernel |= !!(ctr->evntsel & SEL_OS);
	return (ctr->evntsel & SEL_EN) && (ctr->evntsel & (SEL_USR | SEL_OS)) &&
	       !(ctr->evntsel & foreign) && event_available(ctr->evntsel) &&
	       model_counts_right(ctr->evntsel);
}

static int expected_error(const struct perfctr_cpu_control *c, bool *kernel)
{
	unsigned int i, j;

	*kernel = false;
	if (c->global[0] || c->global[1])
		return -EINVAL;
	for (i = 0; i < c->nractrs; i++) {
		if (!is_valid_counter(&c->ctr[i], kernel))
			return -EINVAL;
		for (j = 0; j < i; j++) {
			if (counters_clash(&c->ctr[j], &c->ctr[i]))
				return -EINVAL;
		}
	}
	return 0;
}

static u64 expected_mask(const struct perfctr_cpu_control *c)
{
	u64 mask = ~0ULL;
	unsigned int i;

	for (i = 0; i < c->nractrs; i++)
		mask &= model_mask(c->ctr[i].map);
	return mask;
}

/* ---- tests -------------------------------------------------------------- */

static struct model_config config;

static void setup(void)
{
	config = usual_config(4);
	machine_start(&config, true);
}

/* Each bit is added to a valid evntsel, or removed from it. */
START_TEST(evntsel_bits)
{
	static const u64 accepted = 0xffffULL | SEL_USR | SEL_OS | BIT_ULL(18) | BIT_ULL(23) |
				    0xff000000ULL;
	u64 bit = BIT_ULL(_i);
	int with;

	if (bit & (SEL_USR | SEL_EN)) {
		with = bit == SEL_USR ? 0 : -EINVAL;
		ck_assert_int_eq(check_one(1, (USER(0x1200) | SEL_OS) & ~bit), with);
		ck_assert_int_eq(check_one(1, USER(0x1200) & ~bit), -EINVAL);
		return;
	}
	with = bit & accepted ? 0 : -EINVAL;
	ck_assert_int_eq(check_one(1, USER(0) | bit), with);
	if (!with)
		ck_assert_int_eq(control.kernel, bit == SEL_OS);
}
END_TEST

START_TEST(fixed_bits)
{
	u64 bit = BIT_ULL(_i);

	ck_assert_int_eq(check_one(FIXED(1), bit), _i < 2 ? 0 : -EINVAL);
	if (_i < 2)
		ck_assert_int_eq(control.kernel, bit == FIX_OS);
	else
		ck_assert_int_eq(check_one(FIXED(1), bit | FIX_USR), -EINVAL);
}
END_TEST

START_TEST(counts_nothing)
{
	ck_assert_int_eq(check_one(0, 0), -EINVAL);
	ck_assert_int_eq(check_one(0, SEL_EN | EV_CYCLES), -EINVAL);
	ck_assert_int_eq(check_one(0, SEL_USR | EV_CYCLES), -EINVAL);
	ck_assert_int_eq(check_one(FIXED(0), 0), -EINVAL);
}
END_TEST

START_TEST(kernel_mode)
{
	static const struct {
		u32 map;
		u64 evntsel;
		bool kernel;
	} cases[] = {
		{ 0, USER(EV_CYCLES), false },
		{ 0, USER(EV_CYCLES) | SEL_OS, true },
		{ 0, SEL_EN | SEL_OS | EV_CYCLES, true },
		{ FIXED(2), FIX_USR, false },
		{ FIXED(2), FIX_OS | FIX_USR, true },
		{ FIXED(2), FIX_OS, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		ck_assert_int_eq(check_one(cases[i].map, cases[i].evntsel), 0);
		ck_assert_int_eq(control.kernel, cases[i].kernel);
	}
	/* One such counter of several is enough, also the last one. */
	control_init(&control);
	control_add(&control, 0, USER(EV_CYCLES));
	control_add(&control, FIXED(0), FIX_USR);
	control_add(&control, 1, USER(EV_CYCLES) | SEL_OS);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert(control.kernel);
}
END_TEST

START_TEST(maps)
{
	static const struct {
		u32 map;
		int err;
	} cases[] = {
		{ 0, 0 }, { 3, 0 }, { 4, -EINVAL }, { 8, -EINVAL }, { 31, -EINVAL },
		{ 32, -EINVAL }, { 0x20000000, -EINVAL }, { 0x80000000, -EINVAL },
		{ 0x3fffffff, -EINVAL }, { 0xffffffff, -EINVAL },
		{ FIXED(0), 0 }, { FIXED(2), 0 }, { FIXED(3), -EINVAL }, { FIXED(16), -EINVAL },
		{ FIXED(32), -EINVAL }, { FIXED(64), -EINVAL }, { FIXED(0x80000000), -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		u64 evntsel = USER(EV_CYCLES);

		if (cases[i].map & VPERFCTR_FIXED)
			evntsel = FIX_USR;

		ck_assert_msg(check_one(cases[i].map, evntsel) == cases[i].err,
			      "map %#x", cases[i].map);
	}
}
END_TEST

START_TEST(map_in_hole)
{
	unsigned int i;

	config = usual_config(5);
	config.nr_fixed = 1;
	config.fixed_mask = 0x0015;
	machine_stop();
	machine_start(&config, true);
	for (i = 0; i < 20; i++)
		ck_assert_int_eq(check_one(FIXED(i), FIX_USR),
				 i == 0 || i == 2 || i == 4 ? 0 : -EINVAL);
}
END_TEST

/* CPUID says that event selects have a second unit mask and EQ, on one kind of CPU or on all. */
START_TEST(long_event_selects)
{
	unsigned int bit;

	machine_stop();
	config = usual_config(6);
	config.pmc_mask = 0xf;
	if (_i == 0)
		config.version = 5;
	machine_start(&config, true);
	for (bit = 32; bit < 64; bit++)
		ck_assert_int_eq(check_one(1, USER(0x0179) | BIT_ULL(bit)),
				 _i && (bit == 36 || (bit >= 40 && bit < 48)) ? 0 : -EINVAL);
}
END_TEST

START_TEST(map_twice)
{
	static const u32 pairs[][2] = { { 1, 1 }, { FIXED(1), FIXED(1) }, { 1, FIXED(1) } };
	unsigned int i;

	control_init(&control);
	for (i = 0; i < 2; i++)
		control_add(&control, pairs[_i][i],
			    pairs[_i][i] & VPERFCTR_FIXED ? FIX_USR : USER(EV_CYCLES));
	ck_assert_int_eq(perfctr_cpu_check_control(&control),
			 pairs[_i][0] == pairs[_i][1] ? -EINVAL : 0);
}
END_TEST

START_TEST(must_be_zero)
{
	struct perfctr_cpu_control good, bad;
	unsigned int i;

	control_init(&good);
	control_add(&good, 0, USER(EV_CYCLES));
	control_add(&good, FIXED(0), FIX_USR);
	bad = good;
	ck_assert_int_eq(perfctr_cpu_check_control(&bad), 0);
	for (i = 0; i < 2; i++) {
		bad = good;
		bad.ctr[i].aux = BIT_ULL(63);
		ck_assert_int_eq(perfctr_cpu_check_control(&bad), -EINVAL);
		bad = good;
		bad.ctr[i].ireset = -1;
		ck_assert_int_eq(perfctr_cpu_check_control(&bad), -EINVAL);
		bad = good;
		bad.global[i] = 1;
		ck_assert_int_eq(perfctr_cpu_check_control(&bad), -EINVAL);
	}
	control_init(&bad);
	bad.global[1] = BIT_ULL(63);
	ck_assert_int_eq(perfctr_cpu_check_control(&bad), -EINVAL);
}
END_TEST

/* Absent events are refused, also with the other bits of an evntsel set. */
START_TEST(absent_events)
{
	unsigned int i, nr_events;

	for (nr_events = 0; nr_events < 10; nr_events++) {
		config.nr_events = nr_events;
		config.events_absent = BIT(_i);
		machine_stop();
		machine_start(&config, true);
		for (i = 0; i < ARRAY_SIZE(events); i++) {
			int err = i >= nr_events || (int)i == _i ? -EINVAL : 0;

			ck_assert_int_eq(check_one(0, USER(events[i])), err);
			ck_assert_int_eq(check_one(0, USER(events[i]) | 0x01840000), err);
			ck_assert_int_eq(!(perfctr_cpu_info.arch_events & BIT(i)), !!err);
		}
		ck_assert_int_eq(check_one(0, USER(0x02c0)), 0);
	}
}
END_TEST

START_TEST(narrowest_mask)
{
	static const struct {
		unsigned int pmc, fixed, both;
	} widths[] = { { 40, 48, 40 }, { 48, 32, 32 }, { 64, 64, 64 }, { 33, 64, 33 } };

	config.pmc_width = widths[_i].pmc;
	config.fixed_width = widths[_i].fixed;
	machine_stop();
	machine_start(&config, true);

	control_init(&control);
	control_add(&control, 2, USER(EV_CYCLES));
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert_uint_eq(control.mask, GENMASK_ULL(widths[_i].pmc - 1, 0));

	control_init(&control);
	control_add(&control, FIXED(2), FIX_USR);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert_uint_eq(control.mask, GENMASK_ULL(widths[_i].fixed - 1, 0));

	control_add(&control, 2, USER(EV_CYCLES));
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert_uint_eq(control.mask, GENMASK_ULL(widths[_i].both - 1, 0));
}
END_TEST

/* ---- events with an extra register ----------------------------------------- */

static void start_processor(unsigned int i, u32 no_extra)
{
	config = usual_config(4);
	config.signature = model_processors[i].signature;
	config.extra = model_processors[i].extra;
	config.no_extra = no_extra;
	machine_stop();
	machine_start(&config, true);
}

static int check_aux(u64 evntsel, u64 aux)
{
	control_init(&control);
	control_add(&control, 0, evntsel);
	control.ctr[0].aux = aux;
	return perfctr_cpu_check_control(&control);
}

/* Each bit of aux, and zero, with every event that needs a register on some processor. */
START_TEST(aux_bits)
{
	unsigned int p, bit;
	u32 no_extra;

	for (no_extra = 0; no_extra < 8; no_extra++) {
		start_processor(_i, no_extra);
		for (p = 0; p < MODEL_PROCESSORS; p++) {
			const struct model_extra *e = model_processors[p].extra;

			for (; e && e->event; e++) {
				const struct model_extra *here = model_find_extra(e->event);
				u64 valid = here && model_has_extra(here) ? here->valid : 0;

				ck_assert_int_eq(check_aux(USER(e->event), 0), here ? -EINVAL : 0);
				for (bit = 0; bit < 64; bit++)
					ck_assert_int_eq(check_aux(USER(e->event), BIT_ULL(bit)),
							 valid & BIT_ULL(bit) ? 0 : -EINVAL);
				/* with another unit mask it is another event */
				ck_assert_int_eq(check_aux(USER(e->event) ^ 0x8000, 1), -EINVAL);
				ck_assert_int_eq(check_aux(USER(e->event) ^ 0x8000, 0), 0);
				if (valid) {
					ck_assert_int_eq(check_aux(USER(e->event), valid), 0);
					ck_assert_int_eq(control.alone, here->shared);
				}
			}
		}
	}
}
END_TEST

/* The registers can be read, but ignore writes. */
START_TEST(aux_ignored)
{
	start_processor(_i, 0);
	config.ignores_extra = true;
	machine_stop();
	machine_start(&config, true);
	ck_assert_int_eq(check_aux(USER(0x01b7), 1), -EINVAL);
}
END_TEST

/* Two counters may share the register if both need the same value. */
START_TEST(aux_shared)
{
	unsigned int i;

	start_processor(6, 0);	/* Sapphire Rapids has three events for one register */
	for (i = 0; i < 64; i++) {
		control_init(&control);
		control_add(&control, 0, USER(i & 1 ? 0x01c6 : 0x40ad));
		control_add(&control, 1, USER(EV_CYCLES));
		control_add(&control, 3, USER(i & 2 ? 0x01c6 : 0x40ad));
		control_add(&control, 2, USER(0x012a));
		control.ctr[0].aux = i & 4 ? 1 : 2;
		control.ctr[2].aux = i & 8 ? 1 : 2;
		control.ctr[3].aux = i & 16 ? 1 : 4;
		ck_assert_int_eq(perfctr_cpu_check_control(&control),
				 !(i & 4) == !(i & 8) ? 0 : -EINVAL);
	}
}
END_TEST

/* A change of aux alone writes the extra register, and not the event select. */
START_TEST(aux_written)
{
	struct thread a, b;
	struct work work = { .instructions = 100, .cycles = 300 };
	struct model_cpu *cpu = &model.cpu[1];
	unsigned int i;

	start_processor(4, 0);
	model.cpu[1].extra[0] = 0x8000;		/* a value that perf left */
	fake_cpu_down(1);
	fake_cpu_up(1);
	machine_prepare();
	thread_init(&a);
	thread_init(&b);
	check_aux(USER(0x01b7), 0x1);
	thread_control(&a, &control, 0);
	check_aux(USER(0x01b7), 0x2);
	thread_control(&b, &control, 0);
	model_clear_statistics();
	for (i = 1; i <= 3; i++) {
		thread_in(&a, 1);
		thread_run(&a, &work);
		thread_out(&a);
		ck_assert_uint_eq(cpu->extra[0], 0x1);
		ck_assert_uint_eq(cpu->wrmsrs[REG_EXTRA], 2 * i - 1);
		thread_in(&b, 1);
		thread_run(&b, &work);
		thread_out(&b);
		ck_assert_uint_eq(cpu->extra[0], 0x2);
		ck_assert_uint_eq(cpu->wrmsrs[REG_EXTRA], 2 * i);
		ck_assert_uint_eq(cpu->wrmsrs[REG_EVNTSEL], 1);
		thread_check(&a);
		thread_check(&b);
	}
	thread_in(&b, 1);
	ck_assert_uint_eq(cpu->wrmsrs[REG_EXTRA], 6);
	thread_out(&b);
	/* a control without such events leaves the register alone: no write is needed later */
	check_aux(USER(EV_CYCLES), 0);
	thread_control(&a, &control, 0);
	thread_in(&a, 1);
	thread_out(&a);
	thread_in(&b, 1);
	thread_run(&b, &work);
	thread_out(&b);
	thread_check(&b);
	ck_assert_uint_eq(cpu->wrmsrs[REG_EXTRA], 6);
	/* after a sleep the register has lost its value, and is written again */
	memset(cpu->extra, 0, sizeof(cpu->extra));
	fake_cpu_down(1);
	fake_cpu_up(1);
	machine_prepare();
	thread_in(&b, 1);
	thread_run(&b, &work);
	thread_out(&b);
	thread_check(&b);
	ck_assert_uint_eq(cpu->extra[0], 0x2);
}
END_TEST

/* The kinds of CPUs of a hybrid processor have different extra registers. */
START_TEST(aux_of_kinds)
{
	struct model_config core, atom;
	int kind;

	machine_stop();
	core = usual_config(5);
	core.signature = 0x90672;
	core.core_type = 0x40000001;
	core.extra = model_processors[6].extra;
	atom = core;
	atom.core_type = 0x20000001;
	atom.extra = model_processors[10].extra;
	model_init_hybrid(&core, &atom, 0xc);
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	for (kind = 0; kind < 2; kind++) {
		static const struct {
			u16 event;
			int err[2];
		} cases[] = {
			{ 0x012a, { 0, -EINVAL } }, { 0x01b7, { -EINVAL, 0 } },
			{ 0x02b7, { -EINVAL, 0 } }, { 0x01c6, { 0, -EINVAL } },
		};
		unsigned int i;

		for (i = 0; i < ARRAY_SIZE(cases); i++) {
			control_init(&control);
			control_add(&control, 0, USER(cases[i].event));
			control.ctr[0].aux = 1;
			control.kind = kind;
			ck_assert_int_eq(perfctr_cpu_check_control(&control),
					 cases[i].err[kind]);
		}
	}
	machine_exit();
}
END_TEST

/* ---- fuzz --------------------------------------------------------------- */

/* Make a valid control, or one with up to three defects. */
static void fuzzed_control(struct perfctr_cpu_control *c)
{
	unsigned int flips = random_below(4);

	random_control(c);
	while (flips--) {
		struct vperfctr_ctr *ctr = &c->ctr[random_below(c->nractrs)];

		switch (random_below(12)) {
		case 0:
			c->global[random_below(2)] = BIT_ULL(random_below(64));
			break;
		case 1:
			ctr->aux = one_in(2) ? ctr->aux ^ BIT_ULL(random_below(64)) :
					       BIT_ULL(random_below(64));
			break;
		case 2:
			ctr->ireset = BIT_ULL(random_below(64));
			break;
		case 3:
			ctr->map = c->ctr[random_below(c->nractrs)].map;
			break;
		case 4:
			ctr->map = random_u64();
			break;
		case 5:
			ctr->map = (one_in(2) ? VPERFCTR_FIXED : 0) | random_below(20);
			break;
		case 6:
			ctr->evntsel = random_u64();
			break;
		case 7:
			ctr->evntsel = random_below(16);
			break;
		default:
			ctr->evntsel ^= BIT_ULL(one_in(2) ? random_below(64) : random_below(32));
		}
	}
}

/*
 * The control is accepted or refused as the rules say, and an accepted one can be loaded.
 * Returns true if it was accepted.
 */
static bool fuzz(struct thread *threads, unsigned int nr)
{
	struct thread *t = &threads[random_below(nr)];
	struct perfctr_cpu_control checked;
	struct work work;
	bool kernel;
	int err;

	fuzzed_control(&control);
	checked = control;
	err = perfctr_cpu_check_control(&checked);
	require(err == expected_error(&control, &kernel), "returned %d, not %d",
		err, expected_error(&control, &kernel));
	if (err)
		return false;
	require(checked.kernel == kernel, "kernel mode: %d", checked.kernel);
	require(checked.mask == expected_mask(&control), "mask %#llx", checked.mask);
	thread_control(t, &control, 0);
	thread_in(t, random_below(NR_CPUS));
	work = random_work(1000);
	thread_run(t, &work);
	thread_sample(t);
	thread_out(t);
	thread_check(t);
	return true;
}

#define FUZZ_MACHINES	40	/* for each version and isolation */
#define FUZZ_CONTROLS	500

START_TEST(fuzzed)
{
	unsigned int i, j, accepted = 0;
	struct thread threads[3];

	random_restart(__LINE__ + _i);
	machine_stop();
	for (i = 0; i < FUZZ_MACHINES; i++) {
		config = random_config(1 + _i / 2);
		config.nr_events = 7 - random_below(2);
		config.events_absent = one_in(2) ? BIT(3 + random_below(4)) : 0;
		machine_start(&config, _i & 1);
		/* The threads share the registers and the values in them. */
		for (j = 0; j < ARRAY_SIZE(threads); j++)
			thread_init(&threads[j]);
		for (j = 0; j < FUZZ_CONTROLS; j++)
			accepted += fuzz(threads, ARRAY_SIZE(threads));
		machine_stop();
	}
	/* Accepted and refused controls are both frequent enough to be tested. */
	ck_assert_uint_gt(accepted, FUZZ_MACHINES * FUZZ_CONTROLS / 10);
	ck_assert_uint_lt(accepted, FUZZ_MACHINES * FUZZ_CONTROLS * 9 / 10);
}
END_TEST

Suite *control_suite(void)
{
	Suite *suite = suite_create("control");
	TCase *tc = tcase_create("control");

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, evntsel_bits, 0, 64);
	tcase_add_loop_test(tc, fixed_bits, 0, 64);
	tcase_add_test(tc, counts_nothing);
	tcase_add_test(tc, kernel_mode);
	tcase_add_test(tc, maps);
	tcase_add_loop_test(tc, long_event_selects, 0, 2);
	tcase_add_test(tc, map_in_hole);
	tcase_add_loop_test(tc, map_twice, 0, 3);
	tcase_add_test(tc, must_be_zero);
	tcase_add_loop_test(tc, absent_events, 0, 7);
	tcase_add_loop_test(tc, narrowest_mask, 0, 4);
	tcase_add_loop_test(tc, aux_bits, 0, MODEL_PROCESSORS);
	tcase_add_loop_test(tc, aux_ignored, 0, 6);
	tcase_add_test(tc, aux_shared);
	tcase_add_test(tc, aux_written);
	tcase_add_test(tc, aux_of_kinds);
	tcase_add_loop_test(tc, fuzzed, 0, 10);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return suite;
}
