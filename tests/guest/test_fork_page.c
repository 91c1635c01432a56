// SPDX-License-Identifier: GPL-2.0
/*
 * The page after a fork: the child has the mapping, and the page says that nothing can be
 * read.  The parent's mapping does not change.
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service.h"

#ifndef MADV_KEEPONFORK
#define MADV_KEEPONFORK	19
#endif

static int fd;
static const struct vperfctr_page *page;

static void setup(void)
{
	fd = open_state(0);
	page = map_state(fd);
	count(fd, INSNS_USER);
	/* A switch: from then on the page has a sum, also for a child on another CPU. */
	while (!*(const volatile __u64 *)&page->ctr[0].sum)
		msleep(1);
}

/* In a child: return 0, or the number of the first property that a dead page lacks. */
static int check_dead_page(const void *address)
{
	static const char zeros[MAX_PAGE - sizeof(u32)];
	const struct vperfctr_page *dead = address;

	if (try_touch(dead))
		return 1;
	if (dead->version != VPERFCTR_ABI_VERSION)
		return 2;
	if (dead->cstatus || dead->samplecount)
		return 3;
	if (memcmp((const char *)address + sizeof(u32), zeros, PAGE - sizeof(u32)))
		return 4;
	return 0;
}

static int check_dead(const void *address)
{
	u64 value;

	return check_dead_page(address) ?: try_rdpmc(0, &value) != RDPMC_SIGNAL ? 5 : 0;
}

/* In the parent: the page is live, and self-reads count. */
static void check_live(const struct vperfctr_page *live)
{
	u64 before;

	ck_assert_uint_eq(live->version, VPERFCTR_ABI_VERSION);
	before = self_read(live, 0);
	loop(1000);
	ck_assert_uint_ge(self_read(live, 0) - before, 2000);
}

static int in_child(int (*test)(const void *), const void *arg)
{
	pid_t pid = fork();

	if (!pid)
		_exit(test(arg));
	return wait_for(pid);
}

START_TEST(child_reads_dead_page)
{
	unsigned int i;

	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(in_child(check_dead, page), 0);
		check_live(page);
	}
	/* The ends of the children have not revoked the right; this does. */
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	ck_assert_int_eq(try_changed_rdpmc(0, RDPMC_SIGNAL), RDPMC_SIGNAL);
}
END_TEST

static int check_grandchild(const void *address)
{
	return check_dead(address) ?: in_child(check_dead, address);
}

START_TEST(grandchild)
{
	ck_assert_int_eq(in_child(check_grandchild, page), 0);
	check_live(page);
}
END_TEST

static int unmap_and_map(const void *address)
{
	const struct vperfctr_page *own;
	int state, err;
	u64 value;

	if (munmap((void *)address, PAGE) || try_touch(address) != SIGSEGV)
		return 10;
	/* A state of its own works; its mapping takes the place of the other one. */
	state = open_state(0);
	own = map_state(state);
	count(state, INSNS_USER);
	value = self_read(own, 0);
	loop(1000);
	if (self_read(own, 0) - value < 2000)
		return 11;
	/* A mapping by the inherited descriptor is the parent's page. */
	own = map_state(fd);
	if (!VPERFCTR_CSTATUS_NRCTRS(own->cstatus) || !own->ctr[0].sum)
		return 12;
	err = in_child(check_dead, own);
	return err ? 20 + err : 0;
}

START_TEST(child_unmaps)
{
	ck_assert_int_eq(in_child(unmap_and_map, page), 0);
	check_live(page);
}
END_TEST

