// SPDX-License-Identifier: GPL-2.0
/* Kinds of CPUs, of which hybrid processors have several: choose those to count on. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "perfex.h"

const char *kind_name(const struct vperfctr_info *info)
{
	switch (info->core_type >> 24) {
	case 0x20:
		return "atom";
	case 0x40:
		return "core";
	default:
		return NULL;
	}
}

bool kind_is(const struct vperfctr_info *info, const char *asked)
{
	const char *name = kind_name(info);
	char number[16];

	snprintf(number, sizeof(number), "%u", info->kind);
	return !asked || !strcmp(asked, number) || (name && !strcasecmp(asked, name));
}

int kind_bind(uint32_t kind)
{
	const size_t size = CPU_ALLOC_SIZE(65536);
	struct vperfctr_cpu_mask *mask = NULL;
	cpu_set_t *set = CPU_ALLOC(65536);
	int err = -ENOMEM;
	unsigned int i;

	if (set)
		err = sched_getaffinity(0, size, set) ? -errno : vperfctr_kind_cpus(&mask, kind);
	if (!err) {
		for (i = 0; i < 65536; i++)
			if (i / 32 >= mask->nrwords || !(mask->mask[i / 32] >> i % 32 & 1))
				CPU_CLR_S(i, size, set);
		err = sched_setaffinity(0, size, set) ? -errno : 0;
	}
	free(mask);
	CPU_FREE(set);
	return err;
}

/* The CPUs on which threads may run, and whether that is known. */
struct cpu_sets {
	bool known;
	cpu_set_t set[65536 / CPU_SETSIZE];
};

static void add_affinity(struct cpu_sets *cpus, pid_t tid)
{
	cpu_set_t set[ARRAY_SIZE(cpus->set)];

	memset(set, 0, sizeof(set));
	if (sched_getaffinity(tid, sizeof(set), set))
		return;
	cpus->known = true;
	CPU_OR_S(sizeof(set), cpus->set, cpus->set, set);
}

static void add_process(struct cpu_sets *cpus, pid_t pid)
{
	const struct dirent *d;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), PROC "/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir)))
		if (*d->d_name != '.')
			add_affinity(cpus, (pid_t)atoi(d->d_name));
	if (dir)
		closedir(dir);
}

static void add_mask(struct cpu_sets *cpus, const struct vperfctr_cpu_mask *mask)
{
	unsigned int i;

	cpus->known = true;
	for (i = 0; i < mask->nrwords * 32 && i < 65536; i++)
		if (mask->mask[i / 32] >> i % 32 & 1)
			CPU_SET_S(i, sizeof(cpus->set), cpus->set);
}

/* True if one of the CPUs is of the kind, or if that is not known. */
static bool has_kind(const struct cpu_sets *cpus, uint32_t kind)
{
	struct vperfctr_cpu_mask *mask;
	bool has = false;
	unsigned int i;

	if (!cpus->known || vperfctr_kind_cpus(&mask, kind))
		return true;
	for (i = 0; i < mask->nrwords * 32 && !has; i++)
		has = mask->mask[i / 32] >> i % 32 & 1 &&
		      CPU_ISSET_S(i, sizeof(cpus->set), cpus->set);
	free(mask);
	return has;
}

/* Return: a bit for each kind on which the targets, or perfex if there are none, may run. */
static unsigned int find_runnable(const struct targets *targets, unsigned int nr)
{
	struct cpu_sets cpus = { 0 };
	unsigned int i, kinds = 0;

	for (i = 0; i < targets->nr; i++) {
		if (targets->target[i].process)
			add_process(&cpus, targets->target[i].id);
		else
			add_affinity(&cpus, targets->target[i].id);
	}
	if (targets->cpus)
		add_mask(&cpus, targets->cpus);
	else if (!targets->nr)
		add_affinity(&cpus, 0);
	for (i = 0; i < nr; i++)
		kinds |= has_kind(&cpus, i) ? 1U << i : 0;
	return kinds;
}

/* Return: the number of kinds, or -1 with *e. */
static int describe_kinds(struct vperfctr_info *info, const struct targets *targets,
			  struct error *e)
{
	unsigned int i = 0;
	int err;

