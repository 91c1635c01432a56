/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/vperfctr-floor, of module.c, for ../floor.c only. */
#ifndef FLOOR_H
#define FLOOR_H

#include <linux/ioctl.h>

/* What an overflow is to do besides starting the next period; the argument of FLOOR_COUNT. */
#define FLOOR_NMI	0
#define FLOOR_SIGNAL	1		/* SIGIO, by way of an irq_work */

#define FLOOR_PERIOD	100003		/* as in ../overflow.c */

#define FLOOR_NOTHING	_IO(0xD1, 0)
#define FLOOR_COUNT	_IO(0xD1, 1)	/* user-mode instructions of the caller, alone on its CPU */
#define FLOOR_MAKE	_IO(0xD1, 2)	/* a descriptor that has a page to be mapped */

#endif /* FLOOR_H */
