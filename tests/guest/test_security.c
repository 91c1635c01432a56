// SPDX-License-Identifier: GPL-2.0
/*
 * States whose threads change their user, capabilities or namespace, and the rights of
 * owner, monitor and other users.  See SECURITY.md.
 */
#include <linux/capability.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "overflow.h"

#define USER	1000

/* In a child: exit with a status other than 0 if the condition is false. */
#define child_assert(condition) do {					\
	if (!(condition)) {						\
		fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
		_exit(1);						\
	}								\
} while (0)

static void become_user(uid_t uid)
{
	child_assert(!setresuid(uid, uid, uid));
}

static int ring_of(int fd)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 16, .watermark = 1 };

	return call(fd, VPERFCTR_RING, &ring);
}

static int count_kernel(int fd)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, 0, INSNS_KERNEL);
	return set_control(fd, &control);
}

/* True if every call that changes the state fails with EPERM, except UNLINK. */
static bool is_refused(int fd)
{
	return count_insns(fd, 0) == -EPERM && stop_all(fd) == -EPERM &&
	       call(fd, VPERFCTR_SUSPEND, NULL) == -EPERM &&
	       call(fd, VPERFCTR_RESUME, NULL) == -EPERM && ring_of(fd) == -EPERM;
}

static bool can_read(int fd)
{
	u64 before = count_of(fd);
	const struct vperfctr_page *page = try_map_state(fd);

	if (page == MAP_FAILED)
		return false;
	munmap((void *)page, PAGE);
	loop(1000);
	return count_of(fd) >= before + 2000;
}

/* Run in a child; the test succeeds if that exits with 0. */
static void in_child(void (*test)(void))
{
	pid_t pid = fork();

	if (!pid) {
		test();
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	settle();
}

/* ---- a thread becomes another user ------------------------------------------------ */

static void becomes_user(void)
{
	int fd = open_state(0), other;

	child_assert(!count_insns(fd, 0));
	become_user(USER);
	/* Counting continues.  The descriptor shows it, and changes nothing. */
	child_assert(can_read(fd));
	child_assert(is_refused(fd));
	child_assert(status_of(fd) == (ATTACHED | ACTIVE));
	child_assert(try_open_state(0) == -EPERM);
	child_assert(try_open_state(VPERFCTR_OPEN_CREAT) == -EEXIST);
	/* The thread can give the state up, and make one that is its own. */
	child_assert(!call(fd, VPERFCTR_UNLINK, NULL));
	other = open_state(0);
	child_assert(!count_insns(other, 0) && can_read(other));
	close(other);
	other = try_open_state(0);
	child_assert(other >= 0 && !call(other, VPERFCTR_UNLINK, NULL));
}

START_TEST(thread_becomes_another_user)
{
	in_child(becomes_user);
}
END_TEST

/* Without a descriptor there is nothing that the new user can do. */
static void drops_privileges(void)
{
	int fd = open_state(0);

	child_assert(!count_insns(fd, 0));
	close(fd);
	become_user(USER);
	child_assert(try_open_state(0) == -EPERM);
	child_assert(try_open_state(VPERFCTR_OPEN_CREAT) == -EEXIST);
}

START_TEST(daemon_drops_privileges)
{
	in_child(drops_privileges);
}
END_TEST

/* A transient state without a descriptor is gone before. */
static void drops_transient_state(void)
{
	int fd = open_state(VPERFCTR_OPEN_TRANSIENT);

	child_assert(!count_insns(fd, 0));
	close(fd);
	become_user(USER);
	child_assert(try_open_state(VPERFCTR_OPEN_CREAT) >= 0);
}

START_TEST(daemon_drops_transient_state)
{
	in_child(drops_transient_state);
}
END_TEST

/* Each of the three ids counts, also for a while only. */
static void becomes_user_partly(void)
{
	int fd, i;

	child_assert(!setresuid(USER, USER, USER + 1));
	fd = open_state(0);
	for (i = 0; i < 4; i++) {
		child_assert(try_open_state(0) == (i ? -EPERM : fd + 1));
		close(fd + 1);
		child_assert(is_refused(fd) == (i != 0));
		switch (i) {
		case 0:
			child_assert(!setresuid(USER, USER + 1, USER + 1));
			break;
		case 1:
			child_assert(!setresuid(USER + 1, USER, USER + 1));
			break;
		case 2:
			child_assert(!setresuid(USER, USER, USER));
			break;
		}
	}
}

START_TEST(thread_changes_one_id)
{
	in_child(becomes_user_partly);
}
END_TEST

/* An effective id that is changed for a while. */
static void becomes_user_for_a_while(void)
{
	int fd = open_state(0), other;

	child_assert(!count_insns(fd, 0));
	child_assert(!seteuid(USER));
	child_assert(try_open_state(0) == -EPERM && is_refused(fd));
	child_assert(!seteuid(0));
	other = try_open_state(0);
	child_assert(other >= 0 && !count_insns(other, 0));
}

START_TEST(effective_user_changes_and_returns)
{
	in_child(becomes_user_for_a_while);
}
END_TEST

/* ---- namespaces and capabilities ---------------------------------------------------- */

static void enters_namespace(void)
{
	int fd;

	become_user(USER);
	fd = open_state(0);
	child_assert(!count_insns(fd, 0));
	child_assert(!unshare(CLONE_NEWUSER));
	/* All capabilities in the new namespace are none in that of the state. */
	child_assert(can_read(fd) && is_refused(fd));
	child_assert(try_open_state(0) == -EPERM);
	child_assert(count_kernel(fd) == -EPERM);
	child_assert(!call(fd, VPERFCTR_UNLINK, NULL));
	fd = open_state(0);
	child_assert(!count_insns(fd, 0));
	child_assert(count_kernel(fd) == -EPERM);
}

START_TEST(thread_enters_user_namespace)
{
	in_child(enters_namespace);
}
END_TEST

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { };

	child_assert(!syscall(SYS_capset, &header, none));
}

