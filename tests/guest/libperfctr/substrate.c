// SPDX-License-Identifier: GPL-2.0
/*
 * A layer over perfctr 2.6, as measurement libraries had one, and a program that uses it
 * on code of known length.  The layer has the processor's type, native events and their
 * counters, event sets of threads and of attached processes, and overflow handlers.  It
 * uses only <libperfctr.h>, in the C of that time.
 *
 * usage: substrate		check all this, and print what is wrong
 *	  substrate COMMAND...	run the command, and print how many instructions it took
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libperfctr.h>

#ifndef PERFCTR_ABI_VERSION
#error "this is not perfctr 2.6"
#endif

#define MAX_COUNTERS	18
#define MAX_NATIVE	16

enum { OK = 0, E_SYS = -1, E_CONFLICT = -2, E_NOEVENT = -3, E_INVAL = -4, E_ISRUN = -5,
	E_NOTRUN = -6, E_NOSUPPORT = -7 };

enum { DOMAIN_USER = 1, DOMAIN_KERNEL = 2 };

#define SEL_USR		(1U << 16)
#define SEL_OS		(1U << 17)
#define SEL_INT		(1U << 20)
#define SEL_ENABLE	(1U << 22)

/* ---- the processor -------------------------------------------------------------- */

struct native {
	const char *name;
	unsigned int code;		/* event select and unit mask */
	unsigned int counters;		/* bit i: counter i can count it */
};

static struct {
	struct perfctr_info info;
	const char *vendor;
	unsigned int nr_general;
	int has_overflow;
	struct native native[MAX_NATIVE];
	unsigned int nr_native;
} hw;

static unsigned int failures, checks;

static void check(int good, const char *what, int line)
{
	checks++;
	if (good)
		return;
	failures++;
	printf("line %d: %s (errno %d, %s)\n", line, what, errno, strerror(errno));
}

#define CHECK(expression)	check(expression, #expression, __LINE__)

/* Return the maker of this type of processor, or NULL if the type is unknown. */
static const char *classify(unsigned int cpu_type)
{
	switch (cpu_type) {
	case PERFCTR_X86_GENERIC:
		return "generic";
	case PERFCTR_X86_INTEL_P5:
	case PERFCTR_X86_INTEL_P5MMX:
	case PERFCTR_X86_INTEL_P6:
	case PERFCTR_X86_INTEL_PII:
	case PERFCTR_X86_INTEL_PIII:
	case PERFCTR_X86_INTEL_PENTM:
#ifdef PERFCTR_X86_INTEL_CORE
	case PERFCTR_X86_INTEL_CORE:
#endif
#ifdef PERFCTR_X86_INTEL_CORE2
	case PERFCTR_X86_INTEL_CORE2:
#endif
#ifdef PERFCTR_X86_INTEL_ATOM
	case PERFCTR_X86_INTEL_ATOM:
#endif
#ifdef PERFCTR_X86_INTEL_NHLM
	case PERFCTR_X86_INTEL_NHLM:
#endif
#ifdef PERFCTR_X86_INTEL_WSTMR
	case PERFCTR_X86_INTEL_WSTMR:
#endif
#ifdef PERFCTR_X86_INTEL_SNB
	case PERFCTR_X86_INTEL_SNB:
#endif
	case PERFCTR_X86_INTEL_P4:
	case PERFCTR_X86_INTEL_P4M2:
#ifdef PERFCTR_X86_INTEL_P4M3
	case PERFCTR_X86_INTEL_P4M3:
#endif
		return "intel";
	case PERFCTR_X86_AMD_K7:
#ifdef PERFCTR_X86_AMD_K8
	case PERFCTR_X86_AMD_K8:
#endif
#ifdef PERFCTR_X86_AMD_K8C
	case PERFCTR_X86_AMD_K8C:
#endif
#ifdef PERFCTR_X86_AMD_FAM10	/* its first name */
	case PERFCTR_X86_AMD_FAM10:
#endif
		return "amd";
	case PERFCTR_X86_CYRIX_MII:
	case PERFCTR_X86_WINCHIP_C6:
	case PERFCTR_X86_WINCHIP_2:
	case PERFCTR_X86_VIA_C3:
		return "other";
	}
	return NULL;
}

