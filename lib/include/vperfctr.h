/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvperfctr: virtual per-thread performance counters
 *
 * A thin layer over the kernel's interface, <linux/vperfctr.h>.  It uses the
 * structures and constants of that header, whose comments explain them.  A thread
 * counts itself as follows:
 *
 *	struct vperfctr *v;
 *	struct vperfctr_control control;
 *	struct vperfctr_ctr ctr[1];
 *	uint64_t before, after;
 *	int err;
 *
 *	vperfctr_control_init(&control, ctr);
 *	vperfctr_control_add(&control, 0, 0x4100c0);	(x86: instructions, user mode)
 *	err = vperfctr_open_control(&v, &control, VPERFCTR_OPEN_TRANSIENT);
 *	if (err)
 *		errx(1, "cannot count: %s", strerror(-err));
 *	err = vperfctr_read_pmc(v, 0, &before);
 *	... the code to be measured ...
 *	if (!err)
 *		err = vperfctr_read_pmc(v, 0, &after);
 *	vperfctr_close(v);
 *
 * <vperfctr-event.h> finds counters and codes for the names of events.  With its
 * vperfctr_count() the same program has no codes, and runs on all processors.
 *
 * The TSC is the clock that user mode can read: on x86 the time-stamp counter, on Arm
 * CNTVCT_EL0 of the generic timer, on RISC-V the CSR time, on PowerPC the time base.
 *
 * Results: each function that can fail returns 0, or a negative error number
 * (-EBUSY, ...).  Some count instead of returning 0: vperfctr_control_add() and its relatives
 * that add a counter return an index, vperfctr_ring_record() a number of samples,
 * vperfctr_read_cpu_page() a number of counters.  After a failure, the objects that its
 * pointers point to are unspecified unless stated otherwise.  errno is not part of the
 * interface and may change.  The library prints nothing, handles no signal, and keeps all its
 * data in handles.  An error number that a function's comment does not list comes from the
 * kernel, as <linux/vperfctr.h> documents it under the same name.  From interface 1.0 on, the
 * library works with earlier modules: a call that the module does not have returns -ENOTTY, and
 * one with a field that it does not know and that is not zero -E2BIG.
 *
 * Arguments: first the object or the structure that the call makes, fills in or changes, then
 * what it is of, then further structures, then flags, and a vperfctr_why at the very end.
 *
 * Threads: a handle that maps the state's page belongs to the thread that opened it,
 * as the state does.  vperfctr_open() makes such handles.  In another thread
 * vperfctr_read(), _read_pmc(), _read_tsc(), _read_soft() and the calls for regions return
 * -EPERM by this handle, and so does each call that changes the state.  When the owner has ended,
 * or has unlinked the state, any thread may read, and gets the last sums.
 *
 * A handle without a page (VPERFCTR_OPEN_NOMAP, vperfctr_open_tid(), vperfctr_open_fd()
 * without VPERFCTR_FD_MAP) can be read by any thread, also by several at a time.  So
 * can the state of any handle by vperfctr_read_state().  The kernel reads in these
 * cases.  Only the owner, or a thread that has the owner stopped under ptrace, may
 * change a state.  Any thread may call vperfctr_close() when no other uses the handle.
 *
 * Two users in one thread: a thread has one state of its own, and so one control, beside
 * those of observers such as perfex: see VPERFCTR_OPEN_OBSERVER.  If two parts of
 * a program want to count the same thread, the second one's vperfctr_open() with
 * VPERFCTR_OPEN_CREAT fails with -EEXIST.  vperfctr_count() then makes a state beside it, by
 * VPERFCTR_OPEN_OBSERVER, with counters that the first part does not use.  A part must not
 * open the state without CREAT and give it another control: that zeroes the sums that the
 * first part reads.  vperfctr_open(3) says what the second part can do.
 *
 * Processes: in the child of a fork, a handle of the parent that has a page cannot
 * read.  vperfctr_read(), _read_pmc(), _read_tsc(), _read_soft() and the calls for regions
 * return -EPERM by it, or the module's last sums when the state has no thread any more.
 * vperfctr_read_state(), vperfctr_close() and all reads by a handle without a page
 * work.  These reads return the parent's sums.  A ring is not mapped until vperfctr_ring_map()
 * maps it again.  A child counts itself with a handle of its own.  In the child of a
 * vfork no call is allowed: it has the memory and the thread pointer of its parent, so an
 * inline read cannot tell the two apart.  A read by the kernel returns -EPERM there.
 *
 * Signals: a signal handler may call any function, also one that it interrupts, with these
 * exceptions.  vperfctr_open*(), vperfctr_attach*(), vperfctr_close(), vperfctr_*cpus*(),
 * vperfctr_why*() and vperfctr_find_holders() use malloc or free.  So does a control with
 * VPERFCTR_CONTROL_AFFINITY that not all of the thread's CPUs can count.  A region must not be
 * used by both the handler and the code it interrupts.  On arm64, a handler that stops the
 * counting may interrupt an inline read, which then raises SIGILL: block its signal during
 * reads.  vperfctr_iresume() is made for signal handlers.
 *
 * Sizes: a later library may add fields at the end of a structure that the caller allocates.
 * So the program says how large its structures are, and the library uses no byte behind them.
 * In what it returns, fields that neither the library nor the kernel knows are zero.  If such a
 * field of what it is given is not zero, the call returns -E2BIG; but the library ignores it in
 * what vperfctr_info() has returned.  There is one rule for all structures:
 *
 *	- Each function that has a pointer to a structure that may grow, or to an array of
 *	  them, has a twin whose name ends with _sized, and which takes the size behind the
 *	  pointer.  The function itself is inline, in this header, and passes sizeof.
 *	- A structure that vperfctr_info() or vperfctr_control_init() has filled in has its
 *	  size in it.  Functions that only use it take the size from there.  A control has
 *	  that of its counters, too: a counter that is given beside it is of that size.
 *	  The caller sets that of a vperfctr_soft.
 *	- All other structures never grow: vperfctr_why, vperfctr_holders, vperfctr_region,
 *	  vperfctr_user, vperfctr_cpu_mask, vperfctr_cpu.
 *
 * Other languages: the library also exports each inline function under its own name, but of
 * those with a twin only the twin.  Its size is that of the structure in that language.
 */
#ifndef VPERFCTR_H
#define VPERFCTR_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* Flexible array members are C; every C++ compiler has them as an extension. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include <linux/vperfctr.h>
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* The version of this header and of its library; the same as a number to compare with. */
#define VPERFCTR_VERSION	"0.1.0"
#define VPERFCTR_VERSION_NUMBER	VPERFCTR_MAKE_VERSION(0, 1, 0)

/* For #if VPERFCTR_VERSION_NUMBER >= VPERFCTR_MAKE_VERSION(1, 2, 0). */
#define VPERFCTR_MAKE_VERSION(major, minor, patch)	((major) << 16 | (minor) << 8 | (patch))

/*
 * A part of a read.  Compilers that optimize for size would call it, and not see which arguments
 * are constant.
 */
#define __VPERFCTR_HELPER	static inline __attribute__((__always_inline__))

/* Continue with the next case: a comment says that to gcc only, and clang warns. */
#ifdef __has_attribute
#if __has_attribute(__fallthrough__)
#define __VPERFCTR_FALL_THROUGH	__attribute__((__fallthrough__))
#endif
#endif
#ifndef __VPERFCTR_FALL_THROUGH
#define __VPERFCTR_FALL_THROUGH	do { } while (0)
#endif

/* Unit tests replace the instructions with a model of the registers. */
#if defined(VPERFCTR_ARCH_HEADER)
#include VPERFCTR_ARCH_HEADER
#elif defined(__x86_64__) || defined(__i386__)
#include <vperfctr/arch-x86.h>
#elif defined(__aarch64__)
#include <vperfctr/arch-arm64.h>
#elif defined(__riscv) && __riscv_xlen == 64
#include <vperfctr/arch-riscv.h>
#elif defined(__powerpc__)
#include <vperfctr/arch-powerpc.h>
#else
#include <vperfctr/arch-generic.h>
#endif

/* The library defines this as empty in one file, which exports the inline functions. */
#ifndef VPERFCTR_INLINE
#define VPERFCTR_INLINE		static inline
#define __VPERFCTR_INLINE_READ	__VPERFCTR_HELPER
#else
#define __VPERFCTR_INLINE_READ	VPERFCTR_INLINE
#endif

/* A function that passes the sizes of this header's structures: see "Sizes". */
#define __VPERFCTR_PASS_SIZE	static inline

