/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reasons for errors as text.  Internal to the library; perfex is built with a copy. */
#ifndef VPERFCTR_EXPLAIN_H
#define VPERFCTR_EXPLAIN_H

#include <stdbool.h>
#include <sys/types.h>
#include <vperfctr.h>

#pragma GCC visibility push(hidden)

/* ---- processes that hold the counters ---------------------------------------- */

#define VPERFCTR_MAX_HOLDERS	3	/* that are named */

struct __vperfctr_holders {
	unsigned int nr;
	struct {
		pid_t pid;
		char comm[32];
	} holder[VPERFCTR_MAX_HOLDERS];
	bool hidden;		/* there are processes that the caller may not look at */
};

/* Targets of the links in /proc/PID/fd. */
#define VPERFCTR_CPUS_LINK	"anon_inode:[vperfctr-cpus]"
#define VPERFCTR_STATE_LINK	"anon_inode:[vperfctr]"
#define VPERFCTR_PERF_LINK	"anon_inode:[perf_event]"

/*
 * Find the processes that have a descriptor of this link.  proc is where their files are.
 * counting: only descriptors of vperfctr that have counters now.
 */
void __vperfctr_find_holders(struct __vperfctr_holders *h, const char *proc, const char *link,
			     bool counting);

/* Write "perf (process 12), top (process 34) and 2 more" to buf. */
void __vperfctr_describe_holders(char *buf, size_t size, const struct __vperfctr_holders *h);

/*
 * The facts in the module's file in proc, and the holders that it names: those of other users
 * to root only.  All is false and empty if there is no such file.
 */
struct __vperfctr_facts {
	bool watchdog_holds;	/* the NMI watchdog has a counter, and so keeps all from others */
	bool watchdog_kept;	/* it has its counter, and leaves the rest */
	bool guest_holds;	/* a virtual machine had the counters at the last CONTROL, without perf */
	struct __vperfctr_holders threads, cpus;	/* that vperfctr counts */
};

void __vperfctr_read_facts(struct __vperfctr_facts *facts, const char *proc);

/* ---- reasons --------------------------------------------------------------------- */

/*
 * Write to why->text what vperfctr_why() does.  device and proc are the paths of what is
 * asked: /dev/vperfctr and /proc.
 */
void __vperfctr_explain(int err, unsigned int call, const struct vperfctr_control *control,
			const char *device, const char *proc, struct vperfctr_why *why);

#pragma GCC visibility pop

#endif /* VPERFCTR_EXPLAIN_H */
