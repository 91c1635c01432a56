// SPDX-License-Identifier: GPL-2.0
/* Scenarios of a user's limits: of states, also inherited and attached ones, and of rings. */
#include "scenarios.h"

#define must(call)	sim_must(call)

extern unsigned int *const sim_param_max_states_per_user, *const sim_param_max_ring_kb_per_user;

static bool may_end;

static void work_until_end(void *arg)
{
	while (!READ_ONCE(may_end))
		user_work(5);
	(void)arg;
}

/* A state or ring that ends is charged until a grace period or a worker has ended it. */
static bool is_late(unsigned int *tries)
{
	user_sleep(1000);
	return ++*tries < 100;
}

static void wait_for(struct task_struct **task, unsigned int n)
{
	while (n)
		user_wait(task[--n]);
}

/* ---- states that a thread opens, and that its children inherit ------------------------------- */

#define LIMIT	4

/* At the limit of its user, a thread cannot open a state; at the next end of one it can. */
static void open_one(void *arg)
{
	int err = (long)arg, fd;
	unsigned int tries = 0;

	do
		fd = sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	while (fd < 0 && fd != err && is_late(&tries));
	sim_require(err ? fd == err : fd >= 0, "OPEN returns %d, not %d", fd, err);
	if (fd >= 0)
		user_close(fd);
}

static void inherit_beyond(void *arg)
{
	struct task_struct *task[LIMIT + 1];
	unsigned int i, round, missed = 0;
	struct sim_counts c;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS));
	/* States of threads that have ended do not count. */
	for (round = 0; round < 2; round++) {
		WRITE_ONCE(may_end, false);
		for (i = 0; i < LIMIT + 1; i++)
			task[i] = user_thread("inherits", work_until_end, NULL);
		/* This thread has one, and LIMIT - 1 children have. */
		missed += 2;
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.read.children_missed == missed, "missed %llu children, not %u",
			    c.read.children_missed, missed);
		user_wait(user_fork("opens", open_one, (void *)-EAGAIN));
		WRITE_ONCE(may_end, true);
		wait_for(task, LIMIT + 1);
		user_wait(user_fork("opens", open_one, NULL));
	}
	user_close(fd);
	(void)arg;
}

/* Another user has a limit of its own. */
static void open_at_once(void *arg)
{
	unsigned int i;

	for (i = 0; i < 2 * LIMIT; i++) {
		open_one(NULL);
		user_work(5);
	}
	(void)arg;
}

void sim_limit_of_states(void)
{
	struct task_struct *task[2];

	*sim_param_max_states_per_user = LIMIT;
	task[0] = sim_process("inherits", 1000, inherit_beyond, NULL);
	task[1] = sim_process("another user", 1001, open_at_once, NULL);
	wait_for(task, 2);
}

/* ---- states that a monitor attaches ---------------------------------------------------------- */

#define THREADS	3

static struct task_struct *attached;

static void have_threads(void *arg)
{
	struct task_struct *task[THREADS - 1];
	unsigned int i;

	for (i = 0; i < THREADS - 1; i++)
		task[i] = user_thread("thread", work_until_end, NULL);
	work_until_end(NULL);
	wait_for(task, THREADS - 1);
	(void)arg;
}

static int attach(void)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&header };
	int fd;

	sim_fill_control(&header, &ctr, 0);
	req.tid = attached->pid;
	req.mem_fd = user_open_mem(attached);
	fd = user_device_ioctl(VPERFCTR_ATTACH, &req);
	user_close(req.mem_fd);
	return fd;
}

/* The root of a set is a state, too.  ATTACH reserves some for threads that start meanwhile. */
static void attach_beyond(void *arg)
{
	struct sim_counts c;
	unsigned int limit;
	int fd;

	while (!attached || attached->signal->nr_threads < THREADS)
		user_sleep(10);
	for (limit = THREADS; ; limit++) {
		*sim_param_max_states_per_user = limit;
		fd = attach();
		if (fd >= 0)
			break;
		sim_require(fd == -EAGAIN, "ATTACH: %d", fd);
		sim_require(limit < 8 * THREADS, "a limit of %u states is too low", limit);
	}
	sim_require(limit > THREADS, "ATTACH exceeds the limit of %u states", limit);
	must(sim_read_counts(fd, &c, 0));
	/* Those that it has not needed are free. */
	*sim_param_max_states_per_user = 1 + THREADS;
	user_wait(user_fork("opens", open_one, (void *)-EAGAIN));
	*sim_param_max_states_per_user = 2 + THREADS;
	user_wait(user_fork("opens", open_one, NULL));
	WRITE_ONCE(may_end, true);
	user_wait(attached);
	/* The root remains. */
	*sim_param_max_states_per_user = 1;
	user_wait(user_fork("opens", open_one, (void *)-EAGAIN));
	user_close(fd);
	user_wait(user_fork("opens", open_one, NULL));
	(void)arg;
}

void sim_limit_of_attach(void)
{
	attached = sim_process("attached", 1000, have_threads, NULL);
	user_wait(sim_process("attacher", 1000, attach_beyond, NULL));
}

/* ---- rings ------------------------------------------------------------------------------------ */

static int make_ring(int fd, unsigned int nrsamples)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = nrsamples, .watermark = 1, .nrsums = 1,
	};

	return user_ioctl(fd, VPERFCTR_RING, &ring);
}

static void want_ring(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT)), err;
	unsigned int tries = 0;

	do
		err = make_ring(fd, 64);
	while (err && err != (int)(long)arg && is_late(&tries));
	sim_require(err == (int)(long)arg, "RING returns %d, not %ld", err, (long)arg);
	user_close(fd);
}

/* All rings of a user may have that much memory; one that has ended has none. */
static void have_rings(void *arg)
{
	unsigned int kb = 0;
	int fd, err;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	do {
		*sim_param_max_ring_kb_per_user = ++kb;
		err = make_ring(fd, 64);
		sim_require(!err || err == -EAGAIN, "RING returns %d", err);
		sim_require(kb < 64, "%u KB are not enough", kb);
	} while (err);
	sim_require(kb > 64 * sizeof(struct vperfctr_sample) / 1024, "%u KB are enough", kb);
	err = make_ring(fd, 64);
	sim_require(err == -EEXIST, "a second RING returns %d", err);
	*sim_param_max_ring_kb_per_user = 2 * kb - 1;
	user_wait(user_fork("wants a ring", want_ring, (void *)-EAGAIN));
	*sim_param_max_ring_kb_per_user = 2 * kb;
	user_wait(user_fork("wants a ring", want_ring, NULL));
	*sim_param_max_ring_kb_per_user = kb;
	user_wait(user_fork("wants a ring", want_ring, (void *)-EAGAIN));
	user_close(fd);
	user_wait(user_fork("wants a ring", want_ring, NULL));
	(void)arg;
}

void sim_limit_of_rings(void)
{
	user_wait(sim_process("has rings", 1000, have_rings, NULL));
}
