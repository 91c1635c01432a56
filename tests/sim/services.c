// SPDX-License-Identifier: GPL-2.0
/* The kernel's services: memory, RCU, deferred work, users, files, and what NMIs need. */
#include <stdarg.h>
#include <stdlib.h>

#include "sim.h"
#include "cpu.h"

struct sim_failures sim_failures;
unsigned int tsc_khz = 2100000;

/* ---- memory -------------------------------------------------------------------- */

struct block {
	struct block *next, *prev;
	const char *file;
	int line;
	struct sim_task *caller;	/* not NULL: it must free this before its call returns */
	bool loaded;			/* existed when the module had been loaded */
	u64 magic;
};

#define MAGIC	0x5117b10c5117b10cULL
/* Memory that the module has not written has these bytes: kmalloc()'s, and variables (by gcc). */
#define GARBAGE	0xa5
#define GARBAGE_OF_STACK 0xfe

static struct block blocks = { &blocks, &blocks };

/* True if this fails, and the call that the task executes is to be repeated: see repeats(). */
bool sim_call_fails(bool *what)
{
	const struct sim_cpu *cpu = sim_this_cpu();

	if (!sim_failures.calls || !current->sim->may_fail || cpu->in_irq || cpu->in_nmi ||
	    cpu->irqs_off || cpu->preempt || !sim_choose(2, sim_failures.calls))
		return false;
	*what = true;
	return true;
}

/* True if something fails that needs memory. */
static unsigned int nr_bit_locks;	/* what is locked by a bit */

bool sim_bit_locked(bool now)
{
	nr_bit_locks += now;
	return !now;
}

void sim_bit_unlocked(void)
{
	sim_require(nr_bit_locks--, "a bit is unlocked that was not locked");
}

static bool has_lacked_memory;

bool sim_lacks_memory(void)
{
	bool lacks = (sim_failures.alloc && sim_choose(2, sim_failures.alloc)) ||
		     sim_call_fails(&current->sim->lacked_memory);

	has_lacked_memory |= lacks;
	return lacks;
}

/* The block's description lies before it, in a page of its own if it is one. */
void *sim_alloc(size_t size, gfp_t gfp, const char *file, int line)
{
	size_t before = size % PAGE_SIZE ? 64 : PAGE_SIZE;
	struct block *block;
	char *p;

	if (gfp & GFP_KERNEL)
		sim_might_sleep(file, line);
	else
		sim_step("allocate", file, line);
	sim_require(!sim_is_in_nmi(), "an allocation in an NMI");
	sim_require(gfp & (GFP_ATOMIC | GFP_KERNEL), "an allocation of no kind, at %s:%d", file, line);
	/* An atomic one fails easily, and users choose the size of a large one. */
	sim_require((gfp & __GFP_NOWARN) || ((gfp & GFP_KERNEL) && size <= 8 * PAGE_SIZE),
		    "the kernel logs it if there is no memory, at %s:%d", file, line);
	sim_drain();
	if (sim_lacks_memory() || ((gfp & __GFP_ACCOUNT) && sim_failures.charge)) {
		current->sim->charge_failed |= !!(gfp & __GFP_ACCOUNT);
		return NULL;
	}
	p = aligned_alloc(before, (size + before + before - 1) / before * before);
	sim_require(p, "the host has no memory");
	sim_forget_lines(p, size + before);
	memset(p + before, gfp & __GFP_ZERO ? 0 : GARBAGE, size);
	block = (struct block *)(p + before) - 1;
	*block = (struct block) { &blocks, blocks.prev, file, line, .magic = MAGIC ^ before };
	/* A call that fails to charge an allocation may make another one in this way. */
	if (current->sim->in_call && !current->sim->charge_failed && (gfp & (GFP_KERNEL | __GFP_ACCOUNT)) == GFP_KERNEL) {
		block->caller = current->sim;
		current->sim->not_charged++;
	}
	blocks.prev->next = block;
	blocks.prev = block;
	return p + before;
}

void sim_free(const void *p)
{
	struct block *block;
	size_t before;

	if (!p)
		return;
	block = (struct block *)p - 1;
	SIM_STEP("free");
	sim_drain();
	before = block->magic ^ MAGIC;
	sim_require(before == 64 || before == PAGE_SIZE, "what was not allocated is freed");
	if (block->caller)
		block->caller->not_charged--;
	block->next->prev = block->prev;
	block->prev->next = block->next;
	block->magic = 0;
	free((char *)p - before);
}

/* The memory that a call leaves is charged to the caller's memory cgroup. */
void sim_check_charged(void)
{
	const struct block *block;

	if (!current->sim->not_charged)
		return;
	for (block = blocks.next; block->caller != current->sim; block = block->next)
		;
	sim_fail("memory of %s:%d is not charged to the caller", strrchr(block->file, '/') + 1, block->line);
}

/* There is one PID namespace, so that a count is enough. */
static unsigned int pid_ns_refs;

struct pid_namespace *get_pid_ns(struct pid_namespace *ns)
{
	SIM_STEP("get_pid_ns");
	pid_ns_refs++;
	return ns;
}

void put_pid_ns(struct pid_namespace *ns)
{
	(void)ns;
	SIM_STEP("put_pid_ns");
	pid_ns_refs--;
}

