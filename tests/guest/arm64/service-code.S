/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see ../code.h and ../x86/service-code.S.  System calls preserve
 * all registers but x0.
 */
#include <asm/unistd.h>

#define VPERFCTR_OPEN_NR	0xd003
#define VPERFCTR_CONTROL_NR	0xd010
#define VPERFCTR_READ_NR	0xd011

	.text

	.globl	start_child
start_child:
	mov	x9, x1
	mov	x10, x2
	mov	x11, x3
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	cmp	x0, #0			/* the child's first instruction */
	b.eq	1f
	ret
1:	mov	x12, x9
2:	subs	x12, x12, #1
	b.ne	2b
	cmp	x10, #0
	b.eq	4f
	mov	x13, x11
	mov	x0, x10
	mov	x1, #0			/* FUTEX_WAIT */
	mov	x2, #0
	mov	x3, #0
	mov	x8, #__NR_futex
	svc	#0
	mov	x12, x13
3:	subs	x12, x12, #1
	b.ne	3b
4:	mov	x0, #0
	mov	x8, #__NR_exit
	svc	#0

	.globl	fork_chain
fork_chain:
	mov	x9, x0
	mov	x10, x1
	mov	x0, #17			/* SIGCHLD */
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	cmp	x0, #0
	b.eq	1f
	ret
1:	mov	x12, x10
2:	subs	x12, x12, #1
	b.ne	2b
	subs	x9, x9, #1
	b.eq	3f
	mov	x0, #17			/* the other registers are unchanged */
	svc	#0
	cmp	x0, #0
	b.eq	1b
	mov	x0, #-1
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x8, #__NR_wait4
	svc	#0
3:	mov	x0, #0
	mov	x8, #__NR_exit_group
	svc	#0

	.globl	stop_for_ever
stop_for_ever:
	mov	x9, x0
	mov	x10, x1
	mov	x11, x2
1:	mov	x0, x9
	mov	x1, x10
	mov	x2, #19			/* SIGSTOP */
	mov	x8, #__NR_tgkill
	svc	#0
	ldr	x12, [x11]
2:	subs	x12, x12, #1
	b.ne	2b
	b	1b

	.globl	start_counted
start_counted:
	mov	x9, x1
	mov	x1, #0
	mov	x2, #0
	mov	x3, #0
	mov	x4, #0
	mov	x8, #__NR_clone
	svc	#0
	cbz	x0, 1f
	ret
1:	ldr	x0, [x9]
	mov	x1, #VPERFCTR_OPEN_NR
	ldr	x2, [x9, #8]
	mov	x8, #__NR_ioctl
	svc	#0
	str	x0, [x9, #48]
	mov	x1, #VPERFCTR_CONTROL_NR
	ldr	x2, [x9, #16]
	svc	#0
	str	x0, [x9, #56]		/* counted from here ... */
	ldr	x0, [x9, #24]
	mov	x1, #0			/* FUTEX_WAIT */
	mov	x2, #0
	mov	x3, #0
	mov	x8, #__NR_futex
	svc	#0
	ldr	x12, [x9, #32]
2:	subs	x12, x12, #1
	b.ne	2b
	ldr	x0, [x9, #48]
	mov	x1, #VPERFCTR_READ_NR
	ldr	x2, [x9, #40]
	mov	x8, #__NR_ioctl
	svc	#0			/* ... to here */
	str	x0, [x9, #64]
	ldr	x1, [x9, #72]
3:	ldaxr	w2, [x1]
	add	w2, w2, #1
	stlxr	w3, w2, [x1]
	cbnz	w3, 3b
	mov	x0, #0
	mov	x8, #__NR_exit
	svc	#0

	.section .note.GNU-stack, "", @progbits
