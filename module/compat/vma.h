/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.3: vma->vm_flags must be changed by vm_flags_mod(), not written directly.
 * 7.1: zap_special_vma_range() is the new name of zap_vma_ptes().
 */
#ifndef VPERFCTR_COMPAT_VMA_H
#define VPERFCTR_COMPAT_VMA_H

#include <linux/mm.h>

#ifndef PERFCTR_HAVE_VM_FLAGS_MOD
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

#ifndef PERFCTR_HAVE_ZAP_SPECIAL_VMA_RANGE
static inline void zap_special_vma_range(struct vm_area_struct *vma, unsigned long address,
					 unsigned long size)
{
	zap_vma_ptes(vma, address, size);
}
#endif

#endif /* VPERFCTR_COMPAT_VMA_H */
