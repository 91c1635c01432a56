// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of a thread's own counters in perfctr's interface.  Counts are exact, and compared
 * with those of the kernel's interface.
 *
 * PERFCTR_CPU_TYPE=N: perfctr_info() must return this cpu_type.
 * PERFCTR_OFFCORE=1: the processor must have the registers for off-core responses.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#include "old.h"

static const unsigned long lengths[] = { 1, 2, 3, 10, 1000, 12345, 1000000 };
#define NR_LENGTHS	(sizeof(lengths) / sizeof(lengths[0]))

static struct vperfctr *v;
static struct vperfctr_control control;
static unsigned int offcore_accepted;

static void setup(void)
{
	v = vperfctr_open();
	if (!v)
		die("vperfctr_open: %s", strerror(errno));
}

/* ---- information --------------------------------------------------------------- */

static void check_info(const struct perfctr_info *old)
{
	ck_assert_uint_eq(old->abi_version, PERFCTR_ABI_VERSION);
	ck_assert_ptr_nonnull(strstr(old->driver_version, info.driver_version));
	ck_assert_uint_eq(old->cpu_features, info.features & 7);
	ck_assert_uint_eq(old->cpu_khz, info.tsc_khz);
	ck_assert_uint_eq(old->tsc_to_cpu_mult, 1);
	ck_assert_uint_eq(perfctr_info_nrctrs(old), info.nrctrs);
	if (getenv("PERFCTR_CPU_TYPE"))
		ck_assert_uint_eq(old->cpu_type, atoi(getenv("PERFCTR_CPU_TYPE")));
}

START_TEST(informs)
{
	const struct perfctr_event_set *set;
	struct perfctr_info old;
	int fd = _vperfctr_open(0), null = open("/dev/null", O_RDONLY);

	memset(&old, 0xff, sizeof(old));
	ck_assert_int_eq(perfctr_get_info(&old), 0);
	check_info(&old);
	memset(&old, 0xff, sizeof(old));
	ck_assert_int_eq(perfctr_info(fd, &old), 0);		/* a state's */
	check_info(&old);
	memset(&old, 0xff, sizeof(old));
	ck_assert_int_eq(perfctr_info(dev, &old), 0);
	check_info(&old);
	ck_assert_int_eq(vperfctr_info(v, &old), 0);
	check_info(&old);
	ck_assert(strlen(perfctr_info_cpu_name(&old)) > 5);
	set = perfctr_cpu_event_set(old.cpu_type);
	ck_assert_ptr_nonnull(set);
	ck_assert_uint_eq(set->cpu_type, old.cpu_type);
	assert_fails(perfctr_info(null, &old), ENOTTY);
	assert_fails(perfctr_info(-1, &old), EBADF);

	ck_assert_int_eq(perfctr_abi_check_fd(fd), 0);
	ck_assert_int_eq(perfctr_abi_check_fd(dev), 0);
	ck_assert_int_eq(_perfctr_abi_check_fd(fd, 0x05ff05ee), 0);	/* minor numbers */
	assert_fails(_perfctr_abi_check_fd(fd, 0x04020501), EPROTO);
	assert_fails(_perfctr_abi_check_fd(dev, 0x05020601), EPROTO);
	assert_fails(perfctr_abi_check_fd(null), ENOTTY);
}
END_TEST

/* All events of the set can be counted by the counters that the set names. */
START_TEST(events)
{
	const struct perfctr_event_set *set;
	unsigned int i, pmc, counted = 0;
	struct perfctr_info old;

	ck_assert_int_eq(perfctr_get_info(&old), 0);
	set = perfctr_cpu_event_set(old.cpu_type);
	ck_assert_ptr_nonnull(set);
	for (i = 0; i < set->nevents; i++) {
		const struct perfctr_event *event = &set->events[i];
		const unsigned int mask = event->unit_mask ? event->unit_mask->default_value : 0;

		for (pmc = 0; pmc < nr_general(); pmc++) {
			if (!(event->counters_set & (1U << pmc)))
				continue;
			count_with(&control, 1);
			control.cpu_control.pmc_map[0] = pmc;
			control.cpu_control.evntsel[0] = SEL_USER | event->evntsel | mask << 8;
			/* the kernel refuses architectural events that this processor lacks */
			if (!vperfctr_control(v, &control))
				counted++;
			else
				ck_assert_int_eq(errno, EINVAL);
		}
	}
	/* the sets name at most four counters */
	ck_assert_uint_ge(counted, info.nrctrs ? 2 * (nr_general() < 4 ? nr_general() : 4) : 0);
	ck_assert_ptr_null(perfctr_cpu_event_set(1000));
}
END_TEST

