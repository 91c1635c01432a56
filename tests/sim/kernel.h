/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's interface that the module uses, on the simulated machine: see README.md.
 * It is included ahead of each source file, whose kernel headers are empty.
 *
 * Accesses that other CPUs may see are steps, at which the simulation may continue on
 * another CPU, or deliver an interrupt.  A call in a wrong context fails the run.
 */
#ifndef SIM_KERNEL_H
#define SIM_KERNEL_H
#define FAKE_KERNEL_H	/* the model of the registers includes this file's twin */

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <sys/personality.h>
#include <sys/types.h>
#include <linux/errno.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;

/* ---- language ----------------------------------------------------------- */

#define __user
#define __init
#define __exit
#define __ro_after_init
#define __uninitialized			/* these have garbage, too: see the Makefile */
#ifdef SIM_ALIGNS
#define __read_mostly		__attribute__((__section__("sim_read_mostly")))	/* see cost.c */
#else
#define __read_mostly
#endif
/* Cache lines are those of the kernel in the build that counts them. */
#ifdef SIM_ALIGNS
#define ____cacheline_aligned	__attribute__((__aligned__(64)))
#else
#define ____cacheline_aligned
#endif
#define ____cacheline_aligned_in_smp ____cacheline_aligned
#undef __always_inline
#define __always_inline		inline __attribute__((__always_inline__))
#define __no_sanitize_undefined
#define __noreturn		__attribute__((__noreturn__))
#define noinline		__attribute__((__noinline__))
#define __maybe_unused		__attribute__((unused))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#undef static_assert
#define static_assert(cond)	_Static_assert(cond, #cond)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define container_of(p, type, member) ((type *)((char *)(p) - offsetof(type, member)))
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define struct_size(p, member, n) (sizeof(*(p)) + (n) * sizeof((p)->member[0]))
#define ALIGN(x, a)		(((x) + (a) - 1) / (a) * (a))
#define BITS_PER_LONG		(8 * __SIZEOF_LONG__)
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(h, l)	((~0ULL >> (63 - (h))) & (~0ULL << (l)))
#define GENMASK(h, l)		GENMASK_ULL(h, l)
#define U64_MAX			(~0ULL)
#define UINT_MAX		(~0U)
#define U16_MAX			0xffff
#define INT_MAX			__INT_MAX__
#define DIV_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define clamp(v, lo, hi)	max(min(v, hi), lo)
#define clamp_t(type, v, lo, hi) max_t(type, min_t(type, v, hi), lo)
#define roundup_pow_of_two(x)	(1UL << (64 - __builtin_clzll((u64)(x) - 1)))
#define ilog2(x)		(63 - __builtin_clzll(x))
#define is_power_of_2(x)	((x) && !((x) & ((x) - 1)))
#define hweight32(x)		((unsigned int)__builtin_popcount(x))
#define __ffs(x)		((unsigned int)__builtin_ctzl(x))
#define hweight64(x)		((unsigned int)__builtin_popcountll(x))
#define fls64(x)		((x) ? 64 - __builtin_clzll(x) : 0)
#define strscpy(to, from, size)	snprintf(to, size, "%s", from)
#define isdigit(c)		((c) >= '0' && (c) <= '9')
#define array_index_nospec(index, size) (index)
#define data_race(x)		(x)
#define barrier()		__asm__ volatile("" ::: "memory")
#define OPTIMIZER_HIDE_VAR(x)	__asm__ ("" : "+r"(x))
/* Not <stdio.h>, whose names the module has for its own functions. */
int snprintf(char *to, size_t size, const char *format, ...);
#define pr_warn(...)		((void)snprintf(NULL, 0, __VA_ARGS__))
#define pr_warn_once(...)	pr_warn(__VA_ARGS__)
#define pr_warn_ratelimited(...) pr_warn(__VA_ARGS__)
#define pr_err(...)		sim_fail("an error is logged: " __VA_ARGS__)
#define pr_info(...)		pr_warn(__VA_ARGS__)
#define DEFINE_RATELIMIT_STATE(name, interval, burst) int name = (burst)
#define __ratelimit(limit)	(*(limit))

#define CONFIG_SMP		1
#define THREAD_SIZE		(256 * BITS_PER_LONG)
#define CONFIG_PREEMPT_COUNT	1
#define CONFIG_KPROBES		1
#define CONFIG_HARDLOCKUP_DETECTOR_PERF 1
#define CONFIG_KCSAN		1
#define CONFIG_HAVE_FUNCTION_ARG_ACCESS_API 1
#define SIM_SECOND(a, b, ...)	b
#define SIM_ONE_1		0, 1
#define SIM_IS_ONE(x)		SIM_SECOND(x, 0, 0)
#define SIM_PASTE(x)		SIM_IS_ONE(SIM_ONE_##x)
#define IS_ENABLED(option)	SIM_PASTE(option)

/* End the run as failed. */
#define sim_fail(...)		sim_failed(__FILE__, __LINE__, __VA_ARGS__)
void sim_failed(const char *file, int line, const char *format, ...)
	__attribute__((__noreturn__, __format__(__printf__, 3, 4)));

#define sim_require(cond, ...)		\
do {					\
	if (unlikely(!(cond)))		\
		sim_fail(__VA_ARGS__);	\
} while (0)

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rem)
{
	*rem = a % b;
	return a / b;
}

static inline u32 hash_32(u32 x, unsigned int bits)
{
	return (x * 0x61c88647U) >> (32 - bits);
}

static inline u32 hash_ptr(const void *p, unsigned int bits)
{
	return (u32)(((u64)(unsigned long)p * 0x61c8864680b583ebULL) >> (64 - bits));
}

#define ERR_PTR(err)		((void *)(long)(err))
#define PTR_ERR(p)		((long)(p))
#define IS_ERR(p)		((unsigned long)(p) >= (unsigned long)-4095)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))
#define ERR_CAST(p)		((void *)(p))
#define PTR_ERR_OR_ZERO(p)	(IS_ERR(p) ? PTR_ERR(p) : 0)
#define ERESTARTSYS		512

/* ---- steps -------------------------------------------------------------- */

/* The simulation may go on elsewhere here.  `what` is for the story of a failed run. */
void sim_step(const char *what, const char *file, int line);
#define SIM_STEP(what)		sim_step(what, __FILE__, __LINE__)

/*
 * Store buffers, in stores.c.  A CPU's stores may stay there until it drains them.  Order:
 * the stores before are visible before those that follow.
 */
void sim_will_store(volatile void *p, size_t size);
void sim_will_change(volatile void *p, size_t size, u64 mask);
void sim_will_add(volatile void *p, size_t size, u64 n);
void sim_drain(void);
void sim_order_stores(void);
void sim_write_barrier(void);

/* A node has been unlinked there, or has become the first: see notifiers.c. */
void sim_notifiers_change(void *link);
void sim_first_notifier_change(void *head);

/* Plain accesses in between are marked ones: see access.c. */
void sim_count_atomic(int n);
#define kcsan_nestable_atomic_begin()	sim_count_atomic(1)
#define kcsan_nestable_atomic_end()	sim_count_atomic(-1)

