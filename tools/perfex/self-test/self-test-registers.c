// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --self-test: what the processor says about its counters, and what is in their
 * registers.  Intel SDM volume 3, "Architectural Performance Monitoring" and volume 4;
 * AMD64 Architecture Programmer's Manual volume 2, "Performance Monitoring Counters", and
 * volume 3, CPUID functions 8000_0001H and 8000_0022H.
 *
 * Other architectures have no driver that lets user mode read such registers.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "checks.h"

#define EVNTSEL_EN	(1ULL << 22)

int read_msr(unsigned int cpu, uint32_t address, uint64_t *value)
{
	char name[4096];
	ssize_t len;
	int fd, err;

	snprintf(name, sizeof(name), "%s/dev/cpu/%u/msr", facts_root, cpu);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = pread(fd, value, sizeof(*value), address);
	err = len < 0 ? -errno : len != sizeof(*value) ? -EIO : 0;
	close(fd);
	return err;
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

struct leaf {
	uint32_t leaf, subleaf;
	unsigned int eax, ebx, ecx, edx;
};

/* Read a leaf of CPUID.  Return: false if this CPU has no such leaf. */
static bool get_leaf(uint32_t leaf, uint32_t subleaf, struct leaf *l)
{
	l->leaf = leaf;
	l->subleaf = subleaf;
	return __get_cpuid_count(leaf, subleaf, &l->eax, &l->ebx, &l->ecx, &l->edx);
}

static bool is_amd(const struct self_test *t)
{
	return t->kind[0].cpu_type == VPERFCTR_CPU_AMD;
}

/* ---- CPUID -------------------------------------------------------------------- */

struct reported {
	uint64_t general, fixed;
	unsigned int width;		/* 0: not reported */
};

static void read_intel(struct reported *r)
{
	struct leaf l;

	memset(r, 0, sizeof(*r));
	if (!get_leaf(0xa, 0, &l) || !(l.eax & 0xff))
		return;
	r->general = (1ULL << (l.eax >> 8 & 0xff)) - 1;
	r->width = l.eax >> 16 & 0xff;
	/* Bits 0 to 4 of EDX are a number; from version 5 on ECX is a mask besides. */
	r->fixed = (l.eax & 0xff) >= 2 ? ((1ULL << (l.edx & 0x1f)) - 1) | l.ecx : 0;
	/*
	 * Versions 2 to 4 without a hypervisor have three fixed counters even where the
	 * leaf, as that of the Core 2, does not say so.
	 */
	if ((l.eax & 0xff) >= 2 && (l.eax & 0xff) < 5 && get_leaf(1, 0, &l) &&
	    !(l.ecx & (1U << 31)))
		r->fixed |= 7;
	if (get_leaf(0x23, 0, &l) && (l.eax & 2) && get_leaf(0x23, 1, &l)) {
		r->general = l.eax;
		r->fixed = l.ebx;
	}
}

static void read_amd(struct reported *r)
{
	struct leaf l;

	memset(r, 0, sizeof(*r));
	r->width = 48;
	if (get_leaf(0x80000022, 0, &l) && (l.eax & 1))
		r->general = (1ULL << (l.ebx & 0xf)) - 1;
	else if (get_leaf(0x80000001, 0, &l) && (l.ecx & (1U << 23)))
		r->general = 0x3f;
	else
		r->general = 0xf;
}

static void compare_cpuid(struct self_test *t, const struct vperfctr_info *kind, unsigned int cpu)
{
	struct reported r;

	if (is_amd(t))
		read_amd(&r);
	else
		read_intel(&r);
	if ((kind->pmc_mask & ~r.general) || (kind->fixed_mask & ~r.fixed))
		fail_check(t, "CPU %u: the module uses counters %#" PRIx64 " and fixed %#" PRIx64 ", and CPUID reports %#" PRIx64 " and %#" PRIx64 " only",
			   cpu, (uint64_t)kind->pmc_mask, (uint64_t)kind->fixed_mask, r.general,
			   r.fixed);
	if (r.width && kind->pmc_width != r.width)
		fail_check(t, "CPU %u: the module's counters have %u bits, CPUID's have %u", cpu,
			   kind->pmc_width, r.width);
}

static enum outcome check_cpuid(struct self_test *t)
{
	const struct vperfctr_info *kind = &t->kind[0];

	if (!kind->nrctrs)
		return skipped(t, "the module does not use the counters of this processor (%.*s)",
			       (int)sizeof(kind->cpu_name), kind->cpu_name);
	if (kind->cpu_type != VPERFCTR_CPU_INTEL_ARCH && !is_amd(t))
		return skipped(t, "CPUID does not report the counters of this processor (%.*s)",
			       (int)sizeof(kind->cpu_name), kind->cpu_name);
	on_each_cpu(t, compare_cpuid);
	return passed(t, "%u CPUs: %d general and %d fixed counters, as CPUID reports",
		      nr_usable(t), __builtin_popcountll(kind->pmc_mask),
		      __builtin_popcountll(kind->fixed_mask));
}

/* ---- registers -------------------------------------------------------------------- */

static bool is_family_15h_or_later(void)
{
	struct leaf l;

	return get_leaf(0x80000001, 0, &l) && (l.ecx & (1U << 23));
}

static bool find_amd_register(const struct vperfctr_info *kind, unsigned int i, struct msr *msr)
{
	const uint64_t general = kind->pmc_mask | kind->watchdog_pmc;
	const unsigned int nr = 64 - (unsigned int)__builtin_clzll(general | 1);
	struct leaf l;

	if (i < nr) {
		snprintf(msr->name, sizeof(msr->name), "PERF_CTL%u", i);
		msr->address = is_family_15h_or_later() ? 0xc0010200 + 2 * i : 0xc0010000 + i;
		/* The counter that the NMI watchdog keeps may be enabled. */
		msr->idle = kind->watchdog_pmc >> i & 1 ? 0 : EVNTSEL_EN;
		return true;
	}
	if (!get_leaf(0x80000022, 0, &l) || !(l.eax & 1))
		return false;
	switch (i - nr) {
	case 0:
		strcpy(msr->name, "PerfCntrGlobalStatus");
		msr->address = 0xc0000300;
		msr->counting = ~kind->watchdog_pmc;
		return true;
	case 1:
		strcpy(msr->name, "PerfCntrGlobalCtl");
		msr->address = 0xc0000301;
		return true;
	default:
		return false;
	}
}

/* The counter that the NMI watchdog keeps may be enabled, and may have overflowed. */
static void leave_to_watchdog(const struct vperfctr_info *kind, unsigned int i, struct msr *msr)
{
	unsigned int fixed;

	switch (msr->address) {
	case 0x38d:
		for (fixed = 0; fixed < 8; fixed++)
			if (kind->watchdog_fixed >> fixed & 1)
				msr->idle &= ~(0xfULL << 4 * fixed);
		break;
	case 0x38e:
		msr->counting &= ~(kind->watchdog_pmc | kind->watchdog_fixed << 32);
		break;
	default:
		if (msr->address == 0x186 + i && kind->watchdog_pmc >> i & 1)
			msr->idle = 0;
	}
}

static bool find_intel_register(const struct vperfctr_info *kind, unsigned int i, struct msr *msr)
{
	static const struct msr others[] = {
		{ 0x38d, "IA32_FIXED_CTR_CTRL", .idle = 0x33333333 },
		/* The module clears bits that others left there. */
		{ 0x38e, "IA32_PERF_GLOBAL_STATUS", .counting = ~0ULL },
		{ 0x38f, "IA32_PERF_GLOBAL_CTRL", .idle = 0 },
		/* This one also shows event selects that are not enabled, so it proves nothing. */
		{ 0x392, "IA32_PERF_GLOBAL_INUSE", .idle = 0 },
		/* Freezes at an interrupt, and branch trace messages. */
		{ 0x1d9, "IA32_DEBUGCTL", .idle = 0x18c0, .counting = 0x1800 },
		{ 0x3f1, "IA32_PEBS_ENABLE", .idle = ~0ULL, .counting = ~0ULL },
		{ 0x570, "IA32_RTIT_CTL", .idle = 1 },
		/* For the report only. */
		{ 0x345, "IA32_PERF_CAPABILITIES", .idle = 0 },
		{ 0x309, "IA32_FIXED_CTR0", .idle = 0 },
		{ 0x30a, "IA32_FIXED_CTR1", .idle = 0 },
		{ 0x30b, "IA32_FIXED_CTR2", .idle = 0 },
		/* LVTPC, where the interrupt controller has its registers as MSRs. */
		{ 0x834, "IA32_X2APIC_LVT_PMI", .idle = 0 },
	};
	const uint64_t general = kind->pmc_mask | kind->watchdog_pmc;
	const unsigned int nr = 64 - (unsigned int)__builtin_clzll(general | 1);

	if (i < nr) {
		snprintf(msr->name, sizeof(msr->name), "IA32_PERFEVTSEL%u", i);
		msr->address = 0x186 + i;
		msr->idle = EVNTSEL_EN;
	} else if (i - nr < ARRAY_SIZE(others)) {
		*msr = others[i - nr];
	} else if (i - nr - ARRAY_SIZE(others) < nr) {
		snprintf(msr->name, sizeof(msr->name), "IA32_PMC%u", i - nr - (unsigned int)ARRAY_SIZE(others));
		msr->address = 0xc1 + i - nr - (unsigned int)ARRAY_SIZE(others);
	} else {
		return false;
	}
	leave_to_watchdog(kind, i, msr);
	return true;
}

/* Find register i of the P6: Intel SDM volume 4, "MSRs in the P6 Family Processors". */
static bool find_p6_register(unsigned int i, struct msr *msr)
{
	if (i >= 2)
		return false;
	snprintf(msr->name, sizeof(msr->name), "PerfEvtSel%u", i);
	msr->address = 0x186 + i;
	msr->idle = EVNTSEL_EN;
	return true;
}

/* Find register i of the Pentium 4: the same, "MSRs in the Pentium 4 and Intel Xeon Processors". */
static bool find_p4_register(unsigned int i, struct msr *msr)
{
	if (i >= 18)
		return false;
	snprintf(msr->name, sizeof(msr->name), "CCCR %u", i);
	msr->address = 0x360 + i;
	msr->idle = 1U << 12;		/* enable */
	msr->counting = 1U << 31;	/* overflow */
	return true;
}

/* Fill in the i-th register that matters.  Return: false if there are no more. */
static bool find_register(const struct self_test *t, unsigned int i, struct msr *msr)
{
	memset(msr, 0, sizeof(*msr));
	switch (t->kind[0].cpu_type) {
	case VPERFCTR_CPU_INTEL_ARCH:
		return find_intel_register(&t->kind[0], i, msr);
	case VPERFCTR_CPU_AMD:
		return find_amd_register(&t->kind[0], i, msr);
	case VPERFCTR_CPU_INTEL_P6:
		return find_p6_register(i, msr);
	case VPERFCTR_CPU_INTEL_P4:
		return find_p4_register(i, msr);
	default:
		return false;
	}
}

static void require_msrs(struct self_test *t)
{
	struct msr msr;
	uint64_t value;
	int err;

	if (!find_register(t, 0, &msr))
		skip_check(t, "no registers of this processor are known (%.*s)",
			   (int)sizeof(t->kind[0].cpu_name), t->kind[0].cpu_name);
	err = read_msr((unsigned int)sched_getcpu(), msr.address, &value);
	if (err == -ENOENT || err == -ENXIO)
		skip_check(t, "the registers cannot be read: load the msr driver (modprobe msr)");
	if (err)
		skip_check(t, "the registers cannot be read: /dev/cpu/*/msr: %s", strerror(-err));
}

/* True if a bit of the mask is set in the register; some registers do not exist. */
static bool is_busy(unsigned int cpu, const struct msr *msr, uint64_t mask, uint64_t *value)
{
	return mask && !read_msr(cpu, msr->address, value) && (*value & mask);
}

static void look_before(struct self_test *t, const struct vperfctr_info *kind, unsigned int cpu)
{
	struct msr msr;
	uint64_t value;
	unsigned int i;

	(void)kind;
	for (i = 0; find_register(t, i, &msr); i++)
		if (is_busy(cpu, &msr, msr.idle, &value))
			fail_check(t, "CPU %u: %s is %#" PRIx64 " before vperfctr counts: something else uses the counters (perf, the NMI watchdog, a profiler, or firmware)",
				   cpu, msr.name, value);
}

static enum outcome check_idle(struct self_test *t)
{
	require_msrs(t);
	on_each_cpu(t, look_before);
	return passed(t, "nothing uses the counters of %u CPUs%s", nr_usable(t),
		      t->kind[0].watchdog_pmc | t->kind[0].watchdog_fixed ?
		      ", but the NMI watchdog that which it keeps" : "");
}

static void look_while_counting(struct self_test *t, const struct vperfctr_info *kind,
				unsigned int cpu)
{
	struct counting c;
	struct msr msr;
	uint64_t value;
	unsigned int i;

	init_counting(&c, kind);
	add_instructions(t, kind, &c);
	start_counting(t, &c);
	for (i = 0; find_register(t, i, &msr); i++)
		if (is_busy(cpu, &msr, msr.counting, &value))
			fail_check(t, "CPU %u: %s is %#" PRIx64 " while vperfctr counts", cpu,
				   msr.name, value);
	stop_counting(&c);
}

static enum outcome check_status(struct self_test *t)
{
	require_msrs(t);
	on_each_cpu(t, look_while_counting);
	return passed(t, "no overflow, freeze or other status is left on %u CPUs", nr_usable(t));
}

/* The register that enables all counters, as it is while a thread counts. */
static enum outcome check_steady(struct self_test *t)
{
	const struct vperfctr_info *kind;
	const unsigned int cpu = pin_to_first(t, &kind);
	uint64_t first, now;
	struct counting c;
	unsigned int i;
	struct msr msr;

	require_msrs(t);
	for (i = 0; find_register(t, i, &msr); i++)
		if (strstr(msr.name, "GLOBAL_CTRL") || strstr(msr.name, "GlobalCtl"))
			break;
	if (!*msr.name || read_msr(cpu, msr.address, &first))
		return skipped(t, "this processor has no register that enables all counters");
	init_counting(&c, kind);
	add_instructions(t, kind, &c);
	start_counting(t, &c);
	if (read_msr(cpu, msr.address, &first))
		return skipped(t, "the register cannot be read");
	for (i = 0; i < 100; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
		known_loop(10000);
		if (!read_msr(cpu, msr.address, &now) && now != first)
			return failed(t, "%s changed from %#" PRIx64 " to %#" PRIx64 " while a thread counted",
				      msr.name, first, now);
	}
	stop_counting(&c);
	return passed(t, "%s stayed %#" PRIx64 " for a second", msr.name, first);
}

/* Each bit of a second register, alone: those that the module takes must not fault. */
static enum outcome check_second(struct self_test *t)
{
	/* OFFCORE_RSP_0 and _1; of Atoms and Golden Cove too; FRONTEND. */
	static const struct {
		uint32_t code, address;
	} events[] = {
		{ 0x01b7, 0x1a6 }, { 0x01bb, 0x1a7 }, { 0x02b7, 0x1a7 }, { 0x012a, 0x1a6 },
		{ 0x012b, 0x1a7 }, { 0x01c6, 0x3f7 }, { 0x03c6, 0x3f7 },
	};
	const struct vperfctr_info *kind;
	const unsigned int cpu = pin_to_first(t, &kind);
	unsigned int i, bit, nr = 0, nr_read = 0;
	struct counting c;
	uint64_t value;
	int err;

	if (kind->cpu_type != VPERFCTR_CPU_INTEL_ARCH)
		return skipped(t, "no event of this processor needs a second register");
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		for (bit = 0; bit < 64; bit++) {
			init_counting(&c, kind);
			add_counter(&c, (struct vperfctr_ctr){ .evntsel = 0x410000 | events[i].code,
							      .aux = 1ULL << bit }, 0);
			err = vperfctr_open(&c.v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
			if (!err)
				err = vperfctr_control(c.v, &c.control);
			if (err && err != -EINVAL)
				return failed(t, "event %#x with %#" PRIx64 ": %s", events[i].code,
					      (uint64_t)1 << bit, strerror(-err));
			if (!err) {
				known_loop(1000);
				read_count(t, &c, 0, NULL);
				nr++;
			}
			if (!err && !read_msr(cpu, events[i].address, &value)) {
				if (value != 1ULL << bit)
					return failed(t, "event %#x: register %#x is %#" PRIx64 ", not %#" PRIx64,
						      events[i].code, events[i].address, value,
						      (uint64_t)1 << bit);
				nr_read++;
			}
			stop_counting(&c);
		}
	}
	if (!nr)
		return skipped(t, "the module knows no second register of this processor");
	if (!nr_read)
		require_msrs(t);
	return passed(t, "%u single bits of second registers were counted with, and %u read back", nr,
		      nr_read);
}

/* ---- the report -------------------------------------------------------------------- */

/* The CPUID leaves of the CPU on which perfex runs. */
static void describe_cpuid(FILE *f, unsigned int cpu)
{
	static const uint32_t leaves[][2] = {
		{ 0, 0 }, { 1, 0 }, { 6, 0 }, { 7, 0 }, { 0xa, 0 }, { 0xb, 0 }, { 0xb, 1 },
		{ 0x14, 0 }, { 0x14, 1 }, { 0x1a, 0 }, { 0x1f, 0 }, { 0x1f, 1 }, { 0x1f, 2 },
		{ 0x23, 0 }, { 0x23, 1 }, { 0x23, 2 }, { 0x23, 3 }, { 0x23, 4 }, { 0x23, 5 },
		{ 0x40000000, 0 }, { 0x80000001, 0 }, { 0x80000008, 0 }, { 0x80000021, 0 },
		{ 0x80000022, 0 },
	};
	struct leaf l;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(leaves); i++) {
		l = (struct leaf){ .leaf = leaves[i][0] };
		/* get_leaf() looks at the greatest leaf of the processor, which is not a hypervisor's. */
		if (l.leaf == 0x40000000)
			__cpuid(l.leaf, l.eax, l.ebx, l.ecx, l.edx);
		else if (!get_leaf(leaves[i][0], leaves[i][1], &l))
			continue;
		fprintf(f, "cpuid\tCPU %u\t%#x\t%u\t%08x\t%08x\t%08x\t%08x\n", cpu, leaves[i][0],
			leaves[i][1], l.eax, l.ebx, l.ecx, l.edx);
	}
}

