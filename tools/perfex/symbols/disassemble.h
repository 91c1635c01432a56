/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions as text, by capstone, if perfex was built with it. */
#ifndef PERFEX_DISASSEMBLE_H
#define PERFEX_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INSTRUCTION_LEN	256

struct disassembler;

/* True if perfex was built with capstone. */
bool disassembler_built(void);
/* True if capstone is there: perfex loads it at the first call. */
bool disassembler_loads(void);
/* The file that is loaded; NULL: capstone is part of perfex, or perfex was built without it. */
extern const char *disassembler_library;

/* machine: of ELF (EM_X86_64).  Return: NULL: there is none for this machine. */
struct disassembler *disassembler_open(unsigned int machine);
void disassembler_close(struct disassembler *d);

/*
 * Write the first of these instructions to text, which has INSTRUCTION_LEN characters.
 * *target: the address to which it jumps, or that it calls; 0: it does not, or that is not known.
 * Return: its size; 0: it is no instruction that capstone knows
 */
unsigned int disassemble(struct disassembler *d, const unsigned char *bytes, size_t size,
			 uint64_t address, char *text, uint64_t *target);

#endif /* PERFEX_DISASSEMBLE_H */
