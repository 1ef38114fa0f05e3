#include "ir_runtime/c_api.h"

#include <algorithm>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"
#include "tests/repository.h"
#include "tests/temporary_folder.h"

namespace {

constexpr const char* kAddOne = R"(<net name="add_one" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></output></layer>
<layer id="1" name="y" type="Parameter" version="opset1"><data shape="1,3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
<layer id="2" name="sum" type="Add" version="opset1"><data auto_broadcast="numpy"/>
<input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port>
<port id="1" precision="FP32"><dim>1</dim><dim>3</dim></port></input>
<output><port id="2" precision="FP32" names="total"><dim>-1</dim><dim>3</dim></port></output></layer>
<layer id="3" name="out" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>-1</dim><dim>3</dim></port></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>)";

/// Frees in the right order at the end.
struct Handles {
  ir_model* model = nullptr;
  ir_compiled_model* compiled = nullptr;
  ir_infer_request* request = nullptr;
  ~Handles() {
    ir_infer_request_free(request);
    ir_compiled_model_free(compiled);
    ir_model_free(model);
  }
};

ir_tensor tensor_of(std::vector<float>& values, std::vector<std::int64_t> dims) {
  ir_tensor tensor{};
  tensor.element_type = "f32";
  tensor.rank = static_cast<std::int32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  tensor.data = values.data();
  tensor.byte_size = values.size() * sizeof(float);
  return tensor;
}

/// What ir_last_error gives when a thread has ended, as in handlers of atexit: of the call before that, and
/// of one that fails then.
struct LateErrors {
  std::string before;
  std::string after;
  std::string code_after;
};

/// Destroyed after what the library keeps of a thread when it is made first.
struct AskingAtTheEnd {
  LateErrors* heard = nullptr;
  std::string file;

  AskingAtTheEnd() = default;
  AskingAtTheEnd(const AskingAtTheEnd&) = delete;
  AskingAtTheEnd& operator=(const AskingAtTheEnd&) = delete;
  AskingAtTheEnd(AskingAtTheEnd&&) = delete;
  AskingAtTheEnd& operator=(AskingAtTheEnd&&) = delete;
  ~AskingAtTheEnd() {
    if (heard == nullptr) return;
    heard->before = ir_last_error();
    ir_model* model = nullptr;
    (void)ir_read_model(file.c_str(), nullptr, &model);
    heard->after = ir_last_error();
    heard->code_after = ir_last_error_code();
  }
};

/// Also gives what was heard in time.
LateErrors fail_and_ask_late(const std::string& file, std::string& in_time) {
  LateErrors heard;
  std::thread([&] {
    thread_local AskingAtTheEnd asking;
    asking.heard = &heard;
    asking.file = file;
    ir_model* model = nullptr;
    (void)ir_read_model(file.c_str(), nullptr, &model);
    in_time = ir_last_error();
  }).join();
  return heard;
}

void open(const ir::test::TemporaryFolder& folder, Handles& handles) {
  const std::string path = folder.write("model.xml", kAddOne).string();
  REQUIRE(ir_read_model(path.c_str(), nullptr, &handles.model) == IR_STATUS_OK);
  REQUIRE(ir_compile_model(handles.model, 1, &handles.compiled) == IR_STATUS_OK);
  REQUIRE(ir_create_infer_request(handles.compiled, &handles.request) == IR_STATUS_OK);
}

}  // namespace

