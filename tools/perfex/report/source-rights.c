// SPDX-License-Identifier: GPL-2.0
/*
 * Open the source files that debugging information names.
 *
 * The author of a program chooses these names: "source" may be /etc/shadow.  perfex may be root,
 * and its report be read by others.  So a program leads only to files that its owner could
 * read, too; one of root's, or of the user who runs perfex, to all that perfex can read.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "annotate.h"

/* No user's group: files that only it may read are not the owner's. */
#define NO_GROUP	65534

#define MAX_GROUPS	1024

/* Return: the groups of a user, with the number in *nr; the caller frees them. */
static gid_t *groups_of(uid_t user, int *nr)
{
	const struct passwd *pw = getpwuid(user);
	gid_t *groups = calloc(MAX_GROUPS, sizeof(*groups));

	if (!groups)
		return NULL;
	*nr = MAX_GROUPS;
	groups[0] = NO_GROUP;
	if (!pw || getgrouplist(pw->pw_name, pw->pw_gid, groups, nr) < 1)
		*nr = 1;
	return groups;
}

/* Become root again.  A perfex that cannot would go on with rights that are not its own. */
static void restore(int nr, const gid_t *groups, gid_t group)
{
	if (seteuid(0) || setegid(group) || setgroups((size_t)nr, groups))
		abort();
}

/* Context: root.  With another effective user there are no capabilities for files. */
static int open_as(const char *path, uid_t user)
{
	gid_t own[MAX_GROUPS], group = getegid(), *groups;
	int nrown = getgroups(MAX_GROUPS, own), nr, fd = -1;

	groups = nrown < 0 ? NULL : groups_of(user, &nr);
	if (!groups)
		return -1;
	if (!setgroups((size_t)nr, groups) && !setegid(groups[0]) && !seteuid(user))
		fd = open_named(path, 0);
	restore(nrown, own, group);
	free(groups);
	return fd;
}

int source_open(const char *path, uid_t owner, bool *refused)
{
	const uid_t me = geteuid();
	struct stat st;
	int fd;

	*refused = false;
	if (!owner || owner == me)
		return open_named(path, 0);
	fd = me ? open_named(path, 0) : open_as(path, owner);
	/* Without root's right to try it: a file of the owner, or one of the system. */
	if (fd >= 0 && me && (fstat(fd, &st) || (st.st_uid && st.st_uid != owner))) {
		close(fd);
		fd = -1;
	}
	*refused = fd < 0 && !access(path, R_OK);
	return fd;
}
