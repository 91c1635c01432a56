/* SPDX-License-Identifier: GPL-2.0 */
/* Shared libraries that only some commands need: these load them. */
#ifndef PERFEX_LIBRARY_H
#define PERFEX_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* A function, or a variable, of a library: where its address goes, and its name. */
struct library_symbol {
	void **address;
	const char *name;
};

/*
 * Load the library once.
 * Return: false: it is not installed, or it is one without one of the symbols.
 */
bool library_load(const char *name, const struct library_symbol *symbols, size_t nr);

#endif /* PERFEX_LIBRARY_H */
