// SPDX-License-Identifier: GPL-2.0
/* Unit tests of perfex's commands: their options, help and messages, and the old spellings. */
#include "option-table.h"
#include "perfex-command.h"

/* A screen: lines, and columns. */
static void fits_screen(const char *text)
{
	const char *line = text;
	unsigned int nr = 0;

	for (; *line; line += strcspn(line, "\n"), line += *line == '\n', nr++)
		ck_assert_msg(strcspn(line, "\n") <= 80, "%zu columns: %.*s", strcspn(line, "\n"),
			      (int)strcspn(line, "\n"), line);
	ck_assert_msg(nr <= 48, "%u lines:\n%s", nr, text);
	has_not(text, "\t");
}

static int nr_commands(void)
{
	int nr = 0;

	while (commands[nr])
		nr++;
	return nr;
}

/* The one in the table of perfex. */
START_TEST(help_of_each_command)
{
	char *name = (char *)commands[_i]->name;
	char usage[64], help[sizeof(out)];

	snprintf(usage, sizeof(usage), "Usage: perfex %s ", name);
	ck_assert_int_eq(perfex(name, "--help"), 0);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(strncmp(out, usage, strlen(usage)), 0);
	has(out, "\n  -h, --help ");
	fits_screen(out);
	strcpy(help, out);
	ck_assert_int_eq(perfex("help", name), 0);
	ck_assert_str_eq(out, help);
	ck_assert_int_eq(perfex(name, "-V"), 0);
	ck_assert_str_eq(out, "perfex " VPERFCTR_VERSION "\n");
	/* the overview */
	ck_assert_int_eq(perfex("--help"), 0);
	snprintf(usage, sizeof(usage), "\n  %s ", name);
	has(out, usage);
	fits_screen(out);
	/* all of it is in the list for completions */
	ck_assert_int_eq(perfex("help", "--words"), 0);
	snprintf(usage, sizeof(usage), "%s\t", name);
	has(out, usage);
	ck_assert_int_eq(perfex("help", "--words", name), 0);
	has(out, "-h\t--help\t\tshow this, and exit\n");
}
END_TEST

/* The help of "stat" leaves out what few need, and says so.  Completions have all. */
START_TEST(help_with_all_options)
{
	const char *const *rare = command_find("stat")->rare;
	unsigned int nr = 0;
	char line[64];

	/* Each name is that of an option. */
	while (rare[nr])
		nr++;
	snprintf(line, sizeof(line), "\n%u more options: perfex help --all stat\n", nr);
	ck_assert_int_eq(perfex("stat", "--help"), 0);
	has_not(out, "--log-fd");
	has(out, line);
	ck_assert_int_eq(perfex("help", "--all", "stat"), 0);
	has(out, "\n      --log-fd=N ");
	has_not(out, " more options: ");
	ck_assert_int_eq(perfex("help", "--words", "stat"), 0);
	has(out, "\t--log-fd\tN\t");
	/* the others are short */
	ck_assert_int_eq(perfex("report", "--help"), 0);
	has_not(out, " more options: ");
}
END_TEST

