/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vperfctr: virtual per-thread performance counters
 *
 * The calls of /dev/vperfctr.  A client can be written from this file and
 * vperfctr-processors(7), which says what counters each processor has.
 *
 * The model is that of perfctr's "low-level-api.txt" and "virtual.txt".  A
 * thread may own one *state*, and observers may have others beside it.  A state holds
 * a *control* (what to count), and for the time-stamp counter (TSC) and each controlled
 * counter a *sum* and a *start*.  The count is sum + (now - start) while the owner
 * runs, and sum while it does not.  Counters are suspended when the owner is switched
 * out, and resumed when it is switched in, on any CPU, so a count is the owner's alone.
 * An *a-mode* counter accumulates.  An *i-mode* counter interrupts when it
 * overflows, and restarts from *ireset*.  The TSC of other processors than x86 is the
 * counter of time that user mode reads: CNTVCT_EL0 of Arm, `time` of RISC-V, and the
 * time base of PowerPC.
 *
 * A thread counts itself like this:
 *
 *	dev = open("/dev/vperfctr", O_RDONLY | O_CLOEXEC);
 *	fd = ioctl(dev, VPERFCTR_OPEN, &(struct vperfctr_open) {
 *		.size = sizeof(struct vperfctr_open), .flags = VPERFCTR_OPEN_CREAT });
 *	page = mmap(NULL, page size, PROT_READ, MAP_SHARED, fd, 0);
 *	ioctl(fd, VPERFCTR_CONTROL, &control);		counting starts
 *	... read the counters from the page (see struct vperfctr_page) ...
 *	ioctl(fd, VPERFCTR_UNLINK, 0);			the thread gives the state up
 *
 * Conventions: every structure has the same layout for 32- and 64-bit callers.
 * It begins with its size as the caller knows it, so that it can grow.  A kernel
 * that knows a larger structure takes the missing fields as zero.  One that
 * knows a smaller structure fails with E2BIG unless the fields that it does not
 * know are zero.  Reserved fields and unknown flags must be zero.  User addresses
 * are passed as 64-bit integers.  Therefore the ioctl numbers carry no size.  A set
 * of counters has 64 bits: bit i is the control's counter i.  doc/abi.md says what
 * later versions may change.
 *
 * Every call returns 0 unless its comment says otherwise, or -1 with errno.  These
 * errors can occur in any call and are not repeated below:
 *
 *	EFAULT	the argument, or an address in it, cannot be accessed
 *	EINVAL	the size is smaller than doc/abi.md allows; a reserved field, an unknown
 *		flag, or the argument of a call that takes none, is not zero
 *	E2BIG	the structure is larger than this kernel knows, and a field that
 *		it does not know is not zero; or it is larger than a memory page
 *	EINTR	the caller was killed while it waited: user space never sees it
 *	ENOTTY	this descriptor has no such ioctl
 */
#ifndef _UAPI_LINUX_VPERFCTR_H
#define _UAPI_LINUX_VPERFCTR_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * The major number is the upper half: a change there breaks clients.  While it is 0, each
 * change of the minor number may.
 */
#define VPERFCTR_ABI_VERSION	0x00000009

/* The greatest number of counters that one control can hold. */
#define VPERFCTR_MAX_CTRS	32

/* ---- on /dev/vperfctr ------------------------------------------------ */

/*
 * VPERFCTR_INFO: describe the module and the processor.
 *
 * Argument: struct vperfctr_info *.  The caller sets size and kind.  The kernel
 * fills in the rest, and sets size to the size that it knows.  Fields that the
 * kernel does not know are zeroed.  Errors:
 *
 *	EINVAL	kind is not smaller than nrkinds
 *
 * A hybrid processor has several kinds of CPUs, with different counters and
 * events, and so has a big.LITTLE system.  There, arch_events, core_type, nrctrs,
 * pmc_mask, fixed_mask and cpu_name are those of the kind, and all other fields
 * are the same for all kinds.  core_type is EAX of CPUID leaf 1AH, or MIDR_EL1
 * without variant and revision.  Kinds are numbered as they are found, from CPU 0
 * on.  A kind of which no CPU has been online is added when the first one comes
 * online.  No kind is ever removed.  Other processors have one kind, 0.
 *
 * used_pmcs, used_fixed, own_pmcs and own_fixed are about a thread: the calling one.  The
 * descriptor of a state has this call, too, and there they are about the state's owner, on
 * all kinds of CPUs.  So a monitor can choose counters for which CONTROL does not fail with
 * EADDRINUSE: those that are in none of the four, and those that the state itself has, which
 * are in one of them.  The thread may get other states and controls at any time, but not while
 * it is stopped under ptrace, except by VPERFCTR_ATTACH.  All four are 0 if the state has no
 * owner any more, and for a set of threads: CONTROL fails with ESRCH then, so that there is
 * nothing to choose, and the rest of the answer is still right.  Any holder of the descriptor
 * may call it.  VPERFCTR_FEATURE_KERNEL is about the caller there, too.
 */
#define VPERFCTR_INFO		_IO(0xD0, 0)

/* features */
#define VPERFCTR_FEATURE_RDPMC		0x01 /* user-mode RDPMC once the page is mapped */
#define VPERFCTR_FEATURE_RDTSC		0x02 /* there is a TSC that user mode can read */
#define VPERFCTR_FEATURE_PCINT		0x04 /* overflow interrupts: i-mode counters */
#define VPERFCTR_FEATURE_INHERIT	0x08 /* control is inherited by children */
#define VPERFCTR_FEATURE_ISOLATE	0x10 /* no thread sees what others' counters held */
#define VPERFCTR_FEATURE_KERNEL		0x20 /* this caller may count kernel mode */
#define VPERFCTR_FEATURE_ANY_KIND	0x40 /* one control can count on all kinds of CPUs */
#define VPERFCTR_FEATURE_INHERIT_IMODE	0x80 /* i-mode counters are inherited, too */
#define VPERFCTR_FEATURE_RECORDS	0x100 /* rings can have VPERFCTR_RING_RECORDS */
#define VPERFCTR_FEATURE_CLOCK		0x200 /* samples by thread time: clock_period */
#define VPERFCTR_FEATURE_CPUS		0x400 /* whole CPUs can be counted: see OPEN_CPUS */
#define VPERFCTR_FEATURE_SPREAD		0x800 /* VPERFCTR_CONTROL_SPREAD */

/* cpu_type */
#define VPERFCTR_CPU_GENERIC		0 /* no counters, only the TSC */
#define VPERFCTR_CPU_INTEL_ARCH		1 /* Intel architectural performance monitoring */
#define VPERFCTR_CPU_AMD		2 /* AMD, K7 and later, and Hygon */
#define VPERFCTR_CPU_ARM_PMUV3		3 /* Arm's PMUv3, all versions */
#define VPERFCTR_CPU_INTEL_P6		5 /* Intel Pentium Pro, II, III and M */
#define VPERFCTR_CPU_VIA_C3		6 /* VIA C3 */
#define VPERFCTR_CPU_INTEL_P5		7 /* Intel Pentium, with MMX and without */
#define VPERFCTR_CPU_CYRIX		8 /* Cyrix 6x86MX, MII and III */
#define VPERFCTR_CPU_WINCHIP		9 /* IDT WinChip C6, 2 and 3 */
#define VPERFCTR_CPU_INTEL_P4		11 /* Pentium 4, and Xeons of its time: family 15 */
#define VPERFCTR_CPU_RISCV_SBI		12 /* RISC-V, by the PMU extension of the SBI */
#define VPERFCTR_CPU_POWER8		13 /* IBM POWER8 to 12 */
#define VPERFCTR_CPU_PPC32		14 /* 32-bit PowerPC: 604, 604e, 750, 7400 to 7448 */

/*
 * arch_events: events that have one meaning on every processor.  On Intel these
 * are the architectural events (SDM volume 3, "Pre-defined Architectural
 * Performance Events").  On AMD they are events 76H, C0H, C2H and C3H: cycles,
 * instructions, branches and branch misses.  On the Pentium 4 the same four are
 * global_power_events, instr_retired, branch_retired and mispred_branch_retired.
 * On Arm, those of caches and branch misses are perf's: the L1 data cache's, 04H and
 * 03H, and mispredicted branches that need not retire, 10H.
 */
#define VPERFCTR_EVENT_CYCLES		0x01 /* unhalted core cycles */
#define VPERFCTR_EVENT_INSTRUCTIONS	0x02 /* instructions retired */
#define VPERFCTR_EVENT_REF_CYCLES	0x04 /* unhalted reference cycles */
#define VPERFCTR_EVENT_CACHE_REFS	0x08 /* last-level cache references; on Arm see above */
#define VPERFCTR_EVENT_CACHE_MISSES	0x10 /* last-level cache misses; on Arm see above */
#define VPERFCTR_EVENT_BRANCHES		0x20 /* branch instructions retired */
#define VPERFCTR_EVENT_BRANCH_MISSES	0x40 /* mispredicted branches retired; on Arm see above */

/*
 * Software counters: what the kernel itself counts for a thread, in all modes.  Each bit
 * is a counter, and its number is the counter's index in struct vperfctr_soft.
 *
 * TASK_CLOCK	nanoseconds on a CPU: the TSC's sum, in another unit
 * CONTEXT_SWITCHES  how often the thread left a CPU for another thread, or to wait
 * MIGRATIONS	how often the scheduler gave the thread another CPU
 * MINOR_FAULTS	page faults that needed no I/O, those for system calls included
 * MAJOR_FAULTS	page faults that needed I/O
 *
 * They run while the control does, which means except while VPERFCTR_SUSPEND or
 * START_ON_EXEC stops it.  An overflow that waits for IRESUME does not stop them, nor
 * does a CPU that cannot count the control, except that TASK_CLOCK stops there with the
 * TSC.  They need no hardware.
 */
