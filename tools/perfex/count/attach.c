// SPDX-License-Identifier: GPL-2.0
/*
 * Count running threads.
 *
 * For each process, or each thread with -t, the module makes a set: it attaches to all
 * threads at once and does not disturb them.  A set has one sum for all of its threads.
 * For counts of each thread, perfex opens the states of the set's members, too.
 *
 * With a module that makes no sets, perfex uses ptrace.
 * It stops all threads under ptrace, gives each a state and a control, and
 * releases them.  A thread's counters start when it is released, so all start within
 * the time that this takes.  Threads that are started later inherit.  While a
 * process is being stopped, its running threads can start others.  So its list of
 * threads is read again until all known threads are stopped and no new one is found.
 *
 * Where the module cannot count, perf_event has events for each thread that there is, which are
 * inherited.
 *
 * If perfex is killed, the kernel releases the threads.  It also removes the states,
 * which are transient.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "perf-count.h"

struct thread {
	struct tracee trace;
	char name[17];
	struct vperfctr *v;	/* NULL: none, or the thread ended before it was counted */
	struct counts counts;
	bool again;		/* stopped once more, at the end */
	bool set;		/* all threads of the process trace.tid, or this one with -t */
	bool process;
	bool ended;		/* a set's process or thread */
};

struct session {
	const struct targets *targets;
	const struct vperfctr_control *control;
	const struct perf_count *perf;	/* NULL: the module counts */
	const struct interval *interval;
	struct sampler *sampler;	/* or NULL */
	double next;		/* end of the current interval, or the next look at the rings */
	sigset_t set;		/* signals that end the counting, or are for the command */
	sigset_t ending;	/* those that end it before there is a command */
	struct thread *threads;
	unsigned int nr, room;
	struct thread *members;	/* of sets, for the counts of each thread */
	unsigned int nrmembers, members_room;
	bool per_thread;
	struct result now;	/* parts of the current interval */
	unsigned int nrcounted;	/* threads, from the beginning */
	int read_error;		/* an interval is missing, or what the gate leaves out; or 0 */
	bool look;		/* there are threads whose end poll() does not report */
	struct pollfd *polls;	/* the end of each process or thread; signals; rings; the gate */
	struct timespec start;
	struct waiting waiting;
	pid_t command;
	int wstatus;
};

/* ---- threads ------------------------------------------------------------------ */

static struct thread *find_thread(struct session *s, pid_t tid)
{
	unsigned int i;

	for (i = s->nr; i-- > 0;)
		if (s->threads[i].trace.tid == tid)
			return &s->threads[i];
	return NULL;
}

/* Return: the next element, or NULL if there is no memory. */
static struct thread *new_element(struct thread **threads, unsigned int nr, unsigned int *room,
				  pid_t tid)
{
	struct thread *t;

	if (nr == *room) {
		unsigned int more = *room ? *room * 2 : 64;

		t = reallocarray(*threads, more, sizeof(*t));
		if (!t)
			return NULL;
		*threads = t;
		*room = more;
	}
	t = &(*threads)[nr];
	memset(t, 0, sizeof(*t));
	t->trace.tid = tid;
	return t;
}

static struct thread *new_thread(struct session *s, pid_t tid)
{
	return new_element(&s->threads, s->nr, &s->room, tid);
}

/* Names are for -v; a thread that has ended has none. */
static void read_name(struct thread *t)
{
	char path[64];
	size_t length;
	FILE *f;

	snprintf(path, sizeof(path), PROC "/%d/comm", (int)t->trace.tid);
	f = fopen(path, "re");
	if (!f)
		return;
	/* The last line feed is not part of the name; others are. */
	length = fread(t->name, 1, sizeof(t->name) - 1, f);
	if (length && t->name[length - 1] == '\n')
		t->name[length - 1] = '\0';
	replace_controls(t->name);
	fclose(f);
}

/* Trace a thread from now on.  Return: 1: traced from now on; 0: it has ended; -1: *e */
static int seize_thread(struct session *s, pid_t tid, struct error *e)
{
	struct thread *t = new_thread(s, tid);
	int err;

	if (!t)
		return fail_with(e, "out of memory");
	err = trace_seize(&t->trace);
	if (err == -ESRCH)
		return 0;
	if (err)
		return fail_trace(e, err, tid, PROC);
	read_name(t);
	s->nr++;
	return 1;
}

/*
 * Interrupt the threads from number `first` on, and wait until they have stopped.  Forget those
 * that have ended: their ids may be in use again.
 */
