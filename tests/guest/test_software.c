// SPDX-License-Identifier: GPL-2.0
/*
 * Software counters, compared with perf's of the same names in the same run, and with
 * what the program does: it touches pages, sleeps, and moves between CPUs.  Counts must be
 * exact, with counters or without a PMU.
 */
#include <fcntl.h>
#include <libgen.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

enum { CLOCK, SWITCHES, MIGRATIONS, MINOR, MAJOR };

#define ALL	(VPERFCTR_SOFT_TASK_CLOCK | VPERFCTR_SOFT_CONTEXT_SWITCHES | \
		 VPERFCTR_SOFT_MIGRATIONS | VPERFCTR_SOFT_PAGE_FAULTS)
#define NO_CLOCK	(ALL & ~VPERFCTR_SOFT_TASK_CLOCK)
#define PAGES	50

static char known[256];

/* ---- vperfctr's ------------------------------------------------------------ */

static void control_soft(struct control *control, u64 soft)
{
	control_init(control, soft & VPERFCTR_SOFT_TASK_CLOCK ? 1 : 0);
	control->c.soft = soft;
}

static int try_read_soft(int fd, struct vperfctr_soft *soft)
{
	struct vperfctr_read req = {
		.size = sizeof(req),
		.nrctrs = VPERFCTR_MAX_CTRS,
		.soft = (uintptr_t)soft,
	};

	soft->size = sizeof(*soft);
	return call(fd, VPERFCTR_READ, &req);
}

static void read_soft(int fd, struct vperfctr_soft *soft)
{
	int err = try_read_soft(fd, soft);

	if (err)
		die("VPERFCTR_READ: %s", strerror(-err));
}

/* Start these for the calling thread, with a hardware counter if there is one. */
static int start_soft(u64 soft, u32 flags)
{
	struct control control;
	int fd = open_state(0), err;

	control_soft(&control, soft);
	control.c.flags = flags;
	if (info.nrctrs)
		control_add(&control, 0, INSNS_USER);
	err = set_control(fd, &control);
	if (err)
		die("VPERFCTR_CONTROL: %s", strerror(-err));
	return fd;
}

/* ---- perf's --------------------------------------------------------------------- */

enum { PAGE_FAULTS = MAJOR + 1, NR_PERF };

static const u32 perf_configs[NR_PERF] = {
	[CLOCK] = PERF_COUNT_SW_TASK_CLOCK,
	[SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
	[MIGRATIONS] = PERF_COUNT_SW_CPU_MIGRATIONS,
	[MINOR] = PERF_COUNT_SW_PAGE_FAULTS_MIN,
	[MAJOR] = PERF_COUNT_SW_PAGE_FAULTS_MAJ,
	[PAGE_FAULTS] = PERF_COUNT_SW_PAGE_FAULTS,
};

static int perf[NR_PERF];

static void open_perf(bool inherit, bool on_exec)
{
	unsigned int i;

	for (i = 0; i < NR_PERF; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_SOFTWARE,
			.size = sizeof(attr),
			.config = perf_configs[i],
			.inherit = inherit,
			.disabled = on_exec,
			.enable_on_exec = on_exec,
		};

		perf[i] = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (perf[i] < 0)
			die("perf_event_open %u: %s", i, strerror(errno));
	}
}

static u64 read_perf(unsigned int i)
{
	u64 value;

	if (read(perf[i], &value, sizeof(value)) != sizeof(value))
		die("read of perf's event %u: %s", i, strerror(errno));
	return value;
}

/* ---- both at one moment ------------------------------------------------------------ */

struct both {
	struct vperfctr_soft soft;
	u64 perf[NR_PERF];
};

static bool same_events(const struct vperfctr_soft *a, const struct vperfctr_soft *b)
{
	unsigned int i;

	for (i = SWITCHES; i <= MAJOR; i++)
		if (a->count[i].own != b->count[i].own)
			return false;
	return true;
}

/* The numbers of events are those of one moment if nothing happened during the reads. */
static void read_both(int fd, struct both *b)
{
	struct vperfctr_soft before;
	unsigned int i;

	do {
		read_soft(fd, &before);
		for (i = 0; i < NR_PERF; i++)
			b->perf[i] = read_perf(i);
		read_soft(fd, &b->soft);
	} while (!same_events(&before, &b->soft));
}

static u64 own_since(const struct both *a, const struct both *b, unsigned int i)
{
	return b->soft.count[i].own - a->soft.count[i].own;
}

