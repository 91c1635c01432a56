// SPDX-License-Identifier: GPL-2.0
/* The files that perfex writes: a run that fails leaves them as they were. */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output.h"
#include "perfex-command.h"
#include "perfex.h"
#include "sample-builder.h"

#define OLD		"precious\n"
#define NEW		"1000000,,cycles:u,"

static char text[65536];

static void is_old(const char *name)
{
	slurp(name, text, sizeof(text));
	ck_assert_str_eq(text, OLD);
}

static void is_new(const char *name)
{
	slurp(name, text, sizeof(text));
	ck_assert_msg(!strncmp(text, NEW, strlen(NEW)), "%s", text);
}

/* No file of perfex's own is left. */
static void is_clean(void)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);

	while ((entry = readdir(d)))
		ck_assert_msg(strncmp(entry->d_name, ".perfex", 7), "%s is left", entry->d_name);
	closedir(d);
}

static struct stat status_of(const char *name)
{
	struct stat st;

	ck_assert_int_eq(lstat(in_dir(name), &st), 0);
	return st;
}

#define counted(...)	perfex("-x,", "-ecycles:u", "-o", (char *)in_dir("file"), ##__VA_ARGS__, "true")

/* ---- runs that fail ------------------------------------------------------------------------------ */

/* None of these can succeed; FILE stands for the output, IN for an input that is no counts. */
static const struct {
	const char *args[8];
	enum fake_call call;
	int error;
} failing[] = {
	{ { "-o", "FILE", "no-such-command-at-all" }, 0, 0 },
	{ { "-o", "FILE", "-e", "nonsense-event", "true" }, 0, 0 },
	{ { "-o", "FILE", "-r3", "no-such-command-at-all" }, 0, 0 },
	{ { "-o", "FILE", "-I20", "no-such-command-at-all" }, 0, 0 },
	{ { "-o", "FILE", "true" }, FAKE_CONTROL, EBUSY },
	{ { "-o", "FILE", "-a", "true" }, FAKE_OPEN_CPUS, EPERM },
	{ { "-o", "FILE", "-p", "1" }, FAKE_ATTACH, EPERM },
	{ { "-o", "FILE", "--append", "true" }, FAKE_CONTROL, EBUSY },
	{ { "-o", "FILE", "--sample", "no-such-command-at-all" }, 0, 0 },
	{ { "-o", "FILE", "--sample", "true" }, FAKE_CONTROL, EBUSY },
	{ { "-o", "FILE", "--sample=cycles=1k", "true" }, FAKE_RING, ENOMEM },
	{ { "-o", "FILE", "--sample", "-a", "true" }, FAKE_OPEN_CPUS, EPERM },
	{ { "-a", "--prometheus=FILE", "true" }, FAKE_OPEN_CPUS, EPERM },
	{ { "-o", "FILE", "-i" }, FAKE_DEVICE, ENOENT },
	{ { "list", "-o", "FILE", "--kind=0" }, FAKE_DEVICE, ENOENT },
	{ { "-o", "FILE", "--self-test" }, FAKE_DEVICE, ENOENT },
	{ { "--self-test", "--report=FILE" }, FAKE_DEVICE, ENOENT },
	{ { "-o", "FILE", "--report=IN" }, 0, 0 },
	{ { "-o", "FILE", "--report=IN", "--export=pprof" }, 0, 0 },
	{ { "-o", "FILE", "--report=IN", "--annotate=f" }, 0, 0 },
	{ { "merge", "-o", "FILE", "IN" }, 0, 0 },
	{ { "merge", "-o", "FILE", "/nonexistent" }, 0, 0 },
	{ { "plot", "-o", "FILE.svg", "IN" }, 0, 0 },
	{ { "plot", "-o", "FILE.html", "IN" }, 0, 0 },
};

