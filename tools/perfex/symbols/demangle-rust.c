// SPDX-License-Identifier: GPL-2.0
/*
 * Names of Rust functions in the form that begins with "_R" (RFC 2603).  A name may come
 * from an attacker: references within it can repeat its parts without end, so the result, the
 * nesting and the number of steps have limits.
 *
 * libiberty's rust_demangle_callback() has no limit of repetitions, and its callback cannot stop
 * it: in version 20230104 of Debian 12, a name of 251 bytes becomes 402 MB of text.  It is a static
 * library only.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

#define MAX_RESULT	2048
#define MAX_NESTING	200
#define MAX_STEPS	20000

struct name {
	const char *text;	/* after "_R" */
	size_t at, len;
	char result[MAX_RESULT];
	size_t nr;		/* letters in result */
	unsigned int silent;	/* parts that are read only */
	unsigned int nesting, steps;
	bool failed;
};

static void read_path(struct name *n);
static void read_type(struct name *n);
static void read_const(struct name *n);

static void put_text(struct name *n, const char *text, size_t len)
{
	if (n->silent || n->failed)
		return;
	if (len >= sizeof(n->result) - n->nr) {
		n->failed = true;
		return;
	}
	memcpy(n->result + n->nr, text, len);
	n->nr += len;
}

static void put(struct name *n, const char *text)
{
	put_text(n, text, strlen(text));
}

/* Return: the next letter, which is not taken; '\0' at the end and after an error. */
static char peek(const struct name *n)
{
	return n->failed || n->at >= n->len ? '\0' : n->text[n->at];
}

static char take(struct name *n)
{
	char c = peek(n);

	if (c)
		n->at++;
	else
		n->failed = true;
	return c;
}

static bool take_if(struct name *n, char c)
{
	if (peek(n) != c)
		return false;
	n->at++;
	return true;
}

static uint64_t read_decimal(struct name *n)
{
	uint64_t value = 0;

	if (take_if(n, '0'))
		return 0;
	if (peek(n) < '1' || peek(n) > '9')
		n->failed = true;
	while (peek(n) >= '0' && peek(n) <= '9' && value < UINT32_MAX)
		value = value * 10 + (uint64_t)(take(n) - '0');
	return value;
}

