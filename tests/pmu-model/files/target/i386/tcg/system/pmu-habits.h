/*
 * Habits of real processors, which the model has only if QEMU_X86_PMU asks for them
 *
 * The options are for tests of software that must get along with them.  The README of the
 * model lists them.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

static void agent_cb(void *opaque);

/* The same numbers in each run: xorshift64. */
static uint64_t next_random(TCGPMU *p)
{
    uint64_t x = p->habits.random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return p->habits.random = x;
}

/* Return how late an interrupt is, besides `late`. */
static uint64_t skid_ns(TCGPMU *p)
{
    return p->habits.skid ? next_random(p) % (p->habits.skid + 1) : 0;
}

static void habits_init(TCGPMU *p)
{
    p->habits.events_absent = 0x78;     /* cache and branch events */
    /* of the off-core and front-end registers: all bits that any processor has */
    p->habits.aux_bits[0] = MAKE_64BIT_MASK(0, 46);
    p->habits.aux_bits[1] = MAKE_64BIT_MASK(0, 24);
    p->habits.agent_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, agent_cb, p);
}

/* Context: in a section, or a timer. */
static void plan_agent(TCGPMU *p)
{
    if (p->habits.agent && !timer_pending(p->habits.agent_timer)) {
        timer_mod_ns(p->habits.agent_timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + 1 +
                     next_random(p) % (2 * p->habits.agent));
    }
}

static void habits_reset(TCGPMU *p)
{
    p->habits.random = 88172645463325252ULL + env_cpu(p->env)->cpu_index;
    p->habits.brief = 0;
    timer_del(p->habits.agent_timer);   /* until the first WRMSR */
}

/* Read an option.  Return false if it is none of these. */
static bool habits_key(TCGPMU *p, const char *key, uint64_t val)
{
    Habits *h = &p->habits;

    if (!strcmp(key, "mute")) {
        h->mute = val;
    } else if (!strcmp(key, "noread")) {
        h->no_read = val;
    } else if (!strcmp(key, "plus")) {
        h->plus = val;
    } else if (!strcmp(key, "agent")) {
        h->agent = val;
    } else if (!strcmp(key, "skid")) {
        h->skid = MIN(val, UINT32_MAX);
    } else if (!strcmp(key, "shortest")) {
        h->shortest = MIN(val, UINT32_MAX);
    } else if (!strcmp(key, "home")) {
        h->home = val;
    } else if (!strcmp(key, "rspbits")) {
        h->aux_bits[0] = val;
    } else if (!strcmp(key, "frontbits")) {
        h->aux_bits[1] = val;
    } else if (!strcmp(key, "absent")) {
        h->events_absent = val;
    } else {
        return false;
    }
    return true;
}

static bool habits_valid(TCGPMU *p)
{
    const Habits *h = &p->habits;

    return !(h->mute && !p->amd) && h->agent <= INT32_MAX && h->skid <= INT32_MAX &&
           !(p->amd && (h->home || h->no_read || h->agent));
}

/* Without a PMU, KVM lets a guest of AMD's read 0, and drops what it writes. */
static bool is_mute(TCGPMU *p, Reg r)
{
    return p->habits.mute && (r.kind == REG_SEL || r.kind == REG_CTR);
}

/*
 * The reserved bits of AMD's event selects: 19, 21, 36 to 39 and 42 to 63; before family
 * 10h all from 32 on.  APM volume 2, "Performance Event-Select Registers"; BKDG of family
 * 0Fh, "PERF_CTL".
 */
static uint64_t amd_reserved(TCGPMU *p)
{
    unsigned family = p->env->cpuid_version >> 8 & 15;

    family += family == 15 ? p->env->cpuid_version >> 20 & 0xff : 0;
    return ~(0xffd7ffffULL | (family >= 0x10 ? 0xf00000000ULL | SEL_GUEST | SEL_HOST : 0));
}

/* shortest=N: too few events are left for the interrupt of this overflow. */
static void habits_ctr_written(TCGPMU *p, unsigned i)
{
    bool brief = events_left(p, i) < p->habits.shortest;

    p->habits.brief = (p->habits.brief & ~global_bit(i)) | (brief ? global_bit(i) : 0);
}

/*
 * plus=1: counters of instructions count an interrupt or exception where it comes.  Many
 * x86 processors do: Weaver, Terpstra, Moore, "Non-determinism and overcount on modern
 * hardware performance counter implementations", ISPASS 2013.
 */
void tcg_pmu_interrupted(CPUX86State *env)
{
    TCGPMU *p = env->tcg_pmu;
    bool report = false;
    Section s;

    if (!p || !p->habits.plus || !p->active) {
        return;
    }
    s = section_begin(p);
    advance(p);
    FOREACH_CTR(p, i) {
        unsigned times, rings;
        bool intr;

        if (ctr_event(p, i, &times, &rings, &intr) != EV_INSN || !(rings & cur_ring(p))) {
            continue;
        }
        p->ctr[i]++;
        if (p->ctr[i] > ctr_mask(p)) {
            p->ctr[i] &= ctr_mask(p);
            p->status |= global_bit(i);
            report |= intr;
        }
    }
    if (report) {
        report_overflow(p);
    }
    replan(p);
    section_end(p, s);
}

/* True if a counter is programmed that raises no interrupt. */
static bool has_plain_counter(TCGPMU *p)
{
    FOREACH_CTR(p, i) {
        if ((i < FIXED ? p->sel[i] & SEL_EN : p->fixed_ctrl >> (4 * (i - FIXED)) & 3) &&
            !raises_interrupts(p, i)) {
            return true;
        }
    }
    return false;
}

/*
 * agent=N: at random times, on average each N ns, GLOBAL_CTRL changes and an NMI comes.
 * This is what perf's handler does at an interrupt of Intel PT: it leaves all counters
 * stopped or, if perf has used them before, all enabled.  Here LVTPC is masked besides.
 * Nothing happens while the NMI could not come at once, or while no counter without an
 * interrupt is programmed: perf, which would not know the NMI, has none.
 */
static void agent_work(CPUState *cs, run_on_cpu_data data)
{
    TCGPMU *p = data.host_ptr;
    APICCommonState *s = APIC_COMMON(env_archcpu(p->env)->apic_state);
    uint32_t lvt = s ? s->lvt[APIC_LVT_PERFORM] : APIC_LVT_MASKED;
    Section section;

    if ((lvt & APIC_LVT_MASKED) || ((lvt >> 8) & 7) != APIC_DM_NMI || p->gone ||
        (p->env->hflags2 & HF2_NMI_MASK) || timer_pending(p->late_timer) ||
        !has_plain_counter(p)) {
        return;
    }
    section = section_begin(p);
    advance(p);
    p->ctrl = next_random(p) & 1 ? global_bits(p) : 0;
    s->lvt[APIC_LVT_PERFORM] |= APIC_LVT_MASKED;
    interrupt(p, lvt);
    replan(p);
    section_end(p, section);
}

static void agent_cb(void *opaque)
{
    TCGPMU *p = opaque;

    async_run_on_cpu(env_cpu(p->env), agent_work, RUN_ON_CPU_HOST_PTR(p));
    plan_agent(p);
}
