// SPDX-License-Identifier: GPL-2.0
/* Scenarios of whole kinds of properties, each of which "make mutants" found without a guard. */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

#ifdef SIM_X86
/* ---- a right that ends in a full memory cgroup ------------------------------------------------ */

static unsigned int nr_ready;
static bool may_end;

static void run_on(unsigned int cpu)
{
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[0] = BIT(cpu);
	user_sleep(1);
}

static void be_busy(void *arg)
{
	run_on((unsigned long)arg);
	user_work(1);
	nr_ready++;
	while (!READ_ONCE(may_end))
		user_work(5);
}

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static u64 switches_of_pce_thread(unsigned long cpu)
{
	struct task_struct *task;

	for_each_process(task) {
		if (!strcmp(task->sim->name, "vperfctr/N") && task->sim->arg == (void *)cpu)
			return switches_of(task);
	}
	sim_fail("no thread of CPU %lu", cpu);
	return 0;
}

/* The process has left CPU 2, which a stranger uses.  Another thread runs on CPU 1. */
static void unmap_without_memory(void *arg)
{
	struct task_struct *beside, *stranger;
	struct vm_area_struct *vma;
	u64 before, switches;
	bool stays;
	int fd;

	run_on(2);
	user_work(5);
	beside = user_thread("beside", be_busy, (void *)1UL);
	run_on(0);
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	stranger = sim_process("stranger", 1001, be_busy, (void *)2UL);
	while (READ_ONCE(nr_ready) < 2)
		user_work(5);
	before = switches_of_pce_thread(2);
	switches = switches_of(stranger);
	stays = sim_cpus[2].curr == stranger;
	sim_failures.charge = true;
	user_munmap(vma);
	sim_failures.charge = false;
	/* Until a worker has looked at the CPUs once more. */
	user_sleep(50000);
	/* A kernel thread on CPU 2 may have the process's memory, as far as the module knows. */
	stays &= switches_of(stranger) == switches;
	WRITE_ONCE(may_end, true);
	user_wait(beside);
	user_wait(stranger);
	user_sleep(NSEC_PER_SEC / 2);
	sim_require(!stays || switches_of_pce_thread(2) == before, "CPU 2, of another process, has been disturbed");
	user_close(fd);
	(void)arg;
}

void sim_full_cgroup(void)
{
	user_wait(sim_process("unmaps", 1000, unmap_without_memory, NULL));
}
#endif
