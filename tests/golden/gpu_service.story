# An image service on an H200: ten requests, the first a warm-up; a worker process with a GPU of
# its own, which pauses the recording and loses some of it.
info inferscope.version 0.1.0
info command python3
info command serve.py
info cwd /srv/app
info python 3.12.3
info clock tsc
info gpu on
process 1 100 serve.py 0 90000000
process 2 101 worker.py 10000000 80000000
thread 1 1 100 MainThread 0 90000000 0
thread 2 1 102 cupti 1000000 90000000 0
thread 3 2 101 MainThread 10000000 80000000 0
code <module> /srv/app/serve.py 1
code infer /srv/app/serve.py 40
code Linear.forward /usr/lib/python3/dist-packages/torch/nn/linear.py 110
code work /srv/app/worker.py 7
stack 1 Linear.forward:118 infer:44 <module>:12
stack 2 infer:42 <module>:12
stack 3 infer:47 <module>:12
stack 4 work:9
gpu 1 1 500000 CUPTI 130000
device 1 0 600000 NVIDIA H200
1: +<module>@1000000
1: [request#1/0@2000000 +infer@2001000
1: {cudaMemcpyAsync#1:3/2@2010000 }1@2210000
1: {cudaLaunchKernel#2:1/1@2220000 }2@2225000
1: {cudaLaunchKernel#3:1/1@2228000 }3@2233000
1: {cudaLaunchKernel#4:1/1@2236000 }4@2241000
1: {cudaMemsetAsync#5:4/1@2244000 }5@2247000
1: {cudaMemcpyAsync#6:3/3@2396000 }6@2406000
1: {cudaStreamSynchronize#7:6.7/3@2416000 }7@2903000
1: -infer@9003000 ]#1@9004000
1: [request#2/0@9053000 +infer@9054000
1: {cudaMemcpyAsync#8:3/2@9063000 }8@9263000
1: {cudaLaunchKernel#9:1/1@9273000 }9@9278000
1: {cudaLaunchKernel#10:1/1@9281000 }10@9286000
1: {cudaLaunchKernel#11:1/1@9289000 }11@9294000
1: {cudaMemsetAsync#12:4/1@9297000 }12@9300000
1: {cudaMemcpyAsync#13:3/3@9449000 }13@9459000
1: {cudaStreamSynchronize#14:6.7/3@9469000 }14@9956000
1: -infer@10056000 ]#2@10057000
1: [request#3/0@14053000 +infer@14054000
1: {cudaMemcpyAsync#15:3/2@14063000 }15@14263000
1: {cudaLaunchKernel#16:1/1@14273000 }16@14278000
1: {cudaLaunchKernel#17:1/1@14281000 }17@14286000
1: {cudaLaunchKernel#18:1/1@14289000 }18@14294000
1: {cudaMemsetAsync#19:4/1@14297000 }19@14300000
1: {cudaMemcpyAsync#20:3/3@14449000 }20@14459000
1: {cudaStreamSynchronize#21:6.7/3@14469000 }21@14956000
1: -infer@15056000 ]#3@15057000
1: [request#4/0@19053000 +infer@19054000
1: {cudaMemcpyAsync#22:3/2@19063000 }22@19263000
1: {cudaLaunchKernel#23:1/1@19273000 }23@19278000
1: {cudaLaunchKernel#24:1/1@19281000 }24@19286000
1: {cudaLaunchKernel#25:1/1@19289000 }25@19294000
1: {cudaMemsetAsync#26:4/1@19297000 }26@19300000
1: {cudaMemcpyAsync#27:3/3@19449000 }27@19459000
1: {cudaStreamSynchronize#28:6.7/3@19469000 }28@19956000
1: -infer@20056000 ]#4@20057000
1: [request#5/0@24053000 +infer@24054000
1: {cudaMemcpyAsync#29:3/2@24063000 }29@24263000
1: {cudaLaunchKernel#30:1/1@24273000 }30@24278000
1: {cudaLaunchKernel#31:1/1@24281000 }31@24286000
1: {cudaLaunchKernel#32:1/1@24289000 }32@24294000
1: {cudaMemsetAsync#33:4/1@24297000 }33@24300000
1: {cudaMemcpyAsync#34:3/3@24449000 }34@24459000
1: {cudaStreamSynchronize#35:6.7/3@24469000 }35@24956000
1: -infer@25056000 ]#5@25057000
1: [request#6/0@29053000 +infer@29054000
1: {cudaMemcpyAsync#36:3/2@29063000 }36@29263000
1: {cudaLaunchKernel#37:1/1@29273000 }37@29278000
1: {cudaLaunchKernel#38:1/1@29281000 }38@29286000
1: {cudaLaunchKernel#39:1/1@29289000 }39@29294000
1: {cudaMemsetAsync#40:4/1@29297000 }40@29300000
1: {cudaMemcpyAsync#41:3/3@29449000 }41@29459000
1: {cudaStreamSynchronize#42:6.7/3@29469000 }42@29956000
1: -infer@30056000 ]#6@30057000
1: [request#7/0@34053000 +infer@34054000
1: {cudaMemcpyAsync#43:3/2@34063000 }43@34263000
1: {cudaLaunchKernel#44:1/1@34273000 }44@34278000
1: {cudaLaunchKernel#45:1/1@34281000 }45@34286000
1: {cudaLaunchKernel#46:1/1@34289000 }46@34294000
1: {cudaMemsetAsync#47:4/1@34297000 }47@34300000
1: {cudaMemcpyAsync#48:3/3@34449000 }48@34459000
1: {cudaStreamSynchronize#49:6.7/3@34469000 }49@34956000
1: -infer@35056000 ]#7@35057000
1: [request#8/0@39053000 +infer@39054000
1: {cudaMemcpyAsync#50:3/2@39063000 }50@39263000
1: {cudaLaunchKernel#51:1/1@39273000 }51@39278000
1: {cudaLaunchKernel#52:1/1@39281000 }52@39286000
1: {cudaLaunchKernel#53:1/1@39289000 }53@39294000
1: {cudaMemsetAsync#54:4/1@39297000 }54@39300000
1: {cudaMemcpyAsync#55:3/3@39449000 }55@39459000
1: {cudaStreamSynchronize#56:6.7/3@39469000 }56@39956000
1: -infer@40056000 ]#8@40057000
1: [request#9/0@44053000 +infer@44054000
1: {cudaMemcpyAsync#57:3/2@44063000 }57@44263000
1: {cudaLaunchKernel#58:1/1@44273000 }58@44278000
1: {cudaLaunchKernel#59:1/1@44281000 }59@44286000
1: {cudaLaunchKernel#60:1/1@44289000 }60@44294000
1: {cudaMemsetAsync#61:4/1@44297000 }61@44300000
1: {cudaMemcpyAsync#62:3/3@44449000 }62@44459000
1: {cudaStreamSynchronize#63:6.7/3@44469000 }63@44956000
1: -infer@45056000 ]#9@45057000
1: [request#10/0@49053000 +infer@49054000
1: {cudaMemcpyAsync#64:3/2@49063000 }64@49263000
1: {cudaLaunchKernel#65:1/1@49273000 }65@49278000
1: {cudaLaunchKernel#66:1/1@49281000 }66@49286000
1: {cudaLaunchKernel#67:1/1@49289000 }67@49294000
1: {cudaMemsetAsync#68:4/1@49297000 }68@49300000
1: {cudaMemcpyAsync#69:3/3@49449000 }69@49459000
1: {cudaStreamSynchronize#70:6.7/3@49469000 }70@49956000
1: -infer@50056000 ]#10@50057000
1: -<module>@88000000
2: copy:1,1,3,602112#1@10000000:2030000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#2@10000000:2240000+40000/7
2: kernel:gemm_bf16_tn#3@10000000:2282000+300000/7
2: kernel:gemm_bf16_tn#4@10000000:2584000+310000/7
2: memset:4096#5@10000000:2250000+2000/9
2: copy:2,3,2,4000#6@10000000:2896000+3000/7
2: copy:1,1,3,602112#8@13053000:9083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#9@13053000:9293000+40000/7
2: kernel:gemm_bf16_tn#10@13053000:9335000+300000/7
2: kernel:gemm_bf16_tn#11@13053000:9637000+310000/7
2: memset:4096#12@13053000:9303000+2000/9
2: copy:2,3,2,4000#13@13053000:9949000+3000/7
2: copy:1,1,3,602112#15@18053000:14083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#16@18053000:14293000+40000/7
2: kernel:gemm_bf16_tn#17@18053000:14335000+300000/7
2: kernel:gemm_bf16_tn#18@18053000:14637000+310000/7
2: memset:4096#19@18053000:14303000+2000/9
2: copy:2,3,2,4000#20@18053000:14949000+3000/7
2: copy:1,1,3,602112#22@23053000:19083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#23@23053000:19293000+40000/7
2: kernel:gemm_bf16_tn#24@23053000:19335000+300000/7
2: kernel:gemm_bf16_tn#25@23053000:19637000+310000/7
2: memset:4096#26@23053000:19303000+2000/9
2: copy:2,3,2,4000#27@23053000:19949000+3000/7
2: copy:1,1,3,602112#29@28053000:24083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#30@28053000:24293000+40000/7
2: kernel:gemm_bf16_tn#31@28053000:24335000+300000/7
2: kernel:gemm_bf16_tn#32@28053000:24637000+310000/7
2: memset:4096#33@28053000:24303000+2000/9
2: copy:2,3,2,4000#34@28053000:24949000+3000/7
2: copy:1,1,3,602112#36@33053000:29083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#37@33053000:29293000+40000/7
2: kernel:gemm_bf16_tn#38@33053000:29335000+300000/7
2: kernel:gemm_bf16_tn#39@33053000:29637000+310000/7
2: memset:4096#40@33053000:29303000+2000/9
2: copy:2,3,2,4000#41@33053000:29949000+3000/7
2: copy:1,1,3,602112#43@38053000:34083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#44@38053000:34293000+40000/7
2: kernel:gemm_bf16_tn#45@38053000:34335000+300000/7
2: kernel:gemm_bf16_tn#46@38053000:34637000+310000/7
2: memset:4096#47@38053000:34303000+2000/9
2: copy:2,3,2,4000#48@38053000:34949000+3000/7
2: copy:1,1,3,602112#50@43053000:39083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#51@43053000:39293000+40000/7
2: kernel:gemm_bf16_tn#52@43053000:39335000+300000/7
2: kernel:gemm_bf16_tn#53@43053000:39637000+310000/7
2: memset:4096#54@43053000:39303000+2000/9
2: copy:2,3,2,4000#55@43053000:39949000+3000/7
2: copy:1,1,3,602112#57@48053000:44083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#58@48053000:44293000+40000/7
2: kernel:gemm_bf16_tn#59@48053000:44335000+300000/7
2: kernel:gemm_bf16_tn#60@48053000:44637000+310000/7
2: memset:4096#61@48053000:44303000+2000/9
2: copy:2,3,2,4000#62@48053000:44949000+3000/7
2: copy:1,1,3,602112#64@53053000:49083000+150000/7
2: kernel:_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEEEEviT0_#65@53053000:49293000+40000/7
2: kernel:gemm_bf16_tn#66@53053000:49335000+300000/7
2: kernel:gemm_bf16_tn#67@53053000:49637000+310000/7
2: memset:4096#68@53053000:49303000+2000/9
2: copy:2,3,2,4000#69@53053000:49949000+3000/7
2: dropped:3@80000000 overhead:70000000+120000@80000001
gpu 3 1 12000000 CUPTI 130000
device 3 0 12000001 NVIDIA H200
3: +work@13000000 {cuLaunchKernel#1:1/4@14000000 }1@14006000 {cuLaunchKernel#2:1/4@14010000 }2@14016000
3: {cudaDeviceSynchronize#3:5/4@14020000 }3@15000000
3: kernel:triton_softmax#1@16000000:14020000+500000/13 kernel:triton_softmax#2@16000000:14300000+400000/14
gpu 3 3 20000000 the program uses torch.profiler, which needs CUPTI for itself
gpu 3 1 30000000 CUPTI 130000
3: {cuGraphLaunch#4:2/4@31000000 }4@31020000 graph:5#4@33000000:31030000+700000/13
3: {cuLaunchKernel#5:1/0@34000000 }5@34006000 kernel:triton_softmax#77@36000000:35000000+100000/13 kernel:triton_softmax#78@36000000:0+0/13
gpu 3 4 40000000 device 1 got work as well, but one GPU per process is recorded: run it with CUDA_VISIBLE_DEVICES=0
3: -work@79000000
end 90500000 0
