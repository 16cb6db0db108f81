#include "gate/process/exchange.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cordon::gate {
namespace {

constexpr unsigned kMostInterim = 16;

tl::unexpected<Failure> failed(unsigned status, std::string reason) {
  return tl::unexpected<Failure>(Failure{status, std::move(reason)});
}

tl::unexpected<Exchange::Refused> refused(Refusal refusal, Judged judged, Afterwards afterwards) {
  return tl::unexpected<Exchange::Refused>(
      Exchange::Refused{std::move(refusal), std::move(judged), afterwards});
}

Failure longer_answer(std::uint64_t most) {
  return {502, fmt::format("its answer is longer than the {} bytes that the rule allows", most)};
}

void write_field(std::string& text, const Field& field) {
  text.append(field.name).append(": ").append(field.value).append("\r\n");
}

void write_chunk(ByteQueue& to, std::string_view piece) {
  to.append(fmt::format("{:x}\r\n", piece.size()));
  to.append(piece);
  to.append("\r\n");
}

void write_last_chunk(ByteQueue& to, const std::vector<Field>& trailers) {
  std::string text = "0\r\n";
  for (const Field& field : trailers) write_field(text, field);
  to.append(text + "\r\n");
}

std::string_view phrase_of(unsigned status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Refused";
  }
}

}  // namespace

tl::expected<Exchange, Exchange::Refused> Exchange::read(std::string_view head,
                                                         const CompiledRule& rule, ClientMode mode,
                                                         const SecretStore& secrets) {
  if (head.size() > kMostHead)
    return refused({431, "its head is longer than " + std::to_string(kMostHead) + " bytes", {}}, {},
                   Afterwards::Closes);
  if (const auto ambiguity = ambiguity_of(head))
    return refused({400, std::string(*ambiguity), {}}, {}, Afterwards::Closes);
  Exchange exchange(rule, secrets);
  const MessageReader::Step step = exchange.request_.put(head);
  if (step.fault || !exchange.request_.has_head()) {
    const std::string why(step.fault.value_or("it is not a message of HTTP/1.1"));
    return refused({why.ends_with("headers") ? 431U : 400U, why, {}}, {}, Afterwards::Closes);
  }
  if (const auto refusal =
          judge(exchange.request_, rule, mode, secrets.placeholders(), exchange.judged_)) {
    const bool readable = refusal->status == 403 || refusal->status == 413;
    const bool stays = !exchange.has_body() && readable;
    return refused(*refusal, std::move(exchange.judged_),
                   stays ? Afterwards::Stays : Afterwards::Closes);
  }
  exchange.expects_continue_ = exchange.request_.head().count("expect") > 0;
  exchange.closes_ = !exchange.judged_.keeps_alive;
  return exchange;
}

tl::expected<std::string, Failure> Exchange::begin() {
  std::string head = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", judged_.method, judged_.target,
                                 authority_of(*rule_));
  for (const Field& field : judged_.fields) write_field(head, field);
  if (rule_->secret) {
    const auto secret = secrets_->header_of(*rule_->secret);
    if (!secret) return failed(502, "the secret that the rule adds has no value at present");
    write_field(head, {"Accept-Encoding", "identity"});
    write_field(head, *secret);
    mask_ = EchoMask(secrets_->spellings_of(*rule_->secret));
  }
  if (request_.framing() == Framing::Length)
    head += fmt::format("Content-Length: {}\r\n", request_.length());
  // A method that has a body as a rule says that this one is empty.
  if (!has_body() && request_.head().count("content-length") > 0) head += "Content-Length: 0\r\n";
  if (request_.framing() == Framing::Chunked) head += "Transfer-Encoding: chunked\r\n";
  if (judged_.websocket) head += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  head += "\r\n";
  expect_response();
  return head;
}

void Exchange::expect_response() {
  response_.emplace(judged_.method == "HEAD" ? MessageReader::Of::ResponseToHead
                                             : MessageReader::Of::Response);
}

tl::expected<bool, Failure> Exchange::feed_request(ByteQueue& from, ByteQueue& to) {
  const MessageReader::Step step = request_.put(from.view());
  const bool stuck = step.consumed == 0 && from.size() >= kMostHead;
  if (step.fault || stuck) return failed(400, "the body of the request cannot be read");
  request_body_ += step.piece.size();
  if (rule_->request_bytes && request_body_ > *rule_->request_bytes) {
    return failed(413, fmt::format("the body of the request is longer than the {} bytes that the"
                                   " rule allows",
                                   *rule_->request_bytes));
  }
  if (request_.framing() == Framing::Chunked) {
    if (!step.piece.empty()) write_chunk(to, step.piece);
    if (request_.is_whole())
      write_last_chunk(
          to, passing_trailers(request_.trailers(), rule_->strip, secrets_->placeholders()));
  } else {
    to.append(step.piece);
  }
  from.consume(step.consumed);
  return step.consumed > 0;
}

