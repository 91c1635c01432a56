// SPDX-License-Identifier: GPL-2.0
/*
 * Software counters: numbers that the scheduler and the page-fault handler keep in
 * each task.
 *
 * A software counter runs while `stop` is 0.  Calls, the owner's exec and its end change
 * `stop`; of context switches, only one to a CPU that is an error (STATE_STOP_CPU).  The value
 * is the sum, plus the task's number now, less the task's number at the last start.  So a
 * context switch does nothing for it.  The thread time needs no code either: it is the TSC's
 * sum in nanoseconds, which includes all that perf's task-clock does.  The scheduler's own time
 * of a running task is not exported.
 */
#include <linux/compiler.h>
#include <linux/math64.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seqlock.h>
#include <linux/string.h>

#include "software.h"
#include "state.h"

/* Return a mask of those that this machine has, VPERFCTR_SOFT_*. */
u32 vperfctr_soft_available(void)
{
	u32 all = GENMASK(VPERFCTR_NR_SOFT - 1, 0);

	return perfctr_cpu_info.tsc_khz ? all : all & ~VPERFCTR_SOFT_TASK_CLOCK;
}

/*
 * A number of a task.  Another CPU may change it meanwhile, without an atomic operation:
 * migrations also while the task waits for a CPU.  It only grows, so either value is right.
 *
 * On 32 bits, most of these numbers have 32 bits, and of the others one half is read.  They
 * wrap, so only their differences count.
 */
#define task_number(field)	((unsigned long)data_race(READ_ONCE(field))) /* see above */

static void read_task(const struct task_struct *task, struct vperfctr_soft_sums *now)
{
	now->context_switches = task_number(task->nvcsw) + task_number(task->nivcsw);
	now->migrations = task_number(task->se.nr_migrations);
	now->minor_faults = task_number(task->min_flt);
	now->major_faults = task_number(task->maj_flt);
}

static void add_difference(struct vperfctr_soft_sums *to, const struct vperfctr_soft_sums *now,
			   const struct vperfctr_soft_sums *before)
{
	to->context_switches += (unsigned long)(now->context_switches - before->context_switches);
	to->migrations += (unsigned long)(now->migrations - before->migrations);
	to->minor_faults += (unsigned long)(now->minor_faults - before->minor_faults);
	to->major_faults += (unsigned long)(now->major_faults - before->major_faults);
}

/*
 * Change `stop`, and start or stop the software counters if that asks for it.  The slow
 * path of vperfctr_set_stop().
 *
 * Context: interrupts disabled; the owner is current, or cannot run.
 */
void vperfctr_soft_set_stop(struct vperfctr_state *st, u16 stop)
{
	struct vperfctr_soft_sums now;

	read_task(st->owner, &now);
	raw_write_seqcount_begin(&st->soft_seq);
	if (!st->stop && stop)
		add_difference(&st->soft_sums, &now, &st->soft_start);
	else if (st->stop && !stop)
		st->soft_start = now;
	WRITE_ONCE(st->stop, stop);
	raw_write_seqcount_end(&st->soft_seq);
}

/*
 * Set which software counters the state has, and their sums to zero.
 *
 * Context: as for vperfctr_soft_set_stop(); `stop` is not 0.
 */
void vperfctr_soft_control(struct vperfctr_state *st, u32 soft)
{
	raw_write_seqcount_begin(&st->soft_seq);
	WRITE_ONCE(st->soft, soft);
	memset(&st->soft_sums, 0, sizeof(st->soft_sums));
	raw_write_seqcount_end(&st->soft_seq);
}

/*
 * Return the current sums.
 *
 * Context: any, as the owner is not freed before an RCU grace period.
 */
void vperfctr_soft_read(const struct vperfctr_state *st, struct vperfctr_soft_sums *sums)
{
	const struct task_struct *owner;
	struct vperfctr_soft_sums now;
	unsigned int seq;

	rcu_read_lock();
	do {
		seq = raw_read_seqcount_begin(&st->soft_seq);
		*sums = st->soft_sums;
		owner = READ_ONCE(st->owner);
		if (owner && !READ_ONCE(st->stop)) {
			read_task(owner, &now);
			add_difference(sums, &now, &st->soft_start);
		}
	} while (read_seqcount_retry(&st->soft_seq, seq));
	rcu_read_unlock();
}

/*
 * Keep the sums that belong to the sample of the counters that has just been taken, for
 * another thread.
 *
 * Context: interrupts disabled, on the owner's CPU.
 */
void vperfctr_soft_sample(struct vperfctr_state *st)
{
	vperfctr_soft_read(st, &st->soft_sampled);
	/* A reader that sees this number also sees the sums. */
	smp_store_release(&st->soft_samplecount, st->cpu_state.page->samplecount);
}

/*
 * Return in *sums the software counters' sums of the moment at which the owner last stored the
 * sums in the page.  The caller is another thread.
 *
 * Context: between two reads of the page's samplecount, of which this is the first.
 * Return: false if the owner has been switched since the last sample; *sums are newer than
 * the sums in the page.
 */
bool vperfctr_soft_read_other(const struct vperfctr_state *st, u32 samplecount,
			      struct vperfctr_soft_sums *sums)
{
	/* Pairs with vperfctr_stop(): the counters' sums are final, too. */
	if (vperfctr_cpu_of(st) < 0) {
		vperfctr_soft_read(st, sums);
		return true;
	}
	/* Pairs with vperfctr_soft_sample(). */
	if (smp_load_acquire(&st->soft_samplecount) == samplecount) {
		*sums = st->soft_sampled;
		return true;
	}
	vperfctr_soft_read(st, sums);
	return false;
}

/* Add sums to others, for example a member's final ones to its root's. */
void vperfctr_soft_add(struct vperfctr_soft_sums *to, const struct vperfctr_soft_sums *sums)
{
	to->context_switches += sums->context_switches;
	to->migrations += sums->migrations;
	to->minor_faults += sums->minor_faults;
	to->major_faults += sums->major_faults;
}

/*
 * Return a sum of the TSC in nanoseconds.  The quotient and the remainder are converted
 * on their own, so that no product exceeds 64 bits.
 */
u64 vperfctr_ns_of_tsc(u64 tsc)
{
	u32 khz = perfctr_cpu_info.tsc_khz, rest;
	u64 ms = div_u64_rem(tsc, khz, &rest);

	return ms * NSEC_PER_MSEC + div_u64((u64)rest * NSEC_PER_MSEC, khz);
}

/* Fill in the counts of the interface that `soft` has, from sums and the TSC's sum. */
void vperfctr_soft_fill(u32 soft, const struct vperfctr_soft_sums *sums, u64 tsc,
			u64 counts[VPERFCTR_NR_SOFT])
{
	memset(counts, 0, VPERFCTR_NR_SOFT * sizeof(counts[0]));
	if (soft & VPERFCTR_SOFT_TASK_CLOCK)
		counts[0] = vperfctr_ns_of_tsc(tsc);
	if (soft & VPERFCTR_SOFT_CONTEXT_SWITCHES)
		counts[1] = sums->context_switches;
	if (soft & VPERFCTR_SOFT_MIGRATIONS)
		counts[2] = sums->migrations;
	if (soft & VPERFCTR_SOFT_MINOR_FAULTS)
		counts[3] = sums->minor_faults;
	if (soft & VPERFCTR_SOFT_MAJOR_FAULTS)
		counts[4] = sums->major_faults;
}
