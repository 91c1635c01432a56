// SPDX-License-Identifier: GPL-2.0
/* Parts of perfex: events, counters, messages, output. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "perfex.h"

static struct events events;
static struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
static struct vperfctr_info info;
static const struct kinds one_kind = { .nr = 1 };
static struct error error;

static void setup(void)
{
	fake_reset();
	info = fake.info;
	memset(&events, 0, sizeof(events));
	memset(&error, 0, sizeof(error));
	/* libpfm4 reads this when this process first uses it. */
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
}

static const struct vperfctr_event *parse_one(const char *spec)
{
	memset(&events, 0, sizeof(events));
	ck_assert_msg(!events_parse(&events, spec, &info, &error), "%s: %s", spec, error.text);
	ck_assert_uint_eq(events.nr, 1);
	return &events.ev[0];
}

static void refuse(const char *spec, const char *because)
{
	memset(&events, 0, sizeof(events));
	ck_assert_msg(events_parse(&events, spec, &info, &error) == -1, "%s", spec);
	ck_assert_msg(strstr(error.text, because), "%s: '%s' not in '%s'", spec, because,
		      error.text);
	ck_assert_int_eq(error.status, 125);
	ck_assert_ptr_null(strchr(error.text, '\n'));
}

static uint32_t modes_of(bool user, bool kernel)
{
	return (user ? VPERFCTR_MODE_USER : 0) | (kernel ? VPERFCTR_MODE_KERNEL : 0);
}

/* ---- names ------------------------------------------------------------------- */

static const struct {
	const char *spec, *name;
	uint64_t code;
	bool user, kernel;
	int fixed;
	bool fixed_only;
	uint32_t arch;
} names[] = {
	{ "cycles", "cycles", 0x003c, true, true, 1, false, VPERFCTR_EVENT_CYCLES },
	{ "cpu-cycles", "cpu-cycles", 0x003c, true, true, 1, false, VPERFCTR_EVENT_CYCLES },
	{ "instructions:u", "instructions:u", 0x00c0, true, false, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "ref-cycles:k", "ref-cycles:k", 0x013c, false, true, 2, true, VPERFCTR_EVENT_REF_CYCLES },
	{ "cache-references:uk", "cache-references:uk", 0x4f2e, true, true, -1, false, VPERFCTR_EVENT_CACHE_REFS },
	{ "cache-misses:ku", "cache-misses:ku", 0x412e, true, true, -1, false, VPERFCTR_EVENT_CACHE_MISSES },
	{ "branches:ukuk", "branches:ukuk", 0x00c4, true, true, -1, false, VPERFCTR_EVENT_BRANCHES },
	{ "branch-instructions", "branch-instructions", 0x00c4, true, true, -1, false, VPERFCTR_EVENT_BRANCHES },
	{ "branch-misses", "branch-misses", 0x00c5, true, true, -1, false, VPERFCTR_EVENT_BRANCH_MISSES },

	{ "r00c0", "r00c0", 0x00c0, true, true, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "rc0:u", "rc0:u", 0x00c0, true, false, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "r412E", "r412E", 0x412e, true, true, -1, false, VPERFCTR_EVENT_CACHE_MISSES },
	/* Fixed counter 2 has the same purpose, but another rate. */
	{ "r013c", "r013c", 0x013c, true, true, -1, false, VPERFCTR_EVENT_REF_CYCLES },
	{ "r0300", "r0300", 0x0300, true, true, 2, true, 0 },
	{ "r0400", "r0400", 0x0400, true, true, 3, true, 0 },
	/* With a threshold it is an event other than instructions. */
	{ "r14000c0", NULL, 0, false, false, 0, false, 0 },	/* EN: refused */
	{ "r10000c0:k", "r10000c0:k", 0x10000c0, false, true, -1, false, 0 },

	{ "INST_RETIRED:ANY_P", "INST_RETIRED:ANY_P", 0x00c0, true, true, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "MEM_LOAD_RETIRED:L1_HIT:u", "MEM_LOAD_RETIRED:L1_HIT:u", 0x01d1, true, false, -1, false, 0 },
	{ "skl::MEM_LOAD_RETIRED:L1_HIT", "skl::MEM_LOAD_RETIRED:L1_HIT", 0x01d1, true, true, -1, false, 0 },
	{ "mem_load_retired:l1_hit:u=1:k=0", "mem_load_retired:l1_hit:u=1:k=0:u", 0x01d1, true, false, -1, false, 0 },
	{ "LONGEST_LAT_CACHE:MISS:i:c=1:k", "LONGEST_LAT_CACHE:MISS:i:c=1:k", 0x180412e, false, true, -1, false, 0 },
	{ "UNHALTED_REFERENCE_CYCLES:u", "UNHALTED_REFERENCE_CYCLES:u", 0x0300, true, false, 2, true, 0 },
};

START_TEST(event_name)
{
	const struct vperfctr_event *ev;

	/* A case without a code is refused. */
	if (!names[_i].code) {
		refuse(names[_i].spec, "sets more than");
		return;
	}
	info.fixed_mask = 0xf;
	ev = parse_one(names[_i].spec);
	ck_assert_str_eq(ev->name, names[_i].name);
	ck_assert_uint_eq(ev->code, names[_i].code);
	ck_assert_uint_eq(ev->aux, 0);
	ck_assert_uint_eq(ev->modes, modes_of(names[_i].user, names[_i].kernel));
	ck_assert_uint_eq(ev->fixed, names[_i].fixed < 0 ? 0 : 1 << names[_i].fixed);
	ck_assert_uint_eq(ev->general, names[_i].fixed_only ? 0 : info.pmc_mask);
	ck_assert_uint_eq(ev->arch, names[_i].arch);
	ck_assert(!events.user_by_default);
}
END_TEST

/* In the form of perfctr's perfex. */
static const struct {
	const char *spec;
	uint64_t code, aux;
	bool user, kernel;
	uint32_t map;
	const char *refused;
} chosen[] = {
	{ "0x4100c0@1", 0xc0, 0, true, false, 1, NULL },
	{ "0x4300c0@0x2", 0xc0, 0, true, true, 2, NULL },
	{ "0x420079@3", 0x79, 0, false, true, 3, NULL },
	{ "0x79:k@3", 0x79, 0, false, true, 3, NULL },
	{ "0x1410079@0", 0x1000079, 0, true, false, 0, NULL },
	{ "0X4101B7/0x10001@2", 0x1b7, 0x10001, true, false, 2, NULL },
	{ "cycles:u@2", 0x3c, 0, true, false, 2, NULL },
	{ "mem_load_retired:l1_hit:u=1:k=0@1", 0x1d1, 0, true, false, 1, NULL },
	{ "cycles@fixed1", 0x3c, 0, true, true, VPERFCTR_FIXED + 1, NULL },
	{ "MEM_LOAD_RETIRED:L1_HIT:u@3", 0x1d1, 0, true, false, 3, NULL },
	{ "r0300@fixed2", 0x300, 0, true, true, VPERFCTR_FIXED + 2, NULL },
	{ .spec = "cycles@", .refused = "after @ there is a counter's number" },
	{ .spec = "cycles@x", .refused = "after @ there is a counter's number" },
	{ .spec = "cycles@1x", .refused = "after @ there is a counter's number" },
	{ .spec = "cycles@-1", .refused = "after @ there is a counter's number" },
	{ .spec = "cycles@fixed", .refused = "after @ there is a counter's number" },
	{ .spec = "cycles@99999999999999999999", .refused = "after @ there is a counter's number" },
	{ .spec = "cycles@4", .refused = "has no general counter 4" },
	{ .spec = "cycles@fixed3", .refused = "has no fixed counter 3" },
	{ .spec = "cycles@fixed0", .refused = "cannot count that event" },
	{ .spec = "branches@fixed1", .refused = "cannot count that event" },
	{ .spec = "r0300@0", .refused = "cannot count that event" },
	{ .spec = "ref-cycles@0", .refused = "cannot count that event" },
	{ .spec = "0x4100c0:u", .refused = "says itself in which mode" },
	{ .spec = "0x5100c0", .refused = "sets more than" },
	{ .spec = "0x6100c0", .refused = "sets more than" },
	{ .spec = "0x", .refused = "is no event select register" },
	{ .spec = "0x4100c0/", .refused = "is no event select register" },
	{ .spec = "0x4100c0/0x", .refused = "is no event select register" },
	{ .spec = "0x4100c0/5", .refused = "is no event select register" },
	{ .spec = "0x4100cg", .refused = "is no event select register" },
	{ .spec = "0x11111111111111111", .refused = "is no event select register" },
};

START_TEST(chosen_counter)
{
	const struct vperfctr_event *ev;

	if (chosen[_i].refused) {
		refuse(chosen[_i].spec, chosen[_i].refused);
		return;
	}
	ev = parse_one(chosen[_i].spec);
	ck_assert_uint_eq(ev->code, chosen[_i].code);
	ck_assert_uint_eq(ev->aux, chosen[_i].aux);
	ck_assert_uint_eq(ev->modes, modes_of(chosen[_i].user, chosen[_i].kernel));
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), 0);
	ck_assert_uint_eq(ctr[0].map, chosen[_i].map);
	ck_assert_str_eq(ev->name, !strncmp(ev->name, "mem", 3) ?
			 "mem_load_retired:l1_hit:u=1:k=0:u@1" : chosen[_i].spec);
}
END_TEST

/* Other events get the rest; one counter cannot be chosen twice. */
START_TEST(counters_beside_chosen_ones)
{
	static const uint32_t maps[] = { 0, VPERFCTR_FIXED + 0, 1, 3, 2 };
	unsigned int i;

	events_parse(&events, "instructions:u,instructions:k@fixed0,r010e,r0151@3,r0185", &info, &error);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), 0);
	for (i = 0; i < 5; i++)
		ck_assert_uint_eq(ctr[i].map, maps[i]);
	memset(&events, 0, sizeof(events));
	events_parse(&events, "r010e@2,cycles@2", &info, &error);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), -1);
	ck_assert(strstr(error.text, "no room for cycles@2, as only general counter 2 can count r010e@2, cycles@2"));
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), 2);
}
END_TEST

START_TEST(second_register)
{
	const struct vperfctr_event *ev = parse_one("OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE:u");

	ck_assert_uint_eq(ev->code, 0x01b7);
	ck_assert_uint_eq(ev->aux, 0x10001);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), 0);
	ck_assert_uint_eq(ctr[0].evntsel, 0x4101b7);
	ck_assert_uint_eq(ctr[0].aux, 0x10001);
}
END_TEST

