// SPDX-License-Identifier: GPL-2.0
/*
 * Samples by thread time: exactly, because samples and what they count as dropped are
 * together the thread time divided by the period, also where the timer comes late.
 * The tests need virtual time, in which a loop takes a known time.
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "overflow.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

#define MAX_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"
#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"
#define US		1000ULL
#define MS		1000000ULL
#define SYSTEM		(VPERFCTR_SAMPLE_USER | VPERFCTR_SAMPLE_SYSTEM)
#define COPY		"/tmp/clock-privileged"

static char self[256], directory[256];
static int fd;
static struct mapped_ring ring;

static void setup(void)
{
	settle();
	write_file(MAX_RATE, "0");
	fd = open_state(VPERFCTR_OPEN_NOCLOEXEC);
}

static void teardown(void)
{
	if (!access(CPU1_ONLINE, W_OK))
		write_file(CPU1_ONLINE, "1");
	write_file(MAX_RATE, "100000");
}

static int try_clock(int state, u64 period, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING | flags;
	control.c.clock_period = period;
	return set_control(state, &control);
}

static void start_clock(u64 period, u32 flags)
{
	assert_ok(try_clock(fd, period, flags));
}

static int open_mem(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY);
}

static u64 ns_of(u64 tsc)
{
	/* No product exceeds 64 bits. */
	return tsc / info.tsc_khz * MS + tsc % info.tsc_khz * MS / info.tsc_khz;
}

/* The periods that the samples from number `from` on, and what the ring dropped, stand for. */
static u64 periods_of(const struct mapped_ring *of, u64 from)
{
	return ring_head(of) - from + of->page->dropped;
}

/* Stop, and check that there is a sample for each period of thread time. */
static void check_total(u64 period)
{
	struct sums sums;

	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_eq(periods_of(&ring, 0), ns_of(sums.tsc) / period);
}

/* Check what all samples have in common, and that they report all that was dropped. */
static void check_samples(u64 nr)
{
	u64 i, dropped = 0, before = 0;

	for (i = 0; i < nr; i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		ck_assert_uint_eq(s->type, VPERFCTR_SAMPLE_CLOCK);
		ck_assert_uint_eq(s->overflow, 0);
		ck_assert_uint_eq(s->pid, getpid());
		ck_assert_uint_ge(s->tsc, before);
		before = s->tsc;
		dropped += s->dropped;
	}
	ck_assert_uint_le(dropped, ring.page->dropped);
}

/* ---- code at known places ------------------------------------------------------- */

#define PLACE	__attribute__((noinline, noclone, aligned(256)))

PLACE static void first(unsigned long n)
{
	loop(n);
}

PLACE static void second(unsigned long n)
{
	loop(n);
}

/* That many calls take several milliseconds.  POWER clears 128 bytes of memory by one instruction. */
#ifdef __powerpc64__
#define KERNEL_CALLS	1600
#else
#define KERNEL_CALLS	400
#endif

PLACE static void call_kernel(unsigned long n)
{
	static char buffer[1 << 18];
	int zero = open("/dev/zero", O_RDONLY);

	while (n--) {
		if (read(zero, buffer, sizeof(buffer)) != sizeof(buffer))
			die("read of /dev/zero: %s", strerror(errno));
	}
	close(zero);
}

static u64 samples_in(void (*function)(unsigned long), u64 from)
{
	u64 i, n = 0, head = ring_head(&ring), start = (uintptr_t)function;

	for (i = from; i < head; i++) {
		u64 ip = ring_sample(&ring, i)->ip;

		n += ip >= start && ip < start + 256;
	}
	return n;
}

/* ---- errors --------------------------------------------------------------------- */

