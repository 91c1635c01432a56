// SPDX-License-Identifier: GPL-2.0
/*
 * The disturbance of the rest of the machine by each call, while many other threads are
 * counted, each for another user.  They sleep, and so do all CPUs but the first, where the
 * caller is.
 *
 * With the module as it is:
 *
 *	NAME.interrupts	interrupts of CPUs that the call does not concern: function calls,
 *			rescheduling, and invalidations of TLBs
 *	NAME.stops	stops of the machine: each wakes the thread migration/N of the last CPU
 *	NAME		instructions; for fork_exit, those that counting adds
 *
 * The first two are for all calls of a loop, divided by their number and rounded: the
 * kernel has a few interrupts of its own.
 *
 * With the module that counted/build makes, exactly:
 *
 *	NAME.sent	functions that the module calls on CPUs that the call does not concern,
 *			for all calls of a loop
 *	NAME.locked	instructions while it holds a lock that is neither of one state nor of
 *			one process, for each call, with the work that the call defers
 *
 * With a process of very many threads, for each of these and with the module as it is:
 *
 *	attach_all	the time to attach to all of them, with the pauses between stops
 *	read_all, close_all
 *			instructions to read the counts of all, and to end this
 *	state_bytes	memory of the state
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/vperfctr.h>

#include "bench.h"

#define CALLS		100
#define COUNTED_CALLS	20
#define TIMED		21
#define STACK		(16 * 1024)
#define FIRST_UID	20000	/* of the crowd */

static unsigned int cpus, crowd;
static struct group own, other;

/* ---- counts of the kernel --------------------------------------------------- */

