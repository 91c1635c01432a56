/* SPDX-License-Identifier: GPL-2.0 */
/*
 * All accesses of the RISC-V drivers to registers and to the firmware.
 *
 * Counters are numbered by the low bits of their CSR, as the bits of scounteren are
 * (Privileged Architecture, "Supervisor-Level CSRs", scounteren): 0 is cycle, 2 is instret,
 * n from 3 to 31 is hpmcounter<n>.  Supervisor mode can read counters.  Only the firmware can
 * write, start and stop them, by the calls of the SBI's PMU extension.
 */
#ifndef VPERFCTR_RISCV_REGS_H
#define VPERFCTR_RISCV_REGS_H

#include <linux/delay.h>
#include <asm/csr.h>
#include <asm/hwcap.h>
#include <asm/sbi.h>
#include <asm/timex.h>

#include "../../cpu.h"

/* The bit of sip and sie of Sscofpmf's interrupt, "Local Count Overflow Interrupt". */
#define PERFCTR_LCOFI		BIT(13)

/* The instruction encodes the number of the CSR, so each has a case. */
static __always_inline u64 perfctr_read_csr(unsigned int n)
{
	switch (n) {
	case 0: return csr_read(0xc00);
	case 2: return csr_read(0xc02);
	case 3: return csr_read(0xc03);
	case 4: return csr_read(0xc04);
	case 5: return csr_read(0xc05);
	case 6: return csr_read(0xc06);
	case 7: return csr_read(0xc07);
	case 8: return csr_read(0xc08);
	case 9: return csr_read(0xc09);
	case 10: return csr_read(0xc0a);
	case 11: return csr_read(0xc0b);
	case 12: return csr_read(0xc0c);
	case 13: return csr_read(0xc0d);
	case 14: return csr_read(0xc0e);
	case 15: return csr_read(0xc0f);
	case 16: return csr_read(0xc10);
	case 17: return csr_read(0xc11);
	case 18: return csr_read(0xc12);
	case 19: return csr_read(0xc13);
	case 20: return csr_read(0xc14);
	case 21: return csr_read(0xc15);
	case 22: return csr_read(0xc16);
	case 23: return csr_read(0xc17);
	case 24: return csr_read(0xc18);
	case 25: return csr_read(0xc19);
	case 26: return csr_read(0xc1a);
	case 27: return csr_read(0xc1b);
	case 28: return csr_read(0xc1c);
	case 29: return csr_read(0xc1d);
	case 30: return csr_read(0xc1e);
	case 31: return csr_read(0xc1f);
	}
	return 0;
}

static __always_inline u32 perfctr_read_scounteren(void)
{
	return csr_read(CSR_SCOUNTEREN);
}

static __always_inline void perfctr_write_scounteren(u32 value)
{
	csr_write(CSR_SCOUNTEREN, value);
}

/*
 * Clear the pending interrupt.  It is raised again only by another overflow.
 *
 * Return: true if it was pending.
 */
static __always_inline bool perfctr_clear_lcofi(void)
{
	return csr_read_clear(CSR_SIP, PERFCTR_LCOFI) & PERFCTR_LCOFI;
}

static __always_inline void perfctr_raise_lcofi(void)
{
	csr_set(CSR_SIP, PERFCTR_LCOFI);
}

/*
 * Return the event counters that have overflowed since they were started (scountovf).  Only a
 * start by the firmware clears their bits.
 */
static __always_inline u32 perfctr_read_overflows(void)
{
	return csr_read(0xda0);
}

/* True if there is a counter of time, which only x86 can lack. */
#define perfctr_has_tsc()	true

/* Read the timer, as user mode does. */
static __always_inline u64 perfctr_rdtsc(void)
{
	return get_cycles64();
}

static inline u32 perfctr_tsc_khz(void)
{
	return riscv_timebase / 1000;
}

/* True if counters can filter modes, and interrupt (the extension Sscofpmf). */
static inline bool perfctr_has_sscofpmf(void)
{
	return riscv_isa_extension_available(NULL, SSCOFPMF);
}

/*
 * The calls of the firmware, by the SBI's numbers of counters (SBI specification, "Performance
 * Monitoring Unit Extension").  Return: its error, or the value.
 */
static inline bool perfctr_sbi_exists(void)
{
	return !sbi_spec_is_0_1() && sbi_probe_extension(SBI_EXT_PMU) > 0;
}

static inline long perfctr_sbi_num_counters(void)
{
	struct sbiret ret = sbi_ecall(SBI_EXT_PMU, SBI_EXT_PMU_NUM_COUNTERS, 0, 0, 0, 0, 0, 0);

	return ret.error ?: ret.value;
}

/*
 * Return the counter's information, or a negative error.  Bit 63 is that of firmware's
 * counters, so they look like errors.
 */
static inline long perfctr_sbi_counter_info(unsigned int counter)
{
	struct sbiret ret = sbi_ecall(SBI_EXT_PMU, SBI_EXT_PMU_COUNTER_GET_INFO, counter, 0, 0, 0,
				      0, 0);

	return ret.error ?: ret.value;
}

/*
 * Let a counter count this event.  For cycles and instructions OpenSBI takes cycle or instret if
 * the counter cannot: that is harmless, as it changes nothing there.
 *
 * Return: true if the counter counts the event when it is started.
 */
static inline bool perfctr_sbi_config(unsigned int counter, unsigned long flags, u32 event,
				      u64 data)
{
	struct sbiret ret = sbi_ecall(SBI_EXT_PMU, SBI_EXT_PMU_COUNTER_CFG_MATCH, counter, 1,
				      flags, event, data, 0);

	return !ret.error && ret.value == counter;
}

/*
 * Let the firmware choose a counter of a set for an event, as perf's driver does.
 *
 * Return: the counter, which may be cycle or instret, or a negative error.
 */
static inline long perfctr_sbi_choose(u64 counters, u32 event)
{
	struct sbiret ret = sbi_ecall(SBI_EXT_PMU, SBI_EXT_PMU_COUNTER_CFG_MATCH, 0, counters, 0,
				      event, 0, 0);

	return ret.error ?: ret.value;
}

/* Start counters.  Without SBI_PMU_START_FLAG_SET_INIT_VALUE they continue. */
static inline void perfctr_sbi_start(u64 counters, unsigned long flags, u64 value)
{
	sbi_ecall(SBI_EXT_PMU, SBI_EXT_PMU_COUNTER_START, 0, counters, flags, value, 0, 0);
}

/* Stop counters.  With SBI_PMU_STOP_FLAG_RESET they also lose their event. */
static inline void perfctr_sbi_stop(u64 counters, unsigned long flags)
{
	sbi_ecall(SBI_EXT_PMU, SBI_EXT_PMU_COUNTER_STOP, 0, counters, flags, 0, 0, 0);
}

#endif /* VPERFCTR_RISCV_REGS_H */
