// SPDX-License-Identifier: GPL-2.0
/* Reserving and releasing the hardware, and CPUs that lose their registers. */
#include "random.h"
#include "tests.h"
#include "thread.h"
#include "x86.h"

static struct model_config config;
static const struct work work = { .instructions = 1000, .cycles = 3000 };

/* perf leaves these as its last event on each counter had them. */
static void fill_cfgs(struct model_cpu *c)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(c->cfg_b); i++) {
		u32 map = i < MODEL_MAX_PMCS ? i : VPERFCTR_FIXED | (i - MODEL_MAX_PMCS);

		if (config.version < 6 || !model_counter(c, map) ||
		    config.no_cfg & BIT(map & ~VPERFCTR_FIXED))
			continue;
		c->cfg_b[i] = random_u64() & model_valid_bits(REG_CFG_B);
		c->cfg_c[i] = random_u64() & model_valid_bits(REG_CFG_C);
	}
}

static void check_cfgs(const struct model_cpu *cpu, const struct model_cpu *expected)
{
	ck_assert_mem_eq(cpu->cfg_b, expected->cfg_b, sizeof(cpu->cfg_b));
	ck_assert_mem_eq(cpu->cfg_c, expected->cfg_c, sizeof(cpu->cfg_c));
}

/* Fill the registers with random valid values, as perf may leave them. */
static void fill_registers(unsigned int cpu)
{
	struct model_cpu *c = &model.cpu[cpu];
	unsigned int i;

	for (i = 0; i < MODEL_MAX_PMCS; i++) {
		if (!model_counter(c, i))
			continue;
		c->evntsel[i] = random_u64() & model_valid_bits(REG_EVNTSEL);
		c->pmc[i] = random_u64() & model_mask(0);
	}
	for (i = 0; i < MODEL_MAX_FIXED; i++) {
		if (model_counter(c, VPERFCTR_FIXED | i))
			c->fixed[i] = random_u64() & model_mask(VPERFCTR_FIXED);
	}
	c->fixed_ctrl = random_u64() & model_valid_bits(REG_FIXED_CTRL);
	if (config.version >= 2) {
		c->global_ctrl = random_u64() & model_valid_bits(REG_GLOBAL_CTRL);
		c->overflow = random_u64() & model_valid_bits(REG_OVF_CTRL);
		c->debugctl = random_u64() & model_valid_bits(REG_DEBUGCTL);
		c->pebs_enable = random_u64() & model_valid_bits(REG_PEBS_ENABLE);
		c->metrics = model_has_metrics() ? random_u64() : 0;
	}
	fill_cfgs(c);
}

/* No counter is enabled, and all registers are 0. */
static void check_clear(unsigned int cpu)
{
	const struct model_cpu *c = &model.cpu[cpu];
	static const u64 zeroes[MODEL_ALL_PMCS];

	ck_assert_uint_eq(model_counting(c), 0);
	ck_assert_uint_eq(c->global_ctrl, 0);
	ck_assert_uint_eq(c->fixed_ctrl, 0);
	ck_assert_uint_eq(c->overflow, 0);
	ck_assert_uint_eq(c->metrics, 0);
	ck_assert_mem_eq(c->evntsel, zeroes, sizeof(c->evntsel));
	ck_assert_mem_eq(c->pmc, zeroes, sizeof(c->pmc));
	ck_assert_mem_eq(c->fixed, zeroes, sizeof(c->fixed));
}

static void init(void)
{
	model_init(&config);
	ck_assert_int_eq(perfctr_cpu_init(), 0);
}

/* Make the thread use all counters that exist. */
static void use_all(struct thread *t)
{
	struct perfctr_cpu_control control;
	unsigned int i;

	control_init(&control);
	for (i = 0; i < 64; i++) {
		if (!(model_exists() & ~fake_perf.watchdog & BIT_ULL(i)))
			continue;
		if (i < 32)
			control_add(&control, i, USER(EV_INSTRUCTIONS) | SEL_OS);
		else
			control_add(&control, VPERFCTR_FIXED | (i - 32), FIX_USR);
	}
	thread_init(t);
	thread_control(t, &control, 0);
}

static void use_on(struct thread *t, unsigned int cpu)
{
	thread_in(t, cpu);
	thread_run(t, &work);
	thread_out(t);
	thread_check(t);
}

#define TAKEN_MACHINES	100

START_TEST(given_back_as_it_was)
{
	struct model_cpu before[NR_CPUS];
	struct thread t;
	unsigned int i, cpu;

	random_restart(__LINE__ + _i);
	for (i = 0; i < TAKEN_MACHINES; i++) {
		config = random_config(1 + _i);
		init();
		for (cpu = 0; cpu < NR_CPUS; cpu++)
			fill_registers(cpu);
		memcpy(before, model.cpu, sizeof(before));

		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
		use_all(&t);
		for (cpu = 0; cpu < NR_CPUS - 1; cpu++)
			use_on(&t, cpu);
		machine_prepare();
		check_clear(NR_CPUS - 1);

		perfctr_cpu_release();
		for (cpu = 0; cpu < NR_CPUS; cpu++) {
			const struct model_cpu *c = &model.cpu[cpu];

			ck_assert_uint_eq(c->global_ctrl, before[cpu].global_ctrl);
			ck_assert_uint_eq(c->fixed_ctrl, before[cpu].fixed_ctrl);
			ck_assert_uint_eq(c->debugctl, before[cpu].debugctl);
			check_cfgs(c, &before[cpu]);
			/* perf writes these before it counts, and has no use for ours. */
			ck_assert_uint_eq(model_counting(c) & 0xffffffff, 0);
			ck_assert_uint_eq(c->overflow, 0);
		}
		machine_exit();
	}
}
END_TEST

static void check_quiet(unsigned int cpu)
{
	const struct model_cpu *c = &model.cpu[cpu];
	static const u64 zeroes[MODEL_ALL_PMCS];

	ck_assert_mem_eq(c->evntsel, zeroes, sizeof(c->evntsel));
	ck_assert_uint_eq(c->fixed_ctrl, 0);
	ck_assert_uint_eq(c->overflow, 0);
	ck_assert_uint_eq(c->lvtpc, APIC_LVT_MASKED);
}

/*
 * Before a reboot, which may be that of kexec, all counters are disabled.  Threads may run
 * on, and keep their counts.
 */
