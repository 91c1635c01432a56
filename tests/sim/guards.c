// SPDX-License-Identifier: GPL-2.0
/* Scenarios of whole kinds of properties, each of which "make mutants" found without a guard. */
#include "scenarios.h"
#include "hardware.h"
#include "buffer.h"
#include "state.h"

#define must(call)	sim_must(call)

#define SIGNAL		40

static void run_on(unsigned int cpu)
{
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[0] = BIT(cpu);
	do
		user_sleep(1);
	while (sim_cpu != cpu);
}

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* ---- CPUs that may count a control ------------------------------------------------------------ */

/* A control, and the CPUs that may count it. */
struct allowed {
	const char *name;
	u32 kind, nrkinds;
	bool alone, time;		/* an event that needs it; no counter */
	unsigned long cpus;
};

#define CPUS	3

static void fill_allowed(struct vperfctr_control *control, struct vperfctr_ctr *ctr,
			 const struct allowed *a, u32 flags)
{
	sim_fill_control(control, &ctr[0], flags);
#ifdef SIM_X86
	if (a->alone)
		ctr[0].evntsel = (ctr[0].evntsel & ~0xffffU) | 0xd0;
#endif
	ctr[1] = ctr[0];
	ctr[1].map = 3;
	control->kind = a->kind;
	control->nrkinds = a->nrkinds;
	if (a->time)
		control->nractrs = 0;
}

/* CONTROL with AFFINITY needs an affinity of such CPUs only. */
static void try_affinities(int fd, const struct allowed *a)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	unsigned long cpus;
	long err, expected;

	for (cpus = 1; cpus < BIT(CPUS); cpus++) {
		current->cpus_mask.bits[0] = cpus;
		expected = cpus & ~a->cpus ? -EUSERS : 0;
		fill_allowed(&control, ctr, a, VPERFCTR_CONTROL_AFFINITY);
		do
			err = user_ioctl(fd, VPERFCTR_CONTROL, &control);
		while (err == -ENOMEM && sim_failures.alloc);
		sim_require(err == expected, "%s: CONTROL with the affinity %#lx: %ld, not %ld", a->name, cpus,
			    err, expected);
	}
}

/* Each of these CPUs counts all, and each other one nothing. */
static void move_between(int fd, const struct allowed *a)
{
	struct vperfctr_control control;
	u64 events = 0, expected = 0;
	bool forbidden = false;
	struct vperfctr_ctr ctr[2];
	unsigned int i, cpu;
	struct sim_counts c;

	for (cpu = 0; !(a->cpus >> cpu & 1); cpu++)
		;
	run_on(cpu);
	fill_allowed(&control, ctr, a, 0);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 12; i++) {
		if (i)
			cpu = sim_random(CPUS);
		run_on(cpu);
		user_work(10);
		if (a->cpus >> cpu & 1)
			expected += 10;
		else
			forbidden = true;
		must(sim_read_counts(fd, &c, 0));
		/* The model counts some events several times. */
		if (!i && !a->time)
			events = c.own[1] / 10;
		if (a->time)
			c.own[1] = 0;
		sim_require((events || a->time) && c.own[1] == expected * events, "%s: %llu events, not %llu times %llu",
			    a->name, c.own[1], expected, events);
		sim_require(!(c.read.status & VPERFCTR_STATUS_FORBIDDEN) == !forbidden,
			    "%s: the status is %#x", a->name, c.read.status);
	}
}

static void try_allowed(void *arg)
{
	const struct allowed *a;
	int fd;

	for (a = arg; a->name; a++) {
		fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
		try_affinities(fd, a);
		move_between(fd, a);
		user_close(fd);
	}
}

/* There are two kinds.  The time is the same on all, and has none. */
static void name_kinds(void *arg)
{
	static const struct {
		u32 kind, nrkinds, nractrs;
		int err;
	} cases[] = {
		{ 0, 0, 1, 0 }, { 1, 0, 1, 0 }, { 2, 0, 1, -EINVAL },
		{ 0, 0, 0, 0 }, { 1, 0, 0, -EINVAL }, { 2, 0, 0, -EINVAL },
		{ 0, 1, 1, -EINVAL }, { 1, 2, 1, -EINVAL }, { 0, 1, 0, -EINVAL },
		{ VPERFCTR_ANY_KIND, 0, 1, -EINVAL }, { VPERFCTR_ANY_KIND, 1, 1, 0 },
		{ VPERFCTR_ANY_KIND, 2, 1, 0 }, { VPERFCTR_ANY_KIND, 3, 1, -EINVAL },
		{ VPERFCTR_ANY_KIND, 1, 0, -EINVAL }, { VPERFCTR_ANY_KIND, 2, 0, -EINVAL },
		{ VPERFCTR_ANY_KIND, ~0U, 1, -EINVAL },
	};
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	const struct allowed none = { };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[4];
	unsigned int i;
	long err;

	memset(ctr, 0, sizeof(ctr));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		fill_allowed(&control, ctr, &none, 0);
		control.kind = cases[i].kind;
		control.nrkinds = cases[i].nrkinds;
		control.nractrs = cases[i].nractrs;
		do
			err = user_ioctl(fd, VPERFCTR_CONTROL, &control);
		while (err == -ENOMEM && sim_failures.alloc);
		sim_require(err == cases[i].err, "case %u: %ld, not %d", i, err, cases[i].err);
	}
	user_close(fd);
	(void)arg;
}

