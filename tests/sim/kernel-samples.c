// SPDX-License-Identifier: GPL-2.0
/*
 * Samples of kernel mode have the address that the interrupt has found, and its calls, also if
 * the thread has several states, and whatever happens before the sample is made.
 */
#include "scenarios.h"
#include "overflow.h"
#include "state.h"

#define must(call)	sim_must(call)

/* A kind of states, each with a counter and a ring of its own. */
struct kind {
	u32 ring_flags, kernel_depth;
	bool ring, kernel;		/* it makes samples; it counts kernel mode */
	bool shows;			/* its samples have addresses in the kernel */
	unsigned int period;
};

#define NR_KINDS	5

/* The last two must not have addresses of the kernel: their ring, or what they count, says so. */
static const struct kind kinds[NR_KINDS] = {
	{ VPERFCTR_RING_KERNEL, 3, .ring = true, .kernel = true, .shows = true, .period = 301 },
	{ },
	{ VPERFCTR_RING_KERNEL, 9, .ring = true, .kernel = true, .shows = true, .period = 602 },
	{ 0, 0, .ring = true, .kernel = true, .period = 301 },
	{ VPERFCTR_RING_KERNEL, 4, .ring = true, .period = 97 },
};

#define MAX_STATES	4
#define NR_SAMPLES	1024

/* A state that makes samples, and what these must have. */
struct sampled {
	const struct kind *kind;
	const struct task_struct *owner;
	struct vperfctr_state *st;
	const struct vperfctr_ring_page *page;
	u32 map;
	u64 reported;			/* samples whose overflow has been reported */
	u64 checked;
	u64 ip[NR_SAMPLES];		/* in the kernel, at the first report; 0: none */
	bool no_calls[NR_SAMPLES];	/* it was suspended before the sample was made */
};

#define MAX_SAMPLED	(3 * MAX_STATES)

static struct sampled sampled[MAX_SAMPLED];
static unsigned int nr_sampled, nr_kernel;

static bool has_overflowed(const struct sampled *s)
{
	u64 mask = s->st->cpu_state.page->mask;

	return !(sim_counter(s->map) & (mask / 2 + 1));
}

/* In place of the module's handler of overflows, which this calls. */
static void note_overflow(struct perfctr_cpu_state *state, struct pt_regs *regs)
{
	unsigned int i;

	for (i = 0; i < nr_sampled; i++) {
		struct sampled *s = &sampled[i];

		/* The counters of a sample that is not made yet stand still. */
		if (s->owner != current || s->st->cpu == -1 || s->reported > s->page->head ||
		    !has_overflowed(s))
			continue;
		sim_require(s->page->head < NR_SAMPLES, "there are too many samples");
		s->reported = s->page->head + 1;
		s->ip[s->page->head] = regs && !user_mode(regs) && s->kind->shows ?
				       instruction_pointer(regs) : 0;
	}
	vperfctr_handle_overflow(state, regs);
}

/* The sample of an overflow that is pending is made after the next resume, without calls. */
static void forget_calls(struct sampled *s)
{
	if (s->reported > s->page->head)
		s->no_calls[s->page->head] = true;
}

static void check_sample(const struct sampled *s, u64 n)
{
	const void *at = (const char *)s->page + s->page->data + n * s->page->sample_size;
	const struct vperfctr_sample *sample = at;
	const u64 *chain = &sample->sums[1];
	u64 k, expected = 0;

	if (s->ip[n] && !s->no_calls[n])
		expected = min_t(u32, s->kind->kernel_depth, SIM_KERNEL_CALLS);
	if (s->ip[n])
		sim_require(sample->flags == VPERFCTR_SAMPLE_KERNEL && sample->ip == s->ip[n],
			    "counter %u, sample %llu, of %#llx, has the address %#llx, and the flags %#x",
			    s->map, n, s->ip[n], sample->ip, sample->flags);
	else
		sim_require(sample->flags == VPERFCTR_SAMPLE_USER,
			    "counter %u, sample %llu, of user mode, has the address %#llx, and the flags %#x",
			    s->map, n, sample->ip, sample->flags);
	if (!s->kind->kernel_depth)
		return;
	sim_require(*chain == expected, "counter %u, sample %llu has %llu calls, not %llu",
		    s->map, n, *chain, expected);
	for (k = 0; k < *chain; k++)
		sim_require(chain[1 + k] == s->ip[n] + 16 * (SIM_KERNEL_CALLS - k),
			    "counter %u, sample %llu: call %llu is from %#llx", s->map, n, k,
			    chain[1 + k]);
	nr_kernel += !!expected;
}

