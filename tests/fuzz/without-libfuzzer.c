// SPDX-License-Identifier: GPL-2.0
/*
 * usage: TARGET N SEED FILE...
 *
 * Fuzz without libFuzzer: use each file, and N times one of them with some bytes
 * changed.  A sanitizer ends the program if it finds an error.
 */
#include "fuzz.h"

#define MAX_SIZE	65536

static uint64_t rng;

static uint32_t random32(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng >> 32;
}

static size_t read_file(const char *name, uint8_t *data)
{
	FILE *f = fopen(name, "rb");
	size_t size;

	if (!f) {
		perror(name);
		exit(2);
	}
	size = fread(data, 1, MAX_SIZE, f);
	fclose(f);
	return size;
}

static size_t mutate(uint8_t *data, size_t size)
{
	static const uint32_t values[] = { 0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xffffffff };
	unsigned int n;

	for (n = 1 + random32() % 4; n && size; n--) {
		size_t at = random32() % size;

		switch (random32() % 4) {
		case 0:
			data[at] = random32();
			break;
		case 1:
			data[at] ^= 1 << random32() % 8;
			break;
		case 2:
			at &= ~(size_t)3;
			if (at + 4 <= size)
				memcpy(data + at, &values[random32() % 7], 4);
			break;
		default:
			if (!(random32() % 4))
				size = at;
			break;
		}
	}
	return size;
}

int main(int argc, char **argv)
{
	static uint8_t file[MAX_SIZE];
	unsigned long n, seed;
	int i;

	if (argc < 4) {
		fprintf(stderr, "usage: %s N SEED FILE...\n", argv[0]);
		return 2;
	}
	n = strtoul(argv[1], NULL, 0);
	seed = strtoul(argv[2], NULL, 0);
	rng = seed * 0x9e3779b97f4a7c15ULL ?: 1;
	for (i = 3; i < argc; i++) {
		/* A buffer of the exact size, so that a read past its end is found. */
		size_t size = read_file(argv[i], file);
		uint8_t *data = malloc(size + !size);

		memcpy(data, file, size);
		fuzz_one(data, size);
		free(data);
	}
	while (n--) {
		size_t size = mutate(file, read_file(argv[3 + random32() % (argc - 3)], file));
		uint8_t *data = malloc(size + !size);

		memcpy(data, file, size);
		fuzz_one(data, size);
		free(data);
	}
	printf("SEED=%lu: no harm done\n", seed);
	return 0;
}
