// The secrets the gate adds, and what keeps them from coming back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/process/request_rules.h"
#include "gate/protocol.h"

namespace cordon::gate {

class SecretStore {
 public:
  explicit SecretStore(std::vector<Secret> secrets);

  // The value that holds from now on. False: there is no secret of this name, or the value would
  // not be a header's.
  bool replace(std::string_view name, std::string_view value);
  // The header that carries it, ready to be sent; nothing while there is no value.
  [[nodiscard]] std::optional<Field> header_of(std::string_view name) const;
  // What must not come back: the value, what stands behind a scheme in it, and for credentials of
  // two parts the password and the encoded whole.
  [[nodiscard]] std::vector<std::string> spellings_of(std::string_view name) const;
  [[nodiscard]] const std::vector<KnownPlaceholder>& placeholders() const { return placeholders_; }

 private:
  [[nodiscard]] const Secret* find(std::string_view name) const;

  std::vector<Secret> secrets_;
  std::vector<KnownPlaceholder> placeholders_;
};

// EchoMask: replaces a secret that a server sends back by as many asterisks, wherever the pieces of
// a stream are cut.
//
// Servers echo what they were sent: in pages for debugging, in error messages. Only the end of a
// piece that may be the beginning of the secret is held back until more is there, and only once
// four characters of it are: a stream of single words is not delayed by a word that ends like one.
// This protects against an echo, not against a server that encodes what it got; such a server has
// the secret anyway.
class EchoMask {
 public:
  EchoMask() = default;
  explicit EchoMask(std::vector<std::string> spellings);

  [[nodiscard]] bool is_needed() const { return !spellings_.empty(); }
  // What of the stream can be passed on; to be used before the next call.
  std::string_view pass(std::string_view piece);
  // The rest of it.
  std::string_view finish();
  // One text that stands alone.
  [[nodiscard]] std::string masked(std::string text) const;

 private:
  [[nodiscard]] std::size_t held_back(std::string_view text) const;

  std::vector<std::string> spellings_;
  // Characters that were passed on, of which the last are still looked at, then what is held back.
  std::string pending_;
  std::size_t passed_ = 0;
};

}  // namespace cordon::gate
