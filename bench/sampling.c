// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of samples for a program of several threads whose samples go to one ring, and how many
 * samples per second a reader on the same CPU gets without loss.
 *
 * All threads exist before the measurement, which ends when all of them have done their work.
 * So starts and ends are no part of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vperfctr.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define PERIOD		10007
#define MAX_THREADS	64
#define SAMPLES		100		/* of each thread */
#define HELD_THREADS	8
#define HELD_WORK	1000000		/* instructions of each thread */

/* Bytes in the rings of both sides: for all samples, and for those that wait for the reader. */
#define LARGE_RING	(1U << 19)
#define SMALL_RING	(1U << 16)

/* A reader of one of these is woken when a quarter of it is full. */
#define WATERMARK(size)	((size) / 4)

/* A ring of either side. */
struct ring {
	int fd;
	void *page;
	const volatile u64 *head;	/* in units of... */
	u32 unit;			/* ... that many of it for each sample */
	u64 read;
	u64 dropped;			/* ours: what consume() has returned */
	u32 room;			/* how many samples it holds */
};

/* The wake-ups are traced, and times of samples must be those of clock(). */
static bool traces;
/* The reader asks the scheduler for a short slice, as "perfex record" does: see wake_early() there. */
static bool asks = true;

struct sampling {
	void (*open)(struct ring *ring, unsigned int period, u32 bytes);
	/* Free what has been written.  Return: how many samples are missing in it. */
	u64 (*consume)(struct ring *ring);
	/* Return the time of the n-th of the samples that wait, from 0 on, in ns of clock(). */
	u64 (*time_of)(const struct ring *ring, u64 n);
	u64 (*clock)(void);
};

/* ---- vperfctr ---------------------------------------------------------------- */

static void open_ours(struct ring *r, unsigned int period, u32 bytes)
{
	struct vperfctr_open open = { .size = sizeof(open), .flags = VPERFCTR_OPEN_CREAT };
	struct vperfctr_ctr ctr = {
		.evntsel = user_evntsel(events[SET_A][0]), .ireset = -(s64)period,
	};
	struct vperfctr_control control = {
		.size = sizeof(control),
		.flags = VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT,
		.tsc_on = 1, .nrictrs = 1, .ctr_size = sizeof(ctr), .ctr = (uintptr_t)&ctr,
	};
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 1 };
	struct vperfctr_ring_page *page;

	while (ring.nrsamples * 2 * sizeof(struct vperfctr_sample) <= bytes)
		ring.nrsamples *= 2;
	ring.watermark = WATERMARK(ring.nrsamples);
	r->fd = must_ioctl(vperfctr_dev, VPERFCTR_OPEN, &open);
	must_ioctl(r->fd, VPERFCTR_RING, &ring);
	page = mmap(NULL, ring.map_size, PROT_READ, MAP_SHARED, r->fd, VPERFCTR_RING_OFFSET);
	if (page == MAP_FAILED)
		die("mmap of the ring: %s", strerror(errno));
	r->page = page;
	r->head = (const volatile u64 *)&page->head;
	r->unit = 1;
	r->room = ring.nrsamples;
	must_ioctl(r->fd, VPERFCTR_CONTROL, &control);
}

static u64 consume_ours(struct ring *r)
{
	const struct vperfctr_ring_page *page = r->page;
	u64 head = __atomic_load_n(&page->head, __ATOMIC_ACQUIRE);
	u64 before = r->dropped;

	must_ioctl(r->fd, VPERFCTR_CONSUME, head - r->read);
	r->read = head;
	r->dropped = __atomic_load_n(&page->dropped, __ATOMIC_RELAXED);
	return r->dropped - before;
}

static u64 time_of_ours(const struct ring *r, u64 n)
{
	const struct vperfctr_ring_page *page = r->page;
	u64 index = (r->read + n) % page->nrsamples;
	const char *slot = (const char *)page + page->data + index * page->sample_size;

	return ((const struct vperfctr_sample *)slot)->tsc;
}

/* ---- perf_event --------------------------------------------------------------- */

/* The content of a sample of vperfctr that perf has. */
#define PERF_CONTENT	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct perf_sample {
	struct perf_event_header header;
	u64 ip;
	u32 pid, tid;
	u64 time;
	u32 cpu, res;
};

