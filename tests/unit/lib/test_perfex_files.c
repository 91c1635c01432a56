// SPDX-License-Identifier: GPL-2.0
/* perfex --report finds the files that were sampled, and takes no others for them. */
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <utime.h>

#include "debug-files.h"
#include "disassemble.h"
#include "other-order.h"
#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

static char text[65536];

static void setup(void)
{
	command_setup();
	/* No test asks a server, or depends on what is installed here. */
	debuginfod_library = TMP "/debuginfod.so";
	unsetenv("DEBUGINFOD_URLS");
	setenv("ASKED", in_dir("servers"), 1);
	snprintf(text, sizeof(text), "mkdir -p %s/root%s", dir, dir);
	ck_assert_int_eq(system(text), 0);
}

static void teardown(void)
{
	snprintf(text, sizeof(text), "rm -rf %s/root", dir);
	ck_assert_int_eq(system(text), 0);
	command_teardown();
}

static const char *program(void)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/p", dir);
	return path;
}

/* Build the program, in which only this function is. */
static void build(const char *function, const char *options)
{
	char command[512];
	FILE *f = fopen(in_dir("p.c"), "w");

	fprintf(f, "volatile int n;\nvoid %s(void)\n{\n\tn = 7;\n}\nint main(void)\n{\n\t%s();\n\treturn 0;\n}\n",
		function, function);
	fclose(f);
	snprintf(command, sizeof(command), "${CC:-cc} -g -O0 %s -o p p.c", options);
	shell(command);
}

static uint64_t number_of(const char *command, int base)
{
	char line[512];
	FILE *f;

	snprintf(line, sizeof(line), "cd %s && %s", dir, command);
	f = popen(line, "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof(line), f));
	pclose(f);
	return strtoul(line, NULL, base);
}

/* Where the function is in the file. */
static uint64_t offset_of(const char *function)
{
	char command[128];
	uint64_t address, segment, offset;

	snprintf(command, sizeof(command), "nm --plugin none p | grep ' %s$'", function);
	address = number_of(command, 16);
	segment = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $3 }'", 16);
	offset = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $2 }'", 16);
	return address - segment + offset;
}

/* Describe the program as it is now.  inode: that it has as it is mapped */
static struct record_file describe(uint64_t inode, bool build_id)
{
	struct record_file r = { .major = 8, .minor = 1, .inode = inode };
	struct stat st;
	char id[128];
	unsigned int i, byte;
	FILE *f;

	ck_assert_int_eq(stat(program(), &st), 0);
	r.size = (uint64_t)st.st_size;
	r.modified = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	r.code_offset = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $2 }'", 16);
	r.code_address = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $3 }'", 16);
	r.code_size = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $5 }'", 16);
	if (!build_id)
		return r;
	snprintf(id, sizeof(id), "readelf -n %s | sed -n 's/.*Build ID: //p'", program());
	f = popen(id, "r");
	ck_assert_ptr_nonnull(fgets(id, sizeof(id), f));
	pclose(f);
	for (i = 0; sscanf(id + (size_t)i * 2, "%2x", &byte) == 1; i++)
		r.build_id[i] = (uint8_t)byte;
	r.build_id_size = i;
	ck_assert_uint_eq(i, 20);
	return r;
}

static void put_mapped(uint32_t pid, const struct record_file *file, uint32_t minor_is,
		       uint64_t inode)
{
	struct record_mapping r = {
		.task = { pid, pid, 0 }, .start = 0x10000000, .end = 0x20000000,
		.major = file ? file->major : 8, .minor = file ? file->minor : minor_is, .inode = inode,
	};

	if (file)
		put_record(RECORD_FILE, file, sizeof(*file), program());
	put_record(RECORD_MAPPING, &r, sizeof(r), program());
}

static void begin(void)
{
	put_header(in_dir("s"), 0);
	put_event(0, 1000, "instructions:u");
}

