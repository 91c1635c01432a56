// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of each operation on a machine of any size, with any number of counted threads:
 * interrupts of other CPUs, threads that it wakes there, stops of the machine, acquisitions of
 * locks, contended cache lines, the caller's steps, and the steps of the longest stop.  A cost
 * that grows with the machine exceeds its limit.
 *
 * Before each operation, threads on other CPUs do the same, each with a state of its own.  So
 * what they all write is in the cache of another CPU.
 */
#include <stdlib.h>

#include "scenarios.h"

struct sim_costs sim_costs;

static unsigned int nr_sleepers;

/* ---- operations ---------------------------------------------------------------- */

/* A thread that does the operations.  The first one is measured. */
struct party {
	struct task_struct *task;
	int fd;
	int other_fd;			/* of a counted thread that sleeps */
	struct task_struct *process;	/* of other threads that sleep, to attach to */
	unsigned int nr_asleep;		/* of them */
	int set_fd;
	bool may_end;
	unsigned int done;		/* operations */
};

#define MAX_PARTIES	32

static struct party parties[MAX_PARTIES];
static unsigned int nr_parties;

static void op_open(struct party *p)
{
	p->fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
}

static void op_control(struct party *p)
{
	sim_must(sim_control(p->fd, 0));
}

static void op_control_family(struct party *p)
{
	sim_must(sim_control(p->fd, VPERFCTR_CONTROL_INHERIT));
}

static void op_read(struct party *p)
{
	sim_must(sim_read(p->fd));
}

static void op_read_other(struct party *p)
{
	sim_must(sim_read(p->other_fd));
}

static void op_suspend_resume(struct party *p)
{
	sim_must(user_ioctl(p->fd, VPERFCTR_SUSPEND, NULL));
	sim_must(user_ioctl(p->fd, VPERFCTR_RESUME, NULL));
}

static void op_map_unmap(struct party *p)
{
	struct vm_area_struct *vma = user_mmap(p->fd, 0, PAGE_SIZE);

	sim_require(vma, "the page cannot be mapped");
	user_munmap(vma);
}

static void op_switch(struct party *p)
{
	user_sleep(1);
	(void)p;
}

static void end_at_once(void *arg)
{
	user_work(5);
	(void)arg;
}

static void op_thread(struct party *p)
{
	user_wait(user_thread("child", end_at_once, NULL));
	(void)p;
}

static void op_close(struct party *p)
{
	sim_must(user_ioctl(p->fd, VPERFCTR_UNLINK, NULL));
	user_close(p->fd);
}

/* All threads of a process, by one stop of the machine. */
static void op_attach(struct party *p)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&control };

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT);
	req.tid = p->process->pid;
	req.mem_fd = user_open_mem(p->process);
	p->set_fd = sim_must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	sim_require(!req.nrskipped, "skipped %u threads", req.nrskipped);
	user_close(req.mem_fd);
}

static void op_read_all(struct party *p)
{
	struct sim_counts c;

	sim_must(sim_read_counts(p->set_fd, &c, VPERFCTR_READ_MEMBERS));
}

static void op_detach(struct party *p)
{
	user_close(p->set_fd);
}

/* Attach to more threads than one stop of the machine may visit.  Only the first party does. */
static struct task_struct *many;

static void op_attach_many(struct party *p)
{
	struct party attacher = { .process = many };

	if (p != parties)
		return;
	op_attach(&attacher);
	op_detach(&attacher);
}

/*
 * Attach beside as many observers as a thread can have, by counters of their own.  Only the first
 * party does.
 */
#define NR_OBSERVERS	(VPERFCTR_MAX_STATES - 1)

static struct task_struct *observed;

static int attach_observer(unsigned int i)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&control, .flags = VPERFCTR_ATTACH_OBSERVER,
	};
	int fd;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT);
	ctr.map = i;
	req.tid = observed->pid;
	req.mem_fd = user_open_mem(observed);
	fd = sim_must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	sim_require(!req.nrskipped, "skipped %u threads", req.nrskipped);
	user_close(req.mem_fd);
	return fd;
}

static void op_attach_beside(struct party *p)
{
	if (p == parties)
		user_close(attach_observer(NR_OBSERVERS));
}

/* That of max_threads_per_stop threads. */
#define LONGEST_STOP	1200

