/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.8: a mapping of a stacked filesystem (overlayfs) has the file below it, and the path
 * that the user opened must be asked for.  Before, the mapping's file has the user's path.
 */
#ifndef VPERFCTR_COMPAT_FILE_PATH_H
#define VPERFCTR_COMPAT_FILE_PATH_H

#include <linux/fs.h>

#ifdef PERFCTR_HAVE_FILE_USER_PATH
#define perfctr_file_path(file)		file_user_path(file)
#define perfctr_file_inode(file)	file_user_inode(file)
#else
#define perfctr_file_path(file)		(&(file)->f_path)
#define perfctr_file_inode(file)	file_inode(file)
#endif

#endif /* VPERFCTR_COMPAT_FILE_PATH_H */
