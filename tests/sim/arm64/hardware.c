// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of arm64 processors, those of the unit tests' model, and the kernel's
 * services for them: the interrupt, CPUs that sleep, the stack.
 */
#include "arm64.h"
#include "hardware.h"

#define EVENT_INSTRUCTIONS	0x08
#define TYPE_P			0x80000000ULL	/* do not count in EL1 */

extern bool perfctr_isolate, perfctr_reserved;	/* of the module */
extern unsigned int *const sim_param_perf_counters;

static bool is_irq;
static bool has_lost[NR_CPUS];		/* this CPU is between its sleep and perf's reset */

static struct model_cpu *this_cpu(void)
{
	return &model.cpu[sim_cpu];
}

/* ---- the interrupt ------------------------------------------------------------------ */

/* It is asserted until the module clears the overflow. */
bool sim_pmi_pending(unsigned int cpu)
{
	const struct model_cpu *c = &model.cpu[cpu];

	return (c->pmcr & 1) && (c->overflow & c->intr);
}

bool sim_pmi_is_irq(void)
{
	return is_irq;
}

bool sim_take_pmi(void)
{
	return sim_pmi_pending(sim_cpu);
}

bool sim_pmi_repeats(void)
{
	return true;
}

/* The entry of an exception synchronizes, and so does the return. */
bool sim_handle_pmi(struct pt_regs *regs)
{
	bool claimed;

	(void)regs;
	model_sync();
	claimed = sim_perf_interrupt();
	model_sync();
	return claimed;
}

/* ---- CPUs that sleep ------------------------------------------------------------------- */

void sim_follow_mm(struct mm_struct *mm)
{
	sim_this_cpu()->pce = mm->context.perf_rdpmc_allowed.counter;
}

/* A reset of the processor clears the counters: no driver has cpu_quiet. */
int register_reboot_notifier(struct notifier_block *block)
{
	sim_require(false, "a reboot notifier");
	return 0;
}

int unregister_reboot_notifier(struct notifier_block *block)
{
	sim_require(false, "a reboot notifier that was not registered");
	return 0;
}

static struct notifier_block *cpu_pm;

int cpu_pm_register_notifier(struct notifier_block *block)
{
	might_sleep();
	sim_require(!cpu_pm, "a second notifier of CPU_PM");
	if (sim_lacks_memory())
		return -ENOMEM;
	cpu_pm = block;
	return 0;
}

int cpu_pm_unregister_notifier(struct notifier_block *block)
{
	might_sleep();
	sim_require(cpu_pm == block, "a notifier of CPU_PM that was not registered");
	cpu_pm = NULL;
	return 0;
}

static void notify(unsigned long action)
{
	struct notifier_block *block = READ_ONCE(cpu_pm);

	if (block)
		block->notifier_call(block, action, NULL);
}

void sim_reset_registers(unsigned int cpu)
{
	unsigned int here = sim_cpu;

	sim_cpu = cpu;
	model_reset();
	this_cpu()->pmcr &= ~1ULL;
	sim_cpu = here;
}

/* Going offline clears them. */
void sim_check_offline(unsigned int cpu)
{
	(void)cpu;
}

/* perf has registered its notifier before the module. */
void sim_sleep_here(void)
{
	sim_perf_sleeps();
	notify(CPU_PM_ENTER);
	SIM_STEP("the CPU sleeps");
	has_lost[sim_cpu] = true;
	sim_reset_registers(sim_cpu);
	SIM_STEP("the CPU has lost its registers");
	sim_perf_wakes();
	has_lost[sim_cpu] = false;
	notify(CPU_PM_EXIT);
}

/* An idle CPU may sleep so deeply that it loses its registers. */
void sim_idle(void)
{
	if (!sim_choose(2, 8))
		return;
	local_irq_disable();
	sim_sleep_here();
	local_irq_enable();
}

void sim_begin_cpu(unsigned int cpu)
{
	sim_run_on(cpu, sim_perf_resets, NULL);
}

/* ---- the kernel's stack ----------------------------------------------------------------- */

/* The record of the frame that was interrupted, to which X29 points. */
long copy_from_kernel_nofault(void *to, const void *from, size_t size)
{
	u64 record[2] = { 0, get_irq_regs()->pc + 16 * SIM_KERNEL_CALLS };

	sim_require(!from && size == sizeof(record), "another record of the stack");
	memcpy(to, record, size);
	return 0;
}

/* Frames of the handler come first. */
unsigned int stack_trace_save(unsigned long *store, unsigned int size, unsigned int skip)
{
	u64 pc = get_irq_regs()->pc;
	unsigned int i, n = 0;

	sim_require(!skip, "the handler's frames are skipped");
	for (i = 0; i < 4 && n < size; i++)
		store[n++] = 0xffff800080000000UL + i;
	for (i = 0; i <= SIM_KERNEL_CALLS && n < size; i++)
		store[n++] = i ? pc + 16 * (SIM_KERNEL_CALLS + 1 - i) : pc;
	return n;
}

/* ---- the registers ---------------------------------------------------------------------- */

bool cpumask_subset(const struct cpumask *a, const struct cpumask *b)
{
	unsigned int cpu;

	for_each_cpu(cpu, a) {
		if (!cpumask_test_cpu(cpu, b))
			return false;
	}
	return true;
}

cycles_t get_cycles(void)
{
	return sim_kernel_takes_time ? sim_ns() : this_cpu()->tsc;
}

static u64 all_counters(void)
{
	bool other = sim_cpu < 32 && (model.others >> sim_cpu & 1);

	return (BIT_ULL(other ? model.other_nr : model.nr) - 1) | BIT_ULL(31);
}

