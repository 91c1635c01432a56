/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvperfctr-event: translate the names of events to counters
 *
 * This is a separate library, as it needs libpfm4, which knows the events of about a
 * hundred processors.  A program that only reads counters links with libvperfctr and
 * needs neither.  vperfctr_event_open() does all in one call.  Its steps, for two events:
 *
 *	struct vperfctr_info info;
 *	struct vperfctr_event event[2];
 *	struct vperfctr_ctr ctr[2];
 *	struct vperfctr_control control;
 *	struct vperfctr_why why = { "the module is not loaded" };
 *
 *	if (vperfctr_info(&info, 0) ||
 *	    vperfctr_event(&event[0], "instructions:u", &info, &why) ||
 *	    vperfctr_event(&event[1], "LONGEST_LAT_CACHE:MISS:u", &info, &why) ||
 *	    vperfctr_event_assign(ctr, event, 2, &info, &why))
 *		errx(1, "%s", why.text);
 *	vperfctr_control_init(&control, ctr);
 *	vperfctr_control_add_ctr(&control, &ctr[0]);
 *	vperfctr_control_add_ctr(&control, &ctr[1]);
 *	vperfctr_control(v, &control);
 *
 * Functions return 0 or a negative error number.  After an error *why (see <vperfctr.h>)
 * has the reason, unless why is NULL.  Any thread may call them at any time.  libpfm4 is
 * initialized at the first name that is not a generic one.  It reads the environment:
 * LIBPFM_FORCE_PMU is the name of a processor whose events it uses.
 */
#ifndef VPERFCTR_EVENT_H
#define VPERFCTR_EVENT_H

#include <vperfctr.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/* modes */
#define VPERFCTR_MODE_USER	0x01
#define VPERFCTR_MODE_KERNEL	0x02

/*
 * code has neither modes nor enable bits: USR, OS, INT and EN are clear, and on the Pentium 4,
 * where it is the CCCR, enable and active thread.
 */
struct vperfctr_event {
	char name[256];		/* as given, with its mode unless it counts both */
	uint64_t code;		/* event select register, see above */
	uint64_t aux;		/* value of the second register that it needs, or 0 */
	uint64_t general;	/* bit i: general counter i can count it */
	uint64_t fixed;		/* bit i: fixed counter i can count it */
	uint32_t modes;		/* VPERFCTR_MODE_* in which it is counted */
	uint32_t modes_left;	/* 1: the name did not give the modes */
	uint32_t arch;		/* VPERFCTR_EVENT_* if it is a generic event, or 0 */
	uint32_t soft;		/* VPERFCTR_SOFT_* if it is a software event, or 0 */
	uint32_t unknown;	/* 1: which of general can count it is not known */
	uint32_t reserved;
};

/*
 * Translate a name to *event, for the processor, or the kind of its CPUs, that *info (of
 * vperfctr_info()) describes.  The name is one of
 *
 *	generic		instructions, cycles (cpu-cycles), branches
 *			(branch-instructions), branch-misses, ref-cycles,
 *			cache-references, cache-misses
 *	libpfm4's	EVENT:UMASK:ATTRIBUTE=VALUE, of this processor
 *	raw		rUUEE, hexadecimal: unit mask, then event select, as in perf.
 *			Digits further to the left are bits of the event select
 *			register from bit 16 on: edge (18), inv (23), cmask (24-31), and
 *			on AMD bits 8 to 11 of the event select (32-35).  On Arm
 *			rEEEE, the event's number.  On POWER8 to 12 perf's code, with the
 *			counter in bits 16 to 19: r1c040 is for PMC1
 *	register	0xEVNTSEL or 0xEVNTSEL/0xAUX: the whole event select register,
 *			and a second one that the event needs.  On the Pentium 4, which has
 *			no raw events, 0xCCCR/0xESCR
 *	software	task-clock, context-switches (cs), cpu-migrations (migrations),
 *			page-faults (faults), minor-faults, major-faults: as perf.  They
 *			take no counter, and count in all modes
 *
 * All but software events may be followed by :u (user mode), :k (kernel mode) or :uk
 * (both).  Without these, both are counted if info's features allow the caller to count
 * kernel mode, and user mode if not.  A final @N asks for general counter N, @fixedN for
 * fixed counter N.
 *
 * Many events can be counted by some counters only: event->general and event->fixed say by
 * which.  The library knows them for Intel's processors from Core to Granite Rapids, Clearwater
 * Forest and Nova Lake, the Pentium 4, AMD's up to family 1AH, Arm's PMUv3, 64-bit RISC-V,
 * whose firmware says it, POWER, where the code has the counter, and generic events.  Another
 * processor's event, or one that Intel's list of the processor's events lacks, is refused unless
 * the name ends with @N: a counter that cannot count it would count wrong.
 *
 *	-ENOENT	this processor has no event of that name
 *	-EINVAL	the name is malformed; or asks for something that cannot be counted
 *		for a thread (other threads of the core, a unit outside the cores); or
 *		asks for a counter that does not exist or cannot count the event; or
 *		gives a software event modes or a counter
 *	-EOPNOTSUPP  this processor has no counter for the event; or it is not known which
 *		counters can count it, and the name has no @; or the module does not count
 *		this software event
 *	-EPERM	kernel mode is asked for, and the caller may not count it
 *	-ENAMETOOLONG  the name does not fit event->name
 *	-EINVAL	(also) info->size is none that vperfctr_info() sets; or size is below that of
 *		the first release, or above 4096
 */