static void check_no_leaks(void)
{
	const struct block *block = blocks.next;

	if (block != &blocks)
		sim_fail("memory of %s:%d is not freed", strrchr(block->file, '/') + 1, block->line);
	sim_require(!pid_ns_refs, "%u references to PID namespaces are not put", pid_ns_refs);
}

struct kmem_cache {
	size_t size;
	gfp_t gfp;
};

struct kmem_cache *sim_cache_create(size_t size, gfp_t gfp)
{
	struct kmem_cache *cache = kmalloc(sizeof(*cache), GFP_KERNEL);

	if (cache)
		*cache = (struct kmem_cache) { size, gfp };
	return cache;
}

void *sim_vmalloc(size_t size, gfp_t gfp, const char *file, int line)
{
	sim_costs.large_allocs++;
	return sim_alloc(size, gfp, file, line);
}

void *sim_cache_alloc(const struct kmem_cache *cache, gfp_t gfp, const char *file, int line)
{
	sim_costs.states++;
	return sim_alloc(cache->size, cache->gfp | gfp, file, line);
}

void kmem_cache_destroy(struct kmem_cache *cache)
{
	kfree(cache);
}

/*
 * User space may delay a fault for as long as it likes, by userfaultfd or a file of FUSE.  Others
 * who want the lock would wait for that.  Where no fault is handled, nothing waits.
 */
static void check_locks(void)
{
	const struct sim_task *t = current->sim;

	sim_require(!t->mutexes.n || t->no_faults || irqs_disabled() || sim_this_cpu()->in_irq,
		    "an access to user memory with the mutex %s", t->mutexes.lock[0]->name);
}

bool sim_user_write(const void *p, size_t size)
{
	(void)size;
	check_locks();
	SIM_STEP("user memory");
	if (!sim_is_user_address(p))
		return false;
	return (!sim_failures.fault || !sim_choose(2, sim_failures.fault)) &&
	       !sim_call_fails(&current->sim->faulted);
}

/*
 * A caller's other thread may change memory between two reads of it: what a call has checked
 * in the first one need not be in the second.  Samples read the stack of a thread where
 * interrupts are disabled, whatever call it is in.
 */
static void note_read(struct sim_task *t, unsigned long begin, unsigned long end)
{
	struct sim_range *r;

	for (r = t->reads; r < t->reads + t->nr_reads; r++)
		sim_require(begin >= r->end || end <= r->begin,
			    "a call reads %lu bytes of user memory twice", min(end, r->end) - max(begin, r->begin));
	if (t->nr_reads && r[-1].end == begin) {
		r[-1].end = end;
		return;
	}
	sim_require(t->nr_reads < SIM_MAX_READS, "a call reads too many pieces of user memory");
	*r = (struct sim_range) { begin, end };
	t->nr_reads++;
}

bool sim_user_read(const void *p, size_t size)
{
	if (!sim_user_write(p, size))
		return false;
	if (current->sim->in_call && !irqs_disabled() && !sim_this_cpu()->in_irq)
		note_read(current->sim, (unsigned long)p, (unsigned long)p + size);
	return true;
}

/* The kernel may be about to change that memory where it has disabled interrupts. */
bool sim_user_access_begin(const void *p)
{
	const struct sim_cpu *cpu = sim_this_cpu();

	sim_require(!cpu->in_nmi || !cpu->irqs_off, "an NMI reads user memory where interrupts are disabled");
	sim_require(!current->sim->exec_failed, "reads the memory of a program that may give privileges");
	if (!sim_is_user_address(p) || sim_call_fails(&current->sim->faulted))
		return false;
	current->sim->user_access++;	/* an interrupt may begin one in another */
	return true;
}

void sim_user_access_end(void)
{
	sim_check_user_access();
	current->sim->user_access--;
}

void sim_check_user_access(void)
{
	sim_require(current->sim->user_access, "an access to user memory that has not begun");
}

unsigned long copy_from_user(void *to, const void *from, size_t n)
{
	might_sleep();
	if (!sim_user_read(from, n))
		return n;
	memcpy(to, from, n);
	return 0;
}

bool sim_shows_garbage;

void sim_check_garbage(const void *p, size_t size)
{
	const u32 *word = p, *end = word + size / sizeof(*word);

	if (sim_shows_garbage)
		return;
	for (; word < end; word++)
		sim_require(*word != GARBAGE * 0x01010101U && *word != GARBAGE_OF_STACK * 0x01010101U,
			    "byte %zu of %zu for user space has not been written",
			    (const char *)word - (const char *)p, size);
}

unsigned long copy_to_user(void *to, const void *from, size_t n)
{
	might_sleep();
	sim_check_garbage(from, n);
	if (!sim_user_write(to, n))
		return n;
	memcpy(to, from, n);
	return 0;
}

unsigned long clear_user(void *to, size_t n)
{
	might_sleep();
	if (!sim_user_write(to, n))
		return n;
	memset(to, 0, n);
	return 0;
}

int copy_struct_from_user(void *to, size_t ksize, const void *from, size_t usize)
{
	size_t i;

	might_sleep();
	if (!sim_user_read(from, usize))
		return -EFAULT;
	for (i = ksize; i < usize; i++) {
		if (((const char *)from)[i])
			return -E2BIG;
	}
	memset(to, 0, ksize);
	memcpy(to, from, min(ksize, usize));
	return 0;
}

