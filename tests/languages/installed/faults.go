// SPDX-License-Identifier: GPL-2.0

// Print how many page faults the touch of 2000 pages makes beyond that of 1000.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"syscall"

	"vperfctr"
)

const page = 4096

func touch(pages int) {
	memory, err := syscall.Mmap(-1, 0, pages*page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err == nil {
		err = syscall.Madvise(memory, syscall.MADV_NOHUGEPAGE)
	}
	if err != nil {
		panic(err)
	}
	for i := 0; i < pages; i++ {
		memory[i*page] = 1
	}
	if err = syscall.Munmap(memory); err != nil {
		panic(err)
	}
}

func faults(c *vperfctr.Counters, pages int) uint64 {
	before, err := c.Read()
	if err != nil {
		panic(err)
	}
	touch(pages)
	after, err := c.Read()
	if err != nil {
		panic(err)
	}
	return after[0] - before[0]
}

// profile writes the faults of touching pages, by labels.
func profile(name string) {
	p := vperfctr.NewProfile("page-faults")
	f, err := os.Create(name)
	for _, pages := range []int{1000, 2000} {
		labels := pprof.Labels("pages", fmt.Sprint(pages))
		if err == nil {
			err = p.Do(context.Background(), labels, func(context.Context) { touch(pages) })
		}
	}
	if err == nil {
		err = p.Write(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) > 1 {
		profile(os.Args[1])
		return
	}
	c, err := vperfctr.New("page-faults")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.Close()
	var few, many uint64
	// the runtime has faults of its own at times
	for i := 0; i < 5; i++ {
		if n := faults(c, 1000); few == 0 || n < few {
			few = n
		}
		if n := faults(c, 2000); many == 0 || n < many {
			many = n
		}
	}
	fmt.Println(many - few)
}
