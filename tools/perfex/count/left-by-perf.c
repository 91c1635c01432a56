// SPDX-License-Identifier: GPL-2.0
/*
 * Find out whether perf_event leaves a command where it is executed: the file gives the IDs of its
 * owner or group, or the user may not read it, and such a process cannot be dumped.  perf_event
 * says nothing of this.  True is certain.  False is not: capabilities of a file may be new or not,
 * and a tracer may have rights that keep set-user-ID.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "perfex.h"

/* True if the file names its interpreter, which is executed with no more rights than it has. */
static bool is_script(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[2];
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		!memcmp(magic, "#!", sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

/* True if the kernel gives the caller the IDs of the file's owner or group when it executes it. */
static bool gives_ids(const char *path)
{
	struct statvfs fs;
	struct stat st;
	bool ended;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0 || trace_look_up(getpid(), PROC, &ended) ||
	    statvfs(path, &fs) || fs.f_flag & ST_NOSUID || stat(path, &st))
		return false;
	/* The kernel ignores both bits if the user namespace lacks one of the IDs. */
	if (st.st_uid == (uid_t)read_number(PROC "/sys/kernel/overflowuid") ||
	    st.st_gid == (gid_t)read_number(PROC "/sys/kernel/overflowgid"))
		return false;
	return (st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
	       (st.st_mode & S_ISGID && st.st_mode & 0010 && st.st_gid != getegid());
}

bool left_by_perf(const char *command)
{
	char path[PATH_MAX];

	/* 1: all processes can be dumped, and perf_event leaves none. */
	if (read_number(PROC "/sys/fs/suid_dumpable") == 1 || !find_program(path, sizeof(path), command))
		return false;
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS))
		return true;
	return gives_ids(path) && !is_script(path);
}
