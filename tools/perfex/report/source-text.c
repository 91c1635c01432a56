// SPDX-License-Identifier: GPL-2.0
/* The text of source files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate.h"

/* Bytes that a line takes beside its text. */
#define COST_OF_LINE	40
#define TAB		8

/* Return: how many bytes the line has with spaces for its tabs. */
static size_t clean_length(const char *line, size_t len)
{
	size_t i, at = 0;

	for (i = 0; i < len; i++)
		at += line[i] == '\t' ? TAB - at % TAB : 1;
	return at;
}

/* Return: the line with spaces for its tabs; the caller frees it. */
static char *clean_line(const char *line, size_t len)
{
	char *text = malloc(clean_length(line, len) + 1);
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

/*
 * Read a line, but no more than `most` bytes of it and one: the file may grow without end meanwhile.
 * Return: its length, with the line feed; 0: there is none
 */
static size_t read_line(char **line, size_t *room, FILE *f, int64_t most)
{
	size_t len = 0, larger;
	char *new;
	int c;

	while ((int64_t)len <= most && (c = getc_unlocked(f)) != EOF) {
		if (len == *room) {
			larger = *room ? *room * 2 : 256;
			new = realloc(*line, larger);
			if (!new)
				return 0;
			*line = new;
			*room = larger;
		}
		(*line)[len++] = (char)c;
		if (c == '\n')
			break;
	}
	return len;
}

/* Read the lines of a source file.  Return: false: it is too large; then there are no lines. */
static bool read_lines(struct source_file *s, FILE *f, int64_t *left)
{
	const int64_t before = *left;
	char *line = NULL;
	size_t size = 0, len;

	while ((len = read_line(&line, &size, f, *left)) > 0) {
		if (line[len - 1] == '\n')
			len--;
		if (len && line[len - 1] == '\r')
			len--;
		*left -= (int64_t)clean_length(line, len) + COST_OF_LINE;
		if (*left < 0 || !add_line(s, line, len))
			break;
	}
	free(line);
	if (*left >= 0)
		return true;
	source_free(s);
	/* Reading it took time, and there may be any number of its kind. */
	*left = before / 2;
	return false;
}

bool source_read(struct source_file *s, const char *path, uid_t owner, int64_t *left)
{
	bool refused;
	int fd = source_open(path, owner, &refused);
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	struct stat st;

	memset(s, 0, sizeof(*s));
	s->refused = refused;
	if (!f) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (!fstat(fd, &st)) {
		s->modified = st.st_mtime;
		s->too_large = st.st_size > *left || !read_lines(s, f, left);
	}
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
