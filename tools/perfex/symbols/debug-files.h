/* SPDX-License-Identifier: GPL-2.0 */
/* Separate files of debugging information. */
#ifndef PERFEX_DEBUG_FILES_H
#define PERFEX_DEBUG_FILES_H

#include <libelf.h>

#include "symbols.h"

#define OTHER_COMPRESSION	"its debugging information is compressed by zstd, which this libelf cannot expand (objcopy --decompress-debug-sections can)"

#define TOO_COMPRESSED	"its debugging information becomes too large"

struct debug_search {
	const struct work *work;	/* on the file that names it: others' files are not taken */
	const char *file;	/* the path of that file */
	const char *symfs;	/* a directory with other files; or NULL */
	const char *link;	/* the name that the file gives; or NULL */
	uint32_t crc;		/* that the file gives for it */
	const unsigned char *id;	/* the build ID that it must have */
	int id_size;		/* 0 or less: none, and the checksum counts */
	int *no_answer;		/* set to the error if debuginfod's servers could not be asked */
};

/* Return: a descriptor and *path, which the caller frees; -1: there is none */
int find_debug_file(const struct debug_search *s, char **path);

/* Find the file with the debugging information that several files have in common. */
int find_alt_file(const struct debug_search *s);

/* The use of libdebuginfod for a file whose debugging information is nowhere else. */
enum debuginfod {
	DEBUGINFOD_ASKED,		/* it asks the servers of DEBUGINFOD_URLS */
	DEBUGINFOD_WITHOUT_ANSWER,	/* it has asked them, and they did not answer */
	DEBUGINFOD_NOT_ASKED,		/* the file is another user's, or has no build ID */
	DEBUGINFOD_WITHOUT_SERVERS,	/* DEBUGINFOD_URLS is not set */
	DEBUGINFOD_WITHOUT_LIBRARY,	/* it is not installed */
	DEBUGINFOD_WITHOUT_BOTH,
};

enum debuginfod debuginfod_for(uid_t owner, bool has_build_id);

/* The library that is loaded for it.  Tests have others. */
extern const char *debuginfod_library;

/*
 * True if compressed sections would become too large.  size: bytes that the file has on the disk
 * Context: work_on() the file
 */
bool elf_expands(Elf *elf, uint64_t size);
bool debug_file_expands(int fd);

/*
 * True if sections are compressed in a way that older versions of libelf do not know.
 * Context: work_on() the file
 */
bool elf_by_zstd(Elf *elf);
bool debug_file_by_zstd(int fd);

#endif /* PERFEX_DEBUG_FILES_H */
