// SPDX-License-Identifier: GPL-2.0
/* More scenarios of properties that "make mutants" found without a guard. */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

static unsigned int nr_ready;
static bool may_end;

/* ---- software counters and sums of one moment --------------------------------------------------- */

/*
 * A reader takes its sample again if the owner has been switched.  It gives up after the fourth
 * one, which needs two switches: the reader may also come before or after the switch-in.
 */
#define MANY_SWITCHES	2
/* The owner has one fault after each piece of work. */
#define PIECE		10
#define READS		8

static struct task_struct *faults;
static u64 executed_before;		/* the CONTROL */

static u64 switches_of(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* The sums are neither older nor newer than the software counters. */
static void read_both(void *arg)
{
	struct vperfctr_soft soft = { .size = sizeof(soft) };
	u64 own[2], n, switches, executed;
	struct vperfctr_read req = {
		.size = sizeof(req), .nrctrs = 1, .sums = (unsigned long)own, .soft = (unsigned long)&soft,
	};
	int fd = (long)arg;
	unsigned int i;

	for (i = 0; i < READS; i++) {
		switches = switches_of(faults);
		executed = faults->sim->executed - executed_before;
		must(user_ioctl(fd, VPERFCTR_READ, &req));
		sim_require(own[1] >= executed, "READ returns %llu instructions of %llu", own[1], executed);
		n = soft.count[3].own;
		sim_require(own[1] <= (n + 1) * PIECE, "%llu instructions with %llu faults", own[1], n);
		sim_require(own[1] >= n * PIECE || switches_of(faults) - switches >= MANY_SWITCHES,
			    "%llu instructions are older than %llu faults", own[1], n);
		user_work(3);
	}
	WRITE_ONCE(may_end, true);
	user_close(fd);
}

static void fault_often(void *arg)
{
	struct vperfctr_control control;
	struct task_struct *reader;
	struct vperfctr_ctr ctr;
	unsigned int i;
	int fd;

	faults = current;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&control, &ctr, 0);
	control.soft = VPERFCTR_SOFT_MINOR_FAULTS;
	executed_before = current->sim->executed;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	reader = user_fork("reads", read_both, (void *)(long)fd);
	for (i = 0; !READ_ONCE(may_end); i++) {
		user_work(PIECE);
		current->min_flt++;
		if (i % 4 == 3)
			user_sleep(20);
	}
	user_wait(reader);
	user_close(fd);
	(void)arg;
}

void sim_soft_other(void)
{
	user_wait(sim_process("faults", 1000, fault_often, NULL));
}

/* ---- threads of which one has its own state ----------------------------------------------------- */

static void run_thread(bool has_state)
{
	int fd = has_state ? must(sim_open(0, VPERFCTR_OPEN_CREAT)) : -1;

	nr_ready++;
	while (!READ_ONCE(may_end))
		user_work(5);
	user_close(fd);
}

static void second_thread(void *arg)
{
	run_thread((unsigned long)arg);
}

static void run_threads(void *arg)
{
	unsigned long second_has = (unsigned long)arg;
	struct task_struct *second = user_thread("second", second_thread, (void *)second_has);

	run_thread(!second_has);
	user_wait(second);
}

/* One is attached to, and the other one is skipped, in either order. */
static void attach_to_rest(void *arg)
{
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct task_struct *task;
	unsigned long second_has;
	struct sim_counts c;
	int set;

	for (second_has = 0; second_has < 2; second_has++) {
		struct vperfctr_attach req = { .size = sizeof(req), .control = (unsigned long)&header };

		nr_ready = 0;
		WRITE_ONCE(may_end, false);
		task = user_fork("has two threads", run_threads, (void *)second_has);
		while (READ_ONCE(nr_ready) < 2)
			user_work(5);
		sim_fill_control(&header, &ctr, 0);
		req.tid = task->pid;
		req.mem_fd = must(user_open_mem(task));
		set = must(user_device_ioctl(VPERFCTR_ATTACH, &req));
		sim_require(req.nrthreads == 1 && req.nrskipped == 1, "ATTACH to %u, and skipped %u",
			    req.nrthreads, req.nrskipped);
		must(sim_read_counts(set, &c, VPERFCTR_READ_MEMBERS));
		sim_require(!(c.read.status & (VPERFCTR_STATUS_FORBIDDEN | VPERFCTR_STATUS_PRIVILEGED)),
			    "the set has the status %#x", c.read.status);
		WRITE_ONCE(may_end, true);
		user_wait(task);
		user_close(set);
		user_close(req.mem_fd);
	}
	(void)arg;
}

