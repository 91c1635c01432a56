// SPDX-License-Identifier: GPL-2.0
/*
 * perf.data: what perfex writes is what perf reads, sample by sample, and what perfex reads.
 *
 * perf finds names of its own, so files name programs that are there.
 */
#include <ctype.h>
#include <sys/stat.h>

#include "perf-data.h"
#include "perfex-command.h"
#include "perfex.h"
#include "report-file.h"
#include "sample-builder.h"

#define TWO		TMP "/two"
#define CALLS		TMP "/calls"
#define KERNEL_IP	UINT64_C(0xffffffff81000000)
#define CODE		UINT64_C(0x400000), UINT64_C(0x404000), UINT64_C(0)

static char text[65536], folded[65536];

static uint64_t address_in(const char *file, const char *symbol)
{
	unsigned long address;
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "nm --plugin none %s | grep ' %s$'", file, symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

static void begin(uint32_t flags)
{
	put_header(in_dir("s"), flags);
	put_record(RECORD_COMMAND, NULL, 0, "two x");
	put_event(0, 1000, "instructions:u");
	put_task(RECORD_EXEC, 10, 10, 1, "name");
}

static void end(void)
{
	put_end(1, (uint64_t []){ 123456 });
	put_close();
}

static void export(void)
{
	int status = report("--export=perf", "-o", (char *)in_dir("perf.data"));

	/* A file without an end is exported, too. */
	ck_assert_msg(!status && (!*err || strstr(err, "' was cut off: ")), "status %d: %s", status, err);
}

/* Run a command of perf on the file, without the user's configuration, and read what it prints. */
static void perf(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && exec < /dev/null > out 2> err; HOME=%s PERF_CONFIG=/dev/null perf %s", dir, dir, command);
	ck_assert_msg(!system(line), "%s", line);
	slurp("out", out, sizeof(out));
	slurp("err", err, sizeof(err));
}

/* Read the samples of an event as perf finds them: lines of the thread's name, path and number. */
static void read_stacks(const char *event, unsigned int period)
{
	char line[512];

	snprintf(line, sizeof(line), "python3 " SRC "perf-stacks.py %s %s %u > %s", in_dir("perf.data"),
		 event, period, in_dir("text"));
	ck_assert_int_eq(system(line), 0);
	slurp("text", text, sizeof(text));
}

static void sort_lines(char *lines)
{
	char line[512];
	FILE *f = fopen(in_dir("text"), "w");

	fputs(lines, f);
	fclose(f);
	snprintf(line, sizeof(line), "LC_ALL=C sort %s > %s", in_dir("text"), in_dir("sorted"));
	ck_assert_int_eq(system(line), 0);
	slurp("sorted", lines, sizeof(text));
}

/* Check that perf finds the same calls as perfex. */
static void same_stacks(const char *event, unsigned int period)
{
	export();
	ck_assert_int_eq(report("--export=folded", "-e", (char *)event), 0);
	strcpy(folded, out);
	sort_lines(folded);
	read_stacks(event, period);
	sort_lines(text);
	ck_assert_str_eq(text, folded);
	ck_assert_uint_ge(strlen(text), 10);
}

/* ---- the meaning of records ----------------------------------------------------------- */

/*
 * Four functions have 10, 20, 30 and 40 % of the samples, from three callers, of two processes
 * with two threads.  The second event has all of its samples in ten().
 */
static void write_shares(void)
{
	static const char *const functions[] = { "ten", "twenty", "thirty", "forty" };
	static const char *const callers[] = { "left", "middle", "right" };
	uint64_t at[4], call[3], main_at = address_in(CALLS, "main") + 8, tsc = 1000000;
	unsigned int f, c, i, n = 0;

	for (f = 0; f < 4; f++)
		at[f] = address_in(CALLS, functions[f]) + 1;
	for (c = 0; c < 3; c++)
		call[c] = address_in(CALLS, callers[c]) + 8;
	begin(SAMPLES_CHAINS);
	put_event(2, 50, "branches:u");
	put_mapping(10, 2, CODE, CALLS);
	put_fork(10, 11, 3, 10, 10);
	put_fork(20, 20, 4, 10, 10);
	put_task(RECORD_COMM, 20, 20, 5, "child");
	put_fork(20, 21, 6, 20, 20);
	for (f = 0; f < 4; f++)
		for (c = 0; c < 3; c++)
			for (i = 0; i < 10 * (f + 1) * (c + 1); i++, n++)
				put_chain(n % 4 < 2 ? 10 : 20, n % 4 < 2 ? 10 + n % 2 : 20 + n % 2, tsc += 1000,
					  1, at[f], 2, (uint64_t []){ call[c], main_at });
	for (i = 0; i < 7; i++)
		put_chain(10, 10, tsc += 1000, 4, at[0], 1, &main_at);
	/* Both at once; and of no event that is known. */
	put_chain(10, 10, tsc += 1000, 5, at[1], 1, &main_at);
	put_chain(10, 10, tsc += 1000, 8, at[2], 1, &main_at);
	put_end(2, (uint64_t []){ 600000, 350 });
	put_close();
}

START_TEST(shares)
{
	write_shares();
	same_stacks("instructions:u", 1000);
	has(text, "name;main;right;forty 60\n");
	same_stacks("branches:u", 50);
	ck_assert_str_eq(text, "name;main;ten 7\nname;main;twenty 1\n");
	perf("report --stdio -q --no-children -g none --percent-limit 0 -F overhead,sample,symbol");
	has(out, "    39.87%           240  [.] forty\n");
	has(out, "     9.97%            60  [.] ten\n");
	perf("annotate --stdio -s forty");
	has(out, " 100.00 ");
}
END_TEST

/* Samples without calls, some of which stand for others. */
START_TEST(weights)
{
	begin(0);
	put_mapping(10, 2, CODE, TWO);
	put_heavy_sample(10, 5, address_in(TWO, "first"), 2);
	put_heavy_sample(10, 6, address_in(TWO, "second"), 0);
	/* The places of more than the file has are not known. */
	put_heavy_sample(10, 7, address_in(TWO, "second"), 5000);
	end();
	same_stacks("instructions:u", 1000);
	ck_assert_str_eq(text, "name;first 3\nname;second 2\n");
	begin(0);
	put_rate(2000);
	put_mapping(10, 2, CODE, TWO);
	put_heavy_sample(10, 7, address_in(TWO, "second"), 5000);
	end();
	same_stacks("instructions:u", 1000);
	ck_assert_str_eq(text, "name;second 5001\n");
	perf("evlist -v");
	has(out, "{ sample_period, sample_freq }: 2000, ");
	has(out, ", freq: 1, ");
}
END_TEST

/* A process has its parent's mappings until it executes a file; threads share them. */
START_TEST(tasks)
{
	const uint64_t first = address_in(TWO, "first"), second = address_in(TWO, "second");

	begin(0);
	put_mapping(10, 1, CODE, TWO);
	/* In the file, samples are before the records that they need. */
	put_sample(11, 11, 25, first);
	put_sample(11, 11, 45, second);
	put_sample(10, 12, 50, second);
	put_sample(10, 10, 55, first);
	put_fork(10, 12, 10, 10, 10);
	put_fork(11, 11, 20, 10, 10);
	put_task(RECORD_EXEC, 11, 19, 30, "a name of more than 15");
	put_mapping(11, 40, CODE, CALLS);
	put_mapping(11, 41, CODE, TWO);
	put_task(RECORD_COMM, 10, 12, 52, "th;read");
	put_sample(10, 12, 53, first);
	put_task(RECORD_EXIT, 11, 11, 60, NULL);
	put_sample(10, 10, 61, 0x10);
	put_sample(10, 10, 62, 0x400010);
	put_mapping(10, 63, UINT64_C(0x7000000), UINT64_C(0x7001000), 0, "/gone/library.so");
	put_mapping(10, 63, UINT64_C(0x8000000), UINT64_C(0x8001000), 0, "");
	put_sample(10, 10, 64, 0x7000010);
	end();
	export();
	read_stacks("instructions:u", 1000);
	ck_assert_str_eq(text, "a name of more;second 1\nname;[library.so] 1\nname;[two] 1\n"
			       "name;[unknown] 1\nname;first 2\nname;second 1\nth;read;first 1\n");
	perf("script --show-task-events --show-mmap-events -F comm,pid,tid,event");
	has(out, "PERF_RECORD_COMM exec: a name of more :11/11\n");
	has(out, "PERF_RECORD_FORK(11:11):(10:10)\n");
	has(out, "PERF_RECORD_EXIT(11:11)");
	has(out, "PERF_RECORD_MMAP2 10/10: [0x7000000(0x1000) @ 0 00:00 0 0]: r-xp /gone/library.so\n");
	has(out, ": r-xp //anon\n");
}
END_TEST

/* Functions of the kernel have the names that the recorder has found. */
START_TEST(kernel)
{
	const uint64_t first = address_in(TWO, "first");
	const uint64_t calls[] = { KERNEL_IP + 250, KERNEL_IP + 301, first };

	begin(SAMPLES_CHAINS);
	put_kernel(KERNEL_IP + 200, KERNEL_IP + 300, "syscall");
	put_kernel(KERNEL_IP + 300, KERNEL_IP + 400, "entry");
	put_kernel(KERNEL_IP, KERNEL_IP + 100, "work [module]");
	put_mapping(10, 2, CODE, TWO);
	put_sample(10, 10, 5, first);
	put_chain(10, 10, 6, 1, KERNEL_IP + 8, 3, calls);
	put_chain(10, 10, 8, 1, KERNEL_IP + 390, 1, &first);
	put_chain(10, 10, 9, 1, KERNEL_IP + 500, 2, (uint64_t []){ KERNEL_IP + 600, first });
	end();
	same_stacks("instructions:u", 1000);
	ck_assert_str_eq(text, "name;first 1\nname;first;[kernel] 1\nname;first;entry_[k] 1\n"
			       "name;first;entry_[k];syscall_[k];work [module]_[k] 1\n");
}
END_TEST

/* Times of CLOCK_MONOTONIC, if the file has both clocks, and else those of the TSC's rate. */
START_TEST(times)
{
	const struct record_clock clocks[] = { { 1000, 5000001000 }, { 2001000, 5001001000 } };

	begin(0);
	put_record(RECORD_CLOCK, &clocks[0], sizeof(clocks[0]), NULL);
	put_record(RECORD_CLOCK, &clocks[1], sizeof(clocks[1]), NULL);
	put_sample(10, 10, 1001000, 0x1000);
	put_sample(10, 10, 4001000, 0x1000);
	end();
	export();
	perf("script -F time --ns");
	has(out, "5.000501000:");
	has(out, "5.002001000:");
	perf("evlist -v");
	has(out, ", use_clockid: 1, clockid: 1");
	begin(0);
	put_sample(10, 10, 1000000000, 0x1000);
	put_sample(10, 10, 1000000001, 0x1000);
	end();
	export();
	perf("script -F time --ns");
	/* 1 GHz */
	has(out, "1.000000000:");
	has(out, "1.000000001:");
}
END_TEST

/* perf says of the machine what the file says. */
START_TEST(head)
{
	struct { struct record_host r; char names[32]; } host = { { 8, 4 }, "mips\0001.2.3\000some\033where" };
	struct { struct record_end r; uint64_t counts[2]; } lost = { .r = { .lost = 5, .nr = 2 } };
	struct record_file file = {
		.major = 8, .minor = 1, .inode = 77, .size = 100, .build_id_size = 20,
		.build_id = { 0xab, 0xcd, [19] = 0xef },
	};
	struct record_mapping map = {
		.task = { 10, 10, 2 }, .start = 0x400000, .end = 0x404000, .major = 8, .minor = 1, .inode = 77,
	};

	begin(0);
	put_event(1, 2000, "cycles:k");
	put_record(RECORD_HOST, &host, sizeof(host), NULL);
	put_record(RECORD_FILE, &file, sizeof(file), TWO);
	put_record(RECORD_MAPPING, &map, sizeof(map), TWO);
	put_sample(10, 10, 5, 0x400010);
	put_record(RECORD_END, &lost, sizeof(lost), NULL);
	put_close();
	export();
	perf("report --header-only");
	has(out, "# hostname : some?where\n");
	has(out, "# os release : 1.2.3\n");
	has(out, "# arch : mips\n");
	has(out, "# nrcpus online : 4\n# nrcpus avail : 8\n");
	has(out, "# cpudesc : a processor\n");
	has(out, "# cmdline : two x ");
	has(out, "# perf version : perfex ");
	has(out, "# event : name = instructions:u, , id = { 1 }, type = 4, size = 112, { sample_period, sample_freq } = 1000, ");
	has(out, "# event : name = cycles:k, , id = { 2 }, ");
	perf("buildid-list");
	ck_assert_str_eq(out, "abcd0000000000000000000000000000000000ef " TWO "\n");
	perf("script --show-lost-events");
	has(out, "PERF_RECORD_LOST lost 5");
}
END_TEST

/* hotspot crashes if the head has no CPUs, or a sample's is none of them. */
START_TEST(no_host)
{
	const struct record_sample nowhere = {
		.size = sizeof(nowhere), .flags = 1, .pid = 10, .tid = 10, .cpu = UINT32_MAX,
		.ip = 0x400010, .tsc = 7, .overflow = 1,
	};

	begin(0);
	put_mapping(10, 2, CODE, TWO);
	/* on CPUs 3 and 2 */
	put_sample(10, 11, 5, 0x400010);
	put_sample(10, 10, 6, 0x400010);
	put_record(RECORD_SAMPLES, &nowhere, sizeof(nowhere), NULL);
	end();
	export();
	perf("report --header-only");
	has(out, "# nrcpus online : 4\n# nrcpus avail : 4\n");
}
END_TEST

START_TEST(few_cpus_of_host)
{
	struct { struct record_host r; char names[16]; } host = { { 2, 1 }, "mips\0001.2.3\000x" };

	begin(0);
	put_record(RECORD_HOST, &host, sizeof(host), NULL);
	put_mapping(10, 2, CODE, TWO);
	/* on CPU 3 */
	put_sample(10, 11, 5, 0x400010);
	end();
	export();
	perf("report --header-only");
	has(out, "# nrcpus online : 1\n# nrcpus avail : 4\n");
}
END_TEST

/* ---- registers ----------------------------------------------------------------------------- */

/* Each of perf's places has a register of its own. */
START_TEST(all_registers)
{
	static const unsigned int counts[] = {
		VPERFCTR_X86_REGS, VPERFCTR_ARM64_REGS, VPERFCTR_RISCV64_REGS, VPERFCTR_POWER64_REGS,
	};
	static const char *const machines[] = { "x86_64", "aarch64", "riscv64", "ppc64le" };
	const struct perf_regs *r = perf_regs_of_machine(machines[_i]);
	uint64_t seen = 0;
	unsigned int i;
	int place;

	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(perf_regs_nr(r), counts[_i]);
	for (i = 0; i < 64; i++) {
		place = perf_regs_place(r, VPERFCTR_USER_64, i);
		ck_assert_int_eq(place >= 0, perf_regs_mask(r) >> i & 1);
		if (place < 0)
			continue;
		ck_assert_uint_eq(seen >> place & 1, 0);
		seen |= UINT64_C(1) << place;
		ck_assert_int_lt(perf_regs_place(r, VPERFCTR_USER_32, i), (int)counts[_i]);
	}
	ck_assert_uint_eq(seen, (UINT64_C(1) << counts[_i]) - 1);
	ck_assert_ptr_null(perf_regs_of_machine("mips"));
	ck_assert_ptr_null(perf_regs_of_machine(""));
	ck_assert_ptr_eq(perf_regs_of_machine("i686"), perf_regs_of_machine("x86_64"));
}
END_TEST

/* ---- use ----------------------------------------------------------------------------------- */

START_TEST(misuse)
{
	write_shares();
	ck_assert_int_eq(report("--export=perf", "--comm=name"), 125);
	is_message("--export=perf writes all samples: perf report chooses among them");
	ck_assert_int_eq(report("--export=perf", "-e", "branches:u"), 125);
	is_message("--export=perf writes all samples");
	ck_assert_int_eq(perfex_on_terminal(ARGV("--report", (char *)in_dir("s"), "--export=perf")), 125);
	has(out, "perf.data is no text");
	ck_assert_int_eq(perfex("--report", (char *)in_dir("none"), "--export=perf"), 125);
	is_message("cannot read '");
}
END_TEST

/* A file of which nothing is known but its header, and one with the longest names. */
START_TEST(extremes)
{
	static char path[5000], name[5000], stack[65000];
	static uint64_t chain[MAX_CHAIN], regs[VPERFCTR_X86_REGS];
	unsigned int i;

	put_header(in_dir("s"), 0);
	put_close();
	export();
	perf("report --stdio");
	memset(path, 'p', sizeof(path) - 1);
	memset(name, 'n', sizeof(name) - 1);
	path[0] = '/';
	for (i = 0; i < MAX_CHAIN; i++)
		chain[i] = KERNEL_IP + 8 * i;
	begin(SAMPLES_STACKS);
	put_task(RECORD_COMM, 10, 10, 1, name);
	put_kernel(KERNEL_IP - (UINT64_C(1) << 33), KERNEL_IP + 4096, name);
	put_mapping(10, 2, CODE, path);
	put_calls_and_user(10, 5, KERNEL_IP + 5, MAX_CHAIN, chain, VPERFCTR_USER_64, VPERFCTR_X86_REGS,
			   regs, stack, sizeof(stack) - 2000 - sizeof(chain));
	end();
	export();
	perf("script -D | grep -c '^[.]\\{5\\}'");
	ck_assert_str_eq(out, "130\n");
}
END_TEST

/* ---- reading it ---------------------------------------------------------------------------- */

#define report_perf(...)	perfex("--report", (char *)in_dir("perf.data"), ##__VA_ARGS__)

/* Check that a report of the exported file is that of the file itself. */
#define same_report(...) do {							\
	ck_assert_int_eq(report(__VA_ARGS__), 0);				\
	strcpy(text, out);							\
	ck_assert_int_eq(report_perf(__VA_ARGS__), 0);				\
	ck_assert_str_eq(err, "");						\
	ck_assert_str_eq(out, text);						\
} while (0)