/* ---- CPU masks --------------------------------------------------------------------- */

bool cpumask_test_and_clear_cpu(unsigned int cpu, struct cpumask *m)
{
	bool was;

	SIM_STEP("clear a CPU's bit");
	sim_drain();
	was = m->bits[SIM_WORD(cpu)] >> SIM_BIT(cpu) & 1;
	m->bits[SIM_WORD(cpu)] &= ~BIT(SIM_BIT(cpu));
	return was;
}

unsigned int cpumask_next(int cpu, const struct cpumask *m)
{
	unsigned int n;

	SIM_STEP("read a mask of CPUs");
	for (n = cpu + 1; n < nr_cpu_ids; n++) {
		if (m->bits[SIM_WORD(n)] >> SIM_BIT(n) & 1)
			break;
	}
	return n;
}

unsigned int cpumask_weight(const struct cpumask *m)
{
	unsigned int cpu, weight = 0;

	for_each_cpu(cpu, m)
		weight++;
	return weight;
}

bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(a->bits); i++) {
		if (a->bits[i] & b->bits[i])
			return true;
	}
	return false;
}

bool alloc_cpumask_var(cpumask_var_t *m, unsigned int gfp)
{
	*m = kzalloc(sizeof(**m), gfp);
	return *m;
}

void free_cpumask_var(cpumask_var_t m)
{
	kfree(m);
}

int cpulist_parse(const char *list, struct cpumask *m)
{
	cpumask_clear(m);
	/* A list of one CPU is enough. */
	if (list[0] >= '0' && list[0] <= '9' && !list[1])
		cpumask_set_cpu(list[0] - '0', m);
	else if (*list)
		return -EINVAL;
	return 0;
}

const struct cpumask *topology_sibling_cpumask(unsigned int cpu)
{
	static struct cpumask masks[NR_CPUS];

	masks[cpu].bits[SIM_WORD(cpu)] = BIT(SIM_BIT(cpu));
	if (cpu < BITS_PER_LONG && (sim_processor.siblings & BIT(cpu)))
		masks[cpu].bits[0] = sim_processor.siblings & cpu_online_mask->bits[0];
	return &masks[cpu];
}

/* ---- RCU ------------------------------------------------------------------------------ */

static struct rcu_head *rcu_list;
static bool rcu_due;

void rcu_read_lock(void)
{
	if (!current->sim->rcu_depth++)
		current->sim->rcu_step = sim_steps;
	SIM_STEP("rcu_read_lock");
}

void rcu_read_unlock(void)
{
	SIM_STEP("rcu_read_unlock");
	sim_require(current->sim->rcu_depth, "rcu_read_unlock() without rcu_read_lock()");
	current->sim->rcu_depth--;
}

static void add_rcu(struct rcu_head *rcu)
{
	struct rcu_head **p;

	rcu->next = NULL;
	rcu->step = sim_steps;
	for (p = &rcu_list; *p; p = &(*p)->next)
		;
	*p = rcu;
}

void call_rcu(struct rcu_head *rcu, void (*func)(struct rcu_head *))
{
	rcu->func = func;
	add_rcu(rcu);
}

void sim_kfree_rcu(struct rcu_head *rcu, void *p)
{
	rcu->func = NULL;
	rcu->free = p;
	add_rcu(rcu);
}

/* True if all readers of that step have ended. */
static bool has_grace_period(u64 step)
{
	const struct sim_task *t;
	unsigned int n;

	for (n = 0; n < nr_cpu_ids; n++) {
		const struct sim_cpu *cpu = &sim_cpus[n];

		if (!cpu->curr || cpu->quiet_step > step)
			continue;
		/* An idle CPU, or one that waits, is in no reader unless it is marked so. */
		if (cpu->preempt || cpu->irqs_off || !cpu->wait)
			return false;
	}
	for (t = sim_unparked; t; t = t->next_unparked) {
		if (t->rcu_depth && t->rcu_step <= step)
			return false;
	}
	return true;
}

void sim_rcu_poll(void)
{
	rcu_due = rcu_list && has_grace_period(rcu_list->step);
	/* Each CPU has been through a barrier. */
	if (rcu_due)
		sim_drain_all();
}

bool sim_rcu_due(void)
{
	return rcu_due;
}

void sim_rcu_process(void)
{
	struct rcu_head *rcu;

	while (rcu_due) {
		rcu = rcu_list;
		rcu_list = rcu->next;
		rcu_due = false;
		if (rcu->func)
			rcu->func(rcu);
		else
			kfree(rcu->free);
	}
}

struct rcu_waiter { struct rcu_head rcu; bool done; };

static void wake_rcu_waiter(struct rcu_head *rcu)
{
	container_of(rcu, struct rcu_waiter, rcu)->done = true;
	sim_wake_up(rcu);
}

/* Callbacks are called in order. */
void synchronize_rcu(void)
{
	struct rcu_waiter waiter = { .done = false };

	might_sleep();
	call_rcu(&waiter.rcu, wake_rcu_waiter);
	while (!waiter.done)
		sim_sleep_on(&waiter.rcu, 0);
}

static bool any_holdout(void)
{
	const struct task_struct *task;

	for (task = sim_tasks; task && !task->sim->holdout; task = task->next_task)
		;
	return task;
}