void sim_attach_to_rest(void)
{
	user_wait(sim_process("attaches", 1000, attach_to_rest, NULL));
}

/* ---- states that only a monitor may change ------------------------------------------------------ */

#define SIGNAL		40
#define PERIOD		100

static bool is_locked, may_try;

static int sample_by_signals(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	control.nrictrs = 1;
	control.si_signo = SIGNAL;
	ctr.ireset = -PERIOD;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void expect_refusal(const char *call, long err)
{
	sim_require(err == -EPERM, "%s of the owner: %ld", call, err);
}

static void try_to_change(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1 };
	struct sim_counts c;
	u64 before;
	int fd;

	while (!READ_ONCE(is_locked))
		user_work(5);
	fd = must(sim_open(0, 0));
	before = current->sim->executed;
	/* The counters are held after the signal. */
	while (!current->sim->received[SIGNAL]) {
		user_work(10);
		sim_require(current->sim->executed - before < 100 * PERIOD, "no signal arrives");
	}
	expect_refusal("CONTROL", sim_control(fd, 0));
	expect_refusal("SUSPEND", user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	expect_refusal("RESUME", user_ioctl(fd, VPERFCTR_RESUME, NULL));
	expect_refusal("IRESUME", user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	expect_refusal("RING", user_ioctl(fd, VPERFCTR_RING, &ring));
	expect_refusal("UNLINK", user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	must(sim_read_counts(fd, &c, 0));
	sim_require(c.read.status == (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE | VPERFCTR_STATUS_OVERFLOW),
		    "the status is %#x", c.read.status);
	user_close(fd);
	WRITE_ONCE(may_try, true);
	while (!READ_ONCE(may_end))
		user_work(5);
	(void)arg;
}

static void lock_state(void *arg)
{
	struct task_struct *task = user_fork("is locked", try_to_change, NULL);
	int fd;

	sim_require(user_ptrace_stop(task), "the thread has ended");
	fd = must(sim_open(task->pid, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_LOCKED));
	must(sample_by_signals(fd));
	user_ptrace_continue(task);
	WRITE_ONCE(is_locked, true);
	while (!READ_ONCE(may_try))
		user_work(5);
	sim_require(user_ptrace_stop(task), "the thread has ended");
	must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	must(sim_control(fd, 0));
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	WRITE_ONCE(may_end, true);
	user_ptrace_continue(task);
	user_wait(task);
	user_close(fd);
	(void)arg;
}

void sim_locked(void)
{
	user_wait(sim_process("locks", 1000, lock_state, NULL));
}

/* ---- a member that leaves its family, and the family's ring -------------------------------------- */

static int sample_by_clock(int fd, u32 flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING | flags);
	control.nractrs = 0;
	control.clock_period = VPERFCTR_CLOCK_MIN;
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void leave_and_exec(void *arg)
{
	int fd = must(sim_open(0, 0));
	u64 before;

	user_work(20);
	must(sim_control(fd, 0));
	/* A ring of its own is the only one then. */
	sim_require(sample_by_clock(fd, 0) == -EINVAL, "it still has its family's ring");
	before = current->sim->executed;
	must(sim_control(fd, 0));
	user_exec(false);
	user_work(20);
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

/* A member's own ring is used when it has left. */
static void leave_with_ring(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1 };
	const struct vperfctr_ring_page *page;
	int fd = must(sim_open(0, 0));
	struct vm_area_struct *vma;
	unsigned int i;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	user_work(30000);	/* more than a period */
	must(sample_by_clock(fd, 0));
	sim_require(!page->head && !page->dropped, "a family's samples are in a member's ring");
	for (i = 0; i < 10 && !READ_ONCE(page->head); i++) {
		user_work(10000);
		user_sleep(VPERFCTR_CLOCK_MIN);
	}
	sim_require(i < 10, "no sample is in the ring of one that has left");
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static void have_leaver(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 8, .watermark = 1 };
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	must(sample_by_clock(fd, VPERFCTR_CONTROL_INHERIT));
	user_wait(user_fork("leaves", leave_and_exec, NULL));
	user_wait(user_fork("leaves", leave_with_ring, NULL));
	user_close(fd);
	(void)arg;
}

void sim_leave_ring(void)
{
	user_wait(sim_process("root", 1000, have_leaver, NULL));
}

/* ---- more threads than saved chains of calls ---------------------------------------------------- */

/* A ring has 64 chains, and one for each CPU. */
#define MANY_THREADS	72

static void overflow_in_kernel(void *arg)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		user_work(2);
		user_sleep(1);
	}
	nr_ready++;
	while (nr_ready < MANY_THREADS)
		user_sleep(100000);
	(void)arg;
}

/* Each thread has a sample that was not made, and keeps its chain. */
static void sample_many(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 1, .watermark = 1, .flags = VPERFCTR_RING_KERNEL,
		.kernel_depth = 4,
	};
	struct task_struct *task[MANY_THREADS];
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	unsigned int i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -20;
	sim_count_kernel(&ctr);
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < MANY_THREADS; i++)
		task[i] = user_thread("samples", overflow_in_kernel, NULL);
	while (i--)
		user_wait(task[i]);
	user_close(fd);
	(void)arg;
}

