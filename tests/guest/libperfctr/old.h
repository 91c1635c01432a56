/* SPDX-License-Identifier: GPL-2.0 */
/* perfctr's interface, and the kernel's to check it: see ../../../libperfctr/kernel.h. */
#ifndef GUEST_OLD_H
#define GUEST_OLD_H

#include <libperfctr.h>

#define vperfctr_control kernel_control
#include "service.h"
#undef vperfctr_control

/* Assert that a call of perfctr's interface fails with this error. */
#define assert_fails(call, error) do {						\
	errno = 0;								\
	ck_assert_int_eq(call, -1);						\
	ck_assert_int_eq(errno, error);						\
} while (0)

#define assert_null(call, error) do {						\
	errno = 0;								\
	ck_assert_ptr_null(call);						\
	ck_assert_int_eq(errno, error);						\
} while (0)

/* The interrupt's enable bit. */
#define SEL_INT		0x100000

/* Fill in a control: nr a-mode counters of instructions in user mode, and the TSC. */
static inline struct vperfctr_control *count_with(struct vperfctr_control *control,
						  unsigned int nr)
{
	struct perfctr_cpu_control *cpu = &control->cpu_control;
	unsigned int i;

	memset(control, 0, sizeof(*control));
	cpu->tsc_on = 1;
	cpu->nractrs = nr;
	for (i = 0; i < nr; i++) {
		cpu->pmc_map[i] = i;
		cpu->evntsel[i] = (unsigned int)adapt_evntsel(INSNS_USER);
	}
	return control;
}

/* Open the same state by the kernel's interface. */
static inline int kernel_fd(void)
{
	int fd = try_open_state(0);

	if (fd < 0)
		die("VPERFCTR_OPEN: %s", strerror(-fd));
	return fd;
}

#endif /* GUEST_OLD_H */