/* An event that needs the register with another value gets another run. */
START_TEST(second_register_in_each_run)
{
	events_parse(&events, "FRONTEND_RETIRED:DSB_MISS:u,FRONTEND_RETIRED:ITLB_MISS:u,cycles:u,FRONTEND_RETIRED:DSB_MISS:k",
		     &info, &error);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), -1);
	ck_assert(strstr(error.text, "no room for FRONTEND_RETIRED:ITLB_MISS:u, whose second register has another value for FRONTEND_RETIRED:DSB_MISS:u"));
	ck_assert(strstr(error.text, "--runs=auto"));
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), 2);
	ck_assert_uint_eq(events.group[0], 0);
	ck_assert_uint_eq(events.group[1], 1);
	ck_assert_uint_eq(events.group[2], 0);
	ck_assert_uint_eq(events.group[3], 0);
	ck_assert_uint_eq(ctr[0].aux, ctr[3].aux);
	ck_assert_uint_ne(ctr[0].aux, ctr[1].aux);
}
END_TEST

START_TEST(several_events)
{
	ck_assert_int_eq(events_parse(&events, "cycles:u,r00c4,branch-misses:k", &info, &error), 0);
	ck_assert_int_eq(events_parse(&events, "instructions", &info, &error), 0);
	ck_assert_uint_eq(events.nr, 4);
	ck_assert_str_eq(events.ev[0].name, "cycles:u");
	ck_assert_str_eq(events.ev[1].name, "r00c4");
	ck_assert_str_eq(events.ev[2].name, "branch-misses:k");
	ck_assert_str_eq(events.ev[3].name, "instructions");
}
END_TEST

START_TEST(unknown_or_malformed_names)
{
	refuse("", "missing");
	refuse("cycles,", "missing");
	refuse(",cycles", "missing");
	refuse("cycles,,cycles", "missing");
	refuse(":u", "unknown event");
	refuse("cylces", "unknown event 'cylces': did you mean 'cycles'?");
	refuse("instruction:u", "did you mean 'instructions'?");
	refuse("INST_RETIERD:ANY", "did you mean 'INST_RETIRED'?");
	refuse("qqqqqqqqqq", "perfex list --help");
	refuse("r", "unknown event");
	refuse("r12zz", "unknown event");
	refuse("c", "unknown event 'c'");
	refuse("{cycles", "'{cycles': the group has no end, which is '}'");
	refuse("cycles}", "'cycles}': braces are not where a group begins or ends");
	refuse("cycles,{instructions,branches}:S", "':S': a group may be followed by ':u', ':k' or ':uk'");
	refuse("{cycles}{branches}", "braces are not where a group begins or ends");
	refuse("{}", "an event name is missing");
	/* The event is known, but not with this attribute: libpfm4 says why. */
	refuse("MEM_LOAD_RETIRED:NONSENSE", "event 'MEM_LOAD_RETIRED:NONSENSE': ");
	refuse("LONGEST_LAT_CACHE:MISS:t", "other threads");
	refuse("r12345678123456781234", "too long");
	/* Bits do not set modes. */
	refuse("r100c0", "':u' and ':k'");
	refuse("r200c0", "':u' and ':k'");
	refuse("r4000c0", "sets more than");
	refuse("r1000000c0", "");	/* bit 36 */
}
END_TEST

/* On a real machine, libpfm4 also knows perf's own events. */
START_TEST(names_of_perf)
{
	if (_i)
		setenv("LIBPFM_FORCE_PMU", "perf", 1);
	/* Those that perfex counts are refused with a mode, and by an older module. */
	refuse("task-clock", "'task-clock' is a software event that the module does not count here: leave it out");
	refuse("cs:u", "'cs:u': a software event counts in all modes: leave ':u' or ':k' out");
	refuse("cpu-clock", "'cpu-clock' is counted by the kernel, not by the processor: "
			    "count task-clock; or use perf stat or perf record for it");
	refuse("alignment-faults", "'alignment-faults' is counted by the kernel, not by the processor: use perf stat or perf record for it");
	refuse("BPF-OUTPUT:u", "is counted by the kernel");
	refuse("LLC-load-misses", "'LLC-load-misses' is perf's name: the nearest event here is 'cache-misses', "
				  "and 'perfex list cache' shows events of this processor");
	refuse("LLC-loads:u", "the nearest event here is 'cache-references'");
	refuse("stalled-cycles-frontend", "'stalled-cycles-frontend' is perf's name: ");
	refuse("node-loads", "'node-loads' is perf's name: use perf stat for it");
	refuse("sched:sched_switch", "'sched:sched_switch' is a tracepoint of the kernel: use perf stat or perf record for it");
	refuse("syscalls:sys_enter_read", "is a tracepoint of the kernel");
	refuse("cpu/event=0xc0/u", "is perf's syntax for the events of a unit: raw events of a core are rUUEE here");
	info.cpu_type = VPERFCTR_CPU_INTEL_P5;
	refuse("cpu/event=0xc0/u", "raw events of a core are rEEE@N here");
	info.cpu_type = VPERFCTR_CPU_INTEL_P4;
	refuse("cpu/event=0xc0/u", "raw events of a core are 0xCCCR/0xESCR@COUNTER here");
	/* On Arm, the generic names are those of another cache. */
	info.cpu_type = VPERFCTR_CPU_ARM_PMUV3;
	memset(&error, 0, sizeof(error));
	refuse("LLC-loads:u", "'LLC-loads:u' is perf's name: 'perfex list cache' shows events of this processor");
	info.cpu_type = VPERFCTR_CPU_INTEL_ARCH;
	memset(&error, 0, sizeof(error));
	refuse("cycles:u@9", "'cycles:u@9': this processor has no general counter 9");
	refuse("cycles:pp", "'cycles:pp': a generic event may be followed by ':u', ':k' or ':uk', and not by ':pp'; "
			    "perf's precise events are not available");
	/* An event that this processor does not have is not suggested. */
	info.arch_events &= ~VPERFCTR_EVENT_CACHE_MISSES;
	memset(&error, 0, sizeof(error));
	refuse("LLC-load-misses", "'LLC-load-misses' is perf's name: 'perfex list cache' shows");
}
END_TEST

/* Events as perf has them: groups, spaces, the core as a unit, other case, and names of caches. */
static const struct {
	const char *perf, *same;
} accepted[] = {
	{ "{cycles,instructions}", "cycles,instructions" },
	{ "{cycles,instructions}:u,branches", "cycles:u,instructions:u,branches" },
	{ "{cycles:k,instructions}:u", "cycles:k,instructions:u" },
	{ "{cycles@1,branches}:k", "cycles:k@1,branches:k" },
	{ " cycles, instructions ,branches", "cycles,instructions,branches" },
	{ "{ cycles , instructions }", "cycles,instructions" },
	{ "branches,{cycles},{instructions}:uk", "branches,cycles,instructions:uk" },
	{ "cpu/instructions/u", "instructions:u" },
	{ "cpu/cycles/,branches", "cycles,branches" },
	{ "Instructions", "instructions" },
	{ "CYCLES:u", "cycles:u" },
	{ "branch-load-misses:u", "branch-misses:u" },
	{ "branch-loads", "branches" },
	{ "L1-dcache-load-misses", "L1D:REPLACEMENT" },
	{ "L1-dcache-loads:u,l1-dcache-stores:k", "MEM_INST_RETIRED:ALL_LOADS:u,MEM_INST_RETIRED:ALL_STORES:k" },
	{ "dTLB-load-misses", "DTLB_LOAD_MISSES:WALK_COMPLETED" },
	{ "iTLB-load-misses:u", "ITLB_MISSES:WALK_COMPLETED:u" },
};

START_TEST(perfs_ways_to_write)
{
	struct events perf = { 0 }, same = { 0 };
	struct error e;
	unsigned int i;

	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	ck_assert_msg(!events_parse(&perf, accepted[_i].perf, &info, &e), "%s", e.text);
	ck_assert_msg(!events_parse(&same, accepted[_i].same, &info, &e), "%s", e.text);
	ck_assert_uint_eq(perf.nr, same.nr);
	for (i = 0; i < same.nr; i++) {
		ck_assert_str_eq(perf.ev[i].name, same.ev[i].name);
		ck_assert_uint_eq(perf.ev[i].code, same.ev[i].code);
		ck_assert_uint_eq(perf.ev[i].modes, same.ev[i].modes);
		ck_assert_uint_eq(perf.ev[i].general, same.ev[i].general);
	}
}
END_TEST

START_TEST(one_mode)
{
	struct events found = { 0 };
	struct error e;

	events_only_in('u');
	ck_assert_int_eq(events_parse(&found, "instructions,cycles:k,branches@1,r00c0", &info, &e), 0);
	events_only_in(0);
	ck_assert_str_eq(found.ev[0].name, "instructions:u");
	ck_assert_str_eq(found.ev[1].name, "cycles:k");
	ck_assert_str_eq(found.ev[2].name, "branches:u@1");
	ck_assert_str_eq(found.ev[3].name, "r00c0:u");
	ck_assert_uint_eq(found.ev[2].modes, modes_of(true, false));
}
END_TEST

/* Modes are one group of letters, as in perf; a second group is refused. */
START_TEST(modes_given_twice)
{
	refuse("instructions:k:u", "'instructions:k:u' says twice in which mode to count: ':uk' is user and kernel mode");
	refuse("instructions:u:u@1", "says twice");
	refuse("MEM_LOAD_RETIRED:L1_HIT:u:k", "says twice");
	ck_assert_uint_eq(parse_one("instructions:uk")->modes, modes_of(true, true));
	ck_assert_uint_eq(parse_one("instructions:ku")->modes, modes_of(true, true));
}
END_TEST

START_TEST(event_needs_unit_mask)
{
	refuse("MEM_LOAD_RETIRED", "'MEM_LOAD_RETIRED' needs a unit mask, as in MEM_LOAD_RETIRED:L1_HIT; it has L1_HIT, L2_HIT, ");
	refuse("mem_load_retired", "it has L1_HIT, ");
	refuse("skl::MEM_LOAD_RETIRED", "as in skl::MEM_LOAD_RETIRED:L1_HIT; it has L1_HIT, ");
	refuse("MEM_LOAD_RETIRED:NONSENSE", "; its unit masks are L1_HIT, ");
}
END_TEST

