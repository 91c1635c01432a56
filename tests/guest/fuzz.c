// SPDX-License-Identifier: GPL-2.0
/*
 * usage: fuzz SECONDS			SEED=n in the environment: the same calls again
 *	  fuzz replay LOG WORKER.ROUND	the calls of one round, as the log has them
 *
 * Calls the device's interface with arguments that are almost valid, from several
 * processes, among forks, execs, ptrace, kills, mappings and CPUs that come and
 * go.  Workers do rounds of some hundred steps, each round in a process of its
 * own.  After each the worker starts over with a plain count, which has to be exact.
 *
 * What a step does follows from the seed.  It is written to the log (LOG in
 * the environment; none otherwise) before it is done:
 *
 *	WORKER.ROUND.PROCESS OPERATION SLOT A B C DATA
 *
 * Needs -icount, as the stress does.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "common.h"

#define WORKERS		3
#define STEPS		150
#define CHILD_STEPS	20
#define SLOTS		6
#define SEL_ENABLE	0x400000
#define DATA_MAX	(sizeof(struct vperfctr_control) + \
			 (VPERFCTR_MAX_CTRS + 1) * sizeof(struct vperfctr_ctr))

/* What is done, and how often chance does it. */
#define OPERATIONS(X) \
	X(INFO, 2) X(CPUS, 2) X(OPEN, 12) X(CONTROL, 30) X(READ, 14) X(CALL, 14) X(RING, 5) \
	X(STRANGE, 3) X(MMAP, 8) X(MUNMAP, 4) X(MREMAP, 2) X(MPROTECT, 2) X(MADVISE, 2) \
	X(RDPMC, 6) X(CLOSE, 4) X(DUP, 3) X(POLL, 3) X(FILE, 2) X(LOOP, 10) X(FORK, 3) \
	X(EXEC, 2) X(TRACE, 5) X(GO_ON, 4) X(KILL, 3) X(AFFINITY, 4) X(HOTPLUG, 1) X(PERF, 1) \
	X(SLEEP, 3)

#define AS_ENUM(name, weight)	OP_##name,
#define AS_NAME(name, weight)	#name,
#define AS_WEIGHT(name, weight)	weight,
enum { OPERATIONS(AS_ENUM) NR_OPS };
static const char *const op_names[] = { OPERATIONS(AS_NAME) };
static const unsigned int op_weights[] = { OPERATIONS(AS_WEIGHT) };

struct step {
	u32 op, slot;
	u64 a, b, c;
	u32 len;
	unsigned char data[DATA_MAX];
};

/* Where an argument is. */
enum { AT_MEMORY, AT_NULL, AT_EDGE, AT_KERNEL, AT_PAGE, AT_ODD, NR_PLACES };

static struct shared {
	u64 steps, rounds, exact, accepted, refused, killed, done[NR_OPS], worked[NR_OPS];
	unsigned int processes[WORKERS];	/* of the round: names for its processes */
} *shared;

static unsigned int seed, worker, round_nr, process;
static u64 rng;
static time_t deadline;
static int log_fd = -1;
static FILE *replayed;
static const char *replayed_name;

/* Of this process, and of those that share its files. */
static int slots[SLOTS];
static struct { void *at; size_t size; } maps[SLOTS];
static pid_t traced;
static char *edge;

#define COUNT(what)	__atomic_add_fetch(&shared->what, 1, __ATOMIC_RELAXED)

/* ---- chance ------------------------------------------------------------------- */

static u32 random32(void)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (rng * 2685821657736338717ULL) >> 32;
}

static u64 random64(void)
{
	return (u64)random32() << 32 | random32();
}

static u32 below(u32 n)
{
	return random32() % n;
}

static bool one_in(u32 n)
{
	return !below(n);
}

static void seed_process(void)
{
	rng = ((u64)seed << 32 | worker << 28 | process) ^ (u64)round_nr * 0x9e3779b97f4a7c15ULL;
	rng |= 1;
	for (int i = 0; i < 8; i++)
		random32();
}

__attribute__((noreturn, format(printf, 1, 2)))
static void wrong(const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	die("SEED=%u: %u.%u.%u: %s", seed, worker, round_nr, process, text);
}

/* A value near the limits of what may be valid. */
static u64 strange_value(void)
{
	switch (below(8)) {
	case 0:
		return ~0ULL >> below(64);
	case 1:
		return 1ULL << below(64);
	case 2:
		return random64();
	case 3:
		return -(u64)below(4);
	default:
		return below(70);
	}
}

