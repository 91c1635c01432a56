// SPDX-License-Identifier: GPL-2.0
/* Scenarios of what several threads use: rings, poll(), and families of many threads. */
#include <stdlib.h>

#include "scenarios.h"

#define must(call)	sim_must(call)
#define SIGNAL		41
#define PERIOD		20

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

/* ---- a ring and its reader --------------------------------------------------------- */

#define SAMPLES		8
#define POISON		0xfd

static int ring_fd;
static u64 ring_size;
static pid_t sampled;

/* A sample that a reader can see is complete.  Those that it has consumed may be overwritten. */
static u64 check_sample(struct vperfctr_ring_page *page, u64 i, u64 *last)
{
	struct vperfctr_sample *sample = (void *)((char *)page + page->data +
						  (i % page->nrsamples) * page->sample_size);
	u64 sum = sample->sums[0];

	sim_require(sample->type == VPERFCTR_SAMPLE_OVERFLOW && sample->size == page->sample_size &&
		    sample->overflow == 1 && sample->tid == (u32)sampled,
		    "sample %llu is not complete", i);
	sim_require(sum >= *last + PERIOD && sum >= (i + 1) * PERIOD,
		    "sample %llu has the sum %llu, after %llu", i, sum, *last);
	*last = sum;
	memset(sample, POISON, page->sample_size);
	return sample->dropped;
}

static void read_ring(void *arg)
{
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	u64 head, tail = 0, last = 0;
	unsigned int events;

	vma = sim_must_map(ring_fd, VPERFCTR_RING_OFFSET, ring_size);
	page = vma->page;
	do {
		events = user_wait_poll(ring_fd);
		head = smp_load_acquire(&page->head);	/* then the samples */
		sim_require(head - tail <= SAMPLES, "%llu samples", head - tail);
		sim_require(!(events & EPOLLIN) || head > tail, "poll() reports samples, and there is none");
		for (; tail < head; tail++) {
			check_sample(page, tail, &last);
			must(user_ioctl(ring_fd, VPERFCTR_CONSUME, (void *)1UL));
		}
	} while (!(events & EPOLLHUP) || READ_ONCE(page->head) > tail);
	sim_require(tail, "there was no sample");
	user_munmap(vma);
	user_close(ring_fd);
	(void)arg;
}

static void make_samples(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = SAMPLES, .watermark = 1, .nrsums = 1 };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	const struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	struct task_struct *reader;
	unsigned int i;

	ring_fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(ring_fd, VPERFCTR_RING, &ring));
	ring_size = ring.map_size;
	sampled = current->pid;
	reader = user_fork("reader", read_ring, NULL);
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(ring_fd, VPERFCTR_CONTROL, &control));
	vma = sim_must_map(ring_fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	for (i = 0; i < 8; i++) {
		user_work(2 * PERIOD + 5);
		/* Nothing but these samples wakes the reader. */
		while (READ_ONCE(page->tail) != READ_ONCE(page->head))
			user_sleep(500);
	}
	user_munmap(vma);
	/* The exit wakes it, too. */
	put_task_struct(reader);
	(void)arg;
}

void sim_ring_reader(void)
{
	user_wait(sim_process("samples", 1000, make_samples, NULL));
	wait_for_all_users();
}

/* ---- a ring with a rate ---------------------------------------------------------------- */

#define WINDOWS		32
#define RATE_PERIODS	56	/* in a window, of the length that the control gives */

/* Fewer than 8 samples in a tick, a limit between 8 and 16 in a window, and more than 8 in a tick. */
static const struct {
	u32 rate;
	unsigned int ticks, limit;
} rates[] = {
	{ 100, 20, 8 },
	{ 1900, 2, 15 },
	{ 16 * HZ, 1, 16 },
};

/*
 * A thread whose counter overflows at a steady speed has as many samples in a window as fit
 * if its periods are doubled.
 */
