// SPDX-License-Identifier: GPL-2.0
/*
 * usage: fuzz SECONDS			SEED=n in the environment repeats a run
 *	  fuzz replay LOG WORKER.ROUND	repeats one round of a log
 *
 * Call the device's interface with arguments that are almost valid, from several
 * processes, among forks, execs, ptrace, kills, mappings and CPUs that go offline and
 * online.  Each worker does rounds of some hundred steps, each round in a process of
 * its own.  After each round the worker makes a plain count, which must be exact.
 *
 * The seed determines the steps.  Each step is written to the log (LOG in the
 * environment; no log without it) before it is done:
 *
 *	WORKER.ROUND.PROCESS OPERATION SLOT A B C DATA
 *
 * Needs -icount, like the stress test.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "fuzz-step.h"

#define WORKERS		3
#define STEPS		150
#define CHILD_STEPS	20
#define MOST_EXTRA	20		/* rounds of a worker after the time is over */

#define AS_NAME(name, weight)	#name,
#define AS_WEIGHT(name, weight)	weight,
static const char *const op_names[] = { OPERATIONS(AS_NAME) };
static const unsigned int op_weights[] = { OPERATIONS(AS_WEIGHT) };

static struct shared {
	u64 steps, rounds, exact, accepted, any_kind, refused, killed;
	u64 done[NR_OPS], worked[NR_OPS];
	unsigned int processes[WORKERS];	/* of the round: the last process number */
} *shared;

static unsigned int seed, worker, round_nr, process;
static u64 rng;
static time_t deadline;
static int log_fd = -1;

#define COUNT(what)	__atomic_add_fetch(&shared->what, 1, __ATOMIC_RELAXED)

/* ---- random choices ----------------------------------------------------------- */

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

/* Give each process of each round of each worker a sequence of its own. */
static void seed_process(void)
{
	rng = seed + 1;
	rng = rng * 0x9e3779b97f4a7c15ULL + worker;
	rng = rng * 0x9e3779b97f4a7c15ULL + round_nr;
	rng = rng * 0x9e3779b97f4a7c15ULL + process;
	rng = (rng ^ rng >> 31) * 0x9e3779b97f4a7c15ULL ?: 1;
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

/* Return a value near the limits of validity. */
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

/* Change a few bytes or bits of a valid structure. */
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

static u32 choose_place(void)
{
	return one_in(20) ? below(NR_PLACES) : AT_MEMORY;
}

/* ---- choosing steps --------------------------------------------------------------- */

static u64 choose_evntsel(void)
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

/* The numbers of counters of a kind, or those that all kinds have. */
struct numbers {
	u32 general, fixed;
};

static struct numbers numbers_of(u32 kind)
{
	const struct vperfctr_info *of_kind;
	struct numbers nr, all = { 64, 64 };

	for (u32 i = 0; (of_kind = kind_info(i)); i++) {
		nr.general = __builtin_popcountll(of_kind->pmc_mask);
		nr.fixed = __builtin_popcountll(of_kind->fixed_mask);
		if (i == kind)
			return nr;
		if (nr.general < all.general)
			all.general = nr.general;
		if (nr.fixed < all.fixed)
			all.fixed = nr.fixed;
	}
	return all;
}

static void make_ctr(struct vperfctr_ctr *ctr, struct numbers nr, bool interrupts)
{
	memset(ctr, 0, sizeof(*ctr));
	if (one_in(2) && nr.fixed) {
		ctr->map = FIXED(below(nr.fixed + one_in(8)));
		ctr->evntsel = one_in(4) ? below(16) : FIXED_USER;
	} else {
		ctr->map = below(nr.general + one_in(8));
		ctr->evntsel = choose_evntsel();
	}
	if (one_in(40))
		ctr->map = strange_value();
	if (one_in(10)) {
		ctr->evntsel = (ctr->evntsel & ~0xffffULL) | (one_in(2) ? 0x01b7 : 0x01bb);
		ctr->aux = one_in(8) ? 1ULL << below(64) : 1 + below(3);
	}
	if (one_in(40))
		ctr->aux = strange_value();
	if (interrupts)
		ctr->ireset = -(s32)(1000 + below(one_in(3) ? 2000000000 : 100000));
	if (one_in(20))
		ctr->ireset = strange_value();
}

/* Make the counters for a kind. */
static void make_table(struct vperfctr_ctr *ctr, u32 n, u32 nractrs, struct numbers nr)
{
	for (u32 i = 0; i < n; i++)
		make_ctr(&ctr[i], nr, i >= nractrs);
	/* Counters that collide are refused: make them differ most of the time. */
	for (u32 i = 1; i < n && !one_in(8); i++) {
		if (ctr[i].map & VPERFCTR_FIXED && nr.fixed)
			ctr[i].map = FIXED(i % nr.fixed);
		else
			ctr[i].map = i % nr.general;
	}
}

/* Choose a kind that exists, or any kind with a table for each; return the number of tables. */
static u32 choose_kind(struct vperfctr_control *c, u32 n)
{
	if (!n || one_in(2)) {
		c->kind = n ? below(info.nrkinds) : 0;
		return 1;
	}
	c->kind = VPERFCTR_ANY_KIND;
	c->nrkinds = one_in(10) ? below(4) : 1 + below(info.nrkinds);
	return c->nrkinds < info.nrkinds ? c->nrkinds : info.nrkinds;
}

/* Periods must be the same on all kinds. */
static void make_alike(struct vperfctr_ctr *ctr, const struct vperfctr_ctr *first, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		if (!one_in(30))
			ctr[i].ireset = first[i].ireset;
		/* Turn them, so that each number has another counter. */
		if (!one_in(8)) {
			ctr[i].map = first[(i + 1) % n].map;
			ctr[i].evntsel = first[(i + 1) % n].evntsel;
			ctr[i].aux = first[(i + 1) % n].aux;
		}
	}
}

