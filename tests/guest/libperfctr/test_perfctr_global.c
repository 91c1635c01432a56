// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of perfctr's counters of CPUs.  The test is pinned to one CPU after the other, and
 * executes loops of known length there.
 */
#include <sched.h>

#include "old.h"

#define N	1000000UL

static struct gperfctr *g;

/* Count instructions in user mode on a CPU. */
static struct gperfctr_cpu_control *on_cpu(struct gperfctr_cpu_control *control, unsigned int cpu)
{
	struct vperfctr_control all;

	memset(control, 0, sizeof(*control));
	control->cpu = cpu;
	control->cpu_control = count_with(&all, 1)->cpu_control;
	return control;
}

static unsigned long long read_cpu(unsigned int cpu, unsigned long long *tsc)
{
	struct gperfctr_cpu_state state;

	memset(&state, 0xff, sizeof(state));
	state.cpu = cpu;
	ck_assert_int_eq(gperfctr_read(g, &state), 0);
	ck_assert_uint_eq(state.cpu, cpu);
	ck_assert_uint_eq(state.sum.pmc[1], 0);
	if (tsc)
		*tsc = state.sum.tsc;
	return state.sum.pmc[0];
}

static void open_global(void)
{
	g = gperfctr_open();
	if (!g)
		die("gperfctr_open: %s", strerror(errno));
}

static void control_all(void)
{
	struct gperfctr_cpu_control control;
	int i;

	for (i = 0; i < nr_cpus(); i++)
		ck_assert_int_eq(gperfctr_control(g, on_cpu(&control, i)), i + 1);
}

START_TEST(counts)
{
	unsigned long long before[64], after, tsc[64], later;
	int i, k;

	control_all();
	for (i = 0; i < nr_cpus(); i++)
		ck_assert_uint_eq(read_cpu(i, NULL), 0);
	ck_assert_int_eq(gperfctr_start(g, 0), nr_cpus());
	for (i = 0; i < nr_cpus(); i++) {
		pin(i);
		for (k = 0; k < nr_cpus(); k++)
			before[k] = read_cpu(k, &tsc[k]);
		loop(N);
		for (k = 0; k < nr_cpus(); k++) {
			after = read_cpu(k, &later) - before[k];
			ck_assert_uint_gt(later, tsc[k]);
			/* Each read takes some hundred instructions; other threads may run. */
			ck_assert_uint_ge(after, k == i ? 2 * N : 0);
			ck_assert_uint_lt(after, (k == i ? 2 * N : 0) + N);
		}
	}
	ck_assert_int_eq(gperfctr_stop(g), 0);
	pin(0);
	before[0] = read_cpu(0, NULL);
	ck_assert_uint_ge(before[0], 2 * N);
	loop(N);
	ck_assert_uint_eq(read_cpu(0, NULL), before[0]);
	/* They need new controls, which zero the sums. */
	ck_assert_int_eq(gperfctr_start(g, 0), 0);
	control_all();
	ck_assert_uint_eq(read_cpu(0, NULL), 0);
	ck_assert_int_eq(gperfctr_start(g, 10000), nr_cpus());
	loop(N);
	ck_assert_uint_ge(read_cpu(0, NULL), 2 * N);
	ck_assert_int_eq(gperfctr_stop(g), 0);
}
END_TEST

/* Each CPU can have another control, or none. */
START_TEST(one_cpu)
{
	const unsigned int last = nr_cpus() - 1;
	struct gperfctr_cpu_control control;
	struct gperfctr_cpu_state state;

	ck_assert_int_eq(gperfctr_control(g, on_cpu(&control, last)), 1);
	/* Again is no second CPU; zeros take it back. */
	ck_assert_int_eq(gperfctr_control(g, on_cpu(&control, last)), 1);
	memset(&control.cpu_control, 0, sizeof(control.cpu_control));
	ck_assert_int_eq(gperfctr_control(g, &control), 0);
	ck_assert_int_eq(gperfctr_start(g, 0), 0);
	on_cpu(&control, last);
	control.cpu_control.tsc_on = 0;
	ck_assert_int_eq(gperfctr_control(g, &control), 1);
	ck_assert_int_eq(gperfctr_start(g, 0), 1);
	pin(last);
	loop(N);
	state.cpu = last;
	ck_assert_int_eq(gperfctr_read(g, &state), 0);
	ck_assert_mem_eq(&state.cpu_control, &control.cpu_control, sizeof(control.cpu_control));
	ck_assert_uint_ge(state.sum.pmc[0], 2 * N);
	ck_assert_uint_eq(state.sum.tsc, 0);
	if (last) {
		state.cpu = 0;
		ck_assert_int_eq(gperfctr_read(g, &state), 0);
		ck_assert_uint_eq(state.cpu_control.nractrs, 0);
		ck_assert_uint_eq(state.sum.pmc[0], 0);
	}
}
END_TEST

