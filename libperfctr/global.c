// SPDX-License-Identifier: LGPL-2.1-or-later
/* Counters of CPUs instead of threads: the module has none, so each call fails with ENOSYS. */
#include "internal.h"

struct gperfctr *gperfctr_open(void)
{
	errno = ENOSYS;
	return NULL;
}

void gperfctr_close(struct gperfctr *g)
{
	(void)g;
}

int gperfctr_control(const struct gperfctr *g, struct gperfctr_cpu_control *control)
{
	(void)g;
	(void)control;
	return __perfctr_result(-ENOSYS);
}

int gperfctr_read(const struct gperfctr *g, struct gperfctr_cpu_state *state)
{
	(void)g;
	(void)state;
	return __perfctr_result(-ENOSYS);
}

int gperfctr_stop(const struct gperfctr *g)
{
	(void)g;
	return __perfctr_result(-ENOSYS);
}

int gperfctr_start(const struct gperfctr *g, unsigned int interval_usec)
{
	(void)g;
	(void)interval_usec;
	return __perfctr_result(-ENOSYS);
}

int gperfctr_info(const struct gperfctr *g, struct perfctr_info *info)
{
	(void)g;
	(void)info;
	return __perfctr_result(-ENOSYS);
}

struct perfctr_cpus_info *gperfctr_cpus_info(const struct gperfctr *g)
{
	(void)g;
	errno = ENOSYS;
	return NULL;
}
