// SPDX-License-Identifier: GPL-2.0
/*
 * perf, its driver of the counters, and the NMI watchdog, which is an event of perf's.  The table
 * of scenarios says where they are: elsewhere there is no driver, and the counters can be
 * reserved.  Linux: kernel/events/core.c, arch/x86/events/core.c and intel/core.c.
 *
 * perf's event of the watchdog counts cycles, of which an instruction has one here.
 */
#include <stdlib.h>

#include "hardware.h"
#include "scenarios.h"
#include "users.h"
#include "rdpmc.h"
#include "x86.h"

extern bool *const sim_param_keep_watchdog;

struct sim_event {
	struct perf_event event;
	struct rcu_head rcu;
	u64 count;			/* so far */
	u64 start;			/* the instructions of its CPU before */
};

static struct their_cpu {
	bool enabled;			/* the PMU is */
	u64 active;			/* as in GLOBAL_CTRL */
	u64 added;			/* of these: to be set up as the PMU is enabled */
	struct perf_event *event[64];
	struct sim_event *watchdog;	/* also one that waits */
	struct perf_event_context events; /* those that have been opened for this CPU */
	struct perf_cpu_pmu_context context;
} theirs[NR_CPUS];

static DEFINE_PER_CPU(struct perf_cpu_pmu_context *, contexts);
static struct pmu pmu;

static struct sim_event *sim_event(struct perf_event *event)
{
	return container_of(event, struct sim_event, event);
}

static struct their_cpu *here(void)
{
	return &theirs[sim_cpu];
}

/* ---- the driver --------------------------------------------------------------------- */

#define WATCHDOG_IDX	(32 + SIM_WATCHDOG_FIXED)
#define WATCHDOG_PERIOD	50
#define FIXED_FIELD	((u64)(FIX_OS | FIX_USR | FIX_PMI) << 4 * SIM_WATCHDOG_FIXED)
#define NR_THEIRS	2		/* general counters that are enough for these tests */

static u64 *counter_of_event(const struct perf_event *event)
{
	struct model_cpu *c = &model.cpu[sim_cpu];

	return event->hw.idx == WATCHDOG_IDX ? &c->fixed[SIM_WATCHDOG_FIXED] : &c->pmc[event->hw.idx];
}

static u64 first_value(const struct perf_event *event)
{
	return -event->attr.sample_period & (BIT_ULL(model_config()->fixed_width) - 1);
}

/* The events since the counter had its first value. */
static u64 counted(const struct perf_event *event)
{
	return (*counter_of_event(event) - first_value(event)) & (BIT_ULL(model_config()->fixed_width) - 1);
}

static void disable_pmu(struct pmu *unused)
{
	sim_require(irqs_disabled() || sim_is_in_nmi(), "perf's PMU is disabled with interrupts enabled");
	if (here()->enabled) {
		here()->enabled = false;
		model.cpu[sim_cpu].global_ctrl = 0;
	}
	SIM_STEP("perf has disabled its PMU");
	(void)unused;
}

static void set_up(struct perf_event *event)
{
	struct model_cpu *c = &model.cpu[sim_cpu];

	*counter_of_event(event) = first_value(event);
	if (event->hw.idx == WATCHDOG_IDX)
		c->fixed_ctrl |= FIXED_FIELD;
	else
		c->evntsel[event->hw.idx] = SEL_EN | SEL_USR | SEL_OS | SEL_INT | EV_INSTRUCTIONS;
}

static void enable_pmu(struct pmu *unused)
{
	struct their_cpu *t = here();
	unsigned int i;

	sim_require(irqs_disabled() || sim_is_in_nmi(), "perf's PMU is enabled with interrupts enabled");
	if (t->enabled)
		return;
	for (i = 0; i < 64; i++) {
		if (t->added & BIT_ULL(i))
			set_up(t->event[i]);
	}
	t->added = 0;
	t->enabled = true;
	model.cpu[sim_cpu].global_ctrl = t->active;
	SIM_STEP("perf has enabled its PMU");
	(void)unused;
}

