/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internal to the library, and to libperfctr. */
#ifndef VPERFCTR_MAPPING_H
#define VPERFCTR_MAPPING_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/*
 * True if a state's page is mapped at this address.  The child of a fork needs this: it
 * inherits the mapping, which keeps the state's file open until the child unmaps it.
 * The child may have mapped something else there, and an older module lets it inherit
 * nothing.
 *
 * Compare the whole name.  A path begins with '/', but can contain the kernel's name.
 */
static inline bool __vperfctr_is_state_mapped(const void *page)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[PATH_MAX + 128];
	unsigned long start;
	bool found = false;
	int name;

	if (!maps)
		return false;
	while (!found && fgets(line, sizeof(line), maps)) {
		name = 0;
		/* start-end, permissions, offset, device, inode, name */
		found = sscanf(line, "%lx-%*x %*s %*s %*s %*s %n", &start, &name) == 1 &&
			start == (unsigned long)page &&
			!strcmp(line + name, "anon_inode:[vperfctr]\n");
	}
	fclose(maps);
	return found;
}

#endif /* VPERFCTR_MAPPING_H */
