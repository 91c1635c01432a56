// SPDX-License-Identifier: GPL-2.0
/*
 * How soon perfex runs when samples wake it.
 *
 * From Linux 6.6 on, a thread that fills a ring may keep the CPU for a whole slice, some
 * milliseconds, before the reader runs that it has woken.  From 6.12 on, a thread that asks for a
 * shorter slice than others preempts them when it is woken.  It gets no more of the CPU than
 * before.  Older kernels ignore what is asked.
 */
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perfex.h"

/* Nanoseconds: the least that the kernel takes. */
#define SLICE	100000

/* As sched_setattr() has it; the header of the kernel cannot be used beside libc's. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void wake_early(void)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) || a.policy != SCHED_OTHER)
		return;
	a.runtime = SLICE;
	syscall(SYS_sched_setattr, 0, &a, 0);
}
