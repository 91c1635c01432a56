/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs whose headers, sections, notes, links and names are an attacker's.  Each is a copy of
 * the calling program, in which one function remains as it is, so that it can be executed.
 */
#ifndef HOSTILE_FILE_H
#define HOSTILE_FILE_H

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOSTILE_SECTIONS	8
#define ATTACKER		1000	/* the user to whom root gives these files */

struct hostile {
	uint64_t rng;
	const char *fifo;	/* the path of a FIFO that must not be opened */
	unsigned char *base;	/* the calling program */
	size_t size;
	/* the copy */
	unsigned char *data;
	size_t used, room;
	Elf64_Shdr added[HOSTILE_SECTIONS];
	const char *name[HOSTILE_SECTIONS];
	unsigned int nr;
	uint64_t end;		/* of the file, if it is longer than its data */
};

static inline uint32_t hostile_random(struct hostile *h)
{
	h->rng ^= h->rng << 13;
	h->rng ^= h->rng >> 7;
	h->rng ^= h->rng << 17;
	return h->rng >> 32;
}

static inline uint32_t hostile_below(struct hostile *h, uint32_t n)
{
	return hostile_random(h) % n;
}

/* A number that a reader may not expect. */
static inline uint64_t hostile_number(struct hostile *h)
{
	static const uint64_t numbers[] = {
		0, 1, 7, 0x7fffffff, 0xffffffff, 0x60000000, 1ULL << 40, ~0ULL, 1ULL << 63, 4096,
	};

	return hostile_below(h, 4) ? numbers[hostile_below(h, 10)] : hostile_random(h);
}

static inline void hostile_init(struct hostile *h, uint64_t seed, const char *fifo)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	memset(h, 0, sizeof(*h));
	h->rng = seed * 0x9e3779b97f4a7c15ULL ?: 1;
	h->fifo = fifo;
	if (fd < 0 || fstat(fd, &st))
		abort();
	h->size = st.st_size;
	h->base = malloc(h->size);
	if (!h->base || read(fd, h->base, h->size) != (ssize_t)h->size)
		abort();
	close(fd);
}

/* Return: where the bytes are in the file. */
static inline uint64_t hostile_append(struct hostile *h, const void *bytes, size_t size)
{
	uint64_t at = (h->used + 7) & ~7ULL;

	if (at + size > h->room) {
		h->room = (at + size) * 2;
		h->data = realloc(h->data, h->room);
		if (!h->data)
			abort();
	}
	memset(h->data + h->used, 0, at - h->used);
	memcpy(h->data + at, bytes, size);
	h->used = at + size;
	return at;
}

static inline Elf64_Shdr *hostile_section(struct hostile *h, const char *name, uint32_t type,
					  const void *bytes, size_t size)
{
	Elf64_Shdr *s = &h->added[h->nr % HOSTILE_SECTIONS];

	h->name[h->nr++ % HOSTILE_SECTIONS] = name;
	*s = (Elf64_Shdr){
		.sh_type = type, .sh_size = size, .sh_addralign = 1,
		.sh_offset = hostile_append(h, bytes, size),
	};
	return s;
}

/* Names of C++, Rust and nothing, which become long or contain controls. */
static inline size_t hostile_name(struct hostile *h, char *name, size_t room)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned int i, n = 1 + hostile_below(h, 35);
	size_t len = 0;

	switch (hostile_below(h, 5)) {
	case 0:
		len = sprintf(name, "_Z1f1A1PIS_S_E");
		for (i = 1; i <= n; i++)
			len += sprintf(name + len, "S0_IS%c_S%c_E", digits[i], digits[i]);
		break;
	case 1:
		len = sprintf(name, "_RINvC1a1f");
		for (i = 0; i < n; i++)
			len += sprintf(name + len, "TB%c_B%c_", digits[i], digits[i]);
		name[len++] = 'E';
		break;
	case 2:
		len = sprintf(name, "_Z");
		while (len < room - 2 && len < 40000)
			name[len++] = "PKRFNILS"[hostile_below(h, 8)];
		break;
	case 3:
		len = sprintf(name, "\033]0;x\007\n\r\342\200\256");
		break;
	default:
		for (i = 0; i < n; i++)
			name[len++] = "_ZNSt1234567890IEvKPRAT_DpJX"[hostile_below(h, 28)];
		break;
	}
	name[len++] = '\0';
	return len;
}

