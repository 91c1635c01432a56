// SPDX-License-Identifier: GPL-2.0
/*
 * Find separate files of debugging information: by the build ID or the name that a file has for
 * it, where GDB and elfutils look.  The file may be an attacker's, who chooses both.  So the
 * name must have no directory, and a file that is found must be the user's, root's or that of
 * the one who owns the first file.
 */
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "debug-files.h"
#include "library.h"

/* ---- compressed sections ------------------------------------------------------------------ */

/* Bytes, for each file and for each of its bytes: compilers' output becomes five times as long. */
#define MAX_EXPANDED	(UINT64_C(64) << 20)
#define MAX_RATIO	32

/* Return: how long the section becomes, or 0. */
static uint64_t expanded_size(Elf *elf, Elf_Scn *section, size_t names)
{
	const unsigned char *bytes;
	const char *name;
	uint64_t size = 0;
	GElf_Shdr shdr;
	GElf_Chdr chdr;
	Elf_Data *data;
	unsigned int i;

	if (!gelf_getshdr(section, &shdr))
		return 0;
	if (shdr.sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(section, &chdr) ? chdr.ch_size : 0;
	/* the older form: "ZLIB", and the size */
	name = elf_strptr(elf, names, shdr.sh_name);
	if (!name || strncmp(name, ".zdebug", 7) != 0)
		return 0;
	data = elf_rawdata(section, NULL);
	if (!data || data->d_size < 12)
		return 0;
	bytes = data->d_buf;
	for (i = 4; i < 12; i++)
		size = size << 8 | bytes[i];
	return size;
}

bool elf_expands(Elf *elf, uint64_t size)
{
	uint64_t all = 0, most = MAX_EXPANDED + size * MAX_RATIO, one;
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		one = expanded_size(elf, section, names);
		if (one > most - all)
			return true;
		all += one;
	}
	return false;
}

bool debug_file_expands(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	struct stat st;
	bool expands;

	expands = elf && elf_kind(elf) == ELF_K_ELF && !fstat(fd, &st) &&
		  elf_expands(elf, (uint64_t)st.st_blocks * 512);
	elf_end(elf);
	return expands;
}

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD	2
#endif

bool elf_by_zstd(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &shdr) && shdr.sh_flags & SHF_COMPRESSED &&
		    gelf_getchdr(section, &chdr) && chdr.ch_type == ELFCOMPRESS_ZSTD)
			return true;
	return false;
}

bool debug_file_by_zstd(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool by_zstd = elf && elf_kind(elf) == ELF_K_ELF && elf_by_zstd(elf);

	elf_end(elf);
	return by_zstd;
}

/* ---- candidates ---------------------------------------------------------------------------- */

static bool has_id(int fd, const struct debug_search *s)
{
	struct elf_head head;

	return elf_head_read(fd, &head) && (int)head.build_id_size == s->id_size &&
	       !memcmp(head.build_id, s->id, head.build_id_size);
}

static bool has_crc(int fd, uint32_t crc, uint64_t size, const struct work *work)
{
	/* Any number of programs can name the same file: they have time for it, or not. */
	const struct work *old = work_on(work);
	uLong sum = crc32(0, NULL, 0);
	unsigned char buf[65536];
	uint64_t at;
	ssize_t n;

	for (at = 0; at < size; at += (uint64_t)n) {
		n = pread(fd, buf, sizeof(buf), (off_t)at);
		if (n <= 0)
			break;
		sum = crc32(sum, buf, (uInt)n);
	}
	work_on(old);
	return at >= size && sum == crc;
}

/* True if a checksum may be computed.  A file of holes could be too long to be read to its end. */
static bool is_whole(const struct stat *st)
{
	return (uint64_t)st->st_size <= MAX_EXPANDED + (uint64_t)st->st_blocks * 512 * MAX_RATIO;
}

/* Return: a descriptor of the file, if it is the one that is looked for; -1: it is not */
static int try_path(const struct debug_search *s, const char *path)
{
	int fd = open_named(path, 0);
	struct elf_head head;
	struct work work;
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && (!st.st_uid || st.st_uid == geteuid() ||
			       st.st_uid == s->work->owner) &&
	    (s->id_size > 0 ? has_id(fd, s) :
	     elf_head_read(fd, &head) && is_whole(&st) &&
	     has_crc(fd, s->crc, (uint64_t)st.st_size, s->work)) &&
	    work_allows(&work, fd, path))
		return fd;
	close(fd);
	return -1;
}

/* Try an allocated path, which is freed if the file is not taken. */
static int try_named(const struct debug_search *s, char **path)
{
	int fd = try_path(s, *path);

	if (fd < 0) {
		free(*path);
		*path = NULL;
	}
	return fd;
}

