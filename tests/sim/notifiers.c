// SPDX-License-Identifier: GPL-2.0
/*
 * The changes of a task's list of preempt notifiers.  The kernel has no lock for it: KVM
 * changes the list of current, with preemption disabled.
 *
 * Each change is one of these, or the run has failed, also if nothing is lost:
 *
 *	by the task itself, where it cannot be preempted.
 *
 *	by an interrupt on its CPU that came where it could be preempted.  Otherwise it may be
 *	in the middle of a change.
 *
 *	under stop_machine().
 *
 *	by another one, under a spinlock since the acquisition of which the task has not run.
 *	All such changes of one list have a lock in common, as a task that does not run
 *	excludes nothing: its parent may change the list, and at the same time the close
 *	of what was attached to it.  A task that is being switched in, and whose notifiers
 *	have not all been called, is like that, too.
 *
 * If a thread has several states, only the lead's notifier is in the task's list.  The module links
 * the others to the lead, and changes that list under the same rules.
 */
#include "sim.h"

/* The list is at the beginning of the task. */
_Static_assert(!offsetof(struct task_struct, preempt_notifiers), "see find_task()");

#define TABLE_BITS	(NR_CPUS > 16 ? 12 : 8)	/* small where rewind.c copies it */

static struct sim_task *tasks[1 << TABLE_BITS];

static struct sim_task **bucket_of(const void *task)
{
	return &tasks[hash_ptr(task, TABLE_BITS)];
}

void sim_watch_notifiers(struct sim_task *t)
{
	struct sim_task **p = bucket_of(t->task);

	t->next_by_address = *p;
	*p = t;
}

void sim_forget_notifiers(struct sim_task *t)
{
	struct sim_task **p = bucket_of(t->task);

	while (*p != t)
		p = &(*p)->next_by_address;
	*p = t->next_by_address;
}

/* The changes of others before are complete: see check_change_by_other(). */
void sim_begins_to_run(struct sim_task *t)
{
	t->runs = true;
	t->list_changer = NULL;
}

static struct sim_task *find_task(const void *head)
{
	struct sim_task *t = *bucket_of(head);

	while (t && (const void *)t->task != head)
		t = t->next_by_address;
	return t;
}

static bool holds(const struct sim_held *held, const struct sim_lock *lock)
{
	unsigned int i;

	for (i = 0; i < held->n && held->lock[i] != lock; i++)
		;
	return i < held->n;
}

/* Remove from `all` the locks that are not held now. */
static void intersect(struct sim_held *all, const struct sim_held *now)
{
	unsigned int i, n = 0;

	for (i = 0; i < all->n; i++) {
		if (holds(now, all->lock[i]))
			all->lock[n++] = all->lock[i];
	}
	all->n = n;
}

static void check_own_change(const struct sim_task *t)
{
	const struct sim_cpu *cpu = sim_this_cpu();

	sim_require(!cpu->in_nmi, "an NMI changes the notifiers of %s", t->name);
	sim_require(cpu->preempt || cpu->irqs_off,
		    "%s changes its notifiers, and can be preempted", t->name);
	sim_require(!cpu->in_irq || !cpu->interrupted_preempt,
		    "an interrupt changes the notifiers of %s, which may be changing them", t->name);
}

static void check_change_by_other(struct sim_task *t)
{
	const struct sim_cpu *cpu = sim_this_cpu();
	unsigned int n;

	for (n = 0; n < nr_cpu_ids; n++)
		sim_require(sim_cpus[n].curr != t->task || !t->runs,
			    "the notifiers of %s, which runs on CPU %u, are changed elsewhere", t->name, n);
	sim_require(!cpu->in_irq, "an interrupt changes the notifiers of %s, which is switched in",
		    t->name);
	sim_require(cpu->spins.n, "the notifiers of %s are changed elsewhere without a lock", t->name);
	sim_require(t->ran_step <= cpu->spins_step,
		    "the notifiers of %s are changed elsewhere, and it has run meanwhile", t->name);
	if (!t->list_changer)
		t->list_locks = cpu->spins;
	else
		intersect(&t->list_locks, &cpu->spins);
	sim_require(t->list_locks.n || t->list_changer == current || t->list_cpu == sim_cpu,
		    "two CPUs change the notifiers of %s without a common lock", t->name);
	t->list_changer = current;
	t->list_cpu = sim_cpu;
}

static void check_change(struct sim_task *t)
{
	if (!t || sim_stopped_by == (int)sim_cpu)
		return;
	if (t->task == current && t->runs)
		check_own_change(t);
	else
		check_change_by_other(t);
}

/* Or of another list: this one is known by its address. */
void sim_first_notifier_change(void *head)
{
	check_change(find_task(head));
}

/* Go from a link to the first one of its list.  Return: that. */
static struct hlist_node *first_link(struct hlist_node *node)
{
	/* Not the first: a node begins with its link, and knows the place of the one to it. */
	while (!find_task(node) && node->pprev && *node->pprev == node)
		node = (struct hlist_node *)node->pprev;
	return node;
}

void sim_notifiers_change(void *link)
{
	struct hlist_node *first = first_link(link);

	/* The list of a lead changes under the rules for the task's list, in which the lead is. */
	if (!find_task(first))
		first = first_link(sim_lead_of_list(first));
	sim_require(find_task(first), "a link is changed that is in no task's list");
	check_change(find_task(first));
}
