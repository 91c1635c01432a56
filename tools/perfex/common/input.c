// SPDX-License-Identifier: GPL-2.0
/* Open the files to read that the user has named. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "perfex.h"

#ifndef PIPEFS_MAGIC
#define PIPEFS_MAGIC	0x50495045
#endif

/*
 * True if this is a pipe that another user has put into a directory: an open may wait for its
 * writer forever.  One without a name is the output of a program that the user has started.
 */
static bool may_wait(int found)
{
	struct statfs fs;
	struct stat st;

	return !fstat(found, &st) && S_ISFIFO(st.st_mode) && st.st_uid && st.st_uid != geteuid() &&
	       !fstatfs(found, &fs) && fs.f_type != PIPEFS_MAGIC;
}

/* Open what was looked at, whatever has its name by now.  Return: a descriptor, or -1 with errno */
static int open_looked_at(int found)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	return open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

FILE *open_input(const char *name, struct error *e)
{
	const int found = open(name, O_PATH | O_CLOEXEC);
	const bool waits = found >= 0 && may_wait(found);
	const int fd = found >= 0 && !waits ? open_looked_at(found) : -1;
	FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
	const int err = waits ? EPERM : errno;

	if (found >= 0)
		close(found);
	if (f)
		return f;
	if (fd >= 0)
		close(fd);
	if (waits)
		fail_with(e, "'%.200s' is a pipe of another user, who may never write to it", name);
	else if (found >= 0 && err == ENOENT)
		fail_with(e, "cannot read '%.200s': is /proc mounted?", name);
	else
		fail_with(e, "cannot read '%.200s': %s", name, strerror(err));
	errno = err;
	return NULL;
}
