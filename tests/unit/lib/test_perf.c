// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tests of counting by perf_event_open(2), with a fake one, where the module cannot be used. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "perf.h"
#include "perf-rdpmc.h"

/* ---- a fake of perf_event ------------------------------------------------------------ */

#define MAX_EVENTS	40
#define LEADER_NAME	"fake-perf"

static struct {
	unsigned int nr;		/* events of all groups */
	struct perf_event_attr attr[MAX_EVENTS];
	int fd[MAX_EVENTS], group[MAX_EVENTS], cpu[MAX_EVENTS];
	pid_t tid, tids[MAX_EVENTS];
	uint64_t ran[MAX_EVENTS];	/* besides `running`, of a group's leader */
	unsigned int fail_at;		/* this event is refused */
	int fail;			/* with this errno; 0: none is */
	int device;			/* the errno of opening the module's device; 0: ENOENT */
	bool forbid_kernel;
	bool refuse_anonymous;		/* there is no memory for mmap() */
	bool clock;			/* times are made from the TSC */
	bool lost;			/* the pinned group has lost its counters */
	int offline;			/* a CPU that has gone offline; 0: none */
	int missing;			/* a CPU that perf_event does not have; 0: none */
	int fail_missing;		/* what it says of that */
	uint64_t enabled, running, value[MAX_EVENTS];
	unsigned int enables, disables, reads;
	bool user_reads;		/* events have counters that user mode may read */
	struct perf_event_mmap_page *page[MAX_EVENTS];
	void (*in_rdpmc)(void);		/* what happens meanwhile, once */
	void (*after_rdpmc)(void);	/* the same, when that has read */
	void (*after_read)(void);	/* and when the kernel has */
} k;

static const char *const no_device = "/dev/vperfctr-of-no-test";

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);
ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off);

static long refuse(int err)
{
	errno = err;
	return -1;
}

static bool is_dummy(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
}

static long open_event(const struct perf_event_attr *attr, pid_t tid, int cpu, int group)
{
	int fd;

	if (!attr->exclude_kernel && k.forbid_kernel)
		return refuse(EACCES);
	if (k.missing && cpu == k.missing)
		return refuse(k.fail_missing);
	/* The library asks only whether it may, or for the clock. */
	if (!attr->read_format)
		return memfd_create("fake-perf-other", 0);
	/* A dummy is no event of the processor: it cannot lack a counter. */
	if (k.fail && k.nr == k.fail_at && !is_dummy(attr))
		return refuse(k.fail);
	fd = memfd_create(LEADER_NAME, 0);
	k.attr[k.nr] = *attr;
	k.fd[k.nr] = fd;
	k.cpu[k.nr] = cpu;
	k.tids[k.nr] = tid;
	k.group[k.nr++] = group;
	k.tid = tid;
	return fd;
}

long __wrap_syscall(long number, ...)
{
	long arg[5];
	unsigned int i;
	va_list ap;

	va_start(ap, number);
	for (i = 0; i < 5; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number != SYS_perf_event_open)
		return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4]);
	if (arg[4] != PERF_FLAG_FD_CLOEXEC)
		abort();
	return open_event((const struct perf_event_attr *)arg[0], (pid_t)arg[1], (int)arg[2],
			  (int)arg[3]);
}

int __wrap_open64(const char *path, int flags, ...)
{
	if (strcmp(path, "/dev/vperfctr"))
		return __real_open64(path, flags, 0600);
	return k.device ? (int)refuse(k.device) : __real_open64(no_device, flags, 0600);
}

/* Return: the event of a descriptor that leads a group, or k.nr. */
static unsigned int find_leader(int fd)
{
	unsigned int i;

	for (i = 0; i < k.nr; i++)
		if (k.fd[i] == fd && k.group[i] == -1)
			break;
	return i;
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
	uint64_t out[3 + MAX_EVENTS] = { 0, k.enabled };
	void (*func)(void) = k.after_read;
	unsigned int i, first = find_leader(fd);

	if (first == k.nr)
		return __real_read(fd, buf, size);
	k.reads++;
	if (k.lost)
		return 0;
	out[2] = k.running + k.ran[first];
	/* The kernel takes such groups apart, and a leader keeps what it has counted. */
	for (i = first; i < k.nr && (i == first || k.group[i] == fd); i++)
		if (i == first || !k.offline || k.cpu[i] != k.offline)
			out[3 + out[0]++] = k.value[i];
	if (size < (3 + out[0]) * 8)
		return refuse(ENOSPC);
	memcpy(buf, out, (3 + out[0]) * 8);
	k.after_read = NULL;
	if (func)
		func();
	return (ssize_t)(3 + out[0]) * 8;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	if (find_leader(fd) == k.nr)
		return (int)refuse(ENOTTY);
	k.enables += request == PERF_EVENT_IOC_ENABLE;
	k.disables += request == PERF_EVENT_IOC_DISABLE;
	if (request != PERF_EVENT_IOC_ENABLE && request != PERF_EVENT_IOC_DISABLE)
		return (int)refuse(ENOTTY);
	return 0;
}

