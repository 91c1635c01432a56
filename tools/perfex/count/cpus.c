// SPDX-License-Identifier: GPL-2.0
/* Count CPUs instead of threads: which ones, in which parts, and until when. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "gate.h"
#include "perf-count.h"

#define SYS_CPU		"/sys/devices/system/cpu"

/* ---- masks ------------------------------------------------------------------------ */

static bool has_cpu(const struct vperfctr_cpu_mask *mask, unsigned int cpu)
{
	return cpu / 32 < mask->nrwords && mask->mask[cpu / 32] >> cpu % 32 & 1;
}

static void remove_cpu(struct vperfctr_cpu_mask *mask, unsigned int cpu)
{
	mask->mask[cpu / 32] &= ~(UINT32_C(1) << cpu % 32);
}

static unsigned int count_cpus(const struct vperfctr_cpu_mask *mask)
{
	unsigned int i, nr = 0;

	for (i = 0; i < mask->nrwords; i++)
		nr += (unsigned int)__builtin_popcount(mask->mask[i]);
	return nr;
}

/* Return: "0-3,8"; allocated, or NULL. */
static char *list_cpus(const struct vperfctr_cpu_mask *mask)
{
	const unsigned int end = mask->nrwords * 32;
	unsigned int i, last;
	char *text = NULL;
	size_t size;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	for (i = 0; i < end; i = last + 1) {
		last = i;
		if (!has_cpu(mask, i))
			continue;
		while (has_cpu(mask, last + 1))
			last++;
		fprintf(f, ftell(f) ? ",%u" : "%u", i);
		if (last > i)
			fprintf(f, "-%u", last);
	}
	fclose(f);
	return text;
}

/* ---- lists ------------------------------------------------------------------------ */

/* Parse "3" or "3-5" at *p, and set *p to what follows.  Return: whether it is such. */
static bool parse_range(const char **p, unsigned long *first, unsigned long *last)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	*first = *last = strtoul(*p, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return false;
		*last = strtoul(end + 1, &end, 10);
	}
	*p = end;
	return !errno && *first <= *last && *last < UINT_MAX;
}

typedef int cpu_fn(void *arg, unsigned long first, unsigned long last);

/* Call fn for each range of "0-3,8".  Return: what fn returned if not 0, or -1: no list. */
static int for_each_range(const char *list, cpu_fn *fn, void *arg)
{
	unsigned long first, last;
	const char *p;
	int ret;

	for (p = list;; p++) {
		if (!parse_range(&p, &first, &last) || (*p && *p != ','))
			return -1;
		ret = fn(arg, first, last);
		if (ret || !*p)
			return ret;
	}
}

/* CPUs of a list, which must be among those of the mask. */
struct choosing {
	const struct vperfctr_cpu_mask *from;
	struct vperfctr_cpu_mask *to;
	unsigned long missing;		/* the first that `from` does not have */
};

static int choose_range(void *arg, unsigned long first, unsigned long last)
{
	struct choosing *c = arg;
	unsigned long i;

	for (i = first; i <= last; i++) {
		if (!has_cpu(c->from, (unsigned int)i)) {
			c->missing = i;
			return 1;
		}
		c->to->mask[i / 32] |= UINT32_C(1) << i % 32;
	}
	return 0;
}

static int take_online(void *arg, unsigned long first, unsigned long last)
{
	struct vperfctr_cpu_mask *online = arg;
	unsigned long i;

	for (i = first; i <= last && i / 32 < online->nrwords; i++)
		online->mask[i / 32] |= UINT32_C(1) << i % 32;
	return 0;
}

static struct vperfctr_cpu_mask *empty_mask_like(const struct vperfctr_cpu_mask *mask)
{
	size_t size = sizeof(*mask) + mask->nrwords * sizeof(mask->mask[0]);
	struct vperfctr_cpu_mask *empty = calloc(1, size);

	if (empty)
		empty->nrwords = mask->nrwords;
	return empty;
}

/* Return: the CPUs that are online; allocated, or NULL. */
static struct vperfctr_cpu_mask *find_online(const struct vperfctr_cpu_mask *all)
{
	struct vperfctr_cpu_mask *online = empty_mask_like(all);
	FILE *f = fopen(SYS_CPU "/online", "re");
	char list[4096] = "";

	if (f) {
		if (!fgets(list, sizeof(list), f))
			*list = '\0';
		fclose(f);
	}
	list[strcspn(list, "\n")] = '\0';
	if (online && for_each_range(list, take_online, online))
		memcpy(online->mask, all->mask, all->nrwords * sizeof(all->mask[0]));
	return online;
}

