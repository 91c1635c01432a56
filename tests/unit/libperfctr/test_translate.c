// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests of how libperfctr translates perfctr's calls for the kernel, and the kernel's
 * results, for cases that no virtual machine has: other processors, other kernels.  The
 * linker redirects the library's open and ioctl here.
 */
#include <check.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "internal.h"

/* ---- a kernel ------------------------------------------------------------------- */

#define FAKE_DEV	1000
#define FAKE_STATE	1001

static struct {
	struct vperfctr_info info;
	int open_error, state_error, control_error, stop_error, iresume_error;
	unsigned int status, nrctrs;
	struct kernel_control header;		/* the last one that is not a stop */
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	unsigned int stops;
	unsigned int affinity, countable;	/* CPUs; 0: all can count */
} kernel;

int __wrap_open64(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long cmd, void *arg);
/* The processor of this machine does not matter. */
static int is_p4;
int __wrap___perfctr_is_p4(void);

int __wrap___perfctr_is_p4(void)
{
	return is_p4;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);

int __wrap_open64(const char *path, int flags, ...)
{
	(void)flags;
	ck_assert_str_eq(path, "/dev/vperfctr");
	if (!kernel.open_error)
		return FAKE_DEV;
	errno = kernel.open_error;
	return -1;
}

static int result(int error)
{
	errno = error;
	return error ? -1 : 0;
}

static int control_call(const struct kernel_control *header)
{
	unsigned int nrctrs = header->nractrs + header->nrictrs;

	ck_assert_uint_eq(header->size, sizeof(*header));
	if (!nrctrs && !header->tsc_on) {
		kernel.stops++;
		return result(kernel.stop_error);
	}
	ck_assert_uint_eq(header->ctr_size, sizeof(kernel.ctr[0]));
	if (kernel.countable && (header->flags & VPERFCTR_CONTROL_AFFINITY) &&
	    kernel.affinity & ~kernel.countable)
		return result(EUSERS);
	kernel.header = *header;
	memcpy(kernel.ctr, (void *)(uintptr_t)header->ctr, nrctrs * sizeof(kernel.ctr[0]));
	return result(kernel.control_error);
}

static int read_call(struct vperfctr_read *read)
{
	struct kernel_control *header = (void *)(uintptr_t)read->control;
	struct vperfctr_sums *sums = (void *)(uintptr_t)read->sums;
	unsigned int i;

	ck_assert_uint_ge(read->nrctrs, kernel.nrctrs);
	read->nrctrs = kernel.nrctrs;
	read->status = kernel.status;
	for (i = 0; sums && i < kernel.nrctrs; i++)
		sums->pmc[i] = 100 + i;
	if (sums)
		sums->tsc = 99;
	if (header) {
		const uint64_t ctr = header->ctr;

		memcpy((void *)(uintptr_t)ctr, kernel.ctr, sizeof(kernel.ctr));
		*header = kernel.header;
		header->ctr = ctr;
	}
	return 0;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	memset(set, 0, size);
	memcpy(set, &kernel.affinity, sizeof(kernel.affinity));
	return 0;
}

int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set)
{
	(void)pid;
	(void)size;
	memcpy(&kernel.affinity, set, sizeof(kernel.affinity));
	return 0;
}

