/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvperfctr-event: from the names of events to counters
 *
 * A library of its own, as it needs libpfm4, which knows the events of some hundred
 * processors: who only reads counters links with libvperfctr and needs neither.
 * To count two events:
 *
 *	struct vperfctr_info info;
 *	struct vperfctr_event event[2];
 *	struct vperfctr_ctr ctr[2];
 *	struct vperfctr_control control;
 *	struct vperfctr_why why;
 *
 *	vperfctr_info(&info, 0);
 *	if (vperfctr_event(&event[0], "instructions:u", &info, &why) ||
 *	    vperfctr_event(&event[1], "LONGEST_LAT_CACHE:MISS:u", &info, &why) ||
 *	    vperfctr_event_assign(event, 2, &info, ctr, &why))
 *		errx(1, "%s", why.text);
 *	vperfctr_control_init(&control, ctr);
 *	vperfctr_control_add_ctr(&control, &ctr[0]);
 *	vperfctr_control_add_ctr(&control, &ctr[1]);
 *	vperfctr_control(v, &control);
 *
 * Functions return 0 or a negative error number, and say in *why, unless that is
 * NULL, what was wrong.  Any thread may call them at any time.  libpfm4 is
 * initialised when the first name is not a generic one; it looks at the environment
 * (LIBPFM_FORCE_PMU is the name of a processor whose events it then knows).
 */
#ifndef VPERFCTR_EVENT_H
#define VPERFCTR_EVENT_H

#include <vperfctr.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/* Why something was refused: a line without its end. */
struct vperfctr_why {
	char text[1024];
};

/* modes */
#define VPERFCTR_MODE_USER	0x01
#define VPERFCTR_MODE_KERNEL	0x02

struct vperfctr_event {
	char name[256];		/* as asked for; with its mode, unless it is both */
	uint64_t code;		/* event select register, without USR, OS, INT and EN */
	uint64_t aux;		/* the second register that it needs, or 0 */
	uint64_t general;	/* bit i: general counter i takes it */
	uint64_t fixed;		/* bit i: fixed counter i takes it */
	uint32_t modes;		/* VPERFCTR_MODE_*: where it is counted */
	uint32_t modes_left;	/* 1: the name did not say where */
	uint32_t arch;		/* the VPERFCTR_EVENT_* that it is, or 0 */
	uint32_t reserved;
};

/*
 * What a name stands for, on a processor, or the kind of its CPUs, that `info` (of
 * vperfctr_info()) is about.  The name is one of
 *
 *	generic		instructions, cycles (cpu-cycles), branches
 *			(branch-instructions), branch-misses, ref-cycles,
 *			cache-references, cache-misses
 *	libpfm4's	EVENT:UMASK:ATTRIBUTE=VALUE; those of this processor
 *	raw		rUUEE, hexadecimal: unit mask, then event select, as perf has it.
 *			Digits further to the left are the bits of the event select
 *			register from bit 16: edge (18), inv (23), cmask (24-31), and
 *			on AMD the event select's bits 8 to 11 (32-35).  On Arm
 *			rEEEE, the event's number
 *	register	0xEVNTSEL or 0xEVNTSEL/0xAUX: the event select register as a
 *			whole, and a second one that the event needs
 *
 * followed by :u (user mode), :k (kernel mode) or :uk (both), or by nothing: both
 * then, if info's features let the caller count kernel mode, else user mode.
 * After that, @N asks for general counter N, @fixedN for fixed counter N.
 *
 *	-ENOENT	no such event is known of this processor
 *	-EINVAL	the name is malformed; or says what cannot be counted for a thread (the
 *		core's other threads, another unit than a core); or asks for a
 *		counter that there is not, or that cannot count it
 *	-EOPNOTSUPP  the event is known, and this processor has nothing to count it
 *	-EPERM	kernel mode is asked for, and the caller may not count it
 *	-ENAMETOOLONG
 */
int vperfctr_event(struct vperfctr_event *event, const char *name,
		   const struct vperfctr_info *info, struct vperfctr_why *why);

/*
 * Find a counter for each of nr events, and fill in ctr[i] for event[i]: map,
 * evntsel and aux.  Whatever the order of the events is, counters are found if
 * there are such.  All are a-mode counters; for i-mode ones, which come last in a
 * control, the caller sets ireset.
 *
 * Events that need the same second register need the same value in it.  Intel's
 * OFFCORE_RESPONSE_0 and _1 (01B7H, 01BBH) have one each and are else the same: where
 * there are both either may be counted as the other.
 *
 *	-ENOSPC	they do not fit the counters, or the second registers; *why has the
 *		names of those that clash
 *	-EOPNOTSUPP  there are no counters at all
 *	-EINVAL	nr is greater than VPERFCTR_MAX_CTRS
 */
int vperfctr_event_assign(const struct vperfctr_event *event, unsigned int nr,
			  const struct vperfctr_info *info, struct vperfctr_ctr *ctr,
			  struct vperfctr_why *why);

/*
 * Call fn for each event by name, in user mode: the generic ones, then libpfm4's, each with
 * each of its unit masks.  An event that no counter takes has neither general nor
 * fixed ones.  Ends when fn returns another value than 0, and returns that.
 *
 *	-ENOENT	libpfm4 does not know this processor: there were only generic ones
 */
int vperfctr_event_list(const struct vperfctr_info *info,
			int (*fn)(const struct vperfctr_event *event, const char *description,
				  void *arg),
			void *arg);

/*
 * Count events by name, for the calling thread: open a state for it and a handle,
 * choose counters, and start.  names is a list of names as vperfctr_event() takes
 * them, separated by commas.  Counter i of the handle counts the i-th of them.  On a
 * hybrid processor the names are those of kind 0.  vperfctr_close() ends the counting,
 * as the state is a transient one.
 *
 * Returns 0, or a negative error number; then *v is NULL and *why, unless why is NULL,
 * says in words what is wrong:
 *
 *	-EEXIST	the thread has a state: see "Two users in one thread" in <vperfctr.h>
 *	-EBUSY	perf_event or the NMI watchdog holds the counters
 *	any of vperfctr_info(), vperfctr_event(), vperfctr_event_assign(),
 *	vperfctr_open() and vperfctr_control()
 */
int vperfctr_event_open(struct vperfctr **v, const char *names, struct vperfctr_why *why);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* VPERFCTR_EVENT_H */
