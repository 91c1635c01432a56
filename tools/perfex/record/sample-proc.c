// SPDX-License-Identifier: GPL-2.0
/*
 * Find the names, the parents and the mappings of sampled processes in /proc.
 *
 * A process is looked at when its first samples are in the ring, and then at growing
 * intervals.  It may have mapped a file at any time since the look before.  So a new
 * mapping gets the time of the last sample that was written before that look: it is older
 * than all samples since.  A process that has ended before it was looked at stays unknown.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "recording.h"

/* Milliseconds: a program maps files when it begins, and seldom later. */
#define FIRST_INTERVAL	1
#define LAST_INTERVAL	256

/*
 * Seconds.  A look takes longer only at tens of thousands of mappings.  After one, there is no
 * other such look for three times as long.
 */
#define LONG_LOOK	0.005
#define LONG_PAUSE	3

/* Bytes of the paths of new mappings that a look writes: a process can have 250 MB of them. */
#define MAX_PATHS	(16U << 20)

/* Mappings that are known before those of processes that have ended are looked for, at first. */
#define FIRST_SWEEP	(1U << 19)

/* The path may have any length, and be that of any number of mappings: it is known by its hash. */
struct mapping {
	struct record_mapping r;
	uint64_t path;
};

struct mappings {
	struct mapping *map;
	unsigned int nr, room;
};

struct process {
	uint32_t pid;
	uint64_t tsc;		/* of its last sample in the file */
	uint64_t since;		/* the same at the last look */
	char comm[32];
	bool described;		/* its number, its user and its name are written */
	struct mappings known;	/* written, and still mapped */
	int interval;
	bool takes_long;
	bool user_known;
	uint32_t user;		/* at the first look */
	struct timespec looked;
};

/* ---- mappings ---------------------------------------------------------------------- */

static void forget_mappings(struct recording *rec, struct mappings *m)
{
	rec->nrknown -= m->nr;
	free(m->map);
	memset(m, 0, sizeof(*m));
}

/*
 * True if the mapping is one of those that are known.  Both are asked for, and were added, in
 * the order of their addresses.  *at: 0 at first: those before it are no candidates any more
 */
static bool mapping_is_known(const struct mappings *known, const struct mapping *map,
			     unsigned int *at)
{
	const struct record_mapping *k;

	while (*at < known->nr && known->map[*at].r.start < map->r.start)
		++*at;
	if (*at == known->nr)
		return false;
	k = &known->map[*at].r;
	return k->start == map->r.start && k->end == map->r.end && k->offset == map->r.offset &&
	       k->inode == map->r.inode && k->major == map->r.major &&
	       k->minor == map->r.minor && known->map[*at].path == map->path;
}

static bool add_mapping(struct mappings *m, const struct mapping *map)
{
	struct mapping *new;

	if (m->nr == m->room) {
		m->room = m->room ? m->room * 2 : 16;
		new = reallocarray(m->map, m->room, sizeof(*new));
		if (!new)
			return false;
		m->map = new;
	}
	m->map[m->nr++] = *map;
	return true;
}

/* Parse a line of /proc/PID/maps.  Return: the path of an executable mapping; NULL: another one */
static const char *parse_mapping(struct mapping *map, char *line)
{
	char perms[5];
	int path = 0;

	line[strcspn(line, "\n")] = '\0';
	memset(map, 0, sizeof(*map));
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32 " %" SCNu64 " %n",
		   &map->r.start, &map->r.end, perms, &map->r.offset, &map->r.major,
		   &map->r.minor, &map->r.inode, &path) < 7 || !path)
		return NULL;
	map->path = hash_of_bytes(line + path, strlen(line + path));
	return perms[2] == 'x' ? line + path : NULL;
}

static FILE *open_proc(uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), PROC "/%" PRIu32 "/%s", pid, name);
	return fopen(path, "re");
}

