// SPDX-License-Identifier: GPL-2.0
/* Each signal that perfex can get while it counts: the command gets it, and no counts are lost. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfex-command.h"
#include "perfex.h"

#define CATCH		TMP "/catch"

static void await_output(const char *what)
{
	int i;

	for (i = 0; i < 3000; i++) {
		slurp("out", out, sizeof(out));
		if (strstr(out, what))
			return;
		usleep(5000);
	}
	ck_abort_msg("no '%s'", what);
}

/* True for signals that perfex can pass on.  The C library has those before SIGRTMIN. */
static bool is_passed_on(int sig)
{
	return sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD && (sig < 32 || sig >= SIGRTMIN);
}

static bool stops(int sig)
{
	return sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

static bool ends(int sig)
{
	return is_passed_on(sig) && !stops(sig) && sig != SIGCONT && sig != SIGURG && sig != SIGWINCH;
}

/* How perfex is told to count, with the command or besides it. */
static char *const ways[][4] = {
	{ "perfex", "-ecycles:u", NULL },
	{ "perfex", "-a", "-ecycles:u", NULL },
	{ "perfex", "-ecycles:u", "-I20", NULL },
	{ "perfex", "--sample=cycles:u=1k", NULL },
};

#define NR_WAYS		ARRAY_SIZE(ways)

static pid_t start_way(unsigned int way, const char *command)
{
	char *args[10];
	unsigned int n;

	for (n = 0; ways[way][n]; n++)
		args[n] = ways[way][n];
	args[n++] = "-o";
	args[n++] = (char *)in_dir("file");
	args[n++] = (char *)command;
	args[n] = NULL;
	return start(args);
}

/* The counts are in the file; that of samples begins with other text. */
static void has_counts(unsigned int way)
{
	char text[4096];
	struct stat st;

	ck_assert_int_eq(stat(in_dir("file"), &st), 0);
	ck_assert_int_gt(st.st_size, 0);
	slurp("file", text, sizeof(text));
	if (way < 3)
		has(text, "cycles:u");
	else
		has(err, " samples in '");
}

/* Stopped as the signal would have stopped it: continue it. */
static void continue_perfex(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, WUNTRACED), pid);
	ck_assert(WIFSTOPPED(status));
	kill(pid, SIGCONT);
}

START_TEST(command_gets_each)
{
	const unsigned int way = (unsigned int)_i % NR_WAYS;
	const int sig = 1 + _i / (int)NR_WAYS;
	char expected[64];
	pid_t pid;

	if (!is_passed_on(sig))
		return;
	pid = start_way(way, CATCH);
	await_output("ready\n");
	if (sig >= SIGRTMIN)
		ck_assert_int_eq(sigqueue(pid, sig, (union sigval){ .sival_int = 4711 }), 0);
	else
		ck_assert_int_eq(kill(pid, sig), 0);
	/* SIGCONT would remove a signal that stops, and which the command has not got yet. */
	if (stops(sig)) {
		await_output("signal ");
		continue_perfex(pid);
	}
	ck_assert_int_eq(finish(pid), 9);
	snprintf(expected, sizeof(expected), "signal %d value %d\n", sig, sig >= SIGRTMIN ? 4711 : 0);
	has(out, expected);
	has_counts(way);
	unlink(in_dir("file"));
}
END_TEST

/* A command that does not know the signal ends by it, and perfex has its status. */
START_TEST(signal_ends_command)
{
	const int sig = 1 + _i;
	pid_t pid;

	if (!ends(sig))
		return;
	pid = start(ARGV("-ecycles:u", "sh", "-c", "echo ready; exec sleep 100"));
	await_output("ready\n");
	ck_assert_int_eq(kill(pid, sig), 0);
	ck_assert_int_eq(finish(pid), 128 + sig);
	has(err, "1,000,000  cycles:u\n");
}
END_TEST

static pid_t start_shell(unsigned int way, const char *command)
{
	char *args[12];
	unsigned int n;

	for (n = 0; ways[way][n]; n++)
		args[n] = ways[way][n];
	args[n++] = "-o";
	args[n++] = (char *)in_dir("file");
	args[n++] = "sh";
	args[n++] = "-c";
	args[n++] = (char *)command;
	args[n] = NULL;
	return start(args);
}

/*
 * After Ctrl-C, a shell ends a loop if the signal has ended what it waits for, and not if that
 * has exited, with whichever status.
 */
