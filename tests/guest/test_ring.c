// SPDX-License-Identifier: GPL-2.0
/* Rings of samples, exactly: one CPU, virtual time. */
#include <pthread.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"
#include "overflow.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

#define MAX_RING	"/sys/module/vperfctr/parameters/max_ring_kb_per_user"
#define MAX_STOPS	"/sys/module/vperfctr/parameters/max_stops_per_second"
#define MAX_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"

static int fd;
static struct mapped_ring ring;

static void setup(void)
{
	settle();
	write_file(MAX_RATE, "0");
	write_file(MAX_RING, "65536");
	fd = account_init();
}

/* Restore the parameters. */
static void teardown(void)
{
	write_file(MAX_RATE, "100000");
	write_file(MAX_RING, "65536");
	write_file(MAX_STOPS, "20");
}

static u64 stop(void)
{
	struct sums sums;

	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	return sums.pmc[0];
}

static int consume(int state, unsigned long n)
{
	return call(state, VPERFCTR_CONSUME, (void *)n);
}

/* ---- errors ------------------------------------------------------------------ */

static int refused(u32 flags, u32 nrsamples, u32 watermark, u32 nrsums)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .flags = flags, .nrsamples = nrsamples,
		.watermark = watermark, .nrsums = nrsums,
	};

	return call(fd, VPERFCTR_RING, &req);
}

/* A larger structure is accepted if this module knows all that is set in it. */
START_TEST(ring_of_a_newer_caller)
{
	struct {
		struct vperfctr_ring r;
		u64 newer[2];
	} s = { .r = { .size = sizeof(s), .nrsamples = 16, .watermark = 1 } };
	int i;

	for (i = 0; i < 2; i++) {
		s.newer[i] = 1ULL << 63;
		assert_errno(call(fd, VPERFCTR_RING, &s), E2BIG);
		s.newer[i] = 0;
	}
	s.r.size = PAGE + 8;
	assert_errno(call(fd, VPERFCTR_RING, &s), E2BIG);
	s.r.size = offsetof(typeof(s), newer[1]);
	s.newer[1] = ~0ULL;	/* beyond the size */
	assert_ok(call(fd, VPERFCTR_RING, &s));
	ck_assert_uint_eq(s.r.sample_size, sizeof(struct vperfctr_sample));
}
END_TEST

START_TEST(ring_errors)
{
	struct vperfctr_ring req;
	unsigned int i;

	/* Bits 0 and 1 are VPERFCTR_RING_KERNEL and _RECORDS. */
	for (i = 2; i < 32; i++)
		assert_errno(refused(1U << i, 16, 1, 0), EINVAL);
	assert_errno(refused(0, 0, 1, 0), EINVAL);
	assert_errno(refused(0, 3, 1, 0), EINVAL);
	assert_errno(refused(0, 17, 1, 0), EINVAL);
	assert_errno(refused(0, VPERFCTR_RING_MAX * 2, 1, 0), EINVAL);
	assert_errno(refused(0, 0x80000000, 1, 0), EINVAL);
	assert_errno(refused(0, 16, 0, 0), EINVAL);
	assert_errno(refused(0, 16, 17, 0), EINVAL);
	assert_errno(refused(0, 16, 1, VPERFCTR_MAX_CTRS + 1), EINVAL);
	assert_errno(refused(0, 16, 1, 0xffffffff), EINVAL);
	req = (struct vperfctr_ring){
		.size = sizeof(req), .nrsamples = 16, .watermark = 1, .kernel_depth = 1,
	};
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	memset(&req, 0, sizeof(req));
	req.size = sizeof(req) - 1;
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	assert_errno(call(fd, VPERFCTR_RING, NULL), EFAULT);
	req.size = 4096;
	assert_errno(call(fd, VPERFCTR_RING, (void *)8), EFAULT);
	/* None of these calls made a ring. */
	assert_errno(try_overflow_ring(fd, IMODE, 1000), EINVAL);
	assert_errno(consume(fd, 0), EINVAL);
	assert_errno(consume(fd, 1), EINVAL);

	assert_ok(try_ring(fd, 16, 16, 2, &req));
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) + 16);
	ck_assert_uint_eq(req.map_size % PAGE, 0);
	ck_assert_uint_ge(req.map_size, PAGE + 16 * req.sample_size);
	memset(&req, 0, sizeof(req));
	assert_errno(try_ring(fd, 1024, 1, 0, &req), EEXIST);
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) + 16);
	ck_assert_uint_eq(req.map_size, 2 * PAGE);
	assert_errno(consume(fd, 1), EINVAL);
	assert_errno(consume(fd, -1UL), EINVAL);
	assert_ok(consume(fd, 0));
}
END_TEST

