// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of each operation on a machine of any size, with any number of counted threads:
 * interrupts of other CPUs, stops of the machine, acquisitions of locks, and the caller's
 * steps.  A cost that grows with the machine exceeds its limit.
 */
#include <stdlib.h>

#include "scenarios.h"

struct sim_costs sim_costs;

static unsigned int nr_sleepers;
static bool sleepers_may_end;

/* ---- operations ---------------------------------------------------------------- */

static int fd = -1;
static int other_fd = -1;		/* of a counted thread that sleeps */

static void op_open(void)
{
	fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
}

static void op_control(void)
{
	sim_must(sim_control(fd, 0));
}

static void op_control_family(void)
{
	sim_must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
}

static void op_read(void)
{
	sim_must(sim_read(fd));
}

static void op_read_other(void)
{
	sim_must(sim_read(other_fd));
}

static void op_suspend_resume(void)
{
	sim_must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	sim_must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
}

static void op_map_unmap(void)
{
	struct vm_area_struct *vma = user_mmap(fd, 0, PAGE_SIZE);

	sim_require(vma, "the page cannot be mapped");
	user_munmap(vma);
}

static void op_switch(void)
{
	user_sleep(1);
}

static void end_at_once(void *arg)
{
	user_work(5);
	(void)arg;
}

static void op_thread(void)
{
	user_wait(user_thread("child", end_at_once, NULL));
}

static void op_close(void)
{
	sim_must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	user_close(fd);
}

/* In this order.  The first mappings may interrupt CPUs: see rdpmc.c. */
static const struct op {
	const char *name;
	void (*func)(void);
	unsigned int repeat;
	struct sim_costs limit;		/* of one */
} ops[] = {
	{ "open", op_open, 1, { 0, 0, 20, 200 } },
	{ "control", op_control, 10, { 0, 0, 10, 200 } },
	{ "read", op_read, 10, { 0, 0, 5, 100 } },
	{ "read another's", op_read_other, 10, { 0, 0, 10, 200 } },
	{ "suspend, resume", op_suspend_resume, 10, { 0, 0, 5, 200 } },
	{ "switch", op_switch, 10, { 0, 0, 2, 300 } },
	{ "map, first", op_map_unmap, 6, { -1UL, 0, 20, -1UL } },
	{ "map, unmap", op_map_unmap, 10, { 0, 0, 20, 500 } },
	{ "inherit control", op_control_family, 1, { 0, 0, 10, 200 } },
	{ "thread, counted", op_thread, 10, { 0, 0, 30, 1200 } },
	{ "unlink, close", op_close, 1, { 0, 0, 20, 300 } },
};

static void measure(const struct op *op)
{
	struct sim_costs before = sim_costs, cost;
	u64 steps = current->sim->steps;
	unsigned int i;

	for (i = 0; i < op->repeat; i++)
		op->func();
	cost.interrupts = (sim_costs.interrupts - before.interrupts) / op->repeat;
	cost.stops = (sim_costs.stops - before.stops) / op->repeat;
	cost.locks = (sim_costs.locks - before.locks) / op->repeat;
	cost.steps = (current->sim->steps - steps) / op->repeat;
	printf("%5u CPUs %7u threads  %-16s %4lu interrupts %2lu stops %4lu locks %6lu steps\n",
	       nr_cpu_ids, nr_sleepers, op->name, cost.interrupts, cost.stops, cost.locks, cost.steps);
	sim_require(cost.interrupts <= op->limit.interrupts && cost.stops <= op->limit.stops &&
		    cost.locks <= op->limit.locks && cost.steps <= op->limit.steps,
		    "%s costs more than on a small machine", op->name);
}

static void be_read(void *arg)
{
	other_fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_must(sim_control(other_fd, 0));
	while (!sleepers_may_end)
		user_sleep(NSEC_PER_SEC);
	(void)arg;
}

static void measure_all(void *arg)
{
	struct task_struct *task = user_thread("is read", be_read, NULL);
	unsigned int i;

	user_sleep(NSEC_PER_MSEC);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		measure(&ops[i]);
	sleepers_may_end = true;
	user_wait(task);
	(void)arg;
}

/* ---- the machine's other threads -------------------------------------------------- */

static unsigned int nr_ready;

static void count_and_sleep(void *arg)
{
	int own;

	/* Each CPU gets its part, and holds counters. */
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[(unsigned long)arg / 64] = BIT((unsigned long)arg % 64);
	user_sleep(1);
	own = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_must(sim_control(own, 0));
	user_work(5);
	nr_ready++;
	while (!sleepers_may_end)
		sim_sleep_on(&sleepers_may_end, 0);
}

void sim_scale(void)
{
	const char *threads = getenv("SIM_THREADS");
	struct task_struct *task;
	unsigned int i;

	nr_sleepers = threads ? strtoul(threads, NULL, 0) : nr_cpu_ids;
	for (i = 0; i < nr_sleepers; i++) {
		task = sim_process("sleeps", 1000 + i / 100, count_and_sleep,
				   (void *)(unsigned long)(i % nr_cpu_ids));
		put_task_struct(task);
	}
	while (nr_ready < nr_sleepers)
		sim_sleep_on(NULL, sim_ns() + 1000);
	task = sim_process("measures", 0, measure_all, NULL);
	user_wait(task);
	sim_wake_up(&sleepers_may_end);
	while (sim_nr_user_tasks)
		sim_sleep_on(NULL, sim_ns() + 100000);
}
