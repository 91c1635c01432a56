// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report --export=firefox: a processed profile of the Firefox Profiler, whose
 * tables are arrays of columns.  Each thread has all of its tables.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "tree.h"

/* The versions in which these tables have these columns; newer profilers convert them. */
#define GECKO_VERSION		24
#define PROCESSED_VERSION	49

struct function {
	uint32_t name, file, source;
};

struct frame {
	uint32_t function;	/* of the functions' table */
	uint32_t line, inline_depth;
	uint32_t unused;
	uint64_t address;
};

struct stack {
	uint32_t prefix;	/* 0: none */
	uint32_t frame;
};

#define NR_COLUMNS		3	/* of a sample */

/* The stack that a thread has for one of the profile. */
struct known_stack {
	uint32_t thread, stack;
};

/*
 * A thread of the profiler, which has the samples of all of its names.  The profiler has one main
 * thread for each process, and its numbers must be unique: after exec, and where the kernel has
 * used a number again, they have a suffix.
 */
struct track {
	uint32_t pid, program, tid;
	uint32_t thread;		/* the last one of the profile */
};

/* One program that a process has executed. */
struct program {
	uint32_t pid, program;
	uint32_t suffix;		/* 0: none */
};

struct process {
	uint32_t pid;
	uint32_t nr;			/* of programs */
};

/* All threads use these. */
struct all_threads {
	struct known_stack *known;	/* by the profile's number */
	uint32_t *order;		/* numbers of samples, by track */
	size_t *first;			/* of a track, in the order */
	uint32_t *track;		/* of a thread of the profile */
	struct hash_table tracks, programs, processes;
};

/* The tables of a thread.  The profiler counts from 0, and these from 1. */
struct thread_tables {
	struct hash_table functions, frames, stacks, resources;
	struct hash_table strings;	/* numbers of profile strings */
	FILE *samples[NR_COLUMNS];
	char *text[NR_COLUMNS];
	size_t size[NR_COLUMNS];
	size_t nr;
	bool failed;
};

struct resource {
	uint32_t file;
};

static uint32_t add(struct thread_tables *t, struct hash_table *table, size_t size, const void *key)
{
	uint32_t i;

	if (!table->size)
		*table = (struct hash_table){ .size = size, .key = size };
	i = hash_table_add(table, key);
	t->failed |= !i;
	return i;
}

/* Return: the stack of one frame on top of another, of a location's frames on top of that. */
static uint32_t add_location(struct thread_tables *t, const struct profile *p, uint32_t number,
			     uint32_t prefix)
{
	const struct profile_location *location = location_of(p, number);
	uint32_t i;

	/* The outermost frame is the last one of the location. */
	for (i = location->nrframes; i-- > 0;) {
		const struct profile_frame *from =
			frame_of(p, p->frame_list[location->frame + i]);
		struct function function = {
			.name = from->function, .file = from->file, .source = from->source,
		};
		struct frame frame = {
			.function = add(t, &t->functions, sizeof(function), &function),
			.line = from->line,
			.inline_depth = location->nrframes - 1 - i,
			.address = location->address,
		};
		struct stack stack = {
			.prefix = prefix, .frame = add(t, &t->frames, sizeof(frame), &frame),
		};

		add(t, &t->resources, sizeof(struct resource),
		    &(struct resource){ .file = from->file });
		prefix = add(t, &t->stacks, sizeof(stack), &stack);
	}
	return prefix;
}

static uint32_t add_stack(struct thread_tables *t, const struct profile *p, uint32_t thread,
			  struct known_stack *known_stacks, uint32_t stack)
{
	uint32_t path[MAX_PATH / MAX_FRAMES + 1], nr = 0, known = 0;

	/* Stacks of which another sample was there need not be made again. */
	for (; stack && nr < ARRAY_SIZE(path); stack = stack_of(p, stack)->parent) {
		known = known_stacks[stack].thread == thread ? known_stacks[stack].stack : 0;
		if (known)
			break;
		path[nr++] = stack;
	}
	while (nr--) {
		known = add_location(t, p, stack_of(p, path[nr])->location, known);
		known_stacks[path[nr]] = (struct known_stack){ thread, known };
	}
	return known;
}