static void overflow_steadily(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 1024, .watermark = 1, .nrsums = 1 };
	const unsigned int i = sim_choose(ARRAY_SIZE(rates), 1);
	const u64 tick = NSEC_PER_SEC / HZ, rest = rates[i].ticks * tick / RATE_PERIODS;
	unsigned int n, periods = RATE_PERIODS;
	struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	u64 begin, all, head = 0;
	int fd;

	while (periods > rates[i].limit)
		periods /= 2;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	ring.rate = rates[i].rate;
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	begin = sim_ns();
	for (n = 0; n < WINDOWS * RATE_PERIODS; n++) {
		if (n == WINDOWS / 2 * RATE_PERIODS)
			head = page->head;
		user_work(PERIOD);
		if (sim_ns() < begin + (n + 1) * rest)
			user_sleep(begin + (n + 1) * rest - sim_ns());
	}
	must(sim_control(fd, 0));
	/* A period is longer if the interrupt is late that handles an overflow after a switch. */
	all = page->head + page->dropped;
	sim_require(all <= WINDOWS * RATE_PERIODS && all > (WINDOWS - 1) * RATE_PERIODS,
		    "%llu samples, %llu dropped", page->head, page->dropped);
	/* One more or less in each window: its begin need not be that of a period. */
	head = page->head - head;
	sim_require(head >= WINDOWS / 2 * (periods - 1) && head <= WINDOWS / 2 * (periods + 1),
		    "%llu samples in %u windows with a limit of %u", head, WINDOWS / 2, rates[i].limit);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_rate(void)
{
	user_wait(sim_process("samples", 1000, overflow_steadily, NULL));
	wait_for_all_users();
}

/* ---- samples by thread time ---------------------------------------------------------- */

static int control_clock(int fd, u32 flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING | flags);
	control.nractrs = 0;
	control.clock_period = VPERFCTR_CLOCK_MIN;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static u64 periods_of(u64 tsc)
{
	u64 ms = tsc / tsc_khz, rest = tsc % tsc_khz;

	return (ms * 1000000 + rest * 1000000 / tsc_khz) / VPERFCTR_CLOCK_MIN;
}

/* About a period for every two rounds. */
static void work_and_sleep(unsigned int rounds)
{
	while (rounds--) {
		user_work(10000);
		if (rounds % 3 == 0)
			user_sleep(VPERFCTR_CLOCK_MIN);
	}
}

/* More than a period, which ends before the timer expires. */
#define LAST_WORK	30000

static void clocked_child(void *arg)
{
	work_and_sleep(5);
	user_work(LAST_WORK);
	(void)arg;
}

/* Samples and what was dropped are the thread time, also that of a child, in periods. */
static void work_by_clock(void *arg)
{
	/* A small ring has no room for all samples, and counts the others as dropped. */
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = arg ? 2 : 8, .watermark = 1 };
	struct vperfctr_ring_page *page;
	struct task_struct *child;
	struct vm_area_struct *vma;
	struct sim_counts c;
	u64 i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(control_clock(fd, VPERFCTR_CONTROL_INHERIT));
	work_and_sleep(4);
	child = user_fork("child", clocked_child, NULL);
	work_and_sleep(4);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	work_and_sleep(2);
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	user_wait(child);
	do
		must(sim_read_counts(fd, &c, 0));
	while (c.read.status & VPERFCTR_STATUS_CHILDREN);
	user_work(LAST_WORK);
	/* The end, or a control that counts the TSC alone. */
	if (arg)
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	else
		must(sim_control(fd, 0));
	i = page->head + page->dropped;
	work_and_sleep(2);
	sim_require(page->head + page->dropped == i, "samples after the end");
	if (arg) {
		must(sim_read_counts(fd, &c, 0));
		sim_require(i == periods_of(c.own[0]) + periods_of(c.children[0]) || c.read.children_missed,
			    "%llu periods, of %llu and %llu ticks of the TSC", i, c.own[0], c.children[0]);
	}
	for (i = 0; i < page->head; i++) {
		struct vperfctr_sample *s = (void *)((char *)page + page->data + i * page->sample_size);

		sim_require(s->type == VPERFCTR_SAMPLE_CLOCK && s->size == page->sample_size && s->ip,
			    "sample %llu is not complete", i);
	}
	user_munmap(vma);
	user_close(fd);
}