/* Change a few bytes, or bits, of a structure that was valid. */
static void spoil(void *p, size_t size)
{
	unsigned char *bytes = p;

	if (!size || !one_in(5))
		return;
	for (u32 n = 1 + below(2); n; n--) {
		u64 value = strange_value();
		size_t at = below(size);

		switch (below(3)) {
		case 0:
			bytes[at] ^= 1 << below(8);
			break;
		case 1:
			bytes[at] = value;
			break;
		default:
			at &= ~3UL;
			memcpy(bytes + at, &value, size - at < 4 ? size - at : 4);
			break;
		}
	}
}

static u32 some_place(void)
{
	return one_in(20) ? below(NR_PLACES) : AT_MEMORY;
}

/* ---- steps: what is to be done ------------------------------------------------- */

static u64 some_evntsel(void)
{
	u64 evntsel = one_in(2) ? INSNS_USER : CYCLES_USER;

	if (one_in(8))
		evntsel = (evntsel & ~0xffffULL) | below(0x10000);
	if (one_in(12))
		evntsel ^= 1ULL << below(64);
	if (one_in(6))
		evntsel ^= SEL_BOTH ^ SEL_USER;
	return evntsel;
}

static void make_ctr(struct vperfctr_ctr *ctr, bool interrupts)
{
	memset(ctr, 0, sizeof(*ctr));
	if (one_in(2) && nr_fixed()) {
		ctr->map = FIXED(below(nr_fixed() + one_in(8)));
		ctr->evntsel = one_in(4) ? below(16) : FIXED_USER;
	} else {
		ctr->map = below(nr_general() + one_in(8));
		ctr->evntsel = some_evntsel();
	}
	if (one_in(40))
		ctr->map = strange_value();
	if (one_in(40))
		ctr->aux = strange_value();
	if (interrupts)
		ctr->ireset = -(s32)(1000 + below(one_in(3) ? 2000000000 : 100000));
	if (one_in(20))
		ctr->ireset = strange_value();
}

static void make_control(struct step *s)
{
	struct vperfctr_control *c = (void *)s->data;
	struct vperfctr_ctr *ctr = (void *)(c + 1);
	unsigned int n;

	c->size = sizeof(*c);
	c->tsc_on = below(2);
	c->ctr_size = sizeof(*ctr);
	c->nractrs = below(one_in(3) ? 8 : 3);
	if (one_in(info.features & VPERFCTR_FEATURE_PCINT ? 3 : 20))
		c->nrictrs = 1 + below(2);
	if (c->nrictrs && one_in(3))
		c->flags |= VPERFCTR_CONTROL_RING;
	else if (c->nrictrs && !one_in(4))
		c->si_signo = one_in(4) ? below(66) : SIGUSR1;
	if (one_in(3))
		c->flags |= below(8);
	if (one_in(3))
		c->preserve = below(1 << c->nractrs);
	if (one_in(50))
		c->nractrs = strange_value();
	n = c->nractrs + c->nrictrs;
	if (n > VPERFCTR_MAX_CTRS + 1)
		n = VPERFCTR_MAX_CTRS + 1;
	for (unsigned int i = 0; i < n; i++)
		make_ctr(&ctr[i], i >= c->nractrs);
	/* Counters that collide are refused, most of the time nobody wants that. */
	for (unsigned int i = 1; i < n && !one_in(8); i++) {
		if (ctr[i].map & VPERFCTR_FIXED)
			ctr[i].map = FIXED(i % nr_fixed());
		else
			ctr[i].map = i % nr_general();
	}
	s->len = sizeof(*c) + n * sizeof(*ctr);
	spoil(s->data, s->len);
	s->c = some_place() | some_place() << 4;
}

static void make_read(struct step *s)
{
	struct vperfctr_read *r = (void *)s->data;

	r->size = sizeof(*r);
	r->nrctrs = one_in(4) ? below(4) : VPERFCTR_MAX_CTRS;
	s->len = sizeof(*r);
	spoil(s->data, s->len);
	/* addresses are filled in when it is known where there is memory */
	s->a = below(8);
	s->c = some_place() | some_place() << 4;
}

static void make_mmap(struct step *s)
{
	s->a = one_in(4) ? below(5) * PAGE + (one_in(5) ? below(PAGE) : 0) : PAGE;
	if (one_in(5))
		s->b = one_in(2) ? VPERFCTR_RING_OFFSET : strange_value() * PAGE;
	/* 0 is what the real thing has: readable and shared */
	s->c = one_in(5) ? below(8) | below(4) << 4 : PROT_READ | MAP_SHARED << 4;
	if (one_in(10) && s->b == VPERFCTR_RING_OFFSET)
		s->a = PAGE * (1 + below(20));
}

