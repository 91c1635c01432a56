// SPDX-License-Identifier: GPL-2.0
/*
 * The state of another thread: by monitors, which have its owner stopped under ptrace,
 * and by holders of a descriptor.  Counts must be exact, on any number of CPUs.  This
 * needs virtual time, where time is instructions.
 */
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "known.h"
#include "random.h"
#include "service.h"

/* A state that ends with its last descriptor. */
#define MAKE	(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT)

static char known[256];

/* In memory that all processes share. */
static volatile struct {
	unsigned long n[8];		/* loop length of targets from stop to stop */
	pid_t tid[8];
	u32 go, step;
	int fd;
	u64 value;
} *shared;

static void setup(void)
{
	settle();
	shared = shared_memory(PAGE);
	shared->n[0] = 1000;
}

/* ---- targets -------------------------------------------------------------------- */

static void wait_stopped(pid_t tid)
{
	int status;

	if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		die("the target ended with %#x, or %s", status, strerror(errno));
}

/* Start a child that stops again and again, and dies with its parent. */
static pid_t start_target(void)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		stop_for_ever(getpid(), getpid(), shared->n);
	}
	wait_stopped(pid);
	if (ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL))
		die("PTRACE_SETOPTIONS: %s", strerror(errno));
	return pid;
}

static void run(pid_t tid)
{
	if (ptrace(PTRACE_CONT, tid, 0, 0))
		die("PTRACE_CONT: %s", strerror(errno));
}

static void kill_target(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
}

static int open_target(pid_t tid, u32 flags)
{
	int fd = open_thread(tid, flags);

	if (fd < 0)
		die("OPEN of %d: %s", tid, strerror(-fd));
	return fd;
}

/* Count from this stop to the next. */
static u64 measure(int fd, pid_t tid)
{
	u64 before = count_of(fd);

	run(tid);
	wait_stopped(tid);
	return count_of(fd) - before;
}

#define child_assert(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "line %d: false: %s\n", __LINE__, #condition); \
		_exit(1);						\
	}								\
} while (0)

/* ---- counts ---------------------------------------------------------------------- */

static void check_exact(void)
{
	const unsigned long lengths[] = { 1, 2, 77, 5000, 1000000 };
	pid_t pid = start_target();
	int fd = open_target(pid, MAKE);
	struct reading r;
	u64 total = 0;
	unsigned int i;

	assert_status(fd, ATTACHED);
	assert_ok(count_insns(fd, 0));
	assert_status(fd, ATTACHED | ACTIVE);
	for (i = 0; i < 5; i++) {
		shared->n[0] = lengths[i];
		ck_assert_uint_eq(measure(fd, pid), INSNS_STOP(lengths[i]));
		total += INSNS_STOP(lengths[i]);
		ck_assert_uint_eq(count_of(fd), total);
	}
	shared->n[0] = 300;
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_status(fd, ATTACHED | ACTIVE | SUSPENDED);
	ck_assert_uint_eq(measure(fd, pid), 0);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_eq(measure(fd, pid), INSNS_STOP(300));
	assert_ok(stop_all(fd));
	assert_status(fd, ATTACHED);
	ck_assert_uint_eq(measure(fd, pid), 0);
	ck_assert_uint_eq(count_of(fd), total + INSNS_STOP(300));
	assert_errno(call(fd, VPERFCTR_SUSPEND, NULL), EINVAL);
	assert_errno(call(fd, VPERFCTR_RESUME, NULL), EINVAL);

	assert_ok(count_insns(fd, 0));
	ck_assert_uint_eq(count_of(fd), 0);
	ck_assert_uint_eq(measure(fd, pid), INSNS_STOP(300));
	read_state(fd, &r);
	ck_assert_uint_ge(r.own[0], tsc_of(INSNS_STOP(300)));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_status(fd, 0);
	ck_assert_uint_eq(measure(fd, pid), 0);
	ck_assert_uint_eq(count_of(fd), INSNS_STOP(300));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_errno(call(fd, VPERFCTR_RESUME, NULL), ESRCH);
	assert_errno(open_thread(pid, 0), ENOENT);
	/* Only root may ask perf. */
	ck_assert(getuid() || counters_free());
	close(fd);
	kill_target(pid);
}

START_TEST(exact_counts_of_target)
{
	check_exact();
}
END_TEST

/* A monitor needs no privilege that ptrace does not need. */
START_TEST(exact_counts_without_privilege)
{
	become(NOBODY);
	prctl(PR_SET_DUMPABLE, 1);
	check_exact();
}
END_TEST

/* A monitor can replace the target's own control, and the target notices. */
START_TEST(monitor_changes_found_state)
{
	struct reading r;
	pid_t pid = fork();
	int fd;

	if (!pid) {
		fd = open_state(0);
		child_assert(!count_insns(fd, 0));
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		child_assert(status_of(fd) == (ATTACHED | ACTIVE | SUSPENDED));
		child_assert(count_of(fd) == 0);
		child_assert(!call(fd, VPERFCTR_RESUME, NULL));
		loop(1000);
		child_assert(count_of(fd) > 2000);
		raise(SIGSTOP);
		child_assert(status_of(fd) == 0);
		child_assert(call(fd, VPERFCTR_SUSPEND, NULL) == -ESRCH);
		child_assert(open_thread(0, 0) == -ENOENT);
		_exit(0);
	}
	wait_stopped(pid);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), EEXIST);
	fd = open_target(pid, 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE);
	ck_assert_uint_gt(r.own[1], 0);
	assert_ok(count_insns(fd, 0));
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	run(pid);
	wait_stopped(pid);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	run(pid);
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

