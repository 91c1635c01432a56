// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * A component of PAPI that counts by the vperfctr module
 *
 * PAPI's core calls the functions in _vperfctr_vector at the end of this file.  One event
 * set is one control of libvperfctr.  A set that counts its own thread uses the state that
 * its thread opens at the first PAPI_start(), beside the state of the program itself, if
 * there is one.  A set that is attached to a thread or a CPU has a handle of its own while it
 * runs.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "papi.h"
#include "papi_internal.h"
#include "papi_vector.h"
#include "papi_memory.h"
#include "extras.h"
#include "papi_vperfctr_presets.h"

#include <perfmon/pfmlib.h>
#include <vperfctr-event.h>

#define MAX_EVENTS	VPERFCTR_MAX_CTRS
#define MAX_NAMES	16384
#define MAX_KINDS	4

/* Bits of an event's modes that its name has chosen are not those of the event set. */
struct named_event {
	char *name;
	char *description;
	struct vperfctr_event *event;	/* for each kind of CPUs; NULL: not translated yet */
	bool has_modes;
	bool is_listed;
};

/* A thread has this for all of its event sets.  PAPI has one for each CPU, too. */
struct context {
	struct vperfctr *v;	/* the thread's state, or NULL before the first start */
	pid_t tid;		/* the thread that has opened it: not the child of a fork */
};

enum target { OWN_THREAD, OTHER_THREAD, ONE_CPU };

struct event_set {
	enum target target;
	pid_t tid;		/* of OTHER_THREAD */
	unsigned int cpu;	/* of ONE_CPU */
	int domain;
	bool inherit;
	int (*read)(struct event_set *s);	/* the counts into count[]; PAPI's error */

	unsigned int nr;
	int code[MAX_EVENTS];
	unsigned int period[MAX_EVENTS];	/* 0: no overflows */

	struct vperfctr_control control;
	struct vperfctr_ctr ctr[MAX_KINDS * MAX_EVENTS];
	unsigned int event_of[MAX_EVENTS];	/* by the control's counter */

	struct vperfctr *v;	/* while the set runs */
	uint64_t count[MAX_EVENTS];
	uint64_t base[MAX_EVENTS];	/* at the last reset, of counts that cannot be zeroed */
	uint64_t missed;		/* children whose loss a read has reported */
	bool lost;			/* the same of other losses */
};

papi_vector_t _vperfctr_vector;

/* Each kind of CPUs, with the counters that all have.  The rest is the same for all. */
static struct vperfctr_info kinds[MAX_KINDS];
static unsigned int nrkinds;
static const struct vperfctr_info *const info = kinds;
static struct named_event *names[MAX_NAMES];
static int nrnames;
static bool all_listed;
static bool has_prefix;		/* there is another component that knows the same names */

/* ---- errors ------------------------------------------------------------------ */

static int to_papi(int err)
{
	switch (err) {
	case 0:
		return PAPI_OK;
	case -EPERM:
	case -EACCES:
		return PAPI_EPERM;
	case -ENOENT:
		return PAPI_ENOEVNT;
	case -EBUSY:
	case -ENOSPC:
	case -EADDRINUSE:
	case -EXFULL:
	case -EMLINK:
		return PAPI_ECNFLCT;
	case -ENOMEM:
	case -EAGAIN:
		return PAPI_ENOMEM;
	case -EOPNOTSUPP:
	case -ENODEV:
	case -ENOTTY:
		return PAPI_ENOSUPP;
	case -EINVAL:
	case -E2BIG:
		return PAPI_EINVAL;
	default:
		return PAPI_ESYS;
	}
}

/* ---- names of events --------------------------------------------------------- */

/* Return the code of a name that is known, or -1. */
static int find_name(const char *name)
{
	int i;

	for (i = 0; i < nrnames; i++)
		if (!strcasecmp(names[i]->name, name))
			return i;
	return -1;
}

/* Add a name.  The caller holds NAMELIB_LOCK.  Return its code, or PAPI's error. */
static int add_name(const char *name, const char *description)
{
	struct named_event *n;

	if (nrnames == MAX_NAMES)
		return PAPI_ENOMEM;
	n = calloc(1, sizeof(*n));
	if (!n)
		return PAPI_ENOMEM;
	n->name = strdup(name);
	n->description = strdup(description);
	if (!n->name || !n->description) {
		free(n->name);
		free(n->description);
		free(n);
		return PAPI_ENOMEM;
	}
	names[nrnames] = n;
	return nrnames++;
}

