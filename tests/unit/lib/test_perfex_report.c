// SPDX-License-Identifier: GPL-2.0
/* perfex --report of files that the tests write. */
#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "other-order.h"
#include "perfex-command.h"
#include "perfex.h"
#include "report-file.h"
#include "sample-builder.h"
#include "sample-swap.h"
#include "symbols.h"

#define TWO		TMP "/two"
#define KERNEL_IP	UINT64_C(0xffffffff81000000)

static char text[65536];

/* Where the functions of `two` are, and its code: it is not relocated. */
static uint64_t first, second;
#define CODE		UINT64_C(0x400000), UINT64_C(0x404000), UINT64_C(0)

static uint64_t address_in(const char *file, const char *symbol)
{
	char command[256];
	unsigned long address;
	FILE *f;

	snprintf(command, sizeof(command), "nm --plugin none %s | grep ' %s$'", file, symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

static void setup(void)
{
	command_setup();
	first = address_in(TWO, "first");
	second = address_in(TWO, "second");
}

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

static void begin(void)
{
	put_header(in_dir("s"), 0);
	put_record(RECORD_COMMAND, NULL, 0, "two x");
	put_event(0, 1000, "instructions:u");
}

static void end(void)
{
	put_end(1, (uint64_t []){ 123456 });
	put_close();
}

/* Check that the table of functions is this: lines of share, samples and name. */
static void functions_are(const char *rows)
{
	snprintf(text, sizeof(text), " Functions:\n\n%s\n Lines:\n", rows);
	has(out, text);
}

/* ---- the meaning of records --------------------------------------------------------- */

START_TEST(head)
{
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_sample(10, 10, 5, first);
	end();
	ck_assert_int_eq(report(), 0);
	ck_assert_str_eq(err, "");
	has(out, "\n Samples of 'two x' (one each 1,000 instructions:u):\n\n"
		 "                   1  samples\n                   0  dropped\n"
		 "             123,456  instructions:u\n         2.000000000  seconds thread time\n");
	functions_are(" 100.00%             1  first [two]\n");
	has(out, "two.c:11  first\n");
}
END_TEST

/* With a rate, a sample stands for all that the kernel has skipped; else there is a limit. */
START_TEST(varying_periods)
{
	begin();
	put_rate(2000);
	put_mapping(10, 0, CODE, TWO);
	put_heavy_sample(10, 5, first, 29999);
	put_heavy_sample(10, 6, second, 9999);
	end();
	ck_assert_int_eq(report(), 0);
	has(out, "\n Samples of 'two x' (about 2,000 per second of each thread):\n\n"
		 "                   2  samples\n");
	functions_are("  75.00%             1  first [two]\n"
		      "  25.00%             1  second [two]\n");
	ck_assert_int_eq(report("-j"), 0);
	has(out, "\"rate\":2000,");
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_heavy_sample(10, 5, first, 29999);
	put_heavy_sample(10, 6, second, 0);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  50.00%             1  first [two]\n"
		      "  50.00%             1  second [two]\n");
}
END_TEST

/* A process has its parent's mappings until it executes a file; threads share them. */
START_TEST(fork_and_exec)
{
	begin();
	put_mapping(10, 0, CODE, TWO);
	/* In the file, samples are before the records that they need. */
	put_sample(11, 11, 25, first);
	put_sample(11, 11, 35, first);
	put_sample(11, 11, 45, second);
	put_sample(10, 12, 50, second);
	put_sample(10, 10, 55, first);
	put_task(RECORD_EXEC, 11, 11, 30, "other");
	put_fork(10, 12, 10, 10, 10);
	put_fork(11, 11, 20, 10, 10);
	put_mapping(11, 40, CODE, TWO);
	/* There is no record of this process. */
	put_sample(13, 13, 60, first);
	/* Later mappings of the parent are not the child's. */
	put_fork(14, 14, 70, 13, 13);
	put_mapping(13, 80, CODE, TWO);
	put_sample(14, 14, 90, first);
	put_sample(13, 13, 90, first);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  37.50%             3  [unknown]\n"
		      "  37.50%             3  first [two]\n"
		      "  25.00%             2  second [two]\n");
}
END_TEST

START_TEST(latest_mapping)
{
	begin();
	put_mapping(10, 20, CODE, "/gone/library.so");
	put_mapping(10, 10, CODE, TWO);
	put_sample(10, 10, 5, first);
	put_sample(10, 10, 15, first);
	put_sample(10, 10, 25, 0x401234);
	/* At the same time, the order is that of the file. */
	put_sample(10, 10, 30, 0x400010);
	put_mapping(10, 30, 0x400000, 0x401000, 0x7000, "/gone/data");
	put_sample(10, 10, 30, 0x400010);
	put_sample(10, 10, 31, 0x401000);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  16.67%             1  [data]+0x7010\n"
		      "  16.67%             1  [library.so]+0x10\n"
		      "  16.67%             1  [library.so]+0x1000\n"
		      "  16.67%             1  [library.so]+0x1234\n"
		      "  16.67%             1  [unknown]\n"
		      "  16.67%             1  first [two]\n");
}
END_TEST

START_TEST(kernel_is_one_place)
{
	begin();
	put_sample(10, 10, 5, KERNEL_IP);
	put_sample(10, 10, 5, KERNEL_IP + 77);
	put_chain(10, 10, 5, 1, KERNEL_IP + 8, 2, (uint64_t []){ KERNEL_IP + 20, first });
	end();
	ck_assert_int_eq(report(), 0);
	functions_are(" 100.00%             3  [kernel]\n");
}
END_TEST

/* Functions have names, and calls; an address outside of them is in the kernel. */
START_TEST(functions_of_the_kernel)
{
	begin();
	put_kernel(KERNEL_IP + 200, KERNEL_IP + 300, "outer");
	put_kernel(KERNEL_IP, KERNEL_IP + 100, "in\033ner");
	put_sample(10, 10, 5, KERNEL_IP);
	put_sample(10, 10, 5, KERNEL_IP + 99);
	put_sample(10, 10, 5, KERNEL_IP + 100);
	put_sample(10, 10, 5, KERNEL_IP + 300);
	put_sample(10, 10, 5, KERNEL_IP - 1);
	/* A call that does not return is the last instruction of a function. */
	put_chain(10, 10, 5, 1, KERNEL_IP + 8, 2, (uint64_t []){ KERNEL_IP + 300, first });
	put_chain(10, 10, 5, 1, KERNEL_IP + 8, 3,
		  (uint64_t []){ KERNEL_IP + 9, KERNEL_IP + 201, first });
	end();
	ck_assert_int_eq(report("--export=folded"), 0);
	has(out, ";in?ner_[k] 2\n");
	has(out, ";[kernel] 3\n");
	has(out, ";outer_[k];in?ner_[k] 1\n");
	/* It has called itself. */
	has(out, ";outer_[k];in?ner_[k];in?ner_[k] 1\n");
	ck_assert_int_eq(report("--sort=dso,symbol"), 0);
	has(out, "  57.14%             4  [kernel]  in?ner\n");
	has(out, "  42.86%             3  [kernel]  [kernel]\n");
}
END_TEST

