#include "ir_runtime/ops/einsum.h"

#include <map>
#include <numeric>

#include "tests/ops/support.h"

namespace ir::test {
namespace {

using op::v7::Einsum;

ValueInfo real(PartialShape shape) { return value(ElementType::f32, std::move(shape)); }

// Small integers without a pattern, so that every sum is exact.
template <class T>
Tensor digits(Shape shape, std::uint32_t seed) {
  Tensor tensor(element_type_for<T>, std::move(shape));
  for (T& element : tensor.data<T>()) {
    seed = seed * 1664525U + 1013904223U;
    element = static_cast<T>((seed >> 24) % 5);
  }
  return tensor;
}

// The definition, letter by letter, for subscripts without an ellipsis.
template <class T>
std::vector<T> twin(const std::vector<std::string>& subscripts, const std::string& output,
                    const std::vector<Tensor>& inputs) {
  std::map<char, std::int64_t> dims;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    for (std::size_t axis = 0; axis < subscripts[i].size(); ++axis) {
      std::int64_t& dim = dims.emplace(subscripts[i][axis], 1).first->second;
      dim = std::max(dim, inputs[i].shape()[axis]);
    }
  }
  const auto offset = [](const std::string& subscript, const Shape& shape,
                         const std::map<char, std::int64_t>& at) {
    std::int64_t result = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      result = result * shape[axis] + (shape[axis] == 1 ? 0 : at.at(subscript[axis]));
    }
    return static_cast<std::size_t>(result);
  };
  Shape shape;
  for (const char letter : output) shape.push_back(dims.at(letter));
  std::vector<T> result(static_cast<std::size_t>(element_count(shape).value()));
  std::map<char, std::int64_t> at;
  for (const auto& [letter, dim] : dims) at[letter] = 0;
  for (;;) {
    T product = 1;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      product = static_cast<T>(product * inputs[i].data<T>()[offset(subscripts[i], inputs[i].shape(), at)]);
    }
    T& sum = result[offset(output, shape, at)];
    sum = static_cast<T>(sum + product);
    auto letter = at.begin();
    for (; letter != at.end() && ++letter->second == dims[letter->first]; ++letter) letter->second = 0;
    if (letter == at.end()) return result;
  }
}

template <class T>
void check_against_twin(const std::string& equation, const std::vector<Shape>& shapes) {
  INFO(equation);
  std::vector<std::string> subscripts(1);
  const std::size_t arrow = equation.find("->");
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      subscripts.emplace_back();
    } else {
      subscripts.back() += c;
    }
  }
  std::vector<Tensor> inputs;
  for (const Shape& shape : shapes)
    inputs.push_back(digits<T>(shape, static_cast<std::uint32_t>(inputs.size())));
  const Tensor got = run(Einsum(equation), inputs);
  const auto data = got.data<T>();
  CHECK(std::vector<T>(data.begin(), data.end()) == twin<T>(subscripts, equation.substr(arrow + 2), inputs));
}

}  // namespace

