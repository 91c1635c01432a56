// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tests of libvperfctr-event: names of events, their counters, and the assignment. */
#include <check.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "x86.h"
#include "fake.h"

static struct vperfctr_info info;
static struct vperfctr_event event[VPERFCTR_MAX_CTRS];
static struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
static struct vperfctr_why why;

/* libpfm4 reads the environment at its first use in a process; each test is a process. */
static void processor(const char *name, uint32_t type, unsigned int nr)
{
	setenv("LIBPFM_FORCE_PMU", name, 1);
	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	info.cpu_type = type;
	info.features = VPERFCTR_FEATURE_KERNEL;
	info.pmc_mask = (UINT64_C(1) << nr) - 1;
	info.arch_events = 0x7f;
	if (type == VPERFCTR_CPU_INTEL_ARCH)
		info.fixed_mask = 0x7;
	else
		info.arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS |
				   VPERFCTR_EVENT_BRANCHES | VPERFCTR_EVENT_BRANCH_MISSES;
	info.nrctrs = nr + (unsigned int)__builtin_popcountll(info.fixed_mask);
	strcpy(info.cpu_name, "Fake");
	memset(&why, 0, sizeof(why));
}

static void setup(void)
{
	processor("snb", VPERFCTR_CPU_INTEL_ARCH, 4);
}

static const struct vperfctr_event *take(unsigned int i, const char *name)
{
	int err = vperfctr_event(&event[i], name, &info, &why);

	ck_assert_msg(!err, "%s: %d, %s", name, err, why.text);
	return &event[i];
}

static void refuse(int err, const char *name, const char *because)
{
	ck_assert_int_eq(vperfctr_event(&event[0], name, &info, &why), err);
	ck_assert_msg(strstr(why.text, because), "%s: '%s' not in '%s'", name, because, why.text);
	ck_assert_ptr_null(strchr(why.text, '\n'));
	/* why may be NULL. */
	ck_assert_int_eq(vperfctr_event(&event[0], name, &info, NULL), err);
}

/* ---- names ------------------------------------------------------------------ */

/* Each kind of CPUs of a hybrid processor has its own events, in libpfm4 from 4.14 on. */
START_TEST(kinds)
{
	const bool atom = _i;

	processor(atom ? "adl_grt" : "adl_glc", VPERFCTR_CPU_INTEL_ARCH, 6);
	info.kind = _i;
	info.core_type = atom ? 0x20000001 : 0x40000001;
	take(0, "instructions:u");
	if (!__vperfctr_pfm_processor(&info))
		return;
	if (atom) {
		ck_assert_uint_eq(take(0, "TOPDOWN_RETIRING:ALL")->code, 0x00c2);
		ck_assert_uint_eq(take(0, "adl_grt::TOPDOWN_RETIRING:ALL")->code, 0x00c2);
	} else {
		ck_assert_uint_eq(take(0, "UOPS_RETIRED:SLOTS")->code, 0x02c2);
		ck_assert_uint_eq(take(0, "adl_glc::UOPS_RETIRED:SLOTS")->code, 0x02c2);
	}
	/* Events of the other kind are refused. */
	info.core_type = atom ? 0x40000001 : 0x20000001;
	refuse(-EINVAL, atom ? "adl_grt::TOPDOWN_RETIRING:ALL" : "adl_glc::UOPS_RETIRED:SLOTS",
	       "another kind of CPUs");
}
END_TEST

START_TEST(errors)
{
	char name[300];

	refuse(-ENOENT, "cylces", "did you mean 'cycles'");
	refuse(-ENOENT, "qqqqqqqqqq", "unknown event 'qqqqqqqqqq'");
	refuse(-ENOENT, "", "unknown event ''");
	refuse(-EINVAL, "cycles@x", "after @");
	refuse(-EINVAL, "cycles@4", "no general counter 4");
	refuse(-EINVAL, "cycles@fixed3", "no fixed counter 3");
	refuse(-EINVAL, "cycles@fixed0", "this counter cannot count that event");
	refuse(-EINVAL, "r100c0", "modes are given by ':u' and ':k'");
	refuse(-EINVAL, "r1000000c0", "sets more than");
	refuse(-EINVAL, "0x5100c0", "sets more than");
	refuse(-EINVAL, "0x4100c0:u", "says itself in which mode");
	refuse(-EINVAL, "instructions:k:u", "says twice in which mode");
	refuse(-EINVAL, "instructions:u:u@1", "says twice in which mode");
	refuse(-EINVAL, "L1D:NONSENSE", "event 'L1D:NONSENSE'");
	refuse(-EINVAL, "L1D:REPLACEMENT:t", "other threads");
	refuse(-EINVAL, "L1D:REPLACEMENT:u=0:k=0", "neither in user nor in kernel mode");
	info.arch_events &= ~(uint32_t)VPERFCTR_EVENT_BRANCHES;
	refuse(-EOPNOTSUPP, "branches:u", "cannot count 'branches:u'");
	refuse(-EOPNOTSUPP, "r00c4", "cannot count 'r00c4'");
	refuse(-EOPNOTSUPP, "branches:u@1", "cannot count 'branches:u@1'");
	info.fixed_mask = 0x3;
	refuse(-EOPNOTSUPP, "r0300", "'r0300' is counted by fixed counter 2 only");
	refuse(-EOPNOTSUPP, "r0700", "'r0700' is counted by fixed counter 6 only");
	refuse(-EOPNOTSUPP, "r0800", "it is not known which counters");
	info.features = 0;
	refuse(-EPERM, "cycles:k", "cycles:k: kernel mode");
	refuse(-EPERM, "L1D:REPLACEMENT:k=1", "CAP_PERFMON");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	refuse(-ENAMETOOLONG, name, "too long");
}
END_TEST

START_TEST(modes)
{
	ck_assert_uint_eq(take(0, "cycles:u")->modes, VPERFCTR_MODE_USER);
	ck_assert_uint_eq(event[0].modes_left, 0);
	ck_assert_uint_eq(take(0, "cycles:k")->modes, VPERFCTR_MODE_KERNEL);
	ck_assert_uint_eq(take(0, "cycles")->modes, VPERFCTR_MODE_USER | VPERFCTR_MODE_KERNEL);
	ck_assert_uint_eq(event[0].modes_left, 1);
	ck_assert_str_eq(event[0].name, "cycles");
	info.features = 0;
	ck_assert_uint_eq(take(0, "cycles")->modes, VPERFCTR_MODE_USER);
	ck_assert_uint_eq(event[0].modes_left, 1);
	ck_assert_str_eq(event[0].name, "cycles:u");
}
END_TEST

/* On AMD some names have other codes, and some have none. */
START_TEST(amd)
{
	processor("amd64_fam17h_zen1", VPERFCTR_CPU_AMD, 6);
	ck_assert_uint_eq(take(0, "cycles:u")->code, 0x76);
	ck_assert_uint_eq(event[0].arch, VPERFCTR_EVENT_CYCLES);
	ck_assert_uint_eq(event[0].general, 0x3f);
	ck_assert_uint_eq(event[0].fixed, 0);
	ck_assert_uint_eq(take(0, "instructions:u")->code, 0xc0);
	ck_assert_uint_eq(take(0, "branches:u")->code, 0xc2);
	ck_assert_uint_eq(take(0, "branch-misses:u")->code, 0xc3);
	refuse(-EOPNOTSUPP, "ref-cycles:u", "cannot count 'ref-cycles:u'");
	refuse(-EOPNOTSUPP, "cache-misses:u", "cannot count 'cache-misses:u'");
	/* Intel's codes are other events on AMD, and AMD's have more bits. */
	ck_assert_uint_eq(take(0, "r003c:u")->arch, 0);
	ck_assert_uint_eq(take(0, "r0076:u")->arch, VPERFCTR_EVENT_CYCLES);
	ck_assert_uint_eq(take(0, "r0100:u")->fixed, 0);
	ck_assert_uint_eq(take(0, "r1000001cb:u")->code, 0x1000001cb);
	refuse(-EINVAL, "r10000001cb:u", "upper bits (32-35)");
	ck_assert_uint_eq(take(0, "RETIRED_INSTRUCTIONS:u")->code, 0xc0);
	ck_assert_uint_eq(event[0].arch, VPERFCTR_EVENT_INSTRUCTIONS);
}
END_TEST

/* On Arm a code is an event's number and bits exclude modes; the fixed counter counts cycles. */
START_TEST(arm)
{
	processor("arm_n1", VPERFCTR_CPU_ARM_PMUV3, 6);
	info.fixed_mask = 1;
	info.nrctrs = 7;
	take(0, "instructions:u");
	take(1, "cycles:k");
	take(2, "r0011");
	take(3, "0x80000011@2");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 4, &info, &why), 0);
	ck_assert_uint_eq(ctr[0].evntsel, 0x80000008);
	ck_assert_uint_lt(ctr[0].map, 6);
	ck_assert_uint_eq(ctr[1].map, VPERFCTR_FIXED);
	ck_assert_uint_eq(ctr[1].evntsel, 0x40000000);
	ck_assert_uint_eq(ctr[2].evntsel, 0x11);
	ck_assert_uint_eq(ctr[3].map, 2);
	ck_assert_uint_eq(ctr[3].evntsel, 0x80000011);
	refuse(-EINVAL, "r10008", "an event's number");
	refuse(-EINVAL, "0x400000008", "U (30), P (31)");
	refuse(-EINVAL, "0x80000008:u", "says itself in which mode");
	refuse(-EINVAL, "instructions@fixed0", "this counter cannot count that event");
	refuse(-ENOENT, "qqqqqqqqqq", "r0008");
	refuse(-EOPNOTSUPP, "ref-cycles", "cannot count 'ref-cycles'");
	info.arch_events = 0x7f;
	/* By a generic name perf counts these: drivers/perf/arm_pmuv3.c. */
	ck_assert_uint_eq(take(0, "cache-references:u")->code, 0x04);
	ck_assert_uint_eq(take(0, "cache-misses:u")->code, 0x03);
	ck_assert_uint_eq(take(0, "branch-misses:u")->code, 0x10);
	ck_assert_uint_eq(take(0, "branches:u")->code, 0x21);
	/* It counts another counter's overflows, and the module refuses it. */
	refuse(-EOPNOTSUPP, "r001e", "this processor cannot count 'r001e'");
	ck_assert_uint_eq(take(0, "r00c0")->general, 0x3f);
}
END_TEST

/* ---- counters that can count an event --------------------------------------------- */