/* Return: perfex's exit status. */
static int run_failing(unsigned int i, const char *name)
{
	char room[8][128], *args[10] = { "perfex" };
	unsigned int n;

	for (n = 0; failing[i].args[n]; n++) {
		const char *arg = failing[i].args[n], *end = strstr(arg, "FILE"), *in = strstr(arg, "IN");

		snprintf(room[n], sizeof(room[n]), "%s", arg);
		if (end)
			snprintf(room[n], sizeof(room[n]), "%.*s%s%s", (int)(end - arg), arg,
				 in_dir(name), end + 4);
		else if (in && !in[2])
			snprintf(room[n], sizeof(room[n]), "%.*s%s", (int)(in - arg), arg, in_dir("in"));
		args[n + 1] = room[n];
	}
	args[n + 1] = NULL;
	if (failing[i].error)
		fake.fail[failing[i].call] = failing[i].error;
	return finish(start(args));
}

START_TEST(failing_run)
{
	static const char *const names[] = { "file", "file.svg", "file.html" };
	unsigned int i;

	write_text("in", "no counts\n");
	/* There is none before, and none after, unless others may add to it. */
	ck_assert_int_ge(run_failing((unsigned int)_i, "file"), 125);
	for (i = 0; i < 3 && (!failing[_i].args[2] || strcmp(failing[_i].args[2], "--append")); i++)
		ck_assert_msg(access(in_dir(names[i]), F_OK), "an empty file is left");
	is_clean();
	for (i = 0; i < 3; i++)
		write_text(names[i], OLD);
	chmod(in_dir("file"), 0640);
	ck_assert_int_ge(run_failing((unsigned int)_i, "file"), 125);
	for (i = 0; i < 3; i++)
		is_old(names[i]);
	ck_assert_uint_eq(status_of("file").st_mode & 07777, 0640);
	/* The same through a link. */
	ck_assert_int_eq(symlink("file", in_dir("link")), 0);
	ck_assert_int_ge(run_failing((unsigned int)_i, "link"), 125);
	is_old("file");
	is_clean();
}
END_TEST

/* gnuplot is missing, or fails. */
START_TEST(failing_plot)
{
	write_text("in", "{\"interval\" : 1.0, \"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"x\"}\n");
	write_text("file.svg", OLD);
	setenv("PATH", dir, 1);
	ck_assert_int_eq(perfex("plot", (char *)in_dir("in"), "-o", (char *)in_dir("file.svg")), 125);
	is_message("gnuplot, which draws, is not installed");
	is_old("file.svg");
	is_clean();
}
END_TEST

/* ---- no room -------------------------------------------------------------------------------- */

#define ROOM		256	/* bytes: more than a message, and less than any of the outputs */

/* Each has more to write than there is room; COUNTS and SAMPLES are files to read. */
static const char *const full[][6] = {
	{ "diff", "COUNTS", "COUNTS" },
	{ "diff", "-j", "COUNTS", "COUNTS" },
	{ "diff", "-v", "SAMPLES", "SAMPLES" },
	{ "merge", "COUNTS" },
	{ "merge", "-j", "COUNTS" },
	{ "merge", "-x,", "COUNTS" },
	{ "report", "-i", "SAMPLES" },
	{ "report", "-j", "-i", "SAMPLES" },
	{ "report", "-i", "SAMPLES", "--export=svg" },
	{ "report", "-i", "SAMPLES", "--export=folded" },
	{ "report", "-i", "SAMPLES", "--export=pprof" },
	{ "report", "-i", "SAMPLES", "--export=firefox" },
	{ "report", "-i", "SAMPLES", "--export=script" },
	{ "report", "-i", "SAMPLES", "--export=perf" },
	{ "script", "-i", "SAMPLES" },
	{ "plot", "INTERVALS" },
	{ "list" },
	{ "-i" },
};

/* Functions without names, each of which is a row. */
static void write_samples(void)
{
	static const uint64_t counts[] = { 100000 };
	uint64_t i;

	put_header(in_dir("samples"), SAMPLES_CHAINS);
	put_event(0, 1000, "instructions:u");
	for (i = 0; i < 64; i++) {
		put_mapping(10, 0, 0x10000 * (i + 1), 0x10000 * (i + 2), 0, in_dir(i & 1 ? "one" : "two"));
		snprintf(text, sizeof(text), "thread %u", (unsigned int)i);
		put_task(RECORD_COMM, 10, (uint32_t)(10 + i), 0, text);
		put_sample(10, (uint32_t)(10 + i), 5 + i, 0x10000 * (i + 1) + 7 * i * i);
	}
	put_end(1, counts);
	put_close();
}

