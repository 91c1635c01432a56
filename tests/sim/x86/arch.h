/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's interface that the x86 drivers use.  Included by kernel.h. */
#ifndef SIM_ARCH_H
#define SIM_ARCH_H

struct pt_regs {
	bool user;
	unsigned long ip, sp, cs, flags, argument;
	unsigned long ax, bx, cx, dx, si, di, bp, r8, r9, r10, r11, r12, r13, r14, r15;
};

#define X86_EFLAGS_IF	0x200
#define SIM_IRQS_ON	.flags = X86_EFLAGS_IF
#define __USER32_CS	0x23
#define sim_ip			ip

/* The kernel's stack: see SIM_KERNEL_CALLS. */
struct unwind_state { unsigned long ip; unsigned int left; };
void sim_unwind_start(struct unwind_state *state, struct pt_regs *regs);
#define unwind_start(s, task, regs, frame) sim_unwind_start(s, regs)
#define unwind_done(s)		(!(s)->left)
#define unwind_next_frame(s)	((void)(s)->left--)
#define unwind_get_return_address(s) ((s)->ip + 16 * (s)->left)

#define NMI_LOCAL		0
#define NMI_FLAG_FIRST		1
#define NMI_DONE		0
#define NMI_HANDLED		1
#define APIC_DM_NMI		0x00400
#define APIC_LVT_MASKED		0x10000
typedef int nmi_handler_t(unsigned int type, struct pt_regs *regs);
int register_nmi_handler(unsigned int type, nmi_handler_t *handler, u64 flags, const char *name);
void unregister_nmi_handler(unsigned int type, const char *name);
int reserve_perfctr_nmi(unsigned int msr);
void release_perfctr_nmi(unsigned int msr);
int reserve_evntsel_nmi(unsigned int msr);
void release_evntsel_nmi(unsigned int msr);

/* Only for these variables, of which the first is the current task of any CPU. */
#define per_cpu(var, cpu)		sim_per_cpu_##var(cpu)
#define sim_per_cpu_current_task(cpu)	(*sim_task_of(cpu))
#define sim_per_cpu_is_claimed(cpu)	(*per_cpu_ptr(&is_claimed, cpu))
#define this_cpu_read(var)		SIM_ATOMIC(*this_cpu_ptr(&(var)))
#define this_cpu_write(var, value)	(SIM_ATOMIC(*this_cpu_ptr(&(var))) = (value))

#define X86_CR4_PCE			0x100
bool sim_user_rdpmc(void);
void cr4_update_irqsoff(unsigned long set, unsigned long clear);

/* As in a kernel without CPU_PM. */
enum { CPU_PM_ENTER, CPU_PM_ENTER_FAILED, CPU_PM_EXIT };
#define cpu_pm_register_notifier(block)		({ (void)(block); 0; })
#define cpu_pm_unregister_notifier(block)	((void)(block))

/* ---- perf ----------------------------------------------------------------- */

#define PERF_TYPE_HARDWARE	0
#define PERF_COUNT_HW_CPU_CYCLES 0
#define PERF_EVENT_FLAG_USER_READ_CNT 0x80000000

struct perf_event_attr {
	u32 type, size;
	u64 config, sample_period;
	bool disabled, pinned, exclude_guest, precise_ip, freq;
};

struct pmu;
struct perf_event;
struct perf_sample_data;
typedef void (*perf_overflow_handler_t)(struct perf_event *event, struct perf_sample_data *data,
					struct pt_regs *regs);

enum { PERF_EVENT_STATE_ERROR = -2, PERF_EVENT_STATE_INACTIVE = 0, PERF_EVENT_STATE_ACTIVE = 1 };

struct perf_event {
	struct pmu *pmu;
	struct perf_event_attr attr;
	struct { int idx; u32 flags; } hw;
	const void *owner;
	int state;
	struct perf_event *group_leader;
	perf_overflow_handler_t overflow_handler;
	struct list_head active_list, event_entry;
};

#define is_sampling_event(event)	((event)->attr.sample_period)

struct perf_event_context { struct list_head event_list; };

struct perf_cpu_pmu_context {
	struct { struct perf_event_context *ctx; struct list_head pinned_active; } epc;
	int active_oncpu;
};

struct mm_struct;

struct pmu {
	u32 type;
	int task_ctx_nr, capabilities;
	struct perf_cpu_pmu_context **cpu_pmu_context;
	int (*event_init)(struct perf_event *event);
	void (*start)(struct perf_event *event, int flags);
	void (*stop)(struct perf_event *event, int flags);
	void (*read)(struct perf_event *event);
	void (*pmu_enable)(struct pmu *pmu);
	void (*pmu_disable)(struct pmu *pmu);
	int (*add)(struct perf_event *event, int flags);
	void (*del)(struct perf_event *event, int flags);
	void (*event_mapped)(struct perf_event *event, struct mm_struct *mm);
	void (*event_unmapped)(struct perf_event *event, struct mm_struct *mm);
	bool (*filter)(struct pmu *pmu, int cpu);
};

struct perf_event *perf_event_create_kernel_counter(struct perf_event_attr *attr, int cpu, void *task,
						    perf_overflow_handler_t overflow, void *context);
int perf_event_release_kernel(struct perf_event *event);

/* Virtual machines that have the counters themselves: see virtual.c. */
#define CONFIG_PERF_GUEST_MEDIATED_PMU	1
#define PERF_PMU_CAP_NO_INTERRUPT	0x1
#define PERF_PMU_CAP_MEDIATED_VPMU	0x800
#define perf_invalid_context		(-1)
struct task_struct;
struct cred;
extern struct task_struct init_task;
struct cred *prepare_kernel_cred(struct task_struct *task);
const struct cred *override_creds(const struct cred *cred);
void revert_creds(const struct cred *cred);
int perf_pmu_register(struct pmu *pmu, const char *name, int type);
void perf_pmu_unregister(struct pmu *pmu);
bool sim_is_guard(const struct perf_event_attr *attr);
struct perf_event *sim_open_guard(const struct perf_event_attr *attr);
bool sim_close_guard(struct perf_event *event);
void sim_check_no_guard(void);

#endif /* SIM_ARCH_H */
