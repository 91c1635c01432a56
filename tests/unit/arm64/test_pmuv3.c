// SPDX-License-Identifier: GPL-2.0
/* Tests of the arm64 driver on the model, each in a process of its own. */
#include <errno.h>
#include <stdlib.h>

#include "arm64.h"
#include "model.h"
#include "shared.h"

#define P		0x80000000ULL
#define U		0x40000000ULL
#define INSNS		0x08
#define CYCLES		VPERFCTR_FIXED

#define driver	perfctr_arch.drivers[0]

bool perfctr_isolate = true;
/* With isolation some process has mapped a page.  Counters keep their values likewise without. */
bool perfctr_hides = true;
static bool may_read, others_may;

/* The mm of all threads. */
struct mm_struct { char unused; };
static struct mm_struct the_mm, other_mm;

void perfctr_hide_end(void)
{
}

bool perfctr_arm64_close_reads(void)
{
	return false;
}

bool perfctr_arm64_reads_left(void)
{
	return false;
}

/* As left-open.c, which does more later. */
static unsigned int nr_left_open;

void perfctr_arm64_left_open_begin(void)
{
}

void perfctr_arm64_left_open_end(void)
{
}

void perfctr_arm64_left_open(void)
{
	nr_left_open++;
	perfctr_hides = true;
}

bool perfctr_may_read(struct mm_struct **reader)
{
	if (may_read)
		*reader = &the_mm;
	else if (others_may)
		*reader = NULL;
	return may_read;
}

const struct perfctr_driver *perfctr_driver;

/* As own-reads.c does it. */
static void close_user(const struct mm_struct *mm)
{
	if (driver->own_cpu(fake_cpu)->reader == mm)
		driver->close_user();
}

/* Stubs of claim.c and perf-wait.c, which are not under test. */
void perfctr_claim_ready(void)
{
}

int perfctr_claim_find(unsigned int cpu)
{
	(void)cpu;
	return 0;
}

int perfctr_claim_begin(unsigned int cpu)
{
	(void)cpu;
	return 0;
}

void perfctr_claim_end(void)
{
}

bool perfctr_claim_accepts(unsigned int cpu)
{
	(void)cpu;
	return true;
}

int perfctr_claim_reserve(void)
{
	return 0;
}

void perfctr_perf_settle(void)
{
}

void perfctr_claim_release(void)
{
}

bool perfctr_perf_claim(void)
{
	return true;
}

void perfctr_perf_release(unsigned int cpu)
{
	(void)cpu;
}

/* The claim of a CPU, as in driver.c. */
static unsigned int claims;
static int claim_error;
static bool is_claimed;

int perfctr_prepare_here(void)
{
	if (is_claimed)
		return 0;
	claims++;
	if (!claim_error)
		driver->cpu_start(false);
	return claim_error;
}

int perfctr_cpu_check_control(struct perfctr_cpu_control *control)
{
	return driver->check_control(control);
}

/* The kernel's driver of each CPU. */
static const char *perf_name[NR_CPUS];

const char *perfctr_arm64_perf_name(void)
{
	return perf_name[fake_cpu] ?: "";
}

static bool has_perf;

bool perfctr_arm64_has_perf(void)
{
	return has_perf;
}

bool perfctr_arm64_perf_has_kinds(unsigned int cpu)
{
	(void)cpu;
	return false;
}

/* The counters that perf keeps on the CPUs "keeping", and the CPUs where it uses some. */
static u64 kept, busy, keeping = ~0ULL;

/* The NMI watchdog has them, and nothing else. */
static bool keeps_watchdog;

void perfctr_arm64_find_watchdog(void)
{
}

bool perfctr_arm64_keeps_watchdog(void)
{
	return keeps_watchdog;
}

void perfctr_arm64_watchdog_settle(void)
{
}

void perfctr_arm64_watchdog_end(void)
{
}

bool perfctr_arm64_is_kept(unsigned int cpu, int idx)
{
	return ((keeping >> cpu) & (kept >> idx)) & 1;
}

u64 perfctr_arm64_kept(unsigned int nr, bool has_cycles)
{
	(void)nr;
	(void)has_cycles;
	return perfctr_arm64_kept_here();
}

u64 perfctr_arm64_kept_here(void)
{
	return keeping >> fake_cpu & 1 ? kept : 0;
}

bool perfctr_arm64_kept_idle(void)
{
	return !(busy >> fake_cpu & 1);
}

static struct perfctr_cpu_state *refused;

static void refusal_handler(struct perfctr_cpu_state *state)
{
	refused = state;
}

struct thread {
	struct perfctr_cpu_state state;
	struct perfctr_cpu_control control;
	u64 room[(sizeof(struct vperfctr_page) + 4 * sizeof(struct vperfctr_page_ctr)) / 8];
};

static struct perfctr_cpu_state *overflowed;

static void overflow_handler(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	(void)regs;
	overflowed = state;
}

static void start_machine(unsigned int version, unsigned int nr, bool isolate)
{
	unsigned int i;

	perfctr_isolate = isolate;
	perfctr_hides = isolate;
	model_init(version, nr);
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	perfctr_driver = driver;
	ck_assert_int_eq(driver->probe(), 0);
	perfctr_cpu_set_ihandler(overflow_handler);
	perfctr_cpu_set_refusal(refusal_handler);
	ck_assert_int_eq(perfctr_driver_init(&driver->ops), 0);
	for (i = 0; i < NR_CPUS; i++) {
		fake_cpu = i;
		model.cpu[i].enabled &= ~kept;	/* perf's driver has reset them */
		driver->cpu_start(false);
	}
	fake_cpu = 0;
}

static void add_counter(struct thread *t, u32 map, u64 evntsel, u64 period)
{
	unsigned int i = perfctr_nrctrs(&t->control);
	struct vperfctr_ctr *ctr = &t->control.ctr[i];

	memset(ctr, 0, sizeof(*ctr));
	ctr->map = map;
	ctr->evntsel = evntsel;
	ctr->ireset = -period;
	if (period)
		t->control.nrictrs++;
	else
		t->control.nractrs++;
}

