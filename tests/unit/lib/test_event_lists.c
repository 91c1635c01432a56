// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests of libvperfctr-event: each event is placed on a counter that Intel's list names.
 *
 * EVENT_FACTS=FILE: the lists themselves, as lib/event/lists/extract prints them.  Without
 * it, the committed table stands for them.
 */
#include <check.h>
#include <perfmon/pfmlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "x86.h"

/* ---- the table, looked up in another way --------------------------------------------- */

struct listed_event {
	uint8_t event, umasks;
	uint16_t general;
};

struct listed_umask {
	uint8_t event, umask;
	uint16_t general;
	uint32_t with;
};

struct counter_list {
	const char *name;
	uint8_t core, nrevents, nrumasks;
	const struct listed_event *events;
	const struct listed_umask *umasks;
};

struct listed_model {
	uint8_t family, model;
	uint16_t steppings;
	const char *list;
};

#include "counter-lists.h"

/* ---- the lists themselves ------------------------------------------------------------ */

static struct fact {
	char list[32];
	unsigned int core, event, umask, with, counters;
} *facts;
static unsigned int nrfacts;

static void read_facts(void)
{
	const char *name = getenv("EVENT_FACTS");
	struct fact f;
	FILE *file;

	if (!name)
		return;
	file = fopen(name, "r");
	if (!file) {
		perror(name);
		exit(1);
	}
	while (fscanf(file, "%31s %x %x %x %x %x\n", f.list, &f.core, &f.event, &f.umask, &f.with,
		      &f.counters) == 6) {
		facts = realloc(facts, (nrfacts + 1) * sizeof(f));
		facts[nrfacts++] = f;
	}
	if (!feof(file) || nrfacts < 5000) {
		fprintf(stderr, "%s: not a list of events\n", name);
		exit(1);
	}
	fclose(file);
}

#define WITH	(EVNTSEL_EDGE | EVNTSEL_INV | EVNTSEL_CMASK)

/* The counters of a code by the lists themselves: *listed is false if they lack it. */
static uint64_t by_facts(const char *list, unsigned int core, uint64_t code, bool *listed)
{
	uint64_t exact = 0, all = ~UINT64_C(0), any = 0;
	unsigned int i;

	for (i = 0; i < nrfacts; i++) {
		const struct fact *f = &facts[i];

		if (strcmp(f->list, list) || (core && f->core != core) ||
		    f->event != (code & EVNTSEL_EVENT) || f->umask != (code & EVNTSEL_UMASK) >> 8)
			continue;
		any |= f->counters;
		all &= f->counters;
		if (f->with == (code & WITH))
			exact = f->counters;
	}
	*listed = any;
	return exact ? exact : all ? all : any;
}

/* The same by the table: it says only which bits the unit masks of an event have. */
static uint64_t by_table(const char *list, unsigned int core, uint64_t code, bool *listed)
{
	const uint8_t event = (uint8_t)code, umask = (uint8_t)(code >> 8);
	const struct counter_list *l = NULL;
	uint64_t counters = 0, plain = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counter_lists); i++)
		if (!strcmp(counter_lists[i].name, list) && counter_lists[i].core == core)
			l = &counter_lists[i];
	ck_assert_ptr_nonnull(l);
	*listed = false;
	for (i = 0; i < l->nrevents; i++)
		if (l->events[i].event == event && (umask & l->events[i].umasks) == umask) {
			counters = l->events[i].general;
			/* There may be no counter for all unit masks together. */
			*listed = counters;
		}
	for (i = 0; i < l->nrumasks; i++)
		if (l->umasks[i].event == event && l->umasks[i].umask == umask) {
			*listed = true;
			if (l->umasks[i].with == (code & WITH))
				return l->umasks[i].general;
			if (!l->umasks[i].with)
				plain = l->umasks[i].general;
		}
	return plain ? plain : counters;
}

/* Processors none of whose events are restricted: those that their lists lack are not either. */
static const char *const unrestricted[] = {
	"bonnell", "silvermont", "goldmont", "goldmontplus", "elkhartlake", "snowridgex",
};

