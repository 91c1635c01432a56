// SPDX-License-Identifier: GPL-2.0
/* Instructions as text, by capstone, if perfex was built with it. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "disassemble.h"

#ifdef HAVE_CAPSTONE
#include <capstone/capstone.h>

struct disassembler {
	csh handle;
	cs_insn *insn;
	cs_arch arch;
};

bool disassembler_built(void)
{
	return true;
}

struct disassembler *disassembler_open(unsigned int machine)
{
	struct disassembler *d = calloc(1, sizeof(*d));
	cs_mode mode = CS_MODE_LITTLE_ENDIAN;

	if (!d)
		return NULL;
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

bool disassembler_built(void)
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
