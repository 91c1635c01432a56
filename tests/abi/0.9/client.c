// SPDX-License-Identifier: GPL-2.0
/*
 * A client of version 0.9 of the interface, with the header of that version.  It must work
 * with every later module of that major version.  It uses each call, and depends on
 * nothing but the header: do not change it when the interface grows.
 *
 * Counts are exact where the machine's are.  A check that fails is printed, and the exit
 * status is then 1.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/vperfctr.h>

static int failures, dev, fd;
static struct vperfctr_info info;

#define CHECK(condition) do {						\
	if (!(condition)) {						\
		printf("client 0.9: line %d: %s (errno %d)\n", __LINE__,	\
		       #condition, errno);				\
		failures++;						\
	}								\
} while (0)

#define FAILS(call, error) CHECK((call) == -1 && errno == (error))

#define PAGE	4096

/* 2n instructions. */
static __attribute__((noinline)) void loop(unsigned long n)
{
#if defined(__aarch64__)
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
#endif
}

/* Overflows of instructions are late on the emulated arm64. */
#if defined(__aarch64__)
#define INSNS	0x80000008ULL
#define LATE	1
#else
#define INSNS	0x4100c0ULL
#define LATE	0
#endif

#define PERIOD	10007

/* True if this number of overflows is right for the sum. */
static int is_number_of(__u64 overflows, __u64 sum)
{
	return LATE ? overflows && overflows <= sum / PERIOD : overflows == sum / PERIOD;
}

/* ---- the device --------------------------------------------------------------- */

static void check_device(void)
{
	struct {
		struct vperfctr_cpu_mask m;
		__u32 words[64];
	} cpus = { .m = { .size = sizeof(cpus.m) } };
	struct {
		struct vperfctr_kind_cpus m;
		__u32 words[64];
	} kind = { .m = { .size = sizeof(kind.m), .nrwords = 64 } };

	info.size = sizeof(info);
	CHECK(!ioctl(dev, VPERFCTR_INFO, &info));
	CHECK(info.size >= sizeof(info));
	CHECK(info.abi_version >> 16 == VPERFCTR_ABI_VERSION >> 16);
	CHECK(info.nrctrs >= 2 && info.pmc_mask & 1 && info.nrkinds >= 1);
	CHECK(info.features & VPERFCTR_FEATURE_PCINT && info.max_period >= 0x7fffffff);
	info.size = sizeof(info);
	info.kind = info.nrkinds;
	FAILS(ioctl(dev, VPERFCTR_INFO, &info), EINVAL);

	FAILS(ioctl(dev, VPERFCTR_CPUS, &cpus), EOVERFLOW);
	CHECK(cpus.m.nrwords >= 1 && cpus.m.nrwords <= 64);
	CHECK(!ioctl(dev, VPERFCTR_CPUS, &cpus) && cpus.m.mask[0] & 1);
	cpus.m.nrwords = 64;
	CHECK(!ioctl(dev, VPERFCTR_CPUS_FORBIDDEN, &cpus) && !(cpus.m.mask[0] & 1));
	CHECK(!ioctl(dev, VPERFCTR_KIND_CPUS, &kind) && kind.m.mask[0] & 1);
	FAILS(ioctl(dev, VPERFCTR_CONTROL, NULL), ENOTTY);
}

static int open_state(__s32 tid, __u32 flags)
{
	struct vperfctr_open open = { .size = sizeof(open), .tid = tid, .flags = flags };

	return ioctl(dev, VPERFCTR_OPEN, &open);
}

static void check_open(void)
{
	int other;

	FAILS(open_state(0, 0), ENOENT);
	FAILS(open_state(0, VPERFCTR_OPEN_KEEP), EINVAL);
	FAILS(open_state(0, 1U << 31), EINVAL);
	fd = open_state(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	CHECK(fd >= 0 && fcntl(fd, F_GETFD) == FD_CLOEXEC);
	FAILS(open_state(0, VPERFCTR_OPEN_CREAT), EEXIST);
	info.size = sizeof(info);
	info.kind = 0;
	CHECK(!ioctl(fd, VPERFCTR_INFO, &info) && info.nrkinds >= 1 && !info.own_pmcs);
	other = open_state(getpid(), VPERFCTR_OPEN_NOCLOEXEC);
	CHECK(other >= 0 && fcntl(other, F_GETFD) == 0);
	close(other);
}

/* ---- counting ------------------------------------------------------------------- */

static struct vperfctr_ctr ctr[2] = { { .map = 0, .evntsel = INSNS }, { .map = 1, .evntsel = INSNS } };
static struct vperfctr_control control = {
	.size = sizeof(control), .tsc_on = 1, .nractrs = 2, .ctr_size = sizeof(ctr[0]),
};

struct sums {
	__u64 tsc, pmc[2];
};

static struct sums own, children;
static struct vperfctr_read request;

static int read_state(int from)
{
	memset(&request, 0, sizeof(request));
	request.size = sizeof(request);
	request.nrctrs = 2;
	request.sums = (uintptr_t)&own;
	request.children = (uintptr_t)&children;
	return ioctl(from, VPERFCTR_READ, &request);
}

/* Read counter 0 as <linux/vperfctr.h> says. */
static __u64 self_read(const volatile struct vperfctr_page *page)
{
	__u64 now, value;
	__u32 seq;

	do {
		seq = page->samplecount;
		__asm__ volatile("" : : : "memory");
		if (!(page->cstatus & VPERFCTR_CSTATUS_RDPMC)) {
			read_state(fd);
			return own.pmc[0];
		}
#if defined(__aarch64__)
		__asm__ volatile("mrs %0, pmevcntr0_el0" : "=r"(now));
#else
		{
			__u32 low, high;

			__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(page->ctr[0].map));
			now = (__u64)high << 32 | low;
		}
#endif
		value = page->ctr[0].sum + ((now - page->ctr[0].start) & page->mask);
		__asm__ volatile("" : : : "memory");
	} while (page->samplecount != seq);
	return value;
}

