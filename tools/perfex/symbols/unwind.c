// SPDX-License-Identifier: GPL-2.0
/*
 * Find calls in registers and a stack, by libdw (elfutils).
 *
 * libdw has one state for each set of mappings that a process had.  It gets a file when the
 * first address in it is met, so that few files are opened.
 *
 * All this may come from an attacker.  Addresses are only looked for in the stack that was
 * recorded, and the number of calls is limited.
 */
#include <elfutils/libdwfl.h>
#include <elfutils/version.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols.h"
#include "unwind.h"

/* Sets of mappings, the latest used first, and files of a set that could not be used. */
#define MAX_SETS	16
#define MAX_REFUSED	64

/* Files of a set, all of which are open: a set that has this many begins anew. */
#define MAX_FILES	128

/* Any number but 0: libdw wants one. */
#define TID		1

/* How libdw sees the registers of samples. */
static const struct machine {
	unsigned int mode, nrregs;	/* in the sample */
	unsigned int elf;		/* EM_* */
	unsigned int given;		/* that many registers are libdw's */
	unsigned int sp, ip;		/* in the sample */
} machines[] = {
	{ VPERFCTR_USER_64, VPERFCTR_X86_REGS, EM_X86_64, 17, 7, 16 },
	{ VPERFCTR_USER_32, VPERFCTR_X86_REGS, EM_386, 9, 4, 8 },
	{ VPERFCTR_USER_64, VPERFCTR_ARM64_REGS, EM_AARCH64, 32, 31, 32 },
	{ VPERFCTR_USER_32, VPERFCTR_ARM64_REGS, EM_ARM, 16, 13, 15 },
	{ VPERFCTR_USER_64, VPERFCTR_RISCV64_REGS, EM_RISCV, 32, 2, 0 },
};

#define MAX_REGS	VPERFCTR_ARM64_REGS

struct set {
	Dwfl *dwfl;
	uint32_t number;		/* of the mappings */
	const struct machine *machine;
	uint64_t refused[MAX_REFUSED];	/* starts of mappings */
	unsigned int nrrefused;
	struct work **works;		/* of its files */
	unsigned int nrworks;
	bool attached;
};

struct unwinder {
	struct set sets[MAX_SETS];
	unsigned int nrsets;

	/* the call of unwind() */
	struct set *set;
	const struct code_mappings *mappings;
	const struct thread_state *thread;
	uint64_t regs[MAX_REGS];
	uint64_t sp;		/* of the stack that was recorded */
	uint64_t *to;
	unsigned int nr, max;
	bool first;
	bool again;		/* from the registers that a signal has interrupted */
	bool interrupted;	/* the last of `to`, as libdw says */
};

static int no_elf(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base, char **file,
		  Elf **elf)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

/* The tables are in the files themselves. */
static int no_debuginfo(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)mod;
	(void)data;
	(void)name;
	(void)base;
	(void)file;
	(void)link;
	(void)crc;
	(void)found;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = no_debuginfo,
	.section_address = dwfl_offline_section_address,
};

static const struct machine *machine_of(const struct thread_state *thread)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].mode == thread->mode && machines[i].nrregs == thread->nrregs)
			return &machines[i];
	return NULL;
}

static uint64_t reg_of(const struct thread_state *thread, unsigned int i)
{
	uint64_t reg;

	memcpy(&reg, (const char *)thread->regs + i * sizeof(reg), sizeof(reg));
	return reg;
}

uint64_t unwind_start(const struct thread_state *thread)
{
	const struct machine *machine = machine_of(thread);

	return machine ? reg_of(thread, machine->ip) : 0;
}

/* ---- files ----------------------------------------------------------------------------- */

/* Find what the file's addresses are less than those of the mapping of its code. */
static bool find_bias(int fd, const struct code_mapping *map, unsigned int machine, uint64_t *bias)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	uint64_t size = map->end - map->start;
	bool found = false;
	GElf_Ehdr ehdr;
	GElf_Phdr phdr;
	size_t i, nr;

	if (elf && gelf_getehdr(elf, &ehdr) && ehdr.e_machine == machine &&
	    (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN) && !elf_getphdrnum(elf, &nr))
		for (i = 0; i < nr && !found; i++) {
			if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD ||
			    !(phdr.p_flags & PF_X) || phdr.p_offset >= map->offset + size ||
			    phdr.p_offset + phdr.p_filesz <= map->offset)
				continue;
			*bias = map->start - map->offset + phdr.p_offset - phdr.p_vaddr;
			found = true;
		}
	elf_end(elf);
	return found;
}

