// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report finds symbols and inlined functions by indexes: they say what libdw says, and
 * the work for each address does not grow with the file.  It keeps samples in few bytes, and
 * takes them in the order of their time.
 */
#include <check.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "intervals.h"
#include "sample-log.h"
#include "scopes.h"
#include "spans.h"
#include "symbol-index.h"
#include "unwind-table.h"

#define MADE		TMP "/index-made"

static Dwfl *dwfl;
static Dwfl_Module *mod;

static uint32_t random_number(void)
{
	static uint64_t state = 1;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33);
}

static int no_elf(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)m;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)m;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

static void open_elf(const char *path)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = no_elf, .find_debuginfo = no_debuginfo,
		.section_address = dwfl_offline_section_address,
	};

	dwfl = dwfl_begin(&callbacks);
	mod = dwfl_report_offline(dwfl, path, path, open(path, O_RDONLY | O_CLOEXEC));
	ck_assert_ptr_nonnull(mod);
	dwfl_report_end(dwfl, NULL, NULL);
}

/* Build a file from what print() prints. */
static void build(const char *options, void (*print)(FILE *f))
{
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "${CC:-cc} %s -shared -nostdlib -o " MADE " -", options);
	f = popen(command, "w");
	ck_assert_ptr_nonnull(f);
	print(f);
	ck_assert_int_eq(pclose(f), 0);
	open_elf(MADE);
}

static void teardown(void)
{
	dwfl_end(dwfl);
	dwfl = NULL;
	unlink(MADE);
}

/* ---- ranges -------------------------------------------------------------------------------- */

static void count(void *arg, const struct span *span)
{
	*(uint64_t *)arg += (uint64_t)span->number + 1;
}

/* All that have an address are found, and no others. */
START_TEST(spans_are_found)
{
	enum { NR = 300 };
	struct spans s = { NULL };
	uint64_t found, expected, address, last;
	uint32_t first;
	size_t i, until;

	ck_assert_uint_eq(spans_first(&s, 0), UINT32_MAX);
	ck_assert_uint_eq(spans_last(&s, 0), 0);
	for (i = 0; i < NR; i++) {
		uint64_t start = random_number() % 1000;

		ck_assert(spans_add(&s, start, i % 50 ? start + random_number() % 20 : UINT64_MAX,
				    (uint32_t)i));
	}
	spans_sort(&s);
	for (address = 0; address < 1100; address++) {
		expected = found = until = 0;
		first = UINT32_MAX;
		last = 0;
		for (i = 0; i < NR; i++) {
			if (s.span[i].start > address)
				continue;
			until++;
			last = s.span[i].last > last ? s.span[i].last : last;
			if (s.span[i].last < address)
				continue;
			expected += (uint64_t)s.span[i].number + 1;
			first = s.span[i].number < first ? s.span[i].number : first;
		}
		spans_at(&s, address, count, &found);
		ck_assert_uint_eq(found, expected);
		ck_assert_uint_eq(spans_first(&s, address), first);
		ck_assert_uint_eq(spans_until(&s, address), until);
		ck_assert_uint_eq(spans_last(&s, until), last);
	}
	spans_free(&s);
}
END_TEST

/* ---- mappings ------------------------------------------------------------------------------- */

/* Each address has the latest interval; the parts of sets that were copied remain. */
START_TEST(intervals_are_replaced)
{
	enum { SIZE = 200, SETS = 4, ROUNDS = 20000 };
	struct intervals t = { NULL };
	uint32_t set[SETS] = { 0 }, expected[SETS][SIZE] = { { 0 } }, owner[SETS], owners = SETS;
	uint32_t i, n, from, start, end, at;

	for (n = 0; n < SETS; n++)
		owner[n] = n + 1;
	for (i = 1; i <= ROUNDS; i++) {
		n = random_number() % SETS;
		start = random_number() % (SIZE - 1);
		end = start + 1 + random_number() % (i % 3 ? 12 : SIZE - start - 1);
		if (end > SIZE)
			end = SIZE;
		/* The same place again is a case of its own. */
		if (i % 5)
			ck_assert_uint_ne(set[n] = intervals_put(&t, set[n], owner[n], start, end, i), 0);
		for (at = start; i % 5 && at < end; at++)
			expected[n][at] = i;
		if (i % 5 && i % 7 == 0) {
			set[n] = intervals_put(&t, set[n], owner[n], start, end, i + ROUNDS);
			for (at = start; at < end; at++)
				expected[n][at] = i + ROUNDS;
		}
		/* A process forks: neither may change the other's mappings from now on. */
		if (i % 50 == 0) {
			from = random_number() % SETS;
			set[n] = set[from];
			memcpy(expected[n], expected[from], sizeof(expected[n]));
			owner[from] = ++owners;
			owner[n] = ++owners;
		}
		if (i % 20)
			continue;
		for (n = 0; n < SETS; n++)
			for (at = 0; at < SIZE; at++)
				ck_assert_uint_eq(intervals_find(&t, set[n], at), expected[n][at]);
	}
	intervals_free(&t);
}
END_TEST

