// SPDX-License-Identifier: GPL-2.0

// Print how many page faults the touch of 2000 pages makes beyond that of 1000.
package main

import (
	"fmt"
	"os"
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

func main() {
	c, err := vperfctr.New("page-faults")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer c.Close()
	faults(c, 10)
	few := faults(c, 1000)
	fmt.Println(faults(c, 2000) - few)
}