START_TEST(quiet_before_reboot)
{
	struct perfctr_cpu_control control;
	unsigned int cpu, pmis[NR_CPUS];
	struct thread t[3];

	config = usual_config(1 + _i / 2);
	machine_start(&config, _i & 1);
	use_all(&t[0]);
	use_all(&t[1]);
	thread_init(&t[2]);
	control_init(&control);
	control_add_imode(&control, 1, USER(EV_INSTRUCTIONS), 1500);
	thread_control(&t[2], &control, 0);
	use_on(&t[1], 1);			/* its control stays loaded */
	for (cpu = 0; cpu < NR_CPUS; cpu += 2) {
		thread_in(&t[cpu], cpu);
		thread_run(&t[cpu], &work);
	}
	fake_cpu = 3;
	fake_reboot();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		check_quiet(cpu);
		pmis[cpu] = model.cpu[cpu].pmis;
		stranger_run(cpu, &(struct work) { .kernel = true, .instructions = 9999 });
	}
	for (cpu = 0; cpu < NR_CPUS; cpu += 2) {
		thread_out(&t[cpu]);
		thread_check(&t[cpu]);
		thread_refused(&t[cpu], cpu);
		thread_refused(&t[cpu], 1);
	}
	fake_cpu_down(1);
	fake_cpu_up(1);
	thread_refused(&t[1], 1);
	perfctr_cpu_release();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		check_quiet(cpu);
		ck_assert_uint_eq(model.cpu[cpu].pmis, pmis[cpu]);
	}
	machine_exit();
}
END_TEST

/* A counter that counts already is reported: each CPU that has one, once per start. */
START_TEST(in_use)
{
	unsigned int expected;

	config = usual_config(1 + _i);
	expected = config.version >= 2 ? 2 : 1;
	init();
	fake_warnings = 0;
	model.cpu[1].evntsel[2] = SEL_EN | SEL_OS | EV_CYCLES;
	model.cpu[2].evntsel[2] = SEL_OS | EV_CYCLES;
	if (config.version >= 2) {
		model.cpu[2].fixed_ctrl = (u64)FIX_PMI << 4;
		model.cpu[3].fixed_ctrl = (u64)(FIX_OS | FIX_USR) << 4;
	}
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	ck_assert_uint_eq(fake_warnings, expected);
	perfctr_cpu_release();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	/* The registers that perf caches have been restored. */
	ck_assert_uint_eq(fake_warnings, expected);
	perfctr_cpu_release();
	machine_exit();
}
END_TEST

/* Firmware has left PEBS on, and no other unit. */
START_TEST(records_by_firmware)
{
	struct thread t;

	config = usual_config(_i);
	machine_use_service();
	init();
	model.cpu[0].debugctl = 0;
	model.cpu[0].pebs_enable = 0xf;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	use_on(&t, 0);
	ck_assert_uint_eq(model.cpu[0].pebs_enable, 0);
	perfctr_cpu_release();
	machine_exit();
}
END_TEST

/* Firmware, or perf on old kernels, may let an overflow stop all counters. */
START_TEST(frozen_by_firmware)
{
	struct perfctr_cpu_control control;
	struct thread t;
	unsigned int i;

	config = usual_config(_i < 4 ? 2 + _i : 2);
	if (_i == 4) {
		config.amd = MODEL_AMD_V2;
		config.nr_pmcs = 6;
		config.nr_fixed = 0;
		config.signature = 0xa60f12;
	}
	config.freezes = true;
	machine_use_service();
	init();
	for (i = 0; i < NR_CPUS; i++) {
		model.cpu[i].debugctl |= DEBUGCTL_LBR;
		model.cpu[i].overflow = config.version >= 4 ? STATUS_CTR_FRZ | STATUS_LBR_FRZ |
				STATUS_DS | STATUS_TOPA : STATUS_COND;
		model.cpu[i].pebs_enable = 0xf;
		if (config.amd) {
			model.cpu[i].overflow = STATUS_CTR_FRZ | STATUS_LBR_FRZ;
			model.cpu[i].pebs_enable = 0;
		}
	}
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	thread_init(&t);
	control_init(&control);
	control_add(&control, 1, USER(EV_INSTRUCTIONS));
	control_add_imode(&control, 0, USER(EV_INSTRUCTIONS), 7);
	thread_control(&t, &control, 0);
	for (i = 0; i < 10; i++)
		use_on(&t, 0);
	ck_assert_uint_eq(model.cpu[0].debugctl, DEBUGCTL_LBR);
	ck_assert_uint_eq(model.cpu[0].overflow, config.version >= 4 ? STATUS_TOPA : 0);
	fake_suspend_to_ram();
	for (i = 0; i < 10; i++)
		use_on(&t, 0);
	perfctr_cpu_release();
	ck_assert_uint_eq(model.cpu[0].debugctl & DEBUGCTL_FREEZE, DEBUGCTL_FREEZE);
	machine_exit();
}
END_TEST

/*
 * perf leaves a counter's settings of PEBS and of reloading behind.  They must act on none of
 * our counters, and perf, which knows what it has written, must find them again.
 */
START_TEST(precise_events_before)
{
	struct model_cpu before[NR_CPUS];
	struct perfctr_cpu_control control;
	struct thread t;
	unsigned int i, cpu;

	random_restart(__LINE__ + _i);
	config = usual_config(6);
	config.no_cfg = _i & 1 ? BIT(1) | BIT(2) : 0;
	model.new_perf = true;
	machine_use_service();
	init();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		fill_cfgs(&model.cpu[cpu]);
		model.cpu[cpu].overflow = STATUS_ARCH_PEBS;
		model.cpu[cpu].cfg_c[0] = _i & 2 ? CFG_PEBS | (u32)-100 : (u32)-100;
		model.cpu[cpu].cfg_b[0] = _i & 2 ? 0 : GLOBAL_FIXED(0) | BIT(0);
	}
	memcpy(before, model.cpu, sizeof(before));
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	thread_init(&t);
	control_init(&control);
	control_add(&control, 3, USER(EV_INSTRUCTIONS));
	control_add_imode(&control, 0, USER(EV_INSTRUCTIONS), 7);
	control_add_imode(&control, VPERFCTR_FIXED | 0, FIX_USR, 5);
	thread_control(&t, &control, 0);
	for (i = 0; i < 10; i++)
		use_on(&t, i % 2);
	ck_assert_uint_eq(model.cpu[0].overflow, 0);
	perfctr_cpu_release();
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		check_cfgs(&model.cpu[cpu], &before[cpu]);

	/* After a sleep perf believes that this CPU's registers hold what they held before. */
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_on(&t, 0);
	fake_suspend_to_ram();
	for (i = 0; i < 10; i++)
		use_on(&t, i % 2);
	perfctr_cpu_release();
	check_cfgs(&model.cpu[0], &before[0]);
	machine_exit();
}
END_TEST

