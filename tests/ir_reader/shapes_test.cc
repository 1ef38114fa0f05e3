// Declared dims and precisions against what inference says.
#include "ir_runtime/compiled_model.h"
#include "ir_runtime/ops/infrastructure.h"
#include "tests/ir_reader/support.h"

namespace {

using ir::test::edge;
using ir::test::findings;
using ir::test::inputs;
using ir::test::layer;
using ir::test::Lines;
using ir::test::ModelFiles;
using ir::test::net;
using ir::test::outputs;
using ir::test::parameter;
using ir::test::port;
using ir::test::result;

ir::ReadOptions with_check(ir::ShapeCheck check) {
  ir::ReadOptions options;
  options.shape_check = check;
  return options;
}

// One of the examples of AvgPool-1: `data`, over 32x32, with `size` x `size` declared.
std::string avg_pool_example(const std::string& data, const std::string& size) {
  return R"(<net name="a" version="11"><layers>
)" + parameter("0", "1,3,32,32") +
         R"(<layer id="1" name="pool" type="AvgPool" version="opset1">
  <data )" +
         data + R"(/>
  <input><port id="0"><dim>1</dim><dim>3</dim><dim>32</dim><dim>32</dim></port></input>
  <output>
    <port id="1" precision="FP32">
      <dim>1</dim>
      <dim>3</dim>
      <dim>)" +
         size + R"(</dim>
      <dim>)" +
         size + R"(</dim>
    </port>
  </output>
</layer>
)" + result("2", "1,3," + size + "," + size) +
         "</layers><edges>\n" + edge("0:0 1:0") + edge("1:1 2:0") + "</edges></net>";
}

TEST_CASE("the wrong examples of AvgPool-1 are reported with rule, number and declaration") {
  const Lines expected{
      "model.xml:10:7: error: layer 'pool' (AvgPool, id 1): dim 2 of output port 1 is declared 32, inference "
      "gives 16: "
      "same_upper: ceil(32 / 2) = 16, declared 32 [IR-shape-mismatch]\n"
      "  hint: strides=\"1, 1\" would give what the port and what reads it declare",
      "model.xml:11:7: error: layer 'pool' (AvgPool, id 1): dim 3 of output port 1 is declared 32, inference "
      "gives 16: "
      "same_upper: ceil(32 / 2) = 16, declared 32 [IR-shape-mismatch]"};
  CHECK(
      findings(avg_pool_example(
          R"(auto_pad="same_upper" exclude-pad="true" kernel="2,2" pads_begin="0,0" pads_end="1,1" strides="2,2")",
          "32")) == expected);
  CHECK(
      findings(avg_pool_example(
          R"(auto_pad="same_upper" exclude-pad="false" kernel="5,5" pads_begin="0,0" pads_end="1,1" strides="2,2")",
          "32")) == expected);
}

TEST_CASE("the right examples of AvgPool-1 are right") {
  CHECK(
      findings(
          avg_pool_example(
              R"(auto_pad="explicit" exclude-pad="true" kernel="5,5" pads_begin="1,1" pads_end="1,1" strides="3,3")",
              "10"))
          .empty());
  CHECK(
      findings(
          avg_pool_example(
              R"(auto_pad="explicit" exclude-pad="false" kernel="5,5" pads_begin="1,1" pads_end="1,1" strides="2,2")",
              "15"))
          .empty());
  CHECK(
      findings(
          avg_pool_example(
              R"(auto_pad="valid" exclude-pad="true" kernel="5,5" pads_begin="1,1" pads_end="1,1" strides="2,2")",
              "14"))
          .empty());
}

TEST_CASE("an explicit window states its rule with the numbers of the model") {
  CHECK(
      findings(avg_pool_example(
          R"(auto_pad="explicit" exclude-pad="false" kernel="5,5" pads_begin="1,1" pads_end="1,1" strides="2,2")",
          "16"))[0] ==
      "model.xml:10:7: error: layer 'pool' (AvgPool, id 1): dim 2 of output port 1 is declared 16, inference "
      "gives 15: "
      "floor((32 + 1 + 1 - 5) / 2) + 1 = 15, declared 16 [IR-shape-mismatch]\n"
      "  hint: what reads the port declares the same: see whether inputs or attributes are wrong");
}

