# cmake -DFROM=file -DTO=file.inc -P Asset.cmake: a file as the bytes of a C array.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "${bytes}\n")
