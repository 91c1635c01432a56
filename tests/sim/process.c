// SPDX-License-Identifier: GPL-2.0
/* Processes and threads: what user space and the kernel's calls do, for scenarios. */
#include <stdarg.h>
#include <stdlib.h>

#include <linux/vperfctr.h>

#include "sim.h"

/* ---- memory maps ------------------------------------------------------------- */

/* The things that users have.  None may remain at the unload. */
unsigned int sim_nr_mms, sim_nr_files;

static struct mm_struct *make_mm(void)
{
	struct mm_struct *mm = calloc(1, sizeof(*mm));

	sim_nr_mms++;
	mm->mm_users.counter = 1;
	mm->mm_count.counter = 1;
	mutex_init(&mm->mmap_lock);
	mm->dumpable = SUID_DUMP_USER;
	return mm;
}

void mmgrab(struct mm_struct *mm)
{
	sim_require(mm->mm_count.counter > 0, "a reference to an mm that is freed");
	mm->mm_count.counter++;
}

static void free_mm(struct mm_struct *mm)
{
	sim_require(!mm->vmas, "an mm is freed with a mapping");
	free(mm);
}

void mmdrop(struct mm_struct *mm)
{
	sim_require(mm->mm_count.counter > 0, "an mm is put too often");
	sim_drain();
	if (!--mm->mm_count.counter)
		free_mm(mm);
}

bool mmget_not_zero(struct mm_struct *mm)
{
	return atomic_add_unless(&mm->mm_users, 1, 0);
}

/* The right to read counters ends with the callback: until then, the mapping is in the list. */
static void unmap(struct vm_area_struct *vma)
{
	struct vm_area_struct **p = &vma->vm_mm->vmas;

	if (vma->vm_ops && vma->vm_ops->close) {
		sim_callback("vma_close");
		vma->vm_ops->close(vma);
	}
	if (vma->page)
		sim_check_garbage(vma->page, vma->vm_end - vma->vm_start);
	while (*p != vma)
		p = &(*p)->next;
	*p = vma->next;
	fput(vma->vm_file);
	free(vma);
}

void mmput(struct mm_struct *mm)
{
	might_sleep();
	if (!atomic_dec_and_test(&mm->mm_users))
		return;
	sim_not_realtime("the memory of a process");
	while (mm->vmas)
		unmap(mm->vmas);
	sim_end_perf_maps(mm);
	sim_require(!mm->context.perf_rdpmc_allowed.counter, "a process ends with the right to RDPMC");
	sim_nr_mms--;
	mmdrop(mm);
}

struct mm_struct *get_task_mm(struct task_struct *task)
{
	struct mm_struct *mm;

	SIM_STEP("get_task_mm");	/* atomic, as the task does not leave its mm meanwhile */
	mm = task->mm;
	if (!mm || (task->flags & PF_KTHREAD) || !mm->mm_users.counter)
		return NULL;
	mm->mm_users.counter++;
	return mm;
}

void kthread_use_mm(struct mm_struct *mm)
{
	bool flags;

	might_sleep();
	local_irq_save(flags);
	current->mm = mm;
	current->active_mm = mm;
	sim_load_mm(mm);
	local_irq_restore(flags);
}

/* The mm stays loaded until another one is. */
void kthread_unuse_mm(struct mm_struct *mm)
{
	sim_require(current->mm == mm, "another mm was used");
	SIM_STEP("kthread_unuse_mm");
	current->mm = NULL;
}

/* The kernel writes its code by an mm that only this CPU has, and returns to the thread's. */
void user_patch_code(void)
{
	static struct mm_struct mm = { .mm_users = { 1 }, .mm_count = { 1 } };
	bool flags;

	current->sim->regs.user = false;
	local_irq_save(flags);
	sim_load_mm(&mm);
	sim_load_mm(current->mm);
	local_irq_restore(flags);
	sim_return_to_user();
}

static void sleep_for_ever(void *arg)
{
	for (;;)
		sim_sleep_on(arg, 0);
}

/* Init has an mm that others may borrow.  It is no process of the scenario. */
void sim_start_init(void)
{
	struct task_struct *init = sim_kthread("init", sleep_for_ever, NULL, -1, 0);

	init->flags = 0;
	init->mm = make_mm();
	sim_nr_mms--;
}

/* ---- files ------------------------------------------------------------------------ */

static struct super_block anon_inodes;
static struct dentry anon_dentry = { &anon_dentry, { "[vperfctr]" }, &anon_inodes };

struct file *anon_inode_getfile(const char *name, const struct file_operations *fops, void *priv,
				int flags)
{
	struct file *file;

	(void)flags;
	might_sleep();
	if ((sim_failures.alloc && sim_choose(2, sim_failures.alloc)) ||
	    sim_call_fails(&current->sim->lacked_memory))
		return ERR_PTR(-ENOMEM);
	file = calloc(1, sizeof(*file));
	sim_nr_files++;
	file->name = name;
	file->f_op = fops;
	file->f_path.dentry = &anon_dentry;
	file->private_data = priv;
	file->count.counter = 1;
	return file;
}

struct file *fget(unsigned int fd)
{
	struct file *file;

	SIM_STEP("fget");	/* atomic: the table has a lock */
	file = fd < 64 ? current->signal->fd[fd] : NULL;
	if (file)
		file->count.counter++;
	return file;
}

struct file *get_file(struct file *file)
{
	SIM_STEP("get_file");
	file->count.counter++;
	return file;
}

static void release_file(struct file *file)
{
	might_sleep();
	if (file->f_op && file->f_op->release) {
		sim_callback("release");
		file->f_op->release(NULL, file);
	}
	sim_nr_files--;
	free(file);
}

static void release_work(void *arg)
{
	release_file(arg);
	sim_kthread_exit();
}

/* The last reference of a user's thread is released at its return to user mode. */
void fput(struct file *file)
{
	if (!atomic_dec_and_test(&file->count))
		return;
	sim_not_realtime("a file");
	if (current->flags & PF_KTHREAD || current->exit_state) {
		sim_kthread("fput", release_work, file, -1, 0);
		return;
	}
	file->next_dead = current->sim->dead_files;
	current->sim->dead_files = file;
}

