// SPDX-License-Identifier: GPL-2.0
/*
 * A program that counts itself, with the module loaded and beside others: the NMI watchdog,
 * perf on all CPUs, a handle of its own, perf on the thread, no right to open the device, no
 * counters.  It counts all that perf_event would count without the module.
 *
 * With KEEP_WATCHDOG=1 the watchdog stays on, beside which the module counts.
 *
 * "test_coexist count NAMES..." is that program: for each handle it prints the backend, the last
 * counter's difference over 1000 rounds of a loop, and the reason.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "suite.h"

#define WATCHDOG "/proc/sys/kernel/nmi_watchdog"

static struct vperfctr_why why;
static bool without_counters;	/* "nopmu" is the first argument */
static bool keeps_watchdog;	/* KEEP_WATCHDOG is set */

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

/* Return 0 if counters count exactly; otherwise the line.  To be called in a child, too. */
static int try_counters(unsigned int backend)
{
	struct vperfctr *v;
	uint64_t overhead, time = 0;

	if (vperfctr_event_open(&v, "instructions:u,task-clock", &why))
		return __LINE__;
	if (vperfctr_backend(v) != backend)
		return __LINE__;
	/* The reason is there exactly if the module does not count. */
	if (!*why.text != (backend == VPERFCTR_BACKEND_MODULE))
		return __LINE__;
	region(v, 1);
	overhead = region(v, 1) - 2;
	if (region(v, 1000) != 2000 + overhead || region(v, 54321) != 108642 + overhead)
		return __LINE__;
	if (vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &time) || !time)
		return __LINE__;
	vperfctr_close(v);
	return 0;
}

static int try_software(const char *names)
{
	struct vperfctr *v;
	uint64_t time = 0;

	if (vperfctr_event_open(&v, names, &why))
		return __LINE__;
	loop(10000);
	if (vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &time) || !time)
		return __LINE__;
	vperfctr_close(v);
	return 0;
}

static void check(int line)
{
	ck_assert_msg(!line, "%s:%d: %s", __FILE__, line, why.text);
}

/* The backend where the watchdog has a counter: the module's if that can leave it there. */
static unsigned int beside_watchdog;

static void set_watchdog(bool on)
{
	/* Without counters there is none. */
	if (!without_counters && !keeps_watchdog)
		write_file(WATCHDOG, on ? "1" : "0");
}

static void find_backend(void)
{
	struct vperfctr *v;

	beside_watchdog = VPERFCTR_BACKEND_PERF;
	if (!vperfctr_count(&v, "instructions:u", VPERFCTR_COUNT_MODULE, &why)) {
		beside_watchdog = VPERFCTR_BACKEND_MODULE;
		vperfctr_close(v);
	} else {
		ck_assert_ptr_nonnull(strstr(why.text, "NMI watchdog"));
		ck_assert(!keeps_watchdog);
	}
}

START_TEST(watchdog)
{
	set_watchdog(true);
	find_backend();
	check(try_counters(beside_watchdog));
	if (beside_watchdog == VPERFCTR_BACKEND_PERF)
		ck_assert_msg(strstr(why.text, "NMI watchdog") != NULL, "%s", why.text);
	check(try_software("task-clock,page-faults"));
}
END_TEST

START_TEST(without_watchdog)
{
	set_watchdog(false);
	check(try_counters(VPERFCTR_BACKEND_MODULE));
	set_watchdog(true);
}
END_TEST

static int open_perf(pid_t pid, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);

	ck_assert_int_ge(fd, 0);
	return fd;
}

/* As "perf stat -a" does, and as "perf stat PROGRAM" does with PROGRAM. */
START_TEST(perf)
{
	int fd;

	set_watchdog(false);
	fd = _i ? open_perf(0, -1) : open_perf(-1, 0);
	check(try_counters(VPERFCTR_BACKEND_PERF));
	ck_assert_msg(strstr(why.text, "the counters") != NULL, "%s", why.text);
	check(try_software("task-clock,context-switches"));
	close(fd);
	check(try_counters(VPERFCTR_BACKEND_MODULE));
	set_watchdog(true);
}
END_TEST

/* Return what region() counts besides the loop. */
static uint64_t overhead_of(struct vperfctr *v)
{
	region(v, 1);
	return region(v, 1) - 2;
}

