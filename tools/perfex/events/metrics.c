// SPDX-License-Identifier: GPL-2.0
/*
 * Metrics: numbers that are computed from the counts of one run.
 *
 * Their definitions are in tables, which are text: see metrics.table.  The table inside
 * perfex is a copy of that file.  Tables of the user and of the machine come before it.
 */
#include <ctype.h>
#include <errno.h>
#include <perfmon/pfmlib.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "metrics.h"

#define MAX_OPS		64
#define MAX_DEPTH	16	/* of parentheses */

enum op_type { OP_NUMBER, OP_EVENT, OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE, OP_MAX, OP_MIN };

/* A step of an expression, in postfix notation. */
struct op {
	enum op_type type;
	double number;
	unsigned int event;
};

struct metric_def {
	struct metric_def *next;
	char *processors;	/* libpfm4's names, with commas; "any" */
	char *name, *group, *unit, *text, *source;
	char *expression;	/* as it was written */
	char *refusal;		/* why this processor has no such metric; NULL: it has */
	unsigned int detail;	/* level of -d that shows it; 0: none */
	unsigned int nrops, nrevents;
	struct op op[MAX_OPS];
	char *event[METRIC_EVENTS];
};

static struct metric_def *first_def, **end_of_defs = &first_def;
static bool loaded;

/* ---- expressions ------------------------------------------------------------------ */

/* A place in a table, for messages, and in an expression. */
struct parser {
	const char *file;
	unsigned int line;
	const char *p;
	unsigned int depth;
	struct metric_def *def;
	struct error *e;
};

