// SPDX-License-Identifier: GPL-2.0
/* perfex --report of functions that a JIT has written to a file in the jitdump format. */
#include <elf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "disassemble.h"
#include "other-order.h"
#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

#define HEAP		UINT64_C(0x7f0000000000), UINT64_C(0x7f0000100000), UINT64_C(0)
#define AT		UINT64_C(0x7f0000001000)

static char text[1 << 18];

/* The rows of the table, as they are below. */
static void functions_are(const char *rows)
{
	snprintf(text, sizeof(text), " Functions:\n\n%s\n Lines:\n", rows);
	has(out, text);
}

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

/* ---- a dump ---------------------------------------------------------------------------- */

static FILE *dump;

static void put(const void *data, size_t size)
{
	fwrite(data, 1, size, dump);
}

static void put_u32(uint32_t n)
{
	put(&n, sizeof(n));
}

static void put_u64(uint64_t n)
{
	put(&n, sizeof(n));
}

static const char *dump_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/jit-10.dump", dir);
	return path;
}

static void begin_dump(uint64_t flags)
{
	dump = fopen(dump_path(), "w");
	put_u32(0x4a695444);
	put_u32(1);
	put_u32(40);
#ifdef __x86_64__
	put_u32(EM_X86_64);
#else
	put_u32(EM_AARCH64);
#endif
	put_u32(0);
	put_u32(10);
	put_u64(0);
	put_u64(flags);
}

static void put_head(uint32_t type, size_t size, uint64_t time)
{
	put_u32(type);
	put_u32((uint32_t)size + 16);
	put_u64(time);
}

static void put_load(uint64_t time, uint64_t address, uint64_t index, const char *name,
		     const void *code, uint64_t size)
{
	put_head(0, 40 + strlen(name) + 1 + size, time);
	put_u32(10);
	put_u32(10);
	put_u64(address);
	put_u64(address);
	put_u64(size);
	put_u64(index);
	put(name, strlen(name) + 1);
	put(code, size);
}

static void put_move(uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	put_head(1, 48, time);
	put_u32(10);
	put_u32(10);
	put_u64(to);
	put_u64(from);
	put_u64(to);
	put_u64(size);
	put_u64(index);
}

/* Lines 5, 6, ... of the instructions at each fourth byte. */
static void put_lines(uint64_t address, unsigned int nr, const char *source)
{
	size_t size = 16 + 16 * nr + strlen(source) + 1 + (nr - 1) * 2;
	unsigned int i;

	put_head(2, size, 0);
	put_u64(address);
	put_u64(nr);
	for (i = 0; i < nr; i++) {
		put_u64(address + 4 * i);
		put_u32(5 + i);
		put_u32(0);
		if (!i)
			put(source, strlen(source) + 1);
		else
			put("\xff", 2);
	}
}

static const unsigned char code[64] = {
#ifdef __x86_64__
	0x0f, 0x1f, 0x40, 0x00, 0x0f, 0x1f, 0x40, 0x00, 0xc3
#endif
};

/* ---- samples ------------------------------------------------------------------------------ */

/* The TSC runs with 2 GHz, and began 1000 nanoseconds after the other clock. */
static void put_clock(uint64_t tsc)
{
	struct record_clock r = { tsc, 1000 + tsc / 2 };

	put_record(RECORD_CLOCK, &r, sizeof(r), NULL);
}

static void begin(bool clocks)
{
	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	if (clocks) {
		put_clock(0);
		put_clock(10000000);
	}
	put_mapping(10, 0, HEAP, "//anon");
	put_mapping(10, 0, UINT64_C(0x600000), UINT64_C(0x601000), 0, dump_path());
}

static void end(void)
{
	put_end(1, (uint64_t []){ 123456 });
	put_close();
}