/* Return the counters of an unrestricted processor, or 0. */
static uint64_t of_all(const char *list)
{
	uint64_t counters = 0;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(unrestricted) && strcmp(unrestricted[i], list); i++)
		;
	if (i == ARRAY_SIZE(unrestricted))
		return 0;
	for (k = 0; strcmp(counter_lists[k].name, list); k++)
		;
	for (i = 0; i < counter_lists[k].nrevents; i++)
		counters |= counter_lists[k].events[i].general;
	return counters;
}

/* Their lists agree. */
START_TEST(no_restrictions)
{
	const struct counter_list *l = counter_lists;
	unsigned int i;

	while (strcmp(l->name, unrestricted[_i]))
		l++;
	ck_assert_uint_eq(l->nrumasks, 0);
	for (i = 0; i < l->nrevents; i++)
		ck_assert_uint_eq(l->events[i].general, l->events[0].general);
}
END_TEST

/* Each list has rows in order, and the table none that say nothing. */
START_TEST(table)
{
	const struct counter_list *l = &counter_lists[_i];
	unsigned int i, k;

	for (i = 0; i < l->nrevents; i++) {
		if (i)
			ck_assert_uint_lt(l->events[i - 1].event, l->events[i].event);
		for (k = 0; k < l->nrumasks && l->umasks[k].event != l->events[i].event; k++)
			;
		ck_assert(l->events[i].general || k < l->nrumasks);
	}
	for (k = 0; k < l->nrumasks; k++) {
		ck_assert_uint_ne(l->umasks[k].general, 0);
		for (i = 0; l->events[i].event != l->umasks[k].event; i++)
			ck_assert_uint_lt(i, l->nrevents);
		ck_assert_uint_ne(l->umasks[k].general, l->events[i].general);
		ck_assert_uint_eq(l->umasks[k].umask & ~l->events[i].umasks, 0);
	}
}
END_TEST

/* Each model's list exists, and each list has a model. */
START_TEST(models)
{
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(listed_models); i++) {
		for (k = 0; strcmp(counter_lists[k].name, listed_models[i].list); k++)
			ck_assert_uint_lt(k, ARRAY_SIZE(counter_lists));
		for (k = 0; k < i; k++)
			ck_assert(listed_models[i].family != listed_models[k].family ||
				  listed_models[i].model != listed_models[k].model ||
				  !(listed_models[i].steppings & listed_models[k].steppings));
	}
	for (k = 0; k < ARRAY_SIZE(counter_lists); k++)
		for (i = 0; strcmp(counter_lists[k].name, listed_models[i].list); i++)
			ck_assert_uint_lt(i, ARRAY_SIZE(listed_models));
}
END_TEST

/* Codes of lists whose counters the hand-made rules limit: {list, core, code, what is left}. */
static const struct {
	const char *list;
	unsigned int core;
	uint64_t code, counters;
} stricter[] = {
	{ "sandybridge", 0, 0x0248, 0x4 }, { "jaketown", 0, 0x0248, 0x4 },
	{ "novalake", 0x20, 0x0175, 0x1 }, { "novalake", 0x20, 0x0575, 0x1 },
	{ "novalake", 0x20, 0x0275, 0x2 }, { "novalake", 0x20, 0x0375, 0x0 },
	{ "novalake", 0x40, 0x0847, 0xf }, { "novalake", 0x40, 0x0176, 0xf },
	{ "novalake", 0x40, 0x0479, 0xf }, { "novalake", 0x40, 0x0879, 0xf },
	{ "novalake", 0x40, 0x2079, 0xf }, { "novalake", 0x40, 0x01b2, 0xf },
	{ "novalake", 0x40, 0x02b2, 0xf }, { "novalake", 0x40, 0x06b2, 0xf },
	{ "novalake", 0x40, 0x87d0, 0xf }, { "novalake", 0x40, 0x01df, 0xf },
	{ "novalake", 0x40, 0x02df, 0xf }, { "novalake", 0x40, 0x03df, 0xf },
};

static uint64_t left_by_rules(const char *list, unsigned int core, uint64_t code,
			      uint64_t counters)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(stricter); i++)
		if (!strcmp(stricter[i].list, list) && stricter[i].core == core &&
		    stricter[i].code == (code & 0xffff) && (counters & stricter[i].counters))
			counters &= stricter[i].counters;
	return counters;
}