static int fail_parse(const struct parser *parser, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static int fail_parse(const struct parser *parser, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return fail_with(parser->e, "%.200s:%u: %s", parser->file, parser->line, text);
}

static int add_op(struct parser *parser, enum op_type type, double number, unsigned int event)
{
	struct metric_def *def = parser->def;

	if (def->nrops == MAX_OPS)
		return fail_parse(parser, "the expression is too long");
	def->op[def->nrops++] = (struct op){ type, number, event };
	return 0;
}

static void skip_space(struct parser *parser)
{
	parser->p += strspn(parser->p, " \t");
}

/* Words end at white space, parentheses and commas: names of events have the other marks. */
static size_t word_length(const struct parser *parser)
{
	return strcspn(parser->p, " \t(),");
}

/* True if the next word is this one, which is skipped then. */
static bool take_word(struct parser *parser, const char *word)
{
	const size_t length = word_length(parser);

	if (length != strlen(word) || strncmp(parser->p, word, length))
		return false;
	parser->p += length;
	skip_space(parser);
	return true;
}

static bool take_mark(struct parser *parser, char mark)
{
	if (*parser->p != mark)
		return false;
	parser->p++;
	skip_space(parser);
	return true;
}

static int parse_sum(struct parser *parser);

static int parse_event(struct parser *parser, size_t length)
{
	struct metric_def *def = parser->def;
	unsigned int i;

	for (i = 0; i < def->nrevents; i++)
		if (strlen(def->event[i]) == length && !strncmp(def->event[i], parser->p, length))
			break;
	if (i == METRIC_EVENTS)
		return fail_parse(parser, "a metric has at most %d events", METRIC_EVENTS);
	if (i == def->nrevents) {
		def->event[i] = strndup(parser->p, length);
		if (!def->event[i])
			return fail_parse(parser, "out of memory");
		def->nrevents++;
	}
	parser->p += length;
	skip_space(parser);
	return add_op(parser, OP_EVENT, 0, i);
}

/* max(A, B), min(A, B) */
static int parse_function(struct parser *parser, enum op_type type)
{
	if (!take_mark(parser, '('))
		return fail_parse(parser, "there is no '(' after max or min");
	if (parse_sum(parser))
		return -1;
	if (!take_mark(parser, ','))
		return fail_parse(parser, "max and min have two values, with a comma between");
	if (parse_sum(parser))
		return -1;
	if (!take_mark(parser, ')'))
		return fail_parse(parser, "there is no ')' after '%.40s'", parser->p);
	return add_op(parser, type, 0, 0);
}

static int parse_value(struct parser *parser)
{
	size_t length;
	double number;
	char *end;
	int err;

	if (take_mark(parser, '(')) {
		if (++parser->depth > MAX_DEPTH)
			return fail_parse(parser, "there are too many parentheses in each other");
		err = parse_sum(parser);
		parser->depth--;
		if (!err && !take_mark(parser, ')'))
			return fail_parse(parser, "a ')' is missing");
		return err;
	}
	if (take_word(parser, "max"))
		return parse_function(parser, OP_MAX);
	if (take_word(parser, "min"))
		return parse_function(parser, OP_MIN);
	length = word_length(parser);
	if (!length)
		return fail_parse(parser, "a number or an event is missing at the end, or before '%.40s'",
				  parser->p);
	if (!isdigit((unsigned char)*parser->p) || !strncmp(parser->p, "0x", 2))
		return isalnum((unsigned char)*parser->p) ? parse_event(parser, length) :
			fail_parse(parser, "'%.*s' is neither a number nor an event", (int)length,
				   parser->p);
	number = strtod(parser->p, &end);
	if (end != parser->p + length)
		return fail_parse(parser, "'%.*s' is not a number", (int)length, parser->p);
	parser->p = end;
	skip_space(parser);
	return add_op(parser, OP_NUMBER, number, 0);
}

static int parse_product(struct parser *parser)
{
	enum op_type type;

	if (parse_value(parser))
		return -1;
	for (;;) {
		if (take_word(parser, "*"))
			type = OP_MULTIPLY;
		else if (take_word(parser, "/"))
			type = OP_DIVIDE;
		else
			return 0;
		if (parse_value(parser) || add_op(parser, type, 0, 0))
			return -1;
	}
}

static int parse_sum(struct parser *parser)
{
	enum op_type type;

	if (parse_product(parser))
		return -1;
	for (;;) {
		if (take_word(parser, "+"))
			type = OP_ADD;
		else if (take_word(parser, "-"))
			type = OP_SUBTRACT;
		else
			return 0;
		if (parse_product(parser) || add_op(parser, type, 0, 0))
			return -1;
	}
}

static int parse_expression(struct parser *parser, const char *text)
{
	struct metric_def *def = parser->def;

	if (def->nrops)
		return fail_parse(parser, "'%.40s' has two expressions", def->name);
	parser->p = text;
	skip_space(parser);
	if (parse_sum(parser))
		return -1;
	if (*parser->p)
		return fail_parse(parser, "there is no operator, with spaces around it, before '%.40s'",
				  parser->p);
	if (!def->nrevents)
		return fail_parse(parser, "the expression has no event");
	return 0;
}

/* ---- tables ------------------------------------------------------------------------- */

static int set_text(const struct parser *parser, char **field, const char *text)
{
	free(*field);
	*field = strdup(text);
	return *field ? 0 : fail_parse(parser, "out of memory");
}

static bool is_word(const char *text)
{
	return *text && !text[strcspn(text, " \t,:")];
}

static int begin_metric(struct parser *parser, const char *processors, const char *name)
{
	struct metric_def *def;

	if (!*processors)
		return fail_parse(parser, "a line with 'processor' must come before the first metric");
	if (!is_word(name))
		return fail_parse(parser, "'%.40s' is not the name of a metric", name);
	def = calloc(1, sizeof(*def));
	if (!def)
		return fail_parse(parser, "out of memory");
	parser->def = def;
	*end_of_defs = def;
	end_of_defs = &def->next;
	return set_text(parser, &def->processors, processors) || set_text(parser, &def->name, name);
}

/* A metric needs one of the two. */
static int end_metric(const struct parser *parser)
{
	const struct metric_def *def = parser->def;

	if (def && !def->nrops == !def->refusal)
		return fail_parse(parser, "'%.40s' must have either 'is' or 'refuse'", def->name);
	return 0;
}

static int parse_detail(const struct parser *parser, const char *text)
{
	if (strcmp(text, "1") && strcmp(text, "2") && strcmp(text, "3"))
		return fail_parse(parser, "'detail' is 1, 2 or 3");
	parser->def->detail = (unsigned int)(*text - '0');
	return 0;
}

static int parse_property(struct parser *parser, const char *key, const char *text)
{
	struct metric_def *def = parser->def;

	if (!def)
		return fail_parse(parser, "'%.40s' must come after a line with 'metric'", key);
	if (!*text)
		return fail_parse(parser, "'%.40s' has no text", key);
	if (!strcmp(key, "is"))
		return parse_expression(parser, text) || set_text(parser, &def->expression, text);
	if (!strcmp(key, "unit"))
		return set_text(parser, &def->unit, text);
	if (!strcmp(key, "text"))
		return set_text(parser, &def->text, text);
	if (!strcmp(key, "source"))
		return set_text(parser, &def->source, text);
	if (!strcmp(key, "refuse"))
		return set_text(parser, &def->refusal, text);
	if (!strcmp(key, "detail"))
		return parse_detail(parser, text);
	if (strcmp(key, "group"))
		return fail_parse(parser, "'%.40s' is not known: there are processor, metric, is, unit, text, source, group, detail and refuse",
				  key);
	return is_word(text) ? set_text(parser, &def->group, text) :
		fail_parse(parser, "'%.40s' is not the name of a group", text);
}

static int parse_line(struct parser *parser, char *line, char *processors, size_t size)
{
	char *key, *text, *end;

	for (text = line; *text; text++)
		if (*text == '\t' || *text == '\r')
			*text = ' ';
	replace_controls(line);
	key = line + strspn(line, " ");
	if (!*key || *key == '#')
		return 0;
	for (end = key + strlen(key); end[-1] == ' '; )
		*--end = '\0';
	text = key + strcspn(key, " ");
	if (*text)
		*text++ = '\0';
	text += strspn(text, " ");
	if (strcmp(key, "processor") && strcmp(key, "metric"))
		return parse_property(parser, key, text);
	if (end_metric(parser))
		return -1;
	if (!strcmp(key, "metric"))
		return begin_metric(parser, processors, text);
	parser->def = NULL;
	if (!*text || strlen(text) >= size)
		return fail_parse(parser, "'processor' needs libpfm4's names of processors, or 'any'");
	strcpy(processors, text);
	return 0;
}

int metrics_parse(const char *text, const char *name, struct error *e)
{
	struct parser parser = { .file = name, .e = e };
	char *copy = strdup(text), *rest = copy, *line, processors[200] = "";
	int err = 0;

	if (!copy)
		return fail_with(e, "out of memory");
	while (!err && (line = strsep(&rest, "\n"))) {
		parser.line++;
		err = parse_line(&parser, line, processors, sizeof(processors));
	}
	free(copy);
	return err ? -1 : end_metric(&parser);
}

#define MAX_TABLE	(1U << 20)

/* A file that is not there is no error. */
static int load_file(const char *path, struct error *e)
{
	FILE *f = fopen(path, "re");
	char *text;
	size_t n;
	int err;

	if (!f)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 :
			fail_with(e, "cannot read '%.200s': %s", path, strerror(errno));
	text = malloc(MAX_TABLE);
	if (!text) {
		fclose(f);
		return fail_with(e, "out of memory");
	}
	n = fread(text, 1, MAX_TABLE - 1, f);
	text[n] = '\0';
	if (ferror(f) || n == MAX_TABLE - 1 || strlen(text) != n)
		err = fail_with(e, "'%.200s' is not a table of metrics", path);
	else
		err = metrics_parse(text, path, e);
	free(text);
	fclose(f);
	return err;
}

/* The file metrics.table, in metrics-table.S. */
extern const char perfex_metrics_table[];

int metrics_load(struct error *e)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	char path[512];

	if (loaded)
		return 0;
	if (config && *config == '/')
		snprintf(path, sizeof(path), "%s/perfex/metrics", config);
	else
		snprintf(path, sizeof(path), "%s/.config/perfex/metrics", home ? home : "");
	if ((home || config) && load_file(path, e))
		return -1;
	if (load_file("/etc/perfex/metrics", e) ||
	    metrics_parse(perfex_metrics_table, "perfex's metrics", e))
		return -1;
	loaded = true;
	return 0;
}

