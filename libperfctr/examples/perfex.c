// SPDX-License-Identifier: GPL-2.0
/*
 * The perfex of perfctr 2.6, for scripts that use it, and as an example of a program that
 * counts another one.  The child makes its state, passes a descriptor of it to the parent,
 * and executes the command.  The parent reads the sums when the command has ended.
 */
#include <errno.h>
#include <getopt.h>
#include <libperfctr.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_EVENTS	18

static struct vperfctr_control control;
static unsigned int second[MAX_EVENTS];	/* EVNTSEL2 */
static int has_second[MAX_EVENTS];
static unsigned int nevents;

static void fail(const char *what)
{
	fprintf(stderr, "perfex: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void usage(FILE *f, int status)
{
	fputs("usage: perfex [-d|-x] [-e EVNTSEL[/EVNTSEL2][@PMC]]... [-o FILE] COMMAND...\n"
	      "       perfex -i | -l | -L | -h\n"
	      "       perfex --nhlm_offcore_rsp_0=VALUE --nhlm_offcore_rsp_1=VALUE ...\n"
	      "  -e  count: event select, second one, and counter (the first that is free)\n"
	      "      The second one is bits 32 to 63 of the event select, on AMD; of the\n"
	      "      events 0x01B7 and 0x01BB, on Intel, it is the off-core response\n"
	      "  --nhlm_offcore_rsp_0, --nhlm_offcore_rsp_1  the off-core responses\n"
	      "  -d  print sums in decimal; -x: in hexadecimal, as is the default\n"
	      "  -o  print to FILE, not to stderr\n"
	      "  -i  print information about the processor\n"
	      "  -l  list the processor's events; -L: with codes and descriptions\n"
	      "  -h  print this\n", f);
	exit(status);
}

/* ---- information ------------------------------------------------------------ */

static void get_info(struct perfctr_info *info)
{
	if (perfctr_get_info(info) < 0)
		fail("perfctr_get_info");
}

static void print_info(void)
{
	struct perfctr_cpus_info *cpus;
	struct perfctr_info info;
	int fd = _vperfctr_open(0);

	if (fd < 0)
		fail("_vperfctr_open");
	if (perfctr_abi_check_fd(fd) < 0)
		fail("perfctr_abi_check_fd");
	if (perfctr_info(fd, &info) < 0)
		fail("perfctr_info");
	cpus = perfctr_cpus_info(fd);
	if (!cpus)
		fail("perfctr_cpus_info");
	perfctr_info_print(&info);
	perfctr_cpus_info_print(cpus);
	free(cpus);
	close(fd);
}

static void list_event(const struct perfctr_event_set *set, const struct perfctr_event *event,
		       int with_more)
{
	const struct perfctr_unit_mask *mask = event->unit_mask;
	unsigned int i;

	printf("%s%s", set->event_prefix, event->name);
	if (with_more) {
		printf(":0x%02X:0x%02X:%s\n", event->evntsel, event->counters_set,
		       event->description);
		for (i = 0; mask && i < mask->nvalues; i++)
			printf("\t0x%02X:%s\n", mask->values[i].value, mask->values[i].description);
	} else {
		printf("\n");
	}
}

static void list_set(const struct perfctr_event_set *set, int with_more)
{
	unsigned int i;

	if (set->include)
		list_set(set->include, with_more);
	for (i = 0; i < set->nevents; i++)
		list_event(set, &set->events[i], with_more);
}

static void list_events(int with_more)
{
	const struct perfctr_event_set *set;
	struct perfctr_info info;

	get_info(&info);
	set = perfctr_cpu_event_set(info.cpu_type);
	if (!set) {
		fprintf(stderr, "perfex: no events are known for %s\n",
			perfctr_info_cpu_name(&info));
		exit(1);
	}
	list_set(set, with_more);
}

/* ---- events --------------------------------------------------------------- */

static int is_used(unsigned int pmc)
{
	unsigned int i;

	for (i = 0; i < nevents; i++) {
		if (control.cpu_control.pmc_map[i] == pmc)
			return 1;
	}
	return 0;
}

static int is_amd(void)
{
	struct perfctr_info info;

	get_info(&info);
	switch (info.cpu_type) {
	case PERFCTR_X86_AMD_K7:
	case PERFCTR_X86_AMD_K8:
	case PERFCTR_X86_AMD_K8C:
	case PERFCTR_X86_AMD_FAM10H:
		return 1;
	}
	return 0;
}

/* Put the second part of event i where this processor has it. */
static void set_second(unsigned int i, unsigned int value)
{
	struct perfctr_cpu_control *cpu = &control.cpu_control;
	const unsigned int event = cpu->evntsel[i] & 0xffff;

	second[i] = value;
	has_second[i] = 1;
	if ((event == 0x01b7 || event == 0x01bb) && !is_amd())
		cpu->nhlm.offcore_rsp[event == 0x01bb] = value;
	else
		cpu->evntsel_high[i] = value;
}

static void set_offcore_rsp(unsigned int n, const char *arg)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 16);
	if (end == arg || *end || errno || value > 0xffffffff) {
		fprintf(stderr, "perfex: not a value: '%s'\n", arg);
		exit(1);
	}
	control.cpu_control.nhlm.offcore_rsp[n] = value;
}

