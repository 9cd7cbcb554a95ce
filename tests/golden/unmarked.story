# A program that marks no steps: requests of four tokens each, read in between.
info inferscope.version 0.1.0
info command python3
info command chat.py
info cwd /srv/app
info python 3.12.3
process 1 100 chat.py 0 90000000
thread 1 1 100 MainThread 0 90000000 0
code <module> /srv/app/chat.py 1
code generate /srv/app/chat.py 20
code read /srv/app/chat.py 30
code Module._call_impl /usr/lib/python3/dist-packages/torch/nn/modules/module.py 1700
layer 1 0 GPT -
layer 2 1 Linear lm_head
1: +<module>@1000000
1: +read@2000000 -read@6000000 +generate@7000000
1: +Module._call_impl@7100000 <1@7200000 <2@8000000 </2@9000000 </1@11000000 -Module._call_impl@11100000
1: +Module._call_impl@12000000 <1@12100000 <2@12500000 </2@13000000 </1@13600000 -Module._call_impl@13700000
1: +Module._call_impl@14000000 <1@14100000 <2@14500000 </2@15000000 </1@15600000 -Module._call_impl@15700000
1: +Module._call_impl@16000000 <1@16100000 <2@16500000 </2@17000000 </1@17600000 -Module._call_impl@17700000
1: -generate@18000000
1: +read@22000000 -read@26000000 +generate@27000000
1: +Module._call_impl@27100000 <1@27200000 <2@28000000 </2@29000000 </1@31000000 -Module._call_impl@31100000
1: +Module._call_impl@32000000 <1@32100000 <2@32500000 </2@33000000 </1@33600000 -Module._call_impl@33700000
1: +Module._call_impl@34000000 <1@34100000 <2@34500000 </2@35000000 </1@35600000 -Module._call_impl@35700000
1: +Module._call_impl@36000000 <1@36100000 <2@36500000 </2@37000000 </1@37600000 -Module._call_impl@37700000
1: -generate@38000000
1: +read@42000000 -read@46000000 +generate@47000000
1: +Module._call_impl@47100000 <1@47200000 <2@48000000 </2@49000000 </1@51000000 -Module._call_impl@51100000
1: +Module._call_impl@52000000 <1@52100000 <2@52500000 </2@53000000 </1@53600000 -Module._call_impl@53700000
1: +Module._call_impl@54000000 <1@54100000 <2@54500000 </2@55000000 </1@55600000 -Module._call_impl@55700000
1: +Module._call_impl@56000000 <1@56100000 <2@56500000 </2@57000000 </1@57600000 -Module._call_impl@57700000
1: -generate@58000000
1: -<module>@89000000
end 90000000 0
