// SPDX-License-Identifier: GPL-2.0
/* Clock, medians, results, and the surroundings of a measurement: see bench.h. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

bool emulated;
const char *unit;

static double ticks_per_unit = 1;
static u64 empty;			/* the median of an empty measurement */

void die(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

void call_failed(const char *what, long result)
{
	die("%s: %s", what, strerror((int)-result));
}

/* ---- figures -------------------------------------------------------------- */

static int compare_u64(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

u64 median(u64 *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), compare_u64);
	return values[n / 2];
}

u64 meter_median(struct meter *m)
{
	return median(m->time + 1, m->n - 1) - empty;
}

static u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

/* Return how long the loop of that many instructions takes. */
static u64 time_of_loop(unsigned long insns)
{
	static struct meter m;

	for (m.n = 0; m.n < REPEATS; ) {
		meter_begin(&m);
		loop(insns / 2);
		meter_end(&m);
	}
	return median(m.time, m.n);
}

void measure_init(bool is_emulated)
{
	static struct meter m;
	u64 t, ns;

	emulated = is_emulated;
	unit = emulated ? "instructions" : "ns";
	if (emulated && !CLOCK_COUNTS_INSNS)
		ticks_per_unit = (time_of_loop(30000) - time_of_loop(10000)) / 20000.;
	if (!emulated) {
		t = now();
		ns = clock_ns();
		msleep(200);
		ticks_per_unit = (double)(now() - t) / (clock_ns() - ns);
	}
	while (m.n < REPEATS) {
		meter_begin(&m);
		meter_end(&m);
	}
	empty = median(m.time, m.n);
}

double figure(double ticks)
{
	return ticks / ticks_per_unit;
}

static void print_result(const char *what, const char *value, const char *name, unsigned int n)
{
	char metric[64];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(metric, sizeof(metric), name, n);
#pragma GCC diagnostic pop
	printf("@bench\t%s\t%s\t%s\t%s\n", metric, what, side->name, value);
	fflush(stdout);
}

void emit(const char *what, double value, const char *name, unsigned int n)
{
	char text[32];

	/* differences of instructions are whole or half; times need no more digits */
	snprintf(text, sizeof(text), "%.*f", value == (s64)value ? 0 : value < 10 ? 3 : 1, value);
	print_result(what, text, name, n);
}

void emit_none(const char *what, const char *because, const char *name, unsigned int n)
{
	progress("%s: %s", name, because);
	print_result(what, "-", name, n);
}

void emit_meter(struct meter *m, unsigned int what, const char *name, unsigned int n)
{
	unsigned int batch = m->batch ?: 1;
	u64 first = m->time[0];
	char other[64];

	emit(unit, figure(((double)median(m->time + 1, m->n - 1) - empty) / batch), name, n);
	if (emulated && HAVE_STATISTICS && (what & EMIT_WRMSR)) {
		snprintf(other, sizeof(other), "%s.wrmsr", name);
		emit("WRMSR", median(m->wrmsr + 1, m->n - 1), other, n);
	}
	if (what & EMIT_LEAST) {
		/* median() has sorted them */
		snprintf(other, sizeof(other), "%s.least", name);
		emit(unit, figure(((double)m->time[1] - empty) / batch), other, n);
	}
	if (what & EMIT_FIRST) {
		snprintf(other, sizeof(other), "%s.first", name);
		emit(unit, figure(((double)first - empty) / batch), other, n);
	}
}

void progress(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s: ", side->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- surroundings ----------------------------------------------------------- */

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity: %s", strerror(errno));
}

void real_time(bool on)
{
	struct sched_param param = { .sched_priority = on ? 50 : 0 };

	if (sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &param))
		die("sched_setscheduler: %s", strerror(errno));
}

void msleep(unsigned int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	while (nanosleep(&t, &t))
		;
}

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
}

void end_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have ended before. */
	if (getppid() != parent)
		_exit(1);
}

void in_child(void (*function)(void *arg), void *arg)
{
	const pid_t parent = getpid();
	pid_t pid;
	int status;

	msleep(2500);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		end_with_parent(parent);
		alarm(CHILD_SECONDS);
		function(arg);
		fflush(NULL);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		die("a signal ended a measurement: %s", strsignal(WTERMSIG(status)));
	if (status)
		exit(1);
}

int start_holder(void (*function)(void *arg), void *arg)
{
	const pid_t parent = getpid();
	char byte;
	int p[2];
	pid_t pid;

	fflush(NULL);
	if (pipe(p))
		die("pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		end_with_parent(parent);
		function(arg);
		if (write(p[1], "", 1) == 1)
			close(p[1]);
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &byte, 1) != 1)
		exit(1);
	close(p[0]);
	return pid;
}

void kill_holder(int pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