static int await_stops(struct session *s, unsigned int first, struct error *e)
{
	unsigned int i;
	int err;

	for (i = first; i < s->nr; i++)
		if (!s->threads[i].trace.stopped)
			trace_interrupt(&s->threads[i].trace);
	i = first;
	while (i < s->nr) {
		err = trace_await(&s->threads[i].trace, &s->ending);
		if (err == -ESRCH)
			s->threads[i] = s->threads[--s->nr];
		else if (err == -EINTR)
			return fail_with(e, "interrupted before anything was counted");
		else if (err)
			return fail_trace(e, err, s->threads[i].trace.tid, PROC);
		else
			i++;
	}
	return 0;
}

/* Return: the number of new threads, or -1 with *e.  *any: there are threads, new or not. */
static int seize_new(struct session *s, DIR *dir, bool *any, struct error *e)
{
	const struct dirent *d;
	int found = 0, ret;
	pid_t tid;

	rewinddir(dir);
	while ((d = readdir(dir))) {
		tid = (pid_t)atoi(d->d_name);
		if (tid <= 0)
			continue;
		if (find_thread(s, tid)) {
			*any = true;
			continue;
		}
		ret = seize_thread(s, tid, e);
		if (ret < 0)
			return ret;
		found += ret;
	}
	return found;
}

static int stop_process(struct session *s, pid_t pid, struct error *e)
{
	unsigned int first = s->nr, nr;
	char path[64];
	bool any;
	DIR *dir;
	int ret;

	snprintf(path, sizeof(path), PROC "/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return fail_trace(e, -ESRCH, pid, PROC);
	/*
	 * Check all threads each time.  One that was not stopped yet may have executed
	 * a file: it then has the id of another, and the others have ended.
	 */
	do {
		any = false;
		ret = seize_new(s, dir, &any, e);
		nr = s->nr;
		if (ret >= 0 && await_stops(s, first, e))
			ret = -1;
	} while (ret > 0 || (!ret && s->nr != nr));
	closedir(dir);
	if (!ret && !any)
		return fail_trace(e, -ESRCH, pid, PROC);
	return ret;
}

static int stop_thread(struct session *s, pid_t tid, struct error *e)
{
	unsigned int first = s->nr;
	int ret;

	if (find_thread(s, tid))
		return 0;
	ret = seize_thread(s, tid, e);
	if (ret > 0)
		ret = await_stops(s, first, e);
	if (!ret && s->nr == first)
		return fail_trace(e, -ESRCH, tid, PROC);
	return ret;
}

static void release_all(struct session *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		trace_release(&s->threads[i].trace);
}

/* ---- counters of threads ---------------------------------------------------------- */

/* True if err is an error.  It is not if the thread has ended or SIGKILL has woken it. */
static bool is_counter_error(const struct thread *t, int err)
{
	return err && (err != -ESRCH && (err != -EPERM || trace_is_stopped(&t->trace)));
}

static int open_counters(struct thread *t, struct error *e)
{
	int err = vperfctr_open_tid(&t->v, t->trace.tid,
				    VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);

	return is_counter_error(t, err) ? fail_open_thread(e, err) : 0;
}

static int start_counters(struct session *s, struct thread *t, struct error *e)
{
	int err;

	if (!t->v)
		return 0;
	err = vperfctr_control(t->v, s->control);
	if (!err)
		return 0;
	if (!is_counter_error(t, err)) {
		vperfctr_close(t->v);
		t->v = NULL;
		return 0;
	}
	return fail_control(e, err, s->control, PROC);
}

static int stop_and_open(struct session *s, struct error *e)
{
	const struct targets *targets = s->targets;
	unsigned int i;
	int ret;

	for (i = 0; i < targets->nr; i++) {
		const struct target *t = &targets->target[i];

		ret = t->process ? stop_process(s, t->id, e) : stop_thread(s, t->id, e);
		if (ret)
			return ret;
	}
	for (i = 0; i < s->nr; i++)
		if (open_counters(&s->threads[i], e))
			return -1;
	/* Start none before this: if a thread has a state of its own, none must count. */
	for (i = 0; i < s->nr; i++)
		if (start_counters(s, &s->threads[i], e))
			return -1;
	return 0;
}

/* ---- sets ------------------------------------------------------------------------ */

static bool is_thread_of(pid_t tid, pid_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), PROC "/%d/task/%d", (int)pid, (int)tid);
	return !access(path, F_OK);
}

/* True if the target is a part of one that has been attached to. */
static bool is_in_set(const struct session *s, const struct target *target)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (s->threads[i].trace.tid == target->id ||
		    (s->threads[i].process && !target->process &&
		     is_thread_of(target->id, s->threads[i].trace.tid)))
			return true;
	return false;
}

