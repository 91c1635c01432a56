// SPDX-License-Identifier: GPL-2.0
/* The file of -o or --log-fd: its permissions, and whether all has been written to it. */
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
 * Open a file that only the user may read.  Samples are addresses and paths of a
 * program, and so a secret of the user.  An existing file may have wider permissions,
 * and another user may own it or have it open.  So a new file replaces it: a process
 * that has the old one open sees nothing of the new one.  The directory may forbid
 * that.  Then restrict the file's permissions if the user owns it, or else refuse it.
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
	/* The name is a link to a file that does not exist: O_EXCL refuses it. */
	if (!realpath(name, path)) {
		fd = open(name, CREATE_FLAGS, 0600);
		return fd < 0 ? -errno : fd;
	}
	/* The user must have write permission, even where the file can be replaced. */
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

/* The counted command does not inherit the copy.  What it inherits is the user's choice. */
static FILE *open_copy(int fd, struct error *e)
{
	int flags = fcntl(fd, F_GETFL), copy;
	FILE *out;

	if (flags < 0) {
		fail_with(e, "descriptor %d (--log-fd) is not open", fd);
		return NULL;
	}
	if ((flags & O_ACCMODE) == O_RDONLY) {
		fail_with(e, "descriptor %d (--log-fd) is not open for writing", fd);
		return NULL;
	}
	copy = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	out = copy < 0 ? NULL : fdopen(copy, "w");
	if (!out)
		fail_with(e, "cannot write to descriptor %d: %s", fd, strerror(errno));
	return out;
}

FILE *output_open(const struct options *o, const char **name, struct error *e)
{
	static char descriptor[32];
	FILE *out;
	int fd;

	*name = o->output;
	if (o->log_fd >= 0) {
		snprintf(descriptor, sizeof(descriptor), "descriptor %d", o->log_fd);
		*name = descriptor;
		return open_copy(o->log_fd, e);
	}
	if (!o->output)
		return NULL;
	if (o->report && same_file(o->report, o->output)) {
		fail_with(e, "'%s' is the file to report, and -o would empty it: name another",
			  o->output);
		return NULL;
	}
	if (!o->sampling) {
		out = fopen(o->output, o->append ? "ae" : "we");
		if (!out)
			fail_with(e, "cannot write to '%s': %s", o->output, strerror(errno));
		return out;
	}
	fd = open_private(o->output);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd == -ENOTUNIQ)
		fail_with(e, "'%s' belongs to another user, who could read the samples: name another, or remove it",
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
