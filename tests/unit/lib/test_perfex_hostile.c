// SPDX-License-Identifier: GPL-2.0
/*
 * Whatever is in another user's files, perfex neither hangs, nor opens what is no regular file,
 * nor needs more than bounded time and memory.  The samples of others are reported.
 */
#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>

#include "code-places.h"
#include "debug-files.h"
#include "disassemble.h"
#include "hash-table.h"
#include "intervals.h"
#include "perfex-command.h"
#include "sample-builder.h"
#include "recording.h"
#include "symbols.h"
#include "work.h"

/* Without memory, the sanitizer would end the program. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static char text[65536];

/* Where a function, whose name begins so, is in a file. */
static uint64_t offset_of(const char *file, const char *function)
{
	char condition[128];

	snprintf(condition, sizeof(condition), "~ /^%s/", function);
	return offset_of_symbol(file, condition);
}

/* Build programs: "honest" has the function that must be reported. */
static void build(const char *name, const char *function, const char *options)
{
	char command[1024];
	FILE *f;

	snprintf(command, sizeof(command), "%s/%s.c", dir, name);
	f = fopen(command, "w");
	fprintf(f, "volatile int n;\nvoid %s(void)\n{\n\tn = 7;\n}\nint main(void)\n{\n\t%s();\n\treturn 0;\n}\n",
		function, function);
	fclose(f);
	snprintf(command, sizeof(command), "${CC:-cc} -g -O0 %s -o %s %s.c", options, name, name);
	shell(command);
}

static void setup(void)
{
	command_setup();
}

static void teardown(void)
{
	snprintf(text, sizeof(text), "rm -rf %s/*", dir);
	ck_assert_int_eq(system(text), 0);
	command_teardown();
}

static const char *path_of(const char *name)
{
	return name[0] == '/' ? name : in_dir(name);
}

static void begin(void)
{
	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
}

/* Record one sample of the hostile file, and one of the honest one. */
static void record(const char *hostile, uint64_t offset)
{
	begin();
	put_mapping(10, 0, 0x10000000, 0x20000000, 0, path_of(hostile));
	put_sample(10, 10, 5, 0x10000000 + offset);
	put_mapping(20, 0, 0x10000000, 0x20000000, 0, path_of("honest"));
	put_sample(20, 20, 6, 0x10000000 + offset_of("honest", "work"));
	put_end(1, (uint64_t []){ 2000 });
	put_close();
}

#define MAX_MEMORY	(400 << 10)	/* KiB; the sanitizer needs as much again */

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

/* The honest file's function is there, in time: the tests have a time limit. */
static void check_report(void)
{
	struct rusage usage;

	ck_assert_msg(!report(), "%s", err);
	has(out, "  work [honest]\n");
	ck_assert_str_eq(err, "");
	getrusage(RUSAGE_CHILDREN, &usage);
	ck_assert_int_lt(usage.ru_utime.tv_sec, 12);
}

/* ---- what libraries do with files ------------------------------------------------------------ */

static void put_base36(FILE *f, unsigned int n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (n >= 36)
		fputc(digits[n / 36], f);
	fputc(digits[n % 36], f);
}

/* Each part of this C++ name is twice as long as the part before: 2^40 characters. */
START_TEST(long_name)
{
	FILE *f = fopen(in_dir("hostile.s"), "w");
	unsigned int i, k;

	fputs(".globl main\nmain: ret\n", f);
	for (k = 0; k < 3; k++) {
		const char *before[] = { ".globl \"", ".type \"", "\"" };
		const char *after[] = { "\"\n", "\",@function\n", "\":\n.rept 512\nnop\n.endr\nret\n" };

		fprintf(f, "%s_Z1f1A1PIS_S_E", before[k]);
		for (i = 1; i <= 40; i++) {
			fputs("S0_IS", f);
			put_base36(f, i);
			fputs("_S", f);
			put_base36(f, i);
			fputs("_E", f);
		}
		fputs(after[k], f);
	}
	fputs(".section .note.GNU-stack,\"\",@progbits\n", f);
	fclose(f);
	build("honest", "work", "");
	shell("${CC:-cc} -nostdlib -no-pie -Wl,--unresolved-symbols=ignore-all,-e,main -o hostile hostile.s");
	record("hostile", offset_of("hostile", "_Z1f") + 100);
	check_report();
	has(out, "/hostile: to read it takes too much time or memory, so its functions have no names");
}
END_TEST

/* A section that claims to become very large. */
START_TEST(large_section)
{
	build("honest", "work", "");
	build("hostile", "other", _i ? "-gz=zlib-gnu" : "-gz=zlib");
	if (_i)
		/* "ZLIB", and the size with its most significant byte first */
		shell("perl -0777 -pi -e 's/ZLIB\\0{4}..../ZLIB\\0\\0\\0\\0\\x60\\0\\0\\0/sg' hostile");
	else
		/* ch_type, ch_reserved, ch_size, ch_addralign, and the first byte of zlib's */
		shell("perl -0777 -pi -e 's/\\x01\\0\\0\\0\\0\\0\\0\\0....\\0\\0\\0\\0\\x01\\0{7}\\x78/\\x01\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\x60\\0\\0\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\0\\x78/sg' hostile");
	record("hostile", offset_of("hostile", "other"));
	check_report();
	has(out, "  other [hostile]\n");
	has_not(out, "hostile.c:");
	has(out, "/hostile: its debugging information becomes too large, and is left out.\n");
}
END_TEST

/* ---- names of other files --------------------------------------------------------------------- */

static int watch(const char *name)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	ck_assert_int_ge(inotify_add_watch(fd, in_dir(name), IN_OPEN), 0);
	return fd;
}

static void check_unopened(int fd)
{
	char events[4096];

	ck_assert_int_lt(read(fd, events, sizeof(events)), 0);
	close(fd);
}

