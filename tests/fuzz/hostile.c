// SPDX-License-Identifier: GPL-2.0
/*
 * usage: hostile SECONDS SEED [STEPS]
 *
 * Let perfex record and report files of an attacker, within its limits of time and memory: it
 * fails if one needs more, if a FIFO is opened, if standard error has more than the files that an
 * export lacks to find calls, if the output could command a terminal, or if another program's
 * function is not reported.  It ends after N seconds or steps.
 */
#include <errno.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "hostile-file.h"
#include "perfex.h"
#include "sample-builder.h"
#include "recording.h"

/* For files of 1 MB: seconds of processor time, and kilobytes. */
#define MAX_TIME	10
#define MAX_MEMORY	(200 << 10)

/* Kilobytes of memory for each of a map's, and bytes of a report. */
#define MEMORY_OF_MAP	16
#define MAX_OUTPUT	(64 << 20)

static char dir[64];
static struct hostile hostile;
static unsigned long seed, step;

int spin(int n);

/* The function that is sampled: in the honest program it has its name. */
__attribute__((noinline)) int spin(int n)
{
	volatile int i;

	for (i = 0; i < n; i++)
		;
	return i;
}

static uint32_t below(uint32_t n)
{
	return hostile_below(&hostile, n);
}

static const char *in_dir(const char *name)
{
	static char paths[8][160];
	static unsigned int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void fail(const char *what)
{
	fprintf(stderr, "hostile: SEED=%lu, step %lu: %s; see %s\n", seed, step, what, dir);
	exit(1);
}

/* ---- the attacker ------------------------------------------------------------------------- */

static const char *const files[] = {
	"h0", "h1", "h\n\033[2J2", "h'\"`;$(touch touched)3", "jit-10.dump", "fifo", "../../dev/zero",
};

#define NR_PATHS	12

static const char *path_of(unsigned int i)
{
	static char memory[32];

	switch (i) {
	case 7:
		return "/dev/zero";
	case 8:
		return "/dev/watchdog";
	case 9:
		return "[vdso]";
	case 10:
		return "";
	case 11:
		snprintf(memory, sizeof(memory), "/memfd:%u (deleted)", below(1000));
		return memory;
	default:
		return in_dir(files[i]);
	}
}

static void write_bytes(const char *path, bool text)
{
	FILE *f = fopen(path, "w");
	unsigned int i, n = below(3000);
	char name[65536];

	if (!f)
		fail("no file");
	if (!text) {
		const uint32_t head[10] = { 0x4a695444, 1, 40, 62, 0, 10 };

		fwrite(head, sizeof(head), 1, f);
		for (i = 0; i < n; i++)
			putc(below(2) ? below(4) : hostile_random(&hostile), f);
	}
	for (i = 0; text && i < n; i++) {
		name[hostile_name(&hostile, name, sizeof(name)) - 1] = '\0';
		fprintf(f, "%llx %llx %s\n", (unsigned long long)hostile_number(&hostile),
			(unsigned long long)hostile_number(&hostile), name);
	}
	/* A hole costs nothing. */
	if (!below(4) && (fflush(f) || ftruncate(fileno(f), (off_t)3 << 30)))
		fail("no room for a hole");
	if (!geteuid() && fchown(fileno(f), ATTACKER, ATTACKER))
		fail("cannot give a file to the attacker");
	fclose(f);
}

static void put_owners(void)
{
	const uint32_t pids[] = { 10, 11, (uint32_t)getpid() };
	struct record_process r = { .uid = geteuid() ? geteuid() : ATTACKER };
	unsigned int i;

	for (i = 0; i < 3; i++) {
		r.task.pid = pids[i];
		r.task.tid = pids[i];
		r.inner_pid = pids[i];
		put_record(RECORD_PROCESS, &r, sizeof(r), NULL);
	}
}

static void put_mappings(void)
{
	unsigned int i, n = below(20) ? 1 + below(12) : 20000, file;
	uint64_t place = hostile_place(&spin), start;
	const uint32_t pids[] = { 10, 11, (uint32_t)getpid() };
	uint64_t chain[8];

	for (i = 0; i < n; i++) {
		file = below(NR_PATHS);
		start = below(8) ? UINT64_C(0x10000000) * (1 + below(16)) : hostile_number(&hostile) >> 2;
		put_mapping(pids[below(3)], 1 + i, start, start + 1 + below(0x2000000),
			    below(8) ? 0 : hostile_number(&hostile) >> 1, path_of(file));
		if (below(8))
			continue;
		put_fork(pids[below(3)], pids[below(3)], 1 + i, pids[below(3)], 10);
	}
	for (i = 0; i < 300; i++) {
		start = UINT64_C(0x10000000) * (1 + below(16));
		for (n = 0; n < 8; n++)
			chain[n] = start + below(1 << 20);
		put_chain(pids[below(3)], 10 + below(3), 1000 + i, 1, start + (below(2) ? place + below(20) :
			  below(1 << 20)), below(8), chain);
	}
}

/* A sample with registers and a stack, in this file. */
static void put_stacks(void)
{
	uint64_t regs[17], stack[64], base = UINT64_C(0x10000000);
	unsigned int i, k;

	for (i = 0; i < 20; i++) {
		for (k = 0; k < 64; k++)
			stack[k] = base + below(1 << 20);
		for (k = 0; k < 17; k++)
			regs[k] = below(2) ? 0x7000 + 8 * below(64) : base + below(1 << 20);
		regs[7] = 0x7000;
		regs[16] = base + (below(2) ? hostile_place(&spin) : below(1 << 20));
		put_user(10, 2000 + i, regs[16], VPERFCTR_USER_64, 17, regs, stack, sizeof(stack));
	}
}

static void attack(void)
{
	bool stacks = !below(3);
	char map[64];

	hostile_write(&hostile, in_dir(files[below(4)]));
	if (below(2))
		hostile_write(&hostile, in_dir(files[below(4)]));
	if (!below(4))
		write_bytes(in_dir("jit-10.dump"), false);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)getpid());
	if (!below(4))
		write_bytes(map, true);
	put_header(in_dir("s"), stacks ? SAMPLES_STACKS : SAMPLES_CHAINS);
	put_event(0, 1000, "instructions:u");
	put_owners();
	/* Those with a stack are of another format. */
	if (stacks) {
		put_mapping(10, 1, 0x10000000, 0x20000000, 0, path_of(below(4)));
		put_stacks();
	} else {
		put_mappings();
	}
	put_mapping(20, 0, 0x10000000, 0x20000000, 0, in_dir("honest"));
	put_sample(20, 20, 6, 0x10000000 + hostile_place(&spin));
	put_end(1, (uint64_t []){ 2000 });
	put_close();
}

