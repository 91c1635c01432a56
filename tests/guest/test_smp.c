// SPDX-License-Identifier: GPL-2.0
/*
 * Several CPUs, real concurrency.  Counts are not exact there, so the tests check
 * invariants: a count never falls, is never more than the time allows, is the same
 * whichever way it is read, and stops when it should.
 *
 * Virtual CPUs are threads of the host, which may stop any of them at any time for as
 * long as it likes.  So no test may rely on the progress of one CPU relative to another,
 * or to the clock: a loop with a deadline also waits for the progress that it needs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "random.h"
#include "suite.h"

/* No processor, emulated ones included, executes more in a TSC cycle. */
#ifdef __riscv
#define MOST_PER_CYCLE	128	/* the emulator's cycles take 1 ns, those of the TSC 100 */
#else
#define MOST_PER_CYCLE	64
#endif
#define SLACK		1000000

static u64 time_after(unsigned int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000 + ms;
}

static bool is_before(u64 time)
{
	return time_after(0) < time;
}

static void check_step(const char *what, u64 last, u64 now, u64 cycles)
{
	if (now < last || now - last > cycles * MOST_PER_CYCLE + SLACK)
		die("%s: from %llu to %llu in %llu cycles", what, last, now, cycles);
}

static void start(int fd, bool swapped)
{
	struct control control;

	control_init(&control, 1);
	control_add(&control, swapped, INSNS_USER);
	control_add(&control, !swapped, CYCLES_USER);
	if (set_control(fd, &control))
		die("CONTROL failed");
}

/* ---- migration -------------------------------------------------------------------- */

/* Each self-read and READ is at least the one before, on any CPU. */
static void migrate_and_read(int fd, unsigned int moves, unsigned int first_cpu)
{
	const struct vperfctr_page *page = map_state(fd);
	u64 then = rdtsc(), began, value, tsc = self_read_tsc(page);
	u64 last[2] = { self_read(page, 0), self_read(page, 1) };
	unsigned int i, j;
	struct sums sums;

	for (i = 0; i < moves; i++) {
		pin((first_cpu + i) % 2);
		/* The time is taken before the first read and after the second: never too short. */
		began = rdtsc();
		for (j = 0; j < 2; j++) {
			value = self_read(page, j);
			check_step("self-read", last[j], value, rdtsc() - then);
			last[j] = value;
		}
		value = self_read_tsc(page);
		if (value < tsc || value - tsc > rdtsc() - then)
			die("the TSC: from %llu to %llu in %llu", tsc, value, rdtsc() - then);
		tsc = value;
		then = began;
		if (i % 4)
			continue;
		read_sums(fd, &sums);
		for (j = 0; j < 2; j++) {
			check_step("READ", last[j], sums.pmc[j], rdtsc() - then);
			last[j] = sums.pmc[j];
		}
		check_step("READ's TSC", tsc, sums.tsc, rdtsc() - then);
		tsc = sums.tsc;
		loop(100);
	}
	if (self_read(page, 0) < moves * 50ULL || self_read(page, 1) < moves * 50ULL)
		die("counted too little: %llu", self_read(page, 0));
	munmap((void *)page, PAGE);
}

START_TEST(migrating_process)
{
	int fd = open_state(0);

	start(fd, false);
	migrate_and_read(fd, 4000, 0);
}
END_TEST

static void *migrating_thread(void *arg)
{
	unsigned int number = (uintptr_t)arg;
	int fd = open_state(0);

	start(fd, number & 1);
	migrate_and_read(fd, 1000, number);
	close(fd);
	return NULL;
}

/* More threads than CPUs, with different controls; all of them migrate. */
START_TEST(migrating_threads)
{
	pthread_t ids[4];
	uintptr_t i;

	for (i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&ids[i], NULL, migrating_thread, (void *)i), 0);
	for (i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}
END_TEST

/* ---- readers ------------------------------------------------------------------------- */

static volatile struct {
	int fd, ready, stop;
	int hogged, stays;
	u64 floor;		/* the owner's latest self-read */
	u64 last;
} *shared;

