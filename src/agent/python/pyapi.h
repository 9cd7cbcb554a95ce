/*
 * The part of CPython's C API that the agent uses, found at run time.
 *
 * No Python symbol is linked and no Python header is read: one binary serves
 * every CPython from 3.8 on, and the same file loads into native programs,
 * where this table simply stays empty.  The declarations below repeat the
 * stable ABI; tests/python/test_abi.py compares them with the real headers.
 *
 * Every function needs the GIL unless it says otherwise.
 */
#ifndef AGENT_PYTHON_PYAPI_H
#define AGENT_PYTHON_PYAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct PyObject {
	ssize_t refcount;
	struct PyObject *type;
} PyObject;

/* How types begin. */
struct py_type {
	PyObject head;
	ssize_t size;
	const char *name;
};

typedef PyObject *(*py_function)(PyObject *self, PyObject *arg);
typedef PyObject *(*py_fast_function)(PyObject *self, PyObject *const *args, ssize_t n);
typedef PyObject *(*py_fast_keywords)(PyObject *self, PyObject *const *args, ssize_t n,
				      PyObject *names);

enum py_call_flags {
	PY_KEYWORDS = 0x02,
	PY_NO_ARGS = 0x04,
	PY_ONE_ARG = 0x08,
	PY_FAST = 0x80,
};

struct py_method {
	const char *name;
	py_function function;
	int flags;
	const char *doc;
};

struct py_module_def {
	PyObject head;
	PyObject *(*init)(void);
	ssize_t index;
	PyObject *copy;
	const char *name;
	const char *doc;
	ssize_t size;
	struct py_method *methods;
	void *slots, *traverse, *clear, *free;
};

enum py_slot_id {
	PY_TP_DEALLOC = 52,
	PY_TP_CALL = 50,
	PY_TP_DOC = 56,
	PY_TP_ITERNEXT = 63,
	PY_TP_METHODS = 64,
	PY_TP_NEW = 65,
	PY_TP_REPR = 66,
	PY_TP_GETSET = 73,
	PY_AM_AWAIT = 77,
};

struct py_slot {
	int id;
	void *value;
};

struct py_type_spec {
	const char *name;
	int size, item_size;
	unsigned flags;
	struct py_slot *slots;
};

struct py_getset {
	const char *name;
	PyObject *(*get)(PyObject *self, void *closure);
	int (*set)(PyObject *self, PyObject *value, void *closure);
	const char *doc;
	void *closure;
};

#define PY_TPFLAGS_DEFAULT (1u << 18) /* the version tag: without it no method cache */
#define PY_ABI_VERSION 3

/* Profile events of PyEval_SetProfile(). */
enum py_trace_event {
	PY_TRACE_CALL = 0,
	PY_TRACE_RETURN = 3,
	PY_TRACE_C_CALL = 4,
	PY_TRACE_C_EXCEPTION = 5,
	PY_TRACE_C_RETURN = 6,
};
typedef int (*py_trace_function)(PyObject *object, PyObject *frame, int what, PyObject *arg);

typedef void (*py_free_function)(void *);
typedef int (*py_audit_hook)(const char *event, PyObject *args, void *data);
typedef int (*py_pending_call)(void *arg);
typedef void (*py_exit_function)(void);

/* Events of PyCode_AddWatcher(). */
enum py_code_event { PY_CODE_CREATED = 0, PY_CODE_DESTROYED = 1 };
typedef int (*py_code_watcher)(int event, PyObject *code);

