// SPDX-License-Identifier: GPL-2.0
/*
 * Reserve the counters of pmc.c against perf and other users in the kernel.  Prepare the
 * registers of a CPU that comes online, goes offline, or has slept.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/ratelimit.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <asm/nmi.h>

#include "regs.h"
#include "x86.h"
#include "pmc.h"

/* ---- reservation ------------------------------------------------------- */

/*
 * The number of reserved counters.  A kind of CPU that comes online later may have more.
 * The callers of reserve and release serialise.
 */
static unsigned int nr_reserved;

/* Return the number of counters to reserve: up to the last one of any kind of CPU. */
static unsigned int count_registers(void)
{
	const struct vperfctr_info *info;
	unsigned int kind, nr = 0;

	for (kind = 0; (info = perfctr_cpu_kind(kind)); kind++)
		nr = max_t(unsigned int, nr, fls64(info->pmc_mask));
	return nr;
}

/*
 * Reserve all general counters and event selects.
 *
 * perf reserves all general counters and event selects at its first hardware event,
 * which may be the NMI watchdog's.  It reserves nothing for fixed counters.  So the
 * owner of all general counters owns the whole unit, on all kinds of CPUs.
 */
static bool try_to_reserve(void)
{
	unsigned int i;

	nr_reserved = count_registers();
	for (i = 0; i < nr_reserved; i++) {
		if (!reserve_evntsel_nmi(evntsel_msr(i)))
			goto fail;
		if (!reserve_perfctr_nmi(pmc_msr(i))) {
			release_evntsel_nmi(evntsel_msr(i));
			goto fail;
		}
	}
	return true;
fail:
	while (i--) {
		release_evntsel_nmi(evntsel_msr(i));
		release_perfctr_nmi(pmc_msr(i));
	}
	return false;
}

void perfctr_x86_report_busy(void)
{
	/* A program may try in a loop. */
	static DEFINE_RATELIMIT_STATE(limit, 600 * HZ, 1);

	if (__ratelimit(&limit))
		pr_info("perf has the counters; if it is the NMI watchdog, 'sysctl kernel.nmi_watchdog=0' frees them, and on Intel's and AMD's processors also loading this module again\n");
}

int perfctr_x86_pmc_reserve(void)
{
	if (try_to_reserve())
		return 0;
	perfctr_x86_report_busy();
	return -EBUSY;
}

void perfctr_x86_pmc_release(void)
{
	unsigned int i = nr_reserved;

	while (i--) {
		release_evntsel_nmi(evntsel_msr(i));
		release_perfctr_nmi(pmc_msr(i));
	}
}

/* ---- on each CPU ------------------------------------------------------- */

static void clear_counters(const struct vperfctr_info *kind)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (kind->pmc_mask & BIT_ULL(i))
			clear_counter(i);
	}
	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if (kind->fixed_mask & BIT_ULL(i))
			clear_counter(VPERFCTR_FIXED | i);
	}
}

/* Clear the counters that this module left nonzero.  A read is cheaper than a write. */
static void clear_leftovers(const struct vperfctr_info *kind)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if ((kind->pmc_mask & BIT_ULL(i)) && perfctr_rdpmc(i))
			clear_counter(i);
	}
	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if ((kind->fixed_mask & BIT_ULL(i)) && perfctr_rdpmc(VPERFCTR_FIXED | i))
			clear_counter(VPERFCTR_FIXED | i);
	}
}

/*
 * Cache the values of the extra registers.  These count nothing by themselves, and perf
 * writes one whenever it starts an event that needs it.  So they need no clearing.
 */
static void read_extra(struct pmc_cpu *cpu)
{
	unsigned int i;

	for (i = 0; i < pmu->nr_extra; i++) {
		if (perfctr_rdmsr_safe(perfctr_x86_extra_msrs[i], &cpu->extra[i]))
			cpu->extra[i] = 0;	/* the register does not exist */
	}
}

/*
 * Settings that stop the counters at an overflow, or turn its interrupt into a PEBS record.
 * Firmware or other modules may leave them.  perf up to Linux 5.10 has an option that sets
 * the first.  SDM volume 3, "Freezing LBR and Performance Counters on PMI" and
 * "IA32_PERF_GLOBAL_STATUS MSR".  AMD's PerfMonV2 has bits 12, 58 and 59 of the same registers.
 */
