// SPDX-License-Identifier: GPL-2.0
/* Do what the options say, and check that all output has been written. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "perfex.h"

/* out: NULL without a file for it.  Return: the exit status, or -1 with *e. */
static int execute_options(const struct options *o, FILE *out, const char *name, struct error *e)
{
	if (o->info)
		return info_print(out ? out : stdout, e);
	if (o->self_test)
		return self_test(o->checks, out ? out : stdout, o->style, o->report, e);
	if (o->doctor)
		return doctor(out ? out : stdout, o->style == STYLE_JSON, "", e);
	if (o->plot)
		return plot_counts(out, o, e);
	if (o->merge)
		return merge_counts(out ? out : stdout, o, e);
	if (o->list)
		return list_events(out ? out : stdout, o->command + 1, o->verbose, o->kind, e);
	if (o->report)
		return report_samples(out ? out : stdout, o, e);
	if (o->sampling)
		return sample(o, out, e);
	return measure(o, out, name, e);
}

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

/* Standard error is not buffered, so its error may be an old one, without errno. */
static int check_written(FILE *f, const char *name, struct error *e)
{
	errno = 0;
	if (!fflush(f) && !ferror(f))
		return 0;
	return fail_with(e, "cannot write to %s: %s", name, errno ? strerror(errno) : "it has failed");
}

int main(int argc, char **argv)
{
	struct options o = { .timeout = NO_TIMEOUT, .log_fd = -1 };
	struct error e = { .status = STATUS_FAILED };
	const char *name = NULL;
	FILE *out = NULL;
	char *output = NULL;
	int ret;

	keep_standard_files();
	ret = options_parse(argc, argv, &o, &e);
	if (ret > 0) {
		ret = 0;
	} else if (!ret && o.output && file_name(&output, o.output, &e)) {
		ret = -1;
	} else if (!ret) {
		o.output = output;
		out = output_open(&o, &name, &e);
		ret = name && !out ? -1 : execute_options(&o, out, name, &e);
	}
	if (out && (ferror(out) | fclose(out)) && ret >= 0)
		ret = fail_with(&e, "cannot write to '%s': %s", name, strerror(errno));
	free(output);
	free(o.files);
	if (ret >= 0 && (check_written(stdout, "standard output", &e) ||
			 check_written(stderr, "standard error", &e)))
		ret = -1;
	if (ret < 0) {
		fprintf(stderr, "perfex: %s\n", e.text);
		return e.status;
	}
	return ret;
}
