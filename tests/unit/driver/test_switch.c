// SPDX-License-Identifier: GPL-2.0
/*
 * Context switches: they write as few registers as possible, and with isolation leave
 * no counts for others to see.
 */
#include "tests.h"
#include "thread.h"
#include "x86.h"

#define FIXED(i)	(VPERFCTR_FIXED | (i))

static struct thread a, b;

static const struct work work = { .instructions = 1000, .cycles = 3000 };

static void start(unsigned int version, bool isolate)
{
	struct model_config config = usual_config(version);

	machine_start(&config, isolate);
	thread_init(&a);
	thread_init(&b);
}

/* Two general counters from `first` on, and two fixed ones if the version has any. */
static void set_control(struct thread *t, unsigned int first, u64 event, unsigned int first_fixed)
{
	struct perfctr_cpu_control control;

	control_init(&control);
	control_add(&control, first, USER(event));
	control_add(&control, first + 1, USER(EV_CYCLES));
	if (model.config.version >= 2) {
		control_add(&control, FIXED(first_fixed), FIX_USR);
		control_add(&control, FIXED(first_fixed + 1), FIX_USR);
	}
	thread_control(t, &control, 0);
}

static void in_and_out(struct thread *t, unsigned int cpu)
{
	thread_in(t, cpu);
	thread_run(t, &work);
	thread_out(t);
	thread_check(t);
	stranger_run(cpu, &work);
}

/* Check the numbers of WRMSRs since the last call: no other register may be written. */
static void expect_wrmsrs(unsigned int cpu, unsigned int evntsel, unsigned int fixed_ctrl,
			  unsigned int global_ctrl)
{
	const struct model_cpu *c = &model.cpu[cpu];

	ck_assert_uint_eq(c->wrmsrs[REG_EVNTSEL], evntsel);
	ck_assert_uint_eq(c->wrmsrs[REG_FIXED_CTRL], fixed_ctrl);
	ck_assert_uint_eq(c->wrmsrs[REG_GLOBAL_CTRL], global_ctrl);
	ck_assert_uint_eq(model_wrmsrs(c), evntsel + fixed_ctrl + global_ctrl);
	model_clear_statistics();
}

START_TEST(one_state_isolated)
{
	unsigned int i;

	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	thread_in(&a, 0);
	expect_wrmsrs(0, 2, 1, 1);
	thread_out(&a);
	expect_wrmsrs(0, 0, 0, 1);
	for (i = 0; i < 5; i++) {
		thread_in(&a, 0);
		expect_wrmsrs(0, 0, 0, 1);
		thread_out(&a);
		expect_wrmsrs(0, 0, 0, 1);
	}
	machine_stop();
}
END_TEST

START_TEST(one_state_not_isolated)
{
	unsigned int i;

	start(_i, false);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	in_and_out(&a, 0);
	expect_wrmsrs(0, 2, _i >= 2, _i >= 2);
	for (i = 0; i < 5; i++)
		in_and_out(&a, 0);
	expect_wrmsrs(0, 0, 0, 0);
	machine_stop();
}
END_TEST

/* ---- in a virtual machine: RDPMCs are exits ---------------------------------------------- */

static void start_in_guest(unsigned int version)
{
	struct model_config config = usual_config(version);

	machine_exits = true;
	machine_start(&config, false);
	thread_init(&a);
	thread_init(&b);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	set_control(&b, 0, EV_INSTRUCTIONS, 0);
}

static void switch_in(struct thread *t)
{
	perfctr_cpu_switching(true);
	thread_in(t, 0);
	perfctr_cpu_switching(false);
}

/* The thread may have been in user mode. */
static void switch_out(struct thread *t)
{
	perfctr_cpu_user_ran();
	perfctr_cpu_switching(true);
	thread_out(t);
	perfctr_cpu_switching(false);
	thread_check(t);
}

