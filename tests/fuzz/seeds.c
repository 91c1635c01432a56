// SPDX-License-Identifier: GPL-2.0
/* usage: seeds DIR	write the first inputs of the fuzzers: DIR/report/... and so on */
#include <sys/stat.h>
#include <unistd.h>
#include <vperfctr.h>

#include "fuzz.h"
#include "sample-file.h"

static const char *top;

static FILE *create_seed(const char *what, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, what);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s/%s", top, what, name);
	f = fopen(path, "wb");
	if (!f) {
		perror(path);
		exit(2);
	}
	return f;
}

static void put_record(FILE *f, uint32_t type, const void *data, size_t size, const char *text)
{
	static const char zeros[8];
	size_t more = text ? strlen(text) + 1 : 0, pad = -(size + more) & 7;
	struct record r = { .type = type, .size = sizeof(r) + size + more + pad };

	fwrite(&r, sizeof(r), 1, f);
	fwrite(data, 1, size, f);
	if (text)
		fwrite(text, 1, more, f);
	fwrite(zeros, 1, pad, f);
}

/* Write a recording of this program, of version 1. */
static void write_old_recording(const char *name, const char *path, int complete)
{
	struct samples_header_v1 h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION_1, .size = sizeof(h),
		.period = 1000, .evntsel = 0x4100c0, .cpu_type = 1, .tsc_khz = 1000000,
		.event = "instructions:u", .cpu_name = "a processor",
	};
	struct record_mapping_v1 m = { .start = 0x400000, .end = 0x500000 };
	struct record_sample_v1 s[3] = {
		{ .ip = 0x401000, .tsc = 1 }, { .ip = 0x401000, .tsc = 2, .dropped = 3 },
		{ .ip = 0xffffffff81000000, .tsc = 3 },
	};
	struct record_end_v1 end = { .samples = 3, .dropped = 3, .count = 6000, .tsc = 9, .elapsed = 9 };
	FILE *f = create_seed("report", name);

	fwrite(&h, sizeof(h), 1, f);
	put_record(f, RECORD_COMMAND, NULL, 0, "command argument");
	put_record(f, RECORD_EXEC_V1, NULL, 0, NULL);
	put_record(f, RECORD_MAPPING_V1, &m, sizeof(m), path);
	put_record(f, RECORD_SAMPLES_V1, s, sizeof(s), NULL);
	if (complete)
		put_record(f, RECORD_END, &end, sizeof(end), NULL);
	fclose(f);
}

