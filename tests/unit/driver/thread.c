// SPDX-License-Identifier: GPL-2.0
#include "regs.h"
#include "random.h"
#include "thread.h"
#include "x86.h"
#include "pmc.h"
#include "old/simple.h"
#include "old/p4.h"
#include "model-p4.h"

struct service service;

/* The threads whose overflow the CPU's irq_work must take. */
static struct thread *irq_work[NR_CPUS];

static struct thread *on_cpu[NR_CPUS];

static bool resuming;

static void overflow_handler(struct perfctr_cpu_state *state, struct pt_regs *regs);
static void refusal(struct perfctr_cpu_state *state);

/* ---- the machine -------------------------------------------------------- */

bool machine_has_generic_ops;

static const struct perfctr_cpu_ops generic_ops = {
	.suspend	= perfctr_x86_pmc_suspend,
	.resume		= perfctr_x86_pmc_resume,
	.sample		= perfctr_x86_pmc_sample,
};

void machine_use_service(void)
{
	service = (struct service) {};
	perfctr_cpu_set_ihandler(overflow_handler);
	perfctr_cpu_set_refusal(refusal);
}

bool machine_is_prepared(unsigned int cpu)
{
	return model_config()->p4 ? per_cpu_ptr(&perfctr_x86_p4_cpu, cpu)->prepared :
	       model_config()->old ? per_cpu_ptr(&perfctr_x86_simple_cpu, cpu)->ready :
				     per_cpu_ptr(&perfctr_x86_pmc_cpu, cpu)->ready;
}

void machine_prepare(void)
{
	unsigned int old_cpu = fake_cpu;

	for (fake_cpu = 0; fake_cpu < NR_CPUS; fake_cpu++) {
		if (fake_online[fake_cpu])
			ck_assert_int_eq(perfctr_cpu_prepare(), 0);
	}
	fake_cpu = old_cpu;
}

bool machine_exits;

void machine_start(const struct model_config *config, bool isolate)
{
	model_init(config);
	model.exits = machine_exits;
	machine_use_service();
	perfctr_isolate = isolate;
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	if (config->old)
		machine_has_generic_ops = true;
	else if (machine_has_generic_ops)
		ck_assert_int_eq(perfctr_driver_init(&generic_ops), 0);
	ck_assert_int_eq(perfctr_cpu_info.cpu_type, model_cpu_type());
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
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
		.signature = MODEL_CORE2,
	};
}

/* AMD's counters are general ones of 48 bits.  The second version has a global control. */
static void random_amd(struct model_config *config)
{
	if (config->version == 2)
		config->amd = MODEL_AMD_V2;
	else
		config->amd = one_in(2) ? MODEL_AMD_K7 : MODEL_AMD_CORE;
	config->nr_pmcs = config->amd == MODEL_AMD_K7 ? 4 : 6;
	config->pmc_width = 48;
	config->nr_fixed = 0;
	config->signature = config->amd == MODEL_AMD_V2 ? 0xa60f12 :	/* family 19h */
			    config->amd == MODEL_AMD_CORE ? 0x600f20 :	/* 15h */
			    one_in(2) ? 0x100f42 : 0x662;		/* 10h, 6 */
}

struct model_config random_config(unsigned int version)
{
	struct model_config config = {
		.version = version,
		.nr_pmcs = 1 + random_below(8),
		.pmc_width = 32 + random_below(33),
		.nr_events = 7,
		.no_any_thread = version >= 5,
		.signature = MODEL_CORE2,
	};

	if (version >= 2) {
		config.nr_fixed = random_below(5);
		config.fixed_width = 32 + random_below(33);
	}
	if (version >= 5)	/* with holes above the contiguous ones */
		config.fixed_mask = random_u64() & 0xffff;
	config.metrics = version >= 5 && one_in(2);
	if (one_in(2)) {
		const struct model_processor *p = &model_processors[random_below(MODEL_PROCESSORS)];

		config.signature = p->signature;
		config.extra = p->extra;
		config.no_extra = one_in(4) ? random_below(8) : 0;
	} else if (version <= 2 && one_in(2)) {
		random_amd(&config);
	}
	return config;
}

struct model_config old_config(enum model_old old)
{
	static const u32 signatures[] = {
		[MODEL_P6] = 0x673, [MODEL_P5] = 0x52c, [MODEL_P5MMX] = 0x543, [MODEL_MII] = 0x600,
		[MODEL_WINCHIP] = 0x541, [MODEL_C3] = 0x678,
	};

