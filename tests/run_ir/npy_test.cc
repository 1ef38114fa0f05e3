// NumPy's files, and files that only look like them.
#include "samples/run_ir/npy.h"

#include <sys/stat.h>

#include <string>
#include <vector>

#include "ir_runtime/diagnostics.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace {

using ir::test::bytes_of;
using ir::test::TemporaryFolder;

// A file of version `major` with this dictionary and data.
std::string npy(std::string header, const std::string& data, char major = 1) {
  header += '\n';
  std::string bytes = std::string("\x93NUMPY", 6) + major + '\0';
  bytes += static_cast<char>(header.size() & 255U);
  bytes += static_cast<char>(header.size() >> 8U);
  if (major > 1) bytes += std::string(2, '\0');
  return bytes + header + data;
}

std::string failure(const std::string& bytes) {
  const TemporaryFolder folder;
  try {
    (void)run_ir::read_npy(folder.write("a.npy", bytes));
  } catch (const ir::Error& error) {
    return error.code() + ": " + error.diagnostics()[0].message;
  }
  return "none";
}

TEST_CASE("strings are bytes of one length") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.npy";
  run_ir::write_npy(path, ir::Tensor::of<std::string>({3}, {"Intel", "", "OMZ"}));
  CHECK(bytes_of(path).find("'|S5'") != std::string::npos);
  const ir::Tensor read = run_ir::read_npy(path);
  CHECK(read.shape() == ir::Shape{3});
  const auto strings = read.data<std::string>();
  CHECK(std::vector<std::string>(strings.begin(), strings.end()) ==
        std::vector<std::string>{"Intel", "", "OMZ"});
  const auto header = [](const std::string& descr, const std::string& shape) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  };
  CHECK(failure(npy(header("|S2", "3,"), "aabb")) ==
        "IR-npy: the file holds 4 bytes of data, shape [3] takes strings of 2 bytes");
  CHECK(failure(npy(header("|S0", "99999999999,"), "")).starts_with("IR-npy: the file holds 0 bytes"));
  CHECK(failure(npy(header("|Sx", "3,"), "")) == "IR-npy: elements of type '|Sx' are not supported");
}

TEST_CASE("every type that NumPy has survives being written and read") {
  const TemporaryFolder folder;
  for (const ir::ElementType type :
       {ir::ElementType::f64, ir::ElementType::f32, ir::ElementType::f16, ir::ElementType::i8,
        ir::ElementType::i16, ir::ElementType::i32, ir::ElementType::i64, ir::ElementType::u8,
        ir::ElementType::u16, ir::ElementType::u32, ir::ElementType::u64, ir::ElementType::boolean}) {
    INFO(ir::name_of(type));
    for (const ir::Shape& shape : {ir::Shape{2, 3}, ir::Shape{4}, ir::Shape{}, ir::Shape{0, 5}}) {
      ir::Tensor tensor(ir::ElementType::f32, shape);
      float next = 0;
      for (float& value : tensor.data<float>()) value = next++;
      tensor = tensor.converted(type);
      run_ir::write_npy(folder.path() / "a.npy", tensor);
      const ir::Tensor read = run_ir::read_npy(folder.path() / "a.npy");
      CHECK(read.element_type() == type);
      CHECK(read.shape() == shape);
      const auto elements = [](const ir::Tensor& t) {
        return std::string(static_cast<const char*>(t.raw()), t.byte_size());
      };
      CHECK(elements(read) == elements(tensor));
    }
  }
}

TEST_CASE("types that NumPy lacks are written as f32") {
  const TemporaryFolder folder;
  for (const ir::ElementType type : {ir::ElementType::bf16, ir::ElementType::u4, ir::ElementType::f8e4m3}) {
    run_ir::write_npy(folder.path() / "a.npy", ir::Tensor::of<float>({2}, {1.0F, 4.0F}).converted(type));
    const ir::Tensor read = run_ir::read_npy(folder.path() / "a.npy");
    CHECK(read.element_type() == ir::ElementType::f32);
    CHECK(read.data<float>()[1] == 4.0F);
  }
}

TEST_CASE("what is written is what NumPy writes: data from a multiple of 64 bytes on") {
  const TemporaryFolder folder;
  run_ir::write_npy(folder.path() / "a.npy", ir::Tensor::of<std::int8_t>({2}, {1, 2}));
  const std::string bytes = bytes_of(folder.path() / "a.npy");
  REQUIRE(bytes.size() == 130);
  CHECK(bytes.starts_with(std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                          "{'descr': '|i1', 'fortran_order': False, 'shape': (2, ), }  "));
  CHECK(bytes.substr(127) == "\n\x01\x02");
}

TEST_CASE("headers of NumPy's versions 1 to 3 are read, blanks and all") {
  const TemporaryFolder folder;
  for (const char major : {'\1', '\2', '\3'}) {
    const ir::Tensor read = run_ir::read_npy(
        folder.write("a.npy", npy("{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2), }    ",
                                  std::string("\5\0\6\0", 4), major)));
    CHECK(read.shape() == ir::Shape{1, 2});
    CHECK(read.data<std::int16_t>()[1] == 6);
  }
  CHECK(run_ir::read_npy(
            folder.write("b.npy", npy("{'shape': (), 'fortran_order': False, 'descr': '|u1'}", "x")))
            .shape()
            .empty());
}