START_TEST(errors)
{
	const u64 refused[] = { 1, VPERFCTR_CLOCK_MIN - 1, VPERFCTR_CLOCK_MAX + 1, 1ULL << 63, ~0ULL };
	struct control control;
	struct vperfctr_ring req;
	unsigned int i;

	ck_assert(has(VPERFCTR_FEATURE_CLOCK));
	assert_errno(try_clock(fd, MS, 0), EINVAL);	/* no ring */
	assert_ok(try_ring(fd, 16, 1, 0, &req));
	for (i = 0; i < NR(refused); i++)
		assert_errno(try_clock(fd, refused[i], 0), EINVAL);
	assert_status(fd, ATTACHED);

	control_init(&control, 1);
	control.c.clock_period = MS;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = 0;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.clock_period = MS;
	control.c.tsc_on = 0;
	control.c.soft = VPERFCTR_SOFT_CONTEXT_SWITCHES;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.tsc_on = 1;
	control.c.si_signo = SIGUSR1;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.si_signo = 0;
	control.c.reserved = 1;
	assert_errno(set_control(fd, &control), EINVAL);
	control.c.reserved = 0;
	/* To a caller of 0.9 the field does not exist. */
	control.c.size = offsetof(struct vperfctr_control, clock_period);
	assert_errno(call(fd, VPERFCTR_CONTROL, &control.c), EINVAL);
	if (has(VPERFCTR_FEATURE_PCINT)) {
		control_init(&control, 1);
		control_add_imode(&control, IMODE, 100000);
		control.c.flags = VPERFCTR_CONTROL_RING;
		control.c.clock_period = MS;
		assert_errno(set_control(fd, &control), EINVAL);
		control.c.clock_period = 0;
		assert_ok(set_control(fd, &control));
	}
	assert_ok(try_clock(fd, VPERFCTR_CLOCK_MIN, 0));
	assert_ok(try_clock(fd, VPERFCTR_CLOCK_MAX, 0));
}
END_TEST

START_TEST(read_returns_it)
{
	struct vperfctr_control read = { .size = sizeof(read), .ctr_size = sizeof(struct vperfctr_ctr) };
	struct reading r;

	make_ring(fd, 16, 1, 0, &ring);
	start_clock(1234567, 0);
	init_reading(&r)->control = (uintptr_t)&read;
	assert_ok(call(fd, VPERFCTR_READ, &r.read));
	ck_assert_uint_eq(read.clock_period, 1234567);
	ck_assert_uint_eq(read.flags, VPERFCTR_CONTROL_RING);
	start_clock(MS, 0);
	assert_ok(stop_all(fd));
	read.clock_period = 0;
	assert_ok(call(fd, VPERFCTR_READ, &r.read));
	ck_assert_uint_eq(read.clock_period, MS);
}
END_TEST

/* ---- one thread ----------------------------------------------------------------- */

static const u64 periods[] = { VPERFCTR_CLOCK_MIN, 12345, 100 * US, 1000003 };

START_TEST(one_for_each_period)
{
	make_ring(fd, 65536, 1, 0, &ring);
	start_clock(periods[_i], 0);
	loop(20 * MS);
	check_total(periods[_i]);
	check_samples(ring_head(&ring));
	/* Most periods have a sample of their own, unless a tick of the clock takes longer. */
	if (periods[_i] >= (is_debug_kernel() ? MS : 100 * US))
		ck_assert_uint_le(10 * ring.page->dropped, ring_head(&ring));
	ck_assert_uint_ge(ring_head(&ring), 10);
}
END_TEST

/* The TSC's sum remains, but the periods begin with each control. */
START_TEST(another_control)
{
	struct sums before, after;
	u64 nr;

	make_ring(fd, 4096, 1, 0, &ring);
	start_clock(MS, 0);
	loop(5 * MS);
	assert_ok(stop_all(fd));
	read_sums(fd, &before);
	nr = periods_of(&ring, 0);
	start_clock(70 * US, 0);
	loop(5 * MS);
	assert_ok(stop_all(fd));
	read_sums(fd, &after);
	ck_assert_uint_eq(nr, ns_of(before.tsc) / MS);
	ck_assert_uint_eq(periods_of(&ring, 0) - nr,
			  (ns_of(after.tsc) - ns_of(before.tsc)) / (70 * US));
}
END_TEST

static u64 thread_ns(void)
{
	struct sums sums;

	read_sums(fd, &sums);
	return ns_of(sums.tsc);
}

/* Check that a function which took `ns` has its samples, but for one at each end. */
static void check_share(void (*function)(unsigned long), u64 ns, u64 period)
{
	u64 n = samples_in(function, 0);

	ck_assert_uint_le(n, ns / period + 1);
	ck_assert_uint_ge(n + ring.page->dropped + 2, ns / period);
}

/*
 * The kernel's interrupts and, in virtual time, the other CPU's instructions pass time of
 * the thread, too: only the thread's own clock knows how long a function took.
 */
