// SPDX-License-Identifier: GPL-2.0
/* Requests that must be refused, at once and without a cost for anyone. */
#include "scenarios.h"
#include "hardware.h"

extern unsigned int *const sim_param_max_ring_kb_per_user, *const sim_param_max_states_per_user;

#define must(call)	sim_must(call)

/* ---- the size of a ring ----------------------------------------------------------------- */

#define RING_SIZE(r)	(PAGE_SIZE + (u64)(r)->nrsamples * (r)->sample_size)

/* Ask for a ring.  It must be refused, or be as large as its slots. */
static void try_ring(struct vperfctr_ring *ring, int must_fail)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	long ret = user_ioctl(fd, VPERFCTR_RING, ring);

	sim_require(ret == must_fail, "RING of %u samples of %u bytes: %ld", ring->nrsamples,
		    ring->sample_size, ret);
	sim_require(ring->map_size == PAGE_ALIGN(RING_SIZE(ring)), "the ring's size is %llu",
		    ring->map_size);
	user_close(fd);
}

/*
 * Ask for rings of some gigabytes whose size is small without its upper half: all numbers of
 * samples, and stacks with which a sample has that size or a little more.
 */
static void try_wrapping(int must_fail)
{
	u64 nr, size, more;

	for (nr = VPERFCTR_RING_MAX; nr << 15 >= 1ULL << 32; nr /= 2) {
		size = (1ULL << 32) / nr * (1 + sim_random(VPERFCTR_STACK_MAX * nr >> 32));
		for (more = 0; more * nr < 64 << 20; more += sizeof(u64)) {
			struct vperfctr_ring ring = {
				.size = sizeof(ring), .nrsamples = nr, .watermark = 1,
			};

			ring.stack = size + more - sizeof(struct vperfctr_sample) -
				     (2 + SIM_USER_REGS) * sizeof(u64);
			if (ring.stack <= VPERFCTR_STACK_MAX)
				try_ring(&ring, must_fail);
		}
	}
}

static void ask_for_huge_rings(void *arg)
{
	try_wrapping(-EAGAIN);
	(void)arg;
}

/* An administrator may allow more than the kernel has addresses for. */
static void ask_beyond_addresses(void *arg)
{
	unsigned int limit = *sim_param_max_ring_kb_per_user;

	*sim_param_max_ring_kb_per_user = UINT_MAX;
	try_wrapping(-ENOMEM);
	*sim_param_max_ring_kb_per_user = limit;
	(void)arg;
}

void sim_huge_ring(void)
{
	user_wait(sim_process("asks", 1000, ask_for_huge_rings, NULL));
	if (BITS_PER_LONG == 32)
		user_wait(sim_process("asks", 0, ask_beyond_addresses, NULL));
}

/* ---- no charge before a refusal ------------------------------------------------------------ */

extern unsigned int *const sim_param_max_stops_per_second;

/*
 * A call that is refused stops no CPU, interrupts none, changes none of the kernel's code, and
 * waits for no budget.  It neither takes the hardware nor makes a state or a ring, as their end
 * would have a cost, too.  The device's calls have the descriptor -1.
 */
static void refuse(const char *what, int fd, unsigned int cmd, void *arg, int err)
{
	struct sim_costs before = sim_costs;
	u64 began = sim_ns();
	long ret = fd < 0 ? user_device_ioctl(cmd, arg) : user_ioctl(fd, cmd, arg);

	sim_require(ret == err, "%s: %ld", what, ret);
	sim_require(sim_costs.stops == before.stops, "%s: the machine is stopped", what);
	sim_require(sim_costs.interrupts == before.interrupts, "%s: a CPU is interrupted", what);
	sim_require(sim_costs.patches == before.patches, "%s: the kernel's code is changed", what);
	sim_require(sim_costs.states == before.states, "%s: a state is made", what);
	sim_require(sim_costs.large_allocs == before.large_allocs, "%s: a ring is made", what);
	sim_require(sim_costs.reservations == before.reservations, "%s: the hardware is taken", what);
	sim_require(sim_ns() - began < NSEC_PER_MSEC, "%s: waits %llu ns", what, sim_ns() - began);
}