static u64 perf_since(const struct both *a, const struct both *b, unsigned int i)
{
	return b->perf[i] - a->perf[i];
}

static void check_as_perf(const struct both *a, const struct both *b)
{
	unsigned int i;

	for (i = SWITCHES; i <= MAJOR; i++)
		ck_assert_msg(own_since(a, b, i) == perf_since(a, b, i),
			      "counter %u: %llu, perf %llu", i,
			      (unsigned long long)own_since(a, b, i),
			      (unsigned long long)perf_since(a, b, i));
	ck_assert_uint_eq(own_since(a, b, MINOR) + own_since(a, b, MAJOR),
			  perf_since(a, b, PAGE_FAULTS));
}

/* Touch fresh pages: one minor fault each. */
static void touch_pages(unsigned int n)
{
	volatile char *p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	/* With pages of 64 KiB, a huge page has room here.  Not all kernels know huge pages. */
	madvise((void *)p, n * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < n; i++)
		p[i * PAGE] = 1;
	munmap((void *)p, n * PAGE);
}

static void sleep_times(unsigned int n)
{
	while (n--)
		msleep(2);
}

/* ---- what is available, and errors -------------------------------------------------- */

START_TEST(available)
{
	struct vperfctr_soft soft;
	struct control control;
	int fd = open_state(0);

	ck_assert_uint_eq(info.soft, ALL);
	/* A state without a control, and one without software counters. */
	memset(&soft, 0xff, sizeof(soft));
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.soft, 0);
	ck_assert_uint_eq(soft.count[MINOR].own | soft.count[MAJOR].children, 0);
	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
	touch_pages(3);
	memset(&soft, 0xff, sizeof(soft));
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.soft, 0);
	ck_assert_uint_eq(soft.count[CLOCK].own | soft.count[MINOR].own, 0);
}
END_TEST

START_TEST(control_errors)
{
	struct control control;
	int fd = open_state(0);
	unsigned int bit;

	for (bit = VPERFCTR_NR_SOFT; bit < 64; bit++) {
		control_soft(&control, ALL | 1ULL << bit);
		assert_errno(set_control(fd, &control), EINVAL);
	}
	/* The thread time is the TSC's sum. */
	control_soft(&control, ALL);
	control.c.tsc_on = 0;
	assert_errno(set_control(fd, &control), EINVAL);
	assert_status(fd, ATTACHED);
	/* Flags need something to count: a software counter suffices. */
	control_soft(&control, VPERFCTR_SOFT_MINOR_FAULTS);
	control.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	assert_ok(set_control(fd, &control));
	assert_status(fd, ATTACHED | ACTIVE | ARMED);
}
END_TEST

START_TEST(read_errors)
{
	struct {
		struct vperfctr_soft soft;
		u64 newer[2];
	} s;
	struct vperfctr_control c = { .size = sizeof(c), .ctr_size = sizeof(struct vperfctr_ctr) };
	struct vperfctr_read req = {
		.size = sizeof(req), .nrctrs = VPERFCTR_MAX_CTRS, .soft = (uintptr_t)&s,
	};
	int fd = start_soft(NO_CLOCK, 0);

	s.soft.size = sizeof(s.soft) - 1;
	assert_errno(call(fd, VPERFCTR_READ, &req), EINVAL);
	s.soft.size = PAGE + 1;
	assert_errno(call(fd, VPERFCTR_READ, &req), E2BIG);
	s.soft.size = offsetof(typeof(s), newer[1]);
	s.newer[0] = s.newer[1] = ~0ULL;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	ck_assert_uint_eq(s.soft.size, offsetof(typeof(s), newer[1]));
	ck_assert_uint_eq(s.soft.soft, NO_CLOCK);
	ck_assert_uint_eq(s.newer[0], 0);
	ck_assert_uint_eq(s.newer[1], ~0ULL);
	req.soft = 8;
	assert_errno(call(fd, VPERFCTR_READ, &req), EFAULT);
	req.soft = 0;
	req.control = (uintptr_t)&c;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	ck_assert_uint_eq(c.soft, NO_CLOCK);
}
END_TEST

/* ---- as perf counts ------------------------------------------------------------------ */

