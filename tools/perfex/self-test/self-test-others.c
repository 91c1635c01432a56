// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --self-test: other users of a processor and its other CPUs: hyper-threads, virtual
 * machines, CPUs of another kind, and the interrupt controller.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "checks.h"

#define LOOP		500000UL	/* of 2 instructions */
#define LOOP_COUNT	(2 * (uint64_t)LOOP)

/* ---- CPUs of another kind ------------------------------------------------------- */

#define MOVES	1000

struct mover {
	pid_t reader;
	cpu_set_t cpus[2];		/* of two kinds */
	atomic_ullong reads;		/* that the reader has done */
	atomic_bool done;
	unsigned int refused;
};

static void *move_reader(void *arg)
{
	struct mover *m = arg;
	uint64_t until;
	cpu_set_t all;
	unsigned int i;

	CPU_OR(&all, &m->cpus[0], &m->cpus[1]);
	sched_setaffinity(0, sizeof(all), &all);
	for (i = 0; i < MOVES; i++) {
		/* The reader must run on the CPU that it has come to. */
		until = m->reads + 1 + i % 50;
		while (m->reads < until)
			sched_yield();
		if (sched_setaffinity(m->reader, sizeof(*m->cpus), &m->cpus[i & 1]))
			m->refused++;
	}
	m->done = true;
	return NULL;
}

/* A counter of instructions that two kinds have alike, for user mode to read on both. */
static struct vperfctr_ctr common_counter(struct self_test *t, const unsigned int *kinds)
{
	struct counting a, b;
	unsigned int i, j;

	init_counting(&a, &t->kind[kinds[0]]);
	init_counting(&b, &t->kind[kinds[1]]);
	add_instructions(t, &t->kind[kinds[0]], &a);
	add_instructions(t, &t->kind[kinds[1]], &b);
	for (i = 0; i < a.nr; i++)
		for (j = 0; j < b.nr; j++)
			if (a.ctr[i].map == b.ctr[j].map)
				return a.ctr[i];
	skip_check(t, "no counter of instructions is on both kinds of CPUs");
}

/*
 * Read a counter in user mode while another thread moves the reader between two kinds of
 * CPUs.  The control does not ask for its affinity.  On a CPU of the other kind each read is a
 * system call, so the kind that counts soon becomes that of the CPU.  Most moves then come
 * while the reader executes RDPMC, or is about to.
 */
static enum outcome check_kinds(struct self_test *t)
{
	const struct vperfctr_info *kind;
	unsigned int kinds[2], nr = 0, i, now = 0, changes = 0;
	uint64_t value, last = 0;
	struct mover m = { .reader = (pid_t)syscall(SYS_gettid) };
	struct vperfctr_ctr ctr;
	struct counting c;
	pthread_t thread;
	int err;

	for (i = 0; i < t->nrkinds && nr < 2; i++)
		if (CPU_COUNT(&t->usable[i]))
			kinds[nr++] = i;
	if (nr < 2)
		return skipped(t, "the CPUs that count are of one kind");
	if (!VPERFCTR_HAVE_RDPMC || !(t->kind[0].features & VPERFCTR_FEATURE_RDPMC))
		return skipped(t, "counters cannot be read in user mode");
#if defined(__aarch64__) || defined(__riscv) || defined(__powerpc__)
	return skipped(t, "here a read may raise SIGILL while its thread is moved");
#endif
	ctr = common_counter(t, kinds);
	for (i = 0; i < 2; i++)
		m.cpus[i] = t->usable[kinds[i]];
	pin_to_first(t, &kind);
	init_counting(&c, &t->kind[kinds[0]]);
	add_counter(&c, ctr, 0);
	start_counting(t, &c);
	if (pthread_create(&thread, NULL, move_reader, &m))
		return skipped(t, "no second thread can be started");
	while (!m.done) {
		err = vperfctr_read_pmc(c.v, 0, &value);
		if (err)
			return failed(t, "the counter cannot be read: %s", strerror(-err));
		if (value < last)
			return failed(t, "a count went back from %" PRIu64 " to %" PRIu64 " in %u changes of kind",
				      last, value, changes);
		last = value;
		if (++m.reads % 20)
			continue;
		i = CPU_ISSET((unsigned int)sched_getcpu(), &m.cpus[1]);
		if (i == now)
			continue;
		now = i;
		changes++;
		c.control.kind = t->kind[kinds[now]].kind;
		err = vperfctr_control(c.v, &c.control);
		if (err)
			return failed(t, "the kind of CPU cannot be changed: %s", strerror(-err));
		last = 0;
	}
	pthread_join(thread, NULL);
	stop_counting(&c);
	if (m.refused)
		return skipped(t, "the thread was moved %u times of %d only", MOVES - m.refused, MOVES);
	return passed(t, "%" PRIu64 " reads in %d moves between kinds of CPUs and %u changes of kind",
		      (uint64_t)m.reads, MOVES, changes);
}

