// SPDX-License-Identifier: GPL-2.0
/*
 * POWER8, 9 and 10: the registers of each event that libpfm4 names, and of groups of them, are
 * those that perf's driver writes for the same code.
 *
 * SEED: of the groups and of random codes; ROUNDS: the number of each.
 */
#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <vperfctr-event.h>

#include "suite.h"

#define MAX_EVENTS	2000
#define GROUP		4

static struct named {
	char name[128];
	u64 code;		/* perf's and libpfm4's */
} events[MAX_EVENTS];
static unsigned int nrevents;

static int mmcr, fd;

struct registers {
	u64 mmcr0, mmcr1, mmcr2, mmcra, mmcr3;
};

static unsigned int pmc_of(u64 code)
{
	return code >> 16 & 0xf;
}

/* True if the event is one of the L2 or L3 cache. */
static bool is_of_cache(u64 code)
{
	return (code >> 12 & 0xf) >= 6 && (code >> 12 & 0xf) <= 9;
}

static bool has_bits(u64 code, unsigned int first, unsigned int last)
{
	return code & event_bits(first, last);
}

/*
 * True if the event counts marked instructions, or has a threshold, which is for those.  Some codes
 * of POWER9 lack the bit, but libpfm4's name says it.
 */
static bool is_sampled(u64 code)
{
	unsigned int i;

	if (has_bits(code, 8, 8) || has_bits(code, 29, 39) ||
	    (!is_processor("POWER10") && has_bits(code, 40, 49)))
		return true;
	for (i = 0; i < nrevents; i++) {
		u64 own = event_bits(0, 15) | (pmc_of(events[i].code) ? event_bits(16, 19) : 0);

		if (strstr(events[i].name, "PM_MRK_") && !((events[i].code ^ code) & own))
			return true;
	}
	return false;
}

static void read_registers(struct registers *r)
{
	ck_assert_int_eq(read(mmcr, r, sizeof(*r)), sizeof(*r));
}

/* ---- the same by perf and by the module ---------------------------------------------------- */

static int open_perf(u64 code, int leader)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_RAW,
		.config = code,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int perf = syscall(SYS_perf_event_open, &attr, 0, -1, leader, 0);

	return perf < 0 ? -errno : perf;
}

/* Count a group by perf.  Returns an error, or 0 and the registers. */
static int by_perf(const u64 *codes, unsigned int nr, struct registers *r)
{
	int perf[GROUP], err = 0;
	unsigned int i, n;

	for (n = 0; n < nr; n++) {
		perf[n] = open_perf(codes[n], n ? perf[0] : -1);
		if (perf[n] < 0) {
			err = perf[n];
			break;
		}
	}
	if (!err)
		read_registers(r);
	for (i = n; i-- > 0;)
		close(perf[i]);
	ck_assert_msg(!err || err == -EINVAL, "perf: %s", strerror(-err));
	return err;
}

/* Fill in the control of a group as perf places events: each on its counter, or on a free one. */
static void place(struct control *control, const u64 *codes, unsigned int nr)
{
	const u64 pmc = 0xfULL << 16;
	unsigned int i, n, used = 0;

	control_init(control, 0);
	for (i = 0; i < nr; i++)
		used |= 1U << pmc_of(codes[i]);
	for (i = 0; i < nr; i++) {
		n = pmc_of(codes[i]);
		if (!n) {
			for (n = 1; used & 1U << n; n++)
				;
			used |= 1U << n;
		}
		if (n > 4)
			control_add(control, FIXED(n - 5), FIXED_USER);
		else
			control_add(control, n - 1, SEL_USER | (codes[i] & ~pmc));
	}
}

/* The same by the module. */
static int by_module(struct control *control, struct registers *r)
{
	int err = set_control(fd, control);

	ck_assert_msg(!err || err == -EINVAL, "the module: %s", strerror(-err));
	if (err)
		return err;
	read_registers(r);
	assert_ok(stop_all(fd));
	return 0;
}

/*
 * Compare registers.  These differ on purpose:
 *
 * MMCR0	perf has interrupts also of counters without a period, and stops PMC5 and PMC6 if it
 *		does not use them; the module lets user mode read counters, and counts by PMC5 and
 *		PMC6 without the run latch.
 * MMCR2	the module stops counters that it does not use in all modes, perf in none.
 * MMCRA	perf selects when SDAR is written, which the module does not read.
 */
