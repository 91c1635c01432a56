// SPDX-License-Identifier: GPL-2.0
/*
 * The module is removed as soon as the last state with overflows, or with samples by thread
 * time, is gone, and loaded again.  Timers may be armed then.  Without libcheck, whose process would keep the device open.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "overflow.h"
#include "random.h"

#define ROUNDS	12

static int control_clock(void)
{
	struct control control;

	control_init(&control, 1);
	control.c.flags = VPERFCTR_CONTROL_RING;
	control.c.clock_period = VPERFCTR_CLOCK_MIN * (1 + random_below(100));
	return set_control(acc->fd, &control);
}

static void overflows(unsigned int kind)
{
	struct mapped_ring ring;
	int err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	account_init();
	if (kind & 8 || !has(VPERFCTR_FEATURE_PCINT)) {
		make_ring(acc->fd, 64, 1, 1, &ring);
		err = control_clock();
	} else if (kind & 1) {
		make_ring(acc->fd, 64, 1, 1, &ring);
		err = try_overflow_ring(acc->fd, IMODE, 1 + random_below(500));
	} else {
		handle(SIGUSR1, on_overflow);
		err = try_overflow(acc->fd, 0, kind & 2 ? INSNS_BOTH : INSNS_USER,
				   1 + random_below(500), SIGUSR1);
	}
	if (err)
		die("CONTROL: %s", strerror(-err));
	if (kind & 4) {
		loop(1 + random_below(20000));
		_exit(0);
	}
	for (;;)
		sched_yield();
}

static void unload(void)
{
	unsigned int refused = 0;

	/* Refused until the last process's open files are closed. */
	while (syscall(SYS_delete_module, "vperfctr", O_NONBLOCK)) {
		if (errno != EAGAIN || ++refused > 100000)
			die("the module's unloading: %s", strerror(errno));
		sched_yield();
	}
}

int main(void)
{
	unsigned int i, j;

	random_init();
	for (i = 0; i < ROUNDS; i++) {
		pid_t pids[2];

		for (j = 0; j < 2; j++) {
			/* A seed that differs from that of the parent's next child. */
			unsigned int kind = random_below(16);

			pids[j] = fork();
			if (!pids[j])
				overflows(kind);
		}
		msleep(random_below(5));
		for (volatile u32 n = random_below(20000); n; n--)
			;
		for (j = 0; j < 2; j++) {
			int status;

			kill(pids[j], SIGKILL);
			status = wait_for(pids[j]);
			if (status && status != 128 + SIGKILL)
				die("round %u: a child ended with %d", i, status);
		}
		unload();
		if (system("insmod /vm/vperfctr.ko"))
			die("round %u: the module does not load again", i);
	}
	return 0;
}
