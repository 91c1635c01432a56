// SPDX-License-Identifier: GPL-2.0
/* perfex --report --annotate: samples of lines and instructions. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <utime.h>

#include "disassemble.h"
#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

#define TWO		TMP "/two"
#define CALLS		TMP "/calls"
#define CODE		UINT64_C(0x400000), UINT64_C(0x404000), UINT64_C(0)

static char text[65536];

/* The function's address, and the size of its first instruction. */
static uint64_t address_in(const char *file, const char *symbol, uint64_t *size)
{
	char command[512];
	unsigned long address, next;
	FILE *f;

	snprintf(command, sizeof(command), "objdump -d --disassemble=%s %s | "
		 "sed -n 's/^ *\\([0-9a-f]*\\):\t.*/\\1/p' | head -n 2", symbol, file);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx %lx", &address, &next), 2);
	pclose(f);
	*size = next - address;
	return address;
}

/* The address of an instruction, by its number in the function. */
static uint64_t instruction(const char *file, const char *symbol, unsigned int number)
{
	char command[512];
	unsigned long address;
	FILE *f;

	snprintf(command, sizeof(command), "objdump -d --disassemble=%s %s | "
		 "sed -n 's/^ *\\([0-9a-f]*\\):\t[0-9a-f ]*\t.*/\\1/p' | sed -n %up", symbol, file,
		 number + 1);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

#define annotate(...)	perfex("--report", (char *)in_dir("s"), "--annotate", ##__VA_ARGS__)

static void begin(void)
{
	put_header(in_dir("s"), 0);
	put_record(RECORD_COMMAND, NULL, 0, "two x");
	put_event(0, 1000, "instructions:u");
}

static void end(void)
{
	put_end(1, (uint64_t []){ 123456 });
	put_close();
}

static void put_samples(unsigned int nr, uint64_t ip)
{
	while (nr--)
		put_sample(10, 10, 5, ip);
}

/* Another program checks the JSON, and prints its samples. */
static void samples_are(const char *program, const char *function, const char *samples)
{
	char command[512];

	ck_assert_int_eq(annotate((char *)function, "-j"), 0);
	ck_assert_str_eq(err, "");
	snprintf(command, sizeof(command), "python3 " SRC "annotation.py %s %s > %s", in_dir("out"),
		 program, in_dir("text"));
	ck_assert_int_eq(system(command), 0);
	slurp("text", text, sizeof(text));
	ck_assert_str_eq(text, samples);
}

/* ---- samples ----------------------------------------------------------------------------- */

/* Each instruction and each line has exactly its samples. */
START_TEST(lines_and_instructions)
{
	uint64_t size, first = address_in(TWO, "first", &size), second;
	char expected[512];

	begin();
	put_mapping(10, 0, CODE, TWO);
	put_samples(6, first);
	put_samples(2, first + size);
	put_samples(2, address_in(TWO, "second", &size));
	end();
	second = instruction(TWO, "first", 2);
	ck_assert_int_eq(annotate("first"), 0);
	ck_assert_str_eq(err, "");
	has(out, "\n first [two], instructions:u: 8 samples, 80.00% of all\n\n Lines:\n\n");
	has(out, "/two.c\n");
	/* Both samples are in the first statement: it is a load, an addition and a store. */
	has(out, " 100.00%             8      11          n++;\n");
	has(out, "\n Instructions:\n\n");
	has(out, "                        two.c:11          n++;\n");
	if (disassembler_built()) {
		has(out, "                            12          n--;\n");
		snprintf(expected, sizeof(expected), "  75.00%%             6  %12lx  ",
			 (unsigned long)first);
		has(out, expected);
		snprintf(expected, sizeof(expected), "\n                        %12lx  ",
			 (unsigned long)second);
		has(out, expected);
		has(out, "  ret");
		has_not(out, "capstone");
	} else {
		has(out, "as it was built without capstone (Debian: libcapstone-dev,");
		snprintf(expected, sizeof(expected), "  75.00%%             6  %12lx\n",
			 (unsigned long)first);
		has(out, expected);
		snprintf(expected, sizeof(expected), " %lx\n", (unsigned long)second);
		has_not(out, expected);
	}
	snprintf(expected, sizeof(expected),
		 "instructions:u first 0 6\ninstructions:u first %lu 2\n",
		 (unsigned long)(instruction(TWO, "first", 1) - first));
	samples_are(TWO, "first", expected);
}
END_TEST

/* The disassembly is that of the instructions, with names of what they call. */
START_TEST(disassembly)
{
	uint64_t size, at = address_in(TWO, "main", &size);

	if (!disassembler_built())
		return;
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_samples(1, at);
	end();
	ck_assert_int_eq(annotate("main", "-v"), 0);
	has(out, " <first>\n");
	has(out, " <second>\n");
#ifdef __x86_64__
	has(out, "  callq   0x");
	has(out, "  pushq   %");
#else
	has(out, "  bl      #0x");
#endif
}
END_TEST

/* A function can be asked for where it is inlined: its part of the other one is shown. */
START_TEST(inlined_function)
{
	uint64_t size, at = address_in(CALLS, "outer", &size), last;
	unsigned int nr;
	char expected[256];

	/* innermost() loads, changes and stores n; the store is its last instruction. */
#ifdef __x86_64__
	nr = 3;
#else
	nr = 7;
#endif
	last = instruction(CALLS, "outer", nr);
	begin();
	put_mapping(10, 0, CODE, CALLS);
	put_samples(1, at);
	put_samples(3, last);
	end();
	snprintf(expected, sizeof(expected), "instructions:u innermost in outer %lu 3\n",
		 (unsigned long)(last - at));
	samples_are(CALLS, "innermost", expected);
	ck_assert_int_eq(annotate("innermost"), 0);
	has(out, "\n innermost, inlined into outer [calls], instructions:u: 3 samples, 75.00% of all\n");
	has(out, "      36  [innermost]          n ^= 12345;\n");
	has_not(out, "between");
	snprintf(expected, sizeof(expected), "instructions:u outer 0 1\ninstructions:u outer %lu 3\n",
		 (unsigned long)(last - at));
	samples_are(CALLS, "outer", expected);
	ck_assert_int_eq(annotate("outer"), 0);
	has(out, "      36  [innermost]          n ^= 12345;\n");
	has(out, "      41  [between]          n = 7;\n");
}
END_TEST

START_TEST(filters)
{
	uint64_t size, first = address_in(TWO, "first", &size);

	begin();
	put_event(3, 50, "cache-misses:u");
	put_mapping(10, 0, CODE, TWO);
	put_task(RECORD_COMM, 10, 10, 0, "one");
	put_fork(10, 11, 1, 10, 10);
	put_task(RECORD_COMM, 10, 11, 2, "other");
	put_chain(10, 10, 5, 1, first, 0, NULL);
	put_chain(10, 11, 5, 1, first + size, 0, NULL);
	put_chain(10, 11, 5, 1, first + size, 0, NULL);
	put_chain(10, 11, 5, 8, first, 0, NULL);
	put_end(2, (uint64_t []){ 3333, 111 });
	put_close();
	ck_assert_int_eq(annotate("first"), 0);
	has(out, "first [two], instructions:u: 3 samples, 100.00% of all\n");
	has(out, "first [two], cache-misses:u: 1 sample, 100.00% of all\n");
	ck_assert_int_eq(annotate("first", "--comm=one"), 0);
	has(out, "first [two], instructions:u: 1 sample, 100.00% of all\n");
	has_not(out, "cache-misses");
	ck_assert_int_eq(annotate("first", "-t", "11", "-e", "instructions:u"), 0);
	has(out, "first [two], instructions:u: 2 samples, 100.00% of all\n");
	has_not(out, "cache-misses");
	ck_assert_int_eq(annotate("first", "-p", "12"), 125);
	is_message("has no samples in a function 'first'");
	ck_assert_int_eq(annotate("first", "-p", "12", "-j"), 125);
	ck_assert_str_eq(out, "");
}
END_TEST

START_TEST(functions_of_one_name)
{
	uint64_t size, first = address_in(TWO, "first", &size);
	char copy[128], at[160];

	snprintf(copy, sizeof(copy), "%s", in_dir("other.so"));
	snprintf(text, sizeof(text), "cp " TWO " %s", copy);
	ck_assert_int_eq(system(text), 0);
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_mapping(10, 0, UINT64_C(0x700000), UINT64_C(0x704000), 0, copy);
	put_samples(1, first);
	put_samples(2, first + 0x300000);
	end();
	ck_assert_int_eq(annotate("first"), 125);
	snprintf(text, sizeof(text), "--annotate takes one of: first@" TWO ", first@%s\n", copy);
	is_message(text);
	ck_assert_int_eq(annotate("first@other.so"), 0);
	has(out, " first [other.so], instructions:u: 2 samples, 66.67% of all\n");
	has_not(out, "[two]");
	ck_assert_int_eq(annotate("first@[two]"), 0);
	has(out, " first [two], instructions:u: 1 sample, 33.33% of all\n");
	snprintf(at, sizeof(at), "first@%s", copy);
	ck_assert_int_eq(annotate(at), 0);
	has(out, "[other.so]");
	ck_assert_int_eq(annotate("first@third"), 125);
	is_message("no samples in a function 'first@third'");
}
END_TEST

/* The parameters of a C++ function need not be said. */
START_TEST(names_of_languages)
{
	uint64_t size, at = address_in(TMP "/names", "_ZN6shapes6squareIlE4areaEl", &size);

	begin();
	put_mapping(10, 0, CODE, TMP "/names");
	put_samples(1, at);
	end();
	ck_assert_int_eq(annotate("shapes::square<long>::area(long)"), 0);
	has(out, " shapes::square<long>::area(long) [names], ");
	ck_assert_int_eq(annotate("shapes::square<long>::area"), 0);
	has(out, " shapes::square<long>::area(long) [names], ");
	ck_assert_int_eq(annotate("shapes::square<long>"), 125);
	is_message("has no samples in a function");
}
END_TEST

/* ---- what there is to read ------------------------------------------------------------------ */

/* Build a program from this text in the directory, as "p". */
static void build(const char *program, const char *options)
{
	FILE *f = fopen(in_dir("p.c"), "w");
	char command[512];

	fputs(program, f);
	fclose(f);
	snprintf(command, sizeof(command), "${CC:-cc} -g -O1 -no-pie %s -o %s/p %s/p.c", options, dir,
		 dir);
	ck_assert_int_eq(system(command), 0);
}

static const char *program_path(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/p", dir);
	return path;
}

static void sample_work(unsigned int nr)
{
	uint64_t size, at = address_in(in_dir("p"), "work", &size);

	begin();
	put_mapping(10, 0, CODE, in_dir("p"));
	put_samples(nr, at);
	end();
}

START_TEST(source_is_gone_or_newer)
{
	struct utimbuf later = { .actime = 4000000000, .modtime = 4000000000 };

	build("volatile int n;\n#define A(x)\t\033[2J\nvoid work(void)\n{ n\t= 7; }\n"
	      "int main(void)\n{\n\twork();\n\treturn 0;\n}\n", "");
	sample_work(3);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "       4  { n     = 7; }\n");
	has_not(out, "is newer");
	ck_assert_int_eq(utime(in_dir("p.c"), &later), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "/p.c is newer than the program: its lines may be others.\n");
	unlink(in_dir("p.c"));
	ck_assert_int_eq(annotate("work"), 0);
	has(out, " 100.00%             3       4\n");
	has_not(out, "n     = 7");
	/* A pipe in its place is not waited for. */
	ck_assert_int_eq(mkfifo(in_dir("p.c"), 0600), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, " 100.00%             3       4\n");
}
END_TEST