void metrics_forget(void)
{
	struct metric_def *def;
	unsigned int i;

	while ((def = first_def)) {
		first_def = def->next;
		for (i = 0; i < def->nrevents; i++)
			free(def->event[i]);
		free(def->processors);
		free(def->name);
		free(def->group);
		free(def->unit);
		free(def->text);
		free(def->source);
		free(def->expression);
		free(def->refusal);
		free(def);
	}
	end_of_defs = &first_def;
	loaded = false;
}

/* ---- choosing --------------------------------------------------------------------- */

/* True if libpfm4's PMU is of another kind of hybrid cores: 40H are Intel's Core, 20H Atom. */
static bool is_other_kind(const pfm_pmu_info_t *pmu, const struct vperfctr_info *info)
{
	const uint32_t type = info->core_type >> 24;

	return type && ((!strcmp(pmu->name, "adl_glc") && type != 0x40) ||
			(!strcmp(pmu->name, "adl_grt") && type != 0x20));
}

/* Return: libpfm4's name of the processor, or of the kind of its CPUs; NULL: not known. */
static const char *processor_name(const struct vperfctr_info *info)
{
	pfm_pmu_info_t pmu;
	int i;

	if (pfm_initialize() != PFM_SUCCESS)
		return NULL;
	for (i = 0; i < PFM_PMU_MAX; i++) {
		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		/* Left out: Intel's architectural events, and an old name of Zen 1. */
		if (i != PFM_PMU_INTEL_X86_ARCH && i != PFM_PMU_AMD64_FAM17H &&
		    pfm_get_pmu_info((pfm_pmu_t)i, &pmu) == PFM_SUCCESS && pmu.is_present &&
		    pmu.type == PFM_PMU_TYPE_CORE && !is_other_kind(&pmu, info))
			return pmu.name;
	}
	return NULL;
}

