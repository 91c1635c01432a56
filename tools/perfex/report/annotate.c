// SPDX-License-Identifier: GPL-2.0
/* Find the code of a function, and the samples of its lines and instructions. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "annotate.h"
#include "disassemble.h"

/* A name of more functions is an attacker's, or a file is damaged. */
#define MAX_FUNCTIONS	4096

static uint32_t location_of_sample(const struct profile *p, size_t i)
{
	return stack_of(p, p->samples[i].stack)->location;
}

static const struct profile_frame *frame_at(const struct profile *p, uint32_t location,
					    uint32_t i)
{
	return frame_of(p, p->frame_list[location_of(p, location)->frame + i]);
}

/* The function that has the code: others are inlined into it. */
static const struct profile_frame *outermost_frame(const struct profile *p, uint32_t location)
{
	return frame_at(p, location, location_of(p, location)->nrframes - 1);
}

/* ---- the functions that are asked for ------------------------------------------------------- */

enum match {
	MATCH_NAME,		/* the name as reports show it */
	MATCH_BASE,		/* without parameters */
};

struct wanted {
	char *name;
	const char *library;	/* NULL: any */
	enum match match;
};

static bool matches_name(const struct profile *p, const struct wanted *w, uint32_t string)
{
	const char *name = string_of(p, string);
	size_t len = strlen(w->name);

	if (!string || strncmp(name, w->name, len))
		return false;
	return !name[len] || (w->match == MATCH_BASE && len && name[len] == '(');
}

/* "libx.so", "[libx.so]" or the whole path. */
static bool matches_library(const struct profile *p, const struct wanted *w, uint32_t file)
{
	char label[300];
	size_t len;

	if (!w->library)
		return true;
	profile_file_label(p, file, label, sizeof(label));
	len = strlen(label);
	return !strcmp(label, w->library) ||
	       !strcmp(string_of(p, file_of(p, file)->path), w->library) ||
	       (len > 2 && strlen(w->library) == len - 2 &&
		!strncmp(label + 1, w->library, len - 2));
}

/* Return: 1: the function itself; 2: it is inlined there; 0: neither */
static int match_location(const struct profile *p, const struct wanted *w, uint32_t location)
{
	uint32_t i, nr = location_of(p, location)->nrframes;

	if (!matches_library(p, w, location_of(p, location)->file))
		return 0;
	if (matches_name(p, w, outermost_frame(p, location)->function))
		return 1;
	for (i = 0; i + 1 < nr; i++)
		if (matches_name(p, w, frame_at(p, location, i)->function))
			return 2;
	return 0;
}

/* Return: the name in the location that matches. */
static uint32_t matching_name(const struct profile *p, const struct wanted *w, uint32_t location)
{
	uint32_t i, nr = location_of(p, location)->nrframes;

	for (i = 0; i < nr; i++)
		if (matches_name(p, w, frame_at(p, location, i)->function))
			return frame_at(p, location, i)->function;
	return 0;
}

static struct annotated_function *add_function(struct annotation *a,
					       const struct annotated_function *new)
{
	struct annotated_function *functions;
	size_t i;

	for (i = 0; i < a->nr; i++)
		if (a->functions[i].file == new->file &&
		    a->functions[i].code.offset == new->code.offset &&
		    a->functions[i].name == new->name)
			return &a->functions[i];
	functions = a->nr < MAX_FUNCTIONS ? reallocarray(a->functions, a->nr + 1, sizeof(*functions)) :
					    NULL;
	if (!functions)
		return NULL;
	a->functions = functions;
	functions[a->nr] = *new;
	return &functions[a->nr++];
}

static int add_location(struct annotation *a, const struct profile *p, const struct wanted *w,
			uint32_t number, struct error *e)
{
	const struct profile_location *location = location_of(p, number);
	struct module *module = p->modules[location->file];
	struct annotated_function new = {
		.file = location->file, .name = outermost_frame(p, number)->function,
	}, *function;
	int match = match_location(p, w, number);

	if (!match)
		return 0;
	if (match == 2)
		new.part = matching_name(p, w, number);
	if (!module || !module_function(module, location->offset, &new.code))
		new.code = (struct code){ .start = location->address, .offset = location->offset,
					  .size = 1 };
	function = add_function(a, &new);
	if (!function && a->nr == MAX_FUNCTIONS)
		return fail_with(e, "more than %d functions have this name", MAX_FUNCTIONS);
	if (!function)
		return fail_memory(e);
	/* All of it, if it has the name itself. */
	if (match == 1)
		function->part = 0;
	return 0;
}

