// SPDX-License-Identifier: GPL-2.0
#include "tests.h"
Suite *nmi_suite(void) { return suite_create("nmi"); }
