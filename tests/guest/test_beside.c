// SPDX-License-Identifier: GPL-2.0
/*
 * Several states of one thread: its own one, and observers' beside it.  Each counts exactly what
 * it would count alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "overflow.h"

static int open_observer(u32 flags)
{
	int fd = open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER | flags);

	if (fd < 0)
		die("VPERFCTR_OPEN: %s", strerror(-fd));
	return fd;
}

/* Count instructions in the n-th general counter. */
static int count_in(int fd, unsigned int n, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(n), INSNS_USER);
	control.c.flags = flags;
	return set_control(fd, &control);
}

static void check_children(int fd, u64 insns)
{
	struct reading r;

	read_state(fd, &r);
	ck_assert_uint_eq(r.children[1], insns);
	ck_assert_uint_eq(r.read.children_missed, 0);
}

/* READ of one state counts the same, whichever state is read. */
static u64 between_reads(int fd, int read, unsigned long n)
{
	u64 before = count_of(fd);
	struct reading r, r2;

	ck_assert_int_eq(read_loop_read(read, VPERFCTR_READ, init_reading(&r), init_reading(&r2), n), 0);
	return count_of(fd) - before;
}

START_TEST(both_count)
{
	int own = open_state(0), observer = open_observer(0);
	struct reading before, after;
	u64 few;

	assert_ok(count_in(own, 0, 0));
	assert_ok(count_in(observer, 1, 0));
	/* The first call of a function may resolve a symbol. */
	between_reads(own, own, 1);
	between_reads(observer, own, 1);
	ck_assert_int_eq(read_loop_read(own, VPERFCTR_READ, init_reading(&before), init_reading(&after),
					10000), 0);
	ck_assert_uint_eq(after.own[1] - before.own[1], INSNS_BETWEEN(10000));
	ck_assert_int_eq(read_loop_read(observer, VPERFCTR_READ, init_reading(&before),
					init_reading(&after), 10000), 0);
	ck_assert_uint_eq(after.own[1] - before.own[1], INSNS_BETWEEN(10000));
	few = between_reads(own, observer, 1);
	ck_assert_uint_eq(between_reads(own, observer, 5001) - few, 10000);
	ck_assert_uint_eq(between_reads(observer, own, 5001) -
			  between_reads(observer, own, 1), 10000);
	/* One is suspended, and the other goes on. */
	assert_ok(call(own, VPERFCTR_SUSPEND, NULL));
	ck_assert_uint_eq(between_reads(own, observer, 1000), 0);
	ck_assert_uint_eq(between_reads(observer, observer, 5001) -
			  between_reads(observer, observer, 1), 10000);
	assert_ok(call(own, VPERFCTR_RESUME, NULL));
	ck_assert_uint_eq(between_reads(own, own, 5001) - between_reads(own, own, 1), 10000);
	assert_ok(call(own, VPERFCTR_UNLINK, NULL));
	ck_assert_uint_eq(between_reads(observer, observer, 5001) -
			  between_reads(observer, observer, 1), 10000);
	close(observer);
	close(own);
}
END_TEST

/* Both are read in user mode, with one map of counters each. */
START_TEST(both_are_read_in_user_mode)
{
	int own = open_state(0), observer = open_observer(0);
	const struct vperfctr_page *page = map_state(own), *other = map_state(observer);
	u64 before, other_before, first, between, last;

	assert_ok(count_in(own, 0, 0));
	assert_ok(count_in(observer, 1, 0));
	before = self_read(page, 0);
	other_before = self_read(other, 0);
	first = self_read(page, 0) - before;
	between = self_read(other, 0) - other_before;
	loop(10000);
	last = self_read(page, 0) - before;
	other_before = self_read(other, 0) - other_before;
	/* Two instructions in each round, and those of the reads. */
	ck_assert_uint_ge(last - first, 20000);
	ck_assert_uint_lt(last - first, 20400);
	ck_assert_uint_ge(other_before - between, 20000);
	ck_assert_uint_lt(other_before - between, 20400);
	close(observer);
	close(own);
}
END_TEST

