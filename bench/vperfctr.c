// SPDX-License-Identifier: GPL-2.0
/* vperfctr's side, with the system calls and not the library. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/vperfctr.h>

#include "bench.h"

int vperfctr_dev = -1;

static struct vperfctr_info info = { .size = sizeof(info) };

struct request {
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[MAX_N];
};

/* Prepared requests, as in a program that alternates between them. */
static struct request requests[2][MAX_N + 1];

static inline __attribute__((always_inline)) void make_request(struct request *r, unsigned int n,
							       enum set set)
{
	unsigned int i;

	*r = (struct request) {
		.control = {
			.size = sizeof(r->control),
			.tsc_on = 1,
			.nractrs = n,
			.ctr_size = sizeof(r->ctr[0]),
			.ctr = (uintptr_t)r->ctr,
		},
	};
	for (i = 0; i < n; i++) {
		r->ctr[i].map = i;
		r->ctr[i].evntsel = user_evntsel(events[set][i]);
	}
}

static int send_control(int fd, unsigned int n, enum set set)
{
	struct request r;

	make_request(&r, n, set);
	return call3(SYS_ioctl, fd, VPERFCTR_CONTROL, (long)&r.control);
}

static void check(void)
{
	struct vperfctr_open req = { .size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT };
	unsigned int n;
	int fd, err;

	for (n = 0; n <= MAX_N; n++) {
		make_request(&requests[SET_A][n], n, SET_A);
		make_request(&requests[SET_B][n], n, SET_B);
	}
	vperfctr_dev = open("/dev/vperfctr", O_RDONLY | O_CLOEXEC);
	if (vperfctr_dev < 0)
		die("the module is not loaded, or access is denied (/dev/vperfctr: %s)",
		    strerror(errno));
	must_ioctl(vperfctr_dev, VPERFCTR_INFO, &info);
	if (__builtin_popcountll(info.pmc_mask) < MAX_N)
		die("nothing can be measured: the PMU has fewer than %u general counters",
		    MAX_N);
	fd = must_ioctl(vperfctr_dev, VPERFCTR_OPEN, &req);
	err = send_control(fd, 1, SET_A);
	if (err == -EBUSY)
		die("perf or the NMI watchdog has the counters: sysctl kernel.nmi_watchdog=0");
	must("VPERFCTR_CONTROL", err);
	must_ioctl(fd, VPERFCTR_UNLINK, 0);
	close(fd);
}

u32 vperfctr_features(void)
{
	return info.features;
}

bool vperfctr_isolated(void)
{
	return info.features & VPERFCTR_FEATURE_ISOLATE;
}

bool vperfctr_counts_cpus(void)
{
	return info.features & VPERFCTR_FEATURE_CPUS;
}

/* As the library, which keeps a descriptor of the device. */
static void open_state(struct group *g, unsigned int n, enum set set, bool map, u32 flags)
{
	struct vperfctr_open req = { .size = sizeof(req), .flags = VPERFCTR_OPEN_CREAT | flags };

	g->n = n;
	g->mapped = map;
	g->fd[0] = must_ioctl(vperfctr_dev, VPERFCTR_OPEN, &req);
	if (map) {
		g->page[0] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, g->fd[0], 0);
		if (g->page[0] == MAP_FAILED)
			die("mmap: %s", strerror(errno));
	}
	must("VPERFCTR_CONTROL", send_control(g->fd[0], n, set));
}

/* The state ends with its descriptor, as an event of perf. */
static void side_open(struct group *g, unsigned int n, enum set set, bool map)
{
	open_state(g, n, set, map, VPERFCTR_OPEN_TRANSIENT);
}

/* The thread's own state, and those of observers beside it. */
static void side_open_each(struct group *g, unsigned int n, enum set set, bool map)
{
	unsigned int i;

	g->n = n;
	g->mapped = map;
	for (i = 0; i < n; i++) {
		struct vperfctr_open req = {
			.size = sizeof(req),
			.flags = VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT | (i ? VPERFCTR_OPEN_OBSERVER : 0),
		};
		struct request r;

		make_request(&r, i + 1, set);
		r.ctr[0] = r.ctr[i];
		r.control.nractrs = 1;
		g->fd[i] = must_ioctl(vperfctr_dev, VPERFCTR_OPEN, &req);
		if (map) {
			g->page[i] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, g->fd[i], 0);
			if (g->page[i] == MAP_FAILED)
				die("mmap: %s", strerror(errno));
		}
		must_ioctl(g->fd[i], VPERFCTR_CONTROL, &r.control);
	}
}

static void side_open_inherited(struct group *g, unsigned int n)
{
	struct request r;

	side_open(g, n, SET_A, false);
	make_request(&r, n, SET_A);
	r.control.flags = VPERFCTR_CONTROL_INHERIT;
	must_ioctl(g->fd[0], VPERFCTR_CONTROL, &r.control);
}

static void side_open_cpu(unsigned int cpu, unsigned int n)
{
	u32 mask = 1U << cpu;
	struct vperfctr_open_cpus req = {
		.size = sizeof(req), .nrwords = 1, .mask = (uintptr_t)&mask,
	};
	int fd = must_ioctl(vperfctr_dev, VPERFCTR_OPEN_CPUS, &req);

	must("VPERFCTR_CONTROL", send_control(fd, n, SET_A));
}

void vperfctr_leave_state(void)
{
	struct group g;

	open_state(&g, 1, SET_A, false, 0);
	close(g.fd[0]);
}

static void open_device(void)
{
	int dev = must("open", call_open("/dev/vperfctr", O_RDONLY | O_CLOEXEC));

	call3(SYS_close, dev, 0, 0);
}

static void side_close(struct group *g)
{
	if (g->mapped)
		munmap(g->page[0], PAGE);
	close(g->fd[0]);
}

static void side_suspend(struct group *g)
{
	must_ioctl(g->fd[0], VPERFCTR_SUSPEND, 0);
}

static void side_resume(struct group *g)
{
	must_ioctl(g->fd[0], VPERFCTR_RESUME, 0);
}

static void side_control(struct group *g, enum set set)
{
	must_ioctl(g->fd[0], VPERFCTR_CONTROL, &requests[set][g->n].control);
}

static u64 side_read(struct group *g)
{
	u64 sums[1 + MAX_N];
	struct vperfctr_read req = {
		.size = sizeof(req),
		.nrctrs = MAX_N,
		.sums = (uintptr_t)sums,
	};

	must_ioctl(g->fd[0], VPERFCTR_READ, &req);
	return sums[1];
}

const struct side vperfctr_side = {
	.name		= "vperfctr",
	.check		= check,
	.open		= side_open,
	.open_each	= side_open_each,
	.open_inherited	= side_open_inherited,
	.open_cpu	= side_open_cpu,
	.open_device	= open_device,
	.close		= side_close,
	.suspend	= side_suspend,
	.resume		= side_resume,
	.control	= side_control,
	.control_running = side_control,
	.control_other	= side_control,
	.read		= side_read,
	.self_reads	= vperfctr_self_reads,
	.overflows	= vperfctr_overflows,
};