static struct vperfctr_ring a_ring(bool huge)
{
	return (struct vperfctr_ring) {
		.size = sizeof(struct vperfctr_ring), .nrsamples = huge ? VPERFCTR_RING_MAX : 16,
		.watermark = 1, .stack = huge ? VPERFCTR_STACK_MAX : 0,
	};
}

static void refuse_rings(int fd)
{
	struct vperfctr_ring ring = a_ring(true);
	u64 began;

	refuse("a ring above the limit", fd, VPERFCTR_RING, &ring, -EAGAIN);
	ring = a_ring(false);
	began = sim_ns();
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	sim_require(sim_ns() - began < NSEC_PER_MSEC, "the next ring waits %llu ns", sim_ns() - began);
	ring = a_ring(true);
	refuse("a second ring", fd, VPERFCTR_RING, &ring, -EEXIST);
	sim_require(ring.map_size == 2 * PAGE_SIZE, "the ring's size is %llu", ring.map_size);
}

/* A control that not all CPUs of the affinity can count.  The hardware is not available. */
static void refuse_affinity(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_AFFINITY);
	refuse("an affinity", fd, VPERFCTR_CONTROL, &control, -EUSERS);
}

struct attachment {
	struct vperfctr_attach req;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	struct vperfctr_ring ring;
};

/* Fill the request for all threads of a process, with a ring or without. */
static void fill_attach(struct attachment *a, const struct task_struct *task, bool ring, bool huge)
{
	sim_fill_control(&a->control, &a->ctr[0],
			 VPERFCTR_CONTROL_INHERIT | (ring ? VPERFCTR_CONTROL_RING : 0));
	a->control.kind = VPERFCTR_ANY_KIND;
	a->control.nrkinds = 2;
	a->control.nractrs = !ring;
	a->control.nrictrs = ring;
	a->ctr[0].ireset = ring ? -1000000 : 0;
	a->ctr[1] = a->ctr[0];
	a->ring = a_ring(huge);
	a->req = (struct vperfctr_attach) {
		.size = sizeof(a->req), .tid = task->pid, .mem_fd = a->req.mem_fd,
		.control = (unsigned long)&a->control, .ring = ring ? (unsigned long)&a->ring : 0,
	};
}

static bool refused_may_end, cpus_are_counted;

static void work_until_told(void *arg)
{
	while (!refused_may_end)
		user_work(3);
	(void)arg;
}

/* By a monitor: the thread waits in its stop. */
static void refuse_opens(struct task_struct *counted, struct task_struct *other)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct vperfctr_open req = { .size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT };

	sim_require(user_ptrace_stop(counted) && user_ptrace_stop(other), "a thread has ended");
	req.tid = counted->pid;
	refuse("OPEN of a counted thread", -1, VPERFCTR_OPEN, &req, -EEXIST);
	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 100;
	req.control = (unsigned long)&control;
	req.tid = other->pid;
	refuse("OPEN with a wrong control", -1, VPERFCTR_OPEN, &req, -EINVAL);
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.clock_period = 1000000;
	control.nractrs = 0;
	refuse("OPEN with a ring", -1, VPERFCTR_OPEN, &req, -EINVAL);
	user_ptrace_continue(counted);
	user_ptrace_continue(other);
}

/* Another user counts CPUs. */
static void count_all_cpus(void *arg)
{
	u32 mask = (1U << nr_cpu_ids) - 1;
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .nrwords = 1, .mask = (unsigned long)&mask,
	};
	struct attachment a = { };
	int fd = must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &req));

	fill_attach(&a, current, false, false);
	a.control.flags = 0;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &a.control));
	cpus_are_counted = true;
	while (!refused_may_end)
		user_sleep(10000);
	user_close(fd);
	(void)arg;
}

static void refuse_while_cpus_are_counted(struct attachment *a, struct task_struct *other, int own)
{
	struct vperfctr_open req = {
		.size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT,
		.control = (unsigned long)&a->control, .tid = other->pid,
	};
	int observer;

	while (!cpus_are_counted)
		user_sleep(10000);
	refuse_affinity(own);
	fill_attach(a, other, true, false);
	refuse("ATTACH, while CPUs are counted", -1, VPERFCTR_ATTACH, &a->req, -EBUSY);
	fill_attach(a, other, false, false);
	a->control.flags = 0;
	refuse("OPEN of a thread that is not stopped", -1, VPERFCTR_OPEN, &req, -EPERM);
	sim_require(user_ptrace_stop(other), "a thread has ended");
	refuse("OPEN, while CPUs are counted", -1, VPERFCTR_OPEN, &req, -EBUSY);
	user_ptrace_continue(other);
	refuse("CONTROL, while CPUs are counted", own, VPERFCTR_CONTROL, &a->control, -EBUSY);
	observer = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER));
	refuse("CONTROL beside a state, while CPUs are counted", own, VPERFCTR_CONTROL, &a->control, -EBUSY);
	user_close(observer);
}