static void expect_rdpmcs(unsigned int n)
{
	ck_assert_uint_eq(model.cpu[0].rdpmcs, n);
	model_clear_statistics();
}

static const struct work kernel = { .instructions = 50, .cycles = 70, .kernel = true };

/* Two general counters, and two fixed ones if the version has any: one RDPMC each at the suspend. */
START_TEST(guest_remembers)
{
	unsigned int i, n = _i < 2 ? 2 : 4;

	start_in_guest(_i);
	for (i = 0; i < 5; i++) {
		switch_in(&a);
		/* The first resume loads the control. */
		expect_rdpmcs(i ? 0 : n);
		thread_run(&a, &work);
		switch_out(&a);
		expect_rdpmcs(n);
		stranger_run(0, &kernel);
	}
	/* The first resume of b gives it the same identity. */
	switch_in(&b);
	switch_out(&b);
	model_clear_statistics();
	for (i = 0; i < 5; i++) {
		switch_in(i & 1 ? &b : &a);
		expect_rdpmcs(0);
		thread_run(i & 1 ? &b : &a, &work);
		switch_out(i & 1 ? &b : &a);
		expect_rdpmcs(n);
	}
	machine_stop();
}
END_TEST

/* A resume reads the counters again after anything that may have changed them. */
START_TEST(guest_forgets)
{
	unsigned int n = 4;

	start_in_guest(4);
	switch_in(&a);
	thread_run(&a, &work);
	switch_out(&a);
	/* a thread that is not counted */
	stranger_run(0, &work);
	perfctr_cpu_user_ran();
	model_clear_statistics();
	switch_in(&a);
	expect_rdpmcs(n);
	/* SUSPEND and RESUME of the thread itself, with user mode in between */
	thread_out(&a);
	stranger_run(0, &work);
	thread_in(&a, 0);
	expect_rdpmcs(2 * n);
	switch_out(&a);
	stranger_run(0, &work);
	thread_in(&a, 0);
	expect_rdpmcs(2 * n);
	switch_out(&a);
	model_clear_statistics();
	/* a process that may see counters: they stop */
	perfctr_isolate = true;
	switch_in(&a);
	thread_run(&a, &work);
	switch_out(&a);
	perfctr_isolate = false;
	ck_assert_uint_eq(model.cpu[0].rdpmcs, 2 * n);
	/* a CPU whose counters were cleared */
	switch_in(&a);
	switch_out(&a);
	perfctr_x86_scrub();
	model_clear_statistics();
	switch_in(&a);
	ck_assert_uint_ge(model.cpu[0].rdpmcs, n);
	thread_run(&a, &work);
	switch_out(&a);
	machine_stop();
}
END_TEST