static const struct {
	const char *list;
	unsigned int core;
	uint64_t code, counters;
} restricted[] = {
	{ "sandybridge", 0, 0x0148, 0x4 }, { "ivytown", 0, 0x0148, 0x4 }, { "haswell", 0, 0x0148, 0x4 },
	{ "broadwellx", 0, 0x0148, 0x4 }, { "skylake", 0, 0x0148, 0xff },
	{ "jaketown", 0, 0x02a3, 0x4 }, { "sandybridge", 0, 0x04a3, 0xf }, { "ivybridge", 0, 0x08a3, 0x4 },
	{ "haswell", 0, 0x0ca3, 0x4 }, { "haswell", 0, 0x02a3, 0xf },
	/* edge, inv and cmask do not matter */
	{ "sandybridge", 0, 0x1040148, 0x4 },
	/* except where the list says so */
	{ "skylake", 0, 0x01c0, 0x2 }, { "skylake", 0, 0xa8001c0, 0xd }, { "skylake", 0, 0x28001c0, 0x2 },
	{ "sandybridge", 0, 0x01c0, 0x2 }, { "sandybridge", 0, 0x00c0, 0xff },
	{ "sandybridge", 0, 0x01cd, 0x8 }, { "skylake", 0, 0x01d1, 0xf }, { "sandybridge", 0, 0x01b0, 0xff },
	{ "core", 0, 0x0010, 0x1 }, { "core", 0, 0x0012, 0x2 }, { "core", 0, 0x01cb, 0x1 },
	{ "core", 0, 0x0024, ~UINT64_C(0) },
	{ "coreduo", 0, 0x0010, ~UINT64_C(0) }, { "coreduo", 0, 0x00c1, 0x1 },
	{ "p6", 0, 0x0010, 0x1 }, { "p6", 0, 0x0011, 0x2 }, { "p6", 0, 0x0014, 0x1 },
	{ "p6", 0, 0x00c1, 0x1 }, { "p6", 0, 0x0f2e, ~UINT64_C(0) },
	{ "nehalemep", 0, 0x0140, 0x3 }, { "westmereep-sp", 0, 0x0140, 0 }, { "westmereep-dp", 0, 0x0151, 0x3 },
	{ "nehalemex", 0, 0x100b, 0x8 }, { "nehalemex", 0, 0x010b, 0xf }, { "westmereex", 0, 0x01b7, 0x4 },
	{ "icelake", 0, 0x0151, 0xf }, { "icelake", 0, 0x04a3, 0xff }, { "icelakex", 0, 0x0ca3, 0xf },
	{ "icelake", 0, 0x02c2, 0xff }, { "tigerlake", 0, 0x0151, 0xf }, { "rocketlake", 0, 0x0151, 0xf },
	{ "sapphirerapids", 0, 0x412e, 0xff }, { "sapphirerapids", 0, 0x0151, 0xf },
	{ "sapphirerapids", 0, 0x01cd, 0xfe }, { "sapphirerapids", 0, 0x02cd, 0x1 },
	{ "graniterapids", 0, 0x02cd, 0x1 }, { "meteorlake", 0x40, 0x01cd, 0xfe },
	{ "meteorlake", 0x20, 0x05d0, 0x3 }, { "sierraforest", 0, 0x05d0, 0x3 },
	{ "alderlake", 0x20, 0x05d0, 0x3 }, { "alderlake", 0x20, 0x82d0, 0x3f },
	{ "alderlake", 0x40, 0x01cd, 0xfe }, { "alderlaken", 0, 0x05d0, 0x3 },
	{ "lunarlake", 0x40, 0x00c4, 0x3ff }, { "lunarlake", 0x40, 0x01cd, 0x3fc },
	{ "lunarlake", 0x40, 0x02cd, 0x3 }, { "lunarlake", 0x20, 0x00c4, 0xff },
	{ "lunarlake", 0x40, 0x10a4, 0x8 }, { "clearwaterforest", 0, 0x11d0, 0xff },
	/* All CPUs are of the larger kind. */
	{ "alderlake", 0, 0x02cd, 0x1 },
	/* A combination of unit masks, of which some are restricted, and of which none has a counter. */
	{ "sandybridge", 0, 0x07a3, 0x4 }, { "sapphirerapids", 0, 0x03cd, 0 },
	/* No list has these. */
	{ "sandybridge", 0, 0x0001, 0 }, { "lunarlake", 0x40, 0x20a4, 0 }, { "sapphirerapids", 0, 0x02ce, 0 },
	{ "pantherlake", 0x40, 0x0148 | UINT64_C(1) << 40, 0 }, { "novalake", 0x40, 0x0446 | UINT64_C(1) << 36, 0 },
	/* unless no event of the processor is restricted */
	{ "bonnell", 0, 0x0001, 0x3 }, { "goldmont", 0, 0x0001, 0xf },
	{ NULL, 0, 0x0148, 0 },
};

START_TEST(counters)
{
	struct processor p = { .list = restricted[_i].list, .core = restricted[_i].core };
	uint64_t got = __vperfctr_intel_counters(&p, restricted[_i].code);

	ck_assert_msg(got == restricted[_i].counters, "%s, %llx: %llx", restricted[_i].list,
		      (unsigned long long)restricted[_i].code, (unsigned long long)got);
}
END_TEST

static const struct {
	unsigned int family;
	uint64_t code, counters;
} restricted_amd[] = {
	{ 0x15, 0xff03, 0x08 }, { 0x15, 0x0100, 0x38 },
	{ 0x15, 0x1100, 0x08 }, { 0x15, 0x0304, 0x08 }, { 0x15, 0x0104, 0x38 }, { 0x15, 0x002e, 0x09 },
	{ 0x15, 0x0131, 0x07 }, { 0x15, 0x0331, 0 },
	{ 0x15, 0x00c0, 0x3f }, { 0x15, 0x0080, 0x07 }, { 0x15, 0x1000000c0, 0x38 },
	{ 0x15, 0x100000087, 0x01 }, { 0x15, 0x00e0, 0 }, { 0x15, 0x00a0, 0 },
	{ 0x17, 0xff03, 0 }, { 0x19, 0x0f03, 0 }, { 0x1a, 0xff03, 0 }, { 0x19, 0xf000000ff, 0 },
	{ 0x17, 0xff02, ~UINT64_C(0) }, { 0x17, 0x10000ff03, ~UINT64_C(0) },
	{ 0x16, 0xff03, ~UINT64_C(0) }, { 0x0f, 0x0003, ~UINT64_C(0) }, { 0x10, 0x1000000c0, ~UINT64_C(0) },
};

START_TEST(counters_amd)
{
	uint64_t got = __vperfctr_amd_counters(restricted_amd[_i].family, restricted_amd[_i].code);

	ck_assert_msg(got == restricted_amd[_i].counters, "%x, %llx: %llx", restricted_amd[_i].family,
		      (unsigned long long)restricted_amd[_i].code, (unsigned long long)got);
}
END_TEST

/*
 * Family 15h as Linux's perf has it (arch/x86/events/amd/core.c): masks by the upper digit
 * of the event, and exceptions.
 */
START_TEST(counters_of_family_15h)
{
	static const uint8_t types[16] = {
		0x38, 0x38, 0x3f, 0x3f, 0x3f, 0x3f, 0x07, 0x07, 0x07, 0x07, 0, 0, 0x3f, 0x07, 0, 0,
	};
	static const struct {
		uint8_t counters;
		const char *events;
	} exceptions[] = {
		{ 0x08, " 003 00b 00d 02d " }, { 0x09, " 02e " }, { 0x01, " 08f 187 188 " },
		{ 0x07, " 023 031 043 045 046 054 055 " }, { 0x38, " 1c0 " },
		{ 0x3f, " 0db 0dc 0dd 0de 0df 1d6 1d8 " },
	};
	unsigned int code, i;
	char name[8];

	for (code = 0; code < 0x1000; code++) {
		uint64_t expected = types[code >> 4 & 0xf];
		/* one bit of the unit mask: more are in the test above */
		uint64_t evntsel = (code & 0xff) | (uint64_t)(code & 0xf00) << 24 | 0x100;

		sprintf(name, " %03x ", code);
		for (i = 0; i < ARRAY_SIZE(exceptions); i++)
			if (strstr(exceptions[i].events, name))
				expected = exceptions[i].counters;
		ck_assert_msg(__vperfctr_amd_counters(0x15, evntsel) == expected, "%x", code);
	}
}
END_TEST

/* ---- which processor -------------------------------------------------------------- */

static struct cpu_signature signature;

void __wrap___vperfctr_cpu_signature(struct cpu_signature *s);
void __wrap___vperfctr_cpu_signature(struct cpu_signature *s)
{
	*s = signature;
}

/* Without LIBPFM_FORCE_PMU, CPUID says which one it is; 0: the name must have a counter. */
static const struct {
	const char *vendor;
	unsigned int family, model, stepping, core;
	uint32_t core_type;
	const char *name;
	uint64_t general;
} signatures[] = {
	{ "GenuineIntel", 6, 0x2a, 7, 0, 0, "r0148", 0x4 },
	{ "GenuineIntel", 6, 0x1c, 0, 0, 0, "r0151", 0x3 },
	{ "GenuineIntel", 6, 0x07, 3, 0, 0, "r0012", 0x2 },
	{ "GenuineIntel", 6, 0x0d, 8, 0, 0, "r00c1", 0x1 },
	{ "GenuineIntel", 6, 0x0e, 0, 0, 0, "r00c1", 0x1 },
	{ "GenuineIntel", 6, 0x17, 0, 0, 0, "r0010", 0x1 },
	{ "GenuineIntel", 6, 0x2f, 0, 0, 0, "r01b7", 0x4 },
	{ "GenuineIntel", 6, 0x2c, 0, 0, 0, "r01b7", 0xf },
	{ "GenuineIntel", 6, 0x55, 4, 0, 0, "r01ef", 0xff },
	{ "GenuineIntel", 6, 0x55, 7, 0, 0, "r01d3", 0xf },
	{ "GenuineIntel", 6, 0xad, 1, 0, 0, "r02cd", 0x1 },
	/* CPUID, the module or both know the kind of cores. */
	{ "GenuineIntel", 6, 0x97, 2, 0, 0x40000001, "r02cd", 0x1 },
	{ "GenuineIntel", 6, 0x97, 2, 0x40, 0x20000001, "r05d0", 0x3 },
	{ "GenuineIntel", 6, 0x97, 2, 0x20, 0, "r05d0", 0x3 },
	{ "GenuineIntel", 6, 0x97, 2, 0x40, 0, "r02cd", 0x1 },
	{ "GenuineIntel", 6, 0x97, 2, 0, 0, "r02cd", 0x1 },
	{ "GenuineIntel", 6, 0xbd, 1, 0x40, 0x40000002, "r02cd", 0x3 },
	{ "GenuineIntel", 6, 0xc6, 0, 0x40, 0x40000003, "r0148", 0x4 },
	{ "GenuineIntel", 18, 0x01, 0, 0x40, 0x40000004, "r0446", 0xf },
	/* Bartlett Lake, the Pentium 4 and others are in no list. */
	{ "GenuineIntel", 6, 0xd7, 0, 0, 0, "r0148", 0 },
	{ "GenuineIntel", 6, 0xd7, 0, 0, 0, "L1D_PEND_MISS:PENDING", 0 },
	{ "GenuineIntel", 18, 0xc6, 0, 0x40, 0x40000003, "r0148", 0 },
	{ "GenuineIntel", 15, 0x2a, 7, 0, 0, "r0148", 0 },
	{ "CentaurHauls", 6, 0x2a, 7, 0, 0, "r0148", 0 },
	{ "", 0, 0, 0, 0, 0, "r0148", 0 },
	{ "AuthenticAMD", 0x15, 2, 0, 0, 0, "r0003", 0x8 },
	{ "AuthenticAMD", 0x15, 2, 0, 0, 0, "r00db", 0x3f },
	{ "AuthenticAMD", 0x19, 0x11, 0, 0, 0, "r0004", 0xff },
	{ "AuthenticAMD", 0x1a, 0x11, 0, 0, 0, "r0004", 0xff },
	{ "HygonGenuine", 0x18, 0, 0, 0, 0, "r0004", 0xff },
	{ "AuthenticAMD", 0x1b, 0, 0, 0, 0, "r0004", 0 },
};