void sim_allowed_kinds(void)
{
	static const struct allowed kinds[] = {
		{ "the first kind", 0, 0, .cpus = 5 },
		{ "the second kind", 1, 0, .cpus = 2 },
		{ "any kind", VPERFCTR_ANY_KIND, 2, .cpus = 7 },
		{ "any of one kind", VPERFCTR_ANY_KIND, 1, .cpus = 5 },
		{ "the time", 0, 0, .time = true, .cpus = 7 },
		{ }
	};

	user_wait(sim_process("names kinds", 1000, name_kinds, NULL));
	user_wait(sim_process("moves", 1000, try_allowed, (void *)kinds));
}

/* ---- what READ says of its caller ------------------------------------------------------------------ */

static bool owner_may_end;

static void work_until_end(void *arg)
{
	while (!READ_ONCE(owner_may_end))
		user_work(5);
	(void)arg;
}

static void expect_role(int fd, u32 expected)
{
	struct sim_counts c;
	u32 role;

	must(sim_read_counts(fd, &c, VPERFCTR_READ_OWNER));
	role = c.read.status & (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_OWNER | VPERFCTR_STATUS_MONITOR);
	sim_require(role == expected, "READ says %#x of its caller, not %#x", role, expected);
}

/* The owner is stopped, runs, or has ended. */
static void read_of_child(void *arg)
{
	struct task_struct *task = user_fork("works", work_until_end, NULL);
	struct vperfctr_open req = { .size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT, .tid = task->pid };
	int fd, own = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	expect_role(own, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_OWNER);
	sim_require(user_ptrace_stop(task), "the thread has ended");
	fd = must(user_device_ioctl(VPERFCTR_OPEN, &req));
	expect_role(fd, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_MONITOR);
	user_ptrace_continue(task);
	user_sleep(1000);
	expect_role(fd, VPERFCTR_STATUS_ATTACHED);
	WRITE_ONCE(owner_may_end, true);
	user_wait(task);
	expect_role(fd, 0);
	user_close(fd);
	user_close(own);
	(void)arg;
}

void sim_read_roles(void)
{
	user_wait(sim_process("reads", 1000, read_of_child, NULL));
}

/* ---- a thread alone on its CPU, sampled by time ----------------------------------------------------- */

/* Each sample programs the timer for the next one, as there is no switch. */
static void sample_without_switches(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 64, .watermark = 1 };
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	const struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	unsigned int i, n;
	u64 head;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.clock_period = VPERFCTR_CLOCK_MIN;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (n = 0; n < 12; n++) {
		head = READ_ONCE(page->head);
		user_work(30000);	/* more than a period */
		/* The time of the machine, which the timer sees, goes on with each step. */
		for (i = 0; i < 1000 && READ_ONCE(page->head) == head; i++)
			user_work(3);
		sim_require(i < 1000, "there is no sample after %u", n);
	}
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_clock_alone(void)
{
	user_wait(sim_process("is alone", 1000, sample_without_switches, NULL));
}

/* ---- threads that are shorter than a period ------------------------------------------------------ */

#define SHORT_THREADS	32

static void work_shortly(void *instructions)
{
	user_work((unsigned long)instructions);
}

/*
 * Without SPREAD none of them has a sample, and with it each fourth one has.  The TSC, which is the
 * thread time, stands still in the kernel.  So the period must be long: a timer that expires a moment
 * before its end would expire again and again.
 */
static void sample_short_threads(u32 flags, bool clock)
{
	const u64 clock_period = 10 * NSEC_PER_MSEC;
	unsigned long period = clock ? 10 * tsc_khz : 400;
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 1 };
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	const struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	unsigned int i;
	u64 n;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT | flags);
	control.nractrs = 0;
	if (clock) {
		control.clock_period = clock_period;
	} else {
		control.nrictrs = 1;
		ctr.ireset = -(s64)period;
	}
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < SHORT_THREADS; i++)
		user_wait(user_fork("is short", work_shortly, (void *)(period / 4)));
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	n = page->head + page->dropped;
	if (flags)
		sim_require(n + 2 >= SHORT_THREADS / 4 && n <= SHORT_THREADS / 4 + 2,
			    "%llu samples of %u short threads", n, SHORT_THREADS);
	else
		sim_require(!n, "%llu samples of threads that are shorter than a period", n);
	user_munmap(vma);
	user_close(fd);
}

static void have_short_threads(void *clock)
{
	sample_short_threads(0, clock);
	sample_short_threads(VPERFCTR_CONTROL_SPREAD, clock);
}

void sim_short_threads(void)
{
	user_wait(sim_process("samples", 1000, have_short_threads, NULL));
	user_wait(sim_process("samples by time", 1000, have_short_threads, (void *)1UL));
}

/* ---- software counters of a thread that is attached to ---------------------------------------------- */

static bool switching_may_end;

static void switch_often(void *arg)
{
	while (!READ_ONCE(switching_may_end)) {
		user_work(3);
		user_sleep(50);
	}
	(void)arg;
}

/* ATTACH does not count what a thread has done before. */
static void attach_with_soft(void *arg)
{
	struct vperfctr_attach req = { .size = sizeof(req) };
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	u64 sums[2], children[2], before, count;
	struct vperfctr_read read = {
		.size = sizeof(read), .flags = VPERFCTR_READ_MEMBERS, .nrctrs = 1, .sums = (unsigned long)sums,
		.children = (unsigned long)children, .soft = (unsigned long)&soft,
	};
	struct vperfctr_control header;
	struct task_struct *task;
	struct vperfctr_ctr ctr;
	int set;

	task = user_fork("switches", switch_often, NULL);
	while (switches_of(task) < 50)
		user_sleep(100);
	sim_fill_control(&header, &ctr, 0);
	header.soft = VPERFCTR_SOFT_CONTEXT_SWITCHES;
	req.control = (unsigned long)&header;
	req.tid = task->pid;
	req.mem_fd = must(user_open_mem(task));
	before = switches_of(task);
	set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
	user_sleep(1000);
	must(user_ioctl(set, VPERFCTR_READ, &read));
	count = soft.count[__builtin_ctz(VPERFCTR_SOFT_CONTEXT_SWITCHES)].children;
	sim_require(count <= switches_of(task) - before, "%llu switches of %llu", count, switches_of(task) - before);
	WRITE_ONCE(switching_may_end, true);
	user_wait(task);
	user_close(set);
	user_close(req.mem_fd);
	(void)arg;
}

