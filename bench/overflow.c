// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of an overflow for its task: with a signal, from the instruction that
 * overflows to the handler and back to counting, and with a sample in a ring.
 *
 * The task runs small pieces of work and reads the clock before and after each.  The
 * pieces with an overflow take longer by its cost.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/vperfctr.h>

#include "bench.h"

#define PERIOD		100003
#define PIECE		2000		/* instructions, about */
#define OVERFLOWS	REPEATS
#define RING_PAGES	16
#define RING_SAMPLES	1024
#define FRAMES		16
/* Samples with a stack are larger, and so the rings of both. */
#define STACK		8192
#define STACK_SAMPLES	256
#define STACK_PAGES	1024

volatile u64 signals;

static u64 count_overflows(const volatile u64 *happened)
{
	return happened ? *happened : statistic(STAT_PMI);
}

void measure_overflows(const char *name, const volatile u64 *happened)
{
	struct meter all = { }, with = { };
	u64 before, t0, t1, wrmsr, rdmsr, idle[REPEATS];
	unsigned int pieces = 0;

	before = count_overflows(happened);
	wrmsr = statistic(STAT_WRMSR);
	rdmsr = statistic(STAT_RDMSR);
	while (with.n < OVERFLOWS) {
		t0 = now();
		loop(PIECE / 2);
		t1 = now();
		if (count_overflows(happened) != before) {
			with.time[with.n++] = t1 - t0;
			before = count_overflows(happened);
		} else if (all.n < REPEATS) {
			idle[all.n++] = t1 - t0;
		}
		if (++pieces > OVERFLOWS * (PERIOD / PIECE) * 10)
			die("%s: only %u overflows", name, with.n);
	}
	wrmsr = statistic(STAT_WRMSR) - wrmsr;
	rdmsr = statistic(STAT_RDMSR) - rdmsr;
	emit(unit, figure((double)median(with.time, with.n) - median(idle, all.n)), name, 0);
	if (emulated && HAVE_STATISTICS) {
		char other[64];

		strcat(strcpy(other, name), ".wrmsr");
		emit("WRMSR", (double)wrmsr / OVERFLOWS, other, 0);
		strcat(strcpy(other, name), ".rdmsr");
		emit("RDMSR", (double)rdmsr / OVERFLOWS, other, 0);
	}
}

struct measurement {
	const char *name;
	const volatile u64 *happened;
};

/*
 * Measure with calls of this file's functions around it, all with frame pointers: see the
 * Makefile.  The address that a call needs behind it keeps it from being a jump.
 */
static __attribute__((noipa)) void measure_deeper(const struct measurement *m, unsigned int n)
{
	if (n)
		measure_deeper(m, n - 1);
	else
		measure_overflows(m->name, m->happened);
	asm volatile("" : : : "memory");
}

/*
 * The same, with more on the stack than a sample has of it.  Its place within a page is
 * always the same, as each page takes some instructions.
 */
static __attribute__((noipa)) void measure_below_stack(const struct measurement *m)
{
	char stack[STACK + PAGE] __attribute__((aligned(PAGE)));

	memset(stack, 1, sizeof(stack));
	asm volatile("" : : "r" (stack) : "memory");
	measure_overflows(m->name, m->happened);
	asm volatile("" : : "r" (stack) : "memory");
}

/* A sample's room in the ring. */
static void emit_bytes(const char *name, unsigned int size)
{
	char bytes[64];

	strcat(strcpy(bytes, name), ".bytes");
	emit("bytes", size, bytes, 0);
}

static void set_handler(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	if (sigaction(signal, &action, NULL))
		die("sigaction: %s", strerror(errno));
}

/* ---- vperfctr ---------------------------------------------------------------- */

static int our_fd = -1;
static const struct vperfctr_ring_page *our_page;

/* Start counting with overflows.  Return: the address of their number. */
static const volatile u64 *open_ours(u32 flags, int signal, u32 depth, u32 stack)
{
	const volatile u64 *happened = &signals;
	struct vperfctr_open open = { .size = sizeof(open), .flags = VPERFCTR_OPEN_CREAT };
	struct vperfctr_ctr ctr = {
		.map = 0,
		.evntsel = user_evntsel(events[SET_A][0]),
		.ireset = -PERIOD,
	};
	struct vperfctr_control control = {
		.size = sizeof(control),
		.flags = flags,
		.tsc_on = 1,
		.nrictrs = 1,
		.si_signo = signal,
		.ctr_size = sizeof(ctr),
		.ctr = (uintptr_t)&ctr,
	};
	struct vperfctr_ring ring = {
		.size = sizeof(ring),
		.nrsamples = stack ? STACK_SAMPLES : RING_SAMPLES,
		.watermark = stack ? STACK_SAMPLES : RING_SAMPLES,
		.depth = depth,
		.stack = stack,
	};
	struct vperfctr_ring_page *page;

	our_fd = must_ioctl(vperfctr_dev, VPERFCTR_OPEN, &open);
	if (flags & VPERFCTR_CONTROL_RING) {
		must_ioctl(our_fd, VPERFCTR_RING, &ring);
		page = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, our_fd,
			    VPERFCTR_RING_OFFSET);
		if (page == MAP_FAILED)
			die("mmap of the ring: %s", strerror(errno));
		our_page = page;
		happened = (const volatile u64 *)&page->head;
	}
	must_ioctl(our_fd, VPERFCTR_CONTROL, &control);
	return happened;
}

static void our_handler(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	signals++;
	must_ioctl(our_fd, VPERFCTR_IRESUME, 0);
}

