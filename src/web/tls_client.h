// TLS towards servers, as OpenSSL does it: their certificates are verified, and nothing of the
// host's own configuration of OpenSSL is read.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon::web {

template <auto kFree>
struct FreeBy {
  template <typename T>
  void operator()(T* pointer) const {
    kFree(pointer);
  }
};
using Ssl = std::unique_ptr<SSL, FreeBy<SSL_free>>;
using SslContext = std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>>;

// Before anything else of OpenSSL: it then reads no file of configuration, and what it frees is
// wiped.
bool begin_tls();

class UpstreamTls {
 public:
  // `bundle`: the certificates that are trusted, in PEM.
  static Result<UpstreamTls> make(std::string_view bundle);
  // A client for this name or address on a connected socket; null if there is no memory. TLS 1.2 or
  // newer, no renegotiation, and the certificate has to be for `host`.
  [[nodiscard]] Ssl open(const std::string& host, int socket) const;
  // Why a handshake failed, in words.
  static std::string failure(const SSL* ssl);
  // False if the server chose another protocol than HTTP/1.1.
  static bool speaks_http1(const SSL* ssl);

 private:
  SslContext context_;
};

// What both sides of a connection have in common: TLS 1.2 or newer, keys of 112 bits or more, no
// renegotiation, no sessions that are kept.
bool set_limits(SSL_CTX* context);
// With what OpenSSL says about it.
Error tls_error(std::string what);

}  // namespace cordon::web
