// SPDX-License-Identifier: GPL-2.0
/*
 * An overflow at each instruction of the module that a path executes while counters run.
 *
 * A path is a short piece of a thread's life: a call, a switch, a fork.  It is executed
 * once under a trace of the emulator.  The trace tells which instructions of the module
 * the path executes, and how many instructions the counter has counted before each of
 * them.  That number is the period with which the counter overflows there.  Then the path
 * is executed once for each of these periods, and the emulator records where the overflow
 * was.  For instructions that are still missing, the emulator lets the counter jump.
 *
 * After each round all counts must be exact, and an overflow must be reported once.  The
 * kernel's log tells whether an NMI was unknown.  One CPU, virtual time.
 *
 * In some rounds an observer counts beside the state whose counter overflows.  It counts the same
 * in each round, wherever the overflow is.
 *
 * Without a trace, all periods are tried, one after the other, for brief paths.
 */
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "known.h"
#include "overflow.h"
#include "sweep.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

/* ---- rounds ------------------------------------------------------------------------- */

/* How counter 0 overflows. */
enum mode {
	ALONE,		/* i-mode; a signal reports it; there is no other counter */
	BESIDE,		/* i-mode; READ reports it; with a-mode counters of the same instructions */
	SAMPLES,	/* i-mode; it makes a sample */
	WRAPS,		/* a-mode: nothing may notice it */
	/* Beside another state, with an a-mode counter: */
	OBSERVED,	/* i-mode; READ reports it */
	OBSERVED_WRAPS,	/* a-mode */
	NR_MODES,
};

static const char *const mode_names[] = {
	"alone", "beside", "samples", "wraps", "observed", "obs-wraps"
};

#define MODES(mode)	(1U << (mode))
#define ALL_MODES	(MODES(ALONE) | MODES(BESIDE) | MODES(SAMPLES) | MODES(WRAPS))
#define I_MODES		(MODES(ALONE) | MODES(BESIDE) | MODES(SAMPLES))
#define TWO_STATES	(MODES(OBSERVED) | MODES(OBSERVED_WRAPS))

struct path {
	const char *name;
	unsigned int modes;
	void (*op)(void);
	void (*begin)(void);	/* before each round, not counted */
	u32 flags;		/* of CONTROL, where counter 0 is in a-mode */
	/* How the path ends, and what follows from it: */
	bool ends;		/* the state has no owner afterwards */
	bool in_child;		/* a child with a state of its own executes it, and ends */
	bool replaces;		/* another control drops the overflow */
	/* Try all periods up to this one, as the trace does not tell them. */
	u64 periods;
	bool resumes;		/* IRESUME: there may be two overflows */
	bool pair;		/* another i-mode counter overflows first */
	bool brief;		/* so that all periods can be tried where there is no trace */
};

static const struct path *path;
static enum mode mode;
static int fd;
static pid_t rival;
static u64 user_insns;		/* of a round without an overflow */
static struct control mine;
static int op_error;
static u64 aim;			/* where the emulator shall place the overflow; 0: by the period */
static int observer;		/* with TWO_STATES, the other state */

/* A child that executes the path tells this to its parent. */
static struct told {
	int err;
	size_t ring_size;
} *told;

static bool has_observer(void)
{
	return MODES(mode) & TWO_STATES;
}

static bool wraps(void)
{
	return mode == WRAPS || mode == OBSERVED_WRAPS;
}

/* Counter 0 of the processor in the control. */
static unsigned int index_of_swept(void)
{
	return mode == ALONE || wraps() || has_observer() ? 0 :
	       mode == SAMPLES || path->pair ? 1 : 2;
}

static void add_user_counter(struct control *control)
{
	if (have_fixed_insns())
		control_add(control, FIXED_INSNS, FIXED_USER);
	else
		control_add(control, 2, INSNS_USER);
}

/* The observer counts the round's instructions in user mode. */
static int start_observer(void)
{
	struct control control;

	control_init(&control, 1);
	add_user_counter(&control);
	return set_control(observer, &control);
}

/* The period of the other i-mode counter. */
#define FIRST_OF_PAIR	500

