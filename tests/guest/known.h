/* SPDX-License-Identifier: GPL-2.0 */
/* Instructions of known.S in user mode, for this many arguments including its name. */
#define KNOWN_INSNS(argc)	(4 + 2000 * (argc))
/* Instructions of known_moves.S in user mode. */
#define KNOWN_MOVES	(11 + 20 * (11 + 2000) + 3)
