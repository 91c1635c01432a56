// SPDX-License-Identifier: GPL-2.0
/* The page that user space maps, and the effect of a new control on it. */
#include "tests.h"
#include "thread.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static const struct work work = { .instructions = 1000, .cycles = 3000 };

static struct model_config config;
static struct thread t;

static void setup(void)
{
	config = usual_config(3);
	machine_start(&config, true);
	thread_init(&t);
}

/* The first nr of four counters of instructions. */
static void set_control(unsigned int nr, bool tsc_on, u64 preserve)
{
	static const u32 maps[] = { 1, FIXED(0), 0, 2 };
	struct perfctr_cpu_control control;
	unsigned int i;

	control_init(&control);
	control.tsc_on = tsc_on;
	for (i = 0; i < nr; i++)
		control_add(&control, maps[i],
			    maps[i] & VPERFCTR_FIXED ? FIX_USR : USER(EV_INSTRUCTIONS));
	thread_control(&t, &control, preserve);
}

static void count(void)
{
	thread_in(&t, 0);
	thread_run(&t, &work);
	thread_out(&t);
	thread_check(&t);
}

START_TEST(header)
{
	u32 cstatus;

	config.fixed_width = 40;
	machine_stop();
	machine_start(&config, true);
	set_control(3, true, 0);
	cstatus = 3 | 3 << 8 | VPERFCTR_CSTATUS_TSC;
	ck_assert_uint_eq(t.page.cstatus, cstatus);
	ck_assert_uint_eq(t.page.mask, BIT_ULL(40) - 1);
	ck_assert_uint_eq(t.page.ctr[0].map, 1);
	ck_assert_uint_eq(t.page.ctr[1].map, FIXED(0));
	ck_assert_uint_eq(t.page.ctr[2].map, 0);

	thread_in(&t, 0);
	ck_assert_uint_eq(t.page.cstatus, cstatus | VPERFCTR_CSTATUS_RUNNING);
	thread_out(&t);
	perfctr_cpu_mark_suspended(&t.state);
	ck_assert_uint_eq(t.page.cstatus, cstatus);
	ck_assert_uint_eq(t.page.samplecount & 1, 0);

	set_control(1, false, 0);
	ck_assert_uint_eq(t.page.cstatus, 1 | 1 << 8);
	ck_assert_uint_eq(t.page.mask, BIT_ULL(48) - 1);
	set_control(0, true, 0);
	ck_assert_uint_eq(t.page.cstatus, VPERFCTR_CSTATUS_TSC);
}
END_TEST

/* Each resume sets the flag to the present state of CR4.PCE. */
START_TEST(rdpmc_flag)
{
	set_control(2, true, 0);
	model.user_rdpmc = true;
	thread_in(&t, 0);
	ck_assert(t.page.cstatus & VPERFCTR_CSTATUS_RDPMC);
	ck_assert_uint_eq(fake_saw_rdpmc, 1);
	thread_out(&t);

	model.user_rdpmc = false;
	thread_in(&t, 0);
	ck_assert(!(t.page.cstatus & VPERFCTR_CSTATUS_RDPMC));
	ck_assert_uint_eq(fake_saw_rdpmc, 1);
	thread_out(&t);

	/* Without counters there is nothing to read. */
	set_control(0, true, 0);
	model.user_rdpmc = true;
	thread_in(&t, 0);
	ck_assert(!(t.page.cstatus & VPERFCTR_CSTATUS_RDPMC));
	thread_out(&t);
}
END_TEST

/* The owner reads by the formula in include/uapi/linux/vperfctr.h. */
START_TEST(self_read)
{
	unsigned int i, j;

	model.user_rdpmc = true;
	set_control(4, true, 0);
	for (j = 0; j < 5; j++) {
		thread_in(&t, j % NR_CPUS);
		for (i = 0; i < t.control.nractrs; i++) {
			const struct vperfctr_page_ctr *ctr = &t.page.ctr[i];

			thread_run(&t, &work);
			ck_assert_uint_eq(ctr->sum + ((model_rdpmc(ctr->map) - ctr->start) &
						      t.page.mask), t.counted[i]);
			ck_assert_uint_eq(t.page.tsc_sum + (model_rdtsc() - t.page.tsc_start),
					  t.tsc_counted);
			if (i & 1)
				thread_sample(&t);
		}
		thread_out(&t);
	}
}
END_TEST

static bool odd_seen;
static struct vperfctr_page_ctr ctrs_before[4];
static u64 tsc_sum_before;

/* The sums must not change while the samplecount is even, as another CPU may read then. */
static void look_at_page(void)
{
	if (t.page.samplecount & 1) {
		odd_seen = true;
		return;
	}
	require(!memcmp(ctrs_before, t.page.ctr, sizeof(ctrs_before)) &&
		t.page.tsc_sum == tsc_sum_before, "sums change while samplecount is even");
}

static void watch_page(void)
{
	memcpy(ctrs_before, t.page.ctr, sizeof(ctrs_before));
	tsc_sum_before = t.page.tsc_sum;
	odd_seen = false;
}

START_TEST(odd_while_it_changes)
{
	set_control(4, true, 0);
	model.on_read = look_at_page;
	watch_page();
	thread_in(&t, 0);
	ck_assert(odd_seen);
	thread_run(&t, &work);
	watch_page();
	thread_sample(&t);
	ck_assert(odd_seen);
	thread_run(&t, &work);
	watch_page();
	thread_out(&t);
	ck_assert(odd_seen);
}
END_TEST

