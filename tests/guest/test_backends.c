// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of a handle of vperfctr_count(), with the module and without it: the suites run
 * this program on both.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "suite.h"

/* Counters and software events, and software events only. */
static const struct {
	const char *names;
	unsigned int nrctrs;
} handles[] = {
	{ "instructions:u,task-clock,cycles:u", 2 },
	{ "task-clock,page-faults", 0 },
};

static struct vperfctr *v;
static unsigned int nrctrs;
static int failed_at;

static void open_handle(int i)
{
	struct vperfctr_why why = { "" };
	int err = vperfctr_count(&v, handles[i].names, 0, &why);

	ck_assert_msg(!err, "%s: %s", handles[i].names, why.text);
	nrctrs = handles[i].nrctrs;
}

/* Make all reads and changes; failed_at is the line of the first with another result. */
static void *expect(void *result)
{
	const int expected = (int)(intptr_t)result;
	uint64_t pmc[2], value;

#define EXPECT(call) do {							\
	if (!failed_at && (call) != expected)					\
		failed_at = __LINE__;						\
} while (0)
	EXPECT(vperfctr_read(v, NULL, pmc, nrctrs));
	EXPECT(vperfctr_read(v, NULL, NULL, 0));
	if (nrctrs)
		EXPECT(vperfctr_read_pmc(v, 1, &value));
	EXPECT(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value));
	EXPECT(vperfctr_suspend(v));
	EXPECT(vperfctr_resume(v));
	EXPECT(vperfctr_reset(v));
	if (expected)
		EXPECT(vperfctr_stop(v));
#undef EXPECT
	return NULL;
}

START_TEST(owner)
{
	open_handle(_i);
	expect(0);
	ck_assert_int_eq(failed_at, 0);
	vperfctr_close(v);
}
END_TEST

START_TEST(other_thread)
{
	pthread_t thread;

	open_handle(_i);
	ck_assert_int_eq(pthread_create(&thread, NULL, expect, (void *)(intptr_t)-EPERM), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(failed_at, 0);
	vperfctr_close(v);
}
END_TEST

START_TEST(forked)
{
	int status;
	pid_t pid;

	open_handle(_i);
	pid = fork();
	if (!pid) {
		expect((void *)(intptr_t)-EPERM);
		/* An exit status has 8 bits. */
		if (failed_at)
			printf("%s:%d\n", __FILE__, failed_at);
		fflush(NULL);
		_exit(!!failed_at);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	expect(0);
	ck_assert_int_eq(failed_at, 0);
	vperfctr_close(v);
}
END_TEST

START_TEST(what_there_is_not)
{
	uint64_t pmc[3], value = 42;

	open_handle(_i);
	ck_assert_int_eq(vperfctr_read_pmc(v, nrctrs, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, nrctrs + 1), -EINVAL);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_MIGRATIONS, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read_soft(v, 0, &value), -EINVAL);
	ck_assert_uint_eq(value, 42);
	ck_assert_ptr_null(vperfctr_counter_name(v, nrctrs));
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), -EINVAL);
	ck_assert_int_eq(vperfctr_reset(v), -EINVAL);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_suspend(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

static pid_t counted;

static void *count_and_end(void *arg)
{
	counted = (pid_t)syscall(SYS_gettid);
	open_handle((int)(intptr_t)arg);
	return NULL;
}

/* The last sums of a thread that has ended. */
START_TEST(ended)
{
	uint64_t pmc[2], value;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, count_and_end, (void *)(intptr_t)_i), 0);
	pthread_join(thread, NULL);
	/* It wakes the joining thread before it has ended. */
	while (!syscall(SYS_tgkill, getpid(), counted, 0))
		usleep(1000);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, nrctrs), 0);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value), 0);
	ck_assert_uint_gt(value, 0);
	ck_assert_int_eq(vperfctr_suspend(v), -ESRCH);
	ck_assert_int_eq(vperfctr_reset(v), -ESRCH);
	vperfctr_close(v);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_loop_test(t, owner, 0, 2);
	tcase_add_loop_test(t, other_thread, 0, 2);
	tcase_add_loop_test(t, forked, 0, 2);
	tcase_add_loop_test(t, what_there_is_not, 0, 2);
	tcase_add_loop_test(t, ended, 0, 2);
}

int main(void)
{
	return run_tests("backends", add);
}