static int mask_call(struct vperfctr_cpu_mask *mask, uint32_t cpus)
{
	const unsigned int room = mask->nrwords;

	mask->nrwords = 1;
	if (!room)
		return result(EOVERFLOW);
	mask->mask[0] = cpus;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long cmd, void *arg)
{
	struct vperfctr_kind_cpus *cpus = arg;

	/* A state has INFO, too, and no other call of the device's. */
	if (fd == FAKE_STATE && cmd == VPERFCTR_INFO) {
		memcpy(arg, &kernel.info, sizeof(kernel.info));
		return 0;
	} else if (fd == FAKE_STATE && (cmd & 0xff) < 16) {
		return result(ENOTTY);
	} else if (fd == FAKE_DEV && cmd == VPERFCTR_READ) {
		return result(ENOTTY);
	} else if (fd == FAKE_DEV && (cmd == VPERFCTR_CPUS || cmd == VPERFCTR_CPUS_FORBIDDEN)) {
		return mask_call(arg, cmd == VPERFCTR_CPUS ? 0xf : 0);
	}

	if (fd == FAKE_DEV && cmd == VPERFCTR_OPEN) {
		return result(kernel.state_error);
	} else if (fd == FAKE_DEV && cmd == VPERFCTR_KIND_CPUS) {
		cpus->mask[0] = kernel.countable;
		return 0;
	} else if (fd == FAKE_DEV) {
		ck_assert_uint_eq(cmd, VPERFCTR_INFO);
		memcpy(arg, &kernel.info, sizeof(kernel.info));
		return 0;
	}
	if (fd != FAKE_STATE)
		return result(EBADF);
	switch (cmd) {
	case VPERFCTR_CONTROL:
		return control_call(arg);
	case VPERFCTR_READ:
		return read_call(arg);
	case VPERFCTR_IRESUME:
		return result(kernel.iresume_error);
	}
	return result(ENOTTY);
}

static void setup(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.info.abi_version = VPERFCTR_ABI_VERSION;
	kernel.status = VPERFCTR_STATUS_ATTACHED | VPERFCTR_STATUS_ACTIVE;
}

#define assert_fails(call, error) do {				\
	errno = 0;						\
	ck_assert_int_eq(call, -1);				\
	ck_assert_int_eq(errno, error);				\
} while (0)

/* ---- CPUs ----------------------------------------------------------------------- */

START_TEST(no_cpus)
{
	errno = 0;
	ck_assert_ptr_null(gperfctr_open());
	ck_assert_int_eq(errno, ENOSYS);
	kernel.info.abi_version += 1 << 16;
	ck_assert_ptr_null(gperfctr_open());
	ck_assert_int_eq(errno, EPROTO);
	kernel.open_error = ENOENT;
	ck_assert_ptr_null(gperfctr_open());
	ck_assert_int_eq(errno, ENODEV);
}
END_TEST

/* A control for CPUs has no flags.  CPUs of another kind are forbidden ones. */
START_TEST(control_of_cpus)
{
	struct perfctr_cpu_control control = {
		.nractrs = 1, .pmc_map = { 2 }, .evntsel = { 0x4100c0 },
	};

	ck_assert_int_eq(__perfctr_control_cpus(FAKE_STATE, &control), 0);
	ck_assert_uint_eq(kernel.header.flags, 0);
	ck_assert_uint_eq(kernel.header.tsc_on, 0);
	ck_assert_uint_eq(kernel.ctr[0].map, 2);
	kernel.control_error = EUSERS;
	ck_assert_int_eq(__perfctr_control_cpus(FAKE_STATE, &control), -EINVAL);
	kernel.control_error = EBUSY;
	ck_assert_int_eq(__perfctr_control_cpus(FAKE_STATE, &control), -EBUSY);
	control.evntsel[0] |= 1 << 20;
	ck_assert_int_eq(__perfctr_control_cpus(FAKE_STATE, &control), -EINVAL);
}
END_TEST

/* ---- processors ------------------------------------------------------------------- */