#define VPERFCTR_SOFT_TASK_CLOCK	0x01
#define VPERFCTR_SOFT_CONTEXT_SWITCHES	0x02
#define VPERFCTR_SOFT_MIGRATIONS	0x04
#define VPERFCTR_SOFT_MINOR_FAULTS	0x08
#define VPERFCTR_SOFT_MAJOR_FAULTS	0x10
#define VPERFCTR_SOFT_PAGE_FAULTS	(VPERFCTR_SOFT_MINOR_FAULTS | VPERFCTR_SOFT_MAJOR_FAULTS)
/* The number of counters that this header has. */
#define VPERFCTR_NR_SOFT		5

struct vperfctr_info {
	__u32 size;
	__u32 kind;		/* in: the kind of CPU, from 0 (see above) */
	__u32 abi_version;	/* VPERFCTR_ABI_VERSION */
	__u32 features;		/* VPERFCTR_FEATURE_* */
	__u32 cpu_type;		/* VPERFCTR_CPU_* */
	__u32 nrkinds;		/* number of kinds of CPUs */
	__u32 tsc_khz;		/* rate of the TSC in kHz; 0: not known */
	__u32 arch_events;	/* VPERFCTR_EVENT_* that can be counted */
	__u32 nrctrs;		/* the most counters that one control can have */
	__u32 core_type;	/* of the kind, if there are several (see above); else 0 */
	__u32 pmc_width;	/* bits in a general counter */
	__u32 fixed_width;	/* bits in a fixed counter */
	__u64 pmc_mask;		/* bit i: general counter i (map i) exists */
	__u64 fixed_mask;	/* bit i: fixed counter i (map VPERFCTR_FIXED + i) exists */
	char driver_version[32];	/* of the module, NUL-terminated */
	char cpu_name[64];		/* of the low-level driver, NUL-terminated */
	__u64 max_period;	/* i-mode: ireset is at least -max_period; 0: no i-mode */
	__u64 soft;		/* VPERFCTR_SOFT_* that can be counted */
	__u64 min_period;	/* i-mode: ireset is at most -min_period; 0: no i-mode */
	__u64 watchdog_pmc;	/* general counters that the NMI watchdog keeps: not in pmc_mask */
	__u64 watchdog_fixed;	/* fixed counters that it keeps: not in fixed_mask */
	__u64 used_pmcs;	/* general counters that observers of the thread use: see above */
	__u64 used_fixed;	/* fixed counters that they use: see VPERFCTR_OPEN_OBSERVER */
	__u64 own_pmcs;		/* general counters that the thread's own state uses */
	__u64 own_fixed;	/* fixed counters that it uses */
};

/*
 * VPERFCTR_CPUS: the CPUs of the system.
 * VPERFCTR_CPUS_FORBIDDEN: the CPUs on which counters of no kind can be used.  On
 * a hybrid processor they include CPUs that have never been online, as their kind
 * is not known.
 *
 * Argument: struct vperfctr_cpu_mask *.  size is that of the structure without
 * mask[], which begins after that many bytes.  nrwords is the number of words that
 * mask[] has room for.  The kernel always sets nrwords to the number that it
 * needs.  CPU n is bit n % 32 of word n / 32.  Errors:
 *
 *	EINVAL	size is no multiple of 4
 *	EOVERFLOW  mask[] is too small; only nrwords was written
 */
#define VPERFCTR_CPUS		_IO(0xD0, 1)
#define VPERFCTR_CPUS_FORBIDDEN	_IO(0xD0, 2)

struct vperfctr_cpu_mask {
	__u32 size;
	__u32 nrwords;
	__u32 mask[];
};

/*
 * VPERFCTR_KIND_CPUS: the CPUs of a kind, on which a control of that kind counts.
 *
 * Argument: struct vperfctr_kind_cpus *.  The caller sets kind and nrkinds; size,
 * nrwords and mask are those of VPERFCTR_CPUS.  If kind is VPERFCTR_ANY_KIND, these are
 * the CPUs of kinds 0 to nrkinds - 1, on which a control with that many tables counts, or
 * of all kinds if nrkinds is 0.  Errors:
 *
 *	EINVAL	kind is neither VPERFCTR_ANY_KIND nor smaller than nrkinds of
 *		VPERFCTR_INFO; nrkinds is greater than that, or is not 0 for a kind; or
 *		size is no multiple of 4
 *	EOVERFLOW  mask[] is too small; only nrwords was written
 */
#define VPERFCTR_KIND_CPUS	_IO(0xD0, 4)

struct vperfctr_kind_cpus {
	__u32 size;
	__u32 kind;
	__u32 nrwords;
	__u32 nrkinds;		/* for VPERFCTR_ANY_KIND: 0, or the number of tables */
	__u32 mask[];
};

/*
 * VPERFCTR_OPEN: make or find the state of a thread.
 *
 * Argument: const struct vperfctr_open *.  tid is a thread id in the caller's PID
 * namespace; 0 is the calling thread.  Any other thread must be stopped under
 * ptrace by the calling thread.  Returns a new descriptor of the state, which is
 * close-on-exec unless VPERFCTR_OPEN_NOCLOEXEC is given.  With VPERFCTR_OPEN_CREAT,
 * control may be the address of a struct vperfctr_control, which is set as
 * VPERFCTR_CONTROL does.  If that fails, so does the call, with no state made.
 * Errors:
 *
 *	EEXIST	VPERFCTR_OPEN_CREAT without OBSERVER, and the thread has a state of its own
 *	EMLINK	VPERFCTR_OPEN_CREAT, and the thread has VPERFCTR_MAX_STATES states
 *	ENOENT	no VPERFCTR_OPEN_CREAT, and the thread has no state of its own
 *	ESRCH	there is no such thread, or it is ending
 *	EPERM	the thread is another one, and not stopped under the caller's ptrace;
 *		or no VPERFCTR_OPEN_CREAT, the last control of the state counts kernel
 *		mode, and the caller may not (see VPERFCTR_FEATURE_KERNEL); or no
 *		VPERFCTR_OPEN_CREAT, and another user made the state (see below)
 *	EAGAIN	the user has as many states as the module's parameter
 *		max_states_per_user allows
 *	EINVAL	VPERFCTR_OPEN_TRANSIENT, _KEEP, _LOCKED, _OBSERVER or a control without CREAT;
 *		KEEP with TRANSIENT or OBSERVER; or LOCKED, and the thread is the calling one
 *	ENOMEM	there is no memory
 *	any of VPERFCTR_CONTROL, if there is a control
 *	EINTR	a signal came while the call waited, see below; with SA_RESTART the
 *		call starts again
 *	EMFILE, ENFILE	as of open(2)
 *
 * Making a state for another thread stops all CPUs for a moment.  A user without
 * CAP_PERFMON and CAP_SYS_ADMIN can do so only as often as the module's parameter
 * max_stops_per_second allows; the call waits.  VPERFCTR_ATTACH stops them once for each
 * max_threads_per_stop threads, which is another parameter.
 *
 * A new state counts nothing without a control, and all of its sums are zero.  It
 * belongs to the thread until UNLINK or the thread's end, and survives exec.  It
 * exists, with its final sums, as long as it has a thread or a descriptor.  A mapping
 * counts as a descriptor.
 *
 * With VPERFCTR_OPEN_TRANSIENT the state is also unlinked when its last descriptor is
 * closed.  Without it the state stays attached, and VPERFCTR_OPEN_KEEP says so
 * explicitly.  Both are the same for a thread's own state and for one that a monitor
 * makes.  A monitor that does not give TRANSIENT leaves a state behind when it ends:
 * the thread is counted, and the monitor's user charged, until the thread ends, unlinks
 * the state, or executes a file that gives privileges, or another monitor unlinks it.
 *
 * A state belongs to the user who made it: the user namespace, and the real,
 * effective and saved user ids of the thread that called OPEN.  An inherited state
 * belongs to the user who made the one that it was inherited from.  If the
 * thread becomes another user, the counting continues.  To that user, OPEN, CONTROL,
 * RING, SUSPEND and RESUME are EPERM then.  UNLINK, IRESUME, CONSUME, READ and mmap
 * need only a descriptor that the thread has kept.  A caller with CAP_PERFMON or
 * CAP_SYS_ADMIN in the user namespace of the state may do everything that its user may.
 *
 * A thread has one state of its own.  VPERFCTR_OPEN_OBSERVER and
 * VPERFCTR_ATTACH_OBSERVER make a state beside that, for an observer: a program that
 * counts whatever another one does.  States that are inherited from an observer's are
 * observers', too.  A thread can have VPERFCTR_MAX_STATES states.  Each has its own control,
 * page, ring and descriptors, and counts independently of the others; but no two of them can
 * use the same counter at the same time.  A state keeps its counters, also while it is
 * suspended, until it gets another control or the all-zero one, or ends.  OPEN without CREAT
 * finds the own state, and VPERFCTR_MEMBER any state of a family.  An observer's state is
 * TRANSIENT, as only its descriptors can end it.  The counters of all states of a thread can be
 * read in user mode if one of them is mapped by it, also those that count kernel mode for an
 * observer with the right to it.
 *
 * States and rings are charged to the user who makes them, inherited states to the user
 * who starts the thread.  All users of a user namespace are charged to the user who
 * made the outermost one.
 *
 * Executing a file that gives privileges, or that the thread may not read, unlinks
 * the state before the first instruction of that file.  Descendants continue to be
 * counted.  READ's status then has VPERFCTR_STATUS_PRIVILEGED.
 */