/* ---- perfex -------------------------------------------------------------------------------- */

/* True if a file has no control character, but for tabs and the ends of lines. */
static bool is_plain(const char *name)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t at, n;
	bool plain = true;
	FILE *f = fopen(name, "r");

	while (plain && (n = getline(&line, &room, f)) > 0)
		for (at = 0; plain && at < n; at += line[at] == '\n' || line[at] == '\t' ? 1 : (ssize_t)text_length(line + at))
			plain = line[at] == '\n' || line[at] == '\t' || text_length(line + at);
	free(line);
	fclose(f);
	return plain;
}

static int report(void)
{
	static const char *const exports[] = { "svg", "folded", "script", "firefox", "pprof", "perf" };
	const char *const both[] = { in_dir("s"), in_dir("s") };
	bool other = true, text = true, differs = false;
	struct reporting o = { .file = in_dir("s"), .show.verbose = true };
	FILE *out = fopen(in_dir("out"), "w");
	struct error e;

	switch (below(9)) {
	case 0:
		o.export = exports[below(6)];
		text = strcmp(o.export, "pprof") && strcmp(o.export, "perf");
		break;
	case 4:
		differs = true;
		break;
	case 1:
		o.annotate = "spin";
		o.show.style = below(2) ? STYLE_JSON : STYLE_TEXT;
		break;
	case 2:
		o.callers = below(2);
		o.callees = !o.callers;
		break;
	case 3:
		o.sort = "symbol,tid,line";
		o.show.style = below(2) ? STYLE_JSON : STYLE_TEXT;
		break;
	default:
		other = false;
		break;
	}
	if ((differs ? diff_files(out, both, &o, &e) : report_samples(out, &o, &e)) < 0) {
		/* Several programs can have the function. */
		if (o.annotate)
			return 0;
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	fclose(out);
	if (text && !is_plain(in_dir("out"))) {
		fputs("controls in the output\n", stderr);
		return 1;
	}
	return other ? 0 : 2;
}

static int record(void)
{
	FILE *out = fopen("/dev/null", "w");
	struct record_mapping map = { .task = { (uint32_t)getpid(), 1, 1 }, .start = 1, .inode = 1 };
	struct recording rec;
	struct error e;
	unsigned int i;
	void *p;
	int fd;

	if (recording_init(&rec, out, &e))
		return 1;
	for (i = 0; i < 4; i++) {
		fd = open(in_dir(files[i]), O_RDONLY | O_CLOEXEC);
		p = fd < 0 ? MAP_FAILED : mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		close(fd);
		if (p == MAP_FAILED)
			continue;
	}
	for (i = 0; i < NR_PATHS; i++)
		write_file(&rec, &map, path_of(i));
	i = look_at_process(&rec, getpid(), &e) != 0;
	recording_free(&rec);
	return (int)i;
}

/* Call it in a child, and check what it has needed.  Return: what it returned */
static int run(int (*fn)(void), const char *what)
{
	struct rusage usage;
	char text[200], map[64];
	struct stat st;
	double seconds;
	int status, fd;
	long memory;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		fd = open(in_dir("err"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
		dup2(fd, STDERR_FILENO);
		/* Much more than a busy machine needs, if it waits without end. */
		alarm(600);
		_exit(fn());
	}
	if (wait4(pid, &status, 0, &usage) != pid)
		fail("no child");
	seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
		  (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	snprintf(text, sizeof(text), "%s: status %x, %.1f s, %ld kB", what, status, seconds,
		 usage.ru_maxrss);
	snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)getpid());
	memory = MAX_MEMORY + (stat(map, &st) ? 0 : st.st_blocks / 2 * MEMORY_OF_MAP);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 1 || seconds > MAX_TIME ||
	    usage.ru_maxrss > memory || (!stat(in_dir("out"), &st) && st.st_size > MAX_OUTPUT))
		fail(text);
	return WEXITSTATUS(status);
}