#define READ_ONCE(x)	({ SIM_STEP("read " #x); *(const volatile __typeof__(x) *)&(x); })
#define WRITE_ONCE(x, v)						\
do {									\
	__typeof__(x) sim_value = (v);					\
	SIM_STEP("write " #x);						\
	sim_will_store(&(x), sizeof(x));				\
	*(volatile __typeof__(x) *)&(x) = sim_value;			\
} while (0)
#define smp_load_acquire(p)	READ_ONCE(*(p))
#define smp_store_release(p, v)						\
do {									\
	sim_order_stores();						\
	WRITE_ONCE(*(p), v);						\
	/* Only preempt notifiers are linked and unlinked so. */	\
	if (__builtin_types_compatible_p(__typeof__(*(p)), struct hlist_node *)) \
		sim_notifiers_change((void *)(p));			\
} while (0)
#define smp_store_mb(x, v)	do { WRITE_ONCE(x, v); smp_mb(); } while (0)
#define smp_mb()		({ SIM_STEP("smp_mb"); sim_drain(); })
#define smp_rmb()		SIM_STEP("smp_rmb")
#define smp_wmb()		({ SIM_STEP("smp_wmb"); sim_write_barrier(); })
#define smp_mb__before_atomic()	smp_mb()
#define smp_mb__after_atomic()	smp_mb()
/* One access: where plain accesses are steps, the parts of an atomic operation are none. */
#define SIM_ATOMIC(x)		(*(volatile __typeof__(x) *)&(x))
/* Operations that return a value are full barriers.  The others order nothing. */
#define cmpxchg(p, old, new)						\
({									\
	__typeof__(*(p)) sim_new = (new), sim_old = (old), sim_was;	\
	SIM_STEP("cmpxchg " #p);					\
	sim_drain();							\
	sim_was = SIM_ATOMIC(*(p));					\
	if (sim_was == sim_old)						\
		SIM_ATOMIC(*(p)) = sim_new;				\
	sim_was;							\
})
#define xchg(p, v)							\
({									\
	__typeof__(*(p)) sim_new = (v), sim_was;			\
	SIM_STEP("xchg " #p);						\
	sim_drain();							\
	sim_was = SIM_ATOMIC(*(p));					\
	SIM_ATOMIC(*(p)) = sim_new;					\
	sim_was;							\
})
void cpu_relax(void);

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter __attribute__((__aligned__(8))); } atomic64_t;
#define ATOMIC_INIT(n)		{ n }
#define ATOMIC64_INIT(v)	{ (v) }
#define atomic_read(v)		READ_ONCE((v)->counter)
#define atomic_read_acquire(v)	atomic_read(v)
#define atomic_set(v, n)	WRITE_ONCE((v)->counter, n)
#define atomic_add_return(n, v)	\
	({ SIM_STEP("atomic " #v); sim_drain(); SIM_ATOMIC((v)->counter) += (n); })
#define sim_atomic_add(n, v)						\
do {									\
	SIM_STEP("atomic " #v);						\
	sim_will_add(&(v)->counter, sizeof((v)->counter), (n));		\
	SIM_ATOMIC((v)->counter) += (n);				\
} while (0)
#define atomic_inc(v)		sim_atomic_add(1, v)
#define atomic_dec(v)		sim_atomic_add(-1, v)
#define atomic_sub(n, v)	sim_atomic_add(-(int)(n), v)
#define atomic_add(n, v)	sim_atomic_add((int)(n), v)
#define atomic_inc_return_release(v) ({ sim_order_stores(); sim_atomic_add(1, v); (v)->counter; })
#define atomic_dec_return(v)	atomic_add_return(-1, v)
#define atomic_dec_and_test(v)	(!atomic_add_return(-1, v))
#define atomic64_inc_return(v)	atomic_add_return(1, v)
#define atomic64_read(v)	atomic_read(v)
#define atomic64_read_acquire(v) atomic_read(v)
#define atomic64_set(v, n)	atomic_set(v, n)
#define atomic64_add(n, v)	sim_atomic_add(n, v)
#define atomic64_inc(v)	atomic64_add(1, v)
#define atomic64_xchg(v, n)	xchg(&(v)->counter, n)
#define atomic64_cmpxchg(v, old, new) cmpxchg(&(v)->counter, (s64)(old), (s64)(new))
#define atomic64_try_cmpxchg(v, old, new)				\
({									\
	s64 sim_want = *(old), sim_had = cmpxchg(&(v)->counter, sim_want, (s64)(new)); \
	*(old) = sim_had;						\
	sim_had == sim_want;						\
})
#define atomic_try_cmpxchg(v, old, new)					\
({									\
	int sim_want = *(old), sim_had = cmpxchg(&(v)->counter, sim_want, (int)(new)); \
	*(old) = sim_had;						\
	sim_had == sim_want;						\
})
#define atomic_add_unless(v, n, unless)					\
({									\
	bool sim_add;							\
	SIM_STEP("atomic " #v);						\
	sim_drain();							\
	sim_add = SIM_ATOMIC((v)->counter) != (unless);			\
	if (sim_add)							\
		SIM_ATOMIC((v)->counter) += (n);			\
	sim_add;							\
})

#define SIM_WORD(nr)		((nr) / BITS_PER_LONG)
#define SIM_BIT(nr)		((nr) % BITS_PER_LONG)
#define test_bit(nr, p)		(READ_ONCE((p)[SIM_WORD(nr)]) >> SIM_BIT(nr) & 1)
#define sim_change_bit(what, nr, p, op)					\
do {									\
	SIM_STEP(what #nr);						\
	sim_will_change(p, sizeof(*(p)), BIT(nr));			\
	SIM_ATOMIC(*(p)) op;						\
} while (0)
#define clear_bit_unlock(nr, p)	({ sim_order_stores(); clear_bit(SIM_BIT(nr), &(p)[SIM_WORD(nr)]); sim_bit_unlocked(); })
#define test_and_set_bit_lock(nr, p) sim_bit_locked(!test_and_set_bit(SIM_BIT(nr), &(p)[SIM_WORD(nr)]))
bool sim_bit_locked(bool now);		/* Return: it was before */
void sim_bit_unlocked(void);
#define set_bit(nr, p)		sim_change_bit("set ", nr, p, |= BIT(nr))
#define clear_bit(nr, p)	sim_change_bit("clear ", nr, p, &= ~BIT(nr))
#define change_bit(nr, p)	\
	sim_change_bit("change ", SIM_BIT(nr), &(p)[SIM_WORD(nr)], ^= BIT(SIM_BIT(nr)))
#define test_and_set_bit(nr, p)						\
({									\
	bool sim_was;							\
	SIM_STEP("set " #nr);						\
	sim_drain();							\
	sim_was = SIM_ATOMIC(*(p)) >> (nr) & 1;				\
	SIM_ATOMIC(*(p)) |= BIT(nr);					\
	sim_was;							\
})

typedef struct { atomic_t refs; } refcount_t;
#define REFCOUNT_INIT(n)	{ { (n) } }
#define refcount_read(r)	atomic_read(&(r)->refs)
#define refcount_set(r, n)	atomic_set(&(r)->refs, n)
#define refcount_inc(r)		sim_refcount_inc(r, __FILE__, __LINE__)
#define refcount_inc_not_zero(r) sim_refcount_add_unless(r, 1, 0, __FILE__, __LINE__)
#define refcount_dec_not_one(r)	sim_refcount_add_unless(r, -1, 1, __FILE__, __LINE__)
#define refcount_dec_and_test(r) sim_refcount_dec(r, __FILE__, __LINE__)
void sim_refcount_inc(refcount_t *r, const char *file, int line);
bool sim_refcount_dec(refcount_t *r, const char *file, int line);
bool sim_refcount_add_unless(refcount_t *r, int n, int unless, const char *file, int line);

/* ---- lists -------------------------------------------------------------- */

struct list_head { struct list_head *next, *prev; };
#define LIST_HEAD_INIT(head)	{ &(head), &(head) }
#define LIST_HEAD(head)		struct list_head head = LIST_HEAD_INIT(head)

/* Stores that the kernel marks with WRITE_ONCE(). */
#define sim_set_link(link, value)						\
do {										\
	kcsan_nestable_atomic_begin();						\
	(link) = (value);							\
	kcsan_nestable_atomic_end();						\
} while (0)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	sim_set_link(head->next, head);
	sim_set_link(head->prev, head);
}

static inline void sim_list_insert(struct list_head *new, struct list_head *prev,
				   struct list_head *next)
{
	sim_require(prev->next == next && next->prev == prev, "a list is corrupt");
	new->prev = prev;
	new->next = next;
	next->prev = new;
	sim_set_link(prev->next, new);
}

static inline void list_add(struct list_head *new, struct list_head *head)
{
	sim_list_insert(new, head, head->next);
}

static inline void list_add_tail(struct list_head *new, struct list_head *head)
{
	sim_list_insert(new, head->prev, head);
}

static inline void list_del(struct list_head *entry)
{
	sim_require(entry->next && entry->next->prev == entry && entry->prev->next == entry,
		    "an entry that is in no list is removed");
	entry->next->prev = entry->prev;
	sim_set_link(entry->prev->next, entry->next);
	entry->next = NULL;
	entry->prev = NULL;
}

/* A reader that has found the entry goes on behind it. */
static inline void list_del_rcu(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	sim_set_link(entry->prev->next, entry->next);
}

static inline void list_del_init(struct list_head *entry)
{
	sim_require(entry->next && entry->next->prev == entry && entry->prev->next == entry,
		    "an entry that is in no list is removed");
	entry->next->prev = entry->prev;
	sim_set_link(entry->prev->next, entry->next);
	INIT_LIST_HEAD(entry);
}

static inline void list_move(struct list_head *entry, struct list_head *head)
{
	list_del(entry);
	list_add(entry, head);
}

static inline void list_move_tail(struct list_head *entry, struct list_head *head)
{
	list_del(entry);
	list_add_tail(entry, head);
}

static inline void list_splice_init(struct list_head *list, struct list_head *head)
{
	if (list->next == list)
		return;
	list->next->prev = head;
	list->prev->next = head->next;
	head->next->prev = list->prev;
	head->next = list->next;
	INIT_LIST_HEAD(list);
}

#define list_entry(p, type, member) container_of(p, type, member)
#define list_empty(head)	(READ_ONCE((head)->next) == (head))
#define list_empty_careful(head) list_empty(head)
#define list_first_entry(head, type, member) container_of((head)->next, type, member)
#define list_first_entry_or_null(head, type, member) \
({										\
	struct list_head *sim_n = *(struct list_head *volatile *)&(head)->next;	\
	sim_n == (head) ? NULL : container_of(sim_n, type, member);		\
})
#define list_for_each_entry(pos, head, member)					\
	for (pos = container_of((head)->next, __typeof__(*pos), member);	\
	     &pos->member != (head);						\
	     pos = container_of(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_rcu(pos, head, member) list_for_each_entry(pos, head, member)
#define list_for_each_entry_safe(pos, n, head, member)				\
	for (pos = container_of((head)->next, __typeof__(*pos), member),	\
	     n = container_of(pos->member.next, __typeof__(*pos), member);	\
	     &pos->member != (head);						\
	     pos = n, n = container_of(pos->member.next, __typeof__(*pos), member))

struct hlist_node { struct hlist_node *next, **pprev; };
struct hlist_head { struct hlist_node *first; };

static inline void hlist_add_head(struct hlist_node *n, struct hlist_head *head)
{
	sim_set_link(n->next, head->first);
	if (n->next)
		sim_set_link(n->next->pprev, &n->next);
	sim_set_link(head->first, n);
	sim_set_link(n->pprev, &head->first);
	sim_first_notifier_change(head);
}

static inline void hlist_del(struct hlist_node *n)
{
	sim_require(n->pprev && *n->pprev == n, "an entry that is in no hlist is removed");
	sim_set_link(*n->pprev, n->next);
	if (n->next)
		sim_set_link(n->next->pprev, n->pprev);
	sim_first_notifier_change(n->pprev);
	n->pprev = NULL;
}

#define hlist_empty(head)		(!READ_ONCE((head)->first))
#define __hlist_del(n)			hlist_del(n)
#define hlist_add_head_rcu(n, head)	hlist_add_head(n, head)
#define hlist_del_rcu(n)		hlist_del(n)
#define hlist_entry(p, type, member)	container_of(p, type, member)
#define sim_hlist_entry(p, type, member) \
	({ struct hlist_node *sim_n = (p); sim_n ? container_of(sim_n, type, member) : NULL; })
#define hlist_for_each_entry(pos, head, member)					\
	for (pos = sim_hlist_entry(READ_ONCE((head)->first), __typeof__(*pos), member); pos; \
	     pos = sim_hlist_entry(READ_ONCE(pos->member.next), __typeof__(*pos), member))
#define hlist_for_each_entry_rcu(pos, head, member, ...) hlist_for_each_entry(pos, head, member)
#define hlist_for_each_entry_safe(pos, n, head, member)				\
	for (pos = sim_hlist_entry((head)->first, __typeof__(*pos), member);	\
	     pos && ({ n = pos->member.next; 1; });				\
	     pos = sim_hlist_entry(n, __typeof__(*pos), member))

/* ---- CPUs --------------------------------------------------------------- */

#ifndef NR_CPUS
#define NR_CPUS		1024
#endif
extern unsigned int nr_cpu_ids;

struct cpumask { unsigned long bits[DIV_ROUND_UP(NR_CPUS, BITS_PER_LONG)]; };
typedef struct cpumask *cpumask_var_t;

extern struct cpumask sim_online_mask, sim_possible_mask;
#define cpu_online_mask		(&sim_online_mask)
#define cpu_possible_mask	(&sim_possible_mask)
#define cpu_possible(cpu)	((cpu) < nr_cpu_ids)
#define cpumask_test_cpu(cpu, m) (READ_ONCE((m)->bits[SIM_WORD(cpu)]) >> SIM_BIT(cpu) & 1)
#define cpumask_set_cpu(cpu, m)	set_bit(SIM_BIT(cpu), &(m)->bits[SIM_WORD(cpu)])
#define cpumask_clear_cpu(cpu, m) clear_bit(SIM_BIT(cpu), &(m)->bits[SIM_WORD(cpu)])
#define cpumask_copy(to, from)	(*(to) = *(from))
#define cpumask_clear(m)	memset(m, 0, sizeof(*(m)))
bool cpumask_test_and_clear_cpu(unsigned int cpu, struct cpumask *m);
unsigned int cpumask_next(int cpu, const struct cpumask *m);
unsigned int cpumask_weight(const struct cpumask *m);
bool cpumask_intersects(const struct cpumask *a, const struct cpumask *b);
#define cpumask_first(m)	cpumask_next(-1, m)
#define cpumask_empty(m)	(cpumask_first(m) >= nr_cpu_ids)
bool alloc_cpumask_var(cpumask_var_t *m, unsigned int gfp);
void free_cpumask_var(cpumask_var_t m);
int cpulist_parse(const char *list, struct cpumask *m);
const struct cpumask *topology_sibling_cpumask(unsigned int cpu);

#define for_each_cpu(cpu, m)	\
	for ((cpu) = cpumask_first(m); (unsigned int)(cpu) < nr_cpu_ids; (cpu) = cpumask_next(cpu, m))
#define for_each_cpu_and(cpu, a, b)	\
	for_each_cpu(cpu, a)		\
		if (cpumask_test_cpu(cpu, b))
#define for_each_online_cpu(cpu)	for_each_cpu(cpu, cpu_online_mask)
#define for_each_possible_cpu(cpu)	for_each_cpu(cpu, cpu_possible_mask)

extern unsigned int sim_cpu;		/* the CPU that executes this step */
#define smp_processor_id()		sim_smp_processor_id()
#define raw_smp_processor_id()		sim_cpu
unsigned int sim_smp_processor_id(void);

/* The variables of all CPUs are copies of this section: see sim_boot(). */
#define SIM_PER_CPU			__attribute__((__section__("sim_percpu")))
#define DEFINE_PER_CPU(type, name)	type name SIM_PER_CPU
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name) ____cacheline_aligned
#define DECLARE_PER_CPU_ALIGNED(type, name) extern type name
#define WARN_ON_ONCE(condition)	({ sim_require(!(condition), "%s", #condition); false; })
void *sim_per_cpu(const volatile void *p, unsigned int cpu);
#define per_cpu_ptr(p, cpu)		((__typeof__(p))sim_per_cpu(p, cpu))
#define this_cpu_ptr(p)			per_cpu_ptr(p, smp_processor_id())
#define __this_cpu_read(var)		SIM_ATOMIC(*this_cpu_ptr(&(var)))
#define __this_cpu_write(var, value)	(SIM_ATOMIC(*this_cpu_ptr(&(var))) = (value))
#define __this_cpu_inc_return(var)	(++SIM_ATOMIC(*this_cpu_ptr(&(var))))

#define HARDIRQ_OFFSET		0x10000
#define preempt_count()		sim_preempt_count()
int sim_preempt_count(void);
#define preemptible()		(!sim_preempt_count() && !irqs_disabled())
void preempt_disable(void);
void preempt_enable(void);
void local_irq_disable(void);
void local_irq_enable(void);
bool sim_irq_save(void);
void sim_irq_restore(bool were_off);
bool irqs_disabled(void);
#define local_irq_save(flags)	((flags) = sim_irq_save())
#define local_irq_restore(flags) sim_irq_restore(flags)
#define lockdep_assert_irqs_disabled() sim_require(irqs_disabled(), "interrupts are enabled")
#define might_sleep()		sim_might_sleep(__FILE__, __LINE__)
void sim_might_sleep(const char *file, int line);
void cond_resched(void);

void on_each_cpu_cond(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg, int wait);
void on_each_cpu_cond_mask(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg,
			   int wait, const struct cpumask *mask);
void on_each_cpu_mask(const struct cpumask *mask, void (*func)(void *), void *arg, int wait);
int smp_call_function_single(int cpu, void (*func)(void *), void *arg, int wait);
int stop_machine(int (*func)(void *), void *arg, const struct cpumask *cpus);
void cpus_read_lock(void);
void cpus_read_unlock(void);

enum cpuhp_state {
	CPUHP_BP_PREPARE_DYN	= 100,
	CPUHP_AP_PERF_ARM_STARTING = 150,
	CPUHP_AP_ONLINE_DYN	= 200,
};
int cpuhp_setup_state(enum cpuhp_state state, const char *name,
		      int (*startup)(unsigned int cpu), int (*teardown)(unsigned int cpu));
void cpuhp_remove_state(enum cpuhp_state state);
void cpuhp_remove_state_nocalls(enum cpuhp_state state);

#define DECLARE_STATIC_CALL(name, func)	extern __typeof__(func) *static_call__##name
/* The kernel has the function's address in the code: access.c counts no cache line for it. */
#ifdef SIM_ALIGNS
#define SIM_IN_CODE		__attribute__((__section__("sim_in_code")))
#else
#define SIM_IN_CODE
#endif
#define DEFINE_STATIC_CALL(name, func)	__typeof__(func) *static_call__##name SIM_IN_CODE = func
#define static_call(name)		(*static_call__##name)
#define static_call_update(name, func)	(static_call__##name = (func))

#define NOTIFY_DONE		0
#define NOTIFY_OK		1
struct notifier_block {
	int (*notifier_call)(struct notifier_block *block, unsigned long action, void *data);
};
int register_reboot_notifier(struct notifier_block *block);
int unregister_reboot_notifier(struct notifier_block *block);

/* The registers that a task has, and what the drivers of this architecture use. */
#include "arch.h"

void pagefault_disable(void);
void pagefault_enable(void);
#define user_mode(regs)		((regs)->user)
/* A chain of calls in the kernel has that many, each 16 bytes below its caller. */
#define SIM_KERNEL_CALLS	5
#define instruction_pointer(regs) ((regs)->sim_ip)
struct pt_regs *get_irq_regs(void);

struct syscore_ops { int (*suspend)(void *data); void (*resume)(void *data); };
struct syscore { const struct syscore_ops *ops; void *data; };
void register_syscore(struct syscore *syscore);
void unregister_syscore(struct syscore *syscore);

/* ---- locks -------------------------------------------------------------- */

/* A class of locks is known by the place where they are initialized. */
struct sim_lock {
	const char *name;
	const void *owner;		/* NULL: free */
	unsigned int class;		/* 0: not known yet */
};

typedef struct sim_lock spinlock_t, raw_spinlock_t;
struct mutex { struct sim_lock l; };
#define SIM_LOCK_INIT(text)	{ .name = text }
#define __SPIN_LOCK_UNLOCKED(x)	SIM_LOCK_INIT(#x)
#define DEFINE_SPINLOCK(x)	spinlock_t x = SIM_LOCK_INIT(#x)
#define DEFINE_RAW_SPINLOCK(x)	DEFINE_SPINLOCK(x)
#define DEFINE_MUTEX(x)		struct mutex x = { SIM_LOCK_INIT(#x) }
#define spin_lock_init(lock)	(*(lock) = (struct sim_lock)SIM_LOCK_INIT(#lock))
#define raw_spin_lock_init(lock) spin_lock_init(lock)
#define mutex_init(m)		spin_lock_init(&(m)->l)
#define mutex_destroy(m)	sim_require(!(m)->l.owner, "a held mutex is destroyed")

void sim_spin_lock(struct sim_lock *lock, const char *file, int line);
void sim_spin_lock_nested(struct sim_lock *lock, unsigned int subclass, const char *file, int line);
void sim_spin_unlock(struct sim_lock *lock);
#define raw_spin_lock(lock)	sim_spin_lock(lock, __FILE__, __LINE__)
/* The order of two locks of one kind is checked by deadlocks only. */
#define SINGLE_DEPTH_NESTING	1
#define raw_spin_lock_nested(l, n) sim_spin_lock_nested(l, n, __FILE__, __LINE__)
/* The module tries until it has the lock. */
#define raw_spin_trylock(lock)	({ raw_spin_lock(lock); true; })
#define raw_spin_unlock(lock)	sim_spin_unlock(lock)
#define __acquires(lock)
#define raw_spin_lock_irq(lock)	({ local_irq_disable(); raw_spin_lock(lock); })
#define raw_spin_unlock_irq(lock) ({ raw_spin_unlock(lock); local_irq_enable(); })
#define raw_spin_lock_irqsave(lock, flags) ({ local_irq_save(flags); raw_spin_lock(lock); })
#define raw_spin_unlock_irqrestore(lock, flags) \
	({ raw_spin_unlock(lock); local_irq_restore(flags); })
#define spin_lock(lock)		raw_spin_lock(lock)
#define spin_unlock(lock)	raw_spin_unlock(lock)

void mutex_lock(struct mutex *m);
int mutex_lock_killable(struct mutex *m);
void mutex_unlock(struct mutex *m);
bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *m);

struct rw_semaphore { unsigned int readers; bool writer; };
#define DECLARE_RWSEM(name)	struct rw_semaphore name
#define rwsem_is_locked(s)	({ SIM_STEP("rwsem_is_locked"); (s)->readers || (s)->writer; })
void down_read(struct rw_semaphore *s);
void up_read(struct rw_semaphore *s);
void down_write(struct rw_semaphore *s);
void up_write(struct rw_semaphore *s);

typedef struct { unsigned int sequence; } seqcount_t;
#define seqcount_init(s)	((s)->sequence = 0)
/* The code between these may race, as it does for KCSAN: a reader repeats what it has read. */
#define raw_write_seqcount_begin(s) ({							\
	kcsan_nestable_atomic_begin();							\
	WRITE_ONCE((s)->sequence, (s)->sequence + 1);					\
	smp_wmb();									\
})
#define raw_write_seqcount_end(s) ({							\
	smp_wmb();									\
	WRITE_ONCE((s)->sequence, (s)->sequence + 1);					\
	kcsan_nestable_atomic_end();							\
})
unsigned int raw_read_seqcount_begin(const seqcount_t *s);
#define read_seqcount_retry(s, seq) ({							\
	kcsan_nestable_atomic_end();							\
	READ_ONCE((s)->sequence) != (seq);						\
})

struct rcu_head { struct rcu_head *next; void (*func)(struct rcu_head *rcu); u64 step; void *free; };
void rcu_read_lock(void);
void rcu_read_unlock(void);
void call_rcu(struct rcu_head *rcu, void (*func)(struct rcu_head *));
void sim_kfree_rcu(struct rcu_head *rcu, void *p);
#define kfree_rcu(p, member)	sim_kfree_rcu(&(p)->member, p)
void synchronize_rcu(void);
void synchronize_rcu_tasks(void);
void rcu_barrier(void);
#define rcu_access_pointer(p)	READ_ONCE(p)
#define rcu_dereference(p)	READ_ONCE(p)

typedef struct { int unused; } wait_queue_head_t;
struct file;
struct poll_table_struct;
#define DECLARE_WAIT_QUEUE_HEAD(w) wait_queue_head_t w
#define init_waitqueue_head(w)	((w)->unused = 0)
#define EPOLLIN			0x001
#define EPOLLERR		0x008
#define EPOLLRDNORM		0x040
#define EPOLLHUP		0x010
typedef unsigned int __poll_t;
void poll_wait(struct file *file, wait_queue_head_t *w, struct poll_table_struct *wait);
bool wq_has_sleeper(wait_queue_head_t *w);
void sim_wake_up(const void *key);
#define wake_up(w)		sim_wake_up(w)
#define wake_up_poll(w, events)	((void)(events), sim_wake_up(w))
#define TASK_UNINTERRUPTIBLE	2
#define wait_on_bit(word, bit, mode)						\
do {										\
	while (({ might_sleep(); test_bit(bit, word); })) {			\
		if (SIM_ATOMIC(*(word)) >> (bit) & 1)				\
			sim_sleep_on(word, 0);					\
	}									\
} while (0)
#define clear_and_wake_up_bit(bit, word) \
	({ sim_order_stores(); clear_bit(bit, word); smp_mb(); sim_wake_up(word); })
#define wait_event_timeout(w, cond, timeout)					\
do {										\
	u64 sim_until = sim_ns() + (u64)(timeout) * (1000000000 / HZ);		\
	might_sleep();								\
	while (sim_prepare_to_wait(&(w)), !(cond) && sim_ns() < sim_until)	\
		sim_wait_prepared(sim_until);					\
	sim_finish_wait();							\
} while (0)
/* A wake-up that comes after this, and before the sleep, ends the sleep at once. */
void sim_prepare_to_wait(const void *key);
void sim_wait_prepared(u64 until);
void sim_finish_wait(void);
void sim_sleep_on(const void *key, u64 until);
/* The condition may have been reported between its check and the sleep: sleep shortly. */
void sim_sleep_until(const void *key, u64 until);

/* ---- time --------------------------------------------------------------- */

#define HZ			250
#define NSEC_PER_SEC		1000000000LL
#define NSEC_PER_MSEC		1000000LL
typedef s64 ktime_t;
typedef u64 cycles_t;
u64 sim_ns(void);
cycles_t get_cycles(void);
extern unsigned int tsc_khz;
#define INITIAL_JIFFIES		((unsigned long)(unsigned int)(-300 * HZ))
#define jiffies			((unsigned long)(sim_ns() / (NSEC_PER_SEC / HZ)) + INITIAL_JIFFIES)
#define nsecs_to_jiffies(ns)	((unsigned long)((ns) / (NSEC_PER_SEC / HZ)))
#define ns_to_ktime(ns)		((ktime_t)(ns))
#define ktime_get_ns()		sim_ns()
#define ktime_get()		((ktime_t)sim_ns())
#define ktime_add_ns(time, ns)	((ktime_t)((time) + (ns)))
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define time_after(a, b)	time_before(b, a)
#define time_before64(a, b)	((s64)((a) - (b)) < 0)
#define time_in_range_open(a, b, c)	(!time_before(a, b) && time_before(a, c))
#define time_after64(a, b)	((s64)((b) - (a)) < 0)
#define get_jiffies_64()	((u64)(sim_ns() / (NSEC_PER_SEC / HZ)) + INITIAL_JIFFIES)
void msleep(unsigned int msecs);
/* A thousandth of the time, in which other tasks make some hundred steps. */
/* A thousandth of the time: other CPUs take a step in each ten nanoseconds. */
#define usleep_range(min, max)	({ might_sleep(); sim_sleep_on(NULL, sim_ns() + (min)); })
long schedule_timeout_interruptible(long timeout);
long schedule_timeout_killable(long timeout);

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_REL_PINNED_HARD, HRTIMER_MODE_ABS_PINNED_HARD };
#undef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC		1
struct hrtimer_cpu_base { unsigned int cpu; };
struct hrtimer_clock_base { struct hrtimer_cpu_base *cpu_base; };
struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	struct hrtimer *next;
	u64 expires;
	struct hrtimer_clock_base *base;
	bool queued, running;
};
void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*func)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode);
void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode);
bool hrtimer_is_queued(struct hrtimer *timer);
#define hrtimer_get_expires(timer)	((ktime_t)(timer)->expires)
u64 hrtimer_forward_now(struct hrtimer *timer, ktime_t interval);
int hrtimer_cancel(struct hrtimer *timer);