__attribute__((noreturn)) static void run_owner_to_be_read(void)
{
	const struct vperfctr_page *page;
	u64 mine, value, now, then = rdtsc();

	pin(1);
	shared->fd = open_state(0);
	page = map_state(shared->fd);
	start(shared->fd, false);
	mine = self_read(page, 0);
	shared->ready = 1;
	while (!shared->stop) {
		loop(50);
		now = rdtsc();
		value = self_read(page, 0);
		check_step("the owner's self-read", mine, value, rdtsc() - then);
		mine = shared->floor = value;
		then = now;
	}
	if (call(shared->fd, VPERFCTR_UNLINK, 0))
		_exit(1);
	shared->last = page->ctr[0].sum;
	_exit(mine <= shared->last ? 0 : 2);
}

/* Thousands of READs do not disturb a running owner, and each returns current sums. */
START_TEST(holder_reads)
{
	struct sums sums;
	u64 last[2] = { 0 }, last_tsc = 0, end, then, now;
	unsigned int reads = 0, advances = 0, j;
	pid_t pid = fork_files();
	u64 floor;

	if (!pid)
		run_owner_to_be_read();
	pin(0);
	while (!shared->ready)
		sched_yield();
	end = time_after(3000);
	then = rdtsc();
	read_sums(shared->fd, &sums);
	memcpy(last, sums.pmc, sizeof(last));
	last_tsc = sums.tsc;
	while (is_before(end) || reads < 3000 || advances < 100) {
		now = rdtsc();
		floor = shared->floor;
		read_sums(shared->fd, &sums);
		/* Current sums, not those of the owner's last context switch. */
		ck_assert_uint_ge(sums.pmc[0], floor);
		ck_assert_uint_eq(sums.status, ATTACHED | ACTIVE);
		for (j = 0; j < 2; j++)
			check_step("the holder's READ", last[j], sums.pmc[j], rdtsc() - then);
		check_step("the TSC of the holder's READ", last_tsc, sums.tsc, rdtsc() - then);
		advances += sums.pmc[0] > last[0];
		memcpy(last, sums.pmc, sizeof(last));
		last_tsc = sums.tsc;
		then = now;
		reads++;
	}
	shared->stop = 1;
	ck_assert_int_eq(wait_for(pid), 0);
	read_sums(shared->fd, &sums);
	ck_assert_uint_eq(sums.pmc[0], shared->last);
	ck_assert_uint_ge(sums.pmc[0], last[0]);
	ck_assert_uint_eq(sums.status, 0);
	printf("%u reads by a holder, %u of a larger sum\n", reads, advances);
}
END_TEST

/* A thread reads owners all the time, while they end in all possible ways. */
static volatile u32 published;		/* a unique number, and a descriptor */
#define NONE	0
#define END	1
#define FD_OF(p) ((p) & 0x3ff)

static volatile u64 nr_reads;

static void *read_published(void *arg)
{
	u64 last = 0;
	struct sums sums;
	u32 now, was = NONE;
	int err;

	(void)arg;
	while ((now = published) != END) {
		if (now == NONE)
			continue;
		if (now != was)
			last = 0;
		was = now;
		err = try_read_sums(FD_OF(now), &sums);
		/* Otherwise the descriptor may be closed, or used again. */
		if (published != now)
			continue;
		if (err)
			die("READ: %s", strerror(-err));
		if (sums.nrctrs && sums.pmc[0] < last)
			die("from %llu to %llu", last, sums.pmc[0]);
		last = sums.nrctrs ? sums.pmc[0] : 0;
		nr_reads++;
	}
	return NULL;
}

struct life {
	u32 number, length;
	bool unlinks, yields, maps;
	volatile int fd;
};

static void *live_shortly(void *arg)
{
	struct life *life = arg;

	life->fd = open_state(0);
	start(life->fd, life->number & 1);
	published = life->number << 10 | life->fd;
	loop(life->length);
	if (life->maps)
		munmap((void *)map_state(life->fd), PAGE);
	if (life->unlinks)
		call(life->fd, VPERFCTR_UNLINK, 0);
	if (life->yields)
		sched_yield();
	return NULL;
}