/* Write the mappings of code of a process.  Return: 0, or -1: out of memory. */
static int read_mappings(struct recording *rec, struct process *p)
{
	struct mappings now = { 0 };
	size_t size = 0, left = MAX_PATHS;
	const char *path;
	struct mapping map;
	unsigned int at = 0;
	char *line = NULL;
	int err = 0;
	FILE *f;

	f = open_proc(p->pid, "maps");
	if (!f)
		return 0;
	while (!err && getline(&line, &size, f) > 0) {
		path = parse_mapping(&map, line);
		if (!path)
			continue;
		map.r.task = (struct record_task){ p->pid, p->pid, p->since };
		if (!mapping_is_known(&p->known, &map, &at)) {
			if (strlen(path) >= left)
				break;
			left -= strlen(path) + 1;
			write_file(rec, &map.r, path);
			write_record(rec, RECORD_MAPPING, &map.r, sizeof(map.r), path);
		}
		if (!add_mapping(&now, &map))
			err = -1;
	}
	free(line);
	fclose(f);
	/* A process that has ended has no mappings, which changes nothing. */
	if (now.nr) {
		forget_mappings(rec, &p->known);
		p->known = now;
		rec->nrknown += now.nr;
	}
	return err;
}

/* ---- names and parents ---------------------------------------------------------------- */

/* The name may be empty.  Return: false: the process has ended */
static bool read_comm(uint32_t pid, char *comm, size_t size)
{
	FILE *f = open_proc(pid, "comm");
	size_t n;

	if (!f)
		return false;
	/* The last line feed is not part of the name; others are. */
	n = fread(comm, 1, size - 1, f);
	fclose(f);
	if (!n)
		return false;
	if (comm[n - 1] == '\n')
		n--;
	comm[n] = '\0';
	return true;
}

static void write_name(struct recording *rec, struct process *p, enum record_type type)
{
	struct record_task r = { p->pid, p->pid, p->since };
	char comm[sizeof(p->comm)];

	if (!read_comm(p->pid, comm, sizeof(comm)))
		return;
	p->described = true;
	if (type == RECORD_COMM && !strcmp(comm, p->comm))
		return;
	strcpy(p->comm, comm);
	write_record(rec, type, &r, sizeof(r), comm);
}

/* The names of the other threads of a process that was not known. */
static void write_thread_names(struct recording *rec, const struct process *p)
{
	struct record_task r = { p->pid, 0, p->since };
	char path[64], comm[sizeof(p->comm)];
	const struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), PROC "/%" PRIu32 "/task", p->pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		r.tid = (uint32_t)atoi(d->d_name);
		if (r.tid && r.tid != p->pid && read_comm(r.tid, comm, sizeof(comm)))
			write_record(rec, RECORD_COMM, &r, sizeof(r), comm);
	}
	if (dir)
		closedir(dir);
}

/* Return: a number in /proc/PID/status; 0: the process has ended. */
static uint32_t read_status(uint32_t pid, const char *format)
{
	FILE *f = open_proc(pid, "status");
	uint32_t number = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &number) == 1)
			break;
	if (f)
		fclose(f);
	return number;
}

/*
 * In a container, a process knows itself by another number.
 * Return: false: the process has ended
 */
static bool read_process(struct record_process *r)
{
	FILE *f = open_proc(r->task.pid, "status");
	const char *last;
	char line[512];
	bool user = false;

	while (f && fgets(line, sizeof(line), f)) {
		/* The effective one, which is that of the files that it makes. */
		user |= sscanf(line, "Uid: %*u %" SCNu32, &r->uid) == 1;
		/* The innermost namespace is the last one. */
		last = strrchr(line, '\t');
		if (!strncmp(line, "NSpid:", 6) && last)
			r->inner_pid = (uint32_t)strtoul(last, NULL, 10);
	}
	if (f)
		fclose(f);
	return user && r->inner_pid;
}

