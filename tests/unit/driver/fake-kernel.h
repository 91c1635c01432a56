/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel interface that the drivers use, in user space.  There are several CPUs,
 * and one of them is current.  A function called in the wrong context fails the test.
 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <linux/types.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

/* ---- language ----------------------------------------------------------- */

#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define __ro_after_init
#define __read_mostly
#define ____cacheline_aligned
#define noinline		__attribute__((__noinline__))
#define barrier()		__asm__ volatile("" ::: "memory")
#define OPTIMIZER_HIDE_VAR(x)	__asm__ ("" : "+r"(x))
#define smp_mb()		barrier()	/* all CPUs are in one thread */
#define smp_wmb()		barrier()	/* likewise */
#define smp_rmb()		barrier()
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile __typeof__(x) *)&(x) = (v))
#define smp_load_acquire(p)	READ_ONCE(*(p))	/* likewise */
#define smp_store_release(p, v)	WRITE_ONCE(*(p), v)	/* likewise */
#define smp_store_mb(x, v)		WRITE_ONCE(x, v)	/* likewise */
#define smp_mb__after_atomic()	barrier()

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define BIT(n)			(1UL << (n))
#define BIT_ULL(n)		(1ULL << (n))
#define GENMASK_ULL(h, l)	((~0ULL >> (63 - (h))) & (~0ULL << (l)))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	((type)(a) > (type)(b) ? (type)(a) : (type)(b))
#define div64_u64(a, b)		((u64)(a) / (u64)(b))

static inline unsigned int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

#define __ffs(x)		((unsigned int)__builtin_ctzl(x))

static inline unsigned int hweight64(u64 x)
{
	return __builtin_popcountll(x);
}

static inline void strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
}

/* The driver must check the index first: this makes a bad index valid, and returns no error. */
#define array_index_nospec(index, size)	((index) < (size) ? (index) : fake_bad_index())
unsigned int fake_bad_index(void);

/* The drivers only declare it. */
#define refcount_t struct refcount_struct
struct refcount_struct { int refs; };

typedef struct { s64 counter; } atomic64_t;
#define ATOMIC64_INIT(v)	{ (v) }

static inline s64 atomic64_inc_return(atomic64_t *v)
{
	return ++v->counter;
}

/* ---- static calls ------------------------------------------------------- */

#define ERR_PTR(err)		((void *)(long)(err))
#define IS_ERR_OR_NULL(p)	(!(p) || (unsigned long)(p) >= (unsigned long)-4095)

#define DECLARE_STATIC_CALL(name, func)	extern __typeof__(func) *static_call__##name
#define DEFINE_STATIC_CALL(name, func)	__typeof__(func) *static_call__##name = func
#define static_call(name)		(*static_call__##name)
#define static_call_update(name, func)	(static_call__##name = (func))

#define IS_ENABLED(CONFIG_option)	1

/* ---- module parameters, which tests may set ------------------------------ */

#define module_param(name, type, perm)	__typeof__(name) *const fake_param_##name = &(name)
#define MODULE_PARM_DESC(name, text)	_Static_assert(sizeof(text) > 1, "")

extern char **const fake_param_forbid_cpus;
extern bool *const fake_param_keep_watchdog;

/* ---- CPUs --------------------------------------------------------------- */

#define NR_CPUS		4

extern unsigned int fake_cpu;			/* the current one */
extern bool fake_online[NR_CPUS], fake_dying;	/* in the last callback of a CPU */
extern bool fake_irqs_off;

/* The variables of CPU 0 are in this section, and those of the others are copies of it. */
#define DEFINE_PER_CPU(type, name)	\
	__typeof__(type) name __attribute__((__section__("fake_percpu")))
#define DEFINE_PER_CPU_ALIGNED(type, name) DEFINE_PER_CPU(type, name)
#define DECLARE_PER_CPU_ALIGNED(type, name) extern __typeof__(type) name
void *fake_per_cpu(void *p, unsigned int cpu);
#define per_cpu_ptr(ptr, cpu)		((__typeof__(ptr))fake_per_cpu(ptr, cpu))
#define this_cpu_ptr(ptr)		per_cpu_ptr(ptr, fake_cpu)
#define this_cpu_read(var)		(*this_cpu_ptr(&(var)))
#define this_cpu_write(var, value)	(*this_cpu_ptr(&(var)) = (value))
#define __this_cpu_write(var, value)	this_cpu_write(var, value)
#define __this_cpu_inc_return(var)	(++*this_cpu_ptr(&(var)))