void sim_many_chains(void)
{
	user_wait(sim_process("samples the kernel", 0, sample_many, NULL));
}

/* ---- more records than can wait ------------------------------------------------------------------ */

/* As many as that can wait for the worker that finds the paths. */
#define WAITING		64
#define MANY_FILES	(3 * WAITING)
/* The memory for paths has room for two of the longest ones. */
#define MAX_WAITING_PATHS	2

/*
 * A record without room is counted as lost.  Long paths that a reader does not take are not looked up
 * all the same.
 */
static void map_many_files(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = (unsigned long)arg, .watermark = 1, .nrsums = 8,
		.flags = VPERFCTR_RING_RECORDS,
	};
	const struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	unsigned int i, n = 0;
	u64 at, paths;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(sim_control(fd, 0));
	paths = sim_costs.paths;
	for (i = 0; i < MANY_FILES; i++) {
		if (sim_path_length)
			user_map_code();
		else
			user_map_file(NULL, 0x1000);
	}
	user_sleep(10000000);
	for (at = 0; at < READ_ONCE(page->head); ) {
		const struct vperfctr_record *r = (const void *)((const char *)page + page->data +
								 at % page->nrsamples * page->sample_size);

		at += r->slots;
		n += r->type == VPERFCTR_RECORD_MAP;
	}
	/* One path without room, after each that has been written and after those that wait. */
	if (sim_path_length)
		sim_require(sim_costs.paths - paths <= 2 * n + MAX_WAITING_PATHS + 1,
			    "%llu paths are looked up for %u records", sim_costs.paths - paths, n);
	else
		sim_require(n >= WAITING && page->lost && n + page->lost == MANY_FILES,
			    "of %u mappings, %u are recorded, and %llu lost", MANY_FILES, n, page->lost);
	user_munmap(vma);
	user_close(fd);
}

void sim_map_many_files(void)
{
	user_wait(sim_process("maps files", 1000, map_many_files, (void *)256UL));
	sim_path_length = PATH_MAX - 2;
	user_wait(sim_process("maps files", 1000, map_many_files, (void *)256UL));
	/* A ring that is too small for one of these. */
	user_wait(sim_process("maps files", 1000, map_many_files, (void *)16UL));
	sim_path_length = 0;
}

/* ---- a CPU that does not come back --------------------------------------------------------------- */

