// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of calls that are refused, and of what calls return.  A call that is refused must
 * change nothing.
 */
#include "scenarios.h"

#define must(call)	sim_must(call)

/* An address that faults. */
#define BAD		8UL

#define SIGNAL		40
#define PERIOD		1000000

static void expect(long ret, long expected, const char *what, unsigned int line)
{
	sim_require(ret == expected, "line %u: %s: %ld, not %ld", line, what, ret, expected);
}

/* For the macros below, whose last argument changes a valid structure. */
#define UNCHANGED	((void)0)

/* ---- CONTROL ---------------------------------------------------------------------------------- */

#define NR_CTRS		2

struct control {
	struct vperfctr_control header;
	struct vperfctr_ctr ctr[NR_CTRS];
};

static void fill(struct control *c)
{
	memset(c, 0, sizeof(*c));
	sim_fill_control(&c->header, &c->ctr[0], 0);
	c->ctr[1] = c->ctr[0];
	c->ctr[1].map = 1;
}

/* The same with an i-mode counter alone. */
static void fill_imode(struct control *c)
{
	fill(c);
	c->header.nractrs = 0;
	c->header.nrictrs = 1;
	c->header.si_signo = SIGNAL;
	c->ctr[0].ireset = -PERIOD;
}

/* CONTROL with a change of a valid one: `h` is its header, and `ctr` its counters. */
#define CONTROL_OF(fill_it, expected, change)						\
do {											\
	struct control all;								\
	struct vperfctr_control *h = &all.header;					\
	struct vperfctr_ctr *ctr = all.ctr;						\
											\
	fill_it(&all);									\
	(void)ctr;									\
	change;										\
	expect(user_ioctl(fd, VPERFCTR_CONTROL, h), expected, #change, __LINE__);	\
} while (0)
#define CONTROL(expected, change)	CONTROL_OF(fill, expected, change)
#define IMODE(expected, change)		CONTROL_OF(fill_imode, expected, change)

/* A newer program's structures are larger, and have counters of another size. */
struct large_ctr {
	struct vperfctr_ctr ctr;
	u64 more;
};

static long control_of_other_size(int fd, u32 more, u64 value, u64 more_of_ctr)
{
	struct {
		struct vperfctr_control header;
		u64 more[2];
	} large = {};
	struct large_ctr ctr[NR_CTRS] = {};
	struct control c;

	fill(&c);
	large.header = c.header;
	large.header.size += more;
	large.header.nractrs = NR_CTRS;
	large.header.ctr = (unsigned long)ctr;
	large.header.ctr_size = sizeof(ctr[0]);
	large.more[0] = value;
	ctr[0].ctr = c.ctr[0];
	ctr[1].ctr = c.ctr[1];
	ctr[1].more = more_of_ctr;
	return user_ioctl(fd, VPERFCTR_CONTROL, &large);
}

static void refuse_controls(int fd)
{
	CONTROL(-EFAULT, h = (void *)BAD);
	CONTROL(-EINVAL, h->size = 8);
	CONTROL(-E2BIG, h->size = PAGE_SIZE + 8);
	CONTROL(-EINVAL, h->flags = 0x40);
	CONTROL(-EINVAL, h->reserved = 1);
	CONTROL(-EINVAL, h->tsc_on = 2);
	CONTROL(-EINVAL, h->ctr_size = 0);
	CONTROL(-EINVAL, h->ctr_size = sizeof(*ctr) - 8);
	CONTROL(-EINVAL, h->ctr_size = sizeof(*ctr) + 4);
	CONTROL(-EINVAL, h->ctr_size = PAGE_SIZE + 8);
	CONTROL(-EFAULT, h->ctr = BAD);
	CONTROL(-EFAULT, (h->ctr = BAD, h->ctr_size = sizeof(*ctr) + 8));
	CONTROL(-EINVAL, ctr[0].reserved = 1);
	CONTROL(-EINVAL, (h->nractrs = 2, ctr[1].reserved = 1));
	CONTROL(-EINVAL, h->nractrs = VPERFCTR_MAX_CTRS + 1);
	CONTROL(-EINVAL, (h->nractrs = UINT_MAX, h->nrictrs = 2, h->si_signo = SIGNAL));
	CONTROL(-EINVAL, (h->nractrs = 2, ctr[1].map = 0));
	CONTROL(-EINVAL, ctr[0].ireset = -PERIOD);
	CONTROL(-EINVAL, ctr[0].map = VPERFCTR_FIXED + 99);
	CONTROL(-EINVAL, h->soft = 1ULL << 40);
	CONTROL(-EINVAL, (h->soft = VPERFCTR_SOFT_TASK_CLOCK, h->tsc_on = 0));
	CONTROL(-EINVAL, h->kind = 1);
	CONTROL(-EINVAL, h->nrkinds = 1);
	CONTROL(-EINVAL, h->kind = VPERFCTR_ANY_KIND);
	CONTROL(-EINVAL, (h->kind = VPERFCTR_ANY_KIND, h->nrkinds = 2));
	CONTROL(-EINVAL, (h->kind = VPERFCTR_ANY_KIND, h->nrkinds = 1, h->nractrs = 0));
	CONTROL(-EINVAL, (h->kind = VPERFCTR_ANY_KIND, h->nrkinds = 1, h->nractrs = 30));
	CONTROL(-EINVAL, (h->kind = 1, h->nractrs = 0));
	CONTROL(-EINVAL, h->preserve = 2);
	CONTROL(-EINVAL, (h->preserve = 1, h->nractrs = 0));
	CONTROL(-EINVAL, h->si_signo = SIGNAL);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_RING);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_END_ON_EXEC | VPERFCTR_CONTROL_START_ON_EXEC);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_END_ON_EXEC | VPERFCTR_CONTROL_INHERIT);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_INHERIT_THREADS);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_SPREAD);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_SPREAD | VPERFCTR_CONTROL_INHERIT);
	CONTROL(-EINVAL, (h->flags = VPERFCTR_CONTROL_INHERIT, h->nractrs = 0, h->tsc_on = 0));
	expect(control_of_other_size(fd, 8, 1, 0), -E2BIG, "a header with more", __LINE__);
	expect(control_of_other_size(fd, 8, 0, 1), -E2BIG, "a counter with more", __LINE__);

	IMODE(-EINVAL, h->si_signo = 65);
	IMODE(-EINVAL, h->si_signo = -1);
	IMODE(-EINVAL, ctr[0].ireset = 0);
	IMODE(-EINVAL, ctr[0].ireset = PERIOD);
	IMODE(-EINVAL, ctr[0].ireset = -(1LL << 62));
	IMODE(-EINVAL, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_INHERIT));
	/* There is no ring. */
	IMODE(-EINVAL, h->flags = VPERFCTR_CONTROL_RING);
	IMODE(-EINVAL, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_RING));

	/* Samples by thread time need a ring. */
	CONTROL(-EINVAL, h->clock_period = VPERFCTR_CLOCK_MIN);
	/* The caller has no right to count the kernel. */
	CONTROL(-EPERM, sim_count_kernel(&ctr[0]));
	/* Calls with an argument that must be 0. */
	expect(user_ioctl(fd, VPERFCTR_SUSPEND, (void *)BAD), -EINVAL, "SUSPEND", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_RESUME, (void *)BAD), -EINVAL, "RESUME", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_IRESUME, (void *)BAD), -EINVAL, "IRESUME", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_UNLINK, (void *)BAD), -EINVAL, "UNLINK", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_READ_CPUS, NULL), -ENOTTY, "READ_CPUS of a thread", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_CONSUME, (void *)1UL), -EINVAL, "CONSUME without a ring", __LINE__);
	expect(user_device_ioctl(VPERFCTR_READ, NULL), -ENOTTY, "READ of the device", __LINE__);
}