static void run_task_work(void)
{
	struct file *file;

	while ((file = current->sim->dead_files)) {
		current->sim->dead_files = file->next_dead;
		release_file(file);
	}
}

unsigned int sim_fd_flags;

/* madvise(MADV_KEEPONFORK) */
void user_keep_on_fork(struct vm_area_struct *vma)
{
	vma->vm_flags &= ~(unsigned long)VM_WIPEONFORK;
}

int get_unused_fd_flags(unsigned int flags)
{
	unsigned int fd;

	sim_fd_flags = flags;
	SIM_STEP("get_unused_fd_flags");
	for (fd = 3; fd < 64; fd++) {
		if (!current->signal->fd_used[fd]) {
			current->signal->fd_used[fd] = true;
			return fd;
		}
	}
	return -EMFILE;
}

void put_unused_fd(unsigned int fd)
{
	sim_require(current->signal->fd_used[fd] && !current->signal->fd[fd], "the descriptor is used");
	current->signal->fd_used[fd] = false;
}

void fd_install(unsigned int fd, struct file *file)
{
	SIM_STEP("fd_install");
	sim_require(current->signal->fd_used[fd] && !current->signal->fd[fd], "the descriptor is used");
	current->signal->fd[fd] = file;
}

/* Memory that a call keeps is charged to the memory cgroup of its caller. */
static void begin_call(void)
{
	current->sim->in_call = true;
	current->sim->charge_failed = false;
}

static void end_call(void)
{
	current->sim->in_call = false;
	sim_check_charged();
}

static int close_file(struct file *file)
{
	if (file->f_op && file->f_op->flush) {
		sim_callback("flush");
		file->f_op->flush(file, current->signal);
	}
	fput(file);
	return 0;
}

struct seq_file {
	char *buf;
	size_t size, count;
};

void seq_printf(struct seq_file *m, const char *format, ...)
{
	va_list args;

	if (!m)
		return;
	va_start(args, format);
	m->count += vsnprintf(m->buf + m->count, m->size - m->count, format, args);
	va_end(args);
	sim_require(m->count < m->size, "the text of a seq_file is too long");
}

/* Read /proc/self/fdinfo/FD, without the kernel's own lines. */
void user_fdinfo(int fd, char *text, size_t size)
{
	struct seq_file m = { text, size };
	struct file *file = fget(fd);

	sim_require(file, "fdinfo of a descriptor that is closed");
	*text = '\0';
	current->sim->regs.user = false;
	begin_call();
	file->f_op->show_fdinfo(&m, file);
	end_call();
	fput(file);
	sim_return_to_user();
}

void poll_wait(struct file *file, wait_queue_head_t *w, struct poll_table_struct *wait)
{
	(void)file;
	SIM_STEP("poll_wait");
	if (!wait)
		return;
	/* Under the queue's lock, whose release lets loads pass this. */
	sim_drain();
	sim_will_store(&current->sim->polls, sizeof(current->sim->polls));
	current->sim->polls = w;
}

/* As prepare_to_wait(): the task is in the queue, and its state is set, which is a full barrier. */
void sim_prepare_to_wait(const void *key)
{
	SIM_STEP("prepare_to_wait");
	sim_drain();
	current->sim->polled = false;
	current->sim->polls = key;
	sim_drain();
}

void sim_wait_prepared(u64 until)
{
	SIM_STEP("sleep");
	if (!current->sim->polled)
		sim_sleep_on(current->sim->polls, until);
}

void sim_finish_wait(void)
{
	current->sim->polls = NULL;
}

/* ---- mappings ------------------------------------------------------------------------ */

void vm_flags_mod(struct vm_area_struct *vma, unsigned long set, unsigned long clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}

vm_fault_t vmf_insert_pfn(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn)
{
	might_sleep();
	sim_require(addr == vma->vm_start, "a page at a wrong address");
	if (sim_failures.alloc && sim_choose(2, sim_failures.alloc))
		return VM_FAULT_ERROR;
	vma->page = (void *)(pfn << PAGE_SHIFT);
	return VM_FAULT_NOPAGE;
}

int remap_pfn_range(struct vm_area_struct *vma, unsigned long addr, unsigned long pfn,
		    unsigned long size, unsigned int prot)
{
	(void)prot;
	might_sleep();
	sim_require(addr >= vma->vm_start && addr + size <= vma->vm_end, "a page is mapped outside of its mapping");
	if (addr == vma->vm_start)
		vma->page = (void *)(pfn << PAGE_SHIFT);
	return 0;
}

void zap_special_vma_range(struct vm_area_struct *vma, unsigned long addr, unsigned long size)
{
	(void)addr;
	(void)size;
	vma->page = NULL;
}

/* The module's pages are the kernel's, and only read. */
static void check_vma(const struct vm_area_struct *vma)
{
	unsigned long must = VM_DONTEXPAND | VM_DONTDUMP | VM_IO | VM_PFNMAP;

	sim_require((vma->vm_flags & must) == must &&
		    !(vma->vm_flags & (VM_WRITE | VM_EXEC | VM_MAYWRITE | VM_MAYEXEC)),
		    "a mapping has the flags %#lx", vma->vm_flags);
	sim_require(!vma->vm_page_prot, "a mapping has the protection %#x", vma->vm_page_prot);
}

static struct vm_area_struct *map_with_flags(int fd, unsigned long offset, unsigned long size,
					     unsigned long flags)
{
	struct vm_area_struct *vma = calloc(1, sizeof(*vma));
	struct file *file = fget(fd);
	int err;

	sim_require(file, "mmap() of a descriptor that is closed");
	current->sim->regs.user = false;
	vma->vm_start = 0x10000000 + offset;
	vma->vm_end = vma->vm_start + size;
	vma->vm_pgoff = offset >> PAGE_SHIFT;
	vma->vm_flags = flags;
	vma->vm_page_prot = vm_get_page_prot(flags);
	vma->vm_mm = current->mm;
	vma->vm_file = file;
	mutex_lock(&current->mm->mmap_lock);
	sim_callback("mmap");
	/* The right to read counters begins with the callback. */
	vma->next = current->mm->vmas;
	current->mm->vmas = vma;
	begin_call();
	err = file->f_op->mmap(file, vma);
	end_call();
	if (err)
		current->mm->vmas = vma->next;
	mutex_unlock(&current->mm->mmap_lock);
	if (err) {
		fput(file);
		free(vma);
		vma = NULL;
	} else {
		check_vma(vma);
	}
	sim_return_to_user();
	return vma;
}

