/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The instruction RDPMC of test_perf. */
#ifndef PERF_RDPMC_H
#define PERF_RDPMC_H

#include <stdint.h>

uint64_t test_rdpmc(uint32_t index);

#endif /* PERF_RDPMC_H */
