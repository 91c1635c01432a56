/* SPDX-License-Identifier: GPL-2.0 */
/* The simulated machine: what its parts and the scenarios use.  See README.md. */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>

#include "kernel.h"

/* ---- choices (choice.c) --------------------------------------------------- */

/*
 * Choose one of n possibilities.  0 is the usual one.  In a random run another one is
 * chosen once in `one_in` times.  A replay takes what was recorded.
 */
unsigned int sim_choose(unsigned int n, unsigned int one_in);
extern unsigned int (*sim_chooser)(unsigned int n, unsigned int one_in);	/* instead, if set */
void sim_choices_random(u64 seed);
void sim_choices_replay(const char *file);
void sim_choices_save(const char *file);
unsigned int sim_nr_choices(void);

/*
 * Execute all runs of a scenario with at most that many choices that are not the usual one,
 * up to a limit of runs.
 */
struct sim_explored {
	u64 runs, distinct;		/* and how many orders of steps were distinct */
	bool incomplete;		/* the limit was reached */
};

extern bool sim_explores;		/* also if such a run is replayed */
void sim_explore(unsigned int deviations, u64 limit);
void sim_explore_scenario(bool begins);
void sim_explored_step(unsigned int cpu, const void *place, int line);
void sim_explored_run(void);
bool sim_may_deviate(void);
struct sim_explored sim_explored_result(void);

/* The state of a run outside of the machine. */
struct sim_explorer {
	unsigned int number;		/* of choices so far */
	unsigned int nr_recorded;
	unsigned int deviations_left;
	bool in_scenario;
	u64 steps_hash;
	u64 scenario;			/* of sim_random() */
};

extern struct sim_explorer sim_explorer;
/* Instead of a fork, if set (rewind.c): choose, and go back to a choice when a run has ended. */
extern unsigned int (*sim_branch)(unsigned int n);
extern void (*sim_rewind)(void);
bool sim_takes_branch(unsigned int value);
/*
 * If set (memory.c, rewind.c): save the machine's memory at the first call, and restore it at the
 * others, for the next run in this process.
 */
extern void (*sim_reset)(void);

/* Any number below n, which is part of the scenario. */
u64 sim_random(u64 n);

/* ---- CPUs and tasks (machine.c) ------------------------------------------- */

struct sim_call {
	void (*func)(void *arg);
	void *arg;
	bool done;
	struct sim_call *next;
};

enum sim_task_state { SIM_RUNNABLE, SIM_SLEEPS, SIM_TRACED, SIM_DEAD };

#define SIM_MAX_HELD	16

struct sim_held {
	const struct sim_lock *lock[SIM_MAX_HELD];
	unsigned int n;
};

#define SIM_MAX_READS	16

struct sim_range { unsigned long begin, end; };

