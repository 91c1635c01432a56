// SPDX-License-Identifier: GPL-2.0
/* Error messages about threads of others: why they cannot be counted. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "perfex.h"

/* Write "0, 1, fixed 0". */
static void list_counters(char *buf, size_t size, uint64_t pmcs, uint64_t fixed)
{
	unsigned int i;
	size_t len = 0;

	*buf = '\0';
	for (i = 0; i < 128 && len < size; i++)
		if ((i < 64 ? pmcs : fixed) >> i % 64 & 1)
			len += (size_t)snprintf(buf + len, size - len, "%s%s%u", len ? ", " : "",
						i < 64 ? "" : "fixed ", i % 64);
}

int fail_beside(struct error *e, int err, const struct target *target,
		const struct vperfctr_attached *attached, const char *proc)
{
	const uint64_t pmcs = attached->used_pmcs, fixed = attached->used_fixed;
	char names[256], users[sizeof(names) + 64] = "", counters[256];
	struct vperfctr_holders h;

	vperfctr_find_holders(&h, VPERFCTR_HOLDERS_STATES, proc);
	vperfctr_describe_holders(names, sizeof(names), &h);
	list_counters(counters, sizeof(counters), pmcs, fixed);
	if (h.nr)
		snprintf(users, sizeof(users), " (these use vperfctr: %s)", names);
	fail_with(e, "%s %d is counted already, by itself or by another program%s%s%s%s: end that first, or count other events; 'perfex info --holders' shows what is counted",
		  target->process ? "process" : "thread", (int)target->id, users,
		  err == -EMLINK ? ", as often as the vperfctr module allows" :
		  err == -EXFULL ? ", and this processor cannot count the events of both at the same time" : "",
		  *counters ? ", with counters " : "", counters);
	e->unusable = true;
	e->beside = err != -EMLINK;
	e->used_pmcs = pmcs;
	e->used_fixed = fixed;
	return -1;
}

int fail_rest(struct error *e, const struct error *beside)
{
	const struct error rest = *e;

	fail_with(e, "%.600s; and by the other counters: %.560s", beside->text, rest.text);
	e->unusable = true;
	return -1;
}

/* Threads may get other counters at any time, but hardly that often meanwhile. */
#define BESIDE_TRIES	8

bool targets_leave_out(struct targets *targets, const struct error *e)
{
	const uint64_t pmcs = e->used_pmcs & ~targets->used_pmcs;
	const uint64_t fixed = e->used_fixed & ~targets->used_fixed;

	if (!e->beside || ++targets->tries > BESIDE_TRIES)
		return false;
	targets->used_pmcs |= pmcs;
	targets->used_fixed |= fixed;
	/* INFO tells what counts a command of perfex, which is perfex itself. */
	return pmcs || fixed || !targets->nr;
}

int fail_open_thread(struct error *e, int err)
{
	if (err == -EMFILE)
		return fail_with(e, "there are more threads than perfex may have file descriptors: raise the hard limit (ulimit -Hn)");
	return fail_device(e, err);
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

/* The thread is not found.  It may be there nevertheless: threads are found by files of /proc. */
static int fail_no_thread(struct error *e, pid_t tid, const char *proc)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/self", proc);
	if (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW))
		return fail_with(e, "%s is not mounted, by which perfex finds processes and threads: 'mount -t proc proc %s' as root",
				 proc, proc);
	snprintf(path, sizeof(path), "%s/%d", proc, (int)tid);
	if (access(path, F_OK) && (!kill(tid, 0) || errno == EPERM))
		return fail_with(e, "%s does not show process or thread %d: it is mounted with hidepid (use sudo), or is that of another PID namespace",
				 proc, (int)tid);
	return fail_with(e, "there is no process or thread %d (any more)", (int)tid);
}

int fail_trace(struct error *e, int err, pid_t tid, const char *proc)
{
	if (is_of_kernel(tid, proc))
		return fail_with(e, "thread %d is one of the kernel's, which has no counters of its own: -a and -C count all that CPUs do",
				 (int)tid);
	switch (err) {
	case -ESRCH:
	case -ENOSYS:
		fail_no_thread(e, tid, proc);
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
