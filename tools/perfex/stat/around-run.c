// SPDX-License-Identifier: GPL-2.0
/* Before and after a run: --pre, --sync and --post, and --wait. */
#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measuring.h"

/* Return: the status, as wait(2) has it, or -1 */
static int run_shell(const char *command)
{
	int wstatus;
	pid_t pid = fork(), ret;

	if (!pid) {
		files_restore();
		signals_restore();
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(STATUS_NOT_FOUND);
	}
	do {
		ret = pid < 0 ? pid : waitpid(pid, &wstatus, 0);
	} while (ret < 0 && pid > 0 && errno == EINTR);
	return ret < 0 ? -1 : wstatus;
}

/*
 * Run the command of --pre or --post by the shell, as perf does.  system(3) would not do: perfex
 * ignores and blocks signals that the command must find as perfex has found them.  The terminal's
 * signals are for the command.
 */
static int run_hook(const char *command, const char *option, struct error *e)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, interrupt, quit;
	int status;

	if (!command)
		return 0;
	sigaction(SIGINT, &ignore, &interrupt);
	sigaction(SIGQUIT, &ignore, &quit);
	status = run_shell(command);
	sigaction(SIGINT, &interrupt, NULL);
	sigaction(SIGQUIT, &quit, NULL);
	if (!status)
		return 0;
	return fail_with(e, "'%.200s' of %s has failed, with status %d", command, option,
			 status < 0 ? STATUS_FAILED : run_status(status));
}

int before_run(const struct stat_options *o, struct error *e)
{
	if (run_hook(o->pre, "--pre", e))
		return -1;
	if (o->sync)
		sync();
	return 0;
}

int after_run(const struct stat_options *o, struct error *e)
{
	return run_hook(o->post, "--post", e);
}

#define TRY_INTERVAL	50	/* milliseconds */

bool wait_for_counters(struct patience *p, struct error *e)
{
	struct error busy = *e;
	sigset_t set;
	int sig;

	if (!e->busy || p->seconds <= 0)
		return false;
	if (!p->begun)
		clock_gettime(CLOCK_MONOTONIC, &p->since);
	if (!p->begun && is_terminal(stderr))
		fprintf(stderr, "perfex: waiting: %s\n", e->text);
	p->begun = true;
	if (seconds_since(&p->since) >= p->seconds)
		return fail_with(e, "%.900s (perfex has waited for %g seconds)", busy.text, p->seconds), false;
	signals_catch(&set, false, NULL);
	sig = sigtimedwait(&set, NULL, &(struct timespec){ .tv_nsec = TRY_INTERVAL * 1000000L });
	signals_unblock();
	if (sig > 0 || run_told_to_end())
		return fail_with(e, "a signal ended the waiting for the counters: %.900s", busy.text), false;
	return true;
}