/* ---- deferred work ------------------------------------------------------ */

struct irq_work {
	void (*func)(struct irq_work *work);
	struct irq_work *next;
	bool pending, busy;
};
#define IRQ_WORK_INIT_HARD(f)	((struct irq_work) { .func = (f) })
void init_irq_work(struct irq_work *work, void (*func)(struct irq_work *));
bool irq_work_queue(struct irq_work *work);
void irq_work_sync(struct irq_work *work);
void irq_work_run(void);

struct workqueue_struct;
struct work_struct {
	void (*func)(struct work_struct *work);
	struct work_struct *next;
	struct workqueue_struct *wq;
	int cpu;			/* -1: any */
	bool pending, busy;
	unsigned int running;
};
struct delayed_work { struct work_struct work; struct delayed_work *next; u64 expires; bool armed; };
#define WQ_UNBOUND		1
#define INIT_WORK(w, f)		(*(w) = (struct work_struct) { .func = (f), .cpu = -1 })
#define DECLARE_WORK(name, f)	struct work_struct name = { .func = (f), .cpu = -1 }
#define DECLARE_DELAYED_WORK(name, f) struct delayed_work name = { { .func = (f), .cpu = -1 } }
extern struct workqueue_struct *system_dfl_wq;
struct workqueue_struct *alloc_workqueue(const char *name, unsigned int flags, int max);
void destroy_workqueue(struct workqueue_struct *wq);
bool queue_work(struct workqueue_struct *wq, struct work_struct *work);
bool schedule_work_on(unsigned int cpu, struct work_struct *work);
bool flush_work(struct work_struct *work);
void flush_workqueue(struct workqueue_struct *wq);
bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *work, unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *work, unsigned long delay);
#define delayed_work_pending(w)	({ SIM_STEP("delayed_work_pending"); (w)->armed || (w)->work.pending; })
bool cancel_delayed_work_sync(struct delayed_work *work);
bool flush_delayed_work(struct delayed_work *work);
bool cancel_work_sync(struct work_struct *work);

