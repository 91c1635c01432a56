/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: see ../code.h and ../x86/service-code.S.  System calls preserve
 * all registers but a0.  Nops make the number of instructions the same as there.
 */
#include <asm/unistd.h>

#include "system-call.h"

#define VPERFCTR_OPEN_NR	0xd003
#define VPERFCTR_CONTROL_NR	0xd010
#define VPERFCTR_READ_NR	0xd011

	.text

	.globl	start_child
start_child:
	mv	t0, a1
	mv	t1, a2
	mv	t2, a3
	li	a1, 0
	li	a2, 0
	li	a3, 0
	li	a4, 0
	li	a7, __NR_clone
	system_call
	nop				/* the child's first instruction */
	beqz	a0, 1f
	ret
1:	mv	t3, t0
2:	addi	t3, t3, -1
	bnez	t3, 2b
	nop
	beqz	t1, 4f
	mv	t4, t2
	mv	a0, t1
	li	a1, 0			/* FUTEX_WAIT */
	li	a2, 0
	li	a3, 0
	li	a7, __NR_futex
	system_call
	mv	t3, t4
3:	addi	t3, t3, -1
	bnez	t3, 3b
4:	li	a0, 0
	li	a7, __NR_exit
	system_call

	.globl	fork_chain
fork_chain:
	mv	t0, a0
	mv	t1, a1
	li	a0, 17			/* SIGCHLD */
	li	a1, 0
	li	a2, 0
	li	a3, 0
	li	a4, 0
	li	a7, __NR_clone
	system_call
	nop
	beqz	a0, 1f
	ret
1:	mv	t3, t1
2:	addi	t3, t3, -1
	bnez	t3, 2b
	addi	t0, t0, -1
	beqz	t0, 3f
	li	a0, 17			/* the other registers are unchanged */
	system_call
	nop
	beqz	a0, 1b
	li	a0, -1
	li	a1, 0
	li	a2, 0
	li	a3, 0
	li	a7, __NR_wait4
	system_call
3:	li	a0, 0
	li	a7, __NR_exit_group
	system_call

	.globl	stop_for_ever
stop_for_ever:
	mv	t0, a0
	mv	t1, a1
	mv	t2, a2
1:	mv	a0, t0
	mv	a1, t1
	li	a2, 19			/* SIGSTOP */
	li	a7, __NR_tgkill
	system_call
	ld	t3, 0(t2)
2:	addi	t3, t3, -1
	bnez	t3, 2b
	j	1b

	.globl	start_counted
start_counted:
	mv	t0, a1
	li	t1, VPERFCTR_READ_NR
	li	a1, 0
	li	a2, 0
	li	a3, 0
	li	a4, 0
	li	a7, __NR_clone
	system_call
	beqz	a0, 1f
	ret
1:	ld	a0, 0(t0)
	li	a1, VPERFCTR_OPEN_NR
	ld	a2, 8(t0)
	li	a7, __NR_ioctl
	system_call
	sd	a0, 48(t0)
	li	a1, VPERFCTR_CONTROL_NR
	ld	a2, 16(t0)
	system_call
	sd	a0, 56(t0)		/* counted from here ... */
	ld	a0, 24(t0)
	li	a1, 0			/* FUTEX_WAIT */
	li	a2, 0
	li	a3, 0
	li	a7, __NR_futex
	system_call
	ld	t3, 32(t0)
2:	addi	t3, t3, -1
	bnez	t3, 2b
	ld	a0, 48(t0)
	mv	a1, t1
	ld	a2, 40(t0)
	li	a7, __NR_ioctl
	system_call				/* ... to here */
	sd	a0, 64(t0)
	ld	a1, 72(t0)
	li	a2, 1
	amoadd.w.aqrl zero, a2, (a1)
	li	a0, 0
	li	a7, __NR_exit
	system_call

	.section .note.GNU-stack, "", @progbits