/* Translate a name, if that has not been done. */
static int translate(struct named_event *n)
{
	struct vperfctr_event *event;
	unsigned int kind;
	int err = 0;

	if (n->event)
		return 0;
	event = calloc(nrkinds, sizeof(*event));
	if (!event)
		return -ENOMEM;
	for (kind = 0; !err && kind < nrkinds; kind++)
		err = vperfctr_event(&event[kind], n->name, &kinds[kind], NULL);
	/* PAPI reads all of an event set by one call, which has no software counters. */
	if (!err && event->soft)
		err = -EOPNOTSUPP;
	if (err) {
		free(event);
		return err;
	}
	n->has_modes = !event->modes_left || strstr(n->name, ":u=") || strstr(n->name, ":k=");
	n->event = event;
	return 0;
}

static int list_name(const struct vperfctr_event *event, const char *description, void *arg)
{
	int code;

	(void)arg;
	if (event->soft || !(event->general || event->fixed))
		return 0;
	code = find_name(event->name);
	if (code < 0)
		code = add_name(event->name, description ? description : "");
	if (code < 0)
		return -1;
	names[code]->is_listed = true;
	return 0;
}

static int name_to_code(const char *name, unsigned int *code)
{
	int found, err = 0;

	_papi_hwi_lock(NAMELIB_LOCK);
	found = find_name(name);
	if (found < 0)
		found = add_name(name, "");
	if (found >= 0) {
		err = translate(names[found]);
		/* No event set has the last name yet. */
		if (err && found == nrnames - 1 && !names[found]->is_listed) {
			free(names[found]->name);
			free(names[found]->description);
			free(names[found]);
			nrnames--;
		}
	}
	_papi_hwi_unlock(NAMELIB_LOCK);
	if (found < 0)
		return found;
	if (err)
		return err == -ENOMEM ? PAPI_ENOMEM : PAPI_ENOEVNT;
	*code = found;
	return PAPI_OK;
}

static int code_to_name(unsigned int code, char *name, int len)
{
	if (code >= (unsigned int)nrnames)
		return PAPI_ENOEVNT;
	if (snprintf(name, len, "%s%s", has_prefix ? "vperfctr:::" : "", names[code]->name) >= len)
		return PAPI_EBUF;
	return PAPI_OK;
}

static int code_to_description(unsigned int code, char *text, int len)
{
	if (code >= (unsigned int)nrnames)
		return PAPI_ENOEVNT;
	if (!names[code]->description[0])
		return code_to_name(code, text, len);
	/* A text that is cut off still describes the event. */
	snprintf(text, len, "%s", names[code]->description);
	return PAPI_OK;
}

static int enumerate(unsigned int *code, int modifier)
{
	unsigned int next;
	bool found;

	if (modifier != PAPI_ENUM_FIRST && modifier != PAPI_ENUM_EVENTS)
		return PAPI_ENOIMPL;
	_papi_hwi_lock(NAMELIB_LOCK);
	if (!all_listed) {
		vperfctr_event_list(info, list_name, NULL);
		all_listed = true;
	}
	next = modifier == PAPI_ENUM_FIRST ? 0 : *code + 1;
	while (next < (unsigned int)nrnames && !names[next]->is_listed)
		next++;
	found = next < (unsigned int)nrnames;
	_papi_hwi_unlock(NAMELIB_LOCK);
	if (!found)
		return PAPI_ENOEVNT;
	*code = next;
	return PAPI_OK;
}

/* ---- event sets -------------------------------------------------------------- */

static unsigned int modes_of(int domain)
{
	return (domain & PAPI_DOM_USER ? VPERFCTR_MODE_USER : 0) |
	       (domain & PAPI_DOM_KERNEL ? VPERFCTR_MODE_KERNEL : 0);
}

/* Return the kind of a CPU, or a negative error number. */
static int kind_of(unsigned int cpu)
{
	struct vperfctr_cpu_mask *mask;
	unsigned int kind;
	bool found;
	int err;

	for (kind = 0; kind < nrkinds; kind++) {
		err = vperfctr_kind_cpus(&mask, kind);
		if (err)
			return err;
		found = cpu / 32 < mask->nrwords && mask->mask[cpu / 32] & 1U << cpu % 32;
		free(mask);
		if (found)
			return (int)kind;
	}
	return -EINVAL;
}

/* Choose counters for the events, in their order, on this kind of CPUs. */
static int choose(struct vperfctr_ctr *ctr, const struct event_set *s, unsigned int kind)
{
	struct vperfctr_event event[MAX_EVENTS];
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		const struct named_event *named = names[s->code[i]];

		event[i] = named->event[kind];
		if (!named->has_modes)
			event[i].modes = modes_of(s->domain);
	}
	return vperfctr_event_assign(ctr, event, s->nr, &kinds[kind], NULL);
}