/* The same of two processes and two events. */
static void write_recording(const char *name, const char *path)
{
	struct samples_header h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION, .size = sizeof(h),
		.cpu_type = 1, .tsc_khz = 1000000, .flags = SAMPLES_CHAINS, .cpu_name = "a processor",
	};
	struct record_event events[2] = {
		{ .counter = 0, .period = 1000 }, { .counter = 3, .period = 50 },
	};
	struct record_mapping m = { .task = { 10, 10, 1 }, .start = 0x400000, .end = 0x500000 };
	struct record_clock clock = { 5, 1000 };
	struct record_file file = { .inode = 1, .size = 4096, .build_id_size = 20 };
	struct record_fork fork = { { 11, 11, 4 }, 10, 10 };
	struct record_task exec = { 11, 11, 8 }, comm = { 10, 10, 1 };
	struct record_kernel kernel[2] = {
		{ 0xffffffff81000200, 0xffffffff81000300 },
		{ 0xffffffff81000000, 0xffffffff81000100 },
	};
	struct {
		struct record_sample s;
		uint64_t chain[2];
	} s[3] = {
		{ { .size = sizeof(s[0]), .flags = 1, .pid = 11, .tid = 11, .nr = 2, .ip = 0x401000,
		    .tsc = 6, .overflow = 1 }, { 0x401010, 0x401020 } },
		{ { .size = sizeof(s[0]), .flags = 2, .pid = 10, .tid = 12, .nr = 2,
		    .ip = 0xffffffff81000000, .tsc = 5, .overflow = 9 },
		  { 0xffffffff81000210, 0x401010 } },
		{ { .size = sizeof(s[0]), .pid = 11, .tid = 11, .ip = 0x401000, .tsc = 9,
		    .overflow = 8, .dropped = 3 }, { 0 } },
	};
	struct {
		struct record_end end;
		uint64_t counts[2];
	} end = { { .samples = 3, .dropped = 3, .tsc = 9, .elapsed = 9, .nr = 2 }, { 6000, 200 } };
	FILE *f = create_seed("report", name);

	fwrite(&h, sizeof(h), 1, f);
	put_record(f, RECORD_COMMAND, NULL, 0, "command argument");
	put_record(f, RECORD_EVENT, &events[0], sizeof(events[0]), "instructions:u");
	put_record(f, RECORD_EVENT, &events[1], sizeof(events[1]), "cache-misses:u");
	put_record(f, RECORD_SAMPLES, s, sizeof(s), NULL);
	put_record(f, RECORD_CLOCK, &clock, sizeof(clock), NULL);
	put_record(f, RECORD_FILE, &file, sizeof(file), path);
	put_record(f, RECORD_MAPPING, &m, sizeof(m), path);
	put_record(f, RECORD_COMM, &comm, sizeof(comm), "name");
	put_record(f, RECORD_FORK, &fork, sizeof(fork), NULL);
	put_record(f, RECORD_EXEC, &exec, sizeof(exec), "other");
	put_record(f, RECORD_EXIT, &exec, sizeof(exec), NULL);
	put_record(f, RECORD_KERNEL, &kernel[0], sizeof(kernel[0]), "outer");
	put_record(f, RECORD_KERNEL, &kernel[1], sizeof(kernel[1]), "inner [module]");
	put_record(f, RECORD_END, &end, sizeof(end), NULL);
	fclose(f);
}

/* A sample with registers and a stack. */
static void write_stack(const char *name, const char *path)
{
	struct samples_header h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION, .size = sizeof(h),
		.flags = SAMPLES_STACKS, .cpu_name = "a processor",
	};
	struct record_event event = { .period = 1000 };
	struct record_mapping m = { .task = { 10, 10, 1 }, .start = 0x400000, .end = 0x500000 };
	struct {
		struct record_sample s;
		struct record_user u;
		uint64_t words[17 + 4];
	} s = {
		{ .size = sizeof(s), .flags = 1, .pid = 10, .tid = 10, .ip = 0x401000, .tsc = 6,
		  .overflow = 1 },
		{ VPERFCTR_USER_64, 17, 32 },
		{ [7] = 0x7000, [16] = 0x401000, [17] = 0x401010, 0x401020, 0x401030 },
	};
	FILE *f = create_seed("report", name);

	fwrite(&h, sizeof(h), 1, f);
	put_record(f, RECORD_EVENT, &event, sizeof(event), "instructions:u");
	put_record(f, RECORD_MAPPING, &m, sizeof(m), path);
	put_record(f, RECORD_SAMPLES, &s, sizeof(s), NULL);
	fclose(f);
}

/* Return: where this program has the function in its file. */
static uint64_t place_of(const void *function)
{
	unsigned long start, end, offset;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4500];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)function - start < end - start) {
			fclose(f);
			return (uintptr_t)function - start + offset;
		}
	exit(2);
}

/* Samples in a function of this program, for --annotate, and in none. */
static void write_function(const char *name)
{
	struct samples_header h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION, .size = sizeof(h),
		.cpu_name = "a processor",
	};
	struct record_event event = { .period = 1000 };
	struct record_mapping m = { .task = { 10, 10, 1 }, .start = 0x400000, .end = 0x500000 };
	struct record_sample s[20];
	char path[4096] = "";
	FILE *f = create_seed("report", name);
	unsigned int i;

	for (i = 0; i < 20; i++)
		s[i] = (struct record_sample){
			.size = sizeof(s[i]), .flags = 1, .pid = 10, .tid = 10, .tsc = 6 + i,
			.ip = 0x400000 + (i < 15 ? place_of(&write_stack) + i : i), .overflow = 1,
		};
	if (readlink("/proc/self/exe", path, sizeof(path) - 1) < 0)
		exit(2);
	fwrite(&h, sizeof(h), 1, f);
	put_record(f, RECORD_EVENT, &event, sizeof(event), "instructions:u");
	put_record(f, RECORD_MAPPING, &m, sizeof(m), path);
	put_record(f, RECORD_SAMPLES, s, sizeof(s), NULL);
	fclose(f);
}

