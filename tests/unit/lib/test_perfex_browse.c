// SPDX-License-Identifier: GPL-2.0
/* perfex report on a terminal: what it shows, and what keys do. */
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

#define CALLS		TMP "/calls"

#define LINES_OF_TERMINAL	60
#define COLUMNS			140

static char printed[1 << 18];	/* all since the last key */
static size_t nrprinted;
static char screen[LINES_OF_TERMINAL * (COLUMNS + 1) + 1];	/* its lines */
static char cells[LINES_OF_TERMINAL][COLUMNS];
static int row, column;
static int master;
static pid_t browser;

static uint64_t address_of(const char *symbol)
{
	unsigned long address = 0;
	char command[256];
	FILE *f;

	snprintf(command, sizeof(command), "nm %s | sed -n 's/ T %s$//p'", CALLS, symbol);
	f = popen(command, "r");
	ck_assert_int_eq(fscanf(f, "%lx", &address), 1);
	pclose(f);
	return address;
}

/* Samples in a function that another one has called from main(). */
static void put_calls(const char *function, const char *caller, unsigned int nr)
{
	const uint64_t chain[] = { address_of(caller) + 6, address_of("main") + 6 };

	while (nr--)
		put_chain(10, 10, 5, 1, address_of(function), 2, chain);
}

static void write_samples(void)
{
	put_header(in_dir("s"), SAMPLES_CHAINS);
	put_record(RECORD_COMMAND, NULL, 0, "calls x");
	put_event(0, 1000, "instructions:u");
	put_mapping(10, 0, 0x400000, 0x404000, 0, CALLS);
	put_calls("ten", "left", 6);
	put_calls("ten", "middle", 3);
	put_calls("twenty", "left", 1);
	put_end(1, (uint64_t []){ 10000 });
	put_close();
}

/* ---- a terminal: the commands of a VT100 that ncurses uses ------------------------------------ */

static void clear_cells(int from_row, int from_column, int to_row, int to_column)
{
	int i, from = from_row * COLUMNS + from_column, to = to_row * COLUMNS + to_column;

	for (i = from; i < to; i++)
		cells[i / COLUMNS][i % COLUMNS] = ' ';
}

static void move_cursor(int to_row, int to_column)
{
	row = to_row < 0 ? 0 : to_row >= LINES_OF_TERMINAL ? LINES_OF_TERMINAL - 1 : to_row;
	column = to_column < 0 ? 0 : to_column >= COLUMNS ? COLUMNS - 1 : to_column;
}

static void obey(char command, int first, int second)
{
	const int n = first ? first : 1;

	switch (command) {
	case 'H':
		move_cursor(n - 1, second ? second - 1 : 0);
		break;
	case 'A':
		move_cursor(row - n, column);
		break;
	case 'B':
		move_cursor(row + n, column);
		break;
	case 'C':
		move_cursor(row, column + n);
		break;
	case 'D':
		move_cursor(row, column - n);
		break;
	case 'J':
		clear_cells(first == 2 ? 0 : row, first == 2 ? 0 : column, LINES_OF_TERMINAL, 0);
		break;
	case 'K':
		clear_cells(row, first ? 0 : column, row, first == 1 ? column + 1 : COLUMNS);
		break;
	}
}

static void show(char c)
{
	static int state, number[2], nr;

	if (state == 1) {
		state = c == '[' ? 2 : c == '(' || c == ')' ? 3 : 0;
		number[0] = number[1] = nr = 0;
	} else if (state == 2 && c >= '0' && c <= '9') {
		number[nr] = number[nr] * 10 + (c - '0');
	} else if (state == 2 && (c == ';' || c == '?')) {
		nr = c == ';';
	} else if (state) {
		if (state == 2)
			obey(c, number[0], number[1]);
		state = 0;
	} else if (c == '\033') {
		state = 1;
	} else if (c == '\r') {
		column = 0;
	} else if (c == '\n') {
		move_cursor(row + 1, column);
	} else if (c == '\b') {
		move_cursor(row, column - 1);
	} else if ((unsigned char)c >= ' ') {
		cells[row][column] = c;
		move_cursor(row, column + 1);
	}
}

