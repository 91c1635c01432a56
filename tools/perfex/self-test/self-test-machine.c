// SPDX-License-Identifier: GPL-2.0
/* perfex --self-test: perf, CPU hotplug, and what the kernel's log says of all checks. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "checks.h"

#define LOOP		500000UL
#define LOOP_COUNT	(2 * (uint64_t)LOOP)

/* ---- perf ------------------------------------------------------------------------ */

static int open_perf(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* Return: what perf counts of a loop; UINT64_MAX: perf has no counter. */
static uint64_t count_by_perf(void)
{
	uint64_t before, after;
	int fd = open_perf();

	if (fd < 0)
		return UINT64_MAX;
	if (read(fd, &before, sizeof(before)) != sizeof(before))
		before = UINT64_MAX;
	known_loop(LOOP);
	if (read(fd, &after, sizeof(after)) != sizeof(after) || before == UINT64_MAX)
		after = before - 1;
	close(fd);
	return after - before;
}

static bool is_right(uint64_t count)
{
	return count >= LOOP_COUNT && count < LOOP_COUNT + LOOP_COUNT / 100;
}

/* perf must count before and after, and must not while the module holds the counters. */
static enum outcome check_perf(struct self_test *t)
{
	const struct vperfctr_info *kind;
	uint64_t before, during, after, own;
	struct counting c;

	pin_to_first(t, &kind);
	before = count_by_perf();
	if (before == UINT64_MAX)
		return skipped(t, "perf cannot count instructions: %s", strerror(errno));
	if (!is_right(before))
		return skipped(t, "perf counts %" PRIu64 " of %" PRIu64 " instructions", before, LOOP_COUNT);
	init_counting(&c, kind);
	add_counter(&c, counter_for_instructions(t, kind), 0);
	start_counting(t, &c);
	own = read_count(t, &c, 0, NULL);
	during = count_by_perf();
	known_loop(LOOP);
	own = read_count(t, &c, 0, NULL) - own;
	stop_counting(&c);
	after = count_by_perf();
	if (during != UINT64_MAX && during)
		return failed(t, "perf counted %" PRIu64 " instructions while the module held the counters",
			      during);
	if (own < LOOP_COUNT || own > 2 * LOOP_COUNT + LOOP_COUNT / 100)
		return failed(t, "%" PRIu64 " of %" PRIu64 " instructions were counted while perf tried to",
			      own, LOOP_COUNT);
	if (after == UINT64_MAX || !is_right(after))
		return failed(t, "perf counts %" PRIu64 " of %" PRIu64 " instructions after vperfctr",
			      after == UINT64_MAX ? 0 : after, LOOP_COUNT);
	return passed(t, "perf counts %" PRIu64 " instructions before vperfctr, and %" PRIu64 " after",
		      before, after);
}

/* ---- Processor Trace ----------------------------------------------------------------- */

#define PT_TYPE		"/sys/bus/event_source/devices/intel_pt/type"
#define PT_PAGES	16
#define PT_ROUNDS	200

/*
 * Let perf trace this thread by Intel PT into a small buffer.  At each of the buffer's
 * interrupts, which are those of the counters, perf's handler changes the register that
 * enables all counters.
 *
 * Return: the buffer's header, or MAP_FAILED.
 */
static struct perf_event_mmap_page *start_trace(int type)
{
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	struct perf_event_mmap_page *header;

	if (fd < 0)
		return MAP_FAILED;
	header = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (header == MAP_FAILED)
		return MAP_FAILED;
	header->aux_offset = 2 * page;
	header->aux_size = PT_PAGES * page;
	/* A writable mapping means that the buffer stops, and interrupts, when it is full. */
	if (mmap(NULL, header->aux_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)header->aux_offset) == MAP_FAILED)
		return MAP_FAILED;
	return header;
}

static enum outcome check_trace(struct self_test *t)
{
	const uint64_t expected = (uint64_t)PT_ROUNDS * LOOP / 5, more = PT_ROUNDS * 50;
	const int type = read_number(PT_TYPE);
	struct perf_event_mmap_page *header;
	const struct vperfctr_info *kind;
	uint64_t count, nmis, ctrl;
	unsigned int cpu, i;
	struct counting c;

