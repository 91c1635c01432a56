// SPDX-License-Identifier: GPL-2.0
/*
 * usage: profile-files addresses OUT SAMPLES ADDRESSES ELF...
 *	  profile-files mappings OUT CHANGES ELF
 *	  profile-files stacks OUT SAMPLES
 *	  profile-files measure COMMAND...
 *
 * Write the same samples as a file of perfex, OUT.perfex, and as one of perf, OUT.data, so that
 * the reports of both can be measured beside each other.  They repeat exactly, but for the
 * stacks, which are those of this program.
 *
 *	addresses	samples at that many addresses of these files, in one process.  A few
 *			addresses have most of the samples, as in a real program.
 *	mappings	a file is mapped at one address after another; each mapping has a sample
 *	stacks		registers and 8 KB of the stack of a program
 *	measure		runs a command without output, and prints the seconds of processor time and the
 *			most memory in KB of it and of what it runs.  The kernel counts the memory of
 *			who has started a process, too: here, that is less than any command's.
 */
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "linux/vperfctr.h"
#include "../tools/perfex/record/sample-file.h"

#define PID		12345
#define PERIOD		1000000
#define COMM		"measured"
#define STACK_SIZE	8192

/* perf puts what it has read from the rings in order when it meets this record. */
#define FINISHED_ROUND	68
#define ROUND		10000	/* samples */

/* The head of perf's file: perf.data-file-format.txt of Linux. */
struct perf_section {
	uint64_t offset, size;
};

struct perf_head {
	char magic[8];
	uint64_t size, attr_size;
	struct perf_section attrs, data, types;
	uint64_t features[4];
};

struct perf_attr {
	struct perf_event_attr attr;
	struct perf_section ids;
};

