// SPDX-License-Identifier: LGPL-2.1-or-later
/* Translate the name of an event to its code and to the counters that can count it. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "family.h"

/* Generic events, which have the same name on every processor. */
static const struct generic_name {
	const char *name, *alias, *description;
	uint32_t arch;
} generic_names[] = {
	{ "instructions", NULL, "instructions retired", VPERFCTR_EVENT_INSTRUCTIONS },
	{ "cycles", "cpu-cycles", "core cycles while not halted", VPERFCTR_EVENT_CYCLES },
	{ "branches", "branch-instructions", "branch instructions retired",
	  VPERFCTR_EVENT_BRANCHES },
	{ "branch-misses", NULL, "mispredicted branch instructions retired, on Arm all",
	  VPERFCTR_EVENT_BRANCH_MISSES },
	{ "ref-cycles", NULL, "cycles of a constant rate while not halted",
	  VPERFCTR_EVENT_REF_CYCLES },
	{ "cache-references", NULL, "references to the last-level cache, on Arm the L1 data cache",
	  VPERFCTR_EVENT_CACHE_REFS },
	{ "cache-misses", NULL, "misses of the last-level cache, on Arm the L1 data cache",
	  VPERFCTR_EVENT_CACHE_MISSES },
};

/* Software events, which have perf's names. */
static const struct soft_event {
	const char *name, *alias, *description;
	uint32_t soft;
} soft_events[] = {
	{ "task-clock", NULL, "time on a CPU", VPERFCTR_SOFT_TASK_CLOCK },
	{ "context-switches", "cs", "context switches away from the thread",
	  VPERFCTR_SOFT_CONTEXT_SWITCHES },
	{ "cpu-migrations", "migrations", "moves to another CPU", VPERFCTR_SOFT_MIGRATIONS },
	{ "page-faults", "faults", "page faults, with I/O and without",
	  VPERFCTR_SOFT_PAGE_FAULTS },
	{ "minor-faults", NULL, "page faults without I/O", VPERFCTR_SOFT_MINOR_FAULTS },
	{ "major-faults", NULL, "page faults with I/O", VPERFCTR_SOFT_MAJOR_FAULTS },
};

int __vperfctr_refuse(struct vperfctr_why *why, int err, const char *fmt, ...)
{
	va_list ap;

	if (!why)
		return err;
	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	return err;
}

bool __vperfctr_is_soft(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(soft_events); i++) {
		const struct soft_event *s = &soft_events[i];

		if ((strlen(s->name) == length && !memcmp(name, s->name, length)) ||
		    (s->alias && strlen(s->alias) == length && !memcmp(name, s->alias, length)))
			return true;
	}
	return false;
}

/* ---- which counters ----------------------------------------------------------- */

static void append_bits(char *buf, size_t size, const char *what, uint64_t mask)
{
	size_t len = strlen(buf);
	unsigned int i, last;
	const char *separator = "";

	if (!mask)
		return;
	len += (size_t)snprintf(buf + len, size - len, "%s%s counter%s ", len ? " and " : "", what,
				mask & (mask - 1) ? "s" : "");
	for (i = 0; i < 64 && len < size; i = last + 1) {
		last = i;
		if (!(mask >> i & 1))
			continue;
		while (last < 63 && mask >> (last + 1) & 1)
			last++;
		len += (size_t)snprintf(buf + len, size - len, last > i ? "%s%u-%u" : "%s%u",
					separator, i, last);
		separator = ", ";
	}
}

int __vperfctr_refuse_unknown(const struct vperfctr_event *event,
			      const struct vperfctr_info *info, struct vperfctr_why *why)
{
	return __vperfctr_refuse(why, -EOPNOTSUPP,
				 "it is not known which counters of this processor can count '%s': name one that can, as in '%s@%d'",
				 event->name, event->name, __builtin_ctzll(info->pmc_mask));
}

int __vperfctr_refuse_without_counters(const struct vperfctr_info *info, struct vperfctr_why *why)
{
	return __vperfctr_refuse(why, -EOPNOTSUPP,
				 "there are no performance counters here (%.*s), as in many virtual machines: only times and software events can be counted",
				 (int)sizeof(info->cpu_name), info->cpu_name);
}

