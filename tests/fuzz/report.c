// SPDX-License-Identifier: GPL-2.0
/* Fuzz perfex --report, which may read files of an attacker. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "perfex.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	int fd = memfd_create("samples", MFD_CLOEXEC);
	FILE *out = fopen("/dev/null", "w");
	struct error e;
	char name[40];

	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	report_samples(out, name, size & 1, &e);
	fclose(out);
	close(fd);
}
