"""magika: the kind of many uploads, one call for each; all at once take as long."""
import random
import time

import magika

import clock


def main():
    random.seed(1)
    lines = ["def f(x):\n    return x + 1\n", "<p>Hello</p>\n", "SELECT a FROM b;\n",
             "a,b,c\n1,2,3\n"]
    uploads = [("".join(random.choices(lines[i % 4:i % 4 + 1], k=80)) + str(i)).encode()
               for i in range(600)]
    detector = magika.Magika()
    took, kinds = [], {}
    for upload in uploads:
        begin = time.perf_counter()
        label = detector.identify_bytes(upload).output.label
        kinds[label] = kinds.get(label, 0) + 1
        took.append(time.perf_counter() - begin)
    clock.write("upload", took)
    print(kinds)


main()