static uint64_t read_base62(struct name *n)
{
	uint64_t value = 0, digit;
	char c;

	if (take_if(n, '_'))
		return 0;
	while ((c = take(n)) && c != '_') {
		if (c >= '0' && c <= '9')
			digit = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'z')
			digit = (uint64_t)(c - 'a') + 10;
		else if (c >= 'A' && c <= 'Z')
			digit = (uint64_t)(c - 'A') + 36;
		else
			digit = 62;
		if (digit == 62 || __builtin_mul_overflow(value, 62, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			n->failed = true;
	}
	return value + 1;
}

/* Read the number that tells names apart which are otherwise equal.  Return: 0 without one. */
static uint64_t read_disambiguator(struct name *n)
{
	return take_if(n, 's') ? read_base62(n) + 1 : 0;
}

/* Return: the identifier, or NULL; *len: its length. */
static const char *read_identifier(struct name *n, size_t *len)
{
	const char *text;

	/* Letters that are not ASCII remain encoded. */
	take_if(n, 'u');
	*len = (size_t)read_decimal(n);
	take_if(n, '_');
	if (n->failed || *len > n->len - n->at) {
		n->failed = true;
		return NULL;
	}
	text = n->text + n->at;
	n->at += *len;
	return text;
}

static void put_identifier(struct name *n)
{
	size_t len;
	const char *text = read_identifier(n, &len);

	if (text)
		put_text(n, text, len);
}

/* Read what a reference refers to, which is before it. */
static void follow(struct name *n, void (*read)(struct name *n))
{
	size_t before = n->at - 1, back, to = (size_t)read_base62(n);

	if (to >= before) {
		n->failed = true;
		return;
	}
	if (n->silent)
		return;
	back = n->at;
	n->at = to;
	read(n);
	n->at = back;
}

/*
 * Begin a part of a name.  The caller ends it by nesting--.  Return: false: there are too many
 * parts within parts, or steps.
 */
static bool enter(struct name *n)
{
	if (n->nesting == MAX_NESTING || n->steps == MAX_STEPS)
		n->failed = true;
	if (n->failed)
		return false;
	n->nesting++;
	n->steps++;
	return true;
}

/* Read parts until an 'E', with commas between.  Return: how many there were. */
static unsigned int read_list(struct name *n, void (*read)(struct name *n))
{
	unsigned int nr;

	for (nr = 0; !n->failed && !take_if(n, 'E'); nr++) {
		if (nr)
			put(n, ", ");
		read(n);
	}
	return nr;
}

/* ---- paths ------------------------------------------------------------------------------ */

static void read_generic_argument(struct name *n)
{
	if (take_if(n, 'L')) {
		read_base62(n);
		put(n, "'_");
	} else if (take_if(n, 'K')) {
		read_const(n);
	} else {
		read_type(n);
	}
}

/* Where an implementation is says less than its type. */
static void skip_impl_path(struct name *n)
{
	n->silent++;
	read_disambiguator(n);
	read_path(n);
	n->silent--;
}

static void read_nested(struct name *n)
{
	char space = take(n), number[40];
	const char *text;
	uint64_t which;
	size_t len;

	read_path(n);
	which = read_disambiguator(n);
	text = read_identifier(n, &len);
	if (!text)
		return;
	if (space >= 'A' && space <= 'Z') {
		put(n, space == 'C' ? "::{closure" : space == 'S' ? "::{shim" : "::{");
		if (space != 'C' && space != 'S')
			put_text(n, &space, 1);
		if (len)
			put(n, ":");
		put_text(n, text, len);
		snprintf(number, sizeof(number), "#%" PRIu64 "}", which);
		put(n, number);
	} else if (len) {
		put(n, "::");
		put_text(n, text, len);
	}
}

static void read_path_of(struct name *n, char kind)
{
	switch (kind) {
	case 'C':
		read_disambiguator(n);
		put_identifier(n);
		break;
	case 'M':
		skip_impl_path(n);
		put(n, "<");
		read_type(n);
		put(n, ">");
		break;
	case 'X':
		skip_impl_path(n);
		/* fall through */
	case 'Y':
		put(n, "<");
		read_type(n);
		put(n, " as ");
		read_path(n);
		put(n, ">");
		break;
	case 'N':
		read_nested(n);
		break;
	case 'I':
		read_path(n);
		put(n, "<");
		read_list(n, read_generic_argument);
		put(n, ">");
		break;
	case 'B':
		follow(n, read_path);
		break;
	default:
		n->failed = true;
	}
}

static void read_path(struct name *n)
{
	if (!enter(n))
		return;
	read_path_of(n, take(n));
	n->nesting--;
}

/* ---- types ------------------------------------------------------------------------------ */

static const char *const basic_types[] = {
	['a' - 'a'] = "i8", ['b' - 'a'] = "bool", ['c' - 'a'] = "char", ['d' - 'a'] = "f64",
	['e' - 'a'] = "str", ['f' - 'a'] = "f32", ['h' - 'a'] = "u8", ['i' - 'a'] = "isize",
	['j' - 'a'] = "usize", ['l' - 'a'] = "i32", ['m' - 'a'] = "u32", ['n' - 'a'] = "i128",
	['o' - 'a'] = "u128", ['p' - 'a'] = "_", ['s' - 'a'] = "i16", ['t' - 'a'] = "u16",
	['u' - 'a'] = "()", ['v' - 'a'] = "...", ['x' - 'a'] = "i64", ['y' - 'a'] = "u64",
	['z' - 'a'] = "!",
};

static void read_binder(struct name *n)
{
	if (take_if(n, 'G'))
		read_base62(n);
}

static void read_lifetime(struct name *n)
{
	if (take_if(n, 'L'))
		read_base62(n);
}

static void read_function_type(struct name *n)
{
	read_binder(n);
	if (take_if(n, 'U'))
		put(n, "unsafe ");
	if (take_if(n, 'K')) {
		put(n, "extern \"");
		if (take_if(n, 'C'))
			put(n, "C");
		else
			put_identifier(n);
		put(n, "\" ");
	}
	put(n, "fn(");
	read_list(n, read_type);
	put(n, ")");
	if (take_if(n, 'u'))
		return;
	put(n, " -> ");
	read_type(n);
}

static void read_dyn_type(struct name *n)
{
	unsigned int nr;

	read_binder(n);
	put(n, "dyn ");
	for (nr = 0; !n->failed && !take_if(n, 'E'); nr++) {
		if (nr)
			put(n, " + ");
		read_path(n);
		/* Types of a trait's items are among its generic arguments. */
		while (take_if(n, 'p')) {
			if (!n->silent && n->nr && n->result[n->nr - 1] == '>') {
				n->nr--;
				put(n, ", ");
			} else {
				put(n, "<");
			}
			put_identifier(n);
			put(n, " = ");
			read_type(n);
			put(n, ">");
		}
	}
	read_lifetime(n);
}

static void read_type_of(struct name *n, char kind)
{
	switch (kind) {
	case 'A':
		put(n, "[");
		read_type(n);
		put(n, "; ");
		read_const(n);
		put(n, "]");
		break;
	case 'S':
		put(n, "[");
		read_type(n);
		put(n, "]");
		break;
	case 'T':
		put(n, "(");
		if (read_list(n, read_type) == 1)
			put(n, ",");
		put(n, ")");
		break;
	case 'R':
	case 'Q':
		read_lifetime(n);
		put(n, kind == 'R' ? "&" : "&mut ");
		read_type(n);
		break;
	case 'P':
	case 'O':
		put(n, kind == 'P' ? "*const " : "*mut ");
		read_type(n);
		break;
	case 'F':
		read_function_type(n);
		break;
	case 'D':
		read_dyn_type(n);
		break;
	case 'B':
		follow(n, read_type);
		break;
	default:
		read_path_of(n, kind);
	}
}

static void read_type(struct name *n)
{
	char kind;

	if (!enter(n))
		return;
	kind = take(n);
	if (kind >= 'a' && kind <= 'z' && basic_types[kind - 'a'])
		put(n, basic_types[kind - 'a']);
	else
		read_type_of(n, kind);
	n->nesting--;
}

/* Numbers are hexadecimal, as in the symbol. */
static void read_const(struct name *n)
{
	char type;

	if (!enter(n))
		return;
	type = take(n);
	if (type == 'B') {
		follow(n, read_const);
	} else if (type == 'p') {
		put(n, "_");
	} else if (type < 'a' || type > 'z') {
		n->failed = true;
	} else {
		put(n, take_if(n, 'n') ? "-0x" : "0x");
		while (peek(n) && peek(n) != '_')
			put_text(n, &n->text[n->at++], 1);
		if (!take_if(n, '_'))
			n->failed = true;
	}
	n->nesting--;
}

char *demangle_rust(const char *text)
{
	struct name *n;
	char *result = NULL;

	if (strncmp(text, "_R", 2))
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->text = text + 2;
	/* The compiler may add a suffix. */
	n->len = strcspn(n->text, ".$");
	read_path(n);
	/* The crate in which a generic function was made for these types. */
	if (!n->failed && n->at < n->len) {
		n->silent++;
		read_path(n);
	}
	if (!n->failed && n->at == n->len)
		result = strndup(n->result, n->nr);
	free(n);
	return result;
}
