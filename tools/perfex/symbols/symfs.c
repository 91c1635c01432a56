// SPDX-License-Identifier: GPL-2.0
/* --symfs: another directory in which files are found. */
#include <stdio.h>

#include "symbols.h"

static const char *symfs;

void modules_use_directory(const char *directory)
{
	symfs = directory;
}

const char *modules_directory(void)
{
	return symfs;
}

bool below_directory(const char *path, char *there, size_t size)
{
	return symfs && snprintf(there, size, "%s%s", symfs, path) < (int)size;
}
