// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --sample: the command's first thread counts with an i-mode counter, and the
 * kernel puts its overflows into a ring.  perfex moves them into a file, together with
 * the mappings of the process, which can be read only while it lives.
 *
 * The command runs under ptrace: it stops when it has executed a file and when it is
 * about to end.  Its mappings are read at these stops, so a short run has them, too.
 * They are also read each time perfex moves samples from the ring, after the number
 * of samples is known.  So they include the code of these samples, unless it has been
 * unmapped since.  Where ptrace is not permitted, mappings are read only then.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perfex.h"
#include "sample-file.h"

/* A third of a second at 100000 samples per second, which a file can take. */
#define RING_SAMPLES	32768
#define RING_WATERMARK	(RING_SAMPLES / 4)

/* Milliseconds: a program maps files when it begins, and seldom later. */
#define FIRST_LOOK	1
#define LAST_LOOK	256

#define MAX_SAMPLE_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"

struct mapping {
	uint64_t start, end, offset;
	char *path;
};

struct mappings {
	struct mapping *map;
	unsigned int nr, room;
};

struct session {
	struct running run;
	struct vperfctr *v;
	FILE *out;
	struct mappings known;	/* written, and still mapped */
	uint64_t nrsamples;
	bool traced;
	bool started;		/* the command has been executed */
	bool failed;		/* no more is written; the command runs on */
	bool ended;
	int wstatus;
	int look_again;		/* milliseconds, or -1 */
};

/* ---- the argument of --sample ----------------------------------------------------- */

/* Return: "100", "100k", "2M" or "1G" as a number; 0 if it is none. */
static uint64_t parse_period(const char *text)
{
	static const struct { char suffix; uint64_t factor; } factors[] = {
		{ 'k', 1000 }, { 'K', 1000 }, { 'M', 1000000 }, { 'G', 1000000000 },
	};
	uint64_t n, factor = 1;
	char *end;
	size_t i;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	for (i = 0; i < ARRAY_SIZE(factors); i++)
		if (*end == factors[i].suffix && !end[1]) {
			factor = factors[i].factor;
			end++;
			break;
		}
	/* A number that does not fit is too large for any counter. */
	if (errno || __builtin_mul_overflow(n, factor, &n))
		n = UINT64_MAX;
	return *end ? 0 : n;
}

int sample_parse(struct sample_spec *spec, const char *arg, struct error *e)
{
	/* The last one: names can have others. */
	const char *equals = strrchr(arg, '=');
	size_t len = equals ? (size_t)(equals - arg) : 0;

	if (!len)
		return fail_with(e, "--sample needs EVENT=PERIOD, as in instructions:u=100k, not '%.80s'", arg);
	if (len >= sizeof(spec->event))
		return fail_with(e, "the event name '%.40s...' is too long", arg);
	memcpy(spec->event, arg, len);
	spec->event[len] = '\0';
	if (strchr(spec->event, ','))
		return fail_with(e, "--sample takes one event, not '%.80s'", spec->event);
	spec->period = parse_period(equals + 1);
	if (!spec->period)
		return fail_with(e, "'%.80s' is not a period: it is a number of events, from 1 on, as in 5000, 100k or 2M",
				 equals + 1);
	return 0;
}

static int check_period(uint64_t period, const struct vperfctr_info *info, struct error *e)
{
	char buf[THOUSANDS_LEN];

	if (!(info->features & VPERFCTR_FEATURE_PCINT) || !info->max_period)
		return fail_with(e, "this processor (%.*s), or the module on it, has no overflow interrupts, so there are no samples",
				 (int)sizeof(info->cpu_name), info->cpu_name);
	if (period < info->min_period)
		return fail_with(e, "the period is too small: %s is the smallest on this processor",
				 thousands(buf, info->min_period));
	if (period > info->max_period)
		return fail_with(e, "the period is too large: %s is the largest on this processor",
				 thousands(buf, info->max_period));
	return 0;
}

/* ---- records ------------------------------------------------------------------------ */

static void write_record(FILE *out, unsigned int type, const void *data, size_t len,
			 const char *text)
{
	static const char zeros[8];
	size_t text_len = text ? strlen(text) + 1 : 0;
	size_t pad = -(len + text_len) % sizeof(zeros);
	struct record r = { type, (uint32_t)(sizeof(r) + len + text_len + pad) };

	fwrite(&r, sizeof(r), 1, out);
	if (len)
		fwrite(data, len, 1, out);
	if (text_len)
		fwrite(text, text_len, 1, out);
	if (pad)
		fwrite(zeros, pad, 1, out);
}