#define DEBUGCTL_FREEZE		BIT_ULL(12)	/* FREEZE_PERFMON_ON_PMI */
#define STATUS_ARCH_PEBS	BIT_ULL(54)	/* a buffer of version 6 has records */
#define STATUS_LBR_FRZ		BIT_ULL(58)
#define STATUS_CTR_FRZ		BIT_ULL(59)	/* no counter counts while it is set */
#define STATUS_DS		BIT_ULL(62)	/* the buffer of PEBS or BTS is full */
#define STATUS_COND		BIT_ULL(63)
#define STATUS_OTHERS		(PERFCTR_X86_STATUS_METRICS | STATUS_ARCH_PEBS | STATUS_LBR_FRZ | \
				 STATUS_CTR_FRZ | STATUS_DS | STATUS_COND)

/*
 * Version 6: each counter may have two more registers.  CFG_C lets it write a PEBS record at
 * an overflow instead of an interrupt, and CFG_B lets it take a new value when another one
 * overflows.  perf writes them only as it starts an event, and only if they differ from
 * what it wrote last.  They act on every event that the counter counts, so a
 * leftover would change our counts.  SDM volume 3, "Architectural PEBS" and "Auto Counter
 * Reload"; perf: intel_pmu_disable_event_ext(), intel_pmu_config_acr().
 *
 * Call @func for each of them that may exist.
 */
static void call_cfgs(struct pmc_cpu *cpu, void (*func)(u32 msr, u64 *saved))
{
	const struct vperfctr_info *kind = perfctr_kind_here();
	u64 counters = kind->pmc_mask | kind->fixed_mask << 32;
	unsigned int i, n;

	if (!pmu->has_cfg)
		return;
	for (i = 0; i < ARRAY_SIZE(cpu->saved_cfg); i++) {
		bool fixed = i >= PERFCTR_X86_MAX_PMC;
		unsigned int index = fixed ? i - PERFCTR_X86_MAX_PMC : i;
		u32 msr = cfg_msr(fixed ? VPERFCTR_FIXED | index : index);

		if (!(counters & BIT_ULL(fixed ? 32 + index : index)))
			continue;
		for (n = 0; n < 2; n++)
			func(msr + n, &cpu->saved_cfg[i][n]);
	}
}

static void save_cfg(u32 msr, u64 *saved)
{
	if (perfctr_rdmsr_safe(msr, saved))
		*saved = 0;	/* the counter does not have it */
}

/* Clear a CFG register.  After a sleep, it may have another value than the one that is saved. */
static void clear_cfg(u32 msr, u64 *saved)
{
	u64 value;

	if (!perfctr_rdmsr_safe(msr, &value) && value)
		perfctr_wrmsr_safe(msr, 0);
}

static void restore_cfg(u32 msr, u64 *saved)
{
	if (*saved)
		perfctr_wrmsr_safe(msr, *saved);
}

/*
 * Stop and clear what else perf may have left: freezing, PEBS, its configurations.  Return: true
 * if overflows froze the counters.
 */
static bool unfreeze(void)
{
	u64 value, status;
	bool freeze = false;

	if (!pmu->debugctl)
		return false;
	if (!perfctr_rdmsr_safe(pmu->debugctl, &value) && (value & DEBUGCTL_FREEZE))
		freeze = !perfctr_wrmsr_safe(pmu->debugctl, value & ~DEBUGCTL_FREEZE);
	if (pmu->pebs_enable && !perfctr_rdmsr_safe(pmu->pebs_enable, &value) && value)
		perfctr_wrmsr_safe(pmu->pebs_enable, 0);
	call_cfgs(this_cpu_ptr(&perfctr_x86_pmc_cpu), clear_cfg);
	/* Bits of other units, such as Processor Trace, stay. */
	if (!perfctr_rdmsr_safe(pmu->global_status, &status) && (status & STATUS_OTHERS))
		perfctr_wrmsr_safe(pmu->global_clear, status & STATUS_OTHERS);
	return freeze;
}

/* Let overflows freeze the counters again.  Other units may have changed other bits meanwhile. */
static void freeze_again(void)
{
	u64 value;

	if (!perfctr_rdmsr_safe(pmu->debugctl, &value))
		perfctr_wrmsr_safe(pmu->debugctl, value | DEBUGCTL_FREEZE);
}

