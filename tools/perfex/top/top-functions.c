// SPDX-License-Identifier: GPL-2.0
/*
 * perfex top -p, -t and -a: the hottest functions, again and again.  A child records each
 * interval, and another one reads its samples, which may name files of others.
 */
#include <errno.h>
#include <math.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "browse.h"
#include "option-table.h"
#include "output.h"
#include "work.h"

#define NS_PER_SECOND	1e9
#define OTHER_LINES	2	/* of each event: the title, the head */
#define MAX_COLUMNS	1000

struct moment {
	const struct reporting *o;
	FILE *out;
	char name[64];		/* of the file with the samples */
	bool first;
};

/* Return: the lines of an event's functions for which there is room; *columns: of a line */
static size_t room_of(FILE *f, unsigned int nrevents, size_t *columns)
{
	struct winsize size;
	size_t lines;

	*columns = MAX_COLUMNS;
	if (!isatty(fileno(f)) || ioctl(fileno(f), TIOCGWINSZ, &size) || !size.ws_col)
		return 20;
	*columns = size.ws_col - 1;
	/* The cursor is in the last line. */
	lines = (size_t)(size.ws_row ? size.ws_row - 1 : 0) / nrevents;
	return lines > OTHER_LINES ? lines - OTHER_LINES : 1;
}

/* Return: how many bytes of a text have room, where each has a column at most; no character is cut. */
static int bytes_of(const char *text, size_t columns)
{
	size_t n = strnlen(text, columns);

	while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return (int)n;
}

static void print_rate(FILE *f, const struct profile_event *event, double seconds)
{
	const double rate = seconds > 0 ? (double)event->count / seconds : 0;
	char samples[THOUSANDS_LEN];

	if (event->time)
		fprintf(f, "%s: %.3f CPUs", event->name, rate / NS_PER_SECOND);
	else if (rate >= 1e9)
		fprintf(f, "%s: %.3f G/sec", event->name, rate / 1e9);
	else if (rate >= 1e6)
		fprintf(f, "%s: %.3f M/sec", event->name, rate / 1e6);
	else
		fprintf(f, "%s: %.3f K/sec", event->name, rate / 1e3);
	fprintf(f, ", %s sample%s in %.1f seconds", thousands(samples, event->samples),
		plural(event->samples), seconds);
}

/* Print the table of an event; on a terminal over the one before. */
static int print_event(const struct moment *m, const struct profile *p, unsigned int event,
		       struct error *e)
{
	const bool terminal = is_terminal(m->out);
	const char *end = terminal ? "\033[K\n" : "\n";
	size_t columns, room = room_of(m->out, p->nrevents, &columns), i;
	struct view v;
	int err = view_list(&v, p, event, false, m->o, e);

	if (!err) {
		fputs(terminal && has_colours(m->out) ? "\033[1m" : "", m->out);
		print_rate(m->out, &p->events[event], (double)p->elapsed / NS_PER_SECOND);
		fprintf(m->out, "%s%s", terminal && has_colours(m->out) ? "\033[m" : "", end);
		for (i = 0; i < v.nr && i <= room; i++)
			fprintf(m->out, "%.*s%s", bytes_of(v.lines[i].text, columns), v.lines[i].text, end);
	}
	view_free(&v);
	return err;
}

static int print_moment(void *arg, struct error *e)
{
	/* Lines and inlined functions would take longer than the interval. */
	const struct details details = { false, false };
	const struct moment *m = arg;
	struct profile p;
	unsigned int i;
	int err;

	/* Reading the file may take long: Ctrl-C ends this child, and its end ends the parent. */
	signals_unblock();
	err = profile_read(&p, m->name, false, &details, e);

	work_prints();
	if (!err)
		profile_join_inlined(&p);
	if (!err && is_terminal(m->out))
		fputs(m->first ? "\033[2J\033[H" : "\033[H", m->out);
	for (i = 0; !err && i < p.nrevents; i++)
		err = print_event(m, &p, i, e);
	if (!err)
		fputs(is_terminal(m->out) ? "\033[J" : "\n", m->out);
	profile_free(&p);
	if (!err && output_error(m->out))
		err = fail_with(e, "cannot write the table: %s", strerror(output_error(m->out)));
	return err;
}

/*
 * Take samples in a child, and end it.  Return: does not.  The parent gets the status, and why it
 * has failed.
 */
static void record_child(pid_t parent, const struct count_options *counting,
			 const struct sample_spec *spec, int fd, double seconds, struct error *told)
{
	const struct showing show = { .quiet = true };
	struct count_options c = *counting;
	struct error e = { .status = STATUS_FAILED };
	struct output output;
	int ret;

	work_end_with_parent(parent);
	c.timeout = seconds;
	ret = output_open_descriptor(&output, fd, &e);
	if (!ret) {
		ret = sample(&c, spec, &show, &output, &e);
		if (output_close(&output, true) && ret >= 0)
			ret = fail_with(&e, "cannot write samples to memory");
	}
	*told = e;
	_exit(ret < 0);
}

/* Record an interval.  Return: 0, or -1 with *e */
static int record_interval(const struct count_options *c, const struct sample_spec *spec, int fd,
			   double seconds, struct error *e)
{
	struct error *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const pid_t parent = getpid();
	int status = 0;
	pid_t pid;

	if (told == MAP_FAILED)
		return fail_with(e, "out of memory");
	fflush(NULL);
	pid = fork();
	if (!pid)
		record_child(parent, c, spec, fd, seconds, told);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		fail_with(e, "cannot start a process: %s", strerror(errno));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		*e = *told;
	else if (WIFSIGNALED(status))
		fail_with(e, "the recording was ended by signal %d", WTERMSIG(status));
	munmap(told, sizeof(*told));
	return pid < 0 || status ? -1 : 0;
}

/* True if a target still runs; CPUs do. */
static bool has_targets(const struct targets *targets)
{
	unsigned int i;

	for (i = 0; i < targets->nr; i++)
		if (!kill(targets->target[i].id, 0) || errno == EPERM)
			return true;
	return !targets->nr;
}

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_SECOND;
}

/* Return: how long the next interval is.  A rest that is too short for a rate of its own is its part. */
static double length_of(double left, double interval)
{
	return left < interval * 1.1 ? left : interval;
}

int top_functions(const struct count_options *c, const struct sample_spec *spec, unsigned int ms,
		  const struct reporting *o, FILE *out, struct error *e)
{
	struct moment m = { .o = o, .out = out, .first = true };
	const double since = seconds_now(), interval = ms / 1e3;
	const struct timespec now = { 0 };
	double left = INFINITY;
	sigset_t set;
	int ret = 0, fd;

	/* The child that records gets Ctrl-C, too, and writes what it has. */
	signals_catch(&set, false, NULL);
	while (!ret) {
		if (c->timeout >= 0)
			left = m.first ? c->timeout : c->timeout - (seconds_now() - since);
		/* The time of a table, and of the start of the next interval, may be all that was left. */
		if (left < interval / 10 && !m.first)
			break;
		fd = memfd_create("perfex-top", MFD_CLOEXEC);
		if (fd < 0)
			return fail_with(e, "out of memory");
		snprintf(m.name, sizeof(m.name), "/proc/self/fd/%d", fd);
		ret = record_interval(c, spec, fd, length_of(left, interval), e);
		if (!ret)
			ret = work_in_child(print_moment, &m, true, e);
		close(fd);
		m.first = false;
		if (ret || length_of(left, interval) == left || !has_targets(&c->targets) ||
		    sigtimedwait(&set, NULL, &now) > 0)
			break;
	}
	signals_unblock();
	return ret;
}