void sim_attach_with_soft(void)
{
	user_wait(sim_process("attaches", 1000, attach_with_soft, NULL));
}

/* ---- pages of states that count together ------------------------------------------------------------ */

static int open_observer(void)
{
	return must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER | VPERFCTR_OPEN_TRANSIENT));
}

/* RDPMC reads the counter of the one state.  That of the other waits for IRESUME, and others may use it. */
static void map_both(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT)), observer = open_observer();
	const struct vperfctr_page *page[2];
	struct vm_area_struct *vma[2];
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	unsigned int i;

	vma[0] = sim_must_map(fd, 0, PAGE_SIZE);
	vma[1] = sim_must_map(observer, 0, PAGE_SIZE);
	page[0] = vma[0]->page;
	page[1] = vma[1]->page;
	must(sim_control(fd, 0));
	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	control.nrictrs = 1;
	control.si_signo = SIGNAL;
	ctr.map = 1;
	ctr.ireset = -20;
	must(user_ioctl(observer, VPERFCTR_CONTROL, &control));
	while (!current->sim->received[SIGNAL]) {
		user_work(3);
		sim_require(current->sim->executed < 100000, "no signal arrives");
	}
	for (i = 0; i < 6; i++) {
		user_work(5);
		user_sleep(1);
		sim_require(page[0]->cstatus & VPERFCTR_CSTATUS_RDPMC, "the owner may not read its counters");
		sim_require(!(page[1]->cstatus & VPERFCTR_CSTATUS_RDPMC), "the owner may read counters that are not there");
	}
	user_munmap(vma[0]);
	user_munmap(vma[1]);
	user_close(observer);
	user_close(fd);
	(void)arg;
}

void sim_pages_beside(void)
{
	user_wait(sim_process("maps", 1000, map_both, NULL));
}

/* ---- what a state checks at each switch-in -------------------------------------------------------- */

/* A state is attached beside one that some CPUs cannot count. */
static void keep_from_cpu(void)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT)), observer;
	struct sim_counts c;

	run_on(0);
	must(sim_control(fd, 0));
	user_work(10);
	observer = open_observer();
	run_on(1);
	user_work(10);
	run_on(0);
	user_work(10);
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == 20 && c.read.status & VPERFCTR_STATUS_FORBIDDEN,
		    "%llu instructions on the right CPU, not 20, and the status %#x", c.own[1], c.read.status);
	user_close(observer);
	user_close(fd);
}

/* A state is attached beside one that makes samples by thread time. */
static void keep_clock(void)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 64, .watermark = 1 };
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT)), observer;
	const struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	unsigned int i;
	u64 head;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.clock_period = VPERFCTR_CLOCK_MIN;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	observer = open_observer();
	user_sleep(2 * VPERFCTR_CLOCK_MIN);
	head = READ_ONCE(page->head);
	for (i = 0; i < 10 && READ_ONCE(page->head) == head; i++) {
		user_work(10000);
		user_sleep(VPERFCTR_CLOCK_MIN);
	}
	sim_require(i < 10, "no sample comes by thread time");
	user_munmap(vma);
	user_close(observer);
	user_close(fd);
}

static void keep_checks(void *arg)
{
	keep_from_cpu();
	keep_clock();
	(void)arg;
}

void sim_keep_checks(void)
{
	user_wait(sim_process("has states", 1000, keep_checks, NULL));
}

/* ---- what the holder of a set of CPUs may do --------------------------------------------------- */

static int open_cpus(u32 mask)
{
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .nrwords = 1, .mask = (unsigned long)&mask,
	};

	return must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &req));
}

static int fd_of_set;

/* Each call of the interface, by one who may count CPUs, or one who has only the descriptor. */
static void try_calls_of_set(bool may)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1 };
	struct vperfctr_read_cpus read = { .size = sizeof(read), .nrcpus = 2, .nrctrs = 1 };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	const struct {
		unsigned int cmd;
		void *arg;
		int err, err_without;
	} cases[] = {
		{ VPERFCTR_READ_CPUS, &read, 0, 0 },
		{ VPERFCTR_CONTROL, &control, 0, -EPERM },
		{ VPERFCTR_SUSPEND, NULL, 0, -EPERM },
		{ VPERFCTR_RESUME, NULL, 0, -EPERM },
		{ VPERFCTR_SUSPEND, &ring, -EINVAL, -EPERM },
		{ VPERFCTR_RESUME, &ring, -EINVAL, -EPERM },
		{ VPERFCTR_RING, &ring, 0, -EPERM },
		{ VPERFCTR_READ, &read, -ENOTTY, -ENOTTY },
		{ VPERFCTR_UNLINK, NULL, -ENOTTY, -ENOTTY },
		{ VPERFCTR_IRESUME, NULL, -ENOTTY, -ENOTTY },
		{ VPERFCTR_MEMBER, &read, -ENOTTY, -ENOTTY },
		{ VPERFCTR_INFO, &read, -ENOTTY, -ENOTTY },
		{ VPERFCTR_OPEN, &read, -ENOTTY, -ENOTTY },
		{ VPERFCTR_ATTACH, &read, -ENOTTY, -ENOTTY },
		{ VPERFCTR_OPEN_CPUS, &read, -ENOTTY, -ENOTTY },
	};
	long err, expected;
	unsigned int i;

	sim_fill_control(&control, &ctr, 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		expected = cases[i].err;
		if (!may)
			expected = cases[i].err_without;
		do
			err = user_ioctl(fd_of_set, cases[i].cmd, cases[i].arg);
		while (err == -ENOMEM && sim_failures.alloc);
		sim_require(err == expected, "call %u returns %ld, not %ld", i, err, expected);
	}
}

