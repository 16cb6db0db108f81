// SecretMask: keeps credentials out of what a model reads. It masks the values of variables of the
// server's own environment whose names say that they are secret, and text that has the shape of a
// well-known kind of token or private key. It is a second line: the sandbox itself is given
// neither.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::mcp {

class SecretMask {
 public:
  explicit SecretMask(const std::map<std::string, std::string>& environment);
  // A further value; short ones are ignored, they would mask ordinary words.
  void add(std::string value);

  struct Masked {
    std::string text;
    std::size_t count = 0;
  };
  [[nodiscard]] Masked mask(std::string_view text) const;
  // Of a text behind which something was left out, and of what comes after that: what may be a part
  // of a secret at the gap is masked too. Nobody can tell what the rest of it was.
  [[nodiscard]] Masked mask_before_gap(std::string_view text) const;
  [[nodiscard]] Masked mask_behind_gap(std::string_view text) const;

  // Where secrets stand in a text, in order and apart from each other.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  [[nodiscard]] std::vector<Span> spans(std::string_view text) const;
  // `text` from `begin` to `end` without what `spans` of the whole text say: a secret that is cut
  // by the beginning or the end of the part is masked with the part of it that lies inside.
  static Masked part(std::string_view text, const std::vector<Span>& spans, std::size_t begin,
                     std::size_t end);

 private:
  [[nodiscard]] std::size_t begun_at_end(std::string_view text) const;
  [[nodiscard]] std::size_t left_at_begin(std::string_view text) const;

  std::vector<std::string> values_;  // longest first
};

}  // namespace cordon::mcp
