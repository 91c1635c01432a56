// SPDX-License-Identifier: GPL-2.0
/* The parts of a profile, and the names of its locations. */
#include <stdlib.h>
#include <string.h>

#include "jit-dump.h"
#include "profile.h"

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

uint32_t profile_file(struct profile *p, const char *path, uint32_t pid, uint32_t description)
{
	struct profile_file file = {
		.path = profile_string(p, path), .pid = pid, .description = description,
	};

	return file.path ? add_item(&p->files, sizeof(file),
					offsetof(struct profile_file, size), &file) : 0;
}

uint32_t profile_description(struct profile *p, const struct file_description *file)
{
	return add_item(&p->descriptions, sizeof(*file), sizeof(*file), file);
}

uint32_t profile_location(struct profile *p, uint32_t file, uint64_t offset)
{
	struct profile_location location = { .offset = offset, .file = file };

	return add_item(&p->locations, sizeof(location),
			offsetof(struct profile_location, address), &location);
}

uint32_t profile_thread(struct profile *p, uint32_t pid, uint32_t tid, uint32_t comm)
{
	struct profile_thread thread = { .pid = pid, .tid = tid, .comm = comm };

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

bool profile_add_sample(struct profile *p, const struct profile_sample *sample)
{
	struct profile_event *event = &p->events[sample->event];
	struct profile_sample *samples;
	size_t room;

	if (p->nrsamples == p->room) {
		room = p->room ? p->room * 2 : 1024;
		samples = reallocarray(p->samples, room, sizeof(*samples));
		if (!samples)
			return false;
		p->samples = samples;
		p->room = room;
	}
	p->samples[p->nrsamples++] = *sample;
	event->samples++;
	event->weight += sample->weight;
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
	hash_table_free(&p->descriptions);
	for (i = 0; i < p->nrevents; i++)
		free(p->events[i].name);
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
	free(p->command);
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
		group->samples++;
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

/* True if the name is one of a list with commas. */
static bool is_listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; list; list = *list ? list + 1 : NULL) {
		if (!strncmp(list, name, len) && (!list[len] || list[len] == ','))
			return true;
		list += strcspn(list, ",");
	}
	return false;
}

static bool wants_event(const struct options *o, const char *name)
{
	unsigned int i;

	for (i = 0; i < o->nrspecs; i++)
		if (is_listed(o->specs[i], name))
			return true;
	return !o->nrspecs;
}