static void hold_set(void *arg)
{
	user_set_uid(1000);
	((struct cred *)current->cred)->perfmon = false;
	try_calls_of_set(false);
	/* It has all rights in a namespace of its own. */
	user_set_user_namespace();
	try_calls_of_set(false);
	(void)arg;
}

static void have_set(void *arg)
{
	fd_of_set = open_cpus(3);
	/* Before and after: what is refused changes nothing. */
	user_wait(user_fork("holds a set", hold_set, NULL));
	try_calls_of_set(true);
	user_wait(user_fork("holds a set", hold_set, NULL));
	user_close(fd_of_set);
	(void)arg;
}

void sim_rights_of_set(void)
{
	user_wait(sim_process("counts CPUs", 0, have_set, NULL));
}

/* A set needs CPUs that can count the control: the second one is of another kind. */
static void count_by_kind(void *arg)
{
	u32 mask;
	long err;
	int fd;

	for (mask = 1; mask < BIT(CPUS); mask++) {
		fd = open_cpus(mask);
		do
			err = sim_control(fd, 0);
		while (err == -ENOMEM && sim_failures.alloc);
		sim_require(err == (mask & 2 ? -EUSERS : 0), "CONTROL of the CPUs %#x: %ld", mask, err);
		user_close(fd);
	}
	(void)arg;
}

void sim_kinds_of_set(void)
{
	user_wait(sim_process("counts CPUs", 0, count_by_kind, NULL));
}

/* ---- the ring of a set ------------------------------------------------------------------------------ */

static void use_ring_of_set(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 64, .flags = VPERFCTR_RING_RECORDS,
	};
	const struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	int fd = open_cpus(3);

	sim_require(user_ioctl(fd, VPERFCTR_RING, &ring) == -EOPNOTSUPP, "a set may have records");
	ring.flags = 0;
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	sim_require(!user_mmap(fd, VPERFCTR_RING_OFFSET + ring.map_size, ring.map_size) &&
		    !user_mmap(fd, VPERFCTR_RING_OFFSET - PAGE_SIZE, ring.map_size),
		    "the ring is mapped elsewhere");
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(sim_control_imode(fd, 100, 0));
	while (!READ_ONCE(page->head))
		user_work(5);
	/* The watermark is only for a set that counts. */
	sim_require(page->head < 60, "there are %llu samples", page->head);
	sim_require(!(user_poll(fd) & EPOLLIN), "poll() does not wait for the watermark");
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	sim_require(user_poll(fd) & EPOLLIN, "poll() waits for a set that is suspended");
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	sim_require(!(user_poll(fd) & EPOLLIN), "poll() does not wait for the watermark");
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_ring_of_set(void)
{
	user_wait(sim_process("samples CPUs", 0, use_ring_of_set, NULL));
}

/* ---- two sets of CPUs --------------------------------------------------------------------------- */

/* A CPU belongs to at most one set that counts. */
static void count_by_two(void *arg)
{
	static const u32 masks[] = { 1, 6, 4 };
	unsigned int i;
	int fd, other;
	long err;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		fd = open_cpus(3);
		other = open_cpus(masks[i]);
		must(sim_control(fd, 0));
		do
			err = sim_control(other, 0);
		while (err == -ENOMEM && sim_failures.alloc);
		sim_require(err == (masks[i] & 3 ? -EBUSY : 0), "CONTROL of the CPUs %#x beside 3: %ld", masks[i], err);
		/* The refusal has left nothing. */
		user_close(fd);
		must(sim_control(other, 0));
		user_close(other);
	}
	(void)arg;
}

void sim_two_sets(void)
{
	user_wait(sim_process("counts CPUs", 0, count_by_two, NULL));
}

/* ---- a set that is refused, beside threads ---------------------------------------------------------- */

static bool set_is_refused, overflow_may_end;

static void overflow_on(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int signals;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control_imode(fd, 20, SIGNAL));
	do {
		signals = t->received[SIGNAL];
		while (t->received[SIGNAL] == signals) {
			user_work(3);
			sim_require(t->executed < 1000000, "no signal arrives");
		}
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
		WRITE_ONCE(overflow_may_end, READ_ONCE(set_is_refused));
	} while (!overflow_may_end || signals < 3);
	user_close(fd);
	(void)arg;
}

static void try_to_count_cpus(void *arg)
{
	int fd = open_cpus(3);
	long err;

	do
		err = sim_control(fd, 0);
	while (err == -ENOMEM && sim_failures.alloc);
	sim_require(err == -EBUSY, "CONTROL of CPUs beside threads: %ld", err);
	user_close(fd);
	WRITE_ONCE(set_is_refused, true);
	(void)arg;
}

void sim_refused_set(void)
{
	struct task_struct *task = sim_process("overflows", 1000, overflow_on, NULL);

	while (!READ_ONCE(task->sim->received[SIGNAL]))
		sim_sleep_on(NULL, sim_ns() + 1000);
	user_wait(sim_process("counts CPUs", 0, try_to_count_cpus, NULL));
	user_wait(task);
}