/* Append the tables of the other kinds of CPUs, to count a thread wherever it runs. */
static int add_kinds(struct event_set *s)
{
	struct vperfctr_ctr ctr[MAX_EVENTS], table[MAX_EVENTS];
	unsigned int i, kind;
	int err;

	for (kind = 1; kind < nrkinds; kind++) {
		err = choose(ctr, s, kind);
		if (err)
			return err;
		for (i = 0; i < s->nr; i++)
			table[i] = ctr[s->event_of[i]];
		vperfctr_control_add_kind(&s->control, table);
	}
	return 0;
}

/* ---- reads ------------------------------------------------------------------- */

struct loss {
	uint64_t missed;		/* children */
	bool lost;			/* other counts */
};

/* Read the sums in the order of the control, and what they lack. */
static int read_sums(const struct event_set *s, uint64_t *sum, struct loss *loss)
{
	uint64_t own[1 + MAX_EVENTS] = { 0 }, children[1 + MAX_EVENTS] = { 0 };
	struct vperfctr_cpu cpu = { .status = 0 };
	struct vperfctr_read_cpus cpus = {
		.nrcpus = 1, .nrctrs = s->nr, .cpus = (uintptr_t)&cpu,
	};
	struct vperfctr_read read = { .nrctrs = MAX_EVENTS, .flags = VPERFCTR_READ_MEMBERS };
	unsigned int i;
	int err;

	if (s->target == OWN_THREAD && !s->inherit) {
		read.flags = 0;
		read.sums = (uintptr_t)own;
		err = vperfctr_read_state(s->v, &read);
	} else if (s->target == ONE_CPU) {
		cpus.sums = (uintptr_t)own;
		err = vperfctr_read_cpus(s->v, &cpus);
	} else {
		read.sums = (uintptr_t)own;
		read.children = (uintptr_t)children;
		err = vperfctr_read_state(s->v, &read);
	}
	loss->missed = read.children_missed;
	loss->lost = read.status & (VPERFCTR_STATUS_FORBIDDEN | VPERFCTR_STATUS_PRIVILEGED) ||
		     cpu.status & VPERFCTR_CPU_STATUS_FAILED;
	for (i = 0; !err && i < s->nr; i++)
		sum[i] = own[1 + i] + children[1 + i];
	return err;
}

/*
 * Return -EBUSY if the sums lack something that no read has reported.  PAPI_stop() reads, and must
 * not fail forever, so each loss is reported once.  A set of its own thread alone reports none, as
 * reads of the page see none.
 */
static int report_loss(struct event_set *s, const struct loss *loss)
{
	const bool new_loss = loss->missed != s->missed || (loss->lost && !s->lost);

	if (s->target == OWN_THREAD && !s->inherit)
		return 0;
	s->missed = loss->missed;
	s->lost |= loss->lost;
	return new_loss ? -EBUSY : 0;
}

static int read_counts(struct event_set *s)
{
	uint64_t sum[MAX_EVENTS];
	struct loss loss;
	unsigned int i;
	int err;

	err = read_sums(s, sum, &loss);
	if (!err)
		err = report_loss(s, &loss);
	for (i = 0; !err && i < s->nr; i++)
		s->count[s->event_of[i]] = sum[i] - s->base[s->event_of[i]];
	return err;
}

static int read_by_call(struct event_set *s)
{
	return to_papi(read_counts(s));
}

static __attribute__((__noinline__, __cold__)) int failed_read(int err)
{
	return to_papi(err);
}

/*
 * Read from the page.  With a constant number of counters, the inline read has no loop and no
 * register to save.
 */
static inline __attribute__((__always_inline__)) int read_page(struct event_set *s, unsigned int nr)
{
	const int err = vperfctr_read(s->v, NULL, s->count, nr);

	return __builtin_expect(!err, 1) ? PAPI_OK : failed_read(err);
}

#define READ_PAGE(nr)					\
static int read_page_##nr(struct event_set *s)		\
{							\
	return read_page(s, nr);			\
}

READ_PAGE(1)
READ_PAGE(2)
READ_PAGE(3)
READ_PAGE(4)
READ_PAGE(5)
READ_PAGE(6)
READ_PAGE(7)
READ_PAGE(8)

static int read_page_more(struct event_set *s)
{
	return read_page(s, s->nr);
}

