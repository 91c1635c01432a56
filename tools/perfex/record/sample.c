// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --sample: the command and what it starts count with i-mode counters, and the
 * kernel puts all their overflows into one ring.  perfex moves them into a file, together
 * with the ring's records of what the threads did: forks, execs, names and mappings.
 * Without such records perfex reads /proc when it finds samples of a process.
 *
 * With -p and -t there is a ring for each process or thread.  With -a and -C there is one ring
 * for all CPUs, without such records.
 *
 * Where the module cannot sample, perf_event does, into buffers of each CPU.  So there are two
 * sources of samples: see struct source.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpus.h"
#include "output.h"
#include "perf-count.h"
#include "perf-data.h"
#include "recording.h"

/*
 * A fifth of a second of 64 threads with 10000 samples per second each, which a file can
 * take.  Chains make samples larger: the end of a ring of more than 32 MB disturbs.
 */
#define RING_SAMPLES	131072
#define RING_BYTES	(24U << 20)

/* Calls in the kernel of samples that have stacks. */
#define KERNEL_DEPTH	64

/* Milliseconds, at most, without a look at the ring. */
#define LOOK_INTERVAL	50

#define MAX_SAMPLE_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"

struct recorder;

/* Where samples come from until they are in the file: the module or perf_event. */
struct source {
	bool monotonic;		/* their times are those of CLOCK_MONOTONIC */
	/*
	 * Find the buffers of a handle that is about to sample.
	 * Return: 0, or -1 with *e
	 */
	int (*add)(struct recorder *r, struct vperfctr *v, struct error *e);
	/* Make the handle of a command that waits for run_go(). */
	int (*begin)(struct recorder *r, const struct running *run, struct vperfctr **v,
		     struct error *e);
	/* Move all samples until now into the file.  last: there are no more. */
	int (*drain)(struct recorder *r, struct vperfctr *v, bool last, struct error *e);
	/* Return: a descriptor that is ready when there are many samples. */
	int (*fd)(const struct recorder *r, const struct vperfctr *v);
};

/* perf_event's buffers of the samples of a handle. */
struct feed {
	const struct vperfctr *v;
	struct perf_rings *rings;
};

/* The recorder writes the file. */
struct recorder {
	struct recording rec;
	const struct source *source;
	const struct choice *choice;
	struct perf_count perf;
	struct feed feeds[MAX_TARGETS];
	unsigned int nrfeeds, nrtargets;
	/* The beginning of the file, which is written when samples are about to come. */
	char *head;
	size_t head_size;
	const struct error *module;	/* why the module takes none; NULL: there is nothing to say */
};

struct session {
	struct running run;
	struct vperfctr *v;
	struct recorder *recorder;
	int signals;		/* a descriptor of SIGCHLD; -1: none */
	bool started;		/* the command has been executed */
	bool failed;		/* no more is written; the command runs on */
	bool ended;
	int wstatus;
};

/* ---- the argument of --sample ----------------------------------------------------- */

/* The event whose samples need no counter, and that of CPUs, which perf_event has. */
#define CLOCK		"task-clock"
#define CPU_CLOCK	"cpu-clock"

/* Return: "100", "100k", "2M" or "1G", and if it is a time "50us", as a number; 0 if it is none. */
static uint64_t parse_period(const char *text, bool time)
{
	static const struct { const char *suffix; uint64_t factor; bool time; } factors[] = {
		{ "k", 1000, false }, { "K", 1000, false }, { "M", 1000000, false },
		{ "G", 1000000000, false }, { "ns", 1, true }, { "us", 1000, true },
		{ "ms", 1000000, true }, { "s", 1000000000, true },
	};
	uint64_t n, factor = 1;
	char *end;
	size_t i;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	n = strtoull(text, &end, 10);
	for (i = 0; i < ARRAY_SIZE(factors); i++)
		if (!strcmp(end, factors[i].suffix) && (time || !factors[i].time)) {
			factor = factors[i].factor;
			end += strlen(end);
			break;
		}
	/* A number that does not fit is too large for any counter. */
	if (errno || __builtin_mul_overflow(n, factor, &n))
		n = UINT64_MAX;
	return *end ? 0 : n;
}

/* Return: what follows the name of the clock: ":", and perf's modes, or nothing; NULL: no clock */
static const char *clock_modes(const char *name)
{
	static const char *const names[] = { CLOCK, CPU_CLOCK };
	const char *rest;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		rest = name + strlen(names[i]);
		if (!strncmp(name, names[i], strlen(names[i])) &&
		    (!*rest || (*rest == ':' && rest[1] && !rest[1 + strspn(rest + 1, "ukpPGHDS")])))
			return rest;
	}
	return NULL;
}

static bool is_clock(const char *name)
{
	return clock_modes(name);
}

