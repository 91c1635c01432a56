// SPDX-License-Identifier: GPL-2.0
/* Make the rows of a report's table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

static const char *const key_names[NR_KEYS] = {
	[KEY_COMM] = "comm", [KEY_PID] = "pid", [KEY_TID] = "tid", [KEY_CPU] = "cpu",
	[KEY_FILE] = "dso", [KEY_SYMBOL] = "symbol", [KEY_LINE] = "line", [KEY_EVENT] = "event",
};

const char *report_key_name(enum report_key key)
{
	return key_names[key];
}

int report_parse_keys(struct report_keys *keys, const char *text, struct error *e)
{
	size_t len;
	unsigned int i;

	keys->nr = 0;
	for (;; text += len + 1) {
		len = strcspn(text, ",");
		for (i = 0; i < NR_KEYS; i++)
			if (strlen(key_names[i]) == len && !strncmp(key_names[i], text, len))
				break;
		/* perf's other name of a shared object. */
		if (len == 4 && !strncmp(text, "file", len))
			i = KEY_FILE;
		if (i == NR_KEYS)
			return fail_with(e, "'%.*s' is not what a report can be sorted by: comm, pid, tid, cpu, dso, symbol, line or event",
					 len < 80 ? (int)len : 80, text);
		if (keys->nr == NR_KEYS)
			return fail_with(e, "there are too many keys in --sort");
		keys->key[keys->nr++] = (enum report_key)i;
		if (!text[len])
			return 0;
	}
}

bool report_has_key(const struct report_keys *keys, enum report_key key)
{
	unsigned int i;

	for (i = 0; i < keys->nr; i++)
		if (keys->key[i] == key)
			return true;
	return false;
}

/* ---- keys ---------------------------------------------------------------------------- */

static struct row_key make_key(const struct profile *p, const struct report_keys *keys,
			       const struct profile_group *group, const struct profile_frame *frame)
{
	const struct profile_thread *thread = thread_of(p, group->thread);
	struct row_key key = { 0 };
	unsigned int i;

	for (i = 0; i < keys->nr; i++) {
		switch (keys->key[i]) {
		case KEY_COMM:
			key.comm = thread->comm;
			break;
		case KEY_PID:
			key.pid = thread->pid;
			break;
		case KEY_TID:
			key.tid = thread->tid;
			break;
		case KEY_CPU:
			key.cpu = group->cpu;
			break;
		case KEY_EVENT:
			key.event = group->event;
			break;
		case KEY_LINE:
			key.source = frame->source;
			key.line = frame->line;
			/* fall through */
		case KEY_SYMBOL:
			key.function = frame->function;
			key.address = frame->address;
			/* fall through */
		default:
			key.file = frame->file;
		}
	}
	/* A line needs no address. */
	if (key.source)
		key.address = 0;
	return key;
}

static char *label_symbol(const struct profile *p, const struct row_key *key, bool with_file,
			  bool line)
{
	char file[300], *label = NULL;
	int len;

	profile_file_label(p, key->file, file, sizeof(file));
	if (line && key->source)
		len = asprintf(&label, "%s:%u  %s", string_of(p, key->source), key->line,
			       key->function ? string_of(p, key->function) : file);
	else if (key->function)
		len = asprintf(&label, "%s%s%s%s", string_of(p, key->function),
			       with_file ? " " : "", with_file ? file : "",
			       line ? ", line not known" : "");
	else if (key->file == FILE_UNKNOWN || key->file == FILE_KERNEL || !key->address)
		len = asprintf(&label, "%s", file);
	else
		len = asprintf(&label, "%s+0x%" PRIx64, file, key->address);
	return len < 0 ? NULL : label;
}

static char *make_label(const struct profile *p, const struct report_keys *keys,
			enum report_key by, const struct row_key *key)
{
	char buf[300] = "?";

