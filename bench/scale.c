// SPDX-License-Identifier: GPL-2.0
/*
 * Many threads, all counted and all runnable, on two CPUs: the cost that counting
 * adds to a switch, the cost of one more state, and the memory of states.
 *
 * In the emulator the clock counts the instructions of both CPUs, so they are divided
 * by the switches of both.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

#define STACK	(16 * 1024)
#define MANY_FILES	20000
#define CGROUP	"/tmp/bench-cgroup"

/* The members are distributed over that many CPUs; this thread runs on the first. */
static unsigned int cpus;

struct crowd {
	unsigned int n;
	double per_switch, open;	/* results */
};

static struct member {
	pthread_t thread;
	struct group g;
	volatile unsigned int yields;
} *members;

/* The phase that all members must follow. */
static enum { START, PAUSE, COUNT, REST, END } phase;
static unsigned int ready;

static int get_phase(void)
{
	return __atomic_load_n(&phase, __ATOMIC_RELAXED);
}

static void set_phase(int next)
{
	__atomic_store_n(&phase, next, __ATOMIC_RELAXED);
	syscall(SYS_futex, &phase, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Allocate the stack now, so that it does not appear as memory of the state. */
static __attribute__((noinline)) void touch_stack(void)
{
	volatile char stack[STACK / 2];
	unsigned int i;

	for (i = 0; i < sizeof(stack); i += 64)
		stack[i] = 0;
}

static void note_ready(void)
{
	__atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
}

static void yield_while(struct member *m, int while_phase)
{
	while (get_phase() == while_phase) {
		m->yields++;
		call3(SYS_sched_yield, 0, 0, 0);
	}
	note_ready();
}

static void *member(void *arg)
{
	struct member *m = arg;
	struct group *g = &m->g;

	pin((m - members) % cpus);
	touch_stack();
	note_ready();
	yield_while(m, START);
	while (get_phase() == PAUSE)
		syscall(SYS_futex, &phase, FUTEX_WAIT, PAUSE, NULL, NULL, 0);
	if (side == &vperfctr_side)
		vperfctr_leave_state();
	else
		side->open(g, 1, SET_A, false);
	note_ready();
	yield_while(m, COUNT);
	while (get_phase() == REST)
		syscall(SYS_futex, &phase, FUTEX_WAIT, REST, NULL, NULL, 0);
	return NULL;
}

static void wait_ready(unsigned int n)
{
	while (__atomic_load_n(&ready, __ATOMIC_RELAXED) < n)
		sched_yield();
	ready = 0;
}

static u64 count_yields(unsigned int n)
{
	u64 yields = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		yields += members[i].yields;
	return yields;
}

/* The average time for one turn of a member, in rounds of all members. */
static double time_per_yield(unsigned int n)
{
	unsigned int i, rounds = n > 1000 ? 10 : 1000;
	u64 time, yields;

	for (i = 0; i < 2; i++)
		call3(SYS_sched_yield, 0, 0, 0);
	yields = count_yields(n);
	time = now();
	for (i = 0; i < rounds; i++)
		call3(SYS_sched_yield, 0, 0, 0);
	time = now() - time;
	return (double)time / (count_yields(n) - yields);
}

static void start_members(unsigned int n)
{
	pthread_attr_t attr;
	unsigned int i;
	int err;

	members = calloc(n, sizeof(*members));
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK > PTHREAD_STACK_MIN ? STACK : PTHREAD_STACK_MIN);
	pthread_attr_setguardsize(&attr, 0);
	for (i = 0; i < n; i++) {
		err = pthread_create(&members[i].thread, &attr, member, &members[i]);
		if (err)
			die("thread %u: %s", i, strerror(err));
	}
	wait_ready(n);
}

static void hold_counter(void *arg)
{
	struct group g;

	(void)arg;
	real_time(false);
	side->open(&g, 1, SET_A, false);
}

/*
 * Let the members sleep.  The first counted task may have to wait for other tasks,
 * which cannot run beside all these SCHED_FIFO tasks.  So a holder that is not
 * SCHED_FIFO counts first.
 */
static void pause_members(unsigned int n)
{
	set_phase(PAUSE);
	wait_ready(n);
}

static void let_count(unsigned int n)
{
	set_phase(COUNT);
	wait_ready(n);
}

static void end_members(unsigned int n)
{
	unsigned int i;

	set_phase(END);
	for (i = 0; i < n; i++)
		pthread_join(members[i].thread, NULL);
}

static void prepare(void)
{
	struct rlimit files = { MANY_FILES, MANY_FILES };

	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE: %s", strerror(errno));
	/* grow the table of descriptors now: a shared one waits for RCU */
	if (dup2(0, MANY_FILES - 1) < 0)
		die("dup2: %s", strerror(errno));
	close(MANY_FILES - 1);
	pin(0);
	real_time(true);
}

/* Wait until grace periods have ended, deferred work is done and all is idle. */
static void settle(void)
{
	real_time(false);
	msleep(3000);
	real_time(true);
}

static void measure_crowd(void *arg)
{
	struct crowd *crowd = arg;
	struct meter m = { };
	double base;
	struct group g;

	prepare();
	start_members(crowd->n);
	base = time_per_yield(crowd->n);
	pause_members(crowd->n);
	start_holder(hold_counter, NULL);
	let_count(crowd->n);
	/* two switches: one to the member and one from it */
	crowd->per_switch = (time_per_yield(crowd->n) - base) / 2;

	/* keep the other CPU's instructions out of these figures */
	set_phase(REST);
	wait_ready(crowd->n);
	settle();
	while (m.n < 21) {
		meter_begin(&m);
		side->open(&g, 1, SET_A, false);
		side->close(&g);
		meter_end(&m);
	}
	crowd->open = median(m.time + 1, m.n - 1);
	end_members(crowd->n);
}

/* ---- memory ---------------------------------------------------------------------- */

static long number_in(const char *path, const char *label)
{
	char text[8192], *at = text;
	int fd = open(path, O_RDONLY);
	ssize_t length;

	length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length < 0)
		die("%s: %s", path, strerror(errno));
	close(fd);
	text[length] = '\0';
	if (label) {
		at = strstr(text, label);
		if (!at)
			die("%s: no %s", path, label);
		at += strlen(label);
	}
	return strtol(at, NULL, 10);
}

