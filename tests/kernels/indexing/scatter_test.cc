#include "kernels/indexing/scatter.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "kernels/threads/parallel.h"
#include "tests/kernels/support.h"

namespace {

using namespace ir::kernels;
using Dims = std::vector<std::size_t>;

constexpr std::array kReductions{ScatterReduction::none, ScatterReduction::sum, ScatterReduction::prod,
                                 ScatterReduction::min,  ScatterReduction::max, ScatterReduction::mean};

/// Twin in double: gathers the list of updates of each element first, then reduces it.
double reduce(ScatterReduction reduction, bool use_init_val, double initial,
              const std::vector<double>& updates, bool integral) {
  std::vector<double> all;
  if (use_init_val || reduction == ScatterReduction::none) all.push_back(initial);
  all.insert(all.end(), updates.begin(), updates.end());
  double result = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) {
    switch (reduction) {
      case ScatterReduction::none:
        result = all[i];
        break;
      case ScatterReduction::sum:
      case ScatterReduction::mean:
        result += all[i];
        break;
      case ScatterReduction::sub:
        result -= all[i];
        break;
      case ScatterReduction::prod:
        result *= all[i];
        break;
      case ScatterReduction::min:
        result = std::min(result, all[i]);
        break;
      case ScatterReduction::max:
        result = std::max(result, all[i]);
        break;
    }
  }
  if (reduction == ScatterReduction::mean) {
    result /= static_cast<double>(all.size());
    if (integral) result = std::floor(result);
  }
  return result;
}

}  // namespace

TEMPLATE_TEST_CASE("scatter elements with every reduction", "[scatter]", float, double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  using T = TestType;
  const Dims dims{3, 4, 5};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Dims longer{2, 3, 4};
    longer[axis] = 70;  // more than are looked up at once
    for (const Dims& index_dims : {Dims{2, 3, 4}, Dims{3, 4, 5}, Dims{1, 2, 1}, Dims{3, 0, 2}, longer}) {
      const std::size_t count = index_dims[0] * index_dims[1] * index_dims[2];
      std::vector<T> data(60);
      std::vector<T> updates(count);
      std::vector<std::int32_t> indices(count);
      const double low = std::is_unsigned_v<T> ? 0 : -2;
      ir::test::fill_random(data, low, 3, 1);
      ir::test::fill_random(updates, low, 3, 2);
      ir::test::fill_random(indices, -static_cast<double>(dims[axis]), static_cast<double>(dims[axis]), 3);
      for (const ScatterReduction reduction : kReductions) {
        for (const bool use_init_val : {true, false}) {
          ir::test::GuardedBuffer<T> out(60, 1);
          REQUIRE_FALSE(scatter_elements_update<T>(dims, index_dims, axis, reduction, use_init_val,
                                                   data.data(), indices.data(), updates.data(), out.data()));
          REQUIRE(out.guards_intact());
          std::map<std::size_t, std::vector<double>> lists;
          for (std::size_t n = 0; n < count; ++n) {
            Dims at{n / (index_dims[1] * index_dims[2]), n / index_dims[2] % index_dims[1],
                    n % index_dims[2]};
            at[axis] = static_cast<std::size_t>(indices[n] < 0 ? indices[n] + static_cast<int>(dims[axis])
                                                               : indices[n]);
            lists[(at[0] * 4 + at[1]) * 5 + at[2]].push_back(static_cast<double>(updates[n]));
          }
          for (std::size_t i = 0; i < 60; ++i) {
            double expected = lists.count(i) ? reduce(reduction, use_init_val, static_cast<double>(data[i]),
                                                      lists[i], std::is_integral_v<T>)
                                             : static_cast<double>(data[i]);
            // Products of many wrap.
            if constexpr (std::is_integral_v<T>)
              expected = static_cast<double>(static_cast<T>(static_cast<std::int64_t>(expected)));
            CAPTURE(axis, i, static_cast<int>(reduction), use_init_val, expected,
                    static_cast<double>(out[i]));
            REQUIRE(ir::test::close(static_cast<double>(out[i]), expected, 1e-5, 1e-6));
          }
          std::vector<T> in_place = data;
          scatter_elements_update<T>(dims, index_dims, axis, reduction, use_init_val, in_place.data(),
                                     indices.data(), updates.data(), in_place.data());
          REQUIRE(std::equal(in_place.begin(), in_place.end(), out.begin()));
        }
      }
    }
  }
}

