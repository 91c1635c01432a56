/* SPDX-License-Identifier: GPL-2.0 */
/* The program of known length that forks: see ../x86/known_family.S. */
#include <asm/unistd.h>

#include "words.h"

	.globl	_start
_start:
	LOAD	14, 2 * WORD(1)
	lbz	14, 0(14)
	addi	14, 14, -48		/* '0' */
1:	li	0, __NR_fork
	sc
	COMPARE	3, 0
	beq	3f
	li	3, -1
	li	4, 0
	li	5, 0
	li	6, 0
	li	0, __NR_wait4
	sc
	addic.	14, 14, -1
	bne	1b
2:	li	3, 0
	li	0, __NR_exit_group
	sc

3:	li	15, 1000
4:	addic.	15, 15, -1
	bne	4b
	b	2b

	.section .note.GNU-stack, "", @progbits