/* Write EVENT/period=N/MODES as EVENT:MODES=N.  Return: 0, or -1 with *e: it has other settings */
static int rewrite_settings(char *buf, size_t size, const char *arg, struct error *e)
{
	const char *slash = strchr(arg, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;
	const char *number = slash ? slash + 1 + strlen("period=") : NULL;

	if (!end || strncmp(slash + 1, "period=", strlen("period=")) ||
	    !isdigit((unsigned char)*number) || number + strspn(number, "0123456789") != end ||
	    snprintf(buf, size, "%.*s%s%s=%.*s", (int)(slash - arg), arg, end[1] ? ":" : "", end + 1,
		     (int)(end - number), number) >= (int)size)
		return fail_with(e, "'%.80s': of perf's settings of an event, perfex record takes its period (cycles/period=100000/): -F and -g are those of all",
				 arg);
	return 0;
}

/* Parse EVENT[=PERIOD].  The last "=" counts: names can have others. */
static int parse_event(struct sample_event *event, const char *arg, struct error *e)
{
	char rewritten[sizeof(event->name) + 32];
	const char *equals = strrchr(arg, '=');
	size_t len;

	/* Not a unit's: cpu/instructions/u */
	if (equals && strchr(arg, '/')) {
		if (rewrite_settings(rewritten, sizeof(rewritten), arg, e))
			return -1;
		arg = rewritten;
		equals = strrchr(arg, '=');
	}
	len = equals ? (size_t)(equals - arg) : strlen(arg);
	if (!len)
		return fail_with(e, "-e needs EVENT or EVENT=PERIOD, as in instructions:u=100k, not '%.80s'",
				 arg);
	if (len >= sizeof(event->name))
		return fail_with(e, "the event name '%.40s...' is too long", arg);
	memcpy(event->name, arg, len);
	event->name[len] = '\0';
	event->period = equals ? parse_period(equals + 1, is_clock(event->name)) : 0;
	if (equals && !event->period && is_clock(event->name))
		return fail_with(e, "'%.80s' is not a period: it is a time, as in 50us or 1ms; without a unit, in nanoseconds",
				 equals + 1);
	if (equals && !event->period)
		return fail_with(e, "'%.80s' is not a period: it is a number of events, from 1 on, as in 5000, 100k or 2M",
				 equals + 1);
	return 0;
}

int sample_parse(struct sample_spec *spec, const char *arg, struct error *e)
{
	char *copy = strdup(arg), *rest = copy, *one;
	int err = 0;

	if (!copy)
		return fail_with(e, "out of memory");
	while (!err && (one = strsep(&rest, ","))) {
		if (spec->nr == ARRAY_SIZE(spec->event))
			err = fail_with(e, "too many events for perfex record: %zu at most",
					ARRAY_SIZE(spec->event));
		else
			err = parse_event(&spec->event[spec->nr++], one, e);
	}
	free(copy);
	return err;
}

static bool has_interrupts(const struct vperfctr_info *info)
{
	return info->features & VPERFCTR_FEATURE_PCINT && info->max_period;
}

static int check_period(uint64_t period, const struct vperfctr_info *info, struct error *e)
{
	char buf[THOUSANDS_LEN];

	if (period < info->min_period)
		return fail_with(e, "the period is too small: %s is the smallest on this processor",
				 thousands(buf, info->min_period));
	if (period > info->max_period)
		return fail_with(e, "the period is too large: %s is the largest on this processor",
				 thousands(buf, info->max_period));
	return 0;
}

/* ---- events and periods --------------------------------------------------------------- */

struct choice {
	const struct count_options *counting;
	const struct showing *show;
	const struct sample_spec *spec;
	struct kinds kinds;
	struct events events[MAX_KINDS];
	struct vperfctr_ctr ctr[MAX_KINDS][VPERFCTR_MAX_CTRS];
	uint64_t period[VPERFCTR_MAX_CTRS];
	unsigned int rate;	/* samples per second, to which the kernel adapts periods; or 0 */
	bool cpus;		/* samples of CPUs, and not of threads */
	bool clock;		/* the event is thread time, and the period a time */
	bool chosen;		/* an event or a period that the user did not say */
	bool perf;		/* perf_event takes the samples */
	const struct error *module;	/* why the module does not, or NULL */
};

static int refuse_soft(const char *name, struct error *e)
{
	fail_with(e, "'%s' is counted by the kernel, which takes no samples of it here: sample an event of the processor, or use perf record",
		  name);
	e->of_both = true;
	return -1;
}

/* Refuse what no processor would make samples of, whether this one does or not. */
static int refuse_other_events(const struct vperfctr_info *info, const struct choice *c,
			       struct error *e)
{
	const struct sample_spec *spec = c->spec;
	struct events events;
	struct error why;
	unsigned int i;

	for (i = 0; i < spec->nr; i++) {
		memset(&events, 0, sizeof(events));
		if (!events_parse(&events, spec->event[i].name, info, &why)) {
			if (events.ev[0].soft && !is_time(&events.ev[0]))
				return refuse_soft(spec->event[i].name, e);
		} else if (strstr(why.text, "use perf ")) {
			*e = why;
			e->of_both = true;
			return -1;
		}
	}
	return 0;
}

static int check_interrupts(const struct vperfctr_info *info, const struct choice *c,
			    struct error *e)
{
	const bool clock = !c->cpus;

	if (has_interrupts(info))
		return 0;
	if (refuse_other_events(info, c, e))
		return -1;
	if (c->perf)
		return fail_with(e, "there is no PMU, as in many virtual machines, so there are no samples but of %s",
				 c->cpus ? CPU_CLOCK : CLOCK);
	fail_with(e, "this processor (%.*s), or the module on it, has no overflow interrupts, so there are no samples%s",
			 (int)sizeof(info->cpu_name), info->cpu_name,
			 clock && info->features & VPERFCTR_FEATURE_CLOCK ? " but of " CLOCK : "");
	e->unusable = true;
	return -1;
}

/* Without -e, perfex samples threads by the first of these events that the processor has. */
static const char *const usual_events[] = {
	"cycles:u", "instructions:u", "ref-cycles:u", "branches:u",
};

/* Without -e, perfex samples CPUs by one of these, in user mode and in the kernel. */
static const char *const usual_events_of_cpus[] = {
	"cycles", "instructions", "ref-cycles", "branches",
};

/* About that many samples are taken per second if the user does not say a period. */
#define SAMPLES_PER_SECOND	2000

/* How many cycles pass for one of these events in usual programs, roughly. */
static uint64_t cycles_for(const struct vperfctr_event *event)
{
	switch (event->arch) {
	case VPERFCTR_EVENT_CYCLES:
	case VPERFCTR_EVENT_REF_CYCLES:
	case VPERFCTR_EVENT_INSTRUCTIONS:
		return 1;
	case VPERFCTR_EVENT_BRANCHES:
		return 5;
	case VPERFCTR_EVENT_CACHE_REFS:
		return 50;
	case VPERFCTR_EVENT_CACHE_MISSES:
	case VPERFCTR_EVENT_BRANCH_MISSES:
		return 200;
	default:
		return 20;
	}
}

static bool is_prime(uint64_t n)
{
	uint64_t i;

	for (i = 2; i * i <= n; i++)
		if (n % i == 0)
			return false;
	return n > 1;
}

/*
 * The kernel only makes periods longer.  So the shortest one is enough for events that are RARER
 * times rarer than cycles_for() says.
 */
#define RARER		256
#define SHORTEST	251

/* A prime: a loop of the program must not meet the same instruction in each period. */
static uint64_t usual_period(const struct vperfctr_event *event, const struct vperfctr_info *info,
			     unsigned int rate)
{
	uint64_t hz = info->tsc_khz ? info->tsc_khz * UINT64_C(1000) : 1000000000;
	uint64_t period = hz / SAMPLES_PER_SECOND / cycles_for(event);

	if (rate)
		period = hz / rate / cycles_for(event) / RARER;
	if (rate && period < SHORTEST)
		period = SHORTEST;
	if (period < info->min_period)
		period = info->min_period;
	while (!is_prime(period))
		period++;
	return period < info->max_period ? period : info->max_period;
}

static int choose_usual_event(struct choice *c, const struct kinds *kinds, struct error *e)
{
	const char *const *names = c->cpus ? usual_events_of_cpus : usual_events;
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(usual_events); i++) {
		memset(c->events, 0, sizeof(c->events));
		for (k = 0; k < kinds->nr; k++)
			if (events_parse(&c->events[k], names[i], &kinds->info[k], e))
				break;
		if (k == kinds->nr)
			return 0;
	}
	return -1;
}

