# Three requests of three tasks interleave on one thread; a worker thread helps.
info inferscope.version 0.0.9
info command python3
info command serve.py
info cwd /srv/app
info python 3.11.4
info clock monotonic
process 1 100 serve.py 0 90000000
process 2 101 worker.py 10000000 80000000
thread 1 1 100 MainThread 0 90000000 0
thread 2 1 102 pool_0 1000000 90000000 0
thread 3 2 101 MainThread 10000000 80000000 0
code <module> /srv/app/serve.py 1
code handle /srv/app/serve.py 20
code tokenize /srv/app/text.py 7
code <module>' /srv/app/serve.py 1
1: +<module>@1000000
1: >handle@2000000 [request#1/11@2100000 ~handle@3000000
1: >handle@3000000 [request#2/12@3100000 ~handle@4000000
1: >handle@4000000 [request#3/13@4100000 [tokenize#4/13@4200000 ~handle@5000000
1: >handle@20000000 [tokenize#5/11@20500000 ]#5@22500000 ]#1@22600000 -handle@23000000
1: >handle@30000000 ]#4@30100000 =cache_miss/13@30200000 ]#3@31100000 -handle@32000000
1: (0@32500000 )0@32600000:3 (1@33000000 )1@33400000:10
1: >handle@40000000 [tokenize#6/12@40000000 ]#6@41000000 =cache_miss/12@41100000 =done/12@41200000
1: ]#2@43100000 -handle@44000000 -<module>@89000000
2: +tokenize@20600000 -tokenize@22400000 +tokenize@40100000 -tokenize@40900000
3: +<module>'@11000000 [request#1/0@12000000 ]#1@14000000 -<module>'@79000000
end 90500000 3
