// SPDX-License-Identifier: GPL-2.0
/* Signals that end perfex: it must print the counts before. */
#include "perfex.h"

static const int end_signals[NR_END_SIGNALS] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

void signals_catch(struct signal_state *s, sigset_t *set,
		   void (*fn)(int sig, siginfo_t *info, void *context))
{
	struct sigaction sa = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	size_t i;

	sigemptyset(set);
	for (i = 0; i < NR_END_SIGNALS; i++) {
		if (!s->known)
			sigaction(end_signals[i], NULL, &s->old[i]);
		/* nohup, or the background of a shell: it remains ignored. */
		if (s->old[i].sa_handler != SIG_IGN)
			sigaddset(set, end_signals[i]);
	}
	sigprocmask(SIG_BLOCK, set, s->known ? NULL : &s->old_mask);
	for (i = 0; fn && i < NR_END_SIGNALS; i++)
		if (sigismember(set, end_signals[i]))
			sigaction(end_signals[i], &sa, NULL);
	/* If SIGCHLD is ignored, children cannot be waited for. */
	sigaction(SIGCHLD, &dfl, s->known ? NULL : &s->old_chld);
	s->known = true;
}

void signals_unblock(const struct signal_state *s)
{
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

void signals_restore(const struct signal_state *s)
{
	size_t i;

	for (i = 0; i < NR_END_SIGNALS; i++)
		sigaction(end_signals[i], &s->old[i], NULL);
	sigaction(SIGCHLD, &s->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}