static const struct {
	const char *vendor;			/* as CPUID has it: EBX, EDX, ECX */
	unsigned int signature, type;
} processors[] = {
	{ "GenuineIntel", 0x0052c, PERFCTR_X86_INTEL_P5 },
	{ "GenuineIntel", 0x00543, PERFCTR_X86_INTEL_P5MMX },
	{ "GenuineIntel", 0x00581, PERFCTR_X86_INTEL_P5MMX },
	{ "CyrixInstead", 0x00600, PERFCTR_X86_CYRIX_MII },
	{ "CentaurHauls", 0x00678, PERFCTR_X86_VIA_C3 },
	{ "CentaurHauls", 0x00541, PERFCTR_X86_WINCHIP_C6 },
	{ "CentaurHauls", 0x00585, PERFCTR_X86_WINCHIP_2 },
	{ "CentaurHauls", 0x00595, PERFCTR_X86_WINCHIP_2 },
	{ "GenuineIntel", 0x00619, PERFCTR_X86_INTEL_P6 },
	{ "GenuineIntel", 0x00633, PERFCTR_X86_INTEL_PII },
	{ "GenuineIntel", 0x00665, PERFCTR_X86_INTEL_PII },
	{ "GenuineIntel", 0x00673, PERFCTR_X86_INTEL_PIII },
	{ "GenuineIntel", 0x006b1, PERFCTR_X86_INTEL_PIII },
	{ "GenuineIntel", 0x00695, PERFCTR_X86_INTEL_PENTM },
	{ "GenuineIntel", 0x006d8, PERFCTR_X86_INTEL_PENTM },
	{ "GenuineIntel", 0x006e8, PERFCTR_X86_INTEL_CORE },
	{ "GenuineIntel", 0x006f6, PERFCTR_X86_INTEL_CORE2 },
	{ "GenuineIntel", 0x10676, PERFCTR_X86_INTEL_CORE2 },
	{ "GenuineIntel", 0x106d1, PERFCTR_X86_INTEL_CORE2 },
	{ "GenuineIntel", 0x106c2, PERFCTR_X86_INTEL_ATOM },
	{ "GenuineIntel", 0x30661, PERFCTR_X86_INTEL_ATOM },
	{ "GenuineIntel", 0x106a5, PERFCTR_X86_INTEL_NHLM },
	{ "GenuineIntel", 0x206e6, PERFCTR_X86_INTEL_NHLM },
	{ "GenuineIntel", 0x206c2, PERFCTR_X86_INTEL_WSTMR },
	{ "GenuineIntel", 0x206a7, PERFCTR_X86_INTEL_WSTMR },	/* Sandy Bridge */
	{ "GenuineIntel", 0x806f8, PERFCTR_X86_INTEL_WSTMR },	/* Sapphire Rapids */
	{ "CentaurHauls", 0x006fe, PERFCTR_X86_INTEL_CORE2 },
	{ "  Shanghai  ", 0x703b0, PERFCTR_X86_INTEL_WSTMR },
	{ "GenuineIntel", 0x00f0a, PERFCTR_X86_INTEL_P4 },
	{ "GenuineIntel", 0x00f12, PERFCTR_X86_INTEL_P4 },
	{ "GenuineIntel", 0x00f29, PERFCTR_X86_INTEL_P4M2 },
	{ "GenuineIntel", 0x00f34, PERFCTR_X86_INTEL_P4M3 },
	{ "GenuineIntel", 0x00f65, PERFCTR_X86_INTEL_P4M3 },
	{ "AuthenticAMD", 0x006a0, PERFCTR_X86_AMD_K7 },
	{ "AuthenticAMD", 0x00f51, PERFCTR_X86_AMD_K8 },
	{ "AuthenticAMD", 0x00f58, PERFCTR_X86_AMD_K8C },
	{ "AuthenticAMD", 0x40f33, PERFCTR_X86_AMD_K8C },
	{ "AuthenticAMD", 0x100f42, PERFCTR_X86_AMD_FAM10H },
	{ "AuthenticAMD", 0x800f12, PERFCTR_X86_AMD_FAM10H },
	{ "AuthenticAMD", 0xa20f10, PERFCTR_X86_AMD_FAM10H },
	{ "HygonGenuine", 0x900f02, PERFCTR_X86_AMD_FAM10H },
};

START_TEST(cpu_type)
{
	struct perfctr_info info = { .cpu_type = processors[_i].type };
	unsigned int vendor[3];

	memcpy(vendor, processors[_i].vendor, sizeof(vendor));
	ck_assert_uint_eq(__perfctr_cpu_type(vendor, processors[_i].signature),
			  processors[_i].type);
	/* each reported type has a name, and events unless these need two registers */
	ck_assert_int_gt(strlen(perfctr_info_cpu_name(&info)), 5);
	if (!strstr(perfctr_info_cpu_name(&info), "Pentium 4"))
		ck_assert_ptr_nonnull(perfctr_cpu_event_set(processors[_i].type));
}
END_TEST