/* Symbols at all places. */
static inline void hostile_symbols(struct hostile *h)
{
	unsigned int i, n = 1 + hostile_below(h, hostile_below(h, 4) ? 50 : 10000);
	Elf64_Sym *symbols = calloc(n, sizeof(*symbols));
	char *names = calloc(64, 65536);
	size_t len = 1, starts[32];
	Elf64_Shdr *s;

	for (i = 0; i < 32; i++) {
		starts[i] = len;
		len += hostile_name(h, names + len, 65536);
	}
	for (i = 1; i < n; i++)
		symbols[i] = (Elf64_Sym){
			.st_name = hostile_below(h, 50) ? starts[i % 32] : hostile_number(h),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = 1,
			.st_value = hostile_below(h, 3) ? hostile_below(h, h->size) : hostile_number(h),
			.st_size = hostile_below(h, 3) ? hostile_below(h, h->size) : hostile_number(h),
		};
	s = hostile_section(h, ".symtab", SHT_SYMTAB, symbols, n * sizeof(*symbols));
	s->sh_entsize = sizeof(*symbols);
	s->sh_info = 1;
	s->sh_link = ((const Elf64_Ehdr *)h->base)->e_shnum + h->nr;
	hostile_section(h, ".strtab", SHT_STRTAB, names, len);
	free(symbols);
	free(names);
}

static inline void hostile_links(struct hostile *h)
{
	char link[4200] = "";
	size_t len;

	switch (hostile_below(h, 5)) {
	case 0:
		strcpy(link, "../../../../../dev/zero");
		break;
	case 1:
		strcpy(link, h->fifo);
		break;
	case 2:
		strcpy(link, strrchr(h->fifo, '/') + 1);
		break;
	case 3:
		strcpy(link, "/dev/watchdog");
		break;
	default:
		memset(link, 'x', hostile_below(h, 4096));
		break;
	}
	len = (strlen(link) + 1 + 3) & ~(size_t)3;
	memcpy(link + len, "abcd", 4);
	hostile_section(h, ".gnu_debuglink", SHT_PROGBITS, link, len + 4);
	if (hostile_below(h, 2)) {
		len = strlen(link) + 1;
		memcpy(link + len, "abcdefghijklmnopqrst", 20);
		hostile_section(h, ".gnu_debugaltlink", SHT_PROGBITS, link, len + 20);
	}
}

static inline void hostile_debug(struct hostile *h)
{
	static const char *const names[] = {
		".debug_info", ".debug_line", ".debug_abbrev", ".debug_str", ".debug_ranges",
		".gnu_debugdata", ".zdebug_info", ".debug_aranges", ".eh_frame_hdr",
	};
	unsigned char bytes[4096];
	Elf64_Shdr *s;
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = hostile_below(h, 4) ? hostile_below(h, 64) : hostile_random(h);
	memcpy(bytes, "ZLIB", 4);
	s = hostile_section(h, names[hostile_below(h, 9)], SHT_PROGBITS, bytes, sizeof(bytes));
	if (hostile_below(h, 2)) {
		const Elf64_Chdr c = { ELFCOMPRESS_ZLIB, 0, hostile_number(h), 1 };

		memcpy(h->data + s->sh_offset, &c, sizeof(c));
		s->sh_flags = SHF_COMPRESSED;
	} else if (hostile_below(h, 2)) {
		s->sh_size = hostile_number(h);
	}
}

