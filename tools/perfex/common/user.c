// SPDX-License-Identifier: GPL-2.0
/*
 * --user: the command runs as another user than perfex, which may be root because counting CPUs
 * or kernel mode needs that.
 *
 * The user is looked up before anything runs.  The child that is about to execute the command
 * becomes the user, for good: real, effective and saved IDs, all groups, and no capabilities.
 */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "perfex.h"

static struct {
	bool chosen;
	uid_t uid;
	gid_t gid;
	int nrgroups;
	gid_t *groups;
	char *name, *home, *shell;
} user;

/* Return: the number, or -1 if the text is something else. */
static int64_t parse_id(const char *text)
{
	uint64_t id;
	char *end;

	if (!*text || strspn(text, "0123456789") != strlen(text))
		return -1;
	errno = 0;
	id = strtoull(text, &end, 10);
	/* The last one stands for no user. */
	return errno || id >= UINT32_MAX ? -1 : (int64_t)id;
}

/* Return: who has started the program by which perfex became root, as sudo and others say. */
static const char *find_caller(void)
{
	static const char *const names[] = { "SUDO_UID", "PKEXEC_UID", "DOAS_USER" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (getenv(names[i]))
			return getenv(names[i]);
	return NULL;
}

static int find_groups(struct error *e)
{
	int nr = 64, room;

	do {
		room = nr;
		free(user.groups);
		user.groups = calloc((size_t)room, sizeof(*user.groups));
		if (!user.groups)
			return fail_with(e, "out of memory");
		user.nrgroups = getgrouplist(user.name, user.gid, user.groups, &nr);
	} while (user.nrgroups < 0 && nr > room);
	/* The rest of the room would be root's group. */
	if (user.nrgroups < 0)
		return fail_with(e, "the groups of user '%.80s' cannot be found: there may be no memory", user.name);
	return 0;
}

int user_choose(const char *name, struct error *e)
{
	const struct passwd *pw;
	int64_t id;

	if (!name)
		name = find_caller();
	if (!name)
		return fail_with(e, "neither sudo, pkexec nor doas has started this perfex: --user=NAME says as which user the command runs");
	errno = 0;
	pw = getpwnam(name);
	id = pw ? -1 : parse_id(name);
	if (id >= 0)
		pw = getpwuid((uid_t)id);
	if (!pw)
		return fail_with(e, "there is no user '%.80s'", name);
	user.chosen = true;
	user.uid = pw->pw_uid;
	user.gid = pw->pw_gid;
	user.name = strdup(pw->pw_name);
	user.home = strdup(pw->pw_dir);
	user.shell = strdup(*pw->pw_shell ? pw->pw_shell : "/bin/sh");
	if (!user.name || !user.home || !user.shell)
		return fail_with(e, "out of memory");
	return find_groups(e);
}

/* As su(1) and runuser(1) have it; all else is as perfex found it. */
static int set_environment(void)
{
	return setenv("HOME", user.home, 1) || setenv("USER", user.name, 1) ||
	       setenv("LOGNAME", user.name, 1) || setenv("SHELL", user.shell, 1) ? -errno : 0;
}

int user_become(void)
{
	if (!user.chosen)
		return 0;
	/* Without the right to set groups, it may be this user already. */
	if (setgroups((size_t)user.nrgroups, user.groups) &&
	    (errno != EPERM || geteuid() != user.uid || getuid() != user.uid))
		return -errno;
	if (setresgid(user.gid, user.gid, user.gid) || setresuid(user.uid, user.uid, user.uid))
		return -errno;
	/* Only root keeps capabilities over an exec, unless they are ambient. */
	if (user.uid)
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return set_environment();
}

int fail_user(struct error *e, int err)
{
	return fail_with(e, "the command cannot run as user '%.80s': %s%s", user.name, strerror(-err),
			 err == -EPERM ? "; only root can start it as another user" : "");
}
