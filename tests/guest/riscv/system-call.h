/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An ecall raises an exception, so it does not retire and is not counted.  The nop is counted in
 * its place: the number of instructions is then the same as on other architectures.
 */
	.macro	system_call
	nop
	ecall
	.endm