void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t off)
{
	struct perf_event_mmap_page *page;
	unsigned int i;

	if (fd < 0 && k.refuse_anonymous) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	if (fd < 0)
		return __real_mmap64(addr, len, prot, flags, fd, off);
	page = __real_mmap64(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page->cap_user_time = k.clock;
	page->time_mult = 500;
	page->time_shift = 10;
	for (i = 0; i < k.nr; i++) {
		if (k.fd[i] != fd)
			continue;
		k.page[i] = page;
		page->cap_user_rdpmc = k.user_reads;
		page->index = i + 1;
		page->pmc_width = 40;
		/* The counter has the rest, which may be less than zero. */
		page->offset = 5000;
	}
	return page;
}

#define COUNTER_MASK	((1ULL << 40) - 1)

uint64_t test_rdpmc(uint32_t index)
{
	void (*func)(void) = k.in_rdpmc;
	uint64_t value;

	k.in_rdpmc = NULL;
	if (func)
		func();
	value = (k.value[index] - k.page[index]->offset) & COUNTER_MASK;
	func = k.after_rdpmc;
	k.after_rdpmc = NULL;
	if (func)
		func();
	return value;
}

/* ---- tests ------------------------------------------------------------------------------- */

static struct vperfctr_why why;
static unsigned int fds_at_start;

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The family of the processor that runs this, or 0. */
static uint32_t forced_type;

void __real___vperfctr_set_native(struct vperfctr_info *info);
void __wrap___vperfctr_set_native(struct vperfctr_info *info);
void __wrap___vperfctr_set_native(struct vperfctr_info *info)
{
	__real___vperfctr_set_native(info);
	if (!forced_type)
		return;
	info->cpu_type = forced_type;
	info->fixed_mask = forced_type == VPERFCTR_CPU_INTEL_ARCH ? 0xff :
			   forced_type == VPERFCTR_CPU_ARM_PMUV3 ? 1 :
			   forced_type == VPERFCTR_CPU_POWER8 ? 3 : 0;
}

static void setup(void)
{
	memset(&k, 0, sizeof(k));
	k.clock = true;
	fds_at_start = count_fds();
}

static void teardown(void)
{
	ck_assert_uint_eq(count_fds(), fds_at_start);
}

static struct vperfctr *open_ok(const char *names)
{
	struct vperfctr *v;

	ck_assert_msg(!vperfctr_count(&v, names, 0, &why), "%s", why.text);
	ck_assert_uint_eq(vperfctr_backend(v), VPERFCTR_BACKEND_PERF);
	return v;
}

/* Advance all values by as many thousands as their place, and the times. */
static void advance(unsigned int thousands)
{
	unsigned int i;

	for (i = 0; i < MAX_EVENTS; i++)
		k.value[i] += (i + 1) * 1000 * thousands;
	k.enabled += 500 * thousands;
	k.running += 500 * thousands;
}

/* Counters come first, then software events, in one pinned group. */
START_TEST(group)
{
	static const struct {
		uint32_t type;
		uint64_t config;
		bool kernel;
	} expected[] = {
		{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, false },
		{ PERF_TYPE_RAW, 0x4304c7, true },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, true },
		{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, true },
	};
	struct vperfctr *v;
	uint64_t pmc[2], tsc, soft;
	unsigned int i;

#ifdef __x86_64__
	v = open_ok("task-clock,instructions:u,page-faults,0x4304c7@0,minor-faults");
	ck_assert_uint_eq(k.nr, 5);
	for (i = 0; i < 5; i++) {
		const struct perf_event_attr *a = &k.attr[i];
		/* The modes are no part of perf_event's code. */
		uint64_t config = i == 1 ? 0x04c7 : expected[i].config;

		ck_assert_uint_eq(a->type, expected[i].type);
		ck_assert_uint_eq(a->config, config);
		ck_assert_uint_eq(a->exclude_user, 0);
		ck_assert_uint_eq(a->exclude_kernel, !expected[i].kernel);
		ck_assert_uint_eq(a->pinned | a->disabled << 1, i ? 0 : 3);
		ck_assert_uint_eq(a->inherit | a->enable_on_exec, 0);
		ck_assert_int_eq(k.group[i], i ? k.fd[0] : -1);
	}
	ck_assert_int_eq(k.tid, 0);
	ck_assert_uint_eq(k.enables, 1);
	advance(1);
	ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 2), 0);
	ck_assert_uint_eq(pmc[0], 1000);
	ck_assert_uint_eq(pmc[1], 2000);
	/* 500 ns * 2^10 / 500 */
	ck_assert_uint_eq(tsc, 1024);
	ck_assert_int_eq(vperfctr_read_pmc(v, 1, &soft), 0);
	ck_assert_uint_eq(soft, 2000);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &soft), 0);
	ck_assert_uint_eq(soft, 3000);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_PAGE_FAULTS, &soft), 0);
	ck_assert_uint_eq(soft, 9000);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_MIGRATIONS, &soft), -EINVAL);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 3), -EINVAL);
	ck_assert_str_eq(vperfctr_counter_name(v, 0), "instructions:u");
	ck_assert_str_eq(vperfctr_counter_name(v, 1), "0x4304c7@0");
	ck_assert_ptr_null(vperfctr_counter_name(v, 2));
	vperfctr_close(v);
#endif
	/* Software events alone have no counter and no name. */
	memset(&k, 0, sizeof(k));
	v = open_ok("task-clock");
	ck_assert_ptr_null(vperfctr_counter_name(v, 0));
	ck_assert_int_eq(vperfctr_read_tsc(v, &tsc), -EOPNOTSUPP);
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 0), 0);
	vperfctr_close(v);
}
END_TEST

/* perf_event's numbers of names that all processors have, and of codes of the same events. */
static const struct {
	uint32_t cpu_type;
	const char *name;
	uint32_t type;
	uint64_t config;
} translated[] = {
	{ VPERFCTR_CPU_INTEL_ARCH, "branches:u@0", PERF_TYPE_HARDWARE,
	  PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
	{ VPERFCTR_CPU_INTEL_ARCH, "cpu-cycles:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ VPERFCTR_CPU_INTEL_ARCH, "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
	/* perf counts the name by fixed counter 2, at another rate. */
	{ VPERFCTR_CPU_INTEL_ARCH, "r013c:u", PERF_TYPE_RAW, 0x13c },
	{ VPERFCTR_CPU_INTEL_ARCH, "0x41013c", PERF_TYPE_RAW, 0x13c },
	/* perf counts another event by the name on Nehalem: erratum AAJ80. */
	{ VPERFCTR_CPU_INTEL_ARCH, "r00c5:u", PERF_TYPE_RAW, 0xc5 },
	{ VPERFCTR_CPU_INTEL_ARCH, "CPU_CLK_UNHALTED:THREAD_P", PERF_TYPE_RAW, 0x3c },
	{ VPERFCTR_CPU_AMD, "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
	{ VPERFCTR_CPU_AMD, "r0076:u@1", PERF_TYPE_RAW, 0x76 },
	{ VPERFCTR_CPU_ARM_PMUV3, "cycles:k", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ VPERFCTR_CPU_ARM_PMUV3, "r0036", PERF_TYPE_RAW, 0x36 },
	{ VPERFCTR_CPU_ARM_PMUV3, "r0037:u", PERF_TYPE_RAW, 0x37 },
	{ VPERFCTR_CPU_ARM_PMUV3, "r0022", PERF_TYPE_RAW, 0x22 },
	{ VPERFCTR_CPU_ARM_PMUV3, "r0021", PERF_TYPE_RAW, 0x21 },
	{ VPERFCTR_CPU_ARM_PMUV3, "r4004", PERF_TYPE_RAW, 0x4004 },
	{ VPERFCTR_CPU_ARM_PMUV3, "r0011@fixed0", PERF_TYPE_RAW, 0x11 },
	{ VPERFCTR_CPU_POWER8, "instructions:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
	/* PMC5 and PMC6 stop while no task runs. */
	{ VPERFCTR_CPU_POWER8, "r500fa:u", PERF_TYPE_RAW, 0x500fa },
	{ VPERFCTR_CPU_POWER8, "r600f4", PERF_TYPE_RAW, 0x600f4 },
	{ VPERFCTR_CPU_POWER8, "r20002", PERF_TYPE_RAW, 0x20002 },
	{ VPERFCTR_CPU_POWER8, "r0002", PERF_TYPE_RAW, 0x0002 },
	/* The SBI's numbers are perf's, from 1 on. */
	{ VPERFCTR_CPU_RISCV_SBI, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	{ VPERFCTR_CPU_RISCV_SBI, "0x4:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	{ VPERFCTR_CPU_RISCV_SBI, "r4:u", PERF_TYPE_RAW, 0x4 },
};

/*
 * A name that all processors have is perf's event of that name, which may be another one than the
 * code has.  A code, and a processor's own name, are that code.
 */
START_TEST(translates)
{
	struct vperfctr *v;

	forced_type = translated[_i].cpu_type;
	setenv("LIBPFM_FORCE_PMU", "snb", 1);
	v = open_ok(translated[_i].name);
	ck_assert_uint_eq(k.nr, 1);
	ck_assert_uint_eq(k.attr[0].type, translated[_i].type);
	ck_assert_uint_eq(k.attr[0].config, translated[_i].config);
	ck_assert_uint_eq(k.attr[0].config1, 0);
	vperfctr_close(v);
}
END_TEST

/* Lost time is an error and no count, at the start or later, and the error is not for ever. */
START_TEST(never_in_turns)
{
	struct vperfctr *v;
	uint64_t value = 7;

	k.lost = true;
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", 0, &why), -EBUSY);
	ck_assert_ptr_null(v);
	ck_assert_ptr_nonnull(strstr(why.text, "the counters"));
	setup();
	v = open_ok("instructions:u");
	advance(1);
	k.enabled++;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EBUSY);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value), -EBUSY);
	ck_assert_int_eq(vperfctr_reset(v), -EBUSY);
	k.enabled--;
	k.lost = true;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EBUSY);
	ck_assert_uint_eq(value, 7);
	k.lost = false;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_eq(value, 1000);
	vperfctr_close(v);
}
END_TEST

/*
 * A group that loses its counters between a resume and a suspend counts again after the next
 * resume, and the kernel says nothing of the time between.  A reset, which succeeds only while the
 * group counts, forgets the loss.
 */
START_TEST(lost_before_resume)
{
	uint64_t value = 7, soft = 7, sums[2];
	struct vperfctr_read read = { .nrctrs = 1, .sums = (uintptr_t)sums };
	struct vperfctr *v;

	k.user_reads = _i;
	v = open_ok("instructions:u");
	advance(1);
	k.lost = true;
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	k.lost = false;
	advance(1);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EBUSY);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &soft), -EBUSY);
	ck_assert_int_eq(vperfctr_read_state(v, &read), -EBUSY);
	k.lost = true;
	ck_assert_int_eq(vperfctr_reset(v), -EBUSY);
	k.lost = false;
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EBUSY);
	ck_assert_uint_eq(value, 7);
	ck_assert_int_eq(vperfctr_reset(v), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_eq(value, 0);
	advance(1);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_eq(value, 1000);
	ck_assert_int_eq(vperfctr_read_state(v, &read), 0);
	ck_assert_uint_eq(sums[1], 1000);
	/* It is lost again, and at the end. */
	k.lost = true;
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	k.lost = false;
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), -EBUSY);
	ck_assert_uint_eq(value, 1000);
	vperfctr_close(v);
}
END_TEST

