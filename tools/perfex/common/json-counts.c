// SPDX-License-Identifier: GPL-2.0
/*
 * Read counts that perfex -j, or perf stat -j, has written: a flat JSON object in each line.
 * Other lines, such as those that a program has written to the same file, are an error.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "json-counts.h"
#include "perf-data.h"
#include "sample-file.h"

#define MAX_FIELDS	32
#define MAX_RECORDS	(1U << 22)

/* More than any line has, and than all names of events, units, CPUs and threads of a file take. */
#define MAX_LINE	(1U << 16)
#define MAX_TEXTS	(1U << 26)
#define SIZE_OF_TEXT	64	/* besides its bytes */

/* No count is larger, and sums of such numbers have a value. */
#define MAX_VALUE	1e300

struct field {
	char *key, *value;	/* without quotes */
};

/* ---- a line --------------------------------------------------------------------- */

static char *skip_space(char *p)
{
	return p + strspn(p, " \t\r\n");
}

/* Return: the number of bytes of a code point, written to `to`. */
static size_t put_utf8(char *to, unsigned long c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	to[0] = (char)(0xe0 | c >> 12);
	to[1] = (char)(0x80 | (c >> 6 & 0x3f));
	to[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

/* Take an escape, as "\n" or "\u0041", at *p.  Return: false: no escape is there. */
static bool take_escape(char **p, char **to)
{
	static const char from[] = "bfnrt\"\\/", means[] = "\b\f\n\r\t\"\\/";
	const char *at = **p ? strchr(from, **p) : NULL;
	char digits[5] = "";

	if (at) {
		*(*to)++ = means[at - from];
		(*p)++;
		return true;
	}
	if (**p != 'u')
		return false;
	memcpy(digits, *p + 1, strnlen(*p + 1, 4));
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return false;
	*p += 5;
	*to += put_utf8(*to, strtoul(digits, NULL, 16));
	return true;
}

/* Take a string at *p, which is after the quote, in place.  Return: it, or NULL. */
static char *take_string(char **p)
{
	char *start = *p, *to = *p;

	while (**p != '"') {
		if (!**p)
			return NULL;
		if (**p != '\\') {
			*to++ = *(*p)++;
			continue;
		}
		(*p)++;
		if (!take_escape(p, &to))
			return NULL;
	}
	(*p)++;
	*to = '\0';
	replace_controls(start);
	return start;
}

/*
 * Take a number or a word, such as null.  Nothing else has no quotes, and it may be printed.
 * The character after it is returned in *after, as it is cut off.
 */
static char *take_word(char **p, char *after)
{
	char *start = *p;

	while (isalnum((unsigned char)**p) || (**p && strchr("+-.", **p)))
		(*p)++;
	*after = **p;
	if (*p == start || !*after || !strchr(",} \t\r\n", *after))
		return NULL;
	*(*p)++ = '\0';
	return start;
}

static bool take_value(char **p, struct field *field, char *after)
{
	*p = skip_space(*p);
	if (**p == '"') {
		(*p)++;
		field->value = take_string(p);
		if (!field->value)
			return false;
	} else {
		field->value = take_word(p, after);
		if (!field->value)
			return false;
		if (*after == ',' || *after == '}')
			return true;
	}
	*p = skip_space(*p);
	*after = **p;
	if (*after)
		(*p)++;
	return true;
}

/* Return: the number of fields of the object in a line, or -1. */
static int parse_object(char *p, struct field *fields)
{
	char after = ',';
	int nr = 0;

	p = skip_space(p);
	if (*p++ != '{')
		return -1;
	while (after == ',') {
		if (nr == MAX_FIELDS)
			return -1;
		p = skip_space(p);
		if (*p++ != '"')
			return -1;
		fields[nr].key = take_string(&p);
		if (!fields[nr].key)
			return -1;
		p = skip_space(p);
		if (*p++ != ':' || !take_value(&p, &fields[nr], &after))
			return -1;
		nr++;
	}
	return after == '}' && !*skip_space(p) ? nr : -1;
}

/* ---- records ------------------------------------------------------------------------- */

static const char *find_field(const struct field *fields, int nr, const char *key)
{
	int i;

	for (i = 0; i < nr; i++)
		if (!strcmp(fields[i].key, key))
			return fields[i].value;
	return NULL;
}

static bool parse_double(const char *text, double *value)
{
	char *end;

	if (!text || !(isdigit((unsigned char)*text) || *text == '-'))
		return false;
	*value = strtod(text, &end);
	return !*end && fabs(*value) <= MAX_VALUE;
}

/* A count is whole, and may be larger than a double can hold: "123.000000". */
static bool parse_whole(const char *text, uint64_t *n)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*n = strtoull(text, &end, 10);
	if (*end == '.')
		end += 1 + strspn(end + 1, "0");
	return !errno && !*end;
}

/* Return: the file's copy of a text; NULL: there is no memory, or the file has too many of them */
static const char *keep_text(struct records *records, const char *text)
{
	const uint32_t nr = records->texts.nr, i = hash_table_add(&records->texts, text);

	if (!i)
		return NULL;
	if (records->texts.nr != nr)
		records->text_size += strlen(text) + SIZE_OF_TEXT;
	return records->text_size <= MAX_TEXTS ? ((char **)records->texts.items)[i] : NULL;
}

/* The fields that name a part, of perfex and of perf, which has "cgroup" beside another of them. */
static const char *name_part(struct records *records, const struct field *fields, int nr)
{
	static const char *const keys[] = {
		"thread", "cpu", "core", "cluster", "cache", "die", "socket", "node", "kind", "cgroup",
	};
	char text[MAX_LINE + 16 * ARRAY_SIZE(keys)], *to = text;
	const char *value;
	size_t i;

	*to = '\0';
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		value = find_field(fields, nr, keys[i]);
		if (!value || !*value)
			continue;
		if (to != text)
			to = stpcpy(to, ", ");
		/* CPUs, and perf's others, may be numbers. */
		if (isdigit((unsigned char)*value))
			to = stpcpy(stpcpy(to, keys[i]), " ");
		to = stpcpy(to, value);
	}
	return keep_text(records, text);
}

