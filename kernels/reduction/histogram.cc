#include "kernels/reduction/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/threads/parallel.h"

namespace ir::kernels {
namespace {

/// Parts of the values, each with counters of its own: how many does not depend on threads. Many counters are
/// not worth that.
struct Parts {
  std::size_t values = 0;
  std::size_t count = 0;

  Parts(std::size_t value_count, std::size_t counters) : values(value_count) {
    constexpr std::size_t kLeastValues = 32768;
    constexpr std::size_t kMostParts = 64;
    constexpr std::size_t kMostCounters = 4096;
    count = std::clamp<std::size_t>(values / kLeastValues, 1, counters <= kMostCounters ? kMostParts : 1);
  }
  [[nodiscard]] std::size_t begin(std::size_t part) const { return values * part / count; }
};

/// body(part, begin, end) for the values of each part.
template <class Body>
void for_each_part(const Parts& parts, const Body& body) {
  parallel_for(parts.count, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t part = first; part < last; ++part) body(part, parts.begin(part), parts.begin(part + 1));
  });
}

/// counts[part][v] = how often v is in a part. `place_of(i)`: of value i, or `size`: of none.
template <class PlaceOf>
void count_places(const Parts& parts, std::size_t size, const PlaceOf& place_of, std::int64_t* counts) {
  for_each_part(parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
    std::int64_t* const own = counts + part * size;
    std::fill_n(own, size, std::int64_t{0});
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t place = place_of(i);
      if (place < size) ++own[place];
    }
  });
}

template <class T>
void add_parts(const std::int64_t* counts, std::size_t parts, std::size_t size, T* out) {
  parallel_for(size, grain_for_cost(parts), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::int64_t sum = 0;
      for (std::size_t part = 0; part < parts; ++part) sum += counts[part * size + i];
      out[i] = static_cast<T>(sum);
    }
  });
}

/// Bins of a range.
class Bins {
 public:
  Bins(double low, double high, std::size_t count)
      : low_(low), high_(high), step_((high - low) / static_cast<double>(count)), count_(count) {}

  /// The bin of a value; their number for one outside, and for NaN.
  [[nodiscard]] std::size_t find(double value) const {
    if (!(value >= low_ && value <= high_)) return count_;
    if (low_ == high_) return 0;
    if (value == high_) return count_ - 1;
    const double bin = (value - low_) / step_;
    if (!(bin > 0)) return 0;  // NaN: of a range without end
    return bin < static_cast<double>(count_) ? static_cast<std::size_t>(bin) : count_ - 1;
  }

 private:
  double low_;
  double high_;
  double step_;
  std::size_t count_;
};

struct Extremes {
  double low = 0;
  double high = 0;
};

/// Of all values but NaN; NaN where the first one is. `found` holds one for each part.
template <class T>
Extremes extremes_of(const T* in, const Parts& parts, Extremes* found) {
  for_each_part(parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
    T low = in[0];
    T high = in[0];
    for (std::size_t i = begin; i < end; ++i) {
      low = in[i] < low ? in[i] : low;
      high = in[i] > high ? in[i] : high;
    }
    found[part] = {static_cast<double>(low), static_cast<double>(high)};
  });
  Extremes all = found[0];
  for (std::size_t part = 1; part < parts.count; ++part)
    all = {std::min(all.low, found[part].low), std::max(all.high, found[part].high)};
  return all;
}

}  // namespace

CounterNumber counters_for(IndexView values, std::size_t count) {
  constexpr std::int64_t kTooLarge = std::numeric_limits<std::int64_t>::max();
  const Parts parts(count, 0);
  std::vector<CounterNumber> found(parts.count);
  values.with_elements([&](const auto& elements) {
    for_each_part(parts, [&](std::size_t part, std::size_t begin, std::size_t end) {
      std::int64_t largest = -1;
      for (std::size_t i = begin; i < end; ++i) {
        const std::int64_t value = elements[i];
        if (value < 0 || value == kTooLarge) {
          found[part].bad = BadIndex{i, value};
          return;
        }
        largest = std::max(largest, value);
      }
      found[part].needed = static_cast<std::size_t>(largest + 1);
    });
  });
  CounterNumber all;
  for (const CounterNumber& part : found) {
    if (part.bad) return part;
    all.needed = std::max(all.needed, part.needed);
  }
  return all;
}

void count_values(IndexView values, std::size_t count, std::size_t size, std::int64_t* out) {
  const Parts parts(count, size);
  std::vector<std::int64_t> rooms(parts.count > 1 ? parts.count * size : 0);
  std::int64_t* const counts = parts.count > 1 ? rooms.data() : out;
  values.with_elements([&](const auto& elements) {
    count_places(
        parts, size, [&](std::size_t i) { return static_cast<std::size_t>(elements[i]); }, counts);
  });
  if (parts.count > 1) add_parts(counts, parts.count, size, out);
}

template <class T>
void sum_weights(IndexView values, const T* weights, std::size_t count, std::size_t size, T* out) {
  // Without a sign integers wrap.
  using Sum =
      typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;
  std::fill_n(out, size, T{0});
  values.with_elements([&](const auto& elements) {
    for (std::size_t i = 0; i < count; ++i) {
      T& sum = out[static_cast<std::size_t>(elements[i])];
      sum = static_cast<T>(static_cast<Sum>(sum) + static_cast<Sum>(weights[i]));
    }
  });
}

std::size_t histogram_scratch_bytes(const HistogramParams& params) {
  return Parts(params.count, params.bins).count * (params.bins * sizeof(std::int64_t) + sizeof(Extremes));
}

template <class T>
void histogram(const HistogramParams& params, const T* in, T* out, std::byte* scratch) {
  if (params.count == 0 || params.bins == 0) {
    std::fill_n(out, params.bins, T{0});
    return;
  }
  const Parts parts(params.count, params.bins);
  auto* const found = reinterpret_cast<Extremes*>(scratch);
  auto* const counts = reinterpret_cast<std::int64_t*>(found + parts.count);
  Extremes range{params.low, params.high};
  if (range.low == 0 && range.high == 0) range = extremes_of(in, parts, found);
  const Bins bins(range.low, range.high, params.bins);
  count_places(
      parts, params.bins, [&](std::size_t i) { return bins.find(static_cast<double>(in[i])); }, counts);
  add_parts(counts, parts.count, params.bins, out);
}

template void sum_weights(IndexView, const float*, std::size_t, std::size_t, float*);
template void sum_weights(IndexView, const double*, std::size_t, std::size_t, double*);
template void sum_weights(IndexView, const std::int32_t*, std::size_t, std::size_t, std::int32_t*);
template void sum_weights(IndexView, const std::int64_t*, std::size_t, std::size_t, std::int64_t*);
template void histogram(const HistogramParams&, const float*, float*, std::byte*);
template void histogram(const HistogramParams&, const double*, double*, std::byte*);

}  // namespace ir::kernels
