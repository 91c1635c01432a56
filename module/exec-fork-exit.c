// SPDX-License-Identifier: GPL-2.0
/*
 * A thread's exec, fork and exit, and what they do to its state.
 *
 * These are tracepoint probes.  They run in the context of the thread, or of the parent
 * for fork, and must not sleep.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/binfmts.h>
#include <linux/cred.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "compat/dumpable.h"
#include "compat/tracepoint.h"
#include "family.h"
#include "ring.h"
#include "software.h"
#include "state.h"
#include "thread.h"

/*
 * True if the caller must not watch the instructions of the new program.  ptrace and
 * core dumps are refused for the same programs.  The result does not depend on
 * fs.suid_dumpable, which an administrator may have set.
 */
static bool is_privileged_exec(const struct linux_binprm *bprm)
{
	const struct cred *cred = current_cred();

	return bprm->secureexec || (bprm->interp_flags & BINPRM_FLAGS_ENFORCE_NONDUMP) ||
	       !uid_eq(cred->euid, cred->uid) || !gid_eq(cred->egid, cred->gid) ||
	       !perfctr_current_dumpable();
}

static void state_exec(struct vperfctr_state *st, bool privileged)
{
	bool ends = privileged || (st->flags & VPERFCTR_CONTROL_END_ON_EXEC);

	/* The start of another state may have executed a call that has detached this one. */
	if (unlikely(!READ_ONCE(st->owner)))
		return;
	vperfctr_ring_exec(st);
	vperfctr_record_exec(st, ends);
	if (ends) {
		if (privileged)
			set_bit(STATE_PRIVILEGED, &st->bits);
		vperfctr_detach_current(st, true);
		vperfctr_finish_detach_later(st);
	} else {
		vperfctr_set_stop(st, st->stop & ~STATE_STOP_EXEC);
		vperfctr_start(st);
	}
}

static void probe_exec(void *unused, struct task_struct *task, pid_t old_pid,
		       struct linux_binprm *bprm)
{
	struct vperfctr_state *st, *next;
	unsigned long flags;
	bool privileged;

	local_irq_save(flags);
	st = vperfctr_of_current();
	if (unlikely(st)) {
		privileged = is_privileged_exec(bprm);
		for (; st; st = next) {
			/* First: this one may end. */
			next = vperfctr_next_of_current(st);
			state_exec(st, privileged);
		}
	}
	local_irq_restore(flags);
}

/* Let a child inherit the states of its parent.  Context: the child does not run yet. */
static void probe_fork(void *unused, struct task_struct *parent, struct task_struct *child)
{
	struct vperfctr_state *st;
	unsigned long flags;

	if (child->mm && child->mm != parent->mm)
		perfctr_cpu_user_fork(child->mm);

	local_irq_save(flags);
	for (st = vperfctr_of_current(); unlikely(st); st = vperfctr_next_of_current(st))
		vperfctr_inherit(st, child);
	local_irq_restore(flags);
}

/*
 * Detach the states of a thread that ends.
 *
 * Context: files are closed later.  exit_mm() comes before this, from 6.16 on after it.
 */
static void probe_exit(PERFCTR_PROBE_EXIT_ARGS)
{
	struct vperfctr_state *st, *next;
	unsigned long flags;

	local_irq_save(flags);
	for (st = vperfctr_of_current(); unlikely(st); st = next) {
		/* First: this one ends. */
		next = vperfctr_next_of_current(st);
		vperfctr_record_exit(st);
		vperfctr_detach_current(st, false);
		if (!vperfctr_end_member(st))
			vperfctr_finish_detach_later(st);
	}
	local_irq_restore(flags);
}

struct vperfctr_probe {
	const char *name;
	void *func;
	struct tracepoint *tp;
};

static struct vperfctr_probe probes[] = {
	{ "sched_process_exec", probe_exec },
	{ "sched_process_fork", probe_fork },
	{ "sched_process_exit", probe_exit },
	{ "task_rename", vperfctr_probe_rename },
};

/* Find the probes' tracepoints, which the kernel does not export by name. */
static void find_tracepoint(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!strcmp(tp->name, probes[i].name))
			probes[i].tp = tp;
	}
}

static void unregister_first(unsigned int n)
{
	while (n--)
		tracepoint_probe_unregister(probes[n].tp, probes[n].func, NULL);
	tracepoint_synchronize_unregister();
}

int vperfctr_probes_init(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!probes[i].tp) {
			pr_err("the kernel has no tracepoint %s\n", probes[i].name);
			return -ENOENT;
		}
	}
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		err = tracepoint_probe_register(probes[i].tp, probes[i].func, NULL);
		if (err) {
			unregister_first(i);
			return err;
		}
	}
	return 0;
}

/* Context: no states exist. */
void vperfctr_probes_exit(void)
{
	unregister_first(ARRAY_SIZE(probes));
}