/* ---- READ ------------------------------------------------------------------------------------- */

struct reading {
	struct vperfctr_read req;
	u64 own[1 + NR_CTRS], children[1 + NR_CTRS];
	struct control control;
	struct vperfctr_soft soft;
};

static void fill_read(struct reading *r)
{
	memset(r, 0, sizeof(*r));
	r->req = (struct vperfctr_read) {
		.size = sizeof(r->req), .nrctrs = NR_CTRS, .sums = (unsigned long)r->own,
		.children = (unsigned long)r->children, .control = (unsigned long)&r->control,
		.soft = (unsigned long)&r->soft,
	};
	r->control.header.size = sizeof(r->control.header);
	r->control.header.ctr_size = sizeof(r->control.ctr[0]);
	r->control.header.ctr = (unsigned long)r->control.ctr;
	r->soft.size = sizeof(r->soft);
}

#define READ(expected, change)								\
do {											\
	struct reading r;								\
											\
	fill_read(&r);									\
	change;										\
	expect(user_ioctl(fd, VPERFCTR_READ, &r.req), expected, #change, __LINE__);	\
} while (0)

static void refuse_reads(int fd)
{
	struct reading r;

	expect(user_ioctl(fd, VPERFCTR_READ, (void *)BAD), -EFAULT, "READ", __LINE__);
	READ(-EINVAL, r.req.size = 8);
	READ(-E2BIG, r.req.size = PAGE_SIZE + 8);
	READ(-EINVAL, r.req.flags = 4);
	READ(-EFAULT, r.req.sums = BAD);
	READ(-EFAULT, r.req.children = BAD);
	READ(-EFAULT, r.req.control = BAD);
	READ(-EFAULT, r.req.soft = BAD);
	READ(-EINVAL, r.control.header.size = 8);
	READ(-E2BIG, r.control.header.size = PAGE_SIZE + 8);
	READ(-EINVAL, r.control.header.ctr_size = 8);
	READ(-EFAULT, r.control.header.ctr = BAD);
	READ(-EINVAL, r.soft.size = 8);
	/* Room is missing: READ tells how much. */
	fill_read(&r);
	r.req.nrctrs = 1;
	expect(user_ioctl(fd, VPERFCTR_READ, &r.req), -EOVERFLOW, "READ", __LINE__);
	expect(r.req.nrctrs, NR_CTRS, "nrctrs", __LINE__);
	/* Each address is optional. */
	READ(0, (r.req.sums = 0, r.req.children = 0, r.req.control = 0, r.req.soft = 0));
	READ(0, r.control.header.ctr = 0);
}

/* Check that READ returns the control that CONTROL was given. */
static void check_control(int fd, const struct control *c, u32 status)
{
	struct reading r;
	unsigned int i;

	/* READ overwrites what the caller has left there. */
	fill_read(&r);
	memset(&r.control.header, 0x5a, sizeof(r.control.header));
	r.control.header.size = sizeof(r.control.header);
	r.control.header.ctr_size = sizeof(r.control.ctr[0]);
	r.control.header.ctr = (unsigned long)r.control.ctr;
	r.req.children_missed = 5;
	must(user_ioctl(fd, VPERFCTR_READ, &r.req));
	expect(r.req.children_missed, 0, "children_missed", __LINE__);
	expect(r.req.nrctrs, c->header.nractrs + c->header.nrictrs, "nrctrs", __LINE__);
	expect(r.req.status, status, "status", __LINE__);
	expect(r.control.header.flags, c->header.flags, "flags", __LINE__);
	expect(r.control.header.tsc_on, c->header.tsc_on, "tsc_on", __LINE__);
	expect(r.control.header.nractrs, c->header.nractrs, "nractrs", __LINE__);
	expect(r.control.header.nrictrs, c->header.nrictrs, "nrictrs", __LINE__);
	expect(r.control.header.si_signo, c->header.si_signo, "si_signo", __LINE__);
	expect(r.control.header.preserve, c->header.preserve, "preserve", __LINE__);
	expect(r.control.header.global[0], c->header.global[0], "global[0]", __LINE__);
	expect(r.control.header.global[1], c->header.global[1], "global[1]", __LINE__);
	expect(r.control.header.kind, c->header.kind, "kind", __LINE__);
	expect(r.control.header.soft, c->header.soft, "soft", __LINE__);
	expect(r.control.header.nrkinds, c->header.nrkinds, "nrkinds", __LINE__);
	expect(r.control.header.reserved, 0, "reserved", __LINE__);
	expect(r.control.header.clock_period, c->header.clock_period, "clock_period", __LINE__);
	for (i = 0; i < r.req.nrctrs; i++)
		sim_require(!memcmp(&r.control.ctr[i], &c->ctr[i], sizeof(c->ctr[i])),
			    "counter %u of the control is another one", i);
	expect(r.soft.soft, c->header.soft, "soft", __LINE__);
	expect(r.soft.reserved, 0, "reserved", __LINE__);
	fill_read(&r);
	r.req.flags = VPERFCTR_READ_OWNER;
	must(user_ioctl(fd, VPERFCTR_READ, &r.req));
	expect(r.req.status, status | VPERFCTR_STATUS_OWNER, "status", __LINE__);
}

/* A caller with other sizes gets and gives what both sides know, and zeros. */
static void use_other_sizes(int fd, u64 before)
{
	struct {
		struct vperfctr_control header;
		u64 more;
	} header;
	struct large_ctr ctr[NR_CTRS];
	struct {
		struct vperfctr_soft soft;
		u64 more;
	} soft;
	struct reading r;
	struct control c;

	fill(&c);
	fill_read(&r);
	memset(&header, 0xff, sizeof(header));
	memset(ctr, 0xff, sizeof(ctr));
	memset(&soft, 0xff, sizeof(soft));
	header.header.size = sizeof(header);
	header.header.ctr = (unsigned long)ctr;
	header.header.ctr_size = sizeof(ctr[0]);
	soft.soft.size = sizeof(soft);
	r.req.control = (unsigned long)&header;
	r.req.soft = (unsigned long)&soft;
	must(user_ioctl(fd, VPERFCTR_READ, &r.req));
	expect(header.header.size, sizeof(header), "size", __LINE__);
	expect(header.more, 0, "more of the header", __LINE__);
	expect(ctr[0].more | ctr[1].more, 0, "more of the counters", __LINE__);
	expect(ctr[1].ctr.evntsel, c.ctr[1].evntsel, "evntsel", __LINE__);
	expect(ctr[1].ctr.map, 1, "map", __LINE__);
	expect(soft.more, 0, "more of struct vperfctr_soft", __LINE__);
	sim_require(r.own[1] == current->sim->executed - before && r.own[2] == r.own[1],
		    "counted %llu and %llu, not %llu", r.own[1], r.own[2],
		    current->sim->executed - before);
	/* An older one does not know the last field. */
	memset(&header, 0xff, sizeof(header));
	header.header.size = offsetof(struct vperfctr_control, clock_period);
	header.header.ctr = 0;
	header.header.ctr_size = sizeof(ctr[0]);
	must(user_ioctl(fd, VPERFCTR_READ, &r.req));
	expect(header.header.clock_period, -1, "clock_period", __LINE__);
	expect(header.header.nractrs, NR_CTRS, "nractrs", __LINE__);
}

/* ---- OPEN ------------------------------------------------------------------------------- */

#define OPEN(expected, change)								\
do {											\
	struct vperfctr_open o = { .size = sizeof(o), .flags = VPERFCTR_OPEN_CREAT };	\
											\
	change;										\
	expect(user_device_ioctl(VPERFCTR_OPEN, &o), expected, #change, __LINE__);	\
} while (0)

static void refuse_opens(bool has_state)
{
	struct control c;

	fill(&c);
	c.header.tsc_on = 2;
	expect(user_device_ioctl(VPERFCTR_OPEN, (void *)BAD), -EFAULT, "OPEN", __LINE__);
	OPEN(-EINVAL, o.size = 16);
	OPEN(-E2BIG, o.size = PAGE_SIZE + 8);
	OPEN(-EINVAL, o.flags = 0x40);
	OPEN(-EINVAL, o.reserved = 1);
	OPEN(-EINVAL, o.flags = VPERFCTR_OPEN_TRANSIENT);
	OPEN(-EINVAL, o.flags = VPERFCTR_OPEN_KEEP);
	OPEN(-EINVAL, o.flags = VPERFCTR_OPEN_LOCKED);
	OPEN(-EINVAL, o.flags = VPERFCTR_OPEN_OBSERVER);
	OPEN(-EINVAL, (o.flags = 0, o.control = (unsigned long)&c));
	OPEN(-EINVAL, o.flags |= VPERFCTR_OPEN_TRANSIENT | VPERFCTR_OPEN_KEEP);
	OPEN(-EINVAL, o.flags |= VPERFCTR_OPEN_OBSERVER | VPERFCTR_OPEN_KEEP);
	OPEN(-EINVAL, o.flags |= VPERFCTR_OPEN_LOCKED);
	OPEN(-ESRCH, o.tid = 9999);
	OPEN(-ESRCH, o.tid = -1);
	if (has_state) {
		OPEN(-EEXIST, UNCHANGED);
		OPEN(-EEXIST, o.control = (unsigned long)&c);
		return;
	}
	OPEN(-ENOENT, o.flags = 0);
	/* If its control is refused, there is no state. */
	OPEN(-EINVAL, o.control = (unsigned long)&c);
	OPEN(-EFAULT, o.control = BAD);
	OPEN(-ENOENT, o.flags = 0);
}

/* ---- RING ------------------------------------------------------------------------------------- */

#define RING(expected, change)								\
do {											\
	struct vperfctr_ring ring = {							\
		.size = sizeof(ring), .nrsamples = 8, .watermark = 1, .nrsums = 1,	\
	};										\
											\
	change;										\
	expect(user_ioctl(fd, VPERFCTR_RING, &ring), expected, #change, __LINE__);	\
} while (0)

static void refuse_rings(int fd)
{
	expect(user_ioctl(fd, VPERFCTR_RING, (void *)BAD), -EFAULT, "RING", __LINE__);
	RING(-EINVAL, ring.size = 8);
	RING(-EINVAL, ring.flags = 4);
	RING(-EINVAL, ring.nrsamples = 0);
	RING(-EINVAL, ring.nrsamples = 6);
	RING(-EINVAL, ring.nrsamples = 2 * VPERFCTR_RING_MAX);
	RING(-EINVAL, ring.watermark = 0);
	RING(-EINVAL, ring.watermark = 9);
	RING(-EINVAL, ring.nrsums = VPERFCTR_MAX_CTRS + 1);
	RING(-EINVAL, ring.depth = VPERFCTR_CHAIN_MAX + 1);
	RING(-EINVAL, ring.stack = 4);
	RING(-EINVAL, ring.stack = VPERFCTR_STACK_MAX + 8);
	RING(-EINVAL, ring.kernel_depth = 1);
	RING(-EINVAL, (ring.flags = VPERFCTR_RING_KERNEL, ring.kernel_depth = VPERFCTR_CHAIN_MAX + 1));
	RING(-EPERM, ring.flags = VPERFCTR_RING_KERNEL);
}

/* With a ring, its controls are valid, and those of signals are not. */
static void use_ring(int fd)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 8, .watermark = 8, .nrsums = 2, .depth = 3, .stack = 16,
	}, again;
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	again = ring;
	again.sample_size = 0;
	again.map_size = 0;
	again.depth = 0;
	expect(user_ioctl(fd, VPERFCTR_RING, &again), -EEXIST, "a second RING", __LINE__);
	sim_require(again.sample_size == ring.sample_size && again.map_size == ring.map_size,
		    "the ring has other sizes: %u and %llu", again.sample_size, again.map_size);
	sim_require(!user_mmap(fd, VPERFCTR_RING_OFFSET, ring.map_size - PAGE_SIZE) &&
		    !user_mmap(fd, VPERFCTR_RING_OFFSET, ring.map_size + PAGE_SIZE) &&
		    !user_mmap(fd, VPERFCTR_RING_OFFSET + PAGE_SIZE, ring.map_size) &&
		    !user_mmap(fd, PAGE_SIZE, PAGE_SIZE) && !user_mmap(fd, 0, 2 * PAGE_SIZE),
		    "a mapping of a wrong size, or at a wrong place");
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	expect(page->format, VPERFCTR_RING_FORMAT, "format", __LINE__);
	expect(page->size, sizeof(*page), "size", __LINE__);
	expect(page->flags, 0, "flags", __LINE__);
	expect(page->nrsamples, 8, "nrsamples", __LINE__);
	expect(page->watermark, 8, "watermark", __LINE__);
	expect(page->nrsums, 2, "nrsums", __LINE__);
	expect(page->depth, 3, "depth", __LINE__);
	expect(page->stack, 16, "stack", __LINE__);
	expect(page->kernel_depth, 0, "kernel_depth", __LINE__);
	expect(page->sample_size, ring.sample_size, "sample_size", __LINE__);
	expect(page->data, PAGE_SIZE, "data", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_CONSUME, (void *)1UL), -EINVAL, "CONSUME of nothing", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_CONSUME, NULL), 0, "CONSUME", __LINE__);
	IMODE(-EINVAL, h->flags = VPERFCTR_CONTROL_RING);
	IMODE(0, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_RING));
	IMODE(0, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT));
	IMODE(-EINVAL, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_RING,
			h->clock_period = VPERFCTR_CLOCK_MIN));
	CONTROL(-EINVAL, (h->flags = VPERFCTR_CONTROL_RING, h->clock_period = VPERFCTR_CLOCK_MIN - 1));
	CONTROL(-EINVAL, (h->flags = VPERFCTR_CONTROL_RING, h->clock_period = VPERFCTR_CLOCK_MAX + 1));
	CONTROL(-EINVAL, (h->flags = VPERFCTR_CONTROL_RING, h->clock_period = VPERFCTR_CLOCK_MIN,
			  h->tsc_on = 0));
	CONTROL(-EINVAL, h->clock_period = VPERFCTR_CLOCK_MIN);
	CONTROL(0, (h->flags = VPERFCTR_CONTROL_RING, h->clock_period = VPERFCTR_CLOCK_MIN));
	CONTROL(0, (h->flags = VPERFCTR_CONTROL_RING, h->clock_period = VPERFCTR_CLOCK_MAX));
	user_munmap(vma);
}

