// SPDX-License-Identifier: GPL-2.0
/*
 * In the place of libvperfctr-event: counters of one name, whose reads return 1, 2 and so on, or
 * fail if the name is an error's number.  A handle that is used when it is closed, or by another thread,
 * ends the process.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

struct vperfctr {
	pthread_t owner;
	uint64_t reads;
	char name[64];
	int open;
};

int vperfctr_count(struct vperfctr **v, const char *names, unsigned int flags, void *why);
const char *vperfctr_counter_name(const struct vperfctr *v, unsigned int i);
unsigned int vperfctr_backend(const struct vperfctr *v);
int vperfctr_read(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc, unsigned int nr);
int vperfctr_read_soft(struct vperfctr *v, uint64_t soft, uint64_t *value);
int vperfctr_reset(struct vperfctr *v);
void vperfctr_close(struct vperfctr *v);

static void check(const struct vperfctr *v)
{
	if (!v->open || !pthread_equal(v->owner, pthread_self()))
		abort();
}

int vperfctr_count(struct vperfctr **v, const char *names, unsigned int flags, void *why)
{
	unsigned int i;

	(void)flags;
	(void)why;
	/* It is never freed, so that a later use of it is seen. */
	*v = calloc(1, sizeof(**v));
	for (i = 0; names[i] && names[i] != ',' && i < sizeof((*v)->name) - 1; i++)
		(*v)->name[i] = names[i];
	(*v)->owner = pthread_self();
	(*v)->open = 1;
	return 0;
}

const char *vperfctr_counter_name(const struct vperfctr *v, unsigned int i)
{
	check(v);
	return i ? NULL : v->name;
}

unsigned int vperfctr_backend(const struct vperfctr *v)
{
	check(v);
	return 0;
}

int vperfctr_read(struct vperfctr *v, uint64_t *tsc, uint64_t *pmc, unsigned int nr)
{
	(void)tsc;
	check(v);
	if (nr)
		pmc[0] = ++v->reads;
	return -atoi(v->name);
}

int vperfctr_read_soft(struct vperfctr *v, uint64_t soft, uint64_t *value)
{
	(void)soft;
	check(v);
	*value = ++v->reads;
	return 0;
}

int vperfctr_reset(struct vperfctr *v)
{
	check(v);
	return 0;
}

void vperfctr_close(struct vperfctr *v)
{
	if (!v)
		return;
	check(v);
	v->open = 0;
}
