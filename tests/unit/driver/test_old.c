// SPDX-License-Identifier: GPL-2.0
/*
 * Processors that are older than architectural performance monitoring: which of them the
 * drivers accept, their controls, and the registers that a switch writes.  test_count.c and
 * test_overflow.c have their counts.
 */
#include "tests.h"
#include "thread.h"
#include "x86.h"

static struct model_config config;
static struct perfctr_cpu_control control;
static struct thread a, b;

static void start(enum model_old old, bool isolate)
{
	config = old_config(old);
	machine_start(&config, isolate);
	thread_init(&a);
	thread_init(&b);
}

/* The driver that a processor gets, and its features. */
static u32 chosen_for(const struct model_config *c)
{
	model_init(c);
	machine_use_service();
	perfctr_isolate = true;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	machine_exit();
	return perfctr_cpu_info.cpu_type;
}

static int check(u32 map, u64 evntsel)
{
	control_init(&control);
	control_add(&control, map, evntsel);
	return perfctr_cpu_check_control(&control);
}

/* ---- P6 ------------------------------------------------------------------- */

START_TEST(p6_models)
{
	static const struct {
		u32 signature, cpu_type;
		bool rdpmc;
	} cpus[] = {
		{ 0x617, VPERFCTR_CPU_INTEL_P6, false },	/* Pentium Pro, erratum 26 */
		{ 0x619, VPERFCTR_CPU_INTEL_P6, true },
		{ 0x633, VPERFCTR_CPU_INTEL_P6, true },		/* Pentium II */
		{ 0x1632, VPERFCTR_CPU_INTEL_P6, true },	/* OverDrive */
		{ 0x665, VPERFCTR_CPU_INTEL_P6, true },
		{ 0x673, VPERFCTR_CPU_INTEL_P6, true },		/* Pentium III */
		{ 0x6b1, VPERFCTR_CPU_INTEL_P6, true },
		{ 0x695, VPERFCTR_CPU_INTEL_P6, true },		/* Pentium M */
		{ 0x6d8, VPERFCTR_CPU_INTEL_P6, true },
		{ 0x622, VPERFCTR_CPU_GENERIC, false },		/* there is none */
		{ 0x106a0, VPERFCTR_CPU_GENERIC, false },	/* an extended model */
		{ 0xf29, VPERFCTR_CPU_GENERIC, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		config = old_config(MODEL_P6);
		config.signature = cpus[i].signature;
		ck_assert_int_eq(chosen_for(&config), cpus[i].cpu_type);
		ck_assert_int_eq(!!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC),
				 cpus[i].rdpmc);
	}
}
END_TEST

START_TEST(p6_info)
{
	start(MODEL_P6, _i);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 2);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 3);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_width, 40);
	ck_assert_uint_eq(perfctr_cpu_info.max_period, 0x7fffffff);
	ck_assert_uint_eq(perfctr_cpu_info.min_period, 2);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 1);
	ck_assert_uint_eq(perfctr_cpu_info.features,
			  VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC | VPERFCTR_FEATURE_PCINT |
			  VPERFCTR_FEATURE_CPUS | (_i ? VPERFCTR_FEATURE_ISOLATE : 0));
	machine_stop();
}
END_TEST

/* Counters that are disabled, that a hypervisor does not have, or that do not work. */
START_TEST(p6_without)
{
	config = old_config(MODEL_P6);
	config.signature = 0x6d8;
	config.unavailable = true;
	ck_assert_int_eq(chosen_for(&config), VPERFCTR_CPU_GENERIC);
	config.signature = 0x673;	/* it does not have the bit */
	ck_assert_int_eq(chosen_for(&config), VPERFCTR_CPU_INTEL_P6);
	config.ignores_writes = true;
	ck_assert_int_eq(chosen_for(&config), VPERFCTR_CPU_GENERIC);
	config.ignores_writes = false;
	config.no_apic = true;
	ck_assert_int_eq(chosen_for(&config), VPERFCTR_CPU_INTEL_P6);
	ck_assert_int_eq(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT, 0);
	ck_assert_uint_eq(perfctr_cpu_info.max_period, 0);
}
END_TEST

