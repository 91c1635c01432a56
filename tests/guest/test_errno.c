// SPDX-License-Identifier: GPL-2.0
/*
 * The errors of all calls but CONTROL (test_control.c) and but those that need
 * another user of the counters (test_reservation.c).
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpus.h"
#include "suite.h"

/* The end of accessible memory: nothing can be accessed from here on. */
static char *edge;
#define NOWHERE	((void *)8)

/* A readable page that cannot be written. */
static char *readonly;

static void setup(void)
{
	char *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	/* Not unmapped: another mapping could take the place. */
	ck_assert_int_eq(mprotect(p + PAGE, PAGE, PROT_NONE), 0);
	edge = p + PAGE;
	readonly = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(readonly, MAP_FAILED);
	*(u32 *)readonly = sizeof(struct vperfctr_cpu_mask);
	ck_assert_int_eq(mprotect(readonly, PAGE, PROT_READ), 0);
}

/* ---- INFO ---------------------------------------------------------------- */

/* A busy machine's kernel may have failed to measure the TSC; only this log line says so. */
static bool is_tsc_known(void)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");
	bool known = true;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		known &= strncmp(line, "cpu MHz", 7) || atof(strchr(line, ':') + 1) > 0;
	fclose(f);
	return known;
}

START_TEST(info_matches_processor)
{
	u32 features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
		       VPERFCTR_FEATURE_ISOLATE | VPERFCTR_FEATURE_KERNEL |
		       VPERFCTR_FEATURE_ANY_KIND | VPERFCTR_FEATURE_PCINT |
		       VPERFCTR_FEATURE_INHERIT | VPERFCTR_FEATURE_INHERIT_IMODE |
		       VPERFCTR_FEATURE_RECORDS | VPERFCTR_FEATURE_CLOCK |
		       VPERFCTR_FEATURE_SPREAD |
		       (CPUS_STAY_HIDDEN ? VPERFCTR_FEATURE_CPUS : 0);

	ck_assert_uint_eq(info.size, sizeof(info));
	ck_assert_uint_eq(info.abi_version, VPERFCTR_ABI_VERSION);
	ck_assert(is_cpu_type(info.cpu_type));
	ck_assert_uint_gt(info.nrkinds, info.kind);
	ck_assert_int_eq(info.tsc_khz != 0, is_tsc_known());
	if (!info.tsc_khz)
		features &= ~VPERFCTR_FEATURE_CLOCK;
	if (!has_interrupt())
		features &= ~(VPERFCTR_FEATURE_PCINT | VPERFCTR_FEATURE_INHERIT_IMODE);
	if (!has_rdpmc())
		features &= ~VPERFCTR_FEATURE_RDPMC;
	ck_assert_uint_eq(info.features, features);
	ck_assert_uint_eq(info.nrctrs, nr_general() + nr_fixed());
	ck_assert_uint_ge(nr_general(), 2);
	ck_assert_uint_eq(info.arch_events & 3, VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS);
	ck_assert_uint_ge(info.pmc_width, 32);
	ck_assert_int_eq(!info.fixed_mask, !info.fixed_width);
	ck_assert_int_eq(!info.core_type, info.nrkinds == 1);
	/* Without full-width writes a counter is loaded with 32 bits, sign-extended. */
	ck_assert_uint_ge(info.max_period, has_interrupt() ? 0x7fffffff : 0);
	ck_assert_uint_eq(info.min_period, has_interrupt() ? SHORTEST_PERIOD : 0);
	ck_assert_uint_eq(info.max_period & (info.max_period + 1), 0);
	ck_assert_uint_lt(info.max_period, 1ULL << (info.pmc_width - 1));
	ck_assert_uint_ne(strnlen(info.driver_version, sizeof(info.driver_version)), 0);
	ck_assert_uint_lt(strlen(info.driver_version), sizeof(info.driver_version));
	ck_assert_uint_lt(strlen(info.cpu_name), sizeof(info.cpu_name));
}
END_TEST

/* The sizes of interface 0.9, which are the smallest.  They remain when structures grow. */
#define INFO_SIZE_VER0		184
#define CPU_MASK_SIZE_VER0	8
#define KIND_CPUS_SIZE_VER0	16
#define OPEN_SIZE_VER0		24
#define ATTACH_SIZE_VER0	32
#define CONTROL_SIZE_VER0	80
#define CTR_SIZE_VER0		32
#define READ_SIZE_VER0		64
#define SOFT_SIZE_VER0		96
#define RING_SIZE_VER0		32

START_TEST(info_einval)
{
	struct vperfctr_info i = { .size = INFO_SIZE_VER0 - 1 };

	assert_errno(call(dev, VPERFCTR_INFO, &i), EINVAL);
	i.size = 0;
	assert_errno(call(dev, VPERFCTR_INFO, &i), EINVAL);
	i.size = sizeof(i);
	i.kind = i.nrkinds = info.nrkinds;
	assert_errno(call(dev, VPERFCTR_INFO, &i), EINVAL);
	i.kind = 0xffffffff;
	assert_errno(call(dev, VPERFCTR_INFO, &i), EINVAL);
	ck_assert_uint_eq(i.abi_version, 0);
}
END_TEST