static const char *const all_formats[] = { "folded", "svg", "pprof", "firefox", "json" };

/*
 * Every format has the calls of the kernel, with their names, between the user's function that
 * has entered it and the place of the sample; and the kernel as one place where it has no names.
 */
START_TEST(kernel_in_formats)
{
	const char *format = all_formats[_i];
	const uint64_t calls[] = { KERNEL_IP + 250, KERNEL_IP + 301, first };
	char command[512];

	begin();
	put_kernel(KERNEL_IP + 200, KERNEL_IP + 300, "syscall");
	put_kernel(KERNEL_IP + 300, KERNEL_IP + 400, "entry");
	put_kernel(KERNEL_IP, KERNEL_IP + 100, "<work>");
	put_task(RECORD_COMM, 10, 10, 1, "thread");
	put_mapping(10, 0, CODE, TWO);
	put_sample(10, 10, 5, second);
	put_chain(10, 10, 6, 1, KERNEL_IP + 8, 3, calls);
	put_chain(10, 10, 7, 1, KERNEL_IP + 9, 3, calls);
	put_chain(10, 10, 8, 1, KERNEL_IP + 390, 1, &first);
	/* Neither has a name. */
	put_chain(10, 10, 9, 1, KERNEL_IP + 500, 2, (uint64_t []){ KERNEL_IP + 600, first });
	put_sample(10, 10, 10, KERNEL_IP + 7);
	end();
	if (strcmp(format, "json"))
		ck_assert_int_eq(report("--export", (char *)format), 0);
	else
		ck_assert_int_eq(report("-j", "--callers", "--callees"), 0);
	ck_assert_str_eq(err, "");
	snprintf(command, sizeof(command), "python3 " SRC "shares.py %s %s paths > %s", format,
		 in_dir("out"), in_dir("text"));
	ck_assert_int_eq(system(command), 0);
	slurp("text", text, sizeof(text));
	ck_assert_str_eq(text, "<work>_[k] 1\n"
			       "first;[kernel] 1\n"
			       "first;entry_[k] 1\n"
			       "first;entry_[k];syscall_[k];<work>_[k] 2\n"
			       "second 1\n");
}
END_TEST

/*
 * The Firefox Profiler has one main thread for each process.  A process that executes several
 * files, one whose number is used again, and threads that change their names keep all samples.
 */
START_TEST(firefox_tracks)
{
	char command[512];
	uint64_t tsc = 10;

	begin();
	put_task(RECORD_EXEC, 10, 10, 1, "sh");
	put_mapping(10, 2, CODE, TWO);
	put_sample(10, 10, tsc++, first);
	put_fork(10, 11, tsc++, 10, 10);
	put_task(RECORD_COMM, 10, 11, tsc++, "helper");
	put_sample(10, 11, tsc++, first);
	/* A new name is no other program. */
	put_task(RECORD_COMM, 10, 10, tsc++, "shell");
	put_task(RECORD_COMM, 10, 11, tsc++, "worker");
	put_sample(10, 10, tsc++, first);
	put_sample(10, 11, tsc++, second);
	put_task(RECORD_EXEC, 10, 10, tsc++, "gzip");
	put_mapping(10, tsc++, CODE, TWO);
	put_sample(10, 10, tsc++, second);
	put_sample(10, 11, tsc++, second);
	/* The number of a process that has ended, for a child of another one */
	put_task(RECORD_EXEC, 20, 20, tsc++, "make");
	put_mapping(20, tsc++, CODE, TWO);
	put_fork(10, 10, tsc++, 20, 20);
	put_sample(10, 10, tsc++, first);
	end();
	ck_assert_int_eq(report("--export=firefox"), 0);
	snprintf(command, sizeof(command), "python3 " SRC "shares.py firefox %s > %s", in_dir("out"), in_dir("text"));
	ck_assert_int_eq(system(command), 0);
	slurp("text", text, sizeof(text));
	ck_assert_str_eq(text, "first 57.143\nsecond 42.857\n");
	snprintf(command, sizeof(command),
		 "python3 -c 'import json; print(*[(t[\"pid\"], t[\"tid\"], t[\"name\"], sum(t[\"samples\"][\"weight\"])) for t in json.load(open(\"%s\"))[\"threads\"]], sep=\"\\n\")' > %s",
		 in_dir("out"), in_dir("text"));
	ck_assert_int_eq(system(command), 0);
	slurp("text", text, sizeof(text));
	ck_assert_str_eq(text, "('10', 10, 'shell', 2)\n"
			       "('10', 11, 'worker', 2)\n"
			       "('10.1', '10.1', 'gzip', 1)\n"
			       "('10.1', '11.1', 'worker', 1)\n"
			       "('10.2', '10.2', 'make', 1)\n");
}
END_TEST

START_TEST(damaged_functions_of_the_kernel)
{
	const uint64_t wrong[][2] = {
		{ KERNEL_IP, KERNEL_IP }, { KERNEL_IP + 1, KERNEL_IP }, { 1, KERNEL_IP }, { 1, 2 },
	};

	begin();
	put_kernel(wrong[_i][0], wrong[_i][1], "function");
	end();
	ck_assert_int_eq(report(), 125);
	is_message("is damaged: an impossible function of the kernel at byte");
	begin();
	put_record(RECORD_KERNEL, wrong[0], 16, NULL);
	end();
	ck_assert_int_eq(report(), 125);
	is_message("is damaged: a function of the kernel without a name at byte");
}
END_TEST

START_TEST(several_events)
{
	begin();
	put_event(3, 50, "cache-misses:u");
	put_mapping(10, 0, CODE, TWO);
	put_chain(10, 10, 5, 1, first, 0, NULL);
	put_chain(10, 10, 6, 1, first, 0, NULL);
	put_chain(10, 10, 7, 8, second, 0, NULL);
	put_chain(10, 10, 8, 9, second, 0, NULL);
	put_end(2, (uint64_t []){ 3333, 111 });
	put_close();
	ck_assert_int_eq(report(), 0);
	has(out, " Samples of 'two x':\n\n                   5  samples\n");
	has(out, "               3,333  instructions:u, 3 samples, one each 1,000\n"
		 "                 111  cache-misses:u, 2 samples, one each 50\n");
	has(out, " Functions, instructions:u:\n\n  66.67%             2  first [two]\n"
		 "  33.33%             1  second [two]\n");
	has(out, " Functions, cache-misses:u:\n\n 100.00%             2  second [two]\n");
	has(out, " Lines, cache-misses:u:\n");
}
END_TEST

/* ---- known shares -------------------------------------------------------------------- */

#define CALLS		TMP "/calls"
#define NR_SAMPLES	600

