// SPDX-License-Identifier: GPL-2.0
/* Scenarios of processors with two kinds of CPUs, and of suspend to RAM. */
#include "scenarios.h"

#define must(call)	sim_must(call)
#define SIGNAL		41
#define PERIOD		30

/* ---- kinds of CPUs --------------------------------------------------------------- */

/* Instructions of user mode, by another counter of each kind. */
static int control_kinds(int fd, u32 flags, u64 period)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];

	sim_fill_control(&control, &ctr[0], flags);
	ctr[1] = ctr[0];
	ctr[1].map = 3;
	control.kind = VPERFCTR_ANY_KIND;
	control.nrkinds = 2;
	if (period) {
		control.nractrs = 0;
		control.nrictrs = 1;
		control.si_signo = SIGNAL;
		ctr[0].ireset = -period;
		ctr[1].ireset = -period;
	}
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void check_all_counted(int fd, u64 before)
{
	struct sim_counts c;

	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "counted %llu instructions, not %llu",
		    c.own[1], current->sim->executed - before);
}

static void count_anywhere(void *arg)
{
	unsigned int i, rounds = (unsigned long)arg;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(control_kinds(fd, 0, 0));
	before = current->sim->executed;
	for (i = 0; i < rounds; i++) {
		user_work(5 + i);
		user_sleep(50);
		check_all_counted(fd, before);
	}
	user_close(fd);
}

static void wait_for(struct task_struct **task, unsigned int n)
{
	while (n)
		user_wait(task[--n]);
}

/* Threads that move between the kinds, while one CPU of each goes offline. */
void sim_any_kind(void)
{
	struct task_struct *task[3];
	unsigned int i, cpu;

	for (i = 0; i < 3; i++)
		task[i] = sim_process("anywhere", 1000, count_anywhere, (void *)8UL);
	for (i = 0; i < 2; i++) {
		cpu = 1 + sim_choose(2, 2);
		sim_cpu_down(cpu);
		sim_sleep_on(NULL, sim_ns() + 1000);
		sim_cpu_up(cpu);
	}
	wait_for(task, 3);
}

/* A period may begin on one kind and end on the other. */
static void take_signals_anywhere(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, n, signals;
	struct sim_counts c;
	u64 sum = 0, before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(control_kinds(fd, 0, PERIOD));
	for (i = 0; i < 6; i++) {
		signals = t->received[SIGNAL];
		before = t->executed;
		while (t->received[SIGNAL] == signals) {
			user_sleep(sim_random(100));
			for (n = 0; n < 9 && t->received[SIGNAL] == signals; n++)
				user_work(1);
			sim_require(t->executed < 100000, "no signal arrives");
		}
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.read.overflow == 1, "READ returns the overflows %#llx", c.read.overflow);
		sim_require(c.own[1] - sum <= t->executed - before &&
			    c.own[1] - sum + 100 >= t->executed - before,
			    "executed %llu, counted %llu", t->executed - before, c.own[1] - sum);
		sum = c.own[1];
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
	(void)arg;
}

void sim_any_kind_signals(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("signals", 1000, take_signals_anywhere, NULL);
	task[1] = sim_process("anywhere", 1001, count_anywhere, (void *)8UL);
	wait_for(task, 2);
}

static u64 given;

static void child_works(void *arg)
{
	struct task_struct *child = arg ? user_fork("child", child_works, NULL) : NULL;

	user_work(20);
	user_sleep(30);
	user_work(20);
	given += current->sim->executed;
	if (child)
		user_wait(child);
}

/* A family shares the tables of its control. */
static void count_family_anywhere(void *arg)
{
	struct task_struct *task[2];
	struct sim_counts c;
	unsigned int i;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(control_kinds(fd, VPERFCTR_CONTROL_INHERIT, 0));
	before = current->sim->executed;
	for (i = 0; i < 2; i++)
		task[i] = user_thread("child", child_works, (void *)1UL);
	must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	wait_for(task, 2);
	check_all_counted(fd, before);
	must(sim_read_counts(fd, &c, 0));
	sim_require((c.children[1] == given && !c.read.children_missed) ||
		    (c.children[1] < given && c.read.children_missed && sim_failures.alloc),
		    "counted %llu for children, and %llu missed, not %llu", c.children[1],
		    c.read.children_missed, given);
	/* The old tables go with the old control. */
	must(control_kinds(fd, 0, 0));
	before = current->sim->executed;
	user_work(10);
	check_all_counted(fd, before);
	user_close(fd);
	(void)arg;
}

void sim_any_kind_family(void)
{
	user_wait(sim_process("family", 1000, count_family_anywhere, NULL));
}

