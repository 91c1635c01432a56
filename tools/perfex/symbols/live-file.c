// SPDX-License-Identifier: GPL-2.0
/*
 * The files of processes that live: they can be opened when no path leads to them any more, as
 * after an upgrade, or when they have never had one, as those of memfd_create(2).
 *
 * The file may be another one, as a process's number is used again: the caller compares it with
 * the one that was sampled.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "perfex.h"
#include "symbols.h"

#define DELETED		" (deleted)"
#define MEMFD		"/memfd:"

bool path_without_deleted(const char *path, char *buf, size_t size)
{
	const size_t length = strlen(path), end = strlen(DELETED);

	if (length <= end || strcmp(path + length - end, DELETED))
		return false;
	return snprintf(buf, size, "%.*s", (int)(length - end), path) < (int)size;
}

/* The mappings of some process were not all read: it may have the file. */
static bool read_too_many;

#define TOO_MANY	"its process has ended, or its user's processes have too many mappings to look through"

const char *why_no_path(const char *path)
{
	char buf[4096];

	if (!strncmp(path, MEMFD, strlen(MEMFD)))
		return read_too_many ? "it was in memory only (memfd_create), and " TOO_MANY :
				       "it was in memory only (memfd_create), and its process has ended";
	if (path_without_deleted(path, buf, sizeof(buf)))
		return read_too_many ? "it was removed or replaced while it ran, and " TOO_MANY :
				       "it was removed or replaced while it ran, and its process has ended";
	return NULL;
}

/*
 * Mappings of a user's processes that are read, at most: a process can have 65530, each of a file
 * of its own, and all are read for each of these files.
 */
#define MAX_MAPPINGS	(1U << 19)
#define MAX_USERS	16

struct user {
	uid_t uid;
	unsigned int left;
};

/* Users behind the last one share what it has. */
static struct user *find_user(uid_t uid)
{
	static struct user users[MAX_USERS];
	static unsigned int nr;
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (users[i].uid == uid)
			return &users[i];
	if (nr == MAX_USERS)
		return &users[nr - 1];
	users[nr] = (struct user){ uid, MAX_MAPPINGS };
	return &users[nr++];
}

/*
 * Return: the user of a process; NULL: it has ended.  Files of a process belong to root if it has
 * forbidden others to look at it (PR_SET_DUMPABLE), and their directory does not.
 */
static struct user *user_of_process(uint32_t pid)
{
	struct stat st;
	char name[64];

	snprintf(name, sizeof(name), PROC "/%" PRIu32, pid);
	return stat(name, &st) ? NULL : find_user(st.st_uid);
}

/* Only root may use these links.  Return: false: there is none, or no process */
static bool find_map_file(uint32_t pid, const char *path, char *name, size_t size)
{
	struct user *user;
	uint64_t start = 0, end = 0;
	bool found = false;
	char *line = NULL;
	size_t room = 0;
	int at;
	FILE *f;

	f = open_of_process(pid, "maps");
	user = f ? user_of_process(pid) : NULL;
	while (user && user->left && !found && getline(&line, &room, f) > 0) {
		user->left--;
		line[strcspn(line, "\n")] = '\0';
		at = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &start, &end, &at) < 2 || !at)
			continue;
		found = !strcmp(line + at, path);
	}
	read_too_many |= user && !user->left && !found;
	free(line);
	if (f)
		fclose(f);
	snprintf(name, size, PROC "/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid, start, end);
	return found;
}

int open_live_file(uint32_t pid, const char *path, enum live_way way, char *name, size_t size)
{
	int fd;

	if (way == LIVE_MAP_FILE)
		return find_map_file(pid, path, name, size) ? open_link_of_process(name) : -1;
	if (way == LIVE_PROGRAM) {
		snprintf(name, size, PROC "/%" PRIu32 "/exe", pid);
		return open_link_of_process(name);
	}
	snprintf(name, size, PROC "/%" PRIu32 "/root", pid);
	fd = open_named_below(name, path, 0);
	/* By its name, a link could lead out of that root. */
	*name = '\0';
	return fd;
}
