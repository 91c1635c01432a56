// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's own cost: the same operations with a module that does nothing else
 * (floor/module.c).  In the emulator only, with vperfctr unloaded.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"
#include "floor/floor.h"

static int floor_fd = -1;

static int open_device(void)
{
	return must("/dev/vperfctr-floor", call_open("/dev/vperfctr-floor",
						     O_RDONLY | O_CLOEXEC));
}

static void check(void)
{
	close(open_device());
}

/* Get a descriptor and map its page. */
static void floor_open(struct group *g, unsigned int n, enum set set, bool map)
{
	(void)n;
	(void)set;
	(void)map;
	g->fd[0] = must_ioctl(floor_fd, FLOOR_MAKE, 0);
	g->page[0] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, g->fd[0], 0);
	if (g->page[0] == MAP_FAILED)
		die("mmap: %s", strerror(errno));
}

static void floor_close(struct group *g)
{
	munmap(g->page[0], PAGE);
	close(g->fd[0]);
}

/* A handler that makes an ioctl, as one that asks for the mask of overflows. */
static void handle_signal(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	(void)context;
	signals++;
	must_ioctl(floor_fd, FLOOR_NOTHING, 0);
}

static void floor_signal(void *arg)
{
	struct sigaction action = { .sa_sigaction = handle_signal, .sa_flags = SA_SIGINFO };

	(void)arg;
	if (sigaction(SIGIO, &action, NULL))
		die("sigaction: %s", strerror(errno));
	floor_fd = open_device();
	must_ioctl(floor_fd, FLOOR_COUNT, FLOOR_SIGNAL);
	measure_overflows("overflow_signal.floor", &signals);
	close(floor_fd);
}

static void floor_nmi(void *arg)
{
	(void)arg;
	floor_fd = open_device();
	must_ioctl(floor_fd, FLOOR_COUNT, FLOOR_NMI);
	measure_overflows("overflow_ring.floor", NULL);
	close(floor_fd);
}

static void floor_overflows(void)
{
	in_child(floor_signal, NULL);
	in_child(floor_nmi, NULL);
}

void measure_floor(void)
{
	struct meter opens = { }, closes = { };
	struct group g;

	progress("the kernel's own cost");
	floor_fd = open_device();
	while (opens.n < REPEATS) {
		meter_begin(&opens);
		side->open(&g, 1, SET_A, true);
		meter_end(&opens);
		meter_begin(&closes);
		side->close(&g);
		meter_end(&closes);
	}
	emit_meter(&opens, 0, "open.n%u.floor", 1);
	emit_meter(&closes, 0, "close.n%u.floor", 1);
	close(floor_fd);
	side->overflows();
}

const struct side floor_side = {
	.name		= "floor",
	.check		= check,
	.open		= floor_open,
	.close		= floor_close,
	.overflows	= floor_overflows,
};
