// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of perfex -D, --control and --wait.  The fake kernel's CPU 0 has counted k * 1000
 * instructions at the k-th read; a command has counted all from its exec on.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate.h"
#include "perfex-command.h"

static void setup(void)
{
	command_setup();
	ck_assert_int_eq(mkfifo(in_dir("ctl"), 0600), 0);
	ck_assert_int_eq(mkfifo(in_dir("ack"), 0600), 0);
}

/* Return: the argument of --control. */
static char *fifos(const char *fmt)
{
	static char text[256];

	snprintf(text, sizeof(text), fmt, in_dir("ctl"), in_dir("ack"));
	return text;
}

/*
 * Return: a shell command that gives perfex these commands, and reads the answer to each
 * before it goes on.  read has the fifo open for both directions, so no answer is lost.
 */
static char *says(const char *words)
{
	static char text[512];

	snprintf(text, sizeof(text),
		 "exec 3<> %s; for w in %s; do echo $w > %s; read -r answer <&3; echo $w $answer; done",
		 in_dir("ack"), words, in_dir("ctl"));
	return text;
}

START_TEST(delay)
{
	/* The gate opens at the first read: the second one, at the end, has as much again. */
	ck_assert_int_eq(perfex("-C", "0", "-D", "10", "-x,", "-e", "cycles,instructions", "sleep", "0.2"), 0);
	ck_assert_int_eq(strncmp(err, "1000,,cycles,1000000,100.00,,\n1001,,instructions,", 49), 0);
	/* It has not opened when the command ends. */
	ck_assert_int_eq(perfex("-C", "0", "-D", "60000", "-x,", "-e", "cycles", "true"), 125);
	ck_assert_int_eq(strncmp(err, "<not counted>,,cycles,0,", 24), 0);
	has(err, "\nperfex: nothing was counted: the delay of -D, 60000 ms, is longer than the run\n");
	ck_assert_int_eq(perfex("--delay=60000", "-x,", "-e", "cycles", "true"), 125);
	ck_assert_int_eq(strncmp(err, "<not counted>,,cycles,0,", 24), 0);
	ck_assert_int_eq(perfex("--delay=60000", "-j", "-e", "cycles", "true"), 125);
	has(err, "\"counter-value\" : \"<not counted>\"");
	ck_assert_int_eq(perfex("--delay=60000", "-e", "cycles", "true"), 125);
	has(err, "       <not counted>  cycles\n");
	has(err, "nothing was counted: the delay");
	ck_assert_int_eq(perfex("-C", "0-1", "--per-cpu", "-D", "60000", "-e", "cycles", "true"), 125);
	has(err, "CPU1");
	has_not(err, "  0  cycles");
	ck_assert_int_eq(perfex("-D", "-1", "--control", fifos("fifo:%s"), "-e", "cycles", "true"), 125);
	has(err, "       <not counted>  cycles\n");
	has(err, "\nperfex: nothing was counted: --control got no 'enable'\n");
	/* A command overrides -D. */
	ck_assert_int_eq(perfex("-D", "60000", "--control", fifos("fifo:%s,%s"), "-e", "cycles",
				"sh", "-c", says("disable")), 125);
	has(err, "\nperfex: nothing was counted: --control got no 'enable'\n");
	/* All that the fake kernel counts comes before the delay is over. */
	ck_assert_int_eq(perfex("-D", "10", "-x,", "-e", "cycles", "sleep", "0.2"), 0);
	ck_assert_int_eq(strncmp(err, "0,,cycles,0,", 12), 0);
	ck_assert_int_eq(perfex("-D", "0", "-x,", "-e", "cycles", "true"), 0);
	ck_assert_int_eq(strncmp(err, "1000000,,cycles,1500000,", 24), 0);
}
END_TEST