static void be_refused(void *arg)
{
	struct task_struct *task[2], *counter;
	struct attachment a[2] = { };
	struct sim_counts c;
	unsigned int i;
	int fd, set;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	refuse_rings(fd);
	for (i = 0; i < 2; i++) {
		task[i] = user_fork("works", work_until_told, NULL);
		a[i].req.mem_fd = must(user_open_mem(task[i]));
	}
	/* From here on, there is no budget for a second. */
	*sim_param_max_stops_per_second = 1;
	fill_attach(&a[0], task[0], false, false);
	set = must(user_device_ioctl(VPERFCTR_ATTACH, &a[0].req));
	fill_attach(&a[0], task[0], false, false);
	refuse("ATTACH to counted threads", -1, VPERFCTR_ATTACH, &a[0].req, -EEXIST);
	fill_attach(&a[1], task[1], true, true);
	refuse("ATTACH with a ring above the limit", -1, VPERFCTR_ATTACH, &a[1].req, -EAGAIN);
	c.read = (struct vperfctr_read) { .size = sizeof(c.read), .flags = VPERFCTR_READ_MEMBERS };
	refuse("READ without room", set, VPERFCTR_READ, &c.read, -EOVERFLOW);
	refuse_opens(task[0], task[1]);
	user_close(set);
	counter = sim_process("counts CPUs", 0, count_all_cpus, NULL);
	refuse_while_cpus_are_counted(&a[1], task[1], fd);
	refused_may_end = true;
	user_wait(counter);
	for (i = 0; i < 2; i++) {
		user_wait(task[i]);
		user_close(a[i].req.mem_fd);
	}
	user_close(fd);
	(void)arg;
}

void sim_refusals(void)
{
	unsigned int rate = *sim_param_max_stops_per_second;

	refused_may_end = false;
	cpus_are_counted = false;
	user_wait(sim_process("is refused", 1000, be_refused, NULL));
	*sim_param_max_stops_per_second = rate;
}

/* ---- where nothing else counts --------------------------------------------------------------- */

/* The first state of the system would change the kernel's code, and the first control take the counters. */
static void refuse_first_states(struct task_struct *other)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct vperfctr_open req = {
		.size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT, .tid = other->pid,
	};

	refuse("OPEN of a thread that is not stopped", -1, VPERFCTR_OPEN, &req, -EPERM);
	sim_fill_control(&control, &ctr, 0);
	req.control = (unsigned long)&control;
	refuse("OPEN of it with a control", -1, VPERFCTR_OPEN, &req, -EPERM);
	req.tid = 0;
	control.nractrs = 100;
	refuse("OPEN with a wrong control", -1, VPERFCTR_OPEN, &req, -EINVAL);
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.clock_period = 1000000;
	control.nractrs = 0;
	refuse("OPEN with a ring", -1, VPERFCTR_OPEN, &req, -EINVAL);
	sim_fill_control(&control, &ctr, 0);
	req.flags |= VPERFCTR_OPEN_LOCKED;
	refuse("OPEN_LOCKED of the caller", -1, VPERFCTR_OPEN, &req, -EINVAL);
}

/* No state can be had, or only the set's. */
static void refuse_more_states(struct attachment *a, struct task_struct *other)
{
	unsigned int states = *sim_param_max_states_per_user;

	for (*sim_param_max_states_per_user = 0; *sim_param_max_states_per_user < 2;
	     ++*sim_param_max_states_per_user) {
		fill_attach(a, other, true, false);
		a->ring.flags = VPERFCTR_RING_RECORDS;
		refuse("ATTACH with records at the limit of states", -1, VPERFCTR_ATTACH, &a->req, -EAGAIN);
		fill_attach(a, other, false, false);
		refuse("ATTACH at the limit of states", -1, VPERFCTR_ATTACH, &a->req, -EAGAIN);
	}
	*sim_param_max_states_per_user = states;
}

