// SPDX-License-Identifier: GPL-2.0
/*
 * Run the command in a child that counts itself from its exec on, and read the
 * sums when it has ended: the state outlives it, as we hold its descriptor.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfex.h"

enum stage { STAGE_OPEN, STAGE_CONTROL, STAGE_READY, STAGE_EXEC };

/* From the child, with the state's descriptor if the stage is READY. */
struct message {
	enum stage stage;
	int err;		/* -errno, or 0 */
	struct timespec start;
};

/* ---- the descriptor's way --------------------------------------------------- */

union fd_buf {
	struct cmsghdr align;
	char buf[CMSG_SPACE(sizeof(int))];
};

static int send_message(int sock, struct message *m, int fd)
{
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union fd_buf control;

	if (fd >= 0) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = control.buf;
		msg.msg_controllen = sizeof(control.buf);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* False: the other end is closed.  *fd is -1 if none came. */
static bool receive_message(int sock, struct message *m, int *fd)
{
	struct iovec iov = { m, sizeof(*m) };
	union fd_buf control;
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf, .msg_controllen = sizeof(control.buf),
	};
	struct cmsghdr *c;
	ssize_t n;

	*fd = -1;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*m))
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return true;
}

/* ---- signals ---------------------------------------------------------------------- */

/*
 * Whatever is to end perfex is meant for the command: perfex stays to print.
 * What the terminal sends, the command gets too; what a process has sent to
 * perfex alone is passed on.
 */
static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

static volatile pid_t command_pid;

static void pass_on(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)context;
	if (info->si_code <= 0 && command_pid > 0)
		kill(command_pid, sig);
	errno = saved;
}

struct signal_state {
	struct sigaction old[ARRAY_SIZE(signals)];
	struct sigaction old_chld;
	sigset_t old_mask;
};

/* They remain blocked until there is a child to pass them on to. */
static void signals_catch(struct signal_state *s)
{
	struct sigaction sa = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&set, signals[i]);
	sigprocmask(SIG_BLOCK, &set, &s->old_mask);
	for (i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &s->old[i]);
		/* nohup, or a shell's background: let it be ignored. */
		if (s->old[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
	/* If it is ignored there is nothing to wait for. */
	sigaction(SIGCHLD, &dfl, &s->old_chld);
}

static void signals_unblock(const struct signal_state *s)
{
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

/* As perfex found them: what the command is to see. */
static void signals_restore(const struct signal_state *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &s->old[i], NULL);
	sigaction(SIGCHLD, &s->old_chld, NULL);
	sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
}

/* ---- child ---------------------------------------------------------------------- */

static void __attribute__((noreturn)) child(int sock, char **argv,
					    const struct vperfctr_control *control,
					    const struct signal_state *sig)
{
	struct message m = { .stage = STAGE_OPEN };
	struct vperfctr *v;

	m.err = vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_NOMAP);
	if (m.err)
		goto out;
	m.stage = STAGE_CONTROL;
	m.err = vperfctr_control(v, control);
	if (m.err)
		goto out;

	signals_restore(sig);
	m.stage = STAGE_READY;
	clock_gettime(CLOCK_MONOTONIC, &m.start);
	m.err = send_message(sock, &m, vperfctr_fd(v));
	if (m.err)
		goto out;
	execvp(argv[0], argv);
	m.stage = STAGE_EXEC;
	m.err = -errno;
out:
	send_message(sock, &m, -1);
	_exit(STATUS_FAILED);
}

/* ---- parent ---------------------------------------------------------------------- */

static int fail_child(struct error *e, const struct message *m, const char *command,
		      const struct vperfctr_control *control)
{
	const struct vperfctr_ctr *ctr = (const struct vperfctr_ctr *)(uintptr_t)control->ctr;
	bool aux = false;
	unsigned int i;

	switch (m->stage) {
	case STAGE_OPEN:
		return fail_device(e, m->err);
	case STAGE_CONTROL:
		for (i = 0; i < control->nractrs; i++)
			aux |= ctr[i].aux != 0;
		return fail_control(e, m->err, aux, NMI_WATCHDOG);
	case STAGE_EXEC:
		return fail_exec(e, m->err, command);
	default:
		return fail_with(e, "cannot hand the counters over: %s", strerror(-m->err));
	}
}