START_TEST(faults_as_perf)
{
	struct both a, b;
	int fd = start_soft(_i ? ALL : NO_CLOCK, 0);

	open_perf(false, false);
	touch_pages(PAGES);
	read_both(fd, &a);
	touch_pages(PAGES);
	read_both(fd, &b);
	check_as_perf(&a, &b);
	ck_assert_uint_eq(own_since(&a, &b, MINOR), PAGES);
	ck_assert_uint_eq(own_since(&a, &b, MAJOR), 0);
	ck_assert_uint_eq(own_since(&a, &b, MIGRATIONS), 0);
	ck_assert_int_eq(!own_since(&a, &b, CLOCK), !_i);
}
END_TEST

/* A fault that waits for another thread to fill the page is a major one. */
static void *fill_pages(void *arg)
{
	int uffd = *(int *)arg;
	struct uffd_msg msg;

	while (read(uffd, &msg, sizeof(msg)) == sizeof(msg)) {
		struct uffdio_zeropage zero = {
			.range = { msg.arg.pagefault.address & -(u64)PAGE, PAGE },
		};

		if (ioctl(uffd, UFFDIO_ZEROPAGE, &zero))
			die("UFFDIO_ZEROPAGE: %s", strerror(errno));
	}
	return NULL;
}

START_TEST(major_faults_as_perf)
{
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register registration = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	volatile char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	struct both a, b;
	unsigned int i;
	int fd;

	if (uffd < 0 || ioctl(uffd, UFFDIO_API, &api))
		die("userfaultfd: %s", strerror(errno));
	registration.range.start = (uintptr_t)p;
	registration.range.len = PAGES * PAGE;
	if (ioctl(uffd, UFFDIO_REGISTER, &registration))
		die("UFFDIO_REGISTER: %s", strerror(errno));
	/* On another CPU the thread may fill the page before this one has to wait. */
	if (may_choose_cpu())
		pin(0);
	pthread_create(&thread, NULL, fill_pages, &uffd);
	fd = start_soft(ALL, 0);
	open_perf(false, false);
	read_both(fd, &a);
	for (i = 0; i < PAGES; i++)
		p[i * PAGE];
	read_both(fd, &b);
	/* From Linux 6.4 on such a fault may be a minor one; perf agrees. */
	ck_assert_uint_eq(own_since(&a, &b, MAJOR), perf_since(&a, &b, MAJOR));
	ck_assert_uint_eq(own_since(&a, &b, MINOR), perf_since(&a, &b, MINOR));
	/* perf's page-faults counts each attempt, of which there are two. */
	ck_assert_uint_eq(own_since(&a, &b, MAJOR) + own_since(&a, &b, MINOR), PAGES);
	ck_assert_uint_ge(own_since(&a, &b, SWITCHES), PAGES);
	ck_assert_uint_eq(own_since(&a, &b, SWITCHES), perf_since(&a, &b, SWITCHES));
}
END_TEST

START_TEST(switches_as_perf)
{
	struct both a, b;
	int fd = start_soft(ALL, 0);

	open_perf(false, false);
	sleep_times(1);
	read_both(fd, &a);
	sleep_times(20);
	read_both(fd, &b);
	check_as_perf(&a, &b);
	ck_assert_uint_ge(own_since(&a, &b, SWITCHES), 20);
}
END_TEST

START_TEST(migrations_as_perf)
{
	struct both a, b;
	unsigned int i;
	int fd;

	if (!may_choose_cpu())
		return;
	pin(0);
	fd = start_soft(ALL, 0);
	open_perf(false, false);
	pin(1);
	pin(0);
	read_both(fd, &a);
	for (i = 1; i <= 20; i++)
		pin(i & 1);
	read_both(fd, &b);
	check_as_perf(&a, &b);
	ck_assert_uint_eq(own_since(&a, &b, MIGRATIONS), 20);
	ck_assert_uint_ge(own_since(&a, &b, SWITCHES), 20);
}
END_TEST

static u64 clock_of(int fd)
{
	struct vperfctr_soft soft;

	read_soft(fd, &soft);
	return soft.count[CLOCK].own;
}

/*
 * perf reads between two reads of the module, so its difference is between theirs.  The
 * two see a context switch at different instructions of the scheduler.  Between them perf
 * starts its seven events, which takes up to 4000 instructions, and a debug kernel executes
 * its checks of locks.
 */
