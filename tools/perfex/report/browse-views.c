// SPDX-License-Identifier: GPL-2.0
/* Make what the interactive report shows: lines of text, some of which open a function. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "browse.h"
#include "report.h"

/* A function that calls the viewed one, or that it calls. */
struct neighbour {
	struct viewed function;
	/* after the key */
	uint64_t weight;
};

/* Add a line, whose text becomes the view's.  Return: false: no memory */
static bool add_line(struct view *v, const struct viewed *opens, char *text)
{
	struct view_line *lines;

	if (!text)
		return false;
	/* There is room for a power of two. */
	if (!(v->nr & (v->nr - 1))) {
		lines = reallocarray(v->lines, v->nr ? v->nr * 2 : 1, sizeof(*lines));
		if (!lines) {
			free(text);
			return false;
		}
		v->lines = lines;
	}
	v->lines[v->nr] = (struct view_line){ .text = text };
	if (opens) {
		v->lines[v->nr].function = *opens;
		v->lines[v->nr].opens = true;
	}
	v->nr++;
	return true;
}

static char *print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *print(const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	return text;
}

static double percent(uint64_t part, uint64_t all)
{
	return 100 * (double)part / (double)(all ? all : 1);
}

void view_free(struct view *v)
{
	size_t i;

	for (i = 0; i < v->nr; i++)
		free(v->lines[i].text);
	free(v->lines);
	free(v->title);
	*v = (struct view){ NULL };
}

/* ---- the list --------------------------------------------------------------------------- */

static char *list_title(const struct profile *p, unsigned int event)
{
	char samples[THOUSANDS_LEN];

	return print("%s: %s sample%s of '%s'%s", p->events[event].name,
		     thousands(samples, p->events[event].samples), plural(p->events[event].samples),
		     p->command ? p->command : "?",
		     p->nrevents > 1 ? " (Tab: the next event)" : "");
}

static bool add_row(struct view *v, const struct row *row, const struct report_keys *keys,
		    const int *widths, uint64_t weight, bool children)
{
	const struct viewed function = { row->key.file, row->key.function };
	char samples[THOUSANDS_LEN], all[16] = "", *labels = NULL;
	unsigned int k;
	size_t size;
	FILE *f = open_memstream(&labels, &size);
	bool ok;

	if (!f)
		return false;
	for (k = 0; k + 1 < keys->nr; k++)
		fprintf(f, "%-*.*s  ", widths[k], widths[k], row->label[k]);
	fputs(row->label[k], f);
	if (fclose(f))
		return false;
	if (children)
		snprintf(all, sizeof(all), "%6.2f%%  ", percent(row->all_weight, weight));
	ok = add_line(v, row->key.function ? &function : NULL,
		      print("%s%6.2f%%  %12s  %s", all, percent(row->weight, weight),
			    thousands(samples, children ? row->all_samples : row->samples),
			    labels));
	free(labels);
	return ok;
}

/* A name of any length must not widen all lines. */
#define MAX_WIDTH	100

static int wider(int width, const char *label)
{
	const int length = (int)strnlen(label, MAX_WIDTH);

	return length > width ? length : width;
}

int view_list(struct view *v, const struct profile *p, unsigned int event, bool children,
	      const struct reporting *o, struct error *e)
{
	const char *sort = o->sort ? o->sort : "symbol";
	const uint64_t weight = p->events[event].weight;
	int widths[NR_KEYS] = { 0 }, err;
	struct report_keys keys;
	struct hash_table t;
	unsigned int k;
	uint32_t i;
	bool ok;

	*v = (struct view){ .title = list_title(p, event) };
	if (report_parse_keys(&keys, sort, e))
		return -1;
	err = rows_make(p, &t, &keys, event, children, e);
	for (i = 1; !err && i < t.nr; i++)
		for (k = 0; k < keys.nr; k++)
			widths[k] = wider(widths[k], row_of(&t, i)->label[k]);
	ok = v->title && (err || add_line(v, NULL, print("%s   self       samples",
							 children ? "    all  " : "")));
	for (i = 1; !err && ok && i < t.nr; i++)
		if (percent(row_of(&t, i)->all_weight, weight) >= o->percent_limit)
			ok = add_row(v, row_of(&t, i), &keys, widths, weight, children);
	rows_free(&t);
	return err ? err : ok ? 0 : fail_memory(e);
}

/* ---- a function ---------------------------------------------------------------------------- */

static bool is_function(const struct profile_frame *frame, const struct viewed *function)
{
	return frame->function == function->name && frame->file == function->file;
}

static bool count_neighbour(struct hash_table *t, const struct profile_frame *frame,
			    uint64_t weight)
{
	const struct viewed key = { frame->file, frame->function };
	uint32_t i = hash_table_add(t, &key);

	if (i)
		((struct neighbour *)t->items)[i].weight += weight;
	return i;
}