TEST_CASE("scatter elements of booleans and infinities", "[scatter]") {
  const bool data[]{true, false, true, false};
  const bool updates[]{false, true, true, true};
  const std::vector<std::int32_t> indices{0, 1, 2, 0};
  bool out[4];
  const auto run = [&](ScatterReduction reduction, bool use_init_val) {
    scatter_elements_update<bool>(Dims{4}, Dims{4}, 0, reduction, use_init_val, data, indices.data(), updates,
                                  out);
    return std::vector<bool>(out, out + 4);
  };
  REQUIRE(run(ScatterReduction::sum, true) == std::vector<bool>{true, true, true, false});
  REQUIRE(run(ScatterReduction::prod, true) == std::vector<bool>{false, false, true, false});
  REQUIRE(run(ScatterReduction::prod, false) == std::vector<bool>{false, true, true, false});
  REQUIRE(run(ScatterReduction::max, false) == std::vector<bool>{true, true, true, false});
  REQUIRE(run(ScatterReduction::mean, false) == std::vector<bool>{false, true, true, false});

  const Dims dims{4};
  scatter_nd_update<bool>({1, 4, dims, 1}, ScatterReduction::sub, data, indices.data(), updates, out);
  REQUIRE(std::vector<bool>(out, out + 4) == std::vector<bool>{false, true, false, false});

  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float number = 3;
  float extreme = 0;
  scatter_elements_update<float>(Dims{1}, Dims{1}, 0, ScatterReduction::max, true, &nan, indices.data(),
                                 &number, &extreme);
  REQUIRE(extreme == 3.0F);
  scatter_elements_update<float>(Dims{1}, Dims{1}, 0, ScatterReduction::min, true, &number, indices.data(),
                                 &nan, &extreme);
  REQUIRE(std::isnan(extreme));

  const float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> values{1, 2};
  const std::vector<float> low{-inf};
  std::vector<float> result(2);
  scatter_elements_update<float>(Dims{2}, Dims{1}, 0, ScatterReduction::max, false, values.data(),
                                 std::vector<std::int64_t>{1}.data(), low.data(), result.data());
  REQUIRE(result == std::vector<float>{1, -inf});
}

TEST_CASE("scatter reports the first bad index and writes nothing", "[scatter]") {
  const std::vector<float> data{1, 2, 3};
  const std::vector<float> updates{7, 8};
  std::vector<float> out{0, 0, 0};
  const std::vector<std::int64_t> indices{0, -4};
  IndexResult bad = scatter_elements_update<float>(Dims{3}, Dims{2}, 0, ScatterReduction::none, true,
                                                   data.data(), indices.data(), updates.data(), out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 1);
  REQUIRE(bad->value == -4);
  bad = scatter_update({1, 3, 2, 4}, data.data(), indices.data(), updates.data(), out.data());
  REQUIRE(bad);
  const Dims dims{3};
  bad = scatter_nd_update<float>({1, 2, dims, 4}, ScatterReduction::none, data.data(), indices.data(),
                                 updates.data(), out.data());
  REQUIRE(bad);
  REQUIRE(bad->position == 1);
  REQUIRE(out == std::vector<float>{0, 0, 0});
}

TEST_CASE("scatter update replaces slices, the last one wins", "[scatter]") {
  for (const std::size_t size : {1, 2, 3, 4, 8, 24}) {
    const ScatterShape shape{3, 4, 5, size};
    std::vector<char> data(3 * 4 * size);
    std::vector<char> updates(3 * 5 * size);
    std::iota(data.begin(), data.end(), 0);
    std::iota(updates.begin(), updates.end(), 50);
    const std::vector<std::int32_t> indices{1, -1, 1, 0, 3};
    std::vector<char> expected = data;
    for (std::size_t o = 0; o < 3; ++o) {
      for (std::size_t i = 0; i < 5; ++i) {
        const std::size_t index = static_cast<std::size_t>(indices[i] < 0 ? indices[i] + 4 : indices[i]);
        std::memcpy(&expected[(o * 4 + index) * size], &updates[(o * 5 + i) * size], size);
      }
    }
    ir::test::GuardedBuffer<char> out(data.size(), 1);
    REQUIRE_FALSE(scatter_update(shape, data.data(), indices.data(), updates.data(), out.data()));
    REQUIRE(out.guards_intact());
    REQUIRE(std::equal(out.begin(), out.end(), expected.begin()));
    REQUIRE_FALSE(scatter_update(shape, data.data(), indices.data(), updates.data(), data.data()));
    REQUIRE(data == expected);
  }
}

