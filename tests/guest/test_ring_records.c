// SPDX-License-Identifier: GPL-2.0
/*
 * Records in a ring: forks, execs, names, executable mappings and exits.  They are compared
 * with /proc, and with what the processes did by construction.
 */
#include <fcntl.h>
#include <libgen.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"
#include "overflow.h"

#define PERIOD	1009
#define INHERIT	(VPERFCTR_CONTROL_INHERIT | VPERFCTR_CONTROL_RING)
#define COPY	"/tmp/privileged"

static char known[256];
static int fd;
static struct mapped_ring ring;
static volatile struct {
	int fd;
	size_t size;
	pid_t pid;
	u32 go;
} *shared;

/* A record with its text. */
struct rec {
	struct vperfctr_record r;
	char text[4096];
};

/* The records that have been read from the ring, and parts of the samples. */
static struct rec *recs;
static unsigned int nrecs;
static struct { u32 pid; u64 ip, tsc; } samples[4096];
static unsigned int nsamples;
static u64 begun;		/* the time before the test has made its ring */

#define MAX_RECS 1024

static void setup(void)
{
	shared = shared_memory(PAGE);
	recs = shared_memory(MAX_RECS * sizeof(*recs));
	nrecs = 0;
	nsamples = 0;
	begun = rdtsc();
	fd = open_state(0);
}

static void control_ring(u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add_imode(&control, IMODE, PERIOD);
	control.c.flags = flags;
	assert_ok(set_control(fd, &control));
}

static void make(u32 nrsamples)
{
	make_ring_flags(fd, VPERFCTR_RING_RECORDS, nrsamples, 1, 0, &ring);
}

static const struct vperfctr_record *slot(u64 n)
{
	return (const void *)ring_sample(&ring, n);
}

/* Copy a record of several slots. */
static void assemble(u64 n, struct rec *to)
{
	const struct vperfctr_record *r = slot(n);
	size_t done = ring.page->sample_size < r->size ? ring.page->sample_size : r->size;
	unsigned int i;

	ck_assert_uint_le(r->size, sizeof(*to));
	memset(to, 0, sizeof(*to));
	memcpy(to, r, done);
	for (i = 1; i < r->slots; i++) {
		const struct vperfctr_more *more = (const void *)slot(n + i);

		ck_assert_uint_eq(more->type, VPERFCTR_RECORD_MORE);
		ck_assert_uint_eq(more->slots, r->slots - i);
		ck_assert_uint_eq(more->reserved, 0);
		ck_assert_uint_gt(more->size, sizeof(*more));
		ck_assert_uint_le(more->size, ring.page->sample_size);
		memcpy((char *)to + done, more + 1, more->size - sizeof(*more));
		done += more->size - sizeof(*more);
	}
	ck_assert_uint_eq(done, r->size);
	/* A name and its NUL; the rest of the last eight bytes are zeros. */
	if (to->r.text) {
		ck_assert_uint_eq(to->r.text, sizeof(to->r));
		ck_assert_uint_eq(r->size, sizeof(to->r) + (strlen(to->text) + 8) / 8 * 8);
	} else {
		ck_assert_uint_eq(r->size, sizeof(to->r));
	}
}

/* Read and consume all whole records and samples. */
static void read_ring(void)
{
	u64 n = ring.page->tail, head = ring_head(&ring);

	for (; n < head; n++) {
		const struct vperfctr_sample *s = ring_sample(&ring, n);

		if (s->type == VPERFCTR_SAMPLE_OVERFLOW) {
			ck_assert_uint_lt(nsamples, sizeof(samples) / sizeof(samples[0]));
			samples[nsamples].pid = s->pid;
			samples[nsamples].ip = s->ip;
			samples[nsamples++].tsc = s->tsc;
			continue;
		}
		if (slot(n)->slots > head - n)
			break;
		ck_assert_uint_lt(nrecs, MAX_RECS);
		assemble(n, &recs[nrecs]);
		ck_assert_uint_gt(recs[nrecs].r.tsc, begun);
		ck_assert_uint_lt(recs[nrecs++].r.tsc, rdtsc());
		n += slot(n)->slots - 1;
	}
	assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(uintptr_t)(n - ring.page->tail)));
}

/* Read until all threads have ended.  Before that, the last records are there. */
static void read_all(void)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	do {
		ck_assert_int_eq(poll(&p, 1, 60000), 1);
		read_ring();
	} while (!(p.revents & POLLHUP));
}