START_TEST(p6_controls)
{
	static const u16 first[] = { 0xc1, 0x10, 0x14 }, second[] = { 0x11, 0x12, 0x13 };
	unsigned int i;

	start(MODEL_P6, true);
	/* The enable bit of the second select is that of the first one. */
	ck_assert_int_eq(check(0, USER(EV_INSTRUCTIONS)), 0);
	ck_assert_int_eq(check(0, SEL_USR | EV_INSTRUCTIONS), -EINVAL);
	ck_assert_int_eq(check(1, USER(EV_INSTRUCTIONS)), 0);
	ck_assert_int_eq(check(1, SEL_USR | EV_INSTRUCTIONS), 0);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(check(i, SEL_EN | EV_INSTRUCTIONS), -EINVAL);
		ck_assert_int_eq(check(i, USER(EV_INSTRUCTIONS) | SEL_PC), -EINVAL);
		ck_assert_int_eq(check(i, USER(EV_INSTRUCTIONS) | SEL_INT), -EINVAL);
		ck_assert_int_eq(check(i, USER(EV_INSTRUCTIONS) | SEL_ANY), -EINVAL);
		ck_assert_int_eq(check(i, USER(EV_INSTRUCTIONS) | BIT_ULL(32)), -EINVAL);
		ck_assert_int_eq(check(i, USER(EV_INSTRUCTIONS) | 0xff840000), 0);
	}
	for (i = 0; i < ARRAY_SIZE(first); i++) {
		ck_assert_int_eq(check(0, USER(first[i])), 0);
		ck_assert_int_eq(check(1, USER(first[i])), -EINVAL);
		ck_assert_int_eq(check(0, USER(second[i])), -EINVAL);
		ck_assert_int_eq(check(1, USER(second[i])), 0);
	}
	ck_assert_int_eq(check(2, USER(EV_INSTRUCTIONS)), -EINVAL);
	ck_assert_int_eq(check(VPERFCTR_FIXED, FIX_USR), -EINVAL);
	control_init(&control);
	control_add(&control, 1, USER(EV_INSTRUCTIONS));
	control_add(&control, 1, USER(0x79));
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	for (i = 0; i < 2; i++) {
		control_init(&control);
		control.global[i] = 1;
		ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	}
	control_init(&control);
	control_add(&control, 0, USER(EV_INSTRUCTIONS));
	control.ctr[0].aux = 1;
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	ck_assert_int_eq(check(1, USER(0x79)), 0);
	ck_assert(!control.kernel);
	ck_assert_uint_eq(control.mask, (1ULL << 40) - 1);
	ck_assert_int_eq(check(1, USER(0x79) | SEL_OS), 0);
	ck_assert(control.kernel);
	machine_stop();
}
END_TEST

/* A switch writes the first select only, also if the second counter is used alone. */
START_TEST(p6_writes)
{
	unsigned int i;

	start(MODEL_P6, true);
	control_init(&control);
	control_add(&control, 1, SEL_USR | EV_INSTRUCTIONS);
	thread_control(&a, &control, 0);
	for (i = 0; i < 3; i++) {
		model_clear_statistics();
		thread_in(&a, 0);
		ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), i ? 1 : 2);
		thread_run(&a, &(struct work) { .instructions = 5 });
		model_clear_statistics();
		thread_out(&a);
		ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), 1);
	}
	ck_assert_uint_eq(a.page.ctr[0].sum, 15);
	machine_stop();
}
END_TEST

static void run_kernel(void)
{
	model_run(&(struct work) { .kernel = true, .instructions = 7 });
}

/* Without isolation, a counter that counts another thread's event stops before it is read. */
START_TEST(p6_left_running)
{
	start(MODEL_P6, false);
	control_init(&control);
	control_add(&control, 0, SEL_EN | SEL_OS | EV_INSTRUCTIONS);
	thread_control(&b, &control, 0);
	control_init(&control);
	control_add(&control, 0, USER(EV_INSTRUCTIONS));
	thread_control(&a, &control, 0);
	thread_in(&b, 0);
	thread_out(&b);
	model.on_access = run_kernel;
	thread_in(&a, 0);
	model.on_access = NULL;
	thread_run(&a, &(struct work) { .instructions = 5 });
	thread_out(&a);
	thread_check(&a);
	machine_stop();
}
END_TEST

/* The reservation has both counters, and nothing is left when it ends. */
START_TEST(p6_reservation)
{
	unsigned int i;

	start(MODEL_P6, true);
	ck_assert_uint_eq(fake_pmcs.ours, 3);
	ck_assert_uint_eq(fake_evntsels.ours, 3);
	control_init(&control);
	control_add(&control, 0, USER(EV_INSTRUCTIONS));
	control_add(&control, 1, USER(EV_INSTRUCTIONS));
	thread_control(&a, &control, 0);
	thread_in(&a, 0);
	thread_run(&a, &(struct work) { .instructions = 5 });
	thread_out(&a);
	machine_stop();
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);
	for (i = 0; i < 2; i++)
		ck_assert_uint_eq(model.cpu[0].evntsel[i] | model.cpu[0].pmc[i], 0);
}
END_TEST