struct vm_area_struct *user_mmap(int fd, unsigned long offset, unsigned long size)
{
	return map_with_flags(fd, offset, size, VM_MAYSHARE | VM_MAYWRITE | VM_MAYEXEC);
}

/* Except on new kernels, mmap() adds PROT_EXEC to PROT_READ if the program has this personality. */
struct vm_area_struct *user_mmap_executable(int fd, unsigned long offset, unsigned long size)
{
	struct vm_area_struct *vma;

	current->personality |= READ_IMPLIES_EXEC;
	vma = map_with_flags(fd, offset, size, VM_MAYSHARE | VM_MAYWRITE | VM_EXEC | VM_MAYEXEC);
	current->personality = 0;
	return vma;
}

/* True if the page of a state can be mapped in a way that must be refused. */
bool user_maps_wrongly(int fd)
{
	return map_with_flags(fd, 0, PAGE_SIZE, 0) ||
	       map_with_flags(fd, 0, PAGE_SIZE, VM_MAYSHARE | VM_WRITE) ||
	       map_with_flags(fd, 0, PAGE_SIZE, VM_MAYSHARE | VM_EXEC);
}

void user_munmap(struct vm_area_struct *vma)
{
	current->sim->regs.user = false;
	mutex_lock(&current->mm->mmap_lock);
	begin_call();
	unmap(vma);
	end_call();
	mutex_unlock(&current->mm->mmap_lock);
	sim_return_to_user();
}

/* Move a mapping.  The kernel makes a copy, and then unmaps the old one. */
struct vm_area_struct *user_mremap(struct vm_area_struct *vma)
{
	struct vm_area_struct *copy = malloc(sizeof(*copy));

	current->sim->regs.user = false;
	mutex_lock(&current->mm->mmap_lock);
	*copy = *vma;
	copy->vm_start += 0x1000000;
	copy->vm_end += 0x1000000;
	atomic_inc(&vma->vm_file->count);
	copy->next = current->mm->vmas;
	current->mm->vmas = copy;
	begin_call();
	if (copy->vm_ops && copy->vm_ops->open) {
		sim_callback("vma_open");
		copy->vm_ops->open(copy);
	}
	unmap(vma);
	end_call();
	mutex_unlock(&current->mm->mmap_lock);
	sim_return_to_user();
	return copy;
}

/* The first access to a page. */
vm_fault_t user_fault(struct vm_area_struct *vma)
{
	vm_fault_t fault;

	current->sim->regs.user = false;
	mutex_lock(&current->mm->mmap_lock);
	sim_callback("fault");
	begin_call();
	fault = vma->vm_ops->fault(&(struct vm_fault) { .vma = vma });
	end_call();
	mutex_unlock(&current->mm->mmap_lock);
	sim_return_to_user();
	return fault;
}

/* ---- tasks ------------------------------------------------------------------------------ */

struct task_struct *sim_first_thread(const struct task_struct *task)
{
	return task->signal ? task->signal->threads : NULL;
}

unsigned int sim_walks_of_processes;

/* Kernel threads are no processes here: they have no signal_struct. */
static bool is_first_that_lives(const struct task_struct *task)
{
	const struct task_struct *thread = sim_first_thread(task);

	while (thread && thread != task && thread->exit_state)
		thread = thread->next_thread;
	return thread == task && thread;
}

struct task_struct *sim_next_process(const struct task_struct *task)
{
	struct task_struct *next = task ? task->next_task : sim_tasks;

	sim_walks_of_processes += !task;
	while (next && !is_first_that_lives(next))
		next = next->next_task;
	return next;
}

void (*sim_reached)(const char *what);

int get_nr_threads(const struct task_struct *task)
{
	int nr = task->signal ? task->signal->nr_threads : 1;

	if (sim_reached)
		sim_reached("the threads have been counted");
	return nr;
}

/* A namespace that was made by a process, for itself and its children. */
struct pid_namespace { pid_t last; };

static struct pid_namespace *ns_of(const struct task_struct *task)
{
	return task->signal ? task->signal->ns : NULL;
}

struct pid_namespace *task_active_pid_ns(const struct task_struct *task)
{
	return ns_of(task);
}

pid_t task_pid_nr_ns(const struct task_struct *task, const struct pid_namespace *ns)
{
	if (!ns)
		return task->pid;
	return ns_of(task) == ns ? task->pid_in_ns : 0;
}

pid_t task_tgid_nr_ns(const struct task_struct *task, const struct pid_namespace *ns)
{
	if (!ns)
		return task->signal ? task->signal->pid : task->pid;
	return ns_of(task) == ns && task->signal->threads ? task->signal->threads->pid_in_ns : 0;
}

pid_t task_pid_vnr(const struct task_struct *task)
{
	return task_pid_nr_ns(task, ns_of(current));
}

struct pt_regs *task_pt_regs(const struct task_struct *task)
{
	return &task->sim->regs;
}

struct pid *find_vpid(int nr)
{
	struct task_struct *task;

	SIM_STEP("find_vpid");
	for (task = sim_tasks; task; task = task->next_task) {
		if (task_pid_vnr(task) == nr)
			return (struct pid *)task;
	}
	return NULL;
}

struct task_struct *pid_task(struct pid *pid, int type)
{
	(void)type;
	return (struct task_struct *)pid;
}

bool task_is_traced(const struct task_struct *task)
{
	return task->sim->state == SIM_TRACED;
}