START_TEST(functions)
{
	begin_dump(0);
	put_load(0, AT, 1, "one(int)", code, 16);
	put_lines(AT + 0x100, 3, "/x/script.js");
	put_load(0, AT + 0x100, 2, "two", code, 16);
	put_load(0, AT + 0x200, 3, "three", code, 64);
	fclose(dump);
	begin(false);
	put_sample(10, 10, 5, AT);
	put_sample(10, 10, 5, AT + 15);
	put_sample(10, 10, 5, AT + 16);
	put_sample(10, 10, 5, AT + 0x100);
	put_sample(10, 10, 5, AT + 0x104);
	put_sample(10, 10, 5, AT + 0x104);
	/* Another process has no dump; one that was forked has its parent's. */
	put_mapping(11, 0, HEAP, "//anon");
	put_sample(11, 11, 5, AT);
	put_fork(12, 12, 1, 10, 10);
	put_sample(12, 12, 5, AT + 0x200);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  37.50%             3  two [jit-10.dump]\n"
		      "  25.00%             2  one(int) [jit-10.dump]\n"
		      "  12.50%             1  [anon]+0x7f0000001000\n"
		      "  12.50%             1  [anon]+0x7f0000001010\n"
		      "  12.50%             1  three [jit-10.dump]\n");
	has(out, "  25.00%             2  /x/script.js:6  two\n");
	has(out, "  12.50%             1  /x/script.js:5  two\n");
	/* The instructions are those of the file. */
	ck_assert_int_eq(report("--annotate=two@jit-10.dump"), 0);
	has(out, " two [jit-10.dump], instructions:u: 3 samples, 37.50% of all\n");
#ifdef __x86_64__
	if (!disassembler_built())
		return;
	has(out, "  33.33%             1  7f0000001100  nopl    (%rax)\n");
	has(out, "  66.67%             2  7f0000001104  nopl    (%rax)\n");
	has(out, "                        7f0000001108  retq\n");
#endif
}
END_TEST

/* One address has different functions, one after the other. */
START_TEST(functions_at_one_address)
{
	int clocks = _i == 0, tsc = _i == 1;
	/* Nanoseconds, and ticks of the TSC. */
	uint64_t t1 = tsc ? 2000000 : 1001000, t2 = tsc ? 4000000 : 2001000;

	begin_dump(tsc);
	put_load(t1, AT, 1, "old", code, 64);
	put_load(t2, AT + 16, 2, "new", code, 16);
	fclose(dump);
	begin(clocks);
	put_sample(10, 10, 1000000, AT + 16);
	put_sample(10, 10, 2000000, AT + 16);
	put_sample(10, 10, 3999998, AT + 16);
	put_sample(10, 10, 4000000, AT + 16);
	put_sample(10, 10, 9000000, AT + 31);
	put_sample(10, 10, 9000000, AT + 32);
	put_sample(10, 10, 9000000, AT + 33);
	put_sample(10, 10, 20000000, AT + 17);
	end();
	ck_assert_int_eq(report(), 0);
	/* Without the two clocks, the functions are those at the end. */
	functions_are(clocks || tsc ?
		      "  50.00%             4  old [jit-10.dump]\n"
		      "  37.50%             3  new [jit-10.dump]\n"
		      "  12.50%             1  [anon]+0x7f0000001010\n" :
		      "  75.00%             6  new [jit-10.dump]\n"
		      "  25.00%             2  old [jit-10.dump]\n");
	check_other_order();
}
END_TEST

START_TEST(moved_function)
{
	begin_dump(0);
	put_lines(AT, 2, "lines");
	put_load(0, AT, 7, "moved", code, 16);
	put_load(0, AT + 0x100, 8, "other", code, 16);
	put_move(1001000, AT, AT + 0x1000, 16, 7);
	put_move(1001000, AT, AT + 0x2000, 16, 99);
	put_head(3, 0, 0);
	put_load(0, AT + 0x3000, 9, "after the end", code, 16);
	fclose(dump);
	begin(true);
	put_sample(10, 10, 1000000, AT + 4);
	put_sample(10, 10, 1000000, AT + 0x1004);
	put_sample(10, 10, 3000000, AT + 0x1004);
	put_sample(10, 10, 3000000, AT + 0x2000);
	put_sample(10, 10, 3000000, AT + 0x3000);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  40.00%             2  moved [jit-10.dump]\n"
		      "  20.00%             1  [anon]+0x7f0000002004\n"
		      "  20.00%             1  [anon]+0x7f0000003000\n"
		      "  20.00%             1  [anon]+0x7f0000004000\n");
	has(out, "  40.00%             2  lines:6  moved\n");
}
END_TEST