/* Wait until each task has slept by itself, or has been in user mode.  One caller at a time. */
void synchronize_rcu_tasks(void)
{
	struct task_struct *task;

	synchronize_rcu();
	for (task = sim_tasks; task; task = task->next_task)
		task->sim->holdout = task != current && task->sim->state == SIM_RUNNABLE &&
				     !task->sim->regs.user && !(task->flags & PF_IDLE);
	while (any_holdout())
		sim_sleep_on(NULL, sim_ns() + 1000);
}

void rcu_barrier(void)
{
	synchronize_rcu();
}

/* ---- work queues ----------------------------------------------------------------------- */

#define NR_WORKERS	2

struct workqueue_struct {
	struct work_struct *list;
	struct work_struct *last;	/* NULL: not known */
	struct work_struct *now[NR_WORKERS];	/* those that run, which may have been freed */
	unsigned int running, workers;
	bool ends;
};

struct workqueue_struct *system_dfl_wq;
static struct delayed_work *delayed;

/* True if a worker of its queue runs it. */
static bool is_run(const struct work_struct *work)
{
	unsigned int i;

	for (i = 0; work->wq && i < NR_WORKERS; i++) {
		if (work->wq->now[i] == work)
			return true;
	}
	return false;
}

/* Take the first work that no other worker runs, which it would wait for.  Return: NULL: none. */
static struct work_struct *take_work(struct workqueue_struct *wq)
{
	struct work_struct **p = &wq->list, *work;

	while (*p && is_run(*p))
		p = &(*p)->next;
	work = *p;
	if (work)
		*p = work->next;
	if (work == wq->last)
		wq->last = NULL;
	return work;
}

static void run_work(struct workqueue_struct *wq, struct work_struct *work)
{
	void (*func)(struct work_struct *) = work->func;
	const struct sim_context none = {};
	unsigned int i = 0;

	while (wq->now[i])
		i++;
	wq->now[i] = work;
	work->pending = false;
	wq->running++;
	SIM_STEP("a worker calls");
	func(work);		/* may free the work */
	sim_check_context(&none, "a work");
	sim_drain();
	wq->running--;
	wq->now[i] = NULL;
	sim_wake_up(wq);
	sim_wake_up(work);
	if (wq->list)
		sim_wake_up(&wq->workers);
}

/* The key on which workers sleep differs from that of those who wait for them. */
static void worker(void *arg)
{
	struct workqueue_struct *wq = arg;
	struct work_struct *work;

	while (!wq->ends || wq->list) {
		work = take_work(wq);
		if (work)
			run_work(wq, work);
		else
			sim_sleep_on(&wq->workers, 0);
	}
	wq->workers--;
	sim_wake_up(wq);
	sim_kthread_exit();
}

struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int max)
{
	struct workqueue_struct *wq = kzalloc(sizeof(*wq), GFP_KERNEL);
	unsigned int i;

	(void)flags;
	(void)max;
	if (!wq)
		return NULL;
	for (i = 0; i < NR_WORKERS; i++) {
		wq->workers++;
		sim_kthread(name, worker, wq, -1, 0);
	}
	return wq;
}

bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	struct work_struct **p;

	sim_require(!sim_is_in_nmi(), "queue_work() in an NMI");
	SIM_STEP("queue_work");
	sim_drain();
	sim_require(work->func, "a work is not initialized");
	if (work->pending)
		return false;
	work->pending = true;
	work->wq = wq;
	work->next = NULL;
	for (p = wq->last ? &wq->last->next : &wq->list; *p; p = &(*p)->next)
		;
	*p = work;
	wq->last = work;
	sim_wake_up(&wq->workers);
	return true;
}

static void run_pinned(void *arg)
{
	struct work_struct *work = arg;

	/* It never runs twice at a time. */
	while (work->busy)
		sim_sleep_on(NULL, sim_ns() + 1000);
	work->busy = true;
	work->pending = false;
	work->func(work);
	work->busy = false;
	work->running--;
	sim_wake_up(work);
	sim_kthread_exit();
}

bool schedule_work_on(unsigned int cpu, struct work_struct *work)
{
	SIM_STEP("schedule_work_on");
	if (work->pending)
		return false;
	work->pending = true;
	work->running++;
	sim_kthread("kworker", run_pinned, work, cpu, 0);
	return true;
}

bool flush_work(struct work_struct *work)
{
	might_sleep();
	while (work->pending || work->running || is_run(work))
		sim_sleep_until(work, sim_ns() + NSEC_PER_SEC);
	return true;
}

bool cancel_work_sync(struct work_struct *work)
{
	struct work_struct **p;
	bool was;

	might_sleep();
	SIM_STEP("cancel_work_sync");
	was = work->pending;
	/* One of a CPU is executed all the same: see run_pinned(). */
	if (was && work->wq) {
		for (p = &work->wq->list; *p != work; p = &(*p)->next)
			;
		*p = work->next;
		work->wq->last = NULL;
		work->pending = false;
	}
	flush_work(work);
	return was;
}

static struct work_struct *last_work(struct workqueue_struct *wq)
{
	struct work_struct *work = wq->list;

	while (work && work->next)
		work = work->next;
	return work;
}

