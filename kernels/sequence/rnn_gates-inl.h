// The element-wise part of recurrent cells: gates, activations and new states of one row at a step.
// Included inside a foreach_target file, after highway.h.
#if defined(KERNELS_SEQUENCE_RNN_GATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELS_SEQUENCE_RNN_GATES_INL_H_
#undef KERNELS_SEQUENCE_RNN_GATES_INL_H_
#else
#define KERNELS_SEQUENCE_RNN_GATES_INL_H_
#endif

#include <cstddef>
#include <limits>

#include "hwy/highway.h"
// After highway.h.
#include "kernels/base/math-inl.h"
#include "kernels/base/simd-inl.h"
#include "kernels/sequence/rnn_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace ir::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// An activation, the choice hoisted out of the loops over vectors.
struct Activation {
  RnnActivation spec;

  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, V x) const {
    switch (spec.function) {
      case RnnFunction::relu:
        return hn::IfThenElseZero(hn::Not(hn::Le(x, hn::Zero(d))), x);
      case RnnFunction::tanh:
        return tanh_f32(d, x);
      case RnnFunction::hard_sigmoid:
        return clamp_keep_nan(d, hn::Add(hn::Mul(hn::Set(d, spec.alpha), x), hn::Set(d, spec.beta)), 0.0F,
                              1.0F);
      case RnnFunction::sigmoid:
        break;
    }
    return sigmoid_f32(d, x);
  }
};

/// The element-wise part of a cell for one row (one batch element at one step), as RnnKernels has it.
class Gates {
 public:
  explicit Gates(const RnnParams& params)
      : hidden_(params.hidden_size),
        clip_(params.clip > 0 ? params.clip : std::numeric_limits<float>::infinity()),
        input_forget_(params.input_forget),
        linear_before_reset_(params.linear_before_reset),
        f_{params.activations[0]},
        g_{params.activations[1]},
        h_{params.activations[2]} {}

  void rnn(const float* gate, float* h) const {
    for_each_vector([&](auto access, std::size_t i)
                        HWY_ATTR { access.store(f(access.load(gate + i)), h + i); });
  }

  void lstm(const float* gates, float* c, float* h) const {
    const float* forget = gates;
    const float* input = gates + hidden_;
    const float* cell = gates + 2 * hidden_;
    const float* output = gates + 3 * hidden_;
    for_each_vector([&](auto access, std::size_t i) HWY_ATTR {
      const auto kept = f(access.load(forget + i));
      const auto taken = input_forget_ ? hn::Sub(hn::Set(D(), 1.0F), kept) : f(access.load(input + i));
      const auto state = hn::Add(hn::Mul(kept, access.load(c + i)), hn::Mul(taken, g(access.load(cell + i))));
      access.store(state, c + i);
      access.store(hn::Mul(f(access.load(output + i)), h_(D(), state)), h + i);
    });
  }

  void gru_update_and_reset(float* gates, const float* h, float* reset) const {
    for_each_vector([&](auto access, std::size_t i) HWY_ATTR {
      access.store(f(access.load(gates + i)), gates + i);
      const auto r = f(access.load(gates + hidden_ + i));
      access.store(linear_before_reset_ ? r : hn::Mul(r, access.load(h + i)), reset + i);
    });
  }

  void gru_state(const GruGates& gates, float* h) const {
    for_each_vector([&](auto access, std::size_t i) HWY_ATTR {
      const auto z = access.load(gates.z + i);
      auto candidate = access.load(gates.new_gate + i);
      if (linear_before_reset_) {
        candidate = hn::Add(candidate, hn::Mul(access.load(gates.reset + i), access.load(gates.product + i)));
      }
      const auto fresh = hn::Mul(hn::Sub(hn::Set(D(), 1.0F), z), g(candidate));
      access.store(hn::Add(fresh, hn::Mul(z, access.load(h + i))), h + i);
    });
  }

 private:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  struct WholeVector {
    HWY_INLINE V load(const float* from) const { return hn::LoadU(D(), from); }
    HWY_INLINE void store(V v, float* to) const { hn::StoreU(v, D(), to); }
  };
  struct Tail {
    std::size_t count;
    HWY_INLINE V load(const float* from) const { return load_n(D(), from, count); }
    HWY_INLINE void store(V v, float* to) const { store_n(v, D(), to, count); }
  };

  template <class F>
  HWY_INLINE void for_each_vector(const F& body) const {
    const std::size_t lanes = hn::Lanes(D());
    std::size_t i = 0;
    for (; i + lanes <= hidden_; i += lanes) body(WholeVector(), i);
    if (i < hidden_) body(Tail{hidden_ - i}, i);
  }

  HWY_INLINE V clipped(V x) const {
    const V limited = hn::Min(hn::Max(x, hn::Set(D(), -clip_)), hn::Set(D(), clip_));
    return hn::IfThenElse(hn::IsNaN(x), x, limited);
  }
  HWY_INLINE V f(V x) const { return f_(D(), clipped(x)); }
  HWY_INLINE V g(V x) const { return g_(D(), clipped(x)); }

  std::size_t hidden_;
  float clip_;
  bool input_forget_;
  bool linear_before_reset_;
  Activation f_;
  Activation g_;
  Activation h_;
};

}  // namespace ir::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // KERNELS_SEQUENCE_RNN_GATES_INL_H_
