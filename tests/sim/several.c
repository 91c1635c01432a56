// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios with several counters.  Each has an event of its own, of which an instruction makes
 * another number, so a count that lands in the place of another one shows.
 */
#include "scenarios.h"

#define must(call)	sim_must(call)

#define NR		4

struct control {
	struct vperfctr_control header;
	struct vperfctr_ctr ctr[NR];
};

static void fill(struct control *c, u32 flags)
{
	unsigned int i;

	memset(c, 0, sizeof(*c));
	sim_fill_control(&c->header, &c->ctr[0], flags);
	c->header.nractrs = NR;
	for (i = 1; i < NR; i++) {
		c->ctr[i] = c->ctr[0];
		c->ctr[i].map = i;
		c->ctr[i].evntsel ^= i;		/* the model counts unknown events, too */
	}
}

struct reading {
	struct vperfctr_read req;
	u64 own[1 + NR], children[1 + NR];
};

static int read_all(int fd, struct reading *r, u32 flags)
{
	memset(r, 0, sizeof(*r));
	r->req = (struct vperfctr_read) {
		.size = sizeof(r->req), .nrctrs = NR, .sums = (unsigned long)r->own,
		.children = (unsigned long)r->children, .flags = flags,
	};
	return user_ioctl(fd, VPERFCTR_READ, &r->req);
}

static u64 events[NR];		/* of an instruction */

/* Find how many events of each counter an instruction makes. */
static void find_events(int fd)
{
	struct reading r;
	struct control c;
	unsigned int i, n;

	fill(&c, 0);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	n = current->sim->executed;
	user_work(10);
	n = current->sim->executed - n;
	must(read_all(fd, &r, 0));
	sim_require(r.own[0] == n && r.own[1] == n, "counted %llu and %llu, not %u", r.own[0], r.own[1], n);
	for (i = 0; i < NR; i++) {
		events[i] = r.own[1 + i] / n;
		sim_require(events[i] * n == r.own[1 + i] && (!i || events[i] > 1),
			    "counter %u has counted %llu for %u instructions", i, r.own[1 + i], n);
	}
}

static void check_sums(const char *what, const u64 *sums, u64 executed)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		sim_require(sums[1 + i] == executed * events[i], "%s: counter %u has %llu, not %llu", what, i,
			    sums[1 + i], executed * events[i]);
}

/* ---- a family --------------------------------------------------------------------------------- */

static u64 executed_by_children;
static bool children_may_end;

static void child_works(void *arg)
{
	struct task_struct *child = NULL;

	user_work(20);
	if (arg)
		child = user_fork("grandchild", child_works, NULL);
	while (!READ_ONCE(children_may_end))
		user_work(3);
	executed_by_children += current->sim->executed;
	if (child)
		user_wait(child);
}

static void count_family(int fd)
{
	struct task_struct *task[2];
	struct reading r;
	struct control c;
	unsigned int i, k;
	u64 before;

	fill(&c, VPERFCTR_CONTROL_INHERIT);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	before = current->sim->executed;
	for (i = 0; i < 2; i++)
		task[i] = user_thread("child", child_works, (void *)(unsigned long)i);
	user_work(50);
	for (i = 0; i < 3; i++) {
		must(read_all(fd, &r, VPERFCTR_READ_MEMBERS));
		check_sums("a root", r.own, current->sim->executed - before);
		/* The sums of each member are of one moment. */
		for (k = 1; k < NR; k++)
			sim_require(r.children[1 + k] == r.children[1] * events[k],
				    "children: counter %u has %llu, and the first %llu", k, r.children[1 + k],
				    r.children[1]);
	}
	WRITE_ONCE(children_may_end, true);
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
	must(read_all(fd, &r, 0));
	check_sums("a root", r.own, current->sim->executed - before);
	check_sums("children", r.children, executed_by_children);
	sim_require(r.children[0] == executed_by_children, "the children's time is %llu, not %llu",
		    r.children[0], executed_by_children);
	/* A new control begins anew. */
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	must(read_all(fd, &r, 0));
	check_sums("no children", r.children, 0);
}

/* ---- controls that preserve ------------------------------------------------------------------- */

static void preserve(int fd)
{
	struct control c;
	struct reading r;
	u64 first[NR], before;
	unsigned int i;

	fill(&c, 0);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	user_work(10);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(read_all(fd, &r, 0));
	memcpy(first, r.own + 1, sizeof(first));
	c.header.preserve = 1 << 1 | 1 << 3;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	before = current->sim->executed;
	user_work(10);
	must(read_all(fd, &r, 0));
	for (i = 0; i < NR; i++) {
		u64 sum = (current->sim->executed - before) * events[i] + (i & 1 ? first[i] : 0);

		sim_require(r.own[1 + i] == sum, "counter %u has %llu, not %llu", i, r.own[1 + i], sum);
	}
	/* A counter that the last control did not have has counted nothing. */
	c.header.preserve = 0;
	c.header.nractrs = 2;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	c.header.preserve = 1 << 2 | 1 << 3;
	c.header.nractrs = NR;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	before = current->sim->executed;
	user_work(10);
	must(read_all(fd, &r, 0));
	for (i = 0; i < NR; i++)
		sim_require(r.own[1 + i] == (current->sim->executed - before) * events[i],
			    "counter %u has %llu, not %llu", i, r.own[1 + i],
			    (current->sim->executed - before) * events[i]);
}

