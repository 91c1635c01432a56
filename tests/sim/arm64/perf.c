// SPDX-License-Identifier: GPL-2.0
/*
 * perf, and its drivers of the counters: one for each kind of CPU.  Each function that the
 * module may replace fails if it comes to a CPU that the module has claimed.
 */
#include <stdlib.h>

#include "hardware.h"
#include "scenarios.h"
#include "shared.h"

extern bool perfctr_perf_waits;		/* of claim.c */

static struct arm_pmu drivers[2];
static u32 second;			/* the CPUs of the second driver */
static DEFINE_PER_CPU(struct pmu_hw_events, hw_events);

static unsigned int nr_rescheduled;	/* how often perf has scheduled all events of a CPU again */
#define EVENT_INSTRUCTIONS	0x08

#define ALL_USED	GENMASK(ARMPMU_MAX_HWEVENTS - 1, 0)

static struct pmu_hw_events *events_of(unsigned int cpu)
{
	return per_cpu_ptr(&hw_events, cpu);
}

static struct arm_pmu *driver_of(unsigned int cpu)
{
	return &drivers[cpu < 32 && (second >> cpu & 1)];
}

static void check_unclaimed(const char *what)
{
	sim_require(irqs_disabled() || sim_is_in_nmi(), "perf's %s with interrupts enabled", what);
	sim_require(events_of(sim_cpu)->used_mask[0] != ALL_USED, "perf's %s on a claimed CPU", what);
}

/* ---- the NMI watchdog: watchdog.c, where none runs ----------------------------------- */

void perfctr_arm64_find_watchdog(void)
{
}

bool perfctr_arm64_keeps_watchdog(void)
{
	return false;
}

bool perfctr_arm64_watchdog_may_begin(const struct pmu *pmu)
{
	(void)pmu;
	return false;
}

void perfctr_arm64_watchdog_cpu_known(unsigned int cpu)
{
	(void)cpu;
}

bool perfctr_arm64_is_trigger(const struct perf_event *event)
{
	(void)event;
	return false;
}

void perfctr_arm64_watchdog_settle(void)
{
}

void perfctr_arm64_watchdog_end(void)
{
}

/* ---- the driver --------------------------------------------------------------------- */

/* No event of perf's overflows here. */
static irqreturn_t handle_irq(struct arm_pmu *pmu)
{
	(void)pmu;
	check_unclaimed("interrupt");
	return IRQ_NONE;
}

static struct model_cpu *registers(void)
{
	return &model.cpu[sim_cpu];
}

/* The count of an event is in attr.config. */
static void enable(struct perf_event *event)
{
	u64 bit = BIT_ULL(event->hw.idx);

	check_unclaimed("enable");
	registers()->enabled &= ~bit;
	SIM_STEP("perf enables a counter");
	registers()->type[event->hw.idx] = EVENT_INSTRUCTIONS;
	registers()->counter[event->hw.idx] = 0;
	registers()->intr |= bit;
	registers()->enabled |= bit;
	SIM_STEP("perf has enabled a counter");
}

static void disable(struct perf_event *event)
{
	u64 bit = BIT_ULL(event->hw.idx);

	check_unclaimed("disable");
	registers()->enabled &= ~bit;
	registers()->intr &= ~bit;
	registers()->overflow &= ~bit;
	SIM_STEP("perf has disabled a counter");
	event->attr.config += registers()->counter[event->hw.idx];
}

/* Some event counters are enough for these tests. */
#define NR_USED		4

static int add(struct perf_event *event, int flags)
{
	struct arm_pmu *pmu = to_arm_pmu(event->pmu);
	struct pmu_hw_events *here = events_of(sim_cpu);
	unsigned int i;

	(void)flags;
	for (i = 0; i < NR_USED; i++) {
		if (test_and_set_bit(i, here->used_mask))
			continue;
		event->hw.idx = i;
		here->events[i] = event;
		check_unclaimed("add");
		pmu->enable(event);
		return 0;
	}
	return -EAGAIN;
}

static void del(struct perf_event *event, int flags)
{
	struct arm_pmu *pmu = to_arm_pmu(event->pmu);
	struct pmu_hw_events *here = events_of(sim_cpu);

	(void)flags;
	check_unclaimed("del");
	pmu->disable(event);
	registers()->counter[event->hw.idx] = 0;
	here->events[event->hw.idx] = NULL;
	clear_bit(event->hw.idx, here->used_mask);
}

