// SPDX-License-Identifier: GPL-2.0
/*
 * The ABI for 32-bit programs.  There is no 32-bit libcheck: a check that fails is
 * printed, and the exit status is then 1.  Counts must be exact.
 */
#include <signal.h>
#include <string.h>

#include "common.h"

_Static_assert(sizeof(void *) == 4, "to be built with -m32");
_Static_assert(sizeof(struct vperfctr_info) == 232, "the same as in 64-bit programs");
_Static_assert(sizeof(struct vperfctr_open) == 24, "");
_Static_assert(sizeof(struct vperfctr_ctr) == 32, "");
_Static_assert(sizeof(struct vperfctr_control) == 88, "");
_Static_assert(sizeof(struct vperfctr_read) == 64, "");
_Static_assert(sizeof(struct vperfctr_soft) == 96, "");
_Static_assert(sizeof(struct vperfctr_page_ctr) == 24, "");
_Static_assert(sizeof(struct vperfctr_ring) == 48, "");
_Static_assert(sizeof(struct vperfctr_sample) == 56, "");
_Static_assert(sizeof(struct vperfctr_ring_page) == 192, "");
_Static_assert(sizeof(struct vperfctr_cpu_mask) == 8, "");
_Static_assert(sizeof(struct vperfctr_kind_cpus) == 16, "");
_Static_assert(sizeof(struct vperfctr_page) == 80, "");

static int failures;

#define CHECK(condition) do {						\
	if (!(condition)) {						\
		printf("abi32: line %d: %s\n", __LINE__, #condition);	\
		failures++;						\
	}								\
} while (0)

static __attribute__((noinline, noclone)) u64 region(const struct vperfctr_page *page,
						     unsigned int i, unsigned long n)
{
	unsigned int ignored, restarts;
	u64 before, after;

	do {
		before = self_read_restarts(page, i, &ignored);
		loop(n);
		after = self_read_restarts(page, i, &restarts);
	} while (restarts);
	return after - before;
}

/* ---- overflows ------------------------------------------------------------- */

static int overflow_fd;
static volatile unsigned int signals;

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	(void)context;
	signals++;
	CHECK(sig == SIGUSR1 && si->si_code == SI_PMC_OVF);
	CHECK(si->si_pmc_ovf_mask == 3 && si->si_pmc_ovf_mask_high == 0);
	CHECK(call(overflow_fd, VPERFCTR_IRESUME, 0) == 0);
}

static void check_overflows(void)
{
	struct sigaction action = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO };
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 1,
	};
	const volatile struct vperfctr_ring_page *page;
	struct control control;
	struct sums sums;

	overflow_fd = open_state(0);
	sigaction(SIGUSR1, &action, NULL);
	control_init(&control, 0);
	control_add(&control, 0, INSNS_USER);
	control_add(&control, 1, INSNS_USER);
	control.c.nrictrs = 2;
	control.c.nractrs = 0;
	control.c.si_signo = SIGUSR1;
	control.ctr[0].ireset = control.ctr[1].ireset = -5003;
	CHECK(set_control(overflow_fd, &control) == 0);
	loop(100000);
	CHECK(stop_all(overflow_fd) == 0);
	read_sums(overflow_fd, &sums);
	CHECK(signals >= 38 && signals == sums.pmc[0] / 5003);

	CHECK(call(overflow_fd, VPERFCTR_RING, &ring) == 0);
	CHECK(ring.sample_size == 64 && ring.map_size == 2 * PAGE);
	page = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, overflow_fd,
		    VPERFCTR_RING_OFFSET);
	CHECK(page != MAP_FAILED);
	control.c.si_signo = 0;
	control.c.flags = VPERFCTR_CONTROL_RING;
	CHECK(set_control(overflow_fd, &control) == 0);
	loop(100000);
	CHECK(stop_all(overflow_fd) == 0);
	read_sums(overflow_fd, &sums);
	CHECK(page->head >= 38 && page->head == sums.pmc[0] / 5003);
	CHECK(call(overflow_fd, VPERFCTR_CONSUME, (void *)2) == 0 && page->tail == 2);
	CHECK(call(overflow_fd, VPERFCTR_UNLINK, 0) == 0);
}

