// SPDX-License-Identifier: GPL-2.0
/*
 * The simulation's scenarios on this kernel: results, and the order in which the kernel
 * calls the module, are those of ../sim/real-record.  See ../sim/README.md.
 *
 * The function tracer and notes in its buffer are one record.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"
#include "../sim/real-scenarios.h"

#define TRACING		"/sys/kernel/tracing/"
#define MARK		"tracing_mark_write: "
#define MAX_TASKS	8
#define CHILDREN	VPERFCTR_STATUS_CHILDREN

extern const char expected[], expected_end[];

__asm__(".pushsection .rodata\n"
	".globl expected, expected_end\n"
	"expected: .incbin \"" REAL_RECORD "\"\n"
	"expected_end: .byte 0\n"
	".popsection");

static const struct {
	const char *function, *callback;
} callbacks[] = {
	{ "vperfctr_dev_ioctl", "ioctl" },
	{ "vperfctr_state_ioctl", "ioctl" },
	{ "vperfctr_file_mmap", "mmap" },
	{ "vperfctr_file_flush", "flush" },
	{ "vperfctr_file_release", "release" },
	{ "vperfctr_vma_open", "vma_open" },
	{ "vperfctr_vma_close", "vma_close" },
	{ "vperfctr_vma_fault", "fault" },
	{ "vperfctr_sched_in", "sched_in" },
	{ "vperfctr_sched_out", "sched_out" },
	{ "probe_fork", "fork" },
	{ "probe_exec", "exec" },
	{ "probe_exit", "exit" },
	{ "vperfctr_probe_rename", "rename" },
};

#define NR(a)		(sizeof(a) / sizeof((a)[0]))

/* ---- what scenarios use ------------------------------------------------------------ */

struct shared *shared;

struct task {
	const char *name;
	void (*func)(int fd);
	int fd;
	pthread_t thread;
	pid_t pid, tid;		/* of a process, or of a thread */
};

static __thread const char *name_of_task;
static __thread unsigned int nr_signals;
static const struct vperfctr_page *the_page;
static const struct vperfctr_ring_page *the_ring;
static u64 ring_size;
static int marker = -1;

/* One write is one line of the trace. */
__attribute__((format(printf, 1, 2))) static void mark(const char *format, ...)
{
	char line[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (write(marker, line, n) != n)
		die("trace_marker: %s", strerror(errno));
}

void note(const char *format, ...)
{
	char line[128];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	mark("%s: %s", name_of_task, line);
}

void work(unsigned int units)
{
	loop(units * (UNIT / 2));
}

static int noted(const char *name, int ret)
{
	note("%s: %d", name, ret < 0 ? ret : 0);
	return ret;
}

int open_own_state(unsigned int flags)
{
	return noted("OPEN", try_open_state(flags));
}

static int control_with(int fd, u64 ireset, int signal, u32 flags)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, ireset ? IMODE_MAP : 0, ireset ? IMODE_USER : INSNS_USER);
	control.c.flags = flags;
	if (ireset) {
		control.c.nractrs = 0;
		control.c.nrictrs = 1;
		control.c.si_signo = signal;
		control.ctr[0].ireset = ireset;
	}
	return noted("CONTROL", set_control(fd, &control));
}

int control_counter(int fd, unsigned int flags)
{
	return control_with(fd, 0, 0, flags);
}

int control_period(int fd, unsigned int halves, int signal, unsigned int flags)
{
	return control_with(fd, -((u64)halves * UNIT / 2), signal, flags);
}

int control_nothing(int fd)
{
	return noted("CONTROL", stop_all(fd));
}

int simple_call(int fd, unsigned int cmd, const char *name)
{
	return noted(name, call(fd, cmd, NULL));
}

int make_ring(int fd, unsigned int nrsamples)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = nrsamples, .watermark = 1, .nrsums = 1,
	};
	int ret = call(fd, VPERFCTR_RING, &ring);

	if (!ret)
		ring_size = ring.map_size;
	return noted("RING", ret);
}

int close_state(int fd)
{
	return noted("close", close(fd) ? -errno : 0);
}

static int try_read(int fd, u64 own[2], u64 children[2], u32 *status)
{
	struct vperfctr_read req = {
		.size = sizeof(req), .nrctrs = 1, .sums = (uintptr_t)own, .children = (uintptr_t)children,
	};
	int ret = call(fd, VPERFCTR_READ, &req);

	*status = req.status;
	return ret;
}

