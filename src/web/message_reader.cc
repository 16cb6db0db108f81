#include "web/message_reader.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>

#include "base/text.h"

namespace cordon::web {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using BeastText = boost::beast::string_view;

std::string_view plain(BeastText text) { return {text.data(), text.size()}; }

bool is_token_character(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kMarks.find(c) != std::string_view::npos;
}

bool is_forbidden_in_value(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

std::optional<std::string_view> ambiguity_of_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (line.front() == ' ' || line.front() == '\t') return "a header is folded over two lines";
  if (colon == std::string_view::npos || colon == 0) return "a header has no name";
  if (!std::ranges::all_of(line.substr(0, colon), is_token_character))
    return "the name of a header holds a character that no name has";
  return std::nullopt;
}

}  // namespace

bool is_named(const Field& field, std::string_view lower_case_name) {
  return std::ranges::equal(field.name, lower_case_name, {}, [](char c) { return lower_case(c); });
}

std::size_t Head::count(std::string_view lower_case_name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      fields, [&](const Field& field) { return is_named(field, lower_case_name); }));
}

std::string_view Head::value(std::string_view lower_case_name) const {
  const auto found =
      std::ranges::find_if(fields, [&](const Field& f) { return is_named(f, lower_case_name); });
  return found == fields.end() ? std::string_view() : std::string_view(found->value);
}

bool Head::lists(std::string_view lower_case_name, std::string_view token) const {
  constexpr std::string_view kBlanks = " \t";
  for (const Field& field : fields) {
    if (!is_named(field, lower_case_name)) continue;
    const std::string_view value = field.value;
    for (std::string_view part : split(value, ',')) {
      part.remove_prefix(std::min(part.find_first_not_of(kBlanks), part.size()));
      const std::size_t last = part.find_last_not_of(kBlanks);
      part = part.substr(0, last == std::string_view::npos ? 0 : last + 1);
      if (lower_case(part) == token) return true;
    }
  }
  return false;
}

std::optional<std::size_t> head_size(std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t end = bytes.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  return end + kEnd.size();
}

bool has_bare_line_end(std::string_view bytes) {
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1))
    if (at == 0 || bytes[at - 1] != '\r') return true;
  return false;
}

std::optional<std::string_view> ambiguity_of(std::string_view head) {
  bool first = true;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return "a line does not end as HTTP lines do";
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (std::ranges::any_of(line, is_forbidden_in_value)) return "a line holds a control character";
    if (first && line.empty()) return "there is a blank line before the request";
    if (!first && !line.empty()) {
      if (const auto ambiguity = ambiguity_of_line(line)) return ambiguity;
    }
    first = false;
  }
  return std::nullopt;
}

// What the callbacks of both kinds of message note down.
class MessageReader::Parser {
 public:
  virtual ~Parser() = default;
  virtual std::size_t put(std::string_view bytes, error_code& error) = 0;
  virtual void put_eof(error_code& error) = 0;
  [[nodiscard]] virtual bool is_done() const = 0;
  [[nodiscard]] virtual bool has_head() const = 0;
  [[nodiscard]] virtual bool keeps_alive() const = 0;

  Head head;
  std::vector<Field> trailers;
  Framing framing = Framing::None;
  std::uint64_t length = 0;
  BeastText piece;
  bool too_many = false;

 protected:
  void note_field(BeastText name, BeastText value, error_code& error) {
    auto& fields = is_head_noted ? trailers : head.fields;
    too_many = fields.size() >= kMostFields;
    if (too_many || std::ranges::any_of(plain(value), is_forbidden_in_value)) {
      error = http::make_error_code(http::error::bad_value);
      return;
    }
    fields.push_back({std::string(plain(name)), std::string(plain(value))});
  }

  bool is_head_noted = false;
};

namespace {

template <bool kRequest, typename Base>
class Noting final : public Base, private http::basic_parser<kRequest> {
  using Beast = http::basic_parser<kRequest>;

 public:
  explicit Noting(bool bodiless) {
    Beast::header_limit(static_cast<std::uint32_t>(2 * kMostHead));
    // Without one, this version of Beast takes every body for too large.
    Beast::body_limit(std::numeric_limits<std::uint64_t>::max());
    Beast::skip(bodiless);
  }
  std::size_t put(std::string_view bytes, error_code& error) override {
    return Beast::put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  }
  void put_eof(error_code& error) override { Beast::put_eof(error); }
  [[nodiscard]] bool is_done() const override { return Beast::is_done(); }
  [[nodiscard]] bool has_head() const override { return this->is_head_noted; }
  [[nodiscard]] bool keeps_alive() const override { return Beast::keep_alive(); }

 private:
  void on_request_impl(http::verb, BeastText method, BeastText target, int version,
                       error_code&) override {
    this->head.method = plain(method);
    this->head.target = plain(target);
    this->head.version = version;
  }
  void on_response_impl(int code, BeastText reason, int version, error_code&) override {
    this->head.status = static_cast<unsigned>(code);
    this->head.reason = plain(reason);
    this->head.version = version;
  }
  void on_field_impl(http::field, BeastText name, BeastText value, error_code& error) override {
    this->note_field(name, value, error);
  }
  void on_header_impl(error_code&) override {
    this->is_head_noted = true;
    if (Beast::is_done()) return;
    if (Beast::chunked()) {
      this->framing = Framing::Chunked;
    } else if (const auto said = Beast::content_length()) {
      this->framing = Framing::Length;
      this->length = *said;
    } else {
      this->framing = Framing::UntilEnd;
    }
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastText body, error_code&) override {
    this->piece = body;
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastText, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastText body, error_code&) override {
    this->piece = body;
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
};

}  // namespace

MessageReader::MessageReader(Of what) {
  if (what == Of::Request) {
    parser_ = std::make_unique<Noting<true, Parser>>(false);
  } else {
    parser_ = std::make_unique<Noting<false, Parser>>(what == Of::ResponseToHead);
  }
}
MessageReader::MessageReader(MessageReader&&) noexcept = default;
MessageReader& MessageReader::operator=(MessageReader&&) noexcept = default;
MessageReader::~MessageReader() = default;

MessageReader::Step MessageReader::put(std::string_view bytes) {
  error_code error;
  parser_->piece = {};
  Step step;
  if (bytes.empty()) return step;
  step.consumed = parser_->put(bytes, error);
  step.piece = plain(parser_->piece);
  if (error && error != http::error::need_more) {
    const bool lengths =
        error == http::error::bad_content_length || error == http::error::bad_transfer_encoding;
    step.fault = parser_->too_many ? "it has too many headers"
                 : lengths         ? "its length can be read in two ways"
                                   : "it is not a message of HTTP/1.1";
  }
  return step;
}

bool MessageReader::end() {
  error_code error;
  if (!parser_->has_head()) return false;
  if (!parser_->is_done()) parser_->put_eof(error);
  return !error;
}

bool MessageReader::has_head() const { return parser_->has_head(); }
bool MessageReader::is_whole() const { return parser_->is_done(); }
bool MessageReader::keeps_alive() const { return parser_->keeps_alive(); }
const Head& MessageReader::head() const { return parser_->head; }
Framing MessageReader::framing() const { return parser_->framing; }
std::uint64_t MessageReader::length() const { return parser_->length; }
const std::vector<Field>& MessageReader::trailers() const { return parser_->trailers; }

}  // namespace cordon::web
