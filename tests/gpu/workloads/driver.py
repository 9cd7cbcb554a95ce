"""A little of the CUDA driver API by ctypes: contexts, a kernel, copies, without any framework."""

import ctypes

# Adds 1 to the word it is given.
PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry bump(.param .u64 word)
{
	.reg .u64 %address;
	.reg .u32 %value;
	ld.param.u64 %address, [word];
	cvta.to.global.u64 %address, %address;
	ld.global.u32 %value, [%address];
	add.u32 %value, %value, 1;
	st.global.u32 [%address], %value;
	ret;
}
"""


class Error(Exception):
    pass


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self("cuInit", 0)
        self.device = ctypes.c_int()
        self("cuDeviceGet", ctypes.byref(self.device), 0)

    def __call__(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Error("%s: error %d" % (name, status))


class Context:
    """One context of the first device with one word of memory; current while it is worked in."""

    def __init__(self, driver):
        self.call = driver
        self.handle, module = ctypes.c_void_p(), ctypes.c_void_p()
        self.kernel, self.word = ctypes.c_void_p(), ctypes.c_uint64()
        self.call("cuCtxCreate_v2", ctypes.byref(self.handle), 0, driver.device)
        self.call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.call("cuModuleGetFunction", ctypes.byref(self.kernel), module, b"bump")
        self.call("cuMemAlloc_v2", ctypes.byref(self.word), ctypes.c_size_t(4))
        self.call("cuMemsetD8_v2", self.word, ctypes.c_ubyte(0), ctypes.c_size_t(4))

    def bump(self, times):
        self.call("cuCtxSetCurrent", self.handle)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self.word))
        for _ in range(times):
            self.call("cuLaunchKernel", self.kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)

    def value(self):
        """Waits for all kernels; one copy of 4 bytes."""
        word = ctypes.c_uint32()
        self.call("cuCtxSetCurrent", self.handle)
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", ctypes.byref(word), self.word, ctypes.c_size_t(4))
        return word.value

    def destroy(self):
        self.call("cuCtxDestroy_v2", self.handle)
