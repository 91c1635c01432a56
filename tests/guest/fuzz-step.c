// SPDX-License-Identifier: GPL-2.0
/* Steps of fuzz.c: see fuzz-step.h. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "fuzz-step.h"

const struct step_hooks *step_hooks;

static unsigned int process;

/* Descriptors and mappings of this process, and of processes that share its files. */
static int slots[SLOTS];
static struct { void *at; size_t size; } maps[SLOTS];
static pid_t traced;
static char *edge;

/* Shared by the round's processes and its worker. */
static volatile struct {
	u32 steps_done;		/* watch_round() watches it */
	u32 wrong;
} *progress;

/* Its exit status does not show that a process failed if no other one waits for it. */
void report_wrong(const char *what, const char *detail)
{
	progress->wrong = 1;
	step_hooks->wrong("%s%s", what, detail);
}

/* ---- doing steps ------------------------------------------------------------------ */

/* The kernel's, which user mode cannot touch. */
#if __SIZEOF_POINTER__ == 8
#define KERNEL_MEMORY	0xffff888000001000UL
#else
#define KERNEL_MEMORY	0xc0001000UL
#endif

static char memory[8192] __attribute__((aligned(4096)));

static void *place(u32 where, const void *data, u32 len, u32 shift)
{
	switch (where & 15) {
	case AT_NULL:
		return NULL;
	case AT_EDGE:
		shift %= len + 1;
		memcpy(edge - shift, data, shift);
		return edge - shift;
	case AT_KERNEL:
		return (void *)(KERNEL_MEMORY + shift);
	case AT_PAGE:
		return maps[0].at ? maps[0].at : NULL;
	case AT_ODD:
		memcpy(memory + 1, data, len);
		return memory + 1;
	default:
		memcpy(memory, data, len);
		return memory;
	}
}

static void put_slot(u32 slot, int fd)
{
	if (fd < 0)
		return;
	if (slots[slot] >= 0)
		close(slots[slot]);
	slots[slot] = fd;
}

/* The i-th counter's control.  Beyond the data there are zeros. */
static struct vperfctr_ctr nth_ctr(const struct step *s, u32 i)
{
	const struct vperfctr_control *c = (const void *)s->data;
	u64 at = sizeof(*c) + (u64)i * c->ctr_size;
	struct vperfctr_ctr ctr = { 0 };

	if (at + sizeof(ctr) <= sizeof(s->data))
		memcpy(&ctr, s->data + at, sizeof(ctr));
	return ctr;
}

static bool kind_has(u32 kind, u32 map)
{
	const struct vperfctr_info *of_kind = kind_info(kind);
	u64 mask = map & VPERFCTR_FIXED ? of_kind->fixed_mask : of_kind->pmc_mask;
	u32 nr = map & ~VPERFCTR_FIXED;

	return nr < 64 && mask >> nr & 1;
}

/* Check the counters for a kind, which are one of `nrtables` tables, or all. */
static const char *why_table_invalid(const struct step *s, const struct vperfctr_control *c,
				     u32 kind, u32 nrtables)
{
	u64 used[2] = { 0, 0 }, registers[2] = { 0, 0 };
	u32 n = c->nractrs + c->nrictrs, table = nrtables ? kind : 0;

	if (n > kind_info(kind)->nrctrs)
		return "number of counters";
	for (u32 i = 0; i < n; i++) {
		const struct vperfctr_ctr ctr = nth_ctr(s, table * n + i);
		bool fixed = ctr.map & VPERFCTR_FIXED;
		u32 nr = ctr.map & ~VPERFCTR_FIXED;

		if (ctr.reserved || !valid_aux(&ctr, registers))
			return "aux";
		for (u32 other = 0; other < nrtables; other++) {
			if (!kind_has(other, ctr.map))
				return "map, which a kind lacks";
		}
		if (!kind_has(kind, ctr.map))
			return "map";
		if (used[fixed] >> nr & 1)
			return "map used twice";
		used[fixed] |= 1ULL << nr;
		if (!valid_evntsel(ctr.evntsel, fixed))
			return "evntsel";
		if (i < c->nractrs ? ctr.ireset :
		    ctr.ireset >= 0 || -(u64)ctr.ireset > info.max_period ||
		    -(u64)ctr.ireset < info.min_period)
			return "ireset";
		if (ctr.ireset != nth_ctr(s, i).ireset)
			return "ireset, which differs";
	}
	return NULL;
}

