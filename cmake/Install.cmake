install(TARGETS inferscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${STAGE_LIB}/python ${STAGE_LIB}/shim DESTINATION lib/inferscope
  PATTERN "__pycache__" EXCLUDE)
