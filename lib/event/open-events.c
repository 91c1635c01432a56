// SPDX-License-Identifier: LGPL-2.1-or-later
/* Count events by name: all that most programs need, in one call. */
#include <stdio.h>
#include <stdlib.h>

#include "../affinity.h"
#include "event.h"

/* Return the length of the first name in a list that commas separate. */
static size_t name_length(const char *list)
{
	return strcspn(list, ",");
}

int __vperfctr_parse_names(struct vperfctr_event *event, const char *names,
			   const struct vperfctr_info *info, struct vperfctr_why *why)
{
	char name[sizeof(event->name)];
	int nr = 0, err;
	size_t len;

	for (;;) {
		len = name_length(names);
		if (nr == VPERFCTR_MAX_CTRS)
			return __vperfctr_refuse(why, -EINVAL, "too many events: %u at most",
						 VPERFCTR_MAX_CTRS);
		if (len >= sizeof(name))
			return __vperfctr_refuse(why, -ENAMETOOLONG,
						 "the event name '%.40s...' is too long", names);
		memcpy(name, names, len);
		name[len] = '\0';
		err = vperfctr_event(&event[nr++], name, info, why);
		if (err)
			return err;
		if (!names[len])
			return nr;
		names += len + 1;
	}
}

/* More kinds than any module has. */
#define MAX_KINDS	16

/* Take out the counters that other states of the thread use; beside: also those of its own state. */
static void leave_to_others(struct vperfctr_info *info, bool beside)
{
	info->pmc_mask &= ~(info->used_pmcs | (beside ? info->own_pmcs : 0));
	info->fixed_mask &= ~(info->used_fixed | (beside ? info->own_fixed : 0));
}

/* Describe one kind, or all.  Returns the number of kinds, or a negative error number. */
static int describe_kinds(struct vperfctr_info *info, unsigned int kind, bool beside)
{
	const bool any = kind == VPERFCTR_ANY_KIND;
	unsigned int i, nr = 1;
	int err;

	for (i = 0; i < nr; i++) {
		err = vperfctr_info(&info[i], any ? i : kind);
		if (err)
			return err;
		leave_to_others(&info[i], beside);
		if (any && info->features & VPERFCTR_FEATURE_ANY_KIND)
			nr = info->nrkinds < MAX_KINDS ? info->nrkinds : MAX_KINDS;
	}
	return (int)nr;
}

/*
 * Return element i of an array of descriptions, whose elements have the size that the first one
 * says.
 */
static struct vperfctr_info *nth(struct vperfctr_info *info, unsigned int i)
{
	return (struct vperfctr_info *)((char *)info + (size_t)i * info->size);
}

void vperfctr_event_common(struct vperfctr_info *info, unsigned int nr)
{
	uint64_t pmc_mask = info->pmc_mask, fixed_mask = info->fixed_mask;
	uint32_t nrctrs = info->nrctrs;
	unsigned int i;

	for (i = 1; i < nr; i++) {
		pmc_mask &= nth(info, i)->pmc_mask;
		fixed_mask &= nth(info, i)->fixed_mask;
		if (nth(info, i)->nrctrs < nrctrs)
			nrctrs = nth(info, i)->nrctrs;
	}
	for (i = 0; i < nr; i++) {
		nth(info, i)->pmc_mask = pmc_mask;
		nth(info, i)->fixed_mask = fixed_mask;
		nth(info, i)->nrctrs = nrctrs;
	}
}

/* Choose counters for the names, but not for software events, and list these in *soft. */
static int choose_table(struct vperfctr_ctr *table, uint64_t *soft, const char *names,
			const struct vperfctr_info *info, struct vperfctr_why *why)
{
	struct vperfctr_event event[VPERFCTR_MAX_CTRS];
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	int nr, i, n = 0, err;

	nr = __vperfctr_parse_names(event, names, info, why);
	if (nr < 0)
		return nr;
	err = vperfctr_event_assign(ctr, event, (unsigned int)nr, info, why);
	if (err)
		return err;
	*soft = 0;
	for (i = 0; i < nr; i++) {
		if (event[i].soft)
			*soft |= event[i].soft;
		else
			table[n++] = ctr[i];
	}
	return n;
}

/* The beginning of a reason: the processor may have more counters than are left. */
struct others {
	char text[256];
};

