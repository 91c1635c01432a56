// SPDX-License-Identifier: GPL-2.0
/*
 * A program of bytes on the simulated machine: processes and threads that make calls of
 * the whole interface, right and wrong ones, and a schedule.  README.md describes it.
 */
#include <stdlib.h>

#include "scenarios.h"
#include "sim.h"
#include "hardware.h"
#include "fuzz.h"

extern unsigned int *const sim_param_max_states_per_user, *const sim_param_max_ring_kb_per_user,
		    *const sim_param_max_stops_per_second, *const sim_param_max_sample_rate,
		    *const sim_param_max_threads_per_stop;
extern bool *const sim_param_allow_kernel;

struct sim_costs sim_costs;		/* instead of that of scale.c */

static const u8 *header, *actions;
static unsigned int nr_actions;

/* ---- choices ------------------------------------------------------------------ */

/*
 * Choices are pseudo-random.  The generator starts anew after that many choices, with the
 * next byte of the schedule.  So a change of one byte changes the choices of one piece.
 */
#define PIECE		64

static u64 rng;
static unsigned int piece, left_in_piece;

static void next_piece(void)
{
	u64 byte = piece < FUZZ_SCHEDULE ? header[FUZZ_HEADER + piece] : 0;

	rng = ((u64)header[FUZZ_SEED] << 40 ^ byte << 32 ^ ++piece) * 0x9e3779b97f4a7c15ULL;
	rng ^= rng >> 29;
	rng |= 1;
	left_in_piece = PIECE;
}

static u32 below(u32 n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 32) * n >> 32;
}

static unsigned int choose(unsigned int n, unsigned int one_in)
{
	if (n < 2)
		return 0;
	if (!left_in_piece--)
		next_piece();
	if (one_in == 1)
		return below(n);
	if (below(one_in << (header[FUZZ_RARE] & 3)))
		return 0;
	return 1 + (n == 2 ? 0 : below(n - 1));
}

/* ---- tasks --------------------------------------------------------------------- */

#define MAX_TASKS	12
#define MAX_CPUS	4
#define HEAD_SIZE	(PAGE_SIZE + 64)
#define TABLE_SIZE	2304

/* A task of the program, and what is known of its own state. */
struct fuzz_task {
	struct task_struct *task;
	u64 executed;			/* when it had ended */
	u8 stream;			/* which actions are its own */
	u8 rounds;
	int fd;				/* that it opened last */
	u64 map_size;			/* of the ring that it made last */
	/* Its state, as far as it is known: the other fields are right if `exact`. */
	void *state;
	bool exact, running, suspended, armed, ends_on_exec;
	unsigned int nrctrs;
	u64 base;			/* instructions executed when the sums were these: */
	u64 sum[VPERFCTR_MAX_CTRS];
	u64 weight[VPERFCTR_MAX_CTRS];	/* events of an instruction */
	u64 period;			/* of the only counter, if that is an i-mode one; else 0 */
	int sig;
	/* The set of CPUs that it has opened, and its last control, if nothing has changed it since. */
	int set_fd;
	void *set;			/* NULL: not known */
	u64 set_change;			/* when it was set: see set_changes */
	u64 set_before, set_after;	/* instructions that all had executed then */
	unsigned int set_nrctrs, set_nractrs;
	u64 set_preserve, set_weight[VPERFCTR_MAX_CTRS];
	struct vperfctr_cpu cpus[MAX_CPUS];
	u64 set_sums[MAX_CPUS * (1 + VPERFCTR_MAX_CTRS)];
	u32 set_mask;
	/* User memory. */
	union {
		u8 head[HEAD_SIZE];
		struct vperfctr_control control;
		struct vperfctr_read read;
		struct vperfctr_open open;
		struct vperfctr_attach attach;
		struct vperfctr_ring ring;
		struct vperfctr_info info;
		struct vperfctr_open_cpus open_cpus;
		struct vperfctr_read_cpus read_cpus;
	} u;
	struct vperfctr_control header;	/* of a control at another address than the head */
	union {
		u8 table[TABLE_SIZE];
		struct vperfctr_ctr ctr[TABLE_SIZE / sizeof(struct vperfctr_ctr)];
	} t;
	u64 own[1 + VPERFCTR_MAX_CTRS], children[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_soft soft;
	struct vperfctr_control got;
};

static struct fuzz_task *tasks[MAX_TASKS];
static unsigned int nr_tasks;
static bool all_kernel;			/* kernel mode is counted as instructions */
static bool odd_events;			/* some events may be more than instructions */
static u64 set_changes;			/* of sets of CPUs, and of the CPUs that are online */
static unsigned int sets_changing;	/* of these changes, those that have not ended */
static bool has_sets;			/* CPUs may be counted, or may have been */
static unsigned int toggle_cpu;		/* a CPU to take offline, or online, + 1 */

/* For tables with large entries. */
static const u8 zeros[VPERFCTR_MAX_CTRS * PAGE_SIZE];
/* The kernel writes there what no check reads. */
#define sink	fuzz_sink

static void run_task(void *arg);

static struct fuzz_task *new_task(u8 stream, u8 rounds)
{
	struct fuzz_task *t;

	if (nr_tasks == MAX_TASKS)
		return NULL;
	t = calloc(1, sizeof(*t));
	t->stream = stream & 7;
	t->rounds = rounds;
	t->fd = 3;
	t->set_fd = 3;
	tasks[nr_tasks++] = t;
	return t;
}

/* A process or a thread is made, and may be killed before it or its parent goes on. */
static void task_is_made(struct task_struct *task)
{
	((struct fuzz_task *)task->sim->arg)->task = task;
}

static struct fuzz_task *by_state(const void *state)
{
	unsigned int i;

	for (i = 0; state && i < nr_tasks; i++) {
		if (tasks[i]->state == state)
			return tasks[i];
	}
	return NULL;
}

static u64 executed_by_all(void)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < nr_tasks; i++)
		sum += tasks[i]->task ? tasks[i]->task->sim->executed : 0;
	return sum;
}

/* ---- what must be counted ----------------------------------------------------------- */

static void update(struct fuzz_task *t)
{
	u64 executed = current->sim->executed;
	unsigned int i;

	for (i = 0; i < t->nrctrs && t->running && !t->suspended; i++)
		t->sum[i] += (executed - t->base) * t->weight[i];
	t->base = executed;
}

/* Return: false if it is not known what the counter counts. */
static bool weigh(const struct vperfctr_ctr *ctr, u64 *weight)
{
	static const struct work work = { .instructions = 1000, .cycles = 1000 };
	u64 sel = ctr->evntsel, n;

	if (ctr->map & VPERFCTR_FIXED) {
		if (all_kernel && (sel & FIX_OS))
			return false;
	} else if ((sel & ~(SEL_EN | SEL_USR | SEL_OS | 0xffff)) || (all_kernel && (sel & SEL_OS))) {
		return false;
	}
	n = model_counts(ctr->map, sel, ctr->aux, &work);
	*weight = n / 1000;
	return !(n % 1000);
}

#define FEW	(1 << 20)		/* more than any task executes */

