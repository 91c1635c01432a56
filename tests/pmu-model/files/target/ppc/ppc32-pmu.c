/*
 * Performance monitor of 32-bit PowerPCs: 604, 604e, 7xx, 74xx
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * MPC7450 RISC Microprocessor Family Reference Manual, MPC750 RISC Microprocessor Family
 * User's Manual and PowerPC 604e RISC Microprocessor User's Manual, "Performance Monitor".
 *
 * It needs icount, and counts two events: cycles (selector 1), which are nanoseconds
 * of virtual time, and instructions (selector 2, PMC1 to PMC4 only).  The counters advance
 * when they are read, when a register is written, when the mode changes, and by a timer when
 * one becomes negative.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/helper-proto.h"
#include "hw/ppc/ppc.h"
#include "qemu/timer.h"
#include "spr_common.h"
#include "system/cpu-timers.h"
#include "ppc32-pmu.h"

#if !defined(TARGET_PPC64) && !defined(CONFIG_USER_ONLY)

#define NR_PMCS         6

#define FC              0x80000000u     /* stop all counters */
#define FCS             0x40000000u     /* in supervisor mode */
#define FCP             0x20000000u     /* in user mode */
#define FCM1            0x10000000u     /* while MSR[PMM] is 1 */
#define FCM0            0x08000000u     /* while it is 0 */
#define PMXE            0x04000000u     /* interrupt when a counter is negative */
#define FCECE           0x02000000u     /* stop all counters then */
#define PMC1CE          0x00008000u     /* which counters: PMC1 */
#define PMCNCE          0x00004000u     /* the others */
#define NEGATIVE        0x80000000u

#define CYCLES          1
#define INSTRUCTIONS    2
#define NR_WITH_INSNS   4

static const int pmcs[NR_PMCS] = {
    SPR_7XX_PMC1, SPR_7XX_PMC2, SPR_7XX_PMC3, SPR_7XX_PMC4, SPR_7XX_PMC5, SPR_7XX_PMC6,
};

static bool has(CPUPPCState *env, int spr, const char *name)
{
    const char *is = env->spr_cb[spr].name;

    return is && !strcmp(is, name);
}

/* Return the event of a counter, from 0 */
static unsigned selector(CPUPPCState *env, int n)
{
    uint32_t mmcr0 = env->spr[SPR_7XX_MMCR0], mmcr1 = env->spr[SPR_7XX_MMCR1];

    switch (n) {
    case 0: return (mmcr0 >> 6) & 0x7f;
    case 1: return mmcr0 & 0x3f;
    case 2: return (mmcr1 >> 27) & 0x1f;
    case 3: return (mmcr1 >> 22) & 0x1f;
    case 4: return (mmcr1 >> 17) & 0x1f;
    default: return (mmcr1 >> 11) & 0x3f;
    }
}

static bool is_frozen(CPUPPCState *env)
{
    uint32_t mmcr0 = env->spr[SPR_7XX_MMCR0];

    return (mmcr0 & FC) ||
           (mmcr0 & (FIELD_EX64(env->msr, MSR, PR) ? FCP : FCS)) ||
           (mmcr0 & (FIELD_EX64(env->msr, MSR, PMM) ? FCM1 : FCM0));
}

static bool counts_cycles(CPUPPCState *env, int n)
{
    return selector(env, n) == CYCLES;
}

static bool counts_insns(CPUPPCState *env, int n)
{
    return n < NR_WITH_INSNS && selector(env, n) == INSTRUCTIONS;
}

/*
 * Let the counters advance to now.  To be called before a register of the monitor
 * or the mode changes.
 */
void ppc32_pmu_update(CPUPPCState *env)
{
    uint64_t now, insns;
    bool frozen;
    int n;

    if (!env->pmu32_timer) {
        return;
    }
    now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    /* reading the clock has brought this number up to date */
    insns = env_cpu(env)->icount_executed;
    frozen = is_frozen(env);
    for (n = 0; n < NR_PMCS && !frozen; n++) {
        uint32_t value = env->spr[pmcs[n]];

        if (counts_cycles(env, n)) {
            value += now - env->pmu32_ns;
        } else if (counts_insns(env, n)) {
            value += insns - env->pmu32_insns;
        }
        env->spr[pmcs[n]] = value;
    }
    env->pmu32_ns = now;
    env->pmu32_insns = insns;
}

static bool is_enabled(CPUPPCState *env, int n)
{
    return env->spr[SPR_7XX_MMCR0] & (n ? PMCNCE : PMC1CE);
}

