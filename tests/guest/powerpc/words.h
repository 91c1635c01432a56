/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The words, instructions and frames in which code of 64 bits and of 32 bits differs.
 *
 * A function begins with ENTER and ends with LEAVE.  Between them it keeps registers n = 1 to 4
 * at SLOT(n): below the stack pointer, where the ABI of 64 bits leaves 288 bytes to a function
 * that calls no other, and in a frame where it leaves none.
 */
#ifdef __powerpc64__
	.abiversion 2
#define WORD		8
#define LOAD		ld
#define STORE		std
#define SHIFT_LEFT	sldi
#define COMPARE		cmpdi
#define ENTER
#define LEAVE
#define SLOT(n)		-8 * (n)(1)
#else
#define WORD		4
#define LOAD		lwz
#define STORE		stw
#define SHIFT_LEFT	slwi
#define COMPARE		cmpwi
#define ENTER		stwu	1, -32(1)
#define LEAVE		addi	1, 1, 32
#define SLOT(n)		4 + 4 * (n)(1)
#endif
