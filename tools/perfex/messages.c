// SPDX-License-Identifier: GPL-2.0
/* Error messages: the cause and the remedy, in one line. */
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfex.h"

int fail_with(struct error *e, const char *fmt, ...)
{
	va_list ap;

	e->status = STATUS_FAILED;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -1;
}

int fail_access(struct error *e, const char *device)
{
	const struct group *group = NULL;
	struct stat st;

	if (!stat(device, &st) && st.st_gid && (st.st_mode & 0040))
		group = getgrgid(st.st_gid);
	if (!group)
		return fail_with(e, "only root may open %s: the udev rule of make install gives it to a group",
				 device);
	return fail_with(e, "you may not open %s, but the group %s may: 'sudo usermod -aG %s USER' adds you to it; log in again then",
			 device, group->gr_name, group->gr_name);
}

int fail_device(struct error *e, int err)
{
	switch (err) {
	case -ENODEV:
		return fail_with(e, "there is no /dev/vperfctr: load the module (sudo modprobe vperfctr)");
	case -EACCES:
		return fail_access(e, "/dev/vperfctr");
	case -EPERM:
		return fail_with(e, "you may not open /dev/vperfctr here: if this is a container, give it the device");
	case -EPROTONOSUPPORT:
		return fail_with(e, "the vperfctr module has another interface version than this perfex (see perfex -i): install the two from the same release, and reload the module");
	case -EEXIST:
		return fail_with(e, "this perfex is being counted itself, by another perfex or by the program that started it, and a thread has one set of counters: count with one of them, or give the outer perfex --no-inherit");
	case -EAGAIN:
		return fail_with(e, "this user has as many counters as allowed: raise the module's parameter max_states_per_user (in /sys/module/vperfctr/parameters)");
	default:
		return fail_with(e, "cannot use /dev/vperfctr: %s", strerror(-err));
	}
}

static bool uses_aux(const struct vperfctr_control *control)
{
	const struct vperfctr_ctr *ctr = (const struct vperfctr_ctr *)(uintptr_t)control->ctr;
	unsigned int i;

	for (i = 0; i < (control->nractrs + control->nrictrs) *
			(control->nrkinds ? control->nrkinds : 1); i++)
		if (ctr[i].aux)
			return true;
	return false;
}

int fail_control(struct error *e, int err, const struct vperfctr_control *control,
		 const char *proc)
{
	switch (err) {
	case -EBUSY:
		return fail_busy(e, proc);
	case -EIO:
		return fail_with(e, "the counters do not work as the processor, or the virtual machine, reports: see vperfctr's line in dmesg");
	case -EPERM:
		return fail_kernel_mode(e, NULL);
	case -EINVAL:
		if (uses_aux(control))
			return fail_with(e, "one of the events needs a second register that this processor or virtual machine does not have, or not with that value, or two of them need it with different ones (see perfex -v): leave one of them out");
		return fail_with(e, "the processor cannot count these events as asked for: check raw codes and event attributes (see perfex -v)");
	default:
		return fail_with(e, "cannot set up the counters: %s", strerror(-err));
	}
}

int fail_open_cpus(struct error *e, int err)
{
	switch (err) {
	case -EPERM:
		return fail_with(e, "counting CPUs shows what all users do, and needs CAP_PERFMON: use sudo, or count a command without -a and -C");
	case -EOPNOTSUPP:
		return fail_with(e, "the vperfctr module cannot count CPUs here, as there are no counters, or perf could let programs read them ('isolate=0' when the module is loaded permits that): see perfex -i");
	case -ENOTTY:
		return fail_with(e, "the vperfctr module is too old to count CPUs: install that of this perfex");
	default:
		return fail_device(e, err);
	}
}

