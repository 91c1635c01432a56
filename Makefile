# SPDX-License-Identifier: GPL-2.0
#
# "make help" lists the targets.
#
# make and kbuild split file names at white space and take a colon, a quote and the
# like for syntax; make's realpath and abspath split them, too. The compiler splits
# options at a comma. A checkout with such a path is copied to a private directory in
# /tmp and built there. The result is in "build" as usual, which is then a symbolic
# link. See scripts/in-copy.

ifneq ($(shell scripts/in-copy --needed),)

goals := $(or $(MAKECMDGOALS),all)
.PHONY: $(goals) in-copy
$(goals): in-copy ; @:
in-copy:
	@+scripts/in-copy sh -c 'exec "$$@" O="$$O"' sh $(MAKE) --no-print-directory $(goals)

else

O	?= $(CURDIR)/build
KDIR	?= /lib/modules/$(shell uname -r)/build
SUITES	?=
PROCESSORS ?= $(shell tests/vm/names processors)

ifneq ($(words $(O)),1)
$(error O=$(O): make cannot build in a path with white space)
endif
# Absolute, and the same for each make and script that is run.
override O := $(abspath $(O))
export O

# O of the command line is as the user has written it.
sub = $(MAKE) O=$(O) -C

# The scripts run make themselves, with as many jobs as they choose.
MAKEFLAGS += --no-print-directory

# perfctr's control is that of an x86 processor.
perfctr := $(if $(filter x86_64% i386% i486% i586% i686%,$(shell $(CC) -dumpmachine 2> /dev/null)),libperfctr)
all: libvperfctr $(perfctr) perfex

lib: libvperfctr event

libvperfctr:
	@command -v $(firstword $(CC)) > /dev/null || { echo "make: there is no compiler $(firstword $(CC)):" \
		"install one (Debian, Fedora: gcc), or name it by CC=" >&2; exit 1; }
	@$(sub) lib

event: libvperfctr
	@scripts/needs $(CC) $(CPPFLAGS) $(CFLAGS)
	@$(sub) lib/event

perfex: event
	@$(sub) tools/perfex

libperfctr:
	@$(sub) libperfctr

# kbuild gets those of its variables that are on the command line.
kbuild-vars = $(foreach v,LLVM LLVM_IAS CC LD CROSS_COMPILE KCFLAGS,$(if \
	$(filter command,$(origin $v)),"$v=$($v)"))

module:
	@MAKE="$(MAKE)" scripts/build-module "$(KDIR)" $(kbuild-vars)

install: all
	@$(sub) lib install
	@$(sub) lib/event install
	$(if $(perfctr),@$(sub) libperfctr install)
	@$(sub) tools/perfex install
	@$(sub) packaging install

uninstall:
	@$(sub) lib uninstall
	@$(sub) lib/event uninstall
	@$(sub) libperfctr uninstall
	@$(sub) tools/perfex uninstall
	@$(sub) packaging uninstall

install-system uninstall-system install-documents uninstall-documents:
	@$(sub) packaging $@

dkms-install:
	@DESTDIR="$(DESTDIR)" packaging/dkms install $(KVER)

dkms-remove:
	@DESTDIR="$(DESTDIR)" packaging/dkms remove

dist:
	@packaging/dist "$(O)/dist"

deb:
	@packaging/deb "$(O)/deb"

usb: deps
	@tests/vm/deps packaging/usb/packages
	@packaging/usb/image $(or $(ARCH),amd64)

deps:
	@tests/vm/deps

# "make check -n" prints what the table of suites expands to.
check: deps
	+@tests/vm/check $(if $(findstring n,$(firstword -$(MAKEFLAGS))),-N) $(SUITES)

check-all: deps
	@tests/vm/check-all

check-for: deps
	@tests/vm/check-for $(PATHS)

check-change: deps
	@tests/vm/check-for --change $(or $(BASE),origin/main)

check-again: deps
	@tests/vm/check-again $(or $(N),20) $(or $(SUITES),$(shell tests/vm/check -n))

check-debug: deps
	@SUITES="$(SUITES)" tests/vm/check-each $$(tests/vm/names debug)

check-kernels: deps
	@SUITES="$(SUITES)" tests/vm/check-each $$(tests/vm/names kernels)

check-named: deps
	@tests/vm/check --named

check-processors: deps
	@SUITES="$(SUITES)" tests/vm/check-each $(PROCESSORS)

check-events: deps
	@tests/vm/check events

check-exports: deps perfex
	@tests/vm/deps tests/exports/packages
	@$(sub) tests/unit/lib $(O)/tests/lib/calls
	@tests/exports/run $(O)/bin/perfex $(O)/tests/lib/calls

check-languages: deps lib
	@tests/vm/deps tests/languages/packages
	@$(sub) tests/languages rust go
	@$(sub) languages wheel
	@tests/languages/installed/run
	@tests/languages/java/build $(O)/tests/languages/java
	@tests/vm/check languages languages-fallback languages-rust languages-rust-fallback \
		languages-go languages-go-fallback languages-java languages-java-fallback