START_TEST(by_cpuid)
{
	const bool intel = strcmp(signatures[_i].vendor, "AuthenticAMD") &&
			   strcmp(signatures[_i].vendor, "HygonGenuine");
	const char *name = signatures[_i].name;
	char named[64];

	processor("", intel ? VPERFCTR_CPU_INTEL_ARCH : VPERFCTR_CPU_AMD, 8);
	unsetenv("LIBPFM_FORCE_PMU");
	strcpy(signature.vendor, signatures[_i].vendor);
	signature.family = signatures[_i].family;
	signature.model = signatures[_i].model;
	signature.stepping = signatures[_i].stepping;
	signature.core = signatures[_i].core;
	info.core_type = signatures[_i].core_type;
	take(0, "instructions");
	if (signatures[_i].general) {
		ck_assert_uint_eq(take(0, name)->general, signatures[_i].general);
		ck_assert_uint_eq(event[0].unknown, 0);
		return;
	}
	/* Only if libpfm4 knows this machine has it such names. */
	if (strchr(name, ':'))
		return;
	refuse(-EOPNOTSUPP, name, "it is not known which counters of this processor can count 'r0");
	sprintf(named, "%s:u@3", name);
	ck_assert_uint_eq(take(0, named)->general, 0x8);
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), 0);
	ck_assert_uint_eq(ctr[0].map, 3);
}
END_TEST

/* libpfm4's code of these is that of a fixed counter, which counts cycles. */
START_TEST(lost_select)
{
	processor("icl", VPERFCTR_CPU_INTEL_ARCH, 8);
	info.fixed_mask = 0xf;
	refuse(-EINVAL, "TOPDOWN:BACKEND_BOUND_SLOTS:u",
	       "wrong code for 'TOPDOWN:BACKEND_BOUND_SLOTS': write r02a4, with its modes");
	ck_assert_uint_eq(take(0, "r02a4:u")->code, 0x02a4);
	ck_assert_uint_eq(take(0, "TOPDOWN:SLOTS_P:u")->code, 0x01a4);
	ck_assert_uint_eq(take(0, "TOPDOWN:SLOTS:u")->fixed, 1 << 3);
}
END_TEST

/* P6 has two counters, no fixed ones, and a code of its own for cycles. */
START_TEST(p6)
{
	processor("", VPERFCTR_CPU_INTEL_P6, 2);
	unsetenv("LIBPFM_FORCE_PMU");
	strcpy(signature.vendor, "GenuineIntel");
	signature.family = 6;
	signature.model = 7;
	ck_assert_uint_eq(take(0, "cycles:u")->code, 0x79);
	ck_assert_uint_eq(event[0].arch, VPERFCTR_EVENT_CYCLES);
	ck_assert_uint_eq(event[0].general, 0x3);
	ck_assert_uint_eq(event[0].fixed, 0);
	ck_assert_uint_eq(take(0, "instructions:u")->code, 0xc0);
	ck_assert_uint_eq(event[0].fixed, 0);
	ck_assert_uint_eq(take(0, "branches:u")->code, 0xc4);
	ck_assert_uint_eq(take(0, "branch-misses:u")->code, 0xc5);
	refuse(-EOPNOTSUPP, "ref-cycles:u", "cannot count 'ref-cycles:u'");
	refuse(-EOPNOTSUPP, "cache-misses:u", "cannot count 'cache-misses:u'");
	ck_assert_uint_eq(take(0, "r003c:u")->arch, 0);
	ck_assert_uint_eq(take(0, "r0100:u")->fixed, 0);
	ck_assert_uint_eq(take(0, "r00c1:u")->general, 0x1);
	ck_assert_uint_eq(take(0, "r0012:u")->general, 0x2);
}
END_TEST

static uint64_t evntsel_of(const char *name)
{
	take(0, name);
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), 0);
	ck_assert_uint_eq(ctr[0].aux, 0);
	return ctr[0].evntsel;
}

static void riscv_processor(uint32_t features)
{
	processor("", VPERFCTR_CPU_RISCV_SBI, 16);
	info.fixed_mask = 0x3;
	info.features |= features;
}

/* RISC-V has the SBI's numbers, and UINH and SINH, which leave out user and kernel mode. */
START_TEST(riscv)
{
	const uint64_t uinh = UINT64_C(1) << 60, sinh = UINT64_C(1) << 61;

	/* The module's counters, or perf's. */
	riscv_processor(_i ? 0 : VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_PCINT);
	ck_assert_uint_eq(evntsel_of("instructions:u"), sinh | 0x2);
	ck_assert_uint_eq(event[0].general, 0xffff);
	ck_assert_uint_eq(event[0].fixed, 0);
	ck_assert_uint_eq(evntsel_of("cycles:k"), uinh | 0x1);
	ck_assert_uint_eq(evntsel_of("branches"), 0x5);
	ck_assert_uint_eq(evntsel_of("0x10019:u"), sinh | 0x10019);
	ck_assert_uint_eq(evntsel_of("0x2000000000000002@3"), sinh | 0x2);
	ck_assert_uint_eq(event[0].modes, VPERFCTR_MODE_USER);
	take(0, "rc0:u");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), 0);
	ck_assert_uint_eq(ctr[0].evntsel, sinh | 0x20000);
	ck_assert_uint_eq(ctr[0].aux, 0xc0);
	/* Each counter has an mhpmevent of its own. */
	take(1, "rc1:u");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 2, &info, &why), 0);
	ck_assert_uint_eq(ctr[0].aux, 0xc0);
	ck_assert_uint_eq(ctr[1].aux, 0xc1);
	/* On x86 this bit is EN. */
	refuse(-EINVAL, "0x400002", "sets more than UINH (60), SINH (61) and ");
	refuse(-EINVAL, "0x2000000000000002:u", "says itself in which mode");
	refuse(-EINVAL, "r1000000000000", "sets more than 48 bits");
	refuse(-ENOENT, "DATA_READ", "no raw code (0x2)");
}
END_TEST

/* An event that is not generic, as perf_event has it. */
static struct __vperfctr_perf_event perf_of(const char *name)
{
	struct __vperfctr_perf_event to = { .type = PERF_TYPE_RAW };

	take(0, name);
	ck_assert_uint_eq(event[0].arch, 0);
	to.config = event[0].code;
	to.config1 = event[0].aux;
	__vperfctr_family(&info)->to_perf(&to, &event[0]);
	return to;
}

