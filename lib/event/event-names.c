// SPDX-License-Identifier: LGPL-2.1-or-later
/* Translate the name of an event to its code and to the counters that can count it. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "event.h"

#define NO_FIXED	(-1)
#define LAST_PSEUDO	7	/* unit mask of the pseudo event with the greatest one in Intel's lists */
#define MODES_BOTH	(VPERFCTR_MODE_USER | VPERFCTR_MODE_KERNEL)

/*
 * Generic events, which have the same name on every processor: with Intel's architectural
 * codes, and those of P6, AMD, Arm, RISC-V and POWER if they have the event.  Arm's cache events
 * count reads.
 *
 * fixed: the fixed counter of Intel that counts the event.  fixed_is_code: it counts the
 * same as the code does, so it can replace the code.  Otherwise it can only replace the
 * name: fixed counter 2 counts reference cycles at another rate than code 013c.  The only
 * fixed counter of Arm counts cycles.  Those of RISC-V cannot leave out a mode.  Of
 * POWER they count instructions and cycles, as of Intel.
 */
static const struct arch_event {
	const char *name, *alias, *description;
	uint32_t intel, p6, amd, arm, riscv, power;
	uint32_t arch;
	int fixed;
	bool fixed_is_code;
} arch_events[] = {
	{ "instructions", NULL, "instructions retired",
	  0x00c0, 0x00c0, 0x00c0, 0x0008, 0x2, 0x02, VPERFCTR_EVENT_INSTRUCTIONS, 0, true },
	{ "cycles", "cpu-cycles", "core cycles while not halted",
	  0x003c, 0x0079, 0x0076, 0x0011, 0x1, 0x1e, VPERFCTR_EVENT_CYCLES, 1, true },
	{ "branches", "branch-instructions", "branch instructions retired",
	  0x00c4, 0x00c4, 0x00c2, 0x0021, 0x5, 0, VPERFCTR_EVENT_BRANCHES, NO_FIXED, false },
	{ "branch-misses", NULL, "mispredicted branch instructions retired",
	  0x00c5, 0x00c5, 0x00c3, 0x0022, 0x6, 0, VPERFCTR_EVENT_BRANCH_MISSES, NO_FIXED, false },
	{ "ref-cycles", NULL, "cycles of a constant rate while not halted",
	  0x013c, 0, 0, 0x4004, 0xa, 0, VPERFCTR_EVENT_REF_CYCLES, 2, false },
	{ "cache-references", NULL, "references to the last-level cache",
	  0x4f2e, 0, 0, 0x0036, 0x3, 0, VPERFCTR_EVENT_CACHE_REFS, NO_FIXED, false },
	{ "cache-misses", NULL, "misses of the last-level cache",
	  0x412e, 0, 0, 0x0037, 0x4, 0, VPERFCTR_EVENT_CACHE_MISSES, NO_FIXED, false },
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

static uint32_t arch_code(const struct arch_event *a, const struct vperfctr_info *info)
{
	if (is_ppc32(info) && a->arch == VPERFCTR_EVENT_CYCLES)
		return PPC32_CYCLES;
	return is_amd(info) ? a->amd : is_arm(info) ? a->arm : is_riscv(info) ? a->riscv :
	       is_power(info) ? a->power : is_p6(info) ? a->p6 : a->intel;
}

/* Return the fixed counters that count the event; with same, exactly as its code does. */
static uint64_t arch_fixed(const struct arch_event *a, const struct vperfctr_info *info, bool same)
{
	if (is_arm(info))
		return a->arch == VPERFCTR_EVENT_CYCLES;
	if (is_riscv(info) && is_modeless(info))
		return a->arch == VPERFCTR_EVENT_CYCLES ? 1 :
		       a->arch == VPERFCTR_EVENT_INSTRUCTIONS ? 2 : 0;
	if (is_amd(info) || is_p6(info) || is_riscv(info) || is_ppc32(info) || a->fixed == NO_FIXED || (is_power(info) && !a->power) || (same && !a->fixed_is_code))
		return 0;
	return UINT64_C(1) << a->fixed;
}

/* Let an architectural event be counted by a fixed counter, too: see arch_fixed(). */
static void take_fixed(struct vperfctr_event *event, const struct arch_event *a,
		       const struct vperfctr_info *info, bool same)
{
	event->arch = a->arch;
	event->fixed = arch_fixed(a, info, same);
	/* There the firmware lets no other counter count it. */
	if (is_riscv(info) && event->fixed)
		event->general = 0;
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

/* True if the code is that of an event which all Intel processors count on any counter. */
static bool is_arch_code(uint64_t code, const struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++)
		if (arch_code(&arch_events[i], info) == (code & (EVNTSEL_EVENT | EVNTSEL_UMASK)) &&
		    info->arch_events & arch_events[i].arch)
			return true;
	return false;
}

/* Some events of the old processors mean something else on the other counter. */
static void find_old_counters(struct vperfctr_event *event, const struct vperfctr_info *info)
{
	uint64_t code;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		if (!__vperfctr_old_generic(info, arch_events[i].arch, &code) ||
		    code != event->code)
			continue;
		event->arch = arch_events[i].arch;
		return;
	}
	event->unknown = info->nrctrs > 1;
}

