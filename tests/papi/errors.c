// SPDX-License-Identifier: GPL-2.0
/*
 * usage: errors	by PAPI, make calls that fail or that leave things to be cleaned up, and count
 *			afterwards.  Each case is a process, which may crash or hang.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <papi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS	100000
#define LEAST	(2 * ROUNDS)	/* instructions of the loop */
#define MOST	(3 * ROUNDS)	/* those of PAPI are included */

static int seen;

static void handler(int set, void *address, long long vector, void *context)
{
	(void)set;
	(void)address;
	(void)vector;
	(void)context;
	seen++;
}

static void expect(int got, int expected, const char *what)
{
	if (got != expected)
		errx(1, "%s: %s, not %s", what, PAPI_strerror(got), PAPI_strerror(expected));
}

static void must(int got, const char *what)
{
	expect(got, PAPI_OK, what);
}

static void is_loop(long long count, const char *what)
{
	if (count < LEAST || count > MOST)
		errx(1, "%s: %lld instructions", what, count);
}

/* Execute two instructions for each round. */
static void loop(unsigned long rounds)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds) : : "cc");
}

static void move_to(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		err(1, "CPU %d", cpu);
}

static int new_set(void)
{
	int set = PAPI_NULL;

	must(PAPI_create_eventset(&set), "create");
	must(PAPI_assign_eventset_component(set, 0), "component");
	must(PAPI_add_named_event(set, "instructions:u"), "instructions");
	return set;
}

static long long count_loop(int set)
{
	long long count;

	must(PAPI_start(set), "start");
	loop(ROUNDS);
	must(PAPI_stop(set, &count), "stop");
	return count;
}

static void run_thread(void *(*f)(void *), int *set)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, f, set) || pthread_join(thread, NULL))
		errx(1, "no thread");
}

/* ---- threads --------------------------------------------------------------------- */

static void *reset_it(void *set)
{
	expect(PAPI_reset(*(int *)set), PAPI_EPERM, "reset by another thread");
	return NULL;
}

static void reset_by_another(void)
{
	long long before, after;
	int set = new_set();

	must(PAPI_start(set), "start");
	run_thread(reset_it, &set);
	must(PAPI_read(set, &before), "read after another thread's reset");
	loop(ROUNDS);
	must(PAPI_stop(set, &after), "stop after another thread's reset");
	is_loop(after - before, "after another thread's reset");
}

static void *start_and_end(void *set)
{
	*(int *)set = new_set();
	must(PAPI_start(*(int *)set), "start");
	loop(ROUNDS);
	return NULL;
}

static void stop_after_end(void)
{
	long long count;
	int set;

	run_thread(start_and_end, &set);
	must(PAPI_stop(set, &count), "stop of a thread that has ended");
	is_loop(count, "a thread that has ended");
	must(PAPI_cleanup_eventset(set), "cleanup");
}

static void *count_it(void *set)
{
	is_loop(count_loop(*(int *)set), "another thread's set");
	return NULL;
}

static void start_by_another(void)
{
	int set = new_set();

	run_thread(count_it, &set);
	is_loop(count_loop(set), "the own set, after another thread has counted by it");
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int nr = 0;

	while (dir && readdir(dir))
		nr++;
	if (dir)
		closedir(dir);
	return nr;
}

static void *unregister(void *unused)
{
	PAPI_option_t option = { .cpu = { .cpu_num = 0 } };
	const int nr = descriptors();
	int set, code;

	(void)unused;
	must(PAPI_register_thread(), "register");
	set = new_set();
	must(PAPI_event_name_to_code("instructions:u", &code), "code");
	must(PAPI_overflow(set, code, ROUNDS, 0, handler), "overflow");
	option.cpu.eventset = new_set();
	must(PAPI_set_opt(PAPI_CPU_ATTACH, &option), "one CPU");
	must(PAPI_start(option.cpu.eventset), "start of a CPU");
	must(PAPI_unregister_thread(), "unregister");
	if (descriptors() != nr)
		errx(1, "the thread has left %d descriptors", descriptors() - nr);
	return NULL;
}

