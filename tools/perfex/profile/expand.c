// SPDX-License-Identifier: GPL-2.0
/* The functions of libzstd that have been there since its first version, without its headers. */
#include <dlfcn.h>
#include <stdlib.h>

#include "expand.h"

/* As zstd.h has them. */
struct zstd_in {
	const void *from;
	size_t size, at;
};

struct zstd_out {
	void *to;
	size_t size, at;
};

struct expander {
	void *stream;
	size_t (*run)(void *stream, struct zstd_out *out, struct zstd_in *in);
	unsigned int (*is_error)(size_t result);
	size_t (*close)(void *stream);
};

struct expander *expander_open(void)
{
	void *library = dlopen("libzstd.so.1", RTLD_LAZY | RTLD_LOCAL);
	struct expander *x = library ? calloc(1, sizeof(*x)) : NULL;
	void *(*create)(void);

	if (!x)
		return NULL;
	*(void **)&create = dlsym(library, "ZSTD_createDStream");
	*(void **)&x->run = dlsym(library, "ZSTD_decompressStream");
	*(void **)&x->is_error = dlsym(library, "ZSTD_isError");
	*(void **)&x->close = dlsym(library, "ZSTD_freeDStream");
	if (create && x->run && x->is_error && x->close)
		x->stream = create();
	if (x->stream)
		return x;
	free(x);
	return NULL;
}

long expander_run(struct expander *x, struct expanding *e)
{
	struct zstd_in in = { e->from, e->left, 0 };
	struct zstd_out out = { e->to, e->room, 0 };

	if (x->is_error(x->run(x->stream, &out, &in)))
		return -1;
	e->from = (const char *)e->from + in.at;
	e->left -= in.at;
	return (long)out.at;
}

void expander_close(struct expander *x)
{
	if (!x)
		return;
	x->close(x->stream);
	free(x);
}
