// SPDX-License-Identifier: GPL-2.0
/*
 * -D and --control: leave out what is counted at times.  See gate.h.
 *
 * Commands and answers are those of perf stat --control: a line "enable", "disable" or
 * "ping" each, and "ack".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gate.h"

/* ---- the argument of --control ----------------------------------------------------- */

/* Parse "3,4".  Return: false if these are no descriptors. */
static bool parse_descriptors(const char *text, int *control, int *ack)
{
	int n = 0;

	*ack = -1;
	if (sscanf(text, "%d%n", control, &n) != 1 || *control < 0)
		return false;
	if (!text[n])
		return true;
	text += n;
	return sscanf(text, ",%d%n", ack, &n) == 1 && *ack >= 0 && !text[n];
}

int gate_check(const char *arg, struct error *e)
{
	int control, ack;

	if (!strncmp(arg, "fd:", 3) && parse_descriptors(arg + 3, &control, &ack))
		return 0;
	if (!strncmp(arg, "fifo:", 5) && arg[5] && arg[5] != ',')
		return 0;
	return fail_with(e, "'%.80s' names no control: --control is fifo:FILE[,FILE] or fd:N[,N]; see perfex stat --help",
			 arg);
}

/* Open for both directions, as perf does: there is always a reader and a writer. */
static int open_fifo(const char *name, int *fd, struct error *e)
{
	struct stat st;

	*fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return fail_with(e, "cannot open '%.200s' of --control: %s%s", name, strerror(errno),
				 errno == ENOENT ? " (mkfifo makes it)" : "");
	if (fstat(*fd, &st) || !S_ISFIFO(st.st_mode))
		return fail_with(e, "'%.200s' of --control is no fifo: mkfifo makes one", name);
	return 0;
}

static int open_fifos(struct gate *gate, const char *names, struct error *e)
{
	const char *comma = strchr(names, ',');
	char *control = strndup(names, comma ? (size_t)(comma - names) : strlen(names));
	int err;

	if (!control)
		return fail_with(e, "out of memory");
	gate->opened_ack = true;
	err = open_fifo(control, &gate->control, e);
	free(control);
	if (err)
		return -1;
	return comma ? open_fifo(comma + 1, &gate->ack, e) : 0;
}

static int open_descriptors(struct gate *gate, const char *text, struct error *e)
{
	const int control = parse_descriptors(text, &gate->control, &gate->ack) ?
		fcntl(gate->control, F_GETFL) : -1;

	if (control < 0 || (gate->ack >= 0 && fcntl(gate->ack, F_GETFL) < 0))
		return fail_with(e, "a descriptor of --control=fd:%.40s is not open", text);
	return 0;
}

int gate_open(struct gate *gate, const struct stat_options *o, unsigned int nrparts,
	      struct error *e)
{
	memset(gate, 0, sizeof(*gate));
	gate->control = gate->ack = -1;
	gate->opens_at = -1;
	if (!o->delay && !o->control)
		return 0;
	gate->used = true;
	gate->closed = o->delay;
	gate->opened = !gate->closed;
	if (o->delay > 0)
		gate->opens_at = o->delay / 1e3;
	gate->nr = 1 + nrparts;
	gate->since = calloc(gate->nr, sizeof(*gate->since));
	gate->left_out = calloc(gate->nr, sizeof(*gate->left_out));
	if (!gate->since || !gate->left_out)
		return fail_with(e, "out of memory");
	if (!o->control)
		return 0;
	return !strncmp(o->control, "fifo:", 5) ? open_fifos(gate, o->control + 5, e) :
						  open_descriptors(gate, o->control + 3, e);
}

void gate_close(struct gate *gate)
{
	if (gate->opened_ack && gate->control >= 0)
		close(gate->control);
	if (gate->opened_ack && gate->ack >= 0)
		close(gate->ack);
	free(gate->since);
	free(gate->left_out);
}

/* ---- opening and closing ------------------------------------------------------------- */

static struct sums difference(const struct sums *sums, const struct sums *before)
{
	struct sums d = *sums;

	sums_subtract(&d, before);
	return d;
}