/* ---- fdinfo ------------------------------------------------------------------------------------ */

static void check_fdinfo(int fd, u32 status)
{
	char text[400], expected[400];
	struct reading r;

	/* Suspended, so that both have the same counts. */
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	fill_read(&r);
	must(user_ioctl(fd, VPERFCTR_READ, &r.req));
	snprintf(expected, sizeof(expected),
		 "vperfctr-owner:\t%d\nvperfctr-status:\t0x%x\nvperfctr-tsc:\t%llu\n"
		 "vperfctr-pmc0:\t%llu\nvperfctr-pmc1:\t%llu\n", current->pid,
		 status | VPERFCTR_STATUS_SUSPENDED, r.own[0], r.own[1], r.own[2]);
	user_fdinfo(fd, text, sizeof(text));
	sim_require(!strcmp(text, expected), "fdinfo is\n%snot\n%s", text, expected);
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
}

static void work_as_grandchild(void *arg)
{
	user_work(5);
	(void)arg;
}

/* A member has no descendants of its own: its root has them. */
static void read_as_member(void *arg)
{
	int fd = must(sim_open(0, 0));
	struct reading r;
	unsigned int i;

	user_wait(user_fork("grandchild", work_as_grandchild, NULL));
	fill_read(&r);
	memset(r.children, 0x5a, sizeof(r.children));
	r.req.flags = VPERFCTR_READ_MEMBERS;
	must(user_ioctl(fd, VPERFCTR_READ, &r.req));
	for (i = 0; i <= r.req.nrctrs; i++)
		expect(r.children[i], 0, "children of a member", __LINE__);
	for (i = 0; i < VPERFCTR_NR_SOFT; i++)
		expect(r.soft.count[i].children, 0, "software counters of a member's children", __LINE__);
	user_close(fd);
	(void)arg;
}

