// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzzing without libFuzzer: run the programs of corpora, and then mutate them at random.  A corpus is a text file: a line of hexadecimal digits for each
 * program, empty lines and comments.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define MAX_PROGRAMS	20000

static struct program { uint8_t *data; size_t size; } programs[MAX_PROGRAMS];
static unsigned int nr_programs;

static void add_program(const uint8_t *data, size_t size)
{
	struct program *p = &programs[nr_programs];

	if (nr_programs == MAX_PROGRAMS)
		return;
	/* The exact size: a read past its end is found. */
	p->data = malloc(size + !size);
	memcpy(p->data, data, size);
	p->size = size;
	nr_programs++;
}

static void read_corpus(const char *file)
{
	static char line[2 * FUZZ_MAX + 3];
	static uint8_t data[FUZZ_MAX];
	FILE *f = fopen(file, "r");
	unsigned int byte;
	size_t n;

	if (!f) {
		perror(file);
		exit(2);
	}
	while (fgets(line, sizeof(line), f)) {
		if (*line == '#' || *line == '\n')
			continue;
		for (n = 0; n < FUZZ_MAX && sscanf(line + 2 * n, "%2x", &byte) == 1; n++)
			data[n] = byte;
		add_program(data, n);
	}
	fclose(f);
}

/* A file of libFuzzer's. */
static void read_binary(const char *file)
{
	static uint8_t data[FUZZ_MAX];
	FILE *f = fopen(file, "rb");
	size_t n;

	if (!f) {
		perror(file);
		exit(2);
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	add_program(data, n);
}

static void write_hex(FILE *f, const uint8_t *data, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		fprintf(f, "%02x", data[i]);
	fputc('\n', f);
}

/* One file for each program, as libFuzzer wants them. */
static void unpack(const char *dir)
{
	char name[4096];
	unsigned int i;
	FILE *f;

	for (i = 0; i < nr_programs; i++) {
		snprintf(name, sizeof(name), "%s/%04u", dir, i);
		f = fopen(name, "wb");
		if (!f || fwrite(programs[i].data, 1, programs[i].size, f) != programs[i].size || fclose(f)) {
			perror(name);
			exit(2);
		}
	}
}

static void usage(void)
{
	fprintf(stderr, "usage: fuzz [-n N] [-s SECONDS] [-r SEED] [-v] [-x DIR] [-p] [-b] CORPUS...\n"
		"	-n: mutate one of the programs so often\n"
		"	-s: and then, for that much processor time\n"
		"	-r: the first seed of the mutations\n"
		"	-v: print the story of each run; twice: with each step\n"
		"	-x: only write each program to a file of the directory\n"
		"	-p: each CORPUS is such a file; only print them as a corpus\n"
		"	-b: each CORPUS is such a file\n");
	exit(2);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* The program that runs now, for a failure. */
static uint8_t now[FUZZ_MAX];
static size_t now_size;

static void aborted(int sig)
{
	printf("\nThe program that failed:\n");
	write_hex(stdout, now, now_size);
	fflush(stdout);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void mutate(unsigned long n, double seconds, unsigned int seed)
{
	double end = cpu_seconds() + seconds;
	static uint8_t crossed[FUZZ_MAX];

	while (nr_programs && (n || cpu_seconds() < end)) {
		const struct program *p = &programs[seed * 2654435761U % nr_programs];
		const struct program *q = &programs[(seed * 40503U >> 4) % nr_programs];

		now_size = 0;
		if (seed % 4 == 0)
			now_size = fuzz_cross(p->data, p->size, q->data, q->size, crossed, FUZZ_MAX, seed);
		memcpy(now, now_size ? crossed : p->data, now_size ?: p->size);
		now_size = fuzz_mutate(now, now_size ?: p->size, FUZZ_MAX, seed);
		fuzz_input(now, now_size);
		seed++;
		n -= !!n;
	}
}

/* Without random addresses, a run is the same each time. */
static void fix_addresses(char **argv)
{
	int old = personality(0xffffffff);

	if (old < 0 || (old & ADDR_NO_RANDOMIZE))
		return;
	if (personality(old | ADDR_NO_RANDOMIZE) >= 0)
		execv("/proc/self/exe", argv);
}

int main(int argc, char **argv)
{
	const char *dir = NULL;
	unsigned int i, seed = 1;
	int c, pack = 0, binary = 0;
	unsigned long n = 0;
	double seconds = 0;

	fix_addresses(argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "n:s:r:vx:pb")) != -1) {
		switch (c) {
		case 'n':
			n = strtoul(optarg, NULL, 0);
			break;
		case 's':
			seconds = strtod(optarg, NULL);
			break;
		case 'r':
			seed = strtoul(optarg, NULL, 0);
			break;
		case 'v':
			fuzz_verbose++;
			break;
		case 'x':
			dir = optarg;
			break;
		case 'p':
			pack = 1;
			break;
		case 'b':
			binary = 1;
			break;
		default:
			usage();
		}
	}
	for (i = optind; i < (unsigned int)argc; i++) {
		if (pack || binary)
			read_binary(argv[i]);
		else
			read_corpus(argv[i]);
	}
	if (pack) {
		for (i = 0; i < nr_programs; i++)
			write_hex(stdout, programs[i].data, programs[i].size);
		return 0;
	}
	if (dir) {
		unpack(dir);
		return 0;
	}
	signal(SIGABRT, aborted);
	for (i = 0; i < nr_programs; i++) {
		now_size = programs[i].size;
		memcpy(now, programs[i].data, now_size);
		fuzz_input(programs[i].data, now_size);
	}
	mutate(n, seconds, seed);
	printf("ok: %llu calls of %llu programs, %u of the corpus\n", (unsigned long long)fuzz_calls,
	       (unsigned long long)fuzz_executions, nr_programs);
	return 0;
}