/* ---- a member without counters ------------------------------------------------------------------------ */

static void open_own(void *arg)
{
	int fd = must(sim_open(0, 0));

	sim_require(!sim_is_hardware_reserved(), "a member that counts the time has reserved the hardware");
	user_close(fd);
	(void)arg;
}

static void count_time_of_family(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT);
	control.nractrs = 0;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	user_wait(user_fork("member", open_own, NULL));
	user_close(fd);
	(void)arg;
}

void sim_time_of_family(void)
{
	user_wait(sim_process("counts time", 1000, count_time_of_family, NULL));
}

/* ---- sums that are read while they change ------------------------------------------------------ */

static bool reads_end;

static void work_on_other(void *arg)
{
	while (!READ_ONCE(reads_end)) {
		user_work(3);
		user_sleep(1);
	}
	(void)arg;
}

/* Two counters of the same event are equal at each moment, also while a CPU goes. */
static void read_pairs(void *arg)
{
	u64 sums[2][3];
	struct vperfctr_read_cpus read = {
		.size = sizeof(read), .nrcpus = 2, .nrctrs = 2, .sums = (unsigned long)sums,
	};
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];
	unsigned int i, k;
	int fd;

	fd = open_cpus(3);
	sim_fill_control(&control, &ctr[0], 0);
	ctr[1] = ctr[0];
	ctr[0].map = 0;
	ctr[1].map = 1;
	control.nractrs = 2;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 40; i++) {
		user_work(2);
		must(user_ioctl(fd, VPERFCTR_READ_CPUS, &read));
		for (k = 0; k < 2; k++)
			sim_require(sums[k][1] == sums[k][2], "CPU %u: %llu and %llu events", k, sums[k][1],
				    sums[k][2]);
	}
	WRITE_ONCE(reads_end, true);
	user_close(fd);
	(void)arg;
}

void sim_pairs_of_sums(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("reads", 0, read_pairs, NULL);
	task[1] = sim_process("works", 1000, work_on_other, NULL);
	while (!READ_ONCE(reads_end)) {
		sim_sleep_on(NULL, sim_ns() + 500);
		sim_cpu_down(1);
		sim_cpu_up(1);
	}
	user_wait(task[0]);
	user_wait(task[1]);
}

/* ---- a member that leaves while it is read ----------------------------------------------------- */

static struct task_struct *reads;
static bool may_leave, has_left;
static u64 executed_by_grandchildren;

static void work_a_little(void *arg)
{
	user_work(20);
	executed_by_grandchildren += current->sim->executed;
	(void)arg;
}

/* The reader has found this thread, and has called its CPU. */
static void leave_and_have_children(void *arg)
{
	u64 *executed = arg;
	struct task_struct *task[2];
	struct sim_counts c;
	unsigned int i;
	int fd;

	while (!READ_ONCE(may_leave))
		user_work(3);
	fd = must(sim_open(0, 0));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	*executed = current->sim->executed;
	for (i = 0; i < 2; i++)
		task[i] = user_fork("grandchild", work_a_little, NULL);
	WRITE_ONCE(has_left, true);
	must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
	must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	sim_require(c.children[1] == executed_by_grandchildren, "counted %llu for grandchildren, not %llu",
		    c.children[1], executed_by_grandchildren);
	user_close(fd);
}

static void wait_until_left(const char *what)
{
	if (current != reads || strcmp(what, "other CPUs have been called"))
		return;
	WRITE_ONCE(may_leave, true);
	while (!READ_ONCE(has_left))
		sim_sleep_on(NULL, sim_ns() + 100);
}

static void read_leaver(void *arg)
{
	struct task_struct *task;
	struct sim_counts c;
	u64 executed = 0;
	int fd;

	reads = current;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	task = user_fork("leaves", leave_and_have_children, &executed);
	while (!task->sim->executed)
		user_sleep(100);
	sim_reached = wait_until_left;
	must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	sim_reached = NULL;
	sim_require(!has_left || c.children[1] == executed, "counted %llu for a member that has left, not %llu",
		    c.children[1], executed);
	/* It did not run, so the CPU was not called. */
	WRITE_ONCE(may_leave, true);
	user_wait(task);
	must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	sim_require(c.children[1] == executed, "counted %llu for a member that has left, not %llu",
		    c.children[1], executed);
	user_close(fd);
	(void)arg;
}

void sim_read_leaver(void)
{
	user_wait(sim_process("reads", 1000, read_leaver, NULL));
}

/* ---- the sums of living members ----------------------------------------------------------------- */

/* More than are read at once, of which the last ones run. */
#define MEMBERS		36
#define RUNNING		2

static struct task_struct *members[MEMBERS];
static bool members_end;

static void be_member(void *arg)
{
	user_work(5 + (unsigned long)arg);
	while (!READ_ONCE(members_end)) {
		if ((unsigned long)arg < MEMBERS - RUNNING)
			user_sleep(100000);
		else
			user_work(3);
	}
}

static u64 executed_by_members(void)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < MEMBERS; i++)
		sum += members[i]->sim->executed;
	return sum;
}

/* Each reading has what the members have executed until then, once. */
static void read_living_members(int fd)
{
	u64 before, after;
	struct sim_counts c;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		user_work(3);
		before = executed_by_members();
		must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
		after = executed_by_members();
		sim_require(c.children[1] >= before && c.children[1] <= after && !c.read.children_missed,
			    "counted %llu, not %llu to %llu", c.children[1], before, after);
	}
}

