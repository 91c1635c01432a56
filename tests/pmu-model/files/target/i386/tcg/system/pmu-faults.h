/*
 * Faults of processors, for tests that must detect them
 *
 * RDPMC with ECX = 0x7fff0300 + n plants fault n in the vCPU that executes it,
 * in place of the one before; 0 is none.  Most of the faults are seen by one
 * kind of use only, so that a test can tell which of its checks finds them.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */


/* Return the events until a counter overflows. */
static uint64_t events_left(TCGPMU *p, unsigned i)
{
    return ctr_mask(p) + 1 - p->ctr[i];
}

static int64_t virtual_ns(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static bool raises_interrupts(TCGPMU *p, unsigned i)
{
    return i < FIXED ? p->sel[i] & SEL_INT : p->fixed_ctrl >> (4 * (i - FIXED)) & 8;
}

/* Return once in `of` events, summed over the calls: how many more to count. */
static uint64_t one_in(TCGPMU *p, uint64_t events, unsigned of)
{
    uint64_t more;

    p->fault_rest += events;
    more = p->fault_rest / of;
    p->fault_rest %= of;
    return more;
}

static unsigned nr_enabled(TCGPMU *p)
{
    unsigned nr = 0;

    FOREACH_CTR(p, i) {
        nr += is_enabled(p, i);
    }
    return nr;
}

/* True if the other hyper-thread counts an event that disturbs this one. */
static bool is_disturbed(TCGPMU *p)
{
    CPUState *cs = qemu_get_cpu(env_cpu(p->env)->cpu_index ^ 1);
    TCGPMU *other = cs ? X86_CPU(cs)->env.tcg_pmu : NULL;

    if (!other) {
        return false;
    }
    for (unsigned i = 0; i < other->gp; i++) {
        if (is_enabled(other, i) && (other->sel[i] & 0xfc) == 0xd0) {
            return true;
        }
    }
    return false;
}

/* Return how many events counter i counts in addition to these. */
static uint64_t fault_more(TCGPMU *p, unsigned i, uint64_t events)
{
    switch (p->fault) {
    case FAULT_OVERCOUNT:
        return i == 2 ? one_in(p, events, 14000) : 0;
    case FAULT_CROWD:
        return i == 2 && nr_enabled(p) > 4 ? one_in(p, events, 1000) : 0;
    case FAULT_KERNEL:
        return i == 1 && cur_ring(p) == RING_0 ? one_in(p, events, 10) : 0;
    case FAULT_SIBLING:
        return is_disturbed(p) ? one_in(p, events, 100) : 0;
    default:
        return 0;
    }
}

/* Add to all counters of instructions that count. */
static void add_to_all(TCGPMU *p, uint64_t n)
{
    bool report = false;

    FOREACH_CTR(p, i) {
        unsigned times, rings;
        bool intr;

        if (ctr_event(p, i, &times, &rings, &intr) != EV_INSN) {
            continue;
        }
        p->ctr[i] += n;
        if (p->ctr[i] > ctr_mask(p)) {
            p->ctr[i] &= ctr_mask(p);
            p->status |= global_bit(i);
            report |= intr;
        }
    }
    if (report) {
        report_overflow(p);
    }
}

/* The vCPU that disabled all counters last, and when: a thread may have left it. */
static int left_cpu;
static int64_t left_at;

/* True if a thread seems to have come from another vCPU. */
static bool has_moved(TCGPMU *p)
{
    return left_cpu != env_cpu(p->env)->cpu_index && virtual_ns() - left_at < 1000000;
}

/* GLOBAL_CTRL has enabled counters, after that many ns. */
static void fault_enabled(TCGPMU *p, int64_t ns)
{
    switch (p->fault) {
    case FAULT_ENABLE:
        add_to_all(p, 1);
        break;
    case FAULT_MOVE:
        add_to_all(p, has_moved(p) ? 20 : 0);
        break;
    case FAULT_WAKE:
        add_to_all(p, ns > 19000000 && ns < 60000000 ? 10000 : 0);
        break;
    case FAULT_LEAK:
        add_to_all(p, ns > 90000000 ? 20000 : 0);
        break;
    case FAULT_JUMP:
        add_to_all(p, 1000000);
        break;
    default:
        break;
    }
}

/* GLOBAL_CTRL will disable all counters. */
static void fault_disabling(TCGPMU *p)
{
    FOREACH_CTR(p, i) {
        if (!is_enabled(p, i)) {
            continue;
        }
        if (!raises_interrupts(p, i)) {
            p->plain_until = virtual_ns();
        }
        if (p->fault == FAULT_LOSS && raises_interrupts(p, i) &&
            events_left(p, i) < 300) {
            p->ctr[i] -= 30;
        }
        if (p->fault == FAULT_BACK && (p->status & p->picked) &&
            !(p->picked & global_bit(i))) {
            p->ctr[i] -= 200;
        }
    }
}

static void fault_ctrl(TCGPMU *p, uint64_t old, uint64_t val)
{
    uint64_t bits = global_bits(p);

    if ((old & bits) && !(val & bits)) {
        p->off_since = virtual_ns();
        left_cpu = env_cpu(p->env)->cpu_index;
        left_at = p->off_since;
        fault_disabling(p);
    }
}

static void fault_ctrl_written(TCGPMU *p, uint64_t old)
{
    uint64_t bits = global_bits(p);

    if (!(old & bits) && (p->ctrl & bits)) {
        fault_enabled(p, virtual_ns() - p->off_since);
    }
}

/* A counter has been set: find the one that the fault is about. */
static void fault_ctr_written(TCGPMU *p, unsigned i)
{
    uint64_t left = events_left(p, i);
    bool pick = false;

    switch (p->fault) {
    case FAULT_STUCK:
        if ((left & 0xffff) == 0x5555) {
            p->ctr[i] |= 1ULL << 22;
        }
        break;
    case FAULT_SHORT:
        pick = left <= 2;
        break;
    case FAULT_EARLY:
        pick = left == 10007;
        break;
    case FAULT_BACK:
        pick = left == 50;
        break;
    case FAULT_LVTPC:
        pick = left == 20011;
        break;
    default:
        break;
    }
    p->picked = (p->picked & ~global_bit(i)) | (pick ? global_bit(i) : 0);
}

/* A select register has been written: do counters with interrupts not count? */
static void fault_select_written(TCGPMU *p, bool interrupts)
{
    p->worn = p->fault == FAULT_PERF && interrupts &&
              virtual_ns() - p->plain_until < 5000000;
}

/* Return false if counter i does not count. */
static bool fault_counts(TCGPMU *p, unsigned i)
{
    return !p->worn || !raises_interrupts(p, i);
}

/* How many events before its end a counter overflows. */
static uint64_t fault_early(TCGPMU *p, unsigned i)
{
    return p->fault == FAULT_EARLY && (p->picked & global_bit(i)) ? 100 : 0;
}

/* Counter i has overflowed, others at the same time.  Return true if that is seen. */
static bool fault_overflow(TCGPMU *p, unsigned i, bool others, bool *intr)
{
    if (p->fault == FAULT_SINGLE && others) {
        p->ctr[i] = (ctr_mask(p) >> 1) + 1;     /* far from an overflow */
    }
    if (p->fault == FAULT_DEAF && cur_ring(p) == RING_0) {
        *intr = false;
    }
    p->deaf |= p->fault == FAULT_LVTPC && (p->picked & global_bit(i));
    return !(p->fault == FAULT_SINGLE && others) &&
           !(p->fault == FAULT_SHORT && (p->picked & global_bit(i)));
}

/* An overflow is reported to the local APIC. */
static void fault_reported(TCGPMU *p)
{
    if (p->fault == FAULT_STRAY && p->stat[STAT_PMI] % 500 == 0 && !p->late) {
        timer_mod_ns(p->late_timer, virtual_ns() + 200000);
    }
}

/* The guest has written LVTPC. */
static void fault_lvtpc(TCGPMU *p, uint32_t *lvt)
{
    if (p->deaf) {
        *lvt |= APIC_LVT_MASKED;
        p->deaf = false;
    }
}

static void plant(TCGPMU *p, Fault fault)
{
    p->debugctl &= ~(p->fault == FAULT_TRACE ? DEBUGCTL_TR : 0);
    p->fault = fault;
    p->debugctl |= fault == FAULT_TRACE ? DEBUGCTL_TR : 0;
    p->picked = 0;
    p->worn = false;
    p->deaf = false;
}