TEST_CASE("C: a model is read, described and run") {
  const ir::test::TemporaryFolder folder;
  Handles handles;
  open(folder, handles);
  CHECK(ir_input_count(handles.compiled) == 2);
  CHECK(ir_output_count(handles.compiled) == 1);
  ir_port port;
  REQUIRE(ir_input_port(handles.compiled, 0, &port) == IR_STATUS_OK);
  CHECK(std::string(port.name) == "x");
  CHECK(std::string(port.element_type) == "f32");
  CHECK(port.rank == 2);
  CHECK(port.dims[0] == -1);
  CHECK(port.dims[1] == 3);
  std::size_t index = 7;
  REQUIRE(ir_find_output(handles.compiled, "total", &index) == IR_STATUS_OK);
  CHECK(index == 0);

  std::vector<float> x{1, 2, 3, 4, 5, 6};
  std::vector<float> y{10, 20, 30};
  ir_tensor tensor = tensor_of(x, {2, 3});
  REQUIRE(ir_set_input(handles.request, 0, &tensor) == IR_STATUS_OK);
  tensor = tensor_of(y, {1, 3});
  REQUIRE(ir_set_input(handles.request, 1, &tensor) == IR_STATUS_OK);
  REQUIRE(ir_infer(handles.request) == IR_STATUS_OK);
  REQUIRE(ir_output_tensor(handles.request, 0, &tensor) == IR_STATUS_OK);
  CHECK(tensor.rank == 2);
  CHECK(tensor.dims[0] == 2);
  REQUIRE(tensor.byte_size == 24);
  const std::vector<float> expected{11, 22, 33, 14, 25, 36};
  CHECK(std::ranges::equal(expected, std::span(static_cast<const float*>(tensor.data), 6)));

  y = {1, 1, 1};
  REQUIRE(ir_start_async(handles.request) == IR_STATUS_OK);
  std::int32_t done = 0;
  while (done == 0) REQUIRE(ir_wait_for(handles.request, 1, &done) == IR_STATUS_OK);
  REQUIRE(ir_wait(handles.request) == IR_STATUS_OK);
  REQUIRE(ir_output_tensor(handles.request, 0, &tensor) == IR_STATUS_OK);
  const std::vector<float> later{2, 3, 4, 5, 6, 7};
  CHECK(std::ranges::equal(later, std::span(static_cast<const float*>(tensor.data), 6)));
}