static int choose_asked_events(struct choice *c, const struct kinds *kinds, struct error *e)
{
	const struct sample_spec *spec = c->spec;
	unsigned int i, k;

	for (k = 0; k < kinds->nr; k++)
		for (i = 0; i < spec->nr; i++) {
			if ((spec->event[i].period &&
			     check_period(spec->event[i].period, &kinds->info[k], e)) ||
			    events_parse(&c->events[k], spec->event[i].name, &kinds->info[k], e))
				return -1;
			if (is_time(&c->events[k].ev[i]))
				return fail_with(e, "'%s' is for perfex stat: leave it out here",
						 spec->event[i].name);
			if (c->events[k].ev[i].soft)
				return refuse_soft(spec->event[i].name, e);
		}
	return 0;
}

/* True if samples by thread time are asked for, or if there are no others. */
static bool needs_clock(const struct sample_spec *spec, const struct vperfctr_info *info)
{
	unsigned int i;

	for (i = 0; i < spec->nr; i++)
		if (is_clock(spec->event[i].name))
			return true;
	return !spec->nr && !has_interrupts(info) && info->features & VPERFCTR_FEATURE_CLOCK;
}

/* Nanoseconds, prime for the same reason as usual_period(). */
#define USUAL_CLOCK	500009

static uint64_t clock_period(const struct sample_spec *spec)
{
	uint64_t period = spec->nr ? spec->event[0].period : 0;

	if (period)
		return period;
	if (!spec->rate)
		return USUAL_CLOCK;
	/* The time of a period is known: the kernel need not adapt it. */
	period = UINT64_C(1000000000) / spec->rate;
	return period > VPERFCTR_CLOCK_MIN ? period : VPERFCTR_CLOCK_MIN;
}

/* The name of the clock that is sampled. */
static const char *clock_name(const struct choice *c)
{
	return c->cpus ? CPU_CLOCK : CLOCK;
}

/* Name the clock as it is sampled.  Without a right to the kernel's addresses, only user mode is. */
static void name_clock(struct choice *c)
{
	struct vperfctr_event *event = c->events[0].ev;

	snprintf(event->name, sizeof(event->name), "%s%s", clock_name(c),
		 c->kinds.info->features & VPERFCTR_FEATURE_KERNEL ? "" : ":u");
}

static int refuse_clock(struct error *e)
{
	fail_with(e, CLOCK " is the time of threads: with -a and -C sample an event of the processor, such as cycles");
	e->unusable = true;
	return -1;
}

static int choose_clock(struct choice *c, const struct kinds *kinds, struct error *e)
{
	uint64_t period = clock_period(c->spec);
	const char *modes = c->spec->nr ? clock_modes(c->spec->event[0].name) : "";
	char buf[THOUSANDS_LEN];
	unsigned int k;

	if (modes && strchr(modes, 'k') && !strchr(modes, 'u'))
		return fail_with(e, "'%s': the clock is sampled in both modes, or in user mode by :u",
				 c->spec->event[0].name);
	if (c->cpus && !c->perf)
		return refuse_clock(e);
	if (!(kinds->info->features & VPERFCTR_FEATURE_CLOCK))
		return fail_with(e, "this module takes no samples of " CLOCK ": install that of this perfex, or sample an event of the processor");
	if (c->spec->nr > 1)
		return fail_with(e, CLOCK " is sampled alone, without other events");
	if (period < VPERFCTR_CLOCK_MIN)
		fail_with(e, "the period is too small: %s ns is the smallest of " CLOCK,
			  thousands(buf, VPERFCTR_CLOCK_MIN));
	else if (period > VPERFCTR_CLOCK_MAX)
		fail_with(e, "the period is too large: %s ns is the largest of " CLOCK,
			  thousands(buf, VPERFCTR_CLOCK_MAX));
	if (period < VPERFCTR_CLOCK_MIN || period > VPERFCTR_CLOCK_MAX) {
		e->of_both = true;
		return -1;
	}
	for (k = 0; k < kinds->nr; k++)
		if (events_parse(&c->events[k], CLOCK, &kinds->info[k], e))
			return -1;
	if (modes && strchr(modes, 'u') && !strchr(modes, 'k'))
		for (k = 0; k < kinds->nr; k++)
			c->kinds.info[k].features &= ~(uint64_t)VPERFCTR_FEATURE_KERNEL;
	if (c->perf)
		name_clock(c);
	c->clock = true;
	c->period[0] = period;
	c->rate = 0;
	c->chosen = !c->spec->nr || !c->spec->event[0].period;
	return 0;
}

/*
 * Choose the events, and check that they can be sampled.  Return: 0 if CPUs of these kinds can
 * count and sample the events.
 */
static int choose_events(const struct kinds *kinds, void *arg, struct error *e)
{
	struct choice *c = arg;
	unsigned int i, k;

	memset(c->events, 0, sizeof(c->events));
	if ((!c->cpus || c->spec->nr || c->perf) && needs_clock(c->spec, kinds->info))
		return choose_clock(c, kinds, e);
	for (k = 0; k < kinds->nr; k++)
		if (check_interrupts(&kinds->info[k], c, e))
			return -1;
	if (c->spec->nr ? choose_asked_events(c, kinds, e) : choose_usual_event(c, kinds, e))
		return -1;
	c->chosen = !c->spec->nr;
	c->rate = c->spec->rate;
	for (i = 0; i < c->events->nr; i++) {
		c->period[i] = c->spec->nr ? c->spec->event[i].period : 0;
		if (c->period[i])
			continue;
		c->chosen = c->chosen || !c->rate;
		/* perf_event makes periods shorter, too. */
		c->period[i] = c->perf && c->rate ? 1 : usual_period(&c->events->ev[i], kinds->info, c->rate);
	}
	return assign_counters(c->events, kinds->info, kinds->nr, c->ctr, e);
}

