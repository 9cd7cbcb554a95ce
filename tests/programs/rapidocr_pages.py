"""rapidocr: reads small drawn pages with the ONNX models of its wheel; nothing to mend."""
import time

import numpy as np
from PIL import Image, ImageDraw
from rapidocr_onnxruntime import RapidOCR

import clock


def page(number):
    image = Image.new("RGB", (320, 96), "white")
    draw = ImageDraw.Draw(image)
    draw.text((12, 10), "Invoice No %d" % (4000 + number), "black", font_size=24)
    draw.text((12, 50), "Total 1%d.50" % number, "black", font_size=24)
    return np.asarray(image)


def main():
    read = RapidOCR(intra_op_num_threads=1)
    took, words = [], 0
    for number in range(12):
        begin = time.perf_counter()
        found, _ = read(page(number))
        took.append(time.perf_counter() - begin)
        words += len(found or [])
    clock.write("page", took)
    print("lines:", words)


main()