bool fatal_signal_pending(const struct task_struct *task)
{
	SIM_STEP("fatal_signal_pending");
	return task->sim->signals >> SIGKILL & 1;
}

bool signal_pending(const struct task_struct *task)
{
	SIM_STEP("signal_pending");
	return task->sim->signals;
}

/* SIGKILL wakes a task that is traced, and one that sleeps killably. */
int send_sig_info(int sig, struct kernel_siginfo *info, struct task_struct *task)
{
	sim_require(!sim_is_in_nmi(), "a signal is sent in an NMI");
	SIM_STEP("send_sig_info");
	if (task->exit_state)
		return -ESRCH;
	/* As the kernel: the sender's UID becomes one of the receiver's namespace, in place. */
	if (info && current_user_ns() != task->real_cred->user_ns)
		info->si_uid = 65534;
	/* The queue of real-time signals is full. */
	if (sig > 31 && sim_failures.signal && sim_choose(2, sim_failures.signal))
		return -EAGAIN;
	task->sim->signals |= BIT_ULL(sig);
	if (info) {
		sim_require(!info->si_uid, "the high word of a signal's mask is %u", info->si_uid);
		task->sim->overflow_mask = info->si_pid;
		/* Nothing promises the caller that it remains. */
		info->si_uid = 1;
	}
	if (sig == SIGKILL && task->sim->state == SIM_TRACED) {
		task->sim->state = SIM_SLEEPS;
		sim_wake_task(task);
	} else if (task->sim->killable && task->sim->state == SIM_SLEEPS) {
		sim_wake_task(task);
	}
	return 0;
}

int send_sig(int sig, struct task_struct *task, int priv)
{
	/* The thread that an interrupt has found is not the sender. */
	sim_require(priv, "a signal of the kernel is sent as one of the current thread");
	return send_sig_info(sig, NULL, task);
}

static void call_fork_probe(struct task_struct *child)
{
	void (*probe)(void *, struct task_struct *, struct task_struct *) = sim_tp_fork.func;

	preempt_disable();
	if (probe) {
		sim_callback("fork");
		probe(NULL, current, child);
	}
	preempt_enable();
}

/* A child's copies of the mappings, as dup_mmap() makes them. */
static struct mm_struct *copy_mm(struct mm_struct *from)
{
	struct mm_struct *mm = make_mm();
	struct vm_area_struct *vma, *copy;

	mutex_lock(&from->mmap_lock);
	mm->context.perf_rdpmc_allowed.counter = from->context.perf_rdpmc_allowed.counter;
	for (vma = from->vmas; vma; vma = vma->next) {
		if (vma->vm_flags & VM_DONTCOPY)
			continue;
		copy = malloc(sizeof(*copy));
		*copy = *vma;
		copy->vm_mm = mm;
		atomic_inc(&vma->vm_file->count);
		copy->page = vma->vm_flags & VM_WIPEONFORK ? NULL : vma->page;
		copy->next = mm->vmas;
		mm->vmas = copy;
		if (copy->vm_ops && copy->vm_ops->open) {
			sim_callback("vma_open");
			copy->vm_ops->open(copy);
		}
		sim_may_lose_cpu("a mapping has been copied");
	}
	mutex_unlock(&from->mmap_lock);
	return mm;
}

static void user_begins(void *arg)
{
	struct sim_task *t = current->sim;

	sim_return_to_user();
	((void (*)(void *))t->user_func)(arg);
	user_exit();
}

void (*sim_user_task_made)(struct task_struct *task);

static struct task_struct *make_user_task(const char *name, void (*func)(void *), void *arg,
					  const struct cred *cred, struct signal_struct *process)
{
	struct task_struct *task = sim_make_task(name, user_begins, arg, cred, -1), **p;

	task->sim->user_func = (void *)func;
	task->signal = process;
	process->nr_threads++;
	process->refs++;
	sim_nr_user_tasks++;
	for (p = &process->threads; *p; p = &(*p)->next_thread)
		;
	*p = task;
	if (!process->pid)
		process->pid = task->pid;
	if (process->ns)
		task->pid_in_ns = ++process->ns->last;
	if (sim_user_task_made)
		sim_user_task_made(task);
	return task;
}

static void begin_user_task(struct task_struct *task)
{
	get_task_struct(task);		/* for user_wait() */
	sim_start_task(task);
}

struct task_struct *sim_process(const char *name, u32 uid, void (*func)(void *), void *arg)
{
	struct signal_struct *process = calloc(1, sizeof(*process));
	struct cred *cred = calloc(1, sizeof(*cred));
	struct task_struct *task;

	sim_nr_creds++;
	*cred = (struct cred) {
		.usage = { 1 }, .user_ns = &init_user_ns, .uid = { uid }, .euid = { uid }, .suid = { uid },
		.perfmon = !uid,
	};
	task = make_user_task(name, func, arg, cred, process);
	task->mm = make_mm();
	begin_user_task(task);
	return task;
}

static struct task_struct *fork_task(const char *name, void (*func)(void *), void *arg, bool thread,
				     bool shares_mm)
{
	struct signal_struct *process = thread ? current->signal : calloc(1, sizeof(*process));
	struct task_struct *task;
	struct mm_struct *mm;
	unsigned int fd;

	current->sim->regs.user = false;
	SIM_STEP("fork");
	if (shares_mm) {
		mm = current->mm;
		atomic_inc(&mm->mm_users);
	} else {
		mm = copy_mm(current->mm);
	}
	if (!thread) {
		if (shares_mm)
			process->shares = current->signal->shares ?: current->signal->pid;
		process->ns = current->signal->ns;
		for (fd = 0; fd < 64; fd++) {
			process->fd[fd] = current->signal->fd[fd];
			process->fd_used[fd] = process->fd[fd];
			if (process->fd[fd])
				process->fd[fd]->count.counter++;
		}
	}
	task = make_user_task(name, func, arg, get_current_cred(), process);
	task->mm = mm;
	task->cpus_mask = current->cpus_mask;
	task->sim->state = SIM_SLEEPS;
	task->sim->is_new = true;
	sim_list_task(task);
	sim_may_lose_cpu("the child is in the list of threads");
	call_fork_probe(task);
	task->sim->is_new = false;
	sim_may_lose_cpu("the child does not run yet");
	get_task_struct(task);
	current->sim->forked = task;
	sim_wake_task(task);
	sim_return_to_user();
	current->sim->forked = NULL;
	return task;
}