static const char *why_counters_invalid(const struct step *s, const struct vperfctr_control *c)
{
	const char *why = NULL;

	if (c->kind != VPERFCTR_ANY_KIND) {
		if (c->nrkinds)
			return "nrkinds";
		if (!kind_info(c->kind) || (c->kind && !(c->nractrs + c->nrictrs)))
			return "kind";
		return why_table_invalid(s, c, c->kind, 0);
	}
	if (!(c->nractrs + c->nrictrs))
		return "control without counters for any kind";
	if (!c->nrkinds || !kind_info(c->nrkinds - 1))
		return "number of tables";
	for (u32 kind = 0; kind < c->nrkinds && !why; kind++)
		why = why_table_invalid(s, c, kind, c->nrkinds);
	return why;
}

/* Check a control against the rules of the ABI, independently of the module's code. */
static const char *why_invalid(const struct step *s)
{
	struct vperfctr_control known;
	const struct vperfctr_control *c = &known;

	memcpy(&known, s->data, sizeof(known));
	if (c->size < sizeof(known))
		return "size";
	if (c->reserved)
		return "reserved";
	if (c->flags & ~127u)
		return "flags";
	if ((c->flags & VPERFCTR_CONTROL_SPREAD) &&
	    (!(c->flags & VPERFCTR_CONTROL_INHERIT) || (!c->nrictrs && !c->clock_period)))
		return "spread";
	if ((c->flags & VPERFCTR_CONTROL_INHERIT_THREADS) &&
	    !(c->flags & VPERFCTR_CONTROL_INHERIT))
		return "threads";
	if ((c->flags & VPERFCTR_CONTROL_END_ON_EXEC) &&
	    (c->flags & (VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_INHERIT)))
		return "end";
	if (c->tsc_on > 1)
		return "tsc_on";
	if (c->ctr_size < sizeof(struct vperfctr_ctr) || c->ctr_size > (u32)PAGE || c->ctr_size % 8)
		return "ctr_size";
	if (c->nractrs + (u64)c->nrictrs > VPERFCTR_MAX_CTRS)
		return "number of counters";
	if (!c->nrictrs && (c->si_signo || ((c->flags & VPERFCTR_CONTROL_RING) && !c->clock_period)))
		return "what is for i-mode only";
	if (c->clock_period && (c->clock_period < VPERFCTR_CLOCK_MIN ||
				c->clock_period > VPERFCTR_CLOCK_MAX))
		return "clock_period";
	if (c->clock_period && (c->nrictrs || !c->tsc_on || !(c->flags & VPERFCTR_CONTROL_RING)))
		return "what a clock needs";
	if (c->nrictrs && !(info.features & VPERFCTR_FEATURE_PCINT))
		return "i-mode";
	if (c->nrictrs && (c->flags & VPERFCTR_CONTROL_INHERIT) && !c->si_signo &&
	    !(c->flags & VPERFCTR_CONTROL_RING))
		return "i-mode that nothing reports";
	if (c->global[0] || c->global[1])
		return "global";
	return why_counters_invalid(s, c);
}

static int do_control(struct step *s)
{
	struct vperfctr_control *c = (void *)s->data;
	void *ctr, *arg;
	int err;

	/* The counters and the header must not share memory. */
	static char counters[8192];
	static u64 header[sizeof(struct vperfctr_control) / 8 + 1];

	/* A random nractrs may exceed the data: what follows are zeros, as in s->data. */
	memset(counters, 0, sizeof(counters));
	ctr = place(s->c >> 4, c + 1, s->len - sizeof(*c), s->a);
	if (ctr == memory || ctr == memory + 1) {
		memcpy(counters, ctr, s->len - sizeof(*c));
		ctr = counters;
	}
	memcpy(header, s->data, sizeof(*c));
	((struct vperfctr_control *)header)->ctr = (uintptr_t)ctr;
	arg = place(s->c, header, sizeof(*c), s->a);
	if (arg == maps[0].at)
		c = NULL;
	err = call(slots[s->slot], VPERFCTR_CONTROL, arg);
	if (!err && c && !(s->c & 0xff)) {
		const char *why = why_invalid(s);

		if (why)
			report_wrong("CONTROL accepted an invalid ", why);
	}
	if (step_hooks->control_done)
		step_hooks->control_done(((const struct vperfctr_control *)s->data)->kind ==
					 VPERFCTR_ANY_KIND, err);
	return err;
}

