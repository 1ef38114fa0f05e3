# Flags of the project's own targets, applied by ir_runtime_target(); nothing leaks to a consumer.

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  endif()
endif()

if(IR_RUNTIME_SANITIZE)
  add_compile_options(-fsanitize=${IR_RUNTIME_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${IR_RUNTIME_SANITIZE})
  # The sanitizers see memory, not the bounds of a vector with spare capacity.
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()

function(ir_runtime_target target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic $<$<BOOL:${IR_RUNTIME_WARNINGS_AS_ERRORS}>:-Werror> -Wconversion -Wno-sign-conversion -Wshadow -Wnon-virtual-dtor
    # Same bits on every path: the compiler may not fuse a*b+c where the source does not say so.
    -ffp-contract=off
    # What a library does not need, the linker drops.
    -ffunction-sections)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 sees overlaps in std::string concatenation that are not there (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # The records of the op classes are instantiated in the files of their families.
    target_compile_options(${target} PRIVATE -Wno-undefined-var-template)
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

# For sources that see Highway: the targets that are built, the same ones everywhere, and what all machines have.
function(ir_runtime_simd_target target)
  # SCALAR lacks operations in Highway 1.0.3. Highway's SSE4 asks for AES, which x86-64-v2 does not promise, so its
  # SSSE3 is the baseline that must exist; SSE4 beside it would cost a quarter of the build for machines before 2013.
  # Vectors of SVE have no size that a compiler knows, and register tiles are arrays of vectors: Arm has NEON.
  set(disabled_targets HWY_SCALAR HWY_SSE4 HWY_SVE HWY_SVE2 HWY_SVE_256 HWY_SVE2_128)
  # Later versions split AVX-512 by types and instructions that no kernel uses: a third more code each.
  if(hwy_VERSION VERSION_GREATER_EQUAL 1.0.5)
    list(APPEND disabled_targets HWY_AVX3_DL HWY_AVX3_ZEN4 HWY_AVX3_SPR)
  endif()
  if(hwy_VERSION VERSION_GREATER_EQUAL 1.3.0)
    list(APPEND disabled_targets HWY_AVX10_2)
  endif()
  if(IR_RUNTIME_BASELINE_SIMD)
    list(APPEND disabled_targets HWY_AVX2 HWY_AVX3)
  endif()
  list(JOIN disabled_targets "|" disabled_targets)
  target_compile_definitions(${target} PRIVATE "HWY_DISABLED_TARGETS=(${disabled_targets})")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE -march=x86-64-v2)
  endif()
endfunction()

# For code that runs once per model, not per inference: what counts is the size of the library.
function(ir_runtime_prefer_small target)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-Os>)
  endif()
endfunction()

# For what is linked as a whole: functions that nothing calls are dropped, and thousands of addresses in tables and
# vtables take a bit each instead of 24 bytes. Linkers know how to do that before all systems can load it (glibc 2.36).
# What models call lies side by side, so that few pages of the rest are in memory.
function(ir_runtime_link_small target)
  target_link_options(${target} PRIVATE LINKER:--gc-sections)
  ir_runtime_try_link_option(${target} LINKER:-z,pack-relative-relocs IR_RUNTIME_PACKS_RELOCATIONS)
  set(script ${PROJECT_BINARY_DIR}/function_order.ld)
  ir_runtime_write_function_order(${script})
  ir_runtime_try_link_option(${target} LINKER:-T,${script} IR_RUNTIME_ORDERS_FUNCTIONS)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${script})
endfunction()

# An option that linkers, or the system that is built on, may not know.
function(ir_runtime_try_link_option target option works)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  include(CheckCXXSourceRuns)
  set(CMAKE_REQUIRED_LINK_OPTIONS ${option})
  check_cxx_source_runs("int value; int* volatile place = &value; int main() { return *place; }" ${works})
  if(${works})
    target_link_options(${target} PRIVATE ${option})
  endif()
endfunction()

# A linker script that puts the functions of function_order.txt, which scripts/order_functions.py writes, before all
# others. What is there for each SIMD target, of which a machine runs one, stands among the rest for one of them and
# then alone for the others.
function(ir_runtime_write_function_order script)
  set(list ${PROJECT_SOURCE_DIR}/cmake/function_order.txt)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} beginnings)
  string(REPLACE "@" 6N_AVX2 ordered "${beginnings}")
  list(FILTER beginnings INCLUDE REGEX "@")
  foreach(namespace 6N_AVX3 7N_SSSE3 6N_NEON)
    string(REPLACE "@" ${namespace} of_target "${beginnings}")
    list(APPEND ordered ${of_target})
  endforeach()
  list(TRANSFORM ordered REPLACE "(.+)" "    *(.text.\\1*)")
  list(JOIN ordered "\n" sections)
  file(CONFIGURE OUTPUT ${script} @ONLY
    CONTENT "SECTIONS\n{\n  .text.ordered : {\n@sections@\n  }\n}\nINSERT BEFORE .text;\n")
endfunction()

# The level of optimisation of single files, where that of the build type costs more size than it gives speed.
function(ir_runtime_optimize_sources level)
  if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:${level}>")
  endif()
endfunction()