void sim_clock(void)
{
	struct task_struct *task[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		task[i] = sim_process("clock", 1000, work_by_clock, (void *)(unsigned long)(i % 2));
	/* The timer of a CPU that goes offline moves to another one. */
	for (i = 0; i < 2; i++) {
		unsigned int cpu = sim_choose(nr_cpu_ids, 1);

		sim_cpu_down(cpu);
		sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
		sim_cpu_up(cpu);
	}
	wait_for(task, 3);
	wait_for_all_users();
}

/* ---- poll() for overflows ------------------------------------------------------------ */

#define ROUNDS		6

static unsigned int round_of_owner, round_of_poller;

/* Each time at about the same time as the overflow. */
static void wait_for_overflows(void *arg)
{
	unsigned int events;

	while (round_of_poller < ROUNDS) {
		events = user_wait_poll(ring_fd);
		sim_require(events & EPOLLIN, "poll() returns %#x", events);
		round_of_poller++;
		while (round_of_owner < round_of_poller)
			user_sleep(50);
	}
	user_close(ring_fd);
	(void)arg;
}

/* No signal: only poll() reports the overflow. */
static void overflow_and_wait(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	ring_fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	put_task_struct(user_fork("polls", wait_for_overflows, NULL));
	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(ring_fd, VPERFCTR_CONTROL, &control));
	while (round_of_owner < ROUNDS) {
		user_work(PERIOD + 5);
		/* It is woken by the overflow alone. */
		while (round_of_poller == round_of_owner)
			user_sleep(200);
		must(user_ioctl(ring_fd, VPERFCTR_IRESUME, NULL));
		round_of_owner++;
	}
	(void)arg;
}

void sim_poll_signal(void)
{
	user_wait(sim_process("overflows", 1000, overflow_and_wait, NULL));
	wait_for_all_users();
}

/* ---- members with descriptors --------------------------------------------------------- */

#define MEMBERS		4

static struct task_struct *member[MEMBERS];
static int member_fd[MEMBERS];		/* that is kept; or -1 */
static bool members_may_end, members_are_kept;

static void be_member(void *arg)
{
	user_work(20);
	while (!members_may_end && !arg)
		user_work(5);
}

/* Open the states of threads that work or end, look at them, and close them. */
static void open_members(void *arg)
{
	int root = (long)arg, fd;
	struct vm_area_struct *vma;
	struct sim_counts c;
	unsigned int i;

	for (i = 0; i < MEMBERS; i++) {
		member_fd[i] = -1;
		fd = user_ioctl(root, VPERFCTR_MEMBER, (void *)(long)member[i]->pid);
		if (fd < 0) {
			sim_require(fd == -ESRCH || fd == -ENOENT || (fd == -ENOMEM && sim_failures.alloc),
				    "MEMBER: %d", fd);
			continue;
		}
		if (members_are_kept) {
			member_fd[i] = fd;
			continue;
		}
		vma = user_mmap(fd, 0, PAGE_SIZE);
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.own[1] <= member[i]->sim->executed, "counted %llu of %llu", c.own[1],
			    member[i]->sim->executed);
		if (vma)
			user_munmap(vma);
		user_close(fd);
	}
	members_may_end = true;
}

/* After the last close the hardware is free. */
static void count_members(void *arg)
{
	struct task_struct *opener;
	struct sim_counts c;
	unsigned int i;
	u64 sum = 0;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < MEMBERS; i++) {
		member[i] = user_thread("member", be_member, i & 1 || members_are_kept ? arg : NULL);
		get_task_struct(member[i]);
	}
	opener = user_thread("opens", open_members, (void *)(long)fd);
	must(sim_read_counts(fd, &c, VPERFCTR_READ_MEMBERS));
	user_wait(opener);
	for (i = 0; i < MEMBERS; i++)
		user_wait(member[i]);
	must(sim_read_counts(fd, &c, 0));
	for (i = 0; i < MEMBERS; i++) {
		sum += member[i]->sim->executed;
		put_task_struct(member[i]);
	}
	/* A member for which there was no memory has been missed. */
	sim_require(c.children[1] >= sum || c.read.children_missed, "counted %llu for members, not %llu", c.children[1], sum);
	user_close(fd);
	/* The descriptors of members that have ended have no share of it. */
	for (i = 0; members_are_kept && sim_is_hardware_reserved() && i < 100; i++)
		user_sleep(1000);
	sim_require(!sim_is_hardware_reserved(), "the hardware is not free after the last close");
	for (i = 0; i < MEMBERS; i++)
		if (member_fd[i] >= 0)
			user_close(member_fd[i]);
}

void sim_members(void)
{
	members_are_kept = false;
	user_wait(sim_process("root", 1000, count_members, (void *)1UL));
}

/* A member ends while VPERFCTR_MEMBER gives it a share of the hardware. */
void sim_kept_members(void)
{
	members_are_kept = true;
	user_wait(sim_process("root", 1000, count_members, (void *)1UL));
}

