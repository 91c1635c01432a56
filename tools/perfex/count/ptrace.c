// SPDX-License-Identifier: GPL-2.0
/*
 * Stop a running thread for a moment, and release it as it was.
 *
 * PTRACE_SEIZE and PTRACE_INTERRUPT leave no trace: they send no signal, and a
 * thread that job control has stopped is stopped afterwards.  A thread that is about
 * to receive a signal stops for that, and receives it when it is released.  All
 * waits use WNOWAIT, so that the stop can be waited for again.  Otherwise the kernel
 * forgets such a signal if a tracer has waited for it and then dies.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfex.h"

#define STOP_TIMEOUT	10	/* seconds */
#define CHECK_INTERVAL	0.01	/* seconds */

pid_t trace_look_up(pid_t tid, const char *proc, bool *ended)
{
	char path[128], line[256], state = 'X';
	int tracer = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/status", proc, (int)tid);
	f = fopen(path, "re");
	if (f) {
		while (fgets(line, sizeof(line), f))
			if (sscanf(line, "State: %c", &state) == 1 ||
			    sscanf(line, "TracerPid: %d", &tracer) == 1)
				continue;
		fclose(f);
	}
	*ended = state == 'Z' || state == 'X';
	return tracer;
}

static bool has_ended(pid_t tid)
{
	bool ended;

	trace_look_up(tid, PROC, &ended);
	return ended;
}

/* The handler of SIGCHLD reads these; they change only while SIGCHLD is blocked. */
static pid_t *tracees;
static unsigned int nrtracees, room;

static int remember_tracee(pid_t tid)
{
	if (nrtracees == room) {
		const unsigned int more = room ? room * 2 : 64;
		pid_t *p = reallocarray(tracees, more, sizeof(*p));

		if (!p)
			return -ENOMEM;
		tracees = p;
		room = more;
	}
	tracees[nrtracees++] = tid;
	return 0;
}

/*
 * Reap tracees that have ended.  One by one, as waiting for all would also find
 * those that have stopped.
 */
static void reap_tracees(void)
{
	siginfo_t info;
	unsigned int i;

	for (i = 0; i < nrtracees; i++) {
		info.si_pid = 0;
		if (!waitid(P_PID, (id_t)tracees[i], &info,
			    WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL) &&
		    info.si_pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
			waitid(P_PID, (id_t)tracees[i], &info, WEXITED | WNOHANG | __WALL);
	}
}

static void on_sigchld(int sig)
{
	int saved = errno;

	(void)sig;
	reap_tracees();
	errno = saved;
}

/*
 * A thread that executes a file waits for the other threads of its process to end.
 * Those that perfex traces end only when perfex reaps them, while its PTRACE_SEIZE
 * waits for the exec.  SIGCHLD breaks this deadlock: its handler reaps them.
 */
static int ptrace_seize(pid_t tid)
{
	struct sigaction sa = { .sa_handler = on_sigchld, .sa_flags = SA_RESTART }, old_sa;
	sigset_t chld, old;
	int err;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigaction(SIGCHLD, &sa, &old_sa);
	sigprocmask(SIG_UNBLOCK, &chld, &old);
	err = ptrace(PTRACE_SEIZE, tid, 0, 0) ? -errno : 0;
	sigprocmask(SIG_SETMASK, &old, NULL);
	sigaction(SIGCHLD, &old_sa, NULL);
	return err;
}

#define TRIES	5

int trace_seize(struct tracee *t)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	int err, tries;
	bool ended;

	t->stopped = false;
	t->signal = 0;
	/* A thread that is in exec, and about to get another id, returns EPERM, too. */
	for (tries = 0; (err = ptrace_seize(t->tid)) == -EPERM && tries < TRIES; tries++) {
		/* A tracee that has executed a file has the id of its process now. */
		if (trace_look_up(t->tid, PROC, &ended) == getpid())
			err = 0;
		if (ended)
			err = -ESRCH;
		if (err != -EPERM)
			break;
		nanosleep(&pause, NULL);
	}
	return err ? err : remember_tracee(t->tid);
}

/* If the thread has ended, waiting for it will show that. */
void trace_interrupt(const struct tracee *t)
{
	ptrace(PTRACE_INTERRUPT, t->tid, 0, 0);
}

/*
 * Look whether the thread has stopped or ended, and leave its status to be waited for.  Return:
 * 1: it has stopped or ended, see *info; 0: neither; -ESRCH: it is gone.
 */
static int look_at_tracee(const struct tracee *t, siginfo_t *info)
{
	int ret;

	do {
		info->si_pid = 0;
		ret = waitid(P_PID, (id_t)t->tid, info,
			     WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL);
	} while (ret && errno == EINTR);
	/* ECHILD: it vanished, as another thread has executed a file. */
	return ret ? -ESRCH : info->si_pid != 0;
}

/*
 * Wait for SIGCHLD, of this or of another thread, but not for long.  The end of
 * a process's first thread sends none before the others are reaped, and the thread
 * that must stop may wait for them, too.
 * Return: 0; -EINTR: a signal in `set` came; -ETIMEDOUT: the thread does not stop.
 */
static int await_change(const sigset_t *set, const struct timespec *start)
{
	const struct timespec ts = { .tv_nsec = (long)(CHECK_INTERVAL * 1e9) };
	sigset_t all = *set;
	int sig;

	if (seconds_since(start) > STOP_TIMEOUT)
		return -ETIMEDOUT;
	sigaddset(&all, SIGCHLD);
	sig = sigtimedwait(&all, NULL, &ts);
	if (sig < 0)
		reap_tracees();
	return sig > 0 && sig != SIGCHLD ? -EINTR : 0;
}

int trace_await(struct tracee *t, const sigset_t *set)
{
	struct timespec start;
	siginfo_t info;
	int ret;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (!(ret = look_at_tracee(t, &info))) {
		ret = await_change(set, &start);
		if (!ret && has_ended(t->tid))
			ret = -ESRCH;
		if (ret)
			return ret;
	}
	if (ret < 0)
		return ret;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
		waitpid(t->tid, NULL, WNOHANG | __WALL);
		return -ESRCH;
	}
	t->stopped = true;
	/* An event, which is above the lower eight bits, is no signal. */
	t->signal = info.si_status >> 8 ? 0 : info.si_status & 0x7f;
	return 0;
}

/* True if it is stopped at the moment: SIGKILL can wake it at any time. */
bool trace_is_stopped(const struct tracee *t)
{
	unsigned long ignored;

	return !ptrace(PTRACE_GETEVENTMSG, t->tid, 0, &ignored);
}

/* The kernel releases a thread that does not stop when perfex exits. */
void trace_release(struct tracee *t)
{
	if (t->stopped)
		ptrace(PTRACE_DETACH, t->tid, 0, (long)t->signal);
	t->stopped = false;
}