START_TEST(names)
{
	struct perfctr_info info;

	for (info.cpu_type = 0; info.cpu_type <= PERFCTR_X86_INTEL_SNB; info.cpu_type++)
		ck_assert_int_gt(strlen(perfctr_info_cpu_name(&info)), 5);
	ck_assert_str_eq(perfctr_info_cpu_name(&info), "unknown processor");
}
END_TEST

START_TEST(information)
{
	struct perfctr_info info;

	kernel.info.features = ~0U;
	kernel.info.nrctrs = 32;
	kernel.info.tsc_khz = 1234567;
	memset(kernel.info.driver_version, 'x', 31);
	ck_assert_int_eq(perfctr_get_info(&info), 0);
	ck_assert_uint_eq(info.cpu_type, PERFCTR_X86_GENERIC);
	ck_assert_uint_eq(info.cpu_features, 7);
	ck_assert_uint_eq(info.cpu_khz, 1234567);
	ck_assert_uint_eq(perfctr_info_nrctrs(&info), 18);	/* as many as fit */
	ck_assert_int_eq(strlen(info.driver_version), 31);

	kernel.info.cpu_type = VPERFCTR_CPU_INTEL_ARCH;
	ck_assert_int_eq(perfctr_get_info(&info), 0);
	ck_assert_uint_ne(info.cpu_type, PERFCTR_X86_GENERIC);

	kernel.info.abi_version += 1;
	/* Versions before 1.0 may differ in anything. */
	if (VPERFCTR_ABI_VERSION >> 16)
		ck_assert_int_eq(perfctr_get_info(&info), 0);
	else
		assert_fails(perfctr_get_info(&info), EPROTO);
	kernel.info.abi_version += 0x10000;
	assert_fails(perfctr_get_info(&info), EPROTO);
	ck_assert_ptr_null(vperfctr_open());
	ck_assert_int_eq(errno, EPROTO);
}
END_TEST

START_TEST(no_device)
{
	static const int errors[][2] = {
		{ ENOENT, ENODEV }, { ENXIO, ENODEV }, { EACCES, EACCES }, { EMFILE, EMFILE },
	};
	struct perfctr_info info;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		kernel.open_error = errors[i][0];
		assert_fails(perfctr_get_info(&info), errors[i][1]);
		assert_fails(_vperfctr_open(0), errors[i][1]);
		assert_fails(_vperfctr_open(1), errors[i][1]);
		errno = 0;
		ck_assert_ptr_null(vperfctr_open());
		ck_assert_int_eq(errno, errors[i][1]);
		errno = 0;
		ck_assert_ptr_null(rvperfctr_open(getpid()));
		ck_assert_int_eq(errno, errors[i][1]);
	}
}
END_TEST

/* ---- controls ------------------------------------------------------------------------ */

