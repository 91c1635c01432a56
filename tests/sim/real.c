// SPDX-License-Identifier: GPL-2.0
/*
 * The scenarios that also run on a real kernel.  The record of a run is that of
 * real-record, which ../guest/test_real_record.c compares with that of a real kernel.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "scenarios.h"
#include "real-scenarios.h"

#define MAX_TASKS	8

/* A task and its record, which has a line for each note and callback. */
struct task {
	struct task_struct *task;
	const char *name;
	void (*func)(int fd);
	int fd;
	bool quiet;			/* it does something that is not the same in each run */
	u64 ring_size;
	const struct vperfctr_ring_page *ring;
	char *record;
	size_t size;
};

/* No FILE lives while the machine runs: an exploration could not go back to its earlier state. */
#define RECORD_SIZE	(1 << 16)

static struct task tasks[MAX_TASKS];
static unsigned int nr_tasks;
static struct shared the_shared;
struct shared *shared = &the_shared;

/* The last one: the memory of a task that has ended may be used again. */
static struct task *this_task(void)
{
	unsigned int i;

	for (i = nr_tasks; i--;) {
		if (tasks[i].task == current)
			return &tasks[i];
	}
	return NULL;
}

static struct task *new_task(const char *name, void (*func)(int fd), int fd)
{
	struct task *t = &tasks[nr_tasks++];

	sim_require(nr_tasks <= MAX_TASKS, "too many tasks");
	*t = (struct task) { .name = name, .func = func, .fd = fd };
	t->record = calloc(1, RECORD_SIZE);
	return t;
}

static void record_args(struct task *t, const char *format, va_list args)
{
	t->size += vsnprintf(t->record + t->size, RECORD_SIZE - t->size, format, args);
	sim_require(t->size < RECORD_SIZE, "the record is too long");
}

static __attribute__((__format__(__printf__, 2, 3))) void record(struct task *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	record_args(t, format, args);
	va_end(args);
}

static void record_callback(const char *name)
{
	struct task *t = this_task();

	if (t && !t->quiet)
		record(t, "%s: <%s>\n", t->name, name);
}

static void set_task(struct task_struct *task)
{
	tasks[nr_tasks - 1].task = task;
}

/* ---- what scenarios use ------------------------------------------------------------ */

void note(const char *format, ...)
{
	struct task *t = this_task();
	va_list args;

	record(t, "%s: ", t->name);
	va_start(args, format);
	record_args(t, format, args);
	va_end(args);
	record(t, "\n");
}

/*
 * In small pieces, so that an overflow is found soon.  A little more than the units: after a
 * switch, the counters wait for the interrupt that handles an overflow, which may be late.
 */
void work(unsigned int units)
{
	unsigned int i;

	for (i = 0; i < units * 33; i++)
		user_work(UNIT / 32);
}

static int noted(const char *name, int ret)
{
	/* An interrupt that has not come yet. */
	user_sleep(NSEC_PER_MSEC);
	note("%s: %d", name, min(ret, 0));
	return ret;
}

int open_own_state(unsigned int flags)
{
	return noted("OPEN", sim_open(0, flags));
}

static int control_with(int fd, u64 ireset, int signal, u32 flags)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, flags);
	if (ireset) {
		control.nractrs = 0;
		control.nrictrs = 1;
		control.si_signo = signal;
		ctr.ireset = ireset;
	}
	return noted("CONTROL", user_ioctl(fd, VPERFCTR_CONTROL, &control));
}

int control_counter(int fd, unsigned int flags)
{
	return control_with(fd, 0, 0, flags);
}

int control_period(int fd, unsigned int halves, int signal, unsigned int flags)
{
	return control_with(fd, -((u64)halves * UNIT / 2), signal, flags);
}

int control_nothing(int fd)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, 0);
	control.nractrs = 0;
	control.tsc_on = 0;
	return noted("CONTROL", user_ioctl(fd, VPERFCTR_CONTROL, &control));
}

int simple_call(int fd, unsigned int cmd, const char *name)
{
	return noted(name, user_ioctl(fd, cmd, NULL));
}

int make_ring(int fd, unsigned int nrsamples)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = nrsamples, .watermark = 1, .nrsums = 1,
	};

	int ret = user_ioctl(fd, VPERFCTR_RING, &ring);

	if (!ret)
		this_task()->ring_size = ring.map_size;
	return noted("RING", ret);
}

int close_state(int fd)
{
	return noted("close", user_close(fd));
}

int read_state(int fd)
{
	unsigned int i, signals = 0;
	struct sim_counts c;
	int ret;

	ret = noted("READ", sim_read_counts(fd, &c, 0));
	for (i = 1; i <= SIM_NSIG; i++)
		signals += current->sim->received[i];
	if (ret >= 0)
		note("own %llu, children %llu, status %#x, signals %u", c.own[1] / UNIT, c.children[1] / UNIT,
		     c.read.status, signals);
	return ret;
}

