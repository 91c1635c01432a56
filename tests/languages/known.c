// SPDX-License-Identifier: GPL-2.0
/* A Python module with a loop of known length: loop(n) takes 2n instructions in its loop. */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03080000
#include <Python.h>

static PyObject *loop(PyObject *module, PyObject *rounds)
{
	unsigned long n = PyLong_AsUnsignedLong(rounds);

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r"(n) : : "cc");
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{ "loop", loop, METH_O, NULL },
	{ NULL, NULL, 0, NULL }
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "known",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit_known(void);
PyMODINIT_FUNC PyInit_known(void)
{
	return PyModule_Create(&definition);
}
