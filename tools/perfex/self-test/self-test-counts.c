// SPDX-License-Identifier: GPL-2.0
/* perfex --self-test: counts of code of known length. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

/* Processors may count a few instructions more: an interrupt adds one on some. */
#define MORE		5
#define LOOP		500000UL	/* of 2 instructions */
#define LOOP_COUNT	(2 * (uint64_t)LOOP)

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void start_instructions(struct self_test *t, const struct vperfctr_info *kind,
			       struct counting *c)
{
	init_counting(c, kind);
	add_instructions(t, kind, c);
	start_counting(t, c);
}

/* One counter of instructions in user mode, wherever it is. */
static void start_one(struct self_test *t, const struct vperfctr_info *kind, struct counting *c)
{
	init_counting(c, kind);
	add_counter(c, counter_for_instructions(t, kind), 0);
	start_counting(t, c);
}

/* ---- the start ----------------------------------------------------------------------- */

struct first_failure {
	unsigned int cpu, nr;
	struct error e;
};

/* The registers of a CPU are tried when counting starts there for the first time. */
static void try_cpu(struct self_test *t, const struct vperfctr_info *kind, unsigned int cpu,
		    struct first_failure *first)
{
	struct counting c;
	struct error e;

	init_counting(&c, kind);
	add_instructions(t, kind, &c);
	if (!try_counting(&c, &e)) {
		stop_counting(&c);
		return;
	}
	CPU_CLR(cpu, &t->usable[kind->kind]);
	if (!first->nr++) {
		first->cpu = cpu;
		first->e = e;
	}
}

static void find_why(void *arg, const struct log_line *line)
{
	char *why = arg;

	if (!*why && is_why_no_start(line))
		tell_line(line, why, 200);
}

static enum outcome check_start(struct self_test *t)
{
	struct first_failure first = { .nr = 0 };
	unsigned int kind, cpu;
	char why[200] = "";

	if (!t->kind[0].nrctrs)
		return skipped(t, "the module uses no counters of this processor (%.*s)",
			       (int)sizeof(t->kind[0].cpu_name), t->kind[0].cpu_name);
	for (kind = 0; kind < t->nrkinds; kind++) {
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &t->usable[kind]))
				continue;
			pin(t, cpu);
			try_cpu(t, &t->kind[kind], cpu, &first);
		}
	}
	if (first.nr) {
		read_log(t, find_why, why);
		return failed(t, "%u CPUs do not count, CPU %u the first: %.300s", first.nr,
			      first.cpu, *why ? why : first.e.text);
	}
	return passed(t, "counting starts on %u CPUs", nr_usable(t));
}

/* ---- exact counts ---------------------------------------------------------------- */

static void check_count(struct self_test *t, unsigned int cpu, uint32_t map, uint64_t count,
			uint64_t expected, uint64_t more)
{
	char name[40];

	if (count < expected || count > expected + more)
		fail_check(t, "CPU %u: %s counted %" PRIu64 " of %" PRIu64 " instructions", cpu,
			   counter_name(name, sizeof(name), map), count, expected);
}

static void count_each(struct self_test *t, const struct vperfctr_info *kind, unsigned int cpu)
{
	struct counting all, one;
	uint64_t count;
	unsigned int i;

	init_counting(&all, kind);
	add_instructions(t, kind, &all);
	for (i = 0; i < all.nr; i++) {
		init_counting(&one, kind);
		add_counter(&one, all.ctr[i], 0);
		start_counting(t, &one);
		count_loop(t, &one, LOOP / 10, 20, &count);
		check_count(t, cpu, all.ctr[i].map, count, LOOP_COUNT / 10, MORE);
		stop_counting(&one);
	}
}

static enum outcome check_each(struct self_test *t)
{
	on_each_cpu(t, count_each);
	return passed(t, "each counter of %u CPUs counts a loop exactly, to within %d", nr_usable(t),
		      MORE);
}