const struct check register_checks[] = {
	CHECK("cpuid", "CPUID reports the counters that the module uses", check_cpuid),
	CHECK("idle", "nothing else uses the counters", check_idle),
	CHECKS_END
};

const struct check counting_register_checks[] = {
	CHECK("status", "no status is left while the module counts", check_status),
	CHECK("steady", "nothing else changes the enabling register", check_steady),
	CHECK("second", "each bit of a second register can be set", check_second),
	CHECKS_END
};

#else

static void describe_cpuid(FILE *f, unsigned int cpu)
{
	(void)f;
	(void)cpu;
}

static bool find_register(const struct self_test *t, unsigned int i, struct msr *msr)
{
	(void)t, (void)i, (void)msr;
	return false;
}

const struct check register_checks[] = { CHECKS_END };
const struct check counting_register_checks[] = { CHECKS_END };
#endif

uint64_t enabling_register(const struct self_test *t, unsigned int cpu)
{
	uint64_t value;
	struct msr msr;
	unsigned int i;

	for (i = 0; find_register(t, i, &msr); i++)
		if ((strstr(msr.name, "GLOBAL_CTRL") || strstr(msr.name, "GlobalCtl")) &&
		    !read_msr(cpu, msr.address, &value))
			return value;
	return 0;
}