static int fail_attach(struct session *s, struct error *e, int err, const struct target *target,
		       const struct vperfctr_attached *attached)
{
	const pid_t id = target->id;
	char path[64];
	int fd;

	switch (err) {
	case -EADDRINUSE:
	case -EXFULL:
	case -EMLINK:
		return fail_beside(e, err, target, attached, PROC);
	case -EPERM:
		/* Either the process may not be traced, or the control is not permitted. */
		snprintf(path, sizeof(path), PROC "/%d/mem", (int)id);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return fail_attach_rights(e, id, PROC);
		close(fd);
		return fail_control(e, err, s->control, PROC);
	case -ESRCH:
	case -ENOSYS:
		return fail_trace(e, err, id, PROC);
	case -EBUSY:
	case -EIO:
		return fail_control(e, err, s->control, PROC);
	case -EINVAL:
		/* The control of a ring is right: perfex has made it from what INFO says. */
		return s->sampler && s->sampler->ring.stack ? fail_ring(e, err) :
							      fail_control(e, err, s->control, PROC);
	case -EAGAIN:
		/* Either of two limits: a ring is the larger part. */
		return s->sampler ? fail_ring(e, err) : fail_open_thread(e, err);
	default:
		return fail_open_thread(e, err);
	}
}

static int attach_set(struct session *s, const struct target *target, struct error *e)
{
	struct thread *t = new_thread(s, target->id);
	struct vperfctr_ring ring, *with = NULL;
	struct vperfctr_attached attached;
	struct counts c;
	int err;

	if (!t)
		return fail_with(e, "out of memory");
	t->set = true;
	t->process = target->process;
	if (s->sampler) {
		ring = s->sampler->ring;
		with = &ring;
	}
	do {
		err = vperfctr_attach_beside(&t->v, target->id, s->control, with, &attached,
					     VPERFCTR_ATTACH_OBSERVER |
					     (target->process ? 0 : VPERFCTR_ATTACH_THREAD));
	} while (err == -EINTR);
	if ((err == -ENOTTY || err == -E2BIG) && with)
		return fail_with(e, "the vperfctr module is too old to sample running processes: install that of this perfex, or let perfex run the command");
	if (err == -ENOTTY)
		return 1;
	if (err)
		return fail_attach(s, e, err, target, &attached);
	s->nr++;
	s->nrcounted += attached.nrthreads;
	/* All threads or none.  Those that have left the set since say why. */
	err = counts_read_set(t->v, s->control, &c);
	if (!err && c.missed &&
	    !(c.status & (VPERFCTR_STATUS_PRIVILEGED | VPERFCTR_STATUS_FORBIDDEN)))
		return fail_beside(e, -EADDRINUSE, target, &attached, PROC);
	return with ? s->sampler->start(s->sampler->arg, target, t->v, e) : 0;
}

/* ---- perf_event ------------------------------------------------------------------- */

/* A process that starts threads all the time has other ones after each look. */
#define TRIES	20

/* Open a handle for all threads of a target.  *gone: one of them has ended meanwhile */
static int open_all(struct session *s, const struct target *target, const pid_t *tids,
		    unsigned int nr, bool *gone, struct error *e)
{
	struct thread *t = new_thread(s, target->id);

	if (!t)
		return fail_with(e, "out of memory");
	t->set = true;
	t->process = target->process;
	if (perf_count_threads(&t->v, s->perf, tids, nr, 0, gone, e))
		return -1;
	s->nr++;
	return 0;
}

/* Open a handle for one thread.  *gone: it has ended meanwhile */
static int open_one(struct session *s, pid_t tid, bool *gone, struct error *e)
{
	struct thread *t = new_thread(s, tid);

	if (!t)
		return fail_with(e, "out of memory");
	if (perf_count_threads(&t->v, s->perf, &tid, 1, 0, gone, e))
		return *gone ? 0 : -1;
	read_name(t);
	s->nr++;
	return 0;
}

static int open_threads(struct session *s, const struct target *target, const pid_t *tids,
			unsigned int nr, bool *gone, struct error *e)
{
	const unsigned int first = s->nr;
	unsigned int i;
	int err = 0;

	if (s->sampler)
		return open_all(s, target, tids, nr, gone, e);
	for (i = 0; i < nr && !err; i++)
		err = open_one(s, tids[i], gone, e);
	/* Threads that have ended meanwhile are left out, but at least one must remain. */
	*gone = !err && s->nr == first;
	return err;
}

static void close_from(struct session *s, unsigned int first)
{
	while (s->nr > first)
		vperfctr_close(s->threads[--s->nr].v);
}

