// SPDX-License-Identifier: GPL-2.0
/* perfex --self-test: outcomes, CPUs, counters, interrupts and the kernel's log, for the checks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "checks.h"

/* ---- outcomes -------------------------------------------------------------- */

#define SET_TEXT(t, fmt)						\
	do {								\
		va_list ap;						\
									\
		va_start(ap, fmt);					\
		vsnprintf((t)->text, sizeof((t)->text), fmt, ap);	\
		va_end(ap);						\
	} while (0)

enum outcome passed(struct self_test *t, const char *fmt, ...)
{
	SET_TEXT(t, fmt);
	return PASSED;
}

enum outcome failed(struct self_test *t, const char *fmt, ...)
{
	SET_TEXT(t, fmt);
	return FAILED;
}

enum outcome skipped(struct self_test *t, const char *fmt, ...)
{
	SET_TEXT(t, fmt);
	return SKIPPED;
}

/* setjmp() itself returns 0, so the outcomes begin at 1 there. */
void fail_check(struct self_test *t, const char *fmt, ...)
{
	SET_TEXT(t, fmt);
	longjmp(t->end, FAILED + 1);
}

void skip_check(struct self_test *t, const char *fmt, ...)
{
	SET_TEXT(t, fmt);
	longjmp(t->end, SKIPPED + 1);
}

/* ---- CPUs ----------------------------------------------------------------- */

void pin(struct self_test *t, unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fail_check(t, "cannot run on CPU %u: %s", cpu, strerror(errno));
	t->cpu = (int)cpu;
}

unsigned int nr_usable(const struct self_test *t)
{
	unsigned int kind, nr = 0;

	for (kind = 0; kind < t->nrkinds; kind++)
		nr += (unsigned int)CPU_COUNT(&t->usable[kind]);
	return nr;
}

void on_each_cpu(struct self_test *t, void (*fn)(struct self_test *t,
						 const struct vperfctr_info *kind,
						 unsigned int cpu))
{
	unsigned int kind, cpu;

	if (!nr_usable(t))
		skip_check(t, "there is no CPU that can count");
	for (kind = 0; kind < t->nrkinds; kind++) {
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &t->usable[kind]))
				continue;
			pin(t, cpu);
			fn(t, &t->kind[kind], cpu);
		}
	}
}

unsigned int pin_to_first(struct self_test *t, const struct vperfctr_info **kind)
{
	unsigned int i, cpu;

	for (i = 0; i < t->nrkinds; i++) {
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &t->usable[i]))
				continue;
			pin(t, cpu);
			*kind = &t->kind[i];
			return cpu;
		}
	}
	skip_check(t, "there is no CPU that can count");
}

/* ---- counting ---------------------------------------------------------------- */

struct vperfctr_ctr counter_for(struct self_test *t, const struct vperfctr_info *kind,
				const char *event)
{
	struct vperfctr_event ev;
	struct vperfctr_why why;
	struct vperfctr_ctr ctr;

	if (vperfctr_event(&ev, event, kind, &why) ||
	    vperfctr_event_assign(&ctr, &ev, 1, kind, &why))
		skip_check(t, "%s: %.400s", event, why.text);
	return ctr;
}

bool counts_all_modes(const struct vperfctr_info *kind)
{
	return kind->cpu_type == VPERFCTR_CPU_WINCHIP || kind->cpu_type == VPERFCTR_CPU_VIA_C3;
}

static const char *instructions_of(const struct vperfctr_info *kind)
{
	return counts_all_modes(kind) ? "instructions" : "instructions:u";
}

struct vperfctr_ctr counter_for_instructions(struct self_test *t, const struct vperfctr_info *kind)
{
	return counter_for(t, kind, instructions_of(kind));
}

void require_modes(struct self_test *t, const struct vperfctr_info *kind)
{
	if (counts_all_modes(kind))
		skip_check(t, "the counters count in all modes, so what the kernel does as well");
}

void init_counting(struct counting *c, const struct vperfctr_info *kind)
{
	memset(c, 0, sizeof(*c));
	vperfctr_control_init(&c->control, c->ctr);
	c->control.kind = kind->kind;
	c->control.tsc_on = !!(kind->features & VPERFCTR_FEATURE_RDTSC);
}

void add_counter(struct counting *c, struct vperfctr_ctr ctr, uint64_t period)
{
	if (period)
		vperfctr_control_add_ctr_imode(&c->control, &ctr, period);
	else
		vperfctr_control_add_ctr(&c->control, &ctr);
	c->nr++;
}