/* Start the control of the round.  Nothing here may use libcheck: it would be counted. */
static int start(u64 period)
{
	int err = has_observer() ? start_observer() : 0;

	if (err)
		return err;
	control_init(&mine, 1);
	if (wraps()) {
		/* The counter keeps the value that it has in i-mode, and continues. */
		control_add_imode(&mine, IMODE_MAP, IMODE_BOTH, period);
		err = set_control(fd, &mine);
		if (err)
			return err;
		control_init(&mine, 1);
		mine.c.flags = path->flags;
		control_add(&mine, IMODE_MAP, IMODE_BOTH);
		if (!has_observer())
			add_user_counter(&mine);
		control_add(&mine, 1, INSNS_BOTH);
		return set_control(fd, &mine);
	}
	if (mode != ALONE && !has_observer())
		add_user_counter(&mine);
	if (mode == BESIDE && !path->pair)
		control_add(&mine, 1, INSNS_BOTH);
	control_add_imode(&mine, IMODE_MAP, IMODE_BOTH, period);
	if (path->pair)
		control_add_imode(&mine, 1, INSNS_BOTH, FIRST_OF_PAIR);
	if (mode == ALONE)
		mine.c.si_signo = path->in_child ? SIGCHLD : SIGUSR1;
	if (mode == SAMPLES)
		mine.c.flags = VPERFCTR_CONTROL_RING;
	return set_control(fd, &mine);
}

static struct mapped_ring ring;

static u64 nr_samples(void)
{
	return ring_head(&ring) + ring.page->dropped;
}

/* True if the round's overflow waits for a resume, which reports it. */
static bool must_resume(const struct sums *sums, u64 period)
{
	if (path->ends || path->in_child || path->replaces || path->resumes || wraps() ||
	    sums->pmc[index_of_swept()] < period)
		return false;
	return mode == SAMPLES ? !nr_samples() : !(sums->status & OVERFLOW);
}

/* The counters stop early if an overflow holds them. */
static void check_user(u64 user, bool may_be_less)
{
	if (!user_insns)
		user_insns = user;
	ck_assert_msg(may_be_less ? user <= user_insns : user == user_insns,
		      "%llu in user mode, of %llu", user, user_insns);
}

/* The first samples tell where overflows were. */
static void take_samples(void)
{
	u64 n, place;

	for (n = 0; n < ring_head(&ring) && n < ring.page->nrsamples; n++) {
		place = ring_sample(&ring, n)->ip & PLACE;
		if (is_module(place))
			module->here[place - module->start] |= EXECUTED | COUNTABLE | HIT;
	}
}

/*
 * Counters of the same instructions differ by the same number in each round.  It is not 0 where
 * a switch reads one after the other while both run on.
 */
static u64 apart;
static bool knows_apart;

static void check_apart(u64 period, u64 first, u64 last)
{
	if (!knows_apart)
		apart = last - first;
	knows_apart = true;
	ck_assert_msg(last - first == apart, "period %llu: sums %llu, %llu, not %lld apart", period,
		      first, last, (long long)apart);
}

/* The next round is the first one of a path. */
static void forget_round(void)
{
	user_insns = 0;
	knows_apart = false;
}

static bool overflowed;

