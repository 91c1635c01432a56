// SPDX-License-Identifier: LGPL-2.1-or-later

// Package vperfctr has the performance counters of a thread.
//
//	c, err := vperfctr.New("instructions:u,cycles:u")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer c.Close()
//	before, _ := c.Read()
//	work()
//	after, _ := c.Read()
//	fmt.Println(after[0] - before[0])
//
// Counters belong to a thread, so New locks the goroutine to its thread until Close: what the
// runtime does on other threads is not counted.  Each read includes a call of C.  Where the
// module vperfctr cannot count, perf_event does.
package vperfctr

/*
#cgo pkg-config: libvperfctr-event
#include <stdlib.h>
#include <vperfctr-event.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// softwareOf returns the software counters of a name, or 0.
func softwareOf(name string) C.uint64_t {
	// The library needs no more for software events, on any processor.
	info := C.struct_vperfctr_info{size: C.sizeof_struct_vperfctr_info, soft: ^C.__u64(0)}
	var event C.struct_vperfctr_event
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))

	if C.vperfctr_event(&event, text, &info, nil) != 0 {
		return 0
	}
	return C.uint64_t(event.soft)
}

// Error is an error of the C library: its number, such as syscall.EBUSY, and the reason.
type Error struct {
	Errno  syscall.Errno
	Reason string
}

func (e *Error) Error() string { return "vperfctr: " + e.Reason }

// Unwrap lets errors.Is compare the number.
func (e *Error) Unwrap() error { return e.Errno }

func failed(err C.int, reason string) error {
	errno := syscall.Errno(-err)
	if reason == "" {
		reason = errno.Error()
	}
	return &Error{errno, reason}
}

var errClosed = errors.New("vperfctr: the counters are closed")

// Counters counts some events for a goroutine and its thread.
type Counters struct {
	v     *C.struct_vperfctr
	names []string
	soft  []C.uint64_t // of each name: its software counters; 0: it has a counter
	nr    int          // counters
}

// New starts to count events for the calling goroutine.  The names are those of perfex and
// vperfctr_event(3), with commas between them.
func New(names string) (*Counters, error) {
	if strings.IndexByte(names, 0) >= 0 {
		// The C library would see the names up to there.
		return nil, failed(-C.int(syscall.EINVAL), "a name has a NUL")
	}
	text := C.CString(names)
	defer C.free(unsafe.Pointer(text))
	c := &Counters{names: strings.Split(names, ",")}
	var why C.struct_vperfctr_why

	runtime.LockOSThread()
	if err := C.vperfctr_count(&c.v, text, 0, &why); err != 0 {
		runtime.UnlockOSThread()
		return nil, failed(err, C.GoString(&why.text[0]))
	}
	for _, name := range c.names {
		soft := C.uint64_t(0)
		if counter := C.vperfctr_counter_name(c.v, C.uint(c.nr)); counter != nil && C.GoString(counter) == name {
			c.nr++
		} else {
			soft = softwareOf(name)
			if soft == 0 {
				c.Close()
				return nil, failed(-C.int(syscall.EINVAL), "the event "+name+" has no counter")
			}
		}
		c.soft = append(c.soft, soft)
	}
	return c, nil
}

// Names returns the names, in the order of the values of Read.
func (c *Counters) Names() []string { return c.names }

// Backend returns what counts: "module" or "perf".
func (c *Counters) Backend() string {
	if c.v != nil && C.vperfctr_backend(c.v) == C.VPERFCTR_BACKEND_PERF {
		return "perf"
	}
	return "module"
}

// buffer is what the C library writes to, on the heap.
type buffer struct {
	counted [C.VPERFCTR_MAX_CTRS]C.uint64_t
	soft    C.uint64_t
}

// readInto stores a value for each name.  It allocates nothing unless it fails.
func (c *Counters) readInto(values []uint64, b *buffer) error {
	if c.v == nil {
		return errClosed
	}
	if err := C.vperfctr_read(c.v, nil, &b.counted[0], C.uint(c.nr)); err != 0 {
		return failed(err, "")
	}
	next := 0
	for i, soft := range c.soft {
		if soft != 0 {
			if err := C.vperfctr_read_soft(c.v, soft, &b.soft); err != 0 {
				return failed(err, "")
			}
			values[i] = uint64(b.soft)
		} else {
			values[i] = uint64(b.counted[next])
			next++
		}
	}
	return nil
}

// Read returns what has been counted since New or Reset.  It fails in other goroutines.
func (c *Counters) Read() ([]uint64, error) {
	values := make([]uint64, len(c.names))
	if err := c.readInto(values, new(buffer)); err != nil {
		return nil, err
	}
	return values, nil
}

// Reset lets all counts begin at zero.
func (c *Counters) Reset() error {
	if c.v == nil {
		return errClosed
	}
	if err := C.vperfctr_reset(c.v); err != 0 {
		return failed(err, "")
	}
	return nil
}

// Close ends the counting, and the goroutine may change its thread again.  It is for the goroutine
// that has called New: another one would leave that one locked to its thread.
func (c *Counters) Close() {
	if c.v != nil {
		C.vperfctr_close(c.v)
		c.v = nil
		runtime.UnlockOSThread()
	}
}

// String describes the counters.
func (c *Counters) String() string {
	return fmt.Sprintf("%s by %s", strings.Join(c.names, ","), c.Backend())
}
