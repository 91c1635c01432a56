// SPDX-License-Identifier: GPL-2.0
/* perfex's parts: events, counters, messages, output. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake.h"
#include "perfex.h"

static struct events events;
static struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
static struct vperfctr_info info;
static struct error error;

static void setup(void)
{
	fake_reset();
	info = fake.info;
	memset(&events, 0, sizeof(events));
	memset(&error, 0, sizeof(error));
	/* libpfm4 is asked at the first use in this process. */
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
}

static const struct event *parse_one(const char *spec)
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
	{ "ref-cycles:k", "ref-cycles:k", 0x013c, false, true, 2, false, VPERFCTR_EVENT_REF_CYCLES },
	{ "cache-references:uk", "cache-references:uk", 0x4f2e, true, true, -1, false, VPERFCTR_EVENT_CACHE_REFS },
	{ "cache-misses:ku", "cache-misses:ku", 0x412e, true, true, -1, false, VPERFCTR_EVENT_CACHE_MISSES },
	{ "branches:u:k", "branches:u:k", 0x00c4, true, true, -1, false, VPERFCTR_EVENT_BRANCHES },
	{ "branch-instructions", "branch-instructions", 0x00c4, true, true, -1, false, VPERFCTR_EVENT_BRANCHES },
	{ "branch-misses", "branch-misses", 0x00c5, true, true, -1, false, VPERFCTR_EVENT_BRANCH_MISSES },

	{ "r00c0", "r00c0", 0x00c0, true, true, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "rc0:u", "rc0:u", 0x00c0, true, false, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "r412E", "r412E", 0x412e, true, true, -1, false, VPERFCTR_EVENT_CACHE_MISSES },
	/* The same purpose, but not the same rate, as fixed counter 2 */
	{ "r013c", "r013c", 0x013c, true, true, -1, false, VPERFCTR_EVENT_REF_CYCLES },
	{ "r0300", "r0300", 0x0300, true, true, 2, true, 0 },
	{ "r0400", "r0400", 0x0400, true, true, 3, true, 0 },
	{ "r0500", "r0500", 0x0500, true, true, -1, false, 0 },
	/* With a threshold it is another event than instructions. */
	{ "r14000c0", NULL, 0, false, false, 0, false, 0 },	/* EN: refused */
	{ "r10000c0:k", "r10000c0:k", 0x10000c0, false, true, -1, false, 0 },

	{ "INST_RETIRED:ANY_P", "INST_RETIRED:ANY_P", 0x00c0, true, true, 0, false, VPERFCTR_EVENT_INSTRUCTIONS },
	{ "MEM_LOAD_RETIRED:L1_HIT:u", "MEM_LOAD_RETIRED:L1_HIT:u", 0x01d1, true, false, -1, false, 0 },
	{ "skl::MEM_LOAD_RETIRED:L1_HIT", "skl::MEM_LOAD_RETIRED:L1_HIT", 0x01d1, true, true, -1, false, 0 },
	{ "mem_load_retired:l1_hit:u=1:k=0", "mem_load_retired:l1_hit:u=1:k=0:u", 0x01d1, true, false, -1, false, 0 },
	{ "LONGEST_LAT_CACHE:MISS:i:c=1:k", "LONGEST_LAT_CACHE:MISS:i:c=1:k", 0x180412e, false, true, -1, false, 0 },
	{ "UNHALTED_REFERENCE_CYCLES:u", "UNHALTED_REFERENCE_CYCLES:u", 0x0300, true, false, 2, true, 0 },
};

START_TEST(name)
{
	const struct event *ev;

	/* Without a code it stands for a refusal. */
	if (!names[_i].code) {
		refuse(names[_i].spec, "sets more than");
		return;
	}
	info.fixed_mask = 0xf;
	ev = parse_one(names[_i].spec);
	ck_assert_str_eq(ev->name, names[_i].name);
	ck_assert_uint_eq(ev->code, names[_i].code);
	ck_assert_uint_eq(ev->aux, 0);
	ck_assert_int_eq(ev->user, names[_i].user);
	ck_assert_int_eq(ev->kernel, names[_i].kernel);
	ck_assert_int_eq(ev->fixed, names[_i].fixed);
	ck_assert_int_eq(ev->fixed_only, names[_i].fixed_only);
	ck_assert_uint_eq(ev->arch, names[_i].arch);
	ck_assert(!events.user_by_default);
}
END_TEST

