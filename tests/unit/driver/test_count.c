// SPDX-License-Identifier: GPL-2.0
/*
 * Counts are exact: in any schedule on any CPUs, each thread gets exactly its own
 * events, in the modes that it requested.
 */
#include "random.h"
#include "tests.h"
#include "thread.h"

#define NR_THREADS	6
#define STEPS		4000
#define MACHINES	4

/* Each test has one version, with or without isolation, watched or not. */
#define VARIANTS	(5 * 4)

static struct thread threads[NR_THREADS];
static u64 limit;	/* the most events that may pass without a sample */

static struct thread *on_cpu(int cpu)
{
	unsigned int i;

	for (i = 0; i < NR_THREADS; i++) {
		if (threads[i].cpu == cpu)
			return &threads[i];
	}
	return NULL;
}

static unsigned int popular_cpu(void)
{
	return one_in(3) ? random_below(NR_CPUS) : random_below(2);
}

static void new_control(struct thread *t)
{
	const struct thread *other = &threads[random_below(NR_THREADS)];
	struct perfctr_cpu_control control;
	u64 preserve = one_in(2) ? random_u64() : 0;

	if (one_in(3) && other->state.id) {
		control = other->control;
	} else {
		random_control(&control);
		if (one_in(8))
			control.nractrs = 0;	/* only the TSC */
	}
	thread_control(t, &control, preserve);
}

static void step_off_cpu(struct thread *t)
{
	unsigned int cpu = popular_cpu();

	if (one_in(10))
		new_control(t);
	else if (!on_cpu(cpu) && fake_online[cpu])
		thread_in(t, cpu);
}

static void step_on_cpu(struct thread *t)
{
	struct work work = random_work(limit);

	switch (random_below(4)) {
	case 0:
		thread_out(t);
		thread_check(t);
		break;
	case 1:
		thread_sample(t);
		thread_check(t);
		break;
	default:
		thread_run(t, &work);
		thread_sample(t);	/* before a counter can wrap twice */
		if (one_in(2)) {
			work = random_work(limit);
			thread_run(t, &work);
			thread_out(t);
			thread_check(t);
		}
	}
}

/* An idle CPU loses its registers, or executes for others. */
static void step_cpu(unsigned int cpu)
{
	struct work work = random_work(limit);

	if (on_cpu(cpu))
		return;
	if (!fake_online[cpu])
		fake_cpu_up(cpu);
	else if (cpu && one_in(20))
		fake_cpu_down(cpu);
	else
		stranger_run(cpu, &work);
}

static void switch_at_random(const struct model_config *config, bool isolate)
{
	unsigned int i;

	machine_start(config, isolate);
	limit = (1ULL << (min(config->pmc_width, config->nr_fixed || config->fixed_mask ?
			      config->fixed_width : 64) - 8)) - 1;
	for (i = 0; i < NR_THREADS; i++)
		thread_init(&threads[i]);
	for (i = 0; i < NR_THREADS; i++)
		new_control(&threads[i]);
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
		if (threads[i].cpu >= 0)
			thread_out(&threads[i]);
		thread_check(&threads[i]);
	}
	machine_stop();
}

START_TEST(random_switches)
{
	unsigned int i;

	random_restart(__LINE__ + _i);
	fake_watched = _i & 2;
	for (i = 0; i < MACHINES; i++) {
		struct model_config config = random_config(1 + _i / 4);

		switch_at_random(&config, _i & 1);
	}
}
END_TEST

/* The same on processors that are older than architectural performance monitoring. */
START_TEST(random_switches_old)
{
	struct model_config config = old_config(MODEL_P6 + _i / 4);
	unsigned int i;

	random_restart(__LINE__ + _i);
	fake_watched = _i & 2;
	for (i = 0; i < MACHINES; i++)
		switch_at_random(&config, _i & 1);
}
END_TEST

/* Each counter starts just before its maximum, and wraps around several times. */
START_TEST(wrapping)
{
	static const unsigned int widths[] = { 32, 40, 48, 63, 64 };
	const struct work third = {
		.instructions = (1ULL << (widths[_i] - 1)) / 3 * 2,
		.cycles = (1ULL << (widths[_i] - 1)) / 5 * 3,
	};
	struct model_config config = usual_config(3);
	struct perfctr_cpu_control control;
	struct thread t;
	unsigned int i;

	config.pmc_width = widths[_i];
	config.fixed_width = widths[_i];
	machine_start(&config, true);
	control_init(&control);
	control_add(&control, 0, USER(EV_INSTRUCTIONS));
	control_add(&control, 1, USER(EV_CYCLES));
	control_add(&control, VPERFCTR_FIXED | 0, FIX_USR);
	control_add(&control, VPERFCTR_FIXED | 1, FIX_USR);
	thread_init(&t);
	thread_control(&t, &control, 0);
	for (i = 0; i < control.nractrs; i++) {
		u32 map = control.ctr[i].map;

		*model_counter(&model.cpu[1], map) = model_mask(map) - i;
	}
	for (i = 0; i < 12; i++) {
		thread_in(&t, 1);
		thread_run(&t, &third);
		if (i % 2) {
			thread_sample(&t);
			thread_run(&t, &third);
		}
		thread_out(&t);
		thread_check(&t);
	}
	ck_assert_uint_eq(model.cpu[1].overflow & 3, 3);
	machine_stop();
}
END_TEST

/* All modes of all counters, with user and kernel mode in turn. */
START_TEST(each_mode)
{
	static const u64 modes[] = { SEL_USR, SEL_OS, SEL_USR | SEL_OS };
	struct model_config config = usual_config(1 + _i / 2);
	struct perfctr_cpu_control control;
	struct thread t;
	unsigned int i;

	machine_start(&config, _i & 1);
	control_init(&control);
	for (i = 0; i < 3; i++)
		control_add(&control, i, SEL_EN | modes[i] | EV_INSTRUCTIONS);
	for (i = 0; i < config.nr_fixed; i++)
		control_add(&control, VPERFCTR_FIXED | i, 1 + i);
	thread_init(&t);
	thread_control(&t, &control, 0);
	thread_in(&t, 0);
	thread_run(&t, &(struct work) { .instructions = 100, .cycles = 1000 });
	thread_run(&t, &(struct work) { .instructions = 7, .cycles = 30, .kernel = true });
	thread_out(&t);
	thread_check(&t);

	/* As plain numbers, in case the model and the expected counts have the same defect. */
	ck_assert_uint_eq(t.page.ctr[0].sum, 100);
	ck_assert_uint_eq(t.page.ctr[1].sum, 7);
	ck_assert_uint_eq(t.page.ctr[2].sum, 107);
	if (config.nr_fixed) {
		ck_assert_uint_eq(t.page.ctr[3].sum, 7);	/* instructions, OS */
		ck_assert_uint_eq(t.page.ctr[4].sum, 1000);	/* cycles, USR */
		ck_assert_uint_eq(t.page.ctr[5].sum, 515);	/* reference cycles, both */
	}
	ck_assert_uint_eq(t.page.tsc_sum, 1030);
	machine_stop();
}
END_TEST

Suite *count_suite(void)
{
	Suite *suite = suite_create("count");
	TCase *tc = tcase_create("count");
	TCase *old = tcase_create("old");

	tcase_add_loop_test(tc, random_switches, 0, VARIANTS);
	tcase_add_loop_test(tc, wrapping, 0, 5);
	tcase_add_loop_test(tc, each_mode, 0, 10);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	tcase_add_loop_test(old, random_switches_old, 0, 24);
	tcase_set_timeout(old, 60);
	suite_add_tcase(suite, old);
	return suite;
}
