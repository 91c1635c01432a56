/*
 * Intel Processor Trace, of which the model has what disturbs counters: the output
 * through a table of regions, and the interrupt at the end of a region
 *
 * SDM volume 3, chapter "Intel Processor Trace", sections "Table of Physical Addresses
 * (ToPA)" and "IA32_RTIT_CTL MSR" and following.  The interrupt is that of the counters,
 * and GLOBAL_STATUS tells them apart.  The trace itself is the packet PAD, one byte in
 * each pt=N ns, whatever the processor executes.
 *
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */

#define MSR_RTIT_OUTPUT_BASE    0x560
#define MSR_RTIT_MASK_PTRS      0x561
#define MSR_RTIT_CTL            0x570
#define MSR_RTIT_STATUS         0x571

#define RTIT_CTL_ENABLE         (1ULL << 0)
#define RTIT_CTL_TOPA           (1ULL << 8)
#define RTIT_CTL_BITS           0x2d0dULL   /* modes, ToPA, TSC, DisRETC, BranchEn */
#define RTIT_STATUS_ERROR       (1ULL << 4)
#define RTIT_STATUS_STOPPED     (1ULL << 5)
#define RTIT_STATUS_BITS        0x1ffff00000037ULL

#define TOPA_END                (1ULL << 0) /* the address is that of the next table */
#define TOPA_INT                (1ULL << 2)
#define TOPA_STOP               (1ULL << 4)
#define TOPA_ADDRESS            MAKE_64BIT_MASK(12, 40)
#define TOPA_HOPS               100         /* tables in a row without a region */

/* RTIT_MASK_PTRS: the table's entry, and the offset in its region */
#define PTRS_ENTRY(ptrs)        ((ptrs) >> 7 & 0x1ffffff)
#define PTRS_OFFSET(ptrs)       ((ptrs) >> 32)
#define PTRS(entry, offset)     (0x7f | (uint64_t)(entry) << 7 | (uint64_t)(offset) << 32)

static void pt_cb(void *opaque);

/* Let GLOBAL_STATUS's bit raise an interrupt.  Context: as for advance(). */
static void pt_interrupt(TCGPMU *p)
{
    p->status |= STATUS_TOPA;
    if (p->fault == FAULT_TOPA) {
        add_to_all(p, 5000);
    }
    report_overflow(p);
}

static bool pt_writes(PT *pt)
{
    return (pt->ctl & RTIT_CTL_ENABLE) &&
           !(pt->status & (RTIT_STATUS_ERROR | RTIT_STATUS_STOPPED));
}

/* Find the present region.  Return its entry, or 0 after an error. */
static uint64_t pt_region(PT *pt, uint64_t *size)
{
    uint64_t entry;

    for (unsigned hops = 0; hops < TOPA_HOPS; hops++) {
        cpu_physical_memory_read(pt->base + 8 * PTRS_ENTRY(pt->ptrs), &entry, 8);
        entry = le64_to_cpu(entry);
        if (!(entry & TOPA_END)) {
            *size = 4096ULL << (entry >> 6 & 15);
            return entry;
        }
        pt->base = entry & TOPA_ADDRESS;
        pt->ptrs = PTRS(0, 0);
    }
    pt->status |= RTIT_STATUS_ERROR;
    return 0;
}

/* Write the trace up to now.  Context: in a section, after advance(). */
static void pt_advance(TCGPMU *p)
{
    static const uint8_t pads[4096];
    PT *pt = &p->pt;
    int64_t bytes;

    if (!pt_writes(pt)) {
        return;
    }
    bytes = (virtual_ns() - pt->written) / pt->ns_per_byte;
    pt->written += bytes * pt->ns_per_byte;
    while (bytes > 0) {
        uint64_t size, offset = PTRS_OFFSET(pt->ptrs), n;
        uint64_t region = pt_region(pt, &size);

        if (!region || offset >= size) {
            pt->status |= RTIT_STATUS_ERROR;
            return;
        }
        n = MIN(MIN(size - offset, sizeof(pads)), bytes);
        cpu_physical_memory_write((region & TOPA_ADDRESS) + offset, pads, n);
        bytes -= n;
        offset += n;
        pt->ptrs = PTRS(PTRS_ENTRY(pt->ptrs), offset);
        if (offset < size) {
            continue;
        }
        if (region & TOPA_INT) {
            pt_interrupt(p);
        }
        if (region & TOPA_STOP) {       /* the offset stays at the region's end */
            pt->status |= RTIT_STATUS_STOPPED;
            return;
        }
        pt->ptrs = PTRS(PTRS_ENTRY(pt->ptrs) + 1, 0);
    }
}

