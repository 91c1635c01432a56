// SPDX-License-Identifier: GPL-2.0
/* Scenarios of properties that "make mutants" found without a guard. */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

/* An address that faults. */
#define BAD		8UL

#define SIGNAL		40

extern unsigned int *const sim_param_max_states_per_user, *const sim_param_max_stops_per_second,
	*const sim_param_max_threads_per_stop;

static bool may_end;

static void work_until_end(void *arg)
{
	while (!READ_ONCE(may_end))
		user_work(5);
	(void)arg;
}

/* ---- refused attachments ---------------------------------------------------------------------- */

struct attachment {
	struct vperfctr_attach req;
	struct vperfctr_control header;
	struct vperfctr_ctr ctr;
	struct vperfctr_ring ring;
};

static void fill_attachment(struct attachment *a, const struct task_struct *task, int mem_fd)
{
	sim_fill_control(&a->header, &a->ctr, 0);
	a->ring = (struct vperfctr_ring) { .size = sizeof(a->ring), .nrsamples = 8, .watermark = 1 };
	a->req = (struct vperfctr_attach) {
		.size = sizeof(a->req), .tid = task->pid, .mem_fd = mem_fd,
		.control = (unsigned long)&a->header,
	};
}

/* By thread time, with a ring. */
static void fill_clock(struct attachment *a)
{
	a->header.flags = VPERFCTR_CONTROL_RING;
	a->header.nractrs = 0;
	a->header.clock_period = VPERFCTR_CLOCK_MIN;
	a->req.ring = (unsigned long)&a->ring;
}

static unsigned int used_fds(void)
{
	unsigned int fd, n = 0;

	for (fd = 0; fd < ARRAY_SIZE(current->signal->fd_used); fd++)
		n += current->signal->fd_used[fd];
	return n;
}

