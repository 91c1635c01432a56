// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs on which counters must not be used: the module's parameter forbid_cpus names one
 * of two CPUs, or one is of another kind.  Counts must be exact.
 */
#include <libgen.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "known.h"
#include "narrow.h"
#include "service.h"

static char known[256];
static int good, bad;		/* CPUs */
static int fd;

static volatile struct {
	unsigned long n;
	u32 step, done;
	int fd;
} *shared;

static u32 cpus(unsigned long which)
{
	struct {
		struct vperfctr_cpu_mask mask;
		u32 words[64];
	} m = { .mask = { .size = sizeof(m.mask), .nrwords = 64 } };
	int err = call(dev, which, &m);

	if (err)
		die("CPU masks: %s", strerror(-err));
	return m.words[0];
}

#define BOTH	(1U << good | 1U << bad)

static volatile sig_atomic_t sigills;

static void on_sigill(int sig)
{
	(void)sig;
	sigills++;
}

static void setup(void)
{
	shared = shared_memory(PAGE);
	set_affinity(0, BOTH);
	fd = open_state(0);
	signal(SIGILL, on_sigill);
}

static u64 measure_once(unsigned long n)
{
	struct reading before, after;

	if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after), n))
		die("READ failed");
	return after.own[1] - before.own[1];
}

/*
 * Measure exactly, on any CPU.  The emulator of arm64 counts the instructions of all CPUs
 * together, and the other CPU may execute some meanwhile: measure again then.
 */
static u64 measure(unsigned long n)
{
	u64 count = measure_once(n);
#ifdef __aarch64__
	unsigned int tries;

	for (tries = 0; tries < 5 && count > INSNS_BETWEEN(n); tries++)
		count = measure_once(n);
#endif
	return count;
}

static u32 flags_of(int state)
{
	struct vperfctr_control control = { .size = sizeof(control),
					    .ctr_size = sizeof(struct vperfctr_ctr) };
	struct reading r;

	init_reading(&r)->control = (uintptr_t)&control;
	if (call(state, VPERFCTR_READ, &r.read))
		die("READ failed");
	return control.flags;
}

static int count_tsc(u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control.c.flags = flags;
	return set_control(fd, &control);
}

/* As count_insns(), but narrow the affinity on request. */
static int count_narrowed(int state, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = flags;
	return set_control_by_library(state, &control);
}

START_TEST(masks_of_allowed_and_forbidden_cpus)
{
	ck_assert_uint_eq(cpus(VPERFCTR_CPUS), BOTH);
	ck_assert_uint_eq(cpus(VPERFCTR_CPUS_FORBIDDEN), info.nrkinds > 1 ? 0 : 1U << bad);
	ck_assert_uint_eq(kind_cpus(info.kind), 1U << good);
}
END_TEST

/* ---- CONTROL ----------------------------------------------------------------------- */

/* The kernel refuses an affinity that is too wide, and changes none. */
START_TEST(affinity_is_checked)
{
	const u32 wide[] = { BOTH, 1U << bad };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		set_affinity(0, wide[i]);
		assert_errno(count_insns(fd, VPERFCTR_CONTROL_AFFINITY), EUSERS);
		ck_assert_uint_eq(affinity(0), wide[i]);
		assert_status(fd, ATTACHED);
		ck_assert(counters_free());
	}
	pin(good);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_AFFINITY));
	set_affinity(0, BOTH);
	/* The current control still runs. */
	assert_errno(count_insns(fd, VPERFCTR_CONTROL_AFFINITY), EUSERS);
	assert_status(fd, ATTACHED | ACTIVE);
	pin(good);
	ck_assert_uint_eq(measure(1000), INSNS_BETWEEN(1000));
	/* Other controls do not ask. */
	set_affinity(0, BOTH);
	assert_ok(count_insns(fd, 0));
	ck_assert_uint_eq(affinity(0), BOTH);
}
END_TEST

