// MessageReader: one HTTP/1.1 message as Boost.Beast reads it, behind checks that Beast leaves to
// others.
//
// Two programs that read one message differently are what request smuggling lives on, so a head
// that can be read in two ways is refused before Beast sees it: lines that do not end with CRLF,
// folded lines, controls, blanks before a colon, names that are no tokens. What goes on is written
// anew from what was read, never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::web {

struct Field {
  std::string name;  // as it was spelled
  std::string value;
};
bool is_named(const Field& field, std::string_view lower_case_name);

struct Head {
  std::string method;  // of a request
  std::string target;
  unsigned status = 0;  // of a response
  std::string reason;
  int version = 11;
  std::vector<Field> fields;

  [[nodiscard]] std::size_t count(std::string_view lower_case_name) const;
  // Of the first that is so named; empty if there is none.
  [[nodiscard]] std::string_view value(std::string_view lower_case_name) const;
  // Whether a list of tokens, in any number of fields, holds this one in any spelling.
  [[nodiscard]] bool lists(std::string_view lower_case_name, std::string_view token) const;
};

enum class Framing { None, Length, Chunked, UntilEnd };

inline constexpr std::size_t kMostHead = std::size_t{32} << 10U;
inline constexpr std::size_t kMostFields = 128;

// How many bytes the head at the beginning of `bytes` has, with the blank line; nothing while it is
// not whole.
std::optional<std::size_t> head_size(std::string_view bytes);
// A line that ends as lines of text do: some readers take it for the end of a line, and this one
// waits for more.
bool has_bare_line_end(std::string_view bytes);
// Why such a head, or the fields behind a chunked body, cannot be read in one way only.
std::optional<std::string_view> ambiguity_of(std::string_view head);

class MessageReader {
 public:
  enum class Of {
    Request,
    Response,
    ResponseToHead,  // has no body, whatever its fields say
  };
  explicit MessageReader(Of what);
  MessageReader(MessageReader&&) noexcept;
  MessageReader& operator=(MessageReader&&) noexcept;
  ~MessageReader();

  struct Step {
    std::size_t consumed = 0;
    std::string_view piece;                   // of the body, a part of what was put
    std::optional<std::string_view> fault{};  // the message is none; nothing more can be put
  };
  // Reads the head, or the next element of the body. If nothing is consumed, more bytes are needed
  // in front of which the same ones stand again. Not to be called once the message is whole.
  Step put(std::string_view bytes);
  // The peer sends no more. False if the message is not whole by that.
  bool end();

  [[nodiscard]] bool has_head() const;
  [[nodiscard]] bool is_whole() const;
  [[nodiscard]] bool keeps_alive() const;
  [[nodiscard]] const Head& head() const;
  [[nodiscard]] Framing framing() const;
  [[nodiscard]] std::uint64_t length() const;  // of Framing::Length
  [[nodiscard]] const std::vector<Field>& trailers() const;

 private:
  class Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace cordon::web