/* ---- the CPUs of -a and -C ------------------------------------------------------------ */

/* Check that a CPU of the list can be counted now. */
static int check_cpu(unsigned int cpu, const struct vperfctr_cpu_mask *able,
		     const struct vperfctr_cpu_mask *online, struct error *e)
{
	if (!has_cpu(online, cpu))
		return fail_with(e, "CPU %u is offline: leave it out, or bring it online with 'echo 1 | sudo tee " SYS_CPU "/cpu%u/online'",
				 cpu, cpu);
	if (!has_cpu(able, cpu))
		return fail_with(e, "CPU %u has no counters that can be used: see perfex info", cpu);
	return 0;
}

static int choose_list(struct cpus *cpus, const char *list, const struct vperfctr_cpu_mask *all,
		       const struct vperfctr_cpu_mask *able,
		       const struct vperfctr_cpu_mask *online, struct error *e)
{
	struct choosing choosing = { .from = all, .to = cpus->mask };
	unsigned int i;
	char *text;
	int ret;

	ret = for_each_range(list, choose_range, &choosing);
	if (ret < 0)
		return fail_with(e, "'%.80s' is not a list of CPUs such as 0-3,8", list);
	if (ret) {
		text = list_cpus(all);
		fail_with(e, "there is no CPU %lu: this machine has CPUs %s", choosing.missing,
			  text ? text : "?");
		free(text);
		return -1;
	}
	for (i = 0; i < all->nrwords * 32; i++)
		if (has_cpu(cpus->mask, i) && check_cpu(i, able, online, e))
			return -1;
	return 0;
}

/* All that can count.  Those that are offline are counted when they come online. */
static int choose_all(struct cpus *cpus, const struct vperfctr_cpu_mask *all,
		      const struct vperfctr_cpu_mask *able,
		      const struct vperfctr_cpu_mask *online, struct error *e)
{
	struct vperfctr_cpu_mask *unable = empty_mask_like(all);
	unsigned int i;

	if (!unable)
		return fail_with(e, "out of memory");
	for (i = 0; i < all->nrwords; i++) {
		cpus->mask->mask[i] = all->mask[i];
		if (i < able->nrwords)
			cpus->mask->mask[i] &= able->mask[i];
		unable->mask[i] = all->mask[i] & ~cpus->mask->mask[i] & online->mask[i];
	}
	if (count_cpus(unable))
		cpus->unable = list_cpus(unable);
	free(unable);
	return 0;
}

/*
 * Find the CPUs of a list, or all that can count if it is NULL.  perf: by perf_event
 * Return: 0, or -1 with *e.  The caller frees *cpus in both cases.
 */
static int find_cpus(struct cpus *cpus, const char *list, bool perf, struct error *e)
{
	struct vperfctr_cpu_mask *all = NULL, *able = NULL, *online = NULL;
	int err;

	if (perf && perf_cpus(&all, &able, e))
		return -1;
	err = perf ? 0 : vperfctr_cpus(&all);
	if (!err && !perf)
		err = vperfctr_kind_cpus(&able, VPERFCTR_ANY_KIND);
	if (err) {
		free(all);
		return fail_device(e, err);
	}
	online = find_online(all);
	cpus->mask = empty_mask_like(all);
	if (!online || !cpus->mask)
		err = fail_with(e, "out of memory");
	else if (list)
		err = choose_list(cpus, list, all, able, online, e);
	else
		err = choose_all(cpus, all, able, online, e);
	if (!err && !count_cpus(cpus->mask))
		err = fail_with(e, "no CPU has counters that can be used: see perfex info");
	free(all);
	free(able);
	free(online);
	return err;
}

/* Leave out the CPUs of other kinds.  Those of a list must not be such. */
static int keep_kind(struct cpus *cpus, const struct vperfctr_info *info, bool listed,
		     struct error *e)
{
	struct vperfctr_cpu_mask *of_kind;
	int err = vperfctr_kind_cpus(&of_kind, info->kind);
	unsigned int i;

	if (err)
		return fail_device(e, err);
	for (i = 0; !err && i < cpus->mask->nrwords * 32; i++) {
		if (!has_cpu(cpus->mask, i) || has_cpu(of_kind, i))
			continue;
		if (listed)
			err = fail_with(e, "CPU %u is not of kind %u, which is to be counted: see perfex info",
					i, info->kind);
		remove_cpu(cpus->mask, i);
	}
	free(of_kind);
	if (!err && !count_cpus(cpus->mask))
		err = fail_no_cpu(e);
	return err;
}