static const char *const export_formats[] = { "folded", "svg", "pprof", "firefox" };

static uint64_t address_in_calls(const char *symbol)
{
	static struct { char symbol[16]; uint64_t address; } known[16];
	unsigned int i;

	for (i = 0; *known[i].symbol && strcmp(known[i].symbol, symbol); i++)
		;
	if (!*known[i].symbol) {
		known[i].address = address_in(CALLS, symbol);
		snprintf(known[i].symbol, sizeof(known[i].symbol), "%s", symbol);
	}
	return known[i].address;
}

/*
 * Four functions have 10, 20, 30 and 40 % of the samples, a sixth of which are called by
 * left(), two sixths by middle() and three by right().  Two processes of two threads have
 * a quarter each.  The second event has all of its samples in ten().
 */
static void write_shares(void)
{
	static const char *const functions[] = { "ten", "twenty", "thirty", "forty" };
	static const char *const callers[] = { "left", "middle", "right" };
	uint64_t main_at = address_in(CALLS, "main") + 8, tsc = 1000000, chain[2];
	unsigned int f, c, i, n = 0;

	put_header(in_dir("s"), SAMPLES_CHAINS);
	put_record(RECORD_COMMAND, NULL, 0, "calls");
	put_event(0, 10007, "instructions:u");
	put_event(2, 50, "branches:u");
	put_task(RECORD_EXEC, 20, 20, 1, "calls");
	put_mapping(20, 2, CODE, CALLS);
	put_fork(20, 21, 3, 20, 20);
	put_fork(30, 30, 4, 20, 20);
	put_task(RECORD_COMM, 30, 30, 5, "child");
	put_fork(30, 31, 6, 30, 30);
	for (f = 0; f < 4; f++)
		for (c = 0; c < 3; c++)
			for (i = 0; i < 10 * (f + 1) * (c + 1); i++, n++) {
				chain[0] = address_in_calls(callers[c]) + 8;
				chain[1] = main_at;
				put_chain(n % 4 < 2 ? 20 : 30, n % 4 < 2 ? 20 + n % 2 : 30 + n % 2,
					  tsc += 1000, 1, address_in_calls(functions[f]) + 1,
					  2, chain);
			}
	for (i = 0; i < 7; i++)
		put_chain(20, 20, tsc += 1000, 4, address_in_calls("ten"), 1, &main_at);
	put_end(2, (uint64_t []){ NR_SAMPLES * 10007, 350 });
	put_close();
}

/* stdio takes the largest part of these bytes past its buffer, and forgets why that fails. */
START_TEST(full_device)
{
	uint64_t random = 1;
	char name[40];
	struct stat st;
	unsigned int i;

	begin();
	put_task(RECORD_COMM, 10, 10, 1, "thread");
	for (i = 0; i < 400; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		snprintf(name, sizeof(name), "f%016" PRIx64, random);
		put_kernel(KERNEL_IP + 16 * i, KERNEL_IP + 16 * i + 16, name);
		put_sample(10, 10, 5 + i, KERNEL_IP + 16 * i + 1);
	}
	end();
	ck_assert_int_eq(report("--export=pprof", "-o", (char *)in_dir("profile")), 0);
	ck_assert_int_eq(stat(in_dir("profile"), &st), 0);
	ck_assert_int_gt(st.st_size, 4096);
	ck_assert_int_lt(st.st_size, 16384);
	ck_assert_int_eq(report("--export=pprof", "-o", "/dev/full"), 125);
	is_message("cannot write to '/dev/full': No space left on device");
}
END_TEST

static const char *const written_formats[] = {
	"--export=svg", "--export=folded", "--export=pprof", "--export=firefox", "--export=perf",
	"--export=script", "-j",
};

/* The last of these writes may be one past the buffer, so that nothing is left to flush. */
START_TEST(full_device_in_formats)
{
	write_shares();
	ck_assert_int_eq(report((char *)written_formats[_i], "-o", "/dev/full"), 125);
	is_message("cannot write to '/dev/full': No space left on device");
}
END_TEST

/* Most formats have one event.  Those of pprof and of scripts have several. */
START_TEST(events_of_exports)
{
	write_shares();
	ck_assert_int_eq(report("--export=folded"), 0);
	ck_assert_int_eq(report("--export=folded", "-e", "branches:u"), 0);
	ck_assert_int_eq(report("--export=folded", "-e", "branches:u,instructions:u"), 125);
	is_message("--export=folded has one event, and -e names 'instructions:u' and 'branches:u'");
	ck_assert_int_eq(report("--export=pprof", "-e", "branches:u,instructions:u"), 0);
	ck_assert_int_eq(report("--export=pprof", "-e", "branches:u,instruction:u"), 125);
	is_message("/s' has no samples of 'instruction:u', which -e names");
	/* One name is one event, although the file has it twice. */
	put_header(in_dir("s"), SAMPLES_CHAINS);
	put_event(0, 1000, "cycles:u");
	put_event(1, 1000, "cycles:u");
	put_event(2, 1000, "branches:u");
	put_sample(10, 10, 5, 0x1000);
	put_end(3, (uint64_t []){ 1000, 1000, 1000 });
	put_close();
	ck_assert_int_eq(report("--export=folded", "-e", "cycles:u"), 0);
	ck_assert_str_eq(out, "?;[unknown] 1\n");
	ck_assert_int_eq(report("--export=folded", "-e", "cycles:u,branches:u"), 125);
	is_message("--export=folded has one event, and -e names 'cycles:u' and 'branches:u'");
}
END_TEST

START_TEST(children)
{
	write_shares();
	ck_assert_int_eq(report("--children", "-e", "instructions:u"), 0);
	has(out, "     all      self       samples\n"
		 " 100.00%     0.00%           600  main [calls]\n"
		 "  50.00%     0.00%           300  right [calls]\n"
		 "  40.00%    40.00%           240  forty [calls]\n"
		 "  33.33%     0.00%           200  middle [calls]\n"
		 "  30.00%    30.00%           180  thirty [calls]\n"
		 "  20.00%    20.00%           120  twenty [calls]\n"
		 "  16.67%     0.00%           100  left [calls]\n"
		 "  10.00%    10.00%            60  ten [calls]\n");
	has_not(out, "branches");
}
END_TEST

START_TEST(trees)
{
	write_shares();
	ck_assert_int_eq(report("--callees", "--callers"), 0);
	has(out, " Call paths: functions, and below them what they called, instructions:u:\n\n"
		 "     all      self\n"
		 " 100.00%     0.00%  main [calls]\n"
		 "  50.00%     0.00%    right [calls]\n"
		 "  20.00%    20.00%      forty [calls]\n"
		 "  15.00%    15.00%      thirty [calls]\n");
	has(out, " Functions, and below them their callers, instructions:u:\n\n"
		 "     all      self\n"
		 "  40.00%    40.00%  forty [calls]\n"
		 "  20.00%     0.00%    right [calls]\n"
		 "  20.00%     0.00%      main [calls]\n"
		 "  13.33%     0.00%    middle [calls]\n");
	has(out, "branches:u:\n\n     all      self\n 100.00%     0.00%  main [calls]\n"
		 " 100.00%   100.00%    ten [calls]\n");
}
END_TEST

