// SPDX-License-Identifier: GPL-2.0
/* Detection: perfctr_cpu_info for what CPUID may report. */
#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

static const unsigned int widths[] = { 32, 40, 48, 64 };

static int probe(const struct model_config *config)
{
	model_init(config);
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	perfctr_cpu_sampling_ns = 0;
	return perfctr_x86_intel.probe();
}

/* The maximum has all bits below the sign; without full-width writes, the sign is bit 31. */
static void check_max_period(const struct model_config *config)
{
	unsigned int width = config->pmc_width;

	if (model_exists() >> 32)
		width = min(width, config->fixed_width);
	if (config->no_full_write || config->no_capabilities)
		width = 32;
	ck_assert_uint_eq(perfctr_cpu_info.max_period,
			  config->no_apic ? 0 : (1ULL << (width - 1)) - 1);
}

static void check_info(const struct model_config *config)
{
	const struct vperfctr_info *info = &perfctr_cpu_info;
	u64 exists = model_exists();
	u64 fixed = exists >> 32;

	ck_assert_uint_eq(info->cpu_type, VPERFCTR_CPU_INTEL_ARCH);
	ck_assert_uint_eq(info->nrkinds, 1);
	ck_assert_uint_eq(info->tsc_khz, tsc_khz);
	ck_assert_uint_eq(info->pmc_mask, (u32)exists);
	ck_assert_uint_eq(info->fixed_mask, fixed);
	ck_assert_uint_eq(info->pmc_width, config->pmc_width);
	ck_assert_uint_eq(info->fixed_width, fixed ? config->fixed_width : 0);
	ck_assert_uint_eq(info->nrctrs, hweight64(exists));
	ck_assert_uint_eq(info->arch_events,
			  ~config->events_absent & 0x7f & ((1U << config->nr_events) - 1));
	ck_assert_uint_eq(info->features,
			  VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
			  (model.new_perf && perfctr_isolate ? 0 : VPERFCTR_FEATURE_CPUS) |
			  (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0) |
			  (config->no_apic ? 0 : VPERFCTR_FEATURE_PCINT));
	check_max_period(config);
	ck_assert_ptr_nonnull(memchr(info->cpu_name, 0, sizeof(info->cpu_name)));
	ck_assert_int_eq(info->cpu_name[strlen(info->cpu_name) - 1], '0' + config->version);
}

/* Narrow counters must be sampled before they can wrap around. */
static void check_sampling(const struct model_config *config)
{
	unsigned int width = config->pmc_width;

	if (model_exists() >> 32)
		width = min(width, config->fixed_width);
	if (width >= 48) {
		ck_assert_uint_eq(perfctr_cpu_sampling_ns, 0);
	} else {
		ck_assert_uint_gt(perfctr_cpu_sampling_ns, 1000000);
		/* At most 16 events per cycle, and 6 cycles per nanosecond; the timer may be late. */
		ck_assert_uint_le(perfctr_cpu_sampling_ns * 96, 1ULL << (width - 1));
	}
}

static void check_widths(unsigned int version, unsigned int nr_pmcs, unsigned int nr_fixed)
{
	unsigned int w, fw;

	for (w = 0; w < ARRAY_SIZE(widths); w++) {
		for (fw = 0; fw < ARRAY_SIZE(widths); fw++) {
			struct model_config config = {
				.version = version, .nr_pmcs = nr_pmcs, .pmc_width = widths[w],
				.nr_fixed = nr_fixed, .fixed_width = widths[fw],
				.nr_events = random_below(12), .events_absent = random_u64(),
				.no_apic = one_in(3), .no_full_write = one_in(3),
				.no_capabilities = one_in(3),
			};

			perfctr_isolate = fw & 1;
			ck_assert_int_eq(probe(&config), 0);
			check_info(&config);
			check_sampling(&config);
		}
	}
}