static void end(void)
{
	put_end(1, (uint64_t []){ 123456 });
	put_close();
}

/* A recording of one sample in this function of the program. */
static void record(const struct record_file *file, uint64_t offset)
{
	begin();
	put_mapped(10, file, 1, 77);
	put_sample(10, 10, 5, 0x10000000 + offset);
	end();
}

#define report(...)	perfex("--report", (char *)in_dir("s"), ##__VA_ARGS__)
#define report_below(...) report("--symfs", (char *)in_dir("root"), ##__VA_ARGS__)

/* ---- calls of other files --------------------------------------------------------------------- */

static const struct {
	const char *prefix, *options;
} stubs[] = {
	{ "", "-Wl,-z,lazy" },
	{ "", "-Wl,-z,now" },
	{ "", "-fcf-protection=full -Wl,-z,ibtplt" },
	/* through a pointer too, which makes .plt.got */
	{ "", "-DPOINTER" },
	{ "aarch64-linux-gnu-", "-Wl,-z,lazy" },
	{ "aarch64-linux-gnu-", "-Wl,-z,now" },
	{ "aarch64-linux-gnu-", "-mbranch-protection=standard -Wl,-z,force-bti,-z,pac-plt" },
};

/* objdump finds the stubs in its own way. */
START_TEST(stubs_of_calls)
{
	const char *prefix = stubs[_i].prefix;
	uint64_t address, segment, offset;
	char line[512], name[128], *end_of;
	unsigned int nr = 0, place;
	struct record_file file;
	FILE *f;

	snprintf(line, sizeof(line), "command -v %sgcc %sobjdump > /dev/null 2>&1", prefix, prefix);
	if (system(line))
		return;
#ifndef __x86_64__
	if (!*prefix && strstr(stubs[_i].options, "cf-protection"))
		return;
#endif
	f = fopen(in_dir("p.c"), "w");
	fputs("void one(void), _ZN3two5threeEi(int);\nextern void four(void);\n"
	      "#ifdef POINTER\nvoid (*pointer(void))(void) { return four; }\n#endif\n"
	      "void work(void) { one(); _ZN3two5threeEi(1); four(); one(); }\n", f);
	fclose(f);
	snprintf(line, sizeof(line), "%sgcc -O0 -fPIC -shared -nostdlib -Wl,--build-id=sha1 %s -o p p.c", prefix,
		 stubs[_i].options);
	shell(line);
	segment = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $3 }'", 16);
	offset = number_of("readelf -lW p | awk '$1 == \"LOAD\" && / R E / { print $2 }'", 16);
	file = describe(77, true);
	snprintf(line, sizeof(line), "cd %s && %sobjdump -d p | grep '@plt>:$'", dir, prefix);
	f = popen(line, "r");
	while (fgets(line, sizeof(line), f)) {
		address = strtoul(line, &end_of, 16);
		ck_assert_int_eq(sscanf(end_of, " <%127[^>]", name), 1);
		if (!strncmp(name, "_ZN", 3))
			strcpy(name, "two::three(int)@plt");
		/* its first and second instruction; the address and the size are the same */
		for (place = 0; place < 5; place += 4) {
			record(&file, address - segment + offset + place);
			ck_assert_int_eq(report(), 0);
			snprintf(text, sizeof(text), " 100.00%%             1  %s [p]\n", name);
			has(out, text);
		}
		if (!*prefix) {
			ck_assert_int_eq(report("--annotate", name), 0);
			snprintf(text, sizeof(text), " %s [p], instructions:u: 1 sample, 100.00%% of all\n",
				 name);
			has(out, text);
		}
		nr++;
	}
	pclose(f);
	ck_assert_uint_eq(nr, 3);
	/* The stub of the dynamic linker has no name. */
	offset += number_of("readelf -SW p | sed 's/.*\\] //' | awk '$1 == \".plt\" { print $3 }'", 16) - segment;
	record(&file, offset);
	ck_assert_int_eq(report(), 0);
	has_not(out, "@plt");
}
END_TEST