/* ---- parts ---------------------------------------------------------------------------- */

static unsigned int read_topology(unsigned int cpu, const char *what)
{
	char path[128];

	snprintf(path, sizeof(path), SYS_CPU "/cpu%u/topology/%s", cpu, what);
	return (unsigned int)read_number(path);
}

/* perf's names.  The place of a CPU that is offline is not known. */
static void name_place(char *buf, size_t size, unsigned int cpu, enum split split, bool online)
{
	if (split == SPLIT_CPU)
		snprintf(buf, size, "CPU%u", cpu);
	else if (!online)
		snprintf(buf, size, "(offline)");
	else if (split == SPLIT_SOCKET)
		snprintf(buf, size, "S%u", read_topology(cpu, "physical_package_id"));
	else
		snprintf(buf, size, "S%u-D%u-C%u", read_topology(cpu, "physical_package_id"),
			 read_topology(cpu, "die_id"), read_topology(cpu, "core_id"));
}

/* The kind's name, or its number; "other" for those that came online later. */
static int name_kind(char *buf, size_t size, unsigned int cpu, struct error *e)
{
	struct vperfctr_cpu_mask *mask;
	struct vperfctr_info info;
	unsigned int kind = 0;
	bool found = false;
	int err;

	snprintf(buf, size, "other");
	do {
		err = vperfctr_info(&info, kind);
		if (!err)
			err = vperfctr_kind_cpus(&mask, kind);
		if (err)
			return fail_device(e, err);
		found = has_cpu(mask, cpu);
		free(mask);
		if (found && kind_name(&info))
			snprintf(buf, size, "%s", kind_name(&info));
		else if (found)
			snprintf(buf, size, "kind%u", kind);
	} while (!found && ++kind < info.nrkinds);
	return 0;
}

static unsigned int find_part(struct cpus *cpus, const char *label, enum split split)
{
	static const char *const fields[] = {
		[SPLIT_CPU] = "cpu", [SPLIT_CORE] = "core", [SPLIT_SOCKET] = "socket",
		[SPLIT_KIND] = "kind",
	};
	unsigned int i;

	for (i = 0; i < cpus->nrparts; i++)
		if (!strcmp(cpus->parts[i].label, label))
			return i;
	strcpy(cpus->parts[i].label, label);
	cpus->parts[i].field = fields[split];
	cpus->nrparts++;
	return i;
}

/* Divide the CPUs into the parts to print. */
static int divide(struct cpus *cpus, enum split split, struct error *e)
{
	struct vperfctr_cpu_mask *online = find_online(cpus->mask);
	char label[sizeof(cpus->parts->label)];
	unsigned int cpu, i = 0;
	int err = 0;

	cpus->nr = count_cpus(cpus->mask);
	cpus->list = list_cpus(cpus->mask);
	cpus->part_of = calloc(cpus->nr, sizeof(*cpus->part_of));
	cpus->parts = calloc(cpus->nr, sizeof(*cpus->parts));
	cpus->read = calloc(cpus->nr, sizeof(*cpus->read));
	cpus->cpu = calloc(cpus->nr, sizeof(*cpus->cpu));
	cpus->sums = calloc(cpus->nr, (1 + VPERFCTR_MAX_CTRS) * sizeof(*cpus->sums));
	if (!online || !cpus->list || !cpus->part_of || !cpus->parts || !cpus->read ||
	    !cpus->cpu || !cpus->sums)
		err = fail_with(e, "out of memory");
	for (cpu = 0; !err && split && cpu < cpus->mask->nrwords * 32; cpu++) {
		if (!has_cpu(cpus->mask, cpu))
			continue;
		if (split == SPLIT_KIND)
			err = name_kind(label, sizeof(label), cpu, e);
		else
			name_place(label, sizeof(label), cpu, split, has_cpu(online, cpu));
		cpus->part_of[i++] = find_part(cpus, label, split);
	}
	free(online);
	return err;
}

int cpus_choose(struct cpus *cpus, const struct count_options *c, struct kinds *kinds, kind_fn *try,
		void *arg, struct error *e)
{
	struct targets targets = { .nr = 0 };
	int ret;

	if (find_cpus(cpus, c->cpu_list, false, e))
		return -1;
	targets.cpus = cpus->mask;
	ret = kind_choose(c->kind, &targets, kinds, try, arg, e);
	if (ret < 0)
		return -1;
	if (kinds->nr == 1 && kinds->info[0].nrkinds > 1 &&
	    keep_kind(cpus, &kinds->info[0], c->cpu_list, e))
		return -1;
	return divide(cpus, c->split, e) ? -1 : ret;
}