/* All fields of a control, to the kernel and back. */
START_TEST(control)
{
	struct vperfctr_control old, back;
	struct perfctr_cpu_control *cpu = &old.cpu_control;

	memset(&old, 0, sizeof(old));
	old.si_signo = 29;
	old.preserve = 0x15;
	cpu->tsc_on = 1;
	cpu->nractrs = 3;
	cpu->nrictrs = 2;
	cpu->pmc_map[0] = 2;
	cpu->evntsel[0] = 0xff4101b7;		/* the highest bit is no sign */
	cpu->pmc_map[1] = 1;
	cpu->evntsel[1] = 0x4101bb;
	cpu->pmc_map[2] = 0x40000001;
	cpu->evntsel[2] = 3;
	cpu->pmc_map[3] = 0;
	cpu->evntsel[3] = 0x5100c0;
	cpu->ireset[3] = -0x7fffffff - 1;
	cpu->pmc_map[4] = 0x40000000;
	cpu->evntsel[4] = 0xa;
	cpu->ireset[4] = -1;
	cpu->p4.pebs_enable = 0x80000001;
	cpu->p4.pebs_matrix_vert = 0x5678;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), 0);
	ck_assert_uint_eq(kernel.stops, 0);

	ck_assert_int_eq(kernel.header.si_signo, 29);
	ck_assert_uint_eq(kernel.header.preserve, 0x15);
	ck_assert_uint_eq(kernel.header.flags, VPERFCTR_CONTROL_AFFINITY);
	ck_assert_uint_eq(kernel.header.tsc_on, 1);
	ck_assert_uint_eq(kernel.header.nractrs, 3);
	ck_assert_uint_eq(kernel.header.nrictrs, 2);
	ck_assert_uint_eq(kernel.ctr[0].map, 2);
	ck_assert_uint_eq(kernel.ctr[0].evntsel, 0xff4101b7);
	ck_assert_uint_eq(kernel.ctr[0].aux, 0x80000001);
	ck_assert_uint_eq(kernel.ctr[1].aux, 0x5678);
	ck_assert_uint_eq(kernel.ctr[2].map, VPERFCTR_FIXED | 1);
	ck_assert_uint_eq(kernel.ctr[2].evntsel, 3);
	ck_assert_uint_eq(kernel.ctr[2].aux, 0);
	ck_assert_uint_eq(kernel.ctr[3].evntsel, 0x4100c0);
	ck_assert_int_eq(kernel.ctr[3].ireset, -0x80000000LL);
	ck_assert_uint_eq(kernel.ctr[4].evntsel, 2);
	ck_assert_int_eq(kernel.ctr[4].ireset, -1);

	kernel.nrctrs = 5;
	memset(&back, 0xff, sizeof(back));
	ck_assert_int_eq(_vperfctr_read_control(FAKE_STATE, &back), 0);
	ck_assert_mem_eq(&back, &old, sizeof(old));
}
END_TEST

/* On the Pentium 4, a control has CCCRs, ESCRs, and two words for replay tagging. */
START_TEST(pentium_4)
{
	struct vperfctr_control old, back;
	struct perfctr_cpu_control *cpu = &old.cpu_control;

	is_p4 = 1;
	memset(&old, 0, sizeof(old));
	cpu->tsc_on = 1;
	cpu->nractrs = 1;
	cpu->nrictrs = 1;
	cpu->pmc_map[0] = 0x8000000c;
	cpu->evntsel[0] = 0x0003b000;
	cpu->p4.escr[0] = 0x12000204;
	cpu->pmc_map[1] = 17;
	cpu->evntsel[1] = 0x04039000;
	cpu->p4.escr[1] = 0x04000204;
	cpu->ireset[1] = -1000;
	cpu->p4.pebs_enable = 0x01000001;
	cpu->p4.pebs_matrix_vert = 0x2;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), 0);
	ck_assert_uint_eq(kernel.ctr[0].map, 0x8000000c);
	ck_assert_uint_eq(kernel.ctr[0].evntsel, 0x0003b000);
	ck_assert_uint_eq(kernel.ctr[0].aux, 0x12000204);
	ck_assert_uint_eq(kernel.ctr[1].evntsel, 0x00039000);
	ck_assert_uint_eq(kernel.ctr[1].aux, 0x04000204);
	ck_assert_int_eq(kernel.ctr[1].ireset, -1000);
	ck_assert_uint_eq(kernel.header.global[0], 0x01000001);
	ck_assert_uint_eq(kernel.header.global[1], 0x2);
	kernel.nrctrs = 2;
	memset(&back, 0xff, sizeof(back));
	ck_assert_int_eq(_vperfctr_read_control(FAKE_STATE, &back), 0);
	ck_assert_mem_eq(&back, &old, sizeof(old));
	/* The interrupt is enabled for i-mode counters and no others. */
	cpu->evntsel[1] = 0x00039000;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), -1);
	ck_assert_int_eq(errno, EINVAL);
	cpu->evntsel[1] = 0x04039000;
	cpu->evntsel[0] = 0x0403b000;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), -1);
	ck_assert_int_eq(errno, EINVAL);
	is_p4 = 0;
}
END_TEST