START_TEST(two_registers)
{
	const struct event *ev = parse_one("OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE:u");

	ck_assert_uint_eq(ev->code, 0x01b7);
	ck_assert_uint_eq(ev->aux, 0x10001);
	ck_assert_int_eq(assign(&events, &info, ctr, &error), 0);
	ck_assert_uint_eq(ctr[0].evntsel, 0x4101b7);
	ck_assert_uint_eq(ctr[0].aux, 0x10001);
}
END_TEST

START_TEST(several)
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

START_TEST(bad_names)
{
	refuse("", "missing");
	refuse("cycles,", "missing");
	refuse(",cycles", "missing");
	refuse("cycles,,cycles", "missing");
	refuse(":u", "unknown event");
	refuse("cylces", "unknown event 'cylces': did you mean 'cycles'?");
	refuse("instruction:u", "did you mean 'instructions'?");
	refuse("INST_RETIERD:ANY", "did you mean 'INST_RETIRED'?");
	refuse("qqqqqqqqqq", "perfex --help");
	refuse("r", "unknown event");
	refuse("r12zz", "unknown event");
	/* Known, but not so: what libpfm4 says about it */
	refuse("MEM_LOAD_RETIRED:NONSENSE", "event 'MEM_LOAD_RETIRED:NONSENSE': ");
	refuse("LONGEST_LAT_CACHE:MISS:t", "other threads");
	refuse("r12345678123456781234", "too long");
	/* Modes are not given by bits. */
	refuse("r100c0", "':u' and ':k'");
	refuse("r200c0", "':u' and ':k'");
	refuse("r4000c0", "sets more than");
	refuse("r1000000c0", "");	/* bit 36 */
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

START_TEST(without_pfm)
{
	setenv("LIBPFM_FORCE_PMU", "no-such-processor", 1);
	parse_one("cycles");
	parse_one("r01d1");
	refuse("INST_RETIRED:ANY_P", "unknown event");
}
END_TEST

/* ---- modes ---------------------------------------------------------------------- */

START_TEST(kernel_not_allowed)
{
	const struct event *ev;

	info.features &= ~VPERFCTR_FEATURE_KERNEL;
	ev = parse_one("cycles");
	ck_assert(ev->user && !ev->kernel);
	ck_assert_str_eq(ev->name, "cycles:u");
	ck_assert(events.user_by_default);
	/* Who has asked for it is not told that it was left out. */
	ev = parse_one("cycles:u");
	ck_assert(ev->user && !ev->kernel);
	ck_assert(!events.user_by_default);
	ev = parse_one("MEM_LOAD_RETIRED:L1_HIT");
	ck_assert(ev->user && !ev->kernel);
	ck_assert_str_eq(ev->name, "MEM_LOAD_RETIRED:L1_HIT:u");
	refuse("cycles:k", "cycles:k: kernel mode");
	refuse("cycles:uk", "CAP_PERFMON");
	refuse("MEM_LOAD_RETIRED:L1_HIT:k=1", "CAP_PERFMON");
}
END_TEST

START_TEST(not_available)
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
	ck_assert_msg(!assign(&events, &info, ctr, &error), "%s", error.text);
}

static void assign_fails(const char *spec, const char *because)
{
	memset(&events, 0, sizeof(events));
	ck_assert_int_eq(events_parse(&events, spec, &info, &error), 0);
	ck_assert_int_eq(assign(&events, &info, ctr, &error), -1);
	ck_assert_msg(strstr(error.text, because), "'%s' not in '%s'", because, error.text);
}

