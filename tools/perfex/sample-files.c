// SPDX-License-Identifier: GPL-2.0
/*
 * Record which files are mapped: their build IDs, sizes and times.
 *
 * A path is that of the process, which may have another root directory, and another file
 * may have the path later.  While the process lives, the kernel leads to the file itself.
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sample.h"
#include "symbols.h"

/* A file that the recording describes: the same path, device and inode. */
struct known_file {
	uint64_t size, modified;
};

/* Return: a descriptor for fstat() only, of a regular file; -1: there is none */
static int open_path(const char *path, const struct file_identity *id)
{
	/* The process may be an attacker's: opening a device would have effects. */
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || !file_is_same(fd, id))) {
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
	fd = open_path(name, &id);
	if (fd >= 0)
		return fd;
	if (snprintf(name, sizeof(name), PROC "/%" PRIu32 "/root%s", map->task.pid, path) <
	    (int)sizeof(name))
		fd = open_path(name, &id);
	/* The process may have ended. */
	return fd >= 0 ? fd : open_path(path, &id);
}

static void read_code(Elf *elf, struct record_file *r)
{
	GElf_Phdr phdr;
	size_t i, nr;

	if (elf_getphdrnum(elf, &nr))
		return;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
		    !(phdr.p_flags & PF_X))
			continue;
		r->code_offset = phdr.p_offset;
		r->code_size = phdr.p_filesz;
		r->code_address = phdr.p_vaddr;
		return;
	}
}

static void read_elf(int path_fd, struct record_file *r)
{
	char name[64];
	const void *id;
	ssize_t len;
	Elf *elf;
	int fd;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", path_fd);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	elf_version(EV_CURRENT);
	/* The file may become shorter meanwhile: it is read, and not mapped. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		read_code(elf, r);
		len = dwelf_elf_gnu_build_id(elf, &id);
		if (len > 0 && (size_t)len <= sizeof(r->build_id)) {
			r->build_id_size = (uint32_t)len;
			memcpy(r->build_id, id, (size_t)len);
		}
	}
	elf_end(elf);
	close(fd);
}

/* Return: what is known of the file, which is new if it is all 0; NULL: no memory */
static struct known_file *find_file(struct recording *rec, const struct record_mapping *map,
				    const char *path)
{
	struct known_file *files;
	uint32_t i, nr = rec->file_names.nr;
	char *key;

	if (asprintf(&key, "%" PRIx32 ":%" PRIx32 ":%" PRIx64 " %s", map->major, map->minor,
		     map->inode, path) < 0)
		return NULL;
	if (!rec->file_names.size)
		rec->file_names = (struct table){ .size = sizeof(char *), .text = true };
	i = table_add(&rec->file_names, key);
	free(key);
	if (!i)
		return NULL;
	if (rec->file_names.nr != nr) {
		files = reallocarray(rec->files, i + 1, sizeof(*files));
		if (!files)
			return NULL;
		rec->files = files;
		files[i] = (struct known_file){ 0 };
	}
	return &rec->files[i];
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
			*known = (struct known_file){ r.size, r.modified };
			read_elf(fd, &r);
			write_record(rec, RECORD_FILE, &r, sizeof(r), path);
		}
	}
	close(fd);
}

void forget_files(struct recording *rec)
{
	table_free(&rec->file_names);
	free(rec->files);
}
