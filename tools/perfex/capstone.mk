# SPDX-License-Identifier: GPL-2.0
#
# --report --annotate disassembles with capstone, if its header is there.  capstone=no: do
# not use it.  The shared library is loaded when it is needed; only a static one is linked.

# Before make 4.3, a number sign in a function call began a comment.
number-sign := \#
capstone ?= $(shell echo '$(number-sign)include <capstone/capstone.h>' | $(CC) $(CPPFLAGS) $(CFLAGS) \
	-E -x c - > /dev/null 2>&1 && echo yes)
# The compiler prints the name alone where it finds no file.
capstone-shared := $(filter /%,$(if $(filter yes,$(capstone)),$(shell $(CC) $(CPPFLAGS) $(CFLAGS) \
	-print-file-name=libcapstone.so)))
capstone-flags := $(if $(filter yes,$(capstone)),-DHAVE_CAPSTONE) $(if $(capstone-shared),-DLOAD_CAPSTONE)
capstone-libs := $(if $(filter yes,$(capstone)),$(if $(capstone-shared),,-lcapstone))