/* KVM has restored the right to read, and the module knows.  It hides all counts until then. */
static bool is_left_open(void)
{
	return perfctr_hides && !perfctr_driver->own_cpu(sim_cpu)->ready &&
	       perfctr_arch.reads_left();
}

/*
 * User mode may read counters only where a state of the process is mapped.  Those that are not
 * the thread's own show nothing.
 */
static void check_isolation(void)
{
	const struct model_cpu *c = this_cpu();
	unsigned int i;

	sim_require(!c->user || current->mm->vmas || (model.vhe && is_left_open()),
		    "user mode can read counters, and maps no state");
	if (!c->user || !perfctr_isolate || !(c->enabled & all_counters()))
		return;
	for (i = 0; i < MODEL_CTRS; i++)
		sim_require(!(all_counters() >> i & 1) || (c->enabled >> i & 1) || !c->counter[i],
			    "user mode can read counter %u of another thread", i);
}

static u64 executed[NR_CPUS];

u64 sim_executed_here(void)
{
	return executed[sim_cpu];
}

void sim_run_instructions(u64 n, bool kernel)
{
	if (!kernel)
		check_isolation();
	executed[sim_cpu] += n;
	model_run(&(struct work) { .kernel = kernel, .instructions = n, .cycles = n });
}

bool sim_counts(void)
{
	return (this_cpu()->pmcr & 1) && (this_cpu()->enabled & all_counters());
}

#define USER_READS	0xc		/* PMUSERENR_EL0.ER, CR */

bool sim_user_reads(void)
{
	return (this_cpu()->user & USER_READS) == USER_READS;
}

u64 sim_counter(u32 map)
{
	return this_cpu()->counter[map == VPERFCTR_FIXED ? 31 : map];
}

u64 sim_counter_values(u64 *value)
{
	u64 written = this_cpu()->written;

	BUILD_BUG_ON(MODEL_CTRS > SIM_MAX_COUNTERS);
	memcpy(value, this_cpu()->counter, sizeof(this_cpu()->counter));
	this_cpu()->written = 0;
	return written;
}

void sim_count_instructions(struct vperfctr_ctr *ctr)
{
	*ctr = (struct vperfctr_ctr) {
		.map = *sim_param_perf_counters ? 1 : 0,
		.evntsel = TYPE_P | EVENT_INSTRUCTIONS,
	};
}

void sim_count_kernel(struct vperfctr_ctr *ctr)
{
	ctr->evntsel &= ~TYPE_P;
}

/* perf keeps the cycle counter and event counter 0. */
void sim_shares(struct model_config *config)
{
	(void)config;
	*sim_param_perf_counters = 2;
}

/* A machine whose firmware does not tell where the counters' interrupt is. */
void sim_no_interrupt(struct model_config *config)
{
	(void)config;
	sim_perf_irq = 0;
}

bool sim_is_hardware_reserved(void)
{
	return perfctr_reserved;
}

void sim_check_hardware_rests(void)
{
	sim_require(!perfctr_reserved, "the counters are left reserved, without users");
}

void sim_check_hardware(void)
{
	unsigned int n;

	sim_require(!cpu_pm, "a notifier of CPU_PM is left");
	sim_require(!perfctr_reserved, "the counters are left reserved");
	for (n = 0; n < nr_cpu_ids; n++) {
		const struct model_cpu *c = &model.cpu[n];

		/* The registers of the others are lost. */
		if (!fake_online[n] || has_lost[n])
			continue;
		sim_require(!(c->pmcr & 1) || !c->enabled, "counters of CPU %u run after the unload", n);
		sim_require(!c->user, "user mode can read the counters of CPU %u", n);
		sim_require(!sim_pmi_pending(n), "CPU %u is left with an interrupt", n);
	}
	sim_check_perf();
}

/* ---- other processors ------------------------------------------------------------------ */

void sim_big_core(struct model_config *config)
{
	config->nr = 6;
}

/* A counter for each state that a thread can have. */
void sim_eight_counters(struct model_config *config)
{
	config->nr = 8;
}

void sim_small_core(struct model_config *config)
{
	config->nr = 4;
}

/* Counters of 64 bits, and a kernel at EL2. */
void sim_wide(struct model_config *config)
{
	config->version = 6;
	config->vhe = true;
}

/* A kernel that masks the interrupt with all others. */
void sim_irq(struct model_config *config)
{
	config->irq = true;
}

/* As if perf knew only that these are CPUs of Arm's architecture. */
void sim_one_driver(struct model_config *config)
{
	config->one_driver = true;
}

void sim_no_counters(struct model_config *config)
{
	config->version = 0;
}

/* ---- KVM in EL2 ------------------------------------------------------------------------ */

void sim_vcpu_loaded(bool loaded)
{
	if (!model.vhe)
		return;
	if (loaded)
		model_load_vcpu();
	else
		model_put_vcpu();
}

/* ---- boot ------------------------------------------------------------------------------ */

static void access_step(void)
{
	SIM_STEP("a register");
}

static const struct model_config usual = { .version = 5, .nr = 6 };

void sim_start_hardware(void)
{
	struct model_config config = usual, other = usual;
	unsigned int n;

	if (sim_processor.configure)
		sim_processor.configure(&config);
	model_init(config.version, config.nr);
	if (sim_processor.configure_other) {
		sim_processor.configure_other(&other);
		model.other_nr = other.nr;
		model.others = sim_processor.others;
	}
	model.vhe = config.vhe;
	is_irq = config.irq;
	for (n = 0; n < nr_cpu_ids; n++) {
		if (n < 32 && (model.others >> n & 1))
			model.midr[n] ^= 0x10;
		sim_reset_registers(n);
	}
	sim_start_perf(config.one_driver ? 0 : model.others);
	model.on_access = access_step;
}
