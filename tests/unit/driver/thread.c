// SPDX-License-Identifier: GPL-2.0
#include "random.h"
#include "thread.h"

/* ---- the machine -------------------------------------------------------- */

void machine_start(const struct model_config *config, bool isolate)
{
	model_init(config);
	perfctr_isolate = isolate;
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_int_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_INTEL_ARCH);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	model_clear_statistics();
}

void machine_exit(void)
{
	perfctr_cpu_exit();
	fake_check_unloadable();
}

void machine_stop(void)
{
	perfctr_cpu_release();
	machine_exit();
}

struct model_config usual_config(unsigned int version)
{
	return (struct model_config) {
		.version = version,
		.nr_pmcs = 4,
		.pmc_width = version == 1 ? 40 : 48,
		.nr_fixed = version >= 2 ? 3 : 0,
		.fixed_width = version >= 2 ? 48 : 0,
		.fixed_mask = version >= 5 ? 0x7 : 0,
		.nr_events = 7,
		.no_any_thread = version >= 5,
	};
}

struct model_config random_config(unsigned int version)
{
	struct model_config config = {
		.version = version,
		.nr_pmcs = 1 + random_below(8),
		.pmc_width = 32 + random_below(33),
		.nr_events = 7,
		.no_any_thread = version >= 5,
	};

	if (version >= 2) {
		config.nr_fixed = random_below(5);
		config.fixed_width = 32 + random_below(33);
	}
	if (version >= 5)	/* with holes above the contiguous ones */
		config.fixed_mask = random_u64() & 0xffff;
	return config;
}

/* ---- controls ----------------------------------------------------------- */

void control_init(struct perfctr_cpu_control *control)
{
	/* What the driver derives must not depend on what was there. */
	memset(control, 0xa5, sizeof(*control));
	control->tsc_on = 1;
	control->nractrs = 0;
	control->nrictrs = 0;
	control->global[0] = 0;
	control->global[1] = 0;
}

void control_add(struct perfctr_cpu_control *control, u32 map, u64 evntsel)
{
	control->ctr[control->nractrs++] = (struct vperfctr_ctr) {
		.map = map, .evntsel = evntsel,
	};
}

static u64 random_evntsel(void)
{
	static const u16 events[] = { EV_INSTRUCTIONS, EV_CYCLES, EV_REF_CYCLES };
	u64 modes = one_in(3) ? SEL_OS : one_in(2) ? SEL_USR : SEL_USR | SEL_OS;

	if (one_in(3))		/* anything, with E, INV and CMASK */
		return SEL_EN | modes | (random_u64() & 0xff84ffff);
	return SEL_EN | modes | events[random_below(ARRAY_SIZE(events))];
}

/* Counters in random order, as nothing says that it matters. */
void random_control(struct perfctr_cpu_control *control)
{
	u64 left = model_exists();
	unsigned int nr = 1 + random_below(__builtin_popcountll(left));

	control_init(control);
	while (nr) {
		unsigned int i = random_below(64);

		if (!(left & BIT_ULL(i)))
			continue;
		left &= ~BIT_ULL(i);
		nr--;
		if (i < 32)
			control_add(control, i, random_evntsel());
		else
			control_add(control, VPERFCTR_FIXED | (i - 32), 1 + random_below(3));
	}
}

struct work random_work(u64 limit)
{
	return (struct work) {
		.kernel = one_in(2),
		.instructions = random_u64() % limit,
		.cycles = random_u64() % limit,
	};
}

/* ---- threads ------------------------------------------------------------ */

void thread_init(struct thread *t)
{
	memset(t, 0, sizeof(*t));
	t->state.page = &t->page;
	t->cpu = -1;
}

static u64 bit_of(u32 map)
{
	return map & VPERFCTR_FIXED ? GLOBAL_FIXED(map & ~VPERFCTR_FIXED) : BIT_ULL(map);
}

static u64 counters_of(const struct perfctr_cpu_control *control)
{
	u64 bits = 0;
	unsigned int i;

	for (i = 0; i < control->nractrs; i++)
		bits |= bit_of(control->ctr[i].map);
	return bits;
}

/* Any operation on the page of a thread, on that CPU. */
static void operate(struct thread *t, unsigned int cpu, void (*op)(struct perfctr_cpu_state *state),
		    bool irqs_off)
{
	u32 samplecount = t->page.samplecount;
	unsigned int old = model.cpu[cpu].redundant;

	fake_cpu = cpu;
	fake_irqs_off = irqs_off;
	op(&t->state);
	fake_irqs_off = false;

	require(t->page.samplecount != samplecount, "the samplecount has not changed");
	require(!(t->page.samplecount & 1), "the samplecount is odd");
	require(model.cpu[cpu].redundant == old, "a register was written what it held");
	require(!t->control.nractrs || VPERFCTR_CSTATUS_NRCTRS(t->page.cstatus) ==
		t->control.nractrs, "cstatus has another number of counters");
}