/* Name the counters that other states of the thread have, if they may be the reason for an error. */
static const char *name_others(struct others *others, const struct vperfctr_info *info, bool beside,
			       int err)
{
	const uint64_t pmcs = info->used_pmcs | (beside ? info->own_pmcs : 0);
	const uint64_t fixed = info->used_fixed | (beside ? info->own_fixed : 0);
	char counters[128];

	*others->text = '\0';
	if ((err != -ENOSPC && err != -EOPNOTSUPP) || !(pmcs | fixed))
		return others->text;
	__vperfctr_describe(counters, sizeof(counters), pmcs, fixed);
	snprintf(others->text, sizeof(others->text),
		 "beside the counters by which others count this thread (%s): ", counters);
	return others->text;
}

/* Fill in a control by names, with this library's structures. */
static int fill_control(struct vperfctr_control *control, struct vperfctr_ctr *ctr,
			unsigned int room, const char *names, unsigned int kind, bool beside,
			struct vperfctr_why *why)
{
	struct vperfctr_ctr table[VPERFCTR_MAX_CTRS];
	struct vperfctr_info info[MAX_KINDS];
	struct others others;
	int i, k, n, nrkinds;
	uint64_t soft = 0;

	nrkinds = describe_kinds(info, kind, beside);
	if (nrkinds == -EINVAL)
		return __vperfctr_refuse(why, nrkinds, "there is no kind %u of CPUs", kind);
	if (nrkinds < 0)
		return vperfctr_why(nrkinds, VPERFCTR_WHY_OPEN, NULL, why);
	vperfctr_event_common(info, (unsigned int)nrkinds);
	vperfctr_control_init(control, ctr);
	control->tsc_on = !!(info[0].features & VPERFCTR_FEATURE_RDTSC);
	for (k = 0; k < nrkinds; k++) {
		struct vperfctr_why why_kind;

		n = choose_table(table, &soft, names, &info[k], &why_kind);
		if (n < 0 && nrkinds > 1)
			return __vperfctr_refuse(why, n, "on CPUs of kind %d: %s%s", k,
						 name_others(&others, &info[k], beside, n),
						 why_kind.text);
		if (n < 0)
			return __vperfctr_refuse(why, n, "%s%s",
						 name_others(&others, &info[k], beside, n),
						 why_kind.text);
		if ((unsigned int)(n * (k + 1)) > room)
			return __vperfctr_refuse(why, -EOVERFLOW,
						 "there is room for %u counter%s only", room,
						 room == 1 ? "" : "s");
		if (k && n) {
			vperfctr_control_add_kind(control, table);
			continue;
		}
		for (i = 0; i < n; i++)
			vperfctr_control_add_ctr(control, &table[i]);
		vperfctr_control_add_soft(control, soft);
		/* Without counters a control has no kind. */
		if (!n)
			break;
		control->kind = info[k].kind;
	}
	return 0;
}

int vperfctr_event_control_sized(struct vperfctr_control *control, size_t size,
				 struct vperfctr_ctr *ctr, size_t ctr_size, unsigned int room,
				 const char *names, unsigned int kind, struct vperfctr_why *why)
{
	struct vperfctr_ctr all[MAX_KINDS * VPERFCTR_MAX_CTRS];
	struct vperfctr_control filled;
	unsigned int i;
	int err;

	if (!__vperfctr_is_size(size, CONTROL_SIZE_VER0) ||
	    !__vperfctr_is_size(ctr_size, CTR_SIZE_VER0))
		return __vperfctr_refuse(why, -EINVAL, "a control has not %zu bytes, or a counter not %zu",
					 size, ctr_size);
	err = fill_control(&filled, all, room < ARRAY_SIZE(all) ? room : ARRAY_SIZE(all), names,
			   kind, false, why);
	if (err)
		return err;
	for (i = 0; i < (filled.nractrs + filled.nrictrs) * (filled.nrkinds ? filled.nrkinds : 1); i++)
		__vperfctr_put_struct((char *)ctr + i * ctr_size, ctr_size, &all[i], sizeof(all[i]));
	filled.size = (uint32_t)size;
	filled.ctr_size = (uint32_t)ctr_size;
	filled.ctr = (uintptr_t)ctr;
	__vperfctr_put_struct(control, size, &filled, sizeof(filled));
	return 0;
}

