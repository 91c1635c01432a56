// SPDX-License-Identifier: GPL-2.0
/* Scenarios of software counters. */
#include "scenarios.h"

#define must(call)	sim_must(call)

#define ALL_SOFT	(VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_CONTEXT_SWITCHES | \
			 VPERFCTR_SOFT_MIGRATIONS | VPERFCTR_SOFT_PAGE_FAULTS)

extern unsigned int tsc_khz;

enum { CLOCK, SWITCHES, MIGRATIONS, MINOR, MAJOR };

struct numbers {
	u64 of[VPERFCTR_NR_SOFT];
};

/* The numbers that the kernel keeps of a task: the counters count the differences. */
static struct numbers numbers_of(const struct task_struct *t)
{
	return (struct numbers) { { [SWITCHES] = t->nvcsw + t->nivcsw, [MIGRATIONS] = t->se.nr_migrations,
				    [MINOR] = t->min_flt, [MAJOR] = t->maj_flt } };
}

static void fault(unsigned int minor, unsigned int major)
{
	current->min_flt += minor;
	current->maj_flt += major;
}

static int control_soft(int fd, u64 soft, u32 flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, flags);
	control.soft = soft;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

struct reading {
	struct vperfctr_read req;
	u64 own[2], children[2];
	struct vperfctr_soft soft;
};

static int read_soft(int fd, struct reading *r)
{
	memset(r, 0, sizeof(*r));
	r->soft.size = sizeof(r->soft);
	r->req = (struct vperfctr_read) {
		.size = sizeof(r->req), .nrctrs = 1, .sums = (unsigned long)r->own,
		.children = (unsigned long)r->children, .soft = (unsigned long)&r->soft,
	};
	return user_ioctl(fd, VPERFCTR_READ, &r->req);
}

static u64 ns_of(u64 tsc)
{
	return tsc / tsc_khz * NSEC_PER_MSEC + tsc % tsc_khz * NSEC_PER_MSEC / tsc_khz;
}

static void check_between(const char *what, u64 value, u64 least, u64 most)
{
	sim_require(value >= least && value <= most, "%s: %llu, not between %llu and %llu", what,
		    value, least, most);
}

/* Others may switch or move this thread within the calls; its faults are its own. */
static void check_own(int fd, const struct numbers *begin, const struct numbers *began)
{
	struct numbers before = numbers_of(current), after;
	struct reading r;

	must(read_soft(fd, &r));
	after = numbers_of(current);
	sim_require(r.soft.soft == ALL_SOFT, "the counters are %#llx", r.soft.soft);
	check_between("task clock", r.soft.count[CLOCK].own, ns_of(r.own[0]), ns_of(r.own[0]));
	check_between("switches", r.soft.count[SWITCHES].own, before.of[SWITCHES] - began->of[SWITCHES],
		      after.of[SWITCHES] - begin->of[SWITCHES]);
	check_between("migrations", r.soft.count[MIGRATIONS].own,
		      before.of[MIGRATIONS] - began->of[MIGRATIONS],
		      after.of[MIGRATIONS] - begin->of[MIGRATIONS]);
	check_between("minor faults", r.soft.count[MINOR].own, before.of[MINOR] - begin->of[MINOR],
		      before.of[MINOR] - begin->of[MINOR]);
	check_between("major faults", r.soft.count[MAJOR].own, before.of[MAJOR] - begin->of[MAJOR],
		      before.of[MAJOR] - begin->of[MAJOR]);
}

static struct numbers of_child;

static void child_faults(void *arg)
{
	fault(7, 3);
	user_work(10);
	user_sleep(50);
	of_child = numbers_of(current);
	(void)arg;
}

/* Another process. */
static void read_other(void *arg)
{
	int fd = (long)arg;
	struct reading r;
	unsigned int i;
	u64 last = 0;

	for (i = 0; i < 8; i++) {
		must(read_soft(fd, &r));
		sim_require(r.soft.count[MINOR].own >= last, "the faults go back");
		last = r.soft.count[MINOR].own;
		user_work(3);
	}
	user_close(fd);
}

