// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * vperfctr._vperfctr: the counters of a thread in Python.
 *
 * It uses the limited API only, so one file works with each Python from 3.8 on.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>
#include <stdbool.h>
#include <vperfctr-event.h>

/* One name: a counter, or a software event. */
struct event {
	PyObject *name;
	unsigned int counter;
	uint32_t soft;		/* VPERFCTR_SOFT_*; 0: a counter */
};

struct count {
	PyObject_HEAD
	struct vperfctr *v;	/* NULL: closed */
	const char *backend;	/* also when it is closed */
	unsigned int nr, nrctrs;
	bool entered, done;	/* of "with" */
	struct event *event;
	uint64_t *begin;	/* the values when "with" began */
	uint64_t *end;		/* what it has counted */
};

/* Raise the subclass of OSError for an error, such as PermissionError. */
static PyObject *fail(int err, const char *text)
{
	PyObject *args = Py_BuildValue("(is)", -err, text);

	if (args)
		PyErr_SetObject(PyExc_OSError, args);
	Py_XDECREF(args);
	return NULL;
}

static PyObject *fail_read(int err)
{
	return fail(err, err == -EPERM ? "another thread counts, or the process that forked" :
		    err == -EBUSY ? "perf_event has lost the counters" : strerror(-err));
}

/* ---- values ------------------------------------------------------------------- */

static int read_values(struct vperfctr *v, const struct event *event, unsigned int nr,
		       unsigned int nrctrs, uint64_t *value)
{
	uint64_t pmc[VPERFCTR_MAX_CTRS];
	unsigned int i;
	int err;

	err = vperfctr_read(v, NULL, pmc, nrctrs);
	for (i = 0; !err && i < nr; i++) {
		if (event[i].soft)
			err = vperfctr_read_soft(v, event[i].soft, &value[i]);
		else
			value[i] = pmc[event[i].counter];
	}
	return err;
}

static PyObject *new_tuple(const uint64_t *value, unsigned int nr)
{
	PyObject *tuple = PyTuple_New(nr), *number;
	unsigned int i;

	for (i = 0; tuple && i < nr; i++) {
		number = PyLong_FromUnsignedLongLong(value[i]);
		if (!number || PyTuple_SetItem(tuple, i, number)) {
			Py_DECREF(tuple);
			return NULL;
		}
	}
	return tuple;
}

/* ---- making -------------------------------------------------------------------- */

static unsigned int count_names(const char *names)
{
	unsigned int nr = 1;

	for (; *names; names++)
		nr += *names == ',';
	return nr;
}

/* Find out what each name is: a counter has the name that it was given. */
static int parse_names(struct count *self, const char *names)
{
	/* Any processor: only software events are asked for. */
	struct vperfctr_info info = { .size = sizeof(info), .soft = UINT64_MAX };
	struct vperfctr_event found;
	/* vperfctr_count() has accepted all names. */
	char name[sizeof(found.name)];
	const char *counter;
	unsigned int i;
	size_t len;

	for (i = 0; i < self->nr; i++, names += len + 1) {
		struct event *event = &self->event[i];

		len = strcspn(names, ",");
		event->name = PyUnicode_FromStringAndSize(names, (Py_ssize_t)len);
		if (!event->name)
			return -1;
		counter = vperfctr_counter_name(self->v, self->nrctrs);
		if (counter && strlen(counter) == len && !memcmp(counter, names, len)) {
			event->counter = self->nrctrs++;
			continue;
		}
		memcpy(name, names, len);
		name[len] = '\0';
		if (vperfctr_event(&found, name, &info, NULL) || !found.soft) {
			PyErr_SetString(PyExc_RuntimeError, "neither a counter nor a software event");
			return -1;
		}
		event->soft = found.soft;
	}
	return 0;
}

