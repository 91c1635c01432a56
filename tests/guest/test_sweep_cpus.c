// SPDX-License-Identifier: GPL-2.0
/*
 * An overflow at each instruction of the module that a counted CPU executes: when it goes
 * offline and comes back, and when another CPU makes it start, stop or be read.
 *
 * The method is that of test_sweep.c.  The number of instructions between the start of the
 * counters and a place differs from round to round, because the CPU counts all that it
 * executes.  So the emulator lets the counter jump to its overflow at most places.
 *
 * Two more counters of the same instructions must agree after each round.  The one that
 * overflows must have what they have, and what it jumped.  Two CPUs in turns, virtual time.
 */
#include "cpus.h"
#include "overflow.h"
#include "suite.h"
#include "sweep.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

#define CPU1_ONLINE	"/sys/devices/system/cpu/cpu1/online"

/* The counter jumps no further: less than twice what the emulator takes for near. */
#define JUMP		(4 * NEAR)

/* Without a register that stops all counters, they start and stop one after the other. */
#define APART		1000

/* How the counter overflows: it makes a sample, or it wraps around in a-mode. */
enum { SAMPLES, WRAPS, NR_MODES };

static const char *const mode_names[] = { "samples", "wraps" };

struct path {
	const char *name;
	int (*op)(void);
	unsigned int cpu;
	bool ends;		/* the set is closed afterwards: there is nothing to read */
};

static const struct path *path;
static unsigned int mode;
static int fd;
static struct mapped_ring ring;
static struct control mine;

/* Where the counters of a control are. */
static unsigned int index_of_swept(void)
{
	return mode == SAMPLES ? 2 : 0;
}

static unsigned int index_of_first(void)
{
	return mode == SAMPLES ? 0 : 1;
}

static void add_two(void)
{
	control_add(&mine, 1, INSNS_BOTH);
	if (have_fixed_insns())
		control_add(&mine, FIXED_INSNS, FIXED_BOTH);
	else
		control_add(&mine, 2, INSNS_BOTH);
}

/* In a-mode the counter keeps the value that it has in i-mode, and continues. */
static int start(u64 period)
{
	int err;

	control_init(&mine, 1);
	if (mode == SAMPLES)
		add_two();
	control_add_imode(&mine, IMODE_MAP, IMODE_BOTH, period);
	mine.c.flags = VPERFCTR_CONTROL_RING;
	err = set_control(fd, &mine);
	if (err || mode == SAMPLES)
		return err;
	control_init(&mine, 1);
	control_add(&mine, IMODE_MAP, IMODE_BOTH);
	add_two();
	return set_control(fd, &mine);
}

/* Each period has its sample, and no sample comes before its period is over. */
static void check_samples(u64 sum, u64 period)
{
	u64 last = 0;

	ck_assert_uint_eq(ring.page->dropped, 0);
	for (u64 i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		ck_assert_uint_eq(s->type, VPERFCTR_SAMPLE_OVERFLOW);
		ck_assert_uint_eq(s->cpu, path->cpu);
		ck_assert_uint_eq(s->dropped, 0);
		ck_assert_msg(s->sums[2] >= last + period && s->sums[2] < last + 2 * period,
			      "period %llu: sample at %llu, the last at %llu", period, s->sums[2],
			      last);
		last = s->sums[2];
	}
	if (!path->ends)
		ck_assert_msg(sum < last + period, "period %llu: sum %llu, last sample at %llu",
			      period, sum, last);
}

static void check_round(u64 period, bool aimed)
{
	const u64 apart = have_global_ctrl() ? 0 : APART;
	u64 swept = 0, one, two;
	struct cpu_reading r;

	if (!path->ends) {
		read_cpus(fd, &r);
		swept = pmc_of(&r, 0, index_of_swept());
		one = pmc_of(&r, 0, index_of_first());
		two = pmc_of(&r, 0, index_of_first() + 1);
		ck_assert_msg(swept + apart >= one && swept <= one + (aimed ? JUMP : 0) + apart &&
			      one <= two + apart && two <= one + apart,
			      "period %llu: sums %llu, %llu, %llu", period, swept, one, two);
	}
	if (mode == SAMPLES)
		check_samples(swept, period);
}

