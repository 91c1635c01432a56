// SPDX-License-Identifier: GPL-2.0
/* Scenarios of counted CPUs. */
#include "scenarios.h"

#define must(call)	sim_must(call)

#define MAX_CPUS	4

struct reading {
	struct vperfctr_read_cpus req;
	struct vperfctr_cpu cpus[MAX_CPUS];
	u64 sums[MAX_CPUS * 2];
};

static struct task_struct *workers[MAX_CPUS];
static bool stop;

static void worker(void *arg)
{
	while (!READ_ONCE(stop)) {
		user_work(1 + sim_random(20));
		if (!sim_choose(4, 1))
			user_sleep(100);
	}
	(void)arg;
}

static u64 executed_by_workers(void)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < nr_cpu_ids; i++)
		sum += workers[i]->sim->executed;
	return sum;
}

/* Instructions that all threads have executed in user mode: counted by the CPUs. */
static u64 executed_by_all(void)
{
	return current->sim->executed + executed_by_workers();
}

static int open_cpus(u32 mask)
{
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .nrwords = 1, .mask = (unsigned long)&mask,
	};

	return must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &req));
}

/* Count on all kinds of CPUs, or nothing. */
static int control(int fd, bool something)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];

	sim_fill_control(&control, &ctr[0], 0);
	ctr[1] = ctr[0];
	control.nractrs = something;
	control.tsc_on = something;
	if (something && sim_processor.others) {
		control.kind = VPERFCTR_ANY_KIND;
		control.nrkinds = 2;
	}
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static u64 sum_of_all(int fd, struct reading *r)
{
	u64 sum = 0;
	unsigned int i;

	memset(r, 0, sizeof(*r));
	r->req = (struct vperfctr_read_cpus) {
		.size = sizeof(r->req), .nrcpus = MAX_CPUS, .nrctrs = 1,
		.cpus = (unsigned long)r->cpus, .sums = (unsigned long)r->sums,
	};
	must(user_ioctl(fd, VPERFCTR_READ_CPUS, &r->req));
	for (i = 0; i < r->req.nrcpus; i++)
		sum += r->sums[i * (1 + r->req.nrctrs) + 1];
	return sum;
}

/* A READ on which CPUs can be interrupted has a result between what was executed at its ends. */
static void check_between(u64 sum, u64 least, u64 most)
{
	sim_require(sum >= least && sum <= most, "counted %llu, not between %llu and %llu", sum,
		    least, most);
}

/*
 * While CPUs go offline, a thread may run there after its CPU has left the set.  So there is
 * only an upper limit of the counts.
 */
static void count_all(void *arg)
{
	unsigned int i, rounds = (unsigned long)arg;
	struct reading r;
	u64 before, sum, last = 0;
	int fd;

	fd = open_cpus((1U << nr_cpu_ids) - 1);
	before = executed_by_all();
	must(control(fd, true));
	for (i = 0; i < rounds; i++) {
		user_sleep(200);
		sum = sum_of_all(fd, &r);
		check_between(sum, last, executed_by_all() - before);
		last = sum;
	}
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	sum = sum_of_all(fd, &r);
	user_sleep(200);
	sim_require(sum_of_all(fd, &r) == sum, "a suspended CPU counts");
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
	user_close(fd);
}

/* ---- receivers of a descriptor ------------------------------------------------------------------- */

/* See READ_SPACING in cpus.c. */
#define SPACING_NS	(50 * NSEC_PER_MSEC)
#define NR_RECEIVERS	3
#define NR_READINGS	4

/* Threads that leave time between the steps, as a second would have too many otherwise. */
static void work_slowly(void *arg)
{
	while (!READ_ONCE(stop)) {
		user_work(1 + sim_random(20));
		user_sleep((1 + sim_random(10)) * NSEC_PER_MSEC);
	}
	(void)arg;
}

struct received {
	int fd;
	u64 before;			/* what the workers had executed at the CONTROL */
	unsigned int nr_done;
};

/* Without the right to count CPUs, each READ is exact, too, and they wait. */
static void read_received(void *arg)
{
	struct received *received = arg;
	struct reading r;
	u64 least, sum;
	unsigned int i;

	user_set_uid(1000);
	for (i = 0; i < NR_READINGS; i++) {
		least = executed_by_workers() - received->before;
		sum = sum_of_all(received->fd, &r);
		sim_require(sum >= least, "counted %llu, and %llu were executed", sum, least);
	}
	received->nr_done++;
	user_close(received->fd);
}

/*
 * They interrupt the CPUs as often as one of them could, and are not refused.  A caller with the
 * right does not wait.
 */