void __vperfctr_describe(char *buf, size_t size, uint64_t general, uint64_t fixed)
{
	*buf = '\0';
	append_bits(buf, size, "general", general);
	append_bits(buf, size, "fixed", fixed);
}

/* True if the code is that of a generic event which the processor has, but for its upper bits. */
static bool is_architectural(uint64_t code, const struct vperfctr_info *info,
			     const struct family *f)
{
	const struct generic_event *g;

	for (g = f->generic; f->is_architectural && g->arch; g++)
		if (g->code == (code & 0xffff) && info->arch_events & g->arch)
			return true;
	return false;
}

/* Set which counters can count event->code, whether or not this processor has them. */
static void find_counters(struct vperfctr_event *event, const struct vperfctr_info *info)
{
	const struct family *f = __vperfctr_family(info);
	const struct generic_event *g;

	event->arch = 0;
	event->fixed = 0;
	event->general = ANY_COUNTER;
	event->unknown = 0;
	if (f->is_special && f->is_special(event))
		return;
	for (g = f->generic; g->arch; g++) {
		if (g->code != event->code)
			continue;
		event->arch = g->arch;
		event->general = g->general;
		event->fixed = g->name_only ? 0 : g->fixed;
		return;
	}
	if (f->counters(info, event->code, &event->general))
		return;
	event->general = ANY_COUNTER;
	event->unknown = !is_architectural(event->code, info, f);
}

/* ---- the kinds of names ---------------------------------------------------------- */

static const struct generic_name *find_generic(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(generic_names); i++) {
		const struct generic_name *n = &generic_names[i];

		if (!strcmp(name, n->name) || (n->alias && !strcmp(name, n->alias)))
			return n;
	}
	return NULL;
}

/*
 * Encode a generic event.  It gets no counters if the processor does not have it.  A name must not
 * mean the one thing or the other, depending on which counter is free.
 */
static void encode_generic(struct vperfctr_event *event, uint32_t arch,
			   const struct vperfctr_info *info, const struct family *f)
{
	const struct generic_event *g;

	event->arch = arch;
	for (g = f->generic; g->arch; g++) {
		if (g->arch != arch)
			continue;
		event->code = g->code;
		event->aux = g->aux;
		event->general = g->name_only && g->fixed & info->fixed_mask ? 0 : g->general;
		event->fixed = g->fixed;
	}
}

static const struct soft_event *find_soft(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(soft_events); i++) {
		const struct soft_event *s = &soft_events[i];

		if (!strcmp(name, s->name) || (s->alias && !strcmp(name, s->alias)))
			return s;
	}
	return NULL;
}

/* True if the counters select no mode, and count in both. */
static bool is_modeless(const struct family *f)
{
	return !f->user;
}

/* Return the bits of the event select register that a name may set, besides the modes. */
static uint64_t fields_of(const struct family *f, const struct vperfctr_info *info)
{
	return f->fields_of ? f->fields_of(info) : f->fields;
}

static unsigned int modes_of(uint64_t evntsel, const struct family *f)
{
	return (!(evntsel & f->user) == f->excludes ? VPERFCTR_MODE_USER : 0) |
	       (!(evntsel & f->kernel) == f->excludes ? VPERFCTR_MODE_KERNEL : 0);
}

static int take_raw(struct vperfctr_event *event, const char *name, const struct family *f,
		    const struct vperfctr_info *info, struct vperfctr_why *why)
{
	if (f->take_raw)
		return f->take_raw(event, name, why);
	if (event->code & ~fields_of(f, info))
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s' sets more than %s: modes are given by ':u' and ':k'",
					 name, f->fields_text);
	return 0;
}

/* Encode the form of f->raw_text.  Returns 1 if the name does not have this form. */
static int encode_raw(struct vperfctr_event *event, const char *name,
		      const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const struct family *f = __vperfctr_family(info);
	size_t len = strlen(name);
	int err;

	if (name[0] != 'r' || len < 2 || strspn(name + 1, "0123456789abcdefABCDEF") != len - 1)
		return 1;
	if (!f->raw_text)
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s': events of this processor need two registers, as in '%s' (CCCR and ESCR)",
					 name, f->example);
	/* Sixteen digits are 64 bits.  strtoull() would saturate with more. */
	if (len > 17)
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s' is too long: it is %s in hexadecimal",
					 name, f->raw_text);
	event->code = strtoull(name + 1, NULL, 16);
	err = take_raw(event, name, f, info, why);
	if (!err)
		find_counters(event, info);
	return err;
}