static void compare(const struct control *control, const struct registers *perf,
		    const struct registers *own, const char *name)
{
	const u64 pmxe = 0x04000000, fcece = 0x02000000, negative = 0xc000, pmcc = 0xc0000;
	const u64 pmccext = 0x200, cc56run = 0x100, fc56 = 0x10, sdar_mode = 3ULL << 42;
	u64 mmcr0 = ~(pmxe | fcece | negative | pmcc | pmccext | cc56run | fc56), mmcr2 = 0x3ff;
	unsigned int i;

	for (i = 0; i < control->c.nractrs; i++) {
		u32 map = control->ctr[i].map;
		unsigned int n = map & VPERFCTR_FIXED ? 4 + (map & 1) : map;

		mmcr2 |= 0x1ffULL << (55 - 9 * n);
	}
	ck_assert_msg(!((perf->mmcr0 ^ own->mmcr0) & mmcr0), "%s: MMCR0 %#llx, perf's %#llx", name,
		      own->mmcr0, perf->mmcr0);
	ck_assert_msg(own->mmcr1 == perf->mmcr1, "%s: MMCR1 %#llx, perf's %#llx", name, own->mmcr1,
		      perf->mmcr1);
	ck_assert_msg(!((perf->mmcr2 ^ own->mmcr2) & mmcr2), "%s: MMCR2 %#llx, perf's %#llx", name,
		      own->mmcr2, perf->mmcr2);
	ck_assert_msg(!((perf->mmcra ^ own->mmcra) & ~sdar_mode), "%s: MMCRA %#llx, perf's %#llx",
		      name, own->mmcra, perf->mmcra);
	ck_assert_msg(own->mmcr3 == perf->mmcr3, "%s: MMCR3 %#llx, perf's %#llx", name, own->mmcr3,
		      perf->mmcr3);
}

/* ---- the events ----------------------------------------------------------------------------- */

static void list_events(void)
{
	pfm_pmu_info_t pmu;
	int i, idx;

	ck_assert_int_eq(pfm_initialize(), PFM_SUCCESS);
	for (i = 0; i < PFM_PMU_MAX; i++) {
		memset(&pmu, 0, sizeof(pmu));
		pmu.size = sizeof(pmu);
		if (pfm_get_pmu_info((pfm_pmu_t)i, &pmu) != PFM_SUCCESS || !pmu.is_present ||
		    pmu.type != PFM_PMU_TYPE_CORE)
			continue;
		for (idx = pmu.first_event; idx != -1; idx = pfm_get_event_next(idx)) {
			pfm_event_info_t event = { .size = sizeof(event) };
			struct named *e = &events[nrevents];

			ck_assert_int_eq(pfm_get_event_info(idx, PFM_OS_NONE, &event), PFM_SUCCESS);
			ck_assert_uint_lt(nrevents++, MAX_EVENTS);
			snprintf(e->name, sizeof(e->name), "%s", event.name);
			e->code = event.code;
		}
	}
	ck_assert_uint_gt(nrevents, 900);
}

static void setup(void)
{
	mmcr = open("/dev/mmcr", O_RDONLY);
	ck_assert_int_ge(mmcr, 0);
	fd = open_state(0);
	list_events();
}

/* Give an event by its name to the library, for the counter that perf chooses. */
static int take(struct vperfctr_event *event, struct control *control, const char *name,
		struct vperfctr_why *why)
{
	char full[160];
	int err;

	snprintf(full, sizeof(full), "%s:u", name);
	err = vperfctr_event(event, full, &info, why);
	if (err)
		return err;
	if (event->general & 1) {
		snprintf(full, sizeof(full), "%s:u@0", name);
		assert_ok(vperfctr_event(event, full, &info, why));
	}
	control_init(control, 0);
	err = vperfctr_event_assign(control->ctr, event, 1, &info, why);
	control->c.nractrs = 1;
	return err;
}

/* The texts of the library for events that perf counts, and the module refuses. */
#define NO_SELECTOR	"its selector is 0"
#define IS_SAMPLE	"which is a sample"