START_TEST(versions_counts_widths)
{
	unsigned int version, nr_pmcs, nr_fixed;

	random_restart(__LINE__);
	for (version = 1; version <= 5; version++) {
		for (nr_pmcs = 1; nr_pmcs <= 8; nr_pmcs++) {
			for (nr_fixed = 0; nr_fixed <= 4; nr_fixed++)
				check_widths(version, nr_pmcs, nr_fixed);
		}
	}
}
END_TEST

START_TEST(no_counters)
{
	struct model_config config = usual_config(3);

	config.version = 0;
	ck_assert_int_eq(probe(&config), -ENODEV);
	config = usual_config(3);
	config.nr_pmcs = 0;
	ck_assert_int_eq(probe(&config), -ENODEV);
}
END_TEST

START_TEST(no_leaf)
{
	struct model_config config = usual_config(3);

	model_init(&config);
	model.max_leaf = 9;
	ck_assert_int_eq(perfctr_x86_intel.probe(), -ENODEV);
	model.max_leaf = 0xa;
	ck_assert_int_eq(perfctr_x86_intel.probe(), 0);
	model.pv_guest = true;
	ck_assert_int_eq(perfctr_x86_intel.probe(), -ENODEV);
}
END_TEST

/* The counters of version 6 may need to be claimed, because they cannot be reserved. */
START_TEST(version_6)
{
	struct model_config config = usual_config(6);

	ck_assert_int_eq(probe(&config), 0);
	check_info(&config);
	model.new_perf = true;
	ck_assert_int_eq(perfctr_x86_intel.probe(), -ENODEV);
	ck_assert_int_eq(perfctr_x86_intel_v6.probe(), 0);
	check_info(&config);
	config.version = model.config.version = 5;
	ck_assert_int_eq(perfctr_x86_intel.probe(), 0);
	ck_assert_int_eq(perfctr_x86_intel_v6.probe(), 0);
	/* They are claimed only beside the NMI watchdog. */
	ck_assert_int_eq(perfctr_x86_intel_v6.begin(0), -ENODEV);
	ck_assert_uint_eq(fake_perf.found, 0);
	config.version = model.config.version = 1;
	ck_assert_int_eq(perfctr_x86_intel_v6.probe(), -ENODEV);
}
END_TEST

START_TEST(impossible_widths)
{
	static const unsigned int bad[] = { 0, 8, 31, 65, 255 };
	struct model_config config = usual_config(3);

	config.pmc_width = bad[_i];
	ck_assert_int_eq(probe(&config), -ENODEV);

	/* Without the fixed counters, the general ones are used. */
	config = usual_config(3);
	config.fixed_width = bad[_i];
	ck_assert_int_eq(probe(&config), 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_width, 0);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 4);
}
END_TEST

START_TEST(more_than_eight)
{
	static const unsigned int numbers[] = { 9, 10, 16, 255 };
	struct model_config config = usual_config(4);

	config.nr_pmcs = numbers[_i];
	ck_assert_int_eq(probe(&config), 0);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, numbers[_i] > 9 ? 0x3ff : 0x1ff);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, (numbers[_i] > 9 ? 10 : 9) + 3);
}
END_TEST