/* No source commands the terminal. */
START_TEST(hostile_source)
{
	build("volatile int n;\nvoid work(void)\n{ n = 7; /* \033[2J */ }\n"
	      "int main(void)\n{ work(); return 0; }\n", "");
	sample_work(1);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "/* ?[2J */");
	has_not(out, "\033");
	ck_assert_int_eq(annotate("work", "-j"), 0);
	has_not(out, "\033");
}
END_TEST

/* A program gives a large file any number of names. */
START_TEST(many_large_sources)
{
	size_t len = (size_t)snprintf(text, sizeof(text), "volatile int n;\nvoid work(void)\n{\n");
	char command[512];
	struct rusage usage;
	unsigned int i;

	/* Only the lines of instructions without samples lead to all sources. */
	if (!disassembler_built())
		return;
	for (i = 0; i < 40; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"#line 1 \"%s/large%u.c\"\nn = %u;\n", dir, i, i);
	snprintf(text + len, sizeof(text) - len, "}\nint main(void)\n{ work(); return 0; }\n");
	build(text, "-O0");
	snprintf(command, sizeof(command), "cd %s && yes '' | head -n 400000 > large0.c && for i in $(seq 39); do ln large0.c large$i.c; done", dir);
	ck_assert_int_eq(system(command), 0);
	sample_work(1);
	ck_assert_int_eq(annotate("work", "-v"), 0);
	has(out, "/large39.c is not shown: it, or all sources together, are too large.\n");
	has_not(out, "/large0.c is not shown");
	ck_assert_int_eq(annotate("work", "-j"), 0);
	has(out, "/large39.c\",\"why\":\"it, or all sources together, are too large\"}");
	has_not(out, "/large0.c\",\"why\"");
	getrusage(RUSAGE_CHILDREN, &usage);
	ck_assert_int_lt(usage.ru_maxrss, 400 << 10);
}
END_TEST