START_TEST(shares)
{
	u64 times[3];

	make_ring(fd, 65536, 1, 0, &ring);
	start_clock(100 * US, 0);
	times[0] = thread_ns();
	first(30 * MS);
	times[1] = thread_ns();
	second(10 * MS);
	times[2] = thread_ns();
	check_total(100 * US);
	/* Each iteration of the loop has two instructions. */
	ck_assert_uint_ge(times[1] - times[0], 60 * MS);
	ck_assert_uint_ge(times[2] - times[1], 20 * MS);
	check_share(first, times[1] - times[0], 100 * US);
	check_share(second, times[2] - times[1], 100 * US);
	ck_assert_uint_ge(10 * (samples_in(first, 0) + samples_in(second, 0)),
			  9 * periods_of(&ring, 0));
}
END_TEST

START_TEST(sleep_has_none)
{
	u64 before;

	make_ring(fd, 4096, 1, 0, &ring);
	start_clock(100 * US, 0);
	loop(MS);
	before = periods_of(&ring, 0);
	msleep(200);
	/* Less than a tenth of the time was the thread's. */
	ck_assert_uint_lt(periods_of(&ring, 0) - before, 200);
	check_total(100 * US);
}
END_TEST

START_TEST(pause_has_none)
{
	u64 before;

	make_ring(fd, 4096, 1, 0, &ring);
	start_clock(100 * US, 0);
	loop(MS);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	before = periods_of(&ring, 0);
	ck_assert_uint_gt(before, 0);
	loop(5 * MS);
	ck_assert_uint_eq(periods_of(&ring, 0), before);
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	loop(5 * MS);
	ck_assert_uint_gt(periods_of(&ring, 0), before + 10);
	check_total(100 * US);
}
END_TEST

/* Each of these runs less than a period without a switch or a pause. */
START_TEST(periods_go_on)
{
	unsigned int i;

	make_ring(fd, 4096, 1, 0, &ring);
	start_clock(5 * MS, 0);
	for (i = 0; i < 100; i++) {
		loop(200 * US);
		if (i % 2)
			msleep(1);
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	}
	ck_assert_uint_ge(periods_of(&ring, 0), 4);
	check_total(5 * MS);
}
END_TEST

START_TEST(full_ring)
{
	make_ring(fd, 16, 1, 0, &ring);
	start_clock(50 * US, 0);
	loop(5 * MS);
	ck_assert_uint_eq(ring_head(&ring), 16);
	check_total(50 * US);
	ck_assert_uint_eq(ring_head(&ring), 16);
	check_samples(16);
}
END_TEST

START_TEST(throttled)
{
	struct sums sums;

	write_file(MAX_RATE, "1000");
	make_ring(fd, 65536, 1, 0, &ring);
	start_clock(VPERFCTR_CLOCK_MIN, 0);
	loop(100 * MS);
	check_total(VPERFCTR_CLOCK_MIN);
	read_sums(fd, &sums);
	/* 1 in a millisecond, and 20 until the periods are long enough. */
	ck_assert_uint_le(ring_head(&ring), 2 * ns_of(sums.tsc) / MS + 20);
	check_samples(ring_head(&ring));
}
END_TEST

START_TEST(wakes_pollers)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	pid_t pid;

	make_ring(fd, 64, 8, 0, &ring);
	pid = fork();
	if (!pid)
		_exit(poll(&p, 1, -1) == 1 && p.revents == POLLIN ? 0 : 1);
	msleep(10);
	ck_assert_int_eq(poll_now(fd), 0);
	start_clock(100 * US, 0);
	/* A late interrupt makes one sample for several periods. */
	while (ring_head(&ring) < 8)
		loop(10000);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_int_eq(poll_now(fd), POLLIN);
	ck_assert_uint_ge(ring_head(&ring), 8);
}
END_TEST

/* a-mode counters beside it: each sample has their sums. */
START_TEST(with_counters)
{
	struct control control;
	u64 i, before = 0;

	if (!info.nrctrs)
		return;
	make_ring(fd, 4096, 1, 1, &ring);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = 100 * US;
	assert_ok(set_control(fd, &control));
	loop(10 * MS);
	check_total(100 * US);
	for (i = 0; i < ring_head(&ring); i++) {
		ck_assert_uint_ge(ring_sample(&ring, i)->sums[0], before);
		before = ring_sample(&ring, i)->sums[0];
	}
	ck_assert_uint_gt(before, 18 * MS);
	/* Else the emulator counts what the other CPU executes, too. */
	if (COUNTS_APART)
		ck_assert_uint_le(before, 20 * MS + 10000);
}
END_TEST

