// SPDX-License-Identifier: GPL-2.0
/*
 * CONTROL: everything that it refuses, and that a refused CONTROL changes nothing.
 * Counts must be exact.
 */
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "suite.h"

#define CAP_PERFMON_	38	/* not in old headers */

static int fd;
static const struct vperfctr_page *page;

/* The control that runs, and the one that is tried: the same except for one field. */
static struct control good, tried;

/* Instructions from one self-read to the next with a failing ioctl in between. */
static u64 overhead;

static u64 insns_of_call(int cmd, const void *arg, int *ret)
{
	unsigned int ignored, restarts;
	u64 before, after;

	before = self_read_restarts(page, 0, &ignored);
	*ret = call(fd, cmd, arg);
	after = self_read_restarts(page, 0, &restarts);
	/* A read that starts over is rare and takes more instructions. */
	return restarts ? overhead : after - before;
}

static void setup(void)
{
	int ret, i;
	u64 insns;

	fd = open_state(0);
	page = map_state(fd);
	control_init(&good, 1);
	control_add(&good, 1, INSNS_USER);
	control_add(&good, 0, CYCLES_USER);
	assert_ok(set_control(fd, &good));
	tried = good;
	tried.c.ctr = (uintptr_t)tried.ctr;
	/* The first call resolves libc's symbol. */
	insns_of_call(VPERFCTR_OPEN, NULL, &ret);
	overhead = ~0ULL;
	for (i = 0; i < 8; i++) {
		insns = insns_of_call(VPERFCTR_OPEN, NULL, &ret);
		if (insns < overhead)
			overhead = insns;
	}
	assert_errno(ret, ENOTTY);
}

/* Check that nothing has changed: the old control is set, and runs. */
static void check_unharmed(const char *what)
{
	struct control now;
	struct vperfctr_read req = { .size = sizeof(req), .nrctrs = 2 };

	memset(&now, 0, sizeof(now));
	now.c.size = sizeof(now.c);
	now.c.ctr_size = sizeof(now.ctr[0]);
	now.c.ctr = (uintptr_t)now.ctr;
	req.control = (uintptr_t)&now;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	now.c.ctr = good.c.ctr;
	ck_assert_msg(!memcmp(&now, &good, sizeof(now)), "%s: the control has changed", what);
	ck_assert_uint_eq(req.status, ATTACHED | ACTIVE);
}

static void refused_at(int error, const void *arg, const char *what)
{
	int tries = COUNTS_APART ? 1 : 8;	/* another CPU may have had a clock tick */
	u64 insns;
	int ret;

	do {
		insns = insns_of_call(VPERFCTR_CONTROL, arg, &ret);
	} while (--tries && ret == -error && insns > overhead);
	ck_assert_msg(ret == -error, "%s: %d, not %d", what, ret, -error);
	ck_assert_msg(insns == overhead, "%s: %llu instructions were counted, not %llu",
		      what, insns, overhead);
	check_unharmed(what);
}

#define refused(error, field, value) do {				\
	typeof(field) saved_ = (field);					\
									\
	(field) = (value);						\
	refused_at(error, &tried, #field " = " #value);			\
	(field) = saved_;						\
} while (0)

