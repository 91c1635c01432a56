// SPDX-License-Identifier: LGPL-2.1-or-later

package vperfctr

import (
	"compress/gzip"
	"context"
	"io"
	"reflect"
	"runtime"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
)

// Profile sums up counts by the labels of package runtime/pprof:
//
//	p := vperfctr.NewProfile("instructions:u,cache-misses:u")
//	p.Do(ctx, pprof.Labels("request", "search"), func(ctx context.Context) { ... })
//	p.Write(file)	// go tool pprof -tags file
//
// So the counts have the same labels as the samples of a CPU profile.  All goroutines may use
// one Profile.
type Profile struct {
	names string
	lock  sync.Mutex
	sums  map[string]*Sum
}

// Sum has the counts of a function with some labels, in the order of the events' names.
type Sum struct {
	Function string
	Labels   [][2]string // keys and values, sorted
	Counts   []uint64
}

// NewProfile makes an empty profile of these events.
func NewProfile(names string) *Profile {
	return &Profile{names: names, sums: map[string]*Sum{}}
}

// Do runs f as pprof.Do does, and adds what the goroutine counts meanwhile to the sums of f and
// its labels, which are those of ctx and the new ones.  A Do in f counts beside it, by other
// counters.  If the events cannot be counted, f runs all the same, and the error says why.
func (p *Profile) Do(ctx context.Context, labels pprof.LabelSet, f func(context.Context)) error {
	var before, after []uint64
	var all [][2]string

	c, err := New(p.names)
	if err == nil {
		defer c.Close()
	}
	pprof.Do(ctx, labels, func(ctx context.Context) {
		pprof.ForLabels(ctx, func(key, value string) bool {
			all = append(all, [2]string{key, value})
			return true
		})
		if err == nil {
			before, err = c.Read()
		}
		f(ctx)
		if err == nil {
			after, err = c.Read()
		}
	})
	if err != nil {
		return err
	}
	p.add(functionName(f), all, before, after)
	return nil
}

func functionName(f func(context.Context)) string {
	if function := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); function != nil {
		return function.Name()
	}
	return "?"
}

func (p *Profile) add(function string, labels [][2]string, before, after []uint64) {
	sort.Slice(labels, func(i, j int) bool { return labels[i][0] < labels[j][0] })
	key := function
	for _, label := range labels {
		key += "\x00" + label[0] + "\x00" + label[1]
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	sum := p.sums[key]
	if sum == nil {
		sum = &Sum{function, labels, make([]uint64, len(before))}
		p.sums[key] = sum
	}
	for i := range before {
		sum.Counts[i] += after[i] - before[i]
	}
}

// Sums returns what has been counted so far, sorted by functions and labels.
func (p *Profile) Sums() []Sum {
	p.lock.Lock()
	defer p.lock.Unlock()
	keys := make([]string, 0, len(p.sums))
	for key := range p.sums {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	sums := make([]Sum, 0, len(keys))
	for _, key := range keys {
		sum := *p.sums[key]
		sum.Counts = append([]uint64(nil), sum.Counts...)
		sums = append(sums, sum)
	}
	return sums
}

// message is one of Google's protocol buffers.
type message []byte

func (m *message) varint(n uint64) {
	for n >= 0x80 {
		*m = append(*m, byte(n)|0x80)
		n >>= 7
	}
	*m = append(*m, byte(n))
}

func (m *message) number(field int, n uint64) {
	m.varint(uint64(field) << 3)
	m.varint(n)
}

func (m *message) bytes(field int, b []byte) {
	m.varint(uint64(field)<<3 | 2)
	m.varint(uint64(len(b)))
	*m = append(*m, b...)
}

// stringTable numbers texts, as a profile has them.
type stringTable struct {
	texts []string
	of    map[string]uint64
}

func (t *stringTable) add(text string) uint64 {
	n, found := t.of[text]
	if !found {
		n = uint64(len(t.texts))
		t.of[text] = n
		t.texts = append(t.texts, text)
	}
	return n
}

// Write writes the profile in the format of go tool pprof: profile.proto, compressed.
func (p *Profile) Write(w io.Writer) error {
	var profile, part message
	strs := stringTable{of: map[string]uint64{}}
	strs.add("")

	for _, name := range strings.Split(p.names, ",") {
		part = nil
		part.number(1, strs.add(name))
		part.number(2, strs.add("count"))
		profile.bytes(1, part)
	}
	for i, sum := range p.Sums() {
		profile.sample(uint64(i)+1, sum, &strs)
	}
	for _, text := range strs.texts {
		profile.bytes(6, []byte(text))
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(profile); err != nil {
		return err
	}
	return z.Close()
}

// sample adds the sums of one function, which has a number.
func (m *message) sample(number uint64, sum Sum, strs *stringTable) {
	var sample, label, location, line, function message

	sample.number(1, number)
	for _, count := range sum.Counts {
		sample.number(2, count)
	}
	for _, pair := range sum.Labels {
		label = nil
		label.number(1, strs.add(pair[0]))
		label.number(2, strs.add(pair[1]))
		sample.bytes(3, label)
	}
	line.number(1, number)
	location.number(1, number)
	location.bytes(4, line)
	function.number(1, number)
	function.number(2, strs.add(sum.Function))
	m.bytes(2, sample)
	m.bytes(4, location)
	m.bytes(5, function)
}