static void count_together(struct self_test *t, const struct vperfctr_info *kind, unsigned int cpu)
{
	uint64_t counts[VPERFCTR_MAX_CTRS];
	struct counting c;
	unsigned int i;

	start_instructions(t, kind, &c);
	count_loop(t, &c, LOOP, 5, counts);
	for (i = 0; i < c.nr; i++)
		check_count(t, cpu, c.ctr[i].map, counts[i], LOOP_COUNT, LOOP_COUNT / 10000);
	stop_counting(&c);
}

static enum outcome check_together(struct self_test *t)
{
	on_each_cpu(t, count_together);
	return passed(t, "all counters of instructions count alike on %u CPUs", nr_usable(t));
}

/* ---- modes ----------------------------------------------------------------------- */

static enum outcome check_modes(struct self_test *t)
{
	static const char *const names[] = { "instructions:u", "instructions:k", "instructions:uk" };
	uint64_t before[3], after[3], parts, both;
	const struct vperfctr_info *kind;
	struct vperfctr_event ev[3];
	struct vperfctr_ctr ctr[3];
	struct vperfctr_why why;
	struct counting c;
	unsigned int i;

	pin_to_first(t, &kind);
	require_modes(t, kind);
	for (i = 0; i < 3; i++)
		if (vperfctr_event(&ev[i], names[i], kind, &why))
			return skipped(t, "%s: %.400s", names[i], why.text);
	if (vperfctr_event_assign(ctr, ev, 3, kind, &why))
		return skipped(t, "%.500s", why.text);
	init_counting(&c, kind);
	for (i = 0; i < 3; i++)
		add_counter(&c, ctr[i], 0);
	start_counting(t, &c);
	if (vperfctr_read(c.v, NULL, before, 3))
		return failed(t, "the counters cannot be read");
	for (i = 0; i < 1000; i++) {
		known_loop(1000);
		getppid();
	}
	if (vperfctr_read(c.v, NULL, after, 3))
		return failed(t, "the counters cannot be read");
	stop_counting(&c);
	parts = after[0] - before[0] + after[1] - before[1];
	both = after[2] - before[2];
	if (llabs((long long)(parts - both)) > (long long)(both / 1000) + MORE)
		return failed(t, "user and kernel mode counted %" PRIu64 " and %" PRIu64 " instructions, both modes %" PRIu64,
			      after[0] - before[0], after[1] - before[1], both);
	if (after[0] - before[0] < 2000000 || after[1] == before[1])
		return failed(t, "user mode counted %" PRIu64 " instructions and kernel mode %" PRIu64 ": one mode is not counted",
			      after[0] - before[0], after[1] - before[1]);
	return passed(t, "user mode %" PRIu64 " + kernel mode %" PRIu64 " = %" PRIu64, after[0] - before[0],
		      after[1] - before[1], both);
}

/* ---- interrupts ---------------------------------------------------------------------- */

/* How much interrupts add to a count. */
static enum outcome check_excess(struct self_test *t)
{
	const struct vperfctr_info *kind;
	const unsigned int cpu = pin_to_first(t, &kind);
	uint64_t interrupts, count, expected;
	struct counting c;
	double began, wanted;
	unsigned long n;

	require_modes(t, kind);
	start_one(t, kind, &c);
	began = now();
	known_loop(LOOP);
	/* Some tenths of a second, whatever the speed. */
	wanted = (double)LOOP * 0.3 / (now() - began + 1e-9);
	n = wanted < LOOP ? LOOP : wanted > 1e9 ? 1000000000 : (unsigned long)wanted;
	interrupts = interrupts_of(cpu, NULL);
	count_loop(t, &c, n, 1, &count);
	interrupts = interrupts_of(cpu, NULL) - interrupts;
	stop_counting(&c);
	expected = 2 * (uint64_t)n;
	if (count < expected || (double)(count - expected) > 1.1 * (double)interrupts + MORE)
		return failed(t, "%" PRIu64 " of %" PRIu64 " instructions, with %" PRIu64 " interrupts",
			      count, expected, interrupts);
	return passed(t, "%" PRIu64 " more than %" PRIu64 " instructions, with %" PRIu64 " interrupts",
		      count - expected, expected, interrupts);
}