struct task_struct *user_thread(const char *name, void (*func)(void *), void *arg)
{
	return fork_task(name, func, arg, true, true);
}

struct task_struct *user_fork(const char *name, void (*func)(void *), void *arg)
{
	return fork_task(name, func, arg, false, false);
}

/* As clone() with CLONE_VM alone. */
struct task_struct *user_fork_shared(const char *name, void (*func)(void *), void *arg)
{
	return fork_task(name, func, arg, false, true);
}

void user_wait(struct task_struct *task)
{
	bool was_user = current->sim->regs.user;

	current->sim->regs.user = false;
	while (!task->exit_state)
		sim_sleep_on(task, sim_ns() + NSEC_PER_SEC);
	put_task_struct(task);
	if (was_user)
		sim_return_to_user();
}

static void exit_files(struct signal_struct *process)
{
	unsigned int fd;

	for (fd = 0; fd < 64; fd++) {
		struct file *file = process->fd[fd];

		process->fd[fd] = NULL;
		if (file)
			close_file(file);
	}
	run_task_work();
}

static void exit_mm(void)
{
	struct mm_struct *mm = current->mm;

	task_lock(current);
	current->mm = NULL;
	task_unlock(current);
	mmput(mm);
}

/* The order is that of do_exit(), from 6.16 on or before. */
static void forget_first_thread(struct rcu_head *rcu)
{
	put_task_struct(container_of(rcu, struct signal_struct, rcu)->first);
}

/* The kernel keeps the first thread in the list until it is the last one. */
static void leave_list(struct signal_struct *process)
{
	struct task_struct **p;

	if (process->threads == current && process->nr_threads) {
		process->first = current;
		current->usage.counter++;
		return;
	}
	for (p = &process->threads; *p != current; p = &(*p)->next_thread)
		;
	*p = current->next_thread;
	if (process->first && !process->nr_threads) {
		process->threads = NULL;
		call_rcu(&process->rcu, forget_first_thread);
	}
}

void user_exit(void)
{
	struct signal_struct *process = current->signal;

	current->sim->regs.user = false;
	SIM_STEP("exit");
	/* The function that gets all tasks takes the references, too. */
	if (current->sim->forked && !sim_user_task_made)
		put_task_struct(current->sim->forked);
	current->flags |= PF_EXITING;
	sim_may_lose_cpu("PF_EXITING is set");
	if (sim_processor.exit_mm_first) {
		exit_mm();
		sim_may_lose_cpu("the mm of a thread that ends is gone");
	}
	if (sim_tp_exit.func) {
		preempt_disable();
		sim_callback("exit");
		((void (*)(void *, struct task_struct *, bool))sim_tp_exit.func)
			(NULL, current, process->nr_threads == 1);
		preempt_enable();
		sim_may_lose_cpu("the exit probe has been called");
	}
	if (!sim_processor.exit_mm_first)
		exit_mm();
	run_task_work();
	if (!--process->nr_threads)
		exit_files(process);
	leave_list(process);
	current->exit_state = EXIT_DEAD;
	put_cred(current->cred);
	if (process->execs)
		sim_wake_up(process);
	sim_die();
}

static struct cred *copy_cred(const struct cred *from)
{
	struct cred *cred = malloc(sizeof(*cred));

	sim_nr_creds++;
	*cred = *from;
	cred->usage.counter = 1;
	return cred;
}

static void commit_cred(struct cred *cred)
{
	const struct cred *old = current->cred;

	current->cred = cred;
	current->real_cred = cred;
	put_cred(old);
}

/*
 * The other threads end, and this one gets the ids of the first.  False: another thread
 * executes a file, and this one must end.
 */
static bool end_other_threads(void)
{
	struct signal_struct *process = current->signal;
	struct task_struct *task;

	if (process->execs || current->sim->signals >> SIGKILL & 1)
		return false;
	process->execs = current;
	for (task = process->threads; task; task = task->next_thread) {
		if (task != current && !task->exit_state)
			send_sig(SIGKILL, task, 1);
	}
	while (process->nr_threads > 1)
		sim_sleep_on(process, sim_ns() + NSEC_PER_SEC);
	process->execs = NULL;
	sim_may_lose_cpu("de_thread");
	current->pid = process->pid;
	return true;
}

static struct super_block disk;
static struct dentry disk_root = { &disk_root, { "/" }, &disk };
static struct dentry program = { &disk_root, { "program" }, &disk };
static struct inode program_inode = { &disk, 1 };
static struct file program_file = { .f_path = { &program }, .count = { 1 } };

#define MAX_FILES	8

static struct dentry dentries[MAX_FILES];
static struct file files[MAX_FILES];
static unsigned int nr_files;

const struct inode *file_inode(const struct file *file)
{
	sim_require(file == &program_file || (file >= files && file < files + nr_files),
		    "only what can be mapped has an inode");
	return &program_inode;
}

unsigned int sim_path_length;

char *d_path(const struct path *path, char *buf, int size)
{
	might_sleep();
	sim_costs.paths++;
	snprintf(buf, size, "/%*s", (int)sim_path_length, path->dentry->d_name.name);
	return buf;
}

/* Map the program's code, as an exec does or a library's loader. */
void user_map_code(void)
{
	struct vm_area_struct vma = {
		.vm_start = 0x400000, .vm_end = 0x401000, .vm_flags = VM_EXEC,
		.vm_mm = current->mm, .vm_file = &program_file,
	};

	sim_tell_mapping(&vma);
}

static const char *name_of_memory(struct vm_area_struct *vma)
{
	return vma->vm_private_data;
}

/*
 * Map another file of that name, or memory: without a name, with the kernel's own as [vdso], or with
 * operations that know none ("").
 */
