// Makes the record of an op class from its descriptor. Included where classes are listed.
#ifndef RUNTIME_OPS_OP_CLASS_H_
#define RUNTIME_OPS_OP_CLASS_H_

#include <cstddef>
#include <cstring>
#include <type_traits>

#include "ir_runtime/op.h"
#include "ir_runtime/subgraph.h"
#include "runtime/ops/infer.h"
#include "runtime/ops/prepare.h"

namespace ir {
namespace detail {

template <class T>
inline constexpr auto field_table = T::fields();

template <class T>
inline constexpr T default_descriptor{};

template <class T>
DescriptorPtr clone_object(const void* descriptor) {
  return {descriptor == nullptr ? new T() : new T(*static_cast<const T*>(descriptor)),
          [](void* object) { delete static_cast<T*>(object); }};
}

inline void destroy_bytes(void* descriptor) { delete[] static_cast<std::byte*>(descriptor); }

// Serves all classes of this size whose descriptors hold neither lists nor texts.
template <std::size_t size>
DescriptorPtr clone_bytes(const void* descriptor) {
  auto* const copy = new std::byte[size];
  std::memcpy(copy, descriptor, size);
  return {copy, &destroy_bytes};
}

template <OpDescriptor T>
constexpr OpClass make_class() {
  OpClass record{};
  record.info = T::info;
  record.fields = field_table<T>;
  if constexpr (std::is_trivially_copyable_v<T>) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    record.clone = &clone_bytes<sizeof(T)>;
    record.defaults = &default_descriptor<T>;
  } else {
    record.clone = &clone_object<T>;
  }
  record.infer = [](const void* descriptor, InferContext& context) {
    static_cast<const T*>(descriptor)->infer(context);
  };
  record.prepare = [](const void* descriptor, PrepareContext& context) {
    return static_cast<const T*>(descriptor)->prepare(context);
  };
  if constexpr (requires(T & op) { op.subgraphs(); }) {
    record.subgraphs = [](void* descriptor) -> std::span<Subgraph> {
      return static_cast<T*>(descriptor)->subgraphs();
    };
  }
  return record;
}

}  // namespace detail

template <class T>
constinit const OpClass OpClassOf<T>::record = detail::make_class<T>();

}  // namespace ir

#endif  // RUNTIME_OPS_OP_CLASS_H_
