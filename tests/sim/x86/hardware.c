// SPDX-License-Identifier: GPL-2.0
/*
 * The registers of x86 processors, those of the unit tests' model, and the kernel's
 * services for them: NMIs, the reservation of registers, and CR4.
 */
#include "hardware.h"

extern bool perfctr_x86_rdpmc_always;	/* of the module */

/* ---- NMIs and the reservation of counters ------------------------------------------------------- */

static nmi_handler_t *nmi_handler;

static struct notifier_block *reboot_notifier;

int register_reboot_notifier(struct notifier_block *block)
{
	sim_require(block->notifier_call && !reboot_notifier, "a wrong reboot notifier");
	if (sim_lacks_memory())
		return -ENOMEM;
	reboot_notifier = block;
	return 0;
}

int unregister_reboot_notifier(struct notifier_block *block)
{
	sim_require(block == reboot_notifier, "another reboot notifier");
	reboot_notifier = NULL;
	return 0;
}

/* As before a reboot, while threads still run. */
void sim_shut_down(void)
{
	reboot_notifier->notifier_call(reboot_notifier, 1, NULL);
}

int register_nmi_handler(unsigned int type, nmi_handler_t *handler, u64 flags, const char *name)
{
	sim_require(type == NMI_LOCAL && !flags && name && !nmi_handler, "a wrong NMI handler");
	nmi_handler = handler;
	return 0;
}

void unregister_nmi_handler(unsigned int type, const char *name)
{
	sim_require(type == NMI_LOCAL && name && nmi_handler, "there is no NMI handler");
	nmi_handler = NULL;
	synchronize_rcu();
}

/* All handlers are called.  perf's has been registered first. */
bool sim_handle_pmi(struct pt_regs *regs)
{
	bool handled = sim_perf_handles_nmi();

	return (nmi_handler && nmi_handler(NMI_LOCAL, regs) == NMI_HANDLED) || handled;
}

bool sim_pmi_pending(unsigned int cpu)
{
	return model.cpu[cpu].pmi;
}

bool sim_pmi_is_irq(void)
{
	return false;
}

bool sim_take_pmi(void)
{
	return model_take_pmi();
}

bool sim_pmi_repeats(void)
{
	return model_config()->level;
}

static u64 reserved_pmcs, reserved_evntsels;

static int reserve(u64 *reserved, unsigned int index)
{
	sim_require(index < 64, "reservation of register %u", index);
	SIM_STEP("reserve a register");
	if (*reserved & BIT_ULL(index))
		return 0;
	*reserved |= BIT_ULL(index);
	return 1;
}

static void release(u64 *reserved, unsigned int index)
{
	SIM_STEP("release a register");
	sim_require(*reserved & BIT_ULL(index), "register %u is not reserved", index);
	*reserved &= ~BIT_ULL(index);
}

int reserve_perfctr_nmi(unsigned int msr)
{
	if (sim_failures.reserved)
		return 0;
	sim_costs.reservations++;
	return reserve(&reserved_pmcs, model_pmc_number(msr));
}

void release_perfctr_nmi(unsigned int msr)
{
	release(&reserved_pmcs, model_pmc_number(msr));
}

int reserve_evntsel_nmi(unsigned int msr)
{
	return reserve(&reserved_evntsels, model_evntsel_number(msr));
}

/*
 * perf counts from now on, and no process may see that.  The probe takes the right from the
 * child of a fork before it runs.
 */
static void check_no_rights(void)
{
	const struct task_struct *task;
	unsigned int n;

	for (n = 0; n < nr_cpu_ids; n++) {
		const struct sim_cpu *cpu = &sim_cpus[n];

		sim_require(sim_all_may_read || !cpu->pce || !cpu->loaded_mm || !cpu->loaded_mm->mm_users.counter ||
			    cpu->loaded_mm->perf_maps,
			    "RDPMC works on CPU %u when the counters are released", n);
	}

	for (task = sim_tasks; task; task = task->next_task)
		sim_require(!task->mm || task->sim->is_new || task->mm->perf_maps ||
			    !task->mm->context.perf_rdpmc_allowed.counter,
			    "%s may RDPMC when the counters are released", task->sim->name);
}

void release_evntsel_nmi(unsigned int msr)
{
	check_no_rights();
	release(&reserved_evntsels, model_evntsel_number(msr));
}

