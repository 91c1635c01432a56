// SPDX-License-Identifier: GPL-2.0
/* The module's states, as far as the simulation looks at them in each run. */
#include "sim.h"
#include "account.h"
#include "state.h"
#include "thread.h"

#ifdef SIM_ALIGNS
#define SIM_COUNTS_LINES	true
#else
#define SIM_COUNTS_LINES	false
#endif

struct hlist_node *sim_lead_of_list(void *first)
{
	return &container_of(first, struct vperfctr_state, others.first)->notifier.link;
}

static void check_switched_out(const struct vperfctr_state *st)
{
	sim_require(st->cpu == -1, "a state goes on when its thread is switched out");
	sim_require(st->owner, "a detached state stays linked when its thread is switched out");
}

/* All states of a task have stopped: its sched_out has been called. */
void sim_check_switched_out(struct task_struct *task)
{
	const struct vperfctr_state *lead;
	struct hlist_node *node;

	/* The module's accesses are counted there: see cost.c. */
	if (SIM_COUNTS_LINES)
		return;
	lead = vperfctr_lead_of(task);
	if (!lead)
		return;
	check_switched_out(lead);
	for (node = lead->others.first; node; node = node->next)
		check_switched_out(vperfctr_of_node(node));
}

/*
 * A state is freed: it counts nowhere, and no thread has it.  One that no thread has ever had, such as
 * that of a counted CPU, has nothing of a thread's.
 */
void sim_check_freed(const void *p)
{
	const struct vperfctr_state *st = p;

	if (SIM_COUNTS_LINES)
		return;
	sim_require(st->cpu == -1 && !st->owner && !st->call && !st->reads && !st->reads_by,
		    "a state is freed that is still in use");
	sim_require(st->creator || !(st->bits & ~BIT(STATE_QUEUED)),
		    "a state that no thread has had has the bits %#lx", st->bits);
}

int sim_limit_stops(unsigned int nrstops)
{
	return vperfctr_limit_stops(vperfctr_lead_of(current)->account, nrstops, 0);
}
