// SPDX-License-Identifier: GPL-2.0
/*
 * The counts of CPUs in Prometheus's text format, for the textfile collector of its node
 * exporter.
 */
#include <inttypes.h>

#include "cpus.h"
#include "output.h"

/* A label's value: a backslash, a quote and a line feed are escaped. */
static void print_value(FILE *f, const char *text)
{
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", f);
		else
			fprintf(f, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
}

/* The names of CPUs and sockets are numbers, as those of the node exporter are. */
static const char *part_value(const struct part *part)
{
	if (!strcmp(part->field, "cpu"))
		return part->label + strlen("CPU");
	if (!strcmp(part->field, "socket") && *part->label == 'S')
		return part->label + strlen("S");
	return part->label;
}

static void print_part(FILE *f, const struct part *part)
{
	fprintf(f, "%s=\"", part->field);
	print_value(f, part_value(part));
	fputc('"', f);
}

/* Return: how many events before this one have its name. */
static unsigned int earlier_of_name(const struct events *events, unsigned int event)
{
	unsigned int i, nr = 0;

	for (i = 0; i < event; i++)
		nr += !strcmp(events->ev[i].name, events->ev[event].name);
	return nr;
}

/*
 * Print the labels of an event.  A second count of it gets one more label, as no two series may
 * have the same.
 */
static void print_event(FILE *f, const struct events *events, unsigned int event)
{
	const unsigned int earlier = earlier_of_name(events, event);

	fputs(",event=\"", f);
	print_value(f, events->ev[event].name);
	if (earlier)
		fprintf(f, "\",counter=\"%u", earlier + 1);
	fputc('"', f);
}

static void print_events(FILE *f, const struct printing *p, const struct part *parts)
{
	unsigned int i, k;

	fputs("# HELP perfex_events_total Events of the processor since perfex was started.\n"
	      "# TYPE perfex_events_total counter\n", f);
	for (k = 0; k < p->nrparts; k++) {
		for (i = 0; parts[k].nrcpus && i < p->events->nr; i++) {
			fputs("perfex_events_total{", f);
			print_part(f, &parts[k]);
			print_event(f, p->events, i);
			fprintf(f, "} %" PRIu64 "\n", event_count(p->events, &parts[k].sums, i));
		}
	}
}

static void print_seconds(FILE *f, const struct printing *p, const struct part *parts)
{
	unsigned int k;

	if (!p->info->tsc_khz)
		return;
	fputs("# HELP perfex_counted_seconds_total Time of these CPUs, with that of their sleep.\n"
	      "# TYPE perfex_counted_seconds_total counter\n", f);
	for (k = 0; k < p->nrparts; k++) {
		if (!parts[k].nrcpus)
			continue;
		fputs("perfex_counted_seconds_total{", f);
		print_part(f, &parts[k]);
		fprintf(f, "} %.9f\n", (double)parts[k].sums.tsc / (p->info->tsc_khz * 1e3));
	}
}

/*
 * A reader finds the old file or the new one, and no part of it.  The name of the new one
 * does not end with ".prom" before it is complete, so the collector does not read it.
 */
int prometheus_write(const char *file, const struct printing *p, const struct part *parts,
		     struct error *e)
{
	struct output out;
	int err;

	if (output_open(&out, file, OUTPUT_WHOLE, e))
		return -1;
	if (parts) {
		print_events(out.f, p, parts);
		print_seconds(out.f, p, parts);
	}
	err = output_close(&out, parts);
	return err ? fail_with(e, "cannot write to '%.300s': %s", file, strerror(err)) : 0;
}