START_TEST(read_shares)
{
	write_shares();
	export();
	same_report("--export=folded");
	has(out, "name;main;right;forty 60\n");
	same_report("--export=folded", "-e", "branches:u");
	same_report("--export=pprof");
	ck_assert_int_eq(report_perf("--sort=event,comm,pid,tid,cpu,dso,symbol"), 0);
	has(out, "\n Samples of 'two x':\n\n                 610  samples\n                   0  dropped\n"
		 "             602,000  instructions:u, 602 samples, one each 1,000\n"
		 "                 400  branches:u, 8 samples, one each 50\n\n");
	strcpy(text, strstr(out, " event,comm"));
	ck_assert_int_eq(report("--sort=event,comm,pid,tid,cpu,dso,symbol"), 0);
	ck_assert_str_eq(strstr(out, " event,comm"), text);
	ck_assert_int_eq(report_perf("--annotate=forty"), 0);
}
END_TEST

START_TEST(read_weights)
{
	begin(0);
	put_mapping(10, 2, CODE, TWO);
	put_heavy_sample(10, 5, address_in(TWO, "first"), 2);
	put_heavy_sample(10, 6, address_in(TWO, "second"), 0);
	end();
	export();
	same_report("--export=folded");
	/* Periods that vary are those of the samples. */
	begin(0);
	put_rate(2000);
	put_mapping(10, 2, CODE, TWO);
	put_heavy_sample(10, 5, address_in(TWO, "first"), 5999);
	put_heavy_sample(10, 6, address_in(TWO, "second"), 1999);
	end();
	export();
	ck_assert_int_eq(report_perf(), 0);
	has(out, "(about 2,000 per second of each thread)");
	has(out, "  75.00%             1  first [two]\n  25.00%             1  second [two]\n");
	has(out, "           8,000,000  instructions:u\n");
}
END_TEST