/* ---- tables as JSON ---------------------------------------------------------------------- */

/* The number of the string in the thread's array. */
static uint32_t string_number(struct thread_tables *t, uint32_t string)
{
	return add(t, &t->strings, sizeof(string), &string) - 1;
}

static uint32_t label_number(struct thread_tables *t, struct profile *p, uint32_t file)
{
	char label[300];

	profile_file_label(p, file, label, sizeof(label));
	return string_number(t, profile_string(p, label));
}

/* Print a column of nr - 1 values that are the same. */
static void print_same(FILE *f, const char *name, uint32_t nr, const char *text)
{
	uint32_t i;

	fprintf(f, ",\"%s\":[", name);
	for (i = 1; i < nr; i++)
		fprintf(f, i > 1 ? ",%s" : "%s", text);
	putc(']', f);
}

static void print_number(FILE *f, uint32_t i, uint64_t n)
{
	fprintf(f, i > 1 ? ",%" PRIu64 : "%" PRIu64, n);
}

static void print_number_or_null(FILE *f, uint32_t i, bool known, uint64_t n)
{
	if (known)
		print_number(f, i, n);
	else
		fputs(i > 1 ? ",null" : "null", f);
}

static uint32_t nr_items(const struct hash_table *t)
{
	return t->nr ? t->nr : 1;
}

static void print_stacks(FILE *f, const struct hash_table *t)
{
	const struct stack *stacks = t->items;
	uint32_t i, nr = nr_items(t);

	fprintf(f, ",\"stackTable\":{\"length\":%u,\"prefix\":[", nr - 1);
	for (i = 1; i < nr; i++)
		print_number_or_null(f, i, stacks[i].prefix, stacks[i].prefix - 1);
	fputs("],\"frame\":[", f);
	for (i = 1; i < nr; i++)
		print_number(f, i, stacks[i].frame - 1);
	putc(']', f);
	print_same(f, "category", nr, "0");
	print_same(f, "subcategory", nr, "0");
	putc('}', f);
}

static void print_frames(FILE *f, const struct hash_table *t)
{
	const struct frame *frames = t->items;
	uint32_t i, nr = nr_items(t);

	fprintf(f, ",\"frameTable\":{\"length\":%u,\"address\":[", nr - 1);
	for (i = 1; i < nr; i++)
		print_number(f, i, frames[i].address & (UINT64_MAX >> 11));
	fputs("],\"inlineDepth\":[", f);
	for (i = 1; i < nr; i++)
		print_number(f, i, frames[i].inline_depth);
	fputs("],\"func\":[", f);
	for (i = 1; i < nr; i++)
		print_number(f, i, frames[i].function - 1);
	fputs("],\"line\":[", f);
	for (i = 1; i < nr; i++)
		print_number_or_null(f, i, frames[i].line, frames[i].line);
	putc(']', f);
	print_same(f, "category", nr, "0");
	print_same(f, "subcategory", nr, "0");
	print_same(f, "nativeSymbol", nr, "null");
	print_same(f, "innerWindowID", nr, "null");
	print_same(f, "implementation", nr, "null");
	print_same(f, "column", nr, "null");
	print_same(f, "optimizations", nr, "null");
	putc('}', f);
}

static void print_functions(FILE *f, struct thread_tables *t, struct profile *p)
{
	const struct function *functions = t->functions.items;
	uint32_t i, nr = nr_items(&t->functions);

	fprintf(f, ",\"funcTable\":{\"length\":%u,\"name\":[", nr - 1);
	for (i = 1; i < nr; i++)
		print_number(f, i, functions[i].name ? string_number(t, functions[i].name) :
						       label_number(t, p, functions[i].file));
	fputs("],\"resource\":[", f);
	for (i = 1; i < nr; i++)
		print_number(f, i, hash_table_find(&t->resources, &functions[i].file) - 1);
	fputs("],\"fileName\":[", f);
	for (i = 1; i < nr; i++)
		print_number_or_null(f, i, functions[i].source, functions[i].source ?
				     string_number(t, functions[i].source) : 0);
	putc(']', f);
	print_same(f, "isJS", nr, "false");
	print_same(f, "relevantForJS", nr, "false");
	print_same(f, "lineNumber", nr, "null");
	print_same(f, "columnNumber", nr, "null");
	putc('}', f);
}