/* A state has the call, too, with the same errors, also when it has no thread any more. */
START_TEST(info_of_state)
{
	int fd = open_state(0);
	struct vperfctr_info i = { .size = sizeof(i), .kind = info.kind };

	assert_ok(call(fd, VPERFCTR_INFO, &i));
	ck_assert_int_eq(memcmp(&i, &info, sizeof(i)), 0);
	i.kind = info.nrkinds;
	assert_errno(call(fd, VPERFCTR_INFO, &i), EINVAL);
	i.size = INFO_SIZE_VER0 - 1;
	assert_errno(call(fd, VPERFCTR_INFO, &i), EINVAL);
	assert_errno(call(fd, VPERFCTR_INFO, NULL), EFAULT);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	i.size = sizeof(i);
	i.kind = info.kind;
	assert_ok(call(fd, VPERFCTR_INFO, &i));
	ck_assert_int_eq(memcmp(&i, &info, sizeof(i)), 0);
	close(fd);
}
END_TEST

START_TEST(info_of_version_0_9)
{
	struct {
		struct vperfctr_info i;
		u64 behind;
	} s;

	memset(&s, 0xff, sizeof(s));
	s.i.size = INFO_SIZE_VER0;
	s.i.kind = info.kind;
	assert_ok(call(dev, VPERFCTR_INFO, &s));
	ck_assert_int_eq(memcmp((u32 *)&s + 1, (u32 *)&info + 1, INFO_SIZE_VER0 - 4), 0);
	ck_assert_uint_eq(*(u64 *)((char *)&s + INFO_SIZE_VER0), ~0ULL);
}
END_TEST

START_TEST(info_of_a_newer_caller)
{
	struct {
		struct vperfctr_info i;
		u64 newer[4];
	} s;

	memset(&s, 0xff, sizeof(s));
	s.i.size = offsetof(typeof(s), newer[3]);
	s.i.kind = info.kind;
	assert_ok(call(dev, VPERFCTR_INFO, &s));
	ck_assert_int_eq(memcmp(&s.i, &info, sizeof(info)), 0);
	ck_assert_uint_eq(s.newer[0], 0);
	ck_assert_uint_eq(s.newer[2], 0);
	ck_assert_uint_eq(s.newer[3], ~0ULL);
}
END_TEST

START_TEST(info_efault)
{
	struct vperfctr_info *i = (void *)(edge - sizeof(*i) + 4);

	assert_errno(call(dev, VPERFCTR_INFO, NULL), EFAULT);
	assert_errno(call(dev, VPERFCTR_INFO, NOWHERE), EFAULT);
	i->size = sizeof(*i);
	assert_errno(call(dev, VPERFCTR_INFO, i), EFAULT);
	/* The size is readable, but not the kind. */
	*(u32 *)(edge - 4) = sizeof(*i);
	assert_errno(call(dev, VPERFCTR_INFO, edge - 4), EFAULT);
	/* The whole structure is readable, but not the newer part. */
	i = (void *)(edge - sizeof(*i));
	i->size = sizeof(*i) + 4;
	i->kind = 0;
	assert_errno(call(dev, VPERFCTR_INFO, i), EFAULT);
}
END_TEST

/* ---- CPUS ---------------------------------------------------------------- */

static const unsigned long masks[] = { VPERFCTR_CPUS, VPERFCTR_CPUS_FORBIDDEN };

/* Without KIND, the machine has no CPU on which counters cannot be used. */
static u32 forbidden(u32 all)
{
	u32 counts = 0, kind;

	for (kind = 0; kind < info.nrkinds; kind++)
		counts |= kind_cpus(kind);
	return getenv("KIND") ? all & ~counts : 0;
}

START_TEST(cpus)
{
	struct {
		struct vperfctr_cpu_mask m;
		u32 mask[4];
	} s;
	const u32 all = (1U << sysconf(_SC_NPROCESSORS_CONF)) - 1;

	memset(&s, 0xff, sizeof(s));
	s.m.size = sizeof(s.m);
	s.m.nrwords = 0;
	assert_errno(call(dev, masks[_i], &s), EOVERFLOW);
	ck_assert_uint_eq(s.m.nrwords, 1);
	ck_assert_uint_eq(s.mask[0], ~0U);

	assert_ok(call(dev, masks[_i], &s));
	ck_assert_uint_eq(s.m.nrwords, 1);
	ck_assert_uint_eq(s.mask[0], masks[_i] == VPERFCTR_CPUS ? all : forbidden(all));

	s.m.nrwords = 3;
	assert_ok(call(dev, masks[_i], &s));
	ck_assert_uint_eq(s.m.nrwords, 1);
	ck_assert_uint_eq(s.mask[3], ~0U);
}
END_TEST

START_TEST(cpus_efault)
{
	struct vperfctr_cpu_mask *m = (void *)(edge - sizeof(*m));

	assert_errno(call(dev, masks[_i], NULL), EFAULT);
	assert_errno(call(dev, masks[_i], readonly), EFAULT);
	m->size = sizeof(*m);
	m->nrwords = 1;
	assert_errno(call(dev, masks[_i], m), EFAULT);
}
END_TEST

START_TEST(cpus_einval)
{
	struct vperfctr_cpu_mask m = { .size = sizeof(m) - 1 };

	assert_errno(call(dev, masks[_i], &m), EINVAL);
	m.size = 0;
	assert_errno(call(dev, masks[_i], &m), EINVAL);
	m.size = PAGE + 4;
	assert_errno(call(dev, masks[_i], &m), E2BIG);
}
END_TEST

/* The mask begins after the structure as the caller knows it. */
START_TEST(cpus_of_a_newer_caller)
{
	struct {
		struct vperfctr_cpu_mask m;
		u32 newer[2], mask[1];
	} s;

	memset(&s, 0, sizeof(s));
	s.m.size = offsetof(typeof(s), mask);
	s.m.nrwords = 1;
	s.newer[1] = 1;
	assert_errno(call(dev, VPERFCTR_CPUS, &s), E2BIG);
	s.newer[1] = 0;
	assert_ok(call(dev, VPERFCTR_CPUS, &s));
	ck_assert_uint_eq(s.m.nrwords, 1);
	ck_assert_uint_eq(s.newer[0] | s.newer[1], 0);
	ck_assert_uint_eq(s.mask[0] & 1, 1);
	s.m.size--;
	assert_errno(call(dev, VPERFCTR_CPUS, &s), EINVAL);
}
END_TEST

