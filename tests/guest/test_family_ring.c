// SPDX-License-Identifier: GPL-2.0
/*
 * i-mode counters of a family: each thread's samples go to the ring of the root, or each
 * thread gets signals.  Children execute code of known length, so the samples of each are
 * known, on any number of CPUs.  This needs virtual time, where time is instructions.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code.h"
#include "known.h"
#include "overflow.h"

#define PERIOD	1009
#define MAX_STOPS	"/sys/module/vperfctr/parameters/max_stops_per_second"
#define MAX_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"
#define INHERIT	(VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING)

static int fd;
static struct mapped_ring ring;
static volatile struct {
	unsigned int futex;
	u32 ready, signals, wrong;
	int fd;
	size_t size;
	pid_t pid;
} *shared;

static struct control *imode_control(struct control *control, u64 period, u32 flags)
{
	control_init(control, 1);
	control_add_imode(control, IMODE, period);
	control->c.flags = flags;
	return control;
}

static int control_family(u64 period, u32 flags)
{
	struct control control;

	return set_control(fd, imode_control(&control, period, flags));
}

static void setup(void)
{
	settle();
	write_file(MAX_RATE, "0");
	shared = shared_memory(PAGE);
	fd = open_state(0);
}

/* Restore the parameters. */
static void teardown(void)
{
	write_file(MAX_RATE, "100000");
	write_file(MAX_STATES, "20000");
	write_file(MAX_STOPS, "20");
}

static void close_state(void)
{
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(fd);
}

static void make(u32 nrsamples, u32 watermark)
{
	make_ring(fd, nrsamples, watermark, 1, &ring);
	assert_ok(control_family(PERIOD, INHERIT));
}

static unsigned int *futex(void)
{
	return (unsigned int *)&shared->futex;
}

static pid_t start(unsigned long flags, unsigned long n, unsigned int *wait, unsigned long m)
{
	pid_t pid = start_child(flags, n, wait, m);

	if (pid < 0)
		die("clone: %s", strerror((int)-pid));
	return pid;
}

/*
 * Check the samples of a thread in the whole ring, in which none was overwritten: one for
 * each period of the instructions that it executed.  The check itself makes no samples.
 */
static void check_samples(pid_t pid, pid_t tid, u64 insns)
{
	int err = call(fd, VPERFCTR_SUSPEND, NULL);
	u64 i, n = 0, head = ring_head(&ring);

	for (i = 0; i < head; i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		ck_assert_uint_eq(s->type, VPERFCTR_SAMPLE_OVERFLOW);
		ck_assert_uint_eq(s->flags, VPERFCTR_SAMPLE_USER);
		ck_assert_uint_eq(s->dropped, 0);
		ck_assert_uint_eq(s->overflow, 1);
		if (s->tid != (u32)tid)
			continue;
		n++;
		ck_assert_uint_eq(s->pid, pid);
		ck_assert_uint_eq(s->sums[0], n * PERIOD);
	}
	ck_assert_msg(n == insns / PERIOD, "%llu samples of thread %d, not %llu", n, (int)tid,
		      insns / PERIOD);
	if (!err)
		assert_ok(call(fd, VPERFCTR_RESUME, NULL));
}

static u64 samples_of(const struct mapped_ring *from, pid_t tid)
{
	u64 i, n = 0, head = ring_head(from);

	for (i = 0; i < head; i++)
		n += ring_sample(from, i)->tid == (u32)tid;
	return n;
}

static u64 children_insns(void)
{
	struct reading r;

	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 0);
	return r.children[1];
}

/* ---- samples --------------------------------------------------------------------- */

static const unsigned long kinds[] = { FORKED, VFORKED, SHARING_MEMORY, THREAD };

START_TEST(every_kind_of_child)
{
	const unsigned long lengths[] = { 1, 500, 505, 20000, 100000 };
	u64 sum = 0;
	unsigned int i;
	pid_t pid;

	make(1024, 1024);
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		pid = start(kinds[_i], lengths[i], NULL, 0);
		if (kinds[_i] == THREAD)
			ck_assert_eventually(!(status_of(fd) & CHILDREN));
		else
			ck_assert_int_eq(wait_for(pid), 0);
		check_samples(kinds[_i] == THREAD ? getpid() : pid, pid, INSNS_CHILD(lengths[i]));
		sum += INSNS_CHILD(lengths[i]);
		ck_assert_uint_eq(children_insns(), sum);
	}
	ck_assert_uint_eq(ring.page->dropped, 0);
}
END_TEST

