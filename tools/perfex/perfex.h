/* SPDX-License-Identifier: GPL-2.0 */
/* perfex: run a command and count its events.  What its files share. */
#ifndef PERFEX_H
#define PERFEX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <vperfctr.h>

/* Exit statuses that are perfex's own; those of env(1) and timeout(1). */
#define STATUS_FAILED		125	/* perfex has failed, or was misused */
#define STATUS_CANNOT_RUN	126	/* the command cannot be executed */
#define STATUS_NOT_FOUND	127	/* there is no such command */
#define STATUS_SIGNAL		128	/* + the signal that ended the command */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* ---- errors: one line each, printed by main() -------------------------- */

struct error {
	int status;
	char text[512];
};

/* Fill in *e (status STATUS_FAILED) and return -1. */
int fail_with(struct error *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What a failed call of the library means to a user; err is its -errno. */
int fail_device(struct error *e, int err);
int fail_control(struct error *e, int err, bool aux, const char *watchdog);
int fail_kernel_mode(struct error *e, const char *event);
int fail_exec(struct error *e, int err, const char *command);

#define NMI_WATCHDOG	"/proc/sys/kernel/nmi_watchdog"

/* ---- events --------------------------------------------------------------- */

/* x86: fields of an event select register */
#define EVNTSEL_USR	(1U << 16)
#define EVNTSEL_OS	(1U << 17)
#define EVNTSEL_EDGE	(1U << 18)
#define EVNTSEL_INT	(1U << 20)
#define EVNTSEL_ANY	(1U << 21)
#define EVNTSEL_EN	(1U << 22)
#define EVNTSEL_INV	(1U << 23)
#define EVNTSEL_CMASK	0xff000000U
#define EVNTSEL_EVENT	0x0000ffffU	/* event select and unit mask */

/* ... and of a fixed counter's field of the fixed counter control */
#define FIXED_OS	1U
#define FIXED_USR	2U

#define NO_FIXED	(-1)

struct event {
	char name[256];		/* as it is shown */
	uint64_t code;		/* event select register, without USR, OS, INT, EN */
	uint64_t aux;		/* the second register that it needs, or 0 */
	bool user, kernel;	/* modes in which it is counted */
	int fixed;		/* number of the fixed counter that counts it, or NO_FIXED */
	bool fixed_only;	/* ... and no other does */
	uint32_t arch;		/* the VPERFCTR_EVENT_* that it is, or 0 */
};

struct events {
	unsigned int nr;
	struct event ev[VPERFCTR_MAX_CTRS];
	bool user_by_default;	/* kernel mode was left out, as it may not be counted */
};

/* Add the events of a -e argument, separated by commas. */
int events_parse(struct events *events, const char *spec,
		 const struct vperfctr_info *info, struct error *e);

/* Add those that this processor has of the usual events, as many as fit. */
void events_default(struct events *events, const struct vperfctr_info *info);

/* The generic names, one after the other; NULL: no more. */
const char *events_generic_name(unsigned int i);

/*
 * What libpfm4 makes of a name.  Returns 0; -1 with *e filled in; or 1 if it
 * knows no such event (or not this processor).
 */
int pfm_encode(struct event *event, const char *name, struct error *e);

/* Call fn for each event that libpfm4 knows of this processor. */
void pfm_for_each(void (*fn)(const char *name, void *arg), void *arg);

/* ---- counters ---------------------------------------------------------------- */

/* A counter for each event: ctr[i] is for events->ev[i]. */
int assign(const struct events *events, const struct vperfctr_info *info,
	   struct vperfctr_ctr *ctr, struct error *e);

/* ---- run ----------------------------------------------------------------------- */

struct result {
	int wstatus;		/* as from wait(2) */
	struct rusage usage;	/* of all threads and waited-for children */
	double elapsed;		/* seconds */
	bool counted;		/* the sums are the command's */
	uint64_t tsc;
	uint64_t pmc[VPERFCTR_MAX_CTRS];
};

/*
 * Run the command and count it.  Fails (status: what to exit with) if it did not
 * run.  If it ran and could not be counted, r->counted is false, *e says why.
 */
int run(char **argv, const struct vperfctr_control *control,
	struct result *r, struct error *e);

/* The exit status that stands for a wait status. */
int run_status(int wstatus);

/* Why the sums that were read are not what was asked for; NULL: they are. */
const char *run_check(const struct vperfctr_read *read, uint64_t tsc,
		      unsigned int nrctrs, int wstatus);

/* ---- output -------------------------------------------------------------------- */

void print_result(FILE *f, char **argv, const struct events *events,
		  const struct vperfctr_info *info, const struct result *r);
void print_control(FILE *f, const struct events *events, const struct vperfctr_ctr *ctr);

/* "1,234,567"; buf has THOUSANDS_LEN characters. */
#define THOUSANDS_LEN	32
char *thousands(char *buf, uint64_t n);

/* Everything that the module tells. */
int info_print(FILE *f, struct error *e);

#endif /* PERFEX_H */