/* The task has set this control of its own state. */
static void note_control(struct fuzz_task *t, const struct vperfctr_control *c)
{
	const struct vperfctr_ctr *ctr = (const void *)(unsigned long)c->ctr;
	unsigned int i, n = c->nractrs + c->nrictrs;
	bool exact = true;

	update(t);
	if (!n && !c->tsc_on && !c->soft) {
		t->running = false;
		t->armed = false;
		return;
	}
	if (c->preserve && (!t->exact || c->preserve >> t->nrctrs))
		exact = false;
	if (n && c->ctr_size != sizeof(*ctr))
		exact = false;
	t->period = 0;
	for (i = 0; i < n && exact; i++) {
		exact = weigh(&ctr[i], &t->weight[i]);
		if (!(c->preserve >> i & 1))
			t->sum[i] = 0;
		if (i < c->nractrs)
			continue;
		if (n == 1 && exact && t->weight[i] == 1 && c->si_signo > 0)
			t->period = -ctr[i].ireset;
		exact = exact && -ctr[i].ireset > FEW;
	}
	t->sig = c->si_signo;
	t->nrctrs = n;
	t->exact = exact;
	t->suspended = false;
	t->armed = c->flags & VPERFCTR_CONTROL_START_ON_EXEC;
	t->ends_on_exec = c->flags & VPERFCTR_CONTROL_END_ON_EXEC;
	t->running = !t->armed;
}

/* Another task has changed the state: it is not known any more. */
static void forget(const void *state)
{
	struct fuzz_task *t = by_state(state);

	if (t) {
		t->exact = false;
		t->period = 0;
	}
}

static void check_read(struct fuzz_task *t, void *state, bool overwritten)
{
	const struct vperfctr_read *r = &t->u.read;
	const struct fuzz_task *owner = by_state(state);
	unsigned int i;
	u64 all = executed_by_all();

	if (r->sums != (unsigned long)t->own || r->children != (unsigned long)t->children || overwritten)
		return;
	sim_require(r->nrctrs <= VPERFCTR_MAX_CTRS, "READ returns %u counters", r->nrctrs);
	for (i = 0; i < r->nrctrs && !all_kernel && !odd_events; i++) {
		sim_require(t->own[1 + i] <= all, "%llu events, and all tasks have executed %llu",
			    t->own[1 + i], all);
		sim_require(!owner || !owner->task || t->own[1 + i] <= owner->task->sim->executed,
			    "%llu events, and the owner has executed %llu", t->own[1 + i],
			    owner->task->sim->executed);
		sim_require(t->children[1 + i] <= all, "%llu events of children, and all have executed %llu",
			    t->children[1 + i], all);
	}
	if (state != t->state || !t->exact)
		return;
	update(t);
	sim_require(r->nrctrs == t->nrctrs, "%u counters, not %u", r->nrctrs, t->nrctrs);
	for (i = 0; i < t->nrctrs; i++)
		sim_require(t->own[1 + i] == t->sum[i], "counter %u: %llu events, not %llu", i,
			    t->own[1 + i], t->sum[i]);
	sim_require(!(r->status & (VPERFCTR_STATUS_FORBIDDEN | VPERFCTR_STATUS_OVERFLOW)),
		    "the status is %#x", r->status);
}

/* The control of a set of CPUs has succeeded. */
static void note_set(struct fuzz_task *t, void *set, u64 before)
{
	const struct vperfctr_control *c = &t->u.control;
	unsigned int i;

	t->set = NULL;
	if (c->ctr != (unsigned long)t->t.ctr || c->ctr_size != sizeof(t->t.ctr[0]) || c->kind ||
	    !c->nractrs)
		return;
	for (i = 0; i < c->nractrs; i++) {
		if (!weigh(&t->t.ctr[i], &t->set_weight[i]))
			return;
	}
	t->set = set;
	t->set_nrctrs = c->nractrs + c->nrictrs;
	t->set_nractrs = c->nractrs;
	t->set_preserve = c->preserve;
	t->set_change = set_changes;
	t->set_before = before;
	t->set_after = executed_by_all();
}

/*
 * All that is executed in user mode is counted, if the set has all CPUs.  Code that runs
 * during CONTROL and READ_CPUS may be counted or not.
 */
static void check_set(struct fuzz_task *t, void *set, u64 before)
{
	const struct vperfctr_read_cpus *r = &t->u.read_cpus;
	bool known = t->set == set && t->set_change == set_changes && r->nrcpus == nr_cpu_ids;
	u64 all = executed_by_all(), sum;
	unsigned int i, n;

	if (r->sums != (unsigned long)t->set_sums)
		return;
	sim_require(r->nrcpus && r->nrcpus <= nr_cpu_ids, "READ_CPUS returns %u CPUs", r->nrcpus);
	sim_require(!known || r->nrctrs == t->set_nrctrs, "%u counters, not %u", r->nrctrs,
		    t->set_nrctrs);
	for (i = 0; i < r->nrctrs; i++) {
		for (sum = 0, n = 0; n < r->nrcpus; n++)
			sum += t->set_sums[n * (1 + r->nrctrs) + 1 + i];
		sim_require(all_kernel || odd_events || sum <= all,
			    "%llu events on all CPUs, and all tasks have executed %llu", sum, all);
		if (!known || i >= t->set_nractrs)
			continue;
		sim_require(sum >= (before - t->set_after) * t->set_weight[i],
			    "%llu events on all CPUs, of at least %llu", sum,
			    (before - t->set_after) * t->set_weight[i]);
		sim_require(sum <= (all - t->set_before) * t->set_weight[i] || t->set_preserve >> i & 1,
			    "%llu events on all CPUs, of at most %llu", sum,
			    (all - t->set_before) * t->set_weight[i]);
	}
}

/* ---- errors that the header documents ------------------------------------------------- */

#define E(name)	BIT_ULL(E##name)
#define OWN	(E(SRCH) | E(PERM))
#define STRUCT	(E(FAULT) | E(INVAL) | E(2BIG))

static u64 high(int err)
{
	return 1ULL << (err - 32);
}

/* Return: false if the call may not fail so. */
static bool is_documented(unsigned int cmd, int err)
{
	u64 low = 0, more = 0;

	/* The number is too great for the masks. */
	if (err == EADDRINUSE)
		return cmd == VPERFCTR_CONTROL || cmd == VPERFCTR_OPEN || cmd == VPERFCTR_ATTACH;
	switch (cmd) {
	case VPERFCTR_INFO:
		low = STRUCT | E(INTR);
		break;
	case VPERFCTR_CPUS:
	case VPERFCTR_CPUS_FORBIDDEN:
	case VPERFCTR_KIND_CPUS:
		low = STRUCT;
		more = high(EOVERFLOW);
		break;
	case VPERFCTR_OPEN:
		low = STRUCT | E(EXIST) | E(NOENT) | E(SRCH) | E(PERM) | E(AGAIN) | E(NOMEM) | E(INTR) | E(MFILE) | E(BUSY) | E(MLINK);
		more = high(EUSERS) | high(EOPNOTSUPP) | high(EXFULL);
		break;
	case VPERFCTR_OPEN_CPUS:
		low = STRUCT | E(PERM) | E(NODEV) | E(NOMEM) | E(MFILE);
		more = high(EOPNOTSUPP);
		break;
	case VPERFCTR_ATTACH:
		low = STRUCT | E(BADF) | E(SRCH) | E(EXIST) | E(INTR) | E(AGAIN) | E(NOMEM) | E(MFILE) | E(PERM) | E(BUSY) | E(MLINK);
		more = high(EUSERS) | high(EOPNOTSUPP) | high(EXFULL);
		break;
	case VPERFCTR_CONTROL:
		low = STRUCT | OWN | E(NOMEM) | E(INTR) | E(BUSY);
		more = high(EUSERS) | high(EOPNOTSUPP) | high(EXFULL);
		break;
	case VPERFCTR_READ:
		low = STRUCT | E(NOMEM) | E(INTR);
		more = high(EOVERFLOW);
		break;
	case VPERFCTR_SUSPEND:
	case VPERFCTR_RESUME:
		low = OWN | E(INVAL) | E(INTR);
		break;
	case VPERFCTR_UNLINK:
		low = E(PERM) | E(INVAL) | E(INTR);
		break;
	case VPERFCTR_IRESUME:
		low = OWN | E(INVAL) | E(INTR);
		more = high(ENODATA);
		break;
	case VPERFCTR_RING:
		low = STRUCT | OWN | E(EXIST) | E(AGAIN) | E(INTR) | E(NOMEM);
		more = high(EOPNOTSUPP);
		break;
	case VPERFCTR_CONSUME:
		low = E(INVAL);
		break;
	case VPERFCTR_MEMBER:
		low = OWN | E(NOENT) | E(MFILE) | E(NOMEM);
		break;
	default:
		low = E(NOTTY);
		break;
	}
	return err < 32 ? low >> err & 1 : err < 96 ? more >> (err - 32) & 1 : err == 122;
}

