// SPDX-License-Identifier: GPL-2.0
/*
 * Find the function and line at an offset of a file, by libdw (elfutils).  Files are
 * read for themselves, and not as a process had mapped them.
 *
 * A file may be an attacker's.  libdw works on it with the limits of work.h, and gets the files
 * that it asks for from debug-files.c.
 */
#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug-files.h"
#include "go-names.h"
#include "jit-dump.h"
#include "jit-symbols.h"
#include "plt.h"
#include "scopes.h"
#include "symbol-index.h"
#include "symbols.h"

/* Code of a compilation unit. */
struct unit {
	Dwarf_Addr start, end;
	Dwarf_Die die;
};

struct module {
	struct work work;
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	GElf_Addr bias;		/* from the file's addresses to libdwfl's */
	Dwarf *dwarf;		/* NULL: there is none, or it is not known yet */
	Dwarf *alt;		/* what several files have in common of their debugging information */
	int alt_fd;
	bool dwarf_known;
	const char *remark;	/* what is left out of it; or NULL */
	int no_answer;		/* of debuginfod's servers: the error; or 0 */
	bool by_zstd;		/* its debugging information is compressed so */
	struct unit *units;	/* sorted by their start */
	size_t nrunits;
	bool units_known;
	struct scopes scopes;	/* of the units */
	struct symbol_index *symbols;	/* NULL: not made, or libdwfl is to be asked */
	bool symbols_known;
	struct hash_table lambdas;
	struct go_names go;	/* read when symbols are */
	struct plt *plt;	/* NULL: not read yet */
	struct jit_symbols *jit;
	struct jit_dump *dump;
	uid_t owner;		/* of the file */
	bool only_debug;	/* it has no code: that of the program is */
	uint64_t code_offset, code_size, code_address;
};

/* The file is given to libdw. */
static int find_no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
		       char **file, Elf **elf)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

