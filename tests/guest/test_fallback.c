// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of libvperfctr where the module is not loaded: perf_event counts, as exactly, or the
 * library refuses.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "suite.h"

static struct vperfctr_why why;

static struct vperfctr *count_names(const char *names)
{
	struct vperfctr *v;
	int err = vperfctr_event_open(&v, names, &why);

	ck_assert_msg(!err, "%s: %s", names, why.text);
	ck_assert_uint_eq(vperfctr_backend(v), VPERFCTR_BACKEND_PERF);
	return v;
}

static __attribute__((noinline, noclone)) uint64_t region(struct vperfctr *v, unsigned long n)
{
	uint64_t before = 0, after = 0;

	if (vperfctr_read_pmc(v, 0, &before))
		return 0;
	loop(n);
	if (vperfctr_read_pmc(v, 0, &after))
		return 0;
	return after - before;
}

START_TEST(exact)
{
	struct vperfctr *v = count_names("instructions:u,task-clock,cycles:u");
	uint64_t overhead, pmc[2], again[2], time;
	unsigned int i;

	region(v, 1);
	overhead = region(v, 1) - 2;
	ck_assert_uint_lt(overhead, 500);
	for (i = 1; i < 100000; i *= 3)
		ck_assert_uint_eq(region(v, i), 2 * i + overhead);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), 0);
	ck_assert_uint_gt(pmc[1], 0);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &time), 0);
	ck_assert_uint_gt(time, 0);
	ck_assert_str_eq(vperfctr_counter_name(v, 1), "cycles:u");

	/* A pause, and a reset. */
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), 0);
	loop(1000);
	ck_assert_int_eq(vperfctr_read(v, NULL, again, 2), 0);
	ck_assert_uint_eq(again[0], pmc[0]);
	ck_assert_uint_eq(again[1], pmc[1]);
	ck_assert_int_eq(vperfctr_reset(v), 0);
	ck_assert_uint_eq(region(v, 10), 20 + overhead);
	ck_assert_int_eq(vperfctr_read(v, NULL, again, 2), 0);
	ck_assert_uint_lt(again[0], pmc[0]);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), -EINVAL);
	vperfctr_close(v);
}
END_TEST

/* A read by the loop that perf_event's header describes. */
static uint64_t read_page(const volatile struct perf_event_mmap_page *page)
{
	uint64_t count;
	uint32_t seq;

	do {
		seq = page->lock;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		count = page->offset;
		if (page->cap_user_rdpmc && page->index) {
			int64_t pmc = rdpmc(page->index - 1);

			pmc <<= 64 - page->pmc_width;
			count += pmc >> (64 - page->pmc_width);
		}
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
	} while (page->lock != seq);
	return count;
}

