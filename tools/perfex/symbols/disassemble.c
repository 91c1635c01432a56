// SPDX-License-Identifier: GPL-2.0
/* Instructions as text, by capstone, if perfex was built with it. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "disassemble.h"

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>

#ifdef LOAD_CAPSTONE
#include "library.h"

#define AS_TEXT(x)	#x
#define LIBRARY(major)	"libcapstone.so." AS_TEXT(major)

const char *disassembler_library = LIBRARY(CS_API_MAJOR);

/* The library's functions.  The macros below let the code call them as if it were linked. */
static struct {
	typeof(&cs_open) open;
	typeof(&cs_close) close;
	typeof(&cs_option) option;
	typeof(&cs_malloc) malloc;
	typeof(&cs_free) free;
	typeof(&cs_disasm_iter) disasm_iter;
	typeof(&cs_insn_group) insn_group;
} capstone;

/* Load the library at the first use.  Return: false: the library is not there. */
static bool load(void)
{
	static const struct library_symbol symbols[] = {
		{ (void **)&capstone.open, "cs_open" },
		{ (void **)&capstone.close, "cs_close" },
		{ (void **)&capstone.option, "cs_option" },
		{ (void **)&capstone.malloc, "cs_malloc" },
		{ (void **)&capstone.free, "cs_free" },
		{ (void **)&capstone.disasm_iter, "cs_disasm_iter" },
		{ (void **)&capstone.insn_group, "cs_insn_group" },
	};
	static int loaded = -1;

	if (loaded < 0)
		loaded = library_load(disassembler_library, symbols,
				      sizeof(symbols) / sizeof(symbols[0]));
	return loaded;
}

#define cs_open		capstone.open
#define cs_close	capstone.close
#define cs_option	capstone.option
#define cs_malloc	capstone.malloc
#define cs_free		capstone.free
#define cs_disasm_iter	capstone.disasm_iter
#define cs_insn_group	capstone.insn_group

#else

const char *disassembler_library;

static bool load(void)
{
	return true;
}

#endif /* LOAD_CAPSTONE */

struct disassembler {
	csh handle;
	cs_insn *insn;
	cs_arch arch;
};

bool disassembler_built(void)
{
	return true;
}

bool disassembler_loads(void)
{
	return load();
}

struct disassembler *disassembler_open(unsigned int machine)
{
	struct disassembler *d = calloc(1, sizeof(*d));
	cs_mode mode = CS_MODE_LITTLE_ENDIAN;

	if (!d)
		return NULL;
	if (!load()) {
		free(d);
		return NULL;
	}
	switch (machine) {
	case EM_X86_64:
		d->arch = CS_ARCH_X86;
		mode = CS_MODE_64;
		break;
	case EM_386:
		d->arch = CS_ARCH_X86;
		mode = CS_MODE_32;
		break;
	case EM_AARCH64:
		d->arch = CS_ARCH_ARM64;
		break;
	case EM_PPC:
		d->arch = CS_ARCH_PPC;
		mode = CS_MODE_32 | CS_MODE_BIG_ENDIAN;
		break;
	case EM_PPC64:
		d->arch = CS_ARCH_PPC;
		mode = CS_MODE_64;
		break;
#if CS_API_MAJOR >= 5
	case EM_RISCV:
		d->arch = CS_ARCH_RISCV;
		mode = CS_MODE_RISCV64 | CS_MODE_RISCVC;
		break;
#endif
	default:
		free(d);
		return NULL;
	}
	if (cs_open(d->arch, mode, &d->handle)) {
		free(d);
		return NULL;
	}
	/* As objdump and perf print them. */
	if (d->arch == CS_ARCH_X86)
		cs_option(d->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	cs_option(d->handle, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->handle);
	if (d->insn)
		return d;
	disassembler_close(d);
	return NULL;
}

void disassembler_close(struct disassembler *d)
{
	if (!d)
		return;
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->handle);
	free(d);
}

/* A branch's target is its last operand.  Its name begins with b, and no other's does. */
static uint64_t find_ppc_target(const cs_insn *insn)
{
	const cs_ppc *ppc = &insn->detail->ppc;

	return insn->mnemonic[0] == 'b' && ppc->op_count &&
	       ppc->operands[ppc->op_count - 1].type == PPC_OP_IMM ?
	       (uint64_t)ppc->operands[ppc->op_count - 1].imm : 0;
}

static uint64_t find_target(const struct disassembler *d)
{
	const cs_detail *detail = d->insn->detail;
	uint8_t i;

	/* Operands of RISC-V are distances, which the text shows. */
	if (d->arch == CS_ARCH_PPC)
		return find_ppc_target(d->insn);
	if (d->arch != CS_ARCH_X86 && d->arch != CS_ARCH_ARM64)
		return 0;
	if (!cs_insn_group(d->handle, d->insn, CS_GRP_JUMP) &&
	    !cs_insn_group(d->handle, d->insn, CS_GRP_CALL) &&
	    !(d->arch == CS_ARCH_ARM64 && d->insn->id == ARM64_INS_BL))
		return 0;
	if (d->arch == CS_ARCH_X86)
		return detail->x86.op_count && detail->x86.operands[0].type == X86_OP_IMM ?
		       (uint64_t)detail->x86.operands[0].imm : 0;
	/* The last operand: tbz has two before it. */
	i = detail->arm64.op_count;
	return i && detail->arm64.operands[i - 1].type == ARM64_OP_IMM ?
	       (uint64_t)detail->arm64.operands[i - 1].imm : 0;
}

unsigned int disassemble(struct disassembler *d, const unsigned char *bytes, size_t size,
			 uint64_t address, char *text, uint64_t *target)
{
	*target = 0;
	if (!cs_disasm_iter(d->handle, &bytes, &size, &address, d->insn))
		return 0;
	snprintf(text, INSTRUCTION_LEN, *d->insn->op_str ? "%-7s %s" : "%s%s", d->insn->mnemonic,
		 d->insn->op_str);
	*target = find_target(d);
	return d->insn->size;
}

#else

const char *disassembler_library;

bool disassembler_built(void)
{
	return false;
}

bool disassembler_loads(void)
{
	return false;
}

struct disassembler *disassembler_open(unsigned int machine)
{
	(void)machine;
	return NULL;
}

void disassembler_close(struct disassembler *d)
{
	(void)d;
}

unsigned int disassemble(struct disassembler *d, const unsigned char *bytes, size_t size,
			 uint64_t address, char *text, uint64_t *target)
{
	(void)d;
	(void)bytes;
	(void)size;
	(void)address;
	(void)text;
	*target = 0;
	return 0;
}

#endif /* HAVE_CAPSTONE */
