// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of overflows in perfctr's interface.  On a processor without an overflow interrupt
 * they only test that i-mode counters are refused.
 */
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "old.h"

#define PERIOD	20000

static struct vperfctr *v;
static struct vperfctr_control control;
static volatile unsigned int signals, mask, bad;
static volatile int resume, result;
static volatile u64 tsc_in_handler[2], pmc_in_handler[2];

static bool have_imode(void)
{
	return info.features & VPERFCTR_FEATURE_PCINT;
}

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	(void)context;
	signals++;
	if (sig != SIGIO || si->si_code != SI_PMC_OVF)
		bad++;
	mask = si->si_pmc_ovf_mask;
	/* counters are suspended, the TSC continues */
	tsc_in_handler[0] = vperfctr_read_tsc(v);
	pmc_in_handler[0] = vperfctr_read_pmc(v, 0);
	loop(100);
	pmc_in_handler[1] = vperfctr_read_pmc(v, 0);
	tsc_in_handler[1] = vperfctr_read_tsc(v);
	if (resume)
		result = vperfctr_iresume(v) ? errno : 0;
}

static void setup(void)
{
	struct sigaction action = { .sa_sigaction = on_overflow, .sa_flags = SA_SIGINFO };

	sigaction(SIGIO, &action, NULL);
	resume = 1;
	v = vperfctr_open();
	if (!v)
		die("vperfctr_open: %s", strerror(errno));
}

/* Count instructions in user mode twice: in a-mode, and in i-mode with a period. */
static struct vperfctr_control *overflows(int ireset)
{
	struct perfctr_cpu_control *cpu = &control.cpu_control;

	count_with(&control, 1);
	control.si_signo = SIGIO;
	cpu->nrictrs = 1;
	cpu->pmc_map[1] = 1;
	cpu->evntsel[1] = INSNS_USER | SEL_INT;
	cpu->ireset[1] = ireset;
	return &control;
}

START_TEST(refused)
{
	if (have_imode())
		return;
	ck_assert_int_eq(vperfctr_control(v, count_with(&control, 1)), 0);
	assert_fails(vperfctr_control(v, overflows(-PERIOD)), EOPNOTSUPP);
	ck_assert(!vperfctr_is_running(v));
}
END_TEST

/* There is one signal for each period, and both counters have the same sum. */
START_TEST(signals_come)
{
	struct perfctr_sum_ctrs sum;
	struct vperfctr_control now;

	if (!have_imode())
		return;
	ck_assert_int_eq(vperfctr_control(v, overflows(-PERIOD)), 0);
	ck_assert_int_eq(vperfctr_read_state(v, NULL, &now), 0);
	ck_assert_mem_eq(&now, &control, sizeof(now));
	loop(10 * PERIOD);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &sum), 0);
	ck_assert_uint_eq(bad, 0);
	ck_assert_uint_eq(mask, 2);
	ck_assert_int_eq(result, 0);
	ck_assert_uint_eq(sum.pmc[0], sum.pmc[1]);
	ck_assert_uint_ge(sum.pmc[0], 20 * PERIOD);
	ck_assert_uint_eq(signals, sum.pmc[1] / PERIOD);
	ck_assert_uint_gt(tsc_in_handler[1], tsc_in_handler[0] + 200);
	ck_assert_uint_eq(pmc_in_handler[1], pmc_in_handler[0]);
	ck_assert_uint_gt(pmc_in_handler[0], 0);
}
END_TEST

/* Nothing is counted between the overflow and iresume. */
START_TEST(not_resumed)
{
	struct perfctr_sum_ctrs a, b;

	if (!have_imode())
		return;
	assert_fails(vperfctr_iresume(v), EPERM);
	resume = 0;
	ck_assert_int_eq(vperfctr_control(v, overflows(-PERIOD)), 0);
	assert_fails(vperfctr_iresume(v), EPERM);
	loop(2 * PERIOD);
	ck_assert_uint_eq(signals, 1);
	ck_assert_int_eq(vperfctr_read_ctrs(v, &a), 0);
	ck_assert_int_eq(vperfctr_read_state(v, &b, NULL), 0);
	ck_assert_uint_eq(a.pmc[0], b.pmc[0]);
	ck_assert_uint_ge(a.pmc[1], PERIOD);
	ck_assert_uint_lt(a.pmc[1], PERIOD + 100);
	ck_assert_uint_gt(b.tsc, a.tsc);
	ck_assert(vperfctr_is_running(v));
	resume = 1;
	ck_assert_int_eq(vperfctr_iresume(v), 0);
	loop(PERIOD);
	ck_assert_uint_eq(signals, 3);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	assert_fails(vperfctr_iresume(v), EPERM);
}
END_TEST