/* The page can be read if the sums are there, and in PAPI's order. */
static void choose_reader(struct event_set *s)
{
	static int (*const readers[])(struct event_set *s) = {
		read_by_call, read_page_1, read_page_2, read_page_3, read_page_4, read_page_5,
		read_page_6, read_page_7, read_page_8, read_page_more,
	};
	const unsigned int most = sizeof(readers) / sizeof(*readers) - 1;
	bool by_page = s->target == OWN_THREAD && !s->inherit;
	unsigned int i;

#if defined(__aarch64__)
	/* A handler that stops the counting must not interrupt a read in user mode. */
	if (s->control.nrictrs)
		by_page = false;
#endif
	for (i = 0; i < s->nr; i++)
		if (s->event_of[i] != i)
			by_page = false;
	s->read = readers[!by_page ? 0 : s->nr < most ? s->nr : most];
}

/* Choose counters, and make the control: those with overflows come last in it. */
static int make_control(struct event_set *s)
{
	struct vperfctr_ctr ctr[MAX_EVENTS];
	unsigned int i, n = 0;
	int err, kind;

	/* A CPU is of one kind. */
	kind = s->target == ONE_CPU && nrkinds > 1 ? kind_of(s->cpu) : 0;
	if (kind < 0)
		return kind;
	err = choose(ctr, s, kind);
	if (err)
		return err;
	vperfctr_control_init(&s->control, s->ctr);
	s->control.tsc_on = 0;
	for (i = 0; i < s->nr; i++) {
		if (!s->period[i]) {
			s->event_of[n++] = i;
			vperfctr_control_add_ctr(&s->control, &ctr[i]);
		}
	}
	for (i = 0; i < s->nr; i++) {
		if (s->period[i]) {
			s->event_of[n++] = i;
			vperfctr_control_add_ctr_imode(&s->control, &ctr[i], s->period[i]);
			s->control.si_signo = _vperfctr_vector.cmp_info.hardware_intr_sig;
		}
	}
	s->control.kind = kind;
	if (s->target != ONE_CPU) {
		err = add_kinds(s);
		if (err)
			return err;
	}
	if (s->inherit)
		s->control.flags |= VPERFCTR_CONTROL_INHERIT;
	choose_reader(s);
	return 0;
}

/* Make the control with a new option.  If it is refused, the set remains as it was. */
static int remake(struct event_set *s, const struct event_set *old)
{
	int err = s->nr ? make_control(s) : 0;

	if (err)
		*s = *old;
	return to_papi(err);
}

/* Give up an overflow's signal. */
static void end_overflow(struct event_set *s, unsigned int i)
{
	if (s->period[i])
		_papi_hwi_stop_signal(_vperfctr_vector.cmp_info.hardware_intr_sig);
	s->period[i] = 0;
}

/*
 * PAPI's core sets the overflows again afterwards.  When a thread unregisters, the core takes all
 * events out of its sets, which may run and have overflows.  It holds the lock of signals then.
 */
static int update_control_state(hwd_control_state_t *ctl, NativeInfo_t *native, int count,
				hwd_context_t *context)
{
	struct event_set *s = ctl;
	int i, err;

	(void)context;
	if (count > MAX_EVENTS)
		return PAPI_ECOUNT;
	if (s->target != OWN_THREAD)
		vperfctr_close(s->v);
	s->v = NULL;
	for (i = 0; count && i < (int)s->nr; i++)
		end_overflow(s, i);
	memset(s->period, 0, sizeof(s->period));
	s->nr = 0;
	s->read = read_by_call;
	for (i = 0; i < count; i++) {
		_papi_hwi_lock(NAMELIB_LOCK);
		err = translate(names[native[i].ni_event]);
		_papi_hwi_unlock(NAMELIB_LOCK);
		if (err)
			return err == -ENOMEM ? PAPI_ENOMEM : PAPI_ENOEVNT;
		s->code[i] = native[i].ni_event;
		native[i].ni_position = i;
	}
	s->nr = count;
	return count ? to_papi(make_control(s)) : PAPI_OK;
}