static void add_natives(const struct perfctr_event_set *set)
{
	unsigned int i, mask;

	for (; set; set = set->include)
		for (i = 0; i < set->nevents && hw.nr_native < MAX_NATIVE; i++) {
			const struct perfctr_event *event = &set->events[i];
			struct native *native = &hw.native[hw.nr_native++];

			mask = 0;
			if (event->unit_mask) {
				CHECK(event->unit_mask->type == perfctr_um_type_fixed ||
				      event->unit_mask->type == perfctr_um_type_exclusive ||
				      event->unit_mask->type == perfctr_um_type_bitmask);
				CHECK(event->unit_mask->nvalues >= 1);
				CHECK(event->unit_mask->values[0].description != NULL);
				mask = event->unit_mask->default_value;
			}
			native->name = event->name;
			native->code = event->evntsel | mask << 8;
			native->counters = event->counters_set;
		}
}

static int init_hardware(void)
{
	struct perfctr_cpus_info *cpus;
	int fd = _vperfctr_open(0);

	if (fd < 0 || perfctr_abi_check_fd(fd) < 0 || perfctr_info(fd, &hw.info) < 0)
		return E_SYS;
	cpus = perfctr_cpus_info(fd);
	close(fd);
	if (!cpus)
		return E_SYS;
	CHECK(cpus->cpus->nrwords >= 1 && cpus->cpus->mask[0]);
	free(cpus);
	if (!(hw.info.cpu_features & PERFCTR_FEATURE_RDTSC))
		return E_NOSUPPORT;
	hw.vendor = classify(hw.info.cpu_type);
	if (!hw.vendor)
		return E_NOSUPPORT;
	hw.has_overflow = !!(hw.info.cpu_features & PERFCTR_FEATURE_PCINT);
	hw.nr_general = perfctr_info_nrctrs(&hw.info);
	add_natives(perfctr_cpu_event_set(hw.info.cpu_type));
	printf("%s, %u kHz (times %u), %u counters, %u events, abi %#x, driver %s\n",
	       perfctr_info_cpu_name(&hw.info), hw.info.cpu_khz, hw.info.tsc_to_cpu_mult,
	       hw.nr_general, hw.nr_native, hw.info.abi_version, hw.info.driver_version);
	return OK;
}

static int find_native(const char *part)
{
	unsigned int i;

	for (i = 0; i < hw.nr_native; i++)
		if (strstr(hw.native[i].name, part))
			return (int)i;
	return E_NOEVENT;
}

/* ---- event sets -------------------------------------------------------------------- */

struct event_set {
	int natives[MAX_COUNTERS];
	long long periods[MAX_COUNTERS];	/* 0: a-mode */
	unsigned int nr, domain;
	int running;
	struct vperfctr_control control;
	int place[MAX_COUNTERS];		/* event i is the control's counter place[i] */
	struct perfctr_sum_ctrs base, sum;
	struct vperfctr *self;			/* one of these two is not NULL */
	struct rvperfctr *other;
	void (*handler)(struct event_set *set, unsigned int event, void *pc);
};

/* The thread's handle, and the set that the signal handler uses. */
static __thread struct vperfctr *thread_perfctr;
static __thread struct event_set *thread_set;

static int init_thread(void)
{
	thread_perfctr = vperfctr_open_mode(VPERFCTR_OPEN_CREAT_EXCL);
	if (!thread_perfctr && errno == EEXIST)
		thread_perfctr = vperfctr_open_mode(0);
	return thread_perfctr ? OK : E_SYS;
}

static void shutdown_thread(void)
{
	CHECK(vperfctr_unlink(thread_perfctr) == 0);
	vperfctr_close(thread_perfctr);
	thread_perfctr = NULL;
}

static void init_set(struct event_set *set, unsigned int domain)
{
	memset(set, 0, sizeof(*set));
	set->domain = domain;
	set->self = thread_perfctr;
}

