/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SIM_SCENARIOS_H
#define SIM_SCENARIOS_H

#include <linux/vperfctr.h>

#include "sim.h"

/* Calls of user space.  A negative errno is a failure. */
int sim_open(s32 tid, u32 flags);
int sim_control(int fd, u32 flags);
int sim_read(int fd);
struct vperfctr_control;
struct vperfctr_ctr;
void sim_fill_control(struct vperfctr_control *control, struct vperfctr_ctr *ctr, u32 flags);
int sim_control_nothing(int fd);
int sim_control_imode(int fd, u64 period, int sig);
struct sim_counts { struct vperfctr_read read; u64 own[2], children[2]; };
int sim_read_counts(int fd, struct sim_counts *c, u32 flags);
/* The state has counted each instruction of current since the number of these was before. */
void sim_check_counted(int fd, u64 before);
/* A thread that counts whenever perf lets it.  may_miss: CPUs may be forbidden meanwhile */
void sim_count_beside_perf(void *may_miss);

/* Count exactly in a new state of the caller.  False: the counters are refused. */
bool sim_count_once(void);

/* Count exactly, without an end of the state, until this is true. */
void sim_count_until(void *end);
/* A thread that reads its counter in user mode.  arg: not NULL: it ends without unmapping the page */
void sim_read_inline(void *arg);
/* Where allocations fail, the caller tries again. */
#define sim_must(call)							\
({									\
	long sim_ret;							\
									\
	do {								\
		sim_ret = (call);					\
	} while (sim_ret == -ENOMEM && sim_failures.alloc);		\
	sim_require(sim_ret >= 0, #call ": %ld", sim_ret);		\
	sim_ret;							\
})
struct vm_area_struct *sim_must_map(int fd, unsigned long offset, unsigned long size);

/* systems.c */
void sim_any_kind(void);
void sim_any_kind_signals(void);
void sim_any_kind_family(void);
void sim_one_kind(void);
void sim_leave_kind(void);
void sim_suspend(void);
void sim_suspend_kinds(void);

/* shared.c */
void sim_ring_reader(void);
void sim_clock(void);
void sim_rate(void);
void sim_poll_signal(void);
void sim_members(void);
void sim_kept_members(void);
void sim_sleeper(void);
void sim_records(void);
void sim_records_watermark(void);
void sim_records_again(void);
void sim_leavers(void);

/* free.c */
void sim_free_alone(void);
void sim_free_mapped(void);
void sim_free_mapped_twice(void);
void sim_free_left(void);
void sim_free_unmapped(void);
void sim_free_forgotten(void);
void sim_free_claimed(void);
void sim_free_always(void);
void sim_free_cleared(void);
void sim_free_watched(void);
void sim_free_exec(void);
void sim_free_hotplug(void);
void sim_free_overflow(void);

/* counted.c */
void sim_count_cpus(void);
void sim_received_cpus(void);
void sim_count_cpus_suspend(void);
void sim_count_cpus_hotplug(void);
void sim_count_cpus_online(void);
void sim_count_cpus_after_thread(void);
void sim_sample_cpus(void);
void sim_sample_cpus_hotplug(void);
void sim_compete_for_cpus(void);

/* refusals.c */
void sim_huge_ring(void);
void sim_refusals(void);
void sim_refusals_alone(void);
void sim_attach_price(void);
void sim_attach_price_beside(void);
void sim_price_of_many(void);
void sim_read_once(void);

/* users.c */
void sim_exec_thread(void);
void sim_exec_set_uid(void);
void sim_exec_shared_mm(void);
void sim_namespaces(void);
void sim_new_namespace(void);
void sim_lent_credentials(void);

/* calls.c */
void sim_calls(void);
void sim_calls_of_device(void);

/* soft.c */
void sim_soft(void);

/* several.c */
void sim_several(void);
void sim_several_cpus(void);

/* beside.c */
void sim_beside_page(void);
void sim_beside(void);
void sim_beside_family(void);
void sim_beside_kill(void);
void sim_beside_mapped(void);
void sim_beside_suspend(void);
void sim_beside_attach(void);
void sim_beside_guest(void);
void sim_beside_users(void);
void sim_beside_leavers(void);
void sim_beside_last(void);
void sim_attach_beyond_room(void);
void sim_attach_unlinked(void);
void sim_beside_compete(void);
void sim_beside_kernel(void);
void sim_beside_clock(void);
void sim_beside_clocks(void);
void sim_beside_kernel_ring(void);
void sim_beside_overflow(void);
void sim_beside_extra(void);
void sim_beside_info(void);
void sim_beside_info_crowd(void);
void sim_beside_info_monitor(void);
void sim_beside_info_set(void);

/* kernel-samples.c */
void sim_kernel_samples(void);
void sim_kernel_samples_beside(void);
void sim_kernel_samples_of_many(void);

/* corners.c */
void sim_soft_other(void);
void sim_attach_to_rest(void);
void sim_locked(void);
void sim_proofs(void);
void sim_orphan(void);
void sim_open_member(void);
void sim_open_cpus_faults(void);
void sim_cpu_wraps(void);
void sim_leave_ring(void);
void sim_many_chains(void);
void sim_lost_cpu(void);
void sim_map_many_files(void);
void sim_without_interrupt(void);
void sim_beside_fixed(void);
void sim_rights_beside_sleepers(void);
void sim_unload_late(void);

/* details.c */
void sim_attach_wrongly(void);
void sim_signal_once(void);
void sim_kernel_beside_idle(void);
void sim_many_cpus(void);
void sim_stacks(void);
void sim_exec_by_clock(void);
void sim_fail_exec_by_clock(void);
void sim_exec_and_overflow(void);
void sim_unlink_as_other(void);
void sim_control_again(void);
void sim_keep_on_fork(void);
void sim_map_files(void);
void sim_read_kinds(void);
void sim_shutdown(void);
void sim_shutdown_cpus(void);
void sim_price_of_open(void);

/* guards.c */
void sim_full_cgroup(void);
void sim_allowed_kinds(void);
void sim_allowed_siblings(void);
void sim_keep_checks(void);
void sim_short_threads(void);
void sim_attach_with_soft(void);
void sim_pages_beside(void);
void sim_kinds_of_set(void);
void sim_ring_of_set(void);
void sim_refused_set(void);
void sim_time_of_family(void);
void sim_read_roles(void);
void sim_two_sets(void);
void sim_clock_alone(void);
void sim_rights_of_set(void);
void sim_set_for_readers(void);
void sim_pairs_of_sums(void);
void sim_read_leaver(void);
void sim_drop_kernel_samples(void);
void sim_attach_to_one(void);
void sim_namespace_limit(void);
void sim_set_without_interrupt(void);
void sim_monitor_calls(void);
void sim_no_records(void);
void sim_set_of_kinds(void);
void sim_living_members(void);
void sim_colliding_users(void);
void sim_attach_locked(void);

/* limits.c */
void sim_limit_of_states(void);
void sim_limit_of_attach(void);
void sim_limit_of_rings(void);

/* real.c */
void sim_real(void);

/* litmus.c */
void sim_weak_buffering(void);
void sim_weak_buffering_wmb(void);
void sim_weak_buffering_release(void);
void sim_weak_buffering_unlock(void);
void sim_weak_buffering_bit(void);
void sim_weak_message(void);
void sim_strong_buffering_mb(void);
void sim_strong_buffering_xchg(void);
void sim_strong_buffering_bit_mb(void);
void sim_strong_message_wmb(void);
void sim_strong_message_unlock(void);
void sim_strong_message_release(void);

/* scale.c */
void sim_scale(void);

/* cost.c */
void sim_switch_cost(void);

/* A scenario is called in a task of the kernel, with the module loaded. */
struct scenario {
	const char *name;
	void (*func)(void);
	unsigned int cpus;
	struct sim_processor processor;
	unsigned int alloc;		/* one allocation in this many fails; 0: none */
	unsigned int load_fails;	/* the same while the module is loaded; there is no func */
	void (*before)(void);		/* called before the module is loaded */
	void (*after)(void);		/* called when the module has been removed: ends all tasks */
	bool bad_parameter;		/* the module is loaded with one; likewise */
	bool only_by_name;		/* not one of all */
};

extern const struct scenario sim_scenarios[];
extern const unsigned int sim_nr_scenarios;

#endif /* SIM_SCENARIOS_H */