TEST_CASE("scatter nd examples of ScatterNDUpdate-15", "[scatter]") {
  const std::vector<std::int32_t> indices{0, 2, -3, -3, 0};
  const Dims dims{4};
  const auto run = [&](ScatterReduction reduction) {
    const std::vector<std::int32_t> data{1, 2, 3, 4};
    const std::vector<std::int32_t> updates{10, 20, 30, 40, 50};
    std::vector<std::int32_t> out(4);
    REQUIRE_FALSE(scatter_nd_update<std::int32_t>({1, 5, dims, 4}, reduction, data.data(), indices.data(),
                                                  updates.data(), out.data()));
    return out;
  };
  REQUIRE(run(ScatterReduction::none) == std::vector<std::int32_t>{50, 40, 20, 4});
  REQUIRE(run(ScatterReduction::sum) == std::vector<std::int32_t>{61, 72, 23, 4});
  REQUIRE(run(ScatterReduction::sub) == std::vector<std::int32_t>{-59, -68, -17, 4});
  REQUIRE(run(ScatterReduction::prod) == std::vector<std::int32_t>{500, 2400, 60, 4});
  REQUIRE(run(ScatterReduction::min) == std::vector<std::int32_t>{1, 2, 3, 4});
  REQUIRE(run(ScatterReduction::max) == std::vector<std::int32_t>{50, 40, 20, 4});
}

TEMPLATE_TEST_CASE("scatter nd updates slices in order", "[scatter]", float, double, std::int8_t,
                   std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t) {
  using T = TestType;
  constexpr std::size_t kSlice = 300;
  const Dims dims{2, 3};
  const std::vector<std::int64_t> indices{0, 0, 1, -1, 0, 0, 1, 1};
  std::vector<T> data(6 * kSlice);
  std::vector<T> updates(4 * kSlice);
  ir::test::fill_random(data, 0, 5, 1);
  ir::test::fill_random(updates, 0, 5, 2);
  for (const ScatterReduction reduction :
       {ScatterReduction::none, ScatterReduction::sum, ScatterReduction::prod, ScatterReduction::min,
        ScatterReduction::max}) {
    std::vector<double> expected(data.begin(), data.end());
    for (std::size_t t = 0; t < 4; ++t) {
      const std::size_t slice =
          static_cast<std::size_t>(indices[2 * t]) * 3 +
          static_cast<std::size_t>(indices[2 * t + 1] < 0 ? indices[2 * t + 1] + 3 : indices[2 * t + 1]);
      for (std::size_t i = 0; i < kSlice; ++i) {
        double& value = expected[slice * kSlice + i];
        value = reduce(reduction, true, value, {static_cast<double>(updates[t * kSlice + i])}, true);
      }
    }
    std::vector<T> out[2] = {data, data};
    for (int threads = 1; threads <= 2; ++threads) {
      ThreadPool(threads).run([&] {
        scatter_nd_update<T>({1, 4, dims, kSlice * sizeof(T)}, reduction, data.data(), indices.data(),
                             updates.data(), out[threads - 1].data());
      });
    }
    REQUIRE(out[0] == out[1]);
    for (std::size_t i = 0; i < data.size(); ++i) {
      REQUIRE(ir::test::close(static_cast<double>(out[0][i]), expected[i], 1e-5, 0));
    }
  }
}