/*
 * perf leaves fixed counter 3 and PERF_METRICS as they are when the last event of slots stops, and
 * a crash of the kernel before also their status.  User mode must not read the one, and the
 * other must raise no interrupt.  perf gets both as it starts them: zero.
 */
START_TEST(metrics_before)
{
	struct perfctr_cpu_control control;
	struct thread t;
	unsigned int i, cpu;

	random_restart(__LINE__ + _i);
	config = usual_config(5 + _i % 2);
	config.nr_fixed = 4;
	config.fixed_mask = 0xf;
	config.metrics = true;
	config.level = _i / 2;
	model.new_perf = true;
	machine_use_service();
	init();
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		model.cpu[cpu].global_ctrl = STATUS_METRICS;
		model.cpu[cpu].metrics = random_u64() | 1;
		model.cpu[cpu].fixed[3] = random_u64() & model_mask(VPERFCTR_FIXED | 3);
		model.cpu[cpu].overflow = STATUS_METRICS | STATUS_TOPA;
	}
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	thread_init(&t);
	control_init(&control);
	control_add(&control, 1, USER(EV_INSTRUCTIONS));
	control_add(&control, VPERFCTR_FIXED | 3, FIX_USR);
	control_add_imode(&control, 0, USER(EV_INSTRUCTIONS), 7);
	thread_control(&t, &control, 0);
	for (i = 0; i < 10; i++) {
		use_on(&t, i % 2);
		ck_assert_uint_eq(model.cpu[i % 2].metrics, 0);
		ck_assert_uint_eq(model.cpu[i % 2].overflow, STATUS_TOPA);
	}
	perfctr_cpu_release();
	for (cpu = 0; cpu < 2; cpu++) {
		ck_assert_uint_eq(model.cpu[cpu].global_ctrl, STATUS_METRICS);
		ck_assert_uint_eq(model.cpu[cpu].fixed[3], 0);
		ck_assert_uint_eq(model.cpu[cpu].metrics, 0);
	}
	machine_exit();
}
END_TEST

/* A CPU is prepared when counters first run there.  Other CPUs are never touched. */
START_TEST(prepared_when_needed)
{
	static const struct work none;
	struct model_cpu before[NR_CPUS];
	struct perfctr_cpu_control control;
	struct thread t, tsc;
	unsigned int cpu, i;

	random_restart(__LINE__ + _i);
	config = usual_config(_i);
	perfctr_isolate = true;
	init();
	machine_use_service();
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		fill_registers(cpu);
	memcpy(before, model.cpu, sizeof(before));
	control_init(&control);
	thread_init(&tsc);
	thread_control(&tsc, &control, 0);
	memset(fake_interrupts, 0, sizeof(fake_interrupts));
	for (i = 0; i < 3; i++) {
		fake_cpu = 0;
		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
		ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), 0);
		ck_assert_int_eq(perfctr_cpu_prepare(), 0);
		check_clear(0);
		use_all(&t);
		use_on(&t, 0);
		/* The TSC needs no registers. */
		thread_in(&tsc, 3);
		thread_run(&tsc, &none);
		thread_out(&tsc);
		fake_cpu = 0;
		perfctr_cpu_release();
		ck_assert(!machine_is_prepared(0));
		/* The share that the caller had is gone: no error of the CPU. */
		ck_assert_int_eq(perfctr_cpu_prepare(), 0);
		ck_assert(!machine_is_prepared(0));
		model_clear_statistics();
	}
	for (cpu = 1; cpu < NR_CPUS; cpu++) {
		ck_assert_mem_eq(&before[cpu], &model.cpu[cpu], sizeof(before[cpu]));
		ck_assert_uint_eq(fake_interrupts[cpu], 0);
	}

	/* Only the CPU that a thread has moved to is interrupted, and given back. */
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_on(&t, 2);
	fake_cpu = 0;
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_interrupts[2], 1);
	ck_assert_uint_eq(fake_interrupts[1] + fake_interrupts[3], 0);
	ck_assert_uint_eq(model.cpu[2].global_ctrl, before[2].global_ctrl);
	ck_assert_uint_eq(model.cpu[2].fixed_ctrl, before[2].fixed_ctrl);
	ck_assert_uint_eq(model.cpu[2].lvtpc, before[2].lvtpc);
	machine_exit();
}
END_TEST

/* For kernels that do not clear what perf leaves: all CPUs, until the release. */
START_TEST(prepare_all)
{
	unsigned int cpu;

	config = usual_config(_i);
	init();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_cpu_down(3);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		fill_registers(cpu);
	fake_cpu = 0;
	perfctr_prepare_all();
	for (cpu = 0; cpu < 3; cpu++)
		check_clear(cpu);
	memset(fake_interrupts, 0, sizeof(fake_interrupts));
	perfctr_prepare_all();
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		ck_assert_uint_eq(fake_interrupts[cpu], 0);
	fake_cpu_up(3);
	check_clear(3);
	perfctr_cpu_release();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_cpu_down(3);
	fake_cpu_up(3);
	ck_assert(!machine_is_prepared(3));
	machine_stop();
}
END_TEST

/*
 * The self-test runs at the first use after a CPU came online, not at each: a defect
 * that appears later is not found.
 */