static int count_kernel(int fd, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_BOTH);
	control.c.flags = flags;
	return set_control(fd, &control);
}

/* A thread sees no count of another user's monitor, of the kernel or not, nor do its children. */
START_TEST(kernel_count_is_hidden)
{
	u32 inherit = has(VPERFCTR_FEATURE_INHERIT) ? VPERFCTR_CONTROL_INHERIT : 0;
	pid_t pid = fork();
	sigset_t chld;
	int fd;

	if (!pid) {
		become(NOBODY);
		/* The child's end must not add a stop. */
		sigemptyset(&chld);
		sigaddset(&chld, SIGCHLD);
		sigprocmask(SIG_BLOCK, &chld, NULL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		child_assert(open_thread(0, 0) == -EPERM);
		child_assert(open_thread(0, VPERFCTR_OPEN_CREAT) == -EEXIST);
		pid = fork();
		if (!pid) {
			child_assert(open_thread(0, 0) == (inherit ? -EPERM : -ENOENT));
			_exit(0);
		}
		child_assert(wait_for(pid) == 0);
		/* Stopped for good, but the sums can still be read. */
		raise(SIGSTOP);
		child_assert(open_thread(0, 0) == -EPERM);
		raise(SIGSTOP);
		child_assert(open_thread(0, 0) == -EPERM);
		_exit(0);
	}
	wait_stopped(pid);
	fd = open_target(pid, MAKE);
	assert_ok(count_kernel(fd, inherit));
	run(pid);
	wait_stopped(pid);
	ck_assert_uint_gt(count_of(fd), 1000);
	assert_ok(stop_all(fd));
	run(pid);
	wait_stopped(pid);
	assert_ok(count_insns(fd, 0));
	run(pid);
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* Nor does a monitor that must not: this thread gives up its rights after its CONTROL. */
START_TEST(kernel_count_is_hidden_from_monitor)
{
	pid_t pid, target = fork();
	int fd;

	if (!target) {
		fd = open_state(0);
		child_assert(!count_kernel(fd, 0));
		become(NOBODY);
		prctl(PR_SET_DUMPABLE, 1);
		/* It still sees its own state's count. */
		child_assert(count_of(fd) > 0);
		shared->go = 1;
		for (;;)
			pause();
	}
	while (!shared->go)
		msleep(1);
	pid = fork();
	if (!pid) {
		if (!_i)
			become(NOBODY);
		child_assert(!ptrace(PTRACE_ATTACH, target, 0, 0));
		wait_stopped(target);
		fd = open_thread(target, 0);
		child_assert(_i ? fd >= 0 : fd == -EPERM);
		child_assert(open_thread(target, VPERFCTR_OPEN_CREAT) == -EEXIST);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	kill_target(target);
}
END_TEST

/* The page shows the sums to a monitor, but gives it no right to RDPMC. */
START_TEST(page_of_target)
{
	pid_t pid = start_target();
	int fd = open_target(pid, MAKE);
	const volatile struct vperfctr_page *p = map_state(fd);
	u64 value;

	assert_ok(count_insns(fd, 0));
	ck_assert_uint_eq(measure(fd, pid), INSNS_STOP(1000));
	ck_assert_uint_eq(p->ctr[0].sum, INSNS_STOP(1000));
	ck_assert_uint_eq(p->samplecount & 1, 0);
	ck_assert_int_eq(try_rdpmc(0, &value), RDPMC_SIGNAL);
	kill_target(pid);
	ck_assert_uint_eq(p->ctr[0].sum, INSNS_STOP(1000));
}
END_TEST

#define THREADS	4

static void *stopping_thread(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	shared->tid[i] = syscall(SYS_gettid);
	while (!shared->go)
		sched_yield();
	stop_for_ever(getpid(), shared->tid[i], &shared->n[i]);
}

/* Each thread of a process has a state of its own. */
START_TEST(threads_of_one_process)
{
	int fd[THREADS], round;
	u64 before[THREADS];
	pid_t pid = fork();
	pthread_t id;
	uintptr_t i;

	if (!pid) {
		for (i = 0; i < THREADS; i++)
			pthread_create(&id, NULL, stopping_thread, (void *)i);
		for (;;)
			pause();
	}
	for (i = 0; i < THREADS; i++) {
		ck_assert_eventually(shared->tid[i]);
		ck_assert_int_eq(ptrace(PTRACE_SEIZE, shared->tid[i], 0, PTRACE_O_EXITKILL), 0);
	}
	shared->n[0] = 1000;
	for (i = 1; i < THREADS; i++)
		shared->n[i] = 1 + 100000 * i;
	shared->go = 1;
	for (i = 0; i < THREADS; i++) {
		wait_stopped(shared->tid[i]);
		fd[i] = open_target(shared->tid[i], MAKE);
		assert_ok(count_insns(fd[i], 0));
	}
	for (round = 0; round < 5; round++) {
		for (i = 0; i < THREADS; i++) {
			before[i] = count_of(fd[i]);
			if (i != 3 || round & 1)	/* the last one runs only sometimes */
				run(shared->tid[i]);
		}
		for (i = 0; i < THREADS; i++) {
			if (i == 3 && !(round & 1)) {
				ck_assert_uint_eq(count_of(fd[i]), before[i]);
				continue;
			}
			wait_stopped(shared->tid[i]);
			ck_assert_uint_eq(count_of(fd[i]) - before[i], INSNS_STOP(shared->n[i]));
		}
	}
	/* The first thread has no state, and is not traced. */
	assert_errno(open_thread(pid, 0), EPERM);
	/* UNLINK ends one thread's state only. */
	assert_ok(call(fd[0], VPERFCTR_UNLINK, NULL));
	ck_assert_uint_eq(measure(fd[1], shared->tid[1]), INSNS_STOP(shared->n[1]));
	kill(pid, SIGKILL);
	for (i = 0; i < THREADS; i++)
		waitpid(shared->tid[i], NULL, __WALL);
	wait_for(pid);
	for (i = 0; i < THREADS; i++)
		assert_status(fd[i], 0);
}
END_TEST

/* ---- calls that are refused ------------------------------------------------------------ */

START_TEST(open_errors)
{
	pid_t pid = fork();
	int fd;

	if (!pid) {
		for (;;)
			pause();
	}
	/* The target is not traced. */
	assert_errno(open_thread(pid, 0), EPERM);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), EPERM);
	assert_errno(open_thread(getppid(), VPERFCTR_OPEN_CREAT), EPERM);
	assert_errno(open_thread(1, VPERFCTR_OPEN_CREAT), EPERM);
	assert_errno(open_thread(2, VPERFCTR_OPEN_CREAT), EPERM);	/* kthreadd */
	/* The target is traced, but not stopped. */
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL), 0);
	assert_errno(open_thread(pid, 0), EPERM);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), EPERM);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	wait_stopped(pid);
	assert_errno(open_thread(pid, 0), ENOENT);
	fd = open_target(pid, MAKE);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), EEXIST);
	close(open_target(pid, 0));
	assert_status(fd, ATTACHED);
	close(fd);
	kill_target(pid);

	assert_errno(open_thread(pid, 0), ESRCH);
	assert_errno(open_thread(-1, 0), ESRCH);
	assert_errno(open_thread(INT_MIN, VPERFCTR_OPEN_CREAT), ESRCH);
	assert_errno(open_thread(INT_MAX, VPERFCTR_OPEN_CREAT), ESRCH);
	assert_errno(open_thread(4000000, 0), ESRCH);

	/* A thread is found by its own number too. */
	assert_errno(open_thread(getpid(), 0), ENOENT);
	ck_assert_int_ge(open_thread(getpid(), VPERFCTR_OPEN_CREAT), 0);
	ck_assert_int_ge(open_thread(0, 0), 0);
}
END_TEST