/* True for each location that has a sample. */
static bool *find_sampled(const struct profile *p)
{
	bool *sampled = calloc(p->locations.nr + 1, sizeof(*sampled));
	size_t i;

	for (i = 0; sampled && i < p->nrsamples; i++)
		sampled[location_of_sample(p, i)] = true;
	return sampled;
}

static int find_functions(struct annotation *a, const struct profile *p, const struct wanted *w,
			  const bool *sampled, struct error *e)
{
	uint32_t i;

	for (i = 1; i < p->locations.nr; i++)
		if (sampled[i] && add_location(a, p, w, i, e))
			return -1;
	return 0;
}

/* True if two functions are in different libraries.  A JIT's code is in none: -p chooses it. */
static bool is_other_library(const struct profile *p, uint32_t a, uint32_t b)
{
	return a != b && !(file_of(p, a)->pid && file_of(p, b)->pid);
}

static int check_libraries(const struct annotation *a, const struct profile *p,
			   const struct wanted *w, struct error *e)
{
	char list[900] = "", path[4096];
	size_t i, j, len = 0;

	for (i = 1; i < a->nr && !is_other_library(p, a->functions[0].file, a->functions[i].file);
	     i++)
		;
	if (i >= a->nr)
		return 0;
	for (i = 0; i < a->nr; i++) {
		for (j = 0; j < i; j++)
			if (!is_other_library(p, a->functions[i].file, a->functions[j].file))
				break;
		if (j < i || len + 200 > sizeof(list))
			continue;
		snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, a->functions[i].file)->path));
		replace_controls(path);
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%.40s@%.150s",
					i ? ", " : "", w->name, path);
		if (len >= sizeof(list))
			len = sizeof(list) - 1;
	}
	return fail_with(e, "several files have such a function; --annotate takes one of: %s", list);
}

/* A name can have an @, as "memcpy@GLIBC_2.2.5". */
static int find_wanted(struct annotation *a, const struct profile *p, struct wanted *w,
		       const bool *sampled, struct error *e)
{
	char *at = strrchr(w->name, '@');
	int way, err = 0;

	for (way = 0; !err && !a->nr && way < 4; way++) {
		if (way == 2) {
			if (!at)
				break;
			*at = '\0';
			w->library = at + 1;
		}
		w->match = way % 2 ? MATCH_BASE : MATCH_NAME;
		err = find_functions(a, p, w, sampled, e);
	}
	return err;
}

int annotation_find(struct annotation *a, struct profile *p, const char *asked, struct error *e)
{
	struct wanted w = { .name = strdup(asked) };
	bool *sampled = find_sampled(p);
	int err = w.name && sampled ? 0 : fail_memory(e);

	*a = (struct annotation){ .asked = asked };
	if (!err)
		err = find_wanted(a, p, &w, sampled, e);
	if (!err)
		err = a->nr ? check_libraries(a, p, &w, e) :
			      fail_with(e, "'%.200s' has no samples in a function '%.200s': perfex report shows which functions have some (with -v: all)",
					p->name, asked);
	free(w.name);
	free(sampled);
	return err;
}

/* ---- instructions ---------------------------------------------------------------------------- */

static struct annotated_instruction *add_instruction(struct annotated_function *f,
						     uint64_t offset)
{
	struct annotated_instruction *list;

	/* There is room for a power of two. */
	if (!(f->nrinstructions & (f->nrinstructions - 1))) {
		list = reallocarray(f->instructions, f->nrinstructions ? f->nrinstructions * 2 : 1,
				    sizeof(*list));
		if (!list)
			return NULL;
		f->instructions = list;
	}
	f->instructions[f->nrinstructions] = (struct annotated_instruction){ .offset = offset };
	return &f->instructions[f->nrinstructions++];
}