/* ---- the same file, or another one ----------------------------------------------------------- */

START_TEST(build_ids)
{
	struct record_file file;
	uint64_t at;

	build("work", "");
	file = describe(77, true);
	at = offset_of("work");
	record(&file, at);
	ck_assert_int_eq(report(), 0);
	has(out, "  work [p]\n");
	has(out, "/p.c:3  work\n");
	/* A copy, which is younger and has another inode, is the same. */
	shell("cp p copy && touch -d 2030-01-01 copy && mv copy p");
	ck_assert_int_eq(report(), 0);
	has(out, "  work [p]\n");
	/* A newer program has its functions at the same places, and other names. */
	shell("mv p root/$PWD/p");
	build("other", "");
	ck_assert_int_eq(report(), 0);
	has_not(out, "other [p]");
	has_not(out, "work [p]");
	snprintf(text, sizeof(text), " %s: another file has this name now, so its functions have no names (--symfs=DIR finds it in a directory or another root).\n",
		 program());
	has(out, text);
	ck_assert_int_eq(report_below(), 0);
	has(out, "  work [p]\n");
	ck_assert_int_eq(report_below("--annotate=work"), 0);
	has(out, " work [p], instructions:u: 1 sample, 100.00% of all\n");
	/* The function has no name if the directory of --symfs has another file, too. */
	shell("cp p root/$PWD/p");
	ck_assert_int_eq(report_below(), 0);
	has_not(out, "other [p]");
	has(out, "another file has this name now, so its functions have no names.\n");
	unlink(program());
	ck_assert_int_eq(report(), 0);
	has(out, "/p: it cannot be read, so its");
}
END_TEST

/* Two roots have programs of the same path. */
START_TEST(two_roots)
{
	struct record_file work, other;
	uint64_t at;

	build("work", "");
	work = describe(77, true);
	at = offset_of("work");
	shell("cp p root/$PWD/p");
	build("other", "");
	other = describe(78, true);
	begin();
	put_mapped(10, &work, 0, 77);
	put_mapped(11, &other, 0, 78);
	put_sample(10, 10, 5, 0x10000000 + at);
	put_sample(11, 11, 5, 0x10000000 + at);
	put_sample(11, 11, 5, 0x10000000 + at);
	/* The inode is used again, by the other program. */
	other.inode = 77;
	put_mapped(12, &other, 0, 77);
	put_sample(12, 12, 5, 0x10000000 + at);
	/* A mapping without a description is that of the latest file. */
	put_mapped(13, NULL, 1, 77);
	put_sample(13, 13, 5, 0x10000000 + at);
	end();
	ck_assert_int_eq(report_below(), 0);
	has(out, "  80.00%             4  other [p]\n  20.00%             1  work [p]\n");
	ck_assert_int_eq(report(), 0);
	has(out, "  80.00%             4  other [p]\n  20.00%             1  [p]+0x");
}
END_TEST

/* ---- files of processes that live ------------------------------------------------------------ */

static void copy_into(int to)
{
	char buf[65536];
	int from = open(program(), O_RDONLY);
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			_exit(1);
	close(from);
}

/* Start the program, or a copy in memory only.  It stays before its first instruction. */
static pid_t start_program(bool in_memory)
{
	char *argv[] = { "p", NULL }, *env[] = { NULL };
	pid_t pid = fork();
	int status, fd;

	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (!in_memory)
			execve(program(), argv, env);
		fd = memfd_create("in/memory", MFD_CLOEXEC);
		copy_into(fd);
		fexecve(fd, argv, env);
		_exit(1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSTOPPED(status));
	return pid;
}

