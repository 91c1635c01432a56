// SPDX-License-Identifier: GPL-2.0
/* The text of source files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate.h"

/* A larger file is no source. */
#define MAX_SOURCE	(16 << 20)
#define MAX_LINES	(1U << 21)
#define TAB		8

/* Return: the line with spaces for its tabs; the caller frees it. */
static char *clean_line(const char *line, size_t len)
{
	char *text = malloc(len * TAB + 1);
	size_t i, at = 0;

	if (!text)
		return NULL;
	for (i = 0; i < len; i++) {
		if (line[i] != '\t')
			text[at++] = line[i];
		else
			do
				text[at++] = ' ';
			while (at % TAB);
	}
	text[at] = '\0';
	/* A NUL ends it. */
	replace_controls(text);
	return text;
}

static bool add_line(struct source_file *s, const char *line, size_t len)
{
	char **lines;

	if (s->nr == MAX_LINES)
		return false;
	/* There is room for a power of two. */
	if (!(s->nr & (s->nr - 1))) {
		lines = reallocarray(s->lines, s->nr ? s->nr * 2 : 1, sizeof(*lines));
		if (!lines)
			return false;
		s->lines = lines;
	}
	s->lines[s->nr] = clean_line(line, len);
	return s->lines[s->nr] && ++s->nr;
}

bool source_read(struct source_file *s, const char *path, uid_t owner)
{
	bool refused;
	int fd = source_open(path, owner, &refused);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *line = NULL;
	size_t size = 0;
	struct stat st;
	ssize_t len;

	memset(s, 0, sizeof(*s));
	s->refused = refused;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (!fstat(fd, &st) && st.st_size <= MAX_SOURCE) {
		s->modified = st.st_mtime;
		while ((len = getline(&line, &size, f)) > 0) {
			if (line[len - 1] == '\n')
				len--;
			if (len && line[len - 1] == '\r')
				len--;
			if (!add_line(s, line, (size_t)len))
				break;
		}
	}
	free(line);
	fclose(f);
	return s->nr;
}

const char *source_line(const struct source_file *s, unsigned int line)
{
	return line && line <= s->nr ? s->lines[line - 1] : NULL;
}

void source_free(struct source_file *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		free(s->lines[i]);
	free(s->lines);
	memset(s, 0, sizeof(*s));
}