/* A processor that has an event of this name. */
START_TEST(event_of_haswell_needs_unit_mask)
{
	setenv("LIBPFM_FORCE_PMU", "hsw", 1);
	refuse("MEM_LOAD_UOPS_RETIRED", "'MEM_LOAD_UOPS_RETIRED' needs a unit mask, as in MEM_LOAD_UOPS_RETIRED:L1_HIT; it has L1_HIT, L2_HIT, ");
	ck_assert_uint_lt(strlen(error.text), sizeof(error.text) - 1);
	/* The list fits the message. */
	refuse("OFFCORE_RESPONSE_0:NONSENSE", "its unit masks are ");
}
END_TEST

START_TEST(long_names)
{
	char spec[600];

	memset(spec, 'x', sizeof(spec));
	spec[sizeof(spec) - 1] = '\0';
	refuse(spec, "too long");
	spec[250] = '\0';
	refuse(spec, "unknown event");
}
END_TEST

START_TEST(too_many_names)
{
	unsigned int i;

	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		ck_assert_int_eq(events_parse(&events, "r01d1", &info, &error), 0);
	ck_assert_int_eq(events_parse(&events, "r01d1", &info, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "too many"));
}
END_TEST

START_TEST(without_libpfm4)
{
	setenv("LIBPFM_FORCE_PMU", "no-such-processor", 1);
	parse_one("cycles");
	/* Only some counters may count another event: the user must name one. */
	refuse("r01d1", "it is not known which counters of this processor can count 'r01d1': name one that can, as in 'r01d1@0'");
	ck_assert_uint_eq(parse_one("r01d1@2")->general, 0x4);
	refuse("INST_RETIRED:ANY_P", "unknown event");
}
END_TEST

/* ---- modes ---------------------------------------------------------------------- */

START_TEST(kernel_mode_not_allowed)
{
	const struct vperfctr_event *ev;

	info.features &= ~VPERFCTR_FEATURE_KERNEL;
	ev = parse_one("cycles");
	ck_assert_uint_eq(ev->modes, VPERFCTR_MODE_USER);
	ck_assert_str_eq(ev->name, "cycles:u");
	ck_assert(events.user_by_default);
	/* If the user asked for user mode, the output does not say that kernel mode was left out. */
	ev = parse_one("cycles:u");
	ck_assert_uint_eq(ev->modes, VPERFCTR_MODE_USER);
	ck_assert(!events.user_by_default);
	ev = parse_one("MEM_LOAD_RETIRED:L1_HIT");
	ck_assert_uint_eq(ev->modes, VPERFCTR_MODE_USER);
	ck_assert_str_eq(ev->name, "MEM_LOAD_RETIRED:L1_HIT:u");
	refuse("cycles:k", "cycles:k: kernel mode");
	refuse("cycles:uk", "CAP_PERFMON");
	refuse("MEM_LOAD_RETIRED:L1_HIT:k=1", "CAP_PERFMON");
}
END_TEST

START_TEST(event_not_available)
{
	info.arch_events = VPERFCTR_EVENT_CYCLES;
	parse_one("cycles");
	refuse("branch-misses:u", "cannot count 'branch-misses:u'");
	refuse("r00c5", "cannot count 'r00c5'");
	refuse("INST_RETIRED:ANY_P", "cannot count");
	info.fixed_mask = 0x3;
	refuse("r0300", "fixed counter 2");
}
END_TEST

/* ---- counters ----------------------------------------------------------------------- */

static void assign_ok(const char *spec)
{
	memset(&events, 0, sizeof(events));
	memset(ctr, 0xff, sizeof(ctr));
	ck_assert_int_eq(events_parse(&events, spec, &info, &error), 0);
	ck_assert_msg(!assign_counters(&events, &info, 1, &ctr, &error), "%s", error.text);
}

static void assign_fails(const char *spec, const char *because)
{
	memset(&events, 0, sizeof(events));
	ck_assert_int_eq(events_parse(&events, spec, &info, &error), 0);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), -1);
	ck_assert_msg(strstr(error.text, because), "'%s' not in '%s'", because, error.text);
}

static void check_ctr(unsigned int i, uint32_t map, uint64_t evntsel)
{
	ck_assert_msg(ctr[i].map == map && ctr[i].evntsel == evntsel,
		      "counter %u: map %x evntsel %llx", i, ctr[i].map,
		      (unsigned long long)ctr[i].evntsel);
	ck_assert_uint_eq(ctr[i].reserved | ctr[i].aux | ctr[i].ireset, 0);
}

START_TEST(fixed_counters_first)
{
	assign_ok("branches,cycles:k,instructions:u,ref-cycles,branch-misses:u");
	check_ctr(0, 0, 0x4300c4);
	check_ctr(1, VPERFCTR_FIXED + 1, 1);
	check_ctr(2, VPERFCTR_FIXED + 0, 2);
	check_ctr(3, VPERFCTR_FIXED + 2, 3);
	check_ctr(4, 1, 0x4100c5);
}
END_TEST

START_TEST(fixed_counter_once)
{
	/* One event in two modes: the second takes a general counter ... */
	assign_ok("cycles:u,cycles:k");
	check_ctr(0, VPERFCTR_FIXED + 1, 2);
	check_ctr(1, 0, 0x42003c);
	/* ... and makes room for one that cannot. */
	assign_ok("cycles:u,r0200:k");
	check_ctr(0, 0, 0x41003c);
	check_ctr(1, VPERFCTR_FIXED + 1, 1);
	assign_fails("r0300:u,r0300:k", "no room for r0300:k");
	/* A general counter would count another clock than fixed counter 2 by this name. */
	assign_fails("ref-cycles:u,r0300:k", "no room for r0300:k");
	assign_fails("ref-cycles:u,ref-cycles:k", "as only fixed counter 2 can count");
	assign_ok("ref-cycles:u,r013c");
	check_ctr(0, VPERFCTR_FIXED + 2, 2);
	check_ctr(1, 0, 0x43013c);
}
END_TEST

START_TEST(no_fixed_counters)
{
	info.fixed_mask = 0;
	info.nrctrs = 4;
	/* There is no counter 1. */
	info.pmc_mask = 0x1d;
	assign_ok("instructions:u,cycles,ref-cycles,branches:k");
	check_ctr(0, 0, 0x4100c0);
	check_ctr(1, 2, 0x43003c);
	check_ctr(2, 3, 0x43013c);
	check_ctr(3, 4, 0x4200c4);
}
END_TEST

START_TEST(more_events_than_counters)
{
	assign_ok("r01d1,r02d1,r04d1,r08d1,cycles,instructions,ref-cycles");
	check_ctr(3, 3, 0x4308d1);
	assign_fails("r01d1,r02d1,r04d1,r08d1,cycles,r10d1,r20d1:u,instructions",
		     "4 general and 3 fixed counters, 7 at once; no room for r10d1, r20d1:u");
	/* Fewer counters at once than there are. */
	info.nrctrs = 2;
	assign_ok("r01d1,cycles");
	assign_fails("r01d1,r02d1,r04d1", "no room for r04d1");
	/* The message is cut off if the list is too long. */
	memset(&events, 0, sizeof(events));
	while (events.nr < VPERFCTR_MAX_CTRS)
		events_parse(&events, "MEM_LOAD_RETIRED:L1_HIT", &info, &error);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "..."));
}
END_TEST

START_TEST(no_counters)
{
	info.nrctrs = 0;
	info.pmc_mask = info.fixed_mask = 0;
	info.arch_events = 0;
	refuse("cycles", "there are no counters here");
	assign_fails("r01d1", "no performance counters here (Fake)");
	memset(&events, 0, sizeof(events));
	events_default(&events, &info, 1, true);
	ck_assert_uint_eq(events.nr, 0);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), 0);
}
END_TEST

START_TEST(default_events)
{
	unsigned int i;

	events_default(&events, &info, 1, true);
	ck_assert_uint_eq(events.nr, 7);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), 0);

	/* An event that does not fit is left out; those after it are tried. */
	memset(&events, 0, sizeof(events));
	info.pmc_mask = 0x1;
	info.nrctrs = 4;
	events_default(&events, &info, 1, true);
	ck_assert_uint_eq(events.nr, 4);
	for (i = 0; i < 4; i++)
		ck_assert_str_eq(events.ev[i].name,
				 ((const char *[]){ "instructions", "cycles", "branches",
						    "ref-cycles" })[i]);

	memset(&events, 0, sizeof(events));
	info.arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_BRANCH_MISSES;
	events_default(&events, &info, 1, true);
	ck_assert_uint_eq(events.nr, 2);
	ck_assert_str_eq(events.ev[1].name, "branch-misses");

	/* Software events precede them, in perf's order. */
	memset(&events, 0, sizeof(events));
	info.soft = 0x1f;
	events_default(&events, &info, 1, true);
	ck_assert_uint_eq(events.nr, 6);
	for (i = 0; i < 5; i++)
		ck_assert_str_eq(events.ev[i].name,
				 ((const char *[]){ "task-clock", "context-switches",
						    "cpu-migrations", "page-faults", "cycles" })[i]);
	ck_assert_uint_eq(event_pmc(&events, 5), 1);
	ck_assert_int_eq(assign_counters(&events, &info, 1, &ctr, &error), 0);
}
END_TEST

/* ---- messages -------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_msg(f, "%s", path);
	fputs(text, f);
	fclose(f);
}

/* A directory like /proc, with a process `pid` that has a descriptor of this link. */
static char proc[32];

static const char *in_proc(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", proc, name);
	return path;
}

