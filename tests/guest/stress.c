// SPDX-License-Identifier: GPL-2.0
/*
 * usage: stress [SECONDS]		SEED=n in the environment repeats a run
 *
 * Workers let threads with states live and end in all possible ways, at random and at
 * the same time.  Meanwhile another process takes a CPU offline and back, tries to unload
 * the module, and tries to get the counters for perf.  A third one counts and samples CPUs.
 * The seed and a worker's number
 * determine its choices.  Counted code has a known length, so a count that is not exact
 * ends the test.  Only processes that a SIGKILL hits at a random moment are not checked.
 *
 * Needs -icount: counts are then exact with several CPUs too, as the emulator runs the
 * CPUs in turns.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "cpus.h"
#include "known.h"

#define WORKERS		6
#define LEAVES		6

/* stress-code.S */
long read_loop_read(int fd, unsigned int cmd, struct vperfctr_read *before,
		    struct vperfctr_read *after, unsigned long n);
long spawn_tree(unsigned long flags, unsigned long leaves, unsigned long n);
void stop_and_loop(pid_t self, unsigned long n) __attribute__((noreturn));

static unsigned int seed, worker;
static unsigned long step;
static const char *doing = "calibration";
static u64 rng;
static time_t deadline;
static u32 inherit;		/* VPERFCTR_CONTROL_INHERIT if there is such a feature */

/* Numbers of things that the workers have done, in shared memory. */
static struct {
	u64 exact, self, beside, trees, traced, execs, killed, signals, samples, attached;
	u64 offline, perf, held, unload, sets;
	bool wanted;		/* by a set of CPUs: workers begin no lives */
} *did;

#define DID(what)	__atomic_add_fetch(&did->what, 1, __ATOMIC_RELAXED)

/* ---- random choices -------------------------------------------------------- */

/* xorshift64*: good enough, and the same on all systems. */
static u32 random32(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (rng * 2685821657736338717ULL) >> 32;
}

static u32 below(u32 n)
{
	return random32() % n;
}

static void seed_worker(unsigned int n)
{
	worker = n;
	rng = (u64)seed << 32 | (n + 1) * 0x9e3779b9U;
	for (int i = 0; i < 8; i++)
		random32();
}

static bool time_is_up(void)
{
	return time(NULL) >= deadline;
}

__attribute__((noreturn, format(printf, 1, 2)))
static void wrong(const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	die("SEED=%u worker %u step %lu, %s: %s", seed, worker, step, doing, text);
}

static void check_count(u64 count, u64 expected)
{
	if (count != expected)
		wrong("counted %llu instead of %llu", count, expected);
	DID(exact);
}

static void check_ok(int err)
{
	if (err)
		wrong("%s", strerror(-err));
}

/* ---- shared by all lives ----------------------------------------------------- */

static int state_of(pid_t tid, u32 flags)
{
	struct vperfctr_open open = { .size = sizeof(open), .tid = tid, .flags = flags };

	return call(dev, VPERFCTR_OPEN, &open);
}

static int own_state(u32 flags)
{
	int fd = state_of(0, VPERFCTR_OPEN_CREAT | flags);

	if (fd < 0)
		wrong("OPEN: %s", strerror(-fd));
	return fd;
}

/* Count instructions in user mode, by a random counter. */
static void choose_counter(struct vperfctr_ctr *ctr)
{
	if (have_fixed_insns() && below(2)) {
		ctr->map = FIXED_INSNS;
		ctr->evntsel = FIXED_USER;
	} else {
		ctr->map = below(nr_common_general());
		ctr->evntsel = INSNS_USER;
		adapt_ctr(ctr);
	}
}

/*
 * Choose the counter of a control that has one; and the TSC, sometimes.  A thread may run
 * on each kind of CPUs: where there are several, the control has a counter of its own for
 * each.  With one kind only, both sorts of controls are exact.
 */
static void control_random(struct control *control)
{
	control->c.tsc_on = below(2);
	if (info.nrkinds > 1 || below(2))
		control_any_kind(control);
	for (u32 i = 0; i < info.nrkinds; i++)
		choose_counter(&control->ctr[i]);
}

