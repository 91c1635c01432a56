// SPDX-License-Identifier: GPL-2.0
/* The parts of a profile, and the names of its locations. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit-dump.h"
#include "jit-symbols.h"
#include "profile.h"
#include "work.h"

int fail_memory(struct error *e)
{
	return fail_with(e, "out of memory");
}

/* The item at 0, which is that of no string, has no text otherwise. */
uint32_t profile_string(struct profile *p, const char *text)
{
	if (!p->strings.size)
		p->strings = (struct hash_table){ .size = sizeof(char *), .text = true };
	return hash_table_add(&p->strings, text);
}

/* A table gets its sizes when its first item is made. */
static uint32_t add_item(struct hash_table *t, size_t size, size_t key_size, const void *key)
{
	if (!t->size)
		*t = (struct hash_table){ .size = size, .key = key_size };
	return hash_table_add(t, key);
}

const char *short_name(const char *text, char *buf, size_t size)
{
	static const char end[] = "...01234567";
	uint32_t hash = 2166136261U;
	size_t len = strlen(text), i;

	if (len < size)
		return text;
	for (i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619;
	len = size - sizeof(end);
	while (len && (text[len] & 0xc0) == 0x80)
		len--;
	snprintf(buf, size, "%.*s...%08" PRIx32, (int)len, text, hash);
	return buf;
}

uint32_t profile_file(struct profile *p, const char *path, uint32_t pid, uint32_t description)
{
	char buf[MAX_PATH_NAME];
	struct profile_file file = {
		.path = profile_string(p, short_name(path, buf, sizeof(buf))), .pid = pid,
		.description = description,
	};

	return file.path ? add_item(&p->files, sizeof(file),
					offsetof(struct profile_file, size), &file) : 0;
}

uint32_t profile_description(struct profile *p, const struct file_description *file)
{
	return add_item(&p->descriptions, sizeof(*file), offsetof(struct file_description, pid), file);
}

uint32_t profile_location(struct profile *p, uint32_t file, uint64_t offset)
{
	struct profile_location location = { .offset = offset, .file = file };

	return add_item(&p->locations, sizeof(location),
			offsetof(struct profile_location, address), &location);
}

uint32_t profile_thread(struct profile *p, uint32_t pid, uint32_t tid, uint32_t comm,
			uint32_t program)
{
	struct profile_thread thread = { .pid = pid, .tid = tid, .comm = comm, .program = program };

	return add_item(&p->threads, sizeof(thread), sizeof(thread), &thread);
}

bool profile_call(struct profile *p, uint32_t *stack, uint32_t location)
{
	struct profile_stack item = { .parent = *stack, .location = location };

	*stack = location ? add_item(&p->stacks, sizeof(item), sizeof(item), &item) : 0;
	return *stack;
}

static uint32_t add_frame(struct profile *p, const struct profile_frame *frame)
{
	return add_item(&p->frames, sizeof(*frame), sizeof(*frame), frame);
}

/* Add a sample to those that are the same but for their times.  Return: false: no memory */
static bool add_same(struct profile *p, const struct profile_sample *sample)
{
	uint32_t i = add_item(&p->same, sizeof(*sample), offsetof(struct profile_sample, nr),
			      sample);
	struct profile_sample *same = (struct profile_sample *)p->same.items + i;

	if (!i)
		return false;
	if (!same->nr)
		same->tsc = sample->tsc;
	same->nr += sample->nr;
	same->weight += sample->weight;
	return true;
}

void profile_end_samples(struct profile *p)
{
	if (p->times || !p->same.nr)
		return;
	/* The first item is none. */
	p->samples = p->same.items;
	p->nrsamples = p->same.nr - 1;
	memmove(p->samples, p->samples + 1, p->nrsamples * sizeof(*p->samples));
	p->same.items = NULL;
	hash_table_free(&p->same);
}

bool profile_add_sample(struct profile *p, const struct profile_sample *sample)
{
	struct profile_event *event = &p->events[sample->event];
	struct profile_sample *samples;
	size_t room;

	event->samples += sample->nr;
	event->weight += sample->weight;
	p->taken += sample->nr;
	if (!p->times)
		return add_same(p, sample);
	if (p->nrsamples == p->room) {
		room = p->room ? p->room * 2 : 1024;
		samples = reallocarray(p->samples, room, sizeof(*samples));
		if (!samples)
			return false;
		p->samples = samples;
		p->room = room;
	}
	p->samples[p->nrsamples++] = *sample;
	return true;
}

void profile_free(struct profile *p)
{
	unsigned int i;

	for (i = 0; p->modules && i < p->files.nr; i++)
		module_close(p->modules[i]);
	free(p->modules);
	for (i = 0; p->reasons && i < p->files.nr; i++)
		free(p->reasons[i]);
	free(p->reasons);
	for (i = 0; p->stripped && i < p->files.nr; i++)
		free(p->stripped[i]);
	free(p->stripped);
	for (i = 1; i < p->missing.nr; i++)
		free(((struct missing_file *)p->missing.items)[i].why);
	hash_table_free(&p->missing);
	hash_table_free(&p->descriptions);
	hash_table_free(&p->processes);
	for (i = 0; i < p->nrevents; i++)
		free(p->events[i].name);
	for (i = 1; i < p->jits.nr; i++)
		jit_symbols_free(((struct profile_jit *)p->jits.items)[i].symbols);
	hash_table_free(&p->jits);
	for (i = 0; i < p->nrdumps; i++) {
		jit_dump_close(p->dumps[i].dump);
		free(p->dumps[i].reason);
	}
	free(p->dumps);
	free(p->clocks);
	free(p->kernel);
	hash_table_free(&p->strings);
	hash_table_free(&p->files);
	hash_table_free(&p->locations);
	hash_table_free(&p->frames);
	hash_table_free(&p->stacks);
	hash_table_free(&p->threads);
	free(p->frame_list);
	free(p->samples);
	hash_table_free(&p->same);
	free(p->command);
	free(p->host.machine);
	free(p->host.release);
	free(p->host.name);
	memset(p, 0, sizeof(*p));
}

/* ---- samples ---------------------------------------------------------------------------- */

int profile_group(const struct profile *p, struct hash_table *t, bool cpus, struct error *e)
{
	struct profile_group *group;
	uint32_t nr;
	size_t i;

	*t = (struct hash_table){
		.size = sizeof(*group), .key = offsetof(struct profile_group, samples),
	};
	for (i = 0; i < p->nrsamples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		struct profile_group key = {
			.event = sample->event, .thread = sample->thread,
			.cpu = cpus ? sample->cpu : 0, .stack = sample->stack,
		};

		nr = hash_table_add(t, &key);
		if (!nr)
			return fail_memory(e);
		group = (struct profile_group *)t->items + nr;
		group->samples += sample->nr;
		group->weight += sample->weight;
	}
	return 0;
}

unsigned int profile_path(const struct profile *p, uint32_t stack, uint32_t *frames)
{
	const struct profile_location *location;
	unsigned int nr = 0;
	uint32_t i;

	for (; stack; stack = stack_of(p, stack)->parent) {
		location = location_of(p, stack_of(p, stack)->location);
		for (i = 0; i < location->nrframes && nr < MAX_PATH; i++)
			frames[nr++] = p->frame_list[location->frame + i];
	}
	return nr;
}

/* True if the report has this thread: of -p and -t, one is enough. */
static bool wants_thread(const struct reporting *o, const struct profile *p,
			 const struct profile_thread *thread)
{
	unsigned int i;

	if (o->comm && !(thread->comm && is_listed(o->comm,
							     string_of(p, thread->comm))))
		return false;
	for (i = 0; i < o->targets.nr; i++) {
		const struct target *target = &o->targets.target[i];

		if ((uint32_t)target->id == (target->process ? thread->pid : thread->tid))
			return true;
	}
	return !o->targets.nr;
}

/* Leave out events that are not wanted: those that remain keep their order. */
static unsigned int filter_events(struct profile *p, const struct reporting *o,
				  unsigned int *number)
{
	unsigned int i, nr = 0;

	for (i = 0; i < p->nrevents; i++) {
		number[i] = MAX_SAMPLED;
		if (!wants_event(&o->events, p->events[i].name)) {
			free(p->events[i].name);
			continue;
		}
		number[i] = nr;
		p->events[nr] = p->events[i];
		p->events[nr].samples = p->events[nr].weight = 0;
		nr++;
	}
	p->nrevents = nr;
	return nr;
}

static const char *event_name(const struct names *names, size_t i)
{
	const struct profile *p = names->arg;

	return i < p->nrevents ? p->events[i].name : NULL;
}

int profile_check_events(const struct profile *p, const struct reporting *o, struct error *e)
{
	const struct names names = { event_name, p };
	char where[256];

	snprintf(where, sizeof(where), "'%.200s' has no samples of", p->name);
	return check_events(&o->events, &names, where, e);
}

int profile_filter(struct profile *p, const struct reporting *o, struct error *e)
{
	unsigned int number[MAX_SAMPLED];
	size_t i, nr = 0;

	if (!filter_events(p, o, number))
		return fail_with(e, "'%s' has no samples of %.200s", p->name, o->events.spec[0]);
	p->taken = 0;
	for (i = 0; i < p->nrsamples; i++) {
		struct profile_sample *sample = &p->samples[i];

		if (number[sample->event] == MAX_SAMPLED ||
		    !wants_thread(o, p, thread_of(p, sample->thread)))
			continue;
		sample->event = number[sample->event];
		p->events[sample->event].samples += sample->nr;
		p->taken += sample->nr;
		p->events[sample->event].weight += sample->weight;
		p->samples[nr++] = *sample;
	}
	p->nrsamples = nr;
	return 0;
}

/* ---- names ----------------------------------------------------------------------------- */

/* A mapping without a file has brackets already, or no name. */
void profile_file_label(const struct profile *p, uint32_t file, char *buf, size_t size)
{
	const char *path, *slash;

	if (file == FILE_UNKNOWN || file == FILE_KERNEL) {
		snprintf(buf, size, file == FILE_KERNEL ? "[kernel]" : "[unknown]");
		return;
	}
	path = string_of(p, file_of(p, file)->path);
	slash = strrchr(path, '/');
	if (path[0] == '[')
		snprintf(buf, size, "%s", path);
	else
		snprintf(buf, size, "[%s]", slash ? slash + 1 : *path ? path : "anonymous");
	replace_controls(buf);
}

/* Names come from files that anyone may have made. */
uint32_t profile_clean_string(struct profile *p, const char *text)
{
	char *copy = text ? strdup(text) : NULL, buf[MAX_NAME];
	uint32_t string = 0;

	if (!copy)
		return 0;
	replace_controls(copy);
	string = profile_string(p, short_name(copy, buf, sizeof(buf)));
	free(copy);
	return string;
}

bool profile_kernel_function(struct profile *p, uint64_t start, uint64_t end, const char *name)
{
	struct kernel_function *kernel;
	uint32_t string = profile_clean_string(p, name);

	if (!string)
		return false;
	/* There is room for a power of two. */
	if (!(p->nrkernel & (p->nrkernel - 1))) {
		kernel = reallocarray(p->kernel, p->nrkernel ? p->nrkernel * 2 : 1, sizeof(*kernel));
		if (!kernel)
			return false;
		p->kernel = kernel;
	}
	p->kernel[p->nrkernel++] = (struct kernel_function){ start, end, string, 0 };
	return true;
}

static int compare_functions(const void *a, const void *b)
{
	const struct kernel_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void profile_sort_kernel(struct profile *p)
{
	if (p->nrkernel)
		qsort(p->kernel, p->nrkernel, sizeof(*p->kernel), compare_functions);
}

static const struct kernel_function *find_kernel_function(const struct profile *p,
							  uint64_t address)
{
	size_t from = 0, to = p->nrkernel;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (p->kernel[mid].start <= address)
			from = mid + 1;
		else
			to = mid;
	}
	return from && address < p->kernel[from - 1].end ? &p->kernel[from - 1] : NULL;
}

uint32_t profile_kernel_location(struct profile *p, uint64_t address)
{
	const struct kernel_function *function = find_kernel_function(p, address);

	return profile_location(p, FILE_KERNEL, function ? function->start : 0);
}

static bool list_frame(struct profile *p, struct profile_location *location,
		       const struct profile_frame *frame)
{
	uint32_t *list;

	if (location->nrframes == MAX_FRAMES)
		return true;
	/* The list has room for a power of two. */
	if (!(p->nrlisted & (p->nrlisted - 1))) {
		list = reallocarray(p->frame_list, p->nrlisted ? p->nrlisted * 2 : 1, sizeof(*list));
		if (!list)
			return false;
		p->frame_list = list;
	}
	if (!location->nrframes)
		location->frame = (uint32_t)p->nrlisted;
	p->frame_list[p->nrlisted] = add_frame(p, frame);
	location->nrframes++;
	return p->frame_list[p->nrlisted++];
}

/* ---- places: names of what a module has found ------------------------------------------- */

/*
 * Places are looked for in many locations at once, file by file: to begin and end the work on a
 * file takes as long as to find a place.
 */
#define MAX_AT_ONCE	4096

/* A text of a module, which is the same wherever this pointer comes again. */
struct text {
	const char *text;
	uint32_t file;
	uint32_t name;		/* 1: a function's, of which this may be the readable form: */
	/* after the key */
	char *readable;
	uint32_t string;	/* 0: not known yet */
};

struct places {
	struct profile *p;
	uint32_t from;		/* the first location */
	double worth;		/* of each, for work_looks() */
	struct {
		uint32_t first, nr;	/* of place */
	} of[MAX_AT_ONCE];
	struct place *place;
	uint32_t nr, room;
	struct hash_table texts;
};

/*
 * Find what is known of a name or path of this file, or begin to know it.  Return: NULL: no
 * memory
 */
static struct text *find_text(struct places *places, uint32_t file, const char *text, bool name)
{
	const struct text key = { .text = text, .file = file, .name = name };
	uint32_t i;

	if (!places->texts.size)
		places->texts = (struct hash_table){
			.size = sizeof(key), .key = offsetof(struct text, readable),
		};
	i = hash_table_add(&places->texts, &key);
	return i ? (struct text *)places->texts.items + i : NULL;
}

/* Find the string that stands for a text, as it can be printed.  Return: 0: no memory */
static uint32_t string_of_text(struct places *places, uint32_t file, const char *text, bool name)
{
	struct text *known = find_text(places, file, text, name);

	if (!known)
		return 0;
	if (!known->string) {
		known->string = profile_clean_string(places->p, known->readable ? known->readable : text);
		free(known->readable);
		known->readable = NULL;
	}
	return known->string;
}

/* Make a name of this file readable.  The file's owner pays for the time that this takes. */
static void make_readable(struct places *places, uint32_t file, const char *name)
{
	const struct profile_file *of = file_of(places->p, file);
	uint32_t nr = places->texts.nr;
	struct text *text = find_text(places, file, name, true);

	if (!text)
		work_no_memory();
	if (places->texts.nr != nr)
		text->readable = of->dump || of->pid ? demangle(name) : demangle_symbol(name);
}

static void find_places(struct places *places, uint32_t number)
{
	struct profile_location *location = location_of(places->p, number);
	struct module *module = places->p->modules[location->file];
	struct place *place;
	unsigned int i, nr;

	while (places->room - places->nr < MAX_FRAMES) {
		place = reallocarray(places->place, (size_t)places->room * 2 + MAX_FRAMES,
				     sizeof(*place));
		if (!place)
			work_no_memory();
		places->place = place;
		places->room = places->room * 2 + MAX_FRAMES;
	}
	place = &places->place[places->nr];
	memset(place, 0, MAX_FRAMES * sizeof(*place));
	nr = module_find(module, location->offset, &places->p->details, &location->address, place,
			 MAX_FRAMES);
	for (i = 0; i < nr; i++)
		if (place[i].function)
			make_readable(places, location->file, place[i].function);
	places->of[number - places->from].first = places->nr;
	places->of[number - places->from].nr = nr;
	places->nr += nr;
}

static int compare_by_file(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct profile_location *left = location_of(arg, *x), *right = location_of(arg, *y);

	if (left->file != right->file)
		return left->file < right->file ? -1 : 1;
	if (left->offset != right->offset)
		return left->offset < right->offset ? -1 : 1;
	return 0;
}

/* Find the places of the locations from the first one to that before `to`. */
static void find_all_places(struct places *places, uint32_t to)
{
	uint32_t order[MAX_AT_ONCE], nr = 0, i;
	struct profile *p = places->p;
	const struct work *before = work_on(NULL);
	struct module *module;

	places->nr = 0;
	for (i = places->from; i < to; i++) {
		struct profile_location *location = location_of(p, i);

		location->address = location->offset;
		places->of[i - places->from].nr = 0;
		module = p->modules[location->file];
		if (!module)
			continue;
		order[nr++] = i;
		work_looks(module_work(module), places->worth);
	}
	if (nr)
		qsort_r(order, nr, sizeof(order[0]), compare_by_file, p);
	for (i = 0; i < nr; i++) {
		work_on(module_work(p->modules[location_of(p, order[i])->file]));
		find_places(places, order[i]);
	}
	work_on(before);
}

/* Give a location its frames: of a file without a module, or in the kernel, it is one. */
static bool list_frames(struct places *places, uint32_t number)
{
	struct profile *p = places->p;
	struct profile_location *location = location_of(p, number);
	const struct kernel_function *kernel = location->file == FILE_KERNEL ?
					       find_kernel_function(p, location->offset) : NULL;
	static const struct place nowhere;
	const unsigned int found = places->of[number - places->from].nr, nr = found ? found : 1;
	const struct place *place = &nowhere;
	unsigned int i;

	if (found)
		place = &places->place[places->of[number - places->from].first];
	for (i = 0; i < nr; i++, place++) {
		struct profile_frame frame = { .file = location->file, .inlined = i + 1 < nr };

		if (kernel) {
			frame.function = kernel->name;
		} else if (place->function) {
			frame.function = string_of_text(places, location->file, place->function,
							true);
			if (!frame.function)
				return false;
		} else if (location->file > FILE_KERNEL) {
			frame.address = location->address;
		}
		if (place->source && place->line > 0) {
			frame.source = string_of_text(places, location->file, place->source, false);
			frame.line = (uint32_t)place->line;
			if (!frame.source)
				return false;
		}
		if (!list_frame(p, location, &frame))
			return false;
	}
	return true;
}

static void places_free(struct places *places)
{
	struct text *texts = places->texts.items;
	uint32_t i;

	for (i = 1; i < places->texts.nr; i++)
		free(texts[i].readable);
	hash_table_free(&places->texts);
	free(places->place);
	free(places);
}

bool profile_name_locations(struct profile *p, uint32_t from)
{
	struct places *places = calloc(1, sizeof(*places));
	bool named = places;
	uint32_t i, to;

	for (; named && from < p->locations.nr; from = to) {
		to = p->locations.nr - from < MAX_AT_ONCE ? p->locations.nr : from + MAX_AT_ONCE;
		places->p = p;
		places->worth = WORTH_OF_INSTRUCTION;
		places->from = from;
		find_all_places(places, to);
		for (i = from; named && i < to; i++)
			named = list_frames(places, i);
	}
	if (places)
		places_free(places);
	return named;
}

uint32_t profile_named_location(struct profile *p, uint32_t file, uint64_t offset)
{
	uint32_t number = profile_location(p, file, offset);

	if (!number || location_of(p, number)->nrframes)
		return number;
	return profile_name_locations(p, number) ? number : 0;
}

const struct file_description *description_of(const struct profile *p,
					      const struct profile_file *file)
{
	static const struct file_description unknown;

	return file->description ? (const struct file_description *)p->descriptions.items +
				   file->description : &unknown;
}

/* Read the JIT map of a process once: it has one, whatever the number of its mappings. */
static struct module *open_jit(struct profile *p, uint32_t pid)
{
	const struct profile_process *process = p->processes.items;
	const struct profile_jit key = { .pid = pid };
	struct profile_jit *jit;
	uint32_t i, nr;

	if (!p->jits.size)
		p->jits = (struct hash_table){ .size = sizeof(key), .key = sizeof(key.pid) };
	nr = p->jits.nr;
	i = hash_table_add(&p->jits, &key);
	if (!i)
		return NULL;
	jit = (struct profile_jit *)p->jits.items + i;
	if (p->jits.nr != nr) {
		i = hash_table_find(&p->processes, &pid);
		jit->symbols = i ? jit_symbols_read(pid, process[i].inner_pid, process[i].uid,
						    &jit->why) :
				   jit_symbols_read(pid, pid, geteuid(), &jit->why);
	}
	return jit->symbols ? module_open_jit(jit->symbols) : NULL;
}

static struct module *open_module(struct profile *p, uint32_t number)
{
	const struct profile_file *file = file_of(p, number);
	const char *path = number > FILE_KERNEL ? string_of(p, file->path) : "";
	struct module *module;
	struct error why;

	if (file->dump) {
		const struct profile_dump *dump = &p->dumps[file->dump - 1];

		if (dump->dump)
			return module_open_dump(dump->dump);
		p->reasons[number] = strdup(dump->reason);
		return NULL;
	}
	if (path[0] == '/' && !file->pid) {
		module = module_open_file(path, description_of(p, file), &why);
		if (!module)
			p->reasons[number] = strdup(why.text);
		return module;
	}
	if (!strcmp(path, "[vdso]"))
		return module_open_vdso(file->size);
	return number > FILE_KERNEL && file->pid ? open_jit(p, file->pid) : NULL;
}

/* Find all that a report says of a file before its first line is printed. */
static void describe_module(struct profile *p, uint32_t number)
{
	struct module *module = p->modules[number];
	char id[2 * MAX_BUILD_ID + 1];

	if (module_is_stripped(module, id, sizeof(id)))
		p->stripped[number] = strdup(id);
	if (module_remark(module))
		p->reasons[number] = strdup(module_remark(module));
}

/* Find the names of the locations from the first one to that before `to`. */
static bool resolve_locations(struct places *places, bool *opened, uint32_t to)
{
	struct profile *p = places->p;
	uint32_t i, file;

	/* Open only files that have samples: reading symbols takes a while. */
	for (i = places->from; i < to; i++) {
		file = location_of(p, i)->file;
		if (!opened[file])
			p->modules[file] = open_module(p, file);
		opened[file] = true;
	}
	find_all_places(places, to);
	for (i = places->from; i < to; i++)
		if (!list_frames(places, i))
			return false;
	return true;
}

int profile_resolve(struct profile *p, struct error *e)
{
	bool *opened = calloc(p->files.nr + 1, sizeof(*opened)), named = true;
	struct places *places = calloc(1, sizeof(*places));
	uint32_t i, to;

	demangle_load();
	p->modules = calloc(p->files.nr + 1, sizeof(*p->modules));
	p->reasons = calloc(p->files.nr + 1, sizeof(*p->reasons));
	p->stripped = calloc(p->files.nr + 1, sizeof(*p->stripped));
	if (!p->modules || !p->reasons || !p->stripped || !opened || !places) {
		free(opened);
		free(places);
		return fail_memory(e);
	}
	places->p = p;
	places->worth = WORTH_OF_SAMPLE;
	for (i = 1; named && i < p->locations.nr; i = to) {
		to = p->locations.nr - i < MAX_AT_ONCE ? p->locations.nr : i + MAX_AT_ONCE;
		places->from = i;
		named = resolve_locations(places, opened, to);
	}
	free(opened);
	places_free(places);
	if (!named)
		return fail_memory(e);
	for (i = 1; i < p->files.nr; i++)
		if (p->modules[i])
			describe_module(p, i);
	return 0;
}

void profile_join_inlined(struct profile *p)
{
	struct profile_location *location;
	uint32_t i;

	for (i = 1; i < p->locations.nr; i++) {
		location = location_of(p, i);
		if (location->nrframes < 2)
			continue;
		location->frame += location->nrframes - 1;
		location->nrframes = 1;
	}
}