/* True if the list has this name. */
static bool has_name(const char *list, const char *name)
{
	const size_t length = strlen(name);
	const char *p;

	for (p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		p += strspn(p, " ");
		if (strcspn(p, ", ") == length && !strncmp(p, name, length))
			return true;
	}
	return false;
}

static bool is_for(const struct metric_def *def, const struct vperfctr_info *info)
{
	const char *processor = processor_name(info);

	return !strcmp(def->processors, "any") || (processor && has_name(def->processors, processor));
}

static bool is_for_all(const struct metric_def *def, const struct vperfctr_info *info,
		       unsigned int nrkinds)
{
	unsigned int k;

	for (k = 0; k < nrkinds; k++)
		if (!is_for(def, &info[k]))
			return false;
	return true;
}

/* Return: the first definition of this name for all kinds, or NULL. */
static const struct metric_def *find_def(const char *name, const struct vperfctr_info *info,
					 unsigned int nrkinds)
{
	const struct metric_def *def;

	for (def = first_def; def; def = def->next)
		if (!strcmp(def->name, name) && is_for_all(def, info, nrkinds))
			return def;
	return NULL;
}

/* True if it is not overridden by another of its name. */
static bool is_first(const struct metric_def *def, const struct vperfctr_info *info,
		     unsigned int nrkinds)
{
	return find_def(def->name, info, nrkinds) == def;
}

/* Name an event as libvperfctr-event takes it, with the modes before a counter. */
static int name_event(char *buf, size_t size, const char *event, const char *modes,
		      const struct vperfctr_info *info)
{
	const int length = (int)strcspn(event, "@");
	struct vperfctr_event known;
	int n;

	/* Software events have no modes. */
	if (*modes && !vperfctr_event(&known, event, info, NULL) && known.soft)
		modes = "";
	n = snprintf(buf, size, "%.*s%s%s", length, event, modes, event + length);
	return n > 0 && (size_t)n < size ? 0 : -1;
}

