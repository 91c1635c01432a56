// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of libvperfctr with the module, used as a program would use it.  Counts are exact.
 * (tests/unit has tests of all cases with a fake kernel.)
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "common.h"

#define INSTRUCTIONS_USER INSNS_USER

static struct vperfctr *count_self(void)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	vperfctr_control_init(&control, ctr);
	control.kind = info.kind;
	ck_assert_uint_eq(vperfctr_control_add(&control, 0, INSTRUCTIONS_USER), 0);
	ck_assert_uint_eq(vperfctr_control_add(&control, 1, INSTRUCTIONS_USER), 1);
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	return v;
}

static __attribute__((noinline, noclone)) uint64_t region(struct vperfctr *v, unsigned long n)
{
	uint64_t before = 0, after = 0;

	if (vperfctr_read_pmc(v, 0, &before))
		return 0;
	loop(n);
	if (vperfctr_read_pmc(v, 0, &after))
		return 0;
	return after - before;
}

/*
 * The difference of two reads is the same for all counters if the same code reads them:
 * the compiler may order inline copies differently.
 */
static __attribute__((noinline, noclone)) int read_two(struct vperfctr *v, uint64_t *tsc,
						       uint64_t *pmc)
{
	return vperfctr_read(v, tsc, pmc, 2);
}

static __attribute__((noinline, noclone)) int read_four(struct vperfctr *v, uint64_t *pmc)
{
	return vperfctr_read(v, NULL, pmc, 4);
}

/* Two or four, each by inline code for this number. */
static int read_counts(struct vperfctr *v, uint64_t *pmc, unsigned int nr)
{
	return nr == 4 ? read_four(v, pmc) : read_two(v, NULL, pmc);
}

START_TEST(reads)
{
	struct vperfctr *v = count_self();
	uint64_t overhead, tsc, tsc2, pmc[2], pmc2[2], too_many[3];
	struct vperfctr_region r;
	unsigned int i;

	region(v, 1);
	overhead = region(v, 1) - 2;
	ck_assert_uint_lt(overhead, 40 * OVERHEAD_FACTOR);
	for (i = 1; i < 100000; i *= 3)
		ck_assert_uint_eq(region(v, i), 2 * i + overhead);

	ck_assert_int_eq(read_two(v, &tsc, pmc), 0);
	loop(1000);
	ck_assert_int_eq(read_two(v, &tsc2, pmc2), 0);
	ck_assert_uint_gt(tsc2, tsc);
	ck_assert_uint_eq(pmc2[0] - pmc[0], pmc2[1] - pmc[1]);

	/* There is no third counter, to whichever way of reading. */
	ck_assert_int_eq(vperfctr_read_pmc(v, 2, pmc), -EINVAL);
	ck_assert_int_eq(vperfctr_read(v, NULL, too_many, 3), -EINVAL);
	ck_assert_int_eq(vperfctr_region_init(&r, v, 3), -EINVAL);

	/* a suspended state does not count */
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 2), 0);
	loop(1000);
	ck_assert_int_eq(vperfctr_read(v, &tsc2, pmc2, 2), 0);
	ck_assert_uint_eq(tsc, tsc2);
	ck_assert_uint_eq(pmc[0], pmc2[0]);
	ck_assert_uint_eq(pmc[1], pmc2[1]);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	ck_assert_uint_eq(region(v, 10), 20 + overhead);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

/* Return the instructions of one read: from the counter's read to that of the next read. */
static __attribute__((noinline, noclone)) uint64_t instructions_of_read(struct vperfctr *v)
{
	uint64_t first = 0, second = 0;

	if (vperfctr_read(v, NULL, &first, 1) || vperfctr_read(v, NULL, &second, 1))
		return UINT64_MAX;
	return second - first;
}

/* "Reads on other processors" in doc/performance.md has the numbers, READ_INSNS what is allowed. */
START_TEST(short_reads)
{
	struct vperfctr *v = count_self();
	uint64_t n, least = UINT64_MAX;
	unsigned int i;

	if (v->page->cstatus & VPERFCTR_CSTATUS_RDPMC) {
		/* A read that a switch interrupts begins again. */
		for (i = 0; i < 10; i++) {
			n = instructions_of_read(v);
			least = n < least ? n : least;
		}
		printf("a read takes %llu instructions\n", (unsigned long long)least);
		ck_assert_uint_le(least, READ_INSNS);
	}
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
}
END_TEST

