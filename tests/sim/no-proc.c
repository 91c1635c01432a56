// SPDX-License-Identifier: GPL-2.0
/* In place of holders.c and perf-uses.c: there is no /proc.  But each share is held once. */
#include "sim.h"
#include "common.h"
#include "reservation.h"
#include "state.h"

static bool is_held(const struct hlist_node *node)
{
	return node->pprev;
}

static void hold(struct hlist_node *node)
{
	sim_require(!is_held(node), "a share is held twice");
	node->pprev = &node->next;
}

static void unhold(struct hlist_node *node)
{
	sim_require(is_held(node), "a share that is not held is released");
	node->pprev = NULL;
}

void vperfctr_hold(struct vperfctr_state *st)
{
	hold(&st->holder);
}

void vperfctr_unhold(struct vperfctr_state *st)
{
	unhold(&st->holder);
}

void vperfctr_hold_cpus(struct vperfctr_cpus_holder *holder)
{
	hold(&holder->link);
}

void vperfctr_unhold_cpus(struct vperfctr_cpus_holder *holder)
{
	unhold(&holder->link);
}

void vperfctr_report_holder(void)
{
}

bool vperfctr_report_refusal(void)
{
	return false;
}

void vperfctr_holders_init(void)
{
}

void vperfctr_holders_exit(void)
{
}

void perfctr_perf_uses_init(perfctr_refusal_report *report)
{
}

void perfctr_perf_uses_exit(void)
{
}

void perfctr_perf_refused(const struct perf_event *event)
{
}