/* The same for a descriptor of CPUs. */
static bool is_documented_of_set(unsigned int cmd, int err)
{
	switch (cmd) {
	case VPERFCTR_CONTROL:
		/*
		 * EACCES: an idle CPU may still have the mm of a process that has ended, and CR4
		 * with its right.
		 */
		return err == EACCES || is_documented(cmd, err);
	case VPERFCTR_SUSPEND:
	case VPERFCTR_RESUME:
		return err == EPERM || err == EINVAL || err == EINTR;
	case VPERFCTR_READ_CPUS:
		return err == EFAULT || err == EINVAL || err == E2BIG || err == EOVERFLOW ||
		       err == EINTR || err == ENOMEM;
	case VPERFCTR_RING:
	case VPERFCTR_CONSUME:
		return is_documented(cmd, err);
	default:
		return err == ENOTTY;
	}
}

static bool may_restart(unsigned int cmd)
{
	return cmd == VPERFCTR_OPEN || cmd == VPERFCTR_ATTACH || cmd == VPERFCTR_RING;
}

static void check_error(unsigned int cmd, int err, bool device, bool set, bool bad_address,
			unsigned long arg)
{
	const struct sim_task *s = current->sim;

	/* Ioctls of the device have the numbers below 16.  States have INFO, too. */
	if (((cmd & 0xff) < 16) != device && (cmd != VPERFCTR_INFO || set))
		cmd = 0;
	if (err == ERESTARTSYS)
		err = may_restart(cmd) ? EINTR : err;
	sim_require(set ? is_documented_of_set(cmd, err) : is_documented(cmd, err), "the ioctl %u fails with error %d", cmd & 0xff, err);
	if (err == EINTR)
		sim_require(may_restart(cmd) ? s->signals : s->signals >> SIGKILL & 1,
			    "the ioctl %u is interrupted, by no signal", cmd & 0xff);
	if (err == ENOMEM)
		sim_require(sim_failures.alloc, "the ioctl %u finds no memory", cmd & 0xff);
	if (err == EFAULT)
		sim_require(sim_failures.fault || bad_address, "the ioctl %u faults", cmd & 0xff);
	if (err == EBUSY)
		sim_require(has_sets, "the ioctl %u finds counted CPUs", cmd & 0xff);
	if (set && cmd == VPERFCTR_CONTROL)
		sim_require(err != ESRCH, "CONTROL of a set looks for a thread");
	if ((cmd == VPERFCTR_UNLINK || cmd == VPERFCTR_IRESUME) && err == EINVAL)
		sim_require(arg, "the ioctl %u: EINVAL", cmd & 0xff);
}

/* ---- calls ---------------------------------------------------------------------------- */

static bool changes_state(unsigned int cmd)
{
	return cmd == VPERFCTR_CONTROL || cmd == VPERFCTR_SUSPEND || cmd == VPERFCTR_RESUME ||
	       cmd == VPERFCTR_UNLINK || cmd == VPERFCTR_IRESUME || cmd == VPERFCTR_RING;
}

/* An ioctl of the task's own state has succeeded.  Nothing else has happened since. */
static void note_own(struct fuzz_task *t, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case VPERFCTR_CONTROL:
		note_control(t, (const void *)arg);
		break;
	case VPERFCTR_SUSPEND:
		update(t);
		t->suspended = true;
		break;
	case VPERFCTR_RESUME:
		update(t);
		t->suspended = false;
		break;
	case VPERFCTR_UNLINK:
		t->state = NULL;
		break;
	}
}

/* A new descriptor of the task's own state. */
static void note_open(struct fuzz_task *t, int fd, bool alone)
{
	const struct vperfctr_open *req = &t->u.open;

	t->state = NULL;
	t->exact = false;
	t->period = 0;
	/* Otherwise another thread may have closed it. */
	if (!alone || req->tid)
		return;
	t->state = current->signal->fd[fd]->private_data;
	if (!(req->flags & VPERFCTR_OPEN_CREAT))
		return;
	t->exact = true;
	t->running = false;
	t->suspended = false;
	t->armed = false;
	t->ends_on_exec = false;
	t->nrctrs = 0;
	t->base = current->sim->executed;
	if (req->control)
		note_control(t, (const void *)(unsigned long)req->control);
}

static void check_context(void)
{
	const struct sim_cpu *cpu = sim_this_cpu();

	sim_require(!cpu->preempt && !cpu->irqs_off && !current->sim->mutexes.n &&
		    !current->sim->rcu_depth, "a call returns in a wrong context");
}

/* fd -1: of the device. */
static long call(struct fuzz_task *t, int fd, unsigned int cmd, unsigned long arg, bool bad_address)
{
	struct file device = { .f_op = sim_device }, *file = &device;
	bool own, set, alone = current->signal->nr_threads == 1, alone_in_set;
	u64 before = executed_by_all(), changes;
	void *state = NULL;
	long ret;

	current->sim->regs.user = false;
	fuzz_calls++;
	if (fd < 0) {
		__module_get(NULL);
	} else {
		file = fget(fd);
		if (!file) {
			sim_return_to_user();
			return -EBADF;
		}
		state = file->private_data;
	}
	if (!file->f_op->unlocked_ioctl) {
		fput(file);
		sim_return_to_user();
		return -ENOTTY;
	}
	own = state && state == t->state;
	set = file->name && !strcmp(file->name, "[vperfctr-cpus]");
	has_sets |= set || (fd < 0 && cmd == VPERFCTR_OPEN_CPUS);
	/* Calls that overlap may take effect in any order. */
	alone_in_set = !sets_changing;
	set_changes += set && changes_state(cmd);
	sets_changing += set && changes_state(cmd);
	changes = set_changes;
	if (changes_state(cmd) && !own)
		forget(state);
	sim_tell("fd %d, ioctl %u", fd, cmd & 0xff);
	ret = file->f_op->unlocked_ioctl(file, cmd, arg);
	sim_tell("ioctl %u: %ld", cmd & 0xff, ret);
	check_context();
	alone_in_set &= changes == set_changes;
	set_changes += set && changes_state(cmd);
	sets_changing -= set && changes_state(cmd);
	if (ret < 0)
		check_error(cmd, -ret, fd < 0, set, bad_address, arg);
	if (!ret && set && alone_in_set && cmd == VPERFCTR_CONTROL && arg == (unsigned long)&t->u)
		note_set(t, state, before);
	if (!ret && set && cmd == VPERFCTR_READ_CPUS)
		check_set(t, state, before);
	if (ret >= 0 && fd < 0 && cmd == VPERFCTR_OPEN_CPUS)
		t->set_fd = ret;
	if (changes_state(cmd) && !own)
		forget(state);
	if (!ret && own)
		note_own(t, cmd, arg);
	if (ret >= 0 && cmd == VPERFCTR_OPEN && fd < 0)
		note_open(t, ret, alone);
	if (!ret && cmd == VPERFCTR_READ && fd >= 0)
		check_read(t, state, false);
	if (ret >= 0 && (cmd == VPERFCTR_OPEN || cmd == VPERFCTR_ATTACH || cmd == VPERFCTR_MEMBER))
		t->fd = ret;
	if (fd < 0)
		module_put(NULL);
	else
		fput(file);
	sim_return_to_user();
	return ret;
}