/* Try DIRECTORY/usr/lib/debug/.build-id/... */
static int try_id(const struct debug_search *s, const char *directory, char **path)
{
	char id[2 * MAX_BUILD_ID + 1];
	int i;

	*path = NULL;
	if (s->id_size < 2 || s->id_size > MAX_BUILD_ID)
		return -1;
	for (i = 0; i < s->id_size; i++)
		sprintf(id + (size_t)i * 2, "%02x", s->id[i]);
	if (asprintf(path, "%s/usr/lib/debug/.build-id/%.2s/%s.debug", directory, id, id + 2) < 0) {
		*path = NULL;
		return -1;
	}
	return try_named(s, path);
}

/* Return: the file's name below the directory of --symfs, or its name. */
static const char *inner_name(const struct debug_search *s)
{
	const size_t length = s->symfs ? strlen(s->symfs) : 0;

	return length && !strncmp(s->file, s->symfs, length) && s->file[length] == '/' ?
		s->file + length : s->file;
}

/* Try the name of the link in BEFORE and the file's directory and AFTER. */
static int try_link(const struct debug_search *s, const char *before, const char *after,
		    char **path)
{
	const char *file = *before ? inner_name(s) : s->file;
	const char *slash = strrchr(file, '/'), *link = s->link;
	char with_ending[256];

	*path = NULL;
	/* Without a link, the usual name is tried. */
	if (!link && slash && s->id_size > 0 &&
	    snprintf(with_ending, sizeof(with_ending), "%s.debug", slash + 1) <
	    (int)sizeof(with_ending))
		link = with_ending;
	if (!slash || !link || !*link || strchr(link, '/'))
		return -1;
	if (asprintf(path, "%s%.*s%s/%s", before, (int)(slash - file), file, after, link) < 0) {
		*path = NULL;
		return -1;
	}
	return try_named(s, path);
}

/* ---- debuginfod, which the user has asked for by DEBUGINFOD_URLS ----------------------- */

struct debuginfod_client;

const char *debuginfod_library = "libdebuginfod.so.1";

static struct debuginfod_client *client;
static int (*find_debuginfo)(struct debuginfod_client *client, const unsigned char *id, int size,
			     char **path);

/* Return: whether the library is there. */
static bool load_debuginfod(void)
{
	static struct debuginfod_client *(*begin)(void);
	static const struct library_symbol symbols[] = {
		{ (void **)&begin, "debuginfod_begin" },
		{ (void **)&find_debuginfo, "debuginfod_find_debuginfo" },
	};
	const size_t nr = sizeof(symbols) / sizeof(symbols[0]);
	static bool tried;

	if (!tried && library_load(debuginfod_library, symbols, nr))
		client = begin();
	tried = true;
	return client;
}

static bool has_servers(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

enum debuginfod debuginfod_for(uid_t owner, bool has_build_id)
{
	if (!load_debuginfod())
		return has_servers() ? DEBUGINFOD_WITHOUT_LIBRARY : DEBUGINFOD_WITHOUT_BOTH;
	if (!has_servers())
		return DEBUGINFOD_WITHOUT_SERVERS;
	/* Others must not let perfex use the network. */
	if (has_build_id && (!owner || owner == geteuid()))
		return DEBUGINFOD_ASKED;
	return DEBUGINFOD_NOT_ASKED;
}

static int ask_debuginfod(const struct debug_search *s, char **path)
{
	int fd;

	/* The library is not loaded in vain, as it loads many others. */
	if (!has_servers() || debuginfod_for(s->work->owner, s->id_size > 0) != DEBUGINFOD_ASKED)
		return -1;
	fd = find_debuginfo(client, s->id, s->id_size, path);
	if (fd < 0)
		*path = NULL;
	/* With -ENOENT a server has said that there is none, maybe in an earlier run. */
	if (fd < 0 && fd != -ENOENT)
		*s->no_answer = -fd;
	return fd < 0 ? -1 : fd;
}

/* ---- all ------------------------------------------------------------------------------------- */

int find_debug_file(const struct debug_search *s, char **path)
{
	char *below = NULL;
	int fd = try_id(s, "", path);

	if (fd < 0 && s->symfs)
		fd = try_id(s, s->symfs, path);
	if (fd < 0)
		fd = try_link(s, "", "", path);
	if (fd < 0)
		fd = try_link(s, "", "/.debug", path);
	if (fd < 0)
		fd = try_link(s, "/usr/lib/debug", "", path);
	if (fd < 0 && s->symfs && asprintf(&below, "%s/usr/lib/debug", s->symfs) >= 0) {
		fd = try_link(s, below, "", path);
		free(below);
	}
	return fd >= 0 ? fd : ask_debuginfod(s, path);
}

int find_alt_file(const struct debug_search *s)
{
	const char *slash = strrchr(s->file, '/');
	char *path = NULL;
	int fd = -1;

	if (s->link[0] == '/')
		fd = try_path(s, s->link);
	else if (slash && asprintf(&path, "%.*s/%s", (int)(slash - s->file), s->file, s->link) >= 0)
		fd = try_path(s, path);
	free(path);
	if (fd < 0) {
		fd = try_id(s, "", &path);
		if (fd >= 0)
			free(path);
	}
	return fd;
}
