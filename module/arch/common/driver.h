/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between driver.c and the low-level drivers of all architectures. */
#ifndef VPERFCTR_DRIVER_H
#define VPERFCTR_DRIVER_H

#include "common.h"

/* The bits of VPERFCTR_CSTATUS_NRCTRS(): one test also finds a control without counters. */
#define PERFCTR_READY	0xff

/* The part of what a driver knows of a CPU that common code uses, too. */
struct perfctr_own_cpu {
	struct mm_struct *reader;	/* counters are open, or are being opened, to it */
	u32 ready;			/* PERFCTR_READY while the CPU is prepared, else 0 */
};

/*
 * The operations of a driver.  driver.c chooses the driver, installs its static calls, and
 * calls the rest as counters are reserved and as CPUs come and go.  An operation may be NULL
 * where that is said.
 */
struct perfctr_driver {
	/*
	 * Detection, in this order.  If one fails, the next driver of the table is tried.
	 *
	 * find: look for the kernel's own driver of the counters of @cpu, which will be probed;
	 *	or NULL.  May sleep.
	 * probe: detect the processor, and fill in perfctr_cpu_info, which is zero.  On the
	 *	first CPU that is online, with interrupts disabled.
	 * begin: find the rest, and what the reservation needs; or NULL.  @cpu was probed, and
	 *	is online.  May sleep.
	 * end: undo these, and wait for what they have started; or NULL.  May sleep.
	 *
	 * Return: 0, -ENODEV, or another errno.
	 */
	int (*find)(unsigned int cpu);
	int (*probe)(void);
	int (*begin)(unsigned int cpu);
	void (*end)(void);

	/* As perfctr_cpu_check_control(). */
	int (*check_control)(struct perfctr_cpu_control *control);

	struct perfctr_cpu_ops ops;

	/* True if there are no counters: CPUs are not followed, nor the operations below called. */
	bool no_counters;

	/*
	 * True if a CPU that comes online can count, with all that perfctr_cpu_info promises.
	 * The others are forbidden.  NULL: all can.
	 *
	 * Context: That CPU, once, before user threads run there.  May sleep.
	 */
	bool (*accepts)(unsigned int cpu);

	/*
	 * For claim.c.
	 *
	 * is_alike: true if this CPU has what probe found on its CPU.  Interrupts disabled.
	 * has_kinds: true if perf has different drivers for the CPUs that are present; or NULL.
	 *
	 * For several kinds of CPUs: see perfctr_init_kinds().  NULL: there is one kind.
	 */
	bool (*is_alike)(void);
	bool (*has_kinds)(unsigned int cpu);
	perfctr_probe_kind *probe_kind;
	perfctr_new_kind *new_kind;

	/*
	 * Reserve the counters of all CPUs, and release them.
	 *
	 * settle: before a reservation: wait until nothing goes on that an earlier release has
	 *	started; or NULL.  Without cpus_read_lock().
	 * reserve: return 0, or -EBUSY if perf or another user of the kernel's has them.
	 * release: when all CPUs have been stopped.
	 *
	 * Context: May sleep; serialised.
	 */
	void (*settle)(void);
	int (*reserve)(void);
	void (*release)(void);

	/* True if perf reserves them, too, for as long as it has any hardware event. */
	bool perf_reserves;

	/*
	 * True if a counter of @cpu, by perf's number, is left to the NMI watchdog, or to perf;
	 * NULL: by perfctr_cpu_info, which has perf's numbers.
	 */
	bool (*is_kept)(unsigned int cpu, int idx);

	/* True if perfctr_perf_refused() is called when perf's events are refused. */
	bool tells_refusals;

	/*
	 * Where no call of the kernel's reserves the counters of all CPUs: claim those of one
	 * CPU, while they are reserved.  NULL: the reservation is enough.
	 *
	 * claim: before cpu_start.  Return: false if perf has events on them.
	 * unclaim: after cpu_stop or cpu_lose.
	 *
	 * Context: That CPU, with interrupts disabled; unclaim: or @cpu is offline.
	 */
	bool (*claim)(void);
	void (*unclaim)(unsigned int cpu);

