// SPDX-License-Identifier: GPL-2.0
/*
 * Record which files are mapped: their build IDs, sizes and times.
 *
 * A path is that of the process, which may have another root directory, and another file
 * may have the path later.  While the process lives, the kernel leads to the file itself.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"
#include "symbols.h"

/* A file that the recording describes.  Its path may have any length, and is known by its hash. */
struct known_file {
	uint64_t inode, path;
	uint32_t major, minor;
	/* after the key */
	uint64_t size, modified;
};

/* When there are more, all are forgotten, and described again: a process can map any number. */
#define MAX_KNOWN	65536

/* Return: a descriptor for fstat() only; -1: the file is not there, or another one is */
static int find_same(const char *path, const struct file_identity *id)
{
	int fd = find_named(path, 0);

	if (fd >= 0 && !file_is_same(fd, id)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Find the file of a mapping.  Only the first way is open to root alone. */
static int open_mapped(const struct record_mapping *map, const char *path)
{
	const struct file_identity id = { map->major, map->minor, map->inode };
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), PROC "/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 map->task.pid, map->start, map->end);
	fd = find_same(name, &id);
	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof(name), PROC "/%" PRIu32 "/root%s", map->task.pid, path) <
	    (int)sizeof(name))
		fd = find_same(name, &id);
	/* A program that was replaced, or that has never had a path */
	if (fd < 0) {
		snprintf(name, sizeof(name), PROC "/%" PRIu32 "/exe", map->task.pid);
		fd = find_same(name, &id);
	}
	/* The process may have ended. */
	return fd >= 0 ? fd : find_same(path, &id);
}

static void read_elf(int found, struct record_file *r)
{
	int fd = open_found(found);
	struct elf_head head;

	if (fd < 0)
		return;
	if (elf_head_read(fd, &head)) {
		r->code_offset = head.code_offset;
		r->code_size = head.code_size;
		r->code_address = head.code_address;
		r->build_id_size = head.build_id_size;
		_Static_assert(sizeof(r->build_id) == sizeof(head.build_id), "build IDs");
		memcpy(r->build_id, head.build_id, sizeof(r->build_id));
	}
	close(fd);
}

/* Return: what is known of the file, which is new if it is all 0; NULL: no memory */
static struct known_file *find_file(struct recording *rec, const struct record_mapping *map,
				    const char *path)
{
	const struct known_file key = {
		.inode = map->inode, .path = hash_of_bytes(path, strlen(path)),
		.major = map->major, .minor = map->minor,
	};
	uint32_t i;

	if (rec->files.nr > MAX_KNOWN)
		hash_table_free(&rec->files);
	if (!rec->files.size)
		rec->files = (struct hash_table){
			.size = sizeof(key), .key = offsetof(struct known_file, size),
		};
	i = hash_table_add(&rec->files, &key);
	return i ? (struct known_file *)rec->files.items + i : NULL;
}

void write_file(struct recording *rec, const struct record_mapping *map, const char *path)
{
	struct known_file *known;
	struct record_file r = {
		.major = map->major, .minor = map->minor, .inode = map->inode,
	};
	struct stat st;
	int fd;

	if (path[0] != '/' || !map->inode)
		return;
	fd = open_mapped(map, path);
	if (fd < 0)
		return;
	known = find_file(rec, map, path);
	if (known && !fstat(fd, &st)) {
		r.size = (uint64_t)st.st_size;
		r.modified = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
		/* Another file may have the inode of one that was removed. */
		if (known->size != r.size || known->modified != r.modified) {
			known->size = r.size;
			known->modified = r.modified;
			read_elf(fd, &r);
			write_record(rec, RECORD_FILE, &r, sizeof(r), path);
		}
	}
	close(fd);
}

void forget_files(struct recording *rec)
{
	hash_table_free(&rec->files);
}