static void send_to_others(void *arg)
{
	struct task_struct *task[NR_RECEIVERS];
	struct received received = { };
	unsigned long interrupts, denials = sim_costs.denials;
	struct reading r;
	unsigned int i;
	u64 began;

	received.fd = open_cpus((1U << nr_cpu_ids) - 1);
	must(control(received.fd, true));
	received.before = executed_by_workers();
	interrupts = sim_costs.interrupts;
	began = sim_ns();
	for (i = 0; i < NR_RECEIVERS; i++)
		task[i] = user_fork("reads", read_received, &received);
	while (received.nr_done < NR_RECEIVERS)
		user_sleep(NSEC_PER_MSEC);
	interrupts = sim_costs.interrupts - interrupts;
	sim_require(interrupts <= nr_cpu_ids * (1 + (sim_ns() - began) / SPACING_NS),
		    "%lu interrupts in %llu ns", interrupts, sim_ns() - began);
	sim_require(sim_costs.denials == denials, "the audit log has denials");
	for (i = 0; i < NR_RECEIVERS; i++)
		user_wait(task[i]);
	began = sim_ns();
	for (i = 0; i < NR_READINGS; i++)
		sum_of_all(received.fd, &r);
	sim_require(sim_ns() - began < SPACING_NS / 2, "READs of root take %llu ns", sim_ns() - began);
	user_close(received.fd);
	(void)arg;
}

/* ---- CPUs that come online ------------------------------------------------------------------------ */

static bool is_controlled, all_online;

/* A CPU is offline at the CONTROL.  When it has come online, it counts all that it executes. */
static void count_when_online(void *arg)
{
	unsigned int cpu = (unsigned long)arg, i;
	u64 sum, before, executed;
	struct reading r;
	int fd;

	fd = open_cpus((1U << nr_cpu_ids) - 1);
	must(control(fd, true));
	sum_of_all(fd, &r);
	for (i = 0; i < r.req.nrcpus; i++)
		sim_require(!(r.cpus[i].status & VPERFCTR_CPU_STATUS_OFFLINE) == (r.cpus[i].cpu != cpu),
			    "CPU %u has the status %#x", r.cpus[i].cpu, r.cpus[i].status);
	WRITE_ONCE(is_controlled, true);
	while (!READ_ONCE(all_online))
		user_sleep(100);
	before = sum_of_all(fd, &r);
	executed = executed_by_all();
	user_sleep(2000);
	executed = executed_by_all() - executed;
	sum = sum_of_all(fd, &r) - before;
	sim_require(sum >= executed, "counted %llu, and %llu were executed", sum, executed);
	user_close(fd);
}

/*
 * All is counted: no CPU goes offline, or only while the system suspends, when no thread of a
 * user runs.
 */
static void count_all_exactly(void *suspends)
{
	struct reading r;
	u64 before, began, least, sum;
	int fd;

	fd = open_cpus((1U << nr_cpu_ids) - 1);
	before = executed_by_all();
	must(control(fd, true));
	began = executed_by_all();
	user_sleep(1000);
	if (suspends)
		user_suspend();
	user_sleep(1000);
	least = executed_by_all() - began;
	sum = sum_of_all(fd, &r);
	check_between(sum, least, executed_by_all() - before);
	user_close(fd);
}

/* ---- samples ------------------------------------------------------------------------- */

#define PERIOD		100
#define KERNEL_DEPTH	3

/* The last of the samples of each CPU, and how many there were. */
struct sampled {
	u64 last[MAX_CPUS];		/* the sum at the last sample */
	unsigned int nr;
	unsigned int known;		/* with registers of user mode */
	unsigned int kernel, calls;	/* of the kernel; with its calls */
	u64 dropped;
};

