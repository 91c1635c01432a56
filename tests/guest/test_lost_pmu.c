// SPDX-License-Identifier: GPL-2.0
/*
 * The CPU loses its PMU while threads count, as a virtual machine does that moves to a host
 * without one: RDPMC faults, and registers ignore writes.  The counts are lost, but the
 * kernel must live.  tests/vm/checklog expects one warning in the log after the mark below.
 */
#include <sched.h>
#include <unistd.h>

#include "overflow.h"
#include "service.h"

#define RDPMC_LOSE	0x7fff0100U	/* see tests/pmu-model/README.md */

static int fd;

static void use(void)
{
	struct sums sums;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		sched_yield();
		msleep(1);
		loop(1000);
		read_sums(fd, &sums);
	}
}

/* A thread that counts, in a-mode or i-mode, is switched, read, suspended, and ends. */
START_TEST(lost_while_counting)
{
	struct control control;
	pid_t pid;

	write_file("/dev/kmsg", "vm: the PMU is lost from now on");
	pid = fork();
	if (!pid) {
		fd = open_state(0);
		control_init(&control, 1);
		if (_i)
			control_add_imode(&control, IMODE, 1000000);
		else
			control_add(&control, 0, INSNS_USER);
		assert_ok(set_control(fd, &control));
		use();
		rdpmc(RDPMC_LOSE);
		use();
		assert_ok(call(fd, VPERFCTR_SUSPEND, NULL));
		assert_ok(call(fd, VPERFCTR_RESUME, NULL));
		use();
		assert_ok(set_control(fd, &control));
		use();
		_exit(3);
	}
	/* perf's own RDPMC would bring the kernel down, so do not look for free counters. */
	ck_assert_int_eq(wait_for(pid), 3);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, lost_while_counting, 0, 2);
}

int main(void)
{
	open_device();
	return run_tests("lost_pmu", add);
}