static void write_process(struct recording *rec, struct process *p)
{
	struct record_process r = { .task = { p->pid, p->pid, p->since } };

	p->user_known = read_process(&r);
	p->user = r.uid;
	if (p->user_known)
		write_record(rec, RECORD_PROCESS, &r, sizeof(r), NULL);
}

void note_executed(struct recording *rec, const struct record_task *task)
{
	struct record_process r = { .task = *task };

	/* Always: the number may have been that of another process, or user, before. */
	if (read_process(&r))
		write_record(rec, RECORD_PROCESS, &r, sizeof(r), NULL);
}

/* ---- processes ------------------------------------------------------------------------- */

/* A process, by its number. */
struct numbered {
	uint32_t pid;
	struct process *process;
};

static struct process *find_process(struct recording *rec, uint32_t pid)
{
	const struct numbered *items = rec->processes.items;
	uint32_t i = hash_table_find(&rec->processes, &pid);

	return i ? items[i].process : NULL;
}

/*
 * True if enough time has passed since the last look that took long: such processes together
 * must not keep perfex from its rings, in which others' samples are.
 */
static bool may_take_long(const struct recording *rec)
{
	return seconds_since(&rec->took_long) > rec->pause;
}

static double cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint32_t user_of(uint32_t pid)
{
	return read_status(pid, "Uid: %*u %" SCNu32);
}

static int look(struct recording *rec, struct process *p, enum record_type name, struct error *e)
{
	const bool first = !p->looked.tv_sec;
	const double before = cpu_time();
	double took;

	/* A name can be empty: the names of all threads are not written again for that. */
	clock_gettime(CLOCK_MONOTONIC, &p->looked);
	if (!p->described) {
		write_process(rec, p);
		if (name == RECORD_COMM)
			write_thread_names(rec, p);
	}
	write_name(rec, p, name);
	if (p->interval < LAST_INTERVAL)
		p->interval *= 2;
	if (read_mappings(rec, p))
		return fail_with(e, "out of memory");
	took = seconds_since(&p->looked);
	p->takes_long = took > LONG_LOOK;
	if (p->takes_long) {
		clock_gettime(CLOCK_MONOTONIC, &rec->took_long);
		rec->pause = took * LONG_PAUSE;
	}
	/* Not because of others on a busy machine: new processes that are not looked at stay unknown. */
	if (p->takes_long && first && p->user_known && cpu_time() - before > LONG_LOOK) {
		rec->slow = rec->took_long;
		rec->slow_pause = rec->pause;
		rec->slow_user = p->user;
	}
	p->since = p->tsc;
	return 0;
}

/* True if the process has no memory any more, or is not there at all. */
static bool has_ended(uint32_t pid)
{
	char name[64], program;

	snprintf(name, sizeof(name), PROC "/%" PRIu32 "/exe", pid);
	return readlink(name, &program, 1) < 0 && (errno == ENOENT || errno == ESRCH);
}

/* Forget the mappings of processes that have ended: there may be any number of these. */
static void forget_ended(struct recording *rec)
{
	const struct numbered *items = rec->processes.items;
	uint32_t i;

	if (rec->nrknown < (rec->next_sweep ? rec->next_sweep : FIRST_SWEEP))
		return;
	for (i = 1; i < rec->processes.nr; i++)
		if (items[i].process->known.nr && has_ended(items[i].pid))
			forget_mappings(rec, &items[i].process->known);
	rec->next_sweep = 2 * rec->nrknown + FIRST_SWEEP;
}

/* *new: it was not known */
static struct process *find_or_add(struct recording *rec, uint32_t pid, bool *new)
{
	struct process *p = find_process(rec, pid);
	struct numbered *items;
	uint32_t i;