int cpus_choose_perf(struct cpus *cpus, const struct count_options *c, struct kinds *kinds,
		     kind_fn *try, void *arg, struct error *e)
{
	int ret;

	if (c->split == SPLIT_KIND)
		return fail_with(e, "perf_event does not know kinds of CPUs: --per-kind needs the module");
	if (find_cpus(cpus, c->cpu_list, true, e))
		return -1;
	ret = try(kinds, arg, e);
	return ret < 0 || divide(cpus, c->split, e) ? -1 : ret;
}

void cpus_free(struct cpus *cpus)
{
	free(cpus->mask);
	free(cpus->list);
	free(cpus->unable);
	free(cpus->part_of);
	free(cpus->parts);
	free(cpus->read);
	free(cpus->cpu);
	free(cpus->sums);
}

/* ---- reading -------------------------------------------------------------------------- */

/* True if the CPU has counted anything.  The TSC is among the sums, if there is one. */
static bool has_sums(const struct cpus *cpus, unsigned int i)
{
	const uint64_t *sums = &cpus->sums[i * (1 + cpus->nrctrs)];
	unsigned int k;

	for (k = 0; k <= cpus->nrctrs; k++)
		if (sums[k])
			return true;
	return false;
}

/* True if the CPU was offline for a part of the time, or all of it. */
static bool was_offline(const struct cpus *cpus, unsigned int i)
{
	return cpus->cpu[i].status & VPERFCTR_CPU_STATUS_OFFLINE;
}

/* perf_event counts software events of CPUs, too.  Return: 0 or -errno. */
static int read_soft(const struct vperfctr *v, unsigned int i, struct sums *sums)
{
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	unsigned int k;
	int err;

	if (vperfctr_backend(v) != VPERFCTR_BACKEND_PERF)
		return 0;
	err = vperfctr_perf_cpu_soft(v, i, &soft);
	for (k = 0; k < VPERFCTR_NR_SOFT && !err; k++) {
		sums->soft[k] = soft.count[k].own;
		if (VPERFCTR_SOFT_PAGE_FAULTS >> k & 1)
			sums->soft[SOFT_PAGE_FAULTS] += soft.count[k].own;
	}
	return err;
}

/* Read the sums of all CPUs and of the parts.  Return: 0 or -errno. */
static int read_cpus(struct cpus *cpus, struct vperfctr *v, struct sums *total)
{
	struct vperfctr_read_cpus read = {
		.nrcpus = cpus->nr, .nrctrs = VPERFCTR_MAX_CTRS,
		.cpus = (uintptr_t)cpus->cpu, .sums = (uintptr_t)cpus->sums,
	};
	const uint64_t *from = cpus->sums;
	int err = vperfctr_read_cpus(v, &read);
	struct sums sums;
	unsigned int i;

	if (err)
		return err;
	cpus->nrctrs = read.nrctrs;
	memset(total, 0, sizeof(*total));
	memcpy(cpus->read, cpus->parts, cpus->nrparts * sizeof(*cpus->parts));
	for (i = 0; i < read.nrcpus && !err; i++) {
		struct part *part = cpus->nrparts ? &cpus->read[cpus->part_of[i]] : NULL;

		memset(&sums, 0, sizeof(sums));
		sums.tsc = from[0];
		memcpy(sums.pmc, from + 1, read.nrctrs * sizeof(*from));
		from += 1 + read.nrctrs;
		err = read_soft(v, i, &sums);
		sums_add(total, &sums);
		if (part) {
			sums_add(&part->sums, &sums);
			/* One that was offline all the time has counted nothing. */
			part->nrcpus += has_sums(cpus, i) || !was_offline(cpus, i);
		}
	}
	return err;
}