/* Add the event unless one of its name is there.  Return: its place, or -1 with *e. */
static int add_event(struct events *events, const char *name, const struct vperfctr_info *info,
		     struct error *e)
{
	unsigned int i;

	if (events_parse(events, name, info, e))
		return -1;
	for (i = 0; i + 1 < events->nr; i++)
		if (!strcmp(events->ev[i].name, events->ev[events->nr - 1].name) &&
		    events->ev[i].modes == events->ev[events->nr - 1].modes) {
			events->nr--;
			return (int)i;
		}
	return (int)events->nr - 1;
}

/* The user has not named the event. */
static int fail_event_of(const struct metric_def *def, struct error *e)
{
	const struct error why = *e;

	snprintf(e->text, sizeof(e->text), "the metric '%.80s' needs an event that cannot be counted here: %.1000s",
		 def->name, why.text);
	return -1;
}

static int add_metric(struct metrics *metrics, const struct metric_def *def, const char *modes,
		      struct events *events, const struct vperfctr_info *info,
		      unsigned int nrkinds, struct error *e)
{
	struct metric *metric = &metrics->metric[metrics->nr];
	unsigned int i, k;
	char name[256];
	int at;

	if (def->refusal)
		return fail_with(e, "'%s': %s", def->name, def->refusal);
	if (metrics->nr == MAX_METRICS)
		return fail_with(e, "too many metrics: %d at most", MAX_METRICS);
	metric->def = def;
	metric->modes = modes;
	for (k = 0; k < nrkinds; k++) {
		for (i = 0; i < def->nrevents; i++) {
			if (name_event(name, sizeof(name), def->event[i], modes, &info[k]))
				return fail_with(e, "'%s': the name of an event is too long", def->name);
			at = add_event(&events[k], name, &info[k], e);
			if (at < 0)
				return fail_event_of(def, e);
			metric->at[i] = (unsigned int)at;
		}
		events[k].together = true;
	}
	metrics->nr++;
	return 0;
}

static int fail_no_metric(const char *name, const struct vperfctr_info *info, struct error *e)
{
	const char *processor = processor_name(info);
	const struct metric_def *def;

	for (def = first_def; def; def = def->next)
		if (!strcmp(def->name, name) || (def->group && !strcmp(def->group, name)))
			return fail_with(e, "the metric '%.80s' is defined for other processors (%.80s), and not for this one%s%.40s",
					 name, def->processors, processor ? ": " : "",
					 processor ? processor : "");
	for (def = first_def; def; def = def->next)
		if (!strcasecmp(def->name, name))
			return fail_with(e, "there is no metric '%.80s': did you mean '%.80s'?", name, def->name);
	if (!strncasecmp(name, "topdown", 7))
		return fail_with(e, "there is no metric '%.80s': -M topdown prints the first level, where the processor has it",
				 name);
	return fail_with(e, "there is no metric '%.80s': perfex list metric shows those that there are", name);
}

/* Cut the modes off a metric's name. */
static const char *cut_modes(char *name)
{
	static const char *const modes[] = { ":u", ":k", ":uk" };
	char *colon = strchr(name, ':');
	unsigned int i;

	for (i = 0; colon && i < ARRAY_SIZE(modes); i++)
		if (!strcmp(colon, modes[i])) {
			*colon = '\0';
			return modes[i];
		}
	return "";
}

/* Add a metric, or all metrics of a group. */
static int choose_name(struct metrics *metrics, char *name, struct events *events,
		       const struct vperfctr_info *info, unsigned int nrkinds, struct error *e)
{
	const char *modes = cut_modes(name);
	const struct metric_def *def = find_def(name, info, nrkinds);
	unsigned int nr = metrics->nr;

	if (!*name)
		return fail_with(e, "a metric's name is missing in the argument of -M");
	if (def)
		return add_metric(metrics, def, modes, events, info, nrkinds, e);
	for (def = first_def; def; def = def->next)
		if (def->group && !strcmp(def->group, name) && is_for_all(def, info, nrkinds) &&
		    is_first(def, info, nrkinds) &&
		    add_metric(metrics, def, modes, events, info, nrkinds, e))
			return -1;
	return metrics->nr > nr ? 0 : fail_no_metric(name, info, e);
}

