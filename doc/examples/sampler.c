// SPDX-License-Identifier: GPL-2.0
/*
 * A program that profiles itself without a signal for each sample: compare
 * profiler.c.  The kernel writes samples into a ring, and the program reads the ring
 * when its work is done.  A profiler of another process would poll the descriptor,
 * and read samples while the process runs.
 *
 *	cc -O2 -o sampler sampler.c -lvperfctr-event -lvperfctr
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vperfctr-event.h>

#define PERIOD	20000

/* ---- the profiled code ----------------------------------------------------- */

#define IN(name)	__attribute__((noinline, section(#name)))

static void IN(hot_code) hot(void)
{
	for (unsigned long i = 0; i < 3000000; i++)
		__asm__ volatile("" : "+r" (i));
}

static void IN(cold_code) cold(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		__asm__ volatile("" : "+r" (i));
}

extern const char __start_hot_code[], __stop_hot_code[];
extern const char __start_cold_code[], __stop_cold_code[];

enum { HOT, COLD, ELSEWHERE, NR };

static const char *const names[NR] = { "hot", "cold", "elsewhere" };

static int place(uint64_t ip)
{
	const char *at = (const char *)(uintptr_t)ip;

	if (at >= __start_hot_code && at < __stop_hot_code)
		return HOT;
	if (at >= __start_cold_code && at < __stop_cold_code)
		return COLD;
	return ELSEWHERE;
}

/* ---- the profiler ---------------------------------------------------------- */

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "sampler: %s: %s\n", what, strerror(-err));
	exit(1);
}

/* Append an i-mode counter of instructions in user mode. */
static void add_instructions(struct vperfctr_control *control)
{
	struct vperfctr_event event;
	struct vperfctr_info info;
	struct vperfctr_ctr ctr;
	struct vperfctr_why why;

	check(vperfctr_info(&info, 0), "no information");
	if (vperfctr_event(&event, "instructions:u", &info, &why) ||
	    vperfctr_event_assign(&ctr, &event, 1, &info, &why)) {
		fprintf(stderr, "sampler: %s\n", why.text);
		exit(1);
	}
	vperfctr_control_add_ctr_imode(control, &ctr, PERIOD);
}

static void start(struct vperfctr **v)
{
	/* Each sample includes the sum of counter 0. */
	struct vperfctr_ring ring = { .nrsamples = 1024, .watermark = 512, .nrsums = 1 };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];

	check(vperfctr_open(v, VPERFCTR_OPEN_CREAT), "cannot open a state");
	check(vperfctr_ring_open(*v, &ring), "cannot make a ring");

	vperfctr_control_init(&control, ctr);
	add_instructions(&control);
	control.flags = VPERFCTR_CONTROL_RING;
	check(vperfctr_control(*v, &control), "cannot count");
}

int main(void)
{
	unsigned long histogram[NR] = { 0 }, most = 1;
	const struct vperfctr_sample *sample;
	uint64_t n, nr, sum = 0;
	struct vperfctr *v;
	int i, bar;

	start(&v);
	hot();
	cold();
	check(vperfctr_stop(v), "cannot stop");

	nr = vperfctr_ring_nr(v);
	for (n = 0; n < nr; n++) {
		sample = vperfctr_ring_sample(v, n);
		histogram[place(sample->ip)]++;
		sum = sample->sums[0];
	}
	check(vperfctr_ring_consume(v, nr), "cannot consume the samples");

	for (i = 0; i < NR; i++)
		most = histogram[i] > most ? histogram[i] : most;
	for (i = 0; i < NR; i++) {
		printf("%-12s %6lu  ", names[i], histogram[i]);
		for (bar = 0; bar < (int)(histogram[i] * 30 / most); bar++)
			putchar('#');
		putchar('\n');
	}
	printf("%llu instructions to the last of %llu samples; %llu dropped\n",
	       (unsigned long long)sum, (unsigned long long)nr,
	       (unsigned long long)vperfctr_ring_dropped(v));
	vperfctr_unlink(v);
	vperfctr_close(v);
	return 0;
}