TEST_CASE("a mismatch is an error, a warning or nothing, as asked") {
  const std::string text = avg_pool_example(
      R"(auto_pad="valid" exclude-pad="true" kernel="2,2" pads_begin="0,0" pads_end="0,0" strides="2,2")",
      "17");
  CHECK(ir::read_and_check(ModelFiles(text).xml()).model == nullptr);
  const Lines warned = findings(text, with_check(ir::ShapeCheck::warn));
  REQUIRE(warned.size() == 2);
  CHECK(
      warned[0].starts_with("model.xml:10:7: warning: layer 'pool' (AvgPool, id 1): dim 2 of output port 1"));
  CHECK(findings(text, with_check(ir::ShapeCheck::off)).empty());
  // What is computed is what inference says.
  for (const ir::ShapeCheck check : {ir::ShapeCheck::warn, ir::ShapeCheck::off}) {
    const auto model = ModelFiles(text).read(with_check(check));
    CHECK(model->outputs()[0].shape == ir::PartialShape{1, 3, 16, 16});
  }
}

TEST_CASE("what contradicts inference only where a declaration does is no mistake of its own") {
  const std::string relu = layer("2", "ReLU", inputs(port("0", "1,4")) + outputs(port("1", "1,5")));
  const std::string sum =
      layer("3", "Add", inputs(port("0", "1,5") + port("1", "1,5")) + outputs(port("2", "1,5")));
  const std::string text =
      net(parameter("0", "1,4") + parameter("1", "1,5") + relu + sum + result("4", "1,5"),
          edge("0:0 2:0") + edge("2:1 3:0") + edge("1:0 3:1") + edge("3:2 4:0"));
  CHECK(findings(text).size() == 1);
  // A model that can only be computed as it is declared is none.
  const Lines warned = findings(text, with_check(ir::ShapeCheck::warn));
  REQUIRE(warned.size() == 2);
  CHECK(warned[1].find("error: layer 'n3' (Add, id 3)") != std::string::npos);
}