/* ATTACH with a change of a valid request.  No descriptor remains if it fails. */
#define ATTACH(expected, change)							\
do {											\
	unsigned int fds = used_fds();							\
	struct attachment a;								\
											\
	fill_attachment(&a, task, mem_fd);						\
	change;										\
	/* The result of no call is ENOMEM, but for the simulation's. */		\
	do {										\
		ret = user_device_ioctl(VPERFCTR_ATTACH, &a.req);			\
	} while (ret == -ENOMEM && sim_failures.alloc);					\
	sim_require(ret == (expected) || (ret >= 0 && !(expected)),			\
		    "line %u: " #change ": %ld, not %d", __LINE__, ret, expected);	\
	sim_require(used_fds() == fds + (ret >= 0), "line %u: a descriptor is left", __LINE__);	\
} while (0)

static void attach_wrongly(void *arg)
{
	struct task_struct *task = user_fork("counted", work_until_end, NULL);
	int mem_fd = must(user_open_mem(task)), own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	long ret;

	ATTACH(-EINVAL, a.req.size = 8);
	ATTACH(-E2BIG, a.req.size = PAGE_SIZE + 8);
	ATTACH(-EINVAL, a.req.flags = 1U << 30);
	ATTACH(-EINVAL, a.req.nrthreads = 1);
	ATTACH(-EINVAL, a.req.nrskipped = 1);
	ATTACH(-EBADF, a.req.mem_fd = 60);
	ATTACH(-EBADF, a.req.mem_fd = -1);
	/* A file of another kind proves nothing. */
	ATTACH(-EINVAL, a.req.mem_fd = own);
	ATTACH(-ESRCH, a.req.tid = 9999);
	/* The file is of another process. */
	ATTACH(-ESRCH, a.req.tid = current->pid);
	ATTACH(-EFAULT, a.req.control = BAD);
	ATTACH(-EINVAL, a.header.flags = VPERFCTR_CONTROL_START_ON_EXEC);
	ATTACH(-EINVAL, a.header.flags = VPERFCTR_CONTROL_END_ON_EXEC);
	ATTACH(-EINVAL, a.header.flags = VPERFCTR_CONTROL_AFFINITY);
	ATTACH(-EINVAL, a.header.preserve = 1);
	ATTACH(-EINVAL, (a.header.nractrs = 0, a.header.tsc_on = 0));
	ATTACH(-EINVAL, a.req.ring = (unsigned long)&a.ring);
	ATTACH(-EINVAL, (fill_clock(&a), a.req.ring = 0));
	ATTACH(-EFAULT, (fill_clock(&a), a.req.ring = BAD));
	ATTACH(-EINVAL, (fill_clock(&a), a.ring.nrsamples = 3));
	ATTACH(-EINVAL, (a.header.nractrs = 0, a.header.nrictrs = 1, a.ctr.ireset = -1000));
	ATTACH(-EINVAL, (a.header.nractrs = 0, a.header.nrictrs = 1, a.ctr.ireset = -1000,
			 a.header.si_signo = SIGNAL));
	sim_require(!sim_is_hardware_reserved(), "the hardware is reserved");

	/* The valid ones, of which each has ended before the next. */
	ATTACH(0, a.req.flags = 0);
	sim_require(sim_fd_flags == O_CLOEXEC, "the descriptor has the flags %#x", sim_fd_flags);
	user_close(ret);
	ATTACH(0, a.req.flags = VPERFCTR_ATTACH_NOCLOEXEC);
	sim_require(!sim_fd_flags, "the descriptor has the flags %#x", sim_fd_flags);
	user_close(ret);
	ATTACH(0, fill_clock(&a));
	user_close(ret);
	ATTACH(0, (fill_clock(&a), a.header.clock_period = 0, a.header.nrictrs = 1, a.ctr.ireset = -1000));
	sim_require(user_wait_poll(ret) & EPOLLIN, "no sample wakes a poller");
	user_close(ret);
	WRITE_ONCE(may_end, true);
	user_wait(task);
	user_close(mem_fd);
	user_close(own);
	(void)arg;
}

void sim_attach_wrongly(void)
{
	unsigned int rate = *sim_param_max_stops_per_second;

	*sim_param_max_stops_per_second = 0;
	user_wait(sim_process("attaches", 1000, attach_wrongly, NULL));
	*sim_param_max_stops_per_second = rate;
}

/* ---- the stack in samples --------------------------------------------------------------------- */

#define WORDS		35
#define FRAMES		3

static u64 chain_length;		/* of the last sample */

#define PERIOD		30

static const struct vperfctr_sample *sample_of(const struct vperfctr_ring_page *page, u64 n)
{
	return (const void *)((const char *)page + page->data + n % page->nrsamples * page->sample_size);
}

/* All words of the stack are in their order.  Where one faults, those before it are there. */
static u64 check_stack(const struct vperfctr_sample *s, const u64 *words)
{
	const u64 *at = &s->sums[1];
	u64 k;

	/* The frames are the first words: see have_stack(). */
	sim_require(at[0] <= FRAMES, "the chain has %llu calls", at[0]);
	for (k = 0; k < at[0]; k++)
		sim_require(at[1 + k] == words[2 * k + 1], "call %llu is from %#llx", k, at[1 + k]);
	chain_length = at[0];
	at += 1 + at[0];
	sim_require(at[0] == SIM_USER_MODE, "the mode is %llu", at[0]);
	at += 1 + SIM_USER_REGS;
	for (k = 0; k < *at / sizeof(*at); k++)
		sim_require(at[1 + k] == words[k], "word %llu of the stack is %#llx, not %#llx", k, at[1 + k],
			    words[k]);
	sim_require((const char *)&at[1 + k] == (const char *)s + s->size, "the size is %u", s->size);
	return k;
}

static u64 sample_stacks(int fd, const struct vperfctr_ring_page *page, const u64 *words, u64 least)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	u64 i, all = 0, words_read = 0;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	sim_failures.fault = least < WORDS ? 20 : 0;
	for (i = 0; i < 20; i++)
		user_work(PERIOD);
	sim_failures.fault = 0;
	must(sim_control(fd, 0));
	for (i = READ_ONCE(page->tail); i < READ_ONCE(page->head); i++, all++) {
		u64 nr = check_stack(sample_of(page, i), words);

		sim_require(nr >= least, "the stack has %llu words", nr);
		words_read += nr;
	}
	sim_require(all, "there is no sample");
	must(user_ioctl(fd, VPERFCTR_CONSUME, (void *)(unsigned long)all));
	return words_read;
}

