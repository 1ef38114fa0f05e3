// What a validator says of tensor names and <rt_info>.
#include "tests/ir_reader/support.h"

namespace {

using ir::test::edge;
using ir::test::inputs;
using ir::test::layer;
using ir::test::Lines;
using ir::test::net;
using ir::test::outputs;
using ir::test::parameter;
using ir::test::port;
using ir::test::result;
using ir::test::validated;
using ir::test::validated_with_notes;

std::string named(std::string_view names) {
  return net(layer("0", "Parameter",
                   R"(<data element_type="f32" shape="1"/>)" +
                       outputs(port("0", "1", R"(precision="FP32" names=")" + std::string(names) + "\""))) +
                 result("1", "1"),
             edge("0:0 1:0"));
}

TEST_CASE("an empty tensor name is reported") {
  for (const std::string good : {"", "a", "a,b", "a\\,b", "a\\,,b"}) CHECK(validated(named(good)).empty());
  for (const std::string bad : {",", "a,", ",a", "a,,b"}) {
    INFO(bad);
    CHECK(validated(named(bad)) == Lines{"model.xml:2:133: warning: layer 'n0' (Parameter, id 0): the names "
                                         "of output port 0 hold an empty "
                                         "name [IR-tensor-name]\n  hint: names are separated by one comma; a "
                                         "comma in a name is written '\\,'"});
  }
}

TEST_CASE("a tensor name that two inputs or two outputs of the model have is reported, others are noted") {
  const auto relu = [](std::string_view id, std::string_view names) {
    return layer(id, "ReLU",
                 inputs(port("0", "1")) +
                     outputs(port("1", "1", R"(precision="FP32" names=")" + std::string(names) + "\"")));
  };
  const auto row = [&](std::string_view first, std::string_view second, const std::string& more) {
    return net(
        parameter("0", "1") + relu("1", first) + relu("2", second) + result("3", "1") + result("4", "1"),
        edge("0:0 1:0") + edge("1:1 2:0") + edge("2:1 3:0") + more);
  };
  CHECK(validated(row("a,a", "b", edge("1:1 4:0"))).empty());
  // Both are outputs of the model.
  CHECK(validated(row("a,b", "c,b", edge("1:1 4:0"))) ==
        Lines{"model.xml:4:156: warning: layer 'n2' (ReLU, id 2): the tensor name 'b' belongs to output port "
              "1 of "
              "layer 'n1', too [IR-tensor-name-duplicate]"});
  // One lies within.
  const std::string within = row("a,b", "c,b", edge("2:1 4:0"));
  CHECK(validated(within).empty());
  CHECK(
      validated_with_notes(within)[0] ==
      "model.xml:4:156: note: layer 'n2' (ReLU, id 2): the tensor name 'b' belongs to output port 1 of layer "
      "'n1', too [IR-tensor-name-duplicate]");
}

TEST_CASE("in version 10 names of layers and tensors that inputs and outputs go by are held apart") {
  const auto chain = [](std::string_view input, std::string_view output, std::string_view version) {
    const auto names = [](std::string_view text) {
      return R"(precision="FP32" names=")" + std::string(text) + "\"";
    };
    return net(layer("0", "Parameter",
                     R"(<data element_type="f32" shape="1"/>)" + outputs(port("0", "1", names(input)))) +
                   layer("1", "ReLU", inputs(port("0", "1")) + outputs(port("1", "1", names(output)))) +
                   result("2", "1"),
               edge("0:0 1:0") + edge("1:1 2:0"), version);
  };
  CHECK(validated(chain("a", "b", "10")).empty());
  // Its own layer's name may be a tensor's, too.
  CHECK(validated(chain("n0", "n1", "10")).empty());
  CHECK(validated(chain("n1", "b", "11")).empty());
  CHECK(validated(chain("n1", "b", "10")) ==
        Lines{"model.xml:3:15: warning: layer 'n1' (ReLU, id 1): the name 'n1' belongs to output port 0 of "
              "layer 'n0', too [IR-tensor-name-duplicate]\n  hint: in version 10 inputs and outputs go by "
              "their layers' names, too; OpenVINO refuses the model"});
  CHECK(validated(chain("a", "a", "11")).empty());
  CHECK(validated(chain("a", "a", "10")) ==
        Lines{"model.xml:3:156: warning: layer 'n1' (ReLU, id 1): the tensor name 'a' belongs to output port "
              "0 of layer 'n0', too [IR-tensor-name-duplicate]"});
}

TEST_CASE("entries of <rt_info> have a name and a version") {
  const std::string in = R"(<layer id="0" name="in" type="Parameter" version="opset1">
<data element_type="f32" shape="1,2"/>
<rt_info>
  <attribute name="fused_names" version="0" value="in"/>
  <attribute version="0" value="in"/>
  <attribute name="precise"/>
</rt_info>
<output><port id="0" precision="FP32"><dim>1</dim><dim>2</dim></port></output></layer>
)";
  CHECK(validated(net(in + result("1", "1,2"), edge("0:0 1:0"))) ==
        Lines{"model.xml:6:3: warning: layer 'in' (Parameter, id 0): an <attribute> of <rt_info> has no "
              "attribute "
              "'name' [IR-rt-info]\n  hint: readers pass over the entry",
              "model.xml:7:3: warning: layer 'in' (Parameter, id 0): an <attribute> of <rt_info> has no "
              "attribute "
              "'version' [IR-rt-info]\n  hint: readers pass over the entry"});
}

TEST_CASE("entries of <rt_info> stand once") {
  const auto with = [](const std::string& entry) {
    return net(R"(<layer id="0" name="in" type="Parameter" version="opset1">
<data element_type="f32" shape="1,2"/>
<rt_info>
  <attribute name="fused_names" version="0" value="in"/>
  )" + entry + R"(
</rt_info>
<output><port id="0" precision="FP32"><dim>1</dim><dim>2</dim></port></output></layer>
)" + result("1", "1,2"),
               edge("0:0 1:0"));
  };
  CHECK(validated(with(R"(<attribute name="fused_names" version="1" value="in"/>)")).empty());
  CHECK(validated(with(R"(<attribute name="fused_names" version="0" value="x"/>)")) ==
        Lines{"model.xml:6:3: warning: layer 'in' (Parameter, id 0): <rt_info> has a second <attribute> "
              "'fused_names' [IR-rt-info]\n  hint: OpenVINO refuses the model where it knows the attribute"});
}

TEST_CASE("a layout has as many dims as the port") {
  const auto with_layout = [](const std::string& layout) {
    const std::string in = R"(<layer id="0" name="in" type="Parameter" version="opset1">
<data element_type="f32" shape="1,2"/>
<output><port id="0" precision="FP32"><dim>1</dim><dim>2</dim><rt_info>
<attribute name="layout" version="0" layout=")" +
                           layout + R"("/></rt_info></port></output></layer>
)";
    return net(in + result("1", "1,2"), edge("0:0 1:0"));
  };
  CHECK(validated(with_layout("[N,C]")).empty());
  CHECK(validated(with_layout("[N,...]")).empty());
  CHECK(validated(with_layout("[N,C,H,W]")) == Lines{"model.xml:5:1: warning: layer 'in' (Parameter, id 0): "
                                                     "the layout [N,C,H,W] has 4 dims, the port has 2 "
                                                     "[IR-rt-info]\n  hint: mend or remove the layout"});
}

}  // namespace
