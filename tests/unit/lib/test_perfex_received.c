// SPDX-License-Identifier: GPL-2.0
/*
 * Files of counts and of samples that others have sent: what perfex merge, diff, plot and script
 * print of them cannot command a terminal, and takes bounded time and memory.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vperfctr.h>

#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"
#include "tree.h"

static char text[65536];

/* A terminal would change its title, and go on in red. */
#define COMMANDS	"\x1b]0;title\x07\x1b[31m"

/* Nothing that perfex has printed is a control, but for tabs and the ends of lines. */
static void is_plain(const char *printed)
{
	size_t length;

	for (; *printed; printed += length) {
		length = *printed == '\n' || *printed == '\t' ? 1 : text_length(printed);
		ck_assert_msg(length, "a control %#x", (unsigned char)*printed);
	}
}

/* ---- text that is printed -------------------------------------------------------------------- */

/* JSON has no words but numbers, true, false and null; perf writes no others. */
static const char *const words[] = {
	"{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : " COMMANDS "}\n",
	"{\"counter-value\" : \"1\", \"unit\" : " COMMANDS ", \"event\" : \"a\"}\n",
	"{\"cpu\" : " COMMANDS ", \"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"a\"}\n",
	"{\"thread\" : \"" COMMANDS "\", \"counter-value\" : \"1\", \"unit\" : \"" COMMANDS "\", \"event\" : \"" COMMANDS "\"}\n",
	"{\"counter-value\" : \"1\", \"unit\" : \"\\u001b\\u009b\\u202e\", \"event\" : \"\\ud800\\u0007\"}\n",
	"{\"metric\" : " COMMANDS ", \"metric-value\" : 1, \"metric-unit\" : " COMMANDS "}\n",
};

START_TEST(words_of_counts)
{
	char *a = write_text("a", words[_i]);

	perfex("merge", a, a);
	is_plain(out);
	is_plain(err);
	perfex("merge", "-x,", a);
	is_plain(out);
	perfex("diff", a, a);
	is_plain(out);
	is_plain(err);
	perfex("diff", "-j", a, a);
	is_plain(out);
}
END_TEST

/* "perfex merge /home/USER/" and a star: the names are those of the user. */
START_TEST(names_of_files)
{
	char *few = write_text("few" COMMANDS, "{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"a\"}\n");
	char *many = write_text("many" COMMANDS, "{\"counter-value\" : \"9\", \"unit\" : \"\", \"event\" : \"a\"}\n");

	ck_assert_int_eq(perfex("merge", few, many), 0);
	has(out, "few?]0;");
	is_plain(out);
	ck_assert_int_eq(perfex("merge", "-j", few, many), 0);
	is_plain(out);
	ck_assert_int_eq(perfex("diff", few, many), 0);
	has(out, "few?]0;");
	is_plain(out);
}
END_TEST

/* The path of a mapping, which the recorded program has chosen. */
START_TEST(paths_of_samples)
{
	static const char *const exports[] = { "script", "folded", "svg", "firefox" };
	char export[32], *file;
	unsigned int i;

	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
	put_mapping(10, 0, 0x10000, 0x20000, 0, "/tmp/lib" COMMANDS "\n\t   1 main (/bin/true)");
	put_sample(10, 10, 5, 0x10000);
	put_end(1, (uint64_t []){ 1000 });
	put_close();
	file = strdup(in_dir("s"));
	ck_assert_int_eq(perfex("script", "-i", file), 0);
	is_plain(out);
	has(out, "(/tmp/lib?]0;title??[31m??   1 main (/bin/true))\n");
	for (i = 0; i < ARRAY_SIZE(exports); i++) {
		snprintf(export, sizeof(export), "--export=%s", exports[i]);
		ck_assert_int_eq(perfex("report", "-i", file, export), 0);
		is_plain(out);
	}
	ck_assert_int_eq(perfex("report", "-v", "-i", file, "--sort=dso,symbol,line", "--callers", "--callees"), 0);
	is_plain(out);
	ck_assert_int_eq(perfex("report", "-j", "-i", file, "--sort=dso,symbol,line"), 0);
	is_plain(out);
	ck_assert_int_eq(perfex("diff", file, file), 0);
	is_plain(out);
	free(file);
}
END_TEST

/* ---- numbers ---------------------------------------------------------------------------------- */

