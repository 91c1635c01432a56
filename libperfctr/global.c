// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Counters of CPUs instead of threads.  Each CPU can have another control, so each that has one
 * has a descriptor of the kernel's.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

#define MIN_INTERVAL	10000	/* perfctr's shortest sampling interval, in microseconds */

struct cpu {
	int fd;			/* -1: no control yet */
	int active;		/* counts after gperfctr_start() */
	int started;		/* there are sums of this control */
	struct perfctr_cpu_control control;
};

/* Calls get a const handle, as in perfctr, so what they change is allocated apart. */
struct gperfctr {
	int dev;
	unsigned int nrcpus;	/* numbers below this may be CPUs */
	struct cpu *cpu;
	int *running;		/* started, and not stopped */
};

static unsigned int count_active(const struct gperfctr *g)
{
	unsigned int i, nr = 0;

	for (i = 0; i < g->nrcpus; i++)
		nr += g->cpu[i].active;
	return nr;
}

/* Allocate the CPUs that there can be.  Return: 0 or a negative error number. */
static int make_cpus(struct gperfctr *g)
{
	struct perfctr_cpus_info *info = perfctr_cpus_info(g->dev);
	unsigned int i;

	if (!info)
		return -errno;
	g->nrcpus = 32 * info->cpus->nrwords;
	free(info);
	g->cpu = calloc(g->nrcpus, sizeof(*g->cpu));
	g->running = calloc(1, sizeof(*g->running));
	if (!g->cpu || !g->running)
		return -ENOMEM;
	for (i = 0; i < g->nrcpus; i++)
		g->cpu[i].fd = -1;
	return 0;
}

static int open_cpus(struct gperfctr *g)
{
	struct vperfctr_info info;
	int err;

	g->dev = __perfctr_device_open(O_CLOEXEC);
	if (g->dev < 0)
		return g->dev;
	err = __perfctr_kernel_info(g->dev, &info);
	if (err)
		return err;
	if (!(info.features & VPERFCTR_FEATURE_CPUS))
		return -ENOSYS;
	return make_cpus(g);
}

struct gperfctr *gperfctr_open(void)
{
	struct gperfctr *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return NULL;
	g->dev = -1;
	err = open_cpus(g);
	if (!err)
		return g;
	gperfctr_close(g);
	errno = -err;
	return NULL;
}

void gperfctr_close(struct gperfctr *g)
{
	unsigned int i;

	if (!g)
		return;
	for (i = 0; g->cpu && i < g->nrcpus; i++)
		if (g->cpu[i].fd >= 0)
			close(g->cpu[i].fd);
	if (g->dev >= 0)
		close(g->dev);
	free(g->cpu);
	free(g->running);
	free(g);
}

/* Return: a descriptor of this CPU, or a negative error number. */
static int open_cpu(const struct gperfctr *g, unsigned int cpu)
{
	struct vperfctr_open_cpus arg = { .size = sizeof(arg), .nrwords = cpu / 32 + 1 };
	unsigned int *mask = calloc(arg.nrwords, sizeof(*mask));
	int fd;

	if (!mask)
		return -ENOMEM;
	mask[cpu / 32] = 1U << cpu % 32;
	arg.mask = (uintptr_t)mask;
	fd = __perfctr_ioctl(g->dev, VPERFCTR_OPEN_CPUS, &arg);
	free(mask);
	/* There is no such CPU. */
	return fd == -ENODEV ? -EINVAL : fd;
}

/*
 * Try a control, as perfctr refused invalid ones before the start.  The counters may be busy
 * until then.
 */
static int try_control(int fd, const struct perfctr_cpu_control *control)
{
	int err = __perfctr_control_cpus(fd, control);

	if (!err)
		err = __perfctr_stop(fd);
	return err == -EBUSY ? 0 : err;
}

static int set_control(const struct gperfctr *g, unsigned int nr,
		       const struct perfctr_cpu_control *control)
{
	struct cpu *cpu = &g->cpu[nr];
	int err = 0;

	if (cpu->fd < 0) {
		err = open_cpu(g, nr);
		if (err < 0)
			return err;
		cpu->fd = err;
	}
	cpu->active = cpu->started = 0;
	memset(&cpu->control, 0, sizeof(cpu->control));
	if (!control->nractrs && !control->tsc_on)
		return 0;
	err = try_control(cpu->fd, control);
	if (err)
		return err;
	cpu->control = *control;
	cpu->active = 1;
	return 0;
}

int gperfctr_control(const struct gperfctr *g, struct gperfctr_cpu_control *control)
{
	int err;

	if (control->cpu >= g->nrcpus)
		return __perfctr_result(-EINVAL);
	if (control->cpu_control.nrictrs)
		return __perfctr_result(-EPERM);
	if (*g->running)
		return __perfctr_result(-EBUSY);
	err = set_control(g, control->cpu, &control->cpu_control);
	return __perfctr_result(err ? err : (int)count_active(g));
}

static void stop_cpus(const struct gperfctr *g)
{
	unsigned int i;

	for (i = 0; i < g->nrcpus; i++)
		if (g->cpu[i].started)
			__perfctr_stop(g->cpu[i].fd);
	*g->running = 0;
}

/* All CPUs, or none. */
int gperfctr_start(const struct gperfctr *g, unsigned int interval_usec)
{
	unsigned int i, nr = count_active(g);
	int err;

	if (interval_usec && interval_usec < MIN_INTERVAL)
		return __perfctr_result(-EINVAL);
	for (i = 0; i < g->nrcpus && nr && !*g->running; i++) {
		struct cpu *cpu = &g->cpu[i];

		if (!cpu->active)
			continue;
		err = __perfctr_control_cpus(cpu->fd, &cpu->control);
		if (err) {
			stop_cpus(g);
			return __perfctr_result(err);
		}
		cpu->started = 1;
	}
	*g->running = nr > 0;
	return (int)nr;
}

/* The sums and the controls remain, and all CPUs need new controls. */
int gperfctr_stop(const struct gperfctr *g)
{
	unsigned int i;

	stop_cpus(g);
	for (i = 0; i < g->nrcpus; i++)
		g->cpu[i].active = 0;
	return 0;
}

int gperfctr_read(const struct gperfctr *g, struct gperfctr_cpu_state *state)
{
	const unsigned int nr = state->cpu;
	const struct cpu *cpu;
	int fd;

	if (nr >= g->nrcpus)
		return __perfctr_result(-EINVAL);
	cpu = &g->cpu[nr];
	memset(state, 0, sizeof(*state));
	state->cpu = nr;
	state->cpu_control = cpu->control;
	if (cpu->started)
		return __perfctr_result(__perfctr_read_cpu(cpu->fd, &state->sum));
	if (cpu->fd >= 0)
		return 0;
	/* It has no sums; it must be a CPU. */
	fd = open_cpu(g, nr);
	if (fd >= 0)
		close(fd);
	return __perfctr_result(fd < 0 ? fd : 0);
}

int gperfctr_info(const struct gperfctr *g, struct perfctr_info *info)
{
	return perfctr_info(g->dev, info);
}

struct perfctr_cpus_info *gperfctr_cpus_info(const struct gperfctr *g)
{
	return perfctr_cpus_info(g->dev);
}
