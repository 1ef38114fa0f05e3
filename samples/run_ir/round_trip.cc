#include "samples/run_ir/round_trip.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "ir_reader/case_file.h"
#include "ir_reader/difference.h"
#include "ir_reader/errors.h"
#include "ir_reader/ir_version.h"
#include "ir_reader/weights.h"
#include "ir_runtime/write_model.h"
#include "samples/run_ir/case_runner.h"
#include "samples/run_ir/limits.h"

namespace run_ir {
namespace {

constexpr std::array kVersions{10, 11};

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "run_ir.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
      throw ir::Error("IR-file", fmt::format("{}: {}", name, std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The model as a reader of `version` must see it.
ir::Model seen_as(const ir::Model& model, int version) {
  ir::Model seen = model;
  if (version == 10) ir::reader::present_as_v10(seen);
  return seen;
}

}  // namespace

void require_weights_stay(const std::filesystem::path& model, const std::filesystem::path& weights,
                          const std::filesystem::path& copy) {
  std::error_code error;
  if (std::filesystem::equivalent(model, copy, error) ||
      !std::filesystem::equivalent(ir::reader::weights_file_of(model, weights),
                                   ir::reader::weights_file_of(copy), error))
    return;
  throw ir::reader::file_error("IR-file", copy.string(),
                               fmt::format("its weights would replace those of {}", model.string()),
                               "name another file");
}

std::shared_ptr<ir::Model> written_and_read(const ir::Model& model, const std::filesystem::path& xml,
                                            int version, const ir::ReadOptions& options) {
  ir::WriteOptions write_options;
  write_options.ir_version = version;
  ir::write_model(model, xml, write_options);
  std::shared_ptr<ir::Model> again = ir::read_model(xml, {}, options);
  if (const auto wrong = ir::reader::difference(seen_as(model, version), *again))
    throw ir::Error("IR-round-trip",
                    fmt::format("IR version {} reads as another model: {}", version, *wrong));
  return again;
}

std::vector<std::string> run_round_trip(const std::filesystem::path& case_file,
                                        const ir::CompileOptions& options) {
  try {
    const ir::reader::CaseFile file = ir::reader::read_case(case_file);
    const std::shared_ptr<ir::Model> model = ir::read_model(file.model, {}, limits().read);
    const TemporaryFolder folder;
    std::vector<std::string> failures;
    for (const int version : kVersions) {
      const auto again = written_and_read(*model, folder.path() / "again.xml", version, limits().read);
      const std::vector<ir::Tensor> expected = case_outputs(file, seen_as(*model, version), options);
      const std::vector<ir::Tensor> got = case_outputs(file, *again, options);
      for (std::size_t i = 0; i < expected.size(); ++i) {
        if (!ir::reader::identical(got[i], expected[i]))
          failures.push_back(fmt::format("IR version {}: output {} is not the same", version, i));
      }
    }
    return failures;
  } catch (const ir::Error& error) {
    return failures_of(error);
  }
}

}  // namespace run_ir
