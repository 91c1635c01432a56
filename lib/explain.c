// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Explain an error: the cause and the remedy, in one line.
 *
 * If the counters are busy, name the process that holds them, or the NMI watchdog.
 * perf_event has no interface that reports the holder.  But each process that holds an
 * event has a descriptor of it, which the link in /proc/PID/fd names.  Events of the
 * kernel itself have no descriptor.  Whether the watchdog has a counter is a fact that the
 * module knows, and its file says.  The watchdog's sysctl says only what was wished.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

static void say(struct vperfctr_why *why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say(struct vperfctr_why *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
}

/* ---- holders of the counters --------------------------------------------------- */

/* Targets of the links in /proc/PID/fd. */
#define MAX_PROC	256	/* characters of the name of a /proc */

#define CPUS_LINK	"anon_inode:[vperfctr-cpus]"
#define STATE_LINK	"anon_inode:[vperfctr]"
#define PERF_LINK	"anon_inode:[perf_event]"

/* True if a descriptor of this sort counts, with counters: it may only have been opened. */
static bool has_counters(const char *proc, pid_t pid, const char *fd, bool cpus)
{
	unsigned int status = 0;
	bool counters = cpus;
	char path[400];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%d/fdinfo/%s", proc, (int)pid, fd);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (fgets(path, sizeof(path), f)) {
		sscanf(path, "vperfctr-status: %x", &status);
		counters |= !strncmp(path, "vperfctr-pmc0:", 14);
	}
	fclose(f);
	return counters && status & VPERFCTR_STATUS_ACTIVE;
}

/*
 * Look whether a process has a descriptor of such a file; counting: one that has counters now.
 *
 * Return: 1: one of the process's descriptors is such a file; 0: none; -1: not permitted
 */
static int has_descriptor(const char *proc, pid_t pid, const char *link, bool counting)
{
	const bool cpus = !strcmp(link, CPUS_LINK);
	char dir[MAX_PROC + 64], path[sizeof(dir) + NAME_MAX + 2], target[64];
	const struct dirent *d;
	int found = 0;
	ssize_t n;
	DIR *fds;

	snprintf(dir, sizeof(dir), "%s/%d/fd", proc, (int)pid);
	fds = opendir(dir);
	if (!fds)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while (!found && (d = readdir(fds))) {
		snprintf(path, sizeof(path), "%s/%s", dir, d->d_name);
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = '\0';
		found = !strcmp(target, link) &&
			(!counting || has_counters(proc, pid, d->d_name, cpus));
	}
	closedir(fds);
	return found;
}

/*
 * Read the name of a process.  It is the process that chooses it, and it must not command the
 * terminal: only printable ASCII is kept.
 */
static void read_comm(char *name, size_t size, const char *proc, pid_t pid)
{
	char path[MAX_PROC + 64], *p;
	FILE *f;

	strcpy(name, "?");
	snprintf(path, sizeof(path), "%s/%d/comm", proc, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(name, (int)size, f))
		name[strcspn(name, "\n")] = '\0';
	for (p = name; *p; p++)
		if (*p < ' ' || *p > '~')
			*p = '?';
	fclose(f);
}

/* Return the caller's process ID in this /proc, which may be that of another PID namespace. */
static pid_t own_pid(const char *proc)
{
	char path[MAX_PROC + 64], number[16];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/self", proc);
	n = readlink(path, number, sizeof(number) - 1);
	if (n <= 0)
		return getpid();
	number[n] = '\0';
	return (pid_t)atoi(number);
}

/*
 * Find the processes that have a descriptor of this link.
 * counting: only descriptors of vperfctr that have counters now.
 */
static void find_descriptors(struct vperfctr_holders *h, const char *proc, const char *link,
			     bool counting)
{
	const pid_t self = own_pid(proc);
	const struct dirent *d;
	DIR *dir = opendir(proc);
	pid_t pid;
	int has;

	memset(h, 0, sizeof(*h));
	if (!dir) {
		h->hidden = true;
		return;
	}
	while ((d = readdir(dir))) {
		pid = (pid_t)atoi(d->d_name);
		if (!isdigit((unsigned char)*d->d_name) || pid == self)
			continue;
		has = has_descriptor(proc, pid, link, counting);
		h->hidden |= has < 0;
		if (has <= 0)
			continue;
		if (h->nr < VPERFCTR_MAX_HOLDERS) {
			h->holder[h->nr].pid = pid;
			read_comm(h->holder[h->nr].comm, sizeof(h->holder[0].comm), proc, pid);
		}
		h->nr++;
	}
	closedir(dir);
}

