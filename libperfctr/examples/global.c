/* SPDX-License-Identifier: GPL-2.0 */
/*
 * usage: global [SAMPLING_INTERVAL_USEC [SECONDS [SAMPLES]]]
 *
 * All CPUs, as programs for perfctr count them: print the instructions of each in user mode,
 * every few seconds.  It needs CAP_PERFMON or CAP_SYS_ADMIN.
 */
#include <libperfctr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CPUS	1024

static struct gperfctr_cpu_state state[MAX_CPUS];
static unsigned int nrcpus;

static int die(const char *call)
{
	perror(call);
	return EXIT_FAILURE;
}

static int allowed(const struct perfctr_cpus_info *info, unsigned int cpu)
{
	return (info->cpus->mask[cpu / 32] & ~info->cpus_forbidden->mask[cpu / 32]) >> cpu % 32 & 1;
}

static int find_cpus(const struct gperfctr *global)
{
	struct perfctr_cpus_info *info = gperfctr_cpus_info(global);
	unsigned int i;

	if (!info)
		return -1;
	perfctr_cpus_info_print(info);
	for (i = 0; i < 32 * info->cpus->nrwords && nrcpus < MAX_CPUS; i++)
		if (allowed(info, i))
			state[nrcpus++].cpu = i;
	free(info);
	return 0;
}

static void print_sample(unsigned int number)
{
	unsigned int i;

	printf("sample %u\n", number);
	for (i = 0; i < nrcpus; i++)
		printf("CPU %u: tsc %.0f instructions %.0f\n", state[i].cpu, (double)state[i].sum.tsc,
		       (double)state[i].sum.pmc[0]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned int interval = argc > 1 ? (unsigned int)atoi(argv[1]) : 1000000;
	unsigned int seconds = argc > 2 ? (unsigned int)atoi(argv[2]) : 5;
	unsigned int samples = argc > 3 ? (unsigned int)atoi(argv[3]) : 0, i, n;
	struct gperfctr_cpu_control control;
	struct perfctr_info info;
	struct gperfctr *global;

	global = gperfctr_open();
	if (!global)
		return die("gperfctr_open");
	if (gperfctr_info(global, &info) < 0)
		return die("gperfctr_info");
	perfctr_info_print(&info);
	if (find_cpus(global) < 0)
		return die("gperfctr_cpus_info");

	memset(&control, 0, sizeof(control));
	control.cpu_control.tsc_on = 1;
	control.cpu_control.nractrs = 1;
	control.cpu_control.evntsel[0] = 0x004100c0;	/* the same for Intel and AMD */
	perfctr_cpu_control_print(&control.cpu_control);
	for (i = 0; i < nrcpus; i++) {
		control.cpu = state[i].cpu;
		if (gperfctr_control(global, &control) < 0)
			return die("gperfctr_control");
	}
	if (gperfctr_start(global, interval) < 0)
		return die("gperfctr_start");
	for (n = 1; !samples || n <= samples; n++) {
		sleep(seconds);
		for (i = 0; i < nrcpus; i++)
			if (gperfctr_read(global, &state[i]) < 0)
				return die("gperfctr_read");
		print_sample(n);
	}
	gperfctr_stop(global);
	gperfctr_close(global);
	return EXIT_SUCCESS;
}
