# Models on the CPU, in two processes; names that mean something to Markdown; one called by its
# part alone, and one whose call the end of the recording cut.
info inferscope.version 0.1.0
info command python3
info command rank.py
info cwd /srv/app
info python 3.12.3
info framework accelerate
info framework numpy 2.5.4
info framework onnxruntime 1.31.1
info framework torch 2.13.0
process 1 100 rank.py 0 90000000
process 2 101 rank.py 10000000 80000000
thread 1 1 100 MainThread 0 90000000 0
thread 2 2 101 MainThread 10000000 80000000 0
layer 1 0 Ranker -
layer 2 1 Tower towers.query
layer 3 1 Linear towers.query.layers.0
layer 4 1 ReLU towers.query.layers.1
layer 5 1 Linear towers.query.layers.2
layer 6 1 <b>To|wer</b> towers.it`em
layer 7 0 Ranker -
layer 8 7 Linear he*ad
1: <1@1000000 <2@2000000 <3@3000000 </3@13000000 <4@13000000 </4@14000000 <5@15000000 </5@30000000 </2@31000000
1: <6@32000000 </6@42000000 </1@43000000
1: <8@50000000 </8@60000000 <7@61000000 <8@62000000
2: <1@20000000 <2@21000000 <3@22000000 </3@29000000 </2@30000000 </1@31000000
end 90000000 0