/*
 * The counters are up to date: act on those that are negative, and start the timer for the next
 * one that will be.
 */
static void settle(CPUPPCState *env)
{
    int64_t first = INT64_MAX;
    bool met = false;
    int n;

    for (n = 0; n < NR_PMCS; n++) {
        met |= is_enabled(env, n) && (env->spr[pmcs[n]] & NEGATIVE);
    }
    if (met && (env->spr[SPR_7XX_MMCR0] & FCECE)) {
        env->spr[SPR_7XX_MMCR0] |= FC;
    }
    ppc_set_irq(env_archcpu(env), PPC_INTERRUPT_PERFM,
                met && (env->spr[SPR_7XX_MMCR0] & PMXE));
    for (n = 0; n < NR_PMCS && !met && !is_frozen(env); n++) {
        int64_t left = NEGATIVE - (uint32_t)env->spr[pmcs[n]];

        if (!is_enabled(env, n)) {
            continue;
        }
        if (counts_insns(env, n)) {
            left = icount_to_ns(left);
        } else if (!counts_cycles(env, n)) {
            continue;
        }
        first = MIN(first, left);
    }
    if (first == INT64_MAX) {
        timer_del(env->pmu32_timer);
    } else {
        timer_mod(env->pmu32_timer, env->pmu32_ns + first);
    }
}

void ppc32_pmu_mode_changed(CPUPPCState *env)
{
    if (env->pmu32_timer) {
        settle(env);
    }
}

/* The interrupt is taken, which clears its enable bit */
void ppc32_pmu_delivered(CPUPPCState *env)
{
    if (env->pmu32_timer) {
        env->spr[SPR_7XX_SIAR] = env->nip;
        env->spr[SPR_7XX_MMCR0] &= ~PMXE;
        ppc_set_irq(env_archcpu(env), PPC_INTERRUPT_PERFM, 0);
    }
}

void helper_ppc32_pmu_update(CPUPPCState *env)
{
    ppc32_pmu_update(env);
}

void helper_ppc32_pmu_store(CPUPPCState *env, uint32_t sprn, target_ulong value)
{
    ppc32_pmu_update(env);
    env->spr[sprn] = value;
    settle(env);
}

static void timer_cb(void *opaque)
{
    CPUPPCState *env = opaque;

    ppc32_pmu_update(env);
    settle(env);
}

static void take(CPUPPCState *env, int spr, const char *name)
{
    if (has(env, spr, name)) {
        env->spr_cb[spr].oea_read = env->spr_cb[spr].hea_read = spr_read_pmu32;
        env->spr_cb[spr].oea_write = env->spr_cb[spr].hea_write = spr_write_pmu32;
    }
}

static void take_user(CPUPPCState *env, int spr, const char *name)
{
    if (has(env, spr, name)) {
        env->spr_cb[spr].uea_read = spr_read_upmu32;
        env->spr_cb[spr].oea_read = env->spr_cb[spr].hea_read = spr_read_upmu32;
    }
}

/* The processor's registers have been made: let those of the monitor work */
void cpu_ppc32_pmu_init(CPUPPCState *env)
{
    if (getenv("QEMU_PPC32_PVR")) {
        env->spr_cb[SPR_PVR].oea_read = env->spr_cb[SPR_PVR].hea_read = spr_read_pvr32;
    }
    if (!icount_enabled() || !has(env, SPR_7XX_MMCR0, "MMCR0")) {
        return;
    }
    env->pmu32_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_cb, env);
    take(env, SPR_7XX_MMCR0, "MMCR0");
    take(env, SPR_7XX_MMCR1, "MMCR1");
    take(env, SPR_7XX_PMC1, "PMC1");
    take(env, SPR_7XX_PMC2, "PMC2");
    take(env, SPR_7XX_PMC3, "PMC3");
    take(env, SPR_7XX_PMC4, "PMC4");
    take(env, SPR_7XX_PMC5, "PMC5");
    take(env, SPR_7XX_PMC6, "PMC6");
    take_user(env, SPR_7XX_UMMCR0, "UMMCR0");
    take_user(env, SPR_7XX_UPMC1, "UPMC1");
    take_user(env, SPR_7XX_UPMC2, "UPMC2");
    take_user(env, SPR_7XX_UPMC3, "UPMC3");
    take_user(env, SPR_7XX_UPMC4, "UPMC4");
    take_user(env, SPR_7XX_UPMC5, "UPMC5");
    take_user(env, SPR_7XX_UPMC6, "UPMC6");
}

#endif