static void record_path(pid_t pid, const struct record_file *file, const char *path, uint64_t offset)
{
	struct record_mapping r = {
		.task = { (uint32_t)pid, (uint32_t)pid, 0 }, .start = 0x10000000, .end = 0x20000000,
		.major = file->major, .minor = file->minor, .inode = file->inode,
	};

	begin();
	put_task(RECORD_COMM, (uint32_t)pid, (uint32_t)pid, 0, "p");
	put_record(RECORD_FILE, file, sizeof(*file), path);
	put_record(RECORD_MAPPING, &r, sizeof(r), path);
	put_sample((uint32_t)pid, (uint32_t)pid, 5, 0x10000000 + offset);
	end();
}

static const struct {
	bool in_memory, replaced;
	const char *path, *label, *reason;
} lives[] = {
	{ false, false, "%s (deleted)", "[p (deleted)]", "it was removed or replaced while it ran, and its process has ended" },
	{ false, true, "%s (deleted)", "[p (deleted)]", "it was removed or replaced while it ran, and its process has ended" },
	{ false, true, "%s", "[p]", "another file has this name now" },
	{ true, false, "/memfd:in/memory (deleted)", "[memory (deleted)]", "it was in memory only (memfd_create), and its process has ended" },
};

/* A program that was upgraded or removed, or that has never had a path, while it runs and later. */
START_TEST(files_of_live_processes)
{
	struct record_file file;
	char path[256], row[128];
	uint64_t at;
	pid_t pid;

	build("work", "");
	file = describe(77, true);
	at = offset_of("work");
	pid = start_program(lives[_i].in_memory);
	shell("cp p copy; rm p");
	if (lives[_i].replaced)
		build("other", "");
	snprintf(path, sizeof(path), lives[_i].path, program());
	snprintf(row, sizeof(row), " 100.00%%             1  work %s\n", lives[_i].label);
	record_path(pid, &file, path, at);
	ck_assert_int_eq(report(), 0);
	has(out, row);
	has_not(out, "so its functions have no names");
	ck_assert_int_eq(report("--export=pprof"), 0);
	shell("python3 " SRC "shares.py pprof out > text");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ck_assert_int_eq(report(), 0);
	has_not(out, row);
	snprintf(text, sizeof(text), " %s: %s, so its functions have no names (--symfs=DIR finds ", path,
		 lives[_i].reason);
	has(out, text);
	/* A copy has the path without that mark. */
	if (lives[_i].in_memory)
		shell("mkdir -p root/memfd:in && cp copy root/memfd:in/memory");
	else
		shell("cp copy root/$PWD/p");
	ck_assert_int_eq(report_below(), 0);
	has(out, row);
}
END_TEST

/* Programs without build IDs have sizes and times. */
START_TEST(no_build_ids)
{
	struct record_file file;
	struct utimbuf later = { .actime = 1900000000, .modtime = 1900000000 };

	build("work", "-Wl,--build-id=none");
	file = describe(77, false);
	record(&file, offset_of("work"));
	ck_assert_int_eq(report(), 0);
	has(out, "  work [p]\n");
	ck_assert_int_eq(utime(program(), &later), 0);
	ck_assert_int_eq(report(), 0);
	has_not(out, "  work [p]\n");
	has(out, "/p: another file has this name now");
	/* A copy elsewhere may have another time, but not another size. */
	shell("cp p root/$PWD/p");
	ck_assert_int_eq(report_below(), 0);
	has(out, "  work [p]\n");
	shell("echo >> root/$PWD/p");
	ck_assert_int_eq(report_below(), 0);
	has_not(out, "  work [p]\n");
}
END_TEST

