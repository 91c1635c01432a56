// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Parts that Intel's and AMD's families share: libpfm4's codes, and second registers, which are few
 * and belong to no counter.  Events that need the same one fit together if they need the same
 * value in it.
 */
#include "x86.h"

#define AMD_GUEST_HOST	(UINT64_C(3) << 40)

int __vperfctr_take_pfm_x86(struct vperfctr_event *event, const struct pfm_event *pfm,
			    struct vperfctr_why *why)
{
	const uint64_t code = pfm->codes[0];

	if (code & EVNTSEL_ANY)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' would count what other threads do on the same core: leave the attribute 't' out",
					 pfm->name);
	if (code & AMD_GUEST_HOST)
		return __vperfctr_refuse(why, -EINVAL,
					 "'%s' would count guests or the host only: leave the attributes 'g' and 'h' out",
					 pfm->name);
	/* The name may have attributes that select the modes. */
	event->modes = (code & EVNTSEL_USR ? VPERFCTR_MODE_USER : 0) |
		       (code & EVNTSEL_OS ? VPERFCTR_MODE_KERNEL : 0);
	event->code = code & ~(EVNTSEL_USR | EVNTSEL_OS | EVNTSEL_INT | EVNTSEL_EN);
	event->aux = pfm->nrcodes > 1 ? pfm->codes[1] : 0;
	return 0;
}

/* ---- second registers ---------------------------------------------------------------- */

/* True if word is one of words. */
static bool is_among(const char *word, const char *words)
{
	size_t len = strlen(word);
	const char *p = words;

	while ((p = strstr(p, word))) {
		if ((p == words || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
		p += len;
	}
	return false;
}

/*
 * Return the code that counts the same with the other register.  OFFCORE_RESPONSE_0 and _1 are one
 * event with two registers that select responses: MSR_OFFCORE_RSP_0 and MSR_OFFCORE_RSP_1.
 */
static uint64_t twin_of(const struct vperfctr_info *info, uint64_t code)
{
	static const char both[] = "wsm wsm_dp snb snb_ep ivb ivb_ep hsw hsw_ep bdw bdw_ep skl skx clx icl icx";
	const uint64_t select = code & (EVNTSEL_UMASK | EVNTSEL_EVENT);
	const char *processor = __vperfctr_pfm_processor(info);
	uint64_t general, others;

	if (!processor || !is_among(processor, both) || (select != 0x01b7 && select != 0x01bb))
		return code;
	/* The counter has been chosen for the code. */
	if (!__vperfctr_listed_counters(info, code, &general) ||
	    !__vperfctr_listed_counters(info, code ^ (0x01b7 ^ 0x01bb), &others) ||
	    general != others)
		return code;
	return code ^ (0x01b7 ^ 0x01bb);
}

/* Events, the codes chosen for those before the current one, and whether they share a register. */
struct sharing {
	const struct vperfctr_event *event;
	const uint64_t *code_of;
};

/* True if this code of event i selects the register that event k uses. */
static bool shares(const struct sharing *s, uint64_t code, unsigned int k)
{
	return !((code ^ s->code_of[k]) & (EVNTSEL_EVENT | EVNTSEL_UMASK));
}

/* True if events i and k need different values in one register. */
static bool disagree(const struct sharing *s, unsigned int i, uint64_t code, unsigned int k)
{
	return shares(s, code, k) && s->event[i].aux != s->event[k].aux;
}

/* True if event i, with this code, fits together with all events before it. */
static bool agrees(const struct sharing *s, unsigned int i, uint64_t code)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (disagree(s, i, code, k))
			return false;
	return true;
}

static int refuse_registers(const struct sharing *s, unsigned int i, uint64_t twin,
			    struct vperfctr_why *why)
{
	const struct vperfctr_event *event = &s->event[i];
	struct event_list others = { .nr = 0 };
	unsigned int k;

	for (k = 0; k < i; k++)
		if (disagree(s, i, event->code, k) || disagree(s, i, twin, k))
			__vperfctr_list_event(&others, &s->event[k]);
	return __vperfctr_refuse(why, -ENOSPC,
				 "too many events: no room for %s, whose second register has another value for %s",
				 event->name, others.text);
}

/* True if an event before i uses this code's register with the value that event i needs. */
static bool has_value(const struct sharing *s, unsigned int i, uint64_t code)
{
	unsigned int k;

	for (k = 0; k < i; k++)
		if (shares(s, code, k) && s->event[i].aux == s->event[k].aux)
			return true;
	return false;
}

/*
 * Choose between an event and its twin, which is the same event with another register.
 * Use a free register only for a value that no register has yet.
 */
int __vperfctr_share_registers(const struct vperfctr_event *event, unsigned int nr,
			       uint32_t *counter_of, uint64_t *code_of,
			       const struct vperfctr_info *info, struct vperfctr_why *why)
{
	const struct sharing s = { event, code_of };
	uint64_t code, twin;
	unsigned int i;

	(void)counter_of;
	for (i = 0; i < nr; i++) {
		code = event[i].code;
		twin = twin_of(info, code);
		if (!has_value(&s, i, code) && (has_value(&s, i, twin) || !agrees(&s, i, code))) {
			if (!agrees(&s, i, twin))
				return refuse_registers(&s, i, twin, why);
			code = twin;
		}
		code_of[i] = code;
	}
	return 0;
}