static void have_stack(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 32, .watermark = 1, .nrsums = 1, .stack = WORDS * sizeof(u64),
		.depth = 2 * FRAMES,
	};
	unsigned long sp = current->sim->regs.sp;
	struct vm_area_struct *vma;
	unsigned int i, frames = 0;
	u64 words[WORDS];
	int fd;

	for (i = 0; i < WORDS; i++)
		words[i] = 0x1111111111111111ULL * i + i * i;
	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
#if SIM_HAS_FRAMES
	for (i = 0; i < FRAMES; i++)
		words[2 * i] = (unsigned long)&words[2 * i + 2];
	/* A frame that returns to 1 is one as well. */
	words[3] = 1;
	current->sim->regs.bp = (unsigned long)words;
#endif
	current->sim->regs.sp = (unsigned long)words;
#if SIM_HAS_FRAMES
	/* The last frame's caller has a wrong frame pointer: an odd one, its own, or a callee's. */
	for (i = 0; i < 3; i++) {
		const unsigned long wrong[] = {
			(unsigned long)&words[2 * FRAMES] + 1, (unsigned long)&words[2 * FRAMES - 2],
			(unsigned long)words,
		};

		words[2 * FRAMES - 2] = wrong[i];
		sample_stacks(fd, vma->page, words, WORDS);
		sim_require(chain_length == FRAMES, "the chain has %llu calls", chain_length);
	}
	frames = FRAMES;
#endif
	sample_stacks(fd, vma->page, words, WORDS);
	sim_require(chain_length == frames, "the chain has %llu calls", chain_length);
	sim_require(sample_stacks(fd, vma->page, words, 0), "no word can be read");
	/* A stack pointer of the kernel's, or none. */
	current->sim->regs.sp = BAD;
	sim_require(!sample_stacks(fd, vma->page, words, 0), "there is a stack at %#lx", BAD);
#ifdef SIM_X86
	current->sim->regs.bp = 0;
#endif
	current->sim->regs.sp = sp;
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_stacks(void)
{
	user_wait(sim_process("has a stack", 1000, have_stack, NULL));
}

/* ---- samples by thread time in an exec -------------------------------------------------------- */

#define EXECS	60	/* enough for one in an exec, in any order of the steps */
/*
 * The TSC stands still in the kernel, and the timer does not.  So a timer that expires a moment
 * before the end of the period would do so for ever.  user_work() has no step there.
 */
#define MORE_NS	1200

/* Each period ends in an exec: its sample does not tell where the program begins. */
static void exec_by_clock(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 64, .watermark = 1 };
	const struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	unsigned int i, in_exec = 0;
	struct vperfctr_ctr ctr;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	for (i = 0; i < EXECS; i++) {
		/* The timer of the control before expires. */
		user_sleep(2 * VPERFCTR_CLOCK_MIN);
		sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
		control.nractrs = 0;
		control.clock_period = VPERFCTR_CLOCK_MIN;
		must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
		/* The next one expires soon after this, and work takes no time of its clock. */
		user_sleep(VPERFCTR_CLOCK_MIN - 500 - sim_random(600));
		user_work((VPERFCTR_CLOCK_MIN + MORE_NS) * (u64)tsc_khz / NSEC_PER_MSEC);
		user_exec(false);
	}
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	sim_require(page->head + page->dropped == EXECS, "%llu samples, %llu dropped, of %u periods",
		    page->head, page->dropped, EXECS);
	for (i = 0; i < page->head; i++) {
		const struct vperfctr_sample *s = sample_of(page, i);

		sim_require(!s->ip == !(s->flags & VPERFCTR_SAMPLE_USER), "a sample of %#llx has the flags %#x",
			    (u64)s->ip, s->flags);
		in_exec += !s->ip;
	}
	sim_require(in_exec || sim_explores, "no sample is of an exec");
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