START_TEST(cpus_reported)
{
	struct perfctr_cpus_info *cpus = vperfctr_cpus_info(v);
	unsigned int i, n = 0;

	ck_assert_ptr_nonnull(cpus);
	ck_assert_uint_ge(cpus->cpus->nrwords, 1);
	ck_assert_uint_eq(cpus->cpus->nrwords, cpus->cpus_forbidden->nrwords);
	for (i = 0; i < cpus->cpus->nrwords; i++) {
		n += __builtin_popcount(cpus->cpus->mask[i]);
		ck_assert_uint_eq(cpus->cpus_forbidden->mask[i],
				  i ? 0 : cpus->cpus->mask[0] & ~kind_cpus(0));
	}
	ck_assert_int_eq(n, sysconf(_SC_NPROCESSORS_CONF));
	free(cpus);
	cpus = perfctr_cpus_info(dev);
	ck_assert_ptr_nonnull(cpus);
	free(cpus);
	assert_null(perfctr_cpus_info(-1), EBADF);
}
END_TEST

/* ---- open, unlink ------------------------------------------------------------------ */

START_TEST(opens)
{
	struct vperfctr *again;
	struct perfctr_sum_ctrs sum;
	struct perfctr_info old;
	int fd;

	assert_null(vperfctr_open(), EEXIST);
	assert_null(vperfctr_open_mode(VPERFCTR_OPEN_CREAT_EXCL), EEXIST);
	assert_fails(_vperfctr_open(1), EEXIST);
	assert_null(vperfctr_open_mode(1), EINVAL);
	assert_null(vperfctr_open_mode(4), EINVAL);
	again = vperfctr_open_mode(0);
	ck_assert_ptr_nonnull(again);
	ck_assert_int_eq(vperfctr_control(again, count_with(&control, 0)), 0);
	ck_assert(vperfctr_is_running(v));
	fd = _vperfctr_open(0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(_vperfctr_read_sum(fd, &sum), 0);
	ck_assert_uint_gt(sum.tsc, 0);
	close(fd);
	vperfctr_close(again);
	/* a close does not end the state */
	ck_assert(vperfctr_is_running(v));
	vperfctr_close(v);
	assert_null(vperfctr_open(), EEXIST);
	v = vperfctr_open_mode(0);
	ck_assert(vperfctr_is_running(v));

	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert(!vperfctr_is_running(v));
	assert_fails(vperfctr_control(v, &control), ESRCH);
	assert_fails(vperfctr_stop(v), ESRCH);
	if (info.features & VPERFCTR_FEATURE_PCINT)
		assert_fails(vperfctr_iresume(v), ESRCH);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	vperfctr_close(v);
	vperfctr_close(NULL);

	/* without a state only these calls work */
	assert_null(vperfctr_open_mode(0), ENOENT);
	fd = _vperfctr_open(0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(perfctr_info(fd, &old), 0);
	check_info(&old);
	ck_assert_int_eq(perfctr_abi_check_fd(fd), 0);
	free(perfctr_cpus_info(fd));
	assert_fails(_vperfctr_read_sum(fd, &sum), ENOTTY);
	assert_fails(_vperfctr_control(fd, &control), ENOTTY);
	/* and no state has been made */
	fd = _vperfctr_open(1);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(_vperfctr_control(fd, &control), 0);
	close(fd);
	assert_null(vperfctr_open(), EEXIST);
}
END_TEST

/* ---- counts -------------------------------------------------------------------------- */

/* All ways to read the first counter.  Each returns 0 after an error. */
static u64 by_read_ctrs(void)
{
	struct perfctr_sum_ctrs sum;

	return vperfctr_read_ctrs(v, &sum) ? 0 : sum.pmc[0];
}

static u64 by_read_pmc(void)
{
	return vperfctr_read_pmc(v, 0);
}

static u64 by_read_state(void)
{
	struct perfctr_sum_ctrs sum;

	return vperfctr_read_state(v, &sum, NULL) ? 0 : sum.pmc[0];
}

static u64 by_read_pmc_last(void)
{
	return vperfctr_read_pmc(v, info.nrctrs ? nr_general() - 1 : 0);
}

static u64 (*const ways[])(void) = { by_read_ctrs, by_read_pmc, by_read_state, by_read_pmc_last };
#define NR_WAYS		4

static __attribute__((noinline, noclone)) u64 region(u64 (*way)(void), unsigned long n)
{
	u64 before = way();

	loop(n);
	return way() - before;
}

/* A context switch makes a self-read start over, so some tries may count more. */
static void check_exact(u64 (*way)(void), u64 most)
{
	u64 overhead, again;
	unsigned int i;
	int tries;

	region(way, 1);
	overhead = region(way, 1) - 2;
	again = region(way, 1) - 2;
	if (again < overhead)
		overhead = again;
	ck_assert_uint_lt(overhead, most);
	for (i = 0; i < NR_LENGTHS; i++) {
		for (tries = 3; tries--;) {
			again = region(way, lengths[i]);
			if (again == overhead + 2 * lengths[i])
				break;
		}
		ck_assert_uint_eq(again, overhead + 2 * lengths[i]);
	}
}

START_TEST(reads)
{
	ck_assert_int_eq(vperfctr_control(v, count_with(&control, nr_general())), 0);
	check_exact(ways[_i], 3000);
}
END_TEST

/* A self-read takes a few instructions and no system call. */
START_TEST(reads_are_short)
{
	u64 kernel_before, kernel_after;
	struct vperfctr_control both;
	struct perfctr_sum_ctrs sum;
	int i, tries = 0;

	if (!(info.features & VPERFCTR_FEATURE_RDPMC) || !have_global_ctrl())
		return;
	count_with(&both, 2);
	both.cpu_control.evntsel[1] = INSNS_KERNEL;
	ck_assert_int_eq(vperfctr_control(v, &both), 0);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	/* a hundred reads do not enter the kernel, except for interrupts in some tries */
	do {
		kernel_before = vperfctr_read_pmc(v, 1);
		for (i = 0; i < 100; i++)
			vperfctr_read_ctrs(v, &sum);
		kernel_after = vperfctr_read_pmc(v, 1);
	} while (kernel_after - kernel_before >= 100 * 50 && ++tries < 5);
	ck_assert_uint_lt(kernel_after - kernel_before, 100 * 50);
	ck_assert_uint_lt(region(by_read_pmc, 1), 150);
}
END_TEST

/*
 * If the page does not allow RDPMC, the kernel reads.  The test replaces the page by such
 * a page, and so the process loses the right to execute RDPMC.
 */
START_TEST(reads_without_rdpmc)
{
	char line[256];
	struct vperfctr_page *page = NULL;
	struct perfctr_sum_ctrs sum;
	unsigned long address;
	FILE *maps;

	maps = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "vperfctr") || sscanf(line, "%lx", &address) != 1 ||
		    !strstr(line, "r--s"))
			continue;
		ck_assert_ptr_null(page);
		page = (void *)address;
	}
	fclose(maps);
	ck_assert_ptr_nonnull(page);
	ck_assert_int_eq(vperfctr_control(v, count_with(&control, nr_general())), 0);
	ck_assert_ptr_eq(mmap(page, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), page);
	page->cstatus = VPERFCTR_CSTATUS_RUNNING | nr_general() | nr_general() << 8;
	page->mask = ~0ULL;
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	ck_assert_uint_gt(sum.tsc, 0);
	check_exact(ways[_i], 3000);
}
END_TEST

