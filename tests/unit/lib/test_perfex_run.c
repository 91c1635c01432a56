// SPDX-License-Identifier: GPL-2.0
/* All of perfex: it runs commands, which the fake kernel "counts". */
#include <check.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "perfex-command.h"
#include "perfex.h"

/* ---- counting ------------------------------------------------------------------ */

START_TEST(count_command)
{
	ck_assert_int_eq(perfex("-e", "instructions:u,branches", "-e", "cycles", "--",
				"sh", "-c", "echo hello; echo there >&2"), 0);
	ck_assert_str_eq(out, "hello\n");
	has(err, "there\n");
	has(err, " Counts of 'sh -c echo hello; echo there >&2' (");
	/* Each event has its own sum, in the order of the events. */
	has(err, "           1,000,000  instructions:u\n");
	has(err, "           1,000,001  branches\n");
	has(err, "           1,000,002  cycles\n");
	has(err, "         0.001500000  seconds thread time");
}
END_TEST

START_TEST(default_events)
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

/* Software events, alone and among others, in one run and in several. */
START_TEST(software_events)
{
	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("-e", "page-faults,branches,task-clock,context-switches", "-e", "cycles,cpu-migrations", "true"), 0);
	has(err, "           4,000,007  page-faults\n"
		 "           1,000,000  branches\n"
		 "            2.000000  msec task-clock       # ");
	has(err, "           2,000,001  context-switches\n"
		 "           1,000,001  cycles\n"
		 "           2,000,002  cpu-migrations\n");
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_uint_eq(fake_seen->control.soft, 0x1f);

	fake.children = 10;
	ck_assert_int_eq(perfex("-v", "-x,", "-r", "2", "-e", "cs,minor-faults", "true"), 0);
	has(err, "perfex: cs: counted by the kernel\n");
	has(err, "2000012,,cs,0.00%,");
	has(err, "2000016,,minor-faults,0.00%,");
	fake.children = 0;
	ck_assert_int_eq(perfex("--runs=auto", "-e", "cs,r010e,r0151,r0185,r0187,r0149,faults", "true"), 0);
	has(err, "           2,000,001  cs\n");
	has(err, "           1,000,000  r0149\n");
	has(err, "           4,000,007  faults\n");

	/* By default, with counters and without. */
	ck_assert_int_eq(perfex("true"), 0);
	has(err, " msec task-clock ");
	has(err, "  instructions          # 1.00 per cycle\n");
	fake.info.nrctrs = 0;
	fake.info.pmc_mask = fake.info.fixed_mask = 0;
	fake.info.arch_events = 0;
	ck_assert_int_eq(perfex("true"), 0);
	has(err, " msec task-clock ");
	has(err, "           4,000,007  page-faults\n");
	has_not(err, "cycles");
	ck_assert_int_eq(perfex("-e", "cs", "true"), 0);
	has(err, "           2,000,001  cs\n");
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	is_message("there are no counters here");
	ck_assert_int_eq(perfex("--sample=cs=1000", "-o", (char *)in_dir("file"), "true"), 125);
}
END_TEST

/* An event that cannot be counted here has a row with the reason below, and others counts. */
START_TEST(refused_events)
{
	char text[4096];

	fake.info.soft = 0x1f;
	fake.info.features &= ~VPERFCTR_FEATURE_KERNEL;
	fake.info.arch_events &= ~VPERFCTR_EVENT_CACHE_MISSES;
	ck_assert_int_eq(perfex("-e", "cycles:k,instructions:u,cache-misses,cs,cycles:uk", "sh", "-c", "exit 3"), 3);
	has(err, "     <not permitted>  cycles:k\n"
		 "           1,000,000  instructions:u\n"
		 "     <not supported>  cache-misses\n"
		 "           2,000,001  cs\n"
		 "     <not permitted>  cycles:uk\n\n");
	has(err, "\n Not counted: cycles:k: kernel mode may be counted only with CAP_PERFMON");
	has(err, "\n Not counted: this processor cannot count 'cache-misses");
	ck_assert_uint_eq(fake_seen->control.nractrs, 1);

	/* For programs, the reasons are on standard error. */
	ck_assert_int_eq(perfex("-x,", "-o", (char *)in_dir("file"), "-e", "cache-misses,instructions:u,cycles:k", "true"), 0);
	slurp("file", text, sizeof(text));
	ck_assert_msg(!strncmp(text, "<not supported>,,cache-misses,0,100.00,,\n1000000,,instructions:u,", 64), "%s", text);
	ck_assert_msg(strstr(text, "\n<not permitted>,,cycles:k,0,100.00,,\n") != NULL, "%s", text);
	has(err, "perfex: this processor cannot count 'cache-misses");
	has(err, "perfex: cycles:k: kernel mode");
	ck_assert_int_eq(perfex("-j", "-r", "2", "-o", (char *)in_dir("file"), "-e", "cycles:k,instructions:u", "true"), 0);
	slurp("file", text, sizeof(text));
	ck_assert_msg(strstr(text, "{\"counter-value\" : \"<not permitted>\", \"unit\" : \"\", \"event\" : \"cycles:k\", "
			     "\"variance\" : 0.00, ") != NULL, "%s", text);

	/* One refuses all if asked for, and if no other one is left; all are named at once. */
	ck_assert_int_eq(perfex("--strict", "-e", "cycles:k,instructions:u,cache-misses", "true"), 125);
	is_message("; this processor cannot count");
	is_message("cycles:k: kernel mode");
	ck_assert_int_eq(perfex("-e", "cycles:k,cache-misses", "true"), 125);
	is_message("; this processor cannot count");
	ck_assert_int_eq(perfex("--strict", "-e", "instructions:u", "true"), 0);
	/* A name that is none is an error in any case, and so are events that do not fit. */
	ck_assert_int_eq(perfex("-e", "instructions:u,nonsense", "true"), 125);
	ck_assert_int_eq(perfex("-e", "instructions:u,r010e:u,r0151:u,r0185:u,r0187:u,r0149:u,cache-misses", "true"), 125);
}
END_TEST