/* Read until this thread's new name comes. */
static void read_until(const char *name)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	prctl(PR_SET_NAME, name);
	for (;;) {
		read_ring();
		if (nrecs && recs[nrecs - 1].r.type == VPERFCTR_RECORD_COMM &&
		    !strcmp(recs[nrecs - 1].text, name))
			return;
		ck_assert_int_eq(poll(&p, 1, 60000), 1);
	}
}

/* Return the next record of a process from number i on, of this type; NULL: none. */
static const struct rec *find(u32 type, pid_t pid, unsigned int i)
{
	for (; i < nrecs; i++)
		if (recs[i].r.type == type && recs[i].r.pid == (u32)pid)
			return &recs[i];
	return NULL;
}

static unsigned int nr_of(u32 type, pid_t pid)
{
	unsigned int i, n = 0;

	for (i = 0; i < nrecs; i++)
		n += recs[i].r.type == type && recs[i].r.pid == (u32)pid;
	return n;
}

/* ---- programs ---------------------------------------------------------------------- */

static void exec_known(const char *path)
{
	char *args[] = { "known", "a", "b", NULL }, *environment[] = { NULL };

	execve(path, args, environment);
	die("%s: %s", path, strerror(errno));
}

/*
 * A child executes a program.  Each of its samples after the exec is in the program's
 * mapping, which can be known by the records only.
 */
START_TEST(a_program)
{
	const struct rec *fork_rec, *exec_rec, *map, *exit_rec;
	unsigned int i, in_program = 0;
	pid_t pid, owner = fork_files();
	struct stat st;

	if (!owner) {
		close(fd);
		fd = open_state(0);
		make(1024);
		control_ring(INHERIT);
		shared->fd = fd;
		shared->size = ring.size;
		pid = fork_files();
		if (!pid)
			exec_known(known);
		shared->pid = pid;
		_exit(wait_for(pid) != 3);
	}
	ck_assert_int_eq(wait_for(owner), 0);
	fd = shared->fd;
	pid = shared->pid;
	map_ring(fd, shared->size, &ring);
	read_all();
	ck_assert_uint_eq(ring.page->lost, 0);

	fork_rec = find(VPERFCTR_RECORD_FORK, pid, 0);
	ck_assert_ptr_nonnull(fork_rec);
	ck_assert_uint_eq(fork_rec->r.tid, pid);
	ck_assert_uint_eq(fork_rec->r.parent_pid, owner);
	ck_assert_uint_eq(fork_rec->r.parent_tid, owner);
	exec_rec = find(VPERFCTR_RECORD_EXEC, pid, 0);
	ck_assert_ptr_nonnull(exec_rec);
	ck_assert_str_eq(exec_rec->text, "known");
	ck_assert_uint_eq(exec_rec->r.tid, pid);
	ck_assert_uint_gt(exec_rec->r.tsc, fork_rec->r.tsc);
	exit_rec = find(VPERFCTR_RECORD_EXIT, pid, 0);
	ck_assert_ptr_nonnull(exit_rec);
	ck_assert(fork_rec < exec_rec && exec_rec < exit_rec);
	ck_assert_uint_eq(nr_of(VPERFCTR_RECORD_FORK, pid), 1);
	ck_assert_uint_eq(nr_of(VPERFCTR_RECORD_EXEC, pid), 1);
	ck_assert_uint_eq(nr_of(VPERFCTR_RECORD_EXIT, pid), 1);
	ck_assert_uint_eq(nr_of(VPERFCTR_RECORD_EXIT, owner), 1);

	map = find(VPERFCTR_RECORD_MAP, pid, exec_rec - recs);
	while (map && strcmp(map->text, known))
		map = find(VPERFCTR_RECORD_MAP, pid, map - recs + 1);
	ck_assert_msg(map, "there is no mapping of %s", known);
	ck_assert_int_eq(stat(known, &st), 0);
	ck_assert_uint_eq(map->r.inode, st.st_ino);
	ck_assert_uint_eq(map->r.major, major(st.st_dev));
	ck_assert_uint_eq(map->r.minor, minor(st.st_dev));
	for (i = 0; i < nsamples; i++) {
		if (samples[i].pid != (u32)pid || samples[i].tsc < exec_rec->r.tsc)
			continue;
		ck_assert_uint_ge(samples[i].ip, map->r.start);
		ck_assert_uint_lt(samples[i].ip, map->r.end);
		in_program++;
	}
	ck_assert_uint_ge(in_program, KNOWN_INSNS(3) / PERIOD);
}
END_TEST