static void write_header(FILE *out, const struct vperfctr_event *event, uint64_t period,
			 const struct vperfctr_ctr *ctr, const struct vperfctr_info *info)
{
	struct samples_header_v1 h = {
		.version = SAMPLES_VERSION_1,
		.size = sizeof(h),
		.period = period,
		.evntsel = ctr->evntsel,
		.map = ctr->map,
		.cpu_type = info->cpu_type,
		.tsc_khz = info->tsc_khz,
	};

	memcpy(h.magic, SAMPLES_MAGIC, sizeof(h.magic));
	snprintf(h.event, sizeof(h.event), "%s", event->name);
	snprintf(h.cpu_name, sizeof(h.cpu_name), "%.*s", (int)sizeof(info->cpu_name),
		 info->cpu_name);
	fwrite(&h, sizeof(h), 1, out);
}

static void write_command(FILE *out, char **argv)
{
	char *text = NULL;
	size_t size, i;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return;
	for (i = 0; argv[i] && ftell(f) < 4096; i++)
		fprintf(f, "%s%.4096s", i ? " " : "", argv[i]);
	fclose(f);
	write_record(out, RECORD_COMMAND, NULL, 0, text);
	free(text);
}

/* ---- mappings ---------------------------------------------------------------------- */

static void forget_mappings(struct mappings *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		free(m->map[i].path);
	free(m->map);
	memset(m, 0, sizeof(*m));
}

static bool mapping_is_known(const struct mappings *known, const struct mapping *map)
{
	unsigned int i;

	for (i = 0; i < known->nr; i++) {
		const struct mapping *k = &known->map[i];

		if (k->start == map->start && k->end == map->end && k->offset == map->offset &&
		    !strcmp(k->path, map->path))
			return true;
	}
	return false;
}

static bool add_mapping(struct mappings *m, const struct mapping *map)
{
	struct mapping *new;

	if (m->nr == m->room) {
		new = reallocarray(m->map, m->room + 64, sizeof(*new));
		if (!new)
			return false;
		m->map = new;
		m->room += 64;
	}
	m->map[m->nr++] = *map;
	return true;
}

/* Parse a line of /proc/PID/maps.  Return: whether the mapping is executable. */
static bool parse_mapping(struct mapping *map, char *line)
{
	char perms[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
		   &map->start, &map->end, perms, &map->offset, &path) < 4 || !path)
		return false;
	map->path = line + path;
	return perms[2] == 'x';
}

static void write_mapping(FILE *out, const struct mapping *map)
{
	struct record_mapping_v1 r = { map->start, map->end, map->offset };

	write_record(out, RECORD_MAPPING_V1, &r, sizeof(r), map->path);
}

/* Write new mappings.  A process that has ended has none, which changes nothing. */
static void read_mappings(struct session *s)
{
	struct mappings now = { 0 };
	struct mapping map;
	char path[64], *line = NULL;
	size_t size = 0;
	FILE *f;

	snprintf(path, sizeof(path), PROC "/%d/maps", (int)s->run.pid);
	f = fopen(path, "re");
	if (!f)
		return;
	while (getline(&line, &size, f) > 0) {
		if (!parse_mapping(&map, line))
			continue;
		if (!mapping_is_known(&s->known, &map))
			write_mapping(s->out, &map);
		map.path = strdup(map.path);
		if (!map.path || !add_mapping(&now, &map))
			free(map.path);
	}
	free(line);
	fclose(f);
	if (!now.nr)
		return;
	forget_mappings(&s->known);
	s->known = now;
}

/* ---- samples ------------------------------------------------------------------------ */

/* Move the nr oldest samples from the ring into the file. */
static int write_samples(struct session *s, uint64_t nr, struct error *e)
{
	struct record_sample_v1 buf[MAX_SAMPLES_AT_ONCE];
	uint64_t i, n, taken;
	int err;

	for (; nr; nr -= n) {
		taken = 0;
		n = nr < MAX_SAMPLES_AT_ONCE ? nr : MAX_SAMPLES_AT_ONCE;
		for (i = 0; i < n; i++) {
			const struct vperfctr_sample *sample = vperfctr_ring_sample(s->v, i);

			if (sample->type != VPERFCTR_SAMPLE_OVERFLOW)
				continue;
			buf[taken++] = (struct record_sample_v1){
				.ip = sample->ip,
				.tsc = sample->tsc,
				.overflow = (uint32_t)sample->overflow,
				.dropped = sample->dropped < UINT32_MAX ?
					   (uint32_t)sample->dropped : UINT32_MAX,
			};
		}
		err = vperfctr_ring_consume(s->v, n);
		if (err)
			return fail_with(e, "cannot read samples: %s", strerror(-err));
		if (taken)
			write_record(s->out, RECORD_SAMPLES_V1, buf, taken * sizeof(buf[0]), NULL);
		s->nrsamples += taken;
	}
	return 0;
}