/* Return: a place for the work on one more file; NULL: no memory */
static struct work *add_work(struct set *set)
{
	struct work **works = reallocarray(set->works, set->nrworks + 1, sizeof(*works));
	struct work *work = works ? calloc(1, sizeof(*work)) : NULL;

	if (works)
		set->works = works;
	if (work)
		works[set->nrworks++] = work;
	return work;
}

static bool report_file(struct set *set, const struct code_mapping *map)
{
	int fd = !strcmp(map->path, "[vdso]") ? open_vdso(map->end - map->start) :
		 map->path[0] == '/' ? open_sampled(map->path, map->file) : -1;
	struct work *work = fd >= 0 ? add_work(set) : NULL;
	Dwfl_Module *mod = NULL;
	uint64_t bias = 0;
	void **data;

	if (work && work_allows(work, fd, map->path)) {
		work_on(work);
		if (find_bias(fd, map, set->machine->elf, &bias))
			mod = dwfl_report_elf(set->dwfl, map->path, map->path, fd, bias, true);
		if (mod) {
			dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
			*data = work;
		}
		work_on(NULL);
	}
	/* On success, libdwfl owns the descriptor. */
	if (fd >= 0 && !mod)
		close(fd);
	return mod;
}

/* Return: the work on the file that libdw has for this address; NULL: it has none */
static const struct work *has_file(const struct set *set, const struct code_mapping *map,
				   uint64_t address)
{
	Dwfl_Module *mod = dwfl_addrmodule(set->dwfl, address);
	const char *name;
	void **data;

	if (!mod)
		return NULL;
	name = dwfl_module_info(mod, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	return name && !strcmp(name, map->path) ? *data : NULL;
}

static const struct work *find_file(struct unwinder *u, const struct code_mapping *map,
				    uint64_t address)
{
	const struct work *work = has_file(u->set, map, address), *before;
	struct set *set = u->set;
	unsigned int i;

	if (work)
		return work;
	for (i = 0; i < set->nrrefused; i++)
		if (set->refused[i] == map->start)
			return NULL;
	before = work_on(NULL);
	if (report_file(set, map))
		work = has_file(set, map, address);
	if (!work && map->path[0] == '/' && u->mappings->missing)
		u->mappings->missing(u->mappings, map);
	work_on(before);
	if (!work && set->nrrefused < MAX_REFUSED)
		set->refused[set->nrrefused++] = map->start;
	return work;
}

/*
 * Let libdw know the file of an address, and work on it.  Return: false: there is none.
 *
 * To libdw, a file has all addresses between its segments.  On arm64, the vDSO is there.
 */
static bool report_address(struct unwinder *u, uint64_t address)
{
	const struct work *work = NULL;
	struct code_mapping map;

	if (u->mappings->find(u->mappings, address, &map))
		work = find_file(u, &map, address);
	if (!work)
		return false;
	work_looks(work, WORTH_OF_SAMPLE);
	/* Most frames are in the file of the one before: then this does nothing. */
	work_on(work);
	return true;
}

/* ---- what libdw asks for ------------------------------------------------------------------- */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return TID;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	*thread_arg = arg;
	return tid == TID;
}

/*
 * Return addresses may be signed, in the bits that no address has (Arm Architecture Reference
 * Manual, "Pointer authentication").
 */
static uint64_t without_signature(const struct unwinder *u, uint64_t value)
{
	uint64_t address = value & ((UINT64_C(1) << 48) - 1);
	struct code_mapping map;

	if (u->set->machine->elf != EM_AARCH64 || address == value ||
	    !u->mappings->find(u->mappings, address, &map))
		return value;
	return address;
}

