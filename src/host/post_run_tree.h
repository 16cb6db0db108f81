// A run over a project of its own, for tests of the search after it: start(), change the tree,
// end().
#pragma once

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/post_run_scan.h"
#include "host/test_tree.h"

namespace cordon::testing {

class PostRunTree : public ::testing::Test {
 protected:
  PostRunTree() : caller_(tree_.caller()) {}

  void start(const Policy& policy = writable({"@cwd"})) {
    clamped_.emplace(clamped(policy, caller_));
    before_ = surveyed(*clamped_, caller_).snapshot;
  }
  std::vector<Quarantined> end() { return collected(*clamped_, caller_, before_); }

  std::string in(std::string_view path) const { return caller_.cwd + "/" + std::string(path); }
  std::string file(std::string_view path, std::string_view content = "x") {
    return tree_.file("home/project/" + std::string(path), content);
  }
  void link(std::string_view path, std::string_view target) {
    tree_.link("home/project/" + std::string(path), target);
  }
  bool exists(std::string_view path) { return tree_.exists("home/project/" + std::string(path)); }
  std::string handoff(std::string_view name) {
    return caller_.state_directory + "/handoff/run-1/" + std::string(name);
  }

  TestTree tree_;
  Caller caller_;
  std::optional<Clamped> clamped_;
  TreeSnapshot before_;
};

}  // namespace cordon::testing