START_TEST(kind_cpus_errors)
{
	struct {
		struct vperfctr_kind_cpus k;
		u32 newer[2], mask[1];
	} s;

	memset(&s, 0, sizeof(s));
	s.k.size = offsetof(typeof(s), mask);
	s.k.kind = info.kind;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EOVERFLOW);
	ck_assert_uint_eq(s.k.nrwords, 1);
	assert_ok(call(dev, VPERFCTR_KIND_CPUS, &s));
	ck_assert_uint_eq(s.mask[0], kind_cpus(info.kind));
	s.newer[0] = 1;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), E2BIG);
	s.newer[0] = 0;
	s.k.nrkinds = 1;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EINVAL);
	s.k.nrkinds = 0;
	s.k.kind = info.nrkinds;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EINVAL);
	s.k.kind = VPERFCTR_ANY_KIND;
	for (s.k.nrkinds = 0; s.k.nrkinds <= info.nrkinds; s.k.nrkinds++) {
		s.mask[0] = 0;
		assert_ok(call(dev, VPERFCTR_KIND_CPUS, &s));
		ck_assert_uint_eq(s.mask[0] & kind_cpus(0), kind_cpus(0));
	}
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EINVAL);
	s.k.nrkinds = ~0U;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EINVAL);
	s.k.nrkinds = 0;
	s.k.kind = info.kind;
	s.k.size = sizeof(s.k) - 1;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EINVAL);
	s.k.size = sizeof(s.k) + 2;
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, &s), EINVAL);
	assert_errno(call(dev, VPERFCTR_KIND_CPUS, NULL), EFAULT);
}
END_TEST

/* ---- OPEN ---------------------------------------------------------------- */

static int try_open(u32 size, s32 tid, u32 flags, u32 reserved)
{
	struct {
		struct vperfctr_open o;
		u64 newer[MAX_PAGE / 8];
	} s = { .o = { size, tid, flags, reserved } };

	return call(dev, VPERFCTR_OPEN, &s);
}

START_TEST(open_einval)
{
	u32 size = sizeof(struct vperfctr_open), i;

	assert_errno(try_open(size - 1, 0, VPERFCTR_OPEN_CREAT, 0), EINVAL);
	assert_errno(try_open(0, 0, VPERFCTR_OPEN_CREAT, 0), EINVAL);
	assert_errno(try_open(size, 0, VPERFCTR_OPEN_CREAT, 1), EINVAL);
	for (i = 4; i < 32; i++)
		if (1U << i != VPERFCTR_OPEN_OBSERVER)
			assert_errno(try_open(size, 0, VPERFCTR_OPEN_CREAT | 1U << i, 0), EINVAL);
	/* Lifetime flags are valid only with CREAT, and only one of them. */
	assert_errno(try_open(size, 0, VPERFCTR_OPEN_TRANSIENT, 0), EINVAL);
	assert_errno(try_open(size, 0, VPERFCTR_OPEN_KEEP, 0), EINVAL);
	assert_errno(try_open(size, 0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
			      VPERFCTR_OPEN_KEEP, 0), EINVAL);
	assert_errno(try_open(size, 0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER |
			      VPERFCTR_OPEN_KEEP, 0), EINVAL);
	/* None of these calls made a state. */
	assert_errno(try_open(size, 0, 0, 0), ENOENT);
}
END_TEST

/* OPEN with a control: both are done, or nothing is. */
START_TEST(open_with_control)
{
	struct control control;
	struct vperfctr_open req = {
		.size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT, .control = (uintptr_t)&control,
	};
	struct vperfctr_read read = { .size = sizeof(read), .nrctrs = VPERFCTR_MAX_CTRS,
				      .flags = VPERFCTR_READ_OWNER };
	int fd;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.ctr = (uintptr_t)control.ctr;
	req.flags = 0;
	assert_errno(call(dev, VPERFCTR_OPEN, &req), EINVAL);
	req.flags = VPERFCTR_OPEN_CREAT;
	control.c.tsc_on = 2;
	assert_errno(call(dev, VPERFCTR_OPEN, &req), EINVAL);
	assert_errno(try_open_state(0), ENOENT);
	control.c.tsc_on = 1;
	control.ctr[0].map = no_general();
	assert_errno(call(dev, VPERFCTR_OPEN, &req), EINVAL);
	assert_errno(try_open_state(0), ENOENT);
	control.ctr[0].map = 0;
	req.control = 8;
	assert_errno(call(dev, VPERFCTR_OPEN, &req), EFAULT);
	assert_errno(try_open_state(0), ENOENT);
	req.control = (uintptr_t)&control;
	fd = call(dev, VPERFCTR_OPEN, &req);
	ck_assert_int_ge(fd, 0);
	assert_status(fd, ATTACHED | ACTIVE);
	assert_ok(call(fd, VPERFCTR_READ, &read));
	ck_assert_uint_eq(read.status, ATTACHED | ACTIVE | VPERFCTR_STATUS_OWNER);
	ck_assert_uint_eq(read.nrctrs, 1);
	assert_errno(call(dev, VPERFCTR_OPEN, &req), EEXIST);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_ok(call(fd, VPERFCTR_READ, &read));
	ck_assert_uint_eq(read.status, 0);
}
END_TEST