/* A program header of notes of any size, and what is in it may be a hole. */
static inline void hostile_notes(struct hostile *h)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)h->base;
	unsigned int i;

	for (i = 0; i < ehdr->e_phnum; i++) {
		Elf64_Phdr *p = (Elf64_Phdr *)(h->data + ehdr->e_phoff) + i;

		if (p->p_type != PT_NOTE)
			continue;
		p->p_filesz = hostile_number(h);
		if (hostile_below(h, 2))
			p->p_offset = h->size + 4096;
	}
	h->end = (uint64_t)(1 + hostile_below(h, 2000)) << 20;
}

static inline void hostile_bytes(struct hostile *h)
{
	const Elf64_Ehdr *ehdr = (const Elf64_Ehdr *)h->base;
	unsigned int n = 1 + hostile_below(h, 8);
	uint64_t at;

	while (n--) {
		/* The headers, or what is behind the segments. */
		at = hostile_below(h, 2) ? hostile_below(h, sizeof(*ehdr) + ehdr->e_phnum * sizeof(Elf64_Phdr)) :
		     ehdr->e_shoff + hostile_below(h, h->size - ehdr->e_shoff);
		if (at < h->used)
			h->data[at] = hostile_random(h);
	}
}

/* Put a table with all sections behind the data. */
static inline void hostile_finish(struct hostile *h)
{
	const Elf64_Ehdr *old = (const Elf64_Ehdr *)h->base;
	unsigned int nr = old->e_shnum, added = h->nr < HOSTILE_SECTIONS ? h->nr : HOSTILE_SECTIONS, i;
	Elf64_Shdr *table = calloc(nr + added, sizeof(*table)), *names;
	char *text;
	size_t len;
	uint64_t at;

	memcpy(table, h->base + old->e_shoff, nr * sizeof(*table));
	names = &table[old->e_shstrndx];
	len = names->sh_size;
	text = calloc(1, len + HOSTILE_SECTIONS * 64);
	memcpy(text, h->base + names->sh_offset, len);
	for (i = 0; i < added; i++) {
		h->added[i].sh_name = len;
		len += sprintf(text + len, "%s", h->name[i]) + 1;
		table[nr + i] = h->added[i];
	}
	/* Those of the program itself are not found any more. */
	for (i = 1; i < nr; i++)
		if (table[i].sh_type == SHT_SYMTAB && hostile_below(h, 2))
			table[i].sh_type = SHT_PROGBITS;
	names->sh_offset = hostile_append(h, text, len);
	names->sh_size = len;
	at = hostile_append(h, table, (nr + added) * sizeof(*table));
	((Elf64_Ehdr *)h->data)->e_shoff = at;
	((Elf64_Ehdr *)h->data)->e_shnum = hostile_below(h, 20) ? nr + added : hostile_number(h);
	free(text);
	free(table);
}

/* Write such a program. */
static inline void hostile_write(struct hostile *h, const char *path)
{
	unsigned int n = 1 + hostile_below(h, 3);
	int fd;

	h->used = h->nr = 0;
	h->end = 0;
	hostile_append(h, h->base, h->size);
	while (n--)
		switch (hostile_below(h, 5)) {
		case 0:
			hostile_symbols(h);
			break;
		case 1:
			hostile_links(h);
			break;
		case 2:
			hostile_debug(h);
			break;
		case 3:
			hostile_notes(h);
			break;
		default:
			hostile_bytes(h);
			break;
		}
	if (h->nr)
		hostile_finish(h);
	if (!hostile_below(h, 4))
		hostile_bytes(h);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0 || write(fd, h->data, h->used) != (ssize_t)h->used)
		abort();
	if (h->end > h->used && ftruncate(fd, h->end))
		abort();
	/* Root's own files have more rights. */
	if (!geteuid() && fchown(fd, ATTACKER, ATTACKER))
		abort();
	close(fd);
}

/* Return: where a function is in the file of the calling program. */
static inline uint64_t hostile_place(const void *function)
{
	unsigned long start, end, offset;
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4500];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)function - start < end - start) {
			fclose(f);
			return (uintptr_t)function - start + offset;
		}
	abort();
}

#endif /* HOSTILE_FILE_H */
