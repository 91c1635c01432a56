/* SPDX-License-Identifier: GPL-2.0 */
/* The functions that the JIT of a process has made. */
#ifndef PERFEX_JIT_SYMBOLS_H
#define PERFEX_JIT_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct code;
struct work;
struct jit_symbols;

/*
 * inner_pid: the number that the process has in its own namespace.  uid: of the process
 * Return: NULL: there are none; then *why says why a file is left out; or NULL
 */
struct jit_symbols *jit_symbols_read(uint32_t pid, uint32_t inner_pid, uint32_t uid,
				     const char **why);
/* Their file. */
const struct work *jit_symbols_work(const struct jit_symbols *s);
/* Return: the function's name, or NULL. */
const char *jit_symbols_find(struct jit_symbols *s, uint64_t address);
/* Find the code of the function that has the address.  Return: false: there is no function. */
bool jit_symbols_code(struct jit_symbols *s, uint64_t address, struct code *code);
void jit_symbols_free(struct jit_symbols *s);

#endif /* PERFEX_JIT_SYMBOLS_H */
