// SPDX-License-Identifier: GPL-2.0
/*
 * Read a file in the jitdump format: tools/perf/Documentation/jitdump-specification.txt
 * of Linux's source describes it.
 *
 * The file may come from an attacker, and may change while it is read.  So it is not
 * mapped, and each length in it is checked.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash-table.h"
#include "intervals.h"
#include "jit-dump.h"

#define DUMP_MAGIC	0x4a695444
#define DUMP_VERSION	1
#define DUMP_TSC	1	/* flag: times are those of the TSC */

enum { CODE_LOAD, CODE_MOVE, CODE_DEBUG_INFO, CODE_CLOSE };

struct dump_header {
	uint32_t magic, version;
	uint32_t size;
	uint32_t machine;
	uint32_t pad;
	uint32_t pid;
	uint64_t time;
	uint64_t flags;
};

struct dump_record {
	uint32_t type;
	uint32_t size;		/* including this structure */
	uint64_t time;
};

struct dump_load {
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
	/* the name, then the code */
};

struct dump_move {
	uint32_t pid, tid;
	uint64_t vma, from, to, size, index;
};

struct dump_lines {
	uint64_t address;
	uint64_t nr;
};

struct dump_line {
	uint64_t address;
	uint32_t line, discriminator;
	/* the file's name */
};

#define MAX_CODES	(1U << 22)
#define MAX_RECORD_SIZE	(1U << 26)
#define MAX_LINES	(1U << 24)
#define MAX_NAME	4096

/* Functions of the next moments that are looked at, at most: there are more in attackers' files. */
#define MAX_PASSED	1024

/* How often time may go back.  Only clocks of a recording that an attacker has made go back. */
#define MAX_RETURNS	16

/*
 * Nanoseconds.  A time of the TSC is converted to the other clock, which may have been
 * adjusted meanwhile.
 */
#define TOLERANCE	100000

/* A function, or what has been moved of one. */
struct jit_code {
	uint64_t start, end;
	uint64_t offset;	/* of its instructions in the file */
	uint64_t since;
	uint32_t number;	/* in the order of the file */
	uint32_t load;		/* the function that it is, in `loads` */
};

struct jit_line {
	uint64_t at;		/* from the function's start */
	uint32_t line;
	uint32_t source;	/* in `names` */
};

struct jit_load {
	uint64_t start, size, offset;
	uint32_t name;		/* in `names` */
	uint32_t nrlines;
	struct jit_line *lines;
	unsigned char *bytes;	/* NULL: not known */
	bool bytes_read;	/* there was an attempt */
};

/* The function that a file calls by this number. */
struct jit_index {
	uint64_t index;
	uint32_t load, unused;
};

struct jit_dump {
	FILE *f;		/* NULL: all but the instructions is read */
	char *path;
	uint32_t pid;		/* that has mapped it, if it is found below its root only; or 0 */
	int flags;		/* to open it; 0: it is a link of a process */
	struct work work;
	uid_t owner;
	uint64_t at;
	uint32_t machine;
	bool tsc;		/* times are those of the TSC */
	struct jit_code *codes;	/* sorted by time */
	uint32_t nrcodes;
	/* Which code an address belongs to at the time `now`: a later code hides those below it. */
	struct intervals places;	/* the values are numbers of codes, from 1 */
	uint32_t set, nrplaced;		/* the set of places, which has the first nrplaced codes */
	uint64_t now;
	unsigned int returns;
	struct jit_load *loads;	/* sorted by their offset */
	uint32_t nrloads;
	struct hash_table names, indices;
	/* lines of the next function */
	struct jit_line *lines;
	uint32_t nrlines;
	uint64_t lines_address;
};

/* ---- the file -------------------------------------------------------------------------- */

bool is_jit_dump(const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned int pid;
	int end = 0;

	return slash && sscanf(slash, "/jit-%u.dump%n", &pid, &end) == 1 && end && !slash[end];
}

/*
 * True if perfex may read a dump: another user can make a file of that name.  Take only files of
 * this user and of root.  root may also read the very file that the process had mapped.
 * id: NULL: root has named the directory.
 */
static bool is_trusted(const struct stat *st, const struct file_identity *id)
{
	return !st->st_uid || st->st_uid == geteuid() ||
	       (!geteuid() && (!id || (id->inode && id->inode == st->st_ino)));
}

