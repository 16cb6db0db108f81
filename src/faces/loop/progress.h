// Progress: how far a plan has come. Kept in Cordon's state, where no contained program reaches it,
// and written before and after every attempt, so that a loop which is killed goes on where it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "faces/loop/agent.h"
#include "faces/loop/plan_file.h"

namespace cordon::loop {

enum class FeatureState { Pending, Done, Failed, Skipped };
std::string_view name_of(FeatureState state);

struct FeatureProgress {
  std::string id;
  FeatureState state = FeatureState::Pending;
  std::uint64_t attempts = 0;  // begun ones
  std::uint64_t wall_ms = 0;
  Spent spent;
  std::string reason;  // why it is not done
  bool operator==(const FeatureProgress&) const = default;
};

struct Progress {
  std::string plan_hash;
  std::vector<FeatureProgress> features;  // in the order of the plan
  bool operator==(const Progress&) const = default;

  [[nodiscard]] std::uint64_t wall_ms() const;
  [[nodiscard]] Spent spent() const;
};

// Of a plan that nobody has worked on.
Progress fresh_progress(const Features& features, std::string plan_hash);
// What identifies a plan's work: everything but the marks of what is done.
std::string hash_of(const Features& features);

// One project's file. While it is open no other loop works on that project.
class ProgressFile {
 public:
  // `directory` is made if it is missing.
  static Result<ProgressFile> open(const std::string& directory);

  // Nothing if there is none yet. One that cannot be understood is an error: forgetting it would
  // repeat work that costs money.
  [[nodiscard]] Result<std::optional<Progress>> read() const;
  [[nodiscard]] Result<void> write(const Progress& progress) const;

 private:
  ProgressFile(const std::string& directory, Fd place, Fd lock);
  std::string path_;
  Fd place_;
  Fd lock_;
};

}  // namespace cordon::loop
