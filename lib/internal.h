/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internal to the library. */
#ifndef VPERFCTR_INTERNAL_H
#define VPERFCTR_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <vperfctr.h>

#define VPERFCTR_DEVICE	"/dev/vperfctr"

/* Without it, a 32-bit program cannot use files with large inode numbers. */
_Static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64");

#pragma GCC visibility push(hidden)

/* A process, as it and its children can tell: see process.c. */
struct vperfctr_process {
	pid_t pid;		/* 0: none */
	unsigned int number;	/* 0: the kernel has none */
};

struct vperfctr_handle {
	struct vperfctr pub;	/* first: the address of a handle is that of pub */
	int fd;
	struct vperfctr_process mapper;		/* has mapped pub.page; pid 0: it is not mapped */
	struct vperfctr_process ring_mapper;	/* the same of pub.ring */
	size_t ring_size;
	struct __vperfctr_perf *perf;	/* counts by perf_event_open(2); NULL: by the module */
	char *names;		/* of the counters, each with its NUL, or NULL */
	unsigned int nrnames;
};

/* The page of handles without one: it sends each reader to the kernel. */
extern const struct vperfctr_page __vperfctr_no_page;
/* The ring of handles without one: empty. */
extern const struct vperfctr_ring_page __vperfctr_no_ring;

static inline struct vperfctr_handle *to_handle(struct vperfctr *v)
{
	return (struct vperfctr_handle *)v;
}

static inline const struct vperfctr_handle *to_const_handle(const struct vperfctr *v)
{
	return (const struct vperfctr_handle *)v;
}

/*
 * The rule for structures that the caller allocates ("Sizes" in vperfctr.h): their size is what
 * the caller says, never sizeof, which is that of this library's header.  Most go to the kernel
 * as they are, which has the same rule.  A function that itself uses a field that was added
 * after version 0.9 must first ask whether the size includes it.
 */
#include "sized.h"

/* Return the ioctl's result, or -errno. */
static inline int __vperfctr_ioctl(int fd, unsigned long request, const void *arg)
{
	int ret = ioctl(fd, request, arg);

	return ret < 0 ? -errno : ret;
}

/*
 * Only another major number, the upper half, is incompatible.  Before version 1.0 another minor
 * number is, too.
 */
static inline int __vperfctr_abi_check(uint32_t version)
{
	const uint32_t same = VPERFCTR_ABI_VERSION >> 16 ? 0xffff0000 : 0xffffffff;

	return (version ^ VPERFCTR_ABI_VERSION) & same ? -EPROTONOSUPPORT : 0;
}

/*
 * Make a call that sets a control.  If the control asks for it, narrow the affinity of the
 * calling thread.
 */
int __vperfctr_control_call(int fd, unsigned long request, const void *arg,
			    const struct vperfctr_control *control);

/*
 * The calls by a handle that counts by perf_event_open(2).  Errors are those of the public
 * functions.
 */
int __vperfctr_perf_read(const struct vperfctr_handle *h, uint64_t *tsc, uint64_t *pmc,
			 unsigned int first, unsigned int nr);
int __vperfctr_perf_read_state(const struct vperfctr_handle *h, struct vperfctr_read *read);
int __vperfctr_perf_read_cpus(const struct vperfctr_handle *h, struct vperfctr_read_cpus *read);
int __vperfctr_perf_pause(struct vperfctr_handle *h, bool pause);
int __vperfctr_perf_reset(struct vperfctr_handle *h);
int __vperfctr_perf_stop(struct vperfctr_handle *h, bool unlink);
void __vperfctr_perf_close(struct __vperfctr_perf *p);

void __vperfctr_this_process(struct vperfctr_process *process);
bool __vperfctr_is_this_process(const struct vperfctr_process *process);
/* True if the caller is in a child of that process, or of its children: a copy, not by vfork. */
bool __vperfctr_is_child(const struct vperfctr_process *process);

/* Unmap the handle's ring, if this process has mapped it. */
void __vperfctr_ring_unmap(struct vperfctr_handle *h);

/* Make a handle that owns fd.  After an error the caller still owns it. */
int __vperfctr_new_handle(struct vperfctr **v, int fd, int map);

/* Return how many CPUs the set of this descriptor has, or -errno: -ENOTTY if it is no set. */
int __vperfctr_count_cpus(int fd);

/* Return a descriptor of the device, or -errno; -ENODEV if the device is missing. */
int __vperfctr_device_open(void);
/*
 * Return a descriptor of the device to open a state by, or -errno.  The interface's version
 * is checked, and the descriptor may be one that this process keeps.  Give it back by
 * __vperfctr_device_put(), with the result of the call that was made: true means that the
 * program had closed the kept descriptor, so that the call must be made again.
 */
int __vperfctr_device_get(void);
bool __vperfctr_device_put(int dev, int ret);

/*
 * True if a result that was no error came from the device: another file that has got the number
 * may answer, too.  False: make the call again.
 */
bool __vperfctr_device_holds(void);
/* Make the call VPERFCTR_INFO, of the device or of a state. */
int __vperfctr_device_info(int fd, struct vperfctr_info *info, size_t size, unsigned int kind);

#pragma GCC visibility pop

#endif /* VPERFCTR_INTERNAL_H */
