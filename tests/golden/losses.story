# What a full buffer and a killed workload leave: gaps, missing ends, no exit status.
info command python3
info command train.py
info cwd /home/ada
info python 3.8.20
note the workload was killed by signal 9
process 1 50 train.py 0 -1
thread 1 1 50 MainThread 0 -1 1500
thread 2 1 51 loader 0 70000000 0
code main /home/ada/train.py 3
code step /home/ada/train.py 11
code load /home/ada/data.py 5
1: lost:1000 -step@10000000 +step@11000000 [batch#1/0@12000000 +load@12500000 lost:500
1: +step@30000000 -step@34000000 [batch#3/0@35000000 ]#3@36500000 ]#2@37000000 -main@40000000
1: +main@50000000 +step@51000000 [batch#4/0@52000000
2: +load@20000000 +?999@21000000 -?999@22000000 +load@23000000 -main@24000000 +load@23500000 -load@25000000
