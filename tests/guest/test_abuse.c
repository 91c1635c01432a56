// SPDX-License-Identifier: GPL-2.0
/*
 * A member of the group that may open the device can do no harm to others.  All calls
 * here are made by an ordinary user.  The kernel must not warn, the limits must hold, and
 * all must be as before in the end.
 */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "overflow.h"
#include "random.h"

#define USER	1000
#define RING	"/sys/module/vperfctr/parameters/max_ring_kb_per_user"
#define STOPS	"/sys/module/vperfctr/parameters/max_stops_per_second"

#define child_assert(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
		_exit(99);						\
	}								\
} while (0)

/* Become a user who is in the device's group. */
static void become_member(void)
{
	struct stat st;

	child_assert(!stat("/dev/vperfctr", &st) && !setgroups(1, &st.st_gid));
	become(USER);
	/* As after a login: the user's processes may trace each other. */
	prctl(PR_SET_DUMPABLE, 1);
	close(dev);
	dev = open("/dev/vperfctr", O_RDONLY | O_CLOEXEC);
	child_assert(dev >= 0);
}

/* Run in a child, as a member; return its exit status. */
static int as_member(int (*abuse)(void))
{
	pid_t pid = fork();

	if (!pid) {
		become_member();
		_exit(abuse());
	}
	return wait_for(pid);
}

/* ---- limits --------------------------------------------------------------------------- */

static unsigned int *futex;

/* A bomb: each thread forks, and all are counted; return how many were missed. */
static int bomb(void)
{
	struct rlimit nproc = { 300, 300 };
	int fd = open_state(0), i, n = 0;
	struct reading r;

	child_assert(!count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	child_assert(!setrlimit(RLIMIT_NPROC, &nproc));
	for (i = 0; i < 200; i++)
		n += start_child(i & 1 ? FORKED : THREAD, 10, futex, 10) > 0;
	child_assert(n == 200);
	/* Processes are reaped when this one ends. */
	wake_all(futex);
	child_assert(eventually(!(status_of(fd) & CHILDREN)));
	read_state(fd, &r);
	return r.read.children_missed;
}

START_TEST(fork_bomb_at_the_limit)
{
	write_file(MAX_STATES, "51");
	ck_assert_int_eq(as_member(bomb), 150);
	write_file(MAX_STATES, "20000");
	settle();
}
END_TEST

/* A state is the thread's, whatever it executes.  An observer's beside it would be a second one. */
static int open_and_exec(void)
{
	char *argv[] = { "test_abuse", "open", NULL };
	int fd = try_open_state(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOCLOEXEC);

	child_assert(fd >= 0);
	execv("/proc/self/exe", argv);
	return 98;
}

START_TEST(limit_holds_across_exec)
{
	write_file(MAX_STATES, "1");
	ck_assert_int_eq(as_member(open_and_exec), EAGAIN);
	write_file(MAX_STATES, "20000");
	settle();
}
END_TEST

/* Rings of several threads, locked in memory: the limit is that of all. */
static int rings(void)
{
	struct rlimit none = { 0, 0 };
	int i, n = 0;

	setrlimit(RLIMIT_MEMLOCK, &none);
	for (i = 0; i < 40; i++) {
		pid_t pid = fork_files();

		if (!pid) {
			struct vperfctr_ring ring;
			int fd = open_state(0);

			if (try_ring(fd, 1024, 1, 0, &ring))
				_exit(1);
			if (mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED | MAP_LOCKED, fd,
				 VPERFCTR_RING_OFFSET) == MAP_FAILED && errno != EAGAIN &&
			    errno != EPERM)
				_exit(2);
			mlockall(MCL_CURRENT);
			_exit(0);
		}
		switch (wait_for(pid)) {
		case 0:
			n++;
			break;
		case 2:
			return 97;
		}
	}
	return n;
}

START_TEST(rings_at_the_limit)
{
	int n;

	write_file(RING, "300");
	n = as_member(rings);
	/* At least 28 kB each. */
	ck_assert_int_ge(n, 2);
	ck_assert_int_le(n, 10);
	write_file(RING, "65536");
	settle();
}
END_TEST