static int do_read(struct step *s)
{
	static char out[4][4096];
	struct vperfctr_read *r = (void *)s->data;
	struct vperfctr_control *c = (void *)out[2];

	memset(c, 0, sizeof(*c));
	c->size = sizeof(*c);
	c->ctr_size = sizeof(struct vperfctr_ctr);
	c->ctr = (uintptr_t)out[3];
	c->nrkinds = s->b % 4;
	if (r->nrctrs > VPERFCTR_MAX_CTRS)
		r->nrctrs = VPERFCTR_MAX_CTRS;
	r->sums = s->a & 1 ? (uintptr_t)place(s->c >> 4, out[0], 300, s->b) : 0;
	r->children = s->a & 2 ? (uintptr_t)out[1] : 0;
	r->control = s->a & 4 ? (uintptr_t)c : 0;
	return call(slots[s->slot], VPERFCTR_READ, place(s->c, r, s->len, s->b));
}

/*
 * True if the mapping is one of an event of perf, which may be writable.  Processes of a round
 * share descriptors: between two steps of one, another can close a state, and perf's event gets
 * its number.
 */
static bool is_of_perf(const void *at)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[256], address[20];
	bool found = false;

	if (!f)
		return false;
	sprintf(address, "%08lx-", (unsigned long)at);
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, address, strlen(address)) && strstr(line, "anon_inode:[perf_event]");
	fclose(f);
	return found;
}

static int do_mmap(struct step *s)
{
	void *p = mmap(NULL, s->a, s->c & 15, s->c >> 4, slots[s->slot], s->b);

	if (p == MAP_FAILED)
		return -errno;
	if (s->c & PROT_WRITE && !is_of_perf(p))
		report_wrong("a state was mapped writable", "");
	if (maps[s->slot].at)
		munmap(maps[s->slot].at, maps[s->slot].size);
	maps[s->slot].at = p;
	maps[s->slot].size = s->a;
	return 0;
}

/* If the page says that RDPMC works, RDPMC must not raise a signal. */
static int do_rdpmc(struct step *s)
{
	const volatile struct vperfctr_page *page = maps[s->slot].at;
	u32 cstatus, seq;

	if (!page || try_touch(page))
		return -ENOENT;
	/* Another process's state says nothing about this process's rights. */
	if (process || s->slot)
		return 0;
	seq = page->samplecount;
	cstatus = page->cstatus;
	if (cstatus & VPERFCTR_CSTATUS_RDPMC && VPERFCTR_CSTATUS_NRCTRS(cstatus)) {
		u64 value;

		if (try_rdpmc(page->ctr[0].map, &value) && page->samplecount == seq)
			return -EFAULT;
	}
	return 0;
}

/* In each of the round's processes after its last step. */
static void end_steps(void)
{
	if (!traced)
		return;
	kill(traced, SIGKILL);
	wait_for(traced);
	traced = 0;
}

/* Like wait_for(), but continue the child if an overflow's signal has stopped it. */
static int wait_and_continue(pid_t pid)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, WUNTRACED) < 0) {
			if (errno != EINTR)
				die("waitpid: %m");
		} else if (WIFSTOPPED(status)) {
			kill(pid, SIGCONT);
		} else {
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		}
	}
}

static int do_fork(struct step *s)
{
	/* fuzz.c has chosen the number before, to have it in the log. */
	unsigned int child = s->b;
	int status;
	pid_t pid;

	pid = s->a & 1 ? fork_files() : fork();
	if (!pid) {
		process = child;
		traced = 0;
		step_hooks->run_child(child);
		end_steps();
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	if (s->a & 2)
		return 0;
	status = wait_and_continue(pid);
	if (round_failed(status))
		report_wrong("a forked process failed", "");
	return status ? -EIO : 0;
}

static int do_exec(void)
{
	static char *const args[] = { "known", NULL };
	pid_t pid = fork_files();

	if (!pid) {
		execv("/tests/known", args);
		_exit(1);
	}
	wait_and_continue(pid);
	return 0;
}

static int do_trace(void)
{
	int status;

	if (traced)
		return -EEXIST;
	traced = fork_files();
	if (!traced) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		for (;;) {
			raise(SIGSTOP);
			loop(1000);
			/* Open a state of its own, sometimes. */
			close(try_open_state(VPERFCTR_OPEN_CREAT));
		}
	}
	if (waitpid(traced, &status, 0) != traced || !WIFSTOPPED(status))
		traced = 0;
	return 0;
}

