/* SPDX-License-Identifier: GPL-2.0 */
/* What the tests of i-mode counters have in common. */
#ifndef GUEST_OVERFLOW_H
#define GUEST_OVERFLOW_H

#include <signal.h>
#include <string.h>

#include "common.h"

/* Appended: a-mode counters have to be there already. */
static inline void control_add_imode(struct control *control, u32 map, u64 evntsel, u64 period)
{
	struct vperfctr_ctr *ctr = &control->ctr[control->c.nractrs + control->c.nrictrs++];

	ctr->map = map;
	ctr->evntsel = evntsel;
	ctr->ireset = -period;
}

static inline void handle(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	if (sigaction(sig, &action, NULL))
		die("sigaction of signal %d: %s", sig, strerror(errno));
}

#endif /* GUEST_OVERFLOW_H */