/* Where a program with privileges has been mapped is not told. */
START_TEST(a_privileged_program)
{
	const struct rec *exec_rec;
	pid_t pid = fork_files();
	char command[600];

	sprintf(command, "cp %s " COPY, known);
	if (pid == 0) {
		ck_assert_int_eq(system(command), 0);
		ck_assert_int_eq(chmod(COPY, _i ? 04755 : 0755), 0);
		become(NOBODY);
		close(fd);
		fd = open_state(VPERFCTR_OPEN_NOCLOEXEC);
		make(1024);
		control_ring(VPERFCTR_CONTROL_RING);
		shared->fd = fd;
		shared->size = ring.size;
		exec_known(COPY);
	}
	ck_assert_int_eq(wait_for(pid), 3);
	fd = shared->fd;
	map_ring(fd, shared->size, &ring);
	read_all();
	unlink(COPY);
	exec_rec = find(VPERFCTR_RECORD_EXEC, pid, 0);
	ck_assert_ptr_nonnull(exec_rec);
	ck_assert_str_eq(exec_rec->text, "privileged");
	if (_i)
		ck_assert_ptr_null(find(VPERFCTR_RECORD_MAP, pid, exec_rec - recs));
	else
		ck_assert_str_eq(find(VPERFCTR_RECORD_MAP, pid, exec_rec - recs)->text, COPY);
	ck_assert_uint_eq(ring.page->lost, 0);
}
END_TEST

/* ---- mappings ---------------------------------------------------------------------- */

/* Check a record against the line of /proc/self/maps with its first address. */
static void check_mapping(const struct rec *rec)
{
	unsigned long long start, end, offset, inode;
	unsigned int dev_major, dev_minor;
	char line[5000], perms[8];
	FILE *f = fopen("/proc/self/maps", "r");
	int path;

	while (fgets(line, sizeof(line), f)) {
		path = 0;
		line[strcspn(line, "\n")] = '\0';
		sscanf(line, "%llx-%llx %7s %llx %x:%x %llu %n", &start, &end, perms, &offset,
		       &dev_major, &dev_minor, &inode, &path);
		if (start != rec->r.start)
			continue;
		ck_assert_uint_eq(rec->r.end, end);
		ck_assert_uint_eq(rec->r.offset, offset);
		ck_assert_uint_eq(rec->r.major, dev_major);
		ck_assert_uint_eq(rec->r.minor, dev_minor);
		ck_assert_uint_eq(rec->r.inode, inode);
		ck_assert_str_eq(rec->text, line + path);
		ck_assert_uint_eq(rec->r.tid, getpid());
		fclose(f);
		return;
	}
	ck_abort_msg("no mapping at %#llx", (unsigned long long)rec->r.start);
}

static void *map_file(const char *path, int prot, off_t offset)
{
	int file = open(path, O_RDONLY);
	void *p = mmap(NULL, 2 * PAGE, prot, MAP_PRIVATE, file, offset);

	ck_assert(file >= 0 && p != MAP_FAILED);
	close(file);
	return p;
}

/* Make a file whose path has about this length.  Its directory is new. */
static void make_file(char *path, unsigned int length)
{
	unsigned int n = sprintf(path, "/tmp/records-%d", (int)getpid());
	int file;

	mkdir(path, 0755);
	while (n + 102 < length) {
		n += sprintf(path + n, "/%0100d", 1);
		ck_assert_int_eq(mkdir(path, 0755), 0);
	}
	sprintf(path + n, "/file");
	file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	ck_assert_int_eq(ftruncate(file, 4 * PAGE), 0);
	close(file);
}

