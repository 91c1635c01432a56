// SPDX-License-Identifier: GPL-2.0
/* Calls of the kernel in samples: those that perf finds, of the same code in the same boot. */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "overflow.h"

#define NR(array)	(sizeof(array) / sizeof((array)[0]))

#define MAX_RATE	"/sys/module/vperfctr/parameters/max_sample_rate"
#define ALLOW_KERNEL	"/sys/module/vperfctr/parameters/allow_kernel"
#define RATE_OF_PERF	"/proc/sys/kernel/perf_event_max_sample_rate"
#define TIME_OF_PERF	"/proc/sys/kernel/perf_cpu_time_max_percent"

/*
 * Clock ticks come while overflows are handled.  A debug kernel takes so long for an overflow that
 * after a short period most samples would be in the code of ticks, on top of any other code.
 */
#define PERIOD		(is_debug_kernel() ? 50021 : 3001)
#define PERF_PAGES	(2097152 / PAGE)

/*
 * POWER clears 128 bytes of memory by one instruction.  So the calls are shorter there, and fewer
 * samples are at the same place: all tests make more calls, and perf learns for longer.  Its
 * handler takes longer than PERIOD, and would sample little but its own end.
 */
#ifdef __powerpc64__
#define MORE_CALLS	6
#define MIN_ROUNDS	15
#define PERF_PERIOD(round)	(20011 + 610 * (round))
/*
 * A function may save its return address long after it has begun.  Until then, the word for it
 * has an earlier one.  Few samples are there, so a known path is sampled with several periods.
 */
#define NR_PERIODS	6
#else
#define MORE_CALLS	1
#define MIN_ROUNDS	1
#define PERF_PERIOD(round)	((void)(round), PERIOD)
#define NR_PERIODS	1
#endif

static int fd;
static struct mapped_ring ring;

static void make_kernel_ring(u32 kernel_depth, u32 depth, u32 stack)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .flags = VPERFCTR_RING_KERNEL, .nrsamples = 8192,
		.watermark = 8192, .nrsums = 1, .depth = depth, .stack = stack,
		.kernel_depth = kernel_depth,
	};

	assert_ok(call(fd, VPERFCTR_RING, &req));
	map_ring(fd, req.map_size, &ring);
	ck_assert_uint_eq(ring.page->kernel_depth, kernel_depth);
}

/* ---- functions of the kernel ------------------------------------------------------- */

struct function {
	u64 begin;
	char name[48];
};

static struct function *functions;
static size_t nrfunctions;

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void read_functions(void)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	struct function one;
	size_t room = 0;
	char line[512], type;

	if (!f)
		die("/proc/kallsyms: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %c %47s", &one.begin, &type, one.name) != 3 ||
		    (type != 't' && type != 'T'))
			continue;
		if (nrfunctions == room) {
			room = room ? 2 * room : 65536;
			functions = realloc(functions, room * sizeof(*functions));
			if (!functions)
				die("out of memory");
		}
		functions[nrfunctions++] = one;
	}
	fclose(f);
	qsort(functions, nrfunctions, sizeof(*functions), compare_functions);
	if (!nrfunctions || !functions[0].begin)
		die("/proc/kallsyms has no addresses");
}

static const struct function *function_at(u64 address)
{
	size_t from = 0, to = nrfunctions;

	while (to - from > 1) {
		size_t mid = (from + to) / 2;

		if (functions[mid].begin <= address)
			from = mid;
		else
			to = mid;
	}
	return &functions[from];
}

static const char *function_of(u64 address)
{
	return function_at(address)->name;
}

/* ---- samples ------------------------------------------------------------------------ */

struct path {
	u64 ip, n;
	const u64 *ret;
};

/* Find the calls of sample i in the kernel, and check all of its parts. */
static struct path path_of(u64 i)
{
	const struct vperfctr_sample *s = ring_sample(&ring, i);
	const u64 *at = &s->sums[1];
	struct path path = { .ip = s->ip, .n = at[0], .ret = at + 1 };
	u64 k;