#define VPERFCTR_OPEN		_IO(0xD0, 3)

/* Bits 24 to 31 are never defined here: they are for libraries, which do not pass them on. */
#define VPERFCTR_OPEN_CREAT	0x01 /* make a state */
#define VPERFCTR_OPEN_NOCLOEXEC	0x02 /* exec leaves the descriptor open */
#define VPERFCTR_OPEN_TRANSIENT	0x04 /* unlink with the last descriptor */
#define VPERFCTR_OPEN_KEEP	0x08 /* the default: do not unlink with the last descriptor */
#define VPERFCTR_OPEN_LOCKED	0x10 /* the owner cannot change the state, only its monitor */
#define VPERFCTR_OPEN_OBSERVER	0x20 /* beside the thread's own state */

/* The most states that a thread can have, its own one included. */
#define VPERFCTR_MAX_STATES	8

struct vperfctr_open {
	__u32 size;
	__s32 tid;
	__u32 flags;		/* VPERFCTR_OPEN_* */
	__u32 reserved;
	__u64 control;		/* address of struct vperfctr_control; 0: none */
};

/*
 * VPERFCTR_ATTACH: count a process that is running, or one of its threads.
 *
 * Argument: struct vperfctr_attach *.  tid is the id of the process, or of any of its
 * threads, in the caller's PID namespace; 0 is the calling thread.  mem_fd is a
 * descriptor of the process's /proc/PID/mem, open for reading: the caller then has the
 * rights that ptrace needs.  As many threads of the process as the module's parameter
 * max_threads_per_stop says are attached to at the same moment, and the next ones some
 * milliseconds later: each is counted from its own moment on.  That stops all CPUs for some
 * tens of microseconds, and about one more for each of these threads.  No thread is interrupted
 * in a system call.  ptrace, of the caller or of another process, is not involved.
 *
 * Returns a descriptor of a *set*: the root of a family that has no thread of its
 * own.  Each thread gets a state that inherits the control.  With
 * VPERFCTR_CONTROL_INHERIT, so do the threads and processes that are started from
 * then on; with VPERFCTR_CONTROL_INHERIT_THREADS too, only the threads.  Without
 * INHERIT, only threads that exist now are counted.
 *
 * READ on the descriptor returns the counts of all of them as children's sums: those
 * that have ended or, with VPERFCTR_READ_MEMBERS, all.  Sums of the set itself are
 * zero.  READ's status has VPERFCTR_STATUS_CHILDREN while some are counted.  poll()
 * returns POLLHUP when all have ended.  UNLINK and closing the last descriptor end the
 * counting.  CONTROL, SUSPEND, RESUME, IRESUME and RING fail with ESRCH.
 *
 * A thread is skipped that cannot have the control beside its other states or, without
 * VPERFCTR_ATTACH_OBSERVER, has a state of its own: children_missed of READ counts it.  It also
 * counts a thread that gains privileges by an exec, as the counting of that thread ends;
 * the status then has VPERFCTR_STATUS_PRIVILEGED.  A control must count something, and
 * may have no other flags than INHERIT, INHERIT_THREADS, SPREAD and RING.
 *
 * used_pmcs and used_fixed are the counters that other states of the threads have, on any kind of
 * CPU.  Threads that were skipped because of the number of their states may be left out: see EEXIST
 * and EMLINK.  They are set if the call succeeds or if it fails with EADDRINUSE or EXFULL, so that
 * the caller can choose other ones and call again.  The threads may have got others by then.
 * No state refuses a control without counters, so it serves to ask.
 *
 * With the address of a struct vperfctr_ring in `ring`, the set gets a ring as by
 * VPERFCTR_RING, into which the samples of all threads go.  The control must then have
 * VPERFCTR_CONTROL_RING.
 *
 * Errors are those of VPERFCTR_CONTROL, those of VPERFCTR_RING if there is one, and:
 *
 *	EBADF	mem_fd is no descriptor
 *	EINVAL	mem_fd is not one of a /proc/PID/mem, or not open for reading; or the
 *		control has a signal, preserves sums, counts nothing, or has another
 *		flag; or it has i-mode counters and there is no ring, or a ring and no
 *		VPERFCTR_CONTROL_RING, or the reverse
 *	ESRCH	there is no such thread, or it and all others of its process are ending;
 *		or the process has executed a file since mem_fd was opened; or mem_fd
 *		is that of another process, or of a kernel thread
 *	EEXIST	all threads that could be counted have states, and there is no
 *		VPERFCTR_ATTACH_OBSERVER
 *	EMLINK, EADDRINUSE, EXFULL	all threads were skipped, one of them for this reason: it
 *		has VPERFCTR_MAX_STATES states; or as of VPERFCTR_CONTROL.  If there
 *		are several reasons, it is EADDRINUSE or EXFULL
 *	EINTR	a signal came while the call waited, as in VPERFCTR_OPEN; with
 *		SA_RESTART the call starts again
 *	EAGAIN	the user would have more states than the module's parameter
 *		max_states_per_user allows; or the threads start new ones faster than the
 *		call can attach to them
 *	ENOMEM	there is no memory
 *	EMFILE, ENFILE	as of open(2)
 */
#define VPERFCTR_ATTACH		_IO(0xD0, 5)

#define VPERFCTR_ATTACH_THREAD	0x01 /* attach to this thread only */
#define VPERFCTR_ATTACH_NOCLOEXEC 0x02 /* exec leaves the descriptor open */
#define VPERFCTR_ATTACH_LOCKED	0x04 /* the threads cannot change their states */
#define VPERFCTR_ATTACH_OBSERVER 0x08 /* beside the threads' own states */

struct vperfctr_attach {
	__u32 size;
	__u32 flags;		/* VPERFCTR_ATTACH_* */
	__s32 tid;
	__s32 mem_fd;
	__u64 control;		/* address of struct vperfctr_control */
	__u32 nrthreads;	/* out: threads that were attached to; in: 0 */
	__u32 nrskipped;	/* out: threads that were skipped; in: 0 */
	__u64 ring;		/* address of struct vperfctr_ring; 0: none */
	__u64 used_pmcs;	/* out: general counters that other states have; in: 0 */
	__u64 used_fixed;	/* out: fixed counters that they have; in: 0 */
};

/*
 * VPERFCTR_OPEN_CPUS: count CPUs instead of threads.
 *
 * Argument: struct vperfctr_open_cpus *.  nrwords and mask are a set of CPUs, in words as
 * those of VPERFCTR_CPUS.  Returns a descriptor of these CPUs, with the calls of the section
 * "on a descriptor of CPUs" below.  CPUs that are offline may be among them, and are
 * counted when they come online.  The call interrupts no CPU, and nothing is counted before
 * CONTROL.  Closing the last descriptor ends the counting.
 *
 * This is for callers with CAP_PERFMON or CAP_SYS_ADMIN in the initial user namespace
 * only, as it shows what all users do.  The module's parameter allow_kernel does not
 * matter.  Errors:
 *
 *	EPERM	the caller has neither
 *	EOPNOTSUPP  there is no VPERFCTR_FEATURE_CPUS: there are no counters, or the module
 *		isolates and cannot keep user mode from reading them, or perf from
 *		letting it
 *	EINVAL	nrwords is 0 or greater than VPERFCTR_CPUS_MAX_WORDS, or there is no CPU
 *		in the set
 *	ENODEV	the set has a CPU that VPERFCTR_CPUS does not report
 *	ENOMEM	there is no memory
 *	EMFILE, ENFILE	as of open(2)
 */
#define VPERFCTR_OPEN_CPUS	_IO(0xD0, 6)

#define VPERFCTR_OPEN_CPUS_NOCLOEXEC	0x01 /* exec leaves the descriptor open */

#define VPERFCTR_CPUS_MAX_WORDS		4096

struct vperfctr_open_cpus {
	__u32 size;
	__u32 flags;		/* VPERFCTR_OPEN_CPUS_* */
	__u32 nrwords;		/* words at mask */
	__u32 nrcpus;		/* out: number of CPUs in the set; in: 0 */
	__u64 mask;		/* address of nrwords __u32: CPU n is bit n % 32 of word n / 32 */
};

/* ---- on the descriptor of a state ------------------------------------ */

/*
 * VPERFCTR_INFO is described above.
 *
 * All calls but INFO, READ, CONSUME and MEMBER are for the state's owner, or for its monitor:
 * a thread that has the owner stopped under ptrace.  They can fail with these errors
 * in addition to those of each call:
 *
 *	ESRCH	the state has been unlinked, or its thread has ended
 *	EPERM	the caller is neither the owner nor the owner's monitor; or it is another
 *		user than the one who made the state (see VPERFCTR_OPEN); or it is the
 *		owner, and the state was made with VPERFCTR_OPEN_LOCKED or
 *		VPERFCTR_ATTACH_LOCKED, or inherited from one that was
 *
 * SIGKILL may wake a monitored owner at any time.  The call then either succeeds
 * or fails and changes nothing, except that CONTROL and UNLINK may already have
 * ended the counting of the owner's descendants.
 */