/* A program has the same count, whichever interface sets the control. */
START_TEST(same_as_new)
{
	u64 a[1 + VPERFCTR_MAX_CTRS], b[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read before = { .size = sizeof(before), .sums = (uintptr_t)a };
	struct vperfctr_read after = { .size = sizeof(after), .sums = (uintptr_t)b };
	struct perfctr_sum_ctrs sum;
	unsigned int i, j;
	int fd = kernel_fd();
	struct sums new;

	for (i = 0; i < NR_LENGTHS; i++) {
		before.nrctrs = after.nrctrs = VPERFCTR_MAX_CTRS;
		ck_assert_int_eq(vperfctr_control(v, count_with(&control, nr_general())), 0);
		ck_assert_int_eq(read_loop_read(fd, VPERFCTR_READ, &before, &after, lengths[i]), 0);
		ck_assert_uint_eq(after.nrctrs, nr_general());
		for (j = 1; j <= nr_general(); j++)
			ck_assert_uint_eq(b[j] - a[j], INSNS_BETWEEN(lengths[i]));

		count(fd, INSNS_USER);
		ck_assert_int_eq(read_loop_read(fd, VPERFCTR_READ, &before, &after, lengths[i]), 0);
		ck_assert_uint_eq(b[1] - a[1], INSNS_BETWEEN(lengths[i]));
		/* and each interface shows the other's sums */
		ck_assert_int_eq(vperfctr_stop(v), 0);
		read_sums(fd, &new);
		ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
		ck_assert_uint_eq(sum.tsc, new.tsc);
		ck_assert_uint_eq(sum.pmc[0], new.pmc[0]);
	}
}
END_TEST

/* The TSC counts or is stopped, and all ways to read it agree. */
START_TEST(tsc)
{
	struct perfctr_sum_ctrs sum;
	u64 a, b;

	ck_assert_uint_eq(vperfctr_read_tsc(v), 0);
	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 0)), 0);
	a = vperfctr_read_tsc(v);
	loop(10000);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	b = vperfctr_read_tsc(v);
	ck_assert_uint_ge(sum.tsc - a, 20000);
	ck_assert_uint_gt(b, sum.tsc);
	/* another control does not reset it, one without it does */
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_gt(vperfctr_read_tsc(v), b);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	a = vperfctr_read_tsc(v);
	loop(1000);
	ck_assert_uint_eq(vperfctr_read_tsc(v), a);
	count_with(&control, 1)->cpu_control.tsc_on = 0;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_eq(vperfctr_read_tsc(v), 0);
	/* anything but 0 is on */
	control.cpu_control.tsc_on = 2;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_uint_gt(vperfctr_read_tsc(v), 0);
}
END_TEST