static void on_alarm(int sig)
{
	(void)sig;
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void limit_stops(const char *text)
{
	write_file("/sys/module/vperfctr/parameters/max_stops_per_second", text);
}

/* Making states for others stops all CPUs, which a user may do only so often. */
static void check_stops(void)
{
	struct itimerval soon = { .it_value.tv_usec = 100000 };
	struct sigaction sa = { .sa_handler = on_alarm };
	u64 start = now_ms();
	pid_t pid = start_target();

	close(open_target(pid, MAKE));
	/* A signal ends the wait, unless its action restarts the call. */
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	child_assert(open_thread(pid, MAKE) == -EINTR);
	child_assert(open_thread(pid, 0) == -ENOENT);
	sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	close(open_target(pid, MAKE));
	child_assert(now_ms() - start >= 1000);
	kill(pid, SIGKILL);
	_exit(wait_for(pid) != 128 + SIGKILL);
}

START_TEST(stops_are_rationed)
{
	int i, round;
	pid_t pid;
	u64 start;

	limit_stops("1");
	pid = fork();
	if (!pid) {
		become(NOBODY);
		prctl(PR_SET_DUMPABLE, 1);
		check_stops();
	}
	ck_assert_int_eq(wait_for(pid), 0);
	/* Root has no limit, and where there is none, others have none either. */
	for (round = 0; round < 2; round++) {
		if (round) {
			limit_stops("0");
			become(NOBODY);
			prctl(PR_SET_DUMPABLE, 1);
		}
		start = now_ms();
		pid = start_target();
		for (i = 0; i < 10; i++)
			close(open_target(pid, MAKE));
		ck_assert_uint_lt(now_ms() - start, 9000);
		kill_target(pid);
	}
}
END_TEST

/* A caller that has not stopped the owner may only READ. */
static void check_holder_only(int fd, int error)
{
	struct sums sums;

	assert_errno(count_insns(fd, 0), error);
	assert_errno(stop_all(fd), error);
	assert_errno(call(fd, VPERFCTR_SUSPEND, NULL), error);
	assert_errno(call(fd, VPERFCTR_RESUME, NULL), error);
	assert_errno(call(fd, VPERFCTR_UNLINK, NULL), error == ESRCH ? 0 : error);
	assert_ok(try_read_sums(fd, &sums));
}

START_TEST(call_errors)
{
	pid_t pid = start_target(), holder;
	int fd = open_target(pid, MAKE);

	assert_ok(count_insns(fd, 0));
	/* A holder, whose parent is the monitor. */
	holder = fork();
	if (!holder) {
		child_assert(count_insns(fd, 0) == -EPERM);
		child_assert(call(fd, VPERFCTR_SUSPEND, NULL) == -EPERM);
		child_assert(call(fd, VPERFCTR_UNLINK, NULL) == -EPERM);
		child_assert(open_thread(pid, 0) == -EPERM);
		child_assert(status_of(fd) == (ATTACHED | ACTIVE));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(holder), 0);
	/* The monitor, while the target runs. */
	shared->n[0] = 20000000;
	run(pid);
	check_holder_only(fd, EPERM);
	assert_errno(open_thread(pid, 0), EPERM);
	wait_stopped(pid);
	shared->n[0] = 1000;
	ck_assert_uint_eq(count_of(fd), INSNS_STOP(20000000));
	ck_assert_uint_eq(measure(fd, pid), INSNS_STOP(1000));
	/* A former monitor. */
	ck_assert_int_eq(ptrace(PTRACE_DETACH, pid, 0, SIGSTOP), 0);
	check_holder_only(fd, EPERM);
	assert_errno(open_thread(pid, 0), EPERM);
	kill_target(pid);
	check_holder_only(fd, ESRCH);
}
END_TEST

static void *tracing_thread(void *arg)
{
	pid_t pid = start_target();
	int fd = open_target(pid, MAKE);

	if (count_insns(fd, 0) || measure(fd, pid) != INSNS_STOP(1000))
		die("the tracing thread's count is not exact");
	shared->fd = fd;
	shared->tid[0] = pid;
	while (!shared->go)
		sched_yield();
	kill(pid, SIGKILL);
	wait_for(pid);
	return arg;
}

/* The tracer is one thread, not its process. */
START_TEST(traced_by_another)
{
	pthread_t id;

	ck_assert_int_eq(pthread_create(&id, NULL, tracing_thread, NULL), 0);
	ck_assert_eventually(shared->tid[0]);
	assert_errno(open_thread(shared->tid[0], 0), EPERM);
	assert_errno(open_thread(shared->tid[0], VPERFCTR_OPEN_CREAT), EPERM);
	check_holder_only(shared->fd, EPERM);
	shared->go = 1;
	pthread_join(id, NULL);
	check_holder_only(shared->fd, ESRCH);
}
END_TEST

static void *lasting_thread(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* A zombie, and a process whose first thread has ended. */
START_TEST(zombies)
{
	pid_t pid = start_target();
	int fd = open_target(pid, MAKE);
	pthread_t id;
	siginfo_t si;

	assert_ok(count_insns(fd, 0));
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, pid, &si, WEXITED | WNOWAIT), 0);
	assert_errno(open_thread(pid, 0), ESRCH);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), ESRCH);
	check_holder_only(fd, ESRCH);
	assert_status(fd, 0);
	ck_assert_eventually(counters_free());
	wait_for(pid);

	pid = fork();
	if (!pid) {
		pthread_create(&id, NULL, lasting_thread, NULL);
		pthread_exit(NULL);
	}
	msleep(50);
	ck_assert_int_eq(kill(pid, 0), 0);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), ESRCH);
	kill(pid, SIGKILL);
	wait_for(pid);
}
END_TEST