static void check_suspended(const struct thread *t)
{
	require(t->page.cstatus == t->state.cstatus, "cstatus is %#x", t->page.cstatus);
	require(!(t->page.cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC)),
		"suspended, and cstatus says it runs");
}

void thread_control(struct thread *t, const struct perfctr_cpu_control *control, u64 preserve)
{
	unsigned int old = t->control.nractrs, wrmsrs = model_wrmsrs(&model.cpu[fake_cpu]);
	u32 samplecount = t->page.samplecount;
	struct perfctr_cpu_control checked = *control;
	unsigned int i;

	require(t->cpu < 0, "a test changes the control of a thread that runs");
	ck_assert_int_eq(perfctr_cpu_check_control(&checked, true), 0);
	perfctr_cpu_update_control(&t->state, &checked, preserve);
	t->control = *control;
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++) {
		if (i >= control->nractrs || i >= old || !(preserve & BIT_ULL(i)))
			t->counted[i] = 0;
	}
	if (!control->tsc_on)
		t->tsc_counted = 0;

	check_suspended(t);
	require(t->page.samplecount != samplecount && !(t->page.samplecount & 1),
		"the samplecount is as it was, or odd");
	require(model_wrmsrs(&model.cpu[fake_cpu]) == wrmsrs,
		"a control that does not run was written to registers");
	thread_check(t);
}

/* The registers are what was asked for, bit by bit. */
static void check_loaded(const struct thread *t, const struct model_cpu *cpu)
{
	u64 counters = counters_of(&t->control), counting = model_counting(cpu);
	unsigned int i;

	for (i = 0; i < t->control.nractrs; i++) {
		u32 map = t->control.ctr[i].map, n = map & ~VPERFCTR_FIXED;
		u64 holds = map & VPERFCTR_FIXED ? cpu->fixed_ctrl >> (4 * n) & 0xf :
						   cpu->evntsel[map];

		require(holds == t->control.ctr[i].evntsel, "counter %#x holds %#llx, not %#llx",
			map, holds, t->control.ctr[i].evntsel);
	}
	require((counting & counters) == counters, "of counters %#llx only %#llx count",
		counters, counting & counters);
	/* TSC alone stops nothing: what others left running is theirs. */
	require(!perfctr_isolate || counting == counters, "%#llx count, and nobody wants them",
		counting & ~counters);
}

void thread_in(struct thread *t, unsigned int cpu)
{
	unsigned int saw = fake_saw_rdpmc;
	u32 running = t->state.cstatus | VPERFCTR_CSTATUS_RUNNING;

	require(t->cpu < 0 && fake_online[cpu], "a test runs a thread where it cannot");
	operate(t, cpu, perfctr_cpu_resume, false);
	t->cpu = cpu;
	if (model.user_rdpmc && t->control.nractrs)
		running |= VPERFCTR_CSTATUS_RDPMC;
	require(t->page.cstatus == running, "cstatus is %#x, not %#x", t->page.cstatus, running);
	require(fake_saw_rdpmc - saw == !!(running & VPERFCTR_CSTATUS_RDPMC),
		"RDPMC was seen %u times", fake_saw_rdpmc - saw);
	check_loaded(t, &model.cpu[cpu]);
}

void thread_out(struct thread *t)
{
	struct model_cpu *cpu = &model.cpu[t->cpu];
	unsigned int i;

	operate(t, t->cpu, perfctr_cpu_suspend, true);
	t->cpu = -1;
	if (!perfctr_isolate)
		return;
	require(!model_counting(cpu), "%#llx still count", model_counting(cpu));
	for (i = 0; fake_watched && i < t->control.nractrs; i++)
		require(!*model_counter(cpu, t->control.ctr[i].map),
			"something was left in counter %#x", t->control.ctr[i].map);
}

void thread_sample(struct thread *t)
{
	struct model_cpu *cpu = &model.cpu[t->cpu];
	unsigned int wrmsrs = model_wrmsrs(cpu);

	operate(t, t->cpu, perfctr_cpu_sample, true);
	require(model_wrmsrs(cpu) == wrmsrs, "sampling writes registers");
	check_loaded(t, cpu);
}

void thread_run(struct thread *t, const struct work *work)
{
	unsigned int i;

	fake_cpu = t->cpu;
	model_run(work);
	if (t->control.tsc_on)
		t->tsc_counted += work->cycles;
	for (i = 0; i < t->control.nractrs; i++)
		t->counted[i] += model_counts(t->control.ctr[i].map,
					      t->control.ctr[i].evntsel, work);
}

void thread_check(const struct thread *t)
{
	unsigned int i;

	require(t->page.tsc_sum == t->tsc_counted, "the TSC's sum is %llu, not %llu",
		t->page.tsc_sum, t->tsc_counted);
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++)
		require(t->page.ctr[i].sum == t->counted[i], "sum %u (map %#x) is %llu, not %llu",
			i, t->page.ctr[i].map, t->page.ctr[i].sum, t->counted[i]);
}

void stranger_run(unsigned int cpu, const struct work *work)
{
	fake_cpu = cpu;
	model_run(work);
}