static int control_samples(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[2];

	sim_fill_control(&control, &ctr[0], VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr[0].ireset = -PERIOD;
	if (sim_processor.counts_kernel)
		sim_count_kernel(&ctr[0]);
	ctr[1] = ctr[0];
	if (sim_processor.others) {
		control.kind = VPERFCTR_ANY_KIND;
		control.nrkinds = 2;
	}
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static void check_sample(const struct vperfctr_sample *sample, struct sampled *s)
{
	const u64 *chain = &sample->sums[1], *mode = chain;
	unsigned int cpu = sample->cpu;
	struct task_struct *worker = NULL;
	unsigned int i;

	/* The kernel's calls come first, if the ring has them. */
	if (sim_processor.counts_kernel) {
		sim_require(*chain <= KERNEL_DEPTH, "CPU %u: %llu calls in the kernel", cpu, *chain);
		s->kernel += !!(sample->flags & VPERFCTR_SAMPLE_KERNEL);
		s->calls += !!*chain;
		mode = chain + 1 + *chain;
	}
	for (i = 0; i < nr_cpu_ids; i++) {
		if ((u32)workers[i]->pid == sample->tid)
			worker = workers[i];
	}
	sim_require(sample->type == VPERFCTR_SAMPLE_OVERFLOW && sample->overflow == 1 &&
		    cpu < nr_cpu_ids && (worker || sample->tid != 0 || !sample->ip ||
					 (sample->flags & VPERFCTR_SAMPLE_KERNEL)),
		    "a sample of CPU %u and thread %u is wrong", cpu, sample->tid);
	sim_require(sample->sums[0] >= s->last[cpu] + PERIOD, "CPU %u: a sample at %llu after %llu",
		    cpu, sample->sums[0], s->last[cpu]);
	s->last[cpu] = sample->sums[0];
	s->known += *mode != VPERFCTR_USER_NONE;
	sim_require(*mode == VPERFCTR_USER_NONE || sample->tid, "CPU %u is idle in user mode", cpu);
	s->dropped += sample->dropped;
	s->nr++;
}

static void consume_all(int fd, struct vperfctr_ring_page *page, struct sampled *s)
{
	u64 head = smp_load_acquire(&page->head), i;	/* then the samples */

	for (i = page->tail; i < head; i++)
		check_sample((void *)((char *)page + page->data +
				      (i % page->nrsamples) * page->sample_size), s);
	must(user_ioctl(fd, VPERFCTR_CONSUME, (void *)(unsigned long)(head - page->tail)));
}

/*
 * While the counters are stopped, no CPU has counted a period since its last sample: no overflow
 * is lost.
 */
static void check_all_sampled(int fd, struct vperfctr_ring_page *page, struct sampled *s)
{
	struct reading r;
	unsigned int i;

	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	consume_all(fd, page, s);
	sum_of_all(fd, &r);
	/* The kernel's own events make longer periods. */
	for (i = 0; i < r.req.nrcpus && !page->dropped && !sim_processor.counts_kernel; i++)
		sim_require(r.sums[2 * i + 1] - s->last[i] < PERIOD,
			    "CPU %u has counted %llu, and its last sample is at %llu", i,
			    r.sums[2 * i + 1], s->last[i]);
	must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
}

static void sample_all(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .flags = VPERFCTR_RING_KERNEL, .nrsamples = 256,
		.watermark = 1, .nrsums = 1, .stack = 16,
		.kernel_depth = sim_processor.counts_kernel ? KERNEL_DEPTH : 0,
	};
	unsigned int i, rounds = (unsigned long)arg;
	struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	struct sampled s = { };
	int fd;

	fd = open_cpus((1U << nr_cpu_ids) - 1);
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(control_samples(fd));
	for (i = 0; i < rounds; i++) {
		struct reading r;

		user_sleep(300);
		if (sim_choose(2, 1))
			sum_of_all(fd, &r);
		consume_all(fd, page, &s);
		if (sim_choose(3, 1))
			check_all_sampled(fd, page, &s);
	}
	/* An exploration may let the workers execute less than a period. */
	sim_require(s.nr || sim_explores, "there is no sample");
	/* There is a chain for each CPU, and an interrupt saves the calls where it comes. */
	sim_require(!sim_processor.counts_kernel || s.kernel == s.calls, "%u of %u samples have calls", s.calls,
		    s.kernel);
	sim_require(s.nr < 20 || s.known, "no sample of %u has registers of user mode", s.nr);
	check_all_sampled(fd, page, &s);
	/* A control begins anew. */
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	consume_all(fd, page, &s);
	must(control_samples(fd));
	memset(&s, 0, sizeof(s));
	consume_all(fd, page, &s);
	if (sim_choose(2, 1))
		must(control(fd, false));
	user_munmap(vma);
	user_close(fd);
}

/* Others open sets of the same CPUs, and change them at the same time. */
static void interfere(void *arg)
{
	unsigned int i;
	struct reading r;
	int fd, err;

	for (i = 0; i < 4; i++) {
		fd = open_cpus(1 + sim_random((1U << nr_cpu_ids) - 1));
		do {
			err = control(fd, true);
		} while (err == -ENOMEM && sim_failures.alloc);
		sim_require(!err || err == -EBUSY, "CONTROL: %d", err);
		sum_of_all(fd, &r);
		err = user_ioctl(fd, VPERFCTR_SUSPEND, NULL);
		sim_require(!err || err == -EINVAL, "SUSPEND: %d", err);
		if (sim_choose(2, 1))
			must(control(fd, false));
		user_close(fd);
	}
	(void)arg;
}

/* A thread that counts itself, if no CPU is counted. */
static void count_thread(void *arg)
{
	unsigned int i;
	u64 before;
	int fd, err;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	for (i = 0; i < 6; i++) {
		err = sim_control(fd, 0);
		sim_require(!err || err == -EBUSY || err == -ENOMEM, "CONTROL of a thread: %d", err);
		before = current->sim->executed;
		user_work(20);
		if (!err)
			sim_check_counted(fd, before);
		must(control(fd, false));
	}
	user_close(fd);
	(void)arg;
}

static void start_all(void (*work)(void *arg))
{
	unsigned int i;

	stop = false;
	for (i = 0; i < nr_cpu_ids; i++)
		workers[i] = sim_process("works", 1000, work, NULL);
}

static void start_workers(void)
{
	start_all(worker);
}

static void stop_workers(void)
{
	unsigned int i;

	WRITE_ONCE(stop, true);
	for (i = 0; i < nr_cpu_ids; i++)
		user_wait(workers[i]);
}

void sim_count_cpus(void)
{
	start_workers();
	user_wait(sim_process("counts CPUs", 0, count_all_exactly, NULL));
	stop_workers();
}

void sim_received_cpus(void)
{
	start_all(work_slowly);
	user_wait(sim_process("counts CPUs", 0, send_to_others, NULL));
	stop_workers();
}

void sim_count_cpus_suspend(void)
{
	start_workers();
	user_wait(sim_process("counts CPUs", 0, count_all_exactly, (void *)1UL));
	stop_workers();
}

/* CPUs come and go. */
void sim_count_cpus_hotplug(void)
{
	struct task_struct *task;
	unsigned int i, cpu;

	start_workers();
	task = sim_process("counts CPUs", 0, count_all, (void *)6UL);
	for (i = 0; i < 3; i++) {
		cpu = sim_choose(nr_cpu_ids, 1);
		sim_cpu_down(cpu);
		sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
		sim_cpu_up(cpu);
	}
	user_wait(task);
	stop_workers();
}

/* A CPU comes that has been offline since before the CONTROL. */
void sim_count_cpus_online(void)
{
	unsigned int cpu = sim_choose(nr_cpu_ids, 1);
	struct task_struct *task;

	start_workers();
	sim_cpu_down(cpu);
	task = sim_process("counts CPUs", 0, count_when_online, (void *)(unsigned long)cpu);
	while (!READ_ONCE(is_controlled))
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_cpu_up(cpu);
	WRITE_ONCE(all_online, true);
	user_wait(task);
	stop_workers();
}

static void count_and_end(void *arg)
{
	int fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));

	must(sim_control(fd, 0));
	/* The end of the process closes no descriptor, which would wait for the worker. */
	user_close(fd);
	user_work(20);
	(void)arg;
}