/* The SBI's numbers are of perf's events, of its caches, or of raw events. */
START_TEST(riscv_by_perf)
{
	struct __vperfctr_perf_event to;

	riscv_processor(0);
	to = perf_of("rc0:u");
	ck_assert_uint_eq(to.type, PERF_TYPE_RAW);
	ck_assert_uint_eq(to.config, 0xc0);
	ck_assert_uint_eq(to.config1, 0);
	/* misses of reads of the data TLB */
	to = perf_of("0x10019:u");
	ck_assert_uint_eq(to.type, PERF_TYPE_HW_CACHE);
	ck_assert_uint_eq(to.config, PERF_COUNT_HW_CACHE_DTLB | PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	/* prefetches of the last-level cache */
	to = perf_of("0x10014:u");
	ck_assert_uint_eq(to.config, PERF_COUNT_HW_CACHE_LL | PERF_COUNT_HW_CACHE_OP_PREFETCH << 8);
	to = perf_of("0x7:u");
	ck_assert_uint_eq(to.type, PERF_TYPE_HARDWARE);
	ck_assert_uint_eq(to.config, PERF_COUNT_HW_BUS_CYCLES);
}
END_TEST

/* Without Sscofpmf, which also gives the interrupt, there are no modes. */
START_TEST(riscv_modeless)
{
	riscv_processor(VPERFCTR_FEATURE_RDPMC);
	ck_assert_uint_eq(evntsel_of("instructions"), 0);
	ck_assert_uint_eq(ctr[0].map, VPERFCTR_FIXED + 1);
	ck_assert_uint_eq(evntsel_of("cycles:uk"), 0);
	ck_assert_uint_eq(ctr[0].map, VPERFCTR_FIXED);
	ck_assert_uint_eq(evntsel_of("0x2"), 0);
	ck_assert_uint_eq(ctr[0].map, VPERFCTR_FIXED + 1);
	ck_assert_uint_eq(evntsel_of("branches"), 0x5);
	ck_assert_uint_eq(evntsel_of("0x10019"), 0x10019);
	refuse(-EINVAL, "instructions@0", "this counter cannot count that event");
	refuse(-EOPNOTSUPP, "instructions:u", "all modes only: leave ':u' or ':k' out");
	refuse(-EINVAL, "0x2000000000000002", "sets more than the SBI's number");
	info.features &= ~(uint32_t)VPERFCTR_FEATURE_KERNEL;
	refuse(-EPERM, "instructions", "which takes CAP_PERFMON");
}
END_TEST

/* The selector of instructions means something else on PMC5 and PMC6. */
START_TEST(ppc32)
{
	const uint64_t not_user = UINT64_C(1) << 62, not_kernel = UINT64_C(1) << 63;

	processor("", VPERFCTR_CPU_PPC32, 6);
	ck_assert_uint_eq(evntsel_of("instructions:u"), not_kernel | 0x2);
	ck_assert_uint_eq(event[0].general, 0xf);
	ck_assert_uint_eq(evntsel_of("instructions:u@3"), not_kernel | 0x2);
	ck_assert_uint_eq(event[0].general, 0x8);
	ck_assert_uint_eq(evntsel_of("cycles:k"), not_user | 0x1);
	ck_assert_uint_eq(event[0].general, 0x3f);
	ck_assert_uint_eq(evntsel_of("r02:u"), not_kernel | 0x2);
	ck_assert_uint_eq(event[0].general, 0xf);
	ck_assert_uint_eq(evntsel_of("r02:u@4"), not_kernel | 0x2);
	ck_assert_uint_eq(event[0].general, 0x10);
	refuse(-EINVAL, "instructions:u@4", "this counter cannot count that event");
}
END_TEST

static void power(const char *name)
{
	processor("", VPERFCTR_CPU_POWER8, 4);
	info.fixed_mask = 3;
	info.nrctrs = 6;
	info.arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS;
	strcpy(info.cpu_name, name);
}

/* A raw code is perf's: its counter is the event's only one, and is left out of evntsel. */
START_TEST(power_codes)
{
	static const struct {
		const char *processor, *name;
		uint64_t evntsel, general, fixed;
	} codes[] = {
		{ "IBM POWER8", "instructions:u", 0x02, 0xf, 0x1 },
		{ "IBM POWER8", "r1e:u", 0x1e, 0xf, 0x2 },
		{ "IBM POWER8", "r1001e:u", 0x1e, 0x1, 0 },
		{ "IBM POWER8", "r500fa:u", 0x02, 0, 0x1 },
		{ "IBM POWER8", "r600f4:u", 0x1e, 0, 0x2 },
		/* a bus that all counters have: not those of the caches */
		{ "IBM POWER8", "r489c:u", 0x489c, 0xf, 0 },
		{ "IBM POWER9", "re0df:u", 0xe0df, 0xf, 0 },
		{ "IBM POWER9", "r46080:u", 0x6080, 0x8, 0 },
		{ "IBM POWER8", "r819082:u@0", 0x809082, 0x1, 0 },
		{ "IBM POWER8", "r1c040:u", 0xc040, 0x1, 0 },
		{ "IBM POWER8", "r51c040:u", 0x50c040, 0x1, 0 },
		{ "IBM POWER9", "r4d05e:u", 0xd05e, 0x8, 0 },
		{ "IBM POWER9", "r30c54:u", 0xc54, 0x4, 0 },
		{ "IBM POWER10", "rfc060000004c040:u", 0xfc060000000c040, 0x8, 0 },
		{ "IBM POWER10", "r20254:u", 0x254, 0x2, 0 },
		{ "IBM POWER10", "0x80000000000200f2", 0xf2, 0x2, 0 },
		{ "IBM POWER10", "r54:u@2", 0x54, 0x4, 0 },
	};
	const unsigned int n = sizeof(codes) / sizeof(codes[0]);
	unsigned int i;

	for (i = 0; i < n; i++) {
		power(codes[i].processor);
		take(0, codes[i].name);
		ck_assert_msg(event[0].general == codes[i].general &&
			      event[0].fixed == codes[i].fixed,
			      "%s: general %#llx, fixed %#llx", codes[i].name,
			      (unsigned long long)event[0].general,
			      (unsigned long long)event[0].fixed);
		ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), 0);
		if (codes[i].fixed) {
			ck_assert_uint_eq(ctr[0].map, VPERFCTR_FIXED + codes[i].fixed - 1);
			ck_assert_uint_eq(ctr[0].evntsel, UINT64_C(1) << 63);
			continue;
		}
		ck_assert_uint_eq(1 << ctr[0].map & ~codes[i].general, 0);
		ck_assert_uint_eq(ctr[0].evntsel, UINT64_C(1) << 63 | codes[i].evntsel);
	}
}
END_TEST

/* perf's codes have the counter, if there is only one. */
START_TEST(power_by_perf)
{
	power("IBM POWER8");
	ck_assert_uint_eq(perf_of("r1001e:u").config, 0x1001e);
	ck_assert_uint_eq(perf_of("r489c:u@2").config, 0x3489c);
	ck_assert_uint_eq(perf_of("r489c:u").config, 0x489c);
}
END_TEST

START_TEST(power_refused)
{
	power("IBM POWER8");
	refuse(-EOPNOTSUPP, "r0:u", "'r0' counts nothing: its selector is 0");
	refuse(-EOPNOTSUPP, "r10000:u", "its selector is 0");
	refuse(-EOPNOTSUPP, "r517082:u", "'r517082' needs a register of the L2 and L3 caches (MMCRC)");
	/* bits 20 and 21 without 22; 23 for units without banks */
	refuse(-EOPNOTSUPP, "r11c040:u", "a field of 'r11c040' means nothing for this event");
	refuse(-EOPNOTSUPP, "r81c040:u", "means nothing for this event");
	/* marked instructions; the fields of their threshold */
	refuse(-EOPNOTSUPP, "r10134:u", "the code of 'r10134' is for instructions that the hardware marks, which is a sample");
	refuse(-EOPNOTSUPP, "r67200401ec:u", "which is a sample");
	refuse(-EOPNOTSUPP, "r2000010002:u", "which is a sample");
	refuse(-EOPNOTSUPP, "r20010002:u", "which is a sample");
	refuse(-EOPNOTSUPP, "r2000000010002:u", "which is a sample");
	refuse(-EOPNOTSUPP, "0x8000000000000102@0", "which is a sample");
	refuse(-EOPNOTSUPP, "r5001e:u", "PMC5 counts instructions only (r500fa)");
	refuse(-EOPNOTSUPP, "r700fa:u", "there is PMC1 to PMC6");
	refuse(-EINVAL, "r1001e:u@1", "this counter cannot count that event");
	refuse(-EINVAL, "r500fa:u@1", "this counter cannot count that event");
	refuse(-EOPNOTSUPP, "r54:u", "it is not known which counters of this processor can count 'r54:u'");
	refuse(-EOPNOTSUPP, "rf2:u", "it is not known which counters");
	refuse(-EOPNOTSUPP, "r6080:u", "it is not known which counters");
	refuse(-EOPNOTSUPP, "r101e:u", "it is not known which counters");
	/* sampling, EBB, and what other processors have */
	refuse(-EINVAL, "r1010002:u", "without sampling, EBB and BHRB");
	refuse(-EINVAL, "r8000000000010002:u", "without sampling, EBB and BHRB");
	refuse(-EINVAL, "r10402:u", "fields of perf's codes for this processor");
	refuse(-EINVAL, "r10202:u", "fields of perf's codes for this processor");
	refuse(-EINVAL, "r4000000010002:u", "fields of perf's codes for this processor");
	power("IBM POWER9");
	refuse(-EINVAL, "r10202:u", "fields of perf's codes for this processor");
	refuse(-EINVAL, "r41c040:u", "fields of perf's codes for this processor");
	refuse(-EOPNOTSUPP, "r116080:u", "means nothing for this event");
	refuse(-EOPNOTSUPP, "r2000000010002:u", "which is a sample");
	refuse(-EOPNOTSUPP, "r1d15c:u", "which is a sample");
	/* marked without bit 8: on one counter, and on all */
	refuse(-EOPNOTSUPP, "r24058:u", "which is a sample");
	refuse(-EOPNOTSUPP, "rd098:u", "which is a sample");
	refuse(-EOPNOTSUPP, "r4d098:u", "which is a sample");
	take(0, "r4058:u@1");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), -EOPNOTSUPP);
	ck_assert_str_eq(why.text, "the code of 'r4058:u@1' is for instructions that the hardware marks, which is a sample: leave it out");
	ck_assert_uint_eq(take(0, "r34058:u")->code, 0x4058);
	ck_assert_uint_eq(take(0, "r10402:u")->code, 0x402);
	ck_assert_uint_eq(take(0, "r1c058:u")->code, 0xc058);
	ck_assert_uint_eq(take(0, "r4003c:u")->code, 0x3c);
	power("IBM POWER9 revision 2.2");
	refuse(-EOPNOTSUPP, "r1c058:u", "this revision of the processor does not count 'r1c058'");
	refuse(-EOPNOTSUPP, "r4003c:u", "(an erratum)");
	take(0, "r3c:u@3");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), -EOPNOTSUPP);
	ck_assert_str_eq(why.text, "this revision of the processor does not count 'r3c:u@3' (an erratum): leave it out");
	take(0, "r3c:u@2");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), 0);
	ck_assert_uint_eq(take(0, "r1f056:u")->code, 0xf056);
	power("IBM POWER9 revision 2.1");
	refuse(-EOPNOTSUPP, "r1f056:u", "(an erratum)");
	refuse(-EOPNOTSUPP, "r4003c:u", "(an erratum)");
	ck_assert_uint_eq(take(0, "r1c058:u")->code, 0xc058);
	power("IBM POWER10");
	ck_assert_uint_eq(take(0, "r24058:u")->code, 0x4058);
	refuse(-EINVAL, "r41c040:u", "fields of perf's codes for this processor");
	refuse(-EOPNOTSUPP, "r10000017080:u", "means nothing for this event");
	refuse(-EOPNOTSUPP, "r2000010002:u", "which is a sample");
	ck_assert_uint_eq(take(0, "r2000000010002:u")->code, 0x2000000000002);
	ck_assert_uint_eq(take(0, "r10202:u")->code, 0x202);
}
END_TEST

/* Refuse two events, or accept them. */
static void pair(const char *first, const char *second, int err, const char *because)
{
	take(0, first);
	take(1, second);
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 2, &info, &why), err);
	if (err)
		ck_assert_msg(strstr(why.text, because), "'%s' not in '%s'", because, why.text);
}

