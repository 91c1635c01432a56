// SPDX-License-Identifier: LGPL-2.1-or-later
/* Count events by name by perf_event_open(2), where the module cannot count. */
#include <linux/perf_event.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "family.h"

/* True if perf_event lets the caller count kernel mode. */
static bool may_count_kernel(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/*
 * Describe a processor with all counters that there can be.  perf_event chooses counters
 * itself, and knows which can count an event.
 */
static void describe(struct vperfctr_info *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->nrkinds = 1;
	info->nrctrs = VPERFCTR_MAX_CTRS;
	info->pmc_mask = UINT32_MAX;
	info->pmc_width = 48;
	info->arch_events = 0x7f;
	info->soft = (1 << VPERFCTR_NR_SOFT) - 1;
	info->features = VPERFCTR_FEATURE_INHERIT | VPERFCTR_FEATURE_RDTSC |
			 (may_count_kernel() ? VPERFCTR_FEATURE_KERNEL : 0);
	strcpy(info->cpu_name, "perf_event");
	__vperfctr_set_native(info);
}

int vperfctr_perf_info_sized(struct vperfctr_info *info, size_t size)
{
	struct vperfctr_info all;

	if (!__vperfctr_is_size(size, INFO_SIZE_VER0))
		return -EINVAL;
	describe(&all);
	__vperfctr_put_struct(info, size, &all, sizeof(all));
	if (size < all.size)
		info->size = (uint32_t)size;
	return 0;
}

/* Return perf_event's number of a generic event. */
static uint64_t hardware_config(uint32_t arch)
{
	static const struct {
		uint32_t arch;
		enum perf_hw_id id;
	} events[] = {
		{ VPERFCTR_EVENT_CYCLES, PERF_COUNT_HW_CPU_CYCLES },
		{ VPERFCTR_EVENT_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS },
		{ VPERFCTR_EVENT_REF_CYCLES, PERF_COUNT_HW_REF_CPU_CYCLES },
		{ VPERFCTR_EVENT_CACHE_REFS, PERF_COUNT_HW_CACHE_REFERENCES },
		{ VPERFCTR_EVENT_CACHE_MISSES, PERF_COUNT_HW_CACHE_MISSES },
		{ VPERFCTR_EVENT_BRANCHES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ VPERFCTR_EVENT_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_MISSES },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events) - 1; i++)
		if (events[i].arch == arch)
			break;
	return events[i].id;
}

/* perf_event's software events, in the order of VPERFCTR_SOFT_*. */
static const enum perf_sw_ids software[VPERFCTR_NR_SOFT] = {
	PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,
	PERF_COUNT_SW_PAGE_FAULTS_MIN, PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};

/* Translate an event to one or, of page faults, two of perf_event.  Returns their number. */
static unsigned int translate(struct __vperfctr_perf_event *to, const struct vperfctr_event *event,
			      const struct family *f)
{
	const bool generic = __vperfctr_is_generic(event);
	unsigned int i, nr = 0;

	for (i = 0; i < VPERFCTR_NR_SOFT; i++) {
		if (!(event->soft >> i & 1))
			continue;
		memset(&to[nr], 0, sizeof(to[nr]));
		to[nr].type = PERF_TYPE_SOFTWARE;
		to[nr].config = software[i];
		to[nr].soft = 1U << i;
		to[nr].user = 1;
		/* The time has no mode; the other events happen in the kernel. */
		to[nr].kernel = i != 0;
		nr++;
	}
	if (nr)
		return nr;
	memset(to, 0, sizeof(*to));
	/* By a generic name, perf may count another event than by the code that it has here. */
	to->type = generic ? PERF_TYPE_HARDWARE : PERF_TYPE_RAW;
	to->config = generic ? hardware_config(event->arch) : event->code;
	to->config1 = generic ? 0 : event->aux;
	if (f->to_perf && !generic)
		f->to_perf(to, event);
	to->user = !!(event->modes & VPERFCTR_MODE_USER);
	to->kernel = !!(event->modes & VPERFCTR_MODE_KERNEL);
	return 1;
}

