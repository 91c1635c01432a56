// SPDX-License-Identifier: GPL-2.0
/* The cost of the calls that a task makes for its own counters. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

static const unsigned int numbers[] = { 1, 2, 4 };

/* One counter keeps static keys and the reservation in place. */
static void hold_counter(void *arg)
{
	struct group g;

	(void)arg;
	side->open(&g, 1, SET_A, false);
}

static void do_nothing(struct group *g)
{
	(void)g;
}

/*
 * Have all of this process's memory, its code and its stack.  A fork leaves that to page faults,
 * of which some would be in the first call that is measured, by where the stack begins.
 */
static void fault_in(void)
{
	if (mlockall(MCL_CURRENT) || munlockall())
		die("mlockall: %s", strerror(errno));
}

static void measure_open(void *arg)
{
	unsigned int n = *(const unsigned int *)arg, i;
	struct meter opens = { }, closes = { };
	struct group g;

	fault_in();
	for (i = 0; i < REPEATS; i++) {
		meter_begin(&opens);
		side->open(&g, n, SET_A, true);
		meter_end(&opens);
		meter_begin(&closes);
		side->close(&g);
		meter_end(&closes);
	}
	emit_meter(&opens, EMIT_FIRST | EMIT_WRMSR, "open.n%u", n);
	if (n == 1 && side->open_device) {
		memset(&opens, 0, sizeof(opens));
		while (opens.n < REPEATS) {
			meter_begin(&opens);
			side->open_device();
			meter_end(&opens);
		}
		emit_meter(&opens, 0, "open_device", 0);
	}
	emit_meter(&closes, EMIT_LEAST | EMIT_WRMSR, "close.n%u", n);
}

/* Measure one operation; `before` runs before each, unmeasured. */
static void measure_call(const char *name, struct group *g, void (*before)(struct group *),
			 void (*what)(struct group *), void (*what_set)(struct group *, enum set))
{
	struct meter m = { };
	unsigned int i;

	for (i = 0; i < REPEATS; i++) {
		(before ?: do_nothing)(g);
		if (what) {
			meter_begin(&m);
			what(g);
			meter_end(&m);
		} else {
			meter_begin(&m);
			what_set(g, i % 2 ? SET_A : SET_B);
			meter_end(&m);
		}
	}
	emit_meter(&m, EMIT_FIRST | EMIT_WRMSR, name, g->n);
}

static void kernel_read(struct group *g)
{
	side->read(g);
}

static void measure_group(void *arg)
{
	unsigned int n = *(const unsigned int *)arg;
	struct group g;

	side->open(&g, n, SET_A, true);
	measure_call("kernelread.n%u", &g, NULL, kernel_read, NULL);
	measure_call("suspend.n%u", &g, side->resume, side->suspend, NULL);
	measure_call("resume.n%u", &g, side->suspend, side->resume, NULL);
	measure_call("control.n%u", &g, side->suspend, NULL, side->control);
	measure_call("control_running.n%u", &g, NULL, NULL, side->control_running);
	measure_call("control_other.n%u", &g, NULL, NULL, side->control_other);
	if (side->resume_each) {
		measure_call("suspend_each.n%u", &g, side->resume_each, side->suspend_each, NULL);
		measure_call("resume_each.n%u", &g, side->suspend_each, side->resume_each, NULL);
	}
	side->close(&g);
}

/* A system call that does nothing, and an unknown ioctl: all others include these. */
#define NO_IOCTL	0x7fff

static void measure_null(void *arg)
{
	struct meter m = { };
	struct group g;

	(void)arg;
	while (m.n < REPEATS) {
		meter_begin(&m);
		call3(SYS_getppid, 0, 0, 0);
		meter_end(&m);
	}
	emit_meter(&m, 0, "syscall", 0);
	memset(&m, 0, sizeof(m));
	side->open(&g, 1, SET_A, false);
	while (m.n < REPEATS) {
		meter_begin(&m);
		call3(SYS_ioctl, g.fd[0], NO_IOCTL, 0);
		meter_end(&m);
	}
	emit_meter(&m, 0, "ioctl", 0);
	side->close(&g);
}

void measure_calls(void)
{
	unsigned int i;
	int holder;

	progress("reads in user mode");
	side->self_reads();
	progress("open, close");
	in_child(measure_null, NULL);
	holder = start_holder(hold_counter, NULL);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		in_child(measure_open, (void *)&numbers[i]);
	progress("read, suspend, resume, control");
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		in_child(measure_group, (void *)&numbers[i]);
	kill_holder(holder);
}