START_TEST(each_event)
{
	struct registers perf, own;
	struct vperfctr_event event;
	struct vperfctr_why why;
	struct control control;
	unsigned int i, nr = 0, refused = 0, sampled = 0;

	for (i = 0; i < nrevents; i++) {
		struct named *e = &events[i];
		int err = take(&event, &control, e->name, &why);
		int perf_err = by_perf(&e->code, 1, &perf);

		if (err) {
			struct control placed;

			/* The module refuses what the library refuses. */
			place(&placed, &e->code, 1);
			ck_assert_msg(by_module(&placed, &own) == -EINVAL, "%s: refused by the library only: %s",
				      e->name, why.text);
			ck_assert_ptr_null(strchr(why.text, '\n'));
			ck_assert_msg(strstr(why.text, e->name), "%s: '%s'", e->name, why.text);
			ck_assert_msg(perf_err || strstr(why.text, NO_SELECTOR) ||
				      strstr(why.text, IS_SAMPLE),
				      "%s: counted by perf: %s", e->name, why.text);
			ck_assert(!strstr(why.text, NO_SELECTOR) == !!(e->code & 0xff));
			ck_assert(!strstr(why.text, IS_SAMPLE) || is_sampled(e->code));
			sampled += is_sampled(e->code);
			if (!refused++)
				printf("refused, for example: %s\n", why.text);
			continue;
		}
		ck_assert_msg(!perf_err, "%s (%#llx): perf refuses it", e->name, e->code);
		ck_assert_msg(!by_module(&control, &own), "%s (%#llx): the module refuses it", e->name,
			      e->code);
		compare(&control, &perf, &own, e->name);
		ck_assert_msg(!is_sampled(e->code), "%s counts samples", e->name);
		nr++;
	}
	printf("%u events of %s have perf's registers; %u are refused, %u of them as samples\n", nr,
	       info.cpu_name, refused, sampled);
	ck_assert_uint_gt(nr, (nrevents - sampled) * 8 / 10);
}
END_TEST

/* ---- at random --------------------------------------------------------------------------------- */

/* Begin a sequence of random numbers.  Returns how many rounds to make. */
static unsigned int begin_rounds(void)
{
	const char *seed = getenv("SEED"), *rounds = getenv("ROUNDS");
	unsigned int n = seed ? strtoul(seed, NULL, 0) : (unsigned int)time(NULL);

	printf("SEED=%u\n", n);
	srand(n);
	return rounds ? strtoul(rounds, NULL, 0) : 1000;
}

/* True if the module refuses a code that perf accepts: see doc/power.md. */
static bool is_refused_on_purpose(u64 code)
{
	const bool power8 = is_processor("POWER8"), power10 = is_processor("POWER10");

	/* The selector, sampling, when SDAR is written. */
	if (!has_bits(code, 0, 7) || has_bits(code, 24, 28) || is_sampled(code) ||
	    (!power8 && has_bits(code, 22, 23)) || (!power8 && !power10 && has_bits(code, 50, 51)))
		return true;
	/* Fields without a meaning, which perf ignores. */
	if (is_of_cache(code) ? has_bits(code, 20, 22) :
	    power8 && (has_bits(code, 23, 23) ||
		       (has_bits(code, 20, 21) && !has_bits(code, 22, 22))))
		return true;
	/* perf refuses an event that has an erratum, but not with other fields. */
	if (!power8 && !power10) {
		const u64 own = code & 0xfffff;
		struct registers r;

		if (own != code && by_perf(&own, 1, &r))
			return true;
	}
	return power10 && has_bits(code, 40, 44) && (code >> 12 & 0xf) != 6;
}

/* Events of libpfm4 with one or two other bits. */
START_TEST(random_codes)
{
	unsigned int i, rounds = begin_rounds(), both = 0, neither = 0, own = 0;
	struct registers perf, module;
	struct control control;
	char name[64];

	for (i = 0; i < rounds; i++) {
		u64 code = events[rand() % nrevents].code;
		int perf_err, err;

		code ^= 1ULL << rand() % 60 & ~event_bits(16, 19);
		if (i % 2)
			code ^= 1ULL << rand() % 60 & ~event_bits(16, 19);
		if (pmc_of(code) > 4)
			continue;
		snprintf(name, sizeof(name), "code %#llx", code);
		perf_err = by_perf(&code, 1, &perf);
		place(&control, &code, 1);
		err = by_module(&control, &module);
		ck_assert_msg(err || !perf_err, "%s: only the module accepts it", name);
		ck_assert_msg(!err || perf_err || is_refused_on_purpose(code), "%s: only perf accepts it",
			      name);
		if (err) {
			neither += !!perf_err;
			own += !perf_err;
			continue;
		}
		compare(&control, &perf, &module, name);
		both++;
	}
	printf("%u codes have perf's registers; %u are refused by both, %u by the module alone\n", both,
	       neither, own);
	ck_assert_uint_gt(both, rounds / 10);
}
END_TEST

/* ---- groups ---------------------------------------------------------------------------------- */

