// SPDX-License-Identifier: GPL-2.0
/*
 * Calls under bad conditions: structures that end in the middle, no free files in the
 * system, a signal every 100 us, SIGKILL at any moment.
 */
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

/* ---- structures that end in the middle ------------------------------------ */

/* The end of accessible memory. */
static char *edge;

static void make_edge(int prot)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	ck_assert_int_eq(mprotect(p + PAGE, PAGE, prot), 0);
	edge = p + PAGE;
}

static int state_fd;
static struct control control;
static u64 sums[1 + VPERFCTR_MAX_CTRS];

/* An argument that is placed at the edge, and the call that takes it. */
struct argument {
	const char *name;
	size_t size;
	bool written;		/* the kernel writes all of it */
	void (*fill)(void *p);
	int (*try)(void *p);
};

static void fill_info(void *p)
{
	*(struct vperfctr_info *)p = (struct vperfctr_info) { .size = sizeof(info) };
}

static int try_info(void *p)
{
	return call(dev, VPERFCTR_INFO, p);
}

static int try_info_of_state(void *p)
{
	return call(state_fd, VPERFCTR_INFO, p);
}

static void fill_cpus(void *p)
{
	struct vperfctr_cpu_mask *m = p;

	*m = (struct vperfctr_cpu_mask) { .size = sizeof(*m), .nrwords = 1 };
	m->mask[0] = 0;
}

static int try_cpus(void *p)
{
	return call(dev, VPERFCTR_CPUS, p);
}

static int try_forbidden(void *p)
{
	return call(dev, VPERFCTR_CPUS_FORBIDDEN, p);
}

static void fill_open(void *p)
{
	*(struct vperfctr_open *)p = (struct vperfctr_open) { .size = sizeof(struct vperfctr_open) };
}

static int try_open(void *p)
{
	int fd = call(dev, VPERFCTR_OPEN, p);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void fill_control(void *p)
{
	*(struct vperfctr_control *)p = control.c;
}

static int try_control(void *p)
{
	return call(state_fd, VPERFCTR_CONTROL, p);
}

static void fill_ctrs(void *p)
{
	memcpy(p, control.ctr, sizeof(control.ctr[0]));
}

static int try_ctrs(void *p)
{
	struct vperfctr_control c = control.c;

	c.ctr = (uintptr_t)p;
	return call(state_fd, VPERFCTR_CONTROL, &c);
}

static struct vperfctr_read reading(void)
{
	return (struct vperfctr_read) {
		.size = sizeof(struct vperfctr_read),
		.nrctrs = VPERFCTR_MAX_CTRS,
		.sums = (uintptr_t)sums,
	};
}

static void fill_read(void *p)
{
	*(struct vperfctr_read *)p = reading();
}

static int try_read(void *p)
{
	return call(state_fd, VPERFCTR_READ, p);
}

static void fill_nothing(void *p)
{
	(void)p;
}

static int try_sums(void *p)
{
	struct vperfctr_read read = reading();

	read.sums = (uintptr_t)p;
	return call(state_fd, VPERFCTR_READ, &read);
}

static int try_children(void *p)
{
	struct vperfctr_read read = reading();

	read.children = (uintptr_t)p;
	return call(state_fd, VPERFCTR_READ, &read);
}

static void fill_read_control(void *p)
{
	struct vperfctr_control *c = p;

	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	c->ctr_size = sizeof(struct vperfctr_ctr);
}

static int try_read_control(void *p)
{
	struct vperfctr_read read = reading();

	read.control = (uintptr_t)p;
	return call(state_fd, VPERFCTR_READ, &read);
}

static int try_read_ctrs(void *p)
{
	struct vperfctr_read read = reading();
	struct vperfctr_control c;

	fill_read_control(&c);
	c.ctr = (uintptr_t)p;
	read.control = (uintptr_t)&c;
	return call(state_fd, VPERFCTR_READ, &read);
}

#define CTR	sizeof(struct vperfctr_ctr)
#define SUMS	(2 * sizeof(u64))	/* of one counter, and the TSC */

static const struct argument arguments[] = {
	{ "INFO", sizeof(struct vperfctr_info), true, fill_info, try_info },
	{ "INFO of a state", sizeof(struct vperfctr_info), true, fill_info, try_info_of_state },
	{ "CPUS", 12, true, fill_cpus, try_cpus },
	{ "CPUS_FORBIDDEN", 12, true, fill_cpus, try_forbidden },
	{ "OPEN", sizeof(struct vperfctr_open), false, fill_open, try_open },
	{ "CONTROL", sizeof(struct vperfctr_control), false, fill_control, try_control },
	{ "CONTROL's counters", CTR, false, fill_ctrs, try_ctrs },
	{ "READ", sizeof(struct vperfctr_read), false, fill_read, try_read },
	{ "READ's sums", SUMS, true, fill_nothing, try_sums },
	{ "READ's children", SUMS, true, fill_nothing, try_children },
	{ "READ's control", sizeof(struct vperfctr_control), true, fill_read_control,
	  try_read_control },
	{ "READ's counters", CTR, true, fill_nothing, try_read_ctrs },
};

#define NR_ARGUMENTS	(sizeof(arguments) / sizeof(arguments[0]))

static void start(void)
{
	state_fd = open_state(0);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	assert_ok(set_control(state_fd, &control));
}

/* Check that the state is as before the calls. */
static void check_counting(void)
{
	struct sums before, after;

	assert_status(state_fd, ATTACHED | ACTIVE);
	read_sums(state_fd, &before);
	loop(10000);
	read_sums(state_fd, &after);
	ck_assert_uint_gt(after.pmc[0] - before.pmc[0], 20000);
	ck_assert_uint_lt(after.pmc[0] - before.pmc[0], 21000);
}

/* All of the argument but 1 byte is accessible, or but 2, 3, and so on. */
START_TEST(truncated_argument)
{
	const struct argument *a = &arguments[_i];
	char whole[256];
	size_t have;

	start();
	make_edge(PROT_NONE);
	ck_assert_uint_le(a->size, sizeof(whole));
	memset(whole, 0, sizeof(whole));
	a->fill(whole);
	for (have = 0; have < a->size; have++) {
		memcpy(edge - have, whole, have);
		ck_assert_msg(a->try(edge - have) == -EFAULT, "%s with %zu accessible bytes", a->name,
			      have);
	}
	memcpy(edge - a->size, whole, a->size);
	ck_assert_msg(!a->try(edge - a->size), "%s with all bytes", a->name);
	check_counting();
}
END_TEST

/* The page after the edge is read-only: writes fail, reads do not. */
START_TEST(argument_ends_in_readonly_page)
{
	const struct argument *a = &arguments[_i];
	char *p;
	size_t have;

	start();
	make_edge(PROT_READ | PROT_WRITE);
	for (have = 0; have < a->size; have++) {
		p = edge - have;
		ck_assert_int_eq(mprotect(edge, PAGE, PROT_READ | PROT_WRITE), 0);
		memset(p, 0, a->size);
		a->fill(p);
		ck_assert_int_eq(mprotect(edge, PAGE, PROT_READ), 0);
		if (a->written)
			ck_assert_msg(a->try(p) == -EFAULT, "%s, %zu bytes", a->name, have);
		else if (a->try != try_read)	/* the kernel writes its first part */
			ck_assert_msg(!a->try(p), "%s, %zu bytes", a->name, have);
	}
	check_counting();
}
END_TEST

/* ---- no files ---------------------------------------------------------------- */

#define FILE_MAX "/proc/sys/fs/file-max"

static int as_nobody(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (setgid(NOBODY) || setuid(NOBODY))
			_exit(98);
		/* Twice: the first failure leaves nothing behind. */
		_exit(try_open_state(VPERFCTR_OPEN_CREAT) == -ENFILE &&
		      try_open_state(VPERFCTR_OPEN_CREAT) == -ENFILE ? 0 : 1);
	}
	return wait_for(pid);
}

