"""What torch.cuda holds that tells whether it is in use; tests set it."""

_initialized = False
default_generators = ()


def _check_capability():
    """Called while CUDA is initialised, and never again."""


def _lazy_init(devices=1):
    global _initialized, default_generators
    default_generators = ("generator",) * devices
    _check_capability()
    _initialized = True