/* Count instructions in user mode, by a random counter. */
static int count_instructions(int fd, u32 flags)
{
	struct control control;
	int err;

	control_init(&control, 0);
	control.c.nractrs = 1;
	control_random(&control);
	control.c.flags = flags;
	err = set_control(fd, &control);
	if (err == -EBUSY)
		DID(held);
	return err;
}

/* The same, but retry while perf holds the counters. */
static void count_patiently(int fd, u32 flags)
{
	int err;

	while ((err = count_instructions(fd, flags)) == -EBUSY)
		sched_yield();
	if (err)
		wrong("CONTROL: %s", strerror(-err));
}

struct reading {
	struct vperfctr_read read;
	u64 own[2], children[2];
};

static struct vperfctr_read *init_reading(struct reading *r)
{
	memset(r, 0, sizeof(*r));
	r->read.size = sizeof(r->read);
	r->read.nrctrs = 1;
	r->read.sums = (uintptr_t)r->own;
	r->read.children = (uintptr_t)r->children;
	return &r->read;
}

static void read_state(int fd, struct reading *r)
{
	int err = call(fd, VPERFCTR_READ, init_reading(r));

	if (err)
		wrong("READ: %s", strerror(-err));
}

/* Move to a random CPU, if it is online. */
static void migrate(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(below(nr_cpus()), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static unsigned long some_length(void)
{
	return 1 + below(below(20) ? 2000 : 200000);
}

/* ---- lives: self ------------------------------------------------------------- */

/* Instructions of read_loop_read() besides 2n. */
static u64 self_extra;

static u64 measure_self(int fd, unsigned long n)
{
	struct reading before, after;

	if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after), n))
		wrong("READ failed");
	return after.own[1] - before.own[1];
}

static void live_self(void)
{
	int fd = own_state(below(2) ? VPERFCTR_OPEN_TRANSIENT : 0);
	const struct vperfctr_page *page = below(2) ? map_state(fd) : NULL;

	doing = "self";
	count_patiently(fd, below(2) ? inherit : 0);
	for (u32 i = 1 + below(10); i; i--) {
		unsigned long n = some_length();

		if (!below(3))
			migrate();
		check_count(measure_self(fd, n), self_extra + 2 * n);
		switch (below(6)) {
		case 0:
			check_ok(call(fd, VPERFCTR_SUSPEND, NULL));
			check_count(measure_self(fd, n), 0);
			check_ok(call(fd, VPERFCTR_RESUME, NULL));
			break;
		case 1:
			count_patiently(fd, 0);
			break;
		case 2:
			if (page && page->samplecount & 1)
				wrong("the owner saw an odd samplecount");
			break;
		}
	}
	if (page)
		munmap((void *)page, PAGE);
	if (below(2))
		check_ok(call(fd, VPERFCTR_UNLINK, NULL));
	DID(self);
}

/* ---- lives: several states ----------------------------------------------------- */

/* Count instructions in user mode by this general counter, on each kind of CPUs. */
static void count_by(int fd, u32 nr, u32 flags)
{
	struct control control;
	int err;

	control_init(&control, 0);
	control.c.nractrs = 1;
	control.c.tsc_on = below(2);
	if (info.nrkinds > 1 || below(2))
		control_any_kind(&control);
	for (u32 i = 0; i < info.nrkinds; i++) {
		control.ctr[i].map = nr;
		control.ctr[i].evntsel = INSNS_USER;
		adapt_ctr(&control.ctr[i]);
	}
	control.c.flags = flags;
	while ((err = set_control(fd, &control)) == -EBUSY)
		sched_yield();
	if (err)
		wrong("CONTROL of counter %u: %s", nr, strerror(-err));
}

/* A state counts the TSC alone if all counters are used. */
static int open_beside(u32 i)
{
	int fd = own_state(VPERFCTR_OPEN_TRANSIENT | (i ? VPERFCTR_OPEN_OBSERVER : 0));
	struct control control;

	if (i < nr_common_general()) {
		count_by(fd, i, below(2) ? inherit : 0);
		return fd;
	}
	control_init(&control, 0);
	control.c.tsc_on = 1;
	check_ok(set_control(fd, &control));
	return fd;
}

