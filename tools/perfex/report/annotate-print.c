// SPDX-License-Identifier: GPL-2.0
/* Print the samples of a function's lines and instructions, as text and JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "annotate.h"
#include "disassemble.h"
#include "hash-table.h"
#include "json.h"

/* Instructions without samples that are shown before and after one with samples, without -v. */
#define AROUND	8

/* A program names any number of files.  To open one takes a while, also if it is not there. */
#define MAX_OPENED	4096

/* A source file that was read. */
struct known_source {
	uint32_t name;		/* a string */
	uid_t owner;		/* of the program */
	/* after the key */
	bool read;
	struct source_file file;
};

#define WHY_SIZE	100

struct sources {
	struct hash_table known;
	int64_t left;		/* for source_read() */
};

/* Return: the file, without lines if it cannot be read; NULL: no memory */
static const struct source_file *find_source(struct sources *s, const struct profile *p,
					     uint32_t program, uint32_t name)
{
	const struct known_source key = { .name = name, .owner = module_owner(p->modules[program]) };
	struct known_source *source;
	uint32_t i;

	if (!s->known.size)
		s->known = (struct hash_table){
			.size = sizeof(key), .key = offsetof(struct known_source, read),
		};
	i = hash_table_add(&s->known, &key);
	if (!i)
		return NULL;
	source = (struct known_source *)s->known.items + i;
	if (source->read)
		return &source->file;
	source->read = true;
	if (i > MAX_OPENED)
		source->file.too_large = true;
	else
		source_read(&source->file, string_of(p, name), key.owner, &s->left);
	return &source->file;
}

static const char *find_text(struct sources *s, const struct profile *p, uint32_t program,
			     const struct annotated_line *line)
{
	const struct source_file *file = line->source ? find_source(s, p, program, line->source) : NULL;

	return file ? source_line(file, line->line) : NULL;
}

/* Return: why the source is not shown; NULL: it is, or cannot be read */
static const char *why_left_out(const struct source_file *source, const struct profile *p,
				uint32_t program, char *buf, size_t size)
{
	if (source->too_large)
		return "it, or all sources together, are too large";
	if (!source->refused)
		return NULL;
	snprintf(buf, size, "user %u, to whom the program belongs, may not read it",
		 (unsigned int)module_owner(p->modules[program]));
	return buf;
}

static void free_sources(struct sources *s)
{
	struct known_source *known = s->known.items;
	uint32_t i;

	for (i = 1; i < s->known.nr; i++)
		source_free(&known[i].file);
	hash_table_free(&s->known);
}

/* ---- text ------------------------------------------------------------------------------ */

static double percent(uint64_t part, uint64_t all)
{
	return 100 * (double)part / (double)(all ? all : 1);
}

/* No numbers where there are no samples: the others are seen at once. */
static void print_share(FILE *f, uint64_t weight, uint64_t samples, uint64_t all)
{
	char buf[THOUSANDS_LEN];

	if (samples)
		fprintf(f, "%7.2f%%  %12s  ", percent(weight, all), thousands(buf, samples));
	else
		fprintf(f, "%24s", "");
}

/* Say if the source was changed after the program was made. */
static void print_newer(FILE *f, const struct profile *p, const struct source_file *source,
			uint32_t name, uint32_t program)
{
	const char *path = string_of(p, file_of(p, program)->path);
	struct stat st;

	if (source->nr && *path == '/' && !stat(path, &st) && source->modified > st.st_mtime)
		fprintf(f, " %s is newer than the program: its lines may be others.\n",
			string_of(p, name));
}

static void print_lines(FILE *f, const struct profile *p, const struct annotated_function *fn,
			struct sources *sources)
{
	const struct source_file *source;
	char buf[WHY_SIZE];
	const char *why;
	uint32_t last = 0;
	size_t i;

