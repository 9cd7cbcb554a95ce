# cmake -DFROM=file;file -DTO=file.inc [-DHASH=file.h] -P Asset.cmake: files, one after the other, as
# the bytes of a C array; and the SHA-256 of these bytes in base64, as the macro SCRIPT_SHA256.
set(all "")
foreach(name ${FROM})
  file(READ ${name} bytes HEX)
  string(APPEND all "${bytes}")
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," bytes "${all}")
string(REGEX REPLACE "(................................................................................)"
       "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "${bytes}\n")

if(HASH)
  # Text with neither backslashes nor semicolons passes through a CMake variable; files do always.
  execute_process(COMMAND ${CMAKE_COMMAND} -E cat ${FROM} OUTPUT_FILE ${TO}.joined
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "cannot join ${FROM}")
  endif()
  file(SHA256 ${TO}.joined digest)
  set(digits ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(base64 "")
  foreach(at RANGE 0 62 3) # 12 bits each; the last 4 bits stand alone
    if(at LESS 63)
      string(SUBSTRING ${digest} ${at} 3 part)
      math(EXPR high "0x${part} >> 6")
      math(EXPR low "0x${part} & 63")
      string(SUBSTRING ${digits} ${high} 1 a)
      string(SUBSTRING ${digits} ${low} 1 b)
      string(APPEND base64 "${a}${b}")
    endif()
  endforeach()
  string(SUBSTRING ${digest} 63 1 part)
  math(EXPR last "0x${part} << 2")
  string(SUBSTRING ${digits} ${last} 1 a)
  file(WRITE ${HASH} "#define SCRIPT_SHA256 \"${base64}${a}=\"\n")
endif()