bool sim_is_hardware_reserved(void)
{
	return reserved_evntsels;
}

/* ---- the kernel's stack and CR4 ------------------------------------------------------- */

void sim_unwind_start(struct unwind_state *state, struct pt_regs *regs)
{
	sim_require(!user_mode(regs), "the kernel's stack is unwound from user mode");
	*state = (struct unwind_state) { .ip = regs->ip, .left = SIM_KERNEL_CALLS };
}

bool sim_user_rdpmc(void)
{
	return sim_this_cpu()->pce;
}

/* The CPUs whose counters still have perf's last values. */
static bool perf_left[NR_CPUS];

static void leave_counters(unsigned int cpu)
{
	u64 *counter;
	u32 i;

	perf_left[cpu] = true;
	for (i = 0; i < MODEL_MAX_PMCS; i++) {
		counter = model_counter(&model.cpu[cpu], i);
		if (counter)
			*counter = 123456 + i;
	}
}

/* perf counts on all CPUs for a moment, if it can have the counters. */
void sim_perf_counts(void)
{
	unsigned int n;

	for (n = 0; !sim_is_hardware_reserved() && n < nr_cpu_ids; n++)
		leave_counters(n);
}

/*
 * As cr4_update_pce_mm() from 5.14 on: user mode of the mm must not see what perf has counted.
 * The counters are cleared, also if the module has taken them meanwhile.
 */
void sim_follow_mm(struct mm_struct *mm)
{
	bool allowed = sim_all_may_read || mm->context.perf_rdpmc_allowed.counter;
	u64 *counter;
	u32 i;

	sim_this_cpu()->pce = allowed;
	if (!allowed || !perf_left[sim_cpu])
		return;
	perf_left[sim_cpu] = false;
	for (i = 0; i < MODEL_MAX_PMCS; i++) {
		counter = model_counter(&model.cpu[sim_cpu], i);
		if (counter)
			*counter = 0;
	}
}

/* As cr4_update_pce(): perf has changed the right of an mm, or an administrator that of all. */
static void refresh_pce(void *unused)
{
	if (sim_this_cpu()->loaded_mm)
		sim_follow_mm(sim_this_cpu()->loaded_mm);
	(void)unused;
}

/* A resume may have come before perf has told its CPU, which looks like rdpmc=2. */
static bool perf_has_withdrawn;

/* x86_pmu_event_mapped(): the number changes before the CPUs hear of it. */
void sim_pmu_mapped(struct perf_event *event, struct mm_struct *mm)
{
	if (event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT &&
	    atomic_add_return(1, &mm->context.perf_rdpmc_allowed) == 1)
		on_each_cpu_mask(&mm->cpus, refresh_pce, NULL, 1);
}

/* x86_pmu_event_unmapped() */
void sim_pmu_unmapped(struct perf_event *event, struct mm_struct *mm)
{
	perf_has_withdrawn = true;
	if (event->hw.flags & PERF_EVENT_FLAG_USER_READ_CNT &&
	    atomic_dec_and_test(&mm->context.perf_rdpmc_allowed)) {
		sim_may_lose_cpu("perf has withdrawn the right to RDPMC, and not told the CPUs");
		on_each_cpu_mask(&mm->cpus, refresh_pce, NULL, 1);
	}
}

static void set_pce(void *unused)
{
	sim_this_cpu()->pce = sim_all_may_read;
	refresh_pce(unused);
}

/* An administrator writes 2 or 1 to the attribute "rdpmc".  The module learns of it later. */
void sim_let_all_read(bool all)
{
	perf_has_withdrawn = true;
	WRITE_ONCE(sim_all_may_read, all);
	on_each_cpu_mask(cpu_online_mask, set_pce, NULL, 1);
}

void cr4_update_irqsoff(unsigned long set, unsigned long clear)
{
	sim_require(irqs_disabled(), "CR4 is written with interrupts enabled");
	sim_writes_cr4 = true;
	sim_this_cpu()->pce = (sim_this_cpu()->pce || (set & X86_CR4_PCE)) &&
			      !(clear & X86_CR4_PCE);
}

/* ---- the registers ------------------------------------------------------------------- */

cycles_t get_cycles(void)
{
	return sim_kernel_takes_time ? sim_ns() : model.cpu[sim_cpu].tsc;
}