/* X(return type, name in the table, symbol, arguments) */
#define PYAPI_REQUIRED(X)                                                                          \
	X(void, IncRef, "Py_IncRef", (PyObject *))                                                 \
	X(void, DecRef, "Py_DecRef", (PyObject *))                                                 \
	X(const char *, GetVersion, "Py_GetVersion", (void))                                       \
	X(PyObject *, Import, "PyImport_ImportModule", (const char *))                             \
	X(PyObject *, ImportedModules, "PyImport_GetModuleDict", (void)) /* py_modules() */        \
	X(PyObject *, Module_Create, "PyModule_Create2", (struct py_module_def *, int))            \
	X(PyObject *, Type_FromSpec, "PyType_FromSpec", (struct py_type_spec *))                   \
	X(void *, Type_GetSlot, "PyType_GetSlot", (PyObject *, int))                               \
	X(int, Type_IsSubtype, "PyType_IsSubtype", (PyObject *, PyObject *))                       \
	X(unsigned long, Type_Flags, "PyType_GetFlags", (PyObject *))                              \
	X(void *, Object_Malloc, "PyObject_Malloc", (size_t))                                      \
	X(void, Object_Free, "PyObject_Free", (void *))                                            \
	X(PyObject *, Object_Init, "PyObject_Init", (PyObject *, PyObject *))                      \
	X(PyObject *, GetAttr, "PyObject_GetAttrString", (PyObject *, const char *))               \
	X(int, SetAttr, "PyObject_SetAttrString", (PyObject *, const char *, PyObject *))          \
	X(PyObject *, Call, "PyObject_CallObject", (PyObject *, PyObject *))                       \
	X(PyObject *, CallWith, "PyObject_CallFunctionObjArgs", (PyObject *, ...))                 \
	X(PyObject *, CallKeywords, "PyObject_Call", (PyObject *, PyObject *, PyObject *))         \
	X(PyObject *, CFunction, "PyCFunction_NewEx",                                              \
	  (struct py_method *, PyObject *, PyObject *))                                            \
	X(PyObject *, Err_Occurred, "PyErr_Occurred", (void)) /* borrowed */                       \
	X(void, Err_Clear, "PyErr_Clear", (void))                                                  \
	X(void, Err_Fetch, "PyErr_Fetch", (PyObject **, PyObject **, PyObject **))                 \
	X(PyObject *, Code_NewEmpty, "PyCode_NewEmpty", (const char *, const char *, int))         \
	X(void, Err_Restore, "PyErr_Restore", (PyObject *, PyObject *, PyObject *))                \
	X(void, Err_SetString, "PyErr_SetString", (PyObject *, const char *))                      \
	X(void, Err_SetObject, "PyErr_SetObject", (PyObject *, PyObject *))                        \
	X(PyObject *, Tuple_New, "PyTuple_New", (ssize_t))                                         \
	X(ssize_t, Tuple_Size, "PyTuple_Size", (PyObject *))                                       \
	X(PyObject *, Tuple_GetItem, "PyTuple_GetItem", (PyObject *, ssize_t)) /* borrowed */      \
	X(ssize_t, List_Size, "PyList_Size", (PyObject *))                                         \
	X(PyObject *, List_GetItem, "PyList_GetItem", (PyObject *, ssize_t)) /* borrowed */        \
	X(PyObject *, Dict_New, "PyDict_New", (void))                                              \
	X(PyObject *, Dict_Get, "PyDict_GetItemWithError", (PyObject *, PyObject *))               \
	X(PyObject *, Dict_GetString, "PyDict_GetItemString", (PyObject *, const char *))          \
	X(int, Dict_Set, "PyDict_SetItem", (PyObject *, PyObject *, PyObject *))                   \
	X(void, Dict_Clear, "PyDict_Clear", (PyObject *))                                          \
	X(ssize_t, Dict_Size, "PyDict_Size", (PyObject *))                                         \
	X(int, Dict_Next, "PyDict_Next", (PyObject *, ssize_t *, PyObject **, PyObject **))        \
	X(PyObject *, Object_Dict, "PyObject_GenericGetDict", (PyObject *, void *))                \
	X(PyObject *, GetItem, "PyObject_GetItem", (PyObject *, PyObject *))                       \
	X(int, SetItem, "PyObject_SetItem", (PyObject *, PyObject *, PyObject *))                  \
	X(int, DelItem, "PyObject_DelItem", (PyObject *, PyObject *))                              \
	X(PyObject *, Weakref_New, "PyWeakref_NewRef", (PyObject *, PyObject *))                   \
	X(PyObject *, Long_FromPointer, "PyLong_FromVoidPtr", (void *))                            \
	X(void *, Long_AsPointer, "PyLong_AsVoidPtr", (PyObject *))                                \
	X(PyObject *, Long_From, "PyLong_FromLong", (long))                                        \
	X(PyObject *, Long_FromUnsigned, "PyLong_FromUnsignedLong", (unsigned long))               \
	X(long, Long_As, "PyLong_AsLong", (PyObject *))                                            \
	X(unsigned long, Long_AsUnsigned, "PyLong_AsUnsignedLong", (PyObject *))                   \
	X(long long, Long_AsOverflow, "PyLong_AsLongLongAndOverflow", (PyObject *, int *))         \
	X(double, Long_AsDouble, "PyLong_AsDouble", (PyObject *))                                  \
	X(double, Float_As, "PyFloat_AsDouble", (PyObject *))                                      \
	X(PyObject *, Number_Index, "PyNumber_Index", (PyObject *))                                \
	X(PyObject *, Unicode_From, "PyUnicode_FromString", (const char *))                        \
	X(PyObject *, Unicode_Plain, "PyUnicode_FromObject", (PyObject *)) /* of a derived str */  \
	X(PyObject *, Unicode_Format, "PyUnicode_FromFormat", (const char *, ...))                 \
	X(PyObject *, Bool_From, "PyBool_FromLong", (long))                                        \
	X(PyObject *, Unicode_Intern, "PyUnicode_InternFromString", (const char *))                \
	X(const char *, Unicode_AsUTF8, "PyUnicode_AsUTF8AndSize", (PyObject *, ssize_t *))        \
	X(PyObject *, Unicode_Encode, "PyUnicode_AsEncodedString",                                 \
	  (PyObject *, const char *, const char *))                                                \
	X(int, Bytes_As, "PyBytes_AsStringAndSize", (PyObject *, char **, ssize_t *))              \
	X(unsigned long, ThreadIdent, "PyThread_get_thread_ident", (void)) /* no GIL needed */     \
	X(PyObject *, Interpreter_Main, "PyInterpreterState_Main", (void))                         \
	X(char *, Interpreter_ThreadHead, "PyInterpreterState_ThreadHead", (PyObject *))           \
	X(char *, ThreadState_Next, "PyThreadState_Next", (char *))                                \
	X(char *, ThreadState_OfThis, "PyGILState_GetThisThreadState", (void)) /* no GIL needed */ \
	X(char *, ThreadState_Get, "PyThreadState_Get", (void))                                    \
	X(char *, ThreadState_New, "PyThreadState_New", (PyObject *))                              \
	X(void, ThreadState_Clear, "PyThreadState_Clear", (char *))                                \
	X(void, ThreadState_Delete, "PyThreadState_Delete", (char *))                              \
	X(void, Eval_RestoreThread, "PyEval_RestoreThread", (char *)) /* takes the GIL */          \
	X(char *, Eval_SaveThread, "PyEval_SaveThread", (void))       /* gives it back */          \
	X(int, AtExit, "Py_AtExit", (py_exit_function))                                            \
	X(PyObject *, Frame_Now, "PyEval_GetFrame", (void)) /* borrowed; NULL: none */             \
	X(int, GILState_Ensure, "PyGILState_Ensure", (void))                                       \
	X(void, GILState_Release, "PyGILState_Release", (int))                                     \
	X(int, AuditHook_Add, "PySys_AddAuditHook", (py_audit_hook, void *))                       \
	X(int, PendingCall_Add, "Py_AddPendingCall", (py_pending_call, void *))                    \
	X(void, SetProfile, "PyEval_SetProfile", (py_trace_function, PyObject *))