/* ---- switches ------------------------------------------------------------------------- */

#define YIELDS		2000
#define ROUND		500UL		/* of 2 instructions */

/* A second thread on the same CPU, which is not counted. */
struct companion {
	atomic_bool stop, ready;
};

static void yields(unsigned int rounds)
{
	while (rounds--) {
		known_loop(ROUND);
		sched_yield();
	}
}

static bool become_fifo(void)
{
	const struct sched_param param = { .sched_priority = 1 };

	return !sched_setscheduler(0, SCHED_FIFO, &param);
}

static void *yield_for_ever(void *arg)
{
	struct companion *co = arg;

	become_fifo();
	co->ready = true;
	while (!co->stop)
		yields(1);
	return NULL;
}

/* The count of YIELDS rounds: the least of a few attempts. */
static uint64_t count_yields(struct self_test *t, struct counting *c)
{
	uint64_t before, after, least = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		if (vperfctr_read_pmc(c->v, 0, &before))
			fail_check(t, "the counter cannot be read");
		yields(YIELDS);
		if (vperfctr_read_pmc(c->v, 0, &after))
			fail_check(t, "the counter cannot be read");
		/* The first pass may resolve symbols and fault on pages. */
		if (i && after - before < least)
			least = after - before;
	}
	return least;
}

static enum outcome check_switches(struct self_test *t)
{
	struct companion co = { false, false };
	const struct vperfctr_info *kind;
	uint64_t alone, together;
	struct rusage a, b;
	struct counting c;
	pthread_t thread;
	long switches;

	pin_to_first(t, &kind);
	require_modes(t, kind);
	if (!become_fifo())
		return skipped(t, "threads cannot be made to take turns: %s", strerror(errno));
	start_one(t, kind, &c);
	alone = count_yields(t, &c);
	if (pthread_create(&thread, NULL, yield_for_ever, &co))
		return skipped(t, "no second thread can be started");
	while (!co.ready)
		sched_yield();
	getrusage(RUSAGE_THREAD, &a);
	together = count_yields(t, &c);
	getrusage(RUSAGE_THREAD, &b);
	co.stop = true;
	pthread_join(thread, NULL);
	stop_counting(&c);
	switches = b.ru_nvcsw + b.ru_nivcsw - a.ru_nvcsw - a.ru_nivcsw;
	if (switches < YIELDS)
		return skipped(t, "the threads took turns %ld times only", switches);
	if (llabs((long long)(together - alone)) > (long long)(alone / 10000) + MORE)
		return failed(t, "%" PRIu64 " instructions alone, and %" PRIu64 " with %ld switches to a thread that is not counted",
			      alone, together, switches / 4);
	return passed(t, "%" PRIu64 " instructions alone, and %" PRIu64 " with %ld switches", alone,
		      together, switches / 4);
}

/* ---- sleep ------------------------------------------------------------------------------- */

#define SLEEPS	5

static uint64_t count_sleeps(struct self_test *t, struct counting *c, long ns)
{
	const struct timespec time = { .tv_nsec = ns };
	uint64_t before, after;
	unsigned int i;

	if (vperfctr_read_pmc(c->v, 0, &before))
		fail_check(t, "the counter cannot be read");
	for (i = 0; i < SLEEPS; i++) {
		known_loop(100 * ROUND);
		nanosleep(&time, NULL);
	}
	if (vperfctr_read_pmc(c->v, 0, &after))
		fail_check(t, "the counter cannot be read");
	return after - before;
}

/* An idle processor may lose its registers. */
static enum outcome check_sleep(struct self_test *t)
{
	const struct vperfctr_info *kind;
	uint64_t awake, asleep;
	struct counting c;