/* If the sums cannot be read when the gate opens, no count is right; or an interval is missing. */
START_TEST(delay_unread)
{
	char *const option = _i ? "-I20" : "-D10";
	char id[16];

	fake.fail_sums = 1;
	ck_assert_int_eq(perfex(option, "-x,", "-e", "cycles", "sleep", "0.2"), 125);
	has(err, "<not counted>,,cycles,");
	has(err, "perfex: cannot read the counters: Cannot allocate memory\n");
	fake.fail_sums = 1;
	snprintf(id, sizeof(id), "%d", (int)getpid());
	ck_assert_int_eq(perfex(option, "-x,", "-e", "cycles", "-p", id, "sleep", "0.2"), 125);
	has(err, "<not counted>,,cycles,");
	has(err, "perfex: cannot read the counters: Cannot allocate memory\n");
	if (!_i)
		return;
	/* After the first reading of the thread and of its part. */
	fake.fail_sums = 4;
	ck_assert_int_eq(perfex(option, "--per-thread", "-e", "cycles", "-p", id, "sleep", "0.2"), 125);
	has(err, "perfex: cannot read the counters: Cannot allocate memory\n");
}
END_TEST

/* Parts of CPUs, and intervals: those before the gate opens are 0. */
START_TEST(delay_of_parts)
{
	double at;
	unsigned long n, sum = 0;
	const char *p;

	ck_assert_int_eq(perfex("-C", "0-1", "--per-cpu", "-D", "10", "-x,", "-e", "cycles", "sleep", "0.2"), 0);
	ck_assert_int_eq(strncmp(err, "CPU0,1000,,cycles,1000000,", 26), 0);
	has(err, "\nCPU1,2000,,cycles,1000000,");
	ck_assert_int_eq(perfex("-C", "0", "-I", "20", "-D", "60000", "-x,", "-e", "cycles", "sleep", "0.1"), 125);
	has_not(err, ",1000,,cycles");
	has(err, ",0,,cycles,0,");
	ck_assert_int_eq(perfex("-C", "0-1", "--per-cpu", "-I", "20", "-D", "60000", "-x,", "-e", "cycles", "sleep", "0.1"), 125);
	has(err, ",CPU1,0,,cycles,0,");
	has_not(err, "000,,cycles");
	/* Each read adds 1000, and the one that opens the gate is left out. */
	ck_assert_int_eq(perfex("-C", "0", "-I", "50", "-D", "120", "-x,", "-e", "cycles", "sleep", "0.3"), 0);
	ck_assert_int_eq(strncmp(strchr(err, ','), ",0,,cycles,0,", 13), 0);
	for (p = err; sscanf(p, "%lf,%lu", &at, &n) == 2; p = strchr(p, '\n') + 1)
		sum += n;
	ck_assert_uint_gt(sum, 0);
	ck_assert_uint_eq(sum % 1000, 0);
}
END_TEST

START_TEST(commands)
{
	/* Reads: enable 1, disable 2, enable 3, disable 4; and 5 at the end. */
	ck_assert_int_eq(perfex("-C", "0", "-D", "-1", "--control", fifos("fifo:%s,%s"), "-x,", "-e", "cycles",
				"sh", "-c", says("ping enable disable enable disable")), 0);
	ck_assert_str_eq(out, "ping ack\nenable ack\ndisable ack\nenable ack\ndisable ack\n");
	ck_assert_int_eq(strncmp(err, "2000,,cycles,2000000,", 21), 0);
	/* Without -D the gate is open at first: 1 until the first read, 3 to 4. */
	ck_assert_int_eq(perfex("-C", "0", "--control", fifos("fifo:%s,%s"), "-x,", "-e", "cycles",
				"sh", "-c", says("disable disable enable enable")), 0);
	ck_assert_int_eq(strncmp(err, "2000,,cycles,2000000,", 21), 0);
	/* A command's first thread and its children, which count all at the exec. */
	ck_assert_int_eq(perfex("-v", "--control", fifos("fifo:%s,%s"), "-e", "cycles",
				"sh", "-c", says("disable enable")), 0);
	has(err, "           1,000,000  cycles\n");
	has_not(err, "Of these");
	/* A command ends the delay. */
	ck_assert_int_eq(perfex("-C", "0", "-D", "60000", "--control", fifos("fifo:%s,%s"), "-x,", "-e", "cycles",
				"sh", "-c", says("enable")), 0);
	ck_assert_int_eq(strncmp(err, "1000,,cycles,", 13), 0);
}
END_TEST

