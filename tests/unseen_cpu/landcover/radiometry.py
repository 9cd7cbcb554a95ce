"""From what the sensor counted to reflectance."""

import torch

from .stage import Stage


class Calibration(Stage):
    def __init__(self, gain, offset):
        self.gain = gain
        self.offset = offset


class FreshCalibration(Calibration):
    def process(self, scene):
        reflectance = scene.float()
        reflectance = reflectance * self.gain
        reflectance = reflectance + self.offset
        return reflectance.clamp(0, 1)


class ReusingCalibration(Calibration):
    def __init__(self, gain, offset):
        super().__init__(gain, offset)
        self.buffer = None

    def process(self, scene):
        if self.buffer is None:
            self.buffer = torch.empty(scene.shape)
        self.buffer.copy_(scene)
        return self.buffer.mul_(self.gain).add_(self.offset).clamp_(0, 1)