/*
 * The period ends in an exec that fails when the process has the new program's memory.  The last
 * sample must not have any of that.
 */
static void fail_exec_by_clock(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 1, .depth = 2, .stack = 16,
	};
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.clock_period = VPERFCTR_CLOCK_MIN;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	user_sleep(VPERFCTR_CLOCK_MIN - 500 - sim_random(600));
	user_work((VPERFCTR_CLOCK_MIN + MORE_NS) * (u64)tsc_khz / NSEC_PER_MSEC);
	user_exec_that_fails();
	(void)arg;
}

void sim_fail_exec_by_clock(void)
{
	user_wait(sim_process("fails", 1000, fail_exec_by_clock, NULL));
}

void sim_exec_by_clock(void)
{
	user_wait(sim_process("execs", 1000, exec_by_clock, NULL));
}

/* The same for counters, whose interrupts may be late: it is handled in the exec. */
static void exec_and_overflow(void *arg)
{
	struct vperfctr_ring ring = { .size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 1 };
	const struct vperfctr_ring_page *page;
	struct vperfctr_control control;
	struct vm_area_struct *vma;
	unsigned int i, in_exec = 0;
	struct vperfctr_ctr ctr;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -PERIOD;
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	for (i = 0; i < 40; i++) {
		user_work(PERIOD);
		user_exec(false);
	}
	must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	for (i = 0; i < page->head; i++) {
		const struct vperfctr_sample *s = sample_of(page, i);

		sim_require(!s->ip == !s->flags, "a sample of %#llx has the flags %#x", (u64)s->ip, s->flags);
		in_exec += !s->ip;
	}
	sim_require((in_exec && in_exec < page->head) || sim_explores, "%u of %llu samples are of an exec", in_exec, page->head);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_exec_and_overflow(void)
{
	user_wait(sim_process("execs", 1000, exec_and_overflow, NULL));
}

/* ---- a thread that becomes another user -------------------------------------------------------- */

/* It may give up a state that it may not use any more, and have one of its own. */
static void unlink_as_other(void *arg)
{
	struct task_struct *child;
	struct sim_counts c;
	u64 before;
	int fd, own;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
	child = user_fork("child", work_until_end, NULL);
	user_work(10);
	user_set_uid(1001);
	sim_require(sim_control(fd, 0) == -EPERM && user_ioctl(fd, VPERFCTR_SUSPEND, NULL) == -EPERM,
		    "another user may change the state");
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	must(sim_read_counts(fd, &c, 0));
	sim_require(!(c.read.status & VPERFCTR_STATUS_ATTACHED), "UNLINK leaves it attached");
	/* After the end, only the creator may dissolve a family; there is none any more. */
	must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(own, 0));
	before = current->sim->executed;
	user_work(10);
	sim_check_counted(own, before);
	WRITE_ONCE(may_end, true);
	user_wait(child);
	user_close(own);
	user_close(fd);
	(void)arg;
}

void sim_unlink_as_other(void)
{
	user_wait(sim_process("becomes another", 1000, unlink_as_other, NULL));
}

/* ---- what a control leaves -------------------------------------------------------------------- */