static void open_perf(struct ring *r, unsigned int period, u32 bytes)
{
	struct perf_event_attr attr = {
		.type = perf_type(events[SET_A][0]), .size = sizeof(attr),
		.config = perf_config(events[SET_A][0]),
		.sample_period = period, .sample_type = PERF_CONTENT, .inherit = 1,
		.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1, .watermark = 1,
		.wakeup_watermark = WATERMARK(bytes), .use_clockid = traces,
		.clockid = traces ? CLOCK_MONOTONIC : 0,
	};
	struct perf_event_mmap_page *page;

	/* An event of a thread that is inherited has a ring only on one CPU. */
	r->fd = (int)syscall(SYS_perf_event_open, &attr, 0, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		die("perf_event_open: %s", strerror(errno));
	page = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (page == MAP_FAILED)
		die("mmap of the ring: %s", strerror(errno));
	r->page = page;
	r->head = (const volatile u64 *)&page->data_head;
	r->unit = sizeof(struct perf_sample);
	r->room = bytes / sizeof(struct perf_sample);
	must_ioctl(r->fd, PERF_EVENT_IOC_ENABLE, 0);
}

struct perf_lost {
	struct perf_event_header header;
	u64 id, lost;
};

/* Records may be divided by the ring's end, which is a multiple of 8. */
static const void *perf_at(const struct ring *r, u64 offset)
{
	const struct perf_event_mmap_page *page = r->page;

	return (const char *)page + page->data_offset + offset % page->data_size;
}

static u64 consume_perf(struct ring *r)
{
	struct perf_event_mmap_page *page = r->page;
	u64 head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE), lost = 0;
	const struct perf_event_header *header;

	for (; r->read < head; r->read += header->size) {
		header = perf_at(r, r->read);
		if (header->type == PERF_RECORD_LOST)
			lost += *(const u64 *)perf_at(r, r->read + offsetof(struct perf_lost, lost));
		lost += header->type == PERF_RECORD_THROTTLE;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return lost;
}

static u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static u64 time_of_perf(const struct ring *r, u64 n)
{
	const struct perf_event_header *header;
	u64 at;

	for (at = r->read; at < *r->head; at += header->size) {
		header = perf_at(r, at);
		if (header->type == PERF_RECORD_SAMPLE && !n--)
			return *(const u64 *)perf_at(r, at + offsetof(struct perf_sample, time));
	}
	/* the last sample of the mark, where a record of a loss is in its place */
	return clock_ns();
}

static const struct sampling ours = { open_ours, consume_ours, time_of_ours, now };
static const struct sampling perfs = { open_perf, consume_perf, time_of_perf, clock_ns };

static const struct sampling *sampling(void)
{
	return side == &perf_side ? &perfs : &ours;
}

/* ---- threads ------------------------------------------------------------------ */

struct crew {
	unsigned int nr;
	unsigned long work;
	pthread_barrier_t begin, end;
	pthread_t thread[MAX_THREADS];
};

static void *work(void *arg)
{
	struct crew *crew = arg;
	unsigned long n = crew->work / 2;

	pthread_barrier_wait(&crew->begin);
	loop(n);
	pthread_barrier_wait(&crew->end);
	return NULL;
}

/* Return: how long the threads work. */
static u64 run_crew(unsigned int nr, unsigned long instructions)
{
	struct crew crew = { .nr = nr, .work = instructions };
	unsigned int i;
	u64 t0, t1;

	pthread_barrier_init(&crew.begin, NULL, nr + 1);
	pthread_barrier_init(&crew.end, NULL, nr + 1);
	for (i = 0; i < nr; i++)
		if (pthread_create(&crew.thread[i], NULL, work, &crew))
			die("pthread_create: %s", strerror(errno));
	/* All of them wait. */
	msleep(10);
	t0 = now();
	pthread_barrier_wait(&crew.begin);
	pthread_barrier_wait(&crew.end);
	t1 = now();
	for (i = 0; i < nr; i++)
		pthread_join(crew.thread[i], NULL);
	return t1 - t0;
}

/* Repetitions: a tick that comes in one more or less of them is a tenth of a sample's cost. */
#define CREWS		5

static void measure_threads(void *arg)
{
	unsigned int nr = *(const unsigned int *)arg, i;
	struct ring ring = { .fd = -1 };
	u64 without = ~0ULL, with = ~0ULL, time, samples, before;

	run_crew(nr, SAMPLES * PERIOD);
	for (i = 0; i < CREWS; i++) {
		time = run_crew(nr, SAMPLES * PERIOD);
		without = time < without ? time : without;
	}
	sampling()->open(&ring, PERIOD, LARGE_RING);
	run_crew(nr, PERIOD);
	for (i = 0; i < CREWS; i++) {
		before = *ring.head;
		time = run_crew(nr, SAMPLES * PERIOD);
		samples = (*ring.head - before) / ring.unit;
		if (samples < nr * (SAMPLES - 1))
			die("%u threads made only %llu samples", nr, (unsigned long long)samples);
		with = time < with ? time : with;
		sampling()->consume(&ring);
	}
	emit(unit, figure((double)with - without) / (nr * SAMPLES), "sampled_threads.n%u", nr);
}

/* ---- without loss ---------------------------------------------------------------- */

#define MAX_WAKEUPS	500

/* When a reader ran: from the sample that was to wake it, in ns. */
struct wakeup {
	u64 delay;
	u64 waiting;		/* samples in the ring by then */
	u64 lost;
};

struct reader {
	struct ring ring;
	bool stop;
	u64 lost;
	unsigned int nr;
	struct wakeup *wakeups;	/* NULL: not wanted */
};

/* Note that the reader runs, before it consumes, if what the ring holds is why. */
static struct wakeup *note_wakeup(struct reader *r)
{
	u64 samples = (*r->ring.head - r->ring.read) / r->ring.unit;
	struct wakeup *w = &r->wakeups[r->nr];

	if (samples < WATERMARK(r->ring.room) || r->nr == MAX_WAKEUPS)
		return NULL;
	w->waiting = samples;
	w->delay = sampling()->clock() - sampling()->time_of(&r->ring, WATERMARK(r->ring.room) - 1);
	r->nr++;
	return w;
}

/* perf tells of a loss with the first sample after it: that is after the late wake-up. */
static void note_loss(struct reader *r, const struct wakeup *last, u64 lost)
{
	unsigned int late = r->nr - (last && side == &perf_side);

	if (lost && late)
		r->wakeups[late - 1].lost += lost;
}

/* As sched_setattr() has it; the header of the kernel cannot be used beside libc's. */
struct attributes {
	u32 size, policy;
	u64 flags;
	int nice;
	u32 priority;
	u64 runtime, deadline, period;
};

/* It is not sampled: it exists before the event. */
static void *read_ring(void *arg)
{
	struct attributes short_slice = { .size = sizeof(short_slice), .runtime = 100000 };
	struct reader *r = arg;
	struct pollfd fds = { .events = POLLIN };

	if (asks && syscall(SYS_sched_setattr, 0, &short_slice, 0))
		die("sched_setattr: %s", strerror(errno));
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		fds.fd = __atomic_load_n(&r->ring.fd, __ATOMIC_ACQUIRE);
		poll(&fds, 1, 10);
		if (fds.fd >= 0) {
			struct wakeup *w = r->wakeups ? note_wakeup(r) : NULL;
			u64 lost = sampling()->consume(&r->ring);

			r->lost += lost;
			if (r->wakeups)
				note_loss(r, w, lost);
		}
	}
	return NULL;
}

