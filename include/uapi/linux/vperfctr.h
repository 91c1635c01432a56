/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vperfctr: virtual per-thread performance counters
 *
 * The only interface between the vperfctr kernel module and user space.  A
 * client can be written from this file alone.
 *
 * Model (that of perfctr's "low-level-api.txt" and "virtual.txt"): a thread
 * may own one *state*.  The state holds a *control* (what to count), and for
 * the time-stamp counter (TSC) and each controlled counter a *sum* and a
 * *start*: the count is sum + (now - start) while the owner runs, and sum
 * while it does not.  Counters are suspended when the owner is switched out
 * and resumed when it is switched in, on whatever CPU, so a count is the
 * owner's alone.  An *a-mode* counter accumulates; an *i-mode* counter
 * interrupts when it overflows and restarts from *ireset*.
 *
 * How to use it, for a thread that counts itself:
 *
 *	dev = open("/dev/vperfctr", O_RDONLY | O_CLOEXEC);
 *	fd = ioctl(dev, VPERFCTR_OPEN, &(struct vperfctr_open) {
 *		.size = sizeof(struct vperfctr_open), .flags = VPERFCTR_OPEN_CREAT });
 *	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
 *	ioctl(fd, VPERFCTR_CONTROL, &control);		counting starts
 *	... read the counters from the page (see struct vperfctr_page) ...
 *	ioctl(fd, VPERFCTR_UNLINK, 0);			the state is the thread's no longer
 *
 * Conventions: every structure has the same layout for 32- and 64-bit
 * callers.  It begins with its size as the caller knows it, which is how it
 * can grow: a kernel that knows a larger structure takes what is missing as
 * zero; one that knows a smaller structure fails with E2BIG unless what it
 * does not know is zero.  Reserved fields and unknown flags must be zero.
 * User addresses are passed as 64-bit integers.  The ioctl numbers therefore
 * carry no size.  A caller that is killed while it waits gets EINTR, not that
 * it could tell.
 *
 * Errors that any call may return, not repeated below:
 *
 *	EFAULT	an address in or of the argument cannot be accessed
 *	EINVAL	the size is smaller than the first version of the structure; a
 *		reserved field, an unknown flag, or the argument of a call that
 *		takes none, is not zero
 *	E2BIG	the structure is larger than this kernel knows, and what it does
 *		not know is not zero
 *	ENOTTY	no such ioctl on this descriptor
 */
#ifndef _UAPI_LINUX_VPERFCTR_H
#define _UAPI_LINUX_VPERFCTR_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Major number in the upper half: a change there breaks clients. */
#define VPERFCTR_ABI_VERSION	0x00010000

/* The greatest number of counters that one control can hold. */
#define VPERFCTR_MAX_CTRS	32

/* ---- on /dev/vperfctr ------------------------------------------------ */

/*
 * VPERFCTR_INFO: what the module is and what it found.
 *
 * Argument: struct vperfctr_info *; the caller sets size and kind, the kernel
 * fills in the rest and sets size to what it knows itself.  Fields that the
 * kernel does not know are zeroed.  Returns 0 or:
 *
 *	EINVAL	kind is not smaller than nrkinds
 *
 * A hybrid processor has several kinds of CPUs, with different counters and
 * events; there, arch_events, core_type, nrctrs, pmc_mask, fixed_mask and
 * cpu_name are those of the kind, and everything else is the same for all.
 * Kinds are numbered as they are found, from CPU 0 on: a kind of which no CPU
 * has been online yet is added when the first one is, and none is ever taken
 * away.  Elsewhere there is one kind, 0.
 */
#define VPERFCTR_INFO		_IO(0xD0, 0)

/* features */
#define VPERFCTR_FEATURE_RDPMC		0x01 /* user-mode RDPMC once the page is mapped */
#define VPERFCTR_FEATURE_RDTSC		0x02 /* there is a TSC that user mode can read */
#define VPERFCTR_FEATURE_PCINT		0x04 /* overflow interrupts: i-mode counters */
#define VPERFCTR_FEATURE_INHERIT	0x08 /* control is inherited by children */
#define VPERFCTR_FEATURE_ISOLATE	0x10 /* nobody sees what others' counters held */
#define VPERFCTR_FEATURE_KERNEL		0x20 /* this caller may count kernel mode */

/* cpu_type */
#define VPERFCTR_CPU_GENERIC		0 /* no counters, only the TSC */
#define VPERFCTR_CPU_INTEL_ARCH		1 /* Intel architectural performance monitoring */
#define VPERFCTR_CPU_AMD		2 /* AMD, K7 and later, and Hygon */
#define VPERFCTR_CPU_ARM_PMUV3		3 /* Arm's PMUv3, all versions */

/*
 * arch_events: events that every processor names alike.  On x86 these are the
 * architectural events of Intel's manual (SDM volume 3, "Pre-defined
 * Architectural Performance Events"), and AMD's 76h, C0h, C2h and C3h for
 * cycles, instructions, branches and branch misses.
 */
#define VPERFCTR_EVENT_CYCLES		0x01 /* unhalted core cycles */
#define VPERFCTR_EVENT_INSTRUCTIONS	0x02 /* instructions retired */
#define VPERFCTR_EVENT_REF_CYCLES	0x04 /* unhalted reference cycles */
#define VPERFCTR_EVENT_CACHE_REFS	0x08 /* last-level cache references */
#define VPERFCTR_EVENT_CACHE_MISSES	0x10 /* last-level cache misses */
#define VPERFCTR_EVENT_BRANCHES		0x20 /* branch instructions retired */
#define VPERFCTR_EVENT_BRANCH_MISSES	0x40 /* mispredicted branches retired */

struct vperfctr_info {
	__u32 size;
	__u32 kind;		/* in: which kind of CPU, from 0 (hybrid processors have several) */
	__u32 abi_version;	/* VPERFCTR_ABI_VERSION */
	__u32 features;		/* VPERFCTR_FEATURE_* */
	__u32 cpu_type;		/* VPERFCTR_CPU_* */
	__u32 nrkinds;		/* how many kinds of CPUs there are */
	__u32 tsc_khz;		/* rate of the TSC; 0: not known */
	__u32 arch_events;	/* VPERFCTR_EVENT_* that can be counted */
	__u32 nrctrs;		/* how many counters can be controlled at once */
	__u32 core_type;	/* Intel, hybrid: EAX of CPUID leaf 1AH; else 0 */
	__u32 pmc_width;	/* bits in a general counter */
	__u32 fixed_width;	/* bits in a fixed counter */
	__u64 pmc_mask;		/* bit i: general counter i (map i) is there */
	__u64 fixed_mask;	/* bit i: fixed counter i (map VPERFCTR_FIXED + i) is there */
	char driver_version[32];	/* of the module, NUL-terminated */
	char cpu_name[64];		/* of the low-level driver, NUL-terminated */
	__u64 max_period;	/* i-mode: ireset is at least -max_period; 0: no i-mode */
};

/*
 * VPERFCTR_CPUS: the CPUs of the system.
 * VPERFCTR_CPUS_FORBIDDEN: those on which counters must not be used, whatever the
 * kind.  On a hybrid processor CPUs that have not been online are among them, as
 * their kind is not known.
 *
 * Argument: struct vperfctr_cpu_mask *, with nrwords set to the number of
 * words that mask[] has room for.  The kernel always sets nrwords to the
 * number that it needs.  CPU n is bit n % 32 of word n / 32.  Returns 0 or:
 *
 *	EOVERFLOW  there was no room; nothing but nrwords was written
 */
#define VPERFCTR_CPUS		_IO(0xD0, 1)
#define VPERFCTR_CPUS_FORBIDDEN	_IO(0xD0, 2)

struct vperfctr_cpu_mask {
	__u32 nrwords;
	__u32 mask[];
};

/*
 * VPERFCTR_KIND_CPUS: the CPUs of a kind, on which a control of that kind counts.
 *
 * Argument: struct vperfctr_kind_cpus *, with the kind; the rest as above.
 * Returns 0 or:
 *
 *	EINVAL	kind is not smaller than nrkinds of VPERFCTR_INFO
 *	EOVERFLOW  there was no room; nothing but nrwords was written
 */
#define VPERFCTR_KIND_CPUS	_IO(0xD0, 4)

struct vperfctr_kind_cpus {
	__u32 kind;
	__u32 nrwords;
	__u32 mask[];
};

/*
 * VPERFCTR_OPEN: a new descriptor of a thread's state.
 *
 * Argument: struct vperfctr_open *.  tid is a thread id in the caller's PID
 * namespace; 0 is the calling thread.  Any other thread must be stopped under
 * ptrace by the calling thread.  Returns the descriptor, which is close-on-exec
 * unless VPERFCTR_OPEN_NOCLOEXEC is given, or:
 *
 *	EEXIST	VPERFCTR_OPEN_CREAT, and the thread has a state
 *	ENOENT	no VPERFCTR_OPEN_CREAT, and the thread has none
 *	ESRCH	there is no such thread, or it is ending
 *	EPERM	it is another thread, and not stopped under the caller's ptrace
 *	EPERM	(also) no VPERFCTR_OPEN_CREAT, the last control of the state counts
 *		kernel mode, and the caller may not (see FEATURE_KERNEL)
 *	EAGAIN	the user has as many states as the module's parameter
 *		max_states_per_user allows
 *	EINVAL	(also) VPERFCTR_OPEN_TRANSIENT or _KEEP without CREAT, or both
 *	ENOMEM, EMFILE, ENFILE	as from open(2)
 *
 * A new state counts nothing and all of its sums are zero.  It belongs to the
 * thread until UNLINK or the thread's end, and it survives exec.  It exists,
 * with its final sums, as long as it has a thread or a descriptor.  One that a
 * thread makes for itself stays its own with no descriptor open, unless it was
 * made with VPERFCTR_OPEN_TRANSIENT; one that is made for another thread is
 * unlinked when its last descriptor is closed, unless it was made with
 * VPERFCTR_OPEN_KEEP.
 *
 * Executing a file that gives privileges, or that the caller may not read,
 * ends the counting of the thread as UNLINK does, before the first instruction of
 * that file, but not that of its descendants;
 * READ's status tells (VPERFCTR_STATUS_PRIVILEGED).
 */
#define VPERFCTR_OPEN		_IO(0xD0, 3)

#define VPERFCTR_OPEN_CREAT	0x01
#define VPERFCTR_OPEN_NOCLOEXEC	0x02
#define VPERFCTR_OPEN_TRANSIENT	0x04
#define VPERFCTR_OPEN_KEEP	0x08

struct vperfctr_open {
	__u32 size;
	__s32 tid;
	__u32 flags;		/* VPERFCTR_OPEN_* */
	__u32 reserved;
};

/* ---- on the descriptor of a state ------------------------------------ */

/*
 * All calls but READ and CONSUME are for the state's owner, or for a thread that has the
 * owner stopped under ptrace, and return, besides what is listed with them:
 *
 *	ESRCH	the state has been unlinked, or its thread has ended
 *	EPERM	the caller is neither the owner nor the owner's monitor
 *
 * A monitor's owner may be woken by SIGKILL at any time: the call is then made
 * or returns an error, and nothing comes of it but that CONTROL and UNLINK may
 * already have ended the counting of the owner's descendants.
 */

/*
 * VPERFCTR_CONTROL: say what to count, and start.
 *
 * Argument: const struct vperfctr_control *.  Stops and samples what runs,
 * then sets the sums to zero except those of counters whose bit is set in
 * `preserve` (and the TSC's, which is reset only when tsc_on is 0), then
 * starts what the control asks for, unless VPERFCTR_CONTROL_START_ON_EXEC is
 * given.  A pause by VPERFCTR_SUSPEND ends.
 *
 * A control with tsc_on, nractrs and nrictrs all zero stops everything, keeps
 * all sums, and keeps the previous control for READ's control to show (and its
 * CONTROL_END_ON_EXEC in force).
 *
 * With VPERFCTR_CONTROL_INHERIT, every thread that the owner starts from then on
 * gets a state of its own with this control, and so do those that such threads
 * start.  What they count is added to this state's children's sums when they
 * end, in a form that READ returns.  A thread that is started while counting is
 * paused, or waits for an exec, gets none.  CONTROL and UNLINK on the state, and
 * closing the last descriptor of one whose thread is gone, end the counting of
 * all descendants.  A thread with an inherited state that gives it a control of
 * its own, or unlinks it, leaves the family and is counted in children_missed.
 *
 * On a hybrid processor a control with counters is for one kind of CPUs, and
 * counts on no other.  A control of the TSC alone counts everywhere.
 *
 * If some CPUs cannot count this control (those that are not in
 * VPERFCTR_KIND_CPUS), the owner's CPU affinity is narrowed to the others, and
 * should somebody move the owner to one of them after all, counting stops and the
 * owner gets SIGILL.  With VPERFCTR_CONTROL_NO_AFFINITY, which a monitor's CONTROL
 * implies, neither happens: there the owner is not counted, and READ's status says
 * so (VPERFCTR_STATUS_FORBIDDEN).
 *
 * The hardware counters are taken from everyone else in the system (perf_event,
 * the NMI watchdog) while some state has a control with counters.
 *
 * An i-mode counter starts from its ireset, which is minus the period.  What
 * happens when it overflows is said at VPERFCTR_IRESUME and, for a control with
 * VPERFCTR_CONTROL_RING, at VPERFCTR_RING.  i-mode counters are not inherited:
 * with VPERFCTR_CONTROL_INHERIT there can be none.  A new control forgets
 * overflows of the previous one that wait for IRESUME; their signal may be on
 * its way, though.
 *
 * When CONTROL fails, nothing has changed: what was running keeps running,
 * and the old sums and control stay.  Errors:
 *
 *	EINVAL	a kind that is not smaller than nrkinds of VPERFCTR_INFO, or is
 *		not 0 and there are no counters; more counters than the kind's
 *		nrctrs; a map that is no counter of this kind, or used twice; an
 *		evntsel with reserved or foreign bits (see below), or that would
 *		count nothing; an aux or global that is not zero where this
 *		processor has no use for it; an ireset that is not zero of an
 *		a-mode counter, or not in -max_period
 *		(see VPERFCTR_INFO) ... -1 of an i-mode counter; ctr_size is
 *		not sizeof(struct vperfctr_ctr); tsc_on greater than 1; a bit in
 *		preserve that is no counter; si_signo or CONTROL_RING without
 *		i-mode counters; si_signo that is no signal, or with
 *		CONTROL_RING; CONTROL_RING without a ring; CONTROL_INHERIT with
 *		i-mode counters
 *	EINVAL	(also) CONTROL_END_ON_EXEC with CONTROL_START_ON_EXEC or
 *		CONTROL_INHERIT
 *	EOPNOTSUPP nrictrs is not 0, and FEATURE_PCINT is not there; or
 *		CONTROL_INHERIT, and FEATURE_INHERIT is not
 *	EPERM	(also) kernel mode is to be counted, and the caller lacks
 *		CAP_PERFMON and CAP_SYS_ADMIN (see FEATURE_KERNEL)
 *	EINVAL	(also) the owner may run only on CPUs that cannot count this
 *	EUSERS	likewise, because of hyper-thread siblings that are online
 *	EBUSY	counters are asked for, and perf_event or the NMI watchdog holds
 *		them: see `sysctl kernel.nmi_watchdog`
 *	EIO	on some CPU that is online a counter does not do what the processor
 *		says of it: does not count or cannot be written, as under some
 *		hypervisors; the kernel's log says which
 *	ENOMEM
 */
#define VPERFCTR_CONTROL	_IO(0xD0, 16)

/*
 * On Intel's Sandy Bridge, Ivy Bridge and Haswell, events D0H to D3H can make counters
 * of the CPU's hyper-thread sibling count wrong (errata BJ122, BV98, HSD29).  CPUs that
 * have a sibling online are like those that cannot count such a control; one that
 * comes online later makes its sibling such a CPU, as if the owner had been moved
 * there.  /sys/devices/system/cpu/smt/control takes siblings offline.  Likewise off-core
 * response events on Nehalem and Westmere, whose hyper-threads share the registers.
 */

/* Or-ed to a fixed counter's number in `map`.  On x86 this is what RDPMC takes. */
#define VPERFCTR_FIXED		0x40000000

/*
 * One counter's control.  On x86:
 *
 * map is the index that RDPMC takes: general counter i is i, fixed counter i
 * is VPERFCTR_FIXED + i.
 *
 * evntsel of a general counter is the image of its IA32_PERFEVTSELx (Intel SDM
 * volume 3, "Architectural Performance Monitoring"): event select and unit
 * mask, USR (bit 16) and OS (17) of which one at least must be set, E (18),
 * EN (22), which must be set, INV (23), CMASK (24 to 31).  PC (19), INT (20),
 * AnyThread (21) and all others must be clear: pin control is nobody's to
 * give, the interrupt is the driver's business (it is enabled for i-mode
 * counters), and AnyThread would count a stranger.  An architectural event
 * that this processor reports as not available (arch_events of VPERFCTR_INFO)
 * is refused.
 *
 * On AMD it is the image of PERF_CTL (AMD64 Architecture Programmer's Manual
 * volume 2, "Performance Event-Select Registers"), with the same bits, and from
 * family 10h on bits 32 to 35, which extend the event select.  The guest and
 * host bits (40, 41) must be clear.  Northbridge events up to family 14h (E0h
 * to FFh) are refused: they count what other cores do.
 *
 * evntsel of a fixed counter is its field of IA32_FIXED_CTR_CTRL: bit 0 OS,
 * bit 1 USR, of which one at least must be set; others must be clear.
 *
 * aux is for events of Intel's processors that need one more register (SDM volume 3,
 * "Off-core Response Performance Monitoring"), and is what that is to hold:
 *
 *	MSR_OFFCORE_RSP_0	01B7H; from Golden Cove on 012AH
 *	MSR_OFFCORE_RSP_1	01BBH; on Atoms 02B7H; from Golden Cove on 012BH
 *	MSR_PEBS_FRONTEND	01C6H, from Skylake on; on Golden Cove also 40ADH, 04C2H
 *
 * Zero would count nothing and is refused, as are reserved bits, and two values for one
 * register in one control.  So are such events where the registers are not there, as in
 * many virtual machines, and on Silvermont and Airmont, where cores share them.
 */
struct vperfctr_ctr {
	__u32 map;
	__u32 reserved;
	__u64 evntsel;
	__u64 aux;		/* a second register that the event needs; 0: none */
	__s64 ireset;		/* i-mode: minus the period; a-mode: 0 */
};

struct vperfctr_control {
	__u32 size;
	__u32 flags;		/* VPERFCTR_CONTROL_* */
	__u32 tsc_on;		/* 1: sample the TSC too */
	__u32 nractrs;		/* a-mode counters: ctr[0 .. nractrs - 1] */
	__u32 nrictrs;		/* i-mode counters: ctr[nractrs .. nractrs + nrictrs - 1] */
	__s32 si_signo;		/* signal after an overflow, any there is; 0: none */
	__u64 preserve;		/* bit i: do not reset the sum of counter i */
	__u64 global[2];	/* processor's global control words; 0 where it has none */
	__u32 ctr_size;		/* sizeof(struct vperfctr_ctr) */
	__u32 kind;		/* of CPUs on which to count; 0 without counters */
	__u64 ctr;		/* address of nractrs + nrictrs struct vperfctr_ctr */
};

/* Start counting not now but when the owner next executes a file. */
#define VPERFCTR_CONTROL_START_ON_EXEC	0x01
/* Threads that the owner starts are counted too. */
#define VPERFCTR_CONTROL_INHERIT	0x02
/* Leave the owner's CPU affinity alone. */
#define VPERFCTR_CONTROL_NO_AFFINITY	0x04
/* Overflows are put into the state's ring: see VPERFCTR_RING. */
#define VPERFCTR_CONTROL_RING		0x08
/* Unlink the state when the owner next executes a file, before its first instruction. */
#define VPERFCTR_CONTROL_END_ON_EXEC	0x10

/*
 * VPERFCTR_READ: sums and control, the kind of CPUs included.
 *
 * Argument: struct vperfctr_read *.  The addresses say where to put what; 0
 * where it is not wanted.  The sums are consistent with each other.  The
 * owner's are current as of the call; so are, for any holder of the
 * descriptor, those of a running owner, whose CPU is interrupted for it.  If the owner
 * is off its CPU, has unlinked the state or has ended, the sums are those of
 * that moment.  Works after UNLINK and after the owner's end.
 *
 * If nrctrs is smaller than the number of controlled counters nothing but
 * nrctrs is written.  Returns 0 or:
 *
 *	EOVERFLOW  nrctrs was too small; it has been set to what is needed
 *	EINVAL	(also) the control asked for has a wrong size or ctr_size
 *	ENOMEM	the control is asked for
 */
#define VPERFCTR_READ		_IO(0xD0, 17)

struct vperfctr_sums {
	__u64 tsc;
	__u64 pmc[];		/* one per controlled counter, in the control's order */
};

struct vperfctr_read {
	__u32 size;
	__u32 nrctrs;		/* in: room in the arrays; out: number of controlled counters */
	__u32 status;		/* out: VPERFCTR_STATUS_* */
	__u32 reserved;
	__u64 overflow;		/* out: bit i: counter i overflowed, and waits for IRESUME */
	/*
	 * out: children not, or not wholly, in the children's sums; those that
	 * such a child starts in its turn are missing too, and not counted here
	 */
	__u64 children_missed;
	__u64 sums;		/* address of struct vperfctr_sums: the owner's own counts */
	__u64 children;		/* address of struct vperfctr_sums: its ended children's */
	/*
	 * Address of struct vperfctr_control, of which the caller has set size,
	 * ctr_size and ctr (0, or the address of room for nrctrs counters).
	 */
	__u64 control;
};

/* status */
#define VPERFCTR_STATUS_ATTACHED	0x01 /* belongs to a living thread */
#define VPERFCTR_STATUS_ACTIVE		0x02 /* there is a control that counts something */
#define VPERFCTR_STATUS_SUSPENDED	0x04 /* paused by VPERFCTR_SUSPEND */
#define VPERFCTR_STATUS_ARMED		0x08 /* will start at the next exec */
#define VPERFCTR_STATUS_CHILDREN	0x10 /* descendants are still counting */
#define VPERFCTR_STATUS_FORBIDDEN	0x20 /* was on a forbidden CPU, not counted there */
#define VPERFCTR_STATUS_PRIVILEGED	0x40 /* counting ended when privileges were given */
#define VPERFCTR_STATUS_OVERFLOW	0x80 /* counters wait for IRESUME; the TSC goes on */

/*
 * VPERFCTR_SUSPEND: pause all counting, TSC included, and keep the control.
 * VPERFCTR_RESUME: go on.
 *
 * Argument: 0.  Suspending what is suspended, and resuming what is not,
 * changes nothing and is no error; but who was stopped on a forbidden CPU, and is
 * on another now, goes on with RESUME.  A control with START_ON_EXEC still waits
 * for the exec after RESUME.  Neither changes what descendants do.  Returns 0 or:
 *
 *	EINVAL	(also) no control counts anything
 */
#define VPERFCTR_SUSPEND	_IO(0xD0, 18)
#define VPERFCTR_RESUME		_IO(0xD0, 19)

/*
 * VPERFCTR_UNLINK: stop, sample, and take the state from its thread.
 *
 * Argument: 0.  The sums stay readable through this and other descriptors.
 * Unlinking what was unlinked, or whose thread has ended, is no error, and ends
 * the counting of what descendants there still are.  Returns 0.
 */
#define VPERFCTR_UNLINK		_IO(0xD0, 20)

/*
 * VPERFCTR_IRESUME: go on after an overflow.
 *
 * When an i-mode counter has overflowed, in this order: all counters stop and
 * are sampled; they are suspended, while the TSC goes on; those that overflowed
 * (there may be several) are set to their ireset; they are noted for READ; the
 * owner gets the signal si_signo, with si_code SI_PMC_OVF and the set of
 * overflowed counters in si_pmc_ovf_mask: bit i is the control's counter i.
 * IRESUME lets the counters go on.  Sums are those of a-mode, what the counters
 * were past the overflow when they stopped included; only what the kernel does
 * until then is missing from the counts of kernel mode.  A period begins when
 * counters go on.
 *
 * The signal is only the message.  It may be blocked or ignored, or merge with
 * another of its number; if it cannot be queued it is tried again.  READ's
 * overflow has the set until IRESUME, and poll() says POLLIN as long as there is
 * one; without si_signo these are all there is to tell.  VPERFCTR_SUSPEND and
 * RESUME are independent of it: both a pause and an overflow keep counters from
 * going on.
 *
 * Argument: 0.  Returns 0 or:
 *
 *	EPERM	(also) no overflow waits for it
 */
#define VPERFCTR_IRESUME	_IO(0xD0, 21)

/* For the handler of si_signo (with SA_SIGINFO): see above. */
#ifndef SI_PMC_OVF
#define SI_PMC_OVF		'P'
#define si_pmc_ovf_mask		si_pid	/* the first word after si_signo, si_errno, si_code */
#endif

/*
 * VPERFCTR_RING: a ring of samples for the state.
 *
 * Overflows of a control with VPERFCTR_CONTROL_RING make no signal.  Each adds a
 * sample to the ring, and the counters go on by themselves.  The ring belongs to
 * the state for all its life, whatever its controls are; every descriptor of it
 * can map and read the same one.  Its memory is charged to the user who
 * made the state, as far as max_ring_kb_per_user (a parameter of the module)
 * allows, and to the memory cgroup of the caller.
 *
 * Argument: struct vperfctr_ring *.  For the owner or its monitor.  The kernel
 * sets sample_size and map_size.  Returns 0 or:
 *
 *	EEXIST	the state has a ring; sample_size and map_size are that one's
 *	EINVAL	(also) nrsamples is not a power of two or greater than
 *		VPERFCTR_RING_MAX; watermark is 0 or greater than nrsamples;
 *		nrsums is greater than VPERFCTR_MAX_CTRS
 *	EPERM	(also) VPERFCTR_RING_KERNEL, and the caller may not count kernel
 *		mode (see FEATURE_KERNEL)
 *	EAGAIN	more than the user may have
 *	EOPNOTSUPP there is no FEATURE_PCINT
 *	ENOMEM
 *
 * mmap(NULL, map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET) maps it:
 * struct vperfctr_ring_page, and `data` bytes after its beginning nrsamples
 * times sample_size bytes.  Anybody with a descriptor may.  The child
 * of a fork does not inherit the mapping.  Errors as for the
 * page, and EINVAL if there is no ring, or the size is another; EPERM if it is one
 * with VPERFCTR_RING_KERNEL and the caller may not count kernel mode.
 *
 * To read: sample number n, counted from the first, is in slot n % nrsamples,
 * and is good for tail <= n < head; a load-acquire of head comes before looking
 * at samples.  Then VPERFCTR_CONSUME gives their slots back.  poll() says POLLIN
 * if there are `watermark` samples or more, or any and the state has no owner any
 * more.  A sample that finds the ring full is dropped, and counted.
 *
 * A period so short that there were more samples than the kernel can serve (the
 * parameter max_sample_rate of the module, per second and thread) is throttled:
 * only each 2nd, 4th, ... overflow then makes a sample, and the others are counted
 * as dropped when it comes.  Sums stay what they are without.
 */
#define VPERFCTR_RING		_IO(0xD0, 22)

#define VPERFCTR_RING_MAX	(1U << 20)	/* samples */
#define VPERFCTR_RING_OFFSET	0x10000000	/* for mmap; the page is at 0 */

/* A sample of kernel mode is to say where in the kernel it is. */
#define VPERFCTR_RING_KERNEL	0x01

struct vperfctr_ring {
	__u32 size;
	__u32 flags;		/* VPERFCTR_RING_KERNEL */
	__u32 nrsamples;	/* room, a power of two */
	__u32 watermark;	/* as many samples wake who polls */
	__u32 nrsums;		/* each sample has the sums of counters 0 ... nrsums - 1 */
	__u32 sample_size;	/* out */
	__u64 map_size;		/* out: for mmap and munmap */
};

struct vperfctr_sample {
	/*
	 * Where the owner was in user mode; with VPERFCTR_RING_KERNEL, if the
	 * control counts kernel mode and it was there, in the kernel.  It is
	 * the instruction after the one that overflowed, or some instructions
	 * later, as the processor has it.  0: not known.
	 */
	__u64 ip;
	__u64 tsc;		/* the processor's TSC, not the owner's share */
	__u32 overflow;		/* bit i: counter i overflowed */
	__u32 dropped;		/* overflows dropped since the previous sample */
	__u64 sums[];		/* as of the overflow; 0 for counters that there are not */
};

struct vperfctr_ring_page {
	__u64 head;		/* samples written */
	__u64 dropped;		/* overflows that made no sample: no room, or throttled */
	__u64 reserved0[6];
	__u64 tail;		/* samples consumed */
	__u64 reserved1[7];
	__u32 nrsamples;
	__u32 watermark;
	__u32 nrsums;
	__u32 sample_size;
	__u32 data;		/* where the first slot is */
	__u32 reserved2;
};

/*
 * VPERFCTR_CONSUME: give back the slots of the oldest samples.
 *
 * Argument: how many.  For everyone who has a descriptor, whether or not the
 * state has an owner.  Of several who consume, each must do so in turn.
 * Returns 0 or:
 *
 *	EINVAL	there are not so many, or there is no ring
 */
#define VPERFCTR_CONSUME	_IO(0xD0, 23)

/* ---- the page --------------------------------------------------------- */

/*
 * mmap(NULL, page size, PROT_READ, MAP_SHARED, fd, 0) maps the state's page:
 *
 *	EINVAL	not exactly one page, or not at offset 0, or MAP_PRIVATE
 *	EACCES, EPERM	PROT_WRITE or PROT_EXEC
 *
 * A mapping by the owner's process lets that process (all of its threads, but
 * not the children of a fork) execute RDPMC, until it is unmapped, and while
 * some state has a control with counters.  It does not survive exec.
 *
 * The child of a fork has the mapping too, but it shows another page there, in
 * which all but version is zero: no counter, no TSC, no RDPMC.  Until the child
 * unmaps it, executes a file or ends, it keeps the state as a descriptor would.
 *
 * Reading counter i by the owner:
 *
 *	do {
 *		seq = page->samplecount;		(compiler barrier)
 *		if (!(page->cstatus & VPERFCTR_CSTATUS_RDPMC))
 *			not this way: use VPERFCTR_READ
 *		now = rdpmc(page->ctr[i].map);
 *		value = page->ctr[i].sum + ((now - page->ctr[i].start) & page->mask);
 *							(compiler barrier)
 *	} while (page->samplecount != seq);
 *
 * Several counters read within one pass of the loop are consistent.  The TSC
 * is read the same way: tsc_sum + (rdtsc() - tsc_start), if cstatus has both
 * VPERFCTR_CSTATUS_RUNNING and VPERFCTR_CSTATUS_TSC; without
 * VPERFCTR_CSTATUS_RUNNING the value is tsc_sum, and a counter's is its sum.
 *
 * cstatus is about the owner: other threads and processes must not use start.
 * They can take sums as of the owner's last suspend from the page, by the loop
 * above without rdpmc, if they also start over while samplecount is odd (it
 * never is for the owner), or current ones from VPERFCTR_READ.
 *
 * The first 64 bytes are for the TSC and for what seldom matters; the fields
 * that a read of counters needs start at the second 64, so that reading one
 * or two counters touches one cache line.
 */
struct vperfctr_page_ctr {
	__u32 map;		/* what RDPMC takes */
	__u32 reserved;
	/*
	 * The counter when last resumed or sampled.  While suspended 0, or of an
	 * i-mode counter where it will go on.
	 */
	__u64 start;
	__u64 sum;		/* what was counted until then */
};

struct vperfctr_page {
	__u32 version;		/* VPERFCTR_ABI_VERSION */
	__u32 reserved0;
	__u64 tsc_start;
	__u64 tsc_sum;
	__u64 reserved1[5];

	__u32 samplecount;	/* changes at every suspend, resume and sample */
	__u32 cstatus;		/* VPERFCTR_CSTATUS_* */
	__u64 mask;		/* of the counters' width */
	struct vperfctr_page_ctr ctr[];
};

/* cstatus */
#define VPERFCTR_CSTATUS_NRCTRS(cs)	((cs) & 0xff)		/* all counters */
#define VPERFCTR_CSTATUS_NRACTRS(cs)	(((cs) >> 8) & 0xff)	/* a-mode ones */
#define VPERFCTR_CSTATUS_TSC		0x10000000U /* tsc_on */
#define VPERFCTR_CSTATUS_ICTRS		0x40000000U /* there are i-mode counters */
#define VPERFCTR_CSTATUS_RUNNING	0x20000000U /* not suspended */
#define VPERFCTR_CSTATUS_RDPMC		0x80000000U /* running, and the owner may RDPMC now */

#endif /* _UAPI_LINUX_VPERFCTR_H */
