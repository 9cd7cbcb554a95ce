"""src/format/py_layout.h is what CPython's own headers say, for the versions that are here."""

import os
import shutil
import subprocess

import pytest

WHERE = """
import os, sysconfig
paths = sysconfig.get_paths()
print(paths["include"], os.path.dirname(paths["include"]), paths["platinclude"], sep="\\n")
"""

PROGRAM = r"""
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_gil.h>
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#endif
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_code.h>
#include <internal/pycore_frame.h>
#endif
#if PY_VERSION_HEX >= 0x030d0000
#include <opcode_ids.h>
#endif
#include <opcode.h>
#include <stdio.h>
#include <string.h>
#include "format/py_layout.h"

static int differences;

static void same(const char *what, size_t ours, size_t theirs)
{
	if (ours == theirs)
		return;
	printf("%s: ours %zu, Python's %zu\n", what, ours, theirs);
	differences++;
}

#define SAME(ours, type, field) same(#type "." #field, (ours), offsetof(type, field))

int main(void)
{
	const struct py_layout *l = py_layout_find(PY_VERSION_HEX);

	if (!l) {
		puts("no row");
		return 1;
	}
	SAME(PY_OBJECT_TYPE, PyObject, ob_type);
	SAME(PY_BYTES_LENGTH, PyBytesObject, ob_base.ob_size);
	SAME(PY_BYTES_DATA, PyBytesObject, ob_sval);
	SAME(PY_CELL_VALUE, PyCellObject, ob_ref);
	SAME(PY_TEXT_LENGTH, PyASCIIObject, length);
	SAME(PY_TEXT_STATE, PyASCIIObject, state);
	same("text", l->text, sizeof(PyASCIIObject));
	same("wide_text", l->wide_text, sizeof(PyCompactUnicodeObject));
	SAME(l->file, PyCodeObject, co_filename);
	SAME(l->first_line, PyCodeObject, co_firstlineno);
	SAME(l->next, PyThreadState, next);
	SAME(l->ident, PyThreadState, thread_id);
	SAME(PY_GIL_HOLDER, struct _gil_runtime_state, last_holder);
	SAME(PY_GIL_SWITCHES, struct _gil_runtime_state, switch_number);
	SAME(PY_GIL_LOCKED, struct _gil_runtime_state, locked);
	same("GIL", PY_GIL_BYTES, sizeof(struct _gil_runtime_state));
	same("gil_is_global", l->gil_is_global, PY_VERSION_HEX < 0x030c0000);
#if PY_VERSION_HEX >= 0x030c0000
	SAME(l->gil, PyInterpreterState, ceval.gil);
#else
	SAME(l->gil, _PyRuntimeState, ceval.gil);
#endif
#if PY_VERSION_HEX >= 0x030b0000
	SAME(l->threads, PyInterpreterState, threads.head);
	SAME(l->native, PyThreadState, native_thread_id);
	SAME(l->chunk, PyThreadState, datastack_chunk);
	SAME(l->chunk + 8u, PyThreadState, datastack_top);
	SAME(l->chunk + 16u, PyThreadState, datastack_limit);
	SAME(PY_CHUNK_PREVIOUS, _PyStackChunk, previous);
	SAME(PY_CHUNK_BYTES, _PyStackChunk, size);
	SAME(PY_CHUNK_DATA, _PyStackChunk, data);
	SAME(l->name, PyCodeObject, co_qualname);
	SAME(l->line_table, PyCodeObject, co_linetable);
	SAME(l->bytecode, PyCodeObject, co_code_adaptive);
	SAME(l->previous, _PyInterpreterFrame, previous);
	SAME(l->depth, _PyInterpreterFrame, stacktop);
	const uint8_t leaves[7] = { RETURN_VALUE,
#if PY_VERSION_HEX >= 0x030c0000
		RETURN_CONST, RETURN_GENERATOR, RERAISE, RAISE_VARARGS,
		INSTRUMENTED_RETURN_VALUE, INSTRUMENTED_RETURN_CONST };
	const uint8_t waits[2] = { YIELD_VALUE, INSTRUMENTED_YIELD_VALUE };
	const uint8_t resumes[4] = { FOR_ITER, SEND, FOR_ITER_GEN, SEND_GEN };
#else
		RETURN_GENERATOR, RERAISE, RAISE_VARARGS };
	const uint8_t waits[2] = { YIELD_VALUE };
	const uint8_t resumes[4] = { FOR_ITER, SEND };
#endif
	same("leaves", memcmp(leaves, l->leaves, sizeof(leaves)), 0);
	same("waits", memcmp(waits, l->waits, sizeof(waits)), 0);
	same("resumes", memcmp(resumes, l->resumes, sizeof(resumes)), 0);
	SAME(l->locals, _PyInterpreterFrame, localsplus);
	SAME(l->generator, PyGenObject, gi_iframe);
	same("state", l->state, 0);
#if PY_VERSION_HEX >= 0x030c0000
	SAME(l->frame_size[0], PyCodeObject, co_framesize);
	same("frame_size", l->frame_size[1] + l->frame_size_fixed, 0);
#else
	SAME(l->entry, _PyInterpreterFrame, is_entry);
	SAME(l->frame_size[0], PyCodeObject, co_nlocalsplus);
	SAME(l->frame_size[1], PyCodeObject, co_stacksize);
	same("frame_size_fixed", l->frame_size_fixed, FRAME_SPECIALS_SIZE);
#endif
#else
	SAME(l->threads, PyInterpreterState, tstate_head);
	same("native", l->native, 0);
	same("chunk", l->chunk, 0);
	SAME(l->name, PyCodeObject, co_name);
	SAME(l->frame, PyThreadState, frame);
	SAME(l->previous, PyFrameObject, f_back);
	SAME(l->code, PyFrameObject, f_code);
	SAME(l->instruction, PyFrameObject, f_lasti);
#if PY_VERSION_HEX >= 0x030a0000
	SAME(l->state, PyFrameObject, f_state);
	SAME(l->line_table, PyCodeObject, co_linetable);
	same("runs", l->runs, 1u << FRAME_EXECUTING | 1u << FRAME_UNWINDING);
#else
	SAME(l->state, PyFrameObject, f_executing);
	SAME(l->line_table, PyCodeObject, co_lnotab);
	same("runs", l->runs, 1u << 1);
#endif
#endif
#if PY_VERSION_HEX >= 0x030d0000
	SAME(l->frame, PyThreadState, current_frame);
	SAME(l->code, _PyInterpreterFrame, f_executable);
	SAME(l->instruction, _PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
	SAME(l->frame, PyThreadState, cframe);
	SAME(l->cframe_frame, _PyCFrame, current_frame);
	SAME(l->code, _PyInterpreterFrame, f_code);
	SAME(l->instruction, _PyInterpreterFrame, prev_instr);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	SAME(l->owner, _PyInterpreterFrame, owner);
	same("PY_OWNED_BY_GENERATOR", PY_OWNED_BY_GENERATOR, FRAME_OWNED_BY_GENERATOR);
	same("PY_OWNED_BY_C_STACK", PY_OWNED_BY_C_STACK, FRAME_OWNED_BY_CSTACK);
#endif
	return differences != 0;
}
"""


def test_the_table_agrees_with_the_headers(python, version, root, tmp_path):
    if version > (3, 13):
        pytest.skip("the view from outside is not known for %d.%d" % version)
    folders = subprocess.check_output([python, "-c", WHERE], universal_newlines=True).splitlines()
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    if not os.access(folders[0] + "/internal/pycore_pystate.h", os.R_OK):
        pytest.skip("no internal headers of %s" % python)
    (tmp_path / "compare.c").write_text(PROGRAM)
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-w", "-I" + root + "/src",
                    "-I" + folders[0], "-I" + folders[0] + "/internal", "-I" + folders[2],
                    "-idirafter", folders[1], "compare.c", "-o", "compare"],
                   cwd=str(tmp_path), check=True)
    done = subprocess.run([str(tmp_path / "compare")], stdout=subprocess.PIPE,
                          universal_newlines=True)
    assert (done.returncode, done.stdout) == (0, "")