/*
 * VPERFCTR_CONTROL: set what to count, and start.
 *
 * Argument: const struct vperfctr_control *.  The call stops and samples running
 * counters.  It sets the sums to zero, except those of counters whose bit is set
 * in `preserve`, and except the TSC's unless tsc_on is 0.  Then it starts what the
 * control asks for, unless VPERFCTR_CONTROL_START_ON_EXEC is given.  A pause by
 * VPERFCTR_SUSPEND ends.
 *
 * `soft` asks for software counters (VPERFCTR_SOFT_*), which start at zero with each
 * control.  READ returns them; the page does not have them.
 *
 * A control with tsc_on, nractrs, nrictrs and soft all zero stops everything and keeps
 * all sums.  It also keeps the previous control, for READ to return, and the
 * VPERFCTR_CONTROL_END_ON_EXEC of that control in force.
 *
 * With VPERFCTR_CONTROL_INHERIT, every thread that the owner starts from then on
 * gets a state of its own with this control.  So do the threads that such threads
 * start.  Their counts are added to the children's sums of this state when
 * they end; READ returns them.  A thread that is started while counting is paused,
 * or waits for an exec, gets no state.  CONTROL and UNLINK on the state end the
 * counting of all descendants, and so does closing the last descriptor of a state
 * whose thread is gone.  A thread leaves the family if it unlinks its inherited
 * state or gives it a control of its own; children_missed counts it.
 *
 * On a hybrid processor a control with counters is for one kind of CPUs, and
 * counts on no other, or it is for any kind (see VPERFCTR_ANY_KIND).  A control of
 * the TSC alone counts everywhere.
 *
 * The owner is not counted on CPUs that cannot count this control (see
 * VPERFCTR_KIND_CPUS).  After it has run on one, READ's status has
 * VPERFCTR_STATUS_FORBIDDEN.  VPERFCTR_CONTROL_AFFINITY makes that an error: the
 * owner's CPU affinity must have none of these CPUs.  The caller narrows it before, by
 * sched_setaffinity(), which respects the cpuset; the library's calls do so.  If the
 * owner is moved to such a CPU later, counting stops and the owner gets SIGILL.  A
 * monitor's CONTROL clears this flag, so that no move kills its target.
 *
 * While any state has a control with counters, perf_event and the NMI watchdog cannot use
 * the hardware counters, except those that INFO leaves out.
 *
 * An i-mode counter starts from its ireset, which is minus the period.  See
 * VPERFCTR_IRESUME for its overflow, and VPERFCTR_RING if the control has
 * VPERFCTR_CONTROL_RING.  A new control clears overflows of the previous one that wait
 * for IRESUME, but their signal may already be on its way.
 *
 * A thread that inherits i-mode counters (VPERFCTR_FEATURE_INHERIT_IMODE) starts with a
 * whole period or, with VPERFCTR_CONTROL_SPREAD, with a part of one.  The parts of all such
 * threads are spread evenly over the period.  So threads that are shorter than a period
 * have samples, too: on average, as many as their events divided by the period.
 * The samples of such a thread go to the ring of the state that CONTROL was called for.
 * Without VPERFCTR_CONTROL_RING it gets the signal si_signo for its own overflows, also
 * after an exec, and calls IRESUME on its own state, which VPERFCTR_OPEN finds.  It
 * cannot if its state is locked, or after it has become another user: its counters then
 * stay held after the first overflow.
 *
 * With clock_period (VPERFCTR_FEATURE_CLOCK) the ring also gets a sample each time that
 * the owner has run for that time: VPERFCTR_SAMPLE_CLOCK.  This needs no counters, but a-mode
 * counters can be beside it.  The thread time is that of SOFT_TASK_CLOCK; the first period
 * begins with the control, and a pause does not end a period.  A thread that inherits the
 * control begins with a whole period, or with a part of one as above.  A thread's samples
 * and what they count as dropped are together its thread time since the control, divided
 * by the period; with CONTROL_SPREAD that is so on average.
 *
 * A call that fails changes nothing: running counters keep running, and sums and
 * control remain.  There is one exception.  If an observer attaches to the owner during
 * the call, and takes a counter that the control has, the call fails with EADDRINUSE or
 * EXFULL, and the counting of the owner's descendants may have ended already:
 * children_missed of READ counts these.  Errors:
 *
 *	EINVAL	any of:
 *		- kind is neither VPERFCTR_ANY_KIND nor smaller than nrkinds of
 *		  VPERFCTR_INFO, or it is not 0 and there are no counters
 *		- more counters than nrctrs of the kind, or of one of the kinds
 *		- nrkinds is 0 or greater than INFO's, for VPERFCTR_ANY_KIND, or is not
 *		  0 for another kind
 *		- VPERFCTR_ANY_KIND with a map that one of the kinds does not have, or
 *		  with two values of ireset for one counter
 *		- a map that is no counter of this kind, or used twice
 *		- an evntsel with reserved or refused bits, or one that would count
 *		  nothing (see struct vperfctr_ctr)
 *		- an aux or global that is not zero where this processor has no use
 *		  for it
 *		- an ireset of an a-mode counter that is not zero, or one of an
 *		  i-mode counter that is not in -max_period ... -min_period
 *		- an event of an i-mode counter that this processor can count in
 *		  a-mode only: its overflows would come at a wrong time
 *		- ctr_size is smaller than interface 0.9's struct
 *		  vperfctr_ctr, greater than a memory page, or no multiple of 8
 *		- tsc_on is greater than 1
 *		- soft has a bit that INFO's soft does not have, or has
 *		  SOFT_TASK_CLOCK and tsc_on is 0
 *		- a bit in preserve that is no counter
 *		- flags without anything to count
 *		- si_signo without i-mode counters, or CONTROL_RING without them and without
 *		  clock_period
 *		- clock_period that is neither 0 nor VPERFCTR_CLOCK_MIN ...
 *		  VPERFCTR_CLOCK_MAX; or that is not 0 with i-mode counters, or without
 *		  CONTROL_RING or tsc_on
 *		- si_signo that is no signal, or together with CONTROL_RING
 *		- CONTROL_RING and the state has no ring
 *		- CONTROL_INHERIT with i-mode counters, and neither CONTROL_RING nor
 *		  si_signo
 *		- CONTROL_END_ON_EXEC with CONTROL_START_ON_EXEC or CONTROL_INHERIT
 *		- CONTROL_INHERIT_THREADS without CONTROL_INHERIT
 *		- CONTROL_SPREAD without CONTROL_INHERIT, or without i-mode counters and
 *		  without clock_period
 *	E2BIG	ctr_size is greater than this kernel knows, and a field of a counter
 *		that it does not know is not zero
 *	EUSERS	CONTROL_AFFINITY, and the owner's affinity has CPUs that cannot count
 *		this.  This is checked last: with a narrower affinity the call succeeds
 *	EADDRINUSE  another state of the owner has one of the counters, on some kind of CPU
 *	EXFULL	another state of the owner has counters, and the processor cannot count
 *		with those of both at the same time: events of both need one register,
 *		with different values, or other settings of all counters
 *	EOPNOTSUPP nrictrs is not 0 and there is no VPERFCTR_FEATURE_PCINT; or
 *		tsc_on is not 0 and there is no VPERFCTR_FEATURE_RDTSC; or
 *		clock_period is not 0 and there is no VPERFCTR_FEATURE_CLOCK; or
 *		CONTROL_INHERIT and there is no VPERFCTR_FEATURE_INHERIT
 *	EPERM	kernel mode would be counted, and the caller lacks CAP_PERFMON and
 *		CAP_SYS_ADMIN (see VPERFCTR_FEATURE_KERNEL)
 *	EBUSY	there are counters, and perf_event or the NMI watchdog holds them:
 *		see `sysctl kernel.nmi_watchdog`; or CPUs are counted: see
 *		VPERFCTR_OPEN_CPUS; or a virtual machine has them without perf_event
 *		(KVM's enable_mediated_pmu)
 *	EIO	on the caller's CPU a counter that the processor reports does not count
 *		or cannot be written, as under some hypervisors; the kernel's log names
 *		the counter.  On another such CPU the owner is not counted, as on one
 *		that cannot count the control.  Also, without a line in the log, once
 *		the system has begun to shut down
 *	ENOMEM	there is no memory
 */
#define VPERFCTR_CONTROL	_IO(0xD0, 16)

/* Added to a fixed counter's number in `map`.  On x86 the sum is RDPMC's index. */
#define VPERFCTR_FIXED		0x40000000

/*
 * One counter's control.  map is the counter's number, as RDPMC takes it on x86, or
 * VPERFCTR_FIXED + i for fixed counter i.  evntsel is the event and the modes, as the
 * processor's register has them.  Bits that would disturb others, and events that would
 * count nothing, are refused.  vperfctr-processors(7) has the values of each processor.
 */
struct vperfctr_ctr {
	__u32 map;
	__u32 reserved;
	__u64 evntsel;
	__u64 aux;		/* a second register that the event needs; 0: none */
	__s64 ireset;		/* i-mode: minus the period in events; a-mode: 0 */
};

