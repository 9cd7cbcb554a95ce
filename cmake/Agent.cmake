# The agent: one shared library, libc only, no Python symbol linked
# (src/agent/python/pyapi.h).  It lies where Python finds it as inferscope._agent.
file(GLOB agent_sources CONFIGURE_DEPENDS src/agent/*/*.c)
add_library(inferscope_agent MODULE ${agent_sources})
set_target_properties(inferscope_agent PROPERTIES
  PREFIX "" OUTPUT_NAME "_agent" SUFFIX ".abi3.so"
  LIBRARY_OUTPUT_DIRECTORY ${STAGE_LIB}/python/inferscope)
target_include_directories(inferscope_agent PRIVATE include)
target_link_libraries(inferscope_agent PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(inferscope_agent PRIVATE -Wl,--no-undefined -Wl,-z,nodelete)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # TLS descriptors: no call to __tls_get_addr on the hot path.
  target_compile_options(inferscope_agent PRIVATE -mtls-dialect=gnu2)
endif()

# The Python side, copied beside it.
file(GLOB python_sources CONFIGURE_DEPENDS python/inferscope/*.py python/inferscope/*.pyi
  python/inferscope/py.typed)
file(GLOB shim_sources CONFIGURE_DEPENDS python/shim/*.py)
add_custom_target(python_files ALL
  COMMAND ${CMAKE_COMMAND} -E make_directory ${STAGE_LIB}/python/inferscope ${STAGE_LIB}/shim
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${python_sources} ${STAGE_LIB}/python/inferscope
  COMMAND ${CMAKE_COMMAND} -E copy_if_different ${shim_sources} ${STAGE_LIB}/shim)

if(INFERSCOPE_SANITIZE)
  # It is loaded into a Python that is not instrumented.
  target_compile_options(inferscope_agent PRIVATE -fno-sanitize=all)
  target_link_options(inferscope_agent PRIVATE -fno-sanitize=all)
endif()

# The part without Python, for tests that run both halves of the ring protocol in one process.
add_library(is_agent_core STATIC src/agent/core/ring.c src/agent/core/session.c
  src/agent/core/intern.c src/agent/overhead/budget.c src/agent/overhead/function_throttle.c
  src/agent/torch/layer_throttle.c src/agent/core/self_reader.c src/agent/core/agent_threads.c
  src/agent/core/bounded_wait.c src/agent/python/code_table.c src/agent/python/call_stacks.c
  src/agent/python/line_pack.c src/agent/gpu/gpu_activity.c src/agent/nvtx/nvtx_calls.c
  src/agent/nvtx/nvtx_names.c src/agent/nvtx/nvtx_ranges.c src/agent/nvtx/nvtx_throttle.c)
target_link_libraries(is_agent_core PUBLIC Threads::Threads)
