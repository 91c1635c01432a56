// SPDX-License-Identifier: GPL-2.0
/* Registers and stacks in samples: both are known by construction. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "overflow.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

#ifdef __x86_64__
#define REGS		VPERFCTR_X86_REGS
#define SP		7
#define IP		16
#define COUNTER		2
/* The last page that a thread can map: see the kernel's TASK_SIZE_MAX. */
#define LAST_PAGE	0x7fffffffe000UL
#define NO_PAGE		0x7ffffffff000UL
#elif defined(__riscv)
#define REGS		VPERFCTR_RISCV64_REGS
#define SP		2
#define IP		0
#define COUNTER		5
/* The last page with Sv39.  With more levels user space has more. */
#define LAST_PAGE	0x3ffffff000UL
/* Below is the stack, if there are more levels. */
#define NO_PAGE		0x800000000000UL
#elif defined(__powerpc64__)
#define REGS		VPERFCTR_POWER64_REGS
#define SP		1
#define IP		33
#define COUNTER		9
/* User space has 64 TiB with pages of 4 KiB, and 4 PiB with 64.  The stack is below 128 TiB. */
#define LAST_PAGE	((PAGE == 4096 ? 0x400000000000UL : 0x10000000000000UL) - PAGE)
#define NO_PAGE		0x800000000000UL
#else
#define REGS		VPERFCTR_ARM64_REGS
#define SP		31
#define IP		32
#define COUNTER		9
#define LAST_PAGE	0xfffffffff000UL
#define NO_PAGE		0x7ffffffff000UL
#endif

/* overflow-code.S */
void known_registers(const u64 *regs, unsigned long n);
extern const char known_registers_dec[], known_registers_jnz[];

static int fd;
static struct mapped_ring ring;
static u64 wanted[REGS];

static void setup(void)
{
	unsigned int i;

	fd = open_state(0);
	for (i = 0; i < REGS; i++)
		wanted[i] = 0x0123456789abcdefULL * (i + 1) | 1ULL << 63;
}

/* Bytes of a slot for the registers and the stack. */
static u32 size_of_user(u32 stack)
{
	return 8 + REGS * 8 + 8 + stack;
}

static void make_stack_ring(u32 flags, u32 depth, u32 stack)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .flags = flags, .nrsamples = 64, .watermark = 64, .nrsums = 1,
		.depth = depth, .stack = stack,
	};

	assert_ok(call(fd, VPERFCTR_RING, &req));
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) + 8 +
			  (depth ? 8 + depth * 8 : 0) + size_of_user(stack));
	map_ring(fd, req.map_size, &ring);
	ck_assert_uint_eq(ring.page->sample_size, req.sample_size);
	ck_assert_uint_eq(ring.page->depth, depth);
	ck_assert_uint_eq(ring.page->stack, stack);
}

struct user {
	u64 mode;
	const u64 *regs;
	u64 nr;
	const u64 *stack;
};

/* Find the parts of sample n, which must be where its size says. */
static struct user user_of(u64 n)
{
	const struct vperfctr_sample *s = ring_sample(&ring, n);
	const u64 *at = (const u64 *)&s->sums[1];
	struct user user = { 0 };

	if (ring.page->depth) {
		ck_assert_uint_le(at[0], ring.page->depth);
		at += 1 + at[0];
	}
	user.mode = *at++;
	if (user.mode != VPERFCTR_USER_NONE) {
		user.regs = at;
		user.nr = at[REGS];
		user.stack = at + REGS + 1;
		ck_assert_uint_le(user.nr, ring.page->stack);
		ck_assert_uint_eq(user.nr % 8, 0);
		at = user.stack + user.nr / 8;
	}
	ck_assert_uint_eq(s->size, (const char *)at - (const char *)s);
	return user;
}

/* Return sample n, which was made in known_registers(), after a look at its registers. */
static struct user known_user(u64 n, unsigned long iterations)
{
	const struct vperfctr_sample *s = ring_sample(&ring, n);
	struct user user = user_of(n);
	unsigned int i;

	ck_assert_msg(s->ip == (uintptr_t)known_registers_dec ||
		      s->ip == (uintptr_t)known_registers_jnz, "ip %#llx", s->ip);
	ck_assert_uint_eq(user.mode, VPERFCTR_USER_64);
	for (i = 0; i < REGS; i++) {
		if (i == COUNTER)
			ck_assert_msg(user.regs[i] && user.regs[i] <= iterations, "%llu left",
				      user.regs[i]);
		else
			ck_assert_msg(user.regs[i] == (i == IP ? s->ip : wanted[i]),
				      "register %u is %#llx, not %#llx", i, user.regs[i],
				      i == IP ? s->ip : wanted[i]);
	}
	return user;
}

/* Return a sample with this stack pointer. */
static struct user sample_with_stack(unsigned long sp)
{
	u64 from = ring_head(&ring);
	struct user user;

