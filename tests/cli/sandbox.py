"""A seccomp filter, for preexec_fn: some system calls are not there, as in a strict container."""

import ctypes
import errno
import platform
import struct

# Numbers of x86_64 and arm64; what a container's default profile or an old kernel refuses.
NUMBERS = {
    "memfd_create": (319, 279),
    "pidfd_open": (434, 434),
    "process_vm_readv": (310, 270),
    "perf_event_open": (298, 241),
    "close_range": (436, 436),
    "userfaultfd": (323, 282),
}
MACHINES = {"x86_64": 0, "aarch64": 1}

LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH = 0x7fff0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def supported():
    return platform.machine() in MACHINES


def refuse(*names, error=errno.EPERM):
    """A function that makes these system calls fail in this process and all that it starts."""
    column = MACHINES[platform.machine()]
    steps = [(LOAD, 0, 0, 0)]  # the number is the first word of struct seccomp_data
    for left, name in reversed(list(enumerate(reversed(names)))):
        steps.append((JUMP_EQUAL, left + 1, 0, NUMBERS[name][column]))
    steps += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, FAIL_WITH | error)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def install(_keep=code):
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or \
                libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    return install
