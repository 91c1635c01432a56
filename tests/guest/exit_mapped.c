// SPDX-License-Identifier: GPL-2.0
/* usage: exit_mapped MEGABYTES [unmap]	touch that much memory, and end with it mapped, or without it */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const size_t size = argc > 1 ? (size_t)atoi(argv[1]) << 20 : 0;
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 2;
	/* Small pages: each takes its instructions to free. */
	madvise(p, size, MADV_NOHUGEPAGE);
	memset(p, 1, size);
	if (argc > 2 && munmap(p, size))
		return 2;
	_exit(0);
}