	return (struct model_config) {
		.old = old,
		.nr_pmcs = 2,
		.pmc_mask = old == MODEL_C3 ? BIT(1) : 0,
		.pmc_width = old == MODEL_C3 ? 32 : old == MODEL_MII ? 48 : 40,
		.no_capabilities = true,
		.no_masking = true,
		.signature = signatures[old],
	};
}

/* ---- controls ----------------------------------------------------------- */

void control_init(struct perfctr_cpu_control *control)
{
	/* The fields that the driver derives must not depend on their old values. */
	memset(control, 0xa5, sizeof(*control));
	control->tsc_on = model_has_tsc();
	control->nractrs = 0;
	control->nrictrs = 0;
	control->kind = 0;
	control->global[0] = 0;
	control->global[1] = 0;
	control->kinds = NULL;
}

void control_add(struct perfctr_cpu_control *control, u32 map, u64 evntsel)
{
	require(!control->nrictrs, "a test adds an a-mode counter after one in i-mode");
	control->ctr[control->nractrs++] = (struct vperfctr_ctr) {
		.map = map, .evntsel = evntsel,
	};
}

void control_add_imode(struct perfctr_cpu_control *control, u32 map, u64 evntsel, u64 period)
{
	control->ctr[control->nractrs + control->nrictrs++] = (struct vperfctr_ctr) {
		.map = map, .evntsel = evntsel, .ireset = -period,
	};
}

static u64 any_evntsel(void)
{
	static const u16 events[] = { EV_INSTRUCTIONS, EV_CYCLES, EV_REF_CYCLES };
	u64 modes = one_in(3) ? SEL_OS : one_in(2) ? SEL_USR : SEL_USR | SEL_OS;

	if (model_config()->old == MODEL_WINCHIP)
		return one_in(2) ? EV_INSTRUCTIONS : random_u64() & 0xff;
	if (model_has_cesr())
		return (random_u64() & (model_config()->old == MODEL_MII ? 0x53f : 0x13f)) | modes >> 10;
	if (model_config()->old == MODEL_C3)
		return random_u64() & 0x1ff;

	if (one_in(3))		/* anything, with E, INV and CMASK */
		return SEL_EN | modes | (random_u64() & 0xff84ffff);
	return SEL_EN | modes | events[random_below(ARRAY_SIZE(events))];
}

static u64 random_evntsel(void)
{
	u64 evntsel = any_evntsel();

	while (!model_counts_right(evntsel))
		evntsel = any_evntsel();
	if (model_has_event_high() && one_in(4) && model_counts_right(evntsel | 0x500000000))
		evntsel |= 0x500000000;
	return evntsel;
}

/*
 * Sometimes replace the event by one that needs an extra register, and set aux to the
 * control's value for that register.  If the value is not valid, use a plain event.
 */
static void complete_event(struct vperfctr_ctr *ctr, const u64 *values)
{
	const struct model_extra *extra = model_config()->extra;
	unsigned int n = 0;

	while (extra && extra[n].event)
		n++;
	if (n && one_in(4))
		ctr->evntsel = (ctr->evntsel & ~0xffffULL) | extra[random_below(n)].event;
	extra = model_find_extra(ctr->evntsel);
	if (!extra)
		return;
	/* Other events may use fewer bits of the same register. */
	ctr->aux = values[extra->reg] & extra->valid;
	if (!model_has_extra(extra) || !ctr->aux || ctr->aux != values[extra->reg]) {
		ctr->evntsel = USER(EV_INSTRUCTIONS);
		ctr->aux = 0;
	}
}

static void random_values(u64 *values)
{
	const struct model_extra *extra = model_config()->extra;

	memset(values, 0, MODEL_NR_EXTRA * sizeof(*values));
	for (; extra && extra->event; extra++) {
		if (one_in(2))
			values[extra->reg] = (one_in(2) ? random_u64() : 1ULL << random_below(64)) &
					     extra->valid;
	}
}

