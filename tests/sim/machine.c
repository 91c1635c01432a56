// SPDX-License-Identifier: GPL-2.0
/*
 * CPUs, tasks and the order of their steps.
 *
 * Each task is a coroutine, and each CPU has a current task.  One CPU at a time executes.
 * At a step it may stop, and another one goes on from its own last step.  Interrupts and
 * NMIs are calls on the stack of the task that they interrupt.  So the run is one
 * sequence of steps, which the choices determine.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <linux/vperfctr.h>

#include "sim.h"

struct sim_cpu sim_cpus[NR_CPUS];
unsigned int nr_cpu_ids, sim_cpu;
struct cpumask sim_online_mask, sim_possible_mask;
bool fake_online[NR_CPUS], fake_dying;
struct task_struct *sim_tasks;
struct sim_task *sim_unparked;
u64 sim_steps;
bool sim_story, sim_all_steps, sim_notifiers_on;
bool sim_writes_cr4;

static bool running;			/* the machine, not its host */
static u64 now;				/* ns */
static unsigned int notifier_users;

/* A run that takes longer hangs.  Most take some thousands of steps. */
u64 sim_max_steps = 2000000;
#define MAX_STEPS	(sim_max_steps + 100000ULL * nr_cpu_ids)

#define STEP_NS		10

/* Once in this many steps, something else happens than that the CPU goes on. */
#define RARE		24
#define RARE_PLAIN	96		/* at plain accesses, which are many */

/* ---- failures and the story ------------------------------------------------ */

void sim_tell(const char *format, ...)
{
	const struct sim_cpu *cpu = sim_this_cpu();
	va_list args;

	if (!sim_story)
		return;
	printf("%8llu  CPU %-2u %-10s ", sim_steps, sim_cpu,
	       cpu->curr ? cpu->curr->sim->name : "");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static const char *short_name(const char *file)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	return slash ? slash + 1 : file ?: "";
}

/* The place of a CPU's last step. */
static const char *place_of(const struct sim_cpu *cpu)
{
	static char place[256];

	if (cpu->pc)
		return sim_place(cpu->pc);
	snprintf(place, sizeof(place), "%s:%d", short_name(cpu->file), cpu->line);
	return place;
}

static void __noreturn end_failed(void)
{
	unsigned int n;

	putchar('\n');
	for (n = 0; n < nr_cpu_ids; n++) {
		const struct sim_cpu *cpu = &sim_cpus[n];

		if (cpu->curr && cpu->curr != cpu->idle && cpu->what)
			printf("  CPU %u: %s at %s, %s\n", n, cpu->curr->sim->name, place_of(cpu),
			       cpu->what);
	}
	if (sim_story) {
		static const char * const states[] = { "runnable", "sleeps", "traced", "dead" };
		const struct task_struct *task;

		for (task = sim_tasks; task; task = task->next_task)
			printf("  %s %s, on CPU %u%s\n", task->sim->name, states[task->sim->state],
			       task->cpu, task->sim->rcu_depth ? ", an RCU reader" : "");
	}
	sim_choices_save(getenv("SIM_SAVE"));
	fflush(stdout);
	_exit(1);
}

void sim_failed(const char *file, int line, const char *format, ...)
{
	va_list args;

	printf("FAILED at %s:%d, step %llu, CPU %u: ", short_name(file), line, sim_steps, sim_cpu);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	end_failed();
}

/* The same for a place in the code. */
void sim_failed_at(const void *pc, const char *format, ...)
{
	va_list args;

	printf("FAILED at %s, step %llu, CPU %u: ", sim_place(pc), sim_steps, sim_cpu);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	end_failed();
}

/* ---- coroutines ------------------------------------------------------------- */

#define STACK_SIZE	(256 * 1024)

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *size);
void __asan_unpoison_memory_region(const volatile void *p, size_t size);
#else
#define __asan_unpoison_memory_region(p, size)			((void)0)
#define __sanitizer_start_switch_fiber(fake, bottom, size)	((void)0)
#define __sanitizer_finish_switch_fiber(fake, bottom, size)	((void)(bottom), (void)(size))
#endif

/* How many registers a call preserves, beside the stack pointer. */
#define SAVED_REGS	(BITS_PER_LONG == 32 ? 4 : 6)

static void *host_sp;
static const void *host_bottom;
static size_t host_size;

/* Save the registers that a call preserves, and continue on the other stack: see sim.h. */
#if defined(__x86_64__)
__asm__(".text\n.globl sim_swap\n.type sim_swap, @function\nsim_swap:\n"
	"	pushq %rbp\n	pushq %rbx\n	pushq %r12\n"
	"	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	movq %rsp, (%rdi)\n	movq %rsi, %rsp\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n"
	"	popq %r12\n	popq %rbx\n	popq %rbp\n	ret\n"
	".size sim_swap, .-sim_swap\n.section .note.GNU-stack,\"\",@progbits\n.text\n");
#elif defined(__i386__)
__asm__(".text\n.globl sim_swap\n.type sim_swap, @function\nsim_swap:\n"
	"	movl 4(%esp), %eax\n	movl 8(%esp), %edx\n"
	"	pushl %ebp\n	pushl %ebx\n	pushl %esi\n	pushl %edi\n"
	"	movl %esp, (%eax)\n	movl %edx, %esp\n"
	"	popl %edi\n	popl %esi\n	popl %ebx\n	popl %ebp\n	ret\n"
	".size sim_swap, .-sim_swap\n.section .note.GNU-stack,\"\",@progbits\n.text\n");
#else
#error "sim_swap() is written for x86 only"
#endif

static void finish_switch(void);

static void task_begins(void)
{
	const void *bottom = NULL;
	struct sim_task *t;
	size_t size = 0;

	__sanitizer_finish_switch_fiber(NULL, &bottom, &size);
	if (!host_size) {	/* the first task comes from the host's stack */
		host_bottom = bottom;
		host_size = size;
	}
	finish_switch();
	t = current->sim;
	t->func(t->arg);
	sim_fail("the function of a task returns");
}