/* ---- kernel mode ---------------------------------------------------------------- */

static u64 with_flags(u32 flags)
{
	u64 i, n = 0;

	for (i = 0; i < ring_head(&ring); i++)
		n += ring_sample(&ring, i)->flags == flags;
	return n;
}

static void check_addresses(bool kernel)
{
	u64 i;

	for (i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		if (s->flags == VPERFCTR_SAMPLE_KERNEL)
			ck_assert(kernel && is_kernel_address(s->ip));
		else
			ck_assert(s->ip && !is_kernel_address(s->ip) &&
				  (s->flags == VPERFCTR_SAMPLE_USER || s->flags == SYSTEM));
	}
}

/* No address in the kernel, but where the thread entered it. */
START_TEST(system_time)
{
	make_ring(fd, 65536, 1, 0, &ring);
	start_clock(50 * US, 0);
	first(2 * MS);
	ck_assert_uint_ge(2 * with_flags(VPERFCTR_SAMPLE_USER), ring_head(&ring));
	call_kernel(KERNEL_CALLS);
	check_addresses(false);
	ck_assert_uint_ge(with_flags(SYSTEM), 100);
	check_total(50 * US);
}
END_TEST

START_TEST(kernel_addresses)
{
	make_ring_flags(fd, VPERFCTR_RING_KERNEL, 65536, 1, 0, &ring);
	start_clock(50 * US, 0);
	first(2 * MS);
	call_kernel(KERNEL_CALLS);
	/* The last one, for periods that had no sample before the stop, is not from an interrupt. */
	ck_assert_uint_le(with_flags(SYSTEM), 1);
	ck_assert_uint_ge(with_flags(VPERFCTR_SAMPLE_KERNEL), 100);
	check_addresses(true);
	check_total(50 * US);
}
END_TEST

/* The caller of CONTROL may not count the kernel any more, but has the ring. */
START_TEST(kernel_addresses_refused)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { };

	make_ring_flags(fd, VPERFCTR_RING_KERNEL, 65536, 1, 0, &ring);
	if (syscall(SYS_capset, &header, none))
		die("capset: %s", strerror(errno));
	start_clock(50 * US, 0);
	call_kernel(KERNEL_CALLS);
	ck_assert_uint_ge(with_flags(SYSTEM), 100);
	check_addresses(false);
}
END_TEST

/* ---- several threads ------------------------------------------------------------ */

/*
 * A family's control, one child, and the end of both: each has had its periods.  Between
 * begin_family() and end_family() the caller starts the child, and waits for it.
 */
static struct { u64 nr, tsc; } family;

static void begin_family(u64 period, u32 flags)
{
	struct sums sums;

	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	family.nr = periods_of(&ring, 0);
	family.tsc = sums.tsc;
	start_clock(period, flags);
}

static void end_family(u64 period)
{
	struct reading r;
	u64 own, child;

	ck_assert_eventually(!(status_of(fd) & VPERFCTR_STATUS_CHILDREN));
	assert_ok(stop_all(fd));
	read_state(fd, &r);
	ck_assert_uint_eq(r.read.children_missed, 0);
	own = (ns_of(r.own[0]) - ns_of(family.tsc)) / period;
	child = ns_of(r.children[0]) / period;
	ck_assert_uint_eq(periods_of(&ring, 0) - family.nr, own + child);
	ck_assert_uint_ge(child, 5);
}

static u64 samples_of(pid_t tid)
{
	u64 i, n = 0;

	for (i = 0; i < ring_head(&ring); i++)
		n += ring_sample(&ring, i)->tid == (u32)tid;
	return n;
}

/* Samples from number `from` on that were made on this CPU. */
static u64 samples_on(u32 cpu, u64 from)
{
	u64 i, n = 0;

	for (i = from; i < ring_head(&ring); i++)
		n += ring_sample(&ring, i)->cpu == cpu;
	return n;
}

static volatile pid_t thread_id;

static void *run_thread(void *arg)
{
	thread_id = syscall(SYS_gettid);
	loop((uintptr_t)arg);
	return NULL;
}