#define local_irq_save(flags)		((flags) = fake_irqs_off, fake_irqs_off = true)
#define local_irq_restore(flags)	(fake_irqs_off = (flags))

struct cpumask { unsigned long bits[1]; };

/* These count in fake_interrupts how often another CPU than the current one is called. */
extern unsigned int fake_interrupts[NR_CPUS];
void on_each_cpu(void (*func)(void *), void *arg, int wait);
void on_each_cpu_mask(const struct cpumask *mask, void (*func)(void *), void *arg, int wait);
void on_each_cpu_cond(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg,
		      int wait);
int smp_call_function_single(int cpu, void (*func)(void *), void *arg, int wait);
void cpus_read_lock(void);
void cpus_read_unlock(void);

int cpulist_parse(const char *list, struct cpumask *mask);

const struct cpumask *fake_online_mask(void);
#define cpu_online_mask			fake_online_mask()
#define cpu_possible_mask		(&(const struct cpumask) { { (1UL << NR_CPUS) - 1 } })
#define cpumask_first(mask)		((unsigned int)__builtin_ctzl((mask)->bits[0]))
#define cpumask_test_cpu(cpu, mask)	((mask)->bits[0] >> (cpu) & 1)
#define cpumask_clear_cpu(cpu, mask)	((mask)->bits[0] &= ~BIT(cpu))
#define cpumask_set_cpu(cpu, mask)	((mask)->bits[0] |= BIT(cpu))
#define cpumask_test_and_clear_cpu(cpu, mask) \
	(cpumask_test_cpu(cpu, mask) && (cpumask_clear_cpu(cpu, mask), true))
#define cpumask_empty(mask)		(!(mask)->bits[0])
#define cpumask_copy(to, from)		(*(to) = *(from))

#define for_each_cpu(cpu, mask)				\
	for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)	\
		if (cpumask_test_cpu(cpu, mask))
#define for_each_cpu_and(cpu, a, b)			\
	for_each_cpu(cpu, a)				\
		if (cpumask_test_cpu(cpu, b))
#define for_each_online_cpu(cpu)	for_each_cpu(cpu, cpu_online_mask)
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < NR_CPUS; (cpu)++)

/* True: CPUs 0 and 1, and 2 and 3, are hyper-threads of one core. */
extern bool fake_smt;
const struct cpumask *topology_sibling_cpumask(unsigned int cpu);

/* Works run at once, and are counted. */
struct work_struct { void (*func)(struct work_struct *work); };
#define INIT_WORK(work, f)		((work)->func = (f))
#define flush_work(work)		((work)->func ? (void)0 : (void)0)
extern unsigned int fake_works[NR_CPUS];
#define schedule_work_on(cpu, work)	(fake_works[cpu]++, (work)->func(work))

#define smp_processor_id()		fake_cpu
#define raw_smp_processor_id()		fake_cpu

/* The number of warnings in the log. */
extern unsigned int fake_warnings;
#define pr_warn(...)			(fake_warnings++, (void)snprintf(NULL, 0, __VA_ARGS__))
#define pr_warn_ratelimited(...)	pr_warn(__VA_ARGS__)
#define pr_warn_once(...)		pr_warn(__VA_ARGS__)
#define pr_err(...)			pr_warn(__VA_ARGS__)
/* The last message that is no warning. */
extern char fake_info[256];
#define pr_info(...)			((void)snprintf(fake_info, sizeof(fake_info), __VA_ARGS__))
#define DEFINE_RATELIMIT_STATE(name, interval, burst) int name = (burst)
#define __ratelimit(limit)		(*(limit))

/* The thread that runs, and how often it was switched out. */
struct task_struct { unsigned long nvcsw, nivcsw; };
extern struct task_struct fake_task;
#define current				(&fake_task)

enum cpuhp_state {
	CPUHP_BP_PREPARE_DYN	= 100,
	CPUHP_AP_PERF_ARM_STARTING = 150,
	CPUHP_AP_ONLINE_DYN	= 200,
};
/* Another module has the state that has one owner. */
extern bool fake_hotplug_taken;
int cpuhp_setup_state(enum cpuhp_state state, const char *name,
		      int (*startup)(unsigned int cpu), int (*teardown)(unsigned int cpu));
void cpuhp_remove_state_nocalls(enum cpuhp_state state);