/* The part of a task that the module does not see. */
struct sim_task {
	struct task_struct *task;
	void *sp;			/* of its coroutine while it is not on a CPU */
	void *stack;
	void (*func)(void *arg);
	void *user_func;		/* of a user's task, with the same argument */
	void *arg;
	const char *name;
	enum sim_task_state state;
	const void *key;		/* what it sleeps on */
	u64 until;			/* when it wakes up; 0: no time */
	unsigned int priority;		/* 0: usual; 1: real time; 2: stops the machine */
	bool pinned;
	bool killable;
	bool woken;			/* by its own name, asleep or not */
	unsigned int rcu_depth;
	u64 rcu_step;			/* of the outermost rcu_read_lock() */
	bool holdout;			/* synchronize_rcu_tasks() waits for it */
	int atomic;			/* kcsan_nestable_atomic_begin() */
	struct sim_held mutexes;
	/* The list of preempt notifiers: see notifiers.c. */
	bool runs;			/* has been switched in, and may change it */
	u64 ran_step;			/* when it was last switched out */
	struct sim_held list_locks;	/* held at all changes by others */
	const struct task_struct *list_changer;	/* the last of these; NULL: none */
	unsigned int list_cpu;
	struct sim_task *next_by_address;
	struct preempt_notifier vcpu;	/* KVM's */
	struct pt_regs regs;		/* of user mode */
	u64 signals;			/* pending, bit 0 is signal 0 */
	bool stop;			/* must enter its ptrace stop */
	u64 stopped_ns;			/* when its system call last stopped the machine; 0: not yet */
	struct file *dead_files;	/* put, and released at the return to user mode */
	struct sim_task *next_rq;
	struct task_struct **link;	/* of the list of all tasks */
	struct sim_task *next_stack, **stack_link;	/* of the list of all stacks */
	struct sim_task *next_unparked, **unparked_link;
	u64 executed;			/* instructions in user mode */
	u64 steps;			/* in all modes */
	unsigned int received[SIM_NSIG + 1];
	u32 overflow_mask;		/* of the last signal with SI_PMC_OVF */
	bool is_new;			/* the fork's probe has not been called */
	struct task_struct *forked;	/* its fork has not returned: put that at the exit */
	bool in_call;			/* of the module: ioctl(), mmap(), a fault and so on */
	bool may_fail;			/* in that call, by sim_failures.calls */
	bool lacked_memory, faulted;	/* that has happened */
	bool denied;			/* the audit log has a denial of that call */
	bool charge_failed;		/* an allocation of that call */
	unsigned int not_charged;	/* blocks of memory of that call */
	unsigned int user_access;	/* user_access_begin() without its end */
	unsigned int no_faults;		/* pagefault_disable() without its end */
	bool exec_failed;		/* it has the memory of another program, and is about to end */
	struct sim_range reads[SIM_MAX_READS];	/* of user memory by that call */
	unsigned int nr_reads;
	const void *polls;		/* the queue in which it waits, by poll() or wait_event_timeout() */
	bool polled;			/* and that has been woken since */
};

struct sim_cpu {
	struct task_struct *curr, *idle;
	struct sim_task *rq;		/* runnable tasks that wait, in order */
	bool active;			/* takes tasks */
	bool irqs_off, in_irq, in_nmi, need_resched, rq_locked;
	int preempt, interrupted_preempt;	/* `preempt` where the interrupt came */
	bool (*wait)(void *arg);	/* goes on when it returns true; NULL: goes on */
	void *wait_arg;
	struct sim_call *calls;
	struct irq_work *works;
	struct hrtimer *timers;
	struct pt_regs irq_regs;	/* of an interrupt */
	struct sim_held spins;
	u64 stopped_until;		/* a step: a hypervisor does not run it until then */
	u64 spins_step;			/* when the first of them was acquired */
	struct mm_struct *loaded_mm;
	bool pce;			/* CR4.PCE */
	u64 quiet_step;			/* its last step outside of RCU readers */
	const char *what, *file;	/* its last step */
	int line;
	const void *pc;			/* instead of them, if that was a plain access */
	u64 nmi_at;			/* when the NMI that is pending comes; 0: not chosen */
	struct sim_stats {
		unsigned long interrupts, nmis, switches;
	} stats;
};

extern struct sim_cpu sim_cpus[NR_CPUS];
extern u64 sim_steps, sim_max_steps;
extern bool sim_story;			/* print every choice */
extern bool sim_all_steps;		/* and every step */

static inline struct sim_cpu *sim_this_cpu(void)
{
	return &sim_cpus[sim_cpu];
}

/* The module's code must leave this as it was when it was called: see sim_check_context(). */
struct sim_context {
	int preempt, atomic;
	unsigned int rcu_depth, spins, mutexes, user_access, no_faults;
	bool irqs_off;
};

struct sim_context sim_context(void);
void sim_check_context(const struct sim_context *before, const char *what);

/* The processors of the machine.  A scenario may have others than the usual ones. */
struct model_config;