/* The end of perf's records that are no samples. */
struct perf_end {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static FILE *perfex_file, *perf_file;
static bool with_stacks;
static uint64_t now = 1000000000, nrsamples;

static uint32_t random_number(void)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

static void put(FILE *f, const void *data, size_t len)
{
	if (len && fwrite(data, 1, len, f) != len)
		err(1, "cannot write");
}

static void put_padded(FILE *f, const void *data, size_t len)
{
	static const char zeros[8];

	put(f, data, len);
	put(f, zeros, -len & 7);
}

static size_t padded(size_t len)
{
	return (len + 7) & ~(size_t)7;
}

/* ---- records of both ---------------------------------------------------------------------- */

static void put_record(uint32_t type, const void *data, size_t len, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	struct record r = { type, (uint32_t)(sizeof(r) + padded(len + size)) };

	put(perfex_file, &r, sizeof(r));
	put(perfex_file, data, len);
	put_padded(perfex_file, text, size);
	if ((len + size) % 8 != size % 8)
		errx(1, "a record of another size");
}

static void put_perf(uint32_t type, uint16_t misc, const void *data, size_t len, const char *text)
{
	const struct perf_end end = { PID, PID, now, 0, 0 };
	struct perf_event_header h = { .type = type, .misc = misc };

	h.size = (uint16_t)(sizeof(h) + len + padded(strlen(text) + 1) + sizeof(end));
	put(perf_file, &h, sizeof(h));
	put(perf_file, data, len);
	put_padded(perf_file, text, strlen(text) + 1);
	put(perf_file, &end, sizeof(end));
}

static void put_exec(void)
{
	const struct record_task task = { PID, PID, now };
	const uint32_t ids[2] = { PID, PID };

	put_record(RECORD_EXEC, &task, sizeof(task), COMM);
	put_perf(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, ids, sizeof(ids), COMM);
}

/* To unwind stacks, perf reads tables where a process has mapped them: that is not code. */
static void put_mapping(uint64_t start, uint64_t end, uint64_t offset, const char *path, bool code)
{
	struct record_mapping map = {
		.task = { PID, PID, ++now }, .start = start, .end = end, .offset = offset,
	};
	struct {
		uint32_t pid, tid;
		uint64_t start, len, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t prot, flags;
	} perf = { PID, PID, start, end - start, offset, 0, 0, 0, 0, PROT_READ, MAP_PRIVATE };
	uint16_t misc = PERF_RECORD_MISC_USER;
	struct stat st;

	if (!stat(path, &st)) {
		map.major = perf.major = major(st.st_dev);
		map.minor = perf.minor = minor(st.st_dev);
		map.inode = perf.inode = st.st_ino;
	}
	if (code) {
		perf.prot |= PROT_EXEC;
		put_record(RECORD_MAPPING, &map, sizeof(map), path);
	} else {
		misc |= PERF_RECORD_MISC_MMAP_DATA;
	}
	put_perf(PERF_RECORD_MMAP2, misc, &perf, sizeof(perf), path);
}

static void put_round(void)
{
	const struct perf_event_header round = { FINISHED_ROUND, 0, sizeof(round) };

	put(perf_file, &round, sizeof(round));
}

/* regs: those of user mode, and the stack at the stack pointer; or NULL */
static void put_sample(uint64_t ip, const greg_t *regs)
{
	/* by their numbers in DWARF and in perf's records */
	static const int dwarf[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP,
				     REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13,
				     REG_R14, REG_R15, REG_RIP };
	static const int perf[] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP,
				    REG_RSP, REG_RIP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12,
				    REG_R13, REG_R14, REG_R15 };
	enum { NR = sizeof(dwarf) / sizeof(dwarf[0]) };
	struct record_user user = {
		.mode = VPERFCTR_USER_64, .nrregs = NR, .stack_size = STACK_SIZE,
	};
	struct record_sample s = {
		.size = sizeof(s), .pid = PID, .tid = PID, .ip = ip, .tsc = ++now, .overflow = 1,
	};
	const struct {
		uint64_t ip;
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t period;
	} p = { ip, PID, PID, now, 0, 0, PERIOD };
	struct {
		uint64_t nrchain, abi, regs[NR], size;
	} u = { 0, PERF_SAMPLE_REGS_ABI_64, { 0 }, STACK_SIZE };
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER };
	struct record r = { RECORD_SAMPLES, 0 };
	const void *stack = NULL;
	uint64_t words[NR];
	int i;

	h.size = sizeof(h) + sizeof(p);
	if (regs) {
		stack = (const void *)regs[REG_RSP];
		s.size += (uint32_t)(sizeof(user) + sizeof(words) + STACK_SIZE);
		h.size = (uint16_t)(h.size + sizeof(u) + STACK_SIZE + sizeof(u.size));
	}
	r.size = (uint32_t)sizeof(r) + s.size;
	put(perfex_file, &r, sizeof(r));
	put(perfex_file, &s, sizeof(s));
	put(perf_file, &h, sizeof(h));
	put(perf_file, &p, sizeof(p));
	if (regs) {
		for (i = 0; i < NR; i++) {
			words[i] = (uint64_t)regs[dwarf[i]];
			u.regs[i] = (uint64_t)regs[perf[i]];
		}
		put(perfex_file, &user, sizeof(user));
		put(perfex_file, words, sizeof(words));
		put(perfex_file, stack, STACK_SIZE);
		put(perf_file, &u, sizeof(u));
		put(perf_file, stack, STACK_SIZE);
		put(perf_file, &u.size, sizeof(u.size));
	}
	if (++nrsamples % ROUND == 0)
		put_round();
}

/* ---- the files ------------------------------------------------------------------------------ */

static struct perf_head head = {
	.magic = "PERFILE2", .size = sizeof(head), .attr_size = sizeof(struct perf_attr),
	.attrs = { sizeof(head), sizeof(struct perf_attr) },
	.data = { sizeof(head) + sizeof(struct perf_attr), 0 },
};