/* A new control forgets the children that were missed; a sum of the TSC that it does not count remains. */
static void control_again(void *arg)
{
	struct vperfctr_control control;
	struct task_struct *task;
	struct vperfctr_ctr ctr;
	struct sim_counts c;
	unsigned int i;
	u64 tsc;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	for (i = 0; i < 2; i++) {
		must(sim_control(fd, VPERFCTR_CONTROL_INHERIT));
		must(sim_read_counts(fd, &c, 0));
		sim_require(!c.read.children_missed, "control %u: %llu children are missed", i,
			    c.read.children_missed);
		WRITE_ONCE(may_end, false);
		task = user_thread("is missed", work_until_end, NULL);
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.read.children_missed == 1, "control %u: %llu children are missed", i,
			    c.read.children_missed);
		WRITE_ONCE(may_end, true);
		user_wait(task);
	}
	sim_fill_control(&control, &ctr, 0);
	control.tsc_on = 0;
	for (i = 0; i < 2; i++) {
		must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
		must(sim_read_counts(fd, &c, 0));
		tsc = c.own[0];
		user_work(100);
		user_sleep(100);
		must(sim_read_counts(fd, &c, 0));
		sim_require(c.own[0] == tsc, "a TSC that is not counted goes from %llu to %llu", tsc, c.own[0]);
		/* The same without a counter. */
		control.nractrs = 0;
		control.soft = VPERFCTR_SOFT_MIGRATIONS;
	}
	user_close(fd);
	(void)arg;
}

void sim_control_again(void)
{
	*sim_param_max_states_per_user = 1;
	user_wait(sim_process("controls", 1000, control_again, NULL));
}

/* ---- a page that a fork would copy ------------------------------------------------------------ */

static void look_at_mappings(void *arg)
{
	const struct vm_area_struct *vma;
	unsigned int n = 0;

	for (vma = current->mm->vmas; vma; vma = vma->next, n++)
		sim_require(!vma->page && (vma->vm_flags & VM_WIPEONFORK), "the child has its parent's page");
	sim_require(n == 2, "the child has %u mappings", n);
	(void)arg;
}

/* A child finds no page in its mappings, whatever madvise() has said of them. */
static void keep_on_fork(void *arg)
{
	struct vm_area_struct *vma[2];
	unsigned int i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control(fd, 0));
	for (i = 0; i < 2; i++)
		vma[i] = sim_must_map(fd, 0, PAGE_SIZE);
	user_keep_on_fork(vma[1]);
	user_wait(user_fork("child", look_at_mappings, NULL));
	sim_require(vma[0]->page && vma[1]->page, "the parent has lost its page");
	while (i--)
		user_munmap(vma[i]);
	user_close(fd);
	(void)arg;
}

void sim_keep_on_fork(void)
{
	user_wait(sim_process("forks", 1000, keep_on_fork, NULL));
}

/* ---- the price of an OPEN by a monitor -------------------------------------------------------- */

#define STOPS	3

static void kill_soon(void *task)
{
	user_sleep(1000);
	user_kill(task, SIGKILL);
	user_wait(task);
}

/* Each is one stop of the machine, and the budget has that many. */
static void open_others(void *arg)
{
	struct vperfctr_open req = { .size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT };
	struct task_struct *task[STOPS + 2], *killer;
	unsigned int i;
	long err;

	for (i = 0; i < STOPS + 1; i++) {
		task[i] = user_fork("stopped", work_until_end, NULL);
		sim_require(user_ptrace_stop(task[i]), "a thread has ended");
	}
	for (i = 0; i < STOPS + 1; i++) {
		u64 before = sim_ns();

		req.tid = task[i]->pid;
		user_close(must(user_device_ioctl(VPERFCTR_OPEN, &req)));
		sim_require((sim_ns() - before > NSEC_PER_SEC / STOPS / 2) == (i == STOPS),
			    "OPEN number %u waits %llu ns", i + 1, sim_ns() - before);
	}
	/* The thread ends while the caller waits for its budget, and before the stop. */
	task[STOPS + 1] = user_fork("is killed", work_until_end, NULL);
	sim_require(user_ptrace_stop(task[STOPS + 1]), "a thread has ended");
	req.tid = task[STOPS + 1]->pid;
	killer = user_thread("kills", kill_soon, task[STOPS + 1]);
	err = user_device_ioctl(VPERFCTR_OPEN, &req);
	sim_require(err == -ESRCH, "OPEN of a thread that has ended meanwhile: %ld", err);
	user_wait(killer);
	WRITE_ONCE(may_end, true);
	for (i = 0; i < STOPS + 1; i++) {
		user_ptrace_continue(task[i]);
		user_wait(task[i]);
	}
	(void)arg;
}

