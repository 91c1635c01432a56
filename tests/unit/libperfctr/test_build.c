// SPDX-License-Identifier: LGPL-2.1-or-later
/* Tests of what is built and installed: symbols, headers, and use beside libvperfctr. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARN	" -Wall -Wextra -Wshadow -Werror "
#define CC	"${CC:-cc}" WARN
#define CXX	"${CXX:-c++}" WARN
#define OLD	" -I" TOP "libperfctr/include "
#define NEW	" -I" TOP "lib/include -I" TOP "include/uapi "

static char text[65536];

/* Run the command and return its output. */
static const char *output_of(const char *command)
{
	FILE *f = popen(command, "r");
	size_t n = fread(text, 1, sizeof(text) - 1, f);

	text[n] = '\0';
	ck_assert_msg(!pclose(f), "failed: %s\n%s", command, text);
	return text;
}

static void write_source(const char *name, const char *source)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), TMP "/%s", name);
	f = fopen(path, "w");
	fputs(source, f);
	fclose(f);
}

#define MAP	"sed -n 's/^\t\t\\([_a-z]*\\);$/\\1/p' " TOP "libperfctr/libperfctr.map | LC_ALL=C sort"

START_TEST(exported)
{
	char map[8192];

	snprintf(map, sizeof(map), "%s", output_of(MAP));
	ck_assert_int_gt(strlen(map), 500);
	ck_assert_str_eq(output_of("nm -D --defined-only " LIB "/libperfctr.so | "
				   "sed -n 's/.* T \\(.*\\)@@PERFCTR_2\\.6$/\\1/p' | LC_ALL=C sort"),
			 map);
	ck_assert_str_eq(output_of("nm -D --defined-only " LIB "/libperfctr.so | "
				   "grep -v ' T .*@@PERFCTR_2\\.6$' | grep -v ' A PERFCTR_2\\.6$' || true"),
			 "");
	/* all functions that the header declares, except inline ones */
	ck_assert_str_eq(output_of("sed -n 's/^[a-z_][^(]*[ *]\\([_a-z]*perfctr_[_a-z]*\\)(.*/\\1/p' "
				   TOP "libperfctr/include/libperfctr.h | "
				   "grep -v '^perfctr_abi_check_fd$' | LC_ALL=C sort"), map);
	/* no symbol of the static library is exported from what is linked with it */
	ck_assert_str_eq(output_of("readelf -sW " LIB "/libperfctr.a | "
				   "awk '$5 == \"GLOBAL\" && $7 != \"UND\" && $6 != \"HIDDEN\"'"), "");
	/* the archive has the same interface in one object, as some programs extract it */
	ck_assert_str_eq(output_of("nm --defined-only " LIB "/libperfctr.a | "
				   "sed -n 's/^[^ ]* [A-Z] //p' | LC_ALL=C sort"), map);
	ck_assert_str_eq(output_of("ar t " LIB "/libperfctr.a"), "libperfctr.o\n");
}
END_TEST

/* A 32-bit program has offsets of 64 bits. */
START_TEST(large_files)
{
	ck_assert_str_eq(output_of("nm -u " LIB "/libperfctr.so | sed 's/^ *[Uw] //; s/@.*//' | "
				   "grep -Ex 'open|openat|fopen|mmap|pread|l?stat|fstat' || true"), "");
	ck_assert_str_ne(output_of("nm -u " LIB "/libperfctr.so | grep 'open64' || true"), "");
}
END_TEST

START_TEST(soname)
{
	ck_assert_ptr_nonnull(strstr(output_of("readelf -d " LIB "/libperfctr.so"),
				     "Library soname: [libperfctr.so.0]"));
	ck_assert_str_eq(output_of("readelf -d " LIB "/libperfctr.so | grep NEEDED | "
				   "grep -v 'libc\\.so' || true"), "");
	ck_assert_ptr_nonnull(strstr(output_of("PKG_CONFIG_PATH=" LIB " pkg-config --libs libperfctr"),
				     "-lperfctr"));
}
END_TEST

static const char *const compilers[] = {
	CC "-x c -std=c89 -pedantic",
	CC "-x c -std=c89 -pedantic -m32",
	CC "-x c -std=gnu17",
	CXX "-x c++ -std=c++98 -pedantic",
	CXX "-x c++ -std=c++17 -pedantic -m32",
};

