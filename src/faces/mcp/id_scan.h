// IdScan: the id of a request that is too long to be kept, so that its sender learns which one was
// refused. Clients write the id before the parameters or after them; so every byte is looked at, in
// a few bytes of memory. Only the "id" of the outermost object counts, whatever is nested in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "faces/mcp/envelope.h"

namespace cordon::mcp {

class IdScan {
 public:
  void add(std::string_view bytes);
  // Of the line so far; nothing if there was none, or one that no request may have.
  [[nodiscard]] std::optional<Id> id() const;
  void reset() { *this = {}; }

 private:
  void take(char c);

  unsigned depth_ = 0;
  bool in_text_ = false;
  bool escaped_ = false;
  bool is_key_ = false;     // what stands now, or stood last, in the outermost object is a key
  bool capturing_ = false;  // the value of "id"
  std::string key_;
  std::string value_;  // as it was written
};

}  // namespace cordon::mcp
