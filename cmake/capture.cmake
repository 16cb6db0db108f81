# Writes what a program prints into a file, below an optional first line. Run as:
# cmake "-DCOMMAND=program;word;..." -DOUTPUT=file [-DHEADER=line] -P capture.cmake
execute_process(COMMAND ${COMMAND} OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${COMMAND} answered ${status}")
endif()
if(HEADER)
  string(PREPEND text "${HEADER}\n")
endif()
file(WRITE "${OUTPUT}" "${text}")