static bool is_interrupt_of_others(const char *line)
{
	static const char *const names[] = { "CAL:", "RES:", "TLB:" };
	unsigned int i;

	line += strspn(line, " ");
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strncmp(line, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

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
		if (!is_interrupt_of_others(line))
			continue;
		at = strchr(line, ':') + 1;
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

/* ---- counts of the module that counts ------------------------------------------ */

#define PARAMETER(name)	"/sys/module/vperfctr/parameters/" name

/* True if the module is the one that counts, and the side is that of the module. */
static bool module_counts;

static u64 parameter(const char *path)
{
	unsigned long long n;
	FILE *f = fopen(path, "r");

	if (!f || fscanf(f, "%llu", &n) != 1)
		die("%s: %s", path, strerror(errno));
	fclose(f);
	return n;
}

/* ---- the calls -------------------------------------------------------------- */

static void open_own(void)
{
	side->open(&own, 1, SET_A, false);
}

static void close_own(void)
{
	side->close(&own);
}

static void map_own(void)
{
	own.page[0] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, own.fd[0], 0);
	if (own.page[0] == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	/* perf's page comes with the first access, ours with mmap() */
	(void)*(volatile char *)own.page[0];
}

static void unmap_own(void)
{
	munmap(own.page[0], PAGE);
}

/* A second mapping of an event of perf waits for an RCU grace period. */
static void open_and_map_own(void)
{
	open_own();
	map_own();
}

static void unmap_and_close_own(void)
{
	unmap_own();
	close_own();
}

static void control_own(void)
{
	side->control(&own, SET_A);
}

/* A control without counters gives the hardware back. */
static void control_nothing(void)
{
	struct vperfctr_control stop = {
		.size = sizeof(stop),
		.ctr_size = sizeof(struct vperfctr_ctr),
	};

	must_ioctl(own.fd[0], VPERFCTR_CONTROL, &stop);
}

static void suspend_own(void)
{
	side->suspend(&own);
}

static void resume_own(void)
{
	side->resume(&own);
}

static void open_inherited(void)
{
	side->open_inherited(&own, 1);
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

/* The state of a thread that runs on the last CPU, or sleeps there. */
static volatile bool other_ready, other_ends;
static bool other_sleeps;
static pthread_t other_thread;

static void *run_on_last(void *arg)
{
	(void)arg;
	pin(cpus - 1);
	side->open(&other, 1, SET_A, false);
	other_ready = true;
	while (!other_ends) {
		if (other_sleeps)
			pause();
	}
	return NULL;
}

static void start_other(void)
{
	other_ready = other_ends = false;
	if (pthread_create(&other_thread, NULL, run_on_last, NULL))
		die("no thread");
	while (!other_ready)
		msleep(1);
}

static void start_sleeper(void)
{
	other_sleeps = true;
	start_other();
}

static void do_nothing(int signal)
{
	(void)signal;
}

static void end_other(void)
{
	struct sigaction action = { .sa_handler = do_nothing };

	sigaction(SIGUSR1, &action, NULL);
	other_ends = true;
	pthread_kill(other_thread, SIGUSR1);
	pthread_join(other_thread, NULL);
	close(other.fd[0]);
	other_sleeps = false;
}

static void read_other(void)
{
	side->read(&other);
}

/* A process that is not counted, for VPERFCTR_ATTACH. */
static int target;
static unsigned int target_threads;

static void *sleep_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void start_threads(unsigned int n, void *(*function)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;
	unsigned long i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK > PTHREAD_STACK_MIN ? STACK : PTHREAD_STACK_MIN);
	pthread_attr_setguardsize(&attr, 0);
	for (i = 0; i < n; i++) {
		if (pthread_create(&thread, &attr, function, (void *)i))
			die("thread %lu of %u", i, n);
	}
}

static void start_target_threads(void *arg)
{
	(void)arg;
	start_threads(target_threads - 1, sleep_forever);
}

static void start_target(void)
{
	target_threads = 1;
	target = start_holder(start_target_threads, NULL);
}

static void start_target_1000(void)
{
	target_threads = 1000;
	target = start_holder(start_target_threads, NULL);
}

static void end_target(void)
{
	kill_holder(target);
}

static void attach_target(void)
{
	struct vperfctr_ctr ctr = { .evntsel = user_evntsel(events[SET_A][0]) };
	struct vperfctr_control control = {
		.size = sizeof(control),
		.tsc_on = 1,
		.nractrs = 1,
		.ctr_size = sizeof(ctr),
		.ctr = (uintptr_t)&ctr,
	};
	struct vperfctr_attach attach = {
		.size = sizeof(attach),
		.tid = target,
		.control = (uintptr_t)&control,
	};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", target);
	attach.mem_fd = open(path, O_RDONLY);
	if (attach.mem_fd < 0)
		die("%s: %s", path, strerror(errno));
	own.fd[0] = must_ioctl(vperfctr_dev, VPERFCTR_ATTACH, &attach);
	close(attach.mem_fd);
	if (attach.nrthreads != target_threads)
		die("attached to %u threads, not to %u", attach.nrthreads, target_threads);
}

static void close_target(void)
{
	close(own.fd[0]);
}

#define LAST_CPU	1	/* concerns the last CPU */
#define NO_TIME		2	/* other CPUs run on the clock, too */
#define STOPS		4	/* stops the machine, and so interrupts all CPUs */
#define OURS		8	/* has no equal of perf */
#define ADDED		16	/* the instructions are those that counting adds */
#define ONCE		32	/* beside the smallest crowd only */

static const struct operation {
	const char *name;
	void (*begin)(void), (*before)(void), (*call)(void), (*after)(void), (*end)(void);
	unsigned int flags;
	unsigned int calls;	/* 0: the usual numbers */
} operations[] = {
	{ "open", NULL, NULL, open_own, close_own, NULL, 0, 0 },
	{ "close", NULL, open_own, close_own, NULL, NULL, 0, 0 },
	{ "mmap", NULL, open_own, map_own, unmap_and_close_own, NULL, 0, 0 },
	{ "munmap", NULL, open_and_map_own, unmap_own, close_own, NULL, 0, 0 },
	{ "control", open_own, suspend_own, control_own, NULL, close_own, 0, 0 },
	{ "control_after_nothing", open_own, control_nothing, control_own, NULL, close_own,
	  OURS, 0 },
	{ "control_nothing", open_own, control_own, control_nothing, NULL, close_own, OURS, 0 },
	{ "suspend", open_own, resume_own, suspend_own, NULL, close_own, 0, 0 },
	{ "resume", open_own, suspend_own, resume_own, NULL, close_own, 0, 0 },
	{ "fork_exit", open_inherited, NULL, fork_and_exit, NULL, close_own, ADDED, 0 },
	{ "read_running", start_other, NULL, read_other, NULL, end_other,
	  LAST_CPU | NO_TIME, 0 },
	{ "read_sleeping", start_sleeper, NULL, read_other, NULL, end_other, 0, 0 },
	{ "attach_1", start_target, NULL, attach_target, close_target, end_target,
	  STOPS | NO_TIME | OURS, 10 },
	{ "attach_1000", start_target_1000, NULL, attach_target, close_target, end_target,
	  STOPS | NO_TIME | OURS | ONCE, 3 },
};

/* ---- the measurement -------------------------------------------------------- */

static void run(void (*function)(void))
{
	if (function)
		function();
}

static void emit_row(const char *what, const struct operation *o, const char *of, double value)
{
	char metric[96];

	snprintf(metric, sizeof(metric), "%s%s.cpus%u.threads%u", o->name, of, cpus, crowd);
	emit(what, value, metric, 0);
}

static void one_round(const struct operation *o)
{
	run(o->before);
	o->call();
	run(o->after);
}

/* The median of the instructions of a call. */
static u64 time_call(const struct operation *o)
{
	struct meter m = { };

	while (m.n < TIMED) {
		run(o->before);
		meter_begin(&m);
		o->call();
		meter_end(&m);
		run(o->after);
	}
	return meter_median(&m);
}

/*
 * Measure what counting adds to the instructions of a call.  The kernel's part varies
 * with the memory that its allocators return, so the lower quartile of each kind is
 * taken.  The kernel's threads cannot preempt the caller: what the call defers to them is not included.
 */
static u64 time_added(const struct operation *o)
{
	u64 time[2][2 * TIMED];
	unsigned int i, with;

	real_time(true);
	for (i = 0; i < 4 * TIMED; i++) {
		with = i & 1;
		if (with)
			run(o->begin);
		time[with][i / 2] = now();
		o->call();
		time[with][i / 2] = now() - time[with][i / 2];
		if (with)
			run(o->end);
	}
	real_time(false);
	for (with = 0; with < 2; with++)
		median(time[with], 2 * TIMED);	/* sorts them */
	return time[1][TIMED / 2] - time[0][TIMED / 2];
}

#define TRIES	5

static void count_disturbances(const struct operation *o, unsigned int calls, u64 *interrupts,
			       u64 *stops)
{
	unsigned int concerned = o->flags & LAST_CPU ? cpus - 1 : 0, i;

	*interrupts = count_interrupts(concerned);
	*stops = count_stops();
	for (i = 0; i < calls; i++)
		one_round(o);
	*interrupts = count_interrupts(concerned) - *interrupts;
	*stops = count_stops() - *stops;
}

static void disturb_kernel(const struct operation *o)
{
	unsigned int tries = 0, calls = o->calls ?: CALLS;
	u64 interrupts, stops;

	run(o->begin);
	one_round(o);
	msleep(100);
	/* The kernel may have had its own reasons, such as waking a thread there. */
	do
		count_disturbances(o, calls, &interrupts, &stops);
	while (!(o->flags & STOPS) && 2 * interrupts >= calls && ++tries < TRIES);
	if (!(o->flags & STOPS))
		emit_row("interrupts", o, ".interrupts", (interrupts + calls / 2) / calls);
	emit_row("stops", o, ".stops", (stops + calls / 2) / calls);
	if (!(o->flags & (NO_TIME | ADDED)))
		emit_row(unit, o, "", time_call(o));
	run(o->end);
	if (o->flags & ADDED)
		emit_row(unit, o, "", time_added(o));
}

/* Wait until the work that a call has deferred is done. */
static void settle(void)
{
	msleep(5);
}

static void disturb_module(const struct operation *o)
{
	unsigned int i, calls = o->calls ?: COUNTED_CALLS;
	u64 sent = 0, locked = 0;

	run(o->begin);
	one_round(o);
	/* what is deferred for a second belongs to none of the calls */
	msleep(1500);
	for (i = 0; i < calls; i++) {
		run(o->before);
		settle();
		sent -= parameter(PARAMETER("calls"));
		locked -= parameter(PARAMETER("locked"));
		o->call();
		settle();
		locked += parameter(PARAMETER("locked"));
		sent += parameter(PARAMETER("calls"));
		run(o->after);
	}
	run(o->end);
	/* That of the concerned CPU is not one too many. */
	if (o->flags & LAST_CPU)
		sent -= calls;
	emit_row("calls", o, ".sent", sent);
	emit_row(unit, o, ".locked", (double)locked / calls);
}

/* ---- the crowd ------------------------------------------------------------------ */

static pthread_barrier_t counted;

static void *member(void *arg)
{
	unsigned long i = (unsigned long)arg;
	uid_t uid = FIRST_UID + i;
	struct group g;

	pin(i % cpus);
	/* libc would change the user of all threads; perf refuses ordinary ones */
	if (side == &vperfctr_side && syscall(SYS_setresuid, uid, uid, uid))
		die("setresuid: %s", strerror(errno));
	if (side == &vperfctr_side)
		vperfctr_leave_state();
	else
		side->open(&g, 1, SET_A, false);
	pthread_barrier_wait(&counted);
	return sleep_forever(NULL);
}

static void start_crowd(void *arg)
{
	struct rlimit files = { crowd + 100, crowd + 100 };

	(void)arg;
	if (setrlimit(RLIMIT_NOFILE, &files))
		die("RLIMIT_NOFILE: %s", strerror(errno));
	pthread_barrier_init(&counted, NULL, crowd + 1);
	start_threads(crowd, member);
	pthread_barrier_wait(&counted);
}

/* Keep the kernel's own threads and work off the other CPUs. */
static void keep_others_idle(void)
{
	cpu_set_t first;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	if (!proc)
		die("/proc: %s", strerror(errno));
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	while ((entry = readdir(proc))) {
		/* those that are bound to a CPU refuse */
		if (atoi(entry->d_name) > 0)
			sched_setaffinity(atoi(entry->d_name), sizeof(first), &first);
	}
	closedir(proc);
	write_file("/sys/devices/virtual/workqueue/cpumask", "1");
}

#define NR_OPERATIONS	(sizeof(operations) / sizeof(operations[0]))

static void measure_operations(void *arg)
{
	bool smallest = *(bool *)arg;
	unsigned int i;

	for (i = 0; i < NR_OPERATIONS; i++) {
		const struct operation *o = &operations[i];

		if ((side == &perf_side && o->flags & OURS) || (o->flags & ONCE && !smallest))
			continue;
		if (module_counts)
			disturb_module(o);
		else
			disturb_kernel(o);
	}
}

/*
 * A process of its own measures: this one may have been on another CPU, which then has its
 * memory loaded and is concerned.
 */
static void measure_beside(unsigned int threads, bool smallest)
{
	int holder = 0;

	crowd = threads;
	progress("%u counted threads, on %u CPUs", crowd, cpus);
	if (crowd)
		holder = start_holder(start_crowd, NULL);
	in_child(measure_operations, &smallest);
	if (holder)
		kill_holder(holder);
	msleep(1000);
}

/* ---- a process of many threads ------------------------------------------------ */

/* Read the counts of all threads that are attached to. */
static void read_members(void)
{
	u64 own_sums[2], children[2];
	struct vperfctr_read req = {
		.size = sizeof(req),
		.nrctrs = 1,
		.flags = VPERFCTR_READ_MEMBERS,
		.sums = (uintptr_t)own_sums,
		.children = (uintptr_t)children,
	};

	must_ioctl(own.fd[0], VPERFCTR_READ, &req);
	if (req.children_missed)
		die("%llu threads are missing", (unsigned long long)req.children_missed);
}

static void emit_of_each(const char *what, const char *name, double sum)
{
	char metric[64];

	snprintf(metric, sizeof(metric), "%s.cpus%u.threads%u", name, cpus, target_threads);
	emit(what, sum / target_threads, metric, 0);
}

static void time_of_each(const char *what, const char *name, void (*call)(void))
{
	u64 time = now();

	call();
	emit_of_each(what, name, figure(now() - time));
}

/*
 * Attach to a process of that many sleeping threads, read the counts of all, and end it: what
 * that takes for each thread, and the memory of each state.
 */
static void measure_process(void *arg)
{
	long memory;

	target_threads = *(const unsigned int *)arg;
	progress("a process of %u threads, on %u CPUs", target_threads, cpus);
	target = start_holder(start_target_threads, NULL);
	msleep(3000);
	memory = free_memory();
	/* an instruction takes a nanosecond */
	time_of_each("ns", "attach_all", attach_target);
	msleep(3000);
	emit_of_each("bytes", "state_bytes", (memory - free_memory()) * 1024.);
	time_of_each(unit, "read_all", read_members);
	time_of_each(unit, "close_all", close_target);
	kill_holder(target);
}

/* ---- all of it ------------------------------------------------------------------ */

/* More threads than these need more IDs and states than are allowed. */
#define USUAL		10000

static void allow_threads(unsigned int threads)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", threads + 30000);
	write_file("/proc/sys/kernel/threads-max", number);
	if (threads <= USUAL)
		return;
	write_file("/proc/sys/kernel/pid_max", number);
	if (side == &vperfctr_side) {
		write_file(PARAMETER("max_states_per_user"), number);
		write_file(PARAMETER("max_stops_per_second"), "0");
	}
}

void measure_disturbance(unsigned int many)
{
	cpus = sysconf(_SC_NPROCESSORS_ONLN);
	module_counts = side == &vperfctr_side && !access(PARAMETER("locked"), R_OK);
	if (many)
		allow_threads(many);
	keep_others_idle();
	if (many) {
		measure_beside(many, false);
		if (many > USUAL && side == &vperfctr_side && !module_counts)
			in_child(measure_process, &many);
		return;
	}
	measure_beside(0, false);
	measure_beside(10, true);
	measure_beside(1000, false);
}
