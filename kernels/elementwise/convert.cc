#include "kernels/elementwise/convert.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/base/float16.h"
#include "kernels/base/integer_math.h"
#include "kernels/elementwise/convert_simd.h"
#include "kernels/elementwise/packed_types.h"
#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// An element as a number of C++.
template <class T>
auto number(T value) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return static_cast<std::uint8_t>(value.byte != 0);
  } else if constexpr (kIsHalf<T>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

template <class To, class Number>
To from_number(Number value) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return {static_cast<std::uint8_t>(value != 0)};
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<Number> && std::is_integral_v<To>) {
    return saturating_truncate<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
constexpr bool kHasSpan = requires(const From* from, To* to) {
  convert_span(from, to, std::size_t{});
};

/// Tensors of a mapped file may start at any byte: elements are copied, not dereferenced.
template <class From, class To>
void convert_elements(const void* in, void* out, std::size_t count) {
  if constexpr (kHasSpan<From, To>) {
    convert_span(static_cast<const From*>(in), static_cast<To*>(out), count);
  } else {
    const auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(out);
    for (std::size_t i = 0; i < count; ++i) {
      From value;
      std::memcpy(&value, from + i * sizeof(From), sizeof(From));
      const To result = from_number<To>(number(value));
      std::memcpy(to + i * sizeof(To), &result, sizeof(To));
    }
  }
}

/// Calls `f(std::type_identity<T>())` with the C++ type of a type that has one.
template <class F>
void with_type(ScalarType type, F f) {
  switch (type) {
    case ScalarType::f32:
      return f(std::type_identity<float>());
    case ScalarType::f64:
      return f(std::type_identity<double>());
    case ScalarType::f16:
      return f(std::type_identity<Float16>());
    case ScalarType::bf16:
      return f(std::type_identity<BFloat16>());
    case ScalarType::i8:
      return f(std::type_identity<std::int8_t>());
    case ScalarType::i16:
      return f(std::type_identity<std::int16_t>());
    case ScalarType::i32:
      return f(std::type_identity<std::int32_t>());
    case ScalarType::i64:
      return f(std::type_identity<std::int64_t>());
    case ScalarType::u8:
      return f(std::type_identity<std::uint8_t>());
    case ScalarType::u16:
      return f(std::type_identity<std::uint16_t>());
    case ScalarType::u32:
      return f(std::type_identity<std::uint32_t>());
    case ScalarType::u64:
      return f(std::type_identity<std::uint64_t>());
    case ScalarType::boolean:
      return f(std::type_identity<Boolean>());
    default:
      return;  // packed
  }
}

/// Conversion between types with a C++ type.
void convert_plain(ScalarType from, const void* in, ScalarType to, void* out, std::size_t count) {
  with_type(from, [&]<class From>(std::type_identity<From>) {
    with_type(to, [&]<class To>(std::type_identity<To>) { convert_elements<From, To>(in, out, count); });
  });
}

constexpr std::size_t kBlock = 256;  // a multiple of 8, as pack_* want

/// Values of a packed type, or on their way to one: f32 or i32.
class Block {
 public:
  /// The type through which `type` is packed and unpacked.
  static ScalarType type_for(ScalarType packed) {
    return is_packed_integer(packed) ? ScalarType::i32 : ScalarType::f32;
  }

  explicit Block(ScalarType type) : type_(type) {}

  void read(ScalarType from, const void* in, std::size_t first, std::size_t count) {
    const auto* bytes = static_cast<const std::uint8_t*>(in);
    if (!is_packed(from)) {
      convert_plain(from, bytes + bytes_of(from, first), type_, data(), count);
    } else if (type_ == ScalarType::i32) {
      unpack_integers(from, bytes, first, integers_.data(), count);
    } else {
      unpack_floats(from, bytes, first, floats_.data(), count);
    }
  }

  void write(ScalarType to, void* out, std::size_t first, std::size_t count) {
    auto* bytes = static_cast<std::uint8_t*>(out);
    if (!is_packed(to)) {
      convert_plain(type_, data(), to, bytes + bytes_of(to, first), count);
    } else if (type_ == ScalarType::i32) {
      pack_integers(to, integers_.data(), first, bytes, count);
    } else {
      pack_floats(to, floats_.data(), first, bytes, count);
    }
  }

  /// Becomes f32 or i32.
  void change_type(ScalarType type, std::size_t count) {
    if (type == type_) return;
    if (type == ScalarType::f32) {
      convert_plain(type_, integers_.data(), type, floats_.data(), count);
    } else {
      convert_plain(type_, floats_.data(), type, integers_.data(), count);
    }
    type_ = type;
  }

 private:
  void* data() { return type_ == ScalarType::i32 ? static_cast<void*>(integers_.data()) : floats_.data(); }

  ScalarType type_;
  std::array<std::int32_t, kBlock> integers_;
  std::array<float, kBlock> floats_;
};

/// Elements [begin, end) where one type at least is packed; `begin` is a multiple of kBlock.
void convert_packed(ScalarType from, const void* in, ScalarType to, void* out, std::size_t begin,
                    std::size_t end) {
  for (std::size_t first = begin; first < end; first += kBlock) {
    const std::size_t count = std::min(kBlock, end - first);
    Block block(Block::type_for(is_packed(from) ? from : to));
    block.read(from, in, first, count);
    if (is_packed(to)) block.change_type(Block::type_for(to), count);
    block.write(to, out, first, count);
  }
}

}  // namespace

bool has_convert_span(ScalarType from, ScalarType to) {
  bool found = false;
  with_type(from, [&]<class From>(std::type_identity<From>) {
    with_type(to, [&]<class To>(std::type_identity<To>) { found = kHasSpan<From, To>; });
  });
  return found;
}

void convert(ScalarType from, const void* in, ScalarType to, void* out, std::size_t count) {
  // Chunks are whole numbers of blocks, so that packed bytes have one writer.
  const std::size_t blocks = count / kBlock + (count % kBlock != 0 ? 1 : 0);
  const bool packed = from != to && (is_packed(from) || is_packed(to));
  parallel_for(blocks, grain_for_cost(packed ? 4 * kBlock : kBlock),
               [&](std::size_t first, std::size_t last) {
                 const std::size_t begin = first * kBlock;
                 const std::size_t end = std::min(last * kBlock, count);
                 if (packed) return convert_packed(from, in, to, out, begin, end);
                 const auto* source = static_cast<const std::byte*>(in) + bytes_of(from, begin);
                 auto* target = static_cast<std::byte*>(out) + bytes_of(to, begin);
                 if (from != to) {
                   convert_plain(from, source, to, target, end - begin);
                 } else if (source != target) {
                   std::memcpy(target, source, bytes_of(from, end - begin));
                 }
               });
}

}  // namespace ir::kernels
