/* SPDX-License-Identifier: GPL-2.0 */
/* The reservation of the hardware, and who has it. */
#ifndef VPERFCTR_RESERVATION_H
#define VPERFCTR_RESERVATION_H

#include <linux/types.h>

#include "cpu.h"

struct cred;
struct pid;
struct vperfctr_state;

/* reservation.c */
void vperfctr_hardware_exit(void);
int vperfctr_may_get_hardware(void);
int vperfctr_get_hardware(struct vperfctr_state *st);
int vperfctr_share_hardware(struct vperfctr_state *st);
void vperfctr_release_hardware(struct vperfctr_state *st);
void vperfctr_release_unused(struct vperfctr_state *st);

/* A set of CPUs, for whom it counts. */
struct vperfctr_cpus_holder {
	struct hlist_node link;
	struct pid *pid;
	const struct cred *cred;
};

int vperfctr_get_cpu_hardware(struct vperfctr_cpus_holder *holder, perfctr_ihandler *ihandler);
void vperfctr_release_cpu_hardware(struct vperfctr_cpus_holder *holder);

/* guest-switches.c */
int vperfctr_switches_init(void);
int vperfctr_watch_switches(void);
void vperfctr_unwatch_switches(void);

/* holders.c */
void vperfctr_hold(struct vperfctr_state *st);
void vperfctr_unhold(struct vperfctr_state *st);
void vperfctr_hold_cpus(struct vperfctr_cpus_holder *holder);
void vperfctr_unhold_cpus(struct vperfctr_cpus_holder *holder);
void vperfctr_report_holder(void);
bool vperfctr_report_refusal(void);
void vperfctr_holders_init(void);
void vperfctr_holders_exit(void);

#endif /* VPERFCTR_RESERVATION_H */
