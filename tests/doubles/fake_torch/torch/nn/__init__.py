from .modules import Leaf, Module  # noqa: F401