static const unsigned int periods[] = { 20000, 10000, 7000, 5000, 4000, 3000, 2000, 1500, 1000, 700, 500, 350, 250 };

struct held {
	unsigned int period;
	double *best;
};

static int compare_delays(const void *a, const void *b)
{
	const struct wakeup *x = a, *y = b;

	return x->delay < y->delay ? -1 : x->delay > y->delay;
}

/* Print how late the reader ran, and what that cost. */
static void print_wakeups(const struct held *held, struct reader *r, u64 samples, u64 time)
{
	u64 lost = 0, most = 0, with_loss = 0;
	double per_ms = samples / (figure(time) / 1e6);
	unsigned int i;

	qsort(r->wakeups, r->nr, sizeof(*r->wakeups), compare_delays);
	for (i = 0; i < r->nr; i++) {
		lost += r->wakeups[i].lost;
		with_loss += r->wakeups[i].lost != 0;
		most = r->wakeups[i].waiting > most ? r->wakeups[i].waiting : most;
	}
	if (!r->nr)
		return;
	printf("@trace\t%s\t%s slice, period %u: %.1f samples/ms, room for %u, full %.2f ms after the wake-up; %u wake-ups, delays in ms: least %.2f, median %.2f, most %.2f; most waiting %llu, %llu wake-ups too late, %llu lost\n",
	       side->name, asks ? "short" : "usual", held->period, per_ms, r->ring.room,
	       (r->ring.room - WATERMARK(r->ring.room)) / per_ms, r->nr,
	       r->wakeups[0].delay / 1e6, r->wakeups[r->nr / 2].delay / 1e6,
	       r->wakeups[r->nr - 1].delay / 1e6, (unsigned long long)most,
	       (unsigned long long)with_loss, (unsigned long long)lost);
	fflush(stdout);
}