static void start(struct arm_pmu *pmu)
{
	(void)pmu;
	check_unclaimed("start");
	model.cpu[sim_cpu].user = 0;
	SIM_STEP("perf has closed the counters to user mode");
	model.cpu[sim_cpu].pmcr |= 1;
}

static void stop(struct arm_pmu *pmu)
{
	(void)pmu;
	check_unclaimed("stop");
	model.cpu[sim_cpu].pmcr &= ~1ULL;
}

/* The values of counters stay, so that the module must have cleared them: see sim_check_perf(). */
static void reset(void *pmu)
{
	struct model_cpu *c = &model.cpu[sim_cpu];

	(void)pmu;
	check_unclaimed("reset");
	c->enabled = 0;
	c->intr = 0;
	c->overflow = 0;
	c->user = 0;
	c->pmcr = 0x40;
}

static bool filter(struct pmu *pmu, int cpu)
{
	return !cpumask_test_cpu(cpu, &to_arm_pmu(pmu)->supported_cpus);
}

/* No event gives user mode a right here. */
void sim_end_perf_maps(struct mm_struct *mm)
{
	(void)mm;
}

/* ---- what the kernel calls ------------------------------------------------------------- */

bool sim_perf_interrupt(void)
{
	struct arm_pmu *pmu = driver_of(sim_cpu);

	return pmu->handle_irq(pmu) == IRQ_HANDLED;
}

static void reset_here(void)
{
	struct arm_pmu *pmu = driver_of(sim_cpu);
	bool flags;

	local_irq_save(flags);
	pmu->reset(pmu);
	local_irq_restore(flags);
}

/* A CPU comes online. */
void sim_perf_resets(void *unused)
{
	reset_here();
	(void)unused;
}

static void change_events(void (*change)(struct perf_event *event))
{
	unsigned int i;

	for (i = 0; i < NR_USED; i++) {
		if (events_of(sim_cpu)->events[i])
			change(events_of(sim_cpu)->events[i]);
	}
}

/* As cpu_pm_pmu_notify(): all counters are marked as used on a claimed CPU. */
void sim_perf_sleeps(void)
{
	struct arm_pmu *pmu = driver_of(sim_cpu);

	if (!events_of(sim_cpu)->used_mask[0])
		return;
	pmu->stop(pmu);
	change_events(pmu->disable);
}

void sim_perf_wakes(void)
{
	struct arm_pmu *pmu = driver_of(sim_cpu);

	pmu->reset(pmu);
	if (!events_of(sim_cpu)->used_mask[0])
		return;
	change_events(pmu->enable);
	pmu->start(pmu);
}

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu, void *task,
						    perf_overflow_handler_t overflow, void *context)
{
	struct perf_event *event;

	might_sleep();
	sim_require(!task && !overflow && !context && attr->type == PERF_TYPE_HARDWARE,
		    "another event than the search for a driver needs");
	/* One that is enabled lets perf schedule all events of the CPU, and would be refused. */
	sim_require(attr->disabled || !perfctr_perf_waits, "perf's events are rescheduled too late");
	nr_rescheduled += !attr->disabled;
	sim_require(perfmon_capable(), "perf refuses an event of a CPU to this user");
	event = kzalloc(sizeof(*event), GFP_KERNEL);
	if (!event)
		return ERR_PTR(-ENOMEM);
	event->pmu = &driver_of(cpu)->pmu;
	event->attr = *attr;
	event->group_leader = event;
	return event;
}

int perf_event_release_kernel(struct perf_event *event)
{
	might_sleep();
	kfree(event);
	return 0;
}

/* ---- boot and unload --------------------------------------------------------------------- */

static void set_up(struct arm_pmu *driver, const char *name)
{
	driver->pmu = (struct pmu) { .name = name, .add = add, .del = del, .filter = filter };
	driver->handle_irq = handle_irq;
	driver->enable = enable;
	driver->disable = disable;
	driver->start = start;
	driver->stop = stop;
	driver->reset = reset;
	driver->hw_events = &hw_events;
}

