// SPDX-License-Identifier: GPL-2.0
/*
 * usage: qr [-s DEVICE -c COLUMNS] FILE
 *
 * Show FILE, compressed, as QR codes on the right of a screen that is a frame buffer
 * (DEVICE, as /dev/fb0); COLUMNS characters of text remain on the left, of the terminal that
 * is standard input.  Without -s, print the text of a single code.
 *
 * The compressed bytes become digits, so that a telephone's program shows a text that
 * can be copied: two bytes are three digits of base 41, the least significant first.  The
 * digits are those characters of the code's alphanumeric mode that no program changes.
 * scripts/report-machine reads them back.
 */
#include <fcntl.h>
#include <linux/fb.h>
#include <qrencode.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#define QUIET		4	/* modules of the white border that a code needs */
#define LEAST_SCALE	3	/* pixels of a module that a photograph shows */
#define MOST_GRID	4
#define HEADER		20	/* "VPERFCTR1:1:16:" */

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ+-./:";

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the text ----------------------------------------------------------------- */

static unsigned char *read_all(const char *name, size_t *len)
{
	FILE *f = fopen(name, "r");
	unsigned char *buf = NULL;
	size_t size = 0, n;

	if (!f)
		fail(name);
	*len = 0;
	do {
		if (*len == size) {
			size = size ? 2 * size : 65536;
			buf = realloc(buf, size);
			if (!buf)
				fail(name);
		}
		n = fread(buf + *len, 1, size - *len, f);
		*len += n;
	} while (n);
	fclose(f);
	return buf;
}

/* As gzip does, with no time and no name. */
static unsigned char *compressed(const unsigned char *in, size_t len, size_t *out_len)
{
	z_stream z = { .next_in = (unsigned char *)in, .avail_in = (unsigned int)len };
	unsigned char *out;

	if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY))
		fail("zlib");
	*out_len = deflateBound(&z, len);
	out = malloc(*out_len);
	if (!out)
		fail("zlib");
	z.next_out = out;
	z.avail_out = (unsigned int)*out_len;
	if (deflate(&z, Z_FINISH) != Z_STREAM_END)
		fail("zlib");
	*out_len = z.total_out;
	deflateEnd(&z);
	return out;
}

static char *as_digits(const unsigned char *in, size_t len)
{
	char *text = malloc(len / 2 * 3 + 3), *to = text;
	unsigned int n;
	size_t i;

	if (!text)
		fail("memory");
	for (i = 0; i + 1 < len; i += 2) {
		n = in[i] << 8 | in[i + 1];
		*to++ = digits[n % 41];
		*to++ = digits[n / 41 % 41];
		*to++ = digits[n / 41 / 41];
	}
	if (i < len) {
		*to++ = digits[in[i] % 41];
		*to++ = digits[in[i] / 41];
	}
	*to = '\0';
	return text;
}

/* The text of one of several codes. */
static void make_part(char *to, size_t size, const char *text, unsigned int part, unsigned int parts)
{
	const size_t len = strlen(text), each = (len + parts - 1) / parts;
	const size_t from = part * each < len ? part * each : len;

	snprintf(to, size, "VPERFCTR1:%u:%u:%.*s", part + 1, parts,
		 (int)(len - from < each ? len - from : each), text + from);
}

static QRcode *code_of(const char *text)
{
	/* It finds out by itself that the text is alphanumeric. */
	return QRcode_encodeString(text, 0, QR_ECLEVEL_L, QR_MODE_8, 1);
}

/* ---- the screen ----------------------------------------------------------------- */

struct screen {
	struct fb_var_screeninfo var;
	struct fb_fix_screeninfo fix;
	unsigned char *pixels;
};

static void open_screen(struct screen *s, const char *device)
{
	const int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, FBIOGET_VSCREENINFO, &s->var) || ioctl(fd, FBIOGET_FSCREENINFO, &s->fix))
		fail(device);
	s->pixels = mmap(NULL, s->fix.smem_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->pixels == MAP_FAILED)
		fail(device);
	close(fd);
}