static int huge_sizes(void)
{
	static const u32 sizes[] = { 0, 1, 3, (1U << 20) + 1, 1U << 21, 1U << 31, ~0U };
	struct vperfctr_ring ring;
	int fd = open_state(0);
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		child_assert(sizes[i] == 1 || try_ring(fd, sizes[i], 1, 0, &ring) == -EINVAL);
	child_assert(try_ring(fd, 1, 1, ~0U, &ring) == -EINVAL);
	child_assert(try_ring(fd, VPERFCTR_RING_MAX, 1, VPERFCTR_MAX_CTRS, &ring) == -EAGAIN);
	child_assert(mmap(NULL, 1UL << 40, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
	child_assert(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 1UL << 40) == MAP_FAILED);
	return 0;
}

START_TEST(huge_sizes_are_refused)
{
	ck_assert_int_eq(as_member(huge_sizes), 0);
	settle();
}
END_TEST

/* ---- calls with garbage ----------------------------------------------------------------- */

/* All ioctls, with random arguments, as root of an unprivileged user namespace. */
static int garbage(void)
{
	u64 *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	unsigned int i, j;
	int fd;

	child_assert(memory != MAP_FAILED);
	/* An overflow signal must not end the test. */
	for (i = 1; i < 65; i++)
		signal(i, SIG_IGN);
	child_assert(!unshare(CLONE_NEWUSER));
	fd = open_state(0);
	for (i = 0; i < 20000; i++) {
		unsigned long cmd = i % 2 ? 16 + random_below(16) : random_below(16);
		u32 *words = (u32 *)memory;

		for (j = 0; j < 128; j++)
			words[j] = random_below(4) ? random_below(3) : random_below(~0U);
		words[0] = random_below(300);
		/* Pointers to itself, so that more of it is looked at. */
		if (random_below(2))
			memory[2 + random_below(14)] = (uintptr_t)memory;
		ioctl(random_below(8) ? fd : dev, 0xd000 | cmd,
		      random_below(8) ? (uintptr_t)memory :
		      (uintptr_t)memory + 2 * PAGE - random_below(64));
		for (j = fd + 1; j < (unsigned int)fd + 4; j++)
			close(j);
		if (status_of(fd) == 0) {
			close(fd);
			fd = try_open_state(VPERFCTR_OPEN_CREAT);
			if (fd < 0)
				fd = try_open_state(0);
			child_assert(fd >= 0);
		}
	}
	return 0;
}

START_TEST(garbage_from_user_namespace)
{
	ck_assert_int_eq(as_member(garbage), 0);
	settle();
	ck_assert(counters_free());
}
END_TEST

/* ---- descriptors ------------------------------------------------------------------------ */

static int send_fd(int to, int fd)
{
	char byte = 0, space[CMSG_SPACE(sizeof(int))] = "";
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
			      .msg_controllen = sizeof(space) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	return sendmsg(to, &msg, 0) == 1 ? 0 : -errno;
}

static int receive_fd(int from)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space,
			      .msg_controllen = sizeof(space) };
	int fd = -1;

	if (recvmsg(from, &msg, 0) == 1 && CMSG_FIRSTHDR(&msg))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return fd;
}

