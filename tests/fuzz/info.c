// SPDX-License-Identifier: GPL-2.0
/* Fuzz what the module reports to the library and perfex, as if it were damaged. */
#include "fake.h"
#include "fuzz.h"
#include "perfex.h"

void fuzz_one(const uint8_t *data, size_t size)
{
	struct vperfctr_cpu_mask *mask;
	struct vperfctr_control control;
	struct vperfctr_ctr ctr[VPERFCTR_MAX_CTRS];
	FILE *out = fopen("/dev/null", "w");
	struct vperfctr *v;
	uint64_t value, values[VPERFCTR_MAX_CTRS];
	struct error e;

	if (!out)
		abort();
	fake_reset();
	/* Keep the version of the ABI in most inputs: with another, the library stops there. */
	if (size > sizeof(fake.info))
		memcpy(&fake.page_version, data + sizeof(fake.info),
		       size - sizeof(fake.info) < 4 ? size - sizeof(fake.info) : 4);
	memcpy(&fake.info, data, size < sizeof(fake.info) ? size : sizeof(fake.info));
	if (size & 3)
		fake.info.abi_version = VPERFCTR_ABI_VERSION;
	/* perfex -i asks for each kind, and trusts this number. */
	fake.nrkinds = fake.info.nrkinds &= 0x1f;

	info_print(out, &e);
	if (!vperfctr_cpus(&mask))
		free(mask);
	if (!vperfctr_open(&v, VPERFCTR_OPEN_CREAT)) {
		vperfctr_control_init(&control, ctr);
		vperfctr_control_add(&control, 0, 0x4100c0);
		if (!vperfctr_control(v, &control)) {
			vperfctr_read_pmc(v, 0, &value);
			vperfctr_read(v, &value, values, 1);
		}
		vperfctr_unlink(v);
		vperfctr_close(v);
	}
	fclose(out);
}
