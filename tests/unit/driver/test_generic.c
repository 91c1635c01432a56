// SPDX-License-Identifier: GPL-2.0
/* A processor without supported counters: each thread still has its TSC. */
#include "tests.h"
#include "thread.h"
#include "x86.h"

static struct thread t;

static void setup(void)
{
	struct model_config config = { .version = 0 };

	model_init(&config);
	model.user_rdpmc = true;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	thread_init(&t);
}

static void teardown(void)
{
	unsigned int cpu;

	machine_stop();
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		ck_assert_uint_eq(model_wrmsrs(&model.cpu[cpu]) + model.cpu[cpu].rdpmcs, 0);
}

START_TEST(info)
{
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.features, VPERFCTR_FEATURE_RDTSC);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 1);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 0);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask | perfctr_cpu_info.fixed_mask, 0);
	ck_assert_uint_eq(perfctr_cpu_info.tsc_khz, tsc_khz);
	ck_assert_uint_eq(perfctr_cpu_sampling_ns, 0);
}
END_TEST

START_TEST(controls)
{
	struct perfctr_cpu_control control;
	unsigned int i;

	control_init(&control);
	ck_assert_int_eq(perfctr_cpu_check_control(&control), 0);
	ck_assert_uint_eq(control.mask, 0);
	for (i = 0; i < 2; i++) {
		control_init(&control);
		control.global[i] = 1;
		ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
		control_init(&control);
		control_add(&control, i ? VPERFCTR_FIXED : 0, i ? FIX_USR : USER(EV_CYCLES));
		ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
	}
	control_init(&control);
	control.nrictrs = 1;
	ck_assert_int_eq(perfctr_cpu_check_control(&control), -EINVAL);
}
END_TEST

/* The TSC's sum has the owner's cycles only. */
START_TEST(tsc_of_owner)
{
	const struct work work = { .cycles = 500 };
	struct perfctr_cpu_control control;
	unsigned int i;

	control_init(&control);
	thread_control(&t, &control, 0);
	for (i = 0; i < 10; i++) {
		unsigned int cpu = i % NR_CPUS;

		thread_in(&t, cpu);
		thread_run(&t, &work);
		if (i & 1) {
			thread_sample(&t);
			thread_check(&t);
			thread_run(&t, &work);
		}
		thread_out(&t);
		stranger_run(cpu, &work);
		thread_check(&t);
	}
	ck_assert_uint_eq(t.page.tsc_sum, 7500);
}
END_TEST

/* Hotplug, suspend and scrub access no counter: see teardown(). */
START_TEST(hotplug_and_suspend)
{
	fake_cpu_down(1);
	fake_cpu_up(1);
	fake_suspend_to_ram();
	perfctr_x86_scrub();
}
END_TEST

Suite *generic_suite(void)
{
	Suite *suite = suite_create("generic");
	TCase *tc = tcase_create("generic");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, info);
	tcase_add_test(tc, controls);
	tcase_add_test(tc, tsc_of_owner);
	tcase_add_test(tc, hotplug_and_suspend);
	suite_add_tcase(suite, tc);
	return suite;
}