void flush_workqueue(struct workqueue_struct *wq)
{
	might_sleep();
	/* Waits for more than it must, if works are added all the time. */
	while (last_work(wq) || wq->running)
		sim_sleep_until(wq, sim_ns() + NSEC_PER_SEC);
}

void destroy_workqueue(struct workqueue_struct *wq)
{
	flush_workqueue(wq);
	wq->ends = true;
	sim_wake_up(&wq->workers);
	while (wq->workers)
		sim_sleep_on(wq, 0);
	kfree(wq);
}

bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work, unsigned long delay)
{
	bool was = work->armed;

	SIM_STEP("mod_delayed_work");
	work->work.wq = wq;
	work->expires = sim_ns() + delay * (NSEC_PER_SEC / HZ);
	if (!work->armed) {
		work->armed = true;
		work->next = delayed;
		delayed = work;
	}
	return was;
}

bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work, unsigned long delay)
{
	return work->armed ? false : mod_delayed_work(wq, work, delay);
}

static void disarm(struct delayed_work *work)
{
	struct delayed_work **p = &delayed;

	if (!work->armed)
		return;
	while (*p != work)
		p = &(*p)->next;
	*p = work->next;
	work->armed = false;
}

/* Queue the delayed works whose time has come.  No step: any CPU calls this, anywhere. */
void sim_works_poll(void)
{
	struct delayed_work *work, *next;
	struct work_struct **p;

	for (work = delayed; work; work = next) {
		next = work->next;
		if (work->expires > sim_ns())
			continue;
		disarm(work);
		if (work->work.pending)
			continue;
		work->work.pending = true;
		work->work.next = NULL;
		for (p = &work->work.wq->list; *p; p = &(*p)->next)
			;
		*p = &work->work;
		sim_wake_key(&work->work.wq->workers);
	}
}

u64 sim_next_event(void)
{
	const struct delayed_work *work;
	u64 next = U64_MAX;

	for (work = delayed; work; work = work->next)
		next = min(next, work->expires);
	return next;
}

bool flush_delayed_work(struct delayed_work *work)
{
	might_sleep();
	if (work->armed) {
		mod_delayed_work(work->work.wq, work, 0);
		sim_works_poll();
	}
	if (work->work.wq)
		flush_workqueue(work->work.wq);
	return true;
}

/* One that is queued is executed here, as if it ran. */
bool cancel_delayed_work_sync(struct delayed_work *work)
{
	bool was = work->armed;

	might_sleep();
	do {
		disarm(work);
		if (work->work.wq)
			flush_workqueue(work->work.wq);
	} while (work->armed);
	return was;
}

void msleep(unsigned int msecs)
{
	might_sleep();
	sim_sleep_on(NULL, sim_ns() + msecs * NSEC_PER_MSEC);
}

long schedule_timeout_interruptible(long timeout)
{
	might_sleep();
	if (signal_pending(current))
		return timeout;
	current->sim->killable = true;
	sim_sleep_on(NULL, sim_ns() + timeout * (NSEC_PER_SEC / HZ));
	return 0;
}

long schedule_timeout_killable(long timeout)
{
	might_sleep();
	if (fatal_signal_pending(current))
		return timeout;
	current->sim->killable = true;
	sim_sleep_on(NULL, sim_ns() + timeout * (NSEC_PER_SEC / HZ));
	return 0;
}

/* ---- users ------------------------------------------------------------------------------- */

struct user_namespace init_user_ns;

bool perfmon_capable(void)
{
	bool capable = current->cred->perfmon && current->cred->user_ns == &init_user_ns;

	sim_costs.denials += !capable;
	current->sim->denied |= !capable;
	return capable;
}

/* The rules of cap_capable(): no user has one of the two capabilities only. */
bool ns_capable_noaudit(struct user_namespace *ns, int cap)
{
	const struct cred *cred = current->cred;

	sim_require(cap == CAP_PERFMON || cap == CAP_SYS_ADMIN, "another capability");
	SIM_STEP("ns_capable");
	for (; ns; ns = ns->parent) {
		if (ns == cred->user_ns)
			return cred->perfmon;
		if (ns->parent == cred->user_ns && uid_eq(ns->owner, cred->euid))
			return true;
	}
	return false;
}

const struct cred *get_current_cred(void)
{
	atomic_inc(&((struct cred *)current->cred)->usage);
	return current->cred;
}

const struct cred *get_cred_rcu(const struct cred *cred)
{
	return atomic_add_unless(&((struct cred *)cred)->usage, 1, 0) ? cred : NULL;
}

unsigned int sim_nr_creds;

static void free_cred(struct rcu_head *rcu)
{
	sim_nr_creds--;
	free(container_of(rcu, struct cred, rcu));
}

void put_cred(const struct cred *cred)
{
	struct cred *c = (struct cred *)cred;

	SIM_STEP("put_cred");
	sim_drain();
	sim_require(c->usage.counter > 0, "a reference to credentials is put that does not exist");
	if (--c->usage.counter)
		return;
	sim_not_realtime("credentials");
	call_rcu(&c->rcu, free_cred);
}

/* ---- CPU hotplug, seen by the module --------------------------------------------------------- */

int (*sim_cpuhp_startup)(unsigned int cpu), (*sim_cpuhp_teardown)(unsigned int cpu);
int (*sim_cpuhp_dying)(unsigned int cpu);	/* called with interrupts disabled */
int (*sim_cpuhp_dead)(unsigned int cpu);	/* called on another CPU */