/*
 * Children that are shorter than a period have samples, as many as their instructions need; of
 * two lengths in turn, both have their share.
 */
START_TEST(shorter_than_a_period)
{
	enum { NR = 400, LONG_PERIOD = 100003 };
	const unsigned long lengths[] = { 10000, 40000 };
	double expected[2] = { 0 };
	u64 nr[2] = { 0 }, sum = 0;
	unsigned int i, k;
	pid_t pid;

	make_ring(fd, 1024, 1024, 1, &ring);
	assert_ok(control_family(LONG_PERIOD, INHERIT | VPERFCTR_CONTROL_SPREAD));
	for (i = 0; i < NR; i++) {
		k = i & 1;
		pid = start(kinds[_i], lengths[k], NULL, 0);
		if (kinds[_i] == THREAD)
			ck_assert_eventually(!(status_of(fd) & CHILDREN));
		else
			ck_assert_int_eq(wait_for(pid), 0);
		expected[k] += INSNS_CHILD(lengths[k]) / (double)LONG_PERIOD;
		nr[k] += samples_of(&ring, pid);
		sum += INSNS_CHILD(lengths[k]);
		ck_assert_uint_eq(children_insns(), sum);
	}
	for (k = 0; k < 2; k++)
		ck_assert_msg(nr[k] > expected[k] - 3 && nr[k] < expected[k] + 3,
			      "%llu samples, not %.1f", nr[k], expected[k]);
	ck_assert_uint_eq(ring.page->dropped, 0);
}
END_TEST

/* Children that run at the same time, on all CPUs, and share a ring. */
START_TEST(many_at_once)
{
	enum { NR = 24 };
	pid_t pid[NR];
	unsigned int i;

	make(8192, 8192);
	for (i = 0; i < NR; i++)
		pid[i] = start(FORKED, 100, futex(), 40000 + 700 * i);
	wake_all(futex());
	for (i = 0; i < NR; i++)
		ck_assert_int_eq(wait_for(pid[i]), 0);
	for (i = 0; i < NR; i++)
		check_samples(pid[i], pid[i], INSNS_CHILD_FUTEX(100, 40000 + 700 * i));
	ck_assert_uint_eq(ring.page->dropped, 0);
}
END_TEST

/* A thousand children that run at the same time: none lacks a sample, none has another's. */
START_TEST(a_thousand_at_once)
{
	enum { NR = 1000 };
	u64 i, head, sum[4 * NR] = { 0 };
	pid_t pid[NR];

	make(16384, 16384);
	for (i = 0; i < NR; i++)
		pid[i] = start(FORKED, 100, futex(), 2000 + 7 * i);
	wake_all(futex());
	for (i = 0; i < NR; i++)
		ck_assert_int_eq(wait_for(pid[i]), 0);
	assert_ok(stop_all(fd));
	head = ring_head(&ring);
	for (i = 0; i < head; i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);
		unsigned int n = s->tid - pid[0];

		if (s->tid == (u32)getpid())
			continue;
		/* The kernel's own threads may have some of the numbers between. */
		ck_assert_uint_lt(n, 4 * NR);
		ck_assert_uint_eq(s->sums[0], sum[n] + PERIOD);
		sum[n] += PERIOD;
	}
	for (i = 0; i < NR; i++)
		ck_assert_uint_eq(sum[pid[i] - pid[0]] / PERIOD,
				  INSNS_CHILD_FUTEX(100, 2000 + 7 * i) / PERIOD);
	ck_assert_uint_eq(ring.page->dropped, 0);
}
END_TEST