/* A counter that does not count, or keeps no value, is found before a thread uses it. */
START_TEST(p6_defects)
{
	config = old_config(MODEL_P6);
	config.dead = _i & 1 ? BIT_ULL(_i >> 1) : 0;
	config.stuck = _i & 1 ? 0 : BIT_ULL(_i >> 1);
	model_init(&config);
	machine_use_service();
	perfctr_isolate = true;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	if (perfctr_cpu_info.cpu_type == VPERFCTR_CPU_INTEL_P6) {
		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
		ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
		perfctr_cpu_release();
	} else {
		ck_assert(config.stuck);	/* the probe has found it */
	}
	machine_exit();
}
END_TEST

/* ---- Pentium, Cyrix, WinChip, C3 --------------------------------------------------- */

START_TEST(no_interrupt_models)
{
	static const struct {
		enum model_old old;
		u32 signature, cpu_type;
		bool rdpmc;
	} cpus[] = {
		{ MODEL_P5, 0x515, VPERFCTR_CPU_INTEL_P5, false },
		{ MODEL_P5, 0x52c, VPERFCTR_CPU_INTEL_P5, false },
		{ MODEL_P5MMX, 0x543, VPERFCTR_CPU_INTEL_P5, true },
		{ MODEL_P5MMX, 0x1543, VPERFCTR_CPU_INTEL_P5, false },	/* erratum 74 */
		{ MODEL_P5MMX, 0x544, VPERFCTR_CPU_INTEL_P5, false },
		{ MODEL_P5MMX, 0x581, VPERFCTR_CPU_INTEL_P5, true },
		{ MODEL_P5MMX, 0x590, VPERFCTR_CPU_GENERIC, false },	/* Quark */
		{ MODEL_MII, 0x600, VPERFCTR_CPU_CYRIX, true },
		{ MODEL_MII, 0x520, VPERFCTR_CPU_GENERIC, false },	/* 6x86 */
		{ MODEL_WINCHIP, 0x541, VPERFCTR_CPU_WINCHIP, false },
		{ MODEL_WINCHIP, 0x585, VPERFCTR_CPU_WINCHIP, false },
		{ MODEL_WINCHIP, 0x58a, VPERFCTR_CPU_WINCHIP, false },
		{ MODEL_WINCHIP, 0x595, VPERFCTR_CPU_WINCHIP, false },
		{ MODEL_WINCHIP, 0x551, VPERFCTR_CPU_GENERIC, false },
		{ MODEL_C3, 0x662, VPERFCTR_CPU_VIA_C3, false },
		{ MODEL_C3, 0x698, VPERFCTR_CPU_VIA_C3, false },
		{ MODEL_C3, 0x6a0, VPERFCTR_CPU_GENERIC, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		config = old_config(cpus[i].old);
		config.signature = cpus[i].signature;
		ck_assert_int_eq(chosen_for(&config), cpus[i].cpu_type);
		ck_assert_int_eq(!!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC),
				 cpus[i].rdpmc);
		ck_assert_int_eq(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT, 0);
		ck_assert_int_eq(!!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDTSC),
				 cpus[i].old != MODEL_WINCHIP);
	}
}
END_TEST

/* No parameter gives a processor the instruction. */
START_TEST(no_rdpmc)
{
	config = old_config(MODEL_P5);
	model_init(&config);
	machine_use_service();
	perfctr_isolate = _i;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_int_eq(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC, 0);
	ck_assert_int_eq(!(perfctr_cpu_info.features & VPERFCTR_FEATURE_ISOLATE), !perfctr_isolate);
	machine_exit();
}
END_TEST

/* The reservation does not know these registers, and would refuse the second counter. */
START_TEST(not_reserved)
{
	start(MODEL_P5 + _i, true);
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, _i == MODEL_C3 - MODEL_P5 ? 1 : 2);
	machine_stop();
	ck_assert_uint_eq(model.cpu[0].cesr, 0);
	ck_assert_uint_eq(model.cpu[0].evntsel[1], _i == MODEL_C3 - MODEL_P5 ? 0x70079 : 0);
}
END_TEST

START_TEST(cesr_controls)
{
	unsigned int i, bit;

	start(MODEL_P5 + _i, true);
	for (i = 0; i < 2; i++) {
		for (bit = 0; bit < 64; bit++) {
			bool valid = bit < 9 || (bit == 10 && _i == MODEL_MII - MODEL_P5);

			ck_assert_int_eq(check(i, BIT_ULL(bit) | 0xc0), valid ? 0 : -EINVAL);
		}
		ck_assert_int_eq(check(i, 0x16), -EINVAL);
		ck_assert_int_eq(check(i, 0x116), -EINVAL);
		ck_assert_int_eq(check(i, 0x56), 0);
		ck_assert(control.kernel);
		ck_assert_int_eq(check(i, 0x96), 0);
		ck_assert(!control.kernel);
	}
	ck_assert_int_eq(check(2, 0x96), -EINVAL);
	ck_assert_int_eq(check(VPERFCTR_FIXED, 0x96), -EINVAL);
	control_init(&control);
	control_add(&control, 1, 0x96);
	control_add(&control, 1, 0x96);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	control_init(&control);
	control_add_imode(&control, 0, 0x96, 100);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	machine_stop();
}
END_TEST