static unsigned int hotplug_readers;
static bool hotplug_writer;

void cpus_read_lock(void)
{
	might_sleep();
	while (hotplug_writer)
		sim_sleep_on(&hotplug_writer, 0);
	hotplug_readers++;
}

void cpus_read_unlock(void)
{
	SIM_STEP("cpus_read_unlock");
	sim_require(hotplug_readers, "cpus_read_unlock() without cpus_read_lock()");
	hotplug_readers--;
	sim_wake_up(&hotplug_writer);
}

void sim_cpus_write_lock(void)
{
	might_sleep();
	while (hotplug_writer || hotplug_readers)
		sim_sleep_on(&hotplug_writer, 0);
	hotplug_writer = true;
}

void sim_cpus_write_unlock(void)
{
	hotplug_writer = false;
	sim_wake_up(&hotplug_writer);
}

struct callback { int (*func)(unsigned int cpu); unsigned int cpu; int err; };

static void call_callback(void *arg)
{
	struct callback *c = arg;

	c->err = c->func(c->cpu);
}

static int call_on_all(int (*func)(unsigned int cpu))
{
	struct callback c = { .func = func };

	for (c.cpu = 0; c.cpu < nr_cpu_ids && !c.err; c.cpu++) {
		if (fake_online[c.cpu])
			sim_run_on(c.cpu, call_callback, &c);
	}
	return c.err;
}

int cpuhp_setup_state(enum cpuhp_state state, const char *name,
		      int (*startup)(unsigned int cpu), int (*teardown)(unsigned int cpu))
{
	int err;

	if (sim_lacks_memory())
		return -ENOMEM;
	if (state == CPUHP_BP_PREPARE_DYN) {
		sim_require(name && !startup && !sim_cpuhp_dead, "a wrong hotplug state, or no name");
		sim_cpuhp_dead = teardown;
		return CPUHP_BP_PREPARE_DYN + 1;
	}
	if (state == CPUHP_AP_PERF_ARM_STARTING) {
		sim_require(name && !startup && !sim_cpuhp_dying, "a wrong callback, or no name");
		sim_cpuhp_dying = teardown;
		return 0;
	}
	sim_require(state == CPUHP_AP_ONLINE_DYN && name, "a wrong hotplug state, or no name");
	cpus_read_lock();
	err = call_on_all(startup);
	if (!err) {
		sim_cpuhp_startup = startup;
		sim_cpuhp_teardown = teardown;
	}
	cpus_read_unlock();
	return err ?: CPUHP_AP_ONLINE_DYN + 1;
}

void cpuhp_remove_state_nocalls(enum cpuhp_state state)
{
	cpus_read_lock();
	if (state == CPUHP_BP_PREPARE_DYN + 1) {
		sim_require(sim_cpuhp_dead, "a hotplug state that was not set up");
		sim_cpuhp_dead = NULL;
	} else if (state == CPUHP_AP_PERF_ARM_STARTING) {
		sim_require(sim_cpuhp_dying, "a hotplug state that was not set up");
		sim_cpuhp_dying = NULL;
	} else {
		sim_require(sim_cpuhp_startup, "a hotplug state that was not set up");
		sim_cpuhp_startup = NULL;
		sim_cpuhp_teardown = NULL;
	}
	cpus_read_unlock();
}

void cpuhp_remove_state(enum cpuhp_state state)
{
	int (*teardown)(unsigned int cpu) = sim_cpuhp_teardown;

	sim_require(state == CPUHP_AP_ONLINE_DYN + 1, "a hotplug state that was not set up");
	cpus_read_lock();
	sim_cpuhp_startup = NULL;
	sim_cpuhp_teardown = NULL;
	call_on_all(teardown);
	cpus_read_unlock();
}

/* The per-CPU threads.  Each ends when its CPU goes offline, and is made again then. */
static struct smp_hotplug_thread *smpboot;
static bool smpboot_stop[NR_CPUS];

static void smpboot_thread(void *arg)
{
	unsigned int cpu = (unsigned long)arg;

	smpboot->setup(cpu);
	while (!smpboot_stop[cpu]) {
		/* A wake-up after this ends the sleep below. */
		current->sim->woken = false;
		if (smpboot->thread_should_run(cpu))
			smpboot->thread_fn(cpu);
		else if (!smpboot_stop[cpu] && !current->sim->woken)
			sim_sleep_on(&smpboot_stop[cpu], 0);
	}
	if (smpboot->park)
		smpboot->park(cpu);
	if (smpboot->cleanup)
		smpboot->cleanup(cpu, true);
	smpboot_stop[cpu] = false;
	sim_wake_up(&smpboot_stop[cpu]);
	sim_kthread_exit();
}

/*
 * The kernel has one thread for each CPU, from the first time that it is online.  A caller may
 * wake an old one that it has seen before.
 */
static struct task_struct *old_threads;

static void retire_thread(unsigned int cpu)
{
	struct task_struct **store = per_cpu_ptr(smpboot->store, cpu);

	if (*store) {
		(*store)->next_thread = old_threads;
		old_threads = *store;
	}
	*store = NULL;
}

static void put_threads(void)
{
	struct task_struct *task;

	while ((task = old_threads)) {
		old_threads = task->next_thread;
		put_task_struct(task);
	}
}