static int try_mmap(size_t size, int prot, int flags, off_t offset)
{
	void *p = mmap(NULL, size, prot, flags, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	munmap(p, size);
	return 0;
}

START_TEST(mmap_errors)
{
	struct vperfctr_ring req;
	int err;

	assert_errno(try_mmap(2 * PAGE, PROT_READ, MAP_SHARED, VPERFCTR_RING_OFFSET), EINVAL);
	assert_ok(try_ring(fd, 16, 1, 0, &req));
	assert_ok(try_mmap(req.map_size, PROT_READ, MAP_SHARED, VPERFCTR_RING_OFFSET));
	assert_errno(try_mmap(req.map_size + PAGE, PROT_READ, MAP_SHARED, VPERFCTR_RING_OFFSET),
		     EINVAL);
	assert_errno(try_mmap(PAGE, PROT_READ, MAP_SHARED, VPERFCTR_RING_OFFSET), EINVAL);
	assert_errno(try_mmap(PAGE, PROT_READ, MAP_SHARED, VPERFCTR_RING_OFFSET + PAGE), EINVAL);
	assert_errno(try_mmap(req.map_size, PROT_READ, MAP_PRIVATE, VPERFCTR_RING_OFFSET), EINVAL);
	err = try_mmap(req.map_size, PROT_READ | PROT_WRITE, MAP_SHARED, VPERFCTR_RING_OFFSET);
	ck_assert_msg(err == -EACCES || err == -EPERM, "%d", err);
	err = try_mmap(req.map_size, PROT_READ | PROT_EXEC, MAP_SHARED, VPERFCTR_RING_OFFSET);
	ck_assert_msg(err == -EACCES || err == -EPERM, "%d", err);
	map_ring(fd, req.map_size, &ring);
	ck_assert_int_eq(mprotect((void *)ring.page, PAGE, PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(mprotect((void *)ring.page, PAGE, PROT_READ | PROT_EXEC), -1);
}
END_TEST

/* All rings of a user are charged together; the memory returns with the states. */
START_TEST(rings_are_charged_to_user)
{
	struct vperfctr_ring req;
	char limit[32];
	pid_t pid;
	int i;

	/* Three rings, and a part of another. */
	snprintf(limit, sizeof(limit), "%zu", 3 * ring_bytes(256, 0) / 1024 + 2);
	write_file(MAX_RING, limit);
	assert_errno(try_ring(fd, 16384, 1, 0, &req), EAGAIN);
	assert_errno(try_ring(fd, VPERFCTR_RING_MAX, 1, 32, &req), EAGAIN);
	for (i = 0; i < 20; i++) {
		assert_ok(try_ring(fd, 256, 1, 0, &req));
		ck_assert_uint_eq(req.map_size, ring_bytes(256, 0));
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
		close(fd);
		fd = open_state(0);
	}
	assert_ok(try_ring(fd, 256, 1, 0, &req));
	pid = fork();
	if (!pid) {
		int one = open_state(0), two;

		if (try_ring(one, 256, 1, 0, &req))
			_exit(1);
		if (call(one, VPERFCTR_UNLINK, NULL))
			_exit(2);
		two = open_state(0);
		/* The first ring still exists. */
		if (try_ring(two, 256, 1, 0, &req) || call(two, VPERFCTR_UNLINK, NULL))
			_exit(3);
		if (try_ring(open_state(0), 256, 1, 0, &req) != -EAGAIN)
			_exit(4);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/* As an ordinary user, make a large ring, and end it. */
static int try_large_ring(void)
{
	struct vperfctr_ring req;
	int err, mine = open_state(0);

	err = try_ring(mine, 1 << 18, 1, 0, &req);
	if (call(mine, VPERFCTR_UNLINK, NULL) || close(mine))
		_exit(1);
	return err;
}

/* The memory of rings is rationed.  With one stop in a second, this ring costs 0.44 s. */
START_TEST(large_rings_are_rationed)
{
	struct itimerval soon = { .it_value.tv_usec = 10000 };
	struct sigaction sa = { .sa_handler = on_alarm };
	pid_t pid;
	u64 start;
	int i;

	write_file(MAX_STOPS, "1");
	pid = fork();
	if (!pid) {
		become(65534);
		start = now_ms();
		for (i = 0; i < 4; i++) {
			if (try_large_ring())
				_exit(2);
		}
		if (now_ms() - start < 700)
			_exit(3);
		/* A signal ends the wait. */
		sigaction(SIGALRM, &sa, NULL);
		setitimer(ITIMER_REAL, &soon, NULL);
		_exit(try_large_ring() == -EINTR ? 0 : 4);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* ---- content of samples ------------------------------------------------------------ */

/* Each sample has a place, a time, and sums that are multiples of the period. */
START_TEST(content_of_samples)
{
	const unsigned long n = 100000;
	const u64 period = 1009;
	const struct vperfctr_sample *s;
	struct control control;
	u64 total, head, i, tsc = rdtsc(), outside = 0;

	make_ring(fd, 1024, 1024, 4, &ring);
	ck_assert_uint_eq(ring.page->size, sizeof(*ring.page));
	ck_assert_uint_eq(ring.page->format, VPERFCTR_RING_FORMAT);
	ck_assert_uint_eq(ring.page->flags, 0);
	ck_assert_uint_eq(ring.page->nrsamples, 1024);
	ck_assert_uint_eq(ring.page->watermark, 1024);
	ck_assert_uint_eq(ring.page->nrsums, 4);
	ck_assert_uint_eq(ring.page->sample_size, sizeof(*s) + 32);
	ck_assert_uint_eq(ring.page->data % PAGE, 0);
	control_init(&control, 0);
	control_add(&control, 1, INSNS_USER);
	control_add_imode(&control, IMODE, period);
	control.c.flags = VPERFCTR_CONTROL_RING;
	assert_ok(set_control(fd, &control));
	marked_loop(n);
	total = stop();
	head = ring_head(&ring);
	ck_assert_uint_eq(head, total / period);
	ck_assert_uint_ge(head, 198);
	ck_assert_uint_eq(ring.page->tail, 0);
	ck_assert_uint_eq(ring.page->dropped, 0);
	for (i = 0; i < head; i++) {
		s = ring_sample(&ring, i);
		ck_assert_uint_eq(s->type, VPERFCTR_SAMPLE_OVERFLOW);
		ck_assert_uint_eq(s->size, sizeof(*s) + 32);
		ck_assert_uint_eq(s->flags, VPERFCTR_SAMPLE_USER);
		ck_assert_uint_lt(s->cpu, nr_cpus());
		ck_assert_uint_eq(s->kind, info.kind);
		ck_assert_uint_eq(s->pid, getpid());
		ck_assert_uint_eq(s->tid, getpid());
		ck_assert_uint_eq(s->overflow, 2);
		ck_assert_uint_eq(s->dropped, 0);
		ck_assert_uint_eq(s->sums[1], (i + 1) * period);
		ck_assert_uint_eq(s->sums[0], s->sums[1]);
		ck_assert_uint_eq(s->sums[2] | s->sums[3], 0);
		ck_assert_uint_gt(s->tsc, tsc);
		tsc = s->tsc;
		/* The period is odd: the two instructions of the loop alternate. */
		if (s->ip != (uintptr_t)marked_loop_dec && s->ip != (uintptr_t)marked_loop_jnz)
			outside++;
		else if (i && i + 1 < head)
			ck_assert_uint_ne(s->ip, ring_sample(&ring, i - 1)->ip);
	}
	/* The rest is code of libcheck and libc, of some hundred instructions or 2000. */
	ck_assert_uint_ge(head - outside, 2 * n / period);
	ck_assert_uint_lt(tsc, rdtsc());
}
END_TEST

/* ---- chains of calls --------------------------------------------------------------- */

static void make_chain_ring(u32 depth)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 1024, .watermark = 1024, .nrsums = 1,
		.depth = depth,
	};

	assert_ok(call(fd, VPERFCTR_RING, &req));
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) + 8 + 8 + depth * 8);
	map_ring(fd, req.map_size, &ring);
	ck_assert_uint_eq(ring.page->depth, depth);
}

/* Return the chain of sample i, and the number of its addresses. */
static const u64 *chain_of(u64 i, u64 *n)
{
	const struct vperfctr_sample *s = ring_sample(&ring, i);

	*n = s->sums[1];
	ck_assert_uint_le(*n, ring.page->depth);
	ck_assert_uint_eq(s->size, sizeof(*s) + 16 + *n * 8);
	return &s->sums[2];
}

/* Calls itself, with a frame each time. */
__attribute__((noinline, optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")))
static void nest(unsigned int levels, unsigned long n)
{
	if (levels)
		nest(levels - 1, n);
	else
		marked_loop(n);
	__asm__ volatile("" ::: "memory");
}

/* That many addresses of the chain are those of a function without a frame. */
#ifdef __powerpc__
#define LEAVES	1
#else
#define LEAVES	0
#endif

/*
 * The loop has no frame, so the chain begins with the return address into the caller of
 * the innermost function: each level has the same one.  On POWER the loop's own return address
 * comes before that.
 */
START_TEST(chain_of_calls)
{
	const u32 depth = 16;
	const unsigned int levels = _i ? 40 : 8;
	u64 i, k, n, head, inside = 0;

	make_chain_ring(depth);
	assert_ok(try_overflow_ring(fd, IMODE, 1009));
	nest(levels, 50000);
	stop();
	head = ring_head(&ring);
	for (i = 0; i < head; i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);
		const u64 *chain = chain_of(i, &n);

		if (s->ip != (uintptr_t)marked_loop_dec && s->ip != (uintptr_t)marked_loop_jnz)
			continue;
		inside++;
		ck_assert_uint_ge(n, _i ? depth : levels + LEAVES);
		for (k = 0; k <= LEAVES; k++) {
			ck_assert_uint_gt(chain[k], (uintptr_t)nest);
			ck_assert_uint_lt(chain[k], (uintptr_t)nest + 200);
		}
		for (; k < (_i ? depth : levels + LEAVES); k++)
			ck_assert_uint_eq(chain[k], chain[LEAVES]);
		if (!_i)
			ck_assert_uint_ne(chain[levels + LEAVES], chain[LEAVES]);
		if (LEAVES)
			ck_assert_uint_ne(chain[0], chain[1]);
	}
	ck_assert_uint_ge(inside, 95);
}
END_TEST

#if defined(__riscv) || defined(__powerpc__)
/* A function that calls no others does not save its return address. */
__attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
static void leaf(unsigned long n)
{
	loop(n);
}

__attribute__((noinline, noclone, optimize("no-omit-frame-pointer")))
static void call_leaf(unsigned long n)
{
	leaf(n);
	__asm__ volatile("" ::: "memory");
}

/* The chain of a leaf begins with its caller, and goes on with the caller of that. */
START_TEST(chain_of_leaf)
{
	u64 i, n, head, inside = 0, callers = 0;

	make_chain_ring(16);
	assert_ok(try_overflow_ring(fd, IMODE, 1009));
	call_leaf(50000);
	stop();
	head = ring_head(&ring);
	for (i = 0; i < head; i++) {
		const u64 *chain = chain_of(i, &n);

		if (ring_sample(&ring, i)->ip - (uintptr_t)leaf >= 64 || n < 2)
			continue;
		inside++;
		callers += chain[0] - (uintptr_t)call_leaf < 64 &&
			   chain[1] - (uintptr_t)call_leaf >= 64;
	}
	ck_assert_uint_ge(inside, 95);
	/* But for its first and last instructions. */
	ck_assert_uint_ge(callers + 2, inside);
}
END_TEST
#endif

#ifdef __powerpc__
__attribute__((noinline, noclone))
static void call_and_loop(unsigned long n)
{
	loop(n);		/* the register is still right, but the function has a frame */
	leaf(1);
	__asm__ volatile("nop");
	loop(n);		/* it has where leaf() has returned to, which is the nop */
	__asm__ volatile("" ::: "memory");
}

/*
 * A function that has saved its return address has it once in its chain.  The chain begins with
 * an address in the function itself, behind the call, if it has called another.
 */
START_TEST(chain_of_caller)
{
	u64 i, k, n, head, caller = 0, other = 0, seen[2] = { 0, 0 };
	u64 begin = (uintptr_t)call_and_loop, end = begin + 128;

	make_chain_ring(16);
	assert_ok(try_overflow_ring(fd, IMODE, 1009));
	call_and_loop(50000);
	stop();
	head = ring_head(&ring);
	for (i = 0; i < head; i++) {
		const u64 *chain = chain_of(i, &n);
		const u64 ip = ring_sample(&ring, i)->ip;

		if (ip < begin || ip >= end)
			continue;
		for (k = 0; k < n && chain[k] >= begin && chain[k] < end; k++)
			;
		ck_assert_uint_le(k, 1);
		/* Then this test, and functions of libcheck. */
		ck_assert_uint_ge(n, k + 2);
		ck_assert_uint_ne(chain[k], chain[k + 1]);
		if (k)
			ck_assert_uint_ge(ip, chain[0]);
		if (!caller)
			caller = chain[k];
		other += chain[k] != caller;
		seen[k]++;
	}
	/* The last instructions have no frame any more, but the register is not loaded yet. */
	ck_assert_uint_le(other, 1);
	ck_assert_uint_ge(seen[0], 95);
	ck_assert_uint_ge(seen[1], 95);
}
END_TEST
#endif

/* So far below the frame pointer are the two words of a frame. */
#ifdef __riscv
#define FRAME_BELOW	16
#else
#define FRAME_BELOW	0
#endif

/* Execute a loop with any value as the frame pointer. */
static void loop_with_frame(unsigned long frame, unsigned long n)
{
#ifdef __x86_64__
	__asm__ volatile("mov %%rbp, %%r12\n\tmov %0, %%rbp\n1:\tdec %1\n\tjnz 1b\n\tmov %%r12, %%rbp"
			 : "+r" (frame), "+r" (n) :: "memory", "cc", "r12");
#elif defined(__i386__)
	__asm__ volatile("push %%ebp\n\tmov %0, %%ebp\n1:\tdec %1\n\tjnz 1b\n\tpop %%ebp"
			 : "+r" (frame), "+r" (n) :: "memory", "cc");
#elif defined(__riscv)
	__asm__ volatile("mv t0, s0\n\tmv s0, %0\n1:\taddi %1, %1, -1\n\tbnez %1, 1b\n\tmv s0, t0"
			 : "+r" (frame), "+r" (n) :: "memory", "t0");
#elif defined(__powerpc__)
	__asm__ volatile("mr 10, 1\n\tmflr 11\n\tli 12, 64\n\tmtlr 12\n\tmr 1, %0\n"
			 "1:\taddic. %1, %1, -1\n\tbne 1b\n\tmr 1, 10\n\tmtlr 11"
			 : "+r" (frame), "+r" (n) :: "memory", "cr0", "xer", "r10", "r11", "r12");
#else
	__asm__ volatile("mov x9, x29\n\tmov x29, %0\n1:\tsubs %1, %1, #1\n\tb.ne 1b\n\tmov x29, x9"
			 : "+r" (frame), "+r" (n) :: "memory", "cc", "x9");
#endif
}

/* Frames that the thread cannot read, and frames that do not end, end the chain. */
START_TEST(chain_of_wrong_frames)
{
	char *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long *loops = (unsigned long *)(pages + 2 * PAGE);
	u64 i, n, from;
	struct {
		unsigned long frame;
		u64 expected;
	} wrong[] = {
		{ 0, 0 }, { 1, 0 }, { 8, 0 }, { ~0UL, 0 }, { ~0UL << 12, 0 },
		{ ~(~0UL >> 1), 0 }, { ~0UL - 7, 0 },
#ifdef __LP64__
		{ 0x7ffffffffff0UL, 0 }, { 0xffff800000000000UL, 0 },
		{ 0xffffffff81000000UL, 0 },
#else
		{ 0xbffffff8UL, 0 }, { 0xc0000000UL, 0 }, { 0xc1000000UL, 0 },
#endif
		{ (uintptr_t)pages, 0 },			/* not present */
		{ (uintptr_t)pages + PAGE, 0 },			/* PROT_NONE */
		/* Its second word is not there. */
		{ (uintptr_t)pages + 3 * PAGE - sizeof(*loops), 0 },
#ifdef __powerpc64__
		{ (uintptr_t)pages + 3 * PAGE - 2 * sizeof(*loops), 0 },	/* nor its third */
#endif
		{ (uintptr_t)loops + sizeof(*loops) / 2, 0 },	/* not aligned */
		{ (uintptr_t)loops, 1 },			/* its own caller */
		{ (uintptr_t)(loops + 4), 2 },			/* a frame, and one below it */
		/*
		 * No return address.  POWER needs none in the first frame, and that of the next
		 * is in its second word if words have 32 bits.
		 */
		{ (uintptr_t)(loops + 8), LEAVES * (sizeof(long) == 4 ? 2 : 1) },
		{ (uintptr_t)(loops + 10), 1 },			/* kernel memory above */
	};

	ck_assert_ptr_ne(pages, MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	ck_assert_int_eq(munmap(pages + 3 * PAGE, PAGE), 0);
	loops[0] = (uintptr_t)loops + FRAME_BELOW;
	loops[1] = 11;
	loops[2] = 23;	/* for a read that is not aligned */
	loops[4] = (uintptr_t)&loops[6] + FRAME_BELOW;
	loops[5] = 15;
	loops[6] = (uintptr_t)loops + FRAME_BELOW;
	loops[7] = 17;
	loops[8] = (uintptr_t)&loops[10] + FRAME_BELOW;
	loops[9] = 0;
	loops[10] = ~0UL << 12;
	loops[11] = 21;
	make_chain_ring(8);
	for (i = 0; i < NR(wrong); i++) {
		from = ring_head(&ring);
		assert_ok(try_overflow_ring(fd, IMODE, 10000));
		loop_with_frame(wrong[i].frame + FRAME_BELOW, 11000);
		stop();
		ck_assert_uint_ge(ring_head(&ring), from + 2);
		chain_of(from + 1, &n);
		ck_assert_msg(n == wrong[i].expected, "frame %#lx: %llu addresses, not %llu",
			      wrong[i].frame, n, wrong[i].expected);
	}
}
END_TEST

START_TEST(chain_errors)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 16, .watermark = 1,
		.depth = VPERFCTR_CHAIN_MAX + 1,
	};

	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	req.depth = ~0U;
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	req.depth = VPERFCTR_CHAIN_MAX;
	assert_ok(call(fd, VPERFCTR_RING, &req));
	ck_assert_uint_eq(req.sample_size,
			  sizeof(struct vperfctr_sample) + 8 + 8 * VPERFCTR_CHAIN_MAX);
}
END_TEST

/* A ring of interface 0.9 has no chains. */
START_TEST(ring_without_depth)
{
	struct vperfctr_ring req = {
		.size = offsetof(struct vperfctr_ring, depth), .nrsamples = 16, .watermark = 1,
		.depth = 5, .stack = 1,
	};

	assert_ok(call(fd, VPERFCTR_RING, &req));
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample));
}
END_TEST

static volatile struct {
	int fd;
	u32 tid;
	u64 at;
} *theirs;

static void check_ids(const char *what, u32 pid, u32 tid, u64 from, u64 to)
{
	ck_assert_msg(from < to, "%s: no samples", what);
	for (; from < to; from++) {
		const struct vperfctr_sample *s = ring_sample(&ring, from);

		ck_assert_msg(s->pid == pid && s->tid == tid,
			      "%s: sample %llu has pid %u and tid %u, not %u and %u",
			      what, from, s->pid, s->tid, pid, tid);
	}
}

static void *exec_in_thread(void *arg)
{
	char *args[] = { "known", "a", "b", NULL };

	(void)arg;
	theirs->fd = open_state(0);
	make_ring(theirs->fd, 1024, 1, 0, &ring);
	if (try_overflow_ring(theirs->fd, IMODE, 100))
		die("CONTROL failed");
	loop(10000);
	theirs->tid = syscall(SYS_gettid);
	theirs->at = ring_head(&ring);
	execv("/tests/known", args);
	die("exec failed");
}

/* A thread that executes a file gets the process's id, and so do its samples. */
START_TEST(thread_id_in_samples)
{
	pthread_t thread;
	pid_t pid;

	theirs = shared_memory(PAGE);
	pid = fork_files();
	if (!pid) {
		pthread_create(&thread, NULL, exec_in_thread, NULL);
		for (;;)
			pause();
	}
	ck_assert_int_eq(wait_for(pid), 3);
	ck_assert_int_ne(theirs->tid, pid);
	map_ring(theirs->fd, ring_bytes(1024, 0), &ring);
	check_ids("the thread", pid, theirs->tid, 0, theirs->at);
	/* Between the last look and the exec there are other samples. */
	check_ids("after the exec", pid, pid, ring_head(&ring) - 10, ring_head(&ring));
	close(theirs->fd);
}
END_TEST

/* The ids are those that the maker of the ring sees. */
START_TEST(ids_in_namespace_of_maker)
{
	pid_t pid;

	theirs = shared_memory(PAGE);
	if (unshare(CLONE_NEWPID))
		return;		/* this kernel has no such namespaces */
	pid = fork_files();
	if (!pid) {
		theirs->fd = open_state(0);
		make_ring(theirs->fd, 64, 1, 0, &ring);
		if (try_overflow_ring(theirs->fd, IMODE, 1000))
			die("CONTROL failed");
		loop(5000);
		_exit(getpid());
	}
	ck_assert_int_eq(wait_for(pid), 1);
	map_ring(theirs->fd, ring_bytes(64, 0), &ring);
	check_ids("in the namespace", 1, 1, 0, ring_head(&ring));
	close(theirs->fd);
}
END_TEST

/* Run the same program in a-mode or i-mode: the sum must be the same. */
static u64 count_known(u64 period, u64 *head)
{
	char *args[] = { "known", "a", "b", NULL };
	struct control control;
	struct sums sums;
	pid_t pid;

	pid = fork_files();
	if (!pid) {
		acc->fd = open_state(0);
		control_init(&control, 1);
		if (period) {
			make_ring(acc->fd, 8192, 1, 1, &ring);
			control_add_imode(&control, IMODE, period);
			control.c.flags = VPERFCTR_CONTROL_RING;
		} else {
			control_add(&control, 0, INSNS_USER);
		}
		control.c.flags |= VPERFCTR_CONTROL_START_ON_EXEC;
		if (set_control(acc->fd, &control))
			_exit(99);
		execv("/tests/known", args);
		_exit(98);
	}
	ck_assert_int_eq(wait_for(pid), 3);
	read_sums(acc->fd, &sums);
	if (period) {
		struct vperfctr_ring req;

		assert_errno(try_ring(acc->fd, 1, 1, 0, &req), ESRCH);
		map_ring(acc->fd, ring_bytes(8192, 1), &ring);
		*head = ring_head(&ring);
		ck_assert_uint_eq(ring.page->dropped, 0);
	}
	close(acc->fd);
	return sums.pmc[0];
}

START_TEST(same_sums_in_imode_and_amode)
{
	const u64 tried[] = { 1, 2, 3, 7, 100, 1001, 6003, 6004, 6005, 1000000 };
	u64 head;
	unsigned int i;

	ck_assert_uint_eq(count_known(0, NULL), KNOWN_INSNS(3));
	for (i = 0; i < NR(tried); i++) {
		if (tried[i] < info.min_period)
			continue;
		ck_assert_uint_eq(count_known(tried[i], &head), KNOWN_INSNS(3));
		ck_assert_uint_eq(head, KNOWN_INSNS(3) / tried[i]);
		munmap((void *)ring.page, ring.size);
	}
}
END_TEST

START_TEST(a_hundred_thousand_samples)
{
	u64 total;

	make_ring(fd, 131072, 1, 0, &ring);
	assert_ok(try_overflow_ring(fd, IMODE, 100));
	loop(5000000);
	total = stop();
	ck_assert_uint_ge(ring_head(&ring), 100000);
	ck_assert_uint_eq(ring_head(&ring), total / 100);
	ck_assert_uint_eq(ring.page->dropped, 0);
	ck_assert_int_eq(poll_now(fd), POLLIN);
}
END_TEST

/* Several counters overflow at once: one sample has all their bits. */
START_TEST(several_overflows_in_one_sample)
{
	const u64 a = 1000, b = 1500;
	struct control control;
	struct sums sums;
	u64 at, n = 0;

	if (nr_general() < 2 || !IMODE_ALL)
		return;
	make_ring(fd, 1024, 1, 2, &ring);
	control_init(&control, 0);
	control_add_imode(&control, IMODE, a);
	control_add_imode(&control, 1, INSNS_USER, b);
	control.c.flags = VPERFCTR_CONTROL_RING;
	assert_ok(set_control(fd, &control));
	loop(50000);
	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	ck_assert_uint_eq(sums.pmc[0], sums.pmc[1]);
	for (at = 500; at <= sums.pmc[0]; at += 500) {
		u32 mask = (at % a ? 0 : 1) | (at % b ? 0 : 2);

		if (!mask)
			continue;
		ck_assert_uint_lt(n, ring_head(&ring));
		ck_assert_uint_eq(ring_sample(&ring, n)->overflow, mask);
		ck_assert_uint_eq(ring_sample(&ring, n)->sums[0], at);
		ck_assert_uint_eq(ring_sample(&ring, n)->sums[1], at);
		n++;
	}
	ck_assert_uint_eq(ring_head(&ring), n);
}
END_TEST

/* ---- full rings ------------------------------------------------------------------------ */

START_TEST(full_ring_drops_samples)
{
	struct sums sums;
	u64 head, dropped;

	make_ring(fd, 16, 4, 1, &ring);
	assert_ok(try_overflow_ring(fd, IMODE, 1000));
	loop(50000);
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	read_sums(fd, &sums);
	dropped = ring.page->dropped;
	ck_assert_uint_eq(ring_head(&ring), 16);
	ck_assert_uint_eq(16 + dropped, sums.pmc[0] / 1000);
	ck_assert_uint_ge(dropped, 84);
	ck_assert_uint_eq(ring_sample(&ring, 15)->sums[0], 16000);
	assert_errno(consume(fd, 17), EINVAL);
	ck_assert_uint_eq(ring.page->tail, 0);
	assert_ok(consume(fd, 3));
	ck_assert_uint_eq(ring.page->tail, 3);
	assert_errno(consume(fd, 14), EINVAL);

	/* Three more samples; the first one reports the number dropped before it. */
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	loop(10000);
	head = ring_head(&ring);
	ck_assert_uint_eq(head, 19);
	ck_assert_uint_eq(ring_sample(&ring, 16)->dropped, dropped);
	ck_assert_uint_eq(ring_sample(&ring, 16)->sums[0], (16 + dropped + 1) * 1000);
	ck_assert_uint_eq(ring_sample(&ring, 17)->dropped, 0);
	ck_assert_uint_eq(ring_sample(&ring, 3)->sums[0], 4000);
	assert_ok(consume(fd, 16));
	ck_assert_uint_eq(ring.page->tail, 19);
	loop(5000);
	ck_assert_uint_eq(stop() / 1000, ring_head(&ring) + ring.page->dropped);
}
END_TEST

/* The ring stays when its state's control changes. */
START_TEST(ring_outlives_controls)
{
	u64 first, total;

	make_ring(fd, 1024, 1, 1, &ring);
	assert_ok(try_overflow_ring(fd, IMODE, 1000));
	loop(10000);
	total = stop();
	first = ring_head(&ring);
	ck_assert_uint_eq(first, total / 1000);
	count(fd, INSNS_USER);
	loop(10000);
	assert_ok(try_overflow(fd, IMODE, 1000, 0));
	loop(10000);
	ck_assert_uint_eq(overflow_of(fd), 1);
	ck_assert_uint_eq(ring_head(&ring), first);
	assert_ok(try_overflow_ring(fd, IMODE, 500));
	ck_assert_uint_eq(overflow_of(fd), 0);
	loop(10000);
	total = stop();
	ck_assert_uint_eq(ring_head(&ring), first + total / 500);
	ck_assert_uint_eq(ring_sample(&ring, first)->sums[0], 500);
}
END_TEST

/* ---- rings of other threads ---------------------------------------------------------------- */

/* Another process sees complete samples, and no wake-up is lost. */
START_TEST(read_by_another_process)
{
	const u32 watermark = _i ? 5 : 1;
	volatile u64 *consumed = shared_memory(PAGE);
	pid_t pid;

	make_ring(fd, 16, watermark, 1, &ring);
	pid = fork();
	if (!pid) {
		struct mapped_ring mine;
		struct pollfd p = { .fd = fd, .events = POLLIN };
		u64 next = 0, head;

		map_ring(fd, ring.size, &mine);
		while (next < 2000) {
			if (poll(&p, 1, 5000) != 1)
				_exit(1);
			head = ring_head(&mine);
			if (head - next < watermark)
				_exit(2);
			for (; next < head; next++) {
				if (ring_sample(&mine, next)->sums[0] != (next + 1) * 2000)
					_exit(3);
			}
			if (consume(fd, next - mine.page->tail))
				_exit(4);
			if (poll_now(fd) && ring_head(&mine) - next < watermark)
				_exit(5);
			*consumed = next;
		}
		_exit(0);
	}
	assert_ok(try_overflow_ring(fd, IMODE, 2000));
	while (*consumed < 2000) {
		loop(1000);
			/* Do not run ahead of the reader. */
		while (ring_head(&ring) - *consumed >= watermark && *consumed < 2000) {
			assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
			while (ring_head(&ring) - *consumed >= watermark && *consumed < 2000) {
				if (waitpid(pid, NULL, WNOHANG | WNOWAIT) == pid)
					ck_assert_int_eq(wait_for(pid), 0);
				msleep(1);
			}
			assert_ok(call(fd, VPERFCTR_RESUME, NULL));
		}
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_eq(ring.page->dropped, 0);
}
END_TEST

START_TEST(ring_after_end_of_owner)
{
	pid_t pid;
	struct sums sums;
	u64 head;
	short expected = POLLIN | POLLHUP;

	pid = fork_files();
	if (!pid) {
		acc->fd = open_state(0);
		make_ring(acc->fd, 64, 64, 1, &ring);
		if (try_overflow_ring(acc->fd, IMODE, 1000))
			_exit(1);
		loop(2500);
		if (_i)
			call(acc->fd, VPERFCTR_UNLINK, NULL);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_eventually(!(status_of(acc->fd) & ATTACHED));
	read_sums(acc->fd, &sums);
	/* Fewer samples than the watermark, but there will be no more. */
	ck_assert_int_eq(poll_now(acc->fd), expected);
	map_ring(acc->fd, ring_bytes(64, 1), &ring);
	head = ring_head(&ring);
	ck_assert_uint_eq(head, sums.pmc[0] / 1000);
	ck_assert_uint_ge(head, 5);
	ck_assert_uint_eq(ring_sample(&ring, head - 1)->sums[0], head * 1000);
	assert_ok(consume(acc->fd, head - 1));
	ck_assert_int_eq(poll_now(acc->fd), expected);
	assert_ok(consume(acc->fd, 1));
	ck_assert_int_eq(poll_now(acc->fd), POLLHUP);
	assert_errno(consume(acc->fd, 1), EINVAL);
}
END_TEST

static void wait_stopped(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		die("the target ended with %#x, or %s", status, strerror(errno));
}

/* A monitor's ring of a process that does not cooperate. */
START_TEST(ring_of_a_monitor)
{
	volatile unsigned long *n = shared_memory(PAGE);
	int target, i;
	pid_t pid;

	*n = 10000;
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		stop_for_ever(getpid(), getpid(), n);
	}
	wait_stopped(pid);
	target = open_thread(pid, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(target, 0);
	make_ring(target, 1024, 1, 1, &ring);
	assert_ok(try_overflow_ring(target, IMODE, 777));
	for (i = 1; i <= 5; i++) {
		ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		wait_stopped(pid);
		ck_assert_uint_eq(ring_head(&ring), i * INSNS_STOP(10000) / 777);
	}
	ck_assert_uint_eq(ring_sample(&ring, 3)->sums[0], 4 * 777);
	/* Not while the process runs, and not by other callers. */
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	wait_stopped(pid);
	kill(pid, SIGKILL);
	wait_for(pid);
	ck_assert_eventually(poll_now(target) == (POLLIN | POLLHUP));
	ck_assert_uint_eq(ring_head(&ring), 6 * INSNS_STOP(10000) / 777);
	close(target);
}
END_TEST

/* ---- kernel addresses ----------------------------------------------------------- */

/*
 * Overflows at and around system calls: samples have kernel addresses only if the
 * control counts kernel mode and the ring was made to hold them.
 */
START_TEST(no_kernel_addresses)
{
	u64 i, period, kernel = 0, user = 0;
	unsigned int j;

	if (_i)
		write_file(MAX_RATE, "100000");
	make_ring_flags(fd, _i == 1 ? VPERFCTR_RING_KERNEL : 0, 8192, 1, 0, &ring);
	for (period = SHORTEST_IN_LIBC; period < 80; period++) {
		assert_ok(try_overflow_ring(fd, IMODE_MAP, _i ? IMODE_BOTH : IMODE_USER,
					    _i ? 3000 + period * 97 : period));
		for (j = 0; j < 3; j++) {
			syscall(SYS_getppid);
			sched_yield();
			if (j == 1)
				msleep(1);
		}
		/* More than a period, however long the kernel took. */
		if (_i)
			loop(6000);
		assert_ok(stop_all(fd));
		for (i = ring.page->tail; i < ring_head(&ring); i++) {
			bool in_kernel = is_kernel_address(ring_sample(&ring, i)->ip);

			if (in_kernel)
				kernel++;
			else
				user++;
			ck_assert_uint_ne(ring_sample(&ring, i)->ip, 0);
			ck_assert_uint_eq(ring_sample(&ring, i)->flags,
					  in_kernel ? VPERFCTR_SAMPLE_KERNEL : VPERFCTR_SAMPLE_USER);
		}
		ck_assert(_i || !ring.page->dropped);
		assert_ok(consume(fd, ring_head(&ring) - ring.page->tail));
	}
	/* Some are missing: making a sample causes the kernel's next overflow. */
	ck_assert_uint_ge(user, _i && !is_kcsan_kernel() ? 20 : 10);
	if (_i == 1)
		ck_assert_uint_ge(kernel, 20);
	else
		ck_assert_uint_eq(kernel, 0);
}
END_TEST

/* A caller that must not count the kernel can neither make nor map a ring of its addresses. */
START_TEST(kernel_ring_eperm)
{
	struct vperfctr_ring req;
	pid_t pid;

	make_ring_flags(fd, VPERFCTR_RING_KERNEL, 16, 1, 0, &ring);
	pid = fork();
	if (!pid) {
		int own;

		if (setresuid(NOBODY, NOBODY, NOBODY))
			die("setresuid: %s", strerror(errno));
		if (mmap(NULL, ring.size, PROT_READ, MAP_SHARED, fd,
			 VPERFCTR_RING_OFFSET) != MAP_FAILED || errno != EPERM)
			_exit(1);
		own = open_state(0);
		memset(&req, 0, sizeof(req));
		req.size = sizeof(req);
		req.flags = VPERFCTR_RING_KERNEL;
		req.nrsamples = 16;
		req.watermark = 1;
		if (call(own, VPERFCTR_RING, &req) != -EPERM)
			_exit(2);
		req.flags = 0;
		_exit(call(own, VPERFCTR_RING, &req) ? 3 : 0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

/* ---- storms ------------------------------------------------------------------- */

static const struct {
	u64 period;			/* 0: the shortest */
	const char *rate;
} storms[] = { { 0, "0" }, { 0, "100000" }, { 0, "1" }, { 3, "1000" }, { 10, "100000" } };

/* Throttled or not: overflows without a sample are counted, and sums are exact. */
START_TEST(storm_is_throttled)
{
	const u64 period = storms[_i].period ?: info.min_period;
	u32 nrsamples = 1 << 14;
	u64 total, i, n = 0, dropped = 0;
	int err;

	write_file(MAX_RATE, storms[_i].rate);
	make_ring(fd, nrsamples, 1, 1, &ring);
	/* A check takes a thousand instructions or more: none is counted. */
	err = try_overflow_ring(fd, IMODE, period);
	loop(30000);
	total = stop();
	assert_ok(err);
	ck_assert_uint_ge(total, 60000);
	ck_assert_uint_lt(total, 62000);
	for (i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		n += __builtin_popcount(s->overflow);
		dropped += s->dropped;
		ck_assert_msg(s->sums[0] == (n + dropped) * period,
			      "sample %llu: sum %llu, %llu before it, %llu dropped", i,
			      s->sums[0], n, dropped);
	}
	ck_assert_uint_eq(n + ring.page->dropped, total / period);
	ck_assert_uint_ge(ring.page->dropped, dropped);
	/* "0" is no limit: samples are dropped only for lack of room. */
	if (storms[_i].rate[0] == '0')
		ck_assert_uint_eq(n, nrsamples);
	if (!strcmp(storms[_i].rate, "1000"))
		ck_assert_uint_gt(ring.page->dropped, n);
}
END_TEST

static void make_ring_with_rate(u32 nrsamples, u32 rate)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = nrsamples, .watermark = 1, .nrsums = 1,
		.rate = rate,
	};

	assert_ok(call(fd, VPERFCTR_RING, &req));
	map_ring(fd, req.map_size, &ring);
}

/* The most events in one tick of the TSC while eight samples were made. */
static double peak_speed(void)
{
	double speed, peak = 0;
	u64 i;

	for (i = 8; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *a = ring_sample(&ring, i - 8);
		const struct vperfctr_sample *b = ring_sample(&ring, i);

		speed = (double)(b->sums[0] - a->sums[0]) / (double)(b->tsc - a->tsc);
		if (peak < speed)
			peak = speed;
	}
	return peak;
}

/* 1900 is not a whole number of samples in the ticks of a window. */
static const struct {
	u32 rate;
	u64 period;
} rates[] = { { 200, 1009 }, { 1000, 1009 }, { 1900, 1500 }, { 10000, 1009 } };

/* The number of overflows in the shortest of the periods that end at sample `from` or after. */
static double shortest_period(u64 from)
{
	u64 i, n, shortest = UINT64_MAX;

	for (i = from; i < ring_head(&ring); i++) {
		n = 1 + ring_sample(&ring, i)->dropped;
		if (shortest > n)
			shortest = n;
	}
	return (double)shortest;
}

/*
 * The periods adapt to the ring's rate, and samples with those that were dropped before them
 * are all overflows.
 *
 * A pause of the emulator makes a period shorter.  A tick that comes late makes some longer, so
 * the check of the rate looks at the shortest, and goes on until one is as short as it must be.
 * The simulation checks the number of samples in each window.
 */
START_TEST(periods_adapt_to_a_rate)
{
	const u64 period = rates[_i].period;
	u64 i, n = 0, begin, elapsed, adapted = 0;
	double usual, last;

	make_ring_with_rate(1 << 14, rates[_i].rate);
	assert_ok(try_overflow_ring(fd, IMODE, period));
	begin = now_ms();
	do {
		loop(100000);
		elapsed = now_ms() - begin;
		if (!adapted && elapsed >= 150)
			adapted = ring_head(&ring);
		usual = peak_speed() * info.tsc_khz * 1000 / rates[_i].rate / (double)period;
		last = shortest_period(adapted);
	} while (elapsed < 300 || (last > 2.5 * usual && ring_head(&ring) < 10000));
	stop();
	ck_assert_uint_ge(ring_head(&ring), 20);
	for (i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		n += 1 + s->dropped;
		ck_assert_uint_eq(s->sums[0], n * period);
	}
	ck_assert_uint_eq(ring.page->dropped + ring_head(&ring), stop() / period);
	/* 8 before the first period grows, less than 31 until it is long enough, and the rate's. */
	ck_assert_uint_le(ring_head(&ring), 40 + elapsed * rates[_i].rate * 11 / 10000);
	ck_assert_msg(last <= 2.5 * usual, "each %f overflows, not each %f", last, usual);
}
END_TEST

/* A rate that is above the module's limit does not lift it. */
START_TEST(module_limits_the_rate)
{
	write_file(MAX_RATE, "1000");
	make_ring_with_rate(1 << 14, 0xffffffff);
	assert_ok(try_overflow_ring(fd, IMODE, 10));
	loop(30000);
	stop();
	ck_assert_uint_gt(ring.page->dropped, ring_head(&ring));
}
END_TEST

/* The next control does not inherit lengthened periods. */
START_TEST(next_control_after_a_storm)
{
	u64 before, total;

	write_file(MAX_RATE, "1000");
	make_ring(fd, 1 << 14, 1, 1, &ring);
	assert_ok(try_overflow_ring(fd, IMODE, 10));
	loop(100000);
	stop();
	ck_assert_uint_gt(ring.page->dropped, 1000);
	/* Another tick of the clock. */
	write_file(MAX_RATE, "100000");
	msleep(20);
	before = ring_head(&ring) + ring.page->dropped;
	total = ring.page->dropped;
	assert_ok(try_overflow_ring(fd, IMODE, 10000));
	loop(100000);
	ck_assert_uint_eq(stop() / 10000, 20);
	ck_assert_uint_eq(ring_head(&ring) + ring.page->dropped - before, 20);
	ck_assert_uint_eq(ring.page->dropped, total);
}
END_TEST

/*
 * After some quiet time the periods are short again, however small the limit is.  The loops are
 * shorter than a period, or the second of two overflows in a tick would be dropped.
 */
START_TEST(periods_recover_after_a_storm)
{
	u64 before, dropped;
	int i;

	write_file(MAX_RATE, _i ? "1" : "1000");
	make_ring(fd, 1 << 14, 1, 1, &ring);
	assert_ok(try_overflow_ring(fd, IMODE, 10000));
	loop(100000);
	/* One period per tick: ticks without a sample pass as well. */
	for (i = 0; i < 100; i++) {
		loop(4500);
		msleep(20);
	}
	before = ring_head(&ring);
	dropped = ring.page->dropped;
	ck_assert_uint_gt(dropped, 0);
	for (i = 0; i < 24; i++) {
		loop(4500);
		msleep(20);
	}
	ck_assert_uint_ge(ring_head(&ring) - before, 20);
	ck_assert_uint_le(ring_head(&ring) - before, 24);
	ck_assert_uint_eq(ring.page->dropped, dropped);
	stop();
}
END_TEST

/* Another thread gets its share of the CPU, and SIGKILL ends the storm. */
START_TEST(storm_is_killable)
{
	pid_t pid;

	write_file(MAX_RATE, _i ? "100000" : "0");
	pid = fork_files();
	if (!pid) {
		acc->fd = open_state(0);
		make_ring(acc->fd, 1024, 1, 1, &ring);
		if (try_overflow_ring(acc->fd, IMODE, info.min_period))
			_exit(1);
		acc->signals = 1;
		for (;;)
			;
	}
	while (!acc->signals)
		msleep(1);
	msleep(5);
	loop(20000000);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	ck_assert_eventually(!(status_of(acc->fd) & ATTACHED));
	map_ring(acc->fd, PAGE + 1024 * (sizeof(struct vperfctr_sample) + 8), &ring);
	ck_assert_uint_eq(ring_head(&ring) + ring.page->dropped,
			  count_of(acc->fd) / info.min_period);
	close(acc->fd);
	ck_assert_eventually(counters_free());
}
END_TEST

/*
 * The same in kernel mode, which counts the handling of overflows too: this must not
 * take all the time of the CPU.
 */
START_TEST(storm_in_the_kernel)
{
	pid_t pid;

	write_file(MAX_RATE, _i ? "0" : "100000");
	pid = fork_files();
	if (!pid) {
		acc->fd = open_state(0);
		make_ring(acc->fd, 1024, 1, 1, &ring);
		acc->signals = 1;
		if (try_overflow_ring(acc->fd, IMODE_MAP, IMODE_BOTH, 100))
			_exit(1);
		for (;;)
			sched_yield();
	}
	while (!acc->signals)
		msleep(1);
	msleep(5);
	loop(5000000);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	close(acc->fd);
	ck_assert_eventually(counters_free());
}
END_TEST

static void add_kernel(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_unchecked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, storm_in_the_kernel, 0, 2);
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_unchecked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, ring_errors);
	tcase_add_test(tc, ring_of_a_newer_caller);
	tcase_add_test(tc, mmap_errors);
	tcase_add_test(tc, rings_are_charged_to_user);
	tcase_add_test(tc, large_rings_are_rationed);
	tcase_add_test(tc, content_of_samples);
	tcase_add_loop_test(tc, chain_of_calls, 0, 2);
#if defined(__riscv) || defined(__powerpc__)
	tcase_add_test(tc, chain_of_leaf);
#endif
#ifdef __powerpc__
	tcase_add_test(tc, chain_of_caller);
#endif
	tcase_add_test(tc, chain_of_wrong_frames);
	tcase_add_test(tc, chain_errors);
	tcase_add_test(tc, ring_without_depth);
	tcase_add_test(tc, thread_id_in_samples);
	tcase_add_test(tc, ids_in_namespace_of_maker);
	tcase_add_test(tc, same_sums_in_imode_and_amode);
	tcase_add_test(tc, a_hundred_thousand_samples);
	tcase_add_test(tc, several_overflows_in_one_sample);
	tcase_add_test(tc, full_ring_drops_samples);
	tcase_add_test(tc, ring_outlives_controls);
	tcase_add_loop_test(tc, read_by_another_process, 0, 2);
	tcase_add_loop_test(tc, ring_after_end_of_owner, 0, 2);
	tcase_add_test(tc, ring_of_a_monitor);
	tcase_add_loop_test(tc, no_kernel_addresses, 0, 3);
	tcase_add_test(tc, kernel_ring_eperm);
	tcase_add_loop_test(tc, storm_is_throttled, 0, NR(storms));
	tcase_add_loop_test(tc, periods_adapt_to_a_rate, 0, NR(rates));
	tcase_add_test(tc, module_limits_the_rate);
	tcase_add_test(tc, next_control_after_a_storm);
	tcase_add_loop_test(tc, periods_recover_after_a_storm, 0, 2);
	tcase_add_loop_test(tc, storm_is_killable, 0, 2);
}

/* "kernel" is a test that could bring the machine down. */
int main(int argc, char **argv)
{
	open_device();
	wait_for_upper_tsc();
	if (argc > 1 && !strcmp(argv[1], "kernel"))
		return run_tests("ring-kernel", add_kernel);
	return run_tests("ring", add);
}
