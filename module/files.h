/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptors and their calls. */
#ifndef VPERFCTR_FILES_H
#define VPERFCTR_FILES_H

#include <linux/types.h>

struct file;
struct task_struct;
struct vm_area_struct;
struct vperfctr_info;
struct vperfctr_open;
struct vperfctr_state;

/* state-file.c */
struct file *vperfctr_file(struct vperfctr_state *st);
int vperfctr_open_found(struct vperfctr_state *st, int fd);
struct task_struct *vperfctr_get_thread(s32 tid);
int vperfctr_check_vma(struct vm_area_struct *vma);
int vperfctr_map_ring(struct vperfctr_state *st, struct vm_area_struct *vma);

/* device-calls.c */
int vperfctr_info(const struct vperfctr_state *of, struct vperfctr_info __user *arg);
struct vperfctr_state *vperfctr_make_opened(const struct vperfctr_open *req, struct file **file);
long vperfctr_dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

#endif /* VPERFCTR_FILES_H */
