// SPDX-License-Identifier: GPL-2.0
/*
 * Run the command in a child that counts itself from its exec on.  Read the sums when
 * it has ended: perfex holds a descriptor, so the state outlives the child.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"

enum stage {
	STAGE_BIND, STAGE_OPEN, STAGE_RING, STAGE_CONTROL, STAGE_READY, STAGE_USER, STAGE_USAGE,
	STAGE_EXEC,
};

/*
 * The child sends these, with the descriptor of its state if the stage is READY.
 * If it is sampled it waits for one that releases it.
 */
struct message {
	enum stage stage;
	int err;		/* -errno, or 0 */
	struct timespec start;
	uint64_t map_size;	/* of the ring */
	struct rusage usage;
	bool left;		/* see left_by_perf() */
};

static bool by_usage(const char *perf)
{
	return perf && !*perf;
}

/* ---- passing the descriptor -------------------------------------------------- */

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

/*
 * Receive a message, and perhaps a descriptor.  Return: false if the other end is closed.  *fd is
 * -1 if no descriptor came.
 */
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

/* A signal is meant for the command: perfex continues, to print. */
static volatile pid_t command_pid;
static volatile sig_atomic_t told_to_end;

bool run_told_to_end(void)
{
	return told_to_end;
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const struct signal s = { sig, info->si_code, info->si_pid, info->si_value };
	const pid_t command = command_pid;
	int saved = errno;

	(void)context;
	if (signals_pass_on(command > 0 ? command : -1, &s))
		told_to_end = 1;
	errno = saved;
}

/* ---- child ---------------------------------------------------------------------- */

static void __attribute__((noreturn))
count_and_exec(int sock, const struct running *run, struct vperfctr_ring *ring)
{
	const struct vperfctr_control *control = run->control;
	struct message m = { .stage = STAGE_BIND }, go;
	char **argv = run->argv;
	struct vperfctr *v = NULL;
	int none;

	/* perfex makes the events. */
	if (run->perf)
		goto ready;
	/*
	 * Count all of the command, if it does not move itself.  The module's own way
	 * (VPERFCTR_CONTROL_AFFINITY) would kill a command that does.
	 */
	if (control->nractrs + control->nrictrs)
		m.err = kind_bind(control->kind);
	if (m.err)
		goto out;

	m.stage = STAGE_OPEN;
	/* perfex will hold the last descriptor: if it is killed, the counting ends. */
	/* An observer: the command may count itself. */
	m.err = vperfctr_open(&v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
				  VPERFCTR_OPEN_OBSERVER | VPERFCTR_OPEN_NOMAP);
	if (m.err)
		goto out;
	if (ring) {
		m.stage = STAGE_RING;
		m.err = vperfctr_ring_open(v, ring);
		if (m.err)
			goto out;
		m.map_size = ring->map_size;
	}
	m.stage = STAGE_CONTROL;
	m.err = vperfctr_control(v, control);
	if (m.err)
		goto out;

ready:
	files_restore();
	signals_restore();
	m.stage = STAGE_READY;
	clock_gettime(CLOCK_MONOTONIC, &m.start);
	m.err = send_message(sock, &m, v ? vperfctr_fd(v) : -1);
	if (m.err)
		goto out;
	if ((ring || run->perf) && !receive_message(sock, &go, &none))
		_exit(STATUS_FAILED);
	m.stage = STAGE_USER;
	m.err = user_become();
	if (m.err)
		goto out;
	if (run->perf) {
		m.stage = STAGE_USAGE;
		m.left = !by_usage(run->perf) && left_by_perf(argv[0]);
		getrusage(RUSAGE_SELF, &m.usage);
		send_message(sock, &m, -1);
	}
	stdout_divert();
	execvp(argv[0], argv);
	m.stage = STAGE_EXEC;
	m.err = -errno;
out:
	send_message(sock, &m, -1);
	_exit(STATUS_FAILED);
}

/* ---- parent ---------------------------------------------------------------------- */

static int fail_child(struct error *e, const struct message *m, const struct running *run)
{
	switch (m->stage) {
	case STAGE_BIND:
		return fail_bind(e, m->err);
	case STAGE_OPEN:
		return fail_device(e, m->err);
	case STAGE_RING:
		return fail_ring(e, m->err);
	case STAGE_CONTROL:
		return fail_control(e, m->err, run->control, PROC);
	case STAGE_USER:
		return fail_user(e, m->err);
	case STAGE_EXEC:
		return fail_exec(e, m->err, run->argv[0]);
	default:
		return fail_with(e, "cannot hand the counters over: %s", strerror(-m->err));
	}
}

