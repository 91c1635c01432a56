// SPDX-License-Identifier: GPL-2.0
/* See common.h. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#ifdef __powerpc64__
int page_size;

static __attribute__((constructor)) void find_page_size(void)
{
	page_size = (int)sysconf(_SC_PAGESIZE);
}
#endif

int dev = -1;
struct vperfctr_info info = { .size = sizeof(info) };

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(99);
}

/* ---- the device -------------------------------------------------------- */

/*
 * Load the module of the device; EEXIST if another program has done it.  A program without the
 * right to it is the child of one that has done it.
 */
static void load_pmc_user(void)
{
	struct utsname name;
	char path[sizeof(name.release) + 32];
	unsigned int tries;
	int fd;

	if (!access(PMC_USER, F_OK))
		return;
	if (uname(&name))
		die("uname: %s", strerror(errno));
	snprintf(path, sizeof(path), "/tests/pmc-user-%s.ko", name.release);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		die("the module pmc-user: %s", strerror(errno));
	/* Another program may be loading it. */
	for (tries = 0; access(PMC_USER, F_OK) && tries < 1000; tries++)
		msleep(1);
	close(fd);
}

/* The general counters before the first one that exists: see SKIP_KEPT in common.h. */
static unsigned int skipped;

static void skip_kept(void)
{
	skipped = __builtin_ctzll(info.pmc_mask);
	info.pmc_mask >>= skipped;
}

void open_device(void)
{
	int err;

	/* Close-on-exec: a program that is executed opens the device itself. */
	dev = open("/dev/vperfctr", O_RDONLY | O_CLOEXEC);
	if (dev < 0)
		die("/dev/vperfctr: %s", strerror(errno));
	if (getenv("KIND"))
		info.kind = atoi(getenv("KIND"));
	err = call(dev, VPERFCTR_INFO, &info);
	if (err)
		die("VPERFCTR_INFO: %s", strerror(-err));
	if (getenv("KIND"))
		set_affinity(0, kind_cpus(info.kind));
	if (getenv("SKIP_KEPT"))
		skip_kept();
	if (!has_perf() && *PMC_USER)
		load_pmc_user();
}

u32 kind_cpus(u32 kind)
{
	struct {
		struct vperfctr_kind_cpus cpus;
		u32 words[64];
	} k = { .cpus = { .size = sizeof(k.cpus), .kind = kind, .nrwords = 64 } };
	int err = call(dev, VPERFCTR_KIND_CPUS, &k);

	if (err)
		die("VPERFCTR_KIND_CPUS: %s", strerror(-err));
	return k.words[0];
}

/* Kinds are found when the first of their CPUs comes online, and never change. */
const struct vperfctr_info *kind_info(u32 kind)
{
	static struct vperfctr_info kinds[4];
	struct vperfctr_info *found;

	if (kind >= sizeof(kinds) / sizeof(kinds[0]))
		return NULL;
	found = &kinds[kind];
	if (!found->size) {
		struct vperfctr_info new = { .size = sizeof(new), .kind = kind };

		if (call(dev, VPERFCTR_INFO, &new))
			return NULL;
		*found = new;
	}
	return found;
}

unsigned int nr_common_general(void)
{
	const struct vperfctr_info *of_kind;
	u64 mask = ~0ULL;

	for (u32 kind = 0; (of_kind = kind_info(kind)); kind++)
		mask &= of_kind->pmc_mask;
	return __builtin_popcountll(mask);
}

unsigned int nr_general(void)
{
	return __builtin_popcountll(info.pmc_mask);
}

unsigned int nr_fixed(void)
{
	return __builtin_popcountll(info.fixed_mask);
}

static u32 nth_bit(u64 mask, unsigned int n)
{
	while (n--)
		mask &= mask - 1;
	return __builtin_ctzll(mask);
}

u32 nth_general(unsigned int n)
{
	return nth_bit(info.pmc_mask, n);
}

u32 nth_fixed(unsigned int n)
{
	return FIXED(nth_bit(info.fixed_mask, n));
}

u32 no_general(void)
{
	return 64 - __builtin_clzll(info.pmc_mask) + skipped;
}