static void refuse_first_attach(struct attachment *a, struct task_struct *other)
{
	fill_attach(a, other, true, true);
	refuse("ATTACH with a ring above the limit", -1, VPERFCTR_ATTACH, &a->req, -EAGAIN);
	fill_attach(a, other, true, false);
	a->ring.flags = VPERFCTR_RING_RECORDS;
	sim_failures.probe = true;
	refuse("ATTACH with records that cannot be had", -1, VPERFCTR_ATTACH, &a->req, -EOPNOTSUPP);
	sim_failures.probe = false;
	refuse_more_states(a, other);
	fill_attach(a, other, true, false);
	a->control.nrictrs = 100;
	refuse("ATTACH with a wrong control", -1, VPERFCTR_ATTACH, &a->req, -EINVAL);
	fill_attach(a, other, false, false);
	a->req.tid = current->pid;
	refuse("ATTACH without a proof", -1, VPERFCTR_ATTACH, &a->req, -ESRCH);
}

static void refuse_records(int fd)
{
	struct vperfctr_ring ring = a_ring(false);

	sim_failures.probe = true;
	ring.flags = VPERFCTR_RING_RECORDS;
	refuse("records that cannot be had", fd, VPERFCTR_RING, &ring, -EOPNOTSUPP);
	sim_failures.probe = false;
}

/* Another user of the counters keeps them.  In a virtual machine, a probe tells of switches. */
static void refuse_reserved(int fd)
{
	struct attachment a = { };
	long ret;

	sim_failures.reserved = true;
	fill_attach(&a, current, false, false);
	a.control.flags = 0;
	refuse("CONTROL without the hardware", fd, VPERFCTR_CONTROL, &a.control, -EBUSY);
	fill_attach(&a, current, true, false);
	a.req.flags = VPERFCTR_ATTACH_OBSERVER;
	a.req.mem_fd = must(user_open_mem(current));
	ret = user_device_ioctl(VPERFCTR_ATTACH, &a.req);
	sim_require(ret == -EBUSY, "ATTACH with a ring, without the hardware: %ld", ret);
	user_close(a.req.mem_fd);
	sim_failures.reserved = false;
}

/* Nothing is charged for what was refused: all that the limits leave can be had. */
static void use_limits(int fd)
{
	unsigned int kb = *sim_param_max_ring_kb_per_user, states = *sim_param_max_states_per_user;
	struct vperfctr_ring ring = a_ring(false);
	int observer;

	*sim_param_max_states_per_user = 2;
	observer = sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);
	sim_require(observer >= 0, "a second state: %d", observer);
	sim_require(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER) == -EAGAIN,
		    "there are three states");
	user_close(observer);
	*sim_param_max_states_per_user = states;
	*sim_param_max_ring_kb_per_user = 2 * PAGE_SIZE / 1024;
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	*sim_param_max_ring_kb_per_user = kb;
}

/* The owner counts on another CPU.  A read would interrupt it. */
static void refuse_reads(void *arg)
{
	int fd = *(int *)arg;
	struct sim_counts c;
	struct vperfctr_control control = { .size = sizeof(control) };
	struct vperfctr_soft soft = { .size = 8 };

	c.read = (struct vperfctr_read) { .size = sizeof(c.read) };
	refuse("READ without room", fd, VPERFCTR_READ, &c.read, -EOVERFLOW);
	sim_require(c.read.nrctrs == 1, "READ says that it needs %u counters", c.read.nrctrs);
	c.read.control = (unsigned long)&control;
	refuse("READ of a control of no size", fd, VPERFCTR_READ, &c.read, -EINVAL);
	control.ctr_size = sizeof(struct vperfctr_ctr);
	control.ctr = (unsigned long)&control;
	refuse("READ without room for kinds", fd, VPERFCTR_READ, &c.read, -EOVERFLOW);
	sim_require(control.nrkinds == 2, "READ says that it needs %u kinds", control.nrkinds);
	c.read.control = 0;
	c.read.soft = (unsigned long)&soft;
	refuse("READ of software counters of no size", fd, VPERFCTR_READ, &c.read, -EINVAL);
}