static void free_results(struct annotated_function *f)
{
	size_t i;

	for (i = 0; i < f->nrinstructions; i++)
		free(f->instructions[i].text);
	free(f->instructions);
	free(f->lines);
	f->instructions = NULL;
	f->lines = NULL;
	f->nrinstructions = f->nrlines = 0;
	f->samples = f->weight = 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_inside(const struct annotated_function *f, const struct profile *p,
		      uint32_t location)
{
	const struct profile_location *l = location_of(p, location);

	return l->file == f->file && l->offset >= f->code.offset &&
	       l->offset - f->code.offset < f->code.size &&
	       outermost_frame(p, location)->function == f->name;
}

/* Find the offsets of all samples in the function, sorted.  The caller frees them. */
static uint64_t *find_offsets(const struct annotated_function *f, const struct profile *p,
			      size_t *nr)
{
	bool *sampled = find_sampled(p);
	uint64_t *offsets = sampled ? calloc(p->locations.nr + 1, sizeof(*offsets)) : NULL;
	uint32_t i;

	*nr = 0;
	for (i = 1; offsets && i < p->locations.nr; i++)
		if (sampled[i] && is_inside(f, p, i))
			offsets[(*nr)++] = location_of(p, i)->offset;
	free(sampled);
	if (offsets)
		qsort(offsets, *nr, sizeof(*offsets), compare_numbers);
	return offsets;
}

/* Add the name of a function that is called. */
static bool add_target(struct profile *p, const struct annotated_function *f, uint64_t target,
		       char *text)
{
	size_t len = strlen(text);
	uint32_t location;

	if (!target || target - f->code.start < f->code.size)
		return true;
	/* The segment has one distance from offsets to addresses. */
	location = profile_named_location(p, f->file, target - f->code.start + f->code.offset);
	if (!location)
		return false;
	if (location_of(p, location)->address == target && outermost_frame(p, location)->function)
		snprintf(text + len, INSTRUCTION_LEN - len, " <%s>",
			 string_of(p, outermost_frame(p, location)->function));
	return true;
}

/* Write the instruction, or the bytes that are none.  Return: its size */
static unsigned int disassemble_at(struct disassembler *d, const struct code *code, uint64_t at,
				   uint64_t most, char *text, uint64_t *target)
{
	unsigned int size = disassemble(d, code->bytes + at, code->size - at, code->start + at, text,
					target), i;
	int len;

	/* A sample is at the beginning of an instruction. */
	if (size && size <= most)
		return size;
	*target = 0;
	size = (code->machine == EM_AARCH64 || code->machine == EM_PPC64) && most >= 4 ? 4 :
	       code->machine == EM_RISCV && most >= 2 ? 2 : 1;
	len = snprintf(text, INSTRUCTION_LEN, ".byte  ");
	for (i = 0; i < size; i++)
		len += snprintf(text + len, INSTRUCTION_LEN - (size_t)len, "%s0x%02x", i ? ", " : " ",
				code->bytes[at + i]);
	return size;
}

/*
 * Disassemble all of the code; without a disassembler, there are the addresses of samples.
 * *left: bytes of code that may still be disassembled
 */
static bool list_instructions(struct annotated_function *f, struct profile *p,
			      const uint64_t *offsets, size_t nr, uint64_t *left)
{
	struct disassembler *d = f->code.bytes ? disassembler_open(f->code.machine) : NULL;
	uint64_t at = 0, most, target, end = f->code.size < *left ? f->code.size : *left;
	struct annotated_instruction *i;
	char text[INSTRUCTION_LEN];
	size_t next = 0;
	bool ok = true;

	f->disassembled = d;
	for (; d && ok && at < end; at += most) {
		while (next < nr && offsets[next] - f->code.offset <= at)
			next++;
		most = (next < nr ? offsets[next] - f->code.offset : f->code.size) - at;
		most = disassemble_at(d, &f->code, at, most, text, &target);
		i = add_instruction(f, f->code.offset + at);
		ok = i && add_target(p, f, target, text);
		if (!ok)
			break;
		i->text = strdup(text);
		ok = i->text;
	}
	disassembler_close(d);
	f->cut = d && at < f->code.size;
	*left -= at < *left ? at : *left;
	for (; ok && next < nr; next++)
		if (offsets[next] - f->code.offset >= at || !f->disassembled)
			ok = add_instruction(f, offsets[next]);
	return ok;
}

/* Return: the instruction that has the offset. */
static struct annotated_instruction *find_instruction(const struct annotated_function *f,
						      uint64_t offset)
{
	size_t low = 0, high = f->nrinstructions, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (f->instructions[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &f->instructions[low - 1] : NULL;
}

/* True if the location is in the part that was asked for. */
static bool is_in_part(const struct annotated_function *f, const struct profile *p,
		       uint32_t location)
{
	uint32_t i;

	for (i = 0; f->part && i < location_of(p, location)->nrframes; i++)
		if (frame_at(p, location, i)->function == f->part)
			return true;
	return !f->part;
}

/* Name the places of the instructions, and forget those outside of the part. */
static bool name_instructions(struct annotated_function *f, struct profile *p)
{
	const uint32_t from = p->locations.nr;
	size_t i, nr = 0;

	for (i = 0; i < f->nrinstructions; i++) {
		f->instructions[i].location = profile_location(p, f->file, f->instructions[i].offset);
		if (!f->instructions[i].location)
			return false;
	}
	/* All at once: to begin and end the work on a file takes longer than to find a place. */
	if (!profile_name_locations(p, from))
		return false;
	for (i = 0; i < f->nrinstructions; i++) {
		struct annotated_instruction *one = &f->instructions[i];

		if (is_in_part(f, p, one->location)) {
			f->instructions[nr++] = *one;
		} else {
			free(one->text);
			one->text = NULL;
		}
	}
	/* The texts behind the last instruction that is kept must not be freed again. */
	for (i = nr; i < f->nrinstructions; i++)
		f->instructions[i].text = NULL;
	f->nrinstructions = nr;
	return true;
}

/* ---- lines ------------------------------------------------------------------------------------ */

struct annotated_line annotated_line_of(const struct profile *p, uint32_t location)
{
	const struct profile_frame *frame = frame_at(p, location, 0);

	return (struct annotated_line){
		.source = frame->source, .line = frame->source ? frame->line : 0,
		.inlined = frame->inlined ? frame->function : 0,
	};
}

/* Lines of the same file are together, and what has no line is the last. */
static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct annotated_line *x = a, *y = b;
	const struct profile *p = arg;
	int order;

	if (!x->source != !y->source)
		return x->source ? -1 : 1;
	if (x->source != y->source) {
		order = strcmp(string_of(p, x->source), string_of(p, y->source));
		if (order)
			return order;
	}
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->inlined == y->inlined)
		return 0;
	return x->inlined < y->inlined ? -1 : 1;
}

static bool list_lines(struct annotated_function *f, struct profile *p)
{
	struct hash_table t = {
		.size = sizeof(struct annotated_line),
		.key = offsetof(struct annotated_line, samples),
	};
	size_t i;

	for (i = 0; i < f->nrinstructions; i++) {
		const struct annotated_instruction *one = &f->instructions[i];
		struct annotated_line key = annotated_line_of(p, one->location), *line;
		uint32_t number = hash_table_add(&t, &key);

		if (!number) {
			hash_table_free(&t);
			return false;
		}
		line = (struct annotated_line *)t.items + number;
		line->samples += one->samples;
		line->weight += one->weight;
	}
	f->nrlines = t.nr ? t.nr - 1 : 0;
	f->lines = calloc(f->nrlines + 1, sizeof(*f->lines));
	if (f->lines && f->nrlines) {
		memcpy(f->lines, (struct annotated_line *)t.items + 1, f->nrlines * sizeof(*f->lines));
		qsort_r(f->lines, f->nrlines, sizeof(*f->lines), compare_lines, p);
	}
	hash_table_free(&t);
	return f->lines;
}

/* ---- all --------------------------------------------------------------------------------------- */

static void count_samples(struct annotated_function *f, const struct profile *p,
			  unsigned int event)
{
	size_t i;

	for (i = 0; i < p->nrsamples; i++) {
		uint32_t location = location_of_sample(p, i);
		struct annotated_instruction *one;

		if (p->samples[i].event != event || !is_inside(f, p, location) ||
		    !is_in_part(f, p, location))
			continue;
		one = find_instruction(f, location_of(p, location)->offset);
		if (!one)
			continue;
		one->samples += p->samples[i].nr;
		one->weight += p->samples[i].weight;
		f->samples += p->samples[i].nr;
		f->weight += p->samples[i].weight;
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct annotated_function *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->code.start < y->code.start ? -1 : x->code.start > y->code.start;
}

int annotation_count(struct annotation *a, struct profile *p, unsigned int event,
		     struct error *e)
{
	uint64_t *offsets, left = MAX_CODE;
	size_t i, nr;
	bool ok = true;

	for (i = 0; ok && i < a->nr; i++) {
		struct annotated_function *f = &a->functions[i];

		free_results(f);
		offsets = find_offsets(f, p, &nr);
		ok = offsets && list_instructions(f, p, offsets, nr, &left) && name_instructions(f, p);
		free(offsets);
		if (!ok)
			break;
		count_samples(f, p, event);
		ok = list_lines(f, p);
	}
	if (!ok)
		return fail_memory(e);
	qsort(a->functions, a->nr, sizeof(*a->functions), compare_functions);
	return 0;
}

void annotation_free(struct annotation *a)
{
	size_t i;

	for (i = 0; i < a->nr; i++)
		free_results(&a->functions[i]);
	free(a->functions);
	memset(a, 0, sizeof(*a));
}
