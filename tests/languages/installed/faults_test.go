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