/* A program that names a FIFO: as its debugging information, in several ways, and itself. */
START_TEST(names_of_fifos)
{
	static const struct {
		const char *options, *then;
	} cases[] = {
		/* .gnu_debuglink */
		{ "-Wl,--build-id=none",
		  "objcopy --only-keep-debug hostile fifo && strip hostile && objcopy --add-gnu-debuglink=fifo hostile && rm fifo" },
		/* the same with directories */
		{ "-Wl,--build-id=none",
		  "mkdir sub && printf '../sub/../fifo\\0\\0\\1\\2\\3\\4' > link && strip hostile && objcopy --add-section .gnu_debuglink=link hostile" },
		/* .gnu_debugaltlink, with the name and a build ID */
		{ "", "printf 'fifo\\000abcdefghijklmnopqrst' > link && objcopy --add-section .gnu_debugaltlink=link hostile" },
		{ "", "printf \"$PWD/fifo\\000abcdefghijklmnopqrst\" > link && objcopy --add-section .gnu_debugaltlink=link hostile" },
		/* split DWARF names a file for each unit */
		{ "-gsplit-dwarf", "ln -sf fifo hostile-hostile.dwo && ln -sf fifo hostile.dwo" },
		{ "-gdwarf-4 -gsplit-dwarf", "ln -sf fifo hostile-hostile.dwo && ln -sf fifo hostile.dwo" },
		/* the path of the recording */
		{ "", "cp hostile saved && rm hostile && ln -s fifo hostile" },
	};
	uint64_t offset;
	int fd;

	build("honest", "work", "");
	build("hostile", "other", cases[_i].options);
	offset = offset_of("hostile", "other");
	shell(cases[_i].then);
	shell("mkfifo fifo");
	record("hostile", offset);
	fd = watch("fifo");
	check_report();
	check_unopened(fd);
	ck_assert_int_eq(report("--annotate", "work"), 0);
	fd = watch("fifo");
	report("--annotate", "other");
	check_unopened(fd);
}
END_TEST

/* Files that have code behind them instead of contents. */
START_TEST(files_without_contents)
{
	static const char *const paths[] = {
		"/dev/zero", "/dev/null", "/proc/self/maps", "/proc/kmsg", "/sys/kernel/notes", "/tmp",
		"/dev/watchdog",
	};
	int fd = open_named(paths[_i], 0);

	ck_assert_int_lt(fd, 0);
	ck_assert(errno == EINVAL || errno == ENOENT);
	fd = open_named("/proc/self/exe", 0);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_lt(open_named("/proc/self/exe", O_NOFOLLOW), 0);
}
END_TEST

/* The owner has a lease on the file, and would make others wait for 45 s. */
START_TEST(leases)
{
	int fd;

	shell("echo > leased");
	fd = open(in_dir("leased"), O_RDWR);
	signal(SIGIO, SIG_IGN);
	ck_assert_int_eq(fcntl(fd, F_SETLEASE, F_WRLCK), 0);
	ck_assert_int_lt(open_named(in_dir("leased"), 0), 0);
	ck_assert_int_eq(errno, EWOULDBLOCK);
	close(fd);
}
END_TEST

/* ---- limits ---------------------------------------------------------------------------------- */

static volatile unsigned long waste;

/* A library does this with the file. */
enum { LOOPS, EATS, SHRINKS, CRASHES, EXITS, OPENS, NR_FAULTS };

struct faulty {
	int fault;
	unsigned int files;
};

static void misbehave(const struct faulty *f, const char *path)
{
	char *p;
	int fd;

	switch (f->fault) {
	case LOOPS:
		for (;;)
			waste++;
	case EATS:
		while ((p = malloc(1 << 20)))
			memset(p, 1, 1 << 20);
		_exit(1);
	case SHRINKS:
		fd = open(path, O_RDWR);
		p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		ck_assert_int_eq(ftruncate(fd, 0), 0);
		/* The sanitizer would report it. */
		signal(SIGBUS, SIG_DFL);
		waste += (unsigned char)*p;
		break;
	case CRASHES:
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		break;
	case EXITS:
		_exit(1);
	default:
		if (open("/dev/null", O_RDONLY) >= 0 || errno != EMFILE)
			_exit(9);
		signal(SIGBUS, SIG_DFL);
		raise(SIGBUS);
		break;
	}
}

/* Return: how many of the files were used. */
static int work_on_files(void *arg, struct error *e)
{
	const struct faulty *f = arg;
	struct work works[4];
	unsigned int i;
	char name[20];
	int fd, nr = 0;

	(void)e;
	for (i = 0; i < f->files; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		fd = open(in_dir(name), O_RDONLY);
		if (!work_allows(&works[i], fd, in_dir(name)))
			continue;
		nr++;
		work_on(&works[i]);
		/* The first one is good. */
		if (i)
			misbehave(f, in_dir(name));
		work_on(NULL);
	}
	return nr;
}

START_TEST(limits)
{
	struct faulty f = { _i, 3 };
	struct timespec start, end;
	struct rusage usage;
	struct error e;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "head -c 5000 /dev/zero > f%u", i);
		shell(text);
	}
	clock_gettime(CLOCK_MONOTONIC, &start);
	ck_assert_int_eq(work_in_child(work_on_files, &f, true, &e), 1);
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_CHILDREN, &usage);
	ck_assert_int_le(usage.ru_utime.tv_sec, 8);
	/* Once something was printed, or read from a pipe, there is no other try. */
	f.fault = CRASHES;
	ck_assert_int_eq(work_in_child(work_on_files, &f, false, &e), -1);
	has(e.text, "/f1' need too much time or memory");
}
END_TEST

/* After the second file of a user, all of this user's are left out, and no others. */
static int work_of_users(void *arg, struct error *e)
{
	char name[20];
	struct work w;
	int fd, i, nr = 0;

	(void)arg;
	(void)e;
	for (i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		fd = open(in_dir(name), O_RDONLY);
		if (!work_allows(&w, fd, in_dir(name)))
			continue;
		nr += 1 << i;
		if (i == 3)
			continue;
		work_on(&w);
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	return nr;
}

START_TEST(limits_of_users)
{
	struct error e;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), "echo > f%u", i);
		shell(text);
	}
	if (geteuid())
		return;
	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s/f%u", dir, i);
		ck_assert_int_eq(chown(text, 1000, 1000), 0);
	}
	ck_assert_int_eq(work_in_child(work_of_users, NULL, true, &e), 8);
	for (i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%s/f%u", dir, i);
		ck_assert_int_eq(chown(text, 1000 + i, 1000), 0);
	}
	ck_assert_int_eq(work_in_child(work_of_users, NULL, true, &e), 8);
}
END_TEST