/* A full ring counts the samples that it has no room for, of all threads. */
START_TEST(full_ring)
{
	u64 i, head, told = 0, expected = 0;
	pid_t pid[6];

	make(16, 16);
	for (i = 0; i < 6; i++) {
		pid[i] = start(FORKED, 5000 + i, NULL, 0);
		expected += INSNS_CHILD(5000 + i) / PERIOD;
	}
	for (i = 0; i < 6; i++)
		ck_assert_int_eq(wait_for(pid[i]), 0);
	assert_ok(stop_all(fd));
	/* Those of the thread itself, too. */
	expected += count_of(fd) / PERIOD;
	head = ring_head(&ring);
	ck_assert_uint_eq(head, 16);
	ck_assert_uint_eq(head + ring.page->dropped, expected);

	/* Each drop is told once, by the next sample that finds room. */
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)16));
	expected = ring.page->dropped;
	assert_ok(control_family(PERIOD, INHERIT));
	ck_assert_int_eq(wait_for(start(FORKED, 1500, NULL, 0)), 0);
	assert_ok(stop_all(fd));
	for (i = head; i < ring_head(&ring); i++)
		told += ring_sample(&ring, i)->dropped;
	ck_assert_uint_gt(ring_head(&ring), head);
	ck_assert_uint_eq(told, expected);
	ck_assert_uint_eq(ring.page->dropped, expected);
}
END_TEST

/* Passes of a ring that a reader empties: no sample is lost, none is read twice. */
START_TEST(ring_goes_round)
{
	u64 tail = 0, sum[4] = { 0 }, head;
	unsigned int i, left = 4;
	pid_t pid[4];
	int status;

	make(64, 8);
	for (i = 0; i < 4; i++)
		pid[i] = start(FORKED, 200000, NULL, 0);
	while (left) {
		head = ring_head(&ring);
		for (; tail < head; tail++) {
			const struct vperfctr_sample *s = ring_sample(&ring, tail);

			for (i = 0; i < 4; i++) {
				if (s->tid != (u32)pid[i])
					continue;
				ck_assert_uint_gt(s->sums[0], sum[i]);
				sum[i] = s->sums[0];
				ck_assert_uint_eq(sum[i] % PERIOD, 0);
			}
		}
		assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)(head - ring.page->tail)));
		if (waitpid(-1, &status, WNOHANG) > 0)
			left--;
	}
	assert_ok(stop_all(fd));
	ck_assert_uint_eq(ring_head(&ring) + ring.page->dropped,
			  4 * (INSNS_CHILD(200000) / PERIOD) + count_of(fd) / PERIOD);
}
END_TEST

/* Consume all samples.  Return: of how many overflows without a sample they tell. */
static u64 consume_told(u64 *of_cpu)
{
	u64 i, told = 0, tail = ring.page->tail, head = ring_head(&ring);

	for (i = tail; i < head; i++) {
		told += ring_sample(&ring, i)->dropped;
		of_cpu[ring_sample(&ring, i)->cpu & 1]++;
	}
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)(head - tail)));
	return told;
}

/*
 * Threads on all CPUs overflow while the ring is full most of the time, or while the module's
 * limit makes their periods longer.  Each overflow has a sample, or is told by exactly one, which
 * may be another thread's on another CPU.
 */
START_TEST(every_overflow_is_told)
{
	const bool limited = _i;
	u64 told = 0, expected = 0, of_cpu[2] = { 0 };
	unsigned int i, left = 12;
	int status;

	if (limited)
		write_file(MAX_RATE, "2000");
	make(limited ? 4096 : 64, 64);
	for (i = 0; i < left; i++) {
		if (may_choose_cpu())
			pin(i & 1);
		start(FORKED, 500000 + 777 * i, NULL, 0);
		expected += INSNS_CHILD(500000 + 777 * i) / PERIOD;
	}
	while (left) {
		msleep(1);
		told += consume_told(of_cpu);
		while (waitpid(-1, &status, WNOHANG) > 0)
			left--;
	}
	assert_ok(stop_all(fd));
	expected += count_of(fd) / PERIOD;
	ck_assert_uint_eq(ring_head(&ring) + ring.page->dropped, expected);
	ck_assert_uint_ge(ring_head(&ring), limited ? 24 : 128);
	ck_assert_uint_ge(ring.page->dropped, expected / 2);

	/* One more sample tells the last ones.  In another tick of the clock, none is dropped. */
	write_file(MAX_RATE, "0");
	msleep(20);
	expected = ring.page->dropped;
	told += consume_told(of_cpu);
	assert_ok(control_family(PERIOD, INHERIT));
	ck_assert_int_eq(wait_for(start(FORKED, 1500, NULL, 0)), 0);
	assert_ok(stop_all(fd));
	told += consume_told(of_cpu);
	ck_assert_uint_eq(told, expected);
	ck_assert_uint_eq(ring.page->dropped, expected);
	if (may_choose_cpu()) {
		ck_assert_uint_gt(of_cpu[0], 0);
		ck_assert_uint_gt(of_cpu[1], 0);
	}
}
END_TEST