static void count_in_page(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	struct vm_area_struct *vma = sim_must_map(fd, 0, PAGE_SIZE);

	must(sim_control(fd, 0));
	while (!READ_ONCE(may_end)) {
		user_work(5);
		user_sleep(20);
	}
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/* The work that is done for its sake has an end, too. */
void sim_lost_cpu(void)
{
	struct task_struct *task[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		task[i] = sim_process("counts", 1000, count_in_page, NULL);
	sim_sleep_on(NULL, sim_ns() + 5000);
	sim_cpu_down(nr_cpu_ids - 1);
	WRITE_ONCE(may_end, true);
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
	sim_check_rest();
}

/* ---- files that prove nothing -------------------------------------------------------------------- */

/* The file's name, and those of the directories above it. */
static long attach_by(struct task_struct *task, int mem_fd, unsigned long magic, const char *name,
		      const char *dir, const char *above)
{
	struct super_block sb = { magic };
	struct dentry root = { &root, { "/" }, &sb };
	struct dentry above_it = { &root, { above }, &sb };
	struct dentry its_dir = { above ? &above_it : &root, { dir }, &sb };
	struct dentry dentry = { &its_dir, { name }, &sb };
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_attach req = {
		.size = sizeof(req), .tid = task->pid, .mem_fd = mem_fd, .control = (unsigned long)&header,
	};
	struct file *file = current->signal->fd[mem_fd];
	struct dentry *before = file->f_path.dentry;
	long ret;

	sim_fill_control(&header, &ctr, 0);
	file->f_path.dentry = &dentry;
	ret = user_device_ioctl(VPERFCTR_ATTACH, &req);
	file->f_path.dentry = before;
	if (ret >= 0)
		user_close(ret);
	return ret < 0 ? ret : 0;
}

static void prove(void *arg)
{
	static const struct {
		const char *name, *dir, *above;
		unsigned long magic;
		int err;
	} files[] = {
		{ "mem", "12", NULL, PROC_SUPER_MAGIC, 0 },
		{ "mem", "34", "task", PROC_SUPER_MAGIC, 0 },
		{ "mem", "12", NULL, PROC_SUPER_MAGIC + 1, -EINVAL },
		{ "maps", "12", NULL, PROC_SUPER_MAGIC, -EINVAL },
		{ "mem", "sys", NULL, PROC_SUPER_MAGIC, -EINVAL },
		{ "mem", "34", "irq", PROC_SUPER_MAGIC, -EINVAL },
	};
	struct task_struct *task = user_fork("works", second_thread, NULL);
	int mem_fd = must(user_open_mem(task));
	unsigned int i;
	long err;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		err = attach_by(task, mem_fd, files[i].magic, files[i].name, files[i].dir, files[i].above);
		sim_require(err == files[i].err, "file %u proves a right: %ld", i, err);
	}
	/* One that was opened for writes only. */
	current->signal->fd[mem_fd]->f_mode = 0;
	err = attach_by(task, mem_fd, PROC_SUPER_MAGIC, "mem", "12", NULL);
	sim_require(err == -EINVAL, "a file that cannot be read proves a right: %ld", err);
	WRITE_ONCE(may_end, true);
	user_wait(task);
	user_close(mem_fd);
	(void)arg;
}

void sim_proofs(void)
{
	user_wait(sim_process("proves", 1000, prove, NULL));
}

/* ---- a family without a descriptor --------------------------------------------------------------- */

static struct task_struct *orphan;

static void leave_orphan(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	user_close(fd);
	orphan = user_fork("works", second_thread, NULL);
	user_work(20);
	(void)arg;
}

/* The child works on, and does not keep the hardware. */
void sim_orphan(void)
{
	unsigned int i;

	user_wait(sim_process("counts", 1000, leave_orphan, NULL));
	for (i = 0; i < 1000 && sim_is_hardware_reserved(); i++)
		sim_sleep_on(NULL, sim_ns() + 10000);
	sim_require(!sim_is_hardware_reserved(), "a family without a descriptor keeps the hardware");
	WRITE_ONCE(may_end, true);
	user_wait(orphan);
}

/* ---- the state of a member ----------------------------------------------------------------------- */

/* While the child lives, its parent can open its state. */
static void open_member(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT)), member;
	struct task_struct *child;
	struct sim_counts c;

	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	child = user_fork("child", second_thread, NULL);
	member = must(user_ioctl(fd, VPERFCTR_MEMBER, (void *)(long)child->pid));
	must(sim_read_counts(member, &c, 0));
	sim_require(c.read.status & VPERFCTR_STATUS_ATTACHED, "the status is %#x", c.read.status);
	while (!child->sim->executed)
		user_work(5);
	WRITE_ONCE(may_end, true);
	user_wait(child);
	must(sim_read_counts(member, &c, 0));
	sim_require(c.own[1] > 0 && !(c.read.status & VPERFCTR_STATUS_ATTACHED), "the status is %#x, after %llu",
		    c.read.status, c.own[1]);
	user_close(member);
	user_close(fd);
	(void)arg;
}

