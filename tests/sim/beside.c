// SPDX-License-Identifier: GPL-2.0
/* Scenarios with several states of one thread. */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

extern unsigned int *const sim_param_max_stops_per_second;

static int control_counter(int fd, unsigned int nr, u32 flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, flags);
	ctr.map = nr;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static int control_time(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static int control_period(int fd, unsigned int nr, u64 period, int sig)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, sig ? 0 : VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	control.si_signo = sig;
	ctr.ireset = -period;
	ctr.map = nr;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

/* Where allocations fail, the caller tries again. */
#define refused(call)							\
({									\
	long sim_err;							\
									\
	do {								\
		sim_err = (call);					\
	} while (sim_err == -ENOMEM && sim_failures.alloc);		\
	sim_err;							\
})

/* The state has counted what the thread has executed since `before`, and its time. */
static void check(const char *what, int fd, u64 before)
{
	struct sim_counts c;
	u64 expected;

	must(sim_read_counts(fd, &c, 0));
	expected = current->sim->executed - before;
	sim_require(c.own[1] == expected && c.own[0] >= expected,
		    "%s has counted %llu instructions in %llu, not %llu", what, c.own[1], c.own[0], expected);
}

static int open_observer(u32 flags)
{
	return must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER | flags));
}

/* ---- one's own state, and observers of oneself -------------------------------------------- */

/* Count another event in each process, of which an instruction makes several. */
static int control_other(int fd, unsigned int nr, unsigned long process)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, 0);
	control.tsc_on = 0;		/* which is the own state's alone */
	ctr.map = nr;
#ifdef SIM_X86
	ctr.evntsel ^= process;		/* the model counts unknown events, too */
#endif
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void check_other(const char *what, int fd, u64 before, u64 *events)
{
	struct sim_counts c;
	u64 expected;

	must(sim_read_counts(fd, &c, 0));
	expected = current->sim->executed - before;
	if (expected && !*events)
		*events = c.own[1] / expected;
	sim_require(c.own[1] == expected * *events && (*events || !expected),
		    "%s has counted %llu events, not %llu times %llu", what, c.own[1], expected, *events);
}

static void count_pair(void *arg)
{
	unsigned long process = (unsigned long)arg;
	u64 events = 0;
	int own, other, fd[VPERFCTR_MAX_STATES], err;
	u64 own_before, before, stopped;
	struct vm_area_struct *vma;
	unsigned int i;

	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(control_counter(own, 0, 0));
	own_before = current->sim->executed;
	user_work(20);
	other = open_observer(0);
	check("the own state", own, own_before);
	err = refused(control_counter(other, 0, 0));
	sim_require(err == -EADDRINUSE, "a counter that is used: %d", err);
	check("the own state", own, own_before);
	must(control_other(other, 1, process));
	before = current->sim->executed;
	for (i = 0; i < 6; i++) {
		user_work(1 + i * 7);
		check("the own state", own, own_before);
		check_other("the observer", other, before, &events);
	}
	/* A state that is mapped moves to a page of its own. */
	vma = sim_must_map(other, 0, PAGE_SIZE);
	user_work(15);
	check("the own state", own, own_before);
	check_other("the mapped observer", other, before, &events);
	/* One is suspended, and the other goes on. */
	must(user_ioctl(own, VPERFCTR_SUSPEND, NULL));
	stopped = current->sim->executed;
	user_work(30);
	check_other("the observer", other, before, &events);
	must(user_ioctl(own, VPERFCTR_RESUME, NULL));
	own_before += current->sim->executed - stopped;
	user_work(30);
	check("the resumed state", own, own_before);
	check_other("the observer", other, before, &events);
	/* Another counter. */
	must(control_other(other, 2, process));
	before = current->sim->executed;
	user_work(20);
	check("the own state", own, own_before);
	check_other("the observer", other, before, &events);
	/* A state that counts time only, and starts while the others count. */
	fd[0] = open_observer(VPERFCTR_OPEN_TRANSIENT);
	must(control_time(fd[0]));
	user_sleep(50);
	must(user_ioctl(fd[0], VPERFCTR_SUSPEND, NULL));
	user_sleep(50);
	must(user_ioctl(fd[0], VPERFCTR_RESUME, NULL));
	user_sleep(50);
	check("the own state", own, own_before);
	check_other("the observer", other, before, &events);
	user_close(fd[0]);
	/* The limit. */
	for (i = 0; i < VPERFCTR_MAX_STATES - 2; i++)
		fd[i] = open_observer(VPERFCTR_OPEN_TRANSIENT);
	must(control_counter(fd[0], 1, 0));
	stopped = current->sim->executed;
	err = refused(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER));
	sim_require(err == -EMLINK, "one state more: %d", err);
	err = refused(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_require(err == -EEXIST, "a second own state: %d", err);
	user_work(20);
	check("the own state", own, own_before);
	check_other("the observer", other, before, &events);
	check("the third one", fd[0], stopped);
	while (i--)
		user_close(fd[i]);
	user_work(20);
	check("the own state", own, own_before);
	check_other("the observer", other, before, &events);
	/* The own one ends. */
	must(user_ioctl(own, VPERFCTR_UNLINK, NULL));
	user_work(20);
	check_other("the last one", other, before, &events);
	user_munmap(vma);
	user_close(own);
	user_close(other);
}

void sim_beside(void)
{
	struct task_struct *task[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		task[i] = sim_process("counts twice", 1000, count_pair, (void *)(unsigned long)i);
	for (i = 0; i < 3; i++)
		user_wait(task[i]);
}

/* An observer's state ends with its last descriptor: OPEN finds only the own one. */
static void close_observers(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT)), fd[VPERFCTR_MAX_STATES - 1];
	unsigned int i, n;

	for (n = 0; n < 3; n++) {
		for (i = 0; i < ARRAY_SIZE(fd); i++)
			fd[i] = open_observer(0);
		while (i--)
			user_close(fd[i]);
	}
	user_close(own);
	(void)arg;
}

/* The thread that suspends the system has several states, of which each stops for good. */
static void count_and_suspend(void *arg)
{
	u64 events[3] = { 0 }, before;
	int fd[3];
	unsigned int i, n;

	for (i = 0; i < 3; i++)
		fd[i] = i ? open_observer(0) : must(sim_open(0, VPERFCTR_OPEN_CREAT));
	for (n = 0; n < 2; n++) {
		for (i = 0; i < 3; i++)
			must(control_other(fd[i], i, i));
		before = current->sim->executed;
		user_work(20);
		user_suspend();
		user_work(20);
		for (i = 0; i < 3; i++)
			check_other("a state over a suspend", fd[i], before, &events[i]);
	}
	for (i = 0; i < 3; i++)
		user_close(fd[i]);
	(void)arg;
}