	/*
	 * Prepare the registers of a CPU for us, and give them back.
	 *
	 * start: save what perf needs back, stop and clear all counters.  With @test, which is
	 *	true until the CPU has passed once since it came online, try them first.
	 *	Return: 0; -EIO if that failed, and the registers were given back; -EBUSY if
	 *	perf or another user has the counters of this CPU, at the moment.
	 * stop: clear all counters, restore what was saved.
	 * forget: the registers were lost, clear them again.
	 * lose: as stop, for an offline CPU, whose registers cannot be written; or NULL.
	 * quiet: stop the counters for good, and disable each of them, because another
	 *	kernel is about to run.  The counters keep their values.  NULL: not needed.
	 *
	 * Context: The CPU concerned, interrupts disabled; lose: another CPU.
	 */
	int (*cpu_start)(bool test);
	void (*cpu_stop)(void);
	void (*cpu_forget)(void);
	void (*cpu_lose)(unsigned int cpu);
	void (*cpu_quiet)(void);

	/*
	 * For arm-pmu.c and riscv-pmu.c: handle the counters' interrupt.
	 *
	 * Context: The CPU concerned, interrupt or NMI.
	 * Return: true if a state with i-mode counters runs here.
	 */
	bool (*interrupt)(struct pt_regs *regs);

	/*
	 * Where resume grants the permission to read counters in user mode, or always: see
	 * own-reads.c.  The last two may be NULL.
	 *
	 * own_cpu: return what common code knows of a CPU.
	 * open_held: let the owner of a held state read counters, if it may.  It may be between
	 *	its look at the page, which showed counters, and the read, which must not raise
	 *	SIGILL.  It discards what it reads, as the sample count has changed.
	 * close_user: end user-mode reads here.  The process that runs here has unmapped its
	 *	page, so it no longer relies on the page's promise that reads work.
	 *
	 * Context: The CPU concerned, interrupts disabled; own_cpu: any.
	 */
	struct perfctr_own_cpu *(*own_cpu)(unsigned int cpu);
	void (*open_held)(void);
	void (*close_user)(void);

	/*
	 * The rest is for x86.
	 *
	 * is_usable: true if this CPU may count.  The module counts on no CPU before this has
	 *	returned true there.  NULL: all CPUs may.  Preemption disabled, or a thread
	 *	that stays there.
	 * cpu_scrub: clear all counters without changing any count, and stop those that run
	 *	for no state.  Does nothing before cpu_start and after cpu_stop.  The CPU
	 *	concerned, interrupts disabled.
	 */
	bool (*is_usable)(void);
	void (*cpu_scrub)(void);

	/*
	 * For nmi.c, in an NMI; the first is required if the driver offers VPERFCTR_FEATURE_PCINT.
	 *
	 * overflow: look for an overflow of the state that runs on this CPU.  Return: the state,
	 *	with its counters stopped, and the caller must handle the overflow; -EBUSY if
	 *	the interrupted code is about to handle it; NULL if there is none.
	 * end_stray: no overflow of the running state was found.  If a counter left enabled for
	 *	another thread has overflowed, stop it and return true.  With @all, also clear
	 *	the status bits of the running state's counters, so that unmasking LVTPC does
	 *	not raise their interrupt again: the caller must look for an overflow
	 *	afterwards.  NULL: no counter can be in this state, and there are no status
	 *	bits.
	 * repair: an overflow was found, so end_stray is not called: undo what perf's handler of
	 *	the same NMI has done to registers that it shares with the module; or NULL.
	 * precede: in each NMI, of any cause, on any CPU, before perf's handler; or NULL.
	 * updates: return a number that changes whenever the running state's page is updated.
	 * cpu_halt: stop the counters for good, until cpu_stop.
	 * shares_lvtpc: true if perf's interrupt handler, which runs before ours, may have
	 *	unmasked LVTPC.  So a masked LVTPC does not prove that all our NMIs can be
	 *	recognised by that.
	 */
	struct perfctr_cpu_state *(*overflow)(void);
	bool (*end_stray)(bool all);
	void (*repair)(void);
	void (*precede)(void);
	u32 (*updates)(void);
	void (*cpu_halt)(void);
	bool shares_lvtpc;
};

/* An architecture, which has one of these.  A function may be NULL. */
struct perfctr_arch {
	/* In order of preference.  The last one accepts every processor. */
	const struct perfctr_driver *const *drivers;
	unsigned int nr_drivers;

	/*
	 * Where a CPU keeps its registers while it is offline: a hotplug state of another
	 * architecture, which the kernel does not use here, and whose teardown is among the last
	 * steps of a CPU, when no thread runs there any more.  The CPU is stopped then, and also
	 * when the scheduler has begun to move threads away, before perf and the NMI watchdog leave
	 * it.  0: the CPU is lost when it is offline.
	 */
	enum cpuhp_state dying;