	ck_assert_uint_le(path.n, ring.page->kernel_depth);
	ck_assert(!path.n || s->flags == VPERFCTR_SAMPLE_KERNEL);
	for (k = 0; k < path.n; k++)
		ck_assert_uint_ge(path.ret[k], 1ULL << 63);
	at += 1 + path.n;
	if (ring.page->depth) {
		ck_assert_uint_le(at[0], ring.page->depth);
		/* Without frame pointers, any word of the user's memory can be taken for one. */
		for (k = 1; k <= at[0]; k++)
			ck_assert(at[k] < functions[0].begin ||
				  at[k] > functions[nrfunctions - 1].begin);
		at += 1 + at[0];
	}
	if (!ring.page->stack)
		ck_assert_uint_eq(s->size, (const char *)at - (const char *)s);
	else
		ck_assert_uint_le(at[0], VPERFCTR_USER_64);
	return path;
}

/* Print a path that is wrong. */
static void print_path(const char *what, const struct path *path)
{
	u64 k;

	fprintf(stderr, "%s: %s", what, function_of(path->ip));
	for (k = 0; k < path->n; k++)
		fprintf(stderr, " < %s", function_of(path->ret[k]));
	fputc('\n', stderr);
}

static char buffer[65536];

static int zero, ends[2];

static void open_files(void)
{
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	if (zero < 0 || pipe(ends))
		die("cannot open files: %s", strerror(errno));
}

/* A few system calls, whose paths in the kernel are few, too. */
static void call_kernel(unsigned int n)
{
	unsigned int k;

	n *= MORE_CALLS;
	while (n--) {
		if (read(zero, buffer, sizeof(buffer)) != sizeof(buffer) ||
		    write(ends[1], buffer, 4096) != 4096 || read(ends[0], buffer, 4096) != 4096)
			die("cannot read and write: %s", strerror(errno));
		/* A turn has several lengths, so that periods do not fall into step with it. */
		for (k = MORE_CALLS > 1 ? n % 7 : 1; k; k--)
			syscall(SYS_getppid);
	}
}

/* Sample call_kernel().  A check of libcheck writes to a file, so none is made meanwhile. */
static void sample_kernel(unsigned int n, u64 period)
{
	int started, stopped;

	started = try_overflow_ring(fd, IMODE_MAP, IMODE_BOTH, period);
	call_kernel(n);
	stopped = stop_all(fd);
	assert_ok(started);
	assert_ok(stopped);
}

/* ---- perf -------------------------------------------------------------------------- */

/* A step from a callee to its caller: a function or a return address, and the next one. */
struct step {
	u64 from, to;
};

#define MAX_STEPS	(1 << 20)
#define MAX_PERF_CHAIN	1024

static struct step *steps;
static size_t nrsteps;

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/*
 * A debug kernel has too many calls for perf to see each of them.  Only functions are compared
 * there, without the innermost: checks that all code calls, whose callers are missing where
 * they have no frame pointer yet.
 */
#define FIRST_STEP	(is_debug_kernel() ? 2 : 0)

static u64 call_or_function(u64 address)
{
	return is_debug_kernel() ? function_at(address)->begin : address;
}

/* Step k of a path, whose last one leads to 0. */
static struct step step_of(const struct path *path, u64 k)
{
	return (struct step){
		k ? call_or_function(path->ret[k - 1]) : function_at(path->ip)->begin,
		k < path->n ? call_or_function(path->ret[k]) : 0,
	};
}

static bool is_known_step(struct step step)
{
	return bsearch(&step, steps, nrsteps, sizeof(step), compare_steps);
}

/* True if perf has found all steps of the path, which `depth` may have ended. */
static bool is_known(const struct path *path, u64 depth)
{
	u64 k;

	for (k = FIRST_STEP; k <= path->n && k < depth; k++) {
		if (!is_known_step(step_of(path, k)))
			return false;
	}
	return true;
}

static void sort_steps(size_t n)
{
	size_t i;

	qsort(steps, n, sizeof(*steps), compare_steps);
	for (i = nrsteps = 0; i < n; i++) {
		if (!nrsteps || compare_steps(&steps[nrsteps - 1], &steps[i]))
			steps[nrsteps++] = steps[i];
	}
}

/*
 * Copy the addresses of perf's chain.  On POWER it also has a mark where an interrupt came in
 * the kernel, and 0 for an address that is wrong.  Return: their number.
 */