static void *map_stacks(unsigned int n)
{
	void *p = mmap(NULL, n * STACK_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	sim_require(p != MAP_FAILED, "no memory for a stack");
	return p;
}

#ifdef __SANITIZE_ADDRESS__
/* No stack is used twice: memory.c finds a late access to that of a task that has been freed. */
static void *get_stack(void)
{
	return map_stacks(1);
}

static void put_stack(void *stack)
{
	munmap(stack, STACK_SIZE);
}
#else
/* Few mappings: exploring forks at each choice, and a fork copies them all. */
#define STACKS_AT_ONCE	32

static char *free_stack;		/* linked by their last words */
static char *next_stack, *end_stack;	/* those that no task has used */

static void put_stack(void *stack)
{
	((char **)((char *)stack + STACK_SIZE))[-1] = free_stack;
	free_stack = stack;
}

static void *get_stack(void)
{
	char *stack = free_stack;

	if (stack) {
		free_stack = ((char **)(stack + STACK_SIZE))[-1];
		return stack;
	}
	if (next_stack == end_stack) {
		next_stack = map_stacks(STACKS_AT_ONCE);
		end_stack = next_stack + STACKS_AT_ONCE * STACK_SIZE;
	}
	stack = next_stack;
	next_stack += STACK_SIZE;
	return stack;
}
#endif

static struct sim_task *stacks;		/* all tasks that have one */

static void list_stack(struct sim_task *t)
{
	t->next_stack = stacks;
	t->stack_link = &stacks;
	if (stacks)
		stacks->stack_link = &t->next_stack;
	stacks = t;
}

static void unlist_stack(struct sim_task *t)
{
	*t->stack_link = t->next_stack;
	if (t->next_stack)
		t->next_stack->stack_link = t->stack_link;
}

void sim_each_stack(void *sp, void (*func)(void *p, size_t size))
{
	struct sim_task *t;
	char *end;

	for (t = stacks; t; t = t->next_stack) {
		void *from = t == current->sim ? sp : t->sp;

		end = (char *)t->stack + STACK_SIZE;
		func(from, end - (char *)from);
	}
#ifndef __SANITIZE_ADDRESS__
	for (end = free_stack; end; end = ((char **)end)[-1]) {
		end += STACK_SIZE;
		func(end - sizeof(char *), sizeof(char *));
	}
#endif
	func(host_sp, (SAVED_REGS + 1) * sizeof(void *));	/* what sim_swap() has saved, and returns to */
}

static void make_stack(struct sim_task *t)
{
	void **sp;

	t->stack = get_stack();
	list_stack(t);
	/* A task that ended there has left its frames. */
	__asan_unpoison_memory_region(t->stack, STACK_SIZE);
	sp = (void **)((char *)t->stack + STACK_SIZE - 16) - 1;	/* aligned as after a call */
	*--sp = (void *)task_begins;
	sp -= SAVED_REGS;
	memset(sp, 0, SAVED_REGS * sizeof(*sp));
	t->sp = sp;
}

/* Continue with another coroutine.  The caller has set sim_cpu. */
static void swap_to(struct sim_task *from, struct sim_task *to)
{
	void *fake = NULL;

	if (from == to)
		return;
	__sanitizer_start_switch_fiber(&fake, to->stack, STACK_SIZE);
	sim_swap(&from->sp, to->sp);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
	(void)fake;
}

/* ---- which CPU goes on -------------------------------------------------------- */

struct task_struct *sim_current(void)
{
	return sim_this_cpu()->curr;
}

struct task_struct **sim_task_of(unsigned int cpu)
{
	struct sim_cpu *c = &sim_cpus[cpu];

	return c->curr ? &c->curr : &c->idle;	/* NULL: it is offline */
}

/*
 * The last reference to something large, or to something whose end may take long, must not be
 * put by a real-time thread: others on that CPU would wait.  Interrupts do not count.
 */
void sim_not_realtime(const char *what)
{
	sim_require(!running || !current->sim->priority || sim_this_cpu()->in_irq,
		    "the last reference to %s is put by the real-time thread %s", what,
		    current->sim->name);
}

bool sim_is_in_nmi(void)
{
	return sim_this_cpu()->in_nmi;
}

static bool timer_is_due(const struct sim_cpu *cpu)
{
	return cpu->timers && cpu->timers->expires <= now;
}

/* True if the interrupt of an overflow comes now.  The processor may delay it. */
static bool pmi_is_ready(unsigned int n)
{
	struct sim_cpu *cpu = &sim_cpus[n];

	if (!sim_pmi_pending(n)) {
		cpu->nmi_at = 0;
		return false;
	}
	if (!cpu->nmi_at)
		cpu->nmi_at = now + (sim_explores ? sim_processor.nmi_ns / 4 * sim_choose(2, 2) :
						    sim_processor.nmi_ns * sim_choose(17, 2) / 16);
	return now >= cpu->nmi_at;
}

static bool irq_is_ready(struct sim_cpu *cpu)
{
	if (cpu->irqs_off || cpu->in_irq || cpu->in_nmi)
		return false;
	return cpu->calls || cpu->works || timer_is_due(cpu) || sim_rcu_due() ||
	       (sim_pmi_is_irq() && pmi_is_ready(cpu - sim_cpus));
}

static bool nmi_is_ready(unsigned int n)
{
	return !sim_cpus[n].in_nmi && !sim_pmi_is_irq() && pmi_is_ready(n);
}

static bool can_go_on(unsigned int n)
{
	struct sim_cpu *cpu = &sim_cpus[n];

	return cpu->curr && sim_steps >= cpu->stopped_until && (!cpu->wait || irq_is_ready(cpu) || nmi_is_ready(n) ||
			     cpu->wait(cpu->wait_arg));
}

static u64 slice_began;

static void run_cpu(unsigned int n)
{
	struct sim_task *from = current->sim;

	if (n == sim_cpu)
		return;
	slice_began = sim_steps;
	sim_leave_buffer();
	sim_cpu = n;
	sim_enter_buffer();
	if (sim_story && sim_this_cpu()->what)
		sim_tell("goes on at %s, %s", place_of(sim_this_cpu()), sim_this_cpu()->what);
	swap_to(from, current->sim);
}

/* Choose another CPU that can go on, or return this one. */
static unsigned int other_cpu(unsigned int one_in)
{
	static unsigned int found[NR_CPUS];	/* not on the stack, of which each page costs a fault */
	unsigned int i, n, nr = 0;

	for (i = 1; i < nr_cpu_ids; i++) {
		n = (sim_cpu + i) % nr_cpu_ids;
		if (can_go_on(n))
			found[nr++] = n;
	}
	return nr ? found[sim_choose(nr, one_in)] : sim_cpu;
}

/* A hypervisor has stopped some CPUs.  All may go on. */
static bool start_stopped(void)
{
	bool any = false;
	unsigned int n;

	for (n = 0; n < nr_cpu_ids; n++) {
		any |= sim_steps < sim_cpus[n].stopped_until;
		sim_cpus[n].stopped_until = 0;
	}
	return any;
}

u64 sim_ns(void)
{
	return now;
}

/* No task must be woken before that. */
static u64 next_wake;

/* Wake tasks whose time has come. */
static void wake_sleepers(void)
{
	struct sim_task *t;

	sim_works_poll();
	if (now < next_wake)
		return;
	next_wake = U64_MAX;
	for (t = sim_unparked; t; t = t->next_unparked) {
		if (t->state != SIM_SLEEPS || !t->until)
			continue;
		if (t->until <= now)
			sim_wake_task(t->task);
		else
			next_wake = min(next_wake, t->until);
	}
}

static u64 next_event(void)
{
	u64 next = sim_next_event();
	const struct sim_task *t;
	unsigned int n;

	for (n = 0; n < nr_cpu_ids; n++) {
		if (sim_cpus[n].timers)
			next = min(next, sim_cpus[n].timers->expires);
		if (sim_cpus[n].nmi_at)
			next = min(next, sim_cpus[n].nmi_at);
	}
	for (t = sim_unparked; t; t = t->next_unparked) {
		if (t->state == SIM_SLEEPS && t->until)
			next = min(next, t->until);
	}
	return next;
}

/* No CPU can go on: let time pass. */
static void pass_time(void)
{
	u64 next;

	if (sim_drain_all() || start_stopped())
		return;
	next = next_event();
	if (next == U64_MAX) {
		sim_rcu_poll();
		sim_require(sim_rcu_due(), "nothing can go on: a deadlock");
		return;
	}
	now = max(now, next);
	wake_sleepers();
	sim_rcu_poll();
}

static void do_irq(void);
static void do_nmi(void);

/* Wait on this CPU.  Interrupts come if they are enabled. */
void sim_wait(bool (*cond)(void *arg), void *arg)
{
	sim_drain();		/* it takes long enough */
	for (;;) {
		struct sim_cpu *cpu = sim_this_cpu();
		unsigned int n;

		if (nmi_is_ready(sim_cpu))
			do_nmi();
		if (irq_is_ready(cpu))
			do_irq();
		if (cond(arg))
			return;
		sim_require(++sim_steps < MAX_STEPS, "the machine hangs");
		cpu->wait = cond;
		cpu->wait_arg = arg;
		n = other_cpu(2);
		if (n != sim_cpu)
			run_cpu(n);
		else if (!cond(arg) && !irq_is_ready(cpu))	/* cpu_relax() only lets others go on */
			pass_time();
		sim_this_cpu()->wait = NULL;
	}
}

static bool is_quiet(const struct sim_cpu *cpu)
{
	return !cpu->preempt && !cpu->irqs_off && !cpu->curr->sim->rcu_depth;
}

static void preempt_here(void);
static void migrate_one(void);

/* Something other than the next step of this CPU. */
static noinline void deviate(void)
{
	struct sim_cpu *cpu = sim_this_cpu();

	switch (sim_choose(8, 1)) {
	case 0: case 1:
		if (!cpu->in_nmi && !cpu->irqs_off && !cpu->preempt && cpu->rq) {
			cpu->need_resched = true;
			preempt_here();
			break;
		}
		/* fall through */
	case 2:
		if (cpu->curr == cpu->idle || cpu->rq_locked || cpu->irqs_off)
			break;
		migrate_one();
		break;
	case 3:
		/* A hypervisor stops this CPU.  It goes on when no other can, or later. */
		cpu->stopped_until = sim_steps + (16U << sim_choose(7, 1));
		/* fall through */
	default:
		run_cpu(other_cpu(1));
	}
}

/* The usual choice is that this CPU goes on.  For that many steps, as others must, too. */
#define SLICE	500

/* The same as one choice, of each that is possible. */
static void explore_step(struct sim_cpu *cpu)
{
	static unsigned int other[NR_CPUS];
	unsigned int i, n, nr = 0, choice;
	bool preempt = !cpu->in_nmi && !cpu->irqs_off && !cpu->preempt && cpu->rq &&
		       cpu->curr != cpu->idle;
	bool expired = sim_steps - slice_began > SLICE;

	if (!sim_may_deviate() && !expired)
		return;
	for (i = 1; i < nr_cpu_ids; i++) {
		n = (sim_cpu + i) % nr_cpu_ids;
		if (can_go_on(n))
			other[nr++] = n;
	}
	choice = sim_choose(1 + nr + preempt, 1);
	if (!choice && expired) {
		slice_began = sim_steps;
		/* At its next step, if it is the turn of another task here, too. */
		cpu->need_resched |= cpu->rq && cpu->curr != cpu->idle;
		choice = nr ? 1 : 0;
	}
	if (choice > nr) {
		cpu->need_resched = true;
		preempt_here();
	} else if (choice) {
		run_cpu(other[choice - 1]);
	}
}

/* A step of the kernel is an instruction for counters of kernel mode, if the scenario asks. */
static void count_kernel(void)
{
	if (sim_processor.counts_kernel && sim_counts())
		sim_run_and_look(1, true);
}

/*
 * True if the interrupt comes before the next instruction.  On x86 irq_work_queue() waits until the
 * local APIC has accepted the interrupt, so user mode does not go on before it.
 */
static bool irq_is_next(const struct sim_cpu *cpu)
{
	return !sim_pmi_is_irq() && cpu->works && !cpu->preempt && cpu->curr->sim->regs.user;
}

/* One step of this CPU is over: interrupts, and what other CPUs do, may come here. */
static void step(struct sim_cpu *cpu, unsigned int rare)
{
	sim_require(++sim_steps < MAX_STEPS, "the machine hangs");
	current->sim->steps++;
	now += STEP_NS;
	if (!(sim_steps % 16) && !cpu->rq_locked && !cpu->in_nmi) {
		wake_sleepers();
		sim_rcu_poll();
	}
	if (!(sim_steps % 16))
		sim_age_buffers();
	if (is_quiet(cpu))
		cpu->quiet_step = sim_steps;
	count_kernel();
	if (nmi_is_ready(sim_cpu))
		do_nmi();
	if (irq_is_ready(cpu) && (irq_is_next(cpu) || !sim_choose(2, 4)))
		do_irq();
	if (cpu->need_resched && !cpu->preempt && !cpu->irqs_off && !cpu->in_nmi)
		preempt_here();
	if (sim_explores)
		explore_step(cpu);
	else if (sim_choose(2, rare))
		deviate();
}

void sim_step(const char *what, const char *file, int line)
{
	struct sim_cpu *cpu;

	if (!running)
		return;
	cpu = sim_this_cpu();
	cpu->what = what;
	cpu->file = file;
	cpu->line = line;
	cpu->pc = NULL;
	if (sim_explores)
		sim_explored_step(sim_cpu, file, line);
	if (sim_all_steps)
		sim_tell("%s:%d: %s", short_name(file), line, what);
	step(cpu, RARE);
}

/* An access to memory that is no call of the kernel's interface. */
void sim_plain_step(const char *what, const void *pc)
{
	struct sim_cpu *cpu;

	if (!running)
		return;
	cpu = sim_this_cpu();
	cpu->what = what;
	cpu->pc = pc;
	if (sim_explores)
		sim_explored_step(sim_cpu, pc, 0);
	if (sim_all_steps)
		sim_tell("%s: %s", sim_place(pc), what);
	step(cpu, RARE_PLAIN);
}

/* True for what only this task uses, unless it gives an address to others. */
bool sim_is_own_stack(const void *p)
{
	const char *stack = running ? current->sim->stack : NULL;

	return !running || ((const char *)p >= stack && (const char *)p < stack + STACK_SIZE);
}

static bool yielded(void *step)
{
	return sim_steps > *(u64 *)step;
}

/* In a loop that waits for another CPU: let the others go on. */
void cpu_relax(void)
{
	u64 step = sim_steps;

	sim_wait(yielded, &step);
}

/* ---- context ------------------------------------------------------------------ */

int sim_preempt_count(void)
{
	return sim_this_cpu()->preempt;
}

unsigned int sim_smp_processor_id(void)
{
	const struct sim_cpu *cpu = sim_this_cpu();

	sim_require(!running || cpu->preempt || cpu->irqs_off || current->sim->pinned,
		    "smp_processor_id() where the task can move");
	return sim_cpu;
}

bool irqs_disabled(void)
{
	return sim_this_cpu()->irqs_off || sim_this_cpu()->in_nmi;
}

void preempt_disable(void)
{
	sim_this_cpu()->preempt++;
}

void preempt_enable(void)
{
	sim_require(sim_this_cpu()->preempt > 0, "preempt_enable() without preempt_disable()");
	sim_this_cpu()->preempt--;
	SIM_STEP("preempt_enable");
}

bool sim_irq_save(void)
{
	bool were_off = irqs_disabled();

	SIM_STEP("local_irq_save");
	if (!sim_this_cpu()->in_nmi)
		sim_this_cpu()->irqs_off = true;
	return were_off;
}

void sim_irq_restore(bool were_off)
{
	sim_require(irqs_disabled(), "local_irq_restore() with interrupts enabled");
	if (were_off)
		return;
	SIM_STEP("local_irq_restore");
	sim_this_cpu()->irqs_off = false;
	SIM_STEP("local_irq_restore");
}

void local_irq_disable(void)
{
	sim_irq_save();
}

void local_irq_enable(void)
{
	sim_require(!sim_this_cpu()->in_irq && !sim_this_cpu()->in_nmi,
		    "local_irq_enable() in an interrupt");
	sim_irq_restore(false);
}

void pagefault_disable(void)
{
	current->sim->no_faults++;
}

void pagefault_enable(void)
{
	sim_require(current->sim->no_faults, "pagefault_enable() without pagefault_disable()");
	current->sim->no_faults--;
}

struct sim_context sim_context(void)
{
	const struct sim_cpu *cpu = sim_this_cpu();
	const struct sim_task *t = current->sim;

	return (struct sim_context) {
		cpu->preempt, t->atomic, t->rcu_depth, cpu->spins.n, t->mutexes.n, t->user_access,
		t->no_faults, irqs_disabled(),
	};
}

/* Real kernels check some of this at some places, and only if they are built for it. */
void sim_check_context(const struct sim_context *before, const char *what)
{
	struct sim_context after = sim_context();

	sim_require(after.preempt == before->preempt && after.irqs_off == before->irqs_off,
		    "%s leaves preemption or interrupts in another state", what);
	sim_require(after.spins == before->spins && after.mutexes == before->mutexes,
		    "%s leaves a lock in another state", what);
	sim_require(after.rcu_depth == before->rcu_depth, "%s leaves another number of RCU readers", what);
	sim_require(after.user_access == before->user_access, "%s does not end its access to user memory", what);
	sim_require(after.no_faults == before->no_faults, "%s leaves page faults disabled", what);
	sim_require(after.atomic == before->atomic, "%s does not end its marked accesses", what);
}

void sim_might_sleep(const char *file, int line)
{
	const struct sim_cpu *cpu = sim_this_cpu();

	if (cpu->preempt || cpu->irqs_off || cpu->in_irq || cpu->in_nmi)
		sim_failed(file, line, "this may sleep, with preemption or interrupts disabled");
	if (current->sim->rcu_depth)
		sim_failed(file, line, "this may sleep, in an RCU reader");
	sim_step("might_sleep", file, line);
}

void cond_resched(void)
{
	might_sleep();
	if (sim_this_cpu()->rq)
		sim_this_cpu()->need_resched = true;
	SIM_STEP("cond_resched");
}

/* ---- interrupts ------------------------------------------------------------------ */

static void run_calls(struct sim_cpu *cpu)
{
	struct sim_call *call;

	while ((call = cpu->calls)) {
		cpu->calls = call->next;
		call->func(call->arg);
		SIM_STEP("the end of a call for another CPU");
		sim_drain();
		call->done = true;
	}
}

static void run_irq_works(struct sim_cpu *cpu)
{
	struct irq_work *work;

	while ((work = cpu->works)) {
		cpu->works = work->next;
		work->busy = true;
		work->pending = false;
		SIM_STEP("irq_work");
		work->func(work);
		sim_drain();
		/* The function of one that is not queued again may not touch it. */
		if (!work->pending)
			work->busy = false;
	}
}

static struct hrtimer_cpu_base timer_cpus[NR_CPUS];
static struct hrtimer_clock_base timer_bases[NR_CPUS];

static void set_timer_cpu(struct hrtimer *timer, unsigned int cpu)
{
	timer_cpus[cpu].cpu = cpu;
	timer_bases[cpu].cpu_base = &timer_cpus[cpu];
	timer->base = &timer_bases[cpu];
}

static struct hrtimer **timers_with(const struct hrtimer *timer)
{
	return &sim_cpus[timer->base->cpu_base->cpu].timers;
}

static void insert_timer(struct hrtimer *timer)
{
	struct hrtimer **p = timers_with(timer);

	while (*p && (*p)->expires <= timer->expires)
		p = &(*p)->next;
	timer->next = *p;
	*p = timer;
	timer->queued = true;
}

static void remove_timer(struct hrtimer *timer)
{
	struct hrtimer **p = timers_with(timer);

	if (!timer->queued)
		return;
	while (*p != timer)
		p = &(*p)->next;
	*p = timer->next;
	timer->queued = false;
}

static void run_timers(struct sim_cpu *cpu)
{
	struct hrtimer *timer;

	while (timer_is_due(cpu)) {
		timer = cpu->timers;
		remove_timer(timer);
		timer->running = true;
		SIM_STEP("hrtimer");
		if (timer->function(timer) == HRTIMER_RESTART && !timer->queued)
			insert_timer(timer);
		timer->running = false;
	}
}

static unsigned long kernel_ip(void)
{
	return BITS_PER_LONG == 32 ? PAGE_OFFSET + sim_steps % 64 * 16 :
				     0xffffffff81000000ULL + sim_steps % 65536 * 256;
}

/* The registers that an interrupt finds.  A switch may have been entered from user mode. */
static struct pt_regs interrupted_regs(const struct sim_cpu *cpu)
{
	if (current->sim->regs.user && !cpu->preempt && !cpu->irqs_off)
		return current->sim->regs;
	if (!cpu->irqs_off && !cpu->in_irq)
		return (struct pt_regs) { SIM_IRQS_ON, .sim_ip = kernel_ip() };
	return (struct pt_regs) { .sim_ip = kernel_ip() };
}

struct pt_regs *get_irq_regs(void)
{
	sim_require(sim_this_cpu()->in_irq || sim_this_cpu()->in_nmi, "get_irq_regs() outside of an interrupt");
	return &sim_this_cpu()->irq_regs;
}

static void do_irq(void)
{
	struct sim_cpu *cpu = sim_this_cpu();
	struct sim_context context;

	if (sim_story)
		sim_tell("interrupt, at %s, %s", place_of(cpu), cpu->what ?: "");
	cpu->stats.interrupts++;
	sim_drain();
	cpu->irq_regs = interrupted_regs(cpu);
	cpu->irqs_off = true;
	cpu->in_irq = true;
	cpu->interrupted_preempt = cpu->preempt;
	cpu->preempt += HARDIRQ_OFFSET;
	context = sim_context();
	run_calls(cpu);
	run_timers(cpu);
	if (sim_pmi_is_irq() && pmi_is_ready(sim_cpu)) {
		cpu->nmi_at = 0;
		sim_require(sim_handle_pmi(&cpu->irq_regs), "an interrupt of the counters is not claimed");
	}
	run_irq_works(cpu);
	sim_rcu_process();
	sim_check_context(&context, "an interrupt");
	cpu->preempt -= HARDIRQ_OFFSET;
	cpu->in_irq = false;
	cpu->irqs_off = false;
	sim_tell("end of the interrupt");
}

static void do_nmi(void)
{
	struct sim_cpu *cpu = sim_this_cpu();
	struct pt_regs regs = interrupted_regs(cpu), irq_regs = cpu->irq_regs;
	struct sim_context context;

	cpu->irq_regs = regs;
	/* If it is raised again at once, the interrupted code makes no step in between. */
	cpu->nmi_at = 0;
	while (sim_take_pmi()) {
		cpu->stats.nmis++;
		if (sim_story)
			sim_tell("NMI of %s mode, at %s, %s", regs.user ? "user" : "kernel",
				 place_of(cpu), cpu->what ?: "");
		cpu->in_nmi = true;
		cpu->preempt += 16 * HARDIRQ_OFFSET;
		context = sim_context();
		if (!sim_handle_pmi(&regs))
			sim_fail("an NMI of the counters is not claimed");
		sim_check_context(&context, "an NMI");
		cpu->preempt -= 16 * HARDIRQ_OFFSET;
		cpu->in_nmi = false;
		sim_drain();		/* by IRET */
		if (!sim_pmi_repeats())
			break;
	}
	cpu->irq_regs = irq_regs;
}

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*func)(struct hrtimer *),
		   clockid_t clock, enum hrtimer_mode mode)
{
	(void)clock;
	(void)mode;
	*timer = (struct hrtimer) { .function = func };
	set_timer_cpu(timer, sim_cpu);
}