	*new = !p;
	if (p)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->interval = FIRST_INTERVAL;
	if (!rec->processes.size)
		rec->processes = (struct hash_table){ .size = sizeof(*items), .key = sizeof(pid) };
	forget_ended(rec);
	i = hash_table_add(&rec->processes, &pid);
	if (!i) {
		free(p);
		return NULL;
	}
	items = rec->processes.items;
	items[i].process = p;
	return p;
}

static int look_if_due(struct recording *rec, uint32_t pid, uint64_t tsc, struct error *e)
{
	struct record_fork fork = { .child = { pid, pid, tsc } };
	struct process *p;
	bool new;

	/* A process that takes long can fork without end: only those of its user must wait. */
	if (seconds_since(&rec->slow) <= rec->slow_pause && !find_process(rec, pid) &&
	    user_of(pid) == rec->slow_user)
		return 0;
	p = find_or_add(rec, pid, &new);
	if (!p)
		return fail_with(e, "out of memory");
	if (!new && (seconds_since(&p->looked) * 1e3 < p->interval ||
		     (p->takes_long && !may_take_long(rec))))
		return 0;
	if (new) {
		p->since = p->tsc = tsc;
		fork.parent_pid = read_status(pid, "PPid: %" SCNu32);
		fork.parent_tid = fork.parent_pid;
		if (fork.parent_pid && find_process(rec, fork.parent_pid))
			write_record(rec, RECORD_FORK, &fork, sizeof(fork), NULL);
	}
	return look(rec, p, RECORD_COMM, e);
}

int look_at_processes(struct recording *rec, const struct vperfctr *v, uint64_t nr,
		      struct error *e)
{
	const struct vperfctr_sample *sample;
	uint32_t last = 0;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		sample = vperfctr_ring_sample(v, i);
		if (!is_sample(sample) || !sample->pid || sample->pid == last)
			continue;
		last = sample->pid;
		if (look_if_due(rec, last, sample->tsc, e))
			return -1;
	}
	return 0;
}

static int look_at_new(struct recording *rec, uint32_t pid, struct error *e)
{
	struct process *p;
	bool new;

	p = find_or_add(rec, pid, &new);
	return p ? look(rec, p, RECORD_COMM, e) : fail_with(e, "out of memory");
}

int look_at_process(struct recording *rec, pid_t tid, struct error *e)
{
	uint32_t pid = read_status((uint32_t)tid, "Tgid: %" SCNu32);

	return pid ? look_at_new(rec, pid, e) : 0;
}

int look_at_all_processes(struct recording *rec, struct error *e)
{
	const struct record_task idle = { .pid = 0 };
	const struct dirent *d;
	uint32_t pid;
	int err = 0;
	DIR *dir;

	/* perf's name of the idle tasks, which are not in /proc. */
	write_record(rec, RECORD_COMM, &idle, sizeof(idle), "swapper");
	dir = opendir(PROC);
	while (dir && !err && (d = readdir(dir))) {
		pid = (uint32_t)atoi(d->d_name);
		if (pid)
			err = look_at_new(rec, pid, e);
	}
	if (dir)
		closedir(dir);
	return err;
}

int process_has_executed(struct recording *rec, pid_t pid, struct error *e)
{
	struct process *p;
	bool new;

	p = find_or_add(rec, (uint32_t)pid, &new);
	if (!p)
		return fail_with(e, "out of memory");
	forget_mappings(rec, &p->known);
	p->since = p->tsc;
	p->interval = FIRST_INTERVAL;
	return look(rec, p, RECORD_EXEC, e);
}

void process_has_sample(struct recording *rec, uint32_t pid, uint64_t tsc)
{
	struct process *p = find_process(rec, pid);

	if (p && tsc > p->tsc)
		p->tsc = tsc;
}

void forget_processes(struct recording *rec)
{
	const struct numbered *items = rec->processes.items;
	uint32_t i;

	for (i = 1; i < rec->processes.nr; i++) {
		forget_mappings(rec, &items[i].process->known);
		free(items[i].process);
	}
	hash_table_free(&rec->processes);
}
