// SPDX-License-Identifier: GPL-2.0
/*
 * Costs of a context switch beside instructions: the cache lines that the module touches, and
 * how often it reads the clock and counters and writes registers.  The lines are those of data, but
 * not of the stack, nor of what the kernel itself touches.  A line counts once in each switch.
 *
 * Output is that of bench/, so that bench/guard compares it with bench/recorded.
 */
#include "scenarios.h"
#include "hardware.h"

#define must(call)	sim_must(call)

#define MAX_N		4
#define ROUND_TRIPS	20

/* Accesses of the module to the registers of this CPU. */
struct accesses {
	const char *what, *suffix;
	unsigned int (*number)(const struct model_cpu *cpu);
};

#ifdef SIM_X86
#define ARCH	""

static unsigned int clock_reads(const struct model_cpu *cpu)
{
	return cpu->rdtscs;
}

static unsigned int counter_reads(const struct model_cpu *cpu)
{
	return cpu->rdpmcs;
}

static void choose_event(struct vperfctr_ctr *ctr, unsigned int number)
{
	ctr->evntsel += number;
}

static const struct accesses accesses[] = {
	{ "RDTSC", "rdtsc", clock_reads },
	{ "RDPMC", "counter_reads", counter_reads },
	{ "WRMSR", "register_writes", model_wrmsrs },
};
#else
#define ARCH	"_arm64"

static unsigned int counter_reads(const struct model_cpu *cpu)
{
	return cpu->counter_reads;
}

static unsigned int pmcr_writes(const struct model_cpu *cpu)
{
	return cpu->pmcr_writes;
}

static unsigned int register_writes(const struct model_cpu *cpu)
{
	return cpu->writes;
}

/* The model has few events: cycles instead of instructions. */
static void choose_event(struct vperfctr_ctr *ctr, unsigned int number)
{
	if (number >= MAX_N)
		ctr->evntsel += 0x11 - 0x08;
}

static const struct accesses accesses[] = {
	{ "counters read", "counter_reads", counter_reads },
	{ "MSR PMCR_EL0", "pmcr", pmcr_writes },
	{ "MSR", "register_writes", register_writes },
};
#endif

struct arrangement {
	const char *name;
	bool both;			/* the other task is counted, too, by other events, */
	bool equal;			/* ... or by the same events */
	bool family;			/* the other task is a thread, counted by inheritance */
	bool mapped;			/* the counted task may read counters in user mode */
};

/* The section of what is read mostly begins with a line: see SIM_ALIGNS in kernel.h. */
char sim_read_mostly_line[1] __attribute__((__section__("sim_read_mostly"), __aligned__(64)));

static const struct arrangement *arranged;
static unsigned int n;
static bool ready, may_end;

static int count(unsigned int first_event)
{
	struct vperfctr_ctr ctr[MAX_N], first;
	struct vperfctr_control control;
	unsigned int i;
	int fd;

	fd = must(sim_open(0, VPERFCTR_OPEN_CREAT));
	sim_fill_control(&control, ctr, arranged->family ? VPERFCTR_CONTROL_INHERIT : 0);
	control.nractrs = n;
	first = ctr[0];
	for (i = 0; i < n; i++) {
		ctr[i] = first;
		ctr[i].map = i;
		choose_event(&ctr[i], first_event + i);
	}
	must(user_ioctl(fd, VPERFCTR_CONTROL, &control));
	return fd;
}

static void be_other(void *arg)
{
	int fd = arranged->both ? count(arranged->equal ? 0 : MAX_N) : -1;

	WRITE_ONCE(ready, true);
	while (!READ_ONCE(may_end))
		user_work(5);
	if (fd >= 0)
		user_close(fd);
	(void)arg;
}

static struct task_struct *last_out;
static unsigned int switches, callbacks;

/* A switch between two counted tasks has both callbacks. */
static void see_callback(const char *name)
{
	bool out = !strcmp(name, "sched_out");

	if (!out && strcmp(name, "sched_in"))
		return;
	callbacks++;
	if (out || last_out == current) {
		switches++;
		sim_next_round();
	}
	last_out = out ? current : NULL;
}

static void print(const char *what, const char *suffix, unsigned int sum)
{
	unsigned int hundredths = (100 * sum + switches / 2) / switches;

	printf("@bench\t%s" ARCH ".n%u.%s\t%s\tvperfctr\t%u", arranged->name, n, suffix, what,
	       hundredths / 100);
	if (hundredths % 100)
		printf(".%02u", hundredths % 100);
	putchar('\n');
}

static void be_measured(void *arg)
{
	unsigned int before[ARRAY_SIZE(accesses)];
	struct task_struct *member = NULL;
	struct vm_area_struct *vma = NULL;
	unsigned int i, k;
	int fd;

	fd = count(0);
	if (arranged->family)
		member = user_thread("member", be_other, NULL);
	if (arranged->mapped)
		vma = sim_must_map(fd, 0, PAGE_SIZE);
	while (!READ_ONCE(ready))
		user_sleep(100);
	/* The first switches load the registers. */
	for (i = 0; i < 2 * ROUND_TRIPS; i++) {
		if (i == ROUND_TRIPS) {
			for (k = 0; k < ARRAY_SIZE(accesses); k++)
				before[k] = accesses[k].number(&model.cpu[0]);
			switches = 0;
			callbacks = 0;
			last_out = NULL;
			sim_costs.touched = 0;
			sim_on_callback = see_callback;
			sim_watch_lines(0);
		}
		user_sleep(100);
		user_work(5);
	}
	sim_watches_lines = false;
	sim_on_callback = NULL;
	sim_require(switches == 2 * ROUND_TRIPS, "%u switches, not %u", switches, 2 * ROUND_TRIPS);
	/* Variables of arm64's driver have no alignment, so the number would change with others. */
	if (!*ARCH)
		print("cache lines", "lines", sim_costs.touched);
	print("indirect calls", "callbacks", callbacks);
	for (k = 0; k < ARRAY_SIZE(accesses); k++)
		print(accesses[k].what, accesses[k].suffix,
		      accesses[k].number(&model.cpu[0]) - before[k]);
	if (member) {
		WRITE_ONCE(may_end, true);
		user_wait(member);
	}
	if (vma)
		user_munmap(vma);
	user_close(fd);
	(void)arg;
}

static const struct arrangement arrangements[] = {
	{ .name = "switch_one" },
	{ .name = "switch_both", .both = true },
	{ .name = "switch_equal", .both = true, .equal = true },
	{ .name = "switch_family", .family = true },
	{ .name = "switch_mapped", .mapped = true },
};

static void measure(const struct arrangement *a, unsigned int number)
{
	struct task_struct *task[2];

	arranged = a;
	n = number;
	ready = false;
	may_end = false;
	task[0] = a->family ? NULL : sim_process("other", 1001, be_other, NULL);
	task[1] = sim_process("measured", 1000, be_measured, NULL);
	user_wait(task[1]);
	WRITE_ONCE(may_end, true);
	if (task[0])
		user_wait(task[0]);
	/* A page that was mapped is no longer a reason to stop counters. */
	sim_sleep_on(NULL, sim_ns() + 3000ULL * NSEC_PER_MSEC);
}

void sim_switch_cost(void)
{
	unsigned int i;

	sim_require(sim_has_hooks, "only sim-lines knows what the module touches");
	sim_sees_plain_stores = false;
	for (i = 0; i < ARRAY_SIZE(arrangements); i++) {
		measure(&arrangements[i], 1);
		measure(&arrangements[i], MAX_N);
	}
}
