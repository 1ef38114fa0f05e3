#include "ir_reader/preprocess.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "ir_reader/constants.h"
#include "ir_reader/number.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/type_conversion.h"
#include "runtime/types/trimmed.h"

namespace ir::reader {
namespace {

constexpr std::size_t kFewestDims = 2;
constexpr std::size_t kMostDims = 5;
constexpr std::size_t kImageDims = 4;

class MeanReader {
 public:
  MeanReader(const ReadState& state, const pugi::xml_node& process, Model& model)
      : state_(state), process_(process), model_(model) {}

  void run() {
    // What is wrong with the network may be why the input does not fit.
    if (state_.findings.errors() > 0) return;
    std::int64_t place = 0;
    for (const pugi::xml_node& channel : process_.children("channel")) read_channel(channel, place++);
    if (means_.empty() || state_.findings.errors() > 0 || !find_input() || !find_shape() || !are_complete())
      return;
    const bool are_images = means_.begin()->second.attribute("size");
    if (are_images ? !read_images() : !read_values()) return;
    position_ = behind_inputs();
    if (position_ == nullptr || state_.findings.errors() > 0) return;
    Node& difference =
        insert(op::v1::Subtract(), {*input_, are_images ? joined_images() : converted_values()}, "");
    difference.set_origin({}, state_.document.where(process_));
    model_.replace(*input_, difference);
  }

 private:
  bool error(const pugi::xml_node& xml, const char* attribute, std::string message, std::string hint = {}) {
    state_.findings.error("IR-preprocess", state_.document.where(xml, attribute), {}, std::move(message),
                          std::move(hint));
    return false;
  }

  template <class T>
  bool read_number(const pugi::xml_node& xml, const char* name, T& value) {
    const auto number = number_of<T>(trimmed(xml.attribute(name).value()));
    if (!number) return error(xml, name, fmt::format("the attribute '{}' is not a number", name));
    value = *number;
    return true;
  }

  void read_channel(const pugi::xml_node& channel, std::int64_t place) {
    const pugi::xml_node mean = channel.child("mean");
    if (!mean || (channel.attribute("id") && !read_number(channel, "id", place))) return;
    if (!mean.attribute("value") && !mean.attribute("size")) {
      error(mean, "", "<mean> has neither a value nor a size");
    } else if (!means_.emplace(place, mean).second) {
      error(channel, "id", fmt::format("channel {} has two means", place));
    }
  }

  bool find_input() {
    const std::string_view name = trimmed(process_.attribute("reference-layer-name").value());
    const auto& inputs = model_.parameters();
    const auto is_meant = [&](const Node* node) {
      if (!name.empty()) return node->name() == name;
      const PartialShape& shape = node->output(0).shape;
      return shape.has_rank() && shape.rank() == kImageDims;
    };
    auto found = std::ranges::find_if(inputs, is_meant);
    if (found == inputs.end() && name.empty()) found = inputs.begin();
    if (found == inputs.end()) {
      return error(process_, "reference-layer-name",
                   name.empty()
                       ? "the network has no input from which means could be subtracted"
                       : fmt::format("there is no input '{}' from which means could be subtracted", name));
    }
    input_ = *found;
    return true;
  }

  bool find_shape() {
    const PartialShape& shape = input_->output(0).shape;
    if (!shape.is_static() || shape.rank() < kFewestDims || shape.rank() > kMostDims) {
      return error(
          process_, "",
          fmt::format("means are subtracted from inputs of {} to {} known dims, '{}' has the shape {}",
                      kFewestDims, kMostDims, input_->name(), to_string(shape)));
    }
    const Shape dims = shape.to_shape();
    const std::size_t channel_axis = dims.size() == 3 ? 0 : 1;
    channels_ = dims[channel_axis];
    image_shape_ = {1};
    image_shape_.insert(image_shape_.end(), dims.begin() + static_cast<std::ptrdiff_t>(channel_axis) + 1,
                        dims.end());
    return true;
  }

  /// Whether every channel has a mean, all of one kind.
  bool are_complete() {
    for (const auto& [channel, mean] : means_) {
      if (channel < 0 || channel >= channels_) {
        return error(mean.parent(), "id",
                     fmt::format("there is no channel {}: '{}' has the shape {}", channel, input_->name(),
                                 to_string(input_->output(0).shape)));
      }
      const pugi::xml_node& first = means_.begin()->second;
      if (!mean.attribute("value") != !first.attribute("value") ||
          !mean.attribute("size") != !first.attribute("size") ||
          (mean.attribute("value") && mean.attribute("size")))
        return error(mean, "", "some means are numbers, others images");
    }
    if (static_cast<std::int64_t>(means_.size()) == channels_) return true;
    return error(process_, "",
                 fmt::format("{} channels have means, '{}' has the shape {}, with {}", means_.size(),
                             input_->name(), to_string(input_->output(0).shape), channels_));
  }

  bool read_values() {
    bool good = true;
    for (const auto& entry : means_)
      good = read_number(entry.second, "value", values_.emplace_back()) && good;
    return good;
  }

  bool read_images() {
    for (const auto& entry : means_) {
      const pugi::xml_node& mean = entry.second;
      op::v0::Constant& image = images_.emplace_back();
      image.element_type = input_->output(0).type;
      image.shape = image_shape_;
      if (!read_number(mean, "offset", image.offset) || !read_number(mean, "size", image.size)) return false;
      if (image.offset < 0 || image.size < 0) return error(mean, "", "offset and size are at least 0");
      if (!state_.constants.bind(state_, {{}, input_->name(), "Parameter"}, mean, image)) return false;
    }
    return true;
  }

  /// The first node that is no input and stands behind the one that is meant; null when nothing reads it.
  const Node* behind_inputs() const {
    const auto& nodes = model_.nodes();
    const auto at = std::ranges::find(nodes, input_, &std::unique_ptr<Node>::get);
    const auto behind = std::find_if(
        at, nodes.end(), [](const auto& node) { return !node->op().template is<op::v0::Parameter>(); });
    return behind == nodes.end() ? nullptr : behind->get();
  }

  Node& insert(Op op, std::vector<Output> inputs, std::string_view part) {
    return model_.insert_before(*position_, std::move(op), std::move(inputs),
                                fmt::format("{}/minus_means{}", input_->name(), part));
  }

  Output converted_values() {
    Shape shape(image_shape_.size(), 1);
    shape.front() = channels_;
    Node& values = insert(op::v0::Constant(Tensor::of<float>(std::move(shape), values_)), {}, "/means");
    const ElementType type = input_->output(0).type;
    return type == ElementType::f32 ? values : insert(op::v0::Convert(type), {values}, "/converted");
  }

  Output joined_images() {
    std::vector<Output> images;
    for (std::size_t i = 0; i < images_.size(); ++i)
      images.emplace_back(insert(std::move(images_[i]), {}, fmt::format("/channel_{}", i)));
    return insert(op::v0::Concat{.axis = 0}, std::move(images), "/means");
  }

  const ReadState& state_;
  pugi::xml_node process_;
  Model& model_;
  /// By channel.
  std::map<std::int64_t, pugi::xml_node> means_;
  Node* input_ = nullptr;
  const Node* position_ = nullptr;
  std::int64_t channels_ = 0;
  /// Of one channel.
  Shape image_shape_;
  std::vector<float> values_;
  std::vector<op::v0::Constant> images_;
};

}  // namespace

void subtract_means(const ReadState& state, const pugi::xml_node& net, Model& model) {
  MeanReader(state, net.child("pre-process"), model).run();
}

}  // namespace ir::reader
