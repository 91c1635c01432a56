/* SPDX-License-Identifier: GPL-2.0 */
/* Files of perfex --sample from a machine with another byte order: see sample-file.h. */
#ifndef PERFEX_SAMPLE_SWAP_H
#define PERFEX_SAMPLE_SWAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sample-file.h"

/* Reverse the bytes of the numbers in the header of a version, of which `size` bytes are there. */
void swap_header(void *header, size_t size, uint32_t version);

void swap_record_head(struct record *r);

/*
 * Reverse the bytes of the numbers in the data of a record.  If it is too short for them, the
 * rest is left out, and the reader finds that it is damaged.
 *
 * stacks: samples may have registers and a stack.
 */
void swap_record(uint32_t version, uint32_t type, bool stacks, char *data, size_t len);

#endif /* PERFEX_SAMPLE_SWAP_H */
