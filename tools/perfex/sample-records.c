// SPDX-License-Identifier: GPL-2.0
/* Write the records of a file of samples. */
#include <errno.h>
#include <stdlib.h>

#include "sample.h"

/* Bytes of samples in one record, and slots that are freed at once. */
#define BUFFER_SIZE	65536
#define MAX_AT_ONCE	4096

int recording_init(struct recording *rec, FILE *out, struct error *e)
{
	memset(rec, 0, sizeof(*rec));
	rec->out = out;
	rec->buf = malloc(BUFFER_SIZE);
	return rec->buf ? 0 : fail_with(e, "out of memory");
}

void recording_free(struct recording *rec)
{
	forget_processes(rec);
	free(rec->buf);
}

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

static void flush_samples(struct recording *rec)
{
	if (rec->used)
		write_record(rec, RECORD_SAMPLES, rec->buf, rec->used, NULL);
	rec->used = 0;
}

static void add_sample(struct recording *rec, const struct vperfctr *v,
		       const struct vperfctr_sample *sample)
{
	struct record_sample r = {
		.flags = sample->flags, .pid = sample->pid, .tid = sample->tid,
		.cpu = sample->cpu, .ip = sample->ip, .tsc = sample->tsc,
		.overflow = sample->overflow, .dropped = sample->dropped,
	};
	const uint64_t *chain;
	uint64_t nr;

	chain = vperfctr_ring_chain(v, sample, &nr);
	r.nr = (uint32_t)(nr < MAX_CHAIN ? nr : MAX_CHAIN);
	r.size = (uint32_t)(sizeof(r) + r.nr * sizeof(*chain));
	if (rec->used + r.size > BUFFER_SIZE)
		flush_samples(rec);
	memcpy(rec->buf + rec->used, &r, sizeof(r));
	memcpy(rec->buf + rec->used + sizeof(r), chain, r.nr * sizeof(*chain));
	rec->used += r.size;
	rec->nrsamples++;
	process_has_sample(rec, r.pid, r.tsc);
}

int move_samples(struct recording *rec, struct vperfctr *v, uint64_t nr, struct error *e)
{
	uint64_t i, n;
	int err;

	for (; nr; nr -= n) {
		n = nr < MAX_AT_ONCE ? nr : MAX_AT_ONCE;
		for (i = 0; i < n; i++) {
			const struct vperfctr_sample *sample = vperfctr_ring_sample(v, i);

			if (sample->type == VPERFCTR_SAMPLE_OVERFLOW)
				add_sample(rec, v, sample);
		}
		err = vperfctr_ring_consume(v, n);
		if (err)
			return fail_with(e, "cannot read samples: %s", strerror(-err));
	}
	flush_samples(rec);
	return 0;
}