void sim_beside_suspend(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("suspends", 0, count_and_suspend, NULL);
	task[1] = sim_process("closes", 1000, close_observers, NULL);
	user_wait(task[0]);
	user_wait(task[1]);
}

/* ---- a program that counts itself, and its observer's family ------------------------------- */

static u64 executed_by_children;

static void count_child(void *arg)
{
	struct task_struct *child = NULL;
	u64 before;
	int own;

	user_work(10);
	own = sim_open(0, VPERFCTR_OPEN_CREAT);
	/* One that has inherited its parent's has it already. */
	sim_require((own == -EEXIST) == !arg, "a child's own state: %d", own);
	if (own == -EEXIST)
		own = must(sim_open(0, 0));
	else
		must(own);
	must(control_counter(own, 0, (unsigned long)arg & 1 ? VPERFCTR_CONTROL_INHERIT : 0));
	before = current->sim->executed;
	user_work(20);
	if (arg)
		child = user_fork("grandchild", count_child, (void *)((unsigned long)arg - 1));
	user_work(30);
	check("a child's own state", own, before);
	executed_by_children += current->sim->executed;
	if (child)
		user_wait(child);
	user_close(own);
}

/* As perfex does, which starts the program and holds the descriptor. */
static void run_program(void *arg)
{
	struct task_struct *task[2];
	struct sim_counts c;
	unsigned int i;
	int observer;
	u64 before;

	observer = open_observer(0);
	must(control_counter(observer, 1, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_START_ON_EXEC));
	user_work(10);
	user_exec(false);
	before = current->sim->executed;
	for (i = 0; i < 2; i++)
		task[i] = i ? user_thread("thread", count_child, (void *)1UL) :
			      user_fork("child", count_child, (void *)2UL);
	user_work(20);
	must(sim_read_counts(observer, &c, VPERFCTR_READ_MEMBERS));
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
	check("the root", observer, before);
	must(sim_read_counts(observer, &c, 0));
	sim_require(c.children[1] == executed_by_children && !c.read.children_missed,
		    "counted %llu for children, and missed %llu, not %llu", c.children[1],
		    c.read.children_missed, executed_by_children);
	user_close(observer);
	(void)arg;
}

void sim_beside_family(void)
{
	user_wait(sim_process("program", 1000, run_program, NULL));
}

/* ---- a monitor's CONTROL, and the end of the thread ---------------------------------------- */

static struct task_struct *orphan;
static u64 executed_by_orphan;
static bool family_is_ready, orphan_may_end;

static void work_as_orphan(void *arg)
{
	while (!READ_ONCE(orphan_may_end))
		user_work(10);
	user_work(50);
	executed_by_orphan = current->sim->executed;
	(void)arg;
}

static void leave_family(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(control_counter(own, 0, VPERFCTR_CONTROL_INHERIT));
	orphan = user_fork("child", work_as_orphan, NULL);
	open_observer(0);
	WRITE_ONCE(family_is_ready, true);
	for (;;)
		user_work(20);
	(void)arg;
}

/* Where CONTROL comes too late to end the family, the child goes on counting. */
static void control_late(void *arg)
{
	struct task_struct *task = arg;
	struct sim_counts c;
	bool remains = false;
	long fd = -ESRCH, err = 0;

	if (user_ptrace_stop(task))
		fd = sim_open(task->pid, 0);
	sim_require(fd >= 0 || fd == -ESRCH || fd == -EPERM || fd == -ENOENT, "OPEN: %ld", fd);
	if (fd >= 0) {
		err = control_counter(fd, 0, VPERFCTR_CONTROL_INHERIT);
		sim_require(!err || err == -ESRCH || err == -EPERM, "CONTROL: %ld", err);
		must(sim_read_counts(fd, &c, 0));
		remains = err == -ESRCH && (c.read.status & VPERFCTR_STATUS_CHILDREN);
	}
	user_ptrace_continue(task);
	WRITE_ONCE(orphan_may_end, true);
	user_wait(orphan);
	if (fd < 0)
		return;
	must(sim_read_counts(fd, &c, 0));
	sim_require(!remains || (c.children[1] == executed_by_orphan && !c.read.children_missed),
		    "counted %llu for the child, and missed %llu, not %llu", c.children[1],
		    c.read.children_missed, executed_by_orphan);
	user_close(fd);
}

void sim_beside_kill(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("counted", 1000, leave_family, NULL);
	while (!READ_ONCE(family_is_ready))
		sim_sleep_on(NULL, sim_ns() + 100);
	task[1] = sim_process("monitor", 1000, control_late, task[0]);
	sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(40, 1));
	user_kill(task[0], SIGKILL);
	/* First the monitor, which looks at the other task, and may begin to after its end. */
	user_wait(task[1]);
	user_wait(task[0]);
}

/* ---- calls for two states of one thread at the same time ------------------------------------ */

static void map_state(void *arg)
{
	user_munmap(sim_must_map((long)arg, 0, PAGE_SIZE));
}

/* Where a state gets its page, the other one, which counts with it, may be about to get its own. */
static void be_mapped(void *arg)
{
	int fd[2] = { must(sim_open(0, VPERFCTR_OPEN_CREAT)), open_observer(0) };
	struct task_struct *task[2];
	u64 before[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		must(control_counter(fd[i], i, 0));
		before[i] = current->sim->executed;
	}
	for (i = 0; i < 2; i++)
		task[i] = user_fork("maps", map_state, (void *)(long)fd[i]);
	for (i = 0; i < 2; i++) {
		while (!READ_ONCE(task[i]->exit_state))
			user_work(5);
		user_wait(task[i]);
	}
	for (i = 0; i < 2; i++)
		check(i ? "the observer" : "the own state", fd[i], before[i]);
	(void)arg;
}

void sim_beside_mapped(void)
{
	user_wait(sim_process("is mapped", 1000, be_mapped, NULL));
}

/* ---- a set that comes and goes ------------------------------------------------------------- */

static struct task_struct *counted;
static bool counted_is_ready, counted_may_end, own_is_first, guest_may_end;

static void count_while_attached(void *arg)
{
	unsigned int i;
	u64 before;
	int own;

	if (!own_is_first) {
		WRITE_ONCE(counted_is_ready, true);
		/* The lead comes before KVM's notifier or after it, and ends. */
		for (i = 0; i < 10; i++)
			user_run_guest(i * 12);
	}
	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(control_counter(own, 0, 0));
	before = current->sim->executed;
	WRITE_ONCE(counted_is_ready, true);
	while (!READ_ONCE(counted_may_end)) {
		/* KVM changes the list that the lead is in. */
		if (sim_random(2))
			user_run_vcpu(7);
		user_work(7);
		if (sim_random(2))
			user_sleep(sim_random(200));
		check("a state that is attached to", own, before);
	}
	user_close(own);
	(void)arg;
}

