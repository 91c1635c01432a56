// SPDX-License-Identifier: GPL-2.0
/* Event names that libpfm4 knows. */
#include <perfmon/pfmlib.h>
#include <stdlib.h>

#include "perfex.h"

/* Loading its tables takes longer than running many a command: only if needed. */
static bool pfm_ready(void)
{
	static enum { UNTRIED, READY, FAILED } state;

	if (state == UNTRIED)
		state = pfm_initialize() == PFM_SUCCESS ? READY : FAILED;
	return state == READY;
}

static bool is_core_event(int idx)
{
	pfm_event_info_t event = { .size = sizeof(event) };
	pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

	return pfm_get_event_info(idx, PFM_OS_NONE, &event) == PFM_SUCCESS &&
	       pfm_get_pmu_info(event.pmu, &pmu) == PFM_SUCCESS &&
	       pmu.type == PFM_PMU_TYPE_CORE;
}

static int take_codes(struct event *event, const char *name,
		      const pfm_pmu_encode_arg_t *arg, struct error *e)
{
	uint64_t code = arg->codes[0];

	if (!is_core_event(arg->idx))
		return fail_with(e, "'%s' is no event of the processor's cores, which are all that can be counted per thread",
			    name);
	if (arg->count > 2)
		return fail_with(e, "'%s' needs more registers than can be set: leave it out", name);
	if (code & EVNTSEL_ANY)
		return fail_with(e, "'%s' would count what other threads do on the same core: leave the attribute 't' out",
			    name);
	/* The name may have attributes that say in which mode. */
	event->user = code & EVNTSEL_USR;
	event->kernel = code & EVNTSEL_OS;
	event->code = code & ~(uint64_t)(EVNTSEL_USR | EVNTSEL_OS | EVNTSEL_INT | EVNTSEL_EN);
	event->aux = arg->count > 1 ? arg->codes[1] : 0;
	return 0;
}

int pfm_encode(struct event *event, const char *name, struct error *e)
{
	pfm_pmu_encode_arg_t arg = { .size = sizeof(arg) };
	int plm = (event->user ? PFM_PLM3 : 0) | (event->kernel ? PFM_PLM0 : 0);
	int ret;

	if (!pfm_ready())
		return 1;
	ret = pfm_get_os_event_encoding(name, plm, PFM_OS_NONE, &arg);
	switch (ret) {
	case PFM_SUCCESS:
		ret = take_codes(event, name, &arg, e);
		free(arg.codes);
		return ret;
	case PFM_ERR_NOTFOUND:
		return 1;
	default:
		return fail_with(e, "event '%s': %s", name, pfm_strerror(ret));
	}
}

/* Call fn for each event of the processor's cores.  False: nothing is known of it. */
static bool for_each_event(void (*fn)(const pfm_event_info_t *event, int idx, void *arg), void *arg)
{
	bool any = false;
	int i, idx;

	if (!pfm_ready())
		return false;
	for (i = 0; i < PFM_PMU_MAX; i++) {
		pfm_pmu_info_t pmu = { .size = sizeof(pmu) };

		if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS || !pmu.is_present ||
		    pmu.type != PFM_PMU_TYPE_CORE)
			continue;
		for (idx = pmu.first_event; idx != -1; idx = pfm_get_event_next(idx)) {
			pfm_event_info_t event = { .size = sizeof(event) };

			if (pfm_get_event_info(idx, PFM_OS_NONE, &event) == PFM_SUCCESS)
				fn(&event, idx, arg);
			any = true;
		}
	}
	return any;
}

struct names {
	void (*fn)(const char *name, void *arg);
	void *arg;
};

static void call_with_name(const pfm_event_info_t *event, int idx, void *arg)
{
	const struct names *n = arg;

	(void)idx;
	n->fn(event->name, n->arg);
}

void pfm_for_each(void (*fn)(const char *name, void *arg), void *arg)
{
	struct names n = { fn, arg };

	for_each_event(call_with_name, &n);
}

struct descriptions {
	void (*fn)(const char *name, const char *description, void *arg);
	void *arg;
};

static void call_with_descriptions(const pfm_event_info_t *event, int idx, void *arg)
{
	const struct descriptions *d = arg;
	char name[256], description[1024];
	bool any = false;
	int i;

	for (i = 0; i < event->nattrs; i++) {
		pfm_event_attr_info_t attr = { .size = sizeof(attr) };

		if (pfm_get_event_attr_info(idx, i, PFM_OS_NONE, &attr) != PFM_SUCCESS ||
		    attr.type != PFM_ATTR_UMASK)
			continue;
		snprintf(name, sizeof(name), "%s:%s", event->name, attr.name);
		snprintf(description, sizeof(description), "%s: %s", event->desc, attr.desc);
		d->fn(name, description, d->arg);
		any = true;
	}
	if (!any)
		d->fn(event->name, event->desc, d->arg);
}

bool pfm_list(void (*fn)(const char *name, const char *description, void *arg), void *arg)
{
	struct descriptions d = { fn, arg };

	return for_each_event(call_with_descriptions, &d);
}