tl::expected<bool, Failure> Exchange::feed_response(ByteQueue& from, ByteQueue& to) {
  if (!response_->has_head()) {
    const auto size = head_size(from.view());
    if (size.value_or(from.size()) > kMostHead)
      return failed(502, "the head of its answer is too long");
    if (!size) return false;
    const std::string head(from.view().substr(0, *size));
    from.consume(*size);
    if (ambiguity_of(head) || response_->put(head).fault || !response_->has_head())
      return failed(502, "its answer is not one of HTTP/1.1");
    if (auto failure = take_head(response_->head(), to))
      return tl::unexpected<Failure>(*std::move(failure));
    return true;
  }
  const MessageReader::Step step = response_->put(from.view());
  if (step.fault || (step.consumed == 0 && from.size() >= kMostHead))
    return failed(502, "the body of its answer cannot be read");
  response_body_ += step.piece.size();
  if (rule_->response_bytes && response_body_ > *rule_->response_bytes)
    return tl::unexpected<Failure>(longer_answer(*rule_->response_bytes));
  if (!step.piece.empty()) write_body(mask_.is_needed() ? mask_.pass(step.piece) : step.piece, to);
  from.consume(step.consumed);
  if (response_->is_whole()) end_response(to);
  return step.consumed > 0;
}

std::optional<Failure> Exchange::take_head(const Head& head, ByteQueue& to) {
  if (head.count("content-length") > 1 || head.count("transfer-encoding") > 1 ||
      (head.count("transfer-encoding") > 0 &&
       lower_case(head.value("transfer-encoding")) != "chunked"))
    return Failure{502, "its answer can be read in two ways"};
  if (head.status < 200) return pass_interim(head, to);
  const Framing framing = response_->framing();
  if (rule_->response_bytes && framing == Framing::Length &&
      response_->length() > *rule_->response_bytes)
    return longer_answer(*rule_->response_bytes);
  status_ = head.status;
  if (!is_request_whole()) closes_ = true;
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.status, mask_.masked(head.reason));
  write_passing_fields(text, head);
  framing_ = framing == Framing::UntilEnd ? Framing::Chunked : framing;
  const bool says_length =
      framing_ == Framing::None && head.status != 204 && head.count("content-length") == 1;
  if (framing_ == Framing::Length)
    text += fmt::format("Content-Length: {}\r\n", response_->length());
  if (says_length && parse_number(head.value("content-length")))
    text += fmt::format("Content-Length: {}\r\n", head.value("content-length"));
  if (framing_ == Framing::Chunked) text += "Transfer-Encoding: chunked\r\n";
  if (closes_) text += "Connection: close\r\n";
  to.append(text + "\r\n");
  if (response_->is_whole()) end_response(to);
  return std::nullopt;
}

std::optional<Failure> Exchange::pass_interim(const Head& head, ByteQueue& to) {
  const bool upgrade = head.status == 101;
  if (++interim_ > kMostInterim ||
      (upgrade && !(judged_.websocket && head.lists("upgrade", "websocket"))))
    return Failure{502, "its answer is not one to this request"};
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", head.status, mask_.masked(head.reason));
  write_passing_fields(text, head);
  if (upgrade) text += "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  if (head.status != 100 || expects_continue_) to.append(text + "\r\n");
  if (upgrade) {
    status_ = head.status;
    closes_ = true;
  } else {
    expect_response();
  }
  return std::nullopt;
}

void Exchange::write_passing_fields(std::string& text, const Head& head) const {
  for (Field& field : passing_response_fields(head)) write_field(text, masked(std::move(field)));
}

Field Exchange::masked(Field field) const {
  return {mask_.masked(std::move(field.name)), mask_.masked(std::move(field.value))};
}

void Exchange::write_body(std::string_view piece, ByteQueue& to) const {
  if (piece.empty()) return;
  if (framing_ == Framing::Chunked) {
    write_chunk(to, piece);
  } else {
    to.append(piece);
  }
}

void Exchange::end_response(ByteQueue& to) {
  write_body(mask_.finish(), to);
  if (framing_ == Framing::Chunked) {
    std::vector<Field> trailers = passing_trailers(response_->trailers(), {}, {});
    for (Field& field : trailers) field = masked(std::move(field));
    write_last_chunk(to, trailers);
  }
  response_whole_ = true;
}

bool Exchange::end_of_response(ByteQueue& to) {
  if (!response_->has_head() || !response_->end()) return false;
  end_response(to);
  return true;
}

bool Exchange::pass(std::string_view piece, ByteQueue& to) {
  response_body_ += piece.size();
  to.append(mask_.is_needed() ? mask_.pass(piece) : piece);
  return !rule_->response_bytes || response_body_ <= *rule_->response_bytes;
}

std::string refusal_answer(const Refusal& refusal, const Rule& rule, std::string_view method,
                           Afterwards afterwards) {
  const std::string body = refusal_body(refusal, rule);
  std::string text = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}{}\r\n",
      refusal.status, phrase_of(refusal.status), body.size(),
      refusal.status == 429 ? "Retry-After: 60\r\n" : "",
      afterwards == Afterwards::Stays ? "" : "Connection: close\r\n");
  if (method != "HEAD") text += body;
  return text;
}

}  // namespace cordon::gate