/* A program names any file as its source: it shows what its owner may read.  Only root can make one. */
START_TEST(source_of_another)
{
	build("volatile int n;\nvoid work(void)\n{ n = 7; }\nint main(void)\n{ work(); return 0; }\n", "");
	sample_work(1);
	if (geteuid())
		return;
	ck_assert_int_eq(chown(in_dir("p"), 12345, 12345), 0);
	ck_assert_int_eq(chmod(dir, 0755), 0);
	/* root's own secret */
	ck_assert_int_eq(chmod(in_dir("p.c"), 0600), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has_not(out, "n = 7");
	has(out, "/p.c is not shown: user 12345, to whom the program belongs, may not read it.\n");
	ck_assert_int_eq(annotate("work", "-j"), 0);
	has_not(out, "n = 7");
	/* that of root's group, and one in a directory of root's */
	ck_assert_int_eq(chmod(in_dir("p.c"), 0640), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has_not(out, "n = 7");
	ck_assert_int_eq(chmod(in_dir("p.c"), 0644), 0);
	ck_assert_int_eq(chmod(dir, 0700), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has_not(out, "n = 7");
	/* one that all may read, and the owner's own */
	ck_assert_int_eq(chmod(dir, 0755), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "n = 7");
	has_not(out, "is not shown");
	ck_assert_int_eq(chmod(in_dir("p.c"), 0600), 0);
	ck_assert_int_eq(chown(in_dir("p.c"), 12345, 12345), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "n = 7");
	/* A program of root's leads to it, too. */
	ck_assert_int_eq(chown(in_dir("p"), 0, 0), 0);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "n = 7");
}
END_TEST

/* Without debugging information there are the instructions. */
START_TEST(no_lines)
{
	build("volatile int n;\nvoid work(void)\n{ n = 7; }\nint main(void)\n{ work(); return 0; }\n",
	      "-g0");
	sample_work(3);
	ck_assert_int_eq(annotate("work"), 0);
	has(out, "\n 100.00%             3    line not known\n");
	samples_are(program_path(), "work", "instructions:u work 0 3\n");
}
END_TEST

/* A symbol of assembly has no size: the function ends where the next one begins. */
START_TEST(function_without_size)
{
	build("asm(\".globl work\\nwork:\\n nop\\n nop\\n ret\\nnext:\\n nop\\n ret\\n\");\n"
	      "int main(void)\n{ return 0; }\n", "");
	sample_work(2);
	samples_are(program_path(), "work", "instructions:u work 0 2\n");
	ck_assert_int_eq(annotate("work", "-v"), 0);
	if (!disassembler_built())
		return;
	has(out, "  ret");
	ck_assert_ptr_null(strstr(strstr(out, "  ret") + 1, "  ret"));
}
END_TEST

/* Data in the code, and samples that are on no instruction's beginning. */
START_TEST(no_instructions)
{
	uint64_t size, at;

#ifdef __x86_64__
	build("asm(\".globl work\\n.type work,@function\\nwork:\\n .byte 0x06\\n nop\\n"
	      " movabs $0x1122334455667788,%rax\\n ret\\n.size work, .-work\\n\");\n"
	      "int main(void)\n{ return 0; }\n", "");
	at = address_in(in_dir("p"), "work", &size);
	begin();
	put_mapping(10, 0, CODE, in_dir("p"));
	put_samples(1, at);
	/* Within the move: there are bytes before, and then what is there. */
	put_samples(4, at + 10);
	end();
	ck_assert_int_eq(annotate("work"), 0);
	if (!disassembler_built())
		return;
	has(out, "  .byte   0x06\n");
	has(out, "  nop\n");
	has(out, "  .byte   0x48\n");
	snprintf(text, sizeof(text), "  80.00%%             4  %12lx  ", (unsigned long)at + 10);
	has(out, text);
#else
	(void)size;
	(void)at;
#endif
}
END_TEST

START_TEST(only_around_samples)
{
	char program[1024];
	size_t len;
	int i;

	len = (size_t)snprintf(program, sizeof(program), "asm(\".globl work\\n.type work,@function\\nwork:\\n");
	for (i = 0; i < 100; i++)
		len += (size_t)snprintf(program + len, sizeof(program) - len, " nop\\n");
	snprintf(program + len, sizeof(program) - len, " ret\\n.size work, .-work\\n\");\n"
		 "int main(void)\n{ return 0; }\n");
	build(program, "");
	sample_work(1);
	ck_assert_int_eq(annotate("work"), 0);
	if (!disassembler_built())
		return;
	has(out, "\n                        ...\n\n 92 instructions without samples are shown with -v.\n");
	has_not(out, "ret");
	ck_assert_int_eq(annotate("work", "-v"), 0);
	has(out, "  ret");
	has_not(out, "...");
}
END_TEST

START_TEST(code_without_bytes)
{
	char map[64];
	FILE *f;

	snprintf(map, sizeof(map), "/tmp/perf-%u.map", (unsigned int)getpid());
	f = fopen(map, "w");
	fputs("7f0000001000 20 made\n", f);
	fclose(f);
	begin();
	put_mapping(getpid(), 0, UINT64_C(0x7f0000000000), UINT64_C(0x7f0000010000), 0, "//anon");
	put_sample(getpid(), getpid(), 1, UINT64_C(0x7f000000101f));
	end();
	ck_assert_int_eq(annotate("made"), 0);
	unlink(map);
	has(out, " made [anon], instructions:u: 1 sample, 100.00% of all\n");
	has(out, disassembler_built() ? "\n The function's instructions are in no file.\n" :
					   "without capstone");
	has(out, " 100.00%             1  7f000000101f\n");
}
END_TEST

/* True if a library is mapped in this process. */
static bool is_mapped(const char *name)
{
	bool found = false;
	char line[1024];
	FILE *f = fopen("/proc/self/maps", "r");

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f))
		found |= !!strstr(line, name);
	fclose(f);
	return found;
}