/* The counters are in random order: the interface allows any. */
void random_control(struct perfctr_cpu_control *control)
{
	u64 values[MODEL_NR_EXTRA];
	u64 left = model_exists();
	unsigned int nr = 1 + random_below(__builtin_popcountll(left));

	control_init(control);
	random_values(values);
	while (nr) {
		unsigned int i = random_below(64);

		if (!(left & BIT_ULL(i)))
			continue;
		left &= ~BIT_ULL(i);
		nr--;
		if (i < 32) {
			control_add(control, i, random_evntsel());
			complete_event(&control->ctr[control->nractrs - 1], values);
		} else {
			control_add(control, VPERFCTR_FIXED | (i - 32), 1 + random_below(3));
		}
	}
}

void random_imode_control(struct perfctr_cpu_control *control, u64 max_period)
{
	unsigned int i;

	random_control(control);
	control->nrictrs = 1 + random_below(control->nractrs);
	control->nractrs -= control->nrictrs;
	for (i = control->nractrs; i < perfctr_nrctrs(control); i++) {
		struct vperfctr_ctr *ctr = &control->ctr[i];
		u64 period = 1 + random_u64() % max_period;

		ctr->ireset = -(s64)max_t(u64, period, perfctr_cpu_info.min_period);
		if (!(ctr->map & VPERFCTR_FIXED) && (ctr->evntsel & 0xffff) == EV_PREC_DIST)
			ctr->evntsel ^= 0x0300;	/* some processors refuse it */
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
	if (model_config()->p4)
		return BIT_ULL(map & ~P4_FAST_READ);
	return map & VPERFCTR_FIXED ? GLOBAL_FIXED(map & ~VPERFCTR_FIXED) : BIT_ULL(map);
}

static u64 counters_of(const struct perfctr_cpu_control *control)
{
	u64 bits = 0;
	unsigned int i;

	for (i = 0; i < perfctr_nrctrs(control); i++)
		bits |= bit_of(control->ctr[i].map);
	return bits;
}

/* Run an operation on the CPU, and check what it does to the thread's page. */
static void operate(struct thread *t, unsigned int cpu, void (*op)(struct perfctr_cpu_state *state))
{
	bool old_irqs = fake_irqs_off;
	u32 samplecount = t->page.samplecount;
	unsigned int old = model.cpu[cpu].redundant;
	bool prepared = machine_is_prepared(cpu);

	fake_cpu = cpu;
	fake_irqs_off = true;
	resuming = op == perfctr_cpu_resume || op == perfctr_cpu_iresume;
	op(&t->state);
	resuming = false;
	fake_irqs_off = old_irqs;

	require(t->page.samplecount != samplecount, "the samplecount has not changed");
	require(!(t->page.samplecount & 1), "the samplecount is odd");
	/* Preparing writes all registers. */
	require(model.cpu[cpu].redundant == old || !prepared,
		"a register was written with its old value");
	require(VPERFCTR_CSTATUS_NRCTRS(t->page.cstatus) ==
		(t->held ? 0 : perfctr_nrctrs(&t->control)),
		"cstatus has a wrong number of counters");
}

static void check_suspended(const struct thread *t)
{
	require(t->page.cstatus == t->state.cstatus, "cstatus is %#x", t->page.cstatus);
	require(!(t->page.cstatus & (VPERFCTR_CSTATUS_RUNNING | VPERFCTR_CSTATUS_RDPMC)),
		"cstatus of a suspended thread is that of a running one");
}

void thread_control(struct thread *t, const struct perfctr_cpu_control *control, u64 preserve)
{
	unsigned int old = perfctr_nrctrs(&t->control), wrmsrs = model_wrmsrs(&model.cpu[fake_cpu]);
	u32 samplecount = t->page.samplecount;
	struct perfctr_cpu_control checked = *control;
	unsigned int i;

	require(t->cpu < 0, "a test changes the control of a thread that runs");
	ck_assert_int_eq(perfctr_cpu_check_control(&checked), 0);
	perfctr_cpu_update_control(&t->state, &checked, preserve);
	t->control = *control;
	for (i = 0; i < VPERFCTR_MAX_CTRS; i++) {
		if (i >= perfctr_nrctrs(control) || i >= old || !(preserve & BIT_ULL(i)))
			t->counted[i] = 0;
		t->since[i] = 0;
		t->shift[i] = 0;
		t->period[i] = i < perfctr_nrctrs(control) ? -(u64)control->ctr[i].ireset : 0;
	}
	t->held = false;
	t->noticed = false;
	if (!control->tsc_on)
		t->tsc_counted = 0;

	check_suspended(t);
	require(t->page.samplecount != samplecount && !(t->page.samplecount & 1),
		"the samplecount is unchanged or odd");
	require(model_wrmsrs(&model.cpu[fake_cpu]) == wrmsrs,
		"the control of a suspended thread was written to registers");
	thread_check(t);
}

/* The same on the Pentium 4.  Without isolation, other counters may count. */
static void check_p4_loaded(const struct thread *t, const struct model_cpu *cpu)
{
	u64 counting = model_counting(cpu), counters = t->held ? 0 : counters_of(&t->control);
	u64 ictrs = 0;
	unsigned int i;

	for (i = 0; i < perfctr_nrctrs(&t->control) && !t->held; i++) {
		const struct vperfctr_ctr *ctr = &t->control.ctr[i];
		unsigned int n = ctr->map & ~P4_FAST_READ;
		u64 cccr = ctr->evntsel | (i >= t->control.nractrs ? CCCR_PMI_T0 : 0);
		u64 started = (ctr->evntsel & CCCR_EN ? 0 : CCCR_EN) | CCCR_FORCE;

		if (i >= t->control.nractrs)
			ictrs |= BIT_ULL(n);
		if (started & CCCR_EN && !(counting & BIT_ULL(n)))
			counters &= ~BIT_ULL(n);
		require(((cpu->evntsel[n] ^ cccr) & ~(CCCR_OVF | started)) == 0,
			"CCCR %u is %#llx, not %#llx", n, cpu->evntsel[n], cccr);
		require(cpu->escr[p4_escr_msr(n, cccr >> 13 & 7) - 0x3a0] == ctr->aux,
			"the ESCR of counter %u has a wrong value", n);
	}
	for (i = 0; i < 2 && counters; i++)
		require(cpu->p4_global[i] == t->control.global[i], "global word %u is wrong", i);
	require(model_interrupting(cpu) == ictrs, "%#llx may interrupt, and %#llx should",
		model_interrupting(cpu), ictrs);
	require((counting & counters) == counters, "only %#llx count, not %#llx",
		counting & counters, counters);
	require(!perfctr_isolate || counting == counters, "%#llx count without an owner",
		counting & ~counters);
}

/* The registers hold exactly the control that user space requested. */
static void check_loaded(const struct thread *t, const struct model_cpu *cpu)
{
	u64 counters = t->held ? 0 : counters_of(&t->control), ictrs = 0;
	u64 counting = model_counting(cpu) & ~fake_perf.watchdog;
	unsigned int i;

	if (model_config()->p4) {
		check_p4_loaded(t, cpu);
		return;
	}
	for (i = 0; i < perfctr_nrctrs(&t->control) && !t->held; i++) {
		u32 map = t->control.ctr[i].map, n = map & ~VPERFCTR_FIXED;
		u64 holds = map & VPERFCTR_FIXED ? cpu->fixed_ctrl >> (4 * n) & 0xf :
						   model_select(cpu, map);
		u64 evntsel = t->control.ctr[i].evntsel;

		/* EN of the first select of P6 is that of both. */
		evntsel |= model_config()->old == MODEL_P6 ? SEL_EN : 0;
		if (i >= t->control.nractrs) {
			evntsel |= map & VPERFCTR_FIXED ? FIX_PMI : SEL_INT;
			ictrs |= bit_of(map);
		}
		require(holds == evntsel, "counter %#x holds %#llx, not %#llx",
			map, holds, evntsel);
		if (t->control.ctr[i].aux)
			require(cpu->extra[model_find_extra(evntsel)->reg] == t->control.ctr[i].aux,
				"the extra register of counter %#x has a wrong value", map);
	}
	require(model_never_stops() || (counting & model_interrupting(cpu)) == ictrs,
		"%#llx may interrupt, and %#llx should", counting & model_interrupting(cpu), ictrs);
	require((counting & counters) == counters, "only %#llx count, not %#llx",
		counting & counters, counters);
	/* Without isolation, counters that other threads left enabled may count. */
	require(!perfctr_isolate || counting == counters || model_never_stops(),
		"%#llx count without an owner",
		counting & ~counters);
}

void thread_in(struct thread *t, unsigned int cpu)
{
	unsigned int saw = fake_saw_rdpmc;
	u32 running = t->state.cstatus | VPERFCTR_CSTATUS_RUNNING;

	require(t->cpu < 0 && fake_online[cpu],
		"a test resumes a running thread, or on an offline CPU");
	t->stale = model.cpu[cpu].overflow;
	t->used = !t->held;
	on_cpu[cpu] = t;
	operate(t, cpu, perfctr_cpu_resume);
	t->cpu = cpu;
	if (model.user_rdpmc && perfctr_nrctrs(&t->control) && !t->held)
		running |= VPERFCTR_CSTATUS_RDPMC;
	require(t->page.cstatus == running, "cstatus is %#x, not %#x", t->page.cstatus, running);
	require(fake_saw_rdpmc - saw == !!(running & VPERFCTR_CSTATUS_RDPMC),
		"RDPMC was seen %u times", fake_saw_rdpmc - saw);
	if (service.sampled)
		operate(t, cpu, perfctr_cpu_sample);
	interrupts_on();
	if (!service.late)
		thread_check_settled(t);
}

static struct perfctr_cpu_state *refused;

static void refusal(struct perfctr_cpu_state *state)
{
	require(fake_irqs_off && !fake_in_nmi, "a refusal in a wrong context");
	refused = state;
	perfctr_cpu_mark_suspended(state);	/* as the service does */
}

void thread_refused(struct thread *t, unsigned int cpu)
{
	require(t->cpu < 0 && fake_online[cpu],
		"a test resumes a running thread, or on an offline CPU");
	refused = NULL;
	fake_cpu = cpu;
	fake_irqs_off = true;
	if (VPERFCTR_CSTATUS_NRCTRS(t->state.cstatus)) {
		perfctr_cpu_resume(&t->state);
	} else {
		perfctr_cpu_resume(&t->state);
		require(!refused, "a held thread was refused");
		t->held = false;
		perfctr_cpu_iresume(&t->state);
	}
	fake_irqs_off = false;
	require(refused == &t->state, "the thread was not refused");
	check_suspended(t);
	thread_check(t);
}

void thread_out(struct thread *t)
{
	struct model_cpu *cpu = &model.cpu[t->cpu];
	bool prepared = machine_is_prepared(t->cpu);
	unsigned int i;

	operate(t, t->cpu, perfctr_cpu_suspend);
	on_cpu[t->cpu] = NULL;
	t->cpu = -1;
	interrupts_on();
	if (!prepared)
		return;
	require(!(model_counting(cpu) & ~fake_perf.watchdog & model_interrupting(cpu)),
		"%#llx count, and may interrupt",
		model_counting(cpu) & ~fake_perf.watchdog & model_interrupting(cpu));
	require(!(cpu->overflow & ~t->stale & counters_of(&t->control) & model_interrupting(cpu)),
		"an overflow was not cleared");
	if (!perfctr_isolate || model_never_stops())
		return;
	require(!(model_counting(cpu) & ~fake_perf.watchdog), "%#llx still count",
		model_counting(cpu));
	/* Else they can still hold what the trial of the CPU's counters has left. */
	for (i = 0; fake_watched && t->used && i < perfctr_nrctrs(&t->control); i++)
		require(!*model_counter(cpu, t->control.ctr[i].map),
			"counter %#x was not cleared", t->control.ctr[i].map);
}

void thread_sample(struct thread *t)
{
	struct model_cpu *cpu = &model.cpu[t->cpu];
	unsigned int wrmsrs = model_wrmsrs(cpu);

	operate(t, t->cpu, perfctr_cpu_sample);
	require(t->noticed || model_wrmsrs(cpu) == wrmsrs, "sampling writes registers");
	interrupts_on();
	if (!service.late)
		thread_check_settled(t);
}

void thread_run(struct thread *t, const struct work *work)
{
	unsigned int i;

	fake_cpu = t->cpu;
	model_run(work);
	if (t->control.tsc_on)
		t->tsc_counted += work->cycles;
	for (i = 0; i < perfctr_nrctrs(&t->control) && !t->held; i++) {
		u64 events = model_counts(t->control.ctr[i].map, t->control.ctr[i].evntsel,
					  t->control.ctr[i].aux, work);

		t->counted[i] += events;
		t->since[i] += events;
	}
	if (!service.late) {
		nmi_arrives(!work->kernel);
		interrupts_on();
	}
}

struct thread *thread_of(unsigned int cpu)
{
	return on_cpu[cpu];
}

void thread_run_inside(struct thread *t, const struct work *work)
{
	u64 counting = model_counting(&model.cpu[fake_cpu]);
	unsigned int i;

	require(!work->cycles, "a test advances the TSC in an operation");
	/* The events may precede or follow the read of a counter's start value. */
	if (resuming && t->control.nractrs)
		return;
	model_run(work);
	for (i = 0; i < perfctr_nrctrs(&t->control); i++) {
		u64 events = model_counts(t->control.ctr[i].map, t->control.ctr[i].evntsel,
					  t->control.ctr[i].aux, work);

		if (!(counting & bit_of(t->control.ctr[i].map)))
			continue;
		t->counted[i] += events;
		t->since[i] += events;
	}
}

void thread_check_settled(const struct thread *t)
{
	const struct model_cpu *cpu = &model.cpu[t->cpu];
	unsigned int i;

	/* perf may have left anything where no counter has run yet. */
	if (machine_is_prepared(t->cpu))
		check_loaded(t, cpu);
	require(!cpu->pmi, "an NMI is pending");
	require(machine_is_prepared(t->cpu) || t->held || !perfctr_nrctrs(&t->control),
		"counters run on a CPU that is not prepared");
	require(!machine_is_prepared(t->cpu) ||
		!(perfctr_cpu_info.features & VPERFCTR_FEATURE_PCINT) || cpu->lvtpc == APIC_DM_NMI,
		"LVTPC is %#x", cpu->lvtpc);
	for (i = t->control.nractrs; i < perfctr_nrctrs(&t->control); i++) {
		require(t->since[i] < t->period[i], "the overflow of counter %u was missed", i);
		/*
		 * While this thread waits for IRESUME, counters that others left enabled may
		 * overflow.
		 */
		if (t->held && !perfctr_isolate)
			continue;
		require(!(cpu->overflow & ~t->stale & bit_of(t->control.ctr[i].map)),
			"the overflow of counter %u is not cleared", i);
	}
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

/* ---- the service -------------------------------------------------------- */

/* Compute the next period, without the driver's arithmetic. */
static void lengthen_period(struct thread *t, unsigned int i)
{
	t->shift[i] = 0;
	t->period[i] = -(u64)t->control.ctr[i].ireset;
	while (t->shift[i] < service.shift &&
	       (__uint128_t)t->period[i] * 2 <= perfctr_cpu_info.max_period) {
		t->period[i] *= 2;
		t->shift[i]++;
	}
}

/*
 * Take the thread's overflows, or identify them if it is suspended, as when its control
 * ends.  The driver must report exactly the overflows that occurred, and lose no count.
 */
static void take_and_check(struct thread *t, bool runs)
{
	u32 expected = 0, samplecount = t->page.samplecount;
	struct perfctr_overflow overflow = { };
	u64 expected_skipped = 0;
	unsigned int i;

	for (i = t->control.nractrs; i < perfctr_nrctrs(&t->control); i++) {
		if (t->since[i] < t->period[i])
			continue;
		expected |= BIT(i);
		expected_skipped += (1ULL << t->shift[i]) - 1;
		t->overflows[i]++;
		t->since[i] = 0;
		lengthen_period(t, i);
	}
	t->skipped += expected_skipped;
	if (runs && service.holds)
		overflow.ctrs = perfctr_cpu_hold_overflow(&t->state);
	else if (runs)
		overflow = perfctr_cpu_take_overflow(&t->state, service.shift);
	else
		overflow = perfctr_cpu_identify_overflow(&t->state, service.shift);
	require(t->page.samplecount != samplecount && !(t->page.samplecount & 1),
		"the samplecount is unchanged or odd");
	thread_check(t);
	require(overflow.ctrs == expected, "overflows %#x, not %#x", overflow.ctrs, expected);
	require(overflow.ctrs, "the reported overflow is not found");
	require(overflow.skipped == expected_skipped, "%llu skipped, not %llu", overflow.skipped,
		expected_skipped);
	for (i = t->control.nractrs; i < perfctr_nrctrs(&t->control); i++) {
		u64 left = -t->page.ctr[i].start & model_mask(t->control.ctr[i].map);

		require(left == t->period[i] - t->since[i], "counter %u has %llu to go, not %llu",
			i, left, t->period[i] - t->since[i]);
	}
	require(!perfctr_cpu_identify_overflow(&t->state, service.shift).ctrs,
		"an overflow is found twice");
	t->held = service.holds;
	require(!(VPERFCTR_CSTATUS_NRCTRS(t->state.cstatus) && t->held),
		"the thread is not held");
}

static void check_stopped(const struct thread *t)
{
	require(!(model_counting(&model.cpu[fake_cpu]) & counters_of(&t->control)),
		"counters are enabled while an overflow is taken");
}

/* Take an overflow on the thread's CPU: the counters are stopped before and after. */
static void take_on_cpu(struct thread *t)
{
	const struct model_cpu *cpu = &model.cpu[fake_cpu];
	unsigned int redundant = cpu->redundant;
	bool old_irqs = fake_irqs_off;
	unsigned int i;
	u32 running;

	check_stopped(t);
	t->noticed = false;
	fake_irqs_off = true;
	take_and_check(t, true);
	check_stopped(t);
	if (!service.holds)
		perfctr_cpu_restart(&t->state);
	fake_irqs_off = old_irqs;
	running = t->state.cstatus | VPERFCTR_CSTATUS_RUNNING;
	if (model.user_rdpmc && !t->held)
		running |= VPERFCTR_CSTATUS_RDPMC;
	require(t->page.cstatus == running, "cstatus is %#x, not %#x", t->page.cstatus, running);
	for (i = 0; t->held && i < t->control.nractrs; i++)
		require(!t->page.ctr[i].start, "the page has a start value of a held counter");
	require(cpu->redundant == redundant, "a register was written with its old value");
}

static void overflow_handler(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	struct thread *t = (struct thread *)state;	/* its first member */

	require(fake_irqs_off, "an overflow is reported with interrupts on");
	require(!t->held, "an overflow of a held thread is reported");
	require(t->cpu < 0 || t->cpu == (int)fake_cpu, "an overflow of another CPU is reported");
	if (regs && (user_mode(regs) || !fake_in_nmi)) {
		take_on_cpu(t);
	} else {
		t->noticed = true;
		irq_work[fake_cpu] = t;
	}
}

void interrupts_on(void)
{
	struct thread *t;

	if (!service.late)
		nmi_arrives(false);
	t = irq_work[fake_cpu];
	irq_work[fake_cpu] = NULL;
	if (t && t->cpu == (int)fake_cpu && t->noticed) {
		take_on_cpu(t);
		interrupts_on();
	}
}

void thread_iresume(struct thread *t)
{
	require(t->held, "a test uses IRESUME on a thread that is not held");
	t->held = false;
	if (t->cpu >= 0) {
		u64 tsc = model.cpu[t->cpu].tsc;

		t->used = true;
		operate(t, t->cpu, perfctr_cpu_iresume);
		/* A self-test takes time.  The generic iresume suspends the TSC meanwhile. */
		if (t->control.tsc_on && !machine_has_generic_ops && !model_config()->p4)
			t->tsc_counted += model.cpu[t->cpu].tsc - tsc;
		interrupts_on();
		if (!service.late)
			thread_check_settled(t);
		return;
	}
	perfctr_cpu_unhold_pmcs(&t->state);
	check_suspended(t);
}

/* True if the CPU was seen to mask LVTPC, in this process, as the driver remembers it. */
static bool masking_seen;

void nmi_arrives(bool user)
{
	if (!model_take_pmi())
		return;
	require(fake_nmi(user), "an NMI of the driver's counters is not claimed");
	require(!model_config()->level || !model.cpu[fake_cpu].pmi,
		"the handler unmasks LVTPC before it clears the overflow: the NMI repeats");
	masking_seen |= !model.config.no_masking;
}

void nmi_foreign(bool user)
{
	const struct thread *t = on_cpu[fake_cpu];
	bool overflow = false;
	unsigned int i;

	for (i = 0; t && i < perfctr_nrctrs(&t->control); i++)
		overflow |= i >= t->control.nractrs && t->since[i] >= t->period[i];
	/*
	 * Unless the CPU was seen to mask LVTPC, a foreign NMI shortly after an overflow
	 * looks like one of ours.  test_nmi.c tests how long that lasts.
	 */
	if (model.config.no_masking || !masking_seen)
		overflow = true;
	require(!fake_nmi(user) || overflow, "a foreign NMI is claimed");
}