START_TEST(open_of_a_newer_caller)
{
	struct {
		struct vperfctr_open o;
		char newer[16];
	} s = { .o = { .size = sizeof(s), .flags = VPERFCTR_OPEN_CREAT } };
	unsigned int i;

	for (i = 0; i < sizeof(s.newer); i++) {
		s.newer[i] = 1;
		assert_errno(call(dev, VPERFCTR_OPEN, &s), E2BIG);
		s.newer[i] = 0;
	}
	assert_errno(try_open_state(0), ENOENT);
	s.o.size = 0x80000000;
	assert_errno(call(dev, VPERFCTR_OPEN, &s), E2BIG);
	s.o.size = sizeof(s);
	ck_assert_int_ge(call(dev, VPERFCTR_OPEN, &s), 0);
}
END_TEST

START_TEST(open_efault)
{
	struct vperfctr_open *o = (void *)(edge - sizeof(*o) + 4);

	assert_errno(call(dev, VPERFCTR_OPEN, NULL), EFAULT);
	assert_errno(call(dev, VPERFCTR_OPEN, edge), EFAULT);
	o->size = sizeof(*o);
	o->flags = VPERFCTR_OPEN_CREAT;
	assert_errno(call(dev, VPERFCTR_OPEN, o), EFAULT);
	assert_errno(try_open_state(0), ENOENT);
}
END_TEST

START_TEST(open_eexist_enoent)
{
	int fd, other;

	assert_errno(try_open_state(0), ENOENT);
	fd = open_state(0);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EEXIST);
	other = try_open_state(0);
	ck_assert_int_ge(other, 0);
	ck_assert_int_ne(other, fd);
	/* Both descriptors are of the same state, which the thread keeps without them. */
	count(fd, INSNS_USER);
	assert_status(other, ATTACHED | ACTIVE);
	close(fd);
	close(other);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EEXIST);
	fd = try_open_state(0);
	assert_status(fd, ATTACHED | ACTIVE);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	assert_errno(try_open_state(0), ENOENT);
	/* A new state has nothing of the old one. */
	other = open_state(0);
	assert_status(other, ATTACHED);
	assert_status(fd, 0);
}
END_TEST

/* A thread that lives until the test stops it, however slow the machine is. */
struct live_thread {
	volatile pid_t tid;
	volatile bool stop;
};

static void *live_until_stop(void *arg)
{
	struct live_thread *t = arg;

	t->tid = gettid();
	while (!t->stop)
		msleep(1);
	return NULL;
}

START_TEST(open_esrch_eperm)
{
	const u32 size = sizeof(struct vperfctr_open);
	struct live_thread t = { 0 };
	pthread_t thread;
	pid_t child;
	int err;

	assert_errno(try_open(size, 0x7fffffff, VPERFCTR_OPEN_CREAT, 0), ESRCH);
	assert_errno(try_open(size, -1, VPERFCTR_OPEN_CREAT, 0), ESRCH);
	assert_errno(try_open(size, 1, VPERFCTR_OPEN_CREAT, 0), EPERM);
	assert_errno(try_open(size, 1, 0, 0), EPERM);
	child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	assert_errno(try_open(size, child, VPERFCTR_OPEN_CREAT, 0), EPERM);
	kill(child, SIGKILL);
	wait_for(child);
	assert_errno(try_open(size, child, VPERFCTR_OPEN_CREAT, 0), ESRCH);

	ck_assert_int_eq(pthread_create(&thread, NULL, live_until_stop, &t), 0);
	while (!t.tid)
		msleep(1);
	assert_errno(try_open(size, t.tid, VPERFCTR_OPEN_CREAT, 0), EPERM);
	t.stop = true;
	pthread_join(thread, NULL);
	/* pthread_join() returns before the kernel has removed the thread. */
	while ((err = try_open(size, t.tid, VPERFCTR_OPEN_CREAT, 0)) == -EPERM)
		msleep(1);
	assert_errno(err, ESRCH);

	ck_assert_int_ge(try_open(size, gettid(), VPERFCTR_OPEN_CREAT, 0), 0);
	ck_assert_int_ge(try_open(size, gettid(), 0, 0), 0);
}
END_TEST

START_TEST(open_cloexec)
{
	int fd = open_state(0);
	int kept = try_open_state(VPERFCTR_OPEN_NOCLOEXEC);

	ck_assert_int_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	ck_assert_int_eq(fcntl(kept, F_GETFD), 0);
	ck_assert_int_eq(fcntl(kept, F_GETFL) & O_ACCMODE, O_RDONLY);
}
END_TEST

/* A failed OPEN leaves nothing behind, and does not affect an existing state. */
START_TEST(open_emfile)
{
	struct rlimit limit, none;
	int fd;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 3;	/* dev is 3 or more */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT), EMFILE);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_errno(try_open_state(0), ENOENT);

	fd = open_state(0);
	count(fd, INSNS_USER);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_errno(try_open_state(0), EMFILE);
	if (has(VPERFCTR_FEATURE_CPUS))
		assert_errno(try_open_cpus(1, 0), EMFILE);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* ---- ioctls that do not exist ------------------------------------------------- */

