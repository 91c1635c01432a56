// SPDX-License-Identifier: GPL-2.0
/* CPUs that come and go, and the kernel's reservation of counters. */
#include <stdlib.h>

#include "fake-kernel.h"
#include "fake-percpu.h"
#include "model.h"
#include "x86.h"

struct task_struct fake_task;
unsigned int fake_cpu;
bool fake_online[NR_CPUS] = { [0 ... NR_CPUS - 1] = true };
bool fake_dying;
bool fake_irqs_off;

unsigned int tsc_khz = 2100000;
bool perfctr_isolate = true;
bool fake_watched;
unsigned int fake_saw_rdpmc;

bool perfctr_x86_watched(void)
{
	require(fake_irqs_off, "perfctr_x86_watched() with interrupts on");
	return fake_watched;
}

/* With isolation some process has mapped a page.  Counters run on in the same way without. */
u32 perfctr_x86_stops(void)
{
	return perfctr_isolate;
}

void perfctr_x86_saw_rdpmc(void)
{
	fake_saw_rdpmc++;
}

/* User-mode RDPMC may be allowed only between these two. */
static bool pce_ready;

unsigned int fake_suspects;

bool perfctr_x86_pce_is_suspect(void)
{
	return false;
}

void perfctr_x86_pce_suspect(void)
{
	require(fake_irqs_off, "interrupts are enabled");
	fake_suspects |= BIT(fake_cpu);
}

int perfctr_x86_pce_init(void)
{
	require(!pce_ready, "perfctr_x86_pce_init() twice");
	pce_ready = true;
	return 0;
}

void perfctr_x86_pce_exit(void)
{
	require(pce_ready, "perfctr_x86_pce_exit() without init");
	pce_ready = false;
}

static bool watches_kvm;

void perfctr_x86_kvm_init(void)
{
	require(!watches_kvm, "perfctr_x86_kvm_init() twice");
	watches_kvm = true;
}

void perfctr_x86_kvm_exit(void)
{
	require(watches_kvm, "perfctr_x86_kvm_exit() without init");
	watches_kvm = false;
}

static bool may_rdpmc;

void perfctr_x86_rdpmc_begin(void)
{
	require(!may_rdpmc, "the rights to RDPMC begin twice");
	may_rdpmc = true;
}

void perfctr_x86_rdpmc_end(void)
{
	require(may_rdpmc, "the rights to RDPMC end twice");
	may_rdpmc = false;
}

void perfctr_x86_rdpmc_exit(void)
{
}

unsigned int fake_bad_index(void)
{
	require(false, "an index went through array_index_nospec() unchecked");
	return 0;
}

/* ---- CPUs --------------------------------------------------------------- */

static unsigned int hotplug_lock;

void cpus_read_lock(void)
{
	require(!fake_irqs_off, "cpus_read_lock() sleeps");
	hotplug_lock++;
}

void cpus_read_unlock(void)
{
	require(hotplug_lock, "cpus_read_unlock() without cpus_read_lock()");
	hotplug_lock--;
}

unsigned int fake_interrupts[NR_CPUS];

static void call_on(unsigned int cpu, void (*func)(void *), void *arg, bool irqs_off)
{
	unsigned int old_cpu = fake_cpu;
	bool old_irqs = fake_irqs_off;

	if (irqs_off && cpu != fake_cpu)
		fake_interrupts[cpu]++;
	fake_cpu = cpu;
	fake_irqs_off = irqs_off;
	func(arg);
	fake_irqs_off = old_irqs;
	fake_cpu = old_cpu;
}

void on_each_cpu_cond(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg, int wait)
{
	unsigned int cpu;

	require(!fake_irqs_off, "on_each_cpu() waits for CPUs that may wait for this one");
	require(wait, "on_each_cpu() returns before it is done");
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		if (fake_online[cpu] && cond(cpu, arg))
			call_on(cpu, func, arg, true);
	}
}

static bool is_any(int cpu, void *unused)
{
	(void)cpu;
	(void)unused;
	return true;
}

void on_each_cpu(void (*func)(void *), void *arg, int wait)
{
	on_each_cpu_cond(is_any, func, arg, wait);
}

void on_each_cpu_mask(const struct cpumask *mask, void (*func)(void *), void *arg, int wait)
{
	struct cpumask copy = *mask;
	unsigned int cpu;

	require(!fake_irqs_off, "on_each_cpu_mask() waits for CPUs that may wait for this one");
	require(wait, "on_each_cpu_mask() returns before it is done");
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		if (fake_online[cpu] && cpumask_test_cpu(cpu, &copy))
			call_on(cpu, func, arg, true);
	}
}

int smp_call_function_single(int cpu, void (*func)(void *), void *arg, int wait)
{
	require(!fake_irqs_off, "smp_call_function_single() waits for a CPU");
	require(wait, "smp_call_function_single() returns before it is done");
	require(hotplug_lock, "CPU %d may go offline during the call", cpu);
	call_on(cpu, func, arg, true);
	return 0;
}