/* So is a counter in i-mode, which may start from another value than it was left with. */
START_TEST(imode_is_read_in_user_mode)
{
	int own = open_state(0), observer = open_observer(0);
	const struct vperfctr_page *page = map_state(own);
	struct control control;
	struct reading r;
	u64 before, after;

	control_init(&control, 1);
	control_add_imode(&control, IMODE_ALL ? nth_general(0) : IMODE_MAP, IMODE_USER, 100000000);
	control.c.si_signo = SIGRTMIN;
	assert_ok(set_control(own, &control));
	assert_ok(count_in(observer, 1, 0));
	/* The first switch after READ loads the counter again. */
	usleep(1000);
	before = self_read(page, 0);
	loop(10000);
	after = self_read(page, 0);
	read_state(own, &r);
	ck_assert_uint_ge(after - before, 20000);
	ck_assert_uint_lt(after - before, 20400);
	ck_assert_uint_le(after, r.own[1]);
	ck_assert_uint_lt(r.own[1] - after, 20000);
	close(observer);
	close(own);
}
END_TEST

static const unsigned long kinds[] = { FORKED, VFORKED, SHARING_MEMORY, THREAD | CLONE_VFORK };

/* Children inherit both, and each family is complete. */
START_TEST(both_are_inherited)
{
	int own = open_state(0), observer = open_observer(0);
	u64 expected = 0;
	unsigned int i;

	assert_ok(count_in(own, 0, VPERFCTR_CONTROL_INHERIT));
	assert_ok(count_in(observer, 1, VPERFCTR_CONTROL_INHERIT));
	for (i = 1; i <= 4; i++) {
		if (kinds[_i] == FORKED) {
			ck_assert_int_eq(wait_for(spawn_tree(FORKED, i, 1000 * i)), 0);
			expected += INSNS_TREE(i, 1000ULL * i);
		} else {
			ck_assert_int_eq(wait_for(spawn_tree(THREAD | CLONE_VFORK, i, 1000 * i)), 0);
			expected += INSNS_TREE_THREADS(i, 1000ULL * i);
		}
		check_children(own, expected);
		check_children(observer, expected);
	}
	close(observer);
	close(own);
}
END_TEST

/* A thread that counts itself in the first general counter, and executes 2n instructions. */
struct self {
	struct counted counted;
	struct vperfctr_open open;
	struct control control;
	struct reading r;
	pid_t tid;
};

static void start_self(struct self *self, unsigned long n)
{
	unsigned int *futex = shared_memory(PAGE);

	memset(self, 0, sizeof(*self));
	self->open.size = sizeof(self->open);
	self->open.flags = VPERFCTR_OPEN_CREAT;
	control_init(&self->control, 1);
	control_add(&self->control, nth_general(0), INSNS_USER);
	self->control.c.ctr = (uintptr_t)self->control.ctr;
	self->counted = (struct counted){
		.dev = dev, .open = &self->open, .control = &self->control.c, .futex = futex, .n = n,
		.read = init_reading(&self->r), .ended = futex + 1,
	};
	self->tid = start_counted(THREAD, &self->counted);
	ck_assert_int_gt(self->tid, 0);
}

static void end_self(struct self *self)
{
	wake_all(self->counted.futex);
	ck_assert_eventually(__atomic_load_n(self->counted.ended, __ATOMIC_SEQ_CST));
	ck_assert_int_ge(self->counted.fd, 0);
	ck_assert_int_eq(self->counted.control_result, 0);
	ck_assert_int_eq(self->counted.read_result, 0);
	ck_assert_uint_eq(self->r.own[1], INSNS_COUNTED(self->counted.n));
}

/*
 * An interrupt may repeat the instructions by which the thread says that it ends, in one of two
 * counts or in both.  It seldom does, and not ten times.
 */
#if defined(__aarch64__) || defined(__powerpc__)
#define AGAIN		4
#define MAX_AGAIN	10
#endif

static void check_difference(u64 more, u64 less, u64 expected)
{
	const s64 again = more - less - expected;

#ifdef AGAIN
	ck_assert_msg(-MAX_AGAIN * AGAIN <= again && again <= MAX_AGAIN * AGAIN &&
		      again % AGAIN == 0, "%llu - %llu, not %llu", more, less, expected);
#else
	ck_assert_msg(!again, "%llu - %llu, not %llu", more, less, expected);
#endif
}