/* Each child notes the time that it has for a file whose 2000 places are looked for. */
static int note_time(void *arg, struct error *e)
{
	double *seconds = arg;
	struct itimerval timer;
	struct work w;
	unsigned int i;

	(void)e;
	if (!work_allows(&w, open(in_dir("f0"), O_RDONLY), in_dir("f0")))
		work_allows(&w, open(in_dir("f1"), O_RDONLY), in_dir("f1"));
	for (i = 0; i < 2000; i++)
		work_looks(&w, WORTH_OF_SAMPLE);
	work_on(&w);
	getitimer(ITIMER_PROF, &timer);
	for (i = 0; seconds[i]; i++)
		;
	seconds[i] = (double)timer.it_value.tv_sec + (double)timer.it_value.tv_usec * 1e-6;
	if (i)
		return 1;
	signal(SIGSEGV, SIG_DFL);
	raise(SIGSEGV);
	return 0;
}

/* An attacker's first file is too much: what the second may use is no second whole share. */
START_TEST(shares_of_children)
{
	double *seconds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct error e;

	ck_assert_ptr_ne(seconds, MAP_FAILED);
	shell("head -c 1000000 /dev/zero > f0; cp f0 f1");
	if (!geteuid())
		shell("chown 1000 f0 f1");
	ck_assert_int_eq(work_in_child(note_time, seconds, true, &e), 1);
	ck_assert_double_ge(seconds[0], 4);
	ck_assert_double_le(seconds[0], 4.3);
	ck_assert_double_ge(seconds[1], seconds[0] / 4 - 0.1);
	ck_assert_double_le(seconds[1], seconds[0] / 4 + 0.1);
	munmap(seconds, 4096);
}
END_TEST

static int note_limit(void *arg, struct error *e)
{
	struct itimerval timer;
	struct work w;

	(void)e;
	if (!work_allows(&w, open(arg, O_RDONLY), arg))
		return -1;
	work_on(&w);
	getitimer(ITIMER_PROF, &timer);
	work_on(NULL);
	return (int)timer.it_value.tv_sec;
}

/* The time that this file is worth is a microsecond less than a second. */
START_TEST(time_of_almost_a_second)
{
	struct error e;
	int seconds;

	shell("head -c 4999999 /dev/zero > f0");
	seconds = work_in_child(note_limit, (void *)in_dir("f0"), false, &e);
	ck_assert_int_ge(seconds, 3);
	ck_assert_int_le(seconds, 4);
}
END_TEST

/* Many programs name the same large file, whose checksum must be calculated for each. */
static int sum_large_file(void *arg, struct error *e)
{
	struct debug_search search = { .file = arg, .link = "large", .crc = 1 };
	struct work work;
	char *path;
	int fd = open(arg, O_RDONLY), i;

	(void)e;
	if (!work_allows(&work, fd, arg))
		return -1;
	search.work = &work;
	for (i = 0; i < 200; i++)
		if (find_debug_file(&search, &path) >= 0)
			return -1;
	return 0;
}

START_TEST(checksums)
{
	char name[128];
	struct error e;

	build("honest", "work", "");
	shell("cp honest large; truncate -s 64M large");
	snprintf(name, sizeof(name), "%s/honest", dir);
	ck_assert_int_eq(work_in_child(sum_large_file, name, false, &e), -1);
	has(e.text, "/honest' need too much time or memory");
}
END_TEST

static int end_by_signal(void *arg, struct error *e)
{
	(void)e;
	raise(*(int *)arg);
	return 0;
}

/* A signal that ends the child ends perfex, as if there were no child. */
START_TEST(signals)
{
	struct error e;
	int sig = SIGTERM, status;
	pid_t pid = fork();

	if (!pid)
		_exit(work_in_child(end_by_signal, &sig, true, &e) ? 1 : 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	/* A fault of perfex itself. */
	sig = SIGKILL;
	ck_assert_int_eq(work_in_child(end_by_signal, &sig, true, &e), -1);
	has(e.text, "signal 9");
}
END_TEST

/* A child whose parent has ended before it asks for the signal gets none: it ends itself. */
START_TEST(parent_has_ended)
{
	pid_t parent, child, me = getpid();
	int go[2], id[2], status;

	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(id), 0);
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	parent = fork();
	if (!parent) {
		parent = getpid();
		child = fork();
		if (!child) {
			close(go[1]);
			if (read(go[0], &status, 1))
				_exit(2);
			work_end_with_parent(parent);
			_exit(1);
		}
		_exit(write(id[1], &child, sizeof(child)) != sizeof(child));
	}
	ck_assert_int_eq(waitpid(parent, &status, 0), parent);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(id[0], &child, sizeof(child)), sizeof(child));
	close(go[1]);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* With a parent, nothing happens. */
	child = fork();
	if (!child) {
		work_end_with_parent(me);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* ---- the recorder ---------------------------------------------------------------------------- */

static uint64_t bytes_read(void)
{
	FILE *f = fopen("/proc/self/io", "r");
	unsigned long long n = 0;

	ck_assert_int_eq(fscanf(f, "rchar: %llu", &n), 1);
	fclose(f);
	return n;
}

/* Notes of 1.5 GB, and a million sections. */
START_TEST(large_notes)
{
	const struct {
		Elf64_Ehdr h;
		Elf64_Phdr p[2];
	} file = {
		.h = {
			.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
			.e_phoff = sizeof(file.h), .e_ehsize = sizeof(file.h),
			.e_phentsize = sizeof(file.p[0]), .e_phnum = 2, .e_shentsize = sizeof(Elf64_Shdr),
			.e_shoff = 4096,
		},
		.p = {
			{ .p_type = PT_NOTE, .p_offset = 4096, .p_filesz = 1500 << 20, .p_align = 4 },
			{ .p_type = PT_LOAD, .p_flags = PF_X | PF_R, .p_filesz = 4096, .p_vaddr = 0x1000 },
		},
	};
	struct record_mapping map = { .task = { (uint32_t)getpid(), 1, 1 }, .start = 0x1000, .end = 0x2000 };
	struct recording rec;
	struct error e;
	struct stat st;
	uint64_t before;
	FILE *f = fopen(in_dir("hostile"), "w"), *null = fopen("/dev/null", "w");

	fwrite(&file, sizeof(file), 1, f);
	fclose(f);
	ck_assert_int_eq(truncate(in_dir("hostile"), (off_t)1501 << 20), 0);
	ck_assert_int_eq(stat(in_dir("hostile"), &st), 0);
	map.major = major(st.st_dev);
	map.minor = minor(st.st_dev);
	map.inode = st.st_ino;
	ck_assert_int_eq(recording_init(&rec, null, &e), 0);
	before = bytes_read();
	write_file(&rec, &map, in_dir("hostile"));
	ck_assert_uint_lt(bytes_read() - before, 1 << 20);
	ck_assert_uint_eq(rec.files.nr, 2);
	recording_free(&rec);
	fclose(null);
}
END_TEST

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * The work grows as n does, and not as its square.  The least of several times is compared, as
 * others disturb.
 */
static void check_growth(double (*work)(unsigned int n), unsigned int n)
{
	double few = 1e9, many = 1e9, t;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		t = work(n);
		few = t < few ? t : few;
		t = work(n * 8);
		many = t < many ? t : many;
		if (many < 20 * few)
			return;
	}
	ck_abort_msg("%u: %f s, %u: %f s", n, few, n * 8, many);
}