START_TEST(einval_header)
{
	refused(EINVAL, tried.c.size, 80 - 1);	/* of interface 0.9 */
	refused(EINVAL, tried.c.size, 0);
	refused(EINVAL, tried.c.flags, 8);
	refused(EINVAL, tried.c.flags, 0x80000000);
	refused(EINVAL, tried.c.flags, VPERFCTR_CONTROL_START_ON_EXEC | 16);
	refused(EINVAL, tried.c.kind, info.nrkinds);
	refused(EINVAL, tried.c.kind, 0xfffffffe);
	refused(EINVAL, tried.c.kind, VPERFCTR_ANY_KIND);	/* nrkinds is 0 */
	refused(EINVAL, tried.c.nrkinds, 1);
	refused(EINVAL, tried.c.reserved, 1);
	refused(EINVAL, tried.c.ctr_size, 0);
	refused(EINVAL, tried.c.ctr_size, sizeof(tried.ctr[0]) - 8);
	refused(EINVAL, tried.c.ctr_size, sizeof(tried.ctr[0]) + 4);
	refused(EINVAL, tried.c.ctr_size, PAGE + 8);
	refused(EINVAL, tried.c.ctr_size, 0xfffffff8);
	refused(EINVAL, tried.c.tsc_on, 2);
	refused(EINVAL, tried.c.tsc_on, 0x80000000);
	refused(EINVAL, tried.c.nractrs, info.nrctrs + 1);
	refused(EINVAL, tried.c.nractrs, VPERFCTR_MAX_CTRS + 1);
	refused(EINVAL, tried.c.nractrs, 0x80000000);
	refused(EINVAL, tried.c.nractrs, 0xffffffff);
	refused(EINVAL, tried.c.preserve, 1 << 2);
	refused(EINVAL, tried.c.preserve, 1ULL << 63);
	refused(EINVAL, tried.c.si_signo, 10);
	refused(EINVAL, tried.c.si_signo, -1);
	refused(EINVAL, tried.c.global[0], 1);
	refused(EINVAL, tried.c.global[1], 1ULL << 63);

	/* No counter to start or preserve: it must not be taken for an all-zero control. */
	tried.c.tsc_on = tried.c.nractrs = 0;
	refused(EINVAL, tried.c.flags, VPERFCTR_CONTROL_START_ON_EXEC);
	refused(EINVAL, tried.c.preserve, 1);
	refused(EINVAL, tried.c.si_signo, 10);
	refused(EINVAL, tried.c.ctr_size, 0);
	refused(EINVAL, tried.c.global[0], 1);
}
END_TEST

/* On a processor with one kind of CPUs, any kind is this one. */
START_TEST(any_kind_of_one)
{
	struct control control;
	struct sums first, sums;

	if (info.nrkinds != 1)
		return;
	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	control.c.kind = VPERFCTR_ANY_KIND;
	control.c.nrkinds = 2;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.nrkinds = 1;
	assert_ok(set_control(fd, &control));
	read_sums(fd, &first);
	loop(1000);
	read_sums(fd, &sums);
	ck_assert_uint_ge(sums.pmc[0], first.pmc[0] + 2000);
	ck_assert_uint_lt(sums.pmc[0], first.pmc[0] + 10000);
	assert_status(fd, ATTACHED | ACTIVE);
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	assert_ok(set_control(fd, &control));
}
END_TEST

/* Without overflow interrupts the error is EOPNOTSUPP: see test_nopmu.c. */
START_TEST(einval_imode)
{
	/* The second counter as an i-mode counter. */
	refused(EINVAL, tried.c.nrictrs, 0xffffffff);
	refused(EINVAL, tried.c.nrictrs, 0xfffffffe);	/* 0 in all */
	refused(EINVAL, tried.c.nrictrs, 0x80000000);
	refused(EINVAL, tried.c.nrictrs, info.nrctrs - 1);
	tried.c.nractrs = tried.c.nrictrs = 1;
	tried.c.si_signo = 10;
	refused(EINVAL, tried.ctr[1].ireset, 0);
	tried.ctr[1].ireset = -1000;
	refused(EINVAL, tried.ctr[1].ireset, 1);
	refused(EINVAL, tried.ctr[1].ireset, 1000);
	refused(EINVAL, tried.ctr[1].ireset, INT64_MAX);
	refused(EINVAL, tried.ctr[1].ireset, INT64_MIN);
	if (info.max_period < INT64_MAX)
		refused(EINVAL, tried.ctr[1].ireset, INT64_MIN + 1);
	refused(EINVAL, tried.ctr[1].ireset, -(s64)info.max_period - 1);
	refused(EINVAL, tried.ctr[1].ireset, -(s64)info.max_period - 2);
	refused(EINVAL, tried.ctr[1].ireset, 1 - (s64)info.min_period);	/* 0 on arm64 */
	refused(EINVAL, tried.ctr[0].ireset, -1);	/* a-mode */
	refused(EINVAL, tried.ctr[0].ireset, -1000);
	refused(EINVAL, tried.c.si_signo, 65);
	refused(EINVAL, tried.c.si_signo, 0x7fffffff);
	refused(EINVAL, tried.c.si_signo, -1);
	refused(EINVAL, tried.c.si_signo, INT32_MIN);
	refused(EINVAL, tried.c.flags, VPERFCTR_CONTROL_RING);	/* and a signal */
	/* Bits that the user must not set are refused in i-mode counters too. */
	refused(EINVAL, tried.ctr[1].evntsel, CYCLES_USER | NOT_THE_USERS);
	refused(EINVAL, tried.ctr[1].map, tried.ctr[0].map);
	tried.c.si_signo = 0;
	/* Without a signal and a ring, no thread would know of an overflow. */
	refused(EINVAL, tried.c.flags, VPERFCTR_CONTROL_INHERIT);
	refused(EINVAL, tried.c.flags, VPERFCTR_CONTROL_RING);	/* there is none */
	tried.c.nractrs = 2;
	tried.c.nrictrs = 0;
	tried.ctr[1].ireset = 0;
	refused(EINVAL, tried.c.flags, VPERFCTR_CONTROL_RING);
}
END_TEST

