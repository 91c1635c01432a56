// SPDX-License-Identifier: GPL-2.0
/*
 * Signals while perfex counts: the counts must not be lost, and the command gets what a person
 * or a supervisor sends.
 *
 * SIGKILL and SIGSTOP cannot be caught.  SIGCHLD is about perfex's own children.  The C library
 * keeps two more for itself.
 */
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfex.h"

/* As perfex found them, which is how a command must find them. */
static struct sigaction found[NSIG];
static sigset_t found_mask;
static bool known;

void signals_begin(void)
{
	int sig;

	if (known)
		return;
	for (sig = 1; sig < NSIG; sig++)
		sigaction(sig, NULL, &found[sig]);
	sigprocmask(SIG_BLOCK, NULL, &found_mask);
	known = true;
	/* If SIGCHLD is ignored, children cannot be waited for. */
	signal(SIGCHLD, SIG_DFL);
	/* A write then fails with EFBIG, for which there is a message. */
	signal(SIGXFSZ, SIG_IGN);
}

/* ---- sorts of signals ------------------------------------------------------------------------- */

/* True if perfex could catch it, and if it was not ignored: nohup, or a shell's background. */
static bool can_be_caught(int sig)
{
	return sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD &&
	       found[sig].sa_handler != SIG_IGN;
}

static bool stops(int sig)
{
	return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* True if the signal ends a program that does not know it. */
static bool ends(int sig)
{
	return !stops(sig) && sig != SIGCONT && sig != SIGURG && sig != SIGWINCH;
}

/* True if an instruction may have caused it. */
static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL || sig == SIGTRAP ||
	       sig == SIGSYS;
}

/* True if the kernel sends it for a timer that was set before perfex was executed. */
static bool is_alarm(int sig)
{
	return sig == SIGALRM || sig == SIGVTALRM || sig == SIGPROF;
}

/* ---- before and after counting -------------------------------------------------------------- */

static void (*before_end)(void);

static void end_by_signal(int sig)
{
	before_end();
	sigaction(sig, &found[sig], NULL);
	/* Delivered when the handler returns. */
	raise(sig);
}

void signals_before_end(void (*fn)(void))
{
	struct sigaction sa = { .sa_handler = end_by_signal }, now;
	int sig;

	signals_begin();
	if (before_end)
		return;
	before_end = fn;
	for (sig = 1; sig < NSIG; sig++)
		if (can_be_caught(sig) && ends(sig) && !is_fault(sig) && sig != SIGABRT &&
		    !sigaction(sig, NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(sig, &sa, NULL);
}

void signals_count(void)
{
	signals_begin();
	signal(SIGPIPE, SIG_IGN);
}

void signals_catch(sigset_t *set, bool command,
		   void (*fn)(int sig, siginfo_t *info, void *context))
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_RESTART };
	int sig;

	signals_begin();
	sigemptyset(set);
	for (sig = 1; sig < NSIG; sig++)
		if (can_be_caught(sig) && (command || ends(sig)))
			sigaddset(set, sig);
	sa.sa_mask = *set;
	sigprocmask(SIG_BLOCK, set, NULL);
	for (sig = 1; fn && sig < NSIG; sig++)
		if (sigismember(set, sig) == 1)
			sigaction(sig, &sa, NULL);
}

void signals_unblock(void)
{
	sigprocmask(SIG_SETMASK, &found_mask, NULL);
}

void signals_restore(void)
{
	int sig;

	for (sig = 1; known && sig < NSIG; sig++)
		sigaction(sig, &found[sig], NULL);
	if (known)
		sigprocmask(SIG_SETMASK, &found_mask, NULL);
}

/* ---- passing on ------------------------------------------------------------------------------- */

/*
 * Stop as the signal would have stopped perfex: the shell or supervisor that has sent it waits
 * for that.
 * Context: it is blocked.
 */
static void stop_here(int sig)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL }, old;
	sigset_t set, mask;

	sigaction(sig, &dfl, &old);
	raise(sig);
	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_UNBLOCK, &set, &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(sig, &old, NULL);
}

/* True if the signal asks a program to end, and says nothing of the program itself. */
static bool asks_to_end(int sig)
{
	return sig == SIGINT || sig == SIGQUIT || sig == SIGTERM || sig == SIGHUP;
}

bool signals_pass_on(pid_t command, const struct signal *s)
{
	const bool asks = asks_to_end(s->number);

	/* abort(), or a write that failed: what has failed reports that itself. */
	if (s->code <= 0 && s->from == getpid())
		return !command && s->number == SIGPIPE;
	if (is_fault(s->number) && s->code > 0) {
		sigaction(s->number, &found[s->number], NULL);
		raise(s->number);
		return false;
	}
	/*
	 * The command gets the terminal's signals itself.  It does not expect back those by which
	 * it tells its parent something.
	 */
	if (command > 0 && (s->from != command || asks) && (s->code <= 0 || is_alarm(s->number))) {
		if (s->code == SI_QUEUE)
			sigqueue(command, s->number, s->value);
		else
			kill(command, s->number);
	}
	if (stops(s->number))
		stop_here(s->number);
	return !command || asks;
}

bool signals_take(pid_t command, const struct signalfd_siginfo *info)
{
	const struct signal s = {
		(int)info->ssi_signo, info->ssi_code, (pid_t)info->ssi_pid,
		{ .sival_ptr = (void *)(uintptr_t)info->ssi_ptr },
	};

	return signals_pass_on(command, &s);
}

void signals_end(int wstatus)
{
	const int sig = WIFSIGNALED(wstatus) ? WTERMSIG(wstatus) : 0;
	sigset_t set;

	if (!asks_to_end(sig) || found[sig].sa_handler == SIG_IGN)
		return;
	/* The command has had its chance to dump core. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void signals_forget(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigtimedwait(&set, NULL, &(struct timespec){ .tv_sec = 0 });
}