/* Look whether each thread of the target is among these: none was started.  Return: 0 or -errno */
static int find_new(const struct target *target, const pid_t *tids, unsigned int nr, bool *found)
{
	unsigned int nrnow, i, k = 0;
	pid_t *now;
	int err = perf_list_threads(target, &now, &nrnow);

	for (i = 0; i < nrnow; i++) {
		while (k < nr && tids[k] < now[i])
			k++;
		if (k == nr || tids[k] != now[i])
			break;
	}
	free(now);
	*found = i < nrnow;
	return err == -ESRCH ? 0 : err;
}

static int fail_list(struct error *e, int err, pid_t id)
{
	return err == -EMFILE ? fail_open_thread(e, err) : fail_trace(e, err, id, PROC);
}

/*
 * Count all threads of a target.  One that is started meanwhile is either counted by what it
 * inherits or by nothing, and nothing tells which.  So if there is one, begin again.
 */
static int attach_perf(struct session *s, const struct target *target, struct error *e)
{
	const unsigned int first = s->nr;
	unsigned int i, nr;
	bool gone, more, done = false;
	pid_t *tids;
	int err = 0;

	for (i = 0; i < TRIES && !done && !err; i++) {
		close_from(s, first);
		err = perf_list_threads(target, &tids, &nr);
		if (err) {
			free(tids);
			return fail_list(e, err, target->id);
		}
		gone = false;
		err = open_threads(s, target, tids, nr, &gone, e);
		if (gone)
			err = 0;
		if (!err && !gone) {
			err = find_new(target, tids, nr, &more);
			if (err)
				fail_list(e, err, target->id);
			done = !more;
		}
		free(tids);
	}
	if (err)
		return -1;
	if (!done)
		return fail_with(e, "process %d starts threads faster than perf_event can count them: count by the vperfctr module, or try again later",
				 (int)target->id);
	s->nrcounted += s->sampler ? nr : s->nr - first;
	return s->sampler ? s->sampler->start(s->sampler->arg, target, s->threads[first].v, e) : 0;
}

/* ---- all targets -------------------------------------------------------------------- */

/*
 * Attach to the processes, then to the threads that are in none of them.  Return: 1: the module
 * cannot; -1: *e
 */
static int attach_all(struct session *s, struct error *e)
{
	unsigned int i, pass;
	int ret;

	/* Processes first: their threads may be among the others. */
	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < s->targets->nr; i++) {
			const struct target *t = &s->targets->target[i];

			if (t->process != !pass || is_in_set(s, t))
				continue;
			ret = s->perf ? attach_perf(s, t, e) : attach_set(s, t, e);
			if (ret)
				return ret;
		}
	}
	return 0;
}

/* A thread may have ended since the attachment: its counts are those of the set. */
static int open_member(struct session *s, const struct thread *set, pid_t tid, struct error *e)
{
	struct thread *t = new_element(&s->members, s->nrmembers, &s->members_room, tid);
	int err;

	if (!t)
		return fail_with(e, "out of memory");
	err = vperfctr_open_member(&t->v, set->v, tid, 0);
	if (err == -ESRCH || err == -ENOENT)
		return 0;
	if (err)
		return fail_open_thread(e, err);
	read_name(t);
	s->nrmembers++;
	return 0;
}

static int open_members_of(struct session *s, const struct thread *set, struct error *e)
{
	const struct dirent *d;
	char path[64];
	int err = 0;
	DIR *dir;

	if (!set->process)
		return open_member(s, set, set->trace.tid, e);
	snprintf(path, sizeof(path), PROC "/%d/task", (int)set->trace.tid);
	dir = opendir(path);
	/* The process may have ended. */
	if (!dir)
		return 0;
	while (!err && (d = readdir(dir)))
		if (atoi(d->d_name) > 0)
			err = open_member(s, set, (pid_t)atoi(d->d_name), e);
	closedir(dir);
	return err;
}

static int open_members(struct session *s, struct error *e)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (open_members_of(s, &s->threads[i], e))
			return -1;
	return 0;
}

/* ---- reading ---------------------------------------------------------------------- */

static int read_thread(struct session *s, struct thread *t, struct counts *c)
{
	return t->set ? counts_read_set(t->v, s->control, c) :
			counts_read(t->v, s->control, c);
}

/* True if the thread has ended and left running descendants behind. */
static bool is_survived(const struct thread *t)
{
	if (t->set)
		return t->ended && (t->counts.status & VPERFCTR_STATUS_CHILDREN);
	return (t->counts.status & (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_CHILDREN)) ==
	       VPERFCTR_STATUS_CHILDREN;
}

#define GRACE		100	/* milliseconds */
#define GRACE_STEP	5

/*
 * A thread that another has joined may still be in its exit when the other ends.
 * Wait a little for descendants that are about to end, for all together.
 */
