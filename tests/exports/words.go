// SPDX-License-Identifier: GPL-2.0

// A usual program in Go, whose profile two profilers must agree on: it counts words in a
// tree, sorts them and sums them up.  There is no map, because Go seeds its hashes at random:
// two runs would not execute the same instructions.
package main

import (
	"fmt"
	"sort"
	"strings"
)

type source uint32

//go:noinline
func (s *source) draw(below uint32) uint32 {
	*s = *s*1664525 + 1013904223
	return uint32(*s>>16) % below
}

//go:noinline
func (s *source) next() string {
	var word strings.Builder
	for left := 3 + s.draw(8); left > 0; left-- {
		word.WriteByte(byte('a' + s.draw(4)))
	}
	return word.String()
}

type node struct {
	word        string
	count       int
	left, right *node
}

//go:noinline
func (n *node) add(word string) *node {
	if n == nil {
		return &node{word: word, count: 1}
	}
	switch strings.Compare(word, n.word) {
	case -1:
		n.left = n.left.add(word)
	case 1:
		n.right = n.right.add(word)
	default:
		n.count++
	}
	return n
}

func (n *node) size() int {
	if n == nil {
		return 0
	}
	return n.left.size() + 1 + n.right.size()
}

type byLength []string

func (w byLength) Len() int      { return len(w) }
func (w byLength) Swap(i, j int) { w[i], w[j] = w[j], w[i] }

//go:noinline
func (w byLength) Less(i, j int) bool {
	if len(w[i]) != len(w[j]) {
		return len(w[i]) < len(w[j])
	}
	return w[i] < w[j]
}

//go:noinline
func checksum(all []string) uint64 {
	var sum uint64
	for _, word := range all {
		for _, c := range []byte(word) {
			sum = sum*31 + uint64(c)
		}
	}
	return sum
}

func main() {
	var all []string
	var tree *node
	s := source(1)
	// With this number, chance makes no difference of one percent between two samplings.
	for i := 0; i < 200000; i++ {
		all = append(all, s.next())
	}
	for _, word := range all {
		tree = tree.add(word)
	}
	sort.Sort(byLength(all))
	fmt.Println(tree.size(), tree.count, checksum(all))
}
