// SPDX-License-Identifier: GPL-2.0
/* usage: seeds DIR	write the first inputs of the fuzzers: DIR/report/... and so on */
#include <sys/stat.h>
#include <unistd.h>
#include <vperfctr.h>

#include "fuzz.h"
#include "perf-data.h"
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

/* Each text of a file has this, which could command a terminal, or look there like another line. */
#define COMMANDS	"\033[2J\r\n\t\302\233\342\200\256\377"

static void write_commands(const char *name)
{
	struct samples_header h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION, .size = sizeof(h), .tsc_khz = 1000000,
		.flags = SAMPLES_CHAINS, .cpu_name = "a processor" COMMANDS,
	};
	struct record_event event = { .period = 1000 };
	struct record_mapping m = { .task = { 10, 10, 1 }, .start = 0x400000, .end = 0x500000 };
	struct record_task comm = { 10, 10, 1 };
	struct record_kernel kernel = { 0xffffffff81000000, 0xffffffff81000100 };
	struct {
		struct record_sample s;
		uint64_t chain[1];
	} s = {
		{ .size = sizeof(s), .flags = 2, .pid = 10, .tid = 10, .nr = 1, .ip = 0xffffffff81000010,
		  .tsc = 6, .overflow = 1 }, { 0x401000 },
	};
	FILE *f = create_seed("report", name);

	fwrite(&h, sizeof(h), 1, f);
	put_record(f, RECORD_COMMAND, NULL, 0, "command" COMMANDS);
	put_record(f, RECORD_EVENT, &event, sizeof(event), "instructions" COMMANDS);
	put_record(f, RECORD_COMM, &comm, sizeof(comm), "name" COMMANDS);
	put_record(f, RECORD_MAPPING, &m, sizeof(m), "/tmp/lib" COMMANDS);
	put_record(f, RECORD_KERNEL, &kernel, sizeof(kernel), "function" COMMANDS);
	put_record(f, RECORD_SAMPLES, &s, sizeof(s), NULL);
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

/* Records of perf.data are put here. */
static unsigned char perf_records[8192];
static size_t perf_size;

static void put_perf(const void *data, size_t size)
{
	memcpy(perf_records + perf_size, data, size);
	perf_size += size;
}

static void put_perf_record(uint32_t type, uint16_t misc, const void *data, size_t size, const char *text)
{
	size_t more = text ? (strlen(text) + 8) & ~(size_t)7 : 0;
	const uint64_t trailer[] = { 10 | (uint64_t)10 << 32, 5, 0, 7 };
	struct perf_event_header h = {
		type, misc, (uint16_t)(sizeof(h) + size + more + (type == PERF_RECORD_SAMPLE ? 0 : sizeof(trailer))),
	};

	put_perf(&h, sizeof(h));
	put_perf(data, size);
	if (text)
		strcpy((char *)perf_records + perf_size, text);
	perf_size += more;
	if (type != PERF_RECORD_SAMPLE)
		put_perf(trailer, sizeof(trailer));
}

