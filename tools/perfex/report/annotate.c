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

/* True if the file is the library that is asked for: "libx.so", "[libx.so]" or the whole path. */
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

/*
 * Find whether a location is of the function that is asked for.  Return: 1: the function itself;
 * 2: it is inlined there; 0: neither
 */
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

struct known_function {
	uint64_t offset;	/* of its code */
	uint32_t file, name;
	/* after the key */
	size_t i;		/* of annotation.functions */
};

static struct annotated_function *add_function(struct annotation *a, struct hash_table *known,
					       const struct annotated_function *new)
{
	const struct known_function key = {
		.offset = new->code.offset, .file = new->file, .name = new->name,
	};
	struct annotated_function *functions;
	uint32_t nr = known->nr, number;

	if (!known->size)
		*known = (struct hash_table){
			.size = sizeof(key), .key = offsetof(struct known_function, i),
		};
	number = hash_table_add(known, &key);
	if (!number)
		return NULL;
	if (known->nr == nr)
		return &a->functions[((struct known_function *)known->items)[number].i];
	((struct known_function *)known->items)[number].i = a->nr;
	functions = a->nr < MAX_FUNCTIONS ? reallocarray(a->functions, a->nr + 1, sizeof(*functions)) :
					    NULL;
	if (!functions)
		return NULL;
	a->functions = functions;
	functions[a->nr] = *new;
	return &functions[a->nr++];
}

static int add_location(struct annotation *a, struct hash_table *known, const struct profile *p,
			const struct wanted *w, uint32_t number, struct error *e)
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
	function = add_function(a, known, &new);
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
	struct hash_table known = { NULL };
	uint32_t i;
	int err = 0;

	for (i = 1; !err && i < p->locations.nr; i++)
		if (sampled[i])
			err = add_location(a, &known, p, w, i, e);
	hash_table_free(&known);
	return err;
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

static bool is_inside(const struct annotated_function *f, const struct profile *p,
		      uint32_t location)
{
	const struct profile_location *l = location_of(p, location);

	return l->file == f->file && l->offset >= f->code.offset &&
	       l->offset - f->code.offset < f->code.size &&
	       outermost_frame(p, location)->function == f->name;
}

/* ---- samples, by their place --------------------------------------------------------------------- */

/* A location that has samples, and those of the event that is asked for. */
struct sampled_place {
	uint32_t location;
	uint64_t samples, weight;
};

/* Those of a function are together, in the order of their offsets. */
static int compare_places(const void *a, const void *b, void *arg)
{
	const struct sampled_place *x = a, *y = b;
	const struct profile_location *left = location_of(arg, x->location);
	const struct profile_location *right = location_of(arg, y->location);
	const uint32_t name = outermost_frame(arg, x->location)->function;
	const uint32_t other = outermost_frame(arg, y->location)->function;

	if (left->file != right->file)
		return left->file < right->file ? -1 : 1;
	if (name != other)
		return name < other ? -1 : 1;
	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Sum up all samples once, and not for each function.  The caller frees the places. */
static struct sampled_place *find_places(struct profile *p, unsigned int event, size_t *nr)
{
	struct sampled_place *places = calloc(p->locations.nr + 1, sizeof(*places));
	size_t i;

	*nr = 0;
	for (i = 0; places && i < p->nrsamples; i++) {
		struct sampled_place *place = &places[location_of_sample(p, i)];

		place->location = location_of_sample(p, i);
		if (p->samples[i].event != event)
			continue;
		place->samples += p->samples[i].nr;
		place->weight += p->samples[i].weight;
	}
	for (i = 1; places && i < p->locations.nr; i++)
		if (places[i].location)
			places[(*nr)++] = places[i];
	if (places)
		qsort_r(places, *nr, sizeof(*places), compare_places, p);
	return places;
}

/* Return: the first place that is in the function, or may be the first behind it */
static size_t first_place(const struct annotated_function *f, const struct profile *p,
			  const struct sampled_place *places, size_t nr)
{
	size_t low = 0, high = nr, middle;

	while (low < high) {
		const struct profile_location *l;
		uint32_t name;

		middle = low + (high - low) / 2;
		l = location_of(p, places[middle].location);
		name = outermost_frame(p, places[middle].location)->function;
		if (l->file != f->file ? l->file < f->file :
		    name != f->name ? name < f->name : l->offset < f->code.offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Find the offsets of all samples in the function, sorted.  The caller frees them. */
static uint64_t *find_offsets(const struct annotated_function *f, const struct profile *p,
			      const struct sampled_place *places, size_t nrplaces, size_t *nr)
{
	const size_t first = first_place(f, p, places, nrplaces);
	uint64_t *offsets;
	size_t i, last;

	for (last = first; last < nrplaces && is_inside(f, p, places[last].location); last++)
		;
	*nr = last - first;
	offsets = calloc(*nr + 1, sizeof(*offsets));
	for (i = 0; offsets && i < *nr; i++)
		offsets[i] = location_of(p, places[first + i].location)->offset;
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
			  const struct sampled_place *places, size_t nr)
{
	size_t i;

	for (i = first_place(f, p, places, nr); i < nr && is_inside(f, p, places[i].location); i++) {
		struct annotated_instruction *one;

		if (!is_in_part(f, p, places[i].location))
			continue;
		one = find_instruction(f, location_of(p, places[i].location)->offset);
		if (!one)
			continue;
		one->samples += places[i].samples;
		one->weight += places[i].weight;
		f->samples += places[i].samples;
		f->weight += places[i].weight;
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
	size_t i, nr, nrplaces;
	struct sampled_place *places = find_places(p, event, &nrplaces);
	bool ok = places;

	for (i = 0; ok && i < a->nr; i++) {
		struct annotated_function *f = &a->functions[i];

		free_results(f);
		offsets = find_offsets(f, p, places, nrplaces, &nr);
		ok = offsets && list_instructions(f, p, offsets, nr, &left) && name_instructions(f, p);
		free(offsets);
		if (!ok)
			break;
		count_samples(f, p, places, nrplaces);
		ok = list_lines(f, p);
	}
	free(places);
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
