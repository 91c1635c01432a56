// SPDX-License-Identifier: GPL-2.0
/* perfex -i: the module, and what it found. */
#include <errno.h>
#include <stdlib.h>

#include "perfex.h"

struct flag_name {
	uint32_t flag;
	const char *name;
};

static const struct flag_name features[] = {
	{ VPERFCTR_FEATURE_RDPMC, "rdpmc (user-mode reads)" },
	{ VPERFCTR_FEATURE_RDTSC, "rdtsc" },
	{ VPERFCTR_FEATURE_PCINT, "pcint (overflow interrupts)" },
	{ VPERFCTR_FEATURE_INHERIT, "inherit (children)" },
	{ VPERFCTR_FEATURE_ISOLATE, "isolate" },
	{ VPERFCTR_FEATURE_KERNEL, "kernel (you may count kernel mode)" },
	{ VPERFCTR_FEATURE_ANY_KIND, "any-kind (one control for all kinds of CPUs)" },
	{ VPERFCTR_FEATURE_INHERIT_IMODE, "inherit-imode (samples of children)" },
	{ VPERFCTR_FEATURE_RECORDS, "records (mappings and threads beside samples)" },
	{ VPERFCTR_FEATURE_CLOCK, "clock (samples by thread time)" },
	{ VPERFCTR_FEATURE_CPUS, "cpus (whole CPUs can be counted)" },
	{ VPERFCTR_FEATURE_SPREAD, "spread (threads shorter than a period have samples)" },
	{ 0, NULL }
};

static const struct flag_name arch_events[] = {
	{ VPERFCTR_EVENT_CYCLES, "cycles" },
	{ VPERFCTR_EVENT_INSTRUCTIONS, "instructions" },
	{ VPERFCTR_EVENT_REF_CYCLES, "ref-cycles" },
	{ VPERFCTR_EVENT_CACHE_REFS, "cache-references" },
	{ VPERFCTR_EVENT_CACHE_MISSES, "cache-misses" },
	{ VPERFCTR_EVENT_BRANCHES, "branches" },
	{ VPERFCTR_EVENT_BRANCH_MISSES, "branch-misses" },
	{ 0, NULL }
};

static void print_label(FILE *f, const char *label)
{
	fprintf(f, "%-16s", label);
}

static void print_flags(FILE *f, const char *label, uint32_t flags, const struct flag_name *names)
{
	const char *separator = "";

	print_label(f, label);
	for (; names->name; names++) {
		if (!(flags & names->flag))
			continue;
		fprintf(f, "%s%s", separator, names->name);
		separator = ", ";
		flags &= ~names->flag;
	}
	if (flags)
		fprintf(f, "%s0x%x (newer than this perfex)", separator, flags);
	else if (!*separator)
		fputs("none", f);
	fputc('\n', f);
}

/* Print "0-3,8"; bit() is true if i is in the set. */
static void print_ranges(FILE *f, unsigned int nbits, bool (*bit)(const void *, unsigned int),
			 const void *set)
{
	const char *separator = "";
	unsigned int i, last;

	for (i = 0; i < nbits; i++) {
		if (!bit(set, i))
			continue;
		for (last = i; last + 1 < nbits && bit(set, last + 1); last++)
			;
		fprintf(f, last > i ? "%s%u-%u" : "%s%u", separator, i, last);
		separator = ",";
		i = last;
	}
	fputs(*separator ? "" : "none", f);
}

static bool mask64_bit(const void *set, unsigned int i)
{
	return *(const uint64_t *)set >> i & 1;
}

void print_bits(FILE *f, uint64_t mask)
{
	print_ranges(f, 64, mask64_bit, &mask);
}

static bool cpu_bit(const void *set, unsigned int i)
{
	const struct vperfctr_cpu_mask *mask = set;

	return mask->mask[i / 32] >> i % 32 & 1;
}