static int drain_ring(struct session *s, struct error *e)
{
	uint64_t nr = vperfctr_ring_nr(s->v);

	if (s->failed)
		return 0;
	if (!s->started)
		return 0;
	/* After the number of samples is known: see above. */
	read_mappings(s);
	return write_samples(s, nr, e);
}

/* Samples that are in the ring belong to the program that was executed before. */
static int handle_exec(struct session *s, struct error *e)
{
	if (s->failed)
		return 0;
	if (s->started && write_samples(s, vperfctr_ring_nr(s->v), e))
		return -1;
	forget_mappings(&s->known);
	write_record(s->out, RECORD_EXEC_V1, NULL, 0, NULL);
	s->started = true;
	s->look_again = FIRST_LOOK;
	read_mappings(s);
	return 0;
}

/* ---- the command's life ---------------------------------------------------------------- */

static bool is_stop_signal(int sig)
{
	return sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;
}

/* status: of waitid(): a signal, and an event in the bits above. */
static int handle_stop(struct session *s, int status, struct error *e)
{
	long sig = status & 0x7f;
	int err = 0;

	switch (status >> 8) {
	case PTRACE_EVENT_EXEC:
		err = handle_exec(s, e);
		sig = 0;
		break;
	case PTRACE_EVENT_EXIT:
		err = drain_ring(s, e);
		sig = 0;
		break;
	case PTRACE_EVENT_STOP:
		/* Job control stops it, so it must remain stopped. */
		if (is_stop_signal((int)sig)) {
			ptrace(PTRACE_LISTEN, s->run.pid, 0, 0);
			return 0;
		}
		sig = 0;
		break;
	default:
		/* A signal that it is about to receive. */
		break;
	}
	ptrace(PTRACE_CONT, s->run.pid, 0, sig);
	return err;
}

static int handle_changes(struct session *s, struct error *e)
{
	const id_t pid = (id_t)s->run.pid;
	siginfo_t info;
	int err = 0;

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_PID, pid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) ||
		    !info.si_pid)
			return err;
		/* The caller reaps it, together with its resource usage. */
		if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED) {
			s->ended = true;
			return err;
		}
		/* If it has been killed meanwhile, there is no stop any more. */
		info.si_pid = 0;
		if (!waitid(P_PID, pid, &info, WSTOPPED | WNOHANG | __WALL) && info.si_pid)
			err |= handle_stop(s, info.si_status, e);
	}
}

/* The child has executed the command, or has failed to. */
static int handle_start(struct session *s, struct error *e)
{
	if (run_await_exec(&s->run, e))
		return -1;
	return s->traced ? 0 : handle_exec(s, e);
}

static int wait_and_handle(struct session *s, struct pollfd *fds, struct error *e)
{
	struct timespec ts = { .tv_sec = s->look_again / 1000,
			       .tv_nsec = s->look_again % 1000 * 1000000L };
	struct signalfd_siginfo info;
	int ret, err = 0;

	ret = ppoll(fds, 3, s->look_again >= 0 ? &ts : NULL, NULL);
	if (ret < 0)
		return errno == EINTR ? 0 : fail_with(e, "cannot wait: %s", strerror(errno));
	if (!ret && s->look_again < LAST_LOOK)
		s->look_again *= 2;
	while (read(fds[0].fd, &info, sizeof(info)) > 0)
		;
	if (fds[2].revents) {
		err = handle_start(s, e);
		fds[2].fd = -1;
	}
	if (!ret || fds[1].revents)
		err |= drain_ring(s, e);
	/* Counting has ended; the command may still run. */
	if (fds[1].revents & (POLLHUP | POLLERR))
		fds[1].fd = -1;
	return handle_changes(s, e) | err;
}