TEST_CASE("Einsum computes the specification's examples", "[einsum]") {
  const Tensor square = f32({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor batch = f32({2, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 2, 4, 6, 8, 10, 12, 14, 16, 18});
  check_equal<float>(run(Einsum("i,i->"), {f32({3}, {1, 2, 3}), f32({3}, {4, 5, 6})}), {}, {32});
  check_equal<float>(run(Einsum("ij,j->i"), {f32({2, 3}, {1, 2, 3, 1, 2, 3}), f32({3}, {4, 5, 6})}), {2},
                     {32, 32});
  check_equal<float>(run(Einsum("kii->k"), {batch}), {2}, {15, 30});
  check_equal<float>(run(Einsum("kii->ki"), {batch}), {2, 3}, {1, 5, 9, 2, 10, 18});
  check_equal<float>(run(Einsum("ijk->kij"), {square.reshaped({1, 3, 3})}), {3, 1, 3},
                     {1, 4, 7, 2, 5, 8, 3, 6, 9});
  check_equal<float>(run(Einsum("a...->..."), {square}), {3}, {12, 15, 18});
  check_equal<float>(run(Einsum("a...,...->a..."), {square, f32({1}, {0.5F})}), {3, 3},
                     {0.5F, 1, 1.5F, 2, 2.5F, 3, 3.5F, 4, 4.5F});
  check_equal<float>(run(Einsum("AbC"), {f32({1, 2, 3}, {1, 2, 3, 4, 5, 6})}), {1, 3, 2}, {1, 4, 2, 5, 3, 6});
}

TEMPLATE_TEST_CASE("Einsum agrees with its definition", "[einsum]", float, double, std::int8_t, std::int32_t,
                   std::int64_t, std::uint8_t, std::uint64_t) {
  const auto check = check_against_twin<TestType>;
  // One operand.
  check("a->a", {{4}});
  check("ab->ba", {{3, 4}});
  check("ab->", {{3, 4}});
  check("abc->b", {{3, 4, 5}});
  check("aa->a", {{4, 4}});
  check("aab->", {{4, 4, 3}});
  check("abab->ba", {{3, 4, 3, 4}});
  check("->", {{}});
  // Matrix products, in every order of rows and columns.
  for (const std::string a : {"ij", "ji"}) {
    for (const std::string b : {"jk", "kj"}) {
      for (const std::string out : {"ik", "ki"}) {
        const auto dim = [](char c) { return std::int64_t{c == 'i' ? 3 : c == 'j' ? 4 : 5}; };
        check(a + "," + b + "->" + out, {{dim(a[0]), dim(a[1])}, {dim(b[0]), dim(b[1])}});
      }
    }
  }
  // Batches, several rows, columns and summed axes.
  check("bhqd,bkhd->bhqk", {{2, 3, 4, 5}, {2, 6, 3, 5}});
  check("bhqk,bkhd->bqhd", {{2, 3, 4, 6}, {2, 6, 3, 5}});
  check("btd,dhk->bthk", {{2, 3, 4}, {4, 5, 6}});
  check("bthk,dhk->btd", {{2, 3, 5, 6}, {4, 5, 6}});
  check("abcd,efcd->abef", {{2, 3, 4, 5}, {3, 2, 4, 5}});
  check("abcd,dcef->feab", {{2, 3, 4, 5}, {5, 4, 2, 3}});
  check("nchw,oc->nohw", {{2, 3, 4, 5}, {6, 3}});
  check("ij,ij->i", {{3, 4}, {3, 4}});
  check("ij,ij->ij", {{3, 4}, {3, 4}});
  check("ij,ji->ij", {{3, 4}, {4, 3}});
  check("ij,ij->", {{3, 4}, {3, 4}});
  check("a,b->ba", {{3}, {4}});
  check(",a->a", {{}, {4}});
  check("abbac,bad->ad", {{2, 3, 3, 2, 4}, {3, 2, 1}});
  // Labels of one operand that are summed.
  check("abc,bd->d", {{3, 4, 5}, {4, 6}});
  check("ab,cd->", {{3, 4}, {5, 6}});
  // Dims of 1 that are repeated.
  check("ij,jk->ik", {{3, 1}, {4, 5}});
  check("ij,ij->ij", {{3, 1}, {1, 4}});
  check("bij,bjk->bik", {{1, 3, 4}, {5, 4, 2}});
  check("ij,jk->ik", {{1, 1}, {1, 1}});
  // Many operands.
  check("ab,bcd,bc->ca", {{2, 4}, {4, 3, 1}, {4, 3}});
  check("ab,cd,ac,bd->", {{3, 4}, {5, 2}, {3, 5}, {4, 2}});
  check("a,a,a,a->a", {{3}, {3}, {3}, {3}});
  check("ab,bc,cd,de->ae", {{3, 2}, {2, 4}, {4, 3}, {3, 5}});
  check("abc,abd,abe->cde", {{2, 3, 4}, {2, 3, 5}, {2, 3, 2}});
}

TEST_CASE("Einsum spreads the axes of an ellipsis", "[einsum]") {
  const auto same = [](const std::string& equation, const std::string& letters,
                       const std::vector<Shape>& shapes, const std::vector<Shape>& aligned) {
    INFO(equation);
    std::vector<Tensor> a;
    std::vector<Tensor> b;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      a.push_back(digits<float>(shapes[i], static_cast<std::uint32_t>(i)));
      b.push_back(a.back().reshaped(aligned[i]));
    }
    const Tensor expected = run(Einsum(letters), b);
    const auto data = expected.data<float>();
    check_equal<float>(run(Einsum(equation), a), expected.shape(), {data.begin(), data.end()});
  };
  same("a...b,b...->a...", "axyzb,bxyz->axyz", {{9, 1, 4, 3}, {3, 11, 7, 1}},
       {{9, 1, 1, 4, 3}, {3, 11, 7, 1}});
  same("ab...,ac...,ade->...bc", "abx,acx,ade->xbc", {{2, 3, 4}, {2, 7, 1}, {2, 4, 7}},
       {{2, 3, 4}, {2, 7, 1}, {2, 4, 7}});
  same("...ij,...jk->...ik", "xij,xjk->xik", {{5, 2, 3}, {3, 4}}, {{5, 2, 3}, {1, 3, 4}});
  same("a...,a...", "axy,axy->xy", {{2, 3, 4}, {2, 4}}, {{2, 3, 4}, {2, 1, 4}});
  same("a...->a...", "a->a", {{3}}, {{3}});
}

TEST_CASE("Einsum ignores blanks and sorts an implicit output", "[einsum]") {
  const Tensor a = digits<float>({4, 2, 2, 3}, 1);
  const Tensor b = digits<float>({3, 5}, 2);
  const Tensor expected = run(Einsum("dbbc,ca->ad"), {a, b});
  const auto data = expected.data<float>();
  check_equal<float>(run(Einsum(" db bc , ca "), {a, b}), {5, 4}, {data.begin(), data.end()});
  check_equal<float>(run(Einsum("ii"), {f32({2, 2}, {1, 2, 3, 4})}), {}, {5});
}

TEST_CASE("Einsum works for halves", "[einsum]") {
  for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
    const Tensor result =
        run(Einsum("i,i->"), {f32({3}, {1, 2, 3}).converted(type), f32({3}, {4, 5, 6}).converted(type)});
    CHECK(result.element_type() == type);
    check_close(result.converted(ElementType::f32), {}, {32});
  }
}