/* The first symbol that exists is taken; both may be absent. */
#define PYAPI_OPTIONAL(X)                                                     \
	X(ssize_t, Extra_Index, "PyUnstable_Eval_RequestCodeExtraIndex",      \
	  "_PyEval_RequestCodeExtraIndex", (py_free_function))                \
	X(int, Extra_Set, "PyUnstable_Code_SetExtra", "_PyCode_SetExtra",     \
	  (PyObject *, ssize_t, void *))                                      \
	X(int, Code_AddWatcher, "PyCode_AddWatcher", NULL, (py_code_watcher)) \
	X(int, IsFinalizing, "Py_IsFinalizing", "_Py_IsFinalizing", (void))   \
	X(PyObject *, Frame_GetCode, "PyFrame_GetCode", NULL, (PyObject *))   \
	X(int, Frame_GetLasti, "PyFrame_GetLasti", NULL, (PyObject *))

/* X(name in the table, symbol, is it a pointer to an object rather than an object) */
#define PYAPI_OBJECTS(X)                          \
	X(None, "_Py_NoneStruct", false)          \
	X(True, "_Py_TrueStruct", false)          \
	X(False, "_Py_FalseStruct", false)        \
	X(UnicodeType, "PyUnicode_Type", false)   \
	X(LongType, "PyLong_Type", false)         \
	X(FloatType, "PyFloat_Type", false)       \
	X(BoolType, "PyBool_Type", false)         \
	X(FunctionType, "PyFunction_Type", false) \
	X(CodeType, "PyCode_Type", false)         \
	X(CellType, "PyCell_Type", false)         \
	X(DictType, "PyDict_Type", false)         \
	X(TypeError, "PyExc_TypeError", true)     \
	X(ImportError, "PyExc_ImportError", true) \
	X(MemoryError, "PyExc_MemoryError", true) \
	X(StopIteration, "PyExc_StopIteration", true)