/* Mappings of files and memory, made executable at once or later. */
START_TEST(mappings)
{
	static char path[4096];
	unsigned int first;
	void *p, *data;

	make_file(path, _i);
	make(256);
	control_ring(VPERFCTR_CONTROL_RING);
	read_until("begin");
	first = nrecs;
	p = map_file(path, PROT_READ | PROT_EXEC, PAGE);
	/* Not executable: no record. */
	data = map_file(path, PROT_READ, 0);
	read_until("file");
	ck_assert_uint_eq(nrecs - first, 2);
	ck_assert_uint_eq(recs[first].r.type, VPERFCTR_RECORD_MAP);
	ck_assert_uint_eq(recs[first].r.start, (uintptr_t)p);
	check_mapping(&recs[first]);

	first = nrecs;
	ck_assert_int_eq(mprotect(data, PAGE, PROT_READ | PROT_EXEC), 0);
	read_until("later");
	ck_assert_uint_eq(nrecs - first, 2);
	ck_assert_uint_eq(recs[first].r.start, (uintptr_t)data);
	check_mapping(&recs[first]);

	first = nrecs;
	p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	read_until("memory");
	ck_assert_uint_eq(nrecs - first, 2);
	ck_assert_uint_eq(recs[first].r.start, (uintptr_t)p);
	check_mapping(&recs[first]);
	ck_assert_uint_eq(recs[first].text[0], 0);

	/* As in /proc. */
	first = nrecs;
	unlink(path);
	ck_assert_int_eq(mprotect(data, 2 * PAGE, PROT_READ | PROT_EXEC), 0);
	read_until("deleted");
	ck_assert_uint_eq(nrecs - first, 2);
	check_mapping(&recs[first]);
	ck_assert_uint_eq(ring.page->lost, 0);
}
END_TEST

/* A record that needs more slots than the ring has is lost, and no other is. */
START_TEST(path_too_long_for_the_ring)
{
	static char path[4096];

	make_file(path, 600);
	make(8);
	control_ring(VPERFCTR_CONTROL_RING);
	read_until("begin");
	map_file(path, PROT_READ | PROT_EXEC, 0);
	read_until("end");
	ck_assert_uint_eq(recs[nrecs - 2].r.type, VPERFCTR_RECORD_COMM);
	ck_assert_uint_eq(ring.page->lost, 1);
}
END_TEST

/* ---- threads and names --------------------------------------------------------------- */

static void *rename_thread(void *arg)
{
	*(pid_t *)arg = gettid();
	prctl(PR_SET_NAME, "a name that is too long");
	return NULL;
}

START_TEST(threads)
{
	unsigned int i, seen = 0;
	pthread_t thread;
	pid_t tid = 0;

	make(256);
	control_ring(INHERIT);
	ck_assert_int_eq(pthread_create(&thread, NULL, rename_thread, &tid), 0);
	pthread_join(thread, NULL);
	/* A thread is joined before its exit is over. */
	ck_assert_eventually(syscall(SYS_tgkill, getpid(), tid, 0));
	read_until("end");
	for (i = 0; i < nrecs; i++) {
		if (recs[i].r.tid != (u32)tid)
			continue;
		ck_assert_uint_eq(recs[i].r.pid, getpid());
		if (recs[i].r.type == VPERFCTR_RECORD_FORK) {
			ck_assert_uint_eq(recs[i].r.parent_tid, getpid());
			ck_assert_uint_eq(seen++, 0);
		} else if (recs[i].r.type == VPERFCTR_RECORD_COMM) {
			ck_assert_str_eq(recs[i].text, "a name that is ");
			ck_assert_uint_eq(seen++, 1);
		} else if (recs[i].r.type == VPERFCTR_RECORD_EXIT) {
			ck_assert_uint_eq(seen++, 2);
		}
	}
	ck_assert_uint_eq(seen, 3);
}
END_TEST

/* The threads of another state make no records in this ring. */
START_TEST(other_threads)
{
	unsigned int i;

	make(256);
	control_ring(VPERFCTR_CONTROL_RING);
	ck_assert_int_eq(system("true"), 0);
	read_until("end");
	for (i = 0; i < nrecs; i++)
		ck_assert_uint_eq(recs[i].r.tid, getpid());
}
END_TEST

/* ---- a full ring ----------------------------------------------------------------------- */

/*
 * Records that find the ring full wait, as many as there are items, and the next ones are
 * lost.  The end of the thread comes after them.
 */