static int set_overflow(EventSetInfo_t *esi, int index, int threshold)
{
	struct event_set *s = esi->ctl_state;
	const int i = esi->EventInfoArray[index].pos[0];
	const unsigned int old = i >= 0 && i < (int)s->nr ? s->period[i] : 0;

	if (i < 0 || i >= (int)s->nr)
		return PAPI_EINVAL;
	/* PAPI's core also takes back a threshold that was refused. */
	if (!threshold && !old)
		return PAPI_OK;
	/* The handlers of what a thread starts would be this process's, or none. */
	if (threshold && (s->target != OWN_THREAD || s->inherit))
		return PAPI_ENOSUPP;
	if (threshold && ((uint64_t)threshold < info->min_period ||
			  (uint64_t)threshold > info->max_period))
		return PAPI_EINVAL;
	if (!threshold) {
		end_overflow(s, i);
	} else {
		if (!old) {
			const int ret = _papi_hwi_start_signal(
				_vperfctr_vector.cmp_info.hardware_intr_sig, NEED_CONTEXT,
				_vperfctr_vector.cmp_info.CmpIdx);

			if (ret != PAPI_OK)
				return ret;
		}
		s->period[i] = threshold;
	}
	return to_papi(make_control(s));
}

static int set_domain(hwd_control_state_t *ctl, int domain)
{
	struct event_set *s = ctl;
	const struct event_set old = *s;

	s->domain = domain;
	return remake(s, &old);
}

/* A handle of one CPU. */
static int open_cpu(struct vperfctr **v, unsigned int cpu)
{
	const unsigned int nrwords = cpu / 32 + 1;
	struct vperfctr_cpu_mask *mask;
	int err;

	mask = calloc(1, sizeof(*mask) + nrwords * sizeof(mask->mask[0]));
	if (!mask)
		return -ENOMEM;
	mask->size = sizeof(*mask);
	mask->nrwords = nrwords;
	mask->mask[cpu / 32] = 1U << cpu % 32;
	err = vperfctr_open_cpus(v, mask, 0);
	free(mask);
	return err;
}

static int attach(struct vperfctr **v, pid_t tid, const struct vperfctr_control *control)
{
	return vperfctr_attach(v, tid, control, NULL,
			       VPERFCTR_ATTACH_THREAD | VPERFCTR_ATTACH_OBSERVER);
}

/* True if PAPI may set this target: a control that counts nothing but time is tried. */
static int try_target(enum target target, pid_t tid, unsigned int cpu)
{
	struct vperfctr_control control;
	struct vperfctr *v;
	int err;

	vperfctr_control_init(&control, NULL);
	err = target == ONE_CPU ? open_cpu(&v, cpu) : attach(&v, tid, &control);
	if (!err)
		vperfctr_close(v);
	return err;
}

/* Overflows make a signal of the thread that they count, which must be the caller. */
static bool has_overflows(const struct event_set *s)
{
	return s->control.nrictrs != 0 && s->nr;
}

static int set_target(struct event_set *s, enum target target, pid_t tid, unsigned int cpu)
{
	const struct event_set old = *s;
	int err;

	if (target != OWN_THREAD && has_overflows(s))
		return PAPI_ENOSUPP;
	if (target == ONE_CPU && s->inherit)
		return PAPI_EINVAL;
	err = target == OWN_THREAD ? 0 : try_target(target, tid, cpu);
	if (err)
		return to_papi(err);
	s->target = target;
	s->tid = tid;
	s->cpu = cpu;
	return remake(s, &old);
}

static int set_granularity(struct event_set *s, int granularity)
{
	int cpu;

	switch (granularity) {
	case PAPI_GRN_THR:
		/* A set that is attached counts one thread, too. */
		return s->target == OTHER_THREAD ? PAPI_OK : set_target(s, OWN_THREAD, 0, 0);
	case PAPI_GRN_SYS:
		cpu = sched_getcpu();
		return cpu < 0 ? PAPI_ESYS : set_target(s, ONE_CPU, 0, cpu);
	default:
		return PAPI_ECMP;
	}
}

static int init_control_state(hwd_control_state_t *ctl)
{
	const PAPI_component_info_t *cmp = &_vperfctr_vector.cmp_info;
	struct event_set *s = ctl;

	memset(s, 0, sizeof(*s));
	s->read = read_by_call;
	s->domain = cmp->default_domain;
	return set_granularity(s, cmp->default_granularity);
}

static int set_inherit(struct event_set *s, bool inherit)
{
	const struct event_set old = *s;

	if (inherit && !(info->features & VPERFCTR_FEATURE_INHERIT))
		return PAPI_ENOSUPP;
	if (inherit && has_overflows(s))
		return PAPI_ENOSUPP;
	s->inherit = inherit;
	return remake(s, &old);
}