TEST_CASE("a declared shape that is only warned of is no value of the model", "[shapes]") {
  const std::string relu = layer("1", "ReLU", inputs(port("0", "1,4")) + outputs(port("1", "1,64")));
  const std::string shape_of =
      layer("2", "ShapeOf", inputs(port("0", "1,64")) + outputs(port("1", "2", R"(precision="I64")")));
  const auto model =
      ModelFiles(net(parameter("0", "1,4") + relu + shape_of + result("3", "2", R"(precision="I64")"),
                     edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0")))
          .read(with_check(ir::ShapeCheck::warn));
  const auto& dims = model->results()[0]->input(0).info().constant;
  REQUIRE(dims != nullptr);
  CHECK(dims->data<std::int64_t>()[1] == 4);
}

TEST_CASE("layers behind a wrong declaration are judged by it, so that one mistake is reported once") {
  const std::string relu = layer("1", "ReLU", inputs(port("0", "1,4")) + outputs(port("1", "1,5")));
  const std::string next = layer("2", "ReLU", inputs(port("0", "1,5")) + outputs(port("1", "1,5")));
  CHECK(findings(net(parameter("0", "1,4") + relu + next + result("3", "1,5"),
                     edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0")))
            .size() == 1);
}

TEST_CASE("a rank, a precision and a number of outputs can be wrong, too") {
  const std::string rank = layer("1", "ReLU", inputs(port("0", "1,4")) + outputs(port("1", "4")));
  CHECK(findings(net(parameter("0", "1,4") + rank + result("2", "4"), edge("0:0 1:0") + edge("1:1 2:0"))) ==
        Lines{"model.xml:3:138: error: layer 'n1' (ReLU, id 1): output port 1 is declared [4] of rank 1, "
              "inference "
              "gives [1,4] of rank 2 [IR-shape-mismatch]\n  hint: what reads the port declares the same: see "
              "whether inputs or attributes are wrong"});
  const std::string precision =
      layer("1", "ReLU", inputs(port("0", "4")) + outputs(port("1", "4", R"(precision="I32")")));
  CHECK(findings(
            net(parameter("0", "4") + precision + result("2", "4", ""), edge("0:0 1:0") + edge("1:1 2:0"))) ==
        Lines{"model.xml:3:139: error: layer 'n1' (ReLU, id 1): output port 1 is declared I32, inference "
              "gives FP32 "
              "[IR-precision-mismatch]"});
  const std::string count =
      layer("1", "ReLU", inputs(port("0", "4")) + outputs(port("1", "4") + port("2", "4")));
  const Lines found =
      findings(net(parameter("0", "4") + count + result("2", "4"), edge("0:0 1:0") + edge("1:1 2:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("2 output ports are declared, ReLU gives 1 [IR-output-count]") != std::string::npos);
}

TEST_CASE("an output that the operation does not have is an error however shapes are checked") {
  const std::string relu =
      layer("1", "ReLU", inputs(port("0", "4")) + outputs(port("1", "4") + port("2", "4")));
  // The edge starts at the port in question.
  const std::string text =
      net(parameter("0", "4") + relu + result("2", "4"), edge("0:0 1:0") + edge("1:2 2:0"));
  for (const ir::ShapeCheck check : {ir::ShapeCheck::error, ir::ShapeCheck::warn, ir::ShapeCheck::off}) {
    ir::ReadOptions options;
    options.shape_check = check;
    const Lines found = findings(text, options);
    REQUIRE(found.size() == 1);
    CHECK(found[0].find("2 output ports are declared, ReLU gives 1 [IR-output-count]") != std::string::npos);
  }
}

TEST_CASE("an input port that contradicts what flows in is reported at the port") {
  const std::string relu = layer("1", "ReLU", inputs(port("0", "5")) + outputs(port("1", "4")));
  CHECK(findings(net(parameter("0", "4") + relu + result("2", "4"), edge("0:0 1:0") + edge("1:1 2:0"))) ==
        Lines{"model.xml:3:91: error: layer 'n1' (ReLU, id 1): dim 0 of input port 0 is declared 5, "
              "inference gives 4 "
              "[IR-shape-mismatch]\n  hint: what comes in gives what the layer's outputs declare: mend the "
              "port"});
}

TEST_CASE("what a Result declares has no use, so that it only warns") {
  const Lines found = findings(net(parameter("0", "4") + result("1", "5"), edge("0:0 1:0")));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("warning") != std::string::npos);
  CHECK(found[0].find("dim 0 of input port 0 is declared 5, inference gives 4") != std::string::npos);
}

TEST_CASE("declared and inferred dims need only be compatible when one is unknown") {
  const std::string in = layer(
      "0", "Parameter", R"(<data element_type="f32" shape="?,3..8,4"/>)" + outputs(port("0", "-1,-1,4")));
  const auto relu = [&](const std::string& dims) {
    const std::string text = layer("1", "ReLU", inputs(port("0", "-1,-1,4")) + outputs(port("1", dims)));
    return findings(net(in + text + result("2", dims), edge("0:0 1:0") + edge("1:1 2:0")));
  };
  CHECK(relu("-1,-1,4").empty());
  CHECK(relu("7,3,4").empty());
  REQUIRE(relu("7,9,4").size() == 1);
  CHECK(relu("7,9,4")[0].find("dim 1 of output port 1 is declared 9, inference gives 3..8") !=
        std::string::npos);
}

TEST_CASE("dims behind a shape that was computed by way of floats are compared where they are known") {
  const auto resized = [](const std::string& dims) {
    const std::string integers = port("1", "4", R"(precision="I64")");
    const std::string shape =
        layer("2", "ShapeOf",
              R"(<data output_type="i64"/>)" + inputs(port("0", "-1,3,8,10")) + outputs(integers), "opset3");
    const auto convert = [&](const std::string& id, const std::string& type, const std::string& from,
                             const std::string& to) {
      return layer(id, "Convert", "<data destination_type=\"" + type + "\"/>" + inputs(from) + outputs(to));
    };
    const std::string to_real = convert("3", "f32", integers, port("2", "4"));
    const std::string root = layer("4", "Sqrt", inputs(port("0", "4")) + outputs(port("1", "4")));
    const std::string floor = layer("5", "Floor", inputs(port("0", "4")) + outputs(port("1", "4")));
    const std::string to_integer = convert("6", "i64", port("0", "4"), port("1", "4", R"(precision="I64")"));
    const std::string broadcast = layer(
        "7", "Broadcast",
        R"(<data mode="numpy"/>)" + inputs(port("0", "1") + integers) + outputs(port("2", dims)), "opset3");
    return findings(
        net(parameter("0", "1") +
                layer("1", "Parameter",
                      R"(<data element_type="f32" shape="?,3,8,10"/>)" + outputs(port("0", "-1,3,8,10"))) +
                shape + to_real + root + floor + to_integer + broadcast + result("8", dims),
            edge("1:0 2:0") + edge("2:1 3:1") + edge("3:2 4:0") + edge("4:1 5:0") + edge("5:1 6:0") +
                edge("0:0 7:0") + edge("6:1 7:1") + edge("7:2 8:0")));
  };
  CHECK(resized("-1,1,2,3").empty());
  CHECK(resized("7,1,2,3").empty());
  const Lines found = resized("-1,1,2,4");
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("dim 3 of output port 2 is declared 4, inference gives 3") != std::string::npos);
}

TEST_CASE("a port without dims may be of unknown rank") {
  const std::string in =
      layer("0", "Parameter", R"(<data element_type="f32" shape="..."/>)" + outputs(port("0", "")));
  const std::string relu = layer("1", "ReLU", inputs(port("0", "")) + outputs(port("1", "")));
  CHECK(findings(net(in + relu + result("2", ""), edge("0:0 1:0") + edge("1:1 2:0"))).empty());
}

// An input with these axes unknown until the model runs, and a layer that takes it, with its output port.
std::string over_unknown_axes(const std::string& type, const std::string& output) {
  const std::string axes =
      layer("1", "Parameter",
            R"(<data element_type="i64" shape="2"/>)" + outputs(port("0", "2", R"(precision="I64")")));
  const std::string reads = inputs(port("0", "2,3") + port("1", "2", R"(precision="I64")"));
  return net(parameter("0", "2,3") + axes + layer("2", type, reads + outputs(port("2", output))) +
                 result("3", output),
             edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0"));
}

TEST_CASE("a port without dims agrees with a shape that inference does not know in full") {
  for (const std::string type : {"ReduceSum", "Unsqueeze"})
    CHECK(findings(over_unknown_axes(type, "")).empty());
  // Also where inference knows the rank, and all inputs.
  const std::string target =
      layer("1", "Parameter",
            R"(<data element_type="i64" shape="3"/>)" + outputs(port("0", "3", R"(precision="I64")")));
  const std::string reshape =
      layer("2", "Reshape",
            R"(<data special_zero="false"/>)" +
                inputs(port("0", "2,3") + port("1", "3", R"(precision="I64")")) + outputs(port("2", "")));
  CHECK(findings(net(parameter("0", "2,3") + target + reshape + result("3", ""),
                     edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0")))
            .empty());
}

TEST_CASE("a rank that a port declares unknown is unknown to the layers behind") {
  // PSROIPooling has a static shape whatever its image is, which OpenVINO does not say.
  const std::string image =
      layer("0", "Parameter", R"(<data element_type="f32" shape="..."/>)" + outputs(port("0", "")));
  const std::string pooling = layer(
      "2", "PSROIPooling",
      R"(<data output_dim="2" group_size="6" spatial_scale="0.0625" spatial_bins_x="1" spatial_bins_y="1" mode="average"/>)" +
          inputs(port("0", "") + port("1", "150,5")) + outputs(port("2", "")));
  const auto relu = [](const std::string& id, const std::string& in, const std::string& out) {
    return layer(id, "ReLU", inputs(port("0", in)) + outputs(port("1", out)));
  };
  const auto model = [&](const std::string& first, const std::string& second) {
    return findings(
        net(image + parameter("1", "150,5") + pooling + first + second + result("5", "150,2,6,6"),
            edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("3:1 4:0") + edge("4:1 5:0")));
  };
  CHECK(model(relu("3", "", ""), relu("4", "", "")).empty());
  CHECK(model(relu("3", "", "150,2,6,6"), relu("4", "150,2,6,6", "150,2,6,6")).empty());
  // Declared once, the rank is known.
  const Lines found = model(relu("3", "", "150,2,6,6"), relu("4", "", "150,2,6,6"));
  REQUIRE(found.size() == 1);
  CHECK(found[0].find("layer 'n4' (ReLU, id 4): input port 0 is declared [] of rank 0, inference gives "
                      "[150,2,6,6] of rank 4 [IR-shape-mismatch]") != std::string::npos);
}

TEST_CASE("a port without dims is a scalar where nothing about the shape is unknown") {
  const std::string relu = layer("1", "ReLU", inputs(port("0", "1,4")) + outputs(port("1", "")));
  const std::string next = layer("2", "ReLU", inputs(port("0", "")) + outputs(port("1", "")));
  CHECK(findings(net(parameter("0", "1,4") + relu + next + result("3", ""),
                     edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0"))) ==
        Lines{"model.xml:3:138: error: layer 'n1' (ReLU, id 1): output port 1 is declared [] of rank 0, "
              "inference gives [1,4] of rank 2 [IR-shape-mismatch]\n  hint: what reads the port declares the "
              "same: see whether inputs or attributes are wrong"});
}

TEST_CASE("version 10 presents f16 inputs and outputs as f32; version 11 leaves them") {
  const std::string in =
      layer("0", "Parameter",
            R"(<data element_type="f16" shape="2"/>)" + outputs(port("0", "2", R"(precision="FP16")")));
  const std::string relu =
      layer("1", "ReLU", inputs(port("0", "2", "")) + outputs(port("1", "2", R"(precision="FP16")")));
  const auto read = [&](const std::string& version) {
    const ModelFiles files(net(in + relu + result("2", "2", ""), edge("0:0 1:0") + edge("1:1 2:0"), version));
    CHECK(files.findings().empty());
    return files.read();
  };
  const auto ten = read("10");
  CHECK(ten->ir_version() == 10);
  CHECK(ten->inputs()[0].type == ir::ElementType::f32);
  CHECK(ten->inputs()[0].name() == "n0");
  CHECK(ten->outputs()[0].type == ir::ElementType::f32);
  CHECK(ten->outputs()[0].name() == "n1");
  ir::InferRequest request = ir::compile_model(*ten).create_infer_request();
  request.set_input_tensor(0, ir::Tensor::of<float>({2}, {-1.0F, 0.5F}));
  request.infer();
  CHECK(request.output_tensor(0).data<float>()[1] == 0.5F);
  const auto eleven = read("11");
  CHECK(eleven->ir_version() == 11);
  CHECK(eleven->inputs()[0].type == ir::ElementType::f16);
  CHECK(eleven->outputs()[0].type == ir::ElementType::f16);
}

TEST_CASE("in version 10 floating precisions of ports are no more than hints") {
  const std::string in =
      layer("0", "Parameter",
            R"(<data element_type="f16" shape="2"/>)" + outputs(port("0", "2", R"(precision="FP32")")));
  const std::string text = net(in + result("1", "2", ""), edge("0:0 1:0"), "10");
  REQUIRE(findings(text).size() == 1);
  CHECK(findings(text)[0].find(
            "warning: layer 'n0' (Parameter, id 0): output port 0 is declared FP32, inference gives "
            "FP16") != std::string::npos);
  CHECK(findings(net(in + result("1", "2", ""), edge("0:0 1:0"), "11"))[0].find("error") !=
        std::string::npos);
}

TEST_CASE("in version 10 dims of 1 in front of a shape are no more than hints") {
  const auto read = [](const std::string& version, const std::string& declared) {
    const std::string vector = parameter("0", "3");
    const std::string matrix = parameter("1", "3,2");
    const std::string product =
        layer("2", "MatMul",
              R"(<data transpose_a="false" transpose_b="false"/>)" +
                  inputs(port("0", "3") + port("1", "3,2")) + outputs(port("2", declared)));
    const std::string sum =
        layer("3", "Add", inputs(port("0", declared) + port("1", declared)) + outputs(port("2", declared)));
    return findings(net(
        vector + matrix + parameter("4", declared) + product + sum + result("5", declared),
        edge("0:0 2:0") + edge("1:0 2:1") + edge("2:2 3:0") + edge("4:0 3:1") + edge("3:2 5:0"), version));
  };
  const Lines found = read("10", "1,2");
  REQUIRE(found.size() == 2);
  CHECK(found[0].find(
            "warning: layer 'n2' (MatMul, id 2): output port 2 is declared [1,2] of rank 2, inference "
            "gives [2] of rank 1 [IR-shape-mismatch]") != std::string::npos);
  CHECK(found[1].find("warning: layer 'n3' (Add, id 3): input port 0 is declared [1,2] of rank 2, inference "
                      "gives [2] of rank 1 [IR-shape-mismatch]") != std::string::npos);
  // Other dims, and other versions.
  CHECK(read("10", "2,2").at(0).find("error: layer 'n2'") != std::string::npos);
  CHECK(read("11", "1,2").at(0).find("error: layer 'n2'") != std::string::npos);
}

}  // namespace
