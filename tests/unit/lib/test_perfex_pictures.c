// SPDX-License-Identifier: GPL-2.0
/* Tests of perfex plot, perfex merge, and of -o with %h, %p and %r. */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json-counts.h"
#include "perfex-command.h"

static char text[1 << 20];

static const char *fmt(const char *format, ...) __attribute__((format(printf, 1, 2)));

static const char *fmt(const char *format, ...)
{
	static char buf[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(buf, sizeof(buf), format, ap);
	va_end(ap);
	return buf;
}

#define COUNT(at, cpu, event, count, unit, ratio, ratio_unit) \
	"{\"interval\" : " at ", \"cpu\" : \"" cpu "\", \"counter-value\" : \"" count "\", \"unit\" : \"" \
	unit "\", \"event\" : \"" event "\", \"metric-value\" : " ratio ", \"metric-unit\" : \"" ratio_unit "\"}\n"

/* Two CPUs, three intervals, of which one has no count; a ratio, a time, and a metric. */
static const char intervals[] =
	"# perf stat begins its files like this\n\n"
	COUNT("0.5", "0", "instructions", "1000.000000", "", "2.000000", "insn per cycle")
	COUNT("0.5", "1", "instructions", "3000.000000", "", "1.000000", "insn per cycle")
	COUNT("0.5", "0", "it's `date`", "250.000000", "msec", "0.5", "CPUs utilized")
	COUNT("1.5", "0", "instructions", "<not counted>", "", "0.000000", "")
	COUNT("1.5", "1", "instructions", "8000.000000", "", "1.500000", "insn per cycle")
	COUNT("2.0", "0", "instructions", "500.000000", "", "3.000000", "insn per cycle")
	"{\"interval\" : 2.0, \"cpu\" : \"1\", \"metric\" : \"ipc\", \"metric-value\" : -1.25, \"metric-unit\" : \"<&\\\"\"}\n"
	"{\"interval\" : 2.0, \"cpu\" : \"1\", \"metric\" : \"none\", \"metric-value\" : null, \"metric-unit\" : \"\"}\n";

/* As has(), without the picture in the message. */
static void shows(const char *what)
{
	ck_assert_msg(strstr(text, what), "no '%s'", what);
}

static unsigned int occurrences(const char *in, const char *what)
{
	unsigned int n = 0;

	for (; (in = strstr(in, what)); in += strlen(what))
		n++;
	return n;
}

START_TEST(svg)
{
	char *counts = write_text("counts", intervals);

	ck_assert_int_eq(perfex("plot", counts, "-o", (char *)in_dir("a.svg")), 0);
	ck_assert_str_eq(err, "");
	slurp("a.svg", text, sizeof(text));
	ck_assert_int_eq(strncmp(text, "<?xml", 5), 0);
	shows(">instructions per second<");
	shows(">instructions: insn per cycle<");
	shows(">it's `date`: CPUs used<");
	shows(">ipc: &lt;&amp;\"<");
	/* two CPUs in two panels, and one in the others; colours and dashes differ */
	ck_assert_uint_eq(occurrences(text, "<g id=\"gnuplot_plot_"), 2 + 2 + 1 + 1);
	ck_assert_uint_eq(occurrences(text, "<title>cpu 1</title>"), 3);
	/* A legend is for several curves, or for a part of the machine. */
	ck_assert_uint_eq(occurrences(text, ">all</text>"), 0);
	shows("stroke='rgb(213,  94,   0)'");
	shows("stroke-dasharray");
	/* The same again is the same picture. */
	ck_assert_int_eq(perfex("plot", "-o", (char *)in_dir("b.svg"), counts), 0);
	ck_assert_int_eq(system(fmt("cmp %s %s", in_dir("a.svg"), in_dir("b.svg"))), 0);
	/* -e chooses */
	ck_assert_int_eq(perfex("plot", counts, "-e", "ipc", "-o", (char *)in_dir("a.svg")), 0);
	slurp("a.svg", text, sizeof(text));
	ck_assert_uint_eq(occurrences(text, "<g id=\"gnuplot_plot_"), 1);
	ck_assert_uint_eq(occurrences(text, "instructions"), 0);
	/* One curve of all */
	ck_assert_int_eq(perfex("plot", write_text("counts", "{\"interval\" : 1, \"counter-value\" : \"5\", \"event\" : \"x\"}\n"),
				"-o", (char *)in_dir("a.svg")), 0);
	slurp("a.svg", text, sizeof(text));
	shows(">x per second<");
	ck_assert_uint_eq(occurrences(text, ">all</text>"), 0);
}
END_TEST

/* A row that was not counted is no second count, before the count and after it. */
START_TEST(counted_once)
{
	ck_assert_int_eq(perfex("plot", write_text("counts", COUNT("1.0", "0", "x", "<not counted>", "", "0", "")
						   COUNT("1.0", "0", "x", "5", "", "0", "")
						   COUNT("1.0", "0", "x", "<not supported>", "", "0", "")),
				"-o", (char *)in_dir("a.html")), 0);
	slurp("a.html", text, sizeof(text));
	ck_assert_uint_eq(occurrences(text, "<tr data-part="), 1);
	shows("<td class=\"n\">1.000</td><td class=\"n\">5</td></tr>");
}
END_TEST

/* The page has all numbers: rates, ratios, and what was not counted. */
START_TEST(html)
{
	ck_assert_int_eq(perfex("plot", write_text("counts", intervals), "-o", (char *)in_dir("a.html")), 0);
	slurp("a.html", text, sizeof(text));
	ck_assert_int_eq(strncmp(text, "<!DOCTYPE html>", 15), 0);
	shows("<svg");
	ck_assert_uint_eq(occurrences(text, "<?xml"), 0);
	shows("<tr data-part=\"cpu 0\"><td>cpu 0</td><td class=\"n\">0.000</td><td class=\"n\">0.500</td><td class=\"n\">2000</td></tr>");
	shows("<td class=\"n\">0.500</td><td class=\"n\">1.500</td><td class=\"n\">not counted</td></tr>");
	shows("<td class=\"n\">0.500</td><td class=\"n\">1.500</td><td class=\"n\">8000</td></tr>");
	shows("<td class=\"n\">1.500</td><td class=\"n\">2.000</td><td class=\"n\">1000</td></tr>");
	shows("<td class=\"n\">0.500</td><td class=\"n\">0.5</td></tr>");
	shows("<td class=\"n\">2.000</td><td class=\"n\">-1.25</td></tr>");
	shows("<summary>ipc: &lt;&amp;&quot;</summary>");
	/* Nothing is loaded from elsewhere. */
	ck_assert_uint_eq(occurrences(text, "src="), 0);
	ck_assert_uint_eq(occurrences(text, "href=\"http"), 0);
	ck_assert_uint_eq(occurrences(text, "type=\"checkbox\""), 2);
}
END_TEST

/* From perfex's own intervals to a picture. */
START_TEST(own_intervals)
{
	ck_assert_int_eq(perfex("-C", "0-1", "--per-cpu", "-I", "20", "--summary", "-j", "-M", "ipc", "-o", (char *)in_dir("counts"), "sleep", "0.1"), 0);
	ck_assert_int_eq(perfex("plot", (char *)in_dir("counts"), "-o", (char *)in_dir("a.svg")), 0);
	slurp("a.svg", text, sizeof(text));
	shows(">ipc: insn per cycle<");
	shows(">cycles per second<");
	ck_assert_uint_eq(occurrences(text, "<title>cpu 1</title>"), 4);
}
END_TEST

static const struct {
	const char *content, *message;
} unreadable[] = {
	{ "", "' has no counts: perfex -j writes such files" },
	{ "text\n", "', line 1, is no count: perfex -j writes" },
	{ "{\"event\" : \"x\"}\n", "line 1, is no count" },
	{ "{\"event\" : \"x\", \"counter-value\" : \"y\"}\n", "line 1, is no count" },
	{ "{\"event\" : \"x\", \"counter-value\" : \"1\"\n", "line 1, is no count" },
	{ "{\"event\" : \"x\" \"counter-value\" : \"1\"}\n", "line 1, is no count" },
	{ "{\"event\" : \"x\", \"counter-value\" : \"1\"} {\n", "line 1, is no count" },
	{ "{\"event\" : \"\\u00g0\", \"counter-value\" : \"1\"}\n", "line 1, is no count" },
	{ "{\"event\" : \"\\q\", \"counter-value\" : \"1\"}\n", "line 1, is no count" },
	{ "{\"event\" : \"x\", \"counter-value\" : \"1\", \"interval\" : -1}\n", "line 1, is no count" },
	{ "\n{\"event\" : \"x\", \"counter-value\" : \"1\", \"interval\" : }\n", "line 2, is no count" },
	{ "{\"event\" : \"x\", \"counter-value\" : \"1\"}\n", "' has counts without an interval: perfex -I MS -j -o FILE" },
	{ COUNT("1.0", "0", "x", "1", "", "0", "") COUNT("0.5", "0", "x", "1", "", "0", ""), "' are not in order: it may have those of two runs" },
	{ COUNT("1.0", "0", "x", "1", "", "0", "") COUNT("1.0", "0", "x", "2", "", "0", ""), "an interval has 'x' twice: it may have the counts of two runs (--append), or of one that counted it twice" },
	{ COUNT("0.0", "0", "x", "1", "", "0", ""), "' are not in order" },
};

START_TEST(unreadable_files)
{
	ck_assert_int_eq(perfex("plot", write_text("counts", unreadable[_i].content), "-o", (char *)in_dir("a.svg")), 125);
	is_message(unreadable[_i].message);
}
END_TEST

static const struct {
	char *args[8];
	const char *message;
} wrong[] = {
	{ { "plot" }, "perfex plot needs one file of counts" },
	{ { "plot", "a", "b", "-o", "c.svg" }, "perfex plot needs one file of counts" },
	{ { "plot", "a" }, "perfex plot needs -o FILE.svg or -o FILE.html" },
	{ { "plot", "a", "-o", "b.txt" }, "perfex plot needs -o FILE.svg or -o FILE.html" },
	{ { "plot", "a", "-o", ".svg" }, "perfex plot needs -o FILE.svg" },
	{ { "plot", "a", "-j", "-o", "b.svg" }, "perfex plot has no -j, which is an option of perfex stat" },
	{ { "plot", "a", "-I", "5", "-o", "b.svg" }, "perfex plot has no -I, which is an option of perfex stat" },
	{ { "-a", "plot", "a" }, "perfex plot has no -a" },
	{ { "merge" }, "perfex merge needs files of counts" },
	{ { "merge", "a", "-r", "2" }, "perfex merge has no -r, which is an option of perfex stat" },
	{ { "merge", "/no/such" }, "cannot read '/no/such': No such file or directory" },
	{ { "merge", "/proc/self/mem" }, "cannot read '/proc/self/mem': " },
	{ { "-o", "/tmp/%r", "true" }, "%r in '/tmp/%r' is the rank in a parallel program" },
};

START_TEST(wrong_options)
{
	char *argv[10] = { "perfex" };

	memcpy(argv + 1, wrong[_i].args, sizeof(wrong[_i].args));
	ck_assert_int_eq(finish(start(argv)), 125);
	is_message(wrong[_i].message);
}
END_TEST

START_TEST(without_gnuplot)
{
	char *counts = write_text("counts", intervals);

	setenv("PATH", dir, 1);
	ck_assert_int_eq(perfex("plot", counts, "-o", (char *)in_dir("a.svg")), 125);
	is_message("gnuplot, which draws, is not installed: sudo apt install gnuplot-nox");
	write_text("gnuplot", "#!/bin/sh\nexit 1\n");
	chmod(in_dir("gnuplot"), 0700);
	ck_assert_int_eq(perfex("plot", counts, "-o", (char *)in_dir("a.svg")), 125);
	is_message("gnuplot has not drawn the picture: it must be version 5 or later");
}
END_TEST

/* Names of files and events are no commands of gnuplot, and none of the terminal. */
START_TEST(hostile_names)
{
	static const char *const names[] = {
		"x'\nsystem 'touch y'\n#.json", "x\"\nsystem \"touch y\"\n#.json", "`touch y`", "x\\",
		"$(touch y)", "'.system('touch y').'", "@x{y}\r\nsystem 'touch y'", "\033[2J\342\200\256x",
	};
	char name[256], here[4096];
	unsigned int i;

	ck_assert_ptr_nonnull(getcwd(here, sizeof(here)));
	ck_assert_int_eq(chdir(dir), 0);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(name, sizeof(name), "%s", write_text(names[i], intervals));
		ck_assert_int_eq(perfex("plot", name, "-o", (char *)in_dir("a.html")), 0);
		ck_assert_int_ne(access(in_dir("y"), F_OK), 0);
		slurp("a.html", text, sizeof(text));
		has_not(text, "\033");
		has_not(text, "\342\200\256");
		/* The same in messages. */
		ck_assert_int_eq(perfex("plot", name, "-e", "nothing", "-o", (char *)in_dir("b.svg")), 125);
		is_message("has no event or metric 'nothing', which -e names");
		has_not(err, "\033");
		has_not(err, "\342\200\256");
		unlink(name);
	}
	/* An event's name. */
	ck_assert_int_eq(perfex("plot", write_text("counts", "{\"interval\" : 1, \"counter-value\" : \"5\", \"event\" : \"x'\\nsystem 'touch y'\\u202e\"}\n"),
				"-o", (char *)in_dir("a.svg")), 0);
	ck_assert_int_ne(access(in_dir("y"), F_OK), 0);
	slurp("a.svg", text, sizeof(text));
	has(text, "x'?system 'touch y'???");
	ck_assert_int_eq(chdir(here), 0);
}
END_TEST