	fputs("\n Lines:\n\n", f);
	for (i = 0; i < fn->nrlines; i++) {
		const struct annotated_line *line = &fn->lines[i];
		const char *text = find_text(sources, p, fn->file, line);

		if (line->source && line->source != last) {
			last = line->source;
			fprintf(f, "%24s%s\n", "", string_of(p, last));
		}
		print_share(f, line->weight, line->samples, fn->weight);
		if (line->source)
			fprintf(f, "%6u", line->line);
		else
			fputs("  line not known", f);
		if (line->inlined)
			fprintf(f, "  [%s]", string_of(p, line->inlined));
		fprintf(f, "%s%s\n", text ? "  " : "", text ? text : "");
	}
	for (i = 0; i < fn->nrlines; i++) {
		source = fn->lines[i].source ? find_source(sources, p, fn->file, fn->lines[i].source) : NULL;
		if (!source || (i && fn->lines[i].source == fn->lines[i - 1].source))
			continue;
		why = why_left_out(source, p, fn->file, buf, sizeof(buf));
		if (why)
			fprintf(f, " %s is not shown: %s.\n", string_of(p, fn->lines[i].source), why);
		print_newer(f, p, source, fn->lines[i].source, fn->file);
	}
}

static bool is_same_line(const struct annotated_line *a, const struct annotated_line *b)
{
	return a->source == b->source && a->line == b->line && a->inlined == b->inlined;
}

/* "hot.c:19 [inlined]  text" above the instructions of a line. */
static void print_line_above(FILE *f, const struct profile *p, uint32_t program,
			     const struct annotated_line *line, struct sources *sources)
{
	const char *text = find_text(sources, p, program, line), *path, *slash;

	if (!line->source)
		return;
	path = string_of(p, line->source);
	slash = strrchr(path, '/');
	fprintf(f, "%24s%s:%u", "", slash ? slash + 1 : path, line->line);
	if (line->inlined)
		fprintf(f, "  [%s]", string_of(p, line->inlined));
	fprintf(f, "%s%s\n", text ? "  " : "", text ? text : "");
}

/* Mark the instructions to show: those with samples, and those around them. */
static bool *find_shown(const struct annotated_function *fn, bool all)
{
	bool *shown = calloc(fn->nrinstructions + 1, sizeof(*shown));
	size_t i, j;

	for (i = 0; shown && i < fn->nrinstructions; i++) {
		if (!all && !fn->instructions[i].samples)
			continue;
		for (j = i < AROUND ? 0 : i - AROUND; j <= i + AROUND && j < fn->nrinstructions; j++)
			shown[j] = true;
	}
	return shown;
}

static bool print_instructions(FILE *f, const struct profile *p,
			       const struct annotated_function *fn, struct sources *sources,
			       const struct reporting *o)
{
	bool *shown = find_shown(fn, o->show.verbose);
	struct annotated_line line, last = { .line = UINT32_MAX };
	size_t i, left_out = 0;

	if (!shown)
		return false;
	fputs("\n Instructions:\n\n", f);
	for (i = 0; i < fn->nrinstructions; i++) {
		const struct annotated_instruction *one = &fn->instructions[i];

		if (!shown[i]) {
			if (!i || shown[i - 1])
				fprintf(f, "%24s...\n", "");
			last.line = UINT32_MAX;
			left_out++;
			continue;
		}
		line = annotated_line_of(p, one->location);
		if (!is_same_line(&line, &last))
			print_line_above(f, p, fn->file, &line, sources);
		last = line;
		print_share(f, one->weight, one->samples, fn->weight);
		fprintf(f, "%12" PRIx64 "%s%s\n", annotated_address(fn, one), one->text ? "  " : "",
			one->text ? one->text : "");
	}
	free(shown);
	if (left_out)
		fprintf(f, "\n %zu instruction%s without samples %s shown with -v.\n", left_out,
			plural(left_out), left_out == 1 ? "is" : "are");
	return true;
}