static void check_ctr(unsigned int i, uint32_t map, uint64_t evntsel)
{
	ck_assert_msg(ctr[i].map == map && ctr[i].evntsel == evntsel,
		      "counter %u: map %x evntsel %llx", i, ctr[i].map,
		      (unsigned long long)ctr[i].evntsel);
	ck_assert_uint_eq(ctr[i].reserved | ctr[i].aux | ctr[i].ireset, 0);
}

START_TEST(fixed_first)
{
	assign_ok("branches,cycles:k,instructions:u,ref-cycles,branch-misses:u");
	check_ctr(0, 0, 0x4300c4);
	check_ctr(1, VPERFCTR_FIXED + 1, 1);
	check_ctr(2, VPERFCTR_FIXED + 0, 2);
	check_ctr(3, VPERFCTR_FIXED + 2, 3);
	check_ctr(4, 1, 0x4100c5);
}
END_TEST

START_TEST(fixed_once)
{
	/* One event in two modes: the second takes a general counter ... */
	assign_ok("cycles:u,cycles:k");
	check_ctr(0, VPERFCTR_FIXED + 1, 2);
	check_ctr(1, 0, 0x42003c);
	/* ... and makes room for one that cannot. */
	assign_ok("ref-cycles:u,r0300:k");
	check_ctr(0, 0, 0x41013c);
	check_ctr(1, VPERFCTR_FIXED + 2, 1);
	assign_fails("r0300:u,r0300:k", "no room for r0300:k");
}
END_TEST

START_TEST(no_fixed)
{
	info.fixed_mask = 0;
	info.nrctrs = 4;
	/* Counter 1 is not there. */
	info.pmc_mask = 0x1d;
	assign_ok("instructions:u,cycles,ref-cycles,branches:k");
	check_ctr(0, 0, 0x4100c0);
	check_ctr(1, 2, 0x43003c);
	check_ctr(2, 3, 0x43013c);
	check_ctr(3, 4, 0x4200c4);
}
END_TEST

START_TEST(no_room)
{
	assign_ok("r01d1,r02d1,r04d1,r08d1,cycles,instructions,ref-cycles");
	check_ctr(3, 3, 0x4308d1);
	assign_fails("r01d1,r02d1,r04d1,r08d1,cycles,r10d1,r20d1:u,instructions",
		     "4 general and 3 fixed counters, 7 at once; no room for r10d1, r20d1:u");
	/* Fewer at once than there are */
	info.nrctrs = 2;
	assign_ok("r01d1,cycles");
	assign_fails("r01d1,r02d1,r04d1", "no room for r04d1");
	/* The message has an end even if the list has none. */
	memset(&events, 0, sizeof(events));
	while (events.nr < VPERFCTR_MAX_CTRS)
		events_parse(&events, "MEM_LOAD_RETIRED:L1_HIT", &info, &error);
	ck_assert_int_eq(assign(&events, &info, ctr, &error), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "..."));
}
END_TEST

START_TEST(no_counters)
{
	info.nrctrs = 0;
	info.pmc_mask = info.fixed_mask = 0;
	info.arch_events = 0;
	refuse("cycles", "cannot count");
	assign_fails("r01d1", "(Fake) has no counters");
	memset(&events, 0, sizeof(events));
	events_default(&events, &info);
	ck_assert_uint_eq(events.nr, 0);
	ck_assert_int_eq(assign(&events, &info, ctr, &error), 0);
}
END_TEST

START_TEST(defaults)
{
	unsigned int i;

	events_default(&events, &info);
	ck_assert_uint_eq(events.nr, 7);
	ck_assert_int_eq(assign(&events, &info, ctr, &error), 0);

	/* What does not fit is left out, and what comes after it is not. */
	memset(&events, 0, sizeof(events));
	info.pmc_mask = 0x1;
	info.nrctrs = 4;
	events_default(&events, &info);
	ck_assert_uint_eq(events.nr, 4);
	for (i = 0; i < 4; i++)
		ck_assert_str_eq(events.ev[i].name,
				 ((const char *[]){ "instructions", "cycles", "branches",
						    "ref-cycles" })[i]);

	memset(&events, 0, sizeof(events));
	info.arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_BRANCH_MISSES;
	events_default(&events, &info);
	ck_assert_uint_eq(events.nr, 2);
	ck_assert_str_eq(events.ev[1].name, "branch-misses");
}
END_TEST