/* ---- remote calls for a thread that wakes up --------------------------------------------------- */

#define SLEEPER_ROUNDS	16

static int sleeper_fd;			/* its state must be mapped; -1: there is none */
static bool sleeper_woken[2], sleeper_ends;

/* Wake the other thread, and sleep until it does the same. */
static void take_turns(unsigned int n)
{
	current->sim->regs.user = false;
	sleeper_woken[!n] = true;
	sim_wake_up(&sleeper_woken[!n]);
	if (!sleeper_woken[n])
		sim_sleep_on(&sleeper_woken[n], sim_ns() + 5000);
	sleeper_woken[n] = false;
	sim_return_to_user();
}

static void must_have_counted(int fd, u64 before)
{
	struct sim_counts c;

	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "counted %llu instructions, not %llu",
		    c.own[1], current->sim->executed - before);
}

static void wake_sleeper(void *arg)
{
	while (!sleeper_ends)
		take_turns(1);
	(void)arg;
}

static void count_and_sleep(void *arg)
{
	unsigned int i;
	u64 before;
	int fd;

	for (i = 0; i < SLEEPER_ROUNDS; i++) {
		fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
		must(sim_control(fd, 0));
		before = current->sim->executed;
		sleeper_fd = fd;
		do {
			take_turns(0);
			user_work(3);
		} while (sleeper_fd >= 0);
		take_turns(0);
		must_have_counted(fd, before);
		must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
		user_close(fd);
	}
	sleeper_ends = true;
	(void)arg;
}

/*
 * The first mapping of a state is a remote call: it moves the state.  The caller may see
 * the owner asleep, and the owner must then see the call when it wakes up: see remote.c.
 */
static void map_sleeper(void *arg)
{
	struct vm_area_struct *vma;
	struct task_struct *task[2];
	unsigned int i, wait;
	u64 before;
	int own;

	/* The counters of its CPU must not be taken for those of the owner's. */
	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(own, 0));
	before = current->sim->executed;
	sleeper_fd = -1;
	task[0] = user_thread("sleeps", count_and_sleep, NULL);
	task[1] = user_thread("wakes", wake_sleeper, NULL);
	for (i = 0; i < SLEEPER_ROUNDS; i++) {
		while (sleeper_fd < 0)
			user_work(1);
		for (wait = sim_random(20); wait; wait--)
			user_work(1);
		vma = sim_must_map(sleeper_fd, 0, PAGE_SIZE);
		sleeper_fd = -1;
		user_munmap(vma);
	}
	user_wait(task[0]);
	user_wait(task[1]);
	must_have_counted(own, before);
	user_close(own);
	(void)arg;
}

void sim_sleeper(void)
{
	user_wait(sim_process("maps", 1000, map_sleeper, NULL));
}

/* ---- members that get a control of their own -------------------------------------------- */

static void just_work(void *arg)
{
	user_work(30);
	(void)arg;
}

/* Leave the family, and be the root of another.  The old root's close waits for both. */
static void leave(void *arg)
{
	unsigned long depth = (unsigned long)arg;
	struct task_struct *task[2];
	struct sim_counts c;
	int fd, err;
	u64 before;

	user_work(10);
	task[0] = user_thread("child", just_work, NULL);
	/* The end of the one that it has inherited from may have detached it. */
	do {
		fd = sim_open(0, 0);
		err = fd < 0 ? fd : sim_control(fd, VPERFCTR_CONTROL_INHERIT);
		if (err == -ENOMEM)
			user_close(fd);
	} while (err == -ENOMEM && sim_failures.alloc);
	sim_require(!err || err == -ENOENT || err == -ESRCH, "a member gets %d", err);
	before = current->sim->executed;
	task[1] = user_thread("leaver", depth ? leave : just_work, (void *)(depth - !!depth));
	user_work(20);
	/* Then nothing that happens to the old family concerns it. */
	if (!err) {
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.own[1] == current->sim->executed - before &&
			    (c.read.status & VPERFCTR_STATUS_ATTACHED),
			    "counted %llu, not %llu, and the status is %#x", c.own[1],
			    current->sim->executed - before, c.read.status);
	}
	user_close(fd);
	if (depth & 1)
		wait_for(task, 2);
	else
		put_task_struct(task[0]), put_task_struct(task[1]);
}

