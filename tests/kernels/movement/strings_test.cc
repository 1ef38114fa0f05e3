#include "kernels/movement/strings.h"

#include <limits>
#include <vector>

#include "tests/catch.h"

namespace ir::kernels {
namespace {

const std::vector<std::uint8_t> kSymbols{'O', 'M', 'Z', 'G', 'e', 'n'};

}  // namespace

TEST_CASE("pack_strings takes any ranges of the symbols") {
  const std::vector<std::int32_t> begins{0, 3, 3, 1};
  const std::vector<std::int32_t> ends{3, 3, 6, 5};
  std::vector<std::string> out(4, "before");
  CHECK_FALSE(pack_strings(begins.data(), ends.data(), kSymbols, out));
  CHECK(out == std::vector<std::string>{"OMZ", "", "Gen", "MZGe"});
}

TEST_CASE("pack_strings reports ranges outside of the symbols, and strings that get too long") {
  std::vector<std::string> out(2, "before");
  const auto bad = [&](std::vector<std::int64_t> begins, std::vector<std::int64_t> ends) {
    return pack_strings(begins.data(), ends.data(), kSymbols, out).value().position;
  };
  CHECK(bad({0, -1}, {1, 1}) == 1);
  CHECK(bad({2, 0}, {1, 1}) == 0);
  CHECK(bad({0, 0}, {1, 7}) == 1);
  CHECK(bad({0, std::numeric_limits<std::int64_t>::max()}, {1, std::numeric_limits<std::int64_t>::max()}) ==
        1);
  CHECK(out == std::vector<std::string>(2, "before"));

  const std::vector<std::uint8_t> many(1 << 20, 'a');
  const std::vector<std::int32_t> zeros(2048, 0);
  const std::vector<std::int32_t> ends(2048, 1 << 20);
  out.resize(2048);
  CHECK(pack_strings(zeros.data(), ends.data(), many, out).value().position == 2047);
}

TEST_CASE("unpack_strings is the way back") {
  const std::vector<std::string> strings{"OMZ", "", "Gen"};
  std::vector<std::int32_t> begins(3);
  std::vector<std::int32_t> ends(3);
  std::vector<std::uint8_t> symbols(total_length(strings));
  unpack_strings(strings, begins.data(), ends.data(), symbols.data());
  CHECK(begins == std::vector<std::int32_t>{0, 3, 3});
  CHECK(ends == std::vector<std::int32_t>{3, 3, 6});
  CHECK(symbols == kSymbols);
  CHECK(total_length({}) == 0);
}

}  // namespace ir::kernels
