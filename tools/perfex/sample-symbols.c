// SPDX-License-Identifier: GPL-2.0
/*
 * Find the function and line at an offset of a file, by libdw (elfutils).  Files are
 * read for themselves, and not as a process had mapped them.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfex.h"

struct module {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	GElf_Addr bias;		/* from the file's addresses to libdwfl's */
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* The path may come from an attacker: open no devices and no pipes. */
static int open_regular(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* True for programs and shared libraries; an archive, for instance, cannot be mapped. */
static bool can_be_mapped(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf && gelf_getehdr(elf, &ehdr) &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

struct module *module_open(const char *path)
{
	struct module *m = calloc(1, sizeof(*m));
	int fd = open_regular(path);

	if (!m || fd < 0)
		goto fail;
	m->dwfl = dwfl_begin(&callbacks);
	if (!m->dwfl)
		goto fail;
	/* On success, libdwfl owns the descriptor. */
	m->mod = dwfl_report_offline(m->dwfl, path, path, fd);
	if (!m->mod)
		goto fail;
	fd = -1;
	dwfl_report_end(m->dwfl, NULL, NULL);
	m->elf = dwfl_module_getelf(m->mod, &m->bias);
	if (can_be_mapped(m->elf))
		return m;
fail:
	if (fd >= 0)
		close(fd);
	module_close(m);
	return NULL;
}

void module_close(struct module *m)
{
	if (m && m->dwfl)
		dwfl_end(m->dwfl);
	free(m);
}

static bool to_address(Elf *elf, uint64_t offset, uint64_t *address)
{
	GElf_Phdr phdr;
	size_t i, nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X))
			continue;
		if (offset >= phdr.p_offset && offset - phdr.p_offset < phdr.p_filesz) {
			*address = phdr.p_vaddr + (offset - phdr.p_offset);
			return true;
		}
	}
	return false;
}

void module_find(struct module *m, uint64_t offset, struct place *place)
{
	Dwfl_Line *line;
	GElf_Off from_symbol;
	GElf_Sym symbol;

	memset(place, 0, sizeof(*place));
	place->address = offset;
	if (!to_address(m->elf, offset, &place->address))
		return;
	place->function = dwfl_module_addrinfo(m->mod, place->address + m->bias, &from_symbol,
					       &symbol, NULL, NULL, NULL);
	line = dwfl_module_getsrc(m->mod, place->address + m->bias);
	if (line)
		place->source = dwfl_lineinfo(line, NULL, &place->line, NULL, NULL, NULL);
}