/* ATTACH has said which counters others have.  The thread's own state may come at any time. */
static void check_used(struct vperfctr_attach *req, u64 pmcs)
{
	sim_require((req->used_pmcs | !own_is_first) == (pmcs | !own_is_first) && !req->used_fixed,
		    "ATTACH says that %#llx and %#llx are used, instead of %#llx", req->used_pmcs,
		    req->used_fixed, pmcs);
	req->used_pmcs = 0;
}

static void attach_observers(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
	};
	struct sim_counts c;
	unsigned int i;
	u64 before;
	long fd[3], set;

	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	while (!READ_ONCE(counted_is_ready))
		user_work(5);
	req.tid = counted->pid;
	req.mem_fd = user_open_mem(counted);
	if (own_is_first) {
		fd[0] = user_device_ioctl(VPERFCTR_ATTACH, &req);
		sim_require(fd[0] == -EADDRINUSE, "ATTACH with a counter that is used: %ld", fd[0]);
		check_used(&req, 1);
	}
	/* The thread finds the first one first, and the others may be about to end then. */
	for (i = 0; i < 12; i++) {
		ctr.map = 1 + i % 3;
		before = counted->sim->executed;
		set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
		fd[i % 3] = set;
		sim_require(req.nrthreads == 1 && !req.nrskipped, "ATTACH to %u, and skipped %u",
			    req.nrthreads, req.nrskipped);
		check_used(&req, own_is_first | (i ? 2 << (i + 2) % 3 : 0) |
			   (i > 1 ? 2 << (i + 1) % 3 : 0));
		user_work(5);
		must(sim_read_counts(set, &c, VPERFCTR_READ_MEMBERS));
		sim_require(c.children[1] <= counted->sim->executed - before, "counted %llu of %llu",
			    c.children[1], counted->sim->executed - before);
		if (i >= 2)
			user_close(fd[(i + 1) % 3]);
		req.nrthreads = 0;
		req.nrskipped = 0;
	}
	user_close(fd[(i + 1) % 3]);
	user_close(fd[(i + 2) % 3]);
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
	(void)arg;
}

void sim_beside_attach(void)
{
	unsigned int i;

	*sim_param_max_stops_per_second = 0;
	for (i = 0; i < 2; i++) {
		own_is_first = i;
		counted_is_ready = false;
		counted_may_end = false;
		counted = sim_process("counted", 1000, count_while_attached, NULL);
		user_wait(sim_process("attaches", 1000, attach_observers, NULL));
	}
}

static void run_guest_and_work(void *arg)
{
	WRITE_ONCE(counted_is_ready, true);
	user_run_guest_until(&guest_may_end);
	while (!READ_ONCE(counted_may_end))
		user_work(5);
	(void)arg;
}

static long observe_counted(unsigned int pmc)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
		.tid = counted->pid,
	};
	long fd;

	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	ctr.map = pmc;
	req.mem_fd = user_open_mem(counted);
	fd = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	user_close(req.mem_fd);
	return fd;
}

/* The lead comes before KVM's notifier, and ends first or last. */
static void observe_guest(void *arg)
{
	struct sim_counts c;
	bool first = arg;
	u64 before;
	long fd[2];

	while (!READ_ONCE(counted_is_ready))
		user_work(5);
	fd[0] = observe_counted(0);
	before = counted->sim->executed;
	fd[1] = observe_counted(1);
	user_close(fd[!first]);
	WRITE_ONCE(guest_may_end, true);
	while (counted->sim->executed < before + 50)
		user_work(5);
	must(sim_read_counts(fd[first], &c, VPERFCTR_READ_MEMBERS));
	sim_require(c.children[1] >= 50 && c.children[1] <= counted->sim->executed, "counted %llu of %llu",
		    c.children[1], counted->sim->executed);
	user_close(fd[first]);
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
}

/* One of two sets ends while the thread is in KVM_RUN. */
void sim_beside_guest(void)
{
	unsigned long i;

	*sim_param_max_stops_per_second = 0;
	for (i = 0; i < 2; i++) {
		counted_is_ready = false;
		counted_may_end = false;
		guest_may_end = false;
		counted = sim_process("counted", 1000, run_guest_and_work, NULL);
		user_wait(sim_process("attaches", 1000, observe_guest, (void *)i));
	}
}

/* ---- competitors for a thread's counters ---------------------------------------------------- */

/*
 * A thread, a set and a monitor want one of two counters.  The one that comes too late is
 * refused.  If two states had one counter, no CPU could count them: STATUS_FORBIDDEN.
 */
static void check_competitor(const char *what, int fd, const u64 *before)
{
	struct sim_counts c;

	must(sim_read_counts(fd, &c, 0));
	sim_require(!(c.read.status & VPERFCTR_STATUS_FORBIDDEN), "%s: two states have one counter", what);
	if (before)
		sim_require(c.own[1] == current->sim->executed - *before, "%s has counted %llu, not %llu", what,
			    c.own[1], current->sim->executed - *before);
}

static void work_briefly(void *arg)
{
	user_work(30);
	(void)arg;
}

static void control_own(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT)), err;
	struct task_struct *child = NULL;
	unsigned int i;
	u64 before;

	WRITE_ONCE(counted_is_ready, true);
	for (i = 0; i < 10; i++) {
		/* The family is dissolved between the check and the control. */
		err = refused(control_counter(own, i % 2, VPERFCTR_CONTROL_INHERIT));
		before = current->sim->executed;
		sim_require(!err || err == -EADDRINUSE, "CONTROL: %d", err);
		if (child)
			user_wait(child);
		child = user_fork("child", work_briefly, NULL);
		user_work(15);
		check_competitor("the own state", own, err ? NULL : &before);
	}
	user_wait(child);
	WRITE_ONCE(counted_may_end, true);
	user_close(own);
	(void)arg;
}

static void attach_often(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
	};
	unsigned int i;
	long set;

	sim_fill_control(&header, &ctr, 0);
	req.tid = counted->pid;
	req.mem_fd = user_open_mem(counted);
	for (i = 0; !READ_ONCE(counted_may_end); i++) {
		ctr.map = i % 2;
		req.nrthreads = 0;
		req.nrskipped = 0;
		req.used_pmcs = 0;
		set = user_device_ioctl(VPERFCTR_ATTACH, &req);
		sim_require(set >= 0 || set == -EADDRINUSE || set == -ESRCH, "ATTACH: %ld", set);
		user_sleep(sim_random(300));
		if (set >= 0)
			user_close(set);
	}
	user_close(req.mem_fd);
	(void)arg;
}

