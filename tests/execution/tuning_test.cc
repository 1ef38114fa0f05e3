// Choices between algorithms that were measured, and models that follow them.
#include "ir_runtime/tuning.h"

#include <map>

#include "kernels/base/targets.h"
#include "tests/execution/sample_models.h"
#include "tests/kernels/matmul/without_matrix_tiles.h"
#include "tests/temporary_folder.h"

namespace ir::test {
namespace {

using Choices = std::map<std::string, std::string, std::less<>>;

CompileOptions options_with(std::shared_ptr<Tuning> tuning, bool tune = false, int threads = 1) {
  CompileOptions options;
  options.tuning = std::move(tuning);
  options.tune = tune;
  options.threads = threads;
  return options;
}

/// The same algorithm for all that `model` has measured.
std::shared_ptr<Tuning> all_choices(const Model& model, const std::string& algorithm, int threads = 1) {
  auto tuning = std::make_shared<Tuning>();
  (void)compile_model(model, options_with(tuning, true, threads));
  for (const auto& [key, measured] : tuning->choices()) tuning->set_choice(key, algorithm);
  return tuning;
}

/// Kernels of the convolutions, by layer.
std::map<std::string, std::string> kernels_of(const Model& model, const std::vector<Tensor>& inputs,
                                              const CompileOptions& options) {
  const CompiledModel compiled = compile_model(model, options);
  InferRequest request = compiled.create_infer_request();
  request.set_profiling(true);
  (void)infer(request, compiled, inputs);
  std::map<std::string, std::string> kernels;
  for (const StepProfile& step : request.profile()) {
    const std::string name = step.kernel.substr(0, step.kernel.find('+'));
    if (name.starts_with("convolution") || name.starts_with("separable")) kernels[step.layer] = name;
  }
  return kernels;
}

void check_close(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].shape() == b[i].shape());
    for (std::size_t j = 0; j < a[i].data<float>().size(); ++j)
      CHECK(std::abs(a[i].data<float>()[j] - b[i].data<float>()[j]) < 1e-4F);
  }
}

TEST_CASE("A tuned model gives what another one does, and keeps what it measured") {
  const Model model = small_network();
  const std::vector<Tensor> inputs{noise({1, 3, 20, 20}, 1)};
  const auto tuning = std::make_shared<Tuning>();
  const std::vector<Tensor> results = results_of(model, inputs, options_with(tuning, true));
  check_close(results, results_of(model, inputs));

  const Choices choices = tuning->choices();
  REQUIRE(choices.size() == 2);
  const std::string target = kernels::active_target();
  for (const std::string channels : {"3", "16"}) {
    CHECK(choices.contains(target + " threads=1 convolution in=1x" + channels +
                           "x20x20 out=16x20x20 kernel=3x3 strides=1x1 dilations=1x1 pads=1x1 groups=1 "
                           "weights=constant"));
  }
  CHECK(same_bits(results, results_of(model, inputs, options_with(tuning))));
  CHECK(tuning->choices() == choices);
}

TEST_CASE("Nothing is measured without being asked for") {
  const auto tuning = std::make_shared<Tuning>();
  (void)compile_model(small_network(), options_with(tuning));
  CHECK(tuning->choices().empty());
}

TEST_CASE("Choices are followed") {
  const Model model = small_network();
  const std::vector<Tensor> inputs{noise({1, 3, 20, 20}, 1)};
  for (const std::string algorithm : {"implicit_gemm", "winograd_2x2", "winograd_4x4"}) {
    const CompileOptions options = options_with(all_choices(model, algorithm));
    const auto kernels = kernels_of(model, inputs, options);
    CHECK(kernels.size() == 2);
    for (const auto& [layer, kernel] : kernels) CHECK(kernel == "convolution/" + algorithm);
    check_close(results_of(model, inputs, options), results_of(model, inputs));
  }
}