void hrtimer_start(struct hrtimer *timer, ktime_t time, enum hrtimer_mode mode)
{
	sim_require(!sim_this_cpu()->in_nmi, "hrtimer_start() in an NMI");
	SIM_STEP("hrtimer_start");
	remove_timer(timer);
	timer->expires = mode == HRTIMER_MODE_ABS_PINNED_HARD ? (u64)time : now + time;
	set_timer_cpu(timer, sim_cpu);
	insert_timer(timer);
}

bool hrtimer_is_queued(struct hrtimer *timer)
{
	SIM_STEP("hrtimer_is_queued");
	return timer->queued;
}

u64 hrtimer_forward_now(struct hrtimer *timer, ktime_t interval)
{
	timer->expires = now + interval;
	return 1;
}

static bool timer_ended(void *arg)
{
	return !((struct hrtimer *)arg)->running;
}

int hrtimer_cancel(struct hrtimer *timer)
{
	SIM_STEP("hrtimer_cancel");
	sim_wait(timer_ended, timer);
	remove_timer(timer);
	return 0;
}

void init_irq_work(struct irq_work *work, void (*func)(struct irq_work *))
{
	*work = (struct irq_work) { .func = func };
}

bool irq_work_queue(struct irq_work *work)
{
	struct irq_work **p;

	SIM_STEP("irq_work_queue");
	sim_require(work->func, "an irq_work was not initialized");
	sim_drain();
	if (work->pending)
		return false;
	work->pending = true;
	work->next = NULL;
	for (p = &sim_this_cpu()->works; *p; p = &(*p)->next)
		;
	*p = work;
	return true;
}