/* Add to what is left out what was counted since the gate was closed. */
static void add_left_out(struct gate *gate, unsigned int i, const struct sums *now)
{
	const struct sums d = difference(now, &gate->since[i]);

	sums_add(&gate->left_out[i], &d);
}

static int set_closed(struct gate *gate, bool closed, gate_read_fn *read, void *arg)
{
	const struct part *parts = NULL;
	struct sums sums;
	unsigned int i;
	int err;

	if (gate->closed == closed)
		return 0;
	err = read(arg, &sums, &parts);
	if (err)
		return err;
	for (i = 0; i < gate->nr; i++) {
		struct sums now = i ? parts[i - 1].sums : sums;

		now.soft[SOFT_ELAPSED] = nanoseconds(gate->now);
		if (closed)
			gate->since[i] = now;
		else
			add_left_out(gate, i, &now);
	}
	gate->closed = closed;
	gate->opened |= !closed;
	return 0;
}

/* ---- commands -------------------------------------------------------------------------- */

/* A reader that is not there loses the answer; perfex does not wait for it. */
static void acknowledge(const struct gate *gate)
{
	if (gate->ack >= 0 && write(gate->ack, "ack\n", 4) != 4)
		fputs("perfex: cannot write to the second file of --control\n", stderr);
}

static int obey(struct gate *gate, const char *command, gate_read_fn *read, void *arg)
{
	int err = 0;

	if (!strcmp(command, "enable")) {
		/* A command overrides -D. */
		gate->opens_at = -1;
		err = set_closed(gate, false, read, arg);
	} else if (!strcmp(command, "disable")) {
		gate->opens_at = -1;
		err = set_closed(gate, true, read, arg);
	} else if (strcmp(command, "ping")) {
		if (*command)
			fprintf(stderr, "perfex: --control got '%s', and knows enable, disable and ping only\n",
				command);
		return 0;
	}
	if (!err)
		acknowledge(gate);
	return err;
}

/* A line that is too long is no command: its end is dropped. */
static int take_byte(struct gate *gate, char c, gate_read_fn *read, void *arg)
{
	if (c && c != '\n') {
		if (gate->length < sizeof(gate->line) - 1)
			gate->line[gate->length++] = c;
		return 0;
	}
	gate->line[gate->length] = '\0';
	gate->length = 0;
	replace_controls(gate->line);
	return obey(gate, gate->line, read, arg);
}

/* True if there is input, also at its end. */
static bool has_input(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int take_commands(struct gate *gate, gate_read_fn *read_sums, void *arg)
{
	char buf[256];
	ssize_t n, i;
	int err = 0;

	while (!err && gate->control >= 0 && has_input(gate->control)) {
		n = read(gate->control, buf, sizeof(buf));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		/* The writer of a pipe has gone: there are no more commands. */
		if (n <= 0) {
			if (gate->opened_ack)
				close(gate->control);
			gate->control = -1;
			break;
		}
		for (i = 0; !err && i < n; i++)
			err = take_byte(gate, buf[i], read_sums, arg);
	}
	return err;
}

int gate_step(struct gate *gate, double now, gate_read_fn *read, void *arg)
{
	int err;

	if (!gate || !gate->used)
		return 0;
	gate->now = now;
	if (gate->opens_at >= 0 && now >= gate->opens_at) {
		gate->opens_at = -1;
		err = set_closed(gate, false, read, arg);
		if (err)
			return err;
	}
	return take_commands(gate, read, arg);
}

double gate_next(const struct gate *gate)
{
	return gate && gate->used ? gate->opens_at : -1;
}

int gate_fd(const struct gate *gate)
{
	return gate && gate->used ? gate->control : -1;
}

void gate_subtract(const struct gate *gate, struct sums *sums, struct part *parts)
{
	struct sums closed;
	unsigned int i;

	if (!gate->used)
		return;
	for (i = 0; i < (parts ? gate->nr : 1); i++) {
		struct sums *now = i ? &parts[i - 1].sums : sums;

		closed = gate->left_out[i];
		if (gate->closed) {
			const struct sums d = difference(now, &gate->since[i]);

			sums_add(&closed, &d);
		}
		sums_subtract(now, &closed);
	}
}