START_TEST(tested_once_per_online)
{
	struct thread t;

	config = usual_config(_i);
	init();
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	use_on(&t, 1);
	perfctr_cpu_release();
	model.config.dead = BIT_ULL(0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_cpu = 1;
	ck_assert_int_eq(perfctr_cpu_prepare(), 0);
	fake_warnings = 0;
	thread_refused(&t, 2);
	ck_assert_uint_eq(fake_warnings, 1);
	perfctr_cpu_release();
	/* Nor is a failure found twice, until the CPU comes online again. */
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	thread_refused(&t, 2);
	model.config.dead = 0;
	thread_refused(&t, 2);
	ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
	ck_assert_uint_eq(fake_warnings, 1);
	fake_cpu_down(2);
	fake_cpu_up(2);
	use_on(&t, 2);
	model.config.dead = BIT_ULL(0);
	fake_cpu_down(2);
	fake_cpu_up(2);
	thread_refused(&t, 2);
	machine_stop();
}
END_TEST

/* In a guest, a counter stands still, except that KVM counts what it emulates. */
START_TEST(counter_of_kvm_without_an_event)
{
	config = usual_config(_i);
	config.dead = config.emulated = BIT_ULL(0);
	init();
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_warnings = 0;
	ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
	ck_assert_uint_eq(fake_warnings, 1);
	machine_stop();
}
END_TEST

static struct thread *leaver;

static void use_as_it_leaves(unsigned int cpu)
{
	ck_assert(!machine_is_prepared(cpu));
	use_on(leaver, cpu);
	ck_assert(machine_is_prepared(cpu));
	fake_cpu = 0;
}

/*
 * A thread that still runs while its CPU goes offline prepares the CPU again.  A CPU that is offline
 * keeps its registers, and has none of ours.
 */
START_TEST(prepared_while_leaving)
{
	struct model_cpu before;
	struct thread t;
	unsigned int i;

	random_restart(__LINE__ + _i);
	config = usual_config(_i / 2 + 1);
	perfctr_isolate = true;
	init();
	fill_registers(1);
	before = model.cpu[1];
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	use_on(&t, 1);
	leaver = &t;
	fake_almost_offline = use_as_it_leaves;
	fake_cpu_down(1);
	fake_almost_offline = NULL;
	ck_assert(!machine_is_prepared(1));
	for (i = 0; i < MODEL_MAX_PMCS; i++)
		ck_assert_uint_eq(model.cpu[1].evntsel[i] | model.cpu[1].pmc[i], 0);
	for (i = 0; i < MODEL_MAX_FIXED; i++)
		ck_assert_uint_eq(model.cpu[1].fixed[i], 0);
	ck_assert_uint_eq(model.cpu[1].global_ctrl, before.global_ctrl);
	ck_assert_uint_eq(model.cpu[1].fixed_ctrl, before.fixed_ctrl);
	check_cfgs(&model.cpu[1], &before);
	if (_i & 1)
		perfctr_cpu_release();
	model_clear_statistics();
	fake_cpu_up(1);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[1]), 0);
	if (_i & 1)
		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_on(&t, 1);
	ck_assert(machine_is_prepared(1));
	machine_stop();
}
END_TEST

/* Loading the module touches no register: the counters may be in use by others. */
START_TEST(init_takes_nothing)
{
	struct model_cpu before[NR_CPUS];
	unsigned int cpu;

	config = usual_config(_i);
	model_init(&config);
	for (cpu = 0; cpu < NR_CPUS; cpu++)
		fill_registers(cpu);
	memcpy(before, model.cpu, sizeof(before));
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	perfctr_x86_scrub();
	machine_exit();
	ck_assert_mem_eq(before, model.cpu, sizeof(before));
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);
}
END_TEST

START_TEST(all_registers_reserved)
{
	config = usual_config(3);
	config.nr_pmcs = _i;
	init();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_uint_eq(fake_pmcs.ours, GENMASK_ULL(min(_i, 10) - 1, 0));
	ck_assert_uint_eq(fake_evntsels.ours, fake_pmcs.ours);
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);
	machine_exit();
}
END_TEST

/* Another user has reserved one register: the driver reserves none, and writes none. */
START_TEST(conflict)
{
	struct fake_reservation *r = _i & 1 ? &fake_pmcs : &fake_evntsels;
	struct model_cpu before[NR_CPUS];

	config = usual_config(4);
	config.nr_pmcs = 8;
	init();
	fill_registers(2);
	memcpy(before, model.cpu, sizeof(before));
	r->others = BIT_ULL(_i / 2);
	ck_assert_int_eq(perfctr_cpu_reserve(), -EBUSY);
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);
	ck_assert_mem_eq(before, model.cpu, sizeof(before));

	/* Nor does it write the registers of a CPU that comes online then. */
	fake_cpu_down(1);
	fake_cpu_up(1);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[1]), 0);

	r->others = 0;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), -EBUSY);
	machine_stop();
}
END_TEST

/* ---- version 6: counters are claimed from perf, CPU by CPU -------------------- */

static void init_v6(void)
{
	config = usual_config(6);
	model_init(&config);
	model.new_perf = true;
	fake_perf = (struct fake_perf) { };
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_init(), 0);
}

START_TEST(claimed_and_given_back)
{
	struct thread t;

	init_v6();
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_INTEL_ARCH);
	ck_assert_uint_ne(fake_perf.found, 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_uint_eq(fake_pmcs.ours | fake_evntsels.ours, 0);
	ck_assert_uint_eq(fake_perf.claimed, 0);
	use_all(&t);
	use_on(&t, 1);
	use_on(&t, 2);
	ck_assert_uint_eq(fake_perf.claimed, BIT(1) | BIT(2));
	/* The CPU is given back before it goes offline, and claimed when it is needed. */
	fake_cpu_down(1);
	ck_assert_uint_eq(fake_perf.claimed, BIT(2));
	fake_cpu_up(1);
	use_on(&t, 1);
	perfctr_cpu_release();
	ck_assert_uint_eq(fake_perf.claimed, 0);
	ck_assert(!fake_perf.reserved);
	machine_exit();
}
END_TEST

/* perf counts somewhere: no CPU is reserved, and no register is written. */
START_TEST(perf_is_busy)
{
	init_v6();
	fake_perf.busy = BIT(3);
	model_clear_statistics();
	ck_assert_int_eq(perfctr_cpu_reserve(), -EBUSY);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]) + model_wrmsrs(&model.cpu[3]), 0);
	fake_perf.busy = 0;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	perfctr_cpu_release();
	machine_exit();
}
END_TEST

/*
 * Some firmware leaves 330H in IA32_FIXED_CTR_CTRL, of which Linux's check_hw_exists() warns.  No
 * program uses these counters.  perf may have left bits that enable nothing.
 */