unsigned int fake_warnings, fake_works[NR_CPUS];
char fake_info[256];
bool fake_smt;

const struct cpumask *topology_sibling_cpumask(unsigned int cpu)
{
	static struct cpumask mask;

	mask.bits[0] = 0;
	if (fake_online[cpu])
		mask.bits[0] |= BIT(cpu);
	if (fake_smt && fake_online[cpu ^ 1])
		mask.bits[0] |= BIT(cpu ^ 1);
	return &mask;
}

const struct cpumask *fake_online_mask(void)
{
	static struct cpumask mask;
	unsigned int cpu;

	mask.bits[0] = 0;
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		mask.bits[0] |= (unsigned long)fake_online[cpu] << cpu;
	return &mask;
}

/* Parse a list of single CPUs, such as "0,2".  Ranges are not supported. */
int cpulist_parse(const char *list, struct cpumask *mask)
{
	unsigned long cpu;
	char *end;

	mask->bits[0] = 0;
	do {
		cpu = strtoul(list, &end, 10);
		if (end == list || cpu >= NR_CPUS)
			return -EINVAL;
		mask->bits[0] |= BIT(cpu);
		list = end + 1;
	} while (*end == ',');
	return *end ? -EINVAL : 0;
}

static struct {
	int (*startup)(unsigned int cpu);
	int (*teardown)(unsigned int cpu);
	int (*dying)(unsigned int cpu);
} hotplug;

bool fake_hotplug_taken;

/* The callbacks run in a thread of the CPU, with interrupts on. */
static void startup(void *error)
{
	*(int *)error = hotplug.startup(fake_cpu);
}

static void teardown(void *unused)
{
	(void)unused;
	require(!hotplug.teardown(fake_cpu), "the teardown callback failed");
}

static void dying(void *unused)
{
	(void)unused;
	require(!hotplug.dying(fake_cpu), "the last callback failed");
}

int cpuhp_setup_state(enum cpuhp_state state, const char *name,
		      int (*up)(unsigned int cpu), int (*down)(unsigned int cpu))
{
	unsigned int cpu;
	int err = 0;

	require(!hotplug_lock, "cpuhp_setup_state() takes a lock that is held");
	if (state == CPUHP_AP_PERF_ARM_STARTING) {
		if (fake_hotplug_taken)
			return -EBUSY;
		require(name && !up && !hotplug.dying, "a wrong callback, or no name");
		hotplug.dying = down;
		return 0;
	}
	require(state == CPUHP_AP_ONLINE_DYN && name, "a wrong hotplug state, or no name");
	hotplug.startup = up;
	hotplug.teardown = down;
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		if (fake_online[cpu])
			call_on(cpu, startup, &err, false);
		require(!err, "the startup callback of CPU %u failed", cpu);
	}
	return CPUHP_AP_ONLINE_DYN + 1;
}

void cpuhp_remove_state_nocalls(enum cpuhp_state state)
{
	if (state == CPUHP_AP_PERF_ARM_STARTING) {
		require(hotplug.dying, "removes a hotplug state that was not set up");
		hotplug.dying = NULL;
		return;
	}
	require(state == CPUHP_AP_ONLINE_DYN + 1, "removes a hotplug state that was not set up");
	hotplug.startup = NULL;
	hotplug.teardown = NULL;
}

void (*fake_almost_offline)(unsigned int cpu);

void fake_cpu_down(unsigned int cpu)
{
	if (hotplug.teardown)
		call_on(cpu, teardown, NULL, false);
	if (fake_almost_offline)
		fake_almost_offline(cpu);
	fake_online[cpu] = false;
	fake_dying = true;
	if (hotplug.dying)
		call_on(cpu, dying, NULL, true);
	fake_dying = false;
}

/*
 * A CPU that comes back gets an INIT, which changes no register of the counters, but masks
 * LVTPC.  SDM volume 3, "Processor State After Reset" and "Local APIC State After It Receives
 * an INIT Reset".
 */
int fake_try_cpu_up(unsigned int cpu)
{
	int err = 0;

	model.cpu[cpu].lvtpc = APIC_LVT_MASKED;
	fake_online[cpu] = true;
	if (hotplug.startup)
		call_on(cpu, startup, &err, false);
	if (err)
		fake_online[cpu] = false;
	return err;
}

void fake_cpu_up(unsigned int cpu)
{
	require(!fake_try_cpu_up(cpu), "the startup callback of CPU %u failed", cpu);
}

static void sleep_now(void *unused)
{
	(void)unused;
	perfctr_cpu_sleep();
}

static void forget(void *unused)
{
	(void)unused;
	perfctr_cpu_forget();
}

