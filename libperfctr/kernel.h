/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Include the kernel's interface in files that use perfctr's.  One structure has the same
 * name in both: here the kernel's is struct kernel_control.
 */
#ifndef LIBPERFCTR_KERNEL_H
#define LIBPERFCTR_KERNEL_H

#define vperfctr_control	kernel_control
#include <linux/vperfctr.h>
#undef vperfctr_control

#endif /* LIBPERFCTR_KERNEL_H */