static void control_as_monitor(void *arg)
{
	struct vperfctr_open req = {
		.size = sizeof(req),
		.flags = VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_OBSERVER,
		.tid = counted->pid,
	};
	unsigned int i;

	for (i = 0; !READ_ONCE(counted_may_end); i++) {
		long fd = -1, err;

		if (user_ptrace_stop(counted)) {
			fd = user_device_ioctl(VPERFCTR_OPEN, &req);
			sim_require(fd >= 0 || fd == -ESRCH || fd == -EPERM, "OPEN: %ld", fd);
		}
		if (fd >= 0) {
			/* One that does not count ends without a stop of the others. */
			err = i % 3 ? control_counter(fd, i % 2, 0) : 0;
			sim_require(!err || err == -EADDRINUSE || err == -ESRCH || err == -EPERM, "CONTROL: %ld", err);
			check_competitor("the monitor's state", fd, NULL);
		}
		user_ptrace_continue(counted);
		user_sleep(sim_random(300));
		if (fd >= 0)
			user_close(fd);
	}
	(void)arg;
}

void sim_beside_compete(void)
{
	struct task_struct *task[2];

	*sim_param_max_stops_per_second = 0;
	counted = sim_process("counted", 1000, control_own, NULL);
	while (!READ_ONCE(counted_is_ready))
		sim_sleep_on(NULL, sim_ns() + 100);
	task[0] = sim_process("attaches", 1000, attach_often, NULL);
	task[1] = sim_process("monitors", 1000, control_as_monitor, NULL);
	user_wait(counted);
	user_wait(task[0]);
	user_wait(task[1]);
}

/* ---- threads whose counters are used ------------------------------------------------------- */

#define USERS	3

static unsigned int nr_ready;

/* The first of them does not use the counter that the set wants. */
static void use_counter(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(control_counter(own, arg ? 0 : 1, 0));
	nr_ready++;
	while (!READ_ONCE(counted_may_end))
		user_work(7);
	user_close(own);
}

static void use_counters(void *arg)
{
	struct task_struct *task[USERS];
	unsigned long i;

	for (i = 0; i < USERS; i++)
		task[i] = user_thread("uses a counter", use_counter, (void *)i);
	use_counter((void *)USERS);
	while (i--)
		user_wait(task[i]);
	(void)arg;
}

/* One stop finds out which threads refuse, and the counters of all.  They are not tried again. */
static void attach_to_users(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
	};
	unsigned int stops;
	int set;

	while (READ_ONCE(nr_ready) < USERS + 1)
		user_work(5);
	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	req.tid = counted->pid;
	req.mem_fd = user_open_mem(counted);
	stops = sim_costs.stops;
	set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	sim_require(req.nrthreads == 1 && req.nrskipped == USERS, "ATTACH to %u, and skipped %u",
		    req.nrthreads, req.nrskipped);
	sim_require(sim_costs.stops == stops + 1, "ATTACH has stopped the machine %lu times",
		    sim_costs.stops - stops);
	sim_require(req.used_pmcs == 3 && !req.used_fixed,
		    "ATTACH says that %#llx and %#llx are used", req.used_pmcs, req.used_fixed);
	user_close(set);
	/* The other one refuses. */
	ctr.map = 1;
	req.nrthreads = 0;
	req.nrskipped = 0;
	req.used_pmcs = 0;
	req.tid = counted->pid;
	set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	sim_require(req.nrthreads == USERS && req.nrskipped == 1, "ATTACH to %u, and skipped %u",
		    req.nrthreads, req.nrskipped);
	sim_require(sim_costs.stops == stops + 2, "ATTACH has stopped the machine %lu times",
		    sim_costs.stops - stops);
	user_close(set);
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
	user_close(req.mem_fd);
	(void)arg;
}

void sim_beside_users(void)
{
	counted = sim_process("have counters", 1000, use_counters, NULL);
	user_wait(sim_process("attaches", 1000, attach_to_users, NULL));
}

/* ---- threads that have changed when they are found again ------------------------------------ */

/* Attach to `counted`, and end it.  Return how often that stopped the machine. */
static unsigned int attach_to_counted(struct vperfctr_attach *req)
{
	struct vperfctr_control header;
	unsigned int stops, added;
	struct vperfctr_ctr ctr;
	int set;

	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	req->size = sizeof(*req);
	req->control = (unsigned long)&header;
	req->tid = counted->pid;
	req->mem_fd = user_open_mem(counted);
	stops = sim_costs.stops;
	added = req->nrthreads;
	req->nrthreads = 0;
	set = must(user_device_ioctl(VPERFCTR_ATTACH, req));
	stops = sim_costs.stops - stops;
	sim_require(req->nrthreads <= added, "ATTACH to %u threads, which are %u", req->nrthreads, added);
	user_close(req->mem_fd);
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
	user_close(set);
	return stops;
}

#define LEAVERS	5

static unsigned int stops_before;

/* End after the walk that finds it, and at times before the next one. */
static void leave(void *arg)
{
	nr_ready++;
	while (sim_costs.stops == stops_before)
		user_work(1);
	(void)arg;
}

static void use_counters_beside_leavers(void *arg)
{
	struct task_struct *task[LEAVERS];
	unsigned int i;

	/* Each walk finds that this thread, the first one, has too many states. */
	for (i = 0; i < VPERFCTR_MAX_STATES - 1; i++)
		open_observer(VPERFCTR_OPEN_TRANSIENT);
	for (i = 0; i < LEAVERS; i++)
		task[i] = user_thread("leaves", leave, NULL);
	use_counters(arg);
	while (i--)
		user_wait(task[i]);
}

/* Between the stop and the second walk, the attacher loses its CPU until some have ended. */
static void wait_for_leavers(const char *what)
{
	unsigned int threads;

	if (strcmp(what, "the threads have been counted"))
		return;
	threads = counted->signal->nr_threads;
	while (sim_costs.stops != stops_before && threads > 1 + USERS + LEAVERS - 2) {
		sim_sleep_on(NULL, sim_ns() + 100);
		threads = counted->signal->nr_threads;
	}
}

