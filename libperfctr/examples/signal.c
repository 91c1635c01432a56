/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An i-mode counter: a signal after each 100,000 instructions, whose handler resumes the
 * counters.
 */
#include <errno.h>
#include <libperfctr.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct vperfctr *self;
static volatile int signals;

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	(void)sig;
	(void)context;
	if (si->si_code != SI_PMC_OVF || si->si_pmc_ovf_mask != 1)
		abort();
	signals++;
	if (vperfctr_iresume(self) < 0)
		abort();
}

/* Count instructions in user mode, with the interrupt enabled. */
static void instructions_in_user_mode(struct perfctr_cpu_control *cpu)
{
	struct perfctr_info info;

	if (vperfctr_info(self, &info) < 0) {
		perror("vperfctr_info");
		exit(EXIT_FAILURE);
	}
	switch (info.cpu_type) {
	case PERFCTR_X86_INTEL_P4:
	case PERFCTR_X86_INTEL_P4M2:
	case PERFCTR_X86_INTEL_P4M3:
		cpu->pmc_map[0] = 12;
		cpu->evntsel[0] = 0x04039000;
		cpu->p4.escr[0] = 0x04000204;
		break;
	default:
		cpu->evntsel[0] = 0x005100c0;
	}
}

int main(void)
{
	struct vperfctr_control control;
	struct perfctr_sum_ctrs sum;
	struct sigaction action;
	unsigned long n = 1000000;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_overflow;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGIO, &action, NULL);

	self = vperfctr_open();
	if (!self) {
		perror("vperfctr_open");
		return EXIT_FAILURE;
	}
	memset(&control, 0, sizeof(control));
	control.si_signo = SIGIO;
	control.cpu_control.tsc_on = 1;
	control.cpu_control.nrictrs = 1;
	instructions_in_user_mode(&control.cpu_control);
	control.cpu_control.ireset[0] = -100000;
	if (vperfctr_control(self, &control) < 0) {
		perror("vperfctr_control");
		return EXIT_FAILURE;
	}
	__asm__ __volatile__("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
	if (vperfctr_stop(self) < 0 || vperfctr_read_ctrs(self, &sum) < 0) {
		perror("vperfctr_stop");
		return EXIT_FAILURE;
	}
	printf("%lu instructions, %d signals\n", (unsigned long)sum.pmc[0], signals);
	vperfctr_unlink(self);
	vperfctr_close(self);
	return EXIT_SUCCESS;
}