START_TEST(left_enabled_by_firmware)
{
	struct thread t;

	init_v6();
	model.cpu[1].fixed_ctrl = 0x330 | (_i ? FIX_ADAPTIVE(0) : 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	fake_warnings = 0;
	use_on(&t, 1);
	ck_assert_uint_eq(fake_warnings, 1);
	perfctr_cpu_release();
	machine_exit();
}
END_TEST

/*
 * A CPU where perf has started an event meanwhile, or where another program counts: it is
 * refused, but not for good.
 */
START_TEST(cpu_is_busy)
{
	struct model_cpu *cpu = &model.cpu[1];
	struct thread t;

	init_v6();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	use_on(&t, 0);
	if (_i == 0)
		fake_perf.busy = BIT(1);
	else if (_i == 1)
		cpu->evntsel[2] = SEL_EN | SEL_OS | EV_CYCLES;
	else if (_i == 2)
		cpu->fixed_ctrl = FIX_OS << 4 | FIX_ADAPTIVE(0);
	else
		cpu->fixed_ctrl = 0xbb0;	/* firmware's value has no interrupts */
	model_clear_statistics();
	thread_refused(&t, 1);
	fake_cpu = 1;
	ck_assert_int_eq(perfctr_cpu_prepare(), -EBUSY);
	ck_assert_uint_eq(model_wrmsrs(cpu), 0);
	ck_assert_uint_eq(fake_perf.claimed, BIT(0));
	fake_perf.busy = 0;
	cpu->evntsel[2] = cpu->fixed_ctrl = 0;
	ck_assert_int_eq(perfctr_cpu_prepare(), 0);
	use_on(&t, 1);
	perfctr_cpu_release();
	machine_exit();
}
END_TEST

/* perf has left bits of the fixed counters' control that enable no counter, and knows that. */
START_TEST(cpu_is_idle)
{
	const u64 left[] = { FIX_ADAPTIVE(0), FIX_ADAPTIVE(2), FIX_NO_RDPMC(1), FIX_PMI };
	struct thread t;

	init_v6();
	model.cpu[1].fixed_ctrl = left[_i];
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	fake_warnings = 0;
	use_on(&t, 1);
	ck_assert_uint_eq(fake_warnings, 0);
	ck_assert_uint_eq(model.cpu[1].fixed_ctrl >> 32, 0);
	perfctr_cpu_release();
	ck_assert_uint_eq(model.cpu[1].fixed_ctrl, left[_i]);
	machine_exit();
}
END_TEST

/* A CPU whose self-test fails is perf's again. */
START_TEST(broken_cpu_is_not_claimed)
{
	config = usual_config(6);
	config.dead = BIT_ULL(1);
	model_init(&config);
	model.new_perf = true;
	fake_perf = (struct fake_perf) { };
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
	ck_assert_uint_eq(fake_perf.claimed, 0);
	perfctr_cpu_release();
	machine_exit();
}
END_TEST

/*
 * The NMI watchdog keeps fixed counter 1: its bit and its field are in all values that are
 * written, its counter is not touched, and perf gets back what it expects.  Firmware has left
 * 330H in the register, of which Linux 5.14 to 6.0 changes only the watchdog's field.
 */
START_TEST(watchdog_keeps_counter)
{
	const u64 firmware = _i < 7 ? 0 : 0x300;
	const u64 kept = BIT_ULL(33), field = 0xfULL << 4 | 0xfULL << 36;
	struct model_cpu *c = &model.cpu[1];
	struct thread t;
	u64 theirs;

	config = usual_config(_i < 7 ? _i : _i - 5);
	model_init(&config);
	theirs = (0x3ULL << 4 | FIX_NO_RDPMC(1)) & model_valid_bits(REG_FIXED_CTRL);
	model.new_perf = true;
	fake_perf = (struct fake_perf) { .watchdog = kept };
	machine_use_service();
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_ne(fake_perf.found, 0);
	ck_assert_uint_eq(perfctr_cpu_info.fixed_mask & 3, 1);
	ck_assert_uint_eq(perfctr_cpu_info.watchdog_fixed, 2);
	ck_assert_str_eq(fake_info, "the NMI watchdog keeps its counter, 0x40000001\n");
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, hweight64(perfctr_cpu_info.pmc_mask) +
						   hweight64(perfctr_cpu_info.fixed_mask));
	c->fixed_ctrl = theirs | firmware;
	c->fixed[1] = 12345;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	fake_cpu = 1;
	fake_warnings = 0;
	ck_assert_int_eq(perfctr_cpu_prepare(), 0);
	ck_assert_uint_eq(fake_warnings, !!firmware);
	ck_assert_uint_eq(c->global_ctrl, kept);
	ck_assert_uint_eq(c->fixed_ctrl, theirs);
	ck_assert_uint_eq(c->fixed[1], 12345);
	thread_in(&t, 1);
	ck_assert_uint_eq(c->global_ctrl & kept, kept);
	ck_assert_uint_ne(c->global_ctrl, kept);
	ck_assert_uint_eq(c->fixed_ctrl & field, theirs);
	thread_out(&t);
	ck_assert_uint_eq(c->global_ctrl, kept);
	ck_assert_uint_eq(c->fixed_ctrl & field, theirs);
	/* On a CPU where perf counts something else, nothing is written. */
	fake_perf.busy = BIT(2);
	model_clear_statistics();
	thread_refused(&t, 2);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[2]), 0);
	fake_perf.busy = 0;
	fake_cpu = 1;
	/* The watchdog is stopped: older kernels write the register, newer ones do not yet. */
	c->fixed_ctrl &= firmware ? ~field : 0;
	perfctr_x86_pmc_unkept(33);
	ck_assert_uint_eq(c->fixed_ctrl & field, 0);
	ck_assert_uint_ne(c->fixed_ctrl, 0);
	ck_assert_uint_eq(c->global_ctrl, kept);
	perfctr_cpu_release();
	ck_assert_uint_eq(c->fixed_ctrl, firmware);
	ck_assert_uint_eq(fake_perf.claimed, 0);
	machine_exit();
}
END_TEST