START_TEST(errors)
{
	struct gperfctr_cpu_state state = { .cpu = nr_cpus() };
	struct gperfctr_cpu_control control;
	struct gperfctr *other;
	struct vperfctr *v;
	struct vperfctr_control own;
	pid_t pid;

	/* no such CPU */
	assert_fails(gperfctr_control(g, on_cpu(&control, nr_cpus())), EINVAL);
	assert_fails(gperfctr_control(g, on_cpu(&control, ~0U)), EINVAL);
	assert_fails(gperfctr_read(g, &state), EINVAL);
	state.cpu = ~0U;
	assert_fails(gperfctr_read(g, &state), EINVAL);
	/* invalid controls */
	on_cpu(&control, 0)->cpu_control.nrictrs = 1;
	assert_fails(gperfctr_control(g, &control), EPERM);
	on_cpu(&control, 0)->cpu_control.nractrs = 19;
	assert_fails(gperfctr_control(g, &control), EINVAL);
	on_cpu(&control, 0)->cpu_control.nractrs = 0;
	assert_fails(gperfctr_control(g, &control), EINVAL);
	on_cpu(&control, 0)->cpu_control.pmc_map[0] = 77;
	assert_fails(gperfctr_control(g, &control), EINVAL);
	on_cpu(&control, 0)->cpu_control.evntsel[0] |= SEL_INT;
	assert_fails(gperfctr_control(g, &control), EINVAL);
	ck_assert_int_eq(gperfctr_start(g, 0), 0);
	assert_fails(gperfctr_start(g, 9999), EINVAL);

	/* Threads have the counters: a control can be set, and not started. */
	v = vperfctr_open();
	ck_assert_ptr_nonnull(v);
	ck_assert_int_eq(vperfctr_control(v, count_with(&own, 1)), 0);
	ck_assert_int_eq(gperfctr_control(g, on_cpu(&control, 0)), 1);
	assert_fails(gperfctr_start(g, 0), EBUSY);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(gperfctr_start(g, 0), 1);
	assert_fails(vperfctr_control(v, count_with(&own, 1)), EBUSY);
	/* It must be stopped before. */
	assert_fails(gperfctr_control(g, on_cpu(&control, 0)), EBUSY);
	ck_assert_int_eq(gperfctr_start(g, 0), 1);
	other = gperfctr_open();
	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(gperfctr_control(other, on_cpu(&control, 0)), 1);
	assert_fails(gperfctr_start(other, 0), EBUSY);
	gperfctr_close(g);
	ck_assert_int_eq(gperfctr_start(other, 0), 1);
	/* The end of the handle ends the counting. */
	gperfctr_close(other);
	ck_assert_int_eq(vperfctr_control(v, count_with(&own, 1)), 0);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	gperfctr_close(NULL);

	open_global();
	pid = fork();
	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			die("setresuid failed");
		_exit(gperfctr_control(g, on_cpu(&control, 0)) != -1 || errno != EPERM ||
		      gperfctr_open() || errno != EACCES);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

START_TEST(informs)
{
	struct perfctr_cpus_info *cpus = gperfctr_cpus_info(g);
	struct perfctr_info old;

	ck_assert_ptr_nonnull(cpus);
	ck_assert_uint_eq(cpus->cpus->mask[0], (1U << nr_cpus()) - 1);
	free(cpus);
	ck_assert_int_eq(gperfctr_info(g, &old), 0);
	ck_assert_uint_eq(perfctr_info_nrctrs(&old), info.nrctrs);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, open_global, NULL);
	tcase_add_test(tc, informs);
	tcase_add_test(tc, counts);
	tcase_add_test(tc, one_cpu);
	tcase_add_test(tc, errors);
}

int main(void)
{
	open_device();
	return run_tests("perfctr, CPUs", add);
}