#if defined(__x86_64__) || defined(__i386__)
#include <linux/kvm.h>

static void start_one(struct self_test *t, const struct vperfctr_info *kind, struct counting *c)
{
	init_counting(c, kind);
	add_counter(c, counter_for_instructions(t, kind), 0);
	start_counting(t, c);
}

/* ---- hyper-threads ---------------------------------------------------------------- */

/* Events that disturb the counters of the sibling, according to errata BJ122, BV98, HSD29. */
static const uint32_t disturbing[] = { 0x81d0, 0x01d1 };

struct sibling {
	struct self_test *t;
	const struct vperfctr_info *kind;
	unsigned int cpu;
	atomic_bool ready, stop;
	int err;
};

/* Return: a CPU that shares its core with this one, or -1. */
static int find_sibling(const struct self_test *t, unsigned int kind, unsigned int cpu)
{
	unsigned int first, last;
	char name[80], *list = NULL, *p;
	size_t size = 0;
	int found = -1, n;
	FILE *f;

	snprintf(name, sizeof(name), "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list",
		 cpu);
	f = fopen(name, "re");
	if (!f)
		return -1;
	if (getline(&list, &size, f) <= 0)
		*(list = realloc(list, 1)) = '\0';
	fclose(f);
	for (p = list; found < 0 && sscanf(p, "%u%n", &first, &n) == 1; p += *p == ',') {
		p += n;
		last = first;
		if (*p == '-' && sscanf(p, "-%u%n", &last, &n) == 1)
			p += n;
		for (; first <= last && first < CPU_SETSIZE; first++)
			if (first != cpu && CPU_ISSET(first, &t->usable[kind]))
				found = (int)first;
	}
	free(list);
	return found;
}

static void *disturb(void *arg)
{
	static volatile unsigned long memory[512];
	struct sibling *s = arg;
	struct counting c;
	cpu_set_t set;
	unsigned int i;

	CPU_ZERO(&set);
	CPU_SET(s->cpu, &set);
	init_counting(&c, s->kind);
	for (i = 0; i < ARRAY_SIZE(disturbing); i++)
		add_counter(&c, (struct vperfctr_ctr){ .map = i, .evntsel = 0x410000 | disturbing[i] },
			    0);
	c.control.flags |= VPERFCTR_CONTROL_AFFINITY;
	s->err = sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
	if (!s->err)
		s->err = vperfctr_open(&c.v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT);
	if (!s->err)
		s->err = vperfctr_control(c.v, &c.control);
	s->ready = true;
	for (i = 0; !s->err && !s->stop; i++)
		memory[i % ARRAY_SIZE(memory)]++;
	stop_counting(&c);
	return NULL;
}

static enum outcome check_siblings(struct self_test *t)
{
	struct sibling s = { .t = t };
	const unsigned int cpu = pin_to_first(t, &s.kind);
	const int sibling = find_sibling(t, s.kind->kind, cpu);
	uint64_t alone, beside;
	struct counting c;
	pthread_t thread;

