# SPDX-License-Identifier: GPL-2.0
#
# --report --annotate disassembles with capstone, if its header is there.  capstone=no: do
# not use it.

capstone ?= $(shell echo '\#include <capstone/capstone.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) \
	-E -x c - > /dev/null 2>&1 && echo yes)
capstone-flags := $(if $(filter yes,$(capstone)),-DHAVE_CAPSTONE)
capstone-libs := $(if $(filter yes,$(capstone)),-lcapstone)
