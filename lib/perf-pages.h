/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads of perf_event's counters in user mode.  Internal to the library. */
#ifndef VPERFCTR_PERF_PAGES_H
#define VPERFCTR_PERF_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct __vperfctr_perf_pages;

/*
 * Map the pages of events of the calling thread, by their descriptors.
 *
 * Return: NULL if perf_event has no reads in user mode here, or no memory is left.
 */
struct __vperfctr_perf_pages *__vperfctr_perf_map(const int *fd, const uint8_t *place,
						  unsigned int nr);
void __vperfctr_perf_unmap(struct __vperfctr_perf_pages *pages);

/*
 * Read the counts of these events.  The caller is the thread that has mapped them, or its copy in
 * a child.
 *
 * Return: false if the kernel must read: @value is then undefined.
 */
bool __vperfctr_perf_read_pages(const struct __vperfctr_perf_pages *pages, uint64_t *value,
				unsigned int first, unsigned int nr);

/* The same for the event @i only. */
bool __vperfctr_perf_read_page(const struct __vperfctr_perf_pages *pages, uint64_t *value,
			       unsigned int i);

#pragma GCC visibility pop

#endif /* VPERFCTR_PERF_PAGES_H */