int metrics_choose(struct metrics *metrics, const char *spec, struct events *events,
		   const struct vperfctr_info *info, unsigned int nrkinds, struct error *e)
{
	char *copy = strdup(spec), *rest = copy, *name;
	int err = copy ? 0 : fail_with(e, "out of memory");

	while (!err && (name = strsep(&rest, ",")))
		err = choose_name(metrics, name, events, info, nrkinds, e);
	free(copy);
	return err;
}

static bool is_chosen(const struct metrics *metrics, const struct metric_def *def)
{
	unsigned int i;

	for (i = 0; i < metrics->nr; i++)
		if (metrics->metric[i].def == def)
			return true;
	return false;
}

static void leave_out(struct metrics *metrics, const struct metric_def *def)
{
	const size_t length = strlen(metrics->left_out);

	snprintf(metrics->left_out + length, sizeof(metrics->left_out) - length, "%s%s",
		 length ? ", " : "", def->name);
}

/* Return: the errno of a control of this process with the events from the first-th on; or 0. */
static int try_control(const struct events *events, struct vperfctr_ctr *chosen,
		       unsigned int first, unsigned int kind)
{
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct vperfctr *v;
	unsigned int i;

	vperfctr_control_init(&control, ctr);
	for (i = first; i < events->nr; i++)
		if (!events->ev[i].soft)
			ctr[control.nractrs++] = chosen[i];
	if (!control.nractrs || vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
						  VPERFCTR_OPEN_NOMAP))
		return 0;
	control.kind = kind;
	return -vperfctr_control(v, &control);
}

/*
 * True if the module says that a kind of processor does not count the events from the
 * first-th on.  A table is for a model, and a virtual machine or a revision may lack some of
 * its events.  A child is counted for a moment; what else may fail is left to the real run,
 * which says why.
 */
static bool is_refused(const struct events *events, struct vperfctr_ctr *chosen,
		       unsigned int first, unsigned int kind)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(try_control(events, chosen, first, kind) == EINVAL);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status);
}

/* True if there are counters for all events, and those from the first-th on are not refused. */
static bool are_countable(const struct events *events, unsigned int first,
			  const struct vperfctr_info *info, unsigned int nrkinds)
{
	struct vperfctr_ctr ctr[MAX_KINDS][VPERFCTR_MAX_CTRS];
	struct error ignored;
	unsigned int k;

	if (assign_counters(events, info, nrkinds, ctr, &ignored))
		return false;
	for (k = 0; k < nrkinds; k++)
		if (is_refused(&events[k], ctr[k], first, info[k].kind))
			return false;
	return true;
}

/* Add it, or change nothing. */
static bool try_metric(struct metrics *metrics, const struct metric_def *def,
		       struct events *events, const struct vperfctr_info *info,
		       unsigned int nrkinds)
{
	const unsigned int nr = metrics->nr, nrevents = events->nr;
	struct error ignored;
	unsigned int k;

	if (!add_metric(metrics, def, "", events, info, nrkinds, &ignored) &&
	    are_countable(events, nrevents, info, nrkinds))
		return true;
	metrics->nr = nr;
	for (k = 0; k < nrkinds; k++)
		events[k].nr = nrevents;
	return false;
}