static void have_members(void *arg)
{
	unsigned long i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < MEMBERS; i++)
		members[i] = user_thread("member", be_member, (void *)i);
	read_living_members(fd);
	WRITE_ONCE(members_end, true);
	while (i--)
		user_wait(members[i]);
	user_close(fd);
	(void)arg;
}

void sim_living_members(void)
{
	user_wait(sim_process("reads", 1000, have_members, NULL));
}

/* ---- what a set says of its members --------------------------------------------------------------- */

static bool set_is_read;

static void work_on(void *arg)
{
	run_on((unsigned long)arg);
	while (!READ_ONCE(set_is_read))
		user_work(3);
}

/* The set counts the first kind: CPU 1 is of the second one. */
static void attach_to_kinds(void *arg)
{
	struct vperfctr_control header;
	struct task_struct *task;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	unsigned long cpu;
	u64 executed;
	int set;

	for (cpu = 0; cpu < 2; cpu++) {
		struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&header };

		WRITE_ONCE(set_is_read, false);
		task = user_fork("member", work_on, (void *)cpu);
		while (!task->sim->executed)
			user_sleep(100);
		sim_fill_control(&header, &ctr, 0);
		req.tid = task->pid;
		req.mem_fd = must(user_open_mem(task));
		set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
		executed = task->sim->executed;
		while (task->sim->executed < executed + 20)
			user_sleep(100);
		must(sim_read_counts(set, &c, VPERFCTR_READ_MEMBERS));
		sim_require(!(c.read.status & VPERFCTR_STATUS_FORBIDDEN) == !cpu,
			    "a member on CPU %lu, and the status %#x", cpu, c.read.status);
		sim_require(!c.children[1] == !!cpu, "a member on CPU %lu has %llu events", cpu, c.children[1]);
		WRITE_ONCE(set_is_read, true);
		user_wait(task);
		user_close(set);
		user_close(req.mem_fd);
	}
	(void)arg;
}

void sim_set_of_kinds(void)
{
	user_wait(sim_process("attaches", 1000, attach_to_kinds, NULL));
}

/* ---- records of mappings, where they cannot be made ---------------------------------------------- */

static int ring_with(u32 flags)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 8, .watermark = 1, .flags = flags,
	};
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT)), err;

	do
		err = user_ioctl(fd, VPERFCTR_RING, &ring);
	while (err == -ENOMEM && sim_failures.alloc);
	user_close(fd);
	return err;
}

static void want_records(void *arg)
{
	struct vperfctr_info info = { .size = sizeof(info) };
	bool exist = !sim_processor.no_probe;
	unsigned int i;
	int err;

	must(user_device_ioctl(VPERFCTR_INFO, &info));
	sim_require(!(info.features & VPERFCTR_FEATURE_RECORDS) == !exist, "the features are %#x", info.features);
	/* An administrator can disable kprobes, and enable them again. */
	for (i = 0; i < 4; i++) {
		sim_failures.probe = i % 2;
		err = ring_with(VPERFCTR_RING_RECORDS);
		sim_require(err == (exist && !(i % 2) ? 0 : -EOPNOTSUPP), "RING with records: %d", err);
		err = ring_with(0);
		sim_require(!err, "RING without records: %d", err);
		/* The last user has gone long ago then. */
		user_sleep(20ULL * NSEC_PER_SEC);
	}
	sim_failures.probe = false;
	WRITE_ONCE(*(bool *)arg, true);
}

void sim_no_records(void)
{
	bool done = false;
	struct task_struct *task = sim_process("samples", 1000, want_records, &done);

	/* user_wait() looks too often for that long. */
	while (!READ_ONCE(done))
		sim_sleep_on(NULL, sim_ns() + NSEC_PER_SEC);
	user_wait(task);
}

/* ---- what a monitor stops, has stopped ------------------------------------------------------------ */

static bool monitor_ends;

static void work_for_monitor(void *arg)
{
	while (!READ_ONCE(monitor_ends))
		user_work(3);
	(void)arg;
}

static void let_work(const struct task_struct *task)
{
	u64 executed = task->sim->executed;

	while (task->sim->executed < executed + 20)
		user_sleep(100);
}

static void stop_thread(struct task_struct *task)
{
	sim_require(user_ptrace_stop(task), "the thread has ended");
}

/* Each call of a monitor does what it says, by the counts of a thread that goes on. */
static void monitor_calls(void *arg)
{
	static const struct { unsigned int cmd; bool counts; u32 status; } cases[] = {
		{ VPERFCTR_SUSPEND, false, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_SUSPENDED },
		{ VPERFCTR_RESUME, true, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE },
		{ VPERFCTR_SUSPEND, false, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_SUSPENDED },
		{ VPERFCTR_RESUME, true, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE },
		{ VPERFCTR_UNLINK, false, 0 },
	};
	const u32 mask = VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE | VPERFCTR_STATUS_SUSPENDED;
	struct task_struct *task = user_fork("works", work_for_monitor, NULL);
	u64 executed, counted, expected;
	struct sim_counts before, after;
	unsigned int i;
	int fd;

	stop_thread(task);
	fd = must(sim_open(task->pid, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		user_ptrace_continue(task);
		let_work(task);
		stop_thread(task);
		must(user_ioctl(fd, cases[i].cmd, NULL));
		must(sim_read_counts(fd, &before, 0));
		executed = task->sim->executed;
		user_ptrace_continue(task);
		let_work(task);
		stop_thread(task);
		must(sim_read_counts(fd, &after, 0));
		counted = after.own[1] - before.own[1];
		executed = task->sim->executed - executed;
		expected = 0;
		if (cases[i].counts)
			expected = executed;
		sim_require(counted == expected, "after call %u: counted %llu of %llu", i, counted, executed);
		sim_require(!((after.read.status ^ cases[i].status) & cases[i].status) &&
			    !(after.read.status & mask & ~(cases[i].status | VPERFCTR_STATUS_ACTIVE)),
			    "after call %u: the status is %#x", i, after.read.status);
	}
	WRITE_ONCE(monitor_ends, true);
	user_ptrace_continue(task);
	user_wait(task);
	user_close(fd);
	(void)arg;
}

void sim_monitor_calls(void)
{
	user_wait(sim_process("monitors", 1000, monitor_calls, NULL));
}

/* ---- accounts of users whose ids have the same hash ---------------------------------------------- */

static bool first_has_opened, second_has_opened;

static void open_to_limit(void *arg)
{
	int fd, err;

	while (arg && !READ_ONCE(first_has_opened))
		user_work(5);
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	do
		err = sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);
	while (err == -ENOMEM && sim_failures.alloc);
	sim_require(err == -EAGAIN, "a second state: %d", err);
	if (arg)
		WRITE_ONCE(second_has_opened, true);
	else
		WRITE_ONCE(first_has_opened, true);
	while (!READ_ONCE(second_has_opened))
		user_work(5);
	user_close(fd);
}

