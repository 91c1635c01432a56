// SPDX-License-Identifier: GPL-2.0

package main

import (
	"errors"
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
