// SPDX-License-Identifier: GPL-2.0
/*
 * A library in the place of libdebuginfod: it notes in $ASKED each build ID that is asked for, and
 * finds the files in $SERVED, or none; with $SERVED=unreachable there is no server.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct debuginfod_client;

struct debuginfod_client *debuginfod_begin(void);
int debuginfod_find_debuginfo(struct debuginfod_client *c, const unsigned char *id, int size,
			      char **path);

static int the_client;

struct debuginfod_client *debuginfod_begin(void)
{
	return (struct debuginfod_client *)&the_client;
}

int debuginfod_find_debuginfo(struct debuginfod_client *c, const unsigned char *id, int size,
			      char **path)
{
	const char *served = getenv("SERVED");
	char name[256];
	int i, n, fd;
	FILE *asked;

	if (c != (struct debuginfod_client *)&the_client)
		abort();
	n = snprintf(name, sizeof(name), "%s/", served ? served : "/nowhere");
	for (i = 0; i < size; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, i == 1 ? "/%02x" : "%02x", id[i]);
	snprintf(name + n, sizeof(name) - (size_t)n, ".debug");
	asked = fopen(getenv("ASKED"), "a");
	if (!asked)
		abort();
	for (i = 0; i < size; i++)
		fprintf(asked, "%02x", id[i]);
	fputc('\n', asked);
	fclose(asked);
	if (served && !strcmp(served, "unreachable"))
		return -ECONNREFUSED;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	if (asprintf(path, "%s", name) < 0)
		abort();
	return fd;
}
