// SPDX-License-Identifier: GPL-2.0
/*
 * Find the function and line at an offset of a file, by libdw (elfutils).  Files are
 * read for themselves, and not as a process had mapped them.  libdw also finds separate
 * files of debugging information, by their build ID.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit-dump.h"
#include "jit-symbols.h"
#include "plt.h"
#include "symbols.h"

#define MAX_SCOPES	32	/* functions at one address */

/* Code of a compilation unit. */
struct unit {
	Dwarf_Addr start, end;
	Dwarf_Die die;
};

struct module {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	GElf_Addr bias;		/* from the file's addresses to libdwfl's */
	struct unit *units;	/* sorted by their start */
	size_t nrunits;
	bool units_known;
	struct plt *plt;	/* NULL: not read yet */
	struct jit_symbols *jit;
	struct jit_dump *dump;
	bool only_debug;	/* it has no code: that of the program is */
	uint64_t code_offset, code_size, code_address;
};

static const char *symfs;
static char *debug_path;

static const Dwfl_Callbacks callbacks = {
	.debuginfo_path = &debug_path,
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

int open_regular(const char *path)
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

static struct module *open_descriptor(int fd, const char *path)
{
	struct module *m = calloc(1, sizeof(*m));

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

void modules_use_directory(const char *directory)
{
	free(debug_path);
	debug_path = NULL;
	symfs = directory;
	/* As elfutils has it, and there. */
	if (symfs && asprintf(&debug_path, ":.debug:/usr/lib/debug:%s/usr/lib/debug", symfs) < 0)
		debug_path = NULL;
}

bool below_directory(const char *path, char *there, size_t size)
{
	return symfs && snprintf(there, size, "%s%s", symfs, path) < (int)size;
}

static bool has_build_id(struct module *m, const struct file_description *file)
{
	const unsigned char *id;
	GElf_Addr address;
	int len = dwfl_module_build_id(m->mod, &id, &address);

	return len > 0 && (unsigned int)len == file->build_id_size &&
	       !memcmp(id, file->build_id, file->build_id_size);
}

/* True if the open file is the one that was sampled, as far as can be said without its ID. */
static bool looks_the_same(int fd, const struct file_description *file, bool copied)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (!file->known)
		return copied || file_is_same(fd, &file->id);
	if ((uint64_t)st.st_size != file->size)
		return false;
	/* A copy may be younger. */
	return copied || (uint64_t)st.st_mtim.tv_sec * 1000000000 +
			 (uint64_t)st.st_mtim.tv_nsec == file->modified;
}

/* Open this path if it is the file.  *other: set if another file is there */
static struct module *try_file(const char *path, const struct file_description *file, bool copied,
			       bool *other)
{
	int fd = open_regular(path);
	struct module *m;

	if (fd < 0)
		return NULL;
	if (!file->build_id_size && !looks_the_same(fd, file, copied)) {
		*other = true;
		close(fd);
		return NULL;
	}
	m = open_descriptor(fd, path);
	if (!m || !file->build_id_size || has_build_id(m, file))
		return m;
	*other = true;
	module_close(m);
	return NULL;
}

/* Names and lines are also in a file that has debugging information only. */
static struct module *try_debug(const char *directory, const struct file_description *file)
{
	char path[4096], id[2 * MAX_BUILD_ID + 1];
	struct module *m;
	unsigned int i;
	bool other;

	for (i = 0; i < file->build_id_size; i++)
		sprintf(id + (size_t)i * 2, "%02x", file->build_id[i]);
	if (file->build_id_size < 2 || !file->code_size ||
	    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/%.2s/%s.debug", directory, id,
		     id + 2) >= (int)sizeof(path))
		return NULL;
	m = try_file(path, file, false, &other);
	if (m) {
		m->only_debug = true;
		m->code_offset = file->code_offset;
		m->code_size = file->code_size;
		m->code_address = file->code_address;
	}
	return m;
}

struct module *module_open_file(const char *path, const struct file_description *file,
				struct error *e)
{
	struct module *m = NULL;
	bool other = false;
	char there[4096];

	if (below_directory(path, there, sizeof(there)))
		m = try_file(there, file, true, &other);
	if (!m)
		m = try_file(path, file, false, &other);
	if (!m && symfs)
		m = try_debug(symfs, file);
	if (!m)
		m = try_debug("", file);
	if (!m)
		fail_with(e, other ? "another file has this name now" : "it cannot be read");
	return m;
}