/* Reset, and read at once what has been counted since. */
static __attribute__((noinline, noclone)) int reset_and_read(struct vperfctr *v, uint64_t *pmc)
{
	int err = vperfctr_reset(v);

	return err ? err : vperfctr_read(v, NULL, pmc, 2);
}

/* A reset lets the same counters begin at zero, each time at the same instruction. */
START_TEST(resets)
{
	struct vperfctr *v = count_self();
	uint64_t first[2], again[2];

	ck_assert_int_eq(reset_and_read(v, first), 0);
	ck_assert_int_eq(reset_and_read(v, first), 0);
	ck_assert_uint_lt(first[0], 200);
	loop(100000);
	ck_assert_int_eq(reset_and_read(v, again), 0);
	ck_assert_uint_eq(again[0], first[0]);
	ck_assert_uint_eq(again[1], first[1]);
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(reset_and_read(v, again), 0);
	ck_assert_uint_eq(again[0], first[0]);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_reset(v), -EINVAL);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_reset(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

/* A handle without a page reads by system calls, and counts are exact as well. */
START_TEST(reads_without_page)
{
	struct vperfctr *v = count_self(), *slow;
	uint64_t overhead, a, b;

	ck_assert_int_eq(vperfctr_open(&slow, VPERFCTR_OPEN_NOMAP), 0);
	region(slow, 1);
	overhead = region(slow, 1) - 2;
	ck_assert_uint_eq(region(slow, 12345), 24690 + overhead);
	ck_assert_int_eq(vperfctr_read_pmc(slow, 0, &a), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &b), 0);
	ck_assert_uint_gt(b, a);
	vperfctr_close(slow);
	vperfctr_close(v);
}
END_TEST

static void *thread(void *arg)
{
	struct vperfctr *v = count_self();
	uint64_t *overhead = arg;

	region(v, 1);
	*overhead = region(v, 500) - 1000;
	if (vperfctr_unlink(v))
		*overhead = ~0ULL;
	vperfctr_close(v);
	return NULL;
}

START_TEST(threads)
{
	uint64_t overhead[4];
	pthread_t ids[4];
	int i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&ids[i], NULL, thread, &overhead[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(overhead[i], overhead[0]);
	ck_assert_uint_lt(overhead[0], 40 * OVERHEAD_FACTOR);
}
END_TEST

/* ---- by name ------------------------------------------------------------------ */

/* Instructions, the first name, and each of the others have the same count. */
static void check_same(const char *const *names, unsigned int nr)
{
	struct vperfctr_event event[4];
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[4];
	uint64_t before[4], after[4];
	struct vperfctr_why why;
	struct vperfctr *v;
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		ck_assert_msg(!vperfctr_event(&event[i], names[i], &info, &why), "%s", why.text);
	ck_assert_msg(!vperfctr_event_assign(ctr, event, nr, &info, &why), "%s", why.text);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	vperfctr_control_init(&control, ctr);
	control.nractrs = nr;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	err = read_counts(v, before, nr);
	loop(100000);
	err |= read_counts(v, after, nr);
	ck_assert_int_eq(err, 0);
	ck_assert_uint_gt(after[0] - before[0], 200000);
	ck_assert_uint_lt(after[0] - before[0], 200000 + 100 * OVERHEAD_FACTOR);
	for (i = 1; i < nr; i++) {
		/* In the emulator cycles depend on virtual time: they are not instructions. */
		if (!strncmp(names[i], "cycles", 6))
			ck_assert_uint_gt(after[i] - before[i], 100000);
		else
			ck_assert_uint_eq(after[i] - before[i], after[0] - before[0]);
	}
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
}

START_TEST(by_name)
{
	char libpfm[64];
	const char *const names[] = { INSNS_RAW ":u", libpfm, "instructions:u", "cycles:u" };
	unsigned int i;

	snprintf(libpfm, sizeof(libpfm), "%s:u", INSNS_NAME);
	if (nr_general() + nr_fixed() >= 4) {
		check_same(names, 4);
		return;
	}
	for (i = 1; i < 4; i++) {
		const char *const pair[] = { names[0], names[i] };

		check_same(pair, 2);
	}
}
END_TEST

/* doc/examples/first.c, which README quotes, counts a loop of a thousand rounds. */
START_TEST(first_example)
{
	char path[PATH_MAX], *slash;
	unsigned long counted = 0;
	FILE *output;

	ck_assert_int_gt(readlink("/proc/self/exe", memset(path, 0, sizeof(path)), sizeof(path) - 32), 0);
	slash = strrchr(path, '/');
	strcpy(slash + 1, "example_first");
	output = popen(path, "r");
	ck_assert_int_eq(fscanf(output, "%lu instructions", &counted), 1);
	ck_assert_int_eq(pclose(output), 0);
	ck_assert_uint_gt(counted, 3000);
	ck_assert_uint_lt(counted, 12000);
}
END_TEST

/* ---- another thread's handle ------------------------------------------------------ */

#define TRIES	20000

static struct vperfctr *shared;
static volatile int begun, done;

static void *use_handle(void *arg)
{
	unsigned int *wrong = arg, i;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS };
	uint64_t value, pmc[2];

	if (may_choose_cpu())
		pin(1);
	begun = 1;
	for (i = 0; i < TRIES; i++)
		*wrong += vperfctr_read_pmc(shared, 0, &value) != -EPERM ||
			  vperfctr_read(shared, NULL, pmc, 2) != -EPERM ||
			  vperfctr_read(shared, &value, pmc, 2) != -EPERM ||
			  vperfctr_read_tsc(shared, &value) != -EPERM ||
			  vperfctr_read(shared, NULL, NULL, 0) != -EPERM;
	*wrong += vperfctr_read_soft(shared, VPERFCTR_SOFT_TASK_CLOCK, &value) != -EPERM;
	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, 0, INSTRUCTIONS_USER);
	*wrong += vperfctr_control(shared, &control) != -EPERM;
	*wrong += vperfctr_stop(shared) != -EPERM;
	*wrong += vperfctr_suspend(shared) != -EPERM;
	*wrong += vperfctr_resume(shared) != -EPERM;
	*wrong += vperfctr_iresume(shared) != -EPERM;
	*wrong += vperfctr_unlink(shared) != -EPERM;
	/* The kernel reads the right values for any thread. */
	*wrong += vperfctr_read_state(shared, &read) != 0;
	/* Another thread cannot map the page by the descriptor either. */
	{
		int fd = dup(vperfctr_fd(shared));
		struct vperfctr *mine;

		*wrong += vperfctr_open_fd(&mine, fd, VPERFCTR_FD_MAP) != -EPERM;
		close(fd);
	}
	done = 1;
	return NULL;
}

