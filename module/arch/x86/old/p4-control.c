// SPDX-License-Identifier: GPL-2.0
/*
 * Pentium 4: detection, the check of controls, and the test of the counters.
 *
 * A counter's evntsel is its CCCR, and its aux is the ESCR that the CCCR selects.  The
 * control's global words are IA32_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT, for replay tagging.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/printk.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "regs.h"
#include "x86.h"
#include "p4.h"

#define MISC_PERF_AVAIL		BIT_ULL(7)

/* ESCR select, active thread, compare, complement, threshold, edge, FORCE_OVF, PMI, cascade. */
#define CCCR_ALLOWED		(P4_CCCR_ENABLE | 0x47ffe000ULL)

/* T0_USR, T0_OS, tag enable and value, event mask, event; neither T1_USR nor T1_OS. */
#define ESCR_ALLOWED		0x7ffffffcULL

#define PEBS_UOP_TAG		BIT_ULL(24)
#define PEBS_METRICS		0x607ULL

/* The processor's model, and true if a core has two threads. */
static unsigned int cpu_model;
static bool has_threads;

/* ---- which ESCR, and which event ------------------------------------------- */

#define NONE	0xff

/*
 * The ESCRs of the counters 0 to 3, 4 to 7, 8 to 11 and 12 to 17, by ESCR select.  Each
 * second pair of counters has the ESCRs that follow these.
 */
static const u8 escrs[4][8] = {
	{ 0x12, 0x14, 0x0a, 0x16, 0x0c, 0x28, 0x02, 0x00 },
	{ 0x20, 0x24, 0x22, NONE, NONE, NONE, NONE, NONE },
	{ 0x06, 0x04, 0x0e, 0x10, NONE, 0x08, NONE, NONE },
	{ 0x1a, 0x2a, 0x1c, 0x1e, 0x18, 0x2c, 0x40, NONE },
};

#define IQ_ESCR0	0x1a	/* this and the next one: models 0 to 2 only */
#define SSU_ESCR0	0x1e	/* has no next one */

static unsigned int block_of(unsigned int counter)
{
	return min(counter / 4, 3U);
}

static bool is_in_second_pair(unsigned int counter)
{
	return counter < 16 ? counter & 2 : counter == 17;
}

static unsigned int select_of(u64 cccr)
{
	return (cccr >> 13) & 7;
}

unsigned int perfctr_p4_escr(unsigned int counter, u64 cccr)
{
	unsigned int escr = escrs[block_of(counter)][select_of(cccr)];

	if (escr == NONE || (escr == IQ_ESCR0 && cpu_model > 2) ||
	    (escr == SSU_ESCR0 && is_in_second_pair(counter)))
		return P4_NR_ESCRS;
	return escr + is_in_second_pair(counter);
}

/*
 * True if the event happens in a core, and not in one of its threads: the counter counts those
 * of the other thread, too.  The SDM marks these events as thread independent, and Linux's perf
 * as shared.
 */
static bool counts_both_threads(unsigned int counter, const struct vperfctr_ctr *ctr)
{
	static const struct {
		u8 block, select, event;
	} events[] = {
		{ 0, 4, 0x01 },		/* page_walk_type */
		{ 0, 6, 0x17 },		/* FSB_data_activity */
		{ 1, 1, 0x01 },		/* TC_deliver_mode */
		{ 2, 5, 0x05 },		/* WC_Buffer */
		{ 2, 1, 0x34 },		/* SSE_input_assist */
		{ 2, 1, 0x08 },		/* packed_SP_uop, and so on */
		{ 2, 1, 0x0c },
		{ 2, 1, 0x0a },
		{ 2, 1, 0x0e },
		{ 2, 1, 0x02 },
		{ 2, 1, 0x1a },
		{ 2, 1, 0x04 },
		{ 2, 1, 0x2e },
	};
	unsigned int event = (ctr->aux >> 25) & 0x3f, i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		if (events[i].block == block_of(counter) &&
		    events[i].select == select_of(ctr->evntsel) && events[i].event == event)
			return true;
	}
	return false;
}

/*
 * SDM, "Cascading Counters" and "Extended Cascading": the counters of a block are two pairs,
 * and a counter starts the one at its place in the other pair.  Counters 16 and 17 start
 * others by extended cascading only.
 */
