// SPDX-License-Identifier: LGPL-2.1-or-later
/* Translate controls, values and errors between perfctr's interface and the kernel's. */
#include <fcntl.h>
#include <unistd.h>

#include "internal.h"

#include "../lib/affinity.h"

/* Fields of an event select, the same on Intel and AMD. */
#define EVNTSEL_EVENT	0x0000ffffU	/* event and unit mask */
#define EVNTSEL_USR	0x00010000U
#define EVNTSEL_OS	0x00020000U
#define EVNTSEL_INT	0x00100000U
#define EVNTSEL_EN	0x00400000U

/* Pentium 4: in the evntsel, which is a CCCR.  Its ESCR is escr[]. */
#define CCCR_PMI_T0	0x04000000U

/* A fixed counter's field of the control register. */
#define FIXED_OS	0x1U
#define FIXED_USR	0x2U
#define FIXED_INT	0x8U

/* A control in the kernel's form. */
struct request {
	struct kernel_control header;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
};

static void init_request(struct request *request)
{
	memset(request, 0, sizeof(*request));
	request->header.size = sizeof(request->header);
	request->header.ctr_size = sizeof(request->ctr[0]);
	request->header.ctr = (uintptr_t)request->ctr;
}

/* ---- control --------------------------------------------------------------- */

/*
 * Translate a fixed counter's evntsel to its field.  Programs use one of two forms: the
 * field itself, or an event select of the event that the counter counts.
 */
static int to_fixed(unsigned int map, unsigned int evntsel, unsigned int *field)
{
	static const unsigned int events[] = { 0x00c0, 0x003c, 0x013c };
	const unsigned int n = map & ~VPERFCTR_FIXED, event = evntsel & EVNTSEL_EVENT;

	*field = evntsel;
	if (!(evntsel & ~0xfU))
		return 0;
	if (event && (n >= sizeof(events) / sizeof(events[0]) || event != events[n]))
		return -EINVAL;
	if (evntsel & ~(EVNTSEL_EVENT | EVNTSEL_USR | EVNTSEL_OS | EVNTSEL_INT | EVNTSEL_EN))
		return -EINVAL;
	*field = (evntsel & EVNTSEL_USR ? FIXED_USR : 0) | (evntsel & EVNTSEL_OS ? FIXED_OS : 0) |
		 (evntsel & EVNTSEL_INT ? FIXED_INT : 0);
	return 0;
}

/* True if this event select needs off-core response register n. */
static int offcore_event(unsigned int evntsel, unsigned int n)
{
	return (evntsel & EVNTSEL_EVENT) == (n ? 0x01bb : 0x01b7);
}

/*
 * Refuse an off-core response value that no counter uses: the program does not count what
 * it wants.  This can happen on later processors, where these events have other codes.
 */
static int check_offcore(const struct perfctr_cpu_control *cpu, unsigned int nrctrs)
{
	unsigned int i, n;

	for (n = 0; nrctrs && n < 2; n++) {
		if (!cpu->nhlm.offcore_rsp[n])
			continue;
		for (i = 0; i < nrctrs; i++)
			if (!(cpu->pmc_map[i] & VPERFCTR_FIXED) &&
			    offcore_event(cpu->evntsel[i], n))
				break;
		if (i == nrctrs)
			return -EINVAL;
	}
	return 0;
}

/*
 * Translate counter i.  In perfctr's interface the interrupt is enabled for i-mode
 * counters and for no others; in the kernel's the bit is always clear.
 */
static int to_kernel_ctr(const struct perfctr_cpu_control *cpu, unsigned int i,
			 struct vperfctr_ctr *ctr)
{
	unsigned int evntsel = cpu->evntsel[i], interrupt = EVNTSEL_INT;
	const uint64_t high = cpu->evntsel_high[i];
	const int imode = i >= cpu->nractrs;
	int err;