START_TEST(enotty)
{
	struct vperfctr_info i = { .size = sizeof(i) };
	int fd = open_state(0), n;

	assert_errno(call(dev, VPERFCTR_CONTROL, &i), ENOTTY);
	assert_errno(call(dev, VPERFCTR_UNLINK, NULL), ENOTTY);
	assert_errno(call(fd, VPERFCTR_OPEN, &i), ENOTTY);
	assert_errno(call(fd, FIONREAD, &i), ENOTTY);
	assert_errno(call(fd, VPERFCTR_ATTACH, &i), ENOTTY);
	assert_errno(call(fd, VPERFCTR_OPEN_CPUS, &i), ENOTTY);
	for (n = 7; n < 256; n++)
		assert_errno(call(dev, _IO(0xD0, n), NULL), ENOTTY);
	/* INFO is 0. */
	for (n = 1; n < 256; n++) {
		if (n < 16 || n > 24)
			assert_errno(call(fd, _IO(0xD0, n), NULL), ENOTTY);
	}
	/* This is no set of threads. */
	assert_errno(call(fd, VPERFCTR_MEMBER, NULL), ENOENT);
	/* The command numbers encode neither size nor direction. */
	assert_errno(call(fd, _IOW(0xD0, 20, int), NULL), ENOTTY);
	assert_errno(call(fd, _IO(0xD1, 20), NULL), ENOTTY);
	assert_status(fd, ATTACHED);
}
END_TEST

/* ---- READ ------------------------------------------------------------------- */

/* Open a state with two counters, and fill in a READ of nothing. */
/* Open a state that counts, and prepare a READ.  *control is its control. */
static int controlled_fixture(struct vperfctr_read *req, struct control *control)
{
	int fd = open_state(0);

	control_init(control, 1);
	control_add(control, 1, INSNS_USER);
	control_add(control, 0, CYCLES_USER);
	assert_ok(set_control(fd, control));
	memset(req, 0, sizeof(*req));
	req->size = sizeof(*req);
	req->nrctrs = 2;
	return fd;
}

static int read_fixture(struct vperfctr_read *req)
{
	struct control control;

	return controlled_fixture(req, &control);
}

START_TEST(read_outputs)
{
	struct vperfctr_read req;
	struct control control, expected;
	u64 sums[4], children[4];
	int fd = controlled_fixture(&req, &expected);

	/* No output is requested, and there is more room than needed. */
	req.nrctrs = 9;
	req.status = 0xffffffff;
	req.overflow = req.children_missed = ~0ULL;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	ck_assert_uint_eq(req.nrctrs, 2);
	ck_assert_uint_eq(req.status, ATTACHED | ACTIVE);
	ck_assert_uint_eq(req.overflow, 0);
	ck_assert_uint_eq(req.children_missed, 0);

	memset(sums, 0xff, sizeof(sums));
	memset(children, 0xff, sizeof(children));
	memset(&control, 0xff, sizeof(control));
	control.c.size = sizeof(control.c);
	control.c.ctr_size = sizeof(control.ctr[0]);
	control.c.ctr = (uintptr_t)control.ctr;
	req.sums = (uintptr_t)sums;
	req.children = (uintptr_t)children;
	req.control = (uintptr_t)&control;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	ck_assert_uint_ne(sums[0], 0);
	ck_assert_uint_ne(sums[1], 0);
	ck_assert_uint_ne(sums[2], 0);
	ck_assert_uint_eq(sums[3], ~0ULL);
	ck_assert_uint_eq(children[0] | children[1] | children[2], 0);
	ck_assert_uint_eq(children[3], ~0ULL);
	ck_assert_uint_eq(control.c.size, sizeof(control.c));
	ck_assert_uint_eq(control.c.flags, 0);
	ck_assert_uint_eq(control.c.tsc_on, 1);
	ck_assert_uint_eq(control.c.nractrs, 2);
	ck_assert_uint_eq(control.c.nrictrs, 0);
	ck_assert_int_eq(control.c.si_signo, 0);
	ck_assert_uint_eq(control.c.preserve, 0);
	ck_assert_uint_eq(control.c.global[0] | control.c.global[1], 0);
	ck_assert_uint_eq(control.c.kind, info.kind);
	ck_assert_uint_eq(control.ctr[0].map, 1);
	ck_assert_uint_eq(control.ctr[0].evntsel, expected.ctr[0].evntsel);
	ck_assert_uint_eq(control.ctr[1].map, 0);
	ck_assert_uint_eq(control.ctr[1].evntsel, expected.ctr[1].evntsel);
	ck_assert_uint_eq(control.ctr[1].aux, expected.ctr[1].aux);
	ck_assert_uint_eq(control.ctr[1].reserved, 0);
	ck_assert_int_eq(control.ctr[1].ireset, 0);
	ck_assert_uint_eq(control.ctr[2].map, ~0U);

	/* Without room for counters, READ still returns their number. */
	memset(&control, 0xff, sizeof(control));
	control.c.size = sizeof(control.c);
	control.c.ctr_size = sizeof(control.ctr[0]);
	control.c.ctr = 0;
	assert_ok(call(fd, VPERFCTR_READ, &req));
	ck_assert_uint_eq(control.c.nractrs, 2);
	ck_assert_uint_eq(control.ctr[0].map, ~0U);
}
END_TEST

START_TEST(read_eoverflow)
{
	struct vperfctr_read req, before;
	u64 sums[3] = { 1, 2, 3 };
	int fd = read_fixture(&req);
	u32 n;

	for (n = 0; n < 2; n++) {
		req.nrctrs = n;
		req.status = 0x5555;
		req.sums = (uintptr_t)sums;
		req.children = (uintptr_t)sums;
		before = req;
		assert_errno(call(fd, VPERFCTR_READ, &req), EOVERFLOW);
		ck_assert_uint_eq(req.nrctrs, 2);
		before.nrctrs = 2;
		ck_assert_int_eq(memcmp(&req, &before, sizeof(req)), 0);
		ck_assert_uint_eq(sums[0], 1);
		ck_assert_uint_eq(sums[2], 3);
	}
	req.status = 0;
	assert_ok(call(fd, VPERFCTR_READ, &req));
}
END_TEST