static void print_choice(const struct choice *c)
{
	char buf[THOUSANDS_LEN];
	unsigned int i;

	if (c->clock) {
		fprintf(stderr, "perfex: %sa sample each %s ns of %s time (-F N or -e %s=PERIOD chooses another period)\n",
			c->spec->nr ? "" : "no overflow interrupts here: ",
			thousands(buf, c->period[0]), c->cpus ? "CPU" : "thread",
			clock_name(c));
		return;
	}
	if (c->rate) {
		fprintf(stderr, "perfex: about %s sample%s of %s per second of each %s (-e EVENT chooses another)\n",
			thousands(buf, c->rate), plural(c->rate), c->events->ev[0].name,
			c->cpus ? "CPU" : "thread");
		return;
	}
	fputs("perfex: a sample", stderr);
	for (i = 0; i < c->events->nr; i++)
		fprintf(stderr, "%s each %s %s", i ? " and" : "", thousands(buf, c->period[i]),
			c->events->ev[i].name);
	fputs(" (-e EVENT=PERIOD chooses others)\n", stderr);
}

static void make_control(struct vperfctr_control *control, struct vperfctr_ctr *ctr,
			 const struct choice *c)
{
	unsigned int i, k;

	vperfctr_control_init(control, ctr);
	control->flags = VPERFCTR_CONTROL_RING;
	if (c->clock) {
		control->clock_period = c->period[0];
		vperfctr_control_add_soft(control, VPERFCTR_SOFT_TASK_CLOCK);
		/* for the file */
		ctr[0] = (struct vperfctr_ctr){
			.map = EVENT_OF_TIME, .ireset = -(int64_t)c->period[0],
		};
		return;
	}
	control->kind = c->kinds.info[0].kind;
	for (i = 0; i < c->events->nr; i++)
		vperfctr_control_add_ctr_imode(control, &c->ctr[0][i], c->period[i]);
	for (k = 1; k < c->kinds.nr; k++)
		vperfctr_control_add_kind(control, c->ctr[k]);
}

/* The sum of an event. */
static uint64_t sum_of(const struct choice *c, const struct sums *sums, unsigned int i)
{
	if (c->clock)
		return c->cpus ? sums->tsc : sums->soft[event_soft(&c->events->ev[i])];
	return sums->pmc[i];
}

/* The name of an event behind a number of them. */
static const char *counted_name(const struct choice *c, unsigned int i)
{
	if (c->clock)
		return c->cpus ? "ns " CPU_CLOCK : "ns " CLOCK;
	return c->events->ev[i].name;
}

/* One ring of several has its part of the memory. */
static void make_ring(struct vperfctr_ring *ring, const struct choice *c, unsigned int nrrings,
		      bool from_proc)
{
	size_t size = sizeof(struct vperfctr_sample);
	uint32_t n = RING_SAMPLES;
	unsigned int i;

	memset(ring, 0, sizeof(*ring));
	ring->flags = from_proc ? 0 : VPERFCTR_RING_RECORDS;
	/* Time is that of both modes: without the right to the kernel's addresses, samples have others. */
	for (i = 0; i < c->events->nr; i++)
		if (c->clock ? c->kinds.info->features & VPERFCTR_FEATURE_KERNEL :
			       c->events->ev[i].modes & VPERFCTR_MODE_KERNEL)
			ring->flags |= VPERFCTR_RING_KERNEL;
	ring->depth = c->spec->depth;
	ring->stack = c->spec->stack;
	if ((ring->depth || ring->stack) && ring->flags & VPERFCTR_RING_KERNEL)
		ring->kernel_depth = ring->depth ? ring->depth : KERNEL_DEPTH;
	ring->rate = c->rate;
	if (ring->depth)
		size += (1 + ring->depth) * sizeof(uint64_t);
	if (ring->kernel_depth)
		size += (1 + ring->kernel_depth) * sizeof(uint64_t);
	if (ring->stack)
		size += (2 + VPERFCTR_POWER64_REGS) * sizeof(uint64_t) + ring->stack;
	while (n > 64 && (n * size > RING_BYTES / nrrings || n > RING_SAMPLES / nrrings))
		n /= 2;
	ring->nrsamples = n;
	ring->watermark = n / 4;
}

/* cpus: NULL: threads are sampled */
static void write_header(struct recording *rec, const struct choice *c, char **argv,
			 const struct targets *targets, const struct cpus *cpus)
{
	const struct vperfctr_info *info = c->kinds.info;
	struct samples_header h = {
		.version = SAMPLES_VERSION,
		.size = sizeof(h),
		.cpu_type = info->cpu_type,
		.tsc_khz = info->tsc_khz,
		.flags = (c->spec->depth ? SAMPLES_CHAINS : 0) |
			 (c->spec->stack ? SAMPLES_STACKS : 0) |
			 (cpus ? SAMPLES_CPUS : 0),
		.rate = c->rate,
	};
	char *text = NULL;
	unsigned int i;
	size_t size;
	FILE *f;

	memcpy(h.magic, SAMPLES_MAGIC, sizeof(h.magic));
	snprintf(h.cpu_name, sizeof(h.cpu_name), "%.*s", (int)sizeof(info->cpu_name),
		 info->cpu_name);
	fwrite(&h, sizeof(h), 1, rec->out);

	f = open_memstream(&text, &size);
	if (!f)
		return;
	for (i = 0; i < targets->nr; i++)
		fprintf(f, "%s%s %d", i ? ", " : "",
			targets->target[i].process ? "process" : "thread",
			(int)targets->target[i].id);
	if (cpus)
		fprintf(f, "CPUs %s%s", cpus->list, *argv ? " during " : "");
	for (i = 0; !targets->nr && argv[i] && ftell(f) < 4096; i++)
		fprintf(f, "%s%.4096s", i ? " " : "", argv[i]);
	fclose(f);
	write_record(rec, RECORD_COMMAND, NULL, 0, text);
	free(text);
	write_host(rec);
	write_clock(rec);
}

/* Write what was kept until the sampling has begun: before that, another source may take over. */
static void write_head(struct recorder *r)
{
	if (r->rec.out == r->rec.output->f)
		return;
	fclose(r->rec.out);
	r->rec.out = r->rec.output->f;
	fwrite(r->head, 1, r->head_size, r->rec.out);
	if (r->module)
		fprintf(stderr, "perfex: samples by perf_event: %s\n", r->module->text);
}