static int do_continue(void)
{
	int status;

	if (!traced)
		return -ESRCH;
	if (ptrace(PTRACE_CONT, traced, 0, 0) ||
	    waitpid(traced, &status, 0) != traced || !WIFSTOPPED(status))
		traced = 0;
	return 0;
}

static int do_kill(struct step *s)
{
	if (!traced)
		return -ESRCH;
	if (s->b % 3 == 0)
		return kill(traced, SIGCONT);
	if (s->b % 3 == 1)
		ptrace(PTRACE_DETACH, traced, 0, 0);
	kill(traced, SIGKILL);
	wait_for(traced);
	traced = 0;
	return 0;
}

static int do_affinity(struct step *s)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(s->b % 2, &set);
	if (s->b & 8)
		CPU_SET(0, &set);
	return sched_setaffinity(s->b & 16 && traced ? traced : 0, sizeof(set), &set);
}

/* Only the first process does this; fuzz.c allows it to one worker. */
static int do_hotplug(struct step *s)
{
	if (process || access(CPU1_ONLINE, W_OK))
		return -EPERM;
	write_file(CPU1_ONLINE, "0");
	msleep(s->b % 3);
	write_file(CPU1_ONLINE, "1");
	return 0;
}

static int do_perf(struct step *s)
{
	int fd = other_user_open();

	if (fd < 0)
		return fd;
	msleep(s->b % 3);
	close(fd);
	return 0;
}