TEST_CASE("C: a request that was started says when it is done what went wrong") {
  const ir::test::TemporaryFolder folder;
  Handles handles;
  open(folder, handles);
  REQUIRE(ir_start_async(handles.request) == IR_STATUS_OK);
  CHECK(ir_wait(handles.request) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error_code()) == "IR-input-missing");
  CHECK(ir_wait(handles.request) == IR_STATUS_OK);
  std::int32_t done = 0;
  CHECK(ir_wait_for(handles.request, 0, &done) == IR_STATUS_OK);
  CHECK(done == 1);
  CHECK(ir_start_async(nullptr) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_wait(nullptr) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_wait_for(handles.request, 0, nullptr) == IR_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("C: inputs and outputs of a model are described before it is compiled, and after a reshape") {
  const ir::test::TemporaryFolder folder;
  Handles handles;
  const std::string path = folder.write("model.xml", kAddOne).string();
  ir_read_options options;
  ir_read_options_init(&options);
  options.without_weights = 1;
  REQUIRE(ir_read_model_with(path.c_str(), nullptr, &options, &handles.model) == IR_STATUS_OK);
  CHECK(ir_model_input_count(handles.model) == 2);
  CHECK(ir_model_output_count(handles.model) == 1);
  ir_port input;
  ir_port output;
  REQUIRE(ir_model_input_port(handles.model, 0, &input) == IR_STATUS_OK);
  REQUIRE(ir_model_output_port(handles.model, 0, &output) == IR_STATUS_OK);
  CHECK(std::string(input.name) == "x");
  CHECK(std::string(output.name) == "total");
  CHECK(std::string(output.element_type) == "f32");
  CHECK(output.rank == 2);
  CHECK(output.dims[0] == -1);

  const std::int64_t dims[] = {5, 3};
  REQUIRE(ir_model_reshape(handles.model, 0, dims, 2) == IR_STATUS_OK);
  const char* const name = output.name;
  REQUIRE(ir_model_output_port(handles.model, 0, &output) == IR_STATUS_OK);
  CHECK(output.dims[0] == 5);
  CHECK(output.name == name);
  REQUIRE(ir_model_input_port(handles.model, 0, &input) == IR_STATUS_OK);
  CHECK(input.dims[0] == 5);

  CHECK(ir_model_input_port(handles.model, 2, &input) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "input 2 is asked for, there are 2");
  CHECK(ir_model_output_port(handles.model, 1, &output) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_model_input_port(nullptr, 0, &input) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "ir_model_input_port: a pointer is null");
  CHECK(ir_model_output_port(handles.model, 0, nullptr) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_model_input_count(nullptr) + ir_model_output_count(nullptr) == 0);
}

TEST_CASE("C: a model takes another shape, and keeps its own when the new one does not fit") {
  const ir::test::TemporaryFolder folder;
  Handles handles;
  const std::string path = folder.write("model.xml", kAddOne).string();
  REQUIRE(ir_read_model(path.c_str(), nullptr, &handles.model) == IR_STATUS_OK);
  const std::int64_t wrong[] = {5, 4};
  CHECK(ir_model_reshape(handles.model, 0, wrong, 2) == IR_STATUS_INVALID_MODEL);
  CHECK(std::string(ir_last_error_code()) == "IR-broadcast");
  const std::int64_t right[] = {5, 3};
  REQUIRE(ir_model_reshape(handles.model, 0, right, 2) == IR_STATUS_OK);
  REQUIRE(ir_compile_model(handles.model, 1, &handles.compiled) == IR_STATUS_OK);
  ir_port port;
  REQUIRE(ir_output_port(handles.compiled, 0, &port) == IR_STATUS_OK);
  CHECK(port.dims[0] == 5);
}

TEST_CASE("C: inputs whose dims must agree take other shapes together, or none does") {
  const ir::test::TemporaryFolder folder;
  Handles handles;
  const std::string path = folder.write("model.xml", kAddOne).string();
  REQUIRE(ir_read_model(path.c_str(), nullptr, &handles.model) == IR_STATUS_OK);
  const std::int64_t x[] = {5, 4};
  const std::int64_t y[] = {1, 4};
  const std::int32_t ranks[] = {2, 2};
  CHECK(ir_model_reshape(handles.model, 1, y, 2) == IR_STATUS_INVALID_MODEL);
  CHECK(std::string(ir_last_error()).find("ir_model_reshape_all") != std::string::npos);
  const std::int64_t* dims[] = {x, y};
  REQUIRE(ir_model_reshape_all(handles.model, dims, ranks, 2) == IR_STATUS_OK);

  const std::int64_t too_many[] = {1, 7};
  const std::int64_t* wrong[] = {x, too_many};
  CHECK(ir_model_reshape_all(handles.model, wrong, ranks, 2) == IR_STATUS_INVALID_MODEL);
  CHECK(std::string(ir_last_error_code()) == "IR-broadcast");
  CHECK(ir_model_reshape_all(handles.model, dims, ranks, 1) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "shapes for 1 inputs are given, the model has 2");
  const std::int64_t below[] = {1, -2};
  wrong[1] = below;
  CHECK(ir_model_reshape_all(handles.model, wrong, ranks, 2) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "dim 1 of the shape for input 1 is -2");
  wrong[1] = nullptr;
  CHECK(ir_model_reshape_all(handles.model, wrong, ranks, 2) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "ir_model_reshape_all: a pointer is null");
  const std::int32_t wrong_ranks[] = {2, IR_MAX_RANK + 1};
  CHECK(ir_model_reshape_all(handles.model, dims, wrong_ranks, 2) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "rank 65 for input 1");
  CHECK(ir_model_reshape_all(handles.model, nullptr, ranks, 2) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_model_reshape_all(nullptr, dims, ranks, 2) == IR_STATUS_INVALID_ARGUMENT);

  REQUIRE(ir_compile_model(handles.model, 1, &handles.compiled) == IR_STATUS_OK);
  ir_port port;
  REQUIRE(ir_output_port(handles.compiled, 0, &port) == IR_STATUS_OK);
  CHECK(port.dims[0] == 5);
  CHECK(port.dims[1] == 4);
}

TEST_CASE("C: what is wrong gives a status and a sentence") {
  const ir::test::TemporaryFolder folder;
  Handles handles;
  CHECK(ir_read_model(nullptr, nullptr, &handles.model) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "ir_read_model: a pointer is null");
  CHECK(std::string(ir_last_error_code()) == "IR-argument");
  const std::string missing = (folder.path() / "none.xml").string();
  CHECK(ir_read_model(missing.c_str(), nullptr, &handles.model) == IR_STATUS_FILE);
  CHECK(handles.model == nullptr);
  const std::string broken = folder.write("broken.xml", "<net").string();
  CHECK(ir_read_model(broken.c_str(), nullptr, &handles.model) == IR_STATUS_INVALID_MODEL);
  open(folder, handles);
  ir_port port;
  CHECK(ir_input_port(handles.compiled, 2, &port) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "input 2 is asked for, there are 2");
  std::size_t index = 0;
  CHECK(ir_find_input(handles.compiled, "z", &index) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) ==
        "error: the model has no input 'z'; it has 'x', 'y' [IR-port-unknown]");
  CHECK(std::string(ir_last_error_code()) == "IR-port-unknown");
  CHECK(ir_find_output(handles.compiled, "x", &index) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(ir_infer(handles.request) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error_code()) == "IR-input-missing");

  std::vector<float> y(3);
  ir_tensor tensor = tensor_of(y, {1, 4});
  CHECK(ir_set_input(handles.request, 1, &tensor) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "a tensor of f32 [1,4] takes 16 bytes, 12 are given");
  tensor = tensor_of(y, {3, 1});
  CHECK(ir_set_input(handles.request, 1, &tensor) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error_code()) == "IR-input-shape");
  std::vector<std::int32_t> integers(4);
  ir_tensor of_integers = {"i32", 2, {1, 4}, integers.data(), integers.size() * sizeof(std::int32_t)};
  CHECK(ir_set_input(handles.request, 1, &of_integers) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error_code()) == "IR-input-type");
  std::vector<std::int32_t> room(5);
  tensor = tensor_of(y, {1, 3});
  tensor.data = reinterpret_cast<char*>(room.data()) + 2;
  CHECK(ir_set_input(handles.request, 1, &tensor) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error()) == "the data of a tensor of f32 is not aligned to 4 bytes");
  ir_tensor output;
  CHECK(ir_output_tensor(handles.request, 0, &output) == IR_STATUS_INVALID_ARGUMENT);
  CHECK(std::string(ir_last_error_code()) == "IR-output-missing");
  tensor.element_type = "f33";
  CHECK(ir_set_input(handles.request, 1, &tensor) == IR_STATUS_INVALID_ARGUMENT);
  tensor.rank = IR_MAX_RANK + 1;
  CHECK(ir_set_input(handles.request, 1, &tensor) == IR_STATUS_INVALID_ARGUMENT);
  ir_model_free(nullptr);
}