unsigned int add_instructions(struct self_test *t, const struct vperfctr_info *kind,
			      struct counting *c)
{
	struct vperfctr_event ev;
	struct vperfctr_ctr ctr;
	char name[40];
	unsigned int i;

	if (!(kind->arch_events & VPERFCTR_EVENT_INSTRUCTIONS))
		skip_check(t, "the processor cannot count instructions");
	for (i = 0; i < 64; i++) {
		if (i < 32)
			snprintf(name, sizeof(name), "%s@%u", instructions_of(kind), i);
		else
			snprintf(name, sizeof(name), "%s@fixed%u", instructions_of(kind), i - 32);
		if (c->nr < VPERFCTR_MAX_CTRS && !vperfctr_event(&ev, name, kind, NULL) &&
		    !vperfctr_event_assign(&ctr, &ev, 1, kind, NULL))
			add_counter(c, ctr, 0);
	}
	if (!c->nr)
		skip_check(t, "no counter can count instructions");
	return c->nr;
}

int try_counting(struct counting *c, struct error *e)
{
	int err;

	err = vperfctr_open(&c->v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	if (err)
		return fail_device(e, err);
	err = vperfctr_control(c->v, &c->control);
	if (!err)
		return 0;
	stop_counting(c);
	return fail_control(e, err, &c->control, PROC);
}

void start_counting(struct self_test *t, struct counting *c)
{
	struct error e;

	if (try_counting(c, &e))
		skip_check(t, "counting cannot be started: %.450s", e.text);
}

void stop_counting(struct counting *c)
{
	vperfctr_close(c->v);
	c->v = NULL;
}

uint64_t read_count(struct self_test *t, struct counting *c, unsigned int i, uint64_t *overflow)
{
	uint64_t sums[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read read = { .nrctrs = VPERFCTR_MAX_CTRS, .sums = (uintptr_t)sums };
	int err = vperfctr_read_state(c->v, &read);

	if (err)
		fail_check(t, "the counters cannot be read: %s", strerror(-err));
	if (overflow)
		*overflow = read.overflow;
	return sums[1 + i];
}

/* Each read of a region waits until the instructions before it have been counted. */
static int count_once(struct vperfctr_region *r, unsigned int nr, unsigned long n, uint64_t *counts)
{
	uint64_t before[VPERFCTR_MAX_CTRS];
	unsigned int i;
	int err;

	for (i = 0; i < nr; i++)
		before[i] = vperfctr_region_pmc(r, i);
	vperfctr_region_begin(r);
	known_loop(n);
	err = vperfctr_region_end(r);
	for (i = 0; i < nr && !err; i++)
		counts[i] = vperfctr_region_pmc(r, i) - before[i];
	return err;
}

static int count_least(struct vperfctr_region *r, unsigned int nr, unsigned long n,
		       unsigned int times, uint64_t *counts)
{
	uint64_t now[VPERFCTR_MAX_CTRS];
	int err = count_once(r, nr, n, counts);
	unsigned int i;

	while (!err && --times) {
		err = count_once(r, nr, n, now);
		for (i = 0; i < nr && !err; i++)
			if (now[i] < counts[i])
				counts[i] = now[i];
	}
	return err;
}

static int try_count_loop(struct counting *c, unsigned long n, unsigned int times,
			  uint64_t *counts, uint64_t *cost)
{
	struct vperfctr_region r;
	int err = vperfctr_region_init(&r, c->v, c->nr);

	/* The first pass may fault on pages. */
	if (!err)
		err = count_once(&r, c->nr, 1, cost);
	if (!err)
		err = count_least(&r, c->nr, 1, 20, cost);
	if (!err)
		err = count_least(&r, c->nr, n + 1, times, counts);
	return err;
}

void count_loop(struct self_test *t, struct counting *c, unsigned long n, unsigned int times,
		uint64_t *counts)
{
	uint64_t cost[VPERFCTR_MAX_CTRS];
	unsigned int i, tries = 10;
	int err;

	/* The right to RDPMC may come late.  Then the kernel has read before. */
	do
		err = try_count_loop(c, n, times, counts, cost);
	while (err == -EAGAIN && --tries);
	if (err)
		fail_check(t, "the counters cannot be read: %s", strerror(-err));
	for (i = 0; i < c->nr; i++)
		counts[i] -= cost[i];
}

const char *counter_name(char *buf, size_t size, uint32_t map)
{
	const bool fixed = map & VPERFCTR_FIXED;

	snprintf(buf, size, "%s counter %u", fixed ? "fixed" : "general",
		 map & ~(uint32_t)VPERFCTR_FIXED);
	return buf;
}

/* ---- interrupts --------------------------------------------------------------- */

/* Return: the column of a CPU in the head of /proc/interrupts, from 0 on; or -1. */
static int find_column(char *head, unsigned int cpu)
{
	char *word, *save;
	unsigned int n;
	int column = 0;

	for (word = strtok_r(head, "\n ", &save); word; word = strtok_r(NULL, "\n ", &save)) {
		if (sscanf(word, "CPU%u", &n) == 1 && n == cpu)
			return column;
		column++;
	}
	return -1;
}

/* Sum the numbers of a line, or take that of one column (-1: all). */
static uint64_t sum_columns(char *numbers, int column)
{
	uint64_t n, sum = 0;
	char *p = numbers, *end;
	int i;

	for (i = 0;; i++, p = end) {
		n = strtoull(p, &end, 10);
		if (end == p)
			return sum;
		if (column < 0 || column == i)
			sum += n;
	}
}

/* cpu < 0: all CPUs. */
static uint64_t read_interrupts(int cpu, const char *line)
{
	FILE *f = fopen("/proc/interrupts", "re");
	char *buf = NULL, *name, *colon;
	size_t size = 0;
	uint64_t sum = 0;
	int column = -1;

	if (!f)
		return 0;
	if (getline(&buf, &size, f) > 0 && cpu >= 0)
		column = find_column(buf, (unsigned int)cpu);
	while (getline(&buf, &size, f) > 0) {
		colon = strchr(buf, ':');
		if (!colon)
			continue;
		*colon = '\0';
		name = buf + strspn(buf, " ");
		if ((!line || !strcmp(name, line)) && (cpu < 0 || column >= 0))
			sum += sum_columns(colon + 1, column);
	}
	free(buf);
	fclose(f);
	return sum;
}

uint64_t interrupts_of(unsigned int cpu, const char *line)
{
	return read_interrupts((int)cpu, line);
}

uint64_t nr_of_nmis(void)
{
	return read_interrupts(-1, "NMI");
}

/* ---- the kernel's log ------------------------------------------------------------- */

/* Parse "PRIORITY,NUMBER,...;TEXT".  Return: false: it is a property of the line before */
static bool parse_log_line(struct log_line *line, char *record)
{
	char *text = strchr(record, ';');
	unsigned int priority;

	if (!text || sscanf(record, "%u,%" SCNd64, &priority, &line->number) != 2)
		return false;
	line->text = text + 1;
	/* a level below 8 */
	line->of_kernel = priority < 8;
	return true;
}

/*
 * Call fn, unless it is NULL, for each line with a greater number than `after`.
 * Return: the last line's number, or -1.
 */
static int64_t scan_log(int fd, int64_t after, log_reader_fn fn, void *arg)
{
	char records[32768], *record, *rest;
	int64_t last = after;
	struct log_line line;
	ssize_t len;

	for (;;) {
		len = read(fd, records, sizeof(records) - 1);
		/* Lines have been overwritten: the next read returns the oldest that remains. */
		if (len < 0 && errno == EPIPE)
			continue;
		if (len <= 0)
			return last;
		records[len] = '\0';
		/* The kernel returns one line at a time, and a file all of them. */
		for (rest = records; (record = strsep(&rest, "\n"));) {
			if (!parse_log_line(&line, record))
				continue;
			if (fn && line.number > after)
				fn(arg, &line);
			last = line.number;
		}
	}
}

static int open_log(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/dev/kmsg", facts_root);
	return open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

void begin_log(struct self_test *t)
{
	int fd = open_log();

	t->log_last = -1;
	if (fd < 0) {
		snprintf(t->log_error, sizeof(t->log_error), "/dev/kmsg: %s", strerror(errno));
		return;
	}
	t->log_last = scan_log(fd, -1, NULL, NULL);
	close(fd);
}

struct log_reader {
	log_reader_fn fn;
	void *arg;
	int64_t last;			/* of the lines before the first check */
};

static void hand_old_line(void *arg, const struct log_line *line)
{
	const struct log_reader *r = arg;

	if (line->number <= r->last)
		r->fn(r->arg, line);
}

void read_old_log(const struct self_test *t, log_reader_fn fn, void *arg)
{
	struct log_reader r = { fn, arg, t->log_last };
	int fd = open_log();

	if (fd < 0)
		return;
	scan_log(fd, -1, hand_old_line, &r);
	close(fd);
}

void read_log(const struct self_test *t, log_reader_fn fn, void *arg)
{
	int fd = open_log();

	if (fd < 0)
		return;
	scan_log(fd, t->log_last, fn, arg);
	close(fd);
}
