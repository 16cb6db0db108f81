// Section: one table of a policy or ceiling document, read key by key. Every refusal carries the
// place of the key or value at fault and, for an unknown key, the nearest valid one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/node.h"

namespace cordon {

// A string of a document and the node it stood in, for later complaints about it.
struct PlacedText {
  const std::string* text = nullptr;
  const Node* node = nullptr;
};

class Section {
 public:
  // Checks that `node` is a table with no key outside `keys`. `name` is empty for the document
  // itself. A Section refers to `node` and `file`; both outlive it.
  static Result<Section> open(const Node& node, const std::string& file, std::string_view name,
                              std::span<const std::string_view> keys);
  // The member table `name`; one without members if it is absent.
  [[nodiscard]] Result<Section> member(std::string_view name,
                                       std::span<const std::string_view> keys) const;

  [[nodiscard]] const std::string& file() const { return *file_; }
  [[nodiscard]] const Node& node() const { return *node_; }
  [[nodiscard]] const Node* find(std::string_view key) const { return node_->find(key); }

  // Each answers with nothing, or an empty list, if the key is absent.
  [[nodiscard]] Result<std::optional<PlacedText>> text(std::string_view key) const;
  [[nodiscard]] Result<std::vector<PlacedText>> texts(std::string_view key) const;
  [[nodiscard]] Result<std::optional<bool>> flag(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> size(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> duration(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> count(std::string_view key) const;
  [[nodiscard]] Result<std::optional<std::uint64_t>> thousandths(std::string_view key) const;

  // `"key" in [section]`, the way messages name a key.
  [[nodiscard]] std::string title(std::string_view key) const;
  [[nodiscard]] Error error_at(const Node& value, std::string what, std::string hint = {}) const;
  [[nodiscard]] Error error_at_key(const Node& member, std::string what,
                                   std::string hint = {}) const;

 private:
  Section(const Node& node, const std::string& file, std::string_view name)
      : node_(&node), file_(&file), name_(name) {}
  [[nodiscard]] Result<void> check_keys(std::span<const std::string_view> keys) const;

  const Node* node_;
  const std::string* file_;
  std::string name_;
};

// "a string", "an integer": what a value is, for messages.
std::string_view kind_name(const Node& node);
// `did you mean "x"?`, or nothing.
std::string suggestion(std::string_view word, std::span<const std::string_view> candidates);

// What may stand in a path list, judged by its spelling alone. Whether it exists, and what it
// means behind symlinks, is for the host to find out.

enum class PathUse { Read, Write, Deny, Socket };

// Refuses what no list may hold: an empty path, control bytes, over-long paths, "~user", ".."
// behind "~", unknown "@" words, and a writable root or system. The error has no place yet.
Result<void> check_path_entry(std::string_view text, PathUse use);
// True for every spelling of the root directory: "/", "//", "/.", "/..".
bool is_root_spelling(std::string_view text);

}  // namespace cordon
