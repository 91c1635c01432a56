// SPDX-License-Identifier: GPL-2.0
/*
 * Changes to another thread's state stop no CPU but that of the thread, wherever it is:
 * running, asleep, forking or ending.
 */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "service.h"

/* ---- stops of the machine --------------------------------------------------------- */

#define MAX_CPUS	64

/* How often the kernel's threads for stops ran, one for each CPU. */
struct stoppers {
	unsigned long ran[MAX_CPUS];
	unsigned int nr;
};

static struct stoppers stoppers_now(void)
{
	struct stoppers s = { .nr = 0 };
	char path[300], text[200];
	unsigned int cpu;
	struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		die("/proc: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		/* They are among the first threads. */
		if (!pid || pid > 500)
			continue;
		sprintf(path, "/proc/%d/comm", pid);
		if (access(path, R_OK))
			continue;
		read_file(path, text, sizeof(text));
		if (strncmp(text, "migration/", 10))
			continue;
		cpu = atoi(text + strlen("migration/"));
		sprintf(path, "/proc/%d/schedstat", pid);
		read_file(path, text, sizeof(text));
		if (cpu >= MAX_CPUS || sscanf(text, "%*u %*u %lu", &s.ran[cpu]) != 1)
			die("%s: %s", path, text);
		s.nr = cpu >= s.nr ? cpu + 1 : s.nr;
	}
	closedir(dir);
	if (!s.nr)
		die("there are no threads migration/N");
	return s;
}

/*
 * A stop of the machine needs all of these threads, so it happened at most as often as the
 * laziest of them ran.  The scheduler needs one at a time, to move a thread.
 */
static unsigned long stops_since(const struct stoppers *before)
{
	struct stoppers now = stoppers_now();
	unsigned long fewest = -1UL;
	unsigned int cpu;

	for (cpu = 0; cpu < now.nr; cpu++) {
		if (now.ran[cpu] - before->ran[cpu] < fewest)
			fewest = now.ran[cpu] - before->ran[cpu];
	}
	return fewest;
}

#define ROUNDS	200

#define assert_no_stops(before)	ck_assert_uint_lt(stops_since(&(before)), ROUNDS / 4)

/* ---- threads ------------------------------------------------------------------------ */

/* A thread that makes transient states for itself, and the one that closes them. */
static struct {
	volatile u32 fd;		/* 0: the owner's turn */
	volatile u32 end;
	int sleeps;			/* else it runs */
	u32 futex;
} turns;

static void futex_wait(u32 *futex, u32 value)
{
	syscall(SYS_futex, futex, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void futex_wake(u32 *futex)
{
	__atomic_add_fetch(futex, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, futex, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

static void *owning_thread(void *arg)
{
	int round;

	for (round = 0; round < ROUNDS; round++) {
		u32 seen = __atomic_load_n(&turns.futex, __ATOMIC_SEQ_CST);
		int fd = open_state(VPERFCTR_OPEN_TRANSIENT);

		if (count_insns(fd, 0))
			die("CONTROL fails");
		turns.fd = fd;
		while (turns.fd) {
			if (turns.sleeps)
				futex_wait(&turns.futex, seen);
			else
				loop(100);
		}
		/* It is gone at once, wherever this thread was. */
		if (open_thread(0, 0) != -ENOENT)
			die("the state is still there after its last descriptor");
	}
	turns.end = 1;
	return arg;
}

START_TEST(closes)
{
	struct stoppers before;
	pthread_t id;

	settle();
	turns.sleeps = _i;
	before = stoppers_now();
	ck_assert_int_eq(pthread_create(&id, NULL, owning_thread, NULL), 0);
	while (!turns.end) {
		int fd = turns.fd;

		if (!fd) {
			sched_yield();
			continue;
		}
		if (turns.sleeps)
			msleep(1);
		close(fd);
		turns.fd = 0;
		if (turns.sleeps)
			futex_wake(&turns.futex);
	}
	pthread_join(id, NULL);
	assert_no_stops(before);
	settle();
	ck_assert(counters_free());
}
END_TEST

/* ---- families ------------------------------------------------------------------------ */

/* A family's members: one sleeps, one runs, one forks. */
static void start_members(pid_t *pids, volatile u32 *started)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		started[i] = 1;
		for (;;) {
			if (i == 0)
				pause();
			else if (i == 1)
				loop(1000);
			else if (!fork())
				_exit(0);
			else
				wait(NULL);
		}
	}
	for (i = 0; i < 3; i++) {
		while (!started[i])
			sched_yield();
		started[i] = 0;
	}
}

static void kill_members(const pid_t *pids)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		kill(pids[i], SIGKILL);
		wait_for(pids[i]);
	}
}