static int add_event(struct perf_event *event, int flags)
{
	struct their_cpu *t = here();
	unsigned int i = event->attr.sample_period ? WATCHDOG_IDX : 0;

	while (i < NR_THEIRS && t->event[i])
		i++;
	if (i == NR_THEIRS || t->event[i])
		return -EAGAIN;
	event->hw.idx = i;
	t->event[i] = event;
	t->active |= BIT_ULL(i);
	t->added |= BIT_ULL(i);
	(void)flags;
	return 0;
}

static void del_event(struct perf_event *event, int flags)
{
	struct model_cpu *c = &model.cpu[sim_cpu];
	struct their_cpu *t = here();

	t->event[event->hw.idx] = NULL;
	t->active &= ~BIT_ULL(event->hw.idx);
	if (t->added & BIT_ULL(event->hw.idx)) {
		t->added &= ~BIT_ULL(event->hw.idx);
		return;
	}
	if (event->hw.idx == WATCHDOG_IDX)
		c->fixed_ctrl &= ~FIXED_FIELD;
	else
		c->evntsel[event->hw.idx] &= ~SEL_EN;
	SIM_STEP("perf has stopped an event");
	sim_event(event)->count += counted(event);
	*counter_of_event(event) = 0;
	(void)flags;
}

/* intel_pmu_handle_irq(): it clears the bits of all counters, and stops them meanwhile. */
bool sim_perf_handles_nmi(void)
{
	struct model_cpu *c = &model.cpu[sim_cpu];
	struct their_cpu *t = here();
	u64 status = c->overflow;

	if (!sim_processor.perf)
		return false;
	model_write_lvtpc(APIC_DM_NMI);
	c->global_ctrl = 0;
	c->overflow &= ~status;
	if (status & t->active & BIT_ULL(WATCHDOG_IDX)) {
		t->watchdog->count += counted(&t->watchdog->event);
		c->fixed[SIM_WATCHDOG_FIXED] = first_value(&t->watchdog->event);
	}
	if (t->enabled)
		c->global_ctrl = t->active;
	return status;
}

static void check_still_loaded(bool own)
{
	sim_require(own || !sim_module_is_gone, "the module has been removed while perf calls it");
}