#ifdef __cplusplus
extern "C" {
/* Some functions have the name of a structure on purpose, as in stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * A handle.  These fields are for the inline functions below.  The library allocates
 * handles, and a handle is larger than this structure.
 */
struct vperfctr {
	const struct vperfctr_page *page;	/* or one that sends readers to the kernel */
	uintptr_t thread;			/* the owner; 0 without a page */
	const struct vperfctr_ring_page *ring;	/* or an empty one */
};

/* ---- reasons --------------------------------------------------------- */

/* The reason for an error: one line, without a newline.  It never grows. */
struct vperfctr_why {
	char text[1024];
};

/* The call that failed. */
#define VPERFCTR_WHY_OPEN		0 /* vperfctr_info(), _cpus(), _open() and the like */
#define VPERFCTR_WHY_CONTROL		1 /* vperfctr_control(), _open_control(), _reset() */
#define VPERFCTR_WHY_OPEN_CPUS		2 /* vperfctr_open_cpus() */
#define VPERFCTR_WHY_CONTROL_CPUS	3 /* vperfctr_control() of a handle of CPUs */
#define VPERFCTR_WHY_RING		4 /* vperfctr_ring_open(), _ring_map() */
#define VPERFCTR_WHY_PERF		5 /* reads by a handle of VPERFCTR_BACKEND_PERF */

/*
 * Explain an error to the user: write to *why, unless why is NULL, what is wrong, and what to
 * do.  err is what the call returned.  control is the control that a call for one got, or
 * NULL.  The text names the processes that hold the counters, the group that may open the
 * device, or the setting that is in the way.  The function reads files in /proc and /etc, so
 * call it at once, and not in a signal handler.
 *
 * Returns err, so a caller can return the function's result.
 */
int vperfctr_why(int err, unsigned int call, const struct vperfctr_control *control,
		 struct vperfctr_why *why);

/*
 * Do what vperfctr_why() does, with another /dev/vperfctr and /proc, such as those of the host
 * in a container.
 */
int vperfctr_why_at(int err, unsigned int call, const struct vperfctr_control *control,
		    const char *device, const char *proc, struct vperfctr_why *why);

/* ---- who has the counters ------------------------------------------- */

#define VPERFCTR_MAX_HOLDERS	3 /* that are named */

struct vperfctr_holders {
	unsigned int nr;	/* processes; those after VPERFCTR_MAX_HOLDERS have no name here */
	struct {
		pid_t pid;
		char comm[32];
	} holder[VPERFCTR_MAX_HOLDERS];
	int hidden;		/* not 0: there are, or may be, others that the caller may not look at */
};

/* Things that processes have. */
#define VPERFCTR_HOLDERS_THREADS	0 /* threads that vperfctr counts: by the module's file */
#define VPERFCTR_HOLDERS_CPUS		1 /* CPUs that vperfctr counts: the same */
#define VPERFCTR_HOLDERS_STATES		2 /* descriptors of threads' states: by /proc/PID/fd */
#define VPERFCTR_HOLDERS_PERF		3 /* descriptors of perf_event: the same */

/*
 * Find the other processes that have counters, or may have them.  proc: where /proc is.  The
 * module's file in there, which vperfctr(4) describes, names other users' processes to root
 * only, and h->hidden does not tell of them.  If that file cannot be read, as without the module,
 * h->nr is 0 and h->hidden is not, for VPERFCTR_HOLDERS_THREADS and VPERFCTR_HOLDERS_CPUS; the
 * others do not need it.
 *
 *	-EINVAL	there is no such VPERFCTR_HOLDERS_*
 *	-ENAMETOOLONG	proc has more than 256 characters
 */
int vperfctr_find_holders(struct vperfctr_holders *h, unsigned int what, const char *proc);

/*
 * Write "perf (process 12), top (process 34), sh (process 56) and 2 more" to buf; nothing if there
 * are none.
 */
void vperfctr_describe_holders(char *buf, size_t size, const struct vperfctr_holders *h);

/* ---- information ---------------------------------------------------- */

/*
 * Fill in *info: the module, and what it found on CPUs of this kind.  kind is 0 unless
 * info->nrkinds of kind 0 says that there are more.
 *
 *	-ENODEV	there is no /dev/vperfctr, or no driver for it: the module is not
 *		loaded
 *	-EACCES, -EPERM	the caller may not open /dev/vperfctr
 *	-EPROTONOSUPPORT  the module's ABI differs from this library's; *info is
 *		filled in as far as possible
 *	-EINVAL	there is no such kind
 *	-EMFILE, -ENFILE, -ENOMEM  as from open(2)
 */
int vperfctr_info_sized(struct vperfctr_info *info, size_t size, unsigned int kind);
__VPERFCTR_PASS_SIZE int vperfctr_info(struct vperfctr_info *info, unsigned int kind)
{
	return vperfctr_info_sized(info, sizeof(*info), kind);
}

/*
 * Do what vperfctr_info() does, with used_pmcs, used_fixed, own_pmcs and own_fixed of the thread
 * that the handle's state belongs to, instead of the calling thread.  So a monitor can choose
 * counters for which vperfctr_control() does not return -EADDRINUSE: those that are in none of
 * the four, and those that the state itself has.  All four are 0 for a state that has no thread
 * any more, and for a set of threads (see vperfctr_attach_beside() for that).  The rest is filled
 * in as ever.  Any thread may call it.
 *
 *	-ENOTTY	the handle is one of CPUs, or perf_event counts by it: vperfctr_info() has all
 *		that there is to know
 *	-EPROTONOSUPPORT, -EINVAL  as vperfctr_info()
 */
int vperfctr_info_of_sized(struct vperfctr_info *info, size_t size, const struct vperfctr *v,
			   unsigned int kind);
__VPERFCTR_PASS_SIZE int vperfctr_info_of(struct vperfctr_info *info, const struct vperfctr *v,
					  unsigned int kind)
{
	return vperfctr_info_of_sized(info, sizeof(*info), v, kind);
}

/*
 * Return in *mask the CPUs of the system; those on which counters must not be used;
 * those of a kind, on which controls for that kind count, or those of all kinds
 * (VPERFCTR_ANY_KIND).  *mask is allocated with malloc(): the caller frees it.  It is NULL
 * after an error.
 *
 *	-ENODEV, -EACCES, -EPERM, -EMFILE, -ENFILE	as vperfctr_info()
 *	-ENOMEM	no memory for the mask, or as from open(2)
 *	-EINVAL	there is no such kind
 */
int vperfctr_cpus(struct vperfctr_cpu_mask **mask);
int vperfctr_cpus_forbidden(struct vperfctr_cpu_mask **mask);
int vperfctr_kind_cpus(struct vperfctr_cpu_mask **mask, unsigned int kind);

/*
 * Return the version of the library that the program runs with, as a number and as text.
 * VPERFCTR_VERSION_NUMBER and VPERFCTR_VERSION are those that it was compiled with.
 */
unsigned int vperfctr_version(void);
const char *vperfctr_version_text(void);

/*
 * Convert ticks of the TSC, such as vperfctr_read_tsc() returns, to nanoseconds.  The result
 * is rounded down, and is 0 if the TSC's rate is not known (info->tsc_khz is 0).  It is exact
 * for times up to 584 years.
 */
VPERFCTR_INLINE uint64_t vperfctr_tsc_to_ns(const struct vperfctr_info *info, uint64_t ticks)
{
	const uint64_t khz = info->tsc_khz;

	/* ticks * 1000000 would overflow after some hours. */
	return khz ? ticks / khz * 1000000 + ticks % khz * 1000000 / khz : 0;
}

/* ---- handles ----------------------------------------------------------- */

/*
 * A flag of vperfctr_open(), in addition to VPERFCTR_OPEN_*: do not map the page.  The kernel
 * leaves bits 24 to 31 to libraries.
 */
#define VPERFCTR_OPEN_NOMAP	0x80000000U

/* A flag of vperfctr_open_fd(): the caller owns the state; map its page. */
#define VPERFCTR_FD_MAP		0x01

/*
 * Open the calling thread's state and store a handle in *v.  The state's page is
 * mapped, so reads need no system call.  flags:
 *
 *	VPERFCTR_OPEN_CREAT	make the state; it counts nothing yet
 *	VPERFCTR_OPEN_TRANSIENT	with CREAT: unlink the state when its last descriptor
 *				is closed, in whatever process
 *	VPERFCTR_OPEN_KEEP	with CREAT: the state lives as long as its thread;
 *				this is the default here
 *	VPERFCTR_OPEN_NOCLOEXEC	keep the descriptor open across exec
 *	VPERFCTR_OPEN_OBSERVER	with CREAT: make a state beside the thread's own one, if
 *				it has or will have one.  Both count, but not with the
 *				same counter
 *	VPERFCTR_OPEN_NOMAP	do not map the page: each read is a system call, and
 *				this handle does not enable RDPMC for the process
 *
 * Errors; *v is then NULL, and no state has been made:
 *
 *	-EEXIST	VPERFCTR_OPEN_CREAT without OBSERVER, and the thread has a state of its own
 *	-EMLINK	VPERFCTR_OPEN_CREAT, and the thread has VPERFCTR_MAX_STATES states
 *	-ENOENT	no VPERFCTR_OPEN_CREAT, and the thread has no state of its own
 *	-ENODEV, -EACCES, -EPERM, -EPROTONOSUPPORT	as vperfctr_info()
 *	-EPERM	(also) no VPERFCTR_OPEN_CREAT, and the state counts kernel mode for a monitor, or
 *		another user has made it
 *	-EAGAIN	the user has as many states as the module allows
 *	-EINVAL	an unknown flag; TRANSIENT, KEEP or OBSERVER without CREAT; KEEP with TRANSIENT
 *		or OBSERVER; VPERFCTR_OPEN_LOCKED, which is for other threads
 *	-ENOMEM, -EMFILE, -ENFILE	as from open(2) and mmap(2)
 */
int vperfctr_open(struct vperfctr **v, unsigned int flags);

/*
 * Make the calling thread's state and set its control, as vperfctr_open() with
 * VPERFCTR_OPEN_CREAT and vperfctr_control() do, in one system call.  A control with
 * VPERFCTR_CONTROL_RING needs a ring, which the state does not have yet.
 *
 * flags, errors: as vperfctr_open() and vperfctr_control().
 */
int vperfctr_open_control(struct vperfctr **v, const struct vperfctr_control *control,
			  unsigned int flags);

/*
 * Open the state of thread tid, for a monitor.  The calling thread must have that
 * thread stopped under ptrace, by PTRACE_SEIZE and PTRACE_INTERRUPT for example.  The
 * page is not mapped.  While the thread is stopped, all calls work by this handle,
 * and a new control starts when the thread continues.  At other times only reads work.
 * vperfctr_read_state() also returns the children's sums and says whether sums are
 * complete.
 *
 * flags: as vperfctr_open(), but a state that is made here is VPERFCTR_OPEN_TRANSIENT
 * unless VPERFCTR_OPEN_KEEP is given.  It then ends with a monitor that is killed.  Also:
 *
 *	VPERFCTR_OPEN_LOCKED	with CREAT: the thread itself cannot change the state
 *
 * Errors; *v is then NULL, and no state has been made:
 *
 *	-ESRCH	there is no such thread, or it is ending
 *	-EPERM	(also) the thread is not stopped under the caller's ptrace; SIGKILL
 *		wakes it at any time
 *	-EINTR	a signal came while the call waited: the module's parameter
 *		max_stops_per_second limits how often a user may make a state for another thread
 *	any of vperfctr_open(), about that thread
 */
int vperfctr_open_tid(struct vperfctr **v, pid_t tid, unsigned int flags);

/*
 * Count a running process, without ptrace and without a disturbance: all of its threads at
 * once or, with VPERFCTR_ATTACH_THREAD, one of them.  tid is the id of the process or of
 * any of its threads, in the caller's PID namespace; 0 is the calling thread.  Counting
 * starts before the call returns.  With VPERFCTR_CONTROL_INHERIT in control->flags,
 * threads and processes that are started from then on are included; with
 * VPERFCTR_CONTROL_INHERIT_THREADS too, only threads.
 *
 * *v becomes a handle for the *set* of these threads.  *nrthreads, unless nrthreads is
 * NULL, is set to their number.  vperfctr_read_state() reads the set, from any thread:
 *
 *	uint64_t sums[1 + VPERFCTR_MAX_CTRS];	(ticks of the TSC; the counters)
 *	struct vperfctr_read read = { 0 };
 *
 *	read.nrctrs = VPERFCTR_MAX_CTRS;
 *	read.flags = VPERFCTR_READ_MEMBERS;	(without it: of threads that have ended)
 *	read.children = (uintptr_t)sums;
 *	vperfctr_read_state(v, &read);
 *
 * read.children_missed is the number of threads that are not, or not wholly, included,
 * such as those that had states.  read.status has VPERFCTR_STATUS_CHILDREN while some are
 * counted.  poll() on vperfctr_fd() returns POLLHUP when all have ended.  vperfctr_unlink()
 * ends the counting and keeps the sums.  vperfctr_close() ends it, too, if this was the
 * last descriptor, and so does the end of the caller's process.  Calls that change the
 * control return -ESRCH.
 *
 * The caller needs the rights that ptrace(PTRACE_ATTACH) needs.  The call opens
 * /proc/PID/mem to prove them; the process may have a tracer.  flags:
 *
 *	VPERFCTR_ATTACH_THREAD	count this thread only, and what it starts
 *	VPERFCTR_ATTACH_NOCLOEXEC  keep the descriptor open across exec
 *	VPERFCTR_ATTACH_LOCKED	the threads, and what they start, cannot change or end
 *		their counting
 *	VPERFCTR_ATTACH_OBSERVER  count the threads beside their own states: see
 *		VPERFCTR_OPEN_OBSERVER
 *
 * Errors; *v is then NULL, and nothing is counted:
 *
 *	-ESRCH	there is no such process or thread; or it is ending, or the kernel's own
 *	-EPERM	the caller may not trace the process; or the control counts kernel mode,
 *		and the caller may not
 *	-EEXIST	all of the threads have states of their own already, or of another set, and
 *		there is no ATTACH_OBSERVER.  If only some have, the others are counted: see
 *		read.children_missed
 *	-EADDRINUSE, -EXFULL, -EMLINK  with ATTACH_OBSERVER: no thread can be counted beside
 *		its other states: see vperfctr_control(), vperfctr_open() and
 *		vperfctr_attach_beside()
 *	-ENOSYS	/proc is not mounted
 *	-EINTR	a signal came while the call waited: the module's parameter
 *		max_stops_per_second limits how often a user may attach
 *	-EINVAL	an unknown flag; or the control has i-mode counters (but see
 *		vperfctr_attach_ring()), a signal, preserves sums, counts nothing, or has another
 *		flag than INHERIT, INHERIT_THREADS and SPREAD
 *	-EAGAIN	the user would have more states than the module allows; or the threads
 *		start new ones faster than the call can attach to them
 *	-ENODEV, -EACCES, -EPROTONOSUPPORT	as vperfctr_info()
 *	-EMFILE, -ENFILE	as from open(2)
 *	-E2BIG, -EOPNOTSUPP, -EBUSY, -EIO, -EFAULT, -ENOMEM	as vperfctr_control()
 */
int vperfctr_attach(struct vperfctr **v, pid_t tid, const struct vperfctr_control *control,
		    unsigned int *nrthreads, unsigned int flags);

/*
 * Do what vperfctr_attach() does, with a ring into which the samples of all of these threads
 * go: see vperfctr_ring_open().  The control must have i-mode counters or a clock_period, and
 * VPERFCTR_CONTROL_RING.  The ring belongs to the set, and is mapped.  With NULL instead of a
 * ring, the call is vperfctr_attach().  Errors are those of vperfctr_attach() and
 * vperfctr_ring_open(), with these meanings:
 *
 *	-EINVAL	(also) the control has no VPERFCTR_CONTROL_RING, or neither i-mode counters nor a
 *		clock_period
 *	-EPROTONOSUPPORT  (also) the ring has another format than this library knows
 */
int vperfctr_attach_ring_sized(struct vperfctr **v, pid_t tid,
			       const struct vperfctr_control *control, struct vperfctr_ring *ring,
			       size_t size, unsigned int *nrthreads, unsigned int flags);
__VPERFCTR_PASS_SIZE int vperfctr_attach_ring(struct vperfctr **v, pid_t tid,
					      const struct vperfctr_control *control,
					      struct vperfctr_ring *ring, unsigned int *nrthreads,
					      unsigned int flags)
{
	return vperfctr_attach_ring_sized(v, tid, control, ring, sizeof(*ring), nrthreads, flags);
}

/* The findings of vperfctr_attach_beside().  It may grow. */
struct vperfctr_attached {
	uint32_t nrthreads;	/* threads that are counted; 0 after an error */
	uint32_t nrskipped;	/* threads that cannot be counted; 0 after an error */
	uint64_t used_pmcs;	/* general counters that other states of the threads have */
	uint64_t used_fixed;	/* fixed counters that they have */
};

/*
 * Do what vperfctr_attach_ring() does, and say which counters the threads' other states have, those
 * of the program itself and of other observers.  Without a ring, the call is vperfctr_attach().
 * After -EADDRINUSE or -EXFULL, or if threads were skipped, the caller can choose other counters: it
 * takes these out of the pmc_mask and the fixed_mask that vperfctr_info() has returned, chooses again
 * by vperfctr_event_assign(), and calls this again.  The threads may get others meanwhile, so the
 * number of tries must have a bound.  *attached is zero after other errors.
 *
 * Errors are those of vperfctr_attach_ring(), and:
 *
 *	-EINVAL	(also) the size of *attached is smaller than that of version 0.1.0
 */
int vperfctr_attach_beside_sized(struct vperfctr **v, pid_t tid,
				 const struct vperfctr_control *control, struct vperfctr_ring *ring,
				 size_t ring_size, struct vperfctr_attached *attached, size_t size,
				 unsigned int flags);
__VPERFCTR_PASS_SIZE int vperfctr_attach_beside(struct vperfctr **v, pid_t tid,
						const struct vperfctr_control *control,
						struct vperfctr_ring *ring,
						struct vperfctr_attached *attached,
						unsigned int flags)
{
	return vperfctr_attach_beside_sized(v, tid, control, ring, sizeof(*ring), attached,
					    sizeof(*attached), flags);
}

/*
 * Open the state of one thread of a set, or of a family: set is the handle that
 * vperfctr_attach() has made, or that of a state whose control has
 * VPERFCTR_CONTROL_INHERIT.  tid is the thread's id in the caller's PID namespace; 0 is the
 * calling thread.  vperfctr_read_state() then reads this thread's counts, as `sums`, also
 * when it has ended.  They remain a part of the set's.
 *
 * flags: 0.  Errors; *v is then NULL:
 *
 *	-EINVAL	an unknown flag
 *	-ESRCH	there is no such thread
 *	-ENOENT	the thread is not in this set, or not any more
 *	-EPERM	another user has made the set; or it counts kernel mode, and the caller may
 *		not
 *	-EMFILE, -ENFILE	as from open(2)
 *	-ENOMEM
 */
int vperfctr_open_member(struct vperfctr **v, const struct vperfctr *set, pid_t tid,
			 unsigned int flags);

/*
 * Count CPUs instead of threads: a handle for the CPUs of a mask or, with NULL, for all that
 * vperfctr_cpus() returns.  They may be offline.  Nothing is counted before
 * vperfctr_control().  It gives each of these CPUs the same control, whose soft and
 * clock_period are 0.  vperfctr_suspend(), _resume(), _stop(), _fd() and _close() work as for a
 * thread's handle, from any thread.  vperfctr_read_cpus() reads all CPUs; other reads return
 * -ENOTTY.
 *
 * A control with i-mode counters samples the CPUs: it needs VPERFCTR_CONTROL_RING, which is the
 * only flag, and a ring that vperfctr_ring_open() has made before.  A handle has one ring for
 * all of its CPUs.  VPERFCTR_RING_RECORDS is -EOPNOTSUPP.
 *
 * While CPUs are counted, vperfctr_control() with counters fails for all threads with
 * -EBUSY, and the reverse.  The UAPI header, <linux/vperfctr.h>, tells at its calls on a
 * descriptor of CPUs what is counted, and the errors of these calls.
 *
 * flags: VPERFCTR_OPEN_CPUS_NOCLOEXEC, or 0.  Errors; *v is then NULL:
 *
 *	-EPERM	the caller has neither CAP_PERFMON nor CAP_SYS_ADMIN in the initial user
 *		namespace
 *	-EOPNOTSUPP  there is no VPERFCTR_FEATURE_CPUS
 *	-EINVAL	an unknown flag; or the mask has no CPU
 *	-ENODEV	the mask has a CPU that vperfctr_cpus() does not return; or the module is
 *		not loaded
 *	-EACCES, -EPROTONOSUPPORT	as vperfctr_info()
 *	-EMFILE, -ENFILE	as from open(2)
 *	-ENOMEM
 */
int vperfctr_open_cpus(struct vperfctr **v, const struct vperfctr_cpu_mask *mask,
		       unsigned int flags);

/*
 * Read all CPUs of such a handle by one call.  The caller sets the fields of *read, but size:
 *
 *	struct vperfctr_cpu cpus[N];
 *	uint64_t sums[N][1 + NRCTRS];	(ticks of the TSC; the counters)
 *	struct vperfctr_read_cpus read = { 0 };
 *
 *	read.nrcpus = N;
 *	read.nrctrs = NRCTRS;		(those that are controlled)
 *	read.cpus = (uintptr_t)cpus;
 *	read.sums = (uintptr_t)sums;
 *
 * Errors:
 *
 *	-EOVERFLOW  nrcpus or nrctrs is too small; both are set to the numbers that are needed
 *	-EFAULT	cpus or sums is no address of that much memory
 *	-EINVAL	a reserved field is not zero
 *	-ENOTTY	the handle is that of a thread or of a set of threads
 *	-EBUSY, -EIO  perf_event counts by this handle, and the counters did not suffice; or a
 *		CPU has gone offline
 *	-ENOMEM
 */
int vperfctr_read_cpus_sized(struct vperfctr *v, struct vperfctr_read_cpus *read, size_t size);
__VPERFCTR_PASS_SIZE int vperfctr_read_cpus(struct vperfctr *v, struct vperfctr_read_cpus *read)
{
	return vperfctr_read_cpus_sized(v, read, sizeof(*read));
}

/*
 * Map the page of the i-th CPU of such a handle, counted from 0 in ascending order of CPUs.
 * *page is NULL after an error.  Other processes that have the descriptor, by
 * vperfctr_open_fd() for example, can map the page, too.  The mapping outlives
 * vperfctr_close(), and keeps the CPUs counted: unmap it by vperfctr_unmap_cpu().
 *
 *	-EINVAL	the handle has no i-th CPU
 *	-ENOTTY	the handle is not one of CPUs
 *	-EPROTONOSUPPORT  the page has another ABI
 *	-ENOMEM
 */
int vperfctr_map_cpu(struct vperfctr *v, unsigned int i, const struct vperfctr_page **page);
void vperfctr_unmap_cpu(const struct vperfctr_page *page);

/*
 * Read from such a page the ticks of the TSC, unless tsc is NULL, and counters 0 ... nr - 1.
 * They are as of when the CPU was last read, by vperfctr_read_cpus() of any process, or was
 * suspended or stopped.  All are of the same moment.  There is no system call, and the CPU
 * is not interrupted.  Any thread may read.
 *
 * Returns how many counters have been written to pmc: nr, or fewer if the control has fewer.
 * In the child of a fork the page of its parent has no counters.
 */
VPERFCTR_INLINE unsigned int vperfctr_read_cpu_page(const struct vperfctr_page *page,
						    uint64_t *tsc, uint64_t *pmc, unsigned int nr)
{
	const volatile struct vperfctr_page *now = page;
	unsigned int i, n;
	uint32_t seq;

	do {
		/* Odd: the CPU is writing. */
		seq = __atomic_load_n(&page->samplecount, __ATOMIC_ACQUIRE);
		n = VPERFCTR_CSTATUS_NRCTRS(now->cstatus);
		if (n > nr)
			n = nr;
		if (tsc)
			*tsc = now->tsc_sum;
		for (i = 0; i < n; i++)
			pmc[i] = now->ctr[i].sum;
		__vperfctr_read_barrier();
	} while ((seq & 1) || now->samplecount != seq);
	return n;
}

/*
 * Make a handle for fd, a descriptor of a state or of CPUs.  It may come from another process
 * or, kept open across exec, from an earlier program.  The handle owns the descriptor:
 * vperfctr_close() closes it.
 *
 * Any holder can read by this handle, also after the owner's end; each read is one
 * system call.  With VPERFCTR_FD_MAP, which is for the owner, the page is mapped as by
 * vperfctr_open().
 *
 * Errors; *v is then NULL, and the caller still owns the descriptor:
 *
 *	-EBADF, -ENOTTY	fd is not open, or neither a state's nor one of CPUs (possibly
 *		-EINVAL); or VPERFCTR_FD_MAP, and it is one of CPUs
 *	-EINVAL	an unknown flag
 *	-EPERM	VPERFCTR_FD_MAP, and the state belongs to another thread
 *	-ESRCH	VPERFCTR_FD_MAP, and the state has no thread any more
 *	-EPROTONOSUPPORT  VPERFCTR_FD_MAP, and the page has another ABI
 *	-ENOMEM
 */
int vperfctr_open_fd(struct vperfctr **v, int fd, unsigned int flags);

/*
 * Return the name of counter i of a handle that vperfctr_count() or vperfctr_event_open() has
 * made, as the caller gave it, or NULL if there is no such counter, or none with a name.  The
 * text is valid until vperfctr_close().
 */
const char *vperfctr_counter_name(const struct vperfctr *v, unsigned int i);

/* Return values of vperfctr_backend(). */
#define VPERFCTR_BACKEND_MODULE	0 /* the vperfctr module counts */
#define VPERFCTR_BACKEND_PERF	1 /* perf_event_open(2) counts: see vperfctr_count() */

/* Return which part of the kernel counts for this handle. */
unsigned int vperfctr_backend(const struct vperfctr *v);

/* ---- handles of perf_event: see vperfctr_perf_open() in <vperfctr-event.h> ---- */

/* Flags of vperfctr_perf_open() and vperfctr_perf_open_at(). */
#define VPERFCTR_PERF_EXEC	0x01 /* start when the thread next executes a file */
#define VPERFCTR_PERF_INHERIT	0x02 /* count what the thread starts, too, in the same sums */
#define VPERFCTR_PERF_RAW	0x04 /* return perf_event_open()'s own error, unexplained */
#define VPERFCTR_PERF_STOPPED	0x08 /* start by vperfctr_resume() */
#define VPERFCTR_PERF_NS	0x10 /* the handle's ticks are nanoseconds */

struct perf_event_attr;

/* A place counts each of these threads on each of these CPUs, with a group for each pair. */
struct vperfctr_perf_place {
	const pid_t *tid;	/* 0: the calling thread; -1, alone: all that the CPUs do */
	const int *cpu;		/* -1, alone: any */
	unsigned int nrtids, nrcpus;
	/*
	 * The number of events to a sample, for each name; 0: it is counted only.  NULL:
	 * there are no samples.  The attributes of those that make samples are *sample, whose
	 * size the caller sets; of software events, only task-clock makes samples, and with
	 * exclude_kernel none in the kernel.  The first event of a group takes the records
	 * of tasks and mappings.
	 */
	const uint64_t *period;
	const struct perf_event_attr *sample;
};

/* The descriptors of a handle that perf_event counts. */
struct vperfctr_perf_groups {
	unsigned int nrgroups;	/* in the order of the place: all CPUs of a thread, then the next */
	unsigned int nrcpus;	/* groups whose events are of different CPUs */
	unsigned int nrevents;	/* in each group; without samples, CPUs have at least two */
	const int *fd;		/* nrgroups * nrevents; of each group the leader is the first */
};

/*
 * Get the descriptors of such a handle, whose samples the caller reads.  They are valid until
 * vperfctr_close(), and are the handle's.
 *
 *	-ENOTTY	the module counts for this handle
 *	-EINVAL	size is below that of version 0.1.0
 */
int vperfctr_perf_descriptors_sized(const struct vperfctr *v, struct vperfctr_perf_groups *groups,
				    size_t size);
__VPERFCTR_PASS_SIZE int vperfctr_perf_descriptors(const struct vperfctr *v,
						   struct vperfctr_perf_groups *groups)
{
	return vperfctr_perf_descriptors_sized(v, groups, sizeof(*groups));
}

/*
 * Read the software counters of CPU i of such a handle of CPUs, since vperfctr_reset():
 * soft->count[].own.  The module counts them for threads only.
 *
 *	-ENOTTY	the module counts for this handle
 *	-EINVAL	the handle counts no CPUs, or not as many; or soft->size is below that of
 *		version 0.1.0
 *	-EBUSY, -EIO  the counters did not suffice; or the CPU has gone offline
 */
int vperfctr_perf_cpu_soft(const struct vperfctr *v, unsigned int i, struct vperfctr_soft *soft);

/* For libvperfctr-event: open events, which lib/perf.h describes. */
struct __vperfctr_perf_event;
int __vperfctr_open_perf(struct vperfctr **v, const struct __vperfctr_perf_event *event,
			 unsigned int nr, pid_t tid, unsigned int flags);
int __vperfctr_open_perf_at(struct vperfctr **v, const struct __vperfctr_perf_event *event,
			    unsigned int nr, const struct vperfctr_perf_place *place, size_t size,
			    unsigned int flags);

/* Set the names of the handle's counters, separated by commas.  Internal. */
int __vperfctr_set_names(struct vperfctr *v, const char *names);

/* Return the handle's descriptor, to poll it or to pass it on.  The handle still owns it. */
int vperfctr_fd(const struct vperfctr *v);

/*
 * Free the handle, unmap its page and ring, and close its descriptor.  v may be NULL.
 * The state lives on with its thread and keeps counting, unless it is a transient one
 * and this was its last descriptor: see vperfctr_unlink().  When a process has no
 * mapping of a page of its own any more, it loses the right to execute RDPMC.
 */
void vperfctr_close(struct vperfctr *v);

/* ---- control: for the owner, or the owner's monitor ---------------------- */

/*
 * Each of these calls can also return:
 *
 *	-ESRCH	the state has been unlinked, or its thread has ended
 *	-EPERM	the caller neither owns the state nor has its owner stopped under
 *		ptrace; or the state is locked against its owner, or another user has made it
 *	-ENOTTY	perf_event counts by this handle, or it is one of CPUs, and has no such call
 */

/*
 * Set what to count, zero the sums, and start, as VPERFCTR_CONTROL does.
 * vperfctr_control_init() fills in what all controls have in common; control->flags
 * takes VPERFCTR_CONTROL_*, and control->clock_period a number of nanoseconds: see
 * <linux/vperfctr.h>.  With VPERFCTR_CONTROL_AFFINITY, the calling thread's CPU
 * affinity is narrowed if need be.  Nothing has changed after an error, except that
 * descendants are not counted any more if an observer has taken a counter during the call
 * (-EADDRINUSE, -EXFULL):
 *
 *	-EINVAL	the control is not valid for this processor: see the list at
 *		VPERFCTR_CONTROL in <linux/vperfctr.h>; or VPERFCTR_CONTROL_AFFINITY, and
 *		the thread may run only on CPUs that cannot count this
 *	-E2BIG	the control, or a counter in it, has a field of a later interface: see "Results"
 *	-EOPNOTSUPP  i-mode counters without VPERFCTR_FEATURE_PCINT;
 *		tsc_on, which vperfctr_control_init() sets, without VPERFCTR_FEATURE_RDTSC;
 *		clock_period without VPERFCTR_FEATURE_CLOCK;
 *		VPERFCTR_CONTROL_INHERIT without VPERFCTR_FEATURE_INHERIT
 *	-EPERM	(also) the control counts kernel mode, and the caller may not
 *	-EUSERS	VPERFCTR_CONTROL_AFFINITY, and the thread may run only on CPUs that
 *		cannot count this while their hyper-thread siblings are online; or the
 *		cpuset is rewritten all the time; or the device cannot be opened
 *	-EADDRINUSE  another state of the thread has one of the counters: see
 *		VPERFCTR_OPEN_OBSERVER
 *	-EXFULL	another state of the thread has counters, and the processor cannot count
 *		with those of both at the same time
 *	-EBUSY	perf_event, the NMI watchdog or a virtual machine holds the counters, or CPUs
 *		are counted; a handle of CPUs, and threads or another handle have them
 *	-EIO	a counter does not work as the processor, or the hypervisor, claims
 *	-EACCES	a handle of CPUs, and programs may read the counters of one of these CPUs, as
 *		rdpmc=2 in sysfs (x86) or perf_user_access=2 (RISC-V) allows, or as a virtual
 *		machine that runs there may leave them (arm64)
 *	-EFAULT	control or control->ctr is not accessible
 *	-ENOMEM
 */
int vperfctr_control(struct vperfctr *v, const struct vperfctr_control *control);

/*
 * Stop all counting and release the hardware.  The sums remain readable.
 *
 *	-ENOMEM
 */
int vperfctr_stop(struct vperfctr *v);

/*
 * Zero all sums, and count on by the same control.  This does what vperfctr_control() does
 * with the state's control: software counters begin at zero, too, children that were
 * started before are no longer counted, a pause ends, and periods of i-mode counters begin
 * anew.  A control that waits for an exec still waits.  The calls that the thread makes
 * while the library reads and sets the control are not counted.
 *
 *	-EINVAL	no control counts anything
 *	-EBUSY	(also) perf_event counts by this handle, and the counters do not suffice
 *	any of vperfctr_control()
 */
int vperfctr_reset(struct vperfctr *v);

/*
 * Pause all counting, the TSC's included; continue.  Suspending a suspended state and
 * resuming a running one do nothing and succeed.
 *
 *	-EINVAL	no control counts anything
 */
int vperfctr_suspend(struct vperfctr *v);
int vperfctr_resume(struct vperfctr *v);

/*
 * Continue after an overflow of an i-mode counter, as VPERFCTR_IRESUME does.  Call it
 * as the last action of the handler of the control's si_signo: what the handler does
 * afterwards is counted again.
 *
 *	-ENODATA no overflow is pending
 */
int vperfctr_iresume(struct vperfctr *v);

/*
 * Stop, and detach the state from its thread, which may then open a new one.  The
 * handle still reads the last sums.  The children's sums include what living
 * descendants have counted so far.  Succeeds if the state has no thread any more; -EPERM
 * if it belongs to another thread.
 */
int vperfctr_unlink(struct vperfctr *v);

/*
 * Initialize *control to one that samples the TSC and has no counters.  ctr is an array
 * with room for the counters that will be added.  It must exist until
 * vperfctr_control() returns.  It may be NULL if no counters will be added.
 */
VPERFCTR_INLINE void vperfctr_control_init_sized(struct vperfctr_control *control, size_t size,
						 struct vperfctr_ctr *ctr, size_t ctr_size)
{
	memset(control, 0, size);
	control->size = (uint32_t)size;
	control->tsc_on = 1;
	control->ctr_size = (uint32_t)ctr_size;
	control->ctr = (uintptr_t)ctr;
}

__VPERFCTR_PASS_SIZE void vperfctr_control_init(struct vperfctr_control *control,
						struct vperfctr_ctr *ctr)
{
	vperfctr_control_init_sized(control, sizeof(*control), ctr, sizeof(*ctr));
}

/* Element i of an array of counters, whose elements have the size that the control says. */
static inline struct vperfctr_ctr *__vperfctr_ctr(const struct vperfctr_control *control,
						  const void *array, size_t i)
{
	return (struct vperfctr_ctr *)((char *)(uintptr_t)array + i * control->ctr_size);
}

/* Clear element i of the control's array, and set what all counters have. */
static inline struct vperfctr_ctr *__vperfctr_new_ctr(const struct vperfctr_control *control,
						      size_t i, uint32_t map, uint64_t evntsel)
{
	struct vperfctr_ctr *ctr = __vperfctr_ctr(control, (void *)(uintptr_t)control->ctr, i);

	memset(ctr, 0, control->ctr_size);
	ctr->map = map;
	ctr->evntsel = evntsel;
	return ctr;
}

/*
 * Add software counters, VPERFCTR_SOFT_*: those in INFO's soft.  They need no room in ctr,
 * and may be added at any place.  VPERFCTR_SOFT_TASK_CLOCK sets tsc_on, on which it depends.
 */
VPERFCTR_INLINE void vperfctr_control_add_soft(struct vperfctr_control *control, uint64_t soft)
{
	control->soft |= soft;
	if (soft & VPERFCTR_SOFT_TASK_CLOCK)
		control->tsc_on = 1;
}

/* A counter cannot be added.  The kernel refuses the control, also if the caller goes on. */
static inline int __vperfctr_cannot_add(struct vperfctr_control *control, int err)
{
	control->size = 0;	/* no version of the interface has such a size */
	return err;
}

/*
 * Append an a-mode counter.  All a-mode counters precede the i-mode ones.
 * vperfctr-processors(7) has the values of map and evntsel.  Returns the counter's index, an
 * argument of the reads, or:
 *
 *	-EINVAL	an i-mode counter, or a table for another kind, has been added before
 *	-ENOSPC	the control has VPERFCTR_MAX_CTRS counters
 *
 * A program need not check this: after an error vperfctr_control() and the other calls that
 * take the control return -EINVAL.  The array must have room: the control does not know that.
 */
VPERFCTR_INLINE int vperfctr_control_add(struct vperfctr_control *control,
					 uint32_t map, uint64_t evntsel)
{
	if (control->nrictrs || control->nrkinds)
		return __vperfctr_cannot_add(control, -EINVAL);
	if (control->nractrs >= VPERFCTR_MAX_CTRS)
		return __vperfctr_cannot_add(control, -ENOSPC);
	__vperfctr_new_ctr(control, control->nractrs, map, evntsel);
	return (int)control->nractrs++;
}

/*
 * Append an i-mode counter, which overflows after each `period` events: from min_period
 * to max_period of struct vperfctr_info.  The caller sets control->si_signo or
 * VPERFCTR_CONTROL_RING to say what an overflow does.  Returns the counter's index,
 * which is also its bit in masks of overflowed counters, or:
 *
 *	-EINVAL	a table for another kind has been added before
 *	-ENOSPC	as vperfctr_control_add()
 */
VPERFCTR_INLINE int vperfctr_control_add_imode(struct vperfctr_control *control,
					       uint32_t map, uint64_t evntsel, uint64_t period)
{
	unsigned int i = control->nractrs + control->nrictrs;
	struct vperfctr_ctr *ctr;

	if (control->nrkinds)
		return __vperfctr_cannot_add(control, -EINVAL);
	if (i >= VPERFCTR_MAX_CTRS)
		return __vperfctr_cannot_add(control, -ENOSPC);
	ctr = __vperfctr_new_ctr(control, i, map, evntsel);
	control->nrictrs++;
	/* A period that is too large must not become a valid one. */
	ctr->ireset = period <= INT64_MAX ? -(int64_t)period : INT64_MIN;
	return (int)i;
}

/*
 * Append an a-mode counter with the map, evntsel and aux of *ctr, as
 * vperfctr_event_assign() fills them in.  Its ireset is ignored.  ctr may point to the
 * element of the control's array that it is copied to.  Otherwise as
 * vperfctr_control_add().
 */
VPERFCTR_INLINE int vperfctr_control_add_ctr(struct vperfctr_control *control,
					     const struct vperfctr_ctr *ctr)
{
	const uint64_t aux = ctr->aux;
	int i = vperfctr_control_add(control, ctr->map, ctr->evntsel);

	if (i < 0)
		return i;
	__vperfctr_ctr(control, (void *)(uintptr_t)control->ctr, (size_t)i)->aux = aux;
	return i;
}

/* Likewise an i-mode counter; otherwise as vperfctr_control_add_imode(). */
VPERFCTR_INLINE int vperfctr_control_add_ctr_imode(struct vperfctr_control *control,
						   const struct vperfctr_ctr *ctr, uint64_t period)
{
	const uint64_t aux = ctr->aux;
	int i = vperfctr_control_add_imode(control, ctr->map, ctr->evntsel, period);

	if (i < 0)
		return i;
	__vperfctr_ctr(control, (void *)(uintptr_t)control->ctr, (size_t)i)->aux = aux;
	return i;
}

/*
 * Count on another kind of CPUs, too: append a table of counters for it.  The first call
 * makes the control one for any kind, and the counters that it has the table of kind 0.
 * Each further call is for the next kind.  Call it when all counters have been added.
 * ctr[i] is counter i, of which map, evntsel and aux are copied; a period is that of kind
 * 0.  The control's array needs room for all tables.  ctr may point to the place in it
 * that the table is copied to.  Each map must be one that all of these kinds have.
 */
VPERFCTR_INLINE void vperfctr_control_add_kind(struct vperfctr_control *control,
					       const struct vperfctr_ctr *ctr)
{
	unsigned int i, nr = control->nractrs + control->nrictrs;
	const void *table = (void *)(uintptr_t)control->ctr;
	size_t first;

	if (control->kind != VPERFCTR_ANY_KIND) {
		control->kind = VPERFCTR_ANY_KIND;
		control->nrkinds = 1;
	}
	first = (size_t)nr * control->nrkinds++;
	for (i = 0; i < nr; i++) {
		const struct vperfctr_ctr *from = __vperfctr_ctr(control, ctr, i);
		/* *from may be the element that is written. */
		const uint64_t aux = from->aux;
		struct vperfctr_ctr *to = __vperfctr_new_ctr(control, first + i, from->map,
							     from->evntsel);

		to->aux = aux;
		to->ireset = __vperfctr_ctr(control, table, i)->ireset;
	}
}

/* ---- reading ------------------------------------------------------------- */

/*
 * Read what the kernel knows, as VPERFCTR_READ does: sums, children's sums, status and
 * control, each if it is asked for.  Any holder of a handle may.  The function sets
 * read->size and the caller the rest; unused fields must be zero.  With
 * VPERFCTR_CONTROL_INHERIT the sums of all are complete if read->children_missed is 0
 * and read->status has none of VPERFCTR_STATUS_CHILDREN, _FORBIDDEN and _PRIVILEGED.
 *
 *	-EOVERFLOW  read->nrctrs was smaller than the number of counters, and has been
 *		set to it; or nrkinds of the control asked for was smaller than the number of
 *		its tables, and has been set to it; nothing else has been written
 *	-EINVAL	a reserved field is not zero; or size or ctr_size of the control asked
 *		for is wrong
 *	-EFAULT	one of the addresses is not accessible
 *	-ENOMEM	the control or VPERFCTR_READ_MEMBERS is asked for
 *	-ENOTTY	the handle is one of CPUs
 *	-EOPNOTSUPP  the control is asked for, and perf_event counts by this handle
 *	-EBUSY	perf_event counts by this handle, and the counters did not suffice, now or since
 *		the last vperfctr_reset()
 */
int vperfctr_read_state_sized(struct vperfctr *v, struct vperfctr_read *read, size_t size);
__VPERFCTR_PASS_SIZE int vperfctr_read_state(struct vperfctr *v, struct vperfctr_read *read)
{
	return vperfctr_read_state_sized(v, read, sizeof(*read));
}

/*
 * Read into *value what the owner itself has counted: a software counter of the control, or
 * the sum of several, as VPERFCTR_SOFT_PAGE_FAULTS is.  Each read is a system call.
 * vperfctr_read_state() returns all of them, and those of the children, with the counters'
 * sums of the same moment, to any holder of a handle.
 *
 *	-EINVAL	soft is 0, or has a counter that the control does not have
 *	-EPERM	as vperfctr_read_pmc()
 *	any of vperfctr_read_state()
 */
int vperfctr_read_soft(struct vperfctr *v, uint64_t soft, uint64_t *value);

/*
 * Read counters first ... first + nr - 1 and, unless tsc is NULL, the TSC, when the
 * inline functions cannot use the page.  Internal.
 */
int __vperfctr_read_slow(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr);

/*
 * Return samplecount and cstatus as one 64-bit word of the page, which a read checks before
 * and after.  cstatus is the upper half on a little-endian processor, else the lower one.
 */
__VPERFCTR_HELPER uint64_t __vperfctr_word(const struct vperfctr_page *page)
{
	/* memcpy() would be correct, too, but compilers for RISC-V then load single bytes. */
	typedef uint64_t __attribute__((__may_alias__)) word;
	const void *at = (const char *)page + offsetof(struct vperfctr_page, samplecount);

	return *(const word *)at;
}

/* Bits of cstatus in that word. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define __VPERFCTR_WORD(cstatus)	((uint64_t)(cstatus))
#else
#define __VPERFCTR_WORD(cstatus)	((uint64_t)(cstatus) << 32)
#endif

/*
 * Return that word at the beginning of a read.  In another thread than the handle's some
 * of its bits are flipped, so the comparison at the end of the read fails.  Unlike a
 * comparison and a jump of its own this costs a read nothing.  The flipped bits are
 * those in which two addresses differ: between bit 4 (or 6) and bit 56.  So the flags
 * of cstatus keep their values.  Where a foreign thread faults when it reads a counter,
 * __VPERFCTR_FLIP clears the flags.
 */
__VPERFCTR_HELPER uint64_t __vperfctr_begin(const struct vperfctr *v,
					    const struct vperfctr_page *page)
{
	uintptr_t flips;

	__vperfctr_thread_xor(flips, v->thread);
	return __VPERFCTR_FLIP(__vperfctr_word(page), flips);
}

/* True if the handle belongs to the calling thread. */
static inline int __vperfctr_mine(const struct vperfctr *v)
{
	return __vperfctr_thread() == v->thread;
}

/*
 * Barriers in the loops below: __vperfctr_thread_xor() is one before the word is
 * loaded.  It makes the compiler load the word again, not keep it from the last check.
 * Another follows the load, and a third precedes the check.  If the check fails, because
 * of a switch or in a foreign thread, the slow path finds out which of them it was.
 */

/* Return a counter's value.  Valid only if samplecount is the same before and after. */
__VPERFCTR_HELPER uint64_t __vperfctr_pmc(const struct vperfctr_page *page,
				      unsigned int i, uint64_t mask)
{
	const struct vperfctr_page_ctr *ctr = &page->ctr[i];

	return ctr->sum + ((__vperfctr_rdpmc(ctr->map) - ctr->start) & mask);
}

/*
 * True if the page, by which RDPMC is allowed, has nr counters.  It has one then, so a read of
 * the first counter only costs no check.
 */
#define __VPERFCTR_HAS(page, nr)						\
	((__builtin_constant_p(nr) && (nr) <= 1) ||				\
	 (nr) <= VPERFCTR_CSTATUS_NRCTRS((page)->cstatus))

/*
 * Read the value of counter i into *value, which an error leaves as it was.  Counters
 * are numbered from 0 in the order of the control.  There is no system call if the page is
 * mapped and this thread may execute RDPMC or is suspended.
 *
 *	-EINVAL	there is no counter i
 *	-EPERM	the handle has a page, and belongs to another thread or to the parent of
 *		this process: see "Threads" and "Processes" above
 *	-EBUSY, -ENOTTY	as vperfctr_read_state()
 */
__VPERFCTR_INLINE_READ int vperfctr_read_pmc(struct vperfctr *v, unsigned int i,
					     uint64_t *value)
{
	const uint64_t need = __VPERFCTR_WORD(VPERFCTR_CSTATUS_RDPMC);
	const struct vperfctr_page *page = v->page;
	uint64_t word, sum, slow;
	int err;

	do {
		word = __vperfctr_begin(v, page);
		if (__builtin_expect(!VPERFCTR_HAVE_RDPMC || !(word & need), 0))
			break;
		__vperfctr_barrier();
		if (__builtin_expect(!__VPERFCTR_HAS(page, (uint64_t)i + 1), 0))
			break;
		sum = __vperfctr_pmc(page, i, page->mask);
		__vperfctr_barrier_value(sum);
		if (__builtin_expect(__vperfctr_word(page) == word, 1)) {
			*value = sum;
			return 0;
		}
	} while (__vperfctr_mine(v));

	/* A separate variable, so that *value can stay in a register. */
	err = __vperfctr_read_slow(v, NULL, &slow, i, 1);
	if (!err)
		*value = slow;
	return err;
}

/*
 * Read into *value, which an error leaves as it was, the ticks of the TSC for which the thread
 * has been counted: 0 if the control has tsc_on 0.  There is no system call if the page is mapped
 * and the TSC runs or the thread is suspended.
 *
 *	-EPERM, -EBUSY, -ENOTTY	as vperfctr_read_pmc()
 *	-EOPNOTSUPP  perf_event counts by this handle, and does not make its times from the TSC
 */
__VPERFCTR_INLINE_READ int vperfctr_read_tsc(struct vperfctr *v, uint64_t *value)
{
	const uint32_t need = VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_TSC;
	const struct vperfctr_page *page = v->page;
	uint64_t word, sum, slow;
	int err;

	do {
		word = __vperfctr_begin(v, page);
		/* A 64-bit constant would need one more instruction. */
		if (__builtin_expect(!VPERFCTR_HAVE_RDTSC || (page->cstatus & need) != need, 0))
			break;
		__vperfctr_barrier();
		sum = page->tsc_sum + (__vperfctr_rdtsc() - page->tsc_start);
		__vperfctr_barrier_value(sum);
		if (__builtin_expect(__vperfctr_word(page) == word, 1)) {
			*value = sum;
			return 0;
		}
	} while (__vperfctr_mine(v));

	err = __vperfctr_read_slow(v, &slow, NULL, 0, 0);
	if (!err)
		*value = slow;
	return err;
}

/* With more counters a loop costs little more for each. */
#define __VPERFCTR_UNROLL	8

/*
 * Read counters 0 ... nr - 1 into pmc[].  Compilers unroll a loop only with some options.  With a
 * constant nr all tests vanish.  Else one jump goes to the last counter, from which all lower
 * ones follow.
 */
__VPERFCTR_HELPER void __vperfctr_pmcs(const struct vperfctr_page *page, uint64_t *pmc,
				       unsigned int nr, int many)
{
	const uint64_t mask = page->mask;

	if (many) {
		while (nr--)
			pmc[nr] = __vperfctr_pmc(page, nr, mask);
		return;
	}
	if (__builtin_constant_p(nr)) {
		if (nr > 0)
			pmc[0] = __vperfctr_pmc(page, 0, mask);
		if (nr > 1)
			pmc[1] = __vperfctr_pmc(page, 1, mask);
		if (nr > 2)
			pmc[2] = __vperfctr_pmc(page, 2, mask);
		if (nr > 3)
			pmc[3] = __vperfctr_pmc(page, 3, mask);
		if (nr > 4)
			pmc[4] = __vperfctr_pmc(page, 4, mask);
		if (nr > 5)
			pmc[5] = __vperfctr_pmc(page, 5, mask);
		if (nr > 6)
			pmc[6] = __vperfctr_pmc(page, 6, mask);
		if (nr > 7)
			pmc[7] = __vperfctr_pmc(page, 7, mask);
		return;
	}
	switch (nr) {
	case 8:
		pmc[7] = __vperfctr_pmc(page, 7, mask);
		__VPERFCTR_FALL_THROUGH;
	case 7:
		pmc[6] = __vperfctr_pmc(page, 6, mask);
		__VPERFCTR_FALL_THROUGH;
	case 6:
		pmc[5] = __vperfctr_pmc(page, 5, mask);
		__VPERFCTR_FALL_THROUGH;
	case 5:
		pmc[4] = __vperfctr_pmc(page, 4, mask);
		__VPERFCTR_FALL_THROUGH;
	case 4:
		pmc[3] = __vperfctr_pmc(page, 3, mask);
		__VPERFCTR_FALL_THROUGH;
	case 3:
		pmc[2] = __vperfctr_pmc(page, 2, mask);
		__VPERFCTR_FALL_THROUGH;
	case 2:
		pmc[1] = __vperfctr_pmc(page, 1, mask);
		__VPERFCTR_FALL_THROUGH;
	case 1:
		pmc[0] = __vperfctr_pmc(page, 0, mask);
		__VPERFCTR_FALL_THROUGH;
	case 0:
		break;
	default:
		__builtin_unreachable();
	}
}

__VPERFCTR_HELPER int __vperfctr_read_n(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
					unsigned int nr, int many)
{
	const uint64_t need = __VPERFCTR_WORD(
		(tsc ? VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_TSC : 0) |
		/* Without either, the slow path says whether the caller may read. */
		(nr || !tsc ? VPERFCTR_CSTATUS_RDPMC : 0));
	const struct vperfctr_page *page = v->page;
	uint64_t word, now = 0, slow;
	int err;

	do {
		word = __vperfctr_begin(v, page);
		if (__builtin_expect(!VPERFCTR_HAVE_RDPMC || !VPERFCTR_HAVE_RDTSC ||
				     (word & need) != need, 0))
			break;
		__vperfctr_barrier();
		if (__builtin_expect(!__VPERFCTR_HAS(page, nr), 0))
			break;
		if (tsc) {
			now = page->tsc_sum + (__vperfctr_rdtsc() - page->tsc_start);
			/* Complete the sum before the counters need its registers. */
			__vperfctr_barrier_value(now);
		}
		__vperfctr_pmcs(page, pmc, nr, many);
		__vperfctr_barrier();
		if (__builtin_expect(__vperfctr_word(page) == word, 1)) {
			if (tsc)
				*tsc = now;
			return 0;
		}
	} while (__vperfctr_mine(v));

	err = __vperfctr_read_slow(v, tsc ? &slow : NULL, pmc, 0, nr);
	if (!err && tsc)
		*tsc = slow;
	return err;
}

/* Numbers that the compiler does not know.  cold: inline, the loop's registers would be saved. */
__attribute__((__cold__))
static inline int __vperfctr_read_many(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
				       unsigned int nr)
{
	return __vperfctr_read_n(v, tsc, pmc, nr, 1);
}

static inline int __vperfctr_read_few(struct vperfctr *v, uint64_t *pmc, unsigned int nr)
{
	if (__builtin_expect(nr > __VPERFCTR_UNROLL, 0))
		return __vperfctr_read_many(v, NULL, pmc, nr);
	return __vperfctr_read_n(v, NULL, pmc, nr, 0);
}

/*
 * Read the values of counters 0 ... nr - 1 into pmc[] and, unless tsc is NULL, the ticks of the
 * TSC into *tsc.  No switch of threads comes between the values, which are read one after
 * the other.  A constant nr and a constant NULL make the shortest code.
 * A processor may read counters before the instructions that precede are counted: a region waits.
 *
 *	-EINVAL	there are fewer counters
 *	-EPERM, -EBUSY, -ENOTTY	as vperfctr_read_pmc()
 *	-EOPNOTSUPP  tsc is not NULL, and as vperfctr_read_tsc()
 */
__VPERFCTR_INLINE_READ int vperfctr_read(struct vperfctr *v, uint64_t *tsc,
					 uint64_t *pmc, unsigned int nr)
{
	if (__builtin_constant_p(nr) && nr <= __VPERFCTR_UNROLL)
		return __vperfctr_read_n(v, tsc, pmc, nr, 0);
	return tsc ? __vperfctr_read_many(v, tsc, pmc, nr) : __vperfctr_read_few(v, pmc, nr);
}

/* ---- regions ----------------------------------------------------------------- */

/*
 * A region: what a piece of code counts, less what the two reads around it count.
 *
 *	vperfctr_region_init(&region, v, 2);
 *	...
 *	vperfctr_region_begin(&region);
 *	... the code to be measured ...
 *	vperfctr_region_end(&region);
 *	...
 *	n = vperfctr_region_pmc(&region, 0);	of all passes together
 *
 * begin and end are functions of the library and not inline, so they are the same code
 * everywhere.  vperfctr_region_init() calls them many times with nothing between, in
 * the way the program calls them.  The smallest count is their cost.  It is constant for
 * events that count instructions, so these are exact.  The exception is the load of the
 * region's address before a call, if the compiler needs several instructions for it.
 * Begin and end wait until the instructions before them have been counted.  32-bit x86 has no
 * instruction for that on all processors: begin and end may be off by some instructions each there.
 * For cycles and other events the cost is a lower limit of what a pass really costs.
 *
 * Only the cost of a region's own passes is subtracted.  A region inside another one
 * adds its two calls to that one's count: see vperfctr_region_init(3).
 *
 * A region belongs to the thread whose handle it uses.  Its content is internal, and it never
 * grows.
 */
struct vperfctr_region {
	uint64_t internal[128];
};

#define __VPERFCTR_CALIBRATIONS	100

int __vperfctr_region_prepare(struct vperfctr_region *region, struct vperfctr *v,
			      unsigned int nr);
int __vperfctr_region_calibrate(struct vperfctr_region *region);

/*
 * Begin and end a pass.  A pass that another begin follows, before its end, is dropped: it is
 * in no count and in no number of passes, as after a longjmp() or an exception.  begin reports
 * nothing: vperfctr_region_end() returns the first error, and returns it again until the next
 * vperfctr_region_init():
 *
 *	-EAGAIN	the counters are read in another way than at vperfctr_region_init(), as
 *		RDPMC was allowed or forbidden or counting was suspended.  The cost is
 *		not known: call vperfctr_region_init() again
 *	-EINVAL	end without begin; or the control has fewer counters
 *	-EPERM, -EBUSY, -ENOTTY, -EOPNOTSUPP	as vperfctr_read()
 */
void vperfctr_region_begin(struct vperfctr_region *region);
int vperfctr_region_end(struct vperfctr_region *region);

/*
 * Initialize and calibrate a region for the TSC and counters 0 ... nr - 1 of the handle.
 * The handle must have a control, and must be counting.  Takes some microseconds.
 *
 *	-EINVAL	nr is greater than VPERFCTR_MAX_CTRS
 *	any of vperfctr_region_end()
 */
VPERFCTR_INLINE int vperfctr_region_init(struct vperfctr_region *region, struct vperfctr *v,
					 unsigned int nr)
{
	int err = __vperfctr_region_prepare(region, v, nr);
	unsigned int i;

	for (i = 0; !err && i < __VPERFCTR_CALIBRATIONS; i++) {
		vperfctr_region_begin(region);
		vperfctr_region_end(region);
		err = __vperfctr_region_calibrate(region);
	}
	return err;
}

/*
 * Return what counter i has counted in all passes, less their cost.  UINT64_MAX: the region
 * has no counter i.
 */
uint64_t vperfctr_region_pmc(const struct vperfctr_region *region, unsigned int i);

/* Return the same for the TSC, in ticks; 0 if the control has tsc_on 0. */
uint64_t vperfctr_region_tsc(const struct vperfctr_region *region);

/* Return the number of passes. */
uint64_t vperfctr_region_passes(const struct vperfctr_region *region);

/*
 * Return the number of passes in which the thread was switched while begin or end read.
 * The read starts over then, and the count may include the first attempt.
 */
uint64_t vperfctr_region_disturbed(const struct vperfctr_region *region);

/* ---- the ring of samples --------------------------------------------------- */

/*
 * With VPERFCTR_CONTROL_RING each overflow adds a sample to the state's ring and makes no
 * signal.  With control->clock_period, so does each period of thread time.  A holder of a
 * handle that maps the ring reads the samples:
 *
 *	poll(&(struct pollfd){ .fd = vperfctr_fd(v), .events = POLLIN }, 1, -1);
 *	nr = vperfctr_ring_nr(v);
 *	for (i = 0; i < nr; i++)
 *		use(vperfctr_ring_sample(v, i));
 *	vperfctr_ring_consume(v, nr);
 *
 * A ring has one reader at a time.  With VPERFCTR_RING_RECORDS, what vperfctr_ring_sample()
 * returns may be the first slot of a record: see vperfctr_ring_record().
 */

/*
 * Make the state's ring and map it.  For the owner or the owner's monitor.  The caller
 * sets ring->nrsamples, watermark, nrsums, depth, kernel_depth, stack, rate and flags, and all
 * other fields to zero.
 * The function sets size, the kernel sample_size and map_size.  If the state has a ring
 * already, that one is mapped, and v->ring has its properties.  Mapping a ring does not
 * enable RDPMC.
 *
 *	-EINVAL	nrsamples is not a power of two, or greater than
 *		VPERFCTR_RING_MAX; watermark is 0 or greater than nrsamples; nrsums
 *		is greater than VPERFCTR_MAX_CTRS; depth or kernel_depth is greater than
 *		VPERFCTR_CHAIN_MAX; kernel_depth is not zero, and there is no
 *		VPERFCTR_RING_KERNEL; stack is greater than VPERFCTR_STACK_MAX, or no multiple
 *		of 8; an unknown flag; a reserved field is not zero
 *	-EAGAIN	more memory than the user may have (max_ring_kb_per_user)
 *	-EINTR	a signal came while the call waited: the user makes many large rings
 *		(max_stops_per_second)
 *	-EOPNOTSUPP  there is neither VPERFCTR_FEATURE_PCINT nor VPERFCTR_FEATURE_CLOCK; or
 *		VPERFCTR_RING_RECORDS, and there is no VPERFCTR_FEATURE_RECORDS; or
 *		kernel_depth is not zero, and Linux cannot find the kernel's calls
 *	-ENOMEM	(also) the ring was made, but cannot be mapped
 *	-EPROTONOSUPPORT  the ring has another format than this library knows
 *	-ESRCH, -EPERM, -ENOTTY	as vperfctr_control()
 *	-EPERM	(also) VPERFCTR_RING_KERNEL, and the caller may not count kernel mode
 */
int vperfctr_ring_open_sized(struct vperfctr *v, struct vperfctr_ring *ring, size_t size);
__VPERFCTR_PASS_SIZE int vperfctr_ring_open(struct vperfctr *v, struct vperfctr_ring *ring)
{
	return vperfctr_ring_open_sized(v, ring, sizeof(*ring));
}

/*
 * Map the state's ring.  For any holder of a handle.  map_size is ring->map_size of the
 * vperfctr_ring_open() that made the ring.  Does nothing if the handle has mapped it.
 *
 *	-EINVAL	there is no ring, or it has another size
 *	-EPROTONOSUPPORT  it has another format than this library knows
 *	-EPERM	the ring has VPERFCTR_RING_KERNEL, and the caller may not count kernel
 *		mode
 *	-ENOTTY	perf_event counts by this handle
 *	-ENOMEM
 */
int vperfctr_ring_map(struct vperfctr *v, uint64_t map_size);

/*
 * Some processors have no load of 64 bits, and may see the halves of two values.  On i386,
 * where a field is aligned to 4 bytes, clang would call a function of libatomic.  The lower
 * halves of head and tail are enough, as a ring has fewer samples than they can count.  A
 * count of lost samples may have a wrong upper half for a moment, after 2^32 of them.
 */
#if defined(__i386__) ? !defined(__clang__) : __GCC_ATOMIC_LLONG_LOCK_FREE == 2
typedef uint64_t __vperfctr_place;
#define __VPERFCTR_PLACE(nr)	(&(nr))
#define __VPERFCTR_LOAD(nr)	__atomic_load_n(&(nr), __ATOMIC_RELAXED)
#else
typedef uint32_t __attribute__((__may_alias__)) __vperfctr_place;
#define __VPERFCTR_PLACE(nr)							\
	((const __vperfctr_place *)&(nr) + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
#define __VPERFCTR_LOAD(nr)	(*(const volatile uint64_t *)&(nr))
#endif

/* Return how many samples can be read, records included: 0 without a ring. */
VPERFCTR_INLINE uint64_t vperfctr_ring_nr(const struct vperfctr *v)
{
	/* Acquire: load no sample before the head that says it is there. */
	__vperfctr_place head = __atomic_load_n(__VPERFCTR_PLACE(v->ring->head), __ATOMIC_ACQUIRE);

	return (__vperfctr_place)(head - __atomic_load_n(__VPERFCTR_PLACE(v->ring->tail),
							 __ATOMIC_RELAXED));
}

/*
 * Return the i-th of them; 0 is the oldest.  i must be less than the result of
 * vperfctr_ring_nr().  The sample is valid until it is consumed.
 */
VPERFCTR_INLINE const struct vperfctr_sample *vperfctr_ring_sample(const struct vperfctr *v,
								   uint64_t i)
{
	const struct vperfctr_ring_page *ring = v->ring;
	uint64_t n = __atomic_load_n(__VPERFCTR_PLACE(ring->tail), __ATOMIC_RELAXED) + i;

	return (const struct vperfctr_sample *)
		((const char *)ring + ring->data +
		 (n & (ring->nrsamples - 1)) * (size_t)ring->sample_size);
}

/*
 * Return the chain of calls in the kernel of a sample of this ring: *nr return addresses, the
 * innermost first.  It is empty if the ring has no kernel_depth, or if the sample has no
 * address in the kernel.
 */
VPERFCTR_INLINE const uint64_t *vperfctr_ring_kernel_chain(const struct vperfctr *v,
							   const struct vperfctr_sample *sample,
							   uint64_t *nr)
{
	const struct vperfctr_ring_page *ring = v->ring;
	const uint64_t *chain = (const uint64_t *)(sample->sums + ring->nrsums);

	*nr = ring->kernel_depth ? chain[0] : 0;
	return chain + 1;
}

/*
 * Return the chain of calls of user mode of a sample of this ring: *nr return addresses, the
 * innermost first.  It is empty if the ring has no depth.  See struct vperfctr_sample for the
 * addresses that it has.
 */
VPERFCTR_INLINE const uint64_t *vperfctr_ring_chain(const struct vperfctr *v,
						    const struct vperfctr_sample *sample,
						    uint64_t *nr)
{
	const struct vperfctr_ring_page *ring = v->ring;
	const uint64_t *chain = (const uint64_t *)(sample->sums + ring->nrsums);

	if (ring->kernel_depth)
		chain += 1 + chain[0];
	*nr = ring->depth ? chain[0] : 0;
	return chain + 1;
}

/* The registers of user mode in a sample, and the top of the stack.  It never grows. */
struct vperfctr_user {
	unsigned int mode;	/* VPERFCTR_USER_*: NONE: all else is zero */
	unsigned int nrregs;
	const uint64_t *regs;	/* by their numbers in DWARF: see VPERFCTR_USER_NONE */
	const void *stack;	/* from the stack pointer upwards */
	size_t stack_size;	/* bytes that could be read, perhaps 0 */
};

/*
 * Find the registers and the stack of a sample of this ring.  There are none if the ring has
 * no stack.  They are valid until the sample is consumed.
 */
VPERFCTR_INLINE void vperfctr_ring_user(const struct vperfctr *v,
					const struct vperfctr_sample *sample,
					struct vperfctr_user *user)
{
	const struct vperfctr_ring_page *ring = v->ring;
	const uint64_t *at = (const uint64_t *)(sample->sums + ring->nrsums);

	memset(user, 0, sizeof(*user));
	if (ring->kernel_depth)
		at += 1 + at[0];
	if (ring->depth)
		at += 1 + at[0];
	if (!ring->stack || at[0] == VPERFCTR_USER_NONE)
		return;
	user->mode = (unsigned int)at[0];
#if defined(__aarch64__) || defined(__arm__)
	user->nrregs = VPERFCTR_ARM64_REGS;
#elif defined(__riscv)
	user->nrregs = VPERFCTR_RISCV64_REGS;
#elif defined(__powerpc__)
	user->nrregs = VPERFCTR_POWER64_REGS;
#else
	user->nrregs = VPERFCTR_X86_REGS;
#endif
	user->regs = at + 1;
	user->stack_size = (size_t)user->regs[user->nrregs];
	user->stack = user->regs + user->nrregs + 1;
}

/*
 * Copy the record that begins with sample i of vperfctr_ring_nr(), of a ring with
 * VPERFCTR_RING_RECORDS.  A sample is a record if its type is neither
 * VPERFCTR_SAMPLE_OVERFLOW nor VPERFCTR_SAMPLE_CLOCK.
 * `room` bytes at *to may be written; VPERFCTR_RECORD_MAX are enough for any record.
 *
 * Return how many samples the record has: the next one begins after these.  0: the kernel
 * has not written all of them yet.  Or:
 *
 *	-EINVAL	there is no sample i, or no record begins there
 *	-ENOBUFS the record has more than `room` bytes
 */
int vperfctr_ring_record(const struct vperfctr *v, uint64_t i, struct vperfctr_record *to,
			 size_t room);

/* Return the text of a record: a name or a path, or "". */
VPERFCTR_INLINE const char *vperfctr_record_text(const struct vperfctr_record *record)
{
	return record->text ? (const char *)record + record->text : "";
}

/* Return the number of overflows, or of clock periods, without a sample, since the ring was made. */
VPERFCTR_INLINE uint64_t vperfctr_ring_dropped(const struct vperfctr *v)
{
	return __VPERFCTR_LOAD(v->ring->dropped);
}

/* Return the number of records that the kernel has not written, since the ring was made. */
VPERFCTR_INLINE uint64_t vperfctr_ring_lost(const struct vperfctr *v)
{
	return __VPERFCTR_LOAD(v->ring->lost);
}

/*
 * Release the slots of the nr oldest samples, for new ones.
 *
 *	-EINVAL	there are fewer samples, or the state has no ring
 */
int vperfctr_ring_consume(struct vperfctr *v, uint64_t nr);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* VPERFCTR_H */
