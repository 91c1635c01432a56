// SPDX-License-Identifier: GPL-2.0
/*
 * Intel's events that an event select describes only in part.  A second register, which
 * all general counters share, selects the responses of the uncore, or the stalls of
 * the front end, that are counted.
 *
 * Intel SDM volume 3, "Performance Monitoring", the sections "Off-core Response" of
 * each microarchitecture; volume 4 for the registers' scope.  The bits that can
 * be set without a fault are those that perf sets (arch/x86/events/intel/core.c).
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>

#include "regs.h"
#include "x86.h"

struct extra_event {
	u16 code;			/* unit mask and event select */
	u8 reg;
	bool shared;			/* one register for both hyper-threads of a core */
	u64 valid;			/* bits that the register can have */
};

/* Indices of perfctr_x86_extra_msrs. */
#define RSP_0		0	/* MSR_OFFCORE_RSP_0 */
#define RSP_1		1
#define FRONTEND	2	/* MSR_PEBS_FRONTEND */

/*
 * An event that is always refused: its register is not one of these, and the event would
 * count by what another program left there.  Load latency needs MSR_PEBS_LD_LAT_THRESHOLD.
 */
#define REFUSED(event)	{ .code = (event) }

const u32 perfctr_x86_extra_msrs[PERFCTR_X86_NR_EXTRA] = { 0x1a6, 0x1a7, 0x3f7 };

static const struct extra_event nehalem[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0xffff, .shared = true },
	REFUSED(0x100b),
	{ }
};

static const struct extra_event westmere[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0xffff, .shared = true },
	{ .code = 0x01bb, .reg = RSP_1, .valid = 0xffff, .shared = true },
	REFUSED(0x100b),
	{ }
};

static const struct extra_event sandy_bridge[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x3f807f8fff },
	{ .code = 0x01bb, .reg = RSP_1, .valid = 0x3f807f8fff },
	REFUSED(0x01cd),
	{ }
};

static const struct extra_event haswell[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x3fffff8fff },
	{ .code = 0x01bb, .reg = RSP_1, .valid = 0x3fffff8fff },
	REFUSED(0x01cd),
	{ }
};

static const struct extra_event skylake[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x3fffff8fff },
	{ .code = 0x01bb, .reg = RSP_1, .valid = 0x3fffff8fff },
	{ .code = 0x01c6, .reg = FRONTEND, .valid = 0x7fff17 },
	REFUSED(0x01cd),
	{ }
};

static const struct extra_event ice_lake[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x3fffffbfff },
	{ .code = 0x01bb, .reg = RSP_1, .valid = 0x3fffffbfff },
	{ .code = 0x01c6, .reg = FRONTEND, .valid = 0x7fff17 },
	REFUSED(0x01cd),
	{ }
};

static const struct extra_event golden_cove[] = {
	{ .code = 0x012a, .reg = RSP_0, .valid = 0x3fffffffff },
	{ .code = 0x012b, .reg = RSP_1, .valid = 0x3fffffffff },
	{ .code = 0x01c6, .reg = FRONTEND, .valid = 0x7fff1f },
	{ .code = 0x40ad, .reg = FRONTEND, .valid = 0x7 },
	{ .code = 0x04c2, .reg = FRONTEND, .valid = 0x8 },
	REFUSED(0x01cd),
	{ }
};

static const struct extra_event redwood_cove[] = {
	{ .code = 0x012a, .reg = RSP_0, .valid = 0x3fffffffff },
	{ .code = 0x012b, .reg = RSP_1, .valid = 0x3fffffffff },
	{ .code = 0x02c6, .reg = FRONTEND, .valid = 0x9 },
	{ .code = 0x03c6, .reg = FRONTEND, .valid = 0x7fff1f },
	{ .code = 0x40ad, .reg = FRONTEND, .valid = 0x7 },
	{ .code = 0x04c2, .reg = FRONTEND, .valid = 0x8 },
	REFUSED(0x01cd),
	{ }
};

static const struct extra_event lion_cove[] = {
	{ .code = 0x012a, .reg = RSP_0, .valid = 0xfffffffffff },
	{ .code = 0x012b, .reg = RSP_1, .valid = 0xfffffffffff },
	{ .code = 0x02c6, .reg = FRONTEND, .valid = 0x9 },
	{ .code = 0x03c6, .reg = FRONTEND, .valid = 0x7fff1f },
	{ .code = 0x40ad, .reg = FRONTEND, .valid = 0xf },
	{ .code = 0x04c2, .reg = FRONTEND, .valid = 0x8 },
	REFUSED(0x01cd),
	{ }
};