static int check_thread_control(struct thread *t)
{
	int err;

	/* the derived fields must not depend on their old values */
	t->control.kernel = true;
	t->control.alone = true;
	t->control.mask = 0;
	memset(&t->control.regs, 0xa5, sizeof(t->control.regs));
	err = driver->check_control(&t->control);
	if (!err)
		ck_assert(!t->control.alone);
	return err;
}

static void set_control(struct thread *t)
{
	t->state.page = (void *)t->room;
	t->control.tsc_on = 1;
	ck_assert_int_eq(check_thread_control(t), 0);
	perfctr_cpu_update_control(&t->state, &t->control, 0);
}

static u64 sum(const struct thread *t, unsigned int i)
{
	return ((const struct vperfctr_page *)t->room)->ctr[i].sum;
}

/* No counter may hold a value, and user mode must have no access. */
static void check_clean(void)
{
	const struct model_cpu *c = &model.cpu[fake_cpu];
	unsigned int i;

	ck_assert_uint_eq(c->enabled, 0);
	ck_assert_uint_eq(c->user, 0);
	for (i = 0; i < model.nr; i++)
		ck_assert_uint_eq(c->counter[i], 0);
	ck_assert_uint_eq(c->counter[31], 0);
}

/*
 * KVM without a vPMU, up to Linux 5.10, shows PMUv3 and lets the registers read as zero: a counter
 * would always be zero.  perf has no driver there.  Where it has one, its counters stay alone.
 */
START_TEST(registers_of_zero)
{
	model_init(4, 6);
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	model.absent = true;
	ck_assert_int_eq(driver->probe(), -ENODEV);
	model.absent = false;
	model.cpu[0].counter[31] = 77;
	has_perf = true;
	ck_assert_int_eq(driver->probe(), 0);
	ck_assert_uint_eq(model.cpu[0].counter[31], 77);
	ck_assert(driver->is_alike());
	has_perf = false;
	fake_cpu = 1;
	ck_assert(driver->is_alike());
	model.absent = true;
	ck_assert(!driver->is_alike());
}
END_TEST

/*
 * No counter can wrap between two samples, at 6 GHz.  A64FX and Neoverse V1 have 32 bits and
 * SVE: Arm's manuals of both, FP_SCALE_OPS_SPEC (80C0H), whose two pipes of up to 512 bits count
 * 2 x 32 half-precision elements, twice for multiply and add.
 */
START_TEST(sampled_before_a_wrap)
{
	const u64 per_cycle = _i ? 128 : 16;

	model_init(4, 6);
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	model.sve = _i;
	ck_assert_int_eq(driver->probe(), 0);
	ck_assert_uint_gt(perfctr_cpu_sampling_ns, 1000000);
	ck_assert_uint_le(perfctr_cpu_sampling_ns * 6 * per_cycle, 1ULL << 31);
	model_init(6, 6);
	model.sve = _i;
	ck_assert_int_eq(driver->probe(), 0);
	ck_assert_uint_eq(perfctr_cpu_sampling_ns, 0);
}
END_TEST

/* The fixed counter, if it is offered, counts the cycles that the event counts. */
START_TEST(cycles_while_waiting)
{
	static const struct work work = { .kernel = true, .instructions = 10, .cycles = 30 };
	struct thread t = {};

	model_init(4, 6);
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	model.smt = _i == 1 ? ~0U : 0;
	model.midr[0] = _i == 2 ? 0x4e0f0100 : model.midr[0];
	ck_assert_int_eq(driver->probe(), 0);
	ck_assert_int_eq(perfctr_driver_init(&driver->ops), 0);
	driver->cpu_start(false);
	add_counter(&t, 0, 0x11, 0);
	add_counter(&t, CYCLES, 0, 0);
	t.state.page = (void *)t.room;
	ck_assert_int_eq(check_thread_control(&t), perfctr_cpu_info.fixed_mask ? 0 : -EINVAL);
	ck_assert_int_eq(perfctr_cpu_info.nrctrs, _i ? 6 : 7);
	ck_assert_int_eq(perfctr_cpu_info.fixed_width, _i ? 0 : 64);
	t.control.nractrs = perfctr_cpu_info.fixed_mask ? 2 : 1;
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	model_run(&work);
	model.waits = true;
	model_run(&work);
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(sum(&t, 0), 30);
	if (perfctr_cpu_info.fixed_mask)
		ck_assert_uint_eq(sum(&t, 1), 30);
}
END_TEST

START_TEST(probe)
{
	static const struct {
		unsigned int version, width;
		const char *name;
	} known[] = {
		{ 1, 32, "Arm PMUv3" }, { 4, 32, "Arm PMUv3p1" }, { 5, 32, "Arm PMUv3p4" },
		{ 6, 64, "Arm PMUv3p5" }, { 7, 64, "Arm PMUv3p7" }, { 8, 64, "Arm PMUv3p8" },
		{ 9, 64, "Arm PMUv3p9" },
		{ 12, 64, "Arm PMUv3" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(known); i++) {
		start_machine(known[i].version, 6, true);
		ck_assert_uint_eq(perfctr_cpu_info.pmc_width, known[i].width);
		ck_assert_uint_eq(perfctr_cpu_info.fixed_width, 64);
		ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 0x3f);
		ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 1);
		ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 7);
		ck_assert_uint_eq(perfctr_cpu_info.max_period, (1ULL << (known[i].width - 1)) - 1);
		ck_assert_uint_eq(perfctr_cpu_info.min_period, 1);
		ck_assert_uint_eq(!perfctr_cpu_sampling_ns, known[i].width == 64);
		ck_assert_uint_eq(perfctr_cpu_info.arch_events, VPERFCTR_EVENT_CYCLES |
				  VPERFCTR_EVENT_INSTRUCTIONS |
				  (known[i].version >= 4 ? VPERFCTR_EVENT_REF_CYCLES : 0));
		ck_assert_str_eq(perfctr_cpu_info.cpu_name, known[i].name);
		/* counting is enabled; the cycle counter has 64 bits, the others from PMUv3p5 */
		ck_assert_uint_eq(model.cpu[0].pmcr, known[i].width == 64 ? 0xc1 : 0x41);
		check_clean();
	}
	model_init(0, 6);
	ck_assert_int_eq(driver->probe(), -ENODEV);
	model_init(15, 6);
	ck_assert_int_eq(driver->probe(), -ENODEV);
	start_machine(4, 0, true);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 1);
	start_machine(4, 31, true);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 32);
}
END_TEST