static void check_round(u64 period)
{
	const u64 late = imode_late();
	struct sums sums, others;
	u64 sum, overflow;

	read_sums(acc->fd, &sums);
	sum = sums.pmc[index_of_swept()];
	if (has_observer()) {
		read_sums(observer, &others);
		check_user(others.pmc[0], false);
	}
	if (must_resume(&sums, period)) {
		/* The overflow came in the SUSPEND. */
		ck_assert_uint_eq(acc->signals, 0);
		check_user(mode == ALONE || has_observer() ? user_insns : sums.pmc[0], false);
		assert_ok(call(fd, VPERFCTR_RESUME, NULL));
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		read_sums(fd, &sums);
		if (mode != SAMPLES)
			ck_assert_uint_eq(sums.pmc[index_of_swept()], sum);
		else
			ck_assert_uint_ge(nr_samples(), 1);
	} else if (mode != ALONE && !has_observer()) {
		check_user(sums.pmc[mode == WRAPS], mode == BESIDE);
	}
	ck_assert_uint_eq(acc->wrong, 0);
	/* Counters of the same instructions agree if one register starts and stops them. */
	if (mode == BESIDE && have_global_ctrl() && IMODE_ALL && !aim)
		ck_assert_msg(sums.pmc[1] == sums.pmc[2], "period %llu: sums %llu, %llu", period,
			      sums.pmc[1], sums.pmc[2]);
	if (wraps() && have_global_ctrl() && IMODE_ALL && !aim)
		check_apart(period, sums.pmc[0], sums.pmc[has_observer() ? 1 : 2]);
	overflow = overflow_of(acc->fd);
	overflowed = sum >= period;
	if (mode == SAMPLES && !EMULATOR_TRACES)
		take_samples();
	if (wraps()) {
		ck_assert_uint_eq(overflow, 0);
		ck_assert_uint_eq(acc->signals, 0);
	} else if (mode == SAMPLES) {
		ck_assert_msg(sum < period ? !nr_samples() : nr_samples(),
			      "period %llu: sum %llu, %llu samples", period, sum, nr_samples());
	} else if (path->replaces) {
		ck_assert_uint_eq(overflow, 0);
		ck_assert_uint_le(acc->signals, sum >= period);
	} else if (path->resumes) {
		/* Each overflow, and none twice. */
		u64 n = 1 + !!overflow;

		ck_assert_msg(sum >= n * period && sum < (n + !overflow) * period + n * late,
			      "period %llu: overflow %#llx, sum %llu", period, overflow, sum);
		if (mode == ALONE)
			ck_assert_uint_eq(acc->signals, n);
	} else if (path->pair) {
		const u64 swept = 1ULL << index_of_swept();

		/* The first overflow of either stops both. */
		ck_assert_msg(overflow && !(overflow & swept) == (sum < period) &&
			      sum >= (period < FIRST_OF_PAIR ? period : FIRST_OF_PAIR) &&
			      sum < (aim ? period : FIRST_OF_PAIR) + late,
			      "period %llu: overflow %#llx, sum %llu", period, overflow, sum);
		ck_assert_uint_eq(acc->signals, mode == ALONE);
	} else {
		ck_assert_msg(overflow ? sum >= period && sum < period + late : sum < period,
			      "period %llu: overflow %#llx, sum %llu", period, overflow, sum);
		/* A thread that ends may not live to see its signal. */
		if (path->ends || path->in_child)
			ck_assert_uint_le(acc->signals, mode == ALONE && overflow);
		else
			ck_assert_uint_eq(acc->signals, mode == ALONE && overflow);
	}
}

static void make_samples_ring(void)
{
	make_ring_flags(acc->fd, VPERFCTR_RING_KERNEL, 64, 64, 0, &ring);
}

static int execute(u64 period, u32 what)
{
	int err;

	trace(what);
	if (aim)
		aim_at(aim);
	err = start(period);
	path->op();
	err |= op_error;
	if (!path->ends)
		err |= call(fd, VPERFCTR_SUSPEND, NULL);
	if (has_observer())
		err |= call(observer, VPERFCTR_SUSPEND, NULL);
	trace(TRACE_END);
	return err;
}

/* A child shares the descriptors until it executes a file or ends. */
static int execute_in_child(u64 period, u32 what)
{
	pid_t pid = fork_files();

	if (!pid) {
		fd = acc->fd = open_state(0);
		handle(SIGCHLD, on_overflow);
		if (mode == SAMPLES) {
			make_samples_ring();
			told->ring_size = ring.size;
		}
		/* Later there are no page faults: the number of their instructions varies. */
		start(2 * LONG);
		trace(what);
		if (aim)
			aim_at(aim);
		told->err = start(period);
		path->op();
		_exit(1);
	}
	wait_for(pid);
	while (status_of(acc->fd) & ATTACHED)
		msleep(1);
	trace(TRACE_END);
	if (mode == SAMPLES)
		map_ring(acc->fd, told->ring_size, &ring);
	return told->err;
}

static void round_of(u64 period, u32 what)
{
	int err;

	acc->signals = 0;
	if (path->begin)
		path->begin();
	if (path->in_child) {
		err = execute_in_child(period, what);
	} else {
		fd = acc->fd = open_state(0);
		if (mode == SAMPLES)
			make_samples_ring();
		if (has_observer()) {
			observer = open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);
			ck_assert_int_ge(observer, 0);
		}
		err = execute(period, what);
	}
	ck_assert_msg(!err, "period %llu: %s", period, strerror(-err));
	check_round(period);
	if (mode == SAMPLES)
		munmap((void *)ring.page, ring.size);
	if (!path->ends && !path->in_child)
		assert_ok(call(fd, VPERFCTR_UNLINK, NULL));
	close(acc->fd);
	if (has_observer()) {
		assert_ok(call(observer, VPERFCTR_UNLINK, NULL));
		close(observer);
	}
}

/* ---- the sweep ---------------------------------------------------------------------- */

/*
 * Try all periods, without a trace.  Samples tell which instructions are hit, but not which
 * there are.  Short periods would make many samples.
 */