/* A descriptor that another user receives reads, and does no more. */
START_TEST(descriptor_over_socket)
{
	int sockets[2], fd;
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	fd = open_state(0);
	assert_ok(count_insns(fd, 0));
	assert_ok(send_fd(sockets[0], fd));
	pid = fork();
	if (!pid) {
		struct vperfctr_ring ring;
		int got, i;

		close(fd);
		become_member();
		got = receive_fd(sockets[1]);
		child_assert(got >= 0 && count_of(got) > 0);
		for (i = 0; i < 100; i++) {
			child_assert(count_insns(got, 0) == -EPERM);
			child_assert(call(got, VPERFCTR_SUSPEND, NULL) == -EPERM);
			child_assert(call(got, VPERFCTR_UNLINK, NULL) == -EPERM);
			child_assert(try_ring(got, 16, 1, 0, &ring) == -EPERM);
			child_assert(open_thread(getppid(), 0) == -EPERM);
		}
		/* In flight, and never received. */
		child_assert(!send_fd(sockets[0], got));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

static int no_files(void)
{
	struct rlimit none = { 3, 3 };
	int i;

	child_assert(!setrlimit(RLIMIT_NOFILE, &none));
	for (i = 0; i < 1000; i++)
		child_assert(try_open_state(VPERFCTR_OPEN_CREAT) == -EMFILE);
	return 0;
}

START_TEST(no_descriptors_left)
{
	ck_assert_int_eq(as_member(no_files), 0);
	settle();
}
END_TEST

static int open_and_die(void)
{
	open_state(0);
	kill(getpid(), SIGKILL);
	return 0;
}

/* Killed with a state, and nothing remains. */
START_TEST(killed_with_state)
{
	int i;

	write_file(MAX_STATES, "8");
	for (i = 0; i < 30; i++) {
		ck_assert_int_eq(as_member(open_and_die), 128 + SIGKILL);
		settle();
	}
	write_file(MAX_STATES, "20000");
}
END_TEST

/* ---- attaching ---------------------------------------------------------------------------- */

static int open_mem(pid_t pid)
{
	char path[40];
	int fd;

	sprintf(path, "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int attach_by(int mem, pid_t pid)
{
	struct vperfctr_attach req = { .size = sizeof(req), .tid = pid, .mem_fd = mem };
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_USER);
	control.c.flags = has(VPERFCTR_FEATURE_INHERIT) ? VPERFCTR_CONTROL_INHERIT : 0;
	req.control = (uintptr_t)&control.c;
	return call(dev, VPERFCTR_ATTACH, &req);
}

static int try_attach(pid_t pid)
{
	int mem = open_mem(pid), ret;

	if (mem < 0)
		return mem;
	ret = attach_by(mem, pid);
	close(mem);
	return ret;
}

static pid_t start_idle(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

static void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	child_assert(wait_for(pid) == 128 + SIGKILL);
}

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Calls that fail.  They stop nothing, and need no budget. */
enum { HAS_STATE, OTHER_MEMORY, ZOMBIE, STOPPED_HAS_STATE, NR_FAILURES };

static int which_failure;

#define FAILURES		15

static int failing_attachments(void)
{
	pid_t pid = start_idle();
	int mem = open_mem(pid), set = -1, expected = -ESRCH, ret, i;
	u64 began;

	child_assert(mem >= 0);
	switch (which_failure) {
	case HAS_STATE:
		set = attach_by(mem, pid);
		child_assert(set >= 0);
		expected = -EEXIST;
		break;
	case OTHER_MEMORY:
		close(mem);
		mem = open_mem(getpid());
		break;
	case ZOMBIE:
		kill(pid, SIGKILL);
		child_assert(!waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT));
		break;
	case STOPPED_HAS_STATE:
		child_assert(!ptrace(PTRACE_SEIZE, pid, 0, 0));
		child_assert(!ptrace(PTRACE_INTERRUPT, pid, 0, 0));
		child_assert(waitpid(pid, NULL, __WALL) == pid);
		set = open_thread(pid, VPERFCTR_OPEN_CREAT);
		child_assert(set >= 0);
		expected = -EEXIST;
		break;
	}
	began = now_ms();
	for (i = 0; i < FAILURES; i++) {
		ret = which_failure == STOPPED_HAS_STATE ?
		      open_thread(pid, VPERFCTR_OPEN_CREAT) : attach_by(mem, pid);
		child_assert(ret == expected);
	}
	/* With one stop in a second, they would take as many seconds. */
	child_assert(now_ms() - began < 1000 * FAILURES / 2);
	/* It may not have asked for a signal yet, and have a state. */
	kill(pid, SIGKILL);
	child_assert(waitpid(pid, NULL, __WALL) == pid);
	return 0;
}

START_TEST(failing_attachments_stop_nothing)
{
	which_failure = _i;
	write_file(STOPS, "1");
	ck_assert_int_eq(as_member(failing_attachments), 0);
	write_file(STOPS, "20");
	settle();
}
END_TEST

static int attach_five_times(void)
{
	pid_t pid = start_idle();
	int i, set;

	for (i = 0; i < 5; i++) {
		set = try_attach(pid);
		child_assert(set >= 0);
		close(set);
	}
	kill_child(pid);
	return 0;
}

/* Many processes of a user, some in user namespaces, have one budget. */
static int attach_in_parallel(void)
{
	u64 began = now_ms();
	pid_t pids[6];
	int i;

	for (i = 0; i < 6; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			if (i & 1)
				child_assert(!unshare(CLONE_NEWUSER));
			_exit(attach_five_times());
		}
	}
	for (i = 0; i < 6; i++)
		child_assert(!wait_for(pids[i]));
	child_assert(now_ms() - began >= 1990);
	return 0;
}

START_TEST(parallel_attachments_are_rationed)
{
	write_file(STOPS, "10");
	ck_assert_int_eq(as_member(attach_in_parallel), 0);
	write_file(STOPS, "20");
	settle();
}
END_TEST

static pid_t stranger;

/* Other users' processes, and the kernel's. */
static int attach_to_strangers(void)
{
	u64 began = now_ms();
	int i;

	for (i = 0; i < 100; i++) {
		child_assert(try_attach(1) == -EACCES);
		child_assert(try_attach(stranger) == -EACCES);
		child_assert(try_attach(2) < 0);
		child_assert(attach_by(-1, stranger) == -EBADF);
		child_assert(attach_by(dev, stranger) == -EINVAL);
		child_assert(open_thread(stranger, VPERFCTR_OPEN_CREAT) == -EPERM);
		child_assert(open_thread(1, 0) == -EPERM);
		child_assert(open_thread(2, VPERFCTR_OPEN_CREAT) == -EPERM);
	}
	/* None of it has stopped the machine, which would be rationed. */
	child_assert(now_ms() - began < 4000);
	return 0;
}

START_TEST(strangers)
{
	stranger = fork();
	if (!stranger) {
		become(NOBODY);
		for (;;)
			pause();
	}
	ck_assert_int_eq(as_member(attach_to_strangers), 0);
	kill(stranger, SIGKILL);
	wait_for(stranger);
	settle();
}
END_TEST

#define SECRET		"/tmp/secret"
#define SECRET_LOOPS	1000000

/* The child executes a privileged file at any moment of the attachments. */
static int attach_during_exec(void)
{
	char *argv[] = { "secret", "secret", NULL };
	unsigned long most = 60000;
	struct reading r;
	int i, set, ret, attached = 0;
	pid_t pid;

	for (i = 0; i < 40; i++) {
		unsigned long delay = random_below(most);

		pid = fork();
		if (!pid) {
			loop(1 + delay);
			execv(SECRET, argv);
			_exit(98);
		}
		set = -1;
		do {
			ret = try_attach(pid);
			if (ret >= 0) {
				close(set);
				set = ret;
			}
		} while (ret != -ESRCH && ret != -EACCES && ret != -ENOENT);
		child_assert(wait_for(pid) == 0);
		if (set < 0) {
			/* The file was executed before: where all is slow, leave more time. */
			if (!attached && most < 6000000)
				most *= 2;
			continue;
		}
		attached++;
		child_assert(eventually(!(status_of(set) & CHILDREN)));
		read_state(set, &r);
		child_assert(r.children[1] < SECRET_LOOPS);
		close(set);
	}
	child_assert(attached > 0);
	return 0;
}

static const mode_t secret_modes[] = { 04755, 0711 };

START_TEST(privileged_exec_while_attaching)
{
	ck_assert_int_eq(system("cp /proc/$PPID/exe " SECRET), 0);
	ck_assert_int_eq(chmod(SECRET, secret_modes[_i]), 0);
	write_file(STOPS, "0");
	ck_assert_int_eq(as_member(attach_during_exec), 0);
	write_file(STOPS, "20");
	unlink(SECRET);
	settle();
}
END_TEST

/* A set's descriptor that another user receives reads, and does no more. */
START_TEST(set_over_socket)
{
	int sockets[2], set;
	pid_t target, pid;
	struct reading r;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
	target = start_idle();
	set = try_attach(target);
	ck_assert_int_ge(set, 0);
	assert_ok(send_fd(sockets[0], set));
	pid = fork();
	if (!pid) {
		int got;

		close(set);
		become_member();
		got = receive_fd(sockets[1]);
		child_assert(got >= 0);
		init_reading(&r)->flags = VPERFCTR_READ_MEMBERS;
		child_assert(!call(got, VPERFCTR_READ, &r.read));
		child_assert(call(got, VPERFCTR_UNLINK, NULL) == -EPERM);
		child_assert(count_insns(got, 0) < 0);
		child_assert(call(got, VPERFCTR_SUSPEND, NULL) < 0);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	assert_status(set, CHILDREN);
	kill(target, SIGKILL);
	wait_for(target);
	close(set);
	settle();
}
END_TEST

/* ---- others are left alone -------------------------------------------------------------- */

#define ROUNDS	200
/* A call that disturbs the other CPU does so in each round. */
#define FEW	(ROUNDS / 10)

/* Another user's thread, which no state concerns, has CPU 1 for itself. */
static pid_t start_worker(void)
{
	volatile u32 *works = shared_memory(PAGE);
	pid_t pid = fork();

	if (!pid) {
		become(NOBODY);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(1);
		for (;;)
			*works = 1;
	}
	while (!*works)
		sched_yield();
	return pid;
}

static void control_and_stop(int fd)
{
	count(fd, INSNS_USER);
	child_assert(!stop_all(fd));
}

static void map_and_unmap(int fd)
{
	count(fd, INSNS_USER);
	munmap((void *)map_state(fd), PAGE);
}

static void read_and_suspend(int fd)
{
	count_of(fd);
	child_assert(!call(fd, VPERFCTR_SUSPEND, NULL));
	child_assert(!call(fd, VPERFCTR_RESUME, NULL));
}

static void fork_and_exit(int fd)
{
	pid_t pid;

	child_assert(!count_insns(fd, has(VPERFCTR_FEATURE_INHERIT) ? VPERFCTR_CONTROL_INHERIT : 0));
	pid = fork();
	if (!pid)
		_exit(0);
	wait_for(pid);
}

static void open_and_close(int fd)
{
	(void)fd;
	fd = open_state(VPERFCTR_OPEN_TRANSIENT);
	count(fd, INSNS_USER);
	close(fd);
}

static void execute(int fd)
{
	pid_t pid;

	(void)fd;
	pid = fork();
	if (!pid) {
		count(open_state(0), INSNS_USER);
		execl("/proc/self/exe", "test_abuse", "nothing", NULL);
		_exit(1);
	}
	child_assert(!wait_for(pid));
}

/* Samples in a ring, and its end. */
static void overflow(int fd)
{
	struct vperfctr_ring ring;
	struct control control;

	if (!has(VPERFCTR_FEATURE_PCINT))
		return;
	fd = open_state(VPERFCTR_OPEN_TRANSIENT);
	child_assert(!try_ring(fd, 64, 1, 0, &ring));
	control_init(&control, 0);
	control_add_imode(&control, IMODE, 1000);
	control.c.flags = VPERFCTR_CONTROL_RING;
	child_assert(!set_control(fd, &control));
	loop(10000);
	close(fd);
}

static void read_members(int fd)
{
	struct reading r;

	init_reading(&r)->flags = VPERFCTR_READ_MEMBERS;
	child_assert(!call(fd, VPERFCTR_READ, &r.read));
}

static void (*const calls[])(int) = {
	control_and_stop, map_and_unmap, read_and_suspend, fork_and_exit, open_and_close,
	execute, overflow, read_members,
};

/* A thread of the same user, which is counted and has CPU 1; *fd is its state. */
static pid_t start_counted_worker(int *fd)
{
	volatile int *state = shared_memory(PAGE);
	pid_t pid;

	*state = -1;
	pid = fork_files();
	if (!pid) {
		int mine;

		become_member();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(1);
		mine = open_state(0);
		count(mine, INSNS_USER);
		for (;;)
			*state = mine;
	}
	while (*state < 0)
		sched_yield();
	*fd = *state;
	return pid;
}

static void change_in_loop(int fd)
{
	int i;

	become_member();
	for (i = 0; i < ROUNDS; i++) {
		child_assert(call(fd, VPERFCTR_SUSPEND, NULL) == -EPERM);
		child_assert(call(fd, VPERFCTR_RESUME, NULL) == -EPERM);
		child_assert(count_insns(fd, 0) == -EPERM);
		child_assert(call(fd, VPERFCTR_UNLINK, NULL) == -EPERM);
	}
}

#define NR_CALLS	((int)(sizeof(calls) / sizeof(calls[0])))

static void call_in_loop(int which)
{
	int fd = -1, i;

	become_member();
	if (calls[which] != open_and_close && calls[which] != overflow)
		fd = open_state(0);
	if (calls[which] == read_and_suspend || calls[which] == read_members)
		count(fd, INSNS_USER);
	for (i = 0; i < ROUNDS; i++)
		calls[which](fd);
}

static void map_in_loop(int unused)
{
	int fd, i;

	(void)unused;
	become_member();
	fd = open_state(0);
	for (i = 0; i < ROUNDS; i++)
		map_and_unmap(fd);
}

/* Whatever an ordinary user calls, the thread of another one on another CPU runs on. */
START_TEST(others_are_not_interrupted)
{
	pid_t worker = start_worker();
	unsigned long n = interrupts_of_cpu1(call_in_loop, _i, FEW);

	kill(worker, SIGKILL);
	wait_for(worker);
	printf("%lu interrupts of CPU 1 in %u rounds\n", n, ROUNDS);
	ck_assert_uint_lt(n, FEW);
}
END_TEST

/* A process that runs this with a counted thread's descriptor must not interrupt that thread. */
static void check_beside_counted(void (*repeat)(int fd))
{
	unsigned long n;
	pid_t worker;
	int fd;

	worker = start_counted_worker(&fd);
	n = interrupts_of_cpu1(repeat, fd, FEW);
	kill(worker, SIGKILL);
	wait_for(worker);
	close(fd);
	printf("%lu interrupts of CPU 1 in %u rounds\n", n, ROUNDS);
	ck_assert_uint_lt(n, FEW);
}

/* Nor can the holder of a descriptor interrupt the counted thread by calls that are refused. */
START_TEST(counted_thread_is_not_interrupted)
{
	check_beside_counted(change_in_loop);
}
END_TEST

/*
 * Nor can a process that maps a page and unmaps it in a loop, though the first mapping makes the
 * CPUs that count hide what their counters hold.
 */
START_TEST(counted_thread_beside_mappings)
{
	check_beside_counted(map_in_loop);
}
END_TEST

static void setup(void)
{
	futex = shared_memory(sizeof(*futex));
	/* A test that failed may have left its limits. */
	write_file(MAX_STATES, "20000");
	write_file(RING, "65536");
	write_file(STOPS, "20");
	if (!access("/proc/sys/kernel/yama/ptrace_scope", F_OK))
		write_file("/proc/sys/kernel/yama/ptrace_scope", "0");
	settle();
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	if (has(VPERFCTR_FEATURE_INHERIT))
		tcase_add_test(tc, fork_bomb_at_the_limit);
	tcase_add_test(tc, limit_holds_across_exec);
	if (has(VPERFCTR_FEATURE_PCINT)) {
		tcase_add_test(tc, rings_at_the_limit);
		tcase_add_test(tc, huge_sizes_are_refused);
	}
	tcase_add_test(tc, garbage_from_user_namespace);
	tcase_add_test(tc, descriptor_over_socket);
	tcase_add_test(tc, no_descriptors_left);
	tcase_add_test(tc, killed_with_state);
	tcase_add_loop_test(tc, failing_attachments_stop_nothing, 0, NR_FAILURES);
	tcase_add_test(tc, parallel_attachments_are_rationed);
	tcase_add_test(tc, strangers);
	tcase_add_loop_test(tc, privileged_exec_while_attaching, 0, 2);
	tcase_add_test(tc, set_over_socket);
	if (nr_cpus() > 1) {
		tcase_add_loop_test(tc, others_are_not_interrupted, 0, NR_CALLS);
		tcase_add_test(tc, counted_thread_is_not_interrupted);
		tcase_add_test(tc, counted_thread_beside_mappings);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "nothing"))
		return 0;
	if (argc > 1 && !strcmp(argv[1], "secret")) {
		loop(SECRET_LOOPS);
		return 0;
	}
	open_device();
	if (argc > 1 && !strcmp(argv[1], "open"))
		return -try_open_state(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);
	random_init();
	return run_tests("abuse", add);
}
