/* SPDX-License-Identifier: GPL-2.0 */
/*
 * 6.19: syscore operations take data, and are registered as a struct syscore.
 * Before that, this header supports a single registration.
 */
#ifndef VPERFCTR_COMPAT_SYSCORE_H
#define VPERFCTR_COMPAT_SYSCORE_H

#include <linux/syscore_ops.h>

#ifndef PERFCTR_HAVE_SYSCORE
struct perfctr_syscore_ops {
	int (*suspend)(void *data);
	void (*resume)(void *data);
};

struct syscore {
	const struct perfctr_syscore_ops *ops;
	void *data;
};

static struct syscore *perfctr_syscore;

static inline int perfctr_syscore_suspend(void)
{
	return perfctr_syscore->ops->suspend(perfctr_syscore->data);
}

static inline void perfctr_syscore_resume(void)
{
	perfctr_syscore->ops->resume(perfctr_syscore->data);
}

static struct syscore_ops perfctr_old_syscore_ops = {
	.suspend	= perfctr_syscore_suspend,
	.resume		= perfctr_syscore_resume,
};

static inline void register_syscore(struct syscore *syscore)
{
	perfctr_syscore = syscore;
	register_syscore_ops(&perfctr_old_syscore_ops);
}

static inline void unregister_syscore(struct syscore *syscore)
{
	unregister_syscore_ops(&perfctr_old_syscore_ops);
}

/* The members that are used here have the same names. */
#define syscore_ops perfctr_syscore_ops
#endif

#endif /* VPERFCTR_COMPAT_SYSCORE_H */