u32 perfctr_p4_initiators(unsigned int counter, u64 cccr)
{
	u32 mask = 0;

	if ((cccr & P4_CCCR_CASCADE) && counter < 16)
		mask |= BIT(counter ^ 2);
	if (cccr & P4_CCCR_EXT_CASCADE)
		mask |= BIT(counter == 12 || counter == 17 ? 16 : 17);
	return mask;
}

/* ---- control ---------------------------------------------------------------- */

static u64 allowed_cccr(unsigned int counter)
{
	bool iq = counter == 12 || counter >= 15;

	return CCCR_ALLOWED | (cpu_model >= 2 && iq ? P4_CCCR_EXT_CASCADE : 0);
}

/*
 * True if bits 16 and 17 are valid.  In a core with two threads, they say how many of these must
 * be active, and "none" would count nothing.  In a core with one, the SDM requires both bits.
 */
static bool is_valid_thread(u64 cccr)
{
	return has_threads ? cccr & P4_CCCR_THREADS :
			     (cccr & P4_CCCR_THREADS) == P4_CCCR_THREADS;
}

/* True if the counter can have this ireset.  A forced overflow happens at each event. */
static bool is_valid_ireset(const struct vperfctr_ctr *ctr, bool imode)
{
	if (ctr->evntsel & P4_CCCR_FORCE_OVF)
		return imode && perfctr_cpu_info.max_period && ctr->ireset == -1;
	return perfctr_is_valid_ireset(ctr->ireset, imode);
}

/* True if an earlier counter needs another value in this ESCR. */
static bool escr_differs(const struct perfctr_cpu_control *control, unsigned int i)
{
	const struct vperfctr_ctr *ctr = control->ctr;
	unsigned int j, escr = perfctr_p4_escr(p4_counter(ctr[i].map), ctr[i].evntsel);

	for (j = 0; j < i; j++) {
		if (perfctr_p4_escr(p4_counter(ctr[j].map), ctr[j].evntsel) == escr &&
		    ctr[j].aux != ctr[i].aux)
			return true;
	}
	return false;
}

static int check_counter(struct perfctr_cpu_control *control, unsigned int i)
{
	struct vperfctr_ctr *ctr = &control->ctr[i];
	unsigned int n = p4_counter(ctr->map);
	bool imode = i >= control->nractrs;
	u64 cccr = ctr->evntsel;

	if (n >= P4_NR_COUNTERS)
		return -EINVAL;
	n = array_index_nospec(n, P4_NR_COUNTERS);
	ctr->map = n | (ctr->map & P4_FAST);
	if ((control->regs.global_ctrl & BIT_ULL(n)) || (cccr & ~allowed_cccr(n)) ||
	    (ctr->aux & ~ESCR_ALLOWED))
		return -EINVAL;
	if (!(cccr & P4_CCCR_ENABLE) && !perfctr_p4_initiators(n, cccr))
		return -EINVAL;
	if (!is_valid_thread(cccr) || !is_valid_ireset(ctr, imode) ||
	    (!imode && (cccr & P4_CCCR_PMI)))
		return -EINVAL;
	/* By an erratum of most models, a cascaded counter raises no interrupt. */
	if (imode && p4_is_cascaded(cccr))
		return -EINVAL;
	if (perfctr_p4_escr(n, cccr) == P4_NR_ESCRS || escr_differs(control, i) ||
	    !(ctr->aux & (P4_ESCR_USR | P4_ESCR_OS)))
		return -EINVAL;
	if (ctr->aux & P4_ESCR_OS)
		control->kernel = true;
	if (has_threads && counts_both_threads(n, ctr))
		control->alone = true;
	control->regs.global_ctrl |= BIT_ULL(n);
	if (p4_is_cascaded(cccr))
		control->regs.extra_used |= BIT(i);
	return 0;
}

/*
 * True if each cascaded counter can start when the thread has counted a period of another
 * counter.  An a-mode counter would overflow at any time, as it is never set to a value.
 */
static bool are_cascades_complete(const struct perfctr_cpu_control *control)
{
	u32 initiators = 0;
	unsigned int i;

	for (i = control->nractrs; i < perfctr_nrctrs(control); i++)
		initiators |= BIT(p4_counter(control->ctr[i].map));
	for (i = 0; i < control->nractrs; i++) {
		const struct vperfctr_ctr *ctr = &control->ctr[i];

		if (p4_is_cascaded(ctr->evntsel) &&
		    !(perfctr_p4_initiators(p4_counter(ctr->map), ctr->evntsel) & initiators))
			return false;
	}
	return true;
}