/* With more than one CPU the owner runs meanwhile, and its page has RUNNING. */
START_TEST(handle_in_other_thread)
{
	unsigned int wrong = 0;
	uint64_t value;
	pthread_t id;

	if (may_choose_cpu())
		pin(0);
	shared = count_self();
	ck_assert_int_eq(pthread_create(&id, NULL, use_handle, &wrong), 0);
	while (!done)
		if (begun)
			ck_assert_int_eq(vperfctr_read_pmc(shared, 0, &value), 0);
	pthread_join(id, NULL);
	ck_assert_uint_eq(wrong, 0);
	ck_assert_int_eq(vperfctr_unlink(shared), 0);
	vperfctr_close(shared);
}
END_TEST

/* ---- a handle whose thread has ended, or that a fork has copied ------------------------- */

static int closed[2], end[2];		/* pipes of closed_in_child */

/* The thread's last read, and its number. */
static uint64_t last[2];
static uintptr_t ended;

static void *end_soon(void *arg)
{
	(void)arg;
	shared = count_self();
	ended = __vperfctr_thread();
	loop(1000);
	return vperfctr_read(shared, NULL, last, 2) ? shared : NULL;
}

static void *read_ended(void *arg)
{
	uint64_t *pmc = arg;

	/* The test needs a thread with the same control block as the one that has ended. */
	return __vperfctr_thread() != ended || vperfctr_read(shared, NULL, pmc, 2) ? shared : NULL;
}

/* Any thread reads the last sums of a thread that has ended, also one that has its number. */
START_TEST(thread_ended)
{
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS };
	uint64_t tsc, pmc[2], again[2], one, sums[1 + VPERFCTR_MAX_CTRS];
	unsigned int tries = 0;
	pthread_t id;
	void *failed;
	int ret;

	ck_assert_int_eq(pthread_create(&id, NULL, end_soon, NULL), 0);
	pthread_join(id, &failed);
	ck_assert_ptr_null(failed);
	/* pthread_join() can return a moment before the thread has ended. */
	do {
		ret = vperfctr_read(shared, &tsc, pmc, 2);
		usleep(1000);
	} while (ret == -EPERM && ++tries < 100);
	ck_assert_int_eq(ret, 0);
	ck_assert_uint_ge(pmc[0], last[0]);
	ck_assert_int_eq(vperfctr_read_pmc(shared, 1, &one), 0);
	ck_assert_uint_eq(one, pmc[1]);
	read.sums = (uintptr_t)sums;
	ck_assert_int_eq(vperfctr_read_state(shared, &read), 0);
	ck_assert_uint_eq(sums[0], tsc);
	ck_assert_uint_eq(sums[1], pmc[0]);
	ck_assert_uint_eq(sums[2], pmc[1]);

	ck_assert_int_eq(pthread_create(&id, NULL, read_ended, again), 0);
	pthread_join(id, &failed);
	ck_assert_ptr_null(failed);
	ck_assert_uint_eq(again[0], pmc[0]);
	ck_assert_uint_eq(again[1], pmc[1]);
	vperfctr_close(shared);
}
END_TEST