START_TEST(control_narrows_affinity)
{
	pin(bad);
	set_affinity(0, BOTH);
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(affinity(0), 1U << good);
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_eq(measure(1000), INSNS_BETWEEN(1000));
	ck_assert_int_eq(sigills, 0);
	/* CONTROL changes the affinity only once, and never widens it. */
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(affinity(0), 1U << good);
	assert_ok(stop_all(fd));
	ck_assert_uint_eq(affinity(0), 1U << good);
}
END_TEST

/* A state is made together with its control. */
START_TEST(open_narrows_affinity)
{
	struct control control;
	struct vperfctr *v;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	pin(bad);
	ck_assert_int_eq(vperfctr_open_control(&v, &control.c, 0), -EINVAL);
	ck_assert_uint_eq(affinity(0), 1U << bad);
	assert_errno(try_open_state(0), ENOENT);
	set_affinity(0, BOTH);
	ck_assert_int_eq(vperfctr_open_control(&v, &control.c, 0), 0);
	ck_assert_uint_eq(affinity(0), 1U << good);
	assert_status(vperfctr_fd(v), ATTACHED | ACTIVE);
	vperfctr_close(v);
}
END_TEST

/* The new affinity is a subset of the old one. */
START_TEST(affinity_is_intersected)
{
	pin(good);
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(affinity(0), 1U << good);
}
END_TEST