START_TEST(read_einval)
{
	struct vperfctr_control control = { 0 };
	struct vperfctr_read req;
	int fd = read_fixture(&req);

	req.size = READ_SIZE_VER0 - 1;
	assert_errno(call(fd, VPERFCTR_READ, &req), EINVAL);
	req.size = sizeof(req);
	req.flags = 4;
	assert_errno(call(fd, VPERFCTR_READ, &req), EINVAL);
	req.flags = 0;
	req.control = (uintptr_t)&control;
	control.size = CONTROL_SIZE_VER0 - 1;
	control.ctr_size = sizeof(struct vperfctr_ctr);
	assert_errno(call(fd, VPERFCTR_READ, &req), EINVAL);
	control.size = sizeof(control);
	control.ctr_size = sizeof(struct vperfctr_ctr) - 8;
	assert_errno(call(fd, VPERFCTR_READ, &req), EINVAL);
	control.ctr_size = sizeof(struct vperfctr_ctr);
	assert_ok(call(fd, VPERFCTR_READ, &req));
}
END_TEST

/* A call that must fail if the size of its structure is smaller than that of 0.9. */
static void check_smallest(u32 *size, u32 smallest, int on, unsigned long cmd, void *arg, int err)
{
	u32 smaller;

	for (smaller = 0; smaller < smallest; smaller += 4) {
		*size = smaller;
		assert_errno(call(on, cmd, arg), EINVAL);
	}
	*size = smallest;
	ck_assert_int_eq(call(on, cmd, arg), err);
}

START_TEST(smallest_sizes)
{
	struct {
		union {
			u32 size;
			struct vperfctr_info info;
			struct vperfctr_cpu_mask cpus;
			struct vperfctr_kind_cpus kind;
			struct vperfctr_open open;
			struct vperfctr_attach attach;
			struct vperfctr_control control;
			struct vperfctr_ring ring;
		};
		u64 room[64];
	} s;
	struct control control;
	struct vperfctr_control shown = { .ctr_size = sizeof(struct vperfctr_ctr) };
	struct vperfctr_soft soft = { 0 };
	struct vperfctr_read req;
	int fd = read_fixture(&req);

	memset(&s, 0, sizeof(s));
	check_smallest(&s.size, INFO_SIZE_VER0, dev, VPERFCTR_INFO, &s, 0);
	memset(&s, 0, sizeof(s));
	s.cpus.nrwords = 64;
	check_smallest(&s.size, CPU_MASK_SIZE_VER0, dev, VPERFCTR_CPUS, &s, 0);
	memset(&s, 0, sizeof(s));
	s.kind.nrwords = 64;
	check_smallest(&s.size, KIND_CPUS_SIZE_VER0, dev, VPERFCTR_KIND_CPUS, &s, 0);
	memset(&s, 0, sizeof(s));
	s.open.flags = VPERFCTR_OPEN_CREAT;
	check_smallest(&s.size, OPEN_SIZE_VER0, dev, VPERFCTR_OPEN, &s, -EEXIST);
	memset(&s, 0, sizeof(s));
	s.attach.mem_fd = -1;
	s.attach.control = (uintptr_t)&control.c;
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_INHERIT;
	check_smallest(&s.size, ATTACH_SIZE_VER0, dev, VPERFCTR_ATTACH, &s, -EBADF);
	memset(&s, 0, sizeof(s));
	s.control = control.c;
	s.control.flags = 0;
	check_smallest(&s.size, CONTROL_SIZE_VER0, fd, VPERFCTR_CONTROL, &s, 0);
	s.control.size = sizeof(s.control);
	check_smallest(&s.control.ctr_size, CTR_SIZE_VER0, fd, VPERFCTR_CONTROL, &s, 0);
	check_smallest(&req.size, READ_SIZE_VER0, fd, VPERFCTR_READ, &req, 0);
	req.size = sizeof(req);
	req.control = (uintptr_t)&shown;
	check_smallest(&shown.size, CONTROL_SIZE_VER0, fd, VPERFCTR_READ, &req, 0);
	check_smallest(&shown.ctr_size, CTR_SIZE_VER0, fd, VPERFCTR_READ, &req, 0);
	req.control = 0;
	req.soft = (uintptr_t)&soft;
	check_smallest(&soft.size, SOFT_SIZE_VER0, fd, VPERFCTR_READ, &req, 0);
	memset(&s, 0, sizeof(s));
	s.ring.nrsamples = s.ring.watermark = 1;
	check_smallest(&s.size, RING_SIZE_VER0, fd, VPERFCTR_RING, &s, 0);
}
END_TEST

START_TEST(read_of_a_newer_caller)
{
	struct {
		struct vperfctr_read r;
		u64 newer[2];
	} s = { .newer = { 0, 0 } };
	struct {
		struct vperfctr_control c;
		u64 newer[3];
	} control = { .newer = { ~0ULL, ~0ULL, ~0ULL } };
	int fd = read_fixture(&s.r);

	s.r.size = sizeof(s);
	assert_ok(call(fd, VPERFCTR_READ, &s));
	s.newer[1] = 1;
	assert_errno(call(fd, VPERFCTR_READ, &s), E2BIG);
	s.newer[1] = 0;
	s.newer[0] = 1ULL << 63;
	assert_errno(call(fd, VPERFCTR_READ, &s), E2BIG);
	s.newer[0] = 0;

	/* The control is output: parts that this kernel does not know are zero. */
	control.c.size = offsetof(typeof(control), newer[2]);
	control.c.ctr_size = sizeof(struct vperfctr_ctr);
	s.r.control = (uintptr_t)&control;
	assert_ok(call(fd, VPERFCTR_READ, &s));
	ck_assert_uint_eq(control.newer[0] | control.newer[1], 0);
	ck_assert_uint_eq(control.newer[2], ~0ULL);
}
END_TEST

