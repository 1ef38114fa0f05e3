#include "kernels/detection/region_yolo.h"

#include <cmath>

#include "kernels/threads/parallel.h"
#include "tests/catch.h"
#include "tests/kernels/support.h"

namespace ir::kernels {
namespace {

using test::GuardedBuffer;

template <class T>
std::vector<double> twin(const RegionYoloParams& params, const T* in) {
  std::vector<double> out;
  const std::size_t size = params.coords + 1 + params.classes;
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (std::size_t image = 0; image < params.images; ++image) {
    for (std::size_t channel = 0; channel < params.out_channels; ++channel) {
      for (std::size_t cell = 0; cell < params.cells; ++cell) {
        const auto at = [&](std::size_t c) {
          return static_cast<double>(in[(image * params.in_channels + c) * params.cells + cell]);
        };
        const std::size_t region = channel / size;
        const std::size_t entry = channel % size;
        double value = at(channel);
        if (region >= params.regions) {
        } else if (entry < 2 || entry == params.coords || (entry > params.coords && !params.softmax)) {
          value = sigmoid(value);
        } else if (entry > params.coords) {
          double sum = 0;
          for (std::size_t i = params.coords + 1; i < size; ++i) sum += std::exp(at(region * size + i));
          value = std::exp(value) / sum;
        }
        out.push_back(value);
      }
    }
  }
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("region_yolo agrees with its twin", "", float, double) {
  IR_FOR_EACH_TARGET();
  for (const std::size_t cells : {1, 7, 169}) {
    for (const std::size_t classes : {0, 1, 20}) {
      for (const bool softmax : {false, true}) {
        RegionYoloParams params;
        params.images = 2;
        params.cells = cells;
        params.regions = 3;
        params.coords = classes == 1 ? 2 : 4;
        params.classes = classes;
        params.softmax = softmax;
        const std::size_t needed = 3 * (params.coords + 1 + classes);
        params.in_channels = needed + 2;
        params.out_channels = softmax ? needed + 2 : needed;
        GuardedBuffer<TestType> in(2 * params.in_channels * cells, 1);
        test::fill_random(in, -6, 6, static_cast<std::uint32_t>(cells + classes));
        GuardedBuffer<TestType> out(2 * params.out_channels * cells, 1);
        ThreadPool(1).run([&] { region_yolo(params, in.data(), out.data()); });
        REQUIRE(out.guards_intact());
        const std::vector<double> expected = twin(params, in.data());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          INFO("element " << i);
          REQUIRE(test::close(out[i], expected[i], 2e-6, 0));
        }
        std::vector<TestType> again(out.size());
        ThreadPool(2).run([&] { region_yolo(params, in.data(), again.data()); });
        REQUIRE(std::equal(again.begin(), again.end(), out.begin()));
      }
    }
  }
}

}  // namespace ir::kernels