/* Wake up at the end of the present region.  Context: in a section. */
static void pt_plan(TCGPMU *p)
{
    PT *pt = &p->pt;
    uint64_t size;

    if (pt_writes(pt) && pt_region(pt, &size)) {
        /* An offset behind the end is an error of the next byte. */
        uint64_t left = MAX(size, PTRS_OFFSET(pt->ptrs) + 1) - PTRS_OFFSET(pt->ptrs);

        timer_mod_ns(pt->timer, pt->written + (int64_t)left * pt->ns_per_byte);
    } else {
        timer_del(pt->timer);
    }
}

static void pt_work(CPUState *cs, run_on_cpu_data data)
{
    TCGPMU *p = data.host_ptr;
    Section s = section_begin(p);

    advance(p);
    pt_advance(p);
    pt_plan(p);
    replan(p);
    section_end(p, s);
}

static void pt_cb(void *opaque)
{
    TCGPMU *p = opaque;

    async_run_on_cpu(env_cpu(p->env), pt_work, RUN_ON_CPU_HOST_PTR(p));
}

static void pt_reset(TCGPMU *p)
{
    p->pt.ctl = p->pt.status = p->pt.base = 0;
    p->pt.ptrs = PTRS(0, 0);
    timer_del(p->pt.timer);
}

static uint64_t *pt_register(TCGPMU *p, uint32_t msr)
{
    if (!p->pt.ns_per_byte) {
        return NULL;
    }
    switch (msr) {
    case MSR_RTIT_OUTPUT_BASE:
        return &p->pt.base;
    case MSR_RTIT_MASK_PTRS:
        return &p->pt.ptrs;
    case MSR_RTIT_CTL:
        return &p->pt.ctl;
    case MSR_RTIT_STATUS:
        return &p->pt.status;
    default:
        return NULL;
    }
}

static bool pt_read(TCGPMU *p, uint32_t msr, uint64_t *val)
{
    uint64_t *reg = pt_register(p, msr);
    Section s;

    if (!reg) {
        return false;
    }
    s = section_begin(p);
    advance(p);
    pt_advance(p);
    pt_plan(p);
    replan(p);
    section_end(p, s);
    *val = *reg;
    return true;
}

/* While the trace is enabled, the only change is that of RTIT_CTL that disables it. */
static bool pt_may_write(PT *pt, uint32_t msr, uint64_t val)
{
    if (pt->ctl & RTIT_CTL_ENABLE) {
        return msr == MSR_RTIT_CTL && (val == pt->ctl || val == (pt->ctl & ~RTIT_CTL_ENABLE));
    }
    switch (msr) {
    case MSR_RTIT_OUTPUT_BASE:
        return !(val & ~TOPA_ADDRESS);
    case MSR_RTIT_CTL:      /* there is no output but by ToPA */
        return !(val & ~RTIT_CTL_BITS) && (!(val & RTIT_CTL_ENABLE) || (val & RTIT_CTL_TOPA));
    case MSR_RTIT_STATUS:
        return !(val & ~RTIT_STATUS_BITS);
    default:
        return true;
    }
}

/* Return false if the register is none of these. */
static bool pt_write(TCGPMU *p, uint32_t msr, uint64_t val, uintptr_t ra)
{
    uint64_t *reg = pt_register(p, msr);
    Section s;

    if (!reg) {
        return false;
    }
    if (!pt_may_write(&p->pt, msr, val)) {
        raise_exception_err_ra(p->env, EXCP0D_GPF, 0, ra);
    }
    s = section_begin(p);
    advance(p);
    pt_advance(p);
    *reg = msr == MSR_RTIT_MASK_PTRS ? val | 0x7f : val;
    p->pt.written = virtual_ns();
    pt_plan(p);
    replan(p);
    section_end(p, s);
    return true;
}

/* Leaf 0x14: output by tables, of more than one entry. */
static void pt_cpuid(CPUX86State *env, uint32_t subleaf)
{
    env->regs[R_EAX] = env->regs[R_EBX] = env->regs[R_EDX] = 0;
    env->regs[R_ECX] = subleaf ? 0 : 3;
}
