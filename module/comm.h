/* SPDX-License-Identifier: GPL-2.0 */
/* Names of processes in the kernel's log and in files. */
#ifndef VPERFCTR_COMM_H
#define VPERFCTR_COMM_H

#include <linux/ctype.h>
#include <linux/sched.h>

struct vperfctr_comm {
	char text[TASK_COMM_LEN];
};

/* Make a name printable.  The process chooses it, and must not command the reader's terminal. */
static inline void vperfctr_clean_comm(struct vperfctr_comm *comm)
{
	char *p;

	for (p = comm->text; *p; p++) {
		if (!isascii(*p) || !isprint(*p))
			*p = '?';
	}
}

#endif /* VPERFCTR_COMM_H */