static void check_samples(struct sampled *s)
{
	for (; s->checked < s->page->head; s->checked++)
		check_sample(s, s->checked);
}

static int control(int fd, const struct kind *kind, unsigned int map)
{
	struct vperfctr_control control;
	struct vperfctr_ctr ctr;

	sim_fill_control(&control, &ctr, kind->ring ? VPERFCTR_CONTROL_RING : 0);
	ctr.map = map;
	if (kind->ring) {
		control.nractrs = 0;
		control.nrictrs = 1;
		ctr.ireset = -(s64)kind->period;
	}
	if (kind->kernel)
		sim_count_kernel(&ctr);
	return user_ioctl(fd, VPERFCTR_CONTROL, &control);
}

static struct sampled *add_ring(int fd, const struct kind *kind, unsigned int map,
				struct vm_area_struct **vma)
{
	struct vperfctr_ring ring = {
		.size = sizeof(ring), .nrsamples = NR_SAMPLES, .watermark = 1, .nrsums = 1,
		.flags = kind->ring_flags, .kernel_depth = kind->kernel_depth,
	};
	struct sampled *s;

	must(user_ioctl(fd, VPERFCTR_RING, &ring));
	*vma = sim_must_map(fd, VPERFCTR_RING_OFFSET, ring.map_size);
	s = &sampled[nr_sampled++];
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->st = current->signal->fd[fd]->private_data;
	s->page = (*vma)->page;
	s->map = map;
	s->owner = current;
	return s;
}

/* Change one state.  Those beside it go on, and their samples remain what they are. */
static void change(int fd, struct sampled *s, const struct kind *kind, unsigned int map)
{
	if (sim_random(3)) {
		must(user_ioctl(fd, VPERFCTR_SUSPEND, NULL));
		if (s)
			forget_calls(s);
		user_work(20);
		must(user_ioctl(fd, VPERFCTR_RESUME, NULL));
		return;
	}
	must(control(fd, kind, map));
}

/* Count by a state of each kind that `arg` has a bit for, the own state first. */
static void sample_by_states(void *arg)
{
	struct vm_area_struct *vma[MAX_STATES] = { };
	struct sampled *s[MAX_STATES] = { };
	const struct kind *kind[MAX_STATES];
	unsigned int i, n = 0, which;
	int fd[MAX_STATES];

	for (i = 0; i < NR_KINDS; i++) {
		if (!((unsigned long)arg & BIT(i)))
			continue;
		kind[n] = &kinds[i];
		fd[n] = must(sim_open(0, VPERFCTR_OPEN_CREAT | (n ? VPERFCTR_OPEN_OBSERVER : 0)));
		if (kinds[i].ring)
			s[n] = add_ring(fd[n], &kinds[i], n, &vma[n]);
		n++;
	}
	for (i = 0; i < n; i++)
		must(control(fd[i], kind[i], i));
	/* The order of the steps decides which samples are of the kernel: go on until one is. */
	for (i = 0; i < 40 || (!nr_kernel && i < 1000); i++) {
		user_work(50);
		user_sleep(sim_random(100));
		which = sim_random(n);
		if (!sim_random(3))
			change(fd[which], s[which], kind[which], which);
		if (s[which])
			check_samples(s[which]);
	}
	for (i = 0; i < n; i++) {
		must(user_ioctl(fd[i], VPERFCTR_UNLINK, NULL));
		if (!s[i])
			continue;
		check_samples(s[i]);
		s[i]->owner = NULL;
		user_munmap(vma[i]);
	}
	for (i = 0; i < n; i++)
		user_close(fd[i]);
}

static void sample_by(unsigned long states)
{
	struct task_struct *task[3];
	unsigned int i;

	nr_sampled = 0;
	nr_kernel = 0;
	perfctr_cpu_set_ihandler(note_overflow);
	for (i = 0; i < ARRAY_SIZE(task); i++)
		task[i] = sim_process("samples", 0, sample_by_states, (void *)states);
	for (i = 0; i < ARRAY_SIZE(task); i++)
		user_wait(task[i]);
	perfctr_cpu_set_ihandler(vperfctr_handle_overflow);
	sim_require(nr_kernel, "no sample has calls in the kernel");
}

void sim_kernel_samples(void)
{
	sample_by(BIT(0));
}

void sim_kernel_samples_beside(void)
{
	sample_by(BIT(0) | BIT(1));
}

void sim_kernel_samples_of_many(void)
{
	sample_by(BIT(0) | BIT(2) | BIT(3) | BIT(4));
}