static int pick_fd(const struct fuzz_task *t, u8 byte)
{
	if (byte & 8)
		return t->fd;
	return byte < 0xf8 ? 3 + (byte & 7) : 40 + byte;
}

/* ---- controls ---------------------------------------------------------------------------- */

static void set_counter(struct vperfctr_ctr *ctr, unsigned int i, u8 how)
{
	static const u64 events[] = { EV_INSTRUCTIONS, EV_CYCLES, EV_REF_CYCLES, EV_PREC_DIST };

	*ctr = (struct vperfctr_ctr) { .map = i, .evntsel = SEL_EN | SEL_USR | EV_INSTRUCTIONS };
	switch (how & 3) {
	case 1:
		*ctr = (struct vperfctr_ctr) { .map = VPERFCTR_FIXED + i, .evntsel = FIX_USR };
		break;
	case 2:
		ctr->evntsel = SEL_EN | SEL_USR | events[(i + (how >> 2)) % 4];
		break;
	case 3:
		ctr->map = 3 - i;
		if (how & 4)
			ctr->evntsel |= SEL_OS;
		break;
	}
}

/*
 * Bytes of an action: 3: numbers of counters, TSC, software counters; 4: flags; 5: period
 * and signal; 6: the counters, and the sums to preserve; 7: what is wrong, 0: nothing.
 */
static bool fill_control(struct vperfctr_control *c, struct fuzz_task *t, const u8 *a)
{
	static const u16 periods[] = { 20, 100, 7, 1, 301, 3000 };
	unsigned int i, n;
	bool bad = false;

	*c = (struct vperfctr_control) {
		.size = sizeof(*c), .ctr_size = sizeof(struct vperfctr_ctr), .ctr = (unsigned long)t->t.ctr,
		.nractrs = a[3] & 3, .nrictrs = a[4] & 0x40 ? 1 + (a[3] >> 2 & 1) : 0,
		.tsc_on = !(a[3] >> 4 & 1), .soft = (a[3] >> 5) & 1 ? 0x1e : 0, .flags = a[4] & 0x3f,
		.preserve = a[6] >> 5,
	};
	if (c->tsc_on && a[3] >> 6 & 1)
		c->soft |= VPERFCTR_SOFT_TASK_CLOCK;
	n = c->nractrs + c->nrictrs;
	for (i = 0; i < n; i++)
		set_counter(&t->t.ctr[i], i, a[6]);
	for (i = c->nractrs; i < n; i++)
		t->t.ctr[i].ireset = (a[5] & 7) < 6 ? -(s64)periods[a[5] & 7] : -(1LL << 24 << (a[5] & 7));
	if (c->nrictrs) {
		if (!(c->flags & VPERFCTR_CONTROL_RING) && (a[5] & 8))
			c->si_signo = 40;
		if (a[5] & 16)
			c->nractrs = 0, c->nrictrs = 1;
		if (a[5] & 16)
			t->t.ctr[0].ireset = t->t.ctr[n - 1].ireset;
	} else if (c->tsc_on && (a[5] & 32)) {
		c->flags |= VPERFCTR_CONTROL_RING;
		c->clock_period = VPERFCTR_CLOCK_MIN << (a[5] & 3);
	} else {
		c->flags &= ~VPERFCTR_CONTROL_RING;
	}

	switch (a[7]) {
	case 0:
	default:
		break;
	case 1:
		c->size = sizeof(*c) + 8 * (1 + (a[5] & 31));
		break;
	case 2:
		c->size = 8 * a[5];
		break;
	case 3:
		c->size = a[5] << 8 | a[6];
		break;
	case 4:
		c->ctr = a[5];
		bad = true;
		break;
	case 5:
		c->reserved = a[5];
		break;
	case 6:
		t->t.ctr[a[5] & 3].map = t->t.ctr[a[6] & 3].map;
		break;
	case 7:
		t->t.ctr[a[5] & 3].map = a[6] & 1 ? VPERFCTR_FIXED + (a[6] >> 1) : a[6] >> 1;
		break;
	case 8:
		t->t.ctr[a[5] & 3].evntsel ^= 1ULL << (a[6] & 63);
		break;
	case 9:
		t->t.ctr[a[5] & 3].aux = a[6];
		break;
	case 10:
		t->t.ctr[a[5] & 3].reserved = a[6];
		break;
	case 11:
		c->ctr_size = 8 * (1 + (a[5] & 7));
		break;
	case 12:
		c->ctr_size = a[5] << 8 | a[6];
		break;
	case 13:
		c->kind = 1;
		break;
	case 14:
		c->kind = VPERFCTR_ANY_KIND;
		c->nrkinds = 1;
		break;
	case 15:
		c->kind = VPERFCTR_ANY_KIND;
		c->nrkinds = a[5];
		break;
	case 16:
		c->global[a[5] & 1] = a[6];
		break;
	case 17:
		c->si_signo = (signed char)a[5];
		break;
	case 18:
		c->nractrs = a[5];
		c->nrictrs = a[6];
		break;
	case 19:
		c->flags = a[5] << 4;
		break;
	case 20:
		t->t.ctr[a[5] & 3].ireset = (u64)(signed char)a[6] << (a[5] >> 2);
		break;
	case 21:
		c->soft = a[5];
		c->tsc_on = a[6] & 3;
		break;
	case 22:
		c->preserve = 1ULL << (a[5] & 63);
		break;
	case 23:
		((u8 *)c)[4 + a[5] % (sizeof(*c) - 12)] ^= a[6];
		bad = true;		/* it may be the address */
		c->ctr = (unsigned long)t->t.ctr;
		break;
	case 24:
		c->nrkinds = a[5];
		break;
	case 27:
		c->clock_period = (u64)(signed char)a[6] << (a[5] >> 2);
		break;
	}
	for (i = 0; i < ARRAY_SIZE(t->t.ctr) && i < c->nractrs + c->nrictrs; i++) {
		u64 weight = 0;

		odd_events |= !weigh(&t->t.ctr[i], &weight) || weight > 1;
	}
	/* A table must lie in memory that exists. */
	if (c->ctr == (unsigned long)t->t.ctr &&
	    (c->ctr_size > sizeof(struct vperfctr_ctr) * 2 || c->kind == VPERFCTR_ANY_KIND))
		if (c->ctr_size > sizeof(struct vperfctr_ctr) || c->nrkinds > 1)
			c->ctr = (unsigned long)zeros;
	return bad;
}

static void do_control(struct fuzz_task *t, const u8 *a)
{
	bool bad;

	memset(&t->u, 0, sizeof(t->u.control) + 256);
	bad = fill_control(&t->u.control, t, a);
	if (a[7] == 2 || a[7] == 25)
		t->u.head[sizeof(t->u.control) + (a[6] & 63)] = a[7] == 25 ? a[5] : 0;
	if (a[7] == 25)
		t->u.control.size = sizeof(t->u.control) + 64;
	if (a[7] == 26)
		call(t, pick_fd(t, a[2]), VPERFCTR_CONTROL, a[5], true);
	else
		call(t, pick_fd(t, a[2]), VPERFCTR_CONTROL, (unsigned long)&t->u, bad);
}

