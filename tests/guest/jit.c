// SPDX-License-Identifier: GPL-2.0
/*
 * usage: jit DIRECTORY [map]
 *
 * A program that makes code at run time, as a JIT does, and writes it to jit-PID.dump in
 * the directory.  "first" and "second" are at the same address, one after the other, but
 * have no address of an instruction in common, but for their beginnings.  Print that
 * address, and the sizes of both.
 *
 * With "map" they are at two addresses, and only a list names them, /tmp/perf-PID.map.
 * Print address and size of each.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* A loop of two instructions, which runs 600000 times, and 200000 times behind a jump. */
#if defined(__x86_64__) || defined(__i386__)
#define MACHINE	(sizeof(long) == 8 ? EM_X86_64 : EM_386)
static const unsigned char first[] = {
	0xb9, 0xc0, 0x27, 0x09, 0x00,	/* mov $600000, %ecx */
	0xff, 0xc9,			/* dec %ecx */
	0x75, 0xfc,			/* jnz */
	0xc3,
};
static const unsigned char second[] = {
	0xeb, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0xb9, 0x40, 0x0d, 0x03, 0x00,	/* mov $200000, %ecx */
	0xff, 0xc9,
	0x75, 0xfc,
	0xc3,
};
#elif defined(__riscv)
#define MACHINE	EM_RISCV
static const uint32_t first[] = {
	0x0249f5b7,			/* lui a1, 9375: 64 * 600000 */
	0xfc058593,			/* addi a1, a1, -64 */
	0xfe059ee3,			/* bnez a1 */
	0x00008067,			/* ret */
};
static const uint32_t second[] = {
	0x0200006f, 0, 0, 0, 0, 0, 0, 0,	/* j */
	0x00c355b7,			/* lui a1, 3125: 64 * 200000 */
	0xfc058593,
	0xfe059ee3,
	0x00008067,
};
#elif defined(__powerpc__)
#ifdef __powerpc64__
#define MACHINE	EM_PPC64
#else
#define MACHINE	EM_PPC
#endif
static const uint32_t first[] = {
	0x3c60249f,			/* lis r3, 9375: 1024 * 600000 */
	0x3463fc00,			/* addic. r3, r3, -1024 */
	0x4082fffc,			/* bne */
	0x4e800020,			/* blr */
};
static const uint32_t second[] = {
	0x48000020, 0, 0, 0, 0, 0, 0, 0,	/* b */
	0x3c600c35,			/* lis r3, 3125: 1024 * 200000 */
	0x3463fc00,
	0x4082fffc,
	0x4e800020,
};
#else
#define MACHINE	EM_AARCH64
static const uint32_t first[] = {
	0x5284f801,			/* mov w1, #10176 */
	0x72a00121,			/* movk w1, #9, lsl #16 */
	0x71000421,			/* subs w1, w1, #1 */
	0x54ffffe1,			/* b.ne */
	0xd65f03c0,			/* ret */
};
static const uint32_t second[] = {
	0x14000008, 0, 0, 0, 0, 0, 0, 0,
	0x5281a801,			/* mov w1, #3392 */
	0x72a00061,			/* movk w1, #3, lsl #16 */
	0x71000421,
	0x54ffffe1,
	0xd65f03c0,
};
#endif

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void write_header(FILE *f)
{
	const struct {
		uint32_t magic, version, size, machine, pad, pid;
		uint64_t time, flags;
	} h = { 0x4a695444, 1, sizeof(h), MACHINE, 0, (uint32_t)getpid(), now(), 0 };

	fwrite(&h, sizeof(h), 1, f);
}

static void write_code(FILE *f, const char *name, void *at, size_t size, uint64_t index)
{
	const struct {
		uint32_t type, size;
		uint64_t time;
		uint32_t pid, tid;
		uint64_t vma, address, code_size, index;
	} r = {
		0, (uint32_t)(sizeof(r) + strlen(name) + 1 + size), now(), (uint32_t)getpid(),
		(uint32_t)getpid(), (uintptr_t)at, (uintptr_t)at, size, index,
	};

	fwrite(&r, sizeof(r), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(at, size, 1, f);
	fflush(f);
}

static void make(void *at, const void *code, size_t size)
{
	memcpy(at, code, size);
	__builtin___clear_cache(at, (char *)at + size);
}

/* Both functions, in a list without times and code. */
static int with_map(char *at)
{
	char *other = at + 1024;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "%lx %zx first\n", (unsigned long)at, sizeof(first));
	fprintf(f, "%lx %zx second\n", (unsigned long)other, sizeof(second));
	fclose(f);
	make(at, first, sizeof(first));
	make(other, second, sizeof(second));
	((void (*)(void))at)();
	((void (*)(void))other)();
	printf("%lx %zu %lx %zu\n", (unsigned long)at, sizeof(first),
	       (unsigned long)other, sizeof(second));
	return 0;
}

int main(int argc, char **argv)
{
	char path[256];
	void *at, *mark;
	FILE *f;

	if (argc < 2)
		return 2;
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	if (argc > 2)
		return with_map(at);
	snprintf(path, sizeof(path), "%s/jit-%d.dump", argv[1], (int)getpid());
	f = fopen(path, "w+");
	if (!f)
		return 1;
	write_header(f);
	fflush(f);
	/* Profilers find the file by this mapping. */
	mark = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
	if (mark == MAP_FAILED)
		return 1;
	printf("%lx %zu %zu\n", (unsigned long)at, sizeof(first), sizeof(second));
	fflush(stdout);
	make(at, first, sizeof(first));
	write_code(f, "first", at, sizeof(first), 1);
	((void (*)(void))at)();
	make(at, second, sizeof(second));
	write_code(f, "second", at, sizeof(second), 2);
	((void (*)(void))at)();
	fclose(f);
	return 0;
}