/* perf.data with samples that have all parts, and each kind of record. */
static void write_perf_data(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = PERF_DATA_ATTR, .config = 0xc0, .sample_period = 1000,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
			       PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID, .sample_id_all = 1, .use_clockid = 1,
		.clockid = 1, .sample_regs_user = 0xff01ff,
	};
	const uint64_t sample[] = {
		7, 0x401000, 10 | (uint64_t)10 << 32, 9, 1, 3000,
		1, 55, 7,					/* read */
		5, (uint64_t)-128, 0xffffffff81000004, (uint64_t)-512, 0x401000, 0x401010,
		4 | (uint64_t)0x1234 << 32,			/* raw */
		1, 0x401000, 0x401020, 0,			/* a branch */
		2, 1, 2, 3, 4, 5, 6, 7, 0x7000, 0x401000, 8, 9, 10, 11, 12, 13, 14, 15,
		16, 0x401010, 0x401020, 16,			/* the stack */
	};
	const uint64_t mmap[] = { 10 | (uint64_t)10 << 32, 0x400000, 0x100000, 0 };
	const uint64_t kernel[] = { UINT32_MAX, 0xffffffff80000000, 0x1000000, 0xffffffff80000000 };
	const struct {
		uint64_t mmap[4];
		uint8_t id[24];
		uint32_t prot, flags;
	} mmap2 = { { 10 | (uint64_t)10 << 32, 0x400000, 0x100000, 0 }, { 20, 0, 0, 0, 0xab }, 5, 2 };
	const uint64_t task[] = { 10 | (uint64_t)10 << 32 };
	const uint64_t fork[] = { 11 | (uint64_t)10 << 32, 11 | (uint64_t)10 << 32, 4 };
	const uint64_t lost[] = { 7, 3 };
	const uint64_t symbol[] = { 0xffffffff81000000, 100 };
	const uint64_t skip[] = { 0, 0, 0, 0, 0 };
	const struct { uint32_t nr, attr_size; } events = { 1, 8 };
	const struct { uint64_t attr; uint32_t nr_ids, len; char name[8]; } event = { 0, 0, 8, "cycles" };
	const struct { uint32_t len; char text[8]; } arch = { 8, "x86_64" };
	const struct { uint32_t nr, len; char text[8]; } command = { 1, 8, "a b" };
	const struct { uint32_t cpus, online; } cpus = { 8, 4 };
	struct {
		struct perf_data_build_id id;
		char path[16];
	} build_id = { { .header = { .misc = 2, .size = sizeof(build_id) } }, "/proc/self/exe" };
	struct {
		struct perf_data_header h;
		uint64_t id;
		unsigned char attr[PERF_DATA_ATTR];
		struct perf_data_part ids;
	} begin = {
		.h = { .magic = { 'P', 'E', 'R', 'F', 'I', 'L', 'E', '2' }, .size = sizeof(begin.h) }, .id = 7,
	};
	struct perf_data_part part[5];
	FILE *f = create_seed("report", "perf-data");
	const size_t sizes[] = {
		sizeof(build_id), sizeof(arch), sizeof(cpus), sizeof(command), sizeof(events) + sizeof(event),
	};
	unsigned int i;

	memcpy(begin.attr, &attr, PERF_DATA_ATTR);
	put_perf_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, kernel, sizeof(kernel), "[kernel.kallsyms]_text");
	put_perf_record(PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, mmap, sizeof(mmap), "/proc/self/exe");
	put_perf_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_DATA_MISC_BUILD_ID, &mmap2,
			sizeof(mmap2), "[vdso]");
	put_perf_record(PERF_RECORD_COMM, PERF_DATA_MISC_EXEC, task, sizeof(task), "name");
	put_perf_record(PERF_RECORD_FORK, 0, fork, sizeof(fork), NULL);
	put_perf_record(PERF_RECORD_EXIT, 0, fork, sizeof(fork), NULL);
	put_perf_record(PERF_RECORD_LOST, 0, lost, sizeof(lost), NULL);
	put_perf_record(PERF_DATA_KSYMBOL, 0, symbol, sizeof(symbol), "function");
	put_perf_record(PERF_DATA_AUXTRACE, 0, skip, sizeof(skip), NULL);
	put_perf_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sample, sizeof(sample), NULL);
	put_perf_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sample, sizeof(sample), NULL);
	begin.h.attr_size = PERF_DATA_ATTR + sizeof(begin.ids);
	begin.h.attrs = (struct perf_data_part){ offsetof(typeof(begin), attr), begin.h.attr_size };
	begin.ids = (struct perf_data_part){ offsetof(typeof(begin), id), sizeof(begin.id) };
	begin.h.records = (struct perf_data_part){ sizeof(begin), perf_size };
	begin.h.features[0] = 1 << PERF_DATA_BUILD_ID | 1 << PERF_DATA_ARCH | 1 << PERF_DATA_NRCPUS |
			      1 << PERF_DATA_CMDLINE | 1 << PERF_DATA_EVENT_DESC;
	part[0].offset = sizeof(begin) + perf_size + sizeof(part);
	for (i = 0; i < 5; i++) {
		part[i].size = sizes[i];
		if (i)
			part[i].offset = part[i - 1].offset + sizes[i - 1];
	}
	fwrite(&begin, sizeof(begin), 1, f);
	fwrite(perf_records, perf_size, 1, f);
	fwrite(part, sizeof(part), 1, f);
	fwrite(&build_id, sizeof(build_id), 1, f);
	fwrite(&arch, sizeof(arch), 1, f);
	fwrite(&cpus, sizeof(cpus), 1, f);
	fwrite(&command, sizeof(command), 1, f);
	fwrite(&events, sizeof(events), 1, f);
	fwrite(&event, sizeof(event), 1, f);
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
	write_commands("commands");
	write_stack("stack", "/proc/self/exe");
	write_recording("generated", "");
	write_function("function");
	write_perf_data();
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
	f = create_seed("tables", "words");
	fputs("{\"cpu\" : 0, \"counter-value\" : 12, \"unit\" : msec, \"event\" : cycles, \"metric-value\" : 1.5, \"metric-unit\" : x}\n"
	      "{\"metric\" : ipc, \"metric-value\" : 1e300, \"metric-unit\" : y}\n", f);
	fclose(f);
	f = create_seed("event", "names");
	fputs("instructions:u\ncycles\nr01c2:k\n0x4100c0/0x1@2\nBR_INST_RETIRED:CONDITIONAL:u\n"
	      "L1D_PEND_MISS:PENDING:c=1:e=1\nref-cycles@fixed2\n", f);
	fclose(f);
	return 0;
}
