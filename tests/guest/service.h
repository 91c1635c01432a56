/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests of monitors, families and limits. */
#ifndef GUEST_SERVICE_H
#define GUEST_SERVICE_H

#include <linux/futex.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "code.h"
#include "suite.h"

#define PRIVILEGED	VPERFCTR_STATUS_PRIVILEGED
#define CHILDREN	VPERFCTR_STATUS_CHILDREN
#define FORBIDDEN	VPERFCTR_STATUS_FORBIDDEN

#define REFCNT		"/sys/module/vperfctr/refcnt"
#define MAX_STATES	"/sys/module/vperfctr/parameters/max_states_per_user"

/* Open any thread's state. */
static inline int open_thread(pid_t tid, u32 flags)
{
	struct vperfctr_open req = { .size = sizeof(req), .tid = tid, .flags = flags };

	return call(dev, VPERFCTR_OPEN, &req);
}

/* Everything that READ returns about a state. */
struct reading {
	struct vperfctr_read read;
	u64 own[1 + VPERFCTR_MAX_CTRS];		/* first the TSC */
	u64 children[1 + VPERFCTR_MAX_CTRS];
};

static inline struct vperfctr_read *init_reading(struct reading *r)
{
	memset(r, 0, sizeof(*r));
	r->read.size = sizeof(r->read);
	r->read.nrctrs = VPERFCTR_MAX_CTRS;
	r->read.sums = (uintptr_t)r->own;
	r->read.children = (uintptr_t)r->children;
	return &r->read;
}

static inline void read_state(int fd, struct reading *r)
{
	int err = call(fd, VPERFCTR_READ, init_reading(r));

	if (err)
		die("VPERFCTR_READ: %s", strerror(-err));
}

/* The sum of the first counter. */
static inline u64 count_of(int fd)
{
	struct reading r;

	read_state(fd, &r);
	return r.own[1];
}

/* Count instructions in user mode with one counter, and the TSC. */
static inline int count_insns(int fd, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = flags;
	return set_control(fd, &control);
}

/*
 * Wait up to 20 s for the condition, for example because the kernel finishes the work for
 * a thread that has ended later; return 0 if it stays false.
 */
#define eventually(condition) ({					\
	int tries_ = 20000;						\
									\
	while (!(condition) && --tries_)				\
		msleep(1);						\
	tries_;								\
})

#define ck_assert_eventually(condition)					\
	ck_assert_msg(eventually(condition), "still false after 20 s: %s", #condition)

/* True if perf can use the counters: a state reserves all of them. */
static inline bool counters_free(void)
{
	return !perf_is_kept_out();
}

static inline void wake_all(unsigned int *futex)
{
	__atomic_store_n(futex, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, futex, FUTEX_WAKE, 1 << 30, NULL, NULL, 0);
}

/* Read the module's references: one for each open device, state and open state. */
static inline int module_refs(void)
{
	char text[32];

	read_file(REFCNT, text, sizeof(text));
	return atoi(text);
}

/* Wait until the previous test's states are gone and only the device is open. */
static inline void settle(void)
{
	ck_assert_eventually(module_refs() == 1);
}

static inline void become(uid_t uid)
{
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		die("setresuid: %s", strerror(errno));
}

#endif /* GUEST_SERVICE_H */