static const struct {
	char *args[6];
	const char *message;
} refused[] = {
	{ { "stat", "--sort=dso", "true" }, "perfex stat has no --sort, which is an option of perfex report" },
	{ { "report", "-r", "3" }, "perfex report has no -r, which is an option of perfex stat" },
	{ { "record", "--sort", "x" }, "perfex record has no --sort, which is an option of perfex report" },
	{ { "list", "-I5" }, "perfex list has no -I, which is an option of perfex stat, perfex top" },
	{ { "-r3", "list" }, "perfex list has no -r, which is an option of perfex stat" },
	{ { "--repeat=3", "list" }, "perfex list has no --repeat" },
	{ { "--sample", "--report=x" }, "perfex record and perfex report cannot be combined" },
	{ { "--sample", "list" }, "perfex record and perfex list cannot be combined" },
	{ { "-i", "--self-test" }, "perfex info and perfex self-test cannot be combined" },
	{ { "stat", "--nonsense" }, "unknown option '--nonsense': see perfex stat --help" },
	{ { "report", "--nonsense" }, "unknown option '--nonsense': see perfex report --help" },
	{ { "stat", "--per-", "true" }, "--per- is the beginning of --per-cpu and --per-" },
	{ { "stat", "--json=x", "true" }, "option '--json=x' takes no argument: see perfex stat --help" },
	{ { "stat", "-r" }, "option -r needs an argument: see perfex stat --help" },
	{ { "help", "nothing" }, "perfex has no command 'nothing'" },
	{ { "report", "extra" }, "perfex report runs no command, and has no argument 'extra'" },
	{ { "report", "/etc/passwd" }, "perfex report runs no command (-i /etc/passwd reads this file)" },
	{ { "report", "--gtk" }, "--export=firefox" },
	{ { "report", "-g", "folded" }, "--export=folded prints folded paths" },
	{ { "report", "-gfolded" }, "--export=folded prints folded paths" },
	{ { "report", "-gx" }, "-g prints the tree of caller or callee, not 'x'" },
	{ { "report", "--percent-limit=5", "--export=svg" }, "--percent-limit is for reports: exports and --annotate have all samples" },
	{ { "report", "--percent-limit=5", "--annotate=x" }, "--percent-limit is for reports" },
	{ { "report", "--percent-limit=5", "--export=x" }, "there is no export 'x'" },
	{ { "report", "--percent-limit=5", "--annotate=x", "--sort=dso" }, "--annotate cannot be combined with --sort" },
	{ { "stat", "-j", "-x,", "true" }, "-j and -x cannot be combined" },
	{ { "stat", "-x,", "--json", "true" }, "-j and -x cannot be combined" },
	{ { "merge", "-j", "-x,", "file" }, "-j and -x cannot be combined" },
	/* options that change nothing beside each other */
	{ { "stat", "-r2", "--table", "-j", "true" }, "--table prints lines below a table, and cannot be combined with -j or -x" },
	{ { "stat", "-r2", "--table", "-x,", "true" }, "--table prints lines below a table" },
	{ { "stat", "-U", "-K", "true" }, "-U and -K exclude each other: without them both modes are counted" },
	{ { "stat", "-K", "-U", "true" }, "-U and -K exclude each other" },
	{ { "stat", "-B", "-x,", "true" }, "-B prints commas in numbers, and cannot be combined with -x" },
	{ { "stat", "--wait=1", "--backend=perf", "true" }, "--wait waits for counters of the module, and cannot be combined with --backend=perf" },
	{ { "record", "-c5", "-ecycles=7,branches=8", "true" }, "-c is for events without a period, and each of these has one" },
	{ { "top", "-a", "-c5", "-ecycles=7" }, "-c is for events without a period" },
	{ { "report", "--export=perf", "--no-inline" }, "--export=perf writes addresses, and cannot be combined with --no-inline" },
	{ { "diff", "--symfs=/", "/dev/null", "/dev/null" }, "--symfs is for samples, whose programs it finds, and '/dev/null' has counts" },
	{ { "self-test", "--checks=log", "each" }, "the checks are named twice, by --checks and without it" },
	{ { "self-test", "--facts", "log" }, "--facts runs no checks, and names none" },
	{ { "self-test", "--facts", "--report=x" }, "--report writes the results of checks, and cannot be combined with --facts or help" },
	{ { "self-test", "help", "--report=x" }, "--report writes the results of checks" },
	{ { "help", "stat", "record" }, "perfex help shows one command, and not also 'record'" },
	{ { "report", "--percent-limit=x" }, "'x' is not a number of percent" },
	{ { "report" }, "cannot read 'perfex.data': No such file or directory (perfex record writes it)" },
	{ { "annotate" }, "perfex annotate needs the name of a function" },
	{ { "annotate", "a", "b" }, "perfex annotate shows one function" },
	{ { "annotate", "a" }, "cannot read 'perfex.data': No such file" },
	{ { "record", "-F", "max", "true" }, "-F max is perf's limit" },
	{ { "record", "-c1000", "-F99", "true" }, "either -F or -c says when" },
	{ { "record", "-b", "true" }, "there is no -b, which perf record has: samples have no branch records" },
	{ { "record" }, "there is no command to run: see perfex record --help" },
	{ { "stat" }, "there is no command to run: see perfex stat --help" },
	{ { "info", "x" }, "perfex info (-i) shows the counters, and runs no command" },
	{ { "doctor", "x" }, "perfex doctor has no arguments (perfex -- doctor runs the program of that name)" },
};

