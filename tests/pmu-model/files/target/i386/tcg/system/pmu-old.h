/*
 * Processors whose counters came before CPUID described any
 *
 * The vendor, the family and the model of the CPU model select one of these
 * kinds.  Their registers, apart from those that P6 shares with later processors:
 *
 *  Pentium, Pentium MMX, Cyrix 6x86MX, WinChip:
 *              CESR has a half for each of two counters, and there is no interrupt
 *  P6:         as version 1, but the enable bit of select 0 is that of both counters
 *  Pentium 4:  18 counters, a CCCR for each, and ESCRs, which select the events
 *  VIA C3:     one counter, number 1, which cannot be stopped; number 0 is the TSC
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define MSR_P5_CESR         0x11
#define MSR_P5_CTR0         0x12
#define MSR_P4_CTR0         0x300
#define MSR_P4_CCCR0        0x360
#define MSR_P4_ESCR0        0x3a0
#define MSR_P4_PEBS_ENABLE  0x3f1           /* and MATRIX_VERT after it */

#define CCCR_ENABLE         (1u << 12)
#define CCCR_COMPARE        (1u << 18)
#define CCCR_COMPLEMENT     (1u << 19)
#define CCCR_EXT_CASCADE    (1u << 11)
#define CCCR_FORCE_OVF      (1u << 25)
#define CCCR_PMI(thread)    (1u << (26 + (thread)))
#define CCCR_CASCADE        (1u << 30)
#define CCCR_THREADS        (3u << 16)
#define CCCR_OVF            (1u << 31)
#define ESCR_OS(thread)     (1u << (3 - 2 * (thread)))
#define ESCR_USR(thread)    (1u << (2 - 2 * (thread)))

#define P5_CLOCKS           0x100u          /* in a half of CESR, in place of an event */

#define MISC_PERF_AVAIL     (1u << 7)

#define VC3_EVNTSEL1        0x00070079u     /* after a reset */

static bool in_range(Reg *r, uint32_t msr, uint32_t first, uint64_t mask,
                     unsigned max, RegKind kind, unsigned base);
static uint64_t read_tsc(TCGPMU *p);

static void old_reset(TCGPMU *p)
{
    p->cesr = 0;
    if (p->kind == VC3) {
        p->sel[1] = VC3_EVNTSEL1;
    }
}

/* Find the kind of the vCPU's processor, and its model. */
static Kind find_kind(TCGPMU *p)
{
    CPUX86State *env = p->env;
    unsigned v = env->cpuid_version, family = (v >> 8) & 15;

    p->model = ((v >> 4) & 15) | (family >= 6 ? (v >> 12) & 0xf0 : 0);
    if (IS_INTEL_CPU(env)) {
        return family == 5 ? P5 : family == 15 ? P4 :
               family == 6 && p->model < 14 ? P6 : ARCH;
    }
    if (env->cpuid_vendor1 == 0x69727943) {             /* "Cyri" */
        return MII;
    }
    return IS_ZHAOXIN_CPU(env) ? family == 5 ? WINCHIP : VC3 : ARCH;
}

static unsigned old_width(Kind kind)
{
    return kind == MII ? 48 : kind == VC3 ? 32 : 40;
}

/* The counters that exist. */
static uint64_t old_gp_mask(Kind kind)
{
    return kind == VC3 ? 2 : MAKE_64BIT_MASK(0, kind == P4 ? 18 : 2);
}

/* True if no key is given that an old kind does not have. */
static bool is_valid_old(TCGPMU *p, uint64_t version, uint64_t fixed, uint64_t width)
{
    return !version && !fixed && width == old_width(p->kind) &&
           p->gp_mask == old_gp_mask(p->kind) && !p->has_caps && !p->has_masks &&
           !p->level && !p->has_pebs && !p->first_debugctl && !p->first_status;
}

/* True if the processor masks LVTPC when it delivers the interrupt. */
static bool masks_lvtpc(TCGPMU *p)
{
    return !p->amd && (p->kind != P6 || p->model == 9 || p->model == 13);
}

static Event p6_event(TCGPMU *p, unsigned i)
{
    switch (p->sel[i] & 0xff) {
    case 0xc0:
        return EV_INSN;
    case 0x79:
        return EV_CYC;
    default:
        return EV_NONE;
    }
}

