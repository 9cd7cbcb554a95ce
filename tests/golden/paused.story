# Calls recorded in bursts: numbers of calls are minima, nothing is damaged.
info inferscope.version 0.0.9
info command python3
info command heavy.py
info cwd /app
info python 3.9.18
process 1 4242 /app/heavy.py 1000000 400000000
thread 1 1 4242 MainThread 1000000 400000000 0
code main /app/heavy.py 3
code step /app/heavy.py 9
code leaf /app/heavy.py 14
1: +main@2000000 +step@3000000 +leaf@4000000 -leaf@5000000 +leaf@6000000 |0@7000000
1: (1@60000000 )1@60500000:12
1: ^main@200000000 ^step@200000000 -step@201000000 +step@202000000 +leaf@203000000 -leaf@203500000 |0@205000000
1: ^main@390000000 -main@399000000
end 401000000 0