	wanted[SP] = sp;
	assert_ok(try_overflow_ring(fd, IMODE, 10000));
	known_registers(wanted, 12000);
	assert_ok(stop_all(fd));
	ck_assert_uint_ge(ring_head(&ring), from + 2);
	user = known_user(from + 1, 12000);
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(ring_head(&ring) - from)));
	return user;
}

/* Each page has words that tell their address, if it is in memory. */
static char *make_pages(unsigned int n, unsigned int present)
{
	char *pages = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	u64 *word;

	ck_assert_ptr_ne(pages, MAP_FAILED);
	madvise(pages, n * PAGE, MADV_NOHUGEPAGE);
	for (word = (u64 *)pages; word < (u64 *)(pages + n * PAGE); word++)
		if (present >> ((char *)word - pages) / PAGE & 1)
			*word = (uintptr_t)word * 3;
	return pages;
}

/* With a chain of calls before the registers, or without. */
START_TEST(content_of_stack)
{
	static const u32 sizes[] = { 8, 16, 4096, 8192, VPERFCTR_STACK_MAX };
	const u32 stack = sizes[_i / 2];
	char *pages = make_pages(10, 0x3ff);
	struct user user;
	u32 i;

	make_stack_ring(0, _i & 1 ? 4 : 0, stack);
	user = sample_with_stack((uintptr_t)pages + 40);
	ck_assert_uint_eq(user.nr, stack);
	for (i = 0; i < stack / 8; i++)
		ck_assert_uint_eq(user.stack[i], ((uintptr_t)pages + 40 + i * 8) * 3);
}
END_TEST

/* A page that is not in memory, or not the thread's, ends the stack. */
START_TEST(stack_that_ends)
{
	/* Not in memory, 2 pages, not in memory, 1 page, PROT_NONE, 1 page, no mapping */
	char *pages = make_pages(8, 0x76);
	const struct {
		unsigned long sp;
		u64 expected;
	} stacks[] = {
		{ 0, 0 }, { 8, 0 }, { ~0UL, 0 }, { ~0UL << 12, 0 }, { 1UL << 63, 0 },
		{ NO_PAGE + PAGE - 8, 0 }, { NO_PAGE, 0 }, { 0xffff800000000000UL, 0 },
		{ 0xffff000000000000UL, 0 },
		{ 0xffffffff81000000UL, 0 }, { 0xfffffffffffffff8UL, 0 },
		{ (uintptr_t)pages, 0 },
		{ (uintptr_t)pages + PAGE - 8, 0 },
		{ (uintptr_t)pages + PAGE - 4, 0 },
		{ (uintptr_t)pages + PAGE, 2 * PAGE },
		{ (uintptr_t)pages + PAGE + 8, 2 * PAGE - 8 },
		{ (uintptr_t)pages + PAGE + 4, 2 * PAGE - 8 },
		{ (uintptr_t)pages + 3 * PAGE - 8, 8 },
		{ (uintptr_t)pages + 3 * PAGE - 4, 0 },
		{ (uintptr_t)pages + 3 * PAGE, 0 },
		{ (uintptr_t)pages + 4 * PAGE, PAGE },
		{ (uintptr_t)pages + 5 * PAGE, 0 },
		{ (uintptr_t)pages + 6 * PAGE, PAGE },
		{ (uintptr_t)pages + 7 * PAGE, 0 },
		{ LAST_PAGE, PAGE },
		{ LAST_PAGE + PAGE - 8, 8 },
		{ LAST_PAGE + PAGE, 0 },
	};
	const u32 most = 16384;
	struct user user;
	unsigned int i;
	u64 expected;
	char *last;

	ck_assert_int_eq(mprotect(pages + 5 * PAGE, PAGE, PROT_NONE), 0);
	ck_assert_int_eq(munmap(pages + 7 * PAGE, PAGE), 0);
	/* It exists if the kernel has put the program's stack there, whose frames change. */
	last = mmap((void *)LAST_PAGE, PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (last == MAP_FAILED)
		ck_assert_int_eq(errno, EEXIST);
	else
		memset(last, 1, PAGE);
	make_stack_ring(0, 0, most);
	for (i = 0; i < NR(stacks); i++) {
		user = sample_with_stack(stacks[i].sp);
		/* Pages can be larger. */
		expected = stacks[i].expected < most ? stacks[i].expected : most;
		ck_assert_msg(user.nr == expected, "stack %#lx: %llu bytes, not %llu",
			      stacks[i].sp, user.nr, expected);
		if (stacks[i].sp != LAST_PAGE)
			ck_assert_int_eq(memcmp(user.stack, (const void *)stacks[i].sp, user.nr),
					 0);
	}
}
END_TEST

/* Each sample of a program that calls and returns has the memory that its stack was then. */
START_TEST(stacks_of_usual_code)
{
	volatile u64 marks[4] = { 0x5a5a123400001111, 0x5a5a123400002222, 0x5a5a123400003333,
				  0x5a5a123400004444 };
	u64 i, head, at;
	struct user user;

	make_stack_ring(0, 0, 4096);
	assert_ok(try_overflow_ring(fd, IMODE, 1009));
	marked_loop(20000);
	assert_ok(stop_all(fd));
	head = ring_head(&ring);
	ck_assert_uint_ge(head, 38);
	for (i = 0; i < head; i++) {
		if (ring_sample(&ring, i)->ip != (uintptr_t)marked_loop_dec &&
		    ring_sample(&ring, i)->ip != (uintptr_t)marked_loop_jnz)
			continue;
		user = user_of(i);
		ck_assert_uint_eq(user.mode, VPERFCTR_USER_64);
		at = (uintptr_t)marks - user.regs[SP];
		ck_assert_uint_lt(at + sizeof(marks), user.nr);
		ck_assert_int_eq(memcmp((char *)user.stack + at, (void *)marks, sizeof(marks)), 0);
	}
}
END_TEST

/* A sample of kernel mode has the registers with which the thread entered the kernel. */
START_TEST(registers_in_the_kernel)
{
	u64 i, kernel = 0, here = (uintptr_t)__builtin_frame_address(0);
	const struct vperfctr_sample *s;
	struct user user;
	int k;

	make_stack_ring(VPERFCTR_RING_KERNEL, 0, 1024);
	for (k = 0; k < 20; k++) {
		assert_ok(try_overflow_ring(fd, IMODE_MAP, IMODE_BOTH, 3000 + k * 97));
		syscall(SYS_getppid);
		sched_yield();
		loop(6000);
		assert_ok(stop_all(fd));
		for (i = ring.page->tail; i < ring_head(&ring); i++) {
			s = ring_sample(&ring, i);
			user = user_of(i);
			if (s->flags != VPERFCTR_SAMPLE_KERNEL || !user.mode)
				continue;
			kernel++;
			ck_assert_uint_eq(user.mode, VPERFCTR_USER_64);
			ck_assert_uint_eq(user.regs[IP] >> 63, 0);
			ck_assert_uint_gt(user.regs[SP], here - 65536);
			ck_assert_uint_lt(user.regs[SP], here + 65536);
			ck_assert_uint_eq(user.nr, 1024);
		}
		assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(ring_head(&ring) - ring.page->tail)));
	}
	ck_assert_uint_ge(kernel, 5);
}
END_TEST

