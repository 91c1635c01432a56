/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers that the processor lets user mode read: perfex's own, as the library's are for its
 * header.
 */
#ifndef PERFEX_USER_REGISTERS_H
#define PERFEX_USER_REGISTERS_H

#include <stdint.h>
#include "vperfctr.h"

/*
 * user_read_clock(): read the clock that has the times of samples.
 * user_read_counter(): read the counter that a map of struct vperfctr_ctr names, and raise SIGSEGV
 * or SIGILL without the right to.  Both return 0 on processors where user mode has no such
 * registers.
 *
 * Unit tests have their own.
 */
#ifdef FAKE_USER_REGISTERS

#define user_read_clock()	fake_rdtsc()
#define user_read_counter(map)	fake_rdpmc(map)

#elif defined(__x86_64__) || defined(__i386__)

static inline uint64_t user_read_clock(void)
{
	return __builtin_ia32_rdtsc();
}

static inline uint64_t user_read_counter(uint32_t map)
{
	uint32_t low, high;

	__asm__ __volatile__("rdpmc" : "=a"(low), "=d"(high) : "c"(map));
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

#define USER_READ(reg) __extension__ ({						\
	uint64_t user_value;							\
										\
	__asm__ __volatile__("mrs %0, " reg : "=r"(user_value));		\
	user_value;								\
})
/* The number is part of the instruction. */
#define USER_COUNTER(n)	USER_READ("pmevcntr" #n "_el0")

static inline uint64_t user_read_clock(void)
{
	return USER_READ("cntvct_el0");
}

static inline uint64_t user_read_counter(uint32_t map)
{
	switch (map) {
	case 0: return USER_COUNTER(0);
	case 1: return USER_COUNTER(1);
	case 2: return USER_COUNTER(2);
	case 3: return USER_COUNTER(3);
	case 4: return USER_COUNTER(4);
	case 5: return USER_COUNTER(5);
	case 6: return USER_COUNTER(6);
	case 7: return USER_COUNTER(7);
	case 8: return USER_COUNTER(8);
	case 9: return USER_COUNTER(9);
	case 10: return USER_COUNTER(10);
	case 11: return USER_COUNTER(11);
	case 12: return USER_COUNTER(12);
	case 13: return USER_COUNTER(13);
	case 14: return USER_COUNTER(14);
	case 15: return USER_COUNTER(15);
	case 16: return USER_COUNTER(16);
	case 17: return USER_COUNTER(17);
	case 18: return USER_COUNTER(18);
	case 19: return USER_COUNTER(19);
	case 20: return USER_COUNTER(20);
	case 21: return USER_COUNTER(21);
	case 22: return USER_COUNTER(22);
	case 23: return USER_COUNTER(23);
	case 24: return USER_COUNTER(24);
	case 25: return USER_COUNTER(25);
	case 26: return USER_COUNTER(26);
	case 27: return USER_COUNTER(27);
	case 28: return USER_COUNTER(28);
	case 29: return USER_COUNTER(29);
	case 30: return USER_COUNTER(30);
	case VPERFCTR_FIXED:
		return USER_READ("pmccntr_el0");
	}
	return 0;
}

#elif defined(__riscv)

#define USER_READ(csr) __extension__ ({						\
	unsigned long user_value;						\
										\
	__asm__ __volatile__("csrr %0, %1" : "=r"(user_value) : "i"(csr));	\
	user_value;								\
})
/* From hpmcounter3 on. */
#define USER_COUNTER(n)	USER_READ(0xc03 + (n))

static inline uint64_t user_read_clock(void)
{
	return USER_READ(0xc01);
}

static inline uint64_t user_read_counter(uint32_t map)
{
	switch (map) {
	case 0: return USER_COUNTER(0);
	case 1: return USER_COUNTER(1);
	case 2: return USER_COUNTER(2);
	case 3: return USER_COUNTER(3);
	case 4: return USER_COUNTER(4);
	case 5: return USER_COUNTER(5);
	case 6: return USER_COUNTER(6);
	case 7: return USER_COUNTER(7);
	case 8: return USER_COUNTER(8);
	case 9: return USER_COUNTER(9);
	case 10: return USER_COUNTER(10);
	case 11: return USER_COUNTER(11);
	case 12: return USER_COUNTER(12);
	case 13: return USER_COUNTER(13);
	case 14: return USER_COUNTER(14);
	case 15: return USER_COUNTER(15);
	case 16: return USER_COUNTER(16);
	case 17: return USER_COUNTER(17);
	case 18: return USER_COUNTER(18);
	case 19: return USER_COUNTER(19);
	case 20: return USER_COUNTER(20);
	case 21: return USER_COUNTER(21);
	case 22: return USER_COUNTER(22);
	case 23: return USER_COUNTER(23);
	case 24: return USER_COUNTER(24);
	case 25: return USER_COUNTER(25);
	case 26: return USER_COUNTER(26);
	case 27: return USER_COUNTER(27);
	case 28: return USER_COUNTER(28);
	/* cycle and instret */
	case VPERFCTR_FIXED:
		return USER_READ(0xc00);
	case VPERFCTR_FIXED + 1:
		return USER_READ(0xc02);
	}
	return 0;
}

#elif defined(__powerpc__)

#define USER_READ(spr) __extension__ ({						\
	unsigned long user_value;						\
										\
	__asm__ __volatile__("mfspr %0, %1" : "=r"(user_value) : "i"(spr));	\
	user_value;								\
})

static inline uint64_t user_read_clock(void)
{
	return __builtin_ppc_get_timebase();
}

static inline uint64_t user_read_counter(uint32_t map)
{
	switch (map) {
#ifdef __powerpc64__
	case 0: return USER_READ(771);
	case 1: return USER_READ(772);
	case 2: return USER_READ(773);
	case 3: return USER_READ(774);
	case VPERFCTR_FIXED: return USER_READ(775);
	case VPERFCTR_FIXED + 1: return USER_READ(776);
#else
	case 0: return USER_READ(937);
	case 1: return USER_READ(938);
	case 2: return USER_READ(941);
	case 3: return USER_READ(942);
	case 4: return USER_READ(929);
	case 5: return USER_READ(930);
#endif
	}
	return 0;
}

#else

static inline uint64_t user_read_clock(void)
{
	return 0;
}

static inline uint64_t user_read_counter(uint32_t map)
{
	(void)map;
	return 0;
}

#endif

#undef USER_READ
#undef USER_COUNTER

#endif /* PERFEX_USER_REGISTERS_H */