/* Chains of calls go through such functions. */
START_TEST(chains)
{
	begin_dump(0);
	put_load(0, AT, 1, "callee", code, 16);
	put_load(0, AT + 0x100, 2, "caller", code, 16);
	fclose(dump);
	begin(false);
	put_chain(10, 10, 5, 1, AT, 1, (uint64_t []){ AT + 0x110 });
	end();
	ck_assert_int_eq(report("--children"), 0);
	has(out, " 100.00%     0.00%             1  caller [jit-10.dump]\n");
}
END_TEST

/* ---- files that are not trusted, or wrong ------------------------------------------------------ */

static void write_one(const char *path)
{
	begin_dump(0);
	put_load(0, AT, 1, "one", code, 16);
	fclose(dump);
	if (path)
		ck_assert_int_eq(rename(dump_path(), path), 0);
}

static void sample_with_inode(uint64_t inode_is, bool right_device)
{
	struct record_mapping r = { .task = { 10, 10, 0 }, .start = 0x600000, .end = 0x601000 };
	struct stat st;

	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	put_mapping(10, 0, HEAP, "//anon");
	ck_assert_int_eq(stat(dump_path(), &st), 0);
	r.inode = inode_is ? inode_is : st.st_ino;
	r.major = major(st.st_dev);
	r.minor = minor(st.st_dev) + !right_device;
	put_record(RECORD_MAPPING, &r, sizeof(r), dump_path());
	put_sample(10, 10, 5, AT);
	end();
}

START_TEST(other_files)
{
	char path[128];

	write_one(NULL);
	sample_with_inode(0, true);
	ck_assert_int_eq(report(), 0);
	has(out, "one [jit-10.dump]");
	check_other_order();
	/* That of another process, which had the same number. */
	sample_with_inode(1, true);
	ck_assert_int_eq(report(), 0);
	has(out, " 100.00%             1  [anon]+0x7f0000001000\n");
	has(out, "/jit-10.dump is not read, so code that this JIT made may have no names: it is not the file that the process has mapped.\n");
	sample_with_inode(0, false);
	ck_assert_int_eq(report(), 0);
	has(out, "it is not the file that the process has mapped");
	/* Links are not followed, nor are pipes waited for. */
	sample_with_inode(0, true);
	snprintf(path, sizeof(path), "%s/other", dir);
	write_one(path);
	unlink(dump_path());
	ck_assert_int_eq(symlink("other", dump_path()), 0);
	ck_assert_int_eq(report(), 0);
	has(out, " is not read, so code");
	unlink(dump_path());
	ck_assert_int_eq(mkfifo(dump_path(), 0600), 0);
	ck_assert_int_eq(report(), 0);
	has(out, "may have no names: it is no file.\n");
	unlink(dump_path());
	ck_assert_int_eq(report(), 0);
	has(out, "may have no names: No such file or directory.\n");
}
END_TEST