START_TEST(ends_as_command_did)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGSEGV };
	const unsigned int way = (unsigned int)_i % NR_WAYS;
	const int sig = signals[_i / (int)NR_WAYS];
	char command[128];
	int status;
	pid_t pid;

	snprintf(command, sizeof(command), "echo ready; exec sleep 100");
	pid = start_shell(way, command);
	await_output("ready\n");
	ck_assert_int_eq(kill(pid, sig), 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	slurp("err", err, sizeof(err));
	if (sig == SIGUSR1 || sig == SIGSEGV) {
		ck_assert(WIFEXITED(status));
		ck_assert_int_eq(WEXITSTATUS(status), 128 + sig);
	} else {
		ck_assert(WIFSIGNALED(status));
		ck_assert_int_eq(WTERMSIG(status), sig);
		ck_assert(!WCOREDUMP(status));
	}
	has_counts(way);
	unlink(in_dir("file"));
	/* A command that handles the signal has its own status.  It gets back only such signals. */
	if (sig == SIGUSR1 || sig == SIGSEGV)
		return;
	snprintf(command, sizeof(command), "trap 'exit %d' %d; kill -%d $PPID; sleep 0.1; exit 1",
		 128 + sig, sig, sig);
	pid = start_shell(way, command);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 128 + sig);
	unlink(in_dir("file"));
}
END_TEST

/* Without a command, each signal that would end perfex ends the counting, and others do not. */
START_TEST(without_command)
{
	const int sig = 1 + _i;
	pid_t pid;
	int i;

	if (!is_passed_on(sig) || stops(sig))
		return;
	pid = start(ARGV("-a", "-ecycles:u", "-I20", "-x,"));
	for (i = 0; i < 3000 && !strchr(err, '\n'); i++) {
		usleep(5000);
		slurp("err", err, sizeof(err));
	}
	ck_assert_int_eq(kill(pid, sig), 0);
	if (!ends(sig)) {
		usleep(100000);
		ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
		kill(pid, SIGTERM);
	}
	ck_assert_int_eq(finish(pid), 0);
	has(err, "cycles:u");
	err[0] = '\0';
}
END_TEST

/* An alarm that was set before perfex was executed is for the command. */
START_TEST(alarm_is_passed_on)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		redirect("out", STDOUT_FILENO);
		redirect("err", STDERR_FILENO);
		alarm(1);
		exit(perfex_main(3, (char *[]){ "perfex", "-ecycles:u", CATCH, NULL }));
	}
	ck_assert_int_eq(finish(pid), 9);
	has(out, "signal 14 ");
	has(err, "1,000,000  cycles:u\n");
}
END_TEST

/* A signal of the command to its parent does not come back, but for requests to end. */
START_TEST(signal_of_the_command)
{
	ck_assert_int_eq(perfex("-ecycles:u", "sh", "-c", "kill -USR1 $PPID; sleep 0.1; exit 5"), 5);
	has(err, "1,000,000  cycles:u\n");
	ck_assert_int_eq(perfex("-ecycles:u", "sh", "-c", "trap 'exit 6' TERM; kill -TERM $PPID; while :; do sleep 0.02; done"), 6);
}
END_TEST

/* SIGUSR1 tells the command something: it does not end a series of runs. */
START_TEST(series_goes_on)
{
	char command[256];

	snprintf(command, sizeof(command), "trap : USR1; echo run >> %s; sh -c \"kill -USR1 $PPID\"; sleep 0.05",
		 in_dir("file"));
	ck_assert_int_eq(perfex("-r3", "-ecycles:u", "sh", "-c", command), 0);
	has(err, "mean of 3 runs");
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "run\nrun\nrun\n");
}
END_TEST

/* ---- what cannot be written ------------------------------------------------------------------- */

/* Start perfex with this output in a pipe, from which fds[0] reads, and the other in a file. */
static pid_t start_in_pipe(int stream, char **argv, int fds[2])
{
	bool errors = stream == STDERR_FILENO;
	int argc = 0;
	pid_t pid;

	while (argv[argc])
		argc++;
	ck_assert_int_eq(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		redirect(errors ? "out" : "err", errors ? STDOUT_FILENO : STDERR_FILENO);
		dup2(fds[1], stream);
		close_range(STDERR_FILENO + 1, ~0U, 0);
		exit(perfex_main(argc, argv));
	}
	close(fds[1]);
	return pid;
}

/* Run perfex with a standard error that has no reader, or is read to its end. */
static int run_in_pipe(bool closed, char **argv)
{
	int fds[2];
	pid_t pid = start_in_pipe(STDERR_FILENO, argv, fds);

	if (!closed) {
		ssize_t n, len = 0;

		while ((n = read(fds[0], err + len, sizeof(err) - 1 - (size_t)len)) > 0)
			len += n;
		err[len] = '\0';
	}
	close(fds[0]);
	return wait_for(pid);
}

/* The command limits perfex's files: the fake kernel has needed some before. */
#define LIMIT(size)	"prlimit --pid $PPID --fsize=" size ":; exit 3"

