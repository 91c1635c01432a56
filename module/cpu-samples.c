// SPDX-License-Identifier: GPL-2.0
/*
 * Overflows of counted CPUs: each makes a sample of the thread that runs there.
 *
 * The handler makes the sample at once, whatever it has interrupted.  Where the interrupt is an
 * NMI, that may be the kernel with interrupts disabled: then all of the kernel can be sampled,
 * and no event is missed until interrupts are enabled.  Only the code of cpus.c that changes
 * the counters of its CPU must not be disturbed: it handles the overflow itself when it is
 * done.
 */
#include <linux/compiler.h>
#include <linux/err.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>

#include "buffer.h"
#include "cpus.h"
#include "overflow.h"
#include "ring.h"
#include "state.h"
#include "user-frame.h"

/* This CPU is changing its counters: a handler that comes meanwhile must not. */
static DEFINE_PER_CPU(bool, changing);

/* True if the thread has been in user mode, and so has registers of it. */
static bool has_user_mode(const struct task_struct *task)
{
	return task->mm && !(task->flags & PF_KTHREAD);
}

/*
 * Where the overflow was: in the kernel if the ring may have that address, with its calls
 * saved; else in user mode.  0: not known.
 *
 * `regs`: what an interrupt has found, or NULL.
 * Context: any interrupt.
 */
static u64 find_ip(struct vperfctr_state *st, struct pt_regs *regs)
{
	if (regs && user_mode(regs))
		return instruction_pointer(regs);
	if (regs && st->cpu_state.control.kernel && vperfctr_ring_has_kernel(st)) {
		vperfctr_save_calls(st, regs, false);
		return instruction_pointer(regs);
	}
	/* An exec changes these registers. */
	return has_user_mode(current) && !current->in_execve ? vperfctr_user_ip(current) : 0;
}

/*
 * Add a sample of current to the set's ring.
 *
 * Context: any interrupt; the sums are up to date.
 */
static void add_sample(struct vperfctr_state *st, u64 ip, struct perfctr_overflow overflow)
{
	struct vperfctr_sampler *sampler = st->sampler;
	bool hides_user = sampler->hides_user || !has_user_mode(current);

	sampler->hides_user = false;
	if (unlikely(!overflow.ctrs))
		return;
	st->owner = current;
	sampler->hides_user = hides_user;
	sampler->mm = current->mm;
	sampler->pid = 0;
	sampler->tid = 0;
	/* The idle task of each CPU has no other id, and may be where RCU is not watching. */
	if (current->pid) {
		sampler->pid = task_tgid_nr_ns(current, sampler->ring->ns);
		sampler->tid = task_pid_nr_ns(current, sampler->ring->ns);
	}
	if (vperfctr_ring_add(st, ip, overflow))
		vperfctr_wake_pollers(vperfctr_ring_waiters(st));
	sampler->hides_user = false;
	st->owner = NULL;
}

/* Handle an overflow of counters that are stopped, and restart them. */
static void handle(struct vperfctr_state *st, u64 ip)
{
	bool kernel = vperfctr_ring_counts_kernel(st);

	if (kernel)
		vperfctr_ring_begin_kernel(st);
	add_sample(st, ip, perfctr_cpu_take_overflow(&st->cpu_state, st->ring_shift));
	perfctr_cpu_restart(&st->cpu_state);
	if (kernel)
		vperfctr_ring_end_kernel(st);
}

/*
 * Begin to change the counters of this CPU.
 *
 * Context: interrupts disabled, or NMI.
 */
void vperfctr_cpu_begin_change(void)
{
	__this_cpu_write(changing, true);
	barrier();
}

/*
 * End a change: handle the overflows that came meanwhile, if the counters run.
 *
 * The work for one overflow may cause the next if the kernel is counted.  The period then grows
 * until it is longer than that work, so the loop ends.
 *
 * Context: as for vperfctr_cpu_begin_change(); the caller changes nothing after this.
 */
void vperfctr_cpu_end_change(struct vperfctr_state *st)
{
	for (;;) {
		while (READ_ONCE(st->pending)) {
			WRITE_ONCE(st->pending, false);
			handle(st, st->pending_ip);
		}
		__this_cpu_write(changing, false);
		barrier();
		/* A handler may have come before.  No other comes as long as this is pending. */
		if (likely(!READ_ONCE(st->pending)))
			return;
		vperfctr_cpu_begin_change();
	}
}

/*
 * Handle an overflow: this is the perfctr_ihandler while CPUs are counted.
 *
 * Context: any interrupt, or the code of cpus.c that changes these counters.
 */
void vperfctr_cpus_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	struct vperfctr_state *st = container_of(state, struct vperfctr_state, cpu_state);

	if (unlikely(st->pending))
		return;
	st->pending_ip = find_ip(st, regs);
	WRITE_ONCE(st->pending, true);
	if (__this_cpu_read(changing))
		return;
	/* The kernel may be about to change the memory that user mode sees. */
	st->sampler->hides_user = regs && !user_mode(regs) && !perfctr_takes_interrupts(regs);
	vperfctr_cpu_begin_change();
	vperfctr_cpu_end_change(st);
}

/*
 * Make a sample of an overflow that came before the counters were stopped.
 *
 * Context: interrupts disabled, on the CPU of the counters, which are suspended.
 */
void vperfctr_cpu_last_sample(struct vperfctr_state *st)
{
	u64 ip = st->pending ? st->pending_ip : find_ip(st, NULL);

	st->pending = false;
	add_sample(st, ip, perfctr_cpu_identify_overflow(&st->cpu_state, st->ring_shift));
}

/*
 * Let the counters of a CPU put their samples into the ring of the set.
 *
 * Context: may sleep; the CPU makes no samples.
 * Return: 0 or -ENOMEM.
 */
int vperfctr_cpu_samples_begin(struct vperfctr_state *st, const struct vperfctr_state *root)
{
	return st->sampler ? 0 : vperfctr_ring_inherit(st, root, GFP_KERNEL);
}
