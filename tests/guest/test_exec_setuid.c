// SPDX-License-Identifier: GPL-2.0
/*
 * A counted thread executes a file that gives privileges (set-user-id, set-group-id,
 * capabilities), or that must not be read.  Counts must be exact.
 *
 * The program executes copies of itself to see the state from the new program.
 */
#include <endian.h>
#include <elf.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "known.h"
#include "overflow.h"

#define COPY	"/tmp/privileged"
#define SCRIPT	"/tmp/script"

static char self[256], known[256];

/* Shared by the process that executes and the one that checks. */
static volatile struct {
	int fd;
	u64 map_size;
} *shared;

enum { PLAIN, CAPABLE, INTERPRETED };

static const struct {
	mode_t mode;
	uid_t uid, gid;
	uid_t as;		/* the user that executes it */
	int kind;
	bool counted;
} files[] = {
	{ 0755, 0, 0, NOBODY, PLAIN, true },
	{ 04755, 0, 0, NOBODY, PLAIN, false },
	{ 04755, 1000, 1000, NOBODY, PLAIN, false },
	{ 02755, 0, 0, NOBODY, PLAIN, false },
	{ 0111, 0, 0, NOBODY, PLAIN, false },
	{ 0755, 0, 0, NOBODY, CAPABLE, false },
	{ 0755, 0, 0, NOBODY, INTERPRETED, true },
	{ 0111, 0, 0, NOBODY, INTERPRETED, false },
	/* The file's owner, and root, gain no privileges by executing it. */
	{ 04755, NOBODY, NOBODY, NOBODY, PLAIN, true },
	{ 04755, 0, 0, 0, PLAIN, true },
	{ 0111, 0, 0, 0, PLAIN, true },
	/* Root gains privileges, too, if it becomes another user. */
	{ 04755, 1000, 1000, 0, PLAIN, false },
};

static void make_copy(const char *program, int i)
{
	static char buffer[1 << 20];
	int in = open(program, O_RDONLY), out;
	ssize_t n = read(in, buffer, sizeof(buffer));

	unlink(COPY);
	out = open(COPY, O_WRONLY | O_CREAT | O_TRUNC, 0700);
	ck_assert(n > 0 && n < (ssize_t)sizeof(buffer));
	ck_assert_int_eq(write(out, buffer, n), n);
	close(in);
	close(out);
	ck_assert_int_eq(chown(COPY, files[i].uid, files[i].gid), 0);
	ck_assert_int_eq(chmod(COPY, files[i].mode), 0);
	if (files[i].kind == CAPABLE) {
		struct vfs_cap_data cap = {
			.magic_etc = htole32(VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE),
			.data[0].permitted = htole32(1 << CAP_SYS_PTRACE),
		};

		ck_assert_int_eq(setxattr(COPY, "security.capability", &cap, sizeof(cap), 0), 0);
	}
	if (files[i].kind == INTERPRETED) {
		out = open(SCRIPT, O_WRONLY | O_CREAT | O_TRUNC, 0755);
		ck_assert_int_gt(write(out, "#!" COPY "\n", strlen(COPY) + 3), 0);
		close(out);
	}
}

static void execute(int i, const char *argument)
{
	/* A table: all files take the same number of instructions. */
	static const char *const paths[] = { COPY, COPY, SCRIPT };
	const char *file = paths[files[i].kind];
	char *args[] = { (char *)file, (char *)argument, NULL }, *environment[] = { NULL };

	execve(file, args, environment);
	die("%s: %s", file, strerror(errno));
}

/* Let a thread with such a control execute `program`'s copy. */
static void count_execution(const char *program, int i, u32 flags, const char *argument,
			    int status, struct reading *r)
{
	pid_t pid;

	make_copy(program, i);
	pid = fork_files();
	if (!pid) {
		if (files[i].as)
			become(files[i].as);
		shared->fd = open_state(VPERFCTR_OPEN_NOCLOEXEC);
		if (count_insns(shared->fd, flags))
			die("CONTROL failed");
		execute(i, argument);
	}
	ck_assert_int_eq(wait_for(pid), status);
	read_state(shared->fd, r);
	close(shared->fd);
}

/* The interpreter gets its own name, the script's name, and the argument. */
static int nr_args(int i)
{
	return files[i].kind == INTERPRETED ? 3 : 2;
}

