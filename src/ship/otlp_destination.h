// An OTLP receiver as a destination: each batch is one request or, where it does not take one as a
// whole, several. A record may be stored twice there: its node, number and hash tell.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ship/destination.h"
#include "ship/http_connection.h"
#include "ship/otlp_headers.h"
#include "ship/otlp_records.h"

namespace cordon::ship {

struct OtlpTarget {
  OtlpAddress address;
  OtlpHeaders headers;
  OtlpResource resource;
  std::function<void(const std::string&)> tell;  // what happens meanwhile
};

class OtlpDestination final : public Destination {
 public:
  // Reads the certificates that are trusted, if the way has TLS, as `environment` names them.
  static Result<std::unique_ptr<OtlpDestination>> make(
      OtlpTarget target, const std::map<std::string, std::string>& environment,
      Interruption& interruption);

  [[nodiscard]] std::string_view called() const override { return "the receiver"; }
  [[nodiscard]] BatchBounds bounds() const override;
  [[nodiscard]] bool stores_once() const override { return false; }
  [[nodiscard]] bool keeps_checkpoints() const override { return false; }
  Answer<std::string> open() override;
  void close() override { connection_.close(); }
  Answer<Taken> take(const Batch& batch) override;

 private:
  // What became of the records of one batch so far.
  struct Sum {
    std::uint64_t taken = 0;
    std::uint64_t rejected = 0;          // by an answer that takes the others
    std::vector<std::uint64_t> refused;  // the numbers of those it takes in no way
    std::string why;
    const Shipped* newest = nullptr;
  };

  OtlpDestination(OtlpTarget target, std::unique_ptr<web::UpstreamTls> tls,
                  Interruption& interruption);
  Answer<void> send(std::span<const Shipped> records, Sum& sum);
  Answer<void> count_taken(std::span<const Shipped> records, const HttpAnswer& answer, Sum& sum);
  Answer<void> divide(std::span<const Shipped> records, const HttpAnswer& answer, Sum& sum);
  Answer<void> try_newest(Sum& sum);
  [[nodiscard]] Trouble none_taken(const Sum& sum) const;
  [[nodiscard]] Trouble trouble_of(const HttpAnswer& answer) const;
  [[nodiscard]] std::string said(const HttpAnswer& answer) const;
  [[nodiscard]] std::string shown(std::string text) const;

  OtlpTarget target_;
  std::unique_ptr<web::UpstreamTls> tls_;
  HttpConnection connection_;
};

}  // namespace cordon::ship