/* libdw asks for the file that has the debugging information, or the symbols. */
static int find_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word crc, char **found)
{
	struct module *m = *data;
	struct debug_search search = {
		.work = &m->work, .file = name, .symfs = modules_directory(), .link = link, .crc = crc,
		.no_answer = &m->no_answer,
	};
	const struct work *work;
	GElf_Addr address;
	int fd;

	(void)base;
	(void)file;
	/* Only the other link has no checksum: see find_alt(). */
	if (link && !crc)
		return -1;
	search.id_size = dwfl_module_build_id(mod, &search.id, &address);
	work = work_on(NULL);
	fd = find_debug_file(&search, found);
	work_on(work);
	if (fd >= 0 && debug_file_by_zstd(fd))
		m->by_zstd = true;
	if (fd >= 0 && debug_file_expands(fd)) {
		m->remark = TOO_COMPRESSED;
		close(fd);
		free(*found);
		*found = NULL;
		return -1;
	}
	return fd;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_no_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* True if this is a program or a shared library; an archive, for instance, cannot be mapped. */
static bool can_be_mapped(Elf *elf)
{
	GElf_Ehdr ehdr;

	return elf && gelf_getehdr(elf, &ehdr) &&
	       (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);
}

static bool report_offline(struct module *m, int *fd, const char *path)
{
	const struct work *work = work_on(&m->work);
	void **data;

	m->dwfl = dwfl_begin(&callbacks);
	if (m->dwfl)
		m->mod = dwfl_report_offline(m->dwfl, path, path, *fd);
	if (m->mod) {
		/* On success, libdwfl owns the descriptor. */
		*fd = -1;
		dwfl_module_info(m->mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
		*data = m;
		dwfl_report_end(m->dwfl, NULL, NULL);
		m->elf = dwfl_module_getelf(m->mod, &m->bias);
	}
	work_on(work);
	return m->mod && can_be_mapped(m->elf);
}

static struct module *open_descriptor(int fd, const char *path, const struct work *work)
{
	struct module *m = calloc(1, sizeof(*m));
	struct elf_head head;
	struct stat st;

	/* libdw expands files that are compressed as a whole. */
	if (m && fd >= 0 && !fstat(fd, &st) && elf_head_read(fd, &head)) {
		m->owner = st.st_uid;
		m->alt_fd = -1;
		m->work = *work;
		if (report_offline(m, &fd, path))
			return m;
	}
	if (fd >= 0)
		close(fd);
	module_close(m);
	return NULL;
}

static bool has_build_id(struct module *m, const struct file_description *file)
{
	const struct work *work = work_on(&m->work);
	const unsigned char *id;
	GElf_Addr address;
	int len = dwfl_module_build_id(m->mod, &id, &address);

	work_on(work);
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

/* *why: set if another file is there, or cannot be used */
static struct module *try_opened(int fd, const char *path, const struct file_description *file,
				 bool copied, const char **why)
{
	struct work work;
	struct module *m;

	if (fd < 0)
		return NULL;
	if (!file->build_id_size && !looks_the_same(fd, file, copied)) {
		*why = "another file has this name now";
		close(fd);
		return NULL;
	}
	if (!work_allows(&work, fd, path)) {
		*why = TOO_MUCH_WORK;
		close(fd);
		return NULL;
	}
	m = open_descriptor(fd, path, &work);
	if (!m)
		*why = NO_ELF;
	if (!m || !file->build_id_size || has_build_id(m, file))
		return m;
	*why = "another file has this name now";
	module_close(m);
	return NULL;
}

/* Open this path if it is the file. */
static struct module *try_file(const char *path, const struct file_description *file, bool copied,
			       const char **why)
{
	return try_opened(open_named(path, 0), path, file, copied, why);
}

/* Open the file of a process that still has it. */
static struct module *try_live(const char *path, const struct file_description *file)
{
	struct module *m = NULL;
	enum live_way way;
	char name[4096];
	const char *why;
	int fd;

	for (way = 0; file->pid && !m && way < NR_LIVE_WAYS; way++) {
		fd = open_live_file(file->pid, path, way, name, sizeof(name));
		m = try_opened(fd, name, file, false, &why);
	}
	return m;
}

/* Names and lines are also in a file that has debugging information only. */
static struct module *try_debug(const char *directory, const struct file_description *file)
{
	char path[4096], id[2 * MAX_BUILD_ID + 1];
	const char *why;
	struct module *m;
	unsigned int i;

	for (i = 0; i < file->build_id_size; i++)
		sprintf(id + (size_t)i * 2, "%02x", file->build_id[i]);
	if (file->build_id_size < 2 || !file->code_size ||
	    snprintf(path, sizeof(path), "%s/usr/lib/debug/.build-id/%.2s/%s.debug", directory, id,
		     id + 2) >= (int)sizeof(path))
		return NULL;
	m = try_file(path, file, false, &why);
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
	const char *const mapped = path;
	const char *no_path, *why = "it cannot be read";
	char there[4096], before[4096];
	struct module *m = NULL;

	/* The same file may have its path again. */
	if (path_without_deleted(path, before, sizeof(before)))
		path = before;
	if (below_directory(path, there, sizeof(there)))
		m = try_file(there, file, true, &why);
	if (!m)
		m = try_file(path, file, false, &why);
	if (!m)
		m = try_live(mapped, file);
	if (!m && modules_directory())
		m = try_debug(modules_directory(), file);
	if (!m)
		m = try_debug("", file);
	if (!m) {
		no_path = why_no_path(mapped);
		fail_with(e, "%s", no_path ? no_path : why);
	}
	return m;
}

int open_sampled(const char *path, const struct file_description *file)
{
	const char *found = NULL;
	struct error why;
	struct module *m = module_open_file(path, file, &why);
	int fd = -1;

	if (!m)
		return -1;
	if (!m->only_debug)
		dwfl_module_info(m->mod, NULL, NULL, NULL, NULL, NULL, &found, NULL);
	if (found)
		fd = strncmp(found, PROC "/", strlen(PROC "/")) ? open_named(found, 0) : open_link_of_process(found);
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
	int fd = open_vdso(size);
	struct work work;

	if (fd < 0)
		return NULL;
	if (!work_allows(&work, fd, "[vdso]")) {
		close(fd);
		return NULL;
	}
	return open_descriptor(fd, "[vdso]", &work);
}

struct module *module_open_jit(struct jit_symbols *symbols)
{
	struct module *m = calloc(1, sizeof(*m));

	if (m) {
		m->jit = symbols;
		m->work = *jit_symbols_work(symbols);
	}
	return m;
}

struct module *module_open_dump(struct jit_dump *dump)
{
	struct module *m = calloc(1, sizeof(*m));

	if (m) {
		m->dump = dump;
		m->work = *jit_dump_work(dump);
		m->owner = jit_dump_owner(dump);
	}
	return m;
}

const struct work *module_work(const struct module *m)
{
	return &m->work;
}

const char *module_remark(const struct module *m)
{
	return m->remark;
}

int module_no_answer(const struct module *m)
{
	return m->no_answer;
}

uid_t module_owner(const struct module *m)
{
	/* All that has sources has a module; if not, it is that of no user. */
	return m ? m->owner : (uid_t)-2;
}

/* An object's class, by the place of its description, and the name of its operator(). */
struct lambda {
	uint64_t class;
	/* after the key */
	char *name;
};

static void free_lambdas(struct hash_table *t)
{
	uint32_t i;

	for (i = 1; i < t->nr; i++)
		free(((struct lambda *)t->items)[i].name);
	hash_table_free(t);
}

void module_close(struct module *m)
{
	if (!m)
		return;
	if (m->dwfl)
		dwfl_end(m->dwfl);
	if (m->alt) {
		dwarf_end(m->alt);
		close(m->alt_fd);
	}
	scopes_free(&m->scopes);
	symbol_index_free(m->symbols);
	plt_free(m->plt);
	free_lambdas(&m->lambdas);
	free(m->units);
	free(m);
}

/* ---- debugging information ---------------------------------------------------------------- */

/*
 * Find what dwz has moved into a file for several programs.  libdw would open whatever the file
 * names.
 */
static void find_alt(struct module *m)
{
	const char *main_file = NULL, *debug_file = NULL;
	struct debug_search search = { .work = &m->work, .symfs = modules_directory() };
	const struct work *work;
	const void *id;

	search.id_size = (int)dwelf_dwarf_gnu_debugaltlink(m->dwarf, &search.link, &id);
	if (search.id_size <= 0)
		return;
	search.id = id;
	dwfl_module_info(m->mod, NULL, NULL, NULL, NULL, NULL, &main_file, &debug_file);
	search.file = debug_file ? debug_file : main_file;
	work = work_on(NULL);
	m->alt_fd = search.file ? find_alt_file(&search) : -1;
	work_on(work);
	if (m->alt_fd < 0)
		return;
	m->alt = debug_file_expands(m->alt_fd) ? NULL : dwarf_begin(m->alt_fd, DWARF_C_READ);
	if (m->alt) {
		dwarf_new_oom_handler(m->alt, work_no_memory);
		dwarf_setalt(m->dwarf, m->alt);
	} else {
		close(m->alt_fd);
	}
}

/*
 * True if libelf can uncompress zstd.  Earlier versions read the sections that are not
 * compressed.
 */
static bool libelf_knows_zstd(void)
{
	unsigned int minor;

	return sscanf(dwfl_version(NULL), "0.%u", &minor) != 1 || minor >= 189;
}

/* Return: the debugging information, or NULL.  *bias: from its addresses to libdwfl's */
static Dwarf *dwarf_of(struct module *m, Dwarf_Addr *bias)
{
	if (!m->dwarf_known) {
		m->dwarf_known = true;
		if (elf_expands(m->elf, m->work.size))
			m->remark = TOO_COMPRESSED;
		else
			m->dwarf = dwfl_module_getdwarf(m->mod, bias);
		if (m->dwarf) {
			dwarf_new_oom_handler(m->dwarf, work_no_memory);
			find_alt(m);
		}
		if ((!m->dwarf || !libelf_knows_zstd()) && !m->remark &&
		    (m->by_zstd || elf_by_zstd(m->elf)))
			m->remark = OTHER_COMPRESSION;
	}
	return m->dwarf ? dwfl_module_getdwarf(m->mod, bias) : NULL;
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

/*
 * True if the file has all of its symbols, and not only those of other files: then the debugging
 * information has no more functions.
 */
static bool has_local_symbols(struct module *m)
{
	int i, nr = dwfl_module_getsymtab_first_global(m->mod);
	GElf_Addr value;
	GElf_Sym symbol;

	for (i = 1; i < nr; i++)
		if (dwfl_module_getsym_info(m->mod, i, &symbol, &value, NULL, NULL, NULL) &&
		    GELF_ST_TYPE(symbol.st_info) != STT_SECTION)
			return true;
	return false;
}

bool module_is_stripped(struct module *m, char *build_id, size_t size)
{
	const struct work *work = work_on(&m->work);
	const unsigned char *id;
	GElf_Addr address;
	Dwarf_Addr bias;
	bool stripped;
	int i, len;

	/* To read debugging information may take long: symbols tell as much. */
	stripped = !m->jit && !m->dump && !has_section(m->elf, SHT_SYMTAB) &&
		   !has_local_symbols(m) && !dwarf_of(m, &bias) && !m->remark;
	*build_id = '\0';
	len = stripped ? dwfl_module_build_id(m->mod, &id, &address) : 0;
	for (i = 0; i < len && (size_t)i * 2 + 3 <= size; i++)
		sprintf(build_id + (size_t)i * 2, "%02x", id[i]);
	work_on(work);
	return stripped;
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
	size_t low = 0, high, middle;
	Dwarf_Die *die;

	if (!dwarf_of(m, bias))
		return NULL;
	die = dwfl_module_addrdie(m->mod, address, bias);
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

#define MAX_TYPES	8	/* from a parameter to its class: constant pointers to constants */

/* Find the class of a lambda's object. */
static bool find_closure(Dwarf_Die *function, Dwarf_Die *class)
{
	Dwarf_Attribute attribute;
	const char *name;
	unsigned int i;

	if (!dwarf_attr_integrate(function, DW_AT_object_pointer, &attribute) ||
	    !dwarf_formref_die(&attribute, class))
		return false;
	name = dwarf_diename(class);
	if (!name || strcmp(name, "__closure"))
		return false;
	for (i = 0; i < MAX_TYPES; i++) {
		if (!dwarf_attr_integrate(class, DW_AT_type, &attribute) ||
		    !dwarf_formref_die(&attribute, class))
			return false;
		if (dwarf_tag(class) == DW_TAG_structure_type || dwarf_tag(class) == DW_TAG_class_type)
			return true;
	}
	return false;
}

/*
 * gcc gives no linkage name to a lambda that is inlined everywhere, and no name to its class, so that
 * all of them would be one function, "operator()".  The class has its place in the source.
 * Return: the name; NULL: it is no lambda
 */
static const char *name_of_lambda(struct module *m, Dwarf_Die *function)
{
	const char *file, *slash;
	struct lambda *lambda;
	Dwarf_Die class;
	uint64_t at;
	int line = 0, column = 0;
	uint32_t i;

	if (!find_closure(function, &class))
		return NULL;
	at = dwarf_dieoffset(&class);
	if (!m->lambdas.size)
		m->lambdas = (struct hash_table){ .size = sizeof(*lambda), .key = sizeof(at) };
	i = hash_table_add(&m->lambdas, &at);
	if (!i)
		return NULL;
	lambda = (struct lambda *)m->lambdas.items + i;
	if (lambda->name)
		return lambda->name;
	file = dwarf_decl_file(&class);
	slash = file ? strrchr(file, '/') : NULL;
	dwarf_decl_line(&class, &line);
	dwarf_decl_column(&class, &column);
	/* Two of one line have different columns. */
	if (asprintf(&lambda->name, "{lambda %s:%d:%d}::operator()", slash ? slash + 1 : file ? file : "?",
		     line, column) < 0)
		lambda->name = NULL;
	return lambda->name;
}

static const char *name_of(struct module *m, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = NULL, *lambda;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (name)
		return name;
	name = dwarf_diename(die);
	lambda = name && !strcmp(name, "operator()") ? name_of_lambda(m, die) : NULL;
	return lambda ? lambda : name;
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

/* places[0] has the symbol, and the line.  Return: how many functions are inlined there. */
static unsigned int find_inlined(struct module *m, Dwarf_Die *unit, Dwarf_Addr address,
				 struct place *places, unsigned int room)
{
	Dwarf_Die found[MAX_SCOPES];
	const char *symbol = places[0].function;
	unsigned int nr, i, inlined;

	nr = scopes_find(&m->scopes, unit, address, found);
	if (!nr)
		return 0;
	if (!symbol)
		symbol = name_of(m, &found[0]);
	inlined = nr - 1 < room - 1 ? nr - 1 : room - 1;
	for (i = 0; i < inlined; i++) {
		places[i].function = name_of(m, &found[nr - 1 - i]);
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

/* Return: the name of the symbol that has the address, or NULL */
static const char *find_symbol(struct module *m, Dwarf_Addr at, Dwarf_Addr *start,
			       GElf_Xword *size)
{
	const char *name;
	GElf_Sym symbol;
	GElf_Off from;

	if (!m->symbols_known) {
		m->symbols_known = true;
		m->symbols = symbol_index_make(m->mod);
		if (!m->only_debug)
			go_names_read(&m->go, m->elf);
	}
	name = m->symbols ? symbol_index_find(m->symbols, at, start, size) : NULL;
	if (!name) {
		name = go_names_find(&m->go, at - m->bias, start, size);
		if (name)
			*start += m->bias;
	}
	if (name || m->symbols)
		return name;
	name = dwfl_module_addrinfo(m->mod, at, &from, &symbol, NULL, NULL, NULL);
	if (name) {
		*start = at - from;
		*size = symbol.st_size;
	}
	return name;
}

static unsigned int find_places(struct module *m, uint64_t offset, const struct details *details,
				uint64_t *address, struct place *places, unsigned int room)
{
	Dwarf_Addr at, bias, symbol;
	uint64_t start, end;
	Dwarf_Line *line;
	Dwarf_Die *unit;
	GElf_Xword size;

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
	places[0].function = find_symbol(m, at, &symbol, &size);
	if (!details->inlined && !details->lines && (places[0].function || has_local_symbols(m)))
		return 1;
	unit = find_unit(m, at, &bias);
	if (!unit)
		return 1;
	line = details->lines ? dwarf_getsrc_die(unit, at - bias) : NULL;
	if (line) {
		places[0].source = dwarf_linesrc(line, NULL, NULL);
		dwarf_lineno(line, &places[0].line);
	}
	return 1 + find_inlined(m, unit, at - bias, places, room);
}

unsigned int module_find(struct module *m, uint64_t offset, const struct details *details,
			 uint64_t *address, struct place *places, unsigned int room)
{
	const struct work *work;
	unsigned int nr;

	work = work_on(&m->work);
	nr = find_places(m, offset, details, address, places, room);
	work_on(work);
	return nr;
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
	ptrdiff_t next = 0;
	GElf_Xword size;

	if (find_symbol(m, at, start, &size)) {
		/* Symbols that assembly makes may have no size. */
		*end = size > at - *start ? *start + size : next_symbol(m, at);
		return true;
	}
	unit = find_unit(m, at, &bias);
	if (!unit || !scopes_find(&m->scopes, unit, at - bias, found))
		return false;
	while ((next = dwarf_ranges(&found[0], next, &base, start, end)) > 0)
		if (at - bias >= *start && at - bias < *end) {
			*start += bias;
			*end += bias;
			return true;
		}
	return false;
}

static bool find_function(struct module *m, uint64_t offset, struct code *code)
{
	Dwarf_Addr start, end, at, last;
	Elf_Data *data;
	GElf_Phdr phdr;
	GElf_Ehdr ehdr;

	memset(code, 0, sizeof(*code));
	if (m->jit)
		return jit_symbols_code(m->jit, offset, code);
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

bool module_function(struct module *m, uint64_t offset, struct code *code)
{
	const struct work *work;
	bool found;

	/* This opens the file. */
	if (m->dump)
		return jit_dump_code(m->dump, offset, code);
	work = work_on(&m->work);
	found = find_function(m, offset, code);
	work_on(work);
	return found;
}