START_TEST(too_much)
{
	unsigned int i;
	FILE *f = fopen(in_dir("counts"), "w");

	for (i = 0; i < 29; i++)
		fprintf(f, "{\"interval\" : 1, \"cpu\" : \"%u\", \"counter-value\" : \"5\", \"event\" : \"x\"}\n", i);
	fclose(f);
	ck_assert_int_eq(perfex("plot", (char *)in_dir("counts"), "-o", (char *)in_dir("a.svg")), 125);
	is_message("there are more than 28 curves in a picture: count by --per-socket or --per-core");
	f = fopen(in_dir("counts"), "w");
	for (i = 0; i < 13; i++)
		fprintf(f, "{\"interval\" : 1, \"counter-value\" : \"5\", \"event\" : \"x%u\"}\n", i);
	fclose(f);
	ck_assert_int_eq(perfex("plot", (char *)in_dir("counts"), "-o", (char *)in_dir("a.svg")), 125);
	is_message("there are more than 12 events and ratios to draw: -e chooses some");
	ck_assert_int_eq(perfex("plot", (char *)in_dir("counts"), "-e", "y", "-o", (char *)in_dir("a.svg")), 125);
	is_message("' has no event or metric 'y', which -e names");
	ck_assert_int_eq(perfex("plot", (char *)in_dir("counts"), "-e", "x1,y", "-o", (char *)in_dir("a.svg")), 125);
	is_message("' has no event or metric 'y', which -e names");
}
END_TEST

