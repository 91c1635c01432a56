/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses of the kernel and of user mode, on 64 bits and on 32. */
#ifndef VPERFCTR_COMPAT_ADDRESS_H
#define VPERFCTR_COMPAT_ADDRESS_H

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/types.h>

/* True if this is an address in the kernel, not one of user mode. */
static __always_inline bool perfctr_is_kernel_address(u64 address)
{
#if BITS_PER_LONG == 32
	/* The top bit does not tell: user space may have three of four gigabytes. */
	return address >= PAGE_OFFSET;
#else
	/* Only addresses in the kernel have the top bit. */
	return address >> 63;
#endif
}

/*
 * Return an address of the interface as a pointer.  32 bits have no room for the upper half:
 * an address with one must be refused, so it becomes an inaccessible one.
 */
static __always_inline void __user *perfctr_user_ptr(u64 address)
{
#if BITS_PER_LONG == 32
	if (address >> 32)
		address = PAGE_OFFSET;
#endif
	return u64_to_user_ptr(address);
}

#endif /* VPERFCTR_COMPAT_ADDRESS_H */