/* This process maps a file many times, and is looked at again. */
static double look_again(unsigned int n)
{
	char *area = mmap(NULL, (size_t)n * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = open("/proc/self/exe", O_RDONLY);
	FILE *null = fopen("/dev/null", "w");
	struct recording rec;
	struct error e;
	unsigned int i;
	double start;

	for (i = 0; i < n; i++)
		ck_assert_ptr_ne(mmap(area + (size_t)i * 8192, 4096, PROT_READ | PROT_EXEC,
				      MAP_PRIVATE | MAP_FIXED, fd, 0), MAP_FAILED);
	ck_assert_int_eq(recording_init(&rec, null, &e), 0);
	ck_assert_int_eq(look_at_process(&rec, getpid(), &e), 0);
	start = cpu_time();
	ck_assert_int_eq(look_at_process(&rec, getpid(), &e), 0);
	start = cpu_time() - start;
	recording_free(&rec);
	munmap(area, (size_t)n * 8192);
	fclose(null);
	close(fd);
	return start;
}

START_TEST(many_mappings)
{
	check_growth(look_again, 3500);
}
END_TEST

static void *wait_for_end(void *arg)
{
	pthread_barrier_wait(arg);
	return NULL;
}

/* A process without a name has many threads, and is looked at again. */
START_TEST(threads_of_no_name)
{
	FILE *f = fopen(in_dir("recording"), "w");
	pthread_barrier_t barrier;
	pthread_t threads[100];
	struct recording rec;
	struct error e;
	unsigned int i;
	long size;

	pthread_barrier_init(&barrier, NULL, 101);
	for (i = 0; i < 100; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for_end, &barrier), 0);
	prctl(PR_SET_NAME, "");
	ck_assert_int_eq(recording_init(&rec, f, &e), 0);
	ck_assert_int_eq(look_at_process(&rec, getpid(), &e), 0);
	size = ftell(f);
	ck_assert_int_eq(look_at_process(&rec, getpid(), &e), 0);
	ck_assert_int_lt(ftell(f) - size, 1000);
	recording_free(&rec);
	fclose(f);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < 100; i++)
		pthread_join(threads[i], NULL);
}
END_TEST

/* A file has any number of names, one after the other: they do not stay in memory. */
START_TEST(names_of_a_file)
{
	FILE *null = fopen("/dev/null", "w");
	struct record_mapping map = { .task = { (uint32_t)getpid(), 1, 1 }, .start = 0x1000, .end = 0x2000 };
	struct rusage before, after;
	char name[4096], next[4096];
	struct recording rec;
	unsigned int i;
	struct error e;
	struct stat st;
	size_t len;

	memset(name, 0, sizeof(name));
	len = (size_t)snprintf(name, sizeof(name), "%s/", dir);
	memset(name + len, '/', 4000 - len);
	strcpy(name + 4000, "0");
	shell("echo > 0");
	ck_assert_int_eq(stat(name, &st), 0);
	map.major = major(st.st_dev);
	map.minor = minor(st.st_dev);
	map.inode = st.st_ino;
	ck_assert_int_eq(recording_init(&rec, null, &e), 0);
	getrusage(RUSAGE_SELF, &before);
	for (i = 1; i < 20000; i++) {
		memcpy(next, name, sizeof(next));
		snprintf(next + 4000, sizeof(next) - 4000, "%u", i);
		ck_assert_int_eq(rename(name, next), 0);
		memcpy(name, next, sizeof(name));
		write_file(&rec, &map, name);
	}
	getrusage(RUSAGE_SELF, &after);
	ck_assert_int_lt(after.ru_maxrss - before.ru_maxrss, 32 << 10);
	recording_free(&rec);
	fclose(null);
}
END_TEST

