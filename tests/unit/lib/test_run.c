// SPDX-License-Identifier: GPL-2.0
/* perfex as a whole: it runs commands, which the fake kernel "counts". */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "perfex.h"

int perfex_main(int argc, char **argv);

static char dir[64], out[16384], err[16384];

static const char *in_dir(const char *name)
{
	static char paths[4][128], *path;
	static unsigned int next;

	/* A result lives until the fourth one after it. */
	path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void setup(void)
{
	fake_reset();
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	strcpy(dir, "/tmp/perfex-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	unlink(in_dir("out"));
	unlink(in_dir("err"));
	unlink(in_dir("file"));
	rmdir(dir);
}

static void redirect(const char *name, int to)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(fd, to);
	close(fd);
}

static pid_t start(char **argv)
{
	int argc = 0;
	pid_t pid;

	while (argv[argc])
		argc++;
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	redirect("out", STDOUT_FILENO);
	redirect("err", STDERR_FILENO);
	exit(perfex_main(argc, argv));
}

static void slurp(const char *name, char *buf, size_t size)
{
	FILE *f = fopen(in_dir(name), "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	if (f)
		fclose(f);
}

static int finish(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	slurp("out", out, sizeof(out));
	slurp("err", err, sizeof(err));
	ck_assert_msg(WIFEXITED(status), "perfex was killed: %s", err);
	return WEXITSTATUS(status);
}

#define ARGV(...)	((char *[]){ "perfex", __VA_ARGS__, NULL })
#define perfex(...)	finish(start(ARGV(__VA_ARGS__)))

static void has(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what), "no '%s' in:\n%s", what, text);
}

static void has_not(const char *text, const char *what)
{
	ck_assert_msg(!strstr(text, what), "'%s' in:\n%s", what, text);
}

/* One line, which begins with perfex's name. */
static void is_message(const char *what)
{
	ck_assert_msg(!strncmp(err, "perfex: ", 8) && strchr(err, '\n') == err + strlen(err) - 1,
		      "not one line of perfex's:\n%s", err);
	has(err, what);
}

/* ---- counting ------------------------------------------------------------------ */

START_TEST(counts)
{
	ck_assert_int_eq(perfex("-e", "instructions:u,branches", "-e", "cycles", "--",
				"sh", "-c", "echo hello; echo there >&2"), 0);
	ck_assert_str_eq(out, "hello\n");
	has(err, "there\n");
	has(err, " Counts of 'sh -c echo hello; echo there >&2' (");
	/* Each event's own sum, in the order of the events */
	has(err, "           1,000,000  instructions:u\n");
	has(err, "           1,000,001  branches\n");
	has(err, "           1,000,002  cycles\n");
	has(err, "         0.001500000  seconds thread time");
}
END_TEST

START_TEST(defaults)
{
	ck_assert_int_eq(perfex("true"), 0);
	has(err, "  instructions          # 1.00 per cycle\n");
	has(err, "  cache-misses ");
	fake.info.nrctrs = 0;
	fake.info.pmc_mask = fake.info.fixed_mask = 0;
	fake.info.arch_events = 0;
	ck_assert_int_eq(perfex("true"), 0);
	has_not(err, "cycles");
	has(err, "  seconds thread time");
}
END_TEST

START_TEST(to_file)
{
	char text[4096];

	ck_assert_int_eq(perfex("-o", (char *)in_dir("file"), "-v", "-e", "r01d1", "sh", "-c", "exit 5"), 5);
	ck_assert_str_eq(err, "perfex: r01d1: map 0x00000000 evntsel 0x004301d1\n");
	slurp("file", text, sizeof(text));
	has(text, "           1,000,000  r01d1\n");
	ck_assert_int_eq(perfex("-o", "/nonexistent/file", "true"), 125);
	is_message("cannot write to '/nonexistent/file': No such file");
	ck_assert_int_eq(perfex("-o", "/dev/full", "true"), 125);
	is_message("cannot write to '/dev/full': No space");
}
END_TEST

/* ---- exit status --------------------------------------------------------------- */

