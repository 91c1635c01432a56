/* SPDX-License-Identifier: GPL-2.0 */
/* Events of perf that wait for the counters: for claim.c, and x86's perf-claim.c, perf-admit.c. */
#ifndef VPERFCTR_PERF_WAIT_H
#define VPERFCTR_PERF_WAIT_H

#include <linux/perf_event.h>

/*
 * turned_away: the filter refuses an event of this CPU.  It must then look again whether the
 *	counters are still reserved: this has a full barrier.
 *	Context: interrupts disabled.
 * settle: before a reservation.
 * reschedule: after a release, or a reservation that has failed, and a full barrier.
 * open_pinned: open an event of cycles that is pinned to a CPU, and has this period, or 0, and this
 *	handler of overflows.  perf refuses it where current has no right to it, so this is for
 *	workers, and for when the module is loaded.
 * reschedule_cpu: let perf schedule all events of a CPU again, for which this opens such an event,
 *	and closes it.
 * wait_end: after the last release, while the filter is still in place.
 *
 * Context: may sleep, without cpus_read_lock(), which the worker acquires; reschedule: any;
 * open_pinned, reschedule_cpu: also with that lock, as perf acquires it for no event of a CPU that
 * only counts.
 * The callers of settle and reschedule serialise.
 * Return: 0, or an error of perf's; open_pinned: the event, or ERR_PTR() of the error.
 */
void perfctr_perf_turned_away(void);
void perfctr_perf_settle(void);
void perfctr_perf_reschedule(void);
struct perf_event *perfctr_perf_open_pinned(unsigned int cpu, u64 period,
					    perf_overflow_handler_t handler);
int perfctr_perf_reschedule_cpu(unsigned int cpu, perf_overflow_handler_t handler);
void perfctr_perf_wait_end(void);

#endif /* VPERFCTR_PERF_WAIT_H */
