// SPDX-License-Identifier: GPL-2.0
/* perfex -a and -C: CPUs that the fake kernel "counts". */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfex-command.h"
#include "perfex.h"

/* Four CPUs, in two sockets. */
static void setup(void)
{
	command_setup();
	fake.nrwords = 1;
	fake.cpus[0] = 0xf;
}

/* ---- counts --------------------------------------------------------------------- */

START_TEST(all_cpus)
{
	ck_assert_int_eq(perfex("-a", "-e", "instructions:u,cycles", "sh", "-c", "echo hello; exit 3"), 3);
	ck_assert_str_eq(out, "hello\n");
	has(err, " Counts of CPUs 0-3, system wide, during 'sh -c echo hello; exit 3' (4 CPUs, user and kernel mode unless marked");
	has(err, "              10,000  instructions:u\n");
	has(err, "              10,004  cycles\n");
	has(err, "         0.004000000  seconds counted\n");
	has(err, "  seconds elapsed\n");
	ck_assert_uint_eq(fake_seen->counted_cpus, 0xf);
	ck_assert_uint_eq(fake_seen->control.flags, 0);
	/* Other CPUs that there are, and the events of a processor without software events. */
	fake_reset();
	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("--all-cpus", "--timeout", "0s"), 0);
	has(err, " Counts of CPUs 0-3,32,63-64, system wide (7 CPUs,");
	has(err, "instructions");
	has_not(err, "task-clock");
}
END_TEST

START_TEST(list_of_cpus)
{
	ck_assert_int_eq(perfex("-C", "1,3", "-x,", "-e", "cycles", "true"), 0);
	ck_assert_str_eq(err, "6000,,cycles,2000000,100.00,,\n");
	ck_assert_uint_eq(fake_seen->counted_cpus, 0xa);
	ck_assert_int_eq(perfex("--cpu=0-2,2", "-e", "cycles", "--timeout=0s"), 0);
	has(err, " Counts of CPUs 0-2 (3 CPUs, user and kernel mode):\n");
	ck_assert_uint_eq(fake_seen->counted_cpus, 0x7);
	ck_assert_int_eq(perfex("-C0", "-e", "cycles:u", "-o", (char *)in_dir("file"), "true"), 0);
	ck_assert_str_eq(err, "");
	slurp("file", out, sizeof(out));
	has(out, " Counts of CPUs 0, during 'true' (1 CPU, user mode):\n");
}
END_TEST

