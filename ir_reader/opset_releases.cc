#include "ir_reader/opset_releases.h"

#include <array>

namespace ir::reader {
namespace {

// As the documentation's list of available opsets has it; by opset, from 1 on. opset17, which is in
// development, is not on it: 2026.2 is the first release that has some of its operations.
constexpr std::array<std::string_view, 17> kReleases{
    "2020.1", "2020.2", "2020.4", "2021.1", "2021.2", "2021.3", "2021.4", "2022.1", "2022.2",
    "2022.3", "2023.0", "2023.1", "2023.2", "2024.0", "2024.5", "2026.0", "2026.2"};

constexpr std::array<std::string_view, 1> kFalse{"false"};
constexpr std::array<std::string_view, 1> kTrue{"true"};
constexpr std::array<std::string_view, 1> kNone{"none"};
constexpr std::array<std::string_view, 1> kErf{"ERF"};
constexpr std::array<std::string_view, 1> kI64{"i64"};
constexpr std::array<std::string_view, 1> kAsymmetric{"asymmetric"};
constexpr std::array<std::string_view, 1> kIgnoreNegative{"ignore_negative"};
constexpr std::array<std::string_view, 2> kRoundings{"floor", "ceil"};
constexpr std::array<std::string_view, 2> kBroadcasts{"numpy", "explicit"};
constexpr std::array<std::string_view, 1> kZero{"0"};
constexpr std::array<std::string_view, 4> kOnes{"", "1", "1, 1", "1, 1, 1"};

// Classes whose versions differ in one attribute only.
constexpr std::array kDowngrades{
    OpsetDowngrade{"AvgPool", 14, 1, "rounding_type", kRoundings},
    OpsetDowngrade{"AvgPool", 16, 14, "dilations", kOnes},
    OpsetDowngrade{"Broadcast", 3, 1, "mode", kBroadcasts},
    OpsetDowngrade{"Gather", 7, 1, "batch_dims", kZero},
    OpsetDowngrade{"Gelu", 7, 2, "approximation_mode", kErf},
    OpsetDowngrade{"MaxPool", 14, 8, "rounding_type", kRoundings},
    OpsetDowngrade{"OneHot", 16, 1, "negative_indices_mode", kIgnoreNegative},
    OpsetDowngrade{"PriorBox", 8, 1, "min_max_aspect_ratios_order", kTrue},
    OpsetDowngrade{"ROIAlign", 9, 3, "aligned_mode", kAsymmetric},
    OpsetDowngrade{"ScatterElementsUpdate", 12, 3, "reduction", kNone},
    OpsetDowngrade{"ScatterNDUpdate", 15, 4, "reduction", kNone},
    OpsetDowngrade{"ShapeOf", 3, 1, "output_type", kI64},
    OpsetDowngrade{"Squeeze", 15, 1, "allow_axis_skip", kFalse},
    OpsetDowngrade{"TopK", 11, 3, "stable", kFalse},
};

}  // namespace

std::string_view release_of_opset(int opset) {
  return opset >= 1 && opset <= static_cast<int>(kReleases.size())
             ? kReleases[static_cast<std::size_t>(opset - 1)]
             : std::string_view();
}

std::string_view last_release_of_ir(int ir_version) {
  // One reader served versions 2 to 7; packages came without it from 2021.1 on, and the sources from 2024.0.
  return ir_version >= 2 && ir_version <= 7 ? "2020.4" : std::string_view();
}

std::span<const OpsetDowngrade> opset_downgrades() { return kDowngrades; }

}  // namespace ir::reader