START_TEST(output_file)
{
	char text[4096];

	ck_assert_int_eq(perfex("-o", (char *)in_dir("file"), "-v", "-e", "r01d1", "sh", "-c", "exit 5"), 5);
	ck_assert_str_eq(err, "perfex: r01d1: map 0x00000000 evntsel 0x004301d1\n");
	slurp("file", text, sizeof(text));
	has(text, "           1,000,000  r01d1\n");
	ck_assert_int_eq(perfex("-o", "/nonexistent/file", "true"), 125);
	is_message("cannot write to '/nonexistent/file': No such file");
	/* added to the end of the file, which may not exist */
	ck_assert_int_eq(perfex("-o", (char *)in_dir("file"), "--append", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_int_eq(perfex("-o", (char *)in_dir("new"), "--append", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "");
	slurp("file", text, sizeof(text));
	has(text, "           1,000,000  r01d1\n");
	has(text, "\n1000000,,cycles:u,");
	slurp("new", text, sizeof(text));
	ck_assert_int_eq(strncmp(text, "1000000,,cycles:u,", 18), 0);
	ck_assert_int_eq(perfex("--append", "true"), 125);
	is_message("--append is for -o");
	ck_assert_int_eq(perfex("--sample=cycles=1000", "-o", (char *)in_dir("new"), "--append", "true"), 125);
	is_message("perfex record has no --append, which is an option of perfex stat, perfex top");
}
END_TEST

START_TEST(output_descriptor)
{
	ck_assert_int_eq(perfex("--log-fd=1", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(strncmp(out, "1000000,,cycles:u,", 18), 0);
	/* The command has no other descriptor than before. */
	ck_assert_int_eq(perfex("--log-fd=2", "-e", "cycles:u", "ls", "/proc/self/fd"), 0);
	ck_assert_str_eq(out, "0\n1\n2\n3\n");
	ck_assert_int_eq(perfex("--log-fd", "77", "sh", "-c", "echo run"), 125);
	is_message("descriptor 77 (--log-fd) is not open");
	ck_assert_str_eq(out, "");
	ck_assert_int_eq(perfex("--log-fd=0", "true"), 125);
	is_message("descriptor 0 (--log-fd) is not open for writing");
	ck_assert_int_eq(perfex("--log-fd=x1", "true"), 125);
	is_message("'x1' is not the number of a descriptor: see perfex stat --help");
	ck_assert_int_eq(perfex("--log-fd=-1", "true"), 125);
	ck_assert_int_eq(perfex("--log-fd=99999999999", "true"), 125);
	ck_assert_int_eq(perfex("--log-fd=1", "-o", (char *)in_dir("file"), "true"), 125);
	is_message("either -o or --log-fd says where to print");
	ck_assert_int_eq(perfex("--log-fd=1", "--sample=cycles=1000", "true"), 125);
	is_message("perfex record has no --log-fd, which is an option of perfex stat, perfex top");
}
END_TEST

/* Return: the sum of the counts in lines of one event. */
static unsigned long sum_of(const char *text, const char *event, unsigned int *lines)
{
	unsigned long sum = 0, n;
	char name[64];
	double at, last = 0;

	for (*lines = 0; text && *text; (*lines)++) {
		ck_assert_msg(sscanf(text, "%lf,%lu,,%63[^,],", &at, &n, name) == 3, "%s", text);
		ck_assert_str_eq(name, event);
		ck_assert(at > last);
		last = at;
		sum += n;
		text = strchr(text, '\n') + 1;
	}
	return sum;
}

/* Return a shell command that waits until perfex has printed that many lines. */
static char *until_lines(unsigned int n)
{
	static char text[256];

	snprintf(text, sizeof(text), "while [ $(wc -l < %s) -lt %u ]; do sleep 0.02; done",
		 in_dir("err"), n);
	return text;
}

/* Counts that could not be written to the file are on standard error, before the reason. */
START_TEST(counts_are_not_lost)
{
	unsigned int lines;
	char command[256];
	char *message;
	pid_t reader;
	int fd;

	ck_assert_int_eq(perfex("-o", "/dev/full", "-e", "instructions:u", "true"), 125);
	has(err, "           1,000,000  instructions:u\n");
	has(err, "\n\nperfex: cannot write to '/dev/full': No space left on device; the counts are above, on standard error\n");
	/* The status is 125, whatever that of the command is. */
	ck_assert_int_eq(perfex("-o", "/dev/full", "-x", ",", "-e", "instructions:u", "sh", "-c", "exit 3"), 125);
	ck_assert_str_eq(err, "1000000,,instructions:u,1500000,100.00,,\n"
			      "perfex: cannot write to '/dev/full': No space left on device; the counts are above, on standard error\n");
	/* No interval is lost or printed twice. */
	ck_assert_int_eq(perfex("-o", "/dev/full", "-I", "50", "-x", ",", "-e", "cycles:u",
				"sh", "-c", until_lines(1)), 125);
	message = strstr(err, "perfex: cannot write to '/dev/full'");
	ck_assert_ptr_nonnull(message);
	*message = '\0';
	ck_assert_uint_eq(sum_of(err, "cycles:u", &lines), 1000000);
	ck_assert_uint_ge(lines, 2);
	/* The reason why counts are incomplete is printed, too. */
	fake.children_missed = 1;
	ck_assert_int_eq(perfex("-o", "/dev/full", "-e", "cycles", "true"), 125);
	has(err, "           1,000,000  cycles\n");
	has(err, "\nperfex: 1 thread is not, or not wholly, in these counts");
	has(err, "\nperfex: cannot write to '/dev/full'");
	fake.children_missed = 0;
	/* SIGPIPE does not end perfex when the reader has gone. */
	ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
	fflush(NULL);
	reader = fork();
	if (!reader) {
		fd = open(in_dir("fifo"), O_RDONLY);
		close(fd);
		close(open(in_dir("file"), O_WRONLY | O_CREAT, 0600));
		_exit(fd < 0);
	}
	snprintf(command, sizeof(command), "until [ -e %s ]; do sleep 0.02; done", in_dir("file"));
	ck_assert_int_eq(perfex("-o", (char *)in_dir("fifo"), "-e", "cycles", "sh", "-c", command), 125);
	has(err, "           1,000,000  cycles\n");
	has(err, "fifo': Broken pipe; the counts are above, on standard error\n");
	waitpid(reader, NULL, 0);
	unlink(in_dir("fifo"));
}
END_TEST

static const struct {
	int file;
	const char *with;
	char *args[5];
} unwritten[] = {
	{ 1, "/dev/full", { "perfex", "-i" } },
	{ 1, "/dev/full", { "perfex", "list" } },
	{ 1, "/dev/full", { "perfex", "record", "-qo-", "true" } },
	{ 1, "/dev/full", { "perfex", "--help" } },
	{ 1, "/dev/full", { "perfex", "--version" } },
	{ 1, NULL, { "perfex", "-i" } },
	{ 2, "/dev/full", { "perfex", "true" } },
	{ 2, "/dev/full", { "perfex", "-j", "true" } },
	{ 2, NULL, { "perfex", "true" } },
};

/* Output that a standard file refuses, or for which there is none, makes perfex fail. */
START_TEST(output_not_written)
{
	char *const *args = unwritten[_i].args;
	int argc = 0, fds[2] = { -1, -1 };
	pid_t pid;

	while (args[argc])
		argc++;
	if (unwritten[_i].file == 1)
		ck_assert_int_eq(pipe(fds), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(unwritten[_i].file);
		if (unwritten[_i].with && open(unwritten[_i].with, O_WRONLY) != unwritten[_i].file)
			_exit(99);
		if (fds[1] >= 0)
			dup2(fds[1], STDERR_FILENO);
		exit(perfex_main(argc, (char **)args));
	}
	if (fds[1] >= 0) {
		close(fds[1]);
		err[read(fds[0], err, sizeof(err) - 1)] = '\0';
		close(fds[0]);
		ck_assert_str_eq(err, unwritten[_i].with ?
				 "perfex: cannot write to standard output: No space left on device\n" :
				 "perfex: cannot write to standard output: Bad file descriptor\n");
	}
	ck_assert_int_eq(wait_for(pid), 125);
}
END_TEST

/* If perfex has no standard files, the command has none either. */
START_TEST(without_standard_files)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		char *args[] = { "perfex", "-o", (char *)in_dir("file"), "sh", "-c",
				 "for i in 0 1 2; do test ! -e /proc/$$/fd/$i || exit 9; done", NULL };

		close(0);
		close(1);
		close(2);
		exit(perfex_main(ARRAY_SIZE(args) - 1, args));
	}
	ck_assert_int_eq(wait_for(pid), 0);
	slurp("file", out, sizeof(out));
	has(out, "instructions");
}
END_TEST

/* ---- repeated, in intervals, for programs ------------------------------------------- */

/* --table: the time of each run, whose mean is that of all. */
START_TEST(table_of_runs)
{
	double seconds, difference, sum = 0, differences = 0, mean = 0;
	unsigned int n = 0;
	const char *p;

	ck_assert_int_eq(perfex("-r", "3", "--table", "-e", "cycles:u", "sleep", "0.02"), 0);
	ck_assert_ptr_nonnull(p = strstr(err, "  seconds elapsed"));
	while (p[-1] != '\n')
		p--;
	ck_assert_int_eq(sscanf(p, "%lf", &mean), 1);
	ck_assert_ptr_nonnull(p = strstr(err, "difference from the mean:\n\n"));
	for (p = strstr(p, "\n\n") + 2; sscanf(p, "%lf (%lf)\n", &seconds, &difference) == 2; n++) {
		ck_assert(seconds >= 0.02);
		sum += seconds;
		differences += difference;
		p = strchr(p, '\n') + 1;
	}
	ck_assert_uint_eq(n, 3);
	ck_assert_double_eq_tol(sum / n, mean, 2e-9);
	ck_assert_double_eq_tol(differences, 0, 4e-9);
	/* All runs that there are for the events. */
	ck_assert_int_eq(perfex("-r", "2", "--runs=auto", "--table", "-e", "r0149,r0249,r0349,r0449,r0549", "true"), 0);
	for (n = 0, p = strstr(err, "difference from"); (p = strstr(p, "  (")); p++)
		n++;
	ck_assert_uint_eq(n, 4);
}
END_TEST

START_TEST(repeated_runs)
{
	char command[256];

	snprintf(command, sizeof(command), "echo run >> %s", in_dir("file"));
	ck_assert_int_eq(perfex("-r", "5", "-e", "instructions:u", "sh", "-c", command), 0);
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "run\nrun\nrun\nrun\nrun\n");
	has(err, " (with its threads and children, user mode, mean of 5 runs):\n\n"
		 "           1,000,000  instructions:u        # 666.667 M/sec  ( +-  0.00% )\n");
	has(err, "  seconds elapsed                        ( +- ");
	ck_assert_uint_eq(fake_seen->controls, 5);
	/* There is no mean of one run. */
	ck_assert_int_eq(perfex("-r", "1", "-e", "instructions:u", "true"), 0);
	has_not(err, "mean");
	/* The status is the last one other than 0. */
	snprintf(command, sizeof(command), "test -e %s && exit 3; > %s; exit 4", in_dir("x"), in_dir("x"));
	ck_assert_int_eq(perfex("-r", "2", "-e", "instructions:u", "sh", "-c", command), 3);
	unlink(in_dir("x"));
	/* Any such status. */
	fake_seen->controls = 0;
	ck_assert_int_eq(perfex("-r", "3", "-e", "instructions:u", "sh", "-c", "exit 255"), 255);
	ck_assert_uint_eq(fake_seen->controls, 3);
	has(err, "mean of 3 runs");
	ck_assert_int_eq(perfex("--runs=auto", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u",
				"sh", "-c", "exit 130"), 130);
	has(err, "each from one of 2 runs");
	/* A run that a signal ended is the last. */
	fake_seen->controls = 0;
	ck_assert_int_eq(perfex("-r", "9", "sh", "-c", "kill -INT $$"), 128 + SIGINT);
	ck_assert_uint_eq(fake_seen->controls, 1);
	has(err, "\n A signal came in the first run: these are its counts, and no mean.\n");
	has_not(err, "mean of");
	has(err, "           1,000,000  instructions");
	/* So is a run in which perfex got a signal, even if the command ignored it. */
	unlink(in_dir("file"));
	snprintf(command, sizeof(command), "trap '' INT; kill -INT $PPID; sleep 0.1; echo run >> %s",
		 in_dir("file"));
	ck_assert_int_eq(perfex("-r", "9", "-e", "instructions:u", "sh", "-c", command), 0);
	has(err, "\n A signal came in the first run: these are its counts, and no mean.\n");
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "run\n");
	/* So is a run that could not be counted. */
	fake.children_missed = 1;
	fake_seen->controls = 0;
	ck_assert_int_eq(perfex("-r", "9", "-e", "instructions:u", "true"), 125);
	ck_assert_uint_eq(fake_seen->controls, 1);
	has_not(err, "mean");
	fake.children_missed = 0;
	ck_assert_int_eq(perfex("-r", "9", "no-such-command-at-all"), 127);
	is_message("there is no command");
}
END_TEST

/* A signal ends the third run: the mean is that of the two runs before. */
START_TEST(cut_run_is_left_out)
{
	char command[256];

	snprintf(command, sizeof(command), "echo run >> %s; test $(wc -l < %s) -lt 3 || kill -TERM $$",
		 in_dir("file"), in_dir("file"));
	ck_assert_int_eq(perfex("-r", "9", "-e", "instructions:u", "sh", "-c", command), 128 + SIGTERM);
	has(err, ", mean of 2 runs):");
	has(err, "\n The last run is left out of the mean: a signal may have cut it short.\n");
	ck_assert_uint_eq(fake_seen->controls, 3);
	/* In output for programs, the remark is on standard error. */
	unlink(in_dir("file"));
	ck_assert_int_eq(perfex("-r", "9", "-x", ",", "-e", "instructions:u", "sh", "-c", command), 128 + SIGTERM);
	ck_assert_str_eq(err, "1000000,,instructions:u,0.00%,1500000,100.00,,\n"
			      "perfex: The last run is left out of the mean: a signal may have cut it short\n");
	/* A signal in the last of the runs that were asked for. */
	unlink(in_dir("file"));
	ck_assert_int_eq(perfex("-r", "3", "-e", "instructions:u", "sh", "-c", command), 128 + SIGTERM);
	has(err, ", mean of 2 runs):");
	/* One run has no deviation. */
	write_text("file", "run\n");
	ck_assert_int_eq(perfex("-r", "9", "-e", "instructions:u", "sh", "-c", command), 128 + SIGTERM);
	has(err, ", one run):");
	has(err, "\n The last run is left out of the mean: a signal may have cut it short.\n");
	has_not(err, "+-");
	write_text("file", "run\n");
	ck_assert_int_eq(perfex("-r", "9", "-x", ",", "-e", "instructions:u", "sh", "-c", command), 128 + SIGTERM);
	ck_assert_str_eq(err, "1000000,,instructions:u,1500000,100.00,,\n"
			      "perfex: The last run is left out of the mean: a signal may have cut it short\n");
	ck_assert_int_eq(perfex("-r1", "-e", "instructions:u", "true"), 0);
	has_not(err, "+-");
	/* If a group of events has no complete run, no counts are shown. */
	unlink(in_dir("file"));
	ck_assert_int_eq(perfex("--runs=auto", "-r", "2", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u",
				"sh", "-c", command), 125);
	has(err, "\nperfex: a signal ended this before all events were counted\n");
	unlink(in_dir("file"));
	snprintf(command, sizeof(command), "echo run >> %s; test $(wc -l < %s) -lt 4 || kill -TERM $$",
		 in_dir("file"), in_dir("file"));
	ck_assert_int_eq(perfex("--runs=auto", "-r", "2", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u",
				"sh", "-c", command), 128 + SIGTERM);
	has(err, ", each the mean of 1 or more runs):");
	/* The same in the only run of the last group. */
	unlink(in_dir("file"));
	snprintf(command, sizeof(command), "echo run >> %s; test $(wc -l < %s) -lt 2 || kill -TERM $$",
		 in_dir("file"), in_dir("file"));
	ck_assert_int_eq(perfex("--runs=auto", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u",
				"sh", "-c", command), 125);
	has(err, "\nperfex: a signal ended this before all events were counted\n");
}
END_TEST

START_TEST(runs_auto)
{
	char command[256];

	ck_assert_int_eq(perfex("-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u", "true"), 125);
	is_message("no room for r0149:u");
	snprintf(command, sizeof(command), "echo run >> %s", in_dir("file"));
	ck_assert_int_eq(perfex("--runs", "auto", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u,r0108:u",
				"sh", "-c", command), 0);
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "run\nrun\n");
	has(err, ", user mode, each from one of 2 runs):\n\n"
		 "           1,000,000  r010e:u\n"
		 "           1,000,001  r0151:u\n"
		 "           1,000,002  r0185:u\n"
		 "           1,000,003  r0187:u\n"
		 "           1,000,000  r0149:u\n"
		 "           1,000,001  r0108:u\n"
		 "\n"
		 "         0.001500000  seconds thread time\n");
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_uint_eq(fake_seen->ctr[1].evntsel, 0x410108);
	/* Events that fit are counted in one run. */
	ck_assert_int_eq(perfex("--runs", "auto", "-e", "cycles", "true"), 0);
	has_not(err, "runs)");
	/* Counts of different runs have no ratio. */
	ck_assert_int_eq(perfex("--runs=auto", "-r", "3", "-e",
				"branches:u,r0151:u,r0185:u,r0187:u,branch-misses:u", "true"), 0);
	has(err, "each the mean of 3 out of 6 runs):");
	has(err, "           1,000,000  branch-misses:u         ( +-  0.00% )\n");
	has_not(err, "of branches");
	/* No counts are shown if some are missing. */
	ck_assert_int_eq(perfex("--runs", "auto", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u",
				"sh", "-c", "kill -TERM $$"), 125);
	has(err, "<not counted>  r010e:u\n");
	has(err, "\nperfex: a signal ended this before all events were counted\n");
	ck_assert_int_eq(perfex("--runs", "auto", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u",
				"sh", "-c", "trap '' INT; kill -INT $PPID; sleep 0.1"), 125);
	has(err, "\nperfex: a signal ended this before all events were counted\n");
	fake.children_missed = 1;
	ck_assert_int_eq(perfex("--runs", "auto", "-e", "r010e:u,r0151:u,r0185:u,r0187:u,r0149:u", "true"), 125);
	has(err, "<not counted>  r010e:u\n");
	ck_assert_int_eq(perfex("--runs", "2", "true"), 125);
	is_message("--runs is 'auto', not '2'");
	ck_assert_int_eq(perfex("--runs", "auto", "-p", "1"), 125);
	is_message("-r and --runs are for a command");
}
END_TEST