START_TEST(counted_from_exec)
{
	struct reading r;

	count_execution(known, _i, VPERFCTR_CONTROL_START_ON_EXEC, "x", nr_args(_i), &r);
	ck_assert_uint_eq(r.read.status, files[_i].counted ? 0 : PRIVILEGED);
	ck_assert_uint_eq(r.own[1], files[_i].counted ? KNOWN_INSNS(nr_args(_i)) : 0);
	ck_assert_int_eq(!r.own[0], !files[_i].counted);
}
END_TEST

/* The same if an administrator lets such programs dump core. */
START_TEST(with_suid_dumpable)
{
	struct reading r;

	write_file("/proc/sys/fs/suid_dumpable", "1");
	count_execution(known, _i, VPERFCTR_CONTROL_START_ON_EXEC, "x", nr_args(_i), &r);
	write_file("/proc/sys/fs/suid_dumpable", "0");
	ck_assert_uint_eq(r.read.status, files[_i].counted ? 0 : PRIVILEGED);
	ck_assert_uint_eq(r.own[1], files[_i].counted ? KNOWN_INSNS(nr_args(_i)) : 0);
}
END_TEST

/* A running state ends where the file begins: only what was before is counted. */
START_TEST(running_state_ends)
{
	struct reading r, plain;
	u64 before;

	/* The instructions up to the exec; twice, as the first run may resolve symbols. */
	count_execution(known, 0, 0, "x", 2, &plain);
	count_execution(known, 0, 0, "x", 2, &plain);
	before = plain.own[1] - KNOWN_INSNS(2);
	ck_assert_uint_gt(before, 10);
	ck_assert_uint_lt(before, KNOWN_INSNS(1));

	count_execution(known, _i, 0, "x", nr_args(_i), &r);
	ck_assert_uint_eq(r.read.status, files[_i].counted ? 0 : PRIVILEGED);
	if (files[_i].counted)
		ck_assert_uint_ge(r.own[1], KNOWN_INSNS(nr_args(_i)) + 10);
	else if (files[_i].as == NOBODY)
		ck_assert_uint_eq(r.own[1], before);
	else
		ck_assert_uint_lt(r.own[1], KNOWN_INSNS(1));
}
END_TEST

/*
 * Check in the new program.  Its environment is empty; argv[1] is "look", the number of
 * the kept descriptor, and the kind of CPUs to count on.
 */
static int look(int fd)
{
	struct reading a, b;
	int mine;

	dev = open("/dev/vperfctr", O_RDONLY);
	read_state(fd, &a);
	loop(100000);
	read_state(fd, &b);
	if (b.read.status & PRIVILEGED) {
		if (b.own[1] != a.own[1] || b.own[0] != a.own[0] || b.read.status != PRIVILEGED)
			return 10;
		if (count_insns(fd, 0) != -ESRCH || call(fd, VPERFCTR_RESUME, NULL) != -ESRCH ||
		    call(fd, VPERFCTR_UNLINK, NULL))
			return 11;
		struct pollfd p = { .fd = fd };

		if (poll(&p, 1, 1000) != 1 || p.revents != POLLHUP)
			return 12;
		/* The thread has no state, and can have a new one. */
		if (dev >= 0) {
			if (open_thread(0, 0) != -ENOENT)
				return 13;
			mine = open_thread(0, VPERFCTR_OPEN_CREAT);
			if (mine < 0 || count_insns(mine, 0))
				return 14;
			loop(1000);
			if (count_of(mine) < 2000)
				return 15;
		}
		return 1;
	}
	if (b.own[1] < a.own[1] + 200000 || b.read.status != (ATTACHED | ACTIVE))
		return 20;
	if (call(fd, VPERFCTR_SUSPEND, NULL) || call(fd, VPERFCTR_UNLINK, NULL))
		return 21;
	return 2;
}

START_TEST(state_in_new_program)
{
	struct reading r;
	char text[32];
	int fd;

	/* A script inserts its name; and the loader needs no right to read the file. */
	if (files[_i].kind == INTERPRETED)
		return;
	/* The state will get the lowest free descriptor. */
	fd = dup(0);
	close(fd);
	sprintf(text, "look%d,%u", fd, info.kind);
	count_execution(self, _i, 0, text, files[_i].counted ? 2 : 1, &r);
}
END_TEST

/* An exec that fails does not end the state. */
START_TEST(failed_exec)
{
	int fd = open_state(0);
	char *args[] = { COPY, NULL };

	assert_ok(count_insns(fd, 0));
	make_copy("/etc/passwd", 1);
	ck_assert_int_eq(execve(COPY, args, NULL), -1);
	ck_assert_int_eq(chmod(COPY, 04000), 0);
	ck_assert_int_eq(execve(COPY, args, NULL), -1);
	assert_status(fd, ATTACHED | ACTIVE);
}
END_TEST

