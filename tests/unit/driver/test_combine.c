// SPDX-License-Identifier: GPL-2.0
/* Several states that count by one: see arch/common/combine.c. */
#include "tests.h"
#include "thread.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static const struct work work = { .instructions = 1000, .cycles = 3000 };

static struct model_config config;
static struct thread part[2], joint;
static struct perfctr_cpu_state *const parts[] = { &part[0].state, &part[1].state, NULL };

static void setup(void)
{
	config = usual_config(3);
	machine_start(&config, true);
	thread_init(&part[0]);
	thread_init(&part[1]);
	thread_init(&joint);
}

static void set_part(unsigned int i, u32 map, u32 map2)
{
	struct perfctr_cpu_control control;

	control_init(&control);
	control.tsc_on = 1;
	control_add(&control, map, map & VPERFCTR_FIXED ? FIX_USR : USER(EV_INSTRUCTIONS));
	control_add(&control, map2, map2 & VPERFCTR_FIXED ? FIX_USR : USER(EV_CYCLES));
	thread_control(&part[i], &control, 0);
}

static struct perfctr_cpu_state *const swapped[] = { &part[1].state, &part[0].state, NULL };

static int combine(struct perfctr_cpu_control *control)
{
	const struct perfctr_cpu_control *const from[] = { &part[0].state.control, &part[1].state.control };

	return perfctr_cpu_combine(control, from, 2, true);
}

START_TEST(counts_of_both)
{
	struct perfctr_cpu_control control;
	unsigned int i, k;

	set_part(0, 1, 2);
	set_part(1, FIXED(0), 0);
	ck_assert_int_eq(combine(&control), 0);
	ck_assert_uint_eq(perfctr_nrctrs(&control), 4);
	thread_control(&joint, &control, 0);
	fake_irqs_off = true;
	for (k = 1; k < 4; k++) {
		ck_assert(perfctr_cpu_join(&joint.state, parts, 2));
		perfctr_cpu_resume(&joint.state);
		perfctr_cpu_joined(&joint.state, parts, 2);
		for (i = 0; i < 2; i++) {
			ck_assert_uint_eq(part[i].page.cstatus,
					  part[i].state.cstatus | VPERFCTR_CSTATUS_RUNNING);
			ck_assert_uint_eq(part[i].page.tsc_start, joint.page.tsc_start);
		}
		model_run(&work);
		perfctr_cpu_suspend(&joint.state);
		perfctr_cpu_part(&joint.state, parts, 2);
		for (i = 0; i < 2; i++) {
			ck_assert_uint_eq(part[i].page.ctr[0].sum, 1000 * k);
			ck_assert_uint_eq(part[i].page.ctr[1].sum, 3000 * k);
			ck_assert_uint_eq(part[i].page.ctr[0].start, 0);
			ck_assert_uint_eq(part[i].page.samplecount & 1, 0);
		}
		ck_assert_uint_eq(part[0].page.tsc_sum, part[1].page.tsc_sum);
	}
	fake_irqs_off = false;
	/* In another order, a new combination is needed. */
	ck_assert(!perfctr_cpu_join(&joint.state, swapped, 2));
}
END_TEST

/* The counters go on, and the inline reads of both parts, too. */
START_TEST(samples)
{
	struct perfctr_cpu_control control;
	unsigned int i, c, k;

	set_part(0, 1, 2);
	set_part(1, FIXED(0), 0);
	ck_assert_int_eq(combine(&control), 0);
	thread_control(&joint, &control, 0);
	fake_irqs_off = true;
	ck_assert(perfctr_cpu_join(&joint.state, parts, 2));
	perfctr_cpu_resume(&joint.state);
	perfctr_cpu_joined(&joint.state, parts, 2);
	for (k = 1; k < 4; k++) {
		model_run(&work);
		perfctr_cpu_sample(&joint.state);
		perfctr_cpu_part(&joint.state, parts, 2);
		for (i = 0; i < 2; i++) {
			struct vperfctr_page *page = &part[i].page;

			ck_assert_uint_eq(page->cstatus, part[i].state.cstatus | VPERFCTR_CSTATUS_RUNNING);
			ck_assert_uint_eq(page->tsc_start, model_rdtsc());
			ck_assert_uint_eq(page->tsc_sum, 3000 * k);
			ck_assert_uint_eq(page->samplecount & 1, 0);
			for (c = 0; c < 2; c++) {
				ck_assert_uint_eq(page->ctr[c].sum, (c ? 3000 : 1000) * k);
				ck_assert_uint_eq(page->ctr[c].start, model_rdpmc(page->ctr[c].map));
			}
		}
	}
	model_run(&work);
	perfctr_cpu_suspend(&joint.state);
	perfctr_cpu_part(&joint.state, parts, 2);
	fake_irqs_off = false;
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(part[i].page.tsc_sum, 3000 * k);
		ck_assert_uint_eq(part[i].page.ctr[0].sum, 1000 * k);
		ck_assert_uint_eq(part[i].page.ctr[1].sum, 3000 * k);
	}
}
END_TEST