/* Names of events for all counters that can count instructions. */
static const char *all_names(void)
{
	static char names[VPERFCTR_MAX_CTRS * sizeof("instructions:u")];
	struct vperfctr_info mine;
	unsigned int i, n;

	ck_assert_int_eq(vperfctr_info(&mine, 0), 0);
	n = __builtin_popcountll(mine.pmc_mask) + (mine.fixed_mask & 1);
	*names = '\0';
	for (i = 0; i < n; i++)
		strcat(strcat(names, i ? "," : ""), "instructions:u");
	return names;
}

/* Two parts of a program in one thread, which do not know of each other. */
START_TEST(second_handle)
{
	struct vperfctr *v, *second;
	uint64_t overhead[2];
	int err;

	set_watchdog(_i);
	find_backend();
	ck_assert_int_eq(vperfctr_event_open(&v, "instructions:u", &why), 0);
	ck_assert_uint_eq(vperfctr_backend(v), beside_watchdog);
	check(try_software("task-clock,page-faults"));
	check(try_counters(beside_watchdog));
	if (beside_watchdog == VPERFCTR_BACKEND_MODULE) {
		ck_assert_int_eq(vperfctr_event_open(&second, "instructions:u", &why), 0);
		ck_assert_uint_eq(vperfctr_backend(second), VPERFCTR_BACKEND_MODULE);
		overhead[0] = overhead_of(v);
		overhead[1] = overhead_of(second);
		ck_assert_uint_eq(region(v, 1000), 2000 + overhead[0]);
		ck_assert_uint_eq(region(second, 1001), 2002 + overhead[1]);
		/* The first one may end first. */
		vperfctr_close(v);
		ck_assert_uint_eq(region(second, 1001), 2002 + overhead[1]);
		v = second;
		ck_assert_int_eq(vperfctr_event_open(&second, "instructions:u", &why), 0);
		vperfctr_close(second);
		/* Where the counters do not suffice, the first ones go on. */
		err = vperfctr_event_open(&second, all_names(), &why);
		ck_assert_int_eq(err, -ENOSPC);
		ck_assert_ptr_null(second);
		ck_assert_msg(strstr(why.text, "beside the counters by which others count this thread") != NULL, "%s",
			      why.text);
		ck_assert_uint_eq(region(v, 1001), 2002 + overhead[1]);
	}
	vperfctr_close(v);
	/* The other way round: a state of the thread's own, and too much beside it. */
	ck_assert_int_eq(vperfctr_event_open(&v, "instructions:u", &why), 0);
	if (beside_watchdog == VPERFCTR_BACKEND_MODULE) {
		err = vperfctr_event_open(&second, all_names(), &why);
		ck_assert_int_eq(err, -EEXIST);
		ck_assert_msg(strstr(why.text, "this thread has counters already, and by the others: ") != NULL, "%s",
			      why.text);
	}
	vperfctr_close(v);
	set_watchdog(true);
}
END_TEST

