// SPDX-License-Identifier: GPL-2.0
/* Do what the options say, and check that all output has been written. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option-table.h"
#include "output.h"

/*
 * If perfex was started without a standard file, the next file that it opens would
 * become that one.  Open /dev/null in its place, in the mode that makes its use fail;
 * the command does not inherit it.
 */
static void keep_standard_files(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

static int check_written(FILE *f, const char *name, struct error *e)
{
	const int err = output_error(f);

	return err ? fail_with(e, "cannot write to %s: %s", name, strerror(err)) : 0;
}

static int check_inputs(const struct options *o, struct error *e)
{
	unsigned int i;

	if (o->report && !o->self_test &&
	    output_check_input(&o->show, o->report, "the file to report", e))
		return -1;
	for (i = 0; i < o->files.nr; i++)
		if (output_check_input(&o->show, o->files.name[i], "one of the files to read", e))
			return -1;
	return 0;
}

/* "-" is standard output, for each command.  Other names may have %h, %p and %r. */
static int name_output(struct options *o, char **name, struct error *e)
{
	if (!o->show.file)
		return 0;
	if (!strcmp(o->show.file, "-")) {
		o->show.file = NULL;
		o->show.log_fd = STDOUT_FILENO;
		return 0;
	}
	if (file_name(name, o->show.file, e))
		return -1;
	o->show.file = *name;
	return 0;
}

/* Do what the options say.  The output is kept if that has succeeded, or has published it. */
static int run_options(const struct options *o, struct error *e)
{
	struct output output;
	int file, ret, err;

	if (o->counting.as_user && user_choose(o->counting.user, e))
		return -1;
	if (o->chosen->counts)
		signals_count();
	file = check_inputs(o, e) ? -1 : output_choose(&output, &o->show, e);
	if (file < 0)
		return -1;
	ret = o->chosen->run(o, file ? &output : NULL, file ? output.f : stdout, e);
	err = file ? output_close(&output, ret >= 0) : 0;
	if (err && ret >= 0)
		return fail_with(e, "cannot write to %s%s%s: %s", output_quote(&output), output.name,
				 output_quote(&output), strerror(err));
	return ret;
}

int main(int argc, char **argv)
{
	struct options o = { .counting.timeout = NO_TIMEOUT, .show.log_fd = -1 };
	struct error e = { .status = STATUS_FAILED };
	char *output = NULL;
	int ret;

	signals_begin();
	keep_standard_files();
	ret = options_parse(argc, argv, &o, &e);
	if (ret > 0)
		ret = 0;
	else if (!ret)
		ret = name_output(&o, &output, &e) ? -1 : run_options(&o, &e);
	free(output);
	free(o.files.name);
	if (ret >= 0 && (check_written(stdout, "standard output", &e) ||
			 check_written(stderr, "standard error", &e)))
		ret = -1;
	if (ret < 0) {
		fprintf(stderr, "perfex: %s\n", e.text);
		return e.status;
	}
	signals_end(run_killed(ret));
	return ret;
}