/* In this order.  The first mappings may interrupt CPUs: see rdpmc.c. */
static const struct op {
	const char *name;
	void (*func)(struct party *p);
	unsigned int repeat;
	struct sim_costs limit;		/* of one */
} ops[] = {
	{ "open", op_open, 1, { 0, 0, 0, 20, 6, 100 } },
	{ "control", op_control, 10, { 0, 0, 0, 10, 4, 150 } },
	{ "read", op_read, 10, { 0, 0, 0, 5, 0, 80 } },
	{ "read another's", op_read_other, 10, { 0, 0, 0, 10, 2, 100 } },
	{ "suspend, resume", op_suspend_resume, 10, { 0, 0, 0, 5, 0, 100 } },
	{ "switch", op_switch, 10, { 0, 0, 0, 2, 0, 70 } },
	{ "map, first", op_map_unmap, 6, { -1UL, 0, 0, 20, -1UL, -1UL } },
	{ "map, unmap", op_map_unmap, 10, { 0, 0, 0, 20, 12, 400 } },
	{ "inherit control", op_control_family, 1, { 0, 0, 0, 10, 4, 150 } },
	{ "thread, counted", op_thread, 10, { 0, 0, 0, 30, 8, 200 } },
	{ "attach to 10", op_attach, 1, { 0, 0, 1, 26, 40, 900, LONGEST_STOP } },
	{ "read 10", op_read_all, 10, { 0, 0, 0, 16, 2, 500 } },
	{ "detach from 10", op_detach, 1, { 0, 0, 0, 190, 30, 2000 } },
	{ "attach beside", op_attach_beside, 1, { 0, 0, -1UL, -1UL, -1UL, -1UL, LONGEST_STOP } },
	{ "attach to many", op_attach_many, 1, { 0, 0, -1UL, -1UL, -1UL, -1UL, LONGEST_STOP } },
	{ "unlink, close", op_close, 1, { 0, 0, 0, 20, 8, 250 } },
};

/* A sample of a thread whose family has one ring for all CPUs. */
#define SAMPLE_PERIOD	100

static void op_sample(struct party *p)
{
	user_work(SAMPLE_PERIOD);
	(void)p;
}

static const struct op sample_op = { "sample", op_sample, 10, { 0, 0, 0, 2, 6, 80 } };

static unsigned int nr_ordered;		/* operations that the others must have done */
static const struct op *ordered;
static unsigned int nr_waiting;		/* others that have done it */

static void measure_once(const struct op *op, struct sim_costs *cost)
{
	struct sim_costs before;
	u64 steps;

	nr_waiting = 0;
	ordered = op;
	nr_ordered++;
	while (nr_waiting < nr_parties - 1) {
		sim_wake_up(&nr_ordered);
		user_sleep(1000);
	}
	sim_next_round();
	sim_costs.longest_stop = 0;
	before = sim_costs;
	steps = current->sim->steps;
	op->func(&parties[0]);
	cost->interrupts += sim_costs.interrupts - before.interrupts;
	cost->wakes += sim_costs.wakes - before.wakes;
	cost->stops += sim_costs.stops - before.stops;
	cost->locks += sim_costs.locks - before.locks;
	cost->lines += sim_costs.lines - before.lines;
	cost->steps += current->sim->steps - steps;
	cost->longest_stop = max(cost->longest_stop, sim_costs.longest_stop);
}

static bool is_within(const struct sim_costs *cost, const struct sim_costs *limit)
{
	return cost->interrupts <= limit->interrupts && cost->wakes <= limit->wakes &&
	       cost->stops <= limit->stops && cost->locks <= limit->locks &&
	       cost->lines <= limit->lines && cost->steps <= limit->steps &&
	       cost->longest_stop <= limit->longest_stop;
}

/* Print a cost and its limit. */
static void print_cost(const char *what, unsigned long cost, unsigned long limit)
{
	if (limit == -1UL)
		printf("  %s %lu", what, cost);
	else
		printf("  %s %lu/%lu", what, cost, limit);
}

static void print_costs(const struct op *op, const struct sim_costs *cost)
{
	printf("%5u CPUs %7u threads  %-16s", nr_cpu_ids, nr_sleepers, op->name);
	print_cost("interrupts", cost->interrupts, op->limit.interrupts);
	print_cost("wakes", cost->wakes, op->limit.wakes);
	print_cost("stops", cost->stops, op->limit.stops);
	print_cost("locks", cost->locks, op->limit.locks);
	if (sim_has_hooks)
		print_cost("contended lines", cost->lines, op->limit.lines);
	print_cost("steps", cost->steps, op->limit.steps);
	print_cost("longest stop", cost->longest_stop, op->limit.longest_stop);
	putchar('\n');
}

