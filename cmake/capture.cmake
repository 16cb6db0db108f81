# Writes what a program prints into a file, below an optional first line. Run as:
# cmake "-DCOMMAND=program;word;..." -DOUTPUT=file [-DHEADER=line] [-DMEMORY=size] -P capture.cmake
# MEMORY replaces the value of the key `memory`, which must be there.
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${COMMAND} answered ${status}")
endif()
if(MEMORY)
  string(REGEX REPLACE "\nmemory = [^\n]*\n" "\nmemory = \"${MEMORY}\"\n" replaced "${text}")
  if(replaced STREQUAL text AND NOT text MATCHES "\nmemory = \"${MEMORY}\"\n")
    message(FATAL_ERROR "${COMMAND} printed no line for the key memory")
  endif()
  set(text "${replaced}")
endif()
if(HEADER)
  string(PREPEND text "${HEADER}\n")
endif()
file(WRITE "${OUTPUT}" "${text}")
