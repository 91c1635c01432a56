// SPDX-License-Identifier: GPL-2.0
/*
 * Load a shared library when a command needs it.  The dynamic loader relocates a library when it
 * loads it, and for some libraries this takes longer than all else that perfex does.
 */
#include <dlfcn.h>

#include "library.h"

bool library_load(const char *name, const struct library_symbol *symbols, size_t nr)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	size_t i;

	for (i = 0; library && i < nr; i++) {
		*symbols[i].address = dlsym(library, symbols[i].name);
		if (!*symbols[i].address) {
			dlclose(library);
			return false;
		}
	}
	return library;
}