START_TEST(no_free_files)
{
	char before[32];
	int status;

	read_file(FILE_MAX, before, sizeof(before));
	/* Not 1: the kernel first looks at an estimate, which may be too low. */
	write_file(FILE_MAX, "0");
	status = as_nobody();
	/* The report of a failed check needs a file: restore the limit before it. */
	write_file(FILE_MAX, before);
	ck_assert_int_eq(status, 0);
	close(open_state(0));
}
END_TEST

/* ---- signals ----------------------------------------------------------------- */

static volatile unsigned long signals;

static void on_alarm(int sig)
{
	(void)sig;
	signals++;
}

/* A signal that does not kill ends no call. */
START_TEST(signals_all_the_time)
{
	struct itimerval often = { { 0, 100 }, { 0, 100 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_alarm };
	struct sums s;
	int i, fd;

	start();
	ck_assert_int_eq(sigaction(SIGALRM, &action, NULL), 0);
	ck_assert_int_eq(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (i = 0; i < 2000 || signals < 100; i++) {
		assert_ok(call(state_fd, VPERFCTR_SUSPEND, NULL));
		assert_ok(call(state_fd, VPERFCTR_RESUME, NULL));
		assert_ok(try_read_sums(state_fd, &s));
		assert_ok(set_control(state_fd, &control));
		fd = try_open_state(0);
		ck_assert_int_ge(fd, 0);
		close(fd);
		if (!(i % 100)) {
			assert_ok(call(state_fd, VPERFCTR_UNLINK, NULL));
			close(state_fd);
			start();
		}
	}
	ck_assert_int_eq(setitimer(ITIMER_REAL, &never, NULL), 0);
	check_counting();
}
END_TEST

/* SIGKILL at any moment of a loop of calls on the caller's own state. */
START_TEST(killed_at_any_moment)
{
	int i;

	for (i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct sums s;

			start();
			for (;;) {
				set_control(state_fd, &control);
				try_read_sums(state_fd, &s);
				call(state_fd, VPERFCTR_UNLINK, NULL);
				close(state_fd);
				state_fd = open_state(0);
			}
		}
		usleep(50 + i * 37 % 2000);
		kill(pid, SIGKILL);
		ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, truncated_argument, 0, NR_ARGUMENTS);
	tcase_add_loop_test(tc, argument_ends_in_readonly_page, 0, NR_ARGUMENTS);
	tcase_add_test(tc, no_free_files);
	tcase_add_test(tc, signals_all_the_time);
	tcase_add_test(tc, killed_at_any_moment);
}

int main(void)
{
	open_device();
	return run_tests("call_failures", add);
}
