// SPDX-License-Identifier: GPL-2.0
/*
 * A program that profiles itself: after each PERIOD instructions in user mode it
 * gets a signal, whose handler records the interrupted function.
 *
 *	cc -O2 -D_GNU_SOURCE -o profiler profiler.c -lvperfctr-event -lvperfctr
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vperfctr-event.h>

#define PERIOD	20000
#define SIGNO	SIGPROF

/* The address of the instruction that a signal's handler interrupted. */
#if defined(__aarch64__)
#define INTERRUPTED(uc)	((uc)->uc_mcontext.pc)
#elif defined(__riscv)
#define INTERRUPTED(uc)	((uc)->uc_mcontext.__gregs[REG_PC])
#elif defined(__powerpc64__)
#define INTERRUPTED(uc)	((uc)->uc_mcontext.gp_regs[32])	/* PT_NIP */
#elif defined(__powerpc__)
#define INTERRUPTED(uc)	((uc)->uc_mcontext.uc_regs->gregs[32])
#elif defined(__i386__)
#define INTERRUPTED(uc)	((uc)->uc_mcontext.gregs[REG_EIP])
#else
#define INTERRUPTED(uc)	((uc)->uc_mcontext.gregs[REG_RIP])
#endif

static struct vperfctr *v;

/* ---- the profiled code ----------------------------------------------------- */

/* Put a function into its own section: the linker defines symbols for its start and end. */
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
static volatile unsigned long histogram[NR];

/* ---- the profiler ---------------------------------------------------------- */

static void on_overflow(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *uc = context;
	const char *ip = (const char *)INTERRUPTED(uc);
	int saved = errno;

	(void)sig;
	/* kill(1) sends the same signal. */
	if (info->si_code != SI_PMC_OVF)
		return;
	/* There is one counter, number 0. */
	if (info->si_pmc_ovf_mask & 1) {
		if (ip >= __start_hot_code && ip < __stop_hot_code)
			histogram[HOT]++;
		else if (ip >= __start_cold_code && ip < __stop_cold_code)
			histogram[COLD]++;
		else
			histogram[ELSEWHERE]++;
	}
	/* The counters are stopped until this call. */
	vperfctr_iresume(v);
	errno = saved;
}

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "profiler: %s: %s\n", what, strerror(-err));
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
		fprintf(stderr, "profiler: %s\n", why.text);
		exit(1);
	}
	vperfctr_control_add_ctr_imode(control, &ctr, PERIOD);
}

static void start(void)
{
	struct sigaction sa = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];

	check(vperfctr_open(&v, VPERFCTR_OPEN_CREAT), "cannot open a state");
	if (sigaction(SIGNO, &sa, NULL)) {
		perror("profiler: sigaction");
		exit(1);
	}

	vperfctr_control_init(&control, ctr);
	add_instructions(&control);
	control.si_signo = SIGNO;
	check(vperfctr_control(v, &control), "cannot count");
}

int main(void)
{
	unsigned long most = 1;
	int i, bar;

	start();
	hot();
	cold();
	check(vperfctr_unlink(v), "cannot stop");
	vperfctr_close(v);

	for (i = 0; i < NR; i++)
		most = histogram[i] > most ? histogram[i] : most;
	for (i = 0; i < NR; i++) {
		printf("%-12s %6lu  ", names[i], histogram[i]);
		for (bar = 0; bar < (int)(histogram[i] * 30 / most); bar++)
			putchar('#');
		putchar('\n');
	}
	return 0;
}
