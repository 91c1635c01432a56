// SPDX-License-Identifier: GPL-2.0
/* Compare files with those that a process had mapped. */
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "symbols.h"

#ifndef BTRFS_SUPER_MAGIC
#define BTRFS_SUPER_MAGIC	0x9123683e
#endif

bool file_is_same(int fd, const struct file_identity *id)
{
	struct statfs fs;
	struct stat st;

	if (!id->inode)
		return true;
	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return false;
	/* overlayfs and Btrfs have numbers of their own for the kernel's mappings. */
	if ((unsigned int)fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return true;
	if ((unsigned int)fs.f_type == BTRFS_SUPER_MAGIC)
		return st.st_ino == id->inode;
	return st.st_ino == id->inode && major(st.st_dev) == id->major &&
	       minor(st.st_dev) == id->minor;
}
