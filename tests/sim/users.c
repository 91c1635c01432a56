// SPDX-License-Identifier: GPL-2.0
/* Scenarios of programs that start others, and of users and namespaces. */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

static void wait_for(struct task_struct **task, unsigned int n)
{
	while (n)
		user_wait(task[--n]);
}

static void wait_for_all_users(void)
{
	while (sim_nr_user_tasks)
		sim_sleep_on(NULL, sim_ns() + 1000);
}

/* ---- exec by a thread that is not the first one ------------------------------------------ */

static int exec_fd;

static void work_for_ever(void *arg)
{
	for (;;)
		user_work(10);
	(void)arg;
}

static void read_others(void *arg)
{
	struct sim_counts c;
	u64 last = 0;
	int fd = (long)arg;

	do {
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.own[1] >= last, "the counts go back");
		last = c.own[1];
		user_work(5);
	} while (c.read.status & VPERFCTR_STATUS_ATTACHED);
	user_close(fd);
}

/* The others end for it, and it becomes the first thread.  It counts on. */
static void exec_in_thread(void *arg)
{
	u64 before;
	pid_t first = task_tgid_nr_ns(current, NULL);
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, arg ? VPERFCTR_CONTROL_START_ON_EXEC : 0));
	before = current->sim->executed;
	user_work(10);
	user_exec(false);
	sim_require(current->pid == first, "it has the id %d, not %d", current->pid, first);
	if (arg)
		before = current->sim->executed;
	user_work(30);
	sim_check_counted(fd, before);
	user_exit();
}

static void start_execs(void *arg)
{
	exec_fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(exec_fd, VPERFCTR_CONTROL_INHERIT));
	put_task_struct(user_fork("reads", read_others, (void *)(long)exec_fd));
	put_task_struct(user_thread("works", work_for_ever, NULL));
	/* A control of its own, or the first one's is inherited: both go on after the exec. */
	must(sim_control(exec_fd, 0));
	put_task_struct(user_thread("execs", exec_in_thread, arg));
	work_for_ever(NULL);
}

void sim_exec_thread(void)
{
	put_task_struct(sim_process("first", 1000, start_execs, NULL));
	put_task_struct(sim_process("first", 1000, start_execs, (void *)1UL));
	wait_for_all_users();
}

/* ---- exec, and another process keeps the old mm -------------------------------------- */

static bool old_mm_may_end, has_read_again;

/* The owner has left this mm, and reads in another one. */
static void keep_old_mm(void *arg)
{
	while (!has_read_again)
		user_work(5);
#ifdef SIM_X86
	sim_require(!current->mm->context.perf_rdpmc_allowed.counter,
		    "the mm that the owner has left keeps the right to RDPMC");
#endif
	while (!old_mm_may_end)
		user_work(5);
	(void)arg;
}

static void exec_and_map_again(void *arg)
{
	struct vm_area_struct *vma;
	struct task_struct *other;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_must_map(fd, 0, PAGE_SIZE);
	must(sim_control(fd, 0));
	other = user_fork_shared("keeps the mm", keep_old_mm, NULL);
	user_work(10);
	user_exec(false);
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	user_work(10);
	has_read_again = true;
	user_work(30);
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	old_mm_may_end = true;
	user_wait(other);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_exec_shared_mm(void)
{
	user_wait(sim_process("execs", 1000, exec_and_map_again, NULL));
}

/* ---- a set-uid program --------------------------------------------------------------------- */

static u64 executed_before_exec;
static bool has_exec;

/* The reader has the descriptor from before.  It must not see what the new program does. */
static void watch_exec(void *arg)
{
	struct sim_counts c;
	int fd = (long)arg;
	unsigned int i;
	bool late;

	for (i = 0; i < 12; i++) {
		late = has_exec;
		must(sim_read_counts(fd, &c, 0));
		sim_require(!late || c.own[1] <= executed_before_exec,
			    "counted %llu, and the exec came after %llu", c.own[1], executed_before_exec);
		sim_require(!(c.read.status & VPERFCTR_STATUS_ATTACHED) || !late,
			    "the state belongs to the new program");
		user_work(5);
	}
	user_close(fd);
}

static void exec_set_uid(void *arg)
{
	struct task_struct *reader;
	struct sim_counts c;
	u64 before;
	int fd, own;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	reader = user_fork("watches", watch_exec, (void *)(long)fd);
	user_work(20);
	executed_before_exec = current->sim->executed - before;
	user_exec_as(0);
	has_exec = true;
	/* A state of its own: the old one is detached. */
	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(own, 0));
	before = current->sim->executed;
	user_work(25);
	sim_check_counted(own, before);
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == executed_before_exec && (c.read.status & VPERFCTR_STATUS_PRIVILEGED),
		    "counted %llu before the exec, not %llu; the status is %#x", c.own[1],
		    executed_before_exec, c.read.status);
	user_wait(reader);
	user_close(own);
	user_close(fd);
	(void)arg;
}

