"""Functions in C, as PyTorch's are: methods of built-in objects that answer what tests want."""


def stats(allocated=0, reserved=0, split=0, retries=0, ooms=0, most=0):
    """What _cuda_memoryStats() tells of a device, in the shape that PyTorch 1.13 to 2.13 have."""
    def pools(current):
        pool = {"current": current, "peak": max(current, most), "allocated": 7, "freed": 3}
        return {"all": dict(pool), "small_pool": dict(pool, current=1),
                "large_pool": dict(pool, current=2)}
    return {"num_alloc_retries": retries, "num_ooms": ooms, "max_split_size": -1,
            "allocated_bytes": pools(allocated), "reserved_bytes": pools(reserved),
            "inactive_split_bytes": pools(split), "active_bytes": pools(allocated)}


ANSWERS = {}  # by device
_cuda_memoryStats = ANSWERS.__getitem__
_cuda_isInBadFork = "not a digit".isdigit
_cuda_getAllocatorBackend = "native".lower
