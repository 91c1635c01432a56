// SPDX-License-Identifier: GPL-2.0
/*
 * No thread can see what other threads' counters held: a look by RDPMC, or at a mapped
 * page, gives the same whatever a stranger has counted.  Counts must be exact.
 *
 * The secret is the length of a loop.  Each test looks twenty times at the remains of a
 * stranger's count, with one secret and with another, and compares everything that it
 * sees.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

#define ROUNDS	20
#define VALUES	4

typedef u64 view[ROUNDS][VALUES];

/* A process that counts, and that runs on request. */
struct party {
	int to[2], from[2];
	pid_t pid;
	volatile int *fd;	/* of its state */
};

static void party_start(struct party *p, unsigned long secret, bool maps)
{
	struct control control;
	char c;

	ck_assert_int_eq(pipe(p->to) | pipe(p->from), 0);
	p->fd = shared_memory(PAGE);
	p->pid = fork_files();
	if (p->pid) {
		ck_assert_int_eq(read(p->from[0], &c, 1), 1);
		return;
	}
	*p->fd = open_state(0);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	if (have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	if (set_control(*p->fd, &control))
		die("CONTROL failed");
	if (maps)
		map_state(*p->fd);
	for (;;) {
		if (write(p->from[1], &c, 1) != 1 || read(p->to[0], &c, 1) != 1)
			die("pipe");
		loop(secret);
	}
}

/* Run the process once, until it waits again. */
static void party_turn(struct party *p)
{
	char c = 0;

	if (write(p->to[1], &c, 1) != 1 || read(p->from[0], &c, 1) != 1)
		die("pipe");
}

static void party_end(struct party *p)
{
	kill(p->pid, SIGKILL);
	wait_for(p->pid);
	close(*p->fd);
}

static void look(u64 values[VALUES])
{
	values[0] = rdpmc(0);
	values[1] = rdpmc(1);
	if (nr_fixed())
		values[2] = rdpmc(FIXED(0));
	if (nr_fixed() > 1)
		values[3] = rdpmc(FIXED(1));
}

/* The looker counts nothing, or on another counter, or on the same counters. */
static void own_control(int fd, int which)
{
	struct control control;

	if (which == 0)
		return;
	control_init(&control, 1);
	control_add(&control, which == 1 ? 1 : 0, INSNS_USER);
	if (which == 2 && have_fixed_insns())
		control_add(&control, FIXED_INSNS, FIXED_USER);
	if (set_control(fd, &control))
		die("CONTROL failed");
}

/*
 * Look in a process of its own, so that all circumstances are the same each time.
 * mapped_first: the looker may use RDPMC before the stranger counts, or only afterwards.
 */
static void look_by_rdpmc(view seen, unsigned long secret, int which, bool stranger_maps,
			  bool mapped_first)
{
	struct party stranger;
	unsigned int i;
	int fd;
	u64 value;
	pid_t pid = fork();

	if (pid) {
		ck_assert_int_eq(wait_for(pid), 0);
		return;
	}
	fd = open_state(0);
	if (mapped_first)
		map_state(fd);
	party_start(&stranger, secret, stranger_maps);
	party_turn(&stranger);
	own_control(fd, which);
	if (!mapped_first)
		map_state(fd);
	/* Without counters of its own it may not look at all. */
	if (which == 0)
		_exit(try_rdpmc(0, &value) == RDPMC_SIGNAL ? 0 : 1);
	look(seen[0]);
	for (i = 1; i < ROUNDS; i++) {
		party_turn(&stranger);
		look(seen[i]);
	}
	party_end(&stranger);
	_exit(0);
}

/*
 * The looker also sees its own few instructions between two switches.  Their number
 * varies a little with the order in which the scheduler wakes threads.
 */
#define OWN	1000

static void compare(view a, view b)
{
	unsigned int i, j;

	for (i = 0; i < ROUNDS; i++) {
		for (j = 0; j < VALUES; j++)
			ck_assert_msg(a[i][j] + OWN > b[i][j] && b[i][j] + OWN > a[i][j],
				      "look %u, counter %u: %llu and %llu",
				      i, j, a[i][j], b[i][j]);
	}
}

START_TEST(rdpmc_shows_no_secret)
{
	view *seen = shared_memory(2 * sizeof(view));
	unsigned int i;
	int which = _i % 3;
	bool stranger_maps = _i / 3 % 2, mapped_first = _i / 6;

	look_by_rdpmc(seen[0], 1000, which, stranger_maps, mapped_first);
	look_by_rdpmc(seen[1], 70000, which, stranger_maps, mapped_first);
	compare(seen[0], seen[1]);
	/* A counter that the looker does not use must read as zero. */
	for (i = 0; i < ROUNDS && which != 2; i++)
		ck_assert_uint_eq(seen[1][i][0] | seen[1][i][2], 0);
}
END_TEST

/*
 * Look as a monitor without a state of its own, at the page of a thread that allows it.
 * A stranger must not influence the start values in the page.
 */
static void look_at_page(view seen, unsigned long secret)
{
	struct party stranger, friend;
	const struct vperfctr_page *page;
	unsigned int i;
	pid_t pid = fork();

	if (pid) {
		ck_assert_int_eq(wait_for(pid), 0);
		return;
	}
	party_start(&friend, 100, false);
	page = map_state(*friend.fd);
	party_start(&stranger, secret, false);
	for (i = 0; i < ROUNDS; i++) {
		party_turn(&stranger);
		party_turn(&friend);
		seen[i][0] = page->ctr[0].start;
		seen[i][1] = page->ctr[1].start;
	}
	if (page->ctr[0].sum < ROUNDS * 200)
		die("the monitored thread has not counted");
	party_end(&stranger);
	party_end(&friend);
	_exit(0);
}

START_TEST(page_shows_no_secret)
{
	view *seen = shared_memory(2 * sizeof(view));

	look_at_page(seen[0], 1000);
	look_at_page(seen[1], 70000);
	compare(seen[0], seen[1]);
}
END_TEST

/* When the last state stops, nothing is left in the registers. */
START_TEST(registers_are_clear_after_last_state)
{
	struct party stranger;
	u64 values[VALUES] = { 0 };
	unsigned int i;
	int fd;

	party_start(&stranger, 70000, false);
	party_turn(&stranger);
	party_end(&stranger);
	/* RDPMC needs a control: its counter starts from zero, or from the remains. */
	fd = open_state(0);
	map_state(fd);
	count(fd, INSNS_USER);
	look(values);
	ck_assert_uint_lt(values[0], 1000);
	for (i = 1; i < VALUES; i++)
		ck_assert_uint_eq(values[i], 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, page_shows_no_secret);
	if (!has_rdpmc())
		return;
	tcase_add_loop_test(tc, rdpmc_shows_no_secret, 0, 12);
	tcase_add_test(tc, registers_are_clear_after_last_state);
}

int main(void)
{
	open_device();
	return run_tests("isolate", add);
}