static void make_step(struct step *s, bool first)
{
	u32 total = 0, choice;

	memset(s, 0, sizeof(*s));
	for (u32 i = 0; i < NR_OPS; i++)
		total += op_weights[i];
	choice = below(total);
	if (first)
		choice = op_weights[OP_INFO] + op_weights[OP_CPUS];	/* OPEN */
	while (choice >= op_weights[s->op])
		choice -= op_weights[s->op++];
	s->slot = one_in(4) ? below(SLOTS) : 0;

	switch (s->op) {
	case OP_INFO:
		s->len = sizeof(info);
		((struct vperfctr_info *)s->data)->size = one_in(3) ? below(200) : sizeof(info);
		spoil(s->data, s->len);
		s->c = some_place();
		break;
	case OP_CPUS:
		s->len = 12;
		s->data[0] = below(3);
		s->a = below(2);
		s->c = some_place();
		break;
	case OP_OPEN: {
		struct vperfctr_open *o = (void *)s->data;

		o->size = sizeof(*o);
		o->flags = first || !one_in(3) ? VPERFCTR_OPEN_CREAT : below(16);
		s->len = sizeof(*o);
		if (first) {
			s->slot = 0;
			break;
		}
		spoil(s->data, s->len);
		s->a = below(5);	/* whose */
		s->c = some_place();
		break;
	}
	case OP_CONTROL:
		make_control(s);
		break;
	case OP_READ:
		make_read(s);
		break;
	case OP_CALL:
		if (one_in(5))
			s->a = VPERFCTR_CONSUME;
		else if (one_in(8))
			s->a = VPERFCTR_UNLINK;
		else
			s->a = one_in(3) ? VPERFCTR_IRESUME : VPERFCTR_SUSPEND + below(2);
		s->b = one_in(10) ? strange_value() : 0;
		break;
	case OP_RING: {
		struct vperfctr_ring *r = (void *)s->data;

		r->size = sizeof(*r);
		r->nrsamples = 1 << below(one_in(10) ? 32 : 8);
		r->watermark = 1 + below(r->nrsamples);
		r->nrsums = below(5);
		s->len = sizeof(*r);
		spoil(s->data, s->len);
		s->c = some_place();
		break;
	}
	case OP_STRANGE:
		s->a = one_in(2) ? _IO(0xd0, below(40)) : random32();
		s->len = 64;
		spoil(s->data, s->len);
		s->b = below(2);	/* on the device, or a state */
		s->c = some_place();
		break;
	case OP_MMAP:
		make_mmap(s);
		break;
	case OP_LOOP:
		s->a = 1 + below(one_in(10) ? 1000000 : 5000);
		break;
	case OP_FORK:
		s->a = below(4);	/* with what in common, waited for or not */
		break;
	default:
		s->a = strange_value();
		s->b = below(100);
		break;
	}
}

/* ---- steps: the log -------------------------------------------------------------- */

static void log_step(const struct step *s)
{
	char line[2 * DATA_MAX + 200];
	int n;
	u32 i;

	if (log_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%u.%u.%u %s %u %llx %llx %llx ", worker, round_nr,
		     process, op_names[s->op], s->slot, s->a, s->b, s->c);
	for (i = 0; i < s->len; i++)
		n += snprintf(line + n, sizeof(line) - n, "%02x", s->data[i]);
	n += snprintf(line + n, sizeof(line) - n, "%s\n", s->len ? "" : "-");
	if (write(log_fd, line, n) != n)
		die("the log: %m");
}

/* The next step of this process; false: there is none. */
static bool read_step(struct step *s)
{
	char line[2 * DATA_MAX + 200], name[20], *data;
	unsigned int w, r, p;
	int at;

	while (fgets(line, sizeof(line), replayed)) {
		memset(s, 0, sizeof(*s));
		if (sscanf(line, "%u.%u.%u %19s %u %llx %llx %llx %n", &w, &r, &p, name, &s->slot,
			   &s->a, &s->b, &s->c, &at) != 8)
			continue;
		if (w != worker || r != round_nr || p != process)
			continue;
		while (s->op < NR_OPS && strcmp(name, op_names[s->op]))
			s->op++;
		if (s->op == NR_OPS || s->slot >= SLOTS)
			die("%s: do not know '%s'", replayed_name, name);
		for (data = line + at; s->len < DATA_MAX &&
		     sscanf(data, "%2hhx", &s->data[s->len]) == 1; data += 2)
			s->len++;
		return true;
	}
	return false;
}