/* A file of a JIT: a function with a line, which is moved. */
static void write_jit_dump(void)
{
	const struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} h = { 0x4a695444, 1, sizeof(h), 62, 0, 10, 0, 0 };
	const struct {
		uint32_t type, size;
		uint64_t time, address, nr, at;
		uint32_t line, discriminator;
		char name[8];
	} lines = { 2, sizeof(lines), 1, 0x1000, 1, 0x1000, 5, 0, "a.js" };
	const struct {
		uint32_t type, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
		char name[8], code[8];
	} load = { 0, sizeof(load), 2, 10, 10, 0x1000, 0x1000, 12, 1, "one", "" };
	const struct {
		uint32_t type, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, from, to, code_size, index;
	} move = { 1, sizeof(move), 3, 10, 10, 0x2000, 0x1000, 0x2000, 12, 1 };
	FILE *f = create_seed("jit", "functions");

	fwrite(&h, sizeof(h), 1, f);
	fwrite(&lines, sizeof(lines), 1, f);
	fwrite(&load, sizeof(load), 1, f);
	fwrite(&move, sizeof(move), 1, f);
	fclose(f);
}

int main(int argc, char **argv)
{
	struct vperfctr_info info = {
		.size = sizeof(info), .abi_version = VPERFCTR_ABI_VERSION, .features = 0x3f,
		.cpu_type = 1, .nrkinds = 1, .tsc_khz = 1000000, .arch_events = 0x7f, .nrctrs = 7,
		.pmc_width = 48, .fixed_width = 48, .pmc_mask = 15, .fixed_mask = 7,
		.driver_version = "0.1.0", .cpu_name = "a processor", .max_period = 0x7fffffff,
		.min_period = 2,
	};
	unsigned int i;
	FILE *f;

	if (argc != 2)
		return 2;
	top = argv[1];
	write_old_recording("complete", "/proc/self/exe", 1);
	write_old_recording("cut", "[vdso]", 0);
	write_recording("processes", "/proc/self/exe");
	write_stack("stack", "/proc/self/exe");
	write_recording("generated", "");
	write_function("function");
	write_jit_dump();
	f = create_seed("info", "intel");
	fwrite(&info, sizeof(info), 1, f);
	fwrite("", 1, 1, f);
	fclose(f);
	f = create_seed("tables", "metrics");
	fputs("# a comment\nprocessor any\nmetric ipc\n is max(1, (instructions - 2.5 * cycles) / r01c0)\n"
	      " unit per cycle\n text of it\n source none\n group g\n detail 1\n"
	      "processor skl,icl\nmetric x\n refuse why\n", f);
	fclose(f);
	/* parentheses that need more stack than there is */
	f = create_seed("tables", "deep");
	fputs("processor any\nmetric deep\n is ", f);
	for (i = 0; i < 100000; i++)
		putc('(', f);
	fclose(f);
	f = create_seed("tables", "counts");
	fputs("{\"cpu\" : \"0\", \"counter-value\" : \"12.000000\", \"unit\" : \"\", \"event\" : \"a\\u0041\\n\"}\n"
	      "{\"cpu\" : \"1\", \"counter-value\" : \"3.000000\", \"unit\" : \"\", \"event\" : \"aA\", \"metric-value\" : 1.5, \"metric-unit\" : \"u\"}\n"
	      "{\"metric\" : \"m\", \"metric-value\" : null, \"metric-unit\" : \"\"}\n", f);
	fclose(f);
	f = create_seed("event", "names");
	fputs("instructions:u\ncycles\nr01c2:k\n0x4100c0/0x1@2\nBR_INST_RETIRED:CONDITIONAL:u\n"
	      "L1D_PEND_MISS:PENDING:c=1:e=1\nref-cycles@fixed2\n", f);
	fclose(f);
	return 0;
}