static unsigned int flags_of(const char *backend)
{
	if (!backend)
		return 0;
	if (!strcmp(backend, "module"))
		return VPERFCTR_COUNT_MODULE;
	if (!strcmp(backend, "perf"))
		return VPERFCTR_COUNT_PERF;
	PyErr_SetString(PyExc_ValueError, "backend must be 'module', 'perf' or None");
	return UINT_MAX;
}

static PyObject *count_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	static char *known[] = { "events", "backend", NULL };
	const char *names, *backend = NULL;
	struct vperfctr_why why;
	allocfunc alloc;
	unsigned int flags;
	struct count *self;
	int err;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|z", known, &names, &backend))
		return NULL;
	flags = flags_of(backend);
	if (flags == UINT_MAX)
		return NULL;
	alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	self = (struct count *)alloc(type, 0);
	if (!self)
		return NULL;
	self->nr = count_names(names);
	self->event = (struct event *)PyMem_Calloc(self->nr, sizeof(*self->event));
	self->begin = (uint64_t *)PyMem_Calloc(self->nr, sizeof(*self->begin));
	self->end = (uint64_t *)PyMem_Calloc(self->nr, sizeof(*self->end));
	if (!self->event || !self->begin || !self->end) {
		Py_DECREF(self);
		return PyErr_NoMemory();
	}
	err = vperfctr_count(&self->v, names, flags, &why);
	if (err) {
		Py_DECREF(self);
		return fail(err, why.text);
	}
	self->backend = vperfctr_backend(self->v) == VPERFCTR_BACKEND_PERF ? "perf" : "module";
	if (parse_names(self, names)) {
		Py_DECREF(self);
		return NULL;
	}
	return (PyObject *)self;
}

static void close_count(struct count *self)
{
	vperfctr_close(self->v);
	self->v = NULL;
}

static void count_dealloc(struct count *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
	unsigned int i;

	close_count(self);
	for (i = 0; self->event && i < self->nr; i++)
		Py_XDECREF(self->event[i].name);
	PyMem_Free(self->event);
	PyMem_Free(self->begin);
	PyMem_Free(self->end);
	release(self);
	Py_DECREF(type);
}

/* ---- methods -------------------------------------------------------------------- */

static bool is_open(const struct count *self)
{
	if (self->v)
		return true;
	PyErr_SetString(PyExc_ValueError, "the counters are closed");
	return false;
}

/* Write the values: those of now or, after "with", what it has counted. */
static bool get_values(struct count *self, uint64_t *value)
{
	unsigned int i;
	int err;

	if (self->done) {
		memcpy(value, self->end, self->nr * sizeof(*value));
		return true;
	}
	if (!is_open(self))
		return false;
	err = read_values(self->v, self->event, self->nr, self->nrctrs, value);
	if (err) {
		fail_read(err);
		return false;
	}
	for (i = 0; self->entered && i < self->nr; i++)
		value[i] -= self->begin[i];
	return true;
}

static PyObject *count_read(struct count *self, PyObject *unused)
{
	uint64_t value[VPERFCTR_MAX_CTRS];

	(void)unused;
	return get_values(self, value) ? new_tuple(value, self->nr) : NULL;
}

static PyObject *count_enter(struct count *self, PyObject *unused)
{
	int err;

	(void)unused;
	if (!is_open(self))
		return NULL;
	self->entered = true;
	self->done = false;
	Py_INCREF(self);
	err = read_values(self->v, self->event, self->nr, self->nrctrs, self->begin);
	if (!err)
		return (PyObject *)self;
	self->entered = false;
	Py_DECREF(self);
	return fail_read(err);
}

/* True if "with" ends by an exception, of which __exit__() gets the type. */
static bool has_exception(PyObject *args)
{
	return PyTuple_Size(args) > 0 && PyTuple_GetItem(args, 0) != Py_None;
}

/*
 * End the counting: the object keeps what it has counted.  It is closed also if that cannot be
 * read, and the program's own exception is worth more than that of the read.
 */
