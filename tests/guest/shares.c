// SPDX-License-Identifier: GPL-2.0
/*
 * A program of known shares: ten() to forty() execute 10, 20, 30 and 40 percent of its
 * instructions.  left(), middle() and right() call each of them once, twice and three times.
 * Four threads and two children do that ten times each, with 12 million instructions.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "turns.h"

#define NR_THREADS	4	/* with the first one */
#define NR_CHILDREN	2

/* A frame: a function without one is missing as a caller in chains. */
#define SPIN(percent) do {						\
	unsigned long turns = (percent) * 1000UL;			\
	__asm__ volatile(LOOP : "+r" (turns)				\
			 : "r" (__builtin_frame_address(0)) : "cc");	\
} while (0)

static NOT_INLINED void ten(void) { SPIN(10); }
static NOT_INLINED void twenty(void) { SPIN(20); }
static NOT_INLINED void thirty(void) { SPIN(30); }
static NOT_INLINED void forty(void) { SPIN(40); }

static inline __attribute__((always_inline)) void call_all(unsigned int times)
{
	volatile unsigned int left_to_do = times;

	while (left_to_do) {
		ten();
		twenty();
		thirty();
		forty();
		left_to_do--;
	}
}

static NOT_INLINED void left(void) { call_all(10); }
static NOT_INLINED void middle(void) { call_all(20); }
static NOT_INLINED void right(void) { call_all(30); }

static NOT_INLINED void *work(void *arg)
{
	left();
	middle();
	right();
	return arg;
}

int main(void)
{
	pthread_t thread[NR_THREADS - 1];
	int i;

	for (i = 0; i < NR_CHILDREN; i++)
		if (!fork()) {
			work(NULL);
			_exit(0);
		}
	for (i = 0; i < NR_THREADS - 1; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	work(NULL);
	for (i = 0; i < NR_THREADS - 1; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < NR_CHILDREN; i++)
		wait(NULL);
	return 0;
}