static const struct {
	int err, result;
	const char *text;
} errors[] = {
	{ EACCES, -ENODEV, "kernel.perf_event_paranoid" },
	{ EPERM, -ENODEV, "kernel.perf_event_paranoid" },
	{ ENOENT, -ENODEV, "no PMU" },
	{ EOPNOTSUPP, -ENODEV, "no PMU" },
	{ ENODEV, -ENODEV, "no PMU" },
	{ ENOSYS, -ENODEV, "no PMU" },
	{ EINVAL, -ENOSPC, "not enough counters" },
	{ EBUSY, -EBUSY, "the counters" },
	{ EMFILE, -EMFILE, "Too many open files" },
};

#define NR_ERRORS	(sizeof(errors) / sizeof(errors[0]))

/* The first event is refused, or a later one. */
START_TEST(refused)
{
	struct vperfctr *v = (struct vperfctr *)1;

	for (k.fail_at = 0; k.fail_at < 2; k.fail_at++) {
		k.nr = 0;
		k.fail = errors[_i].err;
		ck_assert_int_eq(vperfctr_count(&v, "instructions:u,cycles:u", 0, &why),
				 errors[_i].result);
		ck_assert_ptr_null(v);
		ck_assert_msg(strstr(why.text, errors[_i].text), "%s", why.text);
		/* The first remedy is the module, unless perf_event was asked for. */
		ck_assert_int_eq(!!strstr(why.text, "modprobe"), errors[_i].result == -ENODEV);
		k.nr = 0;
		ck_assert_int_eq(vperfctr_count(&v, "instructions:u,cycles:u", VPERFCTR_COUNT_PERF,
						NULL), errors[_i].result);
		k.nr = 0;
		vperfctr_count(&v, "instructions:u,cycles:u", VPERFCTR_COUNT_PERF, &why);
		ck_assert_ptr_null(strstr(why.text, "modprobe"));
	}
}
END_TEST

START_TEST(flags)
{
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", VPERFCTR_COUNT_MODULE, &why), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why.text, "modprobe vperfctr"));
	ck_assert_uint_eq(k.nr, 0);
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", 3, &why), -EINVAL);
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", 4, &why), -EINVAL);
	ck_assert_ptr_null(v);
	ck_assert_int_eq(vperfctr_count(&v, "nonsense", 0, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "unknown event 'nonsense'"));
	ck_assert_int_eq(vperfctr_event_open(&v, "instructions:u", &why), 0);
	vperfctr_close(v);
}
END_TEST

/* Where the module may not be used, perf_event counts, and the reason is the module's. */
START_TEST(not_usable)
{
	static const struct {
		int err;
		const char *text;
	} devices[] = {
		{ ENOENT, "there is no /dev/vperfctr" },
		{ EACCES, "may open /dev/vperfctr" },
		{ EPERM, "container" },
	};
	struct vperfctr *v;

	k.device = devices[_i].err;
	v = open_ok("instructions:u");
	ck_assert_msg(strstr(why.text, devices[_i].text) != NULL, "%s", why.text);
	vperfctr_close(v);
	setup();
	k.device = devices[_i].err;
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", VPERFCTR_COUNT_PERF, &why), 0);
	ck_assert_str_eq(why.text, "");
	vperfctr_close(v);
	setup();
	k.device = devices[_i].err;
	ck_assert_int_ne(vperfctr_count(&v, "instructions:u", VPERFCTR_COUNT_MODULE, &why), 0);
	ck_assert_msg(strstr(why.text, devices[_i].text) != NULL, "%s", why.text);
	/* Both refuse, and both reasons are there. */
	k.fail = ENOENT;
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", 0, &why),
			 devices[_i].err == ENOENT ? -ENODEV : -devices[_i].err);
	ck_assert_ptr_null(v);
	ck_assert_msg(strstr(why.text, devices[_i].text) != NULL, "%s", why.text);
	ck_assert_msg(strstr(why.text, "no PMU") != NULL, "%s", why.text);
}
END_TEST

/* A name that nothing counts is that error, whether the module may be used or not. */
START_TEST(wrong_name)
{
	struct vperfctr *v;

	k.device = EACCES;
	ck_assert_int_eq(vperfctr_count(&v, "nonsense", 0, &why), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why.text, "unknown event 'nonsense'"));
}
END_TEST

static const struct {
	const char *value;
	int result;
	const char *text;
} variables[] = {
	{ "", 0, "there is no /dev/vperfctr" },
	{ "auto", 0, "there is no /dev/vperfctr" },
	{ "perf", 0, "" },
	{ "module", -ENODEV, "modprobe vperfctr" },
	{ "Perf", -EINVAL, "VPERFCTR_BACKEND is 'Perf', and may be auto, module or perf" },
};

/* The environment decides where the program does not. */
START_TEST(environment)
{
	struct vperfctr *v;

	setenv("VPERFCTR_BACKEND", variables[_i].value, 1);
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", 0, &why), variables[_i].result);
	ck_assert_msg(strstr(why.text, variables[_i].text) != NULL, "%s", why.text);
	ck_assert_msg(*variables[_i].text || !*why.text, "%s", why.text);
	vperfctr_close(v);
	setup();
	ck_assert_int_eq(vperfctr_count(&v, "instructions:u", VPERFCTR_COUNT_PERF, &why), 0);
	vperfctr_close(v);
	unsetenv("VPERFCTR_BACKEND");
}
END_TEST