static void write_inputs(void)
{
	FILE *counts = fopen(in_dir("counts"), "w"), *intervals = fopen(in_dir("intervals"), "w");
	unsigned int i;

	for (i = 0; i < 20; i++) {
		fprintf(counts, "{\"counter-value\" : \"1000000\", \"unit\" : \"\", \"event\" : \"event-%u\"}\n", i);
		fprintf(intervals, "{\"interval\" : %u, \"counter-value\" : \"%u\", \"unit\" : \"\", \"event\" : \"x\"}\n",
			i + 1, i);
	}
	fclose(counts);
	fclose(intervals);
	write_samples();
}

/* Run a line of the table; file: for -o, or NULL.  Return: perfex's exit status */
static int run_full(const char *const *words, const char *file)
{
	static char room[6][128];
	char *args[10] = { "perfex" };
	unsigned int n = 1, i;

	for (i = 0; i < 6 && words[i]; i++) {
		const bool is_command = !i && words[i][0] != '-';

		snprintf(room[i], sizeof(room[i]), "%s", !strcmp(words[i], "COUNTS") ? in_dir("counts") :
			 !strcmp(words[i], "SAMPLES") ? in_dir("samples") :
			 !strcmp(words[i], "INTERVALS") ? in_dir("intervals") : words[i]);
		if (is_command)
			args[n++] = room[i];
		/* behind the name of the command, and in front of the program that is counted */
		if (!i && file) {
			args[n++] = "-o";
			args[n++] = (char *)file;
		}
		if (!is_command)
			args[n++] = room[i];
	}
	args[n] = NULL;
	return finish(start(args));
}

/* The disk is full, or the output ends early for another reason. */
START_TEST(no_room)
{
	const bool plots = !strcmp(full[_i][0], "plot");
	const char *name = plots ? "file.svg" : "file";
	char file[128];

	snprintf(file, sizeof(file), "%s", in_dir(name));
	write_inputs();
	write_text(name, OLD);
	/* There is enough to write. */
	ck_assert_int_eq(run_full(full[_i], file), 0);
	ck_assert_int_gt(status_of(name).st_size, ROOM);
	write_text(name, OLD);
	most_written = ROOM;
	ck_assert_int_eq(run_full(full[_i], file), 125);
	is_message(": File too large");
	is_old(name);
	is_clean();
	if (plots)
		return;
	ck_assert_int_eq(run_full(full[_i], NULL), 125);
	is_message("cannot write to standard output: File too large");
}
END_TEST

/* "-" is standard output: a command that prints there anyway prints the same. */
START_TEST(dash)
{
	static char before[sizeof(out)];
	const int as_file = strcmp(full[_i][0], "plot") ? 0 : 125;

	write_inputs();
	run_full(full[_i], NULL);
	strcpy(before, out);
	ck_assert_int_eq(run_full(full[_i], "-"), as_file);
	if (!as_file)
		ck_assert_str_eq(out, before);
	ck_assert_msg(access("-", F_OK), "a file has the name -");
}
END_TEST

START_TEST(dash_of_stat)
{
	ck_assert_int_eq(perfex("stat", "-x,", "-ecycles:u", "-o", "-", "true"), 0);
	ck_assert_msg(!strncmp(out, NEW, strlen(NEW)), "%s", out);
	ck_assert_str_eq(err, "");
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "--output=-", "--append", "echo", "first"), 0);
	ck_assert_msg(!strncmp(out, "first\n" NEW, strlen("first\n" NEW)), "%s", out);
	ck_assert_int_eq(perfex("-a", "top", "-ecycles:u", "-I20", "--timeout=0.1", "-o", "-"), 0);
	has(out, "cycles:u");
	ck_assert_int_eq(perfex("-o", "-", "--log-fd=1", "true"), 125);
	is_message("either -o or --log-fd says where to print");
	ck_assert_msg(access("-", F_OK), "a file has the name -");
	/* These write files that others read meanwhile. */
	ck_assert_int_eq(perfex("-a", "--prometheus=-", "true"), 125);
	is_message("--prometheus replaces its file again and again, and standard output is none");
	ck_assert_int_eq(perfex("self-test", "--report=-"), 125);
	is_message("--report needs a file");
}
END_TEST