/* Type 1 is a library. */
static void print_resources(FILE *f, struct thread_tables *t, struct profile *p)
{
	const struct resource *resources = t->resources.items;
	uint32_t i, nr = nr_items(&t->resources);

	fprintf(f, ",\"resourceTable\":{\"length\":%u,\"lib\":[", nr - 1);
	for (i = 1; i < nr; i++)
		print_number(f, i, resources[i].file - 1);
	fputs("],\"name\":[", f);
	for (i = 1; i < nr; i++)
		print_number(f, i, label_number(t, p, resources[i].file));
	putc(']', f);
	print_same(f, "host", nr, "null");
	print_same(f, "type", nr, "1");
	putc('}', f);
}

static void print_strings(FILE *f, const struct thread_tables *t, const struct profile *p)
{
	const uint32_t *strings = t->strings.items;
	uint32_t i;

	fputs(",\"stringArray\":[", f);
	for (i = 1; i < t->strings.nr; i++) {
		if (i > 1)
			putc(',', f);
		json_string(f, string_of(p, strings[i]));
	}
	putc(']', f);
}

static const char *const sample_columns[NR_COLUMNS] = { "stack", "time", "weight" };

static void print_samples(FILE *f, struct thread_tables *t)
{
	unsigned int i;

	fprintf(f, ",\"samples\":{\"length\":%zu,\"weightType\":\"samples\"", t->nr);
	for (i = 0; i < NR_COLUMNS; i++) {
		fprintf(f, ",\"%s\":[", sample_columns[i]);
		output_write(f, t->text[i], t->size[i]);
		putc(']', f);
	}
	fputs("},\"markers\":{\"length\":0,\"category\":[],\"data\":[],\"endTime\":[],\"name\":[],"
	      "\"phase\":[],\"startTime\":[]},\"nativeSymbols\":{\"length\":0,\"address\":[],"
	      "\"functionSize\":[],\"libIndex\":[],\"name\":[]}", f);
}

/* ---- a thread ----------------------------------------------------------------------------- */

/* Return: milliseconds since the first sample; without a clock: samples. */
static double time_of(const struct profile *p, size_t i)
{
	if (!p->tsc_khz)
		return (double)i;
	return (double)(p->samples[i].tsc - p->samples[0].tsc) / p->tsc_khz;
}

static void collect_samples(struct thread_tables *t, const struct profile *p, uint32_t thread,
			    const struct all_threads *all, double *first, double *last)
{
	uint32_t stack;
	size_t i;

	for (i = all->first[thread]; i < all->first[thread + 1]; i++) {
		const struct profile_sample *sample = &p->samples[all->order[i]];

		stack = add_stack(t, p, thread, all->known, sample->stack);
		*last = time_of(p, all->order[i]);
		if (!t->nr)
			*first = *last;
		fprintf(t->samples[0], t->nr ? ",%u" : "%u", stack - 1);
		fprintf(t->samples[1], t->nr ? ",%.6f" : "%.6f", *last);
		fprintf(t->samples[2], t->nr ? ",%" PRIu64 : "%" PRIu64, sample->weight);
		t->nr++;
	}
}

/* Print the number of a process or thread.  It is unique, as only one program has it. */
static void print_id(FILE *f, uint32_t id, uint32_t suffix, bool quoted)
{
	if (suffix)
		fprintf(f, "\"%u.%u\"", id, suffix);
	else
		fprintf(f, quoted ? "\"%u\"" : "%u", id);
}