/* A WinChip has no filters.  Its counters cannot be stopped. */
static Event winchip_event(TCGPMU *p, unsigned event)
{
    unsigned clocks = p->model == 4 ? 0 : 0x3f, instructions = p->model == 4 ? 2 : 0x16;

    return event == clocks ? EV_CYC : event == instructions ? EV_INSN : EV_NONE;
}

static Event p5_event(TCGPMU *p, unsigned i, unsigned *rings)
{
    unsigned half = p->cesr >> (16 * i) & 0xffff, event = half & 0x3f;

    if (p->kind == WINCHIP) {
        *rings = RING_0 | RING_3;
        return winchip_event(p, half & 0xff);
    }
    *rings = half >> 6 & 3;
    event |= p->kind == MII ? half >> 4 & 0x40 : 0;
    return half & P5_CLOCKS ? EV_CYC : event == 0x16 ? EV_INSN : EV_NONE;
}

static Event vc3_event(TCGPMU *p)
{
    unsigned event = p->sel[1] & 0x1ff;

    return event == 0x79 ? EV_CYC : (event & 0xff) == 0xc0 ? EV_INSN : EV_NONE;
}

/* Return the ESCR that a counter's CCCR selects, or NR_ESCR.  SDM volume 3, table 15-4. */
static unsigned p4_escr(unsigned i, uint32_t cccr)
{
    enum { NONE = 0xff };
    static const uint8_t map[4][8] = {
        { 0x12, 0x14, 0x0a, 0x16, 0x0c, 0x28, 0x02, 0x00 },
        { 0x20, 0x24, 0x22, NONE, NONE, NONE, NONE, NONE },
        { 0x06, 0x04, 0x0e, 0x10, NONE, 0x08, NONE, NONE },
        { 0x1a, 0x2a, 0x1c, 0x1e, 0x18, 0x2c, 0x40, NONE },
    };
    unsigned select = cccr >> 13 & 7;
    /* counters 16 and 17 belong to the pairs 12, 13 and 14, 15 */
    unsigned pair = (i == 16 ? 12 : i == 17 ? 14 : i) / 2;
    unsigned escr = map[pair / 2][select];

    return escr == NONE || (pair == 7 && select == 3) ? NR_ESCR : escr + (pair & 1);
}

static Event p4_event(TCGPMU *p, unsigned i, unsigned *rings)
{
    const uint32_t always = CCCR_COMPARE | CCCR_COMPLEMENT | 15u << 20;
    uint32_t cccr = p->sel[i], escr;
    unsigned e = p4_escr(i, cccr), event, mask;

    if (e == NR_ESCR) {
        return EV_NONE;
    }
    escr = p->regs->escr[e];
    event = escr >> 25 & 0x3f;
    mask = escr >> 9 & 0xffff;
    *rings = (escr & ESCR_OS(p->thread) ? RING_0 : 0) |
             (escr & ESCR_USR(p->thread) ? RING_3 : 0);
    if (!(cccr & CCCR_THREADS)) {
        return EV_NONE;         /* while no thread is active */
    }
    if ((cccr & always) == always) {
        return EV_CYC;          /* at most 15 in a cycle: in each one */
    }
    switch (e & ~1u) {
    case 0x18:                  /* CRU_ESCR0, 1: instr_retired, instr_completed */
        return (event == 2 || event == 7) && (mask & 1) ? EV_INSN : EV_NONE;
    case 0x02:                  /* FSB_ESCR0, 1: global_power_events */
        return event == 0x13 && (mask & 1) ? EV_CYC : EV_NONE;
    default:
        return EV_NONE;
    }
}

/* As is_enabled(), for old kinds. */
static bool old_is_enabled(TCGPMU *p, unsigned i)
{
    switch (p->kind) {
    case P6:
        return p->sel[0] & SEL_EN;
    case P4:
        return (p->sel[i] & CCCR_ENABLE) || (p->regs->cascaded >> i & 1);
    default:
        return true;
    }
}

/* As ctr_event(), for an enabled counter of an old kind. */
static Event old_event(TCGPMU *p, unsigned i, unsigned *rings, bool *intr)
{
    Event event;

    *rings = RING_0 | RING_3;
    *intr = false;
    switch (p->kind) {
    case P6:
        *rings = (p->sel[i] & SEL_OS ? RING_0 : 0) | (p->sel[i] & SEL_USR ? RING_3 : 0);
        *intr = p->sel[i] & SEL_INT;
        event = p6_event(p, i);
        break;
    case P4:
        *intr = p->sel[i] & (CCCR_PMI(0) | CCCR_PMI(1));
        event = p4_event(p, i, rings);
        break;
    case VC3:
        event = vc3_event(p);
        break;
    default:
        event = p5_event(p, i, rings);
    }
    return *rings ? event : EV_NONE;
}