/* Half of the start-up of a perfex that is linked with capstone is that library's. */
START_TEST(library_is_loaded_when_needed)
{
	if (!disassembler_library)
		return;
	ck_assert(!is_mapped("libcapstone"));
	ck_assert(disassembler_loads());
	ck_assert(is_mapped("libcapstone"));
}
END_TEST

START_TEST(library_is_missing)
{
	uint64_t size, first = address_in(TWO, "first", &size);
	char expected[64];

	if (!disassembler_library)
		return;
	disassembler_library = "libcapstone.so.none";
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_samples(6, first);
	end();
	ck_assert_int_eq(annotate("first"), 0);
	has(out, " perfex disassembles nothing, as libcapstone.so.none is not installed (Debian: libcapstone4 or libcapstone5, Fedora: capstone).\n");
	snprintf(expected, sizeof(expected), " 100.00%%             6  %12lx\n",
		 (unsigned long)first);
	has(out, expected);
}
END_TEST

/* ---- misuse and damage ------------------------------------------------------------------------ */

START_TEST(misuse)
{
	begin();
	end();
	ck_assert_int_eq(annotate(""), 125);
	is_message("--annotate needs the name of a function");
	ck_assert_int_eq(annotate("first", "--sort=symbol"), 125);
	is_message("--annotate cannot be combined with --sort");
	ck_assert_int_eq(annotate("first", "--export=svg"), 125);
	is_message("--annotate cannot be combined");
	ck_assert_int_eq(perfex("--annotate=first", "true"), 125);
	is_message("perfex stat has no --annotate, which is an option of perfex report");
	ck_assert_int_eq(annotate("first"), 125);
	is_message("has no samples in a function 'first'");
	ck_assert_int_eq(annotate("@"), 125);
	is_message("has no samples in a function '@'");
}
END_TEST