/* Take evntsel, which may select modes. */
static int take_register(struct vperfctr_event *event, const char *name, uint64_t evntsel,
			 const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const struct family *f = __vperfctr_family(info);
	const uint64_t fields = fields_of(f, info), modes = f->user | f->kernel;

	if (f->take_register)
		return f->take_register(event, name, evntsel, why);
	if (evntsel & ~(fields | modes | f->enable))
		return __vperfctr_refuse(why, -EINVAL, "'%s' sets more than %s%s", name,
					 f->modes_text, f->fields_text);
	if (evntsel & modes && !event->modes_left)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' says itself in which mode to count: leave ':u' or ':k' out",
					 name);
	if (evntsel & modes) {
		event->modes = modes_of(evntsel, f);
		event->modes_left = 0;
	}
	event->code = evntsel & fields;
	return 0;
}

/* Encode 0xEVNTSEL[/0xAUX].  Returns 1 if the name has another form. */
static int encode_register(struct vperfctr_event *event, const char *name,
			   const struct vperfctr_info *info, struct vperfctr_why *why)
{
	uint64_t value;
	char *end;
	int err;

	if (name[0] != '0' || tolower((unsigned char)name[1]) != 'x')
		return 1;
	errno = 0;
	value = strtoull(name, &end, 16);
	if (*end == '/' && end[1] == '0' && tolower((unsigned char)end[2]) == 'x')
		event->aux = strtoull(end + 1, &end, 16);
	if (*end || errno || !isxdigit((unsigned char)name[2]) || !isxdigit((unsigned char)end[-1]))
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' is no event select register: it is 0xEVNTSEL, or 0xEVNTSEL/0xAUX with a second one",
					 name);
	err = take_register(event, name, value, info, why);
	if (err)
		return err;
	find_counters(event, info);
	/* A fixed counter has no second register. */
	if (event->aux)
		event->fixed = 0;
	return 0;
}

/* ---- unknown names ------------------------------------------------------------------ */

#define NAME_MAX_CMP	64

/* Return how many letters must be changed, added or removed, ignoring case. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[NAME_MAX_CMP + 1], diagonal, above, best;
	size_t i, j, n = strlen(b);

	if (n > NAME_MAX_CMP || strlen(a) > NAME_MAX_CMP)
		return NAME_MAX_CMP;
	for (j = 0; j <= n; j++)
		row[j] = (unsigned int)j;
	for (i = 1; a[i - 1]; i++) {
		diagonal = row[0];
		row[0] = (unsigned int)i;
		for (j = 1; j <= n; j++) {
			above = row[j];
			best = diagonal + (tolower((unsigned char)a[i - 1]) !=
					   tolower((unsigned char)b[j - 1]));
			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[n];
}

struct guess {
	const char *name;
	const char *best;
	unsigned int distance;
};

static void guess_closer(const char *candidate, void *arg)
{
	struct guess *g = arg;
	unsigned int d = distance(g->name, candidate);

	if (d < g->distance) {
		g->distance = d;
		g->best = candidate;
	}
}

static int refuse_unknown(const char *name, const struct vperfctr_info *info,
			  struct vperfctr_why *why)
{
	/* If more than a third of the letters is wrong it is not a misspelling. */
	struct guess g = { name, NULL, (unsigned int)strlen(name) / 3 + 1 };
	char base[NAME_MAX_CMP + 1];
	unsigned int i;

	if (!why)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(generic_names); i++) {
		guess_closer(generic_names[i].name, &g);
		if (generic_names[i].alias)
			guess_closer(generic_names[i].alias, &g);
	}
	for (i = 0; i < ARRAY_SIZE(soft_events); i++)
		guess_closer(soft_events[i].name, &g);
	/* libpfm4 lists events without their unit masks and attributes. */
	snprintf(base, sizeof(base), "%.*s", (int)strcspn(name, ":"), name);
	g.name = base;
	__vperfctr_pfm_names(info, guess_closer, &g);

	if (g.best)
		return __vperfctr_refuse(why, -ENOENT, "unknown event '%s': did you mean '%s'?",
					 name, g.best);
	return __vperfctr_refuse(why, -ENOENT,
				 "unknown event '%s': it is no generic name, none of libpfm4's for this processor, and no raw code (%s)",
				 name, __vperfctr_family(info)->example);
}