static int read_paranoid(void)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int n = -1;

	if (f) {
		if (fscanf(f, "%d", &n) != 1)
			n = -1;
		fclose(f);
	}
	return n;
}

/* Explain why perf_event cannot count either. */
static int explain(int err, const char *names, struct vperfctr_why *why)
{
	switch (err) {
	case -EACCES:
	case -EPERM:
		return __vperfctr_refuse(why, -ENODEV,
					 "perf_event may not be used, as kernel.perf_event_paranoid is %d, or a container forbids it",
					 read_paranoid());
	case -ENOENT:
	case -ENODEV:
	case -ENOSYS:
	case -EOPNOTSUPP:
		return __vperfctr_refuse(why, -ENODEV,
					 "perf_event cannot count '%.400s': it has no such event, or there is no PMU, as in many virtual machines",
					 names);
	case -EINVAL:
		return __vperfctr_refuse(why, -ENOSPC,
					 "perf_event cannot count '%.400s' at once: there are not enough counters, or one of the events does not exist",
					 names);
	default:
		return vperfctr_why(err, VPERFCTR_WHY_PERF, NULL, why);
	}
}

/*
 * Let a clock make samples.  They are taken where the time passes, also in the kernel, unless the
 * caller may not see that.  For CPUs it is another clock, which runs whatever they do.
 */
static void sample_clock(struct __vperfctr_perf_event *clock, bool cpus, bool kernel)
{
	if (cpus)
		clock->config = PERF_COUNT_SW_CPU_CLOCK;
	clock->kernel = kernel;
}

#define PERF_FLAGS	(VPERFCTR_PERF_EXEC | VPERFCTR_PERF_INHERIT | VPERFCTR_PERF_RAW | \
			 VPERFCTR_PERF_STOPPED | VPERFCTR_PERF_NS)
#define MAX_GROUPS	(1U << 20)

/* True if -1 is the only number, and no other one is negative. */
static bool is_list(const int *number, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (number[i] < -1 || (number[i] == -1 && nr > 1))
			return false;
	return nr;
}

static bool has_periods(const struct vperfctr_perf_place *place, int nr)
{
	int i;

	for (i = 0; place->period && i < nr; i++)
		if (place->period[i])
			return true;
	return false;
}

/* Check the arguments.  nr: of events */
static int check_place(const struct vperfctr_perf_place *place, const struct vperfctr_event *event,
		       int nr, unsigned int flags, struct vperfctr_why *why)
{
	int i;

	if (flags & ~PERF_FLAGS || (flags & VPERFCTR_PERF_EXEC && flags & VPERFCTR_PERF_STOPPED))
		return __vperfctr_refuse(why, -EINVAL, "these flags do not exist, or exclude each other");
	if (!is_list(place->tid, place->nrtids) || !is_list(place->cpu, place->nrcpus) ||
	    (place->tid[0] < 0 && place->cpu[0] < 0) || place->nrtids > MAX_GROUPS / place->nrcpus)
		return __vperfctr_refuse(why, -EINVAL, "the threads and CPUs to be counted are no valid lists");
	if (!has_periods(place, nr))
		return 0;
	if (!place->sample || !__vperfctr_is_size(place->sample->size, PERF_ATTR_SIZE_VER0))
		return __vperfctr_refuse(why, -EINVAL, "the attributes of samples are missing, or do not have their size");
	if (__vperfctr_check_rest(place->sample, place->sample->size, sizeof(*place->sample)))
		return __vperfctr_refuse(why, -E2BIG, "the attributes of samples have fields that this library does not know");
	for (i = 0; i < nr; i++)
		if (place->period[i] && event[i].soft && event[i].soft != VPERFCTR_SOFT_TASK_CLOCK)
			return __vperfctr_refuse(why, -EINVAL, "'%s' makes no samples: of the software events, only task-clock does",
						 event[i].name);
	return 0;
}

