// A border of zeros becomes pads of what reads it.
#include "ir_runtime/ops/movement.h"
#include "ir_runtime/ops/pooling.h"
#include "runtime/passes/rewrites.h"
#include "tests/passes/support.h"

namespace ir::test {
namespace {

using Integers = std::vector<std::int64_t>;

struct PadBuilder : Builder {
  using Builder::Builder;

  Node& pad(Integers begin, Integers end, op::PadMode mode = op::PadMode::constant) {
    op::v1::Pad op;
    op.pad_mode = mode;
    return add(op, {*x, model.add_constant(std::move(begin)), model.add_constant(std::move(end))});
  }
  template <class AvgPool>
  Node& average(Output image, bool exclude_pad) {
    AvgPool op;
    op.strides = {1, 2};
    op.kernel = {3, 2};
    op.pads_begin = op.pads_end = {0, 0};
    op.exclude_pad = exclude_pad;
    return add(op, {image});
  }
};

}  // namespace

TEST_CASE("A border of zeros becomes pads of a convolution", "[passes]") {
  PadBuilder b(GENERATE(false, true) ? PartialShape{2, 3, 5, 6}
                                     : PartialShape{Dimension(), 3, Dimension(), Dimension()});
  SECTION("that has pads") {
    check_rewrite(passes::fuse_pad, b.result(b.convolution(b.pad({0, 0, 1, 0}, {0, 0, 2, 3}))),
                  {"Convolution"}, {random_image()});
  }
  SECTION("that has none, whatever it says") {
    op::v1::Convolution op;
    op.strides = op.dilations = {1, 1};
    op.pads_begin = op.pads_end = {7, 7};
    op.auto_pad = op::AutoPad::valid;
    Node& sums = b.add(op, {b.pad({0, 0, 1, 4}, {0, 0, 0, 5}), b.constant({4, 3, 3, 3})});
    check_rewrite(passes::fuse_pad, b.result(sums), {"Convolution"}, {random_image()});
  }
  SECTION("in groups") {
    op::v1::GroupConvolution op;
    op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
    Node& sums = b.add(op, {b.pad({0, 0, 1, 1}, {0, 0, 1, 1}), b.constant({3, 2, 1, 3, 3})});
    check_rewrite(passes::fuse_pad, b.result(sums), {"GroupConvolution"}, {random_image()});
  }
}

TEST_CASE("A border of zeros becomes pads of an average that counts them", "[passes]") {
  PadBuilder b({2, 3, 5, 6});
  Node& padded = b.pad({0, 0, 1, 2}, {0, 0, 3, 0});
  const bool excludes = GENERATE(false, true);
  Node* pooled = nullptr;
  SECTION("AvgPool-1") { pooled = &b.average<op::v1::AvgPool>(padded, excludes); }
  SECTION("AvgPool-14") { pooled = &b.average<op::v14::AvgPool>(padded, excludes); }
  SECTION("AvgPool-16") { pooled = &b.average<op::v16::AvgPool>(padded, excludes); }
  check_rewrite(passes::fuse_pad, b.result(*pooled), {"AvgPool"}, {random_image()});
}

TEST_CASE("Borders that pads cannot say stay", "[passes]") {
  PadBuilder b({2, 3, 5, 6});
  op::v1::Convolution op;
  op.strides = op.dilations = op.pads_begin = op.pads_end = {1, 1};
  const auto convolved = [&](Output padded) -> Node& {
    return b.add(op, {padded, b.constant({4, padded.info().shape[1].value(), 3, 3})});
  };
  SECTION("copies of the edge") {
    check_untouched(passes::fuse_pad,
                    b.result(convolved(b.pad({0, 0, 1, 1}, {0, 0, 1, 1}, op::PadMode::edge))));
  }
  SECTION("more channels") {
    check_untouched(passes::fuse_pad, b.result(convolved(b.pad({0, 1, 1, 1}, {0, 0, 1, 1}))));
  }
  SECTION("elements that are cut off") {
    op::v12::Pad pad;
    Node& cut = b.add(
        pad, {*b.x, b.model.add_constant(Integers{0, 0, -1, 1}), b.model.add_constant(Integers{0, 0, 0, 0})});
    check_untouched(passes::fuse_pad, b.result(convolved(cut)));
  }
  SECTION("another number") {
    op::v1::Pad pad;
    Node& ones = b.add(pad, {*b.x, b.model.add_constant(Integers{0, 0, 1, 1}),
                             b.model.add_constant(Integers{0, 0, 1, 1}), b.constant(number(1))});
    check_untouched(passes::fuse_pad, b.result(convolved(ones)));
  }
  SECTION("a second reader") {
    Node& padded = b.pad({0, 0, 1, 1}, {0, 0, 1, 1});
    b.model.add_result(padded);
    check_untouched(passes::fuse_pad, b.result(convolved(padded)));
  }
  SECTION("pads that are derived from the shape") {
    op.auto_pad = op::AutoPad::same_upper;
    check_untouched(passes::fuse_pad, b.result(convolved(b.pad({0, 0, 1, 1}, {0, 0, 1, 1}))));
  }
  SECTION("an average whose windows hang over the end") {
    op::v1::AvgPool pool;
    pool.strides = pool.kernel = {2, 2};
    pool.pads_begin = pool.pads_end = {0, 0};
    pool.rounding_type = op::Rounding::ceil;
    check_untouched(passes::fuse_pad, b.result(b.add(pool, {b.pad({0, 0, 0, 0}, {0, 0, 0, 1})})));
  }
  SECTION("an average that has pads") {
    op::v1::AvgPool pool;
    pool.strides = pool.kernel = {2, 2};
    pool.pads_begin = {0, 1};
    pool.pads_end = {0, 0};
    check_untouched(passes::fuse_pad, b.result(b.add(pool, {b.pad({0, 0, 0, 0}, {0, 0, 0, 1})})));
  }
}

}  // namespace ir::test