/* The events that have a name on all processors are those that perf counts by it. */
START_TEST(generic_events)
{
	static const struct {
		unsigned int event;
		u32 arch;
	} perf[] = {
		{ 0x03, VPERFCTR_EVENT_CACHE_MISSES }, { 0x04, VPERFCTR_EVENT_CACHE_REFS },
		{ 0x08, VPERFCTR_EVENT_INSTRUCTIONS }, { 0x10, VPERFCTR_EVENT_BRANCH_MISSES },
		{ 0x21, VPERFCTR_EVENT_BRANCHES }, { 0x22, 0 }, { 0x36, 0 }, { 0x37, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(perf); i++) {
		model_init(4, 6);
		model.events = 1ULL << 0x11 | 1ULL << perf[i].event;
		ck_assert_int_eq(driver->probe(), 0);
		ck_assert_uint_eq(perfctr_cpu_info.arch_events & ~VPERFCTR_EVENT_REF_CYCLES,
				  VPERFCTR_EVENT_CYCLES | perf[i].arch);
	}
}
END_TEST

START_TEST(is_alike)
{
	start_machine(4, 6, true);
	ck_assert(driver->is_alike());
	model.midr[0] ^= 0x10;		/* another model */
	ck_assert(!driver->is_alike());
	model.midr[0] ^= 0x10;
	model.events ^= 0x20;
	ck_assert(!driver->is_alike());
	model.events ^= 0x20;
	model.extended_events ^= 1;
	ck_assert(!driver->is_alike());
}
END_TEST

static void learn(unsigned int cpu)
{
	fake_cpu = cpu;
	perfctr_learn_kind(cpu);
	fake_cpu = 0;
}

static bool is_counted(unsigned int kind, unsigned int cpu)
{
	return !cpumask_test_cpu(cpu, perfctr_cpus_forbidden(kind));
}

/* Kinds by model, by version, and by the kernel's driver; a CPU that is too different. */
START_TEST(kinds)
{
	const struct vperfctr_info *info = &perfctr_cpu_info;
	struct thread t = { 0 };
	unsigned int cpu, kind;

	perf_name[0] = "big";
	perf_name[1] = "little";
	start_machine(4, 6, true);
	ck_assert_int_eq(driver->probe_kind(&perfctr_cpu_info), 0);
	perfctr_init_kinds(driver->probe_kind, driver->new_kind);
	learn(0);
	ck_assert_uint_eq(info->nrkinds, 1);
	ck_assert_str_eq(info->cpu_name, "Arm PMUv3p1, big");
	ck_assert_uint_eq(info->core_type, model.midr[0]);
	for (kind = 0; kind < 2; kind++)
		for (cpu = 0; cpu < 2; cpu++)
			ck_assert(is_counted(kind, cpu) == (kind == 0 && cpu == 0));

	/* The same model, but with other counters, and another driver. */
	model.nr = 3;
	model.events ^= 0x100;		/* instructions */
	learn(1);
	ck_assert_uint_eq(info->nrkinds, 2);
	info = perfctr_cpu_kind(1);
	ck_assert_str_eq(info->cpu_name, "Arm PMUv3p1, little");
	ck_assert_uint_eq(info->pmc_mask, 7);
	ck_assert_uint_eq(info->nrctrs, 4);
	ck_assert_uint_eq(info->arch_events & VPERFCTR_EVENT_INSTRUCTIONS, 0);
	ck_assert_uint_eq(info->features, perfctr_cpu_info.features);
	ck_assert(is_counted(1, 1) && !is_counted(0, 1) && !is_counted(1, 0));

	/* Each kind has counters and events of its own. */
	add_counter(&t, 2, P | INSNS, 0);
	ck_assert_int_eq(check_thread_control(&t), 0);
	t.control.kind = 1;
	ck_assert_int_eq(check_thread_control(&t), -EINVAL);
	t.control.ctr[0].evntsel = P | 0x11;
	ck_assert_int_eq(check_thread_control(&t), 0);
	t.control.ctr[0].map = 3;
	ck_assert_int_eq(check_thread_control(&t), -EINVAL);
	t.control.kind = 0;
	ck_assert_int_eq(check_thread_control(&t), 0);
	t.control.kind = 2;
	ck_assert_int_eq(check_thread_control(&t), -EINVAL);

	/* It accesses only the counters that it has: the model fails otherwise. */
	fake_cpu = 1;
	driver->cpu_start(false);
	driver->cpu_stop();

	/* The same kind, but with other events. */
	model.events ^= 0x100;
	perf_name[2] = "little";
	learn(2);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 2);
	ck_assert(!is_counted(1, 2));
	/* Counters of another width. */
	model.version = 6;
	perf_name[2] = "other";
	learn(2);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 2);
	/* Another version. */
	model.version = 5;
	learn(2);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 3);
	ck_assert_str_eq(perfctr_cpu_kind(2)->cpu_name, "Arm PMUv3p4, other");
}
END_TEST

START_TEST(check_control)
{
	static const struct {
		u32 map;
		u64 evntsel;
		int err;
	} tried[] = {
		{ 0, P | INSNS, 0 }, { 5, U | 0x11, 0 }, { 3, P, 0 }, { 3, P | 0xc0, 0 },
		{ 3, P | 0x4004, 0 }, { 3, P | 0xffff, 0 }, { CYCLES, 0, 0 }, { CYCLES, P, 0 },
		{ 6, P | INSNS, -EINVAL }, { 31, P | INSNS, -EINVAL }, { 64, P, -EINVAL },
		{ CYCLES | 1, P, -EINVAL }, { CYCLES | 31, P, -EINVAL }, { 0xffffffff, P, -EINVAL },
		{ 0, P | U | INSNS, -EINVAL }, { CYCLES, P | U, -EINVAL },
		{ 0, P | 0x1e, -EINVAL },	/* CHAIN */
		{ 0, P | 0x09, -EINVAL }, { 0, P | 0x4000, -EINVAL },	/* absent events */
		{ 0, P | INSNS | 1 << 27, -EINVAL }, { 0, P | INSNS | 1ULL << 32, -EINVAL },
		{ CYCLES, P | 0x11, -EINVAL },
	};
	unsigned int i;

	start_machine(4, 6, true);
	for (i = 0; i < ARRAY_SIZE(tried); i++) {
		struct thread t = { 0 };

		add_counter(&t, tried[i].map, tried[i].evntsel, 0);
		ck_assert_msg(check_thread_control(&t) == tried[i].err, "case %u", i);
		/* a control that uses the same counter twice is refused */
		add_counter(&t, tried[i].map, tried[i].evntsel, 0);
		ck_assert_int_eq(check_thread_control(&t), -EINVAL);
	}
}
END_TEST