/* ---- fdinfo, PID namespaces ----------------------------------------------------------- */

struct fdinfo {
	int owner, nrpmcs;
	unsigned int status;
	u64 tsc, pmc[2];
};

static void read_fdinfo(pid_t pid, int fd, struct fdinfo *info_)
{
	char path[64], text[1000], *s;

	memset(info_, 0, sizeof(*info_));
	if (pid)
		sprintf(path, "/proc/%d/fdinfo/%d", pid, fd);
	else
		sprintf(path, "/proc/self/fdinfo/%d", fd);
	read_file(path, text, sizeof(text));
	s = strstr(text, "vperfctr-owner:");
	if (!s || sscanf(s, "vperfctr-owner:\t%d\nvperfctr-status:\t0x%x\nvperfctr-tsc:\t%llu\n",
			 &info_->owner, &info_->status, &info_->tsc) != 3)
		die("%s: %s", path, text);
	for (; (s = strstr(s, "vperfctr-pmc")); s++, info_->nrpmcs++) {
		int number;

		if (sscanf(s, "vperfctr-pmc%d:\t%llu\n", &number, &info_->pmc[info_->nrpmcs]) != 2 ||
		    number != info_->nrpmcs)
			die("%s: %s", path, text);
	}
}

START_TEST(fdinfo)
{
	pid_t pid = start_target();
	int fd = open_target(pid, MAKE), mine;
	struct fdinfo f;
	struct reading r;

	read_fdinfo(0, fd, &f);
	ck_assert_int_eq(f.owner, pid);
	ck_assert_uint_eq(f.status, ATTACHED);
	ck_assert_int_eq(f.nrpmcs, 0);
	assert_ok(count_insns(fd, 0));
	measure(fd, pid);
	read_state(fd, &r);
	read_fdinfo(0, fd, &f);
	ck_assert_int_eq(f.owner, pid);
	ck_assert_uint_eq(f.status, ATTACHED | ACTIVE);
	ck_assert_int_eq(f.nrpmcs, 1);
	ck_assert_uint_eq(f.tsc, r.own[0]);
	ck_assert_uint_eq(f.pmc[0], INSNS_STOP(1000));
	kill_target(pid);
	read_fdinfo(0, fd, &f);
	ck_assert_int_eq(f.owner, 0);
	ck_assert_uint_eq(f.status, 0);
	ck_assert_uint_eq(f.pmc[0], INSNS_STOP(1000));

	/* The caller's own state has current sums. */
	mine = open_state(0);
	assert_ok(count_insns(mine, 0));
	loop(5000);
	read_fdinfo(0, mine, &f);
	ck_assert_int_eq(f.owner, getpid());
	ck_assert_uint_ge(f.pmc[0], 10000);
	ck_assert_uint_le(f.pmc[0], count_of(mine));
}
END_TEST