static int ctl(hwd_context_t *context, int code, _papi_int_option_t *option)
{
	(void)context;
	switch (code) {
	case PAPI_DOMAIN:
		return set_domain(option->domain.ESI->ctl_state, option->domain.domain);
	case PAPI_GRANUL:
		return set_granularity(option->granularity.ESI->ctl_state,
				       option->granularity.granularity);
	case PAPI_ATTACH:
		return set_target(option->attach.ESI->ctl_state, OTHER_THREAD, option->attach.tid,
				  0);
	case PAPI_DETACH:
		return set_target(option->attach.ESI->ctl_state, OWN_THREAD, 0, 0);
	case PAPI_CPU_ATTACH:
		return set_target(option->cpu.ESI->ctl_state, ONE_CPU, 0, option->cpu.cpu_num);
	case PAPI_INHERIT:
		return set_inherit(option->inherit.ESI->ctl_state, option->inherit.inherit);
	case PAPI_DEF_ITIMER:
	case PAPI_DEF_ITIMER_NS:
	case PAPI_DEF_MPX_NS:
		/* The core's own timer does this. */
		return PAPI_OK;
	default:
		return PAPI_ENOSUPP;
	}
}

/* ---- counting ---------------------------------------------------------------- */

/* Open a state of the calling thread, in place of one that is another thread's. */
static int open_state(struct context *c)
{
	vperfctr_close(c->v);
	c->tid = (pid_t)syscall(SYS_gettid);
	/* An observer's: the program may have a state of its own. */
	return vperfctr_open(&c->v, VPERFCTR_OPEN_CREAT | VPERFCTR_OPEN_TRANSIENT |
				    VPERFCTR_OPEN_OBSERVER);
}

/*
 * Set the control of a set that counts its own thread, which zeroes the sums.  A state of another
 * thread, which has started a set of this one, or of the process that forked is of no use, and no
 * set runs by it here.  In another PID namespace that process may have this one's number.
 */
static int start_own(struct event_set *s, struct context *c)
{
	const bool is_known = c->v && c->tid == (pid_t)syscall(SYS_gettid);
	int err;

	err = is_known ? 0 : open_state(c);
	if (!err)
		err = vperfctr_control(c->v, &s->control);
	if (is_known && (err == -EPERM || err == -ESRCH)) {
		err = open_state(c);
		if (!err)
			err = vperfctr_control(c->v, &s->control);
	}
	s->v = err ? NULL : c->v;
	return err;
}

static int start_cpu(struct event_set *s)
{
	int err;

	err = open_cpu(&s->v, s->cpu);
	if (err)
		return err;
	err = vperfctr_control(s->v, &s->control);
	if (err) {
		vperfctr_close(s->v);
		s->v = NULL;
	}
	return err;
}

static int start(hwd_context_t *context, hwd_control_state_t *ctl)
{
	struct event_set *s = ctl;
	int err = 0;

	memset(s->base, 0, sizeof(s->base));
	s->missed = 0;
	s->lost = false;
	switch (s->target) {
	case OWN_THREAD:
		err = start_own(s, context);
		break;
	case OTHER_THREAD:
		err = attach(&s->v, s->tid, &s->control);
		break;
	case ONE_CPU:
		err = start_cpu(s);
		break;
	}
	return to_papi(err);
}

static int stop(hwd_context_t *context, hwd_control_state_t *ctl)
{
	struct event_set *s = ctl;
	int err = 0;

	(void)context;
	/* A start that failed is followed by a stop. */
	if (!s->v)
		return PAPI_OK;
	if (s->target == OWN_THREAD)
		err = vperfctr_stop(s->v);
	else
		vperfctr_close(s->v);
	/* A thread that has ended counts nothing.  After another error the set runs on. */
	if (err && err != -ESRCH)
		return to_papi(err);
	s->v = NULL;
	return PAPI_OK;
}

/* PAPI's core knows counts by their places in *events. */
static int read_set(hwd_context_t *context, hwd_control_state_t *ctl, long long **events, int flags)
{
	struct event_set *s = ctl;

	(void)context;
	(void)flags;
	*events = (long long *)s->count;
	return s->read(s);
}

static int reset(hwd_context_t *context, hwd_control_state_t *ctl)
{
	struct event_set *s = ctl;
	uint64_t sum[MAX_EVENTS];
	struct loss loss;
	unsigned int i;
	int err;

	(void)context;
	if (!s->v)
		return PAPI_OK;
	/*
	 * Children that count already would end with a new control.  A control that is refused, as
	 * another thread's is, leaves the set as it was.
	 */
	if (s->target == OWN_THREAD && !s->inherit)
		return to_papi(vperfctr_control(s->v, &s->control));
	/* The next read reports a loss. */
	err = read_sums(s, sum, &loss);
	for (i = 0; !err && i < s->nr; i++)
		s->base[s->event_of[i]] = sum[i];
	return to_papi(err);
}

