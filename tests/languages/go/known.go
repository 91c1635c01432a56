// SPDX-License-Identifier: GPL-2.0

// Print which backend counts, how many instructions two thousand rounds of a loop add to one
// thousand, and the same of the sums of a profile by its labels.
package main

/*
static void loop(unsigned long n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
}
*/
import "C"

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"

	"vperfctr"
)

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// cost returns the instructions of the rounds, and of the reads around them.
func cost(c *vperfctr.Counters, rounds C.ulong) uint64 {
	var least uint64
	// The first ones may grow the stack, or start the garbage collector.
	for i := 0; i < 10; i++ {
		before, err := c.Read()
		check(err)
		C.loop(rounds)
		after, err := c.Read()
		check(err)
		if n := after[0] - before[0]; i == 0 || n < least {
			least = n
		}
	}
	return least
}

func main() {
	c, err := vperfctr.New("instructions:u")
	check(err)
	fmt.Println("backend", c.Backend())
	few := cost(c, 1000)
	fmt.Println("loop", cost(c, 3000)-few)
	c.Close()

	p := vperfctr.NewProfile("instructions:u")
	// The first ones are for the same reason.
	for i := 0; i < 10; i++ {
		for _, rounds := range []C.ulong{1000, 3000} {
			labels := pprof.Labels("rounds", fmt.Sprint(rounds), "round", fmt.Sprint(i))
			check(p.Do(context.Background(), labels, func(context.Context) { C.loop(rounds) }))
		}
	}
	least := map[string]uint64{}
	for _, sum := range p.Sums() {
		rounds := sum.Labels[1][1]
		if n, found := least[rounds]; !found || sum.Counts[0] < n {
			least[rounds] = sum.Counts[0]
		}
	}
	fmt.Println("labels", least["3000"]-least["1000"])
}
