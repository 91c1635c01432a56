// SPDX-License-Identifier: GPL-2.0
/* Start a command that has no counters of its own. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"
#include "perfex.h"

static struct rlimit found_files;
static bool files_raised;

void files_raise(void)
{
	struct rlimit most;

	if (files_raised || getrlimit(RLIMIT_NOFILE, &found_files))
		return;
	files_raised = true;
	most = found_files;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
}

void files_restore(void)
{
	if (files_raised)
		setrlimit(RLIMIT_NOFILE, &found_files);
	files_raised = false;
}

static bool reserved;

void stdout_reserve(const struct output *out)
{
	struct stat file, standard;

	/* Samples that a terminal or a device gets are not read again. */
	if (!fstat(fileno(out->f), &file) && !fstat(STDOUT_FILENO, &standard))
		reserved = file.st_dev == standard.st_dev && file.st_ino == standard.st_ino &&
			   !S_ISCHR(file.st_mode);
}

void stdout_divert(void)
{
	if (reserved)
		dup2(STDERR_FILENO, STDOUT_FILENO);
}

pid_t command_start(char **argv, struct error *e)
{
	struct { bool user; int err; } failed = { true, 0 };
	int pipes[2], err;
	ssize_t n;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return fail_with(e, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (!pid) {
		files_restore();
		signals_restore();
		stdout_divert();
		failed.err = user_become();
		if (!failed.err) {
			execvp(argv[0], argv);
			failed.user = false;
			failed.err = -errno;
		}
		n = write(pipes[1], &failed, sizeof(failed));
		_exit(n == sizeof(failed) ? STATUS_FAILED : STATUS_CANNOT_RUN);
	}
	if (pid < 0) {
		err = errno;
		close(pipes[0]);
		close(pipes[1]);
		return fail_with(e, "cannot make a process for the command: %s", strerror(err));
	}
	close(pipes[1]);
	/* A successful exec closes the child's end without a message. */
	do {
		n = read(pipes[0], &failed, sizeof(failed));
	} while (n < 0 && errno == EINTR);
	close(pipes[0]);
	if (n != sizeof(failed))
		return pid;
	waitpid(pid, NULL, 0);
	return failed.user ? fail_user(e, failed.err) : fail_exec(e, failed.err, argv[0]);
}