static void make_control(struct step *s)
{
	struct vperfctr_control *c = (void *)s->data;
	struct vperfctr_ctr *ctr = (void *)(c + 1);
	u32 n, nrtables, i;

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
	if (one_in(c->nrictrs ? 20 : 5)) {
		c->clock_period = one_in(10) ? strange_value() : VPERFCTR_CLOCK_MIN * (1 + below(20));
		if (!one_in(10)) {
			c->flags |= VPERFCTR_CONTROL_RING;
			c->tsc_on = 1;
		}
	}
	if (one_in(3))
		c->flags |= below(8);
	if (one_in(3))
		c->preserve = below(1 << c->nractrs);
	if (one_in(50))
		c->nractrs = strange_value();
	n = c->nractrs + c->nrictrs;
	if (n > VPERFCTR_MAX_CTRS + 1)
		n = VPERFCTR_MAX_CTRS + 1;
	nrtables = choose_kind(c, n);
	if (nrtables > CTRS_MAX / (VPERFCTR_MAX_CTRS + 1))
		nrtables = CTRS_MAX / (VPERFCTR_MAX_CTRS + 1);
	for (i = 0; i < nrtables; i++) {
		make_table(&ctr[i * n], n, c->nractrs, numbers_of(c->kind));
		if (i)
			make_alike(&ctr[i * n], ctr, n);
	}
	s->len = sizeof(*c) + nrtables * n * sizeof(*ctr);
	spoil(s->data, s->len);
	s->c = choose_place() | choose_place() << 4;
}

static void make_read(struct step *s)
{
	struct vperfctr_read *r = (void *)s->data;

	r->size = sizeof(*r);
	r->nrctrs = one_in(4) ? below(4) : VPERFCTR_MAX_CTRS;
	s->len = sizeof(*r);
	spoil(s->data, s->len);
	/* do_read() fills in the addresses. */
	s->a = below(8);
	s->b = below(4);	/* room for that many tables */
	s->c = choose_place() | choose_place() << 4;
}