/* A fixed counter with both forms of evntsel counts the same as a general one. */
START_TEST(fixed)
{
	static const unsigned int forms[] = { FIXED_USER, INSNS_USER, SEL_USER };
	const unsigned int wrong[] = {
		0, FIXED_USER | 4, FIXED_USER | 8, CYCLES_USER, SEL_USER | SEL_INT,
		SEL_USER | 0x800000, 0x400000,
	};
	u64 counts[2];
	unsigned int i;

	if (!nr_fixed())
		return;
	for (i = 0; i < 3; i++) {
		count_with(&control, 2);
		control.cpu_control.pmc_map[1] = 0x40000000;
		control.cpu_control.evntsel[1] = forms[i];
		ck_assert_int_eq(vperfctr_control(v, &control), 0);
		loop(1000);
		ck_assert_int_eq(vperfctr_stop(v), 0);
		counts[0] = vperfctr_read_pmc(v, 0);
		counts[1] = vperfctr_read_pmc(v, 1);
		ck_assert_uint_gt(counts[0], 2000);
		ck_assert_uint_eq(counts[0], counts[1]);
	}
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		control.cpu_control.evntsel[1] = wrong[i];
		assert_fails(vperfctr_control(v, &control), EINVAL);
	}
	control.cpu_control.evntsel[1] = CYCLES_USER;
	control.cpu_control.pmc_map[1] = 0x40000001;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	control.cpu_control.pmc_map[1] = 0x40000000 + 31;
	assert_fails(vperfctr_control(v, &control), EINVAL);
}
END_TEST

/* ---- control --------------------------------------------------------------------------- */

START_TEST(control_zeroes)
{
	struct perfctr_sum_ctrs sum;
	u64 first;

	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 2)), 0);
	loop(10000);
	control.preserve = 1;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	ck_assert_uint_ge(sum.pmc[0], 20000);
	ck_assert_uint_lt(sum.pmc[1], 20000);
	first = sum.pmc[0];
	/* bits without a counter are ignored */
	control.preserve = 0xfffffffe;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	ck_assert_uint_lt(sum.pmc[0], first);
	ck_assert_uint_gt(sum.pmc[1], sum.pmc[0]);
	control.preserve = 0;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	ck_assert_uint_lt(sum.pmc[0], 20000);
	ck_assert_uint_eq(sum.pmc[0], sum.pmc[1]);
}
END_TEST