/* Counters share some fields of an event.  PMC5 and PMC6 have none of them. */
START_TEST(power_shared)
{
	static const char field[] = "in a field that all counters share";

	power("IBM POWER8");
	pair("r1c042:u", "r1001e:u", -ENOSPC, "only general counter 0 can count");
	pair("r41c042:u", "r52c042:u", -ENOSPC, field);
	pair("r41c042:u", "r42c042:u", 0, NULL);
	pair("r41c042:u", "r2c042:u", 0, NULL);
	power("IBM POWER9");
	pair("r11c042:u", "r2c042:u", -ENOSPC, field);
	/* The event of PMC4 chooses the bank. */
	pair("r16080:u", "r2c042:u", -EINVAL, "POWER9 counts 'r16080:u' only together with the event of the same bank of the cache on PMC4: name r46080 before it");
	pair("r16080:u", "r46080:u", 0, NULL);
	pair("r16080:u", "r46880:u", 0, NULL);
	pair("r16080:u", "r46084:u", -ENOSPC, field);
	pair("r46084:u", "r2c042:u", 0, NULL);
	power("IBM POWER10");
	pair("r16080:u", "r46084:u", 0, NULL);
	pair("r10000016080:u", "r46084:u", -ENOSPC, field);
	pair("r10000016080:u", "r10000046084:u", 0, NULL);
	pair("r10000016080:u", "r47084:u", 0, NULL);
	pair("r10202:u", "r2c042:u", -ENOSPC, field);
	pair("r10202:u", "cycles:u", 0, NULL);
	pair("r1c042:u", "rfc060000004c040:u", 0, NULL);
}
END_TEST

/* The Pentium and Cyrix have a half of CESR: modes and clocks are bits 6 to 8 of it. */
START_TEST(cesr)
{
	const bool cyrix = _i;

	processor("", cyrix ? VPERFCTR_CPU_CYRIX : VPERFCTR_CPU_INTEL_P5, 2);
	ck_assert_uint_eq(evntsel_of("instructions:u"), 0x96);
	ck_assert_uint_eq(event[0].general, 0x3);
	ck_assert_uint_eq(evntsel_of("cycles:k"), 0x140);
	ck_assert_uint_eq(evntsel_of("cycles"), 0x1c0);
	ck_assert_uint_eq(evntsel_of("r16:u"), 0x96);
	ck_assert_uint_eq(evntsel_of("r2b:u@1"), 0xab);
	ck_assert_uint_eq(event[0].general, 0x2);
	ck_assert_uint_eq(evntsel_of("0x96"), 0x96);
	ck_assert_uint_eq(event[0].modes, VPERFCTR_MODE_USER);
	ck_assert_uint_eq(evntsel_of("0x6b@0"), 0x6b);
	/* MMX events mean something else on the other counter. */
	refuse(-EOPNOTSUPP, "r2b:u", "as in 'r2b:u@0'");
	refuse(-EINVAL, "r56:u@0", "sets more than an event's number (bits 0-5");
	refuse(-EINVAL, "0x200@0", "sets more than kernel (bit 6), user (7), an event's");
	refuse(-EOPNOTSUPP, "cache-misses", "cannot count 'cache-misses'");
	refuse(-EOPNOTSUPP, "branches", "cannot count 'branches'");
	refuse(-ENOENT, "DATA_READ", "no raw code (r16@0)");
	if (cyrix)
		ck_assert_uint_eq(evntsel_of("r416:u@0"), 0x496);
	else
		refuse(-EINVAL, "r416:u@0", "sets more than");
}
END_TEST

/* VIA C3 and WinChip count in all modes.  Event 0 is one of WinChip C6. */
START_TEST(modeless)
{
	static const struct {
		uint32_t type;
		unsigned int model, instructions, cycles;
	} cpus[] = {
		{ VPERFCTR_CPU_VIA_C3, 7, 0xc0, 0x79 },
		{ VPERFCTR_CPU_WINCHIP, 4, 0x02, 0x00 },
		{ VPERFCTR_CPU_WINCHIP, 8, 0x16, 0x3f },
		{ VPERFCTR_CPU_WINCHIP, 9, 0x16, 0x3f },
	};
	const bool c3 = !_i;

	processor("", cpus[_i].type, 2);
	if (c3) {
		info.pmc_mask = 2;
		info.nrctrs = 1;
	}
	signature.model = cpus[_i].model;
	ck_assert_uint_eq(evntsel_of("instructions"), cpus[_i].instructions);
	ck_assert_uint_eq(event[0].general, info.pmc_mask);
	ck_assert_uint_eq(evntsel_of("cycles:uk"), cpus[_i].cycles);
	ck_assert_uint_eq(evntsel_of("r7a@1"), 0x7a);
	if (c3) {
		ck_assert_uint_eq(evntsel_of("0x1c0"), 0x1c0);
	} else {
		refuse(-EOPNOTSUPP, "r7a", "as in 'r7a@0'");
		refuse(-EINVAL, "r100@0", "bits 0-7");
	}
	refuse(-EINVAL, "0x200@1", "sets more than an event's number");
	refuse(-EOPNOTSUPP, "instructions:u", "all modes only: leave ':u' or ':k' out");
	refuse(-EOPNOTSUPP, "branches", "cannot count 'branches'");
	info.features = 0;
	refuse(-EPERM, "instructions", "which takes CAP_PERFMON");
}
END_TEST

/* All counters of an unknown processor count architectural events, with any edge, inv and cmask. */
START_TEST(architectural)
{
	processor("no-such-processor", VPERFCTR_CPU_INTEL_ARCH, 4);
	ck_assert_uint_eq(take(0, "r00c0")->general, 0xf);
	ck_assert_uint_eq(take(0, "r18400c0")->general, 0xf);
	ck_assert_uint_eq(take(0, "r4412e")->general, 0xf);
	ck_assert_uint_eq(take(0, "r0300")->fixed, 0x4);
	/* Another unit mask is another event. */
	refuse(-EOPNOTSUPP, "r01c0", "as in 'r01c0@0'");
	/* CPUID says that this one is absent: it may be any event. */
	info.arch_events &= ~(uint32_t)VPERFCTR_EVENT_BRANCHES;
	refuse(-EOPNOTSUPP, "r10000c4", "it is not known");
	info.pmc_mask = 0xc;
	refuse(-EOPNOTSUPP, "r0148:k", "can count 'r0148:k': name one that can, as in 'r0148:k@2'");
	refuse(-EINVAL, "r0148:k@1", "no general counter 1");
	refuse(-EINVAL, "r0148@fixed0", "this counter cannot count that event");
}
END_TEST

/* libpfm4 has names of events that Intel's list lacks. */
START_TEST(unlisted)
{
	processor("nhm", VPERFCTR_CPU_INTEL_ARCH, 4);
	refuse(-EOPNOTSUPP, "SEGMENT_REG_LOADS:u", "it is not known which counters of this processor can count 'SEGMENT_REG_LOADS:u'");
	ck_assert_uint_eq(take(0, "SEGMENT_REG_LOADS:u@1")->general, 0x2);
	ck_assert_uint_eq(take(0, "L1D:REPL:u")->general, 0x3);
	refuse(-EINVAL, "L1D:REPL:u@2", "this counter cannot count that event");
}
END_TEST

/* An event of the list, which gives no counter, is refused when counters are chosen. */
START_TEST(unknown_in_assignment)
{
	take(0, "cycles:u");
	memset(&event[1], 0, sizeof(event[1]));
	strcpy(event[1].name, "r010e");
	event[1].general = 0xf;
	event[1].unknown = 1;
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 2, &info, &why), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(why.text, "as in 'r010e@0'"));
	event[1].general = 0x2;
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 2, &info, &why), 0);
	ck_assert_uint_eq(ctr[1].map, 1);
}
END_TEST

/* A generic name, libpfm4's name and the code are the same event. */
START_TEST(same_event_by_any_name)
{
	ck_assert_uint_eq(take(0, "L1D_PEND_MISS:PENDING:u")->general, 0x4);
	ck_assert_uint_eq(take(0, "r0148:u")->general, 0x4);
	ck_assert_uint_eq(take(0, "0x410148")->general, 0x4);
	ck_assert_uint_eq(take(0, "L1D:REPLACEMENT:u")->general, 0xf);
	refuse(-EINVAL, "L1D_PEND_MISS:PENDING:u@1", "this counter cannot count that event");
	take(0, "L1D_PEND_MISS:PENDING:u@2");
	info.pmc_mask = 0x3;
	refuse(-EOPNOTSUPP, "L1D_PEND_MISS:PENDING:u", "general counter 2 only");
}
END_TEST

/* ---- a counter for each ---------------------------------------------------------------- */

static int assign(unsigned int nr)
{
	memset(ctr, 0xff, sizeof(ctr));
	return vperfctr_event_assign(ctr, event, nr, &info, &why);
}

/* An event that only one counter can count gets it, whatever was placed there before. */
START_TEST(single_choice_first)
{
	static const char *const names[] = {
		"r010e:u", "r0151:u", "r0185:u", "L1D_PEND_MISS:PENDING:u",
	};
	unsigned int first, i;

	for (first = 0; first < 4; first++) {
		for (i = 0; i < 4; i++)
			take(i, names[(first + i) % 4]);
		ck_assert_msg(!assign(4), "%s", why.text);
		for (i = 0; i < 4; i++) {
			ck_assert(event[i].general >> ctr[i].map & 1);
			ck_assert_uint_eq(ctr[i].reserved | ctr[i].aux | ctr[i].ireset, 0);
		}
	}
	take(0, "L1D_PEND_MISS:PENDING:k");
	take(1, "cycles:u");
	take(2, "CYCLE_ACTIVITY:CYCLES_L1D_PENDING:u");
	ck_assert_int_eq(assign(3), -ENOSPC);
	ck_assert_msg(strstr(why.text, "no room for CYCLE_ACTIVITY:CYCLES_L1D_PENDING:u, as only general counter 2 can count L1D_PEND_MISS:PENDING:k, CYCLE_ACTIVITY:CYCLES_L1D_PENDING:u"),
		      "%s", why.text);
}
END_TEST

/* Several events must move: without that, they fit in no order. */
START_TEST(events_move)
{
	static const uint64_t masks[] = { 0x3, 0x6, 0xc, 0x9, 0x3 };
	unsigned int i;

	for (i = 0; i < 5; i++) {
		memset(&event[i], 0, sizeof(event[i]));
		sprintf(event[i].name, "e%u", i);
		event[i].general = masks[i];
		event[i].modes = VPERFCTR_MODE_USER;
	}
	ck_assert_int_eq(assign(4), 0);
	ck_assert_int_eq(assign(5), -ENOSPC);
	ck_assert_msg(strstr(why.text, "general counters 0-3 can count e0, e1, e2, e3, e4"), "%s",
		      why.text);
}
END_TEST