/* The file of another root directory: a copy, and another file has its path here. */
START_TEST(other_root)
{
	char root[128], path[400], command[1000];

	write_one(NULL);
	sample_with_inode(1, true);
	snprintf(root, sizeof(root), "%s/root", dir);
	snprintf(path, sizeof(path), "%s%s", root, dump_path());
	snprintf(command, sizeof(command), "mkdir -p %s%s && cp %s %s", root, dir, dump_path(), path);
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(report(), 0);
	has(out, "it is not the file that the process has mapped");
	ck_assert_int_eq(report("--symfs", root), 0);
	has(out, "one [jit-10.dump]");
	unlink(dump_path());
	ck_assert_int_eq(report("--symfs", root), 0);
	has(out, "one [jit-10.dump]");
	/* If it cannot be used, the one here is not taken for it. */
	write_one(NULL);
	sample_with_inode(0, true);
	ck_assert_int_eq(truncate(path, 10), 0);
	ck_assert_int_eq(report("--symfs", root), 0);
	has(out, "may have no names: it is no jitdump of version 1 and of this byte order.\n");
	/* If it is not there, it is. */
	unlink(path);
	ck_assert_int_eq(report("--symfs", root), 0);
	has(out, "one [jit-10.dump]");
	if (!geteuid()) {
		write_one(path);
		ck_assert_int_eq(chown(path, 12345, 12345), 0);
		ck_assert_int_eq(report("--symfs", root), 0);
		has(out, "one [jit-10.dump]");
	}
	snprintf(command, sizeof(command), "rm -r %s", root);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* Only root can make a file of another user. */
START_TEST(other_users)
{
	if (geteuid())
		return;
	write_one(NULL);
	ck_assert_int_eq(chown(dump_path(), 12345, 12345), 0);
	sample_with_inode(0, true);
	ck_assert_int_eq(report(), 0);
	has(out, "one [jit-10.dump]");
	begin(false);
	put_sample(10, 10, 5, AT);
	end();
	ck_assert_int_eq(report(), 0);
	has(out, "may have no names: it belongs to another user.\n");
	has(out, " 100.00%             1  [anon]+0x7f0000001000\n");
}
END_TEST

static size_t load(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n = fread(buf, 1, size, f);

	fclose(f);
	return n;
}

static void store(const char *path, const char *buf, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert_uint_eq(fwrite(buf, 1, len, f), len);
	fclose(f);
}

static void try_report(void)
{
	static const char *const annotate[] = { NULL, "one", "two" };
	static unsigned int turn;
	FILE *null = fopen("/dev/null", "w");
	struct reporting o = { .file = in_dir("s"), .annotate = annotate[turn++ % 3] };
	struct error e;

	report_here(null, &o, &e);
	fclose(null);
}

/* Each byte of a file is wrong once, and it ends after each byte. */
START_TEST(damaged_dump)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t len, n, i;
	char old;

	begin_dump(0);
	put_lines(AT, 3, "/x/script.js");
	put_load(0, AT, 1, "one", code, 16);
	put_load(0, AT + 0x100, 2, "two", code, 16);
	put_move(5, AT, AT + 0x1000, 16, 1);
	fclose(dump);
	begin(true);
	put_sample(10, 10, 1, AT);
	put_sample(10, 10, 100, AT + 0x104);
	put_sample(10, 10, 100, AT + 0x1004);
	end();
	len = load(dump_path(), text, sizeof(text));
	for (n = 0; n < len; n++) {
		store(dump_path(), text, n);
		try_report();
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			old = text[n];
			text[n] = (char)values[i];
			store(dump_path(), text, len);
			text[n] = old;
			try_report();
		}
	}
	/* Records that are whole are read. */
	store(dump_path(), text, len - 8);
	ck_assert_int_eq(report(), 0);
	has(out, "one [jit-10.dump]");
	has(out, "two [jit-10.dump]");
}
END_TEST

START_TEST(no_dump)
{
	store(dump_path(), "something else, of more than a header's size", 40);
	begin(false);
	put_sample(10, 10, 1, AT);
	end();
	ck_assert_int_eq(report(), 0);
	has(out, "may have no names: it is no jitdump of version 1 and of this byte order.\n");
}
END_TEST