static void sweep_all_periods(void)
{
	unsigned int none = 0, i, rounds = 0;
	u64 period = mode == SAMPLES ? 200 : info.min_period;

	memset(module->here, 0, sizeof(module->here));
	round_of(LONG, TRACE_END);
	forget_round();
	round_of(LONG, TRACE_END);
	for (; none < 3; period++, rounds++) {
		round_of(period, TRACE_END);
		none = overflowed ? 0 : none + 1;
	}
	for (i = 0; i < MAX_CODE; i++)
		module->all[0][i] |= module->here[i];
	printf("sweep: %-10s %-8s all periods, %u rounds", path->name, mode_names[mode], rounds);
	if (mode == SAMPLES)
		printf(", samples in %u places", count_places(module->here, HIT, HIT));
	putchar('\n');
	fflush(stdout);
}

/* More than one is for paths that do not execute the same each time. */
#define PASSES	8

static void sweep_all_places(void)
{
	struct target *targets = shared_memory(MAX_TARGETS * sizeof(*targets));
	unsigned int pass, i, n, rounds = 0;
	unsigned char *all = module->all[wraps()];

	memset(module->here, 0, sizeof(module->here));
	forget_round();
	/* The first round resolves symbols, and prepares the CPU. */
	round_of(path->periods ? path->periods : LONG, TRACE_END);
	forget_round();
	for (pass = 0; pass < PASSES; pass++) {
		round_of(path->periods ? path->periods : LONG, TRACE_ALL);
		n = find_targets(targets, path->periods ? path->periods : LONG);
		for (i = info.min_period; i < path->periods && !pass; i++, rounds++) {
			round_of(i, TRACE_OVERFLOWS);
			take_hits();
		}
		for (i = 0; i < n && !path->periods; i++) {
			/* Once more only if no path has hit it. */
			if ((module->here[targets[i].place] |
			     (pass ? all[targets[i].place] : 0)) & HIT)
				continue;
			aim = pass ? module->start + targets[i].place : 0;
			round_of(targets[i].period + (aim ? NEAR : 0), TRACE_OVERFLOWS);
			aim = 0;
			take_hits();
			rounds++;
		}
		if (!count_missed(all))
			break;
	}
	end_of_path(path->name, mode_names[mode], all, rounds);
}

/* ---- paths -------------------------------------------------------------------------- */

static void op_nothing(void)
{
}

/* The same counters, with a period that the trace can tell from others. */
static void op_replace(void)
{
	if (!wraps())
		mine.ctr[mine.c.nractrs].ireset = -2 * LONG;
	mine.c.preserve = (1U << (mine.c.nractrs + mine.c.nrictrs)) - 1;
	op_error = set_control(fd, &mine);
}

static void op_pause(void)
{
	call(fd, VPERFCTR_SUSPEND, NULL);
	call(fd, VPERFCTR_RESUME, NULL);
}

static void op_read(void)
{
	struct sums sums;

	try_read_sums(fd, &sums);
}

static void op_switch(void)
{
	sched_yield();
	sched_yield();
}

/*
 * Another thread that switches all the time, with an a-mode counter or an i-mode one.  Among
 * SCHED_FIFO threads of one priority, sched_yield() always switches; the fair class may not.
 */
static void begin_rival(bool imode)
{
	const struct sched_param first = { .sched_priority = 1 };

	if (rival)
		return;
	ck_assert(!sched_setscheduler(0, SCHED_FIFO, &first));
	rival = fork();
	if (!rival) {
		int other = open_state(0);
		struct control control;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		control_init(&control, 1);
		if (imode)
			control_add_imode(&control, IMODE_MAP, IMODE_BOTH, LONG);
		else
			control_add(&control, 1, INSNS_USER);
		if (set_control(other, &control))
			_exit(1);
		for (;;)
			sched_yield();
	}
	msleep(1);
}

static void begin_amode_rival(void)
{
	begin_rival(false);
}

static void begin_imode_rival(void)
{
	begin_rival(true);
}

/* So long that the timer cannot expire before the thread is switched out. */
static void op_sleep(void)
{
	struct timespec ts = { .tv_nsec = 1000000 };

	nanosleep(&ts, NULL);
}

static void op_unlink(void)
{
	call(fd, VPERFCTR_UNLINK, NULL);
}

/* The last descriptor, and the thread keeps its state. */
static void op_mmap(void)
{
	munmap((void *)try_map_state(fd), PAGE);
}