void (*fake_almost_asleep)(void);

/* The service suspends the thread on the boot CPU before this, and resumes it after. */
void fake_suspend_to_ram(void)
{
	bool was_online[NR_CPUS];
	unsigned int cpu;
	u32 lvtpc;

	memcpy(was_online, fake_online, sizeof(was_online));
	for (cpu = 1; cpu < NR_CPUS; cpu++) {
		if (was_online[cpu])
			fake_cpu_down(cpu);
	}
	call_on(0, sleep_now, NULL, true);
	lvtpc = model.cpu[0].lvtpc;
	model.cpu[0].lvtpc |= APIC_LVT_MASKED;
	if (fake_almost_asleep)
		fake_almost_asleep();
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		model_cpu_reset(cpu);
	model.cpu[0].lvtpc = lvtpc;	/* the kernel's APIC code restores it first */
	call_on(0, forget, NULL, true);
	for (cpu = 1; cpu < NR_CPUS; cpu++) {
		if (was_online[cpu])
			fake_cpu_up(cpu);
	}
}

static struct notifier_block *reboot_notifier;

int register_reboot_notifier(struct notifier_block *block)
{
	require(!reboot_notifier, "two reboot notifiers");
	reboot_notifier = block;
	return 0;
}

int unregister_reboot_notifier(struct notifier_block *block)
{
	require(reboot_notifier == block, "a reboot notifier that was not registered");
	reboot_notifier = NULL;
	return 0;
}

void fake_reboot(void)
{
	require(!fake_irqs_off, "a reboot begins with interrupts disabled");
	reboot_notifier->notifier_call(reboot_notifier, 1, NULL);
}

/* ---- non-maskable interrupts -------------------------------------------- */

/* Wraps soon, as the kernel's jiffies do after boot. */
unsigned long jiffies = -300UL * HZ;
bool fake_in_nmi;
int fake_register_error;

static nmi_handler_t *nmi_handler, *first_handler;
static const char *nmi_name;

int register_nmi_handler(unsigned int type, nmi_handler_t *handler, u64 flags, const char *name)
{
	require(type == NMI_LOCAL && !(flags & ~NMI_FLAG_FIRST) && name && handler,
		"a wrong NMI handler type, flags or name");
	if (flags) {
		require(!first_handler, "the first NMI handler is registered twice");
		first_handler = handler;
		return 0;
	}
	require(!nmi_handler, "the NMI handler is registered twice");
	if (fake_register_error)
		return fake_register_error;
	nmi_handler = handler;
	nmi_name = name;
	return 0;
}

void unregister_nmi_handler(unsigned int type, const char *name)
{
	require(!fake_irqs_off, "unregister_nmi_handler() sleeps");
	if (!strcmp(name, "vperfctr_first")) {
		require(first_handler, "the first NMI handler is not registered");
		first_handler = NULL;
		return;
	}
	require(type == NMI_LOCAL && nmi_handler && !strcmp(name, nmi_name),
		"an NMI handler is unregistered without being registered");
	nmi_handler = NULL;
}

/*
 * perf's handler on AMD.  With PerfMonV2 it stops all counters, and expects overflows of its own
 * only.  Earlier processors: it unmasks LVTPC, and looks at the values of its own counters only.
 *
 * Return: true if it has found an overflow.
 */
static bool perf_nmi(void)
{
	struct model_cpu *cpu = &model.cpu[fake_cpu];
	const u64 sign = (model_mask(0) >> 1) + 1;
	bool found;

	if (!(fake_perf.claimed & BIT(fake_cpu)) || !model_config()->amd)
		return false;
	if (model_config()->amd == MODEL_AMD_V2) {
		require(!(cpu->overflow & ~fake_perf.watchdog),
			"perf finds the status of others' overflows");
		found = cpu->overflow;
		cpu->overflow = 0;
		cpu->global_ctrl = 0;
	} else {
		cpu->lvtpc = APIC_DM_NMI;
		found = fake_perf.watchdog == 1 && !(cpu->pmc[0] & sign);
	}
	/* The watchdog's period begins again where it has overflowed. */
	if (found && fake_perf.period) {
		cpu->pmc[0] = (cpu->pmc[0] - fake_perf.period) & model_mask(0);
		fake_perf.overflows++;
	}
	return found;
}

bool fake_nmi(bool user)
{
	struct pt_regs regs = { .user = user };
	bool old_irqs = fake_irqs_off, theirs;
	int ret;

	require(!fake_in_nmi, "a test nests an NMI in another");
	require(!user || !old_irqs, "a test interrupts user mode with interrupts off");
	if (!nmi_handler)
		return false;
	fake_in_nmi = true;
	fake_irqs_off = true;
	if (first_handler)
		require(first_handler(NMI_LOCAL, &regs) == NMI_DONE, "the first NMI handler claims an NMI");
	theirs = perf_nmi();
	ret = nmi_handler(NMI_LOCAL, &regs);
	fake_irqs_off = old_irqs;
	fake_in_nmi = false;
	require(ret == NMI_DONE || ret == NMI_HANDLED, "the NMI handler returned %d", ret);
	return theirs || ret == NMI_HANDLED;
}