/*
 * Ask for rings of some gigabytes whose size is small, or zero, without its upper half.  A kernel
 * of 32 bits that counts in 32 must not make them.
 */
static void try_sizes_that_wrap(void)
{
	struct vperfctr_ring req = { .size = sizeof(req), .watermark = 1 };
	u64 nr, size, most = sizeof(struct vperfctr_sample) + size_of_user(VPERFCTR_STACK_MAX);

	for (nr = VPERFCTR_RING_MAX; nr * most >> 32; nr /= 2) {
		for (size = (1ULL << 32) / nr; size <= most; size += 8) {
			/* Those that the limit would let pass. */
			if ((u32)(nr * size) > 64U << 20)
				continue;
			req.nrsamples = nr;
			req.stack = size - sizeof(struct vperfctr_sample) - size_of_user(0);
			assert_errno(call(fd, VPERFCTR_RING, &req), EAGAIN);
			ck_assert_uint_ge(req.map_size, 1ULL << 32);
		}
	}
}

START_TEST(stack_errors)
{
	struct vperfctr_ring req = { .size = sizeof(req), .nrsamples = 16, .watermark = 1 };
	static const u32 wrong[] = {
		1, 4, 7, 9, 8191, VPERFCTR_STACK_MAX + 1, VPERFCTR_STACK_MAX + 8, 65536,
		0x80000000, 0xfffffff8, 0xffffffff,
	};
	unsigned int i;

	for (i = 0; i < NR(wrong); i++) {
		req.stack = wrong[i];
		assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	}
	try_sizes_that_wrap();
	/* More than a user may have. */
	req.stack = VPERFCTR_STACK_MAX;
	req.nrsamples = VPERFCTR_RING_MAX;
	assert_errno(call(fd, VPERFCTR_RING, &req), EAGAIN);
	/* All that a sample can have. */
	req.nrsamples = 16;
	req.nrsums = VPERFCTR_MAX_CTRS;
	req.depth = VPERFCTR_CHAIN_MAX;
	assert_ok(call(fd, VPERFCTR_RING, &req));
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) +
			  (VPERFCTR_MAX_CTRS + 1 + VPERFCTR_CHAIN_MAX) * 8 +
			  size_of_user(VPERFCTR_STACK_MAX));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, stack_errors);
	tcase_add_loop_test(tc, content_of_stack, 0, 10);
	tcase_add_test(tc, stack_that_ends);
	tcase_add_test(tc, stacks_of_usual_code);
	tcase_add_test(tc, registers_in_the_kernel);
}

int main(void)
{
	open_device();
	return run_tests("ring_stack", add);
}