START_TEST(families)
{
	volatile u32 *started = shared_memory(PAGE);
	struct stoppers before;
	struct reading r;
	pid_t pids[3];
	int fd, i;

	if (!has(VPERFCTR_FEATURE_INHERIT))
		return;
	settle();
	fd = open_state(0);
	before = stoppers_now();
	for (i = 0; i < ROUNDS / 2; i++) {
		assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
		start_members(pids, started);
		assert_ok(stop_all(fd));
		/* All have left: their sums have come, and no more will. */
		read_state(fd, &r);
		ck_assert_uint_eq(r.read.status & CHILDREN, 0);
		ck_assert_uint_gt(r.children[0], 0);
		ck_assert(counters_free());
		kill_members(pids);
	}
	assert_no_stops(before);
	close(fd);
}
END_TEST

/* ---- monitors --------------------------------------------------------------------------- */

static pid_t start_target(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		for (;;)
			raise(SIGSTOP);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("the target did not stop");
	return pid;
}

START_TEST(monitor_calls)
{
	struct stoppers before;
	pid_t pid;
	int fd, i;

	settle();
	pid = start_target();
	fd = open_thread(pid, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(fd, 0);
	before = stoppers_now();
	for (i = 0; i < ROUNDS; i++) {
		int found = open_thread(pid, 0);

		ck_assert_int_ge(found, 0);
		assert_ok(count_insns(found, 0));
		assert_ok(call(found, VPERFCTR_SUSPEND, NULL));
		assert_status(fd, ATTACHED | ACTIVE | SUSPENDED);
		assert_ok(call(found, VPERFCTR_RESUME, NULL));
		assert_status(fd, ATTACHED | ACTIVE);
		close(found);
	}
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_no_stops(before);
	assert_errno(open_thread(pid, 0), ENOENT);
	close(fd);
	ck_assert(counters_free());
	ck_assert_int_eq(module_refs(), 1);
	kill(pid, SIGKILL);
	wait_for(pid);
}
END_TEST

/* ---- races ------------------------------------------------------------------------------- */

/*
 * The owner runs, sleeps, moves, forks, executes and ends while its descriptor is closed
 * and its family dissolved.
 */
static void live(unsigned int seed, int fd)
{
	char *const argv[] = { "/bin/true", NULL };

	count_insns(fd, has(VPERFCTR_FEATURE_INHERIT) ? VPERFCTR_CONTROL_INHERIT : 0);
	loop(seed * 7919 % 3000);
	switch (seed % 6) {
	case 0:
		set_affinity(0, 1);
		set_affinity(0, 2);
		break;
	case 1:
		if (!fork())
			_exit(0);
		wait(NULL);
		break;
	case 2:
		usleep(seed % 300);
		break;
	case 3:
		execv(argv[0], argv);
		break;
	case 4:
		for (;;)
			set_affinity(0, 1 + (seed++ & 1));
	}
}

START_TEST(races)
{
	unsigned int i, step = 0;
	pid_t pid;

	settle();
	for (i = 0; i < ROUNDS; i++) {
		volatile u32 *fd = shared_memory(PAGE);

		pid = fork_files();
		if (!pid) {
			*fd = open_state(VPERFCTR_OPEN_TRANSIENT);
			live(i, *fd);
			_exit(0);
		}
		while (!*fd && !waitpid(pid, NULL, WNOHANG))
			sched_yield();
		step = (step + 977) % 5000;
		loop(step);
		close(*fd);
		munmap((void *)fd, PAGE);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	settle();
	ck_assert(counters_free());
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, closes, 0, 2);
	tcase_add_test(tc, families);
	tcase_add_test(tc, monitor_calls);
	tcase_add_test(tc, races);
}

int main(void)
{
	open_device();
	return run_tests("remote", add);
}
