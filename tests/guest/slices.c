// SPDX-License-Identifier: GPL-2.0
/*
 * Print the slices that the scheduler has been asked for, in ns: that of the parent, and this
 * process's.  0: on this kernel there are none.  The parent may ask only after it has started this
 * process, so ten seconds pass before both are found to be the same.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel has it; the header of the kernel cannot be used beside libc's. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static unsigned long long slice_of(pid_t pid)
{
	struct attributes a = { .size = sizeof(a) };

	if (syscall(SYS_sched_getattr, pid, &a, sizeof(a), 0)) {
		perror("sched_getattr");
		exit(1);
	}
	return a.runtime;
}

int main(void)
{
	unsigned int i;

	for (i = 0; i < 1000 && slice_of(0) && slice_of(getppid()) == slice_of(0); i++)
		usleep(10000);
	printf("%llu %llu\n", slice_of(getppid()), slice_of(0));
	return 0;
}