/* Allocate unused counters for event i and all after it.  Returns 0 if they do not fit. */
static int allocate(const struct event_set *set, unsigned int i, unsigned int used,
		    unsigned int *pmc)
{
	unsigned int k;

	if (i == set->nr)
		return 1;
	for (k = 0; k < MAX_COUNTERS; k++) {
		if (!(hw.native[set->natives[i]].counters >> k & 1) || (used >> k & 1))
			continue;
		pmc[i] = k;
		if (allocate(set, i + 1, used | 1U << k, pmc))
			return 1;
	}
	return 0;
}

/* Make the control: a-mode counters, then i-mode ones. */
static int update_control(struct event_set *set)
{
	struct perfctr_cpu_control *cpu = &set->control.cpu_control;
	unsigned int pmc[MAX_COUNTERS], i, n = 0;
	int imode;

	if (!allocate(set, 0, 0, pmc))
		return E_CONFLICT;
	memset(&set->control, 0, sizeof(set->control));
	cpu->tsc_on = 1;
	for (imode = 0; imode <= 1; imode++)
		for (i = 0; i < set->nr; i++) {
			if (!!set->periods[i] != imode)
				continue;
			cpu->pmc_map[n] = pmc[i];
			cpu->evntsel[n] = hw.native[set->natives[i]].code | SEL_ENABLE |
					  (set->domain & DOMAIN_USER ? SEL_USR : 0) |
					  (set->domain & DOMAIN_KERNEL ? SEL_OS : 0) |
					  (imode ? SEL_INT : 0);
			cpu->ireset[n] = (int)-set->periods[i];
			set->place[i] = (int)n++;
			if (imode)
				cpu->nrictrs++;
			else
				cpu->nractrs++;
		}
	set->control.si_signo = cpu->nrictrs ? SIGIO : 0;
	return OK;
}

static int add_event(struct event_set *set, const char *name)
{
	int native = find_native(name), err;

	if (native < 0)
		return native;
	if (set->running)
		return E_ISRUN;
	if (set->nr == MAX_COUNTERS)
		return E_CONFLICT;
	set->natives[set->nr++] = native;
	err = update_control(set);
	if (err)
		set->nr--;
	return err;
}

static int apply(struct event_set *set)
{
	return set->other ? rvperfctr_control(set->other, &set->control) :
			    vperfctr_control(set->self, &set->control);
}

static int sample(struct event_set *set)
{
	return set->other ? rvperfctr_read_ctrs(set->other, &set->sum) :
			    vperfctr_read_ctrs(set->self, &set->sum);
}

static int start(struct event_set *set)
{
	if (set->running)
		return E_ISRUN;
	thread_set = set;
	memset(&set->base, 0, sizeof(set->base));
	if (apply(set) < 0)
		return E_SYS;
	set->running = 1;
	return OK;
}

static int read_set(struct event_set *set, long long *values)
{
	unsigned int i;

	if (sample(set) < 0)
		return E_SYS;
	for (i = 0; i < set->nr; i++)
		values[i] = (long long)(set->sum.pmc[set->place[i]] - set->base.pmc[set->place[i]]);
	return OK;
}

static int reset(struct event_set *set)
{
	if (sample(set) < 0)
		return E_SYS;
	set->base = set->sum;
	return OK;
}

static int stop(struct event_set *set, long long *values)
{
	if (!set->running)
		return E_NOTRUN;
	if ((set->other ? rvperfctr_stop(set->other) : vperfctr_stop(set->self)) < 0)
		return E_SYS;
	set->running = 0;
	return values ? read_set(set, values) : OK;
}

/* ---- overflow ---------------------------------------------------------------------- */

static void on_signal(int sig, siginfo_t *info, void *context)
{
	struct event_set *set = thread_set;
	unsigned int i, mask;

	(void)sig;
	if (info->si_code != SI_PMC_OVF || !set)
		return;
	mask = (unsigned int)info->si_pmc_ovf_mask;
	for (i = 0; i < set->nr; i++)
		if (set->periods[i] && (mask >> set->place[i] & 1))
			set->handler(set, i, context);
	vperfctr_iresume(set->self);
}