int vperfctr_event_sized(struct vperfctr_event *event, size_t size, const char *name,
			 const struct vperfctr_info *info, struct vperfctr_why *why);
__VPERFCTR_PASS_SIZE int vperfctr_event(struct vperfctr_event *event, const char *name,
					const struct vperfctr_info *info, struct vperfctr_why *why)
{
	return vperfctr_event_sized(event, sizeof(*event), name, info, why);
}

/*
 * Choose a counter for each of nr events, and set map, evntsel and aux of ctr[i] for
 * event[i].  For a software event, ctr[i] is zero: vperfctr_control_add_soft() adds
 * event[i].soft to the control.  If the events fit the counters at all, in whatever order,
 * a choice is found.
 * vperfctr_control_add_ctr() and vperfctr_control_add_ctr_imode() append ctr[i] to a
 * control.  The i-mode counters come last there.
 *
 * Events that need the same second register fit together if they need the same value in
 * it.  Intel's OFFCORE_RESPONSE_0 and _1 (01B7H, 01BBH) have one register each and are
 * otherwise the same.  One may be counted as the other if the processor has both.  On the
 * Pentium 4, counters share the second registers (ESCRs).
 *
 *	-ENOSPC	the events do not fit the counters, or the second registers; *why
 *		names those that clash
 *	-EOPNOTSUPP  the processor has no counters, or it is not known which can count an
 *		event
 *	-EINVAL	nr is greater than VPERFCTR_MAX_CTRS; or a size is none, as above
 *	-E2BIG	an event has fields of a later library that are not zero
 */
int vperfctr_event_assign_sized(struct vperfctr_ctr *ctr, size_t ctr_size,
				const struct vperfctr_event *event, size_t event_size,
				unsigned int nr, const struct vperfctr_info *info,
				struct vperfctr_why *why);
__VPERFCTR_PASS_SIZE int vperfctr_event_assign(struct vperfctr_ctr *ctr,
					       const struct vperfctr_event *event, unsigned int nr,
					       const struct vperfctr_info *info,
					       struct vperfctr_why *why)
{
	return vperfctr_event_assign_sized(ctr, sizeof(*ctr), event, sizeof(*event), nr, info, why);
}

/*
 * Call fn for each event, in user mode: the generic ones, the software events, then
 * libpfm4's, each with each of its unit masks.  A hardware event that no counter can count
 * has neither general nor fixed counters.  unknown is 1 if the name must end with @N.
 * Ends when fn returns nonzero, and returns that value; otherwise returns 0.
 *
 *	-ENOENT	libpfm4 does not know this processor: only generic and software events were
 *		listed
 *	-EINVAL	a size is none, as above: nothing was listed
 *	-ENOMEM	nothing was listed
 */
int vperfctr_event_list_sized(const struct vperfctr_info *info, size_t size,
			      int (*fn)(const struct vperfctr_event *event,
					const char *description, void *arg),
			      void *arg);
__VPERFCTR_PASS_SIZE int vperfctr_event_list(const struct vperfctr_info *info,
					     int (*fn)(const struct vperfctr_event *event,
						       const char *description, void *arg),
					     void *arg)
{
	return vperfctr_event_list_sized(info, sizeof(struct vperfctr_event), fn, arg);
}

/*
 * Reduce the descriptions of nr kinds of CPUs to what a control for any kind can use: the
 * counters that all of them have.  vperfctr_event() and vperfctr_event_assign(), called
 * with each of them, choose counters for the tables of such a control.
 */
void vperfctr_event_common(struct vperfctr_info *info, unsigned int nr);