START_TEST(read_efault)
{
	/* The same, with a structure that is readable, but not completely writable. */
	struct vperfctr_read *req = (void *)(edge - sizeof(*req));
	struct control control;
	int fd = read_fixture(req);
	u64 *fields[] = { &req->sums, &req->children, &req->control };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		*fields[i] = 8;
		assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);
		*fields[i] = (uintptr_t)readonly;
		/* A control that is all zero has an invalid size. */
		assert_errno(call(fd, VPERFCTR_READ, req), i < 2 ? EFAULT : EINVAL);
		/* An address of the kernel. */
		*fields[i] = 0xffff888000000000;
		assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);
		*fields[i] = 0;
	}
	/* Room for the TSC and one counter, but not for the second. */
	memmove((char *)req - 64, req, sizeof(*req));
	req = (void *)((char *)req - 64);
	req->sums = (uintptr_t)(edge - 16);
	assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);
	req->sums = 0;
	req->children = (uintptr_t)(edge - 16);
	assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);
	req->children = 0;

	control_init(&control, 0);
	control.c.ctr = (uintptr_t)(edge - sizeof(control.ctr[0]));
	req->control = (uintptr_t)&control;
	assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);
	control.c.ctr = 8;
	assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);
	req->control = (uintptr_t)(edge - 8);
	*(u32 *)(edge - 8) = sizeof(control.c);
	assert_errno(call(fd, VPERFCTR_READ, req), EFAULT);

	assert_errno(call(fd, VPERFCTR_READ, NULL), EFAULT);
	assert_errno(call(fd, VPERFCTR_READ, edge), EFAULT);
	*(u32 *)(edge - 8) = sizeof(*req);
	assert_errno(call(fd, VPERFCTR_READ, edge - 8), EFAULT);

	/* A structure that can be read but not written. */
	memcpy((void *)(edge - PAGE), &(struct vperfctr_read){ .size = sizeof(*req), .nrctrs = 2 },
	       sizeof(*req));
	ck_assert_int_eq(mprotect(edge - PAGE, PAGE, PROT_READ), 0);
	assert_errno(call(fd, VPERFCTR_READ, edge - PAGE), EFAULT);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* ---- calls without an argument ---------------------------------------------- */

static const unsigned long bare[] = {
	VPERFCTR_SUSPEND, VPERFCTR_RESUME, VPERFCTR_UNLINK, VPERFCTR_IRESUME,
};

START_TEST(argument_einval)
{
	struct vperfctr_read req;
	int fd = read_fixture(&req);

	assert_errno(call(fd, bare[_i], (void *)1), EINVAL);
	assert_errno(call(fd, bare[_i], (void *)~0xffUL), EINVAL);
	assert_errno(call(fd, bare[_i], &req), EINVAL);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

START_TEST(suspend_einval)
{
	int fd = open_state(0);

	assert_errno(call(fd, bare[_i], 0), EINVAL);
	count(fd, INSNS_USER);
	assert_ok(call(fd, bare[_i], 0));
	assert_ok(stop_all(fd));
	assert_errno(call(fd, bare[_i], 0), EINVAL);
	assert_status(fd, ATTACHED);
}
END_TEST

/* ---- calls that only the owner may make ------------------------------------------ */

/* All owner's calls fail with the same error, except UNLINK of a detached state. */
static int all_refused(int fd, int error)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 1, .watermark = 1,
	};
	struct control control;

	control_init(&control, 1);
	if (set_control(fd, &control) != -error)
		return 1;
	if (stop_all(fd) != -error)
		return 2;
	if (call(fd, VPERFCTR_SUSPEND, 0) != -error)
		return 3;
	if (call(fd, VPERFCTR_RESUME, 0) != -error)
		return 4;
	if (call(fd, VPERFCTR_UNLINK, 0) != (error == ESRCH ? 0 : -error))
		return 5;
	if (call(fd, VPERFCTR_IRESUME, 0) != -error)
		return 6;
	if (call(fd, VPERFCTR_RING, &ring) != -error)
		return 7;
	return 0;
}

static void *refused_thread(void *arg)
{
	return (void *)(long)all_refused(*(int *)arg, EPERM);
}

START_TEST(eperm_of_others)
{
	int fd = open_state(0);
	pthread_t thread;
	void *ret;
	pid_t pid;

	count(fd, INSNS_USER);
	ck_assert_int_eq(pthread_create(&thread, NULL, refused_thread, &fd), 0);
	pthread_join(thread, &ret);
	ck_assert_int_eq((long)ret, 0);
	pid = fork();
	if (!pid)
		_exit(all_refused(fd, EPERM) ?: status_of(fd) == (ATTACHED | ACTIVE) ? 0 : 8);
	ck_assert_int_eq(wait_for(pid), 0);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

START_TEST(esrch_after_unlink)
{
	int fd = open_state(0);
	pid_t pid;

	count(fd, INSNS_USER);
	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	ck_assert_int_eq(all_refused(fd, ESRCH), 0);
	/* There is no owner any more: other processes get the same error. */
	pid = fork();
	if (!pid)
		_exit(all_refused(fd, ESRCH));
	ck_assert_int_eq(wait_for(pid), 0);
	assert_status(fd, 0);
	/* The same if the thread has another state now. */
	open_state(0);
	ck_assert_int_eq(all_refused(fd, ESRCH), 0);
}
END_TEST

static void *leaves_state(void *arg)
{
	*(int *)arg = open_state(0);
	count(*(int *)arg, INSNS_USER);
	return NULL;
}

START_TEST(esrch_after_end)
{
	pthread_t thread;
	int fd = -1;

	ck_assert_int_eq(pthread_create(&thread, NULL, leaves_state, &fd), 0);
	pthread_join(thread, NULL);
	while (status_of(fd) & ATTACHED)
		msleep(1);
	ck_assert_int_eq(all_refused(fd, ESRCH), 0);
	assert_status(fd, 0);
}
END_TEST

/* ---- mmap ------------------------------------------------------------------------ */

static int try_mmap(size_t size, int prot, int flags, int fd, off_t offset)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, size);
	return 0;
}