/* A control keeps the thread on CPUs that can count it, as perfctr's did. */
START_TEST(affinity)
{
	struct vperfctr_control narrow;

	memset(&narrow, 0, sizeof(narrow));
	narrow.cpu_control.nractrs = 1;
	narrow.cpu_control.evntsel[0] = 0x4100c0;
	kernel.affinity = 0xf;
	kernel.countable = 0x3;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &narrow), 0);
	ck_assert_uint_eq(kernel.affinity, 0x3);
	ck_assert_uint_eq(kernel.stops, 0);
	/* The affinity never grows. */
	kernel.countable = 0xc;
	assert_fails(_vperfctr_control(FAKE_STATE, &narrow), EINVAL);
	ck_assert_uint_eq(kernel.affinity, 0x3);
	ck_assert_uint_eq(kernel.stops, 1);
}
END_TEST

/* The upper half of an event select, to the kernel and back. */
START_TEST(high_half)
{
	struct vperfctr_control old, back;
	struct perfctr_cpu_control *cpu = &old.cpu_control;

	memset(&old, 0, sizeof(old));
	cpu->nractrs = 1;
	cpu->nrictrs = 1;
	cpu->evntsel[0] = 0xff4100c0;
	cpu->evntsel_high[0] = 1;
	cpu->pmc_map[1] = 1;
	cpu->evntsel[1] = 0x5100c0;
	cpu->evntsel_high[1] = 0x80000002;
	cpu->ireset[1] = -1;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), 0);
	ck_assert_uint_eq(kernel.ctr[0].evntsel, 0x1ff4100c0);
	ck_assert_uint_eq(kernel.ctr[1].evntsel, 0x80000002004100c0);
	kernel.nrctrs = 2;
	ck_assert_int_eq(_vperfctr_read_control(FAKE_STATE, &back), 0);
	ck_assert_mem_eq(&back, &old, sizeof(old));
	/* It has the place of the Pentium 4's fields. */
	ck_assert_ptr_eq(cpu->evntsel_high, cpu->p4.escr);
	ck_assert_ptr_eq(&cpu->nhlm.offcore_rsp[0], &cpu->p4.pebs_enable);
	ck_assert_ptr_eq(&cpu->nhlm.offcore_rsp[1], &cpu->p4.pebs_matrix_vert);
	/* A fixed counter has no upper half. */
	cpu->pmc_map[0] = 0x40000000;
	cpu->evntsel[0] = 2;
	assert_fails(_vperfctr_control(FAKE_STATE, &old), EINVAL);
	cpu->evntsel_high[0] = 0;
	ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), 0);
}
END_TEST

/* An off-core response that no counter uses is refused, not ignored. */
START_TEST(offcore_without_event)
{
	static const unsigned int events[] = { 0x4101b7, 0x4101bb };
	struct vperfctr_control old;
	struct perfctr_cpu_control *cpu = &old.cpu_control;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		memset(&old, 0, sizeof(old));
		cpu->nractrs = 2;
		cpu->pmc_map[1] = 1;
		cpu->evntsel[0] = 0x4100c0;
		cpu->evntsel[1] = events[i];
		cpu->nhlm.offcore_rsp[i] = 0xf077;
		ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), 0);
		ck_assert_uint_eq(kernel.ctr[1].aux, 0xf077);
		ck_assert_uint_eq(kernel.ctr[0].aux, 0);
		cpu->nhlm.offcore_rsp[!i] = 0xf077;
		assert_fails(_vperfctr_control(FAKE_STATE, &old), EINVAL);
		cpu->nhlm.offcore_rsp[!i] = 0;
		cpu->evntsel[1] = 0x41003c;
		assert_fails(_vperfctr_control(FAKE_STATE, &old), EINVAL);
		/* Without counters there is nothing to refuse. */
		cpu->nractrs = 0;
		ck_assert_int_eq(_vperfctr_control(FAKE_STATE, &old), 0);
	}
}
END_TEST

