// SPDX-License-Identifier: GPL-2.0
/*
 * Count events, named on the command line, for two ways to add up the same numbers.  The
 * cost of counting is subtracted.
 *
 *	cc -O2 -o events events.c -lvperfctr-event -lvperfctr
 *	./events instructions:u cycles:u
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vperfctr-event.h>

#define MAX	8
#define N	256

static int numbers[N][N];

static __attribute__((noinline)) long by_rows(void)
{
	long sum = 0;

	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			sum += numbers[i][k];
	return sum;
}

static __attribute__((noinline)) long by_columns(void)
{
	long sum = 0;

	for (int k = 0; k < N; k++)
		for (int i = 0; i < N; i++)
			sum += numbers[i][k];
	return sum;
}

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "events: %s: %s\n", what, why);
	exit(EXIT_FAILURE);
}

/* Make a control that counts these events. */
static void choose(struct vperfctr_event *event, char **names, unsigned int nr,
		   struct vperfctr_control *control, struct vperfctr_ctr *ctr)
{
	struct vperfctr_info info;
	struct vperfctr_why why;
	int err = vperfctr_info(&info, 0);

	if (err)
		fail("no counters", strerror(-err));
	for (unsigned int i = 0; i < nr; i++)
		if (vperfctr_event(&event[i], names[i], &info, &why))
			fail(names[i], why.text);
	if (vperfctr_event_assign(ctr, event, nr, &info, &why))
		fail("cannot count these together", why.text);
	vperfctr_control_init(control, ctr);
	for (unsigned int i = 0; i < nr; i++)
		vperfctr_control_add_ctr(control, &ctr[i]);
}

int main(int argc, char **argv)
{
	unsigned int nr = (unsigned int)argc - 1;
	struct vperfctr_region rows, columns;
	struct vperfctr_event event[MAX];
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[MAX];
	struct vperfctr *v;
	volatile long sum = 0;	/* volatile: keep the calls */
	int err;

	if (nr < 1 || nr > MAX)
		fail("usage", "events EVENT...");
	choose(event, argv + 1, nr, &control, ctr);
	err = vperfctr_open(&v, VPERFCTR_OPEN_CREAT);
	if (!err)
		err = vperfctr_control(v, &control);
	if (!err)
		err = vperfctr_region_init(&rows, v, nr);
	if (!err)
		err = vperfctr_region_init(&columns, v, nr);
	if (err)
		fail("cannot count", strerror(-err));

	for (int i = 0; i < 10; i++) {
		vperfctr_region_begin(&rows);
		sum += by_rows();
		err = vperfctr_region_end(&rows);
		if (err)
			break;
		vperfctr_region_begin(&columns);
		sum -= by_columns();
		err = vperfctr_region_end(&columns);
		if (err)
			break;
	}
	if (err)
		fail("cannot read", strerror(-err));
	if (sum)
		fail("wrong sums", "by rows and by columns they are the same");
	for (unsigned int i = 0; i < nr; i++)
		printf("%16" PRIu64 " by rows %16" PRIu64 " by columns  %s\n",
		       vperfctr_region_pmc(&rows, i), vperfctr_region_pmc(&columns, i),
		       event[i].name);
	vperfctr_unlink(v);
	vperfctr_close(v);
	return 0;
}