/* Core 2's CPUID may hide the fixed counters.  A hypervisor's CPUID is believed. */
START_TEST(hidden)
{
	struct model_config config = usual_config(2 + _i);

	config.pmc_width = config.fixed_width = 40;
	config.hides_fixed = true;
	ck_assert_int_eq(probe(&config), 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0x7);
	check_info(&config);
	model.guest = true;
	ck_assert_int_eq(perfctr_x86_intel.probe(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0);
	config.nr_fixed = 0;
	ck_assert_int_eq(probe(&config), 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0);
}
END_TEST

START_TEST(holes)
{
	static const struct {
		unsigned int version, nr_fixed;
		u32 ecx, mask;
	} cases[] = {
		{ 5, 3, 0x0007, 0x0007 },
		{ 5, 3, 0x0000, 0x0007 },
		{ 5, 0, 0x0005, 0x0005 },
		{ 5, 1, 0x0084, 0x0085 },
		{ 5, 2, 0x00ff, 0x00ff },
		{ 6, 2, 0xffff, 0x00ff },	/* without a field in the control register */
		{ 4, 2, 0xffff, 0x0003 },	/* no mask before version 5 */
	};
	struct model_config config = usual_config(cases[_i].version);

	config.nr_fixed = cases[_i].nr_fixed;
	config.fixed_mask = cases[_i].ecx;
	ck_assert_int_eq(probe(&config), 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, cases[_i].mask);
	check_info(&config);
}
END_TEST

/* Registers that CPUID promises, but a hypervisor may not provide. */
static const u32 promised[] = {
	0x186, 0x187, 0x189, 0x0c1, 0x0c4, 0x309, 0x30b, 0x38d, 0x38e, 0x38f, 0x390,
};

START_TEST(promised_but_absent)
{
	struct model_config config = usual_config(2);

	ck_assert_int_eq(probe(&config), 0);
	model.absent_msr = promised[_i];
	ck_assert_int_eq(perfctr_x86_intel.probe(), -ENODEV);
}
END_TEST

/* Version 6: a counter need not have a register at its old address.  The others have. */
START_TEST(counter_without_old_address)
{
	static const u32 absent[] = { 0x188, 0x0c3, 0x4c3, 0x30b };
	struct model_config config = usual_config(6);

	config.nr_events = 7;
	model_init(&config);
	model.absent_msr = absent[_i];
	ck_assert_int_eq(perfctr_x86_intel.probe(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, _i < 3 ? 0xb : 0xf);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, _i < 3 ? 0x7 : 0x3);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 6);
	model.absent_msr = 0x38d;
	ck_assert_int_eq(perfctr_x86_intel.probe(), -ENODEV);
}
END_TEST

/* A driver that rejects the processor leaves no values for the driver that is used. */
START_TEST(rejected_is_forgotten)
{
	struct model_config config = usual_config(2);

	config.pmc_width = 32;
	model_init(&config);
	model.absent_msr = promised[0];
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 0);
	ck_assert_msg(!perfctr_cpu_sampling_ns, "counters that are not used must be sampled");
	machine_exit();
}
END_TEST

/* An AMD guest whose registers ignore writes has no counters.  Those in use are not touched. */
START_TEST(amd_guest)
{
	struct model_config config = usual_config(1);

	config.amd = MODEL_AMD_K7;
	config.pmc_width = 48;
	config.signature = 0x100f42;	/* family 10h */
	config.ignores_writes = !_i;
	model_init(&config);
	model.guest = true;
	model.cpu[0].pmc[0] = _i ? 12345 : 0;
	model.cpu[0].evntsel[0] = _i == 2 ? SEL_EN | SEL_USR | 0xc0 : 0;
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type,
			  _i ? VPERFCTR_CPU_AMD : VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, _i ? 4 : 0);
	ck_assert_uint_eq(model.cpu[0].pmc[0], _i ? 12345 : 0);
	/* The driver beside the watchdog tries them, too. */
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), _i == 2 ? 0 : 4);
	machine_exit();
}
END_TEST

Suite *probe_suite(void)
{
	Suite *suite = suite_create("probe");
	TCase *tc = tcase_create("probe");

	tcase_add_test(tc, versions_counts_widths);
	tcase_add_test(tc, no_counters);
	tcase_add_test(tc, no_leaf);
	tcase_add_test(tc, version_6);
	tcase_add_loop_test(tc, impossible_widths, 0, 5);
	tcase_add_loop_test(tc, more_than_eight, 0, 4);
	tcase_add_loop_test(tc, hidden, 0, 3);
	tcase_add_loop_test(tc, holes, 0, 7);
	tcase_add_loop_test(tc, counter_without_old_address, 0, 4);
	tcase_add_loop_test(tc, promised_but_absent, 0, ARRAY_SIZE(promised));
	tcase_add_test(tc, rejected_is_forgotten);
	tcase_add_loop_test(tc, amd_guest, 0, 3);
	suite_add_tcase(suite, tc);
	return suite;
}
