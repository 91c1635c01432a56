/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The low-level API: the only interface between the per-thread service and the
 * low-level drivers under arch/.
 *
 * The service knows threads, and when their counters start and stop.  A driver knows
 * registers.  Calls go down only, except those of the handlers that the service installs: of
 * overflows, of refusals and restarts, and of CPUs that come and go.
 * The model and the names are those of perfctr's "low-level-api.txt".
 */
#ifndef VPERFCTR_CPU_H
#define VPERFCTR_CPU_H

#include <linux/refcount.h>
#include <linux/static_call_types.h>
#include <linux/static_call.h>
#include <linux/types.h>
#include <linux/vperfctr.h>

struct cpumask;
struct mm_struct;
struct pt_regs;

#include "cpu-arch.h"	/* in arch/ARCH */

/*
 * A control, before or after the check.  User space has asked for it, except for regs,
 * mask, kernel and alone, which perfctr_cpu_check_control() derives, and cstatus, which only
 * that of a state has.
 *
 * The control of a state has room only for perfctr_cpu_max_ctrs() counters.  So never copy
 * it as a whole.
 */
struct perfctr_cpu_control {
	struct perfctr_cpu_regs regs;	/* the driver's; first, as resume needs it */
	u64 mask;			/* bits of the narrowest counter used */
	u64 global[2];
	u32 tsc_on;
	u32 nractrs;
	u32 nrictrs;
	u32 kind;			/* the kind of CPU that can count it; 0 without counters */
	bool kernel;			/* some counter counts in kernel mode, on any kind */
	bool alone;			/* no hyper-thread sibling may be online */
	u32 cstatus;			/* that of a state whose counters are not held */
	struct perfctr_cpu_kinds *kinds; /* of VPERFCTR_ANY_KIND; NULL: for one kind only */
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
};

/*
 * A control for VPERFCTR_ANY_KIND: the same control for each kind.  They differ in regs,
 * mask, kind, alone and ctr only.  A state's control is a copy of one of them: that of the
 * CPU where the counters run or ran last.  One identity does for all, as a CPU has one kind.
 *
 * All states of a family share it.  It does not change after the update of the first one.
 * The service counts the references.
 */
struct perfctr_cpu_kinds {
	refcount_t refs;
	unsigned int nr;
	u64 id;
	struct perfctr_cpu_control control[];
};

/* In `special` of a state. */
#define PERFCTR_STOPS	0x1	/* the counters always stop with their owner */
#define PERFCTR_OTHER	0x2	/* not a-mode counters only, or no register starts all counters */

/*
 * One thread's counters.  Their start values and sums are in the page that user space
 * maps read-only.  The id identifies the control, so that a CPU knows whether its
 * registers hold it.
 *
 * The service may move the page while the state is suspended and its owner excluded.
 */
struct perfctr_cpu_state {
	struct vperfctr_page *page;
	u64 id;
	u32 cstatus;			/* as in the page, without what changes at resume */
	u32 special;			/* PERFCTR_STOPS and the like; 0: a switch only reads */
	struct perfctr_cpu_control control;	/* last: may have room for fewer counters */
};

/*
 * Each period of an i-mode counter is 2^shift times -ireset.  A state keeps the shift where
 * user space must pass 0.
 */
static inline u32 *perfctr_ishift(struct perfctr_cpu_state *state, unsigned int i)
{
	return &state->control.ctr[i].reserved;
}

static inline unsigned int perfctr_nrctrs(const struct perfctr_cpu_control *control)
{
	return control->nractrs + control->nrictrs;
}

/*
 * The processor, as VPERFCTR_INFO reports it; set by init.  If there are several kinds
 * of CPUs, this describes the first one.  All kinds have its features, widths,
 * max_period and min_period.
 */
extern struct vperfctr_info perfctr_cpu_info;

/* True if perf keeps some counters, and uses them while threads count; set by init. */
extern bool perfctr_perf_keeps;

/* True if one register starts all counters, and the driver has resume_parts; set by init. */
extern bool perfctr_has_parts_ops;

