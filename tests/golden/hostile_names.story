# Names that would like to be markup, escape sequences or other columns.
info command python3
info command a|b`c.py
info command it's
info cwd /w
info python 3.13.0
note *bold* <b>note</b> [link](x) with | and `code`
process 1 9 a|b`c.py 0 1000000
thread 1 1 9 t|`x` 0 1000000 0
code <lambda>|`` /w/pipe|file.py 1
code esc[31mape /w/]0;title.py 2
code ‮rtl /w/ünïcode.py 3
1: +<lambda>|``@100000 -<lambda>|``@200000
1: +esc[31mape@300000 -esc[31mape@350000
1: +‮rtl@400000 -‮rtl@425000
1: [`|step|`#1/0@500000 ]#1@600000 =<i>|mark</0@700000
end 1000000 0