	do {
		err = vperfctr_info(&info[i], i);
		if (err)
			return fail_device(e, err);
		/* If another perfex counts this one, the command has that observer, too. */
		info[i].pmc_mask &= ~(targets->nr ? targets->used_pmcs : info[i].used_pmcs);
		info[i].fixed_mask &= ~(targets->nr ? targets->used_fixed : info[i].used_fixed);
	} while (++i < info->nrkinds && i < MAX_KINDS);
	return (int)i;
}

static int try_one(const struct vperfctr_info *info, struct kinds *kinds, kind_fn *try, void *arg,
		   struct error *e)
{
	kinds->nr = 1;
	kinds->info[0] = *info;
	return try(kinds, arg, e);
}

/* Kinds 0 to nr - 1. */
static int try_several(const struct vperfctr_info *info, unsigned int nr, struct kinds *kinds,
		       kind_fn *try, void *arg, struct error *e)
{
	if (nr == 1)
		return try_one(info, kinds, try, arg, e);
	kinds->nr = nr;
	memcpy(kinds->info, info, nr * sizeof(*info));
	vperfctr_event_common(kinds->info, nr);
	return try(kinds, arg, e);
}

static int choose_asked(const char *asked, const struct vperfctr_info *info, unsigned int nr,
			struct kinds *kinds, kind_fn *try, void *arg, struct error *e)
{
	struct error later, *first = e;
	unsigned int i;
	int ret;

	for (i = 0; i < nr; i++) {
		if (!kind_is(&info[i], asked))
			continue;
		ret = try_one(&info[i], kinds, try, arg, first);
		if (ret >= 0)
			return ret;
		/* Report why the first kind refused. */
		first = &later;
	}
	return first == e ? fail_no_kind(e, asked) : -1;
}

static void list_kind(char *list, size_t size, const struct vperfctr_info *info)
{
	const char *name = kind_name(info);
	size_t len = strlen(list);

	snprintf(list + len, size - len, "%skind %u%s%s", len ? ", " : "", info->kind,
		 name ? ": " : "", name ? name : "");
}

/* Say which kinds can count what all of them together cannot.  Return: -1 */
static int refuse_several(const struct vperfctr_info *info, unsigned int nr, struct kinds *kinds,
			  kind_fn *try, void *arg, struct error *e)
{
	struct error refusal, ignored, *first = &refusal;
	char able[200] = "", example[16] = "";
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (try_one(&info[i], kinds, try, arg, first) < 0) {
			first = &ignored;
			continue;
		}
		if (!*able)
			snprintf(example, sizeof(example), "%u", i);
		list_kind(able, sizeof(able), &info[i]);
	}
	if (!*able) {
		*e = refusal;
		return -1;
	}
	return fail_some_kinds(e, able, example, first == &refusal ? NULL : &refusal);
}

int kind_choose(const char *asked, const struct targets *targets, struct kinds *kinds,
		kind_fn *try, void *arg, struct error *e)
{
	struct vperfctr_info info[MAX_KINDS];
	unsigned int runnable;
	int nr = describe_kinds(info, targets, e), n, ret;

	if (nr < 0)
		return -1;
	if (asked)
		return choose_asked(asked, info, (unsigned int)nr, kinds, try, arg, e);
	if (nr == 1)
		return try_one(info, kinds, try, arg, e);

	runnable = find_runnable(targets, (unsigned int)nr);
	if (!runnable)
		return fail_no_cpu(e);
	/* A kind on which nothing may run need not be able to count, if its number is high. */
	for (n = nr; n > 0 && !(runnable >> n); n--) {
		if (n > 1 && !(info->features & VPERFCTR_FEATURE_ANY_KIND))
			continue;
		ret = try_several(info, (unsigned int)n, kinds, try, arg, e);
		if (ret >= 0)
			return ret;
	}
	if (!(runnable & (runnable - 1)))
		return try_one(&info[__builtin_ctz(runnable)], kinds, try, arg, e);
	return refuse_several(info, (unsigned int)nr, kinds, try, arg, e);
}
