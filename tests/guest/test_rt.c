// SPDX-License-Identifier: GPL-2.0
/*
 * A PREEMPT_RT kernel: missing features are reported as missing, and refused without
 * effect on what counts.
 */
#include "suite.h"

static struct control good, tried;

static void count_something(int fd)
{
	control_init(&good, 1);
	control_add(&good, 0, INSNS_USER);
	assert_ok(set_control(fd, &good));
}

static void refused(int fd, int error)
{
	struct sums before, after;

	read_sums(fd, &before);
	assert_errno(set_control(fd, &tried), error);
	loop(1000);
	read_sums(fd, &after);
	assert_status(fd, ATTACHED | ACTIVE);
	ck_assert_uint_gt(after.pmc[0], before.pmc[0] + 2000);
}

START_TEST(missing_features_are_reported)
{
	ck_assert(is_rt());
	ck_assert(!has(VPERFCTR_FEATURE_PCINT));
	ck_assert(!has(VPERFCTR_FEATURE_INHERIT));
	ck_assert(has(VPERFCTR_FEATURE_RDPMC));
	ck_assert_uint_eq(info.max_period, 0);
	ck_assert_uint_eq(info.min_period, 0);
}
END_TEST

START_TEST(missing_features_are_refused)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 8, .watermark = 1,
	};
	int fd = open_state(0);

	count_something(fd);

	control_init(&tried, 1);
	control_add(&tried, 0, INSNS_USER);
	tried.c.flags = VPERFCTR_CONTROL_INHERIT;
	refused(fd, EOPNOTSUPP);

	tried.c.flags = 0;
	tried.c.nractrs = 0;
	tried.c.nrictrs = 1;
	tried.c.si_signo = 10;
	tried.ctr[0].ireset = -1000;
	refused(fd, EOPNOTSUPP);
	tried.c.nrictrs = 0xffffffff;
	refused(fd, EOPNOTSUPP);

	assert_errno(call(fd, VPERFCTR_RING, &ring), EOPNOTSUPP);
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	assert_errno(call(fd, VPERFCTR_CONSUME, (void *)1), EINVAL);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, missing_features_are_reported);
	tcase_add_test(tc, missing_features_are_refused);
}

int main(void)
{
	open_device();
	return run_tests("rt", add);
}
