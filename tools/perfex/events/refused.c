// SPDX-License-Identifier: GPL-2.0
/* Note the events that cannot be counted here, and why, so that the others are counted. */
#include <stdlib.h>

#include "perfex.h"
#include "refused.h"

int refusals_add(struct refusals *r, unsigned int before, enum refusal how, const char *name,
		 const char *why, struct error *e)
{
	struct refused *list = reallocarray(r->list, r->nr + 1, sizeof(*list));
	unsigned int at;

	if (!list)
		return fail_with(e, "out of memory");
	r->list = list;
	for (at = r->nr; at > 0 && list[at - 1].before > before; at--)
		list[at] = list[at - 1];
	list[at].before = before;
	list[at].how = how;
	snprintf(list[at].name, sizeof(list[at].name), "%s", name);
	snprintf(list[at].why, sizeof(list[at].why), "%s", why);
	r->nr++;
	return 0;
}

void refusals_free(struct refusals *r)
{
	free(r->list);
	memset(r, 0, sizeof(*r));
}

int refusals_take(struct refusals *r, struct events *events, unsigned int i, enum refusal how,
		  const char *why, struct error *e)
{
	char name[sizeof(events->ev[i].name)];
	unsigned int k;

	strcpy(name, events->ev[i].name);
	for (k = 0; k < r->nr; k++)
		r->list[k].before -= r->list[k].before > i;
	events->nr--;
	for (k = i; k < events->nr; k++) {
		events->ev[k] = events->ev[k + 1];
		events->group[k] = events->group[k + 1];
	}
	return refusals_add(r, i, how, name, why, e);
}

const char *refusal_text(const struct refused *r)
{
	return r->how == NOT_PERMITTED ? "<not permitted>" : "<not supported>";
}

/* True if an earlier one has the same reason. */
static bool is_repeated(const struct refusals *r, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (!strcmp(r->list[k].why, r->list[i].why))
			return true;
	return false;
}

static void print_reason(FILE *f, const struct refusals *r, unsigned int i)
{
	unsigned int k;

	/* The reason may have the name already. */
	if (!strstr(r->list[i].why, r->list[i].name)) {
		for (k = i; k < r->nr; k++)
			if (k == i || !strcmp(r->list[k].why, r->list[i].why))
				fprintf(f, "%s%s", k == i ? "" : ", ", r->list[k].name);
		fputs(": ", f);
	}
	fputs(r->list[i].why, f);
}

int refusals_fail(const struct refusals *r, struct error *e)
{
	char *text = NULL;
	unsigned int i;
	size_t size;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return fail_with(e, "out of memory");
	for (i = 0; i < r->nr; i++) {
		if (is_repeated(r, i))
			continue;
		fputs(i ? "; " : "", f);
		print_reason(f, r, i);
	}
	fclose(f);
	fail_with(e, "%s", text ? text : "out of memory");
	free(text);
	return -1;
}

void refusals_print(FILE *f, const struct refusals *r, const char *prefix, const char *end)
{
	unsigned int i;

	for (i = 0; i < r->nr; i++) {
		if (is_repeated(r, i))
			continue;
		fputs(prefix, f);
		print_reason(f, r, i);
		fputs(end, f);
	}
}