static void make_proc(void)
{
	char command[128];

	strcpy(proc, "/tmp/perfex-proc-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(proc));
	snprintf(command, sizeof(command), "mkdir -p %s/42 %s/sys/kernel/yama", proc, proc);
	ck_assert_int_eq(system(command), 0);
}

static void make_holder(int pid, const char *comm, const char *link)
{
	char name[64];

	snprintf(name, sizeof(name), "%d", pid);
	mkdir(in_proc(name), 0755);
	snprintf(name, sizeof(name), "%d/comm", pid);
	write_file(in_proc(name), comm);
	snprintf(name, sizeof(name), "%d/fd", pid);
	mkdir(in_proc(name), 0755);
	snprintf(name, sizeof(name), "%d/fd/0", pid);
	ck_assert_int_eq(symlink("/dev/null", in_proc(name)), 0);
	snprintf(name, sizeof(name), "%d/fd/3", pid);
	ck_assert_int_eq(symlink(link, in_proc(name)), 0);
}

static void remove_proc(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", proc);
	ck_assert_int_eq(system(command), 0);
}

static void busy(const char *message)
{
	const struct vperfctr_control none = { .nractrs = 0 };

	ck_assert_int_eq(fail_control(&error, -EBUSY, &none, proc), -1);
	ck_assert_int_eq(error.status, 125);
	ck_assert_str_eq(error.text, message);
}

START_TEST(busy_counters_watchdog)
{
	make_proc();
	make_holder(42, "cat\n", "socket:[1]");
	write_file(in_proc("sys/kernel/nmi_watchdog"), "0\n");
	write_file(in_proc("vperfctr"), "watchdog: holds\nperf: none\n");
	busy("the NMI watchdog holds the counters: 'sudo sysctl kernel.nmi_watchdog=0' frees them, "
	     "'sudo sysctl kernel.nmi_watchdog=1' restores it");
	write_file(in_proc("vperfctr"), "watchdog: none\nperf: none\n");
	busy("the counters were in use a moment ago, and perf_event has none now: try again; if that fails, too, "
	     "firmware or a program that writes their registers uses them");
	/* perf may have only software events. */
	make_holder(1234, "perf\n", "anon_inode:[perf_event]");
	busy("the counters were in use a moment ago, perhaps by perf_event for perf (process 1234), which has none "
	     "now: try again");
	write_file(in_proc("vperfctr"), "watchdog: holds\nperf: none\n");
	busy("the NMI watchdog holds the counters: 'sudo sysctl kernel.nmi_watchdog=0' frees them, "
	     "'sudo sysctl kernel.nmi_watchdog=1' restores it");
	write_file(in_proc("vperfctr"), "watchdog: holds\nperf: idle\n");
	busy("the NMI watchdog holds the counters, and perf_event may hold them for perf (process 1234), too: "
	     "'sudo sysctl kernel.nmi_watchdog=0' frees them, 'sudo sysctl kernel.nmi_watchdog=1' restores it");
	/* Its sysctl is on, but it has only the counter that it keeps, or none. */
	write_file(in_proc("sys/kernel/nmi_watchdog"), "1\n");
	write_file(in_proc("vperfctr"), "watchdog: kept\nperf: holds\n");
	busy("perf_event holds the counters for perf (process 1234): wait until it ends, or free them with "
	     "'sudo kill 1234' and start it again afterwards");
	write_file(in_proc("vperfctr"), "watchdog: none\nperf: holds\n");
	busy("perf_event holds the counters for perf (process 1234): wait until it ends, or free them with "
	     "'sudo kill 1234' and start it again afterwards");
	/* Its machine has them without perf. */
	write_file(in_proc("vperfctr"), "watchdog: none\nperf: none\nguest: holds\n");
	busy("a virtual machine has the counters: end it, or start it without a PMU; "
	     "'enable_mediated_pmu=0' of the module kvm_intel or kvm_amd gives none to machines");
	remove_proc();
}
END_TEST

/* perfex info --holders */
START_TEST(holders)
{
	static char said[1000];
	FILE *f;

	make_proc();
	ck_assert_int_eq(holders_print(stdout, proc, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "sudo modprobe vperfctr"));
	write_file(in_proc("vperfctr"), "watchdog: kept\nperf: none\n");
	f = fmemopen(said, sizeof(said), "w");
	ck_assert_int_eq(holders_print(f, proc, &error), 0);
	fclose(f);
	ck_assert_str_eq(said, "the NMI watchdog has the counter that it keeps\n"
				  "vperfctr counts for none of those whom you may see\n");
	write_file(in_proc("vperfctr"), "watchdog: waits\nperf: none\n");
	f = fmemopen(said, sizeof(said), "w");
	ck_assert_int_eq(holders_print(f, proc, &error), 0);
	fclose(f);
	ck_assert_str_eq(said, "the NMI watchdog waits for its counter\n"
				  "vperfctr counts for none of those whom you may see\n");
	write_file(in_proc("vperfctr"), "watchdog: none\nperf: holds\nthread: 12 13 0 a b\ncpus: 14 14 4294967294 top\n");
	make_holder(1234, "perf\n", "anon_inode:[perf_event]");
	f = fmemopen(said, sizeof(said), "w");
	ck_assert_int_eq(holders_print(f, proc, &error), 0);
	fclose(f);
	ck_assert_str_eq(said, "the NMI watchdog has no counter\n"
				  "perf_event has counters\n"
				  "COUNTS      PID     TID USER             COMMAND\n"
				  "thread       12      13 root             a b\n"
				  "cpus         14      14 4294967294       top\n"
				  "perf_event may hold counters for perf (process 1234)\n");
	write_file(in_proc("vperfctr"), "watchdog: none\nperf: none\n");
	f = fmemopen(said, sizeof(said), "w");
	ck_assert_int_eq(holders_print(f, proc, &error), 0);
	fclose(f);
	ck_assert_str_eq(said, "the NMI watchdog has no counter\n"
				  "vperfctr counts for none of those whom you may see\n");
	remove_proc();
}
END_TEST

START_TEST(busy_counters_process)
{
	int pid;

	make_proc();
	write_file(in_proc("sys/kernel/nmi_watchdog"), "0\n");
	make_holder(42, "cat\n", "anon_inode:[eventfd]");
	busy("perf_event holds the counters, but for no process that is visible here: look outside this container, "
	     "stop virtual machines with a PMU, and BPF programs ('sudo bpftool link' lists them)");
	/* A process chooses its name, which must not command the terminal. */
	make_holder(1234, "pe\033rf\n", "anon_inode:[perf_event]");
	busy("perf_event holds the counters for pe?rf (process 1234): wait until it ends, or free them with "
	     "'sudo kill 1234' and start it again afterwards");
	for (pid = 2000; pid < 2005; pid++)
		make_holder(pid, "x", "anon_inode:[perf_event]");
	fail_control(&error, -EBUSY, NULL, proc);
	ck_assert_ptr_nonnull(strstr(error.text, " and 3 more: wait until"));
	ck_assert_ptr_null(strchr(error.text, '\n'));
	remove_proc();
	/* Without /proc, no holder is known. */
	fail_control(&error, -EBUSY, NULL, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "'sudo perfex ...' names it"));
}
END_TEST

START_TEST(busy_counters_of_cpus)
{
	make_proc();
	make_holder(42, "perf\n", "anon_inode:[perf_event]");
	make_holder(43, "monitor\n", "anon_inode:[vperfctr-cpus]");
	/* It has been opened. */
	ck_assert_int_eq(mkdir(in_proc("43/fdinfo"), 0755), 0);
	write_file(in_proc("43/fdinfo/3"), "pos:\t0\nvperfctr-cpus:\t0-3\nvperfctr-status:\t0x0\n");
	busy("perf_event holds the counters for perf (process 42): wait until it ends, or free them with "
	     "'sudo kill 42' and start it again afterwards");
	write_file(in_proc("43/fdinfo/3"), "pos:\t0\nvperfctr-cpus:\t0-3\nvperfctr-status:\t0x2\n");
	busy("the counters count whole CPUs for monitor (process 43): wait until it ends, or end it with 'sudo kill 43'");
	remove_proc();
}
END_TEST

/* CPUs cannot be counted while threads are, by their own or by another process. */
START_TEST(busy_counters_of_threads)
{
	const struct vperfctr_control none = { .nractrs = 0 };

	make_proc();
	make_holder(42, "perf\n", "anon_inode:[perf_event]");
	make_holder(43, "program\n", "anon_inode:[vperfctr]");
	ck_assert_int_eq(mkdir(in_proc("43/fdinfo"), 0755), 0);
	/* It is stopped; it counts the time only; it counts. */
	write_file(in_proc("43/fdinfo/3"), "vperfctr-owner:\t43\nvperfctr-status:\t0x1\nvperfctr-tsc:\t5\nvperfctr-pmc0:\t7\n");
	fail_control_cpus(&error, -EBUSY, &none, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "perf_event holds the counters for perf (process 42)"));
	write_file(in_proc("43/fdinfo/3"), "vperfctr-owner:\t43\nvperfctr-status:\t0x3\nvperfctr-tsc:\t5\n");
	fail_control_cpus(&error, -EBUSY, &none, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "perf_event holds the counters for perf (process 42)"));
	write_file(in_proc("43/fdinfo/3"), "vperfctr-owner:\t43\nvperfctr-status:\t0x3\nvperfctr-tsc:\t5\nvperfctr-pmc0:\t7\n");
	fail_control_cpus(&error, -EBUSY, &none, proc);
	ck_assert_str_eq(error.text, "the counters count threads for program (process 43), and threads and CPUs cannot be "
			 "counted at the same time: wait until it ends, or end it with 'sudo kill 43'");
	/* Threads do not keep each other from counting. */
	busy("perf_event holds the counters for perf (process 42): wait until it ends, or free them with "
	     "'sudo kill 42' and start it again afterwards");
	remove_proc();
}
END_TEST