/* perfex did not see the file before the process ended. */
START_TEST(device_and_inode)
{
	struct record_mapping r = {
		.task = { 10, 10, 0 }, .start = 0x10000000, .end = 0x20000000,
	};
	struct stat st;
	uint64_t at;
	int i;

	build("work", "");
	at = offset_of("work");
	shell("cp p root/$PWD/p");
	ck_assert_int_eq(stat(program(), &st), 0);
	for (i = 0; i < 3; i++) {
		r.major = major(st.st_dev);
		r.minor = minor(st.st_dev) + (i == 1);
		r.inode = st.st_ino + (i == 2);
		begin();
		put_record(RECORD_MAPPING, &r, sizeof(r), program());
		put_sample(10, 10, 5, 0x10000000 + at);
		end();
		ck_assert_int_eq(report(), 0);
		if (!i) {
			has(out, "  work [p]\n");
			continue;
		}
		has_not(out, "  work [p]\n");
		has(out, "/p: another file has this name now");
		ck_assert_int_eq(report_below(), 0);
		has(out, "  work [p]\n");
	}
}
END_TEST

/* ---- debugging information -------------------------------------------------------------------- */

/* Put the file's debugging information where its build ID says, and strip it. */
static void separate(void)
{
	shell("id=$(readelf -n p | sed -n 's/.*Build ID: //p') && "
	      "to=root/usr/lib/debug/.build-id/$(echo $id | cut -c 1-2) && mkdir -p $to && "
	      "objcopy --only-keep-debug p $to/$(echo $id | cut -c 3-).debug && strip p");
}

static const char *const kinds_of_programs[] = { "-no-pie", "-pie -fPIE" };

START_TEST(separate_by_build_id)
{
	struct record_file file;

	build("work", kinds_of_programs[_i]);
	file = describe(77, true);
	record(&file, offset_of("work"));
	separate();
	ck_assert_int_eq(report_below(), 0);
	has(out, "  work [p]\n");
	has(out, "/p.c:3  work\n");
	ck_assert_int_eq(report_below("--annotate=work"), 0);
	if (disassembler_built())
		has_not(out, "in no file");
	ck_assert_int_eq(report(), 0);
	has_not(out, "  work [p]\n");
	has(out, "has no symbols (build ID ");
	/* The program is gone, or another one: its debugging information has all but the code. */
	build("other", "");
	ck_assert_int_eq(report_below(), 0);
	has(out, "  work [p]\n");
	has(out, "/p.c:3  work\n");
	unlink(program());
	ck_assert_int_eq(report_below("--annotate=work"), 0);
	has(out, " work [p], instructions:u: 1 sample, 100.00% of all\n");
	has(out, disassembler_built() ? "instructions are in no file" : "without capstone");
}
END_TEST

START_TEST(static_pie)
{
	struct record_file file;

	build("work", "-static-pie -fPIE");
	file = describe(77, true);
	record(&file, offset_of("work"));
	ck_assert_int_eq(report(), 0);
	has(out, "  work [p]\n");
	has(out, "/p.c:3  work\n");
	separate();
	ck_assert_int_eq(report_below(), 0);
	has(out, "  work [p]\n");
	has(out, "/p.c:3  work\n");
	check_other_order("--symfs", (char *)in_dir("root"));
}
END_TEST

/* A command that prints what it was asked, and knows some files. */
static void fake_command(const char *name, const char *script)
{
	FILE *f = fopen(in_dir(name), "w");

	fprintf(f, "#!/bin/sh\nprintf '[%%s]' ${0##*/} \"$@\" >> %s/asked\necho >> %s/asked\n%s\n", dir,
		dir, script);
	fchmod(fileno(f), 0755);
	fclose(f);
}

static void report_stripped(const char *path)
{
	struct record_mapping r = {
		.task = { 10, 10, 0 }, .start = 0x10000000, .end = 0x20000000,
	};

	snprintf(text, sizeof(text), "cp p '%s'", path);
	if (strcmp(path, program()))
		shell(text);
	begin();
	put_record(RECORD_MAPPING, &r, sizeof(r), path);
	put_sample(10, 10, 5, 0x10000000 + 0x1100);
	end();
	unlink(in_dir("asked"));
	ck_assert_int_eq(report(), 0);
	slurp("asked", text, sizeof(text));
}