void sim_price_of_open(void)
{
	unsigned int rate = *sim_param_max_stops_per_second, threads = *sim_param_max_threads_per_stop;

	*sim_param_max_stops_per_second = STOPS;
	*sim_param_max_threads_per_stop = 1;
	user_wait(sim_process("opens", 1000, open_others, NULL));
	*sim_param_max_stops_per_second = rate;
	*sim_param_max_threads_per_stop = threads;
}

/* ---- records of mappings ---------------------------------------------------------------------- */

#define MAPPINGS	8

/* Each has its own path, or none, and what the mapping had. */
static void map_files(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 8,
		.flags = VPERFCTR_RING_RECORDS,
	};
	static const char *const names[] = { "program", "a", NULL, "library", "[vdso]", "l", "", "another" };
	const struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	unsigned int i, n = 0;
	char path[20];
	u64 at;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(sim_control(fd, 0));
	for (i = 0; i < MAPPINGS; i++)
		user_map_file(names[i], 0x1000 * (i + 1));
	user_sleep(100000);
	for (at = 0; at < READ_ONCE(page->head); ) {
		const struct vperfctr_record *r = (const void *)sample_of(page, at);

		at += r->slots;
		if (r->type != VPERFCTR_RECORD_MAP)
			continue;
		sim_require(n < MAPPINGS && r->start == 0x1000 * (n + 1), "mapping %u is at %#llx", n, (u64)r->start);
		snprintf(path, sizeof(path), "%s%s", names[n] && names[n][0] && names[n][0] != '[' ? "/" : "",
			 names[n] ?: "");
		/* A slot has room for these texts. */
		sim_require(r->slots == 1 && r->text && !strcmp((const char *)r + r->text, path),
			    "mapping %u is of %s, not of %s", n, (const char *)r + r->text, path);
		n++;
	}
	sim_require(n == MAPPINGS, "%u of %u mappings are recorded", n, MAPPINGS);
	user_munmap(vma);
	user_close(fd);
	(void)arg;
}

void sim_map_files(void)
{
	user_wait(sim_process("maps files", 1000, map_files, NULL));
}

/* ---- READ of a control for any kind ----------------------------------------------------------- */

static void read_kinds(void *arg)
{
	struct {
		struct vperfctr_control header;
		struct vperfctr_ctr ctr[2][2];
	} set = {}, got = {};
	struct vperfctr_read req = { .size = sizeof(req), .nrctrs = 2, .control = (unsigned long)&got.header };
	unsigned int i;
	int fd, err;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&set.header, &set.ctr[0][0], 0);
	set.header.kind = VPERFCTR_ANY_KIND;
	set.header.nrkinds = 2;
	set.header.nractrs = 2;
	for (i = 1; i < 4; i++) {
		set.ctr[i / 2][i % 2] = set.ctr[0][0];
		set.ctr[i / 2][i % 2].map = i < 3 ? i : 0;
	}
	must(user_ioctl(fd, VPERFCTR_CONTROL, &set.header));
	got.header.size = sizeof(got.header);
	got.header.ctr = (unsigned long)got.ctr;
	got.header.ctr_size = sizeof(got.ctr[0][0]);
	got.header.nrkinds = 1;
	err = user_ioctl(fd, VPERFCTR_READ, &req);
	sim_require(err == -EOVERFLOW && got.header.nrkinds == 2, "READ with room for a kind: %d, for %u", err,
		    got.header.nrkinds);
	must(user_ioctl(fd, VPERFCTR_READ, &req));
	sim_require(!memcmp(got.ctr, set.ctr, sizeof(got.ctr)), "READ returns other counters");
	sim_require(got.header.kind == VPERFCTR_ANY_KIND && got.header.nrkinds == 2, "READ returns the kind %u of %u",
		    got.header.kind, got.header.nrkinds);
	user_close(fd);
	(void)arg;
}

void sim_read_kinds(void)
{
	user_wait(sim_process("reads", 1000, read_kinds, NULL));
}