/* A signal that ends a report leaves no file behind. */
START_TEST(interrupted)
{
	pid_t pid;
	int wstatus, i;

	/* The report waits for its input. */
	ck_assert_int_eq(mkfifo(in_dir("fifo"), 0600), 0);
	for (i = 0; i < 2; i++) {
		struct stat st;

		if (i)
			write_text("file", OLD);
		pid = start(ARGV("merge", (char *)in_dir("fifo"), "-o", (char *)in_dir("file")));
		close(open(in_dir("fifo"), O_WRONLY));
		ck_assert_int_eq(waitpid(pid, &wstatus, 0), pid);
		pid = start(ARGV("merge", (char *)in_dir("fifo"), "-o", (char *)in_dir("file")));
		usleep(300000);
		kill(pid, SIGTERM);
		ck_assert_int_eq(waitpid(pid, &wstatus, 0), pid);
		ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGTERM);
		if (i)
			is_old("file");
		else
			ck_assert_int_ne(stat(in_dir("file"), &st), 0);
		is_clean();
	}
}
END_TEST

/* Wait until a file of the test's directory has a text. */
static void await_text(const char *name, const char *what)
{
	int i;

	for (i = 0; i < 3000; i++, usleep(10000)) {
		slurp(name, text, sizeof(text));
		if (strstr(text, what))
			return;
	}
	ck_abort_msg("no '%s' in '%s'", what, name);
}

static bool has_nameless_files(void)
{
	int fd = open(dir, O_RDWR | O_TMPFILE, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* SIGKILL leaves an existing file as it was, and no other one: of counts until they are there. */
START_TEST(killed)
{
	const bool intervals = _i;
	pid_t pid, command;
	int wstatus;

	if (!has_nameless_files())
		return;
	write_text("file", OLD);
	pid = start(ARGV("-x,", "-ecycles:u", intervals ? "-I60000" : "-r2", "-o", (char *)in_dir("file"),
			 "sh", "-c", "echo $$ is it; exec sleep 600"));
	await_text("out", " is it\n");
	command = atoi(text);
	is_clean();
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, &wstatus, 0), pid);
	kill(command, SIGKILL);
	ck_assert(WIFSIGNALED(wstatus) && WTERMSIG(wstatus) == SIGKILL);
	is_old("file");
	is_clean();
}
END_TEST

/* The command removes the file, or its directory: the counts are elsewhere, and perfex fails. */
START_TEST(removed_meanwhile)
{
	static const char *const remove[] = { "rm file", "rm file", "rm -r dir", "rm -r dir", "rm -r dir" };
	static const char *const names[] = { "file", "file", "dir/new", "dir/old", "dir/link" };
	char command[256], name[128];

	ck_assert_int_eq(mkdir(in_dir("dir"), 0700), 0);
	write_text("dir/old", OLD);
	shell("ln -s new dir/link");
	snprintf(name, sizeof(name), "%s", in_dir(names[_i]));
	snprintf(command, sizeof(command), "cd %s && %s", dir, remove[_i]);
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", name, _i ? "--append" : "-v", "sh", "-c", command), 125);
	has(err, NEW);
	snprintf(command, sizeof(command), "perfex: cannot write to '%s': No such file or directory; the counts are above, on standard error\n", name);
	has(err, command);
	shell("rm -rf dir");
	is_clean();
}
END_TEST