static void our_signal(void *arg)
{
	(void)arg;
	set_handler(SIGIO, our_handler);
	measure_overflows("overflow_signal", open_ours(0, SIGIO, 0, 0));
}

static void our_ring(void *arg)
{
	(void)arg;
	measure_overflows("overflow_ring", open_ours(VPERFCTR_CONTROL_RING, 0, 0, 0));
	emit_bytes("overflow_ring", our_page->sample_size);
}

static void our_chain(void *arg)
{
	struct measurement m = {
		"overflow_ring_chain", open_ours(VPERFCTR_CONTROL_RING, 0, FRAMES, 0)
	};

	(void)arg;
	measure_deeper(&m, FRAMES);
	emit_bytes(m.name, our_page->sample_size);
}

static void our_stack(void *arg)
{
	struct measurement m = {
		"overflow_ring_stack", open_ours(VPERFCTR_CONTROL_RING, 0, 0, STACK)
	};

	(void)arg;
	measure_below_stack(&m);
	emit_bytes(m.name, our_page->sample_size);
}

void vperfctr_overflows(void)
{
	static const char *const none = "the module lacks VPERFCTR_FEATURE_PCINT";

	progress("overflows");
	if (!(vperfctr_features() & VPERFCTR_FEATURE_PCINT)) {
		emit_none(unit, none, "overflow_signal", 0);
		emit_none(unit, none, "overflow_ring", 0);
		emit_none(unit, none, "overflow_ring_chain", 0);
		emit_none(unit, none, "sampled_threads.n1", 0);
		emit_none(unit, none, "overflow_ring_stack", 0);
		return;
	}
	in_child(our_signal, NULL);
	in_child(our_ring, NULL);
	in_child(our_chain, NULL);
	measure_sampling();
	in_child(our_stack, NULL);
}

/* ---- perf_event --------------------------------------------------------------- */

static int open_perf(struct perf_event_attr *attr)
{
	int fd;

	attr->type = perf_type(events[SET_A][0]);
	attr->size = sizeof(*attr);
	attr->config = perf_config(events[SET_A][0]);
	attr->sample_period = PERIOD;
	attr->disabled = 1;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	fd = syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		die("perf_event_open: %s", strerror(errno));
	return fd;
}

static void perf_handler(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	signals++;
}

/* The event continues without a call.  It is notified, not sampled. */
static void perf_signal(void *arg)
{
	struct perf_event_attr attr = { .wakeup_events = 1 };
	struct f_owner_ex owner = { F_OWNER_TID, syscall(SYS_gettid) };
	int fd = open_perf(&attr);

	(void)arg;
	set_handler(SIGIO, perf_handler);
	if (fcntl(fd, F_SETOWN_EX, &owner) || fcntl(fd, F_SETSIG, SIGIO) ||
	    fcntl(fd, F_SETFL, O_ASYNC | O_RDWR))
		die("fcntl: %s", strerror(errno));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	measure_overflows("overflow_signal", &signals);
}

static void measure_perf_ring(const char *name, u64 sample_type)
{
	bool stack = sample_type & PERF_SAMPLE_STACK_USER;
	unsigned int pages = stack ? STACK_PAGES : RING_PAGES;
	struct measurement m = { .name = name };
	struct perf_event_attr attr = {
		.sample_type = sample_type,
		.watermark = 1,
		/* The address itself is the first of perf's. */
		.sample_max_stack = sample_type & PERF_SAMPLE_CALLCHAIN ? FRAMES + 1 : 0,
		.exclude_callchain_kernel = 1,
		.sample_regs_user = stack ? PERF_REGS : 0,
		.sample_stack_user = stack ? STACK : 0,
		.wakeup_watermark = pages * PAGE - 1,
	};
	const struct perf_event_header *first;
	struct perf_event_mmap_page *page;
	int fd = open_perf(&attr);

	page = mmap(NULL, (1 + pages) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		die("mmap of the ring: %s", strerror(errno));
	must_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	m.happened = (const volatile u64 *)&page->data_head;
	if (stack)
		measure_below_stack(&m);
	else
		measure_deeper(&m, FRAMES);
	first = (const struct perf_event_header *)((const char *)page + page->data_offset);
	emit_bytes(name, first->size);
}

/* The smallest sample, and one with the content of a sample of vperfctr. */
static void perf_ring(void *arg)
{
	(void)arg;
	measure_perf_ring("overflow_ring", PERF_SAMPLE_IP);
}

static void perf_ring_time(void *arg)
{
	(void)arg;
	measure_perf_ring("overflow_ring_time", PERF_SAMPLE_IP | PERF_SAMPLE_TIME);
}

static void perf_ring_chain(void *arg)
{
	(void)arg;
	measure_perf_ring("overflow_ring_chain", PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN);
}

static void perf_ring_stack(void *arg)
{
	(void)arg;
	measure_perf_ring("overflow_ring_stack",
			  PERF_SAMPLE_IP | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
}

/* Lift the limit of perf's rate. */
void perf_unlimited(void)
{
	/* The rate can be set only while the kernel may lower it... */
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "25");
	write_file("/proc/sys/kernel/perf_event_max_sample_rate", "10000000");
	/* ... which it does otherwise, because the emulator is slow. */
	write_file("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
}

void perf_overflows(void)
{
	perf_unlimited();
	progress("overflows");
	in_child(perf_signal, NULL);
	in_child(perf_ring, NULL);
	in_child(perf_ring_time, NULL);
	in_child(perf_ring_chain, NULL);
	measure_sampling();
	in_child(perf_ring_stack, NULL);
}
