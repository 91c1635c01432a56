/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's interface that the arm64 drivers use, perf's included.  Included by kernel.h. */
#ifndef SIM_ARCH_H
#define SIM_ARCH_H

struct pt_regs {
	bool user;
	unsigned long argument;
	u64 regs[31], sp, pc;
	bool interrupts;
};

#define SIM_IRQS_ON			.interrupts = true
#define interrupts_enabled(regs)	((regs)->interrupts)

#define sim_ip			pc
#define compat_user_mode(regs)	((void)(regs), false)

/* The kernel's stack: see SIM_KERNEL_CALLS. */
#define CONFIG_STACKTRACE	1
#define VA_BITS_MIN		48
long copy_from_kernel_nofault(void *to, const void *from, size_t size);
unsigned int stack_trace_save(unsigned long *store, unsigned int size, unsigned int skip);

typedef int irqreturn_t;
#define IRQ_NONE		0
#define IRQ_HANDLED		1

#define per_cpu(var, cpu)	(*per_cpu_ptr(&(var), cpu))
#define sim_this_cpu_var(var)	SIM_ATOMIC(*per_cpu_ptr(&(var), sim_cpu))
#define this_cpu_read(var)	sim_this_cpu_var(var)
#define this_cpu_write(var, value) (sim_this_cpu_var(var) = (value))
#define cpu_present_mask	cpu_possible_mask
bool cpumask_subset(const struct cpumask *a, const struct cpumask *b);

#define this_cpu_or(var, value)	(sim_this_cpu_var(var) |= (value))
#define this_cpu_and(var, value) (sim_this_cpu_var(var) &= (value))

enum { CPU_PM_ENTER = 1, CPU_PM_ENTER_FAILED, CPU_PM_EXIT };
int cpu_pm_register_notifier(struct notifier_block *block);
int cpu_pm_unregister_notifier(struct notifier_block *block);

/* ---- perf ----------------------------------------------------------------- */

#define PERF_TYPE_HARDWARE	0
#define PERF_COUNT_HW_CPU_CYCLES 0

struct perf_event_attr { u32 type, size; u64 config, sample_period; bool disabled, pinned, exclude_guest; };
struct perf_event;
typedef void (*perf_overflow_handler_t)(struct perf_event *event);

struct pmu {
	const char *name;
	int (*add)(struct perf_event *event, int flags);
	void (*del)(struct perf_event *event, int flags);
	bool (*filter)(struct pmu *pmu, int cpu);
};

struct perf_event {
	struct pmu *pmu;
	struct perf_event *group_leader;
	struct perf_event_attr attr;
	struct { int idx; u32 flags; } hw;
};

#define PERF_EVENT_FLAG_USER_READ_CNT	0x80000000
#define has_branch_stack(event)		((void)(event), false)

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu, void *task,
						    perf_overflow_handler_t overflow, void *context);
int perf_event_release_kernel(struct perf_event *event);

#define ARMPMU_MAX_HWEVENTS	33
#define ARMPMU_EVT_64BIT	1

struct pmu_hw_events {
	struct perf_event *events[ARMPMU_MAX_HWEVENTS];
	unsigned long used_mask[1];
	int irq;
};

struct arm_pmu {
	struct pmu pmu;
	struct cpumask supported_cpus;
	irqreturn_t (*handle_irq)(struct arm_pmu *pmu);
	void (*enable)(struct perf_event *event);
	void (*disable)(struct perf_event *event);
	void (*start)(struct arm_pmu *pmu);
	void (*stop)(struct arm_pmu *pmu);
	void (*reset)(void *pmu);
	struct pmu_hw_events *hw_events;	/* of each CPU */
};

#define to_arm_pmu(p)		container_of(p, struct arm_pmu, pmu)

#endif /* SIM_ARCH_H */