/* 0: the longest, 1: the shortest */
static const s64 good_iresets[] = { 1, -1000, -0x7fffffff, 0 };

/* READ returns the ireset, and the page has the counter's start value. */
START_TEST(ireset_accepted)
{
	s64 ireset = good_iresets[_i] ?: -(s64)info.max_period;

	if (ireset == 1)
		ireset = -(s64)info.min_period;

	good.c.nractrs = good.c.nrictrs = 1;
	good.c.si_signo = 0;
	good.ctr[0].evntsel = MODES_ARE_SHARED ? SEL_KERNEL | CYCLES : CYCLES_USER;
	good.ctr[1].evntsel = INSNS_KERNEL;	/* an overflow, if any, has to wait */
	good.ctr[1].ireset = ireset;
	good.c.flags = VPERFCTR_CONTROL_START_ON_EXEC;
	assert_ok(set_control(fd, &good));
	ck_assert_int_eq((s64)page->ctr[1].start, ireset);
	ck_assert_uint_eq(VPERFCTR_CSTATUS_NRCTRS(page->cstatus), 2);
	ck_assert_uint_eq(VPERFCTR_CSTATUS_NRACTRS(page->cstatus), 1);
	ck_assert(page->cstatus & VPERFCTR_CSTATUS_ICTRS);
}
END_TEST

START_TEST(einval_counter)
{
	unsigned int i;

	refused(EINVAL, tried.ctr[1].map, no_general());
	for (i = 0; i < no_general(); i++) {
		if (!(info.pmc_mask >> i & 1))
			refused(EINVAL, tried.ctr[1].map, i);
	}
	refused(EINVAL, tried.ctr[1].map, 31);
	refused(EINVAL, tried.ctr[1].map, 64);
	refused(EINVAL, tried.ctr[1].map, 0x100);
	refused(EINVAL, tried.ctr[1].map, 0x80000000);
	refused(EINVAL, tried.ctr[1].map, 0xffffffff);
	refused(EINVAL, tried.ctr[1].map, tried.ctr[0].map);
	refused(EINVAL, tried.ctr[0].reserved, 1);
	refused(EINVAL, tried.ctr[1].reserved, 0x80000000);
	refused(EINVAL, tried.ctr[1].aux, 1);
	refused(EINVAL, tried.ctr[1].ireset, -1);
	refused(EINVAL, tried.ctr[1].ireset, 1);

	for (i = 0; i < sizeof(refused_evntsels) / sizeof(refused_evntsels[0]); i++)
		refused(EINVAL, tried.ctr[1].evntsel, refused_evntsels[i]);
	for (i = 0; i < 64; i++) {
		if (refused_bits() >> i & 1)
			refused(EINVAL, tried.ctr[1].evntsel, INSNS_USER | 1ULL << i);
	}
}
END_TEST

/* The counterpart: each bit that a user may set is accepted, and READ returns it. */
START_TEST(evntsel_accepted)
{
	unsigned int i;

	for (i = 0; i < sizeof(accepted_evntsels) / sizeof(accepted_evntsels[0]); i++) {
		good.ctr[1].evntsel = accepted_evntsels[i];
		if (MODES_ARE_SHARED)
			good.ctr[0].evntsel = CYCLES | (accepted_evntsels[i] & (SEL_USER | SEL_KERNEL));
		assert_ok(set_control(fd, &good));
		check_unharmed("taken");
	}
}
END_TEST