static void unregister_running(void)
{
	run_thread(unregister, NULL);
}

/* A set that inherits is read by the kernel, which a child may do. */
static void stop_by_child(void)
{
	PAPI_option_t option = { .inherit = { .inherit = PAPI_INHERIT_ALL } };
	long long count;
	int set = new_set(), status;

	option.inherit.eventset = set;
	must(PAPI_set_opt(PAPI_INHERIT, &option), "inherit");
	must(PAPI_start(set), "start");
	loop(ROUNDS);
	if (!fork()) {
		expect(PAPI_stop(set, &count), PAPI_EPERM, "stop by a child");
		must(PAPI_read(set, &count), "read by a child");
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		errx(1, "the child has status %#x", status);
	must(PAPI_stop(set, &count), "stop");
	if (count < LEAST)
		errx(1, "with a child: %lld instructions", count);
}

/* Call a function in the first process of a new PID namespace. */
static void run_in_namespace(void (*f)(void))
{
	int status;

	if (unshare(CLONE_NEWPID))
		err(1, "no namespace");
	if (!fork()) {
		f();
		_exit(0);
	}
	if (wait(&status) < 0 || status)
		errx(1, "the first process of a namespace has status %#x", status);
}

static void start_and_stop(void)
{
	is_loop(count_loop(new_set()), "the first process of a namespace");
}

/* The child has its parent's number, and opens a state of its own nevertheless. */
static void start_here_and_below(void)
{
	start_and_stop();
	run_in_namespace(start_and_stop);
	start_and_stop();
}

static void start_in_namespaces(void)
{
	run_in_namespace(start_here_and_below);
}

/* ---- settings -------------------------------------------------------------------- */

static void refused_threshold(void)
{
	int set = new_set(), instructions, cycles;

	must(PAPI_add_named_event(set, "cycles:u"), "cycles");
	must(PAPI_event_name_to_code("instructions:u", &instructions), "code");
	must(PAPI_event_name_to_code("cycles:u", &cycles), "code");
	expect(PAPI_overflow(set, instructions, 1, 0, handler), PAPI_EINVAL, "a threshold of 1");
	must(PAPI_overflow(set, cycles, ROUNDS / 10, 0, handler), "overflow");
	must(PAPI_start(set), "start");
	loop(ROUNDS);
	must(PAPI_stop(set, NULL), "stop");
	if (!seen)
		errx(1, "no overflow");
	must(PAPI_cleanup_eventset(set), "cleanup after a threshold that was refused");
	must(PAPI_destroy_eventset(&set), "destroy");
}

/* Start a process that executes the loop when a byte comes, and then this file, if there is one. */
static pid_t start_child(int *to, const char *file)
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe(fds))
		err(1, "pipe");
	pid = fork();
	if (!pid) {
		close(fds[1]);
		if (read(fds[0], &c, 1) == 1)
			loop(ROUNDS);
		/* It gains privileges by the file, whose complaint is not of interest. */
		if (file && !setuid(65534) && !close(STDERR_FILENO))
			execl(file, file, NULL);
		_exit(0);
	}
	close(fds[0]);
	*to = fds[1];
	return pid;
}

static void let_run(int to, pid_t pid)
{
	if (write(to, "", 1) != 1 || waitpid(pid, NULL, 0) != pid)
		err(1, "the child");
}

static void granularity_of_attached(void)
{
	PAPI_option_t option = { .granularity = { .granularity = PAPI_GRN_THR } };
	long long count;
	int set = new_set(), to;
	pid_t pid = start_child(&to, NULL);

	must(PAPI_attach(set, (unsigned long)pid), "attach");
	option.granularity.eventset = set;
	must(PAPI_set_opt(PAPI_GRANUL, &option), "granularity");
	must(PAPI_start(set), "start");
	let_run(to, pid);
	must(PAPI_stop(set, &count), "stop");
	is_loop(count, "a set that is attached to a process");
}