/* ---- memory ------------------------------------------------------------- */

#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define SZ_1M			0x100000UL
#define PAGE_ALIGN(x)		(((x) + PAGE_SIZE - 1) & ~(__typeof__(x))(PAGE_SIZE - 1))
#define PAGE_OFFSET		(BITS_PER_LONG == 32 ? 0xfffff000UL : 1UL << (BITS_PER_LONG - 1))
typedef unsigned int gfp_t;
#define GFP_ATOMIC		0x1
#define GFP_KERNEL		0x2	/* may sleep */
#define __GFP_ACCOUNT		0x4
#define __GFP_NOWARN		0x8
#define __GFP_ZERO		0x10
#define GFP_KERNEL_ACCOUNT	(GFP_KERNEL | __GFP_ACCOUNT)
#define gfpflags_allow_blocking(gfp) ((gfp) & GFP_KERNEL)
#define SLAB_ACCOUNT		__GFP_ACCOUNT
#define SLAB_HWCACHE_ALIGN	0
struct kmem_cache;
void *sim_alloc(size_t size, gfp_t gfp, const char *file, int line);
void *sim_vmalloc(size_t size, gfp_t gfp, const char *file, int line);
void sim_free(const void *p);
#define kmalloc(size, gfp)	sim_alloc(size, gfp, __FILE__, __LINE__)
#define kzalloc(size, gfp)	sim_alloc(size, (gfp) | __GFP_ZERO, __FILE__, __LINE__)
#define BITS_TO_LONGS(n)	DIV_ROUND_UP(n, BITS_PER_LONG)
#define kcalloc(n, size, gfp)	kzalloc((n) * (size), gfp)
#define kvcalloc(n, size, gfp)	kzalloc((n) * (size), gfp)
#define kvmalloc_array(n, size, gfp) kmalloc((n) * (size), gfp)
#define kvzalloc(size, gfp)	kzalloc(size, gfp)
#define kfree(p)		sim_free(p)
#define kvfree(p)		vfree(p)
#define __vmalloc(size, gfp)	sim_vmalloc(PAGE_ALIGN(size), gfp, __FILE__, __LINE__)
#define vfree(p)		({ might_sleep(); sim_not_realtime("vmalloc()'s memory"); sim_free(p); })
void sim_not_realtime(const char *what);
#define get_zeroed_page(gfp)	((unsigned long)sim_alloc(PAGE_SIZE, (gfp) | __GFP_ZERO, __FILE__, __LINE__))
#define free_page(p)		sim_free((void *)(p))
struct kmem_cache *sim_cache_create(size_t size, gfp_t gfp);
void kmem_cache_destroy(struct kmem_cache *cache);
#define KMEM_CACHE(name, flags)	sim_cache_create(sizeof(struct name), flags)
#define kmem_cache_create(name, size, align, flags, ctor) sim_cache_create(size, flags)
void *sim_cache_alloc(const struct kmem_cache *cache, gfp_t gfp, const char *file, int line);
#define kmem_cache_zalloc(cache, gfp) sim_cache_alloc(cache, (gfp) | __GFP_ZERO, __FILE__, __LINE__)
#define kmem_cache_free(cache, p) ({ (void)(cache); sim_check_freed(p); sim_free(p); })
void sim_check_freed(const void *st);	/* states.c */
#define virt_to_page(p)		(p)
#define page_to_pfn(p)		((unsigned long)(p) >> PAGE_SHIFT)
#define vmalloc_to_pfn(p)	((unsigned long)(p) >> PAGE_SHIFT)

