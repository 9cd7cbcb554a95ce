# More of everything than a screen holds: scopes, functions, marks, notes.
info command python3
info command -m
info command a_rather_long_module_name.with_parts
info command --option-number-one=1
info command --option-number-two=2
info cwd /srv
info python 3.10.13
note the first note
note the second note is so long that it does not fit on one line of the terminal and must be cut somewhere
note the third note
process 1 31 python3 0 400000000
thread 1 1 31 MainThread 0 400000000 0
code Class01.a_method_with_a_name_of_some_length /srv/package/subpackage/module_01.py 101
code Class02.a_method_with_a_name_of_some_length /srv/package/subpackage/module_02.py 102
code Class03.a_method_with_a_name_of_some_length /srv/package/subpackage/module_03.py 103
code Class04.a_method_with_a_name_of_some_length /srv/package/subpackage/module_04.py 104
code Class05.a_method_with_a_name_of_some_length /srv/package/subpackage/module_05.py 105
code Class06.a_method_with_a_name_of_some_length /srv/package/subpackage/module_06.py 106
code Class07.a_method_with_a_name_of_some_length /srv/package/subpackage/module_07.py 107
code Class08.a_method_with_a_name_of_some_length /srv/package/subpackage/module_08.py 108
code Class09.a_method_with_a_name_of_some_length /srv/package/subpackage/module_09.py 109
code Class10.a_method_with_a_name_of_some_length /srv/package/subpackage/module_10.py 110
code Class11.a_method_with_a_name_of_some_length /srv/package/subpackage/module_11.py 111
code Class12.a_method_with_a_name_of_some_length /srv/package/subpackage/module_12.py 112
code Class13.a_method_with_a_name_of_some_length /srv/package/subpackage/module_13.py 113
code Class14.a_method_with_a_name_of_some_length /srv/package/subpackage/module_14.py 114
code Class15.a_method_with_a_name_of_some_length /srv/package/subpackage/module_15.py 115
code Class16.a_method_with_a_name_of_some_length /srv/package/subpackage/module_16.py 116
code Class17.a_method_with_a_name_of_some_length /srv/package/subpackage/module_17.py 117
code Class18.a_method_with_a_name_of_some_length /srv/package/subpackage/module_18.py 118
code Class19.a_method_with_a_name_of_some_length /srv/package/subpackage/module_19.py 119
code Class20.a_method_with_a_name_of_some_length /srv/package/subpackage/module_20.py 120
code Class21.a_method_with_a_name_of_some_length /srv/package/subpackage/module_21.py 121
code Class22.a_method_with_a_name_of_some_length /srv/package/subpackage/module_22.py 122
code Class23.a_method_with_a_name_of_some_length /srv/package/subpackage/module_23.py 123
code Class24.a_method_with_a_name_of_some_length /srv/package/subpackage/module_24.py 124
code Class25.a_method_with_a_name_of_some_length /srv/package/subpackage/module_25.py 125
code Class26.a_method_with_a_name_of_some_length /srv/package/subpackage/module_26.py 126
code Class27.a_method_with_a_name_of_some_length /srv/package/subpackage/module_27.py 127
code Class28.a_method_with_a_name_of_some_length /srv/package/subpackage/module_28.py 128
code Class29.a_method_with_a_name_of_some_length /srv/package/subpackage/module_29.py 129
code Class30.a_method_with_a_name_of_some_length /srv/package/subpackage/module_30.py 130
code Class31.a_method_with_a_name_of_some_length /srv/package/subpackage/module_31.py 131
code Class32.a_method_with_a_name_of_some_length /srv/package/subpackage/module_32.py 132
code Class33.a_method_with_a_name_of_some_length /srv/package/subpackage/module_33.py 133
code Class34.a_method_with_a_name_of_some_length /srv/package/subpackage/module_34.py 134
code Class35.a_method_with_a_name_of_some_length /srv/package/subpackage/module_35.py 135
1: +Class01.a_method_with_a_name_of_some_length@1000000 -Class01.a_method_with_a_name_of_some_length@1100000
1: +Class02.a_method_with_a_name_of_some_length@1150000 -Class02.a_method_with_a_name_of_some_length@1350000
1: +Class03.a_method_with_a_name_of_some_length@1400000 -Class03.a_method_with_a_name_of_some_length@1700000
1: +Class04.a_method_with_a_name_of_some_length@1750000 -Class04.a_method_with_a_name_of_some_length@2150000
1: +Class05.a_method_with_a_name_of_some_length@2200000 -Class05.a_method_with_a_name_of_some_length@2700000
1: +Class06.a_method_with_a_name_of_some_length@2750000 -Class06.a_method_with_a_name_of_some_length@3350000
1: +Class07.a_method_with_a_name_of_some_length@3400000 -Class07.a_method_with_a_name_of_some_length@4100000
1: +Class08.a_method_with_a_name_of_some_length@4150000 -Class08.a_method_with_a_name_of_some_length@4950000
1: +Class09.a_method_with_a_name_of_some_length@5000000 -Class09.a_method_with_a_name_of_some_length@5900000
1: +Class10.a_method_with_a_name_of_some_length@5950000 -Class10.a_method_with_a_name_of_some_length@6950000
1: +Class11.a_method_with_a_name_of_some_length@7000000 -Class11.a_method_with_a_name_of_some_length@8100000
1: +Class12.a_method_with_a_name_of_some_length@8150000 -Class12.a_method_with_a_name_of_some_length@9350000
1: +Class13.a_method_with_a_name_of_some_length@9400000 -Class13.a_method_with_a_name_of_some_length@10700000
1: +Class14.a_method_with_a_name_of_some_length@10750000 -Class14.a_method_with_a_name_of_some_length@12150000
1: +Class15.a_method_with_a_name_of_some_length@12200000 -Class15.a_method_with_a_name_of_some_length@13700000
1: +Class16.a_method_with_a_name_of_some_length@13750000 -Class16.a_method_with_a_name_of_some_length@15350000
1: +Class17.a_method_with_a_name_of_some_length@15400000 -Class17.a_method_with_a_name_of_some_length@17100000
1: +Class18.a_method_with_a_name_of_some_length@17150000 -Class18.a_method_with_a_name_of_some_length@18950000
1: +Class19.a_method_with_a_name_of_some_length@19000000 -Class19.a_method_with_a_name_of_some_length@20900000
1: +Class20.a_method_with_a_name_of_some_length@20950000 -Class20.a_method_with_a_name_of_some_length@22950000
1: +Class21.a_method_with_a_name_of_some_length@23000000 -Class21.a_method_with_a_name_of_some_length@25100000
1: +Class22.a_method_with_a_name_of_some_length@25150000 -Class22.a_method_with_a_name_of_some_length@27350000
1: +Class23.a_method_with_a_name_of_some_length@27400000 -Class23.a_method_with_a_name_of_some_length@29700000
1: +Class24.a_method_with_a_name_of_some_length@29750000 -Class24.a_method_with_a_name_of_some_length@32150000
1: +Class25.a_method_with_a_name_of_some_length@32200000 -Class25.a_method_with_a_name_of_some_length@34700000
1: +Class26.a_method_with_a_name_of_some_length@34750000 -Class26.a_method_with_a_name_of_some_length@37350000
1: +Class27.a_method_with_a_name_of_some_length@37400000 -Class27.a_method_with_a_name_of_some_length@40100000
1: +Class28.a_method_with_a_name_of_some_length@40150000 -Class28.a_method_with_a_name_of_some_length@42950000
1: +Class29.a_method_with_a_name_of_some_length@43000000 -Class29.a_method_with_a_name_of_some_length@45900000
1: +Class30.a_method_with_a_name_of_some_length@45950000 -Class30.a_method_with_a_name_of_some_length@48950000
1: +Class31.a_method_with_a_name_of_some_length@49000000 -Class31.a_method_with_a_name_of_some_length@52100000
1: +Class32.a_method_with_a_name_of_some_length@52150000 -Class32.a_method_with_a_name_of_some_length@55350000
1: +Class33.a_method_with_a_name_of_some_length@55400000 -Class33.a_method_with_a_name_of_some_length@58700000
1: +Class34.a_method_with_a_name_of_some_length@58750000 -Class34.a_method_with_a_name_of_some_length@62150000
1: +Class35.a_method_with_a_name_of_some_length@62200000 -Class35.a_method_with_a_name_of_some_length@65700000
1: [scope_01#1/0@65750000 =mark_01/0@65750010 ]#1@66760000
1: [scope_02#2/0@67750000 =mark_02/0@67750010 ]#2@68770000
1: [scope_03#3/0@69750000 =mark_03/0@69750010 ]#3@70780000
1: [scope_04#4/0@71750000 =mark_04/0@71750010 ]#4@72790000
1: [scope_05#5/0@73750000 =mark_05/0@73750010 ]#5@74800000
1: [scope_06#6/0@75750000 =mark_06/0@75750010 ]#6@76810000
1: [scope_07#7/0@77750000 =mark_07/0@77750010 ]#7@78820000
1: [scope_08#8/0@79750000 =mark_08/0@79750010 ]#8@80830000
1: [scope_09#9/0@81750000 =mark_09/0@81750010 ]#9@82840000
1: [scope_10#10/0@83750000 =mark_10/0@83750010 ]#10@84850000
1: [scope_11#11/0@85750000 =mark_11/0@85750010 ]#11@86860000
1: [scope_12#12/0@87750000 =mark_12/0@87750010 ]#12@88870000
1: [scope_13#13/0@89750000 =mark_13/0@89750010 ]#13@90880000
1: [scope_14#14/0@91750000 =mark_14/0@91750010 ]#14@92890000
1: [scope_15#15/0@93750000 =mark_15/0@93750010 ]#15@94900000
1: [scope_16#16/0@95750000 =mark_16/0@95750010 ]#16@96910000
1: [scope_17#17/0@97750000 =mark_17/0@97750010 ]#17@98920000
1: [scope_18#18/0@99750000 =mark_18/0@99750010 ]#18@100930000
1: [scope_19#19/0@101750000 =mark_19/0@101750010 ]#19@102940000
1: [scope_20#20/0@103750000 =mark_20/0@103750010 ]#20@104950000
1: [scope_21#21/0@105750000 =mark_21/0@105750010 ]#21@106960000
1: [scope_22#22/0@107750000 =mark_22/0@107750010 ]#22@108970000
1: [scope_23#23/0@109750000 =mark_23/0@109750010 ]#23@110980000
1: [scope_24#24/0@111750000 =mark_24/0@111750010 ]#24@112990000
1: [scope_25#25/0@113750000 =mark_25/0@113750010 ]#25@115000000
1: [scope_26#26/0@115750000 =mark_26/0@115750010 ]#26@117010000
1: [scope_27#27/0@117750000 =mark_27/0@117750010 ]#27@119020000
1: [scope_28#28/0@119750000 =mark_28/0@119750010 ]#28@121030000
1: [scope_29#29/0@121750000 =mark_29/0@121750010 ]#29@123040000
1: [scope_30#30/0@123750000 =mark_30/0@123750010 ]#30@125050000
1: [scope_31#31/0@125750000 =mark_31/0@125750010 ]#31@127060000
1: [scope_32#32/0@127750000 =mark_32/0@127750010 ]#32@129070000
1: [scope_33#33/0@129750000 =mark_33/0@129750010 ]#33@131080000
1: [scope_34#34/0@131750000 =mark_34/0@131750010 ]#34@133090000
1: [scope_35#35/0@133750000 =mark_35/0@133750010 ]#35@135100000
1: (0@135750000 )0@135755000:1
end 400000000 0