static u64 addresses_of(const u64 *from, u64 n, u64 *to)
{
	u64 i, k = 0;

	ck_assert_uint_le(n, MAX_PERF_CHAIN);
	for (i = 0; i < n; i++) {
		if (from[i] && from[i] < (u64)PERF_CONTEXT_MAX)
			to[k++] = from[i];
	}
	return k;
}

/* Keep the steps of perf's samples.  True if few samples had new ones. */
static bool keep_steps(const char *data, u64 head)
{
	static u64 ret[MAX_PERF_CHAIN];
	u64 at, k, samples = 0, new = 0;
	size_t n = nrsteps;
	struct path path;

	ck_assert_uint_lt(head, PERF_PAGES * PAGE);
	for (at = 0; at < head;) {
		const struct perf_event_header *h = (const void *)(data + at);
		const u64 *ip = (const u64 *)(h + 1);

		at += h->size;
		/* PERF_CONTEXT_KERNEL, the address itself, and its callers */
		if (h->type != PERF_RECORD_SAMPLE || !(*ip >> 63) || ip[1] < 2 ||
		    ip[2] != (u64)PERF_CONTEXT_KERNEL || ip[3] != *ip)
			continue;
		path = (struct path){ .ip = *ip, .ret = ret };
		path.n = addresses_of(&ip[4], ip[1] - 2, ret);
		samples++;
		new += !is_known(&path, VPERFCTR_CHAIN_MAX);
		for (k = 0; k <= path.n && n < MAX_STEPS; k++)
			steps[n++] = step_of(&path, k);
	}
	sort_steps(n);
	return new * 10 <= samples;
}

/* Let perf sample call_kernel().  True if few of its samples had steps that it had not found yet. */
static bool learn_more_steps(unsigned int round)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_HARDWARE, .config = perf_config(IMODE_PERF),
		.sample_period = PERF_PERIOD(round),
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_user = 1, .exclude_user = 1, .disabled = 1,
	};
	struct perf_event_mmap_page *page;
	bool few;
	int perf;

	perf = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (perf < 0)
		die("perf_event_open: %s", strerror(errno));
	page = mmap(NULL, (1 + PERF_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, perf, 0);
	if (page == MAP_FAILED)
		die("mmap of perf's ring: %s", strerror(errno));
	ioctl(perf, PERF_EVENT_IOC_ENABLE, 0);
	call_kernel(1000);
	ioctl(perf, PERF_EVENT_IOC_DISABLE, 0);
	few = keep_steps((char *)page + PAGE, __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE));
	munmap(page, (1 + PERF_PAGES) * PAGE);
	close(perf);
	return few;
}

/*
 * Learn the paths of call_kernel() from perf, until it finds few new ones: in a short run of
 * a debug kernel, some paths of its checks are in no sample.
 */
static void learn_steps(void)
{
	unsigned int round = 0;

	steps = malloc(MAX_STEPS * sizeof(*steps));
	if (!steps)
		die("out of memory");
	/* However long its interrupts take.  The rate can be changed only where that is limited. */
	write_file(TIME_OF_PERF, "25");
	write_file(RATE_OF_PERF, "1000000");
	write_file(TIME_OF_PERF, "0");
	/* Other periods reach other places. */
	while (!learn_more_steps(round) || round + 1 < MIN_ROUNDS)
		ck_assert_uint_lt(++round, 30);
	ck_assert_uint_ge(nrsteps, 20);
}

/* ---- the tests ----------------------------------------------------------------------- */

static void setup(void)
{
	write_file(MAX_RATE, "0");
	fd = open_state(0);
	open_files();
}

static void teardown(void)
{
	write_file(MAX_RATE, "100000");
	write_file(ALLOW_KERNEL, "0");
}

static const u32 depths[] = { VPERFCTR_CHAIN_MAX, 2, 1 };

/*
 * Each step is one that perf has found, too, unless it is rare: timers and RCU interrupt the
 * calls.  A chain that begins at a wrong place, or is another sample's, has a step that no code
 * takes.
 */
