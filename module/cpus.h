/* SPDX-License-Identifier: GPL-2.0 */
/* Counting CPUs instead of threads. */
#ifndef VPERFCTR_CPUS_H
#define VPERFCTR_CPUS_H

#include <linux/types.h>

struct perfctr_cpu_state;
struct pt_regs;
struct vperfctr_open_cpus;
struct vperfctr_state;

/* cpus.c */
void vperfctr_cpus_init(void);
int vperfctr_open_cpus_ioctl(struct vperfctr_open_cpus __user *arg);
bool vperfctr_cpus_refuse(const struct perfctr_cpu_state *state);
void vperfctr_cpus_sleep(void);
void vperfctr_cpus_wake(void);

/* cpu-samples.c */
int vperfctr_cpu_samples_begin(struct vperfctr_state *st, const struct vperfctr_state *root);
void vperfctr_cpu_begin_change(void);
void vperfctr_cpu_end_change(struct vperfctr_state *st);
void vperfctr_cpu_last_sample(struct vperfctr_state *st);
void vperfctr_cpus_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs);

#endif /* VPERFCTR_CPUS_H */