static void write_tasks(void)
{
	const uint64_t first = address_in(TWO, "first"), second = address_in(TWO, "second");
	struct { struct record_host r; char names[40]; } host = { { 8, 4 }, "x86_64\0001.2.3\000somewhere" };
	struct record_file file = { .major = 8, .minor = 1, .inode = 77, .build_id_size = 4 };
	struct record_mapping map = {
		.task = { 12, 12, 46 }, .start = 0x400000, .end = 0x404000, .major = 8, .minor = 1, .inode = 77,
	};

	begin(SAMPLES_CHAINS);
	put_record(RECORD_HOST, &host, sizeof(host), NULL);
	put_kernel(KERNEL_IP + 200, KERNEL_IP + 300, "syscall");
	put_mapping(10, 2, CODE, TWO);
	put_fork(11, 11, 20, 10, 10);
	put_sample(11, 11, 25, first);
	put_task(RECORD_EXEC, 11, 11, 30, "new");
	put_sample(11, 11, 35, first);
	put_mapping(11, 40, CODE, TWO);
	put_sample(11, 11, 45, second);
	put_record(RECORD_FILE, &file, sizeof(file), CALLS);
	put_record(RECORD_MAPPING, &map, sizeof(map), CALLS);
	put_sample(12, 12, 47, first);
	put_chain(10, 10, 50, 1, KERNEL_IP + 210, 1, &first);
	put_task(RECORD_EXIT, 11, 11, 60, NULL);
	end();
}

