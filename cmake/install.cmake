# Install rules and the CMake package: find_package(ir_runtime), with the components cxx (target
# ir_runtime::ir_runtime) and c (target ir_runtime::c).
include(CMakePackageConfigHelpers)

install(TARGETS ir_runtime_kernels ir_runtime_runtime ir_runtime_ir_reader ir_runtime_ir_runtime
  EXPORT ir_runtime_cxx_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ir_runtime_c
  EXPORT ir_runtime_c_targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/runtime/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET run_ir)
  install(TARGETS run_ir DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(ir_runtime_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ir_runtime)
install(EXPORT ir_runtime_cxx_targets NAMESPACE ir_runtime:: DESTINATION ${ir_runtime_cmake_dir})
install(EXPORT ir_runtime_c_targets NAMESPACE ir_runtime:: DESTINATION ${ir_runtime_cmake_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ir_runtime-config.cmake.in
  ${PROJECT_BINARY_DIR}/ir_runtime-config.cmake INSTALL_DESTINATION ${ir_runtime_cmake_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ir_runtime-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ir_runtime-config.cmake ${PROJECT_BINARY_DIR}/ir_runtime-config-version.cmake
  DESTINATION ${ir_runtime_cmake_dir})
