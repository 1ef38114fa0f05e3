// Internal to scatter: how an update meets what is there. Where updates may leave the original value out,
// they start from `neutral`.
#ifndef KERNELS_INDEXING_SCATTER_OPERATIONS_H_
#define KERNELS_INDEXING_SCATTER_OPERATIONS_H_

#include <cstddef>
#include <limits>
#include <type_traits>

#include "kernels/base/integer_math.h"

namespace ir::kernels::scatter {

struct Assign {
  template <class T>
  static T apply(T, T update) {
    return update;
  }
};

struct Sum {
  template <class T>
  static T neutral() {
    return T{0};
  }
  template <class T>
  static T apply(T value, T update) {
    if constexpr (std::is_same_v<T, bool>) {
      return value || update;
    } else {
      return add_elements(value, update);
    }
  }
};

struct Sub {
  template <class T>
  static T apply(T value, T update) {
    if constexpr (std::is_same_v<T, bool>) {
      return value != update;
    } else {
      return subtract_elements(value, update);
    }
  }
};

struct Prod {
  template <class T>
  static T neutral() {
    return T{1};
  }
  template <class T>
  static T apply(T value, T update) {
    if constexpr (std::is_same_v<T, bool>) {
      return value && update;
    } else {
      return multiply_elements(value, update);
    }
  }
};

struct Min {
  template <class T>
  static T neutral() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
  template <class T>
  static T apply(T value, T update) {
    return value < update ? value : update;
  }
};

struct Max {
  template <class T>
  static T neutral() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
  }
  template <class T>
  static T apply(T value, T update) {
    return value > update ? value : update;
  }
};

/// to[i] = Op::apply(to[i], from[i]). No overlap. Ops: all of these; T: as those of the kernels, for Sum, Sub
/// and Prod without a sign.
template <class Op, class T>
void update_run(const T* from, T* to, std::size_t count);

}  // namespace ir::kernels::scatter

#endif  // KERNELS_INDEXING_SCATTER_OPERATIONS_H_
