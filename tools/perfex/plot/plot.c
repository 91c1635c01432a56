// SPDX-License-Identifier: GPL-2.0
/*
 * perfex plot: draw the intervals of a file of counts.  gnuplot draws; perfex computes rates
 * and writes gnuplot's script.  An HTML page has the picture and the numbers in it.
 *
 * Curves differ in colour and in dashes, and each is labelled.  The colours are those of
 * M. Okabe and K. Ito, "Color Universal Design", 2008, which colour-blind readers can tell
 * apart; yellow is left out, as it is too bright on paper.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "json-counts.h"
#include "output.h"
#include "xml.h"

#define MAX_PANELS	12
#define MAX_CURVES	28	/* each of 7 colours with each of 4 sorts of dashes */
#define PANEL_HEIGHT	200
#define WIDTH		960
#define TITLE_HEIGHT	40

static const char *const colours[] = {
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000", "#e69f00", "#56b4e9",
};

static const char *const dashes[] = { "solid", "(12,6)", "(3,4)", "(12,5,3,5)" };

struct point {
	double from, to, value;
	bool counted;
};

struct curve {
	const char *part;
	unsigned int nr, room;
	struct point *point;
};

struct panel {
	const char *name;	/* of the event or metric */
	const char *unit;
	const char *recorded;	/* the unit that the file has; NULL: nothing was counted yet */
	enum { RATE, RATIO, METRIC } what;
	unsigned int nr;
	struct curve curve[MAX_CURVES];
};

struct plot {
	struct panel panel[MAX_PANELS];
	unsigned int nr;
	double end;
};

/* ---- from records to curves ------------------------------------------------------------- */

static void set_unit(struct panel *panel, const char *recorded)
{
	panel->recorded = recorded;
	panel->unit = panel->what != RATE ? recorded : strcmp(recorded, "msec") ? "" : "CPUs used";
}

/*
 * perfex has no unit where it has not counted.
 * Return: NULL with *e
 */
static struct panel *find_panel(struct plot *plot, const struct count_record *r, int what,
				struct error *e)
{
	const char *recorded = what == RATIO ? r->ratio_unit : r->unit;
	struct panel *panel;
	unsigned int i;

	for (i = 0; i < plot->nr; i++) {
		panel = &plot->panel[i];
		if ((int)panel->what != what || strcmp(panel->name, r->name))
			continue;
		if (!r->counted || (panel->recorded && !strcmp(panel->recorded, recorded)))
			return panel;
		if (!panel->recorded) {
			set_unit(panel, recorded);
			return panel;
		}
		fail_with(e, "'%.100s' is in %.40s, and in other intervals in %.40s", r->name,
			  *recorded ? recorded : "no unit", *panel->recorded ? panel->recorded : "no unit");
		return NULL;
	}
	if (plot->nr == MAX_PANELS) {
		fail_with(e, "there are more than %d events and ratios to draw: -e chooses some", MAX_PANELS);
		return NULL;
	}
	panel = &plot->panel[plot->nr++];
	panel->name = r->name;
	panel->what = what;
	panel->unit = "";
	if (r->counted)
		set_unit(panel, recorded);
	return panel;
}

static struct curve *find_curve(struct panel *panel, const char *part)
{
	unsigned int i;

	for (i = 0; i < panel->nr; i++)
		if (!strcmp(panel->curve[i].part, part))
			return &panel->curve[i];
	if (panel->nr == MAX_CURVES)
		return NULL;
	panel->curve[panel->nr].part = part;
	return &panel->curve[panel->nr++];
}

static int add_point(struct curve *curve, const struct point *point, struct error *e)
{
	struct point *more;

	if (curve->nr == curve->room) {
		curve->room = curve->room ? 2 * curve->room : 64;
		more = reallocarray(curve->point, curve->room, sizeof(*more));
		if (!more)
			return fail_with(e, "out of memory");
		curve->point = more;
	}
	curve->point[curve->nr++] = *point;
	return 0;
}