/* Return how many intervals there may be until the time of the last line, and the rest. */
static unsigned int most_intervals(double seconds)
{
	char *last = err + strlen(err);

	if (last > err)
		last--;
	while (last > err && last[-1] != '\n')
		last--;
	return (unsigned int)(atof(last) / seconds) + 1;
}

START_TEST(interval_output)
{
	unsigned int lines;
	char command[256];

	fake.children = 500;
	snprintf(command, sizeof(command), "%s; exit 6", until_lines(4));
	ck_assert_int_eq(perfex("-I", "50", "-x", ",", "-e", "cycles:u", "sh", "-c", command), 6);
	ck_assert_uint_eq(sum_of(err, "cycles:u", &lines), 1000500);
	ck_assert_msg(lines >= 4 && lines <= most_intervals(0.05), "%u intervals", lines);
	/* The last interval is shorter. */
	ck_assert_int_eq(perfex("-I", "60000", "-x", ",", "-e", "cycles:u", "true"), 0);
	ck_assert_uint_eq(sum_of(err, "cycles:u", &lines), 1000500);
	ck_assert_uint_eq(lines, 1);
	ck_assert_int_eq(perfex("-I", "60000", "-e", "cycles:u", "true"), 0);
	ck_assert_int_eq(strspn(err, "# "), 12);
	has(err, "#           time              counts  events\n     ");
	has(err, "           1,000,500  cycles:u\n");
	has_not(err, "Counts of");
	/* With the sums. */
	ck_assert_int_eq(perfex("-I", "60000", "--summary", "-e", "cycles:u", "true"), 0);
	ck_assert_int_eq(strspn(err, "# "), 12);
	ck_assert_ptr_nonnull(strstr(strstr(err, "  1,000,500  cycles:u\n"), "\n Counts of 'true' ("));
	ck_assert_ptr_nonnull(strstr(strstr(err, "Counts of"), "\n           1,000,500  cycles:u"));
	ck_assert_int_eq(perfex("-I", "60000", "--summary", "-x,", "-e", "cycles:u", "true"), 0);
	has(err, "\nsummary,1000500,,cycles:u,");
	ck_assert_int_eq(perfex("-I", "60000", "--summary", "--no-csv-summary", "-x,", "-e", "cycles:u", "true"), 0);
	has(err, "\n1000500,,cycles:u,");
	ck_assert_int_eq(perfex("-I", "60000", "--summary", "-j", "-e", "cycles:u", "true"), 0);
	has(err, "\n{\"counter-value\" : \"1000500.000000\"");
	/* Incomplete counts are reported at the end. */
	fake.children_missed = 1;
	ck_assert_int_eq(perfex("-I", "60000", "-e", "cycles:u", "true"), 125);
	has(err, "These counts are not complete");
	/* Counts of another control are not shown. */
	fake.children_missed = 0;
	fake.replaced = true;
	ck_assert_int_eq(perfex("-I", "20", "-x", ",", "-e", "cycles:u", "sleep", "0.2"), 125);
	ck_assert_msg(!strncmp(err, "<not counted>,,cycles:u,", 24), "%s", err);
}
END_TEST

/* Output has colours on a terminal, but not in a pipe, or if the environment forbids them. */
START_TEST(colours_on_a_terminal)
{
	static const struct {
		const char *term, *no_color;
		bool colours;
	} cases[] = {
		{ "xterm", NULL, true }, { "xterm", "", true }, { "xterm", "1", false },
		{ "dumb", NULL, false }, { NULL, NULL, false },
	};

	unsetenv("TERM");
	unsetenv("NO_COLOR");
	if (cases[_i].term)
		setenv("TERM", cases[_i].term, 1);
	if (cases[_i].no_color)
		setenv("NO_COLOR", cases[_i].no_color, 1);
	ck_assert_int_eq(perfex_on_terminal(ARGV("-e", "instructions:u,cycles:u", "true")), 0);
	if (cases[_i].colours)
		has(out, "\033[1m           1,000,000\033[m  instructions:u      \033[2m  # 1.00 per cycle\033[m\r\n");
	else
		has(out, "           1,000,000  instructions:u        # 1.00 per cycle\r\n");
	if (!cases[_i].colours)
		has_not(out, "\033");
	ck_assert_int_eq(perfex_on_terminal(ARGV("list", "LONGEST_LAT_CACHE:MISS")), 0);
	if (cases[_i].colours)
		has(out, "\033[1mLONGEST_LAT_CACHE:MISS                  \033[m  general 0-3\r\n");
	else
		has(out, "LONGEST_LAT_CACHE:MISS                    general 0-3");
	/* Output for programs, a pipe or a file has no colours. */
	ck_assert_int_eq(perfex_on_terminal(ARGV("-x", ",", "-e", "instructions:u", "true")), 0);
	ck_assert_str_eq(out, "1000000,,instructions:u,1500000,100.00,,\r\n");
	ck_assert_int_eq(perfex_on_terminal(ARGV("-e", "cycles:u", "-o", (char *)in_dir("file"), "true")), 0);
	ck_assert_str_eq(out, "");
	slurp("file", out, sizeof(out));
	has(out, "           1,000,000  cycles:u\n");
	has_not(out, "\033");
	ck_assert_int_eq(perfex("-e", "instructions:u,cycles:u", "true"), 0);
	has(err, "           1,000,000  instructions:u        # 1.00 per cycle\n");
	has_not(err, "\033");
}
END_TEST

/* A long event name moves the columns after it in all lines. */
START_TEST(aligned_columns)
{
	/* The third of them has remarks in some lines. */
	static char *const events[] = {
		"cycles:u,OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE:u", "cycles:u,branches:u",
		"cycles:u,instructions:u,branches:u,branch-misses:u",
	};
	long column = 0, lines = 0;
	char *line, *deviation;

	ck_assert_int_eq(perfex("-r", "2", "-e", events[_i], "true"), 0);
	for (line = strtok(err, "\n"); line; line = strtok(NULL, "\n")) {
		deviation = strstr(line, "( +- ");
		if (!deviation)
			continue;
		/* Counts end in one column, and names begin in one. */
		ck_assert_msg(line[19] != ' ' && !strncmp(line + 20, "  ", 2) && line[22] != ' ', "%s",
			      line);
		ck_assert_msg(!lines++ || deviation - line == column, "%s", line);
		column = deviation - line;
	}
	ck_assert_int_eq(lines, _i == 2 ? 6 : 4);
}
END_TEST

/*
 * The line is shown only on a terminal that can erase it, and only if the runs are long.
 * It is erased before the result.
 */
START_TEST(progress_line)
{
	char **argv = ARGV("-r", "3", "-e", "cycles:u", "sleep", "1.1"), *after;
	int tries = 0;

	unsetenv("NO_COLOR");
	setenv("TERM", _i ? "dumb" : "xterm", 1);
	ck_assert_int_eq(perfex_on_terminal(argv), 0);
	if (_i) {
		has_not(out, "of 3 runs\033");
		has_not(out, "\033");
		return;
	}
	/* A slow machine takes two seconds for the first run. */
	after = strncmp(out, "  1 of 3 runs\033[K\r", 17) ? out : out + 17;
	ck_assert_msg(strstr(after, "  2 of 3 runs\033[K\r\033[K\r\n Counts of") == after, "%s", out);
	/* And for all of these. */
	do {
		time_t began = time(NULL);

		ck_assert_int_eq(perfex_on_terminal(ARGV("-r", "3", "-e", "cycles:u", "true")), 0);
		if (time(NULL) - began < 2)
			break;
	} while (++tries < 10);
	has_not(out, "of 3 runs\033");
	has_not(out, "\033[K");
	/* Nor is it shown if a run fails, or in a pipe. */
	ck_assert_int_eq(finish(start(argv)), 0);
	has_not(err, "of 3 runs\033");
	has_not(err, "\r");
}
END_TEST

START_TEST(csv_and_json)
{
	ck_assert_int_eq(perfex("-x", ";", "-e", "instructions:u,branches:u", "true"), 0);
	ck_assert_str_eq(err, "1000000;;instructions:u;1500000;100.00;;\n"
			      "1000001;;branches:u;1500000;100.00;;\n");
	ck_assert_int_eq(perfex("-x", "\\t", "-e", "instructions:u", "-o", (char *)in_dir("file"), "true"), 0);
	slurp("file", out, sizeof(out));
	ck_assert_str_eq(out, "1000000\t\tinstructions:u\t1500000\t100.00\t\t\n");
	ck_assert_int_eq(perfex("-j", "-e", "instructions:u", "true"), 0);
	ck_assert_str_eq(err, "{\"counter-value\" : \"1000000.000000\", \"unit\" : \"\", "
			      "\"event\" : \"instructions:u\", \"event-runtime\" : 1500000, "
			      "\"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, \"metric-unit\" : \"\"}\n");
	fake.exec_uncounted = true;
	ck_assert_int_eq(perfex("-x", ",", "-e", "instructions:u", "true"), 125);
	ck_assert_str_eq(err, "<not counted>,,instructions:u,0,100.00,,\n"
			      "perfex: the command was not counted\n");
}
END_TEST

START_TEST(bad_numbers)
{
	static char *const bad[] = { "", "0", "-1", "+1", " 1", "x", "1x", "1.5", "99999999999999999999" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(perfex("-r", bad[i], "true"), 125);
		is_message("is not a number of runs, from 1 to 1000000");
		ck_assert_int_eq(perfex("-I", bad[i], "true"), 125);
		is_message("is not a number of milliseconds");
	}
	ck_assert_int_eq(perfex("-x", "", "true"), 125);
	is_message("separator for -x is empty");
	ck_assert_int_eq(perfex("-r", "2", "-I", "5", "true"), 125);
	is_message("-I goes neither with -r nor with --runs");
	ck_assert_int_eq(perfex("-r", "2", "-p", "1"), 125);
	is_message("-r and --runs are for a command");
	ck_assert_int_eq(perfex("--per-thread", "true"), 125);
	is_message("--per-thread is for -p and -t");
}
END_TEST

/* ---- exit status --------------------------------------------------------------- */

START_TEST(exit_status)
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

START_TEST(command_cannot_run)
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

/* A processor's counters are named if their number is known. */
START_TEST(too_many_events)
{
	char list[512] = "cycles";
	unsigned int i;

	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		strcat(list, ",cycles");
	fake.info.nrctrs = 7;
	ck_assert_int_eq(perfex("-e", list, "true"), 125);
	is_message("too many events: 32 at most, and this processor has 7 counters\n");
	/* perf_event's, which are all that there can be */
	fake.info.nrctrs = VPERFCTR_MAX_CTRS;
	ck_assert_int_eq(perfex("-e", list, "true"), 125);
	is_message("too many events: 32 at most\n");
}
END_TEST

