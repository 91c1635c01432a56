/* SPDX-License-Identifier: GPL-2.0 */
/* Run all of perfex in a child, and check its output. */
#ifndef PERFEX_COMMAND_H
#define PERFEX_COMMAND_H

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"
#include "rates.h"

int perfex_main(int argc, char **argv);

static char dir[64], out[16384], err[16384];

/* Bytes of a file that perfex can write, as on a disk that is full then; 0: any. */
static rlim_t most_written;

static inline const char *in_dir(const char *name)
{
	static char paths[4][128], *path;
	static unsigned int next;

	/* A result is valid until the fourth call after it. */
	path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

/* Write a file of the test's directory.  Return: its path, valid until the fourth call after it */
static inline char *write_text(const char *name, const char *content)
{
	static char paths[4][128], *path;
	static unsigned int next;
	FILE *f = fopen(in_dir(name), "w");

	ck_assert_ptr_nonnull(f);
	fputs(content, f);
	fclose(f);
	path = paths[next++ % 4];
	snprintf(path, sizeof(paths[0]), "%s", in_dir(name));
	return path;
}

/* Run a command of the shell, which must succeed, in the test's directory. */
static inline void shell(const char *command)
{
	char *line;

	ck_assert_int_gt(asprintf(&line, "cd %s && %s", dir, command), 0);
	ck_assert_msg(!system(line), "%s", line);
	free(line);
}

static inline void command_setup(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD };
	unsigned int i;

	/* As in the foreground of a shell, wherever the tests were started. */
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], SIG_DFL);
	fake_reset();
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	strcpy(dir, "/tmp/perfex-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static inline void command_teardown(void)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);

	ck_assert_ptr_nonnull(d);
	/* Each test has files of its own; "." and ".." remain. */
	while ((entry = readdir(d)))
		unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
	ck_assert_int_eq(rmdir(dir), 0);
}

static inline void redirect(const char *name, int to)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	dup2(fd, to);
	close(fd);
}

static inline pid_t start(char **argv)
{
	int argc = 0;
	pid_t pid;

	while (argv[argc])
		argc++;
	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	if (most_written)
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ most_written, most_written });
	redirect("out", STDOUT_FILENO);
	redirect("err", STDERR_FILENO);
	/* perfex must not inherit what the tests were started with, and what libcheck opens. */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	exit(perfex_main(argc, argv));
}

static inline void slurp(const char *name, char *buf, size_t size)
{
	FILE *f = fopen(in_dir(name), "r");
	size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	if (f)
		fclose(f);
	leave_rates_out(buf);
}

static inline int wait_for(pid_t pid)
{
	int status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	/* perfex ends as its command was ended; a shell has the same status for both. */
	if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT ||
				    WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGHUP))
		return 128 + WTERMSIG(status);
	ck_assert_msg(WIFEXITED(status), "perfex was killed: %s", err);
	return WEXITSTATUS(status);
}

static inline int finish(pid_t pid)
{
	int status = wait_for(pid);

	slurp("out", out, sizeof(out));
	slurp("err", err, sizeof(err));
	return status;
}

#define ARGV(...)	((char *[]){ "perfex", __VA_ARGS__, NULL })
#define perfex(...)	finish(start(ARGV(__VA_ARGS__)))

/* As perfex(), on a terminal; `out` has both standard output and standard error. */
static inline int perfex_on_terminal(char **argv)
{
	int argc = 0, master, slave;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	while (argv[argc])
		argc++;
	ck_assert_int_eq(openpty(&master, &slave, NULL, NULL, NULL), 0);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(slave, STDOUT_FILENO);
		dup2(slave, STDERR_FILENO);
		close(slave);
		close(master);
		exit(perfex_main(argc, argv));
	}
	close(slave);
	/* EIO: the other end is closed. */
	while ((n = read(master, out + len, sizeof(out) - 1 - len)) > 0)
		len += (size_t)n;
	out[len] = '\0';
	leave_rates_out(out);
	close(master);
	return wait_for(pid);
}

static inline void has(const char *text, const char *what)
{
	ck_assert_msg(strstr(text, what), "no '%s' in:\n%s", what, text);
}

static inline void has_not(const char *text, const char *what)
{
	ck_assert_msg(!strstr(text, what), "'%s' in:\n%s", what, text);
}

/* Check that standard error has one line, of perfex, with this text. */
static inline void is_message(const char *what)
{
	ck_assert_msg(!strncmp(err, "perfex: ", 8) && strchr(err, '\n') == err + strlen(err) - 1,
		      "not one line of perfex's:\n%s", err);
	has(err, what);
}

#endif /* PERFEX_COMMAND_H */