static PyObject *count_exit(struct count *self, PyObject *args)
{
	uint64_t value[VPERFCTR_MAX_CTRS];
	const bool closed = !self->done && !self->v;

	if (!closed && get_values(self, value)) {
		memcpy(self->end, value, self->nr * sizeof(*value));
		self->done = true;
	}
	self->entered = false;
	close_count(self);
	if (!PyErr_Occurred())
		Py_RETURN_FALSE;
	if (!has_exception(args))
		return NULL;
	PyErr_Clear();
	Py_RETURN_FALSE;
}

static PyObject *call(struct count *self, int (*function)(struct vperfctr *v))
{
	int err;

	if (!is_open(self))
		return NULL;
	err = function(self->v);
	if (err)
		return fail_read(err);
	Py_RETURN_NONE;
}

static PyObject *count_reset(struct count *self, PyObject *unused)
{
	PyObject *result = call(self, vperfctr_reset);

	(void)unused;
	if (result)
		memset(self->begin, 0, self->nr * sizeof(*self->begin));
	return result;
}

static PyObject *count_suspend(struct count *self, PyObject *unused)
{
	(void)unused;
	return call(self, vperfctr_suspend);
}

static PyObject *count_resume(struct count *self, PyObject *unused)
{
	(void)unused;
	return call(self, vperfctr_resume);
}

static PyObject *count_close(struct count *self, PyObject *unused)
{
	(void)unused;
	close_count(self);
	Py_RETURN_NONE;
}

static Py_ssize_t count_length(PyObject *self)
{
	return ((struct count *)self)->nr;
}

/* Return the index of the event that a key names, or -1 after raising an exception. */
static Py_ssize_t find(const struct count *self, PyObject *key)
{
	Py_ssize_t i;

	if (PyUnicode_Check(key)) {
		for (i = 0; i < self->nr; i++)
			if (!PyUnicode_Compare(self->event[i].name, key))
				return i;
		PyErr_SetObject(PyExc_KeyError, key);
		return -1;
	}
	i = PyNumber_AsSsize_t(key, PyExc_IndexError);
	if (i == -1 && PyErr_Occurred())
		return -1;
	if (i < 0)
		i += self->nr;
	if (i >= 0 && i < self->nr)
		return i;
	PyErr_SetString(PyExc_IndexError, "there are fewer events");
	return -1;
}

static PyObject *count_item(PyObject *object, PyObject *key)
{
	uint64_t value[VPERFCTR_MAX_CTRS];
	struct count *self = (struct count *)object;
	Py_ssize_t i = find(self, key);

	if (i < 0 || !get_values(self, value))
		return NULL;
	return PyLong_FromUnsignedLongLong(value[i]);
}

static PyObject *count_names_get(PyObject *object, void *unused)
{
	const struct count *self = (struct count *)object;
	PyObject *tuple = PyTuple_New(self->nr);
	unsigned int i;

	(void)unused;
	for (i = 0; tuple && i < self->nr; i++) {
		Py_INCREF(self->event[i].name);
		PyTuple_SetItem(tuple, i, self->event[i].name);
	}
	return tuple;
}

static PyObject *count_backend_get(PyObject *object, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(((struct count *)object)->backend);
}

static PyMethodDef count_methods[] = {
	{ "read", (PyCFunction)count_read, METH_NOARGS,
	  "read() -> tuple of ints: the values, in the order of the names" },
	{ "reset", (PyCFunction)count_reset, METH_NOARGS, "Zero the values, and count on." },
	{ "suspend", (PyCFunction)count_suspend, METH_NOARGS, "Pause the counting." },
	{ "resume", (PyCFunction)count_resume, METH_NOARGS, "End a pause." },
	{ "close", (PyCFunction)count_close, METH_NOARGS, "End the counting." },
	{ "__enter__", (PyCFunction)count_enter, METH_NOARGS, NULL },
	{ "__exit__", (PyCFunction)count_exit, METH_VARARGS, NULL },
	{ NULL, NULL, 0, NULL }
};