void sim_open_member(void)
{
	user_wait(sim_process("opens a member", 1000, open_member, NULL));
}

/* ---- OPEN_CPUS whose caller has no memory for the answer ----------------------------------------- */

static void open_cpus(void *arg)
{
	u32 mask = 1;
	struct vperfctr_open_cpus req = { .size = sizeof(req), .nrwords = 1, .mask = (unsigned long)&mask };
	unsigned int i;
	int fd;

	sim_failures.fault = 3;
	for (i = 0; i < 30; i++) {
		req.nrcpus = 0;
		fd = user_device_ioctl(VPERFCTR_OPEN_CPUS, &req);
		sim_require(fd >= 0 || fd == -EFAULT, "OPEN_CPUS: %d", fd);
		if (fd >= 0)
			user_close(fd);
	}
	sim_failures.fault = 0;
	(void)arg;
}

void sim_open_cpus_faults(void)
{
	user_wait(sim_process("opens CPUs", 0, open_cpus, NULL));
}

#ifdef SIM_X86
/* ---- the first counter of each kind ------------------------------------------------------------- */

/* A programmable and a fixed counter with the same number are two. */
static void count_both(void *arg)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	int fd[3], err;
	unsigned int i;
	u64 before;

	for (i = 0; i < 3; i++)
		fd[i] = must(sim_open(0, VPERFCTR_OPEN_CREAT | (i ? VPERFCTR_OPEN_OBSERVER : 0)));
	sim_fill_control(&control, &ctr, 0);
	must(user_ioctl(fd[0], VPERFCTR_CONTROL, &control));
	ctr = (struct vperfctr_ctr) { .map = VPERFCTR_FIXED, .evntsel = 2 /* user mode */ };
	must(user_ioctl(fd[1], VPERFCTR_CONTROL, &control));
	err = user_ioctl(fd[2], VPERFCTR_CONTROL, &control);
	sim_require(err == -EADDRINUSE, "a fixed counter that is used: %d", err);
	ctr.map = VPERFCTR_FIXED + 1;
	must(user_ioctl(fd[2], VPERFCTR_CONTROL, &control));
	before = current->sim->executed;
	user_work(50);
	must(sim_read_counts(fd[1], &c, 0));
	sim_require(c.own[1] == current->sim->executed - before, "the fixed counter has %llu, not %llu", c.own[1],
		    current->sim->executed - before);
	for (i = 0; i < 3; i++)
		user_close(fd[i]);
	(void)arg;
}

void sim_beside_fixed(void)
{
	user_wait(sim_process("counts", 1000, count_both, NULL));
}

/* ---- CPUs whose counters wrap -------------------------------------------------------------------- */

/* Half of what a counter of 40 bits can count, and the time in which no more events come. */
#define MANY_EVENTS	(1ULL << 39)
#define WRAP_NS		(7 * NSEC_PER_SEC)

static void count_wraps(void *arg)
{
	u32 mask = 3;
	struct vperfctr_open_cpus open = { .size = sizeof(open), .nrwords = 1, .mask = (unsigned long)&mask };
	struct vperfctr_cpu cpus[2];
	u64 sums[2][2], before;
	struct vperfctr_read_cpus read = {
		.size = sizeof(read), .nrcpus = 2, .nrctrs = 1, .cpus = (unsigned long)cpus,
		.sums = (unsigned long)sums,
	};
	unsigned int i;
	int fd;

	fd = must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &open));
	must(sim_control(fd, 0));
	before = current->sim->executed;
	for (i = 0; i < 4; i++) {
		user_work(MANY_EVENTS);
		user_sleep(WRAP_NS);
	}
	must(user_ioctl(fd, VPERFCTR_READ_CPUS, &read));
	sim_require(sums[0][1] + sums[1][1] == current->sim->executed - before,
		    "counted %llu and %llu instructions, not %llu", sums[0][1], sums[1][1],
		    current->sim->executed - before);
	user_close(fd);
	WRITE_ONCE(may_end, true);
	(void)arg;
}