/* The counters of a WinChip have events only, and are not for a kernel that uses the TSC. */
START_TEST(winchip_controls)
{
	unsigned int i, bit;

	start(MODEL_WINCHIP, _i);
	ck_assert_int_eq(!!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC), !_i);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 3);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_width, 40);
	for (i = 0; i < 2; i++) {
		for (bit = 0; bit < 64; bit++) {
			ck_assert_int_eq(check(i, BIT_ULL(bit)), bit < 8 ? 0 : -EINVAL);
			ck_assert(bit >= 8 || control.kernel);
		}
		ck_assert_int_eq(check(i, 0), 0);
		ck_assert(control.kernel);
	}
	ck_assert_int_eq(check(2, 0), -EINVAL);
	control_init(&control);
	control_add(&control, 1, 0);
	control_add(&control, 1, 2);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	control_init(&control);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert(!control.kernel);
	control.tsc_on = 1;
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EOPNOTSUPP);
	machine_stop();

	config.uses_tsc = true;
	ck_assert_uint_eq(chosen_for(&config), VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.features, VPERFCTR_FEATURE_RDTSC);
}
END_TEST

/* Without counters and TSC there is nothing but software counters. */
START_TEST(no_tsc)
{
	config = old_config(MODEL_WINCHIP);
	config.signature = 0x551;
	ck_assert_uint_eq(chosen_for(&config), VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.features, 0);
}
END_TEST

START_TEST(c3_controls)
{
	start(MODEL_C3, _i);
	ck_assert_int_eq(!!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC), !_i);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 2);
	ck_assert_uint_ne(perfctr_cpu_sampling_ns, 0);
	ck_assert_int_eq(check(1, 0xc0), 0);
	ck_assert(control.kernel);
	ck_assert_uint_eq(control.mask, 0xffffffff);
	ck_assert_int_eq(check(1, 0x1c0), 0);
	ck_assert_int_eq(check(1, 0x2c0), -EINVAL);
	ck_assert_int_eq(check(0, 0xc0), -EINVAL);
	ck_assert_int_eq(check(2, 0xc0), -EINVAL);
	ck_assert_int_eq(check(VPERFCTR_FIXED | 1, 0xc0), -EINVAL);
	control_init(&control);
	control_add(&control, 1, 0xc0);
	control_add(&control, 1, 0xc0);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	control_init(&control);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert(!control.kernel);
	control_init(&control);
	control_add_imode(&control, 1, 0xc0, 100);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	machine_stop();
}
END_TEST

/* A counter that never stops has its event before its start value is read. */
START_TEST(never_stopped_start)
{
	start(MODEL_WINCHIP + _i / 2, _i & 1);
	control_init(&control);
	control_add(&control, 1, EV_INSTRUCTIONS);
	thread_control(&a, &control, 0);
	control_init(&control);
	control_add(&control, 1, 0x23);
	thread_control(&b, &control, 0);
	thread_in(&b, 0);
	thread_out(&b);
	model.on_access = run_kernel;
	thread_in(&a, 0);
	model.on_access = NULL;
	thread_run(&a, &(struct work) { .instructions = 5 });
	thread_out(&a);
	thread_check(&a);
	machine_stop();
}
END_TEST

Suite *old_suite(void)
{
	Suite *suite = suite_create("old");
	TCase *p6 = tcase_create("p6");
	TCase *cesr = tcase_create("cesr");

	tcase_add_test(p6, p6_models);
	tcase_add_loop_test(p6, p6_info, 0, 2);
	tcase_add_test(p6, p6_without);
	tcase_add_test(p6, p6_controls);
	tcase_add_test(p6, p6_writes);
	tcase_add_test(p6, p6_left_running);
	tcase_add_test(p6, p6_reservation);
	tcase_add_loop_test(p6, p6_defects, 0, 4);
	suite_add_tcase(suite, p6);
	tcase_add_test(cesr, no_interrupt_models);
	tcase_add_loop_test(cesr, no_rdpmc, 0, 2);
	tcase_add_loop_test(cesr, not_reserved, 0, 5);
	tcase_add_loop_test(cesr, cesr_controls, 0, 3);
	tcase_add_loop_test(cesr, winchip_controls, 0, 2);
	tcase_add_test(cesr, no_tsc);
	tcase_add_loop_test(cesr, c3_controls, 0, 2);
	tcase_add_loop_test(cesr, never_stopped_start, 0, 4);
	suite_add_tcase(suite, cesr);
	return suite;
}
