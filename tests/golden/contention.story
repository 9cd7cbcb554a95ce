# Three threads and a lock: main() has it and the GIL, work() wants both, a pool computes below Python.
info inferscope.version 0.0.9
info command python3
info command serve.py
info cwd /home/ada/demo
info python 3.11.7
info clock tsc
info started 2026-11-15T05:00:00Z
info sampler.asked_hz 1000
info sampler.hz 600
info sampler.held_back 1
process 1 4711 serve.py 0 100000000
thread 1 1 4711 MainThread 0 100000000 0 78000000 1500000
thread 2 1 4712 worker 0 100000000 0 9000000 0
thread 3 1 4713 reader 0 100000000 0 1000000 0
code main /home/ada/demo/serve.py 3
code infer /home/ada/demo/serve.py 9
code work /home/ada/demo/pool.py 20
code read /home/ada/demo/pool.py 40
stack 1 infer:10 main:4
stack 2 work:21
stack 3 read:41
stack 4 main:5
look 1 1 500000 39500000 40 11
look 1 1 40500000 79500000 40 1
look 1 4 80500000 99500000 20 5
look 2 2 500000 29500000 30 2
look 2 2 30500000 79500000 50 3 7f00aa10
look 2 2 80500000 99500000 20 11
look 3 3 500000 89500000 90 4
look 3 0 90500000 99500000 10 0
native 1 10000000 mkl_blas_avx512_sgemm_kernel_0 /opt/venv/lib/libtorch_cpu.so
native 1 20000000 mkl_blas_avx512_sgemm_kernel_0 /opt/venv/lib/libtorch_cpu.so
native 1 30000000 _ZN2at6native10add_kernelEv /opt/venv/lib/libtorch_cpu.so
native 0 30000000 mkl_blas_avx512_sgemm_kernel_0 /opt/venv/lib/libtorch_cpu.so
native 2 85000000 _PyEval_EvalFrameDefault /usr/bin/python3.11
1: +main@1000 +infer@2000000 -infer@80000000 -main@99000000
2: +work@1000 -work@99500000
end 100000000 0