#ifdef SIM_X86
/* ---- CPUs that cannot count ------------------------------------------------------------------- */

static unsigned int nr_ready;
static bool is_down;

/* The counts remain as they were.  Only one who wants to stay on the right CPUs gets a signal. */
static void count_until_down(void *arg)
{
	unsigned long nr = (unsigned long)arg & 3, i;
	bool affinity = (unsigned long)arg & 4;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;
	struct sim_counts c[2], again;
	unsigned long switches;
	int fd[2];

	for (i = 0; i < nr; i++) {
		fd[i] = must(sim_open(0, VPERFCTR_OPEN_CREAT | (i ? VPERFCTR_OPEN_OBSERVER : 0)));
		sim_fill_control(&control, &ctr, affinity ? VPERFCTR_CONTROL_AFFINITY : 0);
		ctr.map = i;
		must(user_ioctl(fd[i], VPERFCTR_CONTROL, &control));
	}
	user_work(20);
	nr_ready++;
	while (!READ_ONCE(is_down))
		user_work(5);
	/* Each CPU is tried at a switch.  A sleep may end before there is one. */
	switches = current->nvcsw + current->nivcsw;
	while (current->nvcsw + current->nivcsw == switches)
		user_sleep(1000);
	for (i = 0; i < nr; i++) {
		must(sim_read_counts(fd[i], &c[i], 0));
		sim_require(c[i].own[1] <= current->sim->executed, "counted %llu of %llu", c[i].own[1],
			    current->sim->executed);
		sim_require(c[i].read.status == (VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE |
						 VPERFCTR_STATUS_FORBIDDEN),
			    "the status is %#x", c[i].read.status);
	}
	user_work(50);
	user_sleep(1000);
	for (i = 0; i < nr; i++) {
		must(sim_read_counts(fd[i], &again, 0));
		sim_require(again.own[1] == c[i].own[1] && again.own[0] == c[i].own[0],
			    "a CPU that cannot count has counted");
		/* The TSC can be counted everywhere. */
		control.nractrs = 0;
		must(user_ioctl(fd[i], VPERFCTR_CONTROL, &control));
		must(sim_read_counts(fd[i], &again, 0));
		sim_require(!(again.read.status & VPERFCTR_STATUS_FORBIDDEN), "the status is %#x", again.read.status);
		user_close(fd[i]);
	}
	sim_require(current->sim->received[SIGILL] == (affinity ? nr : 0), "%u signals",
		    current->sim->received[SIGILL]);
}

void sim_shutdown(void)
{
	/* One state, and two; without AFFINITY, and with it. */
	static const unsigned long args[] = { 1, 2, 5 };
	struct task_struct *task[ARRAY_SIZE(args)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(args); i++)
		task[i] = sim_process("counts", 1000, count_until_down, (void *)args[i]);
	while (READ_ONCE(nr_ready) < ARRAY_SIZE(args))
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_shut_down();
	WRITE_ONCE(is_down, true);
	for (i = 0; i < ARRAY_SIZE(args); i++)
		user_wait(task[i]);
}

/* A CPU of a set that comes back. */
static void count_cpus_until_down(void *arg)
{
	u32 mask = (1U << nr_cpu_ids) - 1;
	struct vperfctr_open_cpus o = { .size = sizeof(o), .nrwords = 1, .mask = (unsigned long)&mask };
	struct vperfctr_cpu cpus[4] = {};
	struct vperfctr_read_cpus r = {
		.size = sizeof(r), .nrcpus = 4, .nrctrs = 1, .cpus = (unsigned long)cpus,
	};
	int fd = must(user_device_ioctl(VPERFCTR_OPEN_CPUS, &o));
	unsigned int i, failed = (unsigned long)arg;

	must(sim_control(fd, 0));
	nr_ready++;
	while (!READ_ONCE(is_down))
		user_sleep(1000);
	must(user_ioctl(fd, VPERFCTR_READ_CPUS, &r));
	for (i = 0; i < r.nrcpus; i++)
		sim_require(!(cpus[i].status & VPERFCTR_CPU_STATUS_FAILED) == (i != failed) &&
			    (i != failed || !(cpus[i].status & VPERFCTR_CPU_STATUS_COUNTS)),
			    "CPU %u has the status %#x", i, cpus[i].status);
	user_close(fd);
}