/* ---- overflows --------------------------------------------------------------- */

/*
 * Handle the signal of an overflow, or PAPI's timer that stands for one.  After an
 * overflow the counters are held, so the user's handler is not counted.
 */
static void dispatch(int signo, hwd_siginfo_t *si, void *ucontext)
{
	const int cidx = _vperfctr_vector.cmp_info.CmpIdx;
	_papi_hwi_context_t context = { .si = si, .ucontext = ucontext };
	ThreadInfo_t *thread = _papi_hwi_lookup_thread(0);
	EventSetInfo_t *esi;
	struct event_set *s;
	struct vperfctr *v;
	vptr_t address;
	long long vector = 0;
	unsigned int i;

	(void)signo;
	esi = thread ? thread->running_eventset[cidx] : NULL;
	/* The signal of a set that has been stopped meanwhile. */
	if (!esi || !esi->overflow.flags)
		return;
	s = esi->ctl_state;
	v = s->v;
	address = GET_OVERFLOW_ADDRESS(context);
	if (si->si_code == SI_PMC_OVF)
		for (i = 0; i < s->nr; i++)
			if ((uint32_t)si->si_pmc_ovf_mask & 1U << i)
				vector |= 1LL << s->event_of[i];
	_papi_hwi_dispatch_overflow_signal(&context, address, NULL, vector, 0, &thread, cidx);
	if (si->si_code == SI_PMC_OVF && v)
		vperfctr_iresume(v);
}

/* ---- threads, the beginning and the end --------------------------------------- */

static int init_thread(hwd_context_t *context)
{
	memset(context, 0, sizeof(struct context));
	return PAPI_OK;
}

static int shutdown_thread(hwd_context_t *context)
{
	struct context *c = context;

	vperfctr_close(c->v);
	c->v = NULL;
	return PAPI_OK;
}

static int shutdown_component(void)
{
	PAPI_component_info_t *cmp = &_vperfctr_vector.cmp_info;
	int i;

	for (i = 0; i < nrnames; i++) {
		free(names[i]->name);
		free(names[i]->description);
		free(names[i]->event);
		free(names[i]);
	}
	nrnames = 0;
	all_listed = false;
	for (i = 0; i < PAPI_PMU_MAX; i++) {
		free(cmp->pmu_names[i]);
		cmp->pmu_names[i] = NULL;
	}
	cmp->num_native_events = 0;
	cmp->num_preset_events = 0;
	return PAPI_OK;
}

/* Note the processor's names in libpfm4.  Return that of its presets in *pmu. */
static bool find_pmus(pfm_pmu_info_t *pmu)
{
	PAPI_component_info_t *cmp = &_vperfctr_vector.cmp_info;
	bool found = false;
	int i, n = 0;

	if (pfm_initialize() != PFM_SUCCESS)
		return false;
	for (i = 0; i < PFM_PMU_MAX && n < PAPI_PMU_MAX; i++) {
		pfm_pmu_info_t one;

		memset(&one, 0, sizeof(one));
		one.size = sizeof(one);
		if (pfm_get_pmu_info(i, &one) != PFM_SUCCESS || !one.is_present ||
		    one.type != PFM_PMU_TYPE_CORE)
			continue;
		cmp->pmu_names[n++] = strdup(one.name);
		cmp->num_native_events += one.nevents;
		/* Intel's architectural events are present beside the model's. */
		if (!found || !strcmp(pmu->name, "ix86arch"))
			*pmu = one;
		found = true;
	}
	return found;
}

/*
 * Without perf_event this component has PAPI's presets, which their header gives it.  The
 * core looks for their component by the name perf_event, and by this variable.
 */
static void load_presets(int cidx)
{
	ThreadInfo_t *const thread = _papi_hwi_my_thread;
	const int level = _papi_hwi_error_level;
	pfm_pmu_info_t pmu;
	ThreadInfo_t none;

	if (!find_pmus(&pmu))
		pmu.name = NULL;
	if (has_prefix) {
		_papi_hwi_max_presets[cidx] = 0;
		return;
	}
	pe_disabled = 0;
	if (!pmu.name)
		return;
	/* The core notes the code of a name in the thread, which it makes later. */
	memset(&none, 0, sizeof(none));
	_papi_hwi_my_thread = thread ? thread : &none;
	/* Presets of events that no counter can count alone are left out without a message. */
	_papi_hwi_error_level = PAPI_QUIET;
	_papi_load_preset_table((char *)pmu.name, pmu.pmu, cidx);
	_papi_hwi_error_level = level;
	_papi_hwi_my_thread = thread;
}

