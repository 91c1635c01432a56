// SPDX-License-Identifier: GPL-2.0
/*
 * The Pentium 4's own: CCCRs and ESCRs, instr_retired on all counters that have it, fast
 * RDPMC, cascades, forced overflows, hyper-threads.  Counts must be exact: an instruction is a
 * cycle.
 */
#include <grp.h>

#include "overflow.h"

#define INSNS_CCCR	(P4_CCCR | P4_SELECT(4))
#define INSNS(modes)	(P4_EVENT(2, 1) | (modes))
#define CASCADE		0x40000000
#define EXT_CASCADE	0x800
#define FORCE_OVF	0x2000000
#define PMI_T0		0x4000000
#define ENABLE		0x1000
#define FAST		0x80000000

static int fd;
static struct control control;

/* With hyper-threads, CPU 1 is the second one of the core. */
static void setup(void)
{
	pin(0);
	fd = account_init();
	control_init(&control, 1);
}

static void add(u32 map, u64 cccr, u64 escr)
{
	control_add(&control, map, cccr);
	control.ctr[control.c.nractrs - 1].aux = escr;
}

static void add_imode(u32 map, u64 cccr, u64 escr, u64 period)
{
	control_add_imode(&control, map, cccr, period);
	control.ctr[control.c.nractrs + control.c.nrictrs - 1].aux = escr;
}

static int set_one(u32 map, u64 cccr, u64 escr)
{
	control_init(&control, 1);
	add(map, cccr, escr);
	return set_control(fd, &control);
}

START_TEST(described)
{
	ck_assert_uint_eq(info.cpu_type, VPERFCTR_CPU_INTEL_P4);
	ck_assert_uint_eq(info.nrctrs, 18);
	ck_assert_uint_eq(info.pmc_mask, 0x3ffff);
	ck_assert_uint_eq(info.pmc_width, 32);
	ck_assert_uint_eq(info.max_period, 0x7fffffff);
	ck_assert(!strncmp(info.cpu_name, "Intel Pentium 4", 15));
}
END_TEST

/* Each bit of both registers: accepted or refused as the interface says, and loaded. */
START_TEST(bits)
{
	const u64 allowed = 0x43fff000;
	unsigned int bit;

	for (bit = 0; bit < 64; bit++) {
		u64 cccr = INSNS_CCCR ^ 1ULL << bit, escr = INSNS(P4_USER) ^ 1ULL << bit;
		bool valid = !(cccr & ~allowed) && (cccr & ENABLE) && !(cccr & FORCE_OVF) &&
			     (cccr & 0x30000) == 0x30000 && (cccr >> 13 & 7) != 7 &&
			     (cccr >> 13 & 7 || cpu_model() < 3);

		/* extended cascading and hyper-threads depend on the processor */
		if (bit != 11 && bit != 16 && bit != 17)
			ck_assert_msg(set_one(12, cccr, INSNS(P4_USER)) == (valid ? 0 : -EINVAL),
				      "bit %u of the CCCR", bit);
		valid = !(escr & ~0x7ffffffcULL) && (escr & (P4_USER | P4_KERNEL));
		ck_assert_msg(set_one(12, INSNS_CCCR, escr) == (valid ? 0 : -EINVAL),
			      "bit %u of the ESCR", bit);
	}
}
END_TEST

START_TEST(refused)
{
	assert_errno(set_one(18, INSNS_CCCR, INSNS(P4_USER)), EINVAL);
	assert_errno(set_one(FAST | 18, INSNS_CCCR, INSNS(P4_USER)), EINVAL);
	/* Counters 12, 13 and 16 have one ESCR for this event, 14, 15 and 17 another. */
	control_init(&control, 1);
	add(12, INSNS_CCCR, INSNS(P4_USER));
	add(13, INSNS_CCCR, INSNS(P4_USER | P4_KERNEL));
	assert_errno(set_control(fd, &control), EINVAL);
	control.ctr[1].map = 14;
	assert_ok(set_control(fd, &control));
	control.ctr[1].map = FAST | 12;
	assert_errno(set_control(fd, &control), EINVAL);
	/* PEBS. */
	control_init(&control, 1);
	add(12, P4_CCCR | P4_SELECT(5), P4_EVENT(9, 1) | P4_USER);
	control.c.global[0] = 0x1000001;
	control.c.global[1] = 1;
	assert_ok(set_control(fd, &control));
	control.c.global[0] |= 1 << 25;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.global[0] = 0;
	assert_errno(set_control(fd, &control), EINVAL);
	/* An i-mode control that sets the interrupt bit itself. */
	control_init(&control, 1);
	add_imode(12, INSNS_CCCR | PMI_T0, INSNS(P4_USER), 1000000);
	assert_ok(set_control(fd, &control));
	control_init(&control, 1);
	add(12, INSNS_CCCR | PMI_T0, INSNS(P4_USER));
	assert_errno(set_control(fd, &control), EINVAL);
}
END_TEST

