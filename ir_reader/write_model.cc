#include "ir_runtime/write_model.h"

#include <fmt/format.h>

#include <pugixml.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir_reader/annotations.h"
#include "ir_reader/constant_writer.h"
#include "ir_reader/errors.h"
#include "ir_reader/ir_version.h"
#include "ir_reader/layer_order.h"
#include "ir_reader/new_file.h"
#include "ir_reader/weights.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/subgraph.h"
#include "runtime/model/own_nodes.h"
#include "runtime/ops/fields.h"
#include "runtime/types/exhaustion.h"

namespace ir {
namespace {

using reader::ConstantWriter;

// A comma inside a name is escaped, since commas part names.
std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += ',';
    for (const char c : name) {
      if (c == ',') text += '\\';
      text += c;
    }
  }
  return text;
}

// No reader of IR takes a backslash before the comma that parts names for anything but an escape.
void require_parted_names(const Node& node) {
  for (std::size_t i = 0; i < node.output_count(); ++i) {
    const std::vector<std::string>& names = node.output_names(i);
    for (std::size_t k = 0; k + 1 < names.size(); ++k) {
      if (!names[k].ends_with('\\')) continue;
      throw Error(
          "IR-unsupported",
          fmt::format("layer '{}': the tensor name '{}' ends in a backslash, so that an IR would hold it "
                      "and the name behind it as one",
                      node.name(), names[k]),
          "name it last, or give it another name");
    }
  }
}

class GraphWriter {
 public:
  GraphWriter(const ConstantWriter& constants, int version) : constants_(constants), version_(version) {}

  void write(const Model& model, pugi::xml_node parent) {
    const std::vector<const Node*> order = reader::in_layer_order(model);
    pugi::xml_node layers = parent.append_child("layers");
    for (const Node* node : order) {
      const std::size_t id = ids_.size();
      ids_[node] = id;
      write_layer(*node, id, layers.append_child("layer"));
    }
    pugi::xml_node edges = parent.append_child("edges");
    for (const Node* node : order) {
      for (std::size_t port = 0; port < node->inputs().size(); ++port) {
        const Output& source = node->input(port);
        pugi::xml_node edge = edges.append_child("edge");
        edge.append_attribute("from-layer") = ids_.at(source.node);
        edge.append_attribute("from-port") = source.node->inputs().size() + source.index;
        edge.append_attribute("to-layer") = ids_.at(node);
        edge.append_attribute("to-port") = port;
      }
    }
  }

  [[nodiscard]] std::size_t id_of(const Node& node) const { return ids_.at(&node); }

 private:
  void write_layer(const Node& node, std::size_t id, pugi::xml_node layer) {
    require_parted_names(node);
    const OpClass& record = node.op().op_class_record();
    layer.append_attribute("id") = id;
    layer.append_attribute("name") = node.name().c_str();
    layer.append_attribute("type") = std::string(record.info.type).c_str();
    layer.append_attribute("version") = record.version().c_str();
    const bool is_result = node.op().is<op::v0::Result>();
    if (is_result && version_ > 10 && !node.output_names(0).empty())
      layer.append_attribute("output_names") = joined_names(node.output_names(0)).c_str();
    write_attributes(node, layer);
    write_annotations(node.annotations(), layer);
    const std::size_t input_count = node.inputs().size();
    if (input_count > 0) {
      pugi::xml_node inputs = layer.append_child("input");
      for (std::size_t i = 0; i < input_count; ++i)
        write_annotations(node.input_annotations(i), write_port(inputs, i, node.input(i).info(), {}));
    }
    // A Result has no output in the file.
    if (!is_result && node.output_count() > 0) {
      pugi::xml_node outputs = layer.append_child("output");
      for (std::size_t i = 0; i < node.output_count(); ++i) {
        write_annotations(node.output_annotations(i),
                          write_port(outputs, input_count + i, node.output(i), node.output_names(i)));
      }
    }
    if (record.subgraphs != nullptr) write_bodies(node, layer);
  }

  void write_attributes(const Node& node, pugi::xml_node layer) const {
    Op op = node.op();
    if (auto* constant = op.as<op::v0::Constant>()) {
      const ConstantWriter::Place place = constants_.place_of(node);
      constant->offset = place.offset;
      constant->size = place.size;
    }
    pugi::xml_node data;
    for (const Field& field : op.op_class_record().fields) {
      if (field.kind == FieldKind::ignored) continue;
      if (!data) data = layer.append_child("data");
      data.append_attribute(field.name.data()) = field_text(field, op.descriptor()).c_str();
    }
  }

  void write_annotations(const Annotations& annotations, pugi::xml_node parent) const {
    if (version_ > 10 && !annotations.empty())
      reader::write_annotations(annotations, parent.append_child("rt_info"));
  }

