// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of vperfctr_thread(), with the module and without it: each thread gets its handle at
 * its first call, counts exactly, and loses the handle at its end.
 */
#include <errno.h>
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "suite.h"

#define NAMES	"instructions:u"
#define THREADS	8

static struct vperfctr *own(void)
{
	struct vperfctr_why why = { "" };
	struct vperfctr *v;

	if (vperfctr_thread(&v, NAMES, 0, &why))
		printf("%s\n", why.text);
	return v;
}

static __attribute__((noinline, noclone)) uint64_t region(unsigned long n)
{
	uint64_t before = 0, after = 0;
	struct vperfctr *v = own();

	if (!v || vperfctr_read_pmc(v, 0, &before))
		return 0;
	loop(n);
	if (vperfctr_read_pmc(v, 0, &after))
		return 0;
	return after - before;
}

static bool counts_exactly(void)
{
	uint64_t overhead;

	region(1);
	overhead = region(1) - 2;
	return overhead < 500 && region(5000) == 10000 + overhead;
}

static unsigned int nr_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Return NULL if the thread's handle is one, and counts exactly. */
static void *use(void *arg)
{
	struct vperfctr *v = own();

	(void)arg;
	return v && v == own() && counts_exactly() && v == own() ? NULL : (void *)1;
}

START_TEST(threads)
{
	unsigned int before, i, round;
	pthread_t thread[THREADS];
	void *bad;

	/* The library keeps the device open. */
	ck_assert_ptr_null(use(NULL));
	before = nr_descriptors();
	for (round = 0; round < 3; round++) {
		for (i = 0; i < THREADS; i++)
			ck_assert_int_eq(pthread_create(&thread[i], NULL, use, NULL), 0);
		for (i = 0; i < THREADS; i++) {
			ck_assert_int_eq(pthread_join(thread[i], &bad), 0);
			ck_assert_ptr_null(bad);
		}
	}
	ck_assert_uint_eq(nr_descriptors(), before);
	ck_assert_ptr_null(use(NULL));
}
END_TEST

/* A thread has one handle, with the names of the first call, until it closes it. */
START_TEST(names)
{
	unsigned int before = nr_descriptors();
	struct vperfctr *v, *other;
	struct vperfctr_why why;

	ck_assert_int_eq(vperfctr_thread(&v, "nonsense", 0, &why), -ENOENT);
	ck_assert_ptr_null(v);
	v = own();
	ck_assert_ptr_nonnull(v);
	ck_assert_int_eq(vperfctr_thread(&other, NAMES ",cycles:u", 0, &why), -EEXIST);
	ck_assert_ptr_null(other);
	ck_assert_ptr_nonnull(strstr(why.text, "'" NAMES "' already"));
	ck_assert_int_eq(vperfctr_thread(&other, NAMES, VPERFCTR_COUNT_PERF, NULL), -EEXIST);
	ck_assert_ptr_eq(own(), v);
	vperfctr_thread_close();
	vperfctr_thread_close();
	ck_assert_uint_le(nr_descriptors(), before + 1);
	ck_assert_int_eq(vperfctr_thread(&v, "cycles:u," NAMES, 0, &why), 0);
	ck_assert_str_eq(vperfctr_counter_name(v, 1), NAMES);
}
END_TEST

/* A child does not use its parent's handle, and leaves it as it is. */
START_TEST(child)
{
	uint64_t overhead, before, after;
	struct vperfctr *v = own();
	int status;
	pid_t pid;

	ck_assert_ptr_null(use(NULL));
	pid = fork();
	if (!pid)
		_exit(use(NULL) ? 1 : 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_ptr_eq(own(), v);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &before), 0);
	overhead = region(1) - 2;
	ck_assert_uint_eq(region(5000), 10000 + overhead);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &after), 0);
	ck_assert_uint_gt(after, before + 10000);
}
END_TEST

static void add(TCase *t)
{
	tcase_add_test(t, threads);
	tcase_add_test(t, names);
	tcase_add_test(t, child);
}

int main(void)
{
	return run_tests("thread", add);
}
