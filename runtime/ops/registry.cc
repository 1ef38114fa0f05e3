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
    const int types = compare_ignoring_case(a->info.type, b->info.type);
    return types != 0 ? types < 0 : a->info.first_opset < b->info.first_opset;
  }
  bool operator()(const OpClass* a, std::string_view type) const {
    return compare_ignoring_case(a->info.type, type) < 0;
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

// Its versions, ascending.
std::span<const OpClass* const> classes_of(std::string_view type) {
  const std::vector<const OpClass*>& classes = sorted_classes();
  const auto first = std::lower_bound(classes.begin(), classes.end(), type, TypeOrder());
  const auto last = std::find_if_not(first, classes.end(), [type](const OpClass* candidate) {
    return equal_ignoring_case(candidate->info.type, type);
  });
  return {first, last};
}

}  // namespace

std::string OpClass::version() const {
  return info.version.empty() ? "opset" + std::to_string(info.first_opset) : std::string(info.version);
}

std::span<const OpClass* const> all_op_classes() { return sorted_classes(); }

std::vector<const OpClass*> op_classes_of_type(std::string_view type) {
  const std::span<const OpClass* const> classes = classes_of(type);
  return {classes.begin(), classes.end()};
}

const OpClass* find_op_class(std::string_view type, int opset) {
  for (const OpClass* candidate : classes_of(type)) {
    if (candidate->in_opset(opset)) return candidate;
  }
  return nullptr;
}

}  // namespace ir
