// SPDX-License-Identifier: LGPL-2.1-or-later
/* Vendor, family and model of this processor. */
#if defined(__i386__) || defined(__x86_64__)
#include <cpuid.h>
#endif

#include "event.h"

void __vperfctr_cpu_signature(struct cpu_signature *s)
{
	memset(s, 0, sizeof(*s));
#if defined(__i386__) || defined(__x86_64__)
	unsigned int a, b, c, d;

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return;
	memcpy(s->vendor, &b, 4);
	memcpy(s->vendor + 4, &d, 4);
	memcpy(s->vendor + 8, &c, 4);
	__get_cpuid(1, &a, &b, &c, &d);
	s->family = a >> 8 & 0xf;
	s->model = a >> 4 & 0xf;
	s->stepping = a & 0xf;
	if (s->family == 0x6 || s->family == 0xf)
		s->model |= a >> 12 & 0xf0;
	if (s->family == 0xf)
		s->family += a >> 20 & 0xff;
	/* The kind of core, on a hybrid processor. */
	if (__get_cpuid_count(0x1a, 0, &a, &b, &c, &d))
		s->core = a >> 24;
#endif
}