START_TEST(read_tasks)
{
	write_tasks();
	export();
	same_report("--export=folded");
	has(out, "name;first 1\n");
	has(out, "new;[unknown] 1\n");
	has(out, "new;second 1\n");
	has(out, "name;first;syscall_[k] 1\n");
	/* It was another file: the build ID is read, too. */
	has(out, "?;[calls] 1\n");
	/* A file that was read can be written again. */
	ck_assert_int_eq(report_perf("--export=perf", "-o", (char *)in_dir("again")), 0);
	ck_assert_int_eq(rename(in_dir("again"), in_dir("perf.data")), 0);
	same_report("--export=folded");
}
END_TEST

/* perf record -z: one stream has all records, in pieces that end anywhere. */
START_TEST(compressed_perf_data)
{
	char line[256];
	uint64_t at;
	FILE *f;

	if (system("command -v zstd > /dev/null"))
		return;
	write_shares();
	export();
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("perf.data"), "--export=folded"), 0);
	strcpy(folded, out);
	snprintf(line, sizeof(line), "python3 " SRC "compress-perf.py %s %d", in_dir("perf.data"), _i ? 83 : 81);
	ck_assert_int_eq(system(line), 0);
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("perf.data"), "--export=folded"), 0);
	ck_assert_str_eq(out, folded);
	/* The first frame has no magic any more. */
	f = fopen(in_dir("perf.data"), "r+");
	ck_assert_int_eq(fseek(f, 40, SEEK_SET), 0);
	ck_assert_int_eq(fread(&at, sizeof(at), 1, f), 1);
	ck_assert_int_eq(fseek(f, (long)at + 8 + 8 * _i, SEEK_SET), 0);
	fputc('x', f);
	fclose(f);
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("perf.data")), 125);
	is_message("' is damaged: a compressed record");
}
END_TEST

