// SPDX-License-Identifier: GPL-2.0
/* The file of -o: who may read it, and whether all has been written to it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfex.h"

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

#define CREATE_FLAGS	(O_WRONLY | O_CREAT | O_CLOEXEC)

/*
 * Samples are addresses and paths of a program, and so a secret of the user: only he
 * may read the file.  If it exists, its permissions may be wider, another user may own
 * it, or have it open.  So it is replaced by a new one; a process that has the old one
 * open sees nothing of the new one.  Where its directory does not let it be replaced,
 * one's own file is narrowed in place, and another user's is refused.
 *
 * Return: a descriptor, or -errno; -ENOTUNIQ: another user's file.
 */
static int open_private(const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int fd, old;

	fd = open(name, CREATE_FLAGS | O_EXCL, 0600);
	if (fd >= 0 || errno != EEXIST)
		return fd < 0 ? -errno : fd;
	/* A link to nothing, which O_EXCL refuses. */
	if (!realpath(name, path)) {
		fd = open(name, CREATE_FLAGS, 0600);
		return fd < 0 ? -errno : fd;
	}
	/* It must be writable, even if its directory would let it be replaced. */
	old = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (old < 0)
		return -errno;
	/* A terminal, a pipe or a device has its own permissions. */
	if (fstat(old, &st) || !S_ISREG(st.st_mode))
		return old;
	if (!unlink(path)) {
		close(old);
		fd = open(path, CREATE_FLAGS | O_EXCL, 0600);
		return fd < 0 ? -errno : fd;
	}
	if (st.st_uid == geteuid() && !fchmod(old, 0600) && !ftruncate(old, 0))
		return old;
	close(old);
	return -ENOTUNIQ;
}

FILE *output_open(const struct options *o, struct error *e)
{
	FILE *out;
	int fd;

	if (o->report && same_file(o->report, o->output)) {
		fail_with(e, "'%s' is the file to report, and -o would empty it: name another",
			  o->output);
		return NULL;
	}
	if (!o->sampling) {
		out = fopen(o->output, "we");
		if (!out)
			fail_with(e, "cannot write to '%s': %s", o->output, strerror(errno));
		return out;
	}
	fd = open_private(o->output);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd == -ENOTUNIQ)
		fail_with(e, "'%s' is another user's file, who could read the samples: name another, or remove it",
			  o->output);
	else if (!out)
		fail_with(e, "cannot write to '%s': %s", o->output, strerror(-fd));
	return out;
}

int output_error(FILE *f)
{
	int fd;

	errno = 0;
	if (fflush(f) || ferror(f))
		return errno ? errno : EIO;
	/* Some file systems report what could not be written when it is closed. */
	fd = dup(fileno(f));
	return fd >= 0 && close(fd) ? errno : 0;
}