u32 no_fixed(void)
{
	return FIXED(info.fixed_mask ? 64 - __builtin_clzll(info.fixed_mask) : 0);
}

int call(int fd, unsigned long cmd, const void *arg)
{
	int ret = ioctl(fd, cmd, arg);

	return ret < 0 ? -errno : ret;
}

int try_open_state(u32 flags)
{
	struct vperfctr_open req = { .size = sizeof(req), .flags = flags };

	return call(dev, VPERFCTR_OPEN, &req);
}

int open_state(u32 flags)
{
	int fd = try_open_state(flags | VPERFCTR_OPEN_CREAT);

	if (fd < 0)
		die("VPERFCTR_OPEN: %s", strerror(-fd));
	return fd;
}

/* The descriptors of the last mappings, for self-reads where user mode must not read. */
#define NR_MAPPINGS	64
static struct mapping {
	const struct vperfctr_page *page;
	int fd;
} mappings[NR_MAPPINGS];
static unsigned int nr_mappings;

const struct vperfctr_page *try_map_state(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	struct mapping *mapping;

	if (page != MAP_FAILED && !has(VPERFCTR_FEATURE_RDPMC)) {
		mapping = &mappings[__atomic_fetch_add(&nr_mappings, 1, __ATOMIC_RELAXED) %
				    NR_MAPPINGS];
		mapping->page = page;
		mapping->fd = fd;
	}
	return page;
}

