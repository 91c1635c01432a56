// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of perfex -M and -d.  The i-th counter of a command has counted 1000000 + i, and
 * that of CPU n 1000 * (n + 1) + i.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "metrics.h"
#include "perfex-command.h"

/* The user's table, in the test's directory. */
static void write_table(const char *text)
{
	FILE *f;

	mkdir(in_dir("perfex"), 0700);
	f = fopen(in_dir("perfex/metrics"), "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static void setup(void)
{
	command_setup();
	setenv("XDG_CONFIG_HOME", dir, 1);
}

static void teardown(void)
{
	unlink(in_dir("perfex/metrics"));
	rmdir(in_dir("perfex"));
	command_teardown();
}

#define SUM	"processor any\nmetric sum\n"

START_TEST(value)
{
	ck_assert_int_eq(perfex("-M", "ipc,branch-miss-rate", "true"), 0);
	has(err, "           1,000,000  instructions          # 1.00 per cycle\n");
	has(err, "               1.000  ipc                   # insn per cycle\n");
	/* instructions, cycles, branch-misses, branches */
	has(err, "             100.000  branch-miss-rate      # % of branches\n");
	ck_assert_uint_eq(fake_seen->control.nractrs, 4);

	write_table(SUM "is 3 * instructions - 2 * cycles + 1000 / (branches - instructions)\nunit x\n");
	ck_assert_int_eq(perfex("-M", "sum", "true"), 0);
	has(err, "         1000498.000  sum                   # x\n");
	write_table(SUM "is max(instructions, cycles) - min(instructions, cycles) * 2 / 4 - (1 - 0.5)\n");
	ck_assert_int_eq(perfex("-M", "sum", "true"), 0);
	has(err, "          500000.500  sum\n");
	/* Left to right: 1000000 - 1 - 2 and 1000000 / 10 / 10. */
	write_table(SUM "is instructions - 1 - 2\nmetric div\nis (instructions / 10 / 10)\n");
	ck_assert_int_eq(perfex("-M", "sum,div", "true"), 0);
	has(err, "          999997.000  sum\n");
	has(err, "           10000.000  div\n");
	ck_assert_uint_eq(fake_seen->control.nractrs, 1);
	write_table(SUM "is 1 / (instructions - instructions)\n");
	ck_assert_int_eq(perfex("-M", "sum", "true"), 0);
	has(err, "          <no value>  sum\n");
}
END_TEST

START_TEST(events_are_shared)
{
	ck_assert_int_eq(perfex("-e", "cycles,branches", "-M", "ipc,cpi", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.nractrs, 3);
	has(err, "           1,000,000  cycles");
	has(err, "           1,000,002  instructions");
	/* In other modes, an event is another one. */
	ck_assert_int_eq(perfex("-e", "cycles:u", "-M", "ipc", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.nractrs, 3);
	ck_assert_int_eq(perfex("-M", "ipc:u,branch-mpki:k", "-e", "cycles:u", "true"), 0);
	ck_assert_uint_eq(fake_seen->control.nractrs, 4);
	has(err, "  instructions:u ");
	has(err, "  branch-misses:k\n");
	has(err, "  ipc:u                 # insn per cycle\n");
	write_table("processor any\nmetric clock\nis cycles / task-clock\n");
	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("-M", "clock:u", "true"), 0);
	has(err, "  cycles:u\n");
	has(err, "               0.500  clock:u\n");
}
END_TEST

START_TEST(fields)
{
	ck_assert_int_eq(perfex("-x,", "-M", "ipc", "true"), 0);
	ck_assert_str_eq(err, "1000000,,instructions,1500000,100.00,1.00,insn per cycle\n"
			      "1000001,,cycles,1500000,100.00,,\n"
			      ",,ipc,,,0.999999,insn per cycle\n");
	ck_assert_int_eq(perfex("-r", "2", "-x,", "-M", "ipc:u", "true"), 0);
	has(err, "\n1000001,,cycles:u,0.00%,1500000,100.00,,\n,,ipc:u,,,,0.999999,insn per cycle\n");
	ck_assert_int_eq(perfex("-j", "-M", "ipc", "true"), 0);
	has(err, "\n{\"metric\" : \"ipc\", \"metric-value\" : 0.999999, \"metric-unit\" : \"insn per cycle\"}\n");
	write_table(SUM "is 1 / (instructions - instructions)\nunit a\"b\n");
	ck_assert_int_eq(perfex("-j", "-M", "sum", "true"), 0);
	has(err, "\n{\"metric\" : \"sum\", \"metric-value\" : null, \"metric-unit\" : \"a\\\"b\"}\n");
	ck_assert_int_eq(perfex("-x;", "-M", "sum", "true"), 0);
	has(err, "\n;;sum;;;;a\"b\n");
}
END_TEST

/* Each interval and each CPU has its own values. */
START_TEST(parts)
{
	ck_assert_int_eq(perfex("-I", "60000", "-M", "ipc", "true"), 0);
	has(err, "               1.000  ipc                   # insn per cycle\n");
	ck_assert_int_eq(perfex("-I", "60000", "-j", "-M", "ipc", "true"), 0);
	has(err, "{\"interval\" : ");
	has(err, ", \"metric\" : \"ipc\", \"metric-value\" : 0.999999, ");
	ck_assert_int_eq(perfex("-C", "0-1", "--per-cpu", "-j", "-M", "ipc", "true"), 0);
	has(err, "{\"cpu\" : \"0\", \"metric\" : \"ipc\", \"metric-value\" : 0.999001, ");
	has(err, "{\"cpu\" : \"1\", \"metric\" : \"ipc\", \"metric-value\" : 0.999500, ");
	ck_assert_int_eq(perfex("-C", "0-3", "--per-socket", "-x,", "-M", "ipc", "true"), 0);
	has(err, "S0,2,,,ipc,,,0.999334,insn per cycle\n");
	ck_assert_int_eq(perfex("-C", "0-1", "--per-cpu", "-M", "ipc", "true"), 0);
	has(err, "CPU1                       1.000  ipc                   # insn per cycle\n");
	ck_assert_int_eq(perfex("-C", "0-1", "-M", "ipc", "true"), 0);
	has(err, "               0.999  ipc                   # insn per cycle\n");
}
END_TEST

START_TEST(refused)
{
	static const struct {
		char *args[6];
		const char *message;
	} all[] = {
		{ { "-M", "no-such" }, "there is no metric 'no-such': perfex list metric shows those" },
		{ { "-M", "ipc," }, "a metric's name is missing in the argument of -M" },
		{ { "-M", "l1d-miss-rate" }, "the metric 'l1d-miss-rate' is defined for other processors (arm_n1,arm_v1,arm_n2,arm_v2), and not for this one: skl" },
		{ { "-M", "topdown" }, "'topdown-retiring': the shares of slots need the event TOPDOWN.SLOTS" },
		{ { "-M", "ipc", "-e", "r010e,r0151,r0185,r0187,r0149" }, "(metrics are computed from one run: ask for fewer at a time)" },
		{ { "-M", "ipc", "--runs=auto" }, "cannot be combined with --runs" },
		{ { "-d", "--runs=auto" }, "cannot be combined with --runs" },
		{ { "-d", "top" }, "there is no -d, which perf top has: -I MS" },
		{ { "-M", "ipc", "--sample", "-o", "/dev/null" }, "perfex record has no -M, which is an option of perfex stat" },
		{ { "-M" }, "option -M needs an argument" },
	};
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		char *argv[8] = { "perfex" };

		for (n = 0; n < 6 && all[i].args[n]; n++)
			argv[1 + n] = all[i].args[n];
		if (n > 1 && strcmp(argv[n], "top"))
			argv[1 + n] = "true";
		ck_assert_int_eq(finish(start(argv)), 125);
		is_message(all[i].message);
	}
	/* An event that the user has not named. */
	fake.info.arch_events &= ~VPERFCTR_EVENT_CYCLES;
	fake.info.fixed_mask = 0;
	fake.info.pmc_mask = 0;
	ck_assert_int_eq(perfex("-M", "ipc", "true"), 125);
	is_message("the metric 'ipc' needs an event that cannot be counted here: this processor cannot count 'instructions'");
	fake_reset();
	fake.info.soft = 0x1f;
	write_table("processor any\nmetric clock\nis cycles / task-clock\n");
	ck_assert_int_eq(perfex("-C", "0", "-M", "clock", "true"), 125);
	is_message("the module counts 'task-clock' for threads, and not for CPUs");
}
END_TEST

static const struct {
	const char *table, *message;
} wrong[] = {
	{ "metric a\n", "metrics:1: a line with 'processor' must come before" },
	{ "processor any\n\nmetric\n", "metrics:3: '' is not the name of a metric" },
	{ "processor any\nmetric a,b\n", "metrics:2: 'a,b' is not the name" },
	{ "processor\n", "metrics:1: 'processor' needs libpfm4's names" },
	{ "processor any\nis cycles\n", "metrics:2: 'is' must come after a line with 'metric'" },
	{ SUM "metric b\n", "metrics:3: 'sum' must have either 'is' or 'refuse'" },
	{ SUM, "metrics:3: 'sum' must have either 'is' or 'refuse'" },
	{ SUM "is cycles\nrefuse no\n", "'sum' must have either 'is' or 'refuse'" },
	{ SUM "is\n", "metrics:3: 'is' has no text" },
	{ SUM "is cycles\nis cycles\n", "metrics:4: 'sum' has two expressions" },
	{ SUM "wrong text\n", "metrics:3: 'wrong' is not known: there are processor," },
	{ SUM "detail 4\n", "metrics:3: 'detail' is 1, 2 or 3" },
	{ SUM "group a b\n", "metrics:3: 'a b' is not the name of a group" },
	{ SUM "is 1 + 2\n", "metrics:3: the expression has no event" },
	{ SUM "is cycles cycles\n", "metrics:3: there is no operator, with spaces around it, before 'cycles'" },
	{ SUM "is cycles +\n", "metrics:3: a number or an event is missing at the end" },
	{ SUM "is (cycles\n", "metrics:3: a ')' is missing" },
	{ SUM "is cycles)\n", "metrics:3: there is no operator" },
	{ SUM "is 1x * cycles\n", "metrics:3: '1x' is not a number" },
	{ SUM "is * cycles\n", "metrics:3: '*' is neither a number nor an event" },
	{ SUM "is max(cycles)\n", "metrics:3: max and min have two values" },
	{ SUM "is max cycles\n", "metrics:3: there is no '(' after max" },
	{ SUM "is min(cycles, 2\n", "metrics:3: there is no ')'" },
	{ SUM "is ((((((((((((((((( cycles\n", "metrics:3: there are too many parentheses" },
	{ SUM "is a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q\n", "metrics:3: a metric has at most 16 events" },
	{ SUM "is cycles + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1\n",
	  "metrics:3: the expression is too long" },
};

/* A table with an error is refused, with the line, wherever metrics are asked for. */
START_TEST(wrong_table)
{
	write_table(wrong[_i].table);
	ck_assert_int_eq(perfex("-M", "ipc", "true"), 125);
	is_message(wrong[_i].message);
	ck_assert_int_eq(perfex("-e", "cycles", "true"), 0);
}
END_TEST

/* A name that no processor has is an error when the metric is asked for. */
START_TEST(own_table)
{
	write_table("# a comment\n\nprocessor any\r\n\tmetric ipc\r\n\tis 2 * instructions / cycles\n"
		    "unit mine\033[m\nmetric bad\nis no-such-event\n"
		    "processor  icl, skl\nmetric here\nis cycles\nprocessor icl\nmetric there\nis cycles\n");
	ck_assert_int_eq(perfex("-M", "ipc,here", "true"), 0);
	has(err, "               2.000  ipc                   # mine?[m\n");
	ck_assert_int_eq(perfex("-M", "bad", "true"), 125);
	is_message("no-such-event");
	ck_assert_int_eq(perfex("-M", "there", "true"), 125);
	is_message("is defined for other processors (icl), and not for this one: skl");
	/* Neither a directory nor a file with bytes of 0 is a table. */
	unlink(in_dir("perfex/metrics"));
	ck_assert_int_eq(mkdir(in_dir("perfex/metrics"), 0700), 0);
	ck_assert_int_eq(perfex("-M", "ipc", "true"), 125);
	is_message("perfex/metrics' is not a table of metrics");
	rmdir(in_dir("perfex/metrics"));
}
END_TEST

/* The example in perfex.1: events with modes of their own. */
START_TEST(example)
{
	write_table("processor any\nmetric kernel-share\n  is 100 * cycles:k / (cycles:u + cycles:k)\n  unit % of cycles\n");
	ck_assert_int_eq(perfex("-M", "kernel-share", "true"), 0);
	has(err, "              50.000  kernel-share          # % of cycles\n");
	ck_assert_int_eq(perfex("-M", "kernel-share:u", "true"), 125);
}
END_TEST

START_TEST(detailed)
{
	ck_assert_int_eq(perfex("-d", "true"), 0);
	/* l1d-mpki, ipc, branch-miss-rate: a counter is left, and cache-miss-rate needs two. */
	has(err, "  l1d-mpki              # per 1000 instructions\n");
	has(err, "  branch-miss-rate      # % of branches\n");
	has(err, "\n Left out of -d, as the counters have no room for them, or do not count their events: cache-miss-rate.\n");
	has_not(err, "  cache-misses");
	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("--detailed", "true"), 0);
	has(err, " msec task-clock ");
	/* Events that are asked for must fit, and come first. */
	ck_assert_int_eq(perfex("-d", "-M", "cache-miss-rate", "-e", "r0149", "true"), 0);
	has(err, "  cache-miss-rate       # % of references\n");
	has(err, "Left out of -d, as the counters have no room for them, or do not count their events: branch-miss-rate.\n");
	has_not(err, "task-clock");
	ck_assert_int_eq(perfex("-C", "0", "-d", "true"), 0);
	has_not(err, "task-clock");
	fake.info.nrctrs = 0;
	fake.info.pmc_mask = fake.info.fixed_mask = 0;
	fake.info.arch_events = 0;
	ck_assert_int_eq(perfex("-d", "true"), 0);
	has(err, " msec task-clock ");
	has(err, "\n Left out of -d, as the counters have no room for them, or do not count their events: all metrics.\n");
	/* once */
	has_not(strstr(err, " msec task-clock ") + 1, " msec task-clock ");
	fake.info.soft = 0;
	ck_assert_int_eq(perfex("-d", "true"), 125);
	is_message("none of the metrics of -d can be counted here: perfex info shows");
}
END_TEST

START_TEST(list)
{
	ck_assert_int_eq(perfex("list", "insn per cycle"), 0);
	ck_assert_str_eq(out, "-M ipc                                    insn per cycle\n"
			      "    instructions that retired, per cycle of the core\n");
	ck_assert_int_eq(perfex("-v", "list", "topdown"), 0);
	has(out, "-M topdown-retiring");
	has(out, "    refused: the shares of slots need");
	ck_assert_int_eq(perfex("-v", "list", "l1d-mpki"), 0);
	has(out, "    = 1000 * L1D:REPLACEMENT / instructions\n    source: Intel's lists");
}
END_TEST

static const struct {
	const char *processor;
	uint32_t cpu_type, nrctrs;
	uint64_t general, fixed;
	char *metrics;
	const char *refused;
} processors[] = {
	{ "snb", VPERFCTR_CPU_INTEL_ARCH, 7, 0xf, 7, "l1d-mpki", "topdown-retiring" },
	{ "hsw", VPERFCTR_CPU_INTEL_ARCH, 7, 0xf, 7, "l1d-mpki", "topdown-retiring" },
	{ "skl", VPERFCTR_CPU_INTEL_ARCH, 7, 0xf, 7, "l1d-mpki,clock-ratio", "topdown-retiring" },
	{ "clx", VPERFCTR_CPU_INTEL_ARCH, 7, 0xf, 7, "l1d-mpki,cpi", "topdown-retiring" },
	{ "icl", VPERFCTR_CPU_INTEL_ARCH, 12, 0xff, 0xf, "topdown,l1d-mpki,ipc", NULL },
	{ "icl", VPERFCTR_CPU_INTEL_ARCH, 8, 0xf, 0xf, "topdown,ipc", NULL },
	{ "icx", VPERFCTR_CPU_INTEL_ARCH, 12, 0xff, 0xf, "topdown,l1d-mpki,ipc", NULL },
	{ "spr", VPERFCTR_CPU_INTEL_ARCH, 12, 0xff, 0xf, "topdown,l1d-mpki,ipc", NULL },
	{ "amd64_fam19h_zen4", VPERFCTR_CPU_AMD, 6, 0x3f, 0, "l1d-mpki,ipc,branch-miss-rate", "topdown-retiring" },
	{ "arm_n1", VPERFCTR_CPU_ARM_PMUV3, 7, 0x3f, 1, "branch-mpki,cache-mpki,ipc", NULL },
};

/* The metrics of each processor can be counted there together. */
START_TEST(each_processor)
{
	const char *without = processors[_i].refused;

	setenv("LIBPFM_FORCE_PMU", processors[_i].processor, 1);
	fake.info.cpu_type = processors[_i].cpu_type;
	fake.info.nrctrs = processors[_i].nrctrs;
	fake.info.pmc_mask = processors[_i].general;
	fake.info.fixed_mask = processors[_i].fixed;
	ck_assert_msg(!perfex("-M", processors[_i].metrics, "true"), "%s", err);
	if (without) {
		ck_assert_int_eq(perfex("-M", (char *)without, "true"), 125);
		is_message("TOPDOWN.SLOTS");
	}
}
END_TEST

/* Each share has its events: 1000 slots, of which that many are each event's. */
START_TEST(topdown)
{
	static const struct {
		const char *processor;
		uint64_t count[5];	/* in the order of the events in the table */
		const char *name;
		double value;
	} shares[] = {
		{ "icl", { 400, 1000, 200, 300, 50 }, "topdown-retiring", 40 },
		{ "icl", { 400, 1000, 200, 300, 50 }, "topdown-bad-speculation", 15 },
		{ "icl", { 400, 1000, 200, 300, 50 }, "topdown-frontend-bound", 25 },
		{ "icl", { 400, 1000, 200, 300, 50 }, "topdown-backend-bound", 20 },
		{ "spr", { 400, 1000, 100, 200, 0 }, "topdown-retiring", 40 },
		{ "spr", { 400, 1000, 100, 200, 0 }, "topdown-bad-speculation", 10 },
		{ "spr", { 400, 1000, 100, 200, 0 }, "topdown-frontend-bound", 30 },
		{ "spr", { 400, 1000, 100, 200, 0 }, "topdown-backend-bound", 20 },
	};
	struct events events = { .nr = 0 };
	struct metrics metrics = { .nr = 0 };
	struct sums sums = { .tsc = 1 };
	unsigned int i, k;
	struct error e;
	double got;

	setenv("LIBPFM_FORCE_PMU", shares[_i * 4].processor, 1);
	fake.info.pmc_mask = 0xff;
	fake.info.fixed_mask = 0xf;
	fake.info.nrctrs = 12;
	ck_assert_int_eq(metrics_load(&e), 0);
	ck_assert_int_eq(metrics_choose(&metrics, "topdown", &events, &fake.info, 1, &e), 0);
	ck_assert_uint_eq(metrics.nr, 4);
	ck_assert_str_eq(events.ev[0].name, "r02c2");
	ck_assert_str_eq(events.ev[1].name, "r0400");
	for (i = 0; i < events.nr; i++)
		sums.pmc[i] = shares[_i * 4].count[i];
	for (i = 0; i < 4; i++) {
		const unsigned int n = (unsigned int)_i * 4 + i;

		ck_assert_str_eq(metric_name(&metrics.metric[i]), shares[n].name);
		ck_assert(metric_value(&metrics.metric[i], &events, &sums, &got));
		ck_assert_double_eq(got, shares[n].value);
	}
	/* On slots, fixed counter 3 counts. */
	k = 1;
	ck_assert_uint_eq(events.ev[k].fixed, 8);
	ck_assert_uint_eq(events.ev[k].general, 0);
}
END_TEST

/* --metric-only: ratios and metrics, and no counts. */
START_TEST(metrics_only)
{
	fake.info.soft = 0x1f;
	ck_assert_int_eq(perfex("--metric-only", "-e", "task-clock,page-faults,cycles:u,instructions:u,branches:u", "-M", "ipc:k", "true"), 0);
	has(err, "\n Metrics of 'true' (");
	has(err, ":\n\n     CPUs utilized    GHz (cycles:u)  insn per cycle (instructions:u)             ipc:k\n  ");
	has(err, "\n\n         0.");
	has(err, "  seconds elapsed\n");
	has_not(err, "page-faults");
	has_not(err, "1,000,00");
	/* Events of metrics have no column of their own. */
	ck_assert_int_eq(perfex("--metric-only", "-x,", "-M", "ipc,branch-miss-rate", "true"), 0);
	ck_assert_int_eq(strncmp(err, "ipc,branch-miss-rate\n1.000,", 27), 0);
	ck_assert_int_eq(perfex("--metric-only", "-x;", "-e", "instructions,cycles", "true"), 0);
	ck_assert_str_eq(err, "insn per cycle;GHz\n1.00;0.667\n");
	ck_assert_int_eq(perfex("--metric-only", "-x ", "-e", "instructions,cycles", "true"), 0);
	ck_assert_str_eq(err, "insn?per?cycle GHz\n1.00 0.667\n");
	ck_assert_int_eq(perfex("--metric-only", "-j", "-e", "instructions,cycles", "true"), 0);
	ck_assert_str_eq(err, "{\"insn per cycle\" : 1.00, \"GHz\" : 0.667}\n");
	ck_assert_int_eq(perfex("--metric-only", "-I", "60000", "-x,", "-e", "task-clock,instructions,cycles", "true"), 0);
	ck_assert_int_eq(strncmp(err, "time,CPUs utilized,insn per cycle,GHz\n0.", 40), 0);
	has(err, ",1.00,0.667\n");
	ck_assert_int_eq(perfex("--metric-only", "-I", "60000", "--summary", "-x,", "-e", "instructions,cycles", "true"), 0);
	has(err, "\nsummary,1.00,0.667\n");
	ck_assert_int_eq(perfex("--metric-only", "-I", "60000", "-e", "instructions,cycles", "true"), 0);
	ck_assert_int_eq(strncmp(err, "#           time     insn per cycle               GHz\n     0.", 60), 0);
	has(err, "              1.00             0.667\n");
	/* Parts */
	ck_assert_int_eq(perfex("--metric-only", "-C", "0-1", "-A", "-x,", "-e", "instructions,cycles", "true"), 0);
	ck_assert_int_eq(strncmp(err, "on,insn per cycle,GHz\nCPU0,", 27), 0);
	has(err, "\nCPU1,");
	ck_assert_int_eq(perfex("--metric-only", "-C", "0-1", "-A", "-j", "-e", "instructions,cycles", "true"), 0);
	ck_assert_int_eq(strncmp(err, "{\"cpu\" : \"0\", \"insn per cycle\" : ", 33), 0);
	ck_assert_int_eq(perfex("--metric-only", "-C", "0-1", "-A", "-e", "instructions,cycles", "true"), 0);
	has(err, "\nCPU1        ");
	/* No column: the command does not run. */
	ck_assert_int_eq(perfex("--metric-only", "-e", "page-faults", "touch", (char *)in_dir("ran")), 125);
	is_message("these events give no metric for --metric-only");
	ck_assert_int_eq(access(in_dir("ran"), F_OK), -1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perfex-metrics");
	TCase *t = tcase_create("metrics");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, value);
	tcase_add_test(t, events_are_shared);
	tcase_add_test(t, fields);
	tcase_add_test(t, parts);
	tcase_add_test(t, refused);
	tcase_add_loop_test(t, wrong_table, 0, (int)ARRAY_SIZE(wrong));
	tcase_add_test(t, own_table);
	tcase_add_test(t, example);
	tcase_add_test(t, detailed);
	tcase_add_test(t, metrics_only);
	tcase_add_test(t, list);
	tcase_add_loop_test(t, each_processor, 0, (int)ARRAY_SIZE(processors));
	tcase_add_loop_test(t, topdown, 0, 2);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