/* Without --append, an existing file that is removed is there again; its directory is not. */
START_TEST(old_file_is_removed)
{
	char command[256];

	write_text("file", OLD);
	snprintf(command, sizeof(command), "rm %s", in_dir("file"));
	ck_assert_int_eq(counted("sh", "-c", command), 0);
	is_new("file");
	ck_assert_int_eq(mkdir(in_dir("dir"), 0700), 0);
	write_text("dir/old", OLD);
	snprintf(command, sizeof(command), "rm -r %s", in_dir("dir"));
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", (char *)in_dir("dir/old"), "sh", "-c", command), 125);
	has(err, NEW);
	has(err, "dir/old': No such file or directory; the counts are above");
	/* perfex prints the next intervals to standard error. */
	snprintf(command, sizeof(command), "until grep -q cycles %s; do sleep 0.02; done; rm %s; sleep 0.3",
		 in_dir("file"), in_dir("file"));
	unlink(in_dir("file"));
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-I100", "-o", (char *)in_dir("file"), "sh", "-c", command), 125);
	has(err, "cycles:u,");
	has(err, "file': No such file or directory; the counts are above");
	/* There are no samples in it. */
	snprintf(command, sizeof(command), "rm %s", in_dir("file"));
	ck_assert_int_eq(perfex("record", "-ecycles=1k", "-o", (char *)in_dir("file"), "sh", "-c", command), 125);
	has(err, "file': No such file or directory\n");
	is_clean();
}
END_TEST

/* A file that is read is not replaced. */
START_TEST(input_as_output)
{
	write_text("file", "{\"counter-value\" : \"1\", \"unit\" : \"\", \"event\" : \"x\"}\n");
	ck_assert_int_eq(perfex("merge", (char *)in_dir("file"), "-o", (char *)in_dir("file")), 125);
	is_message("is one of the files to read, and -o would replace it: name another");
	slurp("file", text, sizeof(text));
	has(text, "counter-value");
}
END_TEST

/* ---- runs that succeed ------------------------------------------------------------------------- */

/* The file keeps its mode, its owner, its links and its other names. */
START_TEST(file_is_kept)
{
	struct stat before, after;

	write_text("file", OLD);
	chmod(in_dir("file"), 0640);
	if (!geteuid())
		ck_assert_int_eq(chown(in_dir("file"), 12345, 23456), 0);
	before = status_of("file");
	ck_assert_int_eq(counted(), 0);
	is_new("file");
	after = status_of("file");
	ck_assert_uint_eq(after.st_mode, before.st_mode);
	ck_assert_uint_eq(after.st_uid, before.st_uid);
	ck_assert_uint_eq(after.st_gid, before.st_gid);
	/* a link */
	ck_assert_int_eq(rename(in_dir("file"), in_dir("target")), 0);
	ck_assert_int_eq(symlink("target", in_dir("file")), 0);
	write_text("target", OLD);
	ck_assert_int_eq(counted(), 0);
	is_new("target");
	ck_assert(S_ISLNK(status_of("file").st_mode));
	ck_assert_uint_eq(status_of("target").st_mode, before.st_mode);
	/* a link to a file that is made */
	unlink(in_dir("target"));
	ck_assert_int_eq(counted(), 0);
	is_new("target");
	ck_assert(S_ISLNK(status_of("file").st_mode));
	/* another name of the same file */
	unlink(in_dir("file"));
	ck_assert_int_eq(link(in_dir("target"), in_dir("file")), 0);
	write_text("target", OLD);
	ck_assert_int_eq(counted(), 0);
	is_new("target");
	ck_assert_uint_eq(status_of("file").st_ino, status_of("target").st_ino);
	is_clean();
}
END_TEST