static pid_t parent;

/* Run fn in a child.  Returns its wait status. */
static int child(struct vperfctr *v, void (*fn)(struct vperfctr *v))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* Remove libcheck's handler. */
		signal(SIGSEGV, SIG_DFL);
		fn(v);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

/* A child cannot read by its parent's handle. */
static void read_mapped(struct vperfctr *v)
{
	uint64_t value = 42, tsc = 43, pmc[2];
	struct vperfctr_region region;
	int i;

	for (i = 0; i < 100; i++) {
		if (vperfctr_read_pmc(v, 0, &value) != -EPERM)
			_exit(1);
		if (vperfctr_read_tsc(v, &tsc) != -EPERM)
			_exit(2);
		if (vperfctr_read(v, NULL, pmc, 2) != -EPERM || vperfctr_read(v, &tsc, pmc, 2) != -EPERM ||
		    vperfctr_read(v, &tsc, NULL, 0) != -EPERM ||
		    vperfctr_read(v, NULL, NULL, 0) != -EPERM ||
		    vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value) != -EPERM)
			_exit(3);
		if (vperfctr_region_init(&region, v, 2) != -EPERM)
			_exit(4);
	}
	if (value != 42 || tsc != 43)
		_exit(5);
	/* The same in a grandchild. */
	if (i == 100 && getppid() == parent && child(v, read_mapped))
		_exit(6);
}

/* After the parent has unlinked the state, a child reads the last sums. */
static void read_last(struct vperfctr *v)
{
	uint64_t value;

	if (vperfctr_read_pmc(v, 0, &value) || value < last[0])
		_exit(1);
}

/* Without a page a child reads the parent's sums, which do not change while it waits. */
static void read_parent(struct vperfctr *v)
{
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS };
	uint64_t a, b;

	usleep(20000);
	if (vperfctr_read_pmc(v, 0, &a) || a < last[0])
		_exit(1);
	loop(1000);
	if (vperfctr_read_pmc(v, 0, &b) || b != a)
		_exit(2);
	if (vperfctr_read_state(v, &read) || vperfctr_stop(v) != -EPERM)
		_exit(3);
	vperfctr_close(v);
}

/* A child closes the parent's handle and counts itself. */
static void count_child(struct vperfctr *v)
{
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS };
	uint64_t value;

	if (vperfctr_read_state(v, &read))
		_exit(1);
	vperfctr_close(v);
	v = count_self();
	if (vperfctr_read_pmc(v, 0, &value) || value >= last[0])
		_exit(2);
	vperfctr_unlink(v);
	vperfctr_close(v);
}

START_TEST(handle_in_forked_child)
{
	struct vperfctr *v = count_self(), *slow;
	uint64_t value;

	parent = getpid();
	loop(100000);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, last), 0);
	ck_assert_int_eq(child(v, read_mapped), 0);
	ck_assert_int_eq(child(v, count_child), 0);

	ck_assert_int_eq(vperfctr_open(&slow, VPERFCTR_OPEN_NOMAP), 0);
	ck_assert_int_eq(child(slow, read_parent), 0);
	vperfctr_close(slow);
	/* The children have not changed the parent's state. */
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_gt(value, last[0]);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(child(v, read_last), 0);
	vperfctr_close(v);
}
END_TEST

/* A child that has closed the parent's handle does not keep a transient state alive. */
static void close_and_wait(struct vperfctr *v)
{
	char byte;

	vperfctr_close(v);
	if (write(closed[1], "", 1) != 1 || read(end[0], &byte, 1) != 1)
		_exit(1);
}