/* True if it follows from the count and the time alone, which are in the record, too. */
static bool is_rate(const char *unit)
{
	const size_t length = strlen(unit);

	return !strcmp(unit, "GHz") || (length >= 4 && !strcmp(unit + length - 4, "/sec"));
}

/* Return: what is printed in place of a value; NULL: it is something else */
static const char *find_instead(const char *value)
{
	static const char *const known[] = { "<not counted>", "<not supported>", "<not permitted>" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strcmp(value, known[i]))
			return known[i];
	return strcmp(value, "null") ? NULL : "<no value>";
}

/*
 * Fill in a record by the fields of an object.  Return: 0; -1: the object is no count; -2: there
 * is no memory, or there are too many names.
 */
static int fill_in(struct records *records, struct count_record *r, const struct field *fields, int nr)
{
	const char *event = find_field(fields, nr, "event"), *metric = find_field(fields, nr, "metric");
	const char *at = find_field(fields, nr, "interval"), *unit;
	const char *value = find_field(fields, nr, metric ? "metric-value" : "counter-value");

	if ((!event && !metric) || !value)
		return -1;
	r->at = -1;
	if (at && (!parse_double(at, &r->at) || r->at < 0))
		return -1;
	r->metric = metric;
	r->counted = parse_double(value, &r->value);
	r->whole = r->counted && !metric && parse_whole(value, &r->count);
	r->instead = r->counted ? NULL : find_instead(value);
	if (!r->counted && !r->instead)
		return -1;
	unit = find_field(fields, nr, metric ? "metric-unit" : "unit");
	r->part = name_part(records, fields, nr);
	r->name = keep_text(records, metric ? metric : event);
	r->unit = keep_text(records, unit ? unit : "");
	unit = find_field(fields, nr, "metric-unit");
	r->has_ratio = !metric && unit && *unit && !is_rate(unit) &&
		       parse_double(find_field(fields, nr, "metric-value"), &r->ratio);
	r->ratio_unit = keep_text(records, r->has_ratio ? unit : "");
	return r->part && r->name && r->unit && r->ratio_unit ? 0 : -2;
}