static int read_again(struct session *s, struct thread *t, int *grace)
{
	int err = 0;

	while (!err && is_survived(t) && *grace > 0) {
		poll(NULL, 0, GRACE_STEP);
		*grace -= GRACE_STEP;
		err = read_thread(s, t, &t->counts);
	}
	if (t->set) {
		/* The counts of threads that still run are included. */
		t->counts.cut_off |= is_survived(t);
		t->counts.status &= ~(uint32_t)VPERFCTR_STATUS_CHILDREN;
	}
	return err;
}

static int read_all(struct session *s, struct error *e)
{
	int err = 0, grace = GRACE;
	unsigned int i;

	for (i = 0; !err && i < s->nr; i++)
		if (s->threads[i].v)
			err = read_thread(s, &s->threads[i], &s->threads[i].counts);
	for (i = 0; !err && i < s->nr; i++)
		if (s->threads[i].v)
			err = read_again(s, &s->threads[i], &grace);
	return err ? fail_read(e, err, s->perf) : 0;
}

/*
 * Descendants that still run are in no sums.  Unlinking the state from its thread adds
 * them; for that, a thread that has not ended must be stopped once more.
 */
static int end_families(struct session *s)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < s->nr; i++) {
		struct thread *t = &s->threads[i];

		t->again = t->v && !t->set && (t->counts.status & VPERFCTR_STATUS_CHILDREN) &&
			   (t->counts.status & VPERFCTR_STATUS_ATTACHED) &&
			   !trace_seize(&t->trace);
		if (t->again)
			trace_interrupt(&t->trace);
	}
	for (i = 0; i < s->nr; i++) {
		struct thread *t = &s->threads[i];

		if (!t->v || t->set || !(t->counts.status & VPERFCTR_STATUS_CHILDREN))
			continue;
		if (t->again)
			trace_await(&t->trace, &s->ending);
		if (!err)
			err = counts_finish(t->v, s->control, &t->counts);
		if (t->again)
			trace_release(&t->trace);
	}
	return err;
}

/*
 * End the counting of sets, so that the counts of their members are a part of theirs, and
 * read both.
 */
static int end_sets(struct session *s)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < s->nr && !err; i++) {
		struct thread *t = &s->threads[i];
		struct counts c = { .status = 0 };

		err = vperfctr_unlink(t->v);
		if (!err)
			err = counts_read_set(t->v, s->control, &c);
		c.cut_off = t->counts.cut_off;
		t->counts = c;
	}
	for (i = 0; i < s->nrmembers && !err; i++)
		err = counts_read(s->members[i].v, s->control, &s->members[i].counts);
	return err;
}

/* ---- waiting for the end ------------------------------------------------------------- */

/* Open a descriptor that can be polled for the end of a process. */
static int open_process(pid_t pid, struct pollfd *p, struct error *e)
{
	p->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	p->events = POLLIN;
	if (p->fd >= 0)
		return 0;
	/* Old kernels return EINVAL, new ones ENOENT. */
	if (errno == EINVAL || errno == ENOENT)
		return fail_with(e, "%d is a thread, and not its process's first: count it with -t, or all with -p and the process's id",
				 (int)pid);
	return fail_trace(e, -errno, pid, PROC);
}

static int open_ends(struct session *s, struct error *e)
{
	const struct targets *targets = s->targets;
	unsigned int i;

	/* There are not more rings than targets.  The last one is for the gate. */
	s->polls = calloc(2 * targets->nr + 2, sizeof(*s->polls));
	if (!s->polls)
		return fail_with(e, "out of memory");
	for (i = 0; i <= 2 * targets->nr + 1; i++)
		s->polls[i].fd = -1;
	for (i = 0; i < targets->nr; i++) {
		const struct target *t = &targets->target[i];

		if (t->id == getpid())
			return fail_with(e, "perfex cannot count itself");
		if (t->process && open_process(t->id, &s->polls[i], e))
			return -1;
	}
	return 0;
}

/* Linux 6.9: poll a descriptor for the end of a thread. */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD	O_EXCL
#endif

/*
 * The end of a thread is POLLHUP of its state.  A set has POLLHUP when what the thread has
 * started has ended, too.
 */
static void poll_threads(struct session *s)
{
	const struct targets *targets = s->targets;
	const struct thread *t;
	unsigned int i;

	for (i = 0; i < targets->nr; i++) {
		if (targets->target[i].process)
			continue;
		t = find_thread(s, targets->target[i].id);
		if (!t || !t->v)
			continue;
		if (!t->set && !s->perf) {
			s->polls[i].fd = vperfctr_fd(t->v);
			continue;
		}
		s->polls[i].fd = (int)syscall(SYS_pidfd_open, t->trace.tid, PIDFD_THREAD);
		s->polls[i].events = POLLIN;
		if (s->polls[i].fd < 0) {
			/* An event of perf's that has no buffer is ready all the time. */
			s->polls[i].fd = s->perf ? eventfd(0, EFD_CLOEXEC) : vperfctr_fd(t->v);
			s->polls[i].events = 0;
			s->look = true;
		}
	}
}