static void add_event(const char *arg)
{
	struct perfctr_cpu_control *cpu = &control.cpu_control;
	unsigned long evntsel, evntsel2 = 0, pmc = 0;
	int has_evntsel2 = 0;
	char *end;

	if (nevents == MAX_EVENTS) {
		fprintf(stderr, "perfex: more than %d events\n", MAX_EVENTS);
		exit(1);
	}
	errno = 0;
	evntsel = strtoul(arg, &end, 16);
	if (end == arg)
		goto bad;
	if (*end == '/') {
		evntsel2 = strtoul(arg = end + 1, &end, 16);
		if (end == arg)
			goto bad;
		has_evntsel2 = 1;
	}
	if (*end == '@') {
		pmc = strtoul(arg = end + 1, &end, 0);
		if (end == arg)
			goto bad;
	} else {
		while (is_used(pmc))
			pmc++;
	}
	if (*end || errno || evntsel > 0xffffffff || evntsel2 > 0xffffffff || pmc > 0xffffffff)
		goto bad;
	cpu->evntsel[nevents] = evntsel;
	if (has_evntsel2)
		set_second(nevents, evntsel2);
	cpu->pmc_map[nevents++] = pmc;
	return;
bad:
	fprintf(stderr, "perfex: not EVNTSEL[/EVNTSEL2][@PMC]: '%s'\n", arg);
	exit(1);
}

/* ---- counting ------------------------------------------------------------------------ */

static void send_fd(int to, int fd)
{
	char byte = 0, room[CMSG_SPACE(sizeof(fd))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg;
	struct cmsghdr *c;

	memset(&msg, 0, sizeof(msg));
	memset(room, 0, sizeof(room));
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = room;
	msg.msg_controllen = sizeof(room);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(to, &msg, 0) != 1)
		fail("sendmsg");
}

/* Returns -1 if the child has ended; it has printed the reason. */
static int receive_fd(int from)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { &byte, 1 };
	struct msghdr msg;
	struct cmsghdr *c;
	int fd;

	memset(&msg, 0, sizeof(msg));
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = room;
	msg.msg_controllen = sizeof(room);
	if (recvmsg(from, &msg, 0) != 1)
		return -1;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

static void child(int sock, char **argv)
{
	int fd = _vperfctr_open(1);

	if (fd < 0)
		fail("_vperfctr_open");
	send_fd(sock, fd);
	close(sock);
	if (_vperfctr_control(fd, &control) < 0)
		fail("_vperfctr_control");
	close(fd);
	execvp(argv[0], argv);
	fail(argv[0]);
}

static void print_sum(FILE *f, const char *name, unsigned long long sum, int decimal)
{
	fprintf(f, decimal ? "%s\t%19llu\n" : "%s\t0x%016llX\n", name, sum);
}

static void print_sums(FILE *f, int fd, int decimal)
{
	const struct perfctr_cpu_control *cpu = &control.cpu_control;
	struct perfctr_sum_ctrs sum;
	char name[64], evntsel2[16];
	unsigned int i;

	if (_vperfctr_read_sum(fd, &sum) < 0)
		fail("_vperfctr_read_sum");
	if (cpu->tsc_on)
		print_sum(f, "tsc\t\t\t\t", sum.tsc, decimal);
	for (i = 0; i < cpu->nractrs; i++) {
		evntsel2[0] = '\0';
		if (has_second[i])
			sprintf(evntsel2, "/0x%08X", second[i]);
		sprintf(name, "event 0x%08X%s@%u\t", cpu->evntsel[i], evntsel2, cpu->pmc_map[i]);
		print_sum(f, name, sum.pmc[i], decimal);
	}
}

static int count(FILE *f, int decimal, char **argv)
{
	int socks[2], status, fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, socks) < 0)
		fail("socketpair");
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (!pid) {
		close(socks[0]);
		child(socks[1], argv);
	}
	close(socks[1]);
	fd = receive_fd(socks[0]);
	/* Ctrl-C interrupts the command; its counts are still wanted. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			fail("waitpid");
	}
	if (fd < 0)
		return 1;
	print_sums(f, fd, decimal);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static const struct option long_options[] = {
	{ "nhlm_offcore_rsp_0", required_argument, NULL, 0 },
	{ "nhlm_offcore_rsp_1", required_argument, NULL, 1 },
	{ NULL, 0, NULL, 0 },
};

int main(int argc, char **argv)
{
	FILE *out = stderr;
	struct perfctr_info info;
	int decimal = 0, option;

	while ((option = getopt_long(argc, argv, "+dxe:o:ilLh", long_options, NULL)) != -1) {
		switch (option) {
		case 0:
		case 1:
			set_offcore_rsp(option, optarg);
			break;
		case 'd':
		case 'x':
			decimal = option == 'd';
			break;
		case 'e':
			add_event(optarg);
			break;
		case 'o':
			out = fopen(optarg, "w");
			if (!out)
				fail(optarg);
			break;
		case 'i':
			print_info();
			return 0;
		case 'l':
		case 'L':
			list_events(option == 'L');
			return 0;
		case 'h':
			usage(stdout, 0);
			break;
		default:
			usage(stderr, 1);
		}
	}
	if (optind == argc)
		usage(stderr, 1);
	get_info(&info);
	control.cpu_control.tsc_on = !!(info.cpu_features & PERFCTR_FEATURE_RDTSC);
	if (!nevents && perfctr_info_nrctrs(&info))
		add_event("004100C0");	/* instructions in user mode */
	control.cpu_control.nractrs = nevents;
	return count(out, decimal, argv + optind);
}
