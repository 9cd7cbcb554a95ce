# A native server without Python: threads with names, scopes, marks, counters; a worker process.
info command ./server
info cwd /srv
process 1 50 ./server 0 100000000
process 2 51 ./worker 5000000 90000000
thread 1 1 50 acceptor 0 100000000 0
thread 2 1 52 decoder 1000000 100000000 0
thread 3 2 51 MainThread 5000000 90000000 0
1: counter:queue=1@1000000 counter:queue=4@1500000
1: [request#1/0@2000000 [decode#2/0@3000000 ]#2@5000000 ]#1@6000000 =dropped/0@7000000
1: counter:queue=-1.5@40000000
2: counter:queue=1000000@30000000 counter:tokens=12.25@31000000 counter:broken=nan@32000000
2: [request#1025/0@50000000 ]#1025@56000000
3: counter:queue=7@6000000 counter:a|b=1e300@7000000 counter:a|b=1e308@8000000 counter:a|b=1e308@9000000
end 100000000 0