/*
 * Return the counters that an overflow of this one starts: the counter at the same place
 * in the other pair of the block, and by extended cascading those of the IQ block that
 * SDM volume 3, table "CCR Names and Bit Positions", lists.
 */
static uint32_t p4_started_by(TCGPMU *p, unsigned i)
{
    unsigned partner = i ^ 2;
    uint32_t extended = i == 16 ? 1u << 12 | 1u << 17 : i == 17 ? 1u << 15 | 1u << 16 : 0;
    uint32_t started = 0;

    if (i < 16 && (p->sel[partner] & CCCR_CASCADE)) {
        started |= 1u << partner;
    }
    for (unsigned to = 12; to < 18; to++) {
        if ((extended >> to & 1) && (p->sel[to] & CCCR_EXT_CASCADE)) {
            started |= 1u << to;
        }
    }
    return started;
}

/* True if the moment of an overflow matters, although it raises no interrupt. */
static bool old_starts_others(TCGPMU *p, unsigned i)
{
    return p->kind == P4 && (p4_started_by(p, i) & ~p->regs->cascaded);
}

static bool old_forces_overflow(TCGPMU *p, unsigned i)
{
    return p->kind == P4 && (p->sel[i] & CCCR_FORCE_OVF);
}

/* True if a CCCR requests the interrupt of this thread: it does until OVF is cleared. */
static bool old_requests_interrupt(TCGPMU *p)
{
    for (unsigned i = 0; p->kind == P4 && i < p->gp; i++) {
        if ((p->sel[i] & CCCR_OVF) && (p->sel[i] & CCCR_PMI(p->thread))) {
            return true;
        }
    }
    return false;
}

/*
 * A counter has overflowed.  *report is whether this is reported to the vCPU.  The core's
 * other thread may have to be interrupted instead, or as well.
 */
static void old_overflow(TCGPMU *p, unsigned i, bool *report)
{
    if (p->kind != P4) {
        return;
    }
    p->sel[i] |= CCCR_OVF;
    p->regs->starting |= p4_started_by(p, i);
    *report = p->sel[i] & CCCR_PMI(p->thread);
    if (p->sibling && (p->sel[i] & CCCR_PMI(!p->thread))) {
        report_overflow(p->sibling);
    }
}

/* The counters that an overflow has started count from the next instruction on. */
static void old_start_others(TCGPMU *p)
{
    p->regs->cascaded |= p->regs->starting;
    p->regs->starting = 0;
}

/*
 * Two vCPUs of a core share one set of registers.  Each updates the counters by what it
 * executes itself.
 */
static void find_sibling(TCGPMU *p)
{
    CPUState *cs;

    p->regs = g_new0(Regs, 1);
    p->thread = p->kind == P4 && env_cpu(p->env)->nr_threads > 1 ?
                env_archcpu(p->env)->apic_id & 1 : 0;
    CPU_FOREACH(cs) {
        TCGPMU *other = cpu_env(cs)->tcg_pmu;

        if (other && p->kind == P4 && env_cpu(p->env)->nr_threads > 1 &&
            (X86_CPU(cs)->apic_id ^ env_archcpu(p->env)->apic_id) == 1) {
            g_free(p->regs);
            p->regs = other->regs;
            p->sibling = other;
            other->sibling = p;
        }
    }
    p->sel = p->regs->sel;
    p->ctr = p->regs->ctr;
}

