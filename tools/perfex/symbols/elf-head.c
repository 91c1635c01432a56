// SPDX-License-Identifier: GPL-2.0
/*
 * Read the build ID of a program or library, and where its code is.
 *
 * The file may be an attacker's, and change or become shorter meanwhile.  Its sizes say nothing
 * about how much there is to read: no more is read than the kernel reads to execute it.
 * libelf takes memory for as many sections and bytes of notes as the file claims to have.
 */
#include <byteswap.h>
#include <elf.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols.h"

/* Linux executes no file with larger program headers.  Notes are much smaller. */
#define MAX_HEADERS	65536
#define MAX_NOTES	65536

struct head {
	int fd;
	bool wide;		/* it has 64 bits */
	bool swapped;		/* it has another byte order */
	size_t entry;		/* bytes of a program header */
	size_t nr;
	unsigned char *headers;
};

/* The parts of a program header that matter, of both classes. */
struct segment {
	uint32_t type, flags;
	uint64_t offset, size, address, align;
};

static uint16_t half(const struct head *h, uint16_t value)
{
	return h->swapped ? bswap_16(value) : value;
}

static uint32_t word(const struct head *h, uint32_t value)
{
	return h->swapped ? bswap_32(value) : value;
}

static uint64_t xword(const struct head *h, uint64_t value)
{
	return h->swapped ? bswap_64(value) : value;
}

static bool read_at(int fd, void *to, size_t size, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, to, size, (off_t)at) == (ssize_t)size;
}

/* Read the file's header.  Return: false: this is no ELF file */
static bool read_header(struct head *h)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} u;
	const unsigned char order = htole16(1) == 1 ? ELFDATA2LSB : ELFDATA2MSB;
	uint64_t at;

	/* A program of 32 bits is longer than this, too. */
	if (!read_at(h->fd, &u, sizeof(u), 0) || memcmp(u.ident, ELFMAG, SELFMAG))
		return false;
	h->wide = u.ident[EI_CLASS] == ELFCLASS64;
	h->swapped = u.ident[EI_DATA] != order;
	at = h->wide ? xword(h, u.wide.e_phoff) : word(h, u.narrow.e_phoff);
	h->nr = half(h, h->wide ? u.wide.e_phnum : u.narrow.e_phnum);
	h->entry = h->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	if (half(h, h->wide ? u.wide.e_phentsize : u.narrow.e_phentsize) != h->entry ||
	    !h->nr || h->nr * h->entry > MAX_HEADERS)
		return false;
	h->headers = malloc(h->nr * h->entry);
	return h->headers && read_at(h->fd, h->headers, h->nr * h->entry, at);
}

static struct segment segment_of(const struct head *h, size_t i)
{
	Elf64_Phdr wide;
	Elf32_Phdr narrow;

	if (h->wide) {
		memcpy(&wide, h->headers + i * h->entry, sizeof(wide));
		return (struct segment){
			word(h, wide.p_type), word(h, wide.p_flags), xword(h, wide.p_offset),
			xword(h, wide.p_filesz), xword(h, wide.p_vaddr), xword(h, wide.p_align),
		};
	}
	memcpy(&narrow, h->headers + i * h->entry, sizeof(narrow));
	return (struct segment){
		word(h, narrow.p_type), word(h, narrow.p_flags), word(h, narrow.p_offset),
		word(h, narrow.p_filesz), word(h, narrow.p_vaddr), word(h, narrow.p_align),
	};
}

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) / align * align;
}

/* Return: whether there is a build ID in these notes, and so in *r. */
static bool find_build_id(const struct head *h, const unsigned char *notes, size_t size,
			  size_t align, struct elf_head *r)
{
	Elf64_Nhdr note;
	size_t at, name, id;

	for (at = 0; size - at >= sizeof(note); at = id + round_up(note.n_descsz, align)) {
		memcpy(&note, notes + at, sizeof(note));
		note.n_namesz = word(h, note.n_namesz);
		note.n_descsz = word(h, note.n_descsz);
		name = at + sizeof(note);
		if (note.n_namesz > size - name)
			return false;
		id = round_up(name + note.n_namesz, align);
		if (id > size || note.n_descsz > size - id)
			return false;
		if (word(h, note.n_type) == NT_GNU_BUILD_ID && note.n_namesz == sizeof("GNU") &&
		    !memcmp(notes + name, "GNU", sizeof("GNU")) && note.n_descsz &&
		    note.n_descsz <= sizeof(r->build_id)) {
			r->build_id_size = note.n_descsz;
			memcpy(r->build_id, notes + id, note.n_descsz);
			return true;
		}
		if (round_up(note.n_descsz, align) > size - id)
			return false;
	}
	return false;
}

/* *left: of MAX_NOTES, as a file can have thousands of segments of notes */
static bool read_notes(const struct head *h, const struct segment *s, size_t *left,
		       struct elf_head *r)
{
	size_t size = s->size < *left ? (size_t)s->size : *left;
	unsigned char *notes = size ? malloc(size) : NULL;
	bool found;

	*left -= size;
	found = notes && read_at(h->fd, notes, size, s->offset) &&
		find_build_id(h, notes, size, s->align == 8 ? 8 : 4, r);
	free(notes);
	return found;
}

bool elf_head_read(int fd, struct elf_head *r)
{
	struct head h = { .fd = fd };
	size_t i, left = MAX_NOTES;
	bool found = false;

	memset(r, 0, sizeof(*r));
	if (!read_header(&h)) {
		free(h.headers);
		return false;
	}
	for (i = 0; i < h.nr; i++) {
		const struct segment s = segment_of(&h, i);

		if (s.type == PT_LOAD && s.flags & PF_X && !r->code_size) {
			r->code_offset = s.offset;
			r->code_size = s.size;
			r->code_address = s.address;
		} else if (s.type == PT_NOTE && !found) {
			found = read_notes(&h, &s, &left, r);
		}
	}
	free(h.headers);
	return true;
}
