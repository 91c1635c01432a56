// SPDX-License-Identifier: GPL-2.0
/* Fuzz perfex --report and its exports, and perfex diff, which may read files of an attacker. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "perfex.h"
#include "plain.h"

static const char *const exports[8] = { NULL, "svg", "pprof", "firefox", "folded", "script" };
/* A function that has samples in seeds.c, by its name and library, and others. */
static const char *const functions[4] = { "write_stack", "write_stack@make-seeds", "main", "@" };

/* If something is wrong, one line says so. */
static int check_error(int err, const struct error *e)
{
	if (err < 0 && (!e->text[0] || strchr(e->text, '\n')))
		abort();
	return err;
}

/* Report to memory.  Return: 0, or -1: there is a message */
static int report(const struct reporting *o, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	struct error e = { .text = "" };
	int err;

	if (!out)
		abort();
	err = check_error(report_here(out, o, &e), &e);
	fclose(out);
	return err;
}

/* Text that perfex has written cannot command a terminal. */
static void report_text(const struct reporting *o)
{
	char *text;
	size_t size;

	report(o, &text, &size);
	if (!o->export || strcmp(o->export, "pprof"))
		check_plain(text, size);
	free(text);
}

/* Return: the name of a file in memory; fd: its descriptor */
static const char *make_file(char *name, size_t room, int *fd, const void *data, size_t size)
{
	*fd = memfd_create("samples", MFD_CLOEXEC);
	if (*fd < 0 || write(*fd, data, size) != (ssize_t)size)
		abort();
	snprintf(name, room, "/proc/self/fd/%d", *fd);
	return name;
}

/* perfex reads what it has exported as perf.data. */
static void report_again(struct reporting *o)
{
	char *text, *again, name[40];
	size_t size, size_again;
	int fd;

	o->export = "perf";
	if (!report(o, &text, &size)) {
		o->file = make_file(name, sizeof(name), &fd, text, size);
		if (report(o, &again, &size_again))
			abort();
		free(again);
		close(fd);
	}
	free(text);
}

static void diff(const char *name, const struct reporting *o)
{
	const char *const files[] = { name, name };
	struct error e = { .text = "" };
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	check_error(diff_here(out, files, o, &e), &e);
	fclose(out);
	check_plain(text, size);
	free(text);
}

/* All bytes choose what is printed, so that each change of one is another choice. */
static unsigned int choice_of(const uint8_t *data, size_t size)
{
	unsigned int choice = 0;
	size_t i;

	for (i = 0; i < size; i++)
		choice = choice * 31 + data[i];
	return choice >> 3 & 0xff;
}

void fuzz_one(const uint8_t *data, size_t size)
{
	const unsigned int choice = choice_of(data, size);
	const struct showing show = {
		.verbose = choice & 1, .style = choice & 2 ? STYLE_JSON : STYLE_TEXT,
	};
	struct reporting o = {
		.show = show, .sort = choice & 4 ? "comm,pid,tid,cpu,dso,symbol,line,event" : NULL,
		.children = choice & 8, .callers = choice & 16, .callees = choice & 32,
		.export = exports[(choice >> 6 | (choice & 1) << 2) & 7],
	};
	char name[40];
	int fd;

	o.file = make_file(name, sizeof(name), &fd, data, size);
	report_text(&o);
	o = (struct reporting){ .file = name, .show = show, .annotate = functions[choice >> 6] };
	report_text(&o);
	o = (struct reporting){ .file = name, .show = show };
	if (!(choice & 12))
		diff(name, &o);
	report_again(&o);
	close(fd);
}