/* As many functions at one address as a JIT may make in a long run. */
START_TEST(many_functions)
{
	char name[32];
	unsigned int i;

	begin_dump(0);
	for (i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		put_load(1000 + i * 100, AT, i, name, code, 16);
	}
	fclose(dump);
	begin(true);
	for (i = 0; i < 20000; i += 1000)
		put_sample(10, 10, i * 200, AT);
	end();
	ck_assert_int_eq(report(), 0);
	for (i = 0; i < 20000; i += 1000) {
		snprintf(name, sizeof(name), " 1  f%u [jit-10.dump]\n", i);
		has(out, name);
	}
}
END_TEST

/* ---- maps of processes in containers ------------------------------------------------------ */

static void put_process(uint32_t pid, uint32_t inner_pid, uint32_t uid)
{
	const struct record_process r = { { pid, pid, 0 }, inner_pid, uid };

	put_record(RECORD_PROCESS, &r, sizeof(r), NULL);
}

static void report_container(uint32_t pid, uint32_t inner_pid, uint32_t uid, const char *rows)
{
	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	put_process(pid, inner_pid, uid);
	put_mapping(pid, 0, HEAP, "//anon");
	put_sample(pid, pid, 5, AT);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are(rows);
	ck_assert_int_eq(report("--symfs", (char *)in_dir("nowhere")), 0);
	functions_are(rows);
}

static void write_map(const char *path, const char *name)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f, "7f0000001000 10 %s\n", name);
	fclose(f);
}