/* Those that have refused are known also behind one that has ended.  They are not tried again. */
static void attach_beside_leavers(void *arg)
{
	struct vperfctr_attach req = { .flags = VPERFCTR_ATTACH_OBSERVER, .nrthreads = 1 + LEAVERS };
	unsigned int stops;

	while (READ_ONCE(nr_ready) < USERS + 1 + LEAVERS)
		user_work(5);
	sim_reached = wait_for_leavers;
	stops = attach_to_counted(&req);
	sim_reached = NULL;
	sim_require(req.nrskipped == USERS, "skipped %u", req.nrskipped);
	sim_require(stops == 1, "ATTACH has stopped the machine %u times", stops);
	(void)arg;
}

void sim_beside_leavers(void)
{
	stops_before = sim_costs.stops;
	counted = sim_process("have counters", 1000, use_counters_beside_leavers, NULL);
	user_wait(sim_process("attaches", 1000, attach_beside_leavers, NULL));
}

/* ---- the last place among a thread's states ---------------------------------------------------- */

static unsigned int nr_last;

/* A state has been opened in the last place, and is closed. */
static void use_last_state(int fd)
{
	nr_last++;
	user_work(sim_random(5));
	sim_require(nr_last == 1, "a thread has %u states", VPERFCTR_MAX_STATES - 1 + nr_last);
	nr_last--;
	user_close(fd);
}

/* Both the thread and a monitor open one state more, and there is one place. */
static void open_last_state(void *arg)
{
	unsigned int i;
	long fd;

	for (i = 0; i < VPERFCTR_MAX_STATES - 1; i++)
		open_observer(VPERFCTR_OPEN_TRANSIENT);
	WRITE_ONCE(counted_is_ready, true);
	for (i = 0; i < 50 || !READ_ONCE(counted_may_end); i++) {
		fd = sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER | VPERFCTR_OPEN_TRANSIENT);
		sim_require(fd >= 0 || fd == -EMLINK || sim_failures.alloc, "OPEN: %ld", fd);
		if (fd >= 0)
			use_last_state(fd);
	}
	(void)arg;
}

static void attach_last_state(void *arg)
{
	struct vperfctr_attach req;
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	int mem_fd;
	unsigned int i;
	long fd;

	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	while (!READ_ONCE(counted_is_ready))
		user_work(5);
	mem_fd = user_open_mem(counted);
	for (i = 0; i < 50; i++) {
		req = (struct vperfctr_attach){
			.size = sizeof(req), .tid = counted->pid, .mem_fd = mem_fd,
			.control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
		};
		fd = user_device_ioctl(VPERFCTR_ATTACH, &req);
		sim_require(fd >= 0 || fd == -EMLINK || sim_failures.alloc, "ATTACH: %ld", fd);
		if (fd >= 0)
			use_last_state(fd);
	}
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
	(void)arg;
}

void sim_beside_last(void)
{
	*sim_param_max_stops_per_second = 0;
	counted = sim_process("has states", 1000, open_last_state, NULL);
	user_wait(sim_process("attaches", 1000, attach_last_state, NULL));
}

/* ---- threads that start while ATTACH makes room to note them ---------------------------------- */

/* ATTACH makes room for 8 threads more than it has counted. */
#define STARTED	(8 + 4)

static bool may_start;

/* Some use the counter before the stop, which is long after the walk: the budget has been used. */
static void start_unnoted(void *arg)
{
	int own = -1;

	if (arg) {
		user_sleep(NSEC_PER_MSEC);
		own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
		must(control_counter(own, 0, 0));
	}
	while (!READ_ONCE(counted_may_end))
		user_sleep(NSEC_PER_MSEC);
	if (own >= 0)
		user_close(own);
}

static void start_beyond_room(void *arg)
{
	struct task_struct *task[STARTED];
	unsigned long i;

	while (!READ_ONCE(may_start))
		user_sleep(100);
	for (i = 0; i < STARTED; i++)
		task[i] = user_thread("starts", start_unnoted, (void *)(i < 8 ? 1UL : 0UL));
	start_unnoted((void *)1UL);
	while (i--)
		user_wait(task[i]);
	(void)arg;
}

static void wait_for_started(const char *what)
{
	if (strcmp(what, "the threads have been counted"))
		return;
	WRITE_ONCE(may_start, true);
	while (counted->signal->nr_threads < 1 + STARTED)
		sim_sleep_on(NULL, sim_ns() + 100);
}

/* All threads that ATTACH had room for refuse.  It must look for those that it had none for. */
static void attach_beyond_room(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
		.tid = counted->pid,
	};
	unsigned int i;

	*sim_param_max_stops_per_second = 1;
	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	req.mem_fd = user_open_mem(counted);
	/*
	 * The first call uses the budget of a second.  So the second one waits between the walk and
	 * the stop, for 10 ms.
	 */
	for (i = 0; i < 2; i++) {
		req.nrthreads = 0;
		req.nrskipped = 0;
		req.used_pmcs = 0;
		user_close(must(user_device_ioctl(VPERFCTR_ATTACH, &req)));
		sim_require(i || (req.nrthreads == 1 && !req.nrskipped), "ATTACH to %u, and skipped %u",
			    req.nrthreads, req.nrskipped);
		sim_reached = wait_for_started;
		*sim_param_max_stops_per_second = 100;
	}
	sim_reached = NULL;
	sim_require(req.nrthreads == STARTED - 8 && req.nrskipped == 1 + 8, "ATTACH to %u, and skipped %u",
		    req.nrthreads, req.nrskipped);
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
	user_close(req.mem_fd);
	(void)arg;
}

void sim_attach_beyond_room(void)
{
	counted = sim_process("starts threads", 1000, start_beyond_room, NULL);
	user_wait(sim_process("attaches", 1000, attach_beyond_room, NULL));
}

/* Unlink the state that ATTACH gives this thread. */
static void unlink_given(void *arg)
{
	struct task_struct *task = arg ? NULL : user_thread("unlinks", unlink_given, (void *)1UL);
	int fd;

	nr_ready++;
	while (!READ_ONCE(counted_may_end)) {
		fd = sim_open(0, 0);
		if (fd < 0)
			continue;
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
		user_close(fd);
	}
	if (task)
		user_wait(task);
}

static void attach_to_unlinkers(void *arg)
{
	struct vperfctr_attach req = { .nrthreads = 2 };
	unsigned int stops;

	while (READ_ONCE(nr_ready) < 2)
		user_work(5);
	stops = attach_to_counted(&req);
	sim_require(req.nrthreads == 2 && !req.nrskipped, "ATTACH to %u, and skipped %u",
		    req.nrthreads, req.nrskipped);
	sim_require(stops == 1, "ATTACH has stopped the machine %u times", stops);
	(void)arg;
}

/* A thread whose state is unlinked before ATTACH ends is not attached to again. */
void sim_attach_unlinked(void)
{
	counted = sim_process("unlinks", 1000, unlink_given, NULL);
	user_wait(sim_process("attaches", 1000, attach_to_unlinkers, NULL));
}