/* Follow the command until it has ended, even if something fails here. */
static int follow_command(struct session *s, struct error *e)
{
	struct pollfd fds[3] = {
		{ .events = POLLIN },
		{ .fd = vperfctr_fd(s->v), .events = POLLIN },
		{ .fd = s->run.sock, .events = POLLIN },
	};
	struct error later;
	sigset_t chld;
	int err = 0;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	fds[0].fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fds[0].fd < 0)
		return fail_with(e, "cannot wait for signals: %s", strerror(errno));
	while (!s->ended) {
		if (wait_and_handle(s, fds, err ? &later : e)) {
			err = -1;
			s->failed = true;
		}
	}
	close(fds[0].fd);
	return err;
}

static int finish_recording(struct session *s, struct error *e)
{
	struct record_end_v1 end = { 0 };
	struct counts c;
	int err;

	/* After the last stop there may be samples of a signal's delivery. */
	if (write_samples(s, vperfctr_ring_nr(s->v), e))
		return -1;
	err = counts_read(s->v, s->run.control, &c);
	if (err)
		return fail_with(e, "cannot read the counters: %s", strerror(-err));
	end.samples = s->nrsamples;
	end.dropped = vperfctr_ring_dropped(s->v);
	end.count = c.own.pmc[0];
	end.tsc = c.own.tsc;
	end.elapsed = (uint64_t)(seconds_since(&s->run.start) * 1e9);
	write_record(s->out, RECORD_END, &end, sizeof(end), NULL);
	return 0;
}

/* ---- recording ----------------------------------------------------------------------------- */

/* Return: the greatest number with one digit and zeros that is not above n; at least 1. */
static uint64_t round_down(uint64_t n)
{
	uint64_t power = 1;

	while (n / power >= 10)
		power *= 10;
	return n ? n / power * power : 1;
}

#define ENOUGH_SAMPLES	1000

/* If there are so few samples that the file says nothing, print what to do about it. */
static void print_advice(uint64_t samples, uint64_t dropped, uint64_t count, double seconds,
			 const struct vperfctr_event *event, const struct sample_spec *spec)
{
	char a[THOUSANDS_LEN], b[THOUSANDS_LEN];
	uint64_t overflows = samples + dropped, period;
	int rate = read_number(MAX_SAMPLE_RATE);

	if (!samples && !dropped) {
		if (!count)
			fprintf(stderr, "perfex: no samples: the command's first thread had no %s; 'perfex -e %s ...' counts its other threads and children, too\n",
				event->name, event->name);
		else
			fprintf(stderr, "perfex: no samples: there were only %s %s: use a shorter period, as in --sample %s=%" PRIu64 "\n",
				thousands(a, count), event->name, spec->event,
				round_down(count / ENOUGH_SAMPLES));
	} else if (dropped > samples) {
		/* One and a half times the period at which none would be dropped. */
		period = spec->period;
		if (__builtin_mul_overflow(period, overflows / (samples ? samples : 1) * 3 / 2 + 1,
					   &period))
			period = UINT64_MAX;
		fprintf(stderr, "perfex: %s of %s overflows gave no sample: use a longer period, as in --sample %s=%" PRIu64,
			thousands(a, dropped), thousands(b, overflows), spec->event,
			round_down(period));
		if (rate > 0 && seconds > 0 && (double)overflows / seconds > rate)
			fprintf(stderr, "; the module's parameter max_sample_rate allows %d samples per second",
				rate);
		fputc('\n', stderr);
	}
}

static void print_summary(const struct session *s, const struct counts *c, const char *name,
			  const struct events *events, const struct vperfctr_info *info,
			  const struct rusage *usage, const struct sample_spec *spec)
{
	char samples[THOUSANDS_LEN], dropped[THOUSANDS_LEN], count[THOUSANDS_LEN];
	double thread = info->tsc_khz ? (double)c->own.tsc / (info->tsc_khz * 1e3) : 0;
	double cpu_time = run_cpu_time(usage);

	fprintf(stderr, "perfex: %s samples in '%s', %s dropped; %s %s in all\n",
		thousands(samples, s->nrsamples), name,
		thousands(dropped, vperfctr_ring_dropped(s->v)),
		thousands(count, c->own.pmc[0]), events->ev[0].name);
	print_advice(s->nrsamples, vperfctr_ring_dropped(s->v), c->own.pmc[0], thread,
		     &events->ev[0], spec);
	if (info->tsc_khz && cpu_time > thread * 1.05 + 0.01)
		fprintf(stderr, "perfex: %.3f s of other threads and children are not sampled\n",
			cpu_time - thread);
}