/* Return the only kind of CPUs that the calling thread may run on, or VPERFCTR_ANY_KIND. */
static unsigned int only_kind(void)
{
	unsigned int kind, only = VPERFCTR_ANY_KIND, found = 0;
	struct vperfctr_cpu_mask *mask;
	struct __vperfctr_cpus mine;
	uint32_t cpu;

	if (__vperfctr_get_affinity(&mine))
		return VPERFCTR_ANY_KIND;
	for (kind = 0; kind < MAX_KINDS && !vperfctr_kind_cpus(&mask, kind); kind++) {
		for (cpu = 0; cpu < mask->nrwords * 32 && cpu < __VPERFCTR_CPUS; cpu++)
			if (mask->mask[cpu / 32] >> cpu % 32 & 1 && __vperfctr_is_set(cpu, &mine))
				break;
		if (cpu < mask->nrwords * 32 && cpu < __VPERFCTR_CPUS) {
			only = kind;
			found++;
		}
		free(mask);
	}
	return found == 1 ? only : VPERFCTR_ANY_KIND;
}

/* True if this kind of CPUs, or the first of all, has no counters that the module may use. */
static bool lacks_counters(void)
{
	struct vperfctr_info info;

	return !vperfctr_info(&info, 0) && !info.nrctrs;
}

/* A control for the kinds of CPUs on which the calling thread may run. */
struct chosen {
	struct vperfctr_ctr ctr[MAX_KINDS * VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
};

static int choose(struct chosen *c, const char *names, bool beside, struct vperfctr_why *why)
{
	unsigned int kind;
	int err = fill_control(&c->control, c->ctr, ARRAY_SIZE(c->ctr), names, VPERFCTR_ANY_KIND,
			       beside, why);

	if (!err)
		return 0;
	kind = only_kind();
	if (kind == VPERFCTR_ANY_KIND)
		return err;
	/* If this kind can count them, that others cannot is no reason for anything. */
	why->text[0] = '\0';
	return fill_control(&c->control, c->ctr, ARRAY_SIZE(c->ctr), names, kind, beside, why);
}

static int open_chosen(struct vperfctr **v, const struct chosen *c, unsigned int flags,
		       struct vperfctr_why *why)
{
	int err = vperfctr_open_control(v, &c->control, flags);

	if (err)
		vperfctr_why(err, VPERFCTR_WHY_CONTROL, &c->control, why);
	return err;
}

/* An observer may attach between the choice and its use, but hardly that often. */
#define TRIES	8

/* Choose counters that other states of the thread do not have, and count. */
static int choose_and_open(struct vperfctr **v, const char *names, unsigned int flags,
			   struct vperfctr_why *why)
{
	unsigned int i = 0;
	struct chosen c;
	int err;

	do {
		err = choose(&c, names, flags & VPERFCTR_OPEN_OBSERVER, why);
		if (!err)
			err = open_chosen(v, &c, flags, why);
	} while (err == -EADDRINUSE && ++i < TRIES);
	/* The reason of an earlier try is none for this one. */
	if (!err)
		why->text[0] = '\0';
	return err;
}

/* True if observers have counters of the thread, so that there may be too few for this reason. */
static bool others_count(void)
{
	struct vperfctr_info info;

	return !vperfctr_info(&info, 0) && (info.used_pmcs | info.used_fixed);
}

/*
 * Count beside the thread's own state, which another part of the program has, by counters that it
 * does not use.  Returns -EEXIST if they do not suffice.
 */
static int open_beside(struct vperfctr **v, const char *names, struct vperfctr_why *why)
{
	struct vperfctr_why beside = { "" };
	int err = choose_and_open(v, names, VPERFCTR_OPEN_OBSERVER, &beside);

	switch (err) {
	case -ENOSPC:
	case -EINVAL:
	case -EOPNOTSUPP:
	case -EADDRINUSE:
	case -EXFULL:
		return __vperfctr_refuse(why, -EEXIST, "this thread has counters already, and by the others: %.800s",
					 beside.text);
	}
	*why = beside;
	return err;
}

/*
 * Count by the module.  *unusable: it cannot count for this caller now, whatever the events
 * are, so perf_event may.  Where the module refuses the events themselves, as they are not
 * exact or do not fit, perf_event must not count them.
 */
static int open_module(struct vperfctr **v, const char *names, bool *unusable,
		       struct vperfctr_why *why)
{
	int err = choose_and_open(v, names, VPERFCTR_OPEN_TRANSIENT, why);

