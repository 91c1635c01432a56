// SPDX-License-Identifier: GPL-2.0
/*
 * The same as profiler.c without a signal for each sample: the kernel puts them
 * into a ring, which the program looks at when it has done its work.  (A profiler
 * of another process would poll the descriptor, and read as they come.)
 *
 *	cc -O2 -o sampler sampler.c -lvperfctr
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vperfctr.h>

#define PERIOD	20000

/* ---- what is profiled ------------------------------------------------------ */

#define IN(name)	__attribute__((noinline, section(#name)))

static void IN(hot_code) hot(void)
{
	for (unsigned long i = 0; i < 3000000; i++)
		__asm__ volatile("");
}

static void IN(cold_code) cold(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		__asm__ volatile("");
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

/* Instructions in user mode: <linux/vperfctr.h> says what an evntsel is. */
static void add_instructions(struct vperfctr_control *control, const struct vperfctr_info *info)
{
#if defined(__aarch64__)
	(void)info;
	vperfctr_control_add_imode(control, 0, 0x80000008, PERIOD);
#else
	/* Fixed counter 0, or else general counter 0. */
	if (info->fixed_mask & 1)
		vperfctr_control_add_imode(control, VPERFCTR_FIXED | 0, 2, PERIOD);
	else
		vperfctr_control_add_imode(control, 0, 0x4100c0, PERIOD);
#endif
}

static void start(struct vperfctr **v)
{
	/* Each sample has the sum of counter 0, too. */
	struct vperfctr_ring ring = { .nrsamples = 1024, .watermark = 512, .nrsums = 1 };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];
	struct vperfctr_info info;

	check(vperfctr_info(&info, 0), "the module");
	check(vperfctr_open(v, VPERFCTR_OPEN_CREAT), "a state");
	check(vperfctr_ring_open(*v, &ring), "the ring");

	vperfctr_control_init(&control, ctr);
	add_instructions(&control, &info);
	control.flags = VPERFCTR_CONTROL_RING;
	check(vperfctr_control(*v, &control), "the control");
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
	check(vperfctr_stop(v), "the end");

	nr = vperfctr_ring_nr(v);
	for (n = 0; n < nr; n++) {
		sample = vperfctr_ring_sample(v, n);
		histogram[place(sample->ip)]++;
		sum = sample->sums[0];
	}
	check(vperfctr_ring_consume(v, nr), "giving samples back");

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