/* Context: before the command is executed, so that a failure can prevent that. */
static int map_ring(struct session *s, struct error *e)
{
	int err;

	err = vperfctr_open_fd(&s->v, s->run.fd, 0);
	if (err) {
		close(s->run.fd);
		return fail_with(e, "cannot use the counters' descriptor: %s", strerror(-err));
	}
	err = vperfctr_ring_map(s->v, s->run.map_size);
	return err ? fail_ring(e, err) : 0;
}

static int record_command(struct session *s, struct vperfctr_ring *ring, struct rusage *usage,
			  struct error *e)
{
	sigset_t chld, old;
	int err, ended;

	if (run_start(&s->run, ring, e))
		return -1;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);

	err = map_ring(s, e);
	if (!err) {
		s->traced = !ptrace(PTRACE_SEIZE, s->run.pid, 0,
				    PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT);
		run_go(&s->run);
		err = follow_command(s, e);
	}
	if (s->run.sock >= 0)
		close(s->run.sock);
	ended = run_await_end(&s->run, &s->wstatus, usage);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!err && ended)
		err = fail_with(e, "cannot wait for the command: %s", strerror(-ended));
	return err ? -1 : finish_recording(s, e);
}

struct choice {
	const struct sample_spec *spec;
	struct kinds kinds;
	struct events events[MAX_KINDS];
	struct vperfctr_ctr ctr[MAX_KINDS][VPERFCTR_MAX_CTRS];
};

/* Return: 0 if CPUs of these kinds can count and sample the event. */
static int choose_event(const struct kinds *kinds, void *arg, struct error *e)
{
	struct choice *c = arg;
	unsigned int k;

	memset(c->events, 0, sizeof(c->events));
	for (k = 0; k < kinds->nr; k++)
		if (check_period(c->spec->period, &kinds->info[k], e) ||
		    events_parse(&c->events[k], c->spec->event, &kinds->info[k], e))
			return -1;
	if (c->events->ev[0].soft)
		return fail_with(e, "'%s' is counted by the kernel, which takes no samples of it here: sample an event of the processor, or use perf record",
				 c->spec->event);
	return assign_counters(c->events, kinds->info, kinds->nr, c->ctr, e);
}

static void make_control(struct vperfctr_control *control, struct vperfctr_ctr *ctr,
			 const struct choice *c)
{
	unsigned int k;

	vperfctr_control_init(control, ctr);
	control->kind = c->kinds.info[0].kind;
	vperfctr_control_add_ctr_imode(control, &c->ctr[0][0], c->spec->period);
	for (k = 1; k < c->kinds.nr; k++)
		vperfctr_control_add_kind(control, &c->ctr[k][0]);
	control->flags = VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_RING;
}

int sample_command(const struct sample_spec *spec, char **argv, FILE *out, const char *name,
		   bool verbose, struct error *e)
{
	struct vperfctr_ring ring = { .nrsamples = RING_SAMPLES, .watermark = RING_WATERMARK };
	struct choice choice = { .spec = spec };
	const struct vperfctr_info *info = choice.kinds.info;
	const struct events *events = choice.events;
	const struct targets none = { .nr = 0 };
	struct vperfctr_ctr ctr[MAX_KINDS];
	struct session s = { .out = out, .look_again = -1 };
	struct vperfctr_control control;
	struct rusage usage;
	struct counts c;
	int err;

	if (kind_choose(spec->kind, &none, &choice.kinds, choose_event, &choice, e) < 0)
		return -1;
	if (verbose)
		print_control(stderr, events, &choice.kinds, choice.ctr);
	make_control(&control, ctr, &choice);
	ring.flags = (events->ev[0].modes & VPERFCTR_MODE_KERNEL) ? VPERFCTR_RING_KERNEL : 0;

	write_header(out, &events->ev[0], spec->period, ctr, info);
	write_command(out, argv);
	s.run = (struct running){ .argv = argv, .control = &control };
	err = record_command(&s, &ring, &usage, e);
	if (!err && !counts_read(s.v, &control, &c)) {
		print_summary(&s, &c, name, events, info, &usage, spec);
		err = counts_check(&c, e);
		if (!err && !counts_any(&c))
			err = fail_with(e, "the command was not counted");
	}
	forget_mappings(&s.known);
	vperfctr_close(s.v);
	return err ? -1 : run_status(s.wstatus);
}
