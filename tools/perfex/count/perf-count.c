// SPDX-License-Identifier: GPL-2.0
/* Count threads and CPUs by perf_event, where the module cannot. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "perf-count.h"

#define SYS_CPU		"/sys/devices/system/cpu"

/* ---- the processor ------------------------------------------------------------------------ */

void perf_limit_generic(struct vperfctr_info *info)
{
	struct vperfctr_event event;
	const char *name;
	struct vperfctr *v;
	uint32_t found = 0;
	unsigned int i;

	for (i = 0; (name = events_generic_name(i)); i++) {
		if (vperfctr_event(&event, name, info, NULL) || !event.arch ||
		    vperfctr_perf_open(&v, name, 0, VPERFCTR_PERF_EXEC, NULL))
			continue;
		found |= event.arch;
		vperfctr_close(v);
	}
	info->arch_events = found;
}

void perf_describe(struct vperfctr_info *info)
{
	vperfctr_perf_info(info);
	/* The kernel's times are nanoseconds. */
	info->tsc_khz = 1000000;
	perf_limit_generic(info);
	info->features |= VPERFCTR_FEATURE_CLOCK | VPERFCTR_FEATURE_RECORDS |
			  VPERFCTR_FEATURE_INHERIT_IMODE;
	if (!info->arch_events) {
		info->pmc_mask = info->fixed_mask = 0;
		return;
	}
	info->features |= VPERFCTR_FEATURE_PCINT;
	info->min_period = 1;
	info->max_period = (UINT64_C(1) << 47) - 1;
}

/* ---- places --------------------------------------------------------------------------------- */

/* Return: the CPUs of a list of the kernel's, such as 0-3,8; allocated, or NULL with *e. */
static struct vperfctr_cpu_mask *read_cpus(const char *file, uint32_t nrwords, struct error *e)
{
	struct vperfctr_cpu_mask *mask;
	unsigned int first, last;
	FILE *f = fopen(file, "re");
	char next = ',';

	if (!f) {
		fail_with(e, "cannot read %s: %s", file,
			  errno == ENOENT ? "is /sys mounted?" : strerror(errno));
		return NULL;
	}
	mask = calloc(1, sizeof(*mask) + nrwords * sizeof(mask->mask[0]));
	if (mask)
		mask->nrwords = nrwords;
	else
		fail_with(e, "out of memory");
	while (mask && next == ',' && fscanf(f, "%u", &first) == 1) {
		last = first;
		next = (char)fgetc(f);
		if (next == '-' && fscanf(f, "%u", &last) == 1)
			next = (char)fgetc(f);
		for (; first <= last && first < nrwords * 32; first++)
			mask->mask[first / 32] |= UINT32_C(1) << first % 32;
	}
	fclose(f);
	return mask;
}

/* As many CPUs as Linux can have. */
#define MAX_CPUS	8192

int perf_cpus(struct vperfctr_cpu_mask **all, struct vperfctr_cpu_mask **online, struct error *e)
{
	*all = read_cpus(SYS_CPU "/possible", MAX_CPUS / 32, e);
	*online = *all ? read_cpus(SYS_CPU "/online", MAX_CPUS / 32, e) : NULL;
	if (*online)
		return 0;
	free(*all);
	*all = NULL;
	return -1;
}

/* Return: the numbers of the CPUs, allocated, or NULL. */
static int *list_cpus(const struct vperfctr_cpu_mask *mask, unsigned int *nr)
{
	int *cpus = calloc(mask->nrwords * 32, sizeof(*cpus));
	unsigned int i;

	*nr = 0;
	for (i = 0; cpus && i < mask->nrwords * 32; i++)
		if (mask->mask[i / 32] >> i % 32 & 1)
			cpus[(*nr)++] = (int)i;
	return cpus;
}