/* The library's counters are those of each event of the list itself. */
START_TEST(listed_events)
{
	const struct fact *f;
	unsigned int i, nr = 0;

	for (i = 0; i < nrfacts; i++) {
		struct processor p = { .list = facts[i].list, .core = facts[i].core };
		uint64_t code, got;
		bool listed;

		f = &facts[i];
		code = f->event | f->umask << 8 | f->with;
		got = __vperfctr_intel_counters(&p, code);
		ck_assert_msg(got && !(got & ~(uint64_t)f->counters), "%s, %llx: %llx, listed %x",
			      f->list, (unsigned long long)code, (unsigned long long)got, f->counters);
		/* All that all variants allow, where they allow something. */
		ck_assert_msg((left_by_rules(f->list, f->core, code, by_table(f->list, f->core, code, &listed)) &
			       ~got) == 0, "%s, %llx: only %llx", f->list, (unsigned long long)code,
			      (unsigned long long)got);
		nr++;
	}
	ck_assert(!nrfacts || nr > 5000);
}
END_TEST

/* A hand-made rule for a list says more than the list. */
START_TEST(hand_made)
{
	struct processor p = { .list = stricter[_i].list, .core = stricter[_i].core };
	uint64_t list, code = stricter[_i].code;
	bool listed;

	list = by_table(p.list, p.core, code, &listed);
	ck_assert(listed);
	ck_assert_uint_eq(__vperfctr_intel_counters(&p, code), stricter[_i].counters);
	ck_assert_uint_ne(list, stricter[_i].counters);
	ck_assert_uint_eq(list & stricter[_i].counters, stricter[_i].counters);
}
END_TEST

/* ---- each event of libpfm4 ----------------------------------------------------------- */

static char pmus[80][32];
static unsigned int nrpmus;

/* Another process lists the PMUs: libpfm4 can be told once which one to use. */
static void list_pmus(void)
{
	pfm_pmu_info_t pmu;
	int fds[2], i;
	FILE *f;

	if (pipe(fds))
		exit(1);
	if (!fork()) {
		f = fdopen(fds[1], "w");
		pfm_initialize();
		for (i = 0; i < PFM_PMU_MAX; i++) {
			memset(&pmu, 0, sizeof(pmu));
			pmu.size = sizeof(pmu);
			if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) == PFM_SUCCESS &&
			    pmu.type == PFM_PMU_TYPE_CORE && strncmp(pmu.name, "amd64", 5) &&
			    strncmp(pmu.name, "arm", 3))
				fprintf(f, "%s\n", pmu.name);
		}
		fclose(f);
		_exit(0);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	while (nrpmus < ARRAY_SIZE(pmus) && fscanf(f, "%31s", pmus[nrpmus]) == 1)
		nrpmus++;
	fclose(f);
	wait(NULL);
}

/* Intel's lists of libpfm4's processors.  NULL: it has none, for the reason in the comment. */
static const struct {
	const char *pmu, *list;
	unsigned int core;
} lists[] = {
	{ "adl_glc", "alderlake", 0x40 }, { "adl_grt", "alderlake", 0x20 },
	{ "atom", "bonnell", 0 }, { "bdw", "broadwell", 0 }, { "bdw_ep", "broadwellx", 0 },
	{ "clx", "cascadelakex", 0 }, { "emr", "emeraldrapids", 0 }, { "glm", "goldmont", 0 },
	{ "gnr", "graniterapids", 0 }, { "hsw", "haswell", 0 }, { "hsw_ep", "haswellx", 0 },
	{ "icl", "icelake", 0 }, { "icx", "icelakex", 0 }, { "ivb", "ivybridge", 0 },
	{ "ivb_ep", "ivytown", 0 }, { "knl", "knightslanding", 0 },
	{ "knm", "knightslanding", 0 }, { "nhm", "nehalemep", 0 }, { "nhm_ex", "nehalemex", 0 },
	{ "skl", "skylake", 0 }, { "skx", "skylakex", 0 }, { "slm", "silvermont", 0 },
	{ "snb", "sandybridge", 0 }, { "snb_ep", "jaketown", 0 }, { "spr", "sapphirerapids", 0 },
	{ "tmt", "snowridgex", 0 }, { "wsm", "westmereep-sp", 0 },
	{ "wsm_dp", "westmereep-dp", 0 },
	/* older than the lists: SDM volume 3 */
	{ "core", NULL, 0 }, { "coreduo", NULL, 0 },
	/* architectural events only */
	{ "ix86arch", NULL, 0 },
	/* not architectural performance monitoring: the module does not know them */
	{ "netburst", NULL, 0 }, { "netburst_p", NULL, 0 }, { "knc", NULL, 0 },
	{ "p6", NULL, 0 }, { "ppro", NULL, 0 }, { "pii", NULL, 0 }, { "pm", NULL, 0 },
};