static bool work_is_idle(void *arg)
{
	const struct irq_work *work = arg;

	return !work->pending && !work->busy;
}

void irq_work_sync(struct irq_work *work)
{
	might_sleep();
	sim_wait(work_is_idle, work);
}

void irq_work_run(void)
{
	run_irq_works(sim_this_cpu());
}

static void add_call(unsigned int n, struct sim_call *call)
{
	struct sim_call **p;

	sim_costs.interrupts++;
	sim_drain();
	for (p = &sim_cpus[n].calls; *p; p = &(*p)->next)
		;
	*p = call;
}

static bool all_called(void *arg)
{
	const struct sim_call *calls = arg;
	unsigned int n;

	for (n = 0; n < nr_cpu_ids; n++) {
		if (!calls[n].done)
			return false;
	}
	return true;
}

static void check_call_context(void)
{
	sim_require(!irqs_disabled() && !sim_this_cpu()->in_irq,
		    "waits for other CPUs with interrupts disabled, and they may wait for this one");
}

static void call_here(void (*func)(void *), void *arg)
{
	bool flags;

	local_irq_save(flags);
	func(arg);
	local_irq_restore(flags);
}

static bool in_mask(int cpu, void *mask)
{
	return cpumask_test_cpu(cpu, (const struct cpumask *)mask);
}

static void call_cpus(bool (*cond)(int cpu, void *arg), void *cond_arg, void (*func)(void *),
		      void *arg)
{
	struct sim_call calls[NR_CPUS];
	bool here;
	unsigned int n;

	check_call_context();
	preempt_disable();
	here = cond(sim_cpu, cond_arg);
	for (n = 0; n < nr_cpu_ids; n++) {
		calls[n] = (struct sim_call) { .func = func, .arg = arg, .done = true };
		if (n == sim_cpu || !fake_online[n] || !cond(n, cond_arg))
			continue;
		SIM_STEP("call another CPU");
		if (!fake_online[n])
			continue;
		calls[n].done = false;
		add_call(n, &calls[n]);
	}
	if (here)
		call_here(func, arg);
	sim_wait(all_called, calls);
	preempt_enable();
}

void on_each_cpu_cond(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg, int wait)
{
	sim_require(wait, "does not wait for the CPUs");
	call_cpus(cond, arg, func, arg);
}

void on_each_cpu_mask(const struct cpumask *mask, void (*func)(void *), void *arg, int wait)
{
	sim_require(wait, "does not wait for the CPUs");
	call_cpus(in_mask, (void *)mask, func, arg);
	if (sim_reached && !sim_this_cpu()->preempt && !sim_this_cpu()->irqs_off)
		sim_reached("other CPUs have been called");
}

struct cond_mask {
	bool (*cond)(int cpu, void *arg);
	void *arg;
	const struct cpumask *mask;
};

static bool fits_both(int cpu, void *arg)
{
	const struct cond_mask *c = arg;

	return cpumask_test_cpu(cpu, c->mask) && c->cond(cpu, c->arg);
}

void on_each_cpu_cond_mask(bool (*cond)(int cpu, void *arg), void (*func)(void *), void *arg,
			   int wait, const struct cpumask *mask)
{
	struct cond_mask c = { cond, arg, mask };

	sim_require(wait, "does not wait for the CPUs");
	call_cpus(fits_both, &c, func, arg);
}

static bool call_is_done(void *arg)
{
	return ((struct sim_call *)arg)->done;
}

int smp_call_function_single(int cpu, void (*func)(void *), void *arg, int wait)
{
	struct sim_call call = { .func = func, .arg = arg };
	int err = 0;

	sim_require(wait, "does not wait for the CPU");
	check_call_context();
	preempt_disable();
	SIM_STEP("call another CPU");
	if ((unsigned int)cpu == sim_cpu) {
		call_here(func, arg);
	} else if (!fake_online[cpu]) {
		err = -ENXIO;
	} else {
		add_call(cpu, &call);
		sim_wait(call_is_done, &call);
	}
	preempt_enable();
	return err;
}

/* ---- locks ---------------------------------------------------------------------- */

#define MAX_CLASSES	64

static struct lock_class {
	const char *name;
	bool in_irq, irqs_on;
	u64 before;			/* the classes that have been taken inside of it */
} classes[MAX_CLASSES];

static struct lock_class *class_of(struct sim_lock *lock)
{
	unsigned int i;

	for (i = 1; i < MAX_CLASSES; i++) {
		if (!classes[i].name)
			classes[i].name = lock->name;
		if (classes[i].name == lock->name) {
			lock->class = i;
			return &classes[i];
		}
	}
	sim_fail("too many classes of locks");
}

/* True if the class `to` has been taken inside of `from`, directly or not. */
static bool reaches(unsigned int from, unsigned int to)
{
	u64 seen = BIT_ULL(from), old = 0;
	unsigned int i;

	while (seen != old) {
		old = seen;
		for (i = 0; i < MAX_CLASSES; i++)
			seen |= seen >> i & 1 ? classes[i].before : 0;
	}
	return seen >> to & 1;
}

