// SPDX-License-Identifier: GPL-2.0
/* perfex --report -j: one object, with a row for each key, and the trees that are asked for. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "report.h"
#include "tree.h"

/* Unlike text, JSON has numbers, and whole paths. */
static void print_key(FILE *f, const struct profile *p, enum report_key by, const struct row *row,
		      const char *label)
{
	const struct row_key *key = &row->key;
	char path[4096];

	fprintf(f, "\"%s\":", report_key_name(by));
	switch (by) {
	case KEY_PID:
	case KEY_TID:
	case KEY_CPU:
		fputs(label, f);
		break;
	case KEY_FILE:
		if (key->file == FILE_UNKNOWN || key->file == FILE_KERNEL) {
			json_string(f, label);
			break;
		}
		snprintf(path, sizeof(path), "%s", string_of(p, file_of(p, key->file)->path));
		replace_controls(path);
		json_string(f, path);
		break;
	case KEY_LINE:
		if (key->source) {
			snprintf(path, sizeof(path), "%s:%u", string_of(p, key->source), key->line);
			json_string(f, path);
		} else {
			fputs("null", f);
		}
		break;
	case KEY_SYMBOL:
		json_string(f, key->function ? string_of(p, key->function) : label);
		break;
	default:
		json_string(f, label);
	}
}

static double share(uint64_t part, uint64_t all)
{
	return (double)part / (double)(all ? all : 1);
}

static void print_row(FILE *f, const struct profile *p, const struct report_keys *keys,
		      const struct profile_event *event, const struct row *row, bool children)
{
	unsigned int k;

	fputc('{', f);
	for (k = 0; k < keys->nr; k++) {
		print_key(f, p, keys->key[k], row, row->label[k]);
		fputc(',', f);
	}
	fprintf(f, "\"samples\":%" PRIu64 ",\"weight\":%" PRIu64 ",\"share\":%.6f", row->samples,
		row->weight, share(row->weight, event->weight));
	if (children)
		fprintf(f, ",\"all-samples\":%" PRIu64 ",\"all-weight\":%" PRIu64 ",\"all-share\":%.6f",
			row->all_samples, row->all_weight, share(row->all_weight, event->weight));
	fputc('}', f);
}

/* Return: what has less is left out. */
static double least_weight(const struct profile *p, unsigned int event, const struct reporting *o)
{
	return o->percent_limit / 100 * (double)p->events[event].weight;
}

static int print_rows(FILE *f, const struct profile *p, unsigned int event,
		      const struct report_keys *keys, const struct reporting *o, struct error *e)
{
	struct hash_table t;
	uint32_t i, nr = 0;
	int err;

	err = rows_make(p, &t, keys, event, o->children, e);
	if (!err && t.nr)
		nr = rows_above(&t, t.nr - 1, least_weight(p, event, o));
	fputs(",\n \"rows\":[", f);
	for (i = 1; i <= nr; i++) {
		fputs(i > 1 ? ",\n  " : "\n  ", f);
		print_row(f, p, keys, &p->events[event], row_of(&t, i), o->children);
	}
	fputc(']', f);
	rows_free(&t);
	return err;
}

static void print_node(FILE *f, const struct profile *p, const struct tree *t, uint32_t number,
		       double least)
{
	const struct tree_node *node = node_of(t, number);
	char name[MAX_TREE_NAME];
	uint32_t i, nr = 0;

	fputs("{\"symbol\":", f);
	json_string(f, tree_name(p, node, name, sizeof(name)));
	profile_file_label(p, node->file ? node->file : FILE_UNKNOWN, name, sizeof(name));
	if (node->file) {
		fputs(",\"dso\":", f);
		json_string(f, name);
	}
	fprintf(f, ",\"weight\":%" PRIu64 ",\"self\":%" PRIu64, node->weight, node->self);
	for (i = 0; i < node->nr; i++) {
		const uint32_t below = t->order[node->below + i];

		if ((double)node_of(t, below)->weight < least)
			continue;
		fputs(nr++ ? "," : ",\"below\":[", f);
		print_node(f, p, t, below, least);
	}
	fputs(nr ? "]}" : "}", f);
}

static int print_tree(FILE *f, struct profile *p, unsigned int event,
		      enum tree_direction direction, const struct reporting *o, struct error *e)
{
	struct tree t;
	int err;

	err = tree_make(&t, p, event, direction, false, e);
	if (!err) {
		fprintf(f, ",\n \"%s\":", direction == TREE_CALLERS ? "callers" : "callees");
		if (t.nodes.nr)
			print_node(f, p, &t, 1, least_weight(p, event, o));
		else
			fputs("null", f);
	}
	tree_free(&t);
	return err;
}

static int print_event(FILE *f, struct profile *p, unsigned int number, const struct reporting *o,
		       struct error *e)
{
	const struct profile_event *event = &p->events[number];
	const struct reporting *r = o;
	struct report_keys keys;

	if (report_parse_keys(&keys, r->sort ? r->sort : "symbol,dso", e))
		return -1;
	fputs("{\"event\":", f);
	json_string(f, event->name);
	fprintf(f, ",\"period\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64,
		event->period, event->samples, event->weight);
	if (event->time)
		fputs(",\"unit\":\"ns\"", f);
	if (p->complete)
		fprintf(f, ",\"count\":%" PRIu64, event->count);
	if (print_rows(f, p, number, &keys, r, e) ||
	    (r->callees && print_tree(f, p, number, TREE_CALLEES, o, e)) ||
	    (r->callers && print_tree(f, p, number, TREE_CALLERS, o, e)))
		return -1;
	fputc('}', f);
	return 0;
}

int report_json(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	unsigned int event;

	fputs("{\"command\":", f);
	json_string(f, p->command ? p->command : "?");
	fputs(",\"processor\":", f);
	json_string(f, p->cpu_name);
	fprintf(f, ",\"complete\":%s,\"samples\":%" PRIu64 ",\"dropped\":%" PRIu64 ",\"lost\":%" PRIu64,
		p->complete ? "true" : "false", p->taken, p->dropped, p->lost);
	if (p->rate)
		fprintf(f, ",\"rate\":%" PRIu32, p->rate);
	if (p->complete && p->tsc_khz)
		fprintf(f, ",\"thread-seconds\":%.9f", (double)p->tsc / (p->tsc_khz * 1e3));
	fputs(",\"events\":[\n", f);
	for (event = 0; event < p->nrevents; event++) {
		if (event)
			fputs(",\n", f);
		if (print_event(f, p, event, o, e))
			return -1;
	}
	fputs("]}\n", f);
	return 0;
}