TEST_CASE("headers of Python 2 and of other writers than NumPy are read") {
  const TemporaryFolder folder;
  const auto shape_of = [&](const std::string& header) {
    return run_ir::read_npy(folder.write("a.npy", npy(header, std::string(24, '\0')))).shape();
  };
  CHECK(shape_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }") == ir::Shape{2, 3});
  CHECK(shape_of("{'descr': '<f4', 'fortran_order': False, 'shape': (6L,), }") == ir::Shape{6});
  CHECK(shape_of(R"({"descr": "<f4", "fortran_order": False, "shape": (2, 3), })") == ir::Shape{2, 3});
  CHECK(shape_of("{ 'descr' :\t'<f4' , \"fortran_order\":False , 'shape':(2,3)}") == ir::Shape{2, 3});
  CHECK(shape_of(R"({"descr": "<f4", "fortran_order": True, "shape": (2, 3), })") == ir::Shape{2, 3});
}

TEST_CASE("arrays in Fortran order are read as they are indexed") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& descr, const std::string& shape, const std::string& data) {
    return run_ir::read_npy(folder.write(
        "a.npy", npy("{'descr': '" + descr + "', 'fortran_order': True, 'shape': " + shape + ", }", data)));
  };
  const auto elements = []<class T>(const ir::Tensor& tensor, T) {
    const auto data = tensor.data<T>();
    return std::vector<T>(data.begin(), data.end());
  };
  const ir::Tensor plane = read("|i1", "(2, 3)", "\1\4\2\5\3\6");
  CHECK(plane.shape() == ir::Shape{2, 3});
  CHECK(elements(plane, std::int8_t{}) == std::vector<std::int8_t>{1, 2, 3, 4, 5, 6});
  const ir::Tensor block = read(">i2", "(2, 1, 2, 2)", std::string("\0\1\0\5\0\3\0\7\0\2\0\6\0\4\0\10", 16));
  CHECK(elements(block, std::int16_t{}) == std::vector<std::int16_t>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(elements(read("|S3", "(2, 2)", std::string("abcg\0\0defhi\0", 12)), std::string()) ==
        std::vector<std::string>{"abc", "def", "g", "hi"});
  CHECK(read("<f4", "()", "1234").shape().empty());
  CHECK(read("<f4", "(0, 3)", "").shape() == ir::Shape{0, 3});
}

TEST_CASE("elements with the first byte last, or of one byte with any order, are read") {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& descr, const std::string& data) {
    return run_ir::read_npy(folder.write(
        "a.npy", npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,), }", data)));
  };
  const ir::Tensor floats = read(">f4", std::string("\x3F\x80\0\0\xC0\0\0\0", 8));
  CHECK(floats.element_type() == ir::ElementType::f32);
  CHECK(floats.data<float>()[0] == 1.0F);
  CHECK(floats.data<float>()[1] == -2.0F);
  CHECK(read(">i2", std::string("\1\2\0\3", 4)).data<std::int16_t>()[0] == 258);
  CHECK(read(">i8", std::string("\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\6", 16)).data<std::int64_t>()[1] == 6);
  for (const char* descr : {"|u1", "<u1", ">u1"}) CHECK(read(descr, "ab").data<std::uint8_t>()[1] == 'b');
  CHECK(failure(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "1234")) ==
        "IR-npy: the file holds 4 bytes of data, shape [2] of f32 takes 8");
}