/* All periods that fit an int. */
START_TEST(periods)
{
	static const int good[] = { -1000, -PERIOD, -0x7fffffff };
	static const int wrong[] = { 0, 1, 0x7fffffff };
	struct vperfctr_control now;
	unsigned int i;

	if (!have_imode())
		return;
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(vperfctr_control(v, overflows(good[i])), 0);
		ck_assert_int_eq(vperfctr_read_state(v, NULL, &now), 0);
		ck_assert_int_eq(now.cpu_control.ireset[1], good[i]);
		assert_fails(vperfctr_control(v, overflows(wrong[i])), EINVAL);
		ck_assert(!vperfctr_is_running(v));
	}
	/* only i-mode counters have the interrupt enabled */
	overflows(-PERIOD);
	control.cpu_control.evntsel[1] &= ~SEL_INT;
	assert_fails(vperfctr_control(v, &control), EINVAL);
	overflows(-PERIOD);
	control.cpu_control.evntsel[0] |= SEL_INT;
	assert_fails(vperfctr_control(v, &control), EINVAL);
}
END_TEST

START_TEST(fixed)
{
	static const unsigned int forms[] = { FIXED_USER | 8, INSNS_USER | SEL_INT };

	if (!have_imode() || !nr_fixed())
		return;
	overflows(-PERIOD);
	control.cpu_control.pmc_map[1] = 0x40000000;
	control.cpu_control.evntsel[1] = forms[_i];
	ck_assert_int_eq(vperfctr_control(v, &control), 0);
	loop(PERIOD);
	ck_assert_int_eq(vperfctr_stop(v), 0);
	ck_assert_uint_eq(bad, 0);
	ck_assert_uint_eq(signals, vperfctr_read_pmc(v, 1) / PERIOD);
	ck_assert_uint_ge(signals, 2);
	ck_assert_uint_eq(vperfctr_read_pmc(v, 0), vperfctr_read_pmc(v, 1));
}
END_TEST

/* Overflows of another process: it gets the signal and stops, and the monitor resumes it. */
START_TEST(remote)
{
	struct rvperfctr *rv;
	siginfo_t si;
	int status;
	pid_t pid;
	u64 sum[2];

	if (!have_imode())
		return;
	ck_assert_int_eq(vperfctr_unlink(v), 0);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		loop(100000000);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	rv = rvperfctr_open(pid);
	ck_assert_ptr_nonnull(rv);
	assert_fails(rvperfctr_iresume(rv), EPERM);
	ck_assert_int_eq(rvperfctr_control(rv, overflows(-PERIOD)), 0);
	for (sum[1] = 0; sum[1] < 5 * PERIOD; ) {
		struct perfctr_sum_ctrs now;

		sum[0] = sum[1];
		ck_assert_int_eq(ptrace(PTRACE_CONT, pid, 0, 0), 0);
		waitpid(pid, &status, 0);
		ck_assert(WIFSTOPPED(status) && WSTOPSIG(status) == SIGIO);
		ck_assert_int_eq(ptrace(PTRACE_GETSIGINFO, pid, 0, &si), 0);
		ck_assert_int_eq(si.si_code, SI_PMC_OVF);
		ck_assert_int_eq(si.si_pmc_ovf_mask, 2);
		ck_assert_int_eq(rvperfctr_read_ctrs(rv, &now), 0);
		sum[1] = now.pmc[1];
		ck_assert_uint_ge(sum[1] / PERIOD, sum[0] / PERIOD + 1);
		ck_assert_int_eq(rvperfctr_iresume(rv), 0);
		assert_fails(rvperfctr_iresume(rv), EPERM);
	}
	kill(pid, SIGKILL);
	wait_for(pid);
	rvperfctr_close(rv);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, signals_come);
	tcase_add_test(tc, not_resumed);
	tcase_add_test(tc, periods);
	tcase_add_loop_test(tc, fixed, 0, 2);
	tcase_add_test(tc, remote);
}

int main(void)
{
	open_device();
	return run_tests("perfctr_imode", add);
}