/* Names without a mode count what the caller may. */
START_TEST(modes)
{
	struct vperfctr *v = open_ok("instructions");

	ck_assert_uint_eq(k.attr[0].exclude_kernel | k.attr[0].exclude_user, 0);
	vperfctr_close(v);
	setup();
	v = open_ok("instructions:k");
	ck_assert_uint_eq(k.attr[0].exclude_kernel, 0);
	ck_assert_uint_eq(k.attr[0].exclude_user, 1);
	vperfctr_close(v);
	setup();
	k.forbid_kernel = true;
	v = open_ok("instructions,task-clock");
	ck_assert_uint_eq(k.attr[0].exclude_kernel, 1);
	vperfctr_close(v);
	setup();
	k.forbid_kernel = true;
	ck_assert_int_eq(vperfctr_count(&v, "instructions:k", 0, &why), -EPERM);
	/* perf_event would count none of the switches, which are in the kernel. */
	ck_assert_int_eq(vperfctr_count(&v, "context-switches", 0, &why), -ENODEV);
}
END_TEST

START_TEST(changes)
{
	struct { struct vperfctr_read read; uint64_t newer; } larger = { .newer = 0 };
	struct vperfctr_soft soft = { 0 };
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS };
	struct vperfctr *v = open_ok("instructions:u");
	struct vperfctr_control control;
	struct vperfctr_info info;
	uint64_t value;

	advance(1);
	ck_assert_int_eq(vperfctr_reset(v), 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_eq(value, 0);
	ck_assert_int_eq(vperfctr_read_tsc(v, &value), 0);
	ck_assert_uint_eq(value, 0);
	advance(2);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_uint_eq(value, 2000);

	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_uint_eq(k.disables, 1);
	ck_assert_int_eq(vperfctr_read_state(v, &read), 0);
	ck_assert_uint_eq(read.status, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE |
			  VPERFCTR_STATUS_SUSPENDED);
	ck_assert_uint_eq(read.nrctrs, 1);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	ck_assert_uint_eq(k.enables, 2);
	/* A reset ends a pause. */
	vperfctr_suspend(v);
	ck_assert_int_eq(vperfctr_reset(v), 0);
	ck_assert_uint_eq(k.enables, 3);

	/* perf_event cannot do these. */
	vperfctr_control_init(&control, NULL);
	ck_assert_int_eq(vperfctr_control(v, &control), -ENOTTY);
	ck_assert_int_eq(vperfctr_iresume(v), -ENOTTY);
	ck_assert_int_eq(vperfctr_ring_map(v, 8192), -ENOTTY);
	ck_assert_int_eq(vperfctr_info_of(&info, v, 0), -ENOTTY);
	read.control = (uintptr_t)&control;
	ck_assert_int_eq(vperfctr_read_state(v, &read), -EOPNOTSUPP);
	read.control = 0;
	read.nrctrs = 0;
	ck_assert_int_eq(vperfctr_read_state(v, &read), -EOVERFLOW);
	ck_assert_uint_eq(read.nrctrs, 1);
	read.flags = 0x80;
	ck_assert_int_eq(vperfctr_read_state(v, &read), -EINVAL);
	read.flags = VPERFCTR_READ_OWNER;
	/* As the kernel has it: the size must be one, and what is not known must be zero. */
	larger.read = read;
	larger.read.nrctrs = 1;
	ck_assert_int_eq(vperfctr_read_state_sized(v, &larger.read, sizeof(larger)), 0);
	larger.newer = 1;
	ck_assert_int_eq(vperfctr_read_state_sized(v, &larger.read, sizeof(larger)), -E2BIG);
	ck_assert_int_eq(vperfctr_read_state_sized(v, &read, sizeof(read) - 1), -EINVAL);
	soft.size = sizeof(soft) - 1;
	read.nrctrs = 1;
	read.soft = (uintptr_t)&soft;
	ck_assert_int_eq(vperfctr_read_state(v, &read), -EINVAL);
	read.soft = 0;

	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), -EINVAL);
	ck_assert_int_eq(vperfctr_reset(v), -EINVAL);
	ck_assert_int_eq(vperfctr_read_state(v, &read), 0);
	ck_assert_uint_eq(read.status, VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_OWNER);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_int_eq(vperfctr_suspend(v), -ESRCH);
	ck_assert_int_eq(vperfctr_reset(v), -ESRCH);
	ck_assert_int_eq(vperfctr_read_state(v, &read), 0);
	ck_assert_uint_eq(read.status, 0);
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	vperfctr_close(v);
}
END_TEST

static void check_read(struct vperfctr *v, int result, uint64_t ticks, uint64_t count)
{
	uint64_t sums[2];
	struct vperfctr_read read = { .nrctrs = 1, .sums = (uintptr_t)sums };

	ck_assert_int_eq(vperfctr_read_state(v, &read), result);
	if (result)
		return;
	ck_assert_uint_eq(sums[0], ticks);
	ck_assert_uint_eq(sums[1], count);
}

/* The counts of several threads are added, and all of them must have counted all the time. */
START_TEST(threads)
{
	static const pid_t tids[] = { 70, 71, 72 };
	static const int any = -1;
	const struct vperfctr_perf_place place = { .tid = tids, .cpu = &any, .nrtids = 3, .nrcpus = 1 };
	struct vperfctr *v;
	unsigned int i;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions:u,cycles:u", &place,
					       VPERFCTR_PERF_NS, &why), 0);
	ck_assert_uint_eq(k.nr, 6);
	for (i = 0; i < 6; i++) {
		ck_assert_int_eq(k.tids[i], tids[i / 2]);
		ck_assert_int_eq(k.cpu[i], -1);
		ck_assert_int_eq(k.group[i], i & 1 ? k.fd[i - 1] : -1);
	}
	ck_assert_uint_eq(k.enables, 3);
	k.enabled = k.running = 100;
	k.value[0] = 5;
	k.value[2] = 70;
	k.value[4] = 900;
	k.value[5] = 1;
	{
		uint64_t sums[3];
		struct vperfctr_read read = { .nrctrs = 2, .sums = (uintptr_t)sums };

		ck_assert_int_eq(vperfctr_read_state(v, &read), 0);
		ck_assert_uint_eq(sums[0], 300);
		ck_assert_uint_eq(sums[1], 975);
		ck_assert_uint_eq(sums[2], 1);
		k.ran[2] = (uint64_t)-1;
		ck_assert_int_eq(vperfctr_read_state(v, &read), -EBUSY);
		k.ran[2] = 0;
	}
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	ck_assert_uint_eq(k.disables, 3);
	vperfctr_close(v);
	/* If the last one is refused, none remains. */
	k.nr = 0;
	k.fail_at = 5;
	k.fail = ESRCH;
	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions:u,cycles:u", &place,
					       VPERFCTR_PERF_RAW, &why), -ESRCH);
	ck_assert_ptr_null(v);
}
END_TEST

/*
 * On each CPU, a thread's group is enabled all the time, and counts where the thread runs.  Its
 * clock says how long it has run.
 */