/* On version 1 only the event selects can stop the counters. */
START_TEST(version_1_isolated)
{
	unsigned int i;

	start(1, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	for (i = 0; i < 5; i++) {
		thread_in(&a, 0);
		expect_wrmsrs(0, 2, 0, 0);
		thread_out(&a);
		expect_wrmsrs(0, 2, 0, 0);
	}
	machine_stop();
}
END_TEST

/* Two states share a fixed counter, and a general one with different events. */
START_TEST(two_states_differ)
{
	bool isolate = _i & 1;
	unsigned int i;

	start(1 + _i / 2, isolate);
	if (model.config.version < 2 && isolate) {
		machine_stop();
		return;		/* it writes all event selects: see version_1_isolated */
	}
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	set_control(&b, 1, EV_INSTRUCTIONS, 1);
	in_and_out(&a, 0);
	in_and_out(&b, 0);
	model_clear_statistics();
	for (i = 0; i < 5; i++) {
		in_and_out(&a, 0);
		expect_wrmsrs(0, 1, 0, isolate ? 2 : 0);
		in_and_out(&b, 0);
		expect_wrmsrs(0, 1, 0, isolate ? 2 : 0);
	}
	machine_stop();
}
END_TEST

/* Two states with separate counters do not overwrite each other's event selects. */
START_TEST(two_states_apart)
{
	bool isolate = _i & 1;
	unsigned int i;

	start(2 + _i / 2, isolate);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	set_control(&b, 2, EV_INSTRUCTIONS, 1);
	in_and_out(&a, 0);
	in_and_out(&b, 0);
	model_clear_statistics();
	for (i = 0; i < 10; i++)
		in_and_out(i % 2 ? &b : &a, 0);
	expect_wrmsrs(0, 0, 0, isolate ? 20 : 0);
	machine_stop();
}
END_TEST

/* Another mode of the same fixed counter costs one write, of FIXED_CTR_CTRL. */
START_TEST(two_states_fixed_modes)
{
	struct perfctr_cpu_control control;
	unsigned int i;

	start(2 + _i, true);
	for (i = 0; i < 2; i++) {
		control_init(&control);
		control_add(&control, FIXED(0), FIX_USR);
		control_add(&control, FIXED(2), i ? FIX_OS : FIX_USR);
		thread_control(i ? &b : &a, &control, 0);
	}
	in_and_out(&a, 0);
	model_clear_statistics();
	for (i = 0; i < 4; i++) {
		in_and_out(i % 2 ? &a : &b, 0);
		expect_wrmsrs(0, 0, 1, 2);
	}
	machine_stop();
}
END_TEST

/* The driver remembers the loaded control of each CPU. */
START_TEST(migration)
{
	unsigned int i;

	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	in_and_out(&a, 0);
	expect_wrmsrs(0, 2, 1, 2);
	in_and_out(&a, 3);
	expect_wrmsrs(3, 2, 1, 2);
	for (i = 0; i < 4; i++) {
		in_and_out(&a, i % 2 ? 3 : 0);
		expect_wrmsrs(i % 2 ? 3 : 0, 0, 0, 2);
	}
	machine_stop();
}
END_TEST

/* A new control with the same values costs no writes. */
START_TEST(same_values_again)
{
	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	in_and_out(&a, 0);
	model_clear_statistics();
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	in_and_out(&a, 0);
	expect_wrmsrs(0, 0, 0, 2);
	/* A control with another event is loaded. */
	set_control(&a, 0, EV_REF_CYCLES, 0);
	in_and_out(&a, 0);
	expect_wrmsrs(0, 1, 0, 2);
	machine_stop();
}
END_TEST

/* A loaded control is recognised by its identity alone, without comparing its values. */
START_TEST(identity_is_enough)
{
	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	in_and_out(&a, 0);
	a.state.control.ctr[0].evntsel = ~0ULL;
	a.state.control.regs.fixed_ctrl = ~0ULL;
	in_and_out(&a, 0);
	machine_stop();
}
END_TEST

START_TEST(tsc_only)
{
	struct perfctr_cpu_control control;

	start(1 + _i / 2, _i & 1);
	control_init(&control);
	thread_control(&a, &control, 0);
	in_and_out(&a, 0);
	thread_in(&a, 0);
	thread_run(&a, &work);
	thread_sample(&a);
	thread_check(&a);
	expect_wrmsrs(0, 0, 0, 0);
	ck_assert_uint_eq(model.cpu[0].rdpmcs, 0);
	machine_stop();
}
END_TEST

/* Each operation reads a counter once, by RDPMC. */
START_TEST(reads)
{
	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	thread_in(&a, 0);
	ck_assert_uint_eq(model.cpu[0].rdpmcs, 4);
	thread_sample(&a);
	ck_assert_uint_eq(model.cpu[0].rdpmcs, 8);
	thread_out(&a);
	ck_assert_uint_eq(model.cpu[0].rdpmcs, 12);
	machine_stop();
}
END_TEST

/* ---- isolation ---------------------------------------------------------- */

START_TEST(stopped_after_suspend)
{
	struct model_cpu before;

	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	thread_in(&a, 0);
	thread_run(&a, &work);
	thread_out(&a);
	before = model.cpu[0];
	stranger_run(0, &work);
	ck_assert_mem_eq(before.pmc, model.cpu[0].pmc, sizeof(before.pmc));
	ck_assert_mem_eq(before.fixed, model.cpu[0].fixed, sizeof(before.fixed));
	machine_stop();
}
END_TEST

/* While a state without counters runs, its predecessor's counters stay stopped. */
START_TEST(stopped_for_tsc_only)
{
	struct perfctr_cpu_control control;
	u64 before;

	start(_i, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	control_init(&control);
	thread_control(&b, &control, 0);
	in_and_out(&a, 0);
	before = model.cpu[0].pmc[0];
	in_and_out(&b, 0);
	ck_assert_uint_eq(model.cpu[0].pmc[0], before);
	machine_stop();
}
END_TEST

START_TEST(nothing_left_when_watched)
{
	unsigned int i;

	start(_i, true);
	set_control(&a, 1, EV_INSTRUCTIONS, 0);
	set_control(&b, 2, EV_INSTRUCTIONS, 1);
	fake_watched = true;
	for (i = 0; i < 10; i++) {
		unsigned int j;

		in_and_out(i % 2 ? &a : &b, 0);
		for (j = 0; j < MODEL_MAX_PMCS; j++)
			ck_assert_uint_eq(model.cpu[0].pmc[j], 0);
		for (j = 0; j < MODEL_MAX_FIXED; j++)
			ck_assert_uint_eq(model.cpu[0].fixed[j], 0);
	}
	machine_stop();
}
END_TEST

/* A suspend clears the owner's counters only, each once, and only with isolation. */
START_TEST(cost_of_clearing)
{
	start(2, true);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	fake_watched = true;
	in_and_out(&a, 0);
	model_clear_statistics();
	in_and_out(&a, 0);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_PMC], 2);
	ck_assert_uint_eq(model.cpu[0].wrmsrs[REG_FIXED_CTR], 2);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), 6);
	machine_stop();

	start(2, false);
	set_control(&a, 0, EV_INSTRUCTIONS, 0);
	in_and_out(&a, 0);
	model_clear_statistics();
	in_and_out(&a, 0);
	expect_wrmsrs(0, 0, 0, 0);
	machine_stop();
}
END_TEST