static void begin(const char *name)
{
	struct samples_header h = {
		.magic = SAMPLES_MAGIC, .version = SAMPLES_VERSION, .size = sizeof(h),
		.tsc_khz = 1000000, .flags = with_stacks ? SAMPLES_STACKS : 0,
	};
	const struct record_event event = {
		.counter = 0, .map = EVENT_OF_TIME, .period = PERIOD,
	};
	struct perf_attr attr = {
		.attr = {
			.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr.attr),
			.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = PERIOD,
			.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
			.sample_id_all = 1, .mmap2 = 1, .mmap = 1, .comm = 1, .comm_exec = 1,
		},
	};
	char path[4096];

	snprintf(path, sizeof(path), "%s.perfex", name);
	perfex_file = fopen(path, "w");
	snprintf(path, sizeof(path), "%s.data", name);
	perf_file = fopen(path, "w");
	if (!perfex_file || !perf_file)
		err(1, "cannot write '%s'", path);
	put(perfex_file, &h, sizeof(h));
	put_record(RECORD_COMMAND, NULL, 0, COMM);
	put_record(RECORD_EVENT, &event, sizeof(event), "task-clock");
	if (with_stacks) {
		attr.attr.sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
					 PERF_SAMPLE_STACK_USER;
		attr.attr.sample_regs_user = 0xff01ff;
		attr.attr.sample_stack_user = STACK_SIZE;
		attr.attr.exclude_callchain_user = 1;
		attr.attr.mmap_data = 1;
	}
	put(perf_file, &head, sizeof(head));
	put(perf_file, &attr, sizeof(attr));
	put_exec();
}

static void end(void)
{
	struct {
		struct record_end end;
		uint64_t count;
	} e = { { .samples = nrsamples, .tsc = now, .elapsed = now, .nr = 1 }, nrsamples * PERIOD };
	long at = ftell(perf_file);

	put_record(RECORD_END, &e, sizeof(e), NULL);
	head.data.size = (uint64_t)at - head.data.offset;
	if (at < 0 || fseek(perf_file, 0, SEEK_SET))
		err(1, "cannot write");
	put(perf_file, &head, sizeof(head));
	if (fclose(perf_file) || fclose(perfex_file))
		err(1, "cannot write");
}

/* ---- addresses ------------------------------------------------------------------------------ */

#define MAX_ELF		64

static struct code {
	uint64_t offset, size, start;
} code[MAX_ELF];