START_TEST(thread_on_cpus)
{
	static const pid_t tids[] = { 70, 71 };
	static const int cpus[] = { 0, 3 };
	static const uint64_t period[] = { 1000 };
	const struct perf_event_attr sample = {
		.size = sizeof(sample), .sample_type = PERF_SAMPLE_IP, .mmap = 1, .comm = 1,
	};
	const struct vperfctr_perf_place place = {
		.tid = tids, .cpu = cpus, .nrtids = 2, .nrcpus = 2, .period = period, .sample = &sample,
	};
	struct vperfctr_perf_groups groups;
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions:u", &place,
					       VPERFCTR_PERF_NS | VPERFCTR_PERF_INHERIT, &why),
			 0);
	/* Each thread has two groups and a clock. */
	ck_assert_uint_eq(k.nr, 6);
	ck_assert_int_eq(k.cpu[0], 0);
	ck_assert_int_eq(k.cpu[1], 3);
	ck_assert_int_eq(k.cpu[2], -1);
	ck_assert_int_eq(k.tids[2], 70);
	ck_assert_int_eq(k.tids[3], 71);
	ck_assert_uint_eq(k.attr[0].sample_period, 1000);
	ck_assert_uint_eq(k.attr[0].sample_type, PERF_SAMPLE_IP);
	ck_assert_uint_eq(k.attr[0].mmap & k.attr[0].comm, 1);
	ck_assert_uint_eq(k.attr[2].config, PERF_COUNT_SW_TASK_CLOCK);
	ck_assert_uint_eq(k.attr[2].sample_type, 0);
	ck_assert_int_eq(vperfctr_perf_descriptors(v, &groups), 0);
	ck_assert_uint_eq(groups.nrgroups, 4);
	ck_assert_uint_eq(groups.nrcpus, 2);
	ck_assert_uint_eq(groups.nrevents, 1);
	ck_assert_int_eq(groups.fd[2], k.fd[3]);
	/* The first thread has run on both CPUs, the second one on CPU 3. */
	k.enabled = 100;
	k.ran[0] = 30;
	k.ran[1] = 12;
	k.ran[2] = 42;
	k.ran[4] = 8;
	k.ran[5] = 8;
	k.value[0] = 3;
	k.value[1] = 4;
	k.value[4] = 5;
	k.value[2] = k.value[5] = 1000000;
	check_read(v, 0, 50, 12);
	/* The first thread has run where its group did not count. */
	k.ran[2] += 200000;
	check_read(v, -EBUSY, 0, 0);
	/* The clock may be a little ahead. */
	k.ran[2] -= 199000;
	check_read(v, 0, 1050, 12);
	/* One that has had no counter at all has not counted 0, however short it ran. */
	k.ran[4] = 0;
	check_read(v, -EBUSY, 0, 0);
	k.ran[5] = 0;
	check_read(v, 0, 1042, 12);
	vperfctr_close(v);
}
END_TEST

/* Places, flags and samples that are refused before an event is made. */
START_TEST(bad_places)
{
	static const pid_t several[] = { -1, 70 }, one = 70, all = -1;
	static const int cpus[] = { 0, -1 }, any = -1;
	static const uint64_t period[] = { 1000 };
	const struct perf_event_attr no_size = { .sample_type = PERF_SAMPLE_IP };
	const struct perf_event_attr sample = { .size = sizeof(sample) };
	const struct {
		struct vperfctr_perf_place place;
		const char *names;
		unsigned int flags;
	} bad[] = {
		{ { several, cpus, 2, 1, NULL, NULL }, "cycles:u", 0 },
		{ { &one, cpus, 1, 2, NULL, NULL }, "cycles:u", 0 },
		{ { &all, &any, 1, 1, NULL, NULL }, "cycles:u", 0 },
		{ { &one, &any, 0, 1, NULL, NULL }, "cycles:u", 0 },
		{ { &one, &any, 1, 0, NULL, NULL }, "cycles:u", 0 },
		{ { &one, &any, 1, 1, NULL, NULL }, "cycles:u", 0x1000 },
		{ { &one, &any, 1, 1, NULL, NULL }, "cycles:u", VPERFCTR_PERF_EXEC | VPERFCTR_PERF_STOPPED },
		{ { &one, &any, 1, 1, period, NULL }, "cycles:u", 0 },
		{ { &one, &any, 1, 1, period, &no_size }, "cycles:u", 0 },
		{ { &one, &any, 1, 1, period, &sample }, "page-faults", 0 },
	};
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, bad[_i].names, &bad[_i].place, bad[_i].flags, &why),
			 -EINVAL);
	ck_assert_uint_eq(k.nr, 0);
}
END_TEST

/* A kernel of today has fields of samples that the library may not know. */
START_TEST(newer_samples)
{
	struct {
		struct perf_event_attr attr;
		uint64_t newer;
	} sample = { .attr = { .size = sizeof(sample) } };
	static const pid_t one = 70;
	static const uint64_t period[] = { 1000 };
	static const int any = -1;
	const struct vperfctr_perf_place place = { &one, &any, 1, 1, period, &sample.attr };
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "cycles:u", &place, 0, &why), 0);
	vperfctr_close(v);
	sample.newer = 1;
	ck_assert_int_eq(vperfctr_perf_open_at(&v, "cycles:u", &place, 0, &why), -E2BIG);
	ck_assert_ptr_null(v);
	sample.attr.size = 1 << 20;
	ck_assert_int_eq(vperfctr_perf_open_at(&v, "cycles:u", &place, 0, &why), -EINVAL);
}
END_TEST

START_TEST(cpus)
{
	static const pid_t none = -1;
	static const int cpu[] = { 1, 2, 4 };
	const struct vperfctr_perf_place place = { .tid = &none, .cpu = cpu, .nrtids = 1, .nrcpus = 3 };
	struct vperfctr_cpu read_cpus[3];
	uint64_t sums[3 * 3];
	struct vperfctr_read_cpus read = {
		.nrcpus = 2, .nrctrs = 2, .cpus = (uintptr_t)read_cpus, .sums = (uintptr_t)sums,
	};
	struct {
		struct vperfctr_read_cpus read;
		uint64_t newer;
	} larger = { .newer = 0 };
	struct vperfctr *v;
	unsigned int i;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions,cycles", &place,
					       VPERFCTR_PERF_NS | VPERFCTR_PERF_STOPPED, &why),
			 0);
	ck_assert_uint_eq(k.nr, 6);
	ck_assert_uint_eq(k.enables, 0);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	ck_assert_uint_eq(k.enables, 3);
	read.status = 77;
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), -EOVERFLOW);
	ck_assert_uint_eq(read.nrcpus, 3);
	/* Nothing else is written. */
	ck_assert_uint_eq(read.status, 77);
	k.enabled = k.running = 9;
	for (i = 0; i < 6; i++)
		k.value[i] = 10 + i;
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), 0);
	ck_assert_uint_eq(read.status, VPERFCTR_STATUS_ACTIVE);
	for (i = 0; i < 3; i++) {
		ck_assert_uint_eq(read_cpus[i].cpu, (unsigned int)cpu[i]);
		ck_assert_uint_eq(read_cpus[i].status, VPERFCTR_CPU_STATUS_COUNTS);
		ck_assert_uint_eq(sums[3 * i], 9);
		ck_assert_uint_eq(sums[3 * i + 1], 10 + 2 * i);
		ck_assert_uint_eq(sums[3 * i + 2], 11 + 2 * i);
	}
	k.ran[4] = (uint64_t)-1;
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), -EBUSY);
	k.ran[4] = 0;
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_uint_eq(k.disables, 3);
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), 0);
	ck_assert_uint_eq(read.status, VPERFCTR_STATUS_ACTIVE | VPERFCTR_STATUS_SUSPENDED);
	ck_assert_uint_eq(read_cpus[2].status, 0);
	/* A field that is not known must be zero. */
	larger.read = read;
	ck_assert_int_eq(vperfctr_read_cpus_sized(v, &larger.read, sizeof(larger)), 0);
	larger.newer = 1;
	ck_assert_int_eq(vperfctr_read_cpus_sized(v, &larger.read, sizeof(larger)), -E2BIG);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), 0);
	ck_assert_uint_eq(read.status & VPERFCTR_STATUS_ACTIVE, 0);
	vperfctr_close(v);
	/* Threads are no CPUs. */
	k.nr = 0;
	v = open_ok("instructions:u");
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), -ENOTTY);
	vperfctr_close(v);
}
END_TEST