static void measure_held_period(void *arg)
{
	const struct held *held = arg;
	static struct wakeup wakeups[MAX_WAKEUPS];
	struct reader reader = { .ring.fd = -1, .wakeups = traces ? wakeups : NULL };
	struct ring ring = { .fd = -1 };
	pthread_t thread;
	u64 time, samples;

	if (pthread_create(&thread, NULL, read_ring, &reader))
		die("pthread_create: %s", strerror(errno));
	msleep(20);
	sampling()->open(&ring, held->period, SMALL_RING);
	reader.ring.page = ring.page;
	reader.ring.head = ring.head;
	reader.ring.unit = ring.unit;
	reader.ring.room = ring.room;
	__atomic_store_n(&reader.ring.fd, ring.fd, __ATOMIC_RELEASE);
	run_crew(HELD_THREADS, held->period);
	samples = *ring.head;
	time = run_crew(HELD_THREADS, HELD_WORK);
	samples = (*ring.head - samples) / ring.unit;
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	if (traces)
		print_wakeups(held, &reader, samples, time);
	/* perf tells of a loss with the next sample that it can write: there may be none. */
	if (!reader.lost && samples >= HELD_THREADS * (HELD_WORK / held->period - 1))
		*held->best = samples / (figure(time) / 1e9);
}

/*
 * Print the delays of the reader's wake-ups, in lines "@trace", for all periods, without a short
 * slice and with it.
 *
 * Context: as for measure_sampling().
 */
static void trace_held(void)
{
	double best;
	struct held held = { .best = &best };
	unsigned int i, with;

	traces = true;
	for (with = 0; with < 2; with++) {
		asks = with;
		for (i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
			held.period = periods[i];
			in_child(measure_held_period, &held);
		}
	}
}

static void measure_held(void)
{
	double *best = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct held held = { .best = best };
	unsigned int i;

	for (i = 0; i < sizeof(periods) / sizeof(*periods); i++) {
		double before = *best;

		held.period = periods[i];
		in_child(measure_held_period, &held);
		if (*best <= before)
			break;
	}
	emit("samples/s", *best, "samples_held", 0);
	munmap(best, PAGE);
}

#define MAX_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"

static void read_line(const char *path, char *line, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t len = fd < 0 ? -1 : read(fd, line, size - 1);

	if (len < 0)
		die("%s: %s", path, strerror(errno));
	line[len] = '\0';
	close(fd);
}

/* Call a function without a limit of our rate. */
static void call_unlimited(void (*what)(void))
{
	char old[32];

	if (side == &perf_side) {
		what();
		return;
	}
	read_line(MAX_RATE, old, sizeof(old));
	write_file(MAX_RATE, "0");
	what();
	write_file(MAX_RATE, old);
}

static void measure_crews(void)
{
	static const unsigned int numbers[] = { 1, 8, 64 };
	unsigned int i;

	for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		in_child(measure_threads, (void *)&numbers[i]);
	measure_held();
}

/* Context: the side has counters that interrupt; perf's rate is not limited. */
void measure_sampling(void)
{
	progress("samples of several threads");
	call_unlimited(measure_crews);
}

void trace_wakeups(void)
{
	progress("wake-ups of a reader");
	if (side == &perf_side)
		perf_unlimited();
	call_unlimited(trace_held);
}