static void do_open(struct fuzz_task *t, const u8 *a)
{
	struct vperfctr_open *req = &t->u.open;
	bool bad = false;

	memset(&t->u, 0, 256);
	*req = (struct vperfctr_open) { .size = sizeof(*req), .flags = a[2] };
	if (!(a[3] & 0x80))
		req->flags &= 0x1f;
	/* Half of the bytes that ask for nothing else. */
	if ((a[3] & 0x7c) >= 0x40)
		req->flags = (req->flags & ~VPERFCTR_OPEN_KEEP) | VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER;
	if (a[3] & 1) {
		bad = fill_control(&t->header, t, (const u8[]) { 0, 0, 0, a[4], a[5], a[6], a[7], 0 });
		req->control = (unsigned long)&t->header;
	}
	if (a[3] & 2)	/* another thread, which may be traced */
		req->tid = a[4] & 15 && tasks[a[4] % nr_tasks]->task ? tasks[a[4] % nr_tasks]->task->pid : a[4];
	if ((a[3] & 0x7c) == 4)
		req->size = a[5] & 1 ? 32 : a[6] * 8;
	if ((a[3] & 0x7c) == 8)
		req->reserved = a[5];
	if ((a[3] & 0x7c) == 12) {
		req->control = a[5];
		bad = true;
	}
	call(t, -1, VPERFCTR_OPEN, (a[3] & 0x7c) == 16 ? a[5] : (unsigned long)req,
	     bad || (a[3] & 0x7c) == 16);
}

static void do_attach(struct fuzz_task *t, const u8 *a)
{
	struct vperfctr_attach *req = &t->u.attach;
	bool bad;

	memset(&t->u, 0, 256);
	*req = (struct vperfctr_attach) {
		.size = sizeof(*req), .flags = (a[2] & 7) | (a[3] & 0x80 ? VPERFCTR_ATTACH_OBSERVER : 0), .control = (unsigned long)&t->header,
		.mem_fd = pick_fd(t, a[2] >> 3),
	};
	if (tasks[a[3] % nr_tasks]->task)
		req->tid = tasks[a[3] % nr_tasks]->task->pid;
	bad = fill_control(&t->header, t, (const u8[]) { 0, 0, 0, a[4], a[5], 0, a[6], 0 });
	switch (a[7]) {
	case 1:
		req->flags = a[6];
		break;
	case 2:
		req->size = a[6] * 4;
		break;
	case 3:
		req->nrthreads = a[6];
		break;
	case 4:
		req->control = a[6];
		bad = true;
		break;
	case 5:
		req->tid = (signed char)a[6];
		break;
	}
	call(t, -1, VPERFCTR_ATTACH, (unsigned long)req, bad);
}

/* Open another process's memory, and attach to it. */
static void do_attach_right(struct fuzz_task *t, const u8 *a)
{
	struct fuzz_task *to = tasks[a[3] % nr_tasks];
	u8 copy[FUZZ_ACTION];
	int fd;

	if (!to->task || !to->task->mm)
		return;
	fd = user_open_mem(to->task);
	if (fd < 0)
		return;
	memcpy(copy, a, sizeof(copy));
	copy[2] &= 7;
	t->fd = fd;
	copy[2] |= 0x40;
	copy[7] = 0;
	do_attach(t, copy);
	user_close(fd);
}

static void do_read(struct fuzz_task *t, const u8 *a)
{
	struct vperfctr_read *r = &t->u.read;
	bool bad = false;

	memset(&t->u, 0, 256);
	*r = (struct vperfctr_read) {
		.size = sizeof(*r), .nrctrs = a[3] & 0x40 ? a[4] & 7 : VPERFCTR_MAX_CTRS,
		.flags = a[3] >> 4 & 3, .sums = (unsigned long)t->own, .children = (unsigned long)t->children,
	};
	if (a[3] & 1) {
		r->control = (unsigned long)&t->got;
		t->got = (struct vperfctr_control) {
			.size = sizeof(t->got), .ctr_size = sizeof(struct vperfctr_ctr), .nrkinds = a[4] >> 3 & 1,
			.ctr = (unsigned long)sink,
		};
	}
	if (a[3] & 2) {
		r->soft = (unsigned long)&t->soft;
		t->soft.size = sizeof(t->soft);
	}
	switch (a[5]) {
	case 1:
		r->sums = 0;
		break;
	case 2:
		r->children = 0;
		break;
	case 3:
		r->sums = a[6];
		bad = true;
		break;
	case 4:
		r->children = a[6];
		bad = true;
		break;
	case 5:
		r->control = a[6];
		bad = true;
		break;
	case 6:
		r->soft = a[6];
		bad = true;
		break;
	case 7:
		t->got.ctr_size = a[6] << 8 | a[7];
		break;
	case 8:
		t->got.ctr = a[6];
		bad = true;
		break;
	case 9:
		t->got.size = a[6];
		if (t->got.size > sizeof(t->got))
			t->got.size = 0;
		break;
	case 10:
		t->soft.size = a[6] & 127;
		if (t->soft.size > sizeof(t->soft))
			t->soft.size = 0;
		break;
	case 11:
		r->flags = a[6];
		break;
	case 12:
		r->size = a[6] * 8;
		break;
	case 13:
		call(t, pick_fd(t, a[2]), VPERFCTR_READ, a[6], true);
		return;
	}
	call(t, pick_fd(t, a[2]), VPERFCTR_READ, (unsigned long)r, bad);
}

static void do_ring(struct fuzz_task *t, const u8 *a)
{
	struct vperfctr_ring *r = &t->u.ring;
	bool bad = false;
	long ret;

	memset(&t->u, 0, 256);
	*r = (struct vperfctr_ring) {
		.size = sizeof(*r), .nrsamples = 1U << (a[3] & 7), .watermark = 1 + (a[4] & 1), .nrsums = a[5] & 3,
		.flags = (a[3] >> 7 ? VPERFCTR_RING_KERNEL : 0) | (a[4] & 2 ? VPERFCTR_RING_RECORDS : 0),
	};
	switch (a[6]) {
	case 1:
		r->nrsamples = a[7] << (a[4] & 15);
		break;
	case 2:
		r->watermark = a[7];
		break;
	case 3:
		r->nrsums = a[7];
		break;
	case 4:
		r->flags = a[7];
		break;
	case 5:
		r->size = a[7] * 4;
		break;
	case 6:
		call(t, pick_fd(t, a[2]), VPERFCTR_RING, a[7], true);
		return;
	case 7:
		r->depth = a[7];
		break;
	case 8:
		r->stack = a[7] * 4;
		break;
	case 9:
		r->rate = a[7] << (a[4] & 15);
		break;
	case 10:
		r->kernel_depth = a[7];
		break;
	}
	ret = call(t, pick_fd(t, a[2]), VPERFCTR_RING, (unsigned long)r, bad);
	if (!ret || ret == -EEXIST)
		t->map_size = r->map_size;
}

static void do_info(struct fuzz_task *t, const u8 *a)
{
	struct vperfctr_info *info = &t->u.info;

	memset(&t->u, 0, sizeof(t->u));
	info->size = a[2] & 1 ? a[3] * 16 : sizeof(*info);
	info->kind = a[4] & 0x80 ? a[5] : 0;
	call(t, a[2] & 4 ? pick_fd(t, a[6]) : -1, VPERFCTR_INFO,
	     a[2] & 2 ? a[3] : (unsigned long)info, a[2] & 2);
}

/* ---- sets of CPUs ------------------------------------------------------------------------- */

