#include "ship/otlp_destination.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>

#include "audit/record.h"
#include "base/text.h"
#include "host/trust_stores.h"

namespace cordon::ship {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::size_t kMostCertificates = std::size_t{16} * 1024 * 1024;
// After so many that were refused one by one, with none taken and not the newest, it is not the
// records.
constexpr std::size_t kMostRefused = 8;
constexpr std::uint64_t kLongestRetryAfterMs = 3'600'000;
constexpr std::size_t kMostShown = 200;

Result<std::string> certificates_in(const std::string& path, const std::string& named_by) {
  const std::string hint = named_by.empty() ? "" : named_by + " names it";
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return fail(setup_error("cannot open " + quote(path), errno, hint));
  std::string text;
  std::string room(std::size_t{64} * 1024, '\0');
  while (text.size() <= kMostCertificates) {
    const ssize_t got = ::read(file.get(), room.data(), room.size());
    if (got < 0) return fail(setup_error("cannot read " + quote(path), errno, hint));
    if (got == 0) return text;
    text.append(room, 0, static_cast<std::size_t>(got));
  }
  return fail(setup_error(quote(path) + " is too large", 0, hint));
}

// As OpenTelemetry's programs are told, else as OpenSSL's, else those of the host.
Result<std::string> trusted_certificates(const Environment& environment) {
  for (const char* name :
       {"OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE", "SSL_CERT_FILE"}) {
    const auto found = environment.find(name);
    if (found != environment.end() && !found->second.empty())
      return certificates_in(found->second, name);
  }
  const auto places = trust_stores();
  if (!places.empty()) return certificates_in(places.front(), "");
  return fail(setup_error("cannot find the certificates that servers are judged by", ENOENT,
                          "install ca-certificates, or name a file in SSL_CERT_FILE"));
}

// Seconds, or a moment; nothing that a receiver says makes the wait longer than an hour.
std::uint64_t retry_after_ms(const std::string& text) {
  if (const auto given = parse_number(text))
    return std::min(*given, kLongestRetryAfterMs / 1000) * 1000;
  struct tm moment {};
  const char* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &moment);
  if (text.empty() || end == nullptr || *end != '\0') return 0;
  const std::int64_t left = std::int64_t{::timegm(&moment)} - std::time(nullptr);
  return static_cast<std::uint64_t>(
             std::clamp<std::int64_t>(left, 0, kLongestRetryAfterMs / 1000)) *
         1000;
}

std::string numbers_of(const std::vector<std::uint64_t>& numbers) {
  constexpr std::size_t kMostNumbers = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), kMostNumbers); ++i)
    text.append(i == 0 ? "" : ", ").append(std::to_string(numbers[i]));
  if (numbers.size() <= kMostNumbers) return text;
  return text + " and " + std::to_string(numbers.size() - kMostNumbers) + " more, up to " +
         std::to_string(numbers.back());
}

}  // namespace

OtlpDestination::OtlpDestination(OtlpTarget target, std::unique_ptr<web::UpstreamTls> tls,
                                 Interruption& interruption)
    : target_(std::move(target)),
      tls_(std::move(tls)),
      connection_(target_.address, tls_.get(), interruption) {}

Result<std::unique_ptr<OtlpDestination>> OtlpDestination::make(OtlpTarget target,
                                                               const Environment& environment,
                                                               Interruption& interruption) {
  std::unique_ptr<web::UpstreamTls> tls;
  // OpenSSL writes as it likes: a peer that is gone is seen by the result.
  std::signal(SIGPIPE, SIG_IGN);
  if (target.address.way == OtlpAddress::Way::Tls) {
    if (!web::begin_tls()) return fail(setup_error("TLS cannot be set up", 0));
    CORDON_TRY(certificates, trusted_certificates(environment));
    CORDON_TRY(made, web::UpstreamTls::make(certificates));
    tls = std::make_unique<web::UpstreamTls>(std::move(made));
  }
  if (target.address.way == OtlpAddress::Way::PlainAnywhere && !target.headers.empty()) {
    return fail(usage_error(
        "there are headers to send, and without TLS whoever is on the way reads them",
        "write otlp+https://" + target.address.authority() +
            ", or leave the headers out: OTEL_EXPORTER_OTLP_HEADERS or --headers-file has them"));
  }
  return std::unique_ptr<OtlpDestination>(
      new OtlpDestination(std::move(target), std::move(tls), interruption));
}

// Receivers bound a request; 20 MiB is what most of them take. A line is written with escapes.
BatchBounds OtlpDestination::bounds() const { return {500, std::size_t{1} * 1024 * 1024}; }

Answer<std::string> OtlpDestination::open() {
  CORDON_CHECK(connection_.open());
  return target_.resource.node;
}

std::string OtlpDestination::shown(std::string text) const {
  std::string out = sanitize(target_.headers.masked(std::move(text)));
  if (out.size() <= kMostShown) return out;
  std::size_t cut = kMostShown;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xC0U) == 0x80U) --cut;
  return out.substr(0, cut) + "…";
}