/* The descriptor of a state belongs to its handle. */
static void close_end(struct session *s, unsigned int i)
{
	const struct thread *t = find_thread(s, s->targets->target[i].id);

	if (s->polls[i].fd >= 0 && !(t && t->v && s->polls[i].fd == vperfctr_fd(t->v)))
		close(s->polls[i].fd);
	s->polls[i].fd = -1;
}

static void close_ends(struct session *s)
{
	unsigned int i;

	if (!s->polls)
		return;
	for (i = 0; i < s->targets->nr; i++)
		close_end(s, i);
	if (s->polls[i].fd >= 0)
		close(s->polls[i].fd);
	free(s->polls);
}

/*
 * Reap all children, also traced threads that SIGKILL has ended.
 * Return: whether the command has ended.
 */
static bool reap_children(struct session *s)
{
	bool ended = false;
	int wstatus;
	pid_t pid;

	while ((pid = waitpid(-1, &wstatus, WNOHANG | __WALL)) > 0) {
		/* No thread is traced any more; but none must stay stopped. */
		if (WIFSTOPPED(wstatus))
			ptrace(PTRACE_DETACH, pid, 0,
			       wstatus >> 16 ? 0L : (long)WSTOPSIG(wstatus));
		if (pid != s->command)
			continue;
		s->wstatus = wstatus;
		ended = true;
	}
	return ended;
}

/* Return: whether counting must end. */
static bool take_signal(struct session *s, int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return false;
	if (info.ssi_signo == SIGCHLD)
		return reap_children(s);
	return signals_take(s->command, &info) && !s->command;
}

/* Return: whether all have ended. */
static bool forget_ended(struct session *s)
{
	bool some = false, ended;
	struct thread *t;
	unsigned int i;

	for (i = 0; i < s->targets->nr; i++) {
		t = find_thread(s, s->targets->target[i].id);
		ended = s->polls[i].revents;
		if (!ended && s->look && s->polls[i].fd >= 0 && !s->polls[i].events)
			trace_look_up(s->targets->target[i].id, PROC, &ended);
		if (ended) {
			close_end(s, i);
			if (t)
				t->ended = true;
		}
		some |= s->polls[i].fd >= 0;
	}
	return !some;
}

/* Read the sums of all.  Return: 0, or an error */
static int read_sums(void *arg, struct sums *sums, const struct part **parts)
{
	struct session *s = arg;
	struct counts c;
	unsigned int i;
	int err;

	(void)parts;
	memset(sums, 0, sizeof(*sums));
	for (i = 0; i < s->nr; i++) {
		if (!s->threads[i].v)
			continue;
		err = read_thread(s, &s->threads[i], &c);
		/* No sum is right then. */
		if (err)
			return err;
		sums_add(sums, &c.own);
		sums_add(sums, &c.children);
	}
	return 0;
}

static void add_parts(struct session *s, struct result *r);

/*
 * Read the parts.  Members run on, so they are read before the sums of their sets.  The rest
 * of a sum, which is a part of its own, must not be negative.
 * Return: 0 or -errno
 */
static int read_parts(struct session *s)
{
	unsigned int i;
	int err;

	for (i = 0; i < s->nrmembers; i++) {
		err = counts_read(s->members[i].v, s->control, &s->members[i].counts);
		/* An old row would be wrong, and so would the rest of the sum. */
		if (err)
			return err;
	}
	memset(&s->now.counts, 0, sizeof(s->now.counts));
	for (i = 0; i < s->nr; i++) {
		if (!s->threads[i].v)
			continue;
		err = read_thread(s, &s->threads[i], &s->threads[i].counts);
		if (err)
			return err;
		counts_add(&s->now.counts, &s->threads[i].counts);
	}
	s->now.nrparts = 0;
	add_parts(s, &s->now);
	return 0;
}

/* Read the sums of all, and their parts.  Return: 0 or -errno */
static int read_sums_and_parts(void *arg, struct sums *sums, const struct part **parts)
{
	struct session *s = arg;

	int err = read_parts(s);

	if (err)
		return err;
	*sums = s->now.counts.own;
	sums_add(sums, &s->now.counts.children);
	*parts = s->now.parts;
	return 0;
}

/* Keep the first error: the run fails at its end. */
static void note_read(struct session *s, int err)
{
	s->read_error = s->read_error ? s->read_error : err;
}