/* True if two events of the group are for the same counter, or there are too many without one. */
static bool is_full(const u64 *codes)
{
	unsigned int i, used = 0, general = 0;

	for (i = 0; i < GROUP; i++) {
		unsigned int n = pmc_of(codes[i]);

		if (n && used & 1U << n)
			return true;
		used |= 1U << n;
		general += n < 5;
	}
	return general > 4;
}

/* Choose a random event; n: for this counter, or for all; 0: any. */
static u64 choose(unsigned int n)
{
	for (;;) {
		u64 code = events[rand() % nrevents].code;

		if (code & 0xff && !is_sampled(code) && (!n || !pmc_of(code) || pmc_of(code) == n))
			return code;
	}
}

/* Groups that the library and the module refuse, and those that they accept. */
static unsigned int alike[2];

/*
 * Check that library and module agree on a group.  Skip groups with an event of which the library
 * does not know the counter.
 */
static void check_library(const u64 *codes, const char *group)
{
	struct vperfctr_event event[GROUP];
	struct control control, placed;
	struct vperfctr_why why;
	struct registers own;
	char name[64];
	unsigned int i;
	int err;

	for (i = 0; i < GROUP; i++) {
		snprintf(name, sizeof(name), "r%llx:u", codes[i]);
		if (vperfctr_event(&event[i], name, &info, &why))
			return;
	}
	control_init(&control, 0);
	control.c.nractrs = GROUP;
	err = vperfctr_event_assign(control.ctr, event, GROUP, &info, &why);
	place(&placed, codes, GROUP);
	if (err)
		ck_assert_msg(by_module(&placed, &own), "%s: only the module accepts it: %s", group,
			      why.text);
	else
		ck_assert_msg(!by_module(&control, &own), "%s: only the library accepts it", group);
	alike[!err]++;
}

/*
 * Let the event of PMC4 be the first: perf checks a group whenever an event is added, and on POWER9
 * refuses one of a cache while PMC4 has none.
 */
static void put_pmc4_first(u64 *codes)
{
	unsigned int i;
	u64 first;

	for (i = 1; i < GROUP; i++) {
		if (pmc_of(codes[i]) != 4)
			continue;
		first = codes[i];
		codes[i] = codes[0];
		codes[0] = first;
		return;
	}
}

START_TEST(groups)
{
	unsigned int i, k, rounds = begin_rounds(), both = 0, neither = 0, full = 0;
	struct registers perf, own;
	struct control control;
	u64 codes[GROUP];
	char name[128];

	for (i = 0; i < rounds; i++) {
		int perf_err, err;

		/* Most groups have an event for each counter: they differ in shared fields only. */
		for (k = 0; k < GROUP; k++)
			codes[k] = choose(i % 4 ? k + 1 : 0);
		put_pmc4_first(codes);
		snprintf(name, sizeof(name), "group %u: %#llx %#llx %#llx %#llx", i, codes[0], codes[1],
			 codes[2], codes[3]);
		check_library(codes, name);
		perf_err = by_perf(codes, GROUP, &perf);
		place(&control, codes, GROUP);
		err = by_module(&control, &own);
		/* perf then tries other codes for some events, of other counters. */
		if (err && !perf_err && is_full(codes)) {
			full++;
			continue;
		}
		ck_assert_msg(!err == !perf_err, "%s: only %s accepts it", name, err ? "perf" : "the module");
		if (err) {
			neither++;
			continue;
		}
		compare(&control, &perf, &own, name);
		both++;
	}
	printf("%u groups have perf's registers; %u are refused by both, %u by the module alone\n", both,
	       neither, full);
	printf("the library and the module accept %u groups, and refuse %u\n", alike[1], alike[0]);
	ck_assert_uint_gt(both, rounds / 50);
	ck_assert_uint_gt(neither, rounds / 50);
	ck_assert_uint_gt(alike[1], rounds / 100);
	ck_assert_uint_gt(alike[0], rounds / 100);
}
END_TEST

static void add(TCase *tc)
{
	tcase_set_timeout(tc, 600);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, each_event);
	tcase_add_test(tc, random_codes);
	tcase_add_test(tc, groups);
}

int main(void)
{
	struct utsname uts;
	char command[256];

	open_device();
	if (uname(&uts))
		die("uname: %s", strerror(errno));
	snprintf(command, sizeof(command), "insmod /tests/mmcr-reader-%s.ko", uts.release);
	if (access("/dev/mmcr", R_OK) && system(command))
		die("cannot load the reader of registers");
	setvbuf(stdout, NULL, _IOLBF, 0);
	return run_tests("power_events", add);
}