static void check_order(const struct sim_held *held, struct sim_lock *lock, unsigned int subclass)
{
	unsigned int i;

	for (i = 0; i < held->n; i++) {
		unsigned int outer = held->lock[i]->class;

		if (classes[outer].before >> lock->class & 1)
			continue;
		/* The caller says that this one is the inner one of two. */
		if (subclass && outer == lock->class)
			continue;
		if (outer == lock->class || reaches(lock->class, outer))
			sim_fail("lock order: %s inside of %s", lock->name, classes[outer].name);
		classes[outer].before |= BIT_ULL(lock->class);
	}
}

static void check_lock(struct sim_lock *lock, unsigned int subclass, bool spins)
{
	struct sim_cpu *cpu = sim_this_cpu();
	struct lock_class *class;

	sim_require(lock->name, "a lock is not initialized");
	sim_costs.locks++;
	sim_require(!cpu->in_nmi, "the lock %s in an NMI", lock->name);
	class = class_of(lock);
	check_order(&cpu->spins, lock, subclass);
	check_order(&current->sim->mutexes, lock, subclass);
	if (!spins)
		return;
	class->in_irq |= cpu->in_irq;
	class->irqs_on |= !cpu->irqs_off;
	sim_require(!class->in_irq || !class->irqs_on,
		    "the lock %s in an interrupt, and elsewhere with interrupts enabled", lock->name);
}

static void hold(struct sim_held *held, const struct sim_lock *lock)
{
	sim_require(held->n < SIM_MAX_HELD, "too many locks are held");
	held->lock[held->n++] = lock;
}

static void unhold(struct sim_held *held, const struct sim_lock *lock)
{
	unsigned int i;

	for (i = 0; i < held->n; i++) {
		if (held->lock[i] == lock) {
			held->lock[i] = held->lock[--held->n];
			return;
		}
	}
	sim_fail("the lock %s is released without being held here", lock->name);
}

static bool is_free(void *arg)
{
	return !((struct sim_lock *)arg)->owner;
}

void sim_spin_lock_nested(struct sim_lock *lock, unsigned int subclass, const char *file, int line)
{
	preempt_disable();
	sim_step(lock->name, file, line);
	check_lock(lock, subclass, true);
	sim_touch(lock, sizeof(*lock), true);
	if (lock->owner == sim_this_cpu())
		sim_failed(file, line, "the lock %s is held by this CPU: a deadlock", lock->name);
	/* An acquire, which earlier stores may pass.  A wait is long enough for them. */
	if (lock->owner)
		sim_wait(is_free, lock);
	lock->owner = sim_this_cpu();
	if (!sim_this_cpu()->spins.n)
		sim_this_cpu()->spins_step = sim_steps;
	hold(&sim_this_cpu()->spins, lock);
}

void sim_spin_lock(struct sim_lock *lock, const char *file, int line)
{
	sim_spin_lock_nested(lock, 0, file, line);
}

void sim_spin_unlock(struct sim_lock *lock)
{
	SIM_STEP("unlock");
	unhold(&sim_this_cpu()->spins, lock);
	/* A store, before which the others are visible. */
	sim_order_stores();
	sim_will_store(&lock->owner, sizeof(lock->owner));
	lock->owner = NULL;
	preempt_enable();
}

static int lock_mutex(struct mutex *m, bool killable)
{
	might_sleep();
	sim_touch(m, sizeof(*m), true);
	check_lock(&m->l, 0, false);
	sim_require(m->l.owner != current, "the mutex %s is held by this task", m->l.name);
	while (m->l.owner) {
		/* Without a step, in which the lock could be released. */
		if (killable && (current->sim->signals >> SIGKILL & 1))
			return -EINTR;
		current->sim->killable = killable;
		sim_sleep_on(m, 0);
	}
	m->l.owner = current;
	hold(&current->sim->mutexes, &m->l);
	return 0;
}

void mutex_lock(struct mutex *m)
{
	lock_mutex(m, false);
}

int mutex_lock_killable(struct mutex *m)
{
	return lock_mutex(m, true);
}

void mutex_unlock(struct mutex *m)
{
	SIM_STEP("mutex_unlock");
	sim_require(m->l.owner == current, "a mutex is released by a task that does not hold it");
	unhold(&current->sim->mutexes, &m->l);
	sim_drain();
	m->l.owner = NULL;
	sim_wake_up(m);
}

void down_read(struct rw_semaphore *s)
{
	might_sleep();
	while (s->writer)
		sim_sleep_on(s, 0);
	s->readers++;
}

void up_read(struct rw_semaphore *s)
{
	SIM_STEP("up_read");
	sim_require(s->readers, "a semaphore is released that is not held");
	sim_drain();
	s->readers--;
	sim_wake_up(s);
}

void down_write(struct rw_semaphore *s)
{
	might_sleep();
	while (s->writer || s->readers)
		sim_sleep_on(s, 0);
	s->writer = true;
}

void up_write(struct rw_semaphore *s)
{
	SIM_STEP("up_write");
	sim_require(s->writer, "a semaphore is released that is not held");
	sim_drain();
	s->writer = false;
	sim_wake_up(s);
}

bool refcount_dec_and_mutex_lock(refcount_t *r, struct mutex *m)
{
	if (refcount_dec_not_one(r))
		return false;
	mutex_lock(m);
	if (refcount_dec_and_test(r))
		return true;
	mutex_unlock(m);
	return false;
}

static void tell_refs(const refcount_t *r, int n)
{
	if (sim_all_steps)
		sim_tell("%+d reference to %p, %d before", n, (void *)r, r->refs.counter);
}

void sim_refcount_inc(refcount_t *r, const char *file, int line)
{
	sim_step("refcount_inc", file, line);
	sim_touch(r, sizeof(*r), true);
	tell_refs(r, 1);
	if (r->refs.counter <= 0)
		sim_failed(file, line, "a reference is taken to what has none");
	r->refs.counter++;
}

bool sim_refcount_dec(refcount_t *r, const char *file, int line)
{
	sim_step("refcount_dec", file, line);
	sim_touch(r, sizeof(*r), true);
	sim_drain();
	tell_refs(r, -1);
	if (r->refs.counter <= 0)
		sim_failed(file, line, "a reference is put that does not exist");
	return !--r->refs.counter;
}

bool sim_refcount_add_unless(refcount_t *r, int n, int unless, const char *file, int line)
{
	sim_step("refcount_add_unless", file, line);
	sim_touch(r, sizeof(*r), true);
	if (n < 0)
		sim_drain();
	if (r->refs.counter == unless)
		return false;
	tell_refs(r, n);
	r->refs.counter += n;
	return true;
}

unsigned int raw_read_seqcount_begin(const seqcount_t *s)
{
	unsigned int seq;

	while ((seq = READ_ONCE(s->sequence)) & 1)
		cpu_relax();
	kcsan_nestable_atomic_begin();
	return seq;
}

/* ---- scheduling ------------------------------------------------------------------- */

/* A task with this priority takes the CPU from its current one. */
static bool preempts(unsigned int priority, const struct sim_cpu *cpu)
{
	return cpu->curr == cpu->idle || priority > cpu->curr->sim->priority;
}

static void enqueue(struct task_struct *task, unsigned int n)
{
	struct sim_task **p = &sim_cpus[n].rq;

	while (*p && (*p)->priority >= task->sim->priority)
		p = &(*p)->next_rq;
	task->sim->next_rq = *p;
	*p = task->sim;
	if (preempts(task->sim->priority, &sim_cpus[n]))
		sim_cpus[n].need_resched = true;
}

static void dequeue(struct task_struct *task)
{
	struct sim_task **p = &sim_cpus[task->cpu].rq;

	while (*p != task->sim)
		p = &(*p)->next_rq;
	*p = task->sim->next_rq;
}

static unsigned int allowed_cpu(const struct task_struct *task)
{
	static unsigned int found[NR_CPUS];
	unsigned int n, nr = 0;

	if (task->sim->pinned)
		return task->cpu;
	for (n = 0; n < nr_cpu_ids; n++) {
		unsigned int cpu = (task->cpu + n) % nr_cpu_ids;

		if (sim_cpus[cpu].active && (task->cpus_mask.bits[SIM_WORD(cpu)] >> SIM_BIT(cpu) & 1))
			found[nr++] = cpu;
	}
	if (!nr)	/* the kernel widens the affinity then */
		found[nr++] = cpumask_first(cpu_online_mask);
	return found[sim_choose(nr, 3)];
}

static void set_cpu(struct task_struct *task, unsigned int n)
{
	if (task->cpu == n)
		return;
	task->se.nr_migrations++;
	task->cpu = n;
}

static void end_sleep(struct task_struct *task)
{
	task->sim->state = SIM_RUNNABLE;
	task->sim->until = 0;
	task->sim->key = NULL;
	task->sim->killable = false;
}

/*
 * The timers of other CPUs may wake a task that has just left this CPU, and run it before
 * this CPU takes interrupts.
 */
