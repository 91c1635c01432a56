// SPDX-License-Identifier: LGPL-2.1-or-later

package vperfctr

// B is what Bench needs of *testing.B.
type B interface {
	Helper()
	Logf(format string, args ...any)
	ReportMetric(n float64, unit string)
	ResetTimer()
	StopTimer()
}

// Bench runs f n times, which is b.N, and adds the counts of one run to the report of the
// benchmark:
//
//	func BenchmarkSort(b *testing.B) {
//		vperfctr.Bench(b, b.N, "instructions:u,cycles:u", func() { sort.Ints(...) })
//	}
//
// If the events cannot be counted, the log says why, and the benchmark still has its times.
func Bench(b B, n int, names string, f func()) {
	b.Helper()
	c, err := New(names)
	if err != nil {
		b.Logf("%v", err)
		b.ResetTimer()
		for i := 0; i < n; i++ {
			f()
		}
		return
	}
	defer c.Close()
	// With -benchmem, all allocations between ResetTimer and StopTimer are those of f.
	before, after := make([]uint64, len(c.names)), make([]uint64, len(c.names))
	buf := new(buffer)
	// Only the loop is between the reads: ResetTimer and StopTimer may read the state of the heap.
	b.ResetTimer()
	err = c.readInto(before, buf)
	for i := 0; i < n; i++ {
		f()
	}
	err2 := c.readInto(after, buf)
	b.StopTimer()
	if err == nil {
		err = err2
	}
	if err != nil {
		b.Logf("%v", err)
		return
	}
	for i, name := range c.Names() {
		b.ReportMetric(float64(after[i]-before[i])/float64(n), name+"/op")
	}
}
