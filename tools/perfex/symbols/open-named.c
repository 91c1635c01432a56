// SPDX-License-Identifier: GPL-2.0
/*
 * Open files whose names come from other files, from /proc or from another user: perfex opens
 * such a file here and nowhere else.
 *
 * To open a device can have effects: /dev/watchdog resets the machine later.  To open a FIFO can
 * wait.  So the file is looked at before it is opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "perfex.h"
#include "symbols.h"

#ifndef BPF_FS_MAGIC
#define BPF_FS_MAGIC	0xcafe4a11
#endif

/*
 * Files of these have code behind them, and no contents on a disk: a read of trace_pipe waits,
 * and consumes what others want to see.
 */
static const unsigned int without_contents[] = {
	PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC,
	CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC, PSTOREFS_MAGIC, EFIVARFS_MAGIC,
	NSFS_MAGIC, SELINUX_MAGIC, DEVPTS_SUPER_MAGIC, BINFMTFS_MAGIC,
};

static bool has_contents(int fd)
{
	struct statfs fs;
	struct stat st;
	size_t i;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || fstatfs(fd, &fs))
		return false;
	for (i = 0; i < ARRAY_SIZE(without_contents); i++)
		if ((unsigned int)fs.f_type == without_contents[i])
			return false;
	return true;
}

static int refuse_without_contents(int fd)
{
	if (fd >= 0 && !has_contents(fd)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	return fd;
}

/*
 * A path may lead through 40 links, each with two thousand directories, which takes milliseconds.
 * So from some seconds on, of all paths that take longer than one without such links, no link is
 * followed any more. The kernel writes paths without links into /proc/PID/maps.
 */
#define SHORT_WALK	30e-6
#define MAX_WALKS	2.0

static double walked;

static double cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* True if links there are root's: debugging information is found by them. */
static bool is_of_root(const char *path)
{
	return !strncmp(path, "/usr/", 5) && !strstr(path, "/..");
}

static int walk(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags), .resolve = resolve };
	const double before = cpu_now();
	double took;
	int found, err;

	found = resolve ? (int)syscall(SYS_openat2, dir, path, &how, sizeof(how)) :
			  openat(dir, path, O_PATH | O_CLOEXEC | flags);
	err = errno;
	took = cpu_now() - before;
	if (took > SHORT_WALK)
		walked += took;
	errno = err;
	return found;
}

int find_named(const char *path, int flags)
{
	const bool follows = walked < MAX_WALKS || is_of_root(path);

	return refuse_without_contents(walk(AT_FDCWD, path, flags, follows ? 0 : RESOLVE_NO_SYMLINKS));
}

int open_found(int found)
{
	char name[64];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", found);
	/* O_NONBLOCK: the owner can have a lease on the file, and make others wait for it. */
	return open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int open_and_close(int found)
{
	int fd, err;

	if (found < 0)
		return -1;
	fd = open_found(found);
	err = errno;
	close(found);
	errno = err;
	return fd;
}

int open_named(const char *path, int flags)
{
	return open_and_close(find_named(path, flags));
}

int open_link_of_process(const char *link)
{
	return open_and_close(refuse_without_contents(walk(AT_FDCWD, link, 0, 0)));
}

int open_named_below(const char *root, const char *path, int flags)
{
	const uint64_t resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS |
				 (walked < MAX_WALKS ? 0 : RESOLVE_NO_SYMLINKS);
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), found, err;

	if (dir < 0)
		return -1;
	found = walk(dir, path, flags, resolve);
	err = errno;
	close(dir);
	errno = err;
	return open_and_close(refuse_without_contents(found));
}

FILE *open_of_process(uint32_t pid, const char *file)
{
	char name[64];

	snprintf(name, sizeof(name), PROC "/%" PRIu32 "/%s", pid, file);
	return fopen(name, "re");
}
