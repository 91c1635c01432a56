// SPDX-License-Identifier: LGPL-2.1-or-later
/* Look up events in libpfm4. */
#include <perfmon/pfmlib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "family.h"

static bool ready;

static void initialize(void)
{
	ready = pfm_initialize() == PFM_SUCCESS;
}

/* Initialize libpfm4 at the first use only: many commands do not run that long. */
static bool pfm_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, initialize);
	return ready;
}

/* libpfm4's names for the kinds of cores of hybrid processors, and bits 31-24 of core_type. */
static const struct {
	const char *name;
	unsigned int type;
} kinds[] = {
	{ "adl_glc", 0x40 },
	{ "adl_grt", 0x20 },
};

static bool is_of_kind(const pfm_pmu_info_t *pmu, const struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; info->core_type && i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(pmu->name, kinds[i].name))
			return kinds[i].type == info->core_type >> 24;
	return true;
}

/* True if the i-th PMU of libpfm4 is that of this processor's cores. */
static bool get_cores(int i, const struct vperfctr_info *info, pfm_pmu_info_t *pmu)
{
	/* An old name of Zen 1, which is also present under its new name. */
	if (i == PFM_PMU_AMD64_FAM17H)
		return false;
	memset(pmu, 0, sizeof(*pmu));
	pmu->size = sizeof(*pmu);
	return pfm_get_pmu_info((pfm_pmu_t)i, pmu) == PFM_SUCCESS && pmu->is_present &&
	       pmu->type == PFM_PMU_TYPE_CORE && is_of_kind(pmu, info);
}

const char *__vperfctr_pfm_processor(const struct vperfctr_info *info)
{
	pfm_pmu_info_t pmu;
	const char *name = NULL;
	int i;

	if (!pfm_ready())
		return NULL;
	/* "ix86arch", Intel's architectural events, is present in addition. */
	for (i = 0; i < PFM_PMU_MAX; i++)
		if (get_cores(i, info, &pmu) && (!name || i != PFM_PMU_INTEL_X86_ARCH))
			name = pmu.name;
	return name;
}

static bool get_pmu(int idx, pfm_pmu_info_t *pmu)
{
	pfm_event_info_t event = { .size = sizeof(event) };

	memset(pmu, 0, sizeof(*pmu));
	pmu->size = sizeof(*pmu);
	return pfm_get_event_info(idx, PFM_OS_NONE, &event) == PFM_SUCCESS &&
	       pfm_get_pmu_info(event.pmu, pmu) == PFM_SUCCESS;
}

static int copy_codes(struct vperfctr_event *event, const char *name,
		      const struct vperfctr_info *info, const pfm_pmu_encode_arg_t *arg,
		      struct vperfctr_why *why)
{
	pfm_event_info_t found = { .size = sizeof(found) };
	struct pfm_event pfm = { name, "", arg->codes, arg->count };
	pfm_pmu_info_t pmu;

	if (get_pmu(arg->idx, &pmu) &&
	    (pmu.pmu == PFM_PMU_PERF_EVENT || pmu.pmu == PFM_PMU_PERF_EVENT_RAW))
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' is a name of perf's, which stands for other events on each processor",
					 name);
	if (!get_pmu(arg->idx, &pmu) || pmu.type != PFM_PMU_TYPE_CORE)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' is no event of the processor's cores, which are all that can be counted per thread",
					 name);
	if (!is_of_kind(&pmu, info))
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' is an event of another kind of CPUs than number %u",
					 name, info->kind);
	if (arg->count > 2)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' needs more registers than can be set: leave it out",
					 name);
	if (pfm_get_event_info(arg->idx, PFM_OS_NONE, &found) == PFM_SUCCESS)
		pfm.event = found.name;
	return __vperfctr_family(info)->take_pfm(event, &pfm, why);
}