START_TEST(sort_and_filter)
{
	write_shares();
	ck_assert_int_eq(report("--sort=comm,tid", "-e", "instructions:u"), 0);
	has(out, " comm,tid:\n\n"
		 "  25.00%           150  calls  20\n"
		 "  25.00%           150  calls  21\n"
		 "  25.00%           150  child  30\n"
		 "  25.00%           150  child  31\n");
	ck_assert_int_eq(report("--sort=event,symbol", "-v"), 0);
	has(out, " event,symbol:\n");
	has(out, "  1.15%             7  branches:u      ten [calls]\n");
	has(out, " 39.54%           240  instructions:u  forty [calls]\n");
	ck_assert_int_eq(report("--sort=cpu,dso", "--comm=child"), 0);
	has(out, " cpu,dso, instructions:u:\n\n  50.00%           150  2  [calls]\n"
		 "  50.00%           150  3  [calls]\n");
	ck_assert_int_eq(report("--sort=pid", "-p", "30", "-t", "21", "-e", "instructions:u"), 0);
	has(out, "  66.67%           300  30\n  33.33%           150  20\n");
	ck_assert_int_eq(report("--sort=symbol", "--comm=chil,calls,x", "-t", "31"), 125);
	is_message("/s' has no samples of what was chosen");
	ck_assert_int_eq(report("-j", "--comm=chil"), 125);
	is_message("/s' has no samples of what was chosen");
	ck_assert_int_eq(report("-e", "cycles"), 125);
	is_message("has no samples of 'cycles', which -e names");
}
END_TEST

START_TEST(report_misuse)
{
	write_shares();
	ck_assert_int_eq(report("--sort=symbol,size"), 125);
	is_message("'size' is not what a report can be sorted by");
	ck_assert_int_eq(report("--sort=comm,"), 125);
	is_message("'' is not what a report can be sorted by");
	ck_assert_int_eq(report("--sort=pid,pid,pid,pid,pid,pid,pid,pid,pid"), 125);
	is_message("too many keys");
	ck_assert_int_eq(report("--export=gif"), 125);
	is_message("there is no export 'gif'");
	ck_assert_int_eq(report("--export=folded", "--children"), 125);
	is_message("--export cannot be combined");
	ck_assert_int_eq(report("-x", ","), 125);
	is_message("there is no -x, which perf report has: -j prints all rows");
	ck_assert_int_eq(perfex("--children", "true"), 125);
	is_message("perfex stat has no --children, which is an option of perfex report");
}
END_TEST

/* A program of its own reads each export, and prints the shares of functions. */
static void shares_are(const char *format, const char *shares)
{
	char command[512];

	snprintf(command, sizeof(command), "python3 " SRC "shares.py %s %s > %s", format,
		 in_dir("out"), in_dir("text"));
	ck_assert_int_eq(system(command), 0);
	slurp("text", text, sizeof(text));
	ck_assert_str_eq(text, shares);
}

#define SHARES	"forty 40.000\nthirty 30.000\ntwenty 20.000\nten 10.000\n"

START_TEST(json)
{
	write_shares();
	ck_assert_int_eq(report("-j", "-e", "instructions:u", "--callees", "--callers", "--children"),
			 0);
	shares_are("json", SHARES);
}
END_TEST

START_TEST(export)
{
	write_shares();
	ck_assert_int_eq(report("--export", (char *)export_formats[_i]), 0);
	ck_assert_str_eq(err, "");
	shares_are(export_formats[_i], SHARES);
}
END_TEST

START_TEST(folded)
{
	write_shares();
	ck_assert_int_eq(report("--export=folded", "--comm=calls"), 0);
	has(out, "calls;main;right;forty 60\n");
	ck_assert_int_eq(report("--export=folded", "-e", "branches:u"), 0);
	ck_assert_str_eq(out, "calls;main;ten 7\n");
}
END_TEST

/* ---- names ------------------------------------------------------------------------- */

/* The last instruction of a function that is not its return. */
static uint64_t end_of(const char *file, const char *symbol)
{
	char command[256];
	unsigned long address, size;
	FILE *f;

	snprintf(command, sizeof(command), "nm --plugin none -S %s | grep ' %s$'", file, symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx %lx", &address, &size), 2);
	pclose(f);
	return address + size - 2;
}

START_TEST(inlined_functions)
{
	uint64_t at = address_in(CALLS, "outer");

	/* The address after a call is in the function that was called last. */
	begin();
	put_mapping(10, 0, CODE, CALLS);
	put_chain(10, 10, 1, 1, end_of(CALLS, "outer"), 1,
		  (uint64_t []){ address_in(CALLS, "main") + 8 });
	put_sample(10, 10, 2, at);
	end();
	ck_assert_int_eq(report("--callees", "-v"), 0);
	has(out, "  50.00%     0.00%  main [calls]\n"
		 "  50.00%     0.00%    outer [calls]\n"
		 "  50.00%     0.00%      between [calls]\n"
		 "  50.00%    50.00%        innermost [calls]\n");
	ck_assert_int_eq(report(), 0);
	has(out, "calls.c:36  innermost\n");
	ck_assert_int_eq(report("--children", "--sort=line"), 0);
	has(out, "calls.c:42  between\n");
	has(out, "calls.c:47  outer\n");
	ck_assert_int_eq(report("--export=folded"), 0);
	has(out, "?;main;outer;between;innermost 1\n");
}
END_TEST

/* A program at any address, whose symbols are in another file. */
START_TEST(separate_symbols)
{
	char pie[128];

	snprintf(pie, sizeof(pie), "%s", in_dir("pie"));

	snprintf(text, sizeof(text), "cd %s && ${CC:-cc} -g -O1 -pie -fPIE -o pie " SRC "calls.c && "
		 "objcopy --only-keep-debug pie pie.debug && nm --plugin none pie | grep ' forty$' > forty && "
		 "strip pie && objcopy --add-gnu-debuglink=pie.debug pie", dir);
	ck_assert_int_eq(system(text), 0);
	slurp("forty", text, sizeof(text));
	begin();
	put_mapping(10, 0, UINT64_C(0x555555555000), UINT64_C(0x555555556000), 0x1000, pie);
	put_sample(10, 10, 1, UINT64_C(0x555555554000) + strtoul(text, NULL, 16));
	end();
	ck_assert_int_eq(report(), 0);
	has(out, "  forty [pie]\n");
	has(out, "calls.c:20  forty\n");
	/* Without that file, the report says what to install. */
	unlink(in_dir("pie.debug"));
	ck_assert_int_eq(report(), 0);
	has(out, "  [pie]+0x");
	snprintf(text, sizeof(text), " %s has no symbols (build ID ", pie);
	has(out, text);
}
END_TEST

/* A file of debugging information below --symfs, where the link of a program there leads. */
START_TEST(link_below_symfs)
{
	char root[128];

	snprintf(root, sizeof(root), "%s", in_dir("root"));
	snprintf(text, sizeof(text), "cd %s && mkdir -p root/opt root/usr/lib/debug/opt && cd root/opt && "
		 "${CC:-cc} -g -O1 -pie -fPIE -Wl,--build-id=none -o pie " SRC "calls.c && "
		 "objcopy --only-keep-debug pie pie.debug && nm --plugin none pie | grep ' forty$' > ../../forty && "
		 "strip pie && objcopy --add-gnu-debuglink=pie.debug pie && mv pie.debug ../usr/lib/debug/opt/", dir);
	ck_assert_int_eq(system(text), 0);
	slurp("forty", text, sizeof(text));
	begin();
	put_mapping(10, 0, UINT64_C(0x555555555000), UINT64_C(0x555555556000), 0x1000, "/opt/pie");
	put_sample(10, 10, 1, UINT64_C(0x555555554000) + strtoul(text, NULL, 16));
	end();
	ck_assert_int_eq(report("--symfs", root), 0);
	snprintf(text, sizeof(text), "rm -r %s", root);
	ck_assert_int_eq(system(text), 0);
	has(out, "  forty [pie]\n");
	has(out, "calls.c:20  forty\n");
}
END_TEST

START_TEST(names_of_languages)
{
	const char *names = TMP "/names";

	begin();
	put_mapping(10, 0, CODE, names);
	put_sample(10, 10, 1, address_in(names, "_ZN6shapes6squareIlE4areaEl"));
	put_sample(10, 10, 2, address_in(names, "_ZN55_.*E"));
	put_sample(10, 10, 3, address_in(names, "_ZN55_.*E"));
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  66.67%             2  <u32 as names::Trait<[T]>>::work [names]\n"
		      "  33.33%             1  shapes::square<long>::area(long) [names]\n");
}
END_TEST

