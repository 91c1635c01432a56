/* SPDX-License-Identifier: GPL-2.0 */
/* Names of the stubs by which a file calls functions of others, "NAME@plt". */
#ifndef PERFEX_PLT_H
#define PERFEX_PLT_H

#include <libelf.h>

#include "symbols.h"

struct plt;

/* Read those of a file for x86-64 or arm64.  Return: NULL: no memory */
struct plt *plt_read(Elf *elf);
void plt_free(struct plt *plt);

/*
 * Find the stub at an address as in the file's symbols.  plt: may be NULL.
 * Return: its name, and where it starts and ends; NULL: there is none
 */
const char *plt_find(const struct plt *plt, uint64_t address, uint64_t *start, uint64_t *end);

#endif /* PERFEX_PLT_H */