static unsigned int slowly;

static void note_slow_parts(void)
{
	slowly++;
}

/* The joint state counts, but only the pages of its parts are updated, in any order. */
START_TEST(pages_of_parts)
{
	struct perfctr_cpu_control control;
	u32 joint_samples, part_samples;
	unsigned int i, k;

	set_part(0, 1, 2);
	set_part(1, FIXED(0), 0);
	part[1].state.cstatus &= ~VPERFCTR_CSTATUS_TSC;
	ck_assert(perfctr_has_parts_ops);
	ck_assert_int_eq(combine(&control), 0);
	thread_control(&joint, &control, 0);
	part_samples = part[0].page.samplecount;
	fake_irqs_off = true;
	/* The CPU does not hold counters yet. */
	perfctr_cpu_set_parts(NULL, note_slow_parts);
	perfctr_cpu_resume_parts(&joint.state, parts);
	ck_assert_uint_eq(slowly, 1);
	ck_assert_uint_eq(part[0].page.samplecount, part_samples);
	perfctr_cpu_resume(&joint.state);
	perfctr_cpu_suspend(&joint.state);
	joint_samples = joint.page.samplecount;
	/* The registers hold another control in the first round. */
	perfctr_cpu_resume(&part[1].state);
	perfctr_cpu_suspend(&part[1].state);
	for (k = 1; k < 8; k++) {
		/* They are stopped, start for good, run on, run on, and are stopped. */
		perfctr_isolate = k % 4 == 1;
		perfctr_cpu_resume_parts(&joint.state, k % 2 ? parts : swapped);
		for (i = 0; i < 2; i++) {
			ck_assert_uint_eq(part[i].page.cstatus,
					  part[i].state.cstatus | VPERFCTR_CSTATUS_RUNNING);
			ck_assert_uint_eq(part[i].page.tsc_start, model_rdtsc());
		}
		model_run(&work);
		perfctr_cpu_sample_parts(&joint.state, parts);
		for (i = 0; i < 2; i++) {
			struct vperfctr_page *page = &part[i].page;

			ck_assert_uint_eq(page->ctr[0].sum, 1000 * (2 * k - 1));
			ck_assert_uint_eq(page->ctr[0].start, model_rdpmc(page->ctr[0].map));
			ck_assert_uint_eq(page->tsc_start, model_rdtsc());
			ck_assert_uint_eq(page->samplecount & 1, 0);
		}
		model_run(&work);
		perfctr_cpu_suspend_parts(&joint.state, parts);
		model_run(&work);
		for (i = 0; i < 2; i++) {
			ck_assert_uint_eq(part[i].page.ctr[0].sum, 2000 * k);
			ck_assert_uint_eq(part[i].page.ctr[1].sum, 6000 * k);
			ck_assert_uint_eq(part[i].page.ctr[0].start, 0);
			ck_assert_uint_eq(part[i].page.samplecount & 1, 0);
		}
		ck_assert_uint_eq(part[0].page.tsc_sum, 6000 * k);
		ck_assert_uint_eq(part[1].page.tsc_sum, 0);
	}
	ck_assert_uint_eq(slowly, 1);
	ck_assert_uint_eq(joint.page.samplecount, joint_samples);
	perfctr_cpu_set_parts(NULL, NULL);
	perfctr_isolate = true;
	fake_irqs_off = false;
}
END_TEST

START_TEST(one_counter_twice)
{
	struct perfctr_cpu_control control;

	set_part(0, 0, 1);
	set_part(1, FIXED(0), 1);
	ck_assert_int_eq(combine(&control), -EINVAL);
	set_part(1, FIXED(0), 2);
	ck_assert_int_eq(combine(&control), 0);
	part[1].state.control.global[0] = 1;
	ck_assert_int_eq(combine(&control), -EINVAL);
}
END_TEST

Suite *combine_suite(void)
{
	Suite *suite = suite_create("combine");
	TCase *tc = tcase_create("combine");

	tcase_add_checked_fixture(tc, setup, machine_stop);
	tcase_add_test(tc, counts_of_both);
	tcase_add_test(tc, samples);
	tcase_add_test(tc, pages_of_parts);
	tcase_add_test(tc, one_counter_twice);
	suite_add_tcase(suite, tc);
	return suite;
}