/* The second names have no hashes of crates.  c++filt writes some in another way. */
static const struct {
	const char *symbol, *name;
} rust_names[] = {
	{ "_RNvCskK7mfDs1mzF_1m4main", "m::main" },
	{ "_RNvXs_CskK7mfDs1mzF_1mINtB4_1BmENtB4_4Work4workB4_", "<m::B<u32> as m::Work>::work" },
	{ "_RNCINvNtCsjrHSEGnQ3l9_3std2rt10lang_startuE0CskK7mfDs1mzF_1m",
	  "std::rt::lang_start<()>::{closure#0}" },
	{ "_RINvCs1aBWwuGybLu_1k1fDNtNtNtNtCsgEmfK2I1SDS_4core4iter6traits8iterator8Iteratorp4ItemAfj4_NtNtBt_6marker4SendEL_EB2_",
	  "k::f<dyn core::iter::traits::iterator::Iterator<Item = [f32; 0x4]> + core::marker::Send>" },
	{ "_RINvCs1aBWwuGybLu_1k1fFUKChnEbEB2_", "k::f<unsafe extern \"C\" fn(u8, i128) -> bool>" },
	{ "_RINvCs1aBWwuGybLu_1k1fFG_QL0_eOScEzEB2_", "k::f<fn(&mut str, *mut [char]) -> !>" },
	{ "_RINvCs1aBWwuGybLu_1k1fTtxuEEB2_.llvm.123", "k::f<(u16, i64, ())>" },
	/* The older form, with the suffix, too. */
	{ "_ZN1m4grow17hc58e006a271e42c2E", "m::grow" },
	{ "_ZN1m4grow17hc58e006a271e42c2E.llvm.3797928627851248576", "m::grow" },
	{ "_ZN43_$LT$m..A$u20$as$u20$core..hash..Hasher$GT$5write17hb051a3ae5a05483aE.llvm.1",
	  "<m::A as core::hash::Hasher>::write" },
	/* These are no names. */
	{ "_R", NULL }, { "_RNvC", NULL }, { "_RNvC1m", NULL }, { "_RNvC1m4mai", NULL },
	{ "_RNvC1m99999999999999999999main", NULL }, { "_RB_", NULL }, { "_RNvB_4main", NULL },
	{ "_RNvB1_4main", NULL }, { "_RIC1mE", "m<>" }, { "_RIC1mAh", NULL }, { "_RC1mx", NULL },
	{ "_RNvCszzzzzzzzzzzzzzzz_1m4main", NULL }, { "_RMC1m{", NULL }, { "_RIC1mK", NULL },
	{ "_RIC1mKj", NULL }, { "_RIC1mRRRRL", NULL }, { "_RIC1mFKu", NULL }, { "_RIC1mDC1tp", NULL },
};

START_TEST(names_of_rust)
{
	const char *symbol = rust_names[_i].symbol, *name = rust_names[_i].name;
	char part[256], *result = demangle(symbol);

	ck_assert_msg(name ? result && !strcmp(result, name) : !result, "%s is %s", symbol,
		      result ? result : "no name");
	free(result);
	/* A part of a name may be one, but does no harm. */
	for (snprintf(part, sizeof(part), "%s", symbol); *part; part[strlen(part) - 1] = '\0')
		free(demangle(part));
}
END_TEST

/* Names that repeat their parts, or are nested, without end. */
START_TEST(hostile_names)
{
	char *result;
	unsigned int i;
	size_t len;

	memset(text, 'S', 50000);
	memcpy(text, "_RIC1m", 6);
	strcpy(text + 50000, "uE");
	ck_assert_ptr_null(demangle(text));
	/* Each tuple has twice what the one before it has. */
	len = (size_t)snprintf(text, sizeof(text), "_RIC1mTuuE");
	for (i = 0; i < 60; i++) {
		/* The place of the tuple before, from after "_R". */
		static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t last = i ? len - 2 - 10 : 4, value = last - 1;

		len += (size_t)snprintf(text + len, sizeof(text) - len, "TB%c%c_B%c%c_EE",
					digits[value / 62], digits[value % 62],
					digits[value / 62], digits[value % 62]);
		text[--len] = '\0';
		if (!i) {
			strcpy(text + len, "E");
			result = demangle(text);
			ck_assert_str_eq(result, "m<((), ()), (((), ()), ((), ()))>");
			free(result);
		}
	}
	strcpy(text + len, "E");
	ck_assert_ptr_null(demangle(text));
	/* A C++ name of that length is not even tried. */
	memset(text, 'P', 50000);
	memcpy(text, "_Z1f", 4);
	strcpy(text + 50000, "i");
	ck_assert_ptr_null(demangle(text));
}
END_TEST