/* A process that has mapped a file that many times, and waits. */
static pid_t start_mapped(const char *file, unsigned int n)
{
	int fd = open(file, O_RDONLY), ready[2];
	unsigned int i;
	pid_t pid;
	char *area;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		area = mmap(NULL, (size_t)n * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		for (i = 0; i < n; i++)
			mmap(area + (size_t)i * 8192, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	ck_assert_int_eq(read(ready[0], &(char){ 0 }, 1), 1);
	close(ready[0]);
	close(ready[1]);
	close(fd);
	return pid;
}

/* Processes with many mappings that end, and remain as zombies. */
START_TEST(mappings_of_ended_processes)
{
	FILE *null = fopen("/dev/null", "w");
	struct recording rec;
	unsigned int i;
	struct error e;
	pid_t pid;

	ck_assert_int_eq(recording_init(&rec, null, &e), 0);
	for (i = 0; i < 10; i++) {
		rec.next_sweep = 2000;
		pid = start_mapped("/proc/self/exe", 2000);
		ck_assert_int_eq(look_at_process(&rec, pid, &e), 0);
		ck_assert_int_ge(rec.nrknown, 2000);
		kill(pid, SIGKILL);
		if (i % 2)
			waitpid(pid, NULL, 0);
		else
			waitid(P_PID, (id_t)pid, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	}
	ck_assert_int_lt(rec.nrknown, 2500);
	recording_free(&rec);
	ck_assert_int_eq(rec.nrknown, 0);
	fclose(null);
}
END_TEST

/* A process maps a file that has a long name: 24 MB of names in the recording. */
START_TEST(long_names_of_mappings)
{
	FILE *f = fopen(in_dir("recording"), "w");
	struct recording rec;
	struct error e;
	pid_t pid;

	shell("p=$(printf 'x%.0s' $(seq 240)); p=$p/$p/$p/$p/$p; p=$p/$p/$p; mkdir -p $p; cp /bin/true $p/t; ln -s $p/t t");
	pid = start_mapped(in_dir("t"), 6500);
	ck_assert_int_eq(recording_init(&rec, f, &e), 0);
	ck_assert_int_eq(look_at_process(&rec, pid, &e), 0);
	ck_assert_int_lt(ftell(f), 18 << 20);
	recording_free(&rec);
	fclose(f);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/* ---- the reader ------------------------------------------------------------------------------ */

static double report_time(void)
{
	FILE *null = fopen("/dev/null", "w");
	struct reporting o = { .file = in_dir("s") };
	double start = cpu_time();
	struct error e;

	ck_assert_msg(!report_here(null, &o, &e), "%s", e.text);
	fclose(null);
	return cpu_time() - start;
}

/* A process with that many mappings, and samples in the first ones. */
static double report_mappings(unsigned int n)
{
	unsigned int i;

	begin();
	for (i = 0; i < n; i++)
		put_mapping(10, 1, 0x10000000 + (uint64_t)i * 8192, 0x10001000 + (uint64_t)i * 8192, 0, "/x");
	for (i = 0; i < n; i++)
		put_sample(10, 10, 5, 0x10000000 + (uint64_t)i % 1000 * 8192 + i / 1000);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	return report_time();
}

START_TEST(many_mappings_reported)
{
	check_growth(report_mappings, 3000);
}
END_TEST

/* More mappings than a process can have at a time, of one that unmaps them again. */
START_TEST(mappings_without_end)
{
	unsigned int i;

	build("honest", "work", "");
	begin();
	for (i = 0; i < 70000; i++)
		put_mapping(10, 1, 0x10000000 + (uint64_t)i * 4096, 0x10001000 + (uint64_t)i * 4096, 0,
			    "/none");
	put_sample(10, 10, 5, 0x10000000);
	put_mapping(20, 0, 0x10000000, 0x20000000, 0, path_of("honest"));
	put_sample(20, 20, 6, 0x10000000 + offset_of("honest", "work"));
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	check_report();
	has(out, "  50.00%             1  [none]\n");
}
END_TEST

/* Files that claim to be JITs'. */
static double report_dumps(unsigned int n)
{
	unsigned int i;
	char name[64];

	begin();
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "/none/%u/jit-10.dump", i);
		put_mapping(10, 1, 0x10000000 + (uint64_t)i * 8192, 0x10001000 + (uint64_t)i * 8192, 0, name);
		put_sample(10, 10, 5, 0x10000000 + (uint64_t)i * 8192);
	}
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	return report_time();
}

START_TEST(many_dumps)
{
	check_growth(report_dumps, 2000);
}
END_TEST

/* A sample in memory that has this name, of the process whose JIT wrote /tmp/perf-PID.map. */
static void put_jit_sample(uint32_t pid, unsigned int n)
{
	char name[64];

	snprintf(name, sizeof(name), "/memfd:%u (deleted)", n);
	put_mapping(pid, 1, 0x10000000 + (uint64_t)n * 8192, 0x10001000 + (uint64_t)n * 8192, 0, name);
	put_sample(pid, pid, 5, 0x10000000 + (uint64_t)n * 8192);
}

/* A line that has no end, and costs its owner nothing on the disk. */
START_TEST(map_that_is_a_hole)
{
	const uint32_t pid = (uint32_t)getpid();
	struct rusage usage;

	snprintf(text, sizeof(text), "truncate -s 3G /tmp/perf-%" PRIu32 ".map", pid);
	shell(text);
	build("honest", "work", "");
	begin();
	put_jit_sample(pid, 0);
	put_mapping(20, 0, 0x10000000, 0x20000000, 0, path_of("honest"));
	put_sample(20, 20, 6, 0x10000000 + offset_of("honest", "work"));
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	check_report();
	getrusage(RUSAGE_CHILDREN, &usage);
	snprintf(text, sizeof(text), "/tmp/perf-%" PRIu32 ".map is not read, so code of this process has no names: a line of it is longer than 131,071 bytes.", pid);
	has(out, text);
	ck_assert_int_lt(usage.ru_maxrss, MAX_MEMORY);
	snprintf(text, sizeof(text), "/tmp/perf-%" PRIu32 ".map", pid);
	unlink(text);
}
END_TEST

/* Each name is a file of its own, and all have the functions of one map. */
static double report_names(unsigned int n)
{
	const uint32_t pid = (uint32_t)getpid();
	unsigned int i;
	char name[64];
	double seconds;
	FILE *f;

	snprintf(name, sizeof(name), "/tmp/perf-%" PRIu32 ".map", pid);
	f = fopen(name, "w");
	ck_assert_ptr_nonnull(f);
	for (i = 0; i < 50 * n; i++)
		fprintf(f, "%x 10 f%u\n", 0x10000000 + i * 8192, i);
	fclose(f);
	begin();
	for (i = 0; i < n; i++)
		put_jit_sample(pid, i);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	seconds = report_time();
	unlink(name);
	return seconds;
}

START_TEST(many_names_of_memory)
{
	check_growth(report_names, 100);
}
END_TEST

/* Dumps whose functions stay in memory: each has a name of its own for the same file. */
START_TEST(many_names_of_a_dump)
{
	const uint32_t head[10] = { 0x4a695444, 1, 40, 62 }, n = 20000;
	const char rest[3 + 16] = "ab";
	uint64_t load[] = { (uint64_t)(56 + sizeof(rest)) << 32, 1, 0, 0, 0, 16, 0 };
	struct rusage usage;
	uint64_t address;
	unsigned int i;
	char name[64];
	FILE *f = fopen(in_dir("d"), "w");

	fwrite(head, sizeof(head), 1, f);
	for (i = 0; i < n; i++) {
		load[4] = 0x10000000 + (uint64_t)i * 32;
		load[6] = i;
		fwrite(load, sizeof(load), 1, f);
		fwrite(rest, sizeof(rest), 1, f);
	}
	fclose(f);
	build("honest", "work", "");
	begin();
	shell("for i in $(seq 0 119); do mkdir d$i; ln d d$i/jit-10.dump; done");
	for (i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "d%u/jit-10.dump", i);
		put_mapping(10, 1, 0x10000000, 0x20000000, 0, path_of(name));
		put_sample(10, 10, 5, 0x10000000 + 32 * i);
	}
	put_mapping(20, 0, 0x10000000, 0x20000000, 0, path_of("honest"));
	address = 0x10000000 + offset_of("honest", "work");
	for (i = 0; i < 40; i++)
		put_sample(20, 20, 6, address);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	check_report();
	has(out, "jit-10.dump is not read, so code that this JIT made may have no names: to read it takes too much time or memory.\n");
	has_not(out, "no memory");
	getrusage(RUSAGE_CHILDREN, &usage);
	ck_assert_int_lt(usage.ru_maxrss, MAX_MEMORY);
}
END_TEST

/* A load of a dump's function whose instructions are a hole. */
static void put_load(FILE *f, uint64_t time, uint64_t start, uint64_t size, uint64_t index)
{
	const uint64_t load[] = { (64 + size) << 32, time, 0, 0, start, size, index };

	fwrite(load, sizeof(load), 1, f);
	fwrite("fffffff", 8, 1, f);
	fseek(f, (long)size, SEEK_CUR);
}

static FILE *begin_dump(void)
{
	/* Its times are those of samples; there is no disassembler of this machine. */
	const uint32_t head[10] = { 0x4a695444, 1, 40, 0, 0, 0, 0, 0, 1 };
	FILE *f = fopen(in_dir("jit-10.dump"), "w");

	fwrite(head, sizeof(head), 1, f);
	return f;
}

/* Functions of one name, whose instructions cost nothing on the disk. */
START_TEST(instructions_of_a_dump)
{
	const uint64_t size = 60 << 20;
	struct rusage usage;
	unsigned int i;
	FILE *f = begin_dump();

	for (i = 0; i < 25; i++)
		put_load(f, 0, i * size + (1 << 20), size, i);
	ck_assert_int_eq(fflush(f), 0);
	ck_assert_int_eq(ftruncate(fileno(f), ftell(f)), 0);
	fclose(f);
	begin();
	put_mapping(10, 1, 0x1000, 0x2000, 0, path_of("jit-10.dump"));
	for (i = 0; i < 25; i++)
		put_sample(10, 10, 5, i * size + (1 << 20));
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	ck_assert_msg(!report("--annotate", "fffffff"), "%s", err);
	has(out, " fffffff [jit-10.dump], instructions:u: 1 sample, 4.00% of all\n");
	getrusage(RUSAGE_CHILDREN, &usage);
	ck_assert_int_lt(usage.ru_maxrss, MAX_MEMORY);
}
END_TEST

/* The annotation says which functions are behind what it disassembles. */
START_TEST(instructions_of_many)
{
	const uint32_t amd64 = 62, size = 100000;
	FILE *f = begin_dump();
	unsigned int i, k;
	const char *at;

	fseek(f, 12, SEEK_SET);
	fwrite(&amd64, sizeof(amd64), 1, f);
	fseek(f, 0, SEEK_END);
	for (i = 0; i < 4; i++) {
		put_load(f, 0, (1 << 20) + i * size, size, i);
		fseek(f, -(long)size, SEEK_CUR);
		for (k = 0; k < size; k++)
			fputc(0x90, f);
	}
	fclose(f);
	begin();
	put_mapping(10, 1, 0x1000, 0x2000, 0, path_of("jit-10.dump"));
	for (i = 0; i < 4; i++)
		put_sample(10, 10, 5, (1 << 20) + i * size);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	ck_assert_msg(!report("--annotate", "fffffff"), "%s", err);
	if (!disassembler_built() || !disassembler_loads())
		return;
	for (at = out, i = 0; (at = strstr(at, "\n Not all of its instructions are disassembled: only 256 KB of all functions are.\n")); i++)
		at++;
	ck_assert_uint_eq(i, 2);
}
END_TEST

/* Each instruction of a function is in a source file of its own. */
static double annotate_sources(unsigned int n)
{
	struct reporting o = { .file = in_dir("s"), .annotate = "fffffff", .show.verbose = true };
	const uint32_t amd64 = 62;
	uint64_t lines[] = { (32 + 32 * (uint64_t)n) << 32 | 2, 0, 1 << 20, n };
	struct { uint64_t address, line; char name[16]; } line = { .line = 1 };
	FILE *f = begin_dump(), *null;
	double start;
	unsigned int i;
	struct error e;

	fseek(f, 12, SEEK_SET);
	fwrite(&amd64, sizeof(amd64), 1, f);
	fseek(f, 0, SEEK_END);
	fwrite(lines, sizeof(lines), 1, f);
	for (i = 0; i < n; i++) {
		line.address = (1 << 20) + i;
		snprintf(line.name, sizeof(line.name), "/none/%09u", i % 1000000000);
		fwrite(&line, sizeof(line), 1, f);
	}
	put_load(f, 0, 1 << 20, n, 0);
	fseek(f, -(long)n, SEEK_CUR);
	for (i = 0; i < n; i++)
		fputc(0x90, f);
	fclose(f);
	begin();
	put_mapping(10, 1, 0x1000, 0x2000, 0, path_of("jit-10.dump"));
	put_sample(10, 10, 5, 1 << 20);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	null = fopen("/dev/null", "w");
	start = cpu_time();
	ck_assert_msg(!report_here(null, &o, &e), "%s", e.text);
	fclose(null);
	return cpu_time() - start;
}

START_TEST(many_sources)
{
	check_growth(annotate_sources, 4000);
}
END_TEST

/* One function of a dump is over all others, and the samples are in these. */
static double report_functions(unsigned int n)
{
	FILE *f = begin_dump();
	unsigned int i;

	put_load(f, 0, 1 << 20, 1 << 25, n);
	for (i = 0; i < n; i++)
		put_load(f, 1, (1 << 20) + i * 16, 8, i);
	fclose(f);
	begin();
	put_mapping(10, 1, 0x1000, 0x2000, 0, path_of("jit-10.dump"));
	for (i = 0; i < n; i++)
		put_sample(10, 10, 5, (1 << 20) + i * 16 + 8);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	return report_time();
}

START_TEST(functions_below_another)
{
	check_growth(report_functions, 3000);
}
END_TEST

/* A process that lives has many mappings, and many files that are not there any more. */
static double report_removed(unsigned int n)
{
	char *area = mmap(NULL, (size_t)n * 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const uint32_t pid = (uint32_t)getpid();
	struct record_mapping r = { .task = { pid, pid, 1 }, .inode = 7 };
	unsigned int i;
	double seconds;
	char name[64];

	begin();
	for (i = 0; i < n; i++) {
		ck_assert_int_eq(mprotect(area + (size_t)i * 8192, 4096, PROT_READ), 0);
		r.start = 0x10000000 + (uint64_t)i * 8192;
		r.end = r.start + 4096;
		snprintf(name, sizeof(name), "/none/%u", i);
		put_record(RECORD_MAPPING, &r, sizeof(r), name);
		put_sample(pid, pid, 5, r.start);
	}
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	seconds = report_time();
	munmap(area, (size_t)n * 8192);
	return seconds;
}

START_TEST(many_removed_files)
{
	check_growth(report_removed, 500);
}
END_TEST

/* Functions that differ only in their parameters have one name, by which all are annotated. */
static double annotate_functions(unsigned int n)
{
	FILE *null = fopen("/dev/null", "w"), *f = fopen(in_dir("hostile.s"), "w");
	struct reporting o = { .file = in_dir("s"), .annotate = "f" };
	struct error e;
	uint64_t offset;
	unsigned int i;
	double start;

	fputs(".text\n", f);
	for (i = 1; i <= n; i++)
		fprintf(f, ".globl _Z1fPA%u_i\n.type _Z1fPA%u_i, %%function\n_Z1fPA%u_i: .skip 16, 0x90\n.size _Z1fPA%u_i, 16\n",
			i, i, i, i);
	fputs(".section .note.GNU-stack,\"\",%progbits\n", f);
	fclose(f);
	shell("${CC:-cc} -shared -nostdlib -o hostile hostile.s");
	offset = offset_of("hostile", "_Z1fPA1_i");
	begin();
	put_mapping(10, 0, 0x10000000, 0x20000000, 0, path_of("hostile"));
	for (i = 0; i < 16 * n; i++)
		put_sample(10, 10, 5, 0x10000000 + offset + i);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	start = cpu_time();
	ck_assert_msg(!report_here(null, &o, &e), "%s", e.text);
	fclose(null);
	return cpu_time() - start;
}

START_TEST(many_functions_annotated)
{
	check_growth(annotate_functions, 500);
}
END_TEST

/* Keys of the same hash, if there is nothing in it that an attacker does not know. */
static double add_keys(unsigned int n)
{
	struct hash_table t = { .size = sizeof(uint64_t), .key = sizeof(uint64_t) };
	const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t inverse = factor, key;
	const double start = cpu_time();
	unsigned int i;

	for (i = 0; i < 5; i++)
		inverse *= 2 - factor * inverse;
	for (i = 0; i < n; i++) {
		key = i * inverse;
		key = (key ^ key >> 32) * inverse ^ sizeof(key);
		ck_assert_uint_eq(hash_table_add(&t, &key), i + 1);
	}
	hash_table_free(&t);
	return cpu_time() - start;
}

START_TEST(keys_of_one_hash)
{
	check_growth(add_keys, 5000);
}
END_TEST

/* A function of a JIT has a name of 100 KB, and is in all calls of many samples and threads. */
START_TEST(long_names_in_reports)
{
	static const struct reporting cases[] = {
		{ .export = "folded" }, { .export = "script" }, { .sort = "symbol,tid", .show.verbose = true },
		{ .callers = true, .show.verbose = true }, { .show = { .style = STYLE_JSON } },
	};
	struct reporting o = cases[_i];
	const uint32_t pid = (uint32_t)getpid();
	uint64_t chain[100];
	struct error e;
	unsigned int i;
	char map[64];
	FILE *f;

	snprintf(map, sizeof(map), "/tmp/perf-%" PRIu32 ".map", pid);
	f = fopen(map, "w");
	fprintf(f, "10000000 1000 %0100000d\n", 0);
	fclose(f);
	for (i = 0; i < 100; i++)
		chain[i] = 0x10000008;
	begin();
	put_mapping(pid, 1, 0x10000000, 0x10001000, 0, "/memfd:1 (deleted)");
	for (i = 0; i < 50; i++) {
		chain[99] = i + 1;
		put_chain(pid, i + 1, 5, 1, 0x10000000, 100, chain);
		put_sample(pid, i + 1, 6, i + 1);
	}
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	f = fopen(in_dir("report"), "w");
	o.file = in_dir("s");
	ck_assert_msg(!report_here(f, &o, &e), "%s", e.text);
	/* Scripts have names of MAX_NAME bytes in 100 calls of 50 samples; others have shorter ones. */
	ck_assert_int_lt(ftell(f), o.export && !strcmp(o.export, "script") ? 6 << 20 : 4 << 20);
	fclose(f);
	unlink(map);
}
END_TEST

/* Functions that are inlined into each other make a path of thousands of them. */
START_TEST(long_paths)
{
	struct reporting o = { .callees = true };
	uint64_t chain[126], at;
	struct error e;
	unsigned int i;
	FILE *f = fopen(in_dir("deep.c"), "w");

	fputs("volatile int n;\n#define IN static inline __attribute__((always_inline)) void\nIN f0(void) { n = 7; }\n", f);
	for (i = 1; i < 31; i++)
		fprintf(f, "IN f%u(void) { f%u(); }\n", i, i - 1);
	fputs("void work(void)\n{\n\tf30();\n}\nint main(void)\n{\n\twork();\n\treturn 0;\n}\n", f);
	fclose(f);
	shell("${CC:-cc} -g -O1 -o deep deep.c");
	at = 0x10000000 + offset_of("deep", "work");
	for (i = 0; i < 126; i++)
		chain[i] = at + 1;
	begin();
	put_mapping(10, 0, 0x10000000, 0x20000000, 0, path_of("deep"));
	put_chain(10, 10, 5, 1, at, 126, chain);
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	f = fopen(in_dir("report"), "w");
	o.file = in_dir("s");
	ck_assert_msg(!report_here(f, &o, &e), "%s", e.text);
	ck_assert_int_gt(ftell(f), 1 << 20);
	ck_assert_int_lt(ftell(f), 4 << 20);
	fclose(f);
}
END_TEST

/* ---- intervals -------------------------------------------------------------------------------- */

#define PLACES	64
#define SETS	4

/* Sets that share parts have what each of them was given, and no more. */
START_TEST(intervals)
{
	static uint32_t model[SETS][PLACES], set[SETS], owner[SETS];
	const char *given = getenv("SEED");
	unsigned int seed = given ? (unsigned int)atoi(given) : (unsigned int)time(NULL), i, k, from, to;
	struct intervals t = { 0 };
	uint32_t owners = SETS;

	srand(seed);
	printf("intervals: SEED=%u\n", seed);
	for (i = 0; i < SETS; i++)
		owner[i] = i + 1;
	for (i = 1; i < 4000; i++) {
		k = (unsigned int)rand() % SETS;
		if (!(rand() % 16)) {
			from = (unsigned int)rand() % SETS;
			set[k] = set[from];
			memcpy(model[k], model[from], sizeof(model[k]));
			owner[k] = ++owners;
			owner[from] = ++owners;
			continue;
		}
		from = (unsigned int)rand() % PLACES;
		to = from + 1 + (unsigned int)rand() % (rand() % 4 ? 4 : PLACES);
		to = to > PLACES ? PLACES : to;
		set[k] = intervals_put(&t, set[k], owner[k], from, to, i);
		ck_assert_uint_ne(set[k], 0);
		for (; from < to; from++)
			model[k][from] = i;
		for (k = 0; k < SETS; k++)
			for (from = 0; from < PLACES; from++)
				ck_assert_msg(intervals_find(&t, set[k], from) == model[k][from],
					      "SEED=%u, step %u", seed, i);
	}
	intervals_free(&t);
}
END_TEST

/* The depth is that of a balanced tree, in whichever order they come. */
START_TEST(depth_of_intervals)
{
	const unsigned int n = 65536;
	struct intervals t = { 0 };
	uint32_t set = 0;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint64_t at = _i == 2 ? i * 0x9e3779b1U % (1U << 31) : _i ? n - i : i;

		set = intervals_put(&t, set, 1, at * 2, at * 2 + 1, i + 1);
	}
	ck_assert_uint_lt(t.visited / n, 200);
	/* Each takes the place of one before: there are no more nodes. */
	for (i = 0; i < n; i++)
		set = intervals_put(&t, set, 1, 0, UINT64_MAX, i + 1);
	ck_assert_uint_le(t.nr, n + 2);
	intervals_free(&t);
}
END_TEST

/* ---- paths ------------------------------------------------------------------------------------- */

#define NR_LINKS	39
#define NR_THROUGH	6000

/* A directory is replaced by a link behind links, each of which leads through others a thousand times. */
START_TEST(paths_through_links)
{
	struct rusage before, after;
	char link[64], target[4096];
	unsigned int i, k;
	size_t len;

	build("honest", "work", "");
	ck_assert_int_eq(mkdir(in_dir("d"), 0700), 0);
	for (i = 0; i < NR_LINKS; i++) {
		for (k = len = 0; k < 800; k++)
			len += (size_t)sprintf(target + len, "d/../");
		if (i + 1 < NR_LINKS)
			sprintf(target + len, "l%u", i + 1);
		else
			strcpy(target + len, "d");
		sprintf(link, "l%u", i);
		ck_assert_int_eq(symlink(target, in_dir(link)), 0);
	}
	begin();
	for (i = 0; i < NR_THROUGH; i++) {
		sprintf(link, "l0/%u", i);
		put_mapping(10, 5, 0x1000 * (i + 1), 0x1000 * (i + 2), 0, in_dir(link));
		put_sample(10, 10, 6, 0x1000 * (i + 1) + 5);
	}
	put_mapping(20, 0, 0x10000000, 0x20000000, 0, path_of("honest"));
	put_sample(20, 20, 7, 0x10000000 + offset_of("honest", "work"));
	put_end(1, (uint64_t []){ 2000 });
	put_close();
	getrusage(RUSAGE_CHILDREN, &before);
	ck_assert_msg(!report("-v", "-o", (char *)in_dir("report")), "%s", err);
	getrusage(RUSAGE_CHILDREN, &after);
	ck_assert_int_lt(after.ru_stime.tv_sec - before.ru_stime.tv_sec, 6);
	shell("grep -q '  work \\[honest\\]' report");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-hostile");
	TCase *t = tcase_create("hostile");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, long_name);
	tcase_add_loop_test(t, large_section, 0, 2);
	tcase_add_loop_test(t, names_of_fifos, 0, 7);
	tcase_add_loop_test(t, files_without_contents, 0, 7);
	tcase_add_test(t, leases);
	tcase_add_loop_test(t, limits, 0, NR_FAULTS);
	tcase_add_test(t, limits_of_users);
	tcase_add_test(t, shares_of_children);
	tcase_add_test(t, time_of_almost_a_second);
	tcase_add_test(t, checksums);
	tcase_add_test(t, signals);
	tcase_add_test(t, parent_has_ended);
	tcase_add_test(t, large_notes);
	tcase_add_test(t, many_mappings);
	tcase_add_test(t, many_mappings_reported);
	tcase_add_test(t, mappings_without_end);
	tcase_add_test(t, many_dumps);
	tcase_add_test(t, map_that_is_a_hole);
	tcase_add_test(t, many_names_of_memory);
	tcase_add_test(t, many_names_of_a_dump);
	tcase_add_test(t, intervals);
	tcase_add_loop_test(t, depth_of_intervals, 0, 3);
	suite_add_tcase(s, t);

	t = tcase_create("numbers");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, threads_of_no_name);
	tcase_add_test(t, names_of_a_file);
	tcase_add_test(t, mappings_of_ended_processes);
	tcase_add_test(t, long_names_of_mappings);
	tcase_add_test(t, instructions_of_a_dump);
	tcase_add_test(t, functions_below_another);
	tcase_add_test(t, instructions_of_many);
	tcase_add_test(t, many_sources);
	tcase_add_test(t, many_removed_files);
	tcase_add_test(t, many_functions_annotated);
	tcase_add_test(t, keys_of_one_hash);
	tcase_add_loop_test(t, long_names_in_reports, 0, 5);
	tcase_add_test(t, long_paths);
	tcase_add_test(t, paths_through_links);
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