int read_state(int fd)
{
	u64 own[2] = {}, children[2] = {};
	u32 status;
	int ret = noted("READ", try_read(fd, own, children, &status));

	if (!ret)
		note("own %llu, children %llu, status %#x, signals %u", own[1] / UNIT, children[1] / UNIT,
		     status, nr_signals);
	return ret;
}

void wait_for_children(int fd)
{
	u64 own[2], children[2];
	u32 status;

	mark("-%s", name_of_task);
	do {
		msleep(1);
		if (try_read(fd, own, children, &status))
			die("READ fails");
	} while (status & CHILDREN);
	mark("+%s", name_of_task);
}

void map_page(int fd)
{
	the_page = map_state(fd);
}

void touch_page(void)
{
	note("version %u", the_page->version);
}

void unmap_page(void)
{
	munmap((void *)the_page, PAGE);
}

void map_ring(int fd)
{
	the_ring = mmap(NULL, ring_size, PROT_READ, MAP_SHARED, fd, VPERFCTR_RING_OFFSET);
	if (the_ring == MAP_FAILED)
		die("mmap of a ring: %s", strerror(errno));
}

void note_ring(void)
{
	note("%llu samples, %llu dropped", the_ring->head, the_ring->dropped);
}

static void begin_task(const char *name)
{
	name_of_task = name;
	mark("+%s", name);
}

static struct task *new_task(const char *name, void (*func)(int fd), int fd)
{
	struct task *t = calloc(1, sizeof(*t));

	*t = (struct task) { .name = name, .func = func, .fd = fd };
	return t;
}

struct task *start_process(const char *name, void (*func)(int fd), int fd)
{
	struct task *t = new_task(name, func, fd);

	t->pid = fork();
	if (t->pid < 0)
		die("fork: %s", strerror(errno));
	if (!t->pid) {
		begin_task(name);
		func(fd);
		_exit(0);
	}
	return t;
}

static void *run_thread(void *arg)
{
	struct task *t = arg;

	t->tid = gettid();
	begin_task(t->name);
	t->func(t->fd);
	return NULL;
}

struct task *start_thread(const char *name, void (*func)(int fd), int fd)
{
	struct task *t = new_task(name, func, fd);

	if (pthread_create(&t->thread, NULL, run_thread, t))
		die("pthread_create() fails");
	return t;
}

void wait_for_end(struct task *task)
{
	char path[64];

	if (task->pid) {
		waitpid(task->pid, NULL, 0);
	} else {
		/* This returns before the thread has left the process. */
		pthread_join(task->thread, NULL);
		snprintf(path, sizeof(path), "/proc/self/task/%d", task->tid);
		while (!access(path, F_OK))
			msleep(1);
	}
	free(task);
}

void kill_task(struct task *task)
{
	kill(task->pid, SIGKILL);
}

void wait_for_step(unsigned int step)
{
	while (shared->step < step)
		msleep(1);
}

/* The program may be at another address then. */
void execute(void (*func)(int fd), int fd)
{
	char offset[32], state[16], mark_fd[16];

	snprintf(offset, sizeof(offset), "%td", (const char *)func - (const char *)real_scenarios[0].func);
	snprintf(state, sizeof(state), "%d", fd);
	snprintf(mark_fd, sizeof(mark_fd), "%d", marker);
	if (fcntl(fd, F_SETFD, 0))
		die("fcntl: %s", strerror(errno));
	execl("/proc/self/exe", "test_real_record", "--go-on", name_of_task, offset, state, mark_fd, NULL);
	die("exec: %s", strerror(errno));
}

static int go_on(char **argv)
{
	name_of_task = argv[2];
	marker = atoi(argv[5]);
	((void (*)(int fd))((uintptr_t)real_scenarios[0].func + atol(argv[3])))(atoi(argv[4]));
	_exit(0);
}

/* ---- the trace ------------------------------------------------------------------------ */

static void write_tracing(const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), TRACING "%s", file);
	fd = open(path, O_WRONLY | (*text ? O_APPEND : O_TRUNC));
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

static void start_tracer(void)
{
	char line[128];
	unsigned int i;

	for (i = 0; i < NR(callbacks); i++) {
		snprintf(line, sizeof(line), "%s:mod:vperfctr", callbacks[i].function);
		write_tracing("set_ftrace_filter", line);
	}
	write_tracing("trace_clock", "counter");
	write_tracing("current_tracer", "function");
	marker = open(TRACING "trace_marker", O_WRONLY);
	if (marker < 0)
		die("trace_marker: %s", strerror(errno));
}

