/* SPDX-License-Identifier: GPL-2.0 */
/* perf.data as a file of perfex --sample. */
#ifndef PERFEX_PERF_DATA_READ_H
#define PERFEX_PERF_DATA_READ_H

#include <stdbool.h>
#include <stdio.h>

struct error;

/* True if the file may be perf.data.  It can still be read from its beginning. */
bool is_perf_data(FILE *f);

/*
 * Read perf.data, and close it.
 * Return: what it is as a file of perfex --sample, at its beginning; NULL with *e
 */
FILE *perf_data_convert(FILE *in, const char *name, struct error *e);

#endif /* PERFEX_PERF_DATA_READ_H */
