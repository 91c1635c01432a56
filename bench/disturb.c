// SPDX-License-Identifier: GPL-2.0
/*
 * The disturbance of the rest of the machine: function-call interrupts of other CPUs, and
 * stops of the whole machine, for each call, while many other threads are counted.
 *
 * The caller is on the first CPU, and the other CPUs are idle.  Interrupts are those that
 * /proc/interrupts counts as CAL.  A stop of the machine wakes the thread migration/N of
 * the last CPU.  Both are divided by the calls and rounded: a stray interrupt in a
 * hundred calls is the kernel's.  The clock counts the instructions of all CPUs, so only
 * ratios are printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/vperfctr.h>

#include "bench.h"

#define CALLS	100
#define TIMED	21
#define STACK	(32 * 1024)

static unsigned int cpus, crowd;
static struct group own, other;

/* ---- counts of the kernel --------------------------------------------------- */

/* The sum over all CPUs but the first and `except`. */
static u64 count_interrupts(unsigned int except)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned int cpu;
	char line[4096];
	u64 sum = 0;
	char *at;

	if (!f)
		die("/proc/interrupts: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, "CAL:");
		if (!at)
			continue;
		at += strlen("CAL:");
		for (cpu = 0; cpu < cpus; cpu++) {
			u64 n = strtoull(at, &at, 10);

			if (cpu && cpu != except)
				sum += n;
		}
	}
	fclose(f);
	return sum;
}

/* Return the process ID of the kernel's thread with this name. */
static int find_kthread(const char *name)
{
	char path[64], comm[64];
	int pid;

	for (pid = 2; pid < 1000; pid++) {
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		f = fopen(path, "r");
		if (!f)
			continue;
		comm[0] = '\0';
		if (fscanf(f, "%63s", comm) != 1)
			comm[0] = '\0';
		fclose(f);
		if (!strcmp(comm, name))
			return pid;
	}
	die("there is no thread %s", name);
}

static u64 count_stops(void)
{
	unsigned long long n = 0;
	char path[64], line[256];
	static int pid;
	FILE *f;

	if (!pid) {
		snprintf(path, sizeof(path), "migration/%u", cpus - 1);
		pid = find_kthread(path);
	}
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	if (!f)
		die("%s: %s", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			break;
	}
	fclose(f);
	return n;
}

/* ---- the calls -------------------------------------------------------------- */

static void open_close(void)
{
	struct group g;

	side->open(&g, 1, SET_A, false);
	side->close(&g);
}

static void open_map_close(void)
{
	struct group g;

	side->open(&g, 1, SET_A, true);
	side->close(&g);
}

static void open_own(void)
{
	side->open(&own, 1, SET_A, false);
}

static void close_own(void)
{
	side->close(&own);
}

static void control_and_stop(void)
{
	struct vperfctr_control stop = {
		.size = sizeof(stop),
		.ctr_size = sizeof(struct vperfctr_ctr),
	};

	side->control(&own, SET_A);
	must_ioctl(own.fd[0], VPERFCTR_CONTROL, &stop);
}

static void suspend_and_resume(void)
{
	side->suspend(&own);
	side->resume(&own);
}

static void open_inherited(void)
{
	struct vperfctr_ctr ctr = { .evntsel = 0x410000 | events[SET_A][0] };
	struct vperfctr_control control = {
		.size = sizeof(control),
		.flags = VPERFCTR_CONTROL_INHERIT,
		.tsc_on = 1,
		.nractrs = 1,
		.ctr_size = sizeof(ctr),
		.ctr = (uintptr_t)&ctr,
	};

	open_own();
	must_ioctl(own.fd[0], VPERFCTR_CONTROL, &control);
}

static void fork_and_exit(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0)
		die("fork: %s", strerror(errno));
	waitpid(pid, NULL, 0);
}

/* The state of a thread that runs on the last CPU. */
static volatile bool other_runs, other_ends;
static pthread_t other_thread;

static void *run_on_last(void *arg)
{
	(void)arg;
	pin(cpus - 1);
	side->open(&other, 1, SET_A, false);
	other_runs = true;
	while (!other_ends)
		;
	side->close(&other);
	return NULL;
}

