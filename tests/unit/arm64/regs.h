/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Maps the driver's register accesses to the model.  Included before the driver, this
 * replaces module/arch/arm64/regs.h because it defines the same include guard.
 */
#ifndef VPERFCTR_ARM64_REGS_H
#define VPERFCTR_ARM64_REGS_H

#include "fake-kernel.h"
#include "model.h"

#define perfctr_read_counter(map)		model_read_counter(map)
#define perfctr_write_counter(map, value)	model_write_counter(map, value)
#define perfctr_write_type(map, value)		model_write_type(map, value)
#define perfctr_read_pmcr()			model_read_pmcr()
#define perfctr_write_pmcr(value)		model_write_pmcr(value)
#define perfctr_enable(mask)			model_change(&model.cpu[fake_cpu].enabled, mask, true)
#define perfctr_disable(mask)			model_change(&model.cpu[fake_cpu].enabled, mask, false)
#define perfctr_read_enabled()			(model.cpu[fake_cpu].enabled)
#define perfctr_read_overflow()			model_read_overflow()
#define perfctr_enable_intr(mask)		model_change(&model.cpu[fake_cpu].intr, mask, true)
#define perfctr_disable_intr(mask)		model_change(&model.cpu[fake_cpu].intr, mask, false)
#define perfctr_clear_overflow(mask)		model_change(&model.cpu[fake_cpu].overflow, mask, false)
#define perfctr_read_user()			(model.cpu[fake_cpu].user)
#define perfctr_write_user(value)		model_write_user(value)
#define perfctr_write_selr(value)		model_write_selr(value)
#define perfctr_sync()				model_sync()
#define perfctr_mask_nmis()			0
#define perfctr_unmask_nmis(flags)		((void)(flags))
#define perfctr_rdtsc()				(model.cpu[fake_cpu].tsc)
#define perfctr_has_tsc()			true
#define perfctr_tsc_khz()			62500
#define perfctr_pmuver()			(model.version)
#define perfctr_read_ceid(common, extended)	\
	(*(common) = model.events, *(extended) = model.extended_events)
#define perfctr_midr()				(model.midr[fake_cpu])
#define perfctr_has_sve()			(model.sve)
#define perfctr_has_smt()			(fake_cpu < 32 && (model.smt >> fake_cpu & 1))
#define perfctr_is_vhe()			(model.vhe)

#endif /* VPERFCTR_ARM64_REGS_H */
