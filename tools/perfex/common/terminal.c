// SPDX-License-Identifier: GPL-2.0
/* Text that a terminal may be sent, and numbers as people read them. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfex.h"

bool is_terminal(FILE *f)
{
	const char *term = getenv("TERM");

	return isatty(fileno(f)) && term && strcmp(term, "dumb");
}

/* True if the output has colours.  An empty NO_COLOR does not count. */
bool has_colours(FILE *f)
{
	const char *no_colour = getenv("NO_COLOR");

	return is_terminal(f) && !(no_colour && *no_colour);
}

#define WAITING_AFTER	2	/* seconds */

void waiting_begin(struct waiting *w, bool quiet)
{
	w->on = quiet && is_terminal(stderr);
	w->shown = false;
	w->next = w->on ? WAITING_AFTER : 1e9;
}

void waiting_show(struct waiting *w, double now, double timeout)
{
	if (!w->on || now < w->next)
		return;
	if (timeout >= 0)
		fprintf(stderr, "  counting: %.0f of %g seconds\033[K\r", w->next, timeout);
	else
		fprintf(stderr, "  counting: %.0f seconds, until Ctrl-C\033[K\r", w->next);
	w->shown = true;
	while (w->next <= now)
		w->next += 1;
}

void waiting_end(struct waiting *w)
{
	if (w->shown)
		fputs("\033[K", stderr);
	w->shown = false;
}

/* Return: the length of the UTF-8 character that begins here; 0: none, or a control. */
static size_t utf8_length(const unsigned char *s)
{
	size_t length, i;

	if (s[0] < 0x80)
		return s[0] >= ' ' && s[0] != 0x7f;
	length = s[0] < 0xc2 || s[0] > 0xf4 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	for (i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* Refuse C1 controls, overlong forms, surrogates, and numbers that are too large. */
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

/*
 * True if a character changes the order or the lines of the others, so that text looks like
 * another one: U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+206F.
 */
static bool is_direction(const unsigned char *s, size_t length)
{
	if (length == 2)
		return s[0] == 0xd8 && s[1] == 0x9c;
	if (length != 3 || s[0] != 0xe2)
		return false;
	return (s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae))) ||
	       (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xaf);
}

size_t text_length(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t length = utf8_length(s);

	return is_direction(s, length) ? 0 : length;
}

void replace_controls(char *text)
{
	size_t length;

	for (; *text; text += length) {
		length = text_length(text);
		if (!length) {
			*text = '?';
			length = 1;
		}
	}
}

char *plain_text(char *buf, size_t size, const char *text)
{
	snprintf(buf, size, "%s", text);
	/* The last character may be cut off. */
	replace_controls(buf);
	return buf;
}

static bool plain_numbers;

void thousands_use(bool commas)
{
	plain_numbers = !commas;
}

char *thousands(char *buf, uint64_t n)
{
	char digits[THOUSANDS_LEN];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *p = buf;
	int i;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0 && !plain_numbers)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}
