// SPDX-License-Identifier: GPL-2.0
/*
 * The holders of the counters, in /proc/vperfctr and in a line of the log.
 *
 * Each state with a share of the hardware, and each set of CPUs, is in a list.  The lists have
 * locks of their own, and a state has one of them by its address: starts and ends of counting
 * on different CPUs seldom write the same one.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cred.h>
#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/printk.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>

#include "comm.h"
#include "permission.h"
#include "reservation.h"
#include "state.h"

#define LIST_BITS	6

static struct proc_dir_entry *file;	/* NULL: it could not be made */

static struct {
	spinlock_t lock;		/* for the list */
	struct hlist_head head;
} ____cacheline_aligned_in_smp lists[1 << LIST_BITS];

/* Sets of CPUs: few. */
static HLIST_HEAD(sets);
static DEFINE_SPINLOCK(sets_lock);

static unsigned int list_of(const struct vperfctr_state *st)
{
	return hash_ptr(st, LIST_BITS);
}

void vperfctr_hold(struct vperfctr_state *st)
{
	unsigned int i = list_of(st);

	spin_lock(&lists[i].lock);
	hlist_add_head(&st->holder, &lists[i].head);
	spin_unlock(&lists[i].lock);
}

void vperfctr_unhold(struct vperfctr_state *st)
{
	unsigned int i = list_of(st);

	spin_lock(&lists[i].lock);
	hlist_del(&st->holder);
	spin_unlock(&lists[i].lock);
}

/* Note the process that starts a set as its holder, though others may have the descriptor. */
void vperfctr_hold_cpus(struct vperfctr_cpus_holder *holder)
{
	holder->pid = get_pid(task_tgid(current));
	holder->cred = get_current_cred();
	spin_lock(&sets_lock);
	hlist_add_head(&holder->link, &sets);
	spin_unlock(&sets_lock);
}

void vperfctr_unhold_cpus(struct vperfctr_cpus_holder *holder)
{
	spin_lock(&sets_lock);
	hlist_del(&holder->link);
	spin_unlock(&sets_lock);
	put_cred(holder->cred);
	put_pid(holder->pid);
}

/* ---- threads ---------------------------------------------------------------------- */

/*
 * Return a thread that counts by this share, or NULL if all are ending.
 *
 * Context: RCU.
 */
static struct task_struct *any_thread(struct vperfctr_state *st)
{
	struct task_struct *task = READ_ONCE(st->owner);
	struct vperfctr_state *member;
	unsigned long flags;

	/* A member has no list of its own.  Acquire: see vperfctr_dissolve_family(). */
	if (task || smp_load_acquire(&st->root))
		return task;
	raw_spin_lock_irqsave(&st->family_lock, flags);
	list_for_each_entry(member, &st->family, family) {
		task = READ_ONCE(member->owner);
		if (task)
			break;
	}
	raw_spin_unlock_irqrestore(&st->family_lock, flags);
	return task;
}

/* ---- the log -------------------------------------------------------------------- */

static void copy_comm(struct vperfctr_comm *to, struct task_struct *task)
{
	get_task_comm(to->text, task);
	vperfctr_clean_comm(to);
}

/*
 * Log who counts, once an hour, where the kernel has no hook that refuses the counters to perf.
 * perf says that dmesg may tell why it gets none, and suggests to look for "perf".
 *
 * Context: the counters have just been taken; the caller serialises.
 */
void vperfctr_report_holder(void)
{
	struct vperfctr_comm comm;
	static u64 next;

	if (perfctr_cpu_tells_refusals() || time_before64(get_jiffies_64(), next))
		return;
	next = get_jiffies_64() + 3600 * HZ;
	copy_comm(&comm, current);
	pr_info("%s (process %d, user %u) counts; perf gets %s counters until it and others end, see 'perfex info --holders'\n",
		comm.text, task_tgid_nr(current), from_kuid(&init_user_ns, current_uid()),
		perfctr_perf_keeps ? "only its own" : "no");
}

struct holder {
	struct vperfctr_comm comm;
	pid_t pid;
	uid_t uid;
};

/* Context: RCU. */
static void note_holder(struct holder *holder, struct task_struct *task, const struct cred *cred)
{
	copy_comm(&holder->comm, task);
	holder->pid = task_tgid_nr(task);
	holder->uid = from_kuid(&init_user_ns, cred->uid);
}

static bool find_state(struct holder *holder)
{
	struct task_struct *task = NULL;
	struct vperfctr_state *st;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists) && !task; i++) {
		spin_lock(&lists[i].lock);
		hlist_for_each_entry(st, &lists[i].head, holder) {
			task = any_thread(st);
			if (task) {
				note_holder(holder, task, st->creator);
				break;
			}
		}
		spin_unlock(&lists[i].lock);
	}
	return task;
}

