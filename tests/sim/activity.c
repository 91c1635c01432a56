// SPDX-License-Identifier: GPL-2.0
/*
 * Whose activity each counter register holds.  User mode that may read the counters of its CPU must
 * find none of another process's there.
 *
 * A register that changes while instructions run has activity of the process that runs.  So has one
 * that the module loads for it, as a state continues from its own value.  A register that has
 * been cleared has none.
 */
#include "sim.h"

static struct activity {
	u64 value[SIM_MAX_COUNTERS];
	pid_t process[SIM_MAX_COUNTERS];	/* 0: none */
	const struct mm_struct *mm[SIM_MAX_COUNTERS];
} activity[NR_CPUS];

/* Processes that share their memory are one. */
static pid_t this_process(void)
{
	const struct signal_struct *process = current->signal;

	return !process ? current->pid : process->shares ? process->shares : process->pid;
}

void sim_note_activity(void)
{
	u64 value[SIM_MAX_COUNTERS] = {}, written = sim_counter_values(value);
	struct activity *a = &activity[sim_cpu];
	unsigned int i;

	if (!written && !memcmp(value, a->value, sizeof(value)))
		return;
	for (i = 0; i < SIM_MAX_COUNTERS; i++) {
		if (value[i] == a->value[i] && !(written & BIT_ULL(i)))
			continue;
		a->value[i] = value[i];
		a->process[i] = value[i] ? this_process() : 0;
		a->mm[i] = current->mm;
	}
}

static void check_activity(void)
{
	unsigned int i;

	for (i = 0; i < SIM_MAX_COUNTERS; i++) {
		pid_t process = activity[sim_cpu].process[i];

		/* Processes that share an mm see all of each other's memory. */
		sim_require(!process || process == this_process() ||
			    (current->mm && activity[sim_cpu].mm[i] == current->mm),
			    "process %d may read counter %u of CPU %u, which process %d has used",
			    this_process(), i, sim_cpu, process);
	}
}

void sim_run_and_look(u64 instructions, bool kernel)
{
	sim_note_activity();
	if (!kernel && sim_user_reads())
		check_activity();
	sim_run_instructions(instructions, kernel);
	sim_note_activity();
}
