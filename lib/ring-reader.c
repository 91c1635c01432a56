// SPDX-License-Identifier: LGPL-2.1-or-later
/* The ring of samples: made, mapped, consumed. */
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

const struct vperfctr_ring_page __vperfctr_no_ring;

int vperfctr_ring_map(struct vperfctr *v, uint64_t map_size)
{
	struct vperfctr_handle *h = to_handle(v);
	void *ring;

	/* A parent's is not there after a fork. */
	if (h->ring_mapper == getpid())
		return 0;
	/* What does not fit the address space is no ring's size either. */
	if (map_size != (size_t)map_size)
		return -EINVAL;
	ring = mmap(NULL, (size_t)map_size, PROT_READ, MAP_SHARED, h->fd, VPERFCTR_RING_OFFSET);
	if (ring == MAP_FAILED)
		return -errno;
	h->pub.ring = (const struct vperfctr_ring_page *)ring;
	h->ring_size = (size_t)map_size;
	h->ring_mapper = getpid();
	return 0;
}

int vperfctr_ring_open(struct vperfctr *v, struct vperfctr_ring *ring)
{
	int err;

	ring->size = sizeof(*ring);
	err = __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_RING, ring);
	/* EEXIST: the sizes are those of the ring that there is. */
	if (err && err != -EEXIST)
		return err;
	return vperfctr_ring_map(v, ring->map_size);
}

int vperfctr_ring_consume(struct vperfctr *v, uint64_t nr)
{
	/* A pointer's size is what the call takes; no ring has that many. */
	if (nr > VPERFCTR_RING_MAX)
		return -EINVAL;
	return __vperfctr_ioctl(to_handle(v)->fd, VPERFCTR_CONSUME, (void *)(uintptr_t)nr);
}

/* As the page, it is not inherited by fork. */
void __vperfctr_ring_unmap(struct vperfctr_handle *h)
{
	if (h->ring_mapper && h->ring_mapper == getpid())
		munmap((void *)h->pub.ring, h->ring_size);
}