	if (s.kind->cpu_type != VPERFCTR_CPU_INTEL_ARCH)
		return skipped(t, "this processor does not have these errata");
	if (sibling < 0)
		return skipped(t, "CPU %u has no hyper-thread sibling that can count", cpu);
	if ((s.kind->pmc_mask & 3) != 3)
		return skipped(t, "there are no two general counters");
	s.cpu = (unsigned int)sibling;
	start_one(t, s.kind, &c);
	count_loop(t, &c, LOOP, 5, &alone);
	if (pthread_create(&thread, NULL, disturb, &s))
		return skipped(t, "no second thread can be started");
	while (!s.ready)
		sched_yield();
	count_loop(t, &c, LOOP, 5, &beside);
	s.stop = true;
	pthread_join(thread, NULL);
	stop_counting(&c);
	if (s.err == -EUSERS)
		return passed(t, "the module refuses events D0H and D1H beside a hyper-thread sibling");
	if (s.err)
		return skipped(t, "events D0H and D1H cannot be counted on CPU %u: %s", s.cpu,
			       strerror(-s.err));
	if (llabs((long long)(beside - alone)) > (long long)(alone / 10000))
		return failed(t, "CPU %u counted %" PRIu64 " instructions alone, and %" PRIu64 " while its sibling %u counted events D0H and D1H",
			      cpu, alone, beside, s.cpu);
	return passed(t, "%" PRIu64 " instructions alone, and %" PRIu64 " while the sibling counted events D0H and D1H",
		      alone, beside);
}

/* ---- virtual machines -------------------------------------------------------------- */

#define GUEST_RUNS	100
/* Instructions of user mode around a run, at most. */
#define AROUND_A_RUN	300

struct guest {
	int kvm, vm, cpu;
	struct kvm_run *run;
	struct kvm_regs regs;
};

/* A guest in real mode that executes 2003 instructions: a loop, and HLT. */
static bool create_guest(struct guest *g)
{
	/* mov $1000, %cx; 1: dec %cx; jnz 1b; hlt */
	static const unsigned char code[] = { 0xb9, 0xe8, 0x03, 0x49, 0x75, 0xfd, 0xf4 };
	struct kvm_userspace_memory_region memory = { .memory_size = 4096 };
	struct kvm_sregs sregs;
	int size;
	void *p;

	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	memcpy(p, code, sizeof(code));
	memory.userspace_addr = (uintptr_t)p;
	g->vm = ioctl(g->kvm, KVM_CREATE_VM, 0);
	if (g->vm < 0)
		return false;
	/* Intel's processors need some pages to emulate real mode. */
	ioctl(g->vm, KVM_SET_TSS_ADDR, 0xfffbd000UL);
	if (ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &memory))
		return false;
	g->cpu = ioctl(g->vm, KVM_CREATE_VCPU, 0);
	size = ioctl(g->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (g->cpu < 0 || size < (int)sizeof(*g->run))
		return false;
	g->run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, g->cpu, 0);
	if (g->run == MAP_FAILED || ioctl(g->cpu, KVM_GET_SREGS, &sregs))
		return false;
	sregs.cs.base = 0;
	sregs.cs.selector = 0;
	g->regs.rflags = 2;
	return !ioctl(g->cpu, KVM_SET_SREGS, &sregs);
}

static bool run_guest(struct guest *g)
{
	if (ioctl(g->cpu, KVM_SET_REGS, &g->regs))
		return false;
	while (ioctl(g->cpu, KVM_RUN, 0))
		if (errno != EINTR)
			return false;
	return g->run->exit_reason == KVM_EXIT_HLT;
}

static enum outcome check_kvm(struct self_test *t)
{
	struct guest g = { .kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC) };
	const uint64_t expected = GUEST_RUNS * 20000, most = expected + GUEST_RUNS * AROUND_A_RUN;
	const struct vperfctr_info *kind;
	uint64_t before, after, ctrl;
	struct counting c;
	unsigned int i, cpu;

	if (g.kvm < 0)
		return skipped(t, "there is no KVM: /dev/kvm: %s", strerror(errno));
	cpu = pin_to_first(t, &kind);
	if (!create_guest(&g))
		return skipped(t, "KVM cannot make a virtual machine: %s", strerror(errno));
	start_one(t, kind, &c);
	/* The first time, KVM makes page tables. */
	if (!run_guest(&g))
		return skipped(t, "KVM cannot run a virtual machine: exit reason %u, %s",
			       g.run->exit_reason, strerror(errno));
	ctrl = enabling_register(t, cpu);
	before = read_count(t, &c, 0, NULL);
	for (i = 0; i < GUEST_RUNS; i++) {
		known_loop(10000);
		run_guest(&g);
	}
	after = read_count(t, &c, 0, NULL);
	if (enabling_register(t, cpu) != ctrl)
		return failed(t, "the register that enables all counters was %#" PRIx64 " before a virtual machine ran, and is %#" PRIx64 " now",
			      ctrl, enabling_register(t, cpu));
	stop_counting(&c);
	if (after - before < expected || after - before > most)
		return failed(t, "%" PRIu64 " instructions were counted beside a virtual machine, not %" PRIu64 " to %" PRIu64,
			      after - before, expected, most);
	return passed(t, "%" PRIu64 " instructions were counted in %d runs of a virtual machine",
		      after - before, GUEST_RUNS);
}