static int set_overflow(struct event_set *set, unsigned int event, int period,
			void (*handler)(struct event_set *, unsigned int, void *))
{
	struct sigaction action;

	if (!hw.has_overflow)
		return E_NOSUPPORT;
	memset(&action, 0, sizeof(action));
	action.sa_sigaction = on_signal;
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	if (sigaction(SIGIO, &action, NULL) < 0)
		return E_SYS;
	set->periods[event] = period;
	set->handler = handler;
	return update_control(set);
}

/* ---- the program that uses it --------------------------------------------------------- */

/* 2n instructions, and little more. */
static void code(unsigned int n)
{
	__asm__ __volatile__("1:	decl	%0\n"
			     "	jnz	1b" : "+r" (n) : : "cc");
}

static const char *instructions(void)
{
	return strcmp(hw.vendor, "amd") ? "INSTRUCTIONS_RETIRED" : "RETIRED_INSTRUCTIONS";
}

static void test_counting(void)
{
	long long a[MAX_COUNTERS], b[MAX_COUNTERS], c[MAX_COUNTERS], overhead;
	struct event_set set;
	unsigned int n;

	init_set(&set, DOMAIN_USER);
	CHECK(add_event(&set, "NO_SUCH_EVENT") == E_NOEVENT);
	CHECK(add_event(&set, instructions()) == OK);
	CHECK(add_event(&set, instructions()) == OK);
	CHECK(stop(&set, NULL) == E_NOTRUN);
	CHECK(start(&set) == OK);
	CHECK(start(&set) == E_ISRUN);
	CHECK(add_event(&set, instructions()) == E_ISRUN);
	CHECK(vperfctr_is_running(thread_perfctr));
	/* The first calls also bind the functions. */
	read_set(&set, a);
	read_set(&set, b);
	read_set(&set, a);
	read_set(&set, b);
	overhead = b[0] - a[0];
	for (n = 1; n < 100000; n = n * 7 + 1) {
		int err = read_set(&set, a);

		code(n);
		err |= read_set(&set, b);
		CHECK(err == OK);
		/* The call of code(), its argument, and a return. */
		CHECK(b[0] - a[0] - overhead >= 2 * n && b[0] - a[0] - overhead < 2 * n + 12);
		CHECK(b[1] - a[1] == b[0] - a[0]);
	}
	CHECK(reset(&set) == OK);
	read_set(&set, c);
	CHECK(c[0] >= 0 && c[0] < b[0] && c[0] < 1000);
	CHECK(vperfctr_read_pmc(thread_perfctr, 0) > 0);
	CHECK(vperfctr_read_tsc(thread_perfctr) > 0);
	CHECK(stop(&set, a) == OK);
	CHECK(!vperfctr_is_running(thread_perfctr));
	code(1000);
	CHECK(read_set(&set, b) == OK && b[0] == a[0]);
	/* A known layer stops an attached thread by the handle type of its own counters. */
	CHECK(start(&set) == OK);
	CHECK(rvperfctr_stop((struct rvperfctr *)set.self) == 0);
	CHECK(!vperfctr_is_running(thread_perfctr));
	CHECK(stop(&set, NULL) == OK);
	/* As many events as general counters fit, and not one more. */
	init_set(&set, DOMAIN_USER);
	for (n = 0; n < 32 && add_event(&set, instructions()) == OK; n++)
		;
	CHECK(n >= 1 && n <= hw.nr_general && add_event(&set, instructions()) == E_CONFLICT);
}

/* The minimum of several tries: the kernel may have more to do in some. */
static long long count_domain(unsigned int domain)
{
	long long values[MAX_COUNTERS], least = LLONG_MAX;
	struct event_set set;
	unsigned int tries, i;

	for (tries = 0; tries < 5; tries++) {
		init_set(&set, domain);
		CHECK(add_event(&set, instructions()) == OK);
		CHECK(start(&set) == OK);
		for (i = 0; i < 100; i++)
			getppid();
		code(5000);
		CHECK(stop(&set, values) == OK);
		if (values[0] < least)
			least = values[0];
	}
	return least;
}