const struct vperfctr_page *map_state(int fd)
{
	const struct vperfctr_page *page = try_map_state(fd);

	if (page == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return page;
}

/* ---- control and reading ------------------------------------------------ */

void control_init(struct control *control, u32 tsc_on)
{
	memset(control, 0, sizeof(*control));
	control->c.size = sizeof(control->c);
	control->c.tsc_on = tsc_on;
	control->c.ctr_size = sizeof(control->ctr[0]);
	control->c.ctr = (uintptr_t)control->ctr;
}

u32 skip_kept_counters(u32 map)
{
	return map & VPERFCTR_FIXED ? map : map + skipped;
}

void control_add(struct control *control, u32 map, u64 evntsel)
{
	struct vperfctr_ctr *ctr = &control->ctr[control->c.nractrs++];

	ctr->map = skip_kept_counters(map);
	ctr->evntsel = evntsel;
	adapt_ctr(ctr);
	control->c.kind = info.kind;
}

void control_any_kind(struct control *control)
{
	u32 nrctrs = control->c.nractrs + control->c.nrictrs;

	control->c.kind = VPERFCTR_ANY_KIND;
	control->c.nrkinds = info.nrkinds;
	if (nrctrs * info.nrkinds > sizeof(control->ctr) / sizeof(control->ctr[0]))
		die("%u counters for each kind", nrctrs);
	for (u32 kind = 1; kind < info.nrkinds; kind++)
		memcpy(&control->ctr[kind * nrctrs], control->ctr, nrctrs * sizeof(control->ctr[0]));
}

int set_control(int fd, struct control *control)
{
	return call(fd, VPERFCTR_CONTROL, &control->c);
}

void count(int fd, u64 evntsel)
{
	struct control control;
	int err;

	control_init(&control, 1);
	control_add(&control, nth_general(0), evntsel);
	err = set_control(fd, &control);
	if (err)
		die("VPERFCTR_CONTROL: %s", strerror(-err));
}

int stop_all(int fd)
{
	struct control control;

	control_init(&control, 0);
	return set_control(fd, &control);
}

int try_read_sums(int fd, struct sums *sums)
{
	/* Aligned, as libc's memset() may take more instructions in one place than in another. */
	struct vperfctr_read req __attribute__((aligned(64))) = {
		.size = sizeof(req),
		.nrctrs = VPERFCTR_MAX_CTRS,
		.sums = (uintptr_t)sums,	/* starts with TSC and counters */
	};
	int err = call(fd, VPERFCTR_READ, &req);

	sums->status = req.status;
	sums->nrctrs = req.nrctrs;
	return err;
}

void read_sums(int fd, struct sums *sums)
{
	int err = try_read_sums(fd, sums);

	if (err)
		die("VPERFCTR_READ: %s", strerror(-err));
}

u32 status_of(int fd)
{
	struct sums sums;

	read_sums(fd, &sums);
	return sums.status;
}

/* ---- instructions -------------------------------------------------------- */

/*
 * The sleeps leave the CPU to the kernel thread, so its progress does not depend on
 * another virtual CPU.  In practice one or two suffice.
 */
#define LATE_SLEEPS	20000

/* True if no module can write CR4 on this kernel. */
static bool no_module_writes_cr4(void)
{
#if defined(__aarch64__) || defined(__riscv) || defined(__powerpc__)
	return false;
#else
	unsigned int major, minor;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		die("the kernel has no release");
	return major > 6 || (major == 6 && minor >= 18);
#endif
}

bool rdpmc_may_be_late(void)
{
	return sysconf(_SC_NPROCESSORS_CONF) > 1 && no_module_writes_cr4();
}

/* Out of line: a read that finds the right has the same length with and without it. */
__attribute__((noinline, cold))
static void wait_for_rdpmc(const volatile struct vperfctr_page *page)
{
	unsigned int sleeps = rdpmc_may_be_late() ? LATE_SLEEPS : 0;
	u32 cstatus;

	while (!((cstatus = page->cstatus) & VPERFCTR_CSTATUS_RDPMC)) {
		if (!sleeps-- || !(cstatus & VPERFCTR_CSTATUS_RUNNING))
			die("the page says not to use RDPMC: cstatus %#x", cstatus);
		msleep(1);
	}
}

/* The same by the kernel.  A new page may be where an old one was, so try the newest first. */
static u64 kernel_read(const struct vperfctr_page *page, unsigned int i)
{
	const struct mapping *mapping;
	struct sums sums;
	unsigned int n;

	for (n = 1; n <= NR_MAPPINGS; n++) {
		mapping = &mappings[(nr_mappings - n) % NR_MAPPINGS];
		if (mapping->page == page) {
			read_sums(mapping->fd, &sums);
			return sums.pmc[i];
		}
	}
	die("self-read of a page that map_state() has not mapped");
}

/* Out of line: then it has the same length wherever it is called. */
__attribute__((noinline))
u64 self_read_restarts(const struct vperfctr_page *p, unsigned int i, unsigned int *restarts)
{
	const volatile struct vperfctr_page *page = p;
	unsigned int n = 0;
	u32 seq;
	u64 value;

	if (!has(VPERFCTR_FEATURE_RDPMC)) {
		*restarts = 0;
		return kernel_read(p, i);
	}
	for (;; n++) {
		seq = page->samplecount;
		if (!(page->cstatus & VPERFCTR_CSTATUS_RDPMC)) {
			wait_for_rdpmc(page);
			continue;
		}
		value = rdpmc(page->ctr[i].map);
		value = page->ctr[i].sum + ((value - page->ctr[i].start) & page->mask);
		if (page->samplecount == seq)
			break;
	}
	*restarts = n;
	return value;
}

u64 self_read_tsc(const struct vperfctr_page *p)
{
	const volatile struct vperfctr_page *page = p;
	u64 value;
	u32 seq;

	do {
		seq = page->samplecount;
		value = page->tsc_sum;
		if (page->cstatus & VPERFCTR_CSTATUS_RUNNING)
			value += rdtsc() - page->tsc_start;
	} while (page->samplecount != seq);
	return value;
}

/* Per thread: several threads may try at the same time. */
static __thread sigjmp_buf fault;
static __thread volatile sig_atomic_t fault_expected;

/*
 * An overflow may be reported by any signal, these included: it is no fault.  A fault
 * that is not expected kills as it does without a handler.
 */
static void on_fault(int sig, siginfo_t *si, void *context)
{
	(void)context;
	if (si->si_code == SI_PMC_OVF)
		return;
	if (fault_expected)
		siglongjmp(fault, sig);
	signal(sig, SIG_DFL);
	raise(sig);
}

void catch_faults(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);
}

