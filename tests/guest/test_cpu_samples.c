// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of counted CPUs.  Threads that are pinned to a CPU execute loops of known length.
 * Each sample has the sum of its counter, so that a missing one is seen.  Needs two CPUs.
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpus.h"
#include "overflow.h"
#include "suite.h"

#define CPU1_ONLINE "/sys/devices/system/cpu/cpu1/online"

#define LOOPS		1000000UL
#define PERIOD		10000
/* Events of all else that runs in user mode meanwhile. */
#define LITTLE		(LOOPS / 10)

static struct mapped_ring ring;

static void imode(struct control *control, u64 evntsel, u64 period)
{
	control_init(control, 1);
	control_add_imode(control, IMODE_MAP, evntsel, period);
	control->c.flags = VPERFCTR_CONTROL_RING;
	if (info.nrkinds > 1)
		control_any_kind(control);
}

static void sample_cpus(int fd, u64 evntsel)
{
	struct control control;

	imode(&control, evntsel, PERIOD);
	assert_ok(set_control(fd, &control));
}

static void consume(int fd)
{
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)(ring_head(&ring) - ring.page->tail)));
}

/* ---- workers ------------------------------------------------------------------- */

/*
 * A child on a CPU does that many system calls, and then a loop, for each byte that it gets.
 * It executes nothing on other CPUs, which may be sampled: the parent forks there.
 */