START_TEST(no_allowed_cpu_left)
{
	struct reading before, after;

	pin(bad);
	assert_errno(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	ck_assert_uint_eq(affinity(0), 1U << bad);
	assert_status(fd, ATTACHED);
	ck_assert(counters_free());
	/* The current control still runs. */
	assert_ok(count_tsc(0));
	read_state(fd, &before);
	assert_errno(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	read_state(fd, &after);
	ck_assert_uint_eq(after.read.nrctrs, 0);
	ck_assert_uint_eq(after.read.status, ATTACHED | ACTIVE);
	ck_assert_uint_gt(after.own[0], before.own[0]);
	ck_assert(counters_free());
	/* A state that holds the hardware keeps it. */
	assert_ok(count_insns(fd, 0));
	assert_errno(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	/* On such kernels perf has the counters of CPUs that no kind uses. */
	ck_assert(counters_free() == (!PERF_IS_REFUSED && info.nrkinds == 1));
	ck_assert_uint_eq(flags_of(fd), 0);
	ck_assert_uint_eq(affinity(0), 1U << bad);
	ck_assert_int_eq(sigills, 0);
}
END_TEST

/* ---- cpusets ------------------------------------------------------------------------ */

#define CGROUP	"/tmp/cgroup"
#define CPUSET	CGROUP "/counted"

static void set_cpuset(u32 mask)
{
	write_file(CPUSET "/cpuset.cpus", mask == 3 ? "0-1" : mask == 2 ? "1" : "0");
}

static void make_cpuset(u32 mask)
{
	mkdir(CGROUP, 0755);
	if (mount("none", CGROUP, "cgroup2", 0, NULL) && errno != EBUSY)
		die(CGROUP ": %s", strerror(errno));
	write_file(CGROUP "/cgroup.subtree_control", "+cpuset");
	mkdir(CPUSET, 0755);
	set_cpuset(mask);
}

static void enter_cpuset(void)
{
	write_file(CPUSET "/cgroup.procs", "0");
}

/* CONTROL never leaves the cpuset, as it is at that moment. */
START_TEST(cpuset_is_respected)
{
	make_cpuset(1U << bad);
	enter_cpuset();
	ck_assert_uint_eq(affinity(0), 1U << bad);
	assert_errno(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	ck_assert_uint_eq(affinity(0), 1U << bad);
	set_cpuset(BOTH);
	set_affinity(0, BOTH);
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(affinity(0), 1U << good);
	ck_assert_int_eq(sigills, 0);
	/* The new cpuset has no such CPU. */
	set_cpuset(1U << bad);
	loop(1000);
	ck_assert_int_eq(sigills, 1);
	assert_errno(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	ck_assert_uint_eq(affinity(0), 1U << bad);
	write_file(CGROUP "/cgroup.procs", "0");
}
END_TEST

static pid_t start_in_cpuset(bool counted)
{
	pid_t pid = fork_files();

	shared->step = 0;
	if (!pid) {
		enter_cpuset();
		if (!counted)
			pin(good);
		else if (count_narrowed(open_state(0), VPERFCTR_CONTROL_AFFINITY))
			die("CONTROL failed");
		shared->step = 1;
		for (;;)
			pause();
	}
	ck_assert_eventually(shared->step);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
}

/*
 * The affinity of a counted thread survives a rewrite of the cpuset as one that a thread
 * has set does.  Linux keeps that from 6.2 on.
 */
START_TEST(affinity_survives_rewrite_of_cpuset)
{
	pid_t pinned, counted;

	make_cpuset(BOTH);
	pinned = start_in_cpuset(false);
	counted = start_in_cpuset(true);
	ck_assert_uint_eq(affinity(counted), 1U << good);
	set_cpuset(1U << good);
	set_cpuset(BOTH);
	ck_assert_uint_eq(affinity(counted), affinity(pinned));
	end(counted);
	end(pinned);
}
END_TEST

/* Whenever the cpuset is rewritten, the thread remains in it. */
START_TEST(cpuset_is_rewritten_meanwhile)
{
	pid_t pid;
	u32 i;

	make_cpuset(BOTH);
	pid = fork_files();
	if (!pid) {
		signal(SIGILL, SIG_IGN);
		fd = open_state(0);
		enter_cpuset();
		for (i = 1; i <= 30; i++) {
			while (shared->step != i)
				sched_yield();
			count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY);
			shared->done = i;
		}
		_exit(0);
	}
	for (i = 1; i <= 30; i++) {
		set_cpuset(BOTH);
		set_affinity(pid, BOTH);
		shared->step = i;
		set_cpuset(1U << bad);
		ck_assert_eventually(shared->done == i);
		ck_assert_uint_eq(affinity(pid), 1U << bad);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* A control with only the TSC may run on any CPU. */
START_TEST(tsc_only)
{
	struct reading before, after;

	assert_ok(count_tsc(0));
	ck_assert_uint_eq(affinity(0), BOTH);
	pin(bad);
	read_state(fd, &before);
	loop(1000);
	read_state(fd, &after);
	ck_assert_uint_ge(after.own[0] - before.own[0], tsc_of(2000));
	ck_assert_uint_eq(after.read.status, ATTACHED | ACTIVE);
	ck_assert_int_eq(sigills, 0);
}
END_TEST

/* ---- a counted thread is moved to a forbidden CPU ---------------------------------------- */

START_TEST(moved_while_counting)
{
	const struct vperfctr_page *page = map_state(fd);
	struct reading before, after;

	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	pin(bad);
	loop(1000);
	ck_assert_int_eq(sigills, 1);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	ck_assert_uint_eq(page->cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC), 0);
	read_state(fd, &before);
	ck_assert_uint_eq(measure(1000), 0);
	/* RESUME on this CPU is the error. */
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	loop(1000);
	ck_assert_int_eq(sigills, 2);
	ck_assert_uint_eq(measure(1000), 0);
	/* The state stays stopped until RESUME. */
	pin(good);
	ck_assert_uint_eq(measure(1000), 0);
	read_state(fd, &after);
	ck_assert_uint_eq(after.own[0], before.own[0]);
	ck_assert_uint_eq(after.own[1], before.own[1]);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	ck_assert_uint_eq(measure(1000), INSNS_BETWEEN(1000));
	ck_assert_uint_gt(self_read(page, 0), after.own[1]);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	ck_assert_int_eq(sigills, 2);
	/* A new control starts again. */
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_eq(measure(1000), INSNS_BETWEEN(1000));
	pin(bad);
	loop(1000);
	ck_assert_int_eq(sigills, 3);
}
END_TEST

/* A suspended state is not stopped before it would count. */
START_TEST(moved_while_suspended)
{
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	pin(bad);
	loop(1000);
	ck_assert_int_eq(sigills, 0);
	assert_status(fd, ATTACHED | ACTIVE | SUSPENDED);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	loop(1000);
	ck_assert_int_eq(sigills, 1);
	pin(good);
	assert_ok(stop_all(fd));
	pin(bad);
	loop(1000);
	ck_assert_int_eq(sigills, 1);
	pin(good);
	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_AFFINITY));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	pin(bad);
	loop(1000);
	ck_assert_int_eq(sigills, 1);
}
END_TEST

static pid_t start_counting_child(u32 flags)
{
	pid_t pid = fork_files();

	if (!pid) {
		signal(SIGILL, SIG_DFL);
		shared->fd = open_state(0);
		if (count_narrowed(shared->fd, flags))
			die("CONTROL failed");
		shared->step = 1;
		for (;;)
			loop(1000);
	}
	ck_assert_eventually(shared->step);
	return pid;
}

/* Return the child's end; do not wait for a busy child that wrongly continues. */
static int ended_soon(pid_t pid)
{
	int status, tries = 200;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (!--tries)
			return -1;
		msleep(1);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

START_TEST(moved_by_another)
{
	pid_t pid = start_counting_child(VPERFCTR_CONTROL_AFFINITY);
	u64 last;

	ck_assert_uint_eq(affinity(pid), 1U << good);
	msleep(10);
	last = count_of(shared->fd);
	ck_assert_uint_gt(last, 0);
	set_affinity(pid, 1U << bad);
	ck_assert_int_eq(ended_soon(pid), 128 + SIGILL);
	assert_status(shared->fd, FORBIDDEN);
	ck_assert_uint_ge(count_of(shared->fd), last);
	close(shared->fd);
	ck_assert(counters_free());
}
END_TEST

#define ONLINE "/sys/devices/system/cpu/cpu%d/online"

static void set_online(bool online)
{
	char path[64];

	sprintf(path, ONLINE, good);
	write_file(path, online ? "1" : "0");
}

/* The last CPU where the thread can be counted goes offline. */
START_TEST(last_allowed_cpu_offline)
{
	pid_t pid = start_counting_child(_i ? 0 : VPERFCTR_CONTROL_AFFINITY);
	struct reading before, after;

	if (_i)
		set_affinity(pid, 1U << good);
	msleep(10);
	set_online(false);
	if (!_i) {
		ck_assert_int_eq(ended_soon(pid), 128 + SIGILL);
		assert_status(shared->fd, FORBIDDEN);
		ck_assert_uint_gt(count_of(shared->fd), 0);
		set_online(true);
		return;
	}
	/* This thread did not ask for the move: it runs uncounted, and is counted again later. */
	ck_assert_eventually(status_of(shared->fd) & FORBIDDEN);
	read_state(shared->fd, &before);
	msleep(50);
	ck_assert_int_eq(kill(pid, 0), 0);
	read_state(shared->fd, &after);
	ck_assert_uint_eq(after.own[1], before.own[1]);
	set_online(true);
	set_affinity(pid, 1U << good);
	ck_assert_eventually(count_of(shared->fd) > after.own[1]);
	kill(pid, SIGKILL);
	wait_for(pid);
}
END_TEST

/* ---- without AFFINITY ----------------------------------------------------------------------- */

START_TEST(not_counted_on_forbidden_cpu)
{
	const struct vperfctr_page *page = map_state(fd);
	struct reading before, after;
	int i;

	pin(good);
	set_affinity(0, BOTH);
	assert_ok(count_insns(fd, 0));
	ck_assert_uint_eq(affinity(0), BOTH);
	for (i = 0; i < 3; i++) {
		pin(good);
		ck_assert_uint_eq(measure(1000), INSNS_BETWEEN(1000));
		ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RUNNING,
				  VPERFCTR_CSTATUS_RUNNING);
		read_state(fd, &before);
		pin(bad);
		ck_assert_uint_eq(measure(1000), 0);
		ck_assert_uint_eq(page->cstatus & (VPERFCTR_CSTATUS_RUNNING |
						   VPERFCTR_CSTATUS_RDPMC), 0);
		loop(100000);
		pin(good);
		read_state(fd, &after);
		ck_assert_uint_lt(after.own[1] - before.own[1], 2000);
		ck_assert_uint_eq(after.read.status, ATTACHED | ACTIVE | FORBIDDEN);
	}
	ck_assert_int_eq(sigills, 0);
	/* Counting starts on the forbidden CPU. */
	pin(bad);
	assert_ok(count_insns(fd, 0));
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	ck_assert_uint_eq(measure(1000), 0);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	ck_assert_uint_eq(measure(1000), 0);
	ck_assert_int_eq(sigills, 0);
}
END_TEST

static void wait_stopped(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("the target ended with %#x", status);
}

static u64 measure_target(pid_t pid)
{
	u64 before = count_of(shared->fd);

	if (ptrace(PTRACE_CONT, pid, 0, 0))
		die("PTRACE_CONT: %s", strerror(errno));
	wait_stopped(pid);
	return count_of(shared->fd) - before;
}

/* A monitor neither moves its target nor gets it killed. */
START_TEST(monitor_does_not_move_target)
{
	const u32 masks_[] = { BOTH, 1U << good, 1U << bad };
	pid_t pid = fork();
	unsigned int i;

	if (!pid) {
		signal(SIGILL, SIG_DFL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		stop_for_ever(getpid(), getpid(), &shared->n);
	}
	shared->n = 1000;
	wait_stopped(pid);
	shared->fd = open_thread(pid, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(shared->fd, 0);
	for (i = 0; i < 3; i++) {
		set_affinity(pid, masks_[i]);
		assert_ok(count_insns(shared->fd, VPERFCTR_CONTROL_AFFINITY));
		ck_assert_uint_eq(affinity(pid), masks_[i]);
		ck_assert_uint_eq(flags_of(shared->fd), 0);
		assert_status(shared->fd, ATTACHED | ACTIVE);
		if (masks_[i] == BOTH)
			continue;
		ck_assert_uint_eq(measure_target(pid),
				  masks_[i] == 1U << good ? INSNS_STOP(1000) : 0);
		assert_status(shared->fd, ATTACHED | ACTIVE |
			      (masks_[i] == 1U << good ? 0 : FORBIDDEN));
	}
	set_affinity(pid, 1U << good);
	ck_assert_uint_eq(measure_target(pid), INSNS_STOP(1000));
	assert_status(shared->fd, ATTACHED | ACTIVE | FORBIDDEN);
	assert_ok(call(shared->fd, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(shared->fd, VPERFCTR_RESUME, NULL));
	ck_assert_uint_eq(measure_target(pid), INSNS_STOP(1000));
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
}
END_TEST

/* ---- exec, families ---------------------------------------------------------------------- */

/* Moved while it waits for the exec: SIGILL comes at the exec, or not at all. */
START_TEST(moved_before_exec)
{
	char *args[] = { known, NULL }, *environment[] = { NULL };
	pid_t pid = fork_files();

	if (!pid) {
		signal(SIGILL, SIG_DFL);
		shared->fd = open_state(0);
		if (count_narrowed(shared->fd, VPERFCTR_CONTROL_START_ON_EXEC |
				   (_i == 2 ? 0 : VPERFCTR_CONTROL_AFFINITY)))
			die("CONTROL failed");
		if (_i)
			pin(bad);
		loop(1000);
		execve(known, args, environment);
		die("%s: %s", known, strerror(errno));
	}
	ck_assert_int_eq(wait_for(pid), _i == 1 ? 128 + SIGILL : 1);
	ck_assert_uint_eq(count_of(shared->fd), _i ? 0 : KNOWN_INSNS(1));
	assert_status(shared->fd, _i ? FORBIDDEN : 0);
}
END_TEST

/* Children that were not counted on all CPUs are reported as missed. */
START_TEST(children_on_forbidden_cpu_are_missed)
{
	struct reading r;
	pid_t pid;

	assert_ok(count_narrowed(fd, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_AFFINITY));
	ck_assert_int_eq(wait_for(start_child(FORKED, 100, NULL, 0)), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], INSNS_CHILD(100));
	ck_assert_uint_eq(r.read.children_missed, 0);
	pid = fork();
	if (!pid) {
		signal(SIGILL, SIG_DFL);
		pin(bad);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 128 + SIGILL);
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_uint_eq(r.read.status, ATTACHED | ACTIVE);

	set_affinity(0, BOTH);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	pin(bad);
	ck_assert_int_eq(wait_for(start_child(FORKED, 100, NULL, 0)), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], 0);
	ck_assert_uint_eq(r.read.children_missed, 1);
	pin(good);
	ck_assert_int_eq(wait_for(start_child(FORKED, 100, NULL, 0)), 0);
	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], INSNS_CHILD(100));
	ck_assert_uint_eq(r.read.children_missed, 1);
	ck_assert_int_eq(sigills, 0);
}
END_TEST

/*
 * If states do not exclude perf, it counts and samples on the forbidden CPU, while states
 * have the counters of the other CPU.
 */
START_TEST(perf_counts_on_forbidden_cpu)
{
	unsigned int signals;
	struct sums sums;

	set_affinity(0, BOTH);
	assert_ok(count_insns(fd, 0));
	pin(good);
	loop(10000);
	ck_assert(perf_is_kept_out());
	pin(bad);
	signals = perf_samples(IMODE_PERF, 10000);
	ck_assert_uint_ge(signals, 80);
	pin(good);
	read_sums(fd, &sums);
	loop(10000);
	ck_assert_uint_ge(count_of(fd) - sums.pmc[0], 20000);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, masks_of_allowed_and_forbidden_cpus);
	tcase_add_test(tc, affinity_is_checked);
	tcase_add_test(tc, control_narrows_affinity);
	tcase_add_test(tc, open_narrows_affinity);
	tcase_add_test(tc, affinity_is_intersected);
	tcase_add_test(tc, no_allowed_cpu_left);
	tcase_add_test(tc, cpuset_is_respected);
	tcase_add_test(tc, affinity_survives_rewrite_of_cpuset);
	tcase_add_test(tc, cpuset_is_rewritten_meanwhile);
	tcase_add_test(tc, tsc_only);
	tcase_add_test(tc, moved_while_counting);
	tcase_add_test(tc, moved_while_suspended);
	tcase_add_test(tc, moved_by_another);
	if (good)	/* CPU 0 cannot go offline */
		tcase_add_loop_test(tc, last_allowed_cpu_offline, 0, 2);
	tcase_add_test(tc, not_counted_on_forbidden_cpu);
	tcase_add_test(tc, monitor_does_not_move_target);
	tcase_add_loop_test(tc, moved_before_exec, 0, 3);
	tcase_add_test(tc, children_on_forbidden_cpu_are_missed);
	if (!PERF_IS_REFUSED && info.nrkinds == 1)
		tcase_add_test(tc, perf_counts_on_forbidden_cpu);
}

int main(void)
{
	ssize_t n = readlink("/proc/self/exe", known, sizeof(known) - 20);

	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	strcat(dirname(known), "/known");
	open_device();
	good = __builtin_ffs(kind_cpus(info.kind)) - 1;
	bad = !good;
	if (nr_cpus() != 2 || kind_cpus(info.kind) != 1U << good)
		die("this test needs two CPUs, one of them forbidden");
	return run_tests("forbidden", add);
}
