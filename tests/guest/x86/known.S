/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length: 4 + 2000 * argc instructions, to the end of its
 * exit(argc).  Linked without libc, statically: these are all that it executes
 * in user mode.  KNOWN_INSNS() in known.h says the same.
 */
	.globl	_start
_start:
	mov	(%rsp), %edi
	imul	$1000, %edi, %ecx
1:	dec	%ecx
	jnz	1b
	mov	$231, %eax		/* exit_group */
	syscall

	.section .note.GNU-stack, "", @progbits