/* A program of which one byte is wrong: perfex prints something, or says what it misses. */
START_TEST(damaged_program)
{
	static char program[1 << 18];
	struct reporting o = { .show.style = STYLE_TEXT, .annotate = "first" };
	FILE *f = fopen(TWO, "r"), *null;
	size_t len = fread(program, 1, sizeof(program), f), at, headers = 64 + 56 * 14, i;
	uint64_t size, first = address_in(TWO, "first", &size);
	char path[128];
	struct error e;
	char old;

	fclose(f);
	snprintf(path, sizeof(path), "%s", in_dir("file"));
	begin();
	put_mapping(10, 0, CODE, path);
	put_samples(2, first);
	end();
	o.file = in_dir("s");
	/* All of the headers, and some of the rest: symbols and lines. */
	for (i = 0; i < headers + 1500; i++) {
		at = i < headers ? i : headers + (i - headers) * ((len - headers) / 1500);
		old = program[at];
		program[at] = (char)(i % 3 ? 0xff : old ^ 0x41);
		f = fopen(path, "w");
		fwrite(program, 1, len, f);
		fclose(f);
		program[at] = old;
		null = fopen("/dev/null", "w");
		o.show.style = i % 2 ? STYLE_JSON : STYLE_TEXT;
		report_here(null, &o, &e);
		fclose(null);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-annotate");
	TCase *t = tcase_create("annotate");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, lines_and_instructions);
	tcase_add_test(t, disassembly);
	tcase_add_test(t, inlined_function);
	tcase_add_test(t, filters);
	tcase_add_test(t, functions_of_one_name);
	tcase_add_test(t, names_of_languages);
	tcase_add_test(t, source_is_gone_or_newer);
	tcase_add_test(t, hostile_source);
	tcase_add_test(t, source_of_another);
	tcase_add_test(t, many_large_sources);
	tcase_add_test(t, no_lines);
	tcase_add_test(t, function_without_size);
	tcase_add_test(t, no_instructions);
	tcase_add_test(t, only_around_samples);
	tcase_add_test(t, code_without_bytes);
	tcase_add_test(t, library_is_loaded_when_needed);
	tcase_add_test(t, library_is_missing);
	tcase_add_test(t, misuse);
	tcase_add_test(t, damaged_program);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
