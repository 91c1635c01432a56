// SPDX-License-Identifier: GPL-2.0
/*
 * Open hashing: at most half of the slots are used.  Behind the slots is a byte of each one's hash:
 * to look at an item with another key would wait for memory.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "hash-table.h"

#define FIRST_SLOTS	64
#define MAX_ITEMS	(UINT32_MAX / 4)

static const void *item_at(const struct hash_table *t, uint32_t i)
{
	return (const char *)t->items + i * t->size;
}

/* The halves of a product: all bits of the factors have an effect on it. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	__extension__ const __uint128_t product = (__uint128_t)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
#else
	const uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	const uint64_t one = (a & UINT32_MAX) * (b >> 32), other = (a >> 32) * (b & UINT32_MAX);
	const uint64_t middle = (low >> 32) + (one & UINT32_MAX) + (other & UINT32_MAX);

	return (a * b) ^ ((a >> 32) * (b >> 32) + (one >> 32) + (other >> 32) + (middle >> 32));
#endif
}

/* An attacker does not know these numbers, and so cannot choose keys of the same hash. */
static const uint64_t *secret(void)
{
	static uint64_t numbers[2];
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		while (!numbers[i])
			if (getrandom(&numbers[i], sizeof(numbers[i]), GRND_NONBLOCK) < 0)
				numbers[i] = ((uint64_t)time(NULL) << 32 | (uint32_t)getpid()) *
					     UINT64_C(0x9e3779b97f4a7c15);
	return numbers;
}

/* Keys are some words, or texts: take eight bytes at once. */
uint64_t hash_of_bytes(const void *bytes, size_t len)
{
	const uint64_t *s = secret();
	uint64_t hash = len ^ s[0], word;
	size_t i;

	for (i = 0; i < len; i += sizeof(word)) {
		word = 0;
		if (len - i >= sizeof(word))
			memcpy(&word, (const char *)bytes + i, sizeof(word));
		else
			memcpy(&word, (const char *)bytes + i, len - i);
		hash = multiply(hash ^ word, s[1] | 1);
	}
	return multiply(hash ^ s[0], UINT64_C(0x9e3779b97f4a7c15));
}

static uint64_t hash_of(const struct hash_table *t, const void *key)
{
	return hash_of_bytes(key, t->text ? strlen(key) : t->key);
}

static bool is_item(const struct hash_table *t, uint32_t i, const void *key)
{
	if (t->text)
		return !strcmp(*(char *const *)item_at(t, i), key);
	return !memcmp(item_at(t, i), key, t->key);
}

static unsigned char *marks_of(const struct hash_table *t)
{
	return (unsigned char *)(t->slots + t->nrslots);
}

/* Slots are chosen by the lower bits. */
static unsigned char mark_of(uint64_t hash)
{
	return (unsigned char)(hash >> 56);
}

/* Return: the slot of the key, or a free one for it. */
static size_t find_slot(const struct hash_table *t, const void *key, uint64_t hash)
{
	const unsigned char *marks = marks_of(t), mark = mark_of(hash);
	size_t i = hash & (t->nrslots - 1);

	while (t->slots[i] && !(marks[i] == mark && is_item(t, t->slots[i], key)))
		i = (i + 1) & (t->nrslots - 1);
	return i;
}

/* Put an item into the first free slot: no other one has its key. */
static void put_item(struct hash_table *t, uint32_t number, uint64_t hash)
{
	size_t i = hash & (t->nrslots - 1);

	while (t->slots[i])
		i = (i + 1) & (t->nrslots - 1);
	t->slots[i] = number;
	marks_of(t)[i] = mark_of(hash);
}

static const void *key_of(const struct hash_table *t, uint32_t i)
{
	return t->text ? *(char *const *)item_at(t, i) : item_at(t, i);
}

static bool grow_slots(struct hash_table *t)
{
	struct hash_table larger = *t;
	uint32_t i;

	larger.nrslots = t->nrslots ? t->nrslots * 2 : FIRST_SLOTS;
	larger.slots = calloc(larger.nrslots, sizeof(*larger.slots) + 1);
	if (!larger.slots)
		return false;
	for (i = 1; i < t->nr; i++)
		put_item(&larger, i, hash_of(t, key_of(t, i)));
	free(t->slots);
	*t = larger;
	return true;
}

static bool grow_items(struct hash_table *t)
{
	uint32_t room = t->room ? t->room * 2 : FIRST_SLOTS / 2;
	void *items;

	if (t->nr < t->room)
		return true;
	if (room > MAX_ITEMS)
		return false;
	items = reallocarray(t->items, room, t->size);
	if (!items)
		return false;
	t->items = items;
	t->room = room;
	if (!t->nr)
		memset(items, 0, t->size * ++t->nr);
	return true;
}

uint32_t hash_table_add(struct hash_table *t, const void *key)
{
	uint64_t hash;
	uint32_t *slot;
	char *item;

	if (!grow_items(t) || (t->nr * 2 >= t->nrslots && !grow_slots(t)))
		return 0;
	hash = hash_of(t, key);
	slot = &t->slots[find_slot(t, key, hash)];
	if (*slot)
		return *slot;
	item = (char *)t->items + t->nr * t->size;
	memset(item, 0, t->size);
	if (t->text) {
		*(char **)item = strdup(key);
		if (!*(char **)item)
			return 0;
	} else {
		memcpy(item, key, t->key);
	}
	*slot = t->nr;
	marks_of(t)[slot - t->slots] = mark_of(hash);
	return t->nr++;
}

uint32_t hash_table_find(const struct hash_table *t, const void *key)
{
	return t->nrslots ? t->slots[find_slot(t, key, hash_of(t, key))] : 0;
}

void hash_table_free(struct hash_table *t)
{
	uint32_t i;

	for (i = 1; t->text && i < t->nr; i++)
		free(*(char *const *)item_at(t, i));
	free(t->items);
	free(t->slots);
	t->items = NULL;
	t->slots = NULL;
	t->nr = t->room = 0;
	t->nrslots = 0;
}
