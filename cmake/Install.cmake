# Two layouts, both of which the program knows (src/capture/session/launch.c).
if(SKBUILD)
  # A wheel (pyproject.toml): everything in the package, which lands in site-packages.
  install(TARGETS inferscope RUNTIME DESTINATION inferscope/bin)
  install(TARGETS inferscope_agent LIBRARY DESTINATION inferscope)
  install(FILES ${python_sources} DESTINATION inferscope)
  install(FILES ${shim_sources} DESTINATION inferscope/shim)
  install(FILES python/inferscope.pth DESTINATION .)
  install(FILES include/inferscope.h DESTINATION inferscope/include)
else()
  install(TARGETS inferscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS inferscope_agent LIBRARY DESTINATION lib/inferscope/python/inferscope)
  install(FILES ${python_sources} DESTINATION lib/inferscope/python/inferscope)
  install(FILES ${shim_sources} DESTINATION lib/inferscope/shim)
  install(FILES include/inferscope.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY docs/schema DESTINATION ${CMAKE_INSTALL_DATADIR}/inferscope)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/inferscope)
  if(NOT CMAKE_CROSSCOMPILING) # the program writes its own manual pages and completions
    install(CODE "
      set(program \"${STAGE_BIN}/inferscope\")
      set(data \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}\")
      execute_process(COMMAND sh \"${CMAKE_SOURCE_DIR}/scripts/install_docs.sh\" \"\${program}\"
        \"\${data}\" RESULT_VARIABLE failed)
      if(failed)
        message(FATAL_ERROR \"manual pages and completions could not be written\")
      endif()")
  endif()
endif()