/* ---- one event ------------------------------------------------------------------------ */

/* Cut ":u", ":k" and ":uk", in any number, off the end of name, and return their number. */
static unsigned int cut_modes(struct vperfctr_event *event, char *name)
{
	unsigned int nr = 0;
	char *colon, *p;

	while ((colon = strrchr(name, ':')) && colon[1] &&
	       strspn(colon + 1, "uk") == strlen(colon + 1)) {
		for (p = colon + 1; *p; p++)
			event->modes |= *p == 'u' ? VPERFCTR_MODE_USER : VPERFCTR_MODE_KERNEL;
		*colon = '\0';
		nr++;
	}
	return nr;
}

/* The counter that a name asks for with @. */
struct wish {
	bool is, fixed;		/* there is one; it is a fixed counter */
	unsigned int n;
};

/* Cut "@N" or "@fixedN" off the end of name and store the counter in *wish. */
static int cut_counter(struct wish *wish, char *name, struct vperfctr_why *why)
{
	char *at = strrchr(name, '@'), *digits, *end;
	unsigned long n;

	if (!at)
		return 0;
	wish->fixed = !strncmp(at + 1, "fixed", strlen("fixed"));
	digits = at + 1 + (wish->fixed ? strlen("fixed") : 0);
	n = strtoul(digits, &end, 0);
	if (!isdigit((unsigned char)*digits) || *end || n > 63)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s': after @ there is a counter's number, as in @0 or @fixed1",
					 name);
	wish->is = true;
	wish->n = (unsigned int)n;
	*at = '\0';
	return 0;
}

bool __vperfctr_is_generic(const struct vperfctr_event *event)
{
	struct vperfctr_event modes = { .modes = 0 };
	struct wish wish = { .is = false };
	char bare[sizeof(event->name)];

	strcpy(bare, event->name);
	if (cut_counter(&wish, bare, NULL))
		return false;
	cut_modes(&modes, bare);
	return find_generic(bare);
}

/* Encode all but generic names. */
static int encode_code(struct vperfctr_event *event, const char *name,
		       const struct vperfctr_info *info, struct vperfctr_why *why)
{
	int ret;

	ret = encode_register(event, name, info, why);
	if (ret <= 0)
		return ret;
	ret = encode_raw(event, name, info, why);
	if (ret <= 0)
		return ret;
	ret = __vperfctr_pfm_encode(event, name, info, why);
	if (ret > 0)
		return refuse_unknown(name, info, why);
	/* The Pentium 4's events have counters by their names. */
	if (!ret && !event->general)
		find_counters(event, info);
	return ret;
}

static int encode(struct vperfctr_event *event, const char *name,
		  const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const struct family *f = __vperfctr_family(info);
	const struct generic_name *generic = find_generic(name);
	int ret;

	if (generic) {
		encode_generic(event, generic->arch, info, f);
		return 0;
	}
	ret = encode_code(event, name, info, why);
	return ret || !f->finish ? ret : f->finish(event, name, info, why);
}

/* Remove the counters that this processor does not have. */
static void limit_counters(struct vperfctr_event *event, const struct vperfctr_info *info)
{
	/* The kernel refuses the code of an architectural event that CPUID reports as absent. */
	bool missing = event->arch && !(info->arch_events & event->arch);

	event->general = missing ? 0 : event->general & info->pmc_mask;
	event->fixed = missing ? 0 : event->fixed & info->fixed_mask;
}

static int apply_wish(struct vperfctr_event *event, const struct wish *wish,
		     const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const uint64_t bit = UINT64_C(1) << wish->n;

	if ((wish->fixed ? info->watchdog_fixed : info->watchdog_pmc) & bit)
		return __vperfctr_refuse(why, -EINVAL, "'%s': the kernel's NMI watchdog keeps %s counter %u",
					 event->name, wish->fixed ? "fixed" : "general", wish->n);
	if (!((wish->fixed ? info->fixed_mask : info->pmc_mask) & bit))
		return __vperfctr_refuse(why, -EINVAL, "'%s': this processor has no %s counter %u",
					 event->name, wish->fixed ? "fixed" : "general", wish->n);
	event->general &= wish->fixed ? 0 : bit;
	event->fixed &= wish->fixed ? bit : 0;
	if (!event->general && !event->fixed)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s': this counter cannot count that event", event->name);
	return 0;
}