/* ---- user memory -------------------------------------------------------- */

/* True unless the access faults.  A system call reads no byte twice. */
bool sim_user_write(const void *p, size_t size);
bool sim_user_read(const void *p, size_t size);
/* User space must see nothing that the kernel has left in its memory. */
void sim_check_garbage(const void *p, size_t size);

static inline bool sim_is_user_address(const void *p)
{
	return (unsigned long)p >= PAGE_SIZE && (unsigned long)p < PAGE_OFFSET;
}

bool sim_user_access_begin(const void *p);
void sim_user_access_end(void);
void sim_check_user_access(void);

#define u64_to_user_ptr(x)	((void *)(unsigned long)(x))
#define get_user(x, p)		(sim_user_read(p, sizeof(*(p))) ? ((x) = *(p), 0) : -EFAULT)
#define put_user(x, p)						\
({								\
	__typeof__(*(p)) sim_put = (x);				\
	sim_check_garbage(&sim_put, sizeof(sim_put));		\
	sim_user_write(p, sizeof(*(p))) ? (*(p) = sim_put, 0) : -EFAULT; \
})
#define should_fail_usercopy()	false
#define user_access_begin(p, n)	((void)(n), sim_user_access_begin(p))
#define user_access_end()	sim_user_access_end()
#define unsafe_get_user(x, p, label) \
	do { sim_check_user_access(); if (get_user(x, p)) goto label; } while (0)