/* perf's core reads a pointer of its PMU, and calls that function of perf's own or of the module. */
#define function_of_pmu(name, own)					\
({									\
	__typeof__(pmu.name) sim_function = READ_ONCE(pmu.name);	\
									\
	SIM_STEP("perf calls " #name);					\
	check_still_loaded(sim_function == (own));			\
	sim_function;							\
})

/* ---- what perf's core does, with interrupts disabled --------------------------------------- */

/* An event alone, or the only one of the hardware in its group. */
static bool is_pinned(const struct perf_event *event)
{
	return event->group_leader->attr.pinned;
}

static bool is_on(const struct sim_event *e)
{
	return e->event.state == PERF_EVENT_STATE_ACTIVE;
}

/*
 * Try an event, whose PMU is disabled.  One that is pinned is given up if the driver refuses it, and
 * so are those after it.
 */
static void try_event(struct sim_event *e, bool *can_add)
{
	struct their_cpu *t = here();

	if (e->event.state != PERF_EVENT_STATE_INACTIVE)
		return;
	if (!*can_add || function_of_pmu(add, add_event)(&e->event, 0)) {
		*can_add = false;
		if (is_pinned(&e->event))
			e->event.state = PERF_EVENT_STATE_ERROR;
		return;
	}
	e->event.state = PERF_EVENT_STATE_ACTIVE;
	e->start = sim_executed_here();
	WRITE_ONCE(t->context.active_oncpu, t->context.active_oncpu + 1);
	if (is_pinned(&e->event))
		list_add_tail(&e->event.active_list, &t->context.epc.pinned_active);
}

/* The counts are those of all modes, with and without a state of ours. */
static void take_off(struct sim_event *e)
{
	struct their_cpu *t = here();
	u64 executed = sim_executed_here() - e->start;

	if (!is_on(e))
		return;
	if (is_pinned(&e->event))
		list_del_init(&e->event.active_list);
	function_of_pmu(del, del_event)(&e->event, 0);
	WRITE_ONCE(t->context.active_oncpu, t->context.active_oncpu - 1);
	sim_require(e->count == executed, "perf's event on counter %d has counted %llu instructions, not %llu",
		    e->event.hw.idx, e->count, executed);
	e->event.state = PERF_EVENT_STATE_INACTIVE;
	e->count = 0;
}

static bool filters(void)
{
	bool (*filter)(struct pmu *pmu, int cpu);

	filter = function_of_pmu(filter, NULL);
	return filter && filter(&pmu, sim_cpu);
}

static bool is_flexible(const struct perf_event *event)
{
	return !is_pinned(event);
}

/* Ask the filter once, and try the events of this CPU in the order of their opening. */
static void try_events(bool (*which)(const struct perf_event *event))
{
	struct perf_event *event;
	bool can_add = true;

	if (filters())
		return;
	list_for_each_entry(event, &here()->events.event_list, event_entry) {
		if (which(event))
			try_event(sim_event(event), &can_add);
	}
}

/* Schedule the events of this CPU again, as one that is pinned to it has been opened. */
static void reschedule(void)
{
	struct perf_event *event;

	function_of_pmu(pmu_disable, disable_pmu)(&pmu);
	list_for_each_entry(event, &here()->events.event_list, event_entry)
		take_off(sim_event(event));
	try_events(is_pinned);
	try_events(is_flexible);
	function_of_pmu(pmu_enable, enable_pmu)(&pmu);
}

static void open_event(struct sim_event *e)
{
	bool can_add = true;

	list_add_tail(&e->event.event_entry, &here()->events.event_list);
	if (is_pinned(&e->event)) {
		reschedule();
		return;
	}
	function_of_pmu(pmu_disable, disable_pmu)(&pmu);
	if (!filters())
		try_event(e, &can_add);
	function_of_pmu(pmu_enable, enable_pmu)(&pmu);
}

static void close_event(struct sim_event *e)
{
	function_of_pmu(pmu_disable, disable_pmu)(&pmu);
	take_off(e);
	function_of_pmu(pmu_enable, enable_pmu)(&pmu);
	list_del_rcu(&e->event.event_entry);
}

static void end_event(struct rcu_head *rcu)
{
	free(container_of(rcu, struct sim_event, rcu));
}

static struct sim_event *new_event(const struct perf_event_attr *attr, const void *owner)
{
	struct sim_event *e = calloc(1, sizeof(*e));

	e->event.pmu = &pmu;
	e->event.group_leader = &e->event;
	e->event.attr = *attr;
	e->event.owner = owner;
	e->event.hw.idx = -1;
	return e;
}

static struct sim_event *new_watchdog(void)
{
	return new_event(&(struct perf_event_attr) { .sample_period = WATCHDOG_PERIOD, .pinned = true },
			 (void *)-1L);
}

static void open_here(void *e)
{
	open_event(e);
}

static void close_here(void *e)
{
	close_event(e);
}

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu, void *task,
						    perf_overflow_handler_t overflow, void *context)
{
	struct sim_event *e;

	might_sleep();
	sim_require(perfmon_capable(), "perf refuses an event of a CPU to this user");
	if (sim_is_guard(attr))
		return sim_open_guard(attr);
	sim_require(!task && !context && attr->type == PERF_TYPE_HARDWARE,
		    "another event than the search for a driver needs");
	if (!sim_processor.perf)
		return ERR_PTR(-EOPNOTSUPP);
	e = new_event(attr, (void *)-1L);
	e->event.attr.config = cpu;
	e->event.overflow_handler = overflow;
	if (!attr->disabled)
		smp_call_function_single(cpu, open_here, e, 1);
	return &e->event;
}

int perf_event_release_kernel(struct perf_event *event)
{
	might_sleep();
	if (sim_close_guard(event))
		return 0;
	if (!event->attr.disabled)
		smp_call_function_single(event->attr.config, close_here, sim_event(event), 1);
	call_rcu(&sim_event(event)->rcu, end_event);
	return 0;
}

/* ---- mappings ---------------------------------------------------------------------------- */

static struct perf_event mapped = { .hw.flags = PERF_EVENT_FLAG_USER_READ_CNT };

void sim_perf_map(void)
{
	struct mm_struct *mm = current->mm;
	void (*map)(struct perf_event *event, struct mm_struct *mm);

	current->sim->regs.user = false;
	mutex_lock(&mm->mmap_lock);
	mm->perf_maps++;
	map = READ_ONCE(pmu.event_mapped);
	SIM_STEP("perf calls event_mapped");
	map(&mapped, mm);
	check_still_loaded(map == sim_pmu_mapped);
	mutex_unlock(&mm->mmap_lock);
	sim_return_to_user();
}