TEST_CASE("C: errors can be asked for, and calls may fail, when a thread ends") {
  const ir::test::TemporaryFolder folder;
  const std::string file = (folder.path() / std::string(100, 'm')).string();
  std::string in_time;
  const LateErrors late = fail_and_ask_late(file, in_time);
  CHECK(in_time.find(file) != std::string::npos);
  CHECK(late.before == in_time);
  CHECK(late.after == in_time);
  CHECK(late.code_after == "IR-file");
}

TEST_CASE("C: a long error is whole as long as its thread runs, then it is cut off between characters") {
  // Characters of two bytes; the byte in front lets one of them lie across the end once.
  for (const std::string in_front : {"", "a"}) {
    std::string file = in_front;
    for (int i = 0; i < 1000; ++i) file += "\u00e9";
    std::string in_time;
    const LateErrors late = fail_and_ask_late(file, in_time);
    CHECK(in_time.find(file) != std::string::npos);
    CHECK(late.before == late.after);
    CHECK(late.code_after == "IR-file");
    REQUIRE(late.before.size() > 1000);
    REQUIRE(late.before.size() < 1024);
    CHECK(late.before.ends_with("\u00e9..."));
    CHECK(in_time.starts_with(late.before.substr(0, late.before.size() - 3)));
  }
}