/* Packages are named, and hostile names are no commands and no patterns. */
START_TEST(packages)
{
	static const char *const hostile[] = { "p$(touch x)", "p;touch x", "p*", "p[q]", "p\n-q", "p\\q" };
	char path[512], expected[2048];
	unsigned int i;

	build("work", "-s");
	snprintf(path, sizeof(path), "%s:%s", dir, getenv("PATH"));
	setenv("PATH", path, 1);
	setenv("DPKG_ADMINDIR", in_dir("no"), 1);
	fake_command("dpkg-query", "[ $# = 3 ] && [ \"$1\" = -S ] && case $2 in\n"
		     "*/p) echo \"libexample1:amd64: $2\"; seq 100000 ;;\n*) exit 1 ;;\nesac");
	fake_command("rpm", "exit 1");
	report_stripped(program());
	has(out, "): they are in the package libexample1-dbgsym, which may be in an archive of debugging symbols; or set DEBUGINFOD_URLS.\n");
	/* Files of other roots are in other packages. */
	ck_assert_int_eq(report_below(), 0);
	has(out, "find-dbgsym-packages");
	for (i = 0; i < ARRAY_SIZE(hostile); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, hostile[i]);
		report_stripped(path);
		ck_assert_int_ne(access(in_dir("x"), F_OK), 0);
		has(out, " has no symbols (build ID ");
		if (i > 1) {
			ck_assert_str_eq(text, "");
			continue;
		}
		snprintf(expected, sizeof(expected), "[dpkg-query][-S][%s][/usr%s]\n[rpm][-q][--qf][%%{NAME}\n][-f][%s]\n",
			 path, path, path);
		ck_assert_str_eq(text, expected);
	}
	/* dpkg may know the other name of the file, or rpm may. */
	fake_command("dpkg-query", "echo \"libother: $2.so\"; echo \"libc6:amd64: $3\"; exit 1");
	report_stripped(program());
	has(out, "they are in the package libc6-dbg,");
	fake_command("dpkg-query", "echo 'diversion by x from: y'");
	fake_command("rpm", "echo example");
	report_stripped(program());
	has(out, "): 'dnf debuginfo-install example' installs them; or set DEBUGINFOD_URLS.\n");
	/* Packages of other files are none of this one, and other words are no names. */
	fake_command("dpkg-query", "echo example: /x; exit 1");
	fake_command("rpm", "echo the file is owned by no package");
	report_stripped(program());
	has(out, "'find-dbgsym-packages ");
	unsetenv("DPKG_ADMINDIR");
}
END_TEST

/* dpkg's lists are read where they are of the known format: dpkg-query takes more memory and time. */
START_TEST(lists_of_packages)
{
	char line[1024];

	build("work", "-s");
	snprintf(line, sizeof(line), "%s:%s", dir, getenv("PATH"));
	setenv("PATH", line, 1);
	setenv("DPKG_ADMINDIR", dir, 1);
	fake_command("dpkg-query", "echo \"libasked: $2\"");
	fake_command("rpm", "exit 1");
	snprintf(line, sizeof(line), "mkdir info && printf '1\\n' > info/format && printf '/.\\n%s.so\\n' > info/libother.list &&"
		 " printf '/.\\n%s\\n/x\\n' > info/libone-2.0:amd64.list && cp info/libone* info/not.conffiles && mkfifo info/pipe.list",
		 program(), program());
	shell(line);
	report_stripped(program());
	has(out, "): they are in the package libone-2.0-dbgsym,");
	ck_assert_str_eq(text, "");
	/* The file may be known by its path below /usr. */
	snprintf(line, sizeof(line), "printf '/usr%s' > info/libone-2.0:amd64.list", program());
	shell(line);
	report_stripped(program());
	has(out, "): they are in the package libone-2.0-dbgsym,");
	shell("printf '2\\n' > info/format");
	report_stripped(program());
	has(out, "): they are in the package libasked-dbgsym,");
	shell("rm -r info");
	unsetenv("DPKG_ADMINDIR");
}
END_TEST

/* ---- debuginfod --------------------------------------------------------------------------------- */

