/* SPDX-License-Identifier: GPL-2.0 */
/* Functions and lines of code. */
#ifndef PERFEX_SYMBOLS_H
#define PERFEX_SYMBOLS_H

#include "perfex.h"
#include "work.h"

/* The device and inode that the kernel reports of a mapped file. */
struct file_identity {
	uint32_t major, minor;
	uint64_t inode;		/* 0: not known */
};

/* True if the open file is the one that was mapped, or if that cannot be said. */
bool file_is_same(int fd, const struct file_identity *id);

/* Code that has symbols: a mapped file, the kernel's vDSO, or what a JIT has made. */
struct module;

#define MAX_BUILD_ID	36

/* A file as a process had it. */
struct file_description {
	struct file_identity id;	/* of none, if there is a build ID */
	uint64_t known;			/* 1: perfex read the file when it was recorded: */
	uint64_t size, modified;
	uint64_t code_offset, code_size, code_address;
	uint32_t build_id_size;
	unsigned char build_id[MAX_BUILD_ID];
	/* not of the file */
	uint32_t pid;			/* the last process that mapped it; 0: not known */
};

/* Files are found below this directory, too; NULL: below none. */
void modules_use_directory(const char *directory);
const char *modules_directory(void);

/*
 * Write the path below the directory of modules_use_directory().  Return: false: there is no such
 * directory, or the path is too long.
 */
bool below_directory(const char *path, char *there, size_t size);

/*
 * Open the file of this description, or its debugging information.
 * Return: NULL, with *e: it is not there, or another file is
 */
struct module *module_open_file(const char *path, const struct file_description *file,
				struct error *e);

/*
 * Open the running kernel's vDSO.  Return: NULL: there are no symbols, or the vDSO is not that of
 * the running kernel.
 */
struct module *module_open_vdso(uint64_t size);
struct jit_symbols;
struct jit_dump;
/* Symbols and dump remain the caller's, who frees them after the module. */
struct module *module_open_jit(struct jit_symbols *symbols);
struct module *module_open_dump(struct jit_dump *dump);
/* Return: the owner of the file that has the names and lines. */
uid_t module_owner(const struct module *m);
void module_close(struct module *m);

/* The file of the module. */
const struct work *module_work(const struct module *m);

/* Return: what is left out of the file's information, once a place was looked for; or NULL */
const char *module_remark(const struct module *m);

/* Return: the error for which debuginfod's servers have not answered, or 0 */
int module_no_answer(const struct module *m);

/* Why a file is not used: see work_allows(). */
#define TOO_MUCH_WORK	"to read it takes too much time or memory"

/* The module owns the strings; NULL: not known. */
struct place {
	const char *function;
	const char *source;
	int line;
};

/* Details that need debugging information: functions that have symbols are found without it. */
struct details {
	bool inlined, lines;
};

/*
 * Find the function at an offset of the file, and those into which it is inlined: the
 * innermost is the first.  The caller has called work_looks() for it.  *address: the offset as in
 * the file's symbols.
 * Return: how many there are; at least 1
 */
unsigned int module_find(struct module *m, uint64_t offset, const struct details *details,
			 uint64_t *address, struct place *places, unsigned int room);

/* The code of a function. */
struct code {
	uint64_t start;			/* as in the file's symbols */
	uint64_t offset;		/* of the start in the file, as for module_find() */
	uint64_t size;
	const unsigned char *bytes;	/* the module's; NULL: not known */
	unsigned int machine;		/* EM_X86_64 and the like */
};

/* Find the code of the function at an offset.  Return: false: there is no function. */
bool module_function(struct module *m, uint64_t offset, struct code *code);

/*
 * Open a file whose name may come from an attacker, to read it.  It has contents: it is no
 * device, no FIFO, and none of /proc or /sys.  flags: 0 or O_NOFOLLOW
 * Return: -1, with errno: cannot
 */
int open_named(const char *path, int flags);

/* Open what a link in /proc/PID leads to, which perfex has named itself. */
int open_link_of_process(const char *link);

/* Do what open_named() does, below the root directory of a process.  No link leads out of it. */
int open_named_below(const char *root, const char *path, int flags);

/* Open a file of a process, such as "maps".  Return: NULL: there is none, or no process */
FILE *open_of_process(uint32_t pid, const char *file);

/*
 * Do what open_named() does, in two steps.  The result of the first one only serves to look at
 * the file.
 */
int find_named(const char *path, int flags);
int open_found(int found);

/*
 * live-file.c: open the file that a process has mapped under this path, if it lives.  *name:
 * where it was found; "": only the descriptor leads there.
 * Return: -1: cannot; else the caller finds out whether it is that file
 */
enum live_way { LIVE_PROGRAM, LIVE_BELOW_ROOT, LIVE_MAP_FILE, NR_LIVE_WAYS };
int open_live_file(uint32_t pid, const char *path, enum live_way way, char *name, size_t size);

/* The path that a removed file had.  Return: false: it is not a removed one's */
bool path_without_deleted(const char *path, char *buf, size_t size);

/* Return: why a file that has a path like this cannot be opened; NULL: there may be other reasons */
const char *why_no_path(const char *path);

/* The part of a program or library that the kernel reads. */
struct elf_head {
	uint64_t code_offset, code_size, code_address;	/* the first segment of code */
	uint32_t build_id_size;				/* 0: it has none */
	unsigned char build_id[MAX_BUILD_ID];
};

#define NO_ELF	"it is no ELF file"

/* Read the head of an ELF file.  Return: false: it is no ELF file, or cannot be read. */
bool elf_head_read(int fd, struct elf_head *head);

/* Open the file of this description.  Return: -1: it is not there, or another file is */
int open_sampled(const char *path, const struct file_description *file);

/* Open a copy of the vDSO.  Return: -1: cannot, or it is not that of the running kernel */
int open_vdso(uint64_t size);

/* True if the file has no symbols but those that other files use.  It has this build ID. */
bool module_is_stripped(struct module *m, char *build_id, size_t size);

/* Load the library that knows C++'s names.  While perfex works on a file, none can be loaded. */
void demangle_load(void);

/* Return: the name as in the source, which the caller frees; NULL: it is this one already. */
char *demangle(const char *name);
/* Do the same for a name of a symbol table.  Those of JITs are no such names, and may have "@@". */
char *demangle_symbol(const char *name);
/* Do what demangle() does, for a symbol of Rust's that begins with "_R". */
char *demangle_rust(const char *text);

#endif /* PERFEX_SYMBOLS_H */
