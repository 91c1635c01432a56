// SPDX-License-Identifier: GPL-2.0
/* perfex --report of files that the tests write. */
#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

#define TWO		TMP "/two"
#define KERNEL_IP	UINT64_C(0xffffffff81000000)

static char text[65536];

/* Where the functions of `two` are, and its code: it is not relocated. */
static uint64_t first, second;
#define CODE		UINT64_C(0x400000), UINT64_C(0x404000), UINT64_C(0)

static uint64_t address_of(const char *symbol)
{
	char command[256];
	unsigned long address;
	FILE *f;

	snprintf(command, sizeof(command), "nm " TWO " | grep ' %s$'", symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

static void setup(void)
{
	command_setup();
	first = address_of("first");
	second = address_of("second");
}

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)

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

/* Check that the table of functions is this: lines of share, samples and name. */
static void functions_are(const char *rows)
{
	snprintf(text, sizeof(text), " Functions:\n\n%s\n Lines:\n", rows);
	has(out, text);
}

/* ---- the meaning of records --------------------------------------------------------- */

START_TEST(head)
{
	begin();
	put_mapping(10, 0, CODE, TWO);
	put_sample(10, 10, 5, first);
	end();
	ck_assert_int_eq(report(), 0);
	ck_assert_str_eq(err, "");
	has(out, "\n Samples of 'two x' (one each 1,000 instructions:u):\n\n"
		 "                   1  samples\n                   0  dropped\n"
		 "             123,456  instructions:u\n         2.000000000  seconds thread time\n");
	functions_are(" 100.00%             1  first [two]\n");
	has(out, "two.c:11  first\n");
}
END_TEST

/* A process has its parent's mappings until it executes a file; threads share them. */
START_TEST(fork_and_exec)
{
	begin();
	put_mapping(10, 0, CODE, TWO);
	/* In the file, samples are before the records that they need. */
	put_sample(11, 11, 25, first);
	put_sample(11, 11, 35, first);
	put_sample(11, 11, 45, second);
	put_sample(10, 12, 50, second);
	put_sample(10, 10, 55, first);
	put_task(RECORD_EXEC, 11, 11, 30, "other");
	put_fork(10, 12, 10, 10, 10);
	put_fork(11, 11, 20, 10, 10);
	put_mapping(11, 40, CODE, TWO);
	/* There is no record of this process. */
	put_sample(13, 13, 60, first);
	/* Later mappings of the parent are not the child's. */
	put_fork(14, 14, 70, 13, 13);
	put_mapping(13, 80, CODE, TWO);
	put_sample(14, 14, 90, first);
	put_sample(13, 13, 90, first);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  37.50%             3  [unknown]\n"
		      "  37.50%             3  first [two]\n"
		      "  25.00%             2  second [two]\n");
}
END_TEST

START_TEST(latest_mapping)
{
	begin();
	put_mapping(10, 20, CODE, "/gone/library.so");
	put_mapping(10, 10, CODE, TWO);
	put_sample(10, 10, 5, first);
	put_sample(10, 10, 15, first);
	put_sample(10, 10, 25, 0x401234);
	/* At the same time, the order is that of the file. */
	put_sample(10, 10, 30, 0x400010);
	put_mapping(10, 30, 0x400000, 0x401000, 0x7000, "/gone/data");
	put_sample(10, 10, 30, 0x400010);
	put_sample(10, 10, 31, 0x401000);
	end();
	ck_assert_int_eq(report(), 0);
	functions_are("  16.67%             1  [data]+0x7010\n"
		      "  16.67%             1  [library.so]+0x10\n"
		      "  16.67%             1  [library.so]+0x1000\n"
		      "  16.67%             1  [library.so]+0x1234\n"
		      "  16.67%             1  [unknown]\n"
		      "  16.67%             1  first [two]\n");
}
END_TEST

START_TEST(kernel_is_one_place)
{
	begin();
	put_sample(10, 10, 5, KERNEL_IP);
	put_sample(10, 10, 5, KERNEL_IP + 77);
	put_chain(10, 10, 5, 1, KERNEL_IP + 8, 2, (uint64_t []){ KERNEL_IP + 20, first });
	end();
	ck_assert_int_eq(report(), 0);
	functions_are(" 100.00%             3  [kernel]\n");
}
END_TEST

START_TEST(several_events)
{
	begin();
	put_event(3, 50, "cache-misses:u");
	put_mapping(10, 0, CODE, TWO);
	put_chain(10, 10, 5, 1, first, 0, NULL);
	put_chain(10, 10, 6, 1, first, 0, NULL);
	put_chain(10, 10, 7, 8, second, 0, NULL);
	put_chain(10, 10, 8, 9, second, 0, NULL);
	put_end(2, (uint64_t []){ 3333, 111 });
	put_close();
	ck_assert_int_eq(report(), 0);
	has(out, " Samples of 'two x':\n\n                   5  samples\n");
	has(out, "               3,333  instructions:u, 3 samples, one each 1,000\n"
		 "                 111  cache-misses:u, 2 samples, one each 50\n");
	has(out, " Functions, instructions:u:\n\n  66.67%             2  first [two]\n"
		 "  33.33%             1  second [two]\n");
	has(out, " Functions, cache-misses:u:\n\n 100.00%             2  second [two]\n");
	has(out, " Lines, cache-misses:u:\n");
}
END_TEST

/* ---- bad files -------------------------------------------------------------------- */

static size_t load(char *buf)
{
	FILE *f = fopen(in_dir("s"), "r");
	size_t n = fread(buf, 1, sizeof(text), f);

	fclose(f);
	return n;
}

