# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Rules for one library, shared and static.  Its Makefile includes this file, and sets src
# (its directory), name (without lib), objs (the names of its files) and, optionally, libs
# (the libraries that it needs).  make O=DIR [prefix=...] [libdir=...] puts the results into
# DIR/lib.

ifeq ($(filter /%,$(O)),)
$(error Say where to build: make O=/an/absolute/directory)
endif

prefix ?= /usr/local
libdir ?= $(prefix)/lib
includedir ?= $(prefix)/include
mandir ?= $(prefix)/share/man

library := $(dir $(realpath $(lastword $(MAKEFILE_LIST))))

# The result does not name the directory that it was built in.
CFLAGS ?= -O2 -g -ffile-prefix-map=$(library:%/lib/=%)=.
LD ?= ld
OBJCOPY ?= objcopy
warnings := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
incs := -I$(library)include -I$(library)../include/uapi
flags := -std=gnu11 $(warnings) $(incs) -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -fPIC -MMD -MP

# The header has the version.  The soname changes when old programs break.
version := $(shell sed -n 's/^.define VPERFCTR_VERSION[[:space:]]*"\(.*\)"/\1/p' \
		$(library)include/vperfctr.h)
soname := lib$(name).so.0

out := $(O)/lib
obj := $(O)/obj/lib$(name)
objects := $(objs:%=$(obj)/%.o)
shared := $(out)/lib$(name).so.$(version)

.PHONY: all install uninstall clean FORCE
.DELETE_ON_ERROR:
all: $(out)/lib$(name).a $(out)/lib$(name).so $(out)/lib$(name).pc

$(out) $(obj):
	mkdir -p $@

$(obj)/%.o: $(src)%.c $(src)Makefile $(library)library.mk | $(obj)
	$(CC) $(flags) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# One object: its hidden symbols become local and cannot clash.  On 32-bit x86 the compiler
# adds functions in groups, of which the linker of a program would keep another file's.
groups := $(if $(shell echo __i386__ | $(CC) $(CFLAGS) -E -P - | grep -x 1),-Xlinker --force-group-allocation)
$(obj)/lib$(name).o: $(objects)
	$(CC) -r -nostdlib $(groups) -o $@ $(objects)
	$(OBJCOPY) --localize-hidden $@

$(out)/lib$(name).a: $(obj)/lib$(name).o | $(out)
	rm -f $@
	$(AR) rcs $@ $<

$(shared): $(objects) $(src)lib$(name).map | $(out)
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(soname) -Wl,-z,defs \
		-Wl,--version-script=$(src)lib$(name).map -o $@ $(objects) $(libs)

$(out)/$(soname) $(out)/lib$(name).so: $(shared)
	ln -sf $(notdir $(shared)) $@

$(out)/lib$(name).so: $(out)/$(soname)

# Always made again: prefix may have changed.
$(out)/lib$(name).pc: $(src)lib$(name).pc.in FORCE | $(out)
	@sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' \
		-e 's|@includedir@|$(includedir)|' -e 's|@version@|$(version)|' $< > $@

install: install-library
uninstall: uninstall-library

.PHONY: install-library uninstall-library
install-library: all
	install -d $(DESTDIR)$(libdir)/pkgconfig $(DESTDIR)$(includedir) $(DESTDIR)$(mandir)/man3
	install -m 644 $(out)/lib$(name).a $(DESTDIR)$(libdir)/
	install -m 755 $(shared) $(DESTDIR)$(libdir)/
	ln -sf $(notdir $(shared)) $(DESTDIR)$(libdir)/$(soname)
	ln -sf $(soname) $(DESTDIR)$(libdir)/lib$(name).so
	install -m 644 $(out)/lib$(name).pc $(DESTDIR)$(libdir)/pkgconfig/
	install -m 644 $(library)include/$(name).h $(DESTDIR)$(includedir)/
	install -m 644 $(src)man/*.3 $(DESTDIR)$(mandir)/man3/
	$(library)man/links $(src)man $(DESTDIR)$(mandir)/man3

uninstall-library:
	rm -f $(addprefix $(DESTDIR)$(libdir)/,lib$(name).a $(notdir $(shared)) $(soname) \
		lib$(name).so pkgconfig/lib$(name).pc) $(DESTDIR)$(includedir)/$(name).h
	rm -f $(addprefix $(DESTDIR)$(mandir)/man3/,$(addsuffix .3,$(shell $(library)man/links $(src)man | cut -d ' ' -f 1)))

clean:
	rm -rf $(obj) $(out)/lib$(name).*

-include $(objects:.o=.d)