/* Find the first segment of code, as a 64-bit file has it. */
static void find_code(const char *path, struct code *c)
{
	Elf64_Phdr phdr;
	Elf64_Ehdr ehdr;
	int fd = open(path, O_RDONLY), i;

	if (fd < 0 || read(fd, &ehdr, sizeof(ehdr)) != sizeof(ehdr) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		errx(1, "'%s' is no 64-bit ELF file", path);
	for (i = 0; i < ehdr.e_phnum; i++) {
		const uint64_t at = ehdr.e_phoff + (uint64_t)i * sizeof(phdr);

		if (pread(fd, &phdr, sizeof(phdr), (off_t)at) != sizeof(phdr))
			err(1, "cannot read '%s'", path);
		if (phdr.p_type == PT_LOAD && (phdr.p_flags & PF_X)) {
			c->offset = phdr.p_offset & ~UINT64_C(4095);
			c->size = (phdr.p_filesz + (phdr.p_offset & 4095) + 4095) & ~UINT64_C(4095);
			close(fd);
			return;
		}
	}
	errx(1, "'%s' has no code", path);
}

static void write_addresses(uint64_t samples, uint64_t addresses, char **paths, int nr)
{
	uint64_t *list = calloc(addresses, sizeof(*list)), i, start = UINT64_C(0x7f0000000000);
	int n;

	if (!list || !addresses)
		errx(1, "no addresses");
	for (n = 0; n < nr && n < MAX_ELF; n++) {
		find_code(paths[n], &code[n]);
		code[n].start = start;
		put_mapping(start, start + code[n].size, code[n].offset, paths[n], true);
		start += code[n].size + (1 << 20);
	}
	for (i = 0; i < addresses; i++) {
		const struct code *c = &code[random_number() % (uint32_t)n];

		list[i] = c->start + random_number() % c->size;
	}
	for (i = 0; i < samples; i++) {
		/* Each address has at least one. */
		double x = (double)random_number() / (1U << 31);
		uint64_t at = i < addresses ? i : (uint64_t)(x * x * x * (double)addresses);

		put_sample(list[at], NULL);
	}
	free(list);
}

/* ---- mappings ------------------------------------------------------------------------------ */

/* They are 256 MB apart, and come again after 1024. */
static void write_mappings(uint64_t changes, const char *path)
{
	uint64_t start, i;

	find_code(path, &code[0]);
	for (i = 0; i < changes; i++) {
		start = UINT64_C(0x700000000000) + (i % 1024 << 28) + (i / 1024 % 16 << 12);
		put_mapping(start, start + code[0].size, code[0].offset, path, true);
		put_sample(start + random_number() % code[0].size, NULL);
	}
}

/* ---- stacks -------------------------------------------------------------------------------- */

static void __attribute__((noinline)) take_sample(void)
{
	ucontext_t context;

	getcontext(&context);
	put_sample((uint64_t)context.uc_mcontext.gregs[REG_RIP], context.uc_mcontext.gregs);
}

static void descend(unsigned int depth);

static void __attribute__((noinline)) left(unsigned int depth)
{
	descend(depth);
	__asm__ volatile("");
}

static void __attribute__((noinline)) right(unsigned int depth)
{
	descend(depth);
	__asm__ volatile("" : : : "rbx", "r12");
}

static int compare(const void *a, const void *b)
{
	(void)b;
	descend(*(const unsigned int *)a - 1);
	return 0;
}

/* A part of the way goes through the C library. */
static void __attribute__((noinline)) sort(unsigned int depth)
{
	unsigned int two[2] = { depth, depth };

	qsort(two, 2, sizeof(two[0]), compare);
	__asm__ volatile("");
}

static void __attribute__((noinline)) descend(unsigned int depth)
{
	volatile char room[64];

	room[0] = (char)depth;
	if (!depth)
		take_sample();
	else if (depth % 8 == 7)
		sort(depth);
	else if (random_number() & 1)
		left(depth - 1);
	else
		right(depth - 1);
	(void)room[0];
}

static void write_stacks(uint64_t samples)
{
	char line[4096], path[4096], prot[5];
	uint64_t start, stop, offset;
	FILE *f = fopen("/proc/self/maps", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %4095s", &start,
			   &stop, prot, &offset, path) == 5 && path[0] == '/')
			put_mapping(start, stop, offset, path, prot[2] == 'x');
	if (f)
		fclose(f);
	while (nrsamples < samples)
		descend(6 + random_number() % 24);
}

/* ---- commands ------------------------------------------------------------------------------ */

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static int measure(char **command)
{
	struct rusage usage;
	pid_t pid = fork();
	int status, null;

	if (!pid) {
		null = open("/dev/null", O_RDWR);
		if (dup2(null, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
			execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		err(1, "cannot run '%s'", command[0]);
	printf("%.6f %ld\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- all ----------------------------------------------------------------------------------- */

static uint64_t number(const char *text)
{
	char *last;
	uint64_t n = strtoull(text, &last, 10);

	if (*last || !n)
		errx(1, "'%s' is no number", text);
	return n;
}

/* The stack that is copied ends before that of main(). */
static int __attribute__((noinline)) write_files(int argc, char **argv)
{
	char room[2 * STACK_SIZE];

	memset(room, 1, sizeof(room));
	__asm__ volatile("" : : "r"(room) : "memory");
	if (argc >= 6 && !strcmp(argv[1], "addresses")) {
		begin(argv[2]);
		write_addresses(number(argv[3]), number(argv[4]), argv + 5, argc - 5);
	} else if (argc == 5 && !strcmp(argv[1], "mappings")) {
		begin(argv[2]);
		write_mappings(number(argv[3]), argv[4]);
	} else if (argc == 4 && !strcmp(argv[1], "stacks")) {
		with_stacks = true;
		begin(argv[2]);
		write_stacks(number(argv[3]));
	} else {
		return -1;
	}
	end();
	__asm__ volatile("" : : "r"(room) : "memory");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc >= 3 && !strcmp(argv[1], "measure"))
		return measure(argv + 2);
	if (write_files(argc, argv))
		errx(1, "usage: profile-files addresses OUT SAMPLES ADDRESSES ELF... | "
		     "mappings OUT CHANGES ELF | stacks OUT SAMPLES | measure COMMAND...");
	return 0;
}
