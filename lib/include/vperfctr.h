/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvperfctr: virtual per-thread performance counters
 *
 * A thin layer over the kernel interface, <linux/vperfctr.h>, whose structures
 * and constants it uses and whose comments say what they mean.  For a thread
 * that counts itself:
 *
 *	struct vperfctr *v;
 *	struct vperfctr_control control;
 *	struct vperfctr_ctr ctr[1];
 *	uint64_t before, after;
 *
 *	vperfctr_open(&v, VPERFCTR_OPEN_CREAT);
 *	vperfctr_control_init(&control, ctr);
 *	vperfctr_control_add(&control, 0, 0x4100c0);	(instructions, user mode)
 *	vperfctr_control(v, &control);
 *	vperfctr_read_pmc(v, 0, &before);
 *	... what is to be measured ...
 *	vperfctr_read_pmc(v, 0, &after);
 *	vperfctr_unlink(v);
 *	vperfctr_close(v);
 *
 * Results: every function that can fail returns 0, or a negative error number
 * (-EBUSY, ...).  When one fails, what its pointers point to is unspecified
 * unless said otherwise.  errno is not part of the interface, and may change.
 * Nothing is printed, no signal is handled, nothing is kept outside handles.
 * Error numbers that a function's comment does not list come from the kernel
 * as <linux/vperfctr.h> documents them under the same name.
 *
 * Threads: a handle that maps the state's page, as vperfctr_open() gives it,
 * belongs to the thread that opened it, as the state behind it does.  Used by
 * another thread vperfctr_read(), _read_pmc(), _read_tsc() and the calls for
 * regions return -EPERM, and so does the kernel from all that changes the state.
 * When its thread has ended, or has unlinked the state, any thread may read it, and
 * gets the last sums.
 * One without a page (VPERFCTR_OPEN_NOMAP, vperfctr_open_tid(), vperfctr_open_fd()
 * without mapping) can be read by any thread, several at a time, and so can the
 * state of any handle by vperfctr_read_state(): then it is the kernel that reads.
 * To change a state is for its owner, or the thread that has the owner stopped under
 * ptrace.  vperfctr_close() is for any thread, when no other uses the handle.
 *
 * Two users in one thread: a thread has one state, and so one control.  If two
 * parts of a program want to count the same thread, the second one's
 * vperfctr_open() with VPERFCTR_OPEN_CREAT fails with -EEXIST.  It must not go on
 * without CREAT and give the state another control: that zeroes the sums that the
 * first one reads.  See vperfctr_open(3) for what the second one can do.
 *
 * Processes: in the child of a fork the page of a handle of the parent is not there.
 * A read by it ends in SIGSEGV; vperfctr_read_state() and _close() work, and so do all
 * reads by a handle without a page: they give the parent's sums.  Nor is a ring there
 * until vperfctr_ring_map() maps it again.  A child counts
 * itself by a handle of its own.  In the child of a vfork nothing may be done.
 *
 * Signals: a read, or any other call, may be made in a signal handler
 * that interrupts the same, except that vperfctr_open*(), vperfctr_close() and
 * vperfctr_*cpus*() use malloc or free, and that a region must not be used by both.
 * vperfctr_iresume() is made for that.
 *
 * Files that other languages bind to: each inline function is exported from
 * the library under its own name too.
 */
#ifndef VPERFCTR_H
#define VPERFCTR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

/* Arrays whose length is not said are C's, and an extension of every C++ compiler. */
#ifdef __cplusplus
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif
#include <linux/vperfctr.h>
#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

/* Of this header, and of the library that came with it. */
#define VPERFCTR_VERSION	"0.1.0"

/* A test replaces the instructions with a model of the registers. */
#if defined(VPERFCTR_ARCH_HEADER)
#include VPERFCTR_ARCH_HEADER
#elif defined(__x86_64__) || defined(__i386__)
#include <vperfctr/arch-x86.h>
#elif defined(__aarch64__)
#include <vperfctr/arch-arm64.h>
#else
#include <vperfctr/arch-generic.h>
#endif

/* The library defines it empty once, to export what is inline elsewhere. */
#ifndef VPERFCTR_INLINE
#define VPERFCTR_INLINE		static inline
#endif

