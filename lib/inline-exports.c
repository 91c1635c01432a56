// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The header's inline functions once more, with external linkage and the same
 * names: languages that cannot use a C header bind to these.
 */
#define VPERFCTR_INLINE
/* The header cannot declare them: there they are static. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include <vperfctr.h>