void user_map_file(const char *name, unsigned long start)
{
	static const struct vm_operations_struct named = { .name = name_of_memory }, nameless;
	struct vm_area_struct vma = {
		.vm_start = start, .vm_end = start + PAGE_SIZE, .vm_flags = VM_EXEC, .vm_mm = current->mm,
	};

	if (name && (!*name || *name == '[')) {
		vma.vm_ops = *name ? &named : &nameless;
		vma.vm_private_data = (void *)name;
	} else if (name) {
		sim_require(nr_files < MAX_FILES, "too many files");
		dentries[nr_files] = (struct dentry) { &disk_root, { name }, &disk };
		files[nr_files] = (struct file) { .f_path = { &dentries[nr_files] }, .count = { 1 } };
		vma.vm_file = &files[nr_files++];
	}
	sim_tell_mapping(&vma);
}

static void tell_name(const char *name)
{
	if (!sim_tp_rename.func)
		return;
	preempt_disable();
	sim_callback("rename");
	((void (*)(void *, struct task_struct *, const char *))sim_tp_rename.func)(NULL, current,
										   name);
	preempt_enable();
}

/* Begin an exec, which loads the program.  The memory is that of the program from then on. */
static void load_program(struct cred *cred)
{
	struct mm_struct *old = current->mm, *mm;

	down_write(&current->signal->exec_update_lock);
	mm = make_mm();
	task_lock(current);
	current->mm = mm;
	current->active_mm = mm;
	sim_load_mm(mm);
	task_unlock(current);
	sim_may_lose_cpu("an exec has its new mm");
	mmput(old);
	up_write(&current->signal->exec_update_lock);
	tell_name("program");
	if (cred)
		commit_cred(cred);
	user_map_code();
	sim_may_lose_cpu("an exec has its new program");
}

static void exec_as(bool privileged, struct cred *cred)
{
	struct linux_binprm bprm = { .secureexec = privileged };
	pid_t old_pid = current->pid;

	current->sim->regs.user = false;
	SIM_STEP("exec");
	if (current->signal->nr_threads > 1 && !end_other_threads()) {
		if (cred)
			put_cred(cred);
		sim_return_to_user();
		return;
	}
	current->in_execve = 1;
	load_program(cred);
	if (sim_tp_exec.func) {
		preempt_disable();
		sim_callback("exec");
		((void (*)(void *, struct task_struct *, pid_t, struct linux_binprm *))sim_tp_exec.func)
			(NULL, current, old_pid, &bprm);
		preempt_enable();
	}
	current->in_execve = 0;
	sim_return_to_user();
}

/* By a process that may have any user. */
void user_set_uid(u32 uid)
{
	struct cred *cred = copy_cred(current->cred);

	cred->uid.val = uid;
	cred->euid.val = uid;
	cred->suid.val = uid;
	cred->perfmon &= !uid;
	current->sim->regs.user = false;
	SIM_STEP("setuid");
	commit_cred(cred);
	sim_return_to_user();
}

void user_exec(bool privileged)
{
	exec_as(privileged, NULL);
}

/*
 * An exec that has replaced the memory and fails then, as the limit of the address space leaves no
 * room for the program's loader.  The kernel tells no tracepoint, and the process ends.
 */
void user_exec_that_fails(void)
{
	current->sim->regs.user = false;
	SIM_STEP("exec");
	sim_require(current->signal->nr_threads == 1, "an exec that fails has other threads");
	current->in_execve = 1;
	load_program(NULL);
	current->sim->exec_failed = true;
	current->in_execve = 0;
	sim_may_lose_cpu("an exec has failed");
	user_exit();
}

void user_exec_as(u32 euid)
{
	struct cred *cred = copy_cred(current->cred);

	cred->euid.val = euid;
	cred->suid.val = euid;
	cred->perfmon = !euid;
	exec_as(true, cred);
}

/* The first process there is this one, as after unshare() and a fork. */
static void unshare(struct pid_namespace *pids)
{
	static struct user_namespace users[2];
	static unsigned int nr;
	struct cred *cred = copy_cred(current->cred);

	sim_require(nr < 2, "too many namespaces");
	users[nr] = (struct user_namespace) { .parent = cred->user_ns, .owner = cred->euid };
	cred->user_ns = &users[nr++];
	cred->perfmon = true;
	current->sim->regs.user = false;
	SIM_STEP("unshare");
	if (pids) {
		current->signal->ns = pids;
		current->pid_in_ns = ++pids->last;
	}
	commit_cred(cred);
	sim_return_to_user();
}

/* A call for which the kernel takes the credentials of another user, as overlayfs does. */
void user_use_lent_credentials(void)
{
	struct cred *lent = copy_cred(current->cred);
	unsigned int i;

	lent->user_ns = &init_user_ns;
	current->sim->regs.user = false;
	current->cred = lent;
	for (i = 0; i < 20; i++)
		SIM_STEP("a call with lent credentials");
	current->cred = current->real_cred;
	put_cred(lent);
	sim_return_to_user();
}

void user_set_user_namespace(void)
{
	unshare(NULL);
}

void user_set_namespaces(void)
{
	static struct pid_namespace pids[2];
	static unsigned int nr;

	sim_require(nr < 2, "too many namespaces");
	unshare(&pids[nr++]);
}

/* ---- the freezer --------------------------------------------------------------- */

static struct task_struct *suspends;	/* the thread that asked for it */

static bool must_freeze(void)
{
	return suspends && suspends != current;
}

/* True if all others are in the freezer, or asleep and will come there. */
static bool all_frozen(void)
{
	const struct task_struct *task;

	for (task = sim_tasks; task; task = task->next_task) {
		if (task->signal && task != current && task->sim->state == SIM_RUNNABLE)
			return false;
	}
	return true;
}

void user_suspend(void)
{
	current->sim->regs.user = false;
	while (suspends) {		/* as the kernel's lock does */
		if (current->sim->signals >> SIGKILL & 1)
			user_exit();
		sim_return_to_user();
		current->sim->regs.user = false;
	}
	SIM_STEP("freeze the tasks");
	suspends = current;
	while (!all_frozen())
		sim_sleep_on(NULL, sim_ns() + 1000);
	sim_sleep_system();
	suspends = NULL;
	sim_wake_up(&suspends);
	sim_return_to_user();
}