START_TEST(zero_control_stops)
{
	struct vperfctr_control now;
	struct perfctr_sum_ctrs a, b;
	int i;

	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(vperfctr_control(v, count_with(&control, 2)), 0);
		ck_assert(vperfctr_is_running(v));
		loop(1000);
		memset(&now, 0, sizeof(now));
		ck_assert_int_eq(i ? vperfctr_control(v, &now) : vperfctr_stop(v), 0);
		ck_assert(!vperfctr_is_running(v));
		ck_assert_int_eq(vperfctr_read_ctrs(v, &a), 0);
		ck_assert_uint_ge(a.pmc[0], 2000);
		loop(1000);
		/* all ways to read return the sums, and a control that counts nothing */
		memset(&now, 0xff, sizeof(now));
		ck_assert_int_eq(vperfctr_read_state(v, &b, &now), 0);
		ck_assert_uint_eq(a.tsc, b.tsc);
		ck_assert_uint_eq(a.pmc[0], b.pmc[0]);
		ck_assert_uint_eq(a.pmc[1], b.pmc[1]);
		ck_assert_uint_eq(now.cpu_control.nractrs | now.cpu_control.tsc_on, 0);
		ck_assert_uint_eq(vperfctr_read_pmc(v, 1), a.pmc[1]);
		ck_assert_uint_eq(vperfctr_read_tsc(v), a.tsc);
	}
}
END_TEST

START_TEST(control_can_be_read)
{
	struct vperfctr_control now;
	struct perfctr_sum_ctrs sum;
	int fd = _vperfctr_open(0);

	count_with(&control, 2);
	control.cpu_control.pmc_map[0] = 1;
	control.cpu_control.pmc_map[1] = 0;
	control.cpu_control.evntsel[1] = CYCLES_USER;
	control.preserve = 2;
	ck_assert_int_eq(_vperfctr_control(fd, &control), 0);
	memset(&now, 0xff, sizeof(now));
	ck_assert_int_eq(vperfctr_read_state(v, NULL, &now), 0);
	ck_assert_mem_eq(&now, &control, sizeof(now));
	memset(&now, 0xff, sizeof(now));
	ck_assert_int_eq(_vperfctr_read_control(fd, &now), 0);
	ck_assert_mem_eq(&now, &control, sizeof(now));
	ck_assert_int_eq(vperfctr_read_state(v, &sum, NULL), 0);
	ck_assert_int_eq(vperfctr_read_state(v, NULL, NULL), 0);
	/* unused fields are ignored */
	control.cpu_control.ireset[0] = 5;
	control.cpu_control.evntsel_high[7] = 5;
	control.si_signo = SIGIO;
	control.cpu_control.evntsel[7] = 0xffffffff;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
}
END_TEST

static void set_map(void) { control.cpu_control.pmc_map[1] = 99; }
static void set_twice(void) { control.cpu_control.pmc_map[1] = 0; }
static void set_no_enable(void) { control.cpu_control.evntsel[1] &= ~0x400000U; }
static void set_nothing(void) { control.cpu_control.evntsel[1] = 0x4000c0; }
static void set_int(void) { control.cpu_control.evntsel[1] |= SEL_INT; }
static void set_pin(void) { control.cpu_control.evntsel[1] |= 0x80000; }
static void set_any(void) { control.cpu_control.evntsel[1] |= 0x200000; }
static void set_many(void) { control.cpu_control.nractrs = 19; }
static void set_too_many(void) { control.cpu_control.nractrs = info.nrctrs + 1; }
static void set_wrapping(void) { control.cpu_control.nrictrs = -1; }
static void set_flags(void) { control.flags = 2; }
/* Bit 36 is reserved on AMD, too.  An off-core response needs its event. */
static void set_high(void) { control.cpu_control.evntsel_high[1] = 0x10; }
static void set_offcore(void) { control.cpu_control.nhlm.offcore_rsp[0] = 1; }
static void set_imode_no_int(void)
{
	control.cpu_control.nractrs--;
	control.cpu_control.nrictrs++;
	control.cpu_control.ireset[1] = -1000;
}

static void (*const mistakes[])(void) = {
	set_map, set_twice, set_no_enable, set_nothing, set_int, set_pin, set_any, set_many,
	set_too_many, set_wrapping, set_flags, set_imode_no_int, set_high, set_offcore,
};

/*
 * With a high half the event is another one: 1C0H on AMD, which the model does not have.
 * Other processors have no high half, nor have AMD's before family 10h: the kernel refuses it.
 */