/* The fields of the counters that are kept, in both halves of the fixed counters' register. */
static u64 kept_fields(void)
{
	u64 fields = 0;
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_FIXED; i++) {
		if (pmu->kept & BIT_ULL(32 + i))
			fields |= FIXED_FIELDS(i);
	}
	return fields;
}

/*
 * Clear PERF_METRICS, which divides what fixed counter 3 counts, after that counter.  It does not
 * count while the counters are ours, as its bit in GLOBAL_CTRL is clear.  But a process that may
 * RDPMC can read what perf's last event has left there.  perf writes both when it starts such
 * an event.  Kinds without it lack fixed counter 3, too.  SDM volume 3, "Performance Metrics".
 */
static void clear_metrics(const struct vperfctr_info *kind)
{
	u64 value;

	if (pmu->metrics && (kind->fixed_mask & BIT_ULL(3)) &&
	    !perfctr_rdmsr_safe(pmu->metrics, &value) && value)
		perfctr_wrmsr_safe(pmu->metrics, 0);
}

/* Stop and clear everything but what is kept, whatever the registers hold. */
static void clear_registers(struct pmc_cpu *cpu)
{
	const struct vperfctr_info *kind = perfctr_kind_here();
	u64 fixed_ctrl = cpu->saved_fixed_ctrl & kept_fields();
	unsigned int i;

	if (pmu->global_ctrl) {
		perfctr_wrmsr(pmu->global_ctrl, 0);
		if (kind->fixed_mask)
			perfctr_wrmsr(pmu->fixed_ctrl, fixed_ctrl);
	}
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (kind->pmc_mask & BIT_ULL(i))
			perfctr_wrmsr(evntsel_msr(i), 0);
	}
	clear_counters(kind);
	clear_metrics(kind);
	if (pmu->global_ctrl)
		perfctr_wrmsr(pmu->global_clear, kind->pmc_mask | kind->fixed_mask << 32);

	cpu->id = 0;
	WRITE_ONCE(cpu->loaded, 0);
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	cpu->cleared = false;
	WRITE_ONCE(cpu->global_ctrl, pmu->kept);
	WRITE_ONCE(cpu->fixed_ctrl, fixed_ctrl);
	memset(cpu->evntsel, 0, sizeof(cpu->evntsel));
	read_extra(cpu);
}

/*
 * Start the counter of the NMI watchdog, which clear_registers() has stopped.  The CPU is ready:
 * perf's NMI handler may stop it again, and perfctr_x86_pmc_repair() undoes that only then.
 */
static void start_kept(void)
{
	if (pmu->kept && pmu->global_ctrl)
		perfctr_wrmsr(pmu->global_ctrl, pmu->kept);
}

/*
 * Restore the registers that perf caches.  The writes may fault: the self-test may have
 * failed.  Our own cached values must stay right, as a thread may still be switched in
 * here: see the hotplug callbacks in driver.c.
 */
static void give_back(struct pmc_cpu *cpu)
{
	if (!pmu->global_ctrl)
		return;
	if (perfctr_kind_here()->fixed_mask) {
		cpu->fixed_ctrl = cpu->saved_fixed_ctrl;
		perfctr_wrmsr_safe(pmu->fixed_ctrl, cpu->fixed_ctrl);
	}
	cpu->global_ctrl = cpu->saved_global_ctrl;
	perfctr_wrmsr_safe(pmu->global_ctrl, cpu->global_ctrl);
	call_cfgs(cpu, restore_cfg);
	if (cpu->saved_freeze)
		freeze_again();
}

/*
 * perf has taken an event off a counter that is kept, and may have written the fixed
 * counters' control register as it believes it to be.  Write ours back.
 *
 * Newer kernels write this register only as perf enables its PMU, and only if it differs
 * from the last value.  So what the register holds now is what give_back() must restore.
 */