/* A thread of a child, and its child: they are in the family, too. */
START_TEST(generations)
{
	u64 i, head, n = 0;

	make(1024, 1024);
	ck_assert_int_eq(wait_for((pid_t)fork_chain(5, 10000)), 0);
	ck_assert_eventually(!(status_of(fd) & CHILDREN));
	ck_assert_uint_eq(children_insns(), INSNS_CHAIN(5, 10000));
	head = ring_head(&ring);
	for (i = 0; i < head; i++)
		n += ring_sample(&ring, i)->tid != (u32)getpid();
	/* Each generation has 2n instructions and at most 18 more. */
	ck_assert_uint_eq(n, 5 * (20000 / PERIOD));
}
END_TEST

/* With INHERIT_THREADS, other processes make no samples. */
START_TEST(threads_only)
{
	pid_t pid, tid;

	make_ring(fd, 1024, 1024, 1, &ring);
	assert_ok(control_family(PERIOD, INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS));
	pid = start(FORKED, 20000, NULL, 0);
	ck_assert_int_eq(wait_for(pid), 0);
	tid = start(THREAD, 20000, NULL, 0);
	ck_assert_eventually(!(status_of(fd) & CHILDREN));
	check_samples(pid, pid, 0);
	check_samples(getpid(), tid, INSNS_CHILD(20000));
}
END_TEST

/* A child for which there is no state makes no samples, and is counted as missed. */
START_TEST(missed_children)
{
	struct reading r;
	pid_t pid;

	make(1024, 1024);
	write_file(MAX_STATES, "1");
	pid = start(FORKED, 20000, NULL, 0);
	ck_assert_int_eq(wait_for(pid), 0);
	write_file(MAX_STATES, "20000");
	check_samples(pid, pid, 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_uint_eq(r.children[1], 0);
}
END_TEST

/* CONTROL and UNLINK of the root end the sampling of descendants, which run on. */
START_TEST(end_of_sampling)
{
	pid_t pid;

	make(1024, 1024);
	pid = start(FORKED, 20000, futex(), 20000);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	ck_assert_eventually(samples_of(&ring, pid) == INSNS_CHILD_UNTIL_FUTEX(20000) / PERIOD);
	if (_i)
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	else
		assert_ok(stop_all(fd));
	wake_all(futex());
	ck_assert_int_eq(wait_for(pid), 0);
	check_samples(pid, pid, INSNS_CHILD_UNTIL_FUTEX(20000));
}
END_TEST

/* ---- poll ------------------------------------------------------------------------ */

/*
 * Wait in poll(); return its events.  After the time, poll() looks once more.  Events that it
 * finds only then had no wake-up, and do not count.
 */
static short wait_in_poll(int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec start, end;
	int n;

	clock_gettime(CLOCK_MONOTONIC, &start);
	n = poll(&p, 1, ms);
	clock_gettime(CLOCK_MONOTONIC, &end);
	if (ms && (end.tv_sec - start.tv_sec) * 1000 +
		  (end.tv_nsec - start.tv_nsec) / 1000000 >= ms)
		return 0;
	return n < 0 ? -1 : n ? p.revents : 0;
}

/*
 * Let a process count its family and end.  Its child waits for the futex, and makes 11
 * samples then.
 */
static void leave_child(void)
{
	pid_t owner = fork_files();

	if (!owner) {
		close(fd);
		fd = open_state(0);
		make(1024, 1024);
		start(FORKED, 1, futex(), 6000);
		shared->fd = fd;
		shared->size = ring.size;
		_exit(0);
	}
	ck_assert_int_eq(wait_for(owner), 0);
	fd = shared->fd;
	map_ring(fd, shared->size, &ring);
}

static void *wait_for_end(void *arg)
{
	short *events = arg;

	*events = wait_in_poll(30000);
	return NULL;
}

/* Start to wait in poll(), then let the child go on.  Return: the events. */
static short poll_then_wake(void)
{
	pthread_t thread;
	short events = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_end, &events), 0);
	msleep(50);
	ck_assert_int_eq(events, 0);
	wake_all(futex());
	pthread_join(thread, NULL);
	return events;
}

