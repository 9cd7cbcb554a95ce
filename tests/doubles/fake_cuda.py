"""The fake CUDA for recorded programs; lies in a folder named site-packages, like a framework."""

import ctypes
import os


class Shape(ctypes.Structure):
    _fields_ = [("grid", ctypes.c_int32 * 3), ("block", ctypes.c_int32 * 3),
                ("registers", ctypes.c_uint16), ("static_shared", ctypes.c_int32),
                ("dynamic_shared", ctypes.c_int32)]


class Transfer(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint64), ("copy", ctypes.c_uint8), ("source", ctypes.c_uint8),
                ("destination", ctypes.c_uint8), ("asynchronous", ctypes.c_uint8)]


PATH = os.environ["FAKE_CUDA"]
SHAPE = Shape((8, 4, 2), (64, 2, 1), 40, 256, 512)


def declare(library):
    number, long = ctypes.c_uint32, ctypes.c_uint64
    for name, arguments in (
            ("launch", [ctypes.c_char_p, ctypes.POINTER(Shape), number, long]),
            ("launch_driver", [ctypes.c_char_p, ctypes.POINTER(Shape), number, long]),
            ("graph_launch", [ctypes.c_char_p, number, number, number, long]),
            ("capture_begin", []), ("capture_end", []), ("graph_create", []),
            ("graph_add_kernel", [number, ctypes.c_char_p, long]),
            ("graph_add_child", [number, number]), ("graph_instantiate", [number]),
            ("graph_replay", [number, number]),
            ("copy", [ctypes.POINTER(Transfer), number, long]),
            ("memset", [long, number, number, long]),
            ("sync_stream", [number]), ("sync_device", []), ("malloc", [long]), ("free", []),
            ("host_alloc", [long]), ("uninteresting", [])):
        function = getattr(library, "fake_" + name)
        function.argtypes = arguments
        function.restype = number
    return library


free_gil = declare(ctypes.CDLL(PATH))   # calls without the GIL, as PyTorch does
hold_gil = declare(ctypes.PyDLL(PATH))  # calls with it


def init():
    if free_gil.fake_init():
        raise RuntimeError("CUDA cannot be initialised")


def launch(name="kernel", stream=7, ns=1000, library=free_gil):
    return library.fake_launch(name.encode(), SHAPE, stream, ns)


def copy(size, copy, source, destination, asynchronous, stream=7, ns=1000):
    return free_gil.fake_copy(Transfer(size, copy, source, destination, asynchronous), stream, ns)
