// SPDX-License-Identifier: GPL-2.0
/* Kinds of CPUs, of which hybrid processors have several: choose the one to count on. */
#include <ctype.h>
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
		err = sched_getaffinity(0, size, set) ? -errno : vperfctr_kind_cpus(kind, &mask);
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

/* True if this thread (0: perfex) may run on CPUs of the kind, or if that is not known. */
static bool may_run_on(pid_t tid, uint32_t kind)
{
	const size_t size = CPU_ALLOC_SIZE(65536);
	struct vperfctr_cpu_mask *mask = NULL;
	cpu_set_t *set = CPU_ALLOC(65536);
	bool may = true;
	unsigned int i;

	if (set && !sched_getaffinity(tid, size, set) && !vperfctr_kind_cpus(kind, &mask)) {
		may = false;
		for (i = 0; i < mask->nrwords * 32; i++)
			may |= mask->mask[i / 32] >> i % 32 & 1 && CPU_ISSET_S(i, size, set);
	}
	free(mask);
	CPU_FREE(set);
	return may;
}

int kind_choose(const char *asked, pid_t tid, struct vperfctr_info *info, kind_fn *try, void *arg,
		struct error *e)
{
	struct error later, *first = e;
	uint32_t kind = 0;
	int ret = -1;

	do {
		ret = vperfctr_info(info, kind);
		if (ret)
			return fail_device(e, ret);
		if (info->nrkinds > 1 && !asked && !may_run_on(tid, kind))
			continue;
		if (!kind_is(info, asked))
			continue;
		ret = try(info, arg, first);
		if (ret >= 0)
			return ret;
		/* Report why the first kind refused. */
		first = &later;
	} while (++kind < info->nrkinds);

	if (first == e && asked)
		return fail_no_kind(e, asked);
	if (first == e)
		return fail_no_cpu(e);
	return -1;
}
