// SPDX-License-Identifier: GPL-2.0
/*
 * If the counters are busy, name the process that holds them, or the NMI watchdog, and
 * say how to free them.
 *
 * perf_event has no interface that reports the holder.  But each process that holds an
 * event has a descriptor of it, which the link in /proc/PID/fd names.  Events of the
 * kernel itself have no descriptor.  The watchdog's sysctl reports its events.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfex.h"

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

#define CPUS_LINK	"anon_inode:[vperfctr-cpus]"
#define STATE_LINK	"anon_inode:[vperfctr]"

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
 * counting: only a descriptor that has counters now.
 * Return: 1: one of the process's descriptors is such a file; 0: none; -1: not permitted
 */
static int has_descriptor(const char *proc, pid_t pid, const char *link, bool counting)
{
	char dir[128], path[400], target[64];
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
			(!counting || has_counters(proc, pid, d->d_name, !strcmp(link, CPUS_LINK)));
	}
	closedir(fds);
	return found;
}

static void read_comm(char *name, size_t size, const char *proc, pid_t pid)
{
	char path[128];
	FILE *f;

	strcpy(name, "?");
	snprintf(path, sizeof(path), "%s/%d/comm", proc, (int)pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(name, (int)size, f))
		name[strcspn(name, "\n")] = '\0';
	replace_controls(name);
	fclose(f);
}

void find_holders(struct holders *h, const char *proc, const char *link, bool counting)
{
	const struct dirent *d;
	struct holder *holder;
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
		if (!isdigit((unsigned char)*d->d_name) || pid == getpid())
			continue;
		has = has_descriptor(proc, pid, link, counting);
		h->hidden |= has < 0;
		if (has <= 0)
			continue;
		if (h->nr < MAX_HOLDERS) {
			holder = &h->holder[h->nr];
			holder->pid = pid;
			read_comm(holder->comm, sizeof(holder->comm), proc, pid);
		}
		h->nr++;
	}
	closedir(dir);
}

void describe_holders(char *buf, size_t size, const struct holders *h)
{
	unsigned int i, shown = h->nr < MAX_HOLDERS ? h->nr : MAX_HOLDERS;
	size_t len = 0;

	*buf = '\0';
	for (i = 0; i < shown && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%s (process %d)",
					!i ? "" : i + 1 == h->nr ? " and " : ", ",
					h->holder[i].comm, (int)h->holder[i].pid);
	if (shown < h->nr && len < size)
		snprintf(buf + len, size - len, " and %u more", h->nr - shown);
}

static void list_pids(char *buf, size_t size, const struct holders *h)
{
	unsigned int i;
	size_t len = 0;

	*buf = '\0';
	for (i = 0; i < h->nr && i < MAX_HOLDERS && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, " %d", (int)h->holder[i].pid);
}

int fail_busy(struct error *e, const char *proc)
{
	char path[128], names[256], pids[64];
	struct holders h;

	find_holders(&h, proc, CPUS_LINK, true);
	describe_holders(names, sizeof(names), &h);
	list_pids(pids, sizeof(pids), &h);
	if (h.nr)
		return fail_with(e, "the counters count whole CPUs for %s: wait until it ends, or end it with 'sudo kill%s'",
				 names, pids);
	find_holders(&h, proc, "anon_inode:[perf_event]", false);
	describe_holders(names, sizeof(names), &h);
	list_pids(pids, sizeof(pids), &h);
	snprintf(path, sizeof(path), "%s/sys/kernel/nmi_watchdog", proc);
	if (read_number(path) == 1)
		return fail_with(e, "the NMI watchdog holds the counters%s%s%s: 'sudo sysctl kernel.nmi_watchdog=0' frees them, 'sudo sysctl kernel.nmi_watchdog=1' restores it",
				 h.nr ? ", and perf_event may hold them for " : "", names,
				 h.nr ? ", too" : "");
	if (h.nr)
		return fail_with(e, "perf_event holds the counters for %s: wait until it ends, or free them with 'sudo kill%s' and start it again afterwards",
				 names, pids);
	if (h.hidden)
		return fail_with(e, "perf_event holds the counters, or they count whole CPUs, for a process that you may not look at: 'sudo perfex ...' names it; end it, and start it again afterwards");
	return fail_with(e, "perf_event holds the counters, but for no process that is visible here: look outside this container, stop virtual machines with a PMU, and BPF programs ('sudo bpftool link' lists them)");
}

int fail_busy_cpus(struct error *e, const char *proc)
{
	char names[256], pids[64];
	struct holders h;

	find_holders(&h, proc, STATE_LINK, true);
	if (!h.nr)
		return fail_busy(e, proc);
	describe_holders(names, sizeof(names), &h);
	list_pids(pids, sizeof(pids), &h);
	return fail_with(e, "the counters count threads for %s, and threads and CPUs cannot be counted at the same time: wait until it ends, or end it with 'sudo kill%s'",
			 names, pids);
}

int fail_counted_already(struct error *e, pid_t tid, const char *proc)
{
	char names[256];
	struct holders h;

	find_holders(&h, proc, STATE_LINK, false);
	describe_holders(names, sizeof(names), &h);
	if (!h.nr)
		return fail_with(e, "thread %d has counters already, by its own program or another perfex: end that first",
				 (int)tid);
	return fail_with(e, "thread %d has counters already, and these use vperfctr: %s; end the one that counts it first",
			 (int)tid, names);
}
