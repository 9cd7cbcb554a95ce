# A script without scopes: recursion, a generator, a collection; one thread.
info inferscope.version 0.0.9
info command python3
info command fib.py
info command --label=a b
info cwd /home/ada/demo
info python 3.12.1
info clock tsc
info started 2026-11-15T05:00:00Z
process 1 4711 fib.py 1000 95000000
thread 1 1 4711 MainThread 1000 95000000 0
code <module> /home/ada/demo/fib.py 1
code fib /home/ada/demo/fib.py 3
code numbers /home/ada/demo/fib.py 9
code Tensor.__repr__ /home/ada/demo/.venv/lib/python3.12/site-packages/torch/_tensor.py 512
1: +<module>@1000 +fib@2000000 +fib@3000000 +fib@4000000 -fib@5000000 +fib@6000000 -fib@7500000
1: -fib@8000000 +fib@9000000 -fib@11000000 -fib@12000000
1: +numbers@20000000 ~numbers@21000000 >numbers@22000000 (2@22500000 )2@24000000:120 ~numbers@26000000
1: *numbers@27000000 !numbers@27100000
1: +Tensor.__repr__@30000000 -Tensor.__repr__@64999000
1: -<module>@94000000
end 95432100 0
