// The C API beyond the shortest way: options, limits, tuning files, models in memory, variables.
#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir_runtime/c_api.h"
#include "ir_runtime/compiled_model.h"
#include "tests/ir_reader/support.h"
#include "tests/repository.h"

namespace ir::test {
namespace {

// Freed in the order of declaration, which is not that of use.
struct Handles {
  ir_tuning* tuning = nullptr;
  ir_model* model = nullptr;
  ir_compiled_model* compiled = nullptr;
  ir_infer_request* request = nullptr;
  ~Handles() {
    ir_tuning_free(tuning);
    ir_model_free(model);
    ir_compiled_model_free(compiled);
    ir_infer_request_free(request);
  }
};

std::string small_cnn(std::string_view extension) {
  return (repository() / "models/small_cnn/model").string() + std::string(extension);
}

ir_compile_options one_thread() {
  ir_compile_options options;
  ir_compile_options_init(&options);
  options.threads = 1;
  return options;
}

// Runs on an input of halves and gives the first output.
std::vector<float> run(Handles& handles) {
  ir_tensor tensor;
  REQUIRE(ir_create_infer_request(handles.compiled, &handles.request) == IR_STATUS_OK);
  REQUIRE(ir_input_tensor(handles.request, 0, &tensor) == IR_STATUS_OK);
  std::fill_n(static_cast<float*>(tensor.data), tensor.byte_size / sizeof(float), 0.5F);
  REQUIRE(ir_infer(handles.request) == IR_STATUS_OK);
  REQUIRE(ir_output_tensor(handles.request, 0, &tensor) == IR_STATUS_OK);
  const auto* values = static_cast<const float*>(tensor.data);
  return {values, values + tensor.byte_size / sizeof(float)};
}

std::vector<float> plain_results() {
  Handles handles;
  REQUIRE(ir_read_model(small_cnn(".xml").c_str(), nullptr, &handles.model) == IR_STATUS_OK);
  REQUIRE(ir_compile_model(handles.model, 1, &handles.compiled) == IR_STATUS_OK);
  return run(handles);
}

// x -> ReadValue; ReadValue + x -> Assign, Result.
std::string sum_model() {
  const std::string assigned = R"(<data variable_id="sum"/>)";
  return net(
      parameter("0", "2") +
          layer("1", "ReadValue", assigned + inputs(port("0", "2")) + outputs(port("1", "2")), "opset3") +
          layer("2", "Add", inputs(port("0", "2") + port("1", "2")) + outputs(port("2", "2"))) +
          layer("3", "Assign", assigned + inputs(port("0", "2")) + outputs(port("1", "2")), "opset3") +
          result("4", "2"),
      edge("0:0 1:0") + edge("1:1 2:0") + edge("0:0 2:1") + edge("2:2 3:0") + edge("2:2 4:0"));
}

}  // namespace

TEST_CASE("C: choices are measured, written, read and taken") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "choices.tuning").string();
  std::vector<float> tuned;
  {
    Handles handles;
    REQUIRE(ir_tuning_create(&handles.tuning) == IR_STATUS_OK);
    REQUIRE(ir_read_model(small_cnn(".xml").c_str(), nullptr, &handles.model) == IR_STATUS_OK);
    ir_compile_options options = one_thread();
    options.tuning = handles.tuning;
    options.tune = 1;
    REQUIRE(ir_compile_model_with(handles.model, &options, &handles.compiled) == IR_STATUS_OK);
    REQUIRE(ir_tuning_write(handles.tuning, file.c_str()) == IR_STATUS_OK);
    tuned = run(handles);
  }
  const std::string written = bytes_of(file);
  CHECK(written.find("threads=1 convolution ") != std::string::npos);

  Handles handles;
  REQUIRE(ir_tuning_read(file.c_str(), &handles.tuning) == IR_STATUS_OK);
  REQUIRE(ir_read_model(small_cnn(".xml").c_str(), nullptr, &handles.model) == IR_STATUS_OK);
  ir_compile_options options = one_thread();
  options.tuning = handles.tuning;
  REQUIRE(ir_compile_model_with(handles.model, &options, &handles.compiled) == IR_STATUS_OK);
  // The compiled model keeps the choices.
  ir_tuning_free(std::exchange(handles.tuning, nullptr));
  CHECK(run(handles) == tuned);
}