/* Up to eight states, each of which counts, is suspended, and comes and goes on its own. */
static void live_beside(void)
{
	u32 nr = 2 + below(VPERFCTR_MAX_STATES - 1), nrctrs = nr_common_general();
	int fd[VPERFCTR_MAX_STATES];

	doing = "beside";
	if (nrctrs > nr)
		nrctrs = nr;
	for (u32 i = 0; i < nr; i++)
		fd[i] = open_beside(i);
	for (u32 rounds = 2 + below(20); rounds; rounds--) {
		u32 i = below(nrctrs), other = below(nr);
		unsigned long n = some_length();

		if (!below(3))
			migrate();
		check_count(measure_self(fd[i], n), self_extra + 2 * n);
		switch (below(5)) {
		case 0:
			check_ok(call(fd[other], VPERFCTR_SUSPEND, NULL));
			check_count(measure_self(fd[i], n), i == other ? 0 : self_extra + 2 * n);
			check_ok(call(fd[other], VPERFCTR_RESUME, NULL));
			break;
		case 1:
			close(fd[other]);
			if (i != other)
				check_count(measure_self(fd[i], n), self_extra + 2 * n);
			fd[other] = open_beside(other);
			break;
		case 2:
			if (other < nrctrs)
				count_by(fd[other], other, 0);
			break;
		}
	}
	DID(beside);
}

/* ---- lives: overflows, with signals and with a ring ------------------------------ */

/* Start one i-mode counter, with a period too long for throttling. */
static u64 overflow_patiently(int fd, int sig, u32 flags)
{
	u64 period = 20011 + below(50000);
	struct control control;
	int err;

	control_init(&control, 0);
	control.c.nrictrs = 1;
	control.ctr[0].ireset = -period;
	control_random(&control);
	control.c.si_signo = sig;
	control.c.flags = flags;
	while ((err = set_control(fd, &control)) == -EBUSY)
		sched_yield();
	if (err)
		wrong("CONTROL with an i-mode counter: %s", strerror(-err));
	return period;
}

static int overflow_fd;
static u64 overflow_period;
static volatile u64 overflows;

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	struct reading r;

	(void)sig;
	(void)context;
	overflows++;
	if (si->si_code != SI_PMC_OVF || si->si_pmc_ovf_mask != 1)
		wrong("si_code %d, mask %#x", si->si_code, si->si_pmc_ovf_mask);
	read_state(overflow_fd, &r);
	check_count(r.own[1], overflows * overflow_period);
	if (r.read.overflow != 1)
		wrong("READ has %#llx for what overflowed", r.read.overflow);
	check_ok(call(overflow_fd, VPERFCTR_IRESUME, NULL));
}

static void live_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO };
	int sig = below(2) ? SIGPROF : SIGRTMIN + below(20);
	struct reading r;

	doing = "signals";
	sigaction(sig, &action, NULL);
	overflow_fd = own_state(below(2) ? VPERFCTR_OPEN_TRANSIENT : 0);
	for (u32 i = 1 + below(3); i; i--) {
		overflows = 0;
		/* In time: the first overflow is 20011 instructions away. */
		overflow_period = overflow_patiently(overflow_fd, sig, 0);
		for (u32 j = 1 + below(10); j; j--) {
			if (!below(3))
				migrate();
			loop(some_length());
			if (!below(4)) {
				check_ok(call(overflow_fd, VPERFCTR_SUSPEND, NULL));
				loop(some_length());
				check_ok(call(overflow_fd, VPERFCTR_RESUME, NULL));
			}
		}
		check_ok(call(overflow_fd, VPERFCTR_SUSPEND, NULL));
		read_state(overflow_fd, &r);
		check_count(overflows, r.own[1] / overflow_period);
	}
	DID(signals);
}