/* A file that is mapped again, or over an end of the one before, changes few nodes. */
START_TEST(work_for_mappings)
{
	enum { NR = 65536 };
	struct intervals t = { NULL };
	uint32_t set = 0, i, same;
	uint64_t start;

	for (same = 0; same < 3; same++)
		for (i = 0; i < NR; i++) {
			start = (uint64_t)i << 20 | same % 2 << 12;
			set = intervals_put(&t, set, 1, start, start + 0x10000, i + 1);
		}
	/* A search, a node that changes and an insertion: each is about 2 log(NR) deep. */
	ck_assert_msg(t.visited < 75ULL * 3 * NR, "%llu nodes",
		      (unsigned long long)(t.visited / NR / 3));
	intervals_free(&t);
}
END_TEST

/* ---- symbols ------------------------------------------------------------------------------- */

static const char *get_symbol(int i, GElf_Sym sym[1], GElf_Addr value[1])
{
	return dwfl_module_getsym_info(mod, i, sym, value, NULL, NULL, NULL);
}

static void same_symbol(struct symbol_index *index, GElf_Addr at)
{
	GElf_Addr start = 0;
	GElf_Xword size = 0;
	const char *name, *found;
	GElf_Off offset;
	GElf_Sym sym;

	name = dwfl_module_addrinfo(mod, at, &offset, &sym, NULL, NULL, NULL);
	found = symbol_index_find(index, at, &start, &size);
	ck_assert_msg(!name == !found && (!name || !strcmp(name, found)), "%lx: %s, not %s",
		      (unsigned long)at, found ? found : "-", name ? name : "-");
	if (!name)
		return;
	ck_assert_uint_eq(start, at - offset);
	ck_assert_uint_eq(size, sym.st_size);
}

/* Compare what is at the borders of symbols, and at some other addresses. */
static void same_symbols(unsigned int step)
{
	struct symbol_index *index = symbol_index_make(mod);
	int nr = dwfl_module_getsymtab(mod), i;
	Dwarf_Addr low, high;
	GElf_Addr value;
	GElf_Sym sym;

	ck_assert_ptr_nonnull(index);
	dwfl_module_info(mod, NULL, &low, &high, NULL, NULL, NULL, NULL);
	for (i = 1; i < nr; i += (int)step) {
		ck_assert_ptr_nonnull(get_symbol(i, &sym, &value));
		same_symbol(index, value - 1);
		same_symbol(index, value);
		same_symbol(index, value + sym.st_size / 2);
		same_symbol(index, value + sym.st_size - 1);
		same_symbol(index, value + sym.st_size);
	}
	for (i = 0; i < 300; i++)
		same_symbol(index, low + random_number() % (high - low));
	same_symbol(index, 0);
	same_symbol(index, UINT64_MAX);
	symbol_index_free(index);
}

/* Symbols of all bindings and sizes, with and without one, at few addresses of two sections. */
static void print_symbols(FILE *f)
{
	static const char *const bindings[] = { "", ".globl", ".weak" };
	unsigned int i, at, size;

	fputs("\t.text\nt:\t.skip 256, 0x90\n\t.section .second, \"ax\"\nu:\t.skip 256, 0x90\n", f);
	for (i = 0; i < 150; i++) {
		at = random_number() % 64 * 4;
		size = random_number() % 3 ? random_number() % 6 * 4 : 0;
		fprintf(f, "\t.set s%u, %c + %u\n\t.type s%u, %%%s\n\t.size s%u, %u\n", i,
			random_number() & 1 ? 't' : 'u', at, i,
			random_number() % 8 ? "function" : "tls_object", i, size);
		if (i % 3)
			fprintf(f, "\t%s s%u\n", bindings[i % 3], i);
	}
	/* They include many others. */
	fputs("\t.set w, t\n\t.type w, %function\n\t.size w, 200\n", f);
	fputs("\t.set x, u\n\t.type x, %function\n\t.size x, 150\n\t.globl x\n", f);
	/* There is no such address. */
	fputs("\t.set y, t + 100\n\t.type y, %function\n\t.size y, -8\n", f);
}