	if (cpu->pmc_map[i] & VPERFCTR_FIXED) {
		err = to_fixed(cpu->pmc_map[i], evntsel, &evntsel);
		if (err)
			return err;
		/* A fixed counter's field has four bits. */
		if (high)
			return -EINVAL;
		interrupt = FIXED_INT;
	} else if (offcore_event(evntsel, 0)) {
		ctr->aux = cpu->nhlm.offcore_rsp[0];
	} else if (offcore_event(evntsel, 1)) {
		ctr->aux = cpu->nhlm.offcore_rsp[1];
	}
	if (!(evntsel & interrupt) != !imode)
		return -EINVAL;
	ctr->map = cpu->pmc_map[i];
	/* The kernel refuses the bits that this processor does not have. */
	ctr->evntsel = (evntsel & ~interrupt) | high << 32;
	if (imode)
		ctr->ireset = cpu->ireset[i];
	return 0;
}

/* The same on the Pentium 4. */
static int to_kernel_p4(const struct perfctr_cpu_control *cpu, unsigned int i,
			struct vperfctr_ctr *ctr)
{
	const int imode = i >= cpu->nractrs;

	if (!(cpu->evntsel[i] & CCCR_PMI_T0) != !imode)
		return -EINVAL;
	ctr->map = cpu->pmc_map[i];
	ctr->evntsel = cpu->evntsel[i] & ~CCCR_PMI_T0;
	ctr->aux = cpu->p4.escr[i];
	if (imode)
		ctr->ireset = cpu->ireset[i];
	return 0;
}

static int to_kernel(const struct vperfctr_control *control, struct request *request)
{
	const struct perfctr_cpu_control *cpu = &control->cpu_control;
	unsigned int i, nrctrs = cpu->nractrs + cpu->nrictrs;
	const int p4 = __perfctr_is_p4();
	int err;

	init_request(request);
	if (cpu->nractrs > MAX_CTRS || cpu->nrictrs > MAX_CTRS || nrctrs > MAX_CTRS)
		return -EINVAL;
	if (control->flags & ~VPERFCTR_CONTROL_CLOEXEC)
		return -EINVAL;
	err = p4 ? 0 : check_offcore(cpu, nrctrs);
	if (err)
		return err;
	if (p4 && nrctrs) {
		request->header.global[0] = cpu->p4.pebs_enable;
		request->header.global[1] = cpu->p4.pebs_matrix_vert;
	}
	for (i = 0; i < nrctrs; i++) {
		err = p4 ? to_kernel_p4(cpu, i, &request->ctr[i]) :
			   to_kernel_ctr(cpu, i, &request->ctr[i]);
		if (err)
			return err;
	}
	request->header.tsc_on = !!cpu->tsc_on;
	request->header.nractrs = cpu->nractrs;
	request->header.nrictrs = cpu->nrictrs;
	/* Programs may leave unused fields set. */
	request->header.si_signo = cpu->nrictrs ? control->si_signo : 0;
	request->header.preserve = control->preserve & ((1U << nrctrs) - 1);
	/* perfctr's rule for forbidden CPUs.  A control that only stops has no flags. */
	if (nrctrs)
		request->header.flags |= VPERFCTR_CONTROL_AFFINITY;
	if ((control->flags & VPERFCTR_CONTROL_CLOEXEC) && (nrctrs || cpu->tsc_on))
		request->header.flags |= VPERFCTR_CONTROL_END_ON_EXEC;
	return 0;
}

int __perfctr_stop(int fd)
{
	struct request request;
	int err;

	init_request(&request);
	err = __perfctr_ioctl(fd, VPERFCTR_CONTROL, &request.header);
	return err == -EPERM ? -ESRCH : err;
}

/* The thread may run on CPUs that cannot count this: narrow its affinity, as perfctr did. */
static int control_narrowed(int fd, const struct kernel_control *header)
{
	int dev = __perfctr_device_open(O_CLOEXEC), err;

	if (dev < 0)
		return -EUSERS;
	err = __vperfctr_call_narrowed(dev, fd, VPERFCTR_CONTROL, header, header->kind, 0);
	close(dev);
	return err;
}

/*
 * Set a control.  If the kernel refuses one, the old control keeps running; perfctr
 * stopped it, so stop it here.  The result of this stop also distinguishes two reasons for
 * EPERM: the caller may not count kernel mode; or it is neither the owner nor the
 * owner's monitor, for which perfctr returned ESRCH.
 */
