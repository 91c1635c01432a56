// SPDX-License-Identifier: LGPL-2.1-or-later
/* Count events by name: all that most programs need, in one call. */
#include <stdio.h>

#include "event.h"

/* Return the length of the first name in a list that commas separate. */
static size_t name_length(const char *list)
{
	return strcspn(list, ",");
}

/* Fill in one event for each name.  Returns the number of names, or a negative error number. */
static int parse_names(struct vperfctr_event *event, const char *names,
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

static int explain(int err, struct vperfctr_why *why)
{
	char text[128];

	switch (err) {
	case -ENODEV:
		return __vperfctr_refuse(why, err,
					 "there is no /dev/vperfctr: load the module, 'modprobe vperfctr'");
	case -EACCES:
	case -EPERM:
		return __vperfctr_refuse(why, err,
					 "this user may not open /dev/vperfctr: join the group that owns it");
	case -EPROTONOSUPPORT:
		return __vperfctr_refuse(why, err,
					 "the module vperfctr has another interface version than this library");
	case -EEXIST:
		return __vperfctr_refuse(why, err,
					 "this thread already has counters, which another part of the program opened");
	case -EBUSY:
		return __vperfctr_refuse(why, err,
					 "the counters are busy: perf_event or the NMI watchdog holds them");
	default:
		return __vperfctr_refuse(why, err, "cannot count: %s",
					 strerror_r(-err, text, sizeof(text)));
	}
}

int vperfctr_event_open(struct vperfctr **v, const char *names, struct vperfctr_why *why)
{
	struct vperfctr_event event[VPERFCTR_MAX_CTRS];
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	struct vperfctr_control control;
	struct vperfctr_info info;
	int nr, i, err;

	*v = NULL;
	err = vperfctr_info(&info, 0);
	if (err)
		return explain(err, why);
	nr = parse_names(event, names, &info, why);
	if (nr < 0)
		return nr;
	err = vperfctr_event_assign(event, (unsigned int)nr, &info, ctr, why);
	if (err)
		return err;
	vperfctr_control_init(&control, ctr);
	for (i = 0; i < nr; i++) {
		if (event[i].soft)
			vperfctr_control_add_soft(&control, event[i].soft);
		else
			vperfctr_control_add_ctr(&control, &ctr[i]);
	}
	err = vperfctr_open_control(v, &control, VPERFCTR_OPEN_TRANSIENT);
	return err ? explain(err, why) : 0;
}
