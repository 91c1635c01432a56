// SPDX-License-Identifier: GPL-2.0
/*
 * The interactive report: a list of functions, each of which opens into its callers, its callees,
 * its lines and its instructions.  ncurses is loaded for it, if perfex was built with its header.
 */
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <wchar.h>

#include "browse.h"

#ifdef HAVE_CURSES
/* The macros use variables of the library, which is not linked. */
#define NCURSES_NOMACROS 1
#include <curses.h>

#include "library.h"

#define LIBRARY		"libncursesw.so.6"
#define MAX_DEPTH	64	/* of views */
#define MAX_TEXT	64	/* of what is searched for */
#define ESCAPE		27
#define KEY_TAB		'\t'
#define CTRL_C		3
#define CTRL_L		12
#define CTRL_Z		26

static struct {
	typeof(&newterm) newterm;
	typeof(&delscreen) delscreen;
	typeof(&endwin) endwin;
	typeof(&newwin) newwin;
	typeof(&raw) raw;
	typeof(&noecho) noecho;
	typeof(&keypad) keypad;
	typeof(&curs_set) curs_set;
	typeof(&set_escdelay) set_escdelay;
	typeof(&wgetch) wgetch;
	typeof(&wmove) wmove;
	typeof(&waddnstr) waddnstr;
	typeof(&wattrset) wattrset;
	typeof(&werase) werase;
	typeof(&wrefresh) wrefresh;
	typeof(&wclear) wclear;
	typeof(&getmaxx) getmaxx;
	typeof(&getmaxy) getmaxy;
} curses;

static bool load(void)
{
	static const struct library_symbol symbols[] = {
		{ (void **)&curses.newterm, "newterm" },
		{ (void **)&curses.delscreen, "delscreen" },
		{ (void **)&curses.endwin, "endwin" },
		{ (void **)&curses.newwin, "newwin" },
		{ (void **)&curses.raw, "raw" },
		{ (void **)&curses.noecho, "noecho" },
		{ (void **)&curses.keypad, "keypad" },
		{ (void **)&curses.curs_set, "curs_set" },
		{ (void **)&curses.set_escdelay, "set_escdelay" },
		{ (void **)&curses.wgetch, "wgetch" },
		{ (void **)&curses.wmove, "wmove" },
		{ (void **)&curses.waddnstr, "waddnstr" },
		{ (void **)&curses.wattrset, "wattrset" },
		{ (void **)&curses.werase, "werase" },
		{ (void **)&curses.wrefresh, "wrefresh" },
		{ (void **)&curses.wclear, "wclear" },
		{ (void **)&curses.getmaxx, "getmaxx" },
		{ (void **)&curses.getmaxy, "getmaxy" },
	};

	return library_load(LIBRARY, symbols, ARRAY_SIZE(symbols));
}

struct browser {
	struct profile *p;
	const struct reporting *o;
	WINDOW *window;
	struct view views[MAX_DEPTH];
	unsigned int depth;	/* of the one that is shown */
	unsigned int event;
	bool children;
	bool interrupted;
	char searched[MAX_TEXT];
	const char *message;	/* at the bottom, until the next key */
};

static const char keys[] = " Enter: open  Esc: back  /: search  n: next  c: with called functions  q: end";

static struct view *shown(struct browser *b)
{
	return &b->views[b->depth];
}

static int height(const struct browser *b)
{
	const int lines = curses.getmaxy(b->window) - 2;

	return lines > 0 ? lines : 1;
}

/* ---- the screen ----------------------------------------------------------------------------- */

/* Some characters have two columns, and some none. */
static int columns_of(const char *text, size_t length)
{
	wchar_t c;

	return length > 1 && mbtowc(&c, text, length) > 0 && wcwidth(c) >= 0 ? wcwidth(c) : 1;
}

/* Print what fits, and leave the last column free: a full one moves some terminals' cursor. */
static void print_at(const struct browser *b, int y, const char *text, attr_t attributes)
{
	const int width = curses.getmaxx(b->window) - 1;
	size_t length, n = 0;
	int columns = 0;

	while (text[n]) {
		length = text_length(text + n);
		columns += columns_of(text + n, length);
		if (columns > width)
			break;
		n += length ? length : 1;
	}
	curses.wattrset(b->window, (int)attributes);
	curses.wmove(b->window, y, 0);
	curses.waddnstr(b->window, text, (int)n);
	curses.wattrset(b->window, A_NORMAL);
}

static void draw(struct browser *b)
{
	struct view *v = shown(b);
	const size_t lines = (size_t)height(b);
	size_t i;

	if (v->at < v->top)
		v->top = v->at;
	if (v->at >= v->top + lines)
		v->top = v->at - lines + 1;
	curses.werase(b->window);
	print_at(b, 0, v->title, A_BOLD);
	for (i = v->top; i < v->nr && i < v->top + lines; i++)
		print_at(b, (int)(i - v->top) + 1, v->lines[i].text,
			 i == v->at ? A_REVERSE : A_NORMAL);
	print_at(b, (int)lines + 1, b->message ? b->message : keys, A_DIM);
	curses.wrefresh(b->window);
	b->message = NULL;
}

/* ---- what keys do ---------------------------------------------------------------------------- */

static int open_list(struct browser *b, struct error *e)
{
	while (b->depth)
		view_free(&b->views[b->depth--]);
	view_free(&b->views[0]);
	if (view_list(&b->views[0], b->p, b->event, b->children, b->o, e))
		return -1;
	/* The first line is the head. */
	b->views[0].at = b->views[0].nr > 1;
	return 0;
}

/*
 * To read a file may take more than perfex may use, which ends this process: the terminal is left
 * as it was before.
 */
