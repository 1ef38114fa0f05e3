#include "samples/run_ir/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "samples/run_ir/json.h"
#include "samples/run_ir/quantile.h"

namespace run_ir {
namespace {

struct Total {
  std::string name;
  std::size_t steps = 0;
  double milliseconds = 0;
  double flops = 0;
  double bytes = 0;
  /// Of the first step.
  std::size_t place = 0;
  /// By kernel and algorithm.
  std::vector<Total> parts;

  void add(const ir::StepProfile& step, std::size_t number) {
    if (steps++ == 0) place = number;
    milliseconds += step.milliseconds;
    flops += step.flops;
    bytes += step.bytes;
  }
};

std::string without_fused(const std::string& kernel) {
  const KernelName name = split_kernel_name(kernel);
  return name.algorithm.empty() ? name.kernel : name.kernel + "/" + name.algorithm;
}

// As they are listed where there are no steps; else all, slowest first.
std::vector<Total> totals_of(const std::vector<ir::StepProfile>& steps, const ProfileView& view) {
  std::map<std::string, Total> types;
  std::map<std::pair<std::string, std::string>, Total> kernels;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    types[steps[i].type].add(steps[i], i);
    kernels[{steps[i].type, without_fused(steps[i].kernel)}].add(steps[i], i);
  }
  for (auto& [key, total] : kernels) {
    total.name = key.second;
    types[key.first].parts.push_back(std::move(total));
  }
  std::vector<Total> totals;
  const auto comes_first = [&](const Total& a, const Total& b) {
    return view.by_op && !view.slowest_first ? a.place < b.place : a.milliseconds > b.milliseconds;
  };
  for (auto& [type, total] : types) {
    total.name = type;
    std::ranges::stable_sort(total.parts, comes_first);
    totals.push_back(std::move(total));
  }
  std::ranges::stable_sort(totals, comes_first);
  if (view.by_op && view.top > 0 && view.top < totals.size()) totals.resize(view.top);
  return totals;
}

double sum_of_times(const std::vector<ir::StepProfile>& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const ir::StepProfile& step) { return sum + step.milliseconds; });
}

// 10^9 of something per second; 0 when there is nothing to divide.
double billions_per_second(double amount, double milliseconds) {
  return milliseconds > 0 ? amount / milliseconds / 1e6 : 0;
}

double share_of(double milliseconds, double all) { return all > 0 ? milliseconds / all : 0; }

std::string rate(double amount, double milliseconds) {
  return amount > 0 ? fmt::format("{:.1f}", billions_per_second(amount, milliseconds)) : "-";
}

std::string shapes_of(const ir::StepProfile& step) {
  std::string text;
  for (const ir::PartialShape& shape : step.outputs) text += (text.empty() ? "" : " ") + ir::to_string(shape);
  return text;
}

std::vector<std::size_t> order_of(const std::vector<ir::StepProfile>& steps, const ProfileView& view) {
  std::vector<std::size_t> order(steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (view.slowest_first) {
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return steps[i].milliseconds; });
  }
  if (view.top > 0 && view.top < order.size()) order.resize(view.top);
  return order;
}

// Cells of a table, whose first columns hold numbers: they end at the same place, the others start at it.
class Table {
 public:
  explicit Table(std::size_t numbers) : numbers_(numbers) {}

  void add(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }

  [[nodiscard]] std::string text() const {
    std::string text;
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        text += i == 0 ? "" : "  ";
        if (i < numbers_) {
          fmt::format_to(std::back_inserter(text), "{:>{}}", row[i], widths_[i]);
        } else if (i + 1 < row.size()) {
          fmt::format_to(std::back_inserter(text), "{:<{}}", row[i], widths_[i]);
        } else {
          text += row[i];
        }
      }
      text += '\n';
    }
    return text;
  }

 private:
  std::size_t numbers_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

std::string step_table(const ProfileReport& report, const ProfileView& view, double all) {
  constexpr std::size_t kNumbers = 6;
  Table table(kNumbers);
  table.add({"step", "ms", "share", "GFLOP/s", "GB/s", "threads", "SIMD", "kernel", "algorithm", "type",
             "output", "name"});
  for (const std::size_t i : order_of(report.steps, view)) {
    const ir::StepProfile& step = report.steps[i];
    const KernelName name = split_kernel_name(step.kernel);
    table.add({fmt::format("{}", i), fmt::format("{:.4f}", step.milliseconds),
               fmt::format("{:.1f}%", 100 * share_of(step.milliseconds, all)),
               rate(step.flops, step.milliseconds), rate(step.bytes, step.milliseconds),
               fmt::format("{}", step.threads), step.simd_target.empty() ? "-" : step.simd_target,
               name.kernel + (name.algorithm.empty() ? name.fused : ""),
               name.algorithm.empty() ? "-" : name.algorithm + name.fused, step.type, shapes_of(step),
               step.layer});
  }
  return table.text();
}

