/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The differences between families of processors: a file and an entry in families.c for each.
 *
 * event-names.c goes from a name to an event, and choose-counters.c from events to counters.
 * Both are the same for all families, and ask the family where the answer depends on it.
 */
#ifndef VPERFCTR_EVENT_FAMILY_H
#define VPERFCTR_EVENT_FAMILY_H

#include "../perf.h"
#include "event.h"

#pragma GCC visibility push(hidden)

/* An event that has the same name on all processors, as this family counts it. */
struct generic_event {
	uint32_t arch;		/* VPERFCTR_EVENT_*; 0 ends a table */
	uint64_t code, aux;
	uint64_t general;	/* counters that can count it, whether or not they exist */
	uint64_t fixed;
	/*
	 * The fixed counters count something else than the code, and so can only replace the
	 * name: Intel's fixed counter 2 counts reference cycles at another rate than code 013c.
	 */
	bool name_only;
};

/* An event as libpfm4 has it. */
struct pfm_event {
	const char *name;	/* as the user wrote it */
	const char *event;	/* without unit masks, or "" */
	const uint64_t *codes;
	int nrcodes;
};

struct family {
	uint32_t cpu_type;	/* VPERFCTR_CPU_* */
	bool (*has)(const struct vperfctr_info *info);	/* NULL: all of that type */
	const struct generic_event *generic;

	/*
	 * The modes: bits of evntsel, and of a fixed counter's evntsel.  With excludes, a bit
	 * leaves out its mode.  Without any bits, the counters count in both modes.  With
	 * modes_in_aux, the bits are those of aux.
	 */
	uint64_t user, kernel, fixed_user, fixed_kernel;
	bool excludes, modes_in_aux;
	uint64_t enable;	/* is set for each general counter, and may be set by a name */

	/* The bits of evntsel that a name may set, besides the modes, and their names. */
	uint64_t fields;
	uint64_t (*fields_of)(const struct vperfctr_info *info);	/* if they differ */
	const char *fields_text;
	const char *modes_text;	/* the names of the modes' bits and of enable; messages have it first */
	const char *raw_text;	/* the form of a raw code; NULL: there are no raw codes */
	const char *example;	/* a code */

	/* Take event->code of a raw name, or refuse it.  NULL: it is one of evntsel's fields. */
	int (*take_raw)(struct vperfctr_event *event, const char *name, struct vperfctr_why *why);

	/* Take 0xEVNTSEL and event->aux, or refuse them.  NULL: as fields and modes say. */
	int (*take_register)(struct vperfctr_event *event, const char *name, uint64_t evntsel,
			     struct vperfctr_why *why);

	/* Take libpfm4's codes, or refuse them.  NULL: libpfm4 does not know the family. */
	int (*take_pfm)(struct vperfctr_event *event, const struct pfm_event *pfm,
			struct vperfctr_why *why);

	/*
	 * Called for each code, before counters(): set which counters count event->code.
	 * Returns false for a code that is not special.  NULL: no code is.
	 */
	bool (*is_special)(struct vperfctr_event *event);

	/*
	 * Find the general counters that can count a code that is not special, and no generic
	 * event's.  Returns false if that is not known, else true and a mask of them, which is 0
	 * if there is none.
	 */
	bool (*counters)(const struct vperfctr_info *info, uint64_t code, uint64_t *general);

	/*
	 * The codes of generic events are on all counters what they are, also with the upper
	 * bits that an event select has: edge, inv and cmask.
	 */
	bool is_architectural;

	/* Called at the end for each name but generic ones.  Returns 0, or refuses the event. */
	int (*finish)(struct vperfctr_event *event, const char *name,
		      const struct vperfctr_info *info, struct vperfctr_why *why);

	/* Called if the user does not name a counter: leave out those that need their name. */
	void (*leave_choice)(struct vperfctr_event *event);

	/*
	 * Translate an event whose name is not generic to perf_event's.  *to has code and aux in
	 * config and config1.  NULL: these are perf_event's, too.
	 */
	void (*to_perf)(struct __vperfctr_perf_event *to, const struct vperfctr_event *event);

	/*
	 * Called when each event has a counter: change counters and codes so that the events
	 * fit together, or refuse them.  NULL: they fit.
	 */
	int (*place)(const struct vperfctr_event *event, unsigned int nr, uint32_t *counter_of,
		     uint64_t *code_of, const struct vperfctr_info *info,
		     struct vperfctr_why *why);
};

extern const struct family __vperfctr_intel, __vperfctr_p6, __vperfctr_amd, __vperfctr_p4;
extern const struct family __vperfctr_p5, __vperfctr_cyrix, __vperfctr_winchip_c6;
extern const struct family __vperfctr_winchip, __vperfctr_c3;
extern const struct family __vperfctr_arm, __vperfctr_riscv, __vperfctr_riscv_modeless;
extern const struct family __vperfctr_power, __vperfctr_ppc32;

/* Return the processor's family. */
const struct family *__vperfctr_family(const struct vperfctr_info *info);

/* Set the type and the fixed counters of the processor that runs this, without the module. */
void __vperfctr_set_native(struct vperfctr_info *info);

/* ---- choose-counters.c: names of events in messages ---- */

struct event_list {
	char text[384];
	unsigned int nr;
	bool full;
};

/* Add the event's name to the list, which ends in "..." when it is full. */
void __vperfctr_list_event(struct event_list *l, const struct vperfctr_event *event);

#pragma GCC visibility pop

#endif /* VPERFCTR_EVENT_FAMILY_H */