START_TEST(high_half)
{
	struct vperfctr_control now;
	struct perfctr_sum_ctrs sum;

	count_with(&control, 2);
	control.cpu_control.evntsel_high[0] = 1;
	if (info.cpu_type != VPERFCTR_CPU_AMD || cpu_family() < 0x10) {
		assert_fails(vperfctr_control(v, &control), EINVAL);
		return;
	}
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	loop(10000);
	ck_assert_int_eq(vperfctr_read_state(v, &sum, &now), 0);
	ck_assert_uint_eq(sum.pmc[0], 0);
	ck_assert_uint_ge(sum.pmc[1], 20000);
	ck_assert_mem_eq(&now, &control, sizeof(now));
}
END_TEST

/* Off-core responses reach the kernel, or are refused if the registers do not exist. */
START_TEST(offcore)
{
	static const unsigned int evntsels[] = { SEL_USER | 0x01b7, SEL_USER | 0x01bb };
	struct vperfctr_control now;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		count_with(&control, 2);
		control.cpu_control.evntsel[1] = evntsels[i];
		control.cpu_control.nhlm.offcore_rsp[i] = 1;
		errno = 0;
		if (vperfctr_control(v, &control)) {
			ck_assert_int_eq(errno, EINVAL);
			continue;
		}
		ck_assert_int_eq(vperfctr_read_state(v, NULL, &now), 0);
		ck_assert_mem_eq(&now, &control, sizeof(now));
		offcore_accepted++;
		/* Zero would count nothing. */
		control.cpu_control.nhlm.offcore_rsp[i] = 0;
		assert_fails(vperfctr_control(v, &control), EINVAL);
	}
	/* The processor has both registers or none. */
	ck_assert_uint_ne(offcore_accepted, 1);
	if (getenv("PERFCTR_OFFCORE"))
		ck_assert_uint_eq(offcore_accepted, 2);
}
END_TEST

/* An invalid control is refused and stops what ran; the sums remain. */
START_TEST(invalid_control)
{
	struct perfctr_sum_ctrs a, b;

	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 2)), 0);
	/* On a P6, the first counter's EN is both counters'. */
	if (info.cpu_type == VPERFCTR_CPU_INTEL_P6 && mistakes[_i] == set_no_enable)
		return;
	loop(1000);
	mistakes[_i]();
	assert_fails(vperfctr_control(v, &control), EINVAL);
	ck_assert(!vperfctr_is_running(v));
	ck_assert_int_eq(vperfctr_read_ctrs(v, &a), 0);
	ck_assert_uint_ge(a.pmc[0], 2000);
	loop(1000);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &b), 0);
	ck_assert_uint_eq(a.pmc[0], b.pmc[0]);
	ck_assert_uint_eq(a.tsc, b.tsc);
	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 2)), 0);
	ck_assert(vperfctr_is_running(v));
}
END_TEST

/* EPERM: the control counts kernel mode, and the caller may not. */
START_TEST(kernel_mode)
{
	struct stat device;

	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 1)), 0);
	control.cpu_control.evntsel[0] = INSNS_BOTH;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	/* The state belongs to root.  The device is for a group. */
	ck_assert_int_eq(stat("/dev/vperfctr", &device), 0);
	ck_assert(!setgid(device.st_gid) && !setuid(NOBODY));
	assert_fails(vperfctr_control(v, &control), ESRCH);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	vperfctr_close(v);
	setup();
	assert_fails(vperfctr_control(v, &control), EPERM);
	ck_assert(!vperfctr_is_running(v));
	control.cpu_control.evntsel[0] = INSNS_USER;
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
}
END_TEST

static void *not_owner(void *arg)
{
	assert_fails(vperfctr_control(v, arg), ESRCH);
	assert_fails(vperfctr_stop(v), ESRCH);
	assert_fails(vperfctr_unlink(v), ESRCH);
	return NULL;
}

START_TEST(another_thread)
{
	pthread_t id;

	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 1)), 0);
	ck_assert_int_eq(pthread_create(&id, NULL, not_owner, &control), 0);
	pthread_join(id, NULL);
	ck_assert(vperfctr_is_running(v));
}
END_TEST

static volatile int foreign_done, foreign_wrong;

