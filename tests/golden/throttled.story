# Functions left out for the budget's sake: the report says which, and what recording cost.
info inferscope.version 0.0.9
info command python3
info command heavy.py
info cwd /app
info python 3.12.1
info cpu auto
info max_overhead 3
process 1 4242 /app/heavy.py 0 1400000000 42000000 31000 2
thread 1 1 4242 MainThread 1000000 1400000000 0
code main /app/heavy.py 3
code step /app/heavy.py 9
code leaf /app/heavy.py 14
code twig /app/heavy.py 20
1: +main@2000000 +step@3000000 +leaf@4000000 -leaf@5000000 +leaf@6000000 +twig@7000000 -twig@7500000 out:leaf@8000000
1: -step@20000000 +step@30000000 +twig@31000000 out:twig@32000000 -step@60000000 unwinding:0@61000000
1: +step@70000000 -main@1399000000
end 1401000000 0
