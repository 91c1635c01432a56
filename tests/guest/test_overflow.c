// SPDX-License-Identifier: GPL-2.0
/*
 * i-mode counters, signals and IRESUME, exactly: one CPU, virtual time.
 *
 * An overflow comes after each P counted instructions, and its interrupt at the
 * very instruction; so total / P is how many there have to be.
 */
#include <signal.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "overflow.h"
#include "suite.h"

static int fd;

static void setup(void)
{
	fd = open_state(0);
}

/* ---- a handler that keeps account ---------------------------------------- */

static volatile unsigned int signals;
static volatile u32 masks;		/* all of them */
static volatile bool bad;		/* something was not as promised */
static volatile u64 first_ip, last_ip;

static void on_overflow(int sig, siginfo_t *si, void *context)
{
	const ucontext_t *uc = context;

	last_ip = uc->uc_mcontext.gregs[REG_RIP];
	if (!signals)
		first_ip = last_ip;
	signals++;
	if (si->si_code != SI_PMC_OVF || !si->si_pmc_ovf_mask || si->si_signo != sig)
		bad = true;
	masks |= si->si_pmc_ovf_mask;
	if (call(fd, VPERFCTR_IRESUME, NULL))
		bad = true;
}

static void start(u32 map, u64 evntsel, u64 period, int sig)
{
	struct control control;

	handle(sig, on_overflow);
	control_init(&control, 1);
	control_add_imode(&control, map, evntsel, period);
	control.c.si_signo = sig;
	assert_ok(set_control(fd, &control));
}

static u64 stop(void)
{
	struct sums sums;

	assert_ok(stop_all(fd));
	read_sums(fd, &sums);
	return sums.pmc[0];
}

static const u64 periods[] = { 1000, 1001, 4999, 100000, 1234567 };

START_TEST(as_many_as_arithmetic_says)
{
	u64 total;

	start(0, INSNS_USER, periods[_i], SIGUSR1);
	loop(500000);
	total = stop();
	ck_assert(!bad);
	ck_assert_uint_ge(total, 1000000);
	ck_assert_uint_eq(signals, total / periods[_i]);
	if (signals)
		ck_assert_uint_eq(masks, 1);
}
END_TEST

START_TEST(fixed_counter)
{
	u64 total;

	if (!nr_fixed())
		return;
	start(FIXED(0), FIXED_USER, 10007, SIGRTMAX);
	loop(500000);
	total = stop();
	ck_assert(!bad);
	ck_assert_uint_eq(signals, total / 10007);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, as_many_as_arithmetic_says, 0,
			    sizeof(periods) / sizeof(periods[0]));
	tcase_add_test(tc, fixed_counter);
}

int main(void)
{
	open_device();
	return run_tests("overflow", add);
}