/* Without acknowledgements, in pieces, and what is no command. */
START_TEST(other_commands)
{
	char text[512];

	snprintf(text, sizeof(text), "{ printf 'snapshot\\n\\n'; printf en; sleep 0.05; printf 'able\\0dis'; "
		 "printf 'able\\n'; printf '%%0100d\\n' 0; echo \"\033[m\"; } > %s; sleep 0.1", in_dir("ctl"));
	ck_assert_int_eq(perfex("-C", "0", "-D", "-1", "--control", fifos("fifo:%s"), "-x,", "-e", "cycles",
				"sh", "-c", text), 0);
	has(err, "perfex: --control got 'snapshot', and knows enable, disable and ping only\n");
	has(err, "perfex: --control got '000000000000000000000000000000000000000000000000000000000000000', and");
	has(err, "perfex: --control got '?[m', and");
	has(err, "\n1000,,cycles,");
}
END_TEST

/* Descriptors that perfex has inherited.  At the end of a pipe there are no more commands. */
START_TEST(descriptors)
{
	int ctl[2], ack[2];
	char text[64], got[16] = "";
	pid_t pid;

	ck_assert_int_eq(pipe(ctl), 0);
	ck_assert_int_eq(pipe(ack), 0);
	ck_assert_int_eq(write(ctl[1], "enable\n", 7), 7);
	close(ctl[1]);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		redirect("out", STDOUT_FILENO);
		redirect("err", STDERR_FILENO);
		snprintf(text, sizeof(text), "fd:%d,%d", ctl[0], ack[1]);
		exit(perfex_main(10, ARGV("-C", "0", "-D", "-1", "--control", text, "-x,", "-ecycles", "sleep", "0.2")));
	}
	ck_assert_int_eq(finish(pid), 0);
	ck_assert_int_eq(strncmp(err, "1000,,cycles,", 13), 0);
	ck_assert_int_eq(read(ack[0], got, sizeof(got) - 1), 4);
	ck_assert_str_eq(got, "ack\n");
}
END_TEST

static const struct {
	char *args[6];
	const char *message;
} refused[] = {
	{ { "-D", "x" }, "'x' is not a number of milliseconds, nor -1" },
	{ { "-D", "-2" }, "'-2' is not a number of milliseconds, nor -1" },
	{ { "-D", "99999999999" }, "is not a number of milliseconds" },
	{ { "-D", "-1" }, "-D -1 waits for a command of --control" },
	{ { "-D", "5", "-r", "2" }, "-D and --control cannot be combined with -r" },
	{ { "-D", "5", "--runs=auto" }, "-D and --control cannot be combined with -r" },
	{ { "-D", "5", "-a", "--prometheus=x" }, "-D and --control cannot be combined with --prometheus" },
	{ { "-D", "5", "--sample", "-o", "/dev/null" }, "there is no -D, which perf record has" },
	{ { "--wait=1", "-i" }, "perfex info has no --wait, which is an option of perfex stat, perfex top" },
	{ { "--wait=x" }, "'x' is not a number of seconds" },
	{ { "--control=x" }, "'x' names no control: --control is fifo:FILE[,FILE] or fd:N[,N]" },
	{ { "--control=fifo:" }, "names no control" },
	{ { "--control=fd:x" }, "names no control" },
	{ { "--control=fd:1,x" }, "names no control" },
	{ { "--control=fd:77" }, "a descriptor of --control=fd:77 is not open" },
	{ { "--control=fd:1,77" }, "a descriptor of --control=fd:1,77 is not open" },
	{ { "--control=fifo:/no/such" }, "cannot open '/no/such' of --control: No such file or directory (mkfifo makes it)" },
	{ { "--control=fifo:/dev/null" }, "'/dev/null' of --control is no fifo" },
};

START_TEST(refusals)
{
	char *argv[10] = { "perfex", "-ecycles" };
	unsigned int n;

	for (n = 0; n < 6 && refused[_i].args[n]; n++)
		argv[2 + n] = refused[_i].args[n];
	if (!strcmp(argv[1 + n], "-i"))
		argv[1] = "-v";
	else
		argv[2 + n] = "true";
	ck_assert_int_eq(finish(start(argv)), 125);
	is_message(refused[_i].message);
}
END_TEST

