// SPDX-License-Identifier: GPL-2.0
/*
 * A program that is built against the installed files only, as C and as C++.  It
 * prints the library's version and, if there is a device, whether it counts.
 */
#include <stdio.h>
#include <string.h>
#include <vperfctr.h>

static int count(struct vperfctr *v)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[1];
	uint64_t before, after;
	int err;

	vperfctr_control_init(&control, ctr);
	vperfctr_control_add(&control, VPERFCTR_FIXED | 0, 2);
	err = vperfctr_control(v, &control);
	if (!err)
		err = vperfctr_read_pmc(v, 0, &before);
	if (!err)
		err = vperfctr_read_pmc(v, 0, &after);
	if (!err)
		puts(after > before ? "counts" : "does not count");
	return err;
}

int main(void)
{
	struct vperfctr *v;
	int err;

	printf("%s: ", VPERFCTR_VERSION);
	err = vperfctr_open(&v, VPERFCTR_OPEN_CREAT);
	if (!err) {
		err = count(v);
		vperfctr_close(v);
	}
	if (err)
		puts(strerror(-err));
	return err != 0;
}