static void attach_interval(struct session *s)
{
	note_read(s, interval_end(s->interval, &s->start,
				  s->per_thread ? read_sums_and_parts : read_sums, s));
	s->next = interval_next(s->interval, &s->start, s->next);
}

#define LOOK_INTERVAL	0.05	/* seconds */

/* Return: seconds to wait, or NO_TIMEOUT; 0: the time is over. */
static double time_left(struct session *s, double timeout)
{
	double now = seconds_since(&s->start), until = timeout;

	if (timeout >= 0 && now >= timeout)
		return 0;
	if (s->interval->ms && now >= s->next)
		attach_interval(s);
	if ((s->interval->ms || s->sampler) && (until < 0 || s->next < until))
		until = s->next;
	if (gate_next(s->interval->gate) >= 0 && (until < 0 || gate_next(s->interval->gate) < until))
		until = gate_next(s->interval->gate);
	waiting_show(&s->waiting, now, timeout);
	if (s->waiting.on && (until < 0 || s->waiting.next < until))
		until = s->waiting.next;
	if (s->look && (until < 0 || now + LOOK_INTERVAL < until))
		until = now + LOOK_INTERVAL;
	if (until < 0)
		return NO_TIMEOUT;
	now = seconds_since(&s->start);
	return until > now ? until - now : 1e-9;
}

static int drain_rings(struct session *s, bool last, struct error *e)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (s->sampler->drain(s->sampler->arg, s->threads[i].v, last, e))
			return -1;
	s->next = seconds_since(&s->start) + LOOK_INTERVAL;
	return 0;
}

/* Return: the number of rings. */
static unsigned int poll_rings(struct session *s)
{
	struct pollfd *rings = &s->polls[s->targets->nr + 1];
	unsigned int i;

	if (!s->sampler)
		return 0;
	for (i = 0; i < s->nr; i++)
		rings[i] = (struct pollfd){
			.fd = s->sampler->fd(s->sampler->arg, s->threads[i].v), .events = POLLIN,
		};
	return s->nr;
}

/* A ring whose threads have all ended would be ready all the time. */
static void forget_ended_rings(struct session *s)
{
	struct pollfd *rings = &s->polls[s->targets->nr + 1];
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (rings[i].revents & (POLLHUP | POLLERR))
			rings[i].fd = -1;
}

/* Open the descriptor of signals.  Context: before the command runs, as this may fail. */
static int open_signals(struct session *s, struct error *e)
{
	struct pollfd *signals = &s->polls[s->targets->nr];

	sigaddset(&s->set, SIGCHLD);
	signals->fd = signalfd(-1, &s->set, SFD_CLOEXEC | SFD_NONBLOCK);
	signals->events = POLLIN;
	return signals->fd < 0 ? fail_with(e, "cannot wait for signals: %s", strerror(errno)) : 0;
}

static int await_end(struct session *s, double timeout, struct error *e)
{
	const struct pollfd *signals = &s->polls[s->targets->nr];
	unsigned int nrrings = poll_rings(s);
	struct pollfd *gate = &s->polls[s->targets->nr + 1 + nrrings];
	struct timespec ts;
	double left;
	int ret;

	if (reap_children(s))
		return 0;
	for (;;) {
		if (forget_ended(s) && !s->command)
			return 0;
		note_read(s, gate_step(s->interval->gate, seconds_since(&s->start), read_sums, s));
		gate->fd = gate_fd(s->interval->gate);
		gate->events = POLLIN;
		left = time_left(s, timeout);
		if (left == 0)
			return 0;
		ts.tv_sec = left > 0 ? (time_t)left : 0;
		ts.tv_nsec = (long)((left - (double)ts.tv_sec) * 1e9);
		ret = ppoll(s->polls, s->targets->nr + 2 + nrrings, left > 0 ? &ts : NULL, NULL);
		if (ret < 0 && errno != EINTR)
			return fail_with(e, "cannot wait: %s", strerror(errno));
		if (nrrings && drain_rings(s, false, e))
			return -1;
		if (nrrings && ret > 0)
			forget_ended_rings(s);
		if (ret > 0 && signals->revents && take_signal(s, signals->fd))
			return 0;
	}
}

/* ---- results ------------------------------------------------------------------------------ */

static void add_part(struct result *r, const struct thread *t)
{
	struct part *part = result_add_part(r, &t->counts.own);

	if (!part)
		return;
	part->field = "thread";
	snprintf(part->name, sizeof(part->name), "thread %d%s%s%s",
		 (int)t->trace.tid, *t->name ? " (" : "", t->name, *t->name ? ")" : "");
	snprintf(part->label, sizeof(part->label), "%s-%d",
		 *t->name ? t->name : "?", (int)t->trace.tid);
}