/* ---- messages -------------------------------------------------------------------------- */

START_TEST(watchdog)
{
	char file[] = "/tmp/perfex-watchdog-XXXXXX";
	int fd = mkstemp(file);

	ck_assert_int_eq(write(fd, "1\n", 2), 2);
	fail_control(&error, -EBUSY, false, file);
	ck_assert_ptr_nonnull(strstr(error.text, "sysctl kernel.nmi_watchdog=0"));
	ck_assert_int_eq(pwrite(fd, "0\n", 2, 0), 2);
	fail_control(&error, -EBUSY, false, file);
	ck_assert_ptr_null(strstr(error.text, "watchdog"));
	ck_assert_ptr_nonnull(strstr(error.text, "perf_event holds"));
	close(fd);
	unlink(file);
	fail_control(&error, -EBUSY, false, file);
	ck_assert_ptr_nonnull(strstr(error.text, "perf_event holds"));
}
END_TEST

START_TEST(messages)
{
	ck_assert_int_eq(fail_device(&error, -ENODEV), -1);
	ck_assert_ptr_nonnull(strstr(error.text, "modprobe vperfctr"));
	ck_assert_int_eq(error.status, 125);
	fail_device(&error, -EACCES);
	ck_assert_ptr_nonnull(strstr(error.text, "group"));
	fail_device(&error, -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(error.text, "version"));
	fail_device(&error, -EMFILE);
	ck_assert_ptr_nonnull(strstr(error.text, "Too many open files"));
	fail_control(&error, -EPERM, false, "");
	ck_assert_ptr_nonnull(strstr(error.text, ":u"));
	fail_control(&error, -EINVAL, false, "");
	ck_assert_ptr_nonnull(strstr(error.text, "raw codes"));
	fail_control(&error, -EINVAL, true, "");
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

START_TEST(separators)
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

static void print(const struct result *r)
{
	static char *argv[] = { "prog", "-x", "a b", NULL };
	FILE *f = fmemopen(printed, sizeof(printed), "w");

	print_result(f, argv, &events, &info, r);
	fclose(f);
}

static void expect(const char *text)
{
	ck_assert_msg(strstr(printed, text), "no '%s' in:\n%s", text, printed);
}

START_TEST(table)
{
	struct result r = {
		.counted = true, .elapsed = 1.5, .tsc = 1000000000,
		.pmc = { 3000000, 2000000, 200, 5, 12 },
	};

	events_parse(&events, "instructions,cycles,branches:u,branch-misses:u", &info, &error);
	events_parse(&events, "MEM_LOAD_RETIRED:L1_HIT:u", &info, &error);
	print(&r);
	ck_assert_str_eq(printed,
		"\n"
		" Counts of 'prog -x a b' (its first thread, user and kernel mode unless marked :u or :k):\n"
		"\n"
		"           3,000,000  instructions               # 1.50 per cycle\n"
		"           2,000,000  cycles\n"
		"                 200  branches:u\n"
		"                   5  branch-misses:u            # 2.50% of branches\n"
		"                  12  MEM_LOAD_RETIRED:L1_HIT:u\n"
		"\n"
		"         0.500000000  seconds thread time\n"
		"         1.500000000  seconds elapsed\n"
		"\n");
}
END_TEST

/* Instructions of one mode and cycles of another have no ratio; nor has zero. */
START_TEST(no_ratio)
{
	struct result r = { .counted = true, .tsc = 1, .pmc = { 3, 2, 0 } };

	events_parse(&events, "instructions:u,cycles", &info, &error);
	print(&r);
	ck_assert_ptr_null(strchr(printed, '#'));
	events_parse(&events, "cycles:u", &info, &error);
	print(&r);
	ck_assert_ptr_null(strchr(printed, '#'));
	r.pmc[2] = 6;
	print(&r);
	expect("# 0.50 per cycle");
	memset(&events, 0, sizeof(events));
	events_parse(&events, "instructions:k,cycles", &info, &error);
	print(&r);
	ck_assert_ptr_null(strchr(printed, '#'));
}
END_TEST

START_TEST(header)
{
	struct result r = { .counted = true, .tsc = 1 };

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

START_TEST(times)
{
	struct result r = { .counted = true, .tsc = 1234567 };

	info.tsc_khz = 0;
	print(&r);
	expect("           1,234,567  tsc cycles of the thread\n");
	info.tsc_khz = 1000;	/* 1.234567 s */
	print(&r);
	expect("         1.234567000  seconds thread time\n");
	/* Others were there too: more than clocks can differ by */
	r.usage.ru_utime.tv_sec = 3;
	r.usage.ru_stime.tv_usec = 234567;
	print(&r);
	expect("# 2.000 s of other threads and children are not counted\n");
	r.usage.ru_utime.tv_sec = 1;
	print(&r);
	ck_assert_ptr_null(strchr(printed, '#'));
}
END_TEST

START_TEST(not_counted)
{
	struct result r = { .counted = false, .elapsed = 1, .pmc = { 77 } };

	events_parse(&events, "cycles", &info, &error);
	print(&r);
	expect("       <not counted>  cycles\n");
	expect("       <not counted>  seconds thread time\n");
	ck_assert_ptr_null(strstr(printed, "77"));
}
END_TEST

START_TEST(verbose)
{
	char buf[256];
	FILE *f = fmemopen(buf, sizeof(buf), "w");

	assign_ok("cycles:u,OFFCORE_RESPONSE_0:DMND_DATA_RD:ANY_RESPONSE");
	print_control(f, &events, ctr);
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
	expect("interface       1.0\n");
	expect("processor       Fake (type 1)\n");
	expect("kernel (you may count kernel mode), 0x8000 (newer than this perfex)\n");
	expect("tsc             2000.000 MHz\n");
	expect("counters        7 at once\n");
	expect("general         4, 48 bits wide: 0-3\n");
	expect("fixed           2, 48 bits wide: 0,2\n");
	expect("CPUs            0-3,32,63-64\n");
	expect("forbidden CPUs  4-31,33-62,65-95\n");
	ck_assert_ptr_null(strstr(printed, "kind of CPU"));

	fake.nrkinds = 2;
	fake.info.pmc_mask = fake.info.fixed_mask = 0;
	fake.info.arch_events = fake.info.tsc_khz = 0;
	fake.fail[FAKE_CPUS] = EFAULT;
	info_text();
	expect("kind of CPU     0 of 2\n");
	expect("kind of CPU     1 of 2\n");
	expect("general         none\n");
	expect("generic events  none\n");
	expect("rate not known");
	expect("CPUs            not known: Bad address\n");

	/* Another interface: what can be told, and the error */
	fake.info.abi_version = 0x20001;
	info_text();
	expect("interface       2.1\n");
	expect("perfex expects  1.0\n");
	ck_assert_ptr_null(strstr(printed, "processor"));
	ck_assert_ptr_nonnull(strstr(error.text, "interface version"));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-parts");
	TCase *t = tcase_create("parts");

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, name, 0, ARRAY_SIZE(names));
	tcase_add_test(t, two_registers);
	tcase_add_test(t, several);
	tcase_add_test(t, bad_names);
	tcase_add_test(t, long_names);
	tcase_add_test(t, too_many_names);
	tcase_add_test(t, without_pfm);
	tcase_add_test(t, kernel_not_allowed);
	tcase_add_test(t, not_available);
	tcase_add_test(t, fixed_first);
	tcase_add_test(t, fixed_once);
	tcase_add_test(t, no_fixed);
	tcase_add_test(t, no_room);
	tcase_add_test(t, no_counters);
	tcase_add_test(t, defaults);
	tcase_add_test(t, watchdog);
	tcase_add_test(t, messages);
	tcase_add_test(t, separators);
	tcase_add_test(t, table);
	tcase_add_test(t, no_ratio);
	tcase_add_test(t, header);
	tcase_add_test(t, times);
	tcase_add_test(t, not_counted);
	tcase_add_test(t, verbose);
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