static void unmap_one(struct mm_struct *mm)
{
	void (*unmap)(struct perf_event *event, struct mm_struct *mm) = READ_ONCE(pmu.event_unmapped);

	SIM_STEP("perf calls event_unmapped");
	unmap(&mapped, mm);
	check_still_loaded(unmap == sim_pmu_unmapped);
	mm->perf_maps--;
}

void sim_perf_unmap(void)
{
	struct mm_struct *mm = current->mm;

	current->sim->regs.user = false;
	mutex_lock(&mm->mmap_lock);
	unmap_one(mm);
	mutex_unlock(&mm->mmap_lock);
	sim_return_to_user();
}

void sim_end_perf_maps(struct mm_struct *mm)
{
	while (sim_processor.perf && mm->perf_maps)
		unmap_one(mm);
}

/* ---- boot and unload --------------------------------------------------------------------- */

void sim_start_perf(void)
{
	unsigned int n;

	pmu = (struct pmu) {
		.cpu_pmu_context = &contexts, .pmu_enable = enable_pmu, .pmu_disable = disable_pmu,
		.add = add_event, .del = del_event, .event_mapped = sim_pmu_mapped,
		.event_unmapped = sim_pmu_unmapped,
	};
	*sim_param_keep_watchdog = sim_processor.watchdog_off;
	model.kept = sim_processor.perf ? BIT_ULL(WATCHDOG_IDX) : 0;
	for (n = 0; n < nr_cpu_ids; n++) {
		struct their_cpu *t = &theirs[n];
		struct model_cpu *c = &model.cpu[n];

		INIT_LIST_HEAD(&t->events.event_list);
		INIT_LIST_HEAD(&t->context.epc.pinned_active);
		t->context.epc.ctx = &t->events;
		*per_cpu_ptr(&contexts, n) = &t->context;
		t->enabled = true;
		if (!sim_processor.perf)
			continue;
		c->lvtpc = APIC_DM_NMI;
		if (sim_processor.watchdog_off)
			continue;
		t->watchdog = new_watchdog();
		t->watchdog->event.hw.idx = WATCHDOG_IDX;
		t->watchdog->event.state = PERF_EVENT_STATE_ACTIVE;
		list_add_tail(&t->watchdog->event.event_entry, &t->events.event_list);
		t->event[WATCHDOG_IDX] = &t->watchdog->event;
		t->active = BIT_ULL(WATCHDOG_IDX);
		t->context.active_oncpu = 1;
		list_add_tail(&t->watchdog->event.active_list, &t->context.epc.pinned_active);
		c->fixed[SIM_WATCHDOG_FIXED] = first_value(&t->watchdog->event);
		c->fixed_ctrl = FIXED_FIELD;
		c->global_ctrl = t->active;
	}
}

/* The module has been removed. */
void sim_check_perf(unsigned int cpu)
{
	const struct their_cpu *t = &theirs[cpu];

	sim_require(pmu.pmu_enable == enable_pmu && pmu.pmu_disable == disable_pmu && !pmu.filter &&
		    pmu.add == add_event && pmu.del == del_event && pmu.event_mapped == sim_pmu_mapped &&
		    pmu.event_unmapped == sim_pmu_unmapped, "perf does not get its driver back");
	sim_require(!sim_processor.perf || (t->enabled && model.cpu[cpu].global_ctrl == t->active),
		    "perf does not get CPU %u back", cpu);
	sim_require(!t->watchdog || is_on(t->watchdog), "the watchdog of CPU %u waits for ever", cpu);
}

/* ---- what scenarios ask and tell the module --------------------------------------------------- */

void sim_perf_was_mapped(unsigned int nr)
{
	if (nr)
		perfctr_x86_mms_added(nr);
	else
		perfctr_mm_removed();
}

void sim_check_hardware_rests(void)
{
	sim_require(!sim_is_hardware_reserved(), "the counters are left reserved, without users");
	sim_require(!perfctr_x86_watch.watchers || perfctr_x86_watch.forgotten,
		    "suspends clear counters at level %u, without users", perfctr_x86_watch.watchers);
}

bool sim_knows_forgotten(void)
{
	return perfctr_x86_watch.forgotten;
}

