// SPDX-License-Identifier: GPL-2.0
/* What came out, for people: aligned, and the same in every locale. */
#include <inttypes.h>

#include "perfex.h"

char *thousands(char *buf, uint64_t n)
{
	char digits[THOUSANDS_LEN];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *p = buf;
	int i;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*p++ = ',';
		*p++ = digits[i];
	}
	*p = '\0';
	return buf;
}

/* ---- what two counts say together ------------------------------------------------ */

static const struct ratio {
	uint32_t of, by;	/* VPERFCTR_EVENT_* */
	double scale;
	const char *format;
} ratios[] = {
	{ VPERFCTR_EVENT_INSTRUCTIONS, VPERFCTR_EVENT_CYCLES, 1, "%.2f per cycle" },
	{ VPERFCTR_EVENT_BRANCH_MISSES, VPERFCTR_EVENT_BRANCHES, 100, "%.2f%% of branches" },
	{ VPERFCTR_EVENT_CACHE_MISSES, VPERFCTR_EVENT_CACHE_REFS, 100, "%.2f%% of references" },
};

/* Only counts of the same modes are about the same code. */
static int find_same_mode(const struct events *events, uint32_t arch, const struct event *like)
{
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		const struct event *event = &events->ev[i];

		if (event->arch == arch && event->user == like->user &&
		    event->kernel == like->kernel)
			return (int)i;
	}
	return -1;
}

static void format_ratio(char *buf, size_t size, const struct events *events,
			 const struct sums *sums, unsigned int i)
{
	size_t k;

	buf[0] = '\0';
	for (k = 0; k < ARRAY_SIZE(ratios); k++) {
		const struct ratio *ratio = &ratios[k];
		int by;

		if (events->ev[i].arch != ratio->of)
			continue;
		by = find_same_mode(events, ratio->by, &events->ev[i]);
		if (by < 0 || !sums->pmc[by])
			return;
		snprintf(buf, size, ratio->format,
			 ratio->scale * (double)sums->pmc[i] / (double)sums->pmc[by]);
		return;
	}
}

/* ---- the table ----------------------------------------------------------------------- */

#define COUNT_WIDTH	20
#define NAME_WIDTH	20

static void print_row(FILE *f, int name_width, const char *count, const char *name,
		      const char *remark)
{
	if (*remark)
		fprintf(f, "%*s  %-*s  # %s\n", COUNT_WIDTH, count, name_width, name, remark);
	else
		fprintf(f, "%*s  %s\n", COUNT_WIDTH, count, name);
}

static const char *modes(const struct events *events)
{
	bool both = false, user = false, kernel = false;
	unsigned int i;

	if (!events->nr)
		return "";
	if (events->user_by_default)
		return ", user mode only (kernel mode needs CAP_PERFMON)";
	for (i = 0; i < events->nr; i++) {
		const struct event *event = &events->ev[i];

		both |= event->user && event->kernel;
		user |= !event->kernel;
		kernel |= !event->user;
	}
	if (both)
		return user || kernel ? ", user and kernel mode unless marked :u or :k" :
					", user and kernel mode";
	if (user && kernel)
		return ", user and kernel mode as marked";
	return user ? ", user mode" : ", kernel mode";
}

/* What is the same in all tables of one output. */
struct table {
	FILE *f;
	const struct events *events;
	const struct vperfctr_info *info;
	int name_width;
};

static void print_counts(const struct table *t, const struct sums *sums)
{
	const struct events *events = t->events;
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		char count[THOUSANDS_LEN], remark[64];

		if (sums) {
			format_ratio(remark, sizeof(remark), events, sums, i);
			print_row(t->f, t->name_width, thousands(count, sums->pmc[i]),
				  events->ev[i].name, remark);
		} else {
			print_row(t->f, t->name_width, "<not counted>", events->ev[i].name, "");
		}
	}
	if (events->nr)
		fputc('\n', t->f);
}

/* cpu_time: what it should be, if that is known. */
static void print_thread_time(const struct table *t, const struct sums *sums, double cpu_time)
{
	const char *remark = "";
	char buf[THOUSANDS_LEN], text[80];
	double thread;

	if (!sums) {
		print_row(t->f, t->name_width, "<not counted>", "seconds thread time", "");
	} else if (!t->info->tsc_khz) {
		print_row(t->f, t->name_width, thousands(buf, sums->tsc),
			  "tsc cycles thread time", "");
	} else {
		thread = (double)sums->tsc / (t->info->tsc_khz * 1e3);
		snprintf(buf, sizeof(buf), "%.9f", thread);
		/* The scheduler's clock is not the TSC: let small differences be. */
		if (cpu_time > thread * 1.05 + 0.01) {
			snprintf(text, sizeof(text),
				 "%.3f s of other threads and children are not counted",
				 cpu_time - thread);
			remark = text;
		}
		print_row(t->f, t->name_width, buf, "seconds thread time", remark);
	}
}

static void print_parts(const struct table *t, const struct result *r)
{
	unsigned int i;

	for (i = 0; i < r->nrparts; i++) {
		fprintf(t->f, "\n Of these, %s:\n\n", r->parts[i].name);
		print_counts(t, &r->parts[i].sums);
		print_thread_time(t, &r->parts[i].sums, 0);
	}
}

/* What stands in a file may be read without what perfex said on standard error. */
static void print_notes(FILE *f, const struct result *r)
{
	if (r->counted && !r->complete)
		fputs("\n These counts are not complete: see perfex's error message.\n", f);
	if (r->counts.status & VPERFCTR_STATUS_CHILDREN)
		fputs("\n Not included: threads or processes that were started and run still.\n", f);
}

void print_result(FILE *f, const char *what, const struct events *events,
		  const struct vperfctr_info *info, const struct result *r, bool verbose)
{
	struct table t = { f, events, info, NAME_WIDTH };
	const struct sums *total = r->counted ? &r->total : NULL;
	char elapsed[32];
	unsigned int i;

	for (i = 0; i < events->nr; i++)
		if ((int)strlen(events->ev[i].name) > t.name_width)
			t.name_width = (int)strlen(events->ev[i].name);

	fprintf(f, "\n Counts of %s (%s%s):\n\n", what, r->scope, modes(events));
	print_counts(&t, total);
	print_thread_time(&t, total, r->cpu_time);
	snprintf(elapsed, sizeof(elapsed), "%.9f", r->elapsed);
	print_row(f, t.name_width, elapsed, "seconds elapsed", "");
	if (verbose)
		print_parts(&t, r);
	print_notes(f, r);
	fputc('\n', f);
}

void print_control(FILE *f, const struct events *events, const struct vperfctr_ctr *ctr)
{
	unsigned int i;

	for (i = 0; i < events->nr; i++) {
		fprintf(f, "perfex: %s: map 0x%08" PRIx32 " evntsel 0x%08" PRIx64,
			events->ev[i].name, (uint32_t)ctr[i].map, (uint64_t)ctr[i].evntsel);
		if (ctr[i].aux)
			fprintf(f, " aux 0x%" PRIx64, (uint64_t)ctr[i].aux);
		fputc('\n', f);
	}
}