/* Where the function is in a path more than once, its innermost place counts. */
static bool count_path(const struct profile *p, const struct profile_group *group,
		       const struct viewed *function, uint32_t *frames, struct hash_table *callers,
		       struct hash_table *callees, struct shares *shares)
{
	unsigned int i, nr = profile_path(p, group->stack, frames);

	for (i = 0; i < nr && !is_function(frame_of(p, frames[i]), function); i++)
		;
	if (i == nr)
		return true;
	shares->all += group->weight;
	if (!i)
		shares->self += group->weight;
	return (i + 1 == nr || count_neighbour(callers, frame_of(p, frames[i + 1]), group->weight)) &&
	       (!i || count_neighbour(callees, frame_of(p, frames[i - 1]), group->weight));
}

static int compare_neighbours(const void *a, const void *b)
{
	const struct neighbour *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return x->function.name < y->function.name ? -1 : x->function.name > y->function.name;
}

static char *name_function(const struct profile *p, const struct viewed *function)
{
	char file[300];

	profile_file_label(p, function->file, file, sizeof(file));
	return print("%s%s%s", function->name ? string_of(p, function->name) : "",
		     function->name ? " " : "", file);
}

static bool add_neighbours(struct view *v, const struct profile *p, struct hash_table *t,
			   const char *title, uint64_t weight)
{
	struct neighbour *items = t->items;
	bool ok = t->nr < 2 || (add_line(v, NULL, strdup("")) && add_line(v, NULL, strdup(title)));
	uint32_t i;
	char *name;

	if (t->nr > 1)
		qsort(items + 1, t->nr - 1, sizeof(*items), compare_neighbours);
	for (i = 1; ok && i < t->nr; i++) {
		name = name_function(p, &items[i].function);
		ok = name && add_line(v, items[i].function.name ? &items[i].function : NULL,
				      print("%6.2f%%  %s", percent(items[i].weight, weight), name));
		free(name);
	}
	return ok;
}

/* Add each line of the text. */
static bool add_text(struct view *v, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")))
		if ((*line || text) && !add_line(v, NULL, strdup(line)))
			return false;
	return true;
}

/* Add the function's source lines and instructions, or the reason why there are none. */
static bool add_annotation(struct view *v, struct profile *p, const struct viewed *function,
			   const struct reporting *o)
{
	struct reporting annotate = *o;
	struct error why = { .text = "" };
	char *asked, *text = NULL;
	size_t size;
	FILE *f;
	bool ok;

	asked = print("%s@%s", string_of(p, function->name), string_of(p, file_of(p, function->file)->path));
	f = open_memstream(&text, &size);
	if (!asked || !f) {
		free(asked);
		return false;
	}
	annotate.annotate = asked;
	if (function->file == FILE_KERNEL)
		fputs("\n The kernel's instructions are in no file.\n", f);
	else if (annotate_text(f, p, &annotate, &why))
		fprintf(f, "\n %s\n", why.text);
	free(asked);
	ok = !fclose(f) && add_text(v, text);
	free(text);
	return ok;
}

int view_function(struct view *v, struct profile *p, unsigned int event,
		  const struct viewed *function, const struct reporting *o, struct error *e)
{
	const size_t size = sizeof(struct neighbour), key = offsetof(struct neighbour, weight);
	struct hash_table callers = { .size = size, .key = key }, callees = callers, groups = { 0 };
	uint32_t *frames = malloc(MAX_PATH * sizeof(*frames)), i;
	const uint64_t weight = p->events[event].weight;
	struct shares shares = { 0 };
	int err = frames ? profile_group(p, &groups, false, e) : -1;
	char *name = name_function(p, function);
	bool ok = name && frames;

	*v = (struct view){ NULL };
	for (i = 1; !err && ok && i < groups.nr; i++) {
		const struct profile_group *group = (struct profile_group *)groups.items + i;

		if (group->event == event)
			ok = count_path(p, group, function, frames, &callers, &callees, &shares);
	}
	if (!err && ok) {
		v->title = print("%s: %.2f%% self, %.2f%% with what it called, of %s", name,
				 percent(shares.self, weight), percent(shares.all, weight),
				 p->events[event].name);
		ok = v->title && add_neighbours(v, p, &callers, "Callers:", weight) &&
		     add_neighbours(v, p, &callees, "Callees:", weight) &&
		     add_annotation(v, p, function, o);
	}
	free(name);
	free(frames);
	hash_table_free(&groups);
	hash_table_free(&callers);
	hash_table_free(&callees);
	return err && frames ? err : ok ? 0 : fail_memory(e);
}