int sim_perf_irq = 23;

void sim_start_perf(u32 others)
{
	unsigned int n;

	second = others;
	set_up(&drivers[0], "armv8_big");
	set_up(&drivers[1], "armv8_small");
	for (n = 0; n < nr_cpu_ids; n++) {
		struct cpumask *cpus = &driver_of(n)->supported_cpus;

		cpus->bits[n / 64] |= BIT(n % 64);
		events_of(n)->irq = sim_perf_irq;
		model.cpu[n].enabled = 0;
		model.cpu[n].intr = 0;
		model.cpu[n].overflow = 0;
		model.cpu[n].user = 0;
	}
}

#define AFTER_RESET	0x5a5a5a5a	/* in the model */

void sim_check_perf(void)
{
	unsigned int n, i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++)
		sim_require(drivers[i].handle_irq == handle_irq && drivers[i].start == start &&
			    drivers[i].enable == enable && drivers[i].disable == disable &&
			    drivers[i].stop == stop && drivers[i].reset == reset &&
			    drivers[i].pmu.add == add && drivers[i].pmu.filter == filter,
			    "perf does not get its driver back");
	for (n = 0; n < nr_cpu_ids; n++) {
		sim_require(!events_of(n)->used_mask[0], "perf does not get CPU %u back", n);
		for (i = 0; fake_online[n] && i < MODEL_CTRS; i++) {
			u64 value = model.cpu[n].counter[i];

			sim_require(!value || value == AFTER_RESET, "counter %u of CPU %u has %llu left",
				    i, n, value);
		}
	}
}

/* ---- a scenario: perf and threads compete for the counters ------------------------------ */

static bool competition_ends;
static unsigned int nr_schedulers;

/* Schedule an event in. */
static bool schedule_in(struct perf_event *event)
{
	struct arm_pmu *pmu = driver_of(sim_cpu);
	bool on = false;

	if (pmu->pmu.filter(&pmu->pmu, sim_cpu))
		return false;
	event->pmu = &pmu->pmu;
	event->attr.config = 0;
	pmu->stop(pmu);
	on = !pmu->pmu.add(event, 0);
	if (events_of(sim_cpu)->used_mask[0])
		pmu->start(pmu);
	return on;
}

/* Schedule it out.  Its counts are those of all modes, with and without a state of ours. */
static void schedule_out(struct perf_event *event, u64 before)
{
	struct arm_pmu *pmu = driver_of(sim_cpu);
	u64 executed = sim_executed_here() - before;

	pmu->stop(pmu);
	event->pmu->del(event, 0);
	if (events_of(sim_cpu)->used_mask[0])
		pmu->start(pmu);
	sim_require(event->attr.config == executed, "perf has counted %llu instructions, not %llu",
		    event->attr.config, executed);
}

/* Schedule an event of perf's in and out.  Meanwhile this CPU must not be claimed: see del(). */
static void schedule_events(void *arg)
{
	struct perf_event event = { .group_leader = &event };
	u64 before = 0;
	bool flags, on;

	while (!READ_ONCE(competition_ends)) {
		local_irq_save(flags);
		on = schedule_in(&event);
		before = sim_executed_here();
		local_irq_restore(flags);
		sim_sleep_on(NULL, sim_ns() + sim_random(2000));
		if (on) {
			local_irq_save(flags);
			schedule_out(&event, before);
			local_irq_restore(flags);
			sim_sleep_on(NULL, sim_ns() + sim_random(4000));
		}
	}
	nr_schedulers--;
	sim_kthread_exit();
	(void)arg;
}

void sim_perf_competes(void)
{
	struct task_struct *task[2];
	unsigned int i;

	competition_ends = false;
	/* Two on each CPU: if perf keeps one counter, one of them waits, or threads do. */
	for (nr_schedulers = 0; nr_schedulers < 2 * nr_cpu_ids; nr_schedulers++)
		sim_kthread("perf", schedule_events, NULL, nr_schedulers % nr_cpu_ids, 0);
	for (i = 0; i < 2; i++)
		task[i] = sim_process("counts", 1000, sim_count_beside_perf, NULL);
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
	WRITE_ONCE(competition_ends, true);
	while (nr_schedulers)
		sim_sleep_on(NULL, sim_ns() + 1000);
}