TEST_CASE("C: tuning files that are wrong or missing") {
  const TemporaryFolder folder;
  Handles handles;
  CHECK(ir_tuning_read((folder.path() / "none").c_str(), &handles.tuning) == IR_STATUS_FILE);
  CHECK(handles.tuning == nullptr);
  const auto file = folder.write("bad.tuning", "ir_runtime tuning 1\nnonsense\n");
  CHECK(ir_tuning_read(file.c_str(), &handles.tuning) == IR_STATUS_FILE);
  CHECK(std::string(ir_last_error_code()) == "IR-tuning");
  CHECK(std::string(ir_last_error()).find("bad.tuning:2:1: error: ") != std::string::npos);
  REQUIRE(ir_tuning_create(&handles.tuning) == IR_STATUS_OK);
  CHECK(ir_tuning_write(handles.tuning, (folder.path() / "none" / "a").c_str()) == IR_STATUS_FILE);
  CHECK(ir_tuning_write(nullptr, "a") == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_tuning_create(nullptr) == IR_STATUS_INVALID_ARGUMENT);
  Handles unread;
  CHECK(ir_tuning_read(nullptr, &unread.tuning) == IR_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("C: options of compilation count") {
  Handles handles;
  REQUIRE(ir_read_model(small_cnn(".xml").c_str(), nullptr, &handles.model) == IR_STATUS_OK);
  ir_compile_options options = one_thread();
  options.optimize = 0;
  options.share_memory = 0;
  options.use_callers_arena = 1;
  CHECK(options.extra_weights == ir::CompileOptions().extra_weights);
  options.extra_weights = -1;
  CHECK(options.execution_mode == IR_EXECUTION_MODE_PERFORMANCE);
  options.execution_mode = IR_EXECUTION_MODE_ACCURACY;
  CHECK(options.dynamic_quantization_group_size == 0);
  options.dynamic_quantization_group_size = 128;
  REQUIRE(ir_compile_model_with(handles.model, &options, &handles.compiled) == IR_STATUS_OK);
  CHECK(run(handles).size() == plain_results().size());

  ir_compiled_model* refused = handles.compiled;
  options = one_thread();
  options.max_activation_bytes = 64;
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_LIMIT);
  CHECK(refused == nullptr);
  CHECK(std::string(ir_last_error()).find("max_activation_bytes") != std::string::npos);
  options = one_thread();
  options.max_memory_bytes = 64;
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_LIMIT);
  options = one_thread();
  options.threads = -1;
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "-1 threads");
  options = one_thread();
  options.execution_mode = 2;
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "execution_mode is 2");
  options = one_thread();
  options.dynamic_quantization_group_size = -1;
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "dynamic_quantization_group_size is -1");
  for (const auto& [name, limit] :
       {std::pair("max_activation_bytes", &ir_compile_options::max_activation_bytes),
        std::pair("max_memory_bytes", &ir_compile_options::max_memory_bytes),
        std::pair("max_folded_bytes", &ir_compile_options::max_folded_bytes),
        std::pair("max_loop_iterations", &ir_compile_options::max_loop_iterations)}) {
    options = one_thread();
    options.*limit = -1;
    CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
    CHECK(std::string(ir_last_error()) == std::string(name) + " is -1");
  }
  options = one_thread();
  options.extra_weights = std::numeric_limits<double>::quiet_NaN();
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "extra_weights is no number");
  options = one_thread();
  options.tune = 1;
  CHECK(ir_compile_model_with(handles.model, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) ==
        "tune is set, and tuning is null: there is no place for what is measured");
}