/* If perf's PMU is not found, there are no counters. */
START_TEST(unknown_perf)
{
	config = usual_config(6);
	model_init(&config);
	model.new_perf = true;
	fake_perf = (struct fake_perf) { .find_error = -EPERM };
	ck_assert_int_eq(perfctr_cpu_init(), 0);
	ck_assert_uint_eq(perfctr_cpu_info.cpu_type, VPERFCTR_CPU_GENERIC);
	ck_assert_uint_eq(perfctr_cpu_info.nrctrs, 0);
	ck_assert_uint_eq(perfctr_cpu_sampling_ns, 0);
	perfctr_cpu_exit();
	fake_check_unloadable();
}
END_TEST

START_TEST(hotplug)
{
	struct thread t;
	unsigned int i;

	config = usual_config(_i);
	machine_start(&config, true);
	use_all(&t);
	use_on(&t, 1);
	fake_cpu_down(1);
	model_clear_statistics();
	fake_cpu_up(1);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[1]), 0);
	use_on(&t, 1);		/* thread_in() checks that all is loaded again */

	/* A CPU that is offline when the hardware is released. */
	fake_cpu_down(2);
	perfctr_cpu_release();
	model_clear_statistics();
	fake_cpu_up(2);
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[2]), 0);
	ck_assert_uint_eq(model_counting(&model.cpu[2]), 0);
	for (i = 0; i < MODEL_MAX_PMCS; i++)
		ck_assert_uint_eq(model.cpu[2].evntsel[i], 0);

	/* A CPU that is offline when the hardware is reserved. */
	fake_cpu_down(3);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	fake_cpu_up(3);
	use_on(&t, 3);
	machine_stop();
}
END_TEST

/* A state that stays on CPU 2 as long as that is online. */
static struct thread resident;

static void watch_resident(enum perfctr_cpu_event event)
{
	ck_assert(fake_irqs_off);
	if (fake_cpu != 2)
		return;
	if (event == PERFCTR_CPU_OFFLINE) {
		perfctr_cpu_suspend(&resident.state);
		resident.cpu = -1;
	} else {
		ck_assert_int_eq(event, PERFCTR_CPU_ONLINE);
		perfctr_cpu_resume(&resident.state);
		resident.cpu = 2;
	}
}

/* The watcher finds the counters before they are given back, and can use them at once. */
START_TEST(watched)
{
	config = usual_config(_i);
	machine_start(&config, true);
	use_all(&resident);
	thread_in(&resident, 2);
	thread_run(&resident, &(struct work) { .instructions = 1000, .cycles = 1500 });
	perfctr_cpu_set_watcher(watch_resident);
	fake_cpu_down(2);
	ck_assert_int_eq(resident.cpu, -1);
	thread_check(&resident);
	fake_cpu_up(2);
	ck_assert_int_eq(resident.cpu, 2);
	thread_run(&resident, &(struct work) { .instructions = 500, .cycles = 700 });
	perfctr_cpu_set_watcher(NULL);
	thread_out(&resident);
	thread_check(&resident);
	machine_stop();
}
END_TEST

/* A CPU that goes offline gets its old values back. */
START_TEST(offline_gives_back)
{
	struct model_cpu before;
	struct thread t;

	random_restart(__LINE__ + _i);
	config = usual_config(_i);
	init();
	fill_registers(1);
	before = model.cpu[1];
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	use_on(&t, 1);
	fake_cpu_down(1);
	ck_assert_uint_eq(model.cpu[1].global_ctrl, before.global_ctrl);
	ck_assert_uint_eq(model.cpu[1].fixed_ctrl, before.fixed_ctrl);
	ck_assert_uint_eq(model_counting(&model.cpu[1]) & 0xffffffff, 0);
	machine_stop();
}
END_TEST

/*
 * The driver detects a value that perf left in any counter of any CPU, but for that of perf's trial
 * as the kernel boots.  It leaves no values itself.
 */
START_TEST(left_by_perf)
{
	struct thread t;
	unsigned int i;

	config = usual_config(2);
	perfctr_isolate = _i & 1;
	init();
	for (i = 0; i < 3; i++) {
		fake_suspects = 0;
		if (i == 1)
			*model_counter(&model.cpu[1], _i < 2 ? 1 : VPERFCTR_FIXED | 2) = 12345;
		if (i == 2)
			*model_counter(&model.cpu[0], 1) = 0xffff;
		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
		use_all(&t);
		use_on(&t, 0);
		use_on(&t, 1);
		ck_assert_uint_eq(fake_suspects, i == 1 ? BIT(1) : 0);
		perfctr_cpu_release();
	}
	machine_exit();
}
END_TEST

/* The boot CPU loses its registers, without a hotplug callback before that. */
START_TEST(suspend_to_ram)
{
	u64 global_ctrl, fixed_ctrl;
	struct thread t;

	random_restart(__LINE__ + _i);
	config = usual_config(1 + _i / 2);
	perfctr_isolate = _i & 1;
	init();
	fill_registers(0);
	global_ctrl = model.cpu[0].global_ctrl;
	fixed_ctrl = model.cpu[0].fixed_ctrl;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_all(&t);
	use_on(&t, 0);
	fake_suspend_to_ram();
	check_clear(0);
	use_on(&t, 0);
	perfctr_cpu_release();
	/* The values saved when the hardware was reserved are still restored. */
	ck_assert_uint_eq(model.cpu[0].global_ctrl, global_ctrl);
	ck_assert_uint_eq(model.cpu[0].fixed_ctrl, fixed_ctrl);

	/* A resume does not touch registers that are not reserved. */
	model_clear_statistics();
	fake_suspend_to_ram();
	ck_assert_uint_eq(model_wrmsrs(&model.cpu[0]), 0);
	machine_exit();
}
END_TEST

/* After a release the driver forgets the contents of the registers. */
START_TEST(reserve_again)
{
	struct thread t;

	config = usual_config(1 + _i / 2);
	machine_start(&config, _i & 1);
	use_all(&t);
	use_on(&t, 0);
	perfctr_cpu_release();
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	use_on(&t, 0);
	machine_stop();
}
END_TEST

static bool any_left(unsigned int cpu)
{
	const struct model_cpu *c = &model.cpu[cpu];
	unsigned int i;

	for (i = 0; i < MODEL_MAX_FIXED; i++) {
		if (c->fixed[i] || (i < MODEL_MAX_PMCS && c->pmc[i]))
			return true;
	}
	return false;
}