static void measure(const struct op *op)
{
	struct sim_costs cost = {};
	unsigned int i;

	for (i = 0; i < op->repeat; i++)
		measure_once(op, &cost);
	cost.interrupts /= op->repeat;
	cost.wakes /= op->repeat;
	cost.stops /= op->repeat;
	cost.locks /= op->repeat;
	cost.lines = DIV_ROUND_UP(cost.lines, op->repeat);
	cost.steps /= op->repeat;
	print_costs(op, &cost);
	sim_require(is_within(&cost, &op->limit), "%s costs more than on a small machine", op->name);
}

static void run_only_on(unsigned int cpu)
{
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[SIM_WORD(cpu)] = BIT(SIM_BIT(cpu));
	user_sleep(1);
}

static void be_read(void *arg)
{
	struct party *p = arg;

	p->other_fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_must(sim_control(p->other_fd, 0));
	while (!p->may_end)
		sim_sleep_on(&p->may_end, 0);
}

#define NR_ATTACHED	10
#define NR_MANY		300
#define NR_VISITED	4U

static void sleep_till_end(void *arg)
{
	struct party *p = arg;

	p->nr_asleep++;
	while (!p->may_end)
		sim_sleep_on(&p->may_end, 0);
	user_work(1);
}

static void be_attached(void *arg)
{
	struct task_struct *task[NR_ATTACHED - 1];
	unsigned int i;

	for (i = 0; i < NR_ATTACHED - 1; i++)
		task[i] = user_thread("is attached", sleep_till_end, arg);
	sleep_till_end(arg);
	for (i = 0; i < NR_ATTACHED - 1; i++)
		user_wait(task[i]);
}

static void be_many(void *arg)
{
	struct task_struct *task[NR_MANY - 1];
	unsigned int i;

	for (i = 0; i < NR_MANY - 1; i++)
		task[i] = user_thread("is one of many", sleep_till_end, arg);
	sleep_till_end(arg);
	for (i = 0; i < NR_MANY - 1; i++)
		user_wait(task[i]);
}

/* As many threads as one stop visits. */
#define NR_OBSERVED	64

static void be_observed(void *arg)
{
	struct task_struct *task[NR_OBSERVED - 1];
	unsigned int i;

	for (i = 0; i < NR_OBSERVED - 1; i++)
		task[i] = user_thread("is observed", sleep_till_end, arg);
	sleep_till_end(arg);
	for (i = 0; i < NR_OBSERVED - 1; i++)
		user_wait(task[i]);
}

static struct task_struct *begin_party(struct party *p)
{
	struct task_struct *task;

	run_only_on(p - parties);
	task = user_thread("is read", be_read, p);
	p->process = user_fork("is attached", be_attached, p);
	while (p->other_fd < 0 || p->nr_asleep < NR_ATTACHED)
		user_sleep(1000);
	return task;
}

static void end_party(struct party *p, struct task_struct *task)
{
	p->may_end = true;
	sim_wake_up(&p->may_end);
	user_wait(task);
	user_wait(p->process);
}

static void follow_orders(struct party *p)
{
	p->done = nr_ordered;
	nr_waiting++;
	for (;;) {
		while (p->done == nr_ordered)
			sim_sleep_on(&nr_ordered, 0);
		if (!ordered)
			break;
		p->done++;
		ordered->func(p);
		nr_waiting++;
	}
}

static void end_orders(void)
{
	sim_watches_lines = false;
	ordered = NULL;
	nr_ordered++;
	sim_wake_up(&nr_ordered);
}

/* Do what is measured elsewhere, before it. */
static void take_part(void *arg)
{
	struct party *p = arg;
	struct task_struct *task = begin_party(p);

	follow_orders(p);
	end_party(p, task);
}