/* True if the global words are valid.  Replay tagging needs both; PEBS itself is refused. */
static bool is_valid_global(const struct perfctr_cpu_control *control)
{
	u64 enable = control->global[0], vert = control->global[1];

	if (!enable || !perfctr_nrctrs(control))
		return !enable && !vert;
	return (enable & PEBS_UOP_TAG) && (enable & PEBS_METRICS) &&
	       !(enable & ~(PEBS_UOP_TAG | PEBS_METRICS)) && vert && vert <= 3;
}

int perfctr_p4_check_control(struct perfctr_cpu_control *control)
{
	unsigned int i;
	int err;

	if (!perfctr_cpu_kind(control->kind) || !is_valid_global(control))
		return -EINVAL;
	control->kernel = false;
	control->alone = false;
	memset(&control->regs, 0, sizeof(control->regs));
	for (i = 0; i < perfctr_nrctrs(control); i++) {
		err = check_counter(control, i);
		if (err)
			return err;
	}
	if (!are_cascades_complete(control))
		return -EINVAL;
	control->mask = perfctr_nrctrs(control) ? perfctr_x86_low_bits(perfctr_cpu_info.pmc_width) :
						  ~0ULL;
	return 0;
}

/* ---- detection -------------------------------------------------------------- */

/* True if this is one of the models 0 to 6 of family 15, the only ones.  Sets `cpu_model`. */
static bool is_p4(void)
{
	u32 max, eax, ebx, ecx, edx;

	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	if (ebx != 0x756e6547 || edx != 0x49656e69 || ecx != 0x6c65746e)
		return false;
	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	cpu_model = (eax >> 4) & 0xf;
	/* The extended family and model are 0. */
	return ((eax >> 8) & 0xf) == 15 && !(eax & 0x0fff0000) && cpu_model <= 6;
}

#define CPUID_1_EDX_HTT		BIT(28)
#define CPUID_LEAF_CORES	4

/* Return the number of APIC ids of a core, and this CPU's place among them. */
static unsigned int count_threads(unsigned int *place)
{
	u32 max, eax, ebx, ecx, edx, id, threads, cores = 1;

	perfctr_cpuid(0, &max, &ebx, &ecx, &edx);
	perfctr_cpuid(1, &eax, &ebx, &ecx, &edx);
	threads = edx & CPUID_1_EDX_HTT ? (ebx >> 16) & 0xff : 1;
	id = ebx >> 24;
	if (max >= CPUID_LEAF_CORES) {
		perfctr_cpuid(CPUID_LEAF_CORES, &eax, &ebx, &ecx, &edx);
		cores = (eax >> 26) + 1;
	}
	threads = threads > cores ? threads / cores : 1;
	*place = id % threads;
	return threads;
}

bool perfctr_p4_is_usable(void)
{
	unsigned int place;

	count_threads(&place);
	return !place;
}

static bool registers_exist(void)
{
	unsigned int i, escr, select;

	for (i = 0; i < P4_NR_COUNTERS; i++) {
		if (!perfctr_x86_readable(P4_MSR_COUNTER0 + i) ||
		    !perfctr_x86_readable(P4_MSR_CCCR0 + i))
			return false;
		for (select = 0; select < 8; select++) {
			escr = perfctr_p4_escr(i, P4_CCCR_SELECT(select));
			if (escr < P4_NR_ESCRS && !perfctr_x86_readable(P4_MSR_ESCR0 + escr))
				return false;
		}
	}
	return perfctr_x86_readable(P4_MSR_GLOBAL0) && perfctr_x86_readable(P4_MSR_GLOBAL0 + 1);
}

/* True if there are counters: hypervisors call processors a Pentium 4 that have none. */
static bool has_counters(void)
{
	u64 misc;

	return !perfctr_rdmsr_safe(P4_MSR_MISC_ENABLE, &misc) && (misc & MISC_PERF_AVAIL) &&
	       registers_exist();
}

/*
 * The width that the module uses.  Counters have 40 bits.  But if a counter is stopped in the
 * very cycle of a carry into bit 32, the carry is lost (erratum N17 of the Pentium 4's
 * specification update, O9 of the Xeon's).  The low 32 bits are right.
 */
#define WIDTH	32