static void do_open_cpus(struct fuzz_task *t, const u8 *a)
{
	struct vperfctr_open_cpus *req = &t->u.open_cpus;
	u32 all = (1U << nr_cpu_ids) - 1;

	memset(&t->u, 0, 256);
	t->set_mask = a[4] & 4 ? all : a[4] >> 3 & all;
	*req = (struct vperfctr_open_cpus) {
		.size = sizeof(*req), .flags = a[4] & 1, .nrwords = 1, .mask = (unsigned long)&t->set_mask,
	};
	switch (a[7]) {
	case 1:
		req->size = a[6];
		break;
	case 2:
		req->mask = a[6];
		break;
	case 3:
		req->nrwords = (unsigned int)a[6] << (a[5] & 7);
		req->mask = (unsigned long)zeros;
		break;
	case 4:
		req->flags = a[6];
		break;
	case 5:
		req->nrcpus = a[6];
		break;
	case 6:
		t->set_mask = a[6];
		break;
	}
	t->set = NULL;
	call(t, -1, VPERFCTR_OPEN_CPUS, (unsigned long)req, a[7] == 2);
}

static void do_control_cpus(struct fuzz_task *t, int fd, const u8 *a)
{
	struct vperfctr_control *c = &t->u.control;
	bool bad;

	memset(&t->u, 0, sizeof(*c) + 256);
	bad = fill_control(c, t, (const u8[]) { 0, 0, 0, a[4] & 0x13, 0, a[5] & 0xf, a[6], a[7] });
	if (!c->nractrs && a[7] != 30)
		c->tsc_on = 0;
	call(t, fd, VPERFCTR_CONTROL, (unsigned long)c, bad);
}

static void do_read_cpus(struct fuzz_task *t, int fd, const u8 *a)
{
	struct vperfctr_read_cpus *req = &t->u.read_cpus;

	memset(&t->u, 0, 256);
	*req = (struct vperfctr_read_cpus) {
		.size = sizeof(*req), .nrcpus = MAX_CPUS, .nrctrs = VPERFCTR_MAX_CTRS,
		.cpus = a[4] & 1 ? 0 : (unsigned long)t->cpus,
		.sums = a[4] & 2 ? 0 : (unsigned long)t->set_sums,
	};
	switch (a[7]) {
	case 1:
		req->size = a[6];
		break;
	case 2:
		req->sums = a[6];
		break;
	case 3:
		req->cpus = a[6];
		break;
	case 4:
		req->nrcpus = a[6] & 3;
		break;
	case 5:
		req->nrctrs = a[6] & 3;
		break;
	}
	call(t, fd, VPERFCTR_READ_CPUS, (unsigned long)req, a[7] == 2 || a[7] == 3);
}

/* Byte 3 chooses the call. */
static void do_set(struct fuzz_task *t, const u8 *a)
{
	int fd = a[2] & 0x10 ? pick_fd(t, a[2]) : t->set_fd;

	switch (a[3] >> 2 & 7) {
	case 1:
		do_open_cpus(t, a);
		break;
	case 2: case 3:
		do_control_cpus(t, fd, a);
		break;
	case 4: case 5:
		do_read_cpus(t, fd, a);
		break;
	case 6:
		call(t, fd, VPERFCTR_SUSPEND, 0, false);
		break;
	case 7:
		call(t, fd, VPERFCTR_RESUME, 0, false);
		break;
	}
}

static void do_cpus(struct fuzz_task *t, const u8 *a)
{
	static const unsigned int cmds[] = { VPERFCTR_CPUS, VPERFCTR_CPUS_FORBIDDEN, VPERFCTR_KIND_CPUS };
	unsigned int cmd = cmds[a[2] % 3];
	struct vperfctr_kind_cpus *k = (void *)&t->u;

	memset(&t->u, 0, 256);
	k->size = cmd == VPERFCTR_KIND_CPUS ? sizeof(*k) : sizeof(struct vperfctr_cpu_mask);
	if (a[3] & 1)
		k->size = a[4];
	if (cmd == VPERFCTR_KIND_CPUS) {
		k->nrwords = a[5];
		k->kind = a[6] & 1 ? VPERFCTR_ANY_KIND : a[6] >> 1;
		k->nrkinds = a[7] & 3;
	} else {
		((struct vperfctr_cpu_mask *)k)->nrwords = a[5];
	}
	call(t, -1, cmd, a[3] & 2 ? a[4] : (unsigned long)k, a[3] & 2);
}

/* ---- files and mappings -------------------------------------------------------------------- */

static void do_mmap(struct fuzz_task *t, const u8 *a)
{
	unsigned long offset = a[3] & 1 ? VPERFCTR_RING_OFFSET : 0, size = PAGE_SIZE;
	struct vm_area_struct *vma;
	struct file *file;
	int err;

	if (a[3] & 1 && t->map_size)
		size = t->map_size;
	if (a[4] == 1)
		offset = (unsigned long)a[5] << PAGE_SHIFT;
	if (a[4] == 2)
		size = (unsigned long)(1 + a[5]) << PAGE_SHIFT;
	fuzz_calls++;
	current->sim->regs.user = false;
	file = fget(pick_fd(t, a[2]));
	if (!file || !file->f_op->mmap) {
		if (file)
			fput(file);
		sim_return_to_user();
		return;
	}
	vma = calloc(1, sizeof(*vma));
	vma->vm_start = 0x10000000 + offset;
	vma->vm_end = vma->vm_start + size;
	vma->vm_pgoff = offset >> PAGE_SHIFT;
	vma->vm_flags = a[4] == 3 ? a[5] & 0x1f : VM_MAYSHARE;
	vma->vm_mm = current->mm;
	vma->vm_file = file;
	mutex_lock(&current->mm->mmap_lock);
	err = file->f_op->mmap(file, vma);
	if (!err) {
		vma->next = current->mm->vmas;
		current->mm->vmas = vma;
	}
	mutex_unlock(&current->mm->mmap_lock);
	sim_require(!err || err == -EINVAL || err == -EPERM || (err == -ENOMEM && sim_failures.alloc),
		    "mmap: %d", err);
	check_context();
	if (err) {
		fput(file);
		free(vma);
	}
	sim_return_to_user();
}

/* Unmap one of the mappings of the process. */
static void do_munmap(struct fuzz_task *t, const u8 *a)
{
	struct vm_area_struct **p, *vma;
	unsigned int n = a[2] & 3;

	(void)t;
	fuzz_calls++;
	current->sim->regs.user = false;
	mutex_lock(&current->mm->mmap_lock);
	for (p = &current->mm->vmas; *p && n; n--)
		p = &(*p)->next;
	vma = *p;
	if (vma) {
		*p = vma->next;
		if (vma->vm_ops && vma->vm_ops->close)
			vma->vm_ops->close(vma);
		fput(vma->vm_file);
		free(vma);
	}
	mutex_unlock(&current->mm->mmap_lock);
	check_context();
	sim_return_to_user();
}

/* As the library's inline read, by the owner: see scenarios.c. */
static void read_inline(struct fuzz_task *t, const volatile struct vperfctr_page *page)
{
	u32 samplecount, cstatus, map;
	const u64 *counter;
	unsigned int i = 0;
	u64 sum;

	do {
		samplecount = READ_ONCE(page->samplecount);
		cstatus = READ_ONCE(page->cstatus);
		if (!(cstatus & VPERFCTR_CSTATUS_RDPMC) || !VPERFCTR_CSTATUS_NRCTRS(cstatus) || i++ > 20)
			return;
		preempt_disable();	/* one instruction */
		map = page->ctr[0].map;
		counter = model_counter(&model.cpu[sim_cpu], map);
		sum = counter ? *counter : 0;
		if (t->exact)
			sim_require(sim_this_cpu()->pce && counter, "#GP: RDPMC in user mode");
		preempt_enable();
		sum = page->ctr[0].sum + ((sum - page->ctr[0].start) & page->mask);
	} while (READ_ONCE(page->samplecount) != samplecount);
	if (!t->exact)
		return;
	update(t);
	sim_require(sum == t->sum[0], "read %llu inline, not %llu", sum, t->sum[0]);
}