/*
 * Events that need the same second register: all fit with one value, and two values fit as
 * OFFCORE_RESPONSE_0 and _1, whichever name was given.
 */
static const struct {
	const char *processor;
	const char *names[5];
	uint64_t codes[5];
	const char *refused;
} registers[] = {
	{ "snb", { "0x4101b7/0x1", "0x4101b7/0x1", "0x4201b7/0x1" },
	  { 0x1b7, 0x1b7, 0x1b7 }, NULL },
	{ "snb", { "0x4101b7/0x1", "0x4101b7/0x2", "0x10501b7/0x2", "0x4101bb/0x1" },
	  { 0x1b7, 0x1bb, 0x10401bb, 0x1b7 }, NULL },
	{ "snb", { "0x4101bb/0x1", "0x4101bb/0x2" }, { 0x1bb, 0x1b7 }, NULL },
	/* A register is not used for a value that the other one has, in any order. */
	{ "snb", { "0x4101b7/0x1", "0x4101bb/0x1", "0x4101b7/0x2" }, { 0x1b7, 0x1b7, 0x1bb }, NULL },
	{ "snb", { "0x4101b7/0x1", "0x4101bb/0x2", "0x4101b7/0x2", "0x4101bb/0x1" },
	  { 0x1b7, 0x1bb, 0x1bb, 0x1b7 }, NULL },
	{ "snb", { "0x4101b7/0x1", "0x4101bb/0x2" }, { 0x1b7, 0x1bb }, NULL },
	{ "snb", { "0x4101b7/0x1", "0x4101bb/0x2", "0x4101b7/0x3" }, { 0 },
	  "no room for 0x4101b7/0x3, whose second register has another value for 0x4101b7/0x1, 0x4101bb/0x2" },
	{ "snb", { "0x4101b7/0x1", "0x4101b7/0x2", "r00c0:u", "0x4101bb/0x2", "0x4101bb/0x3" }, { 0 },
	  "no room for 0x4101bb/0x3, whose second register has another value for 0x4101b7/0x1, 0x4101b7/0x2, 0x4101bb/0x2" },
	/* 0 is a value, too. */
	{ "snb", { "r01b7:u", "r01bb:u", "0x4101b7/0x1" }, { 0x1b7, 0x1b7, 0x1bb }, NULL },
	{ "snb", { "r01b7:u", "0x4101bb/0x2", "0x4101b7/0x1" }, { 0 },
	  "no room for 0x4101b7/0x1, whose second register has another value for r01b7:u, 0x4101bb/0x2" },
	{ "skl", { "0x4101c6/0x11", "0x4101c6/0x11", "0x4101b7/0x12" }, { 0x1c6, 0x1c6, 0x1b7 }, NULL },
	{ "skl", { "0x4101c6/0x11", "0x4101c6/0x12" }, { 0 },
	  "no room for 0x4101c6/0x12, whose second register has another value for 0x4101c6/0x11" },
	/* They are twins on processors that have both. */
	{ "nhm", { "0x4101b7/0x1", "0x4101b7/0x2" }, { 0 },
	  "only general counter 2 can count 0x4101b7/0x1, 0x4101b7/0x2" },
	{ "no-such-processor", { "0x4101b7/0x1@0", "0x4101b7/0x2@1" }, { 0 },
	  "has another value for 0x4101b7/0x1@0" },
	{ "skl", { "OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE:u",
		   "OFFCORE_RESPONSE_0:DMND_RFO:ANY_RESPONSE:u" }, { 0x1b7, 0x1bb }, NULL },
	{ "skl", { "FRONTEND_RETIRED:DSB_MISS:u", "FRONTEND_RETIRED:ITLB_MISS:u" }, { 0 },
	  "no room for FRONTEND_RETIRED:ITLB_MISS:u, whose second register has another value for FRONTEND_RETIRED:DSB_MISS:u" },
	/* With another unit mask it is another event, with another register or none. */
	{ "snb", { "0x4101b7/0x1", "0x4102b7/0x2@1" }, { 0x1b7, 0x2b7 }, NULL },
};

START_TEST(second_registers)
{
	const uint64_t rest = ~(EVNTSEL_USR | EVNTSEL_OS | EVNTSEL_EN);
	unsigned int i, nr;

	processor(registers[_i].processor, VPERFCTR_CPU_INTEL_ARCH, 8);
	for (nr = 0; nr < 5 && registers[_i].names[nr]; nr++)
		take(nr, registers[_i].names[nr]);
	if (registers[_i].refused) {
		ck_assert_int_eq(assign(nr), -ENOSPC);
		ck_assert_msg(strstr(why.text, registers[_i].refused), "%s", why.text);
		return;
	}
	ck_assert_msg(!assign(nr), "%s", why.text);
	for (i = 0; i < nr; i++) {
		ck_assert_msg((ctr[i].evntsel & rest) == registers[_i].codes[i], "%s: %llx",
			      event[i].name, (unsigned long long)ctr[i].evntsel);
		ck_assert_uint_eq(ctr[i].aux, event[i].aux);
	}
}
END_TEST

/* An event with a second register does not get a fixed counter. */
START_TEST(aux_needs_general_counter)
{
	ck_assert_uint_eq(take(0, "0x4100c0/0x5")->fixed, 0);
	ck_assert_int_eq(assign(1), 0);
	ck_assert_uint_eq(ctr[0].map, 0);
	ck_assert_uint_eq(ctr[0].aux, 0x5);
}
END_TEST

START_TEST(no_counters)
{
	take(0, "cycles:u");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, VPERFCTR_MAX_CTRS + 1, &info, &why), -EINVAL);
	ck_assert_int_eq(assign(0), 0);
	info.nrctrs = 0;
	info.pmc_mask = info.fixed_mask = 0;
	ck_assert_int_eq(assign(0), 0);
	ck_assert_int_eq(assign(1), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(why.text, "no performance counters here (Fake)"));
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, NULL), -EOPNOTSUPP);
}
END_TEST

/* A message says that the watchdog keeps its counter, and not that the processor lacks it. */
START_TEST(counter_of_watchdog)
{
	info.fixed_mask = 0x5;
	info.watchdog_fixed = 0x2;
	refuse(-EINVAL, "cycles:u@fixed1", "'cycles:u@fixed1': the kernel's NMI watchdog keeps fixed counter 1");
	info.pmc_mask = 0xe;
	info.watchdog_pmc = 0x1;
	refuse(-EINVAL, "r01d1@0", "NMI watchdog keeps general counter 0");
	take(0, "cycles:u");
}
END_TEST

/* True if each subset of the events has enough counters (Hall's theorem). */
static bool fits(unsigned int nr)
{
	unsigned int subset, i;

	for (subset = 1; subset < 1U << nr; subset++) {
		uint64_t general = 0, fixed = 0;

		for (i = 0; i < nr; i++) {
			if (!(subset >> i & 1))
				continue;
			general |= event[i].general;
			fixed |= event[i].fixed;
		}
		if (__builtin_popcount(subset) >
		    __builtin_popcountll(general) + __builtin_popcountll(fixed))
			return false;
	}
	return true;
}

static uint32_t seed;

static uint32_t any(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 16) % below;
}

START_TEST(at_random)
{
	unsigned int round, nr, i, k, possible = 0;
	const uint32_t first = getenv("SEED") ? (uint32_t)atoi(getenv("SEED")) : 1;

	for (round = 0; round < 20000; round++) {
		seed = first + round;
		nr = 1 + any(8);
		for (i = 0; i < nr; i++) {
			memset(&event[i], 0, sizeof(event[i]));
			sprintf(event[i].name, "e%u", i);
			event[i].modes = VPERFCTR_MODE_USER;
			event[i].general = any(2) ? any(16) : 1U << any(4);
			event[i].fixed = any(4) ? 0 : 1U << any(3);
			if (!event[i].general && !event[i].fixed)
				event[i].general = 1;
		}
		if (nr > info.nrctrs)
			continue;
		ck_assert_msg(assign(nr) == (fits(nr) ? 0 : -ENOSPC), "SEED=%u: %s", first + round,
			      why.text);
		if (!fits(nr))
			continue;
		possible++;
		for (i = 0; i < nr; i++) {
			uint64_t mask = ctr[i].map & VPERFCTR_FIXED ? event[i].fixed : event[i].general;

			ck_assert(mask >> (ctr[i].map & ~VPERFCTR_FIXED) & 1);
			for (k = 0; k < i; k++)
				ck_assert_uint_ne(ctr[i].map, ctr[k].map);
		}
	}
	/* Both results have occurred. */
	ck_assert_uint_gt(possible, 2000);
	ck_assert_uint_lt(possible, 18000);
}
END_TEST

/* ---- the list ---------------------------------------------------------------------------- */

struct seen {
	unsigned int nr, generic, none, pending;
	unsigned int stop_at;
};

static int see(const struct vperfctr_event *e, const char *description, void *arg)
{
	struct seen *s = arg;

	s->nr++;
	ck_assert_uint_gt(strlen(description), 3);
	ck_assert_uint_eq(e->modes, VPERFCTR_MODE_USER);
	s->generic += !strcmp(e->name, "branches");
	s->none += !e->general && !e->fixed;
	s->pending += !strcmp(e->name, "L1D_PEND_MISS:PENDING") && e->general == 0x4;
	return s->nr == s->stop_at ? 1 : 0;
}

START_TEST(list)
{
	struct seen s = { 0 };

	info.arch_events &= ~(uint32_t)VPERFCTR_EVENT_BRANCHES;
	ck_assert_int_eq(vperfctr_event_list(&info, see, &s), 0);
	ck_assert_uint_gt(s.nr, 200);
	ck_assert_uint_eq(s.generic, 1);
	ck_assert_uint_eq(s.pending, 1);
	ck_assert_uint_ge(s.none, 1);
	s = (struct seen){ .stop_at = 20 };
	ck_assert_int_eq(vperfctr_event_list(&info, see, &s), 1);
	ck_assert_uint_eq(s.nr, 20);
	s = (struct seen){ .stop_at = 2 };
	ck_assert_int_eq(vperfctr_event_list(&info, see, &s), 1);
	ck_assert_uint_eq(s.nr, 2);
}
END_TEST

START_TEST(unknown_processor)
{
	struct seen s = { 0 };

	processor("no-such-processor", VPERFCTR_CPU_INTEL_ARCH, 4);
	take(0, "cycles");
	refuse(-EOPNOTSUPP, "r0148", "it is not known which counters");
	refuse(-ENOENT, "L1D:REPLACEMENT", "unknown event");
	ck_assert_int_eq(vperfctr_event_list(&info, see, &s), -ENOENT);
	ck_assert_uint_eq(s.nr, 7);
}
END_TEST