static void add_parts(struct session *s, struct result *r)
{
	struct sums rest = r->counts.children;
	struct part *part;
	unsigned int i;

	for (i = 0; i < s->nr; i++)
		if (!s->threads[i].set)
			add_part(r, &s->threads[i]);
	/* A set has the sums of its members. */
	for (i = 0; i < s->nrmembers; i++) {
		add_part(r, &s->members[i]);
		sums_subtract(&rest, &s->members[i].counts.own);
	}
	if (!inherits(s->control) || s->perf || (s->nr && s->threads[0].set && !s->per_thread))
		return;
	part = result_add_part(r, &rest);
	if (part) {
		part->field = "thread";
		strcpy(part->name, "what was started meanwhile");
		strcpy(part->label, "(started)");
	}
}

static void collect_counts(struct session *s, struct result *r, struct error *e)
{
	unsigned int i;

	if (read_all(s, e))
		return;
	if (s->read_error) {
		fail_read(e, s->read_error, s->perf);
		return;
	}
	i = (unsigned int)-(s->nrmembers || s->sampler ? end_sets(s) : end_families(s));
	r->elapsed = seconds_since(&s->start);
	if (i) {
		fail_read(e, -(int)i, s->perf);
		return;
	}
	/* There are no more samples. */
	if (s->sampler && drain_rings(s, true, e))
		return;
	for (i = 0; i < s->nr; i++)
		counts_add(&r->counts, &s->threads[i].counts);
	result_finish(r, e);
	/* A thread that slept all the time has counts, which are 0. */
	r->counted = !r->counts.replaced;
	add_parts(s, r);
}

static int count_attached(struct session *s, char **argv, double timeout,
			  struct result *r, struct error *e)
{
	int err;

	if (open_ends(s, e))
		return -1;
	/* Before all counters start: no more than this time is in the counts. */
	clock_gettime(CLOCK_MONOTONIC, &s->start);
	err = attach_all(s, e);
	if (!err && s->per_thread && !s->perf)
		err = open_members(s, e);
	if (err > 0) {
		err = stop_and_open(s, e);
		s->nrcounted = s->nr;
		clock_gettime(CLOCK_MONOTONIC, &s->start);
	}
	release_all(s);
	if (!err && s->per_thread && s->interval->ms) {
		err = read_parts(s);
		err = err ? fail_read(e, err, s->perf) :
			    s->interval->begin(s->interval->arg, s->now.nrparts, e);
	}
	if (err)
		return err;
	poll_threads(s);
	snprintf(r->scope, sizeof(r->scope), s->nrcounted == 1 ? "%u thread%s" : "%u threads%s",
		 s->nrcounted, !inherits(s->control) ? "" :
		 s->nrcounted == 1 ? " and what it started" : " and what they started");

	if (open_signals(s, e))
		return -1;
	if (*argv) {
		s->command = command_start(argv, e);
		if (s->command < 0) {
			s->command = 0;
			return -1;
		}
	}
	if (s->sampler)
		wake_early();
	waiting_begin(&s->waiting, !*argv && !s->interval->ms && !s->sampler);
	err = await_end(s, timeout, e);
	waiting_end(&s->waiting);
	r->elapsed = seconds_since(&s->start);
	if (err)
		return err;
	r->status = *argv ? run_status(s->wstatus) : 0;
	collect_counts(s, r, e);
	result_add_times(r);
	if (s->interval->ms && r->counted)
		s->interval->fn(s->interval->arg, r->elapsed, &r->total, r->parts);
	return 0;
}

int attach_and_count(const struct targets *targets, char **argv, double timeout,
		     bool per_thread, const struct vperfctr_control *control,
		     const struct perf_count *perf, const struct interval *interval,
		     struct sampler *sampler, struct result *r, struct error *e)
{
	struct session s = {
		.targets = targets, .control = control, .perf = perf, .per_thread = per_thread,
		.interval = interval, .next = interval->ms / 1e3, .sampler = sampler,
	};
	sigset_t chld;
	unsigned int i;
	int ret;

	memset(r, 0, sizeof(*r));
	files_raise();
	signals_catch(&s.ending, false, NULL);
	signals_catch(&s.set, *argv, NULL);
	/* sigtimedwait() and signalfd() need it blocked, too. */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);

	ret = count_attached(&s, argv, timeout, r, e);

	close_ends(&s);
	for (i = 0; i < s.nr; i++)
		vperfctr_close(s.threads[i].v);
	for (i = 0; i < s.nrmembers; i++)
		vperfctr_close(s.members[i].v);
	free(s.threads);
	free(s.members);
	result_free(&s.now);
	return ret;
}
