/* SPDX-License-Identifier: GPL-2.0 */
/* The interface between driver.c and the low-level drivers of all architectures. */
#ifndef VPERFCTR_DRIVER_H
#define VPERFCTR_DRIVER_H

#include "common.h"

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

	/* True if there are no counters: the operations below are not called. */
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
	 * start: save what perf needs back, stop and clear all counters.
	 * stop: clear all counters, restore what was saved.
	 * forget: the registers were lost, clear them again.
	 * lose: as stop, for an offline CPU, whose registers cannot be written.
	 *
	 * Context: The CPU concerned, interrupts disabled; lose: another CPU.
	 */
	void (*cpu_start)(void);
	void (*cpu_stop)(void);
	void (*cpu_forget)(void);
	void (*cpu_lose)(unsigned int cpu);

	/*
	 * For arm-pmu.c and riscv-pmu.c: handle the counters' interrupt.
	 *
	 * Context: The CPU concerned, interrupt or NMI.
	 * Return: true if a state with i-mode counters runs here.
	 */
	bool (*interrupt)(struct pt_regs *regs);

	/*
	 * For own-reads.c.  NULL: all threads always have the permission, or none ever.
	 *
	 * cpu_reader: return the mm of the thread that runs on a CPU with the permission to
	 *	read counters, or NULL.  For any CPU.
	 * cpu_close_user: the threads of this mm have lost the permission.  Withdraw it
	 *	from the one that runs on this CPU.  Interrupts disabled.
	 */
	const struct mm_struct *(*cpu_reader)(unsigned int cpu);
	void (*cpu_close_user)(const struct mm_struct *mm);
};

/* An architecture, which has one of these.  A function may be NULL. */
struct perfctr_arch {
	/* In order of preference.  The last one accepts every processor. */
	const struct perfctr_driver *const *drivers;
	unsigned int nr_drivers;

	/* The module is loaded: accepts was called on all CPUs.  May sleep. */
	void (*ready)(void);

	/*
	 * True if user mode can read counters on this CPU now; NULL: it cannot, unless the
	 * driver says so by cpu_reader.  Interrupts disabled.
	 */
	bool (*user_reads)(void);
};

extern const struct perfctr_arch perfctr_arch;

/* timer-only.c: for CPUs without usable counters. */
extern const struct perfctr_driver perfctr_timer_only;

/* driver.c: the driver that was chosen. */
extern const struct perfctr_driver *perfctr_driver;

/*
 * driver.c: true while the counters are reserved, on all CPUs but the forbidden ones.  It
 * changes with cpus_read_lock() held.
 */
extern bool perfctr_reserved;

/*
 * driver.c: prepare this CPU for counting, unless that has been done.
 *
 * Context: Interrupts disabled.
 * Return: 0; -EIO if this CPU is forbidden; -EBUSY if perf has events on its counters;
 * -ENODEV if they are not reserved.
 */
int perfctr_prepare_here(void);

#endif /* VPERFCTR_DRIVER_H */
