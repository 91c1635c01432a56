// SPDX-License-Identifier: GPL-2.0
/*
 * Store buffers: each pair of threads must see a weak outcome, or must not.  The first kind
 * fails, as the outcome is found.  `make check` expects that.
 */
#include "scenarios.h"

static int x, y, seen[2];
static unsigned int nr_ended;
static unsigned long bits;
static DEFINE_SPINLOCK(lock);

static void store_mb(void)
{
	WRITE_ONCE(x, 1);
	smp_mb();	/* the store first */
}

static void store_wmb(void)
{
	WRITE_ONCE(x, 1);
	smp_wmb();	/* the store first */
}

static void store_release(void)
{
	smp_store_release(&x, 1);	/* orders what is before it only */
}

static void store_unlock(void)
{
	raw_spin_lock(&lock);
	WRITE_ONCE(x, 1);
	raw_spin_unlock(&lock);
}

static void store_xchg(void)
{
	xchg(&x, 1);
}

static void store_bit(void)
{
	set_bit(0, &bits);
}

static void store_bit_mb(void)
{
	set_bit(0, &bits);
	smp_mb__after_atomic();	/* the store first */
}

static void __noreturn end(void)
{
	nr_ended++;
	sim_kthread_exit();
}

/* Store to one, load the other. */
static void buffer_x(void *arg)
{
	((void (*)(void))arg)();
	seen[0] = READ_ONCE(y);
	end();
}

static void buffer_y(void *arg)
{
	WRITE_ONCE(y, 1);
	smp_mb();	/* the store first */
	seen[1] = READ_ONCE(x) || READ_ONCE(bits);
	end();
	(void)arg;
}

/* Store both, and load both in the other order. */
static void pass(void *arg)
{
	((void (*)(void))arg)();
	smp_store_release(&y, 1);	/* after the other store */
	end();
}

static void pass_weakly(void *arg)
{
	((void (*)(void))arg)();
	WRITE_ONCE(y, 1);
	end();
}

static void receive(void *arg)
{
	seen[0] = !READ_ONCE(y);
	smp_rmb();	/* in this order */
	seen[1] = READ_ONCE(x);
	end();
	(void)arg;
}

static void run(void (*first)(void *), void (*store)(void), void (*second)(void *))
{
	sim_kthread("first", first, (void *)store, 0, 0);
	sim_kthread("second", second, NULL, 1, 0);
	while (nr_ended < 2)
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_require(seen[0] || seen[1], "both loads come before the stores");
}

static void store(void)
{
	WRITE_ONCE(x, 1);
}

#define LITMUS(name, first, store, second)	\
void name(void)					\
{						\
	run(first, store, second);		\
}

LITMUS(sim_weak_buffering, buffer_x, store, buffer_y)
LITMUS(sim_weak_buffering_wmb, buffer_x, store_wmb, buffer_y)
LITMUS(sim_weak_buffering_release, buffer_x, store_release, buffer_y)
LITMUS(sim_weak_buffering_unlock, buffer_x, store_unlock, buffer_y)
LITMUS(sim_weak_buffering_bit, buffer_x, store_bit, buffer_y)
LITMUS(sim_weak_message, pass_weakly, store, receive)
LITMUS(sim_strong_buffering_mb, buffer_x, store_mb, buffer_y)
LITMUS(sim_strong_buffering_xchg, buffer_x, store_xchg, buffer_y)
LITMUS(sim_strong_buffering_bit_mb, buffer_x, store_bit_mb, buffer_y)
LITMUS(sim_strong_message_wmb, pass_weakly, store_wmb, receive)
LITMUS(sim_strong_message_unlock, pass_weakly, store_unlock, receive)
LITMUS(sim_strong_message_release, pass, store, receive)