START_TEST(einval_absent_events)
{
	unsigned int i, absent = 0;

	if (!absent_events_refused())
		return;
	for (i = 0; i < sizeof(arch_events) / sizeof(arch_events[0]); i++) {
		u64 evntsel = SEL_USER | arch_events[i];

		if (info.arch_events & 1 << i) {
			good.ctr[1].evntsel = evntsel;
			assert_ok(set_control(fd, &good));
		} else {
			refused(EINVAL, tried.ctr[1].evntsel, evntsel);
			absent++;
		}
	}
	/* The emulated processor lacks some events: otherwise this tests only half. */
	ck_assert_uint_ne(absent, 0);
}
END_TEST

START_TEST(einval_fixed)
{
	unsigned int i;

	if (!nr_fixed()) {
		refused(EINVAL, tried.ctr[1].map, FIXED(0));
		return;
	}
	tried.ctr[1].map = FIXED(0);
	tried.ctr[1].evntsel = FIXED_USER;
	refused(EINVAL, tried.ctr[1].map, no_fixed());
	for (i = 0; i < (no_fixed() & ~VPERFCTR_FIXED); i++) {
		if (!(info.fixed_mask >> i & 1))
			refused(EINVAL, tried.ctr[1].map, FIXED(i));
	}
	refused(EINVAL, tried.ctr[1].map, FIXED(16));
	refused(EINVAL, tried.ctr[1].map, FIXED(31));
	refused(EINVAL, tried.ctr[1].map, FIXED(0x3fffffff));
	refused(EINVAL, tried.ctr[1].map, FIXED(0) | 0x80000000);
	refused(EINVAL, tried.ctr[1].evntsel, FIXED_NOTHING);
	for (i = 0; i < 64; i++) {
		if ((FIXED_KERNEL | FIXED_USER) >> i & 1)
			continue;
		refused(EINVAL, tried.ctr[1].evntsel, 1ULL << i);
		refused(EINVAL, tried.ctr[1].evntsel, FIXED_USER | 1ULL << i);
	}
	refused(EINVAL, tried.ctr[1].aux, 1);
	refused(EINVAL, tried.ctr[1].ireset, 1);
	tried.ctr[0] = tried.ctr[1];
	refused(EINVAL, tried.ctr[0].map, FIXED(0));	/* twice */
}
END_TEST

START_TEST(e2big)
{
	struct {
		struct vperfctr_control c;
		char newer[MAX_PAGE];
	} s = { .c = tried.c };
	unsigned int i;

	s.c.size = sizeof(s.c) + 32;
	for (i = 0; i < 32; i++) {
		s.newer[i] = 1;
		refused_at(E2BIG, &s, "a newer control");
		s.newer[i] = 0;
	}
	s.c.size = PAGE + 8;
	refused_at(E2BIG, &s, "a control of more than a page");
	s.c.size = 0xffffffff;
	refused_at(E2BIG, &s, "a control of 4 GB");
	s.c.size = sizeof(s.c) + 32;
	s.newer[32] = 1;	/* beyond the size */
	assert_ok(call(fd, VPERFCTR_CONTROL, &s));
	check_unharmed("a newer control, with zeroes");
}
END_TEST

/* Counters of another size: fields that this kernel does not know must be zero. */
START_TEST(counters_of_a_newer_caller)
{
	struct newer {
		struct vperfctr_ctr ctr;
		u64 newer[2];
	} ctr[2] = { { .ctr = tried.ctr[0] }, { .ctr = tried.ctr[1] } }, shown[2];
	struct vperfctr_control now = { .size = sizeof(now), .ctr_size = sizeof(shown[0]),
					.ctr = (uintptr_t)shown };
	struct vperfctr_read req = { .size = sizeof(req), .nrctrs = 2,
				     .control = (uintptr_t)&now };
	unsigned int i;

	tried.c.ctr = (uintptr_t)ctr;
	tried.c.ctr_size = sizeof(ctr[0]);
	for (i = 0; i < 4; i++) {
		ctr[i / 2].newer[i % 2] = 1ULL << 63;
		refused_at(E2BIG, &tried, "a newer counter");
		ctr[i / 2].newer[i % 2] = 0;
	}
	refused(EINVAL, ctr[1].ctr.reserved, 1);
	refused(EINVAL, ctr[1].ctr.map, no_general());
	assert_ok(call(fd, VPERFCTR_CONTROL, &tried));
	check_unharmed("newer counters, with zeroes");
	refused(EFAULT, tried.c.ctr, 8);

	memset(shown, 0xff, sizeof(shown));
	assert_ok(call(fd, VPERFCTR_READ, &req));
	ck_assert_int_eq(memcmp(shown, ctr, sizeof(ctr)), 0);
	/* The kernel does not write beyond the counters. */
	now.ctr_size = sizeof(shown[0].ctr) - 8;
	assert_errno(call(fd, VPERFCTR_READ, &req), EINVAL);
}
END_TEST