TEST_CASE("Choices that the geometry does not allow, or for other machines, are not followed") {
  const Model model = small_network();
  const std::vector<Tensor> inputs{noise({1, 3, 20, 20}, 1)};
  const auto expected = kernels_of(model, inputs, options_with(nullptr));
  for (const std::string algorithm : {"depthwise", "winograd_9x9"})
    CHECK(kernels_of(model, inputs, options_with(all_choices(model, algorithm))) == expected);

  // Unlike those of one thread.
  const auto of_two_threads = all_choices(model, "winograd_2x2", 2);
  CHECK(kernels_of(model, inputs, options_with(of_two_threads)) == expected);
  const auto other_target = std::make_shared<Tuning>();
  for (const auto& [key, algorithm] : all_choices(model, "winograd_2x2")->choices())
    other_target->set_choice("RVV" + key.substr(key.find(' ')), algorithm);
  CHECK(kernels_of(model, inputs, options_with(other_target)) == expected);
}

TEST_CASE("What is tuned again replaces choices that cannot be followed") {
  const Model model = small_network();
  const auto tuning = all_choices(model, "depthwise");
  (void)compile_model(model, options_with(tuning, true));
  for (const auto& [key, algorithm] : tuning->choices()) CHECK(algorithm != "depthwise");
}

TEST_CASE("Inputs of unknown shape are tuned when they are there") {
  const WithoutMatrixTiles without_tiles;
  const Model model = small_network(Dimension(1, 4));
  const auto tuning = std::make_shared<Tuning>();
  const CompiledModel compiled = compile_model(model, options_with(tuning, true));
  CHECK(tuning->choices().empty());
  InferRequest request = compiled.create_infer_request();
  (void)infer(request, compiled, {noise({2, 3, 20, 20}, 1)});
  CHECK(tuning->choices().size() == 2);
  (void)infer(request, compiled, {noise({3, 3, 20, 20}, 1)});
  CHECK(tuning->choices().size() == 4);
}

TEST_CASE("Chains of convolutions are tuned as one step") {
  Model model;
  Node& data = model.add_parameter(ElementType::f32, {1, 8, 24, 24}, "data");
  op::v1::GroupConvolution depthwise;
  depthwise.strides = depthwise.dilations = depthwise.pads_begin = depthwise.pads_end = {1, 1};
  Node& filtered = model.add(depthwise, {data, model.add_constant(noise({8, 1, 1, 3, 3}, 1))}, "filtered");
  op::v1::Convolution projection;
  projection.strides = projection.dilations = {1, 1};
  projection.pads_begin = projection.pads_end = {0, 0};
  model.add_result(
      model.add(projection, {filtered, model.add_constant(noise({12, 8, 1, 1}, 2))}, "projected"));
  const std::vector<Tensor> inputs{noise({1, 8, 24, 24}, 3)};
  for (const std::string algorithm : {"strips", "in_turn"}) {
    const CompileOptions options = options_with(all_choices(model, algorithm));
    CHECK(options.tuning->choices().size() == 1);
    CHECK(kernels_of(model, inputs, options).at("projected") == "separable/" + algorithm);
    check_close(results_of(model, inputs, options), results_of(model, inputs));
  }
}

TEST_CASE("What would not fit into the limits of memory is not measured") {
  const Model model = small_network();
  CompileOptions options = options_with(std::make_shared<Tuning>(), true);
  options.max_memory_bytes = 1 << 20;
  (void)compile_model(model, options);
  CHECK(options.tuning->choices().empty());
  options.max_memory_bytes = 0;
  options.max_activation_bytes = 1 << 20;
  (void)compile_model(model, options);
  CHECK(options.tuning->choices().empty());
}

TEST_CASE("Tuning that is written and read again is the same") {
  Tuning tuning;
  tuning.set_choice("AVX3 threads=2 convolution in=1x3x8x8 pads=-1x0", "winograd_2x2");
  tuning.set_choice("AVX2 threads=12 separable in=1 + in=2", "strips");
  tuning.set_choice("AVX2 threads=12 separable in=1 + in=2", "in_turn");
  const std::string text =
      "ir_runtime tuning 1\n"
      "AVX2 threads=12 separable in=1 + in=2 = in_turn\n"
      "AVX3 threads=2 convolution in=1x3x8x8 pads=-1x0 = winograd_2x2\n";
  CHECK(tuning.text() == text);
  CHECK(Tuning::parse(text, "file")->choices() == tuning.choices());
  CHECK(Tuning::parse("ir_runtime tuning 1\n", "file")->choices().empty());
  CHECK(tuning.choice("AVX2 threads=12 separable in=1 + in=2") == "in_turn");
  CHECK(tuning.choice("AVX2") == std::nullopt);
}

