/* SPDX-License-Identifier: GPL-2.0 */
/* What known.S executes in user mode when it gets that many arguments, its name included. */
#define KNOWN_INSNS(argc)	(4 + 2000 * (argc))
