// SPDX-License-Identifier: GPL-2.0
/* The scenarios.  README.md explains how to write one. */
#include <stdlib.h>

#include "scenarios.h"
#include "hardware.h"
#ifdef SIM_X86
#include "x86.h"
#endif

extern unsigned int *const sim_param_max_threads_per_stop;

/* ---- what threads do --------------------------------------------------------- */

/* A control of user-mode instructions in a general counter. */
void sim_fill_control(struct vperfctr_control *control, struct vperfctr_ctr *ctr, u32 flags)
{
	sim_count_instructions(ctr);
	*control = (struct vperfctr_control) {
		.size = sizeof(*control), .ctr_size = sizeof(*ctr), .ctr = (unsigned long)ctr,
		.nractrs = 1, .tsc_on = 1, .flags = flags,
	};
}

#define fill_control	sim_fill_control

static int open_thread(s32 tid, u32 flags)
{
	struct vperfctr_open req = { .size = sizeof(req), .tid = tid, .flags = flags };

	return user_device_ioctl(VPERFCTR_OPEN, &req);
}

static int control(int fd, u32 flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	fill_control(&control, &ctr, flags);
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

/* The all-zero control: stop for good. */
int sim_control_nothing(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	control.tsc_on = 0;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

/* A control with a period, and a signal; or with a ring. */
int sim_control_imode(int fd, u64 period, int sig)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	fill_control(&control, &ctr, sig ? 0 : VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	control.si_signo = sig;
	ctr.ireset = -period;
	if (sim_processor.counts_kernel)
		sim_count_kernel(&ctr);
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

#define counts		sim_counts
#define read_counts	sim_read_counts

int sim_read_counts(int fd, struct counts *c, u32 flags)
{
	memset(c, 0, sizeof(*c));
	c->read = (struct vperfctr_read) {
		.size = sizeof(c->read), .nrctrs = 1, .sums = (unsigned long)c->own,
		.children = (unsigned long)c->children, .flags = flags,
	};
	return user_ioctl(fd, VPERFCTR_READ, &c->read);
}

#define must(call)	sim_must(call)

void sim_check_counted(int fd, u64 before)
{
	struct counts c;

	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "counted %llu, not %llu", c.own[1],
		    current->sim->executed - before);
}

struct vm_area_struct *sim_must_map(int fd, unsigned long offset, unsigned long size)
{
	struct vm_area_struct *vma;

	do
		vma = user_mmap(fd, offset, size);
	while (!vma && sim_failures.alloc);
	sim_require(vma, "mmap() fails");
	return vma;
}

int sim_open(s32 tid, u32 flags)
{
	return open_thread(tid, flags);
}

int sim_control(int fd, u32 flags)
{
	return control(fd, flags);
}

int sim_read(int fd)
{
	struct counts c;

	return read_counts(fd, &c, 0);
}

/* The thread has executed that many instructions since `before`: these must have been counted. */
static void check_counts(int fd, u64 before)
{
	struct counts c;

	must(read_counts(fd, &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "counted %llu instructions, not %llu",
		    c.own[1], current->sim->executed - before);
}

static unsigned int nr_readers;		/* other processes that read each state */
static void read_inherited(void *arg);

/* Count oneself, with reads in between. */
static void count_self(void *arg)
{
	unsigned int i, rounds = (unsigned long)arg;
	u64 before;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	user_work(10);
	must(control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < nr_readers; i++)
		put_task_struct(user_fork("reader", read_inherited, (void *)(long)fd));
	for (i = 0; i < rounds; i++) {
		user_work(1 + i * 7);
		check_counts(fd, before);
	}
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	before += current->sim->executed;
	user_work(50);
	before -= current->sim->executed - 50;
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	user_work(50);
	check_counts(fd, before + 50);
	user_close(fd);
}

#define CHILDREN	4

static void wait_for(struct task_struct **task, unsigned int n)
{
	while (n)
		user_wait(task[--n]);
}

/* The example of README.md and doc/testing.md. */
static void count_work(void *arg)
{
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	u64 before;

	must(control(fd, 0));
	before = current->sim->executed;
	user_work(100);
	check_counts(fd, before);
	user_close(fd);
}

static void two_threads(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("works", 1000, count_work, NULL);
	task[1] = sim_process("works", 1001, count_work, NULL);
	wait_for(task, 2);
}

/* Several threads of several users count themselves. */
static void self(void)
{
	struct task_struct *task[CHILDREN];
	unsigned int i;

	for (i = 0; i < CHILDREN; i++)
		task[i] = sim_process("counts", 1000 + i / 2, count_self, (void *)3UL);
	wait_for(task, CHILDREN);
}

/* ---- inheritance --------------------------------------------------------------- */

static u64 given;		/* instructions of the descendants */

static void child_works(void *arg)
{
	unsigned long depth = (unsigned long)arg;
	struct task_struct *child = NULL;

	user_work(20 + depth);
	if (depth)
		child = depth & 1 ? user_thread("grandchild", child_works, (void *)(depth - 1)) :
				    user_fork("grandchild", child_works, (void *)(depth - 1));
	user_work(30);
	given += current->sim->executed;
	if (child)
		user_wait(child);
}

static void count_family(void *arg)
{
	struct task_struct *task[3];
	struct counts c;
	unsigned int i;
	u64 before;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(control(fd, VPERFCTR_CONTROL_INHERIT));
	before = current->sim->executed;
	for (i = 0; i < 3; i++) {
		task[i] = user_thread("child", child_works, (void *)2UL);
		user_work(5);
		must(read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	}
	wait_for(task, 3);
	check_counts(fd, before);
	must(read_counts(fd, &c, 0));
	sim_require(c.children[1] == given && !c.read.children_missed,
		    "counted %llu for children, and %llu missed, not %llu", c.children[1],
		    c.read.children_missed, given);
	user_close(fd);
	(void)arg;
}

static void family(void)
{
	struct task_struct *task = sim_process("root", 1000, count_family, NULL);

	user_wait(task);
}

/* A family ends, by the close of its root's state, while its members run and fork. */
static void leave_family(void *arg)
{
	struct task_struct *task[3];
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	must(control(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < 3; i++)
		task[i] = user_thread("child", child_works, (void *)3UL);
	user_close(fd);
	wait_for(task, 3);
	(void)arg;
}

static void dissolve(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("root", 1000, leave_family, NULL);
	task[1] = sim_process("root", 1000, leave_family, NULL);
	wait_for(task, 2);
}

/* A member gets a control of its own while its family ends.  It counts on. */
static void leave_by_control(void *arg)
{
	int fd, err;
	u64 before;

	fd = open_thread(0, 0);
	if (fd < 0)
		return;		/* its family has ended */
	err = control(fd, 0);
	if (!err) {
		before = current->sim->executed;
		user_work(30);
		check_counts(fd, before);
		must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	}
	sim_require(!err || err == -ESRCH, "CONTROL: %d", err);
	user_close(fd);
	(void)arg;
}

static void end_with_leavers(void *arg)
{
	struct task_struct *task[3];
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	must(control(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < 3; i++)
		task[i] = user_thread("leaves", leave_by_control, NULL);
	user_close(fd);
	wait_for(task, 3);
	(void)arg;
}

static void leavers(void)
{
	user_wait(sim_process("root", 1000, end_with_leavers, NULL));
}

static bool root_closes;

/*
 * The same for threads that sleep.  Another CPU detaches their states.  A thread that comes
 * back and does not see its notifier any more sees all of the detachment: it detaches
 * nothing twice.
 */
static void return_and_unlink(void *arg)
{
	int fd = open_thread(0, 0), err;

	while (!root_closes)
		user_sleep(5);
	if (fd < 0)
		return;
	user_sleep(1 + sim_random(4000));
	err = user_ioctl(fd, VPERFCTR_UNLINK, NULL);
	sim_require(!err || err == -ESRCH, "UNLINK: %d", err);
	user_close(fd);
	(void)arg;
}

static void end_with_sleepers(void *arg)
{
	struct task_struct *task[6];
	unsigned int i, round;
	int fd;

	for (round = 0; round < 6; round++) {
		root_closes = false;
		fd = must(open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
		must(control(fd, VPERFCTR_CONTROL_INHERIT));
		for (i = 0; i < 6; i++)
			task[i] = user_thread("returns", return_and_unlink, NULL);
		root_closes = true;
		user_close(fd);
		wait_for(task, 6);
	}
	(void)arg;
}

static void sleeping_leavers(void)
{
	user_wait(sim_process("root", 1000, end_with_sleepers, NULL));
}

/* ---- monitors -------------------------------------------------------------------- */

static bool monitored_may_end;

static void be_monitored(void *arg)
{
	while (!monitored_may_end)
		user_work(20);
	user_work(20);
	(void)arg;
}

static void monitor(void *arg)
{
	struct task_struct *task = arg;
	struct counts c;
	u64 before = 0;
	int fd = -1;

	if (user_ptrace_stop(task)) {
		int err = 0;
		unsigned int i;

		fd = open_thread(task->pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
		/* Each empty control releases the hardware. */
		for (i = 0; fd >= 0 && !err && i < 7; i++)
			err = i & 1 ? sim_control_nothing(fd) : control(fd, 0);
		if (!err)
			before = task->sim->executed;
		sim_require(!err || err == -ESRCH || err == -EPERM, "CONTROL: %d", err);
	}
	user_ptrace_continue(task);
	if (fd >= 0) {
		user_work(30);
		must(read_counts(fd, &c, 0));
		sim_require(c.own[1] <= task->sim->executed - before, "counted too much: %llu",
			    c.own[1]);
		if (user_ptrace_stop(task)) {
			must(read_counts(fd, &c, 0));
			sim_require(c.own[1] == task->sim->executed - before,
				    "counted %llu instructions, not %llu", c.own[1],
				    task->sim->executed - before);
			control(fd, VPERFCTR_CONTROL_INHERIT);
		}
		user_ptrace_continue(task);
		user_close(fd);
	}
	monitored_may_end = true;
}

/* A monitor makes, reads, changes and closes the state of a thread that works. */
static void remote(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("monitored", 1000, be_monitored, NULL);
	task[1] = sim_process("monitor", 1000, monitor, task[0]);
	wait_for(task, 2);
}

/* The same, and SIGKILL arrives at any time. */
static void kill_monitored(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("monitored", 1000, be_monitored, NULL);
	task[1] = sim_process("monitor", 1000, monitor, task[0]);
	sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(40, 1));
	user_kill(task[0], SIGKILL);
	wait_for(task, 2);
}

/* Read the state of another process, whose descriptor was inherited. */
static void read_inherited(void *arg)
{
	struct counts c;
	u64 last = 0;
	unsigned int i;
	int fd = (long)arg;

	for (i = 0; i < 6; i++) {
		must(read_counts(fd, &c, 0));
		sim_require(c.own[1] >= last, "the counts go back");
		last = c.own[1];
		user_work(3);
	}
	user_close(fd);
}

/* ---- attaching to a process ------------------------------------------------------- */

static struct task_struct *attached;
static bool attached_is_ready, attached_may_end;

static void work_in_threads(void *arg)
{
	unsigned long depth = (unsigned long)arg;
	struct task_struct *task[2];
	unsigned int i, n = depth ? 2 : 0;

	for (i = 0; i < n; i++)
		task[i] = user_thread("thread", work_in_threads, (void *)(depth - 1));
	do
		user_work(20);
	while (!attached_may_end);
	wait_for(task, n);
}

/* Each thread of the process that has been through the fork's probe is counted. */
static void check_all_attached(void)
{
	const struct task_struct *task;

	for_each_thread(attached, task)
		sim_require(task->sim->is_new || (task->flags & PF_EXITING) ||
			    task->preempt_notifiers.first, "a thread is missed");
}

static void attach_to(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&header };
	struct counts c;
	long fd;

	fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	req.tid = attached->pid;
	req.mem_fd = user_open_mem(attached);
	fd = user_device_ioctl(VPERFCTR_ATTACH, &req);
	sim_require(fd >= 0, "ATTACH: %ld", fd);
	sim_require(!req.nrskipped, "skipped %u threads", req.nrskipped);
	check_all_attached();
	must(read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	sim_require(!(user_poll(fd) & EPOLLHUP), "a set ends whose threads are counted");
	attached_may_end = true;
	/* The end of the last thread wakes it. */
	while (!(user_wait_poll(fd) & EPOLLHUP))
		;
	must(read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	sim_require(!(c.read.status & VPERFCTR_STATUS_CHILDREN), "a set has ended, and has the status %#x",
		    c.read.status);
	user_wait(attached);
	sim_require(!c.read.children_missed, "missed %llu", c.read.children_missed);
	user_close(fd);
	(void)arg;
}

static void attach(void)
{
	struct task_struct *task;

	attached = sim_process("attached", 1000, work_in_threads, (void *)2UL);
	task = sim_process("attacher", 1000, attach_to, NULL);
	user_wait(task);
}

/* The same in many stops of the machine. */
static void attach_pieces(void)
{
	*sim_param_max_threads_per_stop = 1;
	attach();
}

/* ---- threads that start and end while they are attached to ------------------------- */

#define ATTACHES	4

/* Attach to a process and close the set, again and again.  It may have states of its own. */
static void attach_often(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&header };
	unsigned int i;
	bool reserved;
	long fd;

	fill_control(&header, &ctr, VPERFCTR_CONTROL_INHERIT);
	req.tid = attached->pid;
	req.mem_fd = user_open_mem(attached);
	while (!attached_is_ready)
		user_work(5);
	for (i = 0; i < ATTACHES && req.mem_fd >= 0 && !attached->exit_state; i++) {
		req.nrthreads = 0;
		req.nrskipped = 0;
		req.used_pmcs = 0;
		fd = user_device_ioctl(VPERFCTR_ATTACH, &req);
		/* In an exploration, threads may start during each of the call's rounds. */
		sim_require(fd >= 0 || fd == -EEXIST || fd == -ESRCH || (fd == -EAGAIN && sim_explores),
			    "ATTACH: %ld", fd);
		if (arg)
			user_work(20);
		if (fd < 0)
			continue;
		reserved = sim_is_hardware_reserved();
		sim_require(reserved || (user_poll(fd) & EPOLLHUP),
			    "the hardware is free, and the set has not ended");
		user_close(fd);
	}
	attached_may_end = true;
	user_wait(attached);
}

static void work_shortly(void *arg)
{
	user_work(20);
	(void)arg;
}

/* Threads that inherit from this one, unless they have been attached to before. */
static void start_threads(void *arg)
{
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	struct counts c;

	must(control(fd, VPERFCTR_CONTROL_INHERIT));
	attached_is_ready = true;
	while (!attached_may_end)
		user_wait(user_thread("thread", work_shortly, NULL));
	must(read_counts(fd, &c, 0));
	user_close(fd);
	(void)arg;
}

static void attach_often_to(void (*func)(void *), void *arg)
{
	attached_is_ready = false;
	attached_may_end = false;
	attached = sim_process("attached", 1000, func, NULL);
	user_wait(sim_process("attacher", 0, attach_often, arg));
}

/* The set ends at once: its close comes while the child of a fork does not run yet. */
static void new_threads(void)
{
	attach_often_to(start_threads, NULL);
}

/* Some threads at a time, of which only the first has a state, and that has no counters. */
static void start_short_threads(void *arg)
{
	struct vperfctr_control header;
	struct task_struct *task[3];
	struct vperfctr_ctr ctr;
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	unsigned int i;

	fill_control(&header, &ctr, 0);
	header.nractrs = 0;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &header));
	attached_is_ready = true;
	while (!attached_may_end) {
		for (i = 0; i < ARRAY_SIZE(task); i++)
			task[i] = user_thread("thread", work_shortly, NULL);
		for (i = 0; i < ARRAY_SIZE(task); i++)
			user_wait(task[i]);
	}
	user_close(fd);
	(void)arg;
}

/*
 * All threads of one stop may end before the next one.  The next threads count, and so the
 * counters must not have been released.
 */
static void short_threads_pieces(void)
{
	*sim_param_max_threads_per_stop = 1;
	attach_often_to(start_short_threads, (void *)1UL);
}

/* KVM changes the list that the threads' states are in. */
static void run_vcpus(void *arg)
{
	struct task_struct *task = arg ? NULL : user_thread("vcpu", run_vcpus, (void *)1UL);

	attached_is_ready = true;
	while (!attached_may_end)
		user_run_vcpu(5);
	if (task)
		user_wait(task);
}

static void vcpus(void)
{
	attach_often_to(run_vcpus, (void *)1UL);
}

#ifdef SIM_ARM64
static int guest_fd;

static void end_reader(void *vma)
{
	user_munmap(vma);
	user_close(guest_fd);
}

static void work_for_seconds(void)
{
	unsigned int i;

	for (i = 0; i < 25; i++) {
		user_work(5);
		user_sleep(NSEC_PER_SEC / 10);
	}
}

/* Another thread ends the state of one that runs a guest.  KVM restores the right to read. */
static void read_after_guest(void *arg)
{
	struct task_struct *task;
	struct vm_area_struct *vma;
	unsigned int n;

	guest_fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = user_mmap(guest_fd, 0, PAGE_SIZE);
	must(control(guest_fd, 0));
	user_work(5);
	task = user_thread("unmaps", end_reader, vma);
	user_run_guest(300);
	/* Where the state ends later, there is a right until then. */
	user_wait(task);
	work_for_seconds();
	for (n = 0; n < nr_cpu_ids; n++)
		sim_require(!model.cpu[n].user, "a right to read that KVM has restored stays");
	(void)arg;
}

static void count_for_seconds(void *maps)
{
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	struct vm_area_struct *vma = maps ? user_mmap(fd, 0, PAGE_SIZE) : NULL;

	must(control(fd, 0));
	user_work(20);
	if (vma) {
		user_sleep(NSEC_PER_SEC / 2);
		user_munmap(vma);
	} else {
		work_for_seconds();
	}
	user_close(fd);
}

static void reader_in_guest(void)
{
	struct task_struct *task[3];
	unsigned int n = 1;

	task[0] = sim_process("guest", 1000, read_after_guest, NULL);
	if (sim_random(2)) {
		task[n++] = sim_process("counts", 1001, count_for_seconds, NULL);
		task[n++] = sim_process("maps", 1002, count_for_seconds, (void *)1UL);
	}
	wait_for(task, n);
}
#endif

/* ---- the end of the hardware ------------------------------------------------------ */

static bool has_ended(void *arg)
{
	return ((struct task_struct *)arg)->exit_state;
}

static void wait_for_end(struct task_struct *task)
{
	while (!has_ended(task))
		user_sleep(1000);
}

static struct task_struct *first;	/* whose state it is */
static int first_fd;
static bool first_may_end;
static bool first_maps;			/* its page */
static u64 executed_before;		/* by `first`, the CONTROL */

/* `first` remains for its descendants to look at. */
static void wait_for_descendants(void)
{
	get_task_struct(first);
	user_wait(first);
	while (sim_nr_user_tasks > 1)
		sim_sleep_on(NULL, sim_ns() + 1000);
	put_task_struct(first);
}

static void count_and_end(void *arg)
{
	struct task_struct *child;

	first_fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	if (first_maps)
		sim_must_map(first_fd, 0, PAGE_SIZE);
	must(control(first_fd, 0));
	executed_before = current->sim->executed;
	/* It inherits the descriptor and the mapping, and not the control. */
	child = user_fork("child", arg, NULL);
	user_work(20);
	put_task_struct(child);
}

/* The owner has ended: the last close finds the hardware free, whatever else remains. */
static void close_after_end(void *arg)
{
	struct vm_area_struct *vma;
	struct counts c;

	wait_for_end(first);
	/* READ and the page both have its final count. */
	must(read_counts(first_fd, &c, 0));
	sim_require(c.own[1] == first->sim->executed - executed_before, "counted %llu, not %llu", c.own[1],
		    first->sim->executed - executed_before);
	sim_require(!(c.read.status & VPERFCTR_STATUS_ATTACHED), "it is attached to a thread that has ended");
	vma = sim_must_map(first_fd, 0, PAGE_SIZE);
	sim_require(((struct vperfctr_page *)vma->page)->ctr[0].sum == c.own[1], "the page has the count %llu, not %llu",
		    ((struct vperfctr_page *)vma->page)->ctr[0].sum, c.own[1]);
	user_munmap(vma);
	user_close(first_fd);
	sim_require(!sim_is_hardware_reserved(), "the hardware is not free after the last close");
	(void)arg;
}

static void ended(void)
{
	first_maps = true;
	first = sim_process("ends", 1000, count_and_end, close_after_end);
	wait_for_descendants();
}

/* The page is mapped for the first time when the thread has ended. */
static void ended_unmapped(void)
{
	first = sim_process("ends", 1000, count_and_end, close_after_end);
	wait_for_descendants();
}

static void be_counted(void *arg)
{
	wait_for_end(first);
	while (!first_may_end)
		user_work(5);
	(void)arg;
}

static void leave_child_counted(void *arg)
{
	struct task_struct *child[2];

	first_fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(control(first_fd, VPERFCTR_CONTROL_INHERIT));
	child[0] = user_fork("child", be_counted, NULL);
	child[1] = user_fork("unlinks", arg, NULL);
	user_work(20);
	put_task_struct(child[0]);
	put_task_struct(child[1]);
}

/* UNLINK ends a family whose root has ended, although a descriptor remains. */
static void unlink_after_end(void *arg)
{
	wait_for_end(first);
	must(user_ioctl(first_fd, VPERFCTR_UNLINK, NULL));
	sim_require(!sim_is_hardware_reserved(), "the hardware is not free after UNLINK");
	first_may_end = true;
	(void)arg;
}

static void unlink_ended(void)
{
	first = sim_process("root", 1000, leave_child_counted, unlink_after_end);
	wait_for_descendants();
}

/* ---- overflows ------------------------------------------------------------------- */

#define SIGNAL	40
#define PERIOD	20

/* Each overflow holds the counters until IRESUME, and sends one signal. */
static void take_signals(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, signals;
	struct counts c;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(sim_control_imode(fd, PERIOD, SIGNAL));
	for (i = 0; i < 6; i++) {
		signals = t->received[SIGNAL];
		while (t->received[SIGNAL] == signals) {
			user_work(3);
			sim_require(t->executed < 100000, "no signal arrives");
		}
		sim_require(t->overflow_mask == 1, "the signal has the mask %#x", t->overflow_mask);
		must(read_counts(fd, &c, 0));
		sim_require(c.read.overflow == 1, "READ returns the overflows %#llx", c.read.overflow);
		sim_require(c.own[1] >= PERIOD * (i + 1), "%llu events, and an overflow", c.own[1]);
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
	(void)arg;
}

/* Work until there are more signals. */
static void work_until_signal(unsigned int n, unsigned int signals)
{
	while (n-- && current->sim->received[SIGNAL] == signals)
		user_work(1);
}

/* Between an overflow and its signal, few instructions are not counted. */
static void check_few_uncounted(u64 executed, u64 counted)
{
	sim_require(counted + 100 >= executed || sim_processor.nmi_ns > 1000 || sim_failures.signal,
		    "executed %llu, and counted %llu before the signal", executed, counted);
}

/* The same for a thread that sleeps, moves, and is read by others. */
static void take_signals_and_sleep(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, signals;
	u64 period = (unsigned long)arg, before, sum = 0;
	struct counts c;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(sim_control_imode(fd, period, SIGNAL));
	put_task_struct(user_fork("reader", read_inherited, (void *)(long)fd));
	for (i = 0; i < 6; i++) {
		signals = t->received[SIGNAL];
		before = t->executed;
		while (t->received[SIGNAL] == signals) {
			if (sim_random(2))
				user_sleep(sim_random(100));
			work_until_signal(300, signals);
			sim_require(t->executed < 100000, "no signal arrives");
		}
		must(read_counts(fd, &c, 0));
		sim_require(c.read.overflow == 1, "READ returns the overflows %#llx", c.read.overflow);
		check_few_uncounted(t->executed - before, c.own[1] - sum);
		sum = c.own[1];
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
}

static void take_signals_often(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, signals;
	struct counts c;
	u64 before;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	for (i = 0; i < 40; i++) {
		signals = t->received[SIGNAL];
		before = t->executed;
		/* It may overflow at any step of the next switches. */
		must(sim_control_imode(fd, 4 + sim_random(30), SIGNAL));
		while (t->received[SIGNAL] == signals) {
			user_sleep(sim_random(60));
			work_until_signal(300, signals);
		}
		must(read_counts(fd, &c, 0));
		check_few_uncounted(t->executed - before, c.own[1]);
	}
	user_close(fd);
	(void)arg;
}

static void moves(void)
{
	struct task_struct *task[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		task[i] = sim_process("signals", 0, take_signals_and_sleep,
				      (void *)(sim_processor.counts_kernel ? 301UL : 20UL));
	wait_for(task, 3);
	while (sim_nr_user_tasks)
		sim_sleep_on(NULL, sim_ns() + 1000);
}

/* The same, and the queue of signals is full at times. */
static void moves_full(void)
{
	sim_failures.signal = 2;
	moves();
	sim_failures.signal = 0;
}

/* One thread, so that the other CPU is free to run it at once. */
static void moves_alone(void)
{
	user_wait(sim_process("signals", 0, take_signals_often, NULL));
}

static void overflow(void)
{
	struct task_struct *task[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		task[i] = sim_process("signals", 1000, take_signals, NULL);
	wait_for(task, 3);
}

/* The chain, the registers and the stack fill the sample. */
static void check_calls(const struct vperfctr_sample *s)
{
	const u64 *at = (const u64 *)&s->sums[1];

	at += 1 + at[0];
	if (*at != VPERFCTR_USER_NONE) {
		sim_require(at[0] == SIM_USER_MODE && at[1 + SIM_DWARF_SP] == current->sim->regs.sp &&
			    at[1 + SIM_DWARF_IP] == s->ip,
			    "the registers are wrong");
		at += 1 + SIM_USER_REGS;
		sim_require(*at <= 32, "the stack has %llu bytes", *at);
		at += *at / sizeof(*at);
	}
	sim_require((const char *)(at + 1) == (const char *)s + s->size, "the size is %u", s->size);
}

/* Each period makes a sample, or is counted as dropped; nothing is lost for the sums. */
static void take_samples(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 8, .watermark = 1, .nrsums = 1, .depth = 2,
		.stack = 32,
	};
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	struct counts c;
	u64 before, events;
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(sim_control_imode(fd, PERIOD, 0));
	before = current->sim->executed;
	for (i = 0; i < 70; i++)
		user_work(10);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(read_counts(fd, &c, 0));
	events = current->sim->executed - before;
	sim_require(c.own[1] <= events, "counted %llu of %llu", c.own[1], events);
	sim_require(page->head, "there is no sample");
	sim_require((page->head + page->dropped) * PERIOD <= c.own[1], "%llu samples, %llu dropped, of %llu events",
		    page->head, page->dropped, c.own[1]);
	for (i = 0; i < page->head; i++)
		check_calls((void *)((char *)page + page->data + i * page->sample_size));
	must(user_ioctl(fd, VPERFCTR_CONSUME, (void *)(unsigned long)page->head));
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/* ---- calls in the kernel ----------------------------------------------------------------- */

#define USER_DEPTH	2
#define USER_CALLS	3
#define USER_CALL	0x410000	/* and above: where user mode's calls return */

/* Check the chain of user mode, which begins where it has entered the kernel.  Return its end. */
static const u64 *check_user_calls(const struct vperfctr_sample *s, const u64 *chain, u64 *nr_full)
{
	bool kernel = s->flags & VPERFCTR_SAMPLE_KERNEL;
	u64 k;

	sim_require(*chain <= USER_DEPTH, "%llu calls in user mode", *chain);
	for (k = 0; k < *chain; k++)
		sim_require(chain[1 + k] == (kernel && !k ? current->sim->regs.sim_ip : USER_CALL + k - kernel),
			    "call %llu in user mode is from %#llx", k, chain[1 + k]);
	*nr_full += kernel && *chain == (SIM_HAS_FRAMES ? USER_DEPTH : 1);
	return &chain[1 + *chain];
}

/* Check both chains: see also unwind_get_return_address().  Return the length of the kernel's. */
static u64 check_kernel_calls(const struct vperfctr_sample *s, u64 depth, u64 *nr_full)
{
	const u64 *chain = &s->sums[1], *end;
	u64 k;

	sim_require(*chain == 0 || (s->flags & VPERFCTR_SAMPLE_KERNEL &&
				    *chain == min(depth, (u64)SIM_KERNEL_CALLS)),
		    "%llu calls in the kernel", *chain);
	for (k = 0; k < *chain; k++)
		sim_require(chain[1 + k] == s->ip + 16 * (SIM_KERNEL_CALLS - k),
			    "call %llu, of %#llx, is from %#llx", k, s->ip, chain[1 + k]);
	end = check_user_calls(s, &chain[1 + *chain], nr_full);
	sim_require((const char *)end == (const char *)s + s->size, "the size is %u", s->size);
	return *chain;
}

#define KERNEL_PERIOD	301

static void sample_kernel_calls(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 1,
		.flags = VPERFCTR_RING_KERNEL, .kernel_depth = (unsigned long)arg,
		.depth = USER_DEPTH,
	};
	struct task_struct *task[2];
	struct vperfctr_control control;
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	u64 n, kernel = 0, calls = 0, full = 0, frames[2 * USER_CALLS];
	struct vperfctr_ctr ctr;
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	for (i = 0; i < USER_CALLS; i++) {
		frames[2 * i] = (unsigned long)&frames[2 * i + 2];
		frames[2 * i + 1] = USER_CALL + i;
	}
#if SIM_HAS_FRAMES
	current->sim->regs.bp = (unsigned long)frames;
#endif
	fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -KERNEL_PERIOD;
	sim_count_kernel(&ctr);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 2; i++)
		task[i] = user_thread("samples", child_works, (void *)1UL);
	/* The order of the steps decides how many samples are of the kernel: go on until one is. */
	for (i = 0; i < 160 || (!kernel && i < 1600); i++) {
		user_work(50);
		user_sleep(sim_random(100));
		for (n = page->tail; n != READ_ONCE(page->head); n++) {
			const struct vperfctr_sample *s = (const void *)((const char *)page + page->data +
							(n & (page->nrsamples - 1)) * page->sample_size);

			kernel += !!(s->flags & VPERFCTR_SAMPLE_KERNEL);
			calls += !!check_kernel_calls(s, ring.kernel_depth, &full);
		}
		must(user_ioctl(fd, VPERFCTR_CONSUME, (void *)(unsigned long)(n - page->tail)));
	}
	wait_for(task, 2);
	sim_require(kernel || sim_explores, "none of %llu samples is of the kernel", page->head);
	/* There is a chain for each thread and for each CPU. */
	sim_require(kernel == calls, "%llu of %llu samples have calls", calls, kernel);
	/* Not each: the thread may be ending. */
	sim_require(full || sim_explores, "none of %llu samples has all calls in user mode", kernel);
#if SIM_HAS_FRAMES
	current->sim->regs.bp = 0;
#endif
	user_munmap(vma);
	user_close(fd);
}

static void ring_kernel(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("samples", 0, sample_kernel_calls, (void *)3UL);
	task[1] = sim_process("samples", 0, sample_kernel_calls, (void *)9UL);
	wait_for(task, 2);
}

/* ---- a ring that a family shares -------------------------------------------------------- */

static u64 family_executed;

static void child_samples(void *arg)
{
	struct task_struct *child = NULL;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		user_work(13);
		if (arg && i == 1)
			child = user_thread("grandchild", child_samples, NULL);
	}
	family_executed += current->sim->executed;
	if (child)
		user_wait(child);
}

/*
 * Read what is complete: slots that other CPUs still write are not.  Each thread's sums grow
 * by the period.
 */
static u64 read_samples(int fd, const struct vperfctr_ring_page *page, u64 *told)
{
	u64 n, head = READ_ONCE(page->head);

	for (n = page->tail; n != head; n++) {
		const struct vperfctr_sample *sample = (const void *)((const char *)page + page->data +
						(n & (page->nrsamples - 1)) * page->sample_size);

		sim_require(sample->type == VPERFCTR_SAMPLE_OVERFLOW && sample->overflow == 1 &&
			    sample->tid, "sample %llu is not complete", n);
		sim_require(sample->sums[0] >= PERIOD, "sample %llu has the sum %llu", n,
			    sample->sums[0]);
		*told += sample->dropped;
	}
	must(user_ioctl(fd, VPERFCTR_CONSUME, (void *)(unsigned long)(head - page->tail)));
	return head;
}

static void count_family_ring(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 4, .watermark = 2, .nrsums = 1 };
	struct vperfctr_control control;
	struct vperfctr_ring_page *page;
	struct task_struct *task[2];
	struct vperfctr_ctr ctr;
	struct vm_area_struct *vma;
	u64 told = 0, all, read;
	unsigned int i;
	struct counts c;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = user_mmap(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	sim_require(vma, "the ring cannot be mapped");
	page = vma->page;
	fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 2; i++)
		task[i] = user_thread("samples", child_samples, (void *)1UL);
	for (i = 0; i < 4; i++) {
		user_work(11);
		read_samples(fd, page, &told);
	}
	wait_for(task, 2);
	read = read_samples(fd, page, &told);
	for (i = 0; i < 20 && READ_ONCE(page->head) == read; i++)
		user_work(PERIOD);	/* an interrupt may be late */
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(read_counts(fd, &c, 0));
	sim_require(read_samples(fd, page, &told) > read, "the ring is stuck at sample %llu", read);
	all = page->head + page->dropped;
	sim_require(told <= page->dropped, "told of %llu dropped samples, not %llu", told, page->dropped);
	/* An overflow stops the counters before its interrupt comes. */
	sim_require(c.children[1] <= family_executed && !c.read.children_missed,
		    "counted %llu for children, and %llu missed, of %llu", c.children[1],
		    c.read.children_missed, family_executed);
	sim_require(all * PERIOD <= c.own[1] + c.children[1], "%llu samples and drops of %llu events",
		    all, c.own[1] + c.children[1]);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

#define WATERMARK	2

static struct {
	int fd;
	const struct vperfctr_ring_page *page;
	bool started, over;
	u64 consumed;
} polled;

/* Sleep until there are enough samples.  A wake-up that is lost leaves it asleep. */
static void poll_samples(void *arg)
{
	u64 told = 0;

	polled.started = true;
	while (!READ_ONCE(polled.over)) {
		user_wait_poll(polled.fd);
		polled.consumed = read_samples(polled.fd, polled.page, &told);
	}
	(void)arg;
}

static void many_samples(void *arg)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		user_work(PERIOD + 3);
	(void)arg;
}

static void poll_family_ring(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 8, .watermark = WATERMARK, .nrsums = 1,
	};
	struct task_struct *task[3], *reader;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = user_mmap(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	sim_require(vma, "the ring cannot be mapped");
	memset(&polled, 0, sizeof(polled));
	polled.fd = fd;
	polled.page = vma->page;
	reader = user_thread("reader", poll_samples, NULL);
	fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 3; i++)
		task[i] = user_thread("samples", many_samples, NULL);
	wait_for(task, 3);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	/* If the reader has missed a wake-up, this does not end. */
	while (READ_ONCE(polled.page->head) - READ_ONCE(polled.page->tail) >= WATERMARK)
		user_work(1);
	WRITE_ONCE(polled.over, true);
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	user_wait(reader);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/* The end of a family is that of its last member, which may come after its owner's. */
static void wait_for_family(void *arg)
{
	struct counts c;

	while (!(user_wait_poll(polled.fd) & EPOLLHUP))
		;
	must(read_counts(polled.fd, &c, 0));
	sim_require(!(c.read.status & (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_CHILDREN)),
		    "a family has ended, and has the status %#x", c.read.status);
	user_close(polled.fd);
	(void)arg;
}

static void outlive_owner(void *arg)
{
	wait_for_end(first);
	user_work(3 * PERIOD);
	(void)arg;
}

static void end_before_member(void *arg)
{
	/* Nothing but the end wakes the reader. */
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 64, .nrsums = 1,
	};
	struct vperfctr_control control;
	struct task_struct *task;
	struct vperfctr_ctr ctr;

	polled.fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(polled.fd, VPERFCTR_RING, &ring));
	put_task_struct(user_fork("reader", wait_for_family, NULL));
	fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(polled.fd, VPERFCTR_CONTROL, &control));
	task = user_thread("member", outlive_owner, NULL);
	user_work(PERIOD + 3);
	put_task_struct(task);
	(void)arg;
}

static void family_end_poll(void)
{
	first = sim_process("family", 1000, end_before_member, NULL);
	wait_for_descendants();
}

static void family_ring_poll(void)
{
	struct task_struct *task = sim_process("family", 1000, poll_family_ring, NULL);

	wait_for(&task, 1);
}

static void family_ring(void)
{
	struct task_struct *task;

	family_executed = 0;
	task = sim_process("family", 1000, count_family_ring, NULL);
	wait_for(&task, 1);
}

static void ring(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("samples", 1000, take_samples, NULL);
	task[1] = sim_process("samples", 1001, take_samples, NULL);
	wait_for(task, 2);
}

/* ---- mappings ---------------------------------------------------------------------- */

/*
 * As the library's inline read: RDPMC, as the page says that it works.  It says so whenever the
 * owner of a mapped page runs.
 */
static u64 inline_read(const volatile struct vperfctr_page *page)
{
	u32 samplecount, cstatus;
	u64 sum;

	do {
		samplecount = READ_ONCE(page->samplecount);
		cstatus = READ_ONCE(page->cstatus);
		sim_require(cstatus & VPERFCTR_CSTATUS_RDPMC, "the owner may not read its counters");
		preempt_disable();	/* one instruction */
		sim_require(sim_user_reads(), "user mode reads a counter, and may not");
		sum = sim_counter(page->ctr[0].map);
		preempt_enable();
		sum = page->ctr[0].sum + ((sum - page->ctr[0].start) & page->mask);
	} while (READ_ONCE(page->samplecount) != samplecount);
	return sum;
}

static void check_stopped(const struct vperfctr_page *page)
{
	sim_require(!page->ctr[0].start, "the page shows what a counter held, and it does not run");
	sim_require(!(page->cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC)),
		    "the counters have stopped, and the page has the status %#x", page->cstatus);
}

void sim_read_inline(void *arg)
{
	struct vm_area_struct *vma;
	struct task_struct *child;
	u64 before, now;
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	must(control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < 8; i++) {
		user_work(10);
		if (sim_processor.perf_left)
			user_patch_code();
		now = inline_read(vma->page);
		sim_require(now == current->sim->executed - before,
			    "read %llu inline, not %llu", now, current->sim->executed - before);
	}
	child = user_fork("child", child_works, (void *)1UL);
	check_counts(fd, before);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	check_stopped(vma->page);
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	inline_read(vma->page);
	must(sim_control_nothing(fd));
	check_stopped(vma->page);
	must(control(fd, 0));
	inline_read(vma->page);
	if (arg)
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	else
		user_munmap(vma);	/* otherwise the exit does it */
	user_wait(child);
	user_close(fd);
}

/* A child's copy of the mapping shows nothing, and is no right to read counters. */
static void look_at_copy(void *arg)
{
	struct vm_area_struct *vma = current->mm->vmas;
	const struct vperfctr_page *page;

	sim_require(vma && !vma->page, "the child has a copy of the page");
	user_fault(vma);
	page = vma->page;
	sim_require(page && page->version == VPERFCTR_ABI_VERSION && !page->cstatus && !page->ctr[0].sum,
		    "the child's page is not the dead one");
	user_work(5);
	preempt_disable();
	sim_require(!sim_user_reads(), "the child may read counters");
	preempt_enable();
	(void)arg;
}

static void move_page(void *arg)
{
	struct vm_area_struct *vma;
	unsigned int i;
	u64 before, now;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	must(control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < 3; i++) {
		user_work(10);
		now = inline_read(vma->page);
		sim_require(now == current->sim->executed - before,
			    "read %llu inline, not %llu", now, current->sim->executed - before);
		vma = user_mremap(vma);
	}
	user_wait(user_fork("child", look_at_copy, NULL));
	now = inline_read(vma->page);
	sim_require(now == current->sim->executed - before,
		    "read %llu inline, not %llu", now, current->sim->executed - before);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/* A page that is mapped while the state counts says at once that RDPMC works. */
static void map_while_counting(void *arg)
{
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	struct vm_area_struct *vma;
	unsigned int i;
	u64 before;

	must(control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < 4; i++) {
		user_work(5);
		vma = sim_must_map(fd, 0, PAGE_SIZE);
		sim_require(inline_read(vma->page) == current->sim->executed - before,
			    "read another count inline than %llu", current->sim->executed - before);
		user_munmap(vma);
	}
	user_close(fd);
	(void)arg;
}

static void page_while_counting(void)
{
	struct task_struct *task = sim_process("maps", 1000, map_while_counting, NULL);

	wait_for(&task, 1);
}

static void page_moves(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("moves", 1000, move_page, NULL);
	task[1] = sim_process("maps", 1001, sim_read_inline, NULL);
	wait_for(task, 2);
}

static void page(void)
{
	struct task_struct *task[3];

	task[0] = sim_process("maps", 1000, sim_read_inline, NULL);
	task[1] = sim_process("maps", 1001, sim_read_inline, (void *)1UL);
	task[2] = sim_process("counts", 1001, count_self, (void *)2UL);
	wait_for(task, 3);
}

static bool watcher_may_end;

/* It may RDPMC all the time, and must find nothing of the others in its CPU's counters. */
static void watch(void *arg)
{
	struct vm_area_struct *vma;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	must(control(fd, 0));
	while (!watcher_may_end) {
		user_work(5);
		user_sleep(20);
	}
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/* Its counters stay held for some switches after each overflow. */
static void stay_held(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, n, signals;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(sim_control_imode(fd, PERIOD, SIGNAL));
	for (i = 0; i < 4; i++) {
		signals = t->received[SIGNAL];
		while (t->received[SIGNAL] == signals) {
			work_until_signal(300, signals);
			sim_require(t->executed < 100000, "no signal arrives");
		}
		for (n = 0; n < 4; n++) {
			user_sleep(30);
			user_work(3);
		}
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
	(void)arg;
}

static void held(void)
{
	struct task_struct *task[4];
	unsigned int i;

	for (i = 0; i < 4; i++)
		task[i] = sim_process(i < 2 ? "watches" : "is held", 1000, i < 2 ? watch : stay_held, NULL);
	wait_for(task + 2, 2);
	watcher_may_end = true;
	wait_for(task, 2);
}

static bool rights_may_end;

static void just_work(void *arg)
{
	while (!rights_may_end)
		user_work(5);
	(void)arg;
}

static void work_and_sleep(void *arg)
{
	while (!rights_may_end) {
		user_work(2);
		user_sleep(1 + sim_random(500));
	}
	(void)arg;
}

/* A kernel thread borrows the mm of its predecessor. */
static void wake_up_often(void *arg)
{
	while (!rights_may_end)
		sim_sleep_on(NULL, sim_ns() + 1 + sim_random(500));
	sim_kthread_exit();
	(void)arg;
}

/* The right to RDPMC comes and goes with the control.  Other CPUs run the same process. */
static void change_rights(void *arg)
{
	void (*work)(void *) = arg;
	struct task_struct *task[2];
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	for (i = 0; i < 2; i++)
		task[i] = user_thread("works", work, NULL);
	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	for (i = 0; i < 8; i++) {
		must(control(fd, 0));
		user_work(1 + sim_random(4));
		must(sim_control_nothing(fd));
		sim_require(!sim_is_hardware_reserved(), "the hardware is not free");
	}
	rights_may_end = true;
	wait_for(task, 2);
	user_munmap(vma);
	user_close(fd);
}

#ifdef SIM_X86
/*
 * perf leaves its counters once: when the kernel has cleared them, a process that may RDPMC
 * costs no switch to the module's thread any more, where the module can write CR4.
 */
static void map_until_quiet(void *arg)
{
	struct vm_area_struct *vma;
	unsigned long wakes;
	unsigned int i;
	int fd;

	for (i = 0; i < 100; i++) {
		wakes = sim_costs.all_wakes;
		fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
		vma = sim_must_map(fd, 0, PAGE_SIZE);
		must(control(fd, 0));
		user_work(10);
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
		user_munmap(vma);
		user_close(fd);
		if (sim_costs.all_wakes == wakes)
			break;
	}
	sim_require(i < 100 || !sim_writes_cr4, "each map wakes the module's thread");
	(void)arg;
}

static void map_again(void)
{
	user_wait(sim_process("maps", 1000, map_until_quiet, NULL));
}

/*
 * The right comes and goes in a process whose other thread counts.  perf counts whenever the
 * hardware is free.  The kernel clears what it leaves at a switch to a process with the right,
 * which must not be the thread that counts by then.  It may be in the moments until the CPU of
 * that thread has left the mm (doc/architecture.md), so nothing is patched then.
 */
static bool right_changes, patches_code;

static void patch_unless_changing(void)
{
	patches_code = true;
	if (!right_changes)
		user_patch_code();
	patches_code = false;
}

static void change_right(int fd, int (*change)(int fd))
{
	right_changes = true;
	while (patches_code)
		user_work(1);
	must(change(fd));
	current->sim->regs.user = false;
	while (!perfctr_x86_pce_idle())
		perfctr_x86_pce_wait();
	sim_return_to_user();
	right_changes = false;
}

static int count_first(int fd)
{
	return control(fd, 0);
}

static void count_and_patch(void *arg)
{
	unsigned int i;
	u64 before;
	int fd;

	while (!rights_may_end) {
		fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
		must(control(fd, 0));
		before = current->sim->executed;
		for (i = 0; i < 3; i++) {
			user_work(1 + sim_random(4));
			patch_unless_changing();
		}
		check_counts(fd, before);
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
		user_close(fd);
		user_sleep(1 + sim_random(500));
	}
	(void)arg;
}

static void change_rights_and_count(void *arg)
{
	struct task_struct *task = user_thread("counts", count_and_patch, NULL);
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	for (i = 0; i < 16; i++) {
		sim_perf_counts();
		change_right(fd, count_first);
		if (sim_random(2))
			user_work(1 + sim_random(4));
		change_right(fd, sim_control_nothing);
		if (sim_random(2))
			user_sleep(1 + sim_random(500));
	}
	rights_may_end = true;
	user_wait(task);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static void rights_patched(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("rights", 1000, change_rights_and_count, NULL);
	task[1] = sim_process("stranger", 1001, work_and_sleep, NULL);
	wait_for(task, 2);
}

static void map_perf_events(void *arg)
{
	while (!rights_may_end) {
		sim_perf_map();
		user_work(3);
		sim_perf_unmap();
		user_work(3);
	}
	(void)arg;
}

static void count_shortly(void *arg)
{
	int fd;

	while (!rights_may_end) {
		fd = must(open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
		must(control(fd, 0));
		user_work(5);
		user_close(fd);
	}
	(void)arg;
}

/*
 * perf gives the same process the right to RDPMC, and takes it back, while threads of it are
 * resumed.  That is not rdpmc=2: the module's own withdrawals must reach all CPUs.
 */
static void share_rights(void *arg)
{
	struct task_struct *task[2];
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	task[0] = user_thread("perf", map_perf_events, NULL);
	task[1] = user_thread("counts", count_shortly, NULL);
	for (i = 0; i < 12; i++) {
		must(control(fd, 0));
		user_work(1 + sim_random(4));
		must(sim_control_nothing(fd));
		user_work(5);
	}
	rights_may_end = true;
	wait_for(task, 2);
	/* A CPU leaves the mm, and finds that not all may read. */
	must(control(fd, 0));
	user_work(5);
	must(sim_control_nothing(fd));
	user_sleep(100);
	sim_require(!sim_believes_always(), "the module believes in rdpmc=2 after perf has ended");
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static void rights_with_perf(void)
{
	user_wait(sim_process("rights", 1000, share_rights, NULL));
}
#endif

static void unmap_it(void *arg)
{
	user_munmap(arg);
}

/* A thread withdraws the right by munmap() while another one releases the hardware. */
static void unlink_while_unmapping(void *arg)
{
	struct task_struct *task[2];
	struct vm_area_struct *vma;
	int fd;

	task[0] = user_thread("works", just_work, NULL);
	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = user_mmap(fd, 0, PAGE_SIZE);
	sim_require(vma, "the page cannot be mapped");
	must(control(fd, 0));
	task[1] = user_thread("unmaps", unmap_it, vma);
	user_work(1 + sim_random(4));
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	rights_may_end = true;
	wait_for(task, 2);
	user_close(fd);
	(void)arg;
}

static void withdrawal(void)
{
	user_wait(sim_process("rights", 1000, unlink_while_unmapping, NULL));
}

static void rights(void)
{
	user_wait(sim_process("rights", 1000, change_rights, just_work));
}

/* The CPUs switch all the time: to the process, away from it, and between kernel threads. */
static void rights_switched(void)
{
	struct task_struct *task[3];
	unsigned int i;

	task[0] = sim_process("rights", 1000, change_rights, work_and_sleep);
	for (i = 1; i < 3; i++)
		task[i] = sim_process("stranger", 1001, work_and_sleep, NULL);
	sim_kthread("kthread", wake_up_often, NULL, -1, 0);
	wait_for(task, 3);
}

static void run_only_on(unsigned int cpu)
{
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[0] = BIT(cpu);
	user_sleep(1);
}

/* Two of these on a CPU give it to each other. */
static void take_turns(void *arg)
{
	run_only_on(1);
	while (!rights_may_end) {
		user_work(1);
		user_sleep(1);
	}
	(void)arg;
}

static void change_rights_besides(struct task_struct *task)
{
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	run_only_on(0);
	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	for (i = 0; i < 20; i++) {
		must(control(fd, 0));
		user_work(1 + sim_random(4));
		must(sim_control_nothing(fd));
		sim_require(!sim_is_hardware_reserved(), "the hardware is not free");
	}
	rights_may_end = true;
	wait_for(&task, 1);
	user_munmap(vma);
	user_close(fd);
}

static void change_rights_here(void *arg)
{
	change_rights_besides(user_thread("takes turns", take_turns, NULL));
	(void)arg;
}

/* The other CPU is in a switch to the process at any moment of the change. */
static void rights_missed(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("rights", 1000, change_rights_here, NULL);
	task[1] = sim_process("stranger", 1001, take_turns, NULL);
	wait_for(task, 2);
}

/* A thread that sleeps on a CPU where it has been the last one. */
static void sleep_there(void *arg)
{
	run_only_on(1);
	user_work(1);
	while (!rights_may_end)
		user_sleep(NSEC_PER_MSEC);
	(void)arg;
}

/* A CPU that has left the mm, and idles since then, is not asked again. */
static void change_rights_beside_idle(void *arg)
{
	struct task_struct *task = user_thread("sleeps", sleep_there, NULL);
	unsigned long wakes, least = ~0UL;
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	run_only_on(0);
	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	user_sleep(100);
	for (i = 0; i < 10; i++) {
		wakes = sim_costs.all_wakes;
		must(control(fd, 0));
		user_work(1);
		must(sim_control_nothing(fd));
		least = min(least, sim_costs.all_wakes - wakes);
	}
	sim_require(least <= 2, "each change of the right wakes %lu threads", least);
	rights_may_end = true;
	user_wait(task);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static void rights_idle(void)
{
	user_wait(sim_process("rights", 1000, change_rights_beside_idle, NULL));
}

/* A thread that goes before those of the module. */
static void interrupt_all(void *arg)
{
	run_only_on(1);
	current->sim->priority = 2;
	while (!rights_may_end) {
		user_work(1);
		user_sleep(1 + sim_random(500));
	}
	current->sim->priority = 0;
	(void)arg;
}

static void change_rights_of_urgent(void *arg)
{
	change_rights_besides(user_thread("urgent", interrupt_all, NULL));
	(void)arg;
}

/* It runs between the moment at which a CPU has left the mm, and that at which this is known. */
static void rights_urgent(void)
{
	user_wait(sim_process("rights", 1000, change_rights_of_urgent, NULL));
}

static struct task_struct *last_thread;

static void change_shared_rights(void *arg)
{
	change_rights_besides(user_fork_shared("takes turns", take_turns, NULL));
	(void)arg;
}

static void leave_to_last(void *arg)
{
	last_thread = user_thread("rights", change_shared_rights, NULL);
	(void)arg;
}

/*
 * The other CPU runs a process that shares the memory.  The first thread has ended, so that
 * the threads in the list are as many as the users of the memory.
 */
static void rights_shared(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("rights", 1000, leave_to_last, NULL);
	task[1] = sim_process("stranger", 1001, take_turns, NULL);
	wait_for(task, 1);
	wait_for(&last_thread, 1);
	wait_for(task + 1, 1);
}

/* ---- exec ---------------------------------------------------------------------------- */

static void exec_armed(void *arg)
{
	bool privileged = arg;
	struct counts c;
	u64 before;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	must(control(fd, VPERFCTR_CONTROL_START_ON_EXEC));
	user_work(10);
	user_exec(privileged);
	before = current->sim->executed;
	user_work(40);
	must(read_counts(fd, &c, 0));
	sim_require(c.own[1] == (privileged ? 0 : current->sim->executed - before),
		    "counted %llu after the exec", c.own[1]);
	user_close(fd);
}

static void exec(void)
{
	struct task_struct *task[3];

	task[0] = sim_process("exec", 1000, exec_armed, NULL);
	task[1] = sim_process("exec", 1000, exec_armed, (void *)1UL);
	task[2] = sim_process("counts", 1001, count_self, (void *)2UL);
	wait_for(task, 3);
}

/* ---- hotplug --------------------------------------------------------------------------- */

static void hotplug(void)
{
	struct task_struct *task[CHILDREN];
	unsigned int i, cpu;

	for (i = 0; i < CHILDREN; i++)
		task[i] = sim_process("counts", 1000, i & 1 ? count_self : take_signals, (void *)6UL);
	for (i = 0; i < 3; i++) {
		cpu = sim_choose(nr_cpu_ids, 1);
		sim_cpu_down(cpu);
		sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
		sim_cpu_up(cpu);
	}
	wait_for(task, CHILDREN);
}

/* ---- failures ---------------------------------------------------------------------------- */

/* Any call may fail for want of memory, or by a fault.  A call that succeeds must work. */
static void try_everything(void *arg)
{
	struct vm_area_struct *vma = NULL;
	struct task_struct *child;
	struct counts c;
	unsigned int i;
	int fd;

	for (i = 0; i < 4; i++) {
		fd = open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
		if (fd < 0)
			continue;
		control(fd, i & 1 ? VPERFCTR_CONTROL_INHERIT : 0);
		vma = user_mmap(fd, 0, PAGE_SIZE);
		child = user_thread("child", child_works, (void *)1UL);
		user_work(20);
		read_counts(fd, &c, VPERFCTR_READ_MEMBERS);
		sim_control_imode(fd, PERIOD, SIGNAL);
		user_work(50);
		user_ioctl(fd, VPERFCTR_IRESUME, NULL);
		if (vma)
			user_munmap(vma);
		if (i == 2)
			user_ioctl(fd, VPERFCTR_UNLINK, NULL);
		user_close(fd);
		user_wait(child);
	}
	(void)arg;
}

static void failures(void)
{
	struct task_struct *task[2];

	sim_failures = (struct sim_failures) { .alloc = 8, .fault = 100 };
	task[0] = sim_process("fails", 1000, try_everything, NULL);
	task[1] = sim_process("fails", 1000, try_everything, NULL);
	wait_for(task, 2);
	sim_failures = (struct sim_failures) {};
}

/* Readers of a thread that runs, moves and ends. */
static void readers(void)
{
	nr_readers = 2;
	user_wait(sim_process("counts", 1000, count_self, (void *)8UL));
	while (sim_nr_user_tasks)
		sim_sleep_on(NULL, sim_ns() + 1000);
}

/* ---- a processor without counters --------------------------------------------------------- */

/* The TSC, which is 1 for each instruction, is counted nevertheless. */
static void count_time(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct task_struct *child;
	struct vm_area_struct *vma;
	struct counts c;
	unsigned int i;
	u64 before;
	int fd;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT);
	sim_require(user_ioctl(fd, VPERFCTR_CONTROL, &control) == -EINVAL, "there is a counter");
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	control.nractrs = 0;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	before = current->sim->executed;
	child = user_thread("child", child_works, (void *)1UL);
	for (i = 0; i < 5; i++) {
		user_work(10);
		user_sleep(50);
		must(read_counts(fd, &c, 0));
		sim_require(c.own[0] == current->sim->executed - before, "the time is %llu, not %llu",
			    c.own[0], current->sim->executed - before);
	}
	user_wait(child);
	must(read_counts(fd, &c, 0));
	sim_require(c.children[0] == given, "the time of children is %llu, not %llu", c.children[0],
		    given);
	sim_require(((struct vperfctr_page *)vma->page)->tsc_sum <= c.own[0], "the page has another time");
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static void ask_for_counters(void *arg)
{
	struct vperfctr_info info = { .size = sizeof(info) };

	must(user_device_ioctl(VPERFCTR_INFO, &info));
	sim_require(!info.nrctrs && !(info.features & (VPERFCTR_FEATURE_ANY_KIND | VPERFCTR_FEATURE_PCINT)),
		    "%u counters, and the features %#x", info.nrctrs, info.features);
	sim_require(info.nrkinds == 1 && (info.features & VPERFCTR_FEATURE_RDTSC) && info.cpu_name[0],
		    "nothing describes the processor");
	(void)arg;
}

static void no_counters(void)
{
	user_wait(sim_process("asks", 1000, ask_for_counters, NULL));
	given = 0;
	user_wait(sim_process("counts time", 1000, count_time, NULL));
}

/* ---- beside perf -------------------------------------------------------------------- */

bool sim_count_once(void)
{
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT)), err = sim_control(fd, 0);
	u64 before = current->sim->executed;
	struct sim_counts c;

	sim_require(!err || err == -EBUSY, "CONTROL: %d", err);
	user_work(20);
	user_sleep(1 + sim_random(400));
	user_work(20);
	if (!err) {
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.own[1] == current->sim->executed - before,
			    "counted %llu instructions, not %llu", c.own[1],
			    current->sim->executed - before);
	}
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	user_close(fd);
	return !err;
}

void sim_count_until(void *end)
{
	int fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	struct sim_counts c;
	u64 before;

	must(sim_control(fd, 0));
	before = current->sim->executed;
	do {
		user_work(20);
		user_sleep(1 + sim_random(500));
		user_work(20);
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.own[1] == current->sim->executed - before && !(c.read.status & VPERFCTR_STATUS_FORBIDDEN),
			    "counted %llu instructions, not %llu", c.own[1], current->sim->executed - before);
	} while (!READ_ONCE(*(bool *)end));
	user_close(fd);
}

void sim_count_beside_perf(void *may_miss)
{
	struct sim_counts c;
	u64 before, executed;
	unsigned int i;
	int fd, err;

	fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	for (i = 0; i < 10; i++) {
		err = sim_control(fd, 0);
		sim_require(!err || err == -EBUSY, "CONTROL: %d", err);
		before = current->sim->executed;
		user_work(20);
		user_sleep(100);
		user_work(20);
		if (err)
			continue;
		/* A CPU on which perf has just added an event is forbidden: see perf-claim.c. */
		must(sim_read_counts(fd, &c, 0));
		executed = current->sim->executed - before;
		sim_require(c.own[1] == executed ||
			    (may_miss && c.own[1] < executed && c.read.status & VPERFCTR_STATUS_FORBIDDEN),
			    "counted %llu instructions, not %llu", c.own[1], executed);
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
		user_close(fd);
		fd = must(open_thread(0, VPERFCTR_OPEN_CREAT));
	}
	user_close(fd);
}

/* ---- the table ---------------------------------------------------------------------------- */

#define HYBRID	{ sim_big_core, .configure_other = sim_small_core, .others = 2 }

const struct scenario sim_scenarios[] = {
	{ "two_threads", two_threads, 2 },
	{ "self", self, 2 },
	{ "family", family, 3 },
	{ "dissolve", dissolve, 3 },
	{ "leavers", leavers, 3 },
	{ "sleeping_leavers", sleeping_leavers, 3 },
	{ "remote", remote, 3 },
	{ "kill", kill_monitored, 3 },
	{ "readers", readers, 3 },
	{ "attach", attach, 3 },
	{ "attach_pieces", attach_pieces, 3 },

	{ "new_threads", new_threads, 3 },
	{ "short_threads_pieces", short_threads_pieces, 3 },
	{ "vcpus", vcpus, 3 },
	{ "overflow", overflow, 2 },
	{ "ring", ring, 2 },
	{ "family_ring", family_ring, 3 },
	{ "family_ring_poll", family_ring_poll, 4 },
	{ "family_end_poll", family_end_poll, 3 },
	{ "page", page, 2 },
	{ "page_moves", page_moves, 2 },
	{ "page_while_counting", page_while_counting, 1 },
	{ "beside_page", sim_beside_page, 2 },
	{ "exec", exec, 2 },
	{ "hotplug", hotplug, 3 },
	{ "failures", failures, 2 },
	{ "any_kind", sim_any_kind, 3, HYBRID },
	{ "any_kind_signals", sim_any_kind_signals, 3, HYBRID },
	{ "any_kind_family", sim_any_kind_family, 3, HYBRID },
	{ "rights_of_set", sim_rights_of_set, 2 },
	{ "pairs_of_sums", sim_pairs_of_sums, 2 },
	{ "living_members", sim_living_members, 3 },
	{ "short_threads", sim_short_threads, 2 },
	{ "attach_with_soft", sim_attach_with_soft, 2 },
	{ "pages_beside", sim_pages_beside, 2 },
	{ "kinds_of_set", sim_kinds_of_set, 3, HYBRID },
	{ "ring_of_set", sim_ring_of_set, 2 },
	{ "refused_set", sim_refused_set, 2 },
	{ "time_of_family", sim_time_of_family, 2 },
	{ "read_roles", sim_read_roles, 2 },
	{ "two_sets", sim_two_sets, 3 },
	{ "clock_alone", sim_clock_alone, 1 },
	{ "set_of_kinds", sim_set_of_kinds, 3, HYBRID },
	{ "no_records", sim_no_records, 2, { .no_probe = true } },
	{ "no_records_enabled", sim_no_records, 2 },
	{ "monitor_calls", sim_monitor_calls, 2 },
	{ "namespace_limit", sim_namespace_limit, 2 },
	{ "attach_to_one", sim_attach_to_one, 2 },
	{ "read_leaver", sim_read_leaver, 3 },
	{ "colliding_users", sim_colliding_users, 2 },
	{ "attach_locked", sim_attach_locked, 2 },
	{ "allowed_kinds", sim_allowed_kinds, 3,
	  { sim_big_core, .configure_other = sim_small_core, .others = 2, .siblings = 5 } },
	{ "one_kind", sim_one_kind, 3, HYBRID },
	{ "keep_checks", sim_keep_checks, 3, HYBRID },
	{ "leave_kind", sim_leave_kind, 3, HYBRID },
	{ "suspend", sim_suspend, 3 },
	{ "suspend_kinds", sim_suspend_kinds, 3, HYBRID },
	{ "ring_reader", sim_ring_reader, 3 },
	{ "clock", sim_clock, 2 },
	{ "rate", sim_rate, 2 },
	{ "poll_signal", sim_poll_signal, 2 },
	{ "members", sim_members, 3 },
	{ "kept_members", sim_kept_members, 3 },
	{ "sleeper", sim_sleeper, 2 },
	{ "records", sim_records, 3 },
	{ "records_watermark", sim_records_watermark, 3 },
	{ "records_again", sim_records_again, 2 },
	{ "deep_leavers", sim_leavers, 3 },
	{ "count_cpus", sim_count_cpus, 3 },
	{ "count_cpus_kinds", sim_count_cpus, 3, HYBRID },
	{ "received_cpus", sim_received_cpus, 3 },
	{ "count_cpus_suspend", sim_count_cpus_suspend, 3 },
	{ "count_cpus_hotplug", sim_count_cpus_hotplug, 3 },
	{ "count_cpus_online", sim_count_cpus_online, 3 },
	{ "count_cpus_after_thread", sim_count_cpus_after_thread, 2 },
	{ "count_cpus_kinds_online", sim_count_cpus_online, 3, HYBRID },
	{ "count_cpus_kinds_hotplug", sim_count_cpus_hotplug, 3, HYBRID },
	{ "sample_cpus", sim_sample_cpus, 3 },
	{ "sample_cpus_kinds", sim_sample_cpus, 3, HYBRID },
	{ "sample_cpus_hotplug", sim_sample_cpus_hotplug, 3 },
	{ "sample_cpus_kernel", sim_sample_cpus, 2, { .counts_kernel = true } },
	{ "compete_for_cpus", sim_compete_for_cpus, 3 },
	{ "exec_thread", sim_exec_thread, 3 },
	{ "exec_set_uid", sim_exec_set_uid, 2 },
	{ "exec_shared_mm", sim_exec_shared_mm, 3 },
	{ "namespaces", sim_namespaces, 2 },
	{ "new_namespace", sim_new_namespace, 2 },
	{ "lent_credentials", sim_lent_credentials, 2 },
	{ "calls", sim_calls, 2 },
	{ "calls_of_device", sim_calls_of_device, 2 },
	{ "calls_of_device_kinds", sim_calls_of_device, 4, HYBRID },
	{ "soft", sim_soft, 2 },
	{ "attach_wrongly", sim_attach_wrongly, 2 },
	{ "stacks", sim_stacks, 2 },
	{ "soft_other", sim_soft_other, 3 },
	{ "attach_to_rest", sim_attach_to_rest, 2 },
	{ "locked", sim_locked, 2 },
	{ "proofs", sim_proofs, 2 },
	{ "orphan", sim_orphan, 2 },
	{ "open_member", sim_open_member, 2 },
	{ "open_cpus_faults", sim_open_cpus_faults, 2 },
	{ "leave_ring", sim_leave_ring, 2 },
	{ "lost_cpu", sim_lost_cpu, 3 },
	{ "map_many_files", sim_map_many_files, 1 },
	{ "many_chains", sim_many_chains, 1, { .counts_kernel = true } },
	{ "kernel_beside_idle", sim_kernel_beside_idle, 2, { .counts_kernel = true } },
	/* The last CPU is in the second word of a mask, if masks have two. */
	{ "many_cpus", sim_many_cpus, NR_CPUS > 32 ? 33 : 2 },
	{ "exec_by_clock", sim_exec_by_clock, 2 },
	{ "fail_exec_by_clock", sim_fail_exec_by_clock, 2 },
	{ "exec_and_overflow", sim_exec_and_overflow, 2, { .nmi_ns = 600 } },
	{ "unlink_as_other", sim_unlink_as_other, 2 },
	{ "control_again", sim_control_again, 2 },
	{ "keep_on_fork", sim_keep_on_fork, 2 },
	{ "map_files", sim_map_files, 2 },
	{ "read_kinds", sim_read_kinds, 2, HYBRID },
	{ "price_of_open", sim_price_of_open, 2 },
	{ "attach_wrongly_nomem", sim_attach_wrongly, 2, .alloc = 8 },
	{ "limit_of_states", sim_limit_of_states, 3 },
	{ "limit_of_attach", sim_limit_of_attach, 3 },
	{ "limit_of_rings", sim_limit_of_rings, 2 },
	{ "real", sim_real, 2 },
	{ "real_exit_mm_first", sim_real, 2, { .exit_mm_first = true } },
	{ "self_exit_mm_first", self, 2, { .exit_mm_first = true } },
	{ "family_exit_mm_first", family, 3, { .exit_mm_first = true } },
	{ "ring_exit_mm_first", sim_ring_reader, 3, { .exit_mm_first = true } },
	{ "page_exit_mm_first", page, 2, { .exit_mm_first = true } },
	/* The same, and allocations fail. */
	{ "self_nomem", self, 2, .alloc = 8 },
	{ "page_nomem", page, 2, .alloc = 8 },
	{ "rights_nomem", rights, 2, .alloc = 8 },
	{ "ring_nomem", sim_ring_reader, 3, .alloc = 8 },
	{ "overflow_nomem", overflow, 2, .alloc = 8 },
	{ "clock_nomem", sim_clock, 2, .alloc = 8 },
	{ "count_cpus_nomem", sim_compete_for_cpus, 3, .alloc = 8 },
	{ "exec_nomem", exec, 2, .alloc = 8 },
	{ "exec_thread_nomem", sim_exec_thread, 3, .alloc = 8 },
	{ "hotplug_nomem", hotplug, 3, .alloc = 8 },
	{ "suspend_nomem", sim_suspend, 3, .alloc = 8 },
	{ "family_nomem", sim_any_kind_family, 3, HYBRID, .alloc = 8 },
	{ "any_kind_nomem", sim_any_kind_signals, 3, HYBRID, .alloc = 8 },
	{ "members_nomem", sim_members, 3, .alloc = 8 },
	{ "records_nomem", sim_records, 3, .alloc = 8 },
	{ "deep_leavers_nomem", sim_leavers, 3, .alloc = 8 },
	{ "namespaces_nomem", sim_namespaces, 2, .alloc = 8 },
	{ "no_counters", no_counters, 2, { sim_no_counters } },
	{ "huge_ring", sim_huge_ring, 2 },
	{ "refusals", sim_refusals, 3, HYBRID },
	{ "attach_price", sim_attach_price, 3, HYBRID },
	{ "attach_price_beside", sim_attach_price_beside, 3, HYBRID },
	{ "price_of_many", sim_price_of_many, 2 },
	{ "refusals_alone", sim_refusals_alone, 3, HYBRID },
	{ "read_once", sim_read_once, 2 },
	{ "scale", sim_scale, 8, { sim_eight_counters }, .only_by_name = true },
	{ "switch_cost", sim_switch_cost, 1, .only_by_name = true },
	{ "rights", rights, 2 },
	{ "rights_switched", rights_switched, 3 },
	{ "rights_missed", rights_missed, 2 },
	{ "rights_idle", rights_idle, 2 },
	{ "rights_urgent", rights_urgent, 2 },
	{ "rights_shared", rights_shared, 2 },
	{ "withdrawal", withdrawal, 3 },
	{ "held", held, 2 },
	{ "ended", ended, 3 },
	{ "ended_unmapped", ended_unmapped, 3 },
	{ "unlink_ended", unlink_ended, 3 },
	{ "moves", moves, 2 },
	{ "moves_full", moves_full, 2 },
	{ "load_nomem", .cpus = 2, .load_fails = 8 },
	{ "load_badly", .cpus = 2, .bad_parameter = true },
	{ "load_badly_no_counters", .cpus = 2, .bad_parameter = true, .processor = { sim_no_counters } },
	{ "load_nomem_often", .cpus = 2, .load_fails = 3 },
	{ "ring_kernel", ring_kernel, 2, { .counts_kernel = true } },
	{ "ring_kernel_full", sim_drop_kernel_samples, 1, { .counts_kernel = true } },
	{ "kernel_samples", sim_kernel_samples, 2, { .counts_kernel = true } },
	{ "kernel_samples_beside", sim_kernel_samples_beside, 2, { .counts_kernel = true } },
	{ "kernel_samples_of_many", sim_kernel_samples_of_many, 2, { .counts_kernel = true } },
	{ "moves_kernel", moves, 2, { .counts_kernel = true } },
	{ "moves_alone", moves_alone, 2, { .counts_kernel = true } },
	/* The weak ones fail: see litmus.c. */
	{ "weak_buffering", sim_weak_buffering, 2, .only_by_name = true },
	{ "weak_buffering_wmb", sim_weak_buffering_wmb, 2, .only_by_name = true },
	{ "weak_buffering_release", sim_weak_buffering_release, 2, .only_by_name = true },
	{ "weak_buffering_unlock", sim_weak_buffering_unlock, 2, .only_by_name = true },
	{ "weak_buffering_bit", sim_weak_buffering_bit, 2, .only_by_name = true },
	{ "weak_message", sim_weak_message, 2, .only_by_name = true },
	{ "strong_buffering_mb", sim_strong_buffering_mb, 2 },
	{ "strong_buffering_xchg", sim_strong_buffering_xchg, 2 },
	{ "strong_buffering_bit_mb", sim_strong_buffering_bit_mb, 2 },
	{ "strong_message_wmb", sim_strong_message_wmb, 2 },
	{ "strong_message_unlock", sim_strong_message_unlock, 2 },
	{ "strong_message_release", sim_strong_message_release, 2 },
	{ "beside", sim_beside, 2 },
	{ "beside_family", sim_beside_family, 3 },
	{ "beside_kill", sim_beside_kill, 3 },
	{ "beside_mapped", sim_beside_mapped, 3 },
	{ "beside_suspend", sim_beside_suspend, 3 },
	{ "beside_attach", sim_beside_attach, 3 },
	{ "beside_guest", sim_beside_guest, 2 },
	{ "beside_overflow", sim_beside_overflow, 2 },
	{ "beside_overflow_late", sim_beside_overflow, 2, { .nmi_ns = 400 } },
	{ "beside_compete", sim_beside_compete, 3 },
	{ "beside_users", sim_beside_users, 3 },
	{ "beside_info", sim_beside_info, 2 },
	{ "beside_info_crowd", sim_beside_info_crowd, 2 },
	{ "beside_info_monitor", sim_beside_info_monitor, 3 },
	{ "beside_info_set", sim_beside_info_set, 2 },
	{ "beside_leavers", sim_beside_leavers, 3 },
	{ "beside_last", sim_beside_last, 2 },
	{ "attach_beyond_room", sim_attach_beyond_room, 3 },
	{ "attach_unlinked", sim_attach_unlinked, 3 },
	{ "beside_clock", sim_beside_clock, 2 },
	{ "beside_clocks", sim_beside_clocks, 1, { .counts_kernel = true } },
	{ "beside_kernel_ring", sim_beside_kernel_ring, 2, { .counts_kernel = true } },
	{ "beside_kernel", sim_beside_kernel, 2, { .counts_kernel = true } },
	{ "beside_nomem", sim_beside, 2, .alloc = 8 },
	{ "free", sim_free_alone, 1 },
	{ "free_mapped", sim_free_mapped, 3 },
	{ "free_mapped_twice", sim_free_mapped_twice, 2 },
	{ "free_left", sim_free_left, 2 },
	{ "free_exec", sim_free_exec, 2 },
#ifdef SIM_X86
	{ "shutdown", sim_shutdown, 2 },
	/* arm64 has another timer, which samples the counters. */
	{ "signal_once", sim_signal_once, 2 },
	{ "shutdown_cpus", sim_shutdown_cpus, 2 },
	{ "beside_fixed", sim_beside_fixed, 2 },
	{ "rights_beside_sleepers", sim_rights_beside_sleepers, 2 },
	{ "set_for_readers", sim_set_for_readers, 2 },
	{ "full_cgroup", sim_full_cgroup, 3 },
	{ "allowed_siblings", sim_allowed_siblings, 3, { sim_ivy_bridge, .siblings = 3 } },
	{ "cpu_wraps", sim_cpu_wraps, 2, { sim_p6 } },
	{ "unload_late", sim_unload_late, 2, { sim_unmasked, .nmi_ns = 20 * NSEC_PER_MSEC } },
	{ "beside_no_global", sim_beside, 2, { sim_no_global } },
	{ "beside_overflow_no_global", sim_beside_overflow, 2, { sim_no_global } },
	{ "beside_amd_v2", sim_beside, 2, { sim_amd_v2 } },
	{ "beside_overflow_amd_k7", sim_beside_overflow, 2, { sim_amd_k7, .nmi_ns = 100000 } },
	{ "beside_version_6", sim_beside, 2, { sim_version_6 } },
	{ "beside_extra", sim_beside_extra, 2, { sim_skylake } },
	{ "free_no_global", sim_free_alone, 1, { sim_no_global } },
	{ "free_mapped_no_global", sim_free_mapped, 3, { sim_no_global } },
	{ "free_mapped_amd_v2", sim_free_mapped, 3, { sim_amd_v2 } },
	{ "free_unmapped", sim_free_unmapped, 2 },
	{ "free_forgotten", sim_free_forgotten, 2 },
	{ "free_cleared", sim_free_cleared, 1, { .perf_left = true, .exits = true } },
	{ "refusals_in_guest", sim_refusals_alone, 3,
	  { sim_big_core, .configure_other = sim_small_core, .others = 2, .exits = true } },
	{ "free_watched", sim_free_watched, 2, { .exits = true } },
	{ "free_watched_nomem", sim_free_watched, 2, { .exits = true }, .alloc = 6 },
	{ "free_claimed", sim_free_claimed, 2, { sim_version_6 } },
	{ "free_always", sim_free_always, 3 },
	{ "free_always_nomem", sim_free_always, 3, .alloc = 3 },
	{ "free_hotplug", sim_free_hotplug, 3 },
	{ "free_hotplug_no_global", sim_free_hotplug, 3, { sim_no_global } },
	{ "free_overflow", sim_free_overflow, 2 },
	{ "free_overflow_no_global", sim_free_overflow, 2, { sim_no_global } },
	/* Only this model counts events that it does not know. */
	{ "several", sim_several, 2 },
	{ "several_cpus", sim_several_cpus, 2 },
	{ "sample_cpus_no_global", sim_sample_cpus, 2, { sim_no_global } },
	{ "count_cpus_no_global", sim_count_cpus, 2, { sim_no_global } },
	{ "moves_unmasked", moves, 2, { sim_unmasked } },
	{ "moves_late", moves, 2, { sim_unmasked, .nmi_ns = 20 * NSEC_PER_MSEC } },
	{ "moves_level", moves, 2, { sim_level, .counts_kernel = true } },
	{ "moves_no_global", moves, 2, { sim_no_global, .counts_kernel = true } },
	{ "page_perf_left", page, 2, { .perf_left = true } },
	{ "rights_perf_left", rights, 2, { .perf_left = true } },
	{ "rights_patched", rights_patched, 2, { .perf_left = true } },
	{ "map_again_perf_left", map_again, 1, { .perf_left = true } },
	{ "page_amd_k7", page, 2, { sim_amd_k7 } },
	{ "held_amd_k7", held, 2, { sim_amd_k7 } },
	{ "held_amd_v2", held, 2, { sim_amd_v2 } },
	{ "held_p6", held, 2, { sim_p6 } },
	{ "overflow_amd_k7", overflow, 2, { sim_amd_k7, .nmi_ns = 100000 } },
	{ "moves_amd_k7", moves, 2, { sim_amd_k7, .counts_kernel = true } },
	{ "moves_amd_core", moves, 2, { sim_amd_core, .nmi_ns = 20 * NSEC_PER_MSEC } },
	{ "hotplug_amd_core", hotplug, 3, { sim_amd_core } },
	{ "ring_amd_core", sim_ring_reader, 3, { sim_amd_core } },
	{ "page_amd_v2", page, 2, { sim_amd_v2 } },
	{ "overflow_amd_v2", overflow, 2, { sim_amd_v2, .nmi_ns = 100000 } },
	{ "moves_amd_v2", moves, 2, { sim_amd_v2, .counts_kernel = true } },
	{ "count_cpus_amd_v2", sim_count_cpus, 3, { sim_amd_v2 } },
	{ "page_p6", page, 2, { sim_p6 } },
	{ "overflow_p6", overflow, 2, { sim_p6, .nmi_ns = 100000 } },
	{ "moves_p6", moves, 2, { sim_p6, .counts_kernel = true } },
	{ "moves_p6_late", moves, 2, { sim_p6, .nmi_ns = 20 * NSEC_PER_MSEC } },
	{ "family_p6", family, 3, { sim_p6 } },
	{ "hotplug_p6", hotplug, 3, { sim_p6 } },
	{ "suspend_p6", sim_suspend, 3, { sim_p6 } },
	{ "ring_p6", sim_ring_reader, 3, { sim_p6 } },
	{ "count_cpus_p6", sim_count_cpus, 3, { sim_p6 } },
	{ "sample_cpus_p6", sim_sample_cpus, 3, { sim_p6 } },
	{ "page_version_6", page, 2, { sim_version_6 } },
	{ "perf_competes", sim_perf_competes, 2, { .perf = true } },
	{ "virtual_machines", sim_virtual_machines, 2 },
	{ "perf_competes_unload", sim_perf_competes_on, 3, { .perf = true }, .after = sim_end_competition },
	{ "watchdog_begins", sim_watchdog_begins, 2, { .perf = true } },
	{ "watchdog_kept", sim_watchdog_begins, 2, { .perf = true, .watchdog_off = true } },
	{ "perf_maps", sim_perf_maps, 3, { .perf = true }, .before = sim_begin_maps },
	{ "perf_maps_unload", sim_count_beside_maps, 3, { .perf = true }, .before = sim_begin_maps,
	  .after = sim_end_maps },
	{ "rights_with_perf", rights_with_perf, 3, { sim_version_6 } },
	{ "moves_version_6", moves, 2, { sim_version_6, .counts_kernel = true } },
	{ "count_cpus_version_6", sim_count_cpus, 3, { sim_version_6 } },
#endif
#ifdef SIM_ARM64
	{ "page_wide", page, 2, { sim_wide } },
	{ "moves_wide", moves, 2, { sim_wide, .counts_kernel = true } },
	{ "sample_cpus_irq", sim_sample_cpus, 3, { sim_irq } },
	{ "overflow_irq", overflow, 2, { sim_irq } },
	{ "moves_irq", moves, 2, { sim_irq, .counts_kernel = true } },
	{ "ring_kernel_irq", ring_kernel, 2, { sim_irq, .counts_kernel = true } },
	{ "kernel_samples_irq", sim_kernel_samples_of_many, 2, { sim_irq, .counts_kernel = true } },
	{ "without_interrupt", sim_without_interrupt, 2, { sim_no_interrupt } },
	{ "set_without_interrupt", sim_set_without_interrupt, 2, { sim_no_interrupt } },
	{ "perf_competes", sim_perf_competes, 3 },
	{ "perf_waits", sim_perf_waits, 2 },
	{ "perf_elsewhere", sim_perf_elsewhere, 2 },
	{ "perf_on_forbidden", sim_perf_elsewhere, 2, .before = sim_forbid_last },
	{ "any_kind_one_driver", sim_any_kind, 3,
	  { sim_one_driver, .configure_other = sim_small_core, .others = 2 } },
	{ "perf_shares", sim_perf_competes, 3, { sim_shares } },
	{ "reader_in_guest", reader_in_guest, 2, { sim_wide } },
#endif
};

const unsigned int sim_nr_scenarios = ARRAY_SIZE(sim_scenarios);