/* Another interface controls more counters than perfctr has room for. */
START_TEST(too_many_counters)
{
	struct vperfctr_control now;
	struct perfctr_sum_ctrs sum;

	kernel.nrctrs = 18;
	ck_assert_int_eq(_vperfctr_read_sum(FAKE_STATE, &sum), 0);
	ck_assert_uint_eq(sum.tsc, 99);
	ck_assert_uint_eq(sum.pmc[17], 117);
	kernel.nrctrs = 19;
	assert_fails(_vperfctr_read_sum(FAKE_STATE, &sum), EOVERFLOW);
	assert_fails(_vperfctr_read_control(FAKE_STATE, &now), EOVERFLOW);
}
END_TEST

/*
 * The kernel's EPERM for another thread becomes ESRCH, as the thread is not stopped.  EPERM
 * for the caller's own state remains EPERM.
 */
START_TEST(not_found)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		kernel.state_error = i ? EPERM : ENOENT;
		ck_assert_int_eq(_vperfctr_open(0), FAKE_DEV);
		errno = 0;
		ck_assert_ptr_null(vperfctr_open_mode(0));
		ck_assert_int_eq(errno, kernel.state_error);
		errno = 0;
		ck_assert_ptr_null(rvperfctr_open(getpid()));
		ck_assert_int_eq(errno, i ? ESRCH : ENOENT);
	}
	assert_fails(_vperfctr_open(1), EPERM);
}
END_TEST

/* After a refused control the library stops, which also shows what an EPERM means. */
START_TEST(refused)
{
	static const int errors[][3] = {	/* of the control, of the stop, of both */
		{ EINVAL, 0, EINVAL }, { EBUSY, 0, EBUSY }, { EPERM, 0, EPERM },
		{ EPERM, EPERM, ESRCH }, { ESRCH, ESRCH, ESRCH }, { ENOMEM, ENOMEM, ENOMEM },
		{ EINVAL, EPERM, ESRCH },
	};
	struct vperfctr_control old;
	unsigned int i;

	memset(&old, 0, sizeof(old));
	old.cpu_control.nractrs = 1;
	old.cpu_control.evntsel[0] = 0x4100c0;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		kernel.control_error = errors[i][0];
		kernel.stop_error = errors[i][1];
		kernel.stops = 0;
		assert_fails(_vperfctr_control(FAKE_STATE, &old), errors[i][2]);
		ck_assert_uint_eq(kernel.stops, 1);
	}
}
END_TEST

/* iresume returns EPERM if no overflow is pending. */
START_TEST(iresume)
{
	ck_assert_int_eq(__perfctr_iresume(FAKE_STATE), 0);
	kernel.iresume_error = ENODATA;
	ck_assert_int_eq(__perfctr_iresume(FAKE_STATE), -EPERM);
	kernel.iresume_error = EPERM;
	ck_assert_int_eq(__perfctr_iresume(FAKE_STATE), -ESRCH);
	kernel.iresume_error = ESRCH;
	ck_assert_int_eq(__perfctr_iresume(FAKE_STATE), -ESRCH);
}
END_TEST

/* ---- printing --------------------------------------------------------------------------- */

static char printed[4096];

/* Return what a call prints. */
#define PRINTED(call) ({						\
	FILE *file_ = tmpfile();					\
	int saved_ = dup(1);						\
									\
	fflush(stdout);							\
	dup2(fileno(file_), 1);						\
	call;								\
	fflush(stdout);							\
	dup2(saved_, 1);						\
	close(saved_);							\
	rewind(file_);							\
	printed[fread(printed, 1, sizeof(printed) - 1, file_)] = '\0';	\
	fclose(file_);							\
	printed;							\
})

/* Information is had by the device's descriptor and by a state's. */
START_TEST(by_any_descriptor)
{
	const int fd = _i ? FAKE_STATE : FAKE_DEV;
	struct perfctr_cpus_info *cpus;
	struct perfctr_info info;

	kernel.countable = 0xf;
	ck_assert_int_eq(perfctr_info(fd, &info), 0);
	cpus = perfctr_cpus_info(fd);
	ck_assert_ptr_nonnull(cpus);
	ck_assert_uint_eq(cpus->cpus->mask[0], 0xf);
	ck_assert_uint_eq(cpus->cpus_forbidden->mask[0], 0);
	free(cpus);
}
END_TEST