START_TEST(symbols_of_any_kind)
{
	unsigned int i;

	for (i = 0; i < 12; i++) {
		build("-x assembler", print_symbols);
		same_symbols(1);
		teardown();
	}
}
END_TEST

/* More symbols are at one address than the index compares. */
static void print_many(FILE *f)
{
	unsigned int i;

	fputs("\t.text\nt:\t.skip 1024, 0x90\n", f);
	for (i = 0; i < 200; i++)
		fprintf(f, "\t.set s%u, t + %u\n\t.size s%u, %u\n\t.globl s%u\n", i, i % 7, i, 900 - i,
			i);
}

static void print_marks(FILE *f)
{
	fputs("\t.text\n\t.globl first\nfirst:\n\"$x\":\tnop\n\tnop\n\"$d.1\":\t.long 0\n"
	      "second:\n\"$x.2\":\tnop\n\tnop\n\tnop\n", f);
}

/* arm64's assembler writes symbols that say where instructions and data begin. */
START_TEST(marks_name_nothing)
{
	const unsigned char arm64[] = { EM_AARCH64, 0 };
	struct symbol_index *index;
	GElf_Addr start, at, first = 0, second = 0;
	GElf_Xword size;
	GElf_Sym sym;
	const char *name;
	int i, fd;

	build("-x assembler", print_marks);
	dwfl_end(dwfl);
	fd = open(MADE, O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(pwrite(fd, arm64, 2, offsetof(Elf64_Ehdr, e_machine)), 2);
	close(fd);
	open_elf(MADE);
	index = symbol_index_make(mod);
	ck_assert_ptr_nonnull(index);
	for (i = 1; i < dwfl_module_getsymtab(mod); i++) {
		name = get_symbol(i, &sym, &at);
		if (name && !strcmp(name, "first"))
			first = at;
		if (name && !strcmp(name, "second"))
			second = at;
	}
	ck_assert_uint_ne(first, 0);
	for (at = first; at < second + 3; at++) {
		name = symbol_index_find(index, at, &start, &size);
		ck_assert_str_eq(name ? name : "none", at < second ? "first" : "second");
		ck_assert_uint_eq(start, at < second ? first : second);
	}
	symbol_index_free(index);
}
END_TEST

START_TEST(many_symbols_at_one_address)
{
	build("-x assembler", print_many);
	same_symbols(1);
}
END_TEST

START_TEST(symbols_of_libraries)
{
	static const char *const paths[] = { TMP "/two", TMP "/names", "/proc/self/exe" };

	open_elf(paths[_i]);
	same_symbols(_i == 2 ? 97 : 1);
}
END_TEST

#define NR_FUNCTIONS	20000

static void print_functions(FILE *f)
{
	unsigned int i;

	fputs("\t.text\n", f);
	for (i = 0; i < NR_FUNCTIONS; i++)
		fprintf(f, "\t.type s%u, %%function\n\t.globl s%u\n"
			"s%u:\t.skip 16, 0x90\n\t.size s%u, 8\n", i, i, i, i);
}

/* libdwfl would look at 20,000 symbols for each address. */
START_TEST(work_for_symbols)
{
	struct symbol_index *index;
	GElf_Addr start, first;
	GElf_Xword size;
	unsigned int i;
	GElf_Sym sym;

	build("-x assembler", print_functions);
	index = symbol_index_make(mod);
	ck_assert_ptr_nonnull(index);
	for (i = 1; strcmp(get_symbol((int)i, &sym, &first), "s0") != 0; i++)
		;
	for (i = 0; i < NR_FUNCTIONS; i++) {
		ck_assert_ptr_nonnull(symbol_index_find(index, first + 16 * i + 7, &start, &size));
		ck_assert_uint_eq(start, first + 16 * i);
		/* nothing is here */
		ck_assert_ptr_null(symbol_index_find(index, first + 16 * i + 8, &start, &size));
	}
	ck_assert_uint_lt(symbol_index_visited(index), (uint64_t)NR_FUNCTIONS * 2 * 50);
	symbol_index_free(index);
}
END_TEST

/* Functions with tables for unwinding of several kinds, and code without, of 4 bytes to 40 each. */
static void print_unwinding(FILE *f)
{
	static const char *const kinds[] = {
		"", "\t.cfi_signal_frame\n",
		"\t.cfi_personality 0x9b, pointer\n\t.cfi_lsda 0x1b, t\n",
	};
	unsigned int i;

	fputs("\t.data\npointer:\t.quad t\n\t.text\nt:\n", f);
	for (i = 0; i < 200; i++)
		fprintf(f, i % 5 ? "\t.cfi_startproc\n%s\t.skip %u, 0x90\n\t.cfi_endproc\n" :
			"%.0s\t.skip %u, 0x90\n", kinds[i % 3], random_number() % 10 * 4 + 4);
}

/* The table says what libdw does, which may read all descriptions instead. */
START_TEST(table_for_unwinding)
{
	GElf_Addr at, bias, elf_bias, first, last, start, end, found_start, found_end;
	struct unwind_table table;
	unsigned int known = 0;
	Dwarf_Frame *frame;
	Dwarf_CFI *cfi;
	Elf *elf;

	build("-x assembler", print_unwinding);
	elf = dwfl_module_getelf(mod, &elf_bias);
	unwind_table_read(&table, elf);
	ck_assert_uint_ge(table.nr, 150);
	cfi = dwfl_module_eh_cfi(mod, &bias);
	ck_assert_ptr_nonnull(cfi);
	first = table.frames_address - 16384;
	last = table.frames_address + 16384;
	for (at = first < last ? first : 0; at < last; at++) {
		bool covered = !dwarf_cfi_addrframe(cfi, at + elf_bias - bias, &frame);

		ck_assert_int_eq(unwind_table_find(&table, at, &found_start, &found_end), covered);
		if (!covered)
			continue;
		dwarf_frame_info(frame, &start, &end, NULL);
		ck_assert_uint_eq(found_start + elf_bias, start + bias);
		ck_assert_uint_eq(found_end + elf_bias, end + bias);
		free(frame);
		known++;
	}
	ck_assert_uint_ge(known, 1000);
}
END_TEST

/* ---- inlined functions ----------------------------------------------------------------------- */

#define NR_INLINED	600

static void print_inlined(FILE *f)
{
	unsigned int i;

	fputs("volatile int n;\nstatic inline __attribute__((always_inline)) void inner(int i)\n"
	      "{\n\tfor (n = i; n < 10; n++)\n\t\tn += i;\n}\n"
	      "static inline __attribute__((always_inline)) void outer(int i)\n"
	      "{\n\tinner(i + 1);\n}\n", f);
	for (i = 0; i < NR_INLINED; i++)
		fprintf(f, "void f%u(void);\nvoid f%u(void) { outer(%u); }\n", i, i, i);
}

/* All entries of the unit are looked at once, and not for each address. */
START_TEST(work_for_inlined_functions)
{
	struct scopes scopes = { .walked = 0 };
	Dwarf_Die found[MAX_SCOPES], *unit;
	Dwarf_Addr bias, value;
	unsigned int nr, deepest = 0;
	uint64_t walked;
	GElf_Sym sym;
	int i, times, functions = 0;

	build("-x c -O1 -g -fPIC", print_inlined);
	unit = dwfl_module_nextcu(mod, NULL, &bias);
	ck_assert_ptr_nonnull(unit);
	for (times = 0; times < 2; times++) {
		walked = scopes.walked;
		for (i = 1; i < dwfl_module_getsymtab(mod); i++) {
			const char *symbol = get_symbol(i, &sym, &value);
			GElf_Xword at;

			if (GELF_ST_TYPE(sym.st_info) != STT_FUNC || symbol[0] != 'f')
				continue;
			functions++;
			for (at = 0; at < sym.st_size; at += 4) {
				nr = scopes_find(&scopes, unit, value - bias + at, found);
				ck_assert_uint_ge(nr, 1);
				ck_assert_str_eq(dwarf_diename(&found[0]), symbol);
				deepest = nr > deepest ? nr : deepest;
				if (nr == 3)
					ck_assert_str_eq(dwarf_diename(&found[2]), "inner");
			}
		}
	}
	ck_assert_int_eq(functions, 2 * NR_INLINED);
	ck_assert_uint_eq(deepest, 3);
	/* The second time, nothing was walked. */
	ck_assert_uint_eq(scopes.walked, walked);
	ck_assert_uint_lt(scopes.walked, (uint64_t)NR_INLINED * 20);
	scopes_free(&scopes);
}
END_TEST

/* ---- samples in the order of their time ------------------------------------------------------ */

#define NR_ENTRIES	4000
#define MAX_CALLS	5
#define MAX_TEXT	24

/* An entry as it was added. */
static struct added {
	uint64_t tsc;
	int number;
	struct {
		struct record_sample sample;
		uint64_t chain[MAX_CALLS];
		char stack[MAX_TEXT];
	} data;
	size_t len;		/* 0: no sample, but a text */
	bool mapped;		/* not even that: */
	struct {
		struct record_mapping record;
		char path[MAX_TEXT];
	} mapping;
} added[NR_ENTRIES];

static uint64_t random_bits(void)
{
	/* of any length, so that differences have any sign and size */
	return ((uint64_t)random_number() << 33 ^ (uint64_t)random_number() << 11) >>
	       random_number() % 64;
}

static void add_entry(struct sample_log *l, int i, uint64_t tsc)
{
	struct added *a = &added[i];
	char *at = (char *)&a->data;
	unsigned int calls = random_number() % (MAX_CALLS + 1), rest = random_number() % 3 * 8, n;

	*a = (struct added){ .tsc = tsc, .number = i };
	if (!(random_number() % 4)) {
		a->mapped = true;
		a->mapping.record = (struct record_mapping){
			.task = { random_number() % 3, random_number() % 3, tsc },
			.start = random_bits(), .end = random_bits(), .offset = random_bits(),
			.major = random_number() % 2, .inode = random_number() % 2,
		};
		if (random_number() % 8)
			snprintf(a->mapping.path, MAX_TEXT, "/%d", random_number() % 3);
		ck_assert(log_add_mapping(l, &a->mapping, random_number() % 2 ? (uint32_t)i : 0));
		return;
	}
	if (!(random_number() % 4)) {
		snprintf(a->data.stack, sizeof(a->data.stack), "%d", i);
		ck_assert(log_add(l, RECORD_COMM, tsc, a->data.stack, strlen(a->data.stack) + 1,
				  (uint32_t)i));
		return;
	}
	a->data.sample = (struct record_sample){
		.flags = random_number() % 2, .pid = random_number() % 9, .tid = random_number(),
		.cpu = random_number() % 9, .nr = calls, .ip = random_bits(), .tsc = tsc,
		.overflow = random_bits(), .dropped = random_bits(),
	};
	for (n = 0; n < calls * 8 + rest; n++)
		at[sizeof(a->data.sample) + n] = (char)random_number();
	a->len = sizeof(a->data.sample) + calls * 8 + rest;
	a->data.sample.size = (uint32_t)a->len;
	ck_assert(log_add_sample(l, &a->data, a->len));
}

static int compare_added(const void *a, const void *b)
{
	const struct added *x = a, *y = b;

	if (x->tsc != y->tsc)
		return x->tsc < y->tsc ? -1 : 1;
	return x->number - y->number;
}

static void same_entry(const struct added *a, struct log_entry *e)
{
	const struct record_sample *r = &a->data.sample;
	size_t calls;

	ck_assert_uint_eq(e->tsc, a->tsc);
	if (a->mapped) {
		ck_assert_uint_eq(e->type, RECORD_MAPPING);
		ck_assert_mem_eq(&e->mapping, &a->mapping.record, sizeof(e->mapping));
		ck_assert_str_eq(e->path, a->mapping.path);
		ck_assert(!e->description || e->description == (uint32_t)a->number);
		return;
	}
	if (!a->len) {
		ck_assert_uint_eq(e->type, RECORD_COMM);
		ck_assert_uint_eq(e->description, a->number);
		ck_assert_str_eq((const char *)e->data, a->data.stack);
		ck_assert_uint_eq(e->len, strlen(a->data.stack) + 1);
		return;
	}
	ck_assert_uint_eq(e->type, RECORD_SAMPLES);
	/* The reader has no use for it. */
	e->sample.size = r->size;
	ck_assert_mem_eq(&e->sample, r, sizeof(*r));
	calls = r->nr * sizeof(e->chain[0]);
	ck_assert_mem_eq(e->chain, &r[1], calls);
	ck_assert_uint_eq(e->len, a->len - sizeof(*r) - calls);
	ck_assert_mem_eq(e->data, (const char *)&r[1] + calls, e->len);
}

/* In the order of rings, in that of their time, backwards, and in none. */
START_TEST(log_is_in_order)
{
	struct sample_log l = { NULL };
	struct log_entry entry;
	uint64_t tsc = 0;
	int i;

	for (i = 0; i < NR_ENTRIES; i++) {
		switch (_i) {
		case 0:
			tsc = i % 300 ? tsc + random_number() % 3 : (uint64_t)i / 500;
			break;
		case 1:
			tsc += random_bits() >> 16;
			break;
		case 2:
			tsc = (uint64_t)(NR_ENTRIES - i) / 2;
			break;
		default:
			tsc = random_bits();
			break;
		}
		add_entry(&l, i, tsc);
	}
	qsort(added, NR_ENTRIES, sizeof(added[0]), compare_added);
	log_end(&l);
	for (i = 0; i < NR_ENTRIES; i++) {
		ck_assert(log_take(&l, &entry));
		same_entry(&added[i], &entry);
	}
	ck_assert(!log_take(&l, &entry));
	log_free(&l);
}
END_TEST

START_TEST(log_is_empty)
{
	struct sample_log l = { NULL };
	struct log_entry entry;

	log_end(&l);
	ck_assert(!log_take(&l, &entry));
	log_free(&l);
}
END_TEST

/* Mappings of files, whose paths are kept once. */
START_TEST(memory_for_mappings)
{
	struct {
		struct record_mapping record;
		char path[200];
	} m;
	struct sample_log l = { NULL };
	unsigned int i;

	memset(&m, 0, sizeof(m));
	for (i = 0; i < 100000; i++) {
		memset(m.path, 'a' + (int)(i % 3), sizeof(m.path) - 1);
		m.record.start = UINT64_C(0x7f0000000000) + (i << 24);
		m.record.end = m.record.start + (1 << 20);
		m.record.task = (struct record_task){ 1, 1, i * 1000 };
		ck_assert(log_add_mapping(&l, &m, 1));
	}
	ck_assert_uint_lt(l.used, 100000 * 20);
	ck_assert_uint_eq(l.files.nr, 4);
	log_free(&l);
}
END_TEST

/* Samples of a thread, each some microseconds after the one before, in two libraries. */
START_TEST(memory_for_samples)
{
	struct record_sample r = { .size = sizeof(r), .pid = 7, .tid = 8, .overflow = 1 };
	struct sample_log l = { NULL };
	int i;

	for (i = 0; i < NR_ENTRIES; i++) {
		r.tsc += random_number() % 10000;
		r.ip = UINT64_C(0x7f0000000000) + (random_number() & 1) * UINT64_C(0x8000000) +
		       random_number() % 0x2000000;
		ck_assert(log_add_sample(&l, &r, sizeof(r)));
	}
	ck_assert_uint_eq(l.nrruns, 1);
	ck_assert_uint_lt(l.used, (size_t)NR_ENTRIES * 13);
	log_free(&l);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("perfex-index");
	TCase *t = tcase_create("memory");
	SRunner *r;
	int failed;

	elf_version(EV_CURRENT);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, spans_are_found);
	tcase_add_test(t, intervals_are_replaced);
	tcase_add_test(t, work_for_mappings);
	tcase_add_loop_test(t, log_is_in_order, 0, 4);
	tcase_add_test(t, log_is_empty);
	tcase_add_test(t, memory_for_samples);
	tcase_add_test(t, memory_for_mappings);
	suite_add_tcase(s, t);
	t = tcase_create("files");
	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_set_timeout(t, 300);
	tcase_add_test(t, symbols_of_any_kind);
	tcase_add_test(t, many_symbols_at_one_address);
	tcase_add_test(t, marks_name_nothing);
	tcase_add_loop_test(t, symbols_of_libraries, 0, 3);
	tcase_add_test(t, work_for_symbols);
	tcase_add_test(t, table_for_unwinding);
	tcase_add_test(t, work_for_inlined_functions);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed ? 1 : 0;
}