static int disable(PAPI_component_info_t *cmp, const char *reason, int ret)
{
	snprintf(cmp->disabled_reason, sizeof(cmp->disabled_reason), "%s", reason);
	cmp->disabled = ret;
	return ret;
}

/* Describe the processor, and all kinds of CPUs of a hybrid one. */
static int describe_kinds(void)
{
	int err;

	nrkinds = 0;
	do {
		err = vperfctr_info(&kinds[nrkinds], nrkinds);
		if (err)
			return err;
		nrkinds++;
	} while (info->features & VPERFCTR_FEATURE_ANY_KIND && nrkinds < info->nrkinds &&
		 nrkinds < MAX_KINDS);
	vperfctr_event_common(kinds, nrkinds);
	return 0;
}

static int init_component(int cidx)
{
	PAPI_component_info_t *cmp = &_vperfctr_vector.cmp_info;
	struct vperfctr_why why;
	int err, i;

	cmp->CmpIdx = cidx;
	has_prefix = false;
	for (i = 0; _papi_hwd[i]; i++)
		if (!strcmp(_papi_hwd[i]->cmp_info.name, "perf_event"))
			has_prefix = true;
	if (has_prefix)
		_papi_hwi_max_presets[cidx] = 0;
	err = describe_kinds();
	if (err) {
		vperfctr_why(err, VPERFCTR_WHY_OPEN, NULL, &why);
		return disable(cmp, why.text, to_papi(err));
	}
	if (!info->nrctrs)
		return disable(cmp, "this processor has no counters", PAPI_ENOSUPP);
	if (info->nrkinds > nrkinds)
		return disable(cmp, "the module cannot count on several kinds of CPUs", PAPI_ENOSUPP);

	snprintf(cmp->kernel_version, sizeof(cmp->kernel_version), "%s", info->driver_version);
	snprintf(cmp->support_version, sizeof(cmp->support_version), "%s",
		 vperfctr_version_text());
	cmp->num_cntrs = info->nrctrs;
	cmp->num_mpx_cntrs = PAPI_MAX_SW_MPX_EVENTS;
	cmp->available_domains = PAPI_DOM_USER;
	if (info->features & VPERFCTR_FEATURE_KERNEL)
		cmp->available_domains |= PAPI_DOM_KERNEL;
	cmp->available_granularities = PAPI_GRN_THR;
	if (info->features & VPERFCTR_FEATURE_CPUS)
		cmp->available_granularities |= PAPI_GRN_SYS;
	cmp->cpu = !!(info->features & VPERFCTR_FEATURE_CPUS);
	cmp->inherit = !!(info->features & VPERFCTR_FEATURE_INHERIT);
	cmp->hardware_intr = !!(info->features & VPERFCTR_FEATURE_PCINT);
	cmp->fast_counter_read = !!(info->features & VPERFCTR_FEATURE_RDPMC);
	/* perf_event has the signal before this one. */
	cmp->hardware_intr_sig = SIGRTMIN + 3;
	load_presets(cidx);
	cmp->disabled = PAPI_OK;
	return PAPI_OK;
}

papi_vector_t _vperfctr_vector = {
	.cmp_info = {
		.name = "vperfctr",
		.short_name = "vperfctr",
		.version = VPERFCTR_VERSION,
		.description = "Counters of threads and CPUs by the vperfctr module",
		.default_domain = PAPI_DOM_USER,
		.available_domains = PAPI_DOM_USER,
		.default_granularity = PAPI_GRN_THR,
		.available_granularities = PAPI_GRN_THR,
		.attach = 1,
		/* It need not, but programs for perf_event, which says so, do. */
		.attach_must_ptrace = 1,
	},
	.size = {
		.context = sizeof(struct context),
		.control_state = sizeof(struct event_set),
		.reg_value = sizeof(int),
		.reg_alloc = sizeof(int),
	},
	.init_component = init_component,
	.shutdown_component = shutdown_component,
	.init_thread = init_thread,
	.shutdown_thread = shutdown_thread,
	.init_control_state = init_control_state,
	.update_control_state = update_control_state,
	.ctl = ctl,
	.set_domain = set_domain,
	.set_overflow = set_overflow,
	.dispatch_timer = dispatch,
	.start = start,
	.stop = stop,
	.read = read_set,
	.reset = reset,
	.ntv_enum_events = enumerate,
	.ntv_name_to_code = name_to_code,
	.ntv_code_to_name = code_to_name,
	.ntv_code_to_descr = code_to_description,
};