#define unsafe_put_user(x, p, label) \
	do { sim_check_user_access(); if (put_user(x, p)) goto label; } while (0)
unsigned long copy_from_user(void *to, const void *from, size_t n);
unsigned long copy_to_user(void *to, const void *from, size_t n);
unsigned long clear_user(void *to, size_t n);
int copy_struct_from_user(void *to, size_t ksize, const void *from, size_t usize);

/* ---- users -------------------------------------------------------------- */

typedef struct { u32 val; } kuid_t;
typedef struct { u32 val; } kgid_t;
#define __kuid_val(uid)		((uid).val)
#define uid_eq(a, b)		((a).val == (b).val)
#define gid_eq(a, b)		((a).val == (b).val)
struct user_namespace { struct user_namespace *parent; kuid_t owner; };
extern struct user_namespace init_user_ns;
struct cred {
	atomic_t usage;
	kuid_t uid, euid, suid;
	kgid_t gid, egid;
	struct user_namespace *user_ns;
	bool perfmon;			/* CAP_PERFMON in user_ns */
	struct rcu_head rcu;
};
#define CAP_PERFMON		38
#define CAP_SYS_ADMIN		21
bool perfmon_capable(void);
bool ns_capable_noaudit(struct user_namespace *ns, int cap);
#define current_cred()		(current->cred)
#define current_real_cred()	(current->real_cred)
#define current_uid()		(current->cred->uid)
#define current_user_ns()	(current->cred->user_ns)
const struct cred *get_current_cred(void);
const struct cred *get_cred_rcu(const struct cred *cred);
void put_cred(const struct cred *cred);