/* Set which counters can count event->code, whether or not this processor has them. */
static void find_counters(struct vperfctr_event *event, const struct vperfctr_info *info)
{
	unsigned int i;

	event->arch = 0;
	event->fixed = 0;
	event->general = ~UINT64_C(0);
	event->unknown = 0;

	/* libpfm4's names are the only ones that say which counters. */
	if (is_p4(info)) {
		event->unknown = 1;
		return;
	}
	if (is_old(info)) {
		find_old_counters(event, info);
		return;
	}
	/* Intel's event select 00 is a pseudo event: its unit mask is a fixed counter + 1. */
	if (!is_amd(info) && !is_arm(info) && !is_riscv(info) && !is_power(info) && !is_p6(info) && !(event->code & EVNTSEL_EVENT) && event->code >> 8 >= 1 &&
	    event->code >> 8 <= LAST_PSEUDO) {
		event->fixed = UINT64_C(1) << ((event->code >> 8) - 1);
		event->general = 0;
		return;
	}
	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		const struct arch_event *a = &arch_events[i];

		if (!arch_code(a, info) || event->code != arch_code(a, info))
			continue;
		take_fixed(event, a, info, true);
		return;
	}
	/* The code says which: see encode(). */
	if (is_power8(info))
		return;
	if (__vperfctr_event_counters(info, event->code, &event->general))
		return;
	event->general = ~UINT64_C(0);
	/* The other bits of an architectural event do not restrict it: edge, inv and cmask. */
	event->unknown = is_arm(info) || !is_arch_code(event->code, info);
}

/* ---- the kinds of names ---------------------------------------------------------- */

static bool encode_generic(struct vperfctr_event *event, const char *name,
			   const struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		const struct arch_event *a = &arch_events[i];

		if (strcmp(name, a->name) && (!a->alias || strcmp(name, a->alias)))
			continue;
		event->arch = a->arch;
		if (is_p4(info)) {
			if (!__vperfctr_p4_generic(event, a->arch))
				event->general = 0;
			return true;
		}
		if (is_old(info)) {
			if (__vperfctr_old_generic(info, a->arch, &event->code))
				event->general = ~UINT64_C(0);
			return true;
		}
		event->code = arch_code(a, info);
		/* 0: the processor does not have this event. */
		event->general = event->code ? ~UINT64_C(0) : 0;
		if (is_ppc32(info) && a->arch == VPERFCTR_EVENT_INSTRUCTIONS)
			event->general = PPC32_WITH_INSTRUCTIONS;
		take_fixed(event, a, info, false);
		return true;
	}
	return false;
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

/* Return the bits of the event select register that a name may set, besides the modes. */
static uint64_t settable(const struct vperfctr_info *info)
{
	if (is_arm(info))
		return ARM_EVENT;
	if (is_old(info))
		return __vperfctr_old_settable(info);
	if (is_riscv(info))
		return RISCV_EVENT;
	if (is_ppc32(info))
		return PPC32_EVENT;
	if (is_power(info))
		return __vperfctr_power_fields(info);
	return EVNTSEL_EVENT | EVNTSEL_UMASK | EVNTSEL_EDGE | EVNTSEL_INV | EVNTSEL_CMASK |
	       (is_amd(info) ? AMD_EVENT_HIGH : 0);
}

static const char *describe_settable(const struct vperfctr_info *info)
{
	if (is_arm(info))
		return "an event's number (bits 0-15)";
	if (is_old(info))
		return __vperfctr_old_describe_settable(info);
	if (is_riscv(info))
		return "the SBI's number of an event (bits 0-19)";
	if (is_ppc32(info))
		return "the counter's selector (bits 0-7)";
	if (is_power(info))
		return "the fields of perf's codes for this processor, without sampling, EBB and BHRB";
	if (is_amd(info))
		return "event select, unit mask, edge (bit 18), inv (23), cmask (24-31) and the event select's upper bits (32-35)";
	return "event select, unit mask, edge (bit 18), inv (23) and cmask (24-31)";
}