START_TEST(same_as_perf)
{
	u64 i, same = 0, other = 0, calls = 0;
	struct path path;

	learn_steps();
	make_kernel_ring(depths[_i], 0, 0);
	sample_kernel(2000, PERIOD);
	for (i = 0; i < ring_head(&ring); i++) {
		path = path_of(i);
		if (!(path.ip >> 63))
			continue;
		calls += path.n;
		if (is_known(&path, depths[_i])) {
			same++;
			continue;
		}
		other++;
		if (other < 10)
			print_path("perf has not seen", &path);
	}
	ck_assert_msg(same >= 200 && other <= same / 5 && calls >= same * 9 / 10,
		      "%llu samples as perf, %llu other, with %llu calls", same, other, calls);
}
END_TEST

/* vfs_read() calls the code that reads /dev/zero, and a function for the system call calls it. */
START_TEST(known_path)
{
	u64 i, k, reads = 0, wrong = 0;
	struct path path;
	bool in_read;

	make_kernel_ring(VPERFCTR_CHAIN_MAX, 8, _i & 1 ? 64 : 0);
	sample_kernel(800, PERIOD + _i / 2 * 202);
	for (i = 0; i < ring_head(&ring); i++) {
		path = path_of(i);
		for (k = 0; k < path.n && strcmp(function_of(path.ret[k]), "vfs_read"); k++)
			;
		in_read = k < path.n;
		reads += in_read;
		if (in_read && (k + 3 > path.n || !strstr(function_of(path.ret[k + 1]), "read"))) {
			wrong++;
			print_path("wrong", &path);
		}
	}
	ck_assert_msg(reads >= 50 && !wrong, "%llu of read(), of %llu; %llu are wrong", reads,
		      ring_head(&ring), wrong);
}
END_TEST

/* Count beside the sampled state: the kernel, too, where a second counter can make samples. */
static int count_beside(int observer)
{
	struct control control;

	if (IMODE_ALL)
		return try_overflow_ring(observer, nth_general(1), IMODE_BOTH, PERIOD + 202);
	control_init(&control, 1);
	control_add(&control, nth_general(1), INSNS_USER);
	return set_control(observer, &control);
}

/*
 * Beside another state of the thread, samples of the kernel have the same, and those of the other
 * ring, which must not have addresses there, have none.
 */
START_TEST(beside_another)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 8192, .watermark = 8192, .nrsums = 1,
	};
	int observer = open_thread(0, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_OBSERVER);
	u64 i, k, kernel = 0, empty = 0, reads = 0;
	struct mapped_ring other;
	unsigned int round;
	struct path path;

	ck_assert_int_ge(observer, 0);
	assert_ok(call(observer, VPERFCTR_RING, &req));
	map_ring(observer, req.map_size, &other);
	make_kernel_ring(VPERFCTR_CHAIN_MAX, 0, 0);
	/*
	 * The periods of both grow: the work for each overflow takes the time of the other.  On x86
	 * and Linux 6.1, the first round gives 11 samples of the kernel, and each of 19 others 24
	 * to 44: two thirds or more of them in read(), and at most two without calls.  So three
	 * rounds give 50, and 20 rounds do so even with a tenth of these samples.  A busy host
	 * takes none away: time in the machine is that of executed instructions.  Other programs
	 * there are neither counted nor sampled.
	 */
	for (round = 0; round < 20 && kernel < 50; round++) {
		assert_ok(count_beside(observer));
		sample_kernel(400, PERIOD);
		assert_ok(stop_all(observer));
		for (i = ring.page->tail; i < ring_head(&ring); i++) {
			path = path_of(i);
			if (!(path.ip >> 63))
				continue;
			kernel++;
			empty += !path.n;
			for (k = 0; k < path.n; k++)
				reads += !strcmp(function_of(path.ret[k]), "vfs_read");
		}
		assert_ok(call(fd, VPERFCTR_CONSUME,
			       (void *)(ring_head(&ring) - ring.page->tail)));
	}
	ck_assert_msg(kernel >= 20 && reads >= 5 && empty <= kernel / 10,
		      "%llu samples of the kernel, of %llu, %llu without calls, %llu in read()",
		      kernel, ring_head(&ring), empty, reads);
	for (i = 0; i < ring_head(&other); i++)
		ck_assert_uint_eq(ring_sample(&other, i)->ip >> 63, 0);
	ck_assert_uint_ge(i, IMODE_ALL ? 20 : 0);
	close(observer);
}
END_TEST

