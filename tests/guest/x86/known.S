/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program of known length: 4 + 2000 * argc instructions, including those of its
 * exit(argc).  It is linked statically and without libc, so it executes no others in user
 * mode.  See KNOWN_INSNS() in known.h.  With WAITS it first waits for a byte of standard input,
 * which are five more.
 */
	.globl	_start
_start:
#ifdef WAITS
	xor	%edi, %edi
	lea	-256(%rsp), %rsi
	mov	$1, %edx
	xor	%eax, %eax		/* read */
	syscall
#endif
	mov	(%rsp), %edi
	imul	$1000, %edi, %ecx
1:	dec	%ecx
	jnz	1b
	mov	$231, %eax		/* exit_group */
	syscall

	.section .note.GNU-stack, "", @progbits