/* Data that expand to thousands of times their size are refused before that. */
START_TEST(zeros_of_perf_data)
{
	char line[256];

	if (system("command -v zstd > /dev/null"))
		return;
	write_shares();
	export();
	snprintf(line, sizeof(line), "python3 " SRC "compress-perf.py %s 81 zeros", in_dir("perf.data"));
	ck_assert_int_eq(system(line), 0);
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("perf.data")), 125);
	is_message("' is damaged: a record that is compressed too much");
}
END_TEST

/* A part of the file: there is a report, or a message of one line. */
START_TEST(truncated_perf_data)
{
	unsigned int reports = 0;
	struct error e;
	size_t len, n;
	int failed;

	write_tasks();
	export();
	ck_assert_int_eq(rename(in_dir("perf.data"), in_dir("s")), 0);
	len = load(report_text);
	for (n = 0; n < len; n++) {
		store(report_text, n);
		failed = try_report(&e);
		reports += !failed;
		if (failed)
			ck_assert_msg(strstr(e.text, in_dir("s")) && !strchr(e.text, '\n'), "%s", e.text);
	}
	ck_assert_uint_ge(reports, len / 2);
	/* Some of these are between two records: each has a multiple of 8 bytes. */
	for (n = len / 3 & ~7U; n < len / 3 + 256; n += 8) {
		store(report_text, n);
		ck_assert_int_eq(report(), 0);
		has(out, "The recording was cut off");
	}
}
END_TEST