extern unsigned int *const sim_param_max_states_per_user;

/* Each has a limit of its own. */
void sim_colliding_users(void)
{
	struct task_struct *task[2];
	u32 uid = 1001;

	while (hash_32(uid, 12) != hash_32(1000, 12))
		uid++;
	*sim_param_max_states_per_user = 1;
	task[0] = sim_process("first", 1000, open_to_limit, NULL);
	task[1] = sim_process("second", uid, open_to_limit, (void *)1UL);
	user_wait(task[0]);
	user_wait(task[1]);
}

/* ---- users of a namespace -------------------------------------------------------------------------- */

/* The limit is that of the user who has made the namespace. */
static void open_as_other(void *arg)
{
	int fd, expected = arg ? -EAGAIN : 0;

	if (arg)
		user_set_user_namespace();
	user_set_uid(5000);
	do
		fd = sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	while (fd == -ENOMEM && sim_failures.alloc);
	sim_require(min(fd, 0) == expected, "OPEN %s a namespace: %d", arg ? "in" : "without", fd);
	if (fd >= 0)
		user_close(fd);
}

static void use_limit(void *arg)
{
	int fd;

	*sim_param_max_states_per_user = 1;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	user_wait(user_fork("another user", open_as_other, NULL));
	user_wait(user_fork("another user", open_as_other, (void *)1UL));
	user_close(fd);
	(void)arg;
}

void sim_namespace_limit(void)
{
	user_wait(sim_process("owner", 1000, use_limit, NULL));
}

/* ---- members that only the holder of the set may change ----------------------------------------- */

static bool is_attached, has_tried;
static u32 attach_flags;

static void try_own(void *arg)
{
	int fd, expected = attach_flags & VPERFCTR_ATTACH_LOCKED ? -EPERM : 0, err;

	while (!READ_ONCE(is_attached))
		user_work(5);
	fd = must(sim_open(0, 0));
	do
		err = sim_control(fd, 0);
	while (err == -ENOMEM && sim_failures.alloc);
	sim_require(err == expected, "CONTROL of the owner: %d, not %d", err, expected);
	WRITE_ONCE(has_tried, true);
	user_close(fd);
	(void)arg;
}

static void attach_with_flags(void *arg)
{
	static const u32 flags[] = { 0, VPERFCTR_ATTACH_LOCKED };
	struct vperfctr_control header;
	struct task_struct *task;
	struct vperfctr_ctr ctr;
	unsigned int i;
	int set;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct vperfctr_attach req = {
			.size = sizeof(req), .control = (unsigned long)&header, .flags = flags[i],
		};

		attach_flags = flags[i];
		WRITE_ONCE(is_attached, false);
		WRITE_ONCE(has_tried, false);
		task = user_fork("is counted", try_own, NULL);
		sim_fill_control(&header, &ctr, 0);
		req.tid = task->pid;
		req.mem_fd = must(user_open_mem(task));
		set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
		WRITE_ONCE(is_attached, true);
		while (!READ_ONCE(has_tried))
			user_work(5);
		user_wait(task);
		user_close(set);
		user_close(req.mem_fd);
	}
	(void)arg;
}

void sim_attach_locked(void)
{
	user_wait(sim_process("attaches", 1000, attach_with_flags, NULL));
}

/* Counters that cannot overflow make no samples of CPUs, either. */
static void ring_without_interrupt(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1 };
	int fd = open_cpus(1), err;

	do
		err = user_ioctl(fd, VPERFCTR_RING, &ring);
	while (err == -ENOMEM && sim_failures.alloc);
	sim_require(err == -EOPNOTSUPP, "RING of a CPU: %d", err);
	user_close(fd);
	(void)arg;
}

void sim_set_without_interrupt(void)
{
	user_wait(sim_process("samples CPUs", 0, ring_without_interrupt, NULL));
}

/* ---- a process of one thread ----------------------------------------------------------------------- */

