// SPDX-License-Identifier: GPL-2.0
/*
 * Find the package of a file, in the lists of dpkg, or by asking dpkg or rpm.
 *
 * The path comes from a recording, which may be an attacker's: it is an argument of the
 * command, without a shell, and has nothing that the command would take for a pattern.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "packages.h"

extern char **environ;

/* Milliseconds: the databases may be locked. */
#define LONGEST_WAIT	5000

/* Read until the command closes its output, and keep the beginning.  Return: false: none */
static bool read_answer(int fd, char *text, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char rest[4096];
	size_t len = 0;
	ssize_t n;

	while (poll(&p, 1, LONGEST_WAIT) > 0) {
		n = len < size - 1 ? read(fd, text + len, size - 1 - len) :
				     read(fd, rest, sizeof(rest));
		if (n < 0)
			return false;
		if (!n) {
			text[len] = '\0';
			return strchr(text, '\n');
		}
		if (len < size - 1)
			len += (size_t)n;
	}
	return false;
}

/* Run a command without input.  Return: whether it ended and printed a line */
static bool ask(char *const *argv, char *text, size_t size)
{
	posix_spawn_file_actions_t actions;
	bool answered = false;
	int fds[2], status = -1;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (!posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ)) {
		close(fds[1]);
		answered = read_answer(fds[0], text, size);
		close(fds[0]);
		if (!answered)
			kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	} else {
		close(fds[0]);
		close(fds[1]);
	}
	posix_spawn_file_actions_destroy(&actions);
	return answered && WIFEXITED(status);
}

/* Return: the length of a package's name at the beginning of the text, or 0. */
static size_t name_length(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._");

	return isalnum((unsigned char)*text) && len < 128 ? len : 0;
}

/* Find the line "libc6:amd64: PATH" of dpkg, and keep the package's name. */
static bool find_package(const char *text, const char *path, char *name, size_t size)
{
	size_t before = strlen(path), len;
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		len = name_length(text);
		if (!len || len >= size || text[len] != ':' || (size_t)(end - text) < before + 2 ||
		    memcmp(end - before - 2, ": ", 2) || memcmp(end - before, path, before))
			continue;
		memcpy(name, text, len);
		name[len] = '\0';
		return true;
	}
	return false;
}

/* dpkg knows a file by one of its two paths where /lib is a link to /usr/lib. */
static bool other_path(const char *path, char *other, size_t size)
{
	if (!strncmp(path, "/usr/", 5))
		return snprintf(other, size, "%s", path + 4) < (int)size;
	return snprintf(other, size, "/usr%s", path) < (int)size;
}

static char others[MAX_PACKAGES][4096];

/* Look for the files in a package's list, which has a path in each line. */
static void read_list(int fd, const char *name, size_t length, struct package *packages, size_t nr)
{
	FILE *f = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0, i;
	ssize_t len;

	while (f && (len = getline(&line, &room, f)) > 0) {
		line[len - (line[len - 1] == '\n')] = '\0';
		for (i = 0; i < nr; i++) {
			struct package *p = &packages[i];

			if (!p->path || p->known || (strcmp(line, p->path) && strcmp(line, others[i])))
				continue;
			p->known = true;
			memcpy(p->name, name, length);
			p->name[length] = '\0';
		}
	}
	free(line);
	if (f)
		fclose(f);
	else
		close(fd);
}

/* True if dpkg's lists are of the format that is known here. */
static bool knows_format(int dir)
{
	int fd = openat(dir, "format", O_RDONLY | O_CLOEXEC);
	char format[4] = "";

	if (fd < 0)
		return false;
	if (read(fd, format, sizeof(format) - 1) < 0)
		*format = '\0';
	close(fd);
	return !strcmp(format, "1\n");
}

/*
 * Read the lists of files, "PACKAGE:ARCHITECTURE.list".  dpkg-query keeps all of them in memory, and
 * takes longer than the rest of a report.
 * Return: false: they are not there, or not known
 */
static bool read_lists(struct package *packages, size_t nr)
{
	const char *admin = getenv("DPKG_ADMINDIR"), *end;
	const struct dirent *entry;
	char path[4096];
	size_t length;
	bool known;
	DIR *dir;
	int fd;

	if (snprintf(path, sizeof(path), "%s/info", admin ? admin : "/var/lib/dpkg") >= (int)sizeof(path))
		return false;
	dir = opendir(path);
	if (!dir)
		return false;
	known = knows_format(dirfd(dir));
	while (known && (entry = readdir(dir))) {
		end = strrchr(entry->d_name, '.');
		length = name_length(entry->d_name);
		if (!end || strcmp(end, ".list") || !length || length >= sizeof(packages->name))
			continue;
		if (entry->d_name + length > end)
			length = (size_t)(end - entry->d_name);
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0)
			read_list(fd, entry->d_name, length, packages, nr);
	}
	closedir(dir);
	return known;
}

/* dpkg reads the lists of all packages at each call: ask it once. */
static void ask_dpkg(struct package *packages, size_t nr)
{
	static char text[2 * MAX_PACKAGES * 8192];
	char *argv[2 * MAX_PACKAGES + 3] = { "dpkg-query", "-S" };
	size_t i, n = 2;

	for (i = 0; i < nr; i++) {
		*others[i] = '\0';
		if (!packages[i].path)
			continue;
		argv[n++] = (char *)packages[i].path;
		if (other_path(packages[i].path, others[i], sizeof(others[i])))
			argv[n++] = others[i];
	}
	if (n == 2 || read_lists(packages, nr))
		return;
	/* dpkg-query fails if it does not know one of the files, and still tells the others. */
	if (!ask(argv, text, sizeof(text)))
		return;
	for (i = 0; i < nr; i++)
		packages[i].known = packages[i].path &&
			(find_package(text, packages[i].path, packages[i].name, sizeof(packages[i].name)) ||
			 (*others[i] &&
			  find_package(text, others[i], packages[i].name, sizeof(packages[i].name))));
}

static bool ask_rpm(const char *path, char *name, size_t size)
{
	char *argv[] = { "rpm", "-q", "--qf", "%{NAME}\n", "-f", (char *)path, NULL }, line[4096];
	size_t len;

	if (!ask(argv, line, sizeof(line)))
		return false;
	len = name_length(line);
	/* Otherwise rpm says "file PATH is not owned by any package". */
	if (!len || len >= size || line[len] != '\n')
		return false;
	memcpy(name, line, len);
	name[len] = '\0';
	return true;
}

/* True if the commands take the path for no pattern. */
static bool is_plain(const char *path)
{
	const char *c;

	for (c = path; *c; c++)
		if (strchr("*?[]\\", *c) || iscntrl((unsigned char)*c))
			return false;
	return *path == '/';
}

void packages_find(struct package *packages, size_t nr)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (packages[i].path && !is_plain(packages[i].path))
			packages[i].path = NULL;
	ask_dpkg(packages, nr);
	for (i = 0; i < nr; i++) {
		struct package *p = &packages[i];

		if (!p->path || p->known)
			continue;
		p->known = p->rpm = ask_rpm(p->path, p->name, sizeof(p->name));
	}
}

void package_advice(const struct package *p, char *advice, size_t size)
{
	if (p->rpm)
		snprintf(advice, size, "'dnf debuginfo-install %s' installs them", p->name);
	else
		/* The C library's package is older than the others' way of naming. */
		snprintf(advice, size, "they are in the package %s%s, which may be in an archive of debugging symbols",
			 p->name, strcmp(p->name, "libc6") ? "-dbgsym" : "-dbg");
}
