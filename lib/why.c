// SPDX-License-Identifier: LGPL-2.1-or-later
/* The reason for an error, as text. */
#include "explain.h"
#include "internal.h"

int vperfctr_why(int err, unsigned int call, const struct vperfctr_control *control,
		 struct vperfctr_why *why)
{
	if (why)
		__vperfctr_explain(err, call, control, VPERFCTR_DEVICE, "/proc", why);
	return err;
}