/* Counters that are busy at first: of a command, in series, of CPUs, and of a process. */
START_TEST(waiting)
{
	char pid[16];
	pid_t target;

	fake.busy_tries = 3;
	ck_assert_int_eq(perfex("--wait=60", "-x,", "-e", "cycles", "sh", "-c", "echo ran"), 0);
	ck_assert_str_eq(out, "ran\n");
	ck_assert_int_eq(strncmp(err, "1000000,,cycles,", 16), 0);
	ck_assert_uint_eq(fake_seen->tries, 4);
	fake_seen->tries = 0;
	ck_assert_int_eq(perfex("--wait=60", "-r", "2", "-e", "cycles", "sh", "-c", "echo ran"), 0);
	ck_assert_str_eq(out, "ran\nran\n");
	ck_assert_uint_eq(fake_seen->tries, 5);
	fake_seen->tries = 0;
	ck_assert_int_eq(perfex("--wait=60", "-C", "0", "-x,", "-e", "cycles", "true"), 0);
	ck_assert_int_eq(strncmp(err, "1000,,cycles,", 13), 0);
	/* The command has no signal blocked, as without --wait. */
	fake_seen->tries = 0;
	ck_assert_int_eq(perfex("--wait=60", "-C", "0", "-e", "cycles", "grep", "^SigBlk", "/proc/self/status"), 0);
	has(out, "SigBlk:\t0000000000000000\n");
	fake_seen->tries = 0;
	ck_assert_int_eq(perfex("--wait=60", "-e", "cycles", "grep", "^SigBlk", "/proc/self/status"), 0);
	has(out, "SigBlk:\t0000000000000000\n");
	fflush(NULL);
	target = fork();
	if (!target) {
		pause();
		_exit(0);
	}
	snprintf(pid, sizeof(pid), "%d", (int)target);
	fake_seen->tries = 0;
	ck_assert_int_eq(perfex("--wait=60", "-p", pid, "-e", "cycles", "grep", "^SigBlk", "/proc/self/status"), 0);
	has(out, "SigBlk:\t0000000000000000\n");
	has(err, "  cycles\n");
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
}
END_TEST

START_TEST(waiting_in_vain)
{
	pid_t pid;

	fake.fail[FAKE_CONTROL] = EBUSY;
	ck_assert_int_eq(perfex("--wait=0.2", "-e", "cycles", "sh", "-c", "echo ran"), 125);
	is_message("(perfex has waited for 0.2 seconds)");
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	has_not(err, "has waited");
	/* Another error is not waited for. */
	fake.fail[FAKE_CONTROL] = EIO;
	ck_assert_int_eq(perfex("--wait=60", "-e", "cycles", "true"), 125);
	has_not(err, "has waited");
	/* A signal ends the waiting. */
	fake.fail[FAKE_CONTROL] = EBUSY;
	fake_seen->opens = 0;
	pid = start(ARGV("--wait=600", "-e", "cycles", "true"));
	while (fake_seen->opens < 3)
		usleep(1000);
	kill(pid, SIGTERM);
	ck_assert_int_eq(finish(pid), 125);
	is_message("a signal ended the waiting for the counters: ");
	/* On a terminal, perfex says why nothing happens. */
	setenv("TERM", "vt100", 1);
	ck_assert_int_eq(perfex_on_terminal(ARGV("--wait=0.2", "-e", "cycles", "true")), 125);
	has(out, "perfex: waiting: ");
	/* The gate is not closed a second time, nor a fifo opened. */
	ck_assert_int_eq(perfex("--wait=0.2", "-D", "5", "-e", "cycles", "true"), 125);
	is_message("has waited for 0.2");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perfex-gate");
	TCase *t = tcase_create("gate");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, delay);
	tcase_add_loop_test(t, delay_unread, 0, 2);
	tcase_add_test(t, delay_of_parts);
	tcase_add_test(t, commands);
	tcase_add_test(t, other_commands);
	tcase_add_test(t, descriptors);
	tcase_add_loop_test(t, refusals, 0, (int)ARRAY_SIZE(refused));
	tcase_add_test(t, waiting);
	tcase_add_test(t, waiting_in_vain);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