/* Say which CPUs were not, or not always, counted. */
static void judge_cpus(const struct cpus *cpus, struct result *r, struct error *e)
{
	unsigned int i, nr = 0, first = 0;
	char more[32] = "";

	r->counted = r->complete = true;
	for (i = 0; i < cpus->nr; i++) {
		if (cpus->cpu[i].status & VPERFCTR_CPU_STATUS_FAILED) {
			r->complete = false;
			fail_with(e, "CPU %u came online, and its counters do not work there: see vperfctr's line in dmesg",
				  cpus->cpu[i].cpu);
		}
		if (was_offline(cpus, i) && has_sums(cpus, i) && !nr++)
			first = cpus->cpu[i].cpu;
	}
	if (nr > 1)
		snprintf(more, sizeof(more), ", as %u more", nr - 1);
	if (nr)
		snprintf(r->note, sizeof(r->note), "CPU %u was offline for a part of the time%s", first, more);
	else if (cpus->unable)
		snprintf(r->note, sizeof(r->note), "Not included: CPUs %.80s, as their counters cannot be used",
			 cpus->unable);
}

/* ---- counting ------------------------------------------------------------------------- */

struct session {
	struct cpus *cpus;
	struct vperfctr *v;
	const struct perf_count *perf;	/* NULL: the module counts */
	const struct interval *interval;
	struct sampler *sampler;	/* NULL: there are no samples */
	bool failed;			/* no more is written; the command runs on */
	struct timespec start;
	double next;			/* end of the current interval */
	double timeout;
	pid_t command;			/* 0: none */
	int wstatus;
	sigset_t set;
	int signals;			/* a descriptor for these */
	struct waiting waiting;
};

/* For the gate and for intervals. */
static int read_session(void *arg, struct sums *sums, const struct part **parts)
{
	struct session *s = arg;

	*parts = s->cpus->read;
	return read_cpus(s->cpus, s->v, sums);
}

/* The counters cannot be read: a command is followed until its end.  Return: 0, or -1 with *e. */
static int fail_session(struct session *s, int err, struct error *e)
{
	fail_read(e, err, s->perf);
	s->failed = true;
	return s->command ? 0 : -1;
}

/* Look at the gate, and whether an interval is over.  Return: 0, or -1 with *e. */
static int look_at_times(struct session *s, struct error *e)
{
	const struct interval *interval = s->interval;
	int err;

	if (s->failed)
		return 0;
	err = gate_step(interval->gate, seconds_since(&s->start), read_session, s);
	if (!err && interval->ms && seconds_since(&s->start) >= s->next) {
		err = interval_end(interval, &s->start, read_session, s);
		s->next = interval_next(interval, &s->start, s->next);
	}
	return err ? fail_session(s, err, e) : 0;
}

/* Milliseconds, at most, without a look at the ring. */
#define LOOK_INTERVAL	50

/*
 * Write the samples until now.  If that fails, a command is still followed until its end.
 * Return: 0, or -1 with *e.
 */
static int drain(struct session *s, bool last, struct error *e)
{
	if (!s->sampler || s->failed || !s->sampler->drain(s->sampler->arg, s->v, last, e))
		return 0;
	s->failed = true;
	return s->command && !last ? 0 : -1;
}

/*
 * Wait for a signal until the next interval, the next look at the samples, the timeout, or an
 * event of the gate.
 * Return: the signal, or 0.
 */
static int await_signal(const struct session *s, struct signalfd_siginfo *info)
{
	const double gate = s->failed ? -1 : gate_next(s->interval->gate);
	struct pollfd polls[] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->failed ? -1 : gate_fd(s->interval->gate), .events = POLLIN },
	};
	double until = 1e9, left;

	if (s->timeout >= 0)
		until = s->timeout;
	if (s->interval->ms && !s->failed && s->next < until)
		until = s->next;
	if (gate >= 0 && gate < until)
		until = gate;
	if (s->waiting.next < until)
		until = s->waiting.next;
	left = until - seconds_since(&s->start);
	if (s->sampler && !s->failed && left > LOOK_INTERVAL / 1e3)
		left = LOOK_INTERVAL / 1e3;
	if (left < 0)
		left = 0;
	ppoll(polls, ARRAY_SIZE(polls), &(struct timespec){
		.tv_sec = (time_t)left,
		.tv_nsec = (long)((left - (double)(time_t)left) * 1e9) }, NULL);
	return read(s->signals, info, sizeof(*info)) == sizeof(*info) ? (int)info->ssi_signo : 0;
}

static bool command_has_ended(struct session *s)
{
	return s->command && waitpid(s->command, &s->wstatus, WNOHANG) == s->command;
}