#define OF_LIBRARY	"(Debian: libdebuginfod1, Fedora: elfutils-debuginfod-client)"

/* Report the stripped program, with a dpkg that knows its package. */
static void report_with_servers(const char *urls)
{
	char line[512];

	snprintf(line, sizeof(line), "%s:%s", dir, getenv("PATH"));
	setenv("PATH", line, 1);
	setenv("DPKG_ADMINDIR", in_dir("no"), 1);
	fake_command("dpkg-query", "echo \"libasked: $2\"");
	fake_command("rpm", "exit 1");
	if (urls)
		setenv("DEBUGINFOD_URLS", urls, 1);
	unlink(in_dir("servers"));
	report_stripped(program());
	unsetenv("DEBUGINFOD_URLS");
}

static bool server_asked(void)
{
	return !access(in_dir("servers"), F_OK);
}

static bool dpkg_asked(void)
{
	return *text;
}

/* A server has the file: neither dpkg nor rpm is asked. */
START_TEST(separate_on_a_server)
{
	struct record_file file;

	build("work", kinds_of_programs[_i]);
	file = describe(77, true);
	record(&file, offset_of("work"));
	separate();
	ck_assert_int_eq(report(), 0);
	has_not(out, "  work [p]\n");
	setenv("SERVED", in_dir("root/usr/lib/debug/.build-id"), 1);
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	ck_assert_int_eq(report(), 0);
	has(out, "  work [p]\n");
	has(out, "/p.c:3  work\n");
	has_not(out, "has no symbols");
	shell("test $(sort -u servers | wc -l) = 1 && readelf -n p | grep -q \"Build ID: $(head -n 1 servers)$\"");
	/* without the variable, it is not used */
	unlink(in_dir("servers"));
	setenv("DEBUGINFOD_URLS", "", 1);
	ck_assert_int_eq(report(), 0);
	has_not(out, "  work [p]\n");
	ck_assert(!server_asked());
}
END_TEST

START_TEST(no_server_has_it)
{
	char expected[512];

	build("work", "-s");
	report_with_servers("http://localhost:1");
	ck_assert(server_asked());
	ck_assert(!dpkg_asked());
	has(out, "/p has no symbols (build ID ");
	has(out, "), and none are on the servers of DEBUGINFOD_URLS.\n");
	report_with_servers(NULL);
	ck_assert(!server_asked());
	ck_assert(dpkg_asked());
	has(out, "may be in an archive of debugging symbols; or set DEBUGINFOD_URLS.\n");
	/* A file without a build ID. */
	build("work", "-s -Wl,--build-id=none");
	report_with_servers("http://localhost:1");
	ck_assert(!server_asked());
	ck_assert(dpkg_asked());
	has(out, "/p has no symbols (build ID none): they are in the package libasked-dbgsym,");
	has(out, "; servers of DEBUGINFOD_URLS are asked only for files that are yours or root's and have a build ID.\n");
	/* The library is not installed. */
	debuginfod_library = "libdebuginfod.so.none";
	report_with_servers("http://localhost:1");
	ck_assert(dpkg_asked());
	snprintf(expected, sizeof(expected), "; or install libdebuginfod.so.1 %s, which asks the servers of DEBUGINFOD_URLS.\n",
		 OF_LIBRARY);
	has(out, expected);
	report_with_servers(NULL);
	snprintf(expected, sizeof(expected), "; or install libdebuginfod.so.1 %s and set DEBUGINFOD_URLS.\n",
		 OF_LIBRARY);
	has(out, expected);
	unsetenv("DPKG_ADMINDIR");
}
END_TEST