START_TEST(clock_as_perf)
{
	const unsigned int longer = is_debug_kernel() ? 4 : 1;
	u64 v[4], p[2], slack, between;
	struct sums sums;
	struct vperfctr_soft soft;
	int fd = start_soft(ALL, 0);

	/* The time of 4000 instructions */
	v[0] = clock_of(fd);
	loop(50000);
	between = (clock_of(fd) - v[0]) / 25;
	if (between < 20000)
		between = 20000;
	open_perf(false, false);
	sleep_times(1);
	v[0] = clock_of(fd);
	p[0] = read_perf(CLOCK);
	v[1] = clock_of(fd);
	loop(longer * 1000000);
	sleep_times(10);
	loop(longer * 1000000);
	v[2] = clock_of(fd);
	p[1] = read_perf(CLOCK);
	v[3] = clock_of(fd);
	slack = longer * 12 * between + (p[1] - p[0]) / 1000;
	ck_assert_uint_ge(v[3] - v[0] + slack, p[1] - p[0]);
	ck_assert_uint_le(v[2] - v[1], p[1] - p[0] + slack);
	ck_assert_uint_ge(v[2] - v[1], 10 * slack);

	/* Exactly the TSC's sum, in nanoseconds, which are rounded down. */
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_sums(fd, &sums);
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.count[CLOCK].own,
			  ns_of_tsc(sums.tsc));
}
END_TEST

/* ---- while the control runs -------------------------------------------------------------- */

START_TEST(suspended)
{
	struct vperfctr_soft a, b;
	struct control control;
	int fd = start_soft(NO_CLOCK, 0);

	touch_pages(PAGES);
	read_soft(fd, &a);
	ck_assert_uint_ge(a.count[MINOR].own, PAGES);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_soft(fd, &a);
	touch_pages(PAGES);
	sleep_times(5);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_soft(fd, &b);
	ck_assert_int_eq(memcmp(&a, &b, sizeof(a)), 0);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	touch_pages(PAGES);
	read_soft(fd, &b);
	ck_assert_uint_eq(b.count[MINOR].own - a.count[MINOR].own, PAGES);

	/* The all-zero control keeps the sums; a new one does not. */
	assert_ok(stop_all(fd));
	read_soft(fd, &a);
	touch_pages(PAGES);
	read_soft(fd, &b);
	ck_assert_int_eq(memcmp(&a, &b, sizeof(a)), 0);
	ck_assert_uint_ge(b.count[MINOR].own, 2 * PAGES);
	control_soft(&control, NO_CLOCK);
	assert_ok(set_control(fd, &control));
	touch_pages(PAGES);
	read_soft(fd, &b);
	ck_assert_uint_eq(b.count[MINOR].own, PAGES);
	/* A control replaces another one that runs. */
	assert_ok(set_control(fd, &control));
	read_soft(fd, &b);
	ck_assert_uint_eq(b.count[MINOR].own, 0);
	touch_pages(PAGES);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	read_soft(fd, &a);
	ck_assert_uint_eq(a.count[MINOR].own, PAGES);
	touch_pages(PAGES);
	read_soft(fd, &b);
	ck_assert_int_eq(memcmp(&a, &b, sizeof(a)), 0);
}
END_TEST

/* A control of software counters takes nothing away from perf. */
START_TEST(without_hardware)
{
	struct vperfctr_soft soft;
	struct control control;
	int fd = open_state(0);

	control_soft(&control, _i ? ALL : NO_CLOCK);
	assert_ok(set_control(fd, &control));
	assert_status(fd, ATTACHED | ACTIVE);
	if (info.nrctrs)
		ck_assert(!perf_is_kept_out());
	touch_pages(PAGES);
	sleep_times(3);
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.soft, _i ? ALL : NO_CLOCK);
	ck_assert_uint_ge(soft.count[MINOR].own, PAGES);
	ck_assert_uint_ge(soft.count[SWITCHES].own, 3);
	ck_assert_int_eq(!soft.count[CLOCK].own, !_i);
}
END_TEST

/* ---- inheritance ------------------------------------------------------------------------- */

static void live_as_child(unsigned int pages)
{
	touch_pages(pages);
	sleep_times(3);
}

static u64 rusage_faults(const struct rusage *r)
{
	return r->ru_minflt + r->ru_majflt;
}

static u64 rusage_switches(const struct rusage *r)
{
	return r->ru_nvcsw + r->ru_nivcsw;
}