TEST_CASE("Einsum of empty operands sums nothing", "[einsum]") {
  check_equal<float>(run(Einsum("ij,jk->ik"), {f32({2, 0}, {}), f32({0, 1}, {})}), {2, 1}, {0, 0});
  check_equal<float>(run(Einsum("ij->i"), {f32({2, 0}, {})}), {2}, {0, 0});
  check_equal<float>(run(Einsum("ij,jk->ik"), {f32({2, 1}, {1, 2}), f32({0, 1}, {})}), {2, 1}, {0, 0});
  CHECK(run(Einsum("ij,jk->ik"), {f32({0, 3}, {}), f32({3, 2}, {1, 2, 3, 4, 5, 6})}).shape() == Shape{0, 2});
}

TEST_CASE("Einsum chooses an order of products that stays small", "[einsum]") {
  // From left to right, products would have up to 2.4 * 10^13 elements.
  const auto wide = [&](std::int64_t size) { return digits<float>({size}, 3); };
  const Tensor result = run(Einsum("a,b,c,d,e,abcde->e"), {wide(7), wide(8), wide(9), wide(10), wide(11),
                                                           digits<float>({7, 8, 9, 10, 11}, 2)});
  CHECK(result.shape() == Shape{11});
  const Tensor chain = run(Einsum("a,b,c,d,a,b,c,d->"), {wide(1000), wide(2000), wide(3000), wide(4000),
                                                         wide(1000), wide(2000), wide(3000), wide(4000)});
  CHECK(chain.shape() == Shape{});
}

TEST_CASE("Einsum refuses a product that fits no memory", "[einsum]") {
  // Each of ten labels meets every other one, so that all of them come together on the way.
  std::string equation;
  for (char first = 'a'; first < 'j'; ++first) {
    for (char second = static_cast<char>(first + 1); second <= 'j'; ++second) {
      equation += std::string(equation.empty() ? "" : ",") + first + second;
    }
  }
  const std::vector<Tensor> inputs(45, digits<float>({64, 64}, 1));
  CHECK(error_of(Einsum(equation + "->"), inputs) ==
        "IR-tensor-size: a product of shape [64,64,64,64,64,64,64,64,64] inside of the sum has more elements "
        "than "
        "memory can hold");
}

