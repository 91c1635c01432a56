# SPDX-License-Identifier: GPL-2.0
#
# "make help" says what there is to make.

O	?= $(CURDIR)/build
KDIR	?= /lib/modules/$(shell uname -r)/build
SUITES	?=
PROCESSORS ?= sandybridge icelake core2 k8 amd-10h zen zen4 hybrid-core hybrid-atom neoverse-n1 arm64-max

# absolute, and the same for everyone who is called
override O := $(abspath $(O))
export O

# the scripts run make themselves, with as many jobs as they see fit
MAKEFLAGS += --no-print-directory

# perfctr's control is an x86 processor's.
perfctr := $(if $(filter x86_64% i%86%,$(shell $(CC) -dumpmachine)),libperfctr)
all: lib perfex $(perfctr)

lib:
	@$(MAKE) -C lib O=$(O)
	@$(MAKE) -C lib/event O=$(O)

perfex: lib
	@$(MAKE) -C tools/perfex O=$(O)

libperfctr:
	@$(MAKE) -C libperfctr O=$(O)

# The variables of kbuild that are on the command line.
kbuild-vars = $(foreach v,LLVM LLVM_IAS CC LD CROSS_COMPILE KCFLAGS,$(if \
	$(filter command,$(origin $v)),"$v=$($v)"))

module:
	@MAKE="$(MAKE)" scripts/build-module "$(KDIR)" $(kbuild-vars)

install: all
	@$(MAKE) -C lib O=$(O) install
	@$(MAKE) -C lib/event O=$(O) install
	$(if $(perfctr),@$(MAKE) -C libperfctr O=$(O) install)
	@$(MAKE) -C tools/perfex O=$(O) install
	@$(MAKE) -C packaging install

uninstall:
	@$(MAKE) -C lib O=$(O) uninstall
	@$(MAKE) -C lib/event O=$(O) uninstall
	@$(MAKE) -C libperfctr O=$(O) uninstall
	@$(MAKE) -C tools/perfex O=$(O) uninstall
	@$(MAKE) -C packaging uninstall

dkms-install:
	@DESTDIR=$(DESTDIR) packaging/dkms install $(KVER)

dkms-remove:
	@DESTDIR=$(DESTDIR) packaging/dkms remove

deps:
	@tests/vm/deps

check: deps
	@tests/vm/check $(SUITES)

check-debug: deps
	@SUITES="$(SUITES)" tests/vm/check-each debug-6.1-amd64 debug-kcsan-6.1-amd64 \
		debug-rt-6.12-amd64

check-kernels: deps
	@SUITES="$(SUITES)" tests/vm/check-each debian-5.10-amd64 debian-6.1-amd64 \
		debian-6.12-amd64 debian-sid-amd64 debian-5.10-arm64 debian-6.1-arm64 \
		debian-6.12-arm64 debian-sid-arm64

check-processors: deps
	@SUITES="$(SUITES)" tests/vm/check-each $(PROCESSORS)

lint: deps
	@tests/vm/check lint

stress: deps
	@tests/vm/stress $(or $(SECONDS),10) $(SEED)

fuzz: deps
	@tests/vm/fuzz $(or $(SECONDS),10) $(SEED)

fuzz-user: deps
	@tests/vm/deps tests/fuzz/packages
	@$(MAKE) -C tests/fuzz O=$(O) fuzz

vm: deps
	@tests/vm/shell

demo: deps
	@tests/vm/demo/run

bench: deps
	@bench/run

bench-plots: deps
	@bench/report plots

bench-guard-check: deps
	@bench/guard check

bench-native:
	@bench/run native

clean:
	rm -rf $(O)

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

.PHONY: all lib perfex libperfctr module install uninstall dkms-install dkms-remove deps check check-debug check-kernels check-processors lint \
	stress fuzz fuzz-user vm demo bench bench-plots bench-guard-check bench-native clean help

#: make [all]	the libraries (build/lib) and the perfex command (build/bin)
#: make libperfctr	perfctr 2.6's interface only
#: make module	the kernel module, for the kernel of this machine
#: make install	libraries, perfex, headers, man pages, the udev rule of /dev/vperfctr (and its
#:		group, unless DESTDIR is set)
#: make uninstall	remove them
#: make dkms-install
#: 		the module, by DKMS: for the kernel of this machine and those to come
#: make dkms-remove
#: 		remove it
#: make check	all tests, most of them in virtual machines; needs no PMU and no KVM
#: make check-kernels
#:		the suites on Debian's kernels from 5.10 on (root only; once some minutes
#:		to get each)
#: make check-processors
#:		the suites on each emulated processor; PROCESSORS="k8 zen4": on these
#: make check-debug
#:		the suites on kernels built to find misuse of memory, locks, ... (once ten
#:		minutes to build each; takes hours)
#: make lint	what checkpatch, sparse and others say of the sources
#: make stress	all lives of a thread at once, at random; SECONDS= of virtual time
#:		(each takes some ten real ones), SEED= to repeat a run
#: make fuzz	almost valid calls, at random; SECONDS= of virtual time (each takes some
#:		thirty real ones), SEED= to repeat a run
#: make fuzz-user	what perfex and the library read, with clang's libFuzzer; SECONDS= for each of
#:		them, SEED=
#: make demo	the module in a virtual machine, its counts next to those of perf
#: make vm	a shell in such a machine
#: make bench	what it costs, next to perf_event, in the emulator: doc/performance.md
#: make bench-plots	draw its results: bench/cost-*.svg
#: make bench-guard-check
#:		do the tests notice a loop, and a register write, where counters are resumed?
#: make bench-native	the same in time, on this machine (as root, with the module loaded)
#: make deps	install the Debian packages that the above need (as root)
#: make clean	remove what was built here (not the cache)
#:
#: O=DIR		build there, not in build/
#: KDIR=DIR	module: build for the kernel whose headers are there
#: prefix=DIR	install, uninstall: there, not in /usr/local
#: DESTDIR=DIR	(dkms-)install, uninstall, dkms-remove: below this directory, for packages
#: KVER=RELEASE	dkms-install: for this kernel
#: ARCH=NAME	check: the suites of this architecture only (amd64, arm64); vm: such a machine
#: SUITES="A B"	check: only these; A, B are selftest, lint, unit, demo, install or in
#:		tests/vm/suites
#: JOBS=N		check: N virtual machines at once
#: V=1		check: show the output of all programs
#: CPU=, PMU=, SMP=, ICOUNT=, KERNEL=, PARAMS=, CMDLINE=
#: 		vm: the virtual machine, see tests/vm/README.md
#: VPERFCTR_CACHE=DIR
#: 		where downloads, kernels and the emulator are kept
#: 		(default: ~/.cache/vperfctr)
