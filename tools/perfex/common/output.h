/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The files that perfex writes.  All of them are opened here, and nowhere else.
 *
 * A run that fails leaves an existing file as it was.  So what is written replaces the file
 * only when it is published: as soon as there is something that the user wants to have.
 */
#ifndef PERFEX_OUTPUT_H
#define PERFEX_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

struct error;
struct showing;

enum {
	OUTPUT_APPEND = 1,	/* to what an existing file has */
	OUTPUT_PRIVATE = 2,	/* no other user may read it */
	OUTPUT_WHOLE = 4,	/* readers find the old file or the new one, and no part of it */
	OUTPUT_KEEP_OLD = 8,	/* the old file gets the name with ".old" */
};

struct output {
	FILE *f;
	const char *name;		/* what messages call it */
	unsigned int flags;
	enum {
		OUTPUT_DIRECT,		/* a device, a pipe, an open descriptor, or the end of a file */
		OUTPUT_NEW,		/* a file that did not exist */
		OUTPUT_RENAME,		/* a new file, which replaces one when it is published */
		OUTPUT_COPY,		/* a file without a name, which is copied when it is published */
	} way;
	bool published;
	bool named;			/* it is a file that has had a name: without one its text is lost */
	int target;			/* the file that is replaced; -1: none */
	struct stat old;		/* of the target, or of the file of OUTPUT_NEW */
	int dir;			/* where the file is, or will be; -1: not known */
	char base[NAME_MAX + 1];	/* the file's name in dir */
	char temp[32];			/* of OUTPUT_RENAME's file until it is published; "": it has no name */
	char room[32];			/* for the name */
	char kept[PATH_MAX + 32];	/* see output_keep_new() */
};

/*
 * Begin to write to a file, or to a copy of a descriptor that is open.
 * Return: 0, or -1 with *e.
 */
int output_open(struct output *out, const char *name, unsigned int flags, struct error *e);
int output_open_descriptor(struct output *out, int fd, struct error *e);

/*
 * Replace the old file: what has been written is worth more.  Later writes
 * go there at once.
 * Return: 0 if all has been written, or errno; ENOENT: the file was removed meanwhile
 */
int output_publish(struct output *out);

/*
 * Let a new file remain as it is, although not all has been written.  If there is an old one,
 * that remains, too, and out->kept is the path of the new one.
 * Return: false: it cannot.
 */
bool output_keep_new(struct output *out);

/*
 * End the output.  Publish a file that is not published yet, or, if keep is false, forget it:
 * an existing file is as it was, and a new one is removed.
 * Return: 0 if all has been written, or errno.
 */
int output_close(struct output *out, bool keep);

/* Return: what stands before and after the name in a message: only names of files have quotes. */
static inline const char *output_quote(const struct output *o)
{
	return o->name == o->room ? "" : "'";
}

/* Return: 0 if all has been written to a file so far, or errno. */
int output_error(FILE *f);

/* Write bytes, and remember for output_error() why this fails. */
void output_write(FILE *f, const void *data, size_t size);

/*
 * Write what is buffered for the output of the options.  A child that has printed must do that:
 * its parent cannot see whether it has failed.
 * Return: 0, or -1 with *e.
 */
int output_flush(FILE *f, const struct showing *show, struct error *e);

/*
 * Open the output of -o or --log-fd.
 * Return: 1; 0: the options name none; -1: *e.
 */
int output_choose(struct output *out, const struct showing *show, struct error *e);

/*
 * A file that is read must not be replaced by what is written about it.
 * Return: 0, or -1 with *e.
 */
int output_check_input(const struct showing *show, const char *input, const char *what,
		       struct error *e);

/* ---- output-place.c ---------------------------------------------------------------- */

/* Set the directory of the file, and its name in it.  Return: false: errno says why not. */
bool output_place(struct output *out, const char *name);

/* Set the place of the file that is open as out->target.  Return: false: the file has no name. */
bool output_find_place(struct output *out, const char *name);

/* Make the file of OUTPUT_NEW or OUTPUT_RENAME.  Return: a descriptor, or -1 with errno. */
int output_make_new(struct output *out);
int output_make_temp(struct output *out);

/* Make a file without a name.  Return: a descriptor, or -1 with errno. */
int output_make_unnamed(void);

/* Put the file in its place.  Return: 0 or errno. */
int output_rename(struct output *out);

/* Write over the target what has been written to out->f, and let out->f be the target. */
int output_copy(struct output *out);

/* No signal removes the file any more.  Without keep, it is removed now. */
void output_finish(struct output *out, bool keep);

#endif /* PERFEX_OUTPUT_H */