/* The registers that are an old kind's own.  Return: false if msr is none of them. */
static bool find_old_reg(Reg *r, TCGPMU *p, uint32_t msr)
{
    bool has_misc = p->kind == P4 || (p->kind == P6 && (p->model == 9 || p->model == 13));
    /* processors from model 3 on have no IQ_ESCR0 and 1 */
    uint64_t escrs = p->model < 3 ? ~0ULL : ~(3ULL << 26);

    if (has_misc && msr == MSR_IA32_MISC_ENABLE) {
        r->kind = REG_MISC;
        return true;
    }
    r->full = p->kind != P6;
    switch (p->kind) {
    case P5: case MII: case WINCHIP:
        if (msr == MSR_P5_CESR) {
            r->kind = REG_CESR;
            return true;
        }
        return in_range(r, msr, MSR_P5_CTR0, 3, 2, REG_CTR, 0);
    case P4:
        return in_range(r, msr, MSR_P4_CTR0, p->gp_mask, 18, REG_CTR, 0) ||
               in_range(r, msr, MSR_P4_CCCR0, p->gp_mask, 18, REG_SEL, 0) ||
               /* the mask has 64 of them; the last two are 0x3e0 and 0x3e1 */
               in_range(r, msr, MSR_P4_ESCR0, escrs, 64, REG_ESCR, 0) ||
               in_range(r, msr, MSR_P4_ESCR0 + 64, 3, 2, REG_ESCR, 64) ||
               in_range(r, msr, MSR_P4_PEBS_ENABLE, 3, 2, REG_P4_PEBS, 0);
    case VC3:
        if (msr == MSR_P6_EVNTSEL0 || msr == MSR_P6_PERFCTR0) {
            r->kind = REG_FIRST_OF_VC3;
            r->i = msr == MSR_P6_PERFCTR0;
            return true;
        }
        return in_range(r, msr, MSR_P6_EVNTSEL0, 2, 2, REG_SEL, 0) ||
               in_range(r, msr, MSR_P6_PERFCTR0, 2, 2, REG_CTR, 0);
    case P6:
        return in_range(r, msr, MSR_P6_EVNTSEL0, 3, 2, REG_SEL, 0) ||
               in_range(r, msr, MSR_P6_PERFCTR0, 3, 2, REG_CTR, 0);
    default:
        return false;
    }
}

/* As reserved(), for registers of old kinds. */
static uint64_t old_reserved(TCGPMU *p, Reg r)
{
    switch (r.kind) {
    case REG_CESR:
        return ~(p->kind == P5 ? 0x03ff03ffULL : p->kind == MII ? 0x07ff07ffULL :
                 0x00ff00ffULL);
    case REG_SEL:
        return p->kind == P4 ? ~0xcffff800ULL :
               ~0xffffffffULL | (p->kind == P6 ? SEL_ANY | (r.i ? SEL_EN : 0) : 0);
    case REG_CTR:           /* P6's are extended from bit 31 */
        return r.full ? ~ctr_mask(p) : 0;
    case REG_ESCR:
        return ~0x7fffffffULL;
    case REG_P4_PEBS:
    case REG_MISC:
        return ~0xffffffffULL;
    default:
        return ~0ULL;
    }
}

/* Write to a register that no other processor has. */
static void old_write(TCGPMU *p, Reg r, uint64_t val)
{
    switch (r.kind) {
    case REG_CESR:
        p->cesr = val;
        break;
    case REG_ESCR:
        p->regs->escr[r.i] = val;
        break;
    case REG_P4_PEBS:
        p->regs->p4_pebs[r.i] = val;
        break;
    case REG_MISC:
        p->env->msr_ia32_misc_enable = val & ~(uint64_t)MISC_PERF_AVAIL;
        break;
    default:
        break;
    }
}

/* Counter 0 of VIA C3 is the lower part of the TSC. */
static uint64_t vc3_counter0(TCGPMU *p)
{
    return read_tsc(p) & MAKE_64BIT_MASK(0, 40);
}

/* Read a register that no other processor has.  Return: false if it is none. */
static bool old_read(TCGPMU *p, Reg r, uint64_t *val)
{
    switch (r.kind) {
    case REG_CESR:
        *val = p->cesr;
        return true;
    case REG_ESCR:
        *val = p->regs->escr[r.i];
        return true;
    case REG_P4_PEBS:
        *val = p->regs->p4_pebs[r.i];
        return true;
    case REG_MISC:          /* counters are available */
        *val = p->env->msr_ia32_misc_enable | MISC_PERF_AVAIL;
        return true;
    case REG_FIRST_OF_VC3:
        *val = r.i ? vc3_counter0(p) : 0;
        return true;
    default:
        return false;
    }
}

/*
 * RDPMC of an old kind: correct the index, and the mask of the result.  On the Pentium 4,
 * bit 31 of the index asks for the lower half only.
 *
 * Return: true if the instruction reads no counter, but the value in *val.
 */
static bool old_rdpmc(TCGPMU *p, uint32_t *index, uint64_t *mask, uint64_t *val)
{
    if (p->kind == P4 && *index >> 31) {
        *index &= INT32_MAX;
        *mask = UINT32_MAX;
    }
    if (p->kind == VC3 && !*index) {
        *val = vc3_counter0(p);
        return true;
    }
    return false;
}