static void describe_kind(FILE *f, const struct vperfctr_info *k)
{
	fprintf(f, "kind\t%u\t%.*s\ttype %u\tfeatures %#x\tarch_events %#x\tpmc %#" PRIx64 " %u bits\tfixed %#" PRIx64 " %u bits\tmax_period %" PRIu64 "\tmin_period %" PRIu64 "\n",
		k->kind, (int)sizeof(k->cpu_name), k->cpu_name, k->cpu_type, k->features,
		k->arch_events, (uint64_t)k->pmc_mask, k->pmc_width, (uint64_t)k->fixed_mask,
		k->fixed_width, (uint64_t)k->max_period, (uint64_t)k->min_period);
}

/* The first CPU of a kind on which counters can be used; CPU_SETSIZE if there is none. */
static unsigned int first_of(const struct self_test *t, unsigned int kind)
{
	unsigned int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &t->usable[kind]); cpu++)
		;
	return cpu;
}

/* Leaves differ between the kinds of a hybrid processor, so that each one is asked. */
static void describe_each_cpuid(const struct self_test *t, FILE *f)
{
	cpu_set_t affinity, one;
	unsigned int kind, cpu;

	if (sched_getaffinity(0, sizeof(affinity), &affinity))
		return;
	for (kind = 0; kind < t->nrkinds; kind++) {
		cpu = first_of(t, kind);
		/* Without a usable CPU, the leaves of this one may say why. */
		if (cpu == CPU_SETSIZE && t->nrkinds == 1)
			cpu = (unsigned int)sched_getcpu();
		CPU_ZERO(&one);
		if (cpu < CPU_SETSIZE)
			CPU_SET(cpu, &one);
		if (!sched_setaffinity(0, sizeof(one), &one))
			describe_cpuid(f, cpu);
	}
	sched_setaffinity(0, sizeof(affinity), &affinity);
}