	/*
	 * The module.  May sleep.
	 *
	 * init: the driver is chosen.  Return: 0, or an errno.
	 * ready: accepts was called on all CPUs.
	 * exit: undo these; no CPU comes or goes any more.
	 * ended: after the driver's end, also if the initialisation has failed.
	 */
	int (*init)(void);
	void (*ready)(void);
	void (*exit)(void);
	void (*ended)(void);

	/* The counters have been reserved, or are about to be released.  May sleep. */
	void (*reserved)(void);
	void (*unreserve)(void);

	/*
	 * True if this CPU may be prepared; NULL: if it is not forbidden.  Interrupts or
	 * preemption disabled.
	 */
	bool (*can_count)(void);

	/* A CPU comes online, before the service knows.  May sleep. */
	void (*cpu_comes)(unsigned int cpu);

	/*
	 * After cpu_start, cpu_stop or cpu_quiet of the driver; before the CPU sleeps with the
	 * system, and after cpu_forget.  Interrupts disabled.
	 */
	void (*cpu_started)(void);
	void (*cpu_stopped)(void);
	void (*cpu_sleeps)(void);
	void (*cpu_woke)(void);

	/*
	 * True if user mode can read counters on this CPU now; NULL: it cannot, unless the
	 * driver says so by own_cpu.  Interrupts disabled.
	 */
	bool (*user_reads)(void);

	/*
	 * End what KVM keeps user_reads from ending, if that takes no longer than a tenth of a
	 * second.  May sleep, also with cpus_read_lock().  Return: true if there was something.
	 * NULL: there is no such thing.
	 */
	bool (*close_reads)(void);

	/* True if close_reads has something to end; NULL: never.  See hide.h. */
	bool (*reads_left)(void);

	/* See perfctr_remembers; NULL: the architecture never sets it. */
	void (*switching)(bool on);
	void (*user_ran)(void);
};

extern const struct perfctr_arch perfctr_arch;

/* no-counters.c: for CPUs without usable counters, the last of each architecture's table. */
extern const struct perfctr_driver perfctr_no_counters;

/* driver.c: the driver that was chosen. */
extern const struct perfctr_driver *perfctr_driver;

/*
 * driver.c: true while the counters are reserved, on all CPUs but the forbidden ones.  It
 * changes with cpus_read_lock() held.
 */
extern bool perfctr_reserved;

/*
 * keep-watchdog.c: true if the NMI watchdog is to have a counter, also if it is off now.
 * report: say in the log if the driver that was chosen cannot leave it one.
 */
bool perfctr_must_keep_watchdog(void);
void perfctr_report_no_watchdog(void);

/*
 * driver.c: prepare this CPU for counting, unless that has been done.
 *
 * Context: Interrupts disabled.
 * Return: 0; -EIO if this CPU is forbidden, or its counters do not work; -EBUSY if perf or
 * another user has them at the moment; -ENODEV if they are not reserved.
 */
int perfctr_prepare_here(void);

/*
 * generic-state.c: for resume on a CPU that is not ready for the state's counters.  Resume a state
 * without counters, or prepare this CPU for its first state with counters.  If that fails,
 * refuse the state.
 *
 * Return: true if the counters must be resumed.
 */
bool perfctr_may_use_counters(struct perfctr_cpu_state *state);

/*
 * driver.c: prepare all CPUs, also those that come online before the release.  Preparing clears
 * what perf has left.
 *
 * Context: May sleep; the counters are reserved.
 */
void perfctr_prepare_all(void);

/*
 * driver.c: stop this CPU's counters, and refuse all states here until the CPU comes
 * online again.  The thread that runs counts nothing until it is switched out.
 *
 * Context: NMI.
 */
void perfctr_fail_here(void);

/*
 * driver.c: give this CPU's counters back, as at the release, while no thread counts here.  They
 * can be claimed again at any time after this.  lent: the states of a set of CPUs count again.
 *
 * Context: interrupts disabled, without a gap between the two.
 */
void perfctr_lend_here(void);
void perfctr_lent_here(void);

/* The CPUs that have failed the driver's test, or so, since they came online. */
extern struct cpumask perfctr_failed_cpus;

#endif /* VPERFCTR_DRIVER_H */
