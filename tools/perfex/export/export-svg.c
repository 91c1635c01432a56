// SPDX-License-Identifier: GPL-2.0
/*
 * perfex --report --export=svg: a flame graph, a picture that needs only a browser.  Each
 * function is above its callers, as wide as its share.  Names that fit are in the
 * picture.  The browser shows the name of a narrower function when the mouse points at
 * it.  The script adds zoom and search; without the script the picture is the same.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"
#include "xml.h"

#define WIDTH		1200
#define MARGIN		10
#define INNER		(WIDTH - 2 * MARGIN)
#define ROW		18
#define TOP		66	/* above the highest function */
#define BOTTOM		34	/* below the root: a line of text */
#define LETTER		7.25	/* the width of a letter */
#define NARROWEST	0.1	/* of what is drawn */

static const char style[] =
	"text{font:12px monospace;fill:#000}\n"
	"#title{font:bold 17px sans-serif}\n"
	".b{cursor:pointer;fill:#06c;visibility:hidden}\n"
	"#found,#about{font-size:12px}\n"
	".n{cursor:pointer}\n"
	".n:hover rect,.n:focus rect{stroke:#000;stroke-width:1}\n"
	".n:focus{outline:none}\n"
	".n text{pointer-events:none}\n"
	".n.f rect{fill:#d6f !important}\n"
	".n.c{opacity:.5}\n"
	".n.h{display:none}\n";

/* Weights place nodes exactly; attributes x and width are rounded. */
static const char script[] =
	"(function () {\n"
	"'use strict';\n"
	"var byId = function (id) { return document.getElementById(id); };\n"
	"var root = byId('nodes'), left = +root.getAttribute('data-left');\n"
	"var inner = +root.getAttribute('data-inner'), letter = +root.getAttribute('data-letter');\n"
	"var nodes = [].map.call(root.querySelectorAll('.n'), function (g) {\n"
	"	return { g: g, rect: g.querySelector('rect'), text: g.querySelector('text'),\n"
	"		 at: +g.getAttribute('data-at'), weight: +g.getAttribute('data-weight'),\n"
	"		 depth: +g.getAttribute('data-depth'), name: g.getAttribute('data-name'),\n"
	"		 about: g.querySelector('title').textContent };\n"
	"});\n"
	"var all = nodes[0];\n"
	"function place(n, x, width) {\n"
	"	var fits = Math.floor((width - 4) / letter), name = n.name;\n"
	"	if (name.length > fits)\n"
	"		name = fits < 3 ? '' : name.slice(0, fits - 2) + '..';\n"
	"	n.rect.setAttribute('x', x);\n"
	"	n.rect.setAttribute('width', width);\n"
	"	n.text.setAttribute('x', x + 3);\n"
	"	n.text.textContent = name;\n"
	"}\n"
	"function zoom(to) {\n"
	"	nodes.forEach(function (n) {\n"
	"		var above = n.at >= to.at && n.at + n.weight <= to.at + to.weight &&\n"
	"			    n.depth >= to.depth;\n"
	"		var below = n.depth < to.depth && n.at <= to.at &&\n"
	"			    n.at + n.weight >= to.at + to.weight;\n"
	"		n.g.classList.toggle('h', !above && !below);\n"
	"		n.g.classList.toggle('c', below);\n"
	"		if (below)\n"
	"			place(n, left, inner);\n"
	"		else if (above)\n"
	"			place(n, left + (n.at - to.at) / to.weight * inner,\n"
	"			      n.weight / to.weight * inner);\n"
	"	});\n"
	"	byId('reset').style.visibility = to === all ? 'hidden' : 'visible';\n"
	"}\n"
	"function search(words) {\n"
	"	var wanted = (words || '').toLowerCase(), found = 0, end = -1;\n"
	"	nodes.forEach(function (n) {\n"
	"		n.found = wanted && n.depth && n.name.toLowerCase().indexOf(wanted) >= 0;\n"
	"		n.g.classList.toggle('f', !!n.found);\n"
	"	});\n"
	"	nodes.filter(function (n) { return n.found; }).sort(function (a, b) {\n"
	"		return a.at - b.at || a.depth - b.depth;\n"
	"	}).forEach(function (n) {\n"
	"		if (n.at < end)\n"
	"			return;\n"
	"		found += n.weight;\n"
	"		end = n.at + n.weight;\n"
	"	});\n"
	"	byId('found').textContent = wanted ?\n"
	"		'found: ' + (100 * found / all.weight).toFixed(2) + ' %' : '';\n"
	"	byId('search').textContent = wanted ? 'End search' : 'Search';\n"
	"}\n"
	"nodes.forEach(function (n) {\n"
	"	var show = function () { byId('about').textContent = n.about; };\n"
	"	n.g.addEventListener('click', function () { zoom(n); });\n"
	"	n.g.addEventListener('keydown', function (e) {\n"
	"		if (e.key === 'Enter')\n"
	"			zoom(n);\n"
	"	});\n"
	"	n.g.addEventListener('mouseover', show);\n"
	"	n.g.addEventListener('focus', show);\n"
	"	n.g.setAttribute('tabindex', 0);\n"
	"});\n"
	"byId('reset').addEventListener('click', function () { zoom(all); });\n"
	"byId('search').addEventListener('click', function () {\n"
	"	search(byId('found').textContent ? '' : window.prompt('Part of a name:', ''));\n"
	"});\n"
	"byId('search').style.visibility = 'visible';\n"
	"window.flameGraph = { zoom: function (i) { zoom(nodes[i]); }, search: search };\n"
	"})();\n";

