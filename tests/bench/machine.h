// A scratch home with the directories that are measured in, and what this machine is.
#pragma once

#include <string>

namespace bench {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  [[nodiscard]] std::string home() const { return path_ + "/home"; }
  // An empty project, where nothing else is said.
  [[nodiscard]] std::string empty() const { return home() + "/empty"; }
  // Makes a tree of this many files and answers with its top.
  [[nodiscard]] std::string tree(unsigned files) const;
  [[nodiscard]] std::string directory(const std::string& name) const;
  [[nodiscard]] std::string file(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

std::string describe_machine();

}  // namespace bench