/* Return: the value to draw: a rate is per second, and a time in seconds per second. */
static double value_of(const struct count_record *r, int what, double length)
{
	if (what == METRIC)
		return r->value;
	if (what == RATIO)
		return r->ratio;
	return r->value / length / (strcmp(r->unit, "msec") ? 1 : 1000);
}

static int add_record(struct plot *plot, const struct count_record *r, int what, double from,
		      struct error *e)
{
	struct panel *panel = find_panel(plot, r, what, e);
	struct point point = { .from = from, .to = r->at, .counted = r->counted };
	struct curve *curve;

	if (!panel)
		return -1;
	curve = find_curve(panel, r->part);
	if (!curve)
		return fail_with(e, "there are more than %d curves in a picture: count by --per-socket or --per-core",
				 MAX_CURVES);
	if (curve->nr && curve->point[curve->nr - 1].to >= r->at) {
		if (!r->counted)
			return 0;
		if (curve->point[curve->nr - 1].counted)
			return fail_with(e, "an interval has '%.100s' twice: it may have the counts of two runs (--append), or of one that counted it twice",
					 r->name);
		/* This one is counted, and that one is not. */
		curve->nr--;
	}
	if (r->counted)
		point.value = value_of(r, what, r->at - from);
	/* A length may be next to nothing. */
	point.counted = r->counted && isfinite(point.value);
	return add_point(curve, &point, e);
}

/* True if the ratio says more than the rate.  perf's ratio of the clock is the rate itself. */
static bool is_new_ratio(const struct count_record *r)
{
	return r->has_ratio && strcmp(r->ratio_unit, "CPUs utilized");
}

/* True if the panel has a count.  gnuplot fails to draw a panel that has none. */
static bool has_points(const struct panel *panel)
{
	unsigned int k, i;

	for (k = 0; k < panel->nr; k++)
		for (i = 0; i < panel->curve[k].nr; i++)
			if (panel->curve[k].point[i].counted)
				return true;
	return false;
}

static const char *panel_name(const struct names *names, size_t i)
{
	const struct plot *plot = names->arg;

	return i < plot->nr ? plot->panel[i].name : NULL;
}

static int check_names(const struct plot *plot, const struct event_list *events, const char *name,
		       struct error *e)
{
	const struct names names = { panel_name, plot };
	char where[256];

	snprintf(where, sizeof(where), "'%.200s' has no event or metric", name);
	return check_events(events, &names, where, e);
}

static int make_curves(struct plot *plot, const struct records *records,
		       const struct event_list *events, const char *name, struct error *e)
{
	double from = 0, now = -1;
	unsigned int i;

	for (i = 0; i < records->nr; i++) {
		const struct count_record *r = &records->record[i];

		/* The sums of --summary. */
		if (r->at < 0 && now >= 0)
			continue;
		if (r->at < 0)
			return fail_with(e, "'%.200s' has counts without an interval: perfex -I MS -j -o FILE writes what can be drawn",
					 name);
		/* Records of an interval follow each other. */
		if (r->at < now || (r->at == now && r->at <= from) || r->at == 0)
			return fail_with(e, "the intervals in '%.200s' are not in order: it may have those of two runs (--append)",
					 name);
		if (r->at > now) {
			from = now < 0 ? 0 : now;
			now = r->at;
		}
		if (!wants_event(events, r->name))
			continue;
		if (add_record(plot, r, r->metric ? METRIC : RATE, from, e) ||
		    (is_new_ratio(r) && add_record(plot, r, RATIO, from, e)))
			return -1;
	}
	plot->end = now;
	if (check_names(plot, events, name, e))
		return -1;
	for (i = 0; i < plot->nr; i++)
		if (has_points(&plot->panel[i]))
			return 0;
	return fail_with(e, "'%.200s' has no value to draw", name);
}

static void free_curves(struct plot *plot)
{
	unsigned int i, k;

	for (i = 0; i < plot->nr; i++)
		for (k = 0; k < plot->panel[i].nr; k++)
			free(plot->panel[i].curve[k].point);
}

/* ---- gnuplot -------------------------------------------------------------------------------- */

/*
 * A string of gnuplot.  Text comes from files and their names, and gnuplot executes programs.  So
 * no character of the text but letters is in the script: all others are octal numbers.  A digit
 * after such a number would be read as a part of it.
 */
