// SPDX-License-Identifier: GPL-2.0
/* perfex top: the counts of CPUs, in a table that is refreshed, or in lines. */
#include <inttypes.h>
#include <sys/ioctl.h>

#include "cpus.h"

#define WIDTH_PLACE	12
#define MIN_WIDTH	16	/* of a column */
#define OTHER_LINES	4	/* the head, the sum, how many are left out, the cursor's */

/* Columns are as wide as the names of events, at least. */
static int column_width(const struct printing *p, unsigned int i)
{
	const int width = (int)strlen(p->events->ev[i].name) + 2;

	return width > MIN_WIDTH ? width : MIN_WIDTH;
}

static void print_head(const struct printing *p, const char *time)
{
	unsigned int i;

	fprintf(p->f, "%s%-*s", time, WIDTH_PLACE, "");
	for (i = 0; i < p->events->nr; i++)
		fprintf(p->f, "%*s", column_width(p, i), p->events->ev[i].name);
}

static void print_line(const struct printing *p, const char *time, const char *place,
		       const struct sums *sums, bool commas)
{
	char text[THOUSANDS_LEN];
	unsigned int i;
	uint64_t n;

	fprintf(p->f, "%s%-*s", time, WIDTH_PLACE, place);
	for (i = 0; i < p->events->nr; i++) {
		n = event_count(p->events, sums, i);
		if (commas)
			thousands(text, n);
		else
			snprintf(text, sizeof(text), "%" PRIu64, n);
		fprintf(p->f, "%*s", column_width(p, i), text);
	}
}

/* Return: the lines of the terminal. */
static unsigned int terminal_lines(FILE *f)
{
	struct winsize size;

	return !ioctl(fileno(f), TIOCGWINSZ, &size) && size.ws_row ? size.ws_row : 24;
}

/* Overwrite the last table: without an erased screen in between, nothing flickers. */
static void refresh_table(const struct printing *p, double at, const struct sums *sums,
			  const struct part *parts)
{
	unsigned int lines = terminal_lines(p->f), room, shown = 0, more = 0, i;
	const char *bold = has_colours(p->f) ? "\033[1m" : "", *plain = *bold ? "\033[m" : "";

	room = lines > OTHER_LINES ? lines - OTHER_LINES : 1;
	fprintf(p->f, "\033[H%s", bold);
	print_head(p, "");
	fprintf(p->f, "%s  %.1f s\033[K\n", plain, at);
	for (i = 0; i < p->nrparts; i++) {
		if (!parts[i].nrcpus)
			continue;
		if (shown == room) {
			more++;
			continue;
		}
		print_line(p, "", parts[i].label, &parts[i].sums, true);
		fputs("\033[K\n", p->f);
		shown++;
	}
	if (more)
		fprintf(p->f, "and %u more\033[K\n", more);
	fputs(bold, p->f);
	print_line(p, "", "all", sums, true);
	fprintf(p->f, "%s\033[K\n\033[J", plain);
	fflush(p->f);
}

void top_print(const struct printing *p, double at, const struct sums *sums,
	       const struct part *parts, bool first)
{
	char time[32];
	unsigned int i;

	if (is_terminal(p->f)) {
		if (first)
			fputs("\033[2J", p->f);
		refresh_table(p, at, sums, parts);
		return;
	}
	if (first) {
		print_head(p, "      time  ");
		fputc('\n', p->f);
	}
	snprintf(time, sizeof(time), "%10.3f  ", at);
	for (i = 0; i < p->nrparts; i++) {
		if (!parts[i].nrcpus)
			continue;
		print_line(p, time, parts[i].label, &parts[i].sums, false);
		fputc('\n', p->f);
	}
	print_line(p, time, "all", sums, false);
	fputc('\n', p->f);
	/* The reader of a pipe must see each interval when it is over. */
	fflush(p->f);
}