/* Let a process read what this one writes, both sampled.  Return: its ID. */
static pid_t sample_switches(void)
{
	struct control control;
	int pair[2], n;
	pid_t pid;
	char c;

	control_init(&control, 1);
	control_add_imode(&control, IMODE_MAP, IMODE_BOTH, 1499);
	control.c.flags = VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT;
	assert_ok(set_control(fd, &control));
	ck_assert_int_eq(pipe(pair), 0);
	pid = fork();
	if (!pid) {
		for (n = 0; n < 1500; n++)
			if (read(pair[0], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	for (n = 0; n < 1500; n++) {
		ck_assert_int_eq(write(pair[1], "", 1), 1);
		sched_yield();
	}
	ck_assert_int_eq(wait_for(pid), 0);
	assert_ok(stop_all(fd));
	close(pair[0]);
	close(pair[1]);
	return pid;
}

/*
 * A chain waits while its thread is switched out.  It is not another thread's sample.  Few
 * overflows come in the scheduler, so rounds go on until some have.
 */
START_TEST(switched_out)
{
	u64 i, k, there = 0, wrong = 0, empty = 0;
	unsigned int round;
	struct path path;
	pid_t pid;

	make_kernel_ring(VPERFCTR_CHAIN_MAX, 0, 0);
	for (round = 0; round < 20 && there < 20; round++) {
		pid = sample_switches();
		for (i = ring.page->tail; i < ring_head(&ring); i++) {
			bool is_child = ring_sample(&ring, i)->pid == (u32)pid;

			path = path_of(i);
			if (!(path.ip >> 63) || !strstr(function_of(path.ip), "sched"))
				continue;
			there++;
			empty += !path.n;
			/* The parent reads nothing, and the child writes nothing. */
			for (k = 0; k < path.n; k++)
				if (!strcmp(function_of(path.ret[k]),
					    is_child ? "vfs_write" : "vfs_read")) {
					wrong++;
					print_path(is_child ? "the child" : "the parent", &path);
				}
		}
		assert_ok(call(fd, VPERFCTR_CONSUME,
			       (void *)(ring_head(&ring) - ring.page->tail)));
	}
	ck_assert_msg(there >= 5 && !wrong && empty <= there / 10,
		      "%llu in the scheduler, %llu without calls, %llu wrong", there, empty, wrong);
}
END_TEST

/* ---- all chains in use ---------------------------------------------------------------- */

#define MANY		2000

/* A period that the handling of its overflow seldom lengthens: that takes less than an eighth. */
static u64 long_period(void)
{
	return is_debug_kernel() ? 240007 : 30011;
}

/* A thread of the family, with the sum of its last sample. */
struct known_thread {
	u32 tid;
	u64 sum;
};

static struct known_thread *known_thread(struct known_thread *known, u32 tid)
{
	u32 i = tid % (4 * MANY);

	while (known[i].tid && known[i].tid != tid)
		i = (i + 1) % (4 * MANY);
	known[i].tid = tid;
	return &known[i];
}

static void start_family(unsigned int *futex)
{
	struct rlimit nproc = { 2 * MANY, 2 * MANY };
	const u64 period = long_period();
	struct control control;
	unsigned int i;

	/* With little memory, or large stacks, these limits are less than MANY. */
	write_file("/proc/sys/kernel/threads-max", "20000");
	ck_assert_int_eq(setrlimit(RLIMIT_NPROC, &nproc), 0);
	control_init(&control, 1);
	control_add_imode(&control, IMODE_MAP, IMODE_BOTH, period);
	control.c.flags = VPERFCTR_CONTROL_RING | VPERFCTR_CONTROL_INHERIT;
	assert_ok(set_control(fd, &control));
	/* They reach the futex in any part of a period, and have a sample after it. */
	for (i = 0; i < MANY; i++)
		ck_assert_int_gt(start_child(THREAD, 1 + i * 7919 % period / 2, futex,
					     period / 2), 0);
}

/*
 * Thousands of threads sleep.  Many were switched out between an overflow and its sample, more
 * than there are chains.  Other samples have no calls then, but all have been made.
 */
START_TEST(all_chains_in_use)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .flags = VPERFCTR_RING_KERNEL, .nrsamples = 1 << 16,
		.watermark = 1 << 16, .nrsums = 1, .kernel_depth = 4,
	};
	struct known_thread *known = calloc(4 * MANY, sizeof(*known)), *thread;
	unsigned int *futex = shared_memory(PAGE);
	u64 i, without = 0, with = 0, events, missing = 0;

	/*
	 * Two CPUs need more threads.  Without NMIs no thread is switched out before its
	 * sample.
	 */
	if (nr_cpus() > 1 || is_kcsan_kernel() || !IMODE_NMI)
		return;
	assert_ok(call(fd, VPERFCTR_RING, &req));
	map_ring(fd, req.map_size, &ring);
	start_family(futex);
	msleep(1000);
	wake_all(futex);
	ck_assert_eventually(!(status_of(fd) & VPERFCTR_STATUS_CHILDREN));
	assert_ok(stop_all(fd));
	for (i = 0; i < ring_head(&ring); i++) {
		const struct vperfctr_sample *s = ring_sample(&ring, i);

		thread = known_thread(known, s->tid);
		events = s->sums[0] - thread->sum;
		thread->sum = s->sums[0];
		ck_assert_uint_ge(events, long_period());
		missing += events / long_period() - 1;
		without += s->flags == VPERFCTR_SAMPLE_KERNEL && !path_of(i).n;
	}
	ck_assert_uint_ge(i, MANY);
	ck_assert_uint_lt(i, req.nrsamples);
	/* Overflows between two samples of a thread, where its period grew.  They have been counted. */
	ck_assert_uint_le(missing, ring.page->dropped);
	ck_assert_uint_le(ring.page->dropped, i / 10);
	/* Several threads for each chain, and what ran beside them. */
	printf("%llu samples, %llu of the kernel without calls\n", i, without);
	ck_assert_uint_ge(without, 20);
	/* All chains are free again. */
	sample_kernel(300, PERIOD);
	for (without = 0; i < ring_head(&ring); i++) {
		with += !!path_of(i).n;
		without += path_of(i).ip >> 63 && !path_of(i).n;
	}
	ck_assert_msg(with >= 20 && without <= with / 5, "%llu samples with calls, %llu without",
		      with, without);
	free(known);
}
END_TEST

/* No calls without an address in the kernel, which the ring, or the control, must not have. */
START_TEST(no_kernel_address)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { };
	struct control control;
	u64 i;

	make_kernel_ring(16, _i & 1 ? 4 : 0, _i & 1 ? 32 : 0);
	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	if (_i & 2) {
		/* The time of kernel mode, of a caller that may not have addresses there any more */
		if (syscall(SYS_capset, &header, none))
			die("capset: %s", strerror(errno));
		control.c.clock_period = 50000;
	} else {
		control_add_imode(&control, IMODE, 503);
	}
	assert_ok(set_control(fd, &control));
	call_kernel(200);
	assert_ok(stop_all(fd));
	ck_assert_uint_ge(ring_head(&ring), 20);
	for (i = 0; i < ring_head(&ring); i++) {
		ck_assert_uint_eq(ring_sample(&ring, i)->ip >> 63, 0);
		ck_assert_uint_eq(path_of(i).n, 0);
	}
}
END_TEST