/*
 * Encode 0xCCCR/0xESCR of the Pentium 4, with modes or without.  Enable and the active thread
 * may be set.
 */
static int encode_p4(struct vperfctr_event *event, const char *name, uint64_t cccr,
		     const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const uint64_t modes = P4_ESCR_T0_USR | P4_ESCR_T0_OS;

	if (!event->aux || cccr & ~(P4_CCCR_EVENT | P4_CCCR_ENABLE | P4_CCCR_THREADS) ||
	    event->aux & ~(P4_ESCR_EVENT | modes))
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' is no event: it is 0xCCCR/0xESCR, with ESCR select, compare, complement, threshold and edge; and with event, mask, tag, T0_USR and T0_OS",
					 name);
	if (event->aux & modes) {
		if (!event->modes_left)
			return __vperfctr_refuse(why, -EINVAL,
						 "'%s' says itself in which mode to count: leave ':u' or ':k' out",
						 name);
		event->modes = (event->aux & P4_ESCR_T0_USR ? VPERFCTR_MODE_USER : 0) |
			       (event->aux & P4_ESCR_T0_OS ? VPERFCTR_MODE_KERNEL : 0);
		event->modes_left = 0;
	}
	event->code = cccr & P4_CCCR_EVENT;
	event->aux &= P4_ESCR_EVENT;
	find_counters(event, info);
	return 0;
}

/* Return the bits of the event select register that select the modes. */
static uint64_t mode_bits(const struct vperfctr_info *info)
{
	if (is_modeless(info))
		return 0;
	if (is_old(info))
		return OLD_OS | OLD_USR;
	return is_arm(info) ? ARM_P | ARM_U : is_riscv(info) ? RISCV_SINH | RISCV_UINH :
	       is_power(info) ? POWER_NOT_USER | POWER_NOT_KERNEL : EVNTSEL_USR | EVNTSEL_OS;
}

static unsigned int modes_of(uint64_t evntsel, const struct vperfctr_info *info)
{
	const bool user = is_arm(info) ? !(evntsel & ARM_U) :
			  is_riscv(info) ? !(evntsel & RISCV_UINH) :
			  is_power(info) ? !(evntsel & POWER_NOT_USER) :
			  evntsel & (is_old(info) ? OLD_USR : EVNTSEL_USR);
	const bool kernel = is_arm(info) ? !(evntsel & ARM_P) :
			    is_riscv(info) ? !(evntsel & RISCV_SINH) :
			    is_power(info) ? !(evntsel & POWER_NOT_KERNEL) :
			    evntsel & (is_old(info) ? OLD_OS : EVNTSEL_OS);

	return (user ? VPERFCTR_MODE_USER : 0) | (kernel ? VPERFCTR_MODE_KERNEL : 0);
}

/* Encode rUUEE, or rDATA as perf has it on RISC-V.  Returns 1 if the name does not have this form. */
static int encode_raw(struct vperfctr_event *event, const char *name,
		      const struct vperfctr_info *info, struct vperfctr_why *why)
{
	size_t len = strlen(name);

	if (name[0] != 'r' || len < 2 || strspn(name + 1, "0123456789abcdefABCDEF") != len - 1)
		return 1;
	if (is_p4(info))
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s': events of this processor need two registers, as in '0x%x/0x%x@12' (CCCR and ESCR)",
					 name, 0x8000, 0x04000200);
	/* Sixteen digits are 64 bits.  strtoull() would saturate with more. */
	if (len > 17)
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s' is too long: it is %s in hexadecimal",
					 name, is_arm(info) ? "rEEEE, the event's number" :
					 is_riscv(info) ? "rDATA, the value for mhpmevent" :
					 is_ppc32(info) ? "rEE, the counter's selector" :
					 is_power(info) ? "rPUCEE, the counter (1-6), unit, combination and selector" :
					 "rUUEE, unit mask and event select");
	event->code = strtoull(name + 1, NULL, 16);
	if (is_riscv(info)) {
		if (event->code & ~RISCV_RAW_DATA)
			return __vperfctr_refuse(why, -EINVAL,
						 "raw event '%s' sets more than 48 bits: modes are given by ':u' and ':k'",
						 name);
		event->aux = event->code;
		event->code = RISCV_RAW;
		find_counters(event, info);
		return 0;
	}
	if (event->code & ~settable(info))
		return __vperfctr_refuse(why, -EINVAL,
					 "raw event '%s' sets more than %s: modes are given by ':u' and ':k'",
					 name, describe_settable(info));
	find_counters(event, info);
	return 0;
}

