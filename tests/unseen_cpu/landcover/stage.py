from abc import ABC, abstractmethod


class Stage(ABC):
    """One part of the pipeline: takes what the part before it made."""

    def __call__(self, scene):
        return self.process(scene)

    @abstractmethod
    def process(self, scene): ...


class Chain(Stage):
    def __init__(self, *stages):
        self.stages = stages

    def process(self, scene):
        for stage in self.stages:
            scene = stage(scene)
        return scene