struct vperfctr_control {
	__u32 size;
	__u32 flags;		/* VPERFCTR_CONTROL_* */
	__u32 tsc_on;		/* 1: sample the TSC too */
	__u32 nractrs;		/* a-mode counters: ctr[0 .. nractrs - 1] */
	__u32 nrictrs;		/* i-mode counters: ctr[nractrs .. nractrs + nrictrs - 1] */
	__s32 si_signo;		/* signal after an overflow, any number; 0: none */
	__u64 preserve;		/* bit i: do not reset the sum of counter i */
	__u64 global[2];	/* processor's global control words; 0 where it has none */
	__u32 ctr_size;		/* sizeof(struct vperfctr_ctr), which may grow */
	__u32 kind;		/* kind of the CPUs to count on; 0 without counters */
	__u64 ctr;		/* address of nractrs + nrictrs struct vperfctr_ctr */
	__u64 soft;		/* software counters: VPERFCTR_SOFT_* */
	__u32 nrkinds;		/* for VPERFCTR_ANY_KIND: tables at ctr; otherwise 0 */
	__u32 reserved;
	__u64 clock_period;	/* thread time between samples, in nanoseconds; 0: no samples */
};

/* The least and the greatest clock_period that is not 0. */
#define VPERFCTR_CLOCK_MIN	10000ULL
#define VPERFCTR_CLOCK_MAX	1000000000000ULL

/*
 * The kind of a control that counts on several kinds of CPUs.  ctr is then the address of
 * nrkinds tables, one after the other, for kinds 0 to nrkinds - 1.  Each table has nractrs
 * + nrictrs counters.  Counter i of each table adds to sum i, and the owner is counted
 * wherever it runs by the table of that kind.  Tables may differ in map, evntsel and aux.
 *
 * An i-mode counter continues its period on the next kind, so all tables have its ireset.
 * In the page, ctr[i].map and mask change with the kind.  A reader loads them again in
 * each pass of its loop.  A pass may still execute RDPMC with the map of the kind that
 * the owner has just left.  So a map must exist on all of these kinds.
 *
 * CPUs of a kind without a table cannot count the control: see VPERFCTR_STATUS_FORBIDDEN.
 * A kind that is added after the call has no table.
 */
#define VPERFCTR_ANY_KIND		0xffffffffU

/* Start counting when the owner next executes a file, not now. */
#define VPERFCTR_CONTROL_START_ON_EXEC	0x01
/* Count the threads that the owner starts, too. */
#define VPERFCTR_CONTROL_INHERIT	0x02
/* Count on all CPUs of the owner's affinity; SIGILL if it is moved: see VPERFCTR_CONTROL. */
#define VPERFCTR_CONTROL_AFFINITY	0x04
/* Put overflows, or samples by thread time, into the state's ring: see VPERFCTR_RING. */
#define VPERFCTR_CONTROL_RING		0x08
/* Unlink the state when the owner next executes a file, before its first instruction. */
#define VPERFCTR_CONTROL_END_ON_EXEC	0x10
/* With INHERIT: count threads of the owner's process only, no child processes. */
#define VPERFCTR_CONTROL_INHERIT_THREADS 0x20
/* With INHERIT: a thread that inherits the control starts with a part of a period. */
#define VPERFCTR_CONTROL_SPREAD		0x40

/*
 * VPERFCTR_READ: return sums and control.
 *
 * Argument: struct vperfctr_read *.  The addresses in it say where to store each
 * part; 0 where a part is not wanted.  The sums are consistent with each other.
 * Any holder of the descriptor may call it, also after UNLINK and after the owner's
 * end.  The sums of a running owner are current: if the caller is another thread,
 * the owner's CPU is interrupted.  If the owner is off its CPU, has unlinked the
 * state or has ended, the sums are those of that moment.  Errors:
 *
 *	EOVERFLOW  nrctrs is smaller than the number of controlled counters; it is
 *		set to that number, and nothing else is written.  Or the tables of a
 *		control for any kind are asked for, and its nrkinds is smaller than
 *		their number; it is set to that number, and nothing else is written
 *	EINVAL	the control is asked for, and its size or ctr_size is wrong (both may
 *		be greater than this kernel knows: it zeroes the rest); software
 *		counters are asked for, and their size is too small
 *	ENOMEM	the control or READ_MEMBERS is asked for, and there is no memory
 */
#define VPERFCTR_READ		_IO(0xD0, 17)

struct vperfctr_sums {
	__u64 tsc;		/* in ticks of the TSC: see tsc_khz */
	__u64 pmc[];		/* events; one per controlled counter, in its order */
};

struct vperfctr_read {
	__u32 size;
	__u32 nrctrs;		/* in: room in the arrays; out: number of controlled counters */
	__u32 status;		/* out: VPERFCTR_STATUS_* */
	__u32 flags;		/* in: VPERFCTR_READ_* */
	__u64 overflow;		/* out: bit i: counter i overflowed, and waits for IRESUME */
	/*
	 * out: number of children whose counts are not, or not wholly, in the
	 * children's sums.  The children of such a child are missing too, and
	 * are not included in this number.
	 */
	__u64 children_missed;
	__u64 sums;		/* address of struct vperfctr_sums: the owner's own counts */
	/* Address of struct vperfctr_sums: its ended children's, or see READ_MEMBERS. */
	__u64 children;
	/*
	 * Address of struct vperfctr_control, of which the caller has set size,
	 * ctr_size, ctr (0, or the address of room for nrkinds tables of nrctrs
	 * counters) and nrkinds (0 is the same as 1).
	 */
	__u64 control;
	/* Address of struct vperfctr_soft, of which the caller has set size. */
	__u64 soft;
};

/*
 * Software counters, at the moment of the sums.  count[i] is that of bit i of
 * VPERFCTR_SOFT_*.
 */
struct vperfctr_soft {
	__u32 size;
	__u32 reserved;
	__u64 soft;		/* out: those that the control has; the others are 0 */
	struct vperfctr_soft_count {
		__u64 own;	/* the owner's own count */
		__u64 children;	/* that of its ended children */
	} count[VPERFCTR_NR_SOFT];
};

/*
 * Flag of READ: the children's sums include those of descendants that have not ended.
 * Each of them is sampled now: CPUs that run one are interrupted.  Descendants that are
 * started during the call are not included.
 */
#define VPERFCTR_READ_MEMBERS		0x01
/* Flag of READ: say in status whether the caller is the owner or the owner's monitor. */
#define VPERFCTR_READ_OWNER		0x02

/* status */
#define VPERFCTR_STATUS_ATTACHED	0x01 /* belongs to a living thread */
#define VPERFCTR_STATUS_ACTIVE		0x02 /* has a control that counts something */
#define VPERFCTR_STATUS_SUSPENDED	0x04 /* paused by VPERFCTR_SUSPEND */
#define VPERFCTR_STATUS_ARMED		0x08 /* will start at the next exec */
#define VPERFCTR_STATUS_CHILDREN	0x10 /* descendants are still counting */
#define VPERFCTR_STATUS_FORBIDDEN	0x20 /* was on a forbidden CPU, not counted there */
#define VPERFCTR_STATUS_PRIVILEGED	0x40 /* unlinked by an exec that gave privileges */
#define VPERFCTR_STATUS_OVERFLOW	0x80 /* counters wait for IRESUME; the TSC does not */
/* With VPERFCTR_READ_OWNER only: */
#define VPERFCTR_STATUS_OWNER		0x100 /* the caller is the owner */
#define VPERFCTR_STATUS_MONITOR		0x200 /* the caller has the owner stopped under ptrace */

/*
 * VPERFCTR_SUSPEND: pause all counting, TSC included, and keep the control.
 * VPERFCTR_RESUME: end the pause.
 *
 * Argument: 0.  Suspending a paused state changes nothing and is no error, nor is
 * resuming one that is not paused.  RESUME also restarts an owner that was stopped
 * on a forbidden CPU and is on another one now.  A control with START_ON_EXEC still
 * waits for the exec after RESUME.  Neither call affects descendants.  Errors:
 *
 *	EINVAL	the state has no control that counts something
 */
#define VPERFCTR_SUSPEND	_IO(0xD0, 18)
#define VPERFCTR_RESUME		_IO(0xD0, 19)

/*
 * VPERFCTR_UNLINK: stop, sample, and detach the state from its thread.
 *
 * Argument: 0.  The sums remain readable through this and other descriptors.
 * UNLINK also ends the counting of all descendants.  After an UNLINK or the
 * thread's end it is no error: any holder of the descriptor may then end the
 * counting of the remaining descendants.
 */
#define VPERFCTR_UNLINK		_IO(0xD0, 20)

/*
 * VPERFCTR_IRESUME: continue after an overflow.
 *
 * When an i-mode counter overflows, the kernel does this, in this order.  It stops
 * and samples all counters.  It keeps them suspended, while the TSC continues.  It
 * sets each counter that overflowed (there may be several) to its ireset, and
 * records it for READ.  It sends the signal si_signo to the owner, with si_code
 * SI_PMC_OVF and the set of these counters: counters 0 to 31 in si_pmc_ovf_mask, the
 * others in si_pmc_ovf_mask_high.  IRESUME then restarts the counters.
 *
 * Sums are those of a-mode, and include the events between the overflow and the
 * stop.  Only what the kernel does in between is missing from counts of kernel
 * mode.  A period begins when the counters restart.
 *
 * The signal can be blocked or ignored, or merge with another one of its number.
 * If it cannot be queued, the kernel tries again.  Until IRESUME, READ's overflow has
 * the set, and poll() returns POLLIN.  Without si_signo, only these two report the
 * overflow.  VPERFCTR_SUSPEND and RESUME are independent of it: counters run if there
 * is neither a pause nor an overflow.
 *
 * Argument: 0.  Errors:
 *
 *	ENODATA	no overflow waits for it
 */
#define VPERFCTR_IRESUME	_IO(0xD0, 21)