int open_sampled(const char *path, const struct file_description *file)
{
	const char *found = NULL;
	struct error why;
	struct module *m = module_open_file(path, file, &why);
	int fd;

	if (!m)
		return -1;
	if (!m->only_debug)
		dwfl_module_info(m->mod, NULL, NULL, NULL, NULL, NULL, &found, NULL);
	fd = found ? open_regular(found) : -1;
	module_close(m);
	return fd;
}

/*
 * Nothing says which kernel the samples are from.  If its vDSO has another size than the one
 * that is mapped here, it is another one.
 */
int open_vdso(uint64_t size)
{
	const char *vdso = (const char *)getauxval(AT_SYSINFO_EHDR);
	uint64_t page = (uint64_t)getpagesize(), used;
	GElf_Ehdr h;
	int fd;

	if (!vdso || sizeof(void *) != 8)
		return -1;
	memcpy(&h, vdso, sizeof(h));
	used = h.e_shoff + (uint64_t)h.e_shnum * h.e_shentsize;
	if ((used + page - 1) / page * page != size)
		return -1;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd >= 0 && write(fd, vdso, used) != (ssize_t)used) {
		close(fd);
		return -1;
	}
	return fd;
}

struct module *module_open_vdso(uint64_t size)
{
	return open_descriptor(open_vdso(size), "[vdso]");
}

struct module *module_open_jit(uint32_t pid)
{
	struct module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->jit = jit_symbols_read(pid);
	if (m->jit)
		return m;
	free(m);
	return NULL;
}

struct module *module_open_dump(struct jit_dump *dump)
{
	struct module *m = calloc(1, sizeof(*m));

	if (m)
		m->dump = dump;
	return m;
}

void module_close(struct module *m)
{
	if (!m)
		return;
	if (m->dwfl)
		dwfl_end(m->dwfl);
	plt_free(m->plt);
	jit_symbols_free(m->jit);
	free(m->units);
	free(m);
}

static bool has_section(Elf *elf, GElf_Word type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == type)
			return true;
	return false;
}

bool module_is_stripped(struct module *m, char *build_id, size_t size)
{
	const unsigned char *id;
	GElf_Addr address;
	Dwarf_Addr bias;
	int i, len;

	if (m->jit || m->dump || has_section(m->elf, SHT_SYMTAB) || dwfl_module_getdwarf(m->mod, &bias))
		return false;
	*build_id = '\0';
	len = dwfl_module_build_id(m->mod, &id, &address);
	for (i = 0; i < len && (size_t)i * 2 + 3 <= size; i++)
		sprintf(build_id + (size_t)i * 2, "%02x", id[i]);
	return true;
}

/* ---- addresses and compilation units ------------------------------------------------------ */

/* Find the segment of code that has the offset. */
static bool find_segment(Elf *elf, uint64_t offset, GElf_Phdr *phdr)
{
	size_t i, nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (gelf_getphdr(elf, (int)i, phdr) && phdr->p_type == PT_LOAD &&
		    (phdr->p_flags & PF_X) && offset >= phdr->p_offset &&
		    offset - phdr->p_offset < phdr->p_filesz)
			return true;
	}
	return false;
}

/* The headers of a file without code are those of another layout. */
static bool find_code(struct module *m, uint64_t offset, GElf_Phdr *phdr)
{
	if (!m->only_debug)
		return find_segment(m->elf, offset, phdr);
	*phdr = (GElf_Phdr){
		.p_offset = m->code_offset, .p_filesz = m->code_size, .p_vaddr = m->code_address,
	};
	return offset >= m->code_offset && offset - m->code_offset < m->code_size;
}

static bool to_address(struct module *m, uint64_t offset, uint64_t *address)
{
	GElf_Phdr phdr;

	if (!find_code(m, offset, &phdr))
		return false;
	*address = phdr.p_vaddr + (offset - phdr.p_offset);
	return true;
}

static int compare_units(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_unit(struct module *m, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	struct unit *units;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		/* There is room for a power of two. */
		if (!(m->nrunits & (m->nrunits - 1))) {
			units = reallocarray(m->units, m->nrunits ? m->nrunits * 2 : 1,
					     sizeof(*units));
			if (!units)
				return;
			m->units = units;
		}
		m->units[m->nrunits++] = (struct unit){ start, end, *die };
	}
}

