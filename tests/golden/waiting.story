# Threads that wait: the standard library's waits are told apart from work, a user's own wait() is not.
info inferscope.version 0.0.9
info command python3
info command serve.py
info cwd /home/ada/demo
info python 3.11.7
info clock tsc
info started 2026-11-15T05:00:00Z
process 1 4711 serve.py 1000 95000000
thread 1 1 4711 MainThread 1000 95000000 0 61000000 2500000
thread 2 1 4712 tqdm 1000 95000000 0
code main /home/ada/demo/serve.py 3
code infer /home/ada/demo/serve.py 9
code wait /home/ada/demo/serve.py 20
code Condition.wait /usr/lib/python3.11/threading.py 295
1: +main@1000 +infer@2000000 -infer@32000000 +wait@33000000 -wait@35000000 -main@40000000
2: +Condition.wait@2000 -Condition.wait@94000000
end 95432100 0