/* A descendant's samples wake the poller, long before its end. */
START_TEST(poll_of_the_family)
{
	pid_t owner = fork_files(), child;

	if (!owner) {
		close(fd);
		fd = open_state(0);
		make(1024, 8);
		child = fork_files();
		if (!child) {
			shared->pid = getpid();
			syscall(SYS_futex, futex(), FUTEX_WAIT, 0, NULL, NULL, 0);
			marked_loop(20000);
			pause();
		}
		while (!shared->pid)
			msleep(1);
		shared->fd = fd;
		shared->size = ring.size;
		_exit(0);
	}
	ck_assert_int_eq(wait_for(owner), 0);
	fd = shared->fd;
	map_ring(fd, shared->size, &ring);
	/* Those of the start.  In futex() the child makes none. */
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)(ring_head(&ring) - ring.page->tail)));
	ck_assert_int_eq(poll_then_wake(), POLLIN);
	ck_assert_int_eq(kill(shared->pid, SIGKILL), 0);
	ck_assert_eventually(wait_in_poll(0) == (POLLIN | POLLHUP));
}
END_TEST

/* Fewer samples than the watermark: the end of the last thread wakes the poller. */
START_TEST(poll_until_the_end)
{
	leave_child();
	ck_assert_int_eq(poll_then_wake(), POLLIN | POLLHUP);
}
END_TEST

/* ---- signals ---------------------------------------------------------------------- */

static __thread int own = -1;

/* Each thread continues its own counters. */
static void on_own_overflow(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	if (own < 0)
		own = open_thread(0, 0);
	__atomic_fetch_add(&shared->signals, 1, __ATOMIC_RELAXED);
	if (si->si_code != SI_PMC_OVF || si->si_pmc_ovf_mask != 1 ||
	    call(own, VPERFCTR_IRESUME, NULL))
		shared->wrong = 1;
}

static void *loop_in_thread(void *arg)
{
	struct reading r;
	u64 *count = arg;

	own = open_thread(0, 0);
	marked_loop(50000);
	read_state(own, &r);
	*count = r.own[1];
	shared->ready++;
	close(own);
	return NULL;
}

/* A signal that is inherited comes to the thread that has overflowed. */
START_TEST(signals)
{
	struct control control;
	pthread_t thread;
	u64 count = 0;
	int i;

	handle(SIGUSR1, on_own_overflow);
	own = fd;
	imode_control(&control, 10000, VPERFCTR_CONTROL_INHERIT);
	control.c.si_signo = SIGUSR1;
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, loop_in_thread, &count), 0);
		pthread_join(thread, NULL);
		ck_assert_uint_ge(count, 100000);
	}
	assert_ok(stop_all(fd));
	ck_assert_uint_eq(shared->wrong, 0);
	/* The loop of each thread is ten periods, and its handlers count, too. */
	ck_assert_uint_ge(shared->signals, 30);
	ck_assert_uint_eq(shared->ready, 3);
}
END_TEST

/* ---- states of their own ----------------------------------------------------------- */

