/* SPDX-License-Identifier: GPL-2.0 */
/* The packages of installed files. */
#ifndef PERFEX_PACKAGES_H
#define PERFEX_PACKAGES_H

#include <stdbool.h>
#include <stddef.h>

/* Write how to install the symbols of the file.  Return: false: no package is known to have it */
bool package_advice(const char *path, char *advice, size_t size);

#endif /* PERFEX_PACKAGES_H */