static PyGetSetDef count_fields[] = {
	{ "names", count_names_get, NULL, "the names of the events", NULL },
	{ "backend", count_backend_get, NULL, "'module' or 'perf'", NULL },
	{ NULL, NULL, NULL, NULL, NULL }
};

static PyType_Slot count_slots[] = {
	{ Py_tp_doc, (void *)"count(events, backend=None): count events for the calling thread" },
	{ Py_tp_new, (void *)count_new },
	{ Py_tp_dealloc, (void *)count_dealloc },
	{ Py_tp_methods, count_methods },
	{ Py_tp_getset, count_fields },
	{ Py_mp_subscript, (void *)count_item },
	{ Py_mp_length, (void *)count_length },
	{ 0, NULL }
};

static PyType_Spec count_spec = {
	.name = "vperfctr.count",
	.basicsize = sizeof(struct count),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = count_slots,
};

/* ---- functions ------------------------------------------------------------------- */

/* Read events of which some are of software. */
static PyObject *read_all(struct vperfctr *v, const char *names)
{
	struct count all = { .v = v, .nr = count_names(names) };
	PyObject *tuple = NULL;
	unsigned int i;
	int err;

	all.event = (struct event *)PyMem_Calloc(all.nr, sizeof(*all.event));
	all.end = (uint64_t *)PyMem_Calloc(all.nr, sizeof(*all.end));
	if (!all.event || !all.end) {
		PyErr_NoMemory();
	} else if (!parse_names(&all, names)) {
		err = read_values(v, all.event, all.nr, all.nrctrs, all.end);
		tuple = err ? fail_read(err) : new_tuple(all.end, all.nr);
	}
	for (i = 0; all.event && i < all.nr; i++)
		Py_XDECREF(all.event[i].name);
	PyMem_Free(all.event);
	PyMem_Free(all.end);
	return tuple;
}

static PyObject *thread_read(PyObject *module, PyObject *names)
{
	uint64_t pmc[VPERFCTR_MAX_CTRS];
	struct vperfctr_why why;
	unsigned int nr = 0;
	struct vperfctr *v;
	PyObject *bytes, *tuple;
	char *text;
	int err;

	(void)module;
	bytes = PyUnicode_AsUTF8String(names);
	if (!bytes)
		return NULL;
	/* It raises ValueError if there is a NUL in the text. */
	if (PyBytes_AsStringAndSize(bytes, &text, NULL)) {
		Py_DECREF(bytes);
		return NULL;
	}
	err = vperfctr_thread(&v, text, 0, &why);
	if (err) {
		Py_DECREF(bytes);
		return fail(err, why.text);
	}
	while (vperfctr_counter_name(v, nr))
		nr++;
	if (nr == count_names(text)) {
		err = vperfctr_read(v, NULL, pmc, nr);
		tuple = err ? fail_read(err) : new_tuple(pmc, nr);
	} else {
		tuple = read_all(v, text);
	}
	Py_DECREF(bytes);
	return tuple;
}

static PyMethodDef functions[] = {
	{ "thread_read", thread_read, METH_O,
	  "thread_read(events) -> tuple of ints: the counts of the calling thread, which the "
	  "first call starts, and the thread's end closes" },
	{ NULL, NULL, 0, NULL }
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "vperfctr._vperfctr",
	.m_doc = "The performance counters of a thread.",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__vperfctr(void);
PyMODINIT_FUNC PyInit__vperfctr(void)
{
	PyObject *module = PyModule_Create(&definition), *type;

	if (!module)
		return NULL;
	type = PyType_FromSpec(&count_spec);
	/* The type is the module's after this, but not if it fails. */
	if (!type || PyModule_AddObject(module, "count", type)) {
		Py_XDECREF(type);
		Py_DECREF(module);
		return NULL;
	}
	if (PyModule_AddStringConstant(module, "__version__", vperfctr_version_text())) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
