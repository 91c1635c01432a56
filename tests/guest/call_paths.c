// SPDX-License-Identifier: GPL-2.0
/*
 * usage: call_paths PERIOD LIBRARY
 *
 * Execute a loop of instructions at the end of several paths of calls: through libc, from a
 * signal handler, in a thread, in a child, and through a library that is loaded while the
 * program runs.  The number of instructions is a multiple of the period.  Wherever a period
 * begins, the loop of each path has as many samples as periods.
 *
 * The paths, and the periods of each, are in test_call_paths.sh.  The status is 77 where the
 * kernel has no futex() for the program, without which glibc's threads abort it: that of 32-bit
 * programs needs CONFIG_COMPAT_32BIT_TIME.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "turns.h"

/* A call before this is no tail call. */
#define NO_TAIL_CALL()	__asm__ volatile("" ::: "memory")

/* Programs without frames have none here, either. */
#ifdef WITH_FRAMES
#define FRAME		__builtin_frame_address(0)
#else
#define FRAME		NULL
#endif

static unsigned long period;

static NOT_INLINED void spin(unsigned int periods)
{
	unsigned long turns = period * periods / 2;

	__asm__ volatile(LOOP : "+r" (turns) : "r" (FRAME) : "cc", "memory");
}

/* Much on the stack, and registers that the caller needs. */
static NOT_INLINED void inner(unsigned int periods)
{
	volatile char buffer[1500];

	memset((void *)buffer, 1, sizeof(buffer));
	spin(periods);
	NO_TAIL_CALL();
}

static NOT_INLINED void middle(unsigned int periods)
{
	inner(periods);
	NO_TAIL_CALL();
}

static NOT_INLINED void outer(unsigned int periods)
{
	middle(periods);
	NO_TAIL_CALL();
}

static int compare(const void *a, const void *b)
{
	spin(20);
	return *(const int *)a - *(const int *)b;
}

/* One comparison. */
static NOT_INLINED void put_in_order(void)
{
	int numbers[2] = { 2, 1 };

	qsort(numbers, 2, sizeof(numbers[0]), compare);
	NO_TAIL_CALL();
}

static void on_signal(int sig)
{
	(void)sig;
	spin(24);
	NO_TAIL_CALL();
}

static NOT_INLINED void interrupted(void)
{
	kill(getpid(), SIGUSR1);
	NO_TAIL_CALL();
}

static void *in_thread(void *arg)
{
	spin(28);
	NO_TAIL_CALL();
	return arg;
}

static NOT_INLINED void in_child(void)
{
	spin(32);
	NO_TAIL_CALL();
}

static void from_library(void)
{
	spin(36);
	NO_TAIL_CALL();
}

static NOT_INLINED int with_library(const char *name)
{
	void *library = dlopen(name, RTLD_NOW);
	void (*call)(void (*fn)(void));

	if (!library)
		return 1;
	*(void **)&call = dlsym(library, "library_calls");
	call(from_library);
	NO_TAIL_CALL();
	return 0;
}

static NOT_INLINED void look_at_clock(void)
{
	struct timespec ts;
	unsigned int i;

	for (i = 0; i < 3000; i++)
		clock_gettime(CLOCK_MONOTONIC, &ts);
	NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
	unsigned int word = 0;
	pthread_t thread;

	if (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) < 0)
		return 77;
	period = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (!period)
		return 2;
	outer(16);
	put_in_order();
	signal(SIGUSR1, on_signal);
	interrupted();
	if (pthread_create(&thread, NULL, in_thread, NULL) || pthread_join(thread, NULL))
		return 3;
	if (!fork()) {
		in_child();
		_exit(0);
	}
	if (wait(NULL) < 0 || (argc > 2 && with_library(argv[2])))
		return 4;
	look_at_clock();
	return 0;
}