static void print_quoted(FILE *f, const char *text)
{
	char *copy = strdup(text);
	const unsigned char *p;

	if (copy)
		replace_controls(copy);
	putc('"', f);
	for (p = (const unsigned char *)copy; p && *p; p++)
		if (*p < 0x80 && isalpha(*p))
			putc(*p, f);
		else
			fprintf(f, "\\%03o", *p);
	putc('"', f);
	free(copy);
}

static void title_of(char *buf, size_t size, const struct panel *panel)
{
	if (panel->what == METRIC)
		snprintf(buf, size, "%s%s%s", panel->name, *panel->unit ? ": " : "", panel->unit);
	else if (panel->what == RATIO)
		snprintf(buf, size, "%s: %s", panel->name, panel->unit);
	else if (*panel->unit)
		snprintf(buf, size, "%s: %s", panel->name, panel->unit);
	else
		snprintf(buf, size, "%s per second", panel->name);
}

/* The steps of a curve: each interval from its start, and a gap where nothing was counted. */
static void print_data(FILE *f, const struct curve *curve, unsigned int panel, unsigned int number)
{
	const struct point *p = NULL;
	unsigned int i;

	fprintf(f, "$data%u_%u << EOD\n", panel, number);
	for (i = 0; i < curve->nr; i++) {
		p = &curve->point[i];
		if (p->counted)
			fprintf(f, "%.9f %.12g\n%.9f %.12g\n", p->from, p->value, p->to, p->value);
		else
			fputc('\n', f);
	}
	fputs("EOD\n", f);
}

/* From 0 on, unless values are negative.  Values that are all the same are no range. */
static void print_range(FILE *f, const struct panel *panel)
{
	double least = 0, most = 0;
	unsigned int k, i;

	for (k = 0; k < panel->nr; k++)
		for (i = 0; i < panel->curve[k].nr; i++) {
			const struct point *p = &panel->curve[k].point[i];

			if (p->counted && p->value < least)
				least = p->value;
			if (p->counted && p->value > most)
				most = p->value;
		}
	if (least < 0)
		fprintf(f, "set yrange [*:%s]\n", most > 0 ? "*" : "0");
	else
		fprintf(f, "set yrange [0:%s]\n", most > 0 ? "*" : "1");
}

static void print_panel(FILE *f, const struct panel *panel, unsigned int number)
{
	char title[400];
	unsigned int k;

	title_of(title, sizeof(title), panel);
	fputs("set label 1 ", f);
	print_quoted(f, title);
	fputs(" at graph 0,1 left offset 0,0.9 font ',13'\n", f);
	print_range(f, panel);
	fputs(panel->what == RATE && !*panel->unit ? "set format y '%.1s%c'\n" : "set format y '%g'\n", f);
	/* One curve of all needs no legend. */
	fputs(panel->nr == 1 && !*panel->curve[0].part ? "unset key\nplot " : "set key\nplot ", f);
	for (k = 0; k < panel->nr; k++) {
		const char *part = panel->curve[k].part;

		fprintf(f, "%s$data%u_%u using 1:2 with lines lw 2 lc rgb '%s' dt %s title ", k ? ", " : "",
			number, k, colours[k % ARRAY_SIZE(colours)],
			dashes[k % ARRAY_SIZE(dashes)]);
		print_quoted(f, *part ? part : "all");
	}
	fputc('\n', f);
}