START_TEST(refusals)
{
	char *argv[8] = { "perfex" };

	memcpy(argv + 1, refused[_i].args, sizeof(refused[_i].args));
	ck_assert_int_eq(chdir(dir), 0);
	ck_assert_int_eq(finish(start(argv)), 125);
	is_message(refused[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

/* "perfex CMD" is "perfex stat CMD", and a program may have the name of a command. */
START_TEST(stat_is_the_usual_command)
{
	char counts[sizeof(err)];

	ck_assert_int_eq(perfex("-x,", "-e", "instructions:u", "true"), 0);
	strcpy(counts, err);
	ck_assert_int_eq(perfex("stat", "-x,", "-e", "instructions:u", "true"), 0);
	ck_assert_str_eq(err, counts);
	ck_assert_int_eq(perfex("-x,", "stat", "-e", "instructions:u", "--", "true"), 0);
	ck_assert_str_eq(err, counts);
	/* perf's -i, which is perfex info without a command */
	ck_assert_int_eq(perfex("stat", "-i", "-x,", "-e", "instructions:u", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.flags & VPERFCTR_CONTROL_INHERIT, 0);
	/* the beginning of a name */
	ck_assert_int_eq(perfex("stat", "--no-inh", "--ev=cycles:u", "true"), 0);
	has(err, "cycles:u");
	setenv("PATH", dir, 1);
	ck_assert_int_eq(perfex("stat", "annotate"), 127);
	ck_assert_int_eq(perfex("stat", "--", "record"), 127);
	ck_assert_int_eq(perfex("--", "record"), 127);
	has(err, "'record'");
}
END_TEST

/* The last one of two options that exclude each other decides, as in perf. */
static const struct {
	char *args[8];
	bool commas;
} last[] = {
	{ { "stat", "-B", "--no-big-num", "-ecycles:u", "true" }, false },
	{ { "stat", "--no-big-num", "-B", "-ecycles:u", "true" }, true },
	{ { "stat", "-B", "--no-big-num", "-x,", "-ecycles:u", "true" }, false },
	{ { "stat", "-K", "-K", "-ecycles", "true" }, true },
};

START_TEST(last_one_decides)
{
	char *argv[10] = { "perfex" };

	memcpy(argv + 1, last[_i].args, sizeof(last[_i].args));
	ck_assert_int_eq(finish(start(argv)), 0);
	has(err, last[_i].commas ? "1,000,000" : "1000000");
}
END_TEST

/* Old spellings, and the command that each is. */
static const struct {
	char *old[4], *new[4];
} aliases[] = {
	{ { "-i" }, { "info" } },
	{ { "--info" }, { "info" } },
	{ { "--self-test=help" }, { "self-test", "help" } },
	{ { "--self-test=help" }, { "self-test", "--checks=help" } },
	{ { "-v", "list", "l1-hit" }, { "list", "l1-hit", "-v" } },
	{ { "list", "-v", "LONGEST" }, { "list", "--verbose", "LONGEST" } },
	{ { "-j", "doctor" }, { "doctor", "-j" } },
	{ { "--report=none", "--sort=symbol" }, { "report", "-inone", "--sort=sym" } },
	{ { "--report=none", "--annotate=f" }, { "annotate", "-inone", "f" } },
	{ { "-e", "x", "--report=none" }, { "report", "--input=none", "-ex" } },
};

START_TEST(old_spellings)
{
	char *argv[8] = { "perfex" };
	char before[sizeof(out)], error[sizeof(err)];
	int status;

	ck_assert_int_eq(chdir(dir), 0);
	memcpy(argv + 1, aliases[_i].old, sizeof(aliases[_i].old));
	status = finish(start(argv));
	strcpy(before, out);
	strcpy(error, err);
	has_not(err, "unknown");
	memcpy(argv + 1, aliases[_i].new, sizeof(aliases[_i].new));
	ck_assert_int_eq(finish(start(argv)), status);
	ck_assert_str_eq(out, before);
	ck_assert_str_eq(err, error);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-commands");
	TCase *t = tcase_create("commands");

	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 300);
	tcase_add_loop_test(t, help_of_each_command, 0, nr_commands());
	tcase_add_test(t, help_with_all_options);
	tcase_add_loop_test(t, refusals, 0, sizeof(refused) / sizeof(*refused));
	tcase_add_test(t, stat_is_the_usual_command);
	tcase_add_loop_test(t, last_one_decides, 0, sizeof(last) / sizeof(*last));
	tcase_add_loop_test(t, old_spellings, 0, sizeof(aliases) / sizeof(*aliases));
	return s;
}

int main(void)
{
	SRunner *r = srunner_create(suite());
	int failed;

	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