struct tally {
	unsigned int placed, unlisted;
	const char *list;
	unsigned int core;
	struct vperfctr_info info;
};

static int place(const struct vperfctr_event *e, const char *description, void *arg)
{
	struct tally *t = arg;
	struct vperfctr_event event;
	struct vperfctr_why why;
	struct vperfctr_ctr ctr;
	uint64_t counters;
	bool listed;
	int err;

	(void)description;
	if (e->soft || e->arch || (e->fixed && !e->general))
		return 0;
	err = vperfctr_event(&event, e->name, &t->info, &why);
	/* List and name agree. */
	ck_assert_uint_eq(err == -EOPNOTSUPP, e->unknown || !e->general);
	counters = nrfacts ? by_facts(t->list, t->core, e->code, &listed) :
			     by_table(t->list, t->core, e->code, &listed);
	if (err) {
		ck_assert_msg(err == -EOPNOTSUPP && strstr(why.text, "it is not known which counters"),
			      "%s: %s", e->name, why.text);
		ck_assert_msg(!listed, "%s is refused: %s", e->name, why.text);
		t->unlisted++;
		return 0;
	}
	/* A combination of unit masks, which only the table has. */
	if (!listed)
		counters = by_table(t->list, t->core, e->code, &listed);
	if (!listed) {
		counters = of_all(t->list);
		listed = counters;
		t->unlisted++;
		t->placed--;
	}
	ck_assert_msg(listed, "%s (%llx) is in no list", e->name, (unsigned long long)e->code);
	ck_assert_msg(!vperfctr_event_assign(&ctr, &event, 1, &t->info, &why), "%s", why.text);
	ck_assert_msg(counters >> ctr.map & 1, "%s (%llx) is on %u, listed: %llx", e->name,
		      (unsigned long long)e->code, ctr.map, (unsigned long long)counters);
	/* Nor may another of the counters be one that the list does not name. */
	ck_assert_msg(!(event.general & ~counters), "%s (%llx) may be on %llx, listed: %llx", e->name,
		      (unsigned long long)e->code, (unsigned long long)event.general,
		      (unsigned long long)counters);
	t->placed++;
	return 0;
}

START_TEST(every_event)
{
	struct tally t = { .info = { .size = sizeof(struct vperfctr_info),
		.cpu_type = VPERFCTR_CPU_INTEL_ARCH, .features = VPERFCTR_FEATURE_KERNEL,
		.arch_events = 0x7f, .pmc_mask = 0xff, .fixed_mask = 0x7f, .nrctrs = 15,
	} };
	const char *pmu = pmus[_i];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists) && strcmp(lists[i].pmu, pmu); i++)
		;
	ck_assert_msg(i < ARRAY_SIZE(lists), "libpfm4's %s is new: add its list", pmu);
	if (!lists[i].list)
		return;
	t.list = lists[i].list;
	t.core = lists[i].core;
	t.info.core_type = t.core << 24;
	setenv("LIBPFM_FORCE_PMU", pmu, 1);
	ck_assert_int_eq(vperfctr_event_list(&t.info, place, &t), 0);
	printf("%s: %u placed, %u not in Intel's list\n", pmu, t.placed, t.unlisted);
	ck_assert_uint_gt(t.placed, 20);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lib-event-lists");
	TCase *t = tcase_create("lists");
	SRunner *sr = srunner_create(s);
	int failed;

	read_facts();
	list_pmus();
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, table, 0, ARRAY_SIZE(counter_lists));
	tcase_add_test(t, models);
	tcase_add_test(t, listed_events);
	tcase_add_loop_test(t, hand_made, 0, ARRAY_SIZE(stricter));
	tcase_add_loop_test(t, no_restrictions, 0, ARRAY_SIZE(unrestricted));
	tcase_add_loop_test(t, every_event, 0, (int)nrpmus);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	free(facts);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