/* For the handler of si_signo (with SA_SIGINFO): see above. */
#ifndef SI_PMC_OVF
#define SI_PMC_OVF		'P'
#define si_pmc_ovf_mask		si_pid	/* the first word after si_signo, si_errno, si_code */
#endif
#define si_pmc_ovf_mask_high	si_uid	/* the second word; 0 as long as no kernel has more */

/*
 * VPERFCTR_RING: add a ring of samples to the state.
 *
 * Overflows of a control with VPERFCTR_CONTROL_RING make no signal.  Each one adds
 * a sample to the ring, and the counters continue.  The ring belongs to the state
 * for all of its life, with all of its controls.  Every descriptor of the state can
 * map and read the same ring.  With VPERFCTR_CONTROL_INHERIT, all descendants add their
 * samples to it.  A descendant's own descriptor does not map it.  Its memory is charged
 * to the user who made the state, up to the module's parameter max_ring_kb_per_user, and
 * to the caller's memory cgroup.  The end of large rings makes the kernel interrupt all
 * CPUs.  So 32 MB count as one stop of the machine, see VPERFCTR_OPEN; the call waits.
 * A ring above the limit is refused at once, and counts as no stop.
 *
 * Argument: struct vperfctr_ring *.  The kernel sets sample_size and map_size.
 * Errors:
 *
 *	EEXIST	the state has a ring; sample_size and map_size are set to its sizes
 *	EINVAL	nrsamples is not a power of two, or greater than VPERFCTR_RING_MAX;
 *		watermark is 0 or greater than nrsamples; nrsums is greater than
 *		VPERFCTR_MAX_CTRS; depth or kernel_depth is greater than
 *		VPERFCTR_CHAIN_MAX; stack is greater than VPERFCTR_STACK_MAX or no multiple
 *		of 8; kernel_depth is not zero, and there is no VPERFCTR_RING_KERNEL;
 *		an unknown flag
 *	EPERM	VPERFCTR_RING_KERNEL, and the caller may not count kernel mode (see
 *		VPERFCTR_FEATURE_KERNEL)
 *	EAGAIN	the user's rings would exceed max_ring_kb_per_user
 *	EINTR	a signal came while the call waited; with SA_RESTART the call starts
 *		again
 *	EOPNOTSUPP there is neither VPERFCTR_FEATURE_PCINT nor _CLOCK; or
 *		VPERFCTR_RING_RECORDS, and there is no VPERFCTR_FEATURE_RECORDS, or Linux
 *		refuses the kprobe; or kernel_depth, and Linux has no unwinder that is
 *		reliable enough: x86 with UNWINDER_GUESS, arm64 without STACKTRACE
 *	ENOMEM	there is no memory
 *
 * mmap(NULL, map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET) maps it:
 * struct vperfctr_ring_page, and from `data` bytes on nrsamples slots of
 * sample_size bytes.  Any holder of a descriptor may map it.  The child of a fork
 * does not inherit the mapping.  Errors are those of the page's mmap, and:
 *
 *	EINVAL	the state has no ring, or the size is not map_size
 *	EPERM	the ring has VPERFCTR_RING_KERNEL, and the caller may not count
 *		kernel mode
 *
 * Sample n, counted from the first one, is in slot n % nrsamples, and is valid for
 * tail <= n < head.  A reader must load head with acquire semantics before it looks
 * at samples.  It passes over samples of a type that it does not know.  Then
 * VPERFCTR_CONSUME frees their slots.  poll() returns POLLIN if there are at least
 * `watermark` samples, or any and the state has no owner; with VPERFCTR_CONTROL_INHERIT,
 * and in a set, any and no descendant counts; or any and a record waits for room.  A
 * sample that finds the ring full is dropped and counted.  Samples of one thread are in
 * the order of their time.  Those of several threads are in the order in which the kernel
 * began to write them.
 *
 * If a thread makes more samples per second than the ring's `rate`, or than the module's
 * parameter max_sample_rate, the kernel throttles it: only every 2nd, 4th, ... overflow
 * makes a sample.  The next sample counts the others as dropped.  Sums are not affected.
 * With a rate, a thread that is sampled for a while has between half of the rate and
 * all of it, if its counter overflows so often.  Seconds are real time.
 * The kernel counts the samples of a window of time, in which the rate allows at least 8.
 * A thread has that many samples before its first period grows.  The same holds for clock
 * periods.  These also grow if the kernel's work for a sample is a large part of one.
 */
#define VPERFCTR_RING		_IO(0xD0, 22)

#define VPERFCTR_RING_MAX	(1U << 20)	/* samples */
#define VPERFCTR_RING_OFFSET	0x10000000	/* for mmap; the page is at 0 */

/* Samples of kernel mode have the address in the kernel. */
#define VPERFCTR_RING_KERNEL	0x01

/* The ring also gets records: see struct vperfctr_record. */
#define VPERFCTR_RING_RECORDS	0x02

struct vperfctr_ring {
	__u32 size;
	__u32 flags;		/* VPERFCTR_RING_* */
	__u32 nrsamples;	/* slots, a power of two */
	__u32 watermark;	/* poll() wakes at this number of samples */
	__u32 nrsums;		/* each sample has the sums of counters 0 ... nrsums - 1 */
	__u32 sample_size;	/* out: bytes */
	__u64 map_size;		/* out: bytes, for mmap and munmap */
	__u32 depth;		/* return addresses in each sample, at most; 0: no chain */
	__u32 stack;		/* bytes of stack in each sample, at most; 0: no registers either */
	__u32 rate;		/* samples per second of a thread, about; 0: no such limit */
	__u32 kernel_depth;	/* the same as depth, in the kernel: needs VPERFCTR_RING_KERNEL */
};

/* The greatest depth of each kind, and the greatest stack, which must be a multiple of 8. */
#define VPERFCTR_CHAIN_MAX	127
#define VPERFCTR_STACK_MAX	32768

/* Types of samples and records: `type` is the first field of each slot. */
#define VPERFCTR_SAMPLE_OVERFLOW	1
#define VPERFCTR_RECORD_FORK		2
#define VPERFCTR_RECORD_EXIT		3
#define VPERFCTR_RECORD_EXEC		4
#define VPERFCTR_RECORD_COMM		5
#define VPERFCTR_RECORD_MAP		6
#define VPERFCTR_RECORD_MORE		7
#define VPERFCTR_SAMPLE_CLOCK		8

/* Flags of a sample: where ip is.  Neither: it is not known. */
#define VPERFCTR_SAMPLE_USER	0x01
#define VPERFCTR_SAMPLE_KERNEL	0x02
/*
 * The owner was in the kernel, whose address a SAMPLE_CLOCK must not have.  With
 * VPERFCTR_SAMPLE_USER, ip is where it was in user mode before.
 */
#define VPERFCTR_SAMPLE_SYSTEM	0x04

/*
 * A SAMPLE_CLOCK has the same fields, with overflow 0.  If the interrupt comes late, or the
 * owner is switched out before, one sample stands for several periods.  Those after the
 * first are in its `dropped`.  A SAMPLE_CLOCK of kernel mode has the address in the kernel
 * if the ring has VPERFCTR_RING_KERNEL, and the caller of CONTROL may count kernel mode.
 */
struct vperfctr_sample {
	__u16 type;		/* VPERFCTR_SAMPLE_OVERFLOW or VPERFCTR_SAMPLE_CLOCK */
	__u16 size;		/* bytes that are valid; at most sample_size */
	__u32 flags;		/* VPERFCTR_SAMPLE_* */
	__u32 cpu;		/* where the owner was when the kernel made the sample */
	__u32 kind;		/* of the control, or of its table in use */
	/*
	 * The thread's process and itself, in the PID namespace of the caller of
	 * VPERFCTR_RING.  0: that namespace does not have them.
	 */
	__u32 pid;
	__u32 tid;
	/*
	 * Where the owner was in user mode.  With VPERFCTR_RING_KERNEL, if the
	 * control counts kernel mode and the owner was there: where in the kernel.
	 * This is the instruction after the one that overflowed, or some
	 * instructions later, as the processor reports it.  0: not known.
	 */
	__u64 ip;
	__u64 tsc;		/* the processor's TSC, not the owner's share */
	__u64 overflow;		/* bit i: counter i overflowed */
	__u64 dropped;		/* overflows or periods dropped since the ring's previous sample */
	__u64 sums[];		/* at the overflow; 0 for counters that do not exist */
	/*
	 * If the ring has a kernel_depth, the chain of calls in the kernel follows: a __u64,
	 * the number of its addresses, and then these, the innermost first.  They are the
	 * return addresses on the kernel's stack, as the kernel's own unwinder finds them.
	 * They lead from ip to where the thread entered the kernel, unless kernel_depth ends
	 * the chain.  It is empty if ip is not in the kernel, or if the stack cannot be
	 * unwound there.  It is also empty if more threads than CPUs and 64 wait with an
	 * overflow that has made no sample yet.  On POWER the first address is that of the
	 * link register.  It is in the function of ip itself if that has called another.
	 *
	 * If the ring has a depth, the chain of calls in user mode follows in the same form.
	 * It has the return addresses in the frames of user mode, which the thread's code must
	 * have (compilers: with -fno-omit-frame-pointer).  Code that has none yet, or is without
	 * frames, makes its caller missing.  If ip is in the kernel, the first address is where
	 * the thread was in user mode.  A page that is not in memory ends the chain, which is
	 * also empty where ip is not known.  On POWER all code has frames, and the chain begins
	 * with the link register, as in the kernel.
	 *
	 * If the ring has a stack, the thread's registers of user mode follow, and the top
	 * of its stack, from which a reader can find the calls without frames: see
	 * VPERFCTR_USER_NONE.
	 */
};