struct sim_processor {
	void (*configure)(struct model_config *config);
	void (*configure_other)(struct model_config *config);	/* of a second kind of CPUs */
	u32 others;			/* bit mask: these */
	u64 nmi_ns;			/* an NMI may be late by that; a step is 10 ns */
	bool counts_kernel;		/* each step of the kernel is an instruction */
	bool exit_mm_first;		/* as kernels before 6.16, whose exit drops the mm first */
	bool no_probe;			/* the kernel lets no kprobe be where a mapping is made */
	u32 siblings;			/* bit mask: these CPUs are hyper-threads of one core */
	bool perf;			/* perf has a driver, and the NMI watchdog runs (x86) */
	bool watchdog_off;		/* but not yet as the module is loaded with keep_watchdog=1 */
	bool exits;			/* a virtual machine: the module remembers what RDPMC returns (x86) */
	bool perf_left;			/* perf has counted before, and has left its last values (x86) */
};

extern struct sim_processor sim_processor;

/* Costs of the module so far, for scale.c. */
struct sim_costs {
	unsigned long interrupts, wakes, stops, locks, lines, steps;
	u64 longest_stop;		/* in steps */
	unsigned long all_wakes;	/* also on the waker's CPU; scale.c does not limit it */
	unsigned long touched;		/* cache lines, for cost.c */
	/* For refusals.c: changes of the kernel's code, and what a call has taken and may have given back. */
	unsigned long patches, states, large_allocs, reservations;
	unsigned long denials;		/* of capabilities, in the audit log */
	unsigned long paths;		/* of files that have been looked up */
};

extern struct sim_costs sim_costs;
extern unsigned int sim_path_length;	/* the least number of characters after the first of each path */

extern bool sim_writes_cr4;		/* the module has written CR4 (x86) */
extern bool sim_all_may_read;		/* rdpmc=2 (x86) */

/* Cache lines: the module's accesses are known in builds with access.c's hooks only. */
extern bool sim_has_hooks, sim_watches_lines;
void sim_watch_lines(unsigned int cpu);
void sim_next_round(void);
void sim_touch_lines(const volatile void *p, size_t size, bool write);
void sim_forget_lines(const void *p, size_t size);

static inline void sim_touch(const volatile void *p, size_t size, bool write)
{
	if (sim_watches_lines)
		sim_touch_lines(p, size, write);
}

/* The stacks of all tasks, as far as they are in use.  The current task has this stack pointer. */
void sim_each_stack(void *sp, void (*func)(void *p, size_t size));
void sim_swap(void **from, void *to);

/* get_cycles() goes on in the kernel, where the TSC of the models stands still. */
extern bool sim_kernel_takes_time;

/* Boot the machine, run the function in a task, and wait until it and all others ended. */
void sim_boot(unsigned int nr_cpus, void (*func)(void *arg), void *arg);

void sim_plain_step(const char *what, const void *pc);
bool sim_is_own_stack(const void *p);
void sim_failed_at(const void *pc, const char *format, ...)
	__attribute__((__noreturn__, __format__(__printf__, 2, 3)));