static void count_while_read(int fd)
{
	struct task_struct *reader;
	struct attachment a = { };
	unsigned int i;

	fill_attach(&a, current, false, false);
	a.control.flags = 0;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &a.control));
	reader = user_fork("reads", refuse_reads, &fd);
	for (i = 0; i < 100; i++)
		user_work(20);
	user_wait(reader);
}

static void be_refused_alone(void *arg)
{
	struct task_struct *other = user_fork("works", work_until_told, NULL), *counter;
	struct attachment a = { };
	struct sim_costs before;
	int fd;

	a.req.mem_fd = must(user_open_mem(other));
	refuse_first_states(other);
	refuse_first_attach(&a, other);
	counter = sim_process("counts CPUs", 0, count_all_cpus, NULL);
	while (!cpus_are_counted)
		user_sleep(10000);
	fill_attach(&a, other, false, false);
	refuse("ATTACH, while CPUs are counted", -1, VPERFCTR_ATTACH, &a.req, -EBUSY);
	refused_may_end = true;
	user_wait(counter);
	user_wait(other);
	user_close(a.req.mem_fd);
	before = sim_costs;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_require(sim_costs.patches == before.patches + 1, "the first state changes no code");
	refuse_records(fd);
	if (sim_processor.exits)
		refuse_reserved(fd);
	use_limits(fd);
	count_while_read(fd);
	user_close(fd);
	(void)arg;
}

void sim_refusals_alone(void)
{
	refused_may_end = false;
	cpus_are_counted = false;
	user_wait(sim_process("is refused", 1000, be_refused_alone, NULL));
}

/* ---- the price of a stop --------------------------------------------------------------------- */

extern unsigned int *const sim_param_max_threads_per_stop;

static bool threads_may_end;

static void sleep_until_told(void *arg)
{
	while (!READ_ONCE(threads_may_end))
		user_sleep(NSEC_PER_MSEC);
	(void)arg;
}

#define PRICE_THREADS	5

static void be_priced(void *arg)
{
	struct task_struct *task[PRICE_THREADS];
	unsigned int i;

	for (i = 0; i < PRICE_THREADS; i++)
		task[i] = user_thread("is attached to", sleep_until_told, NULL);
	sleep_until_told(arg);
	for (i = 0; i < PRICE_THREADS; i++)
		user_wait(task[i]);
}

/* Two stops in a second, and one thread for each.  Whether a ring is made as well is no difference. */
static void pay_for_one(void *arg)
{
	struct task_struct *task = user_fork("is attached to", be_priced, NULL);
	unsigned long denials = sim_costs.denials;
	struct attachment a = { };
	unsigned int i;
	u64 began;
	int fd;

	a.req.mem_fd = must(user_open_mem(task));
	while (task->signal->nr_threads < 1 + PRICE_THREADS)
		user_sleep(NSEC_PER_MSEC);
	began = sim_ns();
	for (i = 0; i < 2; i++) {
		fill_attach(&a, task, true, false);
		a.req.flags = VPERFCTR_ATTACH_THREAD;
		fd = must(user_device_ioctl(VPERFCTR_ATTACH, &a.req));
		user_close(fd);
	}
	sim_require(sim_ns() - began < NSEC_PER_SEC / 4, "two stops wait for %llu ns", sim_ns() - began);
	sim_require(sim_costs.denials == denials, "the audit log has denials");
	WRITE_ONCE(threads_may_end, true);
	user_wait(task);
	user_close(a.req.mem_fd);
	(void)arg;
}

void sim_attach_price(void)
{
	unsigned int rate = *sim_param_max_stops_per_second, threads = *sim_param_max_threads_per_stop;

	threads_may_end = false;
	*sim_param_max_stops_per_second = 2;
	*sim_param_max_threads_per_stop = 1;
	user_wait(sim_process("attaches", 1000, pay_for_one, NULL));
	*sim_param_max_stops_per_second = rate;
	*sim_param_max_threads_per_stop = threads;
}

/* Each has a state, and so takes the part of BESIDE_WEIGHT threads in a stop: see attach.c. */
#define BESIDE_WEIGHT	8
#define BESIDE_THREADS	3

static unsigned int nr_beside;