/* Return what nr observers have counted of the thread, which must be the same for all of them. */
static u64 observed(unsigned long n, const int *observer, unsigned int nr)
{
	u64 before[VPERFCTR_MAX_STATES], all = 0;
	struct reading r;
	struct self self;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		read_state(observer[i], &r);
		before[i] = r.children[1];
	}
	start_self(&self, n);
	end_self(&self);
	for (i = 0; i < nr; i++) {
		ck_assert_eventually(!(status_of(observer[i]) & CHILDREN));
		read_state(observer[i], &r);
		ck_assert_uint_eq(r.read.children_missed, 0);
		if (!i)
			all = r.children[1] - before[i];
		ck_assert_uint_eq(r.children[1] - before[i], all);
	}
	return all;
}

/* Observers count a thread, from its start to its end, that counts itself. */
START_TEST(program_counts_itself)
{
	/* One of them needs a counter that the thread does not. */
	const unsigned int nr = __builtin_popcountll(info.pmc_mask) > 2 ? 2 : 1;
	int observer[2];
	unsigned int i;
	u64 few;

	for (i = 0; i < nr; i++) {
		observer[i] = open_observer(0);
		assert_ok(count_in(observer[i], 1 + i, VPERFCTR_CONTROL_INHERIT));
	}
	few = observed(1, observer, nr);
	ck_assert_uint_gt(few, INSNS_COUNTED(1));
	ck_assert_uint_lt(few, INSNS_COUNTED(1) + 100);
	check_difference(observed(12345, observer, nr), few, 2 * 12344);
	for (i = 0; i < nr; i++)
		close(observer[i]);
}
END_TEST

static int attach_to(struct vperfctr_attach *req, u32 size, unsigned int n)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, nth_general(n), INSNS_USER);
	req->size = size;
	req->control = (uintptr_t)&control.c;
	return call(dev, VPERFCTR_ATTACH, req);
}