static void op_iresume(void)
{
	loop(400);
	call(fd, VPERFCTR_IRESUME, NULL);
	loop(400);
}

static void op_overflow(void)
{
	loop(1000);
}

static void op_fork(void)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(0);
	syscall(SYS_wait4, pid, NULL, 0, NULL);
}

static void op_exit(void)
{
	syscall(SYS_exit, 0);
}

static void op_exec(void)
{
	char *args[] = { "known", NULL };

	execv("/tests/known", args);
}

/* Calls for another thread, which ptrace has stopped. */
static int others_fd;
static pid_t other;

static void begin_monitor(void)
{
	int status;

	if (other)
		return;
	other = fork();
	if (!other) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(other, &status, __WALL), other);
	others_fd = open_thread(other, VPERFCTR_OPEN_CREAT);
	ck_assert_int_ge(others_fd, 0);
}

static void op_monitor(void)
{
	struct control next;
	struct sums sums;

	control_init(&next, 1);
	control_add(&next, 1, INSNS_USER);
	control_add_imode(&next, IMODE_MAP, IMODE_BOTH, LONG);
	set_control(others_fd, &next);
	call(others_fd, VPERFCTR_SUSPEND, NULL);
	call(others_fd, VPERFCTR_RESUME, NULL);
	call(others_fd, VPERFCTR_IRESUME, NULL);
	try_read_sums(others_fd, &sums);
}

static const struct path paths[] = {
	{ .name = "control", .modes = ALL_MODES | TWO_STATES, .op = op_nothing, .brief = true },
	{ .name = "replace", .modes = ALL_MODES, .op = op_replace, .replaces = true },
	{ .name = "pause", .modes = ALL_MODES | TWO_STATES, .op = op_pause, .brief = true },
	{ .name = "read", .modes = ALL_MODES | TWO_STATES, .op = op_read, .brief = true },
	{ .name = "mmap", .modes = ALL_MODES, .op = op_mmap },
	{ .name = "switch", .modes = ALL_MODES | TWO_STATES, .op = op_switch, .begin = begin_amode_rival,
	  .brief = true },
	{ .name = "switch-i", .modes = I_MODES, .op = op_switch, .begin = begin_imode_rival },
	{ .name = "sleep", .modes = ALL_MODES, .op = op_sleep },
	{ .name = "iresume", .modes = MODES(ALONE) | MODES(BESIDE), .op = op_iresume,
	  .periods = 600, .resumes = true },
	{ .name = "overflow", .modes = MODES(ALONE) | MODES(BESIDE), .op = op_overflow, .pair = true },
	{ .name = "unlink", .modes = ALL_MODES | TWO_STATES, .op = op_unlink, .ends = true },
	{ .name = "fork", .modes = ALL_MODES, .op = op_fork, .flags = VPERFCTR_CONTROL_INHERIT },
	{ .name = "exit", .modes = ALL_MODES, .op = op_exit, .in_child = true },
	{ .name = "exec", .modes = ALL_MODES, .op = op_exec, .in_child = true },
	{ .name = "monitor", .modes = ALL_MODES, .op = op_monitor, .begin = begin_monitor },
};

/* The names on the command line; NULL: all. */
static char **chosen;

static bool is_chosen(const char *name)
{
	char **p = chosen;

	while (*p && strcmp(*p, name))
		p++;
	return *p || p == chosen;
}

START_TEST(sweep_path)
{
	acc = shared_memory(sizeof(*acc));
	told = shared_memory(sizeof(*told));
	acc->resumes = 0;
	handle(SIGUSR1, on_overflow);
	path = &paths[_i / NR_MODES];
	mode = _i % NR_MODES;
	if (!(path->modes & MODES(mode)) || !is_chosen(path->name))
		return;
	if (EMULATOR_TRACES)
		sweep_all_places();
	else if (path->brief && (mode == ALONE || mode == SAMPLES))
		sweep_all_periods();
	if (rival)
		kill(rival, SIGKILL);
	if (other)
		kill(other, SIGKILL);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, sweep_path, 0, NR(paths) * NR_MODES);
}

int main(int argc, char **argv)
{
	int failed;

	chosen = argv + (argc > 0);
	open_device();
	find_module();
	failed = run_tests("sweep", add);
	if (print_all("i-mode", module->all[0]) | print_all("a-mode", module->all[1]))
		failed = EXIT_FAILURE;
	return failed;
}
