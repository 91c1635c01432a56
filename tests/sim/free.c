// SPDX-License-Identifier: GPL-2.0
/*
 * Scenarios of counters that keep running when their owner is switched out, as no process
 * can see them.  activity.c fails a run in which a process finds what they have counted.
 */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

/* The level of watchers has fallen that long after the last unmapping.  All sleep meanwhile. */
#define FALLS_NS	(2500ULL * NSEC_PER_MSEC)
#define PHASES		2

static bool may_end;

/* Work in each phase, and sleep between them. */
static void work_in_phases(void *arg)
{
	unsigned int phase, i;

	for (phase = 0; phase < PHASES; phase++) {
		for (i = 0; i < 15; i++) {
			user_work(1 + sim_random(5));
			if (arg)
				user_sleep(1 + sim_random(300));
		}
		if (phase + 1 < PHASES)
			user_sleep(FALLS_NS);
	}
}

static void count_in_phases(void *arg)
{
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	work_in_phases((void *)1UL);
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

static void only_work(void *arg)
{
	while (!READ_ONCE(may_end))
		user_work(5);
	(void)arg;
}

static void wait_for(struct task_struct **task, unsigned int n)
{
	while (n)
		user_wait(task[--n]);
}

static unsigned int register_writes(void)
{
#ifdef SIM_X86
	return model_wrmsrs(&model.cpu[0]);
#else
	return model.cpu[0].writes;
#endif
}

/* ---- no process looks -------------------------------------------------------------- */

/*
 * A thread that counts takes turns with a stranger.  Its switches write no register, and its
 * counters run on.
 */
static void switch_freely(void *arg)
{
	unsigned int i, writes;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	user_work(5);
	writes = register_writes();
	for (i = 0; i < 5; i++) {
		user_sleep(100);
		user_work(5);
	}
	writes = register_writes() - writes;
	sim_require(!writes, "%u registers are written in five switches", writes);
	sim_require(sim_cpus[0].stats.switches > 5, "there were no switches");
	sim_check_counted(fd, before);
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	sim_require(sim_counts(), "the counters stop");
	user_close(fd);
	(void)arg;
}

void sim_free_alone(void)
{
	struct task_struct *task[2];

	may_end = false;
	task[0] = sim_process("works", 1001, only_work, NULL);
	task[1] = sim_process("counts", 1000, switch_freely, NULL);
	user_wait(task[1]);
	WRITE_ONCE(may_end, true);
	user_wait(task[0]);
}

/* ---- the first look -------------------------------------------------------------- */

/* It may RDPMC while it has its page, and runs on any CPU, where strangers have counted. */
static void map_and_look(void *arg)
{
	struct vm_area_struct *vma;
	unsigned int i, n;
	u64 before;
	int fd;

	for (i = 0; i < PHASES; i++) {
		user_sleep(1 + sim_random(2000));
		fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
		if (i & 1)
			must(sim_control(fd, 0));
		vma = sim_must_map(fd, 0, PAGE_SIZE);
		if (!(i & 1))
			must(sim_control(fd, 0));
		before = current->sim->executed;
		for (n = 0; n < 6; n++) {
			user_work(1 + sim_random(4));
			user_sleep(1 + sim_random(200));
		}
		sim_check_counted(fd, before);
		user_munmap(vma);
		user_close(fd);
		if (i + 1 < PHASES)
			user_sleep(FALLS_NS);
	}
	(void)arg;
}

void sim_free_mapped(void)
{
	struct task_struct *task[4];

	task[0] = sim_process("counts", 1000, count_in_phases, NULL);
	task[1] = sim_process("counts", 1001, count_in_phases, NULL);
	task[2] = sim_process("works", 1002, work_in_phases, NULL);
	task[3] = sim_process("looks", 1003, map_and_look, NULL);
	wait_for(task, 4);
}

/* Two that begin to look at the same time. */
void sim_free_mapped_twice(void)
{
	struct task_struct *task[4];

	task[0] = sim_process("counts", 1000, count_in_phases, NULL);
	task[1] = sim_process("works", 1002, work_in_phases, NULL);
	task[2] = sim_process("looks", 1003, map_and_look, NULL);
	task[3] = sim_process("looks", 1004, map_and_look, NULL);
	wait_for(task, 4);
}

/* It has counted on a CPU to which it does not come back. */
static void count_once(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(sim_control(fd, 0));
	user_work(5);
	while (!READ_ONCE(may_end))
		user_sleep(20000);
	user_close(fd);
	(void)arg;
}

static void look_everywhere(void *arg)
{
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	user_sleep(500 + sim_random(1000));
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	for (i = 0; i < 20; i++) {
		user_work(2);
		user_sleep(1 + sim_random(300));
	}
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/* Only strangers run where a thread has counted, until a process looks there. */
void sim_free_left(void)
{
	struct task_struct *task[5];

	may_end = false;
	task[0] = sim_process("counts", 1000, count_once, NULL);
	task[1] = sim_process("works", 1001, only_work, NULL);
	task[2] = sim_process("works", 1002, only_work, NULL);
	task[3] = sim_process("works", 1003, only_work, NULL);
	task[4] = sim_process("looks", 1004, look_everywhere, NULL);
	user_wait(task[4]);
	WRITE_ONCE(may_end, true);
	wait_for(task, 4);
}

#ifdef SIM_X86
/* ---- the kernel clears counters while their owner sleeps --------------------------------- */

static bool has_cleared;

/* An administrator writes 2 and 1 to sysfs: the kernel clears what perf has left before. */
static void let_all_read_shortly(void *arg)
{
	sim_let_all_read(true);
	sim_let_all_read(false);
	WRITE_ONCE(has_cleared, true);
	sim_kthread_exit();
	(void)arg;
}

static void count_what_is_cleared(void *arg)
{
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	user_work(5);
	sim_kthread("sysfs", let_all_read_shortly, NULL, 0, 0);
	while (!READ_ONCE(has_cleared))
		user_sleep(1000);
	user_work(5);
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

void sim_free_cleared(void)
{
	has_cleared = false;
	user_wait(sim_process("counts", 1000, count_what_is_cleared, NULL));
}

/* ---- the probe of all switches ----------------------------------------------------------- */

/* Longer than the probe stays. */
#define UNWATCHED_NS	(11ULL * NSEC_PER_SEC)

/* The probe of switches, which costs all threads, exists only while a thread may count. */
static void count_now_and_then(void *arg)
{
	unsigned int i;
	int fd;

	for (i = 0; i < 6; i++) {
		sim_require(i == 2 || i == 5 || !sim_tp_switch.func,
			    "all switches have a probe while no thread counts");
		fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
		if (sim_control(fd, 0)) {
			/* It may have failed after the probe has come. */
			user_close(fd);
			user_sleep(UNWATCHED_NS);
			continue;
		}
		sim_require(sim_tp_switch.func, "a thread counts without the probe of switches");
		user_work(2);
		user_sleep(1 + sim_random(1000));
		user_close(fd);
		/* In two rounds, the next one begins before the probe has gone. */
		user_sleep(i == 1 || i == 4 ? UNWATCHED_NS / 2 : UNWATCHED_NS);
	}
	sim_require(!sim_tp_switch.func, "the probe of switches does not go");
	(void)arg;
}

void sim_free_watched(void)
{
	user_wait(sim_process("counts", 1000, count_now_and_then, NULL));
}

/* ---- a right that ends late -------------------------------------------------------------- */

/* The last right has ended on all CPUs that long after the unmapping. */
#define ENDS_NS		(300ULL * NSEC_PER_MSEC)

/*
 * Its right to RDPMC may end late (cr4-pce.c).  It must not see what others count meanwhile, nor
 * keep the right for long.
 */
static void unmap_and_look(void *arg)
{
	struct vm_area_struct *vma;
	unsigned int i, n;
	int fd;

	for (i = 0; i < PHASES; i++) {
		user_sleep(1 + sim_random(2000));
		fd = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT));
		must(sim_control(fd, 0));
		for (n = 0; n < 8; n++) {
			vma = sim_must_map(fd, 0, PAGE_SIZE);
			user_work(1 + sim_random(3));
			sim_require(sim_user_reads(), "RDPMC does not work after a mapping");
			user_munmap(vma);
			user_work(1 + sim_random(4));
			if (sim_random(2))
				user_sleep(1 + sim_random(200));
			user_work(1 + sim_random(4));
		}
		user_sleep(ENDS_NS);
		user_work(1);
		sim_require(!sim_user_reads(), "RDPMC works long after the unmapping");
		user_close(fd);
		if (i + 1 < PHASES)
			user_sleep(FALLS_NS);
	}
	(void)arg;
}

void sim_free_unmapped(void)
{
	struct task_struct *task[4];

	task[0] = sim_process("counts", 1000, count_in_phases, NULL);
	task[1] = sim_process("works", 1001, work_in_phases, NULL);
	task[2] = sim_process("unmaps", 1002, unmap_and_look, NULL);
	task[3] = sim_process("unmaps", 1003, unmap_and_look, NULL);
	wait_for(task, 4);
}

/* ---- a right that perf has forgotten -------------------------------------------------- */

static bool has_forgotten;

/*
 * It has got a copy of a mapping of perf's, by madvise().  The probe has taken the right for this
 * mapping, and its end takes the right again: the number is -1, which is a right for ever.
 */
static void keep_right(void *arg)
{
	current->mm->perf_maps = 2;	/* 1 remains, as the right does */
	sim_perf_unmap();
	WRITE_ONCE(has_forgotten, true);
	while (!READ_ONCE(may_end)) {
		user_work(1 + sim_random(5));
		user_sleep(1 + sim_random(200));
	}
	/* Other processes must end without a right. */
	atomic_set(&current->mm->context.perf_rdpmc_allowed, 0);
	(void)arg;
}

static void fork_with_perf(void *arg)
{
	struct task_struct *child;

	sim_perf_map();
	child = user_fork("keeps the right", keep_right, NULL);
	while (!READ_ONCE(has_forgotten))
		user_sleep(100);
	sim_perf_unmap();
	user_wait(child);
	(void)arg;
}

static void count_one_phase(void *arg)
{
	unsigned int i;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < 15; i++) {
		user_work(1 + sim_random(5));
		user_sleep(1 + sim_random(300));
	}
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

static void count_nothing_yet(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(sim_control(fd, 0));
	user_close(fd);
	(void)arg;
}

static void end_at_once(void *arg)
{
	(void)arg;
}

static void fork_without_right(void *arg)
{
	user_wait(user_fork("child", end_at_once, NULL));
	(void)arg;
}

static void wait_for_release(void)
{
	while (sim_is_hardware_reserved())
		sim_sleep_on(NULL, sim_ns() + 100);
}

void sim_free_forgotten(void)
{
	struct task_struct *task[2];
	unsigned int looks;

	may_end = false;
	has_forgotten = false;
	/* The first reservation looks at all processes in any case. */
	user_wait(sim_process("counts", 1000, count_nothing_yet, NULL));
	/* Else perf has no event. */
	wait_for_release();
	task[0] = sim_process("forks", 1001, fork_with_perf, NULL);
	while (!READ_ONCE(has_forgotten))
		sim_sleep_on(NULL, sim_ns() + 100);
	task[1] = sim_process("counts", 1002, count_one_phase, NULL);
	user_wait(task[1]);
	sim_require(sim_knows_forgotten(), "the module does not know of the right");
	WRITE_ONCE(may_end, true);
	user_wait(task[0]);
	/* The next reservation finds that the process has ended, and later ones do not look. */
	wait_for_release();
	user_wait(sim_process("counts", 1000, count_nothing_yet, NULL));
	sim_require(!sim_knows_forgotten(), "the module does not forget the right");
	wait_for_release();
	looks = sim_looks_for_forgotten();
	user_wait(sim_process("counts", 1000, count_nothing_yet, NULL));
	sim_require(sim_looks_for_forgotten() == looks, "each reservation looks at all processes");
	/* Nor does one after the fork of a process without the right. */
	wait_for_release();
	user_wait(sim_process("forks", 1000, fork_without_right, NULL));
	user_wait(sim_process("counts", 1000, count_nothing_yet, NULL));
	sim_require(sim_looks_for_forgotten() == looks, "each fork lets a reservation look at all processes");
}

/* ---- mappings of perf's that were there before ------------------------------------------ */

static bool has_mapped;

static void look_by_perf(void *arg)
{
	sim_perf_map();
	WRITE_ONCE(has_mapped, true);
	while (!READ_ONCE(may_end)) {
		user_work(1 + sim_random(5));
		user_sleep(1 + sim_random(200));
	}
	sim_perf_unmap();
	(void)arg;
}

/* Claiming the counters from perf finds these processes: see perf-claim.c. */
static void count_after_claim(void *arg)
{
	unsigned int i;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	sim_perf_was_mapped(1);
	before = current->sim->executed;
	for (i = 0; i < 15; i++) {
		user_work(1 + sim_random(5));
		user_sleep(1 + sim_random(300));
	}
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

void sim_free_claimed(void)
{
	struct task_struct *task[2];

	may_end = false;
	has_mapped = false;
	/* The first reservation looks at all processes in any case. */
	user_wait(sim_process("counts", 1000, count_nothing_yet, NULL));
	wait_for_release();
	task[0] = sim_process("looks", 1001, look_by_perf, NULL);
	while (!READ_ONCE(has_mapped))
		sim_sleep_on(NULL, sim_ns() + 100);
	task[1] = sim_process("counts", 1000, count_after_claim, NULL);
	user_wait(task[1]);
	WRITE_ONCE(may_end, true);
	user_wait(task[0]);
	sim_perf_was_mapped(0);
}

/* ---- rdpmc=2 --------------------------------------------------------------------------- */

static void run_only_on(unsigned int cpu)
{
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[0] = BIT(cpu);
	user_sleep(1);
}

static void check_may_read(void)
{
	preempt_disable();
	sim_require(sim_user_reads(), "RDPMC does not work on CPU %u, with rdpmc=2", sim_cpu);
	preempt_enable();
}

static void change_rights(int fd)
{
	struct vm_area_struct *vma;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		vma = sim_must_map(fd, 0, PAGE_SIZE);
		user_work(1 + sim_random(3));
		user_munmap(vma);
		if (sim_all_may_read)
			check_may_read();
	}
}

static void read_all_the_time(void *arg)
{
	run_only_on(0);
	while (!READ_ONCE(may_end)) {
		user_work(1);
		check_may_read();
	}
	(void)arg;
}

static void look_at(void *arg)
{
	run_only_on((unsigned long)arg);
	user_work(2);
	check_may_read();
}

static void count_for_all(void *arg)
{
	struct task_struct *task = user_thread("works", only_work, NULL);
	unsigned long i;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	change_rights(fd);
	WRITE_ONCE(may_end, true);
	user_wait(task);
	user_sleep(FALLS_NS);
	/* The counters of CPU 0 run on. */
	run_only_on(0);
	user_work(5);
	run_only_on(1);
	sim_let_all_read(true);
	/* The next switch to the thread tells that all may read.  A worker stops the counters. */
	for (i = 0; i < 3; i++) {
		user_work(3);
		user_sleep(100);
	}
	user_sleep(200 * NSEC_PER_MSEC);
	for (i = 0; i < 3; i++)
		user_wait(sim_process("looks", 1001, look_at, (void *)i));
	/* A change of the process's own right changes nothing. */
	WRITE_ONCE(may_end, false);
	task = user_thread("reads", read_all_the_time, NULL);
	change_rights(fd);
	WRITE_ONCE(may_end, true);
	user_wait(task);
	for (i = 0; i < 3; i++)
		user_wait(sim_process("looks", 1001, look_at, (void *)i));
	sim_check_counted(fd, before);
	sim_let_all_read(false);
	user_close(fd);
	(void)arg;
}

/* An administrator lets all processes read while counters run on. */
void sim_free_always(void)
{
	may_end = false;
	user_wait(sim_process("counts", 1000, count_for_all, NULL));
}

#endif

/* ---- threads that change ------------------------------------------------------------ */

static void work_little(void *arg)
{
	user_work(10);
	(void)arg;
}

/* Its counters run for others after an exec, a fork and its end. */
static void exec_and_fork(void *arg)
{
	struct task_struct *child;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	before = current->sim->executed;
	user_work(5);
	child = user_fork("child", work_little, NULL);
	user_sleep(50);
	user_exec(false);
	user_work(5);
	user_wait(child);
	sim_check_counted(fd, before);
	/* A set-uid program is not counted, whatever runs. */
	if (arg)
		user_exec_as(0);
	user_work(5);
}

void sim_free_exec(void)
{
	struct task_struct *task[4];

	task[0] = sim_process("execs", 1000, exec_and_fork, NULL);
	task[1] = sim_process("execs", 1001, exec_and_fork, (void *)1UL);
	task[2] = sim_process("counts", 1002, count_in_phases, NULL);
	task[3] = sim_process("looks", 1003, map_and_look, NULL);
	wait_for(task, 4);
}

#ifdef SIM_X86
/* ---- CPUs that go --------------------------------------------------------------------- */

/* No counter runs on a CPU that is offline: nothing would stop it if it came back as perf's. */
void sim_free_hotplug(void)
{
	struct task_struct *task[5];
	unsigned int i, cpu;

	for (i = 0; i < 4; i++)
		task[i] = sim_process("counts", 1000 + i, count_in_phases, NULL);
	task[4] = sim_process("looks", 1010, map_and_look, NULL);
	for (i = 0; i < 4; i++) {
		cpu = sim_choose(nr_cpu_ids, 1);
		sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
		sim_cpu_down(cpu);
		sim_require(!model_counting(&model.cpu[cpu]),
			    "counters of CPU %u run, which is offline", cpu);
		sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
		if (i == 1)
			sim_sleep_on(NULL, sim_ns() + FALLS_NS);
		sim_cpu_up(cpu);
	}
	wait_for(task, 5);
}

/* ---- interrupts ------------------------------------------------------------------------- */

#define SIGNAL	34

static void on_counter(struct vperfctr_control *control, struct vperfctr_ctr *ctr, s64 ireset)
{
	sim_fill_control(control, ctr, 0);
	if (!ireset)
		return;
	control->nractrs = 0;
	control->nrictrs = 1;
	control->si_signo = SIGNAL;
	ctr->ireset = ireset;
}

static void count_shortly(void *arg)
{
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	while (!READ_ONCE(may_end)) {
		user_work(1 + sim_random(5));
		user_sleep(1 + sim_random(300));
	}
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

/* Its counter is one that others leave running, and stops with it. */
static void count_periods(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	unsigned int i;
	u64 before;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	on_counter(&control, &ctr, -1000000);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	before = current->sim->executed;
	for (i = 0; i < 10; i++) {
		user_work(1 + sim_random(10));
		user_sleep(1 + sim_random(300));
	}
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "counted %llu, not %llu", c.own[1],
		    current->sim->executed - before);
	sim_require(!current->sim->received[SIGNAL], "an overflow of another thread is its");
	user_close(fd);
	(void)arg;
}

/* A counter with an interrupt never runs for it. */
static void look_for_interrupts(void *arg)
{
	while (!READ_ONCE(may_end)) {
		const struct model_cpu *cpu;

		user_work(20);
		preempt_disable();
		cpu = &model.cpu[sim_cpu];
		sim_require(!(model_counting(cpu) & model_interrupting(cpu)),
			    "counters with an interrupt run for a stranger");
		preempt_enable();
	}
	(void)arg;
}

void sim_free_overflow(void)
{
	struct task_struct *task[4];

	may_end = false;
	task[0] = sim_process("looks", 1000, look_for_interrupts, NULL);
	task[1] = sim_process("counts", 1001, count_shortly, NULL);
	task[2] = sim_process("is interrupted", 1002, count_periods, NULL);
	task[3] = sim_process("is interrupted", 1003, count_periods, NULL);
	user_wait(task[3]);
	user_wait(task[2]);
	WRITE_ONCE(may_end, true);
	wait_for(task, 2);
}

#endif /* SIM_X86 */