/* Its other events need one of MSR_OMR_0 to MSR_OMR_3. */
static const struct extra_event panther_cove[] = {
	{ .code = 0x02c6, .reg = FRONTEND, .valid = 0x9 },
	{ .code = 0x03c6, .reg = FRONTEND, .valid = 0x7fff1f },
	{ .code = 0x40ad, .reg = FRONTEND, .valid = 0xf },
	{ .code = 0x04c2, .reg = FRONTEND, .valid = 0x8 },
	REFUSED(0x012a), REFUSED(0x022a), REFUSED(0x042a), REFUSED(0x082a),
	REFUSED(0x014f), REFUSED(0x024f), REFUSED(0x044f), REFUSED(0x084f),
	REFUSED(0x01d6), REFUSED(0x02d6), REFUSED(0x04d6), REFUSED(0x08d6),
	REFUSED(0x01cd),
	{ }
};

/* The cores of a module share the registers, and nothing reports which cores: use none. */
static const struct extra_event silvermont[] = {
	{ .code = 0x01b7, .reg = RSP_0 },
	{ .code = 0x02b7, .reg = RSP_1 },
	{ }
};

static const struct extra_event goldmont[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x760005ffbf },
	{ .code = 0x02b7, .reg = RSP_1, .valid = 0x360005ffbf },
	{ }
};

static const struct extra_event tremont[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x800ff0ffffff9fff },
	{ .code = 0x02b7, .reg = RSP_1, .valid = 0x000ff0ffffff9fff },
	{ }
};

static const struct extra_event gracemont[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x8003f03fffffffff },
	{ .code = 0x02b7, .reg = RSP_1, .valid = 0x0003f03fffffffff },
	REFUSED(0x05d0),
	{ }
};

/* 0127H and 0227H need MSR_SNOOP_RSP_0 and _1. */
static const struct extra_event crestmont[] = {
	{ .code = 0x01b7, .reg = RSP_0, .valid = 0x800ff3ffffffffff },
	{ .code = 0x02b7, .reg = RSP_1, .valid = 0x000ff3ffffffffff },
	REFUSED(0x05d0), REFUSED(0x0127), REFUSED(0x0227),
	{ }
};

/* These need MSR_OMR_0 to _3, and MSR_SNOOP_RSP_0 and _1. */
static const struct extra_event arctic_wolf[] = {
	REFUSED(0x01b7), REFUSED(0x02b7), REFUSED(0x04b7), REFUSED(0x08b7),
	REFUSED(0x05d0), REFUSED(0x0127), REFUSED(0x0227),
	{ }
};

/* Core Duo, Core 2, and Atoms before Silvermont use some of these codes for plain events. */
static const struct extra_event none[] = {
	{ }
};

/* A processor that is not known may have any of these. */
static const struct extra_event unknown[] = {
	REFUSED(0x01b7), REFUSED(0x02b7), REFUSED(0x04b7), REFUSED(0x08b7), REFUSED(0x01bb),
	REFUSED(0x012a), REFUSED(0x022a), REFUSED(0x042a), REFUSED(0x082a), REFUSED(0x012b),
	REFUSED(0x01c6), REFUSED(0x02c6), REFUSED(0x03c6), REFUSED(0x40ad), REFUSED(0x04c2),
	REFUSED(0x0127), REFUSED(0x0227), REFUSED(0x01cd), REFUSED(0x05d0), REFUSED(0x100b),
	REFUSED(0x01d4), REFUSED(0x02d4), REFUSED(0x04d4), REFUSED(0x08d4),
	REFUSED(0x014f), REFUSED(0x024f), REFUSED(0x044f), REFUSED(0x084f),
	REFUSED(0x01d6), REFUSED(0x02d6), REFUSED(0x04d6), REFUSED(0x08d6),
	{ }
};

/* Found by the probe of each kind of core.  1: Atoms of a hybrid processor; 0: all others. */
static struct {
	const struct extra_event *events;
	unsigned int present;		/* mask of registers: hypervisors often have none */
} kinds[2];

static bool is_atom(u32 core_type)
{
	return PERFCTR_INTEL_CORE_TYPE(core_type) == PERFCTR_INTEL_ATOM;
}

