// SPDX-License-Identifier: GPL-2.0
/* Fuzz perfex --report, which may read files of an attacker. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "perfex.h"

static const char *const exports[4] = { NULL, "svg", "pprof", "firefox" };
/* A function that has samples in seeds.c, by its name and library, and others. */
static const char *const functions[4] = { "write_stack", "write_stack@make-seeds", "main", "@" };

/* If something is wrong, one line says so. */
static void report(FILE *out, const struct reporting *o)
{
	struct error e = { .text = "" };

	if (report_here(out, o, &e) < 0 && (!e.text[0] || strchr(e.text, '\n')))
		abort();
}

void fuzz_one(const uint8_t *data, size_t size)
{
	/* The last byte chooses what is printed. */
	const unsigned int choice = size ? data[size - 1] : 0;
	const struct showing show = {
		.verbose = choice & 1, .style = choice & 2 ? STYLE_JSON : STYLE_TEXT,
	};
	struct reporting o = {
		.show = show, .sort = choice & 4 ? "comm,pid,tid,cpu,dso,symbol,line,event" : NULL,
		.children = choice & 8, .callers = choice & 16, .callees = choice & 32,
		.export = exports[choice >> 6],
	};
	int fd = memfd_create("samples", MFD_CLOEXEC);
	FILE *out = fopen("/dev/null", "w");
	char name[40];

	if (fd < 0 || !out || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	o.file = name;
	report(out, &o);
	o = (struct reporting){ .file = name, .show = show, .annotate = functions[choice >> 6] };
	report(out, &o);
	o = (struct reporting){ .file = name, .show = show, .export = "perf" };
	report(out, &o);
	fclose(out);
	close(fd);
}