static unsigned int nr_threads_left(void)
{
	return READ_ONCE(current->signal->nr_threads);
}

static void count_leavers(void *arg)
{
	struct task_struct *task[2];
	unsigned int i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	for (i = 0; i < 2; i++)
		task[i] = user_thread("leaver", leave, (void *)(1UL + i));
	wait_for(task, 2);
	while (nr_threads_left() > 1)
		user_sleep(500);
	user_close(fd);
	sim_require(!sim_is_hardware_reserved(), "the hardware is not free after the last close");
	(void)arg;
}

void sim_leavers(void)
{
	user_wait(sim_process("root", 1000, count_leavers, NULL));
}

/* ---- records in a ring ----------------------------------------------------------------- */

/* The name of a file whose record takes all slots of the ring. */
#define LONG_NAME	"a file with a long name, which is continued in the second slot, and in the third one, and " \
			"in the last one"

static struct {
	struct vperfctr_ring_page *page;
	int fd;
	unsigned int long_names;
	unsigned int told[8];		/* records of each type */
	unsigned int privileged_maps;
	pid_t privileged;
} records;

static struct vperfctr_record *record_at(u64 n)
{
	struct vperfctr_ring_page *page = records.page;

	return (void *)((char *)page + page->data + (n & (page->nrsamples - 1)) * page->sample_size);
}

/* Copy a record whose slots are complete.  Return: how much of it they have. */
static size_t copy_record(void *to, size_t room, u64 n)
{
	const struct vperfctr_record *r = record_at(n);
	u32 slot = records.page->sample_size;
	const struct vperfctr_more *more;
	size_t size = min_t(size_t, slot, room);
	unsigned int i;

	memcpy(to, r, size);
	for (i = 1; i < r->slots && size < room; i++) {
		more = (const void *)record_at(n + i);
		sim_require(more->size > sizeof(*more) && more->size <= slot && !more->reserved,
			    "slot %llu has %u bytes", n + i, more->size);
		memcpy((char *)to + size, more + 1, min_t(size_t, more->size - sizeof(*more), room - size));
		size = min_t(size_t, size + more->size - sizeof(*more), room);
	}
	return size;
}

/*
 * Each field has a value in records of some types, and is 0 in the others.  The slots together have
 * the whole record.
 */
static void check_record(u64 n)
{
	union {
		struct vperfctr_record r;
		char bytes[sizeof(struct vperfctr_record) + sizeof(LONG_NAME) + 8];
	} whole;
	const char *text;
	struct vperfctr_record r;
	bool fork, map;
	size_t size;

	memset(&whole, 0xff, sizeof(whole));
	size = copy_record(&whole, sizeof(whole), n);
	r = whole.r;
	sim_require(size >= sizeof(r) && size == r.size, "record %llu has %zu bytes", n, size);
	fork = r.type == VPERFCTR_RECORD_FORK;
	map = r.type == VPERFCTR_RECORD_MAP;
	sim_require(r.size >= sizeof(r) && r.text < r.size && (!r.text || r.text >= sizeof(r)),
		    "record %llu has %u bytes, and its text is at %u", n, r.size, r.text);
	sim_require(r.pid && r.tid && r.tsc, "record %llu is of %u/%u, at %llu", n, r.pid, r.tid, r.tsc);
	sim_require(!r.parent_pid == !fork && !r.parent_tid == !fork, "record %llu of type %u has the parent %u/%u", n,
		    r.type, r.parent_pid, r.parent_tid);
	sim_require(map ? r.start < r.end : !r.start && !r.end && !r.offset && !r.major && !r.minor && !r.inode,
		    "record %llu of type %u has the addresses %#llx to %#llx", n, r.type, r.start, r.end);
	sim_require(!r.text == (fork || r.type == VPERFCTR_RECORD_EXIT), "record %llu of type %u has its text at %u",
		    n, r.type, r.text);
	/* All programs have this name and this file, and one maps another file. */
	sim_require(r.inode == map, "record %llu of type %u has the inode %llu", n, r.type, (u64)r.inode);
	text = &whole.bytes[r.text];
	if (map && r.slots == 4 && !strcmp(text, "/" LONG_NAME))
		records.long_names++;
	else
		sim_require(!r.text || !strcmp(text, map ? "/program" : "program"),
			    "record %llu of type %u has the text %.16s", n, r.type, text);
}