/* White is all bits of a pixel, and black is none, whatever its format. */
static void fill(struct screen *s, unsigned int x, unsigned int y, unsigned int w, unsigned int h,
		 bool white)
{
	const unsigned int bytes = s->var.bits_per_pixel / 8;

	for (; h; h--, y++)
		memset(s->pixels + (y + s->var.yoffset) * s->fix.line_length + x * bytes,
		       white ? 0xff : 0, w * bytes);
}

static void draw(struct screen *s, const QRcode *code, unsigned int x0, unsigned int y0,
		 unsigned int scale)
{
	const unsigned int side = ((unsigned int)code->width + 2 * QUIET) * scale;
	int x, y;

	fill(s, x0, y0, side, side, true);
	for (y = 0; y < code->width; y++)
		for (x = 0; x < code->width; x++)
			if (code->data[y * code->width + x] & 1)
				fill(s, x0 + ((unsigned int)x + QUIET) * scale,
				     y0 + ((unsigned int)y + QUIET) * scale, scale, scale, false);
}

/*
 * Few codes are easier to photograph than many, but large modules are easier to read: the
 * least grid is taken that has enough pixels for each module.
 *
 * Return: codes in a row, or 0 if the screen is too small.
 */
static unsigned int grid_for(const char *text, unsigned int side)
{
	const size_t len = strlen(text);
	char *part = malloc(len + HEADER);
	unsigned int grid, width;
	QRcode *code;

	if (!part)
		fail("memory");
	for (grid = 1; grid <= MOST_GRID; grid++) {
		make_part(part, len + HEADER, text, 0, grid * grid);
		code = code_of(part);
		width = code ? (unsigned int)code->width + 2 * QUIET : side;
		QRcode_free(code);
		if (width * LEAST_SCALE * grid <= side)
			break;
	}
	free(part);
	return grid <= MOST_GRID ? grid : 0;
}

static int show(const char *text, const char *device, unsigned int columns)
{
	const size_t size = strlen(text) + HEADER;
	char *part = malloc(size);
	unsigned int grid, side, left, cell, i;
	struct winsize w = { 0 };
	struct screen s;
	QRcode *code;

	open_screen(&s, device);
	ioctl(STDIN_FILENO, TIOCGWINSZ, &w);
	left = w.ws_col ? s.var.xres / w.ws_col * columns : 8 * columns;
	if (!part || s.var.bits_per_pixel < 8 || left >= s.var.xres)
		return 2;
	side = s.var.xres - left < s.var.yres ? s.var.xres - left : s.var.yres;
	grid = grid_for(text, side);
	if (!grid)
		return 2;
	cell = side / grid;
	for (i = 0; i < grid * grid; i++) {
		make_part(part, size, text, i, grid * grid);
		code = code_of(part);
		if (!code)
			fail("qrencode");
		draw(&s, code, s.var.xres - side + i % grid * cell, i / grid * cell,
		     cell / ((unsigned int)code->width + 2 * QUIET));
		QRcode_free(code);
	}
	free(part);
	return 0;
}

int main(int argc, char **argv)
{
	const char *device = NULL, *text;
	unsigned int columns = 0;
	unsigned char *in, *packed;
	size_t len, packed_len;
	int opt;

	while ((opt = getopt(argc, argv, "s:c:")) > 0) {
		if (opt == 's')
			device = optarg;
		else if (opt == 'c')
			columns = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr, "usage: qr [-s DEVICE -c COLUMNS] FILE\n");
		return 2;
	}
	in = read_all(argv[optind], &len);
	packed = compressed(in, len, &packed_len);
	text = as_digits(packed, packed_len);
	if (device)
		return show(text, device, columns);
	printf("VPERFCTR1:1:1:%s\n", text);
	return 0;
}