void vperfctr_describe_holders(char *buf, size_t size, const struct vperfctr_holders *h)
{
	unsigned int i, shown = h->nr < VPERFCTR_MAX_HOLDERS ? h->nr : VPERFCTR_MAX_HOLDERS;
	size_t len = 0;

	if (!size)
		return;
	*buf = '\0';
	for (i = 0; i < shown && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s (process %d)",
					!i ? "" : i + 1 == h->nr ? " and " : ", ",
					h->holder[i].comm, (int)h->holder[i].pid);
	if (shown < h->nr && len < size)
		snprintf(buf + len, size - len, " and %u more", h->nr - shown);
}

static void list_pids(char *buf, size_t size, const struct vperfctr_holders *h)
{
	unsigned int i;
	size_t len = 0;

	*buf = '\0';
	for (i = 0; i < h->nr && i < VPERFCTR_MAX_HOLDERS && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, " %d", (int)h->holder[i].pid);
}

/* The holders of the counters, and the texts that name them. */
struct named_holders {
	struct vperfctr_holders all;
	char names[256], pids[64];
};

static bool find_named(struct named_holders *h, const char *proc, const char *link, bool counting)
{
	find_descriptors(&h->all, proc, link, counting);
	vperfctr_describe_holders(h->names, sizeof(h->names), &h->all);
	list_pids(h->pids, sizeof(h->pids), &h->all);
	return h->all.nr;
}

/* The processes of some lines: a process has a line for each thread, in any order. */
struct pids {
	pid_t *pid;
	size_t nr, room;
};

static bool is_named(const struct vperfctr_holders *h, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < h->nr; i++)
		if (h->holder[i].pid == pid)
			return true;
	return false;
}

/* Take "what: PID TID UID COMM".  Without memory, a process that is not named is not counted. */
static void take_holder(struct vperfctr_holders *h, struct pids *pids, const char *line, pid_t self)
{
	pid_t pid, *more;

	if (sscanf(line, "%*[a-z]: %d", &pid) != 1 || pid == self || is_named(h, pid))
		return;
	if (h->nr < VPERFCTR_MAX_HOLDERS) {
		h->holder[h->nr].pid = pid;
		sscanf(line, "%*s %*s %*s %*s %31[^\n]", h->holder[h->nr++].comm);
		return;
	}
	if (pids->nr == pids->room) {
		more = (pid_t *)realloc(pids->pid, (2 * pids->room + 64) * sizeof(*more));
		if (!more)
			return;
		pids->pid = more;
		pids->room = 2 * pids->room + 64;
	}
	pids->pid[pids->nr++] = pid;
}

static int compare_pids(const void *a, const void *b)
{
	const pid_t *x = (const pid_t *)a, *y = (const pid_t *)b;

	return (*x > *y) - (*x < *y);
}

/* Add the others to those that have names. */
static void count_others(struct vperfctr_holders *h, struct pids *pids)
{
	size_t i;

	if (pids->nr)
		qsort(pids->pid, pids->nr, sizeof(*pids->pid), compare_pids);
	for (i = 0; i < pids->nr; i++)
		h->nr += !i || pids->pid[i] != pids->pid[i - 1];
	free(pids->pid);
}

/*
 * The facts in the module's file in proc, and the holders that it names: those of other users
 * to root only.  Without that file all is false and empty, and the holders are hidden.
 */
struct facts {
	bool watchdog_holds;	/* the NMI watchdog has a counter, and so keeps all from others */
	bool perf_has_none;	/* perf_event has no counter, whatever its descriptors are */
	bool guest_holds;	/* a virtual machine had the counters at the last CONTROL, without perf */
	struct vperfctr_holders threads, cpus;	/* that vperfctr counts */
};

static void read_facts(struct facts *facts, const char *proc)
{
	struct pids threads = { NULL, 0, 0 }, cpus = { NULL, 0, 0 };
	const pid_t self = own_pid(proc);
	char path[MAX_PROC + 64], line[200];
	FILE *f;

	memset(facts, 0, sizeof(*facts));
	snprintf(path, sizeof(path), "%s/vperfctr", proc);
	f = fopen(path, "re");
	facts->threads.hidden = facts->cpus.hidden = !f;
	if (!f)
		return;
	while (fgets(line, sizeof(line), f)) {
		facts->watchdog_holds |= !strcmp(line, "watchdog: holds\n");
		facts->perf_has_none |= !strcmp(line, "perf: none\n");
		facts->guest_holds |= !strcmp(line, "guest: holds\n");
		if (!strncmp(line, "thread: ", 8))
			take_holder(&facts->threads, &threads, line, self);
		else if (!strncmp(line, "cpus: ", 6))
			take_holder(&facts->cpus, &cpus, line, self);
	}
	count_others(&facts->threads, &threads);
	count_others(&facts->cpus, &cpus);
	fclose(f);
}