unsigned int sim_looks_for_forgotten(void)
{
	return sim_walks_of_processes;
}

/* ---- in place of kvm-report.c --------------------------------------------------------------- */

void perfctr_x86_kvm_init(void)
{
}

void perfctr_x86_kvm_exit(void)
{
}

/* ---- a scenario: perf, the watchdog and threads compete for the counters ------------------------ */

static bool competition_ends;
static unsigned int nr_schedulers;

/* With interrupts disabled, as perf's core does it. */
static struct sim_event *open_one(struct sim_event *e)
{
	bool flags;

	local_irq_save(flags);
	open_event(e);
	local_irq_restore(flags);
	return e;
}

static void close_one(struct sim_event *e)
{
	bool flags;

	local_irq_save(flags);
	close_event(e);
	local_irq_restore(flags);
}

static void end_one(struct sim_event *e)
{
	close_one(e);
	call_rcu(&e->rcu, end_event);
}

/* An event of perf's comes and goes. */
static void schedule_events(void *arg)
{
	struct sim_event *e = new_event(&(struct perf_event_attr) {}, NULL);

	while (!READ_ONCE(competition_ends)) {
		open_one(e);
		sim_sleep_on(NULL, sim_ns() + sim_random(is_on(e) ? 4000 : 20000));
		close_one(e);
		sim_sleep_on(NULL, sim_ns() + sim_random(20000));
	}
	call_rcu(&e->rcu, end_event);
	nr_schedulers--;
	sim_kthread_exit();
	(void)arg;
}

/* An administrator switches the watchdog off and on. */
static void switch_watchdog(void *arg)
{
	struct their_cpu *t = here();

	while (!READ_ONCE(competition_ends) || !t->watchdog) {
		if (t->watchdog) {
			end_one(t->watchdog);
			t->watchdog = NULL;
		} else {
			t->watchdog = new_watchdog();
			open_one(t->watchdog);
		}
		sim_sleep_on(NULL, sim_ns() + sim_random(10000));
	}
	nr_schedulers--;
	sim_kthread_exit();
	(void)arg;
}

/* It goes on as the module is removed. */
void sim_perf_competes_on(void)
{
	struct task_struct *task[2];
	unsigned int i;

	competition_ends = false;
	for (nr_schedulers = 0; nr_schedulers < 2 * nr_cpu_ids; nr_schedulers++)
		sim_kthread("perf", nr_schedulers & 1 ? schedule_events : switch_watchdog, NULL,
			    nr_schedulers / 2, 0);
	for (i = 0; i < 2; i++)
		task[i] = sim_process("counts", 1000, sim_count_beside_perf, (void *)1UL);
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
}

void sim_end_competition(void)
{
	WRITE_ONCE(competition_ends, true);
	while (nr_schedulers)
		sim_sleep_on(NULL, sim_ns() + 1000);
}

void sim_perf_competes(void)
{
	sim_perf_competes_on();
	sim_end_competition();
	/* Events that wait are tried again. */
	sim_sleep_on(NULL, sim_ns() + NSEC_PER_SEC);
}

/* ---- a scenario: the watchdog is switched on while threads count -------------------------------- */

#define ROUNDS		4

/* The longest time in which a thread here is not switched out, and the worker runs. */
#define SOON		(NSEC_PER_SEC / 1000)

static bool rounds_end;

/* Another event that is pinned to the CPU waits: perf must not give it up. */
static void wait_with_other(struct sim_event *other)
{
	sim_sleep_on(NULL, sim_ns() + sim_random(20000));
	sim_require(other->event.state == PERF_EVENT_STATE_INACTIVE, "perf has given up an event that waits");
	end_one(other);
}

/* The leader of such a group is an event of software, and alone says that it is pinned. */
static struct perf_event software_leader = {
	.attr.pinned = true, .state = PERF_EVENT_STATE_INACTIVE, .group_leader = &software_leader,
};

static struct sim_event *new_other(void)
{
	bool grouped = sim_random(2);
	struct sim_event *e = new_event(&(struct perf_event_attr) { .pinned = !grouped }, NULL);

	if (grouped)
		e->event.group_leader = &software_leader;
	return e;
}