static void *foreign_reader(void *arg)
{
	struct perfctr_sum_ctrs before, sum, after;
	unsigned long long pmc;
	int i;

	(void)arg;
	if (nr_cpus() > 1)
		pin(1);
	for (i = 0; i < 2000; i++) {
		/* read by the kernel, otherwise, and by the kernel again */
		foreign_wrong += vperfctr_read_state(v, &before, NULL) != 0;
		foreign_wrong += vperfctr_read_ctrs(v, &sum) != 0;
		pmc = vperfctr_read_pmc(v, 0);
		foreign_wrong += vperfctr_read_state(v, &after, NULL) != 0;
		foreign_wrong += sum.pmc[0] < before.pmc[0] || pmc < sum.pmc[0] ||
				 pmc > after.pmc[0];
	}
	foreign_done = 1;
	return NULL;
}

/* Another thread reads the owner's counts, also while the owner runs on another CPU. */
START_TEST(read_by_another_thread)
{
	pthread_t id;

	pin(0);
	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 1)), 0);
	ck_assert_int_eq(pthread_create(&id, NULL, foreign_reader, NULL), 0);
	while (!foreign_done)
		loop(1000);
	pthread_join(id, NULL);
	ck_assert_int_eq(foreign_wrong, 0);
}
END_TEST

/* perf does not get the counters while a thread counts, and gets them after a stop. */
START_TEST(hardware)
{
	int fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);

	ck_assert_int_ge(fd, 0);
	count_with(&control, 1);
	assert_fails(vperfctr_control(v, &control), EBUSY);
	close(fd);
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert(!counters_free());
	control.cpu_control.pmc_map[0] = 99;
	assert_fails(vperfctr_control(v, &control), EINVAL);
	ck_assert_eventually(counters_free());
}
END_TEST

/* ---- fork, threads, exec, exit ------------------------------------------------------------ */

/* Return the number of states' pages that this process maps. */
static unsigned int nr_mapped(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned int nr = 0;
	char line[8192];

	while (fgets(line, sizeof(line), maps))
		nr += !!strstr(line, " anon_inode:[vperfctr]\n");
	fclose(maps);
	return nr;
}

START_TEST(forked)
{
	struct perfctr_sum_ctrs a, b;
	struct vperfctr *mine;
	unsigned int mapped;
	pid_t pid;

	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 1)), 0);
	loop(10000);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &a), 0);
	pid = fork();
	if (!pid) {
		/* the parent's current counts: the kernel reads */
		if (vperfctr_read_ctrs(v, &b) || b.pmc[0] < a.pmc[0])
			die("the parent's counts in a child: %llu < %llu", b.pmc[0], a.pmc[0]);
		if (vperfctr_read_pmc(v, 0) < b.pmc[0] || vperfctr_read_tsc(v) < b.tsc)
			die("the parent's counters in a child");
		if (!vperfctr_control(v, &control) || errno != ESRCH)
			die("a child controls its parent: %s", strerror(errno));
		/* the child has no state, and gets its own */
		mine = vperfctr_open();
		if (!mine || vperfctr_control(mine, &control))
			die("open in a child: %s", strerror(errno));
		loop(1000);
		if (vperfctr_read_pmc(mine, 0) < 2000 || vperfctr_read_pmc(mine, 0) > 20000)
			die("a child's own count is %llu", vperfctr_read_pmc(mine, 0));
		/* The child inherits the page of v, and close unmaps it. */
		mapped = nr_mapped();
		vperfctr_close(v);
		if (mapped != 2 || nr_mapped() != 1)
			die("%u pages are mapped, then %u", mapped, nr_mapped());
		if (vperfctr_read_pmc(mine, 0) < 2000)
			die("closing one has closed the other");
		vperfctr_close(mine);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	check_exact(by_read_pmc, 150);
}
END_TEST

static void *counting_thread(void *arg)
{
	struct vperfctr_control mine;
	struct vperfctr *self = vperfctr_open();
	u64 before, *got = arg;

	if (!self || vperfctr_control(self, count_with(&mine, 1)))
		die("open in a thread: %s", strerror(errno));
	before = vperfctr_read_pmc(self, 0);
	loop(100000);
	*got = vperfctr_read_pmc(self, 0) - before;
	vperfctr_unlink(self);
	vperfctr_close(self);
	return NULL;
}

START_TEST(threads)
{
	pthread_t id[4];
	u64 got[4];
	int i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&id[i], NULL, counting_thread, &got[i]), 0);
	for (i = 0; i < 4; i++)
		pthread_join(id[i], NULL);
	for (i = 0; i < 4; i++) {
		ck_assert_uint_ge(got[i], 200000);
		ck_assert_uint_lt(got[i], 200000 + 300);
	}
}
END_TEST

