// SPDX-License-Identifier: GPL-2.0
/*
 * Report virtual machines whose counters stand still because of this module.
 *
 * KVM counts for a guest by events of perf.  While the counters are reserved, perf refuses
 * to create them, and KVM ignores that.  Neither calls anything of ours then.  But a guest
 * starts a counter by a write to its event select, for which KVM has a tracepoint.
 *
 * KVM may be a module that comes and goes.  Its tracepoint is found by name.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/ratelimit.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <asm/msr-index.h>

#include "../../comm.h"
#include "x86.h"

/* The numbers of registers, whatever the guest's processor has. */
#define NR_INTEL_SELECTS	10
#define NR_K7_SELECTS		4
#define NR_CORE_SELECTS		16

static struct tracepoint *kvm_msr;

/* True if a guest of any vendor starts a counter by this write. */
static bool starts_counter(u32 msr, u64 value)
{
	if (msr == MSR_CORE_PERF_FIXED_CTR_CTRL)
		return value;
	/* AMD's selects at these addresses alternate with the counters. */
	return (value & PERFCTR_X86_EVNTSEL_EN) &&
	       (msr - MSR_P6_EVNTSEL0 < NR_INTEL_SELECTS ||
		msr - MSR_K7_EVNTSEL0 < NR_K7_SELECTS ||
		(msr - MSR_F15H_PERF_CTL < 2 * NR_CORE_SELECTS && !(msr & 1)));
}

/* A guest can make these writes in a loop. */
static DEFINE_RATELIMIT_STATE(limit, 600 * HZ, 1);

/* Context: the thread of a virtual CPU; must not sleep. */
static void probe_kvm_msr(void *unused, unsigned int is_write, u32 msr, u64 value,
			  bool exception)
{
	struct vperfctr_comm comm;

	if (!is_write || exception || !starts_counter(msr, value) ||
	    !READ_ONCE(perfctr_reserved) || !__ratelimit(&limit))
		return;
	/* Without the lock of get_task_comm(), as this must not sleep. */
	strscpy(comm.text, current->comm, sizeof(comm.text));
	vperfctr_clean_comm(&comm);
	pr_warn("%s[%d]: the counters of this virtual machine stand still, because threads are counted on the host\n",
		comm.text, current->tgid);
}

static void attach(struct tracepoint *tp)
{
	/* Without the probe, the only loss is the report. */
	if (!kvm_msr && !strcmp(tp->name, "kvm_msr") &&
	    !tracepoint_probe_register(tp, probe_kvm_msr, NULL))
		kvm_msr = tp;
}

static void detach(struct tracepoint *tp)
{
	if (kvm_msr != tp)
		return;
	tracepoint_probe_unregister(tp, probe_kvm_msr, NULL);
	kvm_msr = NULL;
}

/* Context: the callers serialise. */
static int on_module(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct tp_module *tp_mod = data;
	const struct module *mod = tp_mod->mod;
	unsigned int i;

	for (i = 0; i < mod->num_tracepoints; i++) {
		struct tracepoint *tp = tracepoint_ptr_deref(&mod->tracepoints_ptrs[i]);

		if (event == MODULE_STATE_COMING)
			attach(tp);
		else if (event == MODULE_STATE_GOING)
			detach(tp);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = { .notifier_call = on_module };

/* KVM may also be a part of the kernel. */
static void attach_builtin(struct tracepoint *tp, void *unused)
{
	attach(tp);
}

void perfctr_x86_kvm_init(void)
{
	ratelimit_set_flags(&limit, RATELIMIT_MSG_ON_RELEASE);
	for_each_kernel_tracepoint(attach_builtin, NULL);
	/* Calls on_module() for the modules that are loaded. */
	register_tracepoint_module_notifier(&module_notifier);
}

/* Context: the counters are not reserved. */
void perfctr_x86_kvm_exit(void)
{
	unregister_tracepoint_module_notifier(&module_notifier);
	if (kvm_msr)
		detach(kvm_msr);
	tracepoint_synchronize_unregister();
}