/* The first process of a PID namespace monitors the second. */
static void monitor_in_namespace(pid_t outer)
{
	struct fdinfo f;
	pid_t pid;
	int fd;

	child_assert(getpid() == 1);
	pid = start_target();
	child_assert(pid == 2);
	child_assert(open_thread(outer, VPERFCTR_OPEN_CREAT) == -ESRCH);
	child_assert(open_thread(3, VPERFCTR_OPEN_CREAT) == -ESRCH);
	child_assert(open_thread(2, 0) == -ENOENT);
	fd = open_target(2, MAKE);
	child_assert(!count_insns(fd, 0));
	child_assert(measure(fd, pid) == INSNS_STOP(1000));
	read_fdinfo(0, fd, &f);
	child_assert(f.owner == 2);
	shared->fd = fd;
	shared->step = 1;
	while (!shared->go)
		msleep(1);
	_exit(0);
}

START_TEST(pid_namespace)
{
	pid_t parent = fork(), outer = getpid(), first;
	char path[64], text[2000], *s;
	struct fdinfo f;

	ck_assert_int_gt(outer, 3);
	if (!parent) {
		child_assert(!unshare(CLONE_NEWPID));
		first = fork();
		if (!first)
			monitor_in_namespace(outer);
		shared->tid[0] = first;
		_exit(wait_for(first));
	}
	ck_assert_eventually(shared->step && shared->tid[0]);
	/* The same descriptor, seen from outside the namespace. */
	read_fdinfo(shared->tid[0], shared->fd, &f);
	ck_assert_int_gt(f.owner, 3);
	ck_assert_uint_eq(f.pmc[0], INSNS_STOP(1000));
	sprintf(path, "/proc/%d/status", f.owner);
	read_file(path, text, sizeof(text));
	s = strstr(text, "NSpid:");
	ck_assert_ptr_nonnull(s);
	ck_assert_int_eq(atoi(strchr(s + 7, '\t')), 2);
	shared->go = 1;
	ck_assert_int_eq(wait_for(parent), 0);
}
END_TEST

/* ---- lifetime of a state ----------------------------------------------------------------- */

/* The caller may be the owner, its monitor, or neither. */
static u32 role_in(int fd)
{
	struct vperfctr_read req = { .size = sizeof(req), .nrctrs = VPERFCTR_MAX_CTRS,
				     .flags = VPERFCTR_READ_OWNER };

	assert_ok(call(fd, VPERFCTR_READ, &req));
	return req.status & (VPERFCTR_STATUS_OWNER | VPERFCTR_STATUS_MONITOR);
}

START_TEST(state_ends_with_descriptor)
{
	pid_t pid = start_target();
	int fd, copy;

	fd = open_target(pid, MAKE);
	assert_ok(count_insns(fd, 0));
	ck_assert_uint_eq(role_in(fd), VPERFCTR_STATUS_MONITOR);
	copy = dup(fd);
	close(fd);
	ck_assert_uint_eq(measure(copy, pid), INSNS_STOP(1000));
	fd = open_target(pid, 0);
	close(copy);
	ck_assert_uint_eq(measure(fd, pid), INSNS_STOP(1000));
	ck_assert(!counters_free());
	close(fd);
	ck_assert(counters_free());
	assert_errno(open_thread(pid, 0), ENOENT);
	/* Another state ends too, whether its owner runs or has ended. */
	fd = open_target(pid, MAKE);
	assert_ok(count_insns(fd, 0));
	shared->n[0] = 10000000;
	run(pid);
	/* Not stopped, it has no monitor. */
	ck_assert_uint_eq(role_in(fd), 0);
	close(fd);
	ck_assert(counters_free());
	wait_stopped(pid);
	assert_errno(open_thread(pid, 0), ENOENT);
	fd = open_target(pid, MAKE);
	assert_ok(count_insns(fd, 0));
	kill_target(pid);
	close(fd);
	ck_assert(counters_free());
}
END_TEST