TEMPLATE_TEST_CASE("scatter nd of slices of any size and tuples of any depth", "[scatter]", std::int32_t,
                   std::int64_t, std::int8_t) {
  IR_FOR_EACH_TARGET();
  for (const std::size_t depth : {1, 2, 3, 5, 8, 9}) {
    Dims dims(depth, 2);
    dims[0] = 5;
    dims[depth - 1] = 3;
    const std::size_t places = std::accumulate(dims.begin(), dims.end(), std::size_t{1}, std::multiplies<>());
    for (const std::size_t tuples : {1, 7, 64, 65, 200}) {
      ir::test::GuardedBuffer<TestType> indices(tuples * depth, 1);
      std::vector<std::size_t> slices(tuples);
      for (std::size_t i = 0; i < indices.size(); ++i) {
        const std::size_t dim = dims[i % depth];
        const std::size_t index = (i * 2654435761U + tuples) / 32 % (2 * dim);  // the second half is negative
        indices[i] =
            static_cast<TestType>(static_cast<int>(index) - (index < dim ? 0 : 2 * static_cast<int>(dim)));
        slices[i / depth] = slices[i / depth] * dim + index % dim;
      }
      for (const std::size_t size : {1, 2, 3, 4, 7, 8, 9, 15, 16, 24, 63, 64, 65, 130}) {
        const NdShape shape{1, tuples, dims, size};
        std::vector<char> data(places * size);
        std::vector<char> updates(tuples * size);
        std::iota(data.begin(), data.end(), 0);
        std::iota(updates.begin(), updates.end(), 50);
        std::vector<char> expected = data;
        for (std::size_t t = 0; t < tuples; ++t) {
          std::memcpy(&expected[slices[t] * size], &updates[t * size], size);
        }
        ir::test::GuardedBuffer<std::int8_t> out(data.size(), 1);
        CAPTURE(depth, tuples, size);
        REQUIRE_FALSE(scatter_nd_update<std::int8_t>(
            shape, ScatterReduction::none, reinterpret_cast<const std::int8_t*>(data.data()), indices.data(),
            reinterpret_cast<const std::int8_t*>(updates.data()), out.data()));
        REQUIRE(out.guards_intact());
        REQUIRE(std::memcmp(out.data(), expected.data(), data.size()) == 0);
        std::vector<char> gathered(updates.size());
        REQUIRE_FALSE(gather_nd(shape, out.data(), indices.data(), gathered.data()));
        for (std::size_t t = 0; t < tuples; ++t) {
          REQUIRE(std::memcmp(&gathered[t * size], &expected[slices[t] * size], size) == 0);
        }
      }
      const std::vector<std::int8_t> data(places);
      std::vector<std::int8_t> out(places);
      for (std::size_t i = 0; i < indices.size(); i += 1 + i / 3) {
        const auto dim = static_cast<TestType>(dims[i % depth]);
        for (const TestType wrong :
             {dim, static_cast<TestType>(-1 - dim), std::numeric_limits<TestType>::max(),
              std::numeric_limits<TestType>::min()}) {
          const TestType right = std::exchange(indices[i], wrong);
          const IndexResult bad =
              scatter_nd_update<std::int8_t>({1, tuples, dims, 1}, ScatterReduction::sum, data.data(),
                                             indices.data(), data.data(), out.data());
          indices[i] = right;
          REQUIRE(bad);
          REQUIRE(bad->position == i);
          REQUIRE(bad->value == wrong);
        }
      }
    }
  }
}

namespace {

/// Updates one element after the other, in row-major order of the indices.
template <class T, class Index>
void update_elements(const Dims& dims, const Dims& index_dims, std::size_t axis, ScatterReduction reduction,
                     bool use_init_val, const Index* indices, const T* updates, std::vector<T>& out) {
  std::vector<bool> is_used(out.size(), use_init_val || reduction == ScatterReduction::none);
  const std::size_t count =
      std::accumulate(index_dims.begin(), index_dims.end(), std::size_t{1}, std::multiplies<>());
  for (std::size_t n = 0; n < count; ++n) {
    std::size_t rest = n;
    std::size_t at = 0;
    std::size_t stride = 1;
    for (std::size_t k = dims.size(); k-- > 0; stride *= dims[k], rest /= index_dims[k]) {
      const std::size_t index = static_cast<std::size_t>(
          indices[n] < 0 ? static_cast<std::int64_t>(indices[n]) + static_cast<std::int64_t>(dims[axis])
                         : static_cast<std::int64_t>(indices[n]));
      at += stride * (k == axis ? index : rest % index_dims[k]);
    }
    T& value = out[at];
    const T update = updates[n];
    if (reduction == ScatterReduction::none) value = update;
    if (reduction == ScatterReduction::sum) value = is_used[at] ? static_cast<T>(value + update) : update;
    if (reduction == ScatterReduction::prod) value = is_used[at] ? static_cast<T>(value * update) : update;
    if (reduction == ScatterReduction::min) value = is_used[at] ? std::min(update, value) : update;
    if (reduction == ScatterReduction::max) value = is_used[at] ? std::max(update, value) : update;
    is_used[at] = true;
  }
}

}  // namespace