/* The virtual nanoseconds that call_kernel() takes. */
static u64 time_of_calls(void)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	call_kernel(200);
	clock_gettime(CLOCK_MONOTONIC, &end);
	return (end.tv_sec - begin.tv_sec) * 1000000000ULL + end.tv_nsec - begin.tv_nsec;
}

/* Periods grow, so that most of the time is left, also where finding the calls takes the longest. */
START_TEST(time_is_left)
{
	u64 without, with;

	make_kernel_ring(VPERFCTR_CHAIN_MAX, 0, 0);
	time_of_calls();
	without = time_of_calls();
	assert_ok(try_overflow_ring(fd, IMODE_MAP, IMODE_BOTH, 503));
	with = time_of_calls();
	assert_ok(stop_all(fd));
	printf("%llu ns, %llu with %llu samples\n", without, with, ring_head(&ring));
	ck_assert_uint_ge(ring_head(&ring), 20);
	ck_assert_uint_le(with, without * 3 / 2);
}
END_TEST

/* Samples by thread time have the same paths. */
START_TEST(by_thread_time)
{
	u64 i, n, kernel = 0, empty = 0, reads = 0, k;
	struct control control;
	struct path path;

	make_kernel_ring(VPERFCTR_CHAIN_MAX, 4, 0);
	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = 50000;
	for (n = 0; n < 50 && kernel < 400; n++) {
		assert_ok(set_control(fd, &control));
		call_kernel(200);
		/* Below, what the compiler has in the frame pointer may lead into the ring. */
		assert_ok(stop_all(fd));
		for (i = ring.page->tail; i < ring_head(&ring); i++) {
			path = path_of(i);
			if (!(path.ip >> 63))
				continue;
			kernel++;
			empty += !path.n;
			for (k = 0; k < path.n; k++)
				reads += !strcmp(function_of(path.ret[k]), "vfs_read");
		}
		assert_ok(call(fd, VPERFCTR_CONSUME, (void *)(ring_head(&ring) - ring.page->tail)));
	}
	ck_assert_msg(kernel >= 50 && reads >= 10 && empty <= kernel / 20,
		      "%llu samples, %llu without calls, %llu in read()", kernel, empty, reads);
}
END_TEST

