/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copies from and to the caller's memory.
 *
 * Frequent copies have a size that the compiler knows, one word at a time.  Hardened
 * usercopy then has nothing to check, which would take longer than the copy.
 */
#ifndef VPERFCTR_USERCOPY_H
#define VPERFCTR_USERCOPY_H

#include <linux/errno.h>
#include <linux/fault-inject-usercopy.h>
#include <linux/mm.h>
#include <linux/types.h>
#include <linux/uaccess.h>

#include "compat/address.h"

/*
 * user_access_begin() that a kernel with fault injection for user copies can make fail,
 * like its own copy_from_user().
 */
#define vperfctr_access_begin(ptr, size)	\
	(!should_fail_usercopy() && user_access_begin(ptr, size))

/* Read the size at the beginning of a structure, which the caller has set. */
static inline int vperfctr_get_size(const void __user *arg, u32 smallest, u32 *size)
{
	if (get_user(*size, (const u32 __user *)arg))
		return -EFAULT;
	if (*size < smallest)
		return -EINVAL;
	return *size > PAGE_SIZE ? -E2BIG : 0;
}

/*
 * Copy the rest of a structure that has another size than this kernel knows.  Its first word
 * has been copied.
 */
static inline int vperfctr_get_other_struct(void *to, size_t known, const void __user *from,
					    u32 smallest)
{
	u32 size = *(u32 *)to;

	if (size < smallest)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	return copy_struct_from_user(to + sizeof(u64), known - sizeof(u64), from + sizeof(u64),
				     size - sizeof(u64));
}

/*
 * Copy a structure that begins with its size.  `known`: its size in this kernel, a
 * multiple of 8.  `smallest`: the smallest size that a caller may use, at least 8.
 *
 * Each byte is read once, the size included: another thread of the caller may change it
 * between two reads.
 */
static __always_inline int vperfctr_get_struct(void *to, size_t known, const void __user *from,
					       u32 smallest)
{
	const u64 __user *source = from;
	u64 *words = to;
	unsigned int i;

	if (!vperfctr_access_begin(from, known))
		return -EFAULT;
	unsafe_get_user(words[0], &source[0], fault);
	if (unlikely(*(u32 *)to != known)) {
		user_access_end();
		return vperfctr_get_other_struct(to, known, from, smallest);
	}
	/* clang does not unroll a loop with asm goto, and warns. */
#ifdef CONFIG_CC_IS_GCC
#pragma GCC unroll 16
#endif
	for (i = 1; i < known / sizeof(u64); i++)
		unsafe_get_user(words[i], &source[i], fault);
	user_access_end();
	return 0;

fault:
	user_access_end();
	return -EFAULT;
}

static inline int vperfctr_put_words(u64 __user *to, const u64 *from, unsigned int n)
{
	unsigned int i;

	if (!vperfctr_access_begin(to, n * sizeof(*to)))
		return -EFAULT;
	for (i = 0; i < n; i++)
		unsafe_put_user(from[i], &to[i], fault);
	user_access_end();
	return 0;

fault:
	user_access_end();
	return -EFAULT;
}

#endif /* VPERFCTR_USERCOPY_H */