/*
 * Return the same for each kind, or NULL if there are fewer.  A CPU that comes online
 * may add a kind.  Known kinds do not change.
 */
const struct vperfctr_info *perfctr_cpu_other_kind(unsigned int kind);

static inline const struct vperfctr_info *perfctr_cpu_kind(unsigned int kind)
{
	return kind ? perfctr_cpu_other_kind(kind) : &perfctr_cpu_info;
}

/*
 * Return the most counters that a control can have on this machine.
 *
 * Context: After init.
 */
unsigned int perfctr_cpu_max_ctrs(void);

/*
 * The longest time between samples of a running state in which no counter can wrap
 * unnoticed.  0: the counters are so wide that context switches are often enough.
 */
extern u64 perfctr_cpu_sampling_ns;

/* Module parameter: no thread may see what the counters held for another one. */
extern bool perfctr_isolate;

/*
 * Detect the processor and choose its driver.  There is always one: the last resort has
 * the TSC only.
 *
 * Context: May sleep.
 * Return: 0, or an errno.
 */
int perfctr_cpu_init(void);
void perfctr_cpu_exit(void);

/*
 * Return the CPUs on which a control of this existing kind must not count.  CPUs of
 * other kinds are among them.  A CPU joins or leaves the set only before a state can run
 * on it.
 */
const struct cpumask *perfctr_cpus_forbidden(unsigned int kind);

/*
 * reserve: claim the hardware of all CPUs.  A CPU's registers are prepared only when
 *	counters are first resumed there.  On x86 before 5.14, they may be now, on all CPUs.
 * release: restore the registers of the CPUs that were prepared, and release the
 *	hardware.  Other CPUs are not interrupted.
 *
 * Context: May sleep.  The caller serialises.
 * Return: 0; -EBUSY if perf, another user or a virtual machine has the hardware; or -ENOMEM.
 */
int perfctr_cpu_reserve(void);
void perfctr_cpu_release(void);

/*
 * init: find the kernel's own driver of the counters, now and as CPUs come online, after
 *	perfctr_cpu_init().  @report is called in a worker when perf has been refused counters
 *	that are ours, but not within an hour after it has returned true.
 * exit: end that.
 * perfctr_perf_uses: return for what perf uses counters of any CPU now, as PERFCTR_PERF_*.
 *
 * Context: May sleep.
 */
#define PERFCTR_PERF_KNOWN	0x1	/* there is a driver that can be asked */
#define PERFCTR_PERF_EVENTS	0x2	/* for events of processes, or of the kernel */
#define PERFCTR_PERF_WATCHDOG	0x4	/* for the NMI watchdog, which keeps its counter from us */
#define PERFCTR_PERF_KEPT	0x8	/* for the NMI watchdog: the others are free for us */
#define PERFCTR_PERF_GUEST	0x10	/* a virtual machine had them at the last reserve */
#define PERFCTR_PERF_WAITS	0x20	/* the NMI watchdog is on, and waits for a counter */
#define PERFCTR_PERF_IDLE	0x40	/* events that do not count may have all counters */

typedef bool perfctr_refusal_report(void);
void perfctr_perf_uses_init(perfctr_refusal_report *report);
void perfctr_perf_uses_exit(void);
unsigned int perfctr_perf_uses(void);

/* True if the report is called: the kernel has a hook where perf is refused counters. */
bool perfctr_cpu_tells_refusals(void);

/*
 * Prepare the registers of this CPU, so that a control can be refused before it starts.
 *
 * Context: The caller may move to another CPU at any time.  Does nothing if the hardware is
 * not reserved: the end of a monitored thread may release it at any time.
 * Return: 0, or -EIO if the counters of this CPU do not work, or -EBUSY if perf uses
 * them.
 */
int perfctr_cpu_prepare(void);

/*
 * The handler of refusals, which must be set before any state is resumed.  The driver
 * calls it if resume or iresume finds that this CPU, on which no counter has run yet,
 * cannot count.  The state is suspended, and must not be marked as running.
 *
 * Context: As for resume.
 */