/* Numbers that no integer can hold, and sums that no double can. */
START_TEST(numbers)
{
	static const char *const values[] = { "1e300", "-1e300", "-5", "9223372036854775807", "1e19", "-0", "1e-320" };
	char content[256], *a, *b;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(values); i++)
		for (k = 0; k < ARRAY_SIZE(values); k++) {
			snprintf(content, sizeof(content), "{\"counter-value\" : \"%s\", \"unit\" : \"\", \"event\" : \"a\"}\n", values[i]);
			a = write_text("a", content);
			snprintf(content, sizeof(content), "{\"counter-value\" : \"%s\", \"unit\" : \"\", \"event\" : \"a\"}\n", values[k]);
			b = write_text("b", content);
			ck_assert_int_eq(perfex("diff", a, b), 0);
			ck_assert_uint_lt(strlen(out), 300);
			has_not(out, "18,446,744,073,709,551,6");
			has_not(out, "inf");
			ck_assert_int_eq(perfex("diff", "-j", a, b), 0);
			has_not(out, "inf");
			ck_assert_int_eq(perfex("merge", a, b), 0);
			ck_assert_uint_lt(strlen(out), 400);
			has_not(out, "inf");
			ck_assert_int_eq(perfex("merge", "-j", a, b), 0);
			has_not(out, "inf\n");
			has_not(out, "inf,");
			has_not(out, "inf}");
		}
	a = write_text("a", "{\"counter-value\" : \"1.7e308\", \"unit\" : \"\", \"event\" : \"a\"}\n");
	ck_assert_int_eq(perfex("merge", a, a), 125);
	is_message("is no count");
}
END_TEST

/* ---- time and memory -------------------------------------------------------------------------- */

#define MANY		200000

/* Names that are all different: each was compared with all before it. */
START_TEST(many_counts)
{
	FILE *f = fopen(in_dir("many"), "w");
	struct rusage before, after;
	unsigned int i;

	for (i = 0; i < MANY; i++)
		fprintf(f, "{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"a name that begins as others do %u\"}\n", i);
	fclose(f);
	getrusage(RUSAGE_CHILDREN, &before);
	ck_assert_int_eq(perfex("merge", "-x,", (char *)in_dir("many"), "-o", "/dev/null"), 0);
	ck_assert_int_eq(perfex("diff", (char *)in_dir("many"), (char *)in_dir("many"), "-o", "/dev/null"), 0);
	getrusage(RUSAGE_CHILDREN, &after);
	ck_assert_int_lt(after.ru_utime.tv_sec - before.ru_utime.tv_sec, 15);
}
END_TEST

/* More than diff takes, of which the first ones have no value. */
START_TEST(too_many_counts)
{
	char *few = write_text("few", "{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"a\"}\n");
	FILE *f = fopen(in_dir("many"), "w");
	unsigned int i;

	for (i = 0; i <= 1U << 20; i++)
		fprintf(f, "{\"cpu\":%u,\"counter-value\":null,\"event\":\"a%u\"}\n", i >> 10, i & 1023);
	fputs("{\"counter-value\":1,\"event\":\"a\"}\n", f);
	fclose(f);
	ck_assert_int_eq(perfex("diff", few, (char *)in_dir("many")), 125);
	is_message("has too many counts");
}
END_TEST

#define MAX_MEMORY	(400 << 10)	/* KiB; the sanitizer needs as much again */

static void check_memory(void)
{
	struct rusage usage;

	getrusage(RUSAGE_CHILDREN, &usage);
	ck_assert_int_lt(usage.ru_maxrss, MAX_MEMORY);
}

/* A line without end: a hole, which has no bytes on the disk. */
START_TEST(long_line)
{
	char *hole = write_text("hole", "{\"counter-value\" : \"1\", \"unit\" : \"");
	char *counts = write_text("counts", "{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"a\"}\n");

	ck_assert_int_eq(truncate(hole, (off_t)2 << 30), 0);
	ck_assert_int_eq(perfex("merge", counts, hole), 125);
	is_message("hole', line 1, is ");
	ck_assert_int_eq(perfex("diff", counts, hole), 125);
	is_message("hole', line 1, is ");
	ck_assert_int_eq(perfex("plot", hole, "-o", (char *)in_dir("p.svg")), 125);
	is_message("hole', line 1, is ");
	check_memory();
}
END_TEST

/* Put the head of a record whose end is a hole.  Return: where the next one begins */
static off_t put_with_hole(uint32_t type, const void *data, size_t size, uint32_t all, off_t at)
{
	struct record r = { .type = type, .size = all };

	ck_assert_int_eq(fseeko(built, at, SEEK_SET), 0);
	fwrite(&r, sizeof(r), 1, built);
	fwrite(data, size, 1, built);
	return at + all;
}