int try_rdpmc(u32 index, u64 *value)
{
	int sig;

	catch_faults();
	sig = sigsetjmp(fault, 1);
	if (!sig) {
		fault_expected = 1;
		*value = rdpmc(index);
	}
	fault_expected = 0;
	return sig;
}

int try_changed_rdpmc(u32 index, int expected)
{
	/* A right that ends may do so late also on the caller's own CPU. */
	bool late = expected ? no_module_writes_cr4() : rdpmc_may_be_late();
	unsigned int sleeps = late ? LATE_SLEEPS : 0;
	u64 value;
	int sig;

	while ((sig = try_rdpmc(index, &value)) != expected && sleeps--)
		msleep(1);
	return sig;
}

int try_touch(const volatile void *address)
{
	int sig;

	catch_faults();
	sig = sigsetjmp(fault, 1);
	if (!sig) {
		fault_expected = 1;
		(void)*(const volatile char *)address;
	}
	fault_expected = 0;
	return sig;
}

/* ---- threads and processes ------------------------------------------------ */

void *shared_memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap of shared memory: %s", strerror(errno));
	return p;
}

pid_t fork_files(void)
{
	pid_t pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);

	if (pid < 0)
		die("clone: %s", strerror(errno));
	return pid;
}

int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waitpid: %s", strerror(errno));
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void set_affinity(pid_t pid, u32 cpus)
{
	unsigned long mask[16] = { cpus };

	if (syscall(SYS_sched_setaffinity, pid, sizeof(mask), mask))
		die("sched_setaffinity to %#x: %s", cpus, strerror(errno));
}

void pin(int cpu)
{
	set_affinity(0, 1U << cpu);
}

bool is_rt(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.version, "PREEMPT_RT");
}

/*
 * True if the kernel has KCSAN, which delays accesses by 80 us, to see whether another CPU
 * touches the memory.
 */
bool is_kcsan_kernel(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.release, "-debug-kcsan");
}

bool is_debug_kernel(void)
{
	struct utsname name;

	return !uname(&name) && strstr(name.release, "-debug");
}

void other_cpus(const char *online)
{
	cpu_set_t own;
	char path[64];
	int cpu;

	if (sched_getaffinity(0, sizeof(own), &own))
		die("sched_getaffinity: %s", strerror(errno));
	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		if (!CPU_ISSET(cpu, &own))
			write_file(path, online);
	}
}

int nr_cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

bool may_choose_cpu(void)
{
	return nr_cpus() > 1 && !getenv("KIND");
}

void msleep(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void wait_for_upper_tsc(void)
{
#if defined(__powerpc__) && !defined(__powerpc64__)
	while (!(rdtsc() >> 32))
		msleep(1000);
#endif
}

/* ---- interrupts ------------------------------------------------------------ */

#define WORKERS		"/sys/devices/virtual/workqueue/cpumask"
#define MOST_MOVED	4096
#define TRIES		10

static struct {
	struct {
		pid_t tid;
		unsigned long cpus;
	} thread[MOST_MOVED];
	unsigned int n;
	char workers[64];
} moved;

/* Move the thread to CPU 0 if it may run there and elsewhere. */
static void move_thread(pid_t tid)
{
	unsigned long mask[16] = { 0 }, cpu0[16] = { 1 };

	if (moved.n == MOST_MOVED)
		die("too many threads");
	if (syscall(SYS_sched_getaffinity, tid, sizeof(mask), mask) < 0 || (mask[0] & 3) != 3)
		return;
	/* The kernel refuses it for some of its own threads, and a thread may have ended. */
	if (syscall(SYS_sched_setaffinity, tid, sizeof(cpu0), cpu0))
		return;
	moved.thread[moved.n].tid = tid;
	moved.thread[moved.n++].cpus = mask[0];
}

static void for_each_number(const char *path, void (*visit)(const char *path, pid_t number))
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	/* A process that has ended. */
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (atoi(entry->d_name) > 0)
			visit(path, atoi(entry->d_name));
	}
	closedir(dir);
}

static void move_task(const char *path, pid_t tid)
{
	(void)path;
	move_thread(tid);
}

