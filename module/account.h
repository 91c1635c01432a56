/* SPDX-License-Identifier: GPL-2.0 */
/* Limits of what a user has, and does to all CPUs. */
#ifndef VPERFCTR_ACCOUNT_H
#define VPERFCTR_ACCOUNT_H

#include <linux/gfp.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct vperfctr_account;

/* account.c */
void vperfctr_account_init(void);
struct vperfctr_account *vperfctr_charge_current(gfp_t gfp);
struct vperfctr_account *vperfctr_charge_child(struct vperfctr_account *account, gfp_t gfp);
void vperfctr_uncharge(struct vperfctr_account *account);
kuid_t vperfctr_account_uid(const struct vperfctr_account *account);
int vperfctr_may_charge(unsigned int nrstates, u64 ring_kb);
int vperfctr_charge_ring(struct vperfctr_account *account, u64 kb);
void vperfctr_uncharge_ring(struct vperfctr_account *account, unsigned int kb);

/* stop-limit.c */
unsigned int vperfctr_threads_per_stop(void);
int vperfctr_limit_stops(const struct vperfctr_account *account, unsigned int nrstops,
			 unsigned int ring_kb);
void vperfctr_owe_stops(const struct vperfctr_account *account, unsigned int nrstops);
int vperfctr_limit_rings(const struct vperfctr_account *account, unsigned int kb);
void vperfctr_stop_limit_exit(void);

#endif /* VPERFCTR_ACCOUNT_H */