	switch (by) {
	case KEY_COMM:
		return strdup(key->comm ? string_of(p, key->comm) : "?");
	case KEY_PID:
		snprintf(buf, sizeof(buf), "%u", key->pid);
		break;
	case KEY_TID:
		snprintf(buf, sizeof(buf), "%u", key->tid);
		break;
	case KEY_CPU:
		snprintf(buf, sizeof(buf), "%u", key->cpu);
		break;
	case KEY_EVENT:
		return strdup(p->events[key->event].name);
	case KEY_FILE:
		profile_file_label(p, key->file, buf, sizeof(buf));
		break;
	case KEY_LINE:
		return label_symbol(p, key, true, true);
	default:
		return label_symbol(p, key, !report_has_key(keys, KEY_FILE), false);
	}
	return strdup(buf);
}

/* ---- rows ------------------------------------------------------------------------------ */

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int i, order = 0;

	if (x->all_weight != y->all_weight)
		return x->all_weight < y->all_weight ? 1 : -1;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	for (i = 0; !order && i < NR_KEYS && x->label[i]; i++)
		order = strcmp(x->label[i], y->label[i]);
	return order;
}

uint32_t rows_above(const struct hash_table *t, uint32_t nr, double weight)
{
	while (nr && (double)row_of(t, nr)->all_weight < weight)
		nr--;
	return nr;
}

void rows_free(struct hash_table *t)
{
	struct row *rows = t->items;
	uint32_t i;
	int k;

	for (i = 1; i < t->nr; i++)
		for (k = 0; k < NR_KEYS; k++)
			free(rows[i].label[k]);
	hash_table_free(t);
}

/* A function that is in the path more than once counts once. */
static bool add_group(const struct profile *p, struct hash_table *t, const struct report_keys *keys,
		      const struct profile_group *group, uint32_t number, bool children,
		      uint32_t *frames)
{
	unsigned int i, nr = profile_path(p, group->stack, frames);
	struct row_key key;
	struct row *row;
	uint32_t at;

	for (i = 0; i < (children ? nr : 1); i++) {
		key = make_key(p, keys, group, frame_of(p, frames[i]));
		at = hash_table_add(t, &key);
		if (!at)
			return false;
		row = (struct row *)t->items + at;
		if (!i) {
			row->samples += group->samples;
			row->weight += group->weight;
		}
		if (row->seen == number)
			continue;
		row->seen = number;
		row->all_samples += group->samples;
		row->all_weight += group->weight;
	}
	return true;
}

static int label_rows(const struct profile *p, struct hash_table *t, const struct report_keys *keys,
		      struct error *e)
{
	struct row *row;
	unsigned int k;
	uint32_t i;

	for (i = 1; i < t->nr; i++) {
		row = (struct row *)t->items + i;
		for (k = 0; k < keys->nr; k++) {
			row->label[k] = make_label(p, keys, keys->key[k], &row->key);
			if (!row->label[k])
				return fail_memory(e);
		}
	}
	if (t->nr)
		qsort((struct row *)t->items + 1, t->nr - 1, sizeof(struct row), compare_rows);
	return 0;
}

int rows_make(const struct profile *p, struct hash_table *t, const struct report_keys *keys,
	      unsigned int event, bool children, struct error *e)
{
	uint32_t *frames = malloc(MAX_PATH * sizeof(*frames)), i;
	struct hash_table groups = { 0 };
	int err = frames ? 0 : fail_memory(e);

	*t = (struct hash_table){ .size = sizeof(struct row), .key = sizeof(struct row_key) };
	if (!err)
		err = profile_group(p, &groups, report_has_key(keys, KEY_CPU), e);
	for (i = 1; !err && i < groups.nr; i++) {
		const struct profile_group *group = (struct profile_group *)groups.items + i;

		if ((event == p->nrevents || group->event == event) &&
		    !add_group(p, t, keys, group, i, children, frames))
			err = fail_memory(e);
	}
	hash_table_free(&groups);
	free(frames);
	return err ? err : label_rows(p, t, keys, e);
}