static int check_counters(struct vperfctr_event *event, const struct wish *wish,
			  const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const uint64_t general = event->general, fixed = event->fixed;
	const struct family *f = __vperfctr_family(info);
	char counters[128];

	if (f->leave_choice && !wish->is)
		f->leave_choice(event);
	limit_counters(event, info);
	if (wish->is && (event->general || event->fixed))
		return apply_wish(event, wish, info, why);
	if (event->unknown && event->general)
		return __vperfctr_refuse_unknown(event, info, why);
	/* Without any counters vperfctr_event_assign() reports the error. */
	if (event->general || event->fixed || (!info->nrctrs && !event->arch))
		return 0;
	if (!info->nrctrs)
		return __vperfctr_refuse_without_counters(info, why);
	if (event->arch || (!general && !fixed))
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "this processor cannot count '%s': leave it out", event->name);
	__vperfctr_describe(counters, sizeof(counters), general, fixed);
	return __vperfctr_refuse(why, -EOPNOTSUPP,
				 "'%s' is counted by %s only, which this processor does not have: leave it out",
				 event->name, counters);
}

/* Add the mode to the name, before the counter, if the user left it out and it is not both. */
static void compose_name(struct vperfctr_event *event, const char *name)
{
	size_t at = strcspn(name, "@");

	snprintf(event->name, sizeof(event->name), "%.*s%s%s", (int)at, name,
		 !event->modes_left || event->modes == MODES_BOTH ? "" :
		 event->modes & VPERFCTR_MODE_USER ? ":u" : ":k", name + at);
}

/* Encode a software event.  Refuse modes and a counter, which it does not have. */
static int encode_soft(struct vperfctr_event *event, const char *name,
		       const struct soft_event *soft, bool wish,
		       const struct vperfctr_info *info, struct vperfctr_why *why)
{
	if (wish)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s': the kernel counts this event, and takes no counter for it: leave '@' out",
					 name);
	if (event->modes)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s': a software event counts in all modes: leave ':u' or ':k' out",
					 name);
	if (soft->soft & ~info->soft)
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "'%s' is a software event that the module does not count here: leave it out",
					 name);
	strcpy(event->name, name);
	event->soft = soft->soft;
	event->modes = MODES_BOTH;
	return 0;
}

/* Translate a name into an event of this library's size; the caller's may differ. */
static int translate(struct vperfctr_event *event, const char *name,
		     const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const bool may_kernel = info->features & VPERFCTR_FEATURE_KERNEL;
	const bool modeless = is_modeless(__vperfctr_family(info));
	char bare[sizeof(event->name)];
	struct wish wish = { .is = false };
	const struct soft_event *soft;
	unsigned int nrmodes;
	int err;

	memset(event, 0, sizeof(*event));
	if (strlen(name) + sizeof(":u") > sizeof(bare))
		return __vperfctr_refuse(why, -ENAMETOOLONG, "the event name '%.40s...' is too long",
					 name);
	strcpy(bare, name);
	err = cut_counter(&wish, bare, why);
	if (err)
		return err;
	nrmodes = cut_modes(event, bare);
	soft = find_soft(bare);
	if (soft)
		return encode_soft(event, name, soft, wish.is, info, why);
	event->modes_left = !event->modes;
	if (event->modes_left)
		event->modes = may_kernel || modeless ? MODES_BOTH : VPERFCTR_MODE_USER;

	err = encode(event, bare, info, why);
	if (err)
		return err;
	/* As perf has it. */
	if (nrmodes > 1)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' says twice in which mode to count: ':uk' is user and kernel mode",
					 name);
	/* The attributes u=0 and k=0 of libpfm4 can cause this. */
	if (!event->modes)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' counts neither in user nor in kernel mode",
					 name);
	if (modeless && event->modes != MODES_BOTH)
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "'%s': this processor counts in all modes only: leave ':u' or ':k' out",
					 name);
	if (modeless && !may_kernel)
		return __vperfctr_refuse(why, -EPERM,
					 "%s: this processor counts kernel mode, too, which takes CAP_PERFMON",
					 name);
	if ((event->modes & VPERFCTR_MODE_KERNEL) && !may_kernel)
		return __vperfctr_refuse(why, -EPERM,
					 "%s: kernel mode may be counted only with CAP_PERFMON: count user mode with ':u'",
					 name);
	compose_name(event, name);
	return check_counters(event, &wish, info, why);
}