static void wake_elsewhere(struct task_struct *task)
{
	unsigned int n = (sim_cpu + 1) % nr_cpu_ids;

	if (task->sim->state != SIM_SLEEPS || !task->sim->until || task->sim->until > now ||
	    task->on_rq || task->sim->pinned || n == sim_cpu || !sim_cpus[n].active ||
	    sim_cpus[n].rq_locked || !(task->cpus_mask.bits[SIM_WORD(n)] >> SIM_BIT(n) & 1) || sim_choose(2, 4))
		return;
	end_sleep(task);
	set_cpu(task, n);
	task->on_rq = 1;
	enqueue(task, n);
}

/* Make a sleeping task runnable.  The order of the steps is that of the kernel. */
void sim_wake_task(struct task_struct *task)
{
	sim_require(!sim_this_cpu()->rq_locked, "a task is woken with the run queue locked");
	sim_require(!sim_this_cpu()->in_nmi, "a task is woken in an NMI");
	sim_drain();
	if (task->sim->state != SIM_SLEEPS)
		return;
	end_sleep(task);
	if (task->on_rq)
		return;			/* has not left its CPU yet */
	if (!task->on_cpu)
		set_cpu(task, allowed_cpu(task));
	task->on_rq = 1;
	enqueue(task, task->cpu);
}

int wake_up_process(struct task_struct *task)
{
	SIM_STEP("wake_up_process");
	sim_costs.wakes += task->cpu != sim_cpu;
	sim_costs.all_wakes++;
	task->sim->woken = true;
	sim_wake_task(task);
	return 1;
}

/* Without a step. */
void sim_wake_key(const void *key)
{
	struct sim_task *t;

	for (t = sim_unparked; t; t = t->next_unparked) {
		if (key && t->polls == key)
			t->polled = true;
		if (t->state == SIM_SLEEPS && t->key == key)
			sim_wake_task(t->task);
	}
}

void sim_wake_up(const void *key)
{
	SIM_STEP("wake_up");
	sim_drain();
	sim_wake_key(key);
}

bool wq_has_sleeper(wait_queue_head_t *w)
{
	const struct sim_task *t;

	SIM_STEP("wq_has_sleeper");
	sim_drain();
	for (t = sim_unparked; t; t = t->next_unparked) {
		if (t->polls == w || (t->state == SIM_SLEEPS && t->key == w))
			return true;
	}
	return false;
}

/* Sleep until a wake-up for the key, or a time.  The caller has just checked, without a step. */
void sim_sleep_on(const void *key, u64 until)
{
	current->sim->holdout = false;
	current->sim->key = key;
	current->sim->until = until;
	if (until)
		next_wake = min(next_wake, until);
	current->sim->state = SIM_SLEEPS;
	sim_schedule();
}

void sim_sleep_until(const void *key, u64 until)
{
	sim_sleep_on(key, min(until, now + 20 * NSEC_PER_MSEC));
}

static struct task_struct *pick_next(struct sim_cpu *cpu)
{
	struct sim_task *t = cpu->rq;

	if (!t)
		return cpu->idle;
	cpu->rq = t->next_rq;
	return t->task;
}

/*
 * As from 6.13 on, the CPU stays in the mask of the mm that it leaves.  Context: interrupts
 * disabled.
 */
void sim_load_mm(struct mm_struct *mm)
{
	struct sim_cpu *cpu = sim_this_cpu();

	if (cpu->loaded_mm == mm)
		return;
	mm->cpus.bits[SIM_WORD(sim_cpu)] |= BIT(SIM_BIT(sim_cpu));
	mmgrab(mm);
	if (cpu->loaded_mm)
		mmdrop(cpu->loaded_mm);
	sim_drain();		/* by the write to CR3 */
	cpu->loaded_mm = mm;
	sim_follow_mm(mm);
}

/* A kernel thread leaves the mm of its predecessor, which it has not changed so far. */
bool sim_all_may_read;

void leave_mm(void)
{
	struct sim_cpu *cpu = sim_this_cpu();

	sim_require(cpu->irqs_off || cpu->preempt, "leave_mm() where the task can be switched out");
	sim_require(!current->mm, "leave_mm() in a task that uses its mm");
	SIM_STEP("leave_mm");
	if (cpu->loaded_mm)
		mmdrop(cpu->loaded_mm);
	cpu->loaded_mm = NULL;
	cpu->pce = sim_all_may_read;
}

/* A kernel thread borrows what is loaded, if that is an mm of a process. */
static void switch_mm(struct task_struct *prev, struct task_struct *next)
{
	next->active_mm = next->mm ?: prev->active_mm;
	if (next->mm)
		sim_load_mm(next->mm);
	if (!prev->mm)
		prev->active_mm = NULL;
	SIM_STEP("the next task's mm is loaded");
}

void (*sim_on_callback)(const char *name);

static struct task_struct *switched_from[NR_CPUS];

static void fire_sched_out(struct task_struct *prev, struct task_struct *next)
{
	struct sim_context context = sim_context();
	struct preempt_notifier *n;

	if (!sim_notifiers_on)
		return;
	hlist_for_each_entry(n, &prev->preempt_notifiers, link) {
		sim_callback("sched_out");
		n->ops->sched_out(n, next);
	}
	sim_check_switched_out(prev);
	sim_check_context(&context, "sched_out()");
}

static void call_switch_probe(struct task_struct *prev, struct task_struct *next)
{
	void (*probe)(void *, bool, struct task_struct *, struct task_struct *) = sim_tp_switch.func;

	if (probe)
		probe(NULL, false, prev, next);
}

static void put_task_rcu(struct rcu_head *rcu)
{
	put_task_struct(container_of(rcu, struct task_struct, rcu));
}

/* The reference of the task itself remains for a grace period after its end. */
static void put_task_late(struct task_struct *task)
{
	call_rcu(&task->rcu, put_task_rcu);
}

/* The new task's part of a switch: it may be on another CPU than when it last ran. */
static void finish_switch(void)
{
	struct sim_cpu *cpu = sim_this_cpu();
	struct task_struct *prev = switched_from[sim_cpu];
	struct sim_context context;
	struct preempt_notifier *n;
	bool dead = prev->sim->state == SIM_DEAD;	/* later it may run elsewhere */

	SIM_STEP("finish_task_switch");
	sim_drain();		/* before another CPU may run it */
	prev->on_cpu = 0;
	wake_elsewhere(prev);
	SIM_STEP("the previous task may run elsewhere");
	SIM_STEP("the run queue is unlocked");
	cpu->rq_locked = false;
	cpu->irqs_off = false;
	SIM_STEP("interrupts are enabled after the switch");
	if (sim_notifiers_on) {
		context = sim_context();
		hlist_for_each_entry(n, &current->preempt_notifiers, link) {
			sim_callback("sched_in");
			n->ops->sched_in(n, sim_cpu);
		}
		sim_check_context(&context, "sched_in()");
	}
	sim_begins_to_run(current->sim);
	if (dead)
		put_task_late(prev);
	preempt_enable();
}

static void schedule(bool preempted)
{
	struct sim_cpu *cpu = sim_this_cpu();
	struct task_struct *prev = cpu->curr, *next;

	sim_require(!cpu->in_irq && !cpu->in_nmi, "a switch in an interrupt");
	sim_require(!cpu->spins.n, "a switch with a spinlock held");
	cpu->preempt++;
	SIM_STEP("__schedule");
	cpu->irqs_off = true;
	SIM_STEP("__schedule, interrupts disabled");
	sim_drain();
	cpu->need_resched = false;
	if (prev != cpu->idle) {
		if (preempted || prev->sim->state == SIM_RUNNABLE)
			enqueue(prev, sim_cpu);
		else
			prev->on_rq = 0;
	}
	cpu->need_resched = false;
	next = pick_next(cpu);
	if (next == prev) {
		cpu->irqs_off = false;
		cpu->preempt--;
		return;
	}
	if (preempted)
		prev->nivcsw++;
	else
		prev->nvcsw++;
	cpu->stats.switches++;
	sim_tell("switches to %s", next->sim->name);
	cpu->rq_locked = true;
	call_switch_probe(prev, next);
	fire_sched_out(prev, next);
	prev->sim->runs = false;
	prev->sim->ran_step = sim_steps;
	next->on_cpu = 1;
	switch_mm(prev, next);
	switched_from[sim_cpu] = prev;
	sim_note_activity();
	cpu->curr = next;
	/* A wake-up during the switch has compared with the previous task.  The kernel's waits for the lock. */
	cpu->need_resched |= cpu->rq && preempts(cpu->rq->priority, cpu);
	swap_to(prev->sim, next->sim);
	finish_switch();
}

void sim_schedule(void)
{
	sim_require(!sim_this_cpu()->preempt && !sim_this_cpu()->irqs_off,
		    "a task sleeps with preemption or interrupts disabled");
	schedule(false);
}

static void preempt_here(void)
{
	if (current == sim_this_cpu()->idle || !sim_this_cpu()->rq) {
		sim_this_cpu()->need_resched = false;
		return;
	}
	schedule(true);
}