int vperfctr_find_holders(struct vperfctr_holders *h, unsigned int what, const char *proc)
{
	struct facts facts;

	if (strlen(proc) > MAX_PROC)
		return -ENAMETOOLONG;
	switch (what) {
	case VPERFCTR_HOLDERS_THREADS:
	case VPERFCTR_HOLDERS_CPUS:
		read_facts(&facts, proc);
		*h = what == VPERFCTR_HOLDERS_CPUS ? facts.cpus : facts.threads;
		return 0;
	case VPERFCTR_HOLDERS_STATES:
		find_descriptors(h, proc, STATE_LINK, false);
		return 0;
	case VPERFCTR_HOLDERS_PERF:
		find_descriptors(h, proc, PERF_LINK, false);
		return 0;
	default:
		return -EINVAL;
	}
}

/*
 * Something had the counters as they were asked for, and perf_event has none now.  Its processes
 * may have had them, or have only software events.
 */
static void explain_was_busy(const struct named_holders *h, struct vperfctr_why *why)
{
	if (h->all.nr)
		say(why, "the counters were in use a moment ago, perhaps by perf_event for %s, which has none now: try again",
		    h->names);
	else
		say(why, "the counters were in use a moment ago, and perf_event has none now: try again; if that fails, too, firmware or a program that writes their registers uses them");
}

static void explain_busy(const char *proc, struct vperfctr_why *why)
{
	struct facts facts;
	struct named_holders h;
	bool names_perf;

	if (find_named(&h, proc, CPUS_LINK, true)) {
		say(why, "the counters count whole CPUs for %s: wait until it ends, or end it with 'sudo kill%s'",
		    h.names, h.pids);
		return;
	}
	find_named(&h, proc, PERF_LINK, false);
	read_facts(&facts, proc);
	names_perf = h.all.nr && !facts.perf_has_none;
	if (facts.guest_holds)
		say(why, "a virtual machine has the counters: end it, or start it without a PMU; 'enable_mediated_pmu=0' of the module kvm_intel or kvm_amd gives none to machines");
	else if (facts.watchdog_holds)
		say(why, "the NMI watchdog holds the counters%s%s%s: 'sudo sysctl kernel.nmi_watchdog=0' frees them, 'sudo sysctl kernel.nmi_watchdog=1' restores it",
		    names_perf ? ", and perf_event may hold them for " : "",
		    names_perf ? h.names : "", names_perf ? ", too" : "");
	else if (facts.perf_has_none)
		explain_was_busy(&h, why);
	else if (h.all.nr)
		say(why, "perf_event holds the counters for %s: wait until it ends, or free them with 'sudo kill%s' and start it again afterwards",
		    h.names, h.pids);
	else if (h.all.hidden)
		say(why, "perf_event holds the counters, or they count whole CPUs, for a process that you may not look at: 'sudo perfex ...' names it; end it, and start it again afterwards");
	else
		say(why, "perf_event holds the counters, but for no process that is visible here: look outside this container, stop virtual machines with a PMU, and BPF programs ('sudo bpftool link' lists them)");
}

static void explain_busy_cpus(const char *proc, struct vperfctr_why *why)
{
	struct named_holders h;

	if (find_named(&h, proc, STATE_LINK, true))
		say(why, "the counters count threads for %s, and threads and CPUs cannot be counted at the same time: wait until it ends, or end it with 'sudo kill%s'",
		    h.names, h.pids);
	else
		explain_busy(proc, why);
}

static void explain_other(int err, const char *what, struct vperfctr_why *why)
{
	char text[128];

	say(why, "%s: %s", what, strerror_r(-err, text, sizeof(text)));
}

/* Explain why perf_event cannot count: the module has the counters, or others hold them. */
static void explain_perf(int err, const char *proc, struct vperfctr_why *why)
{
	struct facts facts;
	struct named_holders h;

	read_facts(&facts, proc);
	if (err != -EBUSY)
		explain_other(err, "perf_event cannot count", why);
	else if (find_named(&h, proc, STATE_LINK, true))
		say(why, "the vperfctr module has the counters, for threads of %s: wait until it ends, or end it with 'sudo kill%s'",
		    h.names, h.pids);
	else if (h.all.hidden && !facts.watchdog_holds)
		say(why, "a process that you may not look at has the counters, by vperfctr or by perf_event: 'sudo perfex doctor' names it");
	else
		explain_busy(proc, why);
}