/* T0_OS is kernel mode, on any counter. */
START_TEST(kernel_mode)
{
	pid_t pid = fork();

	if (pid) {
		ck_assert_int_eq(wait_for(pid), 0);
		assert_ok(set_one(12, INSNS_CCCR, INSNS(P4_KERNEL)));
		return;
	}
	if (setgroups(0, NULL) || setresuid(NOBODY, NOBODY, NOBODY))
		die("setresuid: %s", strerror(errno));
	fd = open_state(0);
	control_init(&control, 1);
	add(0, P4_CCCR | P4_SELECT(6), P4_EVENT(0x13, 1) | P4_USER);
	add(17, INSNS_CCCR, INSNS(P4_USER | P4_KERNEL));
	if (set_control(fd, &control) != -EPERM)
		die("an ordinary user counts kernel mode");
	control.ctr[1].aux = INSNS(P4_USER);
	if (set_control(fd, &control))
		die("an ordinary user cannot count user mode");
	_exit(0);
}
END_TEST

/* All counters that have the event, and cycles, which agree here. */
START_TEST(instructions)
{
	struct sums before, after;
	unsigned int i;

	for (i = 12; i < 18; i++)
		add(i, INSNS_CCCR, INSNS(P4_USER));
	add(0, P4_CCCR | P4_SELECT(6), P4_EVENT(0x13, 1) | P4_USER);
	add(FAST | 2, P4_CCCR | P4_SELECT(6), P4_EVENT(0x13, 1) | P4_USER);
	assert_ok(set_control(fd, &control));
	read_sums(fd, &before);
	loop(500000);
	read_sums(fd, &after);
	for (i = 0; i < 8; i++) {
		u64 counted = after.pmc[i] - before.pmc[i];

		ck_assert_uint_ge(counted, 1000000);
		ck_assert_uint_eq(counted, after.pmc[0] - before.pmc[0]);
	}
	ck_assert_uint_le(after.pmc[0] - before.pmc[0], 1001000);
}
END_TEST

/* Reads in user mode, also by fast RDPMC, which has the low half only. */
START_TEST(user_reads)
{
	const struct vperfctr_page *page = map_state(fd);
	unsigned int i;
	u64 overhead = 0;

	for (i = 0; i < 2; i++) {
		u64 before, after;

		ck_assert_int_eq(set_one(i ? FAST | 14 : 14, INSNS_CCCR, INSNS(P4_USER)), 0);
		ck_assert_uint_eq(page->mask, 0xffffffff);
		ck_assert_uint_eq(page->ctr[0].map, i ? FAST | 14 : 14);
		before = self_read(page, 0);
		loop(1);
		after = self_read(page, 0);
		overhead = after - before - 2;
		before = self_read(page, 0);
		loop(10000);
		after = self_read(page, 0);
		ck_assert_uint_eq(after - before, overhead + 20000);
		ck_assert_uint_eq(rdpmc(FAST | 14) >> 32, 0);
	}
}
END_TEST

/* perf, after the module has released the counters, counts the same. */
START_TEST(as_perf_counts)
{
	u64 count;
	int perf;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	perf = perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);
	ck_assert_int_ge(perf, 0);
	loop(500000);
	ck_assert_int_eq(read(perf, &count, sizeof(count)), sizeof(count));
	close(perf);
	ck_assert_uint_ge(count, 1000000);
	ck_assert_uint_le(count, 1002000);
	ck_assert_uint_eq(perf_samples(PERF_COUNT_HW_INSTRUCTIONS, 100000), 100);
	fd = open_state(0);
	assert_ok(set_one(12, INSNS_CCCR, INSNS(P4_USER)));
	assert_errno(perf_open(PERF_COUNT_HW_INSTRUCTIONS, false), EBUSY);
}
END_TEST

/* ---- overflows -------------------------------------------------------------- */

START_TEST(periods)
{
	struct sums sums;

	handle(SIGUSR1, on_overflow);
	acc->period = 10007;
	acc->index = 1;
	add(16, INSNS_CCCR, INSNS(P4_USER));
	add_imode(13 + _i, INSNS_CCCR, INSNS(P4_USER), 10007);
	control.c.si_signo = SIGUSR1;
	assert_ok(set_control(fd, &control));
	loop(500000);
	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_ge(sums.pmc[1], 1000000);
	ck_assert_uint_eq(sums.pmc[0], sums.pmc[1]);
	ck_assert_uint_eq(acc->signals, sums.pmc[1] / 10007);
	ck_assert_uint_eq(acc->masks, 2);
	ck_assert_uint_eq(acc->wrong, 0);
}
END_TEST

/*
 * Each instruction overflows: a ring has a sample of each, or has dropped it where samples come
 * too fast.  The last instruction enters the kernel, which stops the counter.
 */