/* ---- in one call ------------------------------------------------------------ */

static void fake_open_fails(int err, const char *names, const char *because)
{
	struct vperfctr *v = (struct vperfctr *)1;

	ck_assert_int_eq(vperfctr_count(&v, names, VPERFCTR_COUNT_MODULE, &why), err);
	ck_assert_ptr_null(v);
	ck_assert_msg(strstr(why.text, because), "%s: '%s' not in '%s'", names, because, why.text);
	if (fake.state_fd < 0)
		ck_assert_int_eq(vperfctr_count(&v, names, VPERFCTR_COUNT_MODULE, NULL), err);
}

/* Software events have perf's names, no modes, and no counter. */
START_TEST(software)
{
	static const struct {
		const char *name;
		uint32_t soft;
	} names[] = {
		{ "task-clock", VPERFCTR_SOFT_TASK_CLOCK },
		{ "context-switches", VPERFCTR_SOFT_CONTEXT_SWITCHES },
		{ "cs", VPERFCTR_SOFT_CONTEXT_SWITCHES },
		{ "cpu-migrations", VPERFCTR_SOFT_MIGRATIONS },
		{ "migrations", VPERFCTR_SOFT_MIGRATIONS },
		{ "page-faults", VPERFCTR_SOFT_PAGE_FAULTS },
		{ "faults", VPERFCTR_SOFT_PAGE_FAULTS },
		{ "minor-faults", VPERFCTR_SOFT_MINOR_FAULTS },
		{ "major-faults", VPERFCTR_SOFT_MAJOR_FAULTS },
	};
	unsigned int i;

	info.soft = 0x1f;
	info.features = 0;	/* nor do they need the right to count kernel mode */
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		take(0, names[i].name);
		ck_assert_uint_eq(event[0].soft, names[i].soft);
		ck_assert_str_eq(event[0].name, names[i].name);
		ck_assert_uint_eq(event[0].modes_left | event[0].general | event[0].fixed, 0);
	}
	refuse(-EINVAL, "cs:u", "'cs:u': a software event counts in all modes: leave ':u' or ':k' out");
	refuse(-EINVAL, "cs@1", "'cs@1': the kernel counts this event, and takes no counter for it");
	refuse(-ENOENT, "page-fault", "did you mean 'page-faults'?");
	info.soft = VPERFCTR_SOFT_MINOR_FAULTS;
	take(0, "minor-faults");
	refuse(-EOPNOTSUPP, "page-faults", "a software event that the module does not count here");
	refuse(-EOPNOTSUPP, "task-clock", "leave it out");
}
END_TEST

/* They take nothing from the others, and are assigned without any counter. */
START_TEST(software_and_hardware)
{
	unsigned int i;

	info.soft = 0x1f;
	take(0, "page-faults");
	take(1, "r010e");
	take(2, "task-clock");
	take(3, "r0151");
	take(4, "r0185");
	take(5, "cs");
	take(6, "r0187");
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 7, &info, &why), 0);
	for (i = 0; i < 7; i++)
		ck_assert_int_eq(!ctr[i].evntsel, event[i].soft != 0);
	ck_assert_uint_eq(ctr[1].evntsel & 0xffff, 0x010e);
	ck_assert_uint_eq(ctr[6].evntsel & 0xffff, 0x0187);
	info.nrctrs = 0;
	info.pmc_mask = info.fixed_mask = 0;
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 7, &info, &why), -EOPNOTSUPP);
	ck_assert_int_eq(vperfctr_event_assign(ctr, event, 1, &info, &why), 0);
}
END_TEST

START_TEST(opens_software)
{
	struct vperfctr *v;
	uint64_t value;

	fake_reset();
	fake.info.soft = 0x1f;
	ck_assert_int_eq(vperfctr_event_open(&v, "page-faults,branches:u,task-clock,cycles:u", &why), 0);
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_uint_eq(fake_seen->control.soft,
			  VPERFCTR_SOFT_PAGE_FAULTS | VPERFCTR_SOFT_TASK_CLOCK);
	ck_assert_uint_eq(fake_seen->control.tsc_on, 1);
	ck_assert_uint_eq(fake_seen->ctr[0].evntsel & 0xffff, 0x00c4);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value), 0);
	ck_assert_uint_eq(value, 2000000);
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_PAGE_FAULTS, &value), 0);
	ck_assert_uint_eq(value, 2000003 + 2000004);
	value = 7;
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_MIGRATIONS, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read_soft(v, UINT64_C(1) << 40, &value), -EINVAL);
	ck_assert_int_eq(vperfctr_read_soft(v, 0, &value), -EINVAL);
	fake.fail[FAKE_READ] = E2BIG;
	ck_assert_int_eq(vperfctr_read_soft(v, VPERFCTR_SOFT_TASK_CLOCK, &value), -E2BIG);
	ck_assert_uint_eq(value, 7);
	fake.fail[FAKE_READ] = 0;
	vperfctr_close(v);
}
END_TEST

