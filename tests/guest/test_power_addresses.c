// SPDX-License-Identifier: GPL-2.0
/*
 * An overflow leaves the address of an instruction in SIAR, and that of data in SDAR.  User mode
 * can read both (SPR 780 and 781), unless MMCR0 of POWER10 raises SIGILL.  No thread may see
 * where the kernel or another process was, nor even whether there was an overflow.
 */
#include <signal.h>
#include <unistd.h>

#include "overflow.h"

#define OVERFLOWS	200

/* The read is refused: it leaves the zero that the register has. */
static void on_sigill(int sig, siginfo_t *info_of, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info_of;
	CONTEXT_IP(uc) += 4;
}

#define read_spr(n)					\
({							\
	u64 value = 0;					\
							\
	asm volatile("mfspr %0, " #n : "+r" (value));	\
	value;						\
})

static void check_addresses(void)
{
	u64 siar = read_spr(780), sdar = read_spr(781);

	if (siar || sdar)
		die("SIAR is %#llx, SDAR is %#llx", siar, sdar);
}

/* Overflow in user and in kernel mode, until killed. */
static void sample(int ready)
{
	struct mapped_ring ring;
	int fd = open_state(0);
	u64 last = 0;

	make_ring(fd, 2048, 1, 0, &ring);	/* a full ring takes no more */
	if (try_overflow_ring(fd, IMODE_MAP, IMODE_BOTH, 5000))
		die("CONTROL");
	for (;;) {
		getppid();
		check_addresses();
		if (ring_head(&ring) - last >= OVERFLOWS) {
			last = ring_head(&ring);
			if (write(ready, "", 1) != 1)
				_exit(0);
		}
	}
}

/* Both threads run on the only CPU, in turns. */
START_TEST(no_address_is_left)
{
	unsigned int i;
	int ready[2];
	char c;
	pid_t pid;

	ck_assert_int_eq(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		close(ready[0]);
		sample(ready[1]);
	}
	close(ready[1]);
	for (i = 0; i < 5; i++) {
		ck_assert_int_eq(read(ready[0], &c, 1), 1);
		check_addresses();
	}
	kill(pid, SIGKILL);
	wait_for(pid);
	check_addresses();
	close(ready[0]);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, no_address_is_left);
}

int main(void)
{
	handle(SIGILL, on_sigill);
	open_device();
	return run_tests("power-addresses", add);
}