START_TEST(damaged_perf_data)
{
	write_tasks();
	export();
	ck_assert_int_eq(rename(in_dir("perf.data"), in_dir("s")), 0);
	check_damaged(0, 0);
}
END_TEST

/* perfex says why it does not read a file. */
START_TEST(other_perf_data)
{
	static const struct { size_t at; const char *bytes; size_t len; const char *message; } cases[] = {
		{ 0, "2ELIFREP", 8, "is of a machine with another byte order" },
		{ 0, "PERFFILE", 8, "is not a file of perfex record or perf record" },
		{ 8, "\20\0\0\0\0\0\0\0", 8, "is what perf record writes to a pipe" },
		{ 16, "\0\0\0\0\0\0\0\0", 8, "is damaged: it has no events" },
		{ 32, "\377\377\0\0\0\0\0\0", 8, "has more events than perfex reports: 64 at most" },
		/* no place where records could be */
		{ 40, "\60\61\62\63\0\0\0\0", 8, "" },
	};
	size_t len;

	write_tasks();
	export();
	ck_assert_int_eq(rename(in_dir("perf.data"), in_dir("s")), 0);
	len = load(report_text);
	memcpy(report_text + cases[_i].at, cases[_i].bytes, cases[_i].len);
	store(report_text, len);
	if (!*cases[_i].message) {
		ck_assert_int_eq(report(), 0);
		return;
	}
	ck_assert_int_eq(report(), 125);
	is_message(cases[_i].message);
}
END_TEST

START_TEST(perf_data_in_a_pipe)
{
	char command[512];

	write_tasks();
	export();
	ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
	snprintf(command, sizeof(command), "cat %s > %s &", in_dir("perf.data"), in_dir("fifo"));
	ck_assert_int_eq(system(command), 0);
	ck_assert_int_eq(perfex("--report", (char *)in_dir("fifo")), 125);
	is_message("perf.data is read from a file only");
}
END_TEST

/* ---- what perf record writes ---------------------------------------------------------------- */

static FILE *made;
static struct perf_data_header made_header;