/* Each header compiles, included twice and alone, and can be used. */
START_TEST(headers)
{
	static const char *const names[] = { "libperfctr.h", "linux/perfctr.h", "asm/perfctr.h" };
	char command[8192];
	unsigned int i;

	write_source("header.c",
		     "#include HEADER\n#include HEADER\n"
		     "int f(struct perfctr_cpu_control *c);\n"
		     "int f(struct perfctr_cpu_control *c) { c->p4.escr[17] = 1; c->evntsel_high[17] = PERFCTR_X86_INTEL_SNB;\n"
		     "c->nhlm.offcore_rsp[1] = sizeof(*c); return c->ireset[17]; }\n"
		     "#ifdef __LIB_PERFCTR_H\n"
		     "int g(struct vperfctr *v, struct vperfctr_control *c);\n"
		     "int g(struct vperfctr *v, struct vperfctr_control *c)\n"
		     "{ struct perfctr_info i; c->flags = VPERFCTR_CONTROL_CLOEXEC;\n"
		     "return vperfctr_control(v, c) + vperfctr_info(v, &i) + perfctr_abi_check_fd(0); }\n"
		     "#endif\n");
	for (i = 0; i < 3; i++) {
		snprintf(command, sizeof(command),
			 "%s" OLD "-DHEADER='\"%s\"' -c -o /dev/null " TMP "/header.c 2>&1",
			 compilers[_i], names[i]);
		output_of(command);
	}
}
END_TEST

/* Including both interfaces in one file is an error with a reason. */
START_TEST(both_headers)
{
	ck_assert_ptr_nonnull(strstr(
		output_of("printf '#include <vperfctr.h>\\n#include <libperfctr.h>\\n' | " CC OLD NEW
			  "-x c -fsyntax-only - 2>&1 || true"), "include one of them"));
}
END_TEST

/*
 * A process with both libraries, which have functions of the same names: each caller gets
 * its own library's.  Otherwise vperfctr_open() of libvperfctr would return 0 or a pointer,
 * and that of libperfctr an error number instead of NULL.
 */
static const char *const links[] = {
	"-lperfctr -luser -lvperfctr",
	"-luser -lvperfctr -lperfctr",
	LIB "/libperfctr.a -luser -lvperfctr",
	"-luser -lvperfctr " LIB "/libperfctr.a",
	LIB "/libperfctr.a -luser_a",
	"-luser_a " LIB "/libperfctr.a",
	"-luser_a -lperfctr",
};

START_TEST(one_process)
{
	char command[8192];

	write_source("user.c",
		     "#include <vperfctr.h>\n"
		     "int new_works(void);\n"
		     "int new_works(void) { struct vperfctr *v; struct vperfctr_info i;\n"
		     "return vperfctr_open(&v, VPERFCTR_OPEN_TRANSIENT) < 0 && !v &&\n"
		     "vperfctr_open_fd(&v, -1, 0) == -9 && vperfctr_info(&i, 1000) < 0; }\n");
	write_source("old.c",
		     "#include <libperfctr.h>\n#include <errno.h>\n#include <stdio.h>\n"
		     "int new_works(void);\n"
		     "int main(void) { struct perfctr_info i; errno = 0;\n"
		     "if (!new_works()) return 1;\n"
		     "if (vperfctr_open_mode(99) || errno != EINVAL) return 2;\n"
		     "if (perfctr_info(-1, &i) != -1 || errno != EBADF) return 3;\n"
		     "vperfctr_close(NULL); return 0; }\n");
	snprintf(command, sizeof(command),
		 "{ cd " TMP " && " CC NEW "-fPIC -shared -o libuser.so user.c -L" LIB " -lvperfctr && "
		 CC NEW "-fPIC -shared -Wl,-Bsymbolic -o libuser_a.so user.c " LIB "/libvperfctr.a && "
		 CC OLD "-o old old.c -L. -L" LIB " %s && LD_LIBRARY_PATH=.:" LIB " ./old; } 2>&1",
		 links[_i]);
	output_of(command);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("libperfctr build");
	TCase *tc = tcase_create("libperfctr build");
	SRunner *runner = srunner_create(suite);

	tcase_set_timeout(tc, 60);
	suite_add_tcase(suite, tc);
	tcase_add_test(tc, exported);
	tcase_add_test(tc, large_files);
	tcase_add_test(tc, soname);
	tcase_add_loop_test(tc, headers, 0, sizeof(compilers) / sizeof(compilers[0]));
	tcase_add_test(tc, both_headers);
	tcase_add_loop_test(tc, one_process, 0, sizeof(links) / sizeof(links[0]));
	srunner_run_all(runner, CK_NORMAL);
	return srunner_ntests_failed(runner) ? EXIT_FAILURE : EXIT_SUCCESS;
}