START_TEST(kernel_mode)
{
	static const u64 evntsels[] = { P | INSNS, U | INSNS, INSNS };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(evntsels); i++) {
		struct thread t = { 0 };

		start_machine(4, 6, true);
		model.vhe = _i;
		ck_assert_int_eq(driver->probe(), 0);
		add_counter(&t, 2, evntsels[i], 0);
		set_control(&t);
		ck_assert_int_eq(t.control.kernel, i != 0);
		perfctr_cpu_resume(&t.state);
		model_run(&(struct work) { false, 100, 300 });
		model_run(&(struct work) { true, 7, 30 });
		perfctr_cpu_suspend(&t.state);
		ck_assert_uint_eq(sum(&t, 0), i == 0 ? 100 : i == 1 ? 7 : 107);
	}
}
END_TEST

/*
 * The process on one CPU loses its permission.  Only a CPU that runs a thread with it is
 * named, and no other process loses it.
 */
START_TEST(permission_withdrawn)
{
	struct thread t = { 0 };

	start_machine(4, 6, true);
	add_counter(&t, 0, P | INSNS, 0);
	set_control(&t);
	may_read = true;
	ck_assert_ptr_null(driver->own_cpu(0)->reader);
	perfctr_cpu_resume(&t.state);
	ck_assert_ptr_eq(driver->own_cpu(0)->reader, &the_mm);
	ck_assert_ptr_null(driver->own_cpu(1)->reader);
	close_user(&other_mm);
	ck_assert_uint_ne(model.cpu[0].user, 0);
	close_user(&the_mm);
	ck_assert_uint_eq(model.cpu[0].user, 0);
	ck_assert_ptr_null(driver->own_cpu(0)->reader);
	model_run(&(struct work) { false, 100, 300 });
	perfctr_cpu_suspend(&t.state);
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { false, 100, 300 });
	perfctr_cpu_suspend(&t.state);
	ck_assert_ptr_null(driver->own_cpu(0)->reader);
	may_read = false;
	perfctr_cpu_resume(&t.state);
	ck_assert_ptr_null(driver->own_cpu(0)->reader);
	model_run(&(struct work) { false, 100, 300 });
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(sum(&t, 0), 300);
}
END_TEST

/* A claim, a release and an interrupt find a vCPU loaded, and leave its registers alone. */
START_TEST(vcpu_is_loaded)
{
	struct thread t = { 0 };

	model_init(4, 6);
	model.vhe = true;
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	ck_assert_int_eq(driver->probe(), 0);
	ck_assert_int_eq(perfctr_driver_init(&driver->ops), 0);
	model.cpu[0].user = 0;
	model_load_vcpu();
	driver->cpu_start(false);
	driver->cpu_stop();
	driver->cpu_start(false);
	add_counter(&t, 0, P | INSNS, 0);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	perfctr_cpu_suspend(&t.state);
	driver->cpu_stop();
	ck_assert_uint_eq(model.cpu[0].user, 0xf);
	model_put_vcpu();
	ck_assert_uint_eq(model.cpu[0].user, 0);
}
END_TEST

static bool page_allows_reads(const struct thread *t)
{
	return ((const struct vperfctr_page *)t->room)->cstatus & VPERFCTR_CSTATUS_RDPMC;
}

/*
 * The thread that runs a vCPU reads its own counters.  KVM puts the vCPU before our suspend,
 * and loads it before our resume.  Whenever the thread is in user mode, it can read if the page
 * says so, and no other thread can.
 */
START_TEST(vcpu_of_reader)
{
	struct thread t = { 0 };

	start_machine(4, 6, true);
	model_init(4, 6);
	model.vhe = true;
	ck_assert_int_eq(driver->probe(), 0);
	driver->cpu_start(false);
	add_counter(&t, 0, P | INSNS, 0);
	set_control(&t);
	may_read = true;
	perfctr_cpu_resume(&t.state);
	ck_assert(page_allows_reads(&t));
	model_load_vcpu();
	if (_i & 1) {		/* it is switched out, and in again */
		model_put_vcpu();
		perfctr_cpu_suspend(&t.state);
		ck_assert_uint_eq(model.cpu[0].user, 0);
		model_load_vcpu();
		perfctr_cpu_resume(&t.state);
	}
	if (_i & 2)		/* another thread unmaps the page */
		close_user(&the_mm);
	model_put_vcpu();
	if (!(_i & 2))
		ck_assert_int_eq(!!model.cpu[0].user, page_allows_reads(&t));
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(model.cpu[0].user, 0);
	ck_assert_ptr_null(driver->own_cpu(0)->reader);
	may_read = _i & 4;
	perfctr_cpu_resume(&t.state);
	ck_assert_int_eq(!!model.cpu[0].user, may_read);
	ck_assert_int_eq(page_allows_reads(&t), may_read);
	perfctr_cpu_suspend(&t.state);
	may_read = false;
}
END_TEST

static void check_hidden(void)
{
	unsigned int i;

	ck_assert(perfctr_hides);
	for (i = 0; i < MODEL_CTRS; i++)
		ck_assert_uint_eq(model.cpu[0].counter[i], 0);
}

/*
 * The state of a reader ends while its vCPU is loaded.  KVM restores the register that was open,
 * and the thread is never suspended.  Until that is closed it finds no counts.
 */