/* ---- the device --------------------------------------------------------------------- */

/* A group whose members need more room has only its number. */
#define MAX_GROUP_ROOM	(1 << 20)

/* Write the name of a group to buf, or else its number. */
static void name_group(char *buf, size_t size, gid_t gid)
{
	struct group group, *found = NULL;
	char *more, *room = NULL;
	size_t nr = 4096;
	int err = ERANGE;

	snprintf(buf, size, "%u", (unsigned int)gid);
	for (; err == ERANGE && nr <= MAX_GROUP_ROOM; nr *= 4) {
		more = (char *)realloc(room, nr);
		if (!more)
			break;
		room = more;
		err = getgrgid_r(gid, &group, room, nr, &found);
	}
	if (!err && found)
		snprintf(buf, size, "%s", found->gr_name);
	free(room);
}

static void explain_access(const char *device, struct vperfctr_why *why)
{
	struct stat st;
	char group[64];

	if (stat(device, &st) || !st.st_gid || !(st.st_mode & 0040)) {
		say(why, "only root may open %s: the udev rule of make install gives it to a group",
		    device);
		return;
	}
	name_group(group, sizeof(group), st.st_gid);
	say(why, "you may not open %s, but the group %s may: 'sudo usermod -aG %s USER' adds you to it; log in again then",
	    device, group, group);
}

static void explain_open(int err, const char *device, struct vperfctr_why *why)
{
	switch (err) {
	case -ENODEV:
		say(why, "there is no %s: load the module (sudo modprobe vperfctr)", device);
		break;
	case -EACCES:
		explain_access(device, why);
		break;
	case -EPERM:
		say(why, "you may not open %s here: if this is a container, give it the device",
		    device);
		break;
	case -EPROTONOSUPPORT:
		say(why, "the vperfctr module has another interface version than this program (see perfex info): install the two from the same release, and reload the module");
		break;
	case -EEXIST:
		say(why, "this thread has counters already, of another part of this program, or of the program that started it: count beside it with VPERFCTR_OPEN_OBSERVER");
		break;
	case -EMLINK:
		say(why, "this thread is counted as many times as the vperfctr module allows: end one of the programs that count it");
		break;
	case -EAGAIN:
		say(why, "this user has as many states as allowed: raise the module's parameter max_states_per_user (in /sys/module/vperfctr/parameters)");
		break;
	default:
		explain_other(err, "cannot use /dev/vperfctr", why);
	}
}

/* ---- controls ---------------------------------------------------------------------- */

static bool uses_aux(const struct vperfctr_control *control)
{
	const void *table = (const void *)(uintptr_t)control->ctr;
	unsigned int i, nr, nrkinds = control->nrkinds ? control->nrkinds : 1;

	/* The kernel may have refused these very numbers. */
	if (!table || control->ctr_size < sizeof(struct vperfctr_ctr) || control->ctr_size > 4096 ||
	    control->nractrs > VPERFCTR_MAX_CTRS || control->nrictrs > VPERFCTR_MAX_CTRS)
		return false;
	nr = control->nractrs + control->nrictrs;
	for (i = 0; i < nr * nrkinds && i < VPERFCTR_MAX_CTRS; i++)
		if (__vperfctr_ctr(control, table, i)->aux)
			return true;
	return false;
}

static void explain_control(int err, const struct vperfctr_control *control, const char *device,
			    const char *proc, struct vperfctr_why *why)
{
	switch (err) {
	case -EBUSY:
		explain_busy(proc, why);
		break;
	case -EIO:
		say(why, "the counters do not work as the processor, or the virtual machine, reports: see vperfctr's line in dmesg");
		break;
	case -EPERM:
		say(why, "kernel mode may be counted only with CAP_PERFMON: count user mode with ':u'");
		break;
	case -EINVAL:
		if (control && !control->size)
			say(why, "a counter could not be added to this control, or it was not initialized: look at what vperfctr_control_add() and the like return");
		else if (control && uses_aux(control))
			say(why, "one of the events needs a second register that this processor or virtual machine does not have, or not with that value, or two of them need it with different ones (see perfex -v): leave one of them out");
		else
			say(why, "the processor cannot count these events as asked for: check raw codes and event attributes (see perfex -v)");
		break;
	case -EADDRINUSE:
		say(why, "another program, such as perfex, or another part of this one also counts the thread, and has one of these counters: choose other ones, or end that ('perfex info --holders' shows what is counted)");
		break;
	case -EXFULL:
		say(why, "another program, such as perfex, or another part of this one also counts the thread, and this processor cannot count the events of both at the same time: count with one of them");
		break;
	case -ENODEV:
	case -EACCES:
	case -EPROTONOSUPPORT:
	case -EEXIST:
	case -EMLINK:
	case -EAGAIN:
		explain_open(err, device, why);
		break;
	default:
		explain_other(err, "cannot set up the counters", why);
	}
}