/* Scrub.  Return: the CPUs that this has interrupted, as the driver says. */
static unsigned int scrub_from(unsigned int cpu)
{
	unsigned int interrupted = 0, i;
	bool others;

	fake_cpu = cpu;
	memset(fake_interrupts, 0, sizeof(fake_interrupts));
	others = perfctr_x86_scrub();
	for (i = 0; i < NR_CPUS; i++)
		interrupted |= fake_interrupts[i] ? BIT(i) : 0;
	ck_assert(others == !!interrupted);
	return interrupted;
}

/*
 * A scrub clears the counters that suspended states left, on all CPUs, and interrupts no
 * CPU where there is nothing to clear.  A running state continues to count.
 */
START_TEST(scrub)
{
	struct thread a, b;

	config = usual_config(_i);
	machine_start(&config, true);
	use_all(&a);
	use_all(&b);
	use_on(&a, 1);
	thread_in(&b, 2);
	thread_run(&b, &work);
	ck_assert(any_left(1) && any_left(2));
	ck_assert_uint_eq(scrub_from(0), BIT(1) | BIT(2));
	ck_assert(!any_left(1) && !any_left(2));
	/* The running state has marked its CPU again. */
	ck_assert_uint_eq(scrub_from(0), BIT(2));
	thread_run(&b, &work);
	ck_assert(any_left(2));
	thread_out(&b);
	thread_check(&b);
	ck_assert_uint_eq(scrub_from(2), 0);
	ck_assert(!any_left(2));
	ck_assert_uint_eq(scrub_from(0), 0);
	/* The registers still hold the controls, but the CPUs are marked. */
	use_on(&a, 1);
	use_on(&b, 2);
	ck_assert(any_left(1) && any_left(2));
	ck_assert_uint_eq(scrub_from(1), BIT(2));
	ck_assert(!any_left(1) && !any_left(2));

	/* Once the hardware is released, a scrub clears nothing. */
	use_on(&a, 1);
	perfctr_cpu_release();
	fill_registers(1);
	ck_assert_uint_eq(scrub_from(0), 0);
	ck_assert(any_left(1));
	machine_exit();
}
END_TEST

START_TEST(forbidden)
{
	config = usual_config(3);
	init();
	ck_assert_uint_eq(perfctr_cpus_forbidden(0)->bits[0], 0);
	machine_exit();

	*fake_param_forbid_cpus = "1,3";
	init();
	ck_assert_uint_eq(perfctr_cpus_forbidden(0)->bits[0], 0xa);
	machine_exit();

	*fake_param_forbid_cpus = "none";
	ck_assert_int_eq(perfctr_cpu_init(), -EINVAL);
	fake_check_unloadable();
}
END_TEST

/* The log says that no counter is left to the watchdog, where one was wished. */
START_TEST(no_watchdog_kept)
{
	config = usual_config(3);
	fake_info[0] = '\0';
	init();
	ck_assert_str_eq(fake_info, "");
	machine_exit();

	*fake_param_keep_watchdog = true;
	init();
	ck_assert_ptr_nonnull(strstr(fake_info, "keep_watchdog: no counter can be left"));
	machine_exit();

	fake_perf = (struct fake_perf) { .watchdog = GLOBAL_FIXED(1) };
	init();
	ck_assert_ptr_nonnull(strstr(fake_info, "the NMI watchdog keeps its counter"));
	machine_exit();
	*fake_param_keep_watchdog = false;
}
END_TEST

/* ---- hardware that differs from CPUID ------------------------------------- */

/* Set the n-th defect, each sort in turn.  False if there are no more. */
static bool set_defect(struct model_config *broken, unsigned int n)
{
	static const u32 control_registers[] = { 0x186, 0x187, 0x38d, 0x38f, 0x390 };
	static const u32 counter_registers[] = { 0x4c1, 0x4c4, 0x309, 0x30a, 0x30b };
	static const u64 counters[] = {
		BIT_ULL(0), BIT_ULL(3), GLOBAL_FIXED(0), GLOBAL_FIXED(1), GLOBAL_FIXED(2),
	};
	u64 counter = counters[n % 5];

	broken->dead = broken->stuck = broken->unreadable = 0;
	broken->read_only = 0;
	switch (n / 5) {
	case 0:
		broken->dead = counter;
		break;
	case 1:
		broken->stuck = counter;
		break;
	case 2:
		broken->unreadable = counter;
		break;
	case 3:
		broken->read_only = control_registers[n % 5];
		break;
	case 4:		/* counters, by the register that the driver writes */
		broken->read_only = counter_registers[n % 5];
		break;
	default:
		return false;
	}
	return true;
}

/*
 * True if the driver cannot notice the defect: version 1 does not have the register, or
 * the dead counter is fixed counter 2, of which the self-test expects no counts.
 */
static bool is_harmless(const struct model_config *broken)
{
	u64 counters = broken->stuck | broken->unreadable | broken->dead;

	if (counters)
		return !(counters & model_exists() & ~(broken->dead & GLOBAL_FIXED(2)));
	return broken->read_only >= 0x309 && broken->read_only < 0x400 && config.version < 2;
}

/* The warnings of counters that are enabled: general ones, and fixed ones. */
static unsigned int nr_warnings(const struct model_cpu *cpu)
{
	bool general = false, fixed = false;
	unsigned int i;

	for (i = 0; i < MODEL_MAX_PMCS; i++)
		general |= cpu->evntsel[i] & SEL_EN;
	for (i = 0; i < MODEL_MAX_FIXED; i++)
		fixed |= cpu->fixed_ctrl >> (4 * i) & (FIX_OS | FIX_USR);
	return general + fixed;
}

/*
 * One CPU is defective: no counter is used there, and it gets its values back.  Other CPUs
 * count.
 */
