// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Run the libraries in several threads at once, each with its own handle, under
 * ThreadSanitizer, which finds data that they share without synchronization.
 *
 * The linker redirects open, ioctl and mmap here.  These share nothing.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vperfctr.h>
#include <vperfctr-event.h>

#define THREADS	8
#define ROUNDS	200

int __wrap_open64(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__wrap_mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset);

static const struct vperfctr_info sandy_bridge = {
	.size = sizeof(sandy_bridge), .abi_version = VPERFCTR_ABI_VERSION,
	.cpu_type = VPERFCTR_CPU_INTEL_ARCH, .features = VPERFCTR_FEATURE_KERNEL,
	.pmc_mask = 0xf, .fixed_mask = 0x7, .nrctrs = 7, .arch_events = 0x7f,
	.cpu_name = "Fake",
};

int __wrap_open64(const char *path, int flags, ...)
{
	(void)path;
	(void)flags;
	return memfd_create("device", MFD_CLOEXEC);
}

static int fake_open(void)
{
	const struct vperfctr_page page = { .version = VPERFCTR_ABI_VERSION };
	int fd = memfd_create("state", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(fd, sysconf(_SC_PAGESIZE)), 0);
	ck_assert_int_eq(pwrite(fd, &page, sizeof(page), 0), sizeof(page));
	return fd;
}

static int fake_read(struct vperfctr_read *arg)
{
	uint64_t *sums = (uint64_t *)(uintptr_t)arg->sums;

	arg->nrctrs = 1;
	if (sums) {
		sums[0] = 3000;
		sums[1] = 1000;
	}
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	(void)fd;
	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case VPERFCTR_INFO:
		memcpy(arg, &sandy_bridge, sizeof(sandy_bridge));
		return 0;
	case VPERFCTR_OPEN:
		return fake_open();
	case VPERFCTR_READ:
		return fake_read(arg);
	default:
		return 0;
	}
}

void *__real_mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap64(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
	return __real_mmap64(addr, size, prot, flags, fd, offset);
}

/* Each event by a name of each sort, libpfm4's included, which is initialised by the first. */
static const char *const names[] = {
	"instructions:u", "cycles", "r00c0:u", "0x4300c0", "INST_RETIRED:ANY_P:u", "UOPS_RETIRED",
};

#define NR_NAMES	(sizeof(names) / sizeof(names[0]))

static void use_events(unsigned int first)
{
	struct vperfctr_event event[2], again;
	struct vperfctr_ctr ctr[2];
	struct vperfctr_why why;
	unsigned int i;

	for (i = 0; i < 2; i++)
		ck_assert_int_eq(vperfctr_event(&event[i], names[(first + i) % NR_NAMES],
						&sandy_bridge, &why), 0);
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 2, &sandy_bridge, &why), 0);
	ck_assert_uint_ne(ctr[0].map, ctr[1].map);
	ck_assert_int_eq(vperfctr_event(&again, "no_such_event", &sandy_bridge, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "no_such_event"));
}

static void use_handle(void)
{
	struct vperfctr_control control;
	uint64_t sums[2] = { 0 };
	struct vperfctr_read read = {
		.size = sizeof(read), .nrctrs = 1, .sums = (uintptr_t)sums,
	};
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), 0);
	vperfctr_control_init(&control, NULL);
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	ck_assert_int_eq(vperfctr_read_state(v, &read), 0);
	ck_assert_uint_eq(sums[1], 1000);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	vperfctr_close(v);
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	unsigned int i, n = (unsigned int)(uintptr_t)arg;

	pthread_barrier_wait(&barrier);
	for (i = 0; i < ROUNDS; i++) {
		use_events(n + i);
		use_handle();
	}
	return NULL;
}

START_TEST(at_once)
{
	pthread_t threads[THREADS];
	uintptr_t i;

	setenv("LIBPFM_FORCE_PMU", "snb", 1);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, thread, (void *)i), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("threads");
	TCase *tc = tcase_create("threads");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, at_once);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