/* Touch what is mapped. */
static void do_touch(struct fuzz_task *t, const u8 *a)
{
	const struct vperfctr_ring_page *ring;
	struct vm_area_struct *vma;
	unsigned int n = a[2] & 3;

	if (current->signal->nr_threads != 1)
		return;		/* another thread may unmap it */
	for (vma = current->mm->vmas; vma && n; n--)
		vma = vma->next;
	if (!vma)
		return;
	if (!vma->page) {
		if (!vma->vm_ops || !vma->vm_ops->fault)
			return;
		n = user_fault(vma);
		sim_require(n == VM_FAULT_NOPAGE || sim_failures.alloc, "a fault fails: %u", n);
		return;
	}
	if (vma->vm_pgoff == VPERFCTR_RING_OFFSET >> PAGE_SHIFT) {
		ring = vma->page;
		sim_require(ring->head - ring->tail <= ring->nrsamples, "%llu samples in %u slots",
			    ring->head - ring->tail, ring->nrsamples);
	} else if (vma->vm_file->private_data == t->state) {
		read_inline(t, vma->page);
	} else {
		sim_require(((struct vperfctr_page *)vma->page)->version == VPERFCTR_ABI_VERSION,
			    "the page has no version");
	}
}

static void do_file(struct fuzz_task *t, const u8 *a)
{
	struct file *file;
	int fd;

	fuzz_calls++;
	current->sim->regs.user = false;
	file = fget(pick_fd(t, a[2]));
	if (file) {
		switch (a[3] & 3) {
		case 0:
		case 1:
			if (file->f_op->poll)
				file->f_op->poll(file, NULL);
			break;
		case 2:
			if (file->f_op->show_fdinfo)
				file->f_op->show_fdinfo(NULL, file);
			break;
		case 3:
			fd = get_unused_fd_flags(0);
			if (fd >= 0) {
				fd_install(fd, file);
				file = NULL;
			}
			break;
		}
		check_context();
		if (file)
			fput(file);
	}
	sim_return_to_user();
}

/* ---- other actions ------------------------------------------------------------------------ */

/* Trace a thread, and wait for some time until it has stopped. */
static void do_ptrace(const u8 *a)
{
	struct task_struct *task = tasks[a[2] % nr_tasks]->task;
	unsigned int i;

	if (!task || task == current || task->exit_state)
		return;
	if (a[3] & 1 || task->ptrace) {
		if (task->ptrace && task->parent == current && task->sim->state == SIM_TRACED)
			user_ptrace_continue(task);
		return;
	}
	current->sim->regs.user = false;
	task->ptrace = 1;
	task->parent = current;
	task->sim->stop = true;
	for (i = 0; i < 60 && task->sim->state != SIM_TRACED && !task->exit_state &&
	     !current->sim->stop && !current->sim->signals; i++)
		sim_sleep_on(NULL, sim_ns() + 500);
	sim_return_to_user();
}

static void release_tracees(const struct task_struct *tracer)
{
	struct task_struct *task;
	unsigned int i;

	for (i = 0; i < nr_tasks; i++) {
		task = tasks[i]->task;
		if (task && !task->exit_state && task->ptrace && task->parent == tracer)
			user_ptrace_continue(task);
	}
}

static void do_fork(const u8 *a)
{
	struct fuzz_task *t = new_task(a[2], 1);

	if (!t)
		return;
	if (a[3] & 1)
		user_thread("thread", run_task, t);
	else
		user_fork("child", run_task, t);
}

static void do_exec(struct fuzz_task *t, const u8 *a)
{
	bool gone;

	if (current->signal->nr_threads != 1)
		return;
	update(t);
	/* Also where ptrace would be refused. */
	gone = (a[2] & 3) == 3 || t->ends_on_exec || current->cred->euid.val != current->cred->uid.val;
	user_exec((a[2] & 3) == 3);
	t->base = current->sim->executed;
	if (gone) {
		t->state = NULL;
		t->exact = false;
		t->period = 0;
	} else if (t->armed) {
		t->armed = false;
		t->running = true;
	}
}

/* Work until the overflow's signal arrives, if one must. */
static void do_await_signal(struct fuzz_task *t)
{
	struct sim_task *s = current->sim;
	/* The signal may come before the call returns. */
	unsigned int before = s->received[40];
	u64 end, until;

	call(t, t->fd, VPERFCTR_IRESUME, 0, false);
	end = s->executed + 2 * t->period + 4000;
	until = sim_ns() + 3 * sim_processor.nmi_ns + 20000;
	while (t->period && t->period < 3000 && t->sig == 40 && t->running && !t->suspended &&
	       s->received[40] == before) {
		user_work(50);
		/* The state that was restarted may have been another one. */
		sim_require(s->executed < end || sim_ns() < until || by_state(t->state) != t || !t->period ||
			    current->signal->fd[t->fd & 63] == NULL ||
			    current->signal->fd[t->fd & 63]->private_data != t->state,
			    "no signal arrives");
		if (s->executed >= end && sim_ns() >= until)
			break;
	}
}

static void do_setuid(const u8 *a)
{
	const struct cred *old = current->cred;
	struct cred *cred = malloc(sizeof(*cred));

	*cred = *old;
	cred->usage.counter = 1;
	cred->euid.val = a[2] & 1 ? 1000 : 1001;
	if (a[2] & 2)
		cred->uid = cred->suid = cred->euid;
	cred->perfmon = a[2] & 4;
	sim_nr_creds++;
	current->cred = cred;
	current->real_cred = cred;
	put_cred(old);
}

static void do_action(struct fuzz_task *t, const u8 *a)
{
	static const unsigned int plain[] = { VPERFCTR_SUSPEND, VPERFCTR_RESUME, VPERFCTR_UNLINK, VPERFCTR_IRESUME };

	switch (a[1] % 32) {
	case 0: case 1:
		user_work(1 + a[2]);
		break;
	case 2:
		user_sleep(20 * a[2]);
		break;
	case 3: case 4:
		do_open(t, a);
		break;
	case 5: case 6: case 7: case 8:
		do_control(t, a);
		break;
	case 9: case 10: case 11:
		do_read(t, a);
		break;
	case 12: case 13: case 14:
		call(t, pick_fd(t, a[2]), plain[a[3] & 3], a[4] == 1 ? a[5] : 0, false);
		break;
	case 15:
		call(t, pick_fd(t, a[2]), VPERFCTR_CONSUME, a[3] == 0xff ? -1UL : a[3] & 15, false);
		break;
	case 16:
		call(t, pick_fd(t, a[2]), VPERFCTR_MEMBER,
		     a[3] & 0x80 ? a[3] : tasks[a[3] % nr_tasks]->task ? tasks[a[3] % nr_tasks]->task->pid : 0, false);
		break;
	case 17:
		do_ring(t, a);
		break;
	case 18:
		do_attach_right(t, a);
		break;
	case 19:
		if (a[7] & 1)
			do_attach(t, a);
		else if (tasks[a[2] % nr_tasks]->task)
			user_open_mem(tasks[a[2] % nr_tasks]->task);
		break;
	case 20:
		do_info(t, a);
		break;
	case 21:
		if (a[3] & 0x1c)
			do_set(t, a);
		else
			do_cpus(t, a);
		break;
	case 22:
		if (a[4] & 1)
			call(t, a[2] & 1 ? -1 : pick_fd(t, a[2]), _IO(0xD0, 32 + a[3]), a[5], true);
		else if (a[2] & 1)	/* an ioctl of the other kind of descriptor */
			call(t, -1, _IO(0xD0, 6 + a[3] % 32), a[5], true);
		else
			call(t, pick_fd(t, a[2]), _IO(0xD0, a[3] & 15), a[5], true);
		break;
	case 23:
		do_mmap(t, a);
		break;
	case 24:
		if (a[3] & 1)
			do_munmap(t, a);
		else
			do_touch(t, a);
		break;
	case 25:
		do_file(t, a);
		break;
	case 26:
		fuzz_calls++;
		user_close(pick_fd(t, a[2]));
		break;
	case 27:
		do_fork(a);
		break;
	case 28:
		switch (a[3] & 7) {
		case 0: case 1: case 2:
			do_exec(t, a);
			break;
		case 3:
			do_setuid(a);
			break;
		case 4: case 5:
			toggle_cpu = 1 + a[2] % nr_cpu_ids;
			break;
		case 6:
			user_exit();
			break;
		}
		break;
	case 29:
		if (tasks[a[2] % nr_tasks]->task && !tasks[a[2] % nr_tasks]->task->exit_state)
			user_kill(tasks[a[2] % nr_tasks]->task, a[3] & 3 ? 10 : SIGKILL);
		break;
	case 30:
		do_ptrace(a);
		break;
	case 31:
		do_await_signal(t);
		break;
	}
}

