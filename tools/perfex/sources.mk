# SPDX-License-Identifier: GPL-2.0
#
# The files of perfex, for its Makefile and those of its tests, which set perfex-src to its
# directory.  Headers are found by their names alone.

perfex-parts := common events count stat record symbols profile export report top list doctor \
	info self-test merge plot diff
perfex-dirs := $(perfex-src) $(perfex-parts:%=$(perfex-src)%/)
perfex-sources := $(foreach dir,$(perfex-dirs),$(wildcard $(dir)*.c))
perfex-incs := $(perfex-dirs:%=-I%)
perfex-metrics := $(perfex-src)events/metrics.table

# perfex-objects DIR: the objects of all, whose directories perfex-objdirs are
perfex-objects = $(perfex-sources:$(perfex-src)%.c=$(1)/%.o) $(1)/metrics-table.o
perfex-objdirs = $(1) $(perfex-parts:%=$(1)/%)