int metrics_detail(struct metrics *metrics, unsigned int level, struct events *events,
		   const struct vperfctr_info *info, unsigned int nrkinds, struct error *e)
{
	const struct metric_def *def;
	unsigned int now;

	for (now = 1; now <= level; now++)
		for (def = first_def; def; def = def->next)
			if (def->detail == now && !def->refusal && is_for_all(def, info, nrkinds) &&
			    is_first(def, info, nrkinds) && !is_chosen(metrics, def) &&
			    !try_metric(metrics, def, events, info, nrkinds))
				leave_out(metrics, def);
	if (metrics->nr)
		return 0;
	if (!events->nr)
		return fail_with(e, "none of the metrics of -d can be counted here: perfex info shows the counters");
	/* The kernel's events, or those of -e, are left. */
	strcpy(metrics->left_out, "all metrics");
	return 0;
}

/* ---- values --------------------------------------------------------------------------- */

const char *metric_name(const struct metric *metric)
{
	return metric->def->name;
}

const char *metric_unit(const struct metric *metric)
{
	return metric->def->unit ? metric->def->unit : "";
}

/* Store in *a what the operation makes of *a and b.  Return: false for a division by 0. */
static bool execute_op(const struct op *op, double *a, double b)
{
	switch (op->type) {
	case OP_ADD:
		*a += b;
		return true;
	case OP_SUBTRACT:
		*a -= b;
		return true;
	case OP_MULTIPLY:
		*a *= b;
		return true;
	case OP_MAX:
		*a = *a > b ? *a : b;
		return true;
	case OP_MIN:
		*a = *a < b ? *a : b;
		return true;
	default:
		*a = b != 0 ? *a / b : 0;
		return b != 0;
	}
}

bool metric_value(const struct metric *metric, const struct events *events,
		  const struct sums *sums, double *value)
{
	const struct metric_def *def = metric->def;
	double stack[MAX_OPS + 1];
	unsigned int i, n = 0;

	for (i = 0; i < def->nrops; i++) {
		const struct op *op = &def->op[i];

		if (op->type == OP_NUMBER) {
			stack[n++] = op->number;
		} else if (op->type == OP_EVENT) {
			stack[n++] = (double)event_count(events, sums, metric->at[op->event]);
		} else {
			n--;
			if (!execute_op(op, &stack[n - 1], stack[n]))
				return false;
		}
	}
	*value = stack[0];
	return true;
}

/* ---- perfex list ------------------------------------------------------------------------ */

static bool has_words(const struct metric_def *def, char *const *words)
{
	for (; *words; words++)
		if (!strcasestr(def->name, *words) && !(def->text && strcasestr(def->text, *words)) &&
		    !(def->unit && strcasestr(def->unit, *words)) &&
		    !(def->group && strcasestr(def->group, *words)))
			return false;
	return true;
}

/* True if each event has a counter here: a virtual machine may have some of them, or none. */
static bool has_counters(const struct metric_def *def, const struct vperfctr_info *info)
{
	struct vperfctr_event event;
	unsigned int i;

	for (i = 0; i < def->nrevents; i++)
		if (vperfctr_event(&event, def->event[i], info, NULL) ||
		    (!event.soft && !event.general && !event.fixed))
			return false;
	return true;
}

unsigned int metrics_list(FILE *f, char *const *words, bool verbose, bool bold,
			  const struct vperfctr_info *info, unsigned int *nrhidden)
{
	const struct metric_def *def;
	unsigned int nr = 0;

	for (def = first_def; def; def = def->next) {
		if (!is_for_all(def, info, 1) || !is_first(def, info, 1) || !has_words(def, words))
			continue;
		if ((def->refusal || !has_counters(def, info)) && !verbose) {
			++*nrhidden;
			continue;
		}
		fprintf(f, "%s-M %-37s%s  %s\n", bold ? "\033[1m" : "", def->name,
			bold ? "\033[m" : "", def->unit ? def->unit : "");
		if (def->text)
			fprintf(f, "    %s\n", def->text);
		if (verbose && def->expression)
			fprintf(f, "    = %s\n", def->expression);
		if (verbose && def->source)
			fprintf(f, "    source: %s\n", def->source);
		if (verbose && def->refusal)
			fprintf(f, "    refused: %s\n", def->refusal);
		nr++;
	}
	return nr;
}
