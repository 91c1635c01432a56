/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The low-level API: the only door between the per-thread service and the
 * low-level drivers under arch/.
 *
 * The service knows threads and when their counters start and stop; a driver
 * knows registers.  Calls go down only.  The model and the names are those of
 * perfctr's "low-level-api.txt".
 */
#ifndef VPERFCTR_CPU_H
#define VPERFCTR_CPU_H

#include <linux/static_call_types.h>
#include <linux/static_call.h>
#include <linux/types.h>
#include <linux/vperfctr.h>

struct cpumask;
struct mm_struct;
struct pt_regs;

#include "cpu-arch.h"	/* in arch/ARCH */

/*
 * A control, checked or to be checked.  It is what the user asked for, but
 * kernel, alone, mask and regs: these are derived by perfctr_cpu_check_control().
 */
struct perfctr_cpu_control {
	struct perfctr_cpu_regs regs;	/* the driver's own; first, as resume needs it */
	u64 mask;			/* of the narrowest counter used */
	u64 global[2];
	u32 tsc_on;
	u32 nractrs;
	u32 nrictrs;
	u32 kind;			/* of CPUs that can count it; 0 without counters */
	bool kernel;			/* some counter counts in kernel mode */
	bool alone;			/* no hyper-thread sibling may be online */
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
};

/*
 * One thread's counters.  start and sum live in the page that user space maps
 * read-only; id tells this control from every other one, so that a CPU knows
 * what its registers hold.
 */
struct perfctr_cpu_state {
	struct vperfctr_page *page;
	u64 id;
	u32 cstatus;			/* as in the page, without what changes at resume */
	struct perfctr_cpu_control control;
	u8 ishift[VPERFCTR_MAX_CTRS];	/* of i-mode counters: see identify_overflow */
};

static inline unsigned int perfctr_nrctrs(const struct perfctr_cpu_control *control)
{
	return control->nractrs + control->nrictrs;
}

/*
 * Everything that VPERFCTR_INFO tells about the processor; set by init.  Where
 * there are several kinds of CPUs this is the first, and all have the features,
 * widths and max_period that it has.
 */
extern struct vperfctr_info perfctr_cpu_info;

/*
 * The same for each kind; NULL: there are not so many.  There may be more when
 * a CPU has come online; those that there are stay as they are.
 */
const struct vperfctr_info *perfctr_cpu_other_kind(unsigned int kind);

static inline const struct vperfctr_info *perfctr_cpu_kind(unsigned int kind)
{
	return kind ? perfctr_cpu_other_kind(kind) : &perfctr_cpu_info;
}

/*
 * How often a running state must be sampled for its counters not to go round
 * unseen; 0: they are so wide that context switches are often enough.
 */
extern u64 perfctr_cpu_sampling_ns;

/* Module parameter: nobody is to see what another's counters held. */
extern bool perfctr_isolate;

/*
 * Detect the processor and choose its driver.  There is always one: the
 * generic driver has only the TSC.  May sleep.
 */
int perfctr_cpu_init(void);
void perfctr_cpu_exit(void);

/*
 * CPUs on which counters must not be used by a control of this kind, which there
 * is: those of other kinds among them.  A CPU is taken out before threads run on
 * it, and is never put in.
 */
const struct cpumask *perfctr_cpus_forbidden(unsigned int kind);

/*
 * Take the hardware from everyone else (-EBUSY: somebody has it) and make it
 * ready on every CPU, those that come online later included; give it back as
 * it was.  May sleep; the caller serialises.
 */
int perfctr_cpu_reserve(void);
void perfctr_cpu_release(void);

/*
 * This CPU is going to sleep, with the system; it has been asleep and its registers
 * are lost.  PRE: interrupts are disabled, and no state is running on it.
 */
void perfctr_cpu_sleep(void);
void perfctr_cpu_forget(void);

/*
 * Check what user space asks for, and derive the rest.  -EINVAL: the processor
 * has no such thing.  Who may count kernel mode is the caller's to see to, by
 * `kernel`.  Touches neither a state nor a register.
 */
int perfctr_cpu_check_control(struct perfctr_cpu_control *control);

/*
 * Make a checked control the state's.  PRE: the state is suspended and stays
 * so, and the hardware is reserved if the control has counters.  The sums of
 * counters in `preserve` are kept, the others start at zero.
 */
void perfctr_cpu_update_control(struct perfctr_cpu_state *state,
				const struct perfctr_cpu_control *control,
				u64 preserve);

/*
 * Give a new state the control of another one, whose owner is current, and sums
 * of zero.  The two are the same to the registers.
 */
void perfctr_cpu_inherit(struct perfctr_cpu_state *state,
			 const struct perfctr_cpu_state *parent);

/*
 * Overflow.  The handler is called when an i-mode counter of a running state
 * has overflowed, on the owner's CPU.  The state's counters are stopped, but not
 * sampled, and stay so until the overflow is taken, which the handler may do at
 * once if `regs` are those of user mode.  They may be of kernel mode, or NULL:
 * then somebody who has interrupts disabled may be about to do something to the
 * state.  The context is NMI, or an interrupt, or one that has interrupts
 * disabled.  To be set before init; without, there is no i-mode.
 *
 * A state that was suspended with an overflow that nobody has identified is
 * reported when it is resumed.
 */
