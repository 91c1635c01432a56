/* SPDX-License-Identifier: GPL-2.0 */
/* -D and --control: when counts are a part of the result, and when they are left out. */
#ifndef PERFEX_GATE_H
#define PERFEX_GATE_H

#include "perfex.h"

/*
 * The counters count all the time.  A read when the gate closes and one when it opens
 * measure what they count between, which is subtracted from all sums that are printed.
 */
struct gate {
	bool used;
	bool closed;
	bool opened;		/* it was open for a time: there are counts */
	double opens_at;	/* seconds after the start; negative: only by a command */
	double now;		/* seconds after the start */
	int control, ack;	/* descriptors; -1: none */
	bool opened_ack;	/* close both at the end */
	char line[64];		/* a command that has not come wholly */
	size_t length;
	/* for all together, then for each part */
	unsigned int nr;
	struct sums *since;	/* when it was closed */
	struct sums *left_out;
};

/*
 * Begin what opens and closes the gate: a delay, or commands.  Return: 0, or -1 with *e.
 * gate_close() ends what was begun in both cases.
 */
int gate_open(struct gate *gate, const struct stat_options *o, unsigned int nrparts,
	      struct error *e);
void gate_close(struct gate *gate);

/* Parse the argument of --control.  Return: 0, or -1 with *e. */
int gate_check(const char *arg, struct error *e);

/* Read all sums now.  *parts: those of CPUs, or NULL.  Return: 0 or -errno. */
typedef int gate_read_fn(void *arg, struct sums *sums, const struct part **parts);

/*
 * Open or close the gate if it is time for that, or if a command says so.
 * Return: 0, or -errno of the read.
 */
int gate_step(struct gate *gate, double now, gate_read_fn *read, void *arg);

/* Return: seconds after the start at which the gate must be looked at; negative: none. */
double gate_next(const struct gate *gate);

/* Return: a descriptor to poll for input, or -1. */
int gate_fd(const struct gate *gate);

/* Subtract what was counted while the gate was closed.  parts: nr - 1, or NULL. */
void gate_subtract(const struct gate *gate, struct sums *sums, struct part *parts);

#endif /* PERFEX_GATE_H */