static const struct extra_event *extra_events_of(unsigned int model, u32 core_type)
{
	switch (model) {
	case 0x1a: case 0x1e: case 0x1f: case 0x2e:
		return nehalem;
	case 0x25: case 0x2c: case 0x2f:
		return westmere;
	case 0x2a: case 0x3a:
		return sandy_bridge;
	case 0x2d: case 0x3e:				/* servers of these two, */
	case 0x3c: case 0x3f: case 0x45: case 0x46:	/* Haswell, */
	case 0x3d: case 0x47: case 0x4f: case 0x56:	/* Broadwell */
		return haswell;
	case 0x4e: case 0x5e: case 0x55:
	case 0x8e: case 0x9e: case 0xa5: case 0xa6:	/* Kaby Lake, Comet Lake */
		return skylake;
	case 0x6a: case 0x6c: case 0x7d: case 0x7e:
	case 0x8c: case 0x8d: case 0xa7:		/* Tiger Lake, Rocket Lake */
		return ice_lake;
	case 0x8f: case 0xcf:				/* Sapphire Rapids, Emerald Rapids */
		return golden_cove;
	case 0x97: case 0x9a:				/* Alder Lake, */
	case 0xb7: case 0xba: case 0xbf:		/* Raptor Lake: hybrid */
		return is_atom(core_type) ? gracemont : golden_cove;
	case 0xad: case 0xae:				/* Granite Rapids */
		return redwood_cove;
	case 0xaa: case 0xac: case 0xb5:		/* Meteor Lake, Arrow Lake U: hybrid */
		return is_atom(core_type) ? crestmont : redwood_cove;
	case 0xc5: case 0xc6: case 0xbd:		/* Arrow Lake, Lunar Lake: hybrid */
	case 0xcc: case 0xe5: case 0xd5:		/* Panther Lake, Wildcat Lake: hybrid */
		return is_atom(core_type) ? crestmont : lion_cove;
	case 0xaf: case 0xb6:				/* Sierra Forest, Grand Ridge */
	case 0xdd:					/* Clearwater Forest */
		return crestmont;
	case PERFCTR_INTEL_MODEL(18, 0x01):		/* Nova Lake: hybrid */
	case PERFCTR_INTEL_MODEL(18, 0x03):
		return is_atom(core_type) ? arctic_wolf : panther_cove;
	case PERFCTR_INTEL_MODEL(19, 0x01):		/* Diamond Rapids */
		return panther_cove;
	case 0x37: case 0x4a: case 0x4c: case 0x4d: case 0x5a: case 0x5d: case 0x75:
		return silvermont;
	case 0x5c: case 0x5f: case 0x7a:
		return goldmont;
	case 0x86: case 0x96: case 0x9c:
		return tremont;
	case 0xbe:
		return gracemont;
	case PERFCTR_INTEL_NO_MODEL:			/* of another vendor */
	case 0x0e:					/* Core Duo */
	case 0x0f: case 0x16: case 0x17: case 0x1d:	/* Core 2 */
	case 0x1c: case 0x26: case 0x27: case 0x35: case 0x36:
		return none;
	}
	return unknown;
}

/*
 * True if the register keeps what is written to it.  Under a hypervisor, a register that
 * does not exist may read as zero and ignore writes.  If perf counts such an event on
 * this CPU, it misses a few instructions.
 */
static bool extra_msr_works(u32 msr)
{
	u64 old, now;

	if (perfctr_rdmsr_safe(msr, &old) || perfctr_wrmsr_safe(msr, old ^ BIT_ULL(0)))
		return false;
	now = old;
	perfctr_rdmsr_safe(msr, &now);
	perfctr_wrmsr_safe(msr, old);
	return now == (old ^ BIT_ULL(0));
}

static bool has_registers(const struct extra_event *event)
{
	for (; event->code; event++) {
		if (event->valid)
			return true;
	}
	return false;
}

unsigned int perfctr_intel_probe_extra(unsigned int model, u32 core_type)
{
	const struct extra_event *events = extra_events_of(model, core_type);
	unsigned int i, present = 0;
	unsigned int nr = has_registers(events) ? PERFCTR_X86_NR_EXTRA : 0;
	unsigned long flags;

	local_irq_save(flags);
	for (i = 0; i < nr; i++)
		present |= extra_msr_works(perfctr_x86_extra_msrs[i]) ? BIT(i) : 0;
	local_irq_restore(flags);
	kinds[is_atom(core_type)].events = events;
	kinds[is_atom(core_type)].present = present;
	return nr;
}

static const struct extra_event *find_extra_event(const struct vperfctr_info *kind, u64 evntsel)
{
	const struct extra_event *event = kinds[is_atom(kind->core_type)].events;
	u16 code = evntsel;

	for (; event && event->code; event++) {
		if (event->code == code)
			return event;
	}
	return NULL;
}

int perfctr_x86_check_extra(const struct vperfctr_ctr *ctr, struct perfctr_cpu_control *control,
			    const struct vperfctr_info *kind)
{
	const struct extra_event *event = NULL;
	struct perfctr_cpu_regs *regs = &control->regs;

	if (perfctr_x86_pmu.has_extra_events)
		event = find_extra_event(kind, ctr->evntsel);
	if (!event)
		return ctr->aux ? -EINVAL : 0;
	/* A register of zero makes the event count nothing. */
	if (!ctr->aux || (ctr->aux & ~event->valid) ||
	    !(kinds[is_atom(kind->core_type)].present & BIT(event->reg)))
		return -EINVAL;
	if ((regs->extra_used & BIT(event->reg)) && regs->extra[event->reg] != ctr->aux)
		return -EINVAL;
	regs->extra_used |= BIT(event->reg);
	regs->extra[event->reg] = ctr->aux;
	if (event->shared)
		control->alone = true;
	return 0;
}
