// A convolution of blocks of space is one with a dilation.
#include "ir_runtime/ops/space.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using Integers = std::vector<std::int64_t>;

struct BlocksBuilder : Builder {
  using Builder::Builder;

  Node& to_batch(Output space, Integers block, Integers begin, Integers end) {
    return moved(op::v1::SpaceToBatch(), space, std::move(block), std::move(begin), std::move(end));
  }
  Node& to_space(Output batch, Integers block, Integers begin, Integers end) {
    return moved(op::v1::BatchToSpace(), batch, std::move(block), std::move(begin), std::move(end));
  }
  static op::v1::Convolution valid() {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {0, 0};
    op.auto_pad = op::AutoPad::valid;
    return op;
  }
  /// 4 filters of 3 x 3 for 3 channels.
  Node& convolved(Output image, const op::v1::Convolution& op = valid()) {
    return add(op, {image, constant({4, 3, 3, 3})});
  }

 private:
  Node& moved(Op op, Output value, Integers block, Integers begin, Integers end) {
    return add(std::move(op), {value, model.add_constant(std::move(block)),
                               model.add_constant(std::move(begin)), model.add_constant(std::move(end))});
  }
};

std::vector<Tensor> image() { return {random_tensor({2, 3, 10, 9}, 3)}; }

}  // namespace

TEST_CASE("A convolution of blocks of space becomes one with a dilation", "[passes]") {
  BlocksBuilder b(GENERATE(false, true) ? PartialShape{2, 3, 10, 9}
                                        : PartialShape{Dimension(), 3, Dimension(), Dimension()});
  SECTION("padded to keep its size") {
    Node& batch = b.to_batch(*b.x, {1, 1, 2, 2}, {0, 0, 2, 2}, {0, 0, 2, 3});
    Node& space = b.to_space(b.convolved(batch), {1, 1, 2, 2}, {0, 0, 0, 0}, {0, 0, 0, 1});
    check_rewrite(passes::fuse_dilation, b.result(space), {"Convolution"}, image());
  }
  SECTION("with other blocks for rows than for columns, and crops at both ends") {
    Node& batch = b.to_batch(*b.x, {1, 1, 4, 3}, {0, 0, 5, 3}, {0, 0, 5, 6});
    Node& space = b.to_space(b.convolved(batch), {1, 1, 4, 3}, {0, 0, 2, 1}, {0, 0, 1, 3});
    check_rewrite(passes::fuse_dilation, b.result(space), {"Convolution"}, image());
  }
  SECTION("that has pads and a dilation of its own") {
    op::v1::Convolution op = BlocksBuilder::valid();
    op.auto_pad = op::AutoPad::explicit_;
    op.pads_begin = {1, 2};
    op.pads_end = {2, 1};
    op.dilations = {2, 1};
    Node& batch = b.to_batch(*b.x, {1, 1, 2, 3}, {0, 0, 1, 0}, {0, 0, 1, 0});
    Node& space = b.to_space(b.convolved(batch, op), {1, 1, 2, 3}, {0, 0, 1, 0}, {0, 0, 0, 2});
    check_rewrite(passes::fuse_dilation, b.result(space), {"Convolution"}, image());
  }
  SECTION("in groups") {
    op::v1::GroupConvolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {1, 1};
    Node& batch = b.to_batch(*b.x, {1, 1, 2, 3}, {0, 0, 0, 0}, {0, 0, 0, 0});
    Node& sums = b.add(op, {batch, b.constant({3, 2, 1, 3, 3})});
    check_rewrite(passes::fuse_dilation, b.result(b.to_space(sums, {1, 1, 2, 3}, {0, 0, 0, 0}, {0, 0, 0, 0})),
                  {"GroupConvolution"}, image());
  }
}

TEST_CASE("Convolutions of blocks that a dilation cannot say stay", "[passes]") {
  BlocksBuilder b({2, 3, 10, 9});
  op::v1::Convolution op = BlocksBuilder::valid();
  const Integers block{1, 1, 2, 3};
  const Integers none{0, 0, 0, 0};
  SECTION("other blocks go back") {
    Node& batch = b.to_batch(*b.x, block, {0, 0, 2, 3}, {0, 0, 2, 3});
    check_untouched(passes::fuse_dilation,
                    b.result(b.to_space(b.convolved(batch), {1, 1, 3, 2}, none, none)));
  }
  SECTION("blocks of channels") {
    Node& batch = b.to_batch(*b.x, {1, 3, 2, 3}, none, none);
    Node& sums = b.add(op, {batch, b.constant({4, 1, 3, 3})});
    check_untouched(passes::fuse_dilation, b.result(b.to_space(sums, {1, 3, 2, 3}, none, none)));
  }
  SECTION("a stride") {
    op.strides = {1, 2};
    Node& batch = b.to_batch(*b.x, block, none, none);
    check_untouched(passes::fuse_dilation, b.result(b.to_space(b.convolved(batch, op), block, none, none)));
  }
  SECTION("more is cut off than there is around") {
    Node& batch = b.to_batch(*b.x, block, none, none);
    check_untouched(passes::fuse_dilation,
                    b.result(b.to_space(b.convolved(batch), block, {0, 0, 1, 0}, none)));
  }
  SECTION("all is cut off") {
    Node& batch = b.to_batch(*b.x, block, {0, 0, 0, 2}, {0, 0, 0, 1});
    Node& sums = b.add(op, {batch, b.constant({4, 3, 1, 4})});
    check_untouched(passes::fuse_dilation, b.result(b.to_space(sums, block, {0, 0, 0, 2}, {0, 0, 0, 1})));
  }
  SECTION("pads that are derived from the shape") {
    op.auto_pad = op::AutoPad::same_upper;
    Node& batch = b.to_batch(*b.x, block, none, none);
    check_untouched(passes::fuse_dilation, b.result(b.to_space(b.convolved(batch, op), block, none, none)));
  }
  SECTION("a second reader of the blocks") {
    Node& batch = b.to_batch(*b.x, block, none, none);
    b.model.add_result(batch);
    check_untouched(passes::fuse_dilation, b.result(b.to_space(b.convolved(batch), block, none, none)));
  }
  SECTION("a second reader of the sums") {
    Node& sums = b.convolved(b.to_batch(*b.x, block, none, none));
    b.model.add_result(sums);
    check_untouched(passes::fuse_dilation, b.result(b.to_space(sums, block, none, none)));
  }
}

TEST_CASE("All of an image of unknown size might be cut off where whole blocks are", "[passes]") {
  BlocksBuilder b({Dimension(), 3, Dimension(), Dimension()});
  Node& batch = b.to_batch(*b.x, {1, 1, 2, 3}, {0, 0, 2, 3}, {0, 0, 2, 3});
  Node& sums = b.convolved(batch);
  SECTION("part of one") {
    check_rewrite(passes::fuse_dilation, b.result(b.to_space(sums, {1, 1, 2, 3}, {0, 0, 0, 1}, {0, 0, 1, 1})),
                  {"Convolution"}, image());
  }
  SECTION("one in all") {
    check_untouched(passes::fuse_dilation,
                    b.result(b.to_space(sums, {1, 1, 2, 3}, {0, 0, 0, 1}, {0, 0, 1, 2})));
  }
}

}  // namespace ir::test