/*
 * Initialize *control to count events by name, with a-mode counters.  names is a list of
 * names as vperfctr_event() takes them, separated by commas.  kind is that of the CPUs to
 * count on.  With VPERFCTR_ANY_KIND it is all kinds that there are, each by the
 * codes that the names have there.  A raw code is the same on all kinds.  Counter i is the
 * i-th name, software events left out.
 *
 * ctr is an array with room for `room` counters: one for each event and kind.  It must
 * exist until vperfctr_control() returns.
 *
 *	-EOVERFLOW  `room` is too small
 *	-EINVAL	(also) there is no such kind
 *	any of vperfctr_info(), vperfctr_event() and vperfctr_event_assign(): for any kind
 *		that of the first kind that cannot count these events, whose number is in
 *		*why
 */
int vperfctr_event_control_sized(struct vperfctr_control *control, size_t size,
				 struct vperfctr_ctr *ctr, size_t ctr_size, unsigned int room,
				 const char *names, unsigned int kind, struct vperfctr_why *why);
__VPERFCTR_PASS_SIZE int vperfctr_event_control(struct vperfctr_control *control,
						struct vperfctr_ctr *ctr, unsigned int room,
						const char *names, unsigned int kind,
						struct vperfctr_why *why)
{
	return vperfctr_event_control_sized(control, sizeof(*control), ctr, sizeof(*ctr), room,
					    names, kind, why);
}

/* Flags of vperfctr_count(). */
#define VPERFCTR_COUNT_MODULE	0x01	/* count by the module, or not at all */
#define VPERFCTR_COUNT_PERF	0x02	/* count by perf_event, also if the module could */

/*
 * Count events by name, for the calling thread: open a transient state, choose counters,
 * and start.  names are those of vperfctr_event_control().  Counter i of the handle counts
 * the i-th of them, software events left out: vperfctr_counter_name() returns its name.
 * vperfctr_read_soft() reads software events.  vperfctr_close() ends the counting.  Another part
 * of the program may count the same thread: this counts beside it, by other counters.
 *
 * Where the module cannot count for the caller, perf_event_open(2) counts, and
 * vperfctr_backend() returns VPERFCTR_BACKEND_PERF.  why->text is then the module's reason, and
 * empty where the module counts.  The reasons are -ENODEV (it is not loaded), -EACCES and -EPERM
 * (the caller may not open the device, or not count kernel mode by it), -EPROTONOSUPPORT,
 * -EEXIST and -EAGAIN of vperfctr_open(), -EBUSY, and that there are no counters.  Events that
 * the module refuses for another reason, as they are not exact or do not fit, perf_event does
 * not count either.
 *
 * The environment variable VPERFCTR_BACKEND, which may be auto, module or perf, stands for the
 * flags where the caller gives none.  A set-user-ID program ignores it.
 *
 * By perf_event all reads, regions, vperfctr_read_state(), _reset(), _suspend(), _resume(),
 * _stop(), _unlink() and _close() work the same.  On x86, perf_event lets user mode read the
 * counters of the calling thread, unless "rdpmc" in sysfs is 0; elsewhere each read is a system
 * call, and so is each read of times.  Other calls by such a handle return -ENOTTY.  perf_event
 * places the events itself, so a counter in a name (@N) has no effect.  Counters are never shared
 * with others by turns.  If they do not suffice, this call or a read returns -EBUSY.  After
 * vperfctr_suspend() and _resume() such a handle may count again, but counts are missing: reads
 * return -EBUSY until vperfctr_reset() has succeeded.  If it counts children, too, or CPUs of
 * several kinds, it may return -EBUSY until it is closed.
 * vperfctr_read_tsc() returns -EOPNOTSUPP where perf_event does not make its times from the TSC;
 * regions need it.  There, the TSC of vperfctr_read_state() is 0.
 *
 * On a hybrid processor the thread is counted on all kinds of CPUs.  If not all of them can
 * count these events, but the thread may run on one kind only, it is counted there.
 *
 * Errors; *v is then NULL.  If neither can count, the error is the module's, unless that is
 * not loaded, and why->text has both reasons:
 *
 *	-EEXIST	the thread has a state, which leaves not enough counters for these events, and
 *		perf_event has none: see "Two users in one thread" in <vperfctr.h>
 *	-EBUSY	perf_event or the NMI watchdog holds the counters
 *	-ENODEV	the module is not loaded, and perf_event cannot count, or may not be used
 *	-ENOSPC	(also) perf_event cannot count these events at once
 *	-EINVAL	(also) an unknown flag, or both, or another value of VPERFCTR_BACKEND
 *	-EMFILE, -ENFILE, -ENOMEM	as from open(2) and perf_event_open(2)
 *	any of vperfctr_info(), vperfctr_event(), vperfctr_event_assign(),
 *	vperfctr_open() and vperfctr_control()
 */