/* ---- the page --------------------------------------------------------------------------------- */

static void map_all(int fd)
{
	const volatile struct vperfctr_page *page;
	struct vm_area_struct *vma;
	struct control c;
	struct reading r;
	unsigned int i;

	vma = sim_must_map(fd, 0, PAGE_SIZE);
	page = vma->page;
	fill(&c, 0);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	user_work(10);
	for (i = 0; i < NR; i++)
		sim_require(page->ctr[i].map == i, "counter %u has the register %#x", i, page->ctr[i].map);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(read_all(fd, &r, 0));
	for (i = 0; i < NR; i++)
		sim_require(page->ctr[i].sum == r.own[1 + i] && !page->ctr[i].start,
			    "the page has the sum %llu of counter %u", page->ctr[i].sum, i);
	user_munmap(vma);
}

/* ---- samples ---------------------------------------------------------------------------------- */

static void take_samples(int fd)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = NR + 1 };
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	unsigned int i, k, seen[NR] = {};
	struct control c;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	fill(&c, VPERFCTR_CONTROL_RING);
	c.header.nractrs = 2;
	c.header.nrictrs = 2;
	for (i = 2; i < NR; i++)
		c.ctr[i].ireset = -(s64)(events[i] * 30 * i);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	for (i = 0; i < 60; i++)
		user_work(10);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	for (i = 0; i < page->head && i < 64; i++) {
		struct vperfctr_sample *s = (void *)((char *)page + page->data + i * page->sample_size);

		sim_require(s->overflow && !(s->overflow & ~0xcULL), "sample %u is of the counters %#llx", i,
			    s->overflow);
		for (k = 0; k < NR; k++) {
			seen[k] += s->overflow >> k & 1;
			sim_require(s->sums[k] == s->sums[0] * events[k], "sample %u: counter %u has %llu, and the first %llu",
				    i, k, s->sums[k], s->sums[0]);
		}
		sim_require(!s->sums[NR], "sample %u has a sum of no counter", i);
	}
	sim_require(seen[2] && seen[3], "%u and %u samples", seen[2], seen[3]);
	sim_require(seen[2] * 60 <= 600 && seen[3] * 90 <= 600, "%u and %u samples are too many", seen[2], seen[3]);
	user_munmap(vma);
}

/* The thread has an empty control at first, and a ring in the end. */
static void count_several(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	find_events(fd);
	count_family(fd);
	preserve(fd);
	map_all(fd);
	take_samples(fd);
	user_close(fd);
	(void)arg;
}

void sim_several(void)
{
	user_wait(sim_process("counts", 1000, count_several, NULL));
}

/* ---- CPUs ------------------------------------------------------------------------------------- */

static bool worker_may_end;

static void worker(void *arg)
{
	while (!READ_ONCE(worker_may_end))
		user_work(7);
	(void)arg;
}

static void count_cpus(void *arg)
{
	u32 mask = (1U << nr_cpu_ids) - 1;
	struct vperfctr_open_cpus o = { .size = sizeof(o), .nrwords = 1, .mask = (unsigned long)&mask };
	struct vperfctr_cpu cpus[4];
	u64 sums[4][1 + NR], some = 0;
	struct vperfctr_read_cpus r = {
		.size = sizeof(r), .nrcpus = 4, .nrctrs = NR, .cpus = (unsigned long)cpus,
		.sums = (unsigned long)sums,
	};
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT)), fd;
	unsigned int i, k;
	struct control c;

	find_events(own);
	must(user_ioctl(own, VPERFCTR_UNLINK, NULL));
	user_close(own);
	fd = must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &o));
	fill(&c, 0);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	for (i = 0; i < 3; i++) {
		user_sleep(500);
		r.nrcpus = 4;
		r.nrctrs = NR;
		must(user_ioctl(fd, VPERFCTR_READ_CPUS, &r));
		for (k = 0; k < r.nrcpus * NR; k++) {
			unsigned int cpu = k / NR, n = k % NR;

			sim_require(cpus[cpu].cpu == cpu && sums[cpu][1 + n] == sums[cpu][1] * events[n],
				    "CPU %u: counter %u has %llu, and the first %llu", cpu, n, sums[cpu][1 + n],
				    sums[cpu][1]);
			some += sums[cpu][1 + n];
		}
	}
	sim_require(some, "the CPUs have counted nothing");
	user_close(fd);
	WRITE_ONCE(worker_may_end, true);
	(void)arg;
}

void sim_several_cpus(void)
{
	struct task_struct *task[2];

	task[0] = sim_process("works", 1000, worker, NULL);
	task[1] = sim_process("counts CPUs", 0, count_cpus, NULL);
	user_wait(task[1]);
	user_wait(task[0]);
}