static void count_soft(void *arg)
{
	struct numbers begin, began, paused, resumed, ended;
	struct task_struct *child, *reader;
	struct reading r;
	unsigned int i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	fault(5, 4);
	begin = numbers_of(current);
	must(control_soft(fd, ALL_SOFT, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS));
	began = numbers_of(current);
	reader = user_fork("reads", read_other, (void *)(long)fd);
	for (i = 0; i < 6; i++) {
		user_work(10);
		fault(1, i & 1);
		user_sleep(20);
		check_own(fd, &begin, &began);
	}
	/* Suspended counters count nothing. */
	paused = numbers_of(current);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(read_soft(fd, &r));
	fault(100, 100);
	user_sleep(20);
	for (i = 0; i < 2; i++) {
		struct reading again;

		must(read_soft(fd, &again));
		sim_require(!memcmp(again.soft.count, r.soft.count, sizeof(r.soft.count)) &&
			    again.own[0] == r.own[0], "suspended counters change");
	}
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	resumed = numbers_of(current);
	for (i = SWITCHES; i < VPERFCTR_NR_SOFT; i++) {
		begin.of[i] += resumed.of[i] - paused.of[i];
		began.of[i] += resumed.of[i] - paused.of[i];
	}
	/* Between these numbers and the calls themselves, there may have been some more. */
	for (i = SWITCHES; i <= MIGRATIONS; i++)
		begin.of[i] -= resumed.of[i] - paused.of[i];
	user_work(10);
	fault(2, 1);
	check_own(fd, &begin, &began);

	must(read_soft(fd, &r));
	sim_require(!r.soft.count[MINOR].children && !r.soft.count[SWITCHES].children,
		    "children have counts before they exist");
	child = user_thread("child", child_faults, NULL);
	get_task_struct(child);
	user_wait(child);
	ended = numbers_of(child);
	put_task_struct(child);
	must(read_soft(fd, &r));
	check_between("children's task clock", r.soft.count[CLOCK].children, ns_of(r.children[0]),
		      ns_of(r.children[0]));
	check_between("children's minor faults", r.soft.count[MINOR].children, 7, 7);
	check_between("children's major faults", r.soft.count[MAJOR].children, 3, 3);
	sim_require(r.soft.count[SWITCHES].children >= of_child.of[SWITCHES], "the child had %llu switches, not %llu",
		    of_child.of[SWITCHES], r.soft.count[SWITCHES].children);
	/* It may have moved in its end, too. */
	sim_require(r.soft.count[MIGRATIONS].children <= ended.of[MIGRATIONS],
		    "the child has moved %llu times, not %llu times", ended.of[MIGRATIONS],
		    r.soft.count[MIGRATIONS].children);

	user_wait(reader);
	/* Those that a control does not have are 0. */
	must(control_soft(fd, VPERFCTR_SOFT_MAJOR_FAULTS, 0));
	user_work(5);
	fault(3, 2);
	user_sleep(20);
	must(read_soft(fd, &r));
	sim_require(r.soft.soft == VPERFCTR_SOFT_MAJOR_FAULTS && r.soft.count[MAJOR].own == 2 &&
		    !r.soft.count[CLOCK].own && !r.soft.count[SWITCHES].own && !r.soft.count[MIGRATIONS].own &&
		    !r.soft.count[MINOR].own && !r.soft.count[MAJOR].children,
		    "the counts are %llu, %llu, %llu, %llu and %llu", r.soft.count[CLOCK].own,
		    r.soft.count[SWITCHES].own, r.soft.count[MIGRATIONS].own, r.soft.count[MINOR].own,
		    r.soft.count[MAJOR].own);
	must(control_soft(fd, 0, 0));
	fault(3, 2);
	must(read_soft(fd, &r));
	sim_require(!r.soft.soft && !r.soft.count[MAJOR].own, "there is a count of nothing");
	user_close(fd);
	(void)arg;
}

void sim_soft(void)
{
	user_wait(sim_process("counts", 1000, count_soft, NULL));
}