static void default_granularity(void)
{
	PAPI_option_t option = { .defgranularity = { .granularity = PAPI_GRN_SYS } };
	long long count;
	int set, to;
	pid_t pid;

	move_to(0);
	pid = start_child(&to, NULL);
	must(PAPI_set_opt(PAPI_DEFGRN, &option), "default granularity");
	set = new_set();
	must(PAPI_start(set), "start");
	let_run(to, pid);
	must(PAPI_stop(set, &count), "stop");
	if (count < LEAST)
		errx(1, "a set of the CPU by default: %lld instructions", count);
}

/* Make a set-uid program of the owner's: a copy of this one, which finds no library there. */
static const char *make_suid(void)
{
	static const char name[] = "/tmp/suid";
	const int from = open("/proc/self/exe", O_RDONLY);
	const int to = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	while (sendfile(to, from, NULL, 65536) > 0)
		;
	if (fchmod(to, 04755) || close(to) || close(from))
		err(1, "%s", name);
	return name;
}

/* A thread that gains privileges is not counted any more: one call says so. */
static void lost_thread(void)
{
	long long count;
	int set = new_set(), to;
	pid_t pid = start_child(&to, make_suid());

	must(PAPI_attach(set, (unsigned long)pid), "attach");
	must(PAPI_start(set), "start");
	let_run(to, pid);
	expect(PAPI_read(set, &count), PAPI_ECNFLCT, "a read after a loss");
	must(PAPI_read(set, &count), "the next read");
	is_loop(count, "a process until it gained privileges");
	must(PAPI_stop(set, &count), "stop");
	/* The same by the stop, which can be made again. */
	pid = start_child(&to, make_suid());
	must(PAPI_detach(set), "detach");
	must(PAPI_attach(set, (unsigned long)pid), "attach again");
	must(PAPI_start(set), "another start");
	let_run(to, pid);
	expect(PAPI_stop(set, &count), PAPI_ECNFLCT, "a stop after a loss");
	must(PAPI_stop(set, &count), "the next stop");
	is_loop(count, "the same by a stop");
	/* A reset leaves the report to the next read. */
	pid = start_child(&to, make_suid());
	must(PAPI_detach(set), "detach");
	must(PAPI_attach(set, (unsigned long)pid), "attach once more");
	must(PAPI_start(set), "the last start");
	let_run(to, pid);
	must(PAPI_reset(set), "a reset after a loss");
	expect(PAPI_stop(set, &count), PAPI_ECNFLCT, "a stop after the reset");
	must(PAPI_stop(set, &count), "the last stop");
	if (count)
		errx(1, "after a reset: %lld instructions", count);
}

/* ---- all -------------------------------------------------------------------------- */

static unsigned long thread_id(void)
{
	return (unsigned long)syscall(SYS_gettid);
}

static const struct {
	const char *name;
	void (*f)(void);
} cases[] = {
	{ "reset by another thread", reset_by_another },
	{ "stop after the thread's end", stop_after_end },
	{ "start by another thread", start_by_another },
	{ "a thread unregisters", unregister_running },
	{ "stop by a child", stop_by_child },
	{ "starts in PID namespaces", start_in_namespaces },
	{ "a refused threshold", refused_threshold },
	{ "granularity of an attached set", granularity_of_attached },
	{ "default granularity", default_granularity },
	{ "a thread that gains privileges", lost_thread },
};

static void run(void (*f)(void))
{
	alarm(2);
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		errx(1, "this is another version of PAPI");
	must(PAPI_thread_init(thread_id), "threads");
	f();
}

int main(void)
{
	static const char *const results[] = { "passed", "failed" };
	int status, failed = 0;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!fork()) {
			run(cases[i].f);
			exit(0);
		}
		if (wait(&status) < 0)
			err(1, "wait");
		printf("%s: %s\n", cases[i].name, results[status != 0]);
		if (WIFSIGNALED(status))
			printf("%s: signal %d\n", cases[i].name, WTERMSIG(status));
		fflush(stdout);
		failed |= status;
	}
	return failed != 0;
}