START_TEST(vcpu_of_ended_reader)
{
	struct thread reader = { 0 }, t = { 0 };
	unsigned int i;

	start_machine(4, 6, true);
	model_init(4, 6);
	model.vhe = true;
	ck_assert_int_eq(driver->probe(), 0);
	driver->cpu_start(false);
	is_claimed = true;
	others_may = true;
	add_counter(&reader, 0, P | INSNS, 0);
	set_control(&reader);
	add_counter(&t, 1, P | INSNS, 0);
	set_control(&t);
	may_read = true;
	perfctr_cpu_resume(&reader.state);
	model_run(&(struct work) { false, 50, 50 });
	model_load_vcpu();
	if (_i & 1)
		close_user(&the_mm);	/* the page is unmapped before */
	perfctr_hides = true;	/* it was, by the reader's page */
	perfctr_cpu_suspend(&reader.state);
	may_read = false;
	check_hidden();
	ck_assert_uint_gt(nr_left_open, 0);
	ck_assert(perfctr_arch.user_reads());
	if (_i & 2) {		/* the counters are released and reserved again */
		driver->cpu_stop();
		driver->cpu_start(false);
		ck_assert(perfctr_arch.user_reads());
	}
	ck_assert(!perfctr_arm64_close_left());
	if (_i & 4)
		model_put_vcpu();
	for (i = 0; i < 2; i++) {
		perfctr_cpu_resume(&t.state);
		ck_assert_int_eq(perfctr_arch.user_reads(), !i && !(_i & 4));
		model_run(&(struct work) { false, 100, 300 });
		if (!i && !(_i & 4))
			model_put_vcpu();
		perfctr_cpu_suspend(&t.state);
		check_hidden();
		ck_assert_int_eq(model.cpu[0].user == 0, i || (_i & 4));
		if (!i && (_i & 8)) {	/* the worker, on a CPU that others may have by now */
			ck_assert(perfctr_arm64_close_left());
			ck_assert_uint_eq(model.cpu[0].user, 0);
		}
	}
	ck_assert_uint_eq(sum(&t, 0), 200);
	ck_assert_int_eq(driver->own_cpu(0)->ready, PERFCTR_READY);
}
END_TEST

/* Threads with different controls run on two CPUs in random order. */
START_TEST(context_switches)
{
	struct thread t[3] = { 0 };
	u64 insns[3] = { 0 }, cycles[3] = { 0 };
	unsigned int i, n, round;

	start_machine(_i & 1 ? 6 : 4, 6, !(_i & 2));
	may_read = true;
	add_counter(&t[0], 0, P | INSNS, 0);
	add_counter(&t[0], CYCLES, P, 0);
	add_counter(&t[1], 1, P | INSNS, 0);
	add_counter(&t[1], 0, P | 0x11, 0);
	add_counter(&t[2], 0, P | INSNS, 0);
	add_counter(&t[2], 5, P | 0x11, 0);
	for (i = 0; i < 3; i++)
		set_control(&t[i]);
	for (round = 0; round < 3000; round++) {
		fake_cpu = rand() % 2;
		i = rand() % 3;
		perfctr_cpu_resume(&t[i].state);
		ck_assert_uint_ne(model.cpu[fake_cpu].user, 0);
		for (n = rand() % 3; n--;) {
			struct work work = { false, rand() % 1000, rand() % 5000 };

			model_run(&work);
			insns[i] += work.instructions;
			cycles[i] += work.cycles;
			if (rand() % 2)
				perfctr_cpu_sample(&t[i].state);
		}
		model_run(&(struct work) { true, 13, 17 });
		perfctr_cpu_suspend(&t[i].state);
		ck_assert_uint_eq(sum(&t[i], 0), insns[i]);
		ck_assert_uint_eq(sum(&t[i], 1), cycles[i]);
		ck_assert_uint_eq(model.cpu[fake_cpu].user, 0);
		if (perfctr_isolate)
			check_clean();
		/* execution of threads without a state is not counted */
		model_run(&(struct work) { false, rand() % 1000, rand() % 1000 });
	}
}
END_TEST

/* Resuming the loaded control takes few writes, and none while no process can look. */
START_TEST(register_writes)
{
	struct thread t = { 0 };

	start_machine(4, 6, _i != 1);
	if (_i == 2)
		perfctr_hides = false;
	add_counter(&t, 0, P | INSNS, 0);
	add_counter(&t, 1, P | 0x11, 0);
	add_counter(&t, CYCLES, P, 0);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { false, 0, 0 });
	perfctr_cpu_suspend(&t.state);
	model_clear_statistics();
	perfctr_cpu_resume(&t.state);
	ck_assert_uint_eq(model.cpu[0].writes, _i ? 0 : 1);
	ck_assert_uint_eq(model.cpu[0].counter_reads, _i ? 3 : 0);
	model_run(&(struct work) { false, 1, 1 });
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(model.cpu[0].writes, _i ? 0 : 3);
	ck_assert_uint_eq(model.cpu[0].type_writes + model.cpu[0].counter_writes, 0);
	ck_assert_uint_eq(sum(&t, 0), 1);
}
END_TEST

START_TEST(wraparound)
{
	struct thread t = { 0 };
	unsigned int i;

	start_machine(_i ? 6 : 4, 6, true);
	add_counter(&t, 0, P | INSNS, 0);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	for (i = 0; i < 10; i++) {
		model_run(&(struct work) { false, 0xf0000000, 0 });
		perfctr_cpu_sample(&t.state);
	}
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(sum(&t, 0), 10 * 0xf0000000ULL);
}
END_TEST