/* Process 1 of a namespace, below another root: write the map, say so, and wait. */
static void __attribute__((noreturn)) live_in_container(int ready)
{
	if (chroot(in_dir("root")) || chdir("/"))
		_exit(1);
	write_map("/tmp/perf-1.map", "inside");
	if (write(ready, "", 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

/* Return: the process; 0: the kernel refuses a namespace */
static pid_t start_container(void)
{
	int ready[2], number[2];
	pid_t pid = 0, outer;
	char byte;

	ck_assert_int_eq(pipe(ready) | pipe(number), 0);
	outer = fork();
	if (!outer) {
		close(ready[0]);
		if (unshare((geteuid() ? CLONE_NEWUSER : 0) | CLONE_NEWPID))
			_exit(1);
		pid = fork();
		if (!pid)
			live_in_container(ready[1]);
		if (write(number[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		close(ready[1]);
		_exit(0);
	}
	close(ready[1]);
	close(number[1]);
	if (read(ready[0], &byte, 1) != 1 || read(number[0], &pid, sizeof(pid)) != sizeof(pid))
		pid = 0;
	waitpid(outer, NULL, 0);
	close(ready[0]);
	close(number[0]);
	return pid;
}

#define INSIDE		" 100.00%             1  inside [anon]\n"
#define OUTSIDE		" 100.00%             1  outside [anon]\n"
#define NOWHERE		" 100.00%             1  [anon]+0x7f0000001000\n"

/* "@@" is no version there. */
START_TEST(signs_in_names)
{
	const uint32_t pid = 4000000000;

	write_map("/tmp/perf-4000000000.map", "Array.@@iterator");
	report_container(pid, pid, geteuid(), " 100.00%             1  Array.@@iterator [anon]\n");
	unlink("/tmp/perf-4000000000.map");
}
END_TEST

/* While the process lives its own /tmp has the map; then --symfs, and a copy. */
START_TEST(map_of_a_container)
{
	char command[256], copy[64];
	uint32_t pid;

	snprintf(command, sizeof(command), "mkdir -p %s/tmp", in_dir("root"));
	ck_assert_int_eq(system(command), 0);
	pid = (uint32_t)start_container();
	if (pid) {
		report_container(pid, 1, geteuid(), INSIDE);
		/* Another process has the number now. */
		report_container(pid, 2, geteuid(), NOWHERE);
		/* A recording says which number that is. */
		ck_assert_int_eq(perfex("-a", "--sample=cycles:u=1k", "-o", (char *)in_dir("r"), "true"), 0);
		snprintf(command, sizeof(command), TMP "/print_samples %s | grep -x 'process %u 1 %u' > %s",
			 in_dir("r"), pid, geteuid(), in_dir("grep"));
		ck_assert_int_eq(system(command), 0);
		kill((pid_t)pid, SIGKILL);
		while (!kill((pid_t)pid, 0))
			usleep(1000);
		report_container(pid, 1, geteuid(), NOWHERE);
		ck_assert_int_eq(report("--symfs", (char *)in_dir("root")), 0);
		functions_are(INSIDE);
		snprintf(copy, sizeof(copy), "/tmp/perf-%u.map", pid);
		write_map(copy, "outside");
		report_container(pid, 1, geteuid(), OUTSIDE);
		ck_assert_int_eq(report("--symfs", (char *)in_dir("root")), 0);
		functions_are(INSIDE);
		unlink(copy);
	}
	snprintf(command, sizeof(command), "rm -r %s", in_dir("root"));
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* A process with another root has its dump there, or has removed it. */
static pid_t start_below(const char *root, const char *file)
{
	int ready[2];
	char byte;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		const int fd = chroot(root) || chdir("/") ? -1 : open(file, O_RDONLY);

		if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
		    write(ready[1], "", 1) != 1)
			_exit(1);
		close(fd);
		pause();
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void report_below(pid_t pid, const struct stat *st, const char *path)
{
	struct record_mapping r = {
		.task = { (uint32_t)pid, (uint32_t)pid, 0 }, .start = 0x600000, .end = 0x601000,
		.major = major(st->st_dev), .minor = minor(st->st_dev), .inode = st->st_ino,
	};

	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	put_mapping((uint32_t)pid, 0, HEAP, "//anon");
	put_record(RECORD_MAPPING, &r, sizeof(r), path);
	put_sample((uint32_t)pid, (uint32_t)pid, 5, AT);
	end();
	ck_assert_int_eq(report(), 0);
}

START_TEST(dump_of_a_container)
{
	char path[256], command[300];
	struct stat st;
	pid_t pid;

	/* Only root may change its root, and open what a process has mapped. */
	if (geteuid())
		return;
	ck_assert_int_eq(mkdir(in_dir("root"), 0755), 0);
	snprintf(path, sizeof(path), "%s/jit-1.dump", in_dir("root"));
	write_one(path);
	ck_assert_int_eq(stat(path, &st), 0);
	pid = start_below(in_dir("root"), "/jit-1.dump");
	report_below(pid, &st, "/jit-1.dump");
	has(out, "one [jit-1.dump]");
	ck_assert_int_eq(report("--annotate=one"), 0);
	if (disassembler_built())
		has_not(out, "instructions are in no file");
	unlink(path);
	snprintf(command, sizeof(command), "%s (deleted)", path);
	report_below(pid, &st, command);
	has(out, "one [jit-1.dump (deleted)]");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	report_below(pid, &st, "/jit-1.dump");
	has(out, " 100.00%             1  [anon]+0x7f0000001000\n");
	ck_assert_int_eq(rmdir(in_dir("root")), 0);
}
END_TEST

/* Memory that JITs make code in has other names than heaps: huge pages, segments, removed files. */
static const struct {
	const char *path;
	bool named;
} memories[] = {
	{ "/anon_hugepage (deleted)", true },
	{ "/SYSV00000000 (deleted)", true },
	{ "/dev/zero", true },
	{ "/dev/zero (deleted)", true },
	{ "/dev/ashmem/dalvik-jit-code-cache (deleted)", true },
	{ "/dev/shm/jit (deleted)", true },
	{ "/memfd:doublemapper (deleted)", true },
	{ "[anon:v8]", true },
	{ "/usr/lib/libother.so", false },
	{ "/usr/lib/libother.so (deleted)", false },
};

START_TEST(map_of_memory)
{
	char map[64];

	snprintf(map, sizeof(map), "/tmp/perf-%d.map", getpid());
	write_map(map, "outside");
	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	put_mapping((uint32_t)getpid(), 0, HEAP, memories[_i].path);
	put_sample((uint32_t)getpid(), (uint32_t)getpid(), 5, AT);
	end();
	ck_assert_int_eq(report(), 0);
	unlink(map);
	ck_assert_msg(!!strstr(out, " 100.00%             1  outside [") == memories[_i].named, "%s",
		      memories[_i].path);
}
END_TEST

static unsigned long address_in_two(const char *symbol)
{
	unsigned long address = 0;
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "nm " TMP "/two | sed -n 's/ T %s$//p'", symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

/* A mapping of the file that put_two() has described. */
static void map_two(uint64_t start, uint64_t end, uint64_t offset)
{
	struct record_mapping r = {
		.task = { 10, 10, 0 }, .start = start, .end = end, .offset = offset,
		.major = 8, .minor = 1, .inode = 77,
	};

	put_record(RECORD_MAPPING, &r, sizeof(r), TMP "/two");
}

static void put_two(uint64_t code_offset, uint64_t code_size)
{
	struct record_file file = {
		.major = 8, .minor = 1, .inode = 77, .code_offset = code_offset, .code_size = code_size,
		.code_address = 0x400000 + code_offset,
	};
	struct stat st;

	ck_assert_int_eq(stat(TMP "/two", &st), 0);
	file.size = (uint64_t)st.st_size;
	file.modified = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	put_record(RECORD_FILE, &file, sizeof(file), TMP "/two");
}

/*
 * A program has copied the middle of its code into huge pages.  Other memory is no code of it, such
 * as that of a JIT between two segments of a library.
 */
START_TEST(text_in_huge_pages)
{
	const uint64_t at = address_in_two("first"), page = at & ~UINT64_C(0xfff);
	const bool around = _i < 2;

	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	put_two(page - 0x401000, _i < 3 ? 0x3000 : 0x1000);
	if (_i == 1) {
		/* While it was recorded. */
		map_two(page - 0x1000, page + 0x2000, page - 0x401000);
	} else {
		map_two(page - 0x1000, page, page - 0x401000);
		map_two(page + 0x1000, page + 0x2000,
			page - 0x400000 + 0x1000 * (_i == 2 ? 5 : 1));
	}
	put_mapping(10, 1, page, page + 0x1000, 0, _i ? "/anon_hugepage (deleted)" : "");
	put_sample(10, 10, 5, at);
	end();
	ck_assert_int_eq(report(), 0);
	ck_assert_msg(!!strstr(out, " 100.00%             1  first [two]\n") == around, "%d: %s", _i, out);
}
END_TEST

/* Root reads the map of the process's user, and not one of a third user. */
START_TEST(owner_of_the_map)
{
	char map[64];

	if (geteuid())
		return;
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", getpid());
	write_map(map, "outside");
	ck_assert_int_eq(chown(map, 4711, 4711), 0);
	report_container((uint32_t)getpid(), (uint32_t)getpid(), 4711, OUTSIDE);
	report_container((uint32_t)getpid(), (uint32_t)getpid(), 4712, NOWHERE);
	unlink(map);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-jit");
	TCase *t = tcase_create("jit");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, functions);
	tcase_add_loop_test(t, functions_at_one_address, 0, 3);
	tcase_add_test(t, moved_function);
	tcase_add_test(t, chains);
	tcase_add_test(t, other_files);
	tcase_add_test(t, other_root);
	tcase_add_test(t, other_users);
	tcase_add_test(t, damaged_dump);
	tcase_add_test(t, no_dump);
	tcase_add_test(t, many_functions);
	tcase_add_test(t, signs_in_names);
	tcase_add_test(t, map_of_a_container);
	tcase_add_test(t, owner_of_the_map);
	tcase_add_test(t, dump_of_a_container);
	tcase_add_loop_test(t, map_of_memory, 0, ARRAY_SIZE(memories));
	tcase_add_loop_test(t, text_in_huge_pages, 0, 4);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