/* A process that only root may look at. */
START_TEST(busy_counters_hidden_process)
{
	pid_t pid;
	int status;

	make_proc();
	make_holder(42, "perf\n", "anon_inode:[perf_event]");
	ck_assert_int_eq(chmod(in_proc("42/fd"), 0), 0);
	ck_assert_int_eq(chmod(proc, 0755), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		if (!geteuid() && setuid(65534))
			_exit(2);
		fail_control(&error, -EBUSY, NULL, proc);
		_exit(!strstr(error.text, "a process that you may not look at: 'sudo perfex ...' names it"));
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	chmod(in_proc("42/fd"), 0755);
	remove_proc();
}
END_TEST

START_TEST(thread_is_counted_already)
{
	const struct vperfctr_attached none = { .used_pmcs = 0 };
	const struct vperfctr_attached some = { .used_pmcs = 5, .used_fixed = 1ULL << 63 };
	const struct target thread = { .id = 42 };
	struct targets targets = { .nr = 1 };

	make_proc();
	fail_beside(&error, -EADDRINUSE, &thread, &none, proc);
	ck_assert_str_eq(error.text, "thread 42 is counted already, by itself or by another program: end that first, or count other events; 'perfex info --holders' shows what is counted");
	/* No other choice would help. */
	ck_assert(error.beside && error.unusable);
	ck_assert(!targets_leave_out(&targets, &error));
	make_holder(77, "perfex\n", "anon_inode:[vperfctr]");
	fail_beside(&error, -EADDRINUSE, &thread, &some, proc);
	ck_assert_str_eq(error.text, "thread 42 is counted already, by itself or by another program (these use vperfctr: perfex (process 77)), with counters 0, 2, fixed 63: end that first, or count other events; 'perfex info --holders' shows what is counted");
	ck_assert(targets_leave_out(&targets, &error));
	ck_assert_uint_eq(targets.used_pmcs, 5);
	ck_assert_uint_eq(targets.used_fixed, 1ULL << 63);
	ck_assert(!targets_leave_out(&targets, &error));
	/* The threads may have other counters each time, but not for ever. */
	for (targets.used_pmcs = 0; targets_leave_out(&targets, &error); targets.used_pmcs = 0)
		ck_assert_uint_lt(targets.tries, 20);
	remove_proc();
}
END_TEST

START_TEST(dead_counters)
{
	const struct vperfctr_control none = { .nractrs = 0 };

	fail_control(&error, -EIO, &none, PROC);
	ck_assert_ptr_nonnull(strstr(error.text, "dmesg"));
}
END_TEST

START_TEST(error_messages)
{
	struct vperfctr_ctr one = { .map = 0 };
	const struct vperfctr_control control = { .size = sizeof(control), .nractrs = 1, .ctr_size = sizeof(one),
						  .ctr = (uintptr_t)&one };

	ck_assert_int_eq(fail_device(&error, -ENODEV), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "modprobe vperfctr"));
	ck_assert_int_eq(error.status, 125);
	fail_device(&error, -EACCES);
	ck_assert_ptr_nonnull(strstr(error.text, "group"));
	fail_device(&error, -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(error.text, "version"));
	fail_device(&error, -EMFILE);
	ck_assert_ptr_nonnull(strstr(error.text, "Too many open files"));
	fail_device(&error, -EEXIST);
	ck_assert_ptr_nonnull(strstr(error.text, "this thread has counters already"));
	ck_assert_ptr_null(strstr(error.text, "File exists"));
	fail_device(&error, -EAGAIN);
	ck_assert_ptr_nonnull(strstr(error.text, "max_states_per_user"));
	fail_open_thread(&error, -EMLINK);
	ck_assert_ptr_nonnull(strstr(error.text, "as many times as the vperfctr module allows"));
	fail_open_thread(&error, -EMFILE);
	ck_assert_ptr_nonnull(strstr(error.text, "ulimit"));
	fail_open_thread(&error, -ENODEV);
	ck_assert_ptr_nonnull(strstr(error.text, "modprobe"));
	fail_control(&error, -EPERM, &control, "");
	ck_assert_ptr_nonnull(strstr(error.text, ":u"));
	fail_control(&error, -EINVAL, &control, "");
	ck_assert_ptr_nonnull(strstr(error.text, "raw codes"));
	one.aux = 1;
	fail_control(&error, -EINVAL, &control, "");
	ck_assert_ptr_nonnull(strstr(error.text, "second register"));
	fail_exec(&error, -ENOENT, "foo");
	ck_assert_int_eq(error.status, 127);
	ck_assert_ptr_nonnull(strstr(error.text, "'foo'"));
	fail_exec(&error, -EACCES, "foo");
	ck_assert_int_eq(error.status, 126);
	fail_exec(&error, -ENOEXEC, "foo");
	ck_assert_int_eq(error.status, 126);
}
END_TEST

/* ---- output ---------------------------------------------------------------------------- */

START_TEST(thousands_separators)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = {
		{ 0, "0" }, { 9, "9" }, { 99, "99" }, { 999, "999" }, { 1000, "1,000" },
		{ 12345, "12,345" }, { 123456, "123,456" }, { 1234567, "1,234,567" },
		{ 1000000000, "1,000,000,000" },
		{ UINT64_MAX, "18,446,744,073,709,551,615" },
	};
	char buf[THOUSANDS_LEN];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		ck_assert_str_eq(thousands(buf, cases[i].n), cases[i].text);
}
END_TEST

static char printed[4096];

static struct printing printing;

static void print(const struct result *r)
{
	printing.what = "'prog -x a b'";
	printing.events = &events;
	printing.info = &info;
	printing.f = fmemopen(printed, sizeof(printed), "w");
	print_result(&printing, r);
	fclose(printing.f);
}

static void expect(const char *text)
{
	ck_assert_msg(strstr(printed, text), "no '%s' in:\n%s", text, printed);
}

START_TEST(text_table)
{
	struct result r = {
		.counted = true, .complete = true, .scope = "its first thread", .elapsed = 1.5,
		.total = { .tsc = 1000000000, .pmc = { 3000000, 2000000, 200, 5, 12 } },
	};

	events_parse(&events, "instructions,cycles,branches:u,branch-misses:u", &info, &error);
	events_parse(&events, "MEM_LOAD_RETIRED:L1_HIT:u", &info, &error);
	print(&r);
	ck_assert_str_eq(printed,
		"\n"
		" Counts of 'prog -x a b' (its first thread, user and kernel mode unless marked :u or :k):\n"
		"\n"
		"           3,000,000  instructions               # 1.50 per cycle\n"
		"           2,000,000  cycles                     # 0.004 GHz\n"
		"                 200  branches:u                 # 400.000 /sec\n"
		"                   5  branch-misses:u            # 2.50% of branches\n"
		"                  12  MEM_LOAD_RETIRED:L1_HIT:u  # 24.000 /sec\n"
		"\n"
		"         0.500000000  seconds thread time\n"
		"         1.500000000  seconds elapsed\n"
		"\n");
}
END_TEST

/* Instructions of one mode and cycles of another have no ratio; nor do 0 cycles. */
START_TEST(no_ratio_of_different_modes)
{
	struct result r = { .counted = true, .complete = true, .total = { .tsc = 1, .pmc = { 3, 2, 0 } } };

	events_parse(&events, "instructions:u,cycles", &info, &error);
	print(&r);
	ck_assert_ptr_null(strstr(printed, "per cycle"));
	events_parse(&events, "cycles:u", &info, &error);
	print(&r);
	ck_assert_ptr_null(strstr(printed, "per cycle"));
	r.total.pmc[2] = 6;
	print(&r);
	expect("# 0.50 per cycle");
	memset(&events, 0, sizeof(events));
	events_parse(&events, "instructions:k,cycles", &info, &error);
	print(&r);
	ck_assert_ptr_null(strstr(printed, "per cycle"));
}
END_TEST

START_TEST(table_header)
{
	struct result r = {
		.counted = true, .complete = true, .scope = "its first thread", .total = { .tsc = 1 },
	};

	events_parse(&events, "cycles:uk,branches", &info, &error);
	print(&r);
	expect("(its first thread, user and kernel mode):");
	memset(&events, 0, sizeof(events));
	events_parse(&events, "cycles:u,branches:k", &info, &error);
	print(&r);
	expect("(its first thread, user and kernel mode as marked):");
	memset(&events, 0, sizeof(events));
	events_parse(&events, "cycles:u,branches:u", &info, &error);
	print(&r);
	expect("(its first thread, user mode):");
	memset(&events, 0, sizeof(events));
	events_parse(&events, "cycles:k", &info, &error);
	print(&r);
	expect("(its first thread, kernel mode):");
	memset(&events, 0, sizeof(events));
	info.features &= ~VPERFCTR_FEATURE_KERNEL;
	events_parse(&events, "cycles", &info, &error);
	print(&r);
	expect("user mode only (kernel mode needs CAP_PERFMON)");
	memset(&events, 0, sizeof(events));
	print(&r);
	expect("(its first thread):");
}
END_TEST

START_TEST(thread_time)
{
	struct result r = { .counted = true, .complete = true, .total = { .tsc = 1234567 } };

	info.tsc_khz = 0;
	print(&r);
	expect("           1,234,567  tsc ticks thread time\n");
	info.tsc_khz = 1000;	/* 1.234567 s */
	print(&r);
	expect("         1.234567000  seconds thread time\n");
	/* Other threads ran, too: the difference is more than that of the clocks. */
	r.cpu_time = 3.234567;
	print(&r);
	expect("# 2.000 s of other threads and children are not counted\n");
	r.cpu_time = 1.234567;
	print(&r);
	ck_assert_ptr_null(strchr(printed, '#'));
}
END_TEST

START_TEST(table_without_counts)
{
	struct result r = { .counted = false, .elapsed = 1, .total = { .pmc = { 77 } } };

	events_parse(&events, "cycles", &info, &error);
	print(&r);
	expect("       <not counted>  cycles\n");
	expect("       <not counted>  seconds thread time\n");
	ck_assert_ptr_null(strstr(printed, "77"));
}
END_TEST

/* Each part is a table like the whole. */
START_TEST(verbose_parts)
{
	struct result r = {
		.counted = true, .complete = true, .scope = "2 threads", .elapsed = 1,
		.counts = { .own = { 2000000, { 10, 5 } }, .children = { 4000000, { 30, 10 } } },
	};

	info.tsc_khz = 1000;
	events_parse(&events, "instructions,cycles", &info, &error);
	ck_assert_int_eq(result_finish(&r, &error), 0);
	ck_assert_uint_eq(r.total.tsc, 6000000);
	ck_assert_uint_eq(r.total.pmc[1], 15);
	strcpy(result_add_part(&r, &r.counts.own)->name, "thread 7 (a)");
	strcpy(result_add_part(&r, &r.counts.children)->name, "what was started meanwhile");
	print(&r);
	ck_assert_ptr_null(strstr(printed, "Of these"));
	printing.verbose = true;
	print(&r);
	printing.verbose = false;
	result_free(&r);
	ck_assert_str_eq(printed,
		"\n"
		" Counts of 'prog -x a b' (2 threads, user and kernel mode):\n"
		"\n"
		"                  40  instructions          # 2.67 per cycle\n"
		"                  15  cycles                # 0.000 GHz\n"
		"\n"
		"         6.000000000  seconds thread time\n"
		"         1.000000000  seconds elapsed\n"
		"\n"
		" Of these, thread 7 (a):\n"
		"\n"
		"                  10  instructions          # 2.00 per cycle\n"
		"                   5  cycles                # 0.000 GHz\n"
		"\n"
		"         2.000000000  seconds thread time\n"
		"\n"
		" Of these, what was started meanwhile:\n"
		"\n"
		"                  30  instructions          # 3.00 per cycle\n"
		"                  10  cycles                # 0.000 GHz\n"
		"\n"
		"         4.000000000  seconds thread time\n"
		"\n");
}
END_TEST