START_TEST(broken_cpu)
{
	struct model_cpu before[NR_CPUS];
	unsigned int n, cpu, bad;
	struct thread t;

	random_restart(__LINE__ + _i);
	for (n = 0; config = usual_config(_i), set_defect(&config, n); n++) {
		struct model_config broken = config;

		set_defect(&config, ~0U);
		init();
		if (is_harmless(&broken)) {
			machine_exit();
			continue;
		}
		bad = n % NR_CPUS;
		model.other = broken;
		model.others = BIT(bad);
		for (cpu = 0; cpu < NR_CPUS; cpu++) {
			fill_registers(cpu);
			model.cpu[cpu].overflow = 0;
		}
		memcpy(before, model.cpu, sizeof(before));
		snprintf(model_context, sizeof(model_context), "defect %u", n);
		machine_use_service();
		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
		fake_cpu = (bad + 1) % NR_CPUS;
		use_all(&t);
		use_on(&t, fake_cpu);
		fake_warnings = 0;
		if (n & 1) {
			thread_refused(&t, bad);
		} else {
			fake_cpu = bad;
			ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
		}
		/* The random registers may show that another program counts. */
		ck_assert_uint_eq(fake_warnings, 1 + nr_warnings(&before[bad]));
		ck_assert(!machine_is_prepared(bad));
		use_on(&t, (bad + 2) % NR_CPUS);
		thread_refused(&t, bad);
		perfctr_cpu_release();
		for (cpu = 0; cpu < NR_CPUS; cpu++) {
			const struct model_cpu *c = &model.cpu[cpu];

			if (broken.read_only != 0x38f || cpu != bad)
				ck_assert_uint_eq(c->global_ctrl, before[cpu].global_ctrl);
			if (broken.read_only != 0x38d || cpu != bad)
				ck_assert_uint_eq(c->fixed_ctrl, before[cpu].fixed_ctrl);
			ck_assert_uint_eq(c->debugctl, before[cpu].debugctl);
			ck_assert_uint_eq(c->lvtpc, before[cpu].lvtpc);
		}
		machine_exit();
	}
	model_context[0] = '\0';
}
END_TEST

/*
 * A hypervisor with fewer free counters than the guest: each counter works while it is
 * the only one.  Such a CPU is refused: a control of several would count too little.
 */
START_TEST(one_at_a_time)
{
	unsigned int cpu;

	config = usual_config(_i % 5 + 1);
	config.signature = _i < 5 ? MODEL_CORE2 : 0x106a5;	/* Nehalem */
	config.one_at_a_time = true;
	init();
	fake_warnings = 0;
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	for (cpu = 0; cpu < NR_CPUS; cpu++) {
		fake_cpu = cpu;
		ck_assert_int_eq(perfctr_cpu_prepare(), -EIO);
		ck_assert_uint_eq(fake_warnings, cpu + 1);
		ck_assert_uint_eq(model_counting(&model.cpu[cpu]), 0);
	}
	fake_cpu = 0;
	perfctr_cpu_release();
	/* It is tried again when it comes online. */
	model.config.one_at_a_time = false;
	for (cpu = 1; cpu < NR_CPUS; cpu++) {
		fake_cpu_down(cpu);
		fake_cpu_up(cpu);
		ck_assert_int_eq(perfctr_cpu_reserve(), 0);
		fake_cpu = cpu;
		ck_assert_int_eq(perfctr_cpu_prepare(), 0);
		perfctr_cpu_release();
	}
	machine_exit();
}
END_TEST

/* Microcode owns counter 3: the driver does not use it or write it. */
START_TEST(force_abort)
{
	config = usual_config(4);
	config.nr_pmcs = 4;
	config.force_abort = true;
	init();
	ck_assert_uint_eq(perfctr_cpu_info.pmc_mask, 0x7);
	ck_assert_int_eq(perfctr_cpu_reserve(), 0);
	machine_prepare();
	model.cpu[0].evntsel[3] = SEL_EN | SEL_OS | EV_CYCLES;
	perfctr_cpu_release();
	ck_assert_uint_eq(model.cpu[0].evntsel[3], SEL_EN | SEL_OS | EV_CYCLES);
	machine_exit();
}
END_TEST

Suite *cpus_suite(void)
{
	Suite *suite = suite_create("cpus");
	TCase *tc = tcase_create("cpus");

	tcase_add_loop_test(tc, in_use, 0, 5);
	tcase_add_loop_test(tc, frozen_by_firmware, 0, 5);
	tcase_add_loop_test(tc, records_by_firmware, 2, 6);
	tcase_add_loop_test(tc, precise_events_before, 0, 4);
	tcase_add_loop_test(tc, metrics_before, 0, 4);
	tcase_add_loop_test(tc, quiet_before_reboot, 0, 12);
	tcase_add_loop_test(tc, given_back_as_it_was, 0, 6);
	tcase_add_loop_test(tc, prepared_when_needed, 1, 6);
	tcase_add_loop_test(tc, prepare_all, 1, 6);
	tcase_add_loop_test(tc, tested_once_per_online, 1, 6);
	tcase_add_loop_test(tc, counter_of_kvm_without_an_event, 1, 6);
	tcase_add_loop_test(tc, prepared_while_leaving, 0, 10);
	tcase_add_loop_test(tc, left_by_perf, 0, 4);
	tcase_add_loop_test(tc, init_takes_nothing, 1, 6);
	tcase_add_loop_test(tc, all_registers_reserved, 1, 11);
	tcase_add_loop_test(tc, conflict, 0, 16);
	tcase_add_test(tc, claimed_and_given_back);
	tcase_add_loop_test(tc, watchdog_keeps_counter, 2, 12);
	tcase_add_test(tc, perf_is_busy);
	tcase_add_loop_test(tc, left_enabled_by_firmware, 0, 2);
	tcase_add_loop_test(tc, cpu_is_busy, 0, 4);
	tcase_add_loop_test(tc, cpu_is_idle, 0, 4);
	tcase_add_test(tc, broken_cpu_is_not_claimed);
	tcase_add_test(tc, unknown_perf);
	tcase_add_loop_test(tc, hotplug, 1, 6);
	tcase_add_loop_test(tc, watched, 1, 6);
	tcase_add_loop_test(tc, offline_gives_back, 1, 6);
	tcase_add_loop_test(tc, suspend_to_ram, 0, 10);
	tcase_add_loop_test(tc, reserve_again, 0, 10);
	tcase_add_loop_test(tc, scrub, 1, 6);
	tcase_add_test(tc, forbidden);
	tcase_add_test(tc, no_watchdog_kept);
	tcase_add_loop_test(tc, broken_cpu, 1, 6);
	tcase_add_loop_test(tc, one_at_a_time, 0, 10);
	tcase_add_test(tc, force_abort);
	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	return suite;
}