// "400: no such tenant"
std::string OtlpDestination::said(const HttpAnswer& answer) const {
  const std::string text = shown(otlp_failure_text(answer.body));
  return std::to_string(answer.status) + (text.empty() ? "" : ": " + text);
}

// Of an answer that is neither a success nor about the records.
Trouble OtlpDestination::trouble_of(const HttpAnswer& answer) const {
  const std::string where = target_.address.shown();
  const auto refused = [&](const std::string& what, const std::string& hint) {
    return Trouble(setup_error(where + " " + what, 0, hint));
  };
  switch (answer.status) {
    case 429:
    case 502:
    case 503:
    case 504: {
      Trouble trouble{Trouble::Kind::Away,
                      setup_error(where + " takes nothing at the moment: " + said(answer), 0)};
      trouble.pause_ms = retry_after_ms(answer.retry_after);
      return trouble;
    }
    case 401:
    case 403:
      return refused("does not let this in: " + said(answer),
                     "a token goes into OTEL_EXPORTER_OTLP_HEADERS, or into a file that "
                     "--headers-file names");
    case 404:
    case 405:
      return refused("takes no records there: " + said(answer),
                     "the path is used as it is written; that of most receivers ends with "
                     "/v1/logs, which is also what it is without one");
    default:
      break;
  }
  if (answer.status >= 300 && answer.status < 400) {
    return refused(
        "answers with a redirect (" + std::to_string(answer.status) + "), which is not followed",
        "name the receiver itself");
  }
  return refused("did not take the records: " + said(answer), "");
}

Answer<void> OtlpDestination::count_taken(std::span<const Shipped> records,
                                          const HttpAnswer& answer, Sum& sum) {
  const auto reply = answer.whole ? read_otlp_reply(answer.body) : std::nullopt;
  if (!reply || reply->rejected > records.size()) {
    return tl::make_unexpected(Trouble(setup_error(
        target_.address.shown() + " answers " + std::to_string(answer.status) +
            ", but not as an OTLP receiver does",
        0, "nothing says that the records were taken: is that the address of a receiver?")));
  }
  sum.taken += records.size() - reply->rejected;
  sum.rejected += reply->rejected;
  if (reply->rejected > 0) {
    target_.tell("of the records " + std::to_string(records.front().seq) + " to " +
                 std::to_string(records.back().seq) + " the receiver refused " +
                 std::to_string(reply->rejected) + ", and does not say which: " +
                 shown(reply->message) + "; they are in the log of this host");
  } else if (!reply->message.empty()) {
    target_.tell("the receiver took the records and says: " + shown(reply->message));
  }
  return {};
}

Trouble OtlpDestination::none_taken(const Sum& sum) const {
  return setup_error(target_.address.shown() + " takes none of the records " +
                         numbers_of(sum.refused) + " (" + sum.why + ")",
                     0, "nothing was passed over: they are sent again the next time");
}

// It does not take these: one by one it is found out which, so that one bad record does not keep
// all others back for ever.
Answer<void> OtlpDestination::divide(std::span<const Shipped> records, const HttpAnswer& answer,
                                     Sum& sum) {
  if (records.size() > 1) {
    CORDON_CHECK(send(records.first(records.size() / 2), sum));
    return send(records.subspan(records.size() / 2), sum);
  }
  sum.why = said(answer);
  sum.refused.push_back(records.front().seq);
  return sum.taken == 0 && sum.refused.size() == kMostRefused ? try_newest(sum) : Answer<void>();
}

// Many that a receiver does not take may only be older than what it takes. The newest one comes
// once more in its turn.
Answer<void> OtlpDestination::try_newest(Sum& sum) {
  Sum of_newest;
  CORDON_CHECK(send(std::span(sum.newest, 1), of_newest));
  if (of_newest.taken == 0) return tl::make_unexpected(none_taken(sum));
  sum.taken += of_newest.taken;
  return {};
}

Answer<void> OtlpDestination::send(std::span<const Shipped> records, Sum& sum) {
  constexpr unsigned kBadRequest = 400;
  constexpr unsigned kTooLarge = 413;
  const std::string document =
      otlp_request(target_.resource, records, audit::system_clock().wall_us());
  CORDON_TRY(answer, connection_.post(target_.headers.text(), document));
  if (answer.status == 200 || answer.status == 202 || answer.status == 204)
    return count_taken(records, answer, sum);
  if (answer.status == kBadRequest || answer.status == kTooLarge)
    return divide(records, answer, sum);
  return tl::make_unexpected(trouble_of(answer));
}

Answer<Taken> OtlpDestination::take(const Batch& batch) {
  Taken taken;
  if (batch.records.empty()) return taken;
  Sum sum;
  sum.newest = &batch.records.back();
  CORDON_CHECK(send(batch.records, sum));
  // Nobody says that it would take anything at all.
  if (!sum.refused.empty() && sum.taken == 0) return tl::make_unexpected(none_taken(sum));
  if (!sum.refused.empty()) {
    target_.tell("the receiver does not take the record(s) " + numbers_of(sum.refused) + " (" +
                 sum.why + "), which are passed over; they are in the log of this host");
  }
  taken.rejected = sum.rejected + sum.refused.size();
  return taken;
}

}  // namespace cordon::ship