/* A count of kernel mode that was begun with CAP_PERFMON goes on without it. */
static void loses_capabilities(void)
{
	int fd = open_state(0);
	u64 before;

	child_assert(!count_kernel(fd));
	drop_capabilities();
	before = count_of(fd);
	getppid();
	child_assert(count_of(fd) > before);
	/* No new one can be begun.  To find it is one, too. */
	child_assert(try_open_state(0) == -EPERM);
	child_assert(count_kernel(fd) == -EPERM);
	/* The user is the same, so all else is as before. */
	child_assert(!count_insns(fd, 0));
	child_assert(try_open_state(0) >= 0);
}

START_TEST(thread_loses_capabilities)
{
	in_child(loses_capabilities);
}
END_TEST

/* ---- other users' threads ----------------------------------------------------------- */

/* Fork a child that stops for its tracer, calls the function and exits with 0. */
static pid_t fork_traced(void (*test)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		test();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

static void try_as_user(void)
{
	child_assert(!setresuid(USER, USER, USER));
	child_assert(try_open_state(0) == -EPERM);
	child_assert(try_open_state(VPERFCTR_OPEN_CREAT) == -EEXIST);
	loop(100000);
}

/* Root counts a daemon's thread, which becomes another user. */
START_TEST(monitored_thread_becomes_another_user)
{
	pid_t pid = fork_traced(try_as_user);
	int fd = open_thread(pid, VPERFCTR_OPEN_CREAT);

	ck_assert_int_ge(fd, 0);
	assert_ok(count_insns(fd, 0));
	ptrace(PTRACE_DETACH, pid, 0, 0);
	ck_assert_int_eq(wait_for(pid), 0);
	ck_assert_uint_ge(count_of(fd), 200000);
	close(fd);
	settle();
}
END_TEST

/* A debugger of the new user gets no more than the thread. */
static void debug_thread_of_root(void)
{
	pid_t pid = fork_traced(try_as_user);
	int fd = open_thread(pid, VPERFCTR_OPEN_CREAT);

	child_assert(fd >= 0 && !count_insns(fd, 0));
	become_user(USER);
	child_assert(open_thread(pid, 0) == -EPERM);
	child_assert(is_refused(fd));
	child_assert(call(fd, VPERFCTR_UNLINK, NULL) == -EPERM);
	child_assert(status_of(fd) == (ATTACHED | ACTIVE));
	/* It is root, and kill() does not reach it. */
	child_assert(!ptrace(PTRACE_DETACH, pid, 0, SIGKILL));
	child_assert(wait_for(pid) == 128 + SIGKILL);
}

START_TEST(debugger_of_another_user)
{
	in_child(debug_thread_of_root);
}
END_TEST

/* A descriptor that another user's process has received. */
START_TEST(receiver_of_descriptor)
{
	int fd = open_state(0);
	pid_t pid;

	assert_ok(count_insns(fd, 0));
	pid = fork();
	if (!pid) {
		become_user(USER);
		child_assert(count_of(fd));
		child_assert(is_refused(fd));
		child_assert(call(fd, VPERFCTR_UNLINK, NULL) == -EPERM);
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* An inherited state belongs to the user of the first one. */
START_TEST(inherited_state_and_another_user)
{
	int fd = open_state(0);
	struct reading r;
	pid_t pid;

	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	pid = fork();
	if (!pid) {
		int own = try_open_state(0);

		child_assert(own >= 0);
		try_as_user();
		child_assert(is_refused(own));
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	ck_assert_uint_ge(r.children[1], 200000);
	ck_assert_uint_eq(r.read.children_missed, 0);
}
END_TEST

/* After the end of the first thread, no other user can end the family's counting. */
START_TEST(family_of_another_user)
{
	static unsigned int *futex;
	pid_t pid;
	int fd;

	futex = shared_memory(sizeof(*futex));
	pid = fork_files();
	if (!pid) {
		int state = open_state(0);

		child_assert(!count_insns(state, VPERFCTR_CONTROL_INHERIT));
		child_assert(start_child(FORKED, 100, futex, 100) > 0);
		_exit(state);
	}
	fd = wait_for(pid);
	ck_assert_int_gt(fd, 1);
	pid = fork();
	if (!pid) {
		become_user(USER);
		_exit(-call(fd, VPERFCTR_UNLINK, NULL));
	}
	ck_assert_int_eq(wait_for(pid), EPERM);
	assert_status(fd, CHILDREN);
	assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	assert_status(fd, 0);
	wake_all(futex);
	close(fd);
	settle();
}
END_TEST

/* ---- VPERFCTR_OPEN_LOCKED ------------------------------------------------------------ */

START_TEST(locked_needs_another_thread)
{
	assert_errno(try_open_state(VPERFCTR_OPEN_LOCKED), EINVAL);
	assert_errno(try_open_state(VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_LOCKED), EINVAL);
	assert_errno(open_thread(getpid(), VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_LOCKED), EINVAL);
	assert_errno(open_thread(1, VPERFCTR_OPEN_LOCKED), EINVAL);
	assert_errno(try_open_state(0), ENOENT);
}
END_TEST

static void try_to_change_locked(int fd)
{
	child_assert(is_refused(fd));
	child_assert(call(fd, VPERFCTR_UNLINK, NULL) == -EPERM);
	child_assert(call(fd, VPERFCTR_IRESUME, NULL) == -EPERM);
	child_assert(try_open_state(VPERFCTR_OPEN_CREAT) == -EEXIST);
	child_assert(status_of(fd) == (ATTACHED | ACTIVE));
}

static void try_locked(void)
{
	int fd = try_open_state(0);
	pid_t pid;

	/* Reading is allowed to the same user. */
	child_assert(fd >= 0 && can_read(fd));
	try_to_change_locked(fd);
	pid = fork();
	if (!pid) {
		fd = try_open_state(0);
		child_assert(fd >= 0 && can_read(fd));
		try_to_change_locked(fd);
		_exit(0);
	}
	child_assert(wait_for(pid) == 0);
}

START_TEST(locked_state)
{
	pid_t pid = fork_traced(try_locked);
	int fd = open_thread(pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_LOCKED);
	struct reading r;

	ck_assert_int_ge(fd, 0);
	assert_ok(count_insns(fd, VPERFCTR_CONTROL_INHERIT));
	/* The monitor can change it. */
	assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
	assert_ok(call(fd, VPERFCTR_RESUME, NULL));
	ptrace(PTRACE_DETACH, pid, 0, 0);
	ck_assert_int_eq(wait_for(pid), 0);
	read_state(fd, &r);
	ck_assert_uint_gt(r.own[1], 2000);
	ck_assert_uint_eq(r.read.children_missed, 0);
	ck_assert_uint_gt(r.children[1], 2000);
	close(fd);
	settle();
}
END_TEST

/* Without the flag the owner can do all that it can with a state of its own. */
static void change_unlocked(void)
{
	int fd = try_open_state(0);

	child_assert(fd >= 0 && !count_insns(fd, 0) && can_read(fd));
	child_assert(!call(fd, VPERFCTR_UNLINK, NULL));
}

START_TEST(unlocked_state)
{
	pid_t pid = fork_traced(change_unlocked);
	int fd = open_thread(pid, VPERFCTR_OPEN_CREAT);

	ck_assert_int_ge(fd, 0);
	assert_ok(count_insns(fd, 0));
	ptrace(PTRACE_DETACH, pid, 0, 0);
	ck_assert_int_eq(wait_for(pid), 0);
	assert_status(fd, 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, settle, NULL);
	tcase_add_test(tc, thread_becomes_another_user);
	tcase_add_test(tc, daemon_drops_privileges);
	tcase_add_test(tc, daemon_drops_transient_state);
	tcase_add_test(tc, thread_changes_one_id);
	tcase_add_test(tc, effective_user_changes_and_returns);
	tcase_add_test(tc, thread_enters_user_namespace);
	tcase_add_test(tc, thread_loses_capabilities);
	tcase_add_test(tc, monitored_thread_becomes_another_user);
	tcase_add_test(tc, debugger_of_another_user);
	tcase_add_test(tc, receiver_of_descriptor);
	tcase_add_test(tc, inherited_state_and_another_user);
	tcase_add_test(tc, family_of_another_user);
	tcase_add_test(tc, locked_needs_another_thread);
	tcase_add_test(tc, locked_state);
	tcase_add_test(tc, unlocked_state);
}

int main(void)
{
	open_device();
	return run_tests("security", add);
}