	pin_to_first(t, &kind);
	require_modes(t, kind);
	start_one(t, kind, &c);
	count_sleeps(t, &c, 0);
	awake = count_sleeps(t, &c, 0);
	asleep = count_sleeps(t, &c, 20000000);
	stop_counting(&c);
	if (llabs((long long)(asleep - awake)) > (long long)(awake / 10000) + MORE)
		return failed(t, "%" PRIu64 " instructions without sleep, and %" PRIu64 " with %d sleeps of 20 ms",
			      awake, asleep, SLEEPS);
	return passed(t, "%" PRIu64 " instructions without sleep, and %" PRIu64 " with", awake, asleep);
}

/* ---- migration -------------------------------------------------------------------------- */

#define MOVES	200

/* Move on to the next CPU of the set MOVES times, with a loop on each. */
static uint64_t count_moves(struct self_test *t, struct counting *c, const cpu_set_t *cpus)
{
	const unsigned int nr = (unsigned int)CPU_COUNT(cpus);
	uint64_t before, after;
	cpu_set_t one[CPU_SETSIZE < 64 ? CPU_SETSIZE : 64];
	unsigned int i, cpu;

	/* The same number of instructions for each move: prepare the sets. */
	for (i = 0, cpu = 0; i < nr && i < ARRAY_SIZE(one); cpu++) {
		if (!CPU_ISSET(cpu, cpus))
			continue;
		CPU_ZERO(&one[i]);
		CPU_SET(cpu, &one[i++]);
	}
	if (vperfctr_read_pmc(c->v, 0, &before))
		fail_check(t, "the counter cannot be read");
	for (i = 0, cpu = 0; i < MOVES; i++, cpu++) {
		/* Without a branch that depends on the number of CPUs. */
		sched_setaffinity(0, sizeof(*one), &one[cpu % (nr < 64 ? nr : 64)]);
		known_loop(ROUND);
	}
	if (vperfctr_read_pmc(c->v, 0, &after))
		fail_check(t, "the counter cannot be read");
	return after - before;
}

static enum outcome check_migration(struct self_test *t)
{
	const struct vperfctr_info *kind;
	const unsigned int cpu = pin_to_first(t, &kind);
	uint64_t still, moving;
	struct counting c;
	cpu_set_t here;

	if (CPU_COUNT(&t->usable[kind->kind]) < 2)
		return skipped(t, "there is one CPU of this kind");
	require_modes(t, kind);
	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	start_one(t, kind, &c);
	count_moves(t, &c, &here);
	still = count_moves(t, &c, &here);
	count_moves(t, &c, &t->usable[kind->kind]);
	moving = count_moves(t, &c, &t->usable[kind->kind]);
	stop_counting(&c);
	/* An interrupted read starts over, which is some dozen instructions more. */
	if (llabs((long long)(moving - still)) > (long long)(still / 10000) + 100)
		return failed(t, "%" PRIu64 " instructions on one CPU, and %" PRIu64 " with %d moves between CPUs",
			      still, moving, MOVES);
	return passed(t, "%" PRIu64 " instructions on one CPU, and %" PRIu64 " with %d moves", still,
		      moving, MOVES);
}

/* ---- isolation ---------------------------------------------------------------------------- */

static void *spin(void *arg)
{
	struct companion *co = arg;

	co->ready = true;
	while (!co->stop)
		known_loop(10000);
	return NULL;
}

static enum outcome check_leak(struct self_test *t)
{
	struct companion co = { false, false };
	const struct vperfctr_info *kind;
	uint64_t before, after;
	struct counting c;
	pthread_t thread;

