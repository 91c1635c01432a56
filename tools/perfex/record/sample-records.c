// SPDX-License-Identifier: GPL-2.0
/* Write the records of a file of samples. */
#include "recording.h"

/* An interrupt or another thread between the readings of two clocks puts them apart. */
#define NR_CLOCK_READINGS	8

void write_record(struct recording *rec, enum record_type type, const void *data, size_t len,
		  const char *text)
{
	static const char zeros[8];
	size_t text_len = text ? strlen(text) + 1 : 0;
	size_t pad = -(len + text_len) % sizeof(zeros);
	struct record r = { type, (uint32_t)(sizeof(r) + len + text_len + pad) };

	fwrite(&r, sizeof(r), 1, rec->out);
	if (len)
		fwrite(data, len, 1, rec->out);
	if (text_len)
		fwrite(text, text_len, 1, rec->out);
	if (pad)
		fwrite(zeros, pad, 1, rec->out);
}

void write_event(struct recording *rec, unsigned int counter, const struct vperfctr_event *event,
		 const struct vperfctr_ctr *ctr)
{
	struct record_event r = {
		.counter = counter, .map = ctr->map, .period = (uint64_t)-ctr->ireset,
		.evntsel = ctr->evntsel,
	};

	write_record(rec, RECORD_EVENT, &r, sizeof(r), event->name);
}

struct record_clock best_clock(const struct clock_reading *readings, unsigned int nr)
{
	const struct clock_reading *r, *best = readings;

	for (r = readings; r < readings + nr; r++)
		if (r->after - r->before < best->after - best->before)
			best = r;
	return (struct record_clock){ best->before + (best->after - best->before) / 2,
				      best->monotonic };
}

static uint64_t ticks(const struct recording *rec)
{
	struct timespec now;

	if (!rec->monotonic)
		return __vperfctr_rdtsc();
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void write_clock(struct recording *rec)
{
	struct clock_reading readings[NR_CLOCK_READINGS], *reading;
	struct record_clock r;

	for (reading = readings; reading < readings + NR_CLOCK_READINGS; reading++) {
		reading->before = ticks(rec);
		clock_gettime(CLOCK_MONOTONIC, &rec->clock);
		reading->after = ticks(rec);
		reading->monotonic = (uint64_t)rec->clock.tv_sec * 1000000000 +
				     (uint64_t)rec->clock.tv_nsec;
	}
	r = best_clock(readings, NR_CLOCK_READINGS);
	write_record(rec, RECORD_CLOCK, &r, sizeof(r), NULL);
}