/* ---- reservation of counters -------------------------------------------- */

struct fake_reservation fake_pmcs, fake_evntsels;

/* The kernel has a BUG_ON() for higher indices. */
#define RESERVABLE	64

static bool reserve(struct fake_reservation *r, unsigned int index)
{
	require(index < RESERVABLE, "reservation of register %u", index);
	if ((r->ours | r->others) & BIT_ULL(index))
		return false;
	r->ours |= BIT_ULL(index);
	return true;
}

static void release(struct fake_reservation *r, unsigned int index)
{
	require(!may_rdpmc, "the rights to RDPMC outlive the reservation");
	require(index < RESERVABLE && (r->ours & BIT_ULL(index)),
		"register %u is released without being reserved", index);
	r->ours &= ~BIT_ULL(index);
}

int reserve_perfctr_nmi(unsigned int msr)
{
	return reserve(&fake_pmcs, model_pmc_number(msr));
}

void release_perfctr_nmi(unsigned int msr)
{
	release(&fake_pmcs, model_pmc_number(msr));
}

int reserve_evntsel_nmi(unsigned int msr)
{
	return reserve(&fake_evntsels, model_evntsel_number(msr));
}

void release_evntsel_nmi(unsigned int msr)
{
	release(&fake_evntsels, model_evntsel_number(msr));
}

/* ---- perf's events ------------------------------------------------------ */

struct fake_perf fake_perf;

int perfctr_x86_perf_find(unsigned int cpu)
{
	require(!fake_irqs_off && !fake_in_nmi, "perfctr_x86_perf_find() may sleep");
	require(fake_online[cpu], "the PMU of an offline CPU");
	if (!fake_perf.find_error)
		fake_perf.found |= BIT(cpu);
	return fake_perf.find_error;
}

u64 perfctr_x86_perf_watchdog(void)
{
	require(fake_perf.found, "perf's PMU is not known");
	return fake_perf.watchdog;
}

void perfctr_x86_perf_step_out(void)
{
	require(!fake_perf.reserved && !fake_perf.claimed, "perf is left without its functions");
	fake_perf.found = 0;
}

void perfctr_x86_admit_init(u64 kept)
{
	require(kept == fake_perf.watchdog, "other counters are kept than the watchdog's");
}

void perfctr_x86_perf_watch_maps(void)
{
	require(fake_perf.found, "perf's PMU is not known");
}

void perfctr_x86_perf_end(void)
{
	perfctr_x86_perf_step_out();
}

int perfctr_x86_perf_reserve(void)
{
	require(fake_perf.found, "perf's PMU is not known");
	if (fake_perf.busy || fake_perf.reserved)
		return -EBUSY;
	fake_perf.reserved = true;
	return 0;
}

void perfctr_x86_perf_settle(void)
{
	require(!fake_perf.reserved && !fake_irqs_off && !fake_in_nmi,
		"perfctr_x86_perf_settle() comes before a reservation, and may sleep");
}

void perfctr_x86_perf_release(void)
{
	require(fake_perf.reserved && !fake_perf.claimed, "CPUs are still claimed");
	fake_perf.reserved = false;
}

bool perfctr_x86_perf_claim(void)
{
	require(fake_irqs_off && fake_perf.reserved, "a CPU is claimed, and not reserved");
	require(!(fake_perf.claimed & BIT(fake_cpu)), "a CPU is claimed twice");
	if (fake_perf.busy & BIT(fake_cpu))
		return false;
	fake_perf.claimed |= BIT(fake_cpu);
	return true;
}

void perfctr_x86_perf_unclaim(void)
{
	require(fake_irqs_off && (fake_perf.claimed & BIT(fake_cpu)), "a CPU is not claimed");
	fake_perf.claimed &= ~BIT(fake_cpu);
}

void fake_check_unloadable(void)
{
	require(!fake_perf.found, "perf's functions are left diverted");
	require(!hotplug.startup && !hotplug.teardown && !hotplug.dying,
		"a hotplug state is left behind");
	require(!hotplug_lock, "cpus_read_lock() is left locked");
	require(!nmi_handler, "an NMI handler is left behind");
	require(!reboot_notifier, "a reboot notifier is left behind");
	require(!fake_pmcs.ours && !fake_evntsels.ours, "registers are left reserved");
	require(!may_rdpmc, "the rights to RDPMC are left");
	require(!pce_ready, "perfctr_x86_pce_exit() is not called");
	require(!watches_kvm, "perfctr_x86_kvm_exit() is not called");
}