/* A server that cannot be asked has not said that it has none: packages are named, too. */
START_TEST(no_server_answers)
{
	build("work", "-s");
	setenv("SERVED", "unreachable", 1);
	report_with_servers("http://localhost:1");
	ck_assert(server_asked());
	ck_assert(dpkg_asked());
	has_not(out, "none are on the servers");
	has(out, "/p has no symbols (build ID ");
	has(out, "): they are in the package libasked-dbgsym,");
	has(out, "; the servers of DEBUGINFOD_URLS did not answer: Connection refused.\n");
	unsetenv("SERVED");
	unsetenv("DPKG_ADMINDIR");
}
END_TEST

/* The file of another user must not let root's perfex use the network.  Only root can make one. */
START_TEST(servers_for_files_of_others)
{
	if (geteuid())
		return;
	build("work", "-s");
	ck_assert_int_eq(chown(program(), 12345, 12345), 0);
	report_with_servers("http://localhost:1");
	ck_assert(!server_asked());
	ck_assert(dpkg_asked());
	has(out, "; servers of DEBUGINFOD_URLS are asked only for files that are yours or root's");
	ck_assert_int_eq(chown(program(), 0, 0), 0);
	report_with_servers("http://localhost:1");
	ck_assert(server_asked());
	unsetenv("DPKG_ADMINDIR");
}
END_TEST

/* ---- the recording ------------------------------------------------------------------------------ */

/* While the process lives, and after its end, its file is described once. */
START_TEST(recorded_files)
{
	struct stat st;
	struct record_file file;
	char expected[512];
	unsigned int i;
	size_t len;

	build("work", "");
	file = describe(0, true);
	ck_assert_int_eq(stat(program(), &st), 0);
	fake.nrsamples = 0;
	fake.exec_tsc = 4000000000;
	fake.nrrecords = 3;
	for (i = 0; i < 3; i++) {
		fake.records[i] = (struct fake_record){
			VPERFCTR_RECORD_MAP, .start = 0x400000 + i, .end = 0x500000,
			.major = major(st.st_dev), .minor = minor(st.st_dev),
			.inode = i < 2 ? st.st_ino : st.st_ino + 1,
		};
		strcpy(fake.records[i].text, program());
	}
	ck_assert_int_eq(perfex("--sample=instructions=1k", "-o", (char *)in_dir("s"), "true"), 0);
	shell(TMP "/print_samples s > text");
	slurp("text", text, sizeof(text));
	len = (size_t)snprintf(expected, sizeof(expected), "\nfile %lu %lu ", (unsigned long)st.st_ino,
			       (unsigned long)st.st_size);
	for (i = 0; i < file.build_id_size; i++)
		len += (size_t)snprintf(expected + len, sizeof(expected) - len, "%02x", file.build_id[i]);
	snprintf(expected + len, sizeof(expected) - len, " %s\nmapping ", program());
	has(text, expected);
	/* Another file has this path: nothing is known of the one that was mapped. */
	ck_assert_ptr_null(strstr(strstr(text, "\nfile ") + 1, "\nfile "));
}
END_TEST

START_TEST(misuse)
{
	ck_assert_int_eq(perfex("--symfs=/x", "true"), 125);
	is_message("perfex stat has no --symfs, which is an option of perfex report, perfex annotate");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-files");
	TCase *t = tcase_create("files");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, stubs_of_calls, 0, ARRAY_SIZE(stubs));
	tcase_add_test(t, build_ids);
	tcase_add_test(t, two_roots);
	tcase_add_loop_test(t, files_of_live_processes, 0, ARRAY_SIZE(lives));
	tcase_add_test(t, no_build_ids);
	tcase_add_test(t, device_and_inode);
	tcase_add_loop_test(t, separate_by_build_id, 0, 2);
	tcase_add_test(t, static_pie);
	tcase_add_test(t, packages);
	tcase_add_test(t, lists_of_packages);
	tcase_add_loop_test(t, separate_on_a_server, 0, 2);
	tcase_add_test(t, no_server_has_it);
	tcase_add_test(t, no_server_answers);
	tcase_add_test(t, servers_for_files_of_others);
	tcase_add_test(t, recorded_files);
	tcase_add_test(t, misuse);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
