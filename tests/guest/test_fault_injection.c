// SPDX-License-Identifier: GPL-2.0
/*
 * Make every allocation, and every copy from and to user space, of a call fail once: the
 * first one, then the second, and so on until no more fail.  The error must be a proper
 * one, nothing may have changed, and the same call must then succeed.
 *
 * Needs a kernel with fault injection (/proc/PID/fail-nth).
 */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define FAULTS	"/sys/kernel/debug/"

/* More than the allocations and copies of any call. */
#define MAX_NTH	2000

static int fail_nth_fd = -1;

static void init_faults(void)
{
	static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char path[100];
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		/* Without messages: the log is checked for complaints. */
		snprintf(path, sizeof(path), FAULTS "%s/verbose", kinds[i]);
		write_file(path, "0");
	}
	write_file(FAULTS "failslab/ignore-gfp-wait", "N");
	write_file(FAULTS "fail_page_alloc/ignore-gfp-wait", "N");
	write_file(FAULTS "fail_page_alloc/min-order", "0");
}

/* Make the nth operation of the calling thread that can fail do so. */
static void fail_nth(unsigned int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fail_nth_fd, text, n, 0) != n)
		die("fail-nth: %m");
}

/* Return true if it has failed; otherwise the call has fewer such operations. */
static bool has_failed(void)
{
	char text[16] = "";

	/* This copy to user space may be the one that fails. */
	if (pread(fail_nth_fd, text, sizeof(text) - 1, 0) <= 0)
		return false;
	if (!atoi(text))
		return true;
	/* Or this copy from user space: it ends the injection, too. */
	if (pwrite(fail_nth_fd, "0", 1, 0) != 1 && errno != EFAULT)
		die("fail-nth: %m");
	return false;
}

/* ---- the calls -------------------------------------------------------------------- */

static int fd;
static pid_t traced;
static struct control control, other;
static void *mapping;

static void init_controls(u32 flags)
{
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	control.c.flags = flags;
	control_init(&other, 0);
	control_add(&other, 0, CYCLES_USER);
}

/* Check that 2n instructions, and few others, are counted. */
static void check_counts(void)
{
	struct sums before, after;

	read_sums(fd, &before);
	loop(50000);
	read_sums(fd, &after);
	if (after.pmc[0] - before.pmc[0] - 100000 > 1000)
		die("counted %llu, not 100000", after.pmc[0] - before.pmc[0]);
}

static void nothing(void)
{
}

static int try_info(void)
{
	struct vperfctr_info i = { .size = sizeof(i) };

	return call(dev, VPERFCTR_INFO, &i);
}

static int try_info_of_state(void)
{
	struct vperfctr_info i = { .size = sizeof(i) };

	return call(fd, VPERFCTR_INFO, &i);
}

static int try_cpus(void)
{
	struct { u32 size, nrwords, mask[8]; } m = { .size = 8, .nrwords = 8 };

	return call(dev, VPERFCTR_CPUS, &m);
}

static int try_open(void)
{
	fd = try_open_state(VPERFCTR_OPEN_CREAT);
	return fd < 0 ? fd : 0;
}

static void opened(void)
{
	if (set_control(fd, &control))
		die("CONTROL after OPEN");
	check_counts();
}

static void open_before(void)
{
	fd = open_state(0);
}

static int try_find(void)
{
	int again = try_open_state(0);

	if (again < 0)
		return again;
	close(again);
	return 0;
}

static int try_control(void)
{
	return set_control(fd, &control);
}

static void count_before(void)
{
	open_before();
	if (set_control(fd, &control))
		die("CONTROL");
}

/* Set another control, and then the old one again. */
static int try_other(void)
{
	return set_control(fd, &other);
}

static void other_is_there(void)
{
	if (set_control(fd, &control))
		die("CONTROL again");
	check_counts();
}

static int try_read(void)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_control c = {
		.size = sizeof(c), .ctr_size = sizeof(ctr[0]), .ctr = (uintptr_t)ctr,
	};
	u64 sums[2][1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read read = {
		.size = sizeof(read), .nrctrs = VPERFCTR_MAX_CTRS, .sums = (uintptr_t)sums[0],
		.children = (uintptr_t)sums[1], .control = (uintptr_t)&c,
	};

	return call(fd, VPERFCTR_READ, &read);
}

static int try_mmap(void)
{
	mapping = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return mapping == MAP_FAILED ? -errno : 0;
}

static void mapped(void)
{
	self_read(mapping, 0);
	check_counts();
	munmap(mapping, PAGE);
}

static void map_before(void)
{
	count_before();
	mapping = (void *)map_state(fd);
}

static int try_mremap(void)
{
	void *to = mremap(mapping, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
			  (char *)0x10000000);

	if (to == MAP_FAILED)
		return -errno;
	mapping = to;
	return 0;
}

static void inherit_before(void)
{
	init_controls(VPERFCTR_CONTROL_INHERIT);
	count_before();
}

/* A child is counted, or missed, or was not made: there is no fourth case. */
static int try_fork(void)
{
	pid_t pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		return -errno;
	if (!pid) {
		loop(1000);
		_exit(0);
	}
	return wait_for(pid);
}

static void forked(void)
{
	u64 sums[1 + VPERFCTR_MAX_CTRS] = { 0 };
	struct vperfctr_read read = {
		.size = sizeof(read), .nrctrs = VPERFCTR_MAX_CTRS, .children = (uintptr_t)sums,
	};

	if (call(fd, VPERFCTR_READ, &read))
		die("READ");
	if (read.status & VPERFCTR_STATUS_CHILDREN)
		die("a child still counts");
	if (sums[1] < 2000 && !read.children_missed)
		die("the child counted %llu, and none was missed", sums[1]);
	check_counts();
}