/* ---- counts of kernel mode ----------------------------------------------------------------- */

/* READ of one state must not stop the other, which counts the steps of kernel mode. */
static void count_kernel_beside(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT)), observer = open_observer(0);
	struct sim_counts first, last;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	u64 steps, missed, least = ~0ULL;
	unsigned int i;

	sim_fill_control(&control, &ctr, 0);
	sim_count_kernel(&ctr);
	must(user_ioctl(own, VPERFCTR_CONTROL, &control));
	must(control_counter(observer, 1, 0));
	for (i = 0; i < 20; i++) {
		must(sim_read_counts(own, &first, 0));
		steps = current->sim->steps;
		must(sim_read_counts(observer, &last, 0));
		must(sim_read_counts(own, &last, 0));
		missed = current->sim->steps - steps - (last.own[1] - first.own[1]);
		/* A switch stops the counters for a while, but not in each of the rounds. */
		least = min_t(u64, least, missed);
	}
	sim_require(!least, "%llu steps of a READ are not counted", least);
	user_close(observer);
	user_close(own);
	(void)arg;
}

void sim_beside_kernel(void)
{
	user_wait(sim_process("counts the kernel", 0, count_kernel_beside, NULL));
}

/* ---- overflows of both --------------------------------------------------------------------- */

#define SIGNAL	42
#define PERIOD	40

/* A signal for each period of the own state, and a sample for each of the observer's. */
static void overflow_both(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 256, .watermark = 1, .nrsums = 1 };
	struct sim_task *t = current->sim;
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	struct sim_counts c;
	unsigned int i, signals;
	int own, observer;
	u64 before, resumed;

	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	observer = open_observer(0);
	must(user_ioctl(observer, VPERFCTR_RING, &ring));
	vma = sim_must_map(observer, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(control_period(own, 0, PERIOD, SIGNAL));
	must(control_period(observer, 1, PERIOD * (unsigned long)arg, 0));
	before = t->executed;
	for (i = 0; i < 6; i++) {
		signals = t->received[SIGNAL];
		resumed = t->executed;
		while (t->received[SIGNAL] == signals) {
			user_work(3);
			/* An overflow that comes in the kernel is handled when that is over. */
			sim_require(t->executed < resumed + PERIOD + 60 || sim_processor.nmi_ns > 1000 || i < 2,
				    "no signal in %llu instructions", t->executed - resumed);
			if (!sim_random(8))
				user_sleep(sim_random(100));
			sim_require(t->executed < 100000, "no signal arrives");
		}
		sim_require(t->overflow_mask == 1, "the signal has the mask %#x", t->overflow_mask);
		must(sim_read_counts(own, &c, 0));
		sim_require(c.read.overflow == 1, "READ returns the overflows %#llx", c.read.overflow);
		sim_require(c.own[1] >= PERIOD * (i + 1), "%llu events, and an overflow", c.own[1]);
		must(user_ioctl(own, VPERFCTR_IRESUME, NULL));
	}
	must(user_ioctl(observer, VPERFCTR_SUSPEND, NULL));
	must(sim_read_counts(observer, &c, 0));
	sim_require(c.own[1] <= t->executed - before, "counted %llu of %llu", c.own[1], t->executed - before);
	/* Few instructions pass between an overflow and its interrupt, or many if that is late. */
	sim_require((page->head + page->dropped) * PERIOD * (unsigned long)arg <= c.own[1] &&
		    ((page->head + page->dropped + 2) * 2 * PERIOD * (unsigned long)arg > c.own[1] ||
		     sim_processor.nmi_ns > 1000),
		    "%llu samples, %llu dropped, of %llu events", page->head, page->dropped, c.own[1]);
	user_munmap(vma);
	user_close(observer);
	user_close(own);
}

void sim_beside_overflow(void)
{
	struct task_struct *task[2];

	/* The second: both overflow at the same moment. */
	task[0] = sim_process("overflows", 1000, overflow_both, (void *)2UL);
	task[1] = sim_process("overflows", 1000, overflow_both, (void *)1UL);
	user_wait(task[0]);
	user_wait(task[1]);
}

/* ---- no interrupts without end ------------------------------------------------------------- */

static u64 ring_size;

static int open_with_ring(unsigned int nr, u32 flags)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 1024, .watermark = 1, .nrsums = 1, .flags = flags,
	};
	int fd = nr ? open_observer(0) : must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	ring_size = ring.map_size;
	return fd;
}

/*
 * The timer expires a moment before the periods of both states end.  The TSC of this machine
 * stands still in the kernel.  So the thread comes forward only if the next tick, which both
 * states program, leaves it the time to.
 */
static void sample_both_by_clock(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	unsigned int i, k;
	int fd[2];

	for (i = 0; i < 2; i++)
		fd[i] = open_with_ring(i, 0);
	for (k = 0; k < 4; k++) {
		/* The timer of the controls before expires. */
		user_sleep(2 * VPERFCTR_CLOCK_MIN);
		sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
		control.nractrs = 0;
		control.clock_period = VPERFCTR_CLOCK_MIN;
		for (i = 0; i < 2; i++)
			must(user_ioctl(fd[i], VPERFCTR_CONTROL, &control));
		user_sleep(VPERFCTR_CLOCK_MIN - 2500);
		user_work(VPERFCTR_CLOCK_MIN * (u64)tsc_khz / NSEC_PER_MSEC - 60);
		for (i = 0; i < 100; i++)
			user_work(1);
	}
	for (i = 0; i < 2; i++)
		user_close(fd[i]);
	(void)arg;
}

void sim_beside_clock(void)
{
	user_wait(sim_process("samples", 1000, sample_both_by_clock, NULL));
}

/*
 * The kernel's work for a sample overflows the counter again.  The time of that work, with the
 * stop and the start of all states, makes the periods grow until the thread comes forward.
 */
