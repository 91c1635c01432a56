// SPDX-License-Identifier: GPL-2.0
/* Fuzz the readers of text: tables of metrics, and files of counts, which are merged. */
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"
#include "fuzz.h"
#include "json-counts.h"
#include "metrics.h"

static void read_metrics(const char *text, FILE *out)
{
	static char *const any[] = { NULL };
	struct error e;

	if (!metrics_parse(text, "table", &e))
		metrics_list(out, any, true, false, &fake.info);
	metrics_forget();
}

static void read_counts(const char *text, size_t size, FILE *out)
{
	const int fd = memfd_create("counts", MFD_CLOEXEC);
	const struct event_list all = { .nr = 0 };
	struct showing show = { .style = STYLE_TEXT };
	struct file_list files = { .nr = 1 };
	struct records records;
	const char *file;
	char path[64];
	struct error e;

	if (fd < 0 || write(fd, text, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file = path;
	files.name = &file;
	records_read(&records, path, &e);
	records_free(&records);
	merge_counts(out, &files, &all, &show, &e);
	show.style = STYLE_JSON;
	merge_counts(out, &files, &all, &show, &e);
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
		read_counts(text, size, out);
	else
		read_metrics(text, out);
	free(text);
	fclose(out);
}
