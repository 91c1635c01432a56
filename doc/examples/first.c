// SPDX-License-Identifier: GPL-2.0
/*
 * A first count: the instructions that a piece of code takes.
 *
 *	cc -O2 -o first first.c -lvperfctr-event -lvperfctr
 *
 * README quotes the lines between the two marks.
 */
#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <vperfctr-event.h>

/* The code that is measured.  Returns 0, as it cannot fail. */
static int work(void)
{
	for (volatile int i = 0; i < 1000; i++)
		;
	return 0;
}

int main(void)
{
	/* README { */
	struct vperfctr *v;
	struct vperfctr_why why;
	uint64_t before, after;

	if (vperfctr_event_open(&v, "instructions:u", &why))
		errx(1, "%s", why.text);
	if (vperfctr_read_pmc(v, 0, &before) || work() || vperfctr_read_pmc(v, 0, &after))
		errx(1, "cannot read the counter");
	printf("%" PRIu64 " instructions\n", after - before);
	/* } README */
	vperfctr_close(v);
	return 0;
}