START_TEST(status)
{
	ck_assert_int_eq(perfex("true"), 0);
	ck_assert_int_eq(perfex("false"), 1);
	ck_assert_int_eq(perfex("sh", "-c", "exit 255"), 255);
	ck_assert_int_eq(perfex("sh", "-c", "kill -TERM $$"), 128 + SIGTERM);
	has(err, "instructions");
	ck_assert_int_eq(perfex("sh", "-c", "kill -KILL $$"), 128 + SIGKILL);
	has(err, "instructions");
}
END_TEST

START_TEST(cannot_run)
{
	int fd;

	ck_assert_int_eq(perfex("no-such-command-at-all"), 127);
	is_message("there is no command 'no-such-command-at-all'");
	ck_assert_int_eq(perfex("/nonexistent/x"), 127);
	fd = open(in_dir("file"), O_WRONLY | O_CREAT, 0600);
	close(fd);
	ck_assert_int_eq(perfex((char *)in_dir("file")), 126);
	is_message("chmod");
	ck_assert_int_eq(perfex("/"), 126);
}
END_TEST

START_TEST(misuse)
{
	ck_assert_int_eq(finish(start((char *[]){ "perfex", NULL })), 125);
	is_message("no command");
	ck_assert_int_eq(perfex("--"), 125);
	is_message("no command");
	ck_assert_int_eq(perfex("-vz", "true"), 125);
	is_message("unknown option -z");
	ck_assert_int_eq(perfex("--nonsense", "true"), 125);
	is_message("unknown option '--nonsense'");
	ck_assert_int_eq(perfex("-e"), 125);
	is_message("-e needs an argument");
	ck_assert_int_eq(perfex("-e", "nonsense-event", "true"), 125);
	is_message("unknown event 'nonsense-event'");
	/* The command's options are not perfex's. */
	ck_assert_int_eq(perfex("sh", "-e", "-c", "exit 4"), 4);
	ck_assert_int_eq(perfex("--", "sh", "-e", "-c", "exit 4"), 4);
}
END_TEST

START_TEST(shown)
{
	ck_assert_int_eq(perfex("--help"), 0);
	has(out, "Usage: perfex");
	has(out, "cache-misses");
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(perfex("-V"), 0);
	ck_assert_str_eq(out, "perfex " VPERFCTR_VERSION "\n");
	ck_assert_int_eq(perfex("-i"), 0);
	has(out, "processor       Fake");
	fake.fail[FAKE_DEVICE] = ENOENT;
	ck_assert_int_eq(perfex("-i"), 125);
	is_message("modprobe");
}
END_TEST

/* ---- what can go wrong, and that the command does not run then ------------------- */

static const struct {
	enum fake_call call;
	int error;
	const char *message;
} failures[] = {
	{ FAKE_DEVICE, ENOENT, "modprobe vperfctr" },
	{ FAKE_DEVICE, EACCES, "group" },
	{ FAKE_INFO, ENOTTY, "cannot use /dev/vperfctr: Inappropriate ioctl" },
	{ FAKE_OPEN, ENOMEM, "cannot use /dev/vperfctr: Cannot allocate memory" },
	{ FAKE_CONTROL, EBUSY, "counters: " },
	{ FAKE_CONTROL, EPERM, "count user mode with ':u'" },
	{ FAKE_CONTROL, EINVAL, "cannot count these events" },
	{ FAKE_CONTROL, ENOMEM, "cannot set up the counters: Cannot allocate memory" },
};