START_TEST(functions_of_a_jit)
{
	char map[64];
	FILE *f;

	snprintf(map, sizeof(map), "/tmp/perf-%u.map", (unsigned int)getpid());
	f = fopen(map, "w");
	fputs("7f0000001000 20 old\n7f0000002000 100 LazyCompile:~b foo.js:1\nno line\n"
	      "7f0000001000 20 new\nffffffffffffffff 10 beyond\n", f);
	fclose(f);
	begin();
	put_mapping(getpid(), 0, UINT64_C(0x7f0000000000), UINT64_C(0x7f0000010000), 0, "//anon");
	put_mapping(getpid() + 1, 0, UINT64_C(0x7f0000000000), UINT64_C(0x7f0000010000), 0, "");
	put_sample(getpid(), getpid(), 1, UINT64_C(0x7f000000101f));
	put_sample(getpid(), getpid(), 1, UINT64_C(0x7f0000001020));
	put_sample(getpid(), getpid(), 1, UINT64_C(0x7f0000002080));
	put_sample(getpid() + 1, getpid() + 1, 1, UINT64_C(0x7f0000002080));
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  25.00%             1  LazyCompile:~b foo.js:1 [anon]\n"
		      "  25.00%             1  [anon]+0x7f0000001020\n"
		      "  25.00%             1  [anonymous]+0x7f0000002080\n"
		      "  25.00%             1  new [anon]\n");
	/* Another user's file is not read, nor is a link. */
	ck_assert_int_eq(rename(map, in_dir("file")), 0);
	ck_assert_int_eq(symlink(in_dir("file"), map), 0);
	ck_assert_int_eq(report(), 0);
	unlink(map);
	has_not(out, "new [anon]");
}
END_TEST

/*
 * The line that was written last has an address, wherever its function begins, and whether it
 * covers another one wholly or partly.
 */
START_TEST(newer_functions_of_a_jit)
{
	static const char *const lines[] = {
		/* 0x100 is in the middle of each last function. */
		"7f0000001100 20 old\n7f0000001080 180 new\n",
		"7f0000001080 180 old\n7f0000001100 20 new\n7f0000001280 20 other\n",
		"7f00000010f0 20 old\n7f0000001100 20 new\n",
		"7f0000001100 20 old\n7f00000010f0 20 new\n",
		"7f00000010f0 18 old\n7f0000001108 18 old\n7f0000001000 200 old\n7f0000001100 10 new\n",
		"7f0000001100 10 new\n7f0000001100 0 empty\n7f0000001110 10 old\n",
		"7f0000001100 10 new\r\n7f0000001110 10 old\r\n",
		"7f0000001100 10 new",
		"0x7f0000001100 0x10 new\n",
	};
	const uint64_t at = UINT64_C(0x7f0000001100);
	char map[64];
	FILE *f;

	snprintf(map, sizeof(map), "/tmp/perf-%u.map", (unsigned int)getpid());
	f = fopen(map, "w");
	fputs(lines[_i], f);
	fclose(f);
	begin();
	put_mapping(getpid(), 0, UINT64_C(0x7f0000000000), UINT64_C(0x7f0000010000), 0, "//anon");
	put_sample(getpid(), getpid(), 1, at);
	put_sample(getpid(), getpid(), 1, at + 15);
	end();
	ck_assert_int_eq(report(), 0);
	unlink(map);
	functions_are(" 100.00%             2  new [anon]\n");
}
END_TEST

START_TEST(vdso)
{
	uint64_t page = (uint64_t)getpagesize(), size, at;
	const Elf64_Ehdr *h = (const void *)getauxval(AT_SYSINFO_EHDR);
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *symbol = library ? dlsym(library, "__vdso_clock_gettime") : NULL;

	/* An emulator may have none. */
	if (!h || !symbol)
		return;
	size = (h->e_shoff + (uint64_t)h->e_shnum * h->e_shentsize + page - 1) / page * page;
	at = (uint64_t)symbol - (uint64_t)h;
	begin();
	put_mapping(10, 0, 0x7000000, 0x7000000 + size, 0, "[vdso]");
	put_sample(10, 10, 1, 0x7000000 + at);
	end();
	ck_assert_int_eq(report(), 0);
	has(out, "clock_gettime [vdso]\n");
	/* That of another kernel. */
	begin();
	put_mapping(10, 0, 0x7000000, 0x7000000 + size + page, 0, "[vdso]");
	put_sample(10, 10, 1, 0x7000000 + at);
	end();
	ck_assert_int_eq(report(), 0);
	has(out, " 100.00%             1  [vdso]+0x");
}
END_TEST

/* ---- bad files -------------------------------------------------------------------- */

static void write_all_records(void)
{
	struct { struct record_host r; char names[16]; } host = { { 8, 4 }, "m\0r\0name" };

	begin();
	put_record(RECORD_HOST, &host, sizeof(host), NULL);
	put_mapping(10, 1, CODE, "/gone");
	put_task(RECORD_COMM, 10, 10, 2, "name");
	put_fork(11, 11, 3, 10, 10);
	put_task(RECORD_EXEC, 11, 11, 4, "new");
	put_chain(10, 10, 5, 1, first, 2, (uint64_t []){ second, 7 });
	put_task(RECORD_EXIT, 11, 11, 6, NULL);
	put_record(99, "unknown", 8, NULL);
	end();
}

START_TEST(truncated_file)
{
	write_all_records();
	check_truncated(sizeof(struct samples_header));
	ck_assert_int_eq(report(), 0);
	has(out, "The recording was cut off");
	has(out, "[gone]+0x");
	ck_assert_int_eq(report("--export=perf", "-o", (char *)in_dir("x")), 0);
	has(err, "/s' was cut off: perfex was killed, or is still recording\n");
	unlink(in_dir("x"));
}
END_TEST

START_TEST(damaged_file)
{
	write_all_records();
	check_damaged(0, 0);
}
END_TEST