const char *sim_place(const void *pc);
void sim_tell(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
void sim_wait(bool (*cond)(void *arg), void *arg);
void sim_schedule(void);
struct task_struct *sim_make_task(const char *name, void (*func)(void *), void *arg,
				  const struct cred *cred, int pinned);
struct task_struct *sim_kthread(const char *name, void (*func)(void *), void *arg, int cpu,
				unsigned int priority);
void __noreturn sim_kthread_exit(void);
void sim_load_mm(struct mm_struct *mm);
void sim_list_task(struct task_struct *task);
void sim_park(void);
void sim_unpark(struct task_struct *task);
void sim_start_task(struct task_struct *task);
void sim_wake_key(const void *key);
void sim_wake_task(struct task_struct *task);
void sim_run_on(unsigned int cpu, void (*func)(void *arg), void *arg);
void __noreturn sim_die(void);
void sim_rcu_process(void);
bool sim_rcu_due(void);
void sim_rcu_poll(void);
void sim_works_poll(void);
u64 sim_next_event(void);
void sim_cpu_down(unsigned int cpu);
void sim_cpu_up(unsigned int cpu);
void sim_sleep_system(void);
extern bool sim_notifiers_on;
extern int sim_stopped_by;		/* the CPU that has stopped the others, or -1 */
void sim_may_lose_cpu(const char *what);

/* ---- lists of preempt notifiers (notifiers.c) ----------------------------------- */

void sim_watch_notifiers(struct sim_task *t);
void sim_forget_notifiers(struct sim_task *t);
void sim_begins_to_run(struct sim_task *t);	/* all of its notifiers have been called */
struct hlist_node *sim_lead_of_list(void *first);	/* states.c: of a list of its others */
void sim_check_switched_out(struct task_struct *task);
int sim_limit_stops(unsigned int nrstops);	/* current has a state: use the budget of its user */

/* ---- store buffers (stores.c); see also kernel.h -------------------------------- */

extern bool sim_sees_plain_stores;	/* in sim-plain */
extern struct sim_task *sim_unparked;	/* all but those in sim_park() */
bool sim_drain_all(void);		/* false: all buffers were empty */
void sim_leave_buffer(void);
void sim_enter_buffer(void);
void sim_age_buffers(void);

/* ---- kernel services (services.c) ------------------------------------------- */

struct sim_failures {
	unsigned int alloc;		/* one in this many fails; 0: none */
	bool probe;			/* kprobes cannot be enabled */
	bool reserved;			/* the counters are, by another user of them (x86) */
	bool charge;			/* the memory cgroup is full, and nothing is killed */
	unsigned int fault;		/* likewise, accesses to user memory */
	unsigned int signal;		/* likewise, real-time signals */
	unsigned int calls;		/* likewise, both of the first in ioctl(), which is repeated then */
};

extern struct sim_failures sim_failures;
bool sim_call_fails(bool *what);
bool sim_lacks_memory(void);
void sim_check_charged(void);
extern bool sim_shows_garbage;		/* the calls' arguments may have bytes as memory that was not written */
extern struct tracepoint sim_tp_exec, sim_tp_fork, sim_tp_exit, sim_tp_rename, sim_tp_switch;
void sim_tell_mapping(struct vm_area_struct *vma);
extern const struct file_operations *sim_device;
extern int (*sim_cpuhp_startup)(unsigned int cpu), (*sim_cpuhp_teardown)(unsigned int cpu);
extern int (*sim_cpuhp_dying)(unsigned int cpu), (*sim_cpuhp_dead)(unsigned int cpu);
extern unsigned int sim_nr_creds, sim_nr_mms, sim_nr_files, sim_nr_user_tasks;
void sim_kernel_boot(void);
void sim_start_init(void);
void sim_load_module(void);
void sim_check_rest(void);
extern bool sim_module_is_gone;
void sim_unload_module(void (*after)(void));	/* NULL: nothing is left to do after that */
void sim_try_to_load(unsigned int failures);
void sim_load_badly(void);
extern char **const sim_param_forbid_cpus;
void sim_smpboot_park(unsigned int cpu);
void sim_smpboot_unpark(unsigned int cpu);
void sim_cpus_write_lock(void);
void sim_cpus_write_unlock(void);
void sim_syscore_sleep(void);
void sim_syscore_wake(void);

/* ---- registers and other hardware (x86/hardware.c, arm64/hardware.c) --------- */

struct vperfctr_ctr;

void sim_start_hardware(void);		/* as sim_processor says */
void sim_end_perf_maps(struct mm_struct *mm);	/* of an mm that ends */
void sim_check_hardware(void);		/* after the unload */
void sim_check_hardware_rests(void);	/* the module has no users */
bool sim_is_hardware_reserved(void);
void sim_run_instructions(u64 n, bool kernel);
bool sim_counts(void);			/* a counter of this CPU is enabled */
void sim_reset_registers(unsigned int cpu);
void sim_check_offline(unsigned int cpu);
void sim_follow_mm(struct mm_struct *mm);	/* this CPU has switched to another mm */
void sim_begin_cpu(unsigned int cpu);	/* what the kernel does before the callbacks */
void sim_sleep_here(void);		/* this CPU loses its registers */
void sim_idle(void);			/* once before this CPU waits for work */

/* The interrupt of an overflow, which is an NMI or not. */
bool sim_pmi_is_irq(void);
bool sim_pmi_pending(unsigned int cpu);
bool sim_take_pmi(void);
bool sim_pmi_repeats(void);		/* it may be pending again at once */
bool sim_handle_pmi(struct pt_regs *regs);	/* false: the module does not claim it */

bool sim_user_reads(void);		/* user mode may read the counters of this CPU */
u64 sim_counter(u32 map);		/* a register of this CPU */
#define SIM_MAX_COUNTERS	32
/* All of them.  Return: those that were written since the last call. */
u64 sim_counter_values(u64 *value);
void sim_note_activity(void);		/* before this CPU switches to another task (activity.c) */
void sim_run_and_look(u64 instructions, bool kernel);
void sim_count_instructions(struct vperfctr_ctr *ctr);	/* those of user mode */
void sim_count_kernel(struct vperfctr_ctr *ctr);	/* those of kernel mode, too */

/* ---- processes, for scenarios (process.c) ---------------------------------- */

/* Start a process of that user, or a thread of the caller's process. */
/* Called with each process and thread before it can run, if set. */
extern void (*sim_user_task_made)(struct task_struct *task);
/*
 * Called at some places where a task may lose its CPU for any time, if set: the function may sleep.
 */
extern void (*sim_reached)(const char *what);
struct task_struct *sim_process(const char *name, u32 uid, void (*func)(void *), void *arg);
/* Called before the kernel calls the module on behalf of a task: see real.c. */
extern void (*sim_on_callback)(const char *name);

static inline void sim_callback(const char *name)
{
	if (sim_on_callback)
		sim_on_callback(name);
}

struct task_struct *user_thread(const char *name, void (*func)(void *), void *arg);
struct task_struct *user_fork(const char *name, void (*func)(void *), void *arg);
struct task_struct *user_fork_shared(const char *name, void (*func)(void *), void *arg);
void user_wait(struct task_struct *task);	/* and put it */
void __noreturn user_exit(void);
void __noreturn user_exec_that_fails(void);
void user_exec(bool privileged);
void user_map_code(void);
void user_map_file(const char *name, unsigned long start);	/* NULL, "" and "[...]": no file */
void user_exec_as(u32 euid);		/* a set-uid file */
void user_set_uid(u32 uid);
void user_set_user_namespace(void);
void user_use_lent_credentials(void);
void user_set_namespaces(void);		/* a user and a PID namespace of its own */
void user_suspend(void);		/* the system, to RAM */
void user_patch_code(void);		/* of the kernel, as for a BPF program or a static key */
void user_work(u64 instructions);
void user_run_guest(unsigned int steps);
void user_run_guest_until(const bool *ends);
void sim_vcpu_loaded(bool loaded);	/* KVM sets registers for a guest, or restores them */
void user_run_vcpu(u64 instructions);	/* the same in a virtual machine */
void user_sleep(u64 ns);
void user_kill(struct task_struct *task, int sig);
bool user_ptrace_stop(struct task_struct *task);
void user_ptrace_continue(struct task_struct *task);
int user_open_mem(struct task_struct *task);
extern unsigned int sim_fd_flags;	/* of the last descriptor that the module has made */
long user_ioctl(int fd, unsigned int cmd, void *arg);
long user_device_ioctl(unsigned int cmd, void *arg);
int user_close(int fd);
void user_fdinfo(int fd, char *text, size_t size);
struct vm_area_struct *user_mmap(int fd, unsigned long offset, unsigned long size);
struct vm_area_struct *user_mmap_executable(int fd, unsigned long offset, unsigned long size);
bool user_maps_wrongly(int fd);	/* not shared, or writable, or executable */
void user_munmap(struct vm_area_struct *vma);
void user_keep_on_fork(struct vm_area_struct *vma);
struct vm_area_struct *user_mremap(struct vm_area_struct *vma);
vm_fault_t user_fault(struct vm_area_struct *vma);
unsigned int user_poll(int fd);
unsigned int user_wait_poll(int fd);	/* until there are events */
void sim_return_to_user(void);

#endif /* SIM_H */