void wait_for_children(int fd)
{
	struct sim_counts c;

	this_task()->quiet = true;
	do {
		user_sleep(NSEC_PER_MSEC);
		sim_must(sim_read_counts(fd, &c, 0));
	} while (c.read.status & VPERFCTR_STATUS_CHILDREN);
	this_task()->quiet = false;
}

void map_page(int fd)
{
	sim_must_map(fd, 0, PAGE_SIZE);
}

/* The child of a fork has its parent's mappings. */
static struct vm_area_struct *mapping(unsigned long offset)
{
	struct vm_area_struct *vma = current->mm->vmas;

	while (vma && vma->vm_pgoff != offset >> PAGE_SHIFT)
		vma = vma->next;
	return vma;
}

void touch_page(void)
{
	struct vm_area_struct *vma = mapping(0);

	if (!vma) {
		note("no page");
		return;
	}
	if (!vma->page)
		sim_require(user_fault(vma) == VM_FAULT_NOPAGE, "a fault fails");
	note("version %u", ((const struct vperfctr_page *)vma->page)->version);
}

void unmap_page(void)
{
	user_munmap(mapping(0));
}

void map_ring(int fd)
{
	struct task *t = this_task();

	t->ring = sim_must_map(fd, VPERFCTR_RING_OFFSET, t->ring_size)->page;
}

void note_ring(void)
{
	const struct vperfctr_ring_page *page = this_task()->ring;

	note("%llu samples, %llu dropped", page->head, page->dropped);
}

static void begin_task(void *arg)
{
	struct task *t = arg;

	t->func(t->fd);
}

struct task *start_process(const char *name, void (*func)(int fd), int fd)
{
	struct task *t = new_task(name, func, fd);

	user_fork(name, begin_task, t);
	return t;
}

struct task *start_thread(const char *name, void (*func)(int fd), int fd)
{
	struct task *t = new_task(name, func, fd);

	user_thread(name, begin_task, t);
	return t;
}

void wait_for_end(struct task *task)
{
	user_wait(task->task);
}

void kill_task(struct task *task)
{
	user_kill(task->task, SIGKILL);
}

void wait_for_step(unsigned int step)
{
	while (shared->step < step)
		user_sleep(1000);
}

void execute(void (*func)(int fd), int fd)
{
	user_exec(false);
	func(fd);
	user_exit();
}

/* ---- the record ------------------------------------------------------------------------ */

static void begin_scenario(void *arg)
{
	((void (*)(void))arg)();
}

/* Append what the tasks of a scenario have done.  Return: the new size. */
static size_t write_tasks(char *all, size_t size, const char *name)
{
	FILE *f = fmemopen(all + size, RECORD_SIZE - size, "w");
	unsigned int i;

	sim_require(f, "no memory for the record");
	fprintf(f, "[%s]\n", name);
	for (i = 0; i < nr_tasks; i++) {
		write_real_task(f, tasks[i].record);
		free(tasks[i].record);
	}
	fflush(f);
	size += ftell(f);
	fclose(f);
	sim_require(size < RECORD_SIZE - 1, "the record is too long");
	return size;
}

void sim_real(void)
{
	char *all = malloc(RECORD_SIZE), *expected = malloc(RECORD_SIZE);
	const char *file = getenv("SIM_RECORD");
	size_t n, size;
	unsigned int i;
	FILE *f;

	sim_require(all && expected, "no memory for the record");
	size = snprintf(all, RECORD_SIZE, "# SPDX-%s: GPL-2.0\n", "License-Identifier");
	sim_on_callback = record_callback;
	sim_user_task_made = set_task;
	for (i = 0; i < nr_real_scenarios; i++) {
		nr_tasks = 0;
		shared->step = 0;
		new_task("parent", NULL, -1);
		user_wait(sim_process("parent", 1000, begin_scenario, (void *)real_scenarios[i].func));
		while (sim_nr_user_tasks)
			sim_sleep_on(NULL, sim_ns() + 1000);
		size = write_tasks(all, size, real_scenarios[i].name);
	}
	sim_on_callback = NULL;
	sim_user_task_made = NULL;
	if (file) {
		f = fopen(file, "w");
		sim_require(f && fwrite(all, 1, size, f) == size && !fclose(f), "cannot write %s", file);
	} else {
		f = fopen(REAL_RECORD, "r");
		sim_require(f, "cannot read " REAL_RECORD);
		n = fread(expected, 1, RECORD_SIZE, f);
		fclose(f);
		sim_require(n == size && !memcmp(all, expected, n),
			    "the record is not " REAL_RECORD ": SIM_RECORD=FILE writes it");
	}
	free(expected);
	free(all);
}
