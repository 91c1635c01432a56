/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Structures of the size that the caller says: see "Sizes" in vperfctr.h. */
#ifndef VPERFCTR_SIZED_H
#define VPERFCTR_SIZED_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The size of a structure up to and with a field: that of a version which ends there. */
#define __VPERFCTR_SIZE_WITH(type, field)	(offsetof(type, field) + sizeof(((type *)0)->field))

/* True if a structure of this size includes what is needed, and the size is no mistake. */
static inline bool __vperfctr_is_size(size_t size, size_t least)
{
	return size >= least && size <= 4096;
}

/* Check the part of a caller's structure that this library does not know: it must be zero. */
static inline int __vperfctr_check_rest(const void *from, size_t size, size_t known)
{
	for (; known < size; known++)
		if (((const char *)from)[known])
			return -E2BIG;
	return 0;
}

/* Copy a structure from the caller.  Fields that the caller does not know are zero. */
static inline int __vperfctr_get_struct(void *to, size_t known, const void *from, size_t size)
{
	const size_t both = size < known ? size : known;

	memcpy(to, from, both);
	memset((char *)to + both, 0, known - both);
	return __vperfctr_check_rest(from, size, known);
}

/* Copy a structure to the caller.  Fields that only the caller knows become zero. */
static inline void __vperfctr_put_struct(void *to, size_t size, const void *from, size_t known)
{
	const size_t both = size < known ? size : known;

	memcpy(to, from, both);
	memset((char *)to + both, 0, size - both);
}

#endif /* VPERFCTR_SIZED_H */