START_TEST(option_misuse)
{
	ck_assert_int_eq(finish(start((char *[]){ "perfex", NULL })), 125);
	is_message("no command");
	ck_assert_int_eq(perfex("--"), 125);
	is_message("no command");
	ck_assert_int_eq(perfex("-vz", "true"), 125);
	is_message("unknown option -z");
	ck_assert_int_eq(perfex("-G", "true"), 125);
	is_message("there is no -G, which perf stat has: -p $(paste -sd, ");
	ck_assert_int_eq(perfex("-c", "true"), 125);
	is_message("there is no -c, which perf stat has: counts are never scaled");
	ck_assert_int_eq(perfex("--interval-count=3", "-I", "10", "true"), 125);
	is_message("there is no --interval-count, which perf stat has: -I prints until the end");
	ck_assert_int_eq(perfex("--quiet", "true"), 125);
	is_message("there is no --quiet, which perf stat has: -o /dev/null drops the counts");
	ck_assert_int_eq(perfex("--table", "true"), 125);
	is_message("--table is for -r");
	ck_assert_int_eq(perfex("-i", "true"), 125);
	is_message("perfex info (-i) shows the counters, and runs no command (perf stat's -i is perfex stat -i or --no-inherit)");
	ck_assert_int_eq(perfex("--nonsense", "true"), 125);
	is_message("unknown option '--nonsense'");
	ck_assert_int_eq(perfex("-e"), 125);
	is_message("-e needs an argument");
	ck_assert_int_eq(perfex("-e", "nonsense-event", "true"), 125);
	is_message("unknown event 'nonsense-event'");
	/* perfex leaves the options of the command alone. */
	ck_assert_int_eq(perfex("sh", "-e", "-c", "exit 4"), 4);
	ck_assert_int_eq(perfex("--", "sh", "-e", "-c", "exit 4"), 4);
}
END_TEST

/* No line has more than 80 columns; there are no tabs. */
static void fits_terminal(const char *text)
{
	const char *line = text;

	has_not(text, "\t");
	for (; *line; line += strcspn(line, "\n"), line += *line == '\n')
		ck_assert_msg(strcspn(line, "\n") <= 80, "%zu columns: %.*s", strcspn(line, "\n"),
			      (int)strcspn(line, "\n"), line);
}

/* The example that perfex list --help gives is an event of the processor at hand. */
static void help_example(uint32_t cpu_type, const char *pmu)
{
	char example[64], *at;

	fake.info.cpu_type = cpu_type;
	setenv("LIBPFM_FORCE_PMU", pmu, 1);
	ck_assert_int_eq(perfex("list", "--help"), 0);
	fits_terminal(out);
	at = strstr(out, "libpfm4's  as in ");
	ck_assert_msg(at && sscanf(at, "libpfm4's  as in %60[^\n]", example) == 1, "%s", out);
	ck_assert_int_eq(perfex("-e", example, "true"), 0);
	has(err, example);
}

START_TEST(help_examples_can_be_counted)
{
	help_example(fake.info.cpu_type, "skl");
	help_example(VPERFCTR_CPU_AMD, "amd64_fam17h_zen2");
	has_not(out, "LONGEST_LAT_CACHE");
	/* Without a module, or without libpfm4's events, there is a form and no example. */
	setenv("LIBPFM_FORCE_PMU", "no-such-processor", 1);
	ck_assert_int_eq(perfex("list", "--help"), 0);
	has(out, "libpfm4's  EVENT:UMASK\n             (perfex list shows");
	fake.fail[FAKE_DEVICE] = ENOENT;
	ck_assert_int_eq(perfex("list", "--help"), 0);
	has(out, "libpfm4's  EVENT:UMASK\n             (perfex list shows");
	ck_assert_str_eq(err, "");
}
END_TEST

/* The checks themselves need a kernel: see the guest test. */
START_TEST(options_of_self_test)
{
	ck_assert_int_eq(perfex("--self-test=help"), 0);
	has(out, "\nlog          the kernel's log has no complaint\n");
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(perfex("--self-test=each,nothing"), 125);
	is_message("there is no check 'nothing': 'perfex self-test help' lists them");
	ck_assert_int_eq(perfex("--self-test="), 125);
	is_message("there is no check ''");
	ck_assert_int_eq(perfex("--self-test", "true"), 125);
	is_message("there is no check 'true'");
	ck_assert_int_eq(perfex("--self-test", "-e", "cycles"), 125);
	is_message("perfex self-test has no -e, which is an option of perfex stat, perfex record");
	ck_assert_int_eq(perfex("--self-test", "-x", ","), 125);
	is_message("perfex self-test has no -x");
	ck_assert_int_eq(perfex("--self-test", "--report=/nonexistent/report"), 125);
	is_message("cannot write to '/nonexistent/report': No such file or directory");
	fake.fail[FAKE_DEVICE] = ENOENT;
	ck_assert_int_eq(perfex("--self-test"), 125);
	is_message("there is no /dev/vperfctr: load the module");
}
END_TEST

static const struct {
	char *event;
	const char *message;
} other_units[] = {
	{ "power/energy-pkg/", "'power/energy-pkg/' is energy (RAPL), which no counter of a core counts: use 'perf stat -a -e power/energy-pkg/', or turbostat" },
	{ "rapl::RAPL_ENERGY_PKG", "is energy (RAPL)" },
	{ "RAPL_ENERGY_DRAM:u", "is energy (RAPL)" },
	{ "cstate_core/c6-residency/", "use 'perf stat -a -e cstate_core/c6-residency/', or turbostat" },
	{ "uncore_imc_0/cas_count_read/", "'uncore_imc_0/cas_count_read/' is an event of the uncore, which the cores share" },
	{ "UNC_M_CAS_COUNT:RD", "is an event of the uncore" },
	{ "skx_unc_imc0::UNC_M_CAS_COUNT:RD", "is an event of the uncore" },
	{ "amd_l3/event=0x04/", "is an event of the uncore" },
};

START_TEST(events_of_other_units)
{
	ck_assert_int_eq(perfex("-e", other_units[_i].event, "true"), 125);
	is_message(other_units[_i].message);
}
END_TEST

START_TEST(subcommands_of_perf)
{
	char named[80];

	setenv("PATH", "/bin:/usr/bin", 1);
	ck_assert_int_eq(perfex("evlist", "-i", "x"), 125);
	is_message("'evlist' is a command of perf, and not of perfex: perfex report shows the events of a file");
	ck_assert_str_eq(out, "");
	/* A directory is no program. */
	snprintf(named, sizeof(named), "%s/evlist", dir);
	ck_assert_int_eq(mkdir(named, 0755), 0);
	setenv("PATH", dir, 1);
	ck_assert_int_eq(perfex("evlist", "-i", "x"), 125);
	is_message("'evlist' is a command of perf, and not of perfex: ");
	rmdir(named);
	setenv("PATH", "/bin:/usr/bin", 1);
	/* Programs that have the names of commands can be counted. */
	ck_assert_int_eq(perfex("-e", "cycles", "--", "stat", "-c", "%F", "/"), 0);
	ck_assert_str_eq(out, "directory\n");
	ck_assert_int_eq(perfex("-e", "cycles", "env", "stat", "-c", "%F", "/"), 0);
	ck_assert_str_eq(out, "directory\n");
	ck_assert_int_eq(perfex("stat", "stat", "-c", "%F", "/"), 0);
	ck_assert_str_eq(out, "directory\n");
	ck_assert_int_eq(perfex("stat", "--", "stat", "-c", "%F", "/"), 0);
	ck_assert_str_eq(out, "directory\n");
}
END_TEST

START_TEST(help_version_info)
{
	ck_assert_int_eq(perfex("--help"), 0);
	has(out, "Usage: perfex");
	has(out, "\n  record      take samples");
	ck_assert_str_eq(err, "");
	fits_terminal(out);
	ck_assert_int_eq(perfex("-V"), 0);
	ck_assert_str_eq(out, "perfex " VPERFCTR_VERSION "\n");
	ck_assert_int_eq(perfex("-i"), 0);
	has(out, "processor       Fake");
	fake.fail[FAKE_DEVICE] = ENOENT;
	ck_assert_int_eq(perfex("-i"), 125);
	is_message("modprobe");
}
END_TEST

START_TEST(list_of_events)
{
	/* A part of the list: the buffer has no room for all. */
	ck_assert_int_eq(perfex("list", "retired"), 0);
	ck_assert_str_eq(err, "");
	has(out, "instructions                              fixed 0, general 0-3\n    instructions retired\n");
	has(out, "\nMEM_LOAD_RETIRED:L1_HIT                   general 0-3\n    ");
	has_not(out, "\033");
	has_not(out, "LONGEST_LAT_CACHE");
	fits_terminal(out);
	/* Words are also searched in names, and case does not matter. */
	ck_assert_int_eq(perfex("list", "longest_LAT"), 0);
	has(out, "LONGEST_LAT_CACHE:MISS ");
	has_not(out, "instructions ");
	/* Long descriptions and names. */
	ck_assert_int_eq(perfex("list", "offcore_response_0:"), 0);
	has(out, "OFFCORE_RESPONSE_0:");
	fits_terminal(out);
	/* Each of several words must be in name or description. */
	ck_assert_int_eq(perfex("list", "MEM_LOAD", "l2", "miss"), 0);
	has(out, "MEM_LOAD_RETIRED:L2_MISS ");
	has_not(out, "L1_MISS ");
	has_not(out, "L2_HIT ");
	ck_assert_int_eq(perfex("list", "UNHALTED_REFERENCE_CYCLES"), 0);
	has(out, "UNHALTED_REFERENCE_CYCLES                 fixed 2\n");
	ck_assert_int_eq(perfex("doctor", "now"), 125);
	is_message("perfex doctor has no arguments");
	ck_assert_int_eq(perfex("-x", ",", "doctor"), 125);
	is_message("perfex doctor has no -x, which is an option of perfex stat, perfex merge");
	ck_assert_int_eq(perfex("-e", "cycles", "doctor", "-j"), 125);
	is_message("perfex doctor has no -e, which is an option of perfex stat");
	/* A command of that name. */
	ck_assert_int_eq(perfex("--", "doctor"), 127);
	ck_assert_int_eq(perfex("list", "no-such-word"), 125);
	is_message("no event has 'no-such-word' in its name or description");
	ck_assert_int_eq(perfex("list", "retired", "no-such-word"), 125);
	is_message("no event has 'retired' and 'no-such-word' in its name or description");
	ck_assert_int_eq(perfex("list"), 0);
	has(out, "cycles ");
	/* A command of this name. */
	ck_assert_int_eq(perfex("--", "list"), 127);
	is_message("there is no command 'list'");
	/* Without the module, perf_event counts; of kinds of CPUs it does not know. */
	fake.fail[FAKE_DEVICE] = ENOENT;
	ck_assert_int_eq(perfex("list"), 0);
	has(err, "lists what perf_event counts: there is no /dev/vperfctr: load the module (sudo modprobe vperfctr)");
	has(out, "task-clock");
	ck_assert_int_eq(perfex("list", "--kind=0"), 125);
	is_message("modprobe");
}
END_TEST

/* Events that no counter of this processor can count are shown with -v only. */
START_TEST(list_of_countable_events)
{
	fake.info.fixed_mask = 0;
	fake.info.arch_events &= ~VPERFCTR_EVENT_CACHE_MISSES;
	ck_assert_int_eq(perfex("list", "UNHALTED_REFERENCE_CYCLES"), 125);
	is_message("this processor can count nothing that has 'UNHALTED_REFERENCE_CYCLES' in its name or description: "
		   "perfex list -v shows 1 that other processors count");
	ck_assert_int_eq(perfex("-v", "list", "UNHALTED_REFERENCE_CYCLES"), 0);
	has(out, "UNHALTED_REFERENCE_CYCLES                 none\n");
	ck_assert_int_eq(perfex("list", "cache-misses", "-v"), 0);
	has(out, "cache-misses                              none\n"
		 "    misses of the last-level cache, on Arm the L1 data cache\n");
	ck_assert_int_eq(perfex("list", "last-level"), 0);
	has(out, "cache-references ");
	has_not(out, "cache-misses ");
}
END_TEST

