add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wvla -fno-omit-frame-pointer)
if(INFERSCOPE_WERROR)
  add_compile_options(-Werror)
endif()
if(INFERSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${INFERSCOPE_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${INFERSCOPE_SANITIZE})
endif()