/* Registers and stack of code of 32 bits. */
static void check_stack(void)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 1, .stack = 4096,
	};
	volatile u32 marks[4] = { 0x5a5a1111, 0x5a5a2222, 0x5a5a3333, 0x5a5a4444 };
	const struct vperfctr_ring_page *page;
	const struct vperfctr_sample *s;
	struct control control;
	unsigned int i, k;
	const u64 *user;
	u64 at;

	overflow_fd = open_state(0);
	CHECK(call(overflow_fd, VPERFCTR_RING, &ring) == 0);
	page = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, overflow_fd,
		    VPERFCTR_RING_OFFSET);
	CHECK(page != MAP_FAILED);
	control_init(&control, 0);
	control_add(&control, 0, INSNS_USER);
	control.c.nrictrs = 1;
	control.c.nractrs = 0;
	control.ctr[0].ireset = -5003;
	control.c.flags = VPERFCTR_CONTROL_RING;
	CHECK(set_control(overflow_fd, &control) == 0);
	loop(100000);
	CHECK(stop_all(overflow_fd) == 0);
	CHECK(page->head >= 38);
	/* All but the first and the last ones are in the loop. */
	for (i = 2; i < 36; i++) {
		s = (const void *)((const char *)page + page->data + i * page->sample_size);
		user = (const u64 *)&s->sums[1];
		CHECK(user[0] == VPERFCTR_USER_32 && user[1 + 8] == s->ip);
		for (k = 0; k < VPERFCTR_X86_REGS; k++)
			CHECK(user[1 + k] <= UINT32_MAX && (k <= 8 || !user[1 + k]));
		at = (uintptr_t)marks - user[1 + 4];
		CHECK(at + sizeof(marks) < user[1 + VPERFCTR_X86_REGS]);
		CHECK(!memcmp((const char *)&user[2 + VPERFCTR_X86_REGS] + at, (const void *)marks,
			      sizeof(marks)));
	}
	CHECK(call(overflow_fd, VPERFCTR_UNLINK, 0) == 0);
}

int main(void)
{
	const struct vperfctr_page *page;
	struct {
		struct vperfctr_cpu_mask m;
		u32 words[4];
	} cpus = { .m = { .size = sizeof(cpus.m), .nrwords = 4 } };
	struct control control, shown;
	struct vperfctr_read req;
	struct sums a, b;
	u64 overhead;
	int fd;

	open_device();
	CHECK(info.abi_version == VPERFCTR_ABI_VERSION);
	CHECK(info.cpu_type == VPERFCTR_CPU_INTEL_ARCH || info.cpu_type == VPERFCTR_CPU_AMD ||
	      info.cpu_type == VPERFCTR_CPU_INTEL_P6);
	CHECK(info.nrctrs >= 2 && info.nrctrs == nr_general() + nr_fixed());
	CHECK(strlen(info.cpu_name) > 5);
	CHECK(call(dev, VPERFCTR_CPUS, &cpus) == 0 && cpus.m.nrwords == 1);
	CHECK(cpus.words[0] == (1U << sysconf(_SC_NPROCESSORS_CONF)) - 1);

	CHECK(try_open_state(0) == -ENOENT);
	fd = open_state(0);
	CHECK(try_open_state(VPERFCTR_OPEN_CREAT) == -EEXIST);
	CHECK(call(fd, VPERFCTR_SUSPEND, 0) == -EINVAL);
	page = map_state(fd);
	CHECK(page->version == VPERFCTR_ABI_VERSION);

	control_init(&control, 1);
	control_add(&control, 1, INSNS_USER);
	control_add(&control, 0, INSNS_USER);
	control.ctr[1].evntsel |= 1ULL << 40;
	CHECK(set_control(fd, &control) == -EINVAL);
	control.ctr[1].evntsel = CYCLES_USER;
	control.c.ctr |= 1ULL << 32;
	CHECK(set_control(fd, &control) == -EFAULT);
	control.c.ctr = (uintptr_t)control.ctr;
	CHECK(set_control(fd, &control) == 0);

	overhead = region(page, 0, 1) - 2;
	CHECK(overhead < 100);
	CHECK(region(page, 0, 1000) == overhead + 2000);
	CHECK(region(page, 0, 123456) == overhead + 246912);
	CHECK(self_read_tsc(page) > 0);

	read_sums(fd, &a);
	loop(50000);
	read_sums(fd, &b);
	CHECK(b.status == (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE));
	CHECK(b.nrctrs == 2);
	CHECK(b.tsc > a.tsc);
	CHECK(b.pmc[0] - a.pmc[0] >= 100000 && b.pmc[0] - a.pmc[0] < 100500);
	CHECK(b.pmc[1] - a.pmc[1] >= b.pmc[0] - a.pmc[0]);

	memset(&shown, 0, sizeof(shown));
	shown.c.size = sizeof(shown.c);
	shown.c.ctr_size = sizeof(shown.ctr[0]);
	shown.c.ctr = (uintptr_t)shown.ctr;
	memset(&req, 0, sizeof(req));
	req.size = sizeof(req);
	req.nrctrs = 2;
	req.control = (uintptr_t)&shown;
	CHECK(call(fd, VPERFCTR_READ, &req) == 0);
	shown.c.ctr = control.c.ctr;
	CHECK(!memcmp(&shown, &control, sizeof(control)));

	CHECK(call(fd, VPERFCTR_SUSPEND, 0) == 0);
	read_sums(fd, &a);
	loop(1000);
	read_sums(fd, &b);
	CHECK(a.pmc[0] == b.pmc[0] && page->ctr[0].sum == b.pmc[0]);
	CHECK(call(fd, VPERFCTR_RESUME, 0) == 0);
	CHECK(call(fd, VPERFCTR_UNLINK, 0) == 0);
	CHECK(call(fd, VPERFCTR_RESUME, 0) == -ESRCH);
	CHECK(call(dev, VPERFCTR_CONTROL, &control) == -ENOTTY);
	read_sums(fd, &a);
	CHECK(a.status == 0 && a.pmc[0] >= b.pmc[0]);
	check_overflows();
	check_stack();
	return failures ? 1 : 0;
}
