/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libperfctr: the interface of perfctr 2.6's library
 *
 * For programs written for perfctr; new ones are better off with <vperfctr.h>.
 * doc/libperfctr.md says what each call does and where that is not what perfctr
 * did.  Calls that return int return 0, or -1 with errno; those that return a
 * pointer return NULL with errno.
 */
#ifndef __LIB_PERFCTR_H
#define __LIB_PERFCTR_H

#include <linux/perfctr.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
/* Functions are named as structures are, as in stat(2). */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/* One piece of memory: free() it as a whole. */
struct perfctr_cpus_info {
	struct perfctr_cpu_mask *cpus;
	struct perfctr_cpu_mask *cpus_forbidden;
};

/* ---- descriptors --------------------------------------------------------- */

/* creat 0: the calling thread's state or, if it has none, what the perfctr_*() calls take. */
int _vperfctr_open(int creat);
int _vperfctr_control(int fd, const struct vperfctr_control *control);
int _vperfctr_read_control(int fd, struct vperfctr_control *control);
int _vperfctr_read_sum(int fd, struct perfctr_sum_ctrs *sum);

/* Is this a descriptor of ours, and the interface of that version? */
int _perfctr_abi_check_fd(int fd, unsigned int user_abi_version);

static __inline__ int perfctr_abi_check_fd(int fd)
{
	return _perfctr_abi_check_fd(fd, PERFCTR_ABI_VERSION);
}

int perfctr_info(int fd, struct perfctr_info *info);
int perfctr_get_info(struct perfctr_info *info);
struct perfctr_cpus_info *perfctr_cpus_info(int fd);

unsigned int perfctr_info_nrctrs(const struct perfctr_info *info);
const char *perfctr_info_cpu_name(const struct perfctr_info *info);

/* To stdout. */
void perfctr_info_print(const struct perfctr_info *info);
void perfctr_cpus_info_print(const struct perfctr_cpus_info *info);
void perfctr_cpu_control_print(const struct perfctr_cpu_control *control);

/* ---- the calling thread ---------------------------------------------------- */

struct vperfctr;

/* For vperfctr_open_mode(), which is vperfctr_open() with it. */
#define VPERFCTR_OPEN_CREAT_EXCL	3

struct vperfctr *vperfctr_open(void);
struct vperfctr *vperfctr_open_mode(unsigned int mode);
int vperfctr_info(const struct vperfctr *vperfctr, struct perfctr_info *info);
struct perfctr_cpus_info *vperfctr_cpus_info(const struct vperfctr *vperfctr);
__perfctr_ull vperfctr_read_tsc(const struct vperfctr *vperfctr);
__perfctr_ull vperfctr_read_pmc(const struct vperfctr *vperfctr, unsigned int i);
int vperfctr_read_ctrs(const struct vperfctr *vperfctr, struct perfctr_sum_ctrs *sum);
int vperfctr_read_state(const struct vperfctr *vperfctr, struct perfctr_sum_ctrs *sum,
			struct vperfctr_control *control);
int vperfctr_control(const struct vperfctr *vperfctr, struct vperfctr_control *control);
int vperfctr_stop(const struct vperfctr *vperfctr);
int vperfctr_is_running(const struct vperfctr *vperfctr);
int vperfctr_iresume(const struct vperfctr *vperfctr);
int vperfctr_unlink(const struct vperfctr *vperfctr);
void vperfctr_close(struct vperfctr *vperfctr);

/* ---- another thread, stopped under the caller's ptrace ----------------------- */

struct rvperfctr;

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

/* ---- CPUs: all of these fail with ENOSYS -------------------------------------- */

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
	perfctr_um_type_bitmask		/* some of the values, or-ed */
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

/* NULL if there is no such type. */
const struct perfctr_event_set *perfctr_cpu_event_set(unsigned int cpu_type);

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* __LIB_PERFCTR_H */