/*
 * Only some compilers write a table of addresses (.debug_aranges): clang and Rust's do not.
 * So ask each unit where its code is.
 */
static Dwarf_Die *find_unit(struct module *m, Dwarf_Addr address, Dwarf_Addr *bias)
{
	Dwarf_Die *die = dwfl_module_addrdie(m->mod, address, bias);
	size_t low = 0, high, middle;

	if (die)
		return die;
	if (!m->units_known) {
		m->units_known = true;
		while ((die = dwfl_module_nextcu(m->mod, die, bias)))
			add_unit(m, die);
		if (m->nrunits)
			qsort(m->units, m->nrunits, sizeof(*m->units), compare_units);
	}
	if (!m->nrunits || !dwfl_module_getdwarf(m->mod, bias))
		return NULL;
	address -= *bias;
	for (high = m->nrunits; low < high;) {
		middle = low + (high - low) / 2;
		if (m->units[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < m->units[low - 1].end ? &m->units[low - 1].die : NULL;
}

/* ---- functions ------------------------------------------------------------------------------ */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name ? name : dwarf_diename(die);
}

/* Fill in where an inlined function was called. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *die, struct place *place)
{
	Dwarf_Attribute attribute;
	Dwarf_Files *files;
	Dwarf_Word n;
	size_t nr;

	place->source = NULL;
	place->line = 0;
	if (!dwarf_getsrcfiles(unit, &files, &nr) &&
	    !dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &n) && n < nr)
		place->source = dwarf_filesrc(files, n, NULL, NULL);
	if (!dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &n) && n < INT32_MAX)
		place->line = (int)n;
}

/* A file may come from an attacker: other nesting is not that of a program. */
#define MAX_NESTING	256

/*
 * Find the function that has the address, in found[0], and what is inlined there, the innermost
 * last.  libdw's dwarf_getscopes() does not look into namespaces, where Rust has its functions.
 */
static unsigned int find_scopes(Dwarf_Die *die, Dwarf_Addr address, Dwarf_Die *found,
				unsigned int nr, unsigned int depth)
{
	unsigned int now;
	Dwarf_Die child;

	if (depth == MAX_NESTING || nr == MAX_SCOPES || dwarf_child(die, &child))
		return nr;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			now = find_scopes(&child, address, found, nr, depth + 1);
			if (now > nr)
				return now;
			break;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (dwarf_haspc(&child, address) != 1)
				break;
			found[nr] = child;
			return find_scopes(&child, address, found, nr + 1, depth + 1);
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (dwarf_haspc(&child, address) == 1)
				return find_scopes(&child, address, found, nr, depth + 1);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child));
	return nr;
}

/* places[0] has the symbol, and the line.  Return: how many functions are inlined there. */
static unsigned int find_inlined(Dwarf_Die *unit, Dwarf_Addr address, struct place *places,
				 unsigned int room)
{
	Dwarf_Die found[MAX_SCOPES];
	const char *symbol = places[0].function;
	unsigned int nr, i, inlined;

	nr = find_scopes(unit, address, found, 0, 0);
	if (!nr)
		return 0;
	if (!symbol)
		symbol = name_of(&found[0]);
	inlined = nr - 1 < room - 1 ? nr - 1 : room - 1;
	for (i = 0; i < inlined; i++) {
		places[i].function = name_of(&found[nr - 1 - i]);
		find_call(unit, &found[nr - 1 - i], &places[i + 1]);
	}
	places[inlined].function = symbol;
	return inlined;
}

static const char *find_stub(struct module *m, uint64_t address, uint64_t *start, uint64_t *end)
{
	if (m->only_debug)
		return NULL;
	if (!m->plt)
		m->plt = plt_read(m->elf);
	return plt_find(m->plt, address, start, end);
}

unsigned int module_find(struct module *m, uint64_t offset, uint64_t *address,
			 struct place *places, unsigned int room)
{
	Dwarf_Addr at, bias;
	uint64_t start, end;
	Dwarf_Line *line;
	GElf_Off from_symbol;
	GElf_Sym symbol;
	Dwarf_Die *unit;

