// SPDX-License-Identifier: GPL-2.0
/*
 * Error messages: the cause and the remedy, in one line.  Those of the library's errors, and of
 * counters that another program holds, are those of vperfctr_why(), in lib/explain.c.
 */
#include <errno.h>
#include <stdarg.h>

#include "perfex.h"

#define DEVICE		"/dev/vperfctr"

int fail_with(struct error *e, const char *fmt, ...)
{
	va_list ap;

	e->status = STATUS_FAILED;
	e->busy = false;
	e->unusable = false;
	e->of_both = false;
	e->beside = false;
	e->used_pmcs = 0;
	e->used_fixed = 0;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	/* Names of files and programs are in there. */
	replace_controls(e->text);
	return -1;
}

int read_number(const char *file)
{
	FILE *f = fopen(file, "re");
	int n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

/* True if perf_event may count in the module's place after this error of a call. */
static bool is_unusable(int err)
{
	switch (err) {
	case -ENODEV:
	case -EACCES:
	case -EPERM:
	case -EPROTONOSUPPORT:
	case -EEXIST:
	case -EAGAIN:
	case -EBUSY:
	case -EADDRINUSE:
	case -EXFULL:
	case -EMLINK:
		return true;
	default:
		return false;
	}
}

/* Say what the library says about an error of a call. */
static int fail_call(struct error *e, int err, unsigned int call,
		     const struct vperfctr_control *control, const char *proc)
{
	struct vperfctr_why why;

	vperfctr_why_at(err, call, control, DEVICE, proc, &why);
	fail_with(e, "%s", why.text);
	e->busy = err == -EBUSY;
	e->unusable = is_unusable(err);
	e->beside = err == -EADDRINUSE || err == -EXFULL;
	return -1;
}

int fail_device(struct error *e, int err)
{
	return fail_call(e, err, VPERFCTR_WHY_OPEN, NULL, PROC);
}

int fail_both(struct error *e, const struct error *module, const char *why)
{
	/* The reason may be the same for both. */
	if (!*module->text || !strcmp(module->text, why))
		return fail_with(e, "%s", why);
	return fail_with(e, "%.600s; and by perf_event: %.580s", module->text, why);
}

int fail_control(struct error *e, int err, const struct vperfctr_control *control,
		 const char *proc)
{
	return fail_call(e, err, VPERFCTR_WHY_CONTROL, control, proc);
}

int fail_open_cpus(struct error *e, int err)
{
	if (err == -EPERM)
		return fail_with(e, "counting CPUs shows what all users do, and needs CAP_PERFMON: use sudo, or count a command without -a and -C");
	fail_call(e, err, VPERFCTR_WHY_OPEN_CPUS, NULL, PROC);
	/* The module cannot count CPUs here, whatever the events are. */
	e->unusable = e->unusable || err == -EOPNOTSUPP || err == -ENOTTY;
	return -1;
}

int fail_control_cpus(struct error *e, int err, const struct vperfctr_control *control,
		      const char *proc)
{
	switch (err) {
	case -EPERM:
		return fail_open_cpus(e, err);
	case -EUSERS:
		return fail_with(e, "not all of these CPUs can count this: perfex info shows those that can, and -C chooses CPUs");
	default:
		return fail_call(e, err, VPERFCTR_WHY_CONTROL_CPUS, control, proc);
	}
}

int fail_no_cpu(struct error *e)
{
	return fail_with(e, "there are no CPUs that can count where this may run: see perfex info, and taskset(1)");
}

int fail_no_kind(struct error *e, const char *kind)
{
	return fail_with(e, "there is no kind '%.40s' of CPUs: see perfex info", kind);
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
	switch (err) {
	case -E2BIG:
		return fail_with(e, "the vperfctr module is too old for call chains (-g) or a rate (-F): install that of this perfex");
	case -EINVAL:
		/* perfex knows the limits of all else. */
		return fail_with(e, "the vperfctr module is too old for stacks in samples (-g dwarf), or for calls in the kernel: install that of this perfex, or use -g fp and sample user mode with ':u'");
	case -EOPNOTSUPP:
		return fail_with(e, "this kernel cannot find its own calls, as its unwinder is UNWINDER_GUESS or missing: sample user mode with ':u', or do without -g");
	default:
		return fail_call(e, err, VPERFCTR_WHY_RING, NULL, PROC);
	}
}

int fail_kernel_mode(struct error *e, const char *event)
{
	return fail_with(e, "%s%skernel mode may be counted only with CAP_PERFMON: count user mode with ':u'",
		    event ? event : "", event ? ": " : "");
}

int fail_read(struct error *e, int err, bool perf)
{
	if (perf && err == -EBUSY)
		return fail_with(e, "perf_event has not counted all of it, as others took the counters, or it ran on CPUs of several kinds: count by the vperfctr module, or count fewer events");
	return fail_with(e, "cannot read the counters: %s", strerror(-err));
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