/* Print as many letters as fit; a letter has one byte that does not continue another. */
static void print_fitting(FILE *f, const char *name, double width)
{
	size_t fits = width < 4 + 3 * LETTER ? 0 : (size_t)((width - 4) / LETTER), nr = 0, i, cut = 0;

	if (!fits)
		return;
	for (i = 0; name[i]; i++) {
		if ((name[i] & 0xc0) == 0x80)
			continue;
		if (nr == fits - 2)
			cut = i;
		nr++;
	}
	if (nr <= fits)
		xml_string(f, name);
	else
		xml_text(f, name, cut);
	if (nr > fits)
		fputs("..", f);
}

/* Colours are bright, so that black text is legible; a name always has the same one. */
static void print_colour(FILE *f, const struct tree_node *node, const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619;
	hash ^= hash >> 15;
	if (!node->file || node->file == FILE_UNKNOWN)
		fprintf(f, "hsl(0,0%%,%u%%)", 78 + hash % 8);
	else if (node->file == FILE_KERNEL)
		fprintf(f, "hsl(200,60%%,%u%%)", 68 + hash % 8);
	else
		fprintf(f, "hsl(%u,%u%%,%u%%)", 12 + hash % 40, 70 + hash / 64 % 25,
			62 + hash / 4096 % 10);
}

struct picture {
	FILE *f;
	const struct profile *p;
	const struct tree *t;
	uint64_t all;		/* the root's weight */
	unsigned int rows;	/* that are drawn */
};

static double width_of(const struct picture *pic, uint64_t weight)
{
	return (double)weight / (double)pic->all * INNER;
}