static void have_state(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	nr_beside++;
	sleep_until_told(arg);
	user_close(fd);
}

static void have_states(void *arg)
{
	struct task_struct *task[BESIDE_THREADS - 1];
	unsigned int i;

	for (i = 0; i < BESIDE_THREADS - 1; i++)
		task[i] = user_thread("has a state", have_state, NULL);
	have_state(arg);
	for (i = 0; i < BESIDE_THREADS - 1; i++)
		user_wait(task[i]);
}

/* The signals come sooner than the budget of one stop, and each restarts a call that waits. */
static void send_signals(void *arg)
{
	while (!READ_ONCE(threads_may_end)) {
		user_sleep(NSEC_PER_SEC / BESIDE_THREADS / 2);
		user_kill(arg, 10);
	}
}

/* Return how many calls it took, of which the last one has attached. */
static unsigned int attach_until_done(struct attachment *a, const struct task_struct *task)
{
	unsigned int tries = 0;
	long fd;

	do {
		fill_attach(a, task, true, false);
		a->req.flags = VPERFCTR_ATTACH_OBSERVER;
		fd = user_device_ioctl(VPERFCTR_ATTACH, &a->req);
		tries++;
	} while (fd == -ERESTARTSYS && tries < 5 * BESIDE_THREADS);
	user_close(must(fd));
	sim_require(a->req.nrthreads == BESIDE_THREADS, "attached to %u threads", a->req.nrthreads);
	return tries;
}

/*
 * One stop for each thread, which are all stops of a second.  The call waits for `*arg` of them
 * before it has done anything, so that a restart pays for nothing twice.  It owes the rest.
 */
static void pay_beside(void *arg)
{
	const unsigned int *nrpaid = arg;
	struct task_struct *task = user_fork("has states", have_states, NULL), *sender;
	struct attachment a = { };
	u64 began;

	a.req.mem_fd = must(user_open_mem(task));
	while (nr_beside < BESIDE_THREADS)
		user_sleep(NSEC_PER_MSEC);
	began = sim_ns();
	attach_until_done(&a, task);
	sim_require(sim_ns() - began < NSEC_PER_SEC / 4, "the first stops wait for %llu ns", sim_ns() - began);
	sender = user_fork("sends signals", send_signals, current);
	sim_require(attach_until_done(&a, task) > 1, "no signal ends a wait");
	sim_require((sim_ns() - began + NSEC_PER_SEC / 50) * BESIDE_THREADS / NSEC_PER_SEC == *nrpaid,
		    "%u of the next stops wait for %llu ns", *nrpaid, sim_ns() - began);
	WRITE_ONCE(threads_may_end, true);
	user_wait(sender);
	user_wait(task);
	user_close(a.req.mem_fd);
}

/* A stop may have room for one such thread exactly, or for almost two. */
void sim_attach_price_beside(void)
{
	unsigned int rate = *sim_param_max_stops_per_second, threads = *sim_param_max_threads_per_stop;
	unsigned int room, nrpaid;

	*sim_param_max_stops_per_second = BESIDE_THREADS;
	for (room = BESIDE_WEIGHT; room < 2 * BESIDE_WEIGHT; room += BESIDE_WEIGHT - 1) {
		threads_may_end = false;
		nr_beside = 0;
		*sim_param_max_threads_per_stop = room;
		nrpaid = DIV_ROUND_UP(BESIDE_THREADS * BESIDE_WEIGHT, room);
		user_wait(sim_process("attaches", 1000 + room, pay_beside, &nrpaid));
	}
	*sim_param_max_stops_per_second = rate;
	*sim_param_max_threads_per_stop = threads;
}

/* An attachment to that many threads takes more than six days. */
#define EXPENSIVE	562950

static bool has_waited;

/* One that is expensive may be made at once, and the next one waits until it is paid. */
static void stop_after_many(void *arg)
{
	int err, fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	err = sim_limit_stops(EXPENSIVE);
	sim_require(!err, "the first stops: %d", err);
	err = sim_limit_stops(1);
	sim_require(err == -ERESTARTSYS, "the next stop: %d", err);
	WRITE_ONCE(has_waited, true);
	user_close(fd);
	(void)arg;
}