START_TEST(table_notes)
{
	struct result r = { .counted = true, .complete = true };

	print(&r);
	ck_assert_ptr_null(strstr(printed, "not complete"));
	ck_assert_ptr_null(strstr(printed, "Not included"));
	r.counts.status = VPERFCTR_STATUS_CHILDREN;
	print(&r);
	expect("\n Not included: threads or processes that were started and run still.\n");
	r.counts.status = 0;
	r.counts.cut_off = true;
	print(&r);
	ck_assert_ptr_null(strstr(printed, "Not included"));
	expect("\n Counted until now: threads or processes that were started and run still.\n");
	r.complete = false;
	print(&r);
	expect("\n These counts are not complete: see perfex's error message.\n");
}
END_TEST

/* ---- several runs ------------------------------------------------------------------- */

START_TEST(mean_and_deviation)
{
	/* 2, 4, 4, 4, 5, 5, 7, 9: mean 5, variance 32 / 7, of the mean a square root of 4 / 7 */
	static const uint64_t values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct series s = { 0 };
	struct result r = { .counted = true, .complete = true };
	size_t i;

	ck_assert_double_eq(spread_percent(&s.tsc), 0);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		r.total.pmc[1] = values[i];
		/* Differences that sums of squares would lose. */
		r.total.pmc[2] = UINT64_C(1000000000000) + values[i];
		r.total.tsc = 7;
		r.elapsed = (double)values[i];
		series_add(&s, &r.total, &r);
		if (!i)
			ck_assert_double_eq(spread_percent(&s.pmc[1]), 0);
	}
	ck_assert_uint_eq(s.nr, 8);
	ck_assert_double_eq_tol(s.pmc[1].mean, 5, 1e-12);
	ck_assert_double_eq_tol(spread_percent(&s.pmc[1]), 100 * 0.75592894601845 / 5, 1e-9);
	ck_assert_double_eq_tol(spread_percent(&s.elapsed), 100 * 0.75592894601845 / 5, 1e-9);
	ck_assert_double_eq_tol(s.pmc[2].squares, 32, 1e-2);
	ck_assert_double_eq(spread_percent(&s.tsc), 0);
	ck_assert_double_eq(spread_percent(&s.pmc[0]), 0);

	events_parse(&events, "instructions:u,cycles:u", &info, &error);
	info.tsc_khz = 1000;
	r.total = (struct sums){ .tsc = 7, .pmc = { 0, 5 } };
	r.elapsed = 5;
	strcpy(r.scope, "its first thread");
	printing.series = &s;
	print(&r);
	ck_assert_str_eq(printed,
		"\n"
		" Counts of 'prog -x a b' (its first thread, user mode, mean of 8 runs):\n"
		"\n"
		"                   0  instructions:u        # 0.00 per cycle  ( +-  0.00% )\n"
		"                   5  cycles:u              # 0.001 GHz       ( +- 15.12% )\n"
		"\n"
		"         0.000007000  seconds thread time                     ( +-  0.00% )\n"
		"         5.000000000  seconds elapsed                         ( +- 15.12% )\n"
		"\n");
	printing.style = STYLE_CSV;
	printing.separator = ",";
	print(&r);
	ck_assert_str_eq(printed,
		"0,,instructions:u,0.00%,7000,100.00,0.00,insn per cycle\n"
		"5,,cycles:u,15.12%,7000,100.00,0.00,GHz\n");
	printing.style = STYLE_JSON;
	print(&r);
	expect("{\"counter-value\" : \"5.000000\", \"unit\" : \"\", \"event\" : \"cycles:u\", "
	       "\"variance\" : 15.12, \"event-runtime\" : 7000, \"pcnt-running\" : 100.00, "
	       "\"metric-value\" : 0.000714, \"metric-unit\" : \"GHz\"}\n");
	memset(&printing, 0, sizeof(printing));
}
END_TEST

/* Merging gives the same as adding all to one. */
START_TEST(merged_spreads)
{
	static const uint64_t values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct series half[2];
	struct result r = { 0 };
	size_t i, cut;

	for (cut = 0; cut <= ARRAY_SIZE(values); cut++) {
		memset(half, 0, sizeof(half));
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			r.total.tsc = values[i];
			series_add(&half[i >= cut], &r.total, &r);
		}
		spread_merge(&half[0].tsc, &half[1].tsc);
		ck_assert_uint_eq(half[0].tsc.nr, 8);
		ck_assert_double_eq_tol(half[0].tsc.mean, 5, 1e-12);
		ck_assert_double_eq_tol(half[0].tsc.squares, 32, 1e-9);
	}
}
END_TEST

START_TEST(event_groups)
{
	unsigned int i;

	/* Fixed counters first, then four general ones in each run. */
	events_parse(&events, "r010e,instructions,r0151,r0185,instructions:u,cycles,r0187,r0149,"
			      "r0300,r0300:u,r0108", &info, &error);
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), 2);
	for (i = 0; i < 11; i++) {
		static const unsigned int group[] = { 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1 };

		ck_assert_msg(events.group[i] == group[i], "%s: group %u",
			      events.ev[i].name, events.group[i]);
	}
	ck_assert_uint_eq(ctr[1].map, VPERFCTR_FIXED);
	ck_assert_uint_eq(ctr[4].map, 3);
	ck_assert_uint_eq(ctr[8].map, VPERFCTR_FIXED + 2);
	ck_assert_uint_eq(ctr[9].map, VPERFCTR_FIXED + 2);
	ck_assert_uint_eq(ctr[10].map, 2);
	ck_assert_uint_eq(ctr[10].evntsel, 0x430108);
	/* Events that fit take one run. */
	memset(&events, 0, sizeof(events));
	events_parse(&events, "r010e,r0151,r0185,r0187,cycles", &info, &error);
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), 1);
	/* An event that fits no run is refused. */
	info.nrctrs = 0;
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), -1);
	ck_assert(strstr(error.text, "no performance counters"));
}
END_TEST

/* ---- for programs -------------------------------------------------------------------- */

START_TEST(csv_records)
{
	struct result r = {
		.counted = true, .complete = true,
		.total = { .tsc = 2000000, .pmc = { 3000000, 2000000, 200, 5, 18446744073709551615u } },
	};

	events_parse(&events, "instructions,cycles,branches:u,branch-misses:u,r01d1:k", &info, &error);
	info.tsc_khz = 2000000;
	printing.style = STYLE_CSV;
	printing.separator = ";";
	print(&r);
	ck_assert_str_eq(printed,
		"3000000;;instructions;1000000;100.00;1.50;insn per cycle\n"
		"2000000;;cycles;1000000;100.00;2.00;GHz\n"
		"200;;branches:u;1000000;100.00;200.00;K/sec\n"
		"5;;branch-misses:u;1000000;100.00;2.50;of all branches\n"
		"18446744073709551615;;r01d1:k;1000000;100.00;18446744073709.55;G/sec\n");
	r.counted = false;
	events.nr = 1;
	print(&r);
	ck_assert_str_eq(printed, "<not counted>;;instructions;0;100.00;;\n");
	/* No counters at all. */
	events.nr = 0;
	r.counted = true;
	print(&r);
	ck_assert_str_eq(printed, "1000000;ns;thread-time;1000000;100.00;;\n");
	memset(&printing, 0, sizeof(printing));
}
END_TEST

/* Rows are in the order of the events, and the thread time is in milliseconds. */
START_TEST(software_events)
{
	struct result r = {
		.counted = true, .complete = true, .elapsed = 0.004,
		.total = { 2000000, { 3000000, 2000000 }, { 1234567, 5, 1, 20, 1, 21 } },
	};
	struct series s = { 0 };
	unsigned int i;

	info.soft = 0x1f;
	events_parse(&events, "page-faults,instructions:u,task-clock,cycles:u,cs,major-faults", &info, &error);
	info.tsc_khz = 1000000;
	strcpy(r.scope, "its first thread");
	print(&r);
	ck_assert_str_eq(printed,
		"\n"
		" Counts of 'prog -x a b' (its first thread, user mode):\n"
		"\n"
		"                  21  page-faults           # 10.500 K/sec\n"
		"           3,000,000  instructions:u        # 1.50 per cycle\n"
		"            1.234567  msec task-clock       # 0.309 CPUs utilized\n"
		"           2,000,000  cycles:u              # 1.000 GHz\n"
		"                   5  cs                    # 2.500 K/sec\n"
		"                   1  major-faults          # 500.000 /sec\n"
		"\n"
		"         0.002000000  seconds thread time\n"
		"         0.004000000  seconds elapsed\n"
		"\n");
	printing.style = STYLE_CSV;
	printing.separator = ",";
	print(&r);
	ck_assert_str_eq(printed,
		"21,,page-faults,2000000,100.00,10.50,K/sec\n"
		"3000000,,instructions:u,2000000,100.00,1.50,insn per cycle\n"
		"1.234567,msec,task-clock,2000000,100.00,0.31,CPUs utilized\n"
		"2000000,,cycles:u,2000000,100.00,1.00,GHz\n"
		"5,,cs,2000000,100.00,2.50,K/sec\n"
		"1,,major-faults,2000000,100.00,500.00,/sec\n");
	printing.style = STYLE_JSON;
	print(&r);
	expect("{\"counter-value\" : \"1.234567\", \"unit\" : \"msec\", \"event\" : \"task-clock\", ");
	/* Means and deviations. */
	for (i = 0; i < 2; i++) {
		r.total.soft[SOFT_PAGE_FAULTS] = 20 + 2 * i;
		series_add(&s, &r.total, &r);
	}
	printing.style = STYLE_TEXT;
	printing.series = &s;
	print(&r);
	expect("                  22  page-faults           # 11.000 K/sec         ( +-  4.76% )\n");
	expect("            1.234567  msec task-clock       # 0.309 CPUs utilized  ( +-  0.00% )\n");
	memset(&printing, 0, sizeof(printing));
}
END_TEST