START_TEST(overflow)
{
	struct pt_regs regs = { .user = true };
	struct thread t = { 0 };
	u64 total = 0;
	unsigned int i;

	start_machine(_i ? 6 : 4, 6, true);
	add_counter(&t, 1, P | 0x11, 0);
	add_counter(&t, 0, P | INSNS, 1000);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	for (i = 0; i < 50; i++) {
		model_run(&(struct work) { false, 999, 10 });
		ck_assert(!model_interrupt());
		/* a switch to another CPU and back changes nothing */
		perfctr_cpu_suspend(&t.state);
		ck_assert_uint_eq(perfctr_cpu_identify_overflow(&t.state, 0).ctrs, 0);
		fake_cpu = i & 1;
		perfctr_cpu_resume(&t.state);
		ck_assert(!model_interrupt());
		model_run(&(struct work) { false, 1 + i, 10 });
		ck_assert(model_interrupt());
		overflowed = NULL;
		ck_assert(driver->interrupt(&regs));
		ck_assert_ptr_eq(overflowed, &t.state);
		/* the counters are stopped, and the overflow is reported once */
		ck_assert(!model_interrupt());
		model_run(&(struct work) { false, 5000, 5000 });
		overflowed = NULL;
		driver->interrupt(&regs);
		ck_assert_ptr_eq(overflowed, NULL);
		perfctr_cpu_suspend(&t.state);
		total += 1000 + i;
		ck_assert_uint_eq(sum(&t, 1), total);
		ck_assert_uint_eq(sum(&t, 0), 20 * (i + 1));
		ck_assert_uint_eq(perfctr_cpu_identify_overflow(&t.state, 0).ctrs, 2);
		perfctr_cpu_resume(&t.state);
	}
}
END_TEST

/* A resume reports an overflow that was not taken before the suspend. */
START_TEST(overflow_before_a_switch)
{
	struct thread t = { 0 };

	start_machine(4, 6, true);
	add_counter(&t, CYCLES, P, 1000);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { false, 1, 1500 });
	ck_assert(model_interrupt());
	perfctr_cpu_suspend(&t.state);
	ck_assert(!model_interrupt());
	check_clean();
	fake_cpu = 1;
	overflowed = NULL;
	perfctr_cpu_resume(&t.state);
	ck_assert_ptr_eq(overflowed, &t.state);
	ck_assert_uint_eq(model.cpu[1].enabled, 0);
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(sum(&t, 0), 1500);
}
END_TEST

/*
 * An interrupt that comes by way of a shared controller (SPI) may arrive after a switch has
 * handled its overflow: while no state runs, one without an interrupt, or one with one.
 */
START_TEST(late_interrupt)
{
	struct thread t = { 0 }, other = { 0 };
	struct pt_regs regs = { .user = true };

	start_machine(4, 6, true);
	add_counter(&t, 0, P | INSNS, 1000);
	set_control(&t);
	add_counter(&other, 0, P | INSNS, _i == 2 ? 100 : 0);
	set_control(&other);
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { false, 1000, 10 });
	ck_assert(model_interrupt());
	perfctr_cpu_suspend(&t.state);
	if (_i) {
		perfctr_cpu_resume(&other.state);
		model_run(&(struct work) { false, 50, 10 });
	}
	ck_assert(!model_interrupt());
	overflowed = NULL;
	driver->interrupt(&regs);
	ck_assert_ptr_eq(overflowed, NULL);
	if (_i) {
		model_run(&(struct work) { false, 50, 10 });
		ck_assert_int_eq(model_interrupt(), _i == 2);
		if (_i == 2)
			ck_assert(driver->interrupt(&regs));
		ck_assert_ptr_eq(overflowed, _i == 2 ? &other.state : NULL);
		perfctr_cpu_suspend(&other.state);
		ck_assert_uint_eq(sum(&other, 0), 100);
	}
	ck_assert_uint_eq(sum(&t, 0), 1000);
}
END_TEST

static int accesses;			/* to the one before which a counter overflows; then -1 */

static void overflow_inside(void)
{
	if (accesses >= 0 && !accesses--)
		model_run(&(struct work) { true, 20, 20 });
}

/* A counter of the kernel overflows while the handler looks: it is found, or interrupts again. */
START_TEST(overflow_in_late_interrupt)
{
	struct pt_regs regs = { .user = false };
	struct thread t = { 0 };

	start_machine(4, 6, true);
	add_counter(&t, 0, INSNS, 1000);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { true, 990, 10 });
	overflowed = NULL;
	accesses = _i;
	model.on_access = overflow_inside;
	driver->interrupt(&regs);
	model.on_access = NULL;
	ck_assert_int_eq(accesses, -1);
	ck_assert_msg(overflowed || model_interrupt(), "the overflow before access %d is lost", _i);
	perfctr_cpu_suspend(&t.state);
}
END_TEST

/* perf gets back the state it had, and no trace of our counts. */
START_TEST(release)
{
	struct thread t = { 0 };

	start_machine(6, 6, !_i);
	add_counter(&t, 0, P | INSNS, 0);
	add_counter(&t, CYCLES, P, 77);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { false, 1, 1500 });
	perfctr_cpu_suspend(&t.state);
	driver->cpu_stop();
	check_clean();
	ck_assert_uint_eq(model.cpu[0].pmcr, 0x41);
	ck_assert_uint_eq(model.cpu[0].intr | model.cpu[0].overflow, 0);
}
END_TEST

/* The first counters that run on a CPU claim it.  If that fails, they do not run. */
START_TEST(claim_at_first_resume)
{
	struct thread t = { 0 }, tsc = { 0 };
	const struct vperfctr_page *page = (void *)t.room;

	start_machine(4, 6, _i & 1);
	add_counter(&t, 0, P | INSNS, 0);
	add_counter(&t, 1, P | INSNS, _i & 2 ? 1000 : 0);
	set_control(&t);
	set_control(&tsc);
	if (_i & 4)
		driver->cpu_stop();
	else
		driver->own_cpu(0)->ready = 0;
	model.cpu[0].enabled = 0x10;	/* perf's */
	model_clear_statistics();

	perfctr_cpu_resume(&tsc.state);
	perfctr_cpu_suspend(&tsc.state);
	ck_assert_uint_eq(claims, 0);

	claim_error = -EBUSY;
	perfctr_cpu_resume(&t.state);
	ck_assert_ptr_eq(refused, &t.state);
	ck_assert_uint_eq(claims, 1);
	ck_assert_uint_eq(page->cstatus & VPERFCTR_CSTATUS_RUNNING, 0);
	ck_assert_uint_eq(model.cpu[0].writes, 0);
	ck_assert_uint_eq(model.cpu[0].enabled, 0x10);

	/* The next resume tries again. */
	claim_error = 0;
	refused = NULL;
	perfctr_cpu_resume(&t.state);
	ck_assert_ptr_null(refused);
	ck_assert_uint_eq(claims, 2);
	ck_assert_uint_eq(model.cpu[0].enabled, 3);
	model_run(&(struct work) { false, 123, 1500 });
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(sum(&t, 0), 123);
	perfctr_cpu_resume(&t.state);
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(claims, 2);
}
END_TEST

