# A small GPT that decodes on a GPU: two steps of three blocks; a sampler made for each call, a
# kernel outside of the model, and one layer that is folded in the second step.
info inferscope.version 0.1.0
info command python3
info command decode.py
info cwd /srv/app
info python 3.12.3
info clock tsc
process 1 100 decode.py 0 20000000
thread 1 1 100 MainThread 0 20000000 0
thread 2 1 102 cupti 0 20000000 0
code generate /srv/app/decode.py 12
layer 1 0 GPT -
layer 2 1 Embedding wte
layer 3 1 Block h.0
layer 4 1 Attention h.0.attn
layer 5 1 MLP h.0.mlp
layer 6 1 Block h.1
layer 7 1 Attention h.1.attn
layer 8 1 MLP h.1.mlp
layer 9 1 Block h.2
layer 10 1 Attention h.2.attn
layer 11 1 SparseMLP h.2.mlp
layer 12 1 Linear lm_head
layer 13 0 Softmax -
layer 14 0 Softmax -
gpu 1 1 500000 CUPTI 130000
device 1 0 600000 NVIDIA H200
1: +generate@1000000
1: <1@1010000 <2@1020000 {cudaLaunchKernel#1:1/0@1030000 }1@1035000 </2@1040000
1: <3@1100000 <4@1110000 {cudaLaunchKernel#2:1/0@1120000 }2@1125000 {cudaLaunchKernel#3:1/0@1130000 }3@1135000 </4@1140000
1: <5@1150000 {cudaLaunchKernel#4:1/0@1160000 }4@1165000 </5@1170000 {cudaLaunchKernel#5:1/0@1180000 }5@1185000 </3@1190000
1: <6@1200000 <7@1210000 {cudaLaunchKernel#6:1/0@1220000 }6@1225000 {cudaLaunchKernel#7:1/0@1230000 }7@1235000 </7@1240000
1: <8@1250000 {cudaLaunchKernel#8:1/0@1260000 }8@1265000 </8@1270000 </6@1290000
1: <9@1300000 <10@1310000 {cudaLaunchKernel#9:1/0@1320000 }9@1325000 </10@1340000 <11@1350000 {cudaLaunchKernel#10:1/0@1360000 }10@1365000 </11@1370000 </9@1390000
1: <12@1400000 {cudaLaunchKernel#11:1/0@1410000 }11@1415000 </12@1420000 </1@1430000
1: <13@1440000 {cudaLaunchKernel#12:1/0@1450000 }12@1455000 </13@1460000 {cudaLaunchKernel#13:1/0@1470000 }13@1475000
1: <1@5010000 <2@5020000 {cudaLaunchKernel#21:1/0@5030000 }21@5035000 <-2@5036000
1: <3@5100000 <4@5110000 {cudaLaunchKernel#22:1/0@5120000 }22@5125000 </4@5140000 <5@5150000 {cudaLaunchKernel#24:1/0@5160000 }24@5165000 </5@5170000 </3@5190000
1: <6@5200000 <7@5210000 {cudaLaunchKernel#26:1/0@5220000 }26@5225000 </7@5240000 <8@5250000 {cudaLaunchKernel#28:1/0@5260000 }28@5265000 </8@5270000 </6@5290000
1: <9@5300000 <10@5310000 {cudaLaunchKernel#29:1/0@5320000 }29@5325000 </10@5340000 <11@5350000 {cudaLaunchKernel#30:1/0@5360000 }30@5365000 </11@5370000 </9@5390000
1: <12@5400000 {cudaLaunchKernel#31:1/0@5410000 }31@5415000 </12@5420000 </1@5430000
1: <14@5440000 {cudaLaunchKernel#32:1/0@5450000 }32@5455000 </14@5460000
1: -generate@19000000
2: kernel:embed#1@9000000:1040000+5000/7 kernel:qk#2@9000000:1128000+20000/7 kernel:av#3@9000000:1150000+20000/7
2: kernel:mlp#4@9000000:1175000+60000/7 kernel:add#5@9000000:1240000+4000/7 kernel:qk#6@9000000:1245000+20000/7
2: kernel:av#7@9000000:1266000+20000/7 kernel:mlp#8@9000000:1287000+60000/7 kernel:qk#9@9000000:1348000+20000/7
2: kernel:mlp#10@9000000:1370000+30000/7 kernel:head#11@9000000:1420000+90000/7 kernel:softmax#12@9000000:1512000+3000/7
2: kernel:argmax#13@9000000:1516000+2000/7
2: kernel:embed#21@9000000:5040000+5000/7 kernel:qk#22@9000000:5128000+20000/7 kernel:mlp#24@9000000:5175000+60000/7
2: kernel:qk#26@9000000:5245000+20000/7 kernel:mlp#28@9000000:5287000+60000/7 kernel:qk#29@9000000:5348000+20000/7
2: kernel:mlp#30@9000000:5370000+30000/7 kernel:head#31@9000000:5420000+90000/7 kernel:softmax#32@9000000:5512000+3000/7
end 20000000 0