static void sample_kernel_beside(void *arg)
{
	const struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	int own, observer;
	unsigned int i;

	own = open_with_ring(0, VPERFCTR_RING_KERNEL);
	observer = open_observer(0);
	must(control_counter(observer, 1, 0));
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -2;
	sim_count_kernel(&ctr);
	must(user_ioctl(own, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 80; i++)
		user_work(20);
	must(user_ioctl(own, VPERFCTR_SUSPEND, NULL));
	vma = sim_must_map(own, VPERFCTR_RING_OFFSET, ring_size);
	page = vma->page;
	/* Each period that is longer has dropped some. */
	sim_require(page->dropped, "%llu samples, %llu dropped: the periods do not grow", page->head,
		    page->dropped);
	user_munmap(vma);
	user_close(observer);
	user_close(own);
	(void)arg;
}

void sim_beside_kernel_ring(void)
{
	user_wait(sim_process("samples the kernel", 0, sample_kernel_beside, NULL));
}

/* Return the time that some work of user mode takes, with the interrupts in between. */
static u64 time_of_work(void)
{
	u64 began = sim_ns();
	unsigned int i;

	for (i = 0; i < 1000; i++)
		user_work(1000);
	return sim_ns() - began;
}

/*
 * As many states as there can be make samples by thread time, one after another.  The share of the
 * time that these take does not grow with the number of states.
 */
static void sample_all_by_clock(void *arg)
{
	int fd[VPERFCTR_MAX_STATES];
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	u64 alone, sampled;
	unsigned int i;

	for (i = 0; i < VPERFCTR_MAX_STATES; i++)
		fd[i] = open_with_ring(i, 0);
	alone = time_of_work();
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	for (i = 0; i < VPERFCTR_MAX_STATES; i++) {
		control.clock_period = VPERFCTR_CLOCK_MIN + 1000 * i;
		must(user_ioctl(fd[i], VPERFCTR_CONTROL, &control));
	}
	time_of_work();
	sampled = time_of_work();
	sim_require((sampled - alone) * 9 < sampled * 2, "samples take %llu ns of %llu", sampled - alone,
		    sampled);
	for (i = 0; i < VPERFCTR_MAX_STATES; i++)
		user_close(fd[i]);
	(void)arg;
}

void sim_beside_clocks(void)
{
	sim_kernel_takes_time = true;
	user_wait(sim_process("samples", 1000, sample_all_by_clock, NULL));
}

/* ---- which counters a thread's states have ---------------------------------------------------- */

/* Ask a descriptor or, if it is -1, the device. */
static struct vperfctr_info info_of(int fd)
{
	struct vperfctr_info info = { .size = sizeof(info) };

	must(fd < 0 ? user_device_ioctl(VPERFCTR_INFO, &info) : user_ioctl(fd, VPERFCTR_INFO, &info));
	sim_require(info.abi_version == VPERFCTR_ABI_VERSION && info.nrctrs, "INFO is incomplete");
	return info;
}

static void check_info(int fd, u64 own, u64 observers)
{
	struct vperfctr_info info = info_of(fd);

	sim_require(info.own_pmcs == own && info.used_pmcs == observers && !info.own_fixed && !info.used_fixed,
		    "INFO of %d: the own state has %#llx and %#llx, observers %#llx and %#llx", fd,
		    info.own_pmcs, info.own_fixed, info.used_pmcs, info.used_fixed);
}

static const int *fds_of_parent;

/* A child has descriptors of its parent's states, and states of its own. */
static void ask_for_parent(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT)), i;

	must(control_counter(own, 2, 0));
	for (i = 0; i < 3; i++)
		check_info(fds_of_parent[i], 1, 2);
	check_info(own, 4, 0);
	check_info(-1, 4, 0);
	user_close(own);
	(void)arg;
}

static void ask_for_all(void *arg)
{
	int fd[3], i;

	for (i = 0; i < 3; i++) {
		fd[i] = i ? open_observer(0) : must(sim_open(0, VPERFCTR_OPEN_CREAT));
		check_info(fd[i], i > 0, i > 1 ? 2 : 0);
		/* The last one has no counter. */
		must(i < 2 ? control_counter(fd[i], i, 0) : control_time(fd[i]));
		check_info(fd[i], 1, i ? 2 : 0);
		check_info(-1, 1, i ? 2 : 0);
	}
	fds_of_parent = fd;
	user_wait(user_fork("child", ask_for_parent, NULL));
	/* A state that is suspended, or waits for an exec, keeps its counter. */
	must(user_ioctl(fd[0], VPERFCTR_SUSPEND, NULL));
	check_info(fd[2], 1, 2);
	must(control_counter(fd[0], 3, VPERFCTR_CONTROL_START_ON_EXEC));
	check_info(fd[2], 8, 2);
	/* One that has stopped for good has none, and one that is unlinked tells of no thread. */
	must(sim_control_nothing(fd[0]));
	check_info(fd[0], 0, 2);
	must(user_ioctl(fd[0], VPERFCTR_UNLINK, NULL));
	check_info(fd[0], 0, 0);
	check_info(fd[1], 0, 2);
	must(control_counter(fd[2], 0, 0));
	check_info(fd[1], 0, 3);
	for (i = 0; i < 3; i++)
		user_close(fd[i]);
	check_info(-1, 0, 0);
	(void)arg;
}

void sim_beside_info(void)
{
	user_wait(sim_process("asks", 1000, ask_for_all, NULL));
}

/* As a rule, some of these threads share a bucket of the module's table. */
#define ASKERS	32

static void ask_in_crowd(void *arg)
{
	unsigned int nr = (unsigned long)arg % 4;
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(control_counter(own, nr, 0));
	nr_ready++;
	while (READ_ONCE(nr_ready) < ASKERS)
		user_sleep(1000);
	check_info(own, 1ULL << nr, 0);
	nr_ready++;
	/* All have asked. */
	while (READ_ONCE(nr_ready) < 2 * ASKERS)
		user_sleep(1000);
	user_close(own);
}

static void start_crowd(void *arg)
{
	struct task_struct *task[ASKERS];
	unsigned long i;

	for (i = 1; i < ASKERS; i++)
		task[i] = user_thread("asks", ask_in_crowd, (void *)i);
	ask_in_crowd(NULL);
	while (--i)
		user_wait(task[i]);
	(void)arg;
}

void sim_beside_info_crowd(void)
{
	user_wait(sim_process("asks", 1000, start_crowd, NULL));
}

/* The thread's own state, of which another process has a descriptor, and an observer's. */
static int own_of_counted;
static struct task_struct *asker;

/*
 * The own state has counters 0 and 1, or 2, or none.  An observer's that stays has counter 3, and
 * those of the monitor come and go.
 */
static void check_changing(int fd, bool ended)
{
	struct vperfctr_info info = info_of(fd);

	sim_require(!info.own_pmcs || info.own_pmcs == 3 || info.own_pmcs == 4,
		    "the own state has %#llx", info.own_pmcs);
	sim_require(ended || READ_ONCE(counted_may_end) || info.used_pmcs & 8,
		    "observers have %#llx", info.used_pmcs);
	sim_require(!ended || !(info.own_pmcs | info.used_pmcs), "a state without a thread has %#llx and %#llx",
		    info.own_pmcs, info.used_pmcs);
}