	places[0] = (struct place){ NULL };
	*address = offset;
	if (m->jit) {
		places[0].function = jit_symbols_find(m->jit, offset);
		return 1;
	}
	if (m->dump) {
		jit_dump_find(m->dump, offset, address, &places[0]);
		return 1;
	}
	if (!to_address(m, offset, address))
		return 1;
	places[0].function = find_stub(m, *address, &start, &end);
	if (places[0].function)
		return 1;
	at = *address + m->bias;
	places[0].function = dwfl_module_addrinfo(m->mod, at, &from_symbol, &symbol, NULL, NULL,
						  NULL);
	unit = find_unit(m, at, &bias);
	if (!unit)
		return 1;
	line = dwarf_getsrc_die(unit, at - bias);
	if (line) {
		places[0].source = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &places[0].line);
	}
	return 1 + find_inlined(unit, at - bias, places, room);
}

/* ---- the code of a function ------------------------------------------------------------ */

/* Return: where the next symbol after the address is; UINT64_MAX: there is none. */
static Dwarf_Addr next_symbol(struct module *m, Dwarf_Addr at)
{
	int i, nr = dwfl_module_getsymtab(m->mod);
	Dwarf_Addr next = UINT64_MAX;
	GElf_Addr value;
	GElf_Sym symbol;

	for (i = 0; i < nr; i++) {
		if (!dwfl_module_getsym_info(m->mod, i, &symbol, &value, NULL, NULL, NULL) ||
		    symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS ||
		    GELF_ST_TYPE(symbol.st_info) == STT_SECTION ||
		    GELF_ST_TYPE(symbol.st_info) == STT_FILE ||
		    GELF_ST_TYPE(symbol.st_info) == STT_TLS)
			continue;
		if (value > at && value < next)
			next = value;
	}
	return next;
}

/* Find the range by the symbol, and if there is none, by the debugging information. */
static bool find_range(struct module *m, Dwarf_Addr at, Dwarf_Addr *start, Dwarf_Addr *end)
{
	Dwarf_Die found[MAX_SCOPES], *unit;
	Dwarf_Addr base, bias;
	GElf_Off from_symbol;
	GElf_Sym symbol;
	ptrdiff_t next = 0;

	if (dwfl_module_addrinfo(m->mod, at, &from_symbol, &symbol, NULL, NULL, NULL)) {
		*start = at - from_symbol;
		/* Symbols that assembly makes may have no size. */
		*end = symbol.st_size > from_symbol ? *start + symbol.st_size : next_symbol(m, at);
		return true;
	}
	unit = find_unit(m, at, &bias);
	if (!unit || !find_scopes(unit, at - bias, found, 0, 0))
		return false;
	while ((next = dwarf_ranges(&found[0], next, &base, start, end)) > 0)
		if (at - bias >= *start && at - bias < *end) {
			*start += bias;
			*end += bias;
			return true;
		}
	return false;
}

bool module_function(struct module *m, uint64_t offset, struct code *code)
{
	Dwarf_Addr start, end, at, last;
	Elf_Data *data;
	GElf_Phdr phdr;
	GElf_Ehdr ehdr;

	memset(code, 0, sizeof(*code));
	if (m->jit)
		return jit_symbols_code(m->jit, offset, code);
	if (m->dump)
		return jit_dump_code(m->dump, offset, code);
	if (!find_code(m, offset, &phdr))
		return false;
	at = phdr.p_vaddr + (offset - phdr.p_offset);
	if (!find_stub(m, at, &start, &end)) {
		if (!find_range(m, at + m->bias, &start, &end))
			return false;
		start -= m->bias;
		end -= m->bias;
	}
	/* The file may come from an attacker: stay in the segment. */
	last = phdr.p_vaddr + phdr.p_filesz;
	if (start > at || start < phdr.p_vaddr)
		start = at;
	if (end <= at || end > last)
		end = last;
	code->start = start;
	code->size = end - start;
	code->offset = phdr.p_offset + (start - phdr.p_vaddr);
	data = m->only_debug ? NULL :
	       elf_getdata_rawchunk(m->elf, (int64_t)code->offset, code->size, ELF_T_BYTE);
	code->bytes = data && data->d_size == code->size ? data->d_buf : NULL;
	code->machine = gelf_getehdr(m->elf, &ehdr) ? ehdr.e_machine : EM_NONE;
	return true;
}