/* The directory cannot have another file: the old one is written when there are counts. */
START_TEST(fixed_directory)
{
	pid_t pid;

	write_text("file", OLD "and more that is longer than the counts " OLD OLD OLD OLD OLD OLD);
	chmod(in_dir("file"), 0666);
	redirect("out", STDOUT_FILENO);
	redirect("err", STDERR_FILENO);
	chmod(in_dir("out"), 0666);
	chmod(in_dir("err"), 0666);
	chmod(dir, 0555);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		char *args[] = { "perfex", "-x,", "-ecycles:u", "-o", (char *)in_dir("file"), "true", NULL };

		if (!geteuid() && setuid(65534))
			_exit(99);
		exit(perfex_main(ARRAY_SIZE(args) - 1, args));
	}
	ck_assert_int_eq(wait_for(pid), 0);
	chmod(dir, 0700);
	is_new("file");
	has_not(text, "more");
	is_clean();
}
END_TEST

/* Intervals can be read while perfex counts, and the old file is there until the first. */
START_TEST(intervals_are_seen)
{
	char command[256];

	write_text("file", OLD);
	snprintf(command, sizeof(command), "grep -q precious %s || exit 3; until grep -q cycles %s; do sleep 0.02; done",
		 in_dir("file"), in_dir("file"));
	ck_assert_int_eq(perfex("-I200", "-x,", "-ecycles:u", "-o", (char *)in_dir("file"), "sh", "-c", command), 0);
	slurp("file", text, sizeof(text));
	has_not(text, "precious");
	ck_assert_int_ge(status_of("file").st_size, 40);
	is_clean();
}
END_TEST

/* Several runs add to a file that none of them has found: the ranks of an MPI job, for instance. */
START_TEST(several_append)
{
	char add[256];

	/* Another one is faster, and adds its line first. */
	snprintf(add, sizeof(add), "echo another >> %s", in_dir("file"));
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "--append", "-o", (char *)in_dir("file"), "sh", "-c", add), 0);
	slurp("file", text, sizeof(text));
	has(text, "another\n" NEW);
	/* One that fails leaves the file to others, which may have opened it. */
	unlink(in_dir("file"));
	fake.fail[FAKE_CONTROL] = EBUSY;
	ck_assert_int_eq(counted("--append"), 125);
	ck_assert_int_eq(access(in_dir("file"), F_OK), 0);
}
END_TEST

/* A new file is moved away while perfex runs, and another one gets its name. */
START_TEST(new_file_is_replaced)
{
	struct output o;
	struct error e;

	ck_assert_int_eq(output_open(&o, in_dir("file"), 0, &e), 0);
	ck_assert_int_eq(o.way, OUTPUT_NEW);
	ck_assert_int_eq(rename(in_dir("file"), in_dir("moved")), 0);
	write_text("file", OLD);
	ck_assert_int_eq(output_close(&o, false), 0);
	is_old("file");
}
END_TEST

/* Descriptors and pipes that the user has opened: what is written goes on where they are. */
START_TEST(open_descriptors)
{
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", "/dev/stdout", "echo", "first"), 0);
	ck_assert_int_eq(strncmp(out, "first\n" NEW, strlen("first\n" NEW)), 0);
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", "/dev/stderr", "sh", "-c", "echo first >&2"), 0);
	ck_assert_int_eq(strncmp(err, "first\n" NEW, strlen("first\n" NEW)), 0);
	/* by its name, as the shell has opened it */
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", (char *)in_dir("out"), "echo", "first"), 0);
	ck_assert_int_eq(strncmp(out, "first\n" NEW, strlen("first\n" NEW)), 0);
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", "/dev/fd/2", "true"), 0);
	ck_assert_int_eq(strncmp(err, NEW, strlen(NEW)), 0);
	is_clean();
}
END_TEST

START_TEST(pipe_is_written)
{
	pid_t pid;
	FILE *f;

	ck_assert_int_eq(mkfifo(in_dir("file"), 0600), 0);
	for (int i = 0; i < 3; i++) {
		pid = !i ? start(ARGV("-x,", "-ecycles:u", "-o", (char *)in_dir("file"), "true")) :
		      i == 1 ? start(ARGV("-x,", "-ecycles:u", "--append", "-o", (char *)in_dir("file"), "true")) :
		      start(ARGV("--sample=cycles:u=1k", "-o", (char *)in_dir("file"), "true"));
		f = fopen(in_dir("file"), "r");
		text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
		fclose(f);
		ck_assert_int_eq(finish(pid), 0);
		has(text, i < 2 ? NEW : "perfex");
		ck_assert(S_ISFIFO(status_of("file").st_mode));
	}
}
END_TEST

