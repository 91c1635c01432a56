/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 5.18: on POWER, an NMI may touch memory whose translation is not in the hash table, such as
 * that of vmalloc().  Before, such a fault is fatal.
 */
#ifndef VPERFCTR_COMPAT_NMI_H
#define VPERFCTR_COMPAT_NMI_H

#ifdef PERFCTR_HAVE_NMI_FAULTS
#define perfctr_nmis_may_fault()	true
#else
#define perfctr_nmis_may_fault()	false
#endif

#endif /* VPERFCTR_COMPAT_NMI_H */
