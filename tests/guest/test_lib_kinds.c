// SPDX-License-Identifier: GPL-2.0
/*
 * The libraries' calls for controls for any kind, on a hybrid processor: CPU 0 and CPU 1 are
 * of different kinds.  Kind 0 has counters 0 to 7 and fixed counters 0 to 3, kind 1 has 0 to
 * 5 and 0 to 2.  A thread that moves counts exactly.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "known.h"
#include "service.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

static struct vperfctr_info kinds[2];
static struct vperfctr_control control;
static struct vperfctr_ctr ctr[20];
static struct vperfctr_why why;

static void setup(void)
{
	set_affinity(0, 3);
	memset(ctr, 0xff, sizeof(ctr));
	for (unsigned int i = 0; i < 2; i++) {
		if (vperfctr_info(&kinds[i], i))
			die("this test needs two kinds of CPUs");
	}
}

/* Check counter i of the handle, on one kind after the other. */
static void check_moves(struct vperfctr *v, unsigned int i)
{
	struct reading before, after;
	int n;

	for (n = 0; n < 6; n++) {
		pin(n & 1);
		if (read_loop_read(vperfctr_fd(v), VPERFCTR_READ, init_reading(&before),
				   init_reading(&after), 1000))
			die("READ failed");
		ck_assert_uint_eq(after.own[1 + i] - before.own[1 + i], INSNS_BETWEEN(1000));
	}
	assert_status(vperfctr_fd(v), ATTACHED | ACTIVE);
}

static void check_tables(unsigned int nrctrs)
{
	unsigned int i, k;

	ck_assert_uint_eq(control.kind, VPERFCTR_ANY_KIND);
	ck_assert_uint_eq(control.nrkinds, 2);
	ck_assert_uint_eq(control.nractrs, nrctrs);
	for (i = 0; i < 2 * nrctrs; i++) {
		for (k = 0; k < 2; k++) {
			u64 mask = ctr[i].map & VPERFCTR_FIXED ? kinds[k].fixed_mask :
								 kinds[k].pmc_mask;

			ck_assert(mask >> (ctr[i].map & ~VPERFCTR_FIXED) & 1);
		}
	}
	/* Nothing follows them. */
	ck_assert_uint_eq(ctr[2 * nrctrs].map, ~0U);
}

/* vperfctr_event_control() and vperfctr_open_control(); inline reads after each move. */
START_TEST(control_by_names)
{
	uint64_t last = 0, now, switches;
	struct vperfctr *v;
	int n;

	ck_assert_msg(!vperfctr_event_control(&control, ctr, NR(ctr),
					      "cycles:u,context-switches,instructions:u,r00c0:u",
					      VPERFCTR_ANY_KIND, &why), "%s", why.text);
	check_tables(3);
	assert_ok(vperfctr_open_control(&v, &control, VPERFCTR_OPEN_TRANSIENT));
	check_moves(v, 1);
	check_moves(v, 2);
	for (n = 0; n < 10; n++) {
		pin(n & 1);
		loop(1000);
		assert_ok(vperfctr_read(v, NULL, &now, 1));
		ck_assert_uint_gt(now, last);
		last = now;
	}
	assert_ok(vperfctr_read_soft(v, VPERFCTR_SOFT_CONTEXT_SWITCHES, &switches));
	ck_assert_uint_ge(switches, 9);
	vperfctr_close(v);
}
END_TEST