/* Write the last record, with the sums.  Return: 0 if all is in the file, or -1 with *e. */
static int write_end(struct recorder *r, const struct sums *sums, double elapsed, struct error *e)
{
	const struct choice *c = r->choice;
	struct recording *rec = &r->rec;
	struct {
		struct record_end end;
		uint64_t counts[VPERFCTR_MAX_CTRS];
	} last = { .end = {
		.samples = rec->nrsamples, .dropped = rec->dropped, .lost = rec->lost,
		.tsc = sums->tsc, .elapsed = (uint64_t)(elapsed * 1e9), .nr = c->events->nr,
	} };
	unsigned int i;
	int err;

	write_head(r);
	write_clock(rec);
	write_kernel(rec);
	for (i = 0; i < c->events->nr; i++)
		last.counts[i] = sum_of(c, sums, i);
	write_record(rec, RECORD_END, &last,
		     sizeof(last.end) + c->events->nr * sizeof(*last.counts), NULL);
	err = output_publish(rec->output);
	if (!err)
		return 0;
	return fail_with(e, "cannot write to %s%s%s: %s%s", output_quote(rec->output), rec->output->name,
			 output_quote(rec->output), strerror(err),
			 rec->nrsamples && output_keep_new(rec->output) && !*rec->output->kept ?
			 "; the samples until then are in it" : "");
}

/* ---- the module ---------------------------------------------------------------------------- */

static int add_module(struct recorder *r, struct vperfctr *v, struct error *e)
{
	(void)r;
	(void)v;
	(void)e;
	return 0;
}

/* Context: before the command is executed, so that a failure can prevent that. */
static int begin_module(struct recorder *r, const struct running *run, struct vperfctr **v,
			struct error *e)
{
	int err;

	(void)r;
	err = vperfctr_open_fd(v, run->fd, 0);
	if (err) {
		close(run->fd);
		return fail_with(e, "cannot use the counters' descriptor: %s", strerror(-err));
	}
	err = vperfctr_ring_map(*v, run->map_size);
	return err ? fail_ring(e, err) : 0;
}

static int drain_module(struct recorder *r, struct vperfctr *v, bool last, struct error *e)
{
	return last ? drain_last(&r->rec, v, e) : drain_ring(&r->rec, v, e);
}

static int fd_of_module(const struct recorder *r, const struct vperfctr *v)
{
	(void)r;
	return vperfctr_fd(v);
}

static const struct source module_source = {
	.add = add_module, .begin = begin_module, .drain = drain_module, .fd = fd_of_module,
};

/* ---- perf_event ------------------------------------------------------------------------------ */

static struct perf_rings *rings_of(const struct recorder *r, const struct vperfctr *v)
{
	unsigned int i;

	for (i = 0; i < r->nrfeeds; i++)
		if (r->feeds[i].v == v)
			return r->feeds[i].rings;
	return NULL;
}

static int add_perf(struct recorder *r, struct vperfctr *v, struct error *e)
{
	struct feed *feed = &r->feeds[r->nrfeeds];

	if (r->nrfeeds == ARRAY_SIZE(r->feeds))
		return fail_with(e, "too many processes are sampled");
	if (perf_rings_open(&feed->rings, v, &r->perf,
			    r->nrtargets > r->nrfeeds ? r->nrtargets - r->nrfeeds : 1, &r->rec, e))
		return -1;
	feed->v = v;
	r->nrfeeds++;
	return 0;
}

/* Context: as begin_module(). */
static int begin_perf(struct recorder *r, const struct running *run, struct vperfctr **v,
		      struct error *e)
{
	if (perf_count_threads(v, &r->perf, &run->pid, 1, VPERFCTR_PERF_EXEC, NULL, e))
		return -1;
	return add_perf(r, *v, e);
}

static int drain_perf(struct recorder *r, struct vperfctr *v, bool last, struct error *e)
{
	(void)last;
	(void)e;
	perf_rings_drain(rings_of(r, v));
	end_of_drain(&r->rec);
	return 0;
}

static int fd_of_perf(const struct recorder *r, const struct vperfctr *v)
{
	return perf_rings_fd(rings_of(r, v));
}

static const struct source perf_source = {
	.monotonic = true,
	.add = add_perf, .begin = begin_perf, .drain = drain_perf, .fd = fd_of_perf,
};

/* The attributes of all events that are sampled. */
static void fill_sample_attr(struct perf_event_attr *attr, const struct choice *c)
{
	const struct perf_regs *regs = NULL;
	struct utsname name;

	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			    PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_id_all = 1;
	attr->task = attr->comm = attr->comm_exec = attr->mmap = attr->mmap2 = 1;
	/* JITs use this clock, too.  The kernel wakes perfex when half of a buffer is full. */
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	attr->exclude_kernel = c->clock && !(c->kinds.info->features & VPERFCTR_FEATURE_KERNEL);
	if (c->rate) {
		attr->freq = 1;
		attr->sample_freq = c->rate;
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	}
	if (c->spec->depth || c->spec->stack)
		attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (!c->spec->stack || uname(&name))
		return;
	/* The calls of user mode are found from the stack. */
	attr->exclude_callchain_user = 1;
	regs = perf_regs_of_machine(name.machine);
	attr->sample_regs_user = regs ? perf_regs_mask(regs) : 0;
	/* An i386 kernel has no r8 to r15. */
	if (name.machine[0] == 'i')
		attr->sample_regs_user &= PERF_REGS_I386;
	attr->sample_stack_user = c->spec->stack;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
}

/* List the events as perf_event knows them; allocated. */
static char *list_names(const struct choice *c)
{
	char *text = NULL;
	unsigned int i;
	size_t size;
	FILE *f = c->clock ? NULL : open_memstream(&text, &size);

	if (c->clock)
		return strdup(CLOCK);
	for (i = 0; f && i < c->events->nr; i++)
		fprintf(f, "%s%s", i ? "," : "", c->events->ev[i].name);
	if (f)
		fclose(f);
	return text;
}

/* ---- both ------------------------------------------------------------------------------------ */

static int drain(struct recorder *r, struct vperfctr *v, bool last, struct error *e)
{
	write_head(r);
	return r->source->drain(r, v, last, e);
}

/* ---- the command's life ---------------------------------------------------------------- */

