/* SPDX-License-Identifier: GPL-2.0 */
/*
 * perf.data, the file of perf record, as far as perfex writes and reads it.
 *
 * A header says where the parts are: a struct perf_event_attr for each event, followed by the place
 * of the numbers that its samples have; the records, as the kernel writes them; and behind these
 * the places of the features, in the order of their numbers.
 *
 * <linux/perf_event.h> has the records of the kernel.  This file has those that older ones lack.
 */
#ifndef PERFEX_PERF_DATA_H
#define PERFEX_PERF_DATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define PERF_DATA_MAGIC		"PERFILE2"
#define PERF_DATA_OTHER		"2ELIFREP"	/* of another byte order */

/* The size of the attributes that perfex writes: that of Linux 4.16 to 5.4, which all readers know. */
#define PERF_DATA_ATTR		112

struct perf_data_part {
	uint64_t offset, size;
};

struct perf_data_header {
	char magic[8];
	uint64_t size;
	uint64_t attr_size;		/* with its struct perf_data_part */
	struct perf_data_part attrs, records, unused;
	uint64_t features[4];		/* bits */
};

enum perf_data_feature {
	PERF_DATA_BUILD_ID = 2,		/* struct perf_data_build_id, several */
	PERF_DATA_HOSTNAME = 3,		/* these are text */
	PERF_DATA_OSRELEASE = 4,
	PERF_DATA_VERSION = 5,
	PERF_DATA_ARCH = 6,
	PERF_DATA_NRCPUS = 7,		/* two uint32_t: how many there can be, and are in use */
	PERF_DATA_CPUDESC = 8,
	PERF_DATA_CMDLINE = 11,		/* uint32_t: how many texts follow */
	PERF_DATA_EVENT_DESC = 12,	/* names of events */
	PERF_DATA_SAMPLE_TIME = 21,	/* two uint64_t: of the first sample and the last one */
	PERF_DATA_CLOCKID = 23,		/* uint64_t: nanoseconds of a tick */
	PERF_DATA_NR_FEATURES = 256,
};

/* Text is its size as a uint32_t, and the bytes: a multiple of this, filled up with NULs. */
#define PERF_DATA_ALIGN		64

#define PERF_DATA_BUILD_ID_MAX	20

struct perf_data_build_id {
	struct perf_event_header header;
	int32_t pid;
	uint8_t build_id[24];		/* and at PERF_DATA_BUILD_ID_MAX the size, if `misc` says so */
	char path[];
};

#define PERF_DATA_MISC_HAS_SIZE	(1U << 15)
/* of PERF_RECORD_MMAP2: a build ID is in the place of the device and the inode */
#define PERF_DATA_MISC_BUILD_ID	(1U << 14)
/* of PERF_RECORD_COMM: the name is that of an executed file */
#define PERF_DATA_MISC_EXEC	(1U << 13)
/* of PERF_DATA_LOST_SAMPLES: a program for BPF has refused them */
#define PERF_DATA_MISC_FILTERED	(1U << 15)

enum perf_data_record {
	PERF_DATA_LOST_SAMPLES = 13,
	PERF_DATA_KSYMBOL = 17,		/* struct perf_data_ksymbol */
	PERF_DATA_FINISHED_ROUND = 68,	/* of perf itself */
	PERF_DATA_AUXTRACE = 71,
	PERF_DATA_COMPRESSED = 81,
	PERF_DATA_COMPRESSED2 = 83,
};

struct perf_data_ksymbol {
	struct perf_event_header header;
	uint64_t start;
	uint32_t len;
	uint16_t type, flags;
	char name[];
};

/* Before others, a chain of calls has one that says to which mode these belong. */
#define PERF_DATA_CHAIN_KERNEL	((uint64_t)-128)
#define PERF_DATA_CHAIN_USER	((uint64_t)-512)
#define PERF_DATA_CHAIN_MARKS	((uint64_t)-4095)	/* this one and all above are marks */

/* ---- perf-regs.c ----------------------------------------------------------------- */

/* perf and the module have the same registers in different places. */
struct perf_regs;

/* machine: as in struct utsname.  Return: NULL: not known */
const struct perf_regs *perf_regs_of_machine(const char *machine);

/* Return: how many the module has. */
unsigned int perf_regs_nr(const struct perf_regs *r);

/* Return: bits of the registers that perf has, too. */
uint64_t perf_regs_mask(const struct perf_regs *r);
/* The registers of a 32-bit kernel for x86: AX to IP. */
#define PERF_REGS_I386	0x1ff

/*
 * Return: where the module has perf's register in code of this mode, VPERFCTR_USER_64 or _32; -1:
 * nowhere
 */
int perf_regs_place(const struct perf_regs *r, unsigned int mode, unsigned int perf);

#endif /* PERFEX_PERF_DATA_H */