TEST_CASE("C: options of reading count") {
  const ModelFiles files(net(parameter("0", "4") +
                                 layer("1", "ReLU", inputs(port("0", "4")) + outputs(port("1", "5"))) +
                                 result("2", "5"),
                             edge("0:0 1:0") + edge("1:1 2:0")));
  Handles handles;
  ir_read_options options;
  ir_read_options_init(&options);
  CHECK(ir_read_model_with(files.xml().c_str(), nullptr, &options, &handles.model) ==
        IR_STATUS_INVALID_MODEL);
  CHECK(std::string(ir_last_error_code()) == "IR-shape-mismatch");
  options.shape_check = IR_SHAPE_CHECK_WARN;
  options.map_weights = 0;
  REQUIRE(ir_read_model_with(files.xml().c_str(), nullptr, &options, &handles.model) == IR_STATUS_OK);
  ir_model* refused = nullptr;
  options.max_layers = 2;
  CHECK(ir_read_model_with(files.xml().c_str(), nullptr, &options, &refused) == IR_STATUS_LIMIT);
  CHECK(std::string(ir_last_error()).find("max_layers") != std::string::npos);
  ir_read_options_init(&options);
  options.shape_check = 3;
  CHECK(ir_read_model_with(files.xml().c_str(), nullptr, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "shape_check is 3");
  ir_read_options_init(&options);
  options.max_copied_bytes = -2;
  CHECK(ir_read_model_with(files.xml().c_str(), nullptr, &options, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "max_copied_bytes is -2");
}

TEST_CASE("C: a model can be read without its weights, which may be missing or not yet fetched") {
  const TemporaryFolder folder;
  const auto xml = folder.path() / "model.xml";
  std::filesystem::copy_file(small_cnn(".xml"), xml);
  Handles handles;
  ir_read_options options;
  ir_read_options_init(&options);
  CHECK(options.without_weights == 0);
  CHECK(ir_read_model_with(xml.c_str(), nullptr, &options, &handles.model) == IR_STATUS_FILE);
  CHECK(std::string(ir_last_error_code()) == "IR-weights-missing");
  (void)folder.write("model.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  CHECK(ir_read_model_with(xml.c_str(), nullptr, &options, &handles.model) == IR_STATUS_FILE);
  CHECK(std::string(ir_last_error_code()) == "IR-lfs-pointer");
  options.without_weights = 1;
  CHECK(ir_read_model_with(xml.c_str(), nullptr, &options, &handles.model) == IR_STATUS_OK);
}

TEST_CASE("C: options that are null are the defaults") {
  Handles handles;
  REQUIRE(ir_read_model_with(small_cnn(".xml").c_str(), nullptr, nullptr, &handles.model) == IR_STATUS_OK);
  REQUIRE(ir_compile_model_with(handles.model, nullptr, &handles.compiled) == IR_STATUS_OK);
  CHECK(run(handles) == plain_results());
}

TEST_CASE("C: a call that fails leaves no handle, whatever was wrong") {
  int somewhere = 0;
  const auto left = [&]<class Handle>(Handle*, const auto& call) {
    auto* handle = reinterpret_cast<Handle*>(&somewhere);
    CHECK(call(&handle) == IR_STATUS_INVALID_ARGUMENT);
    return handle;
  };
  ir_model* const model = nullptr;
  CHECK(left(model, [](ir_model** made) { return ir_read_model(nullptr, nullptr, made); }) == nullptr);
  CHECK(left(model, [](ir_model** made) {
          return ir_read_model_from_memory(nullptr, 0, nullptr, 0, nullptr, made);
        }) == nullptr);
  ir_compiled_model* const compiled = nullptr;
  CHECK(left(compiled, [](ir_compiled_model** made) { return ir_compile_model(nullptr, 1, made); }) ==
        nullptr);
  CHECK(left(compiled, [](ir_compiled_model** made) {
          return ir_compile_model_with(nullptr, nullptr, made);
        }) == nullptr);
  ir_infer_request* const request = nullptr;
  CHECK(left(request, [](ir_infer_request** made) { return ir_create_infer_request(nullptr, made); }) ==
        nullptr);
  ir_tuning* const tuning = nullptr;
  CHECK(left(tuning, [](ir_tuning** made) { return ir_tuning_read(nullptr, made); }) == nullptr);
  CHECK(ir_read_model("x", nullptr, nullptr) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_create_infer_request(nullptr, nullptr) == IR_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("C: a model in memory gives what its files give") {
  const std::string xml = bytes_of(small_cnn(".xml"));
  // Memory that begins anywhere.
  const std::string weights = "?" + bytes_of(small_cnn(".bin"));
  Handles handles;
  REQUIRE(ir_read_model_from_memory(xml.data(), xml.size(), weights.data() + 1, weights.size() - 1, nullptr,
                                    &handles.model) == IR_STATUS_OK);
  REQUIRE(ir_compile_model(handles.model, 1, &handles.compiled) == IR_STATUS_OK);
  CHECK(run(handles) == plain_results());
  ir_model* refused = nullptr;
  CHECK(ir_read_model_from_memory(xml.data(), xml.size(), nullptr, 0, nullptr, &refused) == IR_STATUS_FILE);
  CHECK(ir_read_model_from_memory(xml.data(), xml.size(), weights.data(), 16, nullptr, &refused) ==
        IR_STATUS_INVALID_MODEL);
  CHECK(std::string(ir_last_error_code()) == "IR-const-range");
  CHECK(ir_read_model_from_memory(nullptr, 0, nullptr, 0, nullptr, &refused) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_read_model_from_memory("", 0, nullptr, 0, nullptr, &refused) == IR_STATUS_INVALID_MODEL);
}

TEST_CASE("C: variables are asked for, given and reset") {
  const std::string xml = sum_model();
  Handles handles;
  REQUIRE(ir_read_model_from_memory(xml.data(), xml.size(), nullptr, 0, nullptr, &handles.model) ==
          IR_STATUS_OK);
  REQUIRE(ir_compile_model(handles.model, 1, &handles.compiled) == IR_STATUS_OK);
  REQUIRE(ir_create_infer_request(handles.compiled, &handles.request) == IR_STATUS_OK);
  REQUIRE(ir_variable_count(handles.request) == 1);
  ir_port port;
  REQUIRE(ir_variable_port(handles.request, 0, &port) == IR_STATUS_OK);
  CHECK(std::string(port.name) == "sum");
  CHECK(port.dims[0] == 2);

  std::vector<float> values{1, 2};
  ir_tensor tensor{};
  tensor.element_type = "f32";
  tensor.rank = 1;
  tensor.dims[0] = 2;
  tensor.data = values.data();
  tensor.byte_size = 8;
  REQUIRE(ir_set_input(handles.request, 0, &tensor) == IR_STATUS_OK);
  std::vector<float> state{10, 20};
  tensor.data = state.data();
  REQUIRE(ir_set_variable(handles.request, 0, &tensor) == IR_STATUS_OK);
  state = {0, 0};
  REQUIRE(ir_infer(handles.request) == IR_STATUS_OK);
  ir_tensor value;
  REQUIRE(ir_get_variable(handles.request, 0, &value) == IR_STATUS_OK);
  const std::vector<float> expected{11, 22};
  REQUIRE(value.byte_size == 8);
  CHECK(std::ranges::equal(expected, std::span(static_cast<const float*>(value.data), 2)));
  CHECK(ir_reset_state(handles.request) == IR_STATUS_OK);

  tensor.rank = 0;
  tensor.byte_size = 4;
  CHECK(ir_set_variable(handles.request, 0, &tensor) == IR_STATUS_INVALID_MODEL);
  CHECK(std::string(ir_last_error_code()) == "IR-variable-shape");
  CHECK(ir_get_variable(handles.request, 1, &value) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "variable 1 is asked for, there are 1");
  CHECK(ir_variable_count(nullptr) == 0);
}

TEST_CASE("a model in memory: places in findings, and weights that somebody owns") {
  const std::string xml = bytes_of(small_cnn(".xml"));
  auto weights = std::make_shared<std::string>(bytes_of(small_cnn(".bin")));
  const std::weak_ptr<std::string> watched = weights;
  std::shared_ptr<Model> model =
      read_model({.xml = xml, .weights = std::as_bytes(std::span(*weights)), .owner = weights});
  weights.reset();
  CHECK_FALSE(watched.expired());
  model.reset();
  CHECK(watched.expired());

  const ReadResult result = read_and_check({.xml = "<net>\n<x", .name = "text"});
  CHECK(result.model == nullptr);
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(to_string(result.diagnostics.front()).starts_with("text:2:"));
  ReadOptions options;
  options.limits.max_xml_bytes = 3;
  REQUIRE_THROWS_AS(read_model({.xml = "<net/>"}, options), Error);
}

}  // namespace ir::test