static volatile int *shared_fd;

/* The sums remain as long as there is a descriptor. */
START_TEST(thread_ended)
{
	struct vperfctr_control now;
	struct perfctr_sum_ctrs sum;
	pid_t pid;

	shared_fd = shared_memory(PAGE);
	pid = fork_files();
	if (!pid) {
		*shared_fd = _vperfctr_open(1);
		if (_vperfctr_control(*shared_fd, count_with(&control, 2)))
			die("_vperfctr_control: %s", strerror(errno));
		loop(1000);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(_vperfctr_read_sum(*shared_fd, &sum), 0);
	ck_assert_uint_ge(sum.pmc[0], 2000);
	ck_assert_uint_lt(sum.pmc[0], 10000);
	ck_assert_uint_eq(sum.pmc[0], sum.pmc[1]);
	ck_assert_int_eq(_vperfctr_read_control(*shared_fd, &now), 0);
	ck_assert_uint_eq(now.cpu_control.nractrs, 2);
	assert_fails(_vperfctr_control(*shared_fd, &now), ESRCH);
}
END_TEST

#define COUNTED_BEFORE	200000

/* Check the state in the executed program.  fd: 0 if none was kept open. */
static int after_exec(int fd, int survives)
{
	struct perfctr_sum_ctrs sum;
	struct vperfctr *self = vperfctr_open();

	if (!survives)
		return self ? 0 : 2;
	if (self || errno != EEXIST)
		return 3;
	self = vperfctr_open_mode(0);
	if (!self || !vperfctr_is_running(self))
		return 4;
	if (vperfctr_read_pmc(self, 0) < COUNTED_BEFORE)
		return 5;
	if (fd && (_vperfctr_read_sum(fd, &sum) || sum.pmc[0] < COUNTED_BEFORE))
		return 6;
	return vperfctr_unlink(self) ? 7 : 0;
}

START_TEST(exec)
{
	const int raw = _i & 1, cloexec = _i & 2;
	char text[16] = "0", *args[] = { "self", text, cloexec ? "0" : "1", NULL };
	pid_t pid;

#ifndef VPERFCTR_CONTROL_END_ON_EXEC
	if (cloexec)
		return;
#endif
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	pid = fork();
	if (!pid) {
		count_with(&control, 1);
		control.flags = cloexec ? VPERFCTR_CONTROL_CLOEXEC : 0;
		if (raw) {
			int fd = _vperfctr_open(1);

			sprintf(text, "%d", fd);
			if (_vperfctr_control(fd, &control))
				die("_vperfctr_control: %s", strerror(errno));
		} else {
			v = vperfctr_open();
			if (!v || vperfctr_control(v, &control))
				die("vperfctr_control: %s", strerror(errno));
		}
		loop(COUNTED_BEFORE / 2);
		execv("/proc/self/exe", args);
		die("exec: %s", strerror(errno));
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, informs);
	tcase_add_test(tc, events);
	tcase_add_test(tc, cpus_reported);
	tcase_add_test(tc, opens);
	tcase_add_loop_test(tc, reads, 0, NR_WAYS);
	tcase_add_loop_test(tc, reads_without_rdpmc, 0, NR_WAYS);
	tcase_add_test(tc, reads_are_short);
	tcase_add_test(tc, read_by_another_thread);
	tcase_add_test(tc, same_as_new);
	tcase_add_test(tc, tsc);
	tcase_add_test(tc, fixed);
	tcase_add_test(tc, control_zeroes);
	tcase_add_test(tc, zero_control_stops);
	tcase_add_test(tc, control_can_be_read);
	tcase_add_loop_test(tc, invalid_control, 0, sizeof(mistakes) / sizeof(mistakes[0]));
	tcase_add_test(tc, high_half);
	tcase_add_test(tc, offcore);
	tcase_add_test(tc, kernel_mode);
	tcase_add_test(tc, another_thread);
	tcase_add_test(tc, hardware);
	tcase_add_test(tc, forked);
	tcase_add_test(tc, threads);
	tcase_add_test(tc, thread_ended);
	tcase_add_loop_test(tc, exec, 0, 4);
}

int main(int argc, char **argv)
{
	open_device();
	if (argc > 2)
		return after_exec(atoi(argv[1]), atoi(argv[2]));
	return run_tests("perfctr_self", add);
}
