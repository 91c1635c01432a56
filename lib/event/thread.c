// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The handle of a thread, made at the thread's first call and closed at its end.
 *
 * The library is linked so that dlclose() does not remove it (-z nodelete): the C library
 * calls the destructor when a thread ends.
 */
#include <pthread.h>
#include <stdlib.h>

#include "event.h"

struct own {
	struct vperfctr *v;
	unsigned int flags;
	bool inherited;		/* from the parent of this process */
	char names[];
};

static pthread_key_t key;
static int key_err;

static void close_own(void *arg)
{
	struct own *own = (struct own *)arg;

	vperfctr_close(own->v);
	free(own);
}

/* Mark the handle in the child of a fork, which has only the thread that called fork(). */
static void forked(void)
{
	struct own *own = (struct own *)pthread_getspecific(key);

	if (own)
		own->inherited = true;
}

static void make_key(void)
{
	key_err = pthread_key_create(&key, close_own);
	if (!key_err)
		key_err = pthread_atfork(NULL, NULL, forked);
}

static int init_key(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_key);
	return -key_err;
}

static int open_own(struct own **result, const char *names, unsigned int flags,
		    struct vperfctr_why *why)
{
	const size_t size = strlen(names) + 1;
	struct own *own = (struct own *)malloc(sizeof(*own) + size);
	int err;

	if (!own)
		return __vperfctr_refuse(why, -ENOMEM, "there is no memory");
	own->flags = flags;
	own->inherited = false;
	memcpy(own->names, names, size);
	err = vperfctr_count(&own->v, names, flags, why);
	if (!err && pthread_setspecific(key, own)) {
		vperfctr_close(own->v);
		err = __vperfctr_refuse(why, -ENOMEM, "there is no memory");
	}
	if (err)
		free(own);
	else
		*result = own;
	return err;
}

int vperfctr_thread(struct vperfctr **v, const char *names, unsigned int flags,
		    struct vperfctr_why *why)
{
	struct own *own;
	int err = init_key();

	*v = NULL;
	if (err)
		return __vperfctr_refuse(why, err, "there is no key for data of threads");
	own = (struct own *)pthread_getspecific(key);
	if (own && own->inherited) {
		vperfctr_thread_close();
		own = NULL;
	}
	if (!own) {
		err = open_own(&own, names, flags, why);
		if (err)
			return err;
	} else if (own->flags != flags || strcmp(own->names, names)) {
		return __vperfctr_refuse(why, -EEXIST,
					 "this thread counts '%.400s' already, by vperfctr_thread()",
					 own->names);
	}
	*v = own->v;
	return 0;
}

void vperfctr_thread_close(void)
{
	struct own *own;

	if (init_key())
		return;
	own = (struct own *)pthread_getspecific(key);
	if (!own)
		return;
	pthread_setspecific(key, NULL);
	close_own(own);
}
