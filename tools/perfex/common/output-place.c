// SPDX-License-Identifier: GPL-2.0
/* Replace a file by another one: where both are, and how one gets the place of the other. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "output.h"
#include "perfex.h"

/* Unfinished files, which must be removed if a signal ends perfex. */
static struct {
	volatile sig_atomic_t used;
	pid_t pid;
	int dir;
	dev_t dev;
	ino_t inode;
	char name[NAME_MAX + 1];
} unfinished[4];

/* True if the name is still that of this file.  A user may have moved the file meanwhile. */
static bool has_name(int dir, const char *name, dev_t dev, ino_t inode)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_dev == dev &&
	       st.st_ino == inode;
}

/* Context: a handler of a signal that ends perfex.  A child has no files of its own. */
static void remove_unfinished(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unfinished); i++)
		if (unfinished[i].used && unfinished[i].pid == getpid() &&
		    has_name(unfinished[i].dir, unfinished[i].name, unfinished[i].dev,
			     unfinished[i].inode))
			unlinkat(unfinished[i].dir, unfinished[i].name, 0);
}

static void note_unfinished(const struct output *out, const char *name, const struct stat *st)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unfinished); i++)
		if (!unfinished[i].used) {
			unfinished[i].pid = getpid();
			unfinished[i].dir = out->dir;
			unfinished[i].dev = st->st_dev;
			unfinished[i].inode = st->st_ino;
			strcpy(unfinished[i].name, name);
			unfinished[i].used = 1;
			break;
		}
	signals_before_end(remove_unfinished);
}

/* The file has its place, or is removed. */
static void forget_unfinished(const struct output *out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unfinished); i++)
		if (unfinished[i].dir == out->dir)
			unfinished[i].used = 0;
}

/* ---- places ------------------------------------------------------------------------------ */

bool output_place(struct output *out, const char *name)
{
	const char *slash = strrchr(name, '/');
	char *dir = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");

	if (out->dir >= 0)
		close(out->dir);
	out->dir = -1;
	errno = ENOMEM;
	if (!dir)
		return false;
	if (snprintf(out->base, sizeof(out->base), "%s", slash ? slash + 1 : name) >=
	    (int)sizeof(out->base))
		errno = ENAMETOOLONG;
	else
		out->dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(dir);
	return out->dir >= 0;
}

static bool is_target(const struct output *out)
{
	return has_name(out->dir, out->base, out->old.st_dev, out->old.st_ino);
}

bool output_find_place(struct output *out, const char *name)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	if (output_place(out, name) && is_target(out))
		return true;
	/* The name is a link, which remains: the kernel knows where it leads. */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", out->target);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0 || path[0] != '/')
		return false;
	path[n] = '\0';
	return output_place(out, path) && is_target(out);
}

/* ---- files ------------------------------------------------------------------------------- */

/* The new file has the owner and the mode of the old one. */
static bool take_rights(const struct output *out, int fd)
{
	struct stat st;

	if (out->target < 0 || out->flags & OUTPUT_PRIVATE)
		return true;
	if (fstat(fd, &st))
		return false;
	if ((st.st_uid != out->old.st_uid || st.st_gid != out->old.st_gid) &&
	    fchown(fd, out->old.st_uid, out->old.st_gid) && !(out->flags & OUTPUT_WHOLE))
		return false;
	return !fchmod(fd, out->old.st_mode & 0777);
}

int output_make_new(struct output *out)
{
	int fd = openat(out->dir, out->base, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			out->flags & OUTPUT_PRIVATE ? 0600 : 0666);

	if (fd >= 0 && !fstat(fd, &out->old))
		note_unfinished(out, out->base, &out->old);
	return fd;
}

#define NAME_TRIES	10

/* Choose a random name, which other users cannot prepare. */
static bool choose_temp_name(struct output *out)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return false;
	snprintf(out->temp, sizeof(out->temp), ".perfex-%016" PRIx64, number);
	return true;
}

/* By this name the kernel finds an open file that has no other one. */
static const char *name_of_descriptor(char *buf, size_t size, int fd)
{
	snprintf(buf, size, "/proc/self/fd/%d", fd);
	return buf;
}

/*
 * Make a file that has no name until it is published, so that nothing of it is left if perfex is
 * killed.
 * Return: a descriptor; -1: there are no such files here, or they cannot get a name
 */