void sim_shutdown_cpus(void)
{
	unsigned int cpu = nr_cpu_ids - 1;
	struct task_struct *task = sim_process("counts CPUs", 0, count_cpus_until_down, (void *)(unsigned long)cpu);

	while (!READ_ONCE(nr_ready))
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_cpu_down(cpu);
	sim_shut_down();
	sim_cpu_up(cpu);
	WRITE_ONCE(is_down, true);
	user_wait(task);
}
#endif

/* ---- overflows ---------------------------------------------------------------------------- */

static int sample_kernel(int fd, u64 period)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, VPERFCTR_CONTROL_RING);
	control.nractrs = 0;
	control.nrictrs = 1;
	ctr.ireset = -period;
	sim_count_kernel(&ctr);
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

/* A signal that could be queued is not tried again: no timer is left. */
static void take_signals(void *arg)
{
	struct sim_task *t = current->sim;
	unsigned int i, cpu, signals;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	must(sim_control_imode(fd, 20, SIGNAL));
	for (i = 0; i < 4; i++) {
		signals = t->received[SIGNAL];
		while (t->received[SIGNAL] == signals)
			user_work(3);
		for (cpu = 0; cpu < nr_cpu_ids; cpu++)
			sim_require(!sim_cpus[cpu].timers, "a timer of CPU %u runs after the signal", cpu);
		must(user_ioctl(fd, VPERFCTR_IRESUME, NULL));
	}
	user_close(fd);
	(void)arg;
}

void sim_signal_once(void)
{
	user_wait(sim_process("takes signals", 1000, take_signals, NULL));
}

/* The thread has two states, and only one of them has counters.  It overflows in the kernel. */
static void overflow_beside_idle(void *arg)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = 64, .watermark = 1, .nrsums = 1,
		.flags = VPERFCTR_RING_KERNEL,
	};
	int own = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	int observer = must(sim_open(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER));
	const struct vperfctr_ring_page *page;
	struct vm_area_struct *vma;
	unsigned int i;

	must(user_ioctl(own, VPERFCTR_RING, &ring));
	vma = sim_must_map(own, VPERFCTR_RING_OFFSET, ring.map_size);
	page = vma->page;
	must(sample_kernel(own, 300));
	for (i = 0; i < 100; i++) {
		user_work(2);
		user_sleep(1);
	}
	sim_require(page->head > 3, "%llu samples in the kernel", page->head);
	user_munmap(vma);
	user_close(observer);
	user_close(own);
	(void)arg;
}

void sim_kernel_beside_idle(void)
{
	user_wait(sim_process("samples the kernel", 0, overflow_beside_idle, NULL));
}

/* ---- more CPUs than bits of a word -------------------------------------------------------- */

static void ask_for_many(void *arg)
{
	struct {
		struct vperfctr_cpu_mask req;
		u32 words[NR_CPUS / 32 + 1];
	} m = { .req = { .size = sizeof(m.req), .nrwords = ARRAY_SIZE(m.words) } };
	unsigned int cpu, words = DIV_ROUND_UP(nr_cpu_ids, 32);

	must(user_device_ioctl(VPERFCTR_CPUS, &m));
	sim_require(m.req.nrwords == words, "the set needs %u words", m.req.nrwords);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		sim_require(m.words[cpu / 32] & BIT(cpu % 32), "CPU %u is not in the set", cpu);
	m.req.nrwords = words - 1;
	sim_require(user_device_ioctl(VPERFCTR_CPUS, &m) == -EOVERFLOW, "a set without its last word");
	(void)arg;
}

void sim_many_cpus(void)
{
	user_wait(sim_process("asks", 1000, ask_for_many, NULL));
}