#ifdef __cplusplus
extern "C" {
/* Functions named as structures are, as in stat(2), are meant to be. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * A handle.  What is here is for the inline functions below: the page of the
 * state, or one that sends them to the kernel; the thread whose page it is, or 0; its
 * ring, or an empty one.  The library allocates handles, and they are larger than this.
 */
struct vperfctr {
	const struct vperfctr_page *page;
	uintptr_t thread;
	const struct vperfctr_ring_page *ring;
};

/* ---- what there is ---------------------------------------------------- */

/*
 * What the module is and what it found, for CPUs of the given kind (0 unless
 * info->nrkinds says that there are more).
 *
 *	-ENODEV	there is no /dev/vperfctr, or nothing behind it: the module is
 *		not loaded
 *	-EACCES, -EPERM	the caller may not open /dev/vperfctr
 *	-EPROTONOSUPPORT  the module's ABI is another than this library's; info
 *		is filled in, as far as can be told
 *	-EINVAL	there is no such kind
 *	-EMFILE, -ENFILE, -ENOMEM  as from open(2)
 */
int vperfctr_info(struct vperfctr_info *info, unsigned int kind);

/*
 * The CPUs of the system, those on which counters must not be used, and those of
 * a kind, on which controls of that kind count.  *mask is allocated; free() it.
 *
 *	-ENODEV, -EACCES, -EPERM, -EMFILE, -ENFILE	as vperfctr_info()
 *	-ENOMEM	no memory for the mask (also as from open(2))
 *	-EINVAL	there is no such kind
 */
int vperfctr_cpus(struct vperfctr_cpu_mask **mask);
int vperfctr_cpus_forbidden(struct vperfctr_cpu_mask **mask);
int vperfctr_kind_cpus(unsigned int kind, struct vperfctr_cpu_mask **mask);

/* ---- handles ----------------------------------------------------------- */

/* For vperfctr_open(), besides VPERFCTR_OPEN_*: do not map the state's page. */
#define VPERFCTR_OPEN_NOMAP	0x80000000U

/* For vperfctr_open_fd(): the caller, who is the state's owner, wants its page mapped. */
#define VPERFCTR_FD_MAP		0x01

/*
 * Open the calling thread's state, and map its page so that reading needs no
 * system call.  flags:
 *
 *	VPERFCTR_OPEN_CREAT	make the state; it counts nothing yet
 *	VPERFCTR_OPEN_TRANSIENT	with CREAT: unlink it when its last descriptor is
 *				closed, whoever has that
 *	VPERFCTR_OPEN_KEEP	with CREAT: let it live on with its thread; that
 *				is what happens without either, too
 *	VPERFCTR_OPEN_NOCLOEXEC	keep the descriptor open across exec
 *	VPERFCTR_OPEN_NOMAP	do not map the page: the process gets no RDPMC
 *				by this, and every read is a system call
 *
 * Errors; *v is then NULL, and no state has been made:
 *
 *	-EEXIST	VPERFCTR_OPEN_CREAT, and the thread has a state
 *	-ENOENT	no VPERFCTR_OPEN_CREAT, and the thread has none
 *	-ENODEV, -EACCES, -EPERM, -EPROTONOSUPPORT	as vperfctr_info()
 *	-EAGAIN	the user has as many states as the module allows
 *	-EINVAL	an unknown flag; TRANSIENT or KEEP without CREAT, or both
 *	-ENOMEM, -EMFILE, -ENFILE
 */
int vperfctr_open(struct vperfctr **v, unsigned int flags);

/*
 * For monitors: open the state of the thread with this id, which the calling
 * thread must have stopped under ptrace (PTRACE_SEIZE and PTRACE_INTERRUPT, for
 * one), or make one for it.  The page is not mapped.  As long as the thread is
 * stopped so, the handle is good for all calls, and what is controlled starts
 * when the thread goes on; at other times it is good for reading.  Flags as
 * vperfctr_open(), except that with VPERFCTR_OPEN_CREAT the state is unlinked
 * when its last descriptor is closed unless VPERFCTR_OPEN_KEEP is given.
 *
 * Children's sums, and how complete all sums are: vperfctr_read_state().
 *
 * Errors; *v is then NULL, and no state has been made:
 *
 *	-ESRCH	there is no such thread, or it is ending
 *	-EPERM	(also) it is not stopped under the caller's ptrace, perhaps no
 *		longer: SIGKILL wakes it at any time
 *	any of vperfctr_open(), about that thread
 */
int vperfctr_open_tid(struct vperfctr **v, pid_t tid, unsigned int flags);

/*
 * A handle for a state's descriptor, which may have come from another process
 * or, kept open across exec, from an earlier program.  The handle takes the
 * descriptor over: vperfctr_close() closes it.
 *
 * Who is not the owner can read (vperfctr_read*(), each one system call), also
 * after the owner's end.  With VPERFCTR_FD_MAP, which is for the owner, the page is
 * mapped as by vperfctr_open().
 *
 * Errors; *v is then NULL, and the descriptor is the caller's still:
 *
 *	-EBADF, -ENOTTY	no descriptor; not one of a state (possibly -EINVAL)
 *	-EINVAL	an unknown flag
 *	-EPERM	VPERFCTR_FD_MAP, and the state belongs to another thread (one that has
 *		it stopped under ptrace is not found out, and must not ask for it)
 *	-ESRCH	VPERFCTR_FD_MAP, and it belongs to no thread any more
 *	-EPROTONOSUPPORT  VPERFCTR_FD_MAP, and the page's ABI is another
 *	-ENOMEM
 */
int vperfctr_open_fd(struct vperfctr **v, int fd, unsigned int flags);

/* The handle's descriptor, to be passed on or polled; it remains the handle's. */
int vperfctr_fd(const struct vperfctr *v);

/*
 * Give the handle up, and unmap page and ring; NULL is nothing to do.  The state lives on with its
 * thread, counting, unless this was the last descriptor of one that is
 * transient: see vperfctr_unlink().  When the last mapping of its page
 * in a process goes, so does the right of that process to RDPMC.
 */
void vperfctr_close(struct vperfctr *v);

/* ---- control: for the owner, or the owner's monitor ---------------------- */

/*
 * Each returns, besides what is listed with it:
 *
 *	-ESRCH	the state has been unlinked, or its thread has ended
 *	-EPERM	the caller is neither the thread that the state belongs to, nor
 *		one that has it stopped under ptrace
 */

/*
 * Say what to count and start, as VPERFCTR_CONTROL.  Nothing changes when it
 * fails.  vperfctr_control_init() fills in what is the same in all controls;
 * control->flags is for VPERFCTR_CONTROL_INHERIT and others.
 *
 *	-EINVAL	the control is not valid for this processor: see
 *		VPERFCTR_CONTROL in <linux/vperfctr.h> for the list
 *	-E2BIG	the control asks for something newer than the module
 *	-EOPNOTSUPP  i-mode counters, and no VPERFCTR_FEATURE_PCINT
 *	-EPERM	(also) kernel mode is to be counted, and the caller may not
 *	-EBUSY	perf_event or the NMI watchdog holds the counters
 *	-EIO	the counters do not work as the processor, or hypervisor, says
 *	-EFAULT	control, or control->ctr, is no good address
 *	-ENOMEM
 */
int vperfctr_control(struct vperfctr *v, const struct vperfctr_control *control);

/* Stop everything.  All sums remain; the hardware is released.  -ENOMEM. */
int vperfctr_stop(struct vperfctr *v);

/*
 * Pause all counting, the TSC's included, and go on.  Suspending what is
 * suspended, or resuming what is not, is no error.
 *
 *	-EINVAL	nothing is controlled
 */
int vperfctr_suspend(struct vperfctr *v);
int vperfctr_resume(struct vperfctr *v);

/*
 * Go on after an overflow of an i-mode counter: what VPERFCTR_IRESUME says.  To
 * be called in the handler of the control's si_signo, as its last action: what
 * the handler does after it is counted again.
 *
 *	-EPERM	(also) no overflow waits for it
 */
int vperfctr_iresume(struct vperfctr *v);

/*
 * Stop, and take the state from its thread, which may then open a new one.
 * The handle remains good for reading.  What living descendants have counted
 * until now is then in the children's sums.  No error if the state has no
 * thread any more, but -EPERM if the thread is another's.
 */
int vperfctr_unlink(struct vperfctr *v);

/*
 * An empty control that samples the TSC.  ctr is an array with room for the
 * counters that will be added: it must live until vperfctr_control() returns,
 * and may be NULL if there will be none.
 */
VPERFCTR_INLINE void vperfctr_control_init(struct vperfctr_control *control,
					   struct vperfctr_ctr *ctr)
{
	memset(control, 0, sizeof(*control));
	control->size = sizeof(*control);
	control->tsc_on = 1;
	control->ctr_size = sizeof(*ctr);
	control->ctr = (uintptr_t)ctr;
}

/*
 * Append an a-mode counter; call it before any i-mode counter is put there.
 * Returns its index, which is what reads of it take.
 */
VPERFCTR_INLINE unsigned int vperfctr_control_add(struct vperfctr_control *control,
						  uint32_t map, uint64_t evntsel)
{
	struct vperfctr_ctr *ctr = (struct vperfctr_ctr *)(uintptr_t)control->ctr;

	ctr += control->nractrs;
	memset(ctr, 0, sizeof(*ctr));
	ctr->map = map;
	ctr->evntsel = evntsel;
	return control->nractrs++;
}

/*
 * Append an i-mode counter, which overflows each time after `period` events: at
 * most max_period of struct vperfctr_info.  All a-mode counters come first, so
 * there is no vperfctr_control_add() after this.  What an overflow does is said by
 * control->si_signo and VPERFCTR_CONTROL_RING, which are the caller's to set.
 * Returns the counter's index, which is its bit in masks of overflowed ones, too.
 */
VPERFCTR_INLINE unsigned int vperfctr_control_add_imode(struct vperfctr_control *control,
							uint32_t map, uint64_t evntsel,
							uint64_t period)
{
	struct vperfctr_ctr *ctr = (struct vperfctr_ctr *)(uintptr_t)control->ctr;
	unsigned int i = control->nractrs + control->nrictrs++;

	ctr += i;
	memset(ctr, 0, sizeof(*ctr));
	ctr->map = map;
	ctr->evntsel = evntsel;
	/* What is too large for a period remains what no kernel takes. */
	ctr->ireset = period <= INT64_MAX ? -(int64_t)period : INT64_MIN;
	return i;
}

/*
 * Append a copy of *ctr as an a-mode counter, with its aux.  For what
 * vperfctr_event_assign() has filled in; *ctr may be the very element of the
 * control's array that it goes to.  ireset is not copied.  Otherwise as
 * vperfctr_control_add().
 */
VPERFCTR_INLINE unsigned int vperfctr_control_add_ctr(struct vperfctr_control *control,
						      const struct vperfctr_ctr *ctr)
{
	const uint64_t aux = ctr->aux;
	unsigned int i = vperfctr_control_add(control, ctr->map, ctr->evntsel);

	((struct vperfctr_ctr *)(uintptr_t)control->ctr)[i].aux = aux;
	return i;
}

/* Likewise as an i-mode counter, as vperfctr_control_add_imode(). */
VPERFCTR_INLINE unsigned int vperfctr_control_add_ctr_imode(struct vperfctr_control *control,
							    const struct vperfctr_ctr *ctr,
							    uint64_t period)
{
	const uint64_t aux = ctr->aux;
	unsigned int i = vperfctr_control_add_imode(control, ctr->map, ctr->evntsel, period);

	((struct vperfctr_ctr *)(uintptr_t)control->ctr)[i].aux = aux;
	return i;
}

/* ---- reading ------------------------------------------------------------- */

/*
 * VPERFCTR_READ: sums, children's sums, status and control, each as wanted;
 * any holder of the descriptor may.  read->size is set here, the rest by the
 * caller; unused fields must be zero.  With VPERFCTR_CONTROL_INHERIT the sums
 * of all are complete if read->children_missed is 0 and read->status has none
 * of VPERFCTR_STATUS_CHILDREN, _FORBIDDEN and _PRIVILEGED.
 *
 *	-EOVERFLOW  read->nrctrs was too small, and is what is needed now;
 *		nothing else has been written
 *	-EINVAL	a reserved field is not zero, or the size or ctr_size of the
 *		control asked for is wrong
 *	-EFAULT	one of the addresses is no good
 */
int vperfctr_read_state(struct vperfctr *v, struct vperfctr_read *read);

/*
 * Where the inline functions go when the page does not do.  Reads counters
 * first ... first + nr - 1; tsc may be NULL.  Not to be called directly.
 */
int __vperfctr_read_slow(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr);

/*
 * What a read checks before and after: samplecount and, above it, cstatus, which
 * are one word in the page, of a little-endian processor.
 */
static inline uint64_t __vperfctr_word(const struct vperfctr_page *page)
{
	uint64_t word;

	memcpy(&word, (const char *)page + offsetof(struct vperfctr_page, samplecount),
	       sizeof(word));
	return word;
}

#define __VPERFCTR_WORD(cstatus)	((uint64_t)(cstatus) << 32)

/*
 * The same before reading: for another thread than the handle's it has other bits
 * flipped, so that the word cannot be the same afterwards.  This costs a read
 * nothing, unlike a comparison and a jump.  The bits are between 4 (or 6) and 56, as
 * addresses are: flags of cstatus remain; but where a foreign thread dies of reading a
 * counter, none does (__VPERFCTR_FLIP).
 */
static inline uint64_t __vperfctr_begin(const struct vperfctr *v, const struct vperfctr_page *page)
{
	uintptr_t flips;

	__vperfctr_thread_xor(flips, v->thread);
	return __VPERFCTR_FLIP(__vperfctr_word(page), flips);
}

/* Is it this thread's handle? */
static inline int __vperfctr_mine(const struct vperfctr *v)
{
	return __vperfctr_thread() == v->thread;
}

/*
 * The loops below: __vperfctr_thread_xor() is a barrier before the word is loaded, so
 * that it is loaded anew (and not kept in another register since the last check); one
 * is after it, and one before the check.  When the check fails, for a switch or a foreign thread,
 * the slow way tells which of them it was.
 */

/* One counter's value.  For use between two looks at samplecount. */
static inline uint64_t __vperfctr_pmc(const struct vperfctr_page *page,
				      unsigned int i, uint64_t mask)
{
	const struct vperfctr_page_ctr *ctr = &page->ctr[i];

	return ctr->sum + ((__vperfctr_rdpmc(ctr->map) - ctr->start) & mask);
}

/*
 * The value of counter i, counted from 0 in the control's order.  i is not
 * checked: it must be one that is controlled.  No system call if the page is
 * mapped and this thread may RDPMC, or is suspended.
 *
 *	-EINVAL	there is no counter i (found only when the kernel is asked)
 *	any of vperfctr_read_state()
 */
VPERFCTR_INLINE int vperfctr_read_pmc(struct vperfctr *v, unsigned int i,
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
		sum = __vperfctr_pmc(page, i, page->mask);
		__vperfctr_barrier_value(sum);
		if (__builtin_expect(__vperfctr_word(page) == word, 1)) {
			*value = sum;
			return 0;
		}
	} while (__vperfctr_mine(v));

	/* A variable of its own: the address of *value stays here. */
	err = __vperfctr_read_slow(v, NULL, &slow, i, 1);
	if (!err)
		*value = slow;
	return err;
}