	if (type <= 0)
		return skipped(t, "there is no Intel PT (" PT_TYPE ")");
	cpu = pin_to_first(t, &kind);
	header = start_trace(type);
	if (header == MAP_FAILED)
		return skipped(t, "perf cannot trace: %s", strerror(errno));
	init_counting(&c, kind);
	add_counter(&c, counter_for_instructions(t, kind), 0);
	start_counting(t, &c);
	ctrl = enabling_register(t, cpu);
	nmis = interrupts_of(cpu, "NMI");
	count = read_count(t, &c, 0, NULL);
	for (i = 0; i < PT_ROUNDS; i++) {
		known_loop(LOOP / 10);
		/* The trace is not needed: the buffer is free again. */
		__atomic_store_n(&header->aux_tail,
				 __atomic_load_n(&header->aux_head, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
	count = read_count(t, &c, 0, NULL) - count;
	nmis = interrupts_of(cpu, "NMI") - nmis;
	if (enabling_register(t, cpu) != ctrl)
		return failed(t, "the register that enables all counters was %#" PRIx64 " when a trace began, and is %#" PRIx64 " now",
			      ctrl, enabling_register(t, cpu));
	stop_counting(&c);
	if (!nmis)
		return skipped(t, "the trace caused no interrupt");
	if (count < expected || count > expected + expected / 10000 + more)
		return failed(t, "%" PRIu64 " of %" PRIu64 " instructions were counted in a trace with %" PRIu64 " NMIs",
			      count, expected, nmis);
	return passed(t, "%" PRIu64 " of %" PRIu64 " instructions were counted in a trace with %" PRIu64 " NMIs",
		      count, expected, nmis);
}

/* ---- hotplug ------------------------------------------------------------------------ */

static int set_online(unsigned int cpu, bool online)
{
	char name[60];
	int fd, err;

	snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%u/online", cpu);
	fd = open(name, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = write(fd, online ? "1" : "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return err;
}

/*
 * Start a process that brings the CPU back when the check ends, or is killed: the end of
 * the check closes the pipe.  It has a session of its own, so a terminal's signals leave it
 * alone.
 *
 * Return: its id, with the descriptor that keeps it waiting in *end; or -1.
 */
static pid_t start_guardian(unsigned int cpu, int *end)
{
	int ends[2];
	sigset_t all;
	pid_t pid;
	char byte;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		setsid();
		close(ends[1]);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			;
		_exit(set_online(cpu, true) ? 1 : 0);
	}
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	*end = ends[1];
	return pid;
}

struct moved {
	struct self_test *t;
	const struct vperfctr_info *kind;
	unsigned int cpu;
	atomic_bool started, taken;
	uint64_t count;
	int err;
};

/* Count on a CPU that goes offline meanwhile. */
static void *count_until_taken(void *arg)
{
	struct moved *m = arg;
	struct vperfctr *v;
	uint64_t before = 0, after = 0, rounds = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(m->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	m->err = vperfctr_event_open(&v, "instructions:u", NULL);
	if (!m->err)
		m->err = vperfctr_read_pmc(v, 0, &before);
	m->started = true;
	while (!m->err && !m->taken) {
		known_loop(50000);
		rounds++;
	}
	if (!m->err)
		m->err = vperfctr_read_pmc(v, 0, &after);
	if (!m->err) {
		m->count = after - before - rounds * 100000;
		/* A few instructions of each round. */
		m->count = rounds && m->count / rounds < 20 ? 0 : m->count;
	}
	vperfctr_close(v);
	return NULL;
}

static enum outcome check_hotplug(struct self_test *t)
{
	struct moved m = { .t = t };
	const unsigned int here = pin_to_first(t, &m.kind);
	pthread_t thread;
	unsigned int cpu;
	pid_t guardian;
	int err, end;

	for (cpu = CPU_SETSIZE; cpu-- > 0;)
		if (cpu != here && CPU_ISSET(cpu, &t->usable[m.kind->kind]))
			break;
	if (cpu == (unsigned int)-1)
		return skipped(t, "there is one CPU of this kind");
	require_modes(t, m.kind);
	m.cpu = cpu;
	guardian = start_guardian(cpu, &end);
	if (guardian < 0)
		return skipped(t, "no second process can be started");
	if (pthread_create(&thread, NULL, count_until_taken, &m))
		return skipped(t, "no second thread can be started");
	while (!m.started)
		sched_yield();
	err = set_online(cpu, false);
	m.taken = true;
	pthread_join(thread, NULL);
	close(end);
	waitpid(guardian, NULL, 0);
	if (err)
		return skipped(t, "CPU %u cannot be taken offline: %s", cpu, strerror(-err));
	if (m.err)
		return failed(t, "counting on CPU %u: %s", cpu, strerror(-m.err));
	if (m.count)
		return failed(t, "a thread whose CPU %u went offline counted %" PRId64 " instructions too many",
			      cpu, (int64_t)m.count);
	return passed(t, "a thread was counted exactly while CPU %u went offline", cpu);
}

/* ---- suspend ------------------------------------------------------------------------ */

#define ALARM		"/sys/class/rtc/rtc0/wakealarm"
#define POWER_STATE	"/sys/power/state"

static int write_text(const char *file, const char *text)
{
	const int fd = open(file, O_WRONLY | O_CLOEXEC);
	ssize_t len;
	int err;

	if (fd < 0)
		return -errno;
	len = write(fd, text, strlen(text));
	err = len < 0 ? -errno : 0;
	close(fd);
	return err;
}

static bool has_text(const char *file, const char *text)
{
	const int fd = open(file, O_RDONLY | O_CLOEXEC);
	char buf[200];
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (len < 0)
		return false;
	buf[len] = '\0';
	return strstr(buf, text) != NULL;
}

/* Suspend to idle; the clock wakes the machine after two seconds. */
static enum outcome check_suspend(struct self_test *t)
{
	const struct vperfctr_info *kind;
	uint64_t before, after, loop;
	struct counting c;
	int err;

	pin_to_first(t, &kind);
	require_modes(t, kind);
	if (!has_text(POWER_STATE, "freeze"))
		return skipped(t, "this kernel cannot suspend to idle (" POWER_STATE ")");
	if (access(ALARM, W_OK))
		return skipped(t, "no clock can wake the machine: " ALARM ": %s", strerror(errno));
	if (has_text(ALARM, "\n"))
		return skipped(t, "an alarm of the clock has been set (" ALARM ")");
	init_counting(&c, kind);
	add_counter(&c, counter_for_instructions(t, kind), 0);
	start_counting(t, &c);
	count_loop(t, &c, LOOP, 5, &before);
	err = write_text(ALARM, "+2");
	if (err)
		return skipped(t, "no clock can wake the machine: " ALARM ": %s", strerror(-err));
	loop = read_count(t, &c, 0, NULL);
	err = write_text(POWER_STATE, "freeze");
	loop = read_count(t, &c, 0, NULL) - loop;
	if (has_text(ALARM, "\n"))
		write_text(ALARM, "0");
	if (err)
		return skipped(t, "the machine cannot be suspended: %s", strerror(-err));
	count_loop(t, &c, LOOP, 5, &after);
	stop_counting(&c);
	if (loop > 10000)
		return failed(t, "%" PRIu64 " instructions were counted in a suspend to idle", loop);
	if (llabs((long long)(after - before)) > (long long)(before / 10000))
		return failed(t, "%" PRIu64 " instructions before a suspend to idle, and %" PRIu64 " after it",
			      before, after);
	return passed(t, "%" PRIu64 " instructions before a suspend to idle, and %" PRIu64 " after it",
		      before, after);
}

/* ---- the kernel's log ------------------------------------------------------------------ */

/* Words of the kernel that must not be there after counting. */
static const char *const complaints[] = {
	"unknown reason", "Dazed and confused", "WARNING:", "BUG:", "Oops", "lockup",
	"unchecked MSR access", "general protection", "stuck", "rcu_sched self-detected",
};

struct complaint {
	unsigned int nr;
	char first[300];
};

/* True if the line is as "vperfctr: CPU 1: counter 0x2 does not count". */
bool is_why_no_start(const struct log_line *line)
{
	unsigned int cpu;

	return line->of_kernel && sscanf(line->text, "vperfctr: CPU %u: ", &cpu) == 1 &&
	       (strstr(line->text, ": counter 0x") ||
		strstr(line->text, "registers cannot be written"));
}

/*
 * True if the line is as "vperfctr: perfex (process 324, user 0) counts; perf gets no counters
 * until ...", or "only its own"; or as "vperfctr: perf is refused counters: perfex (process 324,
 * user 0) has them, ...".
 */
static bool is_holder(const char *line)
{
	return !strncmp(line, "vperfctr: perf is refused counters: ", 36) ||
	       (strstr(line, ") counts; perf gets ") && strstr(line, " counters until "));
}

static bool is_complaint(const struct log_line *line)
{
	size_t i;

	/* The module's reason for a failure of "start", which has reported it. */
	if (is_why_no_start(line) || is_holder(line->text))
		return false;
	for (i = 0; i < ARRAY_SIZE(complaints); i++)
		if (strstr(line->text, complaints[i]))
			return true;
	/* The module prints warnings only, once it is loaded. */
	return !strncmp(line->text, "vperfctr: ", 10);
}

/* The result is in the report, too. */
static void look_at_line(void *arg, const struct log_line *line)
{
	struct complaint *found = arg;

	if (!is_complaint(line) || found->nr++)
		return;
	if (!tell_line(line, found->first, sizeof(found->first)))
		snprintf(found->first, sizeof(found->first),
			 "a line that is left out, because it may name a user's program");
}

static enum outcome check_log(struct self_test *t)
{
	struct complaint found = { 0 };

	if (*t->log_error)
		return skipped(t, "the kernel's log cannot be read: %s", t->log_error);
	read_log(t, look_at_line, &found);
	if (found.nr)
		return failed(t, "%u line%s of the kernel's log, as: %s", found.nr,
			      found.nr > 1 ? "s" : "", found.first);
	return passed(t, "the kernel's log has no complaint about the checks before; %" PRIu64 " NMIs came",
		      nr_of_nmis() - t->nmis);
}

const struct check machine_checks[] = {
	CHECK("perf", "perf has its counters back afterwards", check_perf),
	CHECK_ON_REQUEST("trace", "Intel PT beside counting", check_trace),
	CHECK_ON_REQUEST("hotplug", "a CPU goes offline, and comes back", check_hotplug),
	CHECK_ON_REQUEST("suspend", "the machine suspends to idle for two seconds", check_suspend),
	CHECK("log", "the kernel's log has no complaint", check_log),
	CHECKS_END
};
