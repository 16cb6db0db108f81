# Makes one manual page: puts what the flag table says in place of each @OPTIONS:VERB@ line, then
# calls scdoc. Run as: cmake -DCORDON=... -DSCDOC=... -DSOURCE=page.1.scd -DOUTPUT=page.1 -P ...
file(READ "${SOURCE}" page)
string(REGEX MATCHALL "@OPTIONS:[a-z ]*@" places "${page}")
foreach(place IN LISTS places)
  string(REGEX REPLACE "@OPTIONS:([a-z ]*)@" "\\1" verb "${place}")
  string(REPLACE " " ";" words "${verb}")
  execute_process(COMMAND ${CORDON} help --format=man ${words}
                  OUTPUT_VARIABLE options RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "cordon help --format=man ${verb} answered ${status}")
  endif()
  string(REPLACE "${place}" "${options}" page "${page}")
endforeach()
file(WRITE "${OUTPUT}.scd" "${page}")
execute_process(COMMAND "${SCDOC}" INPUT_FILE "${OUTPUT}.scd" OUTPUT_FILE "${OUTPUT}"
                RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "scdoc refused ${OUTPUT}.scd")
endif()