static int await_ready(struct running *run, struct error *e)
{
	struct message m;

	if (!receive_message(run->sock, &m, &run->fd))
		return fail_with(e, "the child ended before it could start '%s'", run->argv[0]);
	if (m.stage != STAGE_READY || m.err)
		return fail_child(e, &m, run);
	if (run->fd < 0 && !run->perf)
		return fail_with(e, "the counters' descriptor did not arrive: there may be too many open files");
	run->start = m.start;
	run->map_size = m.map_size;
	return 0;
}

void run_go(const struct running *run)
{
	struct message go = { .stage = STAGE_READY };

	/* If it has ended meanwhile, waiting for it will show that. */
	send_message(run->sock, &go, -1);
}

int run_await_exec(struct running *run, struct error *e)
{
	struct message later;
	int none, err = 0;

	/* A successful exec closes the child's end without another message. */
	while (!err && receive_message(run->sock, &later, &none)) {
		if (later.stage == STAGE_USAGE) {
			run->before = later.usage;
			run->left = later.left;
		} else {
			err = fail_child(e, &later, run);
		}
	}
	close(run->sock);
	run->sock = -1;
	return err;
}

int run_start(struct running *run, struct vperfctr_ring *ring, struct error *e)
{
	struct rusage usage;
	int sock[2], err, wstatus;
	sigset_t set;

	run->fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock))
		return fail_with(e, "cannot make a socket: %s", strerror(errno));

	/* Signals remain blocked until there is a child to pass them on to. */
	signals_catch(&set, true, on_signal);
	run->pid = fork();
	if (!run->pid) {
		/* perfex must hold the only other end, so that the child sees its death. */
		close(sock[0]);
		count_and_exec(sock[1], run, ring);
	}
	err = errno;
	command_pid = run->pid;
	signals_unblock();
	close(sock[1]);
	run->sock = sock[0];
	if (run->pid < 0) {
		close(run->sock);
		return fail_with(e, "cannot make a process for the command: %s", strerror(err));
	}
	err = await_ready(run, e);
	if (err) {
		close(run->sock);
		run_await_end(run, &wstatus, &usage);
	}
	return err;
}