int vperfctr_count(struct vperfctr **v, const char *names, unsigned int flags,
		   struct vperfctr_why *why);

/* Do what vperfctr_count() does with flags of 0. */
int vperfctr_event_open(struct vperfctr **v, const char *names, struct vperfctr_why *why);

/*
 * Return in *v the calling thread's own handle.  The first call in a thread makes it, as
 * vperfctr_count() does with these arguments.  Later calls by this thread return the same
 * handle, and take a few instructions.  So code that any thread may run needs no place to keep
 * a handle, and no hook where threads begin.
 *
 * The thread's end closes the handle, and vperfctr_thread_close() does earlier; do not call
 * vperfctr_close().  In the child of a fork, the first call makes a new handle, which counts
 * from zero.  Signal handlers must not call these two functions.
 *
 *	-EEXIST	(also) the thread has a handle of its own with other names or flags, which
 *		remains
 *	-EAGAIN	(also) there are no keys for the data of threads any more
 *	-ENOMEM
 *	any of vperfctr_count()
 */
int vperfctr_thread(struct vperfctr **v, const char *names, unsigned int flags,
		    struct vperfctr_why *why);
void vperfctr_thread_close(void);

/* ---- by perf_event, for more than the calling thread ---------------- */

/*
 * Describe the processor as vperfctr_event() needs it for events that perf_event counts: with
 * all counters that there can be, because perf_event chooses counters itself.
 *
 *	-EINVAL	size is below that of version 0.1.0
 */
int vperfctr_perf_info_sized(struct vperfctr_info *info, size_t size);
__VPERFCTR_PASS_SIZE int vperfctr_perf_info(struct vperfctr_info *info)
{
	return vperfctr_perf_info_sized(info, sizeof(*info));
}

/*
 * Count thread tid, or the calling thread (0), by perf_event_open(2), and start.  names are those
 * of vperfctr_count(), and so are the calls that work by the handle.  flags: VPERFCTR_PERF_* of
 * <vperfctr.h>.  vperfctr_count() suffices for counts of the calling thread; this is for monitors
 * such as perfex, where the module cannot count.
 *
 * Errors; *v is then NULL:
 *
 *	-ENODEV	perf_event cannot count these events, or may not be used
 *	-ENOSPC	perf_event cannot count these events at once
 *	-EBUSY	the counters do not suffice, or others hold them
 *	-ESRCH	there is no such thread
 *	-EMFILE, -ENFILE, -ENOMEM	as from perf_event_open(2)
 *	-EINVAL	(also) an unknown flag, or VPERFCTR_PERF_EXEC with VPERFCTR_PERF_STOPPED
 *	any of vperfctr_event()
 *
 * With VPERFCTR_PERF_RAW, an error of perf_event_open(2) is returned as it is, and *why is not
 * written then.
 */
int vperfctr_perf_open(struct vperfctr **v, const char *names, pid_t tid, unsigned int flags,
		       struct vperfctr_why *why);

/*
 * Do what vperfctr_perf_open() does, for several threads or CPUs.  The events may make samples:
 * see struct vperfctr_perf_place.
 * vperfctr_perf_descriptors() returns the descriptors from which samples are read.
 *
 *	-EINVAL	(also) the lists of threads and CPUs are not valid; or attributes of samples are
 *		missing, or lack their size; or a software event other than task-clock is to make
 *		samples; or size is below that of version 0.1.0
 *	-ENXIO	there is no such CPU, or it is offline
 *	-E2BIG	*place, or the attributes of samples, have fields that are not zero and that this
 *		library does not know
 *	any of vperfctr_perf_open()
 */
int vperfctr_perf_open_at_sized(struct vperfctr **v, const char *names,
				const struct vperfctr_perf_place *place, size_t size,
				unsigned int flags, struct vperfctr_why *why);
__VPERFCTR_PASS_SIZE int vperfctr_perf_open_at(struct vperfctr **v, const char *names,
					       const struct vperfctr_perf_place *place,
					       unsigned int flags, struct vperfctr_why *why)
{
	return vperfctr_perf_open_at_sized(v, names, place, sizeof(*place), flags, why);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* VPERFCTR_EVENT_H */