/* ---- steps: doing them ------------------------------------------------------------ */

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
		return (void *)(0xffff888000001000UL + shift);
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

/*
 * What the module may never accept, said independently of it: the rules of the
 * ABI for counters of Intel's, without overflows.
 */
static const char *why_invalid(const struct step *s)
{
	const struct vperfctr_control *c = (const void *)s->data;
	const struct vperfctr_ctr *ctr = (const void *)(c + 1);
	u64 used[2] = { 0, 0 };

	if (c->size < sizeof(*c))
		return "size";
	if (c->reserved)
		return "reserved";
	if (c->flags & ~31u)
		return "flags";
	if ((c->flags & VPERFCTR_CONTROL_END_ON_EXEC) &&
	    (c->flags & (VPERFCTR_CONTROL_START_ON_EXEC | VPERFCTR_CONTROL_INHERIT)))
		return "end";
	if (c->tsc_on > 1)
		return "tsc_on";
	if (c->ctr_size != sizeof(*ctr))
		return "ctr_size";
	if (c->nractrs + (u64)c->nrictrs > info.nrctrs)
		return "number of counters";
	if (!c->nrictrs && (c->si_signo || (c->flags & VPERFCTR_CONTROL_RING)))
		return "what is for i-mode only";
	if (c->nrictrs && ((c->flags & VPERFCTR_CONTROL_INHERIT) ||
			   !(info.features & VPERFCTR_FEATURE_PCINT)))
		return "i-mode";
	if (c->global[0] || c->global[1])
		return "global";
	for (u32 i = 0; i < c->nractrs + c->nrictrs; i++) {
		bool fixed = ctr[i].map & VPERFCTR_FIXED;
		u32 nr = ctr[i].map & ~VPERFCTR_FIXED;

		if (ctr[i].reserved || ctr[i].aux)
			return "aux";
		if (nr >= 64 || !((fixed ? info.fixed_mask : info.pmc_mask) >> nr & 1))
			return "map";
		if (used[fixed] >> nr & 1)
			return "map used twice";
		used[fixed] |= 1ULL << nr;
		if (fixed ? !ctr[i].evntsel || ctr[i].evntsel & ~3ULL :
		    (ctr[i].evntsel & ~0xffc7ffffULL) || !(ctr[i].evntsel & SEL_BOTH & ~SEL_ENABLE) ||
		    !(ctr[i].evntsel & SEL_ENABLE))
			return "evntsel";
		if (i < c->nractrs ? ctr[i].ireset :
		    ctr[i].ireset >= 0 || -(u64)ctr[i].ireset > info.max_period)
			return "ireset";
	}
	return NULL;
}

static int do_control(struct step *s)
{
	struct vperfctr_control *c = (void *)s->data;
	void *ctr, *arg;
	int err;

	/* the counters and the rest do not share their memory */
	static char counters[4096];
	static u64 header[sizeof(struct vperfctr_control) / 8 + 1];

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
			wrong("CONTROL took an invalid %s", why);
		COUNT(accepted);
	} else if (err) {
		COUNT(refused);
	}
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
	if (r->nrctrs > VPERFCTR_MAX_CTRS)
		r->nrctrs = VPERFCTR_MAX_CTRS;
	r->sums = s->a & 1 ? (uintptr_t)place(s->c >> 4, out[0], 300, s->b) : 0;
	r->children = s->a & 2 ? (uintptr_t)out[1] : 0;
	r->control = s->a & 4 ? (uintptr_t)c : 0;
	return call(slots[s->slot], VPERFCTR_READ, place(s->c, r, s->len, s->b));
}

static int do_mmap(struct step *s)
{
	void *p = mmap(NULL, s->a, s->c & 15, s->c >> 4, slots[s->slot], s->b);

	if (p == MAP_FAILED)
		return -errno;
	if (s->c & PROT_WRITE)
		wrong("a state was mapped writable");
	if (maps[s->slot].at)
		munmap(maps[s->slot].at, maps[s->slot].size);
	maps[s->slot].at = p;
	maps[s->slot].size = s->a;
	return 0;
}

