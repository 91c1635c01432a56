// SPDX-License-Identifier: GPL-2.0
/*
 * usage: loads MILLISECONDS [wait]
 *
 * The first thread, a second one and a child process each execute hot() for three quarters of that
 * time on a CPU, and cold() for one quarter, called by work().  The child executes this program
 * again, with the name "other".  With "wait", all this happens when there is a byte on standard
 * input.  Exits with 3.
 *
 * The turns of the loops are calibrated: the kernel, which knows the time, is not asked meanwhile.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* noipa: the compiler makes one of two functions that are the same. */
#define NOINLINE	__attribute__((noinline, noclone, noipa))
/* A call before this is no tail call. */
#define NO_TAIL_CALL()	__asm__ volatile("" ::: "memory")

static unsigned long turns_per_ms;

/*
 * Not a function: reports name inlined ones, too.  The frame, without which the caller is missing
 * in chains, is one that the compiler cannot leave out.
 */
#define TURN(turns) do { \
	void *frame = __builtin_frame_address(0); \
	unsigned long turn; \
	for (turn = (turns); turn; turn--) \
		__asm__ volatile("" : "+r" (turn) : "r" (frame)); \
} while (0)

static NOINLINE void hot(unsigned long ms)
{
	TURN(ms * turns_per_ms);
	NO_TAIL_CALL();
}

static NOINLINE void cold(unsigned long ms)
{
	TURN(ms * turns_per_ms);
	NO_TAIL_CALL();
}

static NOINLINE void work(unsigned long ms)
{
	hot(ms * 3 / 4);
	cold(ms / 4);
	NO_TAIL_CALL();
}

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/*
 * Take the best of several measurements: other work on the machine can only make one slower.  So
 * the loops take at least the time that is asked for.
 */
static void calibrate(void)
{
	unsigned long turns = 1000;
	double start, ms, best = 0;
	int i;

	for (i = 0; i < 8; i++) {
		do {
			start = cpu_ms();
			TURN(turns);
			ms = cpu_ms() - start;
			if (ms < 1)
				turns *= 2;
		} while (ms < 1);
		if ((double)turns / ms > best)
			best = (double)turns / ms;
	}
	turns_per_ms = (unsigned long)best;
}

static void *work_named(void *arg)
{
	prctl(PR_SET_NAME, "second");
	work(*(unsigned long *)arg);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	pthread_t thread;
	char byte;
	pid_t pid;

	if (argc > 2 && !strcmp(argv[2], "wait") && read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	calibrate();
	if (!strcmp(argv[0], "other")) {
		work(ms);
		return 0;
	}
	if (pthread_create(&thread, NULL, work_named, &ms))
		return 1;
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "other", argv[1], NULL);
		_exit(1);
	}
	work(ms);
	pthread_join(thread, NULL);
	waitpid(pid, NULL, 0);
	return 3;
}