/* A process of one thread is the same with THREAD and without it. */
static void attach_to_one(void *arg)
{
	struct task_struct *task = sim_process("first", 1000, work_for_monitor, NULL);
	static const u32 flags[] = { 0, VPERFCTR_ATTACH_THREAD };
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	u64 before, after;
	unsigned int i;
	int set;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		struct vperfctr_attach req = {
			.size = sizeof(req), .control = (unsigned long)&header, .tid = task->pid, .flags = flags[i],
		};

		sim_fill_control(&header, &ctr, 0);
		req.mem_fd = must(user_open_mem(task));
		before = task->sim->executed;
		set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
		sim_require(req.nrthreads == 1 && !req.nrskipped, "ATTACH with %#x to %u, and skipped %u", flags[i],
			    req.nrthreads, req.nrskipped);
		let_work(task);
		must(sim_read_counts(set, &c, VPERFCTR_READ_MEMBERS));
		after = task->sim->executed;
		sim_require(c.children[1] && c.children[1] <= after - before, "counted %llu of %llu", c.children[1],
			    after - before);
		user_close(set);
		user_close(req.mem_fd);
	}
	WRITE_ONCE(monitor_ends, true);
	user_wait(task);
	(void)arg;
}

void sim_attach_to_one(void)
{
	user_wait(sim_process("attaches", 1000, attach_to_one, NULL));
}

#ifdef SIM_X86
void sim_allowed_siblings(void)
{
	static const struct allowed events[] = {
		{ "any event", 0, 0, .cpus = 7 },
		{ "a disturbing event", 0, 0, .alone = true, .cpus = 4 },
		{ "any kind, and any event", VPERFCTR_ANY_KIND, 1, .cpus = 7 },
		{ "any kind, and a disturbing event", VPERFCTR_ANY_KIND, 1, .alone = true, .cpus = 4 },
		{ }
	};

	user_wait(sim_process("moves", 1000, try_allowed, (void *)events));
}

/* ---- a set of CPUs, while all processes may read counters -------------------------------------- */

static int control_set(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	int err;

	sim_fill_control(&control, &ctr, 0);
	do
		err = user_ioctl(fd, VPERFCTR_CONTROL, &control);
	while (err == -ENOMEM && sim_failures.alloc);
	return err;
}

static void count_for_readers(void *arg)
{
	unsigned int i;
	u32 mask;
	int fd, err;

	for (i = 0; i < 6; i++) {
		mask = 1 + i % 3;
		fd = open_cpus(mask);
		if (i < 3) {
			sim_let_all_read(true);
			err = control_set(fd);
			sim_require(err == -EACCES, "CONTROL of the CPUs %#x, with rdpmc=2: %d", mask, err);
			sim_require(!sim_is_hardware_reserved(), "the hardware is reserved");
			sim_let_all_read(false);
		}
		err = control_set(fd);
		sim_require(!err, "CONTROL of the CPUs %#x: %d", mask, err);
		user_close(fd);
		user_sleep(1000);
	}
	(void)arg;
}

void sim_set_for_readers(void)
{
	user_wait(sim_process("counts CPUs", 0, count_for_readers, NULL));
}

/* ---- a right that ends in a full memory cgroup ------------------------------------------------ */

static unsigned int nr_ready;
static bool may_end;

static void be_busy(void *arg)
{
	run_on((unsigned long)arg);
	user_work(1);
	nr_ready++;
	while (!READ_ONCE(may_end))
		user_work(5);
}

static u64 switches_of_pce_thread(unsigned long cpu)
{
	struct task_struct *task;

	for (task = sim_tasks; task; task = task->next_task) {
		if (!strcmp(task->sim->name, "vperfctr/N") && task->sim->arg == (void *)cpu)
			return switches_of(task);
	}
	sim_fail("no thread of CPU %lu", cpu);
	return 0;
}

/* The process has left CPU 2, which a stranger uses.  Another thread runs on CPU 1. */
static void unmap_without_memory(void *arg)
{
	struct task_struct *beside, *stranger;
	struct vm_area_struct *vma;
	u64 before, switches;
	bool stays;
	int fd;

	run_on(2);
	user_work(5);
	beside = user_thread("beside", be_busy, (void *)1UL);
	run_on(0);
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	stranger = sim_process("stranger", 1001, be_busy, (void *)2UL);
	while (READ_ONCE(nr_ready) < 2)
		user_work(5);
	before = switches_of_pce_thread(2);
	switches = switches_of(stranger);
	stays = sim_cpus[2].curr == stranger;
	sim_failures.charge = true;
	user_munmap(vma);
	sim_failures.charge = false;
	/* Until a worker has looked at the CPUs once more. */
	user_sleep(50000);
	/* A kernel thread on CPU 2 may have the process's memory, as far as the module knows. */
	stays &= switches_of(stranger) == switches;
	WRITE_ONCE(may_end, true);
	user_wait(beside);
	user_wait(stranger);
	user_sleep(NSEC_PER_SEC / 2);
	sim_require(!stays || switches_of_pce_thread(2) == before, "CPU 2, of another process, has been disturbed");
	user_close(fd);
	(void)arg;
}

void sim_full_cgroup(void)
{
	user_wait(sim_process("unmaps", 1000, unmap_without_memory, NULL));
}
#endif

/* ---- calls that are saved for samples ------------------------------------------------------------- */

/* A sample that finds the ring full keeps no chain, which other threads may need. */
static void drop_kernel_samples(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 2, .watermark = 1, .nrsums = 1,
		.flags = VPERFCTR_RING_KERNEL, .kernel_depth = 4,
	};
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	struct vperfctr_state *st = current->signal->fd[fd]->private_data;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	unsigned int i;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -301;
	sim_count_kernel(&ctr);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 40; i++) {
		user_work(50);
		user_sleep(sim_random(100));
	}
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	sim_require(st->ring->page->head == 2, "the ring has %llu samples", st->ring->page->head);
	sim_require(!st->ring->own.chain[0], "a chain waits for a sample that does not come");
	user_close(fd);
	(void)arg;
}

void sim_drop_kernel_samples(void)
{
	user_wait(sim_process("samples", 0, drop_kernel_samples, NULL));
}
