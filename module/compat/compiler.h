/* SPDX-License-Identifier: GPL-2.0 */
/* 6.11: __uninitialized marks variables that CONFIG_INIT_STACK_ALL_* must not clear. */
#ifndef VPERFCTR_COMPAT_COMPILER_H
#define VPERFCTR_COMPAT_COMPILER_H

#include <linux/compiler.h>

#ifndef __uninitialized
#if __has_attribute(__uninitialized__)
#define __uninitialized __attribute__((__uninitialized__))
#else
#define __uninitialized
#endif
#endif

#endif /* VPERFCTR_COMPAT_COMPILER_H */
