/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions of PowerPC with 32 and 64 bits, for test_exact. */
#ifndef GUEST_POWERPC_CODES_H
#define GUEST_POWERPC_CODES_H

#define NOP			0x60000000	/* nop */
#define RETURN			0x4e800020	/* blr */
#define SYSTEM_CALL		0x44000002	/* sc */
#define LOAD_NUMBER(nr)		(0x38000000 | (nr))	/* li 0, nr */

#endif /* GUEST_POWERPC_CODES_H */
