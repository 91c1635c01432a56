# SPDX-License-Identifier: GPL-2.0
#
# --report --annotate disassembles with capstone, if its header is there.  capstone=no: do
# not use it.

# Before make 4.3, a number sign in a function call began a comment.
number-sign := \#
capstone ?= $(shell echo '$(number-sign)include <capstone/capstone.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) \
	-E -x c - > /dev/null 2>&1 && echo yes)
capstone-flags := $(if $(filter yes,$(capstone)),-DHAVE_CAPSTONE)
capstone-libs := $(if $(filter yes,$(capstone)),-lcapstone)