static void move_process(const char *path, pid_t pid)
{
	char tasks[64];

	snprintf(tasks, sizeof(tasks), "%s/%d/task", path, pid);
	for_each_number(tasks, move_task);
}

static void clear_cpu1(void)
{
	moved.n = 0;
	/* Only this file changes the affinity of the workers that belong to no CPU. */
	if (!access(WORKERS, W_OK)) {
		read_file(WORKERS, moved.workers, sizeof(moved.workers));
		write_file(WORKERS, "1");
	}
	for_each_number("/proc", move_process);
}

static void restore_cpu1(void)
{
	while (moved.n--) {
		unsigned long mask[16] = { moved.thread[moved.n].cpus };

		syscall(SYS_sched_setaffinity, moved.thread[moved.n].tid, sizeof(mask), mask);
	}
	if (moved.workers[0])
		write_file(WORKERS, moved.workers);
}

/* Return how many function calls by interrupts CPU 1 has had. */
static unsigned long count_interrupts(void)
{
	FILE *file = fopen("/proc/interrupts", "r");
	unsigned long n[2];
	char line[1024];
	bool found = false;

	if (!file)
		die("/proc/interrupts: %s", strerror(errno));
	while (!found && fgets(line, sizeof(line), file)) {
		/* x86: "CAL: 1 2 Function call interrupts"; arm64: "IPI1: ..." */
		char *colon = strchr(line, ':');

		found = colon && strstr(line, "unction call interrupts") &&
			sscanf(colon + 1, "%lu %lu", &n[0], &n[1]) == 2;
	}
	fclose(file);
	if (!found)
		die("/proc/interrupts has no function calls");
	return n[1];
}

static pid_t module_thread;

static void find_module_thread(const char *path, pid_t pid)
{
	char file[64], name[32];
	FILE *comm;

	snprintf(file, sizeof(file), "%s/%d/comm", path, pid);
	comm = fopen(file, "r");
	if (!comm)
		return;		/* it has ended */
	if (fgets(name, sizeof(name), comm) && !strncmp(name, "vperfctr/1", 10))
		module_thread = pid;
	fclose(comm);
}

/* Return how often the module's thread of CPU 1, if there is one, has run. */
static unsigned long count_wakes(void)
{
	char file[64], line[256];
	unsigned long n = 0;
	FILE *status;

	if (!module_thread)
		return 0;
	snprintf(file, sizeof(file), "/proc/%d/status", module_thread);
	status = fopen(file, "r");
	if (!status)
		die("%s: %s", file, strerror(errno));
	while (fgets(line, sizeof(line), status))
		sscanf(line, "voluntary_ctxt_switches: %lu", &n);
	fclose(status);
	return n;
}

unsigned long interrupts_of_cpu1(void (*rounds)(int), int arg, unsigned long few)
{
	unsigned long n, fewest = -1UL;
	unsigned int tries;
	pid_t pid;

	module_thread = 0;
	for_each_number("/proc", find_module_thread);
	clear_cpu1();
	for (tries = 0; tries < TRIES && fewest >= few; tries++) {
		n = count_interrupts() + count_wakes();
		pid = fork();
		if (!pid) {
			/* It has been on CPU 1.  From Linux 6.13 on, its mm_cpumask() says so. */
			pin(1);
			pin(0);
			rounds(arg);
			_exit(0);
		}
		if (wait_for(pid))
			die("a child has failed");
		n = count_interrupts() + count_wakes() - n;
		fewest = n < fewest ? n : fewest;
	}
	restore_cpu1();
	return fewest;
}

bool taking_interrupts_all(void)
{
	unsigned int major, minor;
	struct utsname name;

	if (uname(&name) || sscanf(name.release, "%u.%u", &major, &minor) != 2)
		die("the kernel has no release");
	return major < 5 || (major == 5 && minor < 14);
}

/* ---- perf and files --------------------------------------------------------- */

u64 perf_config(u64 config)
{
	char type[16], *path = info.kind ? "/sys/devices/cpu_atom/type" :
					   "/sys/devices/cpu_core/type";

	/* Before Linux 5.13 perf knows only one kind. */
	if (info.nrkinds < 2 || access(path, F_OK))
		return config;
	read_file(path, type, sizeof(type));
	return config | (u64)atoi(type) << 32;
}