static void count_after_thread(void *arg)
{
	int fd;

	user_wait(user_fork("counts", count_and_end, NULL));
	fd = open_cpus((1U << nr_cpu_ids) - 1);
	must(control(fd, true));
	user_close(fd);
	(void)arg;
}

/* A thread has counters until it ends, and its parent counts CPUs as soon as it knows of the end. */
void sim_count_cpus_after_thread(void)
{
	user_wait(sim_process("counts CPUs", 0, count_after_thread, NULL));
}

/* All CPUs are sampled. */
void sim_sample_cpus(void)
{
	start_workers();
	user_wait(sim_process("samples CPUs", 0, sample_all, (void *)6UL));
	stop_workers();
}

/* CPUs come and go meanwhile. */
void sim_sample_cpus_hotplug(void)
{
	struct task_struct *task;
	unsigned int i, cpu;

	start_workers();
	task = sim_process("samples CPUs", 0, sample_all, (void *)12UL);
	for (i = 0; i < 3; i++) {
		cpu = sim_choose(nr_cpu_ids, 1);
		sim_cpu_down(cpu);
		sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
		sim_cpu_up(cpu);
	}
	user_wait(task);
	stop_workers();
}

/* Sets and threads compete for the counters. */
void sim_compete_for_cpus(void)
{
	struct task_struct *task[4];
	unsigned int i, cpu;

	for (i = 0; i < 4; i++)
		task[i] = sim_process(i < 2 ? "counts CPUs" : "counts", i < 2 ? 0 : 1000,
				      i < 2 ? interfere : count_thread, NULL);
	cpu = sim_choose(nr_cpu_ids, 1);
	sim_cpu_down(cpu);
	sim_sleep_on(NULL, sim_ns() + 1000 * sim_choose(20, 1));
	sim_cpu_up(cpu);
	for (i = 0; i < 4; i++)
		user_wait(task[i]);
}
