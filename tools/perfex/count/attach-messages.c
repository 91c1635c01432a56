// SPDX-License-Identifier: GPL-2.0
/* Error messages about threads of others: why they cannot be counted. */
#include <errno.h>
#include <unistd.h>

#include "perfex.h"

int fail_counted_already(struct error *e, pid_t tid, const char *proc)
{
	struct vperfctr_holders h;
	char names[256];

	vperfctr_find_holders(&h, VPERFCTR_HOLDERS_STATES, proc);
	vperfctr_describe_holders(names, sizeof(names), &h);
	if (!h.nr)
		return fail_with(e, "thread %d has counters already, by its own program or another perfex: end that first",
				 (int)tid);
	return fail_with(e, "thread %d has counters already, and these use vperfctr: %s; end the one that counts it first",
			 (int)tid, names);
}

int fail_open_thread(struct error *e, int err, pid_t tid)
{
	switch (err) {
	case -EEXIST:
		return fail_counted_already(e, tid, PROC);
	case -EMFILE:
		return fail_with(e, "there are more threads than perfex may have file descriptors: raise the hard limit (ulimit -Hn)");
	default:
		return fail_device(e, err);
	}
}

int fail_attach_rights(struct error *e, pid_t tid, const char *proc)
{
	char path[128];
	int yama;

	snprintf(path, sizeof(path), "%s/sys/kernel/yama/ptrace_scope", proc);
	yama = read_number(path);
	if (yama >= 3)
		return fail_with(e, "you may not attach to %d: kernel.yama.ptrace_scope is 3, which only a reboot changes",
				 (int)tid);
	if (yama && geteuid())
		return fail_with(e, "you may not attach to %d, as kernel.yama.ptrace_scope is %d: use sudo%s",
				 (int)tid, yama,
				 yama == 1 ? ", or 'sudo sysctl kernel.yama.ptrace_scope=0'" : "");
	return fail_with(e, "you may not attach to %d, which is another user's, has more privileges than you, or is the kernel's own: %s",
			 (int)tid, geteuid() ? "use sudo" : "CAP_SYS_PTRACE is needed");
}

static int fail_trace_eperm(struct error *e, pid_t tid, const char *proc)
{
	pid_t tracer;
	bool ended;

	tracer = trace_look_up(tid, proc, &ended);
	if (tracer)
		return fail_with(e, "thread %d is traced by process %d already (a debugger?): end that first",
				 (int)tid, (int)tracer);
	return fail_attach_rights(e, tid, proc);
}

#define KERNEL_THREAD	0x00200000	/* PF_KTHREAD, in the flags of /proc/TID/stat */

static bool is_of_kernel(pid_t tid, const char *proc)
{
	unsigned int flags = 0;
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "%s/%d/stat", proc, (int)tid);
	f = fopen(name, "re");
	if (!f)
		return false;
	/* The name in parentheses may have spaces, but the kernel's own have no parenthesis. */
	if (fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0;
	fclose(f);
	return flags & KERNEL_THREAD;
}

int fail_trace(struct error *e, int err, pid_t tid, const char *proc)
{
	if (is_of_kernel(tid, proc))
		return fail_with(e, "thread %d is one of the kernel's, which has no counters of its own: -a and -C count all that CPUs do",
				 (int)tid);
	switch (err) {
	case -ESRCH:
		fail_with(e, "there is no process or thread %d (any more)", (int)tid);
		e->of_both = true;
		return -1;
	case -EPERM:
		return fail_trace_eperm(e, tid, proc);
	case -ETIMEDOUT:
		return fail_with(e, "thread %d does not stop: it waits for a device, or for a child after vfork; try again later",
				 (int)tid);
	default:
		return fail_with(e, "cannot attach to %d: %s", (int)tid, strerror(-err));
	}
}