void perfctr_x86_pmc_unkept(int bit)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	u64 field, now;

	if (bit < 32 || bit >= 32 + PERFCTR_X86_MAX_FIXED || !(pmu->kept & BIT_ULL(bit)) ||
	    perfctr_rdmsr_safe(pmu->fixed_ctrl, &now))
		return;
	field = FIXED_FIELDS(bit - 32);
	cpu->saved_fixed_ctrl = (cpu->saved_fixed_ctrl & ~field) | (now & field);
	WRITE_ONCE(cpu->fixed_ctrl, cpu->fixed_ctrl & ~field);
	perfctr_wrmsr(pmu->fixed_ctrl, cpu->fixed_ctrl);
}

/*
 * perf tries a counter as the kernel boots.  It then leaves this value in it, which it does not
 * clear later, and no event of perf's ends at it: counters begin half their width below zero.
 * Linux, check_hw_exists() in arch/x86/events/core.c.
 */
#define AFTER_TRIAL	0xffff

/* True if all counters are zero, as we leave them.  perf does not clear its counters. */
static bool are_zero(const struct vperfctr_info *kind)
{
	u64 counters = kind->pmc_mask | kind->fixed_mask << 32, now;
	unsigned int bit;

	for (bit = 0; bit < 32 + PERFCTR_X86_MAX_FIXED; bit++) {
		if ((counters & BIT_ULL(bit)) &&
		    (perfctr_rdpmc_safe(bit < 32 ? bit : VPERFCTR_FIXED | (bit - 32), &now) ||
		     (now && !(bit < 32 && now == AFTER_TRIAL))))
			return false;
	}
	return true;
}

/* Find an event select that is enabled.  Return: its number, or -1. */
static int find_enabled(const struct vperfctr_info *kind, u64 *evntsel)
{
	unsigned int i;

	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if ((kind->pmc_mask & BIT_ULL(i)) &&
		    !perfctr_rdmsr_safe(evntsel_msr(i), evntsel) &&
		    (*evntsel & PERFCTR_X86_EVNTSEL_EN))
			return i;
	}
	return -1;
}

/* User or kernel mode, in the field of any fixed counter.  Other bits enable no counter. */
#define FIXED_ENABLED	0x33333333ULL

/* Return the fields that may enable fixed counters, without those of the ones that are kept. */
static u64 read_fixed_fields(const struct vperfctr_info *kind)
{
	u64 value;

	if (!kind->fixed_mask || perfctr_rdmsr_safe(pmu->fixed_ctrl, &value))
		return 0;
	return (u32)value & ~kept_fields();
}

/*
 * Fixed counters 1 and 2, as some firmware leaves them.  perf reports the same value as it
 * boots, and lets them run until it first writes the register.
 */
#define FIXED_BY_FIRMWARE	0x330

bool perfctr_x86_pmc_is_idle(void)
{
	const struct vperfctr_info *kind = perfctr_kind_here();
	u64 evntsel, fixed = read_fixed_fields(kind);

	return find_enabled(kind, &evntsel) < 0 &&
	       (!(fixed & FIXED_ENABLED) || fixed == (FIXED_BY_FIRMWARE & ~kept_fields()));
}

/*
 * Warn if a counter is enabled.  perf disables its counters when it stops counting, so this
 * is firmware, a hypervisor, or a program that writes MSRs.  It may do so again.  perf
 * reports firmware that leaves 330H in the fixed counters' register, for example.
 */
static void warn_of_others(const struct vperfctr_info *kind)
{
	u64 evntsel, fixed = read_fixed_fields(kind) & FIXED_ENABLED;
	int i = find_enabled(kind, &evntsel);

	if (fixed)
		pr_warn_once("CPU %u: fixed counters were counting for firmware or another program (control %#llx); counts may be wrong if that continues\n",
			     smp_processor_id(), fixed);
	if (i >= 0)
		pr_warn_once("CPU %u: counter %d was counting for firmware or another program (event select %#llx); counts may be wrong if that continues\n",
			     smp_processor_id(), i, evntsel);
}

int perfctr_x86_pmc_cpu_start(bool test)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	int err = 0;

	if (test)
		warn_of_others(perfctr_kind_here());
	if (!are_zero(perfctr_kind_here()))
		perfctr_x86_pce_suspect();

	if (pmu->global_ctrl) {
		perfctr_rdmsr_safe(pmu->global_ctrl, &cpu->saved_global_ctrl);
		if (perfctr_kind_here()->fixed_mask)
			perfctr_rdmsr_safe(pmu->fixed_ctrl, &cpu->saved_fixed_ctrl);
	}
	call_cfgs(cpu, save_cfg);
	cpu->saved_freeze = unfreeze();
	if (test)
		err = perfctr_x86_selftest(perfctr_kind_here());
	if (err) {
		give_back(cpu);
		return err;
	}
	clear_registers(cpu);
	WRITE_ONCE(cpu->ready, PMC_PREPARED);
	start_kept();
	return 0;
}