START_TEST(efault)
{
	char *edge = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vperfctr_control *c;

	ck_assert_ptr_ne(edge, MAP_FAILED);
	edge += PAGE;
	ck_assert_int_eq(mprotect(edge, PAGE, PROT_NONE), 0);

	refused_at(EFAULT, NULL, "NULL");
	refused_at(EFAULT, edge, "nothing");
	c = (void *)(edge - 4);
	c->size = sizeof(*c);
	refused_at(EFAULT, c, "the size only");
	c = (void *)(edge - sizeof(*c) + 8);
	memcpy(c, &tried.c, sizeof(*c) - 8);
	refused_at(EFAULT, c, "all but ctr");

	refused(EFAULT, tried.c.ctr, 0);
	refused(EFAULT, tried.c.ctr, (uintptr_t)edge);
	refused(EFAULT, tried.c.ctr, ~0ULL);
	refused(EFAULT, tried.c.ctr, 0xffff888000000000);
	/* The first counter is readable, but not all of the second. */
	memcpy(edge - 2 * sizeof(tried.ctr[0]) + 8, tried.ctr, 2 * sizeof(tried.ctr[0]) - 8);
	refused(EFAULT, tried.c.ctr, (uintptr_t)edge - 2 * sizeof(tried.ctr[0]) + 8);

	/* The kernel reads only as many counters as there are. */
	memcpy(edge - 2 * sizeof(tried.ctr[0]), tried.ctr, 2 * sizeof(tried.ctr[0]));
	tried.c.ctr = (uintptr_t)edge - 2 * sizeof(tried.ctr[0]);
	assert_ok(set_control(fd, &tried));
	check_unharmed("at the edge");
}
END_TEST

/* ---- kernel mode ------------------------------------------------------------- */

/* Give up all privileges except at most one capability; the device stays open. */
static void become_nobody(unsigned int capability)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (capability) {
		ck_assert_int_eq(prctl(PR_SET_KEEPCAPS, 1), 0);
		data[capability / 32].permitted = 1U << capability % 32;
		data[capability / 32].effective = 1U << capability % 32;
	}
	ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
	ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
	if (capability)
		ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
}

static u32 features(void)
{
	struct vperfctr_info i = { .size = sizeof(i) };

	assert_ok(call(dev, VPERFCTR_INFO, &i));
	return i.features;
}

/* Root's state cannot be changed by another user. */
static void open_own_state(void)
{
	assert_errno(set_control(fd, &tried), EPERM);
	munmap((void *)page, PAGE);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(fd);
	fd = open_state(0);
	page = map_state(fd);
	assert_ok(set_control(fd, &good));
}

START_TEST(eperm_kernel)
{
	become_nobody(0);
	open_own_state();
	ck_assert_uint_eq(features() & VPERFCTR_FEATURE_KERNEL, 0);
	if (MODES_ARE_SHARED)
		tried.c.nractrs = 1;
	refused(EPERM, tried.ctr[0].evntsel, INSNS_KERNEL);
	refused(EPERM, tried.ctr[0].evntsel, INSNS_BOTH);
	if (MODES_ARE_SHARED)
		return;
	refused(EPERM, tried.ctr[1].evntsel, INSNS_KERNEL);
	refused(EPERM, tried.ctr[1].evntsel, INSNS_BOTH);
	/* An invalid control is EINVAL, with or without the privilege. */
	refused(EINVAL, tried.ctr[1].evntsel, INSNS_BOTH | NOT_THE_USERS);
	if (nr_fixed()) {
		tried.ctr[1].map = FIXED(0);
		refused(EPERM, tried.ctr[1].evntsel, FIXED_KERNEL);
		refused(EPERM, tried.ctr[1].evntsel, FIXED_BOTH);
		/* Fixed counters may have no modes. */
		if (FIXED_USER == FIXED_BOTH)
			tried.ctr[1].map = good.ctr[1].map;
		else
			tried.ctr[1].evntsel = FIXED_USER;
	}
	assert_ok(set_control(fd, &tried));
}
END_TEST