static bool read_all(struct jit_dump *d, void *to, size_t size)
{
	if (fread(to, 1, size, d->f) != size)
		return false;
	d->at += size;
	return true;
}

static bool skip(struct jit_dump *d, uint64_t size)
{
	d->at += size;
	return !fseeko(d->f, (off_t)d->at, SEEK_SET);
}

/* Return: a new item of a list that has room for a power of two; NULL: no memory */
static void *add_item(void **list, uint32_t *nr, size_t size)
{
	void *larger;

	if (!(*nr & (*nr - 1))) {
		larger = reallocarray(*list, *nr ? *nr * 2 : 1, size);
		if (!larger)
			return NULL;
		*list = larger;
	}
	return memset((char *)*list + (*nr)++ * size, 0, size);
}

static const char *name_of(const struct jit_dump *d, uint32_t name)
{
	return ((char **)d->names.items)[name];
}

/* Read a string that ends at or before `end`.  Return: false: there is none */
static bool read_name(struct jit_dump *d, uint64_t end, uint32_t *number)
{
	char text[MAX_NAME];
	size_t len = 0;
	int c = 1;

	while (d->at < end && c > 0) {
		c = getc(d->f);
		d->at++;
		if (c > 0 && len < sizeof(text) - 1)
			text[len++] = (char)c;
	}
	if (c)
		return false;
	text[len] = '\0';
	*number = hash_table_add(&d->names, text);
	return *number;
}

static struct jit_code *add_code(struct jit_dump *d, uint64_t start, uint64_t size, uint64_t time)
{
	struct jit_code *code;
	uint64_t end;

	if (d->nrcodes == MAX_CODES || !size || __builtin_add_overflow(start, size, &end))
		return NULL;
	code = add_item((void **)&d->codes, &d->nrcodes, sizeof(*code));
	if (code)
		*code = (struct jit_code){
			.start = start, .end = end, .since = time, .number = d->nrcodes - 1,
		};
	return code;
}