/* Where nothing can be counted, a line says why there is no metric, and no generic event. */
START_TEST(list_without_counters)
{
	static const struct { char *word; const char *what; } sorts[] = {
		{ "metric", "no metric" }, { "metricgroups", "no metric" }, { "hw", "no generic event" },
	};
	char line[256];
	size_t i;

	/* counters, but none for these */
	fake.info.pmc_mask = 0xf0;
	fake.info.fixed_mask = 0;
	fake.info.arch_events = 0;
	setenv("XDG_CONFIG_HOME", dir, 1);
	for (i = 0; i < ARRAY_SIZE(sorts); i++) {
		ck_assert_int_eq(perfex("list", sorts[i].word), 125);
		snprintf(line, sizeof(line), "perfex: %s can be counted here, as the counters of this processor do not count what it needs: perfex list -v %s shows ",
			 sorts[i].what, sorts[i].word);
		is_message(line);
	}
	fake.info.pmc_mask = 0;
	fake.info.nrctrs = 0;
	for (i = 0; i < ARRAY_SIZE(sorts); i++) {
		ck_assert_int_eq(perfex("list", sorts[i].word), 125);
		snprintf(line, sizeof(line), "perfex: %s can be counted here, as there are no counters, as in many virtual machines: perfex list -v %s shows ",
			 sorts[i].what, sorts[i].word);
		is_message(line);
		ck_assert_int_eq(perfex("list", "-v", sorts[i].word), 0);
	}
	ck_assert_int_eq(perfex("list", "ipc"), 125);
	is_message("nothing that has 'ipc' in its name or description can be counted here, as there are no counters, as in many virtual machines: perfex list -v shows 1");
	ck_assert_int_eq(perfex("list", "no-such-word"), 125);
	is_message("no event has 'no-such-word' in its name or description");
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
	{ FAKE_CONTROL, EBUSY, "holds the counters" },
	{ FAKE_CONTROL, EPERM, "count user mode with ':u'" },
	{ FAKE_CONTROL, EADDRINUSE, "has one of these counters: choose other ones" },
	{ FAKE_CONTROL, EINVAL, "cannot count these events" },
	{ FAKE_CONTROL, ENOMEM, "cannot set up the counters: Cannot allocate memory" },
};

START_TEST(failing_calls)
{
	fake.fail[failures[_i].call] = failures[_i].error;
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c", "echo ran"), 125);
	is_message(failures[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(failing_read)
{
	fake.fail[FAKE_READ] = EFAULT;
	ck_assert_int_eq(perfex("-e", "cycles", "echo", "ran"), 125);
	ck_assert_str_eq(out, "ran\n");
	has(err, "<not counted>");
	has(err, "\nperfex: cannot read the counters: Bad address\n");
}
END_TEST

START_TEST(command_gains_privileges)
{
	fake.exec_uncounted = true;
	fake.status = VPERFCTR_STATUS_PRIVILEGED;
	ck_assert_int_eq(perfex("-e", "cycles", "echo", "ran"), 125);
	ck_assert_str_eq(out, "ran\n");
	has(err, "<not counted>");
	has(err, "\nperfex: the command was not counted: it gained privileges");
	/* A later exec: the counts until then are shown. */
	fake.exec_uncounted = false;
	ck_assert_int_eq(perfex("-e", "cycles", "echo", "ran"), 125);
	has(err, "1,000,000  cycles");
	has(err, "not complete");
	has(err, "\nperfex: a program was not counted");
}
END_TEST

START_TEST(uncounted_command)
{
	fake.exec_uncounted = true;
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	has(err, "<not counted>");
	has(err, "\nperfex: the command was not counted\n");
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c", "kill -KILL $$"), 125);
	has(err, "\nperfex: the command was killed before its first instruction\n");
}
END_TEST

START_TEST(replaced_control)
{
	fake.replaced = true;
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	has(err, "<not counted>");
	has(err, "used the counters for something else");
	/* The same counters, with other flags than perfex set. */
	fake.replaced = false;
	fake.replaced_flags = VPERFCTR_CONTROL_START_ON_EXEC;
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	has(err, "<not counted>");
	has(err, "used the counters for something else");
}
END_TEST

/* ---- children ------------------------------------------------------------------- */

START_TEST(children_counted)
{
	fake.children = 500;
	ck_assert_int_eq(perfex("-e", "cycles,branches", "true"), 0);
	has(err, "(with its threads and children, ");
	has(err, "           1,000,500  cycles\n");
	has(err, "           1,000,502  branches\n");
	has(err, "         0.001500250  seconds thread time\n");
	has_not(err, "Of these");
	has_not(err, "Not included");
	ck_assert_uint_eq(fake_seen->control_flags,
			  VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_INHERIT);
	/* So that no state remains if perfex is killed. */
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
			  VPERFCTR_OPEN_OBSERVER);

	ck_assert_int_eq(perfex("-v", "-e", "cycles", "true"), 0);
	has(err, " Of these, its first thread:\n\n           1,000,000  cycles\n");
	has(err, " Of these, its other threads and its children:\n\n                 500  cycles\n");
}
END_TEST

START_TEST(children_not_counted)
{
	char command[256];

	fake.children = 500;
	ck_assert_int_eq(perfex("--no-inherit", "-v", "-e", "cycles", "true"), 0);
	has(err, "(its first thread, ");
	has(err, "           1,000,000  cycles\n");
	has_not(err, "Of these");
	ck_assert_uint_eq(fake_seen->control_flags, VPERFCTR_CONTROL_START_ON_EXEC);
	/* The time of other threads is reported. */
	ck_assert_int_eq(perfex("--no-inherit", "-e", "cycles", "sh", "-c",
				"i=0; while test $i -lt 20000; do i=$((i+1)); done; :"), 0);
	has(err, "of other threads and children are not counted");
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c",
				"i=0; while test $i -lt 20000; do i=$((i+1)); done; :"), 0);
	has_not(err, "are not counted");
	/* The mean of these times is reported for several runs. */
	snprintf(command, sizeof(command),
		 "test -e %s && exit; > %s; i=0; while test $i -lt 60000; do i=$((i+1)); done; :",
		 in_dir("once"), in_dir("once"));
	ck_assert_int_eq(perfex("--no-inherit", "-r", "2", "-e", "cycles", "sh", "-c", command), 0);
	has(err, "of other threads and children are not counted");
	/* A module without this feature. */
	fake.info.features &= ~VPERFCTR_FEATURE_INHERIT;
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	is_message("--no-inherit");
	ck_assert_int_eq(perfex("--no-inherit", "-e", "cycles", "true"), 0);
}
END_TEST

START_TEST(children_missed)
{
	fake.children_missed = 2;
	ck_assert_int_eq(perfex("-o", (char *)in_dir("file"), "-e", "cycles", "true"), 125);
	is_message("2 threads are not, or not wholly, in these counts");
	/* The file says so, too, as it may be read without the message. */
	slurp("file", out, sizeof(out));
	has(out, "           1,000,000  cycles\n");
	has(out, " These counts are not complete");
}
END_TEST

START_TEST(forbidden_cpus)
{
	fake.status = VPERFCTR_STATUS_FORBIDDEN;
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 125);
	has(err, "1,000,000  cycles");
	has(err, "\nperfex: not all was counted, as some of it ran on CPUs that cannot");
}
END_TEST

/* The command runs on the CPUs that can count it; a command of the TSC alone runs on any. */
START_TEST(command_runs_where_it_is_counted)
{
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 0);
	ck_assert_uint_eq(fake_seen->affinity, 0xf);
	fake.nrkinds = 2;
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 0);
	ck_assert_uint_eq(fake_seen->affinity, 0xf);
	ck_assert_int_eq(perfex("--kind=0", "-e", "cycles", "true"), 0);
	ck_assert_uint_eq(fake_seen->affinity, 0x5);
	ck_assert_uint_eq(fake_seen->control_flags & VPERFCTR_CONTROL_AFFINITY, 0);
	ck_assert_int_eq(perfex("--kind=1", "-e", "cycles", "true"), 0);
	ck_assert_uint_eq(fake_seen->affinity, 0xa);
	fake.affinity = 0x5;
	fake_seen->affinity = 0;
	ck_assert_int_eq(perfex("--kind=1", "-e", "cycles", "true"), 125);
	is_message("there are no CPUs that can count where this may run");
	ck_assert_uint_eq(fake_seen->affinity, 0);
}
END_TEST