START_TEST(closed_in_child)
{
	struct vperfctr *v, *again;
	int status;
	pid_t pid;
	char byte;

	ck_assert_int_eq(pipe(closed), 0);
	ck_assert_int_eq(pipe(end), 0);
	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT), 0);
	pid = fork();
	if (!pid) {
		close_and_wait(v);
		_exit(0);
	}
	ck_assert_int_eq(read(closed[0], &byte, 1), 1);
	vperfctr_close(v);
	/* The state has ended with this close: the thread can have another one. */
	ck_assert_int_eq(vperfctr_open(&again, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT), 0);
	vperfctr_close(again);
	ck_assert_int_eq(write(end[1], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- a running process ---------------------------------------------------------- */

static void *outlive_first_thread(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int attach_to(struct vperfctr **v, pid_t pid, unsigned int flags, unsigned int *nr)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];

	vperfctr_control_init(&control, ctr);
	control.kind = info.kind;
	vperfctr_control_add(&control, 0, INSTRUCTIONS_USER);
	return vperfctr_attach(v, pid, &control, nr, flags);
}

/* _i: the first thread of the process has ended. */
START_TEST(attach_to_process)
{
	uint64_t sums[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read request = { .nrctrs = VPERFCTR_MAX_CTRS };
	struct vperfctr *v, *again;
	struct stat device;
	unsigned int nr = 0;
	pid_t pid = fork();
	pthread_t thread;

	if (!pid) {
		if (pthread_create(&thread, NULL, outlive_first_thread, NULL))
			_exit(1);
		if (_i)
			pthread_exit(NULL);
		for (;;)
			;
	}
	msleep(200);
	ck_assert_int_eq(attach_to(&v, pid, 0, &nr), 0);
	ck_assert_uint_eq(nr, 2 - _i);
	ck_assert_int_eq(attach_to(&again, pid, 0, NULL), -EEXIST);
	ck_assert_ptr_null(again);
	msleep(20);
	request.children = (uintptr_t)sums;
	request.flags = VPERFCTR_READ_MEMBERS;
	ck_assert_int_eq(vperfctr_read_state(v, &request), 0);
	ck_assert_uint_eq(request.nrctrs, 1);
	ck_assert_uint_eq(request.children_missed, 0);
	ck_assert_int_eq(sums[1] > 1000, !_i);
	vperfctr_close(v);
	if (_i)
		ck_assert_int_eq(attach_to(&v, pid, VPERFCTR_ATTACH_THREAD, &nr), -ESRCH);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_int_eq(attach_to(&v, pid, 0, &nr), -ESRCH);
	ck_assert_int_eq(attach_to(&v, 0, 16, &nr), -EINVAL);
	/* The caller itself, and a kernel thread. */
	ck_assert_int_eq(attach_to(&v, 0, VPERFCTR_ATTACH_THREAD, &nr), 0);
	ck_assert_uint_eq(nr, 1);
	vperfctr_close(v);
	ck_assert_int_eq(attach_to(&v, 2, 0, &nr), -ESRCH);
	ck_assert_int_eq(stat("/dev/vperfctr", &device), 0);
	ck_assert_int_eq(chmod("/dev/vperfctr", 0666), 0);
	pid = fork();
	if (!pid)
		_exit(setresuid(NOBODY, NOBODY, NOBODY) ? 0 : -attach_to(&v, 1, 0, &nr));
	ck_assert_int_eq(wait_for(pid), EPERM);
	ck_assert_int_eq(chmod("/dev/vperfctr", device.st_mode & 0777), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lib");
	TCase *tcase = tcase_create("lib"), *foreign_case = tcase_create("foreign");
	SRunner *runner = srunner_create(suite);

	open_device();	/* for `info`, which says what counts instructions */
	tcase_set_timeout(tcase, 50);
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, reads);
	tcase_add_test(tcase, short_reads);
	tcase_add_test(tcase, resets);
	tcase_add_test(tcase, reads_without_page);
	tcase_add_test(tcase, threads);
	if (info.nrkinds < 2) {	/* Debian 12's libpfm4 does not know these */
		tcase_add_test(tcase, by_name);
		tcase_add_test(tcase, first_example);
	}
	tcase_add_test(tcase, thread_ended);
	tcase_add_test(tcase, handle_in_forked_child);
	tcase_add_test(tcase, closed_in_child);
	tcase_add_loop_test(tcase, attach_to_process, 0, 2);
	suite_add_tcase(suite, foreign_case);
	tcase_set_timeout(foreign_case, 100);
	tcase_add_test(foreign_case, handle_in_other_thread);
	srunner_run_all(runner, CK_NORMAL);
	return srunner_ntests_failed(runner) ? EXIT_FAILURE : EXIT_SUCCESS;
}