/* The flags stay set between suspend and mark_suspended; the sums are exact at once. */
START_TEST(paused)
{
	u32 samplecount;

	set_control(2, true, 0);
	count();
	ck_assert(t.page.cstatus & VPERFCTR_CSTATUS_RUNNING);
	samplecount = t.page.samplecount;
	perfctr_cpu_mark_suspended(&t.state);
	ck_assert(!(t.page.cstatus & VPERFCTR_CSTATUS_RUNNING));
	ck_assert_uint_ne(t.page.samplecount, samplecount);
	thread_check(&t);
	count();
}
END_TEST

/* ---- a new control ------------------------------------------------------ */

START_TEST(preserve)
{
	u64 mask = _i;
	unsigned int i;

	set_control(4, true, 0);
	count();
	set_control(4, true, mask);
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(t.page.ctr[i].sum, mask & BIT(i) ? 1000 : 0);
	ck_assert_uint_eq(t.page.tsc_sum, 3000);
	count();
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(t.page.ctr[i].sum, mask & BIT(i) ? 2000 : 1000);
	ck_assert_uint_eq(t.page.tsc_sum, 6000);
}
END_TEST

/* Counters that the old control did not have start from 0. */
START_TEST(shorter_then_longer)
{
	set_control(4, true, 0);
	count();
	set_control(_i, true, 0xf);
	set_control(4, true, 0xf);
	thread_check(&t);
	for (; _i < 4; _i++)
		ck_assert_uint_eq(t.page.ctr[_i].sum, 0);
	count();
}
END_TEST

/* A control with the TSC alone, in between, does not reset the TSC's sum. */
START_TEST(tsc_sum_is_kept)
{
	set_control(2, true, 0);
	count();
	set_control(0, true, 0);
	count();
	set_control(2, true, 0);
	count();
	ck_assert_uint_eq(t.page.tsc_sum, 9000);
}
END_TEST

/* tsc_on = 0 resets the sum, and nothing adds to it until tsc_on is 1. */
START_TEST(tsc_off)
{
	set_control(2, true, 0);
	count();
	set_control(2, false, 0);
	ck_assert_uint_eq(t.page.tsc_sum, 0);
	thread_in(&t, 0);
	thread_run(&t, &work);
	thread_sample(&t);
	thread_run(&t, &work);
	thread_out(&t);
	ck_assert_uint_eq(t.page.ctr[0].sum, 2000);
	ck_assert_msg(t.page.tsc_sum == 0, "the TSC was counted with tsc_on = 0");
	set_control(2, true, 0);
	count();
	ck_assert_uint_eq(t.page.tsc_sum, 3000);
}
END_TEST

/* Two controls never have the same identity, and no control has identity 0. */
START_TEST(identity)
{
	struct thread other;
	u64 id;

	thread_init(&other);
	set_control(1, true, 0);
	id = t.state.id;
	ck_assert_uint_ne(id, 0);
	set_control(1, true, 0);
	ck_assert_uint_ne(t.state.id, id);
	thread_control(&other, &t.control, 0);
	ck_assert_uint_ne(other.state.id, t.state.id);
}
END_TEST

/* A child has its parent's control and identity, so no registers are loaded, and its own sums. */
START_TEST(inherit)
{
	struct thread child;

	thread_init(&child);
	set_control(4, true, 0);
	count();
	thread_in(&t, 0);
	thread_run(&t, &work);
	perfctr_cpu_inherit(&child.state, &t.state);
	thread_out(&t);
	thread_check(&t);

	child.control = t.control;
	thread_check(&child);
	ck_assert_uint_eq(child.state.id, t.state.id);
	ck_assert_uint_eq(child.page.samplecount & 1, 0);
	ck_assert_uint_eq(child.page.cstatus, t.state.cstatus);
	ck_assert_uint_eq(child.page.mask, t.page.mask);
	ck_assert_uint_eq(child.page.ctr[3].map, t.page.ctr[3].map);
	model_clear_statistics();
	thread_in(&child, 0);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), 1);	/* GLOBAL_CTRL */
	thread_run(&child, &work);
	thread_out(&child);
	thread_check(&child);

	/* A new control of one of them does not affect the other. */
	set_control(2, true, 0);
	count();
	thread_in(&child, 0);
	thread_run(&child, &work);
	thread_out(&child);
	thread_check(&child);
	thread_check(&t);
}
END_TEST

Suite *page_suite(void)
{
	Suite *suite = suite_create("page");
	TCase *tc = tcase_create("page");

	tcase_add_checked_fixture(tc, setup, machine_stop);
	tcase_add_test(tc, header);
	tcase_add_test(tc, rdpmc_flag);
	tcase_add_test(tc, self_read);
	tcase_add_test(tc, odd_while_it_changes);
	tcase_add_test(tc, paused);
	tcase_add_loop_test(tc, preserve, 0, 16);
	tcase_add_loop_test(tc, shorter_then_longer, 0, 4);
	tcase_add_test(tc, tsc_sum_is_kept);
	tcase_add_test(tc, tsc_off);
	tcase_add_test(tc, identity);
	tcase_add_test(tc, inherit);
	suite_add_tcase(suite, tc);
	return suite;
}
