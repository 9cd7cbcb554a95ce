# A decoder with the NVTX ranges that it has always had, and one scope of ours: domains that
# overlap, a category with a name and one without, requests that cross threads, a range that never
# ends, GPU work inside, one that was too frequent to be recorded all the time.  A worker of
# another process does the same without a GPU.
info command python3
info command decode.py
info cwd /srv/app
info python 3.12.3
info gpu on
process 1 100 decode.py 0 90000000
process 2 200 worker.py 0 90000000
thread 1 1 100 MainThread 0 90000000 0
thread 2 1 102 writer 0 90000000 0
thread 3 2 200 MainThread 0 90000000 0
nvtx 1 step - 0 -
nvtx 1 step' - 0 -
nvtx 1 step'' engine 0 -
nvtx 1 gemm cublas|x 7 math
nvtx 1 copy cublas|x 9 -
nvtx 2 request - 0 -
nvtx 3 token - 0 -
nvtx 3 token' engine 0 -
nvtx 1 leaked - 0 -
gpu 1 1 500000 CUPTI 130000
device 1 0 600000 NVIDIA H200
1: [request#1000/0@1000000
1: [step#1/0@2000000 [gemm#2/0@2100000 {cudaLaunchKernel#2:1/0@2220000 }2@2225000
1: kernel:sgemm#2@2300000:2230000+50000/7 [copy#3/0@2500000 ]#2@2600000 ]#3@2700000 =token/0@2800000 ]#1@3000000
1: [step#4/0@4000000 [gemm#5/0@4100000 {cudaLaunchKernel#3:1/0@4220000 }3@4225000
1: kernel:sgemm#3@4300000:4230000+70000/7 ]#5@4600000 =token'/0@4700000 ]#4@5000000
1: [request#1001/0@5100000
1: [ours#6/0@6000000 [step#7/0@6100000 ]#7@6200000 ]#6@6500000
1: [leaked#8/0@7000000
1: short:copy@7500000 short:token@7600000 short:-@8000000 short:copy@8100000
2: ]#1000@8000000
2: [step''#9/0@9000000 ]#9@9500000 ]#1001@9600000
3: [step'#1/0@20000000 ]#1@21000000 =token/0@22000000
end 90000000 0