/* By the page's word: who is told that RDPMC works does not die of it. */
static int do_rdpmc(struct step *s)
{
	const volatile struct vperfctr_page *page = maps[s->slot].at;
	u32 cstatus, seq;

	if (!page || try_touch(page))
		return -ENOENT;
	/* Somebody else's state tells nothing of what this process may do. */
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

static void run_process(unsigned int steps);

static int do_fork(struct step *s)
{
	/* The name is taken before, so that it is in the log. */
	unsigned int child = s->b;
	pid_t pid;

	pid = s->a & 1 ? fork_files() : fork();
	if (!pid) {
		process = child;
		traced = 0;
		if (replayed) {
			/* a position of its own in the log */
			replayed = fopen(replayed_name, "r");
			if (!replayed)
				die("%s: %m", replayed_name);
		} else {
			seed_process();
		}
		run_process(CHILD_STEPS);
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	if (s->a & 2)
		return 0;
	return wait_for(pid) == 99 ? -EIO : 0;
}

static int do_exec(void)
{
	static char *const args[] = { "known", NULL };
	pid_t pid = fork_files();

	if (!pid) {
		execv("/tests/known", args);
		_exit(1);
	}
	wait_for(pid);
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
			/* a state of its own, sometimes */
			close(try_open_state(VPERFCTR_OPEN_CREAT));
		}
	}
	if (waitpid(traced, &status, 0) != traced || !WIFSTOPPED(status))
		traced = 0;
	return 0;
}

static int do_go_on(void)
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

/* One worker's, and nobody else's. */
static int do_hotplug(struct step *s)
{
	if (worker || process || access("/sys/devices/system/cpu/cpu1/online", W_OK))
		return -EPERM;
	write_file("/sys/devices/system/cpu/cpu1/online", "0");
	msleep(s->b % 3);
	write_file("/sys/devices/system/cpu/cpu1/online", "1");
	return 0;
}

static int do_perf(struct step *s)
{
	int fd = perf_open(PERF_COUNT_HW_INSTRUCTIONS, false);

	if (fd < 0)
		return fd;
	msleep(s->b % 3);
	close(fd);
	return 0;
}

static int do_file(struct step *s)
{
	char text[512];
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
		if (!mprotect(at, size, s->b & 7) && (s->b & 7 & PROT_WRITE))
			wrong("a state was made writable");
		mprotect(at, size, PROT_READ);
		return 0;
	default:
		return madvise(at, size, s->b % 26);
	}
}

static int do_step(struct step *s)
{
	struct pollfd p = { .events = s->a };
	int fd;

	/* What is closed is tried, but not most of the time. */
	for (u32 i = 0; i < SLOTS && slots[s->slot] < 0 && s->slot < 4 &&
	     s->op != OP_OPEN; i++)
		s->slot = i;
	fd = slots[s->slot];
	p.fd = fd;

	switch (s->op) {
	case OP_INFO:
		return call(dev, VPERFCTR_INFO, place(s->c, s->data, s->len, s->b));
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
		return call(fd, s->a, (void *)s->b);
	case OP_RING:
		return call(fd, VPERFCTR_RING, place(s->c, s->data, s->len, s->b));
	case OP_STRANGE:
		/* OPEN by chance would leave a descriptor that nobody knows. */
		if (s->a == VPERFCTR_OPEN)
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
		return do_go_on();
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
	}
	return -EINVAL;
}

static void run_process(unsigned int steps)
{
	bool first = true;
	struct step s;

	for (; replayed || steps; steps--, first = false) {
		if (!replayed) {
			make_step(&s, first);
			if (s.op == OP_FORK)
				s.b = __atomic_add_fetch(&shared->processes[worker], 1,
							 __ATOMIC_RELAXED);
			/* No trees without end. */
			if (s.op == OP_FORK && process)
				continue;
			log_step(&s);
		} else if (!read_step(&s)) {
			break;
		}
		COUNT(steps);
		COUNT(done[s.op]);
		if (do_step(&s) >= 0)
			COUNT(worked[s.op]);
	}
	if (traced) {
		kill(traced, SIGKILL);
		wait_for(traced);
	}
}

/* ---- rounds ----------------------------------------------------------------------- */

static void make_edge(void)
{
	char *p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mprotect(p + 2 * PAGE, PAGE, PROT_NONE))
		die("mmap: %m");
	edge = p + 2 * PAGE;
}