/* Until the command runs: the state's descriptor, or -1. */
static int await_exec(int sock, struct message *m, const char *command,
		      const struct vperfctr_control *control, struct error *e)
{
	struct message later;
	int fd, none;

	if (!receive_message(sock, m, &fd))
		return fail_with(e, "the child ended before it could start '%s'", command);
	if (m->stage != STAGE_READY || m->err)
		return fail_child(e, m, command, control);
	if (fd < 0)
		return fail_with(e, "the counters' descriptor did not arrive: are there too many open files?");
	/* exec closes the child's end: silence is success. */
	if (receive_message(sock, &later, &none)) {
		close(fd);
		return fail_child(e, &later, command, control);
	}
	return fd;
}

const char *run_check(const struct vperfctr_read *read, uint64_t tsc,
		      unsigned int nrctrs, int wstatus)
{
	if (read->nrctrs != nrctrs)
		return "the command has used the counters for itself";
	/* The TSC runs from the first instruction on. */
	if (!tsc)
		return WIFSIGNALED(wstatus) ?
		       "the command was killed before its first instruction" :
		       "the command was not counted: it gains privileges when executed (set-user-ID?), or you may not read its file";
	if (read->children_missed)
		return "some of the command's children could not be counted";
	return NULL;
}

static int read_sums(int fd, unsigned int nrctrs, struct result *r, struct error *e)
{
	uint64_t sums[1 + VPERFCTR_MAX_CTRS] = { 0 };
	struct vperfctr_read read = {
		.nrctrs = VPERFCTR_MAX_CTRS,
		.sums = (uintptr_t)sums,
	};
	const char *wrong;
	struct vperfctr *v;
	int err;

	err = vperfctr_open_fd(&v, fd, 0);
	if (err) {
		close(fd);
		return fail_with(e, "cannot read the counters: %s", strerror(-err));
	}
	err = vperfctr_read_state(v, &read);
	vperfctr_close(v);
	if (err)
		return fail_with(e, "cannot read the counters: %s", strerror(-err));

	r->tsc = sums[0];
	memcpy(r->pmc, &sums[1], sizeof(r->pmc));
	wrong = run_check(&read, r->tsc, nrctrs, r->wstatus);
	if (wrong)
		return fail_with(e, "%s", wrong);
	return 0;
}

static int await_end(pid_t pid, struct result *r)
{
	pid_t ret;

	do {
		ret = wait4(pid, &r->wstatus, 0, &r->usage);
	} while (ret < 0 && errno == EINTR);
	command_pid = 0;
	return ret < 0 ? -errno : 0;
}

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

int run_status(int wstatus)
{
	return WIFSIGNALED(wstatus) ? STATUS_SIGNAL + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
}

int run(char **argv, const struct vperfctr_control *control,
	struct result *r, struct error *e)
{
	struct signal_state sig;
	struct message m;
	int sock[2], fd, err;
	pid_t pid;

	memset(r, 0, sizeof(*r));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return fail_with(e, "cannot make a socket: %s", strerror(errno));

	signals_catch(&sig);
	pid = fork();
	if (!pid)
		child(sock[1], argv, control, &sig);
	err = errno;
	command_pid = pid;
	signals_unblock(&sig);
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return fail_with(e, "cannot make a process for the command: %s", strerror(err));
	}

	fd = await_exec(sock[0], &m, argv[0], control, e);
	close(sock[0]);
	err = await_end(pid, r);
	if (fd < 0)
		return -1;
	if (err) {
		close(fd);
		return fail_with(e, "cannot wait for the command: %s", strerror(-err));
	}
	r->elapsed = seconds_since(&m.start);
	r->counted = !read_sums(fd, control->nractrs, r, e);
	return 0;
}