#define NOTIFY_DONE		0
struct notifier_block {
	int (*notifier_call)(struct notifier_block *block, unsigned long action, void *data);
};
/* As in a kernel without CPU_PM. */
enum { CPU_PM_ENTER, CPU_PM_ENTER_FAILED, CPU_PM_EXIT };
#define NOTIFY_OK		1
static inline int cpu_pm_register_notifier(struct notifier_block *block)
{
	(void)block;
	return 0;
}

static inline void cpu_pm_unregister_notifier(struct notifier_block *block)
{
	(void)block;
}

int register_reboot_notifier(struct notifier_block *block);
int unregister_reboot_notifier(struct notifier_block *block);

/* The CPUs on which the driver found values that perf left in the counters. */
extern unsigned int fake_suspects;

/* For tests: the actions of an administrator. */
void fake_cpu_down(unsigned int cpu);
void fake_cpu_up(unsigned int cpu);
int fake_try_cpu_up(unsigned int cpu);
void fake_suspend_to_ram(void);
void fake_reboot(void);			/* only as far as the notifiers */

/* fake_suspend_to_ram() calls it after the kernel masks LVTPC, before CPU 0 loses its registers. */
extern void (*fake_almost_asleep)(void);
extern void (*fake_almost_offline)(unsigned int cpu);	/* a thread has not left the CPU yet */

/* Fail the test unless the module has removed all that the kernel would call. */
void fake_check_unloadable(void);

/* ---- non-maskable interrupts -------------------------------------------- */

struct pt_regs { bool user; };
#define user_mode(regs)		((regs)->user)

/* perf has no part in these tests: only the name of a type that its callers have. */
struct perf_event;
typedef void (*perf_overflow_handler_t)(struct perf_event *event);

#define NMI_LOCAL		0
#define NMI_FLAG_FIRST		1
#define NMI_DONE		0
#define NMI_HANDLED		1
#define APIC_DM_NMI		0x00400
#define APIC_LVT_MASKED		0x10000

typedef int nmi_handler_t(unsigned int type, struct pt_regs *regs);
int register_nmi_handler(unsigned int type, nmi_handler_t *handler, u64 flags, const char *name);
void unregister_nmi_handler(unsigned int type, const char *name);

extern bool fake_in_nmi;
extern int fake_register_error;		/* the error of register_nmi_handler() */

/* Deliver an NMI on the current CPU.  True if the module claims it. */
bool fake_nmi(bool user);

#define HZ			250
#define time_before(a, b)	((long)((a) - (b)) < 0)
#define time_after(a, b)		time_before(b, a)
#define time_in_range_open(a, b, c)	(!time_before(a, b) && time_before(a, c))
extern unsigned long jiffies;

static inline void msleep(unsigned int msecs)
{
	jiffies += msecs * HZ / 1000 + 1;
}

/* ---- reservation of counters -------------------------------------------- */

int reserve_perfctr_nmi(unsigned int msr);
void release_perfctr_nmi(unsigned int msr);
int reserve_evntsel_nmi(unsigned int msr);
void release_evntsel_nmi(unsigned int msr);

/* Bit i: the register of counter i. */
struct fake_reservation {
	u64 ours;
	u64 others;
};

extern struct fake_reservation fake_pmcs, fake_evntsels;

/*
 * ---- perf's events ----------------------------------------------------------
 *
 * The functions of perf-claim.c.  perf's PMU is enabled on each CPU that is not claimed,
 * and enabling it changes no register.
 */
struct fake_perf {
	int find_error;			/* the result of perfctr_x86_perf_find() */
	u32 found;			/* the CPUs whose PMU the driver has found */
	u32 busy;			/* the CPUs where an event is scheduled */
	u64 watchdog;			/* the counters that the NMI watchdog has */
	u64 period;			/* of the watchdog's counter, if that is counter 0 */
	unsigned int overflows;		/* of the watchdog that perf has handled */
	u32 claimed;			/* the CPUs that the driver has claimed */
	bool reserved;
};

extern struct fake_perf fake_perf;

/* ---- functions of the rest of the module ---------------------------------- */

extern unsigned int tsc_khz;
bool perfctr_x86_watched(void);
u32 perfctr_x86_stops(void);
void perfctr_x86_saw_rdpmc(void);
extern bool fake_watched;		/* the result of perfctr_x86_watched() */
extern unsigned int fake_saw_rdpmc;	/* calls of perfctr_x86_saw_rdpmc() */

#endif /* FAKE_KERNEL_H */