static void stop_for_tracer(void)
{
	current->sim->stop = false;
	SIM_STEP("enters its ptrace stop");
	if (!current->ptrace)		/* the tracer is gone */
		return;
	current->sim->key = NULL;
	current->sim->until = 0;
	current->sim->state = SIM_TRACED;
	sim_wake_key(current);
	sim_schedule();
}

/* Before user mode continues, the kernel handles signals, releases and stops. */
void sim_return_to_user(void)
{
	const struct sim_context none = {};
	struct sim_task *t = current->sim;
	int sig;

	t->stopped_ns = 0;
	for (;;) {
		run_task_work();
		sim_check_context(&none, "a call");
		SIM_STEP("returns to user mode");
		while (must_freeze())
			sim_sleep_on(&suspends, 0);
		if (t->signals >> SIGKILL & 1)
			user_exit();
		if (t->stop && current->ptrace) {
			stop_for_tracer();
			continue;
		}
		if (!t->signals)
			break;
		for (sig = 1; sig <= 63; sig++)
			t->received[sig] += t->signals >> sig & 1;
		t->signals = 0;
	}
	t->regs.user = true;
}

/* Execute instructions in user mode, in pieces between which anything can happen. */
void user_work(u64 instructions)
{
	struct sim_task *t = current->sim;
	u64 n;

	sim_require(t->regs.user, "work in user mode by a task that is not there");
	while (instructions) {
		n = min(instructions, 1 + instructions / 3);
		preempt_disable();
		sim_run_and_look(n, false);
		t->executed += n;
		preempt_enable();
		SIM_STEP("user mode");
		if (t->signals || t->stop || must_freeze()) {
			t->regs.user = false;
			sim_return_to_user();
		}
		instructions -= n;
	}
}

/* ---- KVM ------------------------------------------------------------------------------ */

static void vcpu_in(struct preempt_notifier *notifier, int cpu)
{
	(void)notifier;
	sim_require((unsigned int)cpu == sim_cpu, "sched_in() on another CPU");
	sim_vcpu_loaded(true);
}

static void vcpu_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	(void)notifier;
	sim_require(next != current, "sched_out() by the next task");
	sim_vcpu_loaded(false);
}

static struct preempt_ops vcpu_ops = { .sched_in = vcpu_in, .sched_out = vcpu_out };

/* With a step at each place at which an interrupt finds the list in the middle of a change. */
static void vcpu_load(struct preempt_notifier *n)
{
	struct hlist_head *head = &current->preempt_notifiers;

	preempt_disable();
	preempt_notifier_init(n, &vcpu_ops);
	n->link.next = head->first;
	SIM_STEP("vcpu_load");
	if (n->link.next)
		n->link.next->pprev = &n->link.next;
	SIM_STEP("vcpu_load, the first notifier knows the new one");
	head->first = &n->link;
	n->link.pprev = &head->first;
	sim_vcpu_loaded(true);
	preempt_enable();
}

static void vcpu_put(struct preempt_notifier *n)
{
	struct hlist_node *next, **pprev;

	preempt_disable();
	sim_vcpu_loaded(false);
	next = n->link.next;
	pprev = n->link.pprev;
	SIM_STEP("vcpu_put");
	sim_require(*pprev == &n->link, "KVM's notifier has been lost");
	*pprev = next;
	SIM_STEP("vcpu_put, the notifier is not linked");
	if (next)
		next->pprev = pprev;
	/* As LIST_POISON1: another CPU must not be walking this list. */
	n->link.next = (struct hlist_node *)0x100;
	preempt_enable();
}

static void enter_guest(void)
{
	current->sim->regs.user = false;
	preempt_notifier_inc();
	/* As KVM's, it is not on the stack: the CPU may store to it late. */
	vcpu_load(&current->sim->vcpu);
	SIM_STEP("KVM_RUN");
}

static void leave_guest(void)
{
	vcpu_put(&current->sim->vcpu);
	preempt_notifier_dec();
	sim_return_to_user();
}

/* KVM_RUN, of that many steps; the thread may lose its CPU at some of them. */
void user_run_guest(unsigned int steps)
{
	enter_guest();
	while (steps--) {
		if (steps % 32)
			SIM_STEP("KVM_RUN");
		else
			sim_may_lose_cpu("KVM_RUN");
	}
	leave_guest();
}

/* The same, until another thread sets that. */
void user_run_guest_until(const bool *ends)
{
	enter_guest();
	while (!READ_ONCE(*ends))
		sim_may_lose_cpu("KVM_RUN");
	leave_guest();
}

/* The same of a program that exits at once. */
void user_run_vcpu(u64 instructions)
{
	user_run_guest(0);
	user_work(instructions);
}

/* A call that sleeps, as nanosleep() does. */
void user_sleep(u64 ns)
{
	current->sim->regs.user = false;
	sim_sleep_on(NULL, sim_ns() + ns);
	sim_return_to_user();
}

void user_kill(struct task_struct *task, int sig)
{
	send_sig_info(sig, NULL, task);
}

static bool is_stopped_or_dead(const struct task_struct *task)
{
	return task->sim->state == SIM_TRACED || task->exit_state;
}

/* Trace a thread, and wait until it has stopped.  False: it has ended. */
bool user_ptrace_stop(struct task_struct *task)
{
	current->sim->regs.user = false;
	task->ptrace = 1;
	task->parent = current;
	task->sim->stop = true;
	while (!is_stopped_or_dead(task))
		sim_sleep_on(task, sim_ns() + NSEC_PER_SEC);
	sim_return_to_user();
	return !task->exit_state;
}

void user_ptrace_continue(struct task_struct *task)
{
	SIM_STEP("PTRACE_DETACH");
	task->ptrace = 0;
	task->parent = NULL;
	if (task->sim->state != SIM_TRACED)
		return;
	task->sim->state = SIM_SLEEPS;
	sim_wake_task(task);
}