/* A child that has read its own numbers ends; the module's are between them and the last. */
START_TEST(children_as_perf)
{
	struct rusage *own = shared_memory(PAGE), last;
	u64 faults = 0, least = 0, most = 0, own_faults;
	struct both a, b;
	unsigned int i;
	int fd, status;
	pid_t pid;

	if (!(info.features & VPERFCTR_FEATURE_INHERIT))
		return;
	fd = start_soft(ALL, VPERFCTR_CONTROL_INHERIT);
	open_perf(true, false);
	read_both(fd, &a);
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			live_as_child(PAGES + i);
			if (i == 3 && !fork()) {
				live_as_child(PAGES);
				getrusage(RUSAGE_SELF, &own[1]);
				_exit(0);
			}
			while (wait(NULL) > 0)
				;
			getrusage(RUSAGE_SELF, &own[0]);
			_exit(0);
		}
		ck_assert_int_eq(wait4(pid, &status, 0, &last), pid);
		ck_assert_int_eq(status, 0);
		least += rusage_switches(&own[0]);
		most += rusage_switches(&last);
		/* wait4() includes the child's children. */
		if (i == 3)
			least += rusage_switches(&own[1]);
		faults += rusage_faults(&last);
	}
	read_both(fd, &b);
	ck_assert_uint_eq(b.soft.count[MINOR].children + b.soft.count[MAJOR].children, faults);
	ck_assert_uint_ge(b.soft.count[SWITCHES].children, least);
	ck_assert_uint_le(b.soft.count[SWITCHES].children, most);
	ck_assert_uint_ge(b.soft.count[SWITCHES].children, 5 * 3);
	ck_assert_uint_gt(b.soft.count[CLOCK].children, 0);
	/* perf's counts have both, in one number. */
	own_faults = own_since(&a, &b, MINOR) + own_since(&a, &b, MAJOR);
	ck_assert_uint_eq(perf_since(&a, &b, PAGE_FAULTS), own_faults + faults);
	ck_assert_uint_eq(perf_since(&a, &b, MINOR) + perf_since(&a, &b, MAJOR),
			  own_faults + faults);
	/* A new control zeroes the children's, too. */
	read_soft(fd, &b.soft);
	ck_assert_uint_ne(b.soft.count[MINOR].children, 0);
	assert_ok(stop_all(fd));
	read_soft(fd, &b.soft);
	ck_assert_uint_ne(b.soft.count[MINOR].children, 0);
	close(fd);
}
END_TEST

static void *live_as_thread(void *arg)
{
	live_as_child(*(unsigned int *)arg);
	return NULL;
}

START_TEST(threads_inherit)
{
	unsigned int pages[2] = { 10, 10 + PAGES };
	struct vperfctr_soft soft[2];
	pthread_t thread;
	unsigned int i;
	int fd;

	if (!(info.features & VPERFCTR_FEATURE_INHERIT))
		return;
	fd = start_soft(NO_CLOCK, VPERFCTR_CONTROL_INHERIT);
	/* The first thread of a process has faults that later ones do not have. */
	pthread_create(&thread, NULL, live_as_thread, &pages[0]);
	pthread_join(thread, NULL);
	for (i = 0; i < 2; i++) {
		struct vperfctr_soft before;
		struct sums sums;

		while (read_sums(fd, &sums), sums.status & VPERFCTR_STATUS_CHILDREN)
			msleep(1);
		read_soft(fd, &before);
		pthread_create(&thread, NULL, live_as_thread, &pages[i]);
		pthread_join(thread, NULL);
		while (read_sums(fd, &sums), sums.status & VPERFCTR_STATUS_CHILDREN)
			msleep(1);
		read_soft(fd, &soft[i]);
		soft[i].count[MINOR].children -= before.count[MINOR].children;
		soft[i].count[SWITCHES].children -= before.count[SWITCHES].children;
		ck_assert_uint_ge(soft[i].count[SWITCHES].children, 3);
	}
	ck_assert_uint_eq(soft[1].count[MINOR].children - soft[0].count[MINOR].children, PAGES);
}
END_TEST

/* ---- exec --------------------------------------------------------------------------------- */

/*
 * perf starts when the new program's memory is made, the module when the program has
 * been loaded.  The faults of loading, such as that of the program's stack, are the same
 * number for each run of one program.
 */