/* Ask while the thread runs on another CPU, gets other controls, and ends. */
static void ask_often(void *arg)
{
	while (!READ_ONCE(counted->exit_state)) {
		check_changing(own_of_counted, false);
		user_sleep(sim_random(200));
	}
	check_changing(own_of_counted, true);
	(void)arg;
}

/* Count in counters 0 and 1, or in 2. */
static int control_some(int fd, bool pair)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];

	sim_fill_control(&control, &ctr[0], 0);
	ctr[1] = ctr[0];
	ctr[0].map = pair ? 0 : 2;
	ctr[1].map = 1;
	control.nractrs = 1 + pair;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void change_counters(void *arg)
{
	int observer = open_observer(0), err;
	unsigned int i;

	must(control_counter(observer, 3, 0));
	own_of_counted = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	asker = user_fork("asks", ask_often, NULL);
	WRITE_ONCE(counted_is_ready, true);
	for (i = 0; i < 10; i++) {
		/* The monitor's state may have one of them. */
		err = refused(control_some(own_of_counted, i % 2));
		sim_require(!err || err == -EADDRINUSE, "CONTROL: %d", err);
		user_work(15);
		if (i == 6)
			must(sim_control_nothing(own_of_counted));
	}
	/* From now on, states end. */
	WRITE_ONCE(counted_may_end, true);
	(void)arg;
}

/* A monitor chooses a counter that is free, and CONTROL does not refuse it. */
static void control_free_one(int fd)
{
	struct vperfctr_info info = info_of(fd);
	unsigned int nr = __builtin_ctzll(~(info.own_pmcs | info.used_pmcs));

	sim_require(info.pmc_mask >> nr & 1, "no counter is free");
	must(control_counter(fd, nr, 0));
	info = info_of(fd);
	sim_require(info.used_pmcs == (8 | 1ULL << nr), "observers have %#llx, and not %u",
		    info.used_pmcs, nr);
}

static void choose_as_monitor(void *arg)
{
	struct vperfctr_open req = {
		.size = sizeof(req),
		.flags = VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_OBSERVER,
		.tid = counted->pid,
	};
	long fd;

	do {
		fd = -ESRCH;
		if (user_ptrace_stop(counted)) {
			fd = user_device_ioctl(VPERFCTR_OPEN, &req);
			sim_require(fd >= 0 || fd == -ESRCH, "OPEN: %ld", fd);
		}
		if (fd >= 0 && !READ_ONCE(counted_may_end))
			control_free_one(fd);
		user_ptrace_continue(counted);
		if (fd < 0)
			continue;
		check_changing(fd, false);
		user_sleep(sim_random(300));
		user_close(fd);
	} while (!READ_ONCE(counted_may_end));
	(void)arg;
}

void sim_beside_info_monitor(void)
{
	struct task_struct *task;

	*sim_param_max_stops_per_second = 0;
	counted = sim_process("counted", 1000, change_counters, NULL);
	while (!READ_ONCE(counted_is_ready))
		sim_sleep_on(NULL, sim_ns() + 100);
	task = sim_process("monitors", 1000, choose_as_monitor, NULL);
	user_wait(task);
	user_wait(asker);
	user_wait(counted);
}

/* A set has no thread, and tells of none.  A member tells of its thread. */
static void ask_members(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .control = (unsigned long)&header, .flags = VPERFCTR_ATTACH_OBSERVER,
		.tid = counted->pid, .mem_fd = user_open_mem(counted),
	};
	int set, member;

	while (!READ_ONCE(nr_ready))
		user_work(5);
	sim_fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	ctr.map = 3;
	set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	member = must(user_ioctl(set, VPERFCTR_MEMBER, (void *)(unsigned long)counted->pid));
	check_info(set, 0, 0);
	check_info(member, 1, 8);
	check_info(-1, 0, 0);
	/* The thread goes on, and the member is none any more. */
	must(user_ioctl(set, VPERFCTR_UNLINK, NULL));
	check_info(member, 0, 0);
	WRITE_ONCE(counted_may_end, true);
	user_wait(counted);
	check_info(member, 0, 0);
	user_close(member);
	user_close(set);
	user_close(req.mem_fd);
	(void)arg;
}

void sim_beside_info_set(void)
{
	counted = sim_process("has a counter", 1000, use_counter, (void *)1UL);
	user_wait(sim_process("attaches", 1000, ask_members, NULL));
}

#ifdef SIM_X86
/* ---- a register that the counters share ---------------------------------------------------- */

#define OFFCORE_RESPONSE_0	0x4101b7

static int control_offcore(int fd, unsigned int nr, u64 aux)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, 0);
	ctr.map = nr;
	ctr.evntsel = OFFCORE_RESPONSE_0;
	ctr.aux = aux;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void count_offcore(void *arg)
{
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT)), observer = open_observer(0), err;
	struct vperfctr_info info = { .size = sizeof(info) };

	must(control_offcore(own, 0, 1));
	err = refused(control_offcore(observer, 1, 2));
	sim_require(err == -EXFULL, "another value of the register: %d", err);
	must(control_offcore(observer, 1, 1));
	/* The thread can tell which counters are left to it. */
	must(user_device_ioctl(VPERFCTR_INFO, &info));
	sim_require(info.used_pmcs == 2 && !info.used_fixed, "INFO says that %#llx and %#llx are used",
		    info.used_pmcs, info.used_fixed);
	sim_require(info.own_pmcs == 1 && !info.own_fixed, "INFO says that %#llx and %#llx are the thread's",
		    info.own_pmcs, info.own_fixed);
	/* A state that has stopped for good has no counter. */
	must(user_ioctl(own, VPERFCTR_UNLINK, NULL));
	must(control_offcore(observer, 0, 2));
	user_work(10);
	user_close(observer);
	user_close(own);
	(void)arg;
}

void sim_beside_extra(void)
{
	user_wait(sim_process("shares a register", 1000, count_offcore, NULL));
}
#endif

/* ---- a counter that is read in user mode, while other processes map pages ----------------------- */

/* The first pages of others clear the counters, also while they run. */
static void read_beside(void *arg)
{
	int observer = open_observer(0);

	must(control_counter(observer, 1, 0));
	sim_read_inline(arg);
	user_close(observer);
}

void sim_beside_page(void)
{
	struct task_struct *task[3];
	unsigned int i;

	task[0] = sim_process("reads", 1000, read_beside, NULL);
	task[1] = sim_process("maps", 1001, sim_read_inline, NULL);
	task[2] = sim_process("maps", 1002, sim_read_inline, (void *)1UL);
	for (i = 0; i < 3; i++)
		user_wait(task[i]);
}