/* ---- tasks -------------------------------------------------------------- */

struct preempt_notifier;
struct task_struct;
struct preempt_ops {
	void (*sched_in)(struct preempt_notifier *notifier, int cpu);
	void (*sched_out)(struct preempt_notifier *notifier, struct task_struct *next);
};
struct preempt_notifier { struct hlist_node link; struct preempt_ops *ops; };
#define preempt_notifier_init(n, o) ((n)->link = (struct hlist_node) { NULL, NULL }, (n)->ops = (o))
void preempt_notifier_inc(void);
void preempt_notifier_dec(void);

#define SUID_DUMP_USER		1
struct mm_struct {
	atomic_t mm_users, mm_count;
	struct { atomic_t perf_rdpmc_allowed; } context;
	unsigned int perf_maps;			/* of perf's, which give the right as well */
	struct cpumask cpus;
	struct mutex mmap_lock;
	struct vm_area_struct *vmas;
	int dumpable;
	struct mm_struct *next;
};
#define mm_cpumask(mm)		(&(mm)->cpus)
#define get_dumpable(mm)	((mm)->dumpable)
void mmgrab(struct mm_struct *mm);
void mmdrop(struct mm_struct *mm);
bool mmget_not_zero(struct mm_struct *mm);
void mmput(struct mm_struct *mm);
struct mm_struct *get_task_mm(struct task_struct *task);
void leave_mm(void);
void kthread_use_mm(struct mm_struct *mm);
void kthread_unuse_mm(struct mm_struct *mm);

#define PF_IO_WORKER		0x10
#define PF_USER_WORKER		0x4000
#define PF_EXITING		0x4
#define PF_KTHREAD		0x200000
#define PF_IDLE			0x2
#define is_idle_task(task)	((task)->flags & PF_IDLE)
#define EXIT_DEAD		0x10
#define SIGILL			4
#define SIGKILL			9
#define SIM_NSIG		64
#define valid_signal(sig)	((sig) >= 0 && (sig) <= SIM_NSIG)
struct kernel_siginfo { int si_signo, si_errno, si_code; u32 si_pid, si_uid; };
struct signal_struct;
struct task_struct {
	struct hlist_head preempt_notifiers;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	struct { u64 nr_migrations; } se;
	int on_rq, on_cpu;
	unsigned int cpu;
	unsigned int flags, ptrace;
	int exit_state;
	unsigned int in_execve;
	struct task_struct *parent;
	struct mm_struct *mm, *active_mm;
	struct signal_struct *signal;
	unsigned int personality;
	const struct cred *cred, *real_cred;	/* the same, but for a while */
	raw_spinlock_t pi_lock;
	raw_spinlock_t alloc_lock;
	struct cpumask cpus_mask;
	pid_t pid, pid_in_ns;			/* in the initial namespace, and in its own */
	struct task_struct *next_task;		/* all tasks */
	struct task_struct *next_thread;	/* of the process */
	struct sim_task *sim;
	atomic_t usage;
	struct rcu_head rcu;
};
/* A process.  The module needs the first member only. */
struct signal_struct {
	struct rw_semaphore exec_update_lock;
	pid_t pid;
	pid_t shares;			/* the process that had its memory first; 0: this one */
	struct task_struct *threads;
	struct task_struct *first;	/* if it has ended before the last one */
	struct rcu_head rcu;
	unsigned int nr_threads;
	unsigned int refs;		/* tasks that are not freed */
	struct pid_namespace *ns;	/* NULL: the initial one */
	struct task_struct *execs;	/* the thread that the others end for */
	struct file *fd[64];
	bool fd_used[64];
};

extern struct task_struct *sim_tasks;
struct task_struct *sim_current(void);
#define TASK_COMM_LEN		16
struct task_struct *sim_first_thread(const struct task_struct *task);
#define current			sim_current()
struct task_struct **sim_task_of(unsigned int cpu);
/* The task's mm does not change meanwhile, but for a kernel thread's. */
#define task_lock(t)		raw_spin_lock(&(t)->alloc_lock)
#define task_unlock(t)		raw_spin_unlock(&(t)->alloc_lock)
#define task_cpu(t)		READ_ONCE((t)->cpu)
/* A process is one of its threads that live. */
struct task_struct *sim_next_process(const struct task_struct *task);
extern unsigned int sim_walks_of_processes;
#define for_each_process(t)	for (t = sim_next_process(NULL); t; t = sim_next_process(t))
#define for_each_thread(p, t)	for (t = sim_first_thread(p); t; t = t->next_thread)
void get_task_struct(struct task_struct *task);
void put_task_struct(struct task_struct *task);
int get_nr_threads(const struct task_struct *task);
struct pt_regs *task_pt_regs(const struct task_struct *task);
bool task_is_traced(const struct task_struct *task);
bool signal_pending(const struct task_struct *task);
bool fatal_signal_pending(const struct task_struct *task);
int send_sig(int sig, struct task_struct *task, int priv);
int send_sig_info(int sig, struct kernel_siginfo *info, struct task_struct *task);
int wake_up_process(struct task_struct *task);
void sched_set_fifo(struct task_struct *task);
#define in_nmi()		sim_is_in_nmi()

struct pid;
struct pid_namespace;
enum { PIDTYPE_PID };
struct pid *find_vpid(int nr);
struct task_struct *pid_task(struct pid *pid, int type);
struct pid_namespace *task_active_pid_ns(const struct task_struct *task);
pid_t task_tgid_nr_ns(const struct task_struct *task, const struct pid_namespace *ns);
pid_t task_pid_nr_ns(const struct task_struct *task, const struct pid_namespace *ns);
pid_t task_pid_vnr(const struct task_struct *task);
struct pid_namespace *get_pid_ns(struct pid_namespace *ns);
void put_pid_ns(struct pid_namespace *ns);