/* Begin perf.data with these events, whose samples have the numbers 1, 2 and so on. */
static void begin_perf(const struct perf_event_attr *attrs, unsigned int nr)
{
	const uint64_t attr_size = sizeof(*attrs) + sizeof(struct perf_data_part);
	struct perf_data_part ids = { .size = sizeof(uint64_t) };
	unsigned int i;
	uint64_t id;

	made_header = (struct perf_data_header){
		.magic = PERF_DATA_MAGIC, .size = sizeof(made_header), .attr_size = attr_size,
		.attrs = { sizeof(made_header) + nr * sizeof(id), nr * attr_size },
	};
	made_header.records.offset = made_header.attrs.offset + made_header.attrs.size;
	made = fopen(in_dir("perf.data"), "w");
	fwrite(&made_header, sizeof(made_header), 1, made);
	for (id = 1; id <= nr; id++)
		fwrite(&id, sizeof(id), 1, made);
	for (i = 0; i < nr; i++) {
		ids.offset = sizeof(made_header) + i * sizeof(id);
		fwrite(&attrs[i], sizeof(attrs[i]), 1, made);
		fwrite(&ids, sizeof(ids), 1, made);
	}
}

static void put_perf(uint32_t type, uint16_t misc, unsigned int nr, const uint64_t *words)
{
	const struct perf_event_header h = { type, misc, (uint16_t)(sizeof(h) + nr * sizeof(*words)) };

	fwrite(&h, sizeof(h), 1, made);
	fwrite(words, sizeof(*words), nr, made);
	made_header.records.size += h.size;
}

static void end_perf(void)
{
	rewind(made);
	fwrite(&made_header, sizeof(made_header), 1, made);
	fclose(made);
}

#define WORDS(...)	sizeof((uint64_t []){ __VA_ARGS__ }) / sizeof(uint64_t), (uint64_t []){ __VA_ARGS__ }
#define TASK		(UINT64_C(10) << 32 | 10)
#define FORMAT_LOST	(1 << 4)

static const struct {
	uint64_t format;
	unsigned int in_ring, of_event;
	const char *missing;
} losses[] = {
	/* The kernel counts the losses of events: those of the ring are the same ones. */
	{ PERF_FORMAT_ID | FORMAT_LOST, 5, 7, "                   7  samples are missing: lost, of virtual machines, or damaged\n" },
	/* perf was killed before it wrote them. */
	{ PERF_FORMAT_ID | FORMAT_LOST, 5, 0, "                   5  samples are missing: lost, of virtual machines, or damaged\n" },
	/* An older kernel has records of losses in the processor. */
	{ PERF_FORMAT_ID, 5, 7, "                  12  samples are missing: lost, of virtual machines, or damaged\n" },
	{ PERF_FORMAT_ID | FORMAT_LOST, 0, 0, "                   0  dropped\n" },
};

START_TEST(lost_samples)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = sizeof(attr), .sample_period = 1000, .read_format = losses[_i].format,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID,
	};

	begin_perf(&attr, 1);
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400000, TASK, 1, 1));
	if (losses[_i].in_ring)
		put_perf(PERF_RECORD_LOST, 0, WORDS(1, losses[_i].in_ring));
	if (losses[_i].of_event)
		put_perf(PERF_DATA_LOST_SAMPLES, 0, WORDS(losses[_i].of_event));
	/* A filter has refused these. */
	put_perf(PERF_DATA_LOST_SAMPLES, PERF_DATA_MISC_FILTERED, WORDS(100));
	end_perf();
	ck_assert_int_eq(report_perf(), 0);
	has(out, "                   1  samples\n");
	has(out, losses[_i].missing);
	ck_assert_int_eq(!strstr(out, "  dropped\n"), losses[_i].in_ring != 0);
	has_not(out, "records of mappings");
}
END_TEST

/* The events of perf record -e '{A,B}:S' -F 1000. */
static void set_group(struct perf_event_attr *attrs)
{
	attrs[0] = (struct perf_event_attr){
		.type = PERF_TYPE_RAW, .config = 1, .size = sizeof(attrs[0]), .freq = 1, .sample_freq = 1000,
		.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP | FORMAT_LOST | PERF_FORMAT_TOTAL_TIME_ENABLED,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ,
	};
	attrs[1] = attrs[0];
	attrs[1].config = 2;
	attrs[1].freq = 0;
	attrs[1].sample_freq = 0;
}