int __vperfctr_get_info_why(struct vperfctr_info *to, const struct vperfctr_info *info,
			    struct vperfctr_why *why)
{
	if (!__vperfctr_is_size(info->size, INFO_SIZE_VER0))
		return __vperfctr_refuse(why, -EINVAL,
					 "the description of the processor is none of vperfctr_info()");
	/* The kernel may have filled in fields that this library does not know. */
	memset(to, 0, sizeof(*to));
	memcpy(to, info, info->size < sizeof(*to) ? info->size : sizeof(*to));
	return 0;
}

int vperfctr_event_sized(struct vperfctr_event *event, size_t size, const char *name,
			 const struct vperfctr_info *info, struct vperfctr_why *why)
{
	struct vperfctr_event translated;
	struct vperfctr_info known;
	int err;

	if (!__vperfctr_is_size(size, EVENT_SIZE_VER0))
		return __vperfctr_refuse(why, -EINVAL, "an event has not %zu bytes", size);
	err = __vperfctr_get_info_why(&known, info, why);
	if (!err)
		err = translate(&translated, name, &known, why);
	if (!err)
		__vperfctr_put_struct(event, size, &translated, sizeof(translated));
	return err;
}

/* ---- all events ------------------------------------------------------------------------- */

struct listing {
	const struct vperfctr_info *info;
	struct vperfctr_event *event;	/* of the caller's size */
	size_t size;
	int (*fn)(const struct vperfctr_event *event, const char *description, void *arg);
	void *arg;
};

static int call(const struct listing *l, const struct vperfctr_event *event,
		const char *description)
{
	__vperfctr_put_struct(l->event, l->size, event, sizeof(*event));
	return l->fn(l->event, description, l->arg);
}

/* List an event also if no counter can count it. */
static int list_one(const char *name, const char *description, void *arg)
{
	const struct listing *l = arg;
	struct vperfctr_event event = { .modes = VPERFCTR_MODE_USER };

	if (strlen(name) >= sizeof(event.name) || encode(&event, name, l->info, NULL))
		return 0;
	strcpy(event.name, name);
	event.modes = VPERFCTR_MODE_USER;
	limit_counters(&event, l->info);
	return call(l, &event, description);
}

static int list_all(struct listing *l)
{
	const struct vperfctr_info *info = l->info;
	bool known = false;
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(generic_names); i++) {
		ret = list_one(generic_names[i].name, generic_names[i].description, l);
		if (ret)
			return ret;
	}
	for (i = 0; i < ARRAY_SIZE(soft_events); i++) {
		const struct soft_event *s = &soft_events[i];
		struct vperfctr_event event = { .modes = MODES_BOTH, .soft = s->soft };

		if (s->soft & ~info->soft)
			continue;
		strcpy(event.name, s->name);
		ret = call(l, &event, s->description);
		if (ret)
			return ret;
	}
	ret = __vperfctr_pfm_list(info, list_one, l, &known);
	return ret || known ? ret : -ENOENT;
}

int vperfctr_event_list_sized(const struct vperfctr_info *info, size_t size,
			      int (*fn)(const struct vperfctr_event *event,
					const char *description, void *arg),
			      void *arg)
{
	struct vperfctr_info known;
	struct listing l = { .info = &known, .size = size, .fn = fn, .arg = arg };
	int err;

	if (!__vperfctr_is_size(size, EVENT_SIZE_VER0))
		return -EINVAL;
	err = __vperfctr_get_info_why(&known, info, NULL);
	if (err)
		return err;
	l.event = (struct vperfctr_event *)malloc(size);
	if (!l.event)
		return -ENOMEM;
	err = list_all(&l);
	free(l.event);
	return err;
}