	pin_to_first(t, &kind);
	start_one(t, kind, &c);
	if (pthread_create(&thread, NULL, spin, &co))
		return skipped(t, "no second thread can be started");
	while (!co.ready)
		sched_yield();
	before = read_count(t, &c, 0, NULL);
	nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	after = read_count(t, &c, 0, NULL);
	co.stop = true;
	pthread_join(thread, NULL);
	stop_counting(&c);
	/* Even a slow processor executes many more in that time. */
	if (after - before > (counts_all_modes(kind) ? 1000000 : 10000))
		return failed(t, "a sleeping thread counted %" PRIu64 " instructions of another thread",
			      after - before);
	return passed(t, "a thread counted %" PRIu64 " instructions in a sleep beside another thread",
		      after - before);
}

static sigjmp_buf after_fault;

static void on_fault(int sig)
{
	siglongjmp(after_fault, sig);
}

/* Return: the signal that reading a counter in user mode raises, or 0. */
static int read_forbidden(uint32_t map)
{
	int sig;

	signal(SIGSEGV, on_fault);
	signal(SIGILL, on_fault);
	sig = sigsetjmp(after_fault, 1);
	if (!sig)
		__vperfctr_rdpmc(map);
	signal(SIGSEGV, SIG_DFL);
	signal(SIGILL, SIG_DFL);
	return sig;
}

static enum outcome check_rdpmc(struct self_test *t)
{
	const struct vperfctr_info *kind;
	unsigned int tries;
	struct counting c;
	uint32_t map;
	int wstatus;
	pid_t pid;

	if (!VPERFCTR_HAVE_RDPMC || !(t->kind[0].features & VPERFCTR_FEATURE_RDPMC))
		return skipped(t, "counters cannot be read in user mode");
	if (t->kind[0].cpu_type == VPERFCTR_CPU_PPC32)
		return skipped(t, "this processor lets all processes read counters");
	if (read_number("/sys/bus/event_source/devices/cpu/rdpmc") == 2)
		return skipped(t, "the administrator lets all processes read counters (devices/cpu/rdpmc is 2)");
	pin_to_first(t, &kind);
	start_one(t, kind, &c);
	map = c.ctr[0].map;
	if (read_forbidden(map))
		return failed(t, "the owner of a counter cannot read it in user mode");
	pid = fork();
	if (!pid)
		_exit(read_forbidden(map) ? 0 : 1);
	if (pid < 0 || waitpid(pid, &wstatus, 0) != pid)
		return skipped(t, "no process can be started: %s", strerror(errno));
	if (wstatus)
		return failed(t, "another process, which counts nothing, can read the counters");
	stop_counting(&c);
	/* POWER's kernel lets all processes read counters that are free. */
	if (kind->cpu_type == VPERFCTR_CPU_POWER8)
		return passed(t, "only a process that counts can read the counters");
	/* While others count, the right may end a tenth of a second later. */
	for (tries = 0; !read_forbidden(map); tries++) {
		if (tries == 100)
			return failed(t, "a process that no longer counts can still read the counters");
		usleep(10000);
	}
	return passed(t, "only a process that counts can read the counters");
}

/* ---- reads ------------------------------------------------------------------------------- */

#define READS	20000

static enum outcome check_reads(struct self_test *t)
{
	const struct vperfctr_info *kind;
	uint64_t user, kernel, last = 0;
	struct counting c;
	unsigned int i;

	pin_to_first(t, &kind);
	start_one(t, kind, &c);
	for (i = 0; i < READS; i++) {
		if (vperfctr_read_pmc(c.v, 0, &user))
			return failed(t, "the counter cannot be read");
		kernel = read_count(t, &c, 0, NULL);
		if (user < last || kernel < user)
			return failed(t, "a count went back: %" PRIu64 ", then %" PRIu64 " in user mode, then %" PRIu64 " by the kernel",
				      last, user, kernel);
		last = kernel;
	}
	stop_counting(&c);
	return passed(t, "%d reads in user mode and %d by the kernel never went back", READS, READS);
}

static double time_yields(void)
{
	const double began = now();

	yields(YIELDS);
	return now() - began;
}