/* All kinds are counted, each by its table.  Counters that only one kind has are not used. */
START_TEST(any_kind)
{
	fake.nrkinds = 2;
	fake.only_kind0 = 0xc;
	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("-e", "r010e,cs,r0151", "-v", "true"), 0);
	has(err, "perfex: r010e on kind 0: map 0x00000000 evntsel 0x0043010e\n");
	has(err, "perfex: r010e on kind 1: map 0x00000000 evntsel 0x0043010e\n");
	has(err, "perfex: cs: counted by the kernel\n");
	has(err, "perfex: r0151 on kind 1: map 0x00000001 evntsel 0x00430151\n");
	has(err, "Counts of 'true' (");
	has_not(err, "CPUs");
	ck_assert_uint_eq(fake_seen->control.kind, VPERFCTR_ANY_KIND);
	ck_assert_uint_eq(fake_seen->control.nrkinds, 2);
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_uint_eq(fake_seen->ctr[1].evntsel & 0xffff, 0x0151);
	ck_assert_uint_eq(fake_seen->ctr[2].evntsel & 0xffff, 0x010e);
	ck_assert_uint_eq(fake_seen->ctr[3].evntsel & 0xffff, 0x0151);
	/* The TSC, and software events, have no kind. */
	ck_assert_int_eq(perfex("--kind=1", "-e", "cs", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.kind, 0);
	ck_assert_int_eq(perfex("-e", "cs", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.kind, 0);
	/* In several runs. */
	ck_assert_int_eq(perfex("--runs=auto", "-e", "r010e,r0151,r0185", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.nrkinds, 2);
	ck_assert_uint_eq(fake_seen->control.nractrs, 1);
	ck_assert_uint_eq(fake_seen->ctr[1].evntsel & 0xffff, 0x0185);
}
END_TEST

/* Not all kinds can count the events: perfex says which can, and needs to be told. */
START_TEST(only_on_one_kind)
{
	fake.nrkinds = 2;
	fake.only_kind0 = 0xc;
	ck_assert_int_eq(perfex("-e", "r010e@3", "true"), 125);
	is_message("not all CPUs can count these events, only those of kind 0: core (--kind=0 counts there, and a command runs there); on others, 'r010e@3': this processor has no general counter 3");
	ck_assert_uint_eq(fake_seen->controls, 0);
	ck_assert_int_eq(perfex("-e", "r010e@7", "true"), 125);
	is_message("'r010e@7': this processor has no general counter 7");
	ck_assert_int_eq(perfex("--kind=0", "-e", "r010e@3", "true"), 0);
	has(err, "on CPUs 0,2,32,64 only, kind 0: core ");
	ck_assert_uint_eq(fake_seen->control.kind, 0);
	ck_assert_uint_eq(fake_seen->control.nrkinds, 0);
	ck_assert_int_eq(perfex("--kind=1", "-e", "r010e@3", "true"), 125);
	is_message("'r010e@3': this processor has no general counter 3");
	/* If the command may run on one kind only, this one is enough. */
	fake.affinity = 0x5;
	ck_assert_int_eq(perfex("-e", "r010e@3", "true"), 0);
	has(err, "on CPUs 0,2,32,64 only, kind 0: core ");
	ck_assert_int_eq(perfex("-e", "r010e", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.kind, VPERFCTR_ANY_KIND);
	fake.affinity = 0xa;
	ck_assert_int_eq(perfex("-e", "r010e@3", "true"), 125);
	ck_assert_int_eq(perfex("-e", "r010e@1", "true"), 0);
	/* CPUs of no kind. */
	fake.affinity = 0x10;
	ck_assert_int_eq(perfex("-e", "r010e@1", "true"), 125);
	is_message("there are no CPUs that can count where this may run");
}
END_TEST

/* Descendants that run on are counted until the command ends, and the state is unlinked. */
START_TEST(surviving_children)
{
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c", "exit 3"), 3);
	ck_assert_uint_eq(fake_seen->unlinks, 0);
	has_not(err, "run still");
	fake.status = VPERFCTR_STATUS_CHILDREN;
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c", "exit 3"), 3);
	ck_assert_uint_eq(fake_seen->unlinks, 1);
	has(err, "\n Counted until now: threads or processes that were started and run still.\n");
	has_not(err, "Not included");
	/* If unlinking fails, perfex says so. */
	fake.fail[FAKE_UNLINK] = EPERM;
	ck_assert_int_eq(perfex("-e", "cycles", "sh", "-c", "exit 3"), 3);
	has(err, "\n Not included: threads or processes that were started and run still.\n");
	/* It does so where there is no table, too. */
	ck_assert_int_eq(perfex("-j", "-e", "cycles", "true"), 0);
	has(err, "}\nperfex: Not included: threads or processes that were started and run still\n");
	ck_assert_int_eq(perfex("-I", "60000", "-e", "cycles", "true"), 0);
	has(err, " cycles\nperfex: Not included: threads or processes that were started and run still\n");
	fake.fail[FAKE_UNLINK] = 0;
	ck_assert_int_eq(perfex("-x", ",", "-o", (char *)in_dir("file"), "-e", "cycles", "true"), 0);
	ck_assert_str_eq(err, "perfex: Counted until now: threads or processes that were started and run still\n");
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

/* perfex passes on a signal that is sent to perfex only, and prints when the command has ended. */
START_TEST(signal_passed_on)
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

START_TEST(fatal_signal_passed_on)
{
	pid_t pid = start(ARGV("-e", "cycles", "sh", "-c", "echo ready; exec sleep 100"));

	await_output("ready");
	kill(pid, SIGTERM);
	ck_assert_int_eq(finish(pid), 128 + SIGTERM);
	has(err, "1,000,000  cycles");
}
END_TEST

/* perfex does not pass on a signal that it ignores (nohup). */
START_TEST(ignored_signal_not_passed_on)
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

/* Return: the standard signals in this line of a /proc/PID/status. */
static unsigned int signal_mask(const char *label)
{
	const char *line = strstr(out, label);

	ck_assert_ptr_nonnull(line);
	return strtoull(line + strlen(label), NULL, 16) & 0x7fffffff;
}

/* The command finds signals as perfex did: none blocked or ignored ... */
START_TEST(command_signals)
{
	ck_assert_int_eq(perfex("grep", "Sig[BI]", "/proc/self/status"), 0);
	ck_assert_uint_eq(signal_mask("SigBlk:"), 0);
	ck_assert_uint_eq(signal_mask("SigIgn:"), 0);
}
END_TEST

/* ... or those that were ignored (SIGHUP 1, SIGCHLD 17). */
START_TEST(command_ignored_signals)
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

/* The command has its standard files, and ls the directory that it reads, and no others. */
#define ONLY_STANDARD_FILES	"0\n1\n2\n3\n"

START_TEST(command_descriptors)
{
	ck_assert_int_eq(perfex("ls", "/proc/self/fd"), 0);
	ck_assert_str_eq(out, ONLY_STANDARD_FILES);
}
END_TEST

/* ---- the user of the command ------------------------------------------------------ */

#define IDENTITY	"id -u; id -g; echo $HOME $USER $LOGNAME $SHELL; grep -E '^(Uid|Gid|Groups|Cap(Prm|Eff|Amb))' /proc/self/status"

/* Only root becomes another user: for a command that is counted, beside counted CPUs, and sampled. */
START_TEST(command_of_another_user)
{
	char *const ways[][2] = { { "-ecycles:u" }, { "-a", "-ecycles:u" }, { "--sample=cycles:u=1k" } };
	char *args[12] = { "perfex", "--user=daemon", "-o", "/dev/null" }, number[16];
	const struct passwd *pw = getpwnam("daemon");
	char expected[512];
	unsigned int i, k, n;

	if (geteuid() || !pw)
		return;
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		n = 4;
		for (k = 0; k < 2 && ways[i][k]; k++)
			args[n++] = ways[i][k];
		args[n++] = "sh";
		args[n++] = "-c";
		args[n++] = IDENTITY;
		args[n] = NULL;
		ck_assert_int_eq(finish(start(args)), 0);
		snprintf(expected, sizeof(expected), "%u\n%u\n%s daemon daemon %s\n", pw->pw_uid, pw->pw_gid,
			 pw->pw_dir, pw->pw_shell);
		ck_assert_msg(!strncmp(out, expected, strlen(expected)), "%s", out);
		snprintf(expected, sizeof(expected), "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nGroups:\t%u ",
			 pw->pw_uid, pw->pw_uid, pw->pw_uid, pw->pw_uid, pw->pw_gid, pw->pw_gid, pw->pw_gid,
			 pw->pw_gid, pw->pw_gid);
		has(out, expected);
		has(out, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapAmb:\t0000000000000000\n");
	}
	/* by number, and as sudo says */
	snprintf(number, sizeof(number), "--user=%u", pw->pw_uid);
	ck_assert_int_eq(perfex(number, "id", "-un"), 0);
	ck_assert_str_eq(out, "daemon\n");
	setenv("SUDO_UID", strchr(number, '=') + 1, 1);
	ck_assert_int_eq(perfex("--user", "id", "-un"), 0);
	ck_assert_str_eq(out, "daemon\n");
	/* A file that only root can execute. */
	close(open(in_dir("file"), O_WRONLY | O_CREAT, 0700));
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(perfex("--user", (char *)in_dir("file")), 126);
	is_message("it is not an executable file, or you may not execute it");
}
END_TEST

static bool no_groups;		/* memory is short */

int __real_getgrouplist(const char *user, gid_t group, gid_t *groups, int *nr);
int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *nr);

int __wrap_getgrouplist(const char *user, gid_t group, gid_t *groups, int *nr)
{
	return no_groups ? -1 : __real_getgrouplist(user, group, groups, nr);
}

/* A command whose groups are not known must not run: it would have those of the room for them. */
START_TEST(user_without_groups)
{
	no_groups = true;
	ck_assert_int_eq(perfex("--user=daemon", "id", "-G"), 125);
	is_message("the groups of user 'daemon' cannot be found");
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(user_misuse)
{
	unsetenv("SUDO_UID");
	unsetenv("PKEXEC_UID");
	unsetenv("DOAS_USER");
	ck_assert_int_eq(perfex("--user", "true"), 125);
	is_message("neither sudo, pkexec nor doas has started this perfex");
	ck_assert_int_eq(perfex("--user=no-such-user", "true"), 125);
	is_message("there is no user 'no-such-user'");
	ck_assert_int_eq(perfex("--user=4294967295", "true"), 125);
	is_message("there is no user '4294967295'");
	ck_assert_int_eq(perfex("--user=99999999999999999999", "true"), 125);
	is_message("there is no user");
	ck_assert_int_eq(perfex("--user=-1", "true"), 125);
	ck_assert_int_eq(perfex("--user=daemon", "-a", "--timeout=0s"), 125);
	is_message("--user is for a command");
	ck_assert_int_eq(perfex("--user=daemon", "--report=x"), 125);
	is_message("perfex report has no --user, which is an option of perfex stat, perfex record");
}
END_TEST

/* Without root's rights there is no other user, and the command does not run. */
static void become_daemon(void)
{
	const struct passwd *pw = getpwnam("daemon");

	if (!geteuid() && (!pw || setgroups(0, NULL) || setgid(pw->pw_gid) || setuid(pw->pw_uid)))
		_exit(99);
}

START_TEST(user_without_rights)
{
	pid_t pid;
	int i;

	chmod(dir, 0777);
	for (i = 0; i < 2; i++) {
		char *args[] = { "perfex", i ? "--user=daemon" : "--user=root", "-ecycles:u", "echo", "run", NULL };

		unlink(in_dir("out"));
		unlink(in_dir("err"));
		fflush(NULL);
		pid = fork();
		if (!pid) {
			become_daemon();
			redirect("out", STDOUT_FILENO);
			redirect("err", STDERR_FILENO);
			exit(perfex_main(ARRAY_SIZE(args) - 1, args));
		}
		/* The user's own name changes nothing. */
		if (i && !geteuid()) {
			ck_assert_int_eq(finish(pid), 0);
			ck_assert_str_eq(out, "run\n");
			continue;
		}
		ck_assert_int_eq(finish(pid), 125);
		is_message("Operation not permitted; only root can start it as another user");
		ck_assert_str_eq(out, "");
	}
}
END_TEST

/* ---- attaching ---------------------------------------------------------------------- */

static pid_t target;

/* True if this line of the target's /proc/PID/status begins with value. */
static bool has_status(const char *label, const char *value)
{
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)target);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, label, strlen(label));
	fclose(f);
	return found && !strncmp(line + strlen(label), value, strlen(value));
}

static void target_status(const char *label, const char *value)
{
	ck_assert_msg(has_status(label, value), "the target has not '%s%s'", label, value);
}

/* Wait until the target sleeps.  One that is stopped never does. */
static void await_sleep(void)
{
	int i;

	for (i = 0; i < 2000 && !has_status("State:\t", "S"); i++)
		usleep(10000);
	target_status("State:\t", "S");
}

/* The target is as it was before. */
static void is_untouched(void)
{
	target_status("TracerPid:\t", "0\n");
	await_sleep();
}

static void await_controls(unsigned int n)
{
	while (fake_seen->controls < n)
		usleep(1000);
}

static char *target_id(void)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", (int)target);
	return text;
}

static void *sleep_on(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Start a process with that many threads, all asleep. */
static const char *target_name = "a target";

static void start_target(int nrthreads)
{
	char ready;
	int pipes[2];

	ck_assert_int_eq(pipe(pipes), 0);
	target = fork();
	if (!target) {
		pthread_t thread;

		prctl(PR_SET_NAME, target_name);
		while (--nrthreads > 0)
			pthread_create(&thread, NULL, sleep_on, NULL);
		ck_assert_int_eq(write(pipes[1], "", 1), 1);
		sleep_on(NULL);
	}
	close(pipes[1]);
	ck_assert_int_eq(read(pipes[0], &ready, 1), 1);
	close(pipes[0]);
	await_sleep();
}

static void end_target(void)
{
	if (!target)
		return;
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	target = 0;
}

static void attach_teardown(void)
{
	end_target();
	command_teardown();
}

START_TEST(attach_process)
{
	char text[128];

	start_target(4);
	fake.children = 100;
	ck_assert_int_eq(perfex("-v", "-e", "cycles,branches", "-p", target_id(), "--timeout", "0.05"), 0);
	snprintf(text, sizeof(text), " Counts of process %d (4 threads and what they started, ", (int)target);
	has(err, text);
	has(err, "               4,400  cycles\n");
	has(err, "               4,408  branches\n");
	snprintf(text, sizeof(text), " Of these, thread %d (a target):\n\n               1,000  cycles\n", (int)target);
	has(err, text);
	has(err, " Of these, what was started meanwhile:\n\n                 400  cycles\n");
	is_untouched();
	ck_assert_uint_eq(fake_seen->opens, 4);
	ck_assert_uint_eq(fake_seen->controls, 4);
	ck_assert_uint_eq(fake_seen->unlinks, 0);
	/* Without KEEP, the states end with perfex. */
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
			  VPERFCTR_OPEN_OBSERVER);
	ck_assert_uint_eq(fake_seen->control_flags,
			  VPERFCTR_CONTROL_INHERIT);
}
END_TEST

START_TEST(attach_per_thread)
{
	unsigned int lines;
	char text[128];

	start_target(4);
	fake.children = 100;
	ck_assert_int_eq(perfex("--per-thread", "-x", ",", "-e", "cycles:u", "-p", target_id(),
				"--timeout", "0.05"), 0);
	snprintf(text, sizeof(text), "a target-%d,1000,,cycles:u,", (int)target);
	has(err, text);
	has(err, "(started),400,,cycles:u,");
	ck_assert_int_eq(perfex("-I", "20", "-x", ",", "-e", "cycles:u", "-p", target_id(),
				"sh", "-c", until_lines(3)), 0);
	ck_assert_uint_eq(sum_of(err, "cycles:u", &lines), 4400);
	ck_assert_msg(lines >= 3 && lines <= most_intervals(0.02), "%u intervals", lines);
}
END_TEST

