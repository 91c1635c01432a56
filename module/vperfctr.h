/* SPDX-License-Identifier: GPL-2.0 */
/* The per-thread service: shared by main.c, thread.c, control.c and file.c. */
#ifndef VPERFCTR_H
#define VPERFCTR_H

#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "cpu.h"

struct file;
struct linux_binprm;
struct task_struct;

/* Why a state's counters do not run though its owner does. */
#define VPERFCTR_STOP_IDLE	0x01	/* no control, or an all-zero one */
#define VPERFCTR_STOP_SUSPEND	0x02	/* VPERFCTR_SUSPEND */
#define VPERFCTR_STOP_EXEC	0x04	/* START_ON_EXEC, and no exec yet */

/*
 * The state of one thread.
 *
 * The owner changes notifier, stop, cpu and cpu_state: in its context switches,
 * and in its own calls with interrupts disabled, which excludes the former and
 * the interrupts that sample.  Other CPUs only read: cpu (see
 * vperfctr_sample_owner()) and the page's sums (under its samplecount).
 *
 * `lock` keeps control and attachment as they are while another thread looks.
 * The owner's exit, which cannot sleep, does not take it; it changes nothing
 * but `owner`.
 */
struct vperfctr {
	struct preempt_notifier notifier;
	unsigned int stop;		/* VPERFCTR_STOP_*; 0: counters run when the owner does */
	int cpu;			/* where they run now; -1: nowhere */
	struct perfctr_cpu_state cpu_state;

	struct task_struct *owner;	/* NULL: detached */
	struct mutex lock;
	refcount_t refs;		/* descriptors, and one for being attached */
	unsigned long hardware;		/* bit 0: holds a share of the reservation */
	struct work_struct detach_work;

	/* Of the control, for READ to show. */
	u32 flags;
	s32 si_signo;
	u64 preserve;
};

/* thread.c */
int vperfctr_thread_init(void);
void vperfctr_thread_exit(void);
struct vperfctr *vperfctr_create(void);
void vperfctr_get(struct vperfctr *st);
void vperfctr_put(struct vperfctr *st);
struct vperfctr *vperfctr_of_current(void);
void vperfctr_attach(struct vperfctr *st);
void vperfctr_detach(struct vperfctr *st);
void vperfctr_start(struct vperfctr *st);
void vperfctr_stop(struct vperfctr *st);
void vperfctr_sample_owner(struct vperfctr *st);

/* control.c */
int vperfctr_control(struct vperfctr *st, const struct vperfctr_control __user *arg);
int vperfctr_read(struct vperfctr *st, struct vperfctr_read __user *arg);
int vperfctr_suspend(struct vperfctr *st);
int vperfctr_resume(struct vperfctr *st);
int vperfctr_unlink(struct vperfctr *st);
int vperfctr_get_size(const void __user *arg, u32 smallest, u32 *size);
void vperfctr_release_hardware(struct vperfctr *st);
bool vperfctr_may_count_kernel(void);

/* file.c */
struct file *vperfctr_file(struct vperfctr *st);

#endif /* VPERFCTR_H */