void sim_price_of_many(void)
{
	unsigned int rate = *sim_param_max_stops_per_second, threads = *sim_param_max_threads_per_stop;
	struct task_struct *task;

	*sim_param_max_stops_per_second = 1;
	*sim_param_max_threads_per_stop = 1;
	has_waited = false;
	task = sim_process("stops", 1000, stop_after_many, NULL);
	sim_sleep_on(NULL, sim_ns() + 100 * NSEC_PER_SEC);
	sim_require(!READ_ONCE(has_waited), "the stop has not waited");
	user_kill(task, SIGKILL);
	user_wait(task);
	*sim_param_max_stops_per_second = rate;
	*sim_param_max_threads_per_stop = threads;
}

/* ---- no memory is read twice ------------------------------------------------------------------ */

/* A structure of another size than the module knows, with room behind it. */
#define LARGER(type, name, ...)						\
	struct { type s; u64 more[2]; } name = {			\
		.s = { .size = sizeof(name), __VA_ARGS__ },		\
	}

struct larger_ctr { struct vperfctr_ctr s; u64 more; };

static int device_fd(unsigned int cmd, void *arg)
{
	return must(user_device_ioctl(cmd, arg));
}

/* Each call that has a structure, with one that is larger: see sim_user_read(). */
static void call_all(void *arg)
{
	u32 mask[8] = { sizeof(struct vperfctr_cpu_mask) + 8, 1 };
	u32 kind[8] = { sizeof(struct vperfctr_kind_cpus) + 8, 0, 1 };
	struct task_struct *task = user_fork("works", work_until_told, NULL);
	struct larger_ctr ctr[2] = { };
	u32 words[2] = { 1 };
	u64 sums[4];
	int fd, set;

	LARGER(struct vperfctr_info, info);
	LARGER(struct vperfctr_open_cpus, cpus, .nrwords = 1, .mask = (unsigned long)words);
	LARGER(struct vperfctr_read_cpus, read_cpus, .nrcpus = 1, .nrctrs = 1,
	       .sums = (unsigned long)sums);
	LARGER(struct vperfctr_ring, ring, .nrsamples = 16, .watermark = 1);
	LARGER(struct vperfctr_control, control, .tsc_on = 1, .nractrs = 1,
	       .ctr = (unsigned long)ctr, .ctr_size = sizeof(ctr[0]));
	LARGER(struct vperfctr_soft, soft);
	LARGER(struct vperfctr_read, read, .nrctrs = 1, .sums = (unsigned long)sums,
	       .control = (unsigned long)&control, .soft = (unsigned long)&soft);
	LARGER(struct vperfctr_open, open, .flags = VPERFCTR_OPEN_CREAT,
	       .control = (unsigned long)&control);
	LARGER(struct vperfctr_attach, attach, .control = (unsigned long)&control,
	       .ring = (unsigned long)&ring);

	sim_count_instructions(&ctr[0].s);
	device_fd(VPERFCTR_INFO, &info);
	device_fd(VPERFCTR_CPUS, mask);
	device_fd(VPERFCTR_CPUS_FORBIDDEN, mask);
	device_fd(VPERFCTR_KIND_CPUS, kind);
	set = device_fd(VPERFCTR_OPEN_CPUS, &cpus);
	must(user_ioctl(set, VPERFCTR_RING, &ring));
	must(user_ioctl(set, VPERFCTR_CONTROL, &control));
	must(user_ioctl(set, VPERFCTR_READ_CPUS, &read_cpus));
	user_close(set);
	fd = device_fd(VPERFCTR_OPEN, &open);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	must(user_ioctl(fd, VPERFCTR_READ, &read));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	control.s = (struct vperfctr_control) {
		.size = sizeof(control), .tsc_on = 1, .flags = VPERFCTR_CONTROL_RING,
		.ctr_size = sizeof(ctr[0]), .clock_period = 1000000,
	};
	attach.s.tid = task->pid;
	attach.s.mem_fd = must(user_open_mem(task));
	set = device_fd(VPERFCTR_ATTACH, &attach);
	user_close(set);
	user_close(attach.s.mem_fd);
	user_close(fd);
	refused_may_end = true;
	user_wait(task);
	(void)arg;
}

void sim_read_once(void)
{
	refused_may_end = false;
	user_wait(sim_process("calls", 0, call_all, NULL));
}
