// SPDX-License-Identifier: LGPL-2.1-or-later
/* The ring of samples: make it, map it, consume samples. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

const struct vperfctr_ring_page __vperfctr_no_ring;

int vperfctr_ring_map(struct vperfctr *v, uint64_t map_size)
{
	struct vperfctr_handle *h = to_handle(v);
	void *ring;

	/* Its events have mappings of their own at such offsets. */
	if (h->perf)
		return -ENOTTY;
	/* A child does not inherit the mapping. */
	if (__vperfctr_is_this_process(&h->ring_mapper))
		return 0;
	/* No ring is larger than the address space. */
	if (map_size != (size_t)map_size)
		return -EINVAL;
	ring = mmap(NULL, (size_t)map_size, PROT_READ, MAP_SHARED, h->fd, VPERFCTR_RING_OFFSET);
	if (ring == MAP_FAILED)
		return -errno;
	if (((const struct vperfctr_ring_page *)ring)->format != VPERFCTR_RING_FORMAT) {
		munmap(ring, (size_t)map_size);
		return -EPROTONOSUPPORT;
	}
	h->pub.ring = (const struct vperfctr_ring_page *)ring;
	h->ring_size = (size_t)map_size;
	__vperfctr_this_process(&h->ring_mapper);
	return 0;
}

int vperfctr_ring_open_sized(struct vperfctr *v, struct vperfctr_ring *ring, size_t size)
{
	int err;

	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_ring, map_size)))
		return -EINVAL;
	ring->size = (uint32_t)size;
	err = __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_RING, ring);
	/* EEXIST: the kernel stored the sizes of the existing ring. */
	if (err && err != -EEXIST)
		return err;
	return vperfctr_ring_map(v, ring->map_size);
}

int vperfctr_ring_consume(struct vperfctr *v, uint64_t nr)
{
	/* The argument has the size of a pointer.  No ring has more samples than this. */
	if (nr > VPERFCTR_RING_MAX)
		return -EINVAL;
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_CONSUME, (void *)(uintptr_t)nr);
}

int vperfctr_ring_record(const struct vperfctr *v, uint64_t i, struct vperfctr_record *to,
			 size_t room)
{
	const struct vperfctr_record *first = (const void *)vperfctr_ring_sample(v, i);
	size_t done = v->ring->sample_size, size, len;
	uint64_t nr = vperfctr_ring_nr(v);
	unsigned int n;

	if (i >= nr || first->type == VPERFCTR_SAMPLE_OVERFLOW ||
	    first->type == VPERFCTR_SAMPLE_CLOCK ||
	    first->type == VPERFCTR_RECORD_MORE)
		return -EINVAL;
	if (first->slots > nr - i)
		return 0;
	size = first->size;
	if (size > room)
		return -ENOBUFS;
	if (done > size)
		done = size;
	memcpy(to, first, done);
	for (n = 1; n < first->slots && done < size; n++) {
		const struct vperfctr_more *more = (const void *)vperfctr_ring_sample(v, i + n);

		len = more->size - sizeof(*more);
		if (len > size - done)
			len = size - done;
		memcpy((char *)to + done, more + 1, len);
		done += len;
	}
	return first->slots;
}

/* Unmap the ring in the process that mapped it: a child does not inherit the mapping. */
void __vperfctr_ring_unmap(struct vperfctr_handle *h)
{
	if (__vperfctr_is_this_process(&h->ring_mapper))
		munmap((void *)h->pub.ring, h->ring_size);
}