START_TEST(prints)
{
	struct { struct perfctr_cpu_mask mask; unsigned int second; } cpus, forbidden;
	struct perfctr_cpus_info cpus_info = { &cpus.mask, &forbidden.mask };
	struct perfctr_cpu_control cpu;
	struct perfctr_info info;

	memset(&info, 0, sizeof(info));
	info.abi_version = PERFCTR_ABI_VERSION;
	info.cpu_type = PERFCTR_X86_AMD_K8;
	info.cpu_features = 5;
	info.cpu_khz = 2000000;
	info.tsc_to_cpu_mult = 1;
	memset(info.driver_version, 'v', 32);		/* no NUL */
	ck_assert_str_eq(PRINTED(perfctr_info_print(&info)),
			 "abi_version\t\t0x05020501\n"
			 "driver_version\t\tvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv\n"
			 "cpu_type\t\t13 (AMD K8)\n"
			 "cpu_features\t\t0x5 (rdpmc,pcint)\n"
			 "cpu_khz\t\t\t2000000\n"
			 "tsc_to_cpu_mult\t\t1\n"
			 "cpu_nrctrs\t\t0\n");

	cpus.mask.nrwords = forbidden.mask.nrwords = 2;
	cpus.mask.mask[0] = 0x80000001;
	cpus.second = 0x80000001;
	forbidden.mask.mask[0] = 0;
	forbidden.second = 2;
	ck_assert_str_eq(PRINTED(perfctr_cpus_info_print(&cpus_info)),
			 "cpus\t\t\t[0,31,32,63], total: 4\n"
			 "cpus_forbidden\t\t[33], total: 1\n");

	memset(&cpu, 0, sizeof(cpu));
	cpu.tsc_on = 1;
	cpu.nractrs = 1;
	cpu.nrictrs = 1;
	cpu.evntsel[0] = 0x4100c0;
	cpu.p4.escr[0] = 0x12;
	cpu.pmc_map[1] = 0x40000000;
	cpu.evntsel[1] = 0xa;
	cpu.ireset[1] = -5;
	cpu.p4.pebs_enable = 1;
	ck_assert_str_eq(PRINTED(perfctr_cpu_control_print(&cpu)),
			 "tsc_on\t\t\t1\nnractrs\t\t\t1\nnrictrs\t\t\t1\n"
			 "pmc_map[0]\t\t0\nevntsel[0]\t\t0x004100C0\nescr[0]\t\t\t0x00000012\n"
			 "pmc_map[1]\t\t0x40000000\nevntsel[1]\t\t0x0000000A\nireset[1]\t\t-5\n"
			 "pebs_enable\t\t0x00000001\n");
	cpu.pmc_map[0] = 17;
	ck_assert_ptr_nonnull(strstr(PRINTED(perfctr_cpu_control_print(&cpu)), "pmc_map[0]\t\t17\n"));
	cpu.nractrs = ~0U / 2;			/* not more than there are */
	PRINTED(perfctr_cpu_control_print(&cpu));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("translate");
	TCase *tc = tcase_create("translate");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_add_test(tc, no_cpus);
	tcase_add_test(tc, control_of_cpus);
	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_loop_test(tc, cpu_type, 0, sizeof(processors) / sizeof(processors[0]));
	tcase_add_test(tc, names);
	tcase_add_test(tc, pentium_4);
	tcase_add_test(tc, information);
	tcase_add_test(tc, no_device);
	tcase_add_test(tc, not_found);
	tcase_add_test(tc, control);
	tcase_add_test(tc, affinity);
	tcase_add_test(tc, high_half);
	tcase_add_test(tc, offcore_without_event);
	tcase_add_test(tc, too_many_counters);
	tcase_add_test(tc, refused);
	tcase_add_test(tc, iresume);
	tcase_add_loop_test(tc, by_any_descriptor, 0, 2);
	tcase_add_test(tc, prints);
	srunner_run_all(runner, CK_NORMAL);
	return srunner_ntests_failed(runner) ? EXIT_FAILURE : EXIT_SUCCESS;
}