/* Append what counting adds to a switch, between two threads of which one is counted. */
static void describe_switches(struct self_test *t, const struct vperfctr_info *kind, char *text,
			      size_t size)
{
	struct companion co = { false, false };
	double plain, counted;
	struct counting c;
	pthread_t thread;

	*text = '\0';
	if (!become_fifo() || pthread_create(&thread, NULL, yield_for_ever, &co))
		return;
	while (!co.ready)
		sched_yield();
	time_yields();
	plain = time_yields();
	start_one(t, kind, &c);
	time_yields();
	counted = time_yields();
	stop_counting(&c);
	co.stop = true;
	pthread_join(thread, NULL);
	/* A round is a switch to the companion and one back: a switch out and a switch in. */
	snprintf(text, size, ", and counting adds %.1f ns to a switch out and in",
		 (counted - plain) * 1e9 / YIELDS);
}

/* Append the cost of an overflow: count with a short period, and with one that does not end. */
static void describe_overflows(struct self_test *t, const struct vperfctr_info *kind, char *text,
			       size_t size)
{
	enum { PERIOD = 2000 };
	struct vperfctr_ring ring = { .nrsamples = 16, .watermark = 16 };
	double began, time[2];
	struct counting c;
	unsigned int i;

	*text = '\0';
	if (!(kind->features & VPERFCTR_FEATURE_PCINT))
		return;
	for (i = 0; i < 2; i++) {
		init_counting(&c, kind);
		add_counter(&c, counter_for_instructions(t, kind), i ? PERIOD : kind->max_period);
		c.control.flags |= VPERFCTR_CONTROL_RING;
		if (vperfctr_open(&c.v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT))
			return;
		if (!vperfctr_ring_open(c.v, &ring) && !vperfctr_control(c.v, &c.control)) {
			began = now();
			known_loop(LOOP);
			time[i] = now() - began;
		} else {
			i = 2;
		}
		stop_counting(&c);
	}
	if (i == 2)
		snprintf(text, size, ", and an overflow with its sample takes %.0f ns",
			 (time[1] - time[0]) * 1e9 * PERIOD / LOOP_COUNT);
}

static enum outcome check_cost(struct self_test *t)
{
	char switches[80], overflows[80];
	const struct vperfctr_info *kind;
	double began, user, call;
	struct counting c;
	uint64_t value;
	unsigned int i;

	pin_to_first(t, &kind);
	describe_switches(t, kind, switches, sizeof(switches));
	describe_overflows(t, kind, overflows, sizeof(overflows));
	start_one(t, kind, &c);
	began = now();
	for (i = 0; i < READS; i++)
		vperfctr_read_pmc(c.v, 0, &value);
	user = now() - began;
	began = now();
	for (i = 0; i < READS; i++)
		read_count(t, &c, 0, NULL);
	call = now() - began;
	stop_counting(&c);
	return passed(t, "a read takes %.1f ns in user mode and %.1f ns by the kernel%s%s",
		      user * 1e9 / READS, call * 1e9 / READS, switches, overflows);
}

const struct check count_checks[] = {
	CHECK("start", "counting starts on each CPU", check_start),
	CHECK("each", "each counter of each CPU counts a loop exactly", check_each),
	CHECK("together", "all counters of a CPU count at once", check_together),
	CHECK("modes", "user and kernel mode add up", check_modes),
	CHECK("excess", "what interrupts add to a count", check_excess),
	CHECK("switches", "counts do not change at thread switches", check_switches),
	CHECK("sleep", "counts do not change while the CPU is idle", check_sleep),
	CHECK("migration", "counts do not change between CPUs", check_migration),
	CHECK("leak", "a thread does not count another one", check_leak),
	CHECK("rdpmc", "only a process that counts can read counters", check_rdpmc),
	CHECK("reads", "counts never go back", check_reads),
	CHECK("cost", "what reads, switches and overflows take", check_cost),
	CHECKS_END
};