/* Records of 16 MB with a name or a stack of zeros: some kilobytes of disk are a gigabyte of file. */
START_TEST(holes)
{
	const struct record_mapping map = { .task = { 10, 10, 1 }, .start = 0x10000, .end = 0x20000 };
	const struct record_task task = { 10, 10, 1 };
	const uint32_t most = MAX_RECORD;
	off_t at;
	struct {
		struct record_sample s;
		struct record_user u;
	} sample = {
		{ .size = most - sizeof(struct record), .flags = 1, .pid = 10, .tid = 10, .ip = 0x10000, .tsc = 6,
		  .overflow = 1 },
		{ .mode = VPERFCTR_USER_64, .stack_size = MAX_STACK_OF_SAMPLE },
	};
	struct stat st;
	unsigned int i;

	put_header(in_dir("s"), SAMPLES_STACKS);
	put_event(0, 1000, "instructions:u");
	put_mapping(10, 0, 0x10000, 0x20000, 0, "/tmp/lib");
	put_sample(10, 10, 5, 0x10000);
	at = ftello(built);
	for (i = 0; i < 25; i++) {
		at = put_with_hole(RECORD_MAPPING, &map, sizeof(map), most, at);
		at = put_with_hole(RECORD_COMM, &task, sizeof(task), most, at);
		at = put_with_hole(RECORD_COMMAND, "", 0, most, at);
		at = put_with_hole(RECORD_SAMPLES, &sample, sizeof(sample), most, at);
	}
	ck_assert_int_eq(fseeko(built, at, SEEK_SET), 0);
	put_end(1, (uint64_t []){ 26000 });
	ck_assert_int_eq(ftruncate(fileno(built), ftello(built)), 0);
	put_close();
	ck_assert_int_eq(stat(in_dir("s"), &st), 0);
	ck_assert_int_lt(st.st_blocks, 10000);
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s")), 0);
	has(out, " 26  samples\n");
	check_memory();
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), "--export=perf", "-o", (char *)in_dir("p")), 0);
	check_memory();
	/* No recorder writes a larger stack. */
	sample.u.stack_size += 8;
	built = fopen(in_dir("s"), "r+");
	put_with_hole(RECORD_SAMPLES, &sample, sizeof(sample), most, at - most);
	put_close();
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s")), 125);
	is_message("an impossible stack");
}
END_TEST

/* ---- trees ------------------------------------------------------------------------------------ */

#define NR_PATHS	64

/* Paths that have nothing in common fill a tree: their ends are left out. */
START_TEST(many_paths)
{
	unsigned long count, sum = 0;
	uint64_t chain[40];
	unsigned int i, k;
	char *line;

	put_header(in_dir("s"), SAMPLES_CHAINS);
	put_event(0, 1000, "instructions:u");
	for (i = 0; i < NR_PATHS; i++) {
		snprintf(text, sizeof(text), "/tmp/lib%u", i);
		put_mapping(10, 0, 0x100000 * (i + 1), 0x100000 * (i + 2), 0, text);
	}
	for (i = 0; i < NR_PATHS; i++) {
		for (k = 0; k < ARRAY_SIZE(chain); k++)
			chain[k] = 0x100000 * (1 + (i * 7 + k * k) % NR_PATHS) + 5;
		put_chain(10, 10, 5 + i, 1, 0x100000 * (i + 1), ARRAY_SIZE(chain), chain);
	}
	put_end(1, (uint64_t []){ NR_PATHS * 1000 });
	put_close();
	tree_max_nodes = 500;
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), "--export=folded", "-o", (char *)in_dir("folded")), 0);
	is_message("too many paths of calls");
	slurp("folded", text, sizeof(text));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		ck_assert_ptr_nonnull(strrchr(line, ' '));
		count = strtoul(strrchr(line, ' '), NULL, 10);
		ck_assert_uint_gt(count, 0);
		sum += count;
	}
	ck_assert_uint_eq(sum, NR_PATHS);
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), "--callers", "--callees"), 0);
	has(err, "too many paths of calls");
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s"), "--export=svg"), 0);
	is_message("too many paths of calls");
}
END_TEST

/* ---- pipes ------------------------------------------------------------------------------------- */

/* Another user has put a pipe where root reads.  Only root can make such a pipe here. */
START_TEST(pipe_of_another)
{
	char *counts = write_text("counts", "{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"a\"}\n"), pipe[128];

	snprintf(pipe, sizeof(pipe), "%s", in_dir("pipe"));
	ck_assert_int_eq(mkfifo(pipe, 0666), 0);
	if (geteuid())
		return;
	ck_assert_int_eq(chown(pipe, 12345, 12345), 0);
	ck_assert_int_eq(perfex("merge", counts, pipe), 125);
	is_message("is a pipe of another user");
	ck_assert_int_eq(perfex("diff", counts, pipe), 125);
	is_message("is a pipe of another user");
	ck_assert_int_eq(perfex("plot", pipe, "-o", (char *)in_dir("p.svg")), 125);
	is_message("is a pipe of another user");
	ck_assert_int_eq(perfex("report", "-i", pipe), 125);
	is_message("is a pipe of another user");
	ck_assert_int_eq(perfex("report", "-i", pipe, "--export=perf", "-o", (char *)in_dir("p")), 125);
	is_message("is a pipe of another user");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-received");
	TCase *t = tcase_create("received");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, words_of_counts, 0, ARRAY_SIZE(words));
	tcase_add_test(t, names_of_files);
	tcase_add_test(t, paths_of_samples);
	tcase_add_test(t, numbers);
	tcase_add_test(t, many_counts);
	tcase_add_test(t, too_many_counts);
	tcase_add_test(t, long_line);
	tcase_add_test(t, holes);
	tcase_add_test(t, many_paths);
	tcase_add_test(t, pipe_of_another);
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