static int is_near(__u64 count, __u64 expected)
{
	return count >= expected && count < expected + 2000;
}

static void check_counts(void)
{
	const volatile struct vperfctr_page *page;
	struct vperfctr_ctr shown_ctr[2];
	struct vperfctr_control shown = {
		.size = sizeof(shown), .ctr_size = sizeof(shown_ctr[0]), .ctr = (uintptr_t)shown_ctr,
	};
	struct sums before;
	__u64 start;
	pid_t pid;

	control.ctr = (uintptr_t)ctr;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(page != MAP_FAILED && page->version >> 16 == VPERFCTR_ABI_VERSION >> 16);
	control.flags = 1U << 31;
	FAILS(ioctl(fd, VPERFCTR_CONTROL, &control), EINVAL);
	control.flags = 0;
	control.size = 56;
	FAILS(ioctl(fd, VPERFCTR_CONTROL, &control), EINVAL);
	control.size = sizeof(control);
	CHECK(!ioctl(fd, VPERFCTR_CONTROL, &control));
	CHECK(VPERFCTR_CSTATUS_NRCTRS(page->cstatus) == 2);
	CHECK(VPERFCTR_CSTATUS_NRACTRS(page->cstatus) == 2);
	CHECK(page->cstatus & VPERFCTR_CSTATUS_TSC && page->cstatus & VPERFCTR_CSTATUS_RUNNING);
	start = self_read(page);
	loop(100000);
	CHECK(is_near(self_read(page) - start, 200000));

	CHECK(!read_state(fd));
	CHECK(request.nrctrs == 2 && !request.overflow && !request.children_missed);
	CHECK((request.status & (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE |
				 VPERFCTR_STATUS_SUSPENDED | VPERFCTR_STATUS_FORBIDDEN)) ==
	      (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE));
	before = own;
	loop(100000);
	CHECK(!read_state(fd));
	CHECK(is_near(own.pmc[0] - before.pmc[0], 200000));
	CHECK(is_near(own.pmc[1] - before.pmc[1], 200000));
	CHECK(own.tsc > before.tsc && !children.pmc[0]);
	request.nrctrs = 0;
	FAILS(ioctl(fd, VPERFCTR_READ, &request), EOVERFLOW);
	CHECK(request.nrctrs == 2);

	read_state(fd);
	request.control = (uintptr_t)&shown;
	CHECK(!ioctl(fd, VPERFCTR_READ, &request));
	shown.ctr = control.ctr;
	CHECK(!memcmp(&shown, &control, sizeof(shown)));
	CHECK(!memcmp(shown_ctr, ctr, sizeof(ctr)));

	CHECK(!ioctl(fd, VPERFCTR_SUSPEND, 0) && !read_state(fd));
	CHECK(request.status & VPERFCTR_STATUS_SUSPENDED);
	before = own;
	loop(1000);
	CHECK(!read_state(fd) && own.pmc[0] == before.pmc[0] && own.tsc == before.tsc);
	CHECK(page->ctr[0].sum == own.pmc[0]);
	CHECK(!ioctl(fd, VPERFCTR_RESUME, 0));
	FAILS(ioctl(fd, VPERFCTR_RESUME, 1), EINVAL);
	FAILS(ioctl(fd, VPERFCTR_IRESUME, 0), ENODATA);

	/* The sum of counter 1 continues. */
	control.flags = VPERFCTR_CONTROL_INHERIT;
	control.preserve = 2;
	CHECK(!ioctl(fd, VPERFCTR_CONTROL, &control) && !read_state(fd));
	CHECK(own.pmc[0] < 2000 && own.pmc[1] > 400000);
	control.preserve = 0;
	pid = fork();
	if (!pid) {
		loop(50000);
		_exit(0);
	}
	CHECK(waitpid(pid, NULL, 0) == pid && !read_state(fd));
	CHECK(children.pmc[0] >= 100000 && children.pmc[0] < 200000 && !request.children_missed);
	control.flags = 0;
	CHECK(!munmap((void *)page, PAGE));
}