/* On CPUs of the other kind nothing is counted, and the status says so. */
static void count_on_one_kind(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	unsigned int i;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&control, &ctr, 0);
	control.kind = (unsigned long)arg;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	before = current->sim->executed;
	for (i = 0; i < 6; i++) {
		user_work(10);
		user_sleep(50);
	}
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == current->sim->executed - before ||
		    (c.own[1] < current->sim->executed - before &&
		     (c.read.status & VPERFCTR_STATUS_FORBIDDEN)),
		    "counted %llu of %llu, and the status is %#x", c.own[1],
		    current->sim->executed - before, c.read.status);
	user_close(fd);
}

void sim_one_kind(void)
{
	struct task_struct *task[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		task[i] = sim_process("one kind", 1000, count_on_one_kind, (void *)(unsigned long)(i & 1));
	wait_for(task, 3);
}

/* As sched_setaffinity(): the thread leaves CPUs that it may not use. */
static void set_affinity(unsigned long cpus)
{
	current->cpus_mask.bits[0] = cpus;
	do
		user_sleep(100);
	while (!(cpus >> sim_cpu & 1));
}

#define BIG_CPUS	5UL	/* see the table of scenarios */
#define SMALL_CPU	2UL

/* A thread that wants no forbidden CPU, and is moved to one: it is told, and counts no more. */
static void leave_kind(void *arg)
{
	struct sim_task *t = current->sim;
	struct vperfctr_control control;
	unsigned int i, before_move;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	u64 before, counted;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_AFFINITY);
	sim_require(user_ioctl(fd, VPERFCTR_CONTROL, &control) == -EUSERS,
		    "CONTROL accepts an affinity with a forbidden CPU");
	set_affinity(BIG_CPUS);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	before = t->executed;
	for (i = 0; i < 4; i++) {
		user_work(7);
		user_sleep(50);
		check_all_counted(fd, before);
	}
	counted = t->executed - before;
	before_move = t->received[SIGILL];
	set_affinity(SMALL_CPU);
	if (arg)		/* the signal may be on its way when the thread and its state end */
		return;
	for (i = 0; t->received[SIGILL] == before_move; i++) {
		user_work(1);
		sim_require(i < 1000, "no SIGILL arrives");
	}
	user_work(10);
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == counted && (c.read.status & VPERFCTR_STATUS_FORBIDDEN),
		    "counted %llu, not %llu, status %#x", c.own[1], counted, c.read.status);
	/* It stays stopped where it could count. */
	set_affinity(BIG_CPUS);
	user_work(10);
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == counted, "counted %llu, not %llu", c.own[1], counted);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	before = t->executed;
	user_work(10);
	check_all_counted(fd, before);
	sim_require(t->received[SIGILL] == before_move + 1, "%u signals", t->received[SIGILL] - before_move);
	user_close(fd);
}

void sim_leave_kind(void)
{
	struct task_struct *task[3];

	task[0] = sim_process("leaves", 1000, leave_kind, NULL);
	task[1] = sim_process("leaves", 1000, leave_kind, (void *)1UL);
	task[2] = sim_process("one kind", 1000, count_on_one_kind, NULL);
	wait_for(task, 3);
}

/* ---- suspend to RAM ---------------------------------------------------------------- */

/* The thread that asks for it counts itself. */
static void count_and_suspend(void *arg)
{
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(arg ? control_kinds(fd, 0, 0) : sim_control(fd, 0));
	before = current->sim->executed;
	user_work(20);
	user_suspend();
	user_work(20);
	check_all_counted(fd, before);
	must(arg ? control_kinds(fd, 0, 0) : sim_control(fd, 0));
	user_suspend();
	before = current->sim->executed;
	must(arg ? control_kinds(fd, 0, 0) : sim_control(fd, 0));
	user_work(20);
	check_all_counted(fd, before);
	user_close(fd);
}

static void count_itself(void *arg)
{
	u64 before;
	unsigned int i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < 12; i++) {
		user_work(10);
		user_sleep(sim_random(100));
		check_all_counted(fd, before);
	}
	user_close(fd);
	(void)arg;
}

static void take_signals_over_sleep(void *arg)
{
	struct sim_task *t = current->sim;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	unsigned int i, n, signals;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	control.nrictrs = 1;
	control.si_signo = SIGNAL;
	ctr.ireset = -PERIOD;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 8; i++) {
		signals = t->received[SIGNAL];
		for (n = 0; t->received[SIGNAL] == signals; n++) {
			user_work(3);
			sim_require(n < 1000, "no signal arrives");
		}
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
	(void)arg;
}

static void suspend(void *kinds)
{
	struct task_struct *task[3];

	task[0] = sim_process("suspends", 0, count_and_suspend, kinds);
	task[1] = sim_process("counts", 1000, kinds ? count_anywhere : count_itself, (void *)8UL);
	task[2] = sim_process("signals", 1000, kinds ? take_signals_anywhere : take_signals_over_sleep,
			      NULL);
	wait_for(task, 3);
}

void sim_suspend(void)
{
	suspend(NULL);
}

void sim_suspend_kinds(void)
{
	suspend((void *)1UL);
}