/* A CPU that goes offline stops the events that it had.  Their counts are none of it. */
START_TEST(offline_cpu)
{
	static const char *const names[] = { "instructions,cycles", "instructions", "task-clock" };
	static const pid_t none = -1;
	static const int cpu[] = { 1, 2 };
	const struct vperfctr_perf_place place = { .tid = &none, .cpu = cpu, .nrtids = 1, .nrcpus = 2 };
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	uint64_t sums[2 * 3];
	struct vperfctr_read_cpus read = { .nrcpus = 2, .nrctrs = 2, .sums = (uintptr_t)sums };
	struct vperfctr_read state = { .nrctrs = 2 };
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, names[_i], &place, VPERFCTR_PERF_NS, &why), 0);
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), 0);
	k.offline = 2;
	read.nrctrs = 2;
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), -EIO);
	ck_assert_int_eq(vperfctr_read_state(v, &state), -EIO);
	ck_assert_int_eq(vperfctr_perf_cpu_soft(v, 0, &soft), 0);
	ck_assert_int_eq(vperfctr_perf_cpu_soft(v, 1, &soft), -EIO);
	vperfctr_close(v);
}
END_TEST

/* A CPU that does not exist, or is offline from the start, is no event that does not exist. */
START_TEST(no_such_cpu)
{
	static const char *const names[] = { "instructions", "page-faults", "instructions,cycles" };
	static const int errors_of_cpu[] = { EINVAL, ENODEV };
	static const int cpu[] = { 1, 999 };
	const pid_t tid = _i & 1 ? -1 : 70;
	const struct vperfctr_perf_place place = { .tid = &tid, .cpu = cpu, .nrtids = 1, .nrcpus = 2 };
	struct vperfctr *v = (struct vperfctr *)1;
	size_t i;

	k.missing = 999;
	k.fail_missing = errors_of_cpu[_i / 2];
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		k.nr = 0;
		ck_assert_int_eq(vperfctr_perf_open_at(&v, names[i], &place, 0, &why), -ENXIO);
		ck_assert_ptr_null(v);
		ck_assert_str_eq(why.text, "there is no CPU 999, or it is offline: /sys/devices/system/cpu/online has those that there are");
		k.nr = 0;
		ck_assert_int_eq(vperfctr_perf_open_at(&v, names[i], &place, 0, NULL), -ENXIO);
		k.nr = 0;
		ck_assert_int_eq(vperfctr_perf_open_at(&v, names[i], &place, VPERFCTR_PERF_RAW, &why),
				 -k.fail_missing);
	}
	/* The CPUs are there, and the events are not. */
	k.missing = 0;
	k.nr = 0;
	k.fail_at = 0;
	k.fail = EINVAL;
	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions", &place, 0, &why), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(why.text, "not enough counters"));
	k.nr = 0;
	k.fail = ENOENT;
	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions", &place, 0, &why), -ENODEV);
}
END_TEST

/* Each CPU's counts are those since the last reset that succeeded, as the sums of all are. */
START_TEST(reset_of_cpus)
{
	static const pid_t none = -1;
	static const int cpu[] = { 1, 2 };
	const struct vperfctr_perf_place place = { .tid = &none, .cpu = cpu, .nrtids = 1, .nrcpus = 2 };
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	uint64_t sums[2 * 2], all[2];
	struct vperfctr_read_cpus read = { .nrcpus = 2, .nrctrs = 1, .sums = (uintptr_t)sums };
	struct vperfctr_read state = { .nrctrs = 1, .sums = (uintptr_t)all };
	unsigned int i, round;
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions,context-switches", &place,
					       VPERFCTR_PERF_NS, &why),
			 0);
	for (round = 1; round < 4; round++) {
		k.enabled = k.running += 10 * round;
		for (i = 0; i < 4; i++)
			k.value[i] += 100 * i + round;
		k.lost = true;
		ck_assert_int_eq(vperfctr_reset(v), -EBUSY);
		k.lost = false;
		ck_assert_int_eq(vperfctr_read_cpus(v, &read), 0);
		ck_assert_int_eq(vperfctr_read_state(v, &state), 0);
		ck_assert_uint_eq(all[0], 20 * round);
		ck_assert_uint_eq(all[1], 200 + 2 * round);
		for (i = 0; i < 2; i++) {
			ck_assert_uint_eq(sums[2 * i], 10 * round);
			ck_assert_uint_eq(sums[2 * i + 1], 200 * i + round);
			ck_assert_int_eq(vperfctr_perf_cpu_soft(v, i, &soft), 0);
			ck_assert_uint_eq(soft.count[1].own, 200 * i + 100 + round);
		}
		ck_assert_int_eq(vperfctr_reset(v), 0);
	}
	vperfctr_close(v);
}
END_TEST

static struct vperfctr *in_handler;

/* Two signals come, whose handlers reset. */
static void reset_twice(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		advance(2);
		if (vperfctr_reset(in_handler))
			abort();
	}
}

static void reset_once(void)
{
	advance(2);
	if (vperfctr_reset(in_handler))
		abort();
}

/* A read that signal handlers interrupt to reset has the counts since a reset, and none below 0. */
START_TEST(reset_in_handler)
{
	static void (*const resets[])(void) = { reset_once, reset_twice };
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	uint64_t tsc, pmc[2], sums[3], count;
	struct vperfctr_read state = {
		.nrctrs = 2, .sums = (uintptr_t)sums, .soft = (uintptr_t)&soft,
	};
	struct vperfctr *v;
	unsigned int i;

	k.user_reads = true;
	in_handler = v = open_ok("instructions:u,cycles:u,task-clock");
	for (i = 0; i < 2; i++) {
		/* By the kernel. */
		ck_assert_int_eq(vperfctr_reset(v), 0);
		advance(1);
		k.after_read = resets[i];
		ck_assert_int_eq(vperfctr_read(v, &tsc, pmc, 2), 0);
		ck_assert_uint_eq(pmc[0], 1000);
		ck_assert_uint_eq(pmc[1], 2000);
		ck_assert_int_eq(vperfctr_reset(v), 0);
		advance(1);
		k.after_read = resets[i];
		ck_assert_int_eq(vperfctr_read_state(v, &state), 0);
		ck_assert_uint_eq(sums[1], 1000);
		ck_assert_uint_eq(sums[2], 2000);
		ck_assert_uint_eq(soft.count[0].own, 3000);
		ck_assert_int_eq(vperfctr_reset(v), 0);
		advance(1);
		k.after_read = resets[i];
		ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &count), 0);
		ck_assert_uint_eq(count, 3000);
		/* By the page of one counter, and of all. */
		ck_assert_int_eq(vperfctr_reset(v), 0);
		advance(1);
		k.after_rdpmc = resets[i];
		ck_assert_int_eq(vperfctr_read_pmc(v, 1, pmc), 0);
		ck_assert_uint_eq(pmc[0], 2000);
		ck_assert_int_eq(vperfctr_reset(v), 0);
		advance(1);
		k.after_rdpmc = resets[i];
		ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), 0);
		ck_assert_uint_eq(pmc[0], 1000);
		/* The second is read after the handler, and has what that has counted. */
		ck_assert_uint_eq(pmc[1], 2000 + 4000 * (i + 1));
		ck_assert_ptr_null(k.after_rdpmc);
	}
	vperfctr_close(v);
}
END_TEST

