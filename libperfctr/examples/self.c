/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A thread that counts itself, as programs for perfctr do it: print how many instructions
 * loops of 1000 and of 2000 rounds take.
 */
#include <libperfctr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In user mode, if the processor can tell it apart. */
static void count_instructions(const struct perfctr_info *info, struct perfctr_cpu_control *cpu)
{
	switch (info->cpu_type) {
	case PERFCTR_X86_INTEL_P5:
	case PERFCTR_X86_INTEL_P5MMX:
	case PERFCTR_X86_CYRIX_MII:
		cpu->pmc_map[0] = 0;
		cpu->evntsel[0] = 0x96;
		break;
	case PERFCTR_X86_WINCHIP_C6:
		cpu->pmc_map[0] = 0;
		cpu->evntsel[0] = 0x02;
		break;
	case PERFCTR_X86_WINCHIP_2:
		cpu->pmc_map[0] = 0;
		cpu->evntsel[0] = 0x16;
		break;
	case PERFCTR_X86_VIA_C3:
		cpu->pmc_map[0] = 1;		/* the only counter */
		cpu->evntsel[0] = 0xc0;
		break;
	case PERFCTR_X86_INTEL_P4:
	case PERFCTR_X86_INTEL_P4M2:
	case PERFCTR_X86_INTEL_P4M3:
		cpu->pmc_map[0] = 12 | 0x80000000;	/* fast RDPMC */
		cpu->evntsel[0] = 0x00039000;
		cpu->p4.escr[0] = 0x04000204;		/* instr_retired, not tagged */
		break;
	default:
		cpu->pmc_map[0] = 0;
		cpu->evntsel[0] = 0x004100c0;	/* the same for Intel and AMD */
	}
}

static void loop(unsigned long n)
{
	__asm__ __volatile__("1: dec %0; jnz 1b" : "+r" (n) : : "cc");
}

static unsigned long measure(struct vperfctr *self, unsigned long rounds)
{
	struct perfctr_sum_ctrs before, after;

	if (vperfctr_read_ctrs(self, &before) < 0)
		perror("vperfctr_read_ctrs");
	loop(rounds);
	if (vperfctr_read_ctrs(self, &after) < 0)
		perror("vperfctr_read_ctrs");
	return (unsigned long)(after.pmc[0] - before.pmc[0]);
}

int main(void)
{
	struct vperfctr_control control;
	struct perfctr_info info;
	struct vperfctr *self;

	self = vperfctr_open();
	if (!self) {
		perror("vperfctr_open");
		return EXIT_FAILURE;
	}
	if (vperfctr_info(self, &info) < 0) {
		perror("vperfctr_info");
		return EXIT_FAILURE;
	}
	perfctr_info_print(&info);

	memset(&control, 0, sizeof(control));
	control.cpu_control.tsc_on = !!(info.cpu_features & PERFCTR_FEATURE_RDTSC);
	if (perfctr_info_nrctrs(&info)) {
		control.cpu_control.nractrs = 1;
		count_instructions(&info, &control.cpu_control);
	}
	printf("\n");
	perfctr_cpu_control_print(&control.cpu_control);
	if (vperfctr_control(self, &control) < 0) {
		perror("vperfctr_control");
		return EXIT_FAILURE;
	}

	if (control.cpu_control.nractrs) {
		measure(self, 1);	/* a function's first call takes longer */
		printf("\n1000 rounds\t\t%lu\n", measure(self, 1000));
		printf("2000 rounds\t\t%lu\n", measure(self, 2000));
	}
	printf("\nTSC\t\t\t%lu\n", (unsigned long)vperfctr_read_tsc(self));

	if (vperfctr_stop(self) < 0 || vperfctr_unlink(self) < 0) {
		perror("vperfctr_unlink");
		return EXIT_FAILURE;
	}
	vperfctr_close(self);
	return EXIT_SUCCESS;
}