/* Without hardware events no modes are named.  All software events are in the first group. */
START_TEST(software_events_alone)
{
	struct result r = { .counted = true, .complete = true };

	info.soft = 0x1f;
	events_parse(&events, "cs,migrations", &info, &error);
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), 1);
	strcpy(r.scope, "its first thread");
	print(&r);
	expect(" (its first thread):\n");
	memset(&events, 0, sizeof(events));
	events_parse(&events, "cs,r010e,r0151,r0185,r0187,r0149,migrations", &info, &error);
	ck_assert_int_eq(assign_groups(&events, &info, 1, &ctr, &error), 2);
	ck_assert_uint_eq(events.group[0], 0);
	ck_assert_uint_eq(events.group[5], 1);
	ck_assert_uint_eq(events.group[6], 0);
	memset(&printing, 0, sizeof(printing));
}
END_TEST

START_TEST(json_records)
{
	struct result r = {
		.counted = true, .complete = true, .total = { .tsc = 2000000, .pmc = { 3000000, 2000000 } },
	};

	events_parse(&events, "instructions,cycles", &info, &error);
	info.tsc_khz = 2000000;
	printing.style = STYLE_JSON;
	print(&r);
	ck_assert_str_eq(printed,
		"{\"counter-value\" : \"3000000.000000\", \"unit\" : \"\", \"event\" : \"instructions\", "
		"\"event-runtime\" : 1000000, \"pcnt-running\" : 100.00, "
		"\"metric-value\" : 1.500000, \"metric-unit\" : \"insn per cycle\"}\n"
		"{\"counter-value\" : \"2000000.000000\", \"unit\" : \"\", \"event\" : \"cycles\", "
		"\"event-runtime\" : 1000000, \"pcnt-running\" : 100.00, "
		"\"metric-value\" : 2.000000, \"metric-unit\" : \"GHz\"}\n");
	/* Characters that would end the string are escaped. */
	strcpy(events.ev[1].name, "a\"b\\c\n");
	r.counted = false;
	print(&r);
	expect("{\"counter-value\" : \"<not counted>\", \"unit\" : \"\", \"event\" : \"a\\\"b\\\\c\\u000a\", ");
	memset(&printing, 0, sizeof(printing));
}
END_TEST

START_TEST(per_thread_records)
{
	struct result r = {
		.counted = true, .complete = true, .scope = "2 threads",
		.counts = { .own = { 2000000, { 10 } }, .children = { 4000000, { 30 } } },
	};

	events_parse(&events, "instructions", &info, &error);
	info.tsc_khz = 1000;
	strcpy(result_add_part(&r, &r.counts.own)->label, "a b-7");
	strcpy(result_add_part(&r, &r.counts.children)->label, "(started)");
	r.parts[0].field = r.parts[1].field = "thread";
	printing.per_thread = true;
	printing.style = STYLE_CSV;
	printing.separator = ",";
	print(&r);
	ck_assert_str_eq(printed,
		"a b-7,10,,instructions,2000000000,100.00,5.00,/sec\n"
		"(started),30,,instructions,4000000000,100.00,7.50,/sec\n");
	printing.style = STYLE_JSON;
	print(&r);
	expect("{\"thread\" : \"a b-7\", \"counter-value\" : \"10.000000\", ");
	result_free(&r);
	memset(&printing, 0, sizeof(printing));
}
END_TEST

/* The task clock is compared with the time of its interval, which is each part's own. */
START_TEST(clock_of_intervals)
{
	struct sums sums = { .soft = { 250000000, [SOFT_ELAPSED] = 500000000 } };
	struct part parts[] = {
		{ .field = "cpu", .label = "CPU0", .nrcpus = 1, .sums = sums },
		{ .field = "cpu", .label = "CPU1", .nrcpus = 1, .sums = { .soft = { 125000000 } } },
	};

	parts[1].sums.soft[SOFT_ELAPSED] = sums.soft[SOFT_ELAPSED];
	info.soft = 0x1f;
	events_parse(&events, "task-clock", &info, &error);
	printing = (struct printing){
		.events = &events, .info = &info, .separator = ",", .intervals = true,
		.f = fmemopen(printed, sizeof(printed), "w"),
	};
	print_interval(&printing, 1.25, &sums, NULL);
	printing.metric_only = true;
	print_interval_head(&printing);
	print_interval(&printing, 1.25, &sums, NULL);
	printing.metric_only = false;
	printing.style = STYLE_CSV;
	print_interval(&printing, 1.25, &sums, NULL);
	printing.split = SPLIT_CPU;
	printing.nrparts = 2;
	print_interval(&printing, 1.25, &sums, parts);
	/* A gate has left all of it out. */
	printing.split = SPLIT_NOT;
	sums.soft[0] = sums.soft[SOFT_ELAPSED] = 0;
	print_interval(&printing, 1.5, &sums, NULL);
	fclose(printing.f);
	ck_assert_str_eq(printed,
		"     1.250000000          250.000000  msec task-clock       # 0.500 CPUs utilized\n"
		"#           time      CPUs utilized\n"
		"     1.250000000              0.500\n"
		"1.250000000,250.000000,msec,task-clock,0,100.00,0.50,CPUs utilized\n"
		"1.250000000,CPU0,250.000000,msec,task-clock,0,100.00,0.50,CPUs utilized\n"
		"1.250000000,CPU1,125.000000,msec,task-clock,0,100.00,0.25,CPUs utilized\n"
		"1.500000000,0.000000,msec,task-clock,0,100.00,,\n");
	memset(&printing, 0, sizeof(printing));
}
END_TEST

START_TEST(interval_records)
{
	struct sums sums = { .tsc = 2000, .pmc = { 30, 20 } };

	events_parse(&events, "instructions:u,cycles:u", &info, &error);
	info.tsc_khz = 1000;
	printing = (struct printing){
		.events = &events, .info = &info, .separator = ",",
		.f = fmemopen(printed, sizeof(printed), "w"),
	};
	print_interval(&printing, 1.25, &sums, NULL);
	printing.style = STYLE_CSV;
	print_interval(&printing, 1.25, &sums, NULL);
	printing.style = STYLE_JSON;
	print_interval(&printing, 1.25, &sums, NULL);
	fclose(printing.f);
	expect("     1.250000000                  30  instructions:u        # 1.50 per cycle\n"
	       "     1.250000000                  20  cycles:u              # 0.000 GHz\n"
	       "1.250000000,30,,instructions:u,2000000,100.00,1.50,insn per cycle\n"
	       "1.250000000,20,,cycles:u,2000000,100.00,0.00,GHz\n"
	       "{\"interval\" : 1.250000000, \"counter-value\" : \"30.000000\", ");
	memset(&printing, 0, sizeof(printing));
}
END_TEST

/* The most serious reason for incomplete counts is reported. */
START_TEST(incomplete_counts)
{
	struct counts c = { .own = { .tsc = 1 }, .status = VPERFCTR_STATUS_CHILDREN };

	ck_assert_int_eq(counts_check(&c, &error), 0);
	c.missed = 1;
	ck_assert_int_eq(counts_check(&c, &error), -1);
	ck_assert_int_eq(error.status, 125);
	ck_assert_ptr_nonnull(strstr(error.text, "1 thread is not, or not wholly, in these counts: it "));
	c.missed = 3000;
	counts_check(&c, &error);
	ck_assert_ptr_nonnull(strstr(error.text, "3000 threads are not"));
	c.status |= VPERFCTR_STATUS_FORBIDDEN;
	counts_check(&c, &error);
	ck_assert_ptr_nonnull(strstr(error.text, "taskset"));
	c.status |= VPERFCTR_STATUS_PRIVILEGED;
	counts_check(&c, &error);
	ck_assert_ptr_nonnull(strstr(error.text, "a program was not counted: it gained"));
	c.own.tsc = 0;
	counts_check(&c, &error);
	ck_assert_ptr_nonnull(strstr(error.text, "the command was not counted: it gained"));
	c.replaced = true;
	counts_check(&c, &error);
	ck_assert_ptr_nonnull(strstr(error.text, "something else"));
}
END_TEST

START_TEST(counts_are_added)
{
	struct counts a = {
		.own = { 1, { 2 } }, .children = { 3, { [VPERFCTR_MAX_CTRS - 1] = 4 } },
		.missed = 5, .status = 6,
	};
	struct counts b = a;

	b.status = 9;
	counts_add(&a, &b);
	ck_assert_uint_eq(a.own.tsc, 2);
	ck_assert_uint_eq(a.own.pmc[0], 4);
	ck_assert_uint_eq(a.children.tsc, 6);
	ck_assert_uint_eq(a.children.pmc[VPERFCTR_MAX_CTRS - 1], 8);
	ck_assert_uint_eq(a.missed, 10);
	ck_assert_uint_eq(a.status, 15);
}
END_TEST

/* The reasons why ptrace is refused are found in /proc. */
START_TEST(ptrace_refused)
{
	char status[64], scope[64], self[64];

	make_proc();
	snprintf(self, sizeof(self), "%s/self", proc);
	ck_assert_int_eq(symlink("42", self), 0);
	snprintf(status, sizeof(status), "%s/42/status", proc);
	snprintf(scope, sizeof(scope), "%s/sys/kernel/yama/ptrace_scope", proc);

	fail_trace(&error, -EPERM, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "another user's"));
	write_file(status, "Name:\tx\nTracerPid:\t0\n");
	write_file(scope, "3\n");
	fail_trace(&error, -EPERM, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "ptrace_scope is 3"));
	write_file(scope, "1\n");
	fail_trace(&error, -EPERM, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, geteuid() ? "sysctl kernel.yama.ptrace_scope=0" :
							     "CAP_SYS_PTRACE"));
	write_file(status, "Name:\tx\nTracerPid:\t4711\n");
	fail_trace(&error, -EPERM, 42, proc);
	ck_assert_str_eq(error.text, "thread 42 is traced by process 4711 already (a debugger?): end that first");
	ck_assert_int_eq(error.status, 125);
	fail_trace(&error, -ESRCH, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "no process or thread 42"));
	fail_trace(&error, -ESRCH, 999999999, proc);
	ck_assert_str_eq(error.text, "there is no process or thread 999999999 (any more)");
	/* This process is there. */
	fail_trace(&error, -ESRCH, getpid(), proc);
	ck_assert_ptr_nonnull(strstr(error.text, "hidepid (use sudo), or is that of another PID namespace"));
	ck_assert(error.of_both);
	unlink(self);
	fail_trace(&error, -ENOSYS, getpid(), proc);
	ck_assert_ptr_nonnull(strstr(error.text, " is not mounted, by which perfex finds processes"));
	ck_assert_int_eq(symlink("42", self), 0);
	fail_trace(&error, -ETIMEDOUT, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "does not stop"));
	fail_trace(&error, -EIO, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "cannot attach to 42: "));
	/* Those of the kernel are there, but have no memory of a process. */
	snprintf(status, sizeof(status), "%s/42/stat", proc);
	write_file(status, "42 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0\n");
	fail_trace(&error, -ESRCH, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "thread 42 is one of the kernel's"));
	write_file(status, "42 (cat) S 2 42 1 0 -1 4194304 0 0\n");
	fail_trace(&error, -ESRCH, 42, proc);
	ck_assert_ptr_nonnull(strstr(error.text, "no process or thread 42"));
	unlink(status);
	unlink(self);
	remove_proc();
}
END_TEST