TEST_CASE("characters of 32 bits become UTF-8") {
  const TemporaryFolder folder;
  const auto header = [](const std::string& descr) {
    return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (2,), }";
  };
  const auto little = std::string("a\0\0\0\xE9\0\0\0", 8) + std::string("\xAC\x20\0\0\0\xF6\1\0", 8);
  const auto big = std::string("\0\0\0a\0\0\0\xE9", 8) + std::string("\0\0\x20\xAC\0\1\xF6\0", 8);
  for (const auto& [descr, data] : {std::pair("<U2", little), std::pair(">U2", big)}) {
    const ir::Tensor read = run_ir::read_npy(folder.write("a.npy", npy(header(descr), data)));
    CHECK(read.data<std::string>()[0] == "a\xC3\xA9");
    CHECK(read.data<std::string>()[1] == "\xE2\x82\xAC\xF0\x9F\x98\x80");
  }
  const ir::Tensor padded = run_ir::read_npy(
      folder.write("a.npy", npy(header("<U2"), std::string("a\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16))));
  CHECK(padded.data<std::string>()[0] == "a");
  CHECK(padded.data<std::string>()[1].empty());
  CHECK(failure(npy(header("<U1"), std::string("a\0\0\0\0\xD8\0\0", 8))) ==
        "IR-npy: a string has the character 0xd800, which Unicode lacks");
  CHECK(failure(npy(header("<U1"), std::string("a\0\0\0\xFF\xFF\xFF\xFF", 8))) ==
        "IR-npy: a string has the character 0xffffffff, which Unicode lacks");
  CHECK(failure(npy(header("<U1"), "abcd")) ==
        "IR-npy: the file holds 4 bytes of data, shape [2] takes strings of 4 bytes");
  CHECK(failure(npy(header("<U0"), "")).starts_with("IR-npy: the file holds 0 bytes"));
}

TEST_CASE("files that are no such array are refused with what is wrong") {
  const auto header = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  CHECK(failure("") == "IR-npy: this is not a .npy file");
  CHECK(failure("no NumPy at all") == "IR-npy: this is not a .npy file");
  CHECK(failure(npy("{}", "", 4)) == "IR-npy: version 4 of the format is not known");
  CHECK(failure(std::string("\x93NUMPY\x01\x00\xFF\xFF{}", 12)) == "IR-npy: the header is cut off");
  CHECK(failure(std::string("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{}", 14)) == "IR-npy: the header is cut off");
  CHECK(failure(std::string("\x93NUMPY\x02\x00\x00\x00", 10)) == "IR-npy: the header is cut off");
  CHECK(failure(npy(header("'<f4'", "True", "(2,)"), "1234")) ==
        "IR-npy: the file holds 4 bytes of data, shape [2] of f32 takes 8");
  CHECK(failure(npy(header("'<f4'", "true", "(1,)"), "1234")) ==
        "IR-npy: the header does not say whether the order is Fortran's");
  for (const std::string descr :
       {"|f4", ">f3", "f4", "=f4", "<c8", "<U", "<U-1", "<U4611686018427387904", "<", ""}) {
    CHECK(failure(npy(header("'" + descr + "'", "False", "(1,)"), "1234")) ==
          "IR-npy: elements of type '" + descr + "' are not supported");
  }
  CHECK(failure(npy("{'descr': '<f4', 'shape': (1,), }", "1234")) ==
        "IR-npy: the header does not say whether the order is Fortran's");
  CHECK(failure(npy(header("\"<f4'", "False", "(1,)"), "1234")) ==
        "IR-npy: elements of type '\"<f4'' are not supported");
  CHECK(failure(npy(header("'<f4'", "False", "(1LL,)"), "1234")).starts_with("IR-npy: the shape '("));
  CHECK(failure(npy(header("'|O'", "False", "(1,)"), "1234")) ==
        "IR-npy: elements of type '|O' are not supported");
  CHECK(failure(npy("{'fortran_order': False, 'shape': (1,), }", "1234")) ==
        "IR-npy: elements of type '' are not supported");
  CHECK(failure(npy("{'descr': '<f4', 'fortran_order': False, }", "1234")) ==
        "IR-npy: the header has no shape");
  CHECK(failure(npy(header("'<f4'", "False", "(-1,)"), "1234")) == "IR-npy: the shape '(-1,' is malformed");
  CHECK(failure(npy(header("'<f4'", "False", "(1.5,)"), "1234")).starts_with("IR-npy: the shape '("));
  CHECK(failure(npy(header("'<f4'", "False", "(99999999999999999999,)"), "1234")) ==
        "IR-npy: the shape '(99999999999999999999,' is malformed");
  CHECK(failure(npy(header("'<f4'", "False", "(2,)"), "1234")) ==
        "IR-npy: the file holds 4 bytes of data, shape [2] of f32 takes 8");
  CHECK(failure(npy(header("'<f4'", "False", "(4294967296, 4294967296)"), "1234")) ==
        "IR-npy: the file holds 4 bytes of data, shape [4294967296,4294967296] of f32 takes more than any "
        "file has");
}

TEST_CASE("files that cannot be read or written are named") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(run_ir::read_npy(folder.path() / "absent.npy"),
                    ir::test::contains_text("absent.npy: error: the file does not exist [IR-file]"));
  CHECK_THROWS_WITH(run_ir::write_npy(folder.path() / "no" / "a.npy", ir::Tensor::of<float>({1}, {1.0F})),
                    ir::test::contains_text(
                        "a.npy: error: the file cannot be written: No such file or directory [IR-file]"));
}

TEST_CASE("an array takes the place of a file whole, and of nothing else") {
  const TemporaryFolder folder;
  const ir::Tensor tensor = ir::Tensor::of<float>({1}, {1.0F});
  const auto fifo = folder.path() / "fifo.npy";
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(run_ir::write_npy(fifo, tensor),
                    ir::test::contains_text("it is a FIFO; it must be a regular file [IR-file]"));
  CHECK(std::filesystem::is_fifo(fifo));
  const auto file = folder.write("a.npy", "old");
  const auto other = folder.path() / "other.npy";
  std::filesystem::create_hard_link(file, other);
  run_ir::write_npy(file, tensor);
  CHECK(ir::test::bytes_of(other) == "old");
  CHECK(run_ir::read_npy(file).shape() == ir::Shape{1});
}

}  // namespace