START_TEST(kept_without_descriptor)
{
	pid_t pid = start_target();
	int fd = open_target(pid, VPERFCTR_OPEN_CREAT | (_i ? VPERFCTR_OPEN_KEEP : 0));

	assert_ok(count_insns(fd, 0));
	close(fd);
	ck_assert(!counters_free());
	run(pid);
	wait_stopped(pid);
	fd = open_target(pid, 0);
	ck_assert_uint_eq(count_of(fd), INSNS_STOP(1000));
	close(fd);
	assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), EEXIST);
	ck_assert(!counters_free());
	kill_target(pid);
	ck_assert_eventually(counters_free());
}
END_TEST

START_TEST(monitor_killed)
{
	int refs = module_refs();
	pid_t monitor = fork(), pid;

	if (!monitor) {
		int fd;

		pid = start_target();
		ptrace(PTRACE_SETOPTIONS, pid, 0, 0);
		fd = open_target(pid, VPERFCTR_OPEN_CREAT |
				 (_i ? VPERFCTR_OPEN_KEEP : VPERFCTR_OPEN_TRANSIENT));
		child_assert(!count_insns(fd, VPERFCTR_CONTROL_INHERIT));
		shared->n[0] = 1 << 30;
		run(pid);
		shared->tid[0] = pid;
		for (;;)
			pause();
	}
	ck_assert_eventually(shared->tid[0]);
	pid = shared->tid[0];
	ck_assert(!counters_free());
	ck_assert_int_eq(kill(monitor, SIGKILL), 0);
	ck_assert_int_eq(wait_for(monitor), 128 + SIGKILL);
	ck_assert_int_eq(counters_free(), !_i);
	/* The target survives. */
	ck_assert_int_eq(kill(pid, 0), 0);
	/* A running thread may keep its state until it is switched out. */
	if (!_i)
		ck_assert_eventually(module_refs() == refs);
	kill(pid, SIGKILL);
	ck_assert_eventually(counters_free());
	ck_assert_eventually(module_refs() == refs);
}
END_TEST

START_TEST(own_state_outlives_descriptors)
{
	int fd = open_state(_i ? VPERFCTR_OPEN_TRANSIENT : 0), copy;

	assert_ok(count_insns(fd, 0));
	copy = dup(fd);
	close(fd);
	assert_status(copy, ATTACHED | ACTIVE);
	fd = open_thread(0, 0);
	ck_assert_int_ge(fd, 0);
	close(copy);
	assert_status(fd, ATTACHED | ACTIVE);
	close(fd);
	if (_i) {
		ck_assert(counters_free());
		assert_errno(open_thread(0, 0), ENOENT);
		return;
	}
	ck_assert(!counters_free());
	assert_errno(open_thread(0, VPERFCTR_OPEN_CREAT), EEXIST);
	loop(5000);
	fd = open_thread(0, 0);
	ck_assert_uint_gt(count_of(fd), 10000);
}
END_TEST

/* ---- affinity --------------------------------------------------------------------------- */

START_TEST(affinity)
{
	cpu_set_t before, after;
	pid_t pid = start_target();
	int fd = open_target(pid, MAKE);

	ck_assert_int_ge(sched_getaffinity(pid, sizeof(before), &before), 0);
	assert_ok(count_insns(fd, 0));
	measure(fd, pid);
	ck_assert_int_ge(sched_getaffinity(pid, sizeof(after), &after), 0);
	ck_assert(CPU_EQUAL(&before, &after));
	kill_target(pid);
}
END_TEST

/* ---- readers of a running owner ------------------------------------------------------------ */

#define ROUNDS		40
#define ROUND_LENGTH	100000UL

/* The owner's own measurements stay exact while others read. */
static void run_owner_to_be_read(void)
{
	struct reading before, after;
	int fd = open_state(0), i;

	child_assert(!count_insns(fd, 0));
	shared->fd = fd;
	shared->go = 1;
	for (i = 0; i < ROUNDS; i++) {
		child_assert(!read_loop_read(fd, VPERFCTR_READ, init_reading(&before),
					     init_reading(&after), ROUND_LENGTH));
		child_assert(after.own[1] - before.own[1] == INSNS_BETWEEN(ROUND_LENGTH));
		shared->step++;
	}
	_exit(0);
}

/* Read a running owner; return true if nearly each READ exceeds the one before. */
static bool each_read_advances(void)
{
	u64 last = 0, last_tsc = 0;
	unsigned int reads = 0, advanced = 0;
	struct reading r;
	pid_t pid;
	u32 step;

	shared->go = 0;
	shared->step = 0;
	pid = fork_files();
	/* With two CPUs, the owner runs while it is read. */
	if (!pid) {
		if (may_choose_cpu())
			pin(1);
		run_owner_to_be_read();
	}
	if (may_choose_cpu())
		pin(0);
	while (!shared->go)
		sched_yield();
	do {
		step = shared->step;
		read_state(shared->fd, &r);
		/* At least the count of the owner's completed rounds. */
		ck_assert_uint_ge(r.own[1], step * INSNS_BETWEEN(ROUND_LENGTH));
		ck_assert_uint_ge(r.own[1], last);
		ck_assert_uint_ge(r.own[0], last_tsc);
		ck_assert_uint_ge(r.own[0], tsc_of(r.own[1]));
		advanced += r.own[1] > last;
		last = r.own[1];
		last_tsc = r.own[0];
		reads++;
	} while (step < ROUNDS);
	ck_assert_int_eq(wait_for(pid), 0);
	printf("%u reads, %u exceeded the one before\n", reads, advanced);
	return advanced > reads / 2;
}

