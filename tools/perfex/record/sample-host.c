// SPDX-License-Identifier: GPL-2.0
/* Write what the machine is: other programs want to know it, and a reader may run on another one. */
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "recording.h"

static uint32_t number_of(int name)
{
	long n = sysconf(name);

	return n > 0 ? (uint32_t)n : 0;
}

void write_host(struct recording *rec)
{
	struct {
		struct record_host r;
		char names[3 * sizeof(((struct utsname *)0)->release)];
	} host = { .r = { number_of(_SC_NPROCESSORS_CONF), number_of(_SC_NPROCESSORS_ONLN) } };
	struct utsname name;
	char *end = host.names;

	if (uname(&name))
		return;
	end = stpcpy(end, name.machine) + 1;
	end = stpcpy(end, name.release) + 1;
	/* The NUL of the last one is write_record()'s. */
	write_record(rec, RECORD_HOST, &host, (size_t)(end - (char *)&host), name.nodename);
}