START_TEST(file_size_limit)
{
	char *const file = (char *)in_dir("file");
	FILE *f;

	ck_assert_int_eq(run_in_pipe(false, ARGV("-x,", "-o", file, "-e", "cycles:u", "sh", "-c", LIMIT("0"))), 125);
	ck_assert_msg(!strncmp(err, "1000000,,cycles:u,", 18), "%s", err);
	has(err, "file': File too large; the counts are above, on standard error\n");
	ck_assert_int_ne(access(file, F_OK), 0);
	/* Standard output is no file of that name. */
	ck_assert_int_eq(run_in_pipe(false, ARGV("-x,", "-o", "-", "-e", "cycles:u", "sh", "-c", LIMIT("0"))), 125);
	has(err, "\nperfex: cannot write to standard output: File too large; the counts are above, on standard error\n");
	/* The old text is there. */
	f = fopen(file, "w");
	fputs("precious", f);
	fclose(f);
	ck_assert_int_eq(run_in_pipe(false, ARGV("-x,", "-o", file, "-e", "cycles:u", "sh", "-c", LIMIT("4"))), 125);
	has(err, "File too large");
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "precious");
	ck_assert_int_eq(run_in_pipe(false, ARGV("--sample=cycles:u=1k", "-o", file, "sh", "-c", LIMIT("300"))), 125);
	has(err, "File too large");
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "precious");
	/* The command finds the signal as it is usual. */
	ck_assert_int_eq(run_in_pipe(false, ARGV("-e", "cycles:u", "sh", "-c", "ulimit -c 0; ulimit -f 0; exec dd if=/dev/zero of=$0 bs=1 count=1", file)),
			 128 + SIGXFSZ);
	has(err, "1,000,000  cycles:u  ");
}
END_TEST

/* A pipe without a reader does not end perfex before it has written the rest. */
START_TEST(closed_standard_error)
{
	char *const file = (char *)in_dir("file");

	ck_assert_int_eq(run_in_pipe(true, ARGV("-e", "cycles:u", "sh", "-c", "sleep 0.1; exit 3")), 125);
	ck_assert_int_eq(run_in_pipe(true, ARGV("-o", file, "-e", "cycles:u", "sh", "-c", "sleep 0.1; exit 3")), 3);
	slurp("file", out, sizeof(out));
	has(out, "1,000,000  cycles:u\n");
	/* In a pipe to a program that has seen enough, there is nothing left to count for. */
	ck_assert_int_eq(run_in_pipe(true, ARGV("-a", "-I20", "-e", "cycles:u")), 125);
	/* The command finds SIGPIPE as it is usual. */
	ck_assert_int_eq(run_in_pipe(true, ARGV("-o", file, "-e", "cycles:u", "sh", "-c", "sleep 0.1; exec yes >&2")),
			 128 + SIGPIPE);
}
END_TEST

/* Run perfex with a standard output that has no reader.  Return: its status */
static int run_without_reader(char **argv)
{
	int fds[2];
	pid_t pid = start_in_pipe(STDOUT_FILENO, argv, fds);

	close(fds[0]);
	return finish(pid);
}

/* -o /dev/stdout: a program in a pipe has seen enough. */
START_TEST(closed_output)
{
	static const char message[] = "perfex: cannot write to '/dev/stdout': Broken pipe; the counts are above, on standard error\n";

	ck_assert_int_eq(run_without_reader(ARGV("-a", "-I20", "-x,", "-o", "/dev/stdout", "-e", "cycles:u")), 125);
	has(err, ",cycles:u,");
	has(err, message);
	/* The command does not end for that. */
	ck_assert_int_eq(run_without_reader(ARGV("-I20", "-x,", "-o", "/dev/stdout", "-e", "cycles:u", "sh", "-c", "sleep 0.2; echo ended >&2")), 125);
	has(err, "ended\n");
	has(err, message);
}
END_TEST

/* The parent of perfex ignores the end of its children, and perfex has inherited that. */
START_TEST(ignored_ends)
{
	static const char *const args[][3] = {
		{ "--report=/dev/null" },
		{ "-ecycles:u", "no-such-command-at-all" },
		{ "-a", "-ecycles:u", "no-such-command-at-all" },
	};
	char *argv[5] = { "perfex" };
	int argc;
	pid_t pid;

	for (argc = 1; argc <= 3 && args[_i][argc - 1]; argc++)
		argv[argc] = (char *)args[_i][argc - 1];
	fflush(NULL);
	pid = fork();
	if (!pid) {
		signal(SIGCHLD, SIG_IGN);
		redirect("out", STDOUT_FILENO);
		redirect("err", STDERR_FILENO);
		exit(perfex_main(argc, argv));
	}
	ck_assert_int_ge(finish(pid), 125);
	has(err, _i ? "no-such-command-at-all" : "/dev/null");
	has_not(err, "No child processes");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-signals");
	TCase *t = tcase_create("signals");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, command_gets_each, 0, SIGRTMAX * (int)NR_WAYS);
	tcase_add_loop_test(t, signal_ends_command, 0, SIGRTMAX);
	tcase_add_loop_test(t, ends_as_command_did, 0, 6 * (int)NR_WAYS);
	tcase_add_loop_test(t, without_command, 0, SIGRTMAX);
	tcase_add_test(t, alarm_is_passed_on);
	tcase_add_test(t, signal_of_the_command);
	tcase_add_test(t, series_goes_on);
	tcase_add_test(t, file_size_limit);
	tcase_add_test(t, closed_standard_error);
	tcase_add_test(t, closed_output);
	suite_add_tcase(s, t);
	t = tcase_create("children");
	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, ignored_ends, 0, 3);
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