START_TEST(read_while_ending)
{
	u64 end = time_after(3000);
	pthread_t reader, owner;
	struct life life;
	struct sums sums;
	unsigned int n;

	ck_assert_int_eq(pthread_create(&reader, NULL, read_published, NULL), 0);
	/* The host may pause the reader's CPU during many of these lives. */
	for (n = 1; is_before(end) || n <= 50 || nr_reads <= n; n++) {
		life.number = n;
		life.length = 1 + random_below(50000);
		life.unlinks = random_below(2);
		life.yields = random_below(2);
		/* The first mapping moves the page, here, in the owner, or in both. */
		life.maps = random_below(2);
		life.fd = -1;
		ck_assert_int_eq(pthread_create(&owner, NULL, live_shortly, &life), 0);
		if (random_below(2)) {
			while (life.fd < 0)
				sched_yield();
			munmap((void *)map_state(life.fd), PAGE);
		}
		pthread_join(owner, NULL);
		read_sums(life.fd, &sums);
		ck_assert_uint_gt(sums.pmc[0], 0);
		published = NONE;
		close(life.fd);
	}
	published = END;
	pthread_join(reader, NULL);
	printf("%u threads ended in %llu reads\n", n, nr_reads);
	ck_assert_uint_gt(n, 50);
}
END_TEST

/* ---- rights -------------------------------------------------------------------------- */

static void *map_and_unmap(void *arg)
{
	u64 end = time_after(3000);
	int fd = open_state(0);

	(void)arg;
	start(fd, true);
	while (is_before(end)) {
		const struct vperfctr_page *page = map_state(fd);

		self_read(page, 0);
		if (random_below(4) == 0)
			pin(random_below(2));
		munmap((void *)page, PAGE);
	}
	return NULL;
}

/*
 * A thread needs only its own mapping, whatever other threads do with theirs.  Where the
 * right may be late, it is there for good when a self-read on that CPU has found it.
 */
START_TEST(mapping_beside_self_reads)
{
	u64 last = 0, value, end = time_after(3000);
	const struct vperfctr_page *page;
	int fd = open_state(0);
	pthread_t thread;

	start(fd, false);
	page = map_state(fd);
	for (int cpu = 0; cpu < 2; cpu++) {
		pin(cpu);
		self_read(page, 0);
	}
	set_affinity(0, 3);
	ck_assert_int_eq(pthread_create(&thread, NULL, map_and_unmap, NULL), 0);
	while (is_before(end)) {
		value = self_read(page, 0);	/* would die of SIGSEGV */
		ck_assert_uint_ge(value, last);
		last = value;
		ck_assert_uint_ne(page->cstatus & VPERFCTR_CSTATUS_RDPMC, 0);
	}
	pthread_join(thread, NULL);
}
END_TEST

/* munmap() on one CPU revokes the right that another CPU has cached. */
START_TEST(unmapped_on_another_cpu)
{
	int fd = open_state(0), i;

	start(fd, false);
	for (i = 0; i < 500; i++) {
		const struct vperfctr_page *page;

		pin(random_below(2));
		page = map_state(fd);
		pin(random_below(2));
		self_read(page, 0);
		pin(random_below(2));
		munmap((void *)page, PAGE);
		pin(random_below(2));
		ck_assert_int_eq(try_changed_rdpmc(0, RDPMC_SIGNAL), RDPMC_SIGNAL);
	}
}
END_TEST

/* ---- many ------------------------------------------------------------------------------- */

/* Any number of children have no state and no right, and do not disturb the parent. */
START_TEST(fork_storm)
{
	const struct vperfctr_page *page;
	int fd = open_state(0), i, j;
	u64 last = 0, value;
	pid_t pids[8];

	start(fd, false);
	page = map_state(fd);
	/* On POWER, Linux lets all processes read on a CPU where nothing has been counted yet. */
	for (i = 0; i < 2 && RDPMC_FREE_SIGNAL != RDPMC_SIGNAL; i++) {
		pin(i);
		self_read(page, 0);
	}
	set_affinity(0, 3);
	for (i = 0; i < 40; i++) {
		for (j = 0; j < 8; j++) {
			pids[j] = fork();
			if (pids[j])
				continue;
			if (try_open_state(0) != -ENOENT)
				_exit(1);
			if (try_rdpmc(0, &value) != RDPMC_SIGNAL)
				_exit(2);
			if (j & 1)
				start(open_state(0), j & 2);
			_exit(0);
		}
		for (j = 0; j < 8; j++)
			ck_assert_int_eq(wait_for(pids[j]), 0);
		value = self_read(page, 0);
		ck_assert_uint_gt(value, last);
		last = value;
	}
}
END_TEST

#define MANY	500

static pthread_barrier_t barrier;