typedef void perfctr_refusal(struct perfctr_cpu_state *state);
void perfctr_cpu_set_refusal(perfctr_refusal *refusal);

/*
 * The service's functions for joint states, which must be set before any state is resumed.
 *
 * find_parts: tell a driver of which parts a joint state consists, which is being resumed or
 *	suspended.  Return: their number, or 0 if the state is no joint state.
 * slow_parts: resume_parts has done nothing but to call this, as the CPU is not prepared.  Join,
 *	resume and joined are to take its place.
 *
 * Context: As for resume.
 */
typedef unsigned int perfctr_find_parts(const struct perfctr_cpu_state *state,
					struct perfctr_cpu_state *const **part);
typedef void perfctr_slow_parts(void);
void perfctr_cpu_set_parts(perfctr_find_parts *find, perfctr_slow_parts *slow);

/*
 * The handlers of restarts, which must be set before any state is resumed.  The driver calls them
 * before it suspends the state that counts on this CPU on its own account, to clear the counters,
 * and when it has resumed it.  The handler of refusals may have been called for it meanwhile.  A
 * driver without resume_parts does not call the first one.
 *
 * Context: As for resume.
 */
typedef void perfctr_restart(struct perfctr_cpu_state *state);
void perfctr_cpu_set_restart(perfctr_restart *before, perfctr_restart *after);

/*
 * The watcher of CPUs that come and go.  It must be set before init.  The driver calls it for
 * states that stay resumed on a CPU: it must suspend them before the registers are given back
 * or lost, and may resume them afterwards.  Threads' states need no such call, as another
 * thread runs then.
 *
 * ONLINE, OFFLINE: the registers are about to be given back, or they can be prepared again.
 * SLEEPS, WAKES: the registers may be lost in between, and are clear.  On arm64, in deep
 *	sleep of an idle CPU.
 *
 * Context: The CPU concerned, interrupts disabled; SLEEPS and WAKES: also its idle task.
 */
enum perfctr_cpu_event {
	PERFCTR_CPU_ONLINE,
	PERFCTR_CPU_OFFLINE,
	PERFCTR_CPU_SLEEPS,
	PERFCTR_CPU_WAKES,
};

typedef void perfctr_cpu_watcher(enum perfctr_cpu_event event);
void perfctr_cpu_set_watcher(perfctr_cpu_watcher *watcher);

/*
 * True if user mode may read counters on this CPU now, other than by perfctr_cpu_user_allow().
 *
 * Context: Interrupts disabled; no state of a thread has counters.
 */
bool perfctr_cpu_user_reads(void);

/*
 * End it where that needs more than the preparation of a CPU.
 *
 * Context: may sleep; cpus_read_lock().
 * Return: true if perfctr_cpu_user_reads() may have changed on a CPU.
 */
bool perfctr_cpu_close_reads(void);

/*
 * sleep: this CPU is about to sleep with the system.
 * forget: it has slept, and its registers are lost.
 *
 * Context: Interrupts disabled.  No state is running on this CPU.
 */
void perfctr_cpu_sleep(void);
void perfctr_cpu_forget(void);

/*
 * Check what user space asks for, and derive the rest of the control.  The caller checks
 * the permission to count kernel mode, by the derived `kernel`.  Uses neither a state nor
 * a register.
 *
 * Return: 0, or -EINVAL if the processor cannot count this; or -EOPNOTSUPP if it has no TSC.
 */
int perfctr_cpu_check_control(struct perfctr_cpu_control *control);

/*
 * Check the tables of a control for any kind.  @kinds->nr kinds exist, and all tables have
 * the same numbers of counters.
 *
 * A counter must exist on all of these kinds, and not only on its own.  A thread may be
 * moved after it has read a counter's number in the page, and before it executes RDPMC.
 * The result is then wrong, and the thread reads again, but RDPMC must not fault.
 *
 * Return: as perfctr_cpu_check_control().
 */
int perfctr_cpu_check_kinds(struct perfctr_cpu_kinds *kinds);