static int compare_tids(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The files of a thread that has ended are not there, or cannot be read any more. */
static int error_of_thread(void)
{
	return errno == ENOENT ? -ESRCH : -errno;
}

/*
 * Look whether the thread lives.  perf_event does not find one that waits to be waited for.
 * Return: 0; -ESRCH: it has ended; or -errno
 */
static int look_at_thread(pid_t pid, pid_t tid)
{
	char path[64], text[512], *state;
	FILE *f;

	snprintf(path, sizeof(path), PROC "/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return error_of_thread();
	state = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return !state || !state[1] || strchr("ZXx", state[2]) ? -ESRCH : 0;
}

/* Add a thread to the list, which has room for *room of them.  Return: 0 or -ENOMEM */
static int add_thread(pid_t **tids, unsigned int *nr, unsigned int *room, pid_t tid)
{
	pid_t *more;

	if (*nr == *room) {
		more = reallocarray(*tids, *room + 64, sizeof(**tids));
		if (!more)
			return -ENOMEM;
		*tids = more;
		*room += 64;
	}
	(*tids)[(*nr)++] = tid;
	return 0;
}

int perf_list_threads(const struct target *target, pid_t **tids, unsigned int *nr)
{
	unsigned int room = 0;
	const struct dirent *d;
	char path[64];
	int err = 0;
	pid_t tid;
	DIR *dir;

	*tids = NULL;
	*nr = 0;
	snprintf(path, sizeof(path), PROC "/%d/task", (int)target->id);
	dir = opendir(path);
	if (!dir)
		return error_of_thread();
	while (!err && (d = readdir(dir))) {
		tid = (pid_t)atoi(d->d_name);
		if (tid <= 0 || (!target->process && tid != target->id))
			continue;
		err = look_at_thread(target->id, tid);
		if (!err)
			err = add_thread(tids, nr, &room, tid);
		else if (err == -ESRCH)
			err = 0;
	}
	closedir(dir);
	if (!err && !*nr)
		err = -ESRCH;
	if (*nr)
		qsort(*tids, *nr, sizeof(**tids), compare_tids);
	return err;
}

/* ---- handles --------------------------------------------------------------------------------- */

/* Say why perf_event refuses.  cpus: what is counted are CPUs */
static int fail_perf(struct error *e, int err, const struct perf_count *p, bool cpus)
{
	const int paranoid = read_number(PROC "/sys/kernel/perf_event_paranoid");
	const int rate = read_number(PROC "/sys/kernel/perf_event_max_sample_rate");
	const char *names = p->names;
	struct vperfctr_why why;

	switch (err) {
	case -EACCES:
	case -EPERM:
		if (cpus)
			return fail_with(e, "perf_event counts CPUs only with CAP_PERFMON, or if kernel.perf_event_paranoid is at most 0 (it is %d): use sudo", paranoid);
		return fail_with(e, "perf_event may not be used for it, as kernel.perf_event_paranoid is %d, it is another user's, or a container forbids it: use sudo", paranoid);
	case -EMFILE:
		return fail_with(e, "perf_event needs a file descriptor for each event, thread and CPU, and there are too many: raise the hard limit (ulimit -Hn)");
	case -ENOENT:
	case -ENODEV:
	case -ENOSYS:
	case -EOPNOTSUPP:
		return fail_with(e, "perf_event cannot count '%.400s': it has no such event, or there is no PMU, as in many virtual machines",
				 names);
	case -EINVAL:
		if (p->period && p->sample.freq && rate > 0 && p->sample.sample_freq > (unsigned int)rate)
			return fail_with(e, "perf_event takes at most %d samples per second here, as kernel.perf_event_max_sample_rate says: use a lower rate than %llu",
					 rate, (unsigned long long)p->sample.sample_freq);
		return fail_with(e, "perf_event cannot count '%.400s' at once: there are not enough counters, or one of the events does not exist",
				 names);
	default:
		vperfctr_why(err, VPERFCTR_WHY_PERF, NULL, &why);
		return fail_with(e, "%s", why.text);
	}
}

static int open_at(struct vperfctr **v, const struct perf_count *p,
		   struct vperfctr_perf_place *place, unsigned int flags,
		   struct vperfctr_why *why)
{
	files_raise();
	if (p->inherit)
		flags |= VPERFCTR_PERF_INHERIT;
	place->period = p->period;
	place->sample = &p->sample;
	return vperfctr_perf_open_at(v, p->names, place, flags | VPERFCTR_PERF_NS | VPERFCTR_PERF_RAW,
				     why);
}

int perf_count_threads(struct vperfctr **v, const struct perf_count *p, const pid_t *tids,
		       unsigned int nr, unsigned int flags, bool *gone, struct error *e)
{
	struct vperfctr_perf_place place = { .tid = tids, .nrtids = nr, .nrcpus = 1 };
	struct vperfctr_cpu_mask *all = NULL, *online = NULL;
	struct vperfctr_why why = { "" };
	const int any = -1;
	int *cpus = NULL, err;

	place.cpu = &any;
	if (p->period) {
		if (perf_cpus(&all, &online, e))
			return -1;
		cpus = list_cpus(online, &place.nrcpus);
		free(all);
		free(online);
		if (!cpus)
			return fail_with(e, "out of memory");
		place.cpu = cpus;
	}
	err = open_at(v, p, &place, flags, &why);
	free(cpus);
	if (gone)
		*gone = err == -ESRCH;
	if (err && *why.text)
		return fail_with(e, "%s", why.text);
	return err ? fail_perf(e, err, p, false) : 0;
}

int perf_count_cpus(struct vperfctr **v, const struct perf_count *p,
		    const struct vperfctr_cpu_mask *mask, struct error *e)
{
	struct vperfctr_perf_place place = { .tid = (const pid_t[]){ -1 }, .nrtids = 1 };
	struct vperfctr_why why = { "" };
	int *cpus = list_cpus(mask, &place.nrcpus), err;

	if (!cpus)
		return fail_with(e, "out of memory");
	place.cpu = cpus;
	err = open_at(v, p, &place, VPERFCTR_PERF_STOPPED, &why);
	free(cpus);
	if (err && *why.text)
		return fail_with(e, "%s", why.text);
	return err ? fail_perf(e, err, p, true) : 0;
}