/* Each interval has a row for each thread, and one for the rest, in the same order. */
START_TEST(attach_per_thread_intervals)
{
	unsigned long n, sum = 0, first = 0, rest = 0;
	unsigned int lines = 0;
	char label[64], name[64], want[64];
	double at, last = 0;
	const char *text;

	start_target(4);
	fake.children = 100;
	ck_assert_int_eq(perfex("--per-thread", "-I", "20", "-x", ",", "-e", "cycles:u", "-p", target_id(),
				"sh", "-c", until_lines(15)), 0);
	snprintf(want, sizeof(want), "a target-%d", (int)target);
	for (text = err; *text; text = strchr(text, '\n') + 1, lines++) {
		ck_assert_msg(sscanf(text, "%lf,%63[^,],%lu,,%63[^,],", &at, label, &n, name) == 4, "%s", text);
		ck_assert_str_eq(name, "cycles:u");
		ck_assert(lines % 5 ? at == last : at > last);
		ck_assert_int_eq(!strcmp(label, "(started)"), lines % 5 == 4);
		last = at;
		sum += n;
		first += strcmp(label, want) ? 0 : n;
		rest += lines % 5 == 4 ? n : 0;
	}
	ck_assert_uint_ge(lines, 15);
	ck_assert_uint_eq(lines % 5, 0);
	ck_assert_uint_eq(sum, 4400);
	ck_assert_uint_eq(first, 1000);
	ck_assert_uint_eq(rest, 400);

	ck_assert_int_eq(perfex("--per-thread", "-I", "60000", "-e", "cycles:u", "-p", target_id(),
				"--timeout", "0.05"), 0);
	snprintf(want, sizeof(want), " a target-%d ", (int)target);
	has(err, "#           time thread ");
	has(err, want);
	has(err, " (started) ");
}
END_TEST

static const struct {
	const char *name, *shown, *csv;
} names[] = {
	{ "a,b", "a,b", "a?b" },
	{ "x\ny\033[2J\177", "x?y?[2J?", "x?y?[2J?" },
	/* Whole characters only: the kernel cuts this name after the first byte of one. */
	{ "\303\251 fourteen by\303\251", "\303\251 fourteen by?", "\303\251 fourteen by?" },
	{ "\302\205 \300\257 \355\240\200", "?? ?? ???", "?? ?? ???" },
	{ "\364\217\277\277 \364\220\200\200", "\364\217\277\277 ????",
	  "\364\217\277\277 ????" },
	{ "\340\237\277 \360\217\277\277", "??? ????", "??? ????" },
};

/* A thread chooses its name, which must do no harm on a terminal or to a parser. */
START_TEST(strange_thread_names)
{
	char text[128];

	target_name = names[_i].name;
	start_target(1);
	ck_assert_int_eq(perfex("-v", "-e", "cycles", "-p", target_id(), "--timeout", "0s"), 0);
	snprintf(text, sizeof(text), "Of these, thread %d (%s):\n", (int)target, names[_i].shown);
	has(err, text);
	ck_assert_int_eq(perfex("--per-thread", "-x", ",", "-e", "cycles:u", "-p", target_id(),
				"--timeout", "0s"), 0);
	snprintf(text, sizeof(text), "%s-%d,1000,,cycles:u,", names[_i].csv, (int)target);
	has(err, text);
	ck_assert_int_eq(perfex("--per-thread", "-j", "-e", "cycles:u", "-p", target_id(),
				"--timeout", "0s"), 0);
	snprintf(text, sizeof(text), "\"thread\" : \"%s-%d\"", names[_i].shown, (int)target);
	has(err, text);
}
END_TEST

START_TEST(attach_thread)
{
	char text[128];

	start_target(4);
	ck_assert_int_eq(perfex("-e", "cycles", "--no-inherit", "-t", target_id(), "--timeout", "0.05"), 0);
	snprintf(text, sizeof(text), " Counts of thread %d (1 thread, ", (int)target);
	has(err, text);
	has(err, "               1,000  cycles\n");
	ck_assert_uint_eq(fake_seen->opens, 1);
	ck_assert_uint_eq(fake_seen->control_flags, 0);
	/* Each thread is counted once, however often it is named. */
	snprintf(text, sizeof(text), "%d,%d", (int)target, (int)target);
	ck_assert_int_eq(perfex("-e", "cycles", "-p", text, "-t", target_id(), "--timeout", "0s"), 0);
	has(err, "               4,000  cycles\n");
	is_untouched();
}
END_TEST

/* perfex counts until the process (-p) or the thread (-t) has ended. */
START_TEST(attach_until_end)
{
	pid_t pid;

	start_target(3);
	pid = start(ARGV("-e", "cycles", _i ? "-t" : "-p", target_id()));
	await_controls(_i ? 1 : 3);
	usleep(50000);
	ck_assert_int_eq(waitpid(pid, NULL, WNOHANG), 0);
	end_target();
	ck_assert_int_eq(finish(pid), 0);
	has(err, _i ? "               1,000  cycles\n" : "               3,000  cycles\n");
}
END_TEST

START_TEST(attach_until_signal)
{
	static const int sigs[] = { SIGTERM, SIGINT, SIGQUIT, SIGHUP };
	pid_t pid;

	start_target(1);
	pid = start(ARGV("-e", "cycles", "-p", target_id()));
	await_controls(1);
	kill(pid, sigs[_i]);
	ck_assert_int_eq(finish(pid), 0);
	has(err, "               1,000  cycles\n");
	is_untouched();
}
END_TEST

START_TEST(attach_until_command)
{
	start_target(1);
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "sh", "-c", "echo ran; exit 7"), 7);
	ck_assert_str_eq(out, "ran\n");
	has(err, " Counts of process ");
	has(err, "               1,000  cycles\n");
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "no-such-command-at-all"), 127);
	is_message("there is no command");
	/* The command finds signals and descriptors as perfex did. */
	ck_assert_int_eq(perfex("-o", "/dev/null", "-e", "cycles", "-p", target_id(),
				"grep", "Sig[BI]", "/proc/self/status"), 0);
	ck_assert_uint_eq(signal_mask("SigBlk:"), 0);
	ck_assert_uint_eq(signal_mask("SigIgn:"), 0);
	ck_assert_int_eq(perfex("-o", "/dev/null", "-e", "cycles", "-p", target_id(),
				"ls", "/proc/self/fd"), 0);
	ck_assert_str_eq(out, ONLY_STANDARD_FILES);
	is_untouched();
}
END_TEST

/* A process that job control has stopped remains stopped. */
START_TEST(attach_stopped_process)
{
	start_target(2);
	kill(target, SIGSTOP);
	waitpid(target, NULL, WUNTRACED);
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "--timeout", "0.05"), 0);
	usleep(50000);
	target_status("State:\t", "T");
	target_status("TracerPid:\t", "0\n");
	kill(target, SIGCONT);
	is_untouched();
}
END_TEST

static int received, wrong;

static void receive(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	wrong += si->si_value.sival_int != received++;
}

#define NRSIGNALS	400

/* No signal is lost, repeated, changed or reordered. */
START_TEST(attach_keeps_signals)
{
	struct sigaction sa = { .sa_sigaction = receive, .sa_flags = SA_SIGINFO };
	int i, wstatus;

	sigaction(SIGRTMIN, &sa, NULL);
	fflush(NULL);
	target = fork();
	if (!target) {
		while (received < NRSIGNALS)
			usleep(100);
		_exit(wrong != 0);
	}
	for (i = 0; i < NRSIGNALS; i++) {
		union sigval value = { .sival_int = i };

		ck_assert_int_eq(sigqueue(target, SIGRTMIN, value), 0);
		if (i % 40 == 0) {
			pid_t pid = start(ARGV("-e", "cycles", "-p", target_id(), "--timeout", "0s"));

			for (; i < NRSIGNALS && !waitpid(pid, NULL, WNOHANG); ) {
				if (i + 1 == NRSIGNALS)
					continue;
				value.sival_int = ++i;
				ck_assert_int_eq(sigqueue(target, SIGRTMIN, value), 0);
				usleep(200);
			}
		}
	}
	ck_assert_int_eq(waitpid(target, &wstatus, 0), target);
	target = 0;
	ck_assert_int_eq(wstatus, 0);
}
END_TEST

/* Threads that were started meanwhile and still run: perfex unlinks the states to get their sums. */
START_TEST(threads_started_meanwhile)
{
	start_target(2);
	fake.status = VPERFCTR_STATUS_CHILDREN;
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "--timeout", "0.05"), 0);
	has_not(err, "Not included");
	has(err, "Counted until now");
	ck_assert_uint_eq(fake_seen->unlinks, 2);
	is_untouched();
}
END_TEST

/* perfex leaves the counters to those who have them. */
START_TEST(attach_beside)
{
	start_target(2);
	fake.used_fixed = 7;
	fake.used_pmcs = 3;
	ck_assert_int_eq(perfex("-e", "cycles,branches", "-p", target_id(), "--timeout", "0s"), 0);
	has(err, "2,000  cycles");
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_uint_eq(1U << fake_seen->ctr[0].map | 1U << fake_seen->ctr[1].map, 0xc);
	/* By default it counts what the others leave.  It tries twice, and runs --pre once. */
	ck_assert_int_eq(perfex("--pre", "echo before", "-p", target_id(), "--timeout", "0s"), 0);
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_str_eq(out, "before\n");
	/* -v prints the counters that are used, after a line that says why they are others. */
	ck_assert_int_eq(perfex("-v", "-e", "branches", "-p", target_id(), "--timeout", "0s"), 0);
	has(err, "\nperfex: others have some of these counters, so perfex uses\nperfex: branches");
	/* They do not suffice. */
	ck_assert_int_eq(perfex("-e", "cycles,branches,instructions", "-p", target_id(),
				"--timeout", "0s"), 125);
	has(err, "perfex: process ");
	has(err, " is counted already, by itself or by another program");
	has(err, ", with counters 0, 1, fixed 0, fixed 1, fixed 2: end that first, or count other events; 'perfex info --holders' shows what is counted; and by the other counters: too many events: ");
	/* Nothing tells which ones they are, or there are none that would help. */
	fake.used_fixed = fake.used_pmcs = 0;
	fake.fail[FAKE_ATTACH] = EXFULL;
	ck_assert_int_eq(perfex("-e", "cycles", "-t", target_id(), "--timeout", "0s"), 125);
	has(err, "perfex: thread ");
	has(err, ", and this processor cannot count the events of both at the same time: end that first");
	fake.fail[FAKE_ATTACH] = EMLINK;
	ck_assert_int_eq(perfex("-e", "cycles", "-t", target_id(), "--timeout", "0s"), 125);
	has(err, ", as often as the vperfctr module allows: end that first");
	is_untouched();
}
END_TEST

/*
 * An observer takes a counter after perfex has chosen it: it chooses again, and the first run, which
 * has not begun, has one --pre.
 */
START_TEST(pre_of_several_runs)
{
	fake.late_pmcs = 1;
	ck_assert_int_eq(perfex("--pre", "echo before", "--post", "echo after", "-r", "2",
				"-e", "branches", "echo", "run"), 0);
	ck_assert_str_eq(out, "before\nrun\nafter\nbefore\nrun\nafter\n");
	ck_assert_uint_eq(fake_seen->ctr[0].map, 1);
	fake_seen->used_pmcs = 0;
	ck_assert_int_eq(perfex("--pre", "echo before", "--runs", "auto", "-e",
				"branches,branches:k,branches:uk,cache-misses,cache-misses:k",
				"echo", "run"), 0);
	ck_assert_str_eq(out, "before\nrun\nbefore\nrun\n");
	ck_assert_uint_eq(fake_seen->used_pmcs, 1);
	fake_seen->used_pmcs = 0;
	ck_assert_int_eq(perfex("--pre", "echo before", "-e", "branches", "echo", "run"), 0);
	ck_assert_str_eq(out, "before\nrun\n");
	ck_assert_uint_eq(fake_seen->ctr[0].map, 1);
}
END_TEST