/* Milliseconds and another unit are no curve.  An event that was not counted has no unit. */
START_TEST(units)
{
	char *counts = write_text("counts", COUNT("1", "", "clock", "<not counted>", "", "0", "")
		COUNT("2", "", "clock", "5", "msec", "0", "") COUNT("3", "", "clock", "5", "s", "0", ""));

	ck_assert_int_eq(perfex("plot", counts, "-o", (char *)in_dir("a.svg")), 125);
	is_message("'clock' is in s, and in other intervals in msec");
}
END_TEST

/* ---- merge ------------------------------------------------------------------------- */

#define ONE(event, count)	"{\"counter-value\" : \"" count "\", \"unit\" : \"\", \"event\" : \"" event "\"}\n"
#define OF(cpu, event, count)	"{\"cpu\" : \"" cpu "\", \"counter-value\" : \"" count "\", \"unit\" : \"\", \"event\" : \"" event "\"}\n"
#define METRIC(name, value)	"{\"metric\" : \"" name "\", \"metric-value\" : " value ", \"metric-unit\" : \"u\"}\n"
#define CLOCK(ms)		"{\"counter-value\" : \"" ms "\", \"unit\" : \"msec\", \"event\" : \"task-clock\"}\n"

START_TEST(merge)
{
	char *a = write_text("a", ONE("cycles", "9007199254740993.000000") CLOCK("1.500000") METRIC("ipc", "1.0"));
	char *b = write_text("b", ONE("cycles", "2.000000") CLOCK("2.500000") METRIC("ipc", "2.0"));
	char *c = write_text("c", OF("0", "cycles", "3.000000") OF("1", "cycles", "1.000000") CLOCK("5") METRIC("ipc", "3.0"));

	ck_assert_int_eq(perfex("merge", a, b, c, "-j"), 0);
	ck_assert_str_eq(err, "");
	/* 2^53 + 1 + 2 + 4: no double holds the first */
	has(out, "{\"event\" : \"cycles\", \"unit\" : \"\", \"files\" : 3, \"sum\" : 9007199254740999, ");
	has(out, "{\"event\" : \"task-clock\", \"unit\" : \"msec\", \"files\" : 3, \"sum\" : 9.000000, \"mean\" : 3.000000, "
		 "\"min\" : 1.500000, \"min-file\" : \"");
	has(out, fmt("\"min-file\" : \"%s\", \"max\" : 5.000000, \"max-file\" : \"%s\", \"imbalance\" : 66.67}\n", a, c));
	has(out, "{\"metric\" : \"ipc\", \"unit\" : \"u\", \"files\" : 3, \"mean\" : 2.000000, \"min\" : 1.000000, ");
	ck_assert_int_eq(perfex("merge", "-x,", "-e", "cycles", "-o", (char *)in_dir("d"), b, c), 0);
	slurp("d", text, sizeof(text));
	ck_assert_str_eq(text, "6,,cycles,2,3.000000,2.000000,4.000000,33.33\n");
	/* A separator in a name would end the field. */
	ck_assert_int_eq(perfex("merge", "-x,", write_text("e", ONE("cpu/event=1,umask=2/", "5"))), 0);
	ck_assert_str_eq(out, "5,,cpu/event=1?umask=2/,1,5.000000,5.000000,5.000000,0.00\n");
	ck_assert_int_eq(perfex("merge", "-x;", "-e", "x,cpu/event=1,umask=2/", write_text("e", ONE("cpu/event=1,umask=2/", "5") ONE("x", "5"))), 0);
	has(out, "5;;cpu/event=1,umask=2/;1;5.000000;5.000000;5.000000;0.00\n");
	ck_assert_int_eq(perfex("merge", "-e", ",", b, c), 125);
	is_message("-e has no name of an event: ','");
	ck_assert_int_eq(perfex("merge", b, c), 0);
	has(out, "\n Counts of 2 files:\n");
	has(out, "                   6                  3                  2                  4    33.33%  cycles\n");
	has(out, "                                                         b                  c\n");
	has(out, "                   -              2.500              2.000              3.000    20.00%  ipc: u\n");
}
END_TEST

