/* SPDX-License-Identifier: GPL-2.0 */
/* Arrays in which an item is found by its key, which is the item's first bytes. */
#ifndef PERFEX_HASH_TABLE_H
#define PERFEX_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_table {
	void *items;
	uint32_t nr;		/* with item 0, which no key finds */
	uint32_t room;
	size_t size, key;	/* bytes of an item and of its key */
	bool text;		/* items begin with a char *, and the text is the key */
	uint32_t *slots;	/* numbers of items, 0: free */
	size_t nrslots;
};

/* Return: the number of the item, which is made if there is none; 0: no memory. */
uint32_t hash_table_add(struct hash_table *t, const void *key);

/* Return: the number of the item, or 0. */
uint32_t hash_table_find(const struct hash_table *t, const void *key);

void hash_table_free(struct hash_table *t);

/*
 * Return: a number of these bytes, which is another one in each process: an attacker cannot choose
 * bytes of equal numbers.
 */
uint64_t hash_of_bytes(const void *bytes, size_t len);

#endif /* PERFEX_HASH_TABLE_H */
