/* SPDX-License-Identifier: GPL-2.0 */
/* The memory of a machine that is built with memory.c, without the headers of the machine. */
#ifndef SIM_HOST_H
#define SIM_HOST_H

/* Save the machine's memory, and from the second call on, restore it. */
void host_reset(void);

/* In the place of _exit() in the machine and the module. */
void host_exit(int status);

#endif /* SIM_HOST_H */