/* Encode 0xEVNTSEL[/0xAUX], which may select modes.  Returns 1 if it has another form. */
static int encode_register(struct vperfctr_event *event, const char *name,
			   const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const uint64_t allowed = settable(info) | mode_bits(info) |
				 (is_arm(info) || is_riscv(info) || is_power(info) ||
				  is_old(info) ? 0 : EVNTSEL_EN);
	uint64_t value;
	char *end;

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
	if (is_p4(info))
		return encode_p4(event, name, value, info, why);
	if (value & ~allowed)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' sets more than %s%s", name,
					 is_arm(info) ? "U (30), P (31) and " :
					 is_power(info) ? "not user (62), not kernel (63) and " :
					 is_modeless(info) ? "" :
					 is_riscv(info) ? "UINH (60), SINH (61) and " :
					 is_old(info) ? "kernel (bit 6), user (7), " :
					 "USR (bit 16), OS (17), EN (22), ", describe_settable(info));
	if (value & mode_bits(info)) {
		if (!event->modes_left)
			return __vperfctr_refuse(why, -EINVAL,
						 "'%s' says itself in which mode to count: leave ':u' or ':k' out",
						 name);
		event->modes = modes_of(value, info);
		event->modes_left = 0;
	}
	event->code = value & settable(info);
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
	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		guess_closer(arch_events[i].name, &g);
		if (arch_events[i].alias)
			guess_closer(arch_events[i].alias, &g);
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
				 name, is_arm(info) ? "r0008" : is_riscv(info) ? "0x2" :
				 is_power(info) ? "r02@0" :
				 is_old(info) ? "r16@0" : "r00c0");
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
	if (!ret && !is_p4(info))
		find_counters(event, info);
	return ret;
}

static int encode(struct vperfctr_event *event, const char *name,
		  const struct vperfctr_info *info, struct vperfctr_why *why)
{
	int ret;

	if (encode_generic(event, name, info))
		return 0;
	ret = encode_code(event, name, info, why);
	return ret || !is_power8(info) ? ret : __vperfctr_power_counters(event, name, info, why);
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
	char counters[128];

	/* The selector is another event on PMC5 and PMC6: see also encode_generic(). */
	if (is_ppc32(info) && event->code == POWER_INSTRUCTIONS && !wish->is)
		event->general &= PPC32_WITH_INSTRUCTIONS;
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

/* A software event has no modes, and takes no counter. */
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

/* Translate a name, with this library's structures. */
static int translate(struct vperfctr_event *event, const char *name,
		     const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const bool may_kernel = info->features & VPERFCTR_FEATURE_KERNEL;
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
		event->modes = may_kernel || is_modeless(info) ? MODES_BOTH : VPERFCTR_MODE_USER;

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
	if (is_modeless(info) && event->modes != MODES_BOTH)
		return __vperfctr_refuse(why, -EOPNOTSUPP,
					 "'%s': this processor counts in all modes only: leave ':u' or ':k' out",
					 name);
	if (is_modeless(info) && !may_kernel)
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

int __vperfctr_get_info(struct vperfctr_info *to, const struct vperfctr_info *info)
{
	if (!__vperfctr_is_size(info->size, INFO_SIZE_VER0))
		return -EINVAL;
	/* The kernel may have filled in fields that this library does not know. */
	memset(to, 0, sizeof(*to));
	memcpy(to, info, info->size < sizeof(*to) ? info->size : sizeof(*to));
	return 0;
}

int __vperfctr_get_info_why(struct vperfctr_info *to, const struct vperfctr_info *info,
			    struct vperfctr_why *why)
{
	int err = __vperfctr_get_info(to, info);

	if (!err)
		return 0;
	return __vperfctr_refuse(why, err, "the description of the processor is none of vperfctr_info()");
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

	for (i = 0; i < ARRAY_SIZE(arch_events); i++) {
		ret = list_one(arch_events[i].name, arch_events[i].description, l);
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
	err = __vperfctr_get_info(&known, info);
	if (err)
		return err;
	l.event = (struct vperfctr_event *)malloc(size);
	if (!l.event)
		return -ENOMEM;
	err = list_all(&l);
	free(l.event);
	return err;
}