static double seconds_of(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

double run_cpu_time(const struct rusage *usage)
{
	return seconds_of(&usage->ru_utime) + seconds_of(&usage->ru_stime);
}

static void add_parts(struct result *r)
{
	struct part *part;

	part = result_add_part(r, &r->counts.own);
	if (part)
		strcpy(part->name, "its first thread");
	part = result_add_part(r, &r->counts.children);
	if (part)
		strcpy(part->name, "its other threads and its children");
}

/*
 * perf_event takes its events away from a program that gains privileges, or whose file the user may
 * not read, and does not say so.  The kernel's time of a command without what it does before its
 * exec also has what perf_event does not count of others: the exec's look at the file, which IMA
 * may hash, and from Linux 6.16 on the end of its memory.  That is seldom four times as much as
 * the rest, and a tenth of a second more.  The command's own file may say it at once.
 */
int run_check_perf(const struct running *run, const struct sums *sums, const struct rusage *usage,
		   struct error *e)
{
	const double time = run_cpu_time(usage) - run_cpu_time(&run->before);

	if (!run->perf || by_usage(run->perf))
		return 0;
	if (!run->left && (!inherits(run->control) || time <= 5 * (double)sums->tsc / 1e9 + 0.1))
		return 0;
	return fail_with(e, "not all was counted: perf_event leaves a program that gains privileges when executed (set-user-ID?), or whose file may not be read");
}

static int judge_counts(struct result *r, int wstatus, const struct vperfctr_control *control,
			bool perf, struct error *e)
{
	bool inherit = inherits(control);

	strcpy(r->scope, inherit ? "with its threads and children" : "its first thread");
	if (result_finish(r, e))
		return -1;
	if (!r->counted) {
		r->complete = false;
		return fail_with(e, WIFSIGNALED(wstatus) ?
				    "the command was killed before its first instruction" :
				    "the command was not counted");
	}
	/* perf_event has only the sum of both parts. */
	if (inherit && !perf)
		add_parts(r);
	return 0;
}

int run_await_end(const struct running *run, int *wstatus, struct rusage *usage)
{
	pid_t ret;

	do {
		ret = wait4(run->pid, wstatus, 0, usage);
	} while (ret < 0 && errno == EINTR);
	command_pid = 0;
	return ret < 0 ? -errno : 0;
}

static bool command_has_ended(pid_t pid)
{
	siginfo_t info = { .si_pid = 0 };

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* The state that run_intervals() reads. */
struct reader {
	struct vperfctr *v;
	const struct vperfctr_control *control;
};

/* Read the sums with those of descendants that run.  Return: 0 or -errno. */
static int read_now(void *arg, struct sums *sums, const struct part **parts)
{
	const struct reader *reader = arg;
	struct counts c;
	int err = counts_read_set(reader->v, reader->control, &c);

	(void)parts;
	if (!err && c.replaced)
		err = -ENOENT;
	if (err)
		return err;
	*sums = c.own;
	sums_add(sums, &c.children);
	return 0;
}

#define LOOK_INTERVAL	0.05	/* seconds, where nothing wakes perfex */

/* Wait until the end of a child, a command for the gate, or that many seconds. */
static void await_event(int chld, int gate, double seconds)
{
	struct pollfd polls[] = { { .fd = chld, .events = POLLIN }, { .fd = gate, .events = POLLIN } };
	struct signalfd_siginfo info;

	if (chld < 0 && seconds > LOOK_INTERVAL)
		seconds = LOOK_INTERVAL;
	ppoll(polls, ARRAY_SIZE(polls), &(struct timespec){
		.tv_sec = (time_t)seconds,
		.tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) }, NULL);
	/* It is not important which child that was. */
	if (polls[0].revents)
		while (read(chld, &info, sizeof(info)) > 0)
			;
}

/*
 * Run intervals, and look at the gate, until the command has ended; the caller waits for it.
 * A program that counts itself has no sums for either.
 * Return: 0 or -errno: an interval is missing, or what the gate leaves out is not known
 */
static int run_intervals(const struct running *run, struct vperfctr *v, const struct interval *interval)
{
	struct reader reader = { v, run->control };
	double next = interval->ms / 1e3, now, until;
	sigset_t set, old;
	int chld, err = 0, ret;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &old);
	chld = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	while (!command_has_ended(run->pid)) {
		ret = gate_step(interval->gate, seconds_since(&run->start), read_now, &reader);
		err = err ? err : ret;
		now = seconds_since(&run->start);
		if (interval->ms && now >= next) {
			ret = interval_end(interval, &run->start, read_now, &reader);
			err = err ? err : ret;
			next = interval_next(interval, &run->start, next);
			continue;
		}
		until = interval->ms ? next : now + 1e6;
		if (gate_next(interval->gate) >= 0 && gate_next(interval->gate) < until)
			until = gate_next(interval->gate);
		await_event(chld, gate_fd(interval->gate), until > now ? until - now : 0);
	}
	if (chld >= 0)
		close(chld);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return err;
}

#define TRIES	3

/*
 * perfex may come late: it was stopped, or the machine is busy.  So the time is not that at which
 * the interval should have ended.  If perfex was interrupted between the counts and the clock, both
 * are read again.
 */
int interval_end(const struct interval *interval, const struct timespec *start,
		 int (*read)(void *arg, struct sums *sums, const struct part **parts), void *arg)
{
	const struct part *parts = NULL;
	double before, after;
	struct sums sums;
	unsigned int i;
	int err;

	for (i = 0; i < TRIES; i++) {
		before = seconds_since(start);
		err = read(arg, &sums, &parts);
		after = seconds_since(start);
		if (err)
			return err;
		if ((after - before) * 1e3 < interval->ms / 100.0)
			break;
	}
	interval->fn(interval->arg, (before + after) / 2, &sums, parts);
	return 0;
}

double interval_next(const struct interval *interval, const struct timespec *start, double next)
{
	while (next <= seconds_since(start))
		next += interval->ms / 1e3;
	return next;
}

static int last_killed;

int run_killed(int status)
{
	return last_killed && run_status(last_killed) == status ? last_killed : 0;
}

int run_status(int wstatus)
{
	if (WIFSIGNALED(wstatus))
		last_killed = wstatus;
	return WIFSIGNALED(wstatus) ? STATUS_SIGNAL + WTERMSIG(wstatus) : WEXITSTATUS(wstatus);
}

