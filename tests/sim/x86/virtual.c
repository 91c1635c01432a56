// SPDX-License-Identifier: GPL-2.0
/*
 * KVM with machines that have the counters themselves (enable_mediated_pmu), and perf's rule for
 * them.  A virtual CPU that has run leaves zeros in all registers, and asks no driver.  Linux 7.0:
 * kernel/events/core.c, arch/x86/kvm/pmu.c.
 */
#include <stdlib.h>

#include "hardware.h"
#include "mediated-guests.h"
#include "scenarios.h"

static struct pmu *guard;		/* of the module */
static unsigned int nr_machines, nr_guards;

/* ---- perf's core -------------------------------------------------------------------- */

struct task_struct init_task;
static struct cred root_cred;

struct cred *prepare_kernel_cred(struct task_struct *task)
{
	sim_require(task == &init_task, "credentials of another task than init");
	if (sim_lacks_memory())
		return NULL;
	root_cred = (struct cred) { .user_ns = &init_user_ns, .perfmon = true };
	atomic_set(&root_cred.usage, 2);
	return &root_cred;
}

const struct cred *override_creds(const struct cred *cred)
{
	const struct cred *old = current->cred;

	current->cred = cred;
	return old;
}

void revert_creds(const struct cred *cred)
{
	sim_require(current->cred == &root_cred, "credentials are reverted that were not changed");
	current->cred = cred;
}

int perf_pmu_register(struct pmu *pmu, const char *name, int type)
{
	might_sleep();
	sim_require(!guard && type < 0 && pmu->capabilities & PERF_PMU_CAP_MEDIATED_VPMU, "another PMU");
	if (sim_lacks_memory())
		return -ENOMEM;
	pmu->type = 1000;
	guard = pmu;
	(void)name;
	return 0;
}

void perf_pmu_unregister(struct pmu *pmu)
{
	sim_require(pmu == guard && !nr_guards, "a PMU is removed that has events");
	guard = NULL;
}

bool sim_is_guard(const struct perf_event_attr *attr)
{
	return guard && attr->type == guard->type;
}

struct perf_event *sim_open_guard(const struct perf_event_attr *attr)
{
	struct perf_event *e;
	int err;

	might_sleep();
	sim_require(current->cred == &root_cred, "an event of a CPU without the right");
	e = calloc(1, sizeof(*e));
	e->pmu = guard;
	e->attr = *attr;
	err = guard->event_init(e);
	/* From here to the count, nothing comes in between. */
	if (!err && !attr->exclude_guest && nr_machines)
		err = -EOPNOTSUPP;
	if (err) {
		free(e);
		return ERR_PTR(err);
	}
	nr_guards += !attr->exclude_guest;
	return e;
}

bool sim_close_guard(struct perf_event *event)
{
	if (!guard || event->pmu != guard)
		return false;
	nr_guards -= !event->attr.exclude_guest;
	free(event);
	return true;
}

/* The module has been removed, or could not be loaded. */
void sim_check_no_guard(void)
{
	sim_require(!guard, "a PMU is left");
	sim_require(atomic_read(&root_cred.usage) <= 1, "the kernel's credentials are not put");
}

/* ---- KVM ------------------------------------------------------------------------------ */

/* perf_create_mediated_pmu() */
static bool create_machine(void)
{
	SIM_STEP("a virtual machine is created");
	if (nr_guards)
		return false;
	nr_machines++;
	return true;
}

static void end_machine(void)
{
	SIM_STEP("a virtual machine ends");
	nr_machines--;
}

/* kvm_mediated_pmu_put(), as the virtual CPU leaves this CPU. */
static void run_machine(void)
{
	struct model_cpu *c = &model.cpu[sim_cpu];
	bool flags;

	local_irq_save(flags);
	c->global_ctrl = 0;
	c->fixed_ctrl = 0;
	memset(c->evntsel, 0, sizeof(c->evntsel));
	memset(c->pmc, 0, sizeof(c->pmc));
	memset(c->fixed, 0, sizeof(c->fixed));
	local_irq_restore(flags);
}

/* ---- a scenario: machines come and go while threads want to count ------------------------- */

static unsigned int nr_kvms, nr_counted, nr_refused;

static void start_machines(void *arg)
{
	unsigned int i, n;

	for (i = 0; i < 6; i++) {
		sim_sleep_on(NULL, sim_ns() + sim_random(4000));
		if (!create_machine())
			continue;
		for (n = sim_random(5); n; n--) {
			run_machine();
			sim_sleep_on(NULL, sim_ns() + sim_random(1000));
		}
		end_machine();
	}
	nr_kvms--;
	sim_kthread_exit();
	(void)arg;
}

static void count_or_not(void *unused)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		if (sim_count_once())
			nr_counted++;
		else
			nr_refused++;
		user_sleep(1 + sim_random(2000));
	}
	(void)unused;
}

/* The reason is known, and only as long as it holds. */
static void check_reason(void *unused)
{
	sim_require(create_machine(), "a machine is refused although nothing counts");
	sim_require(!sim_count_once() && perfctr_guests_refused(), "the machine is not the reason");
	end_machine();
	sim_require(sim_count_once() && !perfctr_guests_refused(), "the machine has ended");
	(void)unused;
}

void sim_virtual_machines(void)
{
	struct task_struct *task[2];
	unsigned int i;

	nr_counted = 0;
	nr_refused = 0;
	for (nr_kvms = 0; nr_kvms < nr_cpu_ids; nr_kvms++)
		sim_kthread("kvm", start_machines, NULL, nr_kvms, 0);
	for (i = 0; i < 2; i++)
		task[i] = sim_process("counts", 1000, count_or_not, NULL);
	for (i = 0; i < 2; i++)
		user_wait(task[i]);
	while (nr_kvms)
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_require(nr_counted + nr_refused == 16, "lost calls");
	user_wait(sim_process("tries", 1000, check_reason, NULL));
}
