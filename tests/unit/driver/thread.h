/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that own states, and the counts that each of them must have.
 *
 * Each operation checks its results in every test: the samplecount and the status,
 * that the registers hold exactly the control, and that no register was written with
 * its old value.  With isolation, no other counter may count.
 */
#ifndef THREAD_H
#define THREAD_H

#include "model.h"
#include "cpu.h"

struct thread {
	struct perfctr_cpu_state state;
	struct perfctr_cpu_control control;	/* as requested, without derived fields */
	int cpu;				/* -1: suspended */
	u64 counted[VPERFCTR_MAX_CTRS];		/* the expected sums */
	u64 tsc_counted;

	/* For i-mode counters, by their place in the control. */
	u64 since[VPERFCTR_MAX_CTRS];		/* events since the counter was set to -period */
	u64 period[VPERFCTR_MAX_CTRS];		/* the present period: */
	unsigned int shift[VPERFCTR_MAX_CTRS];	/* the requested one, doubled that many times */
	u64 overflows[VPERFCTR_MAX_CTRS];
	u64 skipped;				/* overflows that longer periods skipped */
	u64 stale;				/* IA32_PERF_GLOBAL_STATUS as others left it */
	bool held;
	bool used;				/* the counters of the CPU where it is, or was last */
	bool noticed;				/* an overflow is left to the irq_work */
	union {
		struct vperfctr_page page;
		u8 room[sizeof(struct vperfctr_page) +
			VPERFCTR_MAX_CTRS * sizeof(struct vperfctr_page_ctr)];
	};
};

/*
 * Load the module on that processor, with or without isolation, reserve the hardware, and
 * prepare all CPUs.
 */
extern bool machine_exits;	/* it is a virtual one, where RDPMCs are exits */
void machine_start(const struct model_config *config, bool isolate);
/* Prepare the CPUs that are online. */
void machine_prepare(void);
/* True if a CPU's registers are prepared for counting. */
bool machine_is_prepared(unsigned int cpu);

/* True if the driver has the operations suspend, resume and sample only. */
extern bool machine_has_generic_ops;

/*
 * How the service takes overflows, as module/overflow.c does: at once if the NMI
 * interrupted user mode, else as soon as interrupts are enabled.
 */
struct service {
	bool holds;			/* overflows wait for thread_iresume() */
	unsigned int shift;		/* how many times the next periods are doubled */
	bool late;			/* NMIs wait for nmi_arrives() */
	bool sampled;			/* a thread is sampled as soon as it is resumed */
};

extern struct service service;

/* Install the service's overflow handler, as machine_start() does. */
void machine_use_service(void);

/* Deliver the NMI that is pending on the current CPU, if any. */
void nmi_arrives(bool user);
/* Deliver a foreign NMI.  The driver must not claim it unless an overflow is pending. */
void nmi_foreign(bool user);
/* Enable interrupts on the current CPU, and run the irq_work that waited for that. */
void interrupts_on(void);

/* Release the hardware, and unload the module. */
void machine_stop(void);
void machine_exit(void);	/* unload only */

/* A processor of that version, with several counters of each kind. */
struct model_config usual_config(unsigned int version);
struct model_config random_config(unsigned int version);
struct model_config old_config(enum model_old old);

void thread_init(struct thread *t);
/* Give a suspended thread a control, which the driver must accept. */
void thread_control(struct thread *t, const struct perfctr_cpu_control *control, u64 preserve);
void thread_in(struct thread *t, unsigned int cpu);
/* Resume a thread on a CPU that cannot count: the driver must refuse it. */
void thread_refused(struct thread *t, unsigned int cpu);
void thread_out(struct thread *t);
void thread_sample(struct thread *t);
void thread_run(struct thread *t, const struct work *work);
struct thread *thread_of(unsigned int cpu);	/* the thread running there, or NULL */
/* In the middle of an operation: only counters enabled at this moment count the work. */
void thread_run_inside(struct thread *t, const struct work *work);
void thread_iresume(struct thread *t);
/* For a running thread, interrupts enabled: all counters count, no overflow was missed. */
void thread_check_settled(const struct thread *t);
/* For a thread that is suspended or was just sampled: the sums are exact. */
void thread_check(const struct thread *t);

/* The CPU works for a thread that has no state. */
void stranger_run(unsigned int cpu, const struct work *work);

/* Build controls.  The evntsel of a fixed counter is its field of FIXED_CTR_CTRL. */
void control_init(struct perfctr_cpu_control *control);
void control_add(struct perfctr_cpu_control *control, u32 map, u64 evntsel);
/* Add an i-mode counter.  The a-mode counters must precede it. */
void control_add_imode(struct perfctr_cpu_control *control, u32 map, u64 evntsel, u64 period);
/* Any control that the processor accepts. */
void random_control(struct perfctr_cpu_control *control);
/* The same with some or all of the counters in i-mode. */
void random_imode_control(struct perfctr_cpu_control *control, u64 max_period);
struct work random_work(u64 limit);

#define USER(event)	(SEL_EN | SEL_USR | (event))

#endif /* THREAD_H */