static void make_mmap(struct step *s)
{
	s->a = one_in(4) ? below(5) * PAGE + (one_in(5) ? below(PAGE) : 0) : (u32)PAGE;
	if (one_in(5))
		s->b = one_in(2) ? VPERFCTR_RING_OFFSET : strange_value() * PAGE;
	/* Most of the time the valid protection and flags: readable and shared. */
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
		s->a = below(2);
		s->c = choose_place();
		break;
	case OP_CPUS:
		s->len = 16;
		s->data[0] = one_in(4) ? below(20) : sizeof(struct vperfctr_cpu_mask);
		s->data[4] = below(3);
		s->a = below(2);
		s->c = choose_place();
		break;
	case OP_OPEN: {
		struct vperfctr_open *o = (void *)s->data;

		o->size = sizeof(*o);
		o->flags = first || !one_in(3) ? VPERFCTR_OPEN_CREAT : below(64);
		s->len = sizeof(*o);
		if (first) {
			s->slot = 0;
			break;
		}
		spoil(s->data, s->len);
		s->a = below(5);	/* whose state */
		s->c = choose_place();
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
		r->flags = (one_in(4) ? VPERFCTR_RING_RECORDS : 0) |
			   (one_in(4) ? VPERFCTR_RING_KERNEL : 0);
		r->rate = one_in(4) ? 1U << below(32) : 0;
		r->depth = one_in(4) ? below(VPERFCTR_CHAIN_MAX + 2) : 0;
		r->stack = one_in(4) ? below(VPERFCTR_STACK_MAX / 8 + 2) * 8 : 0;
		r->kernel_depth = one_in(4) ? below(VPERFCTR_CHAIN_MAX + 2) : 0;
		s->len = sizeof(*r);
		spoil(s->data, s->len);
		s->c = choose_place();
		break;
	}
	case OP_STRANGE:
		s->a = one_in(2) ? _IO(0xd0, below(40)) : random32();
		s->len = 64;
		spoil(s->data, s->len);
		s->b = below(2);	/* of the device, or of a state */
		s->c = choose_place();
		break;
	case OP_MMAP:
		make_mmap(s);
		break;
	case OP_LOOP:
		s->a = 1 + below(one_in(10) ? 1000000 : 5000);
		break;
	case OP_FORK:
		s->a = below(4);	/* bit 0: share files; bit 1: do not wait */
		break;
	case OP_OPEN_CPUS: {
		struct vperfctr_open_cpus *o = (void *)s->data;
		u32 mask = 1 + below(one_in(5) ? 8 : 3);

		o->size = sizeof(*o);
		o->nrwords = 1;
		s->len = sizeof(*o);
		spoil(s->data, s->len);
		memcpy(o + 1, &mask, sizeof(mask));
		s->len += sizeof(u64);
		s->c = choose_place();
		s->slot = 1 + below(SLOTS - 1);
		break;
	}
	case OP_READ_CPUS: {
		struct vperfctr_read_cpus *r = (void *)s->data;

		r->size = sizeof(*r);
		r->nrcpus = one_in(4) ? below(4) : 64;
		r->nrctrs = one_in(4) ? below(4) : VPERFCTR_MAX_CTRS;
		s->len = sizeof(*r);
		spoil(s->data, s->len);
		s->a = below(4);
		s->c = choose_place();
		break;
	}
	default:
		s->a = strange_value();
		s->b = below(100);
		break;
	}
}

/* ---- the log of steps ------------------------------------------------------------ */

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

static void do_steps(unsigned int nr)
{
	struct step s;

	for (unsigned int i = 0; i < nr; i++) {
		make_step(&s, !i);
		if (s.op == OP_FORK) {
			/* Children do not fork: the tree stays finite. */
			if (process)
				continue;
			/* The child's number is logged before the child exists. */
			s.b = __atomic_add_fetch(&shared->processes[worker], 1, __ATOMIC_RELAXED);
		}
		/* Only one worker takes a CPU offline. */
		if (s.op == OP_HOTPLUG && worker)
			continue;
		log_step(&s);
		COUNT(steps);
		COUNT(done[s.op]);
		if (do_step(&s) >= 0)
			COUNT(worked[s.op]);
	}
}

static void run_child(unsigned int child)
{
	process = child;
	seed_process();
	do_steps(CHILD_STEPS);
}

static void control_done(bool any_kind, int err)
{
	if (err)
		COUNT(refused);
	else
		COUNT(accepted);
	if (any_kind && !err)
		COUNT(any_kind);
}

static const struct step_hooks hooks = {
	.run_child	= run_child,
	.wrong		= wrong,
	.control_done	= control_done,
};

/* ---- rounds ----------------------------------------------------------------------- */

