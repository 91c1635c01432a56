// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the module or perf_event counts, as --backend and VPERFCTR_BACKEND say.  If neither is
 * given, stat/measure.c and record/sample.c try the module first.
 */
#include <stdlib.h>

#include "perfex.h"

bool backend_perf_can(const struct count_options *c)
{
	return !c->kind && c->split != SPLIT_KIND;
}

int backend_parse(enum backend *backend, const char *name, const char *what, struct error *e)
{
	static const char *const names[] = {
		[BACKEND_AUTO] = "auto", [BACKEND_MODULE] = "module", [BACKEND_PERF] = "perf",
	};
	unsigned int i;

	for (i = BACKEND_AUTO; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]))
			continue;
		*backend = (enum backend)i;
		return 0;
	}
	return fail_with(e, "%s is '%.40s', and may be auto, module or perf", what, name);
}

int backend_choose(enum backend *backend, const struct count_options *c, struct error *e)
{
	const char *variable = getenv("VPERFCTR_BACKEND");

	*backend = c->backend ? c->backend : BACKEND_AUTO;
	if (!c->backend && variable && *variable &&
	    backend_parse(backend, variable, "the environment variable VPERFCTR_BACKEND", e))
		return -1;
	if (*backend == BACKEND_PERF && !backend_perf_can(c))
		return fail_with(e, "perf_event does not know kinds of CPUs: --kind and --per-kind need the module");
	return 0;
}