#define KEPT_CYCLES	(1ULL << 31)

/* The registers of perf's counters, which are event counter 0 and that of cycles. */
static void check_perfs(u64 count)
{
	const struct model_cpu *c = &model.cpu[fake_cpu];

	ck_assert_uint_eq(c->pmcr & 1, 1);
	ck_assert_uint_eq(c->enabled & (KEPT_CYCLES | 1), KEPT_CYCLES | 1);
	ck_assert_uint_eq(c->intr & (KEPT_CYCLES | 1), KEPT_CYCLES | 1);
	ck_assert_uint_eq(c->overflow & (KEPT_CYCLES | 1), 1);
	ck_assert_uint_eq(c->counter[0], count);
	ck_assert_uint_eq(c->counter[31], count);
	ck_assert_uint_eq(c->type[0], 0x11);
	ck_assert_uint_eq(c->type[31], 0);
}

/*
 * perf counts before, while and after a thread does.  With _i & 1 it comes after the claim.  No count
 * of either is lost, and no register of perf's changes.
 */
START_TEST(shared)
{
	struct thread t = { 0 };
	struct model_cpu *c = &model.cpu[0];
	u64 perfs = 0;
	unsigned int i;

	kept = KEPT_CYCLES | 1;
	start_machine(4, 6, true);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 0x3e);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 5);
	ck_assert(!(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC));
	add_counter(&t, CYCLES, P, 0);
	ck_assert_int_eq(check_thread_control(&t), -EINVAL);
	t.control.nractrs = 0;
	add_counter(&t, 0, P | INSNS, 0);
	ck_assert_int_eq(check_thread_control(&t), -EINVAL);
	t.control.nractrs = 0;
	add_counter(&t, 1, P | INSNS, 0);
	add_counter(&t, 5, P | INSNS, _i & 2 ? 1000 : 0);
	set_control(&t);
	driver->cpu_stop();
	if (_i & 1) {
		c->pmcr = 0x40;
		driver->cpu_start(false);
		perfctr_arm64_perf_comes();
	}
	busy = 1;
	c->pmcr |= 1;
	c->enabled |= kept;
	c->intr |= kept;
	c->overflow = 1;
	c->type[0] = 0x11;
	c->type[31] = 0;
	c->counter[0] = c->counter[31] = 0;
	if (!(_i & 1))
		driver->cpu_start(false);
	for (i = 0; i < 10; i++) {
		perfctr_cpu_resume(&t.state);
		model_run(&(struct work) { false, 7, 11 });
		perfctr_cpu_suspend(&t.state);
		ck_assert_uint_eq(c->counter[1] | c->counter[5], 0);
		model_run(&(struct work) { true, 3, 5 });
		perfs += 16;
		ck_assert_uint_eq(sum(&t, 0), 7 * (i + 1));
		ck_assert_uint_eq(sum(&t, 1), 7 * (i + 1));
		check_perfs(perfs);
	}
	driver->cpu_forget();
	check_perfs(perfs);
	if (_i & 4) {
		/* perf has gone: one write clears all. */
		busy = 0;
		c->enabled &= ~kept;
		perfctr_cpu_resume(&t.state);
		model_run(&(struct work) { false, 7, 11 });
		perfctr_cpu_suspend(&t.state);
		model_clear_statistics();
		perfctr_cpu_resume(&t.state);
		model_run(&(struct work) { false, 7, 11 });
		perfctr_cpu_suspend(&t.state);
		ck_assert_uint_eq(c->counter_writes, _i & 2 ? 1 : 0);
		return;
	}
	driver->cpu_stop();
	check_perfs(perfs);
	ck_assert_uint_eq(c->enabled & 0x3e, 0);
}
END_TEST

/*
 * perf keeps the cycle counter only, for the NMI watchdog or (1) by the parameter, which stays closed
 * to user mode, unless (2) there is no isolation.  It counts on as one write clears all others.
 */
START_TEST(cycles_kept)
{
	struct thread t = { 0 };
	struct model_cpu *c = &model.cpu[0];
	const bool isolate = !(_i & 2);
	u64 perfs = 0;
	unsigned int i;

	kept = KEPT_CYCLES;
	keeps_watchdog = !(_i & 1);
	start_machine(4, 6, isolate);
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 0x3f);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 0);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 6);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_pmc, 0);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_fixed, keeps_watchdog);
	ck_assert(perfctr_cpu_info.features & VPERFCTR_FEATURE_RDPMC);
	ck_assert(perfctr_perf_keeps == !keeps_watchdog);
	add_counter(&t, CYCLES, P, 0);
	ck_assert_int_eq(check_thread_control(&t), -EINVAL);
	t.control.nractrs = 0;
	add_counter(&t, 0, P | INSNS, 0);
	add_counter(&t, 5, P | INSNS, 0);
	set_control(&t);
	perfctr_arm64_perf_comes();
	busy = 1;
	c->enabled |= kept;
	c->type[31] = 0;
	c->counter[31] = 0;
	may_read = true;
	for (i = 1; i < 10; i++) {
		perfctr_cpu_resume(&t.state);
		/* ER and SW, and CR. */
		ck_assert_uint_eq(c->user, isolate ? 0xa : 0xe);
		model_run(&(struct work) { false, 7, 11 });
		model_clear_statistics();
		perfctr_cpu_suspend(&t.state);
		ck_assert_uint_eq(c->user, 0);
		ck_assert_uint_eq(c->counter_writes, 0);
		ck_assert_uint_eq(c->counter[0] | c->counter[5], isolate ? 0 : c->counter[0]);
		model_run(&(struct work) { true, 3, 5 });
		perfs += 16;
		ck_assert_uint_eq(sum(&t, 0), 7 * i);
		ck_assert_uint_eq(sum(&t, 1), 7 * i);
		ck_assert_uint_eq(c->counter[31], perfs);
		ck_assert_uint_eq(c->enabled & kept, kept);
	}
	driver->cpu_stop();
	ck_assert_uint_eq(c->enabled, kept);
	ck_assert_uint_eq(c->counter[31], perfs);
}
END_TEST