/* ---- files of others ----------------------------------------------------------------------------- */

/* Another user's pipe would let that user read the samples.  Only root can make such a pipe. */
START_TEST(pipe_of_another)
{
	if (geteuid())
		return;
	ck_assert_int_eq(mkfifo(in_dir("file"), 0666), 0);
	ck_assert_int_eq(chown(in_dir("file"), 12345, 12345), 0);
	/* There is no reader, so an open would wait. */
	ck_assert_int_eq(perfex("--sample=cycles:u=1k", "-o", (char *)in_dir("file"), "true"), 125);
	is_message("belongs to another user, who could read the samples");
}
END_TEST

/* Where the user may write all names, none of them can be prepared: a temporary name is random. */
START_TEST(temporary_names)
{
	char first[32];
	struct output o;
	struct error e;
	struct stat st;

	write_text("file", OLD);
	ck_assert_int_eq(output_open(&o, in_dir("file"), 0, &e), 0);
	ck_assert_int_eq(o.way, OUTPUT_RENAME);
	ck_assert_int_eq(fstat(fileno(o.f), &st), 0);
	ck_assert_uint_eq(st.st_mode & 07777, status_of("file").st_mode & 07777);
	if (has_nameless_files()) {
		ck_assert_uint_eq(st.st_nlink, 0);
		is_clean();
	}
	ck_assert_int_eq(output_close(&o, false), 0);
	is_old("file");
	is_clean();
	ck_assert_int_eq(output_open(&o, in_dir("file"), OUTPUT_PRIVATE, &e), 0);
	strcpy(first, o.temp);
	ck_assert_uint_eq(strlen(first), strlen(".perfex-") + 16);
	ck_assert_int_eq(output_close(&o, false), 0);
	ck_assert_int_eq(output_open(&o, in_dir("file"), OUTPUT_PRIVATE, &e), 0);
	ck_assert_str_ne(first, o.temp);
	ck_assert_uint_eq(status_of(o.temp).st_mode & 07777, 0600);
	ck_assert_int_eq(output_close(&o, false), 0);
	is_old("file");
	is_clean();
}
END_TEST

/* The name becomes a link while perfex counts: it is replaced, and not followed. */
START_TEST(link_appears)
{
	char command[256];

	write_text("target", OLD);
	write_text("file", OLD);
	snprintf(command, sizeof(command), "ln -sf target %s", in_dir("file"));
	ck_assert_int_eq(perfex("-x,", "-ecycles:u", "-o", (char *)in_dir("file"), "sh", "-c", command), 0);
	is_old("target");
	is_new("file");
	ck_assert(S_ISREG(status_of("file").st_mode));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perfex-output");
	TCase *t = tcase_create("output");

	tcase_add_checked_fixture(t, command_setup, command_teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, failing_run, 0, ARRAY_SIZE(failing));
	tcase_add_test(t, failing_plot);
	tcase_add_loop_test(t, no_room, 0, ARRAY_SIZE(full));
	tcase_add_test(t, interrupted);
	tcase_add_loop_test(t, killed, 0, 2);
	tcase_add_loop_test(t, removed_meanwhile, 0, 5);
	tcase_add_test(t, old_file_is_removed);
	tcase_add_loop_test(t, dash, 0, ARRAY_SIZE(full));
	tcase_add_test(t, dash_of_stat);
	tcase_add_test(t, input_as_output);
	tcase_add_test(t, file_is_kept);
	tcase_add_test(t, fixed_directory);
	tcase_add_test(t, intervals_are_seen);
	tcase_add_test(t, several_append);
	tcase_add_test(t, new_file_is_replaced);
	tcase_add_test(t, open_descriptors);
	tcase_add_test(t, pipe_is_written);
	tcase_add_test(t, pipe_of_another);
	tcase_add_test(t, temporary_names);
	tcase_add_test(t, link_appears);
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