static void live_samples(void)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 64, .watermark = 1 + below(64), .nrsums = 1,
	};
	int fd = own_state(below(2) ? VPERFCTR_OPEN_TRANSIENT : 0);
	const volatile struct vperfctr_ring_page *page;
	u64 period, made, nr;
	struct reading r;

	doing = "samples";
	check_ok(call(fd, VPERFCTR_RING, &req));
	page = mmap(NULL, req.map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
	if (page == MAP_FAILED)
		wrong("mmap of the ring: %s", strerror(errno));
	for (u32 i = 1 + below(3); i; i--) {
		made = page->head + page->dropped;
		period = overflow_patiently(fd, 0, VPERFCTR_CONTROL_RING);
		for (u32 j = 1 + below(10); j; j--) {
			unsigned long n = some_length();

			if (!below(3))
				migrate();
			check_count(measure_self(fd, n), self_extra + 2 * n);
			nr = page->head - page->tail;
			if (nr > 64)
				wrong("%llu samples in the ring", nr);
			if (nr && !below(3)) {
				nr = 1 + below(nr);
				check_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)nr));
			}
		}
		check_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		read_state(fd, &r);
		check_count(page->head + page->dropped - made, r.own[1] / period);
	}
	DID(samples);
}

/* ---- lives: a tree ------------------------------------------------------------- */

#define LEAF_PROCESS	SIGCHLD
#define LEAF_THREAD	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
			 CLONE_SYSVSEM | CLONE_VFORK)

/* The count of a tree with one leaf of n = 1, and of each further leaf; by kind of leaf. */
static u64 tree_one[2], tree_more[2];

static u64 measure_tree(int fd, bool threads, unsigned long leaves, unsigned long n)
{
	struct reading before, after;
	long pid;
	int status;

	read_state(fd, &before);
	pid = spawn_tree(threads ? LEAF_THREAD : LEAF_PROCESS, leaves, n);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		wrong("the tree's trunk ended with %#x", status);
	read_state(fd, &after);
	if (after.read.children_missed || (after.read.status & VPERFCTR_STATUS_CHILDREN))
		wrong("missed %llu children, status %#x", after.read.children_missed, after.read.status);
	return after.children[1] - before.children[1];
}

static void live_tree(void)
{
	int fd = own_state(0);

	doing = "tree";
	count_patiently(fd, VPERFCTR_CONTROL_INHERIT);
	for (u32 i = 1 + below(4); i; i--) {
		unsigned long leaves = 1 + below(LEAVES), n = some_length();
		bool threads = below(2);

		if (!below(3))
			migrate();
		check_count(measure_tree(fd, threads, leaves, n),
		       tree_one[threads] + (leaves - 1) * tree_more[threads] +
		       leaves * 2 * (n - 1));
	}
	DID(trees);
}

/* ---- lives: exec ------------------------------------------------------------- */

static void live_exec(void)
{
	char *args[4] = { "known", "a", "b", NULL };
	int argc = 1 + below(3), fd = -1, pipefd[2];
	struct reading r;
	pid_t pid;

	doing = "exec";
	args[argc] = NULL;
	if (pipe(pipefd))
		wrong("pipe");
	/* Until the exec, the child's descriptor is the parent's too. */
	pid = fork_files();
	if (!pid) {
		fd = own_state(VPERFCTR_OPEN_TRANSIENT);
		count_patiently(fd, VPERFCTR_CONTROL_START_ON_EXEC);
		if (write(pipefd[1], &fd, sizeof(fd)) != sizeof(fd))
			wrong("write");
		execv("/tests/known", args);
		wrong("exec");
	}
	if (read(pipefd[0], &fd, sizeof(fd)) != sizeof(fd))
		wrong("read");
	if (below(2))
		read_state(fd, &r);
	wait_for(pid);
	read_state(fd, &r);
	check_count(r.own[1], KNOWN_INSNS(argc));
	close(fd);
	close(pipefd[0]);
	close(pipefd[1]);
	DID(execs);
}

/* ---- lives: under ptrace, and killed at any moment ------------------------------ */

static u64 traced_extra;

static void wait_stopped(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		wrong("the traced process ended with %#x", status);
}

static pid_t start_traced(unsigned long n)
{
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		stop_and_loop(getpid(), n);
	}
	wait_stopped(pid);
	return pid;
}

static void continue_traced(pid_t pid)
{
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		wrong("PTRACE_CONT");
	wait_stopped(pid);
}