/* Instructions of both modes, so a system call would be seen. */
static const volatile struct perf_event_mmap_page *map_instructions(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	void *page;

	ck_assert_int_ge(fd, 0);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert_int_eq(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	return page;
}

/* Where user mode may read perf_event's counters, a read is a few of its loops, and no call. */
START_TEST(read_in_user_mode)
{
	struct vperfctr *v = count_names("cycles:u,instructions:u");
	const volatile struct perf_event_mmap_page *page = map_instructions();
	uint64_t before, after, end, alone = UINT64_MAX, own = UINT64_MAX, value = 0;
	unsigned int i;
	int err = 0;

	if (!page->cap_user_rdpmc)
		return;
	/* The least: the first call resolves a symbol, and the kernel's interrupts count, too. */
	for (i = 0; i < 20; i++) {
		before = read_page(page);
		after = read_page(page);
		err = err ?: vperfctr_read_pmc(v, 1, &value);
		end = read_page(page);
		alone = after - before < alone ? after - before : alone;
		own = end - after < own ? end - after : own;
	}
	own -= alone;
	ck_assert_int_eq(err, 0);
	printf("perf's loop: %lu, a read: %lu\n", (unsigned long)alone, (unsigned long)own);
	ck_assert_uint_ge(alone, 10);
	ck_assert_uint_le(own, 4 * alone);
	vperfctr_close(v);
}
END_TEST

/* Without the module a region is exact, too, where perf_event makes its times from the TSC. */
START_TEST(exact_region)
{
	struct vperfctr *v = count_names("instructions:u");
	struct vperfctr_region r;
	uint64_t tsc;
	int err = vperfctr_read_tsc(v, &tsc);

	if (err) {
		ck_assert_int_eq(err, -EOPNOTSUPP);
		ck_assert_int_eq(vperfctr_region_init(&r, v, 1), -EOPNOTSUPP);
	} else {
		ck_assert_int_eq(vperfctr_region_init(&r, v, 1), 0);
		vperfctr_region_begin(&r);
		loop(1000);
		ck_assert_int_eq(vperfctr_region_end(&r), 0);
		/* The compiler sets the loop's register, and loads the region's address. */
		ck_assert_uint_ge(vperfctr_region_pmc(&r, 0), 2000);
		ck_assert_uint_le(vperfctr_region_pmc(&r, 0), 2004);
	}
	vperfctr_close(v);
}
END_TEST

/* Take as many counters of this CPU as perf_event gives. */
static void take_counters(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.pinned = 1,
	};
	unsigned int i;

	for (i = 0; i < 24; i++) {
		attr.config = i & 1 ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_HW_INSTRUCTIONS;
		syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0);
	}
}

/* Without counters there is an error and no zero, whether they are lost before or later. */
START_TEST(busy)
{
	struct vperfctr *v = count_names("instructions:u"), *late;
	uint64_t value = 7;

	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	value = 7;
	take_counters();
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EBUSY);
	ck_assert_uint_eq(value, 7);
	ck_assert_int_eq(vperfctr_event_open(&late, "instructions:u", &why), -EBUSY);
	ck_assert_ptr_null(late);
	ck_assert_ptr_nonnull(strstr(why.text, "the counters"));
	vperfctr_close(v);
}
END_TEST

/* More events than counters are refused, not counted by turns. */
START_TEST(too_many)
{
	char names[32 * 16] = "instructions:u";
	struct vperfctr *v;
	unsigned int i;

	for (i = 1; i < 32; i++)
		strcat(names, ",instructions:u");
	ck_assert_int_eq(vperfctr_event_open(&v, names, &why), -ENOSPC);
	ck_assert_ptr_null(v);
}
END_TEST

START_TEST(module_only)
{
	struct vperfctr_info missing;
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_info(&missing, 0), -ENODEV);
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", VPERFCTR_COUNT_MODULE, &why), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why.text, "modprobe vperfctr"));
}
END_TEST

static void write_paranoid(const char *value)
{
	int fd = open("/proc/sys/kernel/perf_event_paranoid", O_WRONLY);

	ck_assert_int_eq(write(fd, value, 1), 1);
	close(fd);
}

/* Return 0 if a user without privileges counts user mode exactly, and is refused the rest. */
static int count_as_user(void)
{
	struct vperfctr *v;
	uint64_t overhead;

	if (setuid(65534))
		return 1;
	if (vperfctr_event_open(&v, "instructions:k", &why) != -EPERM)
		return 2;
	if (vperfctr_event_open(&v, "context-switches", &why) != -ENODEV ||
	    !strstr(why.text, "perf_event_paranoid is 2"))
		return 3;
	if (vperfctr_event_open(&v, "instructions", &why))
		return 4;
	region(v, 1);
	overhead = region(v, 1) - 2;
	return region(v, 12345) == 24690 + overhead ? 0 : 5;
}

START_TEST(user)
{
	int status;
	pid_t pid;

	write_paranoid("2");
	pid = fork();
	if (!pid)
		_exit(count_as_user());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, exact);
	tcase_add_test(t, read_in_user_mode);
	tcase_add_test(t, exact_region);
	tcase_add_test(t, busy);
	tcase_add_test(t, too_many);
	tcase_add_test(t, module_only);
	tcase_add_test(t, user);
}

int main(void)
{
	return run_tests("fallback", add);
}