static void measure_all(void *arg)
{
	struct task_struct *task = begin_party(&parties[0]);
	struct party of_many = {}, of_observed = {};
	int observer[NR_OBSERVERS];
	unsigned int i;

	many = user_fork("are many", be_many, &of_many);
	observed = user_fork("are observed", be_observed, &of_observed);
	while (of_many.nr_asleep < NR_MANY || of_observed.nr_asleep < NR_OBSERVED ||
	       nr_waiting < nr_parties - 1)
		user_sleep(1000);
	for (i = 0; i < NR_OBSERVERS; i++)
		observer[i] = attach_observer(i);
	/* From now on these CPUs are in the mask of the mm, and a change of a right looks at each. */
	for (i = 1; i < min(nr_parties, NR_VISITED); i++)
		run_only_on(i);
	run_only_on(0);
	if (sim_has_hooks)
		sim_watch_lines(0);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		measure(&ops[i]);
	end_orders();
	of_many.may_end = true;
	sim_wake_up(&of_many.may_end);
	user_wait(many);
	for (i = 0; i < NR_OBSERVERS; i++)
		user_close(observer[i]);
	of_observed.may_end = true;
	sim_wake_up(&of_observed.may_end);
	user_wait(observed);
	end_party(&parties[0], task);
	(void)arg;
}

static void be_sampled(void *arg)
{
	struct party *p = arg;

	run_only_on(p - parties);
	follow_orders(p);
}

/* The threads of a family, one on each CPU, put samples into the same ring. */
static void measure_samples(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 1024, .watermark = 1024, .nrsums = 1,
	};
	const struct vperfctr_ring_page *page;
	struct task_struct *task[MAX_PARTIES];
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	unsigned int i;
	int fd;

	run_only_on(0);
	fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -SAMPLE_PERIOD;
	sim_must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	nr_waiting = 0;
	for (i = 1; i < nr_parties; i++)
		task[i] = user_thread("sampled", be_sampled, &parties[i]);
	while (nr_waiting < nr_parties - 1)
		user_sleep(1000);
	if (sim_has_hooks)
		sim_watch_lines(0);
	measure(&sample_op);
	end_orders();
	for (i = 1; i < nr_parties; i++)
		user_wait(task[i]);
	sim_require(page->head >= nr_parties * sample_op.repeat && !page->dropped,
		    "%llu samples, %llu dropped", page->head, page->dropped);
	user_munmap(vma);
	sim_must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	user_close(fd);
	(void)arg;
}

/* ---- the machine's other threads -------------------------------------------------- */

static struct task_struct **sleepers;
static unsigned int nr_ready;

static void count_and_sleep(void *arg)
{
	int own;

	/* Each CPU gets its part, and holds counters. */
	run_only_on((unsigned long)arg % nr_cpu_ids);
	own = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_must(sim_control(own, 0));
	user_work(5);
	sleepers[(unsigned long)arg] = current;
	nr_ready++;
	sim_park();
}

/* The number of sleepers that can be runnable at a time. */
#define BATCH	256

static void start_sleepers(void)
{
	struct task_struct *task;
	unsigned int i;

	sleepers = calloc(nr_sleepers, sizeof(*sleepers));
	for (i = 0; i < nr_sleepers; i++) {
		task = sim_process("sleeps", 1000 + i / 100, count_and_sleep,
				   (void *)(unsigned long)i);
		put_task_struct(task);
		while (i + 1 - nr_ready >= BATCH || (i + 1 == nr_sleepers && nr_ready < nr_sleepers))
			sim_sleep_on(NULL, sim_ns() + 1000);
	}
}

static void end_sleepers(void)
{
	unsigned int i, left = sim_nr_user_tasks;

	for (i = 0; i < nr_sleepers; i++) {
		sim_unpark(sleepers[i]);
		left--;
		while (sim_nr_user_tasks >= left + BATCH)
			sim_sleep_on(NULL, sim_ns() + 1000);
	}
	while (sim_nr_user_tasks)
		sim_sleep_on(NULL, sim_ns() + 100000);
	free(sleepers);
}

void sim_scale(void)
{
	const char *threads = getenv("SIM_THREADS");
	unsigned int i;

	nr_sleepers = threads ? strtoul(threads, NULL, 0) : nr_cpu_ids;
	sim_max_steps += 10000ULL * nr_sleepers;
	sim_sees_plain_stores = false;
	start_sleepers();
	nr_parties = min(nr_cpu_ids, (unsigned int)MAX_PARTIES);
	for (i = 0; i < nr_parties; i++)
		parties[i] = (struct party) { .fd = -1, .other_fd = -1 };
	for (i = 1; i < nr_parties; i++)
		put_task_struct(sim_process("competes", i, take_part, &parties[i]));
	user_wait(sim_process("measures", 0, measure_all, NULL));
	user_wait(sim_process("is sampled", 0, measure_samples, NULL));
	end_sleepers();
}