/* Make the text of all lines, without the spaces at their ends. */
static void make_screen(void)
{
	int i, length;
	char *to = screen;

	for (i = 0; i < LINES_OF_TERMINAL; i++) {
		for (length = COLUMNS; length && cells[i][length - 1] == ' ';)
			length--;
		memcpy(to, cells[i], (size_t)length);
		to[length] = '\n';
		to += length + 1;
	}
	*to = '\0';
}

/* ---- keys --------------------------------------------------------------------------------- */

/* Read until the screen has the text; NULL: until the end. */
static void wait_for_text(const char *expected)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	ssize_t n, i;

	for (;;) {
		make_screen();
		printed[nrprinted] = '\0';
		if (expected && strstr(screen, expected))
			return;
		ck_assert_msg(poll(&p, 1, 20000) > 0, "'%s' is not shown, but: %s",
			      expected ? expected : "the end", screen);
		n = read(master, printed + nrprinted, sizeof(printed) - 1 - nrprinted);
		if (n <= 0) {
			ck_assert_msg(!expected, "it ended without '%s': %s", expected, screen);
			return;
		}
		for (i = 0; i < n; i++)
			show(printed[nrprinted + (size_t)i]);
		nrprinted += (size_t)n;
	}
}

static void press(const char *keys)
{
	nrprinted = 0;
	ck_assert_int_eq(write(master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static void open_report(const char *option)
{
	struct winsize size = { .ws_row = LINES_OF_TERMINAL, .ws_col = COLUMNS };

	nrprinted = 0;
	clear_cells(0, 0, LINES_OF_TERMINAL, 0);
	move_cursor(0, 0);
	fflush(NULL);
	browser = forkpty(&master, NULL, NULL, &size);
	ck_assert_int_ge(browser, 0);
	if (!browser)
		exit(perfex_main(option ? 5 : 4, ARGV("report", "-i", (char *)in_dir("s"),
						      (char *)option)));
}

static int end_report(void)
{
	int status;

	wait_for_text(NULL);
	close(master);
	ck_assert_int_eq(waitpid(browser, &status, 0), browser);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void shows(const char *text)
{
	ck_assert_msg(!!strstr(screen, text), "'%s' is not shown, but: %s", text, screen);
}

static void setup(void)
{
	command_setup();
	setenv("TERM", "vt100", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	write_samples();
}

/* ---- what is shown --------------------------------------------------------------------------- */

START_TEST(functions_open)
{
	open_report(NULL);
	wait_for_text("q: end\n");
	shows("instructions:u: 10 samples of 'calls x'\n   self       samples\n"
	      " 90.00%             9  ten [calls]\n 10.00%             1  twenty [calls]\n\n");
	/* The head opens nothing. */
	press("k\r");
	wait_for_text("This line opens nothing.\n");
	press("j\r");
	wait_for_text("ten [calls]: 90.00% self, 90.00% with what it called, of instructions:u\n\n"
		      "Callers:\n 60.00%  left [calls]\n 30.00%  middle [calls]\n\n");
	wait_for_text("q: end\n");
	ck_assert_ptr_null(strstr(screen, "Callees:"));
	shows(" Lines:\n");
	shows("  NOT_INLINED void ten(void) { n += 10; }\n");
	shows(" Instructions:\n");
	/* A caller opens, too; it has no samples of its own. */
	press("/left\r\r");
	wait_for_text("left [calls]: 0.00% self, 70.00% with what it called, of instructions:u\n\n"
		      "Callers:\n 70.00%  main [calls]\n\n"
		      "Callees:\n 60.00%  ten [calls]\n 10.00%  twenty [calls]\n");
	wait_for_text("has no samples in a function");
	press("\033");
	wait_for_text("ten [calls]: 90.00% self");
	press("\033");
	wait_for_text("10 samples of 'calls x'");
	press("c");
	wait_for_text("   all     self       samples\n100.00%    0.00%            10  main [calls]\n"
		      " 90.00%   90.00%             9  ten [calls]\n");
	press("/no such\r");
	wait_for_text("There is no such line.\n");
	press("\014");
	wait_for_text("q: end\n");
	press("q");
	ck_assert_int_eq(end_report(), 0);
}
END_TEST

/* Text is for what is no terminal, and where it is asked for. */
START_TEST(text_instead)
{
	open_report("--stdio");
	ck_assert_int_eq(end_report(), 0);
	ck_assert_ptr_nonnull(strstr(printed, "  90.00%             9  ########################  ten [calls]\r\n"));
	ck_assert_int_eq(perfex("report", "-i", (char *)in_dir("s")), 0);
	ck_assert_ptr_nonnull(strstr(out, "  90.00%             9  ten [calls]\n"));
	ck_assert_str_eq(err, "");
	setenv("TERM", "none", 1);
	open_report(NULL);
	ck_assert_int_eq(end_report(), 0);
	ck_assert_ptr_nonnull(strstr(printed, "perfex: this report is text, as ncurses does not know this terminal (TERM)"));
	ck_assert_ptr_nonnull(strstr(printed, "  ten [calls]\r\n"));
}
END_TEST

/* The terminal is as it was before. */
START_TEST(ends_by_signal)
{
	struct termios terminal;
	int status;

	open_report(NULL);
	wait_for_text("q: end\n");
	ck_assert_int_eq(tcgetattr(master, &terminal), 0);
	ck_assert(!(terminal.c_lflag & ECHO));
	press("\003");
	ck_assert_int_eq(waitpid(browser, &status, 0), browser);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	ck_assert_int_eq(tcgetattr(master, &terminal), 0);
	ck_assert((terminal.c_lflag & ECHO) && (terminal.c_lflag & ICANON));
	close(master);
}
END_TEST

/* The child that shows the list ends as if it were killed for its memory. */
START_TEST(child_is_killed)
{
	struct termios terminal;
	char path[64];
	int child = 0;
	FILE *f;

	open_report(NULL);
	wait_for_text("q: end\n");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)browser, (int)browser);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%d", &child), 1);
	fclose(f);
	nrprinted = 0;
	ck_assert_int_eq(kill(child, SIGKILL), 0);
	wait_for_text("ended by signal 9");
	ck_assert_int_eq(tcgetattr(master, &terminal), 0);
	ck_assert((terminal.c_lflag & ECHO) && (terminal.c_lflag & ICANON));
	ck_assert_int_eq(end_report(), 125);
}
END_TEST

/* ---- perfex top ------------------------------------------------------------------------------ */

/* Each interval has a table, with the event's rate; -A and the like are for counts. */
static unsigned int tables_of_top(const char *seconds)
{
	const char *table = out;
	unsigned int tables = 0;
	char timeout[30];

	snprintf(timeout, sizeof(timeout), "--timeout=%ss", seconds);
	ck_assert_int_eq(perfex("top", "-a", "-e", "cycles:u=1k", "-I", "50", timeout), 0);
	ck_assert_str_eq(err, "");
	while ((table = strstr(table, "cycles:u: "))) {
		ck_assert_ptr_nonnull(strstr(table, "/sec, "));
		ck_assert_ptr_nonnull(strstr(table, " samples in "));
		ck_assert_ptr_nonnull(strstr(table, "   self       samples\n"));
		table++;
		tables++;
	}
	return tables;
}

START_TEST(top_of_functions)
{
	/* On a busy machine, the first time may end before the second table. */
	ck_assert(tables_of_top("0.3") >= 2 || tables_of_top("3") >= 2 || tables_of_top("30") >= 2);
	ck_assert_int_eq(perfex("top", "-a", "-A", "-e", "cycles:u", "-I", "50", "--timeout=0.2s"), 0);
	ck_assert_ptr_null(strstr(out, " samples in "));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-browse");
	TCase *t = tcase_create("browse");

	tcase_add_checked_fixture(t, setup, command_teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, functions_open);
	tcase_add_test(t, text_instead);
	tcase_add_test(t, ends_by_signal);
	tcase_add_test(t, child_is_killed);
	tcase_add_test(t, top_of_functions);
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
