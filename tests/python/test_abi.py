"""src/agent/python/pyapi.h repeats CPython's stable ABI: compare it with the real headers."""

import os
import re
import shutil
import subprocess

import pytest

# ours (struct, fields) and CPython's
STRUCTS = [
    ("struct py_method", "PyMethodDef", [
        ("name", "ml_name"), ("function", "ml_meth"), ("flags", "ml_flags"), ("doc", "ml_doc")]),
    ("struct py_module_def", "PyModuleDef", [
        ("init", "m_base.m_init"), ("index", "m_base.m_index"), ("copy", "m_base.m_copy"),
        ("name", "m_name"), ("doc", "m_doc"), ("size", "m_size"), ("methods", "m_methods"),
        ("slots", "m_slots"), ("traverse", "m_traverse"), ("clear", "m_clear"),
        ("free", "m_free")]),
    ("struct py_slot", "PyType_Slot", [("id", "slot"), ("value", "pfunc")]),
    ("struct py_type_spec", "PyType_Spec", [
        ("name", "name"), ("size", "basicsize"), ("item_size", "itemsize"), ("flags", "flags"),
        ("slots", "slots")]),
    ("struct py_getset", "PyGetSetDef", [
        ("name", "name"), ("get", "get"), ("set", "set"), ("doc", "doc"),
        ("closure", "closure")]),
    ("struct our_PyObject", "PyObject", [("refcount", "ob_refcnt"), ("type", "ob_type")]),
]
CONSTANTS = {
    "PY_KEYWORDS": "METH_KEYWORDS", "PY_NO_ARGS": "METH_NOARGS", "PY_ONE_ARG": "METH_O",
    "PY_FAST": "METH_FASTCALL",
    "PY_TP_DEALLOC": "Py_tp_dealloc", "PY_TP_CALL": "Py_tp_call", "PY_TP_DOC": "Py_tp_doc",
    "PY_TP_ITERNEXT": "Py_tp_iternext", "PY_TP_METHODS": "Py_tp_methods",
    "PY_TP_NEW": "Py_tp_new", "PY_TP_REPR": "Py_tp_repr", "PY_TP_GETSET": "Py_tp_getset",
    "PY_AM_AWAIT": "Py_am_await",
    "PY_TRACE_CALL": "PyTrace_CALL", "PY_TRACE_RETURN": "PyTrace_RETURN",
    "PY_TRACE_C_CALL": "PyTrace_C_CALL", "PY_TRACE_C_EXCEPTION": "PyTrace_C_EXCEPTION",
    "PY_TRACE_C_RETURN": "PyTrace_C_RETURN",
    "PY_CODE_CREATED": "PY_CODE_EVENT_CREATE", "PY_CODE_DESTROYED": "PY_CODE_EVENT_DESTROY",
    "PY_ABI_VERSION": "PYTHON_ABI_VERSION", "PY_TPFLAGS_DEFAULT": "Py_TPFLAGS_HAVE_VERSION_TAG",
}


def declarations(root):
    """pyapi.h, its own PyObject renamed so that it can stand beside Python.h."""
    with open("%s/src/agent/python/pyapi.h" % root) as file:
        return re.sub(r"\bPyObject\b", "our_PyObject", file.read())


def checks():
    for ours, theirs, fields in STRUCTS:
        yield 'same("sizeof %s", sizeof(%s), sizeof(%s));' % (theirs, ours, theirs)
        for our_field, their_field in fields:
            yield 'same("%s.%s", offsetof(%s, %s), offsetof(%s, %s));' % (
                theirs, their_field, ours, our_field, theirs, their_field)
    yield 'same("tp_name", offsetof(struct py_type, name), offsetof(PyTypeObject, tp_name));'
    for ours, theirs in CONSTANTS.items():
        yield 'same("%s", (long)%s, (long)%s);' % (theirs, ours, theirs)


WHERE = """
import os, sysconfig
paths = sysconfig.get_paths()
# Debian's pyconfig.h includes the one of the platform by a path from /usr/include.
print(paths["include"], os.path.dirname(paths["include"]), paths["platinclude"], sep="\\n")
"""


@pytest.fixture
def headers(python):
    """The compiler's options that find Python.h."""
    folders = subprocess.check_output([python, "-c", WHERE], universal_newlines=True).splitlines()
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    if not os.access(folders[0] + "/Python.h", os.R_OK):
        pytest.skip("no headers of %s" % python)
    # Its neighbours may be the headers of another C library: ours come before them.
    return ["-I" + folders[0], "-I" + folders[2], "-idirafter", folders[1]]