/* The same of CPUs. */
START_TEST(reset_of_cpus_in_handler)
{
	static const pid_t none = -1;
	static const int cpu[] = { 1, 2 };
	const struct vperfctr_perf_place place = { .tid = &none, .cpu = cpu, .nrtids = 1, .nrcpus = 2 };
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	uint64_t sums[2 * 2];
	struct vperfctr_read_cpus read = { .nrcpus = 2, .nrctrs = 1, .sums = (uintptr_t)sums };
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions,context-switches", &place,
					       VPERFCTR_PERF_NS, &why),
			 0);
	in_handler = v;
	advance(1);
	k.after_read = reset_twice;
	ck_assert_int_eq(vperfctr_read_cpus(v, &read), 0);
	ck_assert_uint_eq(sums[1], 1000);
	/* Since the second reset. */
	ck_assert_uint_eq(sums[3], 0);
	advance(1);
	k.after_read = reset_twice;
	ck_assert_int_eq(vperfctr_perf_cpu_soft(v, 1, &soft), 0);
	ck_assert_uint_eq(soft.count[1].own, 4000);
	vperfctr_close(v);
}
END_TEST

/* A region works by system calls, too. */
START_TEST(region)
{
	struct vperfctr *v = open_ok("instructions:u");
	struct vperfctr_region r;

	ck_assert_int_eq(vperfctr_region_init(&r, v, 1), 0);
	vperfctr_region_begin(&r);
	advance(3);
	ck_assert_int_eq(vperfctr_region_end(&r), 0);
	ck_assert_uint_eq(vperfctr_region_pmc(&r, 0), 3000);
	vperfctr_close(v);
}
END_TEST

static void *read_as_foreign(void *arg)
{
	struct vperfctr *v = arg;
	uint64_t value;

	return (void *)(intptr_t)(vperfctr_read_pmc(v, 0, &value) != -EPERM ||
				  vperfctr_suspend(v) != -EPERM || vperfctr_reset(v) != -EPERM);
}

static void *count_and_end(void *arg)
{
	struct vperfctr **v = arg;

	return (void *)(intptr_t)vperfctr_count(v, "instructions:u", 0, NULL);
}

static void *read_soft_as_foreign(void *arg)
{
	struct vperfctr *v = arg;
	uint64_t value;

	if (vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value) != -EPERM)
		return v;
	return vperfctr_read(v, NULL, NULL, 0) != -EPERM ? v : NULL;
}

/* Call a function in another thread and in a child, which finds that each call is refused. */
static void refuse_foreign(void *(*func)(void *), struct vperfctr *v)
{
	pthread_t thread;
	void *result;
	int status;
	pid_t pid;

	pthread_create(&thread, NULL, func, v);
	pthread_join(thread, &result);
	ck_assert_ptr_null(result);
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(func(v) ? 1 : 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

/* The handle belongs to its thread until that ends, and not to a child of a fork. */
START_TEST(owner)
{
	struct vperfctr *v = open_ok("instructions:u"), *ended;
	pthread_t thread;
	uint64_t value;
	void *result;

	refuse_foreign(read_as_foreign, v);
	vperfctr_close(v);

	/* The same with software events only, of which no counter is read. */
	setup();
	v = open_ok("task-clock");
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value), 0);
	refuse_foreign(read_soft_as_foreign, v);
	vperfctr_close(v);

	setup();
	pthread_create(&thread, NULL, count_and_end, &ended);
	pthread_join(thread, &result);
	ck_assert_ptr_null(result);
	advance(1);
	ck_assert_int_eq(vperfctr_read_pmc(ended, 0, &value), 0);
	ck_assert_uint_eq(value, 1000);
	ck_assert_int_eq(vperfctr_suspend(ended), -ESRCH);
	vperfctr_close(ended);
}
END_TEST

/*
 * A handle that was made when there was no memory for the process's word works when there is some
 * again, but not in a child.  Each test is a process, which has had no word before.
 */
START_TEST(owner_without_word)
{
	struct vperfctr *v;
	uint64_t value;

	k.refuse_anonymous = true;
	v = open_ok("instructions:u,task-clock");
	k.refuse_anonymous = false;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, &value), 0);
	ck_assert_int_eq(vperfctr_suspend(v), 0);
	ck_assert_int_eq(vperfctr_resume(v), 0);
	refuse_foreign(read_as_foreign, v);
	refuse_foreign(read_soft_as_foreign, v);
	vperfctr_close(v);
}
END_TEST

#define NO_NAMESPACE	77

/* Return the exit status of a child. */
static int wait_for(pid_t pid)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

/*
 * Call a function in the first process of a new PID namespace, which is a child.  Return what it
 * returns, or NO_NAMESPACE.
 */
static int call_in_namespace(int (*func)(struct vperfctr *v), struct vperfctr *v)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		/* The next child is in the namespace.  In one of users, the first call succeeds. */
		if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
			_exit(NO_NAMESPACE);
		pid = fork();
		if (!pid)
			_exit(getpid() == 1 ? func(v) : 2);
		_exit(wait_for(pid));
	}
	return wait_for(pid);
}

/* Return 0 if each call is refused. */
static int is_refused(struct vperfctr *v)
{
	uint64_t value[2];

	return vperfctr_read(v, NULL, value, 1) != -EPERM || read_as_foreign(v) ||
	       read_soft_as_foreign(v) || vperfctr_resume(v) != -EPERM;
}

/* The same by a handle of the caller, whose child has the same process ID. */
static int is_refused_below(struct vperfctr *unused)
{
	struct vperfctr *v;
	int result;

	(void)unused;
	if (vperfctr_count(&v, "instructions:u,task-clock", 0, NULL))
		return 4;
	result = call_in_namespace(is_refused, v);
	/* The owner still counts. */
	return result ? result : vperfctr_reset(v) ? 5 : 0;
}

/* A child in another PID namespace does not see its parent's threads, or sees other ones. */
START_TEST(namespaces)
{
	struct vperfctr *v = open_ok("instructions:u,task-clock");
	const int above = call_in_namespace(is_refused, v), below = call_in_namespace(is_refused_below, v);

	if (above == NO_NAMESPACE) {
		fputs("test_perf: namespaces are not permitted\n", stderr);
	} else {
		ck_assert_int_eq(above, 0);
		ck_assert_int_eq(below, 0);
	}
	vperfctr_close(v);
}
END_TEST

static void move_counter(void)
{
	k.page[0]->lock++;
	k.page[0]->offset = 70000;
}

static void spoil_page(void)
{
	k.page[0]->lock++;
	k.page[0]->offset -= COUNTER_MASK + 1;
}

