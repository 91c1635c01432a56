/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 5.16: an entry of the exception table has a type, not a handler.
 *
 * PERFCTR_EXTABLE_READ: a read of a register into EDX and EAX, which may fault.  It then
 * returns zero, and the log says so once.
 */
#ifndef VPERFCTR_COMPAT_EXTABLE_H
#define VPERFCTR_COMPAT_EXTABLE_H

#include <asm/asm.h>

#ifdef EX_TYPE_RDMSR
#define PERFCTR_EXTABLE_READ(from, to)	_ASM_EXTABLE_TYPE(from, to, EX_TYPE_RDMSR)
#else
#define PERFCTR_EXTABLE_READ(from, to)	_ASM_EXTABLE_HANDLE(from, to, ex_handler_rdmsr_unsafe)
#endif

#endif /* VPERFCTR_COMPAT_EXTABLE_H */