static int open_function(struct browser *b, struct error *e)
{
	const struct view *v = shown(b);
	const struct viewed function = v->at < v->nr ? v->lines[v->at].function : (struct viewed){ 0 };
	int err;

	if (v->at >= v->nr || !v->lines[v->at].opens) {
		b->message = " This line opens nothing.";
		return 0;
	}
	if (b->depth + 1 == MAX_DEPTH) {
		b->message = " There are too many views: Esc goes back.";
		return 0;
	}
	curses.endwin();
	err = view_function(&b->views[++b->depth], b->p, b->event, &function, b->o, e);
	curses.wclear(b->window);
	return err;
}

static void move_by(struct browser *b, long lines)
{
	struct view *v = shown(b);

	if (lines < 0 && v->at < (size_t)-lines)
		v->at = 0;
	else
		v->at += (size_t)lines;
	if (v->at >= v->nr)
		v->at = v->nr ? v->nr - 1 : 0;
}

static void read_search(struct browser *b)
{
	char prompt[MAX_TEXT + 4];
	size_t n = 0;
	int key;

	for (;;) {
		snprintf(prompt, sizeof(prompt), "/%s", b->searched);
		if (!n)
			strcpy(prompt, "/");
		b->message = prompt;
		draw(b);
		key = curses.wgetch(b->window);
		if (key == '\n' || key == '\r' || key == KEY_ENTER || key == ERR)
			return;
		b->interrupted = key == CTRL_C;
		if (b->interrupted)
			return;
		if (key == ESCAPE)
			n = 0;
		else if ((key == KEY_BACKSPACE || key == 127 || key == '\b') && n)
			n--;
		else if (key >= ' ' && key < 256 && n < sizeof(b->searched) - 1)
			b->searched[n++] = (char)key;
		b->searched[n] = '\0';
		if (key == ESCAPE)
			return;
	}
}

/* Move to the next line with the text, from the beginning again after the last one. */
static void search(struct browser *b)
{
	struct view *v = shown(b);
	size_t i;

	for (i = 1; *b->searched && i <= v->nr; i++)
		if (strcasestr(v->lines[(v->at + i) % v->nr].text, b->searched)) {
			v->at = (v->at + i) % v->nr;
			return;
		}
	b->message = " There is no such line.";
}

/* Do what a key says.  Return: 1: go on; 0: end; -1 with *e */
static int handle(struct browser *b, int key, struct error *e)
{
	int err = 0;

	switch (key) {
	case CTRL_C:
		b->interrupted = true;
		return 0;
	case 'q':
	case ERR:
		return 0;
	case CTRL_Z:
		curses.endwin();
		kill(0, SIGTSTP);
		break;
	case ESCAPE:
	case KEY_LEFT:
	case KEY_BACKSPACE:
	case 'h':
		if (b->depth)
			view_free(&b->views[b->depth--]);
		break;
	case '\n':
	case '\r':
	case KEY_ENTER:
	case KEY_RIGHT:
	case 'a':
	case 'l':
		err = open_function(b, e);
		break;
	case KEY_UP:
	case 'k':
		move_by(b, -1);
		break;
	case KEY_DOWN:
	case 'j':
		move_by(b, 1);
		break;
	case KEY_PPAGE:
		move_by(b, -height(b));
		break;
	case KEY_NPAGE:
	case ' ':
		move_by(b, height(b));
		break;
	case KEY_HOME:
	case 'g':
		shown(b)->at = 0;
		break;
	case KEY_END:
	case 'G':
		move_by(b, (long)shown(b)->nr);
		break;
	case '/':
		read_search(b);
		if (b->interrupted)
			return 0;
		search(b);
		break;
	case 'n':
		search(b);
		break;
	case 'c':
		b->children = !b->children;
		err = open_list(b, e);
		break;
	case KEY_TAB:
		b->event = (b->event + 1) % b->p->nrevents;
		err = open_list(b, e);
		break;
	case CTRL_L:
	case KEY_RESIZE:
		curses.wclear(b->window);
		break;
	}
	return err ? -1 : 1;
}

int browse(struct profile *p, const struct reporting *o, const char **why, struct error *e)
{
	struct browser b = {
		.p = p, .o = o,
		.children = o->children || o->callers || o->callees,
	};
	SCREEN *screen;
	int ret;

	if (!load()) {
		*why = LIBRARY " is not installed (Debian: libncursesw6, Fedora: ncurses-libs)";
		return 1;
	}
	/* Names of functions and sources may have any characters. */
	setlocale(LC_CTYPE, "");
	ret = open_list(&b, e);
	if (ret)
		return ret;
	curses.set_escdelay(50);
	screen = curses.newterm(NULL, stdout, stdin);
	if (!screen) {
		view_free(&b.views[0]);
		*why = "ncurses does not know this terminal (TERM)";
		return 1;
	}
	/* This process ends with its parent: by a signal for which ncurses restores the terminal. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* Ctrl-C would end the parent, and this process with it, before the terminal is restored. */
	curses.raw();
	curses.noecho();
	curses.curs_set(0);
	b.window = curses.newwin(0, 0, 0, 0);
	ret = b.window ? 1 : fail_memory(e);
	if (b.window)
		curses.keypad(b.window, true);
	while (ret > 0) {
		draw(&b);
		ret = handle(&b, curses.wgetch(b.window), e);
	}
	curses.endwin();
	curses.delscreen(screen);
	do {
		view_free(&b.views[b.depth]);
	} while (b.depth--);
	if (b.interrupted) {
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
	}
	return ret;
}

#else

int browse(struct profile *p, const struct reporting *o, const char **why, struct error *e)
{
	(void)p;
	(void)o;
	(void)e;
	*why = "perfex was built without ncurses (Debian: libncurses-dev, Fedora: ncurses-devel)";
	return 1;
}

#endif /* HAVE_CURSES */