/* ---- overflows -------------------------------------------------------------------- */

static volatile unsigned int signals;

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	(void)context;
	signals++;
	CHECK(sig == SIGUSR1 && si->si_code == SI_PMC_OVF);
	CHECK(si->si_pmc_ovf_mask == 2 && si->si_pmc_ovf_mask_high == 0);
	CHECK(!read_state(fd) && request.overflow == 2 && request.status & VPERFCTR_STATUS_OVERFLOW);
	CHECK(!ioctl(fd, VPERFCTR_IRESUME, 0));
}

static void check_signals(void)
{
	struct sigaction action = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO };

	sigaction(SIGUSR1, &action, NULL);
	control.nractrs = control.nrictrs = 1;
	control.si_signo = SIGUSR1;
	ctr[1].ireset = -PERIOD;
	CHECK(!ioctl(fd, VPERFCTR_CONTROL, &control));
	loop(100000);
	control.tsc_on = control.nractrs = control.nrictrs = control.si_signo = 0;
	CHECK(!ioctl(fd, VPERFCTR_CONTROL, &control) && !read_state(fd));
	CHECK(own.pmc[1] >= 200000 && is_number_of(signals, own.pmc[1]));
}

static void check_ring(void)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 2, .nrsums = 2,
	};
	struct pollfd p = { .fd = fd, .events = POLLIN };
	const volatile struct vperfctr_ring_page *page;
	const struct vperfctr_sample *sample;
	__u64 i;

	control.tsc_on = control.nractrs = control.nrictrs = 1;
	control.flags = VPERFCTR_CONTROL_RING;
	FAILS(ioctl(fd, VPERFCTR_CONTROL, &control), EINVAL);
	CHECK(!ioctl(fd, VPERFCTR_RING, &ring));
	CHECK(ring.sample_size >= sizeof(*sample) + 16 && ring.map_size >= 64 * ring.sample_size);
	FAILS(ioctl(fd, VPERFCTR_RING, &ring), EEXIST);
	page = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
	CHECK(page != MAP_FAILED);
	CHECK(page->size >= sizeof(*page) && page->format == VPERFCTR_RING_FORMAT && !page->flags);
	CHECK(page->nrsamples == 64 && page->watermark == 2 && page->nrsums == 2);
	CHECK(page->sample_size == ring.sample_size && page->data >= sizeof(*page));
	CHECK(poll(&p, 1, 0) == 0);
	CHECK(!ioctl(fd, VPERFCTR_CONTROL, &control));
	loop(100000);
	control.flags = control.tsc_on = control.nractrs = control.nrictrs = 0;
	CHECK(!ioctl(fd, VPERFCTR_CONTROL, &control) && !read_state(fd));
	CHECK(own.pmc[1] >= 200000 && is_number_of(page->head, own.pmc[1]) && !page->dropped);
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLIN);
	for (i = page->tail; i < page->head; i++) {
		sample = (const void *)((const char *)page + page->data +
					(i & 63) * page->sample_size);
		CHECK(sample->type == VPERFCTR_SAMPLE_OVERFLOW);
		CHECK(sample->size >= sizeof(*sample) + 16 && sample->size <= page->sample_size);
		CHECK(sample->flags & VPERFCTR_SAMPLE_USER && sample->ip);
		CHECK(sample->pid == (__u32)getpid() && sample->tid == sample->pid);
		CHECK(sample->overflow == 2 && !sample->dropped);
		CHECK(LATE ? sample->sums[1] >= (i + 1) * PERIOD :
			     sample->sums[1] == (i + 1) * PERIOD);
	}
	FAILS(ioctl(fd, VPERFCTR_CONSUME, page->head + 1), EINVAL);
	CHECK(!ioctl(fd, VPERFCTR_CONSUME, 3) && page->tail == 3);
}

int main(void)
{
	dev = open("/dev/vperfctr", O_RDONLY | O_CLOEXEC);
	CHECK(dev >= 0);
	check_device();
	check_open();
	check_counts();
	check_signals();
	check_ring();
	CHECK(!ioctl(fd, VPERFCTR_UNLINK, 0));
	FAILS(ioctl(fd, VPERFCTR_SUSPEND, 0), ESRCH);
	CHECK(!read_state(fd) && !(request.status & VPERFCTR_STATUS_ATTACHED));
	return failures ? 1 : 0;
}
