// SPDX-License-Identifier: GPL-2.0
/*
 * usage: tree PERIOD [THREADS [wait]]
 *
 * Four threads, or that many, and two children execute a loop of instructions whose number is
 * a multiple of the period, and so does the first thread.  Wherever a period begins, each
 * thread has as many samples in the loop as periods.  With "wait", a byte on standard input
 * starts all this, when the threads are there.
 *
 * Print "loop START END CALL": the loop's addresses, and where it returns to.  Then print
 * for each thread: "thread PID TID PERIODS".
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS	64
#define NR_CHILDREN	2

extern const char loop_start[], loop_end[], loop_call[];

static unsigned long period;
static pthread_barrier_t barrier;

/* Two instructions in each turn.  The address of a local label may be that of its section. */
#if defined(__x86_64__) || defined(__i386__)
#define LOOP	".globl loop_start, loop_end; loop_start: dec %0; jnz loop_start; loop_end:"
#elif defined(__riscv)
#define LOOP	".globl loop_start, loop_end; loop_start: addi %0, %0, -1; bnez %0, loop_start; loop_end:"
#elif defined(__powerpc__)
#define LOOP	".globl loop_start, loop_end; loop_start: addic. %0, %0, -1; bne loop_start; loop_end:"
#else
#define LOOP	".globl loop_start, loop_end; loop_start: subs %0, %0, #1; b.ne loop_start; loop_end:"
#endif

static void __attribute__((noinline, noclone)) spin(unsigned long turns)
{
	/* Makes the function have a frame, without which its caller is missing in chains. */
	void *frame = __builtin_frame_address(0);

	__asm__ volatile(LOOP : "+r" (turns) : "r" (frame) : "cc", "memory");
}

/* Not a tail call. */
static void __attribute__((noinline, noclone)) work(unsigned int periods)
{
	spin(period * periods / 2);
	__asm__ volatile(".globl loop_call; loop_call:");
}

static void print_thread(unsigned int periods)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "thread %d %d %u\n", (int)getpid(),
			 (int)syscall(SYS_gettid), periods);

	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(1);
}

static void *run_thread(void *arg)
{
	unsigned int i = (unsigned int)(size_t)arg, periods = 20 + 10 * i;
	char name[16];

	snprintf(name, sizeof(name), "worker %u", i);
	pthread_setname_np(pthread_self(), name);
	pthread_barrier_wait(&barrier);
	work(periods);
	print_thread(periods);
	return NULL;
}

static void run_children(void)
{
	unsigned int i, periods;

	for (i = 0; i < NR_CHILDREN; i++) {
		periods = 34 + 4 * i;
		if (!fork()) {
			work(periods);
			print_thread(periods);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 2 ? (unsigned int)atoi(argv[2]) : 4, i;
	pthread_t thread[MAX_THREADS];
	char byte;

	period = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	if (!period || nr > MAX_THREADS)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("loop %lx %lx %lx\n", (unsigned long)loop_start, (unsigned long)loop_end,
	       (unsigned long)loop_call);
	pthread_barrier_init(&barrier, NULL, nr + 1);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread[i], NULL, run_thread, (void *)(size_t)i))
			return 1;
	if (argc > 3 && read(STDIN_FILENO, &byte, 1) != 1)
		return 1;
	pthread_barrier_wait(&barrier);
	work(10);
	print_thread(10);
	run_children();
	for (i = 0; i < nr; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