/* A user outside the group, with a watchdog and without one. */
START_TEST(not_permitted)
{
	struct stat before;
	int status;
	pid_t pid;

	ck_assert_int_eq(stat("/dev/vperfctr", &before), 0);
	ck_assert_int_eq(chmod("/dev/vperfctr", 0600), 0);
	write_file("/proc/sys/kernel/perf_event_paranoid", "2");
	set_watchdog(_i);
	pid = fork();
	if (!pid) {
		int line = setuid(65534) ? __LINE__ : 0;

		if (!line && without_counters)
			line = try_software("task-clock");
		else if (!line)
			line = try_counters(VPERFCTR_BACKEND_PERF);
		if (!line && !without_counters && !strstr(why.text, "may open /dev/vperfctr") &&
		    !strstr(why.text, "only root may open /dev/vperfctr"))
			line = __LINE__;
		if (line)
			printf("%s:%d: %s\n", __FILE__, line, why.text);
		fflush(NULL);
		_exit(!!line);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(chmod("/dev/vperfctr", before.st_mode & 07777), 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* A backend that is asked for, by the flags or the environment, is the only one. */
START_TEST(asked_for)
{
	static const struct {
		unsigned int flags, backend;
		const char *variable;
	} asked[] = {
		{ VPERFCTR_COUNT_PERF, VPERFCTR_BACKEND_PERF, "module" },
		{ VPERFCTR_COUNT_MODULE, VPERFCTR_BACKEND_MODULE, "perf" },
		{ 0, VPERFCTR_BACKEND_PERF, "perf" },
		{ 0, VPERFCTR_BACKEND_MODULE, "module" },
		{ 0, VPERFCTR_BACKEND_MODULE, "auto" },
	};
	struct vperfctr *v;
	int fd;

	set_watchdog(false);
	setenv("VPERFCTR_BACKEND", asked[_i].variable, 1);
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", asked[_i].flags, &why), 0);
	ck_assert_uint_eq(vperfctr_backend(v), asked[_i].backend);
	ck_assert_str_eq(why.text, "");
	vperfctr_close(v);
	fd = open_perf(0, -1);
	if (asked[_i].backend == VPERFCTR_BACKEND_MODULE && strcmp(asked[_i].variable, "auto")) {
		ck_assert_int_eq(vperfctr_count(&v, "instructions:u", asked[_i].flags, &why), -EBUSY);
		ck_assert_ptr_null(v);
	} else {
		ck_assert_int_eq(vperfctr_count(&v, "instructions:u", asked[_i].flags, &why), 0);
		ck_assert_uint_eq(vperfctr_backend(v), VPERFCTR_BACKEND_PERF);
		vperfctr_close(v);
	}
	close(fd);
	set_watchdog(true);
}
END_TEST

/* perf_event must not count what the module refuses as it is wrong or does not fit. */
START_TEST(refused_events)
{
	char names[32 * 16] = "instructions:u";
	struct vperfctr *v;
	unsigned int i;

	set_watchdog(false);
	for (i = 1; i < 32; i++)
		strcat(names, ",instructions:u");
	ck_assert_int_eq(vperfctr_event_open(&v, names, &why), -ENOSPC);
	ck_assert_ptr_null(strstr(why.text, "perf_event"));
	ck_assert_int_eq(vperfctr_event_open(&v, "nonsense", &why), -ENOENT);
	set_watchdog(true);
}
END_TEST

/* Without counters, software events count, and others are refused by both. */
START_TEST(no_counters)
{
	struct vperfctr *v;

	check(try_software("task-clock,page-faults"));
	ck_assert_int_eq(vperfctr_event_open(&v, "instructions:u", &why), -EOPNOTSUPP);
	ck_assert_msg(strstr(why.text, "no counters here") && strstr(why.text, "by perf_event: "), "%s",
		      why.text);
}
END_TEST

static void add(TCase *t)
{
	if (without_counters) {
		tcase_add_test(t, no_counters);
		tcase_add_loop_test(t, not_permitted, 0, 1);
		return;
	}
	tcase_add_test(t, watchdog);
	if (!keeps_watchdog)
		tcase_add_test(t, without_watchdog);
	tcase_add_loop_test(t, perf, 0, 2);
	/* Without a watchdog, and with it. */
	tcase_add_loop_test(t, second_handle, keeps_watchdog, 2);
	tcase_add_loop_test(t, not_permitted, keeps_watchdog, 2);
	tcase_add_loop_test(t, asked_for, 0, 5);
	tcase_add_test(t, refused_events);
}

static int count_names(char **names)
{
	struct vperfctr *v;
	int status;
	uint64_t n;

	if (!*names)
		return EXIT_SUCCESS;
	if (vperfctr_event_open(&v, *names, &why)) {
		printf("error: %s\n", why.text);
		return EXIT_FAILURE;
	}
	/* The others count at the same time. */
	status = count_names(names + 1);
	region(v, 1);
	n = region(v, 1001) - region(v, 1);
	printf("%s %lu %s\n", vperfctr_backend(v) == VPERFCTR_BACKEND_PERF ? "perf" : "module",
	       (unsigned long)n, why.text);
	vperfctr_close(v);
	return status;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "count"))
		return count_names(argv + 2);
	without_counters = argc == 2 && !strcmp(argv[1], "nopmu");
	keeps_watchdog = getenv("KEEP_WATCHDOG");
	return run_tests("coexist", add);
}