/* A member that gets a control of its own makes samples in its own ring, and only there. */
START_TEST(member_leaves)
{
	struct mapped_ring mine, theirs;
	struct control control;
	struct reading r;
	pid_t pid;

	make(1024, 1024);
	pid = fork_files();
	if (!pid) {
		int member = open_thread(0, 0);
		u64 nr;

		if (member < 0)
			_exit(1);
		/* A ring that the control does not use yet. */
		make_ring(member, 1024, 1024, 1, &mine);
		marked_loop(20000);
		if (ring_head(&mine))
			_exit(2);
		if (set_control(member, imode_control(&control, PERIOD, VPERFCTR_CONTROL_RING)))
			_exit(3);
		map_ring(fd, ring.size, &theirs);
		nr = samples_of(&theirs, getpid());
		marked_loop(20000);
		_exit(ring_head(&mine) < 39 || nr < 39 ||
		      nr != samples_of(&theirs, getpid()) ? 4 : 0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 1);
}
END_TEST

/* ---- sets -------------------------------------------------------------------------- */

static int attach(pid_t pid, u32 flags, u64 period, struct vperfctr_ring *req, int signo)
{
	struct vperfctr_attach a = { .size = sizeof(a), .tid = pid, .ring = (uintptr_t)req };
	struct control control;
	char path[64];
	int err;

	imode_control(&control, period, flags);
	control.c.si_signo = signo;
	a.control = (uintptr_t)&control.c;
	sprintf(path, "/proc/%d/mem", (int)pid);
	a.mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (a.mem_fd < 0)
		die("%s: %s", path, strerror(errno));
	err = call(dev, VPERFCTR_ATTACH, &a);
	close(a.mem_fd);
	return err;
}

static struct vperfctr_ring *ring_request(struct vperfctr_ring *req)
{
	*req = (struct vperfctr_ring) {
		.size = sizeof(*req), .nrsamples = 1024, .watermark = 1, .nrsums = 1,
	};
	return req;
}

/* The threads of a process that runs, and those that they start. */
START_TEST(attached_process)
{
	struct vperfctr_ring req;
	pid_t pid;

	pid = start(FORKED, 100, futex(), 20000);
	msleep(50);
	close(fd);
	fd = attach(pid, _i ? INHERIT : VPERFCTR_CONTROL_RING, PERIOD, ring_request(&req), 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) + 8);
	map_ring(fd, req.map_size, &ring);
	ck_assert_int_eq(wait_in_poll(0), 0);
	assert_errno(call(fd, VPERFCTR_RING, &req), ESRCH);
	wake_all(futex());
	ck_assert_int_eq(wait_in_poll(20000) & POLLIN, POLLIN);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_eventually(wait_in_poll(0) == (POLLIN | POLLHUP));
	check_samples(pid, pid, INSNS_CHILD_FUTEX(100, 20000) - INSNS_CHILD_UNTIL_FUTEX(100));
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)ring_head(&ring)));
	ck_assert_int_eq(wait_in_poll(0), POLLHUP);
}
END_TEST

START_TEST(errors_of_attach)
{
	const u32 with = VPERFCTR_CONTROL_RING;
	struct vperfctr_ring req;
	pid_t pid = start(FORKED, 100, futex(), 100);
	int set;

	assert_errno(attach(pid, 0, PERIOD, NULL, 0), EINVAL);
	assert_errno(attach(pid, with, PERIOD, NULL, 0), EINVAL);
	assert_errno(attach(pid, 0, PERIOD, ring_request(&req), 0), EINVAL);
	assert_errno(attach(pid, 0, PERIOD, NULL, SIGUSR1), EINVAL);
	assert_errno(attach(pid, 0, PERIOD, ring_request(&req), SIGUSR1), EINVAL);
	assert_errno(attach(pid, VPERFCTR_CONTROL_INHERIT, PERIOD, NULL, SIGUSR1), EINVAL);
	assert_errno(attach(pid, with, PERIOD, (void *)8, 0), EFAULT);
	ring_request(&req)->nrsamples = 3;
	assert_errno(attach(pid, with, PERIOD, &req, 0), EINVAL);
	ring_request(&req)->size = 8;
	assert_errno(attach(pid, with, PERIOD, &req, 0), EINVAL);
	set = attach(pid, with, PERIOD, ring_request(&req), 0);
	ck_assert_int_ge(set, 0);
	/* No call before it has left a state behind. */
	assert_errno(attach(pid, with, PERIOD, ring_request(&req), 0), EEXIST);
	close(set);
	wake_all(futex());
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/*
 * An attempt that another user of the counters refuses makes no ring and stops no CPU.  So it
 * uses no budget: with one stop in a second, each attempt would wait for 1.44 s.
 */
START_TEST(refused_attach_is_not_rationed)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 1 << 18, .watermark = 1,
	};
	struct timespec start, end;
	int i, perf;
	pid_t pid;

	perf = other_user_open();
	ck_assert_int_ge(perf, 0);
	write_file(MAX_STOPS, "1");
	pid = fork();
	if (!pid) {
		become(NOBODY);
		prctl(PR_SET_DUMPABLE, 1);
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (i = 0; i < 10; i++) {
			if (attach(getpid(), VPERFCTR_CONTROL_RING, PERIOD, &req, 0) != -EBUSY)
				_exit(1);
		}
		clock_gettime(CLOCK_MONOTONIC, &end);
		_exit(end.tv_sec - start.tv_sec < 7 ? 0 : 2);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	close(perf);
}
END_TEST

/* ---- readers and users that do not behave -------------------------------------------- */