static void print_thread(FILE *f, struct thread_tables *t, struct profile *p,
			 const struct all_threads *all, const struct track *track, double first,
			 double last)
{
	const struct profile_thread *thread = thread_of(p, track->thread);
	const struct program *program = (struct program *)all->programs.items +
					hash_table_find(&all->programs, track);

	fputs("{\"name\":", f);
	json_string(f, thread->comm ? string_of(p, thread->comm) : "?");
	fprintf(f, ",\"isMainThread\":%s,\"processType\":\"default\",\"processName\":",
		thread->pid == thread->tid ? "true" : "false");
	json_string(f, thread->comm ? string_of(p, thread->comm) : "?");
	fputs(",\"pid\":", f);
	print_id(f, track->pid, program->suffix, true);
	fputs(",\"tid\":", f);
	print_id(f, track->tid, program->suffix, false);
	fprintf(f, ",\"processStartupTime\":%.6f,\"processShutdownTime\":null,"
		"\"registerTime\":%.6f,\"unregisterTime\":%.6f,\"pausedRanges\":[]",
		first, first, last);
	print_samples(f, t);
	print_stacks(f, &t->stacks);
	print_frames(f, &t->frames);
	print_functions(f, t, p);
	print_resources(f, t, p);
	print_strings(f, t, p);
	putc('}', f);
}

static bool begin_thread(struct thread_tables *t)
{
	unsigned int i;

	memset(t, 0, sizeof(*t));
	for (i = 0; i < NR_COLUMNS; i++) {
		t->samples[i] = open_memstream(&t->text[i], &t->size[i]);
		t->failed |= !t->samples[i];
	}
	return !t->failed;
}

static void close_columns(struct thread_tables *t)
{
	unsigned int i;

	for (i = 0; i < NR_COLUMNS; i++)
		if (t->samples[i])
			t->failed |= fclose(t->samples[i]) != 0;
}

static void end_thread(struct thread_tables *t)
{
	unsigned int i;

	hash_table_free(&t->functions);
	hash_table_free(&t->frames);
	hash_table_free(&t->stacks);
	hash_table_free(&t->resources);
	hash_table_free(&t->strings);
	for (i = 0; i < NR_COLUMNS; i++)
		free(t->text[i]);
}

static int export_track(FILE *f, struct profile *p, uint32_t number,
			 const struct all_threads *all, bool *any, struct error *e)
{
	double first = 0, last = 0;
	struct thread_tables t;

	/* A track without samples of this event has nothing to show. */
	if (all->first[number] == all->first[number + 1])
		return 0;
	if (begin_thread(&t))
		collect_samples(&t, p, number, all, &first, &last);
	close_columns(&t);
	if (!t.failed) {
		fputs(*any ? ",\n" : "\n", f);
		print_thread(f, &t, p, all, (struct track *)all->tracks.items + number, first, last);
		*any = true;
	}
	end_thread(&t);
	return t.failed ? fail_memory(e) : 0;
}

/* ---- all ---------------------------------------------------------------------------------- */

static void print_meta(FILE *f, const struct profile *p)
{
	double interval = p->nrsamples > 1 ?
			  time_of(p, p->nrsamples - 1) / (double)(p->nrsamples - 1) : 1;

	fprintf(f, "{\"meta\":{\"version\":%d,\"preprocessedProfileVersion\":%d,", GECKO_VERSION,
		PROCESSED_VERSION);
	fprintf(f, "\"interval\":%.6f,\"startTime\":0,\"processType\":0,\"product\":",
		interval > 0 ? interval : 1);
	json_string(f, p->command ? p->command : "?");
	fputs(",\"CPUName\":", f);
	json_string(f, p->cpu_name);
	fputs(",\"importedFrom\":\"perfex\",\"stackwalk\":1,\"debug\":false,\"symbolicated\":true,"
	      "\"categories\":[{\"name\":\"", f);
	fputs("Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],"
	      "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]},"
	      "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"},"
	      "\"usesOnlyOneStackType\":true,\"doesNotUseFrameImplementation\":true,"
	      "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[]}", f);
}