static u64 executed[NR_CPUS];

u64 sim_executed_here(void)
{
	return executed[sim_cpu];
}

void sim_run_instructions(u64 n, bool kernel)
{
	executed[sim_cpu] += n;
	model_run(&(struct work) { .kernel = kernel, .instructions = n, .cycles = n });
}

bool sim_counts(void)
{
	return model_counting(&model.cpu[sim_cpu]);
}

/* A CPU that comes back gets an INIT, which changes no register of the counters, but masks LVTPC. */
void sim_reset_registers(unsigned int cpu)
{
	model.cpu[cpu].lvtpc = sim_processor.perf ? APIC_DM_NMI : APIC_LVT_MASKED;
}

/* Nothing clears the registers of a CPU while it is offline. */
void sim_check_offline(unsigned int cpu)
{
	const struct model_cpu *c = &model.cpu[cpu];
	u64 used = c->fixed_ctrl;
	unsigned int i;

	for (i = 0; i < MODEL_MAX_PMCS; i++)
		used |= c->evntsel[i] | c->pmc[i];
	for (i = 0; i < MODEL_MAX_FIXED; i++)
		used |= c->fixed[i];
	sim_require(sim_processor.perf || !used, "CPU %u is offline, and still has counters in use", cpu);
}

/* The kernel leaves the counters of a CPU that comes online alone. */
void sim_begin_cpu(unsigned int cpu)
{
	(void)cpu;
}

/* Suspend to RAM loses the registers. */
void sim_sleep_here(void)
{
	model_cpu_reset(sim_cpu);
}

/* An idle CPU keeps its registers. */
void sim_idle(void)
{
}

bool sim_believes_always(void)
{
	return perfctr_x86_rdpmc_always;
}

bool sim_user_reads(void)
{
	sim_require(!perfctr_x86_rdpmc_always || perf_has_withdrawn, "the module believes in rdpmc=2");
	return sim_this_cpu()->pce;
}

u64 sim_counter(u32 map)
{
	return *model_counter(&model.cpu[sim_cpu], map);
}

u64 sim_counter_values(u64 *value)
{
	struct model_cpu *cpu = &model.cpu[sim_cpu];
	u64 written = cpu->written | cpu->fixed_written << MODEL_MAX_PMCS;

	BUILD_BUG_ON(MODEL_MAX_PMCS + MODEL_MAX_FIXED > SIM_MAX_COUNTERS);
	memcpy(value, cpu->pmc, sizeof(cpu->pmc));
	memcpy(value + MODEL_MAX_PMCS, cpu->fixed, sizeof(cpu->fixed));
	/* The watchdog's is no secret. */
	if (sim_processor.perf) {
		value[MODEL_MAX_PMCS + SIM_WATCHDOG_FIXED] = 0;
		written &= ~BIT_ULL(MODEL_MAX_PMCS + SIM_WATCHDOG_FIXED);
	}
	cpu->written = 0;
	cpu->fixed_written = 0;
	return written;
}

void sim_count_instructions(struct vperfctr_ctr *ctr)
{
	*ctr = (struct vperfctr_ctr) { .map = 0, .evntsel = SEL_EN | SEL_USR | EV_INSTRUCTIONS };
}

void sim_count_kernel(struct vperfctr_ctr *ctr)
{
	ctr->evntsel |= SEL_OS;
}

void sim_check_hardware(void)
{
	unsigned int n;

	sim_require(!reserved_pmcs && !reserved_evntsels, "registers are left reserved");
	sim_require(!nmi_handler, "an NMI handler is left");
	sim_check_no_guard();
	sim_require(!perfctr_x86_rdpmc_always || perf_has_withdrawn, "the module believes in rdpmc=2");

	for (n = 0; n < nr_cpu_ids; n++) {
		const struct model_cpu *cpu = &model.cpu[n];

		/* The registers of the others are lost. */
		if (!fake_online[n])
			continue;
		sim_check_perf(n);
		sim_require(sim_processor.perf || !model_interrupting(cpu) || !model_counting(cpu),
			    "counters of CPU %u run after the unload", n);
		sim_require(sim_processor.perf ? cpu->lvtpc == APIC_DM_NMI : cpu->lvtpc & APIC_LVT_MASKED,
			    "LVTPC of CPU %u is not given back", n);
		sim_require(!sim_pmi_pending(n), "CPU %u is left with an NMI", n);
	}
}