def compile_and_run(headers, text, tmp_path):
    (tmp_path / "compare.c").write_text(text)
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-w"] + headers
                   + ["compare.c", "-o", "compare"], cwd=str(tmp_path), check=True)
    return subprocess.run([str(tmp_path / "compare")], stdout=subprocess.PIPE,
                          universal_newlines=True)


def test_declarations_agree_with_the_headers(root, headers, tmp_path):
    done = compile_and_run(headers, """
#include <Python.h>
#include <stdio.h>
#if PY_VERSION_HEX < 0x030c0000 /* no watchers there */
enum { PY_CODE_EVENT_CREATE, PY_CODE_EVENT_DESTROY };
#endif
%s
static int differences;
static void same(const char *what, long ours, long theirs)
{
	if (ours == theirs)
		return;
	printf("%%s: ours %%ld, Python's %%ld\\n", what, ours, theirs);
	differences++;
}
int main(void)
{
	%s
	return differences != 0;
}
""" % (declarations(root), "\n\t".join(checks())), tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_every_constant_of_ours_is_compared(root):
    text = declarations(root)
    enums = re.findall(r"enum py_\w+ \{(.*?)\}", text, re.S)
    names = {name for body in enums for name in re.findall(r"\b(PY_\w+)\s*=", body)}
    names |= set(re.findall(r"^#define (PY_\w+) ", text, re.M))
    assert len(names) > 10
    assert names <= set(CONSTANTS)
    structs = set(re.findall(r"^struct (py_\w+) \{", text, re.M)) - {"pyapi"}
    structs -= {"py_type"}  # how one begins: checks() compares that
    assert structs == {ours.split()[1] for ours, _, _ in STRUCTS} - {"our_PyObject"}


def test_every_function_takes_as_many_arguments_as_declared(root, headers, tmp_path):
    """The compiler compares: a call of the real function with that many must be right."""
    text = declarations(root).replace("\\\n", "")
    table = text[text.index("#define PYAPI_REQUIRED"):text.index("#define PYAPI_OPTIONAL")]
    rows = re.findall(r'X\([^,]+, \w+, "(\w+)",\s*\(([^()]*)\)\)', table)
    assert len(rows) == len(re.findall(r"\bX\([^)]", table)) > 40
    calls = []
    for symbol, arguments in rows:
        count = 0 if arguments == "void" else arguments.count(",") + 1
        calls.append("%s(%s);" % (symbol, ", ".join(["0"] * count)))
    (tmp_path / "calls.c").write_text(
        "#include <Python.h>\nvoid all(void);\nvoid all(void)\n{\n\t%s\n}\n" % "\n\t".join(calls))
    done = subprocess.run(
        ["cc", "-std=c11", "-D_GNU_SOURCE", "-w", "-Werror=implicit-function-declaration",
         "-fsyntax-only"] + headers + ["calls.c"], cwd=str(tmp_path), stderr=subprocess.PIPE,
        universal_newlines=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_thread_state_is_laid_out_as_the_profile_hook_has_it(
        root, version, headers, tmp_path):
    if version >= (3, 12):
        pytest.skip("sys.monitoring needs no thread states")
    with open("%s/src/agent/hooks/calls_profile.c" % root) as file:
        row = re.search(r"\{ 0x03%02x, (\d+), (\d+), (\d+), (\w+)," % version[1], file.read())
    *ours, in_cframe = row.groups()
    done = compile_and_run(headers, """
#include <Python.h>
#include <stddef.h>
#include <stdio.h>
int main(void)
{
	printf("%%zu %%zu %%zu", offsetof(PyThreadState, c_profilefunc),
		offsetof(PyThreadState, tracing), offsetof(PyThreadState, %s));
	return 0;
}
""" % ("cframe" if in_cframe == "true" else "use_tracing"), tmp_path)
    assert done.stdout.split() == ours


def test_thread_local_memory_is_small(package):
    """More than this, and glibc makes a call through tables of every access (session.h)."""
    agent = os.path.join(package, "inferscope/_agent.abi3.so")
    headers = subprocess.run(["readelf", "-lW", agent], check=True, stdout=subprocess.PIPE,
                             universal_newlines=True).stdout
    sizes = [int(line.split()[5], 16) for line in headers.splitlines() if "TLS" in line.split()]
    assert sizes and sum(sizes) <= 512
