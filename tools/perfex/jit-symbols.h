/* SPDX-License-Identifier: GPL-2.0 */
/* The functions that the JIT of a process has made. */
#ifndef PERFEX_JIT_SYMBOLS_H
#define PERFEX_JIT_SYMBOLS_H

#include <stdint.h>

struct jit_symbols;

/* Return: NULL: there are none. */
struct jit_symbols *jit_symbols_read(uint32_t pid);
/* Return: the function's name, or NULL. */
const char *jit_symbols_find(const struct jit_symbols *s, uint64_t address);
void jit_symbols_free(struct jit_symbols *s);

#endif /* PERFEX_JIT_SYMBOLS_H */