/* ---- the thread that calls -------------------------------------------------------------------- */

/* Make calls that are refused or only read.  The control counts on through all of them. */
static void call(void *arg)
{
	struct vm_area_struct *vma;
	struct control c;
	u64 before;
	int fd;

	refuse_opens(false);
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	refuse_opens(true);
	expect(user_ioctl(fd, VPERFCTR_SUSPEND, NULL), -EINVAL, "SUSPEND of nothing", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_RESUME, NULL), -EINVAL, "RESUME of nothing", __LINE__);
	refuse_controls(fd);
	expect(sim_is_hardware_reserved(), false, "the hardware is reserved", __LINE__);

	fill(&c);
	c.header.nractrs = NR_CTRS;
	c.header.soft = VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_MIGRATIONS;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	before = current->sim->executed;
	user_work(10);
	refuse_controls(fd);
	refuse_reads(fd);
	refuse_rings(fd);
	expect(user_ioctl(fd, VPERFCTR_IRESUME, NULL), -ENODATA, "IRESUME of nothing", __LINE__);
	user_work(10);
	check_control(fd, &c, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE);
	use_other_sizes(fd, before);
	sim_require(!user_maps_wrongly(fd), "the page can be mapped in a wrong way");
	vma = user_mmap_executable(fd, 0, PAGE_SIZE);
	sim_require(vma, "a program with READ_IMPLIES_EXEC cannot map the page");
	user_munmap(vma);
	check_fdinfo(fd, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	check_control(fd, &c, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE | VPERFCTR_STATUS_SUSPENDED);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	must(control_of_other_size(fd, 16, 0, 0));
	before = current->sim->executed;
	user_work(10);
	use_other_sizes(fd, before);

	fill_imode(&c);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	check_control(fd, &c, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE);
	fill(&c);
	c.header.nractrs = NR_CTRS;
	c.header.soft = VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_CONTEXT_SWITCHES;
	c.header.flags = VPERFCTR_CONTROL_INHERIT;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	user_wait(user_fork("member", read_as_member, NULL));
	fill(&c);
	c.header.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &c.header));
	check_control(fd, &c, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE | VPERFCTR_STATUS_ARMED);
	use_ring(fd);
	user_close(fd);
	(void)arg;
}

