/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The drivers' registers: those of the model.  Included ahead of each driver,
 * this takes the place of module/arch/x86/regs.h by having its include guard, and
 * of rdpmc.h likewise.
 */
#ifndef VPERFCTR_X86_REGS_H
#define VPERFCTR_X86_REGS_H
#define VPERFCTR_X86_RDPMC_H

#include "fake-kernel.h"
#include "model.h"

#define perfctr_rdpmc(index)		model_rdpmc(index)
#define perfctr_rdpmc_safe(index, value) model_rdpmc_safe(index, value)
#define perfctr_pass_time()		model_pass_time()
#define perfctr_has_tsc()		model_has_tsc()
#define perfctr_tsc_khz()		(model_has_tsc() ? tsc_khz : 0)
#define perfctr_rdtsc()			(model_has_tsc() ? model_rdtsc() : 0)
#define perfctr_wrmsr(msr, value)	model_wrmsr(msr, value)
#define perfctr_wrmsr_halves(msr, low, high) model_wrmsr(msr, (u32)(low) | (u64)(high) << 32)
#define perfctr_wrmsr_safe(msr, value)	model_wrmsr_safe(msr, value)
#define perfctr_rdmsr_safe(msr, value)	model_rdmsr_safe(msr, value)
#define perfctr_user_rdpmc()		model_user_rdpmc()
#define perfctr_has_lvtpc()		model_has_lvtpc()
#define perfctr_read_lvtpc()		model_read_lvtpc()
#define perfctr_write_lvtpc(value)	model_write_lvtpc(value)
#define perfctr_cpuid(leaf, a, b, c, d)	model_cpuid(leaf, 0, a, b, c, d)
#define perfctr_cpuid_count(leaf, subleaf, a, b, c, d)	model_cpuid(leaf, subleaf, a, b, c, d)
#define perfctr_is_pv_guest()		model_is_pv_guest()
#define perfctr_is_guest()		model_is_guest()
#define perfctr_exits_to_hypervisor()	model.exits
#define perfctr_is_hybrid()		model_is_hybrid()
#define perfctr_can_reserve(version)	((version) < 6 || !model.new_perf)
#define perfctr_perf_knows_v2()		model.new_perf

#endif /* VPERFCTR_X86_REGS_H */