/* -p and -t: one of them is enough. */
static bool wants_thread(const struct options *o, const struct profile *p,
			 const struct profile_thread *thread)
{
	unsigned int i;

	if (o->reporting.comm && !(thread->comm && is_listed(o->reporting.comm,
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
static unsigned int filter_events(struct profile *p, const struct options *o,
				  unsigned int *number)
{
	unsigned int i, nr = 0;

	for (i = 0; i < p->nrevents; i++) {
		number[i] = MAX_SAMPLED;
		if (!wants_event(o, p->events[i].name)) {
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

int profile_filter(struct profile *p, const struct options *o, struct error *e)
{
	unsigned int number[MAX_SAMPLED];
	size_t i, nr = 0;

	if (!filter_events(p, o, number))
		return fail_with(e, "'%s' has no samples of %.200s", p->name, o->specs[0]);
	for (i = 0; i < p->nrsamples; i++) {
		struct profile_sample *sample = &p->samples[i];

		if (number[sample->event] == MAX_SAMPLED ||
		    !wants_thread(o, p, thread_of(p, sample->thread)))
			continue;
		sample->event = number[sample->event];
		p->events[sample->event].samples++;
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
static uint32_t clean_string(struct profile *p, const char *text)
{
	char *copy = text ? strdup(text) : NULL;
	uint32_t string = 0;

	if (!copy)
		return 0;
	replace_controls(copy);
	string = profile_string(p, copy);
	free(copy);
	return string;
}

/* The name is one of the module's file, to which the work on it belongs. */
static uint32_t function_string(struct profile *p, const struct module *module, const char *name)
{
	const struct work *work = work_on(module_work(module));
	char *readable = demangle(name);
	uint32_t string;

	work_on(work);
	string = clean_string(p, readable ? readable : name);
	free(readable);
	return string;
}

bool profile_kernel_function(struct profile *p, uint64_t start, uint64_t end, const char *name)
{
	struct kernel_function *kernel;
	uint32_t string = clean_string(p, name);

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

static bool resolve_location(struct profile *p, struct profile_location *location)
{
	struct module *module = p->modules[location->file];
	const struct kernel_function *kernel = location->file == FILE_KERNEL ?
					       find_kernel_function(p, location->offset) : NULL;
	struct place places[MAX_FRAMES] = { { NULL } };
	unsigned int i, nr = 1;

	location->address = location->offset;
	if (module)
		nr = module_find(module, location->offset, &location->address, places, MAX_FRAMES);
	for (i = 0; i < nr; i++) {
		struct profile_frame frame = { .file = location->file, .inlined = i + 1 < nr };

		if (kernel) {
			frame.function = kernel->name;
		} else if (places[i].function) {
			frame.function = function_string(p, module, places[i].function);
			if (!frame.function)
				return false;
		} else if (location->file > FILE_KERNEL) {
			frame.address = location->address;
		}
		if (places[i].source && places[i].line > 0) {
			frame.source = clean_string(p, places[i].source);
			frame.line = (uint32_t)places[i].line;
			if (!frame.source)
				return false;
		}
		if (!list_frame(p, location, &frame))
			return false;
	}
	return true;
}

uint32_t profile_named_location(struct profile *p, uint32_t file, uint64_t offset)
{
	uint32_t number = profile_location(p, file, offset);

	if (!number || location_of(p, number)->nrframes)
		return number;
	return resolve_location(p, location_of(p, number)) ? number : 0;
}

const struct file_description *description_of(const struct profile *p,
					      const struct profile_file *file)
{
	static const struct file_description unknown;

	return file->description ? (const struct file_description *)p->descriptions.items +
				   file->description : &unknown;
}

static struct module *open_module(const struct profile *p, uint32_t number)
{
	const struct profile_file *file = file_of(p, number);
	const char *path = number > FILE_KERNEL ? string_of(p, file->path) : "";
	struct module *module;
	struct error why;

	if (file->dump) {
		struct jit_dump *dump = p->dumps[file->dump - 1].dump;

		return dump ? module_open_dump(dump) : NULL;
	}
	if (path[0] == '/' && !file->pid) {
		module = module_open_file(path, description_of(p, file), &why);
		if (!module)
			p->reasons[number] = strdup(why.text);
		return module;
	}
	if (!strcmp(path, "[vdso]"))
		return module_open_vdso(file->size);
	return number > FILE_KERNEL && file->pid ? module_open_jit(file->pid) : NULL;
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

int profile_resolve(struct profile *p, struct error *e)
{
	bool *opened = calloc(p->files.nr + 1, sizeof(*opened));
	uint32_t i;

	demangle_load();
	p->modules = calloc(p->files.nr + 1, sizeof(*p->modules));
	p->reasons = calloc(p->files.nr + 1, sizeof(*p->reasons));
	p->stripped = calloc(p->files.nr + 1, sizeof(*p->stripped));
	if (!p->modules || !p->reasons || !p->stripped || !opened) {
		free(opened);
		return fail_memory(e);
	}
	for (i = 1; i < p->locations.nr; i++) {
		struct profile_location *location = location_of(p, i);

		/* Open only files that have samples: reading symbols takes a while. */
		if (!opened[location->file])
			p->modules[location->file] = open_module(p, location->file);
		opened[location->file] = true;
		if (!resolve_location(p, location)) {
			free(opened);
			return fail_memory(e);
		}
	}
	free(opened);
	for (i = 1; i < p->files.nr; i++)
		if (p->modules[i])
			describe_module(p, i);
	return 0;
}