void perfctr_x86_pmc_cpu_stop(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);

	WRITE_ONCE(cpu->ready, 0);
	clear_registers(cpu);
	perfctr_x86_unmark_holder();
	give_back(cpu);
}

void perfctr_x86_pmc_cpu_forget(void)
{
	unfreeze();
	clear_registers(this_cpu_ptr(&perfctr_x86_pmc_cpu));
	start_kept();
}

/* Stop the counters for good.  The interrupted code may be using them, but starts none any more. */
void perfctr_x86_pmc_cpu_halt(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	unsigned int i;

	WRITE_ONCE(cpu->ready, 0);
	WRITE_ONCE(cpu->id, 0);
	WRITE_ONCE(cpu->armed, NULL);
	WRITE_ONCE(cpu->running, NULL);
	if (pmu->global_ctrl) {
		WRITE_ONCE(cpu->global_ctrl, pmu->kept);
		perfctr_wrmsr(pmu->global_ctrl, pmu->kept);
		return;
	}
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (!READ_ONCE(cpu->evntsel[i]))
			continue;
		WRITE_ONCE(cpu->evntsel[i], 0);
		perfctr_wrmsr(evntsel_msr(i), 0);
	}
}

static void write_clear(u64 *cached, u32 msr, u64 keep)
{
	u64 value = *cached & keep;

	if (*cached == value)
		return;
	WRITE_ONCE(*cached, value);
	perfctr_wrmsr(msr, value);
}

/*
 * Leave no counter enabled to the next kernel.  A kernel that finds one as it boots reports
 * broken firmware, and does not expect the interrupt of an overflow.
 */
void perfctr_x86_pmc_cpu_quiet(void)
{
	const struct vperfctr_info *kind = perfctr_kind_here();
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	unsigned int i;

	perfctr_x86_pmc_cpu_halt();
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++) {
		if (kind->pmc_mask & BIT_ULL(i))
			write_clear(&cpu->evntsel[i], evntsel_msr(i), 0);
	}
	if (!pmu->global_ctrl)
		return;
	if (kind->fixed_mask)
		write_clear(&cpu->fixed_ctrl, pmu->fixed_ctrl, kept_fields());
	perfctr_wrmsr(pmu->global_clear, kind->pmc_mask | kind->fixed_mask << 32);
}

/* Stop what earlier threads have left running. */
static void stop_all(struct pmc_cpu *cpu)
{
	unsigned int i;

	if (pmu->global_ctrl) {
		if (cpu->global_ctrl == pmu->kept)
			return;
		WRITE_ONCE(cpu->global_ctrl, pmu->kept);
		perfctr_wrmsr(pmu->global_ctrl, pmu->kept);
		return;
	}
	for (i = 0; i < PERFCTR_X86_MAX_PMC; i++)
		write_clear(&cpu->evntsel[i], evntsel_msr(i), 0);
}

void perfctr_x86_pmc_cpu_scrub(void)
{
	struct pmc_cpu *cpu = this_cpu_ptr(&perfctr_x86_pmc_cpu);
	struct perfctr_cpu_state *state = cpu->running;

	if (!cpu->ready)
		return;
	/* The running state may count from a value that another thread left. */
	if (state) {
		perfctr_tell_restarting(state);
		state = cpu->running;
	}
	if (state)
		perfctr_x86_pmc_suspend(state);
	stop_all(cpu);
	clear_leftovers(perfctr_kind_here());
	/* The next resume marks this CPU again, and loads its control. */
	cpu->id = 0;
	WRITE_ONCE(cpu->loaded, 0);
	WRITE_ONCE(cpu->ready, PMC_PREPARED);
	perfctr_x86_unmark_holder();
	if (!state)
		return;
	perfctr_x86_pmc_resume(state);
	perfctr_tell_restarted(state);
}