check-papi: deps
	@tests/papi/run

release-check: deps
	@tests/vm/deps tests/release/packages
	@tests/release/run $(SUITES)

python: lib
	@$(sub) languages python

install-python uninstall-python wheel sdist rust: lib
	@$(sub) languages $@

java:
	@$(sub) languages java

check-mpi: deps perfex
	@tests/vm/deps tests/mpi/packages
	@tests/mpi/run $(O)/bin/perfex

site:
	@scripts/site $(O)/site

check-site:
	@tests/vm/deps tests/site/packages
	@tests/site/run

check-packages: deps
	@tests/install/lives
	@tests/install/foreign

check-usb: deps
	@tests/usb/run $(TESTS)

check-pkgbuild: deps
	@tests/install/pkgbuild

event-lists: deps
	@tests/unit/event-lists write

lint: deps
	@tests/vm/check lint

stress: deps
	@tests/vm/stress $(or $(SECONDS),10) $(SEED)

hostile: deps
	@tests/vm/hostile $(or $(SECONDS),60) $(SEED)

sweep: deps
	@tests/vm/sweep $(SUITES)

fuzz: deps
	@tests/vm/fuzz $(or $(SECONDS),10) $(SEED)

fuzz-user: deps
	@tests/vm/deps tests/fuzz/packages
	@$(sub) tests/fuzz fuzz

sim:
	@$(sub) tests/sim long

sim-scale:
	@$(sub) tests/sim scale

mutants: deps
	@tests/mutants/run -n $(or $(N),60) -s $(or $(SEED),1) $(FILES)

fuzz-sim: deps
	@tests/vm/deps tests/fuzz/packages
	@$(sub) tests/sim fuzz

vm: deps
	@tests/vm/shell

demo: deps
	@tests/vm/demo/run

bench: deps
	@bench/run

bench-scale: deps
	@tests/vm/check scale2 scale8 scale32 scale64 \
		scale2-10000 scale8-10000 scale32-10000 scale64-10000

bench-plots: deps
	@bench/report plots

picture: deps
	@scripts/picture doc/flames.svg

bench-report: perfex
	@$(sub) bench $(O)/bench/profile-files
	@bench/profiles $(O)/bin/perfex $(O)/bench/profile-files $(O)/bench

bench-guard-check: deps
	@bench/guard check

bench-native:
	@bench/run native

clean:
	rm -rf $(O)

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

.PHONY: all lib libvperfctr event perfex libperfctr module install uninstall \
	install-system uninstall-system install-documents uninstall-documents dkms-install dkms-remove dist deb usb deps check \
	check-all check-for check-change check-again check-debug check-kernels check-named check-processors check-events check-exports check-languages check-papi release-check python install-python uninstall-python wheel sdist rust java check-mpi check-site check-packages check-usb check-pkgbuild site event-lists lint stress hostile sweep \
	fuzz fuzz-user fuzz-sim sim sim-scale mutants vm demo bench bench-scale bench-plots picture bench-report bench-guard-check bench-native clean help

endif