/* More is refused, and so is a chain without the right to addresses in the kernel. */
START_TEST(errors)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 16, .watermark = 1, .flags = VPERFCTR_RING_KERNEL,
		.kernel_depth = VPERFCTR_CHAIN_MAX + 1,
	};

	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	req.kernel_depth = ~0U;
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	req.kernel_depth = 1;
	req.flags = VPERFCTR_RING_RECORDS;
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	req.flags = 0;
	assert_errno(call(fd, VPERFCTR_RING, &req), EINVAL);
	/* All that a sample can have. */
	req.flags = VPERFCTR_RING_KERNEL;
	req.kernel_depth = VPERFCTR_CHAIN_MAX;
	req.depth = VPERFCTR_CHAIN_MAX;
	req.nrsums = VPERFCTR_MAX_CTRS;
	assert_ok(call(fd, VPERFCTR_RING, &req));
	ck_assert_uint_eq(req.sample_size, sizeof(struct vperfctr_sample) +
			  (VPERFCTR_MAX_CTRS + 2 + 2 * VPERFCTR_CHAIN_MAX) * 8);
}
END_TEST

/* An ordinary user gets no calls in the kernel, unless the administrator allows it. */
START_TEST(ordinary_user)
{
	struct vperfctr_ring req = {
		.size = sizeof(req), .nrsamples = 16, .watermark = 1, .flags = VPERFCTR_RING_KERNEL,
		.kernel_depth = 8,
	};
	pid_t pid;
	int own;

	write_file(ALLOW_KERNEL, _i ? "1" : "0");
	pid = fork();
	if (!pid) {
		if (setresuid(NOBODY, NOBODY, NOBODY))
			die("setresuid: %s", strerror(errno));
		own = open_state(0);
		if (_i)
			_exit(call(own, VPERFCTR_RING, &req) ? 1 : 0);
		if (call(own, VPERFCTR_RING, &req) != -EPERM)
			_exit(2);
		req.flags = 0;
		if (call(own, VPERFCTR_RING, &req) != -EINVAL)
			_exit(3);
		req.kernel_depth = 0;
		_exit(call(own, VPERFCTR_RING, &req) ? 4 : 0);
	}
	ck_assert_int_eq(wait_for(pid), 0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, errors);
	tcase_add_loop_test(tc, ordinary_user, 0, 2);
	tcase_add_loop_test(tc, same_as_perf, 0, NR(depths));
	tcase_add_loop_test(tc, known_path, 0, 2 * NR_PERIODS);
	tcase_add_test(tc, beside_another);
	tcase_add_test(tc, switched_out);
	tcase_add_test(tc, all_chains_in_use);
	tcase_add_loop_test(tc, no_kernel_address, 0, 4);
	tcase_add_test(tc, by_thread_time);
	tcase_add_test(tc, time_is_left);
}

int main(void)
{
	open_device();
	read_functions();
	return run_tests("kernel_chain", add);
}
