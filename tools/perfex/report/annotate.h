/* SPDX-License-Identifier: GPL-2.0 */
/* Samples of each line and each instruction of a function. */
#ifndef PERFEX_ANNOTATE_H
#define PERFEX_ANNOTATE_H

#include <sys/types.h>

#include "profile.h"

struct annotated_instruction {
	uint64_t offset;	/* as that of a location */
	uint32_t location;
	uint32_t unused;
	uint64_t samples, weight;
	char *text;		/* NULL: not disassembled */
};

/* A line of source; that of an inlined function is another one for each. */
struct annotated_line {
	uint32_t source, line;	/* 0: not known */
	uint32_t inlined;	/* the name of the function that is inlined there, or 0 */
	uint32_t unused;
	/* after the key */
	uint64_t samples, weight;
};

/* A function, or what has been inlined into it of the one that was asked for. */
struct annotated_function {
	uint32_t file;
	uint32_t name;		/* the function's own */
	uint32_t part;		/* the function that was asked for, if it is inlined there; or 0 */
	struct code code;
	uint64_t samples, weight;
	bool disassembled;
	bool cut;		/* at the end of what all functions may have */
	struct annotated_instruction *instructions;	/* sorted by their offset */
	size_t nrinstructions;
	struct annotated_line *lines;			/* sorted by file and line */
	size_t nrlines;
};

/* Bytes of instructions that are disassembled, of all functions: an attacker's have any number. */
#define MAX_CODE	(1U << 18)

struct annotation {
	const char *asked;
	struct annotated_function *functions;	/* with most samples first */
	size_t nr;
};

/*
 * Find the functions that have samples and match FUNCTION or FUNCTION@LIBRARY.
 * Return: 0, or -1 with *e: there are none, or those of several libraries.
 */
int annotation_find(struct annotation *a, struct profile *p, const char *asked, struct error *e);
/* Count the samples of this event. */
int annotation_count(struct annotation *a, struct profile *p, unsigned int event,
		     struct error *e);
void annotation_free(struct annotation *a);

/* Return: the line of a location, without samples. */
struct annotated_line annotated_line_of(const struct profile *p, uint32_t location);

/* The address of an instruction, as in the file's symbols. */
static inline uint64_t annotated_address(const struct annotated_function *f,
					 const struct annotated_instruction *i)
{
	return f->code.start + (i->offset - f->code.offset);
}

/* The text of source files: a file that cannot be read has none. */
struct source_file {
	char **lines;
	size_t nr;
	int64_t modified;	/* seconds */
	bool refused;		/* the owner of the program may not read it */
	bool too_large;		/* for what was left */
};

/* A program can name any number of files, or one file by any number of names. */
#define MAX_SOURCES	(INT64_C(32) << 20)

/*
 * Read the file that a program of this owner names.  *left: bytes that all files may still take;
 * at first MAX_SOURCES
 * Return: false: it cannot be read, or must not be.
 */
bool source_read(struct source_file *s, const char *path, uid_t owner, int64_t *left);
/* Return: a descriptor, or -1. */
int source_open(const char *path, uid_t owner, bool *refused);
/* Return: line number 1 and so on, without tabs and what would command a terminal; or NULL */
const char *source_line(const struct source_file *s, unsigned int line);
void source_free(struct source_file *s);

int annotate_text(FILE *f, struct profile *p, const struct reporting *o, struct error *e);
int annotate_json(FILE *f, struct profile *p, const struct reporting *o, struct error *e);

#endif /* PERFEX_ANNOTATE_H */