static int do_file(struct step *s)
{
	char text[512] = "";
	int fd;

	switch (s->b % 4) {
	case 0:
		return read(slots[s->slot], text, 16) < 0 ? -errno : 0;
	case 1:
		return write(slots[s->slot], text, 16) < 0 ? -errno : 0;
	case 2:
		return lseek(slots[s->slot], s->a, SEEK_SET) < 0 ? -errno : 0;
	default:
		snprintf(text, sizeof(text), "/proc/self/fdinfo/%d", slots[s->slot]);
		fd = open(text, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (read(fd, text, sizeof(text)) < 0)
			text[0] = 0;
		close(fd);
		return 0;
	}
}

static int do_open(struct step *s)
{
	struct vperfctr_open *o = (void *)s->data;
	int fd;

	if (s->a == 1 && traced)
		o->tid = traced;
	else if (s->a == 2)
		o->tid = getppid();
	fd = call(dev, VPERFCTR_OPEN, place(s->c, o, s->len, s->b));
	put_slot(s->slot, fd);
	return fd < 0 ? fd : 0;
}

/* The set has a word, which follows the structure. */
static int do_open_cpus(struct step *s)
{
	struct vperfctr_open_cpus *o = (void *)s->data;
	int fd;

	o->mask = (uintptr_t)place(s->c >> 4, o + 1, sizeof(u32), s->b);
	if (o->mask == (uintptr_t)memory)
		o->mask += sizeof(*o);	/* place() copies the whole step there */
	fd = call(dev, VPERFCTR_OPEN_CPUS, place(s->c, o, s->len, s->b));
	put_slot(s->slot, fd);
	return fd < 0 ? fd : 0;
}

static int do_read_cpus(struct step *s)
{
	static u64 out[2][64 * (1 + VPERFCTR_MAX_CTRS)];
	struct vperfctr_read_cpus *r = (void *)s->data;

	if (r->nrctrs > VPERFCTR_MAX_CTRS)
		r->nrctrs = VPERFCTR_MAX_CTRS;
	if (r->nrcpus > 64)
		r->nrcpus = 64;
	r->cpus = s->a & 1 ? (uintptr_t)out[0] : 0;
	r->sums = s->a & 2 ? (uintptr_t)place(s->c >> 4, out[1], 300, s->b) : 0;
	if (r->sums == (uintptr_t)memory || r->sums == (uintptr_t)memory + 1)
		r->sums = (uintptr_t)out[1];
	return call(slots[s->slot], VPERFCTR_READ_CPUS, place(s->c, r, s->len, s->b));
}

static int do_map_op(struct step *s)
{
	void *at = maps[s->slot].at;
	size_t size = maps[s->slot].size;
	void *to;

	if (!at)
		return -ENOENT;
	switch (s->op) {
	case OP_MUNMAP:
		maps[s->slot].at = NULL;
		return munmap(at, size);
	case OP_MREMAP:
		to = mremap(at, size, s->b & 1 ? size : PAGE * (s->b % 4), MREMAP_MAYMOVE);
		if (to == MAP_FAILED)
			return -errno;
		maps[s->slot].at = to;
		if (!(s->b & 1))
			maps[s->slot].size = PAGE * (s->b % 4);
		return 0;
	case OP_MPROTECT:
		if (!mprotect(at, size, s->b & 7) && (s->b & 7 & PROT_WRITE) && !is_of_perf(at))
			report_wrong("a state was made writable", "");
		mprotect(at, size, PROT_READ);
		return 0;
	default:
		return madvise(at, size, s->b % 26);
	}
}

int do_step(struct step *s)
{
	struct pollfd p = { .events = s->a };
	int fd;

	__atomic_add_fetch(&progress->steps_done, 1, __ATOMIC_RELAXED);

	/* Prefer open slots: most of the time a closed one is not worth a try. */
	for (u32 i = 0; i < SLOTS && slots[s->slot] < 0 && s->slot < 4 &&
	     s->op != OP_OPEN && s->op != OP_OPEN_CPUS; i++)
		s->slot = i;
	fd = slots[s->slot];
	p.fd = fd;

	switch (s->op) {
	case OP_INFO:
		return call(s->a ? fd : dev, VPERFCTR_INFO, place(s->c, s->data, s->len, s->b));
	case OP_CPUS:
		return call(dev, s->a ? VPERFCTR_CPUS : VPERFCTR_CPUS_FORBIDDEN,
			    place(s->c, s->data, s->len, s->b));
	case OP_OPEN:
		return do_open(s);
	case OP_CONTROL:
		return do_control(s);
	case OP_READ:
		return do_read(s);
	case OP_CALL:
		return call(fd, s->a, (void *)(uintptr_t)s->b);
	case OP_RING:
		return call(fd, VPERFCTR_RING, place(s->c, s->data, s->len, s->b));
	case OP_STRANGE:
		/* An OPEN here would leave a descriptor that is in no slot. */
		if (s->a == VPERFCTR_OPEN || s->a == VPERFCTR_OPEN_CPUS)
			return 0;
		return call(s->b ? dev : fd, s->a, place(s->c, s->data, s->len, s->b));
	case OP_MMAP:
		return do_mmap(s);
	case OP_MUNMAP:
	case OP_MREMAP:
	case OP_MPROTECT:
	case OP_MADVISE:
		return do_map_op(s);
	case OP_RDPMC:
		return do_rdpmc(s);
	case OP_CLOSE:
		slots[s->slot] = -1;
		return fd >= 0 ? close(fd) : -EBADF;
	case OP_DUP:
		put_slot(s->b % SLOTS, fcntl(fd, F_DUPFD_CLOEXEC, 0));
		return 0;
	case OP_POLL:
		return poll(&p, 1, 0) < 0 ? -errno : 0;
	case OP_FILE:
		return do_file(s);
	case OP_LOOP:
		loop(s->a);
		return 0;
	case OP_FORK:
		return do_fork(s);
	case OP_EXEC:
		return do_exec();
	case OP_TRACE:
		return do_trace();
	case OP_GO_ON:
		return do_continue();
	case OP_KILL:
		return do_kill(s);
	case OP_AFFINITY:
		return do_affinity(s);
	case OP_HOTPLUG:
		return do_hotplug(s);
	case OP_PERF:
		return do_perf(s);
	case OP_SLEEP:
		msleep(s->b % 4);
		return 0;
	case OP_OPEN_CPUS:
		return do_open_cpus(s);
	case OP_READ_CPUS:
		return do_read_cpus(s);
	}
	return -EINVAL;
}

static void make_edge(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + 2 * PAGE, PAGE, PROT_NONE))
		die("mmap: %m");
	edge = p + 2 * PAGE;
}

static void begin_steps(void)
{
	sigset_t none;
	int sig;

	/*
	 * Survive every overflow signal that can be ignored.  SIGKILL and SIGSTOP
	 * cannot: run_round() expects them.
	 */
	for (sig = 1; sig < 65; sig++) {
		if (sig != SIGCHLD && sig != SIGABRT)
			signal(sig, SIG_IGN);
	}
	catch_faults();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	process = 0;
	for (int i = 0; i < SLOTS; i++)
		slots[i] = -1;
	make_edge();
}

unsigned int round_limit_ms = 5000;