void describe_machine(const struct self_test *t, FILE *f)
{
	unsigned int i;

	self_test_facts(f);
	fprintf(f, "module\t%.*s\n", (int)sizeof(t->kind[0].driver_version),
		t->kind[0].driver_version);
	for (i = 0; i < t->nrkinds; i++)
		describe_kind(f, &t->kind[i]);
	fprintf(f, "cpus\t%u\n", nr_usable(t));
	describe_each_cpuid(t, f);
}

static void describe_cpu_registers(const struct self_test *t, FILE *f, const char *when,
				   unsigned int cpu)
{
	struct msr msr;
	uint64_t value;
	unsigned int i;

	for (i = 0; find_register(t, i, &msr); i++)
		if (!read_msr(cpu, msr.address, &value))
			fprintf(f, "register\t%s\tCPU %u\t%s\t%#" PRIx64 "\n", when, cpu,
				msr.name, value);
}

void describe_registers(const struct self_test *t, FILE *f, const char *when)
{
	unsigned int kind, cpu;

	/* One CPU of each kind. */
	for (kind = 0; kind < t->nrkinds; kind++) {
		cpu = first_of(t, kind);
		if (cpu < CPU_SETSIZE)
			describe_cpu_registers(t, f, when, cpu);
	}
}

void describe_failure(const struct self_test *t, FILE *f, const char *check, int cpu)
{
	if (cpu >= 0)
		describe_cpu_registers(t, f, check, (unsigned int)cpu);
}