int __perfctr_control(int fd, const struct vperfctr_control *control)
{
	struct request request;
	int err;

	err = to_kernel(control, &request);
	if (!err)
		err = __perfctr_ioctl(fd, VPERFCTR_CONTROL, &request.header);
	if (err == -EUSERS)
		err = control_narrowed(fd, &request.header);
	if (err && __perfctr_stop(fd) == -ESRCH)
		err = -ESRCH;
	return err;
}

static void from_kernel_p4(const struct request *request, struct perfctr_cpu_control *cpu)
{
	const struct kernel_control *header = &request->header;
	unsigned int i;

	cpu->p4.pebs_enable = (unsigned int)header->global[0];
	cpu->p4.pebs_matrix_vert = (unsigned int)header->global[1];
	for (i = 0; i < header->nractrs + header->nrictrs; i++) {
		const struct vperfctr_ctr *ctr = &request->ctr[i];

		cpu->pmc_map[i] = ctr->map;
		cpu->evntsel[i] = (unsigned int)ctr->evntsel;
		cpu->p4.escr[i] = (unsigned int)ctr->aux;
		cpu->ireset[i] = (int)ctr->ireset;
		if (i >= header->nractrs)
			cpu->evntsel[i] |= CCCR_PMI_T0;
	}
}

static void from_kernel(const struct request *request, struct vperfctr_control *control)
{
	const struct kernel_control *header = &request->header;
	struct perfctr_cpu_control *cpu = &control->cpu_control;
	unsigned int i;

	control->si_signo = header->si_signo;
	control->preserve = header->preserve;
	if (header->flags & VPERFCTR_CONTROL_END_ON_EXEC)
		control->flags = VPERFCTR_CONTROL_CLOEXEC;
	cpu->tsc_on = header->tsc_on;
	cpu->nractrs = header->nractrs;
	cpu->nrictrs = header->nrictrs;
	if (__perfctr_is_p4()) {
		from_kernel_p4(request, cpu);
		return;
	}
	for (i = 0; i < header->nractrs + header->nrictrs; i++) {
		const struct vperfctr_ctr *ctr = &request->ctr[i];
		const int fixed = !!(ctr->map & VPERFCTR_FIXED);

		cpu->pmc_map[i] = ctr->map;
		cpu->evntsel[i] = (unsigned int)ctr->evntsel;
		cpu->evntsel_high[i] = (unsigned int)(ctr->evntsel >> 32);
		cpu->ireset[i] = ctr->ireset;
		if (i >= header->nractrs)
			cpu->evntsel[i] |= fixed ? FIXED_INT : EVNTSEL_INT;
		if (!fixed && offcore_event(cpu->evntsel[i], 0))
			cpu->nhlm.offcore_rsp[0] = (unsigned int)ctr->aux;
		if (!fixed && offcore_event(cpu->evntsel[i], 1))
			cpu->nhlm.offcore_rsp[1] = (unsigned int)ctr->aux;
	}
}

/* ---- the other calls ---------------------------------------------------------- */

int __perfctr_read(int fd, struct perfctr_sum_ctrs *sum, struct vperfctr_control *control)
{
	const unsigned int stopped = VPERFCTR_STATUS_ATTACHED;
	uint64_t sums[1 + VPERFCTR_MAX_CTRS];
	struct vperfctr_read read = {
		.size = sizeof(read),
		.nrctrs = VPERFCTR_MAX_CTRS,
		.sums = (uintptr_t)sums,
	};
	struct request request;
	unsigned int i;
	int err;

	if (control) {
		init_request(&request);
		read.control = (uintptr_t)&request.header;
	}
	err = __perfctr_ioctl(fd, VPERFCTR_READ, &read);
	if (err)
		return err;
	/* Another interface than this one has set the control. */
	if (read.nrctrs > MAX_CTRS && (sum || control))
		return -EOVERFLOW;
	if (sum) {
		memset(sum, 0, sizeof(*sum));
		sum->tsc = sums[0];
		for (i = 0; i < read.nrctrs; i++)
			sum->pmc[i] = sums[1 + i];
	}
	if (control) {
		memset(control, 0, sizeof(*control));
		/* An all-zero control stopped it, but the kernel shows the one before. */
		if ((read.status & (stopped | VPERFCTR_STATUS_ACTIVE)) != stopped)
			from_kernel(&request, control);
	}
	return read.status;
}

