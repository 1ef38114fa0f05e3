# Functions that models call lie side by side, so that a process has few pages of others in memory.

# A linker script for that. What is there for each SIMD target, of which a machine runs one, stands among the rest for
# one of them and then alone for the others. scripts/order_functions.py writes the list.
function(ir_runtime_write_function_order script)
  set(list ${PROJECT_SOURCE_DIR}/cmake/function_order.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} beginnings)
  string(REPLACE "@" 6N_AVX3 ordered "${beginnings}")
  list(FILTER beginnings INCLUDE REGEX "@")
  foreach(namespace 6N_AVX2 7N_SSSE3 6N_NEON)
    string(REPLACE "@" ${namespace} of_target "${beginnings}")
    list(APPEND ordered ${of_target})
  endforeach()
  list(TRANSFORM ordered REPLACE "(.+)" "    *(.text.\\1*)")
  list(JOIN ordered "\n" sections)
  file(CONFIGURE OUTPUT ${script} @ONLY
    CONTENT "SECTIONS\n{\n  .text.ordered : {\n@sections@\n  }\n}\nINSERT BEFORE .text;\n")
endfunction()

# For what is linked as a whole. Not all linkers add such a script to their own.
function(ir_runtime_order_functions target)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  set(script ${PROJECT_BINARY_DIR}/function_order.ld)
  ir_runtime_write_function_order(${script})
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LINK_OPTIONS LINKER:-T,${script})
  check_cxx_source_runs("int main() { return 0; }" IR_RUNTIME_ORDERS_FUNCTIONS)
  if(IR_RUNTIME_ORDERS_FUNCTIONS)
    target_link_options(${target} PRIVATE LINKER:-T,${script})
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
  endif()
endfunction()