START_TEST(each_cpu)
{
	ck_assert_int_eq(perfex("-a", "--per-cpu", "-e", "instructions:u,cycles:u", "true"), 0);
	has(err, "CPU0                       1,000  instructions:u        # 1.00 per cycle\n"
		 "CPU0                       1,001  cycles:u\n"
		 "CPU1                       2,000  instructions:u");
	has(err, "CPU3                       4,001  cycles:u\n\n");
	has_not(err, "seconds counted");
	/* perf's option, and its fields. */
	ck_assert_int_eq(perfex("-a", "-A", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "CPU0,1000,,cycles:u,1000000,100.00,,\n"
			      "CPU1,2000,,cycles:u,1000000,100.00,,\n"
			      "CPU2,3000,,cycles:u,1000000,100.00,,\n"
			      "CPU3,4000,,cycles:u,1000000,100.00,,\n");
	ck_assert_int_eq(perfex("-C2", "--no-aggr", "-j", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "{\"cpu\" : \"2\", \"counter-value\" : \"3000.000000\", \"unit\" : \"\", "
			      "\"event\" : \"cycles:u\", \"event-runtime\" : 1000000, "
			      "\"pcnt-running\" : 100.00, \"metric-value\" : 0.000000, \"metric-unit\" : \"\"}\n");
}
END_TEST

START_TEST(cores_and_sockets)
{
	ck_assert_int_eq(perfex("-a", "--per-socket", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "S0,2,3000,,cycles:u,2000000,100.00,,\n"
			      "S1,2,7000,,cycles:u,2000000,100.00,,\n");
	ck_assert_int_eq(perfex("-a", "--per-core", "-x,", "-e", "cycles:u", "true"), 0);
	has(err, "S0-D0-C1,1,2000,,cycles:u,1000000,100.00,,\n"
		 "S1-D0-C0,1,3000,,cycles:u,");
	ck_assert_int_eq(perfex("-C1-2", "--per-socket", "-j", "-e", "cycles:u", "true"), 0);
	has(err, "{\"socket\" : \"S0\", \"aggregate-number\" : 1, \"counter-value\" : \"2000.000000\"");
	has(err, "{\"socket\" : \"S1\", \"aggregate-number\" : 1, \"counter-value\" : \"3000.000000\"");
	ck_assert_int_eq(perfex("-a", "--per-core", "-e", "cycles:u", "true"), 0);
	has(err, "S1-D0-C1                   4,000  cycles:u\n");
	/* Without kinds, all CPUs are of one. */
	ck_assert_int_eq(perfex("-a", "--per-kind", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "kind0,4,10000,,cycles:u,4000000,100.00,,\n");
}
END_TEST

START_TEST(kinds)
{
	fake.nrkinds = 2;
	ck_assert_int_eq(perfex("-a", "--per-kind", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "core,2,4000,,cycles:u,2000000,100.00,,\n"
			      "atom,2,6000,,cycles:u,2000000,100.00,,\n");
	ck_assert_uint_eq(fake_seen->control.nrkinds, 2);
	ck_assert_int_eq(perfex("-a", "--kind=atom", "-e", "cycles:u", "true"), 0);
	has(err, " Counts of CPUs 1,3, system wide");
	ck_assert_uint_eq(fake_seen->control.kind, 1);
	/* The kind of these CPUs, whatever others there are. */
	ck_assert_int_eq(perfex("-C", "0,2", "-e", "cycles:u", "true"), 0);
	ck_assert_uint_eq(fake_seen->counted_cpus, 0x5);
	ck_assert_int_eq(perfex("-C", "0,1", "--kind=core", "-e", "cycles:u", "true"), 125);
	is_message("CPU 1 is not of kind 0, which is to be counted");
	ck_assert_int_eq(perfex("-a", "--kind=other", "-e", "cycles:u", "true"), 125);
	is_message("there is no kind 'other'");
	/* A CPU of no kind: it is left out, and so said, or refused. */
	fake.foreign_cpus = 0x8;
	ck_assert_int_eq(perfex("-a", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "6000,,cycles:u,3000000,100.00,,\n"
			      "perfex: Not included: CPUs 3, as their counters cannot be used\n");
	ck_assert_int_eq(perfex("-a", "-e", "cycles:u", "true"), 0);
	has(err, "\n Not included: CPUs 3, as their counters cannot be used.\n");
	ck_assert_int_eq(perfex("-C3", "-e", "cycles:u", "true"), 125);
	is_message("CPU 3 has no counters that can be used: see perfex info");
	fake.foreign_cpus = 0xf;
	ck_assert_int_eq(perfex("-a", "-e", "cycles:u", "true"), 125);
	is_message("no CPU has counters that can be used");
}
END_TEST

/* The sums of intervals are those of the reads; the last one is at the end. */
START_TEST(intervals)
{
	unsigned int cpu, lines[4] = { 0 };
	char *line, *rest = err;
	unsigned long n;
	double at, last = 0;
	int length = 0;

	ck_assert_int_eq(perfex("-a", "--per-cpu", "-I", "20", "-x,", "-e", "cycles:u", "sleep", "0.5"), 0);
	while ((line = strsep(&rest, "\n")) && *line) {
		ck_assert_int_eq(sscanf(line, "%lf,CPU%u,%lu,,cycles:u,1000000,", &at, &cpu, &n), 3);
		ck_assert(at >= last);
		last = at;
		ck_assert_uint_lt(cpu, 4);
		ck_assert_uint_eq(n, 1000 * (cpu + 1));
		lines[cpu]++;
	}
	ck_assert_uint_ge(lines[0], 2);
	ck_assert_uint_eq(lines[0], lines[3]);
	ck_assert_int_eq(perfex("-a", "-I", "20", "-j", "-e", "cycles:u", "--timeout=0.5"), 0);
	ck_assert_int_eq(sscanf(err, "{\"interval\" : %lf, \"counter-value\" : \"10000.000000\"%n", &at, &length), 1);
	ck_assert_int_gt(length, 0);
	ck_assert(at >= 0.02);
	ck_assert_int_eq(perfex("-a", "--per-socket", "-I", "20", "-e", "cycles:u", "--timeout=0.5"), 0);
	has(err, "#           time on                        counts  events\n");
	has(err, " S1                         7,000  cycles:u\n");
}
END_TEST

/* Each with intervals of a tenth of a second. */
static char *const ways_of_intervals[][8] = {
	{ "perfex", "-I100", "-x,", "-ecycles:u", "sleep", "1" },
	{ "perfex", "-I100", "-x,", "-ecycles:u", "-a", "--timeout=1s" },
	{ "perfex", "-I100", "-x,", "-ecycles:u", "-p", "1", "--timeout=1s" },
	{ "perfex", "-I100", "-x,", "-ecycles:u", "-p", "1", "--per-thread", "--timeout=1s" },
	{ "perfex", "top", "-I100", "-ecycles:u", "--timeout=1s" },
};

/* Read the times of the intervals that perfex has printed.  Return: how many there are. */
static unsigned int times_of_intervals(double *times, unsigned int room)
{
	char *rest, *line, text[sizeof(err)];
	unsigned int nr = 0;
	double at;

	slurp("err", text, sizeof(text));
	if (!*text)
		slurp("out", text, sizeof(text));
	for (rest = text; nr < room && (line = strsep(&rest, "\n"));)
		if (sscanf(line, "%lf", &at) == 1 && (!nr || at > times[nr - 1]))
			times[nr++] = at;
	return nr;
}

#define STOPPED		0.55	/* seconds */

/* perfex is stopped for a while, and reads the counts of an interval late: its time says so. */
START_TEST(late_interval)
{
	unsigned int i, nr = 0;
	double times[64];
	char pid_text[16];
	char *argv[9];
	pid_t pid;

	snprintf(pid_text, sizeof(pid_text), "%d", getpid());
	memset(argv, 0, sizeof(argv));
	for (i = 0; i < 8 && ways_of_intervals[_i][i]; i++)
		argv[i] = strcmp(ways_of_intervals[_i][i], "1") || _i < 2 ? ways_of_intervals[_i][i] : pid_text;
	pid = start(argv);
	for (i = 0; i < 3000 && !times_of_intervals(times, ARRAY_SIZE(times)); i++)
		usleep(5000);
	kill(pid, SIGSTOP);
	usleep((useconds_t)(STOPPED / 2 * 1e6));
	nr = times_of_intervals(times, ARRAY_SIZE(times));
	usleep((useconds_t)(STOPPED / 2 * 1e6));
	kill(pid, SIGCONT);
	ck_assert_int_eq(finish(pid), 0);
	ck_assert_uint_ge(nr, 1);
	ck_assert_uint_gt(times_of_intervals(times, ARRAY_SIZE(times)), nr);
	/* top prints milliseconds. */
	ck_assert_msg(times[nr] - times[nr - 1] >= STOPPED - 0.001, "%f, then %f", times[nr - 1], times[nr]);
}
END_TEST

START_TEST(several_runs)
{
	ck_assert_int_eq(perfex("-a", "-r", "3", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "10000,,cycles:u,0.00%,4000000,100.00,,\n");
	ck_assert_int_eq(perfex("-a", "-r", "2", "--per-socket", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "S0,2,3000,,cycles:u,0.00%,2000000,100.00,,\n"
			      "S1,2,7000,,cycles:u,0.00%,2000000,100.00,,\n");
	ck_assert_int_eq(perfex("-a", "-r", "2", "--per-cpu", "-e", "cycles:u", "sh", "-c", "exit 2"), 2);
	has(err, "mean of 2 runs");
	has(err, "CPU3                       4,000  cycles:u              # 0.004 GHz  ( +-  0.00% )\n");
	ck_assert_uint_eq(fake_seen->controls, 3 + 2 + 2);
	/* Each event in one of several runs: the first of each has the same sum. */
	ck_assert_int_eq(perfex("-a", "--runs=auto", "--per-cpu", "-x,", "-e", "r010e,r0151,r0185,r0187,r0149", "true"), 0);
	has(err, "CPU1,2000,,r010e,");
	has(err, "CPU1,2000,,r0149,");
	has(err, "CPU3,4003,,r0187,");
}
END_TEST

/* ---- until when ------------------------------------------------------------------- */

START_TEST(until_signal)
{
	/* It has printed an interval, so it catches signals. */
	pid_t pid = start(ARGV("-a", "-I", "20", "-e", "cycles:u"));

	do {
		usleep(10000);
		slurp("err", err, sizeof(err));
	} while (!strstr(err, "cycles:u"));
	kill(pid, SIGINT);
	ck_assert_int_eq(finish(pid), 0);
}
END_TEST

/* The command decides, and gets the signal that a process sends to perfex. */
START_TEST(signal_passed_on)
{
	char command[200];

	snprintf(command, sizeof(command), "trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.02; done");
	ck_assert_int_eq(perfex("-a", "-e", "cycles:u", "sh", "-c", command), 7);
	has(err, "              10,000  cycles:u\n");
	ck_assert_int_eq(perfex("-a", "-r", "5", "-x,", "-e", "cycles:u", "sh", "-c", command), 7);
	has(err, "A signal came in the first run");
	ck_assert_int_eq(perfex("-a", "-x,", "-e", "cycles:u", "sh", "-c", "kill -KILL $$"), 128 + SIGKILL);
}
END_TEST

/* Signals and their mask are, for the command, as perfex found them. */
START_TEST(command_signals)
{
	unsigned long blocked, ignored;

	ck_assert_int_eq(perfex("-a", "-o", "/dev/null", "grep", "Sig[BI]", "/proc/self/status"), 0);
	ck_assert_int_eq(sscanf(out, "SigBlk: %lx SigIgn: %lx", &blocked, &ignored), 2);
	ck_assert_uint_eq(blocked, 0);
	/* The C library has signals of its own. */
	ck_assert_uint_eq(ignored & 0x7fffffff, 0);
	ck_assert_int_eq(perfex("-a", "-o", "/dev/null", "ls", "/proc/self/fd"), 0);
	ck_assert_str_eq(out, "0\n1\n2\n3\n");
}
END_TEST

START_TEST(command_cannot_run)
{
	ck_assert_int_eq(perfex("-a", "no-such-command-at-all"), 127);
	is_message("there is no command 'no-such-command-at-all'");
	ck_assert_int_eq(perfex("-a", "/"), 126);
	ck_assert_int_eq(perfex("-a", "-r", "2", "no-such-command-at-all"), 127);
}
END_TEST

/* ---- perfex top ---------------------------------------------------------------------- */

/* Put a star for the time of each line: perfex may have been late. */
static void hide_times(char *text)
{
	for (; text && *text; text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL)
		if (strspn(text, " 0123456789.") > 10)
			memcpy(text, "         *", 10);
}

START_TEST(top_in_a_pipe)
{
	ck_assert_int_eq(perfex("top", "-I", "20", "-e", "instructions:u,cycles:u", "--timeout=0.5"), 0);
	ck_assert_str_eq(err, "");
	hide_times(out);
	ck_assert_msg(!strncmp(out,
		"      time                instructions:u        cycles:u\n"
		"         *  CPU0                    1000            1001\n"
		"         *  CPU1                    2000            2001\n"
		"         *  CPU2                    3000            3001\n"
		"         *  CPU3                    4000            4001\n"
		"         *  all                    10000           10004\n", 56 + 5 * 56), "%s", out);
	/* The end of the time ends an interval, too. */
	ck_assert_ptr_nonnull(strstr(strstr(out, "  CPU0 ") + 1, "  CPU0                    1000            1001\n"));
	ck_assert_ptr_null(strchr(out, '\033'));
	/* Options before it, parts, CPUs, and a file. */
	ck_assert_int_eq(perfex("-C", "2,3", "top", "--per-socket", "-I20", "--timeout=0.5", "-o", (char *)in_dir("file")), 0);
	ck_assert_str_eq(out, "");
	slurp("file", out, sizeof(out));
	hide_times(out);
	has(out, "      time                  instructions          cycles        branches   branch-misses\n"
		 "         *  S1                      7000            7002            7004            7006\n");
	has_not(out, "S0");
}
END_TEST

/* A table that cannot be written is on standard error, from its heading on. */
START_TEST(top_to_a_full_disk)
{
	ck_assert_int_eq(perfex("-C", "0", "top", "-I20", "-e", "cycles:u", "--timeout=0.1", "-o", "/dev/full"), 125);
	hide_times(err);
	ck_assert_msg(strstr(err, "      time                      cycles:u\n"
				  "         *  CPU0                    1000\n"
				  "         *  all                     1000\n") == err, "%s", err);
	ck_assert_ptr_null(strstr(strstr(err, "time ") + 1, "time "));
	has(err, "perfex: cannot write to '/dev/full': ");
}
END_TEST

/* A long run without other output says that it is one. */
START_TEST(progress_on_terminal)
{
	char pid[16];
	pid_t target;

	setenv("TERM", "vt100", 1);
	ck_assert_int_eq(perfex_on_terminal(ARGV("-C", "0", "-e", "cycles", "--timeout=3.5")), 0);
	/* On a busy machine, a second may pass without a line. */
	has(out, "  counting: ");
	has(out, " of 3.5 seconds\033[K\r\033[K");
	ck_assert_int_eq(perfex_on_terminal(ARGV("-C", "0", "-e", "cycles", "--timeout=1s")), 0);
	has_not(out, "counting");
	/* Not beside a command's output or intervals, and not where there is no terminal. */
	ck_assert_int_eq(perfex_on_terminal(ARGV("-C", "0", "-e", "cycles", "sleep", "2.2")), 0);
	has_not(out, "counting:");
	ck_assert_int_eq(perfex_on_terminal(ARGV("-C", "0", "-I", "1000", "-e", "cycles", "--timeout=2.2")), 0);
	has_not(out, "counting:");
	ck_assert_int_eq(perfex("-C", "0", "-e", "cycles", "--timeout=2.2"), 0);
	has_not(err, "counting:");
	fflush(NULL);
	target = fork();
	if (!target) {
		pause();
		_exit(0);
	}
	snprintf(pid, sizeof(pid), "%d", (int)target);
	ck_assert_int_eq(perfex_on_terminal(ARGV("-p", pid, "-e", "cycles", "--timeout=3.5")), 0);
	has(out, "  counting: ");
	has(out, " of 3.5 seconds\033[K\r\033[K");
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
}
END_TEST

/* The times of tables are those of their reads, which may be late on a busy machine. */
static int top_on_terminal(const char *timeout)
{
	int status;

	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	status = perfex_on_terminal(ARGV("top", "-I", "100", "-e", "cycles:u", "--timeout", (char *)(uintptr_t)timeout));
	replace_all(out, "  ([0-9]+\\.[0-9]) s\033", "TIME");
	return status;
}

START_TEST(top_on_a_terminal)
{
	unsigned int i;

	/* Two tables at least: only the first may be late by seconds. */
	ck_assert_int_eq(top_on_terminal("3s"), 0);
	ck_assert_msg(!strncmp(out, "\033[2J\033[H", 7), "%s", out);
	has(out, "\033[H\033[1m                    cycles:u\033[m  TIME s\033[K\r\n"
		 "CPU0                   1,000\033[K\r\n");
	has(out, "\033[1mall                   10,000\033[m\033[K\r\n\033[J");
	/* The second table is over the first. */
	ck_assert_ptr_nonnull(strstr(strstr(out, "\033[J") + 1, "\033[H"));
	ck_assert_ptr_null(strstr(out + 4, "\033[2J"));
	/* More CPUs than a terminal of 24 lines has room for. */
	fake.cpus[0] = 0xffffffff;
	ck_assert_int_eq(top_on_terminal("0.2"), 0);
	has(out, "\nCPU19 ");
	has_not(out, "\nCPU20 ");
	has(out, "and 12 more\033[K\r\n");
	for (i = 0; i < 4; i++) {
		setenv("TERM", i & 1 ? "dumb" : "xterm", 1);
		setenv("NO_COLOR", i & 2 ? "1" : "", 1);
		ck_assert_int_eq(perfex_on_terminal(ARGV("top", "-I", "100", "-e", "cycles:u", "--timeout=0.2")), 0);
		ck_assert_int_eq(!strstr(out, "\033["), i & 1);
		ck_assert_int_eq(!strstr(out, "\033[1m"), i != 0);
	}
}
END_TEST

/* ---- for Prometheus ------------------------------------------------------------------- */

START_TEST(prometheus)
{
	char *file = strdup(in_dir("perfex.prom")), option[100], text[4096];
	const struct dirent *entry;
	unsigned int n = 0;
	DIR *d;

	snprintf(option, sizeof(option), "--prometheus=%s", file);
	ck_assert_int_eq(perfex("-C", "0,2", option, "-I", "100000", "-e", "instructions:u,cycles", "sh", "-c", "exit 3"), 3);
	ck_assert_str_eq(err, "");
	slurp("perfex.prom", text, sizeof(text));
	ck_assert_str_eq(text,
		"# HELP perfex_events_total Events of the processor since perfex was started.\n"
		"# TYPE perfex_events_total counter\n"
		"perfex_events_total{cpu=\"0\",event=\"instructions:u\"} 1000\n"
		"perfex_events_total{cpu=\"0\",event=\"cycles\"} 1001\n"
		"perfex_events_total{cpu=\"2\",event=\"instructions:u\"} 3000\n"
		"perfex_events_total{cpu=\"2\",event=\"cycles\"} 3001\n"
		"# HELP perfex_counted_seconds_total Time of these CPUs, with that of their sleep.\n"
		"# TYPE perfex_counted_seconds_total counter\n"
		"perfex_counted_seconds_total{cpu=\"0\"} 0.001000000\n"
		"perfex_counted_seconds_total{cpu=\"2\"} 0.001000000\n");
	ck_assert_int_eq(perfex("-a", "--per-socket", option, "-e", "cycles", "true"), 0);
	slurp("perfex.prom", text, sizeof(text));
	has(text, "\nperfex_events_total{socket=\"0\",event=\"cycles\"} 3000\n"
		  "perfex_events_total{socket=\"1\",event=\"cycles\"} 7000\n");
	/* An offline CPU has no counts.  Kinds and cores have names. */
	fake.offline = 0xe;
	fake.nrkinds = 2;
	ck_assert_int_eq(perfex("-a", option, "-e", "cycles", "true"), 0);
	slurp("perfex.prom", text, sizeof(text));
	has_not(text, "cpu=\"1\"");
	ck_assert_int_eq(perfex("-a", "--per-kind", option, "-e", "cycles", "true"), 0);
	slurp("perfex.prom", text, sizeof(text));
	has(text, "{kind=\"core\",event=\"cycles\"} 1000\n");
	/* No two series have the same labels. */
	fake.offline = 0;
	fake.nrkinds = 1;
	ck_assert_int_eq(perfex("-C", "0", option, "-e", "cycles,instructions,cycles,cycles", "true"), 0);
	slurp("perfex.prom", text, sizeof(text));
	has(text, "{cpu=\"0\",event=\"cycles\"} 1000\n"
		  "perfex_events_total{cpu=\"0\",event=\"instructions\"} 1001\n"
		  "perfex_events_total{cpu=\"0\",event=\"cycles\",counter=\"2\"} 1002\n"
		  "perfex_events_total{cpu=\"0\",event=\"cycles\",counter=\"3\"} 1003\n");
	/* No other file is left, but out and err. */
	d = opendir(dir);
	while ((entry = readdir(d)))
		n += *entry->d_name != '.';
	closedir(d);
	ck_assert_uint_eq(n, 3);
	free(file);
}
END_TEST

/* A reader finds a complete file at any time, and its counts only grow. */
START_TEST(prometheus_is_never_incomplete)
{
	char option[100], text[4096];
	unsigned long last = 0, now;
	unsigned int changes = 0;
	const char *count;
	pid_t pid;

	snprintf(option, sizeof(option), "--prometheus=%s", in_dir("perfex.prom"));
	pid = start(ARGV("-a", option, "-I", "1", "-e", "cycles:u"));
	while (changes < 20) {
		slurp("perfex.prom", text, sizeof(text));
		count = strstr(text, "perfex_events_total{cpu=\"0\"");
		/* There is no file yet, or one without counts. */
		if (!count) {
			ck_assert_uint_eq(changes, 0);
			continue;
		}
		ck_assert_msg(strstr(text, "perfex_counted_seconds_total{cpu=\"3\"} ") &&
			      text[strlen(text) - 1] == '\n', "%s", text);
		now = strtoul(strstr(count, "} ") + 2, NULL, 10);
		ck_assert_uint_ge(now, last);
		changes += now > last;
		last = now;
	}
	kill(pid, SIGTERM);
	ck_assert_int_eq(finish(pid), 0);
	ck_assert_str_eq(err, "");
}
END_TEST

START_TEST(prometheus_errors)
{
	char option[100], long_name[300], command[200];

	ck_assert_int_eq(perfex("-a", "--prometheus=/nonexistent/x.prom", "-e", "cycles", "true"), 125);
	is_message("cannot write to '/nonexistent/x.prom': No such file or directory");
	ck_assert_uint_eq(fake_seen->controls, 0);
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	ck_assert_int_eq(perfex("-a", "--prometheus", long_name, "-e", "cycles", "true"), 125);
	has(err, "File name too long");
	/* A directory cannot be replaced.  Nothing is left of the new file. */
	snprintf(option, sizeof(option), "--prometheus=%s", dir);
	ck_assert_int_eq(perfex("-a", option, "-e", "cycles", "true"), 125);
	is_message("Is a directory");
	/* It becomes impossible: this is said once, and in the status. */
	snprintf(option, sizeof(option), "--prometheus=%s", in_dir("sub/x.prom"));
	snprintf(command, sizeof(command), "cd %s; sleep 0.1; mv sub gone; sleep 0.1; exit 3", dir);
	ck_assert_int_eq(mkdir(in_dir("sub"), 0755), 0);
	ck_assert_int_eq(perfex("-a", option, "-I", "10", "-e", "cycles", "sh", "-c", command), 125);
	ck_assert_ptr_eq(strstr(strstr(err, "No such file or directory\n") + 1, "No such file"), NULL);
	has(err, "\nperfex: the last counts are not in '");
	/* It becomes possible again. */
	snprintf(command, sizeof(command), "cd %s; mv sub gone/; sleep 0.1; mkdir sub", dir);
	ck_assert_int_eq(mkdir(in_dir("sub"), 0755), 0);
	ck_assert_int_eq(perfex("-a", option, "-I", "10", "-e", "cycles", "sh", "-c", command), 0);
	ck_assert_int_eq(access(in_dir("sub/x.prom"), F_OK), 0);
	/* A new file may be left where the directory went in the middle of a write. */
	snprintf(command, sizeof(command), "rm -r %s/sub %s/gone", dir, dir);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

/* ---- samples ------------------------------------------------------------------------ */

/* Two CPUs sample this process and their idle tasks, in both modes. */
static void make_samples(void)
{
	const uint32_t pid = (uint32_t)getpid();
	unsigned int i;

	fake.nrsamples = 8;
	for (i = 0; i < 4; i++)
		fake.samples[i] = (struct vperfctr_sample){
			.type = VPERFCTR_SAMPLE_OVERFLOW, .ip = UINT64_C(0xffffffff81000000) + i,
			.flags = VPERFCTR_SAMPLE_KERNEL, .cpu = i / 2, .tsc = 100 + i, .overflow = 1,
			.pid = i % 2 ? pid : 0, .tid = i % 2 ? pid : 0,
		};
	fake.samples[1].flags = VPERFCTR_SAMPLE_USER;
	fake.samples[1].ip = 0x5000;
}

/* perfex --sample -a -o FILE ARGUMENT... */
#define sample_all(option, ...) perfex(option, "-a", "-o", (char *)in_dir("s"), ##__VA_ARGS__)
#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

START_TEST(samples)
{
	make_samples();
	ck_assert_int_eq(sample_all("--sample=cycles=1k", "sh", "-c", "echo hello; exit 3"), 3);
	ck_assert_str_eq(out, "hello\n");
	has(err, "perfex: 8 samples in '");
	has(err, "0 dropped; 10,000 cycles in all\n");
	has_not(err, "thread");
	ck_assert_uint_eq(fake_seen->counted_cpus, 0xf);
	ck_assert_uint_eq(fake_seen->ring.flags, VPERFCTR_RING_KERNEL);
	ck_assert_uint_eq(fake_seen->control.flags, VPERFCTR_CONTROL_RING);
	ck_assert_uint_eq(fake_seen->control.nrictrs, 1);
	ck_assert_int_eq(fake_seen->ctr[0].ireset, -1000);
	ck_assert_int_eq(report("--sort=cpu,comm,pid"), 0);
	has(out, " Samples of 'CPUs 0-3 during sh -c echo hello; exit 3' (one each 1,000 cycles):\n");
	has(out, "seconds counted\n");
	has(out, "swapper");
	ck_assert_int_eq(report("--sort=comm", "-j"), 0);
	/* The test itself ran all the time. */
	has(out, "\"comm\":\"test_perfex_cpu\"");
	has(out, "\"comm\":\"swapper\"");

	/* Some CPUs, for a time, with rate and calls, and with the event of CPUs. */
	fake.nrcalls = 2;
	ck_assert_int_eq(perfex("-C1-2", "--sample", "-F", "100", "-g", "-o", (char *)in_dir("s"), "--timeout=0.1"), 0);
	has(err, "perfex: about 100 samples of cycles per second of each CPU (-e EVENT chooses another)\n");
	ck_assert_uint_eq(fake_seen->counted_cpus, 0x6);
	ck_assert_uint_eq(fake_seen->ring.kernel_depth, 64);
	ck_assert_uint_eq(fake_seen->ring.rate, 100);
	ck_assert_int_eq(report(), 0);
	has(out, " Samples of 'CPUs 1-2' (about 100 per second of each CPU):\n");

	ck_assert_int_eq(sample_all("--sample=instructions:u=1k", "true"), 0);
	ck_assert_uint_eq(fake_seen->ring.flags, 0);
}
END_TEST

/* Threads that have no name in the file have that of their process. */
START_TEST(samples_of_new_threads)
{
	unsigned int i;

	make_samples();
	for (i = 0; i < 4; i++) {
		fake.samples[i].pid = (uint32_t)getpid();
		fake.samples[i].tid = 999999999;
	}
	ck_assert_int_eq(sample_all("--sample=cycles=1k", "true"), 0);
	ck_assert_int_eq(report("--sort=comm,tid", "-j"), 0);
	has(out, "\"comm\":\"test_perfex_cpu\"");
	has(out, "999999999");
}
END_TEST

START_TEST(samples_fail)
{
	char command[100];

	make_samples();
	fake.fail[FAKE_RING] = EAGAIN;
	ck_assert_int_eq(sample_all("--sample=cycles=1k", "true"), 125);
	is_message("this user has as much memory for samples as allowed");
	ck_assert_uint_eq(fake_seen->controls, 0);
	fake.fail[FAKE_RING] = 0;
	fake.fail[FAKE_CONTROL] = EBUSY;
	ck_assert_int_eq(sample_all("--sample=cycles=1k", "true"), 125);
	is_message("the counters");
	fake.fail[FAKE_CONTROL] = 0;
	/* The command runs on. */
	fake.fail[FAKE_CONSUME] = EIO;
	snprintf(command, sizeof(command), "sleep 0.2; echo done > %s", in_dir("done"));
	ck_assert_int_eq(sample_all("--sample=cycles=1k", "sh", "-c", command), 125);
	is_message("cannot read samples: Input/output error");
	ck_assert_int_eq(access(in_dir("done"), F_OK), 0);
	ck_assert_int_eq(sample_all("--sample=cycles=1k"), 125);
	is_message("cannot read samples: Input/output error");
	fake.fail[FAKE_CONSUME] = 0;
	ck_assert_int_eq(sample_all("--sample=task-clock=1ms", "true"), 125);
	is_message("task-clock is the time of threads: with -a and -C sample an event of the processor, such as cycles");
	fake.info.features &= ~(uint32_t)VPERFCTR_FEATURE_PCINT;
	ck_assert_int_eq(sample_all("--sample", "true"), 125);
	is_message("has no overflow interrupts, so there are no samples");
}
END_TEST

/* ---- CPUs that cannot be counted ----------------------------------------------------- */

START_TEST(bad_lists)
{
	static char *const bad[] = { "", "x", "1-", "-1", "1,,2", "3-1", "1,", "0-3x", "99999999999999999999", "1 2" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(perfex("-C", bad[i], "true"), 125);
		is_message("is not a list of CPUs such as 0-3,8");
	}
	ck_assert_int_eq(perfex("-C", "2-4", "true"), 125);
	is_message("there is no CPU 4: this machine has CPUs 0-3");
	ck_assert_int_eq(perfex("-C", "4294967294", "true"), 125);
	is_message("there is no CPU 4294967294");
	ck_assert_uint_eq(fake_seen->controls, 0);
}
END_TEST

START_TEST(offline)
{
	fake.offline = 0x4;
	ck_assert_int_eq(perfex("-C", "1-2", "true"), 125);
	is_message("CPU 2 is offline: leave it out, or bring it online with 'echo 1 | sudo tee /sys/devices/system/cpu/cpu2/online'");
	/* With -a it would be counted when it came online. */
	ck_assert_int_eq(perfex("-a", "--per-cpu", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "CPU0,1000,,cycles:u,1000000,100.00,,\n"
			      "CPU1,2000,,cycles:u,1000000,100.00,,\n"
			      "CPU3,4000,,cycles:u,1000000,100.00,,\n");
	ck_assert_uint_eq(fake_seen->counted_cpus, 0xf);
	ck_assert_int_eq(perfex("-a", "--per-socket", "-x,", "-e", "cycles:u", "true"), 0);
	ck_assert_str_eq(err, "S0,2,3000,,cycles:u,2000000,100.00,,\n"
			      "S1,1,4000,,cycles:u,1000000,100.00,,\n");
	fake.offline = 0;
	fake.was_offline = 0x2;
	ck_assert_int_eq(perfex("-a", "-x,", "-e", "cycles:u", "true"), 0);
	has(err, "\nperfex: CPU 1 was offline for a part of the time\n");
	fake.was_offline = 0xe;
	ck_assert_int_eq(perfex("-a", "-I", "20", "-e", "cycles:u", "--timeout=0.05"), 0);
	has(err, "\nperfex: CPU 1 was offline for a part of the time, as 2 more\n");
	fake.was_offline = 0;
	fake.broken = 0x2;
	ck_assert_int_eq(perfex("-a", "-x,", "-e", "cycles:u", "true"), 125);
	ck_assert_str_eq(err, "10000,,cycles:u,4000000,100.00,,\n"
			      "perfex: CPU 1 came online, and its counters do not work there: see vperfctr's line in dmesg\n");
}
END_TEST

static const struct {
	enum fake_call call;
	int err;
	const char *message;
} failures[] = {
	{ FAKE_OPEN_CPUS, EPERM, "counting CPUs shows what all users do, and needs CAP_PERFMON: use sudo, or count a command without -a and -C" },
	{ FAKE_OPEN_CPUS, EOPNOTSUPP, "the vperfctr module cannot count CPUs here" },
	{ FAKE_OPEN_CPUS, ENOTTY, "the vperfctr module is too old to count CPUs" },
	{ FAKE_OPEN_CPUS, ENOMEM, "cannot use /dev/vperfctr: Cannot allocate memory" },
	{ FAKE_DEVICE, EACCES, "/dev/vperfctr" },
	{ FAKE_CPUS, ENOMEM, "cannot use /dev/vperfctr: Cannot allocate memory" },
	{ FAKE_CONTROL, EPERM, "needs CAP_PERFMON" },
	{ FAKE_CONTROL, EBUSY, "the counters" },
	{ FAKE_CONTROL, EIO, "the counters do not work as the processor" },
	{ FAKE_CONTROL, EUSERS, "not all of these CPUs can count this" },
#ifdef __x86_64__
	{ FAKE_CONTROL, EACCES, "as rdpmc is 2" },
#endif
	{ FAKE_CONTROL, EOPNOTSUPP, "while the hyper-thread sibling of a CPU is online" },
	{ FAKE_CONTROL, EINVAL, "the processor cannot count these events as asked for" },
	{ FAKE_SUSPEND, EIO, "cannot read the counters: Input/output error" },
	{ FAKE_READ_CPUS, EIO, "cannot read the counters: Input/output error" },
};

START_TEST(failing_calls)
{
	fake.fail[failures[_i].call] = failures[_i].err;
	ck_assert_int_eq(perfex("-a", "-e", "cycles:u", "true"), 125);
	is_message(failures[_i].message);
	/* An interval fails, too; before the end, it succeeds. */
	if (failures[_i].call == FAKE_SUSPEND)
		return;
	ck_assert_int_eq(perfex("-a", "-I", "1", "-e", "cycles:u", "sleep", "0.1"), 125);
	is_message(failures[_i].message);
}
END_TEST

/* perfex does not leave a command alone when an interval, or the gate, cannot be read. */
START_TEST(failing_reads)
{
	static const char *const options[] = { "-I20", "-D20" };
	char text[256];

	fake.fail[FAKE_READ_CPUS] = EIO;
	snprintf(text, sizeof(text), "exec > /dev/null 2>&1; sleep 0.3; : > %s", in_dir("ended"));
	ck_assert_int_eq(perfex("-a", (char *)options[_i], "-e", "cycles:u", "sh", "-c", text), 125);
	ck_assert_int_eq(access(in_dir("ended"), F_OK), 0);
	is_message("cannot read the counters: Input/output error");
}
END_TEST

/* ---- misuse ---------------------------------------------------------------------------- */

static const struct {
	char *argv[8];
	const char *message;
} misuses[] = {
	{ { "perfex", "-a", "-p", "1" }, "-a and -C count CPUs, and cannot be combined with -p" },
	{ { "perfex", "-C0", "-t", "1" }, "-a and -C count CPUs, and cannot be combined with -p" },
	{ { "perfex", "-a", "--no-inherit", "true" }, "-a and -C count CPUs, and cannot be" },
	{ { "perfex", "-a", "--per-thread", "true" }, "-a and -C count CPUs, and cannot be" },
	{ { "perfex", "-A", "-a", "--sample", "-o", "/dev/null" }, "perfex record has no -A, which is an option of perfex stat, perfex top" },
	{ { "perfex", "-a", "--sample", "-o/dev/null", "-I9" }, "there is no -I, which perf record has" },
	{ { "perfex", "-a", "--report=x" }, "perfex report has no -a, which is an option of perfex stat" },
	{ { "perfex", "-a", "--self-test" }, "perfex self-test has no -a" },
	{ { "perfex", "-C0", "list" }, "perfex list has no -C" },
	{ { "perfex", "-a", "-i" }, "perfex info has no -a" },
	{ { "perfex", "-a", "-r", "2" }, "-r and --runs need a command" },
	{ { "perfex", "-a", "--runs=auto", "--timeout=1s" }, "-r and --runs need a command" },
	{ { "perfex", "-a", "--timeout=1s", "true" }, "either --timeout or a command" },
	{ { "perfex", "--per-cpu", "true" }, "--per-cpu, --per-core, --per-socket and --per-kind are for -a and -C" },
	{ { "perfex", "--per-socket", "-p", "1" }, "are for -a and -C" },
	{ { "perfex", "-a", "--per-core", "--per-cpu", "true" }, "one of --per-cpu, --per-core, --per-socket and --per-kind at a time" },
	{ { "perfex", "-a", "-r2", "-I5", "true" }, "-I goes neither with -r nor" },
	{ { "perfex", "--timeout=1s", "true" }, "--timeout is for -p, -t, -a and -C" },
	{ { "perfex", "top", "ls" }, "perfex top runs no command (perfex -- top runs the program of that name)" },
	{ { "perfex", "top", "-j" }, "there is no -j, which perf top has: samples have no branch records, and perfex stat -I MS -j" },
	{ { "perfex", "-r2", "top" }, "there is no -r, which perf top has: chrt -f N" },
	{ { "perfex", "top", "--prometheus=x" }, "perfex top has no --prometheus" },
	{ { "perfex", "top", "-p", "1", "-A" }, "-p and -t show functions: -A, --per-core" },
	{ { "perfex", "top", "-a", "--wait=3" }, "--control and --wait are for counts of CPUs" },
	{ { "perfex", "top", "-F", "99" }, "-F, -c and -s are for -a, -p and -t, which show functions" },
	{ { "perfex", "top", "-g" }, "there is no -g, which perf top has: perfex record -a -g" },
	{ { "perfex", "top", "top" }, "perfex top runs no command" },
	{ { "perfex", "--prometheus=x", "true" }, "--prometheus is for -a and -C" },
	{ { "perfex", "-a", "--prometheus=x", "-j", "true" }, "--prometheus prints to its file" },
	{ { "perfex", "-a", "--prometheus=x", "-o", "/dev/null", "true" }, "--prometheus prints to its file" },
	{ { "perfex", "-a", "--prometheus=x", "-r2", "true" }, "--prometheus prints to its file" },
	{ { "perfex", "-C" }, "option -C needs an argument" },
	{ { "perfex", "-aG", "x" }, "there is no -G, which perf stat has: -p $(paste -sd, " },
	{ { "perfex", "-a", "-e", "cs", "true" }, "the module counts 'cs' for threads, and not for CPUs" },
};

START_TEST(misuse)
{
	fake.info.soft = 0x1f;
	ck_assert_int_eq(finish(start((char **)(uintptr_t)misuses[_i].argv)), 125);
	is_message(misuses[_i].message);
	ck_assert_uint_eq(fake_seen->controls, 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex, CPUs");
	TCase *t = tcase_create("CPUs");

	tcase_add_checked_fixture(t, setup, command_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, all_cpus);
	tcase_add_test(t, list_of_cpus);
	tcase_add_test(t, each_cpu);
	tcase_add_test(t, cores_and_sockets);
	tcase_add_test(t, kinds);
	tcase_add_test(t, intervals);
	tcase_add_loop_test(t, late_interval, 0, ARRAY_SIZE(ways_of_intervals));
	tcase_add_test(t, several_runs);
	tcase_add_test(t, progress_on_terminal);
	tcase_add_test(t, top_in_a_pipe);
	tcase_add_test(t, top_to_a_full_disk);
	tcase_add_test(t, top_on_a_terminal);
	tcase_add_test(t, prometheus);
	tcase_add_test(t, prometheus_is_never_incomplete);
	tcase_add_test(t, prometheus_errors);
	tcase_add_test(t, samples);
	tcase_add_test(t, samples_of_new_threads);
	tcase_add_test(t, samples_fail);
	tcase_add_test(t, until_signal);
	tcase_add_test(t, signal_passed_on);
	tcase_add_test(t, command_signals);
	tcase_add_test(t, command_cannot_run);
	tcase_add_test(t, bad_lists);
	tcase_add_test(t, offline);
	tcase_add_loop_test(t, failing_calls, 0, ARRAY_SIZE(failures));
	tcase_add_loop_test(t, failing_reads, 0, 2);
	tcase_add_loop_test(t, misuse, 0, ARRAY_SIZE(misuses));
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