static int fail_line(const char *name, unsigned int number, struct error *e)
{
	return fail_with(e, "'%.200s', line %u, is no count: perfex -j writes such files", name, number);
}

static int add_line(struct records *records, char *line, const char *name, unsigned int number,
		    struct error *e)
{
	struct field fields[MAX_FIELDS];
	struct count_record *more;
	int nr, err;

	if (!*skip_space(line) || *line == '#')
		return 0;
	nr = parse_object(line, fields);
	if (records->nr == MAX_RECORDS)
		return fail_with(e, "'%.200s' has too many counts", name);
	if (records->nr == records->room) {
		records->room = records->room ? 2 * records->room : 256;
		more = reallocarray(records->record, records->room, sizeof(*more));
		if (!more)
			return fail_with(e, "out of memory");
		records->record = more;
	}
	memset(&records->record[records->nr], 0, sizeof(*more));
	err = nr < 0 ? -1 : fill_in(records, &records->record[records->nr], fields, nr);
	if (err == -2)
		return records->text_size > MAX_TEXTS ? fail_with(e, "'%.200s' has too many names", name) :
							fail_with(e, "out of memory");
	if (err)
		return fail_line(name, number, e);
	records->nr++;
	return 0;
}

/* True if this is a whole line, or the rest of the file without a line's end. */
static bool is_whole(FILE *f, const char *line)
{
	return strchr(line, '\n') || feof(f);
}

static bool begins_samples(const char *line)
{
	return !strncmp(line, SAMPLES_MAGIC, strlen(SAMPLES_MAGIC)) ||
	       !strncmp(line, PERF_DATA_MAGIC, strlen(PERF_DATA_MAGIC)) ||
	       !strncmp(line, PERF_DATA_OTHER, strlen(PERF_DATA_OTHER));
}

int records_read(struct records *records, const char *name, struct error *e)
{
	FILE *f = strcmp(name, "-") ? open_input(name, e) : stdin;
	unsigned int number = 0;
	char *line = malloc(MAX_LINE);
	int err = 0;

	memset(records, 0, sizeof(*records));
	records->texts = (struct hash_table){ .size = sizeof(char *), .text = true };
	if (!f || !line)
		err = f ? fail_with(e, "out of memory") : -1;
	while (!err && fgets(line, MAX_LINE, f)) {
		number++;
		if (number == 1 && begins_samples(line))
			err = fail_with(e, "'%.200s' has samples, and no counts: perfex report reads them, and perfex diff those in files, not in pipes",
					name);
		else
			err = is_whole(f, line) ? add_line(records, line, name, number, e) : fail_line(name, number, e);
	}
	if (!err && ferror(f))
		err = fail_with(e, "cannot read '%.200s': %s", name, strerror(errno));
	free(line);
	if (f && f != stdin)
		fclose(f);
	if (!err && !records->nr)
		err = fail_with(e, "'%.200s' has no counts: perfex -j writes such files", name);
	return err;
}

static const char *name_in(const struct names *names, size_t i)
{
	const struct hash_table *t = names->arg;

	return i + 1 < t->nr ? *(char *const *)((const char *)t->items + (i + 1) * t->size) : NULL;
}

int records_check_events(const struct hash_table *t, const struct event_list *events,
			 const char *where, struct error *e)
{
	const struct names names = { name_in, t };

	return check_events(events, &names, where, e);
}

int records_check_once(struct hash_table *seen, const struct count_record *r, const char *name,
		       struct error *e)
{
	const struct record_key key = { .name = r->name, .part = r->part, .metric = r->metric };
	const uint32_t nr = seen->nr;

	if (!hash_table_add(seen, &key))
		return fail_with(e, "out of memory");
	if (seen->nr != nr)
		return 0;
	return fail_with(e, "'%.200s' has '%.100s' twice: it may have the counts of two runs (--append), or of one that counted it twice",
			 name, r->name);
}

void records_free(struct records *records)
{
	hash_table_free(&records->texts);
	free(records->record);
	memset(records, 0, sizeof(*records));
}