START_TEST(forced)
{
	struct mapped_ring ring;
	struct sums sums;

	make_ring(fd, 1024, 1, 1, &ring);
	control_init(&control, 1);
	add_imode(12, INSNS_CCCR | FORCE_OVF, INSNS(P4_USER), 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	assert_ok(set_control(fd, &control));
	loop(_i ? 5000 : 100);
	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_ge(sums.pmc[0], 200);
	ck_assert_uint_ge(ring_head(&ring) + ring.page->dropped, sums.pmc[0] - 1);
	ck_assert_uint_le(ring_head(&ring) + ring.page->dropped, sums.pmc[0]);
	ck_assert_uint_ge(ring_head(&ring), 100);
	add_imode(14, INSNS_CCCR | FORCE_OVF, INSNS(P4_USER), 2);
	assert_errno(set_control(fd, &control), EINVAL);
}
END_TEST

static const struct {
	u32 from, to, bit;
} cascades[] = {
	{ 12, 14, CASCADE }, { 15, 13, CASCADE }, { 16, 12, EXT_CASCADE }, { 17, 15, EXT_CASCADE },
};

/* The cascaded counter counts what follows the first overflow, in any number of switches. */
START_TEST(cascaded)
{
	struct sums sums;

	handle(SIGUSR1, on_overflow);
	add(cascades[_i].to, (INSNS_CCCR & ~ENABLE) | cascades[_i].bit, INSNS(P4_USER));
	add_imode(cascades[_i].from, INSNS_CCCR, INSNS(P4_USER), 200000);
	control.c.si_signo = SIGUSR1;
	assert_ok(set_control(fd, &control));
	loop(50000);
	read_sums(fd, &sums);
	ck_assert_uint_eq(sums.pmc[0], 0);
	msleep(5);
	loop(500000);
	msleep(5);
	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_ge(sums.pmc[1], 1100000);
	ck_assert_uint_eq(sums.pmc[0], sums.pmc[1] - 200000);
	ck_assert_uint_eq(acc->signals, sums.pmc[1] / 200000);
	/* Nothing can start this one. */
	control.ctr[1].map ^= 1;
	control.c.tsc_on = 1;
	assert_errno(set_control(fd, &control), EINVAL);
}
END_TEST

/* ---- hyper-threads ------------------------------------------------------------ */

static u32 forbidden_cpus(void)
{
	union {
		struct vperfctr_cpu_mask mask;
		u32 words[2 + 256];
	} u = { .mask = { .size = sizeof(u.mask), .nrwords = 256 } };

	assert_ok(call(dev, VPERFCTR_CPUS_FORBIDDEN, &u.mask));
	return u.mask.mask[0];
}

/* CPUs 0 and 1 are threads of a core: only the first one counts. */
START_TEST(second_thread)
{
	struct sums before, after;

	if (nr_cpus() < 2)
		return;
	ck_assert_uint_eq(forbidden_cpus(), 2);
	pin(0);
	assert_ok(set_one(12, INSNS_CCCR, INSNS(P4_USER)));
	/* The other thread's instructions are not counted. */
	if (!fork()) {
		pin(1);
		for (;;)
			loop(10000);
	}
	read_sums(fd, &before);
	loop(500000);
	read_sums(fd, &after);
	ck_assert_uint_ge(after.pmc[0] - before.pmc[0], 1000000);
	ck_assert_uint_le(after.pmc[0] - before.pmc[0], 1001000);
	set_affinity(0, 3);
	pin(1);
	ck_assert_uint_eq(status_of(fd) & VPERFCTR_STATUS_FORBIDDEN, VPERFCTR_STATUS_FORBIDDEN);
	read_sums(fd, &before);
	loop(10000);
	read_sums(fd, &after);
	ck_assert_uint_eq(after.pmc[0], before.pmc[0]);
	pin(0);
	loop(10000);
	read_sums(fd, &before);
	ck_assert_uint_ge(before.pmc[0] - after.pmc[0], 20000);
}
END_TEST

/* Events that both threads cause need a core with one. */
START_TEST(both_threads)
{
	const u64 uops = P4_EVENT(0x04, 0x8000) | P4_USER;

	control_init(&control, 1);
	add(8, P4_CCCR | P4_SELECT(1), uops);
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	if (nr_cpus() < 2) {
		assert_ok(set_control(fd, &control));
		return;
	}
	assert_errno(set_control(fd, &control), EUSERS);
	write_file("/sys/devices/system/cpu/cpu1/online", "0");
	assert_ok(set_control(fd, &control));
	assert_ok(stop_all(fd));
	write_file("/sys/devices/system/cpu/cpu1/online", "1");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, described);
	tcase_add_test(tc, bits);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, kernel_mode);
	tcase_add_test(tc, instructions);
	tcase_add_test(tc, user_reads);
	tcase_add_loop_test(tc, periods, 0, 2);
	tcase_add_loop_test(tc, forced, 0, 2);
	tcase_add_loop_test(tc, cascaded, 0, 4);
	tcase_add_test(tc, second_thread);
	tcase_add_test(tc, both_threads);
	if (getenv("PERF"))
		tcase_add_test(tc, as_perf_counts);
}

int main(void)
{
	open_device();
	return run_tests("p4", add_tests);
}
