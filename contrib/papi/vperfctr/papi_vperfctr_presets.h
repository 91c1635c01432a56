/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* PAPI's own presets are those of this component, where perf_event is not built. */
#define PAPI_MAX_vperfctr_PRESETS	PAPI_MAX_PRESET_EVENTS
#define _vperfctr_presets		_papi_hwi_presets

/* A variable of PAPI's core, which has no declaration: without perf_event it has no presets. */
extern int pe_disabled;
