/* SPDX-License-Identifier: GPL-2.0 */
/* The packages of installed files. */
#ifndef PERFEX_PACKAGES_H
#define PERFEX_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

#define MAX_PACKAGES	5

/* A file, and the package that has installed it. */
struct package {
	const char *path;	/* NULL: none is looked for */
	char name[128];
	bool known;
	bool rpm;		/* else of dpkg */
};

/* Find the packages of at most MAX_PACKAGES files at once. */
void packages_find(struct package *packages, size_t nr);
/* Write how to install the symbols of a file whose package is known. */
void package_advice(const struct package *p, char *advice, size_t size);

#endif /* PERFEX_PACKAGES_H */