static pid_t start_worker(int cpu, int calls, int to[2], int from[2])
{
	cpu_set_t own;
	pid_t pid;
	char byte;

	if (pipe(to) || pipe(from) || sched_getaffinity(0, sizeof(own), &own))
		die("pipe or sched_getaffinity failed");
	pin(cpu);
	pid = fork();
	if (pid) {
		if (pid < 0 || sched_setaffinity(0, sizeof(own), &own))
			die("the worker did not start");
		return pid;
	}
	close(to[1]);
	close(from[0]);
	while (read(to[0], &byte, 1) == 1) {
		for (int i = 0; i < calls; i++)
			syscall(SYS_getppid);
		loop(LOOPS);
		if (write(from[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void end_worker(pid_t pid, int to[2], int from[2])
{
	close(to[1]);
	close(from[0]);
	ck_assert_int_eq(wait_for(pid), 0);
	close(to[0]);
	close(from[1]);
}

/* ---- errors ------------------------------------------------------------------------ */

START_TEST(errors)
{
	int fd = open_cpus(1);
	struct control control;
	struct vperfctr_ring req;
	struct pollfd p = { .fd = fd, .events = POLLIN };

	/* Without a ring. */
	imode(&control, IMODE_USER, PERIOD);
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.flags = 0;
	assert_errno(set_control(fd, &control), EINVAL);
	assert_errno(call(fd, VPERFCTR_CONSUME, 0), EINVAL);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	ck_assert_int_eq(p.revents, POLLERR);
	ck_assert_ptr_eq(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET),
			 MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);

	assert_errno(try_ring(fd, 15, 1, 0, &req), EINVAL);
	assert_errno(try_ring(fd, 16, 0, 0, &req), EINVAL);
	assert_errno(call(fd, VPERFCTR_RING, (void *)8), EFAULT);
	req.watermark = 1;
	req.flags = VPERFCTR_RING_RECORDS;
	assert_errno(call(fd, VPERFCTR_RING, &req), EOPNOTSUPP);
	req.flags = 0x80;
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	assert_ok(try_ring(fd, 16, 1, 0, &req));
	assert_errno(try_ring(fd, 16, 1, 0, &req), EEXIST);
	map_ring(fd, req.map_size, &ring);
	ck_assert_ptr_eq(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET),
			 MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_eq(mmap(NULL, ring.size, PROT_READ, MAP_PRIVATE, fd, VPERFCTR_RING_OFFSET),
			 MAP_FAILED);
	ck_assert_int_eq(errno, EINVAL);
	assert_errno(call(fd, VPERFCTR_CONSUME, (void *)1), EINVAL);

	/* With a ring. */
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.flags = VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.si_signo = SIGUSR1;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.si_signo = 0;
	control.c.clock_period = VPERFCTR_CLOCK_MIN;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.clock_period = 0;
	assert_ok(set_control(fd, &control));
	/* A ring needs something that overflows. */
	control_init(&control, 1);
	control_add(&control, IMODE_MAP, IMODE_USER);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control_any_kind(&control);
	assert_errno(set_control(fd, &control), EINVAL);
	munmap((void *)ring.page, ring.size);
	close(fd);
}
END_TEST

/* Its holder may read the ring, but neither make nor control it; nor map addresses in the kernel. */
START_TEST(ordinary_user)
{
	int fd = open_cpus(1), kernel = open_cpus(2);
	struct vperfctr_ring req;
	pid_t pid;

	assert_ok(try_ring(fd, 16, 1, 0, &req));
	make_ring_flags(kernel, VPERFCTR_RING_KERNEL, 16, 1, 0, &ring);
	pid = fork();
	if (!pid) {
		struct control control;
		void *map;

		imode(&control, IMODE_USER, PERIOD);
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			die("setresuid failed");
		if (call(fd, VPERFCTR_RING, &req) != -EPERM || set_control(fd, &control) != -EPERM)
			_exit(1);
		map = mmap(NULL, req.map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
		if (map == MAP_FAILED || call(fd, VPERFCTR_CONSUME, 0))
			_exit(2);
		map = mmap(NULL, ring.size, PROT_READ, MAP_SHARED, kernel, VPERFCTR_RING_OFFSET);
		_exit(map != MAP_FAILED || errno != EPERM ? 3 : 0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	munmap((void *)ring.page, ring.size);
	close(fd);
	close(kernel);
}
END_TEST

/* ---- samples --------------------------------------------------------------------------- */

/* The last of the samples of each CPU, and how many there were. */
struct seen {
	u64 last[MAX_CPUS];	/* the sum at the last sample */
	u64 nr[MAX_CPUS];
	u64 of_thread[MAX_CPUS]; /* of the worker there */
	u64 kernel[MAX_CPUS];	/* of the worker in the kernel */
};

/*
 * Look at all samples.  A period begins when the interrupt reloads the counter: two samples of
 * a CPU are less than two periods apart, or one is missing.
 */
static void look(struct seen *seen, const pid_t *worker, int n)
{
	for (u64 i = ring.page->tail; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);
		u32 cpu = s->cpu;

		ck_assert_uint_lt(cpu, (u32)n);
		ck_assert_uint_eq(s->type, VPERFCTR_SAMPLE_OVERFLOW);
		ck_assert_uint_eq(s->overflow, 1);
		ck_assert_uint_eq(s->dropped, 0);
		ck_assert_uint_ge(s->sums[0], seen->last[cpu] + PERIOD);
		ck_assert_uint_lt(s->sums[0], seen->last[cpu] + 2 * PERIOD);
		ck_assert_int_eq(!!s->pid, !!s->tid);
		seen->last[cpu] = s->sums[0];
		seen->nr[cpu]++;
		for (int k = 0; k < n; k++) {
			if (s->pid != (u32)worker[k])
				continue;
			/* It is pinned. */
			ck_assert_uint_eq(cpu, (u32)k);
			ck_assert_uint_eq(s->tid, s->pid);
			ck_assert_uint_ne(s->ip, 0);
			ck_assert_uint_ne(s->flags, 0);
			seen->of_thread[k]++;
			seen->kernel[k] += s->flags == VPERFCTR_SAMPLE_KERNEL && is_kernel_address(s->ip);
		}
	}
}

/* While the counters are stopped: no CPU has counted a period since its last sample. */
static void check_all_sampled(int fd, const struct seen *seen, int n)
{
	struct cpu_reading r;

	read_cpus(fd, &r);
	for (int cpu = 0; cpu < n; cpu++)
		ck_assert_uint_lt(pmc_of(&r, cpu, 0), seen->last[cpu] + PERIOD);
}

static int open_all(int n, u32 flags)
{
	int fd = open_cpus(n == 32 ? ~0U : (1U << n) - 1);

	make_ring_flags(fd, flags, 16384, 16384, 1, &ring);
	return fd;
}

static void close_all(int fd)
{
	munmap((void *)ring.page, ring.size);
	close(fd);
}

/* Each CPU has a sample for each period of what it executes, of the thread that it executes. */
START_TEST(every_period_of_all_cpus)
{
	int n = nr_cpus(), to[MAX_CPUS][2], from[MAX_CPUS][2], cpu, fd;
	struct seen seen = { 0 };
	pid_t pid[MAX_CPUS] = { 0 };
	char byte = 0;

	for (cpu = 0; cpu < n; cpu++)
		pid[cpu] = start_worker(cpu, 0, to[cpu], from[cpu]);
	fd = open_all(n, 0);
	sample_cpus(fd, IMODE_USER);
	/* CPU k executes k % 4 + 1 loops. */
	for (cpu = 0; cpu < n; cpu++) {
		for (int i = 0; i <= cpu % 4; i++)
			ck_assert_int_eq(write(to[cpu][1], &byte, 1), 1);
	}
	for (cpu = 0; cpu < n; cpu++) {
		for (int i = 0; i <= cpu % 4; i++)
			ck_assert_int_eq(read(from[cpu][0], &byte, 1), 1);
	}
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	look(&seen, pid, n);
	check_all_sampled(fd, &seen, n);
	for (cpu = 0; cpu < n; cpu++) {
		u64 periods = 2 * LOOPS * (cpu % 4 + 1) / PERIOD;

		/* A late interrupt makes each period a bit longer. */
		ck_assert_uint_ge(seen.of_thread[cpu], periods - periods / 10 - 1);
		ck_assert_uint_eq(seen.kernel[cpu], 0);
		ck_assert_uint_ge(seen.nr[cpu], seen.of_thread[cpu]);
		if (COUNTS_APART)
			ck_assert_uint_le(seen.nr[cpu], periods + LITTLE / PERIOD);
		close(to[cpu][1]);
	}
	for (cpu = 0; cpu < n; cpu++)
		end_worker(pid[cpu], to[cpu], from[cpu]);
	ck_assert_uint_eq(ring.page->dropped, 0);
	close_all(fd);
}
END_TEST

/* The kernel, with its idle tasks and what it does with interrupts disabled. */
START_TEST(kernel_mode)
{
	int to[2], from[2], fd = open_all(2, VPERFCTR_RING_KERNEL);
	struct control control;
	struct seen seen = { 0 };
	pid_t pid[2] = { -1, -1 };

	pid[1] = start_worker(1, 20000, to, from);
	imode(&control, IMODE_BOTH, PERIOD);
	assert_ok(set_control(fd, &control));
	let_work(to, from);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	/* The kernel's own work makes longer periods where they are too short. */
	if (!ring.page->dropped) {
		look(&seen, pid, 2);
		check_all_sampled(fd, &seen, 2);
		ck_assert_uint_gt(seen.kernel[1], 20);
		ck_assert_uint_gt(seen.of_thread[1], seen.kernel[1]);
	}
	end_worker(pid[1], to, from);
	close_all(fd);
}
END_TEST

/* Without VPERFCTR_RING_KERNEL no sample has an address there. */
START_TEST(no_address_of_the_kernel)
{
	int to[2], from[2], fd = open_all(2, 0);
	struct control control;
	pid_t pid;

	pid = start_worker(1, 20000, to, from);
	imode(&control, IMODE_BOTH, PERIOD);
	assert_ok(set_control(fd, &control));
	let_work(to, from);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	ck_assert_uint_gt(ring_head(&ring), 100);
	for (u64 i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		ck_assert_uint_eq(is_kernel_address(s->ip), 0);
		ck_assert_uint_eq(s->flags, s->ip ? VPERFCTR_SAMPLE_USER : 0);
	}
	end_worker(pid, to, from);
	close_all(fd);
}
END_TEST

/* Overflows that find the ring full are counted. */
START_TEST(full_ring)
{
	int to[2], from[2], fd = open_cpus(2);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct cpu_reading r;
	pid_t pid;
	u64 all;

	make_ring(fd, 16, 16, 1, &ring);
	pid = start_worker(1, 0, to, from);
	sample_cpus(fd, IMODE_USER);
	let_work(to, from);
	ck_assert_int_eq(poll(&p, 1, -1), 1);
	ck_assert_int_eq(p.revents, POLLIN);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_cpus(fd, &r);
	ck_assert_uint_eq(ring_head(&ring), 16);
	all = 16 + ring.page->dropped;
	ck_assert_uint_le(all, pmc_of(&r, 0, 0) / PERIOD);
	ck_assert_uint_gt(2 * all, pmc_of(&r, 0, 0) / PERIOD);
	consume(fd);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	let_work(to, from);
	/* The first one says how many are missing before it. */
	ck_assert_uint_eq(ring_sample(&ring, 16)->dropped, all - 16);
	end_worker(pid, to, from);
	close_all(fd);
}
END_TEST

/* Wait until a process sleeps, in a call that nothing has ended yet. */
static void wait_for_sleep(pid_t pid)
{
	char path[64], text[512];

	sprintf(path, "/proc/%d/stat", pid);
	do {
		read_file(path, text, sizeof(text));
	} while (!strstr(text, ") S "));
}

/* The end of the counting wakes readers of fewer samples than the watermark. */
START_TEST(poll_at_the_end)
{
	int to[2], from[2], fd = open_all(2, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pid_t pid, poller;

	pid = start_worker(1, 0, to, from);
	sample_cpus(fd, IMODE_USER);
	let_work(to, from);
	ck_assert_uint_gt(ring_head(&ring), 0);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	poller = fork();
	if (!poller)
		_exit(poll(&p, 1, -1) != 1 || p.revents != POLLIN);
	wait_for_sleep(poller);
	assert_ok(stop_all(fd));
	ck_assert_int_eq(wait_for(poller), 0);
	consume(fd);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	sample_cpus(fd, IMODE_USER);
	let_work(to, from);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	end_worker(pid, to, from);
	close_all(fd);
}
END_TEST

/* A CPU that was offline continues its period. */
START_TEST(offline_and_online)
{
	int to[2], from[2], fd = open_all(2, 0);
	struct seen seen = { 0 };
	pid_t pid[2] = { -1, -1 };

	pin(0);
	sample_cpus(fd, IMODE_USER);
	for (int i = 0; i < 3; i++) {
		pid[1] = start_worker(1, 0, to, from);
		let_work(to, from);
		end_worker(pid[1], to, from);
		write_file(CPU1_ONLINE, "0");
		write_file(CPU1_ONLINE, "1");
		assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
		look(&seen, pid, 2);
		check_all_sampled(fd, &seen, 2);
		consume(fd);
		assert_ok(call(fd, VPERFCTR_RESUME, 0));
	}
	ck_assert_uint_gt(seen.of_thread[1], 3 * LOOPS / PERIOD);
	/* The counting ends while it is offline. */
	write_file(CPU1_ONLINE, "0");
	close_all(fd);
	write_file(CPU1_ONLINE, "1");
}
END_TEST

/* ---- as perf record -a -------------------------------------------------------------- */

#define PERF_PAGES	64

#define MAX_RATE	"/proc/sys/kernel/perf_event_max_sample_rate"
#define MAX_PERCENT	"/proc/sys/kernel/perf_cpu_time_max_percent"

static u64 samples_of_perf(int cpu, int to[2], int from[2])
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE, .size = sizeof(attr),
		.config = perf_config(info.arch_events & VPERFCTR_EVENT_INSTRUCTIONS ?
				      PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES),
		.exclude_kernel = 1, .exclude_hv = 1,
		.sample_period = PERIOD, .sample_type = PERF_SAMPLE_IP, .disabled = 0,
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	struct perf_event_mmap_page *page;
	u64 at = 0, n = 0;

	if (fd < 0)
		return 0;
	page = mmap(NULL, (1 + PERF_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	let_work(to, from);
	while (at < load_head(&page->data_head)) {
		struct perf_event_header *h = (void *)((char *)page + PAGE + at);

		n += h->type == PERF_RECORD_SAMPLE;
		at += h->size;
	}
	munmap(page, (1 + PERF_PAGES) * PAGE);
	close(fd);
	return n;
}

START_TEST(as_many_as_perf)
{
	int to[2], from[2], fd;
	struct seen seen = { 0 };
	pid_t pid[2] = { -1, -1 };
	u64 by_perf;

	pin(0);
	pid[1] = start_worker(1, 0, to, from);
	let_work(to, from);
	/* A slow kernel lowers the rate, and then perf stops sampling for the rest of a tick. */
	write_file(MAX_RATE, "100000");
	write_file(MAX_PERCENT, "0");
	by_perf = samples_of_perf(1, to, from);
	write_file(MAX_PERCENT, "25");
	fd = open_all(2, 0);
	sample_cpus(fd, IMODE_USER);
	let_work(to, from);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	look(&seen, pid, 2);
	/* An event of perf's is for one kind of CPUs. */
	if (by_perf && COUNTS_APART) {
		ck_assert_uint_le(seen.of_thread[1], by_perf + LITTLE / PERIOD);
		ck_assert_uint_ge(seen.of_thread[1] + LITTLE / PERIOD, by_perf);
	}
	end_worker(pid[1], to, from);
	close_all(fd);
}
END_TEST

static void online(void)
{
	write_file(CPU1_ONLINE, "1");
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, online);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, ordinary_user);
	tcase_add_test(tc, every_period_of_all_cpus);
	tcase_add_test(tc, kernel_mode);
	tcase_add_test(tc, no_address_of_the_kernel);
	tcase_add_test(tc, full_ring);
	tcase_add_test(tc, poll_at_the_end);
	tcase_add_test(tc, offline_and_online);
	tcase_add_test(tc, as_many_as_perf);
}

int main(void)
{
	open_device();
	if (!has(VPERFCTR_FEATURE_CPUS) || !has(VPERFCTR_FEATURE_PCINT))
		die("CPUs cannot be sampled");
	return run_tests("cpu_samples", add);
}