std::string total_table(const std::vector<Total>& totals, double all) {
  constexpr std::size_t kNumbers = 5;
  Table table(kNumbers);
  table.add({"steps", "ms", "share", "GFLOP/s", "GB/s", "type", "kernel"});
  const auto add = [&](const Total& total, std::string_view type, std::string_view kernel) {
    table.add({fmt::format("{}", total.steps), fmt::format("{:.4f}", total.milliseconds),
               fmt::format("{:.1f}%", 100 * share_of(total.milliseconds, all)),
               rate(total.flops, total.milliseconds), rate(total.bytes, total.milliseconds),
               std::string(type), std::string(kernel)});
  };
  for (const Total& total : totals) {
    const bool single = total.parts.size() == 1;
    add(total, total.name, single ? total.parts[0].name : "all");
    for (const Total& part : total.parts) {
      if (!single) add(part, "", part.name);
    }
  }
  return table.text();
}

Json json_of(const Total& total, double all) {
  Json json{{"name", total.name},
            {"steps", total.steps},
            {"ms", total.milliseconds},
            {"share", share_of(total.milliseconds, all)},
            {"gflops", billions_per_second(total.flops, total.milliseconds)},
            {"gbytes_per_s", billions_per_second(total.bytes, total.milliseconds)}};
  if (total.parts.empty()) return json;
  json["kernels"] = Json::array();
  for (const Total& part : total.parts) json["kernels"].push_back(json_of(part, all));
  return json;
}

Json json_of(const ir::StepProfile& step, std::size_t index, double all) {
  const KernelName name = split_kernel_name(step.kernel);
  return {{"step", index},
          {"name", step.layer},
          {"type", step.type},
          {"output", shapes_of(step)},
          {"kernel", name.kernel},
          {"algorithm", name.algorithm},
          {"fused", name.fused},
          {"simd", step.simd_target},
          {"threads", step.threads},
          {"ms", step.milliseconds},
          {"share", share_of(step.milliseconds, all)},
          {"flops", step.flops},
          {"bytes", step.bytes},
          {"gflops", billions_per_second(step.flops, step.milliseconds)},
          {"gbytes_per_s", billions_per_second(step.bytes, step.milliseconds)}};
}

}  // namespace

void StepTimes::add(const std::vector<ir::StepProfile>& run) {
  times_.resize(run.size());
  for (std::size_t i = 0; i < run.size(); ++i) times_[i].push_back(run[i].milliseconds);
  last_ = run;
}

std::vector<ir::StepProfile> StepTimes::at(double fraction) const {
  std::vector<ir::StepProfile> steps = last_;
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].milliseconds = quantile(times_[i], fraction);
  return steps;
}

KernelName split_kernel_name(const std::string& name) {
  const std::size_t tail = std::min(name.find_first_of("(+"), name.size());
  const std::size_t slash = std::min(name.find('/'), tail);
  KernelName split;
  split.kernel = name.substr(0, slash);
  if (slash < tail) split.algorithm = name.substr(slash + 1, tail - slash - 1);
  split.fused = name.substr(tail);
  return split;
}

std::string profile_text(const ProfileReport& report, const ProfileView& view) {
  const double all = sum_of_times(report.steps);
  std::string text = fmt::format("{}: {} steps take {:.3f} ms of {:.3f} ms, {} of {} runs on {} threads\n",
                                 report.model, report.steps.size(), all, report.inference_ms,
                                 report.fastest ? "fastest" : "medians", report.runs, report.threads);
  if (!view.by_op) text += step_table(report, view, all) + "\n";
  return text + total_table(totals_of(report.steps, view), all);
}

std::string profile_json(const ProfileReport& report, const ProfileView& view) {
  const double all = sum_of_times(report.steps);
  Json json{{"model", report.model},
            {"threads", report.threads},
            {"runs", report.runs},
            {"statistic", report.fastest ? "fastest" : "median"},
            {"inference_ms", report.inference_ms},
            {"steps_ms", all}};
  if (!view.by_op) {
    json["steps"] = Json::array();
    for (const std::size_t i : order_of(report.steps, view))
      json["steps"].push_back(json_of(report.steps[i], i, all));
  }
  json["types"] = Json::array();
  for (const Total& total : totals_of(report.steps, view)) json["types"].push_back(json_of(total, all));
  return text_of(json);
}

}  // namespace run_ir