START_TEST(children)
{
	unsigned int i;
	pthread_t thread;

	make_ring(fd, 65536, 1, 0, &ring);
	for (i = 1; i <= 6; i++) {
		begin_family(100 * US, VPERFCTR_CONTROL_INHERIT);
		if (i % 2) {
			thread_id = fork();
			if (!thread_id) {
				loop(i * MS);
				_exit(0);
			}
			ck_assert_int_eq(wait_for(thread_id), 0);
		} else {
			pthread_create(&thread, NULL, run_thread, (void *)(uintptr_t)(i * MS));
			pthread_join(thread, NULL);
		}
		end_family(100 * US);
		ck_assert_uint_ge(samples_of(thread_id), i * 5);
	}
	/* It has no state. */
	begin_family(100 * US, VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_INHERIT_THREADS);
	thread_id = fork();
	if (!thread_id) {
		loop(MS);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(thread_id), 0);
	ck_assert_uint_eq(samples_of(thread_id), 0);
}
END_TEST

/* Both are sampled by the timer of one CPU: each keeps its own period. */
START_TEST(two_on_one_cpu)
{
	u64 slow = 1100 * US;
	pid_t pid;

	pin(0);
	make_ring(fd, 65536, 1, 0, &ring);
	pid = fork();
	if (!pid) {
		struct mapped_ring own;
		struct sums sums;
		int state = open_state(0);

		make_ring(state, 65536, 1, 0, &own);
		if (try_clock(state, slow, 0))
			_exit(1);
		loop(200 * MS);
		stop_all(state);
		read_sums(state, &sums);
		_exit(periods_of(&own, 0) == ns_of(sums.tsc) / slow &&
		      own.page->dropped * 2 <= ring_head(&own) ? 0 : 2);
	}
	start_clock(130 * US, 0);
	loop(200 * MS);
	check_total(130 * US);
	ck_assert_uint_le(ring.page->dropped * 4, ring_head(&ring));
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* The timer of the CPU that it has left finds another thread, or none. */
START_TEST(moved)
{
	/* To move takes so long on a debug kernel, where interrupts are disabled for long, too. */
	u64 period = (is_debug_kernel() ? 500 : 100) * US;
	unsigned int i;

	make_ring(fd, 65536, 1, 0, &ring);
	start_clock(period, 0);
	for (i = 0; i < 60; i++) {
		pin(i % nr_cpus());
		loop(period / 2 * (1 + i % 5));
	}
	check_total(period);
	ck_assert_uint_le(ring.page->dropped * 4, ring_head(&ring));
	for (i = 0; i < (unsigned int)nr_cpus(); i++)
		ck_assert_uint_ge(samples_on(i, 0), 10);
}
END_TEST

/* ---- CPUs of two kinds ---------------------------------------------------------- */

/* With counters of one kind, the thread has neither time nor samples on the other one. */
START_TEST(one_kind)
{
	int good = __builtin_ctz(kind_cpus(info.kind)), bad = !good;
	struct control control;
	unsigned int i;
	u64 nr;

	if (info.nrkinds < 2)
		return;
	pin(good);
	make_ring(fd, 65536, 1, 1, &ring);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = 100 * US;
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 4; i++) {
		nr = samples_on(good, 0);
		loop(MS);
		ck_assert_uint_ge(samples_on(good, 0), nr + 5);
		pin(bad);
		nr = periods_of(&ring, 0);
		loop(2 * MS);
		ck_assert_uint_eq(periods_of(&ring, 0), nr);
		pin(good);
	}
	check_total(100 * US);
	check_samples(ring_head(&ring));
	ck_assert_uint_eq(samples_on(bad, 0), 0);
}
END_TEST

/* With counters of any kind, it has both everywhere. */
START_TEST(any_kind)
{
	struct control control;
	u64 i, before = 0;

	if (info.nrkinds < 2)
		return;
	make_ring(fd, 65536, 1, 1, &ring);
	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control_any_kind(&control);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = 100 * US;
	assert_ok(set_control(fd, &control));
	for (i = 0; i < 6; i++) {
		pin(i % 2);
		loop(MS);
	}
	check_total(100 * US);
	check_samples(ring_head(&ring));
	for (i = 0; i < ring_head(&ring); i++) {
		ck_assert_uint_ge(ring_sample(&ring, i)->sums[0], before);
		before = ring_sample(&ring, i)->sums[0];
	}
	ck_assert_uint_ge(before, 10 * MS);
	for (i = 0; i < 2; i++)
		ck_assert_uint_ge(samples_on(i, 0), 15);
}
END_TEST

/* ---- CPUs that go offline ------------------------------------------------------- */

/* A child on CPU 0 takes CPU 1 offline and online: a byte requests it, another reports it. */
static int hotplug_request, hotplug_report;

