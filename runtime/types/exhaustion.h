// At the edge of the library: memory that runs out becomes an Error like any other.
#ifndef RUNTIME_TYPES_EXHAUSTION_H_
#define RUNTIME_TYPES_EXHAUSTION_H_

#include <new>
#include <stdexcept>
#include <string_view>

namespace ir {

/// Throws Error `IR-memory`; `during` is what was under way: "the model was compiled".
[[noreturn]] void throw_exhausted(std::string_view during);

/// What `body` returns. Throws Error `IR-memory` when memory runs out in it, or when it asks for more than
/// any container can hold.
template <class Body>
decltype(auto) reporting_exhaustion(std::string_view during, const Body& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    throw_exhausted(during);
  } catch (const std::length_error&) {
    throw_exhausted(during);
  }
}

}  // namespace ir

#endif  // RUNTIME_TYPES_EXHAUSTION_H_