static void test_domains(void)
{
	long long user = count_domain(DOMAIN_USER), kernel = count_domain(DOMAIN_KERNEL);
	long long both = count_domain(DOMAIN_USER | DOMAIN_KERNEL);

	CHECK(user > 10000 && user < 13000);
	CHECK(kernel > 100 * 10);
	CHECK(both > user && both > kernel);
}

static volatile unsigned int overflows;

static void count_overflow(struct event_set *set, unsigned int event, void *pc)
{
	(void)set;
	(void)pc;
	overflows += event == 1;
}

static void test_overflows(void)
{
	long long values[MAX_COUNTERS];
	struct event_set set;

	init_set(&set, DOMAIN_USER);
	CHECK(add_event(&set, instructions()) == OK);
	CHECK(add_event(&set, instructions()) == OK);
	if (!hw.has_overflow) {
		CHECK(set_overflow(&set, 1, 10000, count_overflow) == E_NOSUPPORT);
		return;
	}
	CHECK(set_overflow(&set, 1, 10000, count_overflow) == OK);
	overflows = 0;
	CHECK(start(&set) == OK);
	code(500000);
	CHECK(stop(&set, values) == OK);
	/* The handler's instructions after iresume are counted, too. */
	CHECK(overflows >= 100 && overflows <= 105);
	CHECK(overflows == (unsigned int)(values[1] / 10000));
	CHECK(values[0] == values[1]);
}

static void *thread(void *arg)
{
	long long *count = (long long *)arg, values[MAX_COUNTERS];
	unsigned int n = (unsigned int)*count;
	struct event_set set;

	*count = -1;
	if (init_thread())
		return NULL;
	init_set(&set, DOMAIN_USER);
	if (add_event(&set, instructions()) || start(&set))
		return NULL;
	code(n);
	if (stop(&set, values) == OK)
		*count = values[0];
	shutdown_thread();
	return NULL;
}

/* Each thread has its own counts, although the others run meanwhile. */
static void test_threads(void)
{
	long long counts[4];
	pthread_t ids[4];
	int i;

	for (i = 0; i < 4; i++) {
		counts[i] = 100000 * (i + 1);
		CHECK(!pthread_create(&ids[i], NULL, thread, &counts[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(ids[i], NULL);
		CHECK(counts[i] > 200000 * (i + 1) && counts[i] < 200000 * (i + 1) + 3000);
	}
}

/* Count a command from its first instruction to its end.  Returns its instructions, or -1. */
static long long count_command(char **argv)
{
	long long values[MAX_COUNTERS] = { -1 };
	struct event_set set;
	int status;
	pid_t pid = fork();

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	init_set(&set, DOMAIN_USER);
	set.other = rvperfctr_open(pid);
	if (!set.other || rvperfctr_pid(set.other) != pid)
		return -1;
	if (add_event(&set, instructions()) || start(&set))
		return -1;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	waitpid(pid, &status, 0);
	if (read_set(&set, values))
		return -1;
	rvperfctr_close(set.other);
	return values[0];
}

static char *const nothing[] = { (char *)"/bin/true", NULL };

int main(int argc, char **argv)
{
	struct gperfctr *global;

	if (init_hardware() != OK || init_thread() != OK) {
		perror("substrate");
		return 1;
	}
	if (argc > 1) {
		printf("%lld\n", count_command(argv + 1));
		return 0;
	}
	perfctr_info_print(&hw.info);
	test_counting();
	test_domains();
	test_overflows();
	test_threads();
	CHECK(count_command((char **)nothing) > 100);
	global = gperfctr_open();
	CHECK(global != NULL);
	gperfctr_close(global);
	shutdown_thread();
	printf("%u checks, %u failures\n", checks, failures);
	return failures != 0;
}
