// SPDX-License-Identifier: GPL-2.0
/*
 * The files that perfex writes.
 *
 * perfex may be run by root, and a name may be in a directory of another user.  So it opens
 * the name itself, with O_CREAT, and the kernel decides whether links, pipes and files of
 * others are followed and written there: see fs.protected_symlinks, protected_fifos and
 * protected_regular in proc(5).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "output.h"
#include "perfex.h"

/* More than any shell opens. */
#define MAX_INHERITED	256

/* An errno of this file: the output is private, and another user could read it. */
#define EOTHERS		ENOTUNIQ

/* True if another user could read what is written there. */
static bool is_open_to_others(const struct output *out, const struct stat *st)
{
	if (!(out->flags & OUTPUT_PRIVATE) || st->st_uid == geteuid())
		return false;
	/* A terminal or a device has its own permissions, and root reads all pipes. */
	return S_ISREG(st->st_mode) || (S_ISFIFO(st->st_mode) && st->st_uid);
}

/* Return: a descriptor by which a program has opened this file for perfex; -1: none */
static int find_inherited(const struct output *out)
{
	struct stat st;
	int fd;

	for (fd = 0; fd < MAX_INHERITED; fd++)
		if (fd != out->target && !fstat(fd, &st) && st.st_dev == out->old.st_dev &&
		    st.st_ino == out->old.st_ino &&
		    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
			return fd;
	return -1;
}

/* Not on a standard file, which may be closed.  The command does not inherit it. */
static int copy_descriptor(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* True if a new file would differ from the old one in more than its text. */
static bool has_other_names(const struct output *out)
{
	return !(out->flags & OUTPUT_PRIVATE) &&
	       (out->old.st_nlink != 1 ||
		fgetxattr(out->target, "system.posix_acl_access", NULL, 0) >= 0);
}

/* True if the directory lets only the owner of a file replace it. */
static bool is_kept(const struct output *out)
{
	const uid_t me = geteuid();
	struct stat st;

	return me && me != out->old.st_uid &&
	       (fstat(out->dir, &st) || (st.st_mode & S_ISVTX && st.st_uid != me));
}

/* An existing file.  Return: a descriptor, or -1 with errno. */
static int open_replacement(struct output *out)
{
	const bool own = out->old.st_uid == geteuid();
	int fd;

	if (output_find_place(out, out->name) && !has_other_names(out) && !is_kept(out)) {
		out->way = OUTPUT_RENAME;
		fd = output_make_temp(out);
		if (fd >= 0 || out->flags & OUTPUT_WHOLE)
			return fd;
	}
	errno = out->flags & OUTPUT_WHOLE ? EACCES : EOTHERS;
	if (out->flags & OUTPUT_WHOLE || (out->flags & OUTPUT_PRIVATE && !own))
		return -1;
	out->way = OUTPUT_COPY;
	return output_make_unnamed();
}

static int open_new(struct output *out)
{
	int fd;

	if (!output_place(out, out->name))
		return -1;
	if (out->flags & OUTPUT_WHOLE) {
		out->way = OUTPUT_RENAME;
		return output_make_temp(out);
	}
	fd = output_make_new(out);
	if (fd >= 0)
		out->way = OUTPUT_NEW;
	out->named = true;
	return fd;
}

/* The name is a link to a file that did not exist, and is made now. */
static int take_linked(struct output *out)
{
	if (output_find_place(out, out->name))
		out->way = OUTPUT_NEW;
	out->named = true;
	return copy_descriptor(out->target);
}

static int open_existing(struct output *out, bool linked)
{
	const bool append = out->flags & OUTPUT_APPEND;
	int inherited;

	out->target = open(out->name, O_WRONLY | O_CREAT | O_NOCTTY | O_CLOEXEC | (append ? O_APPEND : 0),
			   out->flags & OUTPUT_PRIVATE ? 0600 : 0666);
	if (out->target < 0 || fstat(out->target, &out->old))
		return -1;
	inherited = find_inherited(out);
	/* A regular file is replaced by one of the user's own, unless it is open already. */
	errno = EOTHERS;
	if (is_open_to_others(out, &out->old) && (inherited >= 0 || !S_ISREG(out->old.st_mode)))
		return -1;
	if (inherited >= 0 && out->flags & OUTPUT_PRIVATE && S_ISREG(out->old.st_mode) &&
	    fchmod(out->target, 0600))
		return -1;
	if (inherited >= 0)
		return copy_descriptor(inherited);
	out->named = out->old.st_nlink;
	if (!S_ISREG(out->old.st_mode) || append)
		return copy_descriptor(out->target);
	out->named = false;
	return linked && !out->old.st_size ? take_linked(out) : open_replacement(out);
}

static int open_name(struct output *out)
{
	struct stat st;
	int fd;

	while (lstat(out->name, &st)) {
		if (errno != ENOENT)
			return -1;
		/* Other programs may add to the file from now on: perfex never removes it. */
		if (out->flags & OUTPUT_APPEND)
			return open_existing(out, false);
		fd = open_new(out);
		/* Another process may have made it meanwhile. */
		if (fd >= 0 || errno != EEXIST || lstat(out->name, &st))
			return fd;
	}
	if (stat(out->name, &st))
		return open_existing(out, errno == ENOENT);
	/* An open for writing waits for a reader: ask before. */
	errno = EOTHERS;
	if (S_ISFIFO(st.st_mode) && is_open_to_others(out, &st))
		return -1;
	return open_existing(out, false);
}

int output_open(struct output *out, const char *name, unsigned int flags, struct error *e)
{
	int fd, err;

	*out = (struct output){ .name = name, .flags = flags, .target = -1, .dir = -1 };
	fd = open_name(out);
	out->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (out->f)
		return 0;
	err = errno;
	if (fd >= 0)
		close(fd);
	output_close(out, false);
	return err == EOTHERS ?
		fail_with(e, "'%s' belongs to another user, who could read the samples: name another, or remove it",
			  name) :
		fail_with(e, "cannot write to '%s': %s", name, strerror(err));
}

int output_open_descriptor(struct output *out, int fd, struct error *e)
{
	const char *option = fd == STDOUT_FILENO ? "" : " (--log-fd)";
	int mode = fcntl(fd, F_GETFL), copy;

	*out = (struct output){ .target = -1, .dir = -1 };
	if (fd == STDOUT_FILENO)
		strcpy(out->room, "standard output");
	else
		snprintf(out->room, sizeof(out->room), "descriptor %d", fd);
	out->name = out->room;
	if (mode < 0)
		return fail_with(e, "%s%s is not open", out->name, option);
	if ((mode & O_ACCMODE) == O_RDONLY)
		return fail_with(e, "%s%s is not open for writing", out->name, option);
	copy = copy_descriptor(fd);
	out->f = copy < 0 ? NULL : fdopen(copy, "w");
	return out->f ? 0 : fail_with(e, "cannot write to %s: %s", out->name, strerror(errno));
}

/* The first error of output_write(). */
static struct {
	const FILE *f;
	int err;
} failed;

void output_write(FILE *f, const void *data, size_t size)
{
	errno = 0;
	if (fwrite(data, 1, size, f) == size || failed.f == f)
		return;
	failed.f = f;
	failed.err = errno;
}

/*
 * A device that is full, or was closed or opened for reading only, also refuses to write nothing.
 * A pipe or socket does not, and a socket would send it.
 */
static int error_of_other(int fd, mode_t mode)
{
	struct pollfd reader = { .fd = fd };

	if (S_ISCHR(mode))
		return write(fd, "", 0) < 0 ? errno : EIO;
	return poll(&reader, 1, 0) == 1 && reader.revents & (POLLERR | POLLHUP) ? EPIPE : EIO;
}

/* stdio has forgotten why an earlier write failed.  A disk that was full still is. */
static int error_before(FILE *f)
{
	struct rlimit most;
	struct stat st;
	int err = EIO;

	if (failed.f == f && failed.err)
		return failed.err;
	if (fstat(fileno(f), &st))
		return errno;
	if (!S_ISREG(st.st_mode))
		return error_of_other(fileno(f), st.st_mode);
	if (!getrlimit(RLIMIT_FSIZE, &most) && (rlim_t)st.st_size >= most.rlim_cur)
		err = EFBIG;
	else if (fallocate(fileno(f), FALLOC_FL_KEEP_SIZE, st.st_size, 65536) &&
		 (errno == ENOSPC || errno == EDQUOT))
		err = errno;
	return err;
}

int output_error(FILE *f)
{
	int fd;

	errno = 0;
	if (fflush(f) || ferror(f))
		return errno ? errno : error_before(f);
	/* Some file systems report what could not be written when it is closed. */
	fd = dup(fileno(f));
	return fd >= 0 && close(fd) ? errno : 0;
}

int output_flush(FILE *f, const struct showing *show, struct error *e)
{
	const int err = output_error(f);

	if (!err)
		return 0;
	return show->file ? fail_with(e, "cannot write to '%s': %s", show->file, strerror(err)) :
			    fail_with(e, "cannot write to standard output: %s", strerror(err));
}

/* True if the file was removed meanwhile, such as by the command. */
static bool is_removed(const struct output *out)
{
	struct stat st;

	return out->named && !fstat(fileno(out->f), &st) && S_ISREG(st.st_mode) && !st.st_nlink;
}

int output_publish(struct output *out)
{
	int err = output_error(out->f);

	if (!err && is_removed(out))
		err = ENOENT;
	if (err || out->published)
		return err;
	if (out->way == OUTPUT_RENAME)
		err = output_rename(out);
	/* The name may be a mount, or the directory may have changed. */
	if (out->way == OUTPUT_COPY || (err && out->target >= 0 && !(out->flags & OUTPUT_WHOLE) &&
					(!(out->flags & OUTPUT_PRIVATE) || out->old.st_uid == geteuid())))
		err = output_copy(out);
	if (err)
		return err;
	out->published = true;
	output_finish(out, true);
	return 0;
}

bool output_keep_new(struct output *out)
{
	char link[32], dir[PATH_MAX];
	ssize_t n;

	if (out->published)
		return true;
	if (out->way == OUTPUT_COPY || (out->way == OUTPUT_RENAME && !*out->temp) || is_removed(out))
		return false;
	if (out->way == OUTPUT_RENAME) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", out->dir);
		n = readlink(link, dir, sizeof(dir) - 1);
		snprintf(out->kept, sizeof(out->kept), "%.*s/%s", n > 0 ? (int)n : 1,
			 n > 0 ? dir : ".", out->temp);
		out->temp[0] = '\0';
	}
	out->published = true;
	output_finish(out, true);
	return true;
}

int output_close(struct output *out, bool keep)
{
	int err = 0;

	if (out->f && keep)
		err = output_publish(out);
	if (!out->published)
		output_finish(out, out->way == OUTPUT_DIRECT);
	if (out->f && fclose(out->f) && !err)
		err = errno;
	if (out->target >= 0)
		close(out->target);
	if (out->dir >= 0)
		close(out->dir);
	out->f = NULL;
	out->target = out->dir = -1;
	return err;
}

static bool same_file(const char *a, const char *b)
{
	struct stat x, y;

	return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int output_check_input(const struct showing *show, const char *input, const char *what,
		       struct error *e)
{
	if (!show->file || !same_file(input, show->file))
		return 0;
	return fail_with(e, "'%s' is %s, and -o would replace it: name another",
			 show->file, what);
}

int output_choose(struct output *out, const struct showing *show, struct error *e)
{
	unsigned int flags = show->append ? OUTPUT_APPEND : 0;

	if (show->log_fd >= 0)
		return output_open_descriptor(out, show->log_fd, e) ? -1 : 1;
	if (!show->file)
		return 0;
	/* Samples are addresses and paths of a program, and so a secret of the user. */
	if (show->samples)
		flags |= OUTPUT_PRIVATE | (show->keep_old ? OUTPUT_KEEP_OLD : 0);
	return output_open(out, show->file, flags, e) ? -1 : 1;
}