/* Balance: move a runnable task that waits on this CPU to another one. */
static void migrate_one(void)
{
	struct sim_task *t;
	unsigned int n;

	for (t = sim_this_cpu()->rq; t; t = t->next_rq) {
		if (t->pinned || t->priority || t->task->on_cpu)
			continue;
		n = allowed_cpu(t->task);
		if (n == t->task->cpu)
			return;
		sim_tell("moves %s to CPU %u", t->name, n);
		dequeue(t->task);
		set_cpu(t->task, n);
		enqueue(t->task, n);
		return;
	}
}

void preempt_notifier_inc(void)
{
	might_sleep();
	sim_costs.patches++;
	sim_notifiers_on = ++notifier_users;
}

void preempt_notifier_dec(void)
{
	might_sleep();
	sim_costs.patches++;
	sim_require(notifier_users, "preempt_notifier_dec() without inc");
	sim_notifiers_on = --notifier_users;
}

/* ---- tasks -------------------------------------------------------------------------- */

/* The stack of all tasks' user mode. */
static u64 user_stack[VPERFCTR_STACK_MAX / sizeof(u64)];

struct task_struct *sim_make_task(const char *name, void (*func)(void *), void *arg,
				  const struct cred *cred, int pinned)
{
	static pid_t last_pid;
	struct task_struct *task = calloc(1, sizeof(*task));
	struct sim_task *t = calloc(1, sizeof(*t));

	sim_require(task && t, "no memory for a task");
	t->task = task;
	t->name = name;
	t->func = func;
	t->arg = arg;
	t->pinned = pinned >= 0;
	t->regs.sim_ip = 0x400000;
	t->regs.sp = (unsigned long)user_stack;
	make_stack(t);
	task->sim = t;
	task->pid = ++last_pid;
	task->cred = cred;
	task->real_cred = cred;
	task->cpu = pinned >= 0 ? (unsigned int)pinned : sim_cpu;
	task->cpus_mask = sim_possible_mask;
	task->usage.counter = 1;
	raw_spin_lock_init(&task->pi_lock);
	raw_spin_lock_init(&task->alloc_lock);
	sim_watch_notifiers(t);
	t->state = SIM_SLEEPS;
	return task;
}

static struct task_struct **last_task;
static struct sim_task **last_unparked;

static void unpark(struct sim_task *t)
{
	if (!last_unparked)
		last_unparked = &sim_unparked;
	t->unparked_link = last_unparked;
	*last_unparked = t;
	last_unparked = &t->next_unparked;
}

static void park(struct sim_task *t)
{
	*t->unparked_link = t->next_unparked;
	if (t->next_unparked)
		t->next_unparked->unparked_link = t->unparked_link;
	else
		last_unparked = t->unparked_link;
	t->next_unparked = NULL;
}

void sim_list_task(struct task_struct *task)
{
	if (!last_task)
		last_task = &sim_tasks;
	task->sim->link = last_task;
	*last_task = task;
	last_task = &task->next_task;
	unpark(task->sim);
}

/*
 * Sleep until sim_unpark().  No search for tasks to wake up finds a parked one, so that there
 * can be a million of them.
 */
void sim_park(void)
{
	park(current->sim);
	sim_sleep_on(current, 0);
}

void sim_unpark(struct task_struct *task)
{
	unpark(task->sim);
	sim_wake_task(task);
}

/* A new task runs for the first time. */
void sim_start_task(struct task_struct *task)
{
	sim_list_task(task);
	sim_wake_task(task);
}

static struct cred root_cred = { .usage = { 1 }, .user_ns = &init_user_ns, .perfmon = true };

struct task_struct *sim_kthread(const char *name, void (*func)(void *), void *arg, int cpu,
				unsigned int priority)
{
	struct task_struct *task = sim_make_task(name, func, arg, &root_cred, cpu);

	task->flags = PF_KTHREAD;
	task->sim->priority = priority;
	sim_start_task(task);
	return task;
}

/* The last step of a task: it never runs again. */
void sim_die(void)
{
	struct sim_task *t = current->sim;

	t->holdout = false;
	*t->link = current->next_task;
	if (current->next_task)
		current->next_task->sim->link = t->link;
	else
		last_task = t->link;
	park(t);
	sim_require(!current->sim->mutexes.n, "a task ends with the mutex %s",
		    current->sim->mutexes.lock[0]->name);
	sim_require(!current->sim->rcu_depth, "a task ends as an RCU reader");
	sim_wake_up(current);
	current->sim->state = SIM_DEAD;
	sim_schedule();
	sim_fail("a dead task runs");
}

void sim_kthread_exit(void)
{
	current->exit_state = EXIT_DEAD;
	sim_die();
}

unsigned int sim_nr_user_tasks;

static void free_task(struct task_struct *task)
{
	sim_require(!task->preempt_notifiers.first, "a task is freed with a preempt notifier");
	sim_forget_notifiers(task->sim);
	sim_nr_user_tasks -= !!task->signal;
	if (task->signal && !--task->signal->refs)
		free(task->signal);
	unlist_stack(task->sim);
	put_stack(task->sim->stack);
	free(task->sim);
	free(task);
}

void get_task_struct(struct task_struct *task)
{
	SIM_STEP("get_task_struct");
	sim_touch(&task->usage, sizeof(task->usage), true);
	sim_require(task->usage.counter > 0, "a reference to a task that has none");
	task->usage.counter++;
}

void put_task_struct(struct task_struct *task)
{
	SIM_STEP("put_task_struct");
	sim_touch(&task->usage, sizeof(task->usage), true);
	sim_drain();
	if (--task->usage.counter)
		return;
	sim_not_realtime("a task");
	free_task(task);
}

/* ---- a thread that loses its CPU ------------------------------------------------------ */

static void keep_cpu(void *arg)
{
	u64 until = sim_steps + (unsigned long)arg;

	while (sim_steps < until) {
		SIM_STEP("a real-time thread has the CPU");
		cpu_relax();
	}
	sim_kthread_exit();
}

/*
 * The caller may be preempted here for a long time, as by a thread of real time.  It goes
 * on when that ends, or elsewhere if it is moved.
 */
void sim_may_lose_cpu(const char *what)
{
	SIM_STEP(what);
	preempt_disable();
	if (sim_choose(2, 8)) {
		sim_tell("loses its CPU: %s", what);
		sim_kthread("real-time", keep_cpu, (void *)(200UL << sim_choose(3, 1)), sim_cpu, 1);
	}
	preempt_enable();
}

struct run_on {
	void (*func)(void *arg);
	void *arg;
	bool done;
};

static void run_on_task(void *arg)
{
	struct run_on *r = arg;

	r->func(r->arg);
	r->done = true;
	sim_wake_up(r);
	sim_kthread_exit();
}

/* Call a function in a kernel thread of that CPU. */
void sim_run_on(unsigned int cpu, void (*func)(void *arg), void *arg)
{
	struct run_on r = { .func = func, .arg = arg };

	sim_kthread("cpuhp", run_on_task, &r, cpu, 1);
	while (!r.done)
		sim_sleep_on(&r, 0);
}

/* ---- stop_machine --------------------------------------------------------------------- */

struct stop {
	int (*func)(void *arg);
	void *arg;
	unsigned int nr, arrived, disabled, first;
	int err;
	bool done;
};

int sim_stopped_by = -1;
bool sim_kernel_takes_time;

static bool all_arrived(void *arg)
{
	const struct stop *s = arg;

	return s->arrived == s->nr;
}

static bool all_disabled(void *arg)
{
	const struct stop *s = arg;

	return s->disabled == s->nr;
}

static bool stop_is_done(void *arg)
{
	return ((struct stop *)arg)->done;
}

static void stopper(void *arg)
{
	struct stop *s = arg;

	preempt_disable();
	s->arrived++;
	sim_wait(all_arrived, s);
	local_irq_disable();
	s->disabled++;
	sim_wait(all_disabled, s);
	if (sim_cpu == s->first) {
		u64 steps = current->sim->steps;

		sim_stopped_by = sim_cpu;
		s->err = s->func(s->arg);
		sim_stopped_by = -1;
		s->done = true;
		sim_costs.longest_stop = max(sim_costs.longest_stop, current->sim->steps - steps);
	}
	sim_wait(stop_is_done, s);
	s->arrived--;
	local_irq_enable();
	preempt_enable();
	sim_wake_up(s);
	sim_kthread_exit();
}

static DEFINE_MUTEX(stop_mutex);

int stop_machine(int (*func)(void *), void *arg, const struct cpumask *cpus)
{
	struct stop s = { .func = func, .arg = arg };
	unsigned int n;

	sim_require(!cpus, "stop_machine() for some CPUs");
	/* doc/other-cpus.md: and a thousandth, as in usleep_range() */
	sim_require(!current->sim->stopped_ns || now - current->sim->stopped_ns >= NSEC_PER_MSEC / 1000,
		    "a call stops the machine twice within a millisecond");
	cpus_read_lock();
	mutex_lock(&stop_mutex);
	sim_tell("stops the machine");
	sim_costs.stops++;
	s.first = cpumask_first(cpu_online_mask);
	for (n = 0; n < nr_cpu_ids; n++)
		s.nr += fake_online[n];
	preempt_disable();
	for (n = 0; n < nr_cpu_ids; n++) {
		if (fake_online[n])
			sim_kthread("stopper", stopper, &s, n, 2);
	}
	preempt_enable();
	while (!s.done || s.arrived)
		sim_sleep_on(&s, 0);
	current->sim->stopped_ns = now;
	mutex_unlock(&stop_mutex);
	cpus_read_unlock();
	return s.err;
}

