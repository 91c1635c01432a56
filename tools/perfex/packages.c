// SPDX-License-Identifier: GPL-2.0
/*
 * Ask dpkg or rpm for the package of a file.
 *
 * The path comes from a recording, which may be an attacker's: it is an argument of the
 * command, without a shell, and has nothing that the command would take for a pattern.
 */
#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "packages.h"

extern char **environ;

/* Milliseconds: the databases may be locked. */
#define LONGEST_WAIT	5000

/* Read until the command closes its output, and keep the first line.  Return: false: none */
static bool read_answer(int fd, char *line, size_t size)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char rest[4096];
	size_t len = 0;
	ssize_t n;

	while (poll(&p, 1, LONGEST_WAIT) > 0) {
		n = len < size - 1 ? read(fd, line + len, size - 1 - len) :
				     read(fd, rest, sizeof(rest));
		if (n < 0)
			return false;
		if (!n) {
			line[len] = '\0';
			len = strcspn(line, "\n");
			n = line[len];
			line[len] = '\0';
			return n;
		}
		if (len < size - 1)
			len += (size_t)n;
	}
	return false;
}

/* Run a command without input.  Return: whether it was successful and printed a line */
static bool ask(char *const *argv, char *line, size_t size)
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
		answered = read_answer(fds[0], line, size);
		close(fds[0]);
		if (!answered)
			kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	} else {
		close(fds[0]);
		close(fds[1]);
	}
	posix_spawn_file_actions_destroy(&actions);
	return answered && WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Return: the length of a package's name at the beginning of the text, or 0. */
static size_t name_length(const char *text)
{
	size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._");

	return isalnum((unsigned char)*text) && len < 128 ? len : 0;
}

static bool ask_dpkg(const char *path, char *name, size_t size)
{
	char *argv[] = { "dpkg-query", "-S", (char *)path, NULL }, line[4096];
	size_t len;

	if (!ask(argv, line, sizeof(line)))
		return false;
	/* "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6" */
	len = name_length(line);
	if (!len || line[len] != ':')
		return false;
	snprintf(name, size, "%.*s", (int)len, line);
	return true;
}

/* dpkg knows a file by one of its two paths where /lib is a link to /usr/lib. */
static bool ask_dpkg_for_both(const char *path, char *name, size_t size)
{
	char other[4096];

	if (ask_dpkg(path, name, size))
		return true;
	if (!strncmp(path, "/usr/", 5))
		return ask_dpkg(path + 4, name, size);
	return snprintf(other, sizeof(other), "/usr%s", path) < (int)sizeof(other) &&
	       ask_dpkg(other, name, size);
}

static bool ask_rpm(const char *path, char *name, size_t size)
{
	char *argv[] = { "rpm", "-q", "--qf", "%{NAME}\n", "-f", (char *)path, NULL }, line[4096];
	size_t len;

	if (!ask(argv, line, sizeof(line)))
		return false;
	len = name_length(line);
	if (!len || len >= size || line[len])
		return false;
	memcpy(name, line, len + 1);
	return true;
}

bool package_advice(const char *path, char *advice, size_t size)
{
	const char *c;
	char name[128];

	for (c = path; *c; c++)
		if (strchr("*?[]\\", *c) || iscntrl((unsigned char)*c))
			return false;
	if (*path != '/')
		return false;
	if (ask_dpkg_for_both(path, name, sizeof(name)))
		/* The C library's package is older than the others' way of naming. */
		snprintf(advice, size, "they are in the package %s%s, which may be in an archive of debugging symbols",
			 name, strcmp(name, "libc6") ? "-dbgsym" : "-dbg");
	else if (ask_rpm(path, name, sizeof(name)))
		snprintf(advice, size, "'dnf debuginfo-install %s' installs them", name);
	else
		return false;
	return true;
}
