// SPDX-License-Identifier: GPL-2.0
/*
 * perf_event's side: a group of events of one task.  The cheapest way to start and
 * stop the group is by its leader alone.  The other way, one event after the other,
 * is measured too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

/* pid: 0: this task on any CPU; -1: all that runs on the CPU */
static int open_event(unsigned int event, long pid, long cpu, int leader, bool inherit)
{
	struct perf_event_attr attr = {
		.type = perf_type(event),
		.size = sizeof(attr),
		.config = perf_config(event),
		.inherit = inherit,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		/* some kernels have not both */
		.read_format = inherit ? 0 : PERF_FORMAT_GROUP,
	};

	return call5(SYS_perf_event_open, (long)&attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

static void check(void)
{
	int fd = open_event(events[SET_A][0], 0, -1, -1, false);

	if (fd < 0)
		die("perf_event cannot count hardware events here: %s", strerror(-fd));
	close(fd);
}

static void open_events(struct group *g, unsigned int n, enum set set, bool map, bool grouped)
{
	unsigned int i;

	g->n = n;
	g->mapped = map;
	for (i = 0; i < n; i++) {
		g->fd[i] = must("perf_event_open",
				open_event(events[set][i], 0, -1, i && grouped ? g->fd[0] : -1,
					   false));
		if (!map)
			continue;
		g->page[i] = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, g->fd[i], 0);
		if (g->page[i] == MAP_FAILED)
			die("mmap: %s", strerror(errno));
	}
}

static void side_open(struct group *g, unsigned int n, enum set set, bool map)
{
	open_events(g, n, set, map, true);
}

static void side_open_each(struct group *g, unsigned int n, enum set set, bool map)
{
	open_events(g, n, set, map, false);
}

static void side_open_inherited(struct group *g, unsigned int n)
{
	unsigned int i;

	g->n = n;
	g->mapped = false;
	for (i = 0; i < n; i++)
		g->fd[i] = must("perf_event_open", open_event(events[SET_A][i], 0, -1,
							      i ? g->fd[0] : -1, true));
}

static void side_open_cpu(unsigned int cpu, unsigned int n)
{
	int leader = -1, fd;
	unsigned int i;

	for (i = 0; i < n; i++) {
		fd = must("perf_event_open", open_event(events[SET_A][i], -1, cpu, leader, false));
		leader = i ? leader : fd;
	}
}

static void side_close(struct group *g)
{
	unsigned int i = g->n;

	while (i--) {
		if (g->mapped)
			munmap(g->page[i], PAGE);
		close(g->fd[i]);
	}
}

static void side_suspend(struct group *g)
{
	must_ioctl(g->fd[0], PERF_EVENT_IOC_DISABLE, 0);
}

static void side_resume(struct group *g)
{
	must_ioctl(g->fd[0], PERF_EVENT_IOC_ENABLE, 0);
}

static void side_suspend_each(struct group *g)
{
	must_ioctl(g->fd[0], PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

static void side_resume_each(struct group *g)
{
	must_ioctl(g->fd[0], PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

static void side_control(struct group *g, enum set set)
{
	(void)set;	/* the configuration of an event cannot change */
	must_ioctl(g->fd[0], PERF_EVENT_IOC_RESET, PERF_IOC_FLAG_GROUP);
	must_ioctl(g->fd[0], PERF_EVENT_IOC_ENABLE, 0);
}

static void side_control_running(struct group *g, enum set set)
{
	must_ioctl(g->fd[0], PERF_EVENT_IOC_DISABLE, 0);
	side_control(g, set);
}

static void side_control_other(struct group *g, enum set set)
{
	side_close(g);
	side_open(g, g->n, set, g->mapped);
}

static u64 side_read(struct group *g)
{
	u64 values[1 + MAX_N];

	must("read", call3(SYS_read, g->fd[0], (long)values, sizeof(values)));
	return values[1];
}

const struct side perf_side = {
	.name		= "perf_event",
	.check		= check,
	.open		= side_open,
	.open_each	= side_open_each,
	.open_inherited	= side_open_inherited,
	.open_cpu	= side_open_cpu,
	.close		= side_close,
	.suspend	= side_suspend,
	.resume		= side_resume,
	.suspend_each	= side_suspend_each,
	.resume_each	= side_resume_each,
	.control	= side_control,
	.control_running = side_control_running,
	.control_other	= side_control_other,
	.read		= side_read,
	.self_reads	= perf_self_reads,
	.overflows	= perf_overflows,
};