START_TEST(attach_incomplete)
{
	start_target(2);
	fake.children_missed = 1;
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "--timeout", "0s"), 125);
	has(err, "2,000  cycles");
	has(err, "\nperfex: 2 threads are not");
	/* The thread has suspended its counters itself. */
	fake.children_missed = 0;
	fake.status = VPERFCTR_STATUS_SUSPENDED;
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "--timeout", "0s"), 125);
	has(err, "<not counted>");
	has(err, "used the counters for something else");
}
END_TEST

static const struct {
	enum fake_call call;
	int error;
	const char *message;
} attach_failures[] = {
	{ FAKE_DEVICE, ENOENT, "modprobe vperfctr" },
	{ FAKE_OPEN, EMLINK, "is counted as many times as the vperfctr module allows" },
	{ FAKE_OPEN, EAGAIN, "max_states_per_user" },
	{ FAKE_OPEN, EMFILE, "ulimit" },
	{ FAKE_OPEN, EPERM, "if this is a container, give it the device" },
	{ FAKE_CONTROL, EBUSY, "holds the counters" },
	{ FAKE_CONTROL, EADDRINUSE, "has one of these counters: choose other ones" },
	{ FAKE_CONTROL, EINVAL, "cannot count these events" },
	{ FAKE_READ, EFAULT, "cannot read the counters: Bad address" },
};

/* The process runs on, whatever fails. */
START_TEST(attach_fails)
{
	start_target(3);
	fake.fail[attach_failures[_i].call] = attach_failures[_i].error;
	ck_assert_int_eq(perfex("-e", "cycles", "-p", target_id(), "--timeout", "0s"), 125);
	has(err, "perfex: ");
	has(err, attach_failures[_i].message);
	is_untouched();
}
END_TEST

START_TEST(attach_no_such_process)
{
	start_target(2);
	ck_assert_int_eq(perfex("-p", "2147483647"), 125);
	is_message("no process or thread 2147483647");
	ck_assert_int_eq(perfex("-t", "2147483647"), 125);
	is_message("no process or thread 2147483647");
	/* The other thread is released. */
	ck_assert_int_eq(perfex("-t", target_id(), "-t", "2147483647"), 125);
	is_untouched();
	/* The process has ended, but was not waited for. */
	kill(target, SIGKILL);
	ck_assert_int_eq(waitid(P_PID, (id_t)target, NULL, WEXITED | WNOWAIT), 0);
	ck_assert_int_eq(perfex("-p", target_id()), 125);
	is_message("no process or thread");
}
END_TEST

START_TEST(attach_traced_process)
{
	char text[64];

	start_target(1);
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, target, 0, 0), 0);
	ck_assert_int_eq(perfex("-p", target_id()), 125);
	snprintf(text, sizeof(text), "traced by process %d already", (int)getpid());
	is_message(text);
}
END_TEST

START_TEST(attach_misuse)
{
	static char *const bad[] = { "", "x", "1,", ",1", "1,,2", "0", "-1", "+1", " 1", "1 ",
				     "99999999999999999999", "2147483648", "1.5" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(perfex("-p", bad[i]), 125);
		is_message("is not a list of process ids");
	}
	ck_assert_int_eq(perfex("-t", "x"), 125);
	is_message("is not a list of thread ids");
	ck_assert_int_eq(perfex("-p"), 125);
	is_message("option -p needs an argument");
	ck_assert_int_eq(perfex("-p", "1", "--timeout"), 125);
	is_message("option '--timeout' needs an argument");
	ck_assert_int_eq(perfex("--no-inherit=x", "true"), 125);
	is_message("option '--no-inherit=x' takes no argument");
	ck_assert_int_eq(perfex("--json=x", "true"), 125);
	is_message("option '--json=x' takes no argument");
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(perfex("-p", "1", "--timeout",
					((char *[]){ "", "x", "-1", "nan", "1e3" })[i]), 125);
		is_message("is not a number of milliseconds, nor a time such as 10s");
	}
	ck_assert_int_eq(perfex("--timeout", "1s", "true"), 125);
	is_message("--timeout is for -p, -t, -a and -C");
	ck_assert_int_eq(perfex("-p", "1", "--timeout", "1s", "true"), 125);
	is_message("either --timeout or a command");
}
END_TEST

/* ---- what perf_event leaves -------------------------------------------------------- */

enum caller { ROOT, USER, TRACED, NO_NEW_PRIVS };

/* The answer of left_by_perf() to a caller of this sort. */
static bool is_left(const char *path, enum caller caller)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if ((caller == USER && (setgid(2) || setuid(2))) ||
		    (caller == TRACED && ptrace(PTRACE_TRACEME, 0, NULL, NULL)) ||
		    (caller == NO_NEW_PRIVS && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)))
			_exit(2);
		_exit(left_by_perf(path));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status);
}

/* Owner or group -1: the ID that stands for those that a user namespace lacks. */
static const struct {
	int owner, group;
	mode_t mode;
	const char *content;
	enum caller caller;
	bool left;
} executables[] = {
	{ 1, 1, 0755, "program", ROOT, false },
	{ 1, 1, 04755, "program", ROOT, true },
	{ 1, 1, 02755, "program", ROOT, true },
	{ 1, 1, 02745, "program", ROOT, false },
	{ 1, 1, 06755, "#!/bin/sh\n", ROOT, false },
	{ 0, 1, 04755, "program", ROOT, false },
	{ 0, 1, 04755, "program", USER, true },
	{ 2, 1, 04755, "program", USER, false },
	{ -1, 1, 06755, "program", ROOT, false },
	{ 1, -1, 06755, "program", ROOT, false },
	{ 1, 1, 06755, "program", TRACED, false },
	{ 1, 1, 06755, "program", NO_NEW_PRIVS, false },
	{ 0, 0, 0711, "program", ROOT, false },
	{ 0, 0, 0711, "program", USER, true },
	{ 0, 0, 0755, "program", USER, false },
};

/* With which files perf_event leaves a command, where the exec makes it a process without dumps. */
START_TEST(left_by_its_file)
{
	const int owner = executables[_i].owner, group = executables[_i].group;
	const char *path = write_text("program", executables[_i].content);
	struct statvfs fs;

	if (geteuid() || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) || statvfs(dir, &fs) ||
	    fs.f_flag & ST_NOSUID ||
	    chown(path, owner < 0 ? (uid_t)read_number("/proc/sys/kernel/overflowuid") : (uid_t)owner,
		  group < 0 ? (gid_t)read_number("/proc/sys/kernel/overflowgid") : (gid_t)group))
		return;
	chmod(dir, 0711);
	ck_assert_int_eq(chmod(path, executables[_i].mode), 0);
	fake.suid_dumpable = "0\n";
	ck_assert_int_eq(is_left(path, executables[_i].caller), executables[_i].left);
	fake.suid_dumpable = "2\n";
	ck_assert_int_eq(is_left(path, executables[_i].caller), executables[_i].left);
	/* All processes have dumps. */
	fake.suid_dumpable = "1\n";
	ck_assert(!is_left(path, executables[_i].caller));
}
END_TEST

/* Capabilities of a file may be none that its caller lacks. */
START_TEST(not_left_by_capabilities)
{
	/* version 2, effective: CAP_NET_RAW */
	const uint32_t capabilities[] = { htole32(0x02000001), htole32(1 << 13), 0, 0, 0 };
	const char *path = write_text("program", "program");

	chmod(dir, 0711);
	chmod(path, 0755);
	if (geteuid() || setxattr(path, "security.capability", capabilities, sizeof(capabilities), 0))
		return;
	fake.suid_dumpable = "0\n";
	ck_assert(!is_left(path, USER));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-run");
	TCase *t = tcase_create("run");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, count_command);
	tcase_add_test(t, default_events);
	tcase_add_test(t, software_events);
	tcase_add_test(t, refused_events);
	tcase_add_test(t, output_file);
	tcase_add_test(t, output_descriptor);
	tcase_add_test(t, counts_are_not_lost);
	tcase_add_loop_test(t, output_not_written, 0, ARRAY_SIZE(unwritten));
	tcase_add_test(t, without_standard_files);
	tcase_add_test(t, repeated_runs);
	tcase_add_test(t, table_of_runs);
	tcase_add_test(t, cut_run_is_left_out);
	tcase_add_test(t, runs_auto);
	tcase_add_test(t, interval_output);
	tcase_add_loop_test(t, colours_on_a_terminal, 0, 5);
	tcase_add_loop_test(t, aligned_columns, 0, 3);
	tcase_add_loop_test(t, progress_line, 0, 2);
	tcase_add_test(t, csv_and_json);
	tcase_add_test(t, bad_numbers);
	tcase_add_test(t, exit_status);
	tcase_add_test(t, command_cannot_run);
	tcase_add_test(t, too_many_events);
	tcase_add_test(t, option_misuse);
	tcase_add_test(t, help_version_info);
	tcase_add_test(t, help_examples_can_be_counted);
	tcase_add_test(t, options_of_self_test);
	tcase_add_test(t, subcommands_of_perf);
	tcase_add_loop_test(t, events_of_other_units, 0, ARRAY_SIZE(other_units));
	tcase_add_test(t, list_of_events);
	tcase_add_test(t, list_of_countable_events);
	tcase_add_test(t, list_without_counters);
	tcase_add_loop_test(t, failing_calls, 0, ARRAY_SIZE(failures));
	tcase_add_test(t, failing_read);
	tcase_add_test(t, command_gains_privileges);
	tcase_add_test(t, uncounted_command);
	tcase_add_test(t, replaced_control);
	tcase_add_test(t, children_counted);
	tcase_add_test(t, children_not_counted);
	tcase_add_test(t, children_missed);
	tcase_add_test(t, forbidden_cpus);
	tcase_add_test(t, command_runs_where_it_is_counted);
	tcase_add_test(t, any_kind);
	tcase_add_test(t, only_on_one_kind);
	tcase_add_test(t, surviving_children);
	tcase_add_loop_test(t, signal_passed_on, 0, 4);
	tcase_add_test(t, fatal_signal_passed_on);
	tcase_add_test(t, ignored_signal_not_passed_on);
	tcase_add_test(t, command_signals);
	tcase_add_test(t, command_ignored_signals);
	tcase_add_test(t, command_descriptors);
	tcase_add_test(t, command_of_another_user);
	tcase_add_test(t, user_without_groups);
	tcase_add_test(t, user_misuse);
	tcase_add_test(t, user_without_rights);
	suite_add_tcase(s, t);

	t = tcase_create("attach");
	tcase_add_checked_fixture(t, command_setup, attach_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, attach_process);
	tcase_add_test(t, attach_per_thread);
	tcase_add_test(t, attach_per_thread_intervals);
	tcase_add_loop_test(t, strange_thread_names, 0, ARRAY_SIZE(names));
	tcase_add_test(t, attach_thread);
	tcase_add_loop_test(t, attach_until_end, 0, 2);
	tcase_add_loop_test(t, attach_until_signal, 0, 4);
	tcase_add_test(t, attach_until_command);
	tcase_add_test(t, attach_stopped_process);
	tcase_add_test(t, attach_keeps_signals);
	tcase_add_test(t, threads_started_meanwhile);
	tcase_add_test(t, attach_beside);
	tcase_add_test(t, pre_of_several_runs);
	tcase_add_test(t, attach_incomplete);
	tcase_add_loop_test(t, attach_fails, 0, ARRAY_SIZE(attach_failures));
	tcase_add_test(t, attach_no_such_process);
	tcase_add_test(t, attach_traced_process);
	tcase_add_test(t, attach_misuse);
	suite_add_tcase(s, t);
	t = tcase_create("perf_event");
	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_add_loop_test(t, left_by_its_file, 0, ARRAY_SIZE(executables));
	tcase_add_test(t, not_left_by_capabilities);
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