/*
 * Install a checked control in a state.  The sums of counters in @preserve are kept, the
 * others start at zero.
 *
 * Context: The state is suspended and stays so.  The hardware is reserved if the control
 * has counters.
 */
void perfctr_cpu_update_control(struct perfctr_cpu_state *state,
				const struct perfctr_cpu_control *control,
				u64 preserve);

/*
 * Install the parent's control in a new state, with sums of zero.  Both have the same
 * identity, so a switch between their owners loads no registers.
 *
 * Context: The owner of the parent.
 */
void perfctr_cpu_inherit(struct perfctr_cpu_state *state,
			 const struct perfctr_cpu_state *parent);

/*
 * Return the first period of a thread that shares its period with others.  @part, of 2^32,
 * says how much of it is over.
 */
static inline u64 perfctr_rest_of_period(u64 period, u32 part)
{
	u64 over = (period >> 32) * part + ((u32)period * (u64)part >> 32);

	return period - over;
}

/*
 * Begin with the rest of a period of each i-mode counter, instead of a whole one.
 *
 * Context: The state has just inherited its control, and does not run yet.
 */
void perfctr_cpu_spread(struct perfctr_cpu_state *state, u32 part);

/*
 * Let a state with a control for any kind continue on this CPU.  Sums, periods and
 * overflows are carried over.
 *
 * Context: Interrupts disabled.  The state is suspended.
 * Return: false if the control has no table for the kind of this CPU.
 */
bool perfctr_cpu_enter_kind(struct perfctr_cpu_state *state);

/*
 * Several states of a thread that count together: the joint state has the counters of all its
 * parts, and only it is resumed and suspended.  See arch/common/combine.c.
 *
 * combine: make the control that counts all of @from, which are of the current kind.  Return:
 *	0, or -EINVAL if no control can.
 * join: the joint state, which has the combined control, is about to be resumed.  Parts that
 *	are held take no part.  Return: false if its counters are in another order than theirs;
 *	a new combination will have the right one.
 * joined: it has been resumed.
 * part: it has been suspended, sampled or restarted.  The parts are then up to date, and
 *	suspended, too, or they go on.
 *
 * Context: Interrupts disabled.  All states but the joint one are suspended; joined: the joint
 * one has just been resumed.
 */
int perfctr_cpu_combine(struct perfctr_cpu_control *to,
			const struct perfctr_cpu_control *const *from, unsigned int n, bool tsc_on);
bool perfctr_cpu_join(struct perfctr_cpu_state *joint, struct perfctr_cpu_state *const *part,
		      unsigned int n);
void perfctr_cpu_joined(const struct perfctr_cpu_state *joint,
			struct perfctr_cpu_state *const *part, unsigned int n);
void perfctr_cpu_part(struct perfctr_cpu_state *joint, struct perfctr_cpu_state *const *part,
		      unsigned int n);

/*
 * The overflow handler, which must be set before init; without it there is no i-mode.  It
 * may be replaced while no state with i-mode counters is running.
 * The driver calls it on the owner's CPU when an i-mode counter of a running state has
 * overflowed.  The state's counters are stopped, but not sampled.  They stay stopped
 * until perfctr_cpu_take_overflow() or perfctr_cpu_hold_overflow().
 *
 * If @regs are those of user mode, the handler may do that at once.  If they are those
 * of kernel mode, or NULL, the interrupted code may be about to change the state.
 *
 * If a state was suspended with an overflow that has not been identified, the next
 * resume reports it again.
 *
 * Context: NMI, or an interrupt, or a thread with interrupts disabled.
 */
typedef void perfctr_ihandler(struct perfctr_cpu_state *state, struct pt_regs *regs);
void perfctr_cpu_set_ihandler(perfctr_ihandler *handler);

/* The i-mode counters that have overflowed, and the periods skipped before. */
struct perfctr_overflow {
	u32 ctrs;			/* a bit for each, in the order of the control */
	u64 skipped;			/* periods that a longer one replaced */
};

/*
 * Identify the overflows of a suspended state.  An overflowed counter restarts from
 * ireset.  With @shift, its next period is 2^shift times as long, or the longest such
 * multiple that can be loaded.
 */