/* Count from one stop to the next. */
static u64 measure_traced(int fd, pid_t pid)
{
	struct reading before, after;

	read_state(fd, &before);
	continue_traced(pid);
	read_state(fd, &after);
	return after.own[1] - before.own[1];
}

static void live_traced(void)
{
	unsigned long n = some_length();
	pid_t pid = start_traced(n);
	int fd = state_of(pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);

	doing = "traced";
	if (fd < 0)
		wrong("OPEN: %s", strerror(-fd));
	count_patiently(fd, 0);
	for (u32 i = 1 + below(4); i; i--) {
		check_count(measure_traced(fd, pid), traced_extra + 2 * n);
		switch (below(4)) {
		case 0:
			check_ok(call(fd, VPERFCTR_SUSPEND, NULL));
			check_count(measure_traced(fd, pid), 0);
			check_ok(call(fd, VPERFCTR_RESUME, NULL));
			break;
		case 1:
			count_patiently(fd, 0);
			break;
		case 2:
			/* A transient state ends with its descriptor. */
			close(fd);
			fd = state_of(pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
			if (fd < 0)
				wrong("OPEN again: %s", strerror(-fd));
			count_patiently(fd, 0);
			break;
		}
	}
	kill(pid, SIGKILL);
	wait_for(pid);
	close(fd);
	DID(traced);
}

/* Check the result of a call on a thread that may be dying. */
static void check_dying(int err)
{
	if (err < 0 && err != -ESRCH && err != -EPERM && err != -EBUSY)
		wrong("a call on a dying thread: %s", strerror(-err));
}

/* A monitor's thread gets SIGKILL in the middle of the monitor's calls. */
static void live_killed(void)
{
	pid_t pid = start_traced(some_length()), killer;
	struct reading r;
	int fd;

	doing = "killed";
	killer = fork();
	if (!killer) {
		for (volatile u32 i = below(30000); i; i--)
			;
		kill(pid, SIGKILL);
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		fd = state_of(pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
		check_dying(fd);
		if (fd < 0)
			break;
		check_dying(count_instructions(fd, inherit));
		read_state(fd, &r);
		check_dying(call(fd, below(2) ? VPERFCTR_SUSPEND : VPERFCTR_RESUME, NULL) ==
			    -EINVAL ? 0 : -ESRCH);
		if (below(2))
			check_dying(call(fd, VPERFCTR_UNLINK, NULL));
		close(fd);
	}
	kill(pid, SIGKILL);
	wait_for(pid);
	wait_for(killer);
	DID(killed);
}

/* A whole tree gets SIGKILL while it grows. */
static void live_killed_tree(void)
{
	pid_t pid = fork();

	doing = "killed tree";
	if (!pid) {
		int fd = own_state(0);

		setpgid(0, 0);
		count_instructions(fd, VPERFCTR_CONTROL_INHERIT);
		for (;;) {
			spawn_tree(LEAF_PROCESS, 1 + below(LEAVES), some_length());
			if (!below(4))
				count_instructions(fd, VPERFCTR_CONTROL_INHERIT);
			if (!below(4))
				waitpid(-1, NULL, WNOHANG);
		}
	}
	for (u32 i = below(20); i; i--)
		sched_yield();
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	wait_for(pid);
	DID(killed);
}

/* A thread gets SIGKILL in the middle of its overflows. */
static void live_killed_in_overflows(void)
{
	pid_t pid = fork();

	doing = "killed in overflows";
	if (!pid) {
		struct sigaction action = { .sa_handler = SIG_IGN };
		int fd = own_state(0);

		sigaction(SIGPROF, &action, NULL);
		for (;;) {
			overflow_patiently(fd, SIGPROF, 0);
			for (u32 i = below(20); i; i--) {
				loop(some_length());
				call(fd, VPERFCTR_IRESUME, NULL);
				migrate();
			}
		}
	}
	for (u32 i = below(20); i; i--)
		sched_yield();
	kill(pid, SIGKILL);
	wait_for(pid);
	DID(killed);
}

/* ---- lives: attached to -------------------------------------------------------- */

/* A thread that starts and ends, and looks for the state that it may have got. */
static void *short_thread(void *arg)
{
	int fd = state_of(0, 0);

	loop(1 + (uintptr_t)arg % 2000);
	if (fd >= 0)
		close(fd);
	return NULL;
}

/*
 * Count as the member of a set, in the middle of a process whose threads start and end.
 * The count is exact unless the set has been closed meanwhile.
 */
static void live_as_member(void)
{
	pthread_t threads[3];
	struct reading r;

	for (;;) {
		unsigned long n = some_length();
		u32 i, nr = below(4);
		u64 count;
		int fd;

		for (i = 0; i < nr; i++)
			if (pthread_create(&threads[i], NULL, short_thread,
					   (void *)(uintptr_t)random32()))
				wrong("pthread_create");
		fd = state_of(0, 0);
		if (fd < 0) {
			loop(n);
		} else {
			count = measure_self(fd, n);
			read_state(fd, &r);
			if (r.read.status & VPERFCTR_STATUS_ATTACHED)
				check_count(count, self_extra + 2 * n);
			close(fd);
		}
		while (nr)
			pthread_join(threads[--nr], NULL);
	}
}

/* Count instructions of all threads; any counter. */
static int attach_to(pid_t pid, u32 flags)
{
	struct vperfctr_attach req = { .size = sizeof(req), .tid = pid };
	struct control control;
	char path[40];
	int fd;

	sprintf(path, "/proc/%d/mem", (int)pid);
	req.mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (req.mem_fd < 0)
		wrong("%s: %s", path, strerror(errno));
	control_init(&control, 0);
	control.c.nractrs = 1;
	control_random(&control);
	control.c.flags = flags;
	req.control = (uintptr_t)&control.c;
	while ((fd = call(dev, VPERFCTR_ATTACH, &req)) == -EBUSY)
		sched_yield();
	close(req.mem_fd);
	if (fd < 0)
		wrong("ATTACH: %s", strerror(-fd));
	return fd;
}

static u64 read_members(int fd)
{
	struct reading r;
	int err;

	init_reading(&r)->flags = VPERFCTR_READ_MEMBERS;
	err = call(fd, VPERFCTR_READ, &r.read);
	if (err)
		wrong("READ_MEMBERS: %s", strerror(-err));
	if (r.read.children_missed)
		wrong("a set has missed %llu threads", r.read.children_missed);
	return r.children[1];
}

static void live_attached(void)
{
	const u32 flags[] = {
		0, inherit, inherit ? inherit | VPERFCTR_CONTROL_INHERIT_THREADS : 0,
	};
	u64 before, after;
	int fd, status;
	pid_t pid;

	doing = "attached";
	pid = fork();
	if (!pid)
		live_as_member();
	for (u32 i = 1 + below(5); i; i--) {
		fd = attach_to(pid, flags[below(3)]);
		before = 0;
		for (u32 j = below(20); j; j--) {
			after = read_members(fd);
			if (after < before)
				wrong("a set's sum fell from %llu to %llu", before, after);
			before = after;
			if (!below(3))
				migrate();
			if (below(2))
				sched_yield();
			else
				loop(some_length());
		}
		if (i == 1 && below(2))
			kill(pid, SIGKILL);
		if (below(2)) {
			check_ok(call(fd, VPERFCTR_UNLINK, NULL));
			before = read_members(fd);
			loop(some_length());
			check_count(read_members(fd), before);
		}
		close(fd);
	}
	kill(pid, SIGKILL);
	status = wait_for(pid);
	if (status != 128 + SIGKILL)
		exit(1);
	DID(attached);
}

static void work(unsigned int number)
{
	static void (*const lives[])(void) = {
		live_self, live_beside, live_exec, live_traced, live_killed, live_attached,
		live_attached,
		/* Only with inheritance: */
		live_tree, live_killed_tree,
		/* Only with interrupts, too: */
		live_signals, live_samples, live_killed_in_overflows,
	};
	const u32 all = sizeof(lives) / sizeof(lives[0]);
	const u32 nr = !inherit ? 7 : has(VPERFCTR_FEATURE_PCINT) ? all : 9;

	seed_worker(number);
	for (step = 0; !time_is_up(); step++) {
		while (*(volatile bool *)&did->wanted && !time_is_up())
			msleep(1);
		/* In a process of its own, so that each life ends in its own way. */
		u32 life = below(nr);
		u32 luck = random32();
		pid_t pid = fork();
		int status;

		if (!pid) {
			rng ^= (u64)luck << 16 | 1;
			lives[life]();
			_exit(0);
		}
		status = wait_for(pid);
		if (status)
			exit(status);
	}
	exit(0);
}

/* ---- CPUs ------------------------------------------------------------------------ */

/* The state of a set that was read last. */
static struct cpu_reading last_reading;

/* Read the counts, which only grow.  CPU 0 has counted that many instructions since, at least. */
static void read_set(int fd, u64 least)
{
	struct cpu_reading now;
	u64 before, after;
	u32 i;

	read_cpus(fd, &now);
	for (i = 0; i < now.req.nrcpus; i++) {
		before = pmc_of(&last_reading, i, 0) + (now.cpus[i].cpu ? 0 : least);
		after = pmc_of(&now, i, 0);
		if (after < before || after >> 40)
			wrong("CPU %u has counted %llu, not %llu at least", now.cpus[i].cpu, after,
			      before);
	}
	last_reading = now;
}

/* Set a control of the set.  period: of samples, or 0.  Return: 0 or -EBUSY. */
static int control_set(int fd, u64 period)
{
	struct control control;
	int err;

	control_init(&control, 0);
	control.c.nractrs = !period;
	control.c.nrictrs = !!period;
	control.c.flags = period ? VPERFCTR_CONTROL_RING : 0;
	control.ctr[0].ireset = -period;
	control_random(&control);
	err = set_control(fd, &control);
	if (err && err != -EBUSY)
		wrong("CONTROL of CPUs: %s", strerror(-err));
	if (!err)
		read_cpus(fd, &last_reading);
	return err;
}

/* Count while CPUs go offline, and threads and perf try to get the counters. */
static void count_set(int fd, bool samples)
{
	unsigned long n;
	u32 i;

	for (i = below(10); i; i--) {
		n = some_length();
		loop(n);
		read_set(fd, 2 * n);
		switch (below(6)) {
		case 0:
			check_ok(call(fd, VPERFCTR_SUSPEND, NULL));
			read_set(fd, 0);
			check_ok(call(fd, VPERFCTR_RESUME, NULL));
			break;
		case 1:
			check_ok(control_set(fd, samples ? 5000 + below(50000) : 0));
			break;
		case 2:
			msleep(below(20));
			break;
		}
	}
}

/* Samples are no more than periods that have passed. */
static void check_samples(int fd, const volatile struct vperfctr_ring_page *page, u64 period)
{
	u64 made = page->head + page->dropped, most = 0;
	struct cpu_reading r;

	check_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	read_cpus(fd, &r);
	for (u32 i = 0; i < r.req.nrcpus; i++)
		most += pmc_of(&r, i, 0) / period;
	if (made > most)
		wrong("%llu samples of CPUs, not %llu at most", made, most);
}

static void live_set(int fd, u64 period)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 64, .watermark = 1 + below(64),
	};
	const volatile struct vperfctr_ring_page *page = NULL;
	u32 tries;
	int err;

	if (period) {
		check_ok(call(fd, VPERFCTR_RING, &req));
		page = mmap(NULL, req.map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
		if (page == MAP_FAILED)
			wrong("mmap of the ring: %s", strerror(errno));
	}
	did->wanted = true;
	for (tries = 500; (err = control_set(fd, period)) && tries && !time_is_up(); tries--)
		msleep(1);
	did->wanted = false;
	if (!err) {
		DID(sets);
		if (period && !below(2)) {
			loop(some_length());
			check_samples(fd, page, period);
			check_ok(call(fd, VPERFCTR_RESUME, NULL));
		}
		count_set(fd, period);
	}
	if (page)
		munmap((void *)page, req.map_size);
}

static void count_cpus(void)
{
	const bool samples = has(VPERFCTR_FEATURE_PCINT);
	const u32 all = (1U << nr_cpus()) - 1;
	cpu_set_t first;
	int fd;

	seed_worker(WORKERS + 1);
	doing = "counting CPUs";
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	sched_setaffinity(0, sizeof(first), &first);
	for (step = 0; !time_is_up(); step++) {
		msleep(1 + below(50));
		fd = open_cpus(1 + below(all));
		live_set(fd, samples && below(2) ? 5000 + below(50000) : 0);
		close(fd);
	}
	exit(0);
}

/* ---- disturbers ------------------------------------------------------------------ */

static void disturb(void)
{
	seed_worker(WORKERS);
	doing = "disturbing";
	while (!time_is_up()) {
		int fd;

		msleep(1 + below(20));
		switch (below(3)) {
		case 0:
			if (nr_cpus() < 2)
				break;
			write_file("/sys/devices/system/cpu/cpu1/online", "0");
			msleep(below(10));
			write_file("/sys/devices/system/cpu/cpu1/online", "1");
			DID(offline);
			break;
		case 1:
			/* The other user gets the counters, or not, depending on the workers. */
			fd = other_user_open();
			if (fd >= 0) {
				DID(perf);
				msleep(below(5));
				close(fd);
			}
			break;
		case 2:
			/* The device is open, so unloading must fail. */
			if (!syscall(SYS_delete_module, "vperfctr", O_NONBLOCK) || errno != EAGAIN)
				wrong("the module's unloading: %s", strerror(errno));
			DID(unload);
			break;
		}
	}
	exit(0);
}

/* ---- the whole run ----------------------------------------------------------------- */

static void calibrate(void)
{
	int fd = own_state(0), threads;
	pid_t pid;

	count_patiently(fd, inherit);
	self_extra = measure_self(fd, 1) - 2;
	for (threads = 0; threads < 2 && inherit; threads++) {
		tree_one[threads] = measure_tree(fd, threads, 1, 1);
		tree_more[threads] = measure_tree(fd, threads, 2, 1) - tree_one[threads];
	}
	check_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(fd);

	pid = start_traced(1);
	fd = state_of(pid, VPERFCTR_OPEN_CREAT);
	count_patiently(fd, 0);
	traced_extra = measure_traced(fd, pid) - 2;
	kill(pid, SIGKILL);
	wait_for(pid);
	close(fd);
	/* Known from the source, stress-code.S. */
	if (self_extra != 5 || traced_extra != 6)
		wrong("%llu and %llu instructions besides the loops", self_extra, traced_extra);
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	const char *given = getenv("SEED");
	pid_t pids[WORKERS + 2];
	int failed = 0, nr;

	seed = given ? strtoul(given, NULL, 0) : (unsigned int)time(NULL);
	printf("stress: SEED=%u, %d seconds, %d workers, %d CPUs\n", seed, seconds, WORKERS,
	       nr_cpus());
	fflush(stdout);
	open_device();
	nr = WORKERS + 1 + has(VPERFCTR_FEATURE_CPUS);
	inherit = has(VPERFCTR_FEATURE_INHERIT) ? VPERFCTR_CONTROL_INHERIT : 0;
	did = shared_memory(sizeof(*did));
	calibrate();
	deadline = time(NULL) + seconds;

	for (int i = 0; i < nr; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			if (i > WORKERS)
				count_cpus();
			if (i == WORKERS)
				disturb();
			work(i);
		}
	}
	for (int i = 0; i < nr; i++)
		failed |= wait_for(pids[i]);
	printf("stress: %llu counts exact; lives: self %llu, beside %llu, trees %llu, traced %llu, exec %llu, "
	       "killed %llu, signals %llu, samples %llu, attached %llu; CPU offline %llu, perf %llu, held %llu, unload refused %llu; sets of CPUs %llu\n",
	       did->exact, did->self, did->beside, did->trees, did->traced, did->execs, did->killed,
	       did->signals, did->samples, did->attached, did->offline, did->perf, did->held, did->unload,
	       did->sets);
	if (!did->exact)
		failed = 1;
	return failed;
}
