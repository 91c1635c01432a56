// SPDX-License-Identifier: GPL-2.0
/*
 * Names of C++ and Rust functions as programmers write them.  The function that knows C++'s
 * is in the library of each C++ program, which is loaded if it is there: perfex runs
 * without it.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"
#include "work.h"

/* A longer name may come from an attacker, and exhaust the stack of that function. */
#define MAX_MANGLED	2048

/*
 * A short name can stand for any length, as its parts can repeat others: work_on() limits what
 * the function uses, and no reader wants such a name.
 */
#define MAX_READABLE	65536

static char *(*cxa_demangle)(const char *name, char *buf, size_t *length, int *status);

/* Without the library, names remain as they are. */
void demangle_load(void)
{
	static const char *const names[] = { "libstdc++.so.6", "libc++abi.so.1" };
	static bool tried;
	void *library;
	size_t i;

	for (i = 0; !tried && !cxa_demangle && i < ARRAY_SIZE(names); i++) {
		library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
		if (library)
			*(void **)&cxa_demangle = dlsym(library, "__cxa_demangle");
	}
	tried = true;
}

/* The length from which a name can take more memory than a file's, or time without end. */
#define MAX_HARMLESS	128

static char *call_library(const char *name)
{
	int status, limited = strlen(name) > MAX_HARMLESS;
	char *text;

	demangle_load();
	if (!cxa_demangle)
		return NULL;
	if (limited)
		work_begin_name();
	text = cxa_demangle(name, NULL, NULL, &status);
	if (limited)
		work_end_name();
	return text;
}

/* ---- Rust: its older form is C++'s, with a hash at the end, and letters for signs ------- */

#define HASH_LENGTH	19	/* "::h" and 16 digits */

static bool is_rust(const char *name)
{
	size_t len = strlen(name);

	return len > HASH_LENGTH && !strncmp(name + len - HASH_LENGTH, "::h", 3) &&
	       strspn(name + len - 16, "0123456789abcdef") == 16;
}

static const struct {
	const char *code, *sign;
} signs[] = {
	{ "$LT$", "<" }, { "$GT$", ">" }, { "$RF$", "&" }, { "$BP$", "*" }, { "$C$", "," },
	{ "$LP$", "(" }, { "$RP$", ")" }, { "$SP$", "@" }, { "$u20$", " " }, { "$u27$", "'" },
	{ "$u5b$", "[" }, { "$u5d$", "]" }, { "$u7b$", "{" }, { "$u7d$", "}" }, { "$u7e$", "~" },
	{ "$u3b$", ";" }, { "$u2b$", "+" }, { "$u22$", "\"" }, { "..", "::" },
};

/* The text becomes shorter. */
static void rewrite_rust(char *name)
{
	char *from, *to = name;
	size_t i;

	name[strlen(name) - HASH_LENGTH] = '\0';
	for (from = name; *from;) {
		/* A part that begins with a sign has "_" before it. */
		if (*from == '_' && from[1] == '$' && (from == name || from[-1] == ':')) {
			from++;
			continue;
		}
		for (i = 0; i < ARRAY_SIZE(signs); i++)
			if (!strncmp(from, signs[i].code, strlen(signs[i].code)))
				break;
		if (i < ARRAY_SIZE(signs)) {
			memcpy(to, signs[i].sign, strlen(signs[i].sign));
			to += strlen(signs[i].sign);
			from += strlen(signs[i].code);
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/*
 * Return: the length of a Rust name without the suffix that LLVM gives to a function that it has
 * moved to another unit, such as ".llvm.123".  Rust's names have dots, too.  0: another name.
 */
static size_t before_suffix(const char *name)
{
	const char *hash = name;

	while ((hash = strstr(hash, "17h"))) {
		hash += 3;
		if (strspn(hash, "0123456789abcdef") == 16 && hash[16] == 'E' && hash[17] == '.')
			return (size_t)(hash + 17 - name);
	}
	return 0;
}

char *demangle(const char *name)
{
	char *text, *whole = NULL;
	size_t len;

	if (!strncmp(name, "_R", 2))
		return demangle_rust(name);
	if (strncmp(name, "_Z", 2) || strlen(name) > MAX_MANGLED)
		return NULL;
	/* The library accepts a suffix only of names that have parameters. */
	len = before_suffix(name);
	if (len) {
		whole = strndup(name, len);
		if (!whole)
			return NULL;
	}
	text = call_library(whole ? whole : name);
	free(whole);
	if (text && strlen(text) > MAX_READABLE) {
		free(text);
		return NULL;
	}
	if (text && is_rust(text))
		rewrite_rust(text);
	return text;
}

/* A symbol table has default versions in its names, "work@@V_2": sources and other tables have not. */
char *demangle_symbol(const char *name)
{
	const char *version = strstr(name, "@@");
	char *bare, *text;

	if (!version || version == name)
		return demangle(name);
	bare = strndup(name, (size_t)(version - name));
	text = bare ? demangle(bare) : NULL;
	if (!text)
		return bare;
	free(bare);
	return text;
}