/* ---- the interrupt controller -------------------------------------------------------- */

#define MSR_APIC_BASE		0x1b
#define APIC_BASE_X2APIC	(1ULL << 10)
#define MSR_X2APIC_LVTPC	0x834
#define APIC_LVTPC		0x340
#define LVT_MASKED		(1U << 16)
#define LVT_MODE		(7U << 8)
#define LVT_NMI			(4U << 8)

/* The local interrupt controller's entry for the counters, of this CPU. */
static uint32_t read_lvtpc(struct self_test *t, unsigned int cpu)
{
	volatile uint32_t *apic;
	uint64_t base, value;
	int fd, err;

	err = read_msr(cpu, MSR_APIC_BASE, &base);
	if (err)
		skip_check(t, "the registers cannot be read: /dev/cpu/%u/msr: %s", cpu, strerror(-err));
	if (base & APIC_BASE_X2APIC) {
		err = read_msr(cpu, MSR_X2APIC_LVTPC, &value);
		if (err)
			skip_check(t, "the interrupt controller cannot be read: %s", strerror(-err));
		return (uint32_t)value;
	}
	fd = open("/dev/mem", O_RDONLY | O_CLOEXEC);
	apic = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
					  (off_t)(base & 0xffffff000));
	if (apic == MAP_FAILED)
		skip_check(t, "the interrupt controller cannot be read (boot with iomem=relaxed): /dev/mem: %s",
			   strerror(errno));
	value = apic[APIC_LVTPC / 4];
	munmap((void *)apic, 4096);
	close(fd);
	return (uint32_t)value;
}

/*
 * Intel's processors mask the entry when they deliver an interrupt, and AMD's do not.  In
 * either case it must be ready again when the program runs on.
 */
static enum outcome check_lvtpc(struct self_test *t)
{
	enum { PERIOD = 20011 };
	const struct vperfctr_info *kind;
	const unsigned int cpu = pin_to_first(t, &kind);
	uint32_t before, after;
	struct counting c;
	uint64_t mask;

	if (!(kind->features & VPERFCTR_FEATURE_PCINT))
		return skipped(t, "the counters have no overflow interrupts");
	init_counting(&c, kind);
	add_counter(&c, counter_for_instructions(t, kind), PERIOD);
	start_counting(t, &c);
	before = read_lvtpc(t, cpu);
	known_loop(PERIOD);
	read_count(t, &c, 0, &mask);
	after = read_lvtpc(t, cpu);
	stop_counting(&c);
	if (!mask)
		return failed(t, "no overflow was reported");
	if ((before & (LVT_MASKED | LVT_MODE)) != LVT_NMI || (after & (LVT_MASKED | LVT_MODE)) != LVT_NMI)
		return failed(t, "LVTPC of CPU %u was %#x before an interrupt, and %#x after it: no NMI can follow",
			      cpu, before, after);
	return passed(t, "LVTPC is %#x before and after an interrupt", after);
}

const struct check other_checks[] = {
	CHECK("lvtpc", "the next interrupt can come", check_lvtpc),
	CHECK("siblings", "the other hyper-thread does not disturb counts", check_siblings),
	CHECK("kvm", "a virtual machine does not disturb counts", check_kvm),
	CHECK("kinds", "reads while the kind of CPU changes", check_kinds),
	CHECKS_END
};

#else

const struct check other_checks[] = {
	CHECK("kinds", "reads while the kind of CPU changes", check_kinds),
	CHECKS_END
};
#endif