static void round_of(u64 period, u64 aim, u32 what)
{
	int err;

	fd = open_cpus(1U << path->cpu);
	make_ring_flags(fd, VPERFCTR_RING_KERNEL, 64, 64, 3, &ring);
	trace(what);
	if (aim)
		aim_at(aim);
	err = start(period) ?: path->op();
	if (!err && !path->ends)
		err = call(fd, VPERFCTR_SUSPEND, NULL);
	trace(TRACE_END);
	ck_assert_msg(!err, "period %llu: %s", period, strerror(-err));
	check_round(period, aim);
	munmap((void *)ring.page, ring.size);
	if (!path->ends)
		close(fd);
}

/*
 * The counter is not always near its overflow at a place.  At the instruction that stops it
 * it cannot jump, so every second pass relies on the period of the pass before.
 */
#define PASSES	8

static void sweep(void)
{
	struct target *targets = shared_memory(MAX_TARGETS * sizeof(*targets));
	unsigned char *all = module->all[mode == WRAPS];
	unsigned int rounds = 0;

	memset(module->here, 0, sizeof(module->here));
	/* Symbols are resolved, and the CPU is prepared. */
	round_of(LONG, 0, TRACE_END);
	for (unsigned int pass = 0; pass < PASSES; pass++) {
		unsigned int i, n;

		round_of(LONG, 0, TRACE_ALL);
		n = find_targets(targets, LONG);
		for (i = 0; i < n; i++) {
			if ((module->here[targets[i].place] |
			     (pass ? all[targets[i].place] : 0)) & HIT)
				continue;
			if (pass % 2)
				round_of(targets[i].period, 0, TRACE_OVERFLOWS);
			else
				round_of(targets[i].period + NEAR,
					 module->start + targets[i].place, TRACE_OVERFLOWS);
			take_hits();
			rounds++;
		}
		if (!count_missed(all))
			break;
	}
	end_of_path(path->name, mode_names[mode], all, rounds);
}

/* ---- paths -------------------------------------------------------------------------- */

static int op_offline(void)
{
	write_file(CPU1_ONLINE, "0");
	write_file(CPU1_ONLINE, "1");
	return 0;
}

static int op_pause(void)
{
	return call(fd, VPERFCTR_SUSPEND, NULL) ?: call(fd, VPERFCTR_RESUME, NULL);
}

static int op_read(void)
{
	struct cpu_reading r;

	return try_read_cpus(fd, &r);
}

/* The same counters, which continue. */
static int op_replace(void)
{
	mine.c.preserve = (1U << (mine.c.nractrs + mine.c.nrictrs)) - 1;
	return set_control(fd, &mine);
}

static int op_close(void)
{
	return close(fd);
}

static const struct path paths[] = {
	{ .name = "offline", .op = op_offline, .cpu = 1 },
	{ .name = "pause", .op = op_pause, .cpu = 1 },
	{ .name = "read", .op = op_read, .cpu = 1 },
	{ .name = "replace", .op = op_replace, .cpu = 1 },
	{ .name = "close", .op = op_close, .cpu = 1, .ends = true },
	/* The caller counts its own CPU. */
	{ .name = "own pause", .op = op_pause },
	{ .name = "own read", .op = op_read },
	{ .name = "own close", .op = op_close, .ends = true },
};

START_TEST(sweep_path)
{
	path = &paths[_i / NR_MODES];
	mode = _i % NR_MODES;
	pin(0);
	sweep();
}
END_TEST

static void add(TCase *tc)
{
	tcase_set_timeout(tc, 600);
	tcase_add_loop_test(tc, sweep_path, 0, NR(paths) * NR_MODES);
}

int main(void)
{
	int failed;

	open_device();
	find_module();
	failed = run_tests("sweep of CPUs", add);
	if (print_all("i-mode", module->all[0]) | print_all("a-mode", module->all[1]))
		failed = EXIT_FAILURE;
	return failed;
}