static int make_nameless(const struct output *out, mode_t mode)
{
	int fd = openat(out->dir, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode);
	char name[64];

	if (fd >= 0 && (access(name_of_descriptor(name, sizeof(name), fd), F_OK) || !take_rights(out, fd))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Give that file a name.  A link cannot replace another file, but the rename after it can. */
static int link_temp(struct output *out)
{
	const int fd = fileno(out->f);
	int err = EEXIST, tries;
	struct stat st;
	char name[64];

	for (tries = 0; err == EEXIST && tries < NAME_TRIES; tries++) {
		if (!choose_temp_name(out))
			err = errno;
		else if (linkat(AT_FDCWD, name_of_descriptor(name, sizeof(name), fd), out->dir, out->temp,
				AT_SYMLINK_FOLLOW))
			err = errno;
		else
			err = 0;
	}
	if (err)
		out->temp[0] = '\0';
	else if (!fstat(fd, &st))
		note_unfinished(out, out->temp, &st);
	return err;
}

int output_make_temp(struct output *out)
{
	const mode_t mode = out->target < 0 && !(out->flags & OUTPUT_PRIVATE) ? 0666 : 0600;
	struct stat st;
	int fd, tries;

	/*
	 * Samples have a name: perfex report reads those of a recorder that was killed.  So has what is
	 * published at once, and never copied.
	 */
	fd = out->flags & (OUTPUT_PRIVATE | OUTPUT_WHOLE) ? -1 : make_nameless(out, mode);
	if (fd >= 0)
		return fd;
	for (tries = 0; tries < NAME_TRIES; tries++) {
		if (!choose_temp_name(out))
			return -1;
		fd = openat(out->dir, out->temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd >= 0 && !fstat(fd, &st))
			note_unfinished(out, out->temp, &st);
		else if (fd < 0)
			out->temp[0] = '\0';
		if (fd < 0 || take_rights(out, fd))
			return fd;
		output_finish(out, false);
		close(fd);
		errno = EPERM;
		return -1;
	}
	return -1;
}

int output_make_unnamed(void)
{
	const char *dir = getenv("TMPDIR");
	int fd = open(dir && *dir ? dir : "/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("perfex-output", MFD_CLOEXEC);
}

/* A file that has the other name is older, and is lost. */
static void keep_old(const struct output *out)
{
	char name[NAME_MAX + 1];

	if (snprintf(name, sizeof(name), "%s.old", out->base) < (int)sizeof(name))
		renameat(out->dir, out->base, out->dir, name);
}

int output_rename(struct output *out)
{
	const int err = *out->temp ? 0 : link_temp(out);

	if (err)
		return err;
	if (out->flags & OUTPUT_KEEP_OLD && out->target >= 0)
		keep_old(out);
	if (renameat(out->dir, out->temp, out->dir, out->base))
		return errno;
	out->temp[0] = '\0';
	out->named = true;
	return 0;
}

/* Make sure that there is room, as long as the old text is there. */
static int make_room(const struct output *out, off_t size)
{
	if (size > out->old.st_size &&
	    fallocate(out->target, FALLOC_FL_KEEP_SIZE, out->old.st_size, size - out->old.st_size) &&
	    (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
		return errno;
	return 0;
}

static int copy_all(int from, int to, off_t size)
{
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	while (at < size) {
		n = pread(from, buf, sizeof(buf), at);
		if (n > 0)
			n = pwrite(to, buf, (size_t)n, at);
		/* A file that is shorter than it was has lost something. */
		if (!n)
			errno = EIO;
		if (n <= 0 && (!n || errno != EINTR))
			return errno;
		at += n > 0 ? n : 0;
	}
	return ftruncate(to, size) ? errno : 0;
}

int output_copy(struct output *out)
{
	const int fd = fileno(out->f);
	struct stat st, now;
	int err;

	if (fstat(fd, &st) || fstat(out->target, &now))
		return errno;
	if (out->flags & OUTPUT_PRIVATE && fchmod(out->target, 0600))
		return errno;
	/* Where the directory was removed, the file has no name: its text would be lost. */
	err = !now.st_nlink && out->old.st_nlink ? ENOENT : make_room(out, st.st_size);
	if (!err)
		err = copy_all(fd, out->target, st.st_size);
	if (err)
		return err;
	if (lseek(out->target, st.st_size, SEEK_SET) < 0 || dup3(out->target, fd, O_CLOEXEC) < 0)
		return errno;
	out->named = out->old.st_nlink;
	return 0;
}

void output_finish(struct output *out, bool keep)
{
	if (out->dir < 0)
		return;
	if (out->way == OUTPUT_NEW && !keep && is_target(out))
		unlinkat(out->dir, out->base, 0);
	/* Its text is in the target, if it is kept. */
	if (out->temp[0])
		unlinkat(out->dir, out->temp, 0);
	out->temp[0] = '\0';
	forget_unfinished(out);
}