/* All numbers of a file, also those that no report shows, as perfex and other-order.py reverse them. */
START_TEST(every_number)
{
	const uint64_t regs[] = { 0x0102030405060708, 0x1112131415161718 };
	const uint64_t stack[] = { 0x2122232425262728, 0x3132333435363738 };
	struct record_event event = { 1, 0x01020304, 0x0506070809, 0x0a0b0c0d0e };
	struct record_file file = { 8, 1, 0x010203, 4, 5, 6, 7, 8, 2, { 0xab, 0xcd } };
	struct record_clock clock = { 0x0102030405, 0x060708090a };
	struct { struct record_host r; char names[16]; } host = { { 8, 4 }, "m\0r\0name" };
	static char changed[sizeof(report_text)];
	struct record r;
	size_t len, at;

	put_header(in_dir("s"), SAMPLES_STACKS);
	put_record(RECORD_EVENT, &event, sizeof(event), "event");
	put_record(RECORD_FILE, &file, sizeof(file), "/gone");
	put_mapping(10, 1, CODE, "/gone");
	put_task(RECORD_COMM, 10, 10, 2, "name");
	put_fork(11, 12, 3, 10, 13);
	put_task(RECORD_EXEC, 11, 12, 7, "new");
	put_task(RECORD_EXIT, 11, 12, 8, NULL);
	put_record(RECORD_CLOCK, &clock, sizeof(clock), NULL);
	put_record(RECORD_HOST, &host, sizeof(host), NULL);
	put_kernel(KERNEL_IP, KERNEL_IP + 100, "inner");
	put_user(10, 4, first, VPERFCTR_USER_64, 2, regs, stack, sizeof(stack));
	put_user(10, 5, first, VPERFCTR_USER_32, 1, regs, stack, sizeof(stack));
	put_chain(10, 10, 6, 2, first, 1, &second);
	put_end(1, (uint64_t []){ 123456 });
	put_close();
	len = load(report_text);
	change_byte_order();
	ck_assert_uint_eq(load(changed), len);
	swap_header(changed, sizeof(struct samples_header), SAMPLES_VERSION);
	for (at = sizeof(struct samples_header); at < len; at += r.size) {
		memcpy(&r, changed + at, sizeof(r));
		swap_record_head(&r);
		memcpy(changed + at, &r, sizeof(r));
		swap_record(SAMPLES_VERSION, r.type, true, changed + at + sizeof(r), r.size - sizeof(r));
		ck_assert_msg(!memcmp(changed + at, report_text + at, r.size), "a record of type %u", r.type);
	}
	ck_assert_mem_eq(changed, report_text, len);
}
END_TEST

/* Files of a machine with the other byte order say the same. */
START_TEST(other_byte_order)
{
	begin();
	put_event(5, 2000, "cycles:u");
	put_rate(2000);
	put_mapping(10, 1, CODE, TWO);
	put_kernel(KERNEL_IP, KERNEL_IP + 100, "inner");
	put_task(RECORD_COMM, 10, 10, 2, "name");
	put_fork(11, 12, 3, 10, 10);
	put_task(RECORD_COMM, 11, 12, 3, "other");
	put_chain(11, 12, 4, 1 << 5, first, 2, (uint64_t []){ second, first });
	put_chain(10, 10, 5, 1, KERNEL_IP + 8, 1, (uint64_t []){ second });
	put_heavy_sample(10, 6, first, 29);
	put_task(RECORD_EXEC, 11, 12, 7, "new");
	put_sample(11, 12, 8, first);
	put_end(2, (uint64_t []){ 123456, 7890 });
	put_close();
	check_other_order("--sort=event,comm,pid,tid,cpu,dso,symbol");
	has(out, "inner");
	change_byte_order();
	check_other_order("-v");
	has(out, "7,890  cycles:u");
	/* Damaged ones have a report or a message, too. */
	write_all_records();
	change_byte_order();
	check_truncated(sizeof(struct samples_header));
	write_all_records();
	change_byte_order();
	check_damaged(0, 0);
}
END_TEST

#define NR_WRONG	13

/* Write record number i of those that each reader must refuse. */
static const char *put_wrong_record(int i)
{
	struct { struct record_sample r; uint64_t chain[2]; } s = {
		.r = { .size = sizeof(struct record_sample), .pid = 1, .tid = 1 },
	};
	struct { struct record_end r; uint64_t count; } e = { .r = { .nr = 1 } };
	struct { struct record_event r; char name[8]; } event = { .r = { .counter = 1 } };
	struct { struct record_task r; char name[8]; } task = { .r = { 1, 1, 1 } };
	const char *samples = "samples of another size";

	memset(event.name, 'x', sizeof(event.name));
	memset(task.name, 'x', sizeof(task.name));
	switch (i) {
	case 0:
		s.r.size = 0;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 1:
		s.r.size = sizeof(s) + 8;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 2:
		s.r.size = sizeof(s) - 4;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 3:
		s.r.nr = 1;
		put_record(RECORD_SAMPLES, &s, sizeof(s.r), NULL);
		return samples;
	case 4:
		s.r.nr = MAX_CHAIN + 1;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 5:
		e.r.nr = UINT64_MAX / 8;
		put_record(RECORD_END, &e, sizeof(e), NULL);
		return "a short end";
	case 6:
		put_event(0, 1, "again");
		return "two events of one counter";
	case 7:
		put_event(64, 1, "beyond");
		return "an impossible event";
	case 8:
		put_record(RECORD_EVENT, &event, sizeof(event), NULL);
		return "an event without a name";
	case 9:
		put_record(RECORD_COMM, &task, sizeof(task), NULL);
		return "a task without a name";
	case 10:
		put_record(RECORD_FORK, &task, sizeof(task.r), NULL);
		return "a short record of a task";
	case 11:
		/* two names, and no NUL after the third one */
		put_record(RECORD_HOST, "\10\0\0\0\4\0\0\0m\0r\0name", 16, NULL);
		return "an impossible machine";
	default:
		put_mapping(1, 1, 0x2000, 0x1000, 0, "/x");
		return "an impossible mapping";
	}
}

START_TEST(wrong_record)
{
	const char *message;

	begin();
	message = put_wrong_record(_i);
	put_close();
	ck_assert_int_eq(report(), 125);
	snprintf(text, sizeof(text), "is damaged: %s at byte ", message);
	is_message(text);
}
END_TEST

/* Text that a terminal would obey. */
START_TEST(hostile_text)
{
	put_header(in_dir("s"), 0);
	put_record(RECORD_COMMAND, NULL, 0, "a\033[2Jb");
	put_event(0, 1000, "e\033v");
	put_mapping(10, 0, CODE, "/x/\033[1m");
	put_task(RECORD_COMM, 10, 10, 0, "\033c");
	put_sample(10, 10, 1, 0x400010);
	end();
	ck_assert_int_eq(report(), 0);
	has_not(out, "\033");
	has(out, " [?[1m]+0x10\n");
}
END_TEST

/* Text that has a meaning in a format remains text. */
START_TEST(hostile_exports)
{
	put_header(in_dir("s"), 0);
	put_record(RECORD_COMMAND, NULL, 0, "a<b>&\"c\\ \x01\xef\xbf\xbf");
	put_event(0, 1000, "\"<e>&\xef\xbf\xbe");
	put_mapping(10, 0, CODE, "/x/]]><&\"\\;\xef\xbf\xbf\xff\n");
	put_task(RECORD_COMM, 10, 10, 0, "c;\"<&\n");
	put_sample(10, 10, 1, 0x400010);
	end();
	ck_assert_int_eq(report("--export", (char *)export_formats[_i]), 0);
	/* protoc prints some characters as numbers. */
	if (!strcmp(export_formats[_i], "pprof"))
		shares_are("pprof", "[]]><&\\\"\\\\;\\357\\277\\277??] 100.000\n");
	else if (!strcmp(export_formats[_i], "svg"))
		shares_are("svg", "[]]><&\"\\;?????] 100.000\n");
	else if (!strcmp(export_formats[_i], "folded"))
		shares_are("folded", "[]]><&\"\\:\xef\xbf\xbf??] 100.000\n");
	else
		shares_are("firefox", "[]]><&\"\\;\xef\xbf\xbf??] 100.000\n");
}
END_TEST