START_TEST(verbose_control)
{
	char buf[256];
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	assign_ok("cycles:u,OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE");
	print_control(f, &events, &one_kind, &ctr);
	fclose(f);
	ck_assert_str_eq(buf,
		"perfex: cycles:u: map 0x40000001 evntsel 0x00000002\n"
		"perfex: OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE: map 0x00000000 evntsel 0x004301b7 aux 0x10001\n");
}
END_TEST

static void info_text(void)
{
	FILE *f = fmemopen(printed, sizeof(printed), "w");

	info_print(f, &error);
	fclose(f);
}

START_TEST(info_output)
{
	fake.info.features |= 0x8000;
	fake.info.fixed_mask = 0x5;
	info_text();
	expect("module          0.1\n");
	expect("interface       0.9\n");
	expect("processor       Fake (type 1)\n");
	expect("kernel (you may count kernel mode), any-kind (one control for all kinds of CPUs), inherit-imode (samples of children), records (mappings and threads beside samples), clock (samples by thread time), cpus (whole CPUs can be counted), spread (threads shorter than a period have samples), 0x8000 (newer than this perfex)\n");
	expect("tsc             2000.000 MHz\n");
	expect("counters        7 at once\n");
	expect("general         4, 48 bits wide: 0-3\n");
	expect("fixed           2, 48 bits wide: 0,2\n");
	expect("CPUs            0-3,32,63-64\n");
	expect("forbidden CPUs  4-31,33-62,65-95\n");
	ck_assert_ptr_null(strstr(printed, "kind of CPU"));
	ck_assert_ptr_null(strstr(printed, "watchdog"));

	fake.info.watchdog_fixed = 0x2;
	info_text();
	expect("NMI watchdog    keeps fixed counter 1\n");
	fake.info.watchdog_fixed = 0;
	fake.info.watchdog_pmc = 0x20;
	info_text();
	expect("NMI watchdog    keeps general counter 5\n");
	fake.info.watchdog_pmc = 0;

	fake.nrkinds = 2;
	fake.info.pmc_mask = fake.info.fixed_mask = 0;
	fake.info.arch_events = fake.info.tsc_khz = 0;
	fake.fail[FAKE_CPUS] = EFAULT;
	info_text();
	expect("kind of CPU     0 (of 0-1): core\n");
	expect("kind of CPU     1 (of 0-1): atom\n");
	expect("CPUs of it      not known: Bad address\n");
	expect("general         none\n");
	expect("generic events  none\n");
	expect("rate not known");
	expect("CPUs            not known: Bad address\n");

	/* With another interface version, the versions are printed, and the error. */
	fake.info.abi_version = 0x20001;
	info_text();
	expect("interface       2.1\n");
	expect("perfex expects  0.9\n");
	ck_assert_ptr_null(strstr(printed, "processor"));
	ck_assert_ptr_nonnull(strstr(error.text, "interface version"));
}
END_TEST

/* ---- several kinds of CPUs --------------------------------------------------------- */

static struct events all[2];
static struct kinds both;
static struct vperfctr_ctr tables[2][VPERFCTR_MAX_CTRS];

static void parse_both(const char *spec)
{
	unsigned int k;

	memset(all, 0, sizeof(all));
	for (k = 0; k < 2; k++)
		ck_assert_int_eq(events_parse(&all[k], spec, &both.info[k], &error), 0);
}

/* An event has one group on all kinds, where it fits on all. */
START_TEST(groups_on_two_kinds)
{
	unsigned int i;

	both.nr = 2;
	both.info[0] = both.info[1] = info;
	parse_both("r010e,r0151@0,r0185@1,r0187@1");
	ck_assert_int_eq(assign_groups(all, both.info, 2, tables, &error), 2);
	ck_assert_uint_eq(all->group[2], 0);
	ck_assert_uint_eq(all->group[3], 1);
	for (i = 0; i < 4; i++) {
		ck_assert_uint_eq(tables[0][i].evntsel, tables[1][i].evntsel);
		ck_assert_uint_eq(tables[0][i].map, tables[1][i].map);
	}
	/* Kind 1 counts the first event by counter 0 only. */
	parse_both("r010e,r0151@0");
	ck_assert_int_eq(assign_groups(all, both.info, 2, tables, &error), 1);
	all[1].ev[0].general = 1;
	ck_assert_int_eq(assign_groups(all, both.info, 2, tables, &error), 2);
	ck_assert_uint_eq(all->group[1], 1);
	ck_assert_int_eq(assign_counters(all, both.info, 2, tables, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "no room for r0151"));
	ck_assert_int_eq(assign_counters(all, both.info, 1, tables, &error), 0);
}
END_TEST

/* Without -e: what all kinds have. */
START_TEST(default_events_of_two_kinds)
{
	both.nr = 2;
	both.info[0] = both.info[1] = info;
	both.info[1].arch_events &= ~(uint32_t)VPERFCTR_EVENT_BRANCHES;
	memset(all, 0, sizeof(all));
	events_default(&all[0], &both.info[0], 1, true);
	ck_assert_uint_eq(all[0].nr, 7);
	memset(all, 0, sizeof(all));
	events_default(all, both.info, 2, true);
	ck_assert_uint_eq(all[0].nr, 6);
	ck_assert_uint_eq(all[1].nr, 6);
	ck_assert_str_eq(all[0].ev[2].name, "branch-misses");
	ck_assert_str_eq(all[1].ev[5].name, "cache-misses");
	/* Kind 1 has counters for two of them only. */
	both.info[1].pmc_mask = 1;
	both.info[1].fixed_mask = 1;
	vperfctr_event_common(both.info, 2);
	memset(all, 0, sizeof(all));
	events_default(all, both.info, 2, true);
	ck_assert_uint_eq(all[0].nr, 2);
	ck_assert_uint_eq(all[1].nr, 2);
	ck_assert_str_eq(all[1].ev[1].name, "cycles");
}
END_TEST

START_TEST(controls_of_two_kinds)
{
	FILE *f = fmemopen(printed, sizeof(printed), "w");

	both.nr = 2;
	both.info[0] = both.info[1] = info;
	parse_both("cycles:u");
	all[1].ev[0].fixed = 0;
	ck_assert_int_eq(assign_counters(all, both.info, 2, tables, &error), 0);
	print_control(f, all, &both, tables);
	fclose(f);
	ck_assert_str_eq(printed,
			 "perfex: cycles:u on kind 0: map 0x40000001 evntsel 0x00000002\n"
			 "perfex: cycles:u on kind 1: map 0x00000000 evntsel 0x0041003c\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-parts");
	TCase *t = tcase_create("parts");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, event_name, 0, ARRAY_SIZE(names));
	tcase_add_loop_test(t, chosen_counter, 0, ARRAY_SIZE(chosen));
	tcase_add_test(t, counters_beside_chosen_ones);
	tcase_add_test(t, groups_on_two_kinds);
	tcase_add_test(t, default_events_of_two_kinds);
	tcase_add_test(t, controls_of_two_kinds);
	tcase_add_test(t, second_register);
	tcase_add_test(t, second_register_in_each_run);
	tcase_add_test(t, several_events);
	tcase_add_test(t, unknown_or_malformed_names);
	tcase_add_loop_test(t, names_of_perf, 0, 2);
	tcase_add_test(t, modes_given_twice);
	tcase_add_loop_test(t, perfs_ways_to_write, 0, (int)ARRAY_SIZE(accepted));
	tcase_add_test(t, one_mode);
	tcase_add_test(t, event_needs_unit_mask);
	tcase_add_test(t, event_of_haswell_needs_unit_mask);
	tcase_add_test(t, long_names);
	tcase_add_test(t, too_many_names);
	tcase_add_test(t, without_libpfm4);
	tcase_add_test(t, kernel_mode_not_allowed);
	tcase_add_test(t, event_not_available);
	tcase_add_test(t, fixed_counters_first);
	tcase_add_test(t, fixed_counter_once);
	tcase_add_test(t, no_fixed_counters);
	tcase_add_test(t, more_events_than_counters);
	tcase_add_test(t, no_counters);
	tcase_add_test(t, default_events);
	tcase_add_test(t, software_events);
	tcase_add_test(t, software_events_alone);
	tcase_add_test(t, busy_counters_watchdog);
	tcase_add_test(t, holders);
	tcase_add_test(t, busy_counters_process);
	tcase_add_test(t, busy_counters_of_cpus);
	tcase_add_test(t, busy_counters_of_threads);
	tcase_add_test(t, busy_counters_hidden_process);
	tcase_add_test(t, thread_is_counted_already);
	tcase_add_test(t, dead_counters);
	tcase_add_test(t, error_messages);
	tcase_add_test(t, thousands_separators);
	tcase_add_test(t, text_table);
	tcase_add_test(t, no_ratio_of_different_modes);
	tcase_add_test(t, table_header);
	tcase_add_test(t, thread_time);
	tcase_add_test(t, table_without_counts);
	tcase_add_test(t, verbose_parts);
	tcase_add_test(t, mean_and_deviation);
	tcase_add_test(t, merged_spreads);
	tcase_add_test(t, event_groups);
	tcase_add_test(t, csv_records);
	tcase_add_test(t, json_records);
	tcase_add_test(t, per_thread_records);
	tcase_add_test(t, clock_of_intervals);
	tcase_add_test(t, interval_records);
	tcase_add_test(t, table_notes);
	tcase_add_test(t, incomplete_counts);
	tcase_add_test(t, counts_are_added);
	tcase_add_test(t, ptrace_refused);
	tcase_add_test(t, verbose_control);
	tcase_add_test(t, info_output);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