void sim_smpboot_unpark(unsigned int cpu)
{
	struct task_struct **store;

	if (!smpboot)
		return;
	retire_thread(cpu);
	store = per_cpu_ptr(smpboot->store, cpu);
	*store = sim_kthread("vperfctr/N", smpboot_thread, (void *)(unsigned long)cpu, cpu, 1);
	get_task_struct(*store);
}

void sim_smpboot_park(unsigned int cpu)
{
	if (!smpboot)
		return;
	smpboot_stop[cpu] = true;
	sim_wake_up(&smpboot_stop[cpu]);
	while (smpboot_stop[cpu])
		sim_sleep_on(&smpboot_stop[cpu], 0);
}

int smpboot_register_percpu_thread(struct smp_hotplug_thread *thread)
{
	unsigned int cpu;

	if (sim_lacks_memory())
		return -ENOMEM;
	cpus_read_lock();
	smpboot = thread;
	for_each_online_cpu(cpu)
		sim_smpboot_unpark(cpu);
	cpus_read_unlock();
	return 0;
}

void smpboot_unregister_percpu_thread(struct smp_hotplug_thread *thread)
{
	unsigned int cpu;

	(void)thread;
	cpus_read_lock();
	for_each_online_cpu(cpu)
		sim_smpboot_park(cpu);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++)
		retire_thread(cpu);
	put_threads();
	smpboot = NULL;
	cpus_read_unlock();
}

void sched_set_fifo(struct task_struct *task)
{
	task->sim->priority = 1;
}

static struct syscore *syscore;

void register_syscore(struct syscore *s)
{
	syscore = s;
}

void unregister_syscore(struct syscore *s)
{
	sim_require(syscore == s, "a syscore that was not registered");
	syscore = NULL;
}

void sim_syscore_sleep(void)
{
	if (syscore)
		sim_require(!syscore->ops->suspend(syscore->data), "the system cannot sleep");
}

void sim_syscore_wake(void)
{
	if (syscore)
		syscore->ops->resume(syscore->data);
}

/* ---- tracepoints ---------------------------------------------------------------------------------- */

struct tracepoint sim_tp_exec = { "sched_process_exec", NULL };
struct tracepoint sim_tp_fork = { "sched_process_fork", NULL };
struct tracepoint sim_tp_exit = { "sched_process_exit", NULL };
struct tracepoint sim_tp_rename = { "task_rename", NULL };
struct tracepoint sim_tp_switch = { "sched_switch", NULL };

void for_each_kernel_tracepoint(void (*func)(struct tracepoint *tp, void *priv), void *priv)
{
	func(&sim_tp_exec, priv);
	func(&sim_tp_fork, priv);
	func(&sim_tp_exit, priv);
	func(&sim_tp_rename, priv);
	func(&sim_tp_switch, priv);
}

int tracepoint_probe_register(struct tracepoint *tp, void *probe, void *data)
{
	(void)data;
	might_sleep();
	sim_costs.patches++;
	if (sim_lacks_memory())
		return -ENOMEM;
	sim_require(!tp->func, "a probe is registered twice");
	tp->func = probe;
	return 0;
}

int tracepoint_probe_unregister(struct tracepoint *tp, void *probe, void *data)
{
	(void)data;
	might_sleep();
	sim_costs.patches++;
	sim_require(tp->func == probe, "a probe that was not registered");
	tp->func = NULL;
	return 0;
}

/* ---- kprobes -------------------------------------------------------------------------------------- */

static struct kprobe *the_probe;

int register_kprobe(struct kprobe *probe)
{
	might_sleep();
	sim_costs.patches++;
	sim_require(!the_probe, "a kprobe is registered twice");
	if (sim_processor.no_probe)
		return -ENOENT;
	the_probe = probe;
	return 0;
}

void unregister_kprobe(struct kprobe *probe)
{
	might_sleep();
	sim_costs.patches++;
	sim_require(the_probe == probe, "a kprobe that was not registered");
	the_probe = NULL;
}

int enable_kprobe(struct kprobe *probe)
{
	might_sleep();
	sim_require(the_probe == probe && (probe->flags & KPROBE_FLAG_DISABLED),
		    "a kprobe is enabled twice");
	if (sim_failures.probe)
		return -ENODEV;
	sim_costs.patches++;
	probe->flags &= ~KPROBE_FLAG_DISABLED;
	return 0;
}

int disable_kprobe(struct kprobe *probe)
{
	might_sleep();
	sim_costs.patches++;
	sim_require(the_probe == probe && !(probe->flags & KPROBE_FLAG_DISABLED),
		    "a kprobe is disabled twice");
	probe->flags |= KPROBE_FLAG_DISABLED;
	return 0;
}

/* The kernel tells perf of a mapping of current. */
void sim_tell_mapping(struct vm_area_struct *vma)
{
	struct pt_regs regs = { .argument = (unsigned long)vma };

	if (!the_probe || (the_probe->flags & KPROBE_FLAG_DISABLED))
		return;
	preempt_disable();
	sim_require(!the_probe->pre_handler(the_probe, &regs), "a kprobe leaves out what it has found");
	preempt_enable();
}

/* ---- the module ------------------------------------------------------------------------------------- */

