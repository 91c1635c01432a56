// SPDX-License-Identifier: GPL-2.0
/* Fuzz the readers of text: tables of metrics, and files of counts, which are merged and compared. */
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"
#include "fuzz.h"
#include "json-counts.h"
#include "metrics.h"
#include "plain.h"

static void read_metrics(const char *text, FILE *out)
{
	static char *const any[] = { NULL };
	unsigned int nrhidden = 0;
	struct error e;

	if (!metrics_parse(text, "table", &e))
		metrics_list(out, any, true, false, &fake.info, &nrhidden);
	metrics_forget();
}

/* Merge a file, and compare it with itself, in all formats. */
static void print_counts(const char *file, const struct event_list *events, FILE *out)
{
	const char *const both[] = { file, file };
	const struct file_list files = { .nr = 1, .name = (const char **)both };
	struct reporting o = { .events = *events };
	struct error e;

	for (o.show.style = STYLE_TEXT; o.show.style <= STYLE_JSON; o.show.style++) {
		o.show.separator = ",";
		merge_counts(out, &files, events, &o.show, &e);
		diff_here(out, both, &o, &e);
	}
}

static void read_counts(const char *text, size_t size)
{
	const int fd = memfd_create("counts", MFD_CLOEXEC);
	const struct event_list all = { .nr = 0 };
	struct records records;
	struct error e;
	size_t printed_size;
	char path[64], *printed;
	FILE *out = open_memstream(&printed, &printed_size);

	if (fd < 0 || !out || write(fd, text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	records_read(&records, path, &e);
	records_free(&records);
	print_counts(path, &all, out);
	fclose(out);
	check_plain(printed, printed_size);
	free(printed);
	close(fd);
}

void fuzz_one(const uint8_t *data, size_t size)
{
	FILE *out = fopen("/dev/null", "w");
	char *text = malloc(size + 1);

	if (!out || !text)
		abort();
	fake_reset();
	memcpy(text, data, size);
	text[size] = '\0';
	/* Lines of counts begin with a brace. */
	if (size && data[0] == '{')
		read_counts(text, size);
	else
		read_metrics(text, out);
	free(text);
	fclose(out);
}