static struct super_block proc = { PROC_SUPER_MAGIC };
static struct dentry proc_root = { &proc_root, { "/" }, &proc };
static struct dentry proc_pid = { &proc_root, { "1" }, &proc };
static struct dentry proc_mem = { &proc_pid, { "mem" }, &proc };

static int release_mem(struct inode *inode, struct file *file)
{
	(void)inode;
	mmdrop(file->private_data);
	return 0;
}

static const struct file_operations mem_fops = { .release = release_mem };

/* Open /proc/PID/mem.  Return: a descriptor, or an error. */
int user_open_mem(struct task_struct *task)
{
	int fd = get_unused_fd_flags(0);
	struct file *file;

	if (fd < 0)
		return fd;
	if (!task->mm) {
		put_unused_fd(fd);
		return -ESRCH;
	}
	file = calloc(1, sizeof(*file));
	sim_nr_files++;
	file->f_op = &mem_fops;
	file->count.counter = 1;
	file->private_data = task->mm;
	file->f_path.dentry = &proc_mem;
	file->f_mode = FMODE_READ;
	mmgrab(task->mm);
	fd_install(fd, file);
	return fd;
}

/* ---- system calls -------------------------------------------------------------------------- */

/* The caller's structure, before a call that may fail has changed it. */
struct saved {
	void *arg;
	u32 size;			/* 0: there is none */
	char copy[512];
};

static void save(struct saved *s, void *arg)
{
	s->arg = arg;
	s->size = sim_failures.calls && sim_is_user_address(arg) ? *(u32 *)arg : 0;
	if (s->size > sizeof(s->copy))
		s->size = 0;
	if (s->size)
		memcpy(s->copy, arg, s->size);
}

/*
 * True if a call has failed only because sim_failures.calls says so.  It has changed nothing that
 * another attempt would find.  One that has not noticed that it could not access user memory
 * has a defect.
 */
static bool repeats(const struct saved *s, long ret)
{
	struct sim_task *t = current->sim;

	t->may_fail = false;
	sim_require(!t->faulted || ret < 0, "a call returns %ld, and could not access user memory", ret);
	if (!(ret == -ENOMEM && t->lacked_memory) && !(ret == -EFAULT && t->faulted))
		return false;
	/* The end of what it has put comes at its return. */
	sim_return_to_user();
	t->regs.user = false;
	memcpy(s->arg, s->copy, s->size);
	return true;
}

static long call_once(struct file *file, unsigned int cmd, void *arg)
{
	struct sim_cpu *cpu;
	long ret;

	sim_callback("ioctl");
	current->sim->nr_reads = 0;
	begin_call();
	ret = file->f_op->unlocked_ioctl(file, cmd, (unsigned long)arg);
	end_call();
	cpu = sim_this_cpu();
	sim_require(!cpu->preempt && !cpu->irqs_off && !current->sim->mutexes.n &&
		    !current->sim->rcu_depth, "a call returns in a wrong context");
	return ret;
}

static long call_ioctl(struct file *file, unsigned int cmd, void *arg)
{
	struct sim_task *t = current->sim;
	struct saved saved;
	long ret;

	save(&saved, arg);
	do {
		t->lacked_memory = false;
		t->faulted = false;
		t->may_fail = saved.size;
		ret = call_once(file, cmd, arg);
	} while (repeats(&saved, ret));
	return ret;
}

/* Only a descriptor is above 0.  Where nothing is refused, the audit log must not have a denial. */
static long check_result(unsigned int cmd, long ret)
{
	sim_require(ret < 0 || !current->sim->denied,
		    "the call %#x succeeds, and the audit log has a denial", cmd);
	sim_require(ret <= 0 || cmd == VPERFCTR_OPEN || cmd == VPERFCTR_ATTACH || cmd == VPERFCTR_OPEN_CPUS ||
		    cmd == VPERFCTR_MEMBER, "the call %#x returns %ld", cmd, ret);
	return ret;
}

long user_ioctl(int fd, unsigned int cmd, void *arg)
{
	struct file *file;
	long ret = -EBADF;

	current->sim->regs.user = false;
	current->sim->denied = false;
	file = fget(fd);
	if (file) {
		ret = call_ioctl(file, cmd, arg);
		fput(file);
	}
	sim_return_to_user();
	return check_result(cmd, ret);
}

long user_device_ioctl(unsigned int cmd, void *arg)
{
	struct file file = { .f_op = sim_device };
	long ret;

	current->sim->regs.user = false;
	current->sim->denied = false;
	__module_get(NULL);
	ret = call_ioctl(&file, cmd, arg);
	module_put(NULL);
	sim_return_to_user();
	return check_result(cmd, ret);
}

int user_close(int fd)
{
	struct file *file = fd >= 0 && fd < 64 ? current->signal->fd[fd] : NULL;

	if (!file)
		return -EBADF;
	current->sim->regs.user = false;
	current->signal->fd[fd] = NULL;
	current->signal->fd_used[fd] = false;
	SIM_STEP("close");
	close_file(file);
	sim_return_to_user();
	return 0;
}

unsigned int user_poll(int fd)
{
	struct file *file;
	unsigned int events = 0;

	current->sim->regs.user = false;
	file = fget(fd);
	if (file) {
		begin_call();
		events = file->f_op->poll(file, NULL);
		end_call();
		fput(file);
	}
	sim_return_to_user();
	return events;
}

/* The order is that of do_poll(): nothing is lost between the look and the sleep. */
unsigned int user_wait_poll(int fd)
{
	struct sim_task *t = current->sim;
	unsigned int events = 0;
	struct file *file;

	t->regs.user = false;
	file = fget(fd);
	while (file && !events && !t->signals) {
		t->polled = false;
		events = file->f_op->poll(file, (struct poll_table_struct *)t);
		while (!events && !t->polled && !t->signals) {
			t->killable = true;
			sim_sleep_on(t->polls, 0);
		}
	}
	t->polls = NULL;
	if (file)
		fput(file);
	sim_return_to_user();
	return events;
}