/* ---- other processors ------------------------------------------------------------------ */

/* Delivery of the interrupt does not mask LVTPC. */
void sim_unmasked(struct model_config *config)
{
	config->no_masking = true;
}

/* The interrupt lasts as long as the overflow's bit in GLOBAL_STATUS. */
void sim_level(struct model_config *config)
{
	config->level = true;
}

/* Each counter starts by itself, when its event select is written. */
void sim_no_global(struct model_config *config)
{
	config->version = 1;
	config->nr_fixed = 0;
	config->no_masking = true;
}

static void core(struct model_config *config, u32 type)
{
	config->version = 5;
	config->fixed_mask = 0x7;
	config->no_any_thread = true;
	config->core_type = type;
}

/* An Ivy Bridge, of which some events disturb the counters of the other hyper-thread. */
void sim_ivy_bridge(struct model_config *config)
{
	config->signature = 0x306a9;
}

/* A Skylake, with events that need a second register. */
void sim_skylake(struct model_config *config)
{
	config->signature = 0x506e3;
	config->extra = model_processors[4].extra;
}

/* Counters that leaf 23H lists, and a perf that knows no version 6. */
void sim_version_6(struct model_config *config)
{
	config->version = 6;
	config->pmc_mask = 0xf;
	config->fixed_mask = 0x7;
	config->no_any_thread = true;
}

static void amd(struct model_config *config, enum model_amd amd, u32 signature)
{
	config->amd = amd;
	config->version = amd == MODEL_AMD_V2 ? 2 : 1;
	config->nr_pmcs = amd == MODEL_AMD_K7 ? 4 : 6;
	config->nr_fixed = 0;
	config->signature = signature;
	config->no_masking = true;
}

/* AMD's family 10h, 17h (Zen 2) and 19h (Zen 4). */
void sim_amd_k7(struct model_config *config)
{
	amd(config, MODEL_AMD_K7, 0x100f42);
}

void sim_amd_core(struct model_config *config)
{
	amd(config, MODEL_AMD_CORE, 0x830f10);
}

void sim_amd_v2(struct model_config *config)
{
	amd(config, MODEL_AMD_V2, 0xa60f12);
}

/* A Pentium III, with two counters that share an enable bit. */
void sim_p6(struct model_config *config)
{
	config->old = MODEL_P6;
	config->version = 0;
	config->nr_pmcs = 2;
	config->pmc_width = 40;
	config->nr_fixed = 0;
	config->no_masking = true;
	config->no_capabilities = true;
	config->signature = 0x6b1;
}

void sim_no_counters(struct model_config *config)
{
	config->version = 0;
}

/* For scenarios with two kinds of CPUs. */
void sim_big_core(struct model_config *config)
{
	core(config, 0x40000001);
	config->nr_pmcs = 8;
}

/* A counter for each state that a thread can have. */
void sim_eight_counters(struct model_config *config)
{
	config->nr_pmcs = 8;
}

void sim_small_core(struct model_config *config)
{
	core(config, 0x20000001);
	config->nr_pmcs = 6;
}

/* KVM has registers for a guest only while interrupts are disabled. */
void sim_vcpu_loaded(bool loaded)
{
	(void)loaded;
}

/* ---- boot ------------------------------------------------------------------------------ */

static void access_step(void)
{
	SIM_STEP("a register");
}

static const struct model_config usual = {
	.version = 4, .nr_pmcs = 4, .pmc_width = 48, .nr_fixed = 3, .fixed_width = 48,
	.nr_events = 7, .signature = MODEL_CORE2,
};

void sim_start_hardware(void)
{
	struct model_config config = usual;
	unsigned int n;

	if (sim_processor.configure)
		sim_processor.configure(&config);
	if (sim_processor.configure_other) {
		struct model_config other = usual;

		sim_processor.configure_other(&other);
		model_init_hybrid(&config, &other, sim_processor.others);
	} else {
		model_init(&config);
	}
	sim_start_perf();
	model.exits = sim_processor.exits;
	model.on_access = access_step;
	for (n = 0; sim_processor.perf_left && n < nr_cpu_ids; n++)
		leave_counters(n);
}
