// SPDX-License-Identifier: GPL-2.0
/* The parts of a profile, and the names of its locations. */
#include <stdlib.h>
#include <string.h>

#include "profile.h"

int fail_memory(struct error *e)
{
	return fail_with(e, "out of memory");
}

/* The item at 0, which is that of no string, has no text otherwise. */
uint32_t profile_string(struct profile *p, const char *text)
{
	if (!p->strings.size)
		p->strings = (struct table){ .size = sizeof(char *), .text = true };
	return table_add(&p->strings, text);
}

/* A table gets its sizes when its first item is made. */
static uint32_t add_item(struct table *t, size_t size, size_t key_size, const void *key)
{
	if (!t->size)
		*t = (struct table){ .size = size, .key = key_size };
	return table_add(t, key);
}

uint32_t profile_file(struct profile *p, const char *path, uint32_t pid)
{
	struct profile_file file = { .path = profile_string(p, path), .pid = pid };

	return file.path ? add_item(&p->files, sizeof(file), sizeof(file), &file) : 0;
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
	for (i = 0; i < p->nrevents; i++)
		free(p->events[i].name);
	table_free(&p->strings);
	table_free(&p->files);
	table_free(&p->locations);
	table_free(&p->frames);
	table_free(&p->stacks);
	table_free(&p->threads);
	free(p->frame_list);
	free(p->samples);
	free(p->command);
	memset(p, 0, sizeof(*p));
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

static bool list_frame(struct profile *p, struct profile_location *location,
		       const struct profile_frame *frame)
{
	uint32_t *list;

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
	struct profile_frame frame = { .file = location->file };
	struct module *module = p->modules[location->file];
	struct place place = { .address = location->offset };

	if (module)
		module_find(module, location->offset, &place);
	location->address = place.address;
	if (place.function) {
		frame.function = clean_string(p, place.function);
		if (!frame.function)
			return false;
	} else if (location->file > FILE_KERNEL) {
		frame.address = place.address;
	}
	if (place.source && place.line > 0) {
		frame.source = clean_string(p, place.source);
		frame.line = (uint32_t)place.line;
		if (!frame.source)
			return false;
	}
	return list_frame(p, location, &frame);
}

int profile_resolve(struct profile *p, struct error *e)
{
	bool *opened = calloc(p->files.nr + 1, sizeof(*opened));
	uint32_t i;

	p->modules = calloc(p->files.nr + 1, sizeof(*p->modules));
	if (!p->modules || !opened) {
		free(opened);
		return fail_memory(e);
	}
	for (i = 1; i < p->locations.nr; i++) {
		struct profile_location *location = location_of(p, i);
		const char *path = string_of(p, file_of(p, location->file)->path);

		/* Open only files that have samples: reading symbols takes a while. */
		if (!opened[location->file] && path && path[0] == '/')
			p->modules[location->file] = module_open(path);
		opened[location->file] = true;
		if (!resolve_location(p, location)) {
			free(opened);
			return fail_memory(e);
		}
	}
	free(opened);
	return 0;
}