static struct {
	pid_t pid;
	char name[16];
	bool quiet;
	char *record;
	size_t size;
	FILE *f;
} traced[MAX_TASKS];
static unsigned int nr_traced;

static int find_task(pid_t pid)
{
	unsigned int i;

	for (i = 0; i < nr_traced && traced[i].pid != pid; i++)
		;
	return i < nr_traced ? (int)i : -1;
}

/* Split a line, "COMM-PID [CPU] FLAGS TIME: EVENT".  Return: the event, or NULL. */
static char *split_line(char *line, pid_t *pid)
{
	char *cpu, *dash, *event;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '#')
		return NULL;
	cpu = strstr(line, " [");
	if (!cpu)
		return NULL;
	for (dash = cpu; dash > line && *dash != '-'; dash--)
		;
	event = strstr(cpu, ": ");
	*pid = atoi(dash + 1);
	return event ? event + 2 : NULL;
}

static const char *callback_of(const char *event)
{
	size_t n = strcspn(event, " ");
	unsigned int i;

	for (i = 0; i < NR(callbacks); i++) {
		if (strlen(callbacks[i].function) == n && !strncmp(callbacks[i].function, event, n))
			return callbacks[i].callback;
	}
	return NULL;
}

/* The tasks that have a name, in the order of their beginning. */
static void find_tasks(FILE *f)
{
	char line[512], *event;
	pid_t pid;

	while (fgets(line, sizeof(line), f)) {
		event = split_line(line, &pid);
		if (!event || strncmp(event, MARK "+", sizeof(MARK)) || find_task(pid) >= 0)
			continue;
		ck_assert_uint_lt(nr_traced, MAX_TASKS);
		traced[nr_traced].pid = pid;
		snprintf(traced[nr_traced].name, sizeof(traced[0].name), "%s", event + sizeof(MARK));
		traced[nr_traced].f = open_memstream(&traced[nr_traced].record, &traced[nr_traced].size);
		nr_traced++;
	}
}

static void sort_lines(FILE *f)
{
	char line[512], *event;
	const char *callback;
	pid_t pid;
	int i;

	while (fgets(line, sizeof(line), f)) {
		event = split_line(line, &pid);
		i = event ? find_task(pid) : -1;
		if (i < 0)
			continue;
		callback = callback_of(event);
		if (!strncmp(event, MARK, sizeof(MARK) - 1)) {
			event += sizeof(MARK) - 1;
			if (*event == '+' || *event == '-')
				traced[i].quiet = *event == '-';
			else
				fprintf(traced[i].f, "%s\n", event);
		} else if (callback && !traced[i].quiet) {
			fprintf(traced[i].f, "%s: <%s>\n", traced[i].name, callback);
		}
	}
}

/* The trace as a record. */
static char *read_record(void)
{
	FILE *f = fopen(TRACING "trace", "r"), *to;
	unsigned int i;
	char *record;
	size_t size;

	if (!f)
		die("trace: %s", strerror(errno));
	find_tasks(f);
	rewind(f);
	sort_lines(f);
	fclose(f);
	to = open_memstream(&record, &size);
	for (i = 0; i < nr_traced; i++) {
		fclose(traced[i].f);
		write_real_task(to, traced[i].record);
	}
	fclose(to);
	return record;
}

/* ---- tests ------------------------------------------------------------------------------ */

static char *expected_of(const char *scenario)
{
	char *all = strndup(expected, expected_end - expected), title[64], *begin, *end;

	snprintf(title, sizeof(title), "[%s]\n", scenario);
	begin = strstr(all, title);
	if (!begin)
		return "";
	begin += strlen(title);
	end = strchr(begin, '[');
	if (end)
		*end = '\0';
	return begin;
}

static void count_signal(int sig)
{
	(void)sig;
	nr_signals++;
}

START_TEST(scenario)
{
	char *record, *wanted = expected_of(real_scenarios[_i].name);
	pid_t pid;

	shared = shared_memory(sizeof(*shared));
	signal(REAL_SIGNAL, count_signal);
	write_tracing("trace", "");
	pid = fork();
	if (!pid) {
		begin_task("parent");
		real_scenarios[_i].func();
		_exit(0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
	record = read_record();
	ck_assert_msg(!strcmp(record, wanted), "%s: the record is\n%s\nnot\n%s", real_scenarios[_i].name,
		      record, wanted);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, scenario, 0, nr_real_scenarios);
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "--go-on"))
		return go_on(argv);
	open_device();
	start_tracer();
	return run_tests("real record", add);
}