static void fuzz_round(void)
{
	process = 0;
	shared->processes[worker] = 0;
	seed_process();
	do_steps(STEPS);
}

/* A plain count is exact after any round. */
static void check_plain_count(void)
{
	const char *why = why_not_exact(round_nr);

	if (why)
		wrong("after the round %s", why);
	COUNT(exact);
}

/* True if enough was done: a run in which all calls were refused has tested nothing. */
static bool has_tested(void)
{
	return shared->exact && shared->accepted && shared->refused && shared->worked[OP_READ];
}

/*
 * True if a worker has one more round to do.  This clock ticks once a second, so the time of a
 * short run may be over as soon as it begins.
 */
static bool goes_on(void)
{
	static unsigned int extra;

	return time(NULL) < deadline || (!has_tested() && extra++ < MOST_EXTRA);
}

static void work(unsigned int number)
{
	worker = number;
	for (round_nr = 0; goes_on(); round_nr++) {
		int status = run_round(fuzz_round);

		if (status == ROUND_HUNG)
			wrong("a step of the round hung");
		if (status == ROUND_WRONG)
			wrong("a process of the round failed");
		if (round_failed(status))
			wrong("the round ended with status %d", status);
		if (status)
			COUNT(killed);
		/* A round that is killed may leave a CPU offline. */
		if (!worker && status && !access(CPU1_ONLINE, W_OK))
			write_file(CPU1_ONLINE, "1");
		COUNT(rounds);
		check_plain_count();
	}
	_exit(0);
}

static int report(void)
{
	printf("fuzz: %llu steps in %llu rounds (%llu ended by a signal), %llu plain counts exact, "
	       "%llu controls accepted (%llu for any kind), %llu refused\n", shared->steps,
	       shared->rounds, shared->killed, shared->exact, shared->accepted, shared->any_kind,
	       shared->refused);
	for (unsigned int i = 0; i < NR_OPS; i++)
		printf("fuzz: %-10s %8llu, without an error %llu\n", op_names[i], shared->done[i],
		       shared->worked[i]);
	return !has_tested();
}

/* Read the next step of the round; return false if there is none. */
static bool read_step(FILE *file, struct step *s)
{
	char line[2 * DATA_MAX + 200], name[20], *data;
	unsigned int w, r;
	int at;

	while (fgets(line, sizeof(line), file)) {
		memset(s, 0, sizeof(*s));
		if (sscanf(line, "%u.%u.%u %19s %u %llx %llx %llx %n", &w, &r, &s->process, name, &s->slot,
			   &s->a, &s->b, &s->c, &at) != 8)
			continue;
		if (w != worker || r != round_nr)
			continue;
		while (s->op < NR_OPS && strcmp(name, op_names[s->op]))
			s->op++;
		if (s->op == NR_OPS || s->slot >= SLOTS)
			die("the log: bad operation or slot: %s %u", name, s->slot);
		for (data = line + at; s->len < DATA_MAX &&
		     sscanf(data, "%2hhx", &s->data[s->len]) == 1; data += 2)
			s->len++;
		return true;
	}
	return false;
}

static int replay(const char *name, const char *which)
{
	unsigned int nr = 0, room = 0;
	struct step *steps = NULL;
	FILE *file;
	int status;

	if (sscanf(which, "%u.%u", &worker, &round_nr) != 2)
		die("'%s' is no WORKER.ROUND", which);
	file = fopen(name, "r");
	if (!file)
		die("%s: %m", name);
	do {
		if (nr == room) {
			room += 1000;
			steps = reallocarray(steps, room, sizeof(*steps));
			if (!steps)
				die("no memory for %u steps", room);
		}
	} while (read_step(file, &steps[nr]) && ++nr);
	fclose(file);
	status = replay_steps(steps, nr);
	printf("fuzz: %u steps replayed, status %d\n", nr, status);
	free(steps);
	check_plain_count();
	return round_failed(status) || !nr;
}

int main(int argc, char **argv)
{
	const char *given = getenv("SEED"), *log = getenv("LOG");
	pid_t pids[WORKERS];
	int failed = 0, i;

	open_device();
	shared = shared_memory(sizeof(*shared));
	step_hooks = &hooks;
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