static void *count_among_many(void *arg)
{
	unsigned int i = (uintptr_t)arg;
	int fd = open_state(0);
	struct sums sums;

	start(fd, i & 1);
	pthread_barrier_wait(&barrier);
	/* Where both count cycles, there may be fewer than instructions. */
	loop(info.arch_events & VPERFCTR_EVENT_INSTRUCTIONS ? 1000 + i : 20000 + i);
	sched_yield();
	read_sums(fd, &sums);
	if (sums.pmc[0] < 2000 && sums.pmc[1] < 2000)
		die("thread %u counted %llu", i, sums.pmc[0]);
	if (i % 3 == 0)
		call(fd, VPERFCTR_UNLINK, 0);
	if (i % 5 != 0)
		close(fd);
	return NULL;
}

START_TEST(many_states)
{
	pthread_t ids[MANY];
	pthread_attr_t attr;
	uintptr_t i;

	pthread_barrier_init(&barrier, NULL, MANY);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < MANY; i++)
		ck_assert_int_eq(pthread_create(&ids[i], &attr, count_among_many, (void *)i), 0);
	for (i = 0; i < MANY; i++)
		pthread_join(ids[i], NULL);
}
END_TEST

/* The owner is killed at any moment, also while it is read; then perf gets the counters. */
START_TEST(killed_while_read)
{
	u64 end = time_after(3000);
	unsigned int n;
	int fd;

	for (n = 0; is_before(end) || n < 10; n++) {
		struct sums sums;
		pid_t pid;

		shared->fd = -1;
		pid = fork_files();
		if (!pid) {
			int mine = open_state(0);

			shared->fd = mine;
			for (;;) {
				const struct vperfctr_page *page = map_state(mine);

				start(mine, rdtsc() & 1);
				pin(rdtsc() & 1);
				self_read(page, 0);
				munmap((void *)page, PAGE);
				call(mine, VPERFCTR_SUSPEND, 0);
				call(mine, VPERFCTR_RESUME, 0);
			}
		}
		while ((fd = shared->fd) < 0)
			sched_yield();
		for (unsigned int i = random_below(30); i; i--)
			read_sums(fd, &sums);
		kill(pid, SIGKILL);
		for (unsigned int i = random_below(10); i; i--)
			read_sums(fd, &sums);
		ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
		ck_assert_uint_eq(status_of(fd) & ATTACHED, 0);
		close(fd);
		/* At once, also while the kernel still cleans up after the owner. */
		fd = perf_open(0, false);
		ck_assert_int_ge(fd, 0);
		close(fd);
	}
	printf("%u processes killed\n", n);
}
END_TEST

/* A process of the killed one's address space, which keeps it, and the mapping in it. */
static int stay(void *arg)
{
	(void)arg;
	while (pause() < 0)
		;
	return 0;
}

static void be_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	ck_assert_int_eq(sched_setscheduler(0, SCHED_FIFO, &param), 0);
}

/*
 * On PREEMPT_RT, threads execute the timers and callbacks of the kernel.  Those of RCU must
 * not wait for real-time threads, as perf may wait for RCU.
 */
