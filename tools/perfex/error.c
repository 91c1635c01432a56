// SPDX-License-Identifier: GPL-2.0
/* Messages: what was wrong, and what to do about it, in one line. */
#include <errno.h>
#include <stdarg.h>

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

int fail_device(struct error *e, int err)
{
	switch (err) {
	case -ENODEV:
		return fail_with(e, "there is no /dev/vperfctr: load the module (modprobe vperfctr)");
	case -EACCES:
		return fail_with(e, "you may not open /dev/vperfctr: its owner and group may; see ls -l /dev/vperfctr, and have yourself added to that group");
	case -EPERM:
		return fail_with(e, "you are not permitted to open /dev/vperfctr here: if this is a container, it must be given the device");
	case -EPROTONOSUPPORT:
		return fail_with(e, "the vperfctr module has another interface version than this perfex (see perfex -i): install the two from the same release, and reload the module");
	default:
		return fail_with(e, "cannot use /dev/vperfctr: %s", strerror(-err));
	}
}

static bool watchdog_is_on(const char *file)
{
	FILE *f = fopen(file, "re");
	int on = 0;

	if (!f)
		return false;
	if (fscanf(f, "%d", &on) != 1)
		on = 0;
	fclose(f);
	return on == 1;
}

int fail_control(struct error *e, int err, bool aux, const char *watchdog)
{
	switch (err) {
	case -EBUSY:
		if (watchdog_is_on(watchdog))
			return fail_with(e, "the NMI watchdog holds the counters: sysctl kernel.nmi_watchdog=0");
		return fail_with(e, "perf_event holds the counters: end the perf sessions (or other users of them) first");
	case -EPERM:
		return fail_kernel_mode(e, NULL);
	case -EINVAL:
		if (aux)
			return fail_with(e, "this processor, or the module's driver for it, has no use for the second register that one of the events needs (see perfex -v): leave that event out");
		return fail_with(e, "the processor cannot count these events as asked for: check raw codes and event attributes (see perfex -v)");
	default:
		return fail_with(e, "cannot set up the counters: %s", strerror(-err));
	}
}

int fail_kernel_mode(struct error *e, const char *event)
{
	return fail_with(e, "%s%skernel mode may be counted only with CAP_PERFMON: count user mode with ':u'",
		    event ? event : "", event ? ": " : "");
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
		fail_with(e, "cannot run '%s': it is not an executable file, or you may not execute it (chmod +x?)",
		     command);
		break;
	default:
		fail_with(e, "cannot run '%s': %s", command, strerror(-err));
	}
	e->status = STATUS_CANNOT_RUN;
	return -1;
}
