#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "ir_runtime/op.h"
#include "ir_runtime/ops/activation.h"
#include "ir_runtime/ops/attention.h"
#include "ir_runtime/ops/binary_convolution.h"
#include "ir_runtime/ops/col2im.h"
#include "ir_runtime/ops/colour.h"
#include "ir_runtime/ops/control_flow.h"
#include "ir_runtime/ops/convolution.h"
#include "ir_runtime/ops/deformable_convolution.h"
#include "ir_runtime/ops/detection.h"
#include "ir_runtime/ops/einsum.h"
#include "ir_runtime/ops/elementwise_binary.h"
#include "ir_runtime/ops/elementwise_unary.h"
#include "ir_runtime/ops/embedding.h"
#include "ir_runtime/ops/experimental_detectron.h"
#include "ir_runtime/ops/gather.h"
#include "ir_runtime/ops/grid_sample.h"
#include "ir_runtime/ops/grouped_matmul.h"
#include "ir_runtime/ops/histogram.h"
#include "ir_runtime/ops/indexing.h"
#include "ir_runtime/ops/infrastructure.h"
#include "ir_runtime/ops/interpolate.h"
#include "ir_runtime/ops/inverse.h"
#include "ir_runtime/ops/matrix.h"
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/multiclass_nms.h"
#include "ir_runtime/ops/nms_rotated.h"
#include "ir_runtime/ops/normalization.h"
#include "ir_runtime/ops/pooling.h"
#include "ir_runtime/ops/proposal.h"
#include "ir_runtime/ops/quantization.h"
#include "ir_runtime/ops/random.h"
#include "ir_runtime/ops/reduction.h"
#include "ir_runtime/ops/roi_align.h"
#include "ir_runtime/ops/roi_pooling.h"
#include "ir_runtime/ops/scatter.h"
#include "ir_runtime/ops/search_sorted.h"
#include "ir_runtime/ops/select.h"
#include "ir_runtime/ops/sequence.h"
#include "ir_runtime/ops/shape.h"
#include "ir_runtime/ops/signals.h"
#include "ir_runtime/ops/slicing.h"
#include "ir_runtime/ops/softmax.h"
#include "ir_runtime/ops/sort.h"
#include "ir_runtime/ops/space.h"
#include "ir_runtime/ops/sparse.h"
#include "ir_runtime/ops/state.h"
#include "ir_runtime/ops/strings.h"
#include "ir_runtime/ops/type_conversion.h"
#include "ir_runtime/ops/unique.h"
#include "ir_runtime/ops/yolo.h"
#include "runtime/ops/op_class.h"
#include "runtime/types/letter_case.h"

namespace ir {

#define IR_OP(name) template struct OpClassOf<op::name>;
#include "runtime/ops/op_list.inc"
#undef IR_OP

namespace {

struct TypeOrder {
  bool operator()(const OpClass* a, const OpClass* b) const {
    if (less_ignoring_case(a->info.type, b->info.type)) return true;
    if (less_ignoring_case(b->info.type, a->info.type)) return false;
    return a->info.first_opset < b->info.first_opset;
  }
  bool operator()(const OpClass* a, std::string_view type) const {
    return less_ignoring_case(a->info.type, type);
  }
  bool operator()(std::string_view type, const OpClass* a) const {
    return less_ignoring_case(type, a->info.type);
  }
};

constexpr const OpClass* kListedClasses[] = {
#define IR_OP(name) &OpClassOf<op::name>::record,
#include "runtime/ops/op_list.inc"
#undef IR_OP
};

const std::vector<const OpClass*>& sorted_classes() {
  // Never destroyed: handlers at exit may read models, too.
  static const auto& kClasses = *new std::vector<const OpClass*>([] {
    std::vector<const OpClass*> classes(std::begin(kListedClasses), std::end(kListedClasses));
    std::ranges::sort(classes, TypeOrder());
    return classes;
  }());
  return kClasses;
}

}  // namespace

std::string OpClass::version() const {
  return info.version.empty() ? "opset" + std::to_string(info.first_opset) : std::string(info.version);
}

std::span<const OpClass* const> all_op_classes() { return sorted_classes(); }

std::vector<const OpClass*> op_classes_of_type(std::string_view type) {
  const auto [first, last] =
      std::equal_range(sorted_classes().begin(), sorted_classes().end(), type, TypeOrder());
  return {first, last};
}

const OpClass* find_op_class(std::string_view type, int opset) {
  for (const OpClass* candidate : op_classes_of_type(type)) {
    if (candidate->in_opset(opset)) return candidate;
  }
  return nullptr;
}

}  // namespace ir