START_TEST(running_owner)
{
	unsigned int tries = 5;

	/* Another thread may have the owner's CPU for a while. */
	while (!each_read_advances() && may_choose_cpu())
		ck_assert_uint_gt(--tries, 0);
}
END_TEST

/* ---- poll --------------------------------------------------------------------------------- */

static int poll_now(int fd, int timeout)
{
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT | POLLPRI };
	int n = poll(&p, 1, timeout);

	return n > 0 ? p.revents : n;
}

/* A sleeping poller wakes up when the owner ends, or loses its state. */
START_TEST(poll_wakes_at_end_of_owner)
{
	pid_t pid = start_target(), poller;
	int fd = open_target(pid, MAKE);

	assert_ok(count_insns(fd, 0));
	ck_assert_int_eq(poll_now(fd, 0), 0);
	ck_assert_int_eq(poll_now(fd, 20), 0);
	measure(fd, pid);
	ck_assert_int_eq(poll_now(fd, 0), 0);
	poller = fork();
	if (!poller) {
		time_t began = time(NULL);
		int got;

		shared->go = 1;
		/* poll() also looks at its timeout: a wakeup then would be too late. */
		got = poll_now(fd, 20000);
		shared->step = 1;
		_exit(got != POLLHUP ? 1 : time(NULL) - began > 5 ? 2 : 0);
	}
	msleep(100);
	ck_assert_uint_eq(shared->go, 1);
	ck_assert_uint_eq(shared->step, 0);
	if (_i) {
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		ck_assert_int_eq(poll_now(fd, 0), POLLHUP);
	} else {
		kill(pid, SIGKILL);
	}
	ck_assert_int_eq(wait_for(poller), 0);
	ck_assert_int_eq(poll_now(fd, -1), POLLHUP);
	kill_target(pid);
	ck_assert_int_eq(poll_now(fd, -1), POLLHUP);
}
END_TEST

/* ---- exec, exit ------------------------------------------------------------------------------ */

static void *executing_thread(void *arg)
{
	char *args[] = { known, "x", NULL }, *environment[] = { NULL };

	shared->tid[0] = syscall(SYS_gettid);
	while (!shared->go)
		sched_yield();
	syscall(SYS_tgkill, getpid(), shared->tid[0], SIGSTOP);
	execve(known, args, environment);
	return arg;
}

/* exec makes the thread the process's first one, and it keeps its state. */
START_TEST(exec_of_a_thread)
{
	pid_t pid = fork(), tid;
	struct fdinfo f;
	pthread_t id;
	int fd, status;

	if (!pid) {
		pthread_create(&id, NULL, executing_thread, NULL);
		for (;;)
			pause();
	}
	ck_assert_eventually(shared->tid[0]);
	tid = shared->tid[0];
	ck_assert_int_ne(tid, pid);
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC), 0);
	shared->go = 1;
	wait_stopped(tid);
	fd = open_target(tid, MAKE);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_START_ON_EXEC));
	assert_status(fd, ATTACHED | ACTIVE | ARMED);
	run(tid);
	ck_assert_int_eq(waitpid(pid, &status, __WALL), pid);
	ck_assert_int_eq(status >> 8, SIGTRAP | PTRACE_EVENT_EXEC << 8);
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_eq(count_of(fd), 0);
	read_fdinfo(0, fd, &f);
	ck_assert_int_eq(f.owner, pid);
	assert_errno(open_thread(tid, 0), ESRCH);
	close(open_target(pid, 0));
	/* The monitor still monitors it. */
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	if (_i)
		assert_ok(count_insns(fd, 0));
	run(pid);
	ck_assert_int_eq(wait_for(pid), 2);
	ck_assert_uint_eq(count_of(fd), KNOWN_INSNS(2));
	assert_status(fd, 0);
}
END_TEST

/* A monitor can open a thread's state once more at PTRACE_EVENT_EXIT. */
START_TEST(event_exit)
{
	struct reading r;
	pid_t pid = fork();
	int fd, status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		if (_i)
			count(open_state(0), INSNS_USER);
		_exit(3);
	}
	wait_stopped(pid);
	ck_assert_int_eq(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXIT), 0);
	run(pid);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status >> 8, SIGTRAP | PTRACE_EVENT_EXIT << 8);
	if (_i) {
		assert_errno(open_thread(pid, VPERFCTR_OPEN_CREAT), EEXIST);
		fd = open_target(pid, 0);
		ck_assert_uint_gt(count_of(fd), 0);
	} else {
		fd = open_target(pid, MAKE);
	}
	assert_ok(count_insns(fd, 0));
	assert_status(fd, ATTACHED | ACTIVE);
	run(pid);
	ck_assert_int_eq(wait_for(pid), 3);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.status, 0);
	ck_assert_uint_eq(r.own[1], 0);		/* everything was in the kernel */
	ck_assert_uint_gt(r.own[0], 0);
	close(fd);
	ck_assert(counters_free());
}
END_TEST