static void print_counters(FILE *f, const char *label, uint64_t mask, unsigned int width)
{
	print_label(f, label);
	if (!mask) {
		fputs("none\n", f);
		return;
	}
	fprintf(f, "%d, %u bits wide: ", __builtin_popcountll(mask), width);
	print_bits(f, mask);
	fputc('\n', f);
}

/* err: what the call for the mask returned. */
static void print_mask(FILE *f, int err, struct vperfctr_cpu_mask *mask)
{
	if (err) {
		fprintf(f, "not known: %s", strerror(-err));
		return;
	}
	print_ranges(f, mask->nrwords * 32, cpu_bit, mask);
	free(mask);
}

static void print_cpus(FILE *f, const char *label, int (*get)(struct vperfctr_cpu_mask **))
{
	struct vperfctr_cpu_mask *mask;
	int err = get(&mask);

	print_label(f, label);
	print_mask(f, err, mask);
	fputc('\n', f);
}

void print_kind_cpus(FILE *f, uint32_t kind)
{
	struct vperfctr_cpu_mask *mask;
	int err = vperfctr_kind_cpus(&mask, kind);

	print_mask(f, err, mask);
}

static void print_version(FILE *f, const char *label, uint32_t version)
{
	print_label(f, label);
	fprintf(f, "%u.%u\n", version >> 16, version & 0xffff);
}

static void print_kind(FILE *f, const struct vperfctr_info *info)
{
	char period[THOUSANDS_LEN];

	if (info->nrkinds > 1) {
		print_label(f, "kind of CPU");
		fprintf(f, "%u (of 0-%u)%s%s\n", info->kind, info->nrkinds - 1,
			kind_name(info) ? ": " : "", kind_name(info) ? kind_name(info) : "");
		print_label(f, "CPUs of it");
		print_kind_cpus(f, info->kind);
		fputc('\n', f);
	}
	print_label(f, "processor");
	fprintf(f, "%.*s (type %u)\n", (int)sizeof(info->cpu_name), info->cpu_name,
		info->cpu_type);
	print_flags(f, "features", info->features, features);
	print_label(f, "tsc");
	if (info->tsc_khz)
		fprintf(f, "%u.%03u MHz\n", info->tsc_khz / 1000, info->tsc_khz % 1000);
	else
		fputs("rate not known\n", f);
	print_label(f, "counters");
	fprintf(f, "%u at once\n", info->nrctrs);
	print_counters(f, "general", info->pmc_mask, info->pmc_width);
	print_counters(f, "fixed", info->fixed_mask, info->fixed_width);
	if (info->watchdog_pmc | info->watchdog_fixed) {
		print_label(f, "NMI watchdog");
		fprintf(f, "keeps %s counter ", info->watchdog_fixed ? "fixed" : "general");
		print_bits(f, info->watchdog_fixed ? info->watchdog_fixed : info->watchdog_pmc);
		fputc('\n', f);
	}
	if (info->max_period) {
		print_label(f, "shortest period");
		fprintf(f, "%s\n", thousands(period, info->min_period));
		print_label(f, "longest period");
		fprintf(f, "%s\n", thousands(period, info->max_period));
	}
	print_flags(f, "generic events", info->arch_events, arch_events);
}

int info_print(FILE *f, struct error *e)
{
	struct vperfctr_info info = { 0 };
	uint32_t kind = 0;
	int err;

	do {
		err = vperfctr_info(&info, kind);
		if (!kind && (!err || err == -EPROTONOSUPPORT)) {
			print_label(f, "module");
			fprintf(f, "%.*s\n", (int)sizeof(info.driver_version),
				info.driver_version);
			print_version(f, "interface", info.abi_version);
			print_version(f, "perfex expects", VPERFCTR_ABI_VERSION);
		}
		if (err)
			return fail_device(e, err);
		print_kind(f, &info);
	} while (++kind < info.nrkinds);

	print_cpus(f, "CPUs", vperfctr_cpus);
	print_cpus(f, "forbidden CPUs", vperfctr_cpus_forbidden);
	return 0;
}