/* A family of all processes that its user may start: see bomb(). */
#define MAX_BOMBS	64

/*
 * Start processes that do the same, until the user may not start another one.  All end
 * only then, so that the limit is reached.
 */
static void bomb(void)
{
	pid_t pid;

	while (!shared->ready) {
		pid = fork();
		if (pid < 0) {
			if (errno != EAGAIN)
				die("fork: %s", strerror(errno));
			shared->ready = 1;
		} else if (!pid) {
			__atomic_fetch_add(&shared->signals, 1, __ATOMIC_RELAXED);
			marked_loop(2000);
		}
	}
	while (wait(NULL) > 0)
		continue;
	if (getpid() != shared->pid)
		_exit(0);
}

/* Return the number of other threads that have samples in the ring. */
static unsigned int sampled_threads(void)
{
	u32 tids[2 * MAX_BOMBS];
	unsigned int nr = 0, j;
	u64 i;

	for (i = 0; i < ring_head(&ring); i++) {
		u32 tid = ring_sample(&ring, i)->tid;

		for (j = 0; j < nr && tids[j] != tid; j++)
			continue;
		if (j == nr && tid != (u32)getpid()) {
			ck_assert_uint_lt(nr, 2 * MAX_BOMBS);
			tids[nr++] = tid;
		}
	}
	return nr;
}

static void count_bomb(u32 nrsamples, bool misses)
{
	struct rlimit limit = { .rlim_cur = MAX_BOMBS, .rlim_max = MAX_BOMBS };
	struct reading r;
	u64 told;

	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &limit), 0);
	become(NOBODY);
	fd = open_state(0);
	make(nrsamples, nrsamples);
	shared->pid = getpid();
	bomb();
	assert_ok(stop_all(fd));
	read_state(fd, &r);
	told = ring_head(&ring) + ring.page->dropped;
	/* More, if one ends before another one looks whether it should. */
	ck_assert_uint_ge(shared->signals, MAX_BOMBS - 1);
	/* Each thread's last period is not complete. */
	ck_assert_uint_le(told, count_of(fd) / PERIOD + r.children[1] / PERIOD);
	ck_assert_uint_ge(told + shared->signals, count_of(fd) / PERIOD + r.children[1] / PERIOD);
	ck_assert_int_eq(!!r.read.children_missed, misses);
	if (nrsamples == 16) {
		ck_assert_uint_eq(ring_head(&ring), 16);
		ck_assert_uint_ge(told, shared->signals * (4000 / PERIOD));
	} else if (misses) {
		/* There are states for ten of them at a time.  Only members miss children. */
		ck_assert_uint_ge(sampled_threads(), 10);
		ck_assert_uint_ge(shared->signals, 10 + r.read.children_missed);
	} else {
		ck_assert_uint_eq(ring.page->dropped, 0);
		ck_assert_uint_eq(sampled_threads(), shared->signals);
	}
}

/* No state is left, and no file but the device. */
static void assert_nothing_held(void)
{
	ck_assert_eventually(module_refs() == 1);
	ck_assert_eventually(counters_free());
}

/*
 * A user's processes, as many as he may have, start all at the same time.  Each has samples,
 * or none is left uncounted if the ring is full, or it is missed if there are no more states.
 */
