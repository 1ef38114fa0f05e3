#include "kernels/weights/shared_packing.h"

#include <algorithm>
#include <functional>
#include <latch>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "kernels/base/aligned_floats.h"
#include "kernels/convolution/deconvolution.h"
#include "kernels/matmul/gemm.h"
#include "kernels/sequence/rnn.h"
#include "tests/kernels/convolution/convolution_support.h"
#include "tests/kernels/matmul/gemm_twin.h"

namespace ir::kernels {
namespace {

using namespace test_convolution;

std::vector<float> random_values(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  test::fill_random(values, -1, 1, seed);
  return values;
}

/// What kernels give, one after the other, that `make_and_run(i)` prepares of `constant`: alone, and sharing
/// with the first one, while that lives. A kernel that shares all that it packs does not read the constant,
/// which holds no numbers any more.
struct SharingCheck {
  std::vector<float> constant;
  /// What is packed is made of the constant each time.
  bool reads_again = false;
  /// Returns what has to live on, and the results.
  using Run = std::function<std::pair<std::shared_ptr<const void>, std::vector<float>>(std::size_t)>;

  /// `expected_forms` of all of them; 0: any number.
  void operator()(std::size_t kernels, std::size_t expected_forms, const Run& run) {
    std::vector<std::vector<float>> expected;
    for (std::size_t i = 0; i < kernels; ++i) expected.push_back(run(i).second);
    SharedForms forms;
    const PackingShared sharing(&forms, {constant});
    std::vector<std::shared_ptr<const void>> alive;
    for (std::size_t i = 0; i < kernels; ++i) {
      INFO("kernel " << i);
      auto [kernel, result] = run(i);
      CHECK(result == expected[i]);
      if (expected_forms == 0) expected_forms = forms.count();
      CHECK(forms.count() == expected_forms);
      alive.push_back(std::move(kernel));
      if (reads_again) continue;
      std::fill(constant.begin(), constant.end(), std::numeric_limits<float>::quiet_NaN());
    }
    alive.erase(alive.begin());
    CHECK(forms.count() == expected_forms);
    alive.clear();
    CHECK(forms.count() == 0);
  }
};

}  // namespace

TEST_CASE("Forms lie together in what is reserved for them") {
  constexpr std::size_t kPageFloats = kLargePage / sizeof(float);
  const std::vector<float> constant(100, 1);
  SharedForms forms;
  const auto form = [&](std::size_t number, std::size_t count) {
    const PackingShared sharing(&forms, {constant});
    return packed_once(constant, {"test", {}, {number}}, count,
                       [&](float* to) { std::fill_n(to, count, static_cast<float>(number)); });
  };
  forms.reserve(kLargePage + kLargePage / 2);
  std::vector<PackedFloats> held{form(0, 1000), form(1, 7), form(2, kPageFloats - 2000), form(3, 5)};
  // Which large page something lies in tells what is reserved from all other memory.
  const auto page = [&](std::size_t i) {
    return reinterpret_cast<std::uintptr_t>(held[i].get()) / kLargePage;
  };
  CHECK(page(1) == page(0));
  CHECK(page(2) == page(0));
  CHECK(page(3) == page(0));
  CHECK(reinterpret_cast<std::uintptr_t>(held[1].get()) % kCacheLine == 0);
  // What does not fit or comes too late lies elsewhere.
  held.push_back(form(4, 2000));
  CHECK(page(4) != page(0));
  forms.reserve(5 * kLargePage);
  const std::size_t large = 3 * kPageFloats + kPageFloats / 2;
  held.push_back(form(5, large));
  held.push_back(form(6, 2 * kPageFloats));
  held.push_back(form(7, kPageFloats));
  held.push_back(form(8, 100));
  CHECK(page(5) == page(7) + 1);
  CHECK(page(6) != page(7));
  CHECK(page(8) == page(7));
  forms.reserve(0);
  held.push_back(form(9, 100));
  CHECK(page(9) != page(8));
  for (std::size_t i = 0; i < held.size(); ++i) CHECK(*held[i] == static_cast<float>(i));
  CHECK(form(0, 1000) == held.front());
}

TEST_CASE("What is left of large pages goes back to the system, and nothing of what lies in them") {
  const std::vector<float> constant(100, 1);
  const std::size_t less_than_page = GENERATE(as<std::size_t>(), 1, 100, 5000, 300'000);
  const std::size_t pages = GENERATE(as<std::size_t>(), 1, 2);
  const std::size_t count = pages * kLargePage / sizeof(float) - less_than_page;
  SharedForms forms;
  forms.reserve(2 * kLargePage);
  const PackingShared sharing(&forms, {constant});
  const PackedFloats form =
      packed_once(constant, {"test", {}, {}}, count, [&](float* to) { std::fill_n(to, count, 7.0F); });
  forms.reserve(0);
  CHECK(std::all_of(form.get(), form.get() + count, [](float value) { return value == 7.0F; }));
}

TEST_CASE("A form of a constant is made once, for as long as somebody holds it") {
  const std::vector<float> constant(100, 1);
  const std::vector<float> other(100, 1);
  SharedForms forms;
  std::size_t packings = 0;
  const auto pack = [&](std::span<const float> source, PackedForm form, std::size_t count = 10) {
    return packed_once(source, std::move(form), count, [&](float* to) {
      std::iota(to, to + count, 0.0F);
      ++packings;
    });
  };
  const int table = 0;
  const PackedForm form{"form", {&table}, {1, 2}};
  const PackingShared sharing(&forms, {other, constant});
  PackedFloats first = pack(constant, form);
  CHECK(first.get()[9] == 9);
  CHECK(pack(constant, form) == first);
  CHECK(packings == 1);
  CHECK(forms.count() == 1);

  SECTION("all that it depends on tells forms apart") {
    const std::span<const float> part(constant);
    const std::vector<PackedFloats> different{
        first,
        pack(other, form),
        pack(part.first(99), form),
        pack(part.last(99), form),
        pack(constant, form, 11),
        pack(constant, {"another form", {&table}, {1, 2}}),
        pack(constant, {"form", {&packings}, {1, 2}}),
        pack(constant, {"form", {&table}, {1, 3}}),
        pack(constant, {"form", {&table}, {1}}),
    };
    CHECK(packings == different.size());
    CHECK(forms.count() == different.size());
    for (std::size_t i = 0; i < different.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) CHECK(different[i] != different[j]);
    }
  }
  SECTION("nobody's is made again") {
    first.reset();
    CHECK(forms.count() == 0);
    first = pack(constant, form);
    CHECK(packings == 2);
    CHECK(forms.count() == 1);
  }
  SECTION("what kernels have made themselves is packed for them alone") {
    const std::vector<float> own(100, 1);
    CHECK(pack(own, form) != pack(own, form));
    CHECK(packings == 3);
    CHECK(forms.count() == 1);
  }
  SECTION("unless it is known how they were made") {
    const std::vector<float> own(100, 1);
    const std::vector<float> again(100, 1);
    const std::vector<float> half(constant.begin(), constant.begin() + 50);
    const auto made_of = [&](const std::vector<float>& made, std::span<const float> source, PackedForm way) {
      const MadeOfConstant known(made, source, std::move(way));
      return pack(made, form);
    };
    const PackedFloats packed = made_of(own, constant, {"copy", {}, {}});
    CHECK(packed != first);
    CHECK(made_of(again, constant, {"copy", {}, {}}) == packed);
    CHECK(made_of(again, constant, {"copy", {}, {1}}) != packed);
    CHECK(made_of(again, other, {"copy", {}, {}}) != packed);
    CHECK(made_of(half, constant, {"copy", {}, {}}) != packed);
    CHECK(pack(own, form) != packed);
    {
      // Of something that was made, too.
      const MadeOfConstant outer(own, constant, {"copy", {}, {}});
      const PackedFloats twice = made_of(again, own, {"copy", {}, {}});
      CHECK(twice != packed);
      CHECK(made_of(again, own, {"copy", {}, {}}) == twice);
      CHECK(pack(own, form) == packed);
    }
    CHECK(packings == 7);
  }
  SECTION("an inner scope takes the place of the outer one") {
    {
      const PackingShared nothing(nullptr, {constant});
      CHECK(pack(constant, form) != first);
      SharedForms inner;
      const PackingShared inside(&inner, {constant});
      const PackedFloats again = pack(constant, form);
      CHECK(again != first);
      CHECK(inner.count() == 1);
    }
    CHECK(pack(constant, form) == first);
    CHECK(packings == 3);
  }
  SECTION("floats that are held outlive the forms") {
    std::optional<SharedForms> gone(std::in_place);
    PackedFloats held;
    {
      const PackingShared inside(&*gone, {constant});
      held = pack(constant, form);
    }
    gone.reset();
    CHECK(held.get()[5] == 5);
  }
}

TEST_CASE("Forms that were used last are there again, as far as they may take memory") {
  const std::vector<float> constant(100, 1);
  SharedForms forms;
  RecentForms recent;
  const PackingShared sharing(&forms, {constant}, &recent);
  const auto pack = [&](std::string_view name) {
    return packed_once(constant, {name, {}, {}}, 10, [](float* to) { std::iota(to, to + 10, 0.0F); });
  };
  constexpr std::size_t kBytes = 10 * sizeof(float);
  const PackedFloats held = pack("held");
  pack("first");
  pack("second");
  pack("third");
  CHECK(forms.bytes() == 4 * kBytes);
  // The least recently used goes, not what somebody holds.
  pack("first");
  recent.trim(3 * kBytes);
  CHECK(forms.bytes() == 4 * kBytes);
  recent.trim(2 * kBytes);
  CHECK(forms.bytes() == 3 * kBytes);
  const auto is_there = [&](std::string_view name) {
    bool packed = false;
    (void)packed_once(constant, {name, {}, {}}, 10, [&](float* to) {
      std::fill_n(to, 10, 0.0F);
      packed = true;
    });
    return !packed;
  };
  CHECK(is_there("held"));
  CHECK(is_there("third"));
  CHECK(is_there("first"));
  CHECK_FALSE(is_there("second"));
  recent.trim(0);
  CHECK(forms.bytes() == kBytes);
  CHECK(is_there("held"));
}

TEST_CASE("Who shares packing is told whether anything was packed") {
  const std::vector<float> constant(100, 1);
  const std::vector<float> other(100, 1);
  SharedForms forms;
  const auto pack = [](std::span<const float> source) {
    return packed_once(source, {"form", {}, {}}, 10, [](float* to) { std::fill_n(to, 10, 0.0F); });
  };
  const auto has_packed = [&](std::span<const float> source) {
    const PackingShared sharing(&forms, {constant});
    const PackedFloats packed = pack(source);
    return sharing.has_packed();
  };
  PackedFloats held;
  {
    const PackingShared sharing(&forms, {constant});
    CHECK_FALSE(sharing.has_packed());
    held = pack(constant);
    CHECK(sharing.has_packed());
  }
  CHECK_FALSE(has_packed(constant));
  CHECK(has_packed(other));
}

TEST_CASE("Threads that make one form at once get the same floats") {
  constexpr std::size_t kThreads = 4;
  const std::vector<float> constant(1000, 1);
  SharedForms forms;
  std::latch all_pack(kThreads);
  std::vector<PackedFloats> made(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      const PackingShared sharing(&forms, {constant});
      made[thread] = packed_once(constant, {"form", {}, {}}, 10, [&](float* to) {
        std::fill_n(to, 10, 1.5F);
        all_pack.arrive_and_wait();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(forms.count() == 1);
  CHECK(made == std::vector<PackedFloats>(kThreads, made[0]));
}

TEST_CASE("Products of any number of rows share packed columns") {
  IR_FOR_EACH_TARGET();
  const bool transposed = GENERATE(false, true);
  const std::size_t threads = GENERATE(1, 3);
  constexpr std::size_t kColumns = 331;
  constexpr std::size_t kDepth = 450;
  const auto check = [&](const std::vector<std::size_t>& rows, std::string_view algorithm) {
    INFO(algorithm << ", transposed " << transposed << ", threads " << threads);
    SharingCheck sharing{random_values(kColumns * kDepth, 1)};
    sharing(rows.size(), 1, [&](std::size_t i) {
      GemmParams params = test::product(rows[i], kColumns, kDepth);
      params.transpose_b = transposed;
      params.max_threads = threads;
      params.accurate = algorithm == "gemm";
      const std::vector<float> a = random_values(rows[i] * kDepth, 2);
      const std::shared_ptr<const Gemm> gemm =
          create_gemm(params, sharing.constant.data(), {}, params.accurate ? "" : algorithm);
      std::vector<std::byte> scratch(gemm->scratch_bytes());
      std::vector<float> out(rows[i] * kColumns);
      gemm->run(a.data(), nullptr, nullptr, out.data(), scratch.data());
      return std::pair(gemm, out);
    });
  };
  check({5, 1, 2, 12, 13, 40, 200}, "gemm");
  check({64, 24, 33, 200}, "strassen");
}

TEST_CASE("Products of any number of columns share packed rows, matrices of a batch included") {
  constexpr std::size_t kRows = 37;
  constexpr std::size_t kDepth = 300;
  SharingCheck sharing{random_values(2 * kRows * kDepth, 1)};
  const std::vector<std::size_t> columns{5, 2, 90};
  sharing(columns.size(), 1, [&](std::size_t i) {
    GemmParams params = test::product(kRows, columns[i], kDepth);
    params.constant = GemmConstant::a;
    params.batch = {{2, kRows * kDepth, 0}};
    const std::vector<float> b = random_values(kDepth * columns[i], 2);
    const std::shared_ptr<const Gemm> gemm = create_gemm(params, sharing.constant.data(), {});
    std::vector<std::byte> scratch(gemm->scratch_bytes());
    std::vector<float> out(2 * kRows * columns[i]);
    gemm->run(nullptr, b.data(), nullptr, out.data(), scratch.data());
    return std::pair(gemm, out);
  });
}

TEST_CASE("Products that differ in more than their rows share nothing") {
  const std::vector<float> constant = random_values(120 * 120, 1);
  SharedForms forms;
  const PackingShared sharing(&forms, {constant});
  std::vector<std::unique_ptr<Gemm>> products;
  const auto add = [&](GemmParams params, std::size_t offset = 0) {
    params.accurate = true;
    products.push_back(create_gemm(params, constant.data() + offset, {}));
    CHECK(forms.count() == products.size());
  };
  GemmParams transposed = test::product(9, 60, 120);
  add(transposed);
  transposed.transpose_b = true;
  add(transposed);
  add(test::product(9, 120, 60));
  add(test::product(9, 60, 119));
  add(test::product(9, 60, 120), 1);
  GemmParams batch = test::product(9, 60, 120);
  batch.batch = {{2, 9 * 120, 60 * 120}};
  add(batch);
  batch.batch = {{2, 9 * 120, 60 * 119}};
  add(batch);
}

TEST_CASE("Convolutions share filters for images of any size") {
  IR_FOR_EACH_TARGET();
  const std::size_t groups = GENERATE(1, 2);
  // Of the tiles of a plane depends how workers share channels, in some algorithms.
  const auto params_of = [&](std::size_t height, std::size_t width) {
    ConvolutionParams params = plane(2, groups, groups * 40, groups * 51, height, width, 3, 1, 1);
    params.max_threads = 1;
    return params;
  };
  std::vector<std::string> algorithms{
      "implicit_gemm", "direct",       "direct_channels",      "tap_by_tap",
      "winograd_2x2",  "winograd_4x4", "winograd_2x2_compact", "winograd_4x4_compact",
      "winograd_4x1",  "winograd_1x4"};
  if (small_plane_algorithm() == "small_plane") algorithms.emplace_back("small_plane");
  for (const std::string& algorithm : algorithms) {
    INFO(algorithm << " in groups " << groups);
    const std::vector<ConvolutionParams> images{params_of(6, 7), params_of(5, 7), params_of(7, 5)};
    SharingCheck sharing{random_values(groups * 40 * 51 * 9, 1)};
    if (create_convolution(images[0], sharing.constant.data(), {}, {}, algorithm) == nullptr) continue;
    sharing(images.size(), 1, [&](std::size_t i) {
      const Data data(images[i]);
      const std::shared_ptr<const Convolution> convolution =
          create_convolution(images[i], sharing.constant.data(), {}, {}, algorithm);
      REQUIRE(convolution != nullptr);
      REQUIRE(convolution->algorithm() == algorithm);
      std::vector<float> out(data.out.size());
      run(*convolution, data, nullptr, out.data());
      return std::pair(convolution, out);
    });
  }
}

TEST_CASE("Filters without the taps that see nothing are shared where the same taps are left") {
  SharingCheck sharing{random_values(30 * 28 * 27, 1)};
  sharing.reads_again = true;
  sharing(3, 1, [&](std::size_t i) {
    ConvolutionParams params = volume(1, 28, 30, 1);
    params.in_dims[1] += 2 * i;
    params.out_dims[1] += i;
    const Data data(params);
    const std::shared_ptr<const Convolution> convolution =
        create_convolution(params, sharing.constant.data(), {}, {}, "implicit_gemm");
    std::vector<float> out(data.out.size());
    run(*convolution, data, nullptr, out.data());
    return std::pair(convolution, out);
  });

  const std::vector<float> weights = random_values(28 * 28 * 27, 1);
  SharedForms forms;
  const PackingShared shared(&forms, {weights});
  std::vector<std::unique_ptr<Convolution>> convolutions;
  for (const std::size_t depth : {1, 2}) {
    convolutions.push_back(
        create_convolution(volume(1, 28, 28, depth), weights.data(), {}, {}, "implicit_gemm"));
    CHECK(forms.count() == convolutions.size());
  }
}

TEST_CASE("Transposed convolutions share filters for images of any size") {
  const std::size_t stride = GENERATE(1, 2, 3);
  const std::size_t groups = GENERATE(1, 2);
  INFO("stride " << stride << ", groups " << groups);
  SharingCheck sharing{random_values(groups * 12 * 10 * 16, 1)};
  sharing.reads_again = true;
  sharing(3, 0, [&](std::size_t i) {
    ConvolutionParams params = plane(1, groups, groups * 12, groups * 10, 20 + i, 24 - i, 4);
    params.accurate =
        true;  // Winograd's algorithm is as fast on some processors, and taken for some of the sizes
    params.strides = {stride, stride, 1};
    for (const std::size_t axis : {0U, 1U}) params.out_dims[axis] = (params.in_dims[axis] - 1) * stride + 4;
    params.max_threads = 1;
    const Data data(params);
    const std::shared_ptr<const Convolution> convolution =
        create_deconvolution(params, sharing.constant.data(), {});
    std::vector<float> out(data.out.size());
    run(*convolution, data, nullptr, out.data());
    return std::pair(convolution, out);
  });
}

TEST_CASE("Recurrent cells share weights for sequences of any length") {
  IR_FOR_EACH_TARGET();
  RnnParams params;
  params.cell = RnnCell::lstm;
  params.batch = 2;
  params.input_size = 7;
  params.hidden_size = 13;
  const std::size_t rows = params.gates() * params.hidden_size;
  SharingCheck sharing{random_values(rows * (params.input_size + params.hidden_size), 1)};
  sharing(3, 2, [&](std::size_t i) {
    RnnParams sequence = params;
    sequence.steps = 3 * i + 1;
    const float* const w = sharing.constant.data();
    const std::shared_ptr<const Rnn> rnn = create_rnn(sequence, {w, w + rows * params.input_size, nullptr});
    const std::size_t states = params.batch * params.hidden_size;
    const std::vector<float> x = random_values(params.batch * sequence.steps * params.input_size, 2);
    const std::vector<float> start = random_values(states, 3);
    std::vector<float> y(states * sequence.steps);
    RnnTensors tensors;
    tensors.x = x.data();
    tensors.initial_h = start.data();
    tensors.initial_c = start.data();
    tensors.y = y.data();
    std::vector<std::byte> scratch(rnn->scratch_bytes());
    rnn->run(tensors, scratch.data());
    return std::pair(rnn, y);
  });
}

TEST_CASE("Forms of a constant that is forgotten are not those of what lies in its place") {
  std::vector<float> constant = random_values(64, 1);
  SharedForms forms;
  const PackingShared sharing(&forms, {constant});
  int packed = 0;
  const auto form_of = [&](std::span<const float> source) {
    return packed_once(source, {"copy", {}, {}}, source.size(), [&](float* to) {
      std::copy(source.begin(), source.end(), to);
      ++packed;
    });
  };
  const PackedFloats first = form_of(constant);
  const PackedFloats part = form_of(std::span<const float>(constant).first(32));
  CHECK(form_of(constant) == first);
  CHECK(packed == 2);
  forms.forget(constant);
  CHECK(forms.count() == 2);
  constant[0] = 7;
  const PackedFloats second = form_of(constant);
  CHECK(second.get()[0] == 7);
  CHECK(form_of(constant) == second);
  CHECK(form_of(std::span<const float>(constant).first(32)) != part);
  CHECK(packed == 4);
}

}  // namespace ir::kernels
