// SPDX-License-Identifier: GPL-2.0
/*
 * usage: two-pmus IN OUT	give each of two CPUs a PMU of another kind
 *
 * QEMU's arm64 machine has CPUs of one kind.  Linux has a driver of its own for each PMU that
 * the device tree describes, even if the processors are the same.  As on processors with two
 * clusters, the PMUs have the same per-CPU interrupt, and a partition of it says which CPUs
 * have it.  So each interrupt's description has a fourth cell, which is zero elsewhere.
 */
#include <libfdt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CELLS	1024

/* The cells of a description without a partition. */
#define OLD_CELLS	3

static const char *const pmus[] = { "arm,cortex-a72-pmu", "arm,cortex-a53-pmu" };

static char *tree;

static int check(int result, const char *what)
{
	if (result < 0) {
		fprintf(stderr, "two-pmus: %s: %s\n", what, fdt_strerror(result));
		exit(1);
	}
	return result;
}

static const fdt32_t *get(int node, const char *name, int *cells)
{
	int size;
	const fdt32_t *value = fdt_getprop(tree, node, name, &size);

	*cells = value ? size / (int)sizeof(*value) : 0;
	if (*cells > MAX_CELLS)
		check(-FDT_ERR_NOSPACE, name);
	return value;
}

static uint32_t get_cell(int node, const char *name)
{
	int cells;
	const fdt32_t *value = get(node, name, &cells);

	return cells == 1 ? fdt32_to_cpu(*value) : 0;
}

/* Add a zero after each group of @cells, of which the last OLD_CELLS describe an interrupt. */
static void widen(int node, const char *name, int cells)
{
	fdt32_t wide[2 * MAX_CELLS];
	int n, i, out = 0;
	const fdt32_t *value = get(node, name, &n);

	for (i = 0; i < n; i++) {
		wide[out++] = value[i];
		if (i % cells == cells - 1)
			wide[out++] = 0;
	}
	if (n)
		check(fdt_setprop(tree, node, name, wide, out * sizeof(wide[0])), name);
}

/* Return a node's handle, after giving it one if necessary. */
static uint32_t handle_of(int node)
{
	uint32_t handle = fdt_get_phandle(tree, node);

	if (!handle) {
		check(fdt_generate_phandle(tree, &handle), "new handle");
		check(fdt_setprop_u32(tree, node, "phandle", handle), "phandle");
	}
	return handle;
}

static int find_gic(void)
{
	return check(fdt_node_offset_by_phandle(tree, get_cell(0, "interrupt-parent")),
		     "interrupt controller");
}

static void widen_all(void)
{
	uint32_t gic = get_cell(0, "interrupt-parent");
	int node, address;

	address = get_cell(find_gic(), "#address-cells");
	for (node = 0; node >= 0; node = fdt_next_node(tree, node, NULL)) {
		uint32_t parent = get_cell(node, "interrupt-parent");

		if (!parent || parent == gic)
			widen(node, "interrupts", OLD_CELLS);
		/* A PCI bus has an address of three cells, a pin, and the parent. */
		widen(node, "interrupt-map", 3 + 1 + 1 + address + OLD_CELLS);
	}
	check(fdt_setprop_u32(tree, find_gic(), "#interrupt-cells", OLD_CELLS + 1), "cells");
}

/* Add a partition of the interrupts that has one CPU.  Return: its handle. */
static uint32_t add_partition(int number, uint32_t cpu)
{
	int partitions, node;
	char name[32];

	partitions = fdt_subnode_offset(tree, find_gic(), "ppi-partitions");
	if (partitions < 0)
		partitions = check(fdt_add_subnode(tree, find_gic(), "ppi-partitions"),
				   "ppi-partitions");
	snprintf(name, sizeof(name), "interrupt-partition-%d", number);
	node = check(fdt_add_subnode(tree, partitions, name), name);
	check(fdt_setprop_u32(tree, node, "affinity", cpu), "affinity");
	partitions = fdt_subnode_offset(tree, find_gic(), "ppi-partitions");
	return handle_of(fdt_subnode_offset(tree, partitions, name));
}

static void add_pmu(int number, const fdt32_t *interrupt)
{
	fdt32_t cells[OLD_CELLS + 1];
	uint32_t partition;
	char path[32];
	int node;

	memcpy(cells, interrupt, sizeof(cells));
	snprintf(path, sizeof(path), "/cpus/cpu@%d", number);
	node = check(fdt_path_offset(tree, path), path);
	partition = add_partition(number, handle_of(node));
	cells[OLD_CELLS] = cpu_to_fdt32(partition);
	snprintf(path, sizeof(path), "pmu-%d", number);
	node = check(fdt_add_subnode(tree, 0, path), path);
	check(fdt_setprop_string(tree, node, "compatible", pmus[number]), "compatible");
	check(fdt_setprop(tree, node, "interrupts", cells, sizeof(cells)), "interrupts");
}

static void split_pmu(void)
{
	fdt32_t interrupt[OLD_CELLS + 1];
	int node = check(fdt_path_offset(tree, "/pmu"), "/pmu"), cells, i;
	const fdt32_t *value = get(node, "interrupts", &cells);

	if (cells != OLD_CELLS + 1)
		check(-FDT_ERR_BADVALUE, "interrupts of /pmu");
	memcpy(interrupt, value, sizeof(interrupt));
	check(fdt_del_node(tree, node), "/pmu");
	for (i = 0; i < 2; i++)
		add_pmu(i, interrupt);
}

int main(int argc, char **argv)
{
	const int size = 2 << 20;
	FILE *in = argc == 3 ? fopen(argv[1], "r") : NULL, *out;

	tree = calloc(1, size);
	if (!in || !tree || !fread(tree, 1, size / 2, in)) {
		fprintf(stderr, "usage: two-pmus IN OUT\n");
		return 1;
	}
	fclose(in);
	check(fdt_open_into(tree, tree, size), argv[1]);
	widen_all();
	split_pmu();
	check(fdt_pack(tree), "pack");
	out = fopen(argv[2], "w");
	if (!out || fwrite(tree, fdt_totalsize(tree), 1, out) != 1 || fclose(out)) {
		perror(argv[2]);
		return 1;
	}
	return 0;
}