static void *move(const void *address)
{
	void *to = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mremap((void *)address, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		return NULL;
	return to;
}

/* Move the mapping before or after the first access. */
static int move_and_check(const void *address)
{
	void *to = move(address);

	return to ? check_dead(to) : 30;
}

static int touch_and_move(const void *address)
{
	return check_dead(address) ?: move_and_check(address);
}

START_TEST(child_moves)
{
	ck_assert_int_eq(in_child(move_and_check, page), 0);
	ck_assert_int_eq(in_child(touch_and_move, page), 0);
	check_live(page);
}
END_TEST

START_TEST(parent_moved)
{
	const struct vperfctr_page *to = move(page);

	ck_assert_ptr_ne(to, NULL);
	ck_assert_int_eq(in_child(check_dead, to), 0);
	check_live(to);
	ck_assert_int_eq(munmap((void *)to, PAGE), 0);
	ck_assert_int_eq(try_changed_rdpmc(0, RDPMC_SIGNAL), RDPMC_SIGNAL);
}
END_TEST

/* madvise() may keep the mapping from the child, but never shows it the live page. */
START_TEST(advice_shows_no_live_page)
{
	static const int advice[] = { MADV_KEEPONFORK, MADV_DOFORK, MADV_DONTNEED };

	madvise((void *)page, PAGE, advice[_i]);
	check_live(page);
	ck_assert_int_eq(in_child(check_dead, page), 0);
	ck_assert_int_eq(in_child(check_grandchild, page), 0);
	check_live(page);
	ck_assert_int_eq(munmap((void *)page, PAGE), 0);
	ck_assert_int_eq(try_changed_rdpmc(0, RDPMC_SIGNAL), RDPMC_SIGNAL);
}
END_TEST

static int check_unmapped(const void *address)
{
	return try_touch(address) != SIGSEGV;
}

START_TEST(dontfork)
{
	ck_assert_int_eq(madvise((void *)page, PAGE, MADV_DONTFORK), 0);
	ck_assert_int_eq(in_child(check_unmapped, page), 0);
	check_live(page);
}
END_TEST

/* CLONE_VM is no fork: the memory is the parent's. */
static int check_shared_live(void *arg)
{
	const struct vperfctr_page *live = arg;

	_exit(!VPERFCTR_CSTATUS_NRCTRS(live->cstatus) || !live->ctr[0].sum);
}

START_TEST(shared_memory_is_live)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t pid = clone(check_shared_live, stack + sizeof(stack),
			  CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)page);

	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(wait_for(pid), 0);
	check_live(page);
}
END_TEST

/* A child inherits a mapping in the same way from a process that is not the owner. */
static int map_and_fork(const void *unused)
{
	const struct vperfctr_page *theirs = map_state(fd);

	(void)unused;
	if (!theirs->ctr[0].sum)
		return 40;
	return in_child(check_dead, theirs);
}

START_TEST(mapped_by_another)
{
	ck_assert_int_eq(in_child(map_and_fork, NULL), 0);
	check_live(page);
}
END_TEST

/*
 * A child that lives on with the mapping, and has closed its descriptors, does not keep
 * the counters: neither after UNLINK nor after the owner's end.
 */
START_TEST(counters_are_released)
{
	volatile int *step = shared_memory(PAGE);
	pid_t owner, child;
	u64 value;

	assert_ok(call(fd, VPERFCTR_UNLINK, 0));
	munmap((void *)page, PAGE);
	close(fd);
	ck_assert(counters_free());

	owner = fork();
	if (!owner) {
		setup();
		child = fork();
		if (!child) {
			close(fd);
			close(dev);
			*step = 1;
			while (*step < 2)
				msleep(1);
			*step = check_dead_page(page) ||
				try_rdpmc(0, &value) != RDPMC_FREE_SIGNAL ? 4 : 3;
			_exit(0);
		}
		while (*step < 1)
			msleep(1);
		if (_i) {
			if (call(fd, VPERFCTR_UNLINK, 0) || !counters_free())
				_exit(1);
			munmap((void *)page, PAGE);
			close(fd);
		}
		_exit(0);
	}
	ck_assert_int_eq(wait_for(owner), 0);
	ck_assert_eventually(counters_free());
	*step = 2;
	while (*step == 2)
		msleep(1);
	ck_assert_int_eq(*step, 3);
	/* The rest of the state goes with it. */
	settle();
}
END_TEST

/* A ring is not inherited: a child must map it itself. */
START_TEST(ring_is_not_inherited)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 4, .watermark = 1 };
	void *p;

	assert_ok(call(fd, VPERFCTR_RING, &ring));
	p = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
	ck_assert_ptr_ne(p, MAP_FAILED);
	madvise(p, ring.map_size, MADV_DOFORK);
	ck_assert_int_eq(in_child(check_unmapped, p), 0);
	ck_assert_int_eq(try_touch(p), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, child_reads_dead_page);
	tcase_add_test(tc, grandchild);
	tcase_add_test(tc, child_unmaps);
	tcase_add_test(tc, child_moves);
	tcase_add_test(tc, parent_moved);
	tcase_add_loop_test(tc, advice_shows_no_live_page, 0, 3);
	tcase_add_test(tc, dontfork);
	tcase_add_test(tc, shared_memory_is_live);
	tcase_add_test(tc, mapped_by_another);
	if (has_other_user())
		tcase_add_loop_test(tc, counters_are_released, 0, 2);
	if (has(VPERFCTR_FEATURE_PCINT))
		tcase_add_test(tc, ring_is_not_inherited);
}

int main(void)
{
	open_device();
	return run_tests("fork_page", add);
}