void sim_calls(void)
{
	user_wait(sim_process("calls", 1000, call, NULL));
}

/* ---- calls of the device ---------------------------------------------------------------------- */

#define CPUS_OF(cmd, type, expected, change)						\
do {											\
	struct {									\
		struct type req;							\
		u32 words[2];								\
	} m = { .req = { .size = sizeof(m.req), .nrwords = 1 }, .words = { 77, 77 } };	\
											\
	change;										\
	expect(user_device_ioctl(cmd, &m), expected, #change, __LINE__);		\
	mask = m.words[0];								\
	sim_require(m.words[1] == 77, "line %u: a word too many", __LINE__);		\
} while (0)
#define CPUS(expected, change)							\
	CPUS_OF(VPERFCTR_CPUS, vperfctr_cpu_mask, expected, change)
#define KIND_CPUS(expected, change)						\
	CPUS_OF(VPERFCTR_KIND_CPUS, vperfctr_kind_cpus, expected, change)

static void ask_for_cpus(void)
{
	u32 all = (1U << nr_cpu_ids) - 1, kinds[2], mask;
	bool hybrid = sim_processor.others;

	CPUS(-EINVAL, m.req.size = 4);
	CPUS(-EINVAL, (m.req.size = 10, m.words[0] = 0));
	CPUS(-E2BIG, m.req.size = PAGE_SIZE + 8);
	CPUS(-EOVERFLOW, m.req.nrwords = 0);
	CPUS(0, UNCHANGED);
	expect(mask, all, "CPUS", __LINE__);
	CPUS(0, m.req.nrwords = 2);
	expect(user_device_ioctl(VPERFCTR_CPUS, (void *)BAD), -EFAULT, "CPUS", __LINE__);
	CPUS_OF(VPERFCTR_CPUS_FORBIDDEN, vperfctr_cpu_mask, 0, UNCHANGED);
	expect(mask, 0, "CPUS_FORBIDDEN", __LINE__);

	expect(user_device_ioctl(VPERFCTR_KIND_CPUS, (void *)BAD), -EFAULT, "KIND_CPUS", __LINE__);
	KIND_CPUS(-EINVAL, m.req.size = 8);
	KIND_CPUS(-EINVAL, (m.req.size = 18, m.words[0] = 0));
	KIND_CPUS(-EOVERFLOW, m.req.nrwords = 0);
	KIND_CPUS(-EINVAL, m.req.kind = hybrid ? 2 : 1);
	KIND_CPUS(-EINVAL, m.req.nrkinds = 1);
	KIND_CPUS(-EINVAL, (m.req.kind = VPERFCTR_ANY_KIND, m.req.nrkinds = hybrid ? 3 : 2));
	KIND_CPUS(0, m.req.kind = 0);
	kinds[0] = mask;
	if (!hybrid) {
		expect(mask, all, "KIND_CPUS", __LINE__);
		return;
	}
	KIND_CPUS(0, m.req.kind = 1);
	kinds[1] = mask;
	sim_require(kinds[0] && kinds[1] && (kinds[0] ^ kinds[1]) == all, "the kinds are of the CPUs %#x and %#x",
		    kinds[0], kinds[1]);
	KIND_CPUS(0, (m.req.kind = VPERFCTR_ANY_KIND, m.req.nrkinds = 1));
	expect(mask, kinds[0], "KIND_CPUS of the first kind", __LINE__);
	KIND_CPUS(0, m.req.kind = VPERFCTR_ANY_KIND);
	expect(mask, all, "KIND_CPUS of all kinds", __LINE__);
}

static void ask_for_info(bool privileged)
{
	struct {
		struct vperfctr_info info;
		u64 more;
	} large = { .info.size = sizeof(large), .more = 5 };
	struct vperfctr_info info = { .size = sizeof(info) };

	must(user_device_ioctl(VPERFCTR_INFO, &info));
	must(user_device_ioctl(VPERFCTR_INFO, &large));
	expect(large.more, 0, "more of INFO", __LINE__);
	expect(large.info.size, sizeof(info), "size", __LINE__);
	expect(info.abi_version, VPERFCTR_ABI_VERSION, "abi_version", __LINE__);
	expect(info.nrkinds, sim_processor.others ? 2 : 1, "nrkinds", __LINE__);
	expect(!(info.features & VPERFCTR_FEATURE_KERNEL), !privileged, "KERNEL", __LINE__);
	sim_require((info.features & VPERFCTR_FEATURE_INHERIT) && (info.features & VPERFCTR_FEATURE_ANY_KIND) &&
		    (info.features & VPERFCTR_FEATURE_PCINT) && (info.features & VPERFCTR_FEATURE_CPUS) &&
		    (info.features & VPERFCTR_FEATURE_INHERIT_IMODE) &&
		    (info.features & VPERFCTR_FEATURE_CLOCK) && (info.features & VPERFCTR_FEATURE_RECORDS),
		    "the features are %#x", info.features);
	sim_require(info.driver_version[0] && info.cpu_name[0] && info.soft && info.nrctrs, "INFO is incomplete");
	info.size = 8;
	expect(user_device_ioctl(VPERFCTR_INFO, &info), -EINVAL, "a small INFO", __LINE__);
	info.size = PAGE_SIZE + 8;
	expect(user_device_ioctl(VPERFCTR_INFO, &info), -E2BIG, "a large INFO", __LINE__);
	info.size = sizeof(info);
	info.kind = info.nrkinds;
	expect(user_device_ioctl(VPERFCTR_INFO, &info), -EINVAL, "INFO of a kind", __LINE__);
	info.kind = info.nrkinds - 1;
	must(user_device_ioctl(VPERFCTR_INFO, &info));
	expect(info.kind, info.nrkinds - 1, "kind", __LINE__);
	expect(user_device_ioctl(VPERFCTR_INFO, (void *)BAD), -EFAULT, "INFO", __LINE__);
}

/* ---- sets of CPUs ----------------------------------------------------------------------------- */

#define OPEN_CPUS(expected, change)							\
do {											\
	struct vperfctr_open_cpus o = {							\
		.size = sizeof(o), .nrwords = 1, .mask = (unsigned long)mask,		\
	};										\
											\
	mask[0] = 1;									\
	change;										\
	expect(user_device_ioctl(VPERFCTR_OPEN_CPUS, &o), expected, #change, __LINE__);	\
} while (0)

static void refuse_sets(void)
{
	u32 mask[2] = {};

	expect(user_device_ioctl(VPERFCTR_OPEN_CPUS, (void *)BAD), -EFAULT, "OPEN_CPUS", __LINE__);
	OPEN_CPUS(-EINVAL, o.size = 8);
	OPEN_CPUS(-EINVAL, o.flags = 2);
	OPEN_CPUS(-EINVAL, o.nrcpus = 1);
	OPEN_CPUS(-EINVAL, o.nrwords = 0);
	OPEN_CPUS(-EINVAL, o.nrwords = VPERFCTR_CPUS_MAX_WORDS + 1);
	OPEN_CPUS(-EINVAL, mask[0] = 0);
	OPEN_CPUS(-ENODEV, mask[0] = 1U << nr_cpu_ids);
	OPEN_CPUS(-ENODEV, (o.nrwords = 2, mask[1] = 1));
	OPEN_CPUS(-EFAULT, o.mask = BAD);
}

#define READ_CPUS(expected, change)							\
do {											\
	struct vperfctr_cpu cpus[2] = {};						\
	u64 sums[2 * 2] = {};								\
	struct vperfctr_read_cpus r = {							\
		.size = sizeof(r), .nrcpus = 2, .nrctrs = 1, .cpus = (unsigned long)cpus,	\
		.sums = (unsigned long)sums,						\
	};										\
											\
	change;										\
	expect(user_ioctl(fd, VPERFCTR_READ_CPUS, &r), expected, #change, __LINE__);	\
	if (!(expected) || (expected) == -EOVERFLOW)					\
		sim_require(r.nrcpus == 2 && r.nrctrs == nrctrs,			\
			    "line %u: %u CPUs, %u counters", __LINE__, r.nrcpus, r.nrctrs);	\
	if (!(expected))								\
		expect(r.status, status, "status of a set", __LINE__);			\
	if (!(expected) && r.cpus)							\
		sim_require(cpus[0].cpu == 0 && cpus[1].cpu == 1 &&			\
			    !(cpus[0].status & VPERFCTR_CPU_STATUS_COUNTS) == (status != VPERFCTR_STATUS_ACTIVE), \
			    "line %u: CPUs %u and %u, of the status %#x", __LINE__, cpus[0].cpu,	\
			    cpus[1].cpu, cpus[0].status);					\
} while (0)

static void use_set(void)
{
	u32 words = 3, status = 0, nrctrs = 0;
	char text[100];
	struct vperfctr_open_cpus o = { .size = sizeof(o), .nrwords = 1, .mask = (unsigned long)&words };
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1 };
	int fd = must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &o));
	struct vm_area_struct *vma;

	expect(o.nrcpus, 2, "CPUs of the set", __LINE__);
	READ_CPUS(0, UNCHANGED);
	user_fdinfo(fd, text, sizeof(text));
	sim_require(!strcmp(text, "vperfctr-cpus:\t0,1\nvperfctr-status:\t0x0\n"), "fdinfo is\n%s", text);
	expect(user_ioctl(fd, VPERFCTR_SUSPEND, NULL), -EINVAL, "SUSPEND of nothing", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_CONSUME, NULL), -EINVAL, "CONSUME without a ring", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_READ, NULL), -ENOTTY, "READ of a set", __LINE__);
	expect(user_poll(fd), EPOLLERR, "poll without a ring", __LINE__);
	CONTROL(-EINVAL, h->flags = VPERFCTR_CONTROL_INHERIT);
	CONTROL(-EINVAL, h->soft = VPERFCTR_SOFT_TASK_CLOCK);
	CONTROL(-EINVAL, h->nractrs = 0);
	IMODE(-EINVAL, UNCHANGED);
	IMODE(-EINVAL, h->si_signo = 0);
	IMODE(-EINVAL, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_RING));
	CONTROL(-EFAULT, h = (void *)BAD);
	sim_require(!sim_is_hardware_reserved(), "the hardware is reserved");

	CONTROL(0, UNCHANGED);
	status = VPERFCTR_STATUS_ACTIVE;
	nrctrs = 1;
	READ_CPUS(0, UNCHANGED);
	READ_CPUS(0, r.cpus = 0);
	READ_CPUS(0, r.sums = 0);
	READ_CPUS(-EINVAL, r.size = 8);
	READ_CPUS(-EOVERFLOW, r.nrcpus = 1);
	READ_CPUS(-EOVERFLOW, r.nrctrs = 0);
	READ_CPUS(-EFAULT, r.cpus = BAD);
	READ_CPUS(-EFAULT, r.sums = BAD);
	expect(user_ioctl(fd, VPERFCTR_READ_CPUS, (void *)BAD), -EFAULT, "READ_CPUS", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_SUSPEND, (void *)BAD), -EINVAL, "SUSPEND", __LINE__);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	status |= VPERFCTR_STATUS_SUSPENDED;
	READ_CPUS(0, UNCHANGED);
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	status = VPERFCTR_STATUS_ACTIVE;
	READ_CPUS(0, UNCHANGED);

	ring.flags = VPERFCTR_RING_RECORDS;
	expect(user_ioctl(fd, VPERFCTR_RING, &ring), -EOPNOTSUPP, "RING with records", __LINE__);
	ring.flags = 0;
	expect(user_ioctl(fd, VPERFCTR_RING, (void *)BAD), -EFAULT, "RING", __LINE__);
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	expect(user_ioctl(fd, VPERFCTR_RING, &ring), -EEXIST, "a second RING", __LINE__);
	expect(user_ioctl(fd, VPERFCTR_CONSUME, (void *)1UL), -EINVAL, "CONSUME of nothing", __LINE__);
	expect(user_poll(fd), 0, "poll of an empty ring", __LINE__);
	/* Each CPU has a page, and then there is the ring. */
	sim_require(!user_mmap(fd, 2 * PAGE_SIZE, PAGE_SIZE) && !user_mmap(fd, 0, 2 * PAGE_SIZE),
		    "there are more pages than CPUs");
	vma = sim_must_map(fd, PAGE_SIZE, PAGE_SIZE);
	user_munmap(vma);
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	user_munmap(vma);
	IMODE(0, (h->si_signo = 0, h->flags = VPERFCTR_CONTROL_RING));
	/* A set that stops for good is not suspended any more. */
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	CONTROL(0, (h->nractrs = 0, h->tsc_on = 0));
	status = 0;
	nrctrs = 1;
	READ_CPUS(0, UNCHANGED);
	sim_require(!sim_is_hardware_reserved(), "the hardware is reserved");
	user_close(fd);
}

static void call_device(void *arg)
{
	u32 word = 1;
	struct vperfctr_open_cpus o = { .size = sizeof(o), .nrwords = 1, .mask = (unsigned long)&word };

	ask_for_cpus();
	ask_for_info(arg);
	if (!arg) {
		expect(user_device_ioctl(VPERFCTR_OPEN_CPUS, &o), -EPERM, "OPEN_CPUS", __LINE__);
		return;
	}
	refuse_sets();
	if (!sim_processor.others)
		use_set();
}

void sim_calls_of_device(void)
{
	user_wait(sim_process("user", 1000, call_device, NULL));
	user_wait(sim_process("root", 0, call_device, (void *)1UL));
}