/* Return true if a sample of the ring shows this address, or a stack with this text. */
static bool shows(const struct mapped_ring *ring, u64 i, u64 entry, const char *text)
{
	const struct vperfctr_sample *s = ring_sample(ring, i);
	const char *at = (const char *)s->sums;
	const size_t n = s->size - sizeof(*s);

	return s->ip == entry || memmem(at, n, &entry, sizeof(entry)) ||
	       memmem(at, n, text, strlen(text));
}

/*
 * The address of the first instruction may be a secret, and is in the registers before
 * the exec is complete.  Count kernel mode, so that overflows happen then; samples must
 * not show kernel addresses.  With a stack, they do, and have a chain of calls.  The program's
 * arguments are then a secret, too.  Each call has one overflow, near the end of counting.
 * Return how many samples have the address, or the argument.
 */
static unsigned int overflow_at_exec(u64 period, u64 entry, u32 stack, u64 *sum)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .flags = stack ? VPERFCTR_RING_KERNEL : 0, .nrsamples = 64,
		.watermark = 1, .depth = stack ? 8 : 0, .stack = stack,
	};
	static const char secret[] = "an argument of the new program";
	struct mapped_ring ring;
	unsigned int shown = 0;
	struct reading r;
	pid_t pid;
	u64 i;

	pid = fork_files();
	if (!pid) {
		int mine = open_state(VPERFCTR_OPEN_NOCLOEXEC);

		if (call(mine, VPERFCTR_RING, &req) ||
		    try_overflow_ring(mine, IMODE_MAP, IMODE_BOTH, period))
			die("no ring, or no control");
		shared->map_size = req.map_size;
		shared->fd = mine;
		become(NOBODY);
		execute(1, secret);
	}
	ck_assert_int_eq(wait_for(pid), 2);
	read_state(shared->fd, &r);
	ck_assert_uint_eq(r.read.status, PRIVILEGED);
	*sum = r.own[1];
	map_ring(shared->fd, shared->map_size, &ring);
	for (i = ring.page->tail; i < ring_head(&ring); i++)
		shown += shows(&ring, i, entry, secret);
	munmap((void *)ring.page, ring.size);
	close(shared->fd);
	return shown;
}

START_TEST(first_address_is_hidden)
{
	const u32 stack = _i ? VPERFCTR_STACK_MAX : 0;
	unsigned int i, n = 0, shown = 0;
	u64 period, sum = 0;
	Elf64_Ehdr head;
	int in;

	make_copy(known, 1);
	in = open(known, O_RDONLY);
	ck_assert_int_eq(read(in, &head, sizeof(head)), sizeof(head));
	close(in);
	/* After some runs, each takes about as many instructions. */
	for (i = 0; i < 20; i++)
		overflow_at_exec(1 << 30, head.e_entry, stack, &sum);
	for (i = 0; i < 1000; i++) {
		period = sum - i * 7 % 1000;
		shown += overflow_at_exec(period, head.e_entry, stack, &sum);
		n += sum >= period;
	}
	ck_assert_uint_gt(n, 100);
	ck_assert_uint_eq(shown, 0);
}
END_TEST

static void setup(void)
{
	shared = shared_memory(PAGE);
}

static void teardown(void)
{
	unlink(COPY);
	unlink(SCRIPT);
}

static void add(TCase *tc)
{
	const int n = sizeof(files) / sizeof(files[0]);

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, counted_from_exec, 0, n);
	tcase_add_loop_test(tc, with_suid_dumpable, 0, n);
	tcase_add_loop_test(tc, running_state_ends, 0, n);
	tcase_add_loop_test(tc, state_in_new_program, 0, n);
	tcase_add_test(tc, failed_exec);
	if (has(VPERFCTR_FEATURE_PCINT))
		tcase_add_loop_test(tc, first_address_is_hidden, 0, 2);
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd;

	if (argc > 1 && sscanf(argv[1], "look%d,%u", &fd, &info.kind) == 2)
		return look(fd);
	if (n < 0)
		die("/proc/self/exe: %s", strerror(errno));
	strcpy(known, self);
	strcat(dirname(known), "/known");
	open_device();
	return run_tests("exec_setuid", add);
}
