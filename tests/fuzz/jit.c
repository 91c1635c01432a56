// SPDX-License-Identifier: GPL-2.0
/* Fuzz the reader of jitdump files, which other programs write. */
#include <unistd.h>

#include "fuzz.h"
#include "jit-dump.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	static const struct clock_pair clocks[2] = { { 0, 0 }, { 1000, 500 } };
	const struct file_identity id = { 0 };
	struct place place = { NULL };
	struct jit_dump *dump;
	struct code code;
	struct error e;
	char path[64];
	uint64_t at, address, tsc, offset;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perfex-fuzz-%d", (int)getpid());
	f = fopen(path, "wx");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f))
		abort();
	dump = jit_dump_open(path, &id, 0, &e);
	if (!dump) {
		unlink(path);
		return;
	}
	for (at = 0; at < 0x3000; at += 0x3ff)
		for (tsc = 0; tsc < 20; tsc += 5) {
			offset = jit_dump_place(dump, at, tsc, clocks, 2);
			if (!offset)
				continue;
			/* A place that was found is in a function, and has that address or a moved one. */
			if (!jit_dump_find(dump, offset, &address, &place) || !place.function ||
			    !jit_dump_code(dump, offset, &code) || offset - code.offset >= code.size)
				abort();
			if (code.bytes && code.size)
				(void)*(volatile const unsigned char *)&code.bytes[code.size - 1];
		}
	jit_dump_close(dump);
	unlink(path);
}
