/* SPDX-License-Identifier: GPL-2.0 */
/* Events that exist and cannot be counted here: the others are. */
#ifndef PERFEX_REFUSED_H
#define PERFEX_REFUSED_H

#include <stdio.h>
#include <vperfctr-event.h>

enum refusal { NOT_SUPPORTED, NOT_PERMITTED };

struct refused {
	unsigned int before;	/* its row is above that of this event */
	enum refusal how;
	char name[sizeof(((struct vperfctr_event *)0)->name)];
	char why[400];
};

struct refusals {
	unsigned int nr;
	struct refused *list;	/* in the order of the rows; allocated */
};

struct error;
struct events;

/*
 * Add an event that is refused, which stands before event `before`.  Return: 0, or -1 with *e if
 * there is no memory.
 */
int refusals_add(struct refusals *r, unsigned int before, enum refusal how, const char *name,
		 const char *why, struct error *e);
void refusals_free(struct refusals *r);

/* Take event i out of the list, as it is refused. */
int refusals_take(struct refusals *r, struct events *events, unsigned int i, enum refusal how,
		  const char *why, struct error *e);

/* Return: what stands in the place of the count. */
const char *refusal_text(const struct refused *r);

/* Fill in *e with all of them.  Return: -1 */
int refusals_fail(const struct refusals *r, struct error *e);

/* Print a line for each reason, with the events that it is for.  end: of the line. */
void refusals_print(FILE *f, const struct refusals *r, const char *prefix, const char *end);

#endif /* PERFEX_REFUSED_H */