START_TEST(failure)
{
	fake.fail[failures[_i].call] = failures[_i].error;
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c", "echo ran"), 125);
	is_message(failures[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(cannot_read)
{
	fake.fail[FAKE_READ] = EFAULT;
	ck_assert_int_eq(perfex("-e", "cycles", "echo", "ran"), 125);
	ck_assert_str_eq(out, "ran\n");
	has(err, "<not counted>");
	has(err, "\nperfex: cannot read the counters: Bad address\n");
}
END_TEST

START_TEST(gains_privileges)
{
	fake.exec_uncounted = true;
	ck_assert_int_eq(perfex("-e", "cycles", "echo", "ran"), 125);
	ck_assert_str_eq(out, "ran\n");
	has(err, "<not counted>");
	has(err, "set-user-ID");
}
END_TEST

START_TEST(checks)
{
	struct vperfctr_read r = { .nrctrs = 3 };

	ck_assert_ptr_null(run_check(&r, 1, 3, 0));
	has(run_check(&r, 1, 2, 0), "used the counters for itself");
	has(run_check(&r, 0, 3, 0), "set-user-ID");
	has(run_check(&r, 0, 3, SIGKILL), "killed before");
	r.children_missed = 1;
	has(run_check(&r, 1, 3, 0), "children");
}
END_TEST

/* ---- signals and descriptors ------------------------------------------------------ */

static void await_output(const char *text)
{
	int i;

	for (i = 0; i < 1000; i++) {
		slurp("out", out, sizeof(out));
		if (strstr(out, text))
			return;
		usleep(10000);
	}
	ck_abort_msg("no '%s'", text);
}

/* What is sent to perfex alone reaches the command; perfex stays, and prints. */
START_TEST(passed_on)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP };
	pid_t pid = start(ARGV("-e", "cycles", "sh", "-c",
			       "trap 'exit 9' TERM INT QUIT HUP; echo ready; while :; do sleep 0.05; done"));

	await_output("ready");
	kill(pid, sigs[_i]);
	ck_assert_int_eq(finish(pid), 9);
	has(err, "1,000,000  cycles");
}
END_TEST

START_TEST(passed_on_and_fatal)
{
	pid_t pid = start(ARGV("-e", "cycles", "sh", "-c", "echo ready; exec sleep 100"));

	await_output("ready");
	kill(pid, SIGTERM);
	ck_assert_int_eq(finish(pid), 128 + SIGTERM);
	has(err, "1,000,000  cycles");
}
END_TEST

/* What perfex was told to ignore (nohup) it does not pass on. */
START_TEST(ignored_is_not_passed_on)
{
	pid_t pid;

	signal(SIGHUP, SIG_IGN);
	pid = start(ARGV("-e", "cycles", "env", "--default-signal=HUP", "sh", "-c",
			 "echo ready; sleep 0.5; exit 3"));
	await_output("ready");
	kill(pid, SIGHUP);
	ck_assert_int_eq(finish(pid), 3);
}
END_TEST

/* The standard signals in that line of a /proc/PID/status. */
static unsigned int signal_mask(const char *label)
{
	const char *line = strstr(out, label);

	ck_assert_ptr_nonnull(line);
	return strtoull(line + strlen(label), NULL, 16) & 0x7fffffff;
}

/* The command finds signals as perfex did: none caught, blocked or ignored ... */
START_TEST(command_signals)
{
	ck_assert_int_eq(perfex("grep", "Sig[BI]", "/proc/self/status"), 0);
	ck_assert_uint_eq(signal_mask("SigBlk:"), 0);
	ck_assert_uint_eq(signal_mask("SigIgn:"), 0);
}
END_TEST

/* ... or what was ignored (SIGHUP 1, SIGCHLD 17), which perfex bears. */
START_TEST(ignored_signals)
{
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = start(ARGV("grep", "Sig[BI]", "/proc/self/status"));

	signal(SIGCHLD, SIG_DFL);
	ck_assert_int_eq(finish(pid), 0);
	ck_assert_uint_eq(signal_mask("SigBlk:"), 0);
	ck_assert_uint_eq(signal_mask("SigIgn:"), 0x10001);
}
END_TEST

/* Nothing of perfex's is open in the command. */
START_TEST(command_files)
{
	ck_assert_int_eq(perfex("ls", "-l", "/proc/self/fd"), 0);
	has_not(out, "vperfctr");
	has_not(out, "socket");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-run");
	TCase *t = tcase_create("run");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, counts);
	tcase_add_test(t, defaults);
	tcase_add_test(t, to_file);
	tcase_add_test(t, status);
	tcase_add_test(t, cannot_run);
	tcase_add_test(t, misuse);
	tcase_add_test(t, shown);
	tcase_add_loop_test(t, failure, 0, ARRAY_SIZE(failures));
	tcase_add_test(t, cannot_read);
	tcase_add_test(t, gains_privileges);
	tcase_add_test(t, checks);
	tcase_add_loop_test(t, passed_on, 0, 4);
	tcase_add_test(t, passed_on_and_fatal);
	tcase_add_test(t, ignored_is_not_passed_on);
	tcase_add_test(t, command_signals);
	tcase_add_test(t, ignored_signals);
	tcase_add_test(t, command_files);
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