static void print_libs(FILE *f, const struct profile *p)
{
	char path[4096], label[300];
	uint32_t i;

	fputs(",\n\"libs\":[", f);
	for (i = 1; i < p->files.nr; i++) {
		profile_file_label(p, i, label, sizeof(label));
		snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, i)->path));
		replace_controls(path);
		fputs(i > 1 ? ",\n{\"arch\":null,\"breakpadId\":\"\",\"codeId\":null,\"name\":" :
			      "\n{\"arch\":null,\"breakpadId\":\"\",\"codeId\":null,\"name\":", f);
		json_string(f, label);
		fputs(",\"debugName\":", f);
		json_string(f, label);
		fputs(",\"path\":", f);
		json_string(f, path);
		fputs(",\"debugPath\":", f);
		json_string(f, path);
		putc('}', f);
	}
	putc(']', f);
}

/* Number the program of a track among those of its process.  Return: false: no memory */
static bool number_program(struct all_threads *all, const struct track *track)
{
	const uint32_t known = all->programs.nr;
	const uint32_t program = hash_table_add(&all->programs, track);
	const uint32_t process = hash_table_add(&all->processes, &track->pid);

	if (!program || !process)
		return false;
	if (all->programs.nr != known)
		((struct program *)all->programs.items)[program].suffix =
			((struct process *)all->processes.items)[process].nr++;
	return true;
}

static bool find_tracks(struct all_threads *all, const struct profile *p)
{
	uint32_t i;

	all->tracks = (struct hash_table){
		.size = sizeof(struct track), .key = offsetof(struct track, thread),
	};
	all->programs = (struct hash_table){
		.size = sizeof(struct program), .key = offsetof(struct program, suffix),
	};
	all->processes = (struct hash_table){
		.size = sizeof(struct process), .key = offsetof(struct process, nr),
	};
	all->track = calloc(p->threads.nr + 1, sizeof(*all->track));
	for (i = 1; all->track && i < p->threads.nr; i++) {
		const struct profile_thread *thread = thread_of(p, i);
		const struct track key = {
			.pid = thread->pid, .program = thread->program, .tid = thread->tid,
		};

		all->track[i] = hash_table_add(&all->tracks, &key);
		if (!all->track[i] || !number_program(all, &key))
			return false;
		((struct track *)all->tracks.items)[all->track[i]].thread = i;
	}
	return all->track;
}

/* Sort the samples of the first event by track; their times keep their order. */
static bool sort_samples(struct all_threads *all, const struct profile *p)
{
	uint32_t nr = all->tracks.nr, i;
	size_t n, *next;

	all->known = calloc(p->stacks.nr + 1, sizeof(*all->known));
	all->order = calloc(p->nrsamples + 1, sizeof(*all->order));
	all->first = calloc(nr + 2, sizeof(*all->first));
	next = calloc(nr + 2, sizeof(*next));
	if (!all->known || !all->order || !all->first || !next) {
		free(next);
		return false;
	}
	for (n = 0; n < p->nrsamples; n++)
		all->first[all->track[p->samples[n].thread] + 1] += !p->samples[n].event;
	for (i = 1; i < nr + 2; i++)
		all->first[i] += all->first[i - 1];
	memcpy(next, all->first, (nr + 2) * sizeof(*next));
	for (n = 0; n < p->nrsamples; n++)
		if (!p->samples[n].event)
			all->order[next[all->track[p->samples[n].thread]]++] = (uint32_t)n;
	free(next);
	return true;
}

int export_firefox(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	struct all_threads all = { 0 };
	bool any = false;
	int err = 0;
	uint32_t i;

	(void)o;
	if (!find_tracks(&all, p) || !sort_samples(&all, p))
		err = fail_memory(e);
	print_meta(f, p);
	print_libs(f, p);
	fputs(",\n\"pages\":[],\"profilerOverhead\":[],\"counters\":[],\"threads\":[", f);
	for (i = 1; !err && i < all.tracks.nr; i++)
		err = export_track(f, p, i, &all, &any, e);
	fputs("]}\n", f);
	free(all.known);
	free(all.order);
	free(all.first);
	free(all.track);
	hash_table_free(&all.tracks);
	hash_table_free(&all.programs);
	hash_table_free(&all.processes);
	return err;
}