void sim_cpu_wraps(void)
{
	struct task_struct *task = sim_process("counts CPUs", 0, count_wraps, NULL);

	/* user_wait() looks too often for that long. */
	while (!READ_ONCE(may_end))
		sim_sleep_on(NULL, sim_ns() + NSEC_PER_SEC);
	user_wait(task);
}

/* ---- a right that ends beside threads that sleep ------------------------------------------------- */

static void run_on(unsigned int cpu)
{
	memset(&current->cpus_mask, 0, sizeof(current->cpus_mask));
	current->cpus_mask.bits[0] = BIT(cpu);
	user_sleep(1);
}

static void just_sleep(void *arg)
{
	while (!READ_ONCE(may_end))
		user_sleep(100000);
	(void)arg;
}

static void give_turns(void *arg)
{
	run_on(1);
	while (!READ_ONCE(may_end)) {
		user_work(1);
		user_sleep(1);
	}
	(void)arg;
}

/* The thread that is about to run is in the middle of the list. */
static void change_rights(void *arg)
{
	struct vperfctr_control none;
	struct task_struct *task[3];
	struct vperfctr_ctr ctr;
	struct vm_area_struct *vma;
	unsigned int i;
	int fd;

	for (i = 0; i < 3; i++)
		task[i] = user_thread("another", i == 1 ? give_turns : just_sleep, NULL);
	run_on(0);
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	vma = sim_must_map(fd, 0, PAGE_SIZE);
	sim_fill_control(&none, &ctr, 0);
	none.nractrs = 0;
	none.tsc_on = 0;
	for (i = 0; i < 20; i++) {
		must(sim_control(fd, 0));
		user_work(1 + sim_random(4));
		must(user_ioctl(fd, VPERFCTR_CONTROL, &none));
		sim_require(!sim_is_hardware_reserved(), "the hardware is not free");
	}
	WRITE_ONCE(may_end, true);
	for (i = 0; i < 3; i++)
		user_wait(task[i]);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_rights_beside_sleepers(void)
{
	struct task_struct *task = sim_process("stranger", 1001, give_turns, NULL);

	user_wait(sim_process("rights", 1000, change_rights, NULL));
	user_wait(task);
}

/* ---- an NMI that comes after the last user ------------------------------------------------------- */

/* The module is unloaded at once, and waits for an NMI that may be on its way. */
static void overflow_and_end(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(sample_by_signals(fd));
	user_work(PERIOD + 5);
	user_close(fd);
	(void)arg;
}

/* If no CPU has anything to do, the simulation goes on when the NMI comes. */
static void stay_busy(void *arg)
{
	unsigned int i;

	for (i = 0; i < 3000; i++)
		cond_resched();
	sim_kthread_exit();
	(void)arg;
}

void sim_unload_late(void)
{
	sim_kthread("busy", stay_busy, NULL, 0, 0);
	user_wait(sim_process("overflows", 1000, overflow_and_end, NULL));
}
#endif

#ifdef SIM_ARM64
/* ---- counters without an interrupt --------------------------------------------------------------- */

static void count_without_interrupt(void *arg)
{
	struct vperfctr_info info = { .size = sizeof(info) };
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	u64 before;

	must(user_device_ioctl(VPERFCTR_INFO, &info));
	sim_require(info.nrctrs && !(info.features & VPERFCTR_FEATURE_PCINT) && !info.min_period &&
		    !info.max_period, "the features are %#x, and periods from %llu to %llu", info.features,
		    info.min_period, info.max_period);
	sim_require(sample_by_signals(fd) == -EOPNOTSUPP, "a counter may overflow");
	must(sim_control(fd, 0));
	before = current->sim->executed;
	user_work(50);
	sim_check_counted(fd, before);
	user_close(fd);
	(void)arg;
}

void sim_without_interrupt(void)
{
	user_wait(sim_process("counts", 1000, count_without_interrupt, NULL));
}
#endif