static void store(const char *buf, size_t len)
{
	FILE *f = fopen(in_dir("s"), "w");

	ck_assert_uint_eq(fwrite(buf, 1, len, f), len);
	fclose(f);
}

/* Report in this process: there are thousands of files. */
static int try_report(struct error *e)
{
	FILE *null = fopen("/dev/null", "w");
	int ret = report_samples(null, in_dir("s"), true, e);

	fclose(null);
	return ret;
}

static void write_all_records(void)
{
	begin();
	put_mapping(10, 1, CODE, "/gone");
	put_task(RECORD_COMM, 10, 10, 2, "name");
	put_fork(11, 11, 3, 10, 10);
	put_task(RECORD_EXEC, 11, 11, 4, "new");
	put_chain(10, 10, 5, 1, first, 2, (uint64_t []){ second, 7 });
	put_task(RECORD_EXIT, 11, 11, 6, NULL);
	put_record(99, "unknown", 8, NULL);
	end();
}

START_TEST(truncated_file)
{
	size_t len, n;
	struct error e;

	write_all_records();
	len = load(text);
	for (n = 0; n < len; n++) {
		store(text, n);
		ck_assert_int_eq(try_report(&e), n < sizeof(struct samples_header) ? -1 : 0);
	}
	store(text, len - 8);
	ck_assert_int_eq(report(), 0);
	has(out, "The recording was cut off");
	has(out, "[gone]+0x");
}
END_TEST

START_TEST(damaged_file)
{
	static const unsigned char values[] = { 0, 1, 0x7f, 0x80, 0xff };
	size_t len, n, i;
	struct error e;
	char old;

	write_all_records();
	len = load(text);
	for (n = 0; n < len; n++)
		for (i = 0; i < ARRAY_SIZE(values); i++) {
			old = text[n];
			text[n] = (char)values[i];
			store(text, len);
			text[n] = old;
			if (try_report(&e))
				ck_assert_msg(strstr(e.text, in_dir("s")) && !strchr(e.text, '\n'),
					      "byte %zu: %s", n, e.text);
		}
}
END_TEST

#define NR_WRONG	12

/* Write record number i of those that each reader must refuse. */
static const char *put_wrong_record(int i)
{
	struct { struct record_sample r; uint64_t chain[2]; } s = {
		.r = { .size = sizeof(struct record_sample), .pid = 1, .tid = 1 },
	};
	struct { struct record_end r; uint64_t count; } e = { .r = { .nr = 1 } };
	struct { struct record_event r; char name[8]; } event = { .r = { .counter = 1 } };
	struct { struct record_task r; char name[8]; } task = { .r = { 1, 1, 1 } };
	const char *samples = "samples of another size";

	memset(event.name, 'x', sizeof(event.name));
	memset(task.name, 'x', sizeof(task.name));
	switch (i) {
	case 0:
		s.r.size = 0;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 1:
		s.r.size = sizeof(s) + 8;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 2:
		s.r.size = sizeof(s) - 4;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 3:
		s.r.nr = 1;
		put_record(RECORD_SAMPLES, &s, sizeof(s.r), NULL);
		return samples;
	case 4:
		s.r.nr = MAX_CHAIN + 1;
		put_record(RECORD_SAMPLES, &s, sizeof(s), NULL);
		return samples;
	case 5:
		e.r.nr = UINT64_MAX / 8;
		put_record(RECORD_END, &e, sizeof(e), NULL);
		return "a short end";
	case 6:
		put_event(0, 1, "again");
		return "two events of one counter";
	case 7:
		put_event(64, 1, "beyond");
		return "an impossible event";
	case 8:
		put_record(RECORD_EVENT, &event, sizeof(event), NULL);
		return "an event without a name";
	case 9:
		put_record(RECORD_COMM, &task, sizeof(task), NULL);
		return "a task without a name";
	case 10:
		put_record(RECORD_FORK, &task, sizeof(task.r), NULL);
		return "a short record of a task";
	default:
		put_mapping(1, 1, 0x2000, 0x1000, 0, "/x");
		return "an impossible mapping";
	}
}

START_TEST(wrong_record)
{
	const char *message;

	begin();
	message = put_wrong_record(_i);
	put_close();
	ck_assert_int_eq(report(), 125);
	snprintf(text, sizeof(text), "is damaged: %s at byte ", message);
	is_message(text);
}
END_TEST

/* Text that a terminal would obey. */
START_TEST(hostile_text)
{
	put_header(in_dir("s"), 0);
	put_record(RECORD_COMMAND, NULL, 0, "a\033[2Jb");
	put_event(0, 1000, "e\033v");
	put_mapping(10, 0, CODE, "/x/\033[1m");
	put_task(RECORD_COMM, 10, 10, 0, "\033c");
	put_sample(10, 10, 1, 0x400010);
	end();
	ck_assert_int_eq(report(), 0);
	has_not(out, "\033");
	has(out, " [?[1m]+0x10\n");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-report");
	TCase *t = tcase_create("report");

	tcase_add_checked_fixture(t, setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, head);
	tcase_add_test(t, fork_and_exec);
	tcase_add_test(t, latest_mapping);
	tcase_add_test(t, kernel_is_one_place);
	tcase_add_test(t, several_events);
	tcase_add_test(t, truncated_file);
	tcase_add_test(t, damaged_file);
	tcase_add_loop_test(t, wrong_record, 0, NR_WRONG);
	tcase_add_test(t, hostile_text);
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
