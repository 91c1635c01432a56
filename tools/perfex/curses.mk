# SPDX-License-Identifier: GPL-2.0
#
# The interactive report uses ncurses, if its header is there.  curses=no: do not use it.  The
# library is loaded when it is needed, and not linked.

curses ?= $(shell echo '$(number-sign)include <curses.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) -E -x c - \
	> /dev/null 2>&1 && echo yes)
curses-flags := $(if $(filter yes,$(curses)),-DHAVE_CURSES)