/* True if standard error has only lines about files that an export lacks to find calls. */
static bool only_misses(void)
{
	static const char end[] = "so callers of its functions are not found (--symfs=DIR finds it in a directory or another root)\n";
	char line[8192];
	FILE *f = fopen(in_dir("err"), "r");
	bool only = f && is_plain(in_dir("err"));
	size_t n;

	while (only && fgets(line, sizeof(line), f)) {
		n = strlen(line);
		only = !strncmp(line, "perfex: ", 8) && n > sizeof(end) && !strcmp(line + n - strlen(end), end);
	}
	if (f)
		fclose(f);
	return only;
}

static bool file_has(const char *name, const char *text)
{
	static char line[1 << 20];
	FILE *f = fopen(in_dir(name), "r");
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

int main(int argc, char **argv)
{
	unsigned long seconds, steps = ~0UL;
	char events[4096], command[128];
	time_t end;
	int watch;

	if (argc < 3) {
		fprintf(stderr, "usage: %s SECONDS SEED [STEPS]\n", argv[0]);
		return 2;
	}
	seconds = strtoul(argv[1], NULL, 0);
	seed = strtoul(argv[2], NULL, 0);
	if (argc > 3)
		steps = strtoul(argv[3], NULL, 0);
	strcpy(dir, "/tmp/hostile-XXXXXX");
	if (!mkdtemp(dir) || mkfifo(in_dir("fifo"), 0600))
		fail("no directory");
	hostile_init(&hostile, seed, strdup(in_dir("fifo")));
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s/honest", (int)getpid(), dir);
	if (system(command))
		fail("no program");
	watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (inotify_add_watch(watch, in_dir("fifo"), IN_OPEN) < 0)
		fail("no watch");
	end = time(NULL) + (time_t)seconds;
	for (step = 0; step < steps && time(NULL) <= end; step++) {
		attack();
		if (run(report, "report") == 2 && !file_has("out", "  spin [honest]"))
			fail("the honest program is not reported");
		if (!only_misses())
			fail("messages on standard error");
		run(record, "record");
		if (read(watch, events, sizeof(events)) > 0)
			fail("the FIFO was opened");
		if (!access(in_dir("touched"), F_OK))
			fail("a command was executed");
		/* The next step does not depend on what the child took from the random numbers. */
	}
	snprintf(command, sizeof(command), "rm -rf %s /tmp/perf-%d.map", dir, (int)getpid());
	if (system(command))
		return 1;
	printf("SEED=%lu: %lu hostile steps, no harm done\n", seed, step);
	return 0;
}