TEST_CASE("Malformed choices are refused with their line") {
  const auto message = [](const std::string& text) -> std::string {
    try {
      (void)Tuning::parse(text, "a.tuning");
    } catch (const Error& error) {
      return to_string(error.diagnostics().front());
    }
    return "no error";
  };
  const auto second_line = [&](const std::string& line) { return message("ir_runtime tuning 1\n" + line); };
  const std::string good = "AVX3 threads=1 convolution in=1 = full\n";
  CHECK(second_line(good) == "no error");

  CHECK(message("") == "a.tuning:1:1: error: the line is cut off: no line break ends it [IR-tuning]");
  CHECK(
      message("<net>\n") ==
      "a.tuning:1:1: error: '<net>' is not 'ir_runtime tuning 1', with which tuning files begin [IR-tuning]");
  CHECK(message("ir_runtime tuning 2\n") ==
        "a.tuning:1:1: error: the format has version '2', known is 1 [IR-tuning]");
  CHECK(second_line("AVX3 threads=1 convolution in=1 = fu") ==
        "a.tuning:2:1: error: the line is cut off: no line break ends it [IR-tuning]");
  CHECK(second_line("AVX3 threads=1 convolution in=1\n") ==
        "a.tuning:2:1: error: 'AVX3 threads=1 convolution in=1' is not of the form 'KEY = ALGORITHM' "
        "[IR-tuning]");
  CHECK(second_line(good + "\n") ==
        "a.tuning:3:1: error: '' is not of the form 'KEY = ALGORITHM' [IR-tuning]");
  CHECK(second_line(good + good) == "a.tuning:3:1: error: the choice stands in line 2, too [IR-tuning]");
  CHECK(second_line("AVX3 threads=1 convolution in=1 = Full\n") ==
        "a.tuning:2:1: error: 'Full' is no name of an algorithm [IR-tuning]");
  CHECK(second_line(std::string(2001, 'x') + "\n") ==
        "a.tuning:2:1: error: the line has more than 2000 characters [IR-tuning]");
  for (const std::string key : {"", "AVX3", "AVX3 threads=1 convolution", "avx3 threads=1 convolution in=1",
                                "AVX3 threads=0 convolution in=1", "AVX3 threads= convolution in=1",
                                "AVX3 2 convolution in=1", "AVX3 threads=1 Convolution in=1",
                                "AVX3 threads=1 convolution  in=1", "AVX3 threads=1 convolution in=\\x01"}) {
    INFO(key);
    CHECK(second_line(key + " = full\n") == "a.tuning:2:1: error: '" + key +
                                                "' is not of the form 'TARGET threads=N KIND GEOMETRY' "
                                                "[IR-tuning]");
  }
  CHECK_THROWS_WITH(Tuning().set_choice("AVX3", "full"), contains_text("IR-tuning"));
}

TEST_CASE("Tuning files are replaced whole and read with a limit") {
  const TemporaryFolder folder;
  const auto file = folder.path() / "choices";
  CHECK(error_of([&] { (void)read_tuning(file); }) == "IR-file: the tuning file does not exist");
  Tuning tuning;
  write_tuning(tuning, file);
  tuning.set_choice("AVX3 threads=1 convolution in=1", "full");
  write_tuning(tuning, file);
  CHECK(read_tuning(file)->choices() == tuning.choices());
  CHECK(error_of([&] { (void)read_tuning(folder.path()); }) ==
        "IR-file: the tuning file is a folder; it must be a regular file");
  CHECK(error_of([&] { write_tuning(tuning, folder.path() / "absent" / "choices"); }).starts_with("IR-file"));
  std::filesystem::resize_file(file, (16 << 20) + 1);
  CHECK(error_of([&] { (void)read_tuning(file); }) ==
        "IR-limit: the tuning file has 16777217 bytes; more than 16777216 are not read");
}

}  // namespace
}  // namespace ir::test