/*
 * The registers and the stack of a sample, after its sums and its chains:
 *
 *	__u64 mode		VPERFCTR_USER_*: NONE ends the sample here
 *	__u64 regs[]		VPERFCTR_X86_REGS, VPERFCTR_ARM64_REGS,
 *				VPERFCTR_RISCV64_REGS or VPERFCTR_POWER64_REGS, as the
 *				kernel's architecture is
 *	__u64 nr		bytes of the stack that follow, a multiple of 8
 *	__u8 stack[nr]		from the stack pointer upwards
 *
 * Registers have the numbers that DWARF gives them for programs of this mode:
 *
 *	x86-64	RAX RDX RCX RBX RSI RDI RBP RSP R8 ... R15 RIP
 *	i386	EAX ECX EDX EBX ESP EBP ESI EDI EIP, and 0 for the other words
 *	arm64	X0 ... X30 SP PC
 *	arm	R0 ... R15, and 0 for the other words
 *	riscv64	x1 ... x31 after pc, which is in the place of x0
 *	power64	r0 ... r31, and then lr and the address of the next instruction; also in
 *		code of 32 bits
 *
 * They are those with which the thread entered the kernel, also if ip is in the kernel.  They
 * are not known, as VPERFCTR_USER_NONE says, where ip is not, and while the thread executes a
 * file.  The stack has what the thread can read.  It ends at the first page that is not in
 * memory.  So it is empty if the stack pointer points elsewhere.
 */
#define VPERFCTR_USER_NONE	0
#define VPERFCTR_USER_32	1	/* the thread was in code of 32 bits */
#define VPERFCTR_USER_64	2

#define VPERFCTR_X86_REGS	17
#define VPERFCTR_ARM64_REGS	33
#define VPERFCTR_RISCV64_REGS	32
#define VPERFCTR_POWER64_REGS	34

/*
 * A record says what a thread did whose samples go to the ring.  A reader needs it to find
 * the code of an address, also that of a program that has ended.
 *
 *	FORK	the thread begins, as a thread of its parent's process or as a process
 *		with the mappings of its parent's
 *	EXEC	the thread's process has a new program: the text is its name, which the
 *		thread has now; all earlier mappings are gone, and those of the new program
 *		follow.  The thread has its process's id then, also if it was another one,
 *		and the records of its process's first thread end before
 *	COMM	the thread has given itself a new name, the text
 *	MAP	the thread has made an executable mapping, or has made one executable: of
 *		the file that the text names, or of memory; then the text is the kernel's
 *		name for it, as [vdso], or empty
 *	EXIT	the thread ends
 *
 * MAP names files as the kernel does in /proc/PID/maps, but with the root of the mount namespace
 * instead of the reader's, and without escapes.  If the file's mount is gone when the kernel
 * writes the record, the path begins at its root.  A path that is longer than PATH_MAX is
 * "//toolong".  If an exec ends the counting (see VPERFCTR_OPEN, and CONTROL_END_ON_EXEC),
 * EXEC is the thread's last record.  Unmapping makes none: of two mappings with one
 * address, the later one is valid.  Code that mremap() has moved makes none, either, nor do
 * mappings that another thread of the process has made whose samples go elsewhere.
 *
 * The kernel writes records some time after they are made, so their tsc may be less than
 * that of samples before them.  Records of one ring are in the order in which they
 * were made, but for those of an exec, which are written when it is over.  If too many wait to
 * be written, the kernel counts the next one as `lost` in the ring's page.  A record for which the
 * ring has no room waits for VPERFCTR_CONSUME.  While records wait, poll() does not return
 * POLLHUP.
 *
 * A record that is larger than a slot continues in the slots that follow, each of which
 * begins with a struct vperfctr_more.  head may be in the middle of such a record.
 */
struct vperfctr_record {
	__u16 type;		/* VPERFCTR_RECORD_* */
	__u16 size;		/* bytes in all of its slots, without struct vperfctr_more */
	__u16 slots;		/* how many it has, including this one */
	__u16 text;		/* offset of a text in bytes, which ends with a NUL; 0: none */
	__u32 pid;		/* as in struct vperfctr_sample */
	__u32 tid;
	__u64 tsc;		/* the processor's TSC, when it was made */
	__u32 parent_pid;	/* FORK: the thread that called fork() or clone() */
	__u32 parent_tid;
	__u64 start;		/* MAP: the addresses from start to end - 1 */
	__u64 end;
	__u64 offset;		/* MAP: of start in the file */
	__u32 major;		/* MAP: the file's device, and its inode there */
	__u32 minor;
	__u64 inode;
};

/* The greatest size: with a path of PATH_MAX. */
#define VPERFCTR_RECORD_MAX	(72 + 4096)

struct vperfctr_more {
	__u16 type;		/* VPERFCTR_RECORD_MORE */
	__u16 size;		/* bytes that are valid, including this structure */
	__u16 slots;		/* how many slots the record still has, including this one */
	__u16 reserved;
};

/* The format that this header describes: see struct vperfctr_ring_page. */
#define VPERFCTR_RING_FORMAT	1

/*
 * The kernel sets the first 64 bytes when it makes the ring, and never changes them.
 * A reader must refuse a format that it does not know, and find slots by sample_size
 * and data, as the structures may grow.
 */
struct vperfctr_ring_page {
	__u32 size;		/* of this structure, as the kernel knows it */
	__u32 format;		/* VPERFCTR_RING_FORMAT */
	__u32 flags;		/* of VPERFCTR_RING */
	__u32 nrsamples;
	__u32 watermark;
	__u32 nrsums;
	__u32 sample_size;
	__u32 data;		/* offset of the first slot in bytes */
	__u32 depth;		/* see struct vperfctr_ring */
	__u32 stack;
	__u32 kernel_depth;
	__u32 reserved0[5];
	/* The kernel writes these with each sample. */
	__u64 head;		/* samples written */
	__u64 dropped;		/* overflows or periods without a sample: no room, or throttled */
	__u64 lost;		/* records that were not written */
	__u64 reserved1[5];
	/* VPERFCTR_CONSUME writes these. */
	__u64 tail;		/* samples consumed */
	__u64 reserved2[7];
};

/*
 * VPERFCTR_CONSUME: free the slots of the oldest samples.
 *
 * Argument: their number.  Any holder of a descriptor may call it, also when the
 * state has no owner.  Several consumers must divide the samples among themselves.
 * Errors:
 *
 *	EINVAL	the ring has fewer samples, or there is no ring
 */
#define VPERFCTR_CONSUME	_IO(0xD0, 23)

/*
 * VPERFCTR_MEMBER: open the state of one thread of a family.
 *
 * Argument: the thread's id in the caller's PID namespace; 0 is the calling thread.
 * The call is for a descriptor of a set (see VPERFCTR_ATTACH), or of the state from
 * which the thread has inherited its own, directly or not.  It returns a descriptor of
 * the thread's state, which exec closes.  READ then returns the thread's own counts,
 * also when it has ended.  They remain a part of the family's.  The call neither stops
 * the thread nor interrupts it.  Errors:
 *
 *	ESRCH	there is no such thread
 *	ENOENT	the thread is not in this family, or not any more
 *	EPERM	another user has made the family; or its control counts kernel mode, and
 *		the caller may not
 *	EMFILE, ENFILE	as of open(2)
 *	ENOMEM	there is no memory
 */
#define VPERFCTR_MEMBER		_IO(0xD0, 24)

/*
 * poll() returns POLLIN as VPERFCTR_IRESUME and VPERFCTR_RING say, and POLLHUP when
 * the state has no owner any more.  If its control has VPERFCTR_CONTROL_INHERIT and
 * _RING, it returns POLLHUP when no descendant counts either.  That of a set is described
 * with VPERFCTR_ATTACH.
 *
 * /proc/PID/fdinfo/FD has the lines vperfctr-owner (its thread id, or 0),
 * vperfctr-status (VPERFCTR_STATUS_*), vperfctr-tsc and vperfctr-pmc0 ... (sums).
 */

/* ---- on a descriptor of CPUs ------------------------------------------- */