struct perfctr_overflow perfctr_cpu_identify_overflow(struct perfctr_cpu_state *state,
						      unsigned int shift);

/* True if a suspended state has overflows that have not been identified. */
bool perfctr_cpu_has_overflow(const struct perfctr_cpu_state *state);

/*
 * Return the number of periods that were skipped since the last overflows, once.
 *
 * Context: The state is suspended, and will not be resumed.
 */
u64 perfctr_cpu_skipped(struct perfctr_cpu_state *state);

/*
 * hold: let the next resumes start only the TSC.
 * unhold: end that.
 *
 * Context: The state is suspended.
 */
void perfctr_cpu_hold_pmcs(struct perfctr_cpu_state *state);
void perfctr_cpu_unhold_pmcs(struct perfctr_cpu_state *state);

/*
 * Report in the page that the counters do not run.
 *
 * Context: The state is suspended.
 */
void perfctr_cpu_mark_suspended(struct perfctr_cpu_state *state);

/*
 * The operations on a running state, or on one that is about to run.  They are
 * called through static calls, as context switches and NMIs must not pay for an
 * indirect one.
 *
 * suspend: stop the counters if they must not run for others; update the sums.
 *
 * resume: load the control unless it is loaded; update the start values.  May refuse
 *	the CPU instead: see perfctr_cpu_set_refusal().
 *
 * sample: update sums and start values of counters that keep running.  May find an
 *	overflow, and report it.
 *
 * take_overflow: update the sums and identify the overflow, as
 *	perfctr_cpu_identify_overflow() does.  The counters stay stopped; restart must
 *	follow.  The TSC keeps running, except between a suspend and a resume where
 *	the driver has no faster way.
 *
 * restart: restart what take_overflow has stopped.
 *
 * hold_overflow: the same as these two, and hold the counters in between.  Returns the
 *	overflowed counters.  If there are none, nothing is held.  No period of the
 *	control may be a multiple of -ireset.
 *
 * iresume: end the hold of a running state's counters.
 *
 * Context: The owner, or an interrupt or NMI that interrupted it, on its CPU, with
 * interrupts disabled.  The operations take no lock and do not sleep.
 */
typedef void perfctr_cpu_op(struct perfctr_cpu_state *state);
typedef struct perfctr_overflow perfctr_cpu_take_op(struct perfctr_cpu_state *state,
						    unsigned int shift);
typedef u32 perfctr_cpu_hold_op(struct perfctr_cpu_state *state);

perfctr_cpu_op perfctr_generic_suspend;
perfctr_cpu_op perfctr_generic_resume;
perfctr_cpu_op perfctr_generic_sample;
perfctr_cpu_take_op perfctr_generic_take_overflow;
perfctr_cpu_op perfctr_generic_restart;
perfctr_cpu_hold_op perfctr_generic_hold_overflow;
perfctr_cpu_op perfctr_generic_iresume;

DECLARE_STATIC_CALL(perfctr_suspend, perfctr_generic_suspend);
DECLARE_STATIC_CALL(perfctr_resume, perfctr_generic_resume);
DECLARE_STATIC_CALL(perfctr_sample, perfctr_generic_sample);
DECLARE_STATIC_CALL(perfctr_take_overflow, perfctr_generic_take_overflow);
DECLARE_STATIC_CALL(perfctr_restart, perfctr_generic_restart);
DECLARE_STATIC_CALL(perfctr_hold_overflow, perfctr_generic_hold_overflow);
DECLARE_STATIC_CALL(perfctr_iresume, perfctr_generic_iresume);

/*
 * A faster way for several states of a thread that count together, if perfctr_has_parts_ops.  The
 * pages of the parts are updated, and the joint state's is not.  It has the control that was
 * combined for these parts, which have a-mode counters only, at least one each.  There is at least
 * one part, and NULL after the last one: so a loop needs neither their number nor its register.
 *
 * resume_parts: in place of join, resume and joined.
 * suspend_parts: after it, in place of suspend and part.
 * sample_parts: in between, in place of sample and part.
 *
 * Context: as for the operations above.
 */