/* The same by steps: vperfctr_event_common() and vperfctr_control_add_kind(). */
START_TEST(control_by_steps)
{
	static const char *const names[] = { "instructions:u", "r00c0:u@5" };
	struct vperfctr_event event[2];
	struct vperfctr_ctr table[2];
	struct vperfctr *v;
	unsigned int i, k;

	vperfctr_event_common(kinds, 2);
	vperfctr_control_init(&control, ctr);
	for (k = 0; k < 2; k++) {
		ck_assert_uint_eq(kinds[k].pmc_mask, 0x3f);
		ck_assert_uint_eq(kinds[k].fixed_mask, 7);
		ck_assert_uint_eq(kinds[k].nrctrs, 9);
		for (i = 0; i < 2; i++)
			ck_assert_msg(!vperfctr_event(&event[i], names[i], &kinds[k], &why), "%s",
				      why.text);
		ck_assert_msg(!vperfctr_event_assign(table, event, 2, &kinds[k], &why), "%s",
			      why.text);
		ck_assert_uint_eq(table[1].map, 5);
		if (k) {
			/* Other counters on this kind. */
			table[0] = (struct vperfctr_ctr){ .map = 3, .evntsel = INSNS_USER };
			vperfctr_control_add_kind(&control, table);
			continue;
		}
		for (i = 0; i < 2; i++)
			ck_assert_uint_eq(vperfctr_control_add_ctr(&control, &table[i]), i);
	}
	check_tables(2);
	ck_assert_uint_ne(ctr[0].map, 3);
	ck_assert_uint_eq(ctr[2].map, 3);
	assert_ok(vperfctr_open_control(&v, &control, VPERFCTR_OPEN_TRANSIENT));
	check_moves(v, 0);
	check_moves(v, 1);
	vperfctr_close(v);
	/* For a handle that exists. */
	assert_ok(vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
	assert_ok(vperfctr_control(v, &control));
	check_moves(v, 0);
	vperfctr_close(v);
}
END_TEST

/* vperfctr_event_open(): all kinds; or one, if the thread runs on no other. */
START_TEST(opened_by_name)
{
	struct vperfctr *v;

	ck_assert_msg(!vperfctr_event_open(&v, "instructions:u", &why), "%s", why.text);
	check_moves(v, 0);
	vperfctr_close(v);
	/* Counter 6 is one of kind 0 only. */
	set_affinity(0, 3);
	ck_assert_int_ne(vperfctr_event_open(&v, "r00c0:u@6", &why), 0);
	ck_assert_ptr_null(v);
	pin(0);
	ck_assert_msg(!vperfctr_event_open(&v, "r00c0:u@6", &why), "%s", why.text);
	assert_status(vperfctr_fd(v), ATTACHED | ACTIVE);
	pin(1);
	assert_status(vperfctr_fd(v), ATTACHED | ACTIVE | FORBIDDEN);
	vperfctr_close(v);
}
END_TEST

/* A program of known length that moves twenty times, begun on either kind. */
START_TEST(program_moves)
{
	char *args[] = { "known_moves", _i ? "1" : "0", _i ? "0" : "1", NULL };
	struct vperfctr *v;
	struct reading r;
	pid_t pid;
	int fd;

	ck_assert_msg(!vperfctr_event_control(&control, ctr, NR(ctr), "instructions:u",
					      VPERFCTR_ANY_KIND, &why), "%s", why.text);
	control.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	pid = fork_files();
	if (!pid) {
		if (vperfctr_open_control(&v, &control, 0) || dup2(vperfctr_fd(v), 100) != 100)
			_exit(1);
		execv("/tests/known_moves", args);
		_exit(2);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	fd = 100;
	read_state(fd, &r);
	ck_assert_uint_eq(r.own[1], KNOWN_MOVES);
	ck_assert_uint_eq(r.read.status, 0);
	close(fd);
}
END_TEST

/* A set, which the library makes by the same control. */
START_TEST(attached_by_name)
{
	unsigned int *futex = shared_memory(PAGE), nr;
	struct vperfctr *v;
	struct reading r;
	pid_t pid;
	int n;

	ck_assert_msg(!vperfctr_event_control(&control, ctr, NR(ctr), "instructions:u",
					      VPERFCTR_ANY_KIND, &why), "%s", why.text);
	pid = start_child(FORKED, 1000, futex, 3000000);
	assert_ok(vperfctr_attach(&v, pid, &control, &nr, 0));
	ck_assert_uint_eq(nr, 1);
	wake_all(futex);
	for (n = 0; n < 20; n++)
		set_affinity(pid, 1U << (n & 1));
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(vperfctr_fd(v), &r);
	/* It may have begun to wait before. */
	ck_assert_uint_ge(r.children[1], 2 * 3000000);
	ck_assert_uint_le(r.children[1], INSNS_CHILD_FUTEX(1000, 3000000));
	ck_assert_uint_eq(r.read.status & FORBIDDEN, 0);
	vperfctr_close(v);
}
END_TEST

/* Too little room, too many kinds, and what one of the kinds cannot count. */
START_TEST(refused)
{
	static const struct {
		const char *names;
		unsigned int room, kind;
		int err;
	} cases[] = {
		{ "instructions:u,cycles:u", 3, VPERFCTR_ANY_KIND, -EOVERFLOW },
		{ "instructions:u,cycles:u", 4, VPERFCTR_ANY_KIND, 0 },
		{ "instructions:u", 2, 2, -EINVAL },
		{ "r00c0:u@6", 2, VPERFCTR_ANY_KIND, -EINVAL },
		{ "r00c0:u@6", 1, 0, 0 },
		{ "r00c0:u@6", 1, 1, -EINVAL },
		{ "r00c0:u@5", 1, 1, 0 },
	};
	unsigned int i;

	for (i = 0; i < NR(cases); i++) {
		ck_assert_int_eq(vperfctr_event_control(&control, ctr, cases[i].room,
							cases[i].names, cases[i].kind, &why),
				 cases[i].err);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, control_by_names);
	tcase_add_test(tc, control_by_steps);
	tcase_add_test(tc, opened_by_name);
	tcase_add_loop_test(tc, program_moves, 0, 2);
	tcase_add_test(tc, attached_by_name);
	tcase_add_test(tc, refused);
}

int main(void)
{
	open_device();
	return run_tests("lib, kinds", add_tests);
}