static void print_node(const struct picture *pic, const struct tree_node *node,
		       unsigned int depth, uint64_t at)
{
	double x = MARGIN + width_of(pic, at), width = width_of(pic, node->weight);
	unsigned int y = TOP + (pic->rows - 1 - depth) * ROW;
	char buf[MAX_TREE_NAME], file[300], number[THOUSANDS_LEN];
	const char *name = tree_name(pic->p, node, buf, sizeof(buf));
	FILE *f = pic->f;

	fprintf(f, "<g class=\"n\" data-at=\"%" PRIu64 "\" data-weight=\"%" PRIu64
		"\" data-depth=\"%u\" data-name=\"", at, node->weight, depth);
	xml_string(f, name);
	fputs("\"><title>", f);
	xml_string(f, name);
	if (node->name && node->file) {
		profile_file_label(pic->p, node->file, file, sizeof(file));
		putc(' ', f);
		xml_string(f, file);
	}
	fprintf(f, ": %s sample%s, %.2f %%</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"2\" fill=\"",
		thousands(number, node->weight), plural(node->weight), 100 * (double)node->weight / (double)pic->all,
		x, y, width, ROW - 1);
	print_colour(f, node, name);
	fprintf(f, "\"/><text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
	print_fitting(f, name, width);
	fputs("</text></g>\n", f);
}

/* Return: how many rows the nodes from here on have that are wide enough. */
static unsigned int count_rows(const struct picture *pic, uint32_t number)
{
	const struct tree_node *node = node_of(pic->t, number);
	unsigned int most = 0, rows;
	uint32_t i;

	if (width_of(pic, node->weight) < NARROWEST)
		return 0;
	for (i = 0; i < node->nr; i++) {
		rows = count_rows(pic, pic->t->order[node->below + i]);
		if (rows > most)
			most = rows;
	}
	return most + 1;
}

static void print_nodes(const struct picture *pic, uint32_t number, unsigned int depth,
			uint64_t at)
{
	const struct tree_node *node = node_of(pic->t, number);
	uint32_t i;

	if (width_of(pic, node->weight) < NARROWEST)
		return;
	print_node(pic, node, depth, at);
	for (i = 0; i < node->nr; i++) {
		uint32_t below = pic->t->order[node->below + i];

		print_nodes(pic, below, depth + 1, at);
		at += node_of(pic->t, below)->weight;
	}
}

static void print_picture(struct picture *pic)
{
	const struct profile_event *event = &pic->p->events[0];
	const char *command = pic->p->command ? pic->p->command : "?";
	unsigned int height;
	char number[THOUSANDS_LEN];
	FILE *f = pic->f;

	pic->rows = pic->all ? count_rows(pic, 1) : 0;
	height = TOP + pic->rows * ROW + BOTTOM;
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\" role=\"img\" aria-labelledby=\"title\">\n"
		"<style>\n%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text id=\"title\" x=\"%d\" y=\"26\">", WIDTH, height, WIDTH, height, style, MARGIN);
	print_fitting(f, command, 100 * LETTER);
	fprintf(f, "</text>\n<text x=\"%d\" y=\"46\">", MARGIN);
	xml_string(f, event->name);
	fprintf(f, ": %s sample%s", thousands(number, event->samples), plural(event->samples));
	if (event->period && !pic->p->rate)
		fprintf(f, ", one each %s%s", thousands(number, event->period),
			event->time ? " ns" : "");
	fprintf(f, "</text>\n<text id=\"reset\" class=\"b\" x=\"%d\" y=\"46\">Reset zoom</text>\n"
		"<text id=\"search\" class=\"b\" x=\"%d\" y=\"46\">Search</text>\n"
		"<text id=\"found\" x=\"%d\" y=\"46\"></text>\n<text id=\"about\" x=\"%d\" y=\"%u\"></text>\n",
		WIDTH - 390, WIDTH - 270, WIDTH - 160, MARGIN, height - 12);
	fprintf(f, "<g id=\"nodes\" data-left=\"%d\" data-inner=\"%d\" data-letter=\"%.2f\">\n",
		MARGIN, INNER, LETTER);
	if (pic->rows)
		print_nodes(pic, 1, 0, 0);
	fprintf(f, "</g>\n<script><![CDATA[\n%s]]></script>\n</svg>\n",
		pic->rows ? script : "");
}

int export_svg(FILE *f, struct profile *p, const struct reporting *o, struct error *e)
{
	struct picture pic = { .f = f, .p = p };
	struct tree t;
	int err;

	(void)o;
	err = tree_make(&t, p, 0, TREE_CALLEES, true, e);
	if (!err) {
		pic.t = &t;
		pic.all = t.nodes.nr ? node_of(&t, 1)->weight : 0;
		print_picture(&pic);
	}
	tree_free(&t);
	return err;
}