/* Some files, or all, have an event that was refused there: there is no sum of the others. */
START_TEST(refused_events)
{
	char *a = write_text("a", ONE("x", "<not supported>") CLOCK("1.500000") METRIC("m", "null") OF("0", "y", "1") OF("1", "y", "<not permitted>"));
	char *b = write_text("b", ONE("x", "5") ONE("task-clock", "<not permitted>") METRIC("m", "2.0") ONE("y", "1"));
	char *c = write_text("c", ONE("x", "6") CLOCK("2.5") METRIC("m", "3.0") ONE("y", "<not supported>"));

	ck_assert_int_eq(perfex("merge", "-j", a, b, c), 0);
	ck_assert_str_eq(out, "{\"event\" : \"x\", \"unit\" : \"\", \"files\" : 2, \"sum\" : \"<not supported>\"}\n"
			 "{\"event\" : \"task-clock\", \"unit\" : \"msec\", \"files\" : 2, \"sum\" : \"<not permitted>\"}\n"
			 "{\"metric\" : \"m\", \"unit\" : \"u\", \"files\" : 2, \"mean\" : \"<no value>\"}\n"
			 "{\"event\" : \"y\", \"unit\" : \"\", \"files\" : 1, \"sum\" : \"<not permitted>\"}\n");
	ck_assert_int_eq(perfex("merge", "-x,", c, b, a), 0);
	ck_assert_str_eq(out, "<not supported>,,x,2,,,,\n<not permitted>,msec,task-clock,2,,,,\n,u,m,2,<no value>,,,\n"
			 "<not supported>,,y,1,,,,\n");
	ck_assert_int_eq(perfex("merge", a, b, c), 0);
	has(out, "     <not supported>                  -                  -                  -         -  x  # in 2 of 3 files\n");
	has(out, "     <not permitted>                  -                  -                  -         -  task-clock: msec  # in 2 of 3 files\n");
	has(out, "                   -         <no value>                  -                  -         -  m: u  # in 2 of 3 files\n");
	/* in no file */
	ck_assert_int_eq(perfex("merge", "-e", "x,task-clock", a, a), 0);
	has(out, "  x  # in 0 of 2 files\n");
	has(out, "               3.000              1.500 ");
	/* A unit is known from the files that have a value. */
	b = write_text("b", ONE("task-clock", "<not permitted>"));
	a = write_text("c", ONE("task-clock", "3"));
	c = write_text("d", CLOCK("3"));
	ck_assert_int_eq(perfex("merge", "-e", "task-clock", b, c, a), 125);
	is_message("'task-clock' in no unit, and others have it in msec, so there is no sum");
	ck_assert_int_eq(perfex("merge", "-e", "task-clock", b, b), 0);
	has(out, "  task-clock  # in 0 of 2 files\n");
}
END_TEST