typedef void perfctr_cpu_parts_op(struct perfctr_cpu_state *joint,
				  struct perfctr_cpu_state *const *part);

perfctr_cpu_parts_op perfctr_generic_parts;

DECLARE_STATIC_CALL(perfctr_resume_parts, perfctr_generic_parts);
DECLARE_STATIC_CALL(perfctr_suspend_parts, perfctr_generic_parts);
DECLARE_STATIC_CALL(perfctr_sample_parts, perfctr_generic_parts);

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
perfctr_cpu_take_overflow(struct perfctr_cpu_state *state, unsigned int shift)
{
	return static_call(perfctr_take_overflow)(state, shift);
}

static __always_inline void perfctr_cpu_restart(struct perfctr_cpu_state *state)
{
	static_call(perfctr_restart)(state);
}

static __always_inline u32 perfctr_cpu_hold_overflow(struct perfctr_cpu_state *state)
{
	return static_call(perfctr_hold_overflow)(state);
}

static __always_inline void perfctr_cpu_iresume(struct perfctr_cpu_state *state)
{
	static_call(perfctr_iresume)(state);
}

static __always_inline void perfctr_cpu_resume_parts(struct perfctr_cpu_state *joint,
						     struct perfctr_cpu_state *const *part)
{
	static_call(perfctr_resume_parts)(joint, part);
}

static __always_inline void perfctr_cpu_suspend_parts(struct perfctr_cpu_state *joint,
						      struct perfctr_cpu_state *const *part)
{
	static_call(perfctr_suspend_parts)(joint, part);
}

static __always_inline void perfctr_cpu_sample_parts(struct perfctr_cpu_state *joint,
						     struct perfctr_cpu_state *const *part)
{
	static_call(perfctr_sample_parts)(joint, part);
}

/*
 * True if resume may use values that suspend has read, because reading counters is dear.  Then the
 * caller must say when it switches threads:
 *
 * switching: suspend and resume are those of a context switch, until this is off again: no thread
 *	executes user mode between them.
 * user_ran: the thread that is about to be switched out may have executed user mode.  Before its
 *	suspend, if it has one.
 *
 * Context: preemption disabled; user_ran: interrupts disabled.
 */
extern bool perfctr_remembers;
void perfctr_cpu_switching(bool on);
void perfctr_cpu_user_ran(void);

/*
 * get: a state's page is being mapped into @mm.  From now on its threads could see in the
 *	page what counters held.
 * put: the page has been unmapped.
 *
 * Context: mmap_lock held.  May sleep.
 * Return: the entry of the mm, or NULL if there is no memory.
 */
struct perfctr_user;
struct perfctr_user *perfctr_cpu_user_get(struct mm_struct *mm);
void perfctr_cpu_user_put(struct perfctr_user *user);

/*
 * allow: one more mapped state, of a thread of the mm, counts.  The threads of the mm may
 *	read counters in user mode until as many states have been forbidden.
 * forbid: it has ended, or has been unmapped, and the hardware is still reserved.
 * follow: let CPUs follow such a change.  It drops the reference to the mm.  Where the
 *	kernel lets the driver do it, the CPUs have followed when this returns.
 *	Otherwise the release of the hardware waits for them.
 *
 * Context: the entry cannot be put meanwhile.  allow and forbid do not sleep.  follow
 * may, and should be called without locks; mmap_lock may be held.
 * Return: the mm, with a reference, or NULL if follow is not needed.
 */
struct mm_struct *perfctr_cpu_user_allow(struct perfctr_user *user);
struct mm_struct *perfctr_cpu_user_forbid(struct perfctr_user *user);
void perfctr_cpu_user_follow(struct mm_struct *mm, bool allowed);

/*
 * @mm is a fork's copy of an mm whose threads may have had user-mode reads.  Its own
 * threads must not have them: the mappings that it inherits are dead, see page-map.c.
 */
void perfctr_cpu_user_fork(struct mm_struct *mm);

#endif /* VPERFCTR_CPU_H */