Suite *switch_suite(void)
{
	Suite *suite = suite_create("switch");
	TCase *writes = tcase_create("writes");
	TCase *isolation = tcase_create("isolation");

	tcase_add_loop_test(writes, one_state_isolated, 2, 6);
	tcase_add_loop_test(writes, one_state_not_isolated, 1, 6);
	tcase_add_loop_test(writes, guest_remembers, 1, 6);
	tcase_add_test(writes, guest_forgets);
	tcase_add_test(writes, version_1_isolated);
	tcase_add_loop_test(writes, two_states_differ, 0, 10);
	tcase_add_loop_test(writes, two_states_apart, 0, 8);
	tcase_add_loop_test(writes, two_states_fixed_modes, 0, 4);
	tcase_add_loop_test(writes, migration, 2, 6);
	tcase_add_loop_test(writes, same_values_again, 2, 6);
	tcase_add_loop_test(writes, identity_is_enough, 2, 6);
	tcase_add_loop_test(writes, tsc_only, 0, 10);
	tcase_add_loop_test(writes, reads, 2, 6);
	suite_add_tcase(suite, writes);
	tcase_add_loop_test(isolation, stopped_after_suspend, 1, 6);
	tcase_add_loop_test(isolation, stopped_for_tsc_only, 1, 6);
	tcase_add_loop_test(isolation, nothing_left_when_watched, 1, 6);
	tcase_add_test(isolation, cost_of_clearing);
	suite_add_tcase(suite, isolation);
	return suite;
}