struct smp_hotplug_thread {
	struct task_struct **store;
	void (*setup)(unsigned int cpu);
	int (*thread_should_run)(unsigned int cpu);
	void (*thread_fn)(unsigned int cpu);
	void (*park)(unsigned int cpu);
	void (*cleanup)(unsigned int cpu, bool online);
	const char *thread_comm;
};
int smpboot_register_percpu_thread(struct smp_hotplug_thread *thread);
void smpboot_unregister_percpu_thread(struct smp_hotplug_thread *thread);

#define BINPRM_FLAGS_ENFORCE_NONDUMP 1
struct linux_binprm { unsigned int secureexec, interp_flags; };
struct tracepoint { const char *name; void *func; };
void for_each_kernel_tracepoint(void (*func)(struct tracepoint *tp, void *priv), void *priv);
int tracepoint_probe_register(struct tracepoint *tp, void *probe, void *data);
int tracepoint_probe_unregister(struct tracepoint *tp, void *probe, void *data);
#define tracepoint_synchronize_unregister() synchronize_rcu()

/* There is one kprobe at a time. */
#define KPROBE_FLAG_DISABLED	2
struct kprobe {
	const char *symbol_name;
	int (*pre_handler)(struct kprobe *probe, struct pt_regs *regs);
	unsigned int flags;
};
int register_kprobe(struct kprobe *probe);
void unregister_kprobe(struct kprobe *probe);
int enable_kprobe(struct kprobe *probe);
int disable_kprobe(struct kprobe *probe);
#define regs_get_kernel_argument(regs, n) ((regs)->argument)

/* ---- files -------------------------------------------------------------- */

struct file;
struct inode;
struct vm_area_struct;
struct seq_file;
typedef void *fl_owner_t;
#define FMODE_READ		1
#undef O_CLOEXEC
#define O_CLOEXEC		02000000
#undef O_RDONLY
#define O_RDONLY		0
#define PROC_SUPER_MAGIC	0x9fa0
struct super_block { unsigned long s_magic; unsigned int s_dev; };
struct inode { struct super_block *i_sb; unsigned long i_ino; };
struct path { struct dentry *dentry; };
#define MAJOR(dev)		((dev) >> 20)
#define MINOR(dev)		((dev) & 0xfffff)
#define PATH_MAX		4096
struct dentry { struct dentry *d_parent; struct { const char *name; } d_name; struct super_block *d_sb; };
#define IS_ROOT(d)		((d) == (d)->d_parent)
struct file_operations {
	void *owner;
	long (*unlocked_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	long (*compat_ioctl)(struct file *file, unsigned int cmd, unsigned long arg);
	int (*mmap)(struct file *file, struct vm_area_struct *vma);
	__poll_t (*poll)(struct file *file, struct poll_table_struct *wait);
	int (*flush)(struct file *file, fl_owner_t id);
	int (*release)(struct inode *inode, struct file *file);
	void (*show_fdinfo)(struct seq_file *m, struct file *file);
};
#define compat_ptr_ioctl	NULL
struct file {
	const struct file_operations *f_op;
	void *private_data;
	struct path f_path;
	unsigned int f_mode;
	atomic_t count;
	struct file *next_dead;
	const char *name;		/* of an anonymous inode */
};
struct file *anon_inode_getfile(const char *name, const struct file_operations *fops, void *priv, int flags);
struct file *fget(unsigned int fd);
struct file *get_file(struct file *file);
const struct inode *file_inode(const struct file *file);
char *d_path(const struct path *path, char *buf, int size);
void fput(struct file *file);
int get_unused_fd_flags(unsigned int flags);
void put_unused_fd(unsigned int fd);
void fd_install(unsigned int fd, struct file *file);
void seq_printf(struct seq_file *m, const char *format, ...) __attribute__((__format__(__printf__, 2, 3)));

#define VM_WRITE	0x1
#define VM_EXEC		0x2
#define VM_MAYWRITE	0x4
#define VM_MAYEXEC	0x8
#define VM_MAYSHARE	0x10
#define VM_DONTEXPAND	0x20
#define VM_DONTDUMP	0x40
#define VM_IO		0x80
#define VM_PFNMAP	0x100
#define VM_DONTCOPY	0x200
#define VM_WIPEONFORK	0x400
#define VM_FAULT_ERROR	0x1
#define VM_FAULT_NOPAGE	0x2
typedef unsigned int vm_fault_t;
struct vm_fault { struct vm_area_struct *vma; };
struct vm_operations_struct {
	void (*open)(struct vm_area_struct *vma);
	void (*close)(struct vm_area_struct *vma);
	vm_fault_t (*fault)(struct vm_fault *vmf);
	const char *(*name)(struct vm_area_struct *vma);
};
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	unsigned int vm_page_prot;
	struct mm_struct *vm_mm;
	struct file *vm_file;
	void *vm_private_data;
	const struct vm_operations_struct *vm_ops;
	struct vm_area_struct *next;
	void *page;			/* what user space sees there; NULL: nothing mapped */
};
#define vm_get_page_prot(flags)	((unsigned int)(flags) & (VM_WRITE | VM_EXEC))
void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear);
vm_fault_t vmf_insert_pfn(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn);
int remap_pfn_range(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn,
		    unsigned long size, unsigned int prot);
void zap_special_vma_range(struct vm_area_struct *vma, unsigned long addr, unsigned long size);
#define vm_fault_to_errno(fault, flags) (-ENOMEM)

/* ---- the module --------------------------------------------------------- */

#define KBUILD_MODNAME		"vperfctr"
#define THIS_MODULE		NULL
void __module_get(void *module);
void module_put(void *module);
#define module_param(name, type, perm)	__typeof__(name) *const sim_param_##name = &(name)
#define module_param_named(name, var, type, perm) __typeof__(var) *const sim_param_##name = &(var)
#define MODULE_PARM_DESC(name, text)	_Static_assert(sizeof(text) > 1, "")
#define MODULE_DESCRIPTION(x)		_Static_assert(1, "")
#define MODULE_AUTHOR(x)		_Static_assert(1, "")
#define MODULE_LICENSE(x)		_Static_assert(1, "")
#define MODULE_VERSION(x)		_Static_assert(1, "")
int sim_module_init(void);
void sim_module_exit(void);
#define module_init(f)			int sim_module_init(void) { return f(); } _Static_assert(1, "")
#define module_exit(f)			void sim_module_exit(void) { f(); } _Static_assert(1, "")
#define MISC_DYNAMIC_MINOR		255
struct miscdevice { int minor; const char *name; const struct file_operations *fops; unsigned int mode; };
int misc_register(struct miscdevice *misc);
void misc_deregister(struct miscdevice *misc);

/* For the models of the registers in tests/unit. */
#define fake_cpu			sim_cpu
extern bool fake_online[NR_CPUS], fake_dying;	/* in the last callback of a CPU */
#define fake_in_nmi			sim_is_in_nmi()
bool sim_is_in_nmi(void);
#define ck_abort_msg(...)		sim_fail(__VA_ARGS__)

#endif /* SIM_KERNEL_H */