struct pyapi {
#define FIELD(type, name, symbol, args) type(*name) args;
	PYAPI_REQUIRED(FIELD)
#undef FIELD
#define FIELD(type, name, symbol, older, args) type(*name) args;
	PYAPI_OPTIONAL(FIELD)
#undef FIELD
#define FIELD(name, symbol, pointer) PyObject *name;
	PYAPI_OBJECTS(FIELD)
#undef FIELD
	const char *Runtime; /* the interpreter's global state, "_PyRuntime"; NULL: not exported */
	uint32_t version;    /* PY_VERSION_HEX without the release level: 0x030c0100 */
};

extern struct pyapi py;

/* Fills the table from the libpython that `inside`, an address in it, belongs to.  -1: something is
 * missing. */
int pyapi_load(const void *inside);

/*
 * PY_VERSION_HEX without the release level of the Python in this process, 0 where there is none;
 * whether or not the table is filled.  Needs no GIL.
 */
uint32_t pyapi_version_here(void);

/* Of a class made by Python: without its module. */
static inline const char *py_type_name(const PyObject *type)
{
	return ((const struct py_type *)(const void *)type)->name;
}

/* Is object of this type or one derived from it? */
static inline bool py_is(PyObject *object, PyObject *type)
{
	return object->type == type || py.Type_IsSubtype(object->type, type);
}

/* sys.NAME(); a new reference, or NULL with an exception set. */
PyObject *py_call_sys(const char *name);

/*
 * sys.modules, borrowed.  NULL: Python ends.  Destructors run when all modules are gone, too, and
 * to ask for them then is fatal.
 */
PyObject *py_modules(void);

/* A module that the program has imported, borrowed; NULL: it has not, or Python ends. */
PyObject *py_module(const char *name);

/* The frame that runs now: sys._getframe(); NULL with an exception set. */
PyObject *py_current_frame(void);

/*
 * What a module that is imported holds under a name: borrowed, NULL where there is nothing.  Runs
 * no code of the module's, and leaves no exception.
 */
PyObject *py_held(const char *module, const char *name);

static inline PyObject *py_new_ref(PyObject *object)
{
	py.IncRef(object);
	return object;
}

static inline void py_drop(PyObject *object) /* NULL is a no-op */
{
	py.DecRef(object);
}

#endif