START_TEST(mmap_errors)
{
	int fd = open_state(0), err;

	assert_ok(try_mmap(PAGE, PROT_READ, MAP_SHARED, fd, 0));
	/* A shorter length is rounded up. */
	assert_ok(try_mmap(1, PROT_READ, MAP_SHARED, fd, 0));
	assert_errno(try_mmap(2 * PAGE, PROT_READ, MAP_SHARED, fd, 0), EINVAL);
	assert_errno(try_mmap(PAGE, PROT_READ, MAP_SHARED, fd, PAGE), EINVAL);
	assert_errno(try_mmap(PAGE, PROT_READ, MAP_PRIVATE, fd, 0), EINVAL);
	err = try_mmap(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_msg(err == -EACCES || err == -EPERM, "%d", err);
	err = try_mmap(PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	ck_assert_msg(err == -EACCES || err == -EPERM, "%d", err);
	err = try_mmap(PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	ck_assert_msg(err < 0, "%d", err);
	ck_assert_int_lt(try_mmap(PAGE, PROT_READ, MAP_SHARED, dev, 0), 0);
}
END_TEST

/* Return the permissions of the mapping that begins there, as /proc shows them. */
static const char *permissions(const volatile void *address)
{
	static char line[256], perms[5];
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%*x %4s", &start, perms) == 2 && start == (unsigned long)address)
			break;
	fclose(f);
	return perms;
}

/* The kernel adds PROT_EXEC itself, as for a program with an object that lacks .note.GNU-stack. */
START_TEST(read_implies_exec)
{
	const struct vperfctr_page *page;
	int fd = open_state(0);

	ck_assert_int_ne(personality(PER_LINUX | READ_IMPLIES_EXEC), -1);
	page = map_state(fd);
	ck_assert_uint_eq(page->version, VPERFCTR_ABI_VERSION);
	ck_assert_str_eq(permissions(page), "r--s");
}
END_TEST

START_TEST(mprotect_errors)
{
	int fd = open_state(0);
	const struct vperfctr_page *page = map_state(fd);

	ck_assert_int_eq(mprotect((void *)page, PAGE, PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(mprotect((void *)page, PAGE, PROT_WRITE), -1);
	ck_assert_int_eq(mprotect((void *)page, PAGE, PROT_READ | PROT_EXEC), -1);
	ck_assert_int_eq(errno, EACCES);
	ck_assert_int_eq(mprotect((void *)page, PAGE, PROT_NONE), 0);
	ck_assert_int_ne(try_touch(page), 0);
	ck_assert_int_eq(mprotect((void *)page, PAGE, PROT_READ), 0);
	ck_assert_uint_eq(page->version, VPERFCTR_ABI_VERSION);
	/* A new open of the descriptor does not help either. */
	fd = open("/proc/self/fd/3", O_RDWR);
	if (fd >= 0)
		ck_assert_int_lt(try_mmap(PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, info_matches_processor);
	tcase_add_test(tc, info_einval);
	tcase_add_test(tc, info_of_state);
	tcase_add_test(tc, info_of_version_0_9);
	tcase_add_test(tc, info_of_a_newer_caller);
	tcase_add_test(tc, info_efault);
	tcase_add_loop_test(tc, cpus, 0, 2);
	tcase_add_loop_test(tc, cpus_efault, 0, 2);
	tcase_add_loop_test(tc, cpus_einval, 0, 2);
	tcase_add_test(tc, cpus_of_a_newer_caller);
	tcase_add_test(tc, kind_cpus_errors);
	tcase_add_test(tc, open_einval);
	tcase_add_test(tc, open_with_control);
	tcase_add_test(tc, open_of_a_newer_caller);
	tcase_add_test(tc, open_efault);
	tcase_add_test(tc, open_eexist_enoent);
	tcase_add_test(tc, open_esrch_eperm);
	tcase_add_test(tc, open_cloexec);
	tcase_add_test(tc, open_emfile);
	tcase_add_test(tc, enotty);
	tcase_add_test(tc, read_outputs);
	tcase_add_test(tc, read_eoverflow);
	tcase_add_test(tc, read_einval);
	tcase_add_test(tc, smallest_sizes);
	tcase_add_test(tc, read_of_a_newer_caller);
	tcase_add_test(tc, read_efault);
	tcase_add_loop_test(tc, argument_einval, 0, 4);
	tcase_add_loop_test(tc, suspend_einval, 0, 2);
	tcase_add_test(tc, eperm_of_others);
	tcase_add_test(tc, esrch_after_unlink);
	tcase_add_test(tc, esrch_after_end);
	tcase_add_test(tc, mmap_errors);
	tcase_add_test(tc, mprotect_errors);
	tcase_add_test(tc, read_implies_exec);
}

int main(void)
{
	open_device();
	return run_tests("errno", add);
}
