// SPDX-License-Identifier: GPL-2.0
/*
 * Memory for the fork probe on PREEMPT_RT.
 *
 * The fork probe runs with interrupts disabled, where PREEMPT_RT allows no allocation.
 * So a child's state comes from a stock.  The irq_work that refills it runs in a real-time
 * thread of the same CPU, which preempts the parent when the probe ends.  The parent can
 * fork the next child when the stock is full again.  Where the parent has a higher
 * priority, or memory has to be reclaimed first, a worker on any CPU refills the stock.
 *
 * The stock exists while there are states whose control is inherited.
 */
#include <linux/bitops.h>
#include <linux/cpumask.h>
#include <linux/gfp.h>
#include <linux/irq_work.h>
#include <linux/irqflags.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "../alloc.h"
#include "../compat/workqueue.h"
#include "../state.h"
#include "../thread.h"

/* Enough for a burst by parents of high priority, until a worker has run. */
#define STOCK	(64 + 4 * num_possible_cpus())

/* The memory is zero except for this. */
struct spare {
	struct spare *next;
};

struct stock {
	raw_spinlock_t lock;
	struct spare *first;
	unsigned int nr;
	struct kmem_cache *cache;	/* NULL: of VPERFCTR_SPARE_SIZE bytes, by kfree() */
	void (*detach_work)(struct work_struct *work);	/* of states */
};

static struct stock states = { .lock = __RAW_SPIN_LOCK_UNLOCKED(states.lock) };
static struct stock small = { .lock = __RAW_SPIN_LOCK_UNLOCKED(small.lock) };

static DEFINE_MUTEX(users_mutex);
static unsigned int users;		/* states with STATE_SPARES; changed under users_mutex */

static void free_spare(const struct stock *stock, struct spare *spare)
{
	if (stock->cache)
		kmem_cache_free(stock->cache, spare);
	else
		kfree(spare);
}

/*
 * Add memory to a stock.
 *
 * Return: false if the stock has enough, or has no users any more.
 */
static bool add_spare(struct stock *stock, struct spare *spare)
{
	unsigned long flags;
	bool wanted;

	raw_spin_lock_irqsave(&stock->lock, flags);
	wanted = READ_ONCE(users) && stock->nr < STOCK;
	if (wanted) {
		spare->next = stock->first;
		stock->first = spare;
		WRITE_ONCE(stock->nr, stock->nr + 1);
	}
	raw_spin_unlock_irqrestore(&stock->lock, flags);
	return wanted;
}

/* Fill a stock.  Return: false if there is no memory now. */
static bool fill(struct stock *stock, gfp_t gfp)
{
	struct spare *spare;

	while (READ_ONCE(users) && READ_ONCE(stock->nr) < STOCK) {
		spare = stock->cache ? kmem_cache_zalloc(stock->cache, gfp) :
				       kzalloc(VPERFCTR_SPARE_SIZE, gfp);
		if (!spare)
			return false;
		/* A debug object needs memory, too. */
		if (stock == &states)
			INIT_WORK(&((struct vperfctr_state *)spare)->detach_work,
				  states.detach_work);
		if (!add_spare(stock, spare)) {
			free_spare(stock, spare);
			break;
		}
	}
	return true;
}

static bool fill_all(gfp_t gfp)
{
	return fill(&small, gfp) && fill(&states, gfp);
}

static void drain(struct stock *stock)
{
	struct spare *spare, *next;

	raw_spin_lock_irq(&stock->lock);
	spare = stock->first;
	stock->first = NULL;
	stock->nr = 0;
	raw_spin_unlock_irq(&stock->lock);
	for (; spare; spare = next) {
		next = spare->next;
		free_spare(stock, spare);
	}
}

static void refill_slowly(struct work_struct *work)
{
	fill_all(GFP_KERNEL | __GFP_NOWARN);
}

static DECLARE_WORK(refill_work, refill_slowly);

/*
 * Fill the stock at once, or else by a worker.
 *
 * Context: a real-time thread, in an RCU reader; it must not sleep.
 */