/* Ranks with directories of their own: the least and the largest count are of files of one name. */
START_TEST(directories)
{
	char *files[3], count[] = ONE("x", "10"), *digit = strchr(count, '0');
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(mkdir(in_dir(fmt("r%u", i)), 0700), 0);
		ck_assert_int_eq(mkdir(in_dir(fmt("r%u/out", i)), 0700), 0);
		*digit = (char)('0' + i);
		files[i] = strdup(write_text(fmt("r%u/out/x.json", i), count));
	}
	ck_assert_int_eq(perfex("merge", files[0], files[1], files[2]), 0);
	has(out, "\n                                             r0/out/x.json      r2/out/x.json\n");
	ck_assert_int_eq(perfex("merge", "-j", files[0], files[1], files[2]), 0);
	has(out, fmt("\"min-file\" : \"%s\"", files[0]));
	has(out, fmt("\"max-file\" : \"%s\"", files[2]));
	for (i = 0; i < 3; i++)
		free(files[i]);
	shell("rm -r r0 r1 r2");
}
END_TEST

static const struct {
	const char *a, *b, *message;
} unlike[] = {
	{ ONE("x", "1"), ONE("x", "1") ONE("y", "1"), "only 1 of 2 files has 'y'" },
	{ ONE("x", "1"), ONE("x", "<not counted>"), "b' has no count of 'x', so there is no sum" },
	{ CLOCK("1"), ONE("task-clock", "<not counted>"), "b' has no count of 'task-clock', so there is no sum" },
	{ ONE("task-clock", "<not counted>"), CLOCK("1"), "a' has no count of 'task-clock', so there is no sum" },
	{ ONE("x", "1"), ONE("x", "1") ONE("x", "1"), "b' has 'x' twice: it may have the counts of two runs" },
	{ ONE("x", "1"), COUNT("1", "0", "x", "1", "", "0", ""), "b' has the counts of intervals" },
	{ ONE("x", "1"), "{\"cpu\" : \"0\", \"metric\" : \"m\", \"metric-value\" : 1}\n{\"cpu\" : \"1\", \"metric\" : \"m\", \"metric-value\" : 1}\n",
	  "b' has 'm' for several CPUs or threads, which cannot be added" },
	{ ONE("task-clock", "1"), CLOCK("1"), "b' has 'task-clock' in msec, and others have it in no unit, so there is no sum" },
	{ ONE("x", "18446744073709551615"), ONE("x", "1"), "the sum of 'x' is too large" },
};