static bool find_set(struct holder *holder)
{
	const struct vperfctr_cpus_holder *set;
	struct task_struct *task = NULL;

	spin_lock(&sets_lock);
	hlist_for_each_entry(set, &sets, link) {
		task = pid_task(set->pid, PIDTYPE_TGID);
		if (task) {
			note_holder(holder, task, set->cred);
			break;
		}
	}
	spin_unlock(&sets_lock);
	return task;
}

/*
 * Log that perf has been refused counters, and one of those who have them.
 *
 * Context: a worker.
 * Return: false if none has them any more.
 */
bool vperfctr_report_refusal(void)
{
	struct holder holder;
	bool found;

	rcu_read_lock();
	found = find_state(&holder) || find_set(&holder);
	rcu_read_unlock();
	if (found)
		pr_info("perf is refused counters: %s (process %d, user %u) has them, maybe with others, see 'perfex info --holders'\n",
			holder.comm.text, holder.pid, holder.uid);
	return found;
}

/* ---- the file ------------------------------------------------------------------- */

/*
 * Print the line of a thread, unless the reader's PID namespace does not have it.
 *
 * Context: RCU.
 */
static void show_task(struct seq_file *m, const char *what, struct task_struct *task,
		      const struct cred *cred)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct vperfctr_comm comm;
	pid_t pid = task_tgid_nr_ns(task, ns);

	if (!pid)
		return;
	copy_comm(&comm, task);
	seq_printf(m, "%s: %d %d %u %s\n", what, pid, task_pid_nr_ns(task, ns),
		   from_kuid_munged(current_user_ns(), cred->uid), comm.text);
}

/*
 * Print the line of a state that counts.
 *
 * Context: RCU and the list's lock, so that the state and its creator stay.
 */
static void show_state(struct seq_file *m, struct vperfctr_state *st)
{
	struct task_struct *task = any_thread(st);

	if (task && vperfctr_may_use(st))
		show_task(m, "thread", task, st->creator);
}

static void show_set(struct seq_file *m, const struct vperfctr_cpus_holder *holder)
{
	struct task_struct *task = pid_task(holder->pid, PIDTYPE_TGID);

	if (task && vperfctr_may_use_of(holder->cred))
		show_task(m, "cpus", task, holder->cred);
}

static const char *watchdog_text(unsigned int uses)
{
	if (!(uses & PERFCTR_PERF_KNOWN))
		return "unknown";
	if (uses & PERFCTR_PERF_WATCHDOG)
		return "holds";
	if (uses & PERFCTR_PERF_WAITS)
		return "waits";
	return uses & PERFCTR_PERF_KEPT ? "kept" : "none";
}

static const char *perf_text(unsigned int uses)
{
	if (!(uses & PERFCTR_PERF_KNOWN))
		return "unknown";
	if (uses & PERFCTR_PERF_EVENTS)
		return "holds";
	return uses & PERFCTR_PERF_IDLE ? "idle" : "none";
}

/* One reader at a time for a list: others that have states need the locks of the lists. */
static DEFINE_MUTEX(reader);

/* Text that does not fit is made again from the start, with more memory: do not go on then. */
static int show_list(struct seq_file *m, unsigned int i)
{
	struct vperfctr_state *st;

	if (mutex_lock_killable(&reader))
		return -EINTR;
	rcu_read_lock();
	spin_lock(&lists[i].lock);
	hlist_for_each_entry(st, &lists[i].head, holder) {
		if (seq_has_overflowed(m))
			break;
		show_state(m, st);
	}
	spin_unlock(&lists[i].lock);
	rcu_read_unlock();
	mutex_unlock(&reader);
	return 0;
}

static void show_sets(struct seq_file *m)
{
	const struct vperfctr_cpus_holder *holder;

	rcu_read_lock();
	spin_lock(&sets_lock);
	hlist_for_each_entry(holder, &sets, link) {
		if (seq_has_overflowed(m))
			break;
		show_set(m, holder);
	}
	spin_unlock(&sets_lock);
	rcu_read_unlock();
}

static int vperfctr_holders_show(struct seq_file *m, void *unused)
{
	unsigned int i, uses = perfctr_perf_uses();

	seq_printf(m, "watchdog: %s\nperf: %s\n%s%s", watchdog_text(uses), perf_text(uses),
		   perfctr_perf_keeps ? "perf_counters: kept\n" : "",
		   uses & PERFCTR_PERF_GUEST ? "guest: holds\n" : "");
	for (i = 0; i < ARRAY_SIZE(lists); i++) {
		if (show_list(m, i))
			return -EINTR;
		cond_resched();
	}
	show_sets(m);
	return 0;
}

/* Make /proc/vperfctr.  A failure is ignored: then the file is missing. */
void vperfctr_holders_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		spin_lock_init(&lists[i].lock);
	file = proc_create_single("vperfctr", 0444, NULL, vperfctr_holders_show);
}

/* Remove /proc/vperfctr, and wait for its readers. */
void vperfctr_holders_exit(void)
{
	proc_remove(file);
}