typedef void perfctr_ihandler(struct perfctr_cpu_state *state, struct pt_regs *regs);
void perfctr_cpu_set_ihandler(perfctr_ihandler *handler);

/* Which i-mode counters have overflowed, and what passed in silence before. */
struct perfctr_overflow {
	u32 ctrs;			/* as bits in the order of the control */
	u64 skipped;			/* periods, by longer ones in their place */
};

/*
 * PRE: suspended.  What has overflowed will start again from ireset, or from as
 * many periods as 2^shift if those can be loaded.
 */
struct perfctr_overflow perfctr_cpu_identify_overflow(struct perfctr_cpu_state *state,
						      unsigned int shift);

/*
 * PRE: suspended, and not to be resumed.  How many periods have passed in
 * silence since the last overflows?  They are told once.
 */
u64 perfctr_cpu_skipped(struct perfctr_cpu_state *state);

/*
 * Counters that are held: what is resumed is the TSC only.  PRE: the state is
 * suspended.
 */
void perfctr_cpu_hold_pmcs(struct perfctr_cpu_state *state);
void perfctr_cpu_unhold_pmcs(struct perfctr_cpu_state *state);

/* Say in the page that the counters do not run.  PRE: they do not. */
void perfctr_cpu_mark_suspended(struct perfctr_cpu_state *state);

/*
 * The operations on a running state, or on one that is about to run.  They are
 * called through static calls, as context switches and NMIs must not pay for an
 * indirect one.
 *
 * suspend: stop the counters if they must not run for others; update the sums.
 *
 * resume: load the control unless it is loaded; update the start values.
 *
 * sample: update sums and start values of counters that keep running.  May find an
 *	overflow, and report it.
 *
 * take_overflow: update the sums and identify the overflow, as
 *	perfctr_cpu_identify_overflow() does.  The counters stay stopped; restart must
 *	follow.  With @hold, an overflow holds the counters from there on.  The TSC
 *	keeps running, except between a suspend and a resume where the driver has
 *	no faster way.
 *
 * restart: restart what take_overflow has stopped.
 *
 * iresume: end the holding of a running state's counters.
 *
 * Context: the owner, or an interrupt or NMI that interrupted it, on its CPU, with
 * interrupts disabled.  The operations take no lock and do not sleep.
 */
typedef void perfctr_cpu_op(struct perfctr_cpu_state *state);
typedef struct perfctr_overflow perfctr_cpu_take_op(struct perfctr_cpu_state *state, bool hold,
						    unsigned int shift);

perfctr_cpu_op perfctr_generic_suspend;
perfctr_cpu_op perfctr_generic_resume;
perfctr_cpu_op perfctr_generic_sample;
perfctr_cpu_take_op perfctr_generic_take_overflow;
perfctr_cpu_op perfctr_generic_restart;
perfctr_cpu_op perfctr_generic_iresume;

DECLARE_STATIC_CALL(perfctr_suspend, perfctr_generic_suspend);
DECLARE_STATIC_CALL(perfctr_resume, perfctr_generic_resume);
DECLARE_STATIC_CALL(perfctr_sample, perfctr_generic_sample);
DECLARE_STATIC_CALL(perfctr_take_overflow, perfctr_generic_take_overflow);
DECLARE_STATIC_CALL(perfctr_restart, perfctr_generic_restart);
DECLARE_STATIC_CALL(perfctr_iresume, perfctr_generic_iresume);

static __always_inline void perfctr_cpu_suspend(struct perfctr_cpu_state *state)
{
	static_call(perfctr_suspend)(state);
}

static __always_inline void perfctr_cpu_resume(struct perfctr_cpu_state *state)
{
	static_call(perfctr_resume)(state);
}

static __always_inline void perfctr_cpu_sample(struct perfctr_cpu_state *state)
{
	static_call(perfctr_sample)(state);
}

static __always_inline struct perfctr_overflow
perfctr_cpu_take_overflow(struct perfctr_cpu_state *state, bool hold, unsigned int shift)
{
	return static_call(perfctr_take_overflow)(state, hold, shift);
}

static __always_inline void perfctr_cpu_restart(struct perfctr_cpu_state *state)
{
	static_call(perfctr_restart)(state);
}

static __always_inline void perfctr_cpu_iresume(struct perfctr_cpu_state *state)
{
	static_call(perfctr_iresume)(state);
}

/*
 * Somebody maps a state's page into `mm`.  With `owner` (the mm is that of the
 * state's owner) its threads may read the counters in user mode while the
 * hardware is reserved, until as many puts have been made.  Without it the
 * mapping only counts as one that could see what counters held.  NULL: no
 * memory.  Called under mmap_lock; may sleep.
 */
struct perfctr_user;
struct perfctr_user *perfctr_cpu_user_get(struct mm_struct *mm, bool owner);
void perfctr_cpu_user_put(struct perfctr_user *user, bool owner);

/* A fork copied `mm` from one that may have had user-mode reads: this one has none. */
void perfctr_cpu_user_fork(struct mm_struct *mm);

#endif /* VPERFCTR_CPU_H */
