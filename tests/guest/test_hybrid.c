// SPDX-License-Identifier: GPL-2.0
/*
 * Two kinds of CPUs: CPU 0 and CPU 1 are of different kinds.  Those of a hybrid processor
 * have different counters.  Counts must be exact.
 */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "narrow.h"
#include "service.h"
#include "two-kinds.h"

/* The values of the suites, see tests/vm/processors. */
#ifdef __aarch64__
#define CPU_TYPE	VPERFCTR_CPU_ARM_PMUV3
static const u32 core_types[] = { 0x410fd0c0, 0x410fd0c0 };
static const u64 pmc_masks[] = { 0x3f, 0x3f }, fixed_masks[] = { 1, 1 };
static const char *const names[] = { ", armv8_cortex_a72", ", armv8_cortex_a53" };
#else
#define CPU_TYPE	VPERFCTR_CPU_INTEL_ARCH
static const u32 core_types[] = { 0x40000001, 0x20000001 };
static const u64 pmc_masks[] = { 0xff, 0x3f }, fixed_masks[] = { 0xf, 0x7 };
static const char *const names[] = { ", Core", ", Atom" };
#endif

#define ONLINE		"/sys/devices/system/cpu/cpu1/online"

static struct vperfctr_info kinds[2];
static int fd;

static int get_info(u32 kind, struct vperfctr_info *i)
{
	*i = (struct vperfctr_info) { .size = sizeof(*i), .kind = kind };
	return call(dev, VPERFCTR_INFO, i);
}

static void get_kinds(void)
{
	if (get_info(0, &kinds[0]) || get_info(1, &kinds[1]))
		die("this test needs two kinds of CPUs");
}

static void setup(void)
{
	get_kinds();
	set_affinity(0, BOTH);
	fd = open_state(0);
}

/* Count instructions in user mode with all counters of the kind. */
static void use_all(struct control *control, u32 kind)
{
	u32 i;

	control_init(control, 1);
	for (i = 0; i < 64; i++) {
		if (kinds[kind].pmc_mask >> i & 1)
			control_add(control, i, INSNS_USER);
	}
	if (have_fixed_insns())
		control_add(control, FIXED(0), FIXED_USER);
	control->c.kind = kind;
}

static int count_kind(u32 kind, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.kind = kind;
	control.c.flags = flags;
	return set_control_by_library(fd, &control);
}

/* ---- kinds ---------------------------------------------------------------------------- */

START_TEST(info_of_each_kind)
{
	struct vperfctr_info i;
	u32 kind;

	for (kind = 0; kind < 2; kind++) {
		ck_assert_uint_eq(kinds[kind].kind, kind);
		ck_assert_uint_eq(kinds[kind].nrkinds, 2);
		ck_assert_uint_eq(kinds[kind].cpu_type, CPU_TYPE);
		ck_assert_uint_eq(kinds[kind].core_type, core_types[kind]);
		ck_assert_ptr_nonnull(strstr(kinds[kind].cpu_name, names[kind]));
		ck_assert_uint_eq(kinds[kind].nrctrs, __builtin_popcountll(kinds[kind].pmc_mask) +
				  __builtin_popcountll(kinds[kind].fixed_mask));
		ck_assert_uint_eq(kinds[kind].pmc_mask, pmc_masks[kind]);
		ck_assert_uint_eq(kinds[kind].fixed_mask,
				  fixed_masks[kind] & ~kinds[kind].watchdog_fixed);
	}
	/* Properties that a control must not depend on. */
	ck_assert_uint_eq(kinds[0].features, kinds[1].features);
	ck_assert_uint_eq(kinds[0].max_period, kinds[1].max_period);
	ck_assert_uint_eq(kinds[0].min_period, kinds[1].min_period);
	ck_assert_uint_eq(kinds[0].pmc_width, kinds[1].pmc_width);
	ck_assert_uint_eq(kinds[0].fixed_width, kinds[1].fixed_width);
	assert_errno(get_info(2, &i), EINVAL);
}
END_TEST

