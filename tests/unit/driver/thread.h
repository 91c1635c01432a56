/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that own states, and what each of them should have counted.
 *
 * Whatever a test is about, each operation here checks what must hold after
 * every one of its kind: the samplecount, the status, that the registers hold
 * the control and nothing else, that nothing was written in vain, and with
 * isolation that nothing counts that should not.
 */
#ifndef THREAD_H
#define THREAD_H

#include "model.h"
#include "cpu.h"

struct thread {
	struct perfctr_cpu_state state;
	struct perfctr_cpu_control control;	/* as asked for */
	int cpu;				/* -1: it does not run */
	u64 counted[VPERFCTR_MAX_CTRS];		/* the truth */
	u64 tsc_counted;

	/* Of i-mode counters, by their place in the control. */
	u64 since[VPERFCTR_MAX_CTRS];		/* counted since it was set to minus */
	u64 period[VPERFCTR_MAX_CTRS];		/* this, */
	unsigned int shift[VPERFCTR_MAX_CTRS];	/* which is so many times two of what was asked */
	u64 overflows[VPERFCTR_MAX_CTRS];
	u64 skipped;				/* by longer periods */
	u64 stale;				/* IA32_PERF_GLOBAL_STATUS as others left it */
	bool held;
	bool noticed;				/* an overflow is left to the irq_work */
	union {
		struct vperfctr_page page;
		u8 room[sizeof(struct vperfctr_page) +
			VPERFCTR_MAX_CTRS * sizeof(struct vperfctr_page_ctr)];
	};
};

/* A module with that processor and isolation, and the hardware reserved. */
void machine_start(const struct model_config *config, bool isolate);

/* As for a driver that has suspend, resume and sample only. */
extern bool machine_has_generic_ops;
/*
 * What the service has to do with overflows, as in module/overflow.c: at once if
 * user mode was interrupted, else as soon as interrupts are enabled.
 */
struct service {
	bool holds;			/* overflows wait for thread_iresume() */
	unsigned int shift;		/* how much longer the next periods are to be */
	bool late;			/* NMIs wait for nmi_arrives() */
	bool sampled;			/* what comes in is sampled before all else */
};

extern struct service service;

/* Overflows are the service's, as machine_start() has it. */
void machine_use_service(void);

/* The NMI that is on its way to the current CPU, if there is one. */
void nmi_arrives(bool user);
/* Someone else's, which is not to be claimed unless there is an overflow to be taken. */
void nmi_foreign(bool user);
/* Interrupts are enabled on the current CPU: what waited for that is done. */
void interrupts_on(void);

/* Release the hardware, and let the module go. */
void machine_stop(void);
void machine_exit(void);	/* the latter alone */

/* Version `version`, and so much of everything that there is something to choose. */
struct model_config usual_config(unsigned int version);
struct model_config random_config(unsigned int version);

void thread_init(struct thread *t);
/* A thread that is not running gets a control, which must be accepted. */
void thread_control(struct thread *t, const struct perfctr_cpu_control *control, u64 preserve);
void thread_in(struct thread *t, unsigned int cpu);
void thread_out(struct thread *t);
void thread_sample(struct thread *t);
void thread_run(struct thread *t, const struct work *work);
struct thread *thread_of(unsigned int cpu);	/* who runs there, or NULL */
/* In the middle of an operation: only what counts just now is to count it. */
void thread_run_inside(struct thread *t, const struct work *work);
void thread_iresume(struct thread *t);
/* Running, interrupts on: everything counts, and no overflow is left unnoticed. */
void thread_check_settled(const struct thread *t);
/* Sums of a thread that does not run or was just sampled are the truth. */
void thread_check(const struct thread *t);

/* The CPU works for a thread that has no state. */
void stranger_run(unsigned int cpu, const struct work *work);

/* Controls, general counter i having evntsel, or fixed counter i a field. */
void control_init(struct perfctr_cpu_control *control);
void control_add(struct perfctr_cpu_control *control, u32 map, u64 evntsel);
/* An i-mode counter, after all others. */
void control_add_imode(struct perfctr_cpu_control *control, u32 map, u64 evntsel, u64 period);
/* Anything that the processor can do. */
void random_control(struct perfctr_cpu_control *control);
/* The same with some of the counters, or all, in i-mode. */
void random_imode_control(struct perfctr_cpu_control *control, u64 max_period);
struct work random_work(u64 limit);

#define USER(event)	(SEL_EN | SEL_USR | (event))

#endif /* THREAD_H */