static bool sleeps(pid_t tid)
{
	char path[64], text[256];
	const char *state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	read_file(path, text, sizeof(text));
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

/* Attach to a thread that counts itself, as another program would.  Return the count. */
static u64 attached(unsigned long n)
{
	struct vperfctr_attach req = {
		.flags = VPERFCTR_ATTACH_OBSERVER | VPERFCTR_ATTACH_THREAD,
		.mem_fd = open("/proc/self/mem", O_RDONLY),
	};
	const u32 small = offsetof(struct vperfctr_attach, used_pmcs);
	struct control control;
	struct reading r;
	struct self self;
	int set;

	start_self(&self, n);
	ck_assert_eventually(sleeps(self.tid));
	req.tid = self.tid;
	/* A caller that does not know the last fields has no others behind its structure. */
	assert_errno(attach_to(&req, small, 0), EADDRINUSE);
	ck_assert_uint_eq(req.used_pmcs | req.used_fixed, 0);
	/* The counter that cannot be had is told, and nothing else. */
	assert_errno(attach_to(&req, sizeof(req), 0), EADDRINUSE);
	ck_assert_uint_eq(req.used_pmcs, 1ULL << nth_general(0));
	ck_assert_uint_eq(req.used_fixed, 0);
	ck_assert_uint_eq(req.nrthreads | req.nrskipped, 0);
	req.used_pmcs = 0;
	/* A control that needs no counter serves to ask. */
	control_init(&control, 1);
	req.control = (uintptr_t)&control.c;
	set = call(dev, VPERFCTR_ATTACH, &req);
	ck_assert_int_ge(set, 0);
	close(set);
	ck_assert_uint_eq(req.used_pmcs, 1ULL << nth_general(0));
	req.used_pmcs = req.nrthreads = 0;
	set = attach_to(&req, sizeof(req), 1);
	ck_assert_int_ge(set, 0);
	ck_assert_uint_eq(req.used_pmcs, 1ULL << nth_general(0));
	end_self(&self);
	ck_assert_eventually(!(status_of(set) & CHILDREN));
	read_state(set, &r);
	close(set);
	close(req.mem_fd);
	return r.children[1];
}

START_TEST(attached_to)
{
	check_difference(attached(12345), attached(1), 2 * 12344);
}
END_TEST

/* Check which general counters INFO of a state, or of the device, says are used. */
static void check_info(int fd, u64 own, u64 observers)
{
	struct vperfctr_info i = { .size = sizeof(i), .kind = info.kind };

	assert_ok(call(fd, VPERFCTR_INFO, &i));
	ck_assert_uint_eq(i.own_pmcs, own);
	ck_assert_uint_eq(i.used_pmcs, observers);
	ck_assert_uint_eq(i.own_fixed | i.used_fixed, 0);
	/* The rest is the same. */
	ck_assert_uint_eq(i.pmc_mask, info.pmc_mask);
	ck_assert_uint_eq(i.features, info.features);
	ck_assert_str_eq(i.cpu_name, info.cpu_name);
}

/* INFO of another thread's state tells of that thread, until it ends. */
START_TEST(info_of_another)
{
	struct vperfctr_attach req = {
		.flags = VPERFCTR_ATTACH_OBSERVER | VPERFCTR_ATTACH_THREAD,
		.mem_fd = open("/proc/self/mem", O_RDONLY),
	};
	const u64 first = 1ULL << nth_general(0), second = 1ULL << nth_general(1);
	int mine = open_state(0), set, member;
	struct self self;

	assert_ok(count_in(mine, 1, 0));
	start_self(&self, 1000);
	ck_assert_eventually(sleeps(self.tid));
	check_info(dev, second, 0);
	check_info(mine, second, 0);
	check_info(self.counted.fd, first, 0);
	req.tid = self.tid;
	set = attach_to(&req, sizeof(req), 1);
	ck_assert_int_ge(set, 0);
	member = call(set, VPERFCTR_MEMBER, (void *)(long)self.tid);
	ck_assert_int_ge(member, 0);
	check_info(self.counted.fd, first, second);
	check_info(member, first, second);
	check_info(dev, second, 0);
	/* A set has no thread of its own. */
	check_info(set, 0, 0);
	end_self(&self);
	ck_assert_eventually(!status_of(self.counted.fd));
	check_info(self.counted.fd, 0, 0);
	check_info(member, 0, 0);
	close(member);
	close(set);
	close(req.mem_fd);
	close(mine);
}
END_TEST

/* A thread that counts itself in the first general counter, and lets its parent trace it. */
static pid_t start_traced(void)
{
	int own;
	pid_t pid = fork();

	if (pid)
		return pid;
	own = open_state(0);
	if (count_in(own, 0, 0) || ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(1);
	raise(SIGSTOP);
	for (;;)
		loop(1000);
}

/* A monitor learns by its state which counters are free, and CONTROL does not refuse such a one. */
START_TEST(monitor_finds_free_counter)
{
	struct vperfctr_info i = { .size = sizeof(i), .kind = info.kind };
	const u64 first = 1ULL << nth_general(0), second = 1ULL << nth_general(1);
	pid_t pid = start_traced();
	struct control control;
	int fd, status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	fd = open_thread(pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);
	ck_assert_int_ge(fd, 0);
	assert_ok(call(fd, VPERFCTR_INFO, &i));
	control_init(&control, 1);
	control_add(&control, __builtin_ctzll(i.pmc_mask & ~(i.own_pmcs | i.used_pmcs)), INSNS_USER);
	assert_ok(set_control(fd, &control));
	check_info(fd, first, second);
	check_info(dev, 0, 0);
	/* While the target runs, any holder may ask. */
	ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
	ck_assert_eventually(count_of(fd) > 10000);
	check_info(fd, first, second);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	check_info(fd, 0, 0);
	close(fd);
}
END_TEST

START_TEST(errors)
{
	int own = open_state(0), observer = open_observer(0), more[VPERFCTR_MAX_STATES - 2];
	unsigned int i;

	assert_ok(count_in(own, 0, 0));
	assert_errno(count_in(observer, 0, 0), EADDRINUSE);
	assert_ok(count_in(observer, 1, 0));
	assert_errno(count_in(own, 1, 0), EADDRINUSE);
	check_info(dev, 1ULL << nth_general(0), 1ULL << nth_general(1));
	check_info(own, 1ULL << nth_general(0), 1ULL << nth_general(1));
	check_info(observer, 1ULL << nth_general(0), 1ULL << nth_general(1));
	/* A suspended state keeps its counter, and one that has stopped does not. */
	assert_ok(call(own, VPERFCTR_SUSPEND, NULL));
	assert_errno(count_in(observer, 0, 0), EADDRINUSE);
	check_info(observer, 1ULL << nth_general(0), 1ULL << nth_general(1));
	assert_ok(stop_all(own));
	check_info(observer, 0, 1ULL << nth_general(1));
	assert_ok(count_in(observer, 0, 0));
	for (i = 0; i < VPERFCTR_MAX_STATES - 2; i++)
		more[i] = open_observer(VPERFCTR_OPEN_TRANSIENT);
	assert_errno(open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER), EMLINK);
	assert_errno(open_thread(0, VPERFCTR_OPEN_CREAT), EEXIST);
	assert_errno(open_thread(0, VPERFCTR_OPEN_OBSERVER), EINVAL);
	while (i--)
		close(more[i]);
	/* Without its own state, OPEN finds none. */
	assert_ok(call(own, VPERFCTR_UNLINK, NULL));
	check_info(own, 0, 0);
	check_info(observer, 0, 1ULL << nth_general(0));
	assert_errno(open_thread(0, 0), ENOENT);
	close(observer);
	close(own);
}
END_TEST

static void on_signal(int sig, siginfo_t *si, void *context)
{
	struct reading r;

	(void)sig;
	(void)context;
	acc->signals++;
	acc->mask = si->si_value.sival_int;
	read_state(acc->fd, &r);
	call(acc->fd, VPERFCTR_IRESUME, NULL);
}

/* The own state has a signal for each period, and the observer a sample. */
START_TEST(both_overflow)
{
	static struct account account;
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 1024, .watermark = 1, .nrsums = 1 };
	int own = open_state(0), observer = open_observer(0);
	const volatile struct vperfctr_ring_page *page;
	struct control control;
	struct reading r, r2;

	acc = &account;
	acc->fd = own;
	handle(SIGRTMIN, on_signal);
	assert_ok(call(observer, VPERFCTR_RING, &ring));
	page = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, observer, VPERFCTR_RING_OFFSET);
	ck_assert_ptr_ne((void *)page, MAP_FAILED);
	control_init(&control, 1);
	control_add_imode(&control, IMODE_ALL ? nth_general(0) : IMODE_MAP, IMODE_USER, 100000);
	control.c.si_signo = SIGRTMIN;
	assert_ok(set_control(own, &control));
	control_init(&control, 1);
	control_add_imode(&control, nth_general(1), INSNS_USER, 50000);
	control.c.flags = VPERFCTR_CONTROL_RING;
	assert_ok(set_control(observer, &control));
	loop(1000000);
	assert_ok(call(own, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(observer, VPERFCTR_SUSPEND, NULL));
	read_state(own, &r);
	read_state(observer, &r2);
	/* The own counter is stopped from the overflow to IRESUME, and the observer's goes on. */
	ck_assert_uint_ge(r.own[1], 2000000);
	ck_assert_uint_ge(r2.own[1], r.own[1]);
	ck_assert_uint_eq(acc->signals, r.own[1] / 100000);
	ck_assert_uint_le(load_head(&page->head) + page->dropped, r2.own[1] / 50000);
	/* Where only one counter's overflows are exact, it is the own state's. */
	ck_assert_uint_ge(load_head(&page->head) + page->dropped,
			  IMODE_ALL ? r2.own[1] / 50000 - 1 : 1);
	close(observer);
	close(own);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, both_count);
	if (has(VPERFCTR_FEATURE_RDPMC))
		tcase_add_test(tc, both_are_read_in_user_mode);
	if (has(VPERFCTR_FEATURE_RDPMC) && has(VPERFCTR_FEATURE_PCINT))
		tcase_add_test(tc, imode_is_read_in_user_mode);
	tcase_add_loop_test(tc, both_are_inherited, 0, 4);
	tcase_add_test(tc, program_counts_itself);
	tcase_add_test(tc, attached_to);
	tcase_add_test(tc, info_of_another);
	tcase_add_test(tc, monitor_finds_free_counter);
	tcase_add_test(tc, errors);
	if (has(VPERFCTR_FEATURE_PCINT))
		tcase_add_test(tc, both_overflow);
}

int main(void)
{
	open_device();
	return run_tests("beside", add);
}