static void start_other(void)
{
	other_runs = other_ends = false;
	if (pthread_create(&other_thread, NULL, run_on_last, NULL))
		die("no thread");
	while (!other_runs)
		msleep(1);
}

static void end_other(void)
{
	other_ends = true;
	pthread_join(other_thread, NULL);
}

static void read_other(void)
{
	side->read(&other);
}

static const struct operation {
	const char *name;
	void (*begin)(void), (*call)(void), (*end)(void);
	bool last_cpu;		/* concerns the last CPU */
} operations[] = {
	{ "open_close", NULL, open_close, NULL, false },
	{ "open_map_close", NULL, open_map_close, NULL, false },
	{ "control_stop", open_own, control_and_stop, close_own, false },
	{ "suspend_resume", open_own, suspend_and_resume, close_own, false },
	{ "fork_exit", open_inherited, fork_and_exit, close_own, false },
	{ "read_other", start_other, read_other, end_other, true },
};

/* ---- the measurement -------------------------------------------------------- */

static void emit_disturbance(const char *what, const char *name, const char *of, u64 n)
{
	char metric[96];

	snprintf(metric, sizeof(metric), "%s.%s.cpus%u.threads%u", name, of, cpus, crowd);
	emit(what, (double)((n + CALLS / 2) / CALLS), metric, 0);
}

static double measure_operation(const struct operation *o)
{
	unsigned int i, concerned = o->last_cpu ? cpus - 1 : 0;
	struct meter m = { };
	u64 interrupts, stops;

	if (o->begin)
		o->begin();
	o->call();
	msleep(100);
	interrupts = count_interrupts(concerned);
	stops = count_stops();
	for (i = 0; i < CALLS; i++)
		o->call();
	interrupts = count_interrupts(concerned) - interrupts;
	stops = count_stops() - stops;
	/* The last CPU's thread would run on the clock, too. */
	while (!o->last_cpu && m.n < TIMED) {
		meter_begin(&m);
		o->call();
		meter_end(&m);
	}
	if (o->end)
		o->end();
	emit_disturbance("interrupts", o->name, "interrupts", interrupts);
	emit_disturbance("stops", o->name, "stops", stops);
	return o->last_cpu ? 0 : median(m.time, m.n);
}

static pthread_barrier_t counted;

static void *member(void *arg)
{
	struct group g;

	(void)arg;
	side->open(&g, 1, SET_A, false);
	/* the state lives on without a descriptor */
	close(g.fd[0]);
	pthread_barrier_wait(&counted);
	pause();
	return NULL;
}

static void start_crowd(void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;
	unsigned int i;

	(void)arg;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK > PTHREAD_STACK_MIN ? STACK : PTHREAD_STACK_MIN);
	pthread_barrier_init(&counted, NULL, crowd + 1);
	for (i = 0; i < crowd; i++) {
		if (pthread_create(&thread, &attr, member, NULL))
			die("thread %u of %u", i, crowd);
	}
	pthread_barrier_wait(&counted);
}

#define NR_OPERATIONS	(sizeof(operations) / sizeof(operations[0]))

void measure_disturbance(void)
{
	static const unsigned int crowds[] = { 10, 1000 };
	double time[2][NR_OPERATIONS];
	unsigned int c, i;
	int holder;

	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	for (c = 0; c < 2; c++) {
		crowd = crowds[c];
		progress("%u counted threads, on %u CPUs", crowd, cpus);
		holder = start_holder(start_crowd, NULL);
		msleep(1000);
		for (i = 0; i < NR_OPERATIONS; i++)
			time[c][i] = measure_operation(&operations[i]);
		kill_holder(holder);
		msleep(1000);
	}
	for (i = 0; i < NR_OPERATIONS; i++) {
		char metric[96];

		/* The kernel's own fork takes half as much again beside 1000 threads. */
		if (operations[i].last_cpu || operations[i].call == fork_and_exit)
			continue;
		snprintf(metric, sizeof(metric), "%s.cpus%u.1000_over_10", operations[i].name, cpus);
		emit("ratio", time[1][i] / time[0][i], metric, 0);
	}
}