START_TEST(opens)
{
	struct vperfctr *v;

	fake_reset();
	ck_assert_int_eq(vperfctr_event_open(&v, "branches:u,OFFCORE_RESPONSE_0:DMND_DATA_RD:u", &why), 0);
	ck_assert_uint_eq(fake_seen->open_flags, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	ck_assert_uint_eq(fake_seen->control.nractrs, 2);
	ck_assert_uint_eq(fake_seen->control.nrictrs, 0);
	ck_assert_uint_eq(fake_seen->control.tsc_on, 1);
	ck_assert_uint_eq(fake_seen->ctr[0].evntsel & 0xffff, 0x00c4);
	ck_assert_uint_eq(fake_seen->ctr[1].evntsel & 0xffff, 0x01b7);
	ck_assert_uint_ne(fake_seen->ctr[1].aux, 0);
	/* A thread has one state. */
	fake_open_fails(-EEXIST, "instructions:u", "another part of this program");
	vperfctr_close(v);
}
END_TEST

/* An observer attaches between the choice of a counter and its use. */
START_TEST(opens_beside)
{
	struct vperfctr *v;

	fake_reset();
	fake.late_pmcs = 1;
	ck_assert_int_eq(vperfctr_event_open(&v, "branches:u", &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(fake_seen->tries, 2);
	ck_assert_uint_eq(fake_seen->ctr[0].map, 1);
	vperfctr_close(v);
	fake.state_fd = -1;
	/* One has all of them. */
	fake.late_pmcs = 0xf;
	fake_open_fails(-EOPNOTSUPP, "branches:u", "beside the counters by which others count this thread (general counters 0-3): ");
	fake_seen->used_pmcs = 0;
	fake.fail[FAKE_CONTROL] = EADDRINUSE;
	fake_open_fails(-EADDRINUSE, "branches:u", "has one of these counters: choose other ones");
}
END_TEST

/* Each kind has the codes and the counters that it has. */
START_TEST(control_of_kinds)
{
	struct vperfctr_control control;
	struct vperfctr_ctr all[6];

	fake_reset();
	fake.info.soft = 0x1f;
	ck_assert_int_eq(vperfctr_event_control(&control, all, 2, "branches:u,cs,r010e@3", VPERFCTR_ANY_KIND, &why), 0);
	ck_assert_uint_eq(control.kind | control.nrkinds, 0);
	ck_assert_uint_eq(control.nractrs, 2);
	fake.nrkinds = 2;
	ck_assert_int_eq(vperfctr_event_control(&control, all, 4, "branches:u,cs,r010e@3", VPERFCTR_ANY_KIND, &why), 0);
	ck_assert_uint_eq(control.kind, VPERFCTR_ANY_KIND);
	ck_assert_uint_eq(control.nrkinds, 2);
	ck_assert_uint_eq(control.nractrs, 2);
	ck_assert_uint_eq(control.soft, VPERFCTR_SOFT_CONTEXT_SWITCHES);
	ck_assert_uint_eq(all[2].evntsel, 0x4100c4);
	ck_assert_uint_eq(all[3].map, 3);
	ck_assert_int_eq(vperfctr_event_control(&control, all, 3, "branches:u,cs,r010e@3", VPERFCTR_ANY_KIND, &why), -EOVERFLOW);
	ck_assert_str_eq(why.text, "there is room for 3 counters only");
	/* Kind 1 has no counter 3. */
	fake.only_kind0 = 8;
	ck_assert_int_eq(vperfctr_event_control(&control, all, 6, "r010e@3", VPERFCTR_ANY_KIND, &why), -EINVAL);
	ck_assert_str_eq(why.text, "on CPUs of kind 0: 'r010e@3': this processor has no general counter 3");
	ck_assert_int_eq(vperfctr_event_control(&control, all, 6, "r010e@3", 1, &why), -EINVAL);
	ck_assert_int_eq(vperfctr_event_control(&control, all, 6, "r010e@3", 0, &why), 0);
	ck_assert_uint_eq(control.kind | control.nrkinds, 0);
	ck_assert_int_eq(vperfctr_event_control(&control, all, 6, "r010e", 1, &why), 0);
	ck_assert_uint_eq(control.kind, 1);
	ck_assert_int_eq(vperfctr_event_control(&control, all, 6, "r010e", 2, &why), -EINVAL);
	ck_assert_str_eq(why.text, "there is no kind 2 of CPUs");
	/* Without counters there is no kind. */
	ck_assert_int_eq(vperfctr_event_control(&control, all, 0, "cs", 1, &why), 0);
	ck_assert_uint_eq(control.kind, 0);
	ck_assert_int_eq(vperfctr_event_control(&control, all, 0, "cs", VPERFCTR_ANY_KIND, &why), 0);
	ck_assert_uint_eq(control.kind | control.nrkinds, 0);
	ck_assert_int_eq(vperfctr_event_control(&control, all, 6, "no-such", VPERFCTR_ANY_KIND, NULL), -ENOENT);
}
END_TEST

START_TEST(opens_on_kinds)
{
	struct vperfctr *v;

	fake_reset();
	fake.nrkinds = 2;
	fake.only_kind0 = 8;
	ck_assert_int_eq(vperfctr_event_open(&v, "r010e,r0151", &why), 0);
	ck_assert_uint_eq(fake_seen->control.kind, VPERFCTR_ANY_KIND);
	ck_assert_uint_eq(fake_seen->ctr[3].evntsel & 0xffff, 0x0151);
	vperfctr_unlink(v);
	vperfctr_close(v);
	fake_open_fails(-EINVAL, "r010e@3", "on CPUs of kind 0: ");
	/* The thread may run on one kind only. */
	fake.affinity = 0x5;
	ck_assert_int_eq(vperfctr_event_open(&v, "r010e@3", &why), 0);
	ck_assert_str_eq(why.text, "");
	ck_assert_uint_eq(fake_seen->control.kind | fake_seen->control.nrkinds, 0);
	vperfctr_unlink(v);
	vperfctr_close(v);
	fake.affinity = 0xa;
	fake_open_fails(-EINVAL, "r010e@3", "this processor has no general counter 3");
}
END_TEST

/* An error of each step is described in words, and nothing is left open. */
START_TEST(opens_not)
{
	static const struct {
		enum fake_call call;
		int err;
		const char *why;
	} fails[] = {
		{ FAKE_DEVICE, ENOENT, "modprobe vperfctr" },
		{ FAKE_DEVICE, EACCES, "may open /dev/vperfctr" },
		{ FAKE_OPEN, EAGAIN, "max_states_per_user" },
		{ FAKE_CONTROL, EBUSY, "the counters" },
		{ FAKE_CONTROL, EIO, "see vperfctr's line in dmesg" },
	};
	char names[33 * 6], long_name[300];
	unsigned int i;

	for (i = 0; i < sizeof(fails) / sizeof(fails[0]); i++) {
		fake_reset();
		fake.fail[fails[i].call] = fails[i].err;
		fake_open_fails(fails[i].err == ENOENT ? -ENODEV : -fails[i].err, "r00c4:u",
				fails[i].why);
		if (fake.state_fd >= 0)
			close(fake.state_fd);
	}
	fake_reset();
	fake.info.abi_version += 0x10000;
	fake_open_fails(-EPROTONOSUPPORT, "r00c4:u", "another interface version");
	fake.info.abi_version = VPERFCTR_ABI_VERSION;
	fake_open_fails(-ENOENT, "", "unknown event ''");
	fake_open_fails(-ENOENT, "r00c4:u,", "unknown event ''");
	fake_open_fails(-ENOENT, "r00c4:u,cylces:u,cycles", "did you mean 'cycles'");
	fake_open_fails(-ENOSPC, "r00c4,r00c4,r00c4,r00c4,r00c4", "no room");
	memset(long_name, 'x', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	fake_open_fails(-ENAMETOOLONG, long_name, "too long");
	for (i = 0; i < 33; i++)
		memcpy(names + 6 * i, "r00c4,", 6);
	names[sizeof(names) - 1] = '\0';
	fake_open_fails(-EINVAL, names, "32 at most");
	ck_assert_uint_eq(fake_seen->opens, 0);
}
END_TEST

/* ---- Pentium 4 --------------------------------------------------------------- */

static void pentium_4(const char *name)
{
	processor(name, VPERFCTR_CPU_INTEL_P4, 18);
}

#define P4_ON		0x31000		/* enable, both bits of the active thread */

START_TEST(p4_names)
{
	static const struct {
		const char *name;
		uint64_t code, aux, general;
	} names[] = {
		{ "instructions:u", 0x8000, 0x04000200, 0x3f000 },
		{ "cycles:k", 0xc000, 0x26000200, 0xd },
		{ "branches:u", 0xa000, 0x0c001e00, 0x3f000 },
		{ "branch-misses", 0x8000, 0x06000200, 0x3f000 },
		{ "instr_retired:NBOGUSNTAG:u", 0x8000, 0x04000200, 0x3f000 },
		{ "INSTR_RETIRED:NBOGUSNTAG:u@13", 0x8000, 0x04000200, 0x2000 },
		{ "global_power_events:running", 0xc000, 0x26000200, 0xd },
		{ "instr_retired:NBOGUSNTAG:e=1:cmpl=1:thr=3:u", 0x13c8000, 0x04000200, 0x3f000 },
		{ "BSQ_allocation:REQ_TYPE0", 0xe000, 0x0a000200, 0x1 },
		{ "tc_misc:flush", 0x2000, 0x0c002000, 0xf0 },
		{ "x87_FP_uop:all", 0x2000, 0x09000000, 0xf00 },
		{ "0x39000/0x04000204@14", 0x8000, 0x04000200, 0x4000 },
		{ "0x8000/0x04000200:k@12", 0x8000, 0x04000200, 0x1000 },
	};
	unsigned int i;

	pentium_4("netburst");
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const struct vperfctr_event *e = take(0, names[i].name);

		ck_assert_msg(e->code == names[i].code && e->aux == names[i].aux &&
			      e->general == names[i].general && !e->fixed,
			      "%s: %#llx/%#llx on %#llx", names[i].name, (unsigned long long)e->code,
			      (unsigned long long)e->aux, (unsigned long long)e->general);
	}
	refuse(-EINVAL, "r00c0", "need two registers");
	refuse(-EINVAL, "0x39000", "0xCCCR/0xESCR");
	refuse(-EINVAL, "0x4039000/0x04000204@12", "0xCCCR/0xESCR");
	refuse(-EINVAL, "0x39000/0x04000205@12", "0xCCCR/0xESCR");
	refuse(-EINVAL, "0x39000/0x04000204:u@12", "says itself");
	refuse(-EOPNOTSUPP, "0x39000/0x04000204", "name one that can");
	refuse(-EOPNOTSUPP, "replay_event:nbogus", "tagged");
	refuse(-EOPNOTSUPP, "ref-cycles", "cannot count 'ref-cycles'");
	refuse(-EINVAL, "instructions:u@4", "this counter cannot count that event");
	refuse(-ENOENT, "instr_retierd:NBOGUSNTAG", "did you mean 'instr_retired'");
}
END_TEST

static int place(unsigned int nr, const char *const *names)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		take(i, names[i]);
	return vperfctr_event_assign(ctr, event, nr, &info, &why);
}

/* Events that need different values in one ESCR go to different pairs, or do not fit. */
START_TEST(p4_escrs)
{
	static const char *const two[] = { "instructions:u", "instructions:k" };
	static const char *const six[] = { "instructions:u", "instructions:k", "instructions:u",
					   "instructions:k", "instructions:k", "instructions:u" };
	static const char *const three[] = { "instructions:u", "instructions:k", "instructions:uk" };
	static const char *const moved[] = { "instructions:u", "instructions:k@12" };
	static const char *const apart[] = { "instructions:u@12", "branches:k@13", "cycles:u" };
	static const char *const clash[] = { "instructions:u@12", "branch-misses:u@13" };
	unsigned int i;

	pentium_4("netburst");
	ck_assert_int_eq(place(2, two), 0);
	ck_assert_uint_eq(ctr[0].map, 12);
	ck_assert_uint_eq(ctr[0].evntsel, P4_ON | 0x8000);
	ck_assert_uint_eq(ctr[0].aux, 0x04000204);
	ck_assert_uint_eq(ctr[1].map, 14);
	ck_assert_uint_eq(ctr[1].aux, 0x04000208);
	ck_assert_int_eq(place(6, six), 0);
	for (i = 0; i < 6; i++)
		ck_assert_uint_eq(ctr[i].map == 14 || ctr[i].map == 15 || ctr[i].map == 17,
				  i == 1 || i == 3 || i == 4);
	ck_assert_int_eq(place(3, three), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(why.text, "ESCRs"));
	ck_assert_int_eq(place(2, moved), 0);
	ck_assert_uint_eq(ctr[0].map, 14);
	ck_assert_int_eq(place(3, apart), 0);
	ck_assert_uint_eq(ctr[2].map, 0);
	ck_assert_int_eq(place(2, clash), -ENOSPC);
}
END_TEST

/* All that libpfm4 lists has counters, or needs tags. */
static int check_listed(const struct vperfctr_event *e, const char *description, void *nr)
{
	(void)description;
	if (!e->soft && !e->arch) {
		ck_assert_msg(e->general && !e->unknown, "%s", e->name);
		++*(unsigned int *)nr;
	}
	return 0;
}

START_TEST(p4_list)
{
	unsigned int nr = 0;

	pentium_4(_i ? "netburst_p" : "netburst");
	ck_assert_int_eq(vperfctr_event_list(&info, check_listed, &nr), 0);
	ck_assert_uint_gt(nr, 100);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("lib-event");
	TCase *t = tcase_create("event");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, kinds, 0, 2);
	tcase_add_test(t, errors);
	tcase_add_test(t, modes);
	tcase_add_test(t, amd);
	tcase_add_test(t, lost_select);
	tcase_add_test(t, p6);
	tcase_add_loop_test(t, cesr, 0, 2);
	tcase_add_loop_test(t, modeless, 0, 4);
	tcase_add_test(t, arm);
	tcase_add_loop_test(t, riscv, 0, 2);
	tcase_add_test(t, riscv_by_perf);
	tcase_add_test(t, riscv_modeless);
	tcase_add_test(t, ppc32);
	tcase_add_test(t, power_codes);
	tcase_add_test(t, power_by_perf);
	tcase_add_test(t, power_refused);
	tcase_add_test(t, power_shared);
	tcase_add_loop_test(t, counters, 0, sizeof(restricted) / sizeof(restricted[0]));
	tcase_add_loop_test(t, counters_amd, 0, ARRAY_SIZE(restricted_amd));
	tcase_add_test(t, counters_of_family_15h);
	tcase_add_loop_test(t, by_cpuid, 0, ARRAY_SIZE(signatures));
	tcase_add_test(t, architectural);
	tcase_add_test(t, unlisted);
	tcase_add_test(t, unknown_in_assignment);
	tcase_add_test(t, same_event_by_any_name);
	tcase_add_test(t, single_choice_first);
	tcase_add_test(t, events_move);
	tcase_add_loop_test(t, second_registers, 0, sizeof(registers) / sizeof(registers[0]));
	tcase_add_test(t, aux_needs_general_counter);
	tcase_add_test(t, no_counters);
	tcase_add_test(t, counter_of_watchdog);
	tcase_add_test(t, at_random);
	tcase_add_test(t, list);
	tcase_add_test(t, unknown_processor);
	tcase_add_test(t, opens);
	tcase_add_test(t, opens_beside);
	tcase_add_test(t, control_of_kinds);
	tcase_add_test(t, opens_on_kinds);
	tcase_add_test(t, software);
	tcase_add_test(t, software_and_hardware);
	tcase_add_test(t, opens_software);
	tcase_add_test(t, opens_not);
	tcase_add_test(t, p4_names);
	tcase_add_test(t, p4_escrs);
	tcase_add_loop_test(t, p4_list, 0, 2);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
