// SPDX-License-Identifier: GPL-2.0
/* Mean and deviation of several runs. */
#include <math.h>

#include "perfex.h"

/* Welford's algorithm: exact even if the mean is large and the differences are small. */
static void spread_add(struct spread *s, double x)
{
	double difference = x - s->mean;

	s->mean += difference / ++s->nr;
	s->squares += difference * (x - s->mean);
}

void series_add(struct series *s, const struct sums *sums, const struct result *r)
{
	unsigned int i;

	s->nr++;
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		spread_add(&s->pmc[i], (double)sums->pmc[i]);
	for (i = 0; i < NR_SOFT; i++)
		spread_add(&s->soft[i], (double)sums->soft[i]);
	spread_add(&s->tsc, (double)sums->tsc);
	spread_add(&s->elapsed, r->elapsed);
	spread_add(&s->cpu_time, r->cpu_time);
}

void spread_merge(struct spread *to, const struct spread *s)
{
	double difference = s->mean - to->mean, nr = to->nr + s->nr;

	if (!s->nr)
		return;
	to->squares += s->squares + difference * difference * to->nr * s->nr / nr;
	to->mean += difference * s->nr / nr;
	to->nr += s->nr;
}

double spread_percent(const struct spread *s)
{
	if (s->nr < 2 || s->mean <= 0)
		return 0;
	return 100 * sqrt(s->squares / (s->nr - 1) / s->nr) / s->mean;
}
