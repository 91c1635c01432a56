// SPDX-License-Identifier: GPL-2.0

package main

import (
	"errors"
	"runtime"
	"syscall"
	"testing"

	"vperfctr"
)

func BenchmarkTouch(b *testing.B) {
	vperfctr.Bench(b, b.N, "page-faults", func() { touch(1000) })
}

// A name with a NUL is refused: the C library would see the names up to there.
func TestNul(t *testing.T) {
	for _, names := range []string{"page-faults\x00x", "page-faults\x00,page-faults", "page-faults,page-faults\x00"} {
		c, err := vperfctr.New(names)
		if !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%q: %v", names, err)
		}
		if c != nil {
			c.Close()
		}
	}
}

// framework has a page fault for each of a thousand pages that its own work touches.
type framework struct {
	*testing.T
	counted float64
}

func (f *framework) ResetTimer()                         { touch(1000) }
func (f *framework) StopTimer()                          { touch(1000) }
func (f *framework) ReportMetric(n float64, unit string) { f.counted = n }

// The work of the framework is not counted.
func TestBench(t *testing.T) {
	f := framework{T: t}
	vperfctr.Bench(&f, 1, "page-faults", func() { touch(1000) })
	// the runtime may have a few faults; without counters there is no metric
	if f.counted != 0 && (f.counted < 1000 || f.counted >= 2000) {
		t.Errorf("%v page faults, not 1000", f.counted)
	}
}

// allocations counts those between ResetTimer and StopTimer, as -benchmem does.
type allocations struct {
	framework
	before, after runtime.MemStats
}

func (a *allocations) ResetTimer() { runtime.ReadMemStats(&a.before) }
func (a *allocations) StopTimer()  { runtime.ReadMemStats(&a.after) }

var kept []byte

// Bench adds no allocations to those of the function.
func TestAllocations(t *testing.T) {
	for _, names := range []string{"page-faults", "task-clock,page-faults"} {
		least := ^uint64(0)
		// the runtime may allocate, too, but not each time
		for i := 0; i < 10; i++ {
			a := allocations{framework: framework{T: t}}
			vperfctr.Bench(&a, 100, names, func() { kept = make([]byte, 100) })
			if a.after.Mallocs == 0 {
				return // there are no counters
			}
			if n := a.after.Mallocs - a.before.Mallocs; n < least {
				least = n
			}
		}
		if least != 100 {
			t.Errorf("%s: %d allocations, not 100", names, least)
		}
	}
}