	if (err == -EEXIST)
		err = open_beside(v, names, why);
	if (err == -EOPNOTSUPP && lacks_counters()) {
		*unusable = true;
		return __vperfctr_refuse(why, err, "the module has no counters here, as in many virtual machines");
	}
	switch (err) {
	case -ENODEV:
	case -EACCES:
	case -EPERM:
	case -EPROTONOSUPPORT:
	case -EEXIST:
	case -EAGAIN:
	case -EBUSY:
	case -EADDRINUSE:
	case -EXFULL:
	case -EMLINK:
		*unusable = true;
		break;
	case -ENOSPC:
	case -EOPNOTSUPP:
		*unusable = others_count();
	}
	return err;
}

/* True if perf_event itself has refused the events, and not the parser of names. */
static bool is_perfs_refusal(int err)
{
	switch (err) {
	case -EINVAL:
	case -ENOENT:
	case -EOPNOTSUPP:
	case -ENAMETOOLONG:
	case -EPERM:
		return false;
	default:
		return true;
	}
}

/*
 * Count by perf_event, as the module has refused for the reason in *why, which remains if that
 * succeeds.  If it does not, the reason is that of both.
 */
static int fall_back(struct vperfctr **v, const char *names, int refused, struct vperfctr_why *why)
{
	struct vperfctr_why perf;
	int err = vperfctr_perf_open(v, names, 0, 0, &perf);

	if (!err)
		return 0;
	if (refused == -ENODEV && err == -ENODEV)
		return __vperfctr_refuse(why, err, "there is no /dev/vperfctr: load the module (sudo modprobe vperfctr); %.850s",
					 perf.text);
	/* The module may not have looked at the names. */
	if (refused == -ENODEV || (refused != -EPERM && !is_perfs_refusal(err)))
		return __vperfctr_refuse(why, err, "%s", perf.text);
	/* That the counters are the thread's own is said already. */
	if (refused == -EEXIST && err == -EBUSY)
		strcpy(perf.text, "the module has the counters");
	/* The reason may be the same for both. */
	if ((refused != -EPERM || is_perfs_refusal(err)) && strcmp(why->text, perf.text)) {
		struct vperfctr_why module = *why;

		return __vperfctr_refuse(why, refused, "%.500s; and by perf_event: %.480s", module.text,
					 perf.text);
	}
	return refused;
}

#define BACKEND_VARIABLE	"VPERFCTR_BACKEND"

/* Let the environment choose, where the caller does not. */
static int choose_backend(unsigned int *flags, struct vperfctr_why *why)
{
	const char *name = *flags ? NULL : secure_getenv(BACKEND_VARIABLE);

	if (!name || !*name || !strcmp(name, "auto"))
		return 0;
	if (!strcmp(name, "module"))
		*flags = VPERFCTR_COUNT_MODULE;
	else if (!strcmp(name, "perf"))
		*flags = VPERFCTR_COUNT_PERF;
	else
		return __vperfctr_refuse(why, -EINVAL, "the environment variable " BACKEND_VARIABLE " is '%.40s', and may be auto, module or perf",
					 name);
	return 0;
}

/* Give the counters their names, which are those of the list without software events. */
static int name_counters(struct vperfctr *v, const char *names)
{
	char *counters = (char *)malloc(strlen(names) + 2), *end = counters;
	size_t len;
	int err;

	if (!counters)
		return -ENOMEM;
	*counters = '\0';
	for (; *names; names += len + (names[len] == ',')) {
		len = name_length(names);
		if (__vperfctr_is_soft(names, len))
			continue;
		end += sprintf(end, "%s%.*s", end == counters ? "" : ",", (int)len, names);
	}
	err = __vperfctr_set_names(v, counters);
	free(counters);
	return err;
}

int vperfctr_count(struct vperfctr **v, const char *names, unsigned int flags,
		   struct vperfctr_why *why)
{
	struct vperfctr_why reason = { "" };
	bool unusable = false;
	int err;

	*v = NULL;
	if (flags & ~(VPERFCTR_COUNT_MODULE | VPERFCTR_COUNT_PERF) ||
	    flags == (VPERFCTR_COUNT_MODULE | VPERFCTR_COUNT_PERF))
		return __vperfctr_refuse(why, -EINVAL, "there is no such flag: %#x", flags);
	err = choose_backend(&flags, why);
	if (err)
		return err;
	if (flags & VPERFCTR_COUNT_PERF)
		err = vperfctr_perf_open(v, names, 0, 0, &reason);
	else
		err = open_module(v, names, &unusable, &reason);
	if (unusable && !flags)
		err = fall_back(v, names, err, &reason);
	if (!err) {
		err = name_counters(*v, names);
		if (err) {
			vperfctr_close(*v);
			*v = NULL;
			__vperfctr_refuse(&reason, err, "there is no memory");
		}
	}
	if (why)
		*why = reason;
	return err;
}

int vperfctr_event_open(struct vperfctr **v, const char *names, struct vperfctr_why *why)
{
	return vperfctr_count(v, names, 0, why);
}