/* Count until the end.  *told: a signal came that ends perfex. */
static int await_end(struct session *s, bool *told, struct error *e)
{
	struct signalfd_siginfo info;
	int sig;

	for (;;) {
		if (drain(s, false, e))
			return -1;
		if (command_has_ended(s))
			return s->failed ? -1 : 0;
		if (look_at_times(s, e))
			return -1;
		waiting_show(&s->waiting, seconds_since(&s->start), s->timeout);
		sig = await_signal(s, &info);
		if (sig && sig != SIGCHLD) {
			*told |= signals_take(s->command, &info);
			if (*told && !s->command)
				return 0;
		}
		if (s->timeout >= 0 && seconds_since(&s->start) >= s->timeout)
			return s->failed ? -1 : 0;
	}
}

static int count_session(struct session *s, char **argv, struct result *r, struct error *e)
{
	bool told = false;
	int err;

	/* If there are too few descriptors, the command must not have run. */
	s->signals = signalfd(-1, &s->set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return fail_with(e, "cannot wait for signals: %s", strerror(errno));
	if (*argv) {
		s->command = command_start(argv, e);
		if (s->command < 0) {
			close(s->signals);
			return -1;
		}
	}
	if (s->sampler)
		wake_early();
	waiting_begin(&s->waiting, !*argv && !s->interval->ms);
	err = await_end(s, &told, e);
	waiting_end(&s->waiting);
	close(s->signals);
	if (err)
		return -1;
	/* All CPUs stop at about the same time, and not when they are read. */
	err = vperfctr_suspend(s->v);
	r->elapsed = seconds_since(&s->start);
	if (!err)
		err = read_cpus(s->cpus, s->v, &r->counts.own);
	if (err)
		return fail_read(e, err, s->perf);
	if (drain(s, true, e))
		return -1;
	r->status = s->command ? run_status(s->wstatus) : 0;
	r->signalled = told || (s->command && WIFSIGNALED(s->wstatus));
	return 0;
}

static int add_parts(const struct cpus *cpus, struct result *r, struct error *e)
{
	struct part *part;
	unsigned int i;

	for (i = 0; i < cpus->nrparts; i++) {
		part = result_add_part(r, &cpus->read[i].sums);
		if (!part)
			return fail_with(e, "out of memory");
		*part = cpus->read[i];
	}
	return 0;
}

/* Make the ring, and let the sampler look around before there are samples. */
static int begin_samples(const struct session *s, struct error *e)
{
	int err = vperfctr_ring_open(s->v, &s->sampler->ring);

	return err ? fail_ring(e, err) : s->sampler->start(s->sampler->arg, NULL, s->v, e);
}

static int start_perf(struct session *s, struct error *e)
{
	int err;

	if (perf_count_cpus(&s->v, s->perf, s->cpus->mask, e) ||
	    (s->sampler && s->sampler->start(s->sampler->arg, NULL, s->v, e)))
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &s->start);
	err = vperfctr_resume(s->v);
	return err ? fail_read(e, err, true) : 0;
}

static int start_session(struct session *s, const struct vperfctr_control *control,
			 struct error *e)
{
	int err;

	if (s->perf)
		return start_perf(s, e);
	err = vperfctr_open_cpus(&s->v, s->cpus->mask, 0);
	if (err)
		return fail_open_cpus(e, err);
	if (s->sampler && begin_samples(s, e))
		return -1;
	/* Before any CPU counts: no more than this time is in the counts. */
	clock_gettime(CLOCK_MONOTONIC, &s->start);
	err = vperfctr_control(s->v, control);
	return err ? fail_control_cpus(e, err, control, PROC) : 0;
}

int cpus_count(struct cpus *cpus, char **argv, double timeout,
	       const struct vperfctr_control *control, const struct perf_count *perf,
	       const struct interval *interval, struct sampler *sampler, struct result *r,
	       struct error *e)
{
	struct session s = {
		.cpus = cpus, .perf = perf, .interval = interval, .next = interval->ms / 1e3, .timeout = timeout,
		.sampler = sampler,
	};
	int err;

	memset(r, 0, sizeof(*r));
	signals_catch(&s.set, *argv, NULL);
	/* signalfd() needs it blocked, too. */
	sigaddset(&s.set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &s.set, NULL);
	err = start_session(&s, control, e);
	if (!err)
		err = count_session(&s, argv, r, e);
	vperfctr_close(s.v);
	if (!err)
		err = add_parts(cpus, r, e);
	if (err)
		return -1;
	snprintf(r->scope, sizeof(r->scope), cpus->nr == 1 ? "%u CPU" : "%u CPUs", cpus->nr);
	r->total = r->counts.own;
	result_add_times(r);
	judge_cpus(cpus, r, e);
	if (interval->ms)
		interval->fn(interval->arg, r->elapsed, &r->total, cpus->read);
	return 0;
}