static void start_hotplug(void)
{
	int requests[2], reports[2];
	char byte;

	if (pipe(requests) || pipe(reports))
		die("pipe: %s", strerror(errno));
	hotplug_request = requests[1];
	hotplug_report = reports[0];
	if (fork())
		return;
	pin(0);
	close(requests[1]);
	while (read(requests[0], &byte, 1) == 1) {
		write_file(CPU1_ONLINE, byte ? "1" : "0");
		if (write(reports[1], &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static void request_cpu1(bool online)
{
	char byte = online;

	if (write(hotplug_request, &byte, 1) != 1)
		die("write to a pipe: %s", strerror(errno));
}

static void wait_for_cpu1(bool online)
{
	char byte;

	if (read(hotplug_report, &byte, 1) != 1 || byte != online)
		die("CPU 1 has not gone %s", online ? "online" : "offline");
}

static bool on_cpu1(void)
{
	return sched_getcpu() == 1;
}

/* The thread runs while its CPU goes offline, with the timer armed, and moves to another. */
START_TEST(cpu_goes_offline)
{
	unsigned int i;
	u64 from;

	if (nr_cpus() < 2)
		return;
	make_ring(fd, 65536, 1, 0, &ring);
	start_hotplug();
	pin(1);
	start_clock(100 * US, 0);
	for (i = 0; i < 3; i++) {
		pin(1);
		set_affinity(0, 3);
		from = ring_head(&ring);
		loop(MS);
		request_cpu1(false);
		while (on_cpu1())
			loop(10000);
		ck_assert_uint_ge(samples_on(1, from), 5);
		from = ring_head(&ring);
		loop(2 * MS);
		ck_assert_uint_ge(samples_on(0, from), 10);
		ck_assert_uint_eq(samples_on(1, from), 0);
		wait_for_cpu1(false);
		request_cpu1(true);
		wait_for_cpu1(true);
		pin(1);
		from = ring_head(&ring);
		/* For its first ticks, a CPU has timers of low resolution. */
		loop(10 * MS);
		ck_assert_uint_ge(samples_on(1, from), 50);
	}
	check_total(100 * US);
	check_samples(ring_head(&ring));
	ck_assert_uint_le(ring.page->dropped * 4, ring_head(&ring));
}
END_TEST

/*
 * The timer of a CPU that was offline is queued on another one.  The thread that returns is
 * sampled in time nevertheless, though nothing else runs there that would have it switched.
 */
START_TEST(cpu_returns)
{
	struct sched_param param = { .sched_priority = 1 };
	const u64 period = 150 * MS;
	u64 from;

	if (nr_cpus() < 2)
		return;
	make_ring(fd, 64, 1, 0, &ring);
	start_hotplug();
	pin(1);
	start_clock(period, 0);
	loop(MS);
	/* The timer moves to CPU 0. */
	pin(0);
	request_cpu1(false);
	wait_for_cpu1(false);
	request_cpu1(true);
	wait_for_cpu1(true);
	ck_assert_uint_eq(periods_of(&ring, 0), 0);
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		die("sched_setscheduler: %s", strerror(errno));
	pin(1);
	from = ring_head(&ring);
	/* An instruction takes a nanosecond at least. */
	loop(3 * period / 4);
	ck_assert_uint_ge(samples_on(1, from), 1);
	check_total(period);
	ck_assert_uint_eq(ring.page->dropped, 0);
}
END_TEST

/* Other threads of the CPU have no samples, though the timer may expire in them. */
START_TEST(unlinked)
{
	struct control control;
	unsigned int i;
	int other;
	u64 nr;

	make_ring(fd, 4096, 1, 0, &ring);
	for (i = 0; i < 3; i++) {
		start_clock(300 * US, 0);
		loop(400 * US);
		if (i == 0)
			start_clock(VPERFCTR_CLOCK_MAX, 0);
		else if (i == 1)
			assert_ok(stop_all(fd));
		else
			assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		nr = periods_of(&ring, 0);
		ck_assert_uint_gt(nr, 0);
		loop(2 * MS);
		ck_assert_uint_eq(periods_of(&ring, 0), nr);
	}
	/* The timer finds another state of the same thread, by counters or the TSC alone. */
	for (i = 0; i < 2; i++) {
		fd = open_state(0);
		make_ring(fd, 64, 1, 0, &ring);
		start_clock(300 * US, 0);
		loop(400 * US);
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		nr = periods_of(&ring, 0);
		other = open_state(0);
		control_init(&control, 1);
		if (i && info.nrctrs)
			control_add(&control, 0, INSNS_USER);
		assert_ok(set_control(other, &control));
		loop(2 * MS);
		assert_ok(call(other, VPERFCTR_UNLINK, NULL));
		ck_assert_uint_eq(periods_of(&ring, 0), nr);
	}
}
END_TEST

START_TEST(attached)
{
	struct vperfctr_ring req = { .size = sizeof(req), .nrsamples = 4096, .watermark = 1 };
	struct vperfctr_attach attach = { .size = sizeof(attach), .ring = (uintptr_t)&req };
	volatile u32 *go = shared_memory(PAGE);
	struct control control;
	struct reading r;
	pid_t pid;
	int set;

	pid = fork();
	if (!pid) {
		while (!*go)
			sched_yield();
		loop(5 * MS);
		_exit(0);
	}
	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = 100 * US;
	attach.control = (uintptr_t)&control.c;
	attach.tid = pid;
	attach.mem_fd = open_mem(pid);
	set = call(dev, VPERFCTR_ATTACH, &attach);
	ck_assert_int_ge(set, 0);
	map_ring(set, req.map_size, &ring);
	*go = 1;
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_eventually(!(status_of(set) & VPERFCTR_STATUS_CHILDREN));
	read_state(set, &r);
	ck_assert_uint_eq(periods_of(&ring, 0), ns_of(r.children[0]) / (100 * US));
	ck_assert_uint_ge(samples_of(pid), 50);
}
END_TEST

/* A monitor's control, and its end, while the thread runs. */
START_TEST(monitored)
{
	struct sums sums;
	pid_t pid;

	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		loop(5 * MS);
		raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	fd = open_thread(pid, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(fd, 0);
	make_ring(fd, 4096, 1, 0, &ring);
	start_clock(100 * US, 0);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	ck_assert_uint_ge(samples_of(pid), 50);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	read_sums(fd, &sums);
	ck_assert_uint_eq(periods_of(&ring, 0), ns_of(sums.tsc) / (100 * US));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* ---- exec ------------------------------------------------------------------------- */

static void make_copy(mode_t mode)
{
	char command[600];

	snprintf(command, sizeof(command), "cp %s/known %s && chown 0:0 %s && chmod %o %s", directory,
		 COPY, COPY, mode, COPY);
	if (system(command))
		die("%s failed", command);
}

/* Let a sampled process execute a file.  `fd` and `ring` are its then. */
static void execute(const char *file, const char *argument, u64 period, u32 flags, int status)
{
	volatile struct {
		int fd;
		u64 map_size;
	} *state = shared_memory(PAGE);
	char *args[] = { (char *)file, (char *)argument, NULL }, *environment[] = { NULL };
	struct vperfctr_ring req;
	pid_t pid;

	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	pid = fork_files();
	if (!pid) {
		become(NOBODY);
		state->fd = open_state(VPERFCTR_OPEN_NOCLOEXEC);
		if (try_ring(state->fd, 65536, 1, 0, &req))
			_exit(100);
		state->map_size = req.map_size;
		if (try_clock(state->fd, period, flags))
			_exit(101);
		execve(file, args, environment);
		_exit(102);
	}
	ck_assert_int_eq(wait_for(pid), status);
	fd = state->fd;
	map_ring(fd, state->map_size, &ring);
}

static void check_executed(u64 period)
{
	struct sums sums;

	read_sums(fd, &sums);
	ck_assert_uint_eq(periods_of(&ring, 0), ns_of(sums.tsc) / period);
}

/* The new program's samples only. */
START_TEST(start_on_exec)
{
	execute(self, "first", 100 * US, VPERFCTR_CONTROL_START_ON_EXEC, 0);
	check_executed(100 * US);
	ck_assert_uint_ge(ring_head(&ring), 50);
}
END_TEST

START_TEST(across_exec)
{
	execute(self, "first", 100 * US, 0, 0);
	check_executed(100 * US);
	ck_assert_uint_ge(ring_head(&ring), 50);
}
END_TEST

/* `known` has its code below this address; the test program has not. */
#define KNOWN_END	0x1000000

/*
 * No sample has the entry point of a program that gives privileges.  The kernel sets it
 * before the end of the exec.
 */
START_TEST(privileged_exec)
{
	u64 i, unknown = 0;
	struct reading r;

	make_copy(_i ? 04755 : 0755);
	execute(COPY, "x", VPERFCTR_CLOCK_MIN, 0, 2);	/* the number of its arguments */
	check_executed(VPERFCTR_CLOCK_MIN);
	read_state(fd, &r);
	ck_assert_int_eq(!!(r.read.status & VPERFCTR_STATUS_PRIVILEGED), _i);
	for (i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		if (!s->ip) {
			unknown++;
			ck_assert_uint_eq(s->flags, VPERFCTR_SAMPLE_SYSTEM);
		}
		ck_assert(!_i || !s->ip || s->ip > KNOWN_END);
	}
	/* Samples of the exec itself. */
	ck_assert_uint_ge(unknown, 3);
}
END_TEST

/* ---- no rate of the TSC ------------------------------------------------------------- */

/* Then thread time is not known in nanoseconds: the suites clock-unknown and its like. */
START_TEST(unavailable)
{
	const u64 refused[] = { VPERFCTR_CLOCK_MIN, VPERFCTR_CLOCK_MAX, 1 };
	struct vperfctr_ring req = { .size = sizeof(req), .nrsamples = 16, .watermark = 1 };
	struct vperfctr_attach attach = { .size = sizeof(attach), .ring = (uintptr_t)&req };
	int expected = has(VPERFCTR_FEATURE_PCINT) ? 0 : -EOPNOTSUPP;
	struct control control;
	unsigned int i;
	pid_t pid;

	ck_assert_uint_eq(info.tsc_khz, 0);
	ck_assert(!has(VPERFCTR_FEATURE_CLOCK));
	ck_assert_uint_eq(info.soft & VPERFCTR_SOFT_TASK_CLOCK, 0);
	ck_assert_int_eq(call(fd, VPERFCTR_RING, &req), expected);
	for (i = 0; i < NR(refused); i++) {
		assert_errno(try_clock(fd, refused[i], 0), EOPNOTSUPP);
		assert_errno(try_clock(fd, refused[i], VPERFCTR_CONTROL_INHERIT), EOPNOTSUPP);
	}
	assert_status(fd, ATTACHED);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = MS;
	attach.control = (uintptr_t)&control.c;
	attach.tid = pid;
	attach.mem_fd = open_mem(pid);
	assert_errno(call(dev, VPERFCTR_ATTACH, &attach), EOPNOTSUPP);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	/* The TSC is counted nevertheless, by its own rate. */
	control_init(&control, 1);
	assert_ok(set_control(fd, &control));
}
END_TEST

static void add_unavailable(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, unavailable);
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, read_returns_it);
	tcase_add_loop_test(tc, one_for_each_period, 0, NR(periods));
	tcase_add_test(tc, another_control);
	tcase_add_test(tc, pause_has_none);
	tcase_add_test(tc, periods_go_on);
	tcase_add_test(tc, full_ring);
	tcase_add_test(tc, wakes_pollers);
	tcase_add_test(tc, with_counters);
	tcase_add_test(tc, system_time);
	tcase_add_test(tc, kernel_addresses);
	tcase_add_test(tc, kernel_addresses_refused);
	tcase_add_test(tc, children);
	tcase_add_test(tc, moved);
	tcase_add_test(tc, one_kind);
	tcase_add_test(tc, any_kind);
	tcase_add_test(tc, cpu_goes_offline);
	tcase_add_test(tc, cpu_returns);
	tcase_add_test(tc, unlinked);
	tcase_add_test(tc, attached);
	tcase_add_test(tc, monitored);
	tcase_add_test(tc, start_on_exec);
	tcase_add_test(tc, across_exec);
	tcase_add_loop_test(tc, privileged_exec, 0, 2);
	tcase_add_test(tc, shares);
	tcase_add_test(tc, sleep_has_none);
	tcase_add_test(tc, throttled);
	tcase_add_test(tc, two_on_one_cpu);
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc > 1 && !strcmp(argv[1], "first")) {
		first(5 * MS);
		return 0;
	}
	if (n < 0)
		die("readlink: %s", strerror(errno));
	snprintf(directory, sizeof(directory), "%.*s", (int)(strrchr(self, '/') - self), self);
	open_device();
	if (argc > 1 && !strcmp(argv[1], "unavailable"))
		return run_tests("clock_unavailable", add_unavailable);
	return run_tests("clock", add);
}
