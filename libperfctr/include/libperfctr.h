/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libperfctr: the interface of perfctr 2.6's library
 *
 * For programs written for perfctr; new programs should use <vperfctr.h>.
 * doc/libperfctr.md describes each call and its differences from perfctr.
 *
 * Calls that return int return 0, or -1 and set errno.  Calls that return a pointer return
 * NULL and set errno.  Errors of all calls that open or use /dev/vperfctr:
 *
 *	ENODEV	the module is not loaded
 *	EACCES, EPERM	the caller may not open /dev/vperfctr
 *	EPROTO	the module's interface has another version than the library
 *	EBADF, ENOTTY	fd is not open, or not a descriptor of this interface
 *	ENOMEM, EMFILE, ENFILE
 */
#ifndef __LIB_PERFCTR_H
#define __LIB_PERFCTR_H

#include <linux/perfctr.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
/* Some functions have the name of a structure, as in stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/* One allocation: free() the structure, not the masks. */
struct perfctr_cpus_info {
	struct perfctr_cpu_mask *cpus;
	struct perfctr_cpu_mask *cpus_forbidden;
};

/* ---- descriptors --------------------------------------------------------- */

/*
 * Return a descriptor of the calling thread's state.  With creat 1 the state is made:
 * EEXIST if there is one, EAGAIN if the user has too many.  With creat 0, the thread may
 * have no state, or one that the caller may not open.  The descriptor then works only
 * for perfctr_info(), perfctr_cpus_info() and perfctr_abi_check_fd().
 */
int _vperfctr_open(int creat);

/* As vperfctr_control() and vperfctr_read_state(), by descriptor. */
int _vperfctr_control(int fd, const struct vperfctr_control *control);
int _vperfctr_read_control(int fd, struct vperfctr_control *control);
int _vperfctr_read_sum(int fd, struct perfctr_sum_ctrs *sum);

/* Check that fd belongs to this interface, and its version: EPROTO if it is another. */
int _perfctr_abi_check_fd(int fd, unsigned int user_abi_version);

static __inline__ int perfctr_abi_check_fd(int fd)
{
	return _perfctr_abi_check_fd(fd, PERFCTR_ABI_VERSION);
}

/* Fill in *info; by perfctr_get_info() without a descriptor. */
int perfctr_info(int fd, struct perfctr_info *info);
int perfctr_get_info(struct perfctr_info *info);
/* Return the CPUs, and those where counters are not used. */
struct perfctr_cpus_info *perfctr_cpus_info(int fd);

/* The number of counters, and the processor's name, of an *info that a call filled in. */
unsigned int perfctr_info_nrctrs(const struct perfctr_info *info);
const char *perfctr_info_cpu_name(const struct perfctr_info *info);

/* Print to stdout. */
void perfctr_info_print(const struct perfctr_info *info);
void perfctr_cpus_info_print(const struct perfctr_cpus_info *info);
void perfctr_cpu_control_print(const struct perfctr_cpu_control *control);

/* ---- the calling thread ---------------------------------------------------- */

struct vperfctr;

/* vperfctr_open() is vperfctr_open_mode() with this mode. */
#define VPERFCTR_OPEN_CREAT_EXCL	3

/*
 * Open the thread's state.  VPERFCTR_OPEN_CREAT_EXCL makes it: EEXIST if the thread has
 * one.  Mode 0 does not: ENOENT if the thread has none.  EINVAL: another mode.
 */
struct vperfctr *vperfctr_open(void);
struct vperfctr *vperfctr_open_mode(unsigned int mode);
int vperfctr_info(const struct vperfctr *vperfctr, struct perfctr_info *info);
struct perfctr_cpus_info *vperfctr_cpus_info(const struct vperfctr *vperfctr);

/*
 * Read the TSC's ticks, counter i, or all; without a system call where possible.
 * read_tsc and read_pmc return 0 after an error, and for a counter that does not exist.
 * vperfctr_read_state() is a system call; sum or control may be NULL.  EOVERFLOW: another
 * interface controls more counters than fit.
 */
__perfctr_ull vperfctr_read_tsc(const struct vperfctr *vperfctr);
__perfctr_ull vperfctr_read_pmc(const struct vperfctr *vperfctr, unsigned int i);
int vperfctr_read_ctrs(const struct vperfctr *vperfctr, struct perfctr_sum_ctrs *sum);
int vperfctr_read_state(const struct vperfctr *vperfctr, struct perfctr_sum_ctrs *sum,
			struct vperfctr_control *control);

/*
 * Stop, zero the sums except those in control->preserve, and start.  A control of zeros
 * stops and keeps the sums, as vperfctr_stop() does.  An invalid control also stops what
 * ran.
 *
 *	EINVAL	the processor cannot count this: a pmc_map or evntsel is not valid, an
 *		evntsel_high[] has bits that the processor does not have, an
 *		nhlm.offcore_rsp[] is not zero without a counter of its event
 *	EPERM	the control counts kernel mode, and the caller may not
 *	EBUSY	perf_event or the NMI watchdog holds the counters
 *	EOPNOTSUPP  i-mode counters without PERFCTR_FEATURE_PCINT
 *	ESRCH	the state has been unlinked, or the caller does not own it
 */