static void trace_before(void)
{
	traced = fork();
	if (!traced) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	waitpid(traced, NULL, 0);
}

static int try_open_traced(void)
{
	struct vperfctr_open req = {
		.size = sizeof(req), .tid = traced, .flags = VPERFCTR_OPEN_CREAT,
	};

	fd = call(dev, VPERFCTR_OPEN, &req);
	return fd < 0 ? fd : 0;
}

static void open_traced_before(void)
{
	trace_before();
	if (try_open_traced())
		die("OPEN of another thread");
}

static void trace_after(void)
{
	kill(traced, SIGKILL);
	wait_for(traced);
}

/* A small ring, with this many samples. */
static struct vperfctr_ring ring;

static int try_ring(void)
{
	ring = (struct vperfctr_ring) {
		.size = sizeof(ring), .nrsamples = 1024, .watermark = 1, .nrsums = 1,
	};
	return call(fd, VPERFCTR_RING, &ring);
}

static void ring_before(void)
{
	count_before();
	if (try_ring())
		die("RING");
}

static int try_map_ring(void)
{
	void *p = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, ring.map_size);
	return 0;
}

static int try_fdinfo(void)
{
	char path[64], text[1000];
	int f, n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = open(path, O_RDONLY);
	if (f < 0)
		return -errno;
	n = read(f, text, sizeof(text));
	close(f);
	return n < 0 ? -errno : 0;
}

static const struct injected {
	const char *name;
	void (*before)(void);
	int (*try)(void);
	void (*after)(void);	/* called when the call has succeeded */
	unsigned int least;	/* number of allocations and copies */
	bool counts;		/* the state counts, also after a failure */
	bool pcint;		/* only with FEATURE_PCINT */
} injected[] = {
	{ "INFO", nothing, try_info, nothing, 1, false, false },
	{ "CPUS", nothing, try_cpus, nothing, 0, false, false },
	{ "OPEN", nothing, try_open, opened, 4, false, false },
	{ "OPEN again", open_before, try_find, nothing, 2, false, false },
	{ "first CONTROL", open_before, try_control, check_counts, 2, false, false },
	{ "another CONTROL", count_before, try_other, other_is_there, 2, true, false },
	{ "INFO of a state", count_before, try_info_of_state, check_counts, 1, true, false },
	{ "READ", count_before, try_read, check_counts, 5, true, false },
	{ "mmap", count_before, try_mmap, mapped, 2, true, false },
	{ "mremap", map_before, try_mremap, mapped, 1, true, false },
	{ "fork", inherit_before, try_fork, forked, 5, true, false },
	{ "fdinfo", count_before, try_fdinfo, check_counts, 1, true, false },
	{ "a monitor's OPEN", trace_before, try_open_traced, trace_after, 4, false, false },
	{ "a monitor's CONTROL", open_traced_before, try_control, trace_after, 2, false, false },
	{ "RING", count_before, try_ring, check_counts, 3, true, true },
	{ "a mapping of the ring", ring_before, try_map_ring, check_counts, 2, true, true },
};

/*
 * True if the error is one of resources or of access.  For a lack of resources, fork
 * returns EAGAIN, and a look into /proc ENOENT.
 */
static bool is_clean(int err)
{
	return err == -ENOMEM || err == -EFAULT || err == -EAGAIN || err == -ENFILE ||
	       err == -ENOENT;
}

/* Run in a process of its own; return true if the nth operation has failed. */
static bool inject(const struct injected *in, unsigned int nth)
{
	int lowest, err;
	bool failed;

	in->before();
	lowest = dup(0);
	close(lowest);
	fail_nth(nth);
	err = in->try();
	failed = has_failed();
	if (err && !failed)
		die("%s: %s though nothing failed", in->name, strerror(-err));
	if (err && !is_clean(err))
		die("%s, failure %u: %s", in->name, nth, strerror(-err));
	if (err) {
		int free = dup(0);

		if (free != lowest)
			die("%s, %u: descriptor %d is taken", in->name, nth, lowest);
		close(free);
		if (in->counts)
			check_counts();
		err = in->try();
		if (err)
			die("%s, %u: %s at the second try", in->name, nth, strerror(-err));
	}
	in->after();
	return failed;
}

START_TEST(each_failure_is_clean)
{
	const struct injected *in = &injected[_i];
	unsigned int nth;

	if (in->pcint && !(info.features & VPERFCTR_FEATURE_PCINT))
		return;
	init_controls(0);
	for (nth = 1; nth < MAX_NTH; nth++) {
		pid_t pid = fork();
		int status;

		if (!pid) {
			fail_nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
			_exit(inject(in, nth) ? 1 : 0);
		}
		status = wait_for(pid);
		ck_assert_msg(status <= 1, "%s, %u: status %d", in->name, nth, status);
		if (!status)
			break;
	}
	printf("%s: %u failed\n", in->name, nth - 1);
	ck_assert_uint_gt(nth, in->least);
	ck_assert_uint_lt(nth, MAX_NTH);
}
END_TEST

static void add(TCase *tc)
{
	tcase_set_timeout(tc, 1000);
	tcase_add_loop_test(tc, each_failure_is_clean, 0, sizeof(injected) / sizeof(injected[0]));
}

int main(void)
{
	open_device();
	init_faults();
	return run_tests("fault_injection", add);
}