static bool read_stack(const struct unwinder *u, uint64_t address, uint64_t *result)
{
	size_t size = u->set->machine->mode == VPERFCTR_USER_64 ? 8 : 4;
	uint64_t at = address - u->sp, value;
	uint32_t narrow;

	/* A large difference is that of an address below the stack pointer. */
	if (at > u->thread->stack_size || u->thread->stack_size - at < size)
		return false;
	/* The reader of the file has given its words this machine's byte order. */
	if (size == sizeof(narrow)) {
		memcpy(&narrow, (const char *)u->thread->stack + at, size);
		value = narrow;
	} else {
		memcpy(&value, (const char *)u->thread->stack + at, size);
	}
	*result = without_signature(u, value);
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *result, void *arg)
{
	(void)dwfl;
	return read_stack(arg, address, result);
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct unwinder *u = arg;
	Dwarf_Word words[MAX_REGS];
	unsigned int i;

	for (i = 0; i < u->set->machine->given; i++)
		words[i] = u->regs[i];
	dwfl_thread_state_register_pc(thread, u->regs[u->set->machine->ip]);
	return dwfl_thread_state_registers(thread, 0, u->set->machine->given, words);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

/* ---- the vDSO of arm64, which has no tables ------------------------------------------------ */

#define LR		30
#define FP		29

/* True if handlers of signals return to this address. */
static bool is_sigreturn(const struct unwinder *u, uint64_t ip)
{
	Dwfl_Module *mod = NULL;
	const char *name;

	if (u->set->machine->elf == EM_AARCH64)
		mod = dwfl_addrmodule(u->set->dwfl, ip);
	name = mod ? dwfl_module_addrname(mod, ip) : NULL;
	return name && !strcmp(name, "__kernel_rt_sigreturn");
}

/* Get the registers that a signal has interrupted, from the kernel's struct rt_sigframe. */
static bool leave_handler(struct unwinder *u, uint64_t frame)
{
	/* its ucontext's mcontext's regs, which sp and pc follow */
	const unsigned int regs_at = 312;
	uint64_t regs[VPERFCTR_ARM64_REGS];
	unsigned int i;

	for (i = 0; i < VPERFCTR_ARM64_REGS; i++)
		if (!read_stack(u, frame + regs_at + i * sizeof(regs[0]), &regs[i]))
			return false;
	memcpy(u->regs, regs, sizeof(regs));
	return true;
}

/*
 * Leave a function of the vDSO on arm64: the return of a handler, or code without a frame.  The
 * latter calls nothing, so the link register has the return address.  A frame for frame pointers,
 * which a compiler may have made, is left to libdw.
 */
static void leave_vdso(struct unwinder *u)
{
	const struct machine *machine = u->set->machine;
	uint64_t ip = u->regs[machine->ip], saved;
	struct code_mapping map;
	Dwarf_Frame *frame;
	Dwarf_Addr bias;
	Dwfl_Module *mod;
	Dwarf_CFI *cfi;

	if (machine->elf != EM_AARCH64 || !u->mappings->find(u->mappings, ip, &map) ||
	    strcmp(map.path, "[vdso]") != 0)
		return;
	if (is_sigreturn(u, ip)) {
		if (leave_handler(u, u->sp))
			u->to[u->nr++] = u->regs[machine->ip] + 1;
		return;
	}
	mod = dwfl_addrmodule(u->set->dwfl, ip);
	cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	if (cfi && !dwarf_cfi_addrframe(cfi, ip - bias, &frame)) {
		free(frame);
		return;
	}
	if (u->regs[FP] == u->sp && read_stack(u, u->sp + 8, &saved) && saved == u->regs[LR])
		return;
	u->regs[machine->ip] = u->regs[LR];
	u->to[u->nr++] = u->regs[LR];
	report_address(u, u->regs[LR] - 1);
}

/* Return: the stack pointer of a frame that is not the first; 0: not known. */
static uint64_t stack_pointer(Dwfl_Frame *frame)
{
	Dwarf_Word sp = 0;

#if _ELFUTILS_PREREQ(0, 188)
	if (dwfl_frame_reg(frame, 31, &sp))
		sp = 0;
#else
	(void)frame;
#endif
	return sp;
}

static int add_frame(Dwfl_Frame *frame, void *arg)
{
	struct unwinder *u = arg;
	bool interrupted;
	Dwarf_Addr pc;

	if (!dwfl_frame_pc(frame, &pc, NULL) || !pc)
		return DWARF_CB_ABORT;
	report_address(u, u->first || u->again ? pc : pc - 1);
	u->again = !u->first && !u->again && u->nr < u->max && is_sigreturn(u, pc) &&
		   leave_handler(u, stack_pointer(frame));
	if (u->again) {
		u->to[u->nr++] = pc;
		return DWARF_CB_ABORT;
	}
	/* For the answer to `interrupted` libdw looks for the caller, and so needs the file. */
	dwfl_frame_pc(frame, &pc, &interrupted);
	if (u->first) {
		u->first = false;
		return DWARF_CB_OK;
	}
	if (u->nr == u->max)
		return DWARF_CB_ABORT;
	u->to[u->nr++] = pc + interrupted;
	u->interrupted = interrupted;
	return DWARF_CB_OK;
}

/* ---- sets of mappings ---------------------------------------------------------------------- */

static void end_set(struct set *set)
{
	unsigned int i;

	dwfl_end(set->dwfl);
	for (i = 0; i < set->nrworks; i++)
		free(set->works[i]);
	free(set->works);
}

/* Return: the set, which is the first one then; NULL: no memory */
static struct set *find_set(struct unwinder *u, uint32_t number, const struct machine *machine)
{
	struct set set = { .number = number, .machine = machine };
	unsigned int i;

	for (i = 0; i < u->nrsets; i++)
		if (u->sets[i].number == number && u->sets[i].machine == machine)
			break;
	if (i < u->nrsets && u->sets[i].nrworks >= MAX_FILES) {
		end_set(&u->sets[i]);
		memmove(&u->sets[i], &u->sets[i + 1], (--u->nrsets - i) * sizeof(set));
		i = u->nrsets;
	}
	if (i < u->nrsets) {
		set = u->sets[i];
	} else {
		set.dwfl = dwfl_begin(&callbacks);
		if (!set.dwfl)
			return NULL;
		if (u->nrsets == MAX_SETS)
			end_set(&u->sets[--u->nrsets]);
		i = u->nrsets++;
	}
	memmove(&u->sets[1], &u->sets[0], i * sizeof(set));
	u->sets[0] = set;
	return &u->sets[0];
}

static unsigned int find_calls(struct unwinder *u, const struct code_mappings *mappings,
			       const struct thread_state *thread, uint64_t *to, unsigned int max)
{
	const struct machine *machine = machine_of(thread);
	unsigned int i, restarts = 0;

	if (!machine || !max)
		return 0;
	u->set = find_set(u, mappings->number, machine);
	if (!u->set)
		return 0;
	u->mappings = mappings;
	u->thread = thread;
	for (i = 0; i < machine->nrregs; i++)
		u->regs[i] = reg_of(thread, i);
	u->sp = u->regs[machine->sp];
	if (machine->elf == EM_AARCH64)
		u->regs[LR] = without_signature(u, u->regs[LR]);
	u->to = to;
	u->nr = 0;
	u->max = max;
	u->first = true;
	u->again = false;
	u->interrupted = false;
	/* libdw learns from the first file which machine it is. */
	if (!report_address(u, u->regs[machine->ip]) && !u->set->attached)
		return 0;
	leave_vdso(u);
	if (!u->set->attached)
		u->set->attached = dwfl_attach_state(u->set->dwfl, NULL, TID, &thread_callbacks, u);
	if (u->set->attached)
		do
			dwfl_getthread_frames(u->set->dwfl, TID, add_frame, u);
		while (u->again && ++restarts < max);
	/*
	 * libdw also calls the last address interrupted where it has found no caller: take back
	 * what was added to it.
	 */
	if (u->nr && u->interrupted)
		to[u->nr - 1]--;
	return u->nr;
}

unsigned int unwind(struct unwinder *u, const struct code_mappings *mappings,
		    const struct thread_state *thread, uint64_t *to, unsigned int max)
{
	const struct work *work = work_on(NULL);
	unsigned int nr = find_calls(u, mappings, thread, to, max);

	work_on(work);
	return nr;
}

struct unwinder *unwinder_new(void)
{
	elf_version(EV_CURRENT);
	return calloc(1, sizeof(struct unwinder));
}

void unwinder_free(struct unwinder *u)
{
	unsigned int i;

	for (i = 0; u && i < u->nrsets; i++)
		end_set(&u->sets[i]);
	free(u);
}