START_TEST(cpus_of_each_kind)
{
	struct {
		struct vperfctr_kind_cpus cpus;
		u32 words[8];
	} k;

	ck_assert_uint_eq(kind_cpus(0), 1);
	ck_assert_uint_eq(kind_cpus(1), 2);
	memset(&k, 0xff, sizeof(k));
	k.cpus.size = sizeof(k.cpus);
	k.cpus.nrkinds = 0;
	k.cpus.nrwords = 0;
	k.cpus.kind = 1;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &k), EOVERFLOW);
	ck_assert_uint_eq(k.cpus.nrwords, 1);
	ck_assert_uint_eq(k.words[0], ~0U);
	k.cpus.kind = 2;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &k), EINVAL);
	k.cpus.kind = 0xfffffffe;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &k), EINVAL);
	ck_assert_uint_eq(k.words[0], ~0U);
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, NULL), EFAULT);
}
END_TEST

/* ---- control -------------------------------------------------------------------- */

START_TEST(refused_for_wrong_kind)
{
	struct control control;

	assert_errno(count_kind(2, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	/* A control with only the TSC has no kind. */
	control_init(&control, 1);
	control.c.kind = 1;
	assert_errno(set_control(fd, &control), EINVAL);
	/* Nor does the all-zero control. */
	control_init(&control, 0);
	control.c.kind = 1;
	assert_errno(set_control(fd, &control), EINVAL);
}
END_TEST

/* Counters that only the other kind has. */
START_TEST(refused_counters_of_other_kind)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 6, INSNS_USER);
	control.c.kind = 1;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.kind = 0;
	assert_ok(set_control(fd, &control));
	set_affinity(0, BOTH);
	control_init(&control, 1);
	control_add(&control, FIXED(3), FIXED_USER);
	control.c.kind = 1;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.kind = 0;
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;	/* it must not move to the other kind */
	assert_ok(set_control_by_library(fd, &control));
	/* The number of counters of the other kind. */
	use_all(&control, 0);
	control.c.kind = 1;
	assert_errno(set_control(fd, &control), EINVAL);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* All counters of either kind, by READ and by RDPMC; READ's control has the kind. */
START_TEST(all_counters_of_each_kind)
{
	const struct vperfctr_page *page = map_state(fd);
	struct vperfctr_control shown = { .size = sizeof(shown),
					  .ctr_size = sizeof(struct vperfctr_ctr) };
	int tries = COUNTS_APART ? 1 : 8;	/* as in count_loop() */
	struct reading before, after;
	struct control control;
	unsigned int i, nr;
	u64 first;

	use_all(&control, _i);
	nr = control.c.nractrs;
	ck_assert_uint_eq(nr, __builtin_popcountll(pmc_masks[_i]) + have_fixed_insns());
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	assert_ok(set_control_by_library(fd, &control));
	ck_assert_uint_eq(affinity(0), 1U << _i);
	do {
		if (read_loop_read(fd, VPERFCTR_READ, init_reading(&before), init_reading(&after),
				   1000))
			die("READ failed");
	} while (--tries && after.own[1] - before.own[1] != INSNS_BETWEEN(1000));
	for (i = 0; i < nr; i++)
		ck_assert_uint_eq(after.own[1 + i] - before.own[1 + i], INSNS_BETWEEN(1000));
	for (i = 0; i < nr; i++) {
		first = self_read(page, i);
		ck_assert_uint_gt(first, after.own[1 + i]);
		ck_assert_uint_gt(self_read(page, i), first);
	}
	init_reading(&after)->control = (uintptr_t)&shown;
	assert_ok(call(fd, VPERFCTR_READ, &after.read));
	ck_assert_uint_eq(shown.kind, _i);
	ck_assert_uint_eq(after.read.status, ATTACHED | ACTIVE);
	/* The sums can still be read after counting has stopped. */
	assert_ok(stop_all(fd));
	assert_ok(call(fd, VPERFCTR_READ, &after.read));
	ck_assert_uint_eq(shown.kind, _i);
}
END_TEST

/* A thread is counted on its kind, and not on the other one, as READ reports, after any move. */
START_TEST(migrate_between_kinds)
{
	struct reading r;
	u64 sum = 0;
	int i;

	assert_ok(count_kind(_i, 0));
	ck_assert_uint_eq(affinity(0), BOTH);
	for (i = 0; i < 5; i++) {
		pin(_i);
		ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
		pin(!_i);
		ck_assert_uint_eq(count_loop(fd), 0);
		assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
		read_state(fd, &r);
		ck_assert_uint_gt(r.own[1], sum);
		sum = r.own[1];
		loop(100000);
		read_state(fd, &r);
		ck_assert_uint_eq(r.own[1], sum);
	}
	/* With a control for the other kind it counts there. */
	assert_ok(count_kind(!_i, 0));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* One state counts on one kind, then on the other, and preserves its sum. */
START_TEST(control_changes_kind)
{
	struct control control;
	struct reading r;
	u64 sum;

	assert_ok(count_kind(_i, VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	/* No CPU of the old kind is left in the affinity that was narrowed. */
	assert_errno(count_kind(!_i, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_ok(stop_all(fd));
	read_state(fd, &r);
	sum = r.own[1];
	ck_assert_uint_gt(sum, 2 * INSNS_BETWEEN(1000));
	set_affinity(0, BOTH);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.kind = !_i;
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	control.c.preserve = 1;
	assert_ok(set_control_by_library(fd, &control));
	ck_assert_uint_eq(affinity(0), 1U << !_i);
	read_state(fd, &r);
	ck_assert_uint_gt(r.own[1], sum);
	ck_assert_uint_lt(r.own[1], sum + 10000);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* Threads of both kinds at the same time, and one whose kind does not matter. */
START_TEST(both_kinds_at_once)
{
	pid_t pid[2];
	int i, k;

	for (k = 0; k < 2; k++) {
		pid[k] = fork();
		if (pid[k])
			continue;
		fd = open_state(0);
		if (count_kind(k, VPERFCTR_CONTROL_AFFINITY))
			_exit(1);
		for (i = 0; i < 200; i++) {
			u64 n = count_loop(fd);

			if (COUNTS_APART ? n != INSNS_BETWEEN(1000) : n < INSNS_BETWEEN(1000))
				_exit(2);
			loop(1000);
		}
		_exit(status_of(fd) == (ATTACHED | ACTIVE) ? 0 : 3);
	}
	for (k = 0; k < 2; k++)
		ck_assert_int_eq(wait_for(pid[k]), 0);
	ck_assert(counters_free());
}
END_TEST

/* ---- CPUs that go offline and online ------------------------------------------------- */

/* No CPU of a kind is online: the kind exists, but nothing can be counted there. */
START_TEST(kind_offline)
{
	struct vperfctr_info i;

	pin(0);
	set_affinity(0, BOTH);
	assert_ok(count_kind(0, VPERFCTR_CONTROL_AFFINITY));	/* states hold the hardware meanwhile */
	write_file(ONLINE, "0");
	assert_ok(get_info(1, &i));
	ck_assert_uint_eq(i.nrkinds, 2);
	ck_assert_uint_eq(kind_cpus(1), 2);
	assert_errno(count_kind(1, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	assert_ok(count_kind(1, 0));
	ck_assert_uint_eq(count_loop(fd), 0);
	assert_status(fd, ATTACHED | ACTIVE | FORBIDDEN);
	write_file(ONLINE, "1");
	set_affinity(0, BOTH);
	ck_assert_uint_eq(kind_cpus(0), 1);
	ck_assert_uint_eq(kind_cpus(1), 2);
	assert_ok(count_kind(1, VPERFCTR_CONTROL_AFFINITY));
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
}
END_TEST

/* CPU 1 has never been online: its kind is unknown until it is. */
static void setup_late(void)
{
	fd = open_state(0);
}

START_TEST(kind_unknown_until_online)
{
	struct {
		struct vperfctr_cpu_mask mask;
		u32 words[64];
	} m = { .mask = { .size = sizeof(m.mask), .nrwords = 64 } };
	unsigned int *online = shared_memory(PAGE);
	struct control control;
	int child, any;

	assert_ok(get_info(0, &kinds[0]));
	ck_assert_uint_eq(kinds[0].nrkinds, 1);
	assert_errno(get_info(1, &kinds[1]), EINVAL);
	assert_errno(count_kind(1, VPERFCTR_CONTROL_AFFINITY), EINVAL);
	assert_ok(call(dev, VPERFCTR_CPUS_FORBIDDEN, &m));
	ck_assert_uint_eq(m.words[0], 2);
	use_all(&control, 0);
	control.c.flags = VPERFCTR_CONTROL_AFFINITY;
	assert_ok(set_control_by_library(fd, &control));
	/* The second kind has no table in a control for any kind, as it was not known. */
	any = fork_files();
	if (!any) {
		fd = open_state(0);
		control_init(&control, 1);
		control_add(&control, 7, INSNS_USER);
		control.c.kind = VPERFCTR_ANY_KIND;
		control.c.nrkinds = 2;
		if (set_control(fd, &control) != -EINVAL)
			_exit(1);
		control.c.nrkinds = 1;
		if (set_control(fd, &control) || count_loop(fd) != INSNS_BETWEEN(1000))
			_exit(2);
		while (!__atomic_load_n(online, __ATOMIC_SEQ_CST))
			msleep(1);
		pin(1);
		if (count_loop(fd) || status_of(fd) != (ATTACHED | ACTIVE | FORBIDDEN))
			_exit(3);
		pin(0);
		_exit(count_loop(fd) == INSNS_BETWEEN(1000) ? 0 : 4);
	}
	/* A control from before the second kind was known does not run there either. */
	child = fork_files();
	if (!child) {
		fd = open_state(0);
		if (count_kind(0, 0))
			_exit(1);
		write_file(ONLINE, "1");
		pin(1);
		if (count_loop(fd))
			_exit(2);
		if (status_of(fd) != (ATTACHED | ACTIVE | FORBIDDEN))
			_exit(3);
		if (count_kind(1, VPERFCTR_CONTROL_AFFINITY) || count_loop(fd) != INSNS_BETWEEN(1000))
			_exit(4);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(child), 0);
	wake_all(online);
	ck_assert_int_eq(wait_for(any), 0);
	get_kinds();
	ck_assert_uint_eq(kinds[0].nrkinds, 2);
	ck_assert_uint_eq(kinds[1].pmc_mask, 0x3f);
	ck_assert_uint_eq(kind_cpus(0), 1);
	ck_assert_uint_eq(kind_cpus(1), 2);
	ck_assert_uint_eq(count_loop(fd), INSNS_BETWEEN(1000));
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	/* The child has no family; its references are dropped a little later. */
	ck_assert_eventually(counters_free());
}
END_TEST

/* The module knows what perf counts on a kind that has come late. */
START_TEST(perf_counts_on_late_kind)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
	};
	char text[4096];
	int perf;

	write_file(ONLINE, "0");
	write_file(ONLINE, "1");
	read_file("/proc/vperfctr", text, sizeof(text));
	ck_assert_ptr_null(strstr(text, "\nperf: holds\n"));
	perf = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);
	ck_assert_int_ge(perf, 0);
	read_file("/proc/vperfctr", text, sizeof(text));
	ck_assert_msg(strstr(text, "\nperf: holds\n") != NULL, "%s", text);
	close(perf);
}
END_TEST

static void add_late(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup_late, NULL);
	tcase_add_test(tc, kind_unknown_until_online);
	tcase_add_test(tc, perf_counts_on_late_kind);
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, info_of_each_kind);
	tcase_add_test(tc, cpus_of_each_kind);
	tcase_add_test(tc, refused_for_wrong_kind);
	if (pmc_masks[0] != pmc_masks[1])
		tcase_add_test(tc, refused_counters_of_other_kind);
	tcase_add_loop_test(tc, all_counters_of_each_kind, 0, 2);
	tcase_add_loop_test(tc, migrate_between_kinds, 0, 2);
	tcase_add_loop_test(tc, control_changes_kind, 0, 2);
	tcase_add_test(tc, both_kinds_at_once);
	tcase_add_test(tc, kind_offline);
}

int main(int argc, char **argv)
{
	open_device();
	return run_tests("hybrid", argc > 1 && !strcmp(argv[1], "late") ? add_late : add);
}