int __vperfctr_pfm_encode(struct vperfctr_event *event, const char *name,
			  const struct vperfctr_info *info, struct vperfctr_why *why)
{
	pfm_pmu_encode_arg_t arg = { .size = sizeof(arg) };
	const char *processor;
	char full[300];
	int plm = (event->modes & VPERFCTR_MODE_USER ? PFM_PLM3 : 0) |
		  (event->modes & VPERFCTR_MODE_KERNEL ? PFM_PLM0 : 0);
	int ret;

	if (!__vperfctr_family(info)->take_pfm || !pfm_ready())
		return 1;
	/* Both kinds have some names: prefer this kind's event. */
	processor = info->core_type && !strstr(name, "::") ? __vperfctr_pfm_processor(info) : NULL;
	snprintf(full, sizeof(full), "%s%s%s", processor ? processor : "", processor ? "::" : "",
		 name);
	ret = pfm_get_os_event_encoding(full, plm, PFM_OS_NONE, &arg);
	switch (ret) {
	case PFM_SUCCESS:
		ret = copy_codes(event, name, info, &arg, why);
		free(arg.codes);
		return ret;
	case PFM_ERR_NOTFOUND:
		return 1;
	default:
		return __vperfctr_refuse(why, -EINVAL, "event '%s': %s", name, pfm_strerror(ret));
	}
}

/* True if this is an architectural event that the processor lists by the same name. */
static bool is_repeated(const pfm_event_info_t *event, const char *processor)
{
	char name[300];

	if (event->pmu != PFM_PMU_INTEL_X86_ARCH || !processor || !strcmp(processor, "ix86arch"))
		return false;
	snprintf(name, sizeof(name), "%s::%s", processor, event->name);
	return pfm_find_event(name) >= 0;
}

/* Call fn until it returns nonzero, and return that.  Set *known if there was an event. */
static int for_each_event(const struct vperfctr_info *info,
			  int (*fn)(const pfm_event_info_t *event, int idx, void *arg), void *arg,
			  bool *known)
{
	const char *processor = __vperfctr_pfm_processor(info);
	pfm_pmu_info_t pmu;
	int i, idx, ret;

	*known = false;
	if (!__vperfctr_family(info)->take_pfm || !pfm_ready())
		return 0;
	for (i = 0; i < PFM_PMU_MAX; i++) {
		if (!get_cores(i, info, &pmu))
			continue;
		for (idx = pmu.first_event; idx != -1; idx = pfm_get_event_next(idx)) {
			pfm_event_info_t event = { .size = sizeof(event) };

			*known = true;
			if (pfm_get_event_info(idx, PFM_OS_NONE, &event) != PFM_SUCCESS ||
			    is_repeated(&event, processor))
				continue;
			ret = fn(&event, idx, arg);
			if (ret)
				return ret;
		}
	}
	return 0;
}

struct names {
	void (*fn)(const char *name, void *arg);
	void *arg;
};

static int call_with_name(const pfm_event_info_t *event, int idx, void *arg)
{
	const struct names *n = arg;

	(void)idx;
	n->fn(event->name, n->arg);
	return 0;
}

void __vperfctr_pfm_names(const struct vperfctr_info *info,
			  void (*fn)(const char *name, void *arg), void *arg)
{
	struct names n = { fn, arg };
	bool known;

	for_each_event(info, call_with_name, &n, &known);
}

struct descriptions {
	int (*fn)(const char *name, const char *description, void *arg);
	void *arg;
};

static int call_with_descriptions(const pfm_event_info_t *event, int idx, void *arg)
{
	const struct descriptions *d = arg;
	char name[256], description[1024];
	bool any = false;
	int i, ret;

	for (i = 0; i < event->nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (pfm_get_event_attr_info(idx, i, PFM_OS_NONE, &attr) != PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", event->name, attr.name);
		snprintf(description, sizeof(description), "%s: %s", event->desc, attr.desc);
		ret = d->fn(name, description, d->arg);
		if (ret)
			return ret;
		any = true;
	}
	return any ? 0 : d->fn(event->name, event->desc, d->arg);
}

int __vperfctr_pfm_list(const struct vperfctr_info *info,
			int (*fn)(const char *name, const char *description, void *arg),
			void *arg, bool *known)
{
	struct descriptions d = { fn, arg };

	return for_each_event(info, call_with_descriptions, &d, known);
}
