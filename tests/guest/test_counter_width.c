// SPDX-License-Identifier: GPL-2.0
/*
 * Counters so narrow that they wrap between two context switches: 32 bits, and 30 cycles
 * per nanosecond.
 */
#include <sys/resource.h>
#include <time.h>

#include "cpus.h"
#include "service.h"

#define CYCLES_BOTH	(SEL_BOTH | CYCLES)
#define CYCLES_PER_NS	30

static u64 now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* Run alone on this CPU, until the thread sleeps. */
static void take_the_cpu(void)
{
	struct sched_param param = { .sched_priority = 50 };

	write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
	ck_assert_int_eq(sched_setscheduler(0, SCHED_FIFO, &param), 0);
}

static void loop_for(unsigned int ms)
{
	u64 end = now() + ms * 1000000ULL;

	while (now() < end)
		loop(50000);
}

static void check_close(u64 count, u64 expected, const char *what)
{
	u64 off = count > expected ? count - expected : expected - count;

	ck_assert_msg(off < expected / 5000, "%s: %llu instead of %llu", what, count, expected);
}

static const unsigned int phases[] = { 20, 100, 150, 550 };	/* ms */

START_TEST(counters_wrap)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);
	struct control control;
	struct reading before, after;
	u64 self, self_tsc, began, took;
	u32 samples;
	long was;

	ck_assert_uint_eq(info.pmc_width, 32);
	ck_assert_uint_eq(page->mask, 0);
	take_the_cpu();
	control_init(&control, 1);
	control_add(&control, 0, CYCLES_BOTH);
	control_add(&control, 1, INSNS_USER);
	assert_ok(set_control(fd, &control));
	ck_assert_uint_eq(page->mask, 0xffffffff);

	was = switches();
	samples = page->samplecount;
	read_state(fd, &before);
	self = self_read(page, 0);
	self_tsc = self_read_tsc(page);
	began = now();
	loop_for(phases[_i]);
	took = now() - began;
	self = self_read(page, 0) - self;
	self_tsc = self_read_tsc(page) - self_tsc;
	read_state(fd, &after);
	/* Otherwise a context switch has sampled the counters, and nothing is tested. */
	ck_assert_int_eq(switches(), was);

	after.own[0] -= before.own[0];
	after.own[1] -= before.own[1];
	check_close(self_tsc, took * info.tsc_khz / 1000000, "self-read TSC and time");
	check_close(self, took * CYCLES_PER_NS, "self-read cycles and time");
	check_close(after.own[1], after.own[0] * CYCLES_PER_NS * 1000000 / info.tsc_khz,
		    "cycles and TSC");
	/* Samples: more than six for each time that a counter wraps. */
	ck_assert_uint_ge((page->samplecount - samples) / 2, phases[_i] / 25);
	/* An instruction takes a nanosecond, and the kernel takes little of the time. */
	ck_assert_uint_le(after.own[2] - before.own[2], took);
	ck_assert_uint_gt(after.own[2] - before.own[2], took / 10 * 8);
}
END_TEST

/* After a pause, the counters are sampled again. */
START_TEST(counters_wrap_after_pause)
{
	int fd = open_state(0);
	struct control control;
	struct reading r;
	int i;

	take_the_cpu();
	control_init(&control, 1);
	control_add(&control, 1, CYCLES_BOTH);
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 2; i++) {
		loop_for(160);
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		loop_for(60);	/* the timer has nothing to sample */
		assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	}
	loop_for(160);
	read_state(fd, &r);
	check_close(r.own[1], r.own[0] * CYCLES_PER_NS * 1000000 / info.tsc_khz,
		    "cycles and TSC");
	ck_assert_uint_gt(r.own[1], 3 * (1ULL << 32));
}
END_TEST

/* Another thread's timer may sample the counters too. */
START_TEST(timer_of_another_thread)
{
	int fd = open_state(0);
	struct control control;
	struct reading r;
	pid_t pid;

	control_init(&control, 1);
	control_add(&control, 0, CYCLES_BOTH);
	pid = fork();
	if (!pid) {
		int mine = open_state(0);

		if (set_control(mine, &control))
			_exit(1);
		loop_for(30);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	take_the_cpu();
	assert_ok(set_control(fd, &control));
	loop_for(300);
	read_state(fd, &r);
	check_close(r.own[1], r.own[0] * CYCLES_PER_NS * 1000000 / info.tsc_khz,
		    "cycles and TSC");
	ck_assert_uint_gt(r.own[1], 2 * (1ULL << 32));
}
END_TEST

/* The same for a CPU, on which no switch and no call samples the counters meanwhile. */
START_TEST(counters_of_cpu_wrap)
{
	struct cpu_reading before, after;
	struct control control;
	int fd = open_cpus(1);
	u64 tsc;

	take_the_cpu();
	control_init(&control, 1);
	control_add(&control, 0, CYCLES_BOTH);
	assert_ok(set_control(fd, &control));
	read_cpus(fd, &before);
	loop_for(phases[_i]);
	read_cpus(fd, &after);
	tsc = tsc_sum_of(&after, 0) - tsc_sum_of(&before, 0);
	ck_assert_uint_ge(tsc, phases[_i] * (u64)info.tsc_khz);
	check_close(pmc_of(&after, 0, 0) - pmc_of(&before, 0, 0),
		    tsc * CYCLES_PER_NS * 1000000 / info.tsc_khz, "cycles of the CPU and TSC");
	close(fd);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, counters_wrap, 0, sizeof(phases) / sizeof(phases[0]));
	tcase_add_test(tc, counters_wrap_after_pause);
	tcase_add_loop_test(tc, counters_of_cpu_wrap, 0, sizeof(phases) / sizeof(phases[0]));
	tcase_add_test(tc, timer_of_another_thread);
}

int main(void)
{
	open_device();
	return run_tests("counter_width", add);
}