static void wait_for_begin(const struct sim_event *watchdog)
{
	u64 until = sim_ns() + SOON;

	while (!is_on(watchdog) && sim_ns() < until)
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_require(is_on(watchdog), "the watchdog of CPU %u waits while threads count", sim_cpu);
}

static void watchdog_rounds(void *arg)
{
	struct their_cpu *t = here();
	struct sim_event *other;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		if (t->watchdog)
			end_one(t->watchdog);
		t->watchdog = NULL;
		sim_sleep_on(NULL, sim_ns() + sim_random(3000));
		other = sim_random(3) ? NULL : open_one(new_other());
		t->watchdog = new_watchdog();
		open_one(t->watchdog);
		if (other)
			wait_with_other(other);
		else
			wait_for_begin(t->watchdog);
		sim_sleep_on(NULL, sim_ns() + sim_random(3000));
	}
	/* One that still waits begins at the end of the counting. */
	nr_schedulers--;
	sim_kthread_exit();
	(void)arg;
}

void sim_watchdog_begins(void)
{
	struct task_struct *task[3];
	unsigned int i;

	WRITE_ONCE(rounds_end, false);
	for (i = 0; i < 3; i++)
		task[i] = sim_process("counts", 1000, sim_count_until, &rounds_end);
	/* From here on, some thread has the counters. */
	sim_sleep_on(NULL, sim_ns() + 100000);
	for (nr_schedulers = 0; nr_schedulers < nr_cpu_ids; nr_schedulers++)
		sim_kthread("watchdog", watchdog_rounds, NULL, nr_schedulers, 0);
	while (nr_schedulers)
		sim_sleep_on(NULL, sim_ns() + 1000);
	WRITE_ONCE(rounds_end, true);
	for (i = 0; i < 3; i++)
		user_wait(task[i]);
}

/* ---- scenarios: the module is loaded, and removed, while processes map events ----------------------------- */

static bool maps_end;

static void map_at_random(void)
{
	switch (sim_random(8)) {
	case 0:
	case 1:
		sim_perf_map();
		break;
	case 2:
	case 3:
		if (current->mm->perf_maps)
			sim_perf_unmap();
		break;
	case 4:
		/* Not before start_processes() knows this thread: an exec ends the others. */
		if (get_nr_threads(current) == 1)
			user_exec(false);
		break;
	default:
		user_work(1 + sim_random(5));
		/* In a long sleep of all of them, time passes. */
		user_sleep(1 + sim_random(sim_random(8) ? 500 : 5 * NSEC_PER_MSEC));
	}
}

static void map_for_long(void *arg)
{
	while (!READ_ONCE(maps_end))
		map_at_random();
	(void)arg;
}

/* Its mappings end with it. */
static void map_shortly(void *arg)
{
	unsigned int i;

	for (i = 0; i < 6; i++)
		map_at_random();
	(void)arg;
}

/* The first thread ends before the second. */
static void leave_to_second(void *second)
{
	*(struct task_struct **)second = user_thread("maps", map_shortly, NULL);
}

static unsigned int nr_starters;

static void start_processes(void *arg)
{
	struct task_struct *second;

	while (!READ_ONCE(maps_end)) {
		user_wait(sim_process("maps", 1001, map_shortly, NULL));
		user_wait(sim_process("leaves", 1002, leave_to_second, &second));
		user_wait(second);
	}
	nr_starters--;
	sim_kthread_exit();
	(void)arg;
}

static struct task_struct *maps_for_long;

void sim_begin_maps(void)
{
	maps_end = false;
	maps_for_long = sim_process("maps", 1000, map_for_long, NULL);
	for (nr_starters = 0; nr_starters < 2; nr_starters++)
		sim_kthread("starts", start_processes, NULL, -1, 0);
	sim_sleep_on(NULL, sim_ns() + sim_random(4000));
}

void sim_end_maps(void)
{
	WRITE_ONCE(maps_end, true);
	user_wait(maps_for_long);
	while (nr_starters)
		sim_sleep_on(NULL, sim_ns() + 1000);
}

void sim_count_beside_maps(void)
{
	user_wait(sim_process("counts", 999, sim_count_beside_perf, NULL));
	sim_require(!sim_knows_forgotten(), "a right is taken for one that perf has forgotten");
}

void sim_perf_maps(void)
{
	sim_count_beside_maps();
	sim_end_maps();
}
