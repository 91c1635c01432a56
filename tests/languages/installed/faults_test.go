// SPDX-License-Identifier: GPL-2.0

package main

import (
	"testing"

	"vperfctr"
)

func BenchmarkTouch(b *testing.B) {
	vperfctr.Bench(b, b.N, "page-faults", func() { touch(1000) })
}