/* ---- a scenario: an event of perf's waits ------------------------------------------------- */

/* Longer than the module's worker waits before it reschedules events. */
#define LONG_NS		(200ULL * NSEC_PER_MSEC)

static bool refused;

static void add_refused(void *arg)
{
	struct pmu *pmu = &driver_of(sim_cpu)->pmu;
	bool flags;

	local_irq_save(flags);
	sim_require(pmu->filter(pmu, sim_cpu), "perf adds an event while the counters are reserved");
	local_irq_restore(flags);
	refused = true;
	sim_kthread_exit();
	(void)arg;
}

static int reserve(void)
{
	int fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));

	sim_must(sim_control(fd, 0));
	user_work(5);
	return fd;
}

static void give_back(int fd)
{
	sim_must(user_ioctl(fd, VPERFCTR_UNLINK, NULL));
	user_close(fd);
}

static int reserve_and_refuse(void)
{
	int fd = reserve();

	WRITE_ONCE(refused, false);
	sim_kthread("perf", add_refused, NULL, 0, 0);
	while (!READ_ONCE(refused))
		user_sleep(1000);
	return fd;
}

static void check_rescheduled(unsigned int times)
{
	sim_require(nr_rescheduled == times, "perf's events are rescheduled %u times, not %u",
		    nr_rescheduled, times);
}

static void keep_perf_waiting(void *arg)
{
	int fd;

	/* The next reservation lets the event start first, as none has for long. */
	give_back(reserve_and_refuse());
	fd = reserve();
	check_rescheduled(1);
	give_back(fd);
	/* Soon after that, the event waits until the counters have been free for long enough. */
	give_back(reserve_and_refuse());
	fd = reserve();
	user_sleep(LONG_NS);
	check_rescheduled(1);
	give_back(fd);
	user_sleep(LONG_NS);
	check_rescheduled(2);
	/* None has waited since. */
	give_back(reserve());
	user_sleep(LONG_NS);
	check_rescheduled(2);
	(void)arg;
}

void sim_perf_waits(void)
{
	nr_rescheduled = 0;
	user_wait(sim_process("counts", 1000, keep_perf_waiting, NULL));
}

/* ---- a scenario: perf counts on another CPU ------------------------------------------------ */

static bool perf_counts, perf_may_end;

static void count_on_last(void *arg)
{
	struct perf_event event = { .group_leader = &event };
	u64 before;
	bool flags;

	local_irq_save(flags);
	sim_require(schedule_in(&event), "perf may not count");
	before = sim_executed_here();
	local_irq_restore(flags);
	WRITE_ONCE(perf_counts, true);
	while (!READ_ONCE(perf_may_end))
		sim_sleep_on(NULL, sim_ns() + 1000);
	local_irq_save(flags);
	schedule_out(&event, before);
	local_irq_restore(flags);
	WRITE_ONCE(perf_counts, false);
	sim_kthread_exit();
	(void)arg;
}

static bool last_is_forbidden;

/* The last CPU, for scenarios whose threads may not be counted there. */
void sim_forbid_last(void)
{
	static char list[2];

	list[0] = '0' + nr_cpu_ids - 1;
	*sim_param_forbid_cpus = list;
	last_is_forbidden = true;
}

/* perf's event keeps the counters from threads, unless they are never counted on its CPU. */
static void reserve_beside_perf(void *arg)
{
	int fd = sim_must(sim_open(0, VPERFCTR_OPEN_CREAT));
	long err;

	err = sim_control(fd, 0);
	sim_require(err == (last_is_forbidden ? 0 : -EBUSY), "CONTROL: %ld", err);
	WRITE_ONCE(perf_may_end, true);
	while (READ_ONCE(perf_counts))
		user_sleep(1000);
	sim_must(sim_control(fd, 0));
	give_back(fd);
	(void)arg;
}

void sim_perf_elsewhere(void)
{
	sim_kthread("perf", count_on_last, NULL, nr_cpu_ids - 1, 0);
	while (!READ_ONCE(perf_counts))
		sim_sleep_on(NULL, sim_ns() + 1000);
	user_wait(sim_process("counts", 1000, reserve_beside_perf, NULL));
}