/* Where perf_event lets user mode read its counters, a read is no system call. */
START_TEST(user_reads)
{
	struct vperfctr *v;
	uint64_t pmc[2];
	unsigned int reads;

	k.user_reads = true;
	v = open_ok("instructions:u,cycles:u,task-clock");
	advance(3);
	reads = k.reads;
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), 0);
	ck_assert_uint_eq(pmc[0], 3000);
	ck_assert_uint_eq(pmc[1], 6000);
	/* The kernel has moved the event to another counter meanwhile. */
	k.in_rdpmc = move_counter;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, pmc), 0);
	ck_assert_uint_eq(pmc[0], 3000);
	ck_assert_ptr_null(k.in_rdpmc);
	ck_assert_uint_eq(k.reads, reads);
	/* From a reset on. */
	ck_assert_int_eq(vperfctr_reset(v), 0);
	advance(2);
	reads = k.reads;
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), 0);
	ck_assert_uint_eq(pmc[0], 2000);
	ck_assert_uint_eq(pmc[1], 4000);
	ck_assert_int_eq(vperfctr_read_pmc(v, 2, pmc), -EINVAL);
	ck_assert_uint_eq(k.reads, reads);

	/* Other threads and children may not. */
	refuse_foreign(read_as_foreign, v);

	/* The kernel reads: an event stands still, or has lost time, or may not be read any more. */
	reads = k.reads;
	k.page[1]->index = 0;
	pmc[0] = 7;
	k.lost = true;
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), -EBUSY);
	ck_assert_uint_eq(pmc[0], 7);
	k.lost = false;
	ck_assert_int_eq(vperfctr_read(v, NULL, pmc, 2), 0);
	ck_assert_uint_eq(pmc[1], 4000);
	ck_assert_uint_eq(k.reads, reads + 2);
	k.page[1]->index = 2;
	k.page[0]->time_enabled++;
	ck_assert_int_eq(vperfctr_read_pmc(v, 1, pmc), 0);
	ck_assert_uint_eq(k.reads, reads + 3);
	k.page[0]->time_enabled--;
	k.page[0]->cap_user_rdpmc = 0;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, pmc), 0);
	ck_assert_uint_eq(pmc[0], 2000);
	ck_assert_uint_eq(k.reads, reads + 4);
	/* As Linux writes the page if it is mapped after a read of the counter. */
	k.page[0]->cap_user_rdpmc = 1;
	k.in_rdpmc = spoil_page;
	ck_assert_int_eq(vperfctr_read_pmc(v, 0, pmc), 0);
	ck_assert_uint_eq(pmc[0], 2000);
	ck_assert_uint_eq(k.reads, reads + 5);
	vperfctr_close(v);
}
END_TEST

/* As perfex counts a command: perf_event starts at the exec, and inherits without pinning. */
START_TEST(command)
{
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_open(&v, "instructions:u,cycles:u", 4711,
					       VPERFCTR_PERF_EXEC | VPERFCTR_PERF_INHERIT, &why), 0);
	ck_assert_int_eq(k.tid, 4711);
	ck_assert_uint_eq(k.attr[0].disabled & k.attr[0].enable_on_exec & k.attr[0].inherit, 1);
	ck_assert_uint_eq(k.attr[1].disabled | k.attr[1].enable_on_exec, 0);
	ck_assert_uint_eq(k.attr[1].inherit, 1);
	ck_assert_uint_eq(k.attr[0].pinned | k.attr[1].pinned, 0);
	ck_assert_uint_eq(k.enables, 0);
	vperfctr_close(v);
}
END_TEST

/* A program that was compiled with a smaller structure gets what it knows. */
START_TEST(sizes)
{
	struct vperfctr_info info, small;
	const size_t size = offsetof(struct vperfctr_info, cpu_name) + sizeof(info.cpu_name);
	struct { struct vperfctr_perf_groups groups; uint64_t newer; } later;
	struct { struct vperfctr_perf_place place; uint64_t newer; } at;
	struct vperfctr_soft soft = { .size = 8 };
	static const pid_t none = -1;
	static const int cpu = 1;
	const struct vperfctr_perf_place place = {
		.tid = &none, .cpu = &cpu, .nrtids = 1, .nrcpus = 1,
	};
	struct vperfctr *v;

	ck_assert_int_eq(vperfctr_perf_info(&info), 0);
	ck_assert_uint_eq(info.size, sizeof(info));
	memset(&small, 0x5a, sizeof(small));
	ck_assert_int_eq(vperfctr_perf_info_sized(&small, size), 0);
	ck_assert_uint_eq(small.size, size);
	ck_assert_str_eq(small.cpu_name, "perf_event");
	if (size < sizeof(small))
		ck_assert_int_eq(((const char *)&small)[size], 0x5a);
	ck_assert_int_eq(vperfctr_perf_info_sized(&small, size - 1), -EINVAL);

	ck_assert_int_eq(vperfctr_perf_open_at(&v, "instructions", &place, VPERFCTR_PERF_STOPPED,
					       &why), 0);
	ck_assert_int_eq(vperfctr_perf_cpu_soft(v, 0, &soft), -EINVAL);
	soft.size = sizeof(soft);
	ck_assert_int_eq(vperfctr_perf_cpu_soft(v, 1, &soft), -EINVAL);
	memset(&later, 0x5a, sizeof(later));
	ck_assert_int_eq(vperfctr_perf_descriptors_sized(v, &later.groups, sizeof(later)), 0);
	ck_assert_uint_eq(later.groups.nrevents, 2);
	ck_assert_uint_eq(later.newer, 0);
	ck_assert_int_eq(vperfctr_perf_descriptors_sized(v, &later.groups, 8), -EINVAL);
	vperfctr_close(v);
	k.nr = 0;

	at.place = place;
	at.newer = 1;
	ck_assert_int_eq(vperfctr_perf_open_at_sized(&v, "instructions", &at.place, sizeof(at), 0,
						     &why), -E2BIG);
	ck_assert_int_eq(vperfctr_perf_open_at_sized(&v, "instructions", &at.place, 8, 0, &why),
			 -EINVAL);
	ck_assert_uint_eq(k.nr, 0);
	at.newer = 0;
	ck_assert_int_eq(vperfctr_perf_open_at_sized(&v, "instructions", &at.place, sizeof(at), 0,
						     &why), 0);
	vperfctr_close(v);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lib-perf");
	TCase *t = tcase_create("perf");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, group);
	tcase_add_loop_test(t, translates, 0, sizeof(translated) / sizeof(translated[0]));
	tcase_add_test(t, never_in_turns);
	tcase_add_loop_test(t, lost_before_resume, 0, 2);
	tcase_add_loop_test(t, refused, 0, NR_ERRORS);
	tcase_add_test(t, flags);
	tcase_add_loop_test(t, not_usable, 0, 3);
	tcase_add_test(t, wrong_name);
	tcase_add_loop_test(t, environment, 0, sizeof(variables) / sizeof(variables[0]));
	tcase_add_test(t, modes);
	tcase_add_test(t, changes);
	tcase_add_test(t, region);
	tcase_add_test(t, threads);
	tcase_add_test(t, thread_on_cpus);
	tcase_add_test(t, cpus);
	tcase_add_test(t, reset_of_cpus);
	tcase_add_test(t, reset_in_handler);
	tcase_add_test(t, reset_of_cpus_in_handler);
	tcase_add_loop_test(t, offline_cpu, 0, 3);
	tcase_add_loop_test(t, no_such_cpu, 0, 4);
	tcase_add_loop_test(t, bad_places, 0, 10);
	tcase_add_test(t, newer_samples);
	tcase_add_test(t, owner);
	tcase_add_test(t, owner_without_word);
	tcase_add_test(t, namespaces);
	tcase_add_test(t, user_reads);
	tcase_add_test(t, command);
	tcase_add_test(t, sizes);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