int perfctr_p4_probe(void)
{
	struct vperfctr_info *info = &perfctr_cpu_info;
	unsigned int place;

	if (perfctr_is_pv_guest() || perfctr_is_hybrid() || !is_p4() || !has_counters())
		return -ENODEV;
	has_threads = count_threads(&place) > 1;
	info->cpu_type = VPERFCTR_CPU_INTEL_P4;
	info->pmc_mask = perfctr_x86_low_bits(P4_NR_COUNTERS);
	info->nrctrs = P4_NR_COUNTERS;
	info->pmc_width = WIDTH;
	info->nrkinds = 1;
	info->tsc_khz = tsc_khz;
	info->features = VPERFCTR_FEATURE_RDPMC | VPERFCTR_FEATURE_RDTSC |
			 VPERFCTR_FEATURE_CPUS | (perfctr_isolate ? VPERFCTR_FEATURE_ISOLATE : 0);
	info->arch_events = VPERFCTR_EVENT_CYCLES | VPERFCTR_EVENT_INSTRUCTIONS |
			    VPERFCTR_EVENT_BRANCHES | VPERFCTR_EVENT_BRANCH_MISSES;
	perfctr_cpu_sampling_ns = perfctr_sampling_ns(WIDTH);
	if (perfctr_has_lvtpc()) {
		info->features |= VPERFCTR_FEATURE_PCINT;
		info->max_period = BIT_ULL(WIDTH - 1) - 1;
		info->min_period = 2;	/* as on other processors: see pmc-control.c */
	}
	strscpy(info->cpu_name, has_threads ? "Intel Pentium 4, hyper-threads" : "Intel Pentium 4",
		sizeof(info->cpu_name));
	return 0;
}

/* ---- self-test -------------------------------------------------------------- */

#define MIN_EVENTS	100	/* see selftest.c */

static int write_all_cccrs(u64 value)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < P4_NR_COUNTERS; i++)
		err |= perfctr_wrmsr_safe(P4_MSR_CCCR0 + i, value);
	return err;
}

static bool counter_holds(unsigned int i, u64 value)
{
	u64 mask = perfctr_x86_low_bits(40), now;

	return !perfctr_wrmsr_safe(P4_MSR_COUNTER0 + i, value & mask) &&
	       !perfctr_rdpmc_safe(i, &now) && !((now ^ value) & mask);
}

/*
 * Find an event that happens now: instr_retired on counters 12 to 17, and
 * global_power_events on the first four.
 *
 * Return: false if none is known for the counter.  perf leaves counter 1 alone, because it
 * is said to be broken.
 */
static bool find_event(unsigned int i, u64 *cccr, u64 *escr)
{
	*cccr = P4_CCCR_ENABLE | P4_CCCR_THREADS | P4_CCCR_SELECT(i >= 12 ? 4 : 6);
	*escr = P4_ESCR_OS | (i >= 12 ? P4_ESCR_EVENT(2, 1) : P4_ESCR_EVENT(0x13, 1));
	return i >= 12 || (i < 4 && i != 1);
}

/* True if the counter counts, or no event is known that it should count now. */
static bool counter_counts(unsigned int i)
{
	u64 cccr, escr, now = 0;

	if (!find_event(i, &cccr, &escr))
		return true;
	perfctr_wrmsr_safe(P4_MSR_ESCR0 + perfctr_p4_escr(i, cccr), escr);
	perfctr_wrmsr_safe(P4_MSR_CCCR0 + i, cccr);
	perfctr_pass_time();
	perfctr_wrmsr_safe(P4_MSR_CCCR0 + i, 0);
	perfctr_rdpmc_safe(i, &now);
	return now >= MIN_EVENTS;
}

int perfctr_p4_selftest(void)
{
	const char *failure = NULL;
	unsigned int i;

	if (write_all_cccrs(0)) {
		pr_warn("CPU %u: counters' control registers cannot be written\n",
			smp_processor_id());
		return -EIO;
	}
	for (i = 0; i < P4_NR_COUNTERS && !failure; i++) {
		if (!counter_holds(i, -2) || !counter_holds(i, 0))
			failure = "does not hold what it is set to";
		else if (!counter_counts(i))
			failure = "does not count";
	}
	if (!failure)
		return 0;
	pr_warn("CPU %u: counter %#x %s\n", smp_processor_id(), i - 1, failure);
	return -EIO;
}
