/* SPDX-License-Identifier: GPL-2.0 */
/* The interface of /dev/vperfctr-floor (module.c), for ../floor.c only. */
#ifndef FLOOR_H
#define FLOOR_H

#include <linux/ioctl.h>

/* The argument of FLOOR_COUNT: the work of an overflow besides starting a period. */
#define FLOOR_NMI	0
#define FLOOR_SIGNAL	1		/* send SIGIO from an irq_work */

#define FLOOR_PERIOD	100003		/* PERIOD in ../overflow.c */

#define FLOOR_NOTHING	_IO(0xD1, 0)
#define FLOOR_COUNT	_IO(0xD1, 1)	/* the caller's user-mode instructions */
#define FLOOR_MAKE	_IO(0xD1, 2)	/* return a descriptor with a page to map */

#endif /* FLOOR_H */