static void fuzz_round(void)
{
	sigset_t none;
	int sig;

	/* Whatever an overflow's signal is. */
	for (sig = 1; sig < 65; sig++) {
		if (sig != SIGSEGV && sig != SIGBUS && sig != SIGCHLD && sig != SIGABRT)
			signal(sig, SIG_IGN);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	process = 0;
	for (int i = 0; i < SLOTS; i++)
		slots[i] = -1;
	make_edge();
	shared->processes[worker] = 0;
	seed_process();
	run_process(STEPS);
	_exit(0);
}

static u64 measure(int fd, unsigned long n)
{
	u64 before[2], after[2];
	struct vperfctr_read first = {
		.size = sizeof(first), .nrctrs = 1, .sums = (uintptr_t)before,
	}, second = {
		.size = sizeof(second), .nrctrs = 1, .sums = (uintptr_t)after,
	};

	if (read_loop_read(fd, VPERFCTR_READ, &first, &second, n))
		wrong("READ failed after the round");
	return after[1] - before[1];
}

/* Whatever happened before: a plain count is exact. */
static void check_plain_count(void)
{
	struct control control;
	pid_t pid = fork();
	u64 counted;
	int err, fd;

	if (!pid) {
		fd = open_state(0);
		control_init(&control, 1);
		if (nr_fixed() && round_nr & 1)
			control_add(&control, FIXED(0), FIXED_USER);
		else
			control_add(&control, round_nr % nr_general(), INSNS_USER);
		while ((err = set_control(fd, &control)) == -EBUSY)
			sched_yield();
		if (err)
			wrong("CONTROL after the round: %s", strerror(-err));
		counted = measure(fd, 20000);
		if (counted != INSNS_BETWEEN(20000))
			wrong("counted %llu instead of %llu after the round", counted,
			      INSNS_BETWEEN(20000));
		_exit(0);
	}
	if (wait_for(pid))
		wrong("a plain count after the round failed");
	COUNT(exact);
}

static void work(unsigned int number)
{
	worker = number;
	for (round_nr = 0; time(NULL) < deadline; round_nr++) {
		pid_t pid = fork();
		int status;

		if (!pid)
			fuzz_round();
		status = wait_for(pid);
		/* what it left behind */
		kill(-pid, SIGKILL);
		if (status == 99 || status == 128 + SIGSEGV || status == 128 + SIGBUS)
			wrong("the round ended with status %d", status);
		if (status)
			COUNT(killed);
		COUNT(rounds);
		check_plain_count();
	}
	_exit(0);
}

static int report(void)
{
	int failed = 0;

	printf("fuzz: %llu steps in %llu rounds (%llu ended by a signal), %llu plain counts exact, "
	       "%llu controls accepted, %llu refused\n", shared->steps, shared->rounds,
	       shared->killed, shared->exact, shared->accepted, shared->refused);
	for (unsigned int i = 0; i < NR_OPS; i++)
		printf("fuzz: %-10s %8llu, without an error %llu\n", op_names[i], shared->done[i],
		       shared->worked[i]);
	/* Nothing was tested if all was refused. */
	if (!shared->exact || !shared->accepted || !shared->refused || !shared->worked[OP_READ])
		failed = 1;
	return failed;
}

static int replay(const char *name, const char *which)
{
	pid_t pid;
	int status;

	if (sscanf(which, "%u.%u", &worker, &round_nr) != 2 || worker >= WORKERS)
		die("'%s' is no WORKER.ROUND", which);
	replayed_name = name;
	replayed = fopen(name, "r");
	if (!replayed)
		die("%s: %m", name);
	pid = fork();
	if (!pid)
		fuzz_round();
	status = wait_for(pid);
	printf("fuzz: %llu steps replayed, status %d\n", shared->steps, status);
	check_plain_count();
	return status == 99 || !shared->steps;
}

int main(int argc, char **argv)
{
	const char *given = getenv("SEED"), *log = getenv("LOG");
	pid_t pids[WORKERS];
	int failed = 0, i;

	open_device();
	shared = shared_memory(sizeof(*shared));
	/* Descendants that a worker kills are nobody else's to wait for. */
	signal(SIGALRM, SIG_IGN);
	if (argc == 4 && !strcmp(argv[1], "replay"))
		return replay(argv[2], argv[3]);
	seed = given ? strtoul(given, NULL, 0) : (unsigned int)time(NULL);
	printf("fuzz: SEED=%u\n", seed);
	fflush(stdout);
	if (log) {
		log_fd = open(log, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
		if (log_fd < 0)
			die("%s: %m", log);
	}
	deadline = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	for (i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (!pids[i])
			work(i);
	}
	for (i = 0; i < WORKERS; i++)
		failed |= wait_for(pids[i]);
	return failed | report();
}
