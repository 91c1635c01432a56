// SPDX-License-Identifier: GPL-2.0
/*
 * The least that a module can do for the measured operations of vperfctr, which shows
 * the kernel's own cost.  It has no safety and no sums, and handles one task, one CPU
 * and Intel's version 2 of the counters.  For the emulator of "make bench" only.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <asm/apic.h>
#include <asm/nmi.h>

#include "compat/msr.h"
#include "compat/vma.h"
#include "floor.h"

#define EVNTSEL0	0x186
#define PMC0		0x0c1
#define GLOBAL_CTRL	0x38f
#define GLOBAL_OVF_CTRL	0x390
#define INSTRUCTIONS	0x5100c0	/* EN, INT, USR */
#define TOP_BIT		BIT_ULL(47)

static bool counting, with_signal;

static u64 read_counter(void)
{
	u32 low, high;

	asm volatile("rdpmc" : "=a" (low), "=d" (high) : "c" (0));
	return low | (u64)high << 32;
}

static void raise_sigio(struct irq_work *work)
{
	struct kernel_siginfo info;

	clear_siginfo(&info);
	info.si_signo = SIGIO;
	info.si_code = 'P';
	send_sig_info(SIGIO, &info, current);
}

static struct irq_work signal_work;

/* Stop, acknowledge, reload, unmask the interrupt, start. */
static int handle_nmi(unsigned int type, struct pt_regs *regs)
{
	if (!counting || (read_counter() & TOP_BIT))
		return NMI_DONE;
	native_wrmsrq(GLOBAL_CTRL, 0);
	native_wrmsrq(GLOBAL_OVF_CTRL, 1);
	native_wrmsrq(PMC0, -FLOOR_PERIOD);
	apic->write(APIC_LVTPC, APIC_DM_NMI);
	if (with_signal)
		irq_work_queue(&signal_work);
	native_wrmsrq(GLOBAL_CTRL, 1);
	return NMI_HANDLED;
}

static void stop_counting(void)
{
	native_wrmsrq(GLOBAL_CTRL, 0);
	native_wrmsrq(EVNTSEL0, 0);
	native_wrmsrq(GLOBAL_OVF_CTRL, 1);
	counting = false;
}

static int start_counting(bool signal)
{
	unsigned long flags;

	local_irq_save(flags);
	stop_counting();
	with_signal = signal;
	native_wrmsrq(PMC0, -FLOOR_PERIOD);
	native_wrmsrq(EVNTSEL0, INSTRUCTIONS);
	apic->write(APIC_LVTPC, APIC_DM_NMI);
	counting = true;
	native_wrmsrq(GLOBAL_CTRL, 1);
	local_irq_restore(flags);
	return 0;
}

/* ---- descriptors with a page ------------------------------------------------- */

static int page_mmap(struct file *file, struct vm_area_struct *vma)
{
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP | VM_IO | VM_PFNMAP,
		     VM_MAYWRITE | VM_MAYEXEC);
	return vmf_insert_pfn(vma, vma->vm_start, page_to_pfn(virt_to_page(file->private_data))) &
		       VM_FAULT_ERROR ? -ENOMEM : 0;
}

static int page_release(struct inode *inode, struct file *file)
{
	free_page((unsigned long)file->private_data);
	return 0;
}

static const struct file_operations page_fops = {
	.owner		= THIS_MODULE,
	.mmap		= page_mmap,
	.release	= page_release,
};

static int make_page_fd(void)
{
	unsigned long page = get_zeroed_page(GFP_KERNEL_ACCOUNT);
	int fd;

	if (!page)
		return -ENOMEM;
	fd = anon_inode_getfd("[vperfctr-floor]", &page_fops, (void *)page, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		free_page(page);
	return fd;
}

/* ---- the device ------------------------------------------------------------------ */

static long floor_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	switch (cmd) {
	case FLOOR_NOTHING:
		return 0;
	case FLOOR_COUNT:
		return start_counting(arg == FLOOR_SIGNAL);
	case FLOOR_MAKE:
		return make_page_fd();
	}
	return -ENOTTY;
}

static int floor_release(struct inode *inode, struct file *file)
{
	if (counting)
		stop_counting();
	return 0;
}

static const struct file_operations floor_fops = {
	.owner		= THIS_MODULE,
	.unlocked_ioctl	= floor_ioctl,
	.release	= floor_release,
};

static struct miscdevice floor_dev = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "vperfctr-floor",
	.fops	= &floor_fops,
};

static int __init floor_init(void)
{
	int err = -EBUSY;

	init_irq_work(&signal_work, raise_sigio);
	if (!reserve_evntsel_nmi(EVNTSEL0))
		return err;
	if (!reserve_perfctr_nmi(PMC0))
		goto no_counter;
	err = register_nmi_handler(NMI_LOCAL, handle_nmi, 0, "vperfctr-floor");
	if (err)
		goto no_handler;
	err = misc_register(&floor_dev);
	if (!err)
		return 0;
	unregister_nmi_handler(NMI_LOCAL, "vperfctr-floor");
no_handler:
	release_perfctr_nmi(PMC0);
no_counter:
	release_evntsel_nmi(EVNTSEL0);
	return err;
}

static void __exit floor_exit(void)
{
	misc_deregister(&floor_dev);
	unregister_nmi_handler(NMI_LOCAL, "vperfctr-floor");
	irq_work_sync(&signal_work);
	release_perfctr_nmi(PMC0);
	release_evntsel_nmi(EVNTSEL0);
}

module_init(floor_init);
module_exit(floor_exit);

MODULE_DESCRIPTION("The kernel's own cost of the operations of vperfctr");
MODULE_AUTHOR("The vperfctr authors");
MODULE_LICENSE("GPL");