/* True if perf_event has this CPU now.  A CPU that it may not count is one. */
static bool has_cpu(pid_t tid, int cpu)
{
	static const struct __vperfctr_perf_event dummy = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .user = 1,
	};
	const pid_t thread = tid < 0 ? tid : 0;
	const struct vperfctr_perf_place place = {
		.tid = &thread, .cpu = &cpu, .nrtids = 1, .nrcpus = 1,
	};
	struct vperfctr *v;
	int err = __vperfctr_open_perf_at(&v, &dummy, 1, &place, sizeof(place), VPERFCTR_PERF_STOPPED);

	vperfctr_close(v);
	return err != -EINVAL && err != -ENODEV;
}

/*
 * perf_event_open(2) has the same errors for a CPU that does not exist, or is offline, as for events
 * that do not exist, or fit: find out which it is.
 */
static int explain_at(int err, const char *names, const struct vperfctr_perf_place *place,
		      struct vperfctr_why *why)
{
	unsigned int i;

	for (i = 0; i < place->nrcpus && (err == -EINVAL || err == -ENODEV); i++)
		if (place->cpu[i] >= 0 && !has_cpu(place->tid[0], place->cpu[i]))
			return __vperfctr_refuse(why, -ENXIO,
						 "there is no CPU %d, or it is offline: /sys/devices/system/cpu/online has those that there are",
						 place->cpu[i]);
	return explain(err, names, why);
}

/* True if the handle is like that of vperfctr_count(). */
static bool is_own_thread(const struct vperfctr_perf_place *place)
{
	return place->nrtids == 1 && !place->tid[0] && place->nrcpus == 1 && place->cpu[0] < 0 &&
	       !place->sample;
}

int vperfctr_perf_open_at_sized(struct vperfctr **v, const char *names,
				const struct vperfctr_perf_place *at, size_t size,
				unsigned int flags, struct vperfctr_why *why)
{
	struct vperfctr_perf_place all;
	const struct vperfctr_perf_place *place = &all;
	/* Page faults are two events. */
	struct __vperfctr_perf_event perf[2 * VPERFCTR_MAX_CTRS];
	struct vperfctr_event event[VPERFCTR_MAX_CTRS];
	struct vperfctr_info info;
	unsigned int nr = 0;
	int i, n, err;

	*v = NULL;
	if (!__vperfctr_is_size(size, __VPERFCTR_SIZE_WITH(struct vperfctr_perf_place, sample)))
		return __vperfctr_refuse(why, -EINVAL, "a place has not %zu bytes", size);
	err = __vperfctr_get_struct(&all, sizeof(all), at, size);
	if (err)
		return __vperfctr_refuse(why, err, "the place to count has fields that this library does not know");
	describe(&info);
	n = __vperfctr_parse_names(event, names, &info, why);
	if (n < 0)
		return n;
	err = check_place(place, event, n, flags, why);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		nr += translate(&perf[nr], &event[i], __vperfctr_family(&info));
		if (!place->period || !place->period[i])
			continue;
		perf[nr - 1].period = place->period[i];
		if (event[i].soft)
			sample_clock(&perf[nr - 1], place->tid[0] < 0,
				     info.features & VPERFCTR_FEATURE_KERNEL &&
				     !place->sample->exclude_kernel);
	}
	if (is_own_thread(place))
		err = __vperfctr_open_perf(v, perf, nr, 0, flags & ~VPERFCTR_PERF_RAW);
	else
		err = __vperfctr_open_perf_at(v, perf, nr, place, sizeof(*place),
					      flags & ~VPERFCTR_PERF_RAW);
	return err && !(flags & VPERFCTR_PERF_RAW) ? explain_at(err, names, place, why) : err;
}

int vperfctr_perf_open(struct vperfctr **v, const char *names, pid_t tid, unsigned int flags,
		       struct vperfctr_why *why)
{
	const int any = -1;
	const struct vperfctr_perf_place place = {
		.tid = &tid, .cpu = &any, .nrtids = 1, .nrcpus = 1,
	};

	return vperfctr_perf_open_at(v, names, &place, flags, why);
}