/* perfctr returned EPERM if no overflow was pending, and ESRCH to others than the owner. */
int __perfctr_iresume(int fd)
{
	int err = __perfctr_ioctl(fd, VPERFCTR_IRESUME, NULL);

	switch (err) {
	case -ENODATA:
		return -EPERM;
	case -EPERM:
		return -ESRCH;
	}
	return err;
}

int __perfctr_unlink(int fd)
{
	int err = __perfctr_ioctl(fd, VPERFCTR_UNLINK, NULL);

	return err == -EPERM ? -ESRCH : err;
}

int __perfctr_state_open(int tid, unsigned int flags)
{
	struct vperfctr_open arg = { .size = sizeof(arg), .tid = tid, .flags = flags };
	struct perfctr_info info;
	int dev, ret;

	dev = __perfctr_device_open(O_CLOEXEC);
	if (dev < 0)
		return dev;
	ret = __perfctr_info(dev, &info);	/* checks the version of the interface */
	if (!ret)
		ret = __perfctr_ioctl(dev, VPERFCTR_OPEN, &arg);
	close(dev);
	/* EPERM: the other thread is not stopped under the caller's ptrace. */
	return ret == -EPERM && tid ? -ESRCH : ret;
}

/* ---- CPUs ----------------------------------------------------------------------- */

/* A control for a thread has flags, which one for CPUs must not have. */
int __perfctr_control_cpus(int fd, const struct perfctr_cpu_control *cpu)
{
	struct vperfctr_control control = { .cpu_control = *cpu };
	struct request request;
	int err;

	err = to_kernel(&control, &request);
	if (err)
		return err;
	request.header.flags = 0;
	err = __perfctr_ioctl(fd, VPERFCTR_CONTROL, &request.header);
	/* A CPU of another kind: to perfctr it is a forbidden one. */
	return err == -EUSERS ? -EINVAL : err;
}

/* Read the only CPU of a descriptor. */
int __perfctr_read_cpu(int fd, struct perfctr_sum_ctrs *sum)
{
	uint64_t sums[1 + MAX_CTRS];
	struct vperfctr_read_cpus read = {
		.size = sizeof(read), .nrcpus = 1, .nrctrs = MAX_CTRS, .sums = (uintptr_t)sums,
	};
	int err = __perfctr_ioctl(fd, VPERFCTR_READ_CPUS, &read);
	unsigned int i;

	if (err)
		return err;
	memset(sum, 0, sizeof(*sum));
	sum->tsc = sums[0];
	for (i = 0; i < read.nrctrs; i++)
		sum->pmc[i] = sums[1 + i];
	return 0;
}

/* ---- the interface --------------------------------------------------------------- */

/* The program sees this descriptor: as others that it opens, it survives exec. */
int _vperfctr_open(int creat)
{
	int fd = __perfctr_state_open(0, VPERFCTR_OPEN_NOCLOEXEC |
				      (creat ? VPERFCTR_OPEN_CREAT : 0));

	/* EPERM: a monitor counts kernel mode in this thread's state, and the thread may not. */
	if ((fd == -ENOENT || fd == -EPERM) && !creat)
		fd = __perfctr_device_open(0);
	return __perfctr_result(fd);
}

int _vperfctr_control(int fd, const struct vperfctr_control *control)
{
	return __perfctr_result(__perfctr_control(fd, control));
}

int _vperfctr_read_control(int fd, struct vperfctr_control *control)
{
	int ret = __perfctr_read(fd, NULL, control);

	return __perfctr_result(ret < 0 ? ret : 0);
}

int _vperfctr_read_sum(int fd, struct perfctr_sum_ctrs *sum)
{
	int ret = __perfctr_read(fd, sum, NULL);

	return __perfctr_result(ret < 0 ? ret : 0);
}