static u64 now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

/* Wait for the round's first process; the caller then kills its group. */
static int watch_round(pid_t pid, const sigset_t *child)
{
	const struct timespec tick = { .tv_nsec = 100000000 };
	u64 limit = now_ms() + round_limit_ms;
	unsigned int warnings = 0;
	u32 seen = progress->steps_done;
	int status;
	pid_t got;

	for (;;) {
		got = waitpid(pid, &status, WNOHANG | WUNTRACED);
		if (got < 0)
			die("waitpid: %m");
		if (got && !WIFSTOPPED(status)) {
			if (warnings > 2)
				return ROUND_HUNG;
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		}
		if (got)
			kill(pid, SIGCONT);
		else
			sigtimedwait(child, NULL, &tick);
		if (progress->steps_done != seen) {
			seen = progress->steps_done;
			limit = now_ms() + round_limit_ms;
			warnings = 0;
		} else if (now_ms() >= limit) {
			/* The first SIGCONT may come between a stop and the next one. */
			if (++warnings > 3)
				die("a killed round does not end: it is stuck in the kernel");
			kill(-pid, warnings > 2 ? SIGKILL : SIGCONT);
			limit = now_ms() + round_limit_ms;
		}
	}
}

int run_round(void (*round)(void))
{
	sigset_t child, before;
	int status;
	pid_t pid;

	if (!progress)
		progress = shared_memory(PAGE);
	progress->wrong = 0;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, &before);
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		die("fork: %m");
	if (!pid) {
		begin_steps();
		round();
		end_steps();
		_exit(0);
	}
	/* As the child does: the group must exist before the first kill(). */
	setpgid(pid, pid);
	status = watch_round(pid, &child);
	kill(-pid, SIGKILL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return progress->wrong ? ROUND_WRONG : status;
}

/* ---- checks after a round --------------------------------------------------------- */

static u64 measure(int fd, unsigned long n)
{
	u64 before[2], after[2];
	struct vperfctr_read first = {
		.size = sizeof(first), .nrctrs = 1, .sums = (uintptr_t)before,
	}, second = {
		.size = sizeof(second), .nrctrs = 1, .sums = (uintptr_t)after,
	};

	if (read_loop_read(fd, VPERFCTR_READ, &first, &second, n))
		return 0;
	return after[1] - before[1];
}

const char *why_not_exact(unsigned int which)
{
	static char why[100];
	struct control control;
	u64 counted;
	int fd, err, tries = 5000;

	fd = try_open_state(VPERFCTR_OPEN_CREAT);
	if (fd < 0)
		return "there is no state to be had";
	control_init(&control, 1);
	if (have_fixed_insns() && which & 1)
		control_add(&control, FIXED_INSNS, FIXED_USER);
	else
		control_add(&control, which % nr_common_general(), INSNS_USER);
	/* The worker may run on each kind.  With one kind, both sorts of controls count. */
	if (info.nrkinds > 1 || which % 3 == 2)
		control_any_kind(&control);
	/* Another worker's round may use perf for a moment. */
	while ((err = set_control(fd, &control)) == -EBUSY && --tries)
		msleep(1);
	counted = err ? 0 : measure(fd, 20000);
	call(fd, VPERFCTR_UNLINK, NULL);
	close(fd);
	/* The other CPU is not idle. */
	if (!err && (counted == INSNS_BETWEEN(20000) ||
		     (!COUNTS_APART && nr_cpus() > 1 && counted > INSNS_BETWEEN(20000))))
		return NULL;
	snprintf(why, sizeof(why), "CONTROL: %s; counted %llu instead of %llu", strerror(-err),
		 counted, INSNS_BETWEEN(20000));
	return why;
}

/* ---- replay ----------------------------------------------------------------------- */

static const struct step *replayed;
static unsigned int nr_replayed;

static void replay_child(unsigned int number)
{
	/* A copy, because do_step() changes it. */
	static struct step s;

	for (unsigned int i = 0; i < nr_replayed; i++) {
		if (replayed[i].process != number)
			continue;
		s = replayed[i];
		do_step(&s);
	}
}

static void replay_round(void)
{
	replay_child(0);
}

int replay_steps(const struct step *steps, unsigned int nr)
{
	static const struct step_hooks hooks = { .run_child = replay_child, .wrong = die };

	step_hooks = &hooks;
	replayed = steps;
	nr_replayed = nr;
	return run_round(replay_round);
}