static void print_why_not_disassembled(FILE *f, const struct annotated_function *fn)
{
	if (!disassembler_built())
		fputs("\n This perfex disassembles nothing, as it was built without capstone (Debian: libcapstone-dev, Fedora: capstone-devel).\n",
		      f);
	else if (!disassembler_loads())
		fprintf(f, "\n perfex disassembles nothing, as %s is not installed (Debian: libcapstone4 or libcapstone5, Fedora: capstone).\n",
			disassembler_library);
	else if (!fn->code.bytes)
		fputs("\n The function's instructions are in no file.\n", f);
	else
		fputs("\n perfex cannot disassemble the instructions of this processor.\n", f);
}

static bool print_function(FILE *f, const struct profile *p, const struct profile_event *event,
			   const struct annotated_function *fn, struct sources *sources,
			   const struct reporting *o)
{
	char file[300], buf[THOUSANDS_LEN];

	profile_file_label(p, fn->file, file, sizeof(file));
	fputs("\n ", f);
	if (fn->part)
		fprintf(f, "%s, inlined into ", string_of(p, fn->part));
	fprintf(f, "%s %s", string_of(p, fn->name), file);
	fprintf(f, ", %s: %s sample%s, %.2f%% of all\n", event->name, thousands(buf, fn->samples),
		plural(fn->samples), percent(fn->weight, event->weight));
	print_lines(f, p, fn, sources);
	if (!fn->disassembled)
		print_why_not_disassembled(f, fn);
	else if (fn->cut)
		fprintf(f, "\n Not all of its instructions are disassembled: only %u KB of all functions are.\n",
			MAX_CODE >> 10);
	return print_instructions(f, p, fn, sources, o);
}

/*
 * Find and name all that is going to be printed.  The libraries' work is done then, and the file
 * for which it is too much can still be left out.
 */
static int prepare(struct annotation *a, struct profile *p, const struct reporting *o,
		   struct error *e)
{
	int err = annotation_find(a, p, o->annotate, e);
	unsigned int event;

	for (event = 0; !err && event < p->nrevents; event++)
		err = annotation_count(a, p, event, e);
	work_prints();
	return err;
}

int annotate_text(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	struct sources sources = { .left = MAX_SOURCES };
	struct annotation a;
	unsigned int event;
	size_t i;
	int err = prepare(&a, p, o, e);

	if (!err)
		report_cut_off(p->complete, p->name, o);
	for (event = 0; !err && event < p->nrevents; event++) {
		err = annotation_count(&a, p, event, e);
		for (i = 0; !err && i < a.nr && a.functions[i].samples; i++)
			if (!print_function(f, p, &p->events[event], &a.functions[i], &sources, o))
				err = fail_memory(e);
	}
	if (!err)
		fputc('\n', f);
	free_sources(&sources);
	annotation_free(&a);
	return err;
}

/* ---- JSON ------------------------------------------------------------------------------- */

static void print_string(FILE *f, const char *name, const char *text)
{
	fprintf(f, "\"%s\":", name);
	if (text)
		json_string(f, text);
	else
		fputs("null", f);
}

static void print_counts(FILE *f, uint64_t samples, uint64_t weight, uint64_t all)
{
	fprintf(f, "\"samples\":%" PRIu64 ",\"weight\":%" PRIu64 ",\"share\":%.6f", samples, weight,
		(double)weight / (double)(all ? all : 1));
}

static void print_place(FILE *f, const struct profile *p, const struct annotated_line *line)
{
	print_string(f, "source", line->source ? string_of(p, line->source) : NULL);
	fprintf(f, ",\"line\":%u,", line->line);
	print_string(f, "inlined", line->inlined ? string_of(p, line->inlined) : NULL);
}

/* Say which sources are left out, and why: a reader of JSON would take them for missing. */
static void print_left_out(FILE *f, const struct profile *p, const struct annotated_function *fn,
			   struct sources *sources)
{
	const struct source_file *source;
	char buf[WHY_SIZE];
	const char *why;
	bool any = false;
	size_t i;