START_TEST(fork_bomb)
{
	pid_t pid;

	close_state();
	if (_i == 2)
		write_file(MAX_STATES, "11");
	pid = fork();
	if (!pid) {
		count_bomb(_i == 1 ? 16 : 8192, _i == 2);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	assert_nothing_held();
}
END_TEST

/* The reader of an attached process is killed: the process runs on, and nothing is held. */
START_TEST(dead_reader)
{
	struct vperfctr_ring req;
	pid_t pid, reader;

	close_state();
	pid = start(FORKED, 100, futex(), 1000000);
	reader = fork();
	if (!reader) {
		fd = attach(pid, INHERIT, PERIOD, ring_request(&req), 0);
		ck_assert_int_ge(fd, 0);
		map_ring(fd, req.map_size, &ring);
		shared->ready = 1;
		while (ring_head(&ring) < 20)
			msleep(1);
		shared->ready = 2;
		pause();
	}
	ck_assert_eventually(shared->ready == 1);
	if (_i) {	/* while samples are taken */
		wake_all(futex());
		ck_assert_eventually(shared->ready == 2);
	}
	ck_assert_int_eq(kill(reader, SIGKILL), 0);
	ck_assert_int_eq(wait_for(reader), 128 + SIGKILL);
	assert_nothing_held();
	wake_all(futex());
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* A reader is killed while it reads: the next one finds each sample that was not consumed. */
START_TEST(reader_is_replaced)
{
	u64 i, told = 0, expected;
	pid_t pid[3], reader;

	make_ring(fd, 64, 8, 1, &ring);
	reader = fork();
	if (!reader) {
		map_ring(fd, ring.size, &ring);
		for (;;) {
			u64 head = ring_head(&ring);

			for (i = ring.page->tail; i < head; i++)
				told += 1 + ring_sample(&ring, i)->dropped;
			shared->size = told;
			if (call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)(head - ring.page->tail)))
				die("CONSUME: %s", strerror(errno));
			shared->ready = 1;
			if (told > 200)
				pause();
		}
	}
	assert_ok(control_family(PERIOD, INHERIT));
	pid[0] = start(FORKED, 400000, NULL, 0);
	pid[1] = start(FORKED, 300000, NULL, 0);
	ck_assert_eventually(shared->size > 200);
	ck_assert_int_eq(kill(reader, SIGKILL), 0);
	ck_assert_int_eq(wait_for(reader), 128 + SIGKILL);
	/* The reader may have run so late that the others are near their end. */
	pid[2] = start(FORKED, 100000, NULL, 0);
	for (i = 0; i < 3; i++)
		ck_assert_int_eq(wait_for(pid[i]), 0);
	assert_ok(stop_all(fd));
	expected = INSNS_CHILD(400000) / PERIOD + INSNS_CHILD(300000) / PERIOD +
		   INSNS_CHILD(100000) / PERIOD + count_of(fd) / PERIOD;
	ck_assert_uint_eq(ring_head(&ring) - ring.page->tail, 64);
	ck_assert_uint_eq(ring_head(&ring) + ring.page->dropped, expected);
	/* Each drop that was told is one of those counted; the last ones have no sample yet. */
	told = shared->size;
	for (i = ring.page->tail; i < ring_head(&ring); i++)
		told += 1 + ring_sample(&ring, i)->dropped;
	ck_assert_uint_le(told, expected);
	ck_assert_uint_ge(told, ring_head(&ring));
}
END_TEST

/* ---- errors ------------------------------------------------------------------------ */

START_TEST(errors)
{
	struct control control;

	/* No ring. */
	assert_errno(control_family(PERIOD, INHERIT), EINVAL);
	make_ring(fd, 64, 64, 1, &ring);
	/* Neither ring nor signal. */
	assert_errno(control_family(PERIOD, VPERFCTR_CONTROL_INHERIT), EINVAL);
	/* Both. */
	imode_control(&control, PERIOD, INHERIT);
	control.c.si_signo = SIGUSR1;
	assert_errno(set_control(fd, &control), EINVAL);
	assert_ok(control_family(PERIOD, INHERIT));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_unchecked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, every_kind_of_child, 0, 4);
	tcase_add_loop_test(tc, shorter_than_a_period, 0, 4);
	tcase_add_test(tc, many_at_once);
	tcase_add_test(tc, a_thousand_at_once);
	tcase_add_test(tc, full_ring);
	tcase_add_test(tc, ring_goes_round);
	tcase_add_loop_test(tc, every_overflow_is_told, 0, 2);
	tcase_add_test(tc, generations);
	tcase_add_test(tc, threads_only);
	tcase_add_test(tc, missed_children);
	tcase_add_loop_test(tc, end_of_sampling, 0, 2);
	tcase_add_test(tc, poll_of_the_family);
	tcase_add_test(tc, poll_until_the_end);
	tcase_add_test(tc, signals);
	tcase_add_test(tc, member_leaves);
	tcase_add_loop_test(tc, attached_process, 0, 2);
	tcase_add_test(tc, errors_of_attach);
	tcase_add_test(tc, refused_attach_is_not_rationed);
	tcase_add_loop_test(tc, fork_bomb, 0, 3);
	tcase_add_loop_test(tc, dead_reader, 0, 2);
	tcase_add_test(tc, reader_is_replaced);
	tcase_add_test(tc, errors);
}

int main(void)
{
	open_device();
	return run_tests("family-ring", add);
}