/* ---- boot --------------------------------------------------------------------------- */

static bool has_work(void *arg)
{
	return ((struct sim_cpu *)arg)->rq;
}

static void idle(void *arg)
{
	for (;;) {
		if (sim_this_cpu()->rq) {
			sim_schedule();
			continue;
		}
		if (fake_online[sim_cpu])
			sim_idle();
		sim_wait(has_work, sim_this_cpu());
	}
	(void)arg;
}

static void boot_cpu(unsigned int n)
{
	struct sim_cpu *cpu = &sim_cpus[n];

	cpu->idle = sim_make_task("idle", idle, NULL, &root_cred, n);
	cpu->idle->flags = PF_KTHREAD | PF_IDLE;
	cpu->idle->sim->state = SIM_RUNNABLE;
	cpu->idle->on_rq = 1;
	cpu->idle->on_cpu = 1;
	cpu->curr = cpu->idle;
	cpu->active = true;
	cpu->preempt = 1;
	switched_from[n] = cpu->idle;
	fake_online[n] = true;
	sim_online_mask.bits[SIM_WORD(n)] |= BIT(SIM_BIT(n));
	sim_possible_mask.bits[SIM_WORD(n)] |= BIT(SIM_BIT(n));
}

extern char __start_sim_percpu[], __stop_sim_percpu[];
static char *percpu[NR_CPUS];

void *sim_per_cpu(const volatile void *p, unsigned int cpu)
{
	size_t offset = (const volatile char *)p - __start_sim_percpu;

	sim_require(cpu < nr_cpu_ids && offset < (size_t)(__stop_sim_percpu - __start_sim_percpu),
		    "not a variable of CPU %u", cpu);
	return percpu[cpu] + offset;
}

static void make_percpu(unsigned int n)
{
	size_t size = __stop_sim_percpu - __start_sim_percpu;

	percpu[n] = aligned_alloc(64, (size + 63) / 64 * 64);
	memcpy(percpu[n], __start_sim_percpu, size);
}

static void (*main_func)(void *);
static bool main_ended;

static void main_task(void *arg)
{
	main_func(arg);
	main_ended = true;
	running = false;
	__sanitizer_start_switch_fiber(NULL, host_bottom, host_size);
	sim_swap(&current->sim->sp, host_sp);
}

void sim_boot(unsigned int nr_cpus, void (*func)(void *arg), void *arg)
{
	void *fake = NULL;
	unsigned int n;

	nr_cpu_ids = nr_cpus;
	now = NSEC_PER_SEC;
	for (n = 0; n < nr_cpus; n++) {
		make_percpu(n);
		boot_cpu(n);
	}
	sim_cpu = 0;
	sim_kernel_boot();
	main_func = func;
	sim_kthread("main", main_task, arg, -1, 0);
	running = true;
	__sanitizer_start_switch_fiber(&fake, sim_cpus[0].curr->sim->stack, STACK_SIZE);
	sim_swap(&host_sp, sim_cpus[0].curr->sim->sp);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
	(void)fake;
	sim_require(main_ended, "the machine has stopped");
	/* An exploration may go back to a choice here. */
	sim_explored_run();
}

/* ---- hotplug ------------------------------------------------------------------------ */

static bool only_idle(unsigned int n)
{
	return sim_cpus[n].curr == sim_cpus[n].idle && !sim_cpus[n].rq;
}

/* The scheduler takes no more tasks there, and moves those that wait. */
static void move_tasks_away(unsigned int n)
{
	struct sim_task *t, *next;

	for (t = sim_cpus[n].rq; t; t = next) {
		next = t->next_rq;
		if (t->pinned || t->task->on_cpu)
			continue;
		dequeue(t->task);
		set_cpu(t->task, allowed_cpu(t->task));
		enqueue(t->task, t->task->cpu);
	}
}

static void call_teardown(void *arg)
{
	if (sim_cpuhp_teardown)
		sim_require(!sim_cpuhp_teardown((unsigned long)arg), "the teardown callback failed");
}

static void call_startup(void *arg)
{
	if (sim_cpuhp_startup)
		sim_require(!sim_cpuhp_startup((unsigned long)arg), "the startup callback failed");
}

/* The dead CPU has no process's mm, hence no right to RDPMC. */
static void idle_task_exit(unsigned int n)
{
	struct sim_cpu *cpu = &sim_cpus[n];
	struct mm_struct *mm = cpu->loaded_mm;

	cpu->pce = sim_all_may_read;
	cpu->loaded_mm = NULL;
	cpu->idle->active_mm = NULL;
	if (!mm)
		return;
	mm->cpus.bits[SIM_WORD(n)] &= ~BIT(SIM_BIT(n));
	mmdrop(mm);
}

/*
 * The last thread of a CPU: the kernel's stopper.  A real CPU executes the interrupts that are pending
 * after it has left the mask of those that are online; here, before.
 */
static void take_down(void *arg)
{
	struct sim_cpu *cpu = sim_this_cpu();

	preempt_disable();
	local_irq_disable();
	while (cpu->calls || cpu->works || sim_pmi_pending(sim_cpu)) {
		local_irq_enable();
		sim_step("a CPU goes offline", __FILE__, __LINE__);
		local_irq_disable();
	}
	fake_online[sim_cpu] = false;
	sim_online_mask.bits[SIM_WORD(sim_cpu)] &= ~BIT(SIM_BIT(sim_cpu));
	fake_dying = true;
	if (sim_cpuhp_dying)
		sim_require(!sim_cpuhp_dying(sim_cpu), "the last callback failed");
	fake_dying = false;
	sim_check_offline(sim_cpu);
	*(bool *)arg = true;
	local_irq_enable();
	preempt_enable();
	sim_wake_up(arg);
	sim_kthread_exit();
}

/* The order is that of the kernel: inactive, callbacks, kernel threads, empty, off. */
void sim_cpu_down(unsigned int n)
{
	struct sim_cpu *cpu = &sim_cpus[n];
	bool is_down = false;

	sim_cpus_write_lock();
	sim_tell("takes CPU %u offline", n);
	cpu->active = false;
	sim_run_on(n, call_teardown, (void *)(unsigned long)n);
	sim_smpboot_park(n);
	do {
		move_tasks_away(n);
		if (cpu->curr != cpu->idle && !cpu->curr->sim->pinned)
			cpu->need_resched = true;
		sim_sleep_on(NULL, now + 1000);
	} while (sim_cpu == n || !only_idle(n) || cpu->calls || cpu->works || !cpu->wait || cpu->irqs_off ||
		 cpu->in_irq || sim_pmi_pending(n));
	sim_kthread("stopper", take_down, &is_down, n, 2);
	while (!is_down || !only_idle(n) || !cpu->wait)
		sim_sleep_on(&is_down, now + 1000);
	cpu->nmi_at = 0;
	cpu->curr = NULL;	/* executes nothing */
	idle_task_exit(n);
	while (cpu->timers) {
		struct hrtimer *timer = cpu->timers;

		remove_timer(timer);
		set_timer_cpu(timer, sim_cpu);
		insert_timer(timer);
	}
	if (sim_cpuhp_dead)
		sim_require(!sim_cpuhp_dead(n), "the callback of a dead CPU failed");
	sim_cpus_write_unlock();
}

void sim_cpu_up(unsigned int n)
{
	struct sim_cpu *cpu = &sim_cpus[n];

	sim_cpus_write_lock();
	sim_tell("takes CPU %u online", n);
	sim_reset_registers(n);
	cpu->curr = cpu->idle;
	fake_online[n] = true;
	sim_online_mask.bits[SIM_WORD(n)] |= BIT(SIM_BIT(n));
	sim_begin_cpu(n);
	sim_smpboot_unpark(n);
	sim_run_on(n, call_startup, (void *)(unsigned long)n);
	cpu->active = true;
	sim_cpus_write_unlock();
}

/* ---- suspend to RAM ------------------------------------------------------------------ */

/*
 * The order is that of the kernel, after the tasks have been frozen: one CPU remains, with
 * interrupts disabled.  The registers are lost.
 */
void sim_sleep_system(void)
{
	unsigned int n, first = cpumask_first(cpu_online_mask);
	bool was_online[NR_CPUS] = {};

	for (n = 0; n < nr_cpu_ids; n++) {
		if (n == first || !fake_online[n])
			continue;
		was_online[n] = true;
		sim_cpu_down(n);
	}
	local_irq_disable();
	sim_tell("the system sleeps");
	sim_syscore_sleep();
	sim_sleep_here();
	sim_this_cpu()->nmi_at = 0;
	sim_syscore_wake();
	sim_tell("the system has slept");
	local_irq_enable();
	for (n = 0; n < nr_cpu_ids; n++) {
		if (was_online[n])
			sim_cpu_up(n);
	}
}