  static pugi::xml_node write_port(pugi::xml_node list, std::size_t id, const ValueInfo& value,
                                   const std::vector<std::string>& names) {
    pugi::xml_node port = list.append_child("port");
    port.append_attribute("id") = id;
    port.append_attribute("precision") = std::string(port_name_of(value.type)).c_str();
    if (!names.empty()) port.append_attribute("names") = joined_names(names).c_str();
    for (const Dimension& dim : value.shape) {
      port.append_child("dim").text() = static_cast<long long>(dim.is_static() ? dim.value() : -1);
    }
    return port;
  }

  void write_bodies(const Node& node, pugi::xml_node layer) {
    const std::span<const Subgraph> subgraphs = subgraphs_of(node.op());
    if (subgraphs.size() == 1) {
      write_body(node, subgraphs[0], layer, "port_map", "back_edges", "body");
      return;
    }
    write_body(node, subgraphs[0], layer, "then_port_map", nullptr, "then_body");
    write_body(node, subgraphs[1], layer, "else_port_map", nullptr, "else_body");
  }

  void write_body(const Node& node, const Subgraph& subgraph, pugi::xml_node layer, const char* map_name,
                  const char* edges_name, const char* body_name) {
    const Model& body = *subgraph.body;
    pugi::xml_node map = layer.append_child(map_name);
    pugi::xml_node edges = edges_name != nullptr ? layer.append_child(edges_name) : pugi::xml_node();
    GraphWriter inner(constants_, version_);
    inner.write(body, layer.append_child(body_name));
    const bool is_loop = node.op().type() == "Loop";
    for (const Subgraph::Input& input : subgraph.inputs) {
      pugi::xml_node entry = map.append_child("input");
      const std::size_t parameter = inner.id_of(*body.parameters()[input.parameter]);
      write_map_entry(entry, input.outer, parameter, input.slicing);
      if (is_loop && input.outer < 0) entry.append_attribute("purpose") = "current_iteration";
      if (!input.back_edge) continue;
      pugi::xml_node edge = edges.append_child("edge");
      edge.append_attribute("from-layer") = inner.id_of(*body.results()[*input.back_edge]);
      edge.append_attribute("to-layer") = parameter;
    }
    for (const Subgraph::Output& output : subgraph.outputs) {
      pugi::xml_node entry = map.append_child("output");
      const auto first_output = static_cast<std::int64_t>(node.inputs().size());
      write_map_entry(entry, output.outer < 0 ? -1 : first_output + output.outer,
                      inner.id_of(*body.results()[output.result]), output.slicing);
      if (is_loop && output.outer < 0) entry.append_attribute("purpose") = "execution_condition";
    }
  }

  static void write_map_entry(pugi::xml_node entry, std::int64_t outer, std::size_t inner_id,
                              const std::optional<Slicing>& slicing) {
    const auto number = [&](const char* name, std::int64_t value) {
      entry.append_attribute(name) = static_cast<long long>(value);
    };
    number("external_port_id", outer);
    number("internal_layer_id", static_cast<std::int64_t>(inner_id));
    if (!slicing) return;
    number("axis", slicing->axis);
    number("start", slicing->start);
    number("end", slicing->end);
    number("stride", slicing->stride);
    number("part_size", slicing->part_size);
  }

  const ConstantWriter& constants_;
  int version_;
  std::unordered_map<const Node*, std::size_t> ids_;
};

void write(const Model& model, const std::filesystem::path& xml, const WriteOptions& options) {
  require_own_nodes(model);
  const int version = options.ir_version.value_or(model.ir_version());
  reader::require_known_version(version);
  const std::filesystem::path weights = reader::weights_file_of(xml, options.weights);
  const auto require_two = [&](bool same) {
    if (same) throw reader::file_error("IR-file", xml.string(), "the weights need a file of their own");
  };
  require_two(weights == xml);

  reader::NewFile xml_file(xml);
  reader::NewFile weights_file(weights);
  require_two(weights_file.path() == xml_file.path());  // by links
  const ConstantWriter constants(model, weights_file.stream());
  weights_file.finish();

  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  pugi::xml_node net = document.append_child("net");
  net.append_attribute("name") = model.name().c_str();
  net.append_attribute("version") = version;
  GraphWriter(constants, version).write(model, net);
  reader::write_annotations(model.annotations(), net);
  document.save(xml_file.stream(), "\t");
  xml_file.finish();

  weights_file.put_in_place();
  xml_file.put_in_place();
}

}  // namespace

void write_model(const Model& model, const std::filesystem::path& xml, const WriteOptions& options) {
  reporting_exhaustion("the model was written", [&] { write(model, xml, options); });
}

}  // namespace ir
