// SPDX-License-Identifier: GPL-2.0
/*
 * Print "ready", wait for a signal, print its number and its value, and exit with status 9.  A
 * signal that cannot be caught, or that ends nothing, has its usual effect.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t got, value;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)context;
	value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
	got = sig;
}

int main(void)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	sigset_t all, old;
	int sig;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	for (sig = 1; sig <= SIGRTMAX; sig++)
		sigaction(sig, &sa, NULL);
	puts("ready");
	fflush(stdout);
	while (!got)
		sigsuspend(&old);
	printf("signal %d value %d\n", (int)got, (int)value);
	return 9;
}