START_TEST(full)
{
	struct pollfd p = { .events = POLLIN };
	unsigned int n, maps;
	pid_t pid = fork_files();

	if (!pid) {
		void *page;

		close(fd);
		fd = open_state(0);
		make(32);
		shared->fd = fd;
		shared->size = ring.size;
		page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (n = 0; n < (unsigned int)_i; n++) {
			mprotect(page, PAGE, PROT_READ | PROT_EXEC);
			mprotect(page, PAGE, PROT_READ);
		}
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	fd = shared->fd;
	map_ring(fd, shared->size, &ring);
	p.fd = fd;
	/* The thread has ended, but its last records have no room. */
	ck_assert_eventually(ring_head(&ring) == 32);
	ck_assert_int_eq(poll(&p, 1, 0), 1);
	ck_assert_int_eq(p.revents, POLLIN);
	read_all();
	ck_assert_uint_eq(ring.page->tail, ring_head(&ring));
	maps = nr_of(VPERFCTR_RECORD_MAP, pid);
	n = nr_of(VPERFCTR_RECORD_EXIT, pid);
	ck_assert_uint_eq(maps + n + ring.page->lost, _i + 1);
	/* 64 items, and 16 records in the ring; each has two slots. */
	ck_assert_uint_ge(maps + n, _i < 64 ? _i : 64);
	if (_i < 64)
		ck_assert_uint_eq(ring.page->lost, 0);
	else
		ck_assert_uint_gt(ring.page->lost, 0);
}
END_TEST

/* A record without room wakes pollers, although there are fewer samples than the watermark. */
START_TEST(full_before_the_watermark)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	static char path[4096];
	unsigned int n;

	make_file(path, 2200);
	make_ring_flags(fd, VPERFCTR_RING_RECORDS, 64, 64, 0, &ring);
	for (n = 0; n < 15; n++)
		prctl(PR_SET_NAME, "a name");
	map_file(path, PROT_READ | PROT_EXEC, 0);
	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	ck_assert_int_eq(p.revents, POLLIN);
	ck_assert_uint_eq(ring_head(&ring), 30);
	read_ring();
	ck_assert_eventually(ring_head(&ring) > 30);
	read_ring();
	ck_assert_uint_eq(nrecs, 16);
	check_mapping(&recs[15]);
}
END_TEST

/* While records wait for room, the files of their mappings are not kept open. */
START_TEST(files_are_closed)
{
	unsigned int n;
	int err;

	mkdir("/tmp/records-mount", 0755);
	ck_assert_int_eq(mount("none", "/tmp/records-mount", "tmpfs", 0, NULL), 0);
	close(open("/tmp/records-mount/file", O_WRONLY | O_CREAT, 0644));
	ck_assert_int_eq(truncate("/tmp/records-mount/file", 4 * PAGE), 0);
	make(32);
	for (n = 0; n < 30; n++)
		munmap(map_file("/tmp/records-mount/file", PROT_READ | PROT_EXEC, 0), 2 * PAGE);
	ck_assert_eventually(ring_head(&ring) >= 30);
	ck_assert_eventually((err = umount("/tmp/records-mount"), !err));
	ck_assert_uint_eq(ring.page->lost, 0);
}
END_TEST

/* The end of a ring with records that nothing has read, and whose files are open. */
START_TEST(end_of_a_full_ring)
{
	static char path[4096];
	unsigned int n;

	make_file(path, 0);
	make(32);
	for (n = 0; n < 60; n++)
		munmap(map_file(path, PROT_READ | PROT_EXEC, 0), 2 * PAGE);
	ck_assert_eventually(ring_head(&ring) >= 30);
	ck_assert_int_eq(munmap((void *)ring.page, ring.size), 0);
	close(fd);
	fd = -1;
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------- */

START_TEST(errors)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 32, .watermark = 1, .flags = 0x04,
	};

	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	ck_assert_uint_eq(info.features & VPERFCTR_FEATURE_RECORDS, VPERFCTR_FEATURE_RECORDS);
	req.flags = VPERFCTR_RING_RECORDS;
	assert_ok(call(fd, VPERFCTR_RING, &req));
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, a_program);
	tcase_add_loop_test(tc, a_privileged_program, 0, 2);
	tcase_add_loop_test(tc, mappings, 0, 1);
	tcase_add_loop_test(tc, mappings, 3000, 3001);
	tcase_add_test(tc, path_too_long_for_the_ring);
	tcase_add_test(tc, threads);
	tcase_add_test(tc, other_threads);
	tcase_add_loop_test(tc, full, 40, 41);
	tcase_add_loop_test(tc, full, 200, 201);
	tcase_add_test(tc, full_before_the_watermark);
	tcase_add_test(tc, files_are_closed);
	tcase_add_test(tc, end_of_a_full_ring);
	tcase_add_test(tc, errors);
}

int main(void)
{
	char *self = realpath("/proc/self/exe", NULL);

	sprintf(known, "%s/known", dirname(self));
	open_device();
	wait_for_upper_tsc();
	return run_tests("ring-records", add);
}
