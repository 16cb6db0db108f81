// What holds for every document that is accepted: written down and read again it is the same, and
// written down once more it is the same text.
#pragma once

#include <string>
#include <string_view>

#include "config/policy_document.h"
#include "require_that.h"

namespace cordon {

inline void check_policy(const Node& document, const std::string& file) {
  const auto policy = decode_policy(document, file, "/base", PresetHost{8ULL << 30U});
  if (!policy) {
    require_that(policy.error().kind == ErrorKind::Policy);
    require_that(policy.error().place.has_value());
    return;
  }
  const std::string toml = write_toml(*policy);
  const auto from_toml = read_toml(toml, file);
  require_that(from_toml.has_value());
  const auto second = decode_policy(*from_toml, file, "/base", PresetHost{});
  require_that(second.has_value());
  require_that(write_toml(*second) == toml);

  const std::string json = write_json(encode_policy(*policy), JsonStyle::Compact);
  const auto from_json = read_json(json, file);
  require_that(from_json.has_value());
  const auto third = decode_policy(*from_json, file, "/base", PresetHost{});
  require_that(third.has_value());
  require_that(*third == *second);
}

inline void check_ceiling(const Node& document, const std::string& file) {
  const auto ceiling = decode_ceiling(document, file, "/base");
  if (!ceiling) {
    require_that(ceiling.error().kind == ErrorKind::Policy);
    return;
  }
  Node written = encode_policy(ceiling->policy);
  if (Node ask = encode_ask(ceiling->ask); ask.map() != nullptr) written.set("ask", std::move(ask));
  const auto again = decode_ceiling(written, file, "/base");
  require_that(again.has_value());
  require_that(again->policy == ceiling->policy);
  require_that(again->ask == ceiling->ask);
}

}  // namespace cordon