START_TEST(unlike_files)
{
	ck_assert_int_eq(perfex("merge", write_text("a", unlike[_i].a), write_text("b", unlike[_i].b)), 125);
	is_message(unlike[_i].message);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(names)
{
	char host[65] = "";

	gethostname(host, sizeof(host) - 1);
	unsetenv("PMIX_RANK");
	setenv("OMPI_COMM_WORLD_RANK", "7", 1);
	setenv("SLURM_PROCID", "0", 1);
	ck_assert_int_eq(perfex("-o", (char *)in_dir("r%r-%h-%%-%x"), "-e", "cycles", "true"), 0);
	ck_assert_int_eq(access(in_dir(fmt("r7-%s-%%-%%x", host)), F_OK), 0);
	unsetenv("OMPI_COMM_WORLD_RANK");
	ck_assert_int_eq(perfex("-o", (char *)in_dir("r%r"), "-e", "cycles", "true"), 0);
	ck_assert_int_eq(access(in_dir("r0"), F_OK), 0);
	setenv("SLURM_PROCID", "../x", 1);
	ck_assert_int_eq(perfex("-o", (char *)in_dir("r%r"), "-e", "cycles", "true"), 125);
	ck_assert_int_eq(perfex("-o", (char *)in_dir("p%p"), "-e", "cycles", "sh", "-c", "echo $PPID"), 0);
	out[strcspn(out, "\n")] = '\0';
	ck_assert_int_eq(access(in_dir(fmt("p%s", out)), F_OK), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perfex-pictures");
	TCase *t = tcase_create("pictures");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, svg);
	tcase_add_test(t, counted_once);
	tcase_add_test(t, html);
	tcase_add_test(t, own_intervals);
	tcase_add_loop_test(t, unreadable_files, 0, (int)ARRAY_SIZE(unreadable));
	tcase_add_loop_test(t, wrong_options, 0, (int)ARRAY_SIZE(wrong));
	tcase_add_test(t, without_gnuplot);
	tcase_add_test(t, hostile_names);
	tcase_add_test(t, too_much);
	tcase_add_test(t, units);
	tcase_add_test(t, merge);
	tcase_add_test(t, refused_events);
	tcase_add_test(t, directories);
	tcase_add_loop_test(t, unlike_files, 0, (int)ARRAY_SIZE(unlike));
	tcase_add_test(t, names);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