/* The samples of A have the counts of both. */
START_TEST(members_of_groups)
{
	struct perf_event_attr attrs[2];

	set_group(attrs);
	begin_perf(attrs, 2);
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400000, TASK, 1, 1, 99, 2, 77, 100, 1, 0, 10, 2, 0));
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400001, TASK, 2, 1, 99, 2, 78, 250, 1, 0, 10, 2, 0));
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400002, TASK, 3, 1, 99, 2, 79, 300, 1, 0, 40, 2, 0));
	/* An attacker has a number that is not known, and less than before. */
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400002, TASK, 4, 1, 99, 2, 80, 5, 3, 0, 30, 2, 0));
	/* More values than there are. */
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400002, TASK, 5, 1, 99, 2, 81, 310, 1, 0));
	/* A value counts from the last one, also if that was less. */
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400002, TASK, 6, 1, 99, 2, 82, 305, 1, 0, 35, 2, 0));
	end_perf();
	ck_assert_int_eq(report_perf("-j"), 0);
	has(out, "\"samples\":7,\"dropped\":301,\"lost\":1");
	has(out, "{\"event\":\"event 4:0x1\",\"period\":1,\"samples\":4,\"weight\":305,\"count\":305,");
	has(out, "{\"event\":\"event 4:0x2\",\"period\":1,\"samples\":3,\"weight\":45,\"count\":45,");
	attrs[0].freq = 0;
	begin_perf(attrs, 2);
	end_perf();
	ck_assert_int_eq(report_perf(), 125);
	is_message("perf.data' has samples that read other events ({...}:S of perf) and have a fixed period");
	set_group(attrs);
	attrs[0].write_backward = 1;
	begin_perf(attrs, 2);
	end_perf();
	ck_assert_int_eq(report_perf(), 125);
	is_message("perf.data' has samples that read other events ({...}:S of perf) and are newest first");
}
END_TEST

/* With inheritance, the counters of all threads have one number, and each its own value. */
START_TEST(members_of_threads)
{
	const uint64_t threads[] = { TASK, UINT64_C(11) << 32 | 10 }, values[] = { 1000, 900, 2000, 1800 };
	struct perf_event_attr attrs[2];
	unsigned int i;

	set_group(attrs);
	attrs[0].inherit = _i;
	attrs[1].inherit = _i;
	begin_perf(attrs, 2);
	for (i = 0; i < ARRAY_SIZE(values); i++)
		put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
			 WORDS(0x400000, threads[i % 2], i + 1, 1, 99, 2, 77, values[i], 1, 0, 0, 2, 0));
	end_perf();
	ck_assert_int_eq(report_perf("-j"), 0);
	has(out, _i ? "\"samples\":4,\"weight\":3800,\"count\":3800," : "\"samples\":2,\"weight\":2100,\"count\":2100,");
}
END_TEST

/* No sample of an attacker becomes more samples than the file has events. */
START_TEST(repeated_members)
{
	struct perf_event_attr attrs[2];

	set_group(attrs);
	begin_perf(attrs, 2);
	/* One twice, and more than there are, all of which are in the record. */
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400000, TASK, 1, 1, 99, 2, 77, 100, 2, 0, 200, 2, 0));
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
		 WORDS(0x400000, TASK, 2, 1, 99, 3, 77, 300, 1, 0, 10, 2, 0, 20, 3, 0));
	put_perf(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, WORDS(0x400000, TASK, 3, 1, 99, 2, 77, 400, 1, 0, 30, 2, 0));
	end_perf();
	ck_assert_int_eq(report_perf("-j"), 0);
	has(out, "\"samples\":2,\"dropped\":399,\"lost\":2");
	has(out, "{\"event\":\"event 4:0x1\",\"period\":1,\"samples\":1,\"weight\":400,\"count\":400,");
	has(out, "{\"event\":\"event 4:0x2\",\"period\":1,\"samples\":1,\"weight\":30,\"count\":30,");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-perf-data");
	TCase *t = tcase_create("perf-data");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 600);
	tcase_add_test(t, shares);
	tcase_add_test(t, weights);
	tcase_add_test(t, tasks);
	tcase_add_test(t, kernel);
	tcase_add_test(t, times);
	tcase_add_test(t, head);
	tcase_add_test(t, no_host);
	tcase_add_test(t, few_cpus_of_host);
	tcase_add_loop_test(t, all_registers, 0, 4);
	tcase_add_test(t, misuse);
	tcase_add_test(t, extremes);
	tcase_add_test(t, read_shares);
	tcase_add_test(t, read_weights);
	tcase_add_test(t, read_tasks);
	tcase_add_loop_test(t, compressed_perf_data, 0, 2);
	tcase_add_test(t, zeros_of_perf_data);
	tcase_add_test(t, truncated_perf_data);
	tcase_add_test(t, damaged_perf_data);
	tcase_add_loop_test(t, other_perf_data, 0, 6);
	tcase_add_test(t, perf_data_in_a_pipe);
	tcase_add_loop_test(t, lost_samples, 0, ARRAY_SIZE(losses));
	tcase_add_test(t, members_of_groups);
	tcase_add_loop_test(t, members_of_threads, 0, 2);
	tcase_add_test(t, repeated_members);
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
