// TLS towards clients in the sandbox, with an authority that exists for one run and in this process
// alone. That towards servers is web/tls_client.h.
#pragma once

#include <openssl/ssl.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "web/tls_client.h"

namespace cordon::gate {

using web::FreeBy;
using web::Ssl;
using web::SslContext;
using web::UpstreamTls;

// A certificate authority whose key is in this process alone. Its certificate says that it signs
// for the hosts of the rules and for nothing else, so that a client that trusts it trusts it for
// nothing else.
class RunAuthority {
 public:
  static Result<RunAuthority> make(const std::vector<std::string>& hosts);
  [[nodiscard]] const std::string& certificate() const { return certificate_; }  // PEM
  // A server on a connected socket, with a certificate for `host`. A client that names another
  // host, or none, is refused, and one that cannot speak HTTP/1.1. Null if it cannot be made.
  Ssl open(const std::string& host, int socket);
  // Why a handshake for `host` failed, right after it did. Nothing: the client went away before
  // anything could be told of what it wanted.
  struct Failure {
    std::string reason;         // in words for a person
    bool in_the_clear = false;  // it spoke HTTP without TLS, and can be answered so
  };
  static std::optional<Failure> failure(const SSL* ssl, const std::string& host);

 private:
  struct Leaf;
  using Key = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, FreeBy<X509_free>>;
  SSL_CTX* context_of(const std::string& host);

  Key key_;
  Certificate signer_;
  std::string certificate_;
  // The names outlive their contexts, which point to them.
  std::map<std::string, SslContext> leaves_;
};

}  // namespace cordon::gate