TEST_CASE("Einsum infers what is known", "[einsum]") {
  CHECK(infer_shape(Einsum("ab...,ac...,ade->...bc"), {real({2, 3, 4}), real({2, 7, 1}), real({2, 4, 7})}) ==
        PartialShape{4, 3, 7});
  CHECK(infer_shape(Einsum("ij,jk->ik"), {real({Dimension(), 4}), real({Dimension(), Dimension(2, 5)})}) ==
        PartialShape{Dimension(), Dimension(2, 5)});
  CHECK(infer_shape(Einsum("ij,jk->ik"), {real(PartialShape()), real({4, 5})}) ==
        PartialShape{Dimension(), 5});
  CHECK(infer_shape(Einsum("i...,i->i..."), {real(PartialShape()), real({4})}) == PartialShape());
  CHECK(infer_shape(Einsum("ii->i"), {real({Dimension(), 4})}) == PartialShape{4});
  CHECK(explain_outputs(Einsum("i...->...i"), std::vector{real({2, 3})})[0] ==
        std::vector<std::string>{"'...' = 3", "'i' = 2"});
}

TEST_CASE("Einsum refuses equations that say nothing", "[einsum]") {
  const ValueInfo matrix = real({2, 3});
  const auto failure = [&](const std::string& equation, const std::vector<ValueInfo>& inputs) {
    return failure_of(Einsum(equation), inputs);
  };
  CHECK(failure("i1->i", {matrix}) ==
        "IR-attribute-value: equation 'i1->i': subscript 'i1' takes letters and one '...'");
  CHECK(failure("i..->i", {matrix}) ==
        "IR-attribute-value: equation 'i..->i': subscript 'i..' takes letters and one '...'");
  CHECK(failure("...i...->i", {matrix}) ==
        "IR-attribute-value: equation '...i...->i': subscript '...i...' has two ellipses");
  CHECK(failure("ij->k", {matrix}) == "IR-attribute-value: equation 'ij->k': no input has 'k'");
  CHECK(failure("ij->ii", {matrix}) == "IR-attribute-value: equation 'ij->ii': the output has 'i' twice");
  CHECK(failure("ij->...", {matrix}) == "IR-attribute-value: equation 'ij->...': no input has '...'");
  CHECK(failure("i...->i", {matrix}) ==
        "IR-attribute-value: equation 'i...->i': the output lacks the '...' of an input");
  CHECK(failure("ij->i->j", {matrix}) ==
        "IR-attribute-value: equation 'ij->i->j': subscript 'i->j' takes letters and one '...'");
}

TEST_CASE("Einsum refuses inputs that do not fit", "[einsum]") {
  const auto failure = [&](const std::string& equation, const std::vector<ValueInfo>& inputs) {
    return failure_of(Einsum(equation), inputs);
  };
  CHECK(failure("ij,jk->ik", {real({2, 3})}) == "IR-input-count: has 1 inputs, Einsum takes 2");
  CHECK(failure("ij->i", {real({2, 3, 4})}) ==
        "IR-rank: input 0 has shape [2,3,4]; its subscript has 2 labels");
  CHECK(failure("ijk...->...", {real({2, 3})}) ==
        "IR-rank: input 0 has shape [2,3]; its subscript has at least 3 labels");
  CHECK(failure("ii->i", {real({2, 3})}) == "IR-shape: input 0 has shape [2,3]: 'i' is 2 and 3");
  CHECK(failure("ij,jk->ik", {real({2, 3}), real({4, 5})}) ==
        "IR-broadcast: 'j' is 4 in input 1, but 3 before");
  CHECK(failure("i...,i...->...", {real({2, 3}), real({2, 4})}) ==
        "IR-broadcast: '...' is 4 in input 1, but 3 before");
  CHECK(failure("i,i->", {real({2}), value(ElementType::i32, {2})}) ==
        "IR-element-type: inputs 0 and 1 are of types f32 and i32, Einsum takes one type");
  CHECK(failure("i->i", {value(ElementType::boolean, {2})}) ==
        "IR-element-type: input 0 is of type boolean, Einsum takes a numeric type");
}

}  // namespace ir::test