	fputs("\"left_out\":[", f);
	for (i = 0; i < fn->nrlines; i++) {
		if (!fn->lines[i].source || (i && fn->lines[i].source == fn->lines[i - 1].source))
			continue;
		source = find_source(sources, p, fn->file, fn->lines[i].source);
		why = source ? why_left_out(source, p, fn->file, buf, sizeof(buf)) : NULL;
		if (!why)
			continue;
		fputs(any ? ",{" : "{", f);
		print_string(f, "source", string_of(p, fn->lines[i].source));
		fputc(',', f);
		print_string(f, "why", why);
		fputc('}', f);
		any = true;
	}
	fputs("]", f);
}

static void print_json_function(FILE *f, const struct profile *p,
				const struct annotated_function *fn, struct sources *sources,
				uint64_t all)
{
	struct annotated_line line;
	char path[4096];
	size_t i;

	snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, fn->file)->path));
	replace_controls(path);
	fputc('{', f);
	print_string(f, "symbol", string_of(p, fn->name));
	fputc(',', f);
	print_string(f, "inlined", fn->part ? string_of(p, fn->part) : NULL);
	fputc(',', f);
	print_string(f, "dso", path);
	fprintf(f, ",\"address\":%" PRIu64 ",\"size\":%" PRIu64 ",\"disassembled\":%s,",
		fn->code.start, fn->code.size, fn->disassembled && !fn->cut ? "true" : "false");
	print_counts(f, fn->samples, fn->weight, all);
	fputs(",\n  \"lines\":[", f);
	for (i = 0; i < fn->nrlines; i++) {
		fputs(i ? ",\n   {" : "\n   {", f);
		print_place(f, p, &fn->lines[i]);
		fputc(',', f);
		print_string(f, "text", find_text(sources, p, fn->file, &fn->lines[i]));
		fputc(',', f);
		print_counts(f, fn->lines[i].samples, fn->lines[i].weight, fn->weight);
		fputc('}', f);
	}
	fputs("],\n  \"instructions\":[", f);
	for (i = 0; i < fn->nrinstructions; i++) {
		const struct annotated_instruction *one = &fn->instructions[i];

		line = annotated_line_of(p, one->location);
		fprintf(f, "%s\n   {\"address\":%" PRIu64 ",", i ? "," : "",
			annotated_address(fn, one));
		print_string(f, "text", one->text);
		fputc(',', f);
		print_place(f, p, &line);
		fputc(',', f);
		print_counts(f, one->samples, one->weight, fn->weight);
		fputc('}', f);
	}
	fputs("],\n  ", f);
	print_left_out(f, p, fn, sources);
	fputc('}', f);
}

int annotate_json(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	struct sources sources = { .left = MAX_SOURCES };
	struct annotation a;
	unsigned int event;
	size_t i;
	int err = prepare(&a, p, o, e);

	if (!err) {
		fputs("{\"command\":", f);
		json_string(f, p->command ? p->command : "?");
		fprintf(f, ",\"complete\":%s,", p->complete ? "true" : "false");
		print_string(f, "annotate", o->annotate);
		fputs(",\"events\":[", f);
	}
	for (event = 0; !err && event < p->nrevents; event++) {
		fprintf(f, "%s\n {", event ? "," : "");
		print_string(f, "event", p->events[event].name);
		fprintf(f, ",\"period\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64 ",\"functions\":[",
			p->events[event].period, p->events[event].samples, p->events[event].weight);
		err = annotation_count(&a, p, event, e);
		for (i = 0; !err && i < a.nr && a.functions[i].samples; i++) {
			fputs(i ? ",\n  " : "\n  ", f);
			print_json_function(f, p, &a.functions[i], &sources,
					    p->events[event].weight);
		}
		fputs("]}", f);
	}
	if (!err)
		fputs("]}\n", f);
	free_sources(&sources);
	annotation_free(&a);
	return err;
}
