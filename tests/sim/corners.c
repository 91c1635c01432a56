// SPDX-License-Identifier: GPL-2.0
/* More scenarios of properties that "make mutants" found without a guard. */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

static unsigned int nr_ready;
static bool may_end;

/* ---- software counters and sums of one moment --------------------------------------------------- */

/*
 * A reader takes its sample again if the owner has been switched.  It gives up after the fourth
 * one, which needs two switches: the reader may also come before or after the switch-in.
 */
#define MANY_SWITCHES	2
/* The owner has one fault after each piece of work. */
#define PIECE		10
#define READS		8

static struct task_struct *faults;

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* The sums are neither older nor newer than the software counters. */
static void read_both(void *arg)
{
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	u64 own[2], n, switches;
	struct vperfctr_read req = {
		.size = sizeof(req), .nrctrs = 1, .sums = (unsigned long)own, .soft = (unsigned long)&soft,
	};
	int fd = (long)arg;
	unsigned int i;

	for (i = 0; i < READS; i++) {
		switches = switches_of(faults);
		must(user_ioctl(fd, VPERFCTR_READ, &req));
		n = soft.count[3].own;
		sim_require(own[1] <= (n + 1) * PIECE, "%llu instructions with %llu faults", own[1], n);
		sim_require(own[1] >= n * PIECE || switches_of(faults) - switches >= MANY_SWITCHES,
			    "%llu instructions are older than %llu faults", own[1], n);
		user_work(3);
	}
	WRITE_ONCE(may_end, true);
	user_close(fd);
}

static void fault_often(void *arg)
{
	struct vperfctr_control control;
	struct task_struct *reader;
	struct vperfctr_ctr ctr;
	unsigned int i;
	int fd;

	faults = current;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&control, &ctr, 0);
	control.soft = VPERFCTR_SOFT_MINOR_FAULTS;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	reader = user_fork("reads", read_both, (void *)(long)fd);
	for (i = 0; !READ_ONCE(may_end); i++) {
		user_work(PIECE);
		current->min_flt++;
		if (i % 4 == 3)
			user_sleep(20);
	}
	user_wait(reader);
	user_close(fd);
	(void)arg;
}

void sim_soft_other(void)
{
	user_wait(sim_process("faults", 1000, fault_often, NULL));
}

/* ---- threads of which one has its own state ----------------------------------------------------- */

static void run_thread(bool has_state)
{
	int fd = has_state ? must(sim_open(0, VPERFCTR_OPEN_CREAT)) : -1;

	nr_ready++;
	while (!READ_ONCE(may_end))
		user_work(5);
	user_close(fd);
}

static void second_thread(void *arg)
{
	run_thread((unsigned long)arg);
}

static void run_threads(void *arg)
{
	unsigned long second_has = (unsigned long)arg;
	struct task_struct *second = user_thread("second", second_thread, (void *)second_has);

	run_thread(!second_has);
	user_wait(second);
}

/* One is attached to, and the other one is skipped, in either order. */
static void attach_to_rest(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct task_struct *task;
	unsigned long second_has;
	int set;

	for (second_has = 0; second_has < 2; second_has++) {
		struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&header };

		nr_ready = 0;
		WRITE_ONCE(may_end, false);
		task = user_fork("has two threads", run_threads, (void *)second_has);
		while (READ_ONCE(nr_ready) < 2)
			user_work(5);
		sim_fill_control(&header, &ctr, 0);
		req.tid = task->pid;
		req.mem_fd = must(user_open_mem(task));
		set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
		sim_require(req.nrthreads == 1 && req.nrskipped == 1, "ATTACH to %u, and skipped %u",
			    req.nrthreads, req.nrskipped);
		WRITE_ONCE(may_end, true);
		user_wait(task);
		user_close(set);
		user_close(req.mem_fd);
	}
	(void)arg;
}

void sim_attach_to_rest(void)
{
	user_wait(sim_process("attaches", 1000, attach_to_rest, NULL));
}

#ifdef SIM_X86
/* ---- the first counter of each kind ------------------------------------------------------------- */

/* A programmable and a fixed counter with the same number are two. */
static void count_both(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	int fd[3], err;
	unsigned int i;
	u64 before;

	for (i = 0; i < 3; i++)
		fd[i] = must(sim_open(0, VPERFCTR_OPEN_CREAT | (i ? VPERFCTR_OPEN_OBSERVER : 0)));
	sim_fill_control(&control, &ctr, 0);
	must(user_ioctl(fd[0], VPERFCTR_CONTROL, &control));
	ctr = (struct vperfctr_ctr) { .map = VPERFCTR_FIXED, .evntsel = 2 /* user mode */ };
	must(user_ioctl(fd[1], VPERFCTR_CONTROL, &control));
	err = user_ioctl(fd[2], VPERFCTR_CONTROL, &control);
	sim_require(err == -EADDRINUSE, "a fixed counter that is used: %d", err);
	ctr.map = VPERFCTR_FIXED + 1;
	must(user_ioctl(fd[2], VPERFCTR_CONTROL, &control));
	before = current->sim->executed;
	user_work(50);
	must(sim_read_counts(fd[1], &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "the fixed counter has %llu, not %llu", c.own[1],
		    current->sim->executed - before);
	for (i = 0; i < 3; i++)
		user_close(fd[i]);
	(void)arg;
}

void sim_beside_fixed(void)
{
	user_wait(sim_process("counts", 1000, count_both, NULL));
}
#endif
