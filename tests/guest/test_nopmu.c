// SPDX-License-Identifier: GPL-2.0
/* Without a PMU, the generic driver has only the TSC. */

#include "cpus.h"
#include "suite.h"

START_TEST(reported_in_info)
{
	ck_assert_uint_eq(info.cpu_type, VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(info.features, VPERFCTR_FEATURE_RDTSC |
			  VPERFCTR_FEATURE_INHERIT | VPERFCTR_FEATURE_KERNEL |
			  VPERFCTR_FEATURE_RECORDS | VPERFCTR_FEATURE_CLOCK |
			  VPERFCTR_FEATURE_SPREAD);
	ck_assert_uint_eq(info.nrctrs, 0);
	ck_assert_uint_eq(info.nrkinds, 1);
	ck_assert_uint_eq(info.arch_events, 0);
	ck_assert_uint_eq(info.pmc_mask | info.fixed_mask, 0);
	ck_assert_uint_eq(info.pmc_width | info.fixed_width, 0);
	ck_assert_uint_eq(info.max_period, 0);
	ck_assert_uint_eq(info.min_period, 0);
	ck_assert_uint_ne(info.tsc_khz, 0);
}
END_TEST

START_TEST(no_cpus)
{
	assert_errno(try_open_cpus(1, 0), EOPNOTSUPP);
}
END_TEST

START_TEST(no_counters)
{
	const struct {
		u32 map;
		u64 evntsel;
	} tried[] = { { 0, INSNS_USER }, { FIXED(0), FIXED_USER }, { 31, 0 } };
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 1, .watermark = 1 };
	const struct vperfctr_page *page;
	struct control control;
	int fd = open_state(0);
	u64 before;
	unsigned int i;

	page = map_state(fd);
	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
	before = self_read_tsc(page);
	for (i = 0; i < 3; i++) {
		control_init(&control, 1);
		control_add(&control, tried[i].map, tried[i].evntsel);
		assert_errno(set_control(fd, &control), EINVAL);
		assert_status(fd, ATTACHED | ACTIVE);
	}
	control_init(&control, 1);
	control.c.global[0] = 1;
	assert_errno(set_control(fd, &control), EINVAL);
	control_init(&control, 1);
	control.c.nrictrs = 1;
	assert_errno(set_control(fd, &control), EOPNOTSUPP);
	control.c.nrictrs = 0xffffffff;
	assert_errno(set_control(fd, &control), EOPNOTSUPP);
	control_add(&control, 0, INSNS_USER);
	control.c.nractrs = 0;
	control.c.nrictrs = 1;
	control.c.si_signo = 10;
	control.ctr[0].ireset = -1000;
	assert_errno(set_control(fd, &control), EOPNOTSUPP);
	assert_ok(call(fd, VPERFCTR_RING, &ring));	/* for samples by thread time */
	assert_errno(call(fd, VPERFCTR_CONSUME, (void *)1), EINVAL);
	assert_errno(call(fd, VPERFCTR_IRESUME, NULL), ENODATA);
	ck_assert_uint_gt(self_read_tsc(page), before);
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
}
END_TEST

START_TEST(tsc_counts)
{
	const struct vperfctr_page *page;
	struct control control;
	int fd = open_state(0);
	u64 inside, outside;
	struct sums a, b;

	page = map_state(fd);
	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
	outside = rdtsc();
	inside = self_read_tsc(page);
	loop(10000);
	inside = self_read_tsc(page) - inside;
	outside = rdtsc() - outside;
	ck_assert_uint_gt(inside, 0);
	ck_assert_uint_le(inside, outside);
	inside = self_read_tsc(page);
	msleep(100);
	ck_assert_uint_lt(self_read_tsc(page) - inside, 100ULL * info.tsc_khz / 2);

	assert_ok(call(fd, VPERFCTR_SUSPEND, 0));
	read_sums(fd, &a);
	ck_assert_uint_eq(a.nrctrs, 0);
	loop(10000);
	read_sums(fd, &b);
	ck_assert_uint_eq(a.tsc, b.tsc);
	ck_assert_uint_eq(page->tsc_sum, b.tsc);
	assert_ok(call(fd, VPERFCTR_RESUME, 0));
	read_sums(fd, &b);
	ck_assert_uint_gt(b.tsc, a.tsc);
	assert_ok(stop_all(fd));
	assert_errno(call(fd, VPERFCTR_RESUME, 0), EINVAL);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	assert_status(fd, 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, reported_in_info);
	tcase_add_test(tc, no_cpus);
	tcase_add_test(tc, no_counters);
	tcase_add_test(tc, tsc_counts);
}

int main(void)
{
	open_device();
	return run_tests("nopmu", add);
}