/*
 * Choose perf's name of an event.  With several PMUs on arm64, an event without a type of
 * PMU counts on the CPUs of one of them.  So name that of this CPU.
 */
static void perf_choose(struct perf_event_attr *attr, u64 config)
{
	const char *path = sched_getcpu() ? "/sys/bus/event_source/devices/armv8_cortex_a53/type" :
					    "/sys/bus/event_source/devices/armv8_cortex_a72/type";
	char type[16];

	attr->type = PERF_TYPE_HARDWARE;
	attr->config = perf_config(config);
	if (info.nrkinds < 2 || access(path, F_OK))
		return;
	read_file(path, type, sizeof(type));
	attr->type = atoi(type);
	attr->config = (config == PERF_COUNT_HW_INSTRUCTIONS ? INSNS_USER : CYCLES_USER) & 0xffff;
}

static int perf_open_format(u64 config, bool on_exec, u64 read_format)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.read_format = read_format,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = on_exec,
		.enable_on_exec = on_exec,
	};
	int fd;

	perf_choose(&attr, config);
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	return fd < 0 ? -errno : fd;
}

int perf_open(u64 config, bool on_exec)
{
	/* Like INSNS_USER, where the emulator counts no instructions. */
	if (config == PERF_COUNT_HW_INSTRUCTIONS &&
	    !(info.arch_events & VPERFCTR_EVENT_INSTRUCTIONS))
		config = PERF_COUNT_HW_CPU_CYCLES;
	return perf_open_format(config, on_exec, 0);
}

int other_user_open(void)
{
	int fd;

	if (has_perf() || !*PMC_USER)
		return perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);
	fd = open(PMC_USER, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static volatile u32 perf_signals;

static void on_perf(int sig)
{
	(void)sig;
	perf_signals++;
}

unsigned int perf_samples(u64 config, u64 period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_period = period,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.wakeup_events = 1,
	};
	int perf;

	perf_choose(&attr, config);
	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (perf < 0)
		die("perf_event_open: %s", strerror(errno));
	signal(SIGIO, on_perf);
	perf_signals = 0;
	if (fcntl(perf, F_SETOWN, gettid()) || fcntl(perf, F_SETFL, O_ASYNC))
		die("fcntl: %s", strerror(errno));
	loop(100 * period / 2);
	close(perf);
	return perf_signals;
}

/* Where CPUs differ, an event of perf runs only on CPUs of its PMU: those of CPU 0's kind. */
static bool event_is_kept_out(void)
{
	struct {
		u64 value, enabled, running;
	} got;
	int fd;

	/* Not instructions: in suite lies-unreadable the kernel panics if perf reads their counter. */
	if (has_perf())
		fd = perf_open_format(PERF_COUNT_HW_CPU_CYCLES, false,
				      PERF_FORMAT_TOTAL_TIME_ENABLED |
				      PERF_FORMAT_TOTAL_TIME_RUNNING);
	else
		fd = other_user_open();
	if (PERF_IS_REFUSED && fd == -EBUSY)
		return true;
	if (fd < 0)
		die("the counters of another user: %s", strerror(-fd));
	if (PERF_IS_REFUSED) {
		close(fd);
		return false;
	}
	loop(10000);
	if (read(fd, &got, sizeof(got)) != sizeof(got))
		die("cannot read perf's event");
	close(fd);
	return !got.value && got.enabled && !got.running;
}

bool perf_is_kept_out(void)
{
	cpu_set_t before, first;
	bool kept_out, can_move;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	can_move = info.nrkinds > 1 && !sched_getaffinity(0, sizeof(before), &before) &&
		!sched_setaffinity(0, sizeof(first), &first);
	kept_out = event_is_kept_out();
	if (can_move && sched_setaffinity(0, sizeof(before), &before))
		die("sched_setaffinity: %s", strerror(errno));
	return kept_out;
}

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die("%s: %s", path, strerror(errno));
	close(fd);
}

void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (n < 0)
		die("%s: %s", path, strerror(errno));
	text[n] = '\0';
	close(fd);
}
