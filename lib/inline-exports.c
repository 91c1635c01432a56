// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Compile the header's inline functions with external linkage, for languages that cannot
 * use a C header.
 */
#define VPERFCTR_INLINE
/* In the header they are static, so nothing declares them. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include <vperfctr.h>