static const unsigned int capabilities[] = { CAP_PERFMON_, CAP_SYS_ADMIN };

START_TEST(kernel_by_capability)
{
	become_nobody(capabilities[_i]);
	ck_assert_uint_ne(features() & VPERFCTR_FEATURE_KERNEL, 0);
	count(fd, INSNS_KERNEL);
	ck_assert_uint_ne(self_read(page, 0), 0);
}
END_TEST

START_TEST(not_by_another_capability)
{
	become_nobody(CAP_SYS_PTRACE);
	open_own_state();
	ck_assert_uint_eq(features() & VPERFCTR_FEATURE_KERNEL, 0);
	tried.ctr[0].evntsel = SEL_KERNEL | CYCLES;
	refused(EPERM, tried.ctr[1].evntsel, INSNS_KERNEL);
}
END_TEST

#define ALLOW_KERNEL "/sys/module/vperfctr/parameters/allow_kernel"

START_TEST(kernel_by_parameter)
{
	pid_t pid;

	write_file(ALLOW_KERNEL, "Y");
	pid = fork();
	if (!pid) {
		become_nobody(0);
		fd = open_state(0);
		count(fd, INSNS_BOTH);
		_exit(features() & VPERFCTR_FEATURE_KERNEL ? 0 : 1);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	write_file(ALLOW_KERNEL, "N");
}
END_TEST

/* Northbridge events count other cores' events, and disturb the other cores' counts. */
START_TEST(einval_northbridge)
{
	/* From family 15h on they have separate counters. */
	if (info.cpu_type != VPERFCTR_CPU_AMD || nr_general() > 4)
		return;
	refused(EINVAL, tried.ctr[1].evntsel, SEL_USER | 0x01e0);
	refused(EINVAL, tried.ctr[1].evntsel, SEL_USER | 0x00ff);
	good.ctr[1].evntsel = SEL_USER | 0x01df;
	assert_ok(set_control(fd, &good));
}
END_TEST

/* Events that need two merged counters: a single one counts too few. */
START_TEST(einval_merging)
{
	const u64 flops = SEL_USER | 0xff03, merge = SEL_USER | 0xf000000ffULL;

	if (info.cpu_type != VPERFCTR_CPU_AMD)
		return;
	if (needs_merging(flops)) {
		refused(EINVAL, tried.ctr[1].evntsel, flops);
		refused(EINVAL, tried.ctr[1].evntsel, merge);
	} else {
		good.ctr[1].evntsel = flops;
		assert_ok(set_control(fd, &good));
	}
	/* The neighbouring code, and codes that differ in the high bits, are accepted. */
	good.ctr[1].evntsel = SEL_USER | 0xff02;
	assert_ok(set_control(fd, &good));
	if (needs_merging(flops)) {
		good.ctr[1].evntsel = SEL_USER | 0x10000ff03ULL;
		assert_ok(set_control(fd, &good));
		good.ctr[1].evntsel = SEL_USER | 0xe000000ffULL;
		assert_ok(set_control(fd, &good));
	}
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, einval_header);
	tcase_add_test(tc, any_kind_of_one);
	/* Without i-mode: test_rt.c. */
	if (has(VPERFCTR_FEATURE_PCINT)) {
		tcase_add_test(tc, einval_imode);
		tcase_add_loop_test(tc, ireset_accepted, 0, 4);
	}
	tcase_add_test(tc, einval_counter);
	tcase_add_test(tc, evntsel_accepted);
	tcase_add_test(tc, einval_absent_events);
	tcase_add_test(tc, einval_northbridge);
	tcase_add_test(tc, einval_merging);
	tcase_add_test(tc, einval_fixed);
	tcase_add_test(tc, e2big);
	tcase_add_test(tc, counters_of_a_newer_caller);
	tcase_add_test(tc, efault);
	tcase_add_test(tc, eperm_kernel);
	tcase_add_loop_test(tc, kernel_by_capability, 0, 2);
	tcase_add_test(tc, not_by_another_capability);
	tcase_add_test(tc, kernel_by_parameter);
}

int main(void)
{
	open_device();
	return run_tests("control", add);
}