/* Read all records whose slots are complete.  The places of others must not be seen. */
static void read_records(void)
{
	u64 first = records.page->tail, n = first, head = READ_ONCE(records.page->head);
	const struct vperfctr_record *r;
	unsigned int i;

	while (n != head) {
		r = record_at(n);
		sim_require(r->type >= VPERFCTR_RECORD_FORK && r->type < VPERFCTR_RECORD_MORE,
			    "slot %llu has the type %u", n, r->type);
		if (r->slots > head - n)
			break;
		for (i = 1; i < r->slots; i++) {
			const struct vperfctr_more *more = (const void *)record_at(n + i);

			sim_require(more->type == VPERFCTR_RECORD_MORE && more->slots == r->slots - i,
				    "slot %llu is not of the record of slot %llu", n + i, n);
		}
		check_record(n);
		records.told[r->type]++;
		if (r->type == VPERFCTR_RECORD_MAP && r->pid == (u32)records.privileged)
			records.privileged_maps++;
		n += r->slots;
	}
	must(user_ioctl(records.fd, VPERFCTR_CONSUME, (void *)(unsigned long)(n - first)));
}

static void follow_records(void *arg)
{
	unsigned int events;

	do {
		events = user_wait_poll(records.fd);
		read_records();
	} while (!(events & EPOLLHUP));
	/* The end comes after the last record, whose slots may have been incomplete. */
	read_records();
	sim_require(records.page->head == records.page->tail, "the end comes before the last record");
	(void)arg;
}

static unsigned int program_rounds;

static void be_program(void *arg)
{
	if (arg)
		records.privileged = current->pid;
	user_exec(!!arg);
	user_map_code();
	if (!arg && !program_rounds)
		user_map_file(LONG_NAME, 0x500000);
	user_work(5);
}

static void count_programs(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 4, .watermark = (long)arg, .flags = VPERFCTR_RING_RECORDS,
	};
	struct task_struct *task[2], *reader;
	unsigned int round, rounds = program_rounds ?: 1, long_names = !program_rounds;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	struct vperfctr_ctr ctr;
	unsigned int i;

	memset(&records, 0, sizeof(records));
	records.fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(records.fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(records.fd, VPERFCTR_RING_OFFSET, ring.map_size);
	records.page = vma->page;
	reader = user_thread("reader", follow_records, NULL);
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -1000000;
	must(user_ioctl(records.fd, VPERFCTR_CONTROL, &control));
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < 2; i++)
			task[i] = user_fork("program", be_program, (void *)(long)i);
		wait_for(task, 2);
		/* None is lost if the reader keeps up. */
		do
			user_sleep(20000);
		while (rounds > 1 && READ_ONCE(records.page->tail) != READ_ONCE(records.page->head));
	}
	must(user_ioctl(records.fd, VPERFCTR_UNLINK, NULL));
	user_wait(reader);
	sim_require(!records.privileged_maps, "the mappings of a program with privileges are told");
	sim_require(!records.page->lost, "%llu records are lost", records.page->lost);
	/* The exec of the second program ends its counting. */
	if (!sim_failures.alloc)
		sim_require(records.told[VPERFCTR_RECORD_FORK] == 2 * rounds &&
			    records.told[VPERFCTR_RECORD_EXEC] == 2 * rounds &&
			    records.told[VPERFCTR_RECORD_MAP] == 2 * rounds + long_names &&
			    records.told[VPERFCTR_RECORD_EXIT] == rounds && records.long_names == long_names,
			    "told of %u forks, %u execs, %u mappings, %u exits",
			    records.told[VPERFCTR_RECORD_FORK], records.told[VPERFCTR_RECORD_EXEC],
			    records.told[VPERFCTR_RECORD_MAP], records.told[VPERFCTR_RECORD_EXIT]);
	user_munmap(vma);
	user_close(records.fd);
}

void sim_records(void)
{
	user_wait(sim_process("programs", 1000, count_programs, (void *)1UL));
}

/* More records than can wait: each takes the place of an old one, of another type. */
void sim_records_again(void)
{
	program_rounds = 12;
	user_wait(sim_process("programs", 1000, count_programs, (void *)1UL));
}

/* A record that finds no room wakes the reader before the watermark. */
void sim_records_watermark(void)
{
	user_wait(sim_process("programs", 1000, count_programs, (void *)4UL));
}