/*
 * TSC cycles for which the thread has been counted.  0 if the control has
 * tsc_on 0.  No system call if the page is mapped and the TSC runs or the
 * thread is suspended.
 *
 *	any of vperfctr_read_state()
 */
VPERFCTR_INLINE int vperfctr_read_tsc(struct vperfctr *v, uint64_t *value)
{
	const uint32_t need = VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_TSC;
	const struct vperfctr_page *page = v->page;
	uint64_t word, sum, slow;
	int err;

	do {
		word = __vperfctr_begin(v, page);
		/* A constant of 64 bits would take an instruction. */
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

/* Above this many counters a loop is no worse. */
#define __VPERFCTR_UNROLL	8

/*
 * The values of counters 0 ... nr - 1, and of the TSC unless tsc is NULL, all
 * consistent: of the same moment, except for the few instructions between
 * reading the first and the last.  nr is not checked: it must not be greater
 * than the number of controlled counters.  A constant nr, and a constant NULL,
 * give the shortest code.
 *
 *	-EINVAL	there are not as many (found only when the kernel is asked)
 *	any of vperfctr_read_state()
 */
VPERFCTR_INLINE int vperfctr_read(struct vperfctr *v, uint64_t *tsc,
				  uint64_t *pmc, unsigned int nr)
{
	const uint64_t need = __VPERFCTR_WORD(
		(tsc ? VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_TSC : 0) |
		(nr ? VPERFCTR_CSTATUS_RDPMC : 0));
	const struct vperfctr_page *page = v->page;
	uint64_t word, mask, now = 0, slow;
	unsigned int i;
	int err;

	do {
		word = __vperfctr_begin(v, page);
		if (__builtin_expect(!VPERFCTR_HAVE_RDPMC || !VPERFCTR_HAVE_RDTSC ||
				     (word & need) != need, 0))
			break;
		__vperfctr_barrier();
		if (tsc) {
			now = page->tsc_sum + (__vperfctr_rdtsc() - page->tsc_start);
			/* Done with, before its registers are needed again. */
			__vperfctr_barrier_value(now);
		}
		mask = page->mask;
		if (__builtin_constant_p(nr) && nr <= __VPERFCTR_UNROLL) {
#ifdef __clang__
#pragma unroll
#else
#pragma GCC unroll 8
#endif
			for (i = 0; i < nr; i++)
				pmc[i] = __vperfctr_pmc(page, i, mask);
		} else {
			for (i = 0; i < nr; i++)
				pmc[i] = __vperfctr_pmc(page, i, mask);
		}
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

/* ---- regions ----------------------------------------------------------------- */

/*
 * What a piece of code counts, less what the two reads around it count:
 *
 *	vperfctr_region_init(&region, v, 2);
 *	...
 *	vperfctr_region_begin(&region);
 *	... what is to be measured ...
 *	vperfctr_region_end(&region);
 *	...
 *	n = vperfctr_region_pmc(&region, 0);	of all passes together
 *
 * begin and end are functions of the library, not inline, so that they are the
 * same code in each place.  vperfctr_region_init() calls them with nothing between,
 * in the way the program calls them, many times; the least that is counted so is
 * their cost.  It is constant for what counts instructions, which are therefore
 * exact, but for the instruction that loads the region's address before a call
 * where the compiler needs several.  Of cycles and other events it is a lower limit
 * of what a pass really costs.
 *
 * A region belongs to the thread whose handle it is for.  Its fields are the library's.
 */
struct vperfctr_region {
	struct vperfctr *v;
	uint32_t nr;			/* counters 0 ... nr - 1 */
	int32_t err;			/* what went wrong since init */
	uint32_t way_begin, way;	/* how it was read in this pass; in calibration */
	uint64_t passes;
	uint64_t disturbed;		/* of these, how many may count a bit too much */
	struct __vperfctr_region_sums {
		uint64_t tsc;
		uint64_t pmc[VPERFCTR_MAX_CTRS];
	} start, sum, cost;
};

#define __VPERFCTR_CALIBRATIONS	100

int __vperfctr_region_prepare(struct vperfctr_region *region, struct vperfctr *v,
			      unsigned int nr);
int __vperfctr_region_calibrate(struct vperfctr_region *region);

/*
 * A pass begins, and ends.  What goes wrong is told by vperfctr_region_end(), from
 * then on until vperfctr_region_init():
 *
 *	-EAGAIN	the way the counters are read has changed since vperfctr_region_init()
 *		(RDPMC was allowed or forbidden; counting was suspended), so that the cost
 *		is not known: call that again
 *	-EINVAL	it has not begun; or (found when the kernel is asked) the control has not
 *		so many counters
 *	-EPERM	the handle belongs to another thread, which lives
 *	any of vperfctr_read_state()
 */
void vperfctr_region_begin(struct vperfctr_region *region);
int vperfctr_region_end(struct vperfctr_region *region);

/*
 * An empty region, for the TSC and counters 0 ... nr - 1 of the handle, which must be
 * controlled, and running.  Takes some microseconds.
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

/* What all passes have counted, less their cost. */
VPERFCTR_INLINE uint64_t vperfctr_region_pmc(const struct vperfctr_region *region, unsigned int i)
{
	uint64_t cost = region->passes * region->cost.pmc[i];

	return region->sum.pmc[i] > cost ? region->sum.pmc[i] - cost : 0;
}

/* The same of the TSC; 0 if the control has tsc_on 0. */
VPERFCTR_INLINE uint64_t vperfctr_region_tsc(const struct vperfctr_region *region)
{
	uint64_t cost = region->passes * region->cost.tsc;

	return region->sum.tsc > cost ? region->sum.tsc - cost : 0;
}

/* How many passes there were. */
VPERFCTR_INLINE uint64_t vperfctr_region_passes(const struct vperfctr_region *region)
{
	return region->passes;
}

/*
 * In how many of them the thread was switched while begin or end read: that had to
 * start over, and what the first try took may be counted with the region.
 */
VPERFCTR_INLINE uint64_t vperfctr_region_disturbed(const struct vperfctr_region *region)
{
	return region->disturbed;
}

/* ---- the ring of samples --------------------------------------------------- */

/*
 * With VPERFCTR_CONTROL_RING each overflow puts a sample into the state's ring,
 * without a signal.  Whoever has a handle that maps the ring reads them:
 *
 *	poll(&(struct pollfd){ vperfctr_fd(v), POLLIN }, 1, -1);
 *	nr = vperfctr_ring_nr(v);
 *	for (i = 0; i < nr; i++)
 *		use(vperfctr_ring_sample(v, i));
 *	vperfctr_ring_consume(v, nr);
 *
 * A ring has one reader at a time.
 */

/*
 * Make the state's ring, and map it.  The caller sets ring->nrsamples, watermark,
 * nrsums and flags, and the rest to zero; size is set here, sample_size and map_size
 * by the kernel.  If the state has a ring already that one is mapped: what it is
 * like is in v->ring.  Mapping does not let the process RDPMC.  For the owner, or
 * the owner's monitor.
 *
 *	-EINVAL	nrsamples is not a power of two, or greater than
 *		VPERFCTR_RING_MAX; watermark is 0 or greater than nrsamples; nrsums
 *		is greater than VPERFCTR_MAX_CTRS; a field is not zero that must be
 *	-EAGAIN	more than the user may have (max_ring_kb_per_user)
 *	-EOPNOTSUPP  there is no VPERFCTR_FEATURE_PCINT
 *	-ENOMEM	also if it cannot be mapped: the state has a ring then
 *	-ESRCH, -EPERM	as vperfctr_control()
 *	-EPERM	(also) VPERFCTR_RING_KERNEL, and the caller may not count kernel mode
 */
int vperfctr_ring_open(struct vperfctr *v, struct vperfctr_ring *ring);

/*
 * Map the ring that the state has; for everybody with a handle.  map_size is what
 * vperfctr_ring_open() has put into ring->map_size for whoever made it.  Nothing
 * is done if the handle has mapped it.
 *
 *	-EINVAL	there is no ring, or map_size is another
 *	-EPERM	it is one with VPERFCTR_RING_KERNEL, and the caller may not count
 *		kernel mode
 *	-ENOMEM
 */
int vperfctr_ring_map(struct vperfctr *v, uint64_t map_size);

/* How many samples are there to be read?  0 without a ring. */
VPERFCTR_INLINE uint64_t vperfctr_ring_nr(const struct vperfctr *v)
{
	/* Acquire: samples are not looked at before it is known that they are there. */
	return __atomic_load_n(&v->ring->head, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(&v->ring->tail, __ATOMIC_RELAXED);
}

/*
 * The i-th of them, 0 being the oldest.  i must be less than what
 * vperfctr_ring_nr() has said.  It is good until it is consumed.
 */
VPERFCTR_INLINE const struct vperfctr_sample *vperfctr_ring_sample(const struct vperfctr *v,
								   uint64_t i)
{
	const struct vperfctr_ring_page *ring = v->ring;
	uint64_t n = __atomic_load_n(&ring->tail, __ATOMIC_RELAXED) + i;

	return (const struct vperfctr_sample *)
		((const char *)ring + ring->data +
		 (n & (ring->nrsamples - 1)) * (size_t)ring->sample_size);
}

/* Overflows of which there is no sample, from the ring's beginning. */
VPERFCTR_INLINE uint64_t vperfctr_ring_dropped(const struct vperfctr *v)
{
	return __atomic_load_n(&v->ring->dropped, __ATOMIC_RELAXED);
}

/*
 * Give the slots of the nr oldest samples back.
 *
 *	-EINVAL	there are not so many, or the state has no ring
 */
int vperfctr_ring_consume(struct vperfctr *v, uint64_t nr);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* VPERFCTR_H */