#: To build and install
#:   make [all]         the libraries (build/lib) and perfex (build/bin)
#:   make libvperfctr   only the library that needs no other one
#:   make libperfctr    only perfctr 2.6's interface
#:   make module        the module, for the headers in KDIR
#:   make install       libraries, perfex, headers, manual pages, udev's rule; for
#:                      the prefixes /usr and /usr/local also the group perfctr
#:   make uninstall     remove them
#:   make python        the package for Python (build/python)
#:   make install-python, uninstall-python
#:                      install it where Debian's Python looks, or in pythondir=DIR
#:   make wheel         a wheel of it (build/wheel)
#:   make sdist         an archive of its source, for pip (build/sdist)
#:   make java          the classes for Java 22 and later (build/java/vperfctr.jar);
#:                      JMH=JAR: with the profiler for JMH
#:   make install-system, uninstall-system
#:                      udev's rule in /etc and the group, for another prefix
#:   make install-documents, uninstall-documents
#:                      the documents and examples, in docdir=DIR
#:   make dkms-install, dkms-remove
#:                      the module by DKMS, for this kernel and later ones
#:   make dist          the sources of the last commit, as build/dist/*.tar.xz
#:   make deb           Debian packages of them, as build/deb/*.deb
#:   make usb           a bootable stick that tests a machine, as build/usb/*.img;
#:                      ARCH=arm64: for that architecture; KERNELS="A B"
#:   make clean         remove what was built here, but not the cache
#:
#: To test: most tests run in virtual machines and need neither a PMU nor KVM
#:   make demo          count in a virtual machine, beside perf
#:   make vm            a shell in such a machine
#:   make check         what each change must pass
#:   make check-all     all tests, with those of kernels, processors, exports, languages,
#:                      PAPI, packages, the stick, debug kernels and check-named; takes
#:                      many hours
#:   make check-for PATHS="A B", make check-change BASE=REV
#:                      the tests that a change of these files, or since that commit,
#:                      concerns: see CONTRIBUTING.md
#:   make check-again N=20 SUITES="A B"
#:                      these that many times beside other load: which checks ever fail?
#:   make lint          only checkpatch, sparse, shellcheck and the like
#:   make check-kernels on Debian's kernels from 5.10 on (as root)
#:   make check-processors
#:                      on each emulated processor; PROCESSORS="k8 zen4": on these
#:   make check-named   the suites that otherwise run only if they are named; takes hours
#:   make check-exports do go tool pprof, speedscope, the Firefox Profiler, hotspot and
#:                      Chromium read what perfex exports?  does perf agree on programs in Go
#:                      and Rust?
#:   make check-languages
#:                      the tests of Python, C++, Rust, Go and Java; the crates take
#:                      minutes
#:   make check-papi    PAPI's own tests on its component vperfctr, beside perf_event
#:   make release-check the archive of "make dist", and what it builds; ARCHIVE=FILE in an
#:                      unpacked one: doc/release.md
#:   make check-packages
#:                      install, upgrade and remove Debian packages in a virtual
#:                      machine that counts meanwhile; build them for other
#:                      architectures (as root)
#:   make check-usb     boot the stick in virtual machines: does its screen show the
#:                      report, a fault, and a check that the machine does not survive?
#:                      TESTS="bios hang": only these, see tests/usb/run
#:   make check-debug   on kernels that detect misuse of memory and locks (ten
#:                      minutes to build each, once; takes hours)
#:   make check-events  is lib/event/counter-lists.h what Intel's lists say?  Downloads
#:                      Linux's source (300 MB, once); "make event-lists" makes the file
#:   make site          the documents and manual pages as HTML, in build/site; needs
#:                      pandoc
#:   make check-site    is a dead link in it found?  does its search work?
#:   make check-pkgbuild
#:                      are the packages for Arch Linux complete?
#:   make check-mpi     is a parallel program counted, with Open MPI on this machine?
#:   make stress        the lives of threads, at random, for SECONDS= of virtual
#:                      time (ten real ones each); SEED= repeats a run
#:   make hostile       perfex of root beside an attacker; SECONDS=
#:   make sweep         an overflow on each instruction of the module that runs while
#:                      counters do; prints how many it has hit
#:   make fuzz          almost valid calls, at random, for SECONDS= of virtual time
#:                      (thirty real ones each); SEED= repeats a run
#:   make fuzz-user     input of perfex and the libraries, with libFuzzer; SECONDS=
#:                      for each, SEED=
#:   make fuzz-sim      all calls on a simulated machine, with libFuzzer; SECONDS=
#:   make sim           the module on a simulated machine: more runs, and old defects
#:   make sim-scale     there, what each operation costs on up to 1024 CPUs
#:   make mutants       do the tests notice small changes of the module?  N= of them,
#:                      SEED=, FILES="service common x86": doc/testing.md
#:   make bench         the cost beside perf_event's, emulated: doc/performance.md;
#:                      ARCH=riscv64, KERNEL=: there
#:   make bench-scale   what calls do to other CPUs, on up to 64 CPUs and beside up to
#:                      ten thousand counted threads; takes hours
#:   make bench-plots   draw the results of "make bench": bench/cost-*.svg
#:   make picture       sample a program in a virtual machine, and draw its flame graph
#:                      for README: doc/flames.svg
#:   make bench-report  reports of perfex beside those of perf; LARGE=yes: also of ten
#:                      million samples
#:   make bench-guard-check
#:                      do the tests detect a loop, or a register write, that is
#:                      added where counters are resumed?
#:   make bench-native  the cost in time on this machine (as root, module loaded)
#:   make deps          install the Debian packages that the tests need (as root)
#:
#: Variables
#:   O=DIR              build in DIR instead of build/
#:   KDIR=DIR           module: the kernel's headers
#:   LLVM=1             module: build with clang, as a kernel built by clang is
#:   CC=, CFLAGS=, LDFLAGS=
#:                      the libraries and perfex; CC= on the command line: module
#:   prefix=DIR         install there instead of in /usr/local
#:   DESTDIR=DIR        install and remove below this directory, for packages
#:   KVER=RELEASE       dkms-install: for this kernel
#:   ARCH=NAME          check: only suites of this architecture (amd64, i386, arm64, riscv64, ppc64el, powerpc)
#:   SUITES="A B"       check: only selftest, lint, unit, demo, install, packages,
#:                      clone, or suites of tests/vm
#:   JOBS=N             check: N virtual machines at once
#:   V=1                check: show the output of all programs
#:   CPU=, PMU=, SMP=, ICOUNT=, KERNEL=, PARAMS=, CMDLINE=
#:                      vm: the virtual machine, see tests/vm/README.md
#:   VPERFCTR_CACHE=DIR where downloads, kernels and the emulator are kept
#:                      (default: ~/.cache/vperfctr)
