/* SPDX-License-Identifier: GPL-2.0 */
/* 6.3: vma->vm_flags is no longer written directly but by vm_flags_mod(). */
#ifndef VPERFCTR_COMPAT_VMA_H
#define VPERFCTR_COMPAT_VMA_H

#include <linux/mm.h>

#ifndef PERFCTR_HAVE_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#endif /* VPERFCTR_COMPAT_VMA_H */