static void run_task(void *arg)
{
	struct fuzz_task *t = arg;
	unsigned int i, round;

	for (round = 0; round < t->rounds; round++) {
		for (i = 0; i < nr_actions; i++) {
			const u8 *a = actions + i * FUZZ_ACTION;

			if ((a[0] & 7) == t->stream || (a[0] & 0xf8) == 0xf8)
				do_action(t, a);
		}
		user_work(3);
	}
	release_tracees(current);
}

/* ---- the machine ----------------------------------------------------------------------- */

static void configure(struct model_config *c)
{
	switch (header[FUZZ_PROCESSOR] & 15) {
	case 1:
		c->no_masking = true;
		break;
	case 2:
		c->level = true;
		break;
	case 3:
		c->version = 1;
		c->nr_fixed = 0;
		c->no_masking = true;
		break;
	case 4:
		c->version = 2;
		c->nr_pmcs = 2;
		c->pmc_width = 40;
		c->fixed_width = 40;
		break;
	case 5:
		c->version = 5;
		c->nr_pmcs = 8;
		c->nr_fixed = 4;
		break;
	case 6:
		c->slow = true;
		break;
	case 7:
		c->no_full_write = true;
		break;
	case 8:
		c->version = 3;
		c->freezes = true;
		break;
	case 9:
	case 10:
	case 11:
		c->amd = MODEL_AMD_K7 + (header[FUZZ_PROCESSOR] & 15) - 9;
		c->version = c->amd == MODEL_AMD_V2 ? 2 : 1;
		c->nr_pmcs = c->amd == MODEL_AMD_K7 ? 4 : 6;
		c->nr_fixed = 0;
		c->signature = c->amd == MODEL_AMD_K7 ? 0x100f42 : 0xa60f12;
		c->no_masking = true;
		break;
	case 12:
		sim_p6(c);
		break;
	}
}

/* Such a processor has no late NMIs. */
static bool masks_lvtpc(void)
{
	struct model_config config = {};

	configure(&config);
	return !config.no_masking;
}

static void maybe_toggle_cpu(void)
{
	unsigned int n = toggle_cpu - 1, i, online = 0;

	if (!toggle_cpu)
		return;
	toggle_cpu = 0;
	for (i = 0; i < nr_cpu_ids; i++)
		online += fake_online[i];
	set_changes++;
	sets_changing++;
	if (!fake_online[n])
		sim_cpu_up(n);
	else if (online > 1)
		sim_cpu_down(n);
	set_changes++;
	sets_changing--;
}

/* Tasks that have stopped each other wait for ever: kill them. */
static void kill_stopped(void)
{
	unsigned int i;

	for (i = 0; i < nr_tasks; i++) {
		struct task_struct *task = tasks[i]->task;

		if (task && !task->exit_state)
			user_kill(task, SIGKILL);
	}
}

/* A tracer that ends lets its tracees go on. */
static bool all_ended(void)
{
	bool ended = true, stopped = true;
	unsigned int i;

	for (i = 0; i < nr_tasks; i++) {
		struct task_struct *task = tasks[i]->task;

		if (!task)
			continue;	/* being made by one that has not ended */
		if (task->exit_state) {
			release_tracees(task);
			continue;
		}
		ended = false;
		if (task->sim->state != SIM_TRACED)
			stopped = false;
	}
	if (!ended && stopped)
		kill_stopped();
	return ended;
}

static void run_program(void *arg)
{
	static const u8 allocs[] = { 0, 0, 40, 8 }, faults[] = { 0, 0, 200, 30 };
	static const u32 uids[] = { 1000, 1000, 0, 1001 };
	unsigned int i, n = 1 + (header[FUZZ_CPUS] >> 4 & 3);

	sim_load_module();
	sim_shows_garbage = true;
	sim_failures.alloc = allocs[header[FUZZ_FAILURES] & 3];
	sim_failures.fault = faults[header[FUZZ_FAILURES] >> 2 & 3];
	sim_user_task_made = task_is_made;
	for (i = 0; i < n; i++) {
		struct fuzz_task *t = new_task(i, 1 + (header[FUZZ_ROUNDS] & 7));

		if (!t)		/* the first ones have forked meanwhile */
			break;
		sim_process("process", uids[(header[FUZZ_LIMITS] + i) & 3], run_task, t);
	}
	/* A task that waits for the spacing of READ_CPUS must not use up the steps. */
	for (i = 0; !all_ended(); i++) {
		sim_sleep_on(NULL, sim_ns() + (i < 1000 ? 2000 : NSEC_PER_MSEC));
		maybe_toggle_cpu();
	}
	sim_failures = (struct sim_failures) {};
	for (i = 0; i < nr_tasks; i++) {
		if (tasks[i]->task)
			put_task_struct(tasks[i]->task);
	}
	sim_unload_module(NULL);
	(void)arg;
}

void fuzz_run(const uint8_t *data, size_t size)
{
	static const u32 latest[] = { 400, 10, 200, 20000 };
	u8 limits = data[FUZZ_LIMITS];
	u64 nmi_ns;

	header = data;
	actions = data + FUZZ_BEGIN;
	nr_actions = min((size - FUZZ_BEGIN) / FUZZ_ACTION, (size_t)FUZZ_MAX_ACTIONS);
	next_piece();
	sim_chooser = choose;
	sim_story = fuzz_verbose;
	sim_all_steps = fuzz_verbose > 1;
	all_kernel = header[FUZZ_NMI] >> 7;
	nmi_ns = latest[header[FUZZ_NMI] & 3];
	if (masks_lvtpc())
		nmi_ns = min(nmi_ns, 400ULL);
	sim_processor = (struct sim_processor) {
		.configure = configure, .counts_kernel = all_kernel,
		.nmi_ns = nmi_ns,
	};
	*sim_param_max_ring_kb_per_user = limits & 4 ? 16 : 256;
	*sim_param_allow_kernel = limits & 8;
	if (limits & 16)
		*sim_param_max_states_per_user = 2 + (limits >> 5);
	*sim_param_max_stops_per_second = limits & 32 ? 1000000 : 1000;
	if (limits & 64) {
		*sim_param_max_sample_rate = 1000;
		*sim_param_max_threads_per_stop = 1;
	}
	sim_boot(1 + (header[FUZZ_CPUS] & 3), run_program, NULL);
}

/* perf's scenarios are in perf.c, which this machine has, too.  Those of others are not. */
bool sim_count_once(void)
{
	sim_count_beside_perf(NULL);
	return false;
}

void sim_count_until(void *end)
{
	sim_count_beside_perf(end);
}

void sim_count_beside_perf(void *may_miss)
{
	(void)may_miss;
	sim_fail("a scenario of perf's runs in the fuzzer");
}