/* Samples stand for less than was counted: most threads had none. */
START_TEST(threads_without_samples)
{
	unsigned int i;

	begin();
	put_mapping(10, 0, CODE, TWO);
	for (i = 0; i < 50; i++)
		put_sample(10, 10, 5 + i, first);
	put_end(1, (uint64_t []){ 200000 });
	put_close();
	ck_assert_int_eq(report(), 0);
	has(out, "\n 75% of instructions:u have no samples: threads and processes that ended before their first one.\n"
		 " A shorter period shows them (-e EVENT=PERIOD), or a newer module (spread in perfex info).\n");
	/* Samples that are left out are not missing. */
	ck_assert_int_eq(report("-t", "10"), 0);
	has_not(out, "have no samples");
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_sample(10, 10, 5, first);
	put_heavy_sample(10, 6, first, 150);
	put_end(1, (uint64_t []){ 165000 });
	put_close();
	ck_assert_int_eq(report(), 0);
	has_not(out, "have no samples");
}
END_TEST

/* Calls are asked for that were not recorded. */
START_TEST(no_chains)
{
#define NO_CHAINS	" the recording has no chains of calls: perfex record -g writes them, or --call-graph=dwarf for programs without frame pointers\n"
	static char *const asked[] = { "--callers", "--callees", "--children" };
	unsigned int i;

	begin();
	put_mapping(10, 0, CODE, TWO);
	put_sample(10, 10, 5, first);
	put_end(1, (uint64_t []){ 1000 });
	put_close();
	for (i = 0; i < ARRAY_SIZE(asked); i++) {
		ck_assert_int_eq(report(asked[i]), 0);
		has(out, "\n" NO_CHAINS);
		ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), asked[i], "-q"), 0);
		has_not(out, NO_CHAINS);
		ck_assert_int_eq(report(asked[i], "-j"), 0);
		ck_assert_str_eq(err, "perfex:" NO_CHAINS);
	}
	ck_assert_int_eq(report("--export=svg"), 0);
	ck_assert_str_eq(err, "perfex:" NO_CHAINS);
	ck_assert_int_eq(report(), 0);
	has_not(out, NO_CHAINS);
	write_shares();
	ck_assert_int_eq(report("--callers"), 0);
	has_not(out, NO_CHAINS);
}
END_TEST

/* Readers refuse files without samples, or show nothing: perfex says why. */
START_TEST(empty_exports)
{
	char *format = (char *)export_formats[_i];

	write_shares();
	ck_assert_int_eq(report("--comm=nothing", "--export", format), 125);
	is_message("/s' has no samples of what was chosen, so there is nothing to export");
	ck_assert_str_eq(out, "");
	begin();
	end();
	ck_assert_int_eq(report("--export", format), 125);
	is_message("/s' has no samples, so there is nothing to export");
	/* Samples of the second event only are in one of the formats. */
	begin();
	put_event(3, 50, "branches:u");
	put_chain(10, 10, 5, 8, first, 0, NULL);
	put_end(2, (uint64_t []){ 3333, 111 });
	put_close();
	ck_assert_int_eq(report("--export", format, "-e", "branches:u"), 0);
	if (!strcmp(format, "pprof")) {
		ck_assert_int_eq(report("--export", format), 0);
		return;
	}
	ck_assert_int_eq(report("--export", format), 125);
	is_message("/s' has no samples of its first event, instructions:u, and --export=");
}
END_TEST

/* flamegraph.pl takes a number at the end of a path for the count of another profile. */
START_TEST(names_that_end_in_a_number)
{
	begin();
	put_task(RECORD_COMM, 10, 10, 1, "#1 5");
	put_mapping(10, 0, CODE, "/no/such file 12");
	put_sample(10, 10, 5, first);
	end();
	ck_assert_int_eq(report("--export=folded"), 0);
	ck_assert_str_eq(out, "_#1_5;[such file 12] 1\n");
	begin();
	put_kernel(KERNEL_IP, KERNEL_IP + 100, "work");
	put_task(RECORD_COMM, 10, 10, 1, "worker 7.5");
	put_task(RECORD_COMM, 11, 11, 1, "a 1 b");
	put_sample(10, 10, 5, KERNEL_IP);
	put_sample(11, 11, 6, KERNEL_IP);
	end();
	ck_assert_int_eq(report("--export=folded"), 0);
	has(out, "worker_7.5;work_[k] 1\n");
	has(out, "a 1 b;work_[k] 1\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-report");
	TCase *t = tcase_create("report");

	tcase_add_checked_fixture(t, setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, head);
	tcase_add_test(t, varying_periods);
	tcase_add_test(t, fork_and_exec);
	tcase_add_test(t, latest_mapping);
	tcase_add_test(t, kernel_is_one_place);
	tcase_add_test(t, functions_of_the_kernel);
	tcase_add_loop_test(t, kernel_in_formats, 0, ARRAY_SIZE(all_formats));
	tcase_add_test(t, firefox_tracks);
	tcase_add_loop_test(t, damaged_functions_of_the_kernel, 0, 4);
	tcase_add_test(t, several_events);
	tcase_add_test(t, full_device);
	tcase_add_loop_test(t, full_device_in_formats, 0, ARRAY_SIZE(written_formats));
	tcase_add_test(t, events_of_exports);
	tcase_add_test(t, children);
	tcase_add_test(t, trees);
	tcase_add_test(t, sort_and_filter);
	tcase_add_test(t, report_misuse);
	tcase_add_test(t, json);
	tcase_add_loop_test(t, export, 0, ARRAY_SIZE(export_formats));
	tcase_add_test(t, folded);
	tcase_add_test(t, inlined_functions);
	tcase_add_test(t, separate_symbols);
	tcase_add_test(t, link_below_symfs);
	tcase_add_test(t, names_of_languages);
	tcase_add_loop_test(t, names_of_rust, 0, ARRAY_SIZE(rust_names));
	tcase_add_test(t, hostile_names);
	tcase_add_test(t, functions_of_a_jit);
	tcase_add_loop_test(t, newer_functions_of_a_jit, 0, 9);
	tcase_add_test(t, vdso);
	tcase_add_test(t, truncated_file);
	tcase_add_test(t, damaged_file);
	tcase_add_test(t, every_number);
	tcase_add_test(t, other_byte_order);
	tcase_add_loop_test(t, wrong_record, 0, NR_WRONG);
	tcase_add_test(t, hostile_text);
	tcase_add_loop_test(t, hostile_exports, 0, ARRAY_SIZE(export_formats));
	tcase_add_test(t, threads_without_samples);
	tcase_add_test(t, no_chains);
	tcase_add_test(t, names_that_end_in_a_number);
	tcase_add_loop_test(t, empty_exports, 0, ARRAY_SIZE(export_formats));
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