static bool has_ended(const struct session *s)
{
	siginfo_t info = { .si_pid = 0 };

	/* The caller reaps it, together with its resource usage. */
	return waitid(P_PID, (id_t)s->run.pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

/* The child has executed the command, or has failed to. */
static int handle_start(struct session *s, struct error *e)
{
	if (run_await_exec(&s->run, e))
		return -1;
	s->started = true;
	return s->recorder->rec.from_proc ?
	       process_has_executed(&s->recorder->rec, s->run.pid, e) : 0;
}

static int wait_and_drain(struct session *s, struct pollfd *fds, struct error *e)
{
	const struct timespec ts = { .tv_nsec = LOOK_INTERVAL * 1000000L };
	struct signalfd_siginfo info;
	int err = 0;

	if (ppoll(fds, 3, &ts, NULL) < 0)
		return errno == EINTR ? 0 : fail_with(e, "cannot wait: %s", strerror(errno));
	while (read(fds[0].fd, &info, sizeof(info)) > 0)
		;
	if (fds[2].revents) {
		err = handle_start(s, e);
		fds[2].fd = -1;
	}
	if (s->started && !s->failed && !err)
		err = drain(s->recorder, s->v, false, e);
	/* Counting has ended; the command may still run. */
	if (fds[1].revents & (POLLHUP | POLLERR))
		fds[1].fd = -1;
	s->ended = has_ended(s);
	return err;
}

/* Follow the command until it has ended, even if something fails here. */
static int follow_command(struct session *s, struct error *e)
{
	struct pollfd fds[3] = {
		{ .fd = s->signals, .events = POLLIN },
		{ .fd = s->recorder->source->fd(s->recorder, s->v), .events = POLLIN },
		{ .fd = s->run.sock, .events = POLLIN },
	};
	struct error later;
	int err = 0;

	while (!s->ended) {
		if (wait_and_drain(s, fds, err ? &later : e)) {
			err = -1;
			s->failed = true;
			/* A full ring would be ready all the time. */
			fds[1].fd = -1;
		}
	}
	return err;
}

/* ---- the summary ------------------------------------------------------------------------ */

/* Return: the greatest number with one digit and zeros that is not above n; at least 1. */
static uint64_t round_down(uint64_t n)
{
	uint64_t power = 1;

	while (n / power >= 10)
		power *= 10;
	return n ? n / power * power : 1;
}

#define ENOUGH_SAMPLES	1000

static void advise_shorter_period(const struct choice *c, const struct sums *sums, bool inherit)
{
	unsigned int i, most = 0;
	const char *name;
	char buf[THOUSANDS_LEN];
	uint64_t shorter;

	for (i = 1; i < c->events->nr; i++)
		if (sum_of(c, sums, i) > sum_of(c, sums, most))
			most = i;
	name = c->events->ev[most].name;
	shorter = round_down(sum_of(c, sums, most) / ENOUGH_SAMPLES);
	if (c->clock && shorter < VPERFCTR_CLOCK_MIN)
		shorter = VPERFCTR_CLOCK_MIN;
	if (c->clock && c->period[0] <= shorter)
		fprintf(stderr, "perfex: no samples: there were only %s ns of thread time\n",
			thousands(buf, sum_of(c, sums, 0)));
	else if (sum_of(c, sums, most))
		fprintf(stderr, "perfex: no samples: there were only %s %s: use a shorter period, as in -e %s=%" PRIu64 "\n",
			thousands(buf, sum_of(c, sums, most)), counted_name(c, most), name,
			shorter);
	else if (inherit)
		fprintf(stderr, "perfex: no samples: no %s was counted\n", name);
	else
		fprintf(stderr, "perfex: no samples: the command's first thread had no %s; its other threads and children are sampled without --no-inherit\n",
			name);
}

/* Suggest one and a half times the periods at which no sample would be dropped. */
static void advise_longer_period(const struct choice *c, const struct recording *rec,
				 double seconds)
{
	uint64_t overflows = rec->nrsamples + rec->dropped, period;
	char a[THOUSANDS_LEN], b[THOUSANDS_LEN];
	int rate = c->perf ? 0 : read_number(MAX_SAMPLE_RATE);
	unsigned int i;

	fprintf(stderr, "perfex: %s of %s %s gave no sample: use a longer period, as in -e ",
		thousands(a, rec->dropped), thousands(b, overflows),
		c->clock ? "periods" : "overflows");
	for (i = 0; i < c->events->nr; i++) {
		if (__builtin_mul_overflow(c->period[i],
					   overflows / (rec->nrsamples ? rec->nrsamples : 1) * 3 / 2 + 1,
					   &period))
			period = UINT64_MAX;
		fprintf(stderr, "%s%s=%" PRIu64, i ? "," : "", c->events->ev[i].name,
			round_down(period));
	}
	if (rate > 0 && seconds > 0 && (double)overflows / seconds > rate)
		fprintf(stderr, "; the module's parameter max_sample_rate allows %d sample%s per second of a %s",
			rate, plural((uint64_t)rate), c->cpus ? "CPU" : "thread");
	fputc('\n', stderr);
}

/* sums: of all threads.  complete: otherwise an error message says why there are so few samples */
static void print_summary(const struct recording *rec, const struct choice *c,
			  const struct sums *sums, bool inherit, bool complete)
{
	const struct vperfctr_info *info = c->kinds.info;
	double seconds = info->tsc_khz ? (double)sums->tsc / (info->tsc_khz * 1e3) : 0;
	char a[THOUSANDS_LEN], b[THOUSANDS_LEN];
	const char *file = c->show->file, *quote = file ? "'" : "";
	unsigned int i;

	if (c->show->quiet)
		return;
	fprintf(stderr, "perfex: %s sample%s in %s%s%s", thousands(a, rec->nrsamples),
		plural(rec->nrsamples), quote, file ? file : "standard output", quote);
	if (c->rate)
		fprintf(stderr, " for %s period%s;", thousands(b, rec->nrsamples + rec->dropped),
			plural(rec->nrsamples + rec->dropped));
	else
		fprintf(stderr, ", %s dropped;", thousands(b, rec->dropped));
	for (i = 0; i < c->events->nr; i++)
		fprintf(stderr, "%s %s %s", i ? "," : "", thousands(a, sum_of(c, sums, i)),
			counted_name(c, i));
	fputs(" in all\n", stderr);
	if (rec->lost)
		fprintf(stderr, "perfex: %s record%s of tasks and mappings %s lost: samples may be shown as [unknown]\n",
			thousands(a, rec->lost), plural(rec->lost), rec->lost == 1 ? "was" : "were");
	if (rec->throttled)
		fprintf(stderr, "perfex: perf_event has stopped events %s time%s until the next tick, as they gave more samples than kernel.perf_event_max_sample_rate allows (%d per second): there were more of them than these; use a longer period\n",
			thousands(a, rec->throttled), plural(rec->throttled), read_number(PROC "/sys/kernel/perf_event_max_sample_rate"));
	/* If there are so few samples that the file says nothing, say what to do about it. */
	if (!rec->nrsamples && !rec->dropped && complete)
		advise_shorter_period(c, sums, inherit);
	else if (rec->dropped > rec->nrsamples && !c->rate)
		advise_longer_period(c, rec, seconds);
}

/* ---- a command ----------------------------------------------------------------------------- */

static int follow_to_end(struct session *s, struct vperfctr_ring *ring, struct rusage *usage,
			 struct error *e)
{
	sigset_t chld, old;
	int err, ended;

	if (run_start(&s->run, ring, e))
		return -1;
	wake_early();
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old);

	/* If there are too few descriptors, the command must not have run. */
	s->signals = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
	err = s->signals < 0 ? fail_with(e, "cannot wait for signals: %s", strerror(errno)) :
			       s->recorder->source->begin(s->recorder, &s->run, &s->v, e);
	if (!err) {
		run_go(&s->run);
		err = follow_command(s, e);
	}
	if (s->signals >= 0)
		close(s->signals);
	if (s->run.sock >= 0)
		close(s->run.sock);
	ended = run_await_end(&s->run, &s->wstatus, usage);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (!err && ended)
		err = fail_with(e, "cannot wait for the command: %s", strerror(-ended));
	return err ? -1 : 0;
}

/* Read the counts, then what is still in the ring: there are no more samples. */
static int finish_session(struct session *s, struct counts *c, struct error *e)
{
	int err = counts_finish(s->v, s->run.control, c);

	if (err)
		return fail_read(e, err, s->run.perf);
	sums_add(&c->own, &c->children);
	return drain(s->recorder, s->v, true, e);
}

static void print_others(const struct choice *c, const struct counts *counts,
			 const struct rusage *usage, bool inherit)
{
	uint32_t khz = c->kinds.info->tsc_khz;
	double thread = khz ? (double)counts->own.tsc / (khz * 1e3) : 0;
	double cpu_time = run_cpu_time(usage);

	if (!inherit && khz && cpu_time > thread * 1.05 + 0.01)
		fprintf(stderr, "perfex: %.3f s of other threads and children are not sampled\n",
			cpu_time - thread);
	if (counts->cut_off)
		fputs("perfex: sampled until now: threads or processes that were started and run still\n",
		      stderr);
}

/* Return: 0 if all of the command was counted, or -1 with *e */
static int check_run(const struct session *s, const struct counts *counts,
		     const struct rusage *usage, struct error *e)
{
	if (counts_check(counts, e))
		return -1;
	if (!counts_any(counts))
		return fail_with(e, "the command was not counted");
	return run_check_perf(&s->run, &counts->own, usage, e);
}

static int sample_run(struct session *s, const struct choice *c, struct vperfctr_control *control,
		      struct error *e)
{
	const bool inherit = inherits(control);
	struct recorder *r = s->recorder;
	struct vperfctr_ring ring;
	struct counts counts;
	struct rusage usage;
	int incomplete;

	control->flags |= VPERFCTR_CONTROL_START_ON_EXEC;
	s->run = (struct running){
		.argv = c->counting->command, .control = control, .perf = r->perf.names,
	};
	make_ring(&ring, c, 1, r->rec.from_proc);
	if (follow_to_end(s, c->perf ? NULL : &ring, &usage, e) || finish_session(s, &counts, e))
		return -1;
	if (write_end(r, &counts.own, seconds_since(&s->run.start), e))
		return -1;
	incomplete = check_run(s, &counts, &usage, e);
	print_summary(&r->rec, c, &counts.own, inherit, !incomplete);
	print_others(c, &counts, &usage, inherit);
	return incomplete ? -1 : run_status(s->wstatus);
}

/* ---- running processes ----------------------------------------------------------------------- */

static int start_target(void *arg, const struct target *target, struct vperfctr *v,
			struct error *e)
{
	struct recorder *r = arg;

	return r->source->add(r, v, e) ? -1 : look_at_process(&r->rec, target->id, e);
}

static int drain_handle(void *arg, struct vperfctr *v, bool last, struct error *e)
{
	return drain(arg, v, last, e);
}

static int fd_of_handle(void *arg, const struct vperfctr *v)
{
	const struct recorder *r = arg;

	return r->source->fd(r, v);
}

static int sample_attached(struct recorder *rec, const struct vperfctr_control *control,
			   struct error *e)
{
	struct sampler sampler = {
		.start = start_target, .drain = drain_handle, .fd = fd_of_handle, .arg = rec,
	};
	const struct choice *c = rec->choice;
	const struct interval none = { 0 };
	struct result r;
	int ret;

	rec->nrtargets = c->counting->targets.nr;
	make_ring(&sampler.ring, c, c->counting->targets.nr, rec->rec.from_proc);
	if (attach_and_count(&c->counting->targets, c->counting->command, c->counting->timeout,
			     false, control, c->perf ? &rec->perf : NULL, &none, &sampler, &r, e))
		return -1;
	ret = r.complete ? r.status : -1;
	if (r.counted && write_end(rec, &r.total, r.elapsed, e)) {
		ret = -1;
	} else if (r.counted) {
		print_summary(&rec->rec, c, &r.total, inherits(control),
			      r.complete);
		print_remarks(&r);
	}
	result_free(&r);
	return ret;
}

/* ---- CPUs -------------------------------------------------------------------------------------- */

/* The caller may sample CPUs, so the choice is of interest. */
static int start_cpus(void *arg, const struct target *target, struct vperfctr *v, struct error *e)
{
	struct recorder *r = arg;

	(void)target;
	if (r->source->add(r, v, e))
		return -1;
	if (r->choice->chosen && !r->choice->show->quiet)
		print_choice(r->choice);
	return look_at_all_processes(&r->rec, e);
}

static int sample_cpus(struct recorder *rec, struct cpus *cpus,
		       const struct vperfctr_control *control, struct error *e)
{
	struct sampler sampler = {
		.start = start_cpus, .drain = drain_handle, .fd = fd_of_handle, .arg = rec,
	};
	const struct choice *c = rec->choice;
	const struct interval none = { 0 };
	struct result r;
	int ret;

	make_ring(&sampler.ring, c, 1, true);
	if (cpus_count(cpus, c->counting->command, c->counting->timeout, control,
		       c->perf ? &rec->perf : NULL, &none, &sampler, &r, e)) {
		result_free(&r);
		return -1;
	}
	ret = r.complete ? r.status : -1;
	if (write_end(rec, &r.total, r.elapsed, e)) {
		ret = -1;
	} else {
		print_summary(&rec->rec, c, &r.total, true, r.complete);
		print_remarks(&r);
	}
	result_free(&r);
	return ret;
}

/* ---- recording ------------------------------------------------------------------------------- */

/* Return: whether what is started is sampled. */
static bool choose_inheritance(const struct choice *c)
{
	const struct vperfctr_info *info = c->kinds.info;

	if (c->counting->no_inherit || c->cpus)
		return false;
	if (info->features & (c->clock ? VPERFCTR_FEATURE_INHERIT : VPERFCTR_FEATURE_INHERIT_IMODE))
		return true;
	fprintf(stderr, "perfex: this module does not sample what is started: only %s\n",
		c->counting->targets.nr ? "threads that run already are sampled" :
				"the command's first thread is sampled");
	return false;
}

static int choose_targets(struct choice *c, const struct targets *targets, struct cpus *cpus,
			  struct error *e)
{
	c->cpus = counts_cpus(c->counting);
	if (c->perf) {
		c->kinds.nr = 1;
		perf_describe(c->kinds.info);
		return c->cpus ? cpus_choose_perf(cpus, c->counting, &c->kinds, choose_events, c, e) :
				 choose_events(&c->kinds, c, e);
	}
	return c->cpus ? cpus_choose(cpus, c->counting, &c->kinds, choose_events, c, e) :
			 kind_choose(c->counting->kind, targets, &c->kinds, choose_events, c, e);
}

static void free_recorder(struct recorder *r)
{
	unsigned int i;

	if (r->rec.out != r->rec.output->f)
		fclose(r->rec.out);
	free(r->head);
	for (i = 0; i < r->nrfeeds; i++)
		perf_rings_close(r->feeds[i].rings);
	recording_free(&r->rec);
	free((char *)r->perf.names);
}

static int init_recorder(struct recorder *r, const struct choice *c, struct output *out,
			 struct error *e)
{
	FILE *head = open_memstream(&r->head, &r->head_size);

	r->choice = c;
	r->module = c->module;
	r->source = c->perf ? &perf_source : &module_source;
	if (!head)
		return fail_with(e, "out of memory");
	if (recording_init(&r->rec, head, e)) {
		fclose(head);
		return -1;
	}
	r->rec.output = out;
	r->rec.monotonic = r->source->monotonic;
	if (!c->perf)
		return 0;
	fill_sample_attr(&r->perf.sample, c);
	r->perf.depth = c->spec->stack ? 0 : c->spec->depth;
	r->perf.period = c->period;
	r->perf.names = list_names(c);
	return r->perf.names ? 0 : fail_with(e, "out of memory");
}

/* cpus: NULL: threads are sampled */
static int record(const struct choice *c, struct cpus *cpus, struct output *out, struct error *e)
{
	struct vperfctr_ctr ctr[MAX_KINDS * VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct recorder r = { .source = NULL };
	struct session s = { .recorder = &r };
	unsigned int i;
	int ret;

	make_control(&control, ctr, c);
	if (choose_inheritance(c))
		control.flags |= VPERFCTR_CONTROL_INHERIT;
	/* Threads and processes that are shorter than a period have samples, too. */
	if (control.flags & VPERFCTR_CONTROL_INHERIT &&
	    c->kinds.info->features & VPERFCTR_FEATURE_SPREAD)
		control.flags |= VPERFCTR_CONTROL_SPREAD;

	if (init_recorder(&r, c, out, e))
		return -1;
	r.perf.inherit = inherits(&control);
	r.rec.from_proc = !c->perf && (cpus || !(c->kinds.info->features & VPERFCTR_FEATURE_RECORDS));
	write_header(&r.rec, c, c->counting->command, &c->counting->targets, cpus);
	for (i = 0; i < c->events->nr; i++)
		write_event(&r.rec, i, &c->events->ev[i], &ctr[i]);
	if (cpus)
		ret = sample_cpus(&r, cpus, &control, e);
	else if (c->counting->targets.nr)
		ret = sample_attached(&r, &control, e);
	else
		ret = sample_run(&s, c, &control, e);
	/* If samples were written, no other source can take over. */
	if (ret < 0 && r.rec.out == out->f)
		e->unusable = e->beside = false;
	/* Some samples are better than none, and than no file. */
	if (ret < 0 && r.rec.nrsamples && output_keep_new(out) && *out->kept) {
		const struct error why = *e;

		fail_with(e, "%.800s (the samples until then are in '%.400s')", why.text, out->kept);
	}
	if (ret < 0)
		e->of_both |= r.rec.out == out->f;
	free_recorder(&r);
	vperfctr_close(s.v);
	return ret;
}

/* Choose counters, and sample by one of the two. */
static int try_to_sample(const struct choice *asked, const struct targets *targets, bool perf,
			 const struct error *module, const struct error *beside,
			 struct output *out, struct error *e)
{
	const bool quiet = asked->show->quiet;
	struct choice choice = *asked;
	struct cpus cpus = { 0 };
	int ret = -1;

	choice.perf = perf;
	choice.module = quiet ? NULL : module;
	e->unusable = false;
	if (choose_targets(&choice, targets, &cpus, e) < 0) {
		if (*beside->text)
			fail_rest(e, beside);
	} else {
		if (asked->show->verbose && !perf && *beside->text)
			fputs(OTHER_CONTROL, stderr);
		if (asked->show->verbose && !perf)
			print_control(stderr, choice.events, &choice.kinds, choice.ctr);
		if (choice.chosen && !choice.cpus && !quiet)
			print_choice(&choice);
		ret = record(&choice, choice.cpus ? &cpus : NULL, out, e);
	}
	cpus_free(&cpus);
	return ret;
}

/*
 * Sample by one of the two.  The counters of others who count the same threads are left out.
 * module: why perf_event must take the place of the module, or NULL
 */
static int sample_by(const struct choice *asked, bool perf, const struct error *module,
		     struct output *out, struct error *e)
{
	struct targets targets = asked->counting->targets;
	struct error beside = { .text = "" };
	int ret;

	for (;;) {
		ret = try_to_sample(asked, &targets, perf, module, &beside, out, e);
		if (ret >= 0 || perf || !targets_leave_out(&targets, e))
			return ret;
		beside = *e;
	}
}

int sample(const struct count_options *c, const struct sample_spec *spec,
	   const struct showing *show, struct output *out, struct error *e)
{
	const struct choice asked = { .counting = c, .spec = spec, .show = show };
	struct error module, perf;
	enum backend backend;
	int ret;

	if (backend_choose(&backend, c, e))
		return -1;
	ret = sample_by(&asked, backend == BACKEND_PERF, NULL, out, e);
	if (ret >= 0 || !e->unusable || backend != BACKEND_AUTO || c->kind)
		return ret;
	module = *e;
	perf.unusable = true;
	ret = sample_by(&asked, true, &module, out, &perf);
	if (ret >= 0)
		return ret;
	/* The command or process does not exist, or there is no room, whether the module or perf_event counts. */
	if (perf.status != STATUS_FAILED || perf.of_both) {
		*e = perf;
		return -1;
	}
	return fail_both(e, &module, perf.text);
}