static long module_users;
const struct file_operations *sim_device;

void __module_get(void *module)
{
	(void)module;
	SIM_STEP("__module_get");
	module_users++;
}

void module_put(void *module)
{
	(void)module;
	SIM_STEP("module_put");
	sim_require(module_users > 0, "a reference to the module is put that does not exist");
	module_users--;
}

int misc_register(struct miscdevice *misc)
{
	might_sleep();
	if (sim_lacks_memory())
		return -ENOMEM;
	sim_device = misc->fops;
	return 0;
}

void misc_deregister(struct miscdevice *misc)
{
	(void)misc;
	might_sleep();
	sim_device = NULL;
}

void sim_load_module(void)
{
	struct block *block;

	sim_module_is_gone = false;
	sim_require(!sim_module_init(), "the module cannot be loaded");
	for (block = blocks.next; block != &blocks; block = block->next)
		block->loaded = true;
}

static void wait_for_users(void)
{
	unsigned int i;

	for (i = 0; module_users && i < 10000; i++)
		msleep(1);
	sim_require(!module_users, "the module has %ld users for ever", module_users);
}

/*
 * Without users, the module comes to rest: it does nothing more, and has the memory that it had when
 * it was loaded.  An unload would hide what it has left.
 */
void sim_check_rest(void)
{
	const struct block *block;
	unsigned int i;

	wait_for_users();
	for (i = 0; delayed && i < 20; i++)
		msleep(1000);
	sim_require(!delayed, "a work is queued again and again, without users");
	rcu_barrier();
	msleep(10);
	sim_require(!sim_notifiers_on, "the notifiers' key is left on, without users");
	for (i = 0; i < nr_cpu_ids; i++)
		sim_require(!sim_cpus[i].timers && !sim_cpus[i].works,
			    "CPU %u has a timer or an irq_work, without users", i);
	/* A user's budget is freed when the next one uses its own. */
	for (block = blocks.next; block != &blocks; block = block->next)
		sim_require(block->loaded || strstr(block->file, "/stop-limit.c"),
			    "memory of %s:%d is not freed, without users",
			    strrchr(block->file, '/') + 1, block->line);
	sim_check_hardware_rests();
}

static void check_unloaded(void)
{
	unsigned int i;

	rcu_barrier();
	sim_require(!sim_notifiers_on, "the notifiers' key is left on");
	sim_require(!nr_bit_locks, "%u bits are left locked", nr_bit_locks);
	sim_require(!sim_cpuhp_startup && !sim_cpuhp_dying && !sim_cpuhp_dead && !syscore && !smpboot && !sim_device &&
		    !sim_tp_exec.func && !sim_tp_fork.func && !sim_tp_exit.func &&
		    !sim_tp_rename.func && !sim_tp_switch.func && !the_probe,
		    "something is left registered");
	sim_require(!hotplug_readers, "cpus_read_lock() is left locked");
	sim_require(!delayed && !system_dfl_wq->list && !system_dfl_wq->running,
		    "a work is left in the kernel's queue");
	for (i = 0; i < nr_cpu_ids; i++)
		sim_require(!sim_cpus[i].timers && !sim_cpus[i].works, "CPU %u has a timer or an irq_work", i);
	sim_check_hardware();
	check_no_leaks();
	rcu_barrier();
	sim_require(!sim_nr_creds && !sim_nr_mms && !sim_nr_files && !sim_nr_user_tasks,
		    "references are left: to %u credentials, %u mms, %u files, %u tasks",
		    sim_nr_creds, sim_nr_mms, sim_nr_files, sim_nr_user_tasks);
}

bool sim_module_is_gone;

/* Wait for the last reference, as rmmod would find the module in use, and check what is left. */
void sim_unload_module(void (*after)(void))
{
	wait_for_users();
	sim_module_exit();
	sim_module_is_gone = true;
	if (after)
		after();
	check_unloaded();
}

/*
 * Load the module while one of this many allocations fails.  Then the load fails, too, and leaves
 * nothing.
 */
void sim_try_to_load(unsigned int failures)
{
	int err;

	sim_failures.alloc = failures;
	has_lacked_memory = false;
	err = sim_module_init();
	sim_failures.alloc = 0;
	if (!err) {
		sim_require(!has_lacked_memory, "the module is loaded without the memory that it needs");
		sim_require(perfctr_cpu_info.nrctrs, "the module is loaded without counters");
		sim_unload_module(NULL);
		return;
	}
	sim_require(err == -ENOMEM, "the module cannot be loaded: %d", err);
	check_unloaded();
}

/* A module whose parameter is wrong leaves nothing behind. */
void sim_load_badly(void)
{
	static char list[] = "no list";
	int err;

	*sim_param_forbid_cpus = list;
	err = sim_module_init();
	sim_require(err == -EINVAL, "the module with a bad parameter is loaded: %d", err);
	check_unloaded();
}

struct sim_processor sim_processor;

/* The work queue of the kernel itself is no block of the module's. */
void sim_kernel_boot(void)
{
	static struct workqueue_struct wq;

	sim_processor.nmi_ns = sim_processor.nmi_ns ?: 400;
	sim_start_hardware();
	system_dfl_wq = &wq;
	wq.workers = 1;
	sim_kthread("kworker", worker, &wq, -1, 0);
	sim_start_init();
}