static int compare_line(const void *a, const void *b)
{
	const struct jit_line *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The lines before a function are its own. */
static void take_lines(struct jit_dump *d, struct jit_load *load)
{
	uint32_t i;

	if (!d->nrlines || d->lines_address != load->start) {
		free(d->lines);
	} else {
		for (i = 0; i < d->nrlines; i++)
			d->lines[i].at -= load->start;
		qsort(d->lines, d->nrlines, sizeof(*d->lines), compare_line);
		load->lines = d->lines;
		load->nrlines = d->nrlines;
	}
	d->lines = NULL;
	d->nrlines = 0;
}

static bool set_index(struct jit_dump *d, uint64_t index, uint32_t load)
{
	const struct jit_index key = { .index = index };
	uint32_t i = hash_table_add(&d->indices, &key);

	if (i)
		((struct jit_index *)d->indices.items)[i].load = load;
	return i;
}

static bool read_load(struct jit_dump *d, uint64_t end, uint64_t time)
{
	struct dump_load r;
	struct jit_load *load;
	struct jit_code *code;
	uint32_t name;

	if (!read_all(d, &r, sizeof(r)) || !read_name(d, end, &name) || r.size > end - d->at)
		return false;
	/* A function without instructions has no samples. */
	if (!r.size)
		return true;
	code = add_code(d, r.address, r.size, time);
	load = code ? add_item((void **)&d->loads, &d->nrloads, sizeof(*load)) : NULL;
	if (!load)
		return false;
	*load = (struct jit_load){
		.start = r.address, .size = r.size, .offset = d->at, .name = name,
	};
	code->offset = d->at;
	code->load = d->nrloads - 1;
	take_lines(d, load);
	return set_index(d, r.index, code->load);
}

/* A moved function is at both places: the old one may be used until it is overwritten. */
static bool read_move(struct jit_dump *d, uint64_t time)
{
	struct jit_code *code;
	struct jit_index key;
	struct dump_move r;
	uint32_t i;

	if (!read_all(d, &r, sizeof(r)))
		return false;
	key = (struct jit_index){ .index = r.index };
	i = hash_table_find(&d->indices, &key);
	if (!i)
		return true;
	i = ((struct jit_index *)d->indices.items)[i].load;
	code = add_code(d, r.to, d->loads[i].size, time);
	if (!code)
		return false;
	code->offset = d->loads[i].offset;
	code->load = i;
	return true;
}

static bool read_lines(struct jit_dump *d, uint64_t end)
{
	struct dump_lines r;
	struct dump_line one;
	struct jit_line *line;
	uint32_t name = 0;
	uint64_t i;
	bool ok = read_all(d, &r, sizeof(r));

	free(d->lines);
	d->lines = NULL;
	d->nrlines = 0;
	for (i = 0; ok && i < r.nr && d->nrlines < MAX_LINES; i++) {
		ok = d->at + sizeof(one) < end && read_all(d, &one, sizeof(one)) &&
		     read_name(d, end, &name);
		line = ok ? add_item((void **)&d->lines, &d->nrlines, sizeof(*line)) : NULL;
		ok = line;
		if (!ok)
			break;
		/* This name stands for that of the line before. */
		if (!strcmp(name_of(d, name), "\xff") && i)
			name = line[-1].source;
		*line = (struct jit_line){ .at = one.address, .line = one.line, .source = name };
	}
	d->lines_address = r.address;
	return ok;
}

/* Read the next record of the file.  Return: false: there are no more */
static bool read_record(struct jit_dump *d)
{
	uint64_t end = d->at;
	struct dump_record r;
	bool ok = true;

	if (!read_all(d, &r, sizeof(r)) || r.size < sizeof(r) || r.size > MAX_RECORD_SIZE)
		return false;
	end += r.size;
	switch (r.type) {
	case CODE_LOAD:
		ok = read_load(d, end, r.time);
		break;
	case CODE_MOVE:
		ok = read_move(d, r.time);
		break;
	case CODE_DEBUG_INFO:
		ok = read_lines(d, end);
		break;
	case CODE_CLOSE:
		return false;
	default:
		break;
	}
	return ok && d->at <= end && skip(d, end - d->at);
}

static int compare_code(const void *a, const void *b)
{
	const struct jit_code *x = a, *y = b;

	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Memory for their places is part of the work on the file. */
static bool sort_codes(struct jit_dump *d)
{
	if (d->nrcodes)
		qsort(d->codes, d->nrcodes, sizeof(*d->codes), compare_code);
	return intervals_reserve(&d->places, 2 * d->nrcodes);
}

static int read_dump(struct jit_dump *d, struct error *e)
{
	struct dump_header h;

	if (!read_all(d, &h, sizeof(h)) || h.magic != DUMP_MAGIC || h.version != DUMP_VERSION ||
	    h.size < sizeof(h) || !skip(d, h.size - sizeof(h)))
		return fail_with(e, "it is no jitdump of version 1 and of this byte order");
	d->machine = h.machine;
	d->tsc = h.flags & DUMP_TSC;
	/* After a record that is not whole, the JIT has not written more yet. */
	while (read_record(d))
		;
	return sort_codes(d) ? 0 : fail_with(e, "out of memory");
}

/* A process can map any number of dumps, and all that is read of them stays in memory. */
static int read_limited(struct jit_dump *d, struct error *e)
{
	const struct work *before = work_on(&d->work);
	int ret;

	errno = 0;
	ret = read_dump(d, e);
	if (errno == ENOMEM)
		work_no_memory();
	work_on(before);
	return ret;
}

/* Links are not followed here either. */
static int open_below_root(uint32_t pid, const char *path)
{
	char name[64];

	snprintf(name, sizeof(name), PROC "/%" PRIu32 "/root", pid);
	return open_named_below(name, path, O_NOFOLLOW);
}

/*
 * Open the file by its path.  If another one is there, or none, open the one that the process has
 * mapped: it may be in a container, or be removed.  d->path: where it is
 */
static int find_file(struct jit_dump *d, const char *path, const struct file_identity *id,
		     uint32_t pid)
{
	int fd = open_named(path, O_NOFOLLOW), live;
	const int error = errno;
	enum live_way way;
	char name[4096];

	snprintf(name, sizeof(name), "%s", path);
	d->path = strdup(name);
	d->flags = O_NOFOLLOW;
	errno = error;
	if (!id || !pid || (fd >= 0 && file_is_same(fd, id)))
		return fd;
	for (way = LIVE_BELOW_ROOT; way < NR_LIVE_WAYS; way++) {
		live = way == LIVE_BELOW_ROOT ? open_below_root(pid, path) :
						open_live_file(pid, path, way, name, sizeof(name));
		if (live >= 0 && file_is_same(live, id)) {
			if (fd >= 0)
				close(fd);
			d->pid = way == LIVE_BELOW_ROOT ? pid : 0;
			/* The kernel's links of a process lead to the file itself. */
			d->flags = 0;
			free(d->path);
			d->path = strdup(name);
			return live;
		}
		if (live >= 0)
			close(live);
	}
	errno = error;
	return fd;
}

/* id: NULL: the file may be a copy. */
static struct jit_dump *open_dump(const char *path, const struct file_identity *id, uint32_t pid,
				  struct error *e)
{
	struct jit_dump *d = calloc(1, sizeof(*d));
	int fd = d ? find_file(d, path, id, pid) : -1;
	struct stat st;

	if (!d || fd < 0 || fstat(fd, &st)) {
		fail_with(e, "%s", errno == EINVAL ? "it is no file" : strerror(errno));
		goto fail;
	}
	if (!is_trusted(&st, id)) {
		fail_with(e, "it belongs to another user");
		goto fail;
	}
	if (id && !file_is_same(fd, id)) {
		fail_with(e, "it is not the file that the process has mapped");
		goto fail;
	}
	if (!work_allows(&d->work, fd, path)) {
		fail_with(e, TOO_MUCH_WORK);
		goto fail;
	}
	d->owner = st.st_uid;
	d->f = fdopen(fd, "r");
	if (!d->f) {
		fail_with(e, "%s", strerror(errno));
		goto fail;
	}
	d->names = (struct hash_table){ .size = sizeof(char *), .text = true };
	d->indices = (struct hash_table){
		.size = sizeof(struct jit_index), .key = sizeof(uint64_t),
	};
	if (d->path && !read_limited(d, e)) {
		/* A process can have any number of such files. */
		fclose(d->f);
		d->f = NULL;
		return d;
	}
	if (!d->path)
		fail_with(e, "out of memory");
	jit_dump_close(d);
	return NULL;
fail:
	if (fd >= 0)
		close(fd);
	if (d)
		free(d->path);
	free(d);
	return NULL;
}

struct jit_dump *jit_dump_open(const char *path, const struct file_identity *id, uint32_t pid,
			       struct error *e)
{
	char there[4096];

	if (!below_directory(path, there, sizeof(there)) || access(there, F_OK))
		return open_dump(path, id, pid, e);
	return open_dump(there, NULL, 0, e);
}

const struct work *jit_dump_work(const struct jit_dump *d)
{
	return &d->work;
}

uid_t jit_dump_owner(const struct jit_dump *d)
{
	return d->owner;
}

void jit_dump_close(struct jit_dump *d)
{
	uint32_t i;

	if (!d)
		return;
	if (d->f)
		fclose(d->f);
	free(d->path);
	for (i = 0; i < d->nrloads; i++) {
		free(d->loads[i].lines);
		free(d->loads[i].bytes);
	}
	hash_table_free(&d->names);
	hash_table_free(&d->indices);
	free(d->loads);
	free(d->codes);
	intervals_free(&d->places);
	free(d->lines);
	free(d);
}

/* ---- addresses and times ------------------------------------------------------------------- */

/* Between two pairs, and before and after all, the clocks run evenly. */
uint64_t to_monotonic(uint64_t tsc, const struct clock_pair *clocks, size_t nr)
{
	const struct clock_pair *a, *b;
	size_t low = 0, high = nr, middle;
	double ns;

	/* low: how many are not after the time */
	while (low < high) {
		middle = low + (high - low) / 2;
		if (clocks[middle].tsc <= tsc)
			low = middle + 1;
		else
			high = middle;
	}
	if (nr < 2)
		return UINT64_MAX;
	low = low ? low - 1 : 0;
	if (low > nr - 2)
		low = nr - 2;
	a = &clocks[low];
	b = &clocks[low + 1];
	if (b->tsc <= a->tsc)
		return UINT64_MAX;
	ns = ((double)tsc - (double)a->tsc) *
	     ((double)b->monotonic - (double)a->monotonic) / (double)(b->tsc - a->tsc);
	ns += (double)a->monotonic;
	return ns < 0 ? 0 : ns < 1e19 ? (uint64_t)ns : UINT64_MAX;
}

/* Go on to a time; samples are in the order of theirs.  Return: false: no memory */
static bool go_to(struct jit_dump *d, uint64_t time)
{
	const struct jit_code *code;

	if (time < d->now && d->returns < MAX_RETURNS) {
		d->returns++;
		d->set = d->nrplaced = 0;
		intervals_clear(&d->places);
		d->now = 0;
	}
	if (d->now < time)
		d->now = time;
	for (; d->nrplaced < d->nrcodes && d->codes[d->nrplaced].since <= d->now; d->nrplaced++) {
		code = &d->codes[d->nrplaced];
		d->set = intervals_put(&d->places, d->set, 1, code->start, code->end, d->nrplaced + 1);
		if (!d->set)
			return false;
	}
	return true;
}

uint64_t jit_dump_place(struct jit_dump *d, uint64_t address, uint64_t tsc,
			const struct clock_pair *clocks, size_t nrclocks)
{
	const uint64_t time = d->tsc ? tsc : to_monotonic(tsc, clocks, nrclocks);
	const struct jit_code *code;
	uint32_t i, end;

	if (!go_to(d, time))
		return 0;
	i = intervals_find(&d->places, d->set, address);
	if (i)
		return d->codes[i - 1].offset + (address - d->codes[i - 1].start);
	end = d->nrcodes - d->nrplaced < MAX_PASSED ? d->nrcodes : d->nrplaced + MAX_PASSED;
	for (i = d->nrplaced; i < end && d->codes[i].since - d->now <= TOLERANCE; i++) {
		code = &d->codes[i];
		if (address >= code->start && address < code->end)
			return code->offset + (address - code->start);
	}
	return 0;
}

/* Return: the function that has the offset, or NULL. */
static struct jit_load *find_load(const struct jit_dump *d, uint64_t offset)
{
	uint32_t low = 0, high = d->nrloads, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (d->loads[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && offset - d->loads[low - 1].offset < d->loads[low - 1].size ?
	       &d->loads[low - 1] : NULL;
}

bool jit_dump_find(const struct jit_dump *d, uint64_t offset, uint64_t *address,
		   struct place *place)
{
	const struct jit_load *load = find_load(d, offset);
	uint32_t low = 0, high, middle;

	if (!load)
		return false;
	offset -= load->offset;
	*address = load->start + offset;
	place->function = name_of(d, load->name);
	for (high = load->nrlines; low < high;) {
		middle = low + (high - low) / 2;
		if (load->lines[middle].at <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low && load->lines[low - 1].line <= INT32_MAX) {
		place->source = name_of(d, load->lines[low - 1].source);
		place->line = (int)load->lines[low - 1].line;
	}
	return true;
}

/*
 * All functions together take what the owner's files may take: their instructions may be holes.
 * Return: the function's instructions; NULL: they cannot be read any more, or take too much
 */
static unsigned char *read_code(const struct jit_dump *d, const struct jit_load *load)
{
	int fd = d->pid ? open_below_root(d->pid, d->path) :
		 d->flags ? open_named(d->path, d->flags) : open_link_of_process(d->path);
	const struct work *before;
	unsigned char *bytes;
	struct stat st;

	if (fd < 0)
		return NULL;
	before = work_on(&d->work);
	bytes = malloc(load->size);
	if (bytes && (fstat(fd, &st) || st.st_dev != d->work.dev || st.st_ino != d->work.inode ||
		      pread(fd, bytes, load->size, (off_t)load->offset) != (ssize_t)load->size)) {
		free(bytes);
		bytes = NULL;
	}
	work_on(before);
	close(fd);
	return bytes;
}

bool jit_dump_code(struct jit_dump *d, uint64_t offset, struct code *code)
{
	struct jit_load *load = find_load(d, offset);

	if (!load)
		return false;
	if (!load->bytes_read)
		load->bytes = read_code(d, load);
	load->bytes_read = true;
	*code = (struct code){
		.start = load->start, .offset = load->offset, .size = load->size,
		.bytes = load->bytes, .machine = d->machine,
	};
	return true;
}
