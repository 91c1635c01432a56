// SPDX-License-Identifier: GPL-2.0
/*
 * perfex script: each sample with its calls, in the text of perf script, which
 * stackcollapse-perf.pl, speedscope, Hotspot's and others' scripts read.
 */
#include <inttypes.h>
#include <string.h>

#include "profile.h"

/* In seconds; samples of a file without the clock's rate are numbered. */
static double time_of(const struct profile *p, size_t sample)
{
	const uint64_t first = p->samples[0].tsc;

	if (!p->tsc_khz)
		return (double)sample / 1e6;
	return (double)(p->samples[sample].tsc - first) / (p->tsc_khz * 1e3);
}

/* A name is one word: readers split lines at spaces. */
static void print_comm(FILE *f, const char *name)
{
	for (; *name; name++)
		putc(*name == ' ' ? '_' : *name, f);
}

/* A file as perf names it: a path, or [kernel.kallsyms] and the like. */
static void print_dso(FILE *f, const struct profile *p, uint32_t file)
{
	const char *path = file > FILE_KERNEL ? string_of(p, file_of(p, file)->path) : NULL;
	char plain[MAX_PATH_NAME];

	fprintf(f, "(%s)", file == FILE_KERNEL ? "[kernel.kallsyms]" :
		path && *path ? plain_text(plain, sizeof(plain), path) : "[unknown]");
}

static void print_frame(FILE *f, const struct profile *p, const struct profile_location *location,
			const struct profile_frame *frame, bool inlined)
{
	fprintf(f, "\t%16" PRIx64 " %s ", location->address,
		frame->function ? string_of(p, frame->function) : "[unknown]");
	if (inlined)
		fputs("(inlined)", f);
	else
		print_dso(f, p, frame->file);
	putc('\n', f);
}

static void print_calls(FILE *f, const struct profile *p, uint32_t stack)
{
	const struct profile_location *location;
	const struct profile_frame *frame;
	uint32_t i;

	for (; stack; stack = stack_of(p, stack)->parent) {
		location = location_of(p, stack_of(p, stack)->location);
		for (i = 0; i < location->nrframes; i++) {
			frame = frame_of(p, p->frame_list[location->frame + i]);
			print_frame(f, p, location, frame, i + 1 < location->nrframes);
		}
	}
	putc('\n', f);
}

int export_script(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	const struct profile_thread *thread;
	const struct profile_sample *sample;
	const struct profile_event *event;
	size_t i;

	(void)o;
	(void)e;
	for (i = 0; i < p->nrsamples; i++) {
		sample = &p->samples[i];
		thread = thread_of(p, sample->thread);
		event = &p->events[sample->event];
		print_comm(f, thread->comm ? string_of(p, thread->comm) : "?");
		fprintf(f, " %u/%u [%03u] %.6f: %" PRIu64 " %s:%c\n", thread->pid, thread->tid, sample->cpu,
			time_of(p, i), sample->weight * (event->period ? event->period : 1), event->name,
			/* perf has a space there, too */
			' ');
		print_calls(f, p, sample->stack);
	}
	return 0;
}