/* Let perf_event count the child from its exec on, and release the child. */
static int run_count_perf(struct running *run, struct vperfctr **v, struct error *e)
{
	unsigned int flags = VPERFCTR_PERF_EXEC;
	struct vperfctr_why why;
	int err;

	clock_gettime(CLOCK_MONOTONIC, &run->start);
	if (by_usage(run->perf)) {
		run_go(run);
		return 0;
	}
	if (inherits(run->control))
		flags |= VPERFCTR_PERF_INHERIT;
	err = vperfctr_perf_open(v, run->perf, run->pid, flags, &why);
	if (err)
		return fail_with(e, "%s", why.text);
	clock_gettime(CLOCK_MONOTONIC, &run->start);
	run_go(run);
	return 0;
}

/* The counts of a process and of the children that it has waited for, as the kernel tells them. */
static void count_usage(struct counts *c, const struct rusage *before, const struct rusage *usage)
{
	struct sums *sums = &c->own;

	memset(c, 0, sizeof(*c));
	sums->tsc = (uint64_t)((run_cpu_time(usage) - run_cpu_time(before)) * 1e9 + 0.5);
	sums->soft[__builtin_ctz(VPERFCTR_SOFT_TASK_CLOCK)] = sums->tsc;
	sums->soft[__builtin_ctz(VPERFCTR_SOFT_CONTEXT_SWITCHES)] =
		(uint64_t)(usage->ru_nvcsw - before->ru_nvcsw + usage->ru_nivcsw - before->ru_nivcsw);
	sums->soft[__builtin_ctz(VPERFCTR_SOFT_MINOR_FAULTS)] =
		(uint64_t)(usage->ru_minflt - before->ru_minflt);
	sums->soft[__builtin_ctz(VPERFCTR_SOFT_MAJOR_FAULTS)] =
		(uint64_t)(usage->ru_majflt - before->ru_majflt);
	sums->soft[SOFT_PAGE_FAULTS] = (uint64_t)(usage->ru_minflt - before->ru_minflt +
						  usage->ru_majflt - before->ru_majflt);
}

int run_command(char **argv, const struct vperfctr_control *control, const char *perf,
		const struct interval *interval, struct result *r, struct error *e)
{
	struct running run = { .argv = argv, .control = control, .perf = perf };
	struct vperfctr *v = NULL;
	struct rusage usage;
	int err, ended, wstatus, missed = 0;

	memset(r, 0, sizeof(*r));
	if (run_start(&run, NULL, e))
		return -1;
	if (perf && run_count_perf(&run, &v, e)) {
		/* The child ends, as nothing releases it. */
		close(run.sock);
		run_await_end(&run, &wstatus, &usage);
		return -1;
	}
	if (run_await_exec(&run, e)) {
		vperfctr_close(v);
		if (!perf)
			close(run.fd);
		run_await_end(&run, &wstatus, &usage);
		return -1;
	}
	err = perf ? 0 : vperfctr_open_fd(&v, run.fd, 0);
	if (err)
		close(run.fd);
	else if (v && (interval->ms || interval->gate))
		missed = run_intervals(&run, v, interval);
	ended = run_await_end(&run, &wstatus, &usage);
	if (ended) {
		vperfctr_close(v);
		return fail_with(e, "cannot wait for the command: %s", strerror(-ended));
	}
	r->elapsed = seconds_since(&run.start);
	r->status = run_status(wstatus);
	r->signalled = WIFSIGNALED(wstatus);
	if (!inherits(control))
		r->cpu_time = run_cpu_time(&usage);
	r->user = seconds_of(&usage.ru_utime);
	r->system = seconds_of(&usage.ru_stime);
	/* As the counts, without what the process has done before. */
	if (by_usage(perf)) {
		r->user -= seconds_of(&run.before.ru_utime);
		r->system -= seconds_of(&run.before.ru_stime);
	}
	if (by_usage(perf))
		count_usage(&r->counts, &run.before, &usage);
	else if (!err)
		err = counts_finish(v, control, &r->counts);
	if (!err && !r->counts.replaced)
		err = missed;
	vperfctr_close(v);
	if (err)
		fail_read(e, err, perf);
	else if (!judge_counts(r, wstatus, control, perf, e) &&
		 run_check_perf(&run, &r->total, &usage, e))
		r->complete = false;
	if (by_usage(perf))
		strcpy(r->scope, "with its threads, and the children that it waited for");
	result_add_times(r);
	if (interval->ms && r->counted)
		interval->fn(interval->arg, r->elapsed, &r->total, NULL);
	return 0;
}