void sim_exec_set_uid(void)
{
	user_wait(sim_process("set-uid", 1000, exec_set_uid, NULL));
}

/* ---- users and namespaces ---------------------------------------------------------------------- */

static struct task_struct *inside;
static bool inside_may_end;

/* In its own namespaces it is root, has the id 1, and is nothing outside. */
static void live_inside(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1, .nrsums = 1 };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	u64 user;
	struct vperfctr_ring_page *page;
	struct vperfctr_sample *sample;
	struct vm_area_struct *vma;
	int fd, err;

	user_set_namespaces();
	fd = must(sim_open(1, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -20;
	/* CAP_PERFMON there is not that of the system. */
	user = ctr.evntsel;
	sim_count_kernel(&ctr);
	do {
		err = user_ioctl(fd, VPERFCTR_CONTROL, &control);
	} while (err == -ENOMEM && sim_failures.alloc);
	sim_require(err == -EPERM, "kernel mode is counted: %d", err);
	ctr.evntsel = user;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	page = vma->page;
	while (!page->head)
		user_work(5);
	sample = (void *)((char *)page + page->data);
	sim_require(sample->pid == 1 && sample->tid == 1, "the ids are %u and %u", sample->pid,
		    sample->tid);
	while (!inside_may_end)
		user_work(5);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static int open_inside(void)
{
	int fd = -ESRCH;

	if (user_ptrace_stop(inside)) {
		fd = sim_open(inside->pid, 0);
		if (fd >= 0)
			user_close(fd);
	}
	user_ptrace_continue(inside);
	user_sleep(3000);
	return fd;
}

/* The same user outside owns that namespace. */
static void look_as_owner(void *arg)
{
	int fd;

	do
		fd = open_inside();
	while (fd == -ENOENT || fd == -ENOMEM);
	sim_require(fd >= 0, "the owner of the namespace gets %d", fd);
	(void)arg;
}

/*
 * A thread counts, and makes a user namespace, where it has all capabilities.  They are no right
 * to a state that was made outside.
 */
static void count_and_unshare(void *arg)
{
	int fd, own, err;
	u64 before;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	user_work(10);
	user_set_user_namespace();
	user_work(10);
	err = sim_control(fd, 0);
	sim_require(err == -EPERM, "CONTROL of a state from outside: %d", err);
	err = user_ioctl(fd, VPERFCTR_SUSPEND, NULL);
	sim_require(err == -EPERM, "SUSPEND of a state from outside: %d", err);
	own = sim_open(0, 0);
	sim_require(own == -EPERM, "OPEN of a state from outside: %d", own);
	/* It may be given up for one of the namespace. */
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(own, 0));
	before = current->sim->executed;
	user_work(10);
	sim_check_counted(own, before);
	user_close(own);
	user_close(fd);
	(void)arg;
}

void sim_new_namespace(void)
{
	user_wait(sim_process("unshares", 1000, count_and_unshare, NULL));
}

#define SIGNAL	40

/*
 * The queue of signals is full at times, so a signal is tried again.  The kernel may then have the
 * credentials of another user namespace, and so the signal's mask another high word.
 */
static void take_signals(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, signals;
	int fd;

	if (arg)
		user_set_user_namespace();
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control_imode(fd, 20, SIGNAL));
	for (i = 0; i < 4; i++) {
		signals = t->received[SIGNAL];
		while (t->received[SIGNAL] == signals) {
			user_work(3);
			if (sim_random(2))
				user_use_lent_credentials();
			else
				user_sleep(sim_random(100));
		}
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
}

void sim_lent_credentials(void)
{
	struct task_struct *task[2];

	sim_failures.signal = 2;
	task[0] = sim_process("inside", 1000, take_signals, (void *)1UL);
	task[1] = sim_process("outside", 1001, take_signals, NULL);
	wait_for(task, 2);
	sim_failures.signal = 0;
}

/* Another user is refused, and so is root of another namespace. */
static void look_as_other(void *arg)
{
	int fd;

	if (arg)
		user_set_namespaces();
	do
		fd = arg ? sim_open(inside->pid, 0) : open_inside();
	while (fd == -ENOENT || fd == -ENOMEM);
	sim_require(fd == (arg ? -ESRCH : -EPERM), "another user gets %d", fd);
}

void sim_namespaces(void)
{
	struct task_struct *task[2];

	inside = sim_process("inside", 1000, live_inside, NULL);
	user_wait(sim_process("owner", 1000, look_as_owner, NULL));
	task[0] = sim_process("other", 1001, look_as_other, NULL);
	user_wait(task[0]);
	task[1] = sim_process("elsewhere", 1001, look_as_other, (void *)1UL);
	user_wait(task[1]);
	inside_may_end = true;
	wait_for(&inside, 1);
}