static void raise_rcu(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	char path[300], comm[32];
	FILE *file;

	ck_assert_ptr_nonnull(proc);
	while ((entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
		/* A process may have ended. */
		if (!file)
			continue;
		if (fgets(comm, sizeof(comm), file) &&
		    (!strncmp(comm, "rcu", 3) || !strncmp(comm, "ktimers", 7)))
			sched_setscheduler(atoi(entry->d_name), SCHED_FIFO, &param);
		fclose(file);
	}
	closedir(proc);
}

/*
 * The hardware is free when the close returns, even if a mapping keeps the file.  No
 * worker of the kernel has run since the owner ended: real-time threads keep both CPUs.
 */
START_TEST(closed_while_mapped)
{
	pid_t hog, pid;
	int fd;

	if (is_rt())
		raise_rcu(4);
	hog = fork();
	if (!hog) {
		pin(1);
		be_fifo(1);
		for (;;)
			shared->hogged = 1;
	}
	while (!shared->hogged)
		sched_yield();
	pin(0);
	be_fifo(3);
	shared->fd = -1;
	pid = fork_files();
	if (!pid) {
		static char stack[16384] __attribute__((__aligned__(16)));
		int mine = open_state(0);

		be_fifo(2);
		map_state(mine);
		start(mine, false);
		shared->stays = clone(stay, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
		shared->fd = mine;
		for (;;)
			pause();
	}
	while ((fd = shared->fd) < 0)
		usleep(1000);
	ck_assert_int_gt(shared->stays, 0);
	kill(pid, SIGKILL);
	ck_assert_int_eq(wait_for(pid), 128 + SIGKILL);
	close(fd);
	fd = perf_open(0, false);
	ck_assert_msg(fd >= 0, "perf_event_open: %s", strerror(-fd));
	close(fd);
	kill(shared->stays, SIGKILL);
	kill(hog, SIGKILL);
	wait_for(hog);
}
END_TEST

/* ---- perf on the other CPU ------------------------------------------------------------- */

struct perf_times {
	u64 value, enabled, running;
};

/* Count all of CPU 1 with perf. */
static int perf_open_cpu1(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int perf = syscall(SYS_perf_event_open, &attr, -1, 1, -1, 0);

	return perf < 0 ? -errno : perf;
}

/* Open perf's event, let CPU 1 work, and read it. */
static struct perf_times measure_cpu1(void)
{
	struct perf_times times = { .value = 0 };
	int perf = perf_open_cpu1();

	ck_assert_int_ge(perf, 0);
	pin(1);
	loop(100000);
	ck_assert_int_eq(read(perf, &times, sizeof(times)), sizeof(times));
	pin(0);
	close(perf);
	return times;
}

/* perf and states exclude each other also if they use different CPUs. */
START_TEST(perf_on_another_cpu)
{
	int perf = perf_open_cpu1(), fd;
	struct perf_times times;
	struct control control;
	struct sums sums;

	pin(0);
	ck_assert_int_ge(perf, 0);
	fd = open_state(0);
	control_init(&control, 1);
	control_add(&control, nth_general(0), INSNS_USER);
	assert_errno(set_control(fd, &control), EBUSY);
	close(perf);

	assert_ok(set_control(fd, &control));
	read_sums(fd, &sums);
	ck_assert_uint_ne(sums.pmc[0], 0);
	if (PERF_IS_REFUSED) {
		assert_errno(perf_open_cpu1(), EBUSY);
	} else {
		times = measure_cpu1();
		ck_assert_uint_eq(times.value, 0);
		ck_assert_uint_eq(times.running, 0);
		ck_assert_uint_ne(times.enabled, 0);
	}
	assert_ok(stop_all(fd));
	times = measure_cpu1();
	ck_assert_uint_ne(times.value, 0);
	ck_assert_uint_ne(times.running, 0);
}
END_TEST

/* ---- unloading ------------------------------------------------------------------------- */

START_TEST(no_unload_in_use)
{
	const struct vperfctr_page *page;
	int fd = open_state(0), i;
	u64 last = 0;

	start(fd, false);
	page = map_state(fd);
	for (i = 0; i < 20; i++) {
		long ret = syscall(SYS_delete_module, "vperfctr", O_NONBLOCK);

		ck_assert_int_eq(ret, -1);
		ck_assert_msg(errno == EWOULDBLOCK || errno == EBUSY, "errno %d", errno);
		ck_assert_uint_gt(self_read(page, 0), last);
		last = self_read(page, 0);
	}
	/* A thread's state alone keeps the module loaded, without any descriptor. */
	munmap((void *)page, PAGE);
	close(fd);
	close(dev);
	ck_assert_int_eq(syscall(SYS_delete_module, "vperfctr", O_NONBLOCK), -1);
}
END_TEST

static void setup(void)
{
	shared = shared_memory(PAGE);
}

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, migrating_process);
	tcase_add_test(tc, migrating_threads);
	tcase_add_test(tc, holder_reads);
	tcase_add_test(tc, read_while_ending);
	tcase_add_test(tc, mapping_beside_self_reads);
	tcase_add_test(tc, unmapped_on_another_cpu);
	tcase_add_test(tc, fork_storm);
	tcase_add_test(tc, many_states);
	tcase_add_test(tc, killed_while_read);
	tcase_add_test(tc, closed_while_mapped);
	tcase_add_test(tc, perf_on_another_cpu);
	tcase_add_test(tc, no_unload_in_use);
}

int main(void)
{
	open_device();
	if (nr_cpus() < 2)
		die("two CPUs are needed, and there is one");
	random_init();
	return run_tests("smp", add);
}