static void print_script(FILE *f, const struct plot *plot, const char *title)
{
	unsigned int i, k, nr = 0;

	for (i = 0; i < plot->nr; i++)
		nr += has_points(&plot->panel[i]);

	for (i = 0; i < plot->nr; i++)
		for (k = 0; k < plot->panel[i].nr; k++)
			print_data(f, &plot->panel[i].curve[k], i, k);
	fprintf(f, "set terminal svg size %d,%u font 'sans-serif,12' background '#ffffff' noenhanced\n",
		WIDTH, TITLE_HEIGHT + PANEL_HEIGHT * nr);
	fprintf(f, "set multiplot layout %u,1 title ", nr);
	print_quoted(f, title);
	fputs(" noenhanced\nset border 3\nset xtics nomirror\nset ytics nomirror\n"
	      "set grid ytics lc rgb '#cccccc' dt solid lw 0.5\n"
	      "set key outside right top Left reverse noenhanced samplen 6\n"
	      "set lmargin 10\nset rmargin 24\nset tmargin 2.5\nset bmargin 3\n"
	      "set xlabel 'seconds' offset 0,0.5\n", f);
	fprintf(f, "set xrange [0:%.9f]\n", plot->end);
	for (i = 0; i < plot->nr; i++)
		if (has_points(&plot->panel[i]))
			print_panel(f, &plot->panel[i], i);
	fputs("unset multiplot\n", f);
}

/* gnuplot would draw the first part of a script. */
static int check_script(FILE *f, struct error *e)
{
	const int err = output_error(f);

	return err ? fail_with(e, "cannot write to a temporary file: %s", strerror(err)) : 0;
}