static void explain_open_cpus(int err, const char *device, struct vperfctr_why *why)
{
	switch (err) {
	case -EPERM:
		say(why, "counting CPUs shows what all users do, and needs CAP_PERFMON");
		break;
	case -EOPNOTSUPP:
		say(why, "the vperfctr module cannot count CPUs here, as there are no counters, or perf could let programs read them ('isolate=0' when the module is loaded permits that): see perfex info");
		break;
	case -ENOTTY:
		say(why, "the vperfctr module is too old to count CPUs: install that of this release");
		break;
	default:
		explain_open(err, device, why);
	}
}

static void explain_control_cpus(int err, const struct vperfctr_control *control,
				 const char *device, const char *proc, struct vperfctr_why *why)
{
	switch (err) {
	case -EBUSY:
		explain_busy_cpus(proc, why);
		break;
	case -EPERM:
		explain_open_cpus(err, device, why);
		break;
	case -EOPNOTSUPP:
		say(why, "one of these events is not exact while the hyper-thread sibling of a CPU is online: leave it out, or turn siblings off with 'echo off | sudo tee /sys/devices/system/cpu/smt/control'");
		break;
	case -EUSERS:
		say(why, "not all of these CPUs can count this: perfex info shows those that can");
		break;
	case -EACCES:
#ifdef __aarch64__
		say(why, "a virtual machine that runs on one of these CPUs may leave its counters readable to programs: try again when it pauses");
#elif defined(__riscv)
		say(why, "programs may read the counters, as kernel.perf_user_access is 2: 'sudo sysctl kernel.perf_user_access=1' forbids it");
#else
		say(why, "programs may read the counters, as rdpmc is 2 for a PMU in /sys/bus/event_source/devices: 'echo 1 | sudo tee /sys/bus/event_source/devices/cpu/rdpmc' forbids it");
#endif
		break;
	default:
		explain_control(err, control, device, proc, why);
	}
}

static void explain_ring(int err, struct vperfctr_why *why)
{
	switch (err) {
	case -E2BIG:
		say(why, "the vperfctr module is too old for chains of calls: install that of this release");
		break;
	case -EINVAL:
		say(why, "the ring has a size, or fields, that this module does not allow: see vperfctr_ring_open(3)");
		break;
	case -EOPNOTSUPP:
		say(why, "this processor has no overflow interrupts, or this kernel cannot find its own calls, as its unwinder is UNWINDER_GUESS or missing: sample user mode only");
		break;
	case -EAGAIN:
		say(why, "this user has as much memory for samples as allowed: raise the module's parameter max_ring_kb_per_user (in /sys/module/vperfctr/parameters)");
		break;
	default:
		explain_other(err, "cannot make room for samples", why);
	}
}

int vperfctr_why_at(int err, unsigned int call, const struct vperfctr_control *control,
		    const char *device, const char *proc, struct vperfctr_why *why)
{
	if (!why)
		return err;
	if (err >= 0)
		say(why, "there was no error");
	else if (call == VPERFCTR_WHY_CONTROL)
		explain_control(err, control, device, proc, why);
	else if (call == VPERFCTR_WHY_OPEN_CPUS)
		explain_open_cpus(err, device, why);
	else if (call == VPERFCTR_WHY_CONTROL_CPUS)
		explain_control_cpus(err, control, device, proc, why);
	else if (call == VPERFCTR_WHY_RING)
		explain_ring(err, why);
	else if (call == VPERFCTR_WHY_PERF)
		explain_perf(err, proc, why);
	else
		explain_open(err, device, why);
	return err;
}

int vperfctr_why(int err, unsigned int call, const struct vperfctr_control *control,
		 struct vperfctr_why *why)
{
	return vperfctr_why_at(err, call, control, VPERFCTR_DEVICE, "/proc", why);
}