static void refill(struct irq_work *work)
{
	if (!fill_all(GFP_NOWAIT | __GFP_NOWARN))
		queue_work(system_dfl_wq, &refill_work);
}

static DEFINE_PER_CPU(struct irq_work, refill_works);

static void *take(struct stock *stock)
{
	struct spare *spare;
	unsigned long flags;
	unsigned int nr;

	raw_spin_lock_irqsave(&stock->lock, flags);
	spare = stock->first;
	if (spare) {
		stock->first = spare->next;
		WRITE_ONCE(stock->nr, stock->nr - 1);
		spare->next = NULL;
	}
	nr = stock->nr;
	raw_spin_unlock(&stock->lock);
	irq_work_queue(this_cpu_ptr(&refill_works));
	if (nr < STOCK / 2)
		queue_work(system_dfl_wq, &refill_work);
	local_irq_restore(flags);
	return spare;
}

/*
 * Take zeroed memory for a state from the stock.
 *
 * Context: any but NMI.
 * Return: the memory, or NULL if the stock is empty.
 */
void *vperfctr_spare_state(void)
{
	return take(&states);
}

/* Take VPERFCTR_SPARE_SIZE zeroed bytes, as vperfctr_spare_state() does: see vperfctr_zalloc(). */
void *vperfctr_spare(void)
{
	return take(&small);
}

/* Put back what vperfctr_spare() has returned, or has the same size. */
void vperfctr_unspare(void *spare)
{
	struct spare *s = spare;
	unsigned long flags;

	memset(spare, 0, VPERFCTR_SPARE_SIZE);
	raw_spin_lock_irqsave(&small.lock, flags);
	s->next = small.first;
	small.first = s;
	WRITE_ONCE(small.nr, small.nr + 1);
	raw_spin_unlock_irqrestore(&small.lock, flags);
}

/*
 * Let a worker fill the stock, so that no user's memory cgroup is charged for what all use.
 *
 * Return: false if a part of the stock is still empty.
 */
static bool fill_by_worker(void)
{
	if (READ_ONCE(states.nr) < STOCK / 2 || READ_ONCE(small.nr) < STOCK / 2) {
		queue_work(system_dfl_wq, &refill_work);
		flush_work(&refill_work);
	}
	return READ_ONCE(states.nr) && READ_ONCE(small.nr);
}

/* End a use of the stock; the last one frees it.  Context: users_mutex held. */
static void put_user_of_stock(void)
{
	WRITE_ONCE(users, users - 1);
	if (!users) {
		drain(&states);
		drain(&small);
	}
}

/*
 * Let there be a stock until vperfctr_put_spares(), or the state's end.
 *
 * Context: may sleep; calls for one state exclude each other.
 * Return: 0, or -ENOMEM.
 */
int vperfctr_get_spares(struct vperfctr_state *st)
{
	int err = 0;

	if (test_bit(STATE_SPARES, &st->bits))
		return 0;
	mutex_lock(&users_mutex);
	WRITE_ONCE(users, users + 1);
	if (fill_by_worker()) {
		set_bit(STATE_SPARES, &st->bits);
	} else {
		put_user_of_stock();
		err = -ENOMEM;
	}
	mutex_unlock(&users_mutex);
	return err;
}

/*
 * Give up the use of the stock for a family.
 *
 * Context: may sleep; calls for one state exclude each other; it has no members.
 */
void vperfctr_put_spares(struct vperfctr_state *st)
{
	if (!test_and_clear_bit(STATE_SPARES, &st->bits))
		return;
	mutex_lock(&users_mutex);
	put_user_of_stock();
	mutex_unlock(&users_mutex);
}

void vperfctr_spare_init(struct kmem_cache *cache, void (*detach_work)(struct work_struct *work))
{
	int cpu;

	states.cache = cache;
	states.detach_work = detach_work;
	for_each_possible_cpu(cpu)
		init_irq_work(per_cpu_ptr(&refill_works, cpu), refill);
}

/* Context: no states exist. */
void vperfctr_spare_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		irq_work_sync(per_cpu_ptr(&refill_works, cpu));
	cancel_work_sync(&refill_work);
	drain(&states);
	drain(&small);
}