/* Return: all that can be read from a descriptor, allocated, or NULL. */
static char *read_all(int fd)
{
	char *text = NULL, buf[4096];
	size_t size;
	ssize_t n;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	while ((n = read(fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			fwrite(buf, 1, (size_t)n, f);
	fclose(f);
	return text;
}

static void __attribute__((noreturn)) execute_gnuplot(FILE *script, int out)
{
	if (dup2(fileno(script), STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(STATUS_FAILED);
	/* -d: without the user's own settings */
	execlp("gnuplot", "gnuplot", "-d", "-", (char *)NULL);
	_exit(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_RUN);
}

/* Return: the picture, allocated, or NULL with *e. */
static char *run_gnuplot(FILE *script, struct error *e)
{
	int fds[2], wstatus = -1;
	char *picture;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC)) {
		fail_with(e, "cannot make a pipe: %s", strerror(errno));
		return NULL;
	}
	rewind(script);
	signal(SIGCHLD, SIG_DFL);
	pid = fork();
	if (!pid)
		execute_gnuplot(script, fds[1]);
	close(fds[1]);
	picture = pid > 0 ? read_all(fds[0]) : NULL;
	close(fds[0]);
	if (pid > 0)
		while (waitpid(pid, &wstatus, 0) < 0 && errno == EINTR)
			;
	if (picture && WIFEXITED(wstatus) && !WEXITSTATUS(wstatus) && strstr(picture, "</svg>"))
		return picture;
	free(picture);
	if (pid > 0 && WIFEXITED(wstatus) && WEXITSTATUS(wstatus) == STATUS_NOT_FOUND)
		fail_with(e, "gnuplot, which draws, is not installed: sudo apt install gnuplot-nox");
	else
		fail_with(e, "gnuplot has not drawn the picture: it must be version 5 or later");
	return NULL;
}

/* ---- the page ----------------------------------------------------------------------------------- */

static const char style[] =
	"body{font:15px/1.5 sans-serif;max-width:60rem;margin:1rem auto;padding:0 1rem;color:#000;background:#fff}\n"
	"svg{max-width:100%;height:auto}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:.1rem .8rem;border-bottom:1px solid #ccc;text-align:left}\n"
	"td.n{text-align:right}\n"
	"label{margin-right:1.2rem;white-space:nowrap}\n"
	"svg .off{display:none}\n"
	"@media print{form{display:none}}\n";

/* gnuplot names the curves gnuplot_plot_1, ... in each panel anew. */
static const char script[] =
	"(function () {\n"
	"'use strict';\n"
	"var form = document.getElementById('parts');\n"
	"form.addEventListener('change', function (event) {\n"
	"	var box = event.target;\n"
	"	[].forEach.call(document.querySelectorAll('svg g[id^=gnuplot_plot]'), function (g) {\n"
	"		var title = g.querySelector('title');\n"
	"		if (title && title.textContent === box.value)\n"
	"			g.classList.toggle('off', !box.checked);\n"
	"	});\n"
	"	[].forEach.call(document.querySelectorAll('tbody tr'), function (row) {\n"
	"		if (row.getAttribute('data-part') === box.value)\n"
	"			row.hidden = !box.checked;\n"
	"	});\n"
	"});\n"
	"form.hidden = form.querySelectorAll('input').length < 2;\n"
	"})();\n";

static const char *part_text(const struct curve *curve)
{
	return *curve->part ? curve->part : "all";
}

static void print_boxes(FILE *f, const struct plot *plot)
{
	unsigned int i, k, j, l;
	bool known;

	fputs("<form id=\"parts\">\n", f);
	for (i = 0; i < plot->nr; i++)
		for (k = 0; k < plot->panel[i].nr; k++) {
			const char *part = part_text(&plot->panel[i].curve[k]);

			known = false;
			for (j = 0; j < i; j++)
				for (l = 0; l < plot->panel[j].nr; l++)
					known |= !strcmp(part_text(&plot->panel[j].curve[l]), part);
			if (known)
				continue;
			fputs("<label><input type=\"checkbox\" checked value=\"", f);
			xml_string(f, part);
			fputs("\"> ", f);
			xml_string(f, part);
			fputs("</label>\n", f);
		}
	fputs("</form>\n", f);
}

static void print_rows(FILE *f, const struct panel *panel)
{
	unsigned int k, i;
	char title[400];

	title_of(title, sizeof(title), panel);
	fputs("<details><summary>", f);
	xml_string(f, title);
	fputs("</summary>\n<table><thead><tr><th>of</th><th>from (s)</th><th>to (s)</th><th>value</th></tr></thead><tbody>\n", f);
	for (k = 0; k < panel->nr; k++)
		for (i = 0; i < panel->curve[k].nr; i++) {
			const struct point *p = &panel->curve[k].point[i];

			fputs("<tr data-part=\"", f);
			xml_string(f, part_text(&panel->curve[k]));
			fputs("\"><td>", f);
			xml_string(f, part_text(&panel->curve[k]));
			fprintf(f, "</td><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td class=\"n\">", p->from, p->to);
			fprintf(f, p->counted ? "%.6g" : "not counted", p->counted ? p->value : 0);
			fputs("</td></tr>\n", f);
		}
	fputs("</tbody></table></details>\n", f);
}

static void print_page(FILE *f, const struct plot *plot, const char *picture, const char *title)
{
	const char *svg = strstr(picture, "<svg");
	unsigned int i;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>", f);
	xml_string(f, title);
	fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
	print_boxes(f, plot);
	fputs(svg ? svg : picture, f);
	fputs("\n<h2>Numbers</h2>\n", f);
	for (i = 0; i < plot->nr; i++)
		print_rows(f, &plot->panel[i]);
	fprintf(f, "<script>\n%s</script>\n</body>\n</html>\n", script);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), length = strlen(end);

	return n > length && !strcmp(text + n - length, end);
}

bool plot_can_write(const char *name)
{
	return ends_with(name, ".svg") || ends_with(name, ".html");
}

int plot_counts(FILE *out, const struct file_list *files, const struct event_list *events,
		const struct showing *show, struct error *e)
{
	const char *name = files->name[0];
	char *title = strdup(strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	struct plot *plot = calloc(1, sizeof(*plot));
	FILE *gnuplot = plot ? tmpfile() : NULL;
	struct records records = { .nr = 0 };
	char *picture = NULL;
	int err;

	if (title)
		replace_controls(title);
	err = gnuplot && title ? records_read(&records, name, e) :
			fail_with(e, "cannot make a temporary file: %s", strerror(errno));
	if (!err)
		err = make_curves(plot, &records, events, name, e);
	if (!err) {
		print_script(gnuplot, plot, title);
		err = check_script(gnuplot, e);
	}
	if (!err) {
		picture = run_gnuplot(gnuplot, e);
		err = picture ? 0 : -1;
	}
	if (!err && ends_with(show->file, ".html"))
		print_page(out, plot, picture, title);
	else if (!err)
		fputs(picture, out);
	free(picture);
	free(title);
	if (gnuplot)
		fclose(gnuplot);
	if (plot)
		free_curves(plot);
	free(plot);
	records_free(&records);
	return err;
}