int vperfctr_control(const struct vperfctr *vperfctr, struct vperfctr_control *control);
int vperfctr_stop(const struct vperfctr *vperfctr);
/* True if a control counts something, also while an overflow is pending. */
int vperfctr_is_running(const struct vperfctr *vperfctr);
/* Continue after an overflow.  EPERM: none is pending; ESRCH: as vperfctr_control(). */
int vperfctr_iresume(const struct vperfctr *vperfctr);
/* Detach the state from the thread; its sums remain readable.  ESRCH: not the owner. */
int vperfctr_unlink(const struct vperfctr *vperfctr);
/* Free the handle.  The state stays with its thread and keeps counting. */
void vperfctr_close(struct vperfctr *vperfctr);

/* ---- another thread, stopped under the caller's ptrace ----------------------- */

struct rvperfctr;

/*
 * Open or make the state of thread pid, and the same calls as above for it.  All but the
 * reads fail with ESRCH unless the caller has the thread stopped under ptrace.
 */
struct rvperfctr *rvperfctr_open(int pid);
int rvperfctr_pid(const struct rvperfctr *rvperfctr);
int rvperfctr_info(const struct rvperfctr *rvperfctr, struct perfctr_info *info);
int rvperfctr_read_ctrs(const struct rvperfctr *rvperfctr, struct perfctr_sum_ctrs *sum);
int rvperfctr_read_state(const struct rvperfctr *rvperfctr, struct perfctr_sum_ctrs *sum,
			 struct vperfctr_control *control);
int rvperfctr_control(const struct rvperfctr *rvperfctr, struct vperfctr_control *control);
int rvperfctr_stop(const struct rvperfctr *rvperfctr);
int rvperfctr_iresume(const struct rvperfctr *rvperfctr);
int rvperfctr_unlink(const struct rvperfctr *rvperfctr);
void rvperfctr_close(struct rvperfctr *rvperfctr);

/* ---- CPUs instead of threads -------------------------------------------------------- */

/*
 * gperfctr_open() fails with ENOSYS if the module cannot count CPUs here.  A handle has the
 * counters that are set up by it, and gperfctr_close() ends their counting.  One thread at a
 * time may use it.
 *
 * gperfctr_control() sets the control of one CPU, and zeroes its sums.  gperfctr_start() starts
 * those of all CPUs that have got one.  Both return the number of CPUs that have a control,
 * or -1.  gperfctr_stop() stops all and takes their controls back; the sums remain.
 * gperfctr_read() fills in the control and the sums of CPU state->cpu.
 *
 * The counters are read when gperfctr_read() is called; interval_usec is 0, or at least
 * 10000, and has no other effect.
 *
 *	EINVAL	there is no such CPU, or it is forbidden; the control is invalid, or has no
 *		counter but the TSC; interval_usec is less than 10000
 *	EPERM	the caller has neither CAP_PERFMON nor CAP_SYS_ADMIN; or the control has
 *		i-mode counters
 *	EBUSY	gperfctr_control(): the counters have been started, and must be stopped
 *		before; gperfctr_start(): perf_event, threads or another handle have the
 *		counters
 *	EMFILE	each CPU with a control takes a descriptor
 */
struct gperfctr;

struct gperfctr *gperfctr_open(void);
int gperfctr_control(const struct gperfctr *gperfctr, struct gperfctr_cpu_control *control);
int gperfctr_read(const struct gperfctr *gperfctr, struct gperfctr_cpu_state *state);
int gperfctr_stop(const struct gperfctr *gperfctr);
int gperfctr_start(const struct gperfctr *gperfctr, unsigned int interval_usec);
int gperfctr_info(const struct gperfctr *gperfctr, struct perfctr_info *info);
struct perfctr_cpus_info *gperfctr_cpus_info(const struct gperfctr *gperfctr);
void gperfctr_close(struct gperfctr *gperfctr);

/* ---- events --------------------------------------------------------------------- */

enum perfctr_unit_mask_type {
	perfctr_um_type_fixed,		/* this value */
	perfctr_um_type_exclusive,	/* one of the values */
	perfctr_um_type_bitmask		/* any of the values, or-ed */
};

struct perfctr_unit_mask_value {
	unsigned int value;
	const char *description;
};

struct perfctr_unit_mask {
	unsigned int default_value;
	enum perfctr_unit_mask_type type;
	unsigned int nvalues;
	struct perfctr_unit_mask_value values[1];	/* of nvalues */
};

struct perfctr_event {
	unsigned int evntsel;			/* the event's code */
	unsigned int counters_set;		/* bit i: counter i can count it */
	const struct perfctr_unit_mask *unit_mask;	/* or NULL */
	const char *name;
	const char *description;
};

struct perfctr_event_set {
	unsigned int cpu_type;
	const char *event_prefix;
	const struct perfctr_event_set *include;	/* more of them, or NULL */
	unsigned int nevents;
	const struct perfctr_event *events;
};

/* Return the events of a processor type, or NULL if there is no such type. */
const struct perfctr_event_set *perfctr_cpu_event_set(unsigned int cpu_type);

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* __LIB_PERFCTR_H */