int fail_control_cpus(struct error *e, int err, const struct vperfctr_control *control,
		      const char *proc)
{
	switch (err) {
	case -EBUSY:
		return fail_busy_cpus(e, proc);
	case -EPERM:
		return fail_open_cpus(e, err);
	case -EOPNOTSUPP:
		return fail_with(e, "one of these events is not exact while the hyper-thread sibling of a CPU is online: leave it out, or turn siblings off with 'echo off | sudo tee /sys/devices/system/cpu/smt/control'");
	case -EUSERS:
		return fail_with(e, "not all of these CPUs can count this: perfex -i shows those that can, and -C chooses CPUs");
	case -EACCES:
		return fail_with(e, "programs may read the counters, as rdpmc is 2 for a PMU in /sys/bus/event_source/devices: 'echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc' forbids it");
	default:
		return fail_control(e, err, control, proc);
	}
}

int fail_no_cpu(struct error *e)
{
	return fail_with(e, "there are no CPUs that can count where this may run: see perfex -i, and taskset(1)");
}

int fail_no_kind(struct error *e, const char *kind)
{
	return fail_with(e, "there is no kind '%.40s' of CPUs: see perfex -i", kind);
}

int fail_some_kinds(struct error *e, const char *able, const char *example,
		    const struct error *refusal)
{
	if (!refusal)
		return fail_with(e, "each kind of CPUs can count these events, but not all kinds by the same counters: --kind=%s counts on one kind, and a command runs there",
				 example);
	return fail_with(e, "not all CPUs can count these events, only those of %s (--kind=%s counts there, and a command runs there); on others, %s",
			 able, example, refusal->text);
}

int fail_bind(struct error *e, int err)
{
	if (err == -EINVAL)
		return fail_no_cpu(e);
	return fail_with(e, "cannot choose the CPUs on which the command runs: %s", strerror(-err));
}

int fail_ring(struct error *e, int err)
{
	if (err == -E2BIG)
		return fail_with(e, "the vperfctr module is too old for call chains (-g) or a rate (-F): install that of this perfex");
	/* perfex knows the limits of all else. */
	if (err == -EINVAL)
		return fail_with(e, "the vperfctr module is too old for stacks in samples (-g dwarf), or for calls in the kernel: install that of this perfex, or use -g fp and sample user mode with ':u'");
	if (err == -EOPNOTSUPP)
		return fail_with(e, "this kernel cannot find its own calls, as its unwinder is UNWINDER_GUESS or missing: sample user mode with ':u', or do without -g");
	if (err == -EAGAIN)
		return fail_with(e, "this user has as much memory for samples as allowed: raise the module's parameter max_ring_kb_per_user (in /sys/module/vperfctr/parameters)");
	return fail_with(e, "cannot make room for samples: %s", strerror(-err));
}

int fail_kernel_mode(struct error *e, const char *event)
{
	return fail_with(e, "%s%skernel mode may be counted only with CAP_PERFMON: count user mode with ':u'",
		    event ? event : "", event ? ": " : "");
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

int fail_trace(struct error *e, int err, pid_t tid, const char *proc)
{
	switch (err) {
	case -ESRCH:
		return fail_with(e, "there is no process or thread %d (any more)", (int)tid);
	case -EPERM:
		return fail_trace_eperm(e, tid, proc);
	case -ETIMEDOUT:
		return fail_with(e, "thread %d does not stop: it waits for a device, or for a child after vfork; try again later",
				 (int)tid);
	default:
		return fail_with(e, "cannot attach to %d: %s", (int)tid, strerror(-err));
	}
}

int fail_exec(struct error *e, int err, const char *command)
{
	switch (err) {
	case -ENOENT:
		fail_with(e, "there is no command '%s': check the name (and PATH, or the interpreter that a script names)",
		     command);
		e->status = STATUS_NOT_FOUND;
		return -1;
	case -EACCES:
		fail_with(e, "cannot run '%s': it is not an executable file, or you may not execute it (chmod +x)",
		     command);
		break;
	default:
		fail_with(e, "cannot run '%s': %s", command, strerror(-err));
	}
	e->status = STATUS_CANNOT_RUN;
	return -1;
}