TEMPLATE_TEST_CASE("scatter elements of rows, each with an index or of many", "[scatter]", float, double,
                   std::int8_t, std::int32_t, std::uint16_t, std::uint64_t) {
  using T = TestType;
  const std::pair<Dims, Dims> shapes[]{
      {{9, 40}, {70, 40}},     {{9, 40}, {70, 33}},           {{9, 150}, {5, 131}},
      {{3, 9, 8}, {2, 20, 7}}, {{3, 9, 4, 5}, {3, 20, 4, 5}}, {{3, 9, 4, 10}, {2, 20, 3, 9}},
      {{5, 9, 1}, {4, 30, 1}}, {{12, 9, 2}, {11, 30, 1}},     {{2, 9, 13, 1}, {2, 30, 12, 1}},
      {{4, 300}, {4, 130}}};
  for (const auto& shape : shapes) {
    const Dims& dims = shape.first;
    const Dims& index_dims = shape.second;
    const auto count_of = [](const Dims& of) {
      return std::accumulate(of.begin(), of.end(), std::size_t{1}, std::multiplies<>());
    };
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      bool fits = true;
      for (std::size_t k = 0; k < dims.size(); ++k) fits &= k == axis || index_dims[k] <= dims[k];
      if (!fits) continue;
      const std::size_t count = count_of(index_dims);
      std::vector<T> data(count_of(dims));
      ir::test::GuardedBuffer<T> updates(count, 1);
      ir::test::fill_random(data, 0, 3, 1);
      std::vector<T> values(count);
      ir::test::fill_random(values, 0, 3, 2);
      std::copy(values.begin(), values.end(), updates.begin());
      std::vector<std::int64_t> indices(count);
      ir::test::fill_random(indices, -static_cast<double>(dims[axis]), static_cast<double>(dims[axis]) - 1,
                            3);
      // Random, the same in each row, the same but for some elements.
      for (const int kind : {0, 1, 2}) {
        const std::size_t row = index_dims.back();
        for (std::size_t i = 0; i < count && kind > 0; ++i) {
          if (kind == 1 || i % 97 != 0) indices[i] = indices[i / row * row];
        }
        const std::vector<std::int16_t> narrow(indices.begin(), indices.end());
        const std::vector<std::int32_t> words(indices.begin(), indices.end());
        for (const ScatterReduction reduction :
             {ScatterReduction::none, ScatterReduction::sum, ScatterReduction::prod, ScatterReduction::min,
              ScatterReduction::max}) {
          for (const bool use_init_val : {true, false}) {
            std::vector<T> expected = data;
            update_elements(dims, index_dims, axis, reduction, use_init_val, indices.data(), updates.data(),
                            expected);
            CAPTURE(axis, index_dims.size(), count, kind, static_cast<int>(reduction), use_init_val);
            for (const IndexView view :
                 {IndexView(indices.data()), IndexView(words.data()), IndexView(narrow.data())}) {
              for (const int threads : {1, 2}) {
                ir::test::GuardedBuffer<T> out(data.size(), 1);
                ThreadPool(threads).run([&] {
                  scatter_elements_update<T>(dims, index_dims, axis, reduction, use_init_val, data.data(),
                                             view, updates.data(), out.data());
                });
                REQUIRE(out.guards_intact());
                REQUIRE(std::equal(out.begin(), out.end(), expected.begin()));
              }
            }
          }
        }
      }
    }
  }
}

TEST_CASE("scatter elements of many rows has the same bits for any number of threads", "[scatter]") {
  const Dims dims{50, 300};
  const Dims index_dims{3000, 290};
  std::vector<float> data(50 * 300);
  std::vector<float> updates(3000 * 290);
  std::vector<std::int32_t> indices(3000 * 290);
  ir::test::fill_random(data, -1, 1, 1);
  ir::test::fill_random(updates, -1, 1, 2);
  ir::test::fill_random(indices, -50, 49, 3);
  for (std::size_t i = 0; i < indices.size() / 2; ++i) indices[i] = indices[i / 290 * 290];
  for (const ScatterReduction reduction : {ScatterReduction::sum, ScatterReduction::mean}) {
    std::vector<float> out[2] = {data, data};
    for (int threads = 1; threads <= 2; ++threads) {
      ThreadPool(threads).run([&] {
        scatter_elements_update<float>(dims, index_dims, 0, reduction, true, data.data(), indices.data(),
                                       updates.data(), out[threads - 1].data());
      });
    }
    REQUIRE(out[0] == out[1]);
    if (reduction == ScatterReduction::mean) continue;
    std::vector<float> expected = data;
    update_elements(dims, index_dims, 0, reduction, true, indices.data(), updates.data(), expected);
    REQUIRE(out[0] == expected);
  }
}