/*
 * A descriptor of VPERFCTR_OPEN_CPUS has the calls CONTROL, SUSPEND, RESUME, RING, CONSUME
 * and READ_CPUS.  All but READ_CPUS and CONSUME are EPERM for callers with neither
 * CAP_PERFMON nor CAP_SYS_ADMIN in the initial user namespace.  CONTROL, SUSPEND, RESUME and
 * READ_CPUS interrupt the CPUs of the set, and no others, except that on x86 before Linux 5.14
 * CONTROL clears the counters of all CPUs.
 *
 * VPERFCTR_CONTROL stops the counters of all these CPUs, sets the sums as it does for a
 * thread, and starts them.  Each CPU counts by the same control, on a hybrid processor
 * with VPERFCTR_ANY_KIND by its kind's table.  A control with tsc_on, nractrs, nrictrs
 * and soft all zero stops everything, releases the hardware, and keeps sums and control.
 * The errors are those of VPERFCTR_CONTROL for a thread that do not depend on the thread,
 * and:
 *
 *	EINVAL	- soft or clock_period is not 0, or there is tsc_on without counters
 *		- flags has another bit than VPERFCTR_CONTROL_RING, or has this one without
 *		  i-mode counters, or has it not and there are some
 *		- VPERFCTR_CONTROL_RING and the set has no ring
 *	EOPNOTSUPP  the control has an event that a CPU cannot count while its hyper-thread
 *		sibling is online
 *	ENOMEM	there is no memory
 *	EUSERS	a CPU of the set cannot count this (see VPERFCTR_KIND_CPUS)
 *	EBUSY	also: another descriptor counts one of these CPUs, or the state of a thread
 *		has a control with counters
 *	EIO	on one of these CPUs a counter does not work
 *	EACCES	the module isolates, and user mode may read counters on one of these CPUs,
 *		as rdpmc=2 in sysfs (x86) and perf_user_access=2 (RISC-V) let every process
 *		do, and as a virtual machine that runs there may leave them (arm64)
 *
 * While CPUs are counted, a thread's CONTROL with counters fails with EBUSY, on any
 * CPU.  /proc/PID/fd shows who holds the counters: descriptors of CPUs are
 * anon_inode:[vperfctr-cpus], and those of states are anon_inode:[vperfctr].  No process
 * can read the counters in user mode meanwhile, unless the administrator sets rdpmc=2.
 *
 * Counts are those of all that the CPU executes, in the modes that evntsel names: threads,
 * the kernel with its interrupts and its idle task, and the module's own work for
 * READ_CPUS.  A CPU that sleeps counts only the TSC: its clock stands still.  A guest of a
 * virtual machine counts by its own modes, its kernel as kernel mode, unless the
 * hypervisor stops the counters for it.
 *
 * A CPU that goes offline keeps its counts, and continues when it comes online.  The time
 * of a suspend to RAM is not counted.
 *
 * VPERFCTR_SUSPEND and VPERFCTR_RESUME pause all counting and continue it, as for a thread.
 * They keep the hardware.
 *
 * mmap(NULL, page size, PROT_READ, MAP_SHARED, fd, i * page size) maps the page of the i-th
 * CPU in the set, counted from 0 in ascending order: a struct vperfctr_page.  Its sums are as
 * of when the CPU's counters were last read or stopped.  So one program can call READ_CPUS, and
 * others can look at the pages, which interrupts no CPU.  They load the fields by the loop
 * for other processes than the owner (see "the page").  It gives no right to RDPMC.  Any holder
 * of the descriptor may map it.  The child of a fork does not inherit the mapping: it
 * finds a page that is zero but for version.  A mapping keeps the counting alive, as a descriptor
 * does.  Errors are those of the page's mmap, with an offset that belongs to no CPU as EINVAL.
 *
 * VPERFCTR_RING adds a ring of samples to the set.  A control with VPERFCTR_CONTROL_RING and
 * i-mode counters then samples these CPUs: each overflow adds a sample of the thread that runs
 * there, and the counters continue.  Ring, mapping, samples and CONSUME are those of a thread's
 * state, with these differences:
 *
 * - The samples of all CPUs of the set go into its ring.  For a ring of each CPU, open a set
 *   of each.
 * - cpu is the CPU, and sums are those of its counters.  pid and tid are of the thread that ran
 *   there.  They are 0 for idle tasks, for threads that the PID namespace of the caller of
 *   VPERFCTR_RING does not have, and for those that have ended but still run.
 * - The counters stop only while the kernel makes the sample, also where interrupts are
 *   disabled.  So no event of the kernel is left out, and VPERFCTR_SAMPLE_KERNEL may be any
 *   of its code.  With a depth or a stack, a sample of code with interrupts disabled has
 *   no calls of user mode.
 * - rate and max_sample_rate limit the samples of each CPU, instead of those of each thread.
 * - poll() returns POLLIN if there are `watermark` samples, or any while the set does not count.
 *   It returns POLLERR as long as there is no ring, and never POLLHUP.
 *
 * If the counting of a CPU pauses, its period continues afterwards: in SUSPEND, while the CPU is
 * offline, and during a suspend to RAM.  Errors of VPERFCTR_RING are those for a thread's
 * state, and:
 *
 *	EOPNOTSUPP  there is no VPERFCTR_FEATURE_PCINT; or VPERFCTR_RING_RECORDS
 *	EAGAIN	also: the user has too many states, see VPERFCTR_OPEN
 *
 * /proc/PID/fdinfo/FD has the lines vperfctr-cpus (a list) and vperfctr-status
 * (VPERFCTR_STATUS_ACTIVE and _SUSPENDED).
 */

/*
 * VPERFCTR_READ_CPUS: return the sums of all CPUs of a set.
 *
 * Argument: struct vperfctr_read_cpus *.  The addresses in it say where to store each
 * part; 0 where a part is not wanted.  Any holder of the descriptor may call it.  Each
 * counted CPU is interrupted once, unless the interrupt of another call serves this one, too.
 * The sums of one CPU are consistent with each other, and those of different CPUs are some
 * microseconds apart.
 *
 * Sums are as of a moment during the call, by an interrupt that has begun after the call has.
 * Callers with neither CAP_PERFMON nor CAP_SYS_ADMIN in the initial user namespace cannot
 * interrupt the CPUs of a set until 50 milliseconds after the last READ_CPUS of it has.  They wait
 * for the rest of that time, or until another caller's interrupt has come; a signal that kills
 * ends the wait.  Programs that must not wait may map the pages instead.  Their sums are as of
 * when the CPU's counters were last read or stopped, however long ago that is.  Errors:
 *
 *	EOVERFLOW  nrcpus or nrctrs is smaller than the number of CPUs or of controlled
 *		counters; both are set to these numbers, and nothing else is written
 *	ENOMEM	there is no memory
 */
#define VPERFCTR_READ_CPUS	_IO(0xD0, 25)

struct vperfctr_read_cpus {
	__u32 size;
	__u32 status;		/* out: VPERFCTR_STATUS_ACTIVE and _SUSPENDED */
	__u32 nrcpus;		/* in: room in the arrays; out: number of CPUs in the set */
	__u32 nrctrs;		/* in: room in each sums; out: number of controlled counters */
	__u64 cpus;		/* address of nrcpus struct vperfctr_cpu, in ascending order */
	/*
	 * Address of nrcpus struct vperfctr_sums, in the same order.  Each has as many
	 * counters as are controlled, and the next one follows at once.
	 */
	__u64 sums;
};

struct vperfctr_cpu {
	__u32 cpu;
	__u32 status;		/* VPERFCTR_CPU_STATUS_* */
};

#define VPERFCTR_CPU_STATUS_COUNTS	0x01 /* is counted now */
#define VPERFCTR_CPU_STATUS_OFFLINE	0x02 /* was offline since CONTROL, and not counted */
#define VPERFCTR_CPU_STATUS_FAILED	0x04 /* came online since, and a counter does not work */

/* ---- the page --------------------------------------------------------- */

/*
 * mmap(NULL, page size, PROT_READ, MAP_SHARED, fd, 0) maps the state's page.
 * Errors:
 *
 *	EINVAL	the size is not one page, the offset is not 0, or MAP_PRIVATE
 *	EACCES, EPERM	PROT_WRITE or PROT_EXEC.  PROT_READ is enough for
 *		programs with READ_IMPLIES_EXEC: their mapping is not executable
 *	ENOMEM	there is no memory
 *
 * A mapping by the owner's process lets that process (all of its threads, but
 * not the children of a fork) execute RDPMC, until it is unmapped, and while
 * the state has a control with counters.  It does not survive exec.  On some
 * kernels it ends up to a tenth of a second later, and then shows the process
 * its own counts, or none.
 *
 * The child of a fork has the mapping too, but it shows another page there, in
 * which all but version is zero: no counter, no TSC, no RDPMC.  Until the child
 * unmaps it, executes a file or ends, it keeps the state as a descriptor would.
 *
 * The owner reads counter i like this:
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
 * On a hybrid processor the owner may be moved after it has loaded map, and RDPMC of a
 * counter that the new CPU lacks raises SIGSEGV.  A control for one kind therefore needs
 * VPERFCTR_CONTROL_AFFINITY for reading a counter that not all kinds have.
 *
 * On arm64 a read raises SIGILL if the counting has stopped after the look at cstatus: the
 * owner was moved to a CPU that cannot count its control, or a signal handler or a monitor
 * has stopped it.  doc/arm64.md says why, and how a program avoids it.
 *
 * Several counters that one pass of the loop reads are consistent.  The TSC is
 * read in the same way.  If cstatus has both VPERFCTR_CSTATUS_RUNNING and
 * VPERFCTR_CSTATUS_TSC the value is tsc_sum + (rdtsc() - tsc_start).  Without
 * VPERFCTR_CSTATUS_RUNNING it is tsc_sum, and a counter's value is its sum.
 *
 * cstatus is about the owner: other threads and processes must not use start.
 * They can get current sums from VPERFCTR_READ.  They can also take the sums of the
 * owner's last suspend from the page, by the loop above without rdpmc.  They must
 * also start over while samplecount is odd; the owner never finds it odd.
 *
 * The first 64 bytes have the TSC and fields that are seldom needed.  The second 64
 * bytes begin with the fields for reading counters, so that reading one or two
 * counters touches one cache line.
 */
struct vperfctr_page_ctr {
	__u32 map;		/* what RDPMC takes */
	__u32 reserved;
	/*
	 * The counter when last resumed or sampled.  While suspended: 0, or for an
	 * i-mode counter the value from which it will continue.
	 */
	__u64 start;
	__u64 sum;		/* events until then */
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
/* running, there is a counter, and the owner may RDPMC now */
#define VPERFCTR_CSTATUS_RDPMC		0x80000000U

#endif /* _UAPI_LINUX_VPERFCTR_H */