/*
 * perf keeps the cycle counter of one of two kinds: (1) not of the first.  The counter is closed to
 * user mode on the CPUs of that kind only, and (2) nowhere without isolation.  If the first kind
 * has none for threads, the other has none either.
 */
START_TEST(cycles_kept_on_a_kind)
{
	const bool isolate = !(_i & 2);
	unsigned int cpu, i;

	kept = KEPT_CYCLES;
	keeping = _i & 1 ? 2 : 1;
	keeps_watchdog = true;
	perf_name[0] = "big";
	perf_name[1] = "little";
	start_machine(4, 6, isolate);
	ck_assert_int_eq(driver->probe_kind(&perfctr_cpu_info), 0);
	perfctr_init_kinds(driver->probe_kind, driver->new_kind);
	learn(0);
	learn(1);
	ck_assert_uint_eq(perfctr_cpu_info.nrkinds, 2);
	may_read = true;
	for (cpu = 0; cpu < 2; cpu++) {
		const struct vperfctr_info *info = perfctr_cpu_kind(cpu);
		const bool keeps = keeping >> cpu & 1, has_cycles = !keeps && (_i & 1);
		struct model_cpu *c = &model.cpu[cpu];
		struct thread t = { 0 };

		fake_cpu = cpu;
		ck_assert_uint_eq(info->fixed_mask, has_cycles);
		ck_assert_uint_eq(info->fixed_width, has_cycles ? 64 : 0);
		ck_assert_uint_eq(info->watchdog_fixed, keeps);
		ck_assert(info->features & VPERFCTR_FEATURE_RDPMC);
		t.control.kind = cpu;
		add_counter(&t, CYCLES, P, 0);
		ck_assert_int_eq(check_thread_control(&t), has_cycles ? 0 : -EINVAL);
		if (!has_cycles) {
			t.control.nractrs = 0;
			add_counter(&t, 5, P | 0x11, 0);
		}
		set_control(&t);
		driver->cpu_start(false);
		for (i = 1; i < 3; i++) {
			perfctr_cpu_resume(&t.state);
			/* ER and SW, and CR. */
			ck_assert_uint_eq(c->user, keeps && isolate ? 0xa : 0xe);
			model_run(&(struct work) { false, 7, 11 });
			perfctr_cpu_suspend(&t.state);
			ck_assert_uint_eq(sum(&t, 0), 11 * i);
			ck_assert_uint_eq(c->user, 0);
		}
	}
}
END_TEST

/* From this version on perf keeps nothing, so the watchdog has no counter that INFO could name. */
START_TEST(watchdog_of_v3p9)
{
	kept = KEPT_CYCLES;
	keeps_watchdog = true;
	model_init(9, 6);
	memset(&perfctr_cpu_info, 0, sizeof(perfctr_cpu_info));
	ck_assert_int_eq(driver->probe(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_pmc, 0);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_fixed, 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask, 1);
	ck_assert(!perfctr_perf_keeps);
}
END_TEST

/* A deep sleep loses the registers, so resume loads the control again. */
START_TEST(deep_sleep)
{
	struct thread t = { 0 };

	start_machine(4, 6, true);
	add_counter(&t, 0, P | INSNS, 0);
	set_control(&t);
	perfctr_cpu_resume(&t.state);
	perfctr_cpu_suspend(&t.state);
	memset(&model.cpu[0], 0, sizeof(model.cpu[0]));
	driver->cpu_forget();
	perfctr_cpu_resume(&t.state);
	model_run(&(struct work) { false, 123, 1500 });
	perfctr_cpu_suspend(&t.state);
	ck_assert_uint_eq(sum(&t, 0), 123);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pmuv3");
	TCase *tc = tcase_create("pmuv3");
	SRunner *runner = srunner_create(suite);
	const char *seed = getenv("SEED");
	int failed;

	printf("SEED=%s\n", seed ?: "1");
	srand(seed ? atoi(seed) : 1);
	suite_add_tcase(suite, tc);
	tcase_add_loop_test(tc, sampled_before_a_wrap, 0, 2);
	tcase_add_test(tc, registers_of_zero);
	tcase_add_loop_test(tc, cycles_while_waiting, 0, 3);
	tcase_add_test(tc, probe);
	tcase_add_test(tc, generic_events);
	tcase_add_test(tc, is_alike);
	tcase_add_test(tc, kinds);
	tcase_add_test(tc, check_control);
	tcase_add_loop_test(tc, kernel_mode, 0, 2);
	tcase_add_test(tc, permission_withdrawn);
	tcase_add_test(tc, vcpu_is_loaded);
	tcase_add_loop_test(tc, vcpu_of_reader, 0, 8);
	tcase_add_loop_test(tc, vcpu_of_ended_reader, 0, 16);
	tcase_add_loop_test(tc, context_switches, 0, 4);
	tcase_add_loop_test(tc, register_writes, 0, 3);
	tcase_add_loop_test(tc, wraparound, 0, 2);
	tcase_add_loop_test(tc, overflow, 0, 2);
	tcase_add_test(tc, overflow_before_a_switch);
	tcase_add_loop_test(tc, late_interrupt, 0, 3);
	tcase_add_loop_test(tc, overflow_in_late_interrupt, 0, 3);
	tcase_add_loop_test(tc, release, 0, 2);
	tcase_add_loop_test(tc, claim_at_first_resume, 0, 8);
	tcase_add_test(tc, deep_sleep);
	tcase_add_loop_test(tc, shared, 0, 8);
	tcase_add_loop_test(tc, cycles_kept, 0, 4);
	tcase_add_loop_test(tc, cycles_kept_on_a_kind, 0, 4);
	tcase_add_test(tc, watchdog_of_v3p9);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