static u64 faults_of_known(unsigned int nr_args, bool with_perf, u64 *switches)
{
	char *args[] = { known, "2", "3", "4", NULL };
	char *environment[] = { NULL };
	struct vperfctr_soft soft;
	int fd = -1;
	pid_t pid;

	args[nr_args] = NULL;
	pid = fork_files();
	if (!pid) {
		if (with_perf)
			open_perf(false, true);
		else
			fd = start_soft(NO_CLOCK, VPERFCTR_CONTROL_START_ON_EXEC);
		/* The parent uses the lowest numbers that are free. */
		if (with_perf)
			dup2(perf[PAGE_FAULTS], 100);
		else
			dup2(fd, 100);
		execve(known, args, environment);
		die("%s: %s", known, strerror(errno));
	}
	ck_assert_int_eq(wait_for(pid), nr_args);
	if (with_perf) {
		perf[PAGE_FAULTS] = 100;
		soft.count[MINOR].own = read_perf(PAGE_FAULTS);
		soft.count[MAJOR].own = 0;
	} else {
		read_soft(100, &soft);
		*switches = soft.count[SWITCHES].own;
	}
	close(100);
	return soft.count[MINOR].own + soft.count[MAJOR].own;
}

START_TEST(from_exec_on)
{
	u64 ours, perfs, difference = 0, switches;
	unsigned int n;

	for (n = 1; n <= 4; n++) {
		ours = faults_of_known(n, false, &switches);
		perfs = faults_of_known(n, true, &switches);
		printf("exec: %llu faults, perf %llu\n", (unsigned long long)ours,
		       (unsigned long long)perfs);
		ck_assert_uint_ge(ours, 1);
		ck_assert_uint_ge(perfs, ours);
		if (n == 1)
			difference = perfs - ours;
		ck_assert_uint_eq(perfs - ours, difference);
		ck_assert_uint_le(difference, 2);
	}
}
END_TEST

/* ---- another thread ------------------------------------------------------------------------ */

/* A monitor sets, suspends and reads; the counts are those of the thread it stopped. */
START_TEST(by_a_monitor)
{
	volatile u32 *step = shared_memory(PAGE);
	struct vperfctr_open req = { .size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT };
	struct vperfctr_soft soft;
	struct control control;
	u64 last = 0;
	int fd, status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		touch_pages(PAGES);
		sleep_times(2);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		touch_pages(PAGES);
		raise(SIGSTOP);
		touch_pages(PAGES);
		raise(SIGSTOP);
		while (!step[0])
			touch_pages(1);
		touch_pages(PAGES);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	req.tid = pid;
	fd = call(dev, VPERFCTR_OPEN, &req);
	ck_assert_int_ge(fd, 0);
	control_soft(&control, NO_CLOCK);
	assert_ok(set_control(fd, &control));
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.count[MINOR].own | soft.count[SWITCHES].own, 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.count[MINOR].own, PAGES);
	ck_assert_uint_ge(soft.count[SWITCHES].own, 1);
	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	ptrace(PTRACE_CONT, pid, 0, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	read_soft(fd, &soft);
	ck_assert_uint_eq(soft.count[MINOR].own, PAGES);
	ptrace(PTRACE_CONT, pid, 0, 0);
	for (status = 0; status < 100; status++) {
		read_soft(fd, &soft);
		ck_assert_uint_ge(soft.count[MINOR].own, last);
		last = soft.count[MINOR].own;
		if (status % 10 == 0)
			msleep(1);
	}
	ck_assert_uint_gt(last, PAGES);
	step[0] = 1;
	ck_assert_int_eq(wait_for(pid), 0);
	read_soft(fd, &soft);
	ck_assert_uint_ge(soft.count[MINOR].own, last + PAGES);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, available);
	tcase_add_test(tc, control_errors);
	tcase_add_test(tc, read_errors);
	tcase_add_loop_test(tc, faults_as_perf, 0, 2);
	tcase_add_test(tc, major_faults_as_perf);
	tcase_add_test(tc, switches_as_perf);
	tcase_add_test(tc, migrations_as_perf);
	tcase_add_test(tc, clock_as_perf);
	tcase_add_test(tc, suspended);
	tcase_add_loop_test(tc, without_hardware, 0, 2);
	tcase_add_test(tc, children_as_perf);
	tcase_add_test(tc, threads_inherit);
	tcase_add_test(tc, from_exec_on);
	tcase_add_test(tc, by_a_monitor);
}

int main(void)
{
	char self[240] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("/proc/self/exe: %s", strerror(errno));
	snprintf(known, sizeof(known), "%s/known", dirname(self));
	open_device();
	return run_tests("software", add);
}
