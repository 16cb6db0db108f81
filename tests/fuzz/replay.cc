// Every stored input of every fuzz target, once: what a fuzzer has found stays found, without a
// fuzzer.
//   fuzz_replay DIR    DIR holds one directory of inputs for each target, with the target's name
// The name of an input is printed before it is tried, so that the last line names the one that
// failed. A target without inputs, and inputs without a target, are failures: nothing is passed by
// not being tried.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#define FUZZ_TARGET(name) extern "C" int try_##name(const std::uint8_t* data, std::size_t size);
#include "fuzz/targets.inc"
#undef FUZZ_TARGET

namespace {

namespace fs = std::filesystem;

struct Target {
  std::string_view name;
  int (*try_input)(const std::uint8_t* data, std::size_t size);
};

constexpr auto kTargets = std::to_array<Target>({
#define FUZZ_TARGET(name) {#name, try_##name},
#include "fuzz/targets.inc"
#undef FUZZ_TARGET
});

std::vector<fs::path> entries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

bool try_one(const Target& target, const fs::path& input) {
  std::puts(input.c_str());
  std::fflush(stdout);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(input, error);
  if (error) return false;
  // Of exactly this size, so that the sanitizer sees a read beyond its end.
  std::vector<std::uint8_t> data(size);
  std::ifstream file(input, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(size))) {
    return false;
  }
  target.try_input(data.data(), data.size());
  return true;
}

bool replay(const Target& target, const fs::path& directory) {
  const std::vector<fs::path> inputs = entries(directory);
  if (inputs.empty()) std::printf("%s: no stored input\n", directory.c_str());
  return !inputs.empty() &&
         std::ranges::all_of(inputs, [&](const fs::path& input) { return try_one(target, input); });
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: fuzz_replay DIR\n", stderr);
    return 2;
  }
  const fs::path corpus = words[1];
  bool passed = true;
  for (const Target& target : kTargets) passed = replay(target, corpus / target.name) && passed;
  for (const fs::path& directory : entries(corpus)) {
    if (std::ranges::find(kTargets, directory.filename().string(), &Target::name) != kTargets.end())
      continue;
    std::printf("%s: there is no such target\n", directory.c_str());
    passed = false;
  }
  std::printf("%zu targets, %s\n", kTargets.size(), passed ? "all stored inputs passed" : "FAILED");
  return passed ? 0 : 1;
}