/* ---- SIGKILL at any moment -------------------------------------------------------------------- */

enum { OPENING, CONTROLLING, SUSPENDING, UNLINKING, FINDING, NR_CALLS };

static int call_in_loop(int what, pid_t pid, int fd)
{
	switch (what) {
	case OPENING:
		fd = open_thread(pid, MAKE);
		if (fd >= 0)
			close(fd);
		return fd;
	case CONTROLLING:
		return count_insns(fd, random_below(2) ? VPERFCTR_CONTROL_INHERIT : 0);
	case SUSPENDING:
		return call(fd, random_below(2) ? VPERFCTR_SUSPEND : VPERFCTR_RESUME, NULL);
	case UNLINKING:
		fd = open_thread(pid, MAKE);
		if (fd >= 0) {
			int err = count_insns(fd, 0), unlinked = call(fd, VPERFCTR_UNLINK, NULL);
			u32 status = status_of(fd);

			close(fd);
			if (unlinked && unlinked != -EPERM)
				return unlinked;
			/* The state is gone, for any reason; EPERM: the thread is still dying. */
			if (!unlinked && status)
				die("status %#x after UNLINK", status);
			return err;
		}
		return fd;
	default:
		fd = open_thread(pid, 0);
		if (fd >= 0)
			close(fd);
		return fd;
	}
}

/*
 * Start processes that stop the machine all the time.  A call that needs to do so waits
 * for them, and meanwhile a stopped thread can end.
 */
static void start_hammers(pid_t *pids, int n)
{
	int i;

	for (i = 0; i < n; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			pid_t pid = start_target();

			for (;;)
				close(open_target(pid, MAKE));
		}
	}
}

#define HAMMERS		3

START_TEST(sigkill_at_any_moment)
{
	int refs = module_refs(), calls = 0, i;
	pid_t hammers[HAMMERS];

	start_hammers(hammers, HAMMERS);
	for (i = 0; i < 40; i++) {
		pid_t pid = start_target(), killer;
		static const u32 longest[] = { 2000, 100000, 1000000 };
		u32 delay = random_below(longest[random_below(3)]);
		int fd = -1, err;

		if (_i != OPENING && _i != UNLINKING) {
			fd = open_target(pid, MAKE);
			assert_ok(count_insns(fd, 0));
		}
		killer = fork();
		if (!killer) {
			loop(1 + delay);
			kill(pid, SIGKILL);
			_exit(0);
		}
		while ((err = call_in_loop(_i, pid, fd)) >= 0) {
			if (!(++calls % 16))
				sched_yield();
		}
		ck_assert_msg(err == -ESRCH || err == -EPERM, "%s", strerror(-err));
		wait_for(killer);
		ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
		if (fd >= 0) {
			assert_status(fd, 0);
			assert_errno(count_insns(fd, 0), ESRCH);
			close(fd);
		}
	}
	for (i = 0; i < HAMMERS; i++)
		kill_target(hammers[i]);
	ck_assert_eventually(counters_free());
	ck_assert_eventually(module_refs() == refs);
	printf("%d calls of kind %d until SIGKILL\n", calls, _i);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, exact_counts_of_target);
	tcase_add_test(tc, exact_counts_without_privilege);
	tcase_add_test(tc, monitor_changes_found_state);
	tcase_add_test(tc, kernel_count_is_hidden);
	tcase_add_loop_test(tc, kernel_count_is_hidden_from_monitor, 0, 2);
	tcase_add_test(tc, page_of_target);
	tcase_add_test(tc, threads_of_one_process);
	tcase_add_test(tc, open_errors);
	tcase_add_test(tc, call_errors);
	tcase_add_test(tc, stops_are_rationed);
	tcase_add_test(tc, traced_by_another);
	tcase_add_test(tc, zombies);
	tcase_add_test(tc, fdinfo);
	tcase_add_test(tc, pid_namespace);
	tcase_add_test(tc, state_ends_with_descriptor);
	tcase_add_loop_test(tc, kept_without_descriptor, 0, 2);
	tcase_add_loop_test(tc, monitor_killed, 0, 2);
	tcase_add_loop_test(tc, own_state_outlives_descriptors, 0, 2);
	tcase_add_test(tc, affinity);
	tcase_add_test(tc, running_owner);
	tcase_add_loop_test(tc, poll_wakes_at_end_of_owner, 0, 2);
	tcase_add_loop_test(tc, exec_of_a_thread, 0, 2);
	tcase_add_loop_test(tc, event_exit, 0, 2);
	tcase_add_loop_test(tc, sigkill_at_any_moment, 0, NR_CALLS);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", known, sizeof(known) - 20);

	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	strcat(dirname(known), "/known");
	open_device();
	random_init();
	return run_tests("monitor", add);
}