/*
 * Free memory, in kB.  The kernel's number does not include pages that CPUs keep in lists of
 * their own.  These are some megabytes, and depend on what was freed before.
 */
long free_memory(void)
{
	long sum = number_in("/proc/meminfo", "MemFree:"), pages;
	FILE *zones = fopen("/proc/zoneinfo", "r");
	char line[256];

	if (!zones)
		die("/proc/zoneinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), zones)) {
		if (sscanf(line, " count: %ld", &pages) == 1)
			sum += pages * (PAGE / 1024);
	}
	fclose(zones);
	return sum;
}

static bool join_cgroup(void)
{
	mkdir(CGROUP, 0700);
	if (mount("none", CGROUP, "cgroup2", 0, NULL))
		return false;
	write_file(CGROUP "/cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP "/bench", 0700) && errno != EEXIST)
		die("mkdir: %s", strerror(errno));
	write_file(CGROUP "/bench/cgroup.procs", "0");
	return true;
}

static void leave_cgroup(void)
{
	write_file(CGROUP "/cgroup.procs", "0");
	rmdir(CGROUP "/bench");
	umount(CGROUP);
}

static void measure_memory_of(void *arg)
{
	unsigned int n = *(const unsigned int *)arg;
	bool charged = side == &vperfctr_side && join_cgroup();
	long charge = 0, available;

	/* fork before the members exist: it would make their memory copy-on-write */
	start_holder(hold_counter, NULL);
	prepare();
	start_members(n);
	pause_members(n);
	settle();
	available = free_memory();
	if (charged)
		charge = number_in(CGROUP "/bench/memory.current", NULL);
	let_count(n);
	set_phase(REST);
	wait_ready(n);
	settle();
	available -= free_memory();
	if (charged)
		charge = number_in(CGROUP "/bench/memory.current", NULL) - charge;
	/* perf's memory is not charged: only the loss of free memory shows it */
	if (charged || side == &perf_side)
		emit("bytes", (double)(charged ? charge : available * 1024) / n,
		     "state_bytes", 0);
	emit("bytes", (double)available * 1024 / n, "state_bytes_memfree", 0);
	end_members(n);
	if (charged)
		leave_cgroup();
}

/* Allow many threads, on two CPUs if there are as many. */
static void prepare_machine(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	cpus = online < 2 ? 1 : 2;
	write_file("/proc/sys/kernel/threads-max", "40000");
	write_file("/proc/sys/kernel/sched_rt_runtime_us", "-1");
}

void measure_memory(void)
{
	unsigned int n = 10000;

	prepare_machine();
	progress("memory");
	in_child(measure_memory_of, &n);
}

void measure_scale(void)
{
	static unsigned int numbers[] = { 1, 100, 10000 };
	struct crowd *crowd = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double first = 0, first_open = 0;
	unsigned int i;

	if (crowd == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	prepare_machine();
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		progress("%u counted threads, on %u CPUs", numbers[i], cpus);
		crowd->n = numbers[i];
		in_child(measure_crowd, crowd);
		emit(unit, figure(crowd->per_switch), "switch_threads_%u", crowd->n);
		emit(unit, figure(crowd->open), "open_close_%u", crowd->n);
		if (!i) {
			first = crowd->per_switch;
			first_open = crowd->open;
		}
	}
	emit("ratio", crowd->per_switch / first, "switch_10000_over_1", 0);
	emit("ratio", crowd->open / first_open, "open_10000_over_1", 0);
	measure_memory();
}
