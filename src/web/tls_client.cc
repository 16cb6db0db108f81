#include "web/tls_client.h"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <array>
#include <climits>
#include <ctime>

namespace cordon::web {
namespace {

using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
constexpr std::array<unsigned char, 9> kHttp1 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

constexpr std::size_t kReadAhead = std::size_t{64} << 10U;

// How many certificates were taken from the bundle.
std::size_t trust(X509_STORE* store, std::string_view bundle) {
  const Bio bio(BIO_new_mem_buf(bundle.data(), static_cast<int>(bundle.size())));
  std::size_t taken = 0;
  while (bio) {
    const std::unique_ptr<X509, FreeBy<X509_free>> certificate(
        PEM_read_bio_X509_AUX(bio.get(), nullptr, nullptr, nullptr));
    if (!certificate) break;
    if (X509_STORE_add_cert(store, certificate.get()) == 1) ++taken;
  }
  ERR_clear_error();
  return taken;
}

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> parsed{};
  return ::inet_pton(AF_INET, host.c_str(), parsed.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), parsed.data()) == 1;
}

// As the macro of OpenSSL does it, which casts as C does. An address is never named: servers refuse
// a handshake that does.
bool name_host(SSL* ssl, const std::string& host) {
  if (is_address(host)) return true;
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                  const_cast<char*>(host.c_str())) == 1;
}

}  // namespace

Error tls_error(std::string what) {
  const unsigned long code = ERR_get_error();
  std::array<char, 256> text{};
  if (code != 0) ERR_error_string_n(code, text.data(), text.size());
  ERR_clear_error();
  return setup_error(code == 0 ? std::move(what) : what + ": " + text.data(), 0);
}

// What both sides have in common. No file is read: the host's configuration of OpenSSL is for other
// programs.
bool set_limits(SSL_CTX* context) {
  constexpr int kSecurityLevel = 2;  // as Debian has it: no key below 112 bits, no SHA-1
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

bool begin_tls() {
  // The C library reads the time zone when a certificate's dates are first compared, and by then no
  // file opens.
  ::tzset();
  return OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, nullptr) == 1;
}

Result<UpstreamTls> UpstreamTls::make(std::string_view bundle) {
  UpstreamTls tls;
  tls.context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = tls.context_.get();
  if (!context || !set_limits(context)) return fail(tls_error("TLS cannot be set up"));
  if (bundle.size() > INT_MAX || trust(SSL_CTX_get_cert_store(context), bundle) == 0)
    return fail(setup_error("the bundle of trusted certificates holds none", 0));
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  // Several records with one call: a download is mostly calls otherwise.
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadAhead);
  // Zero is success here.
  if (SSL_CTX_set_alpn_protos(context, kHttp1.data(), kHttp1.size()) != 0)
    return fail(tls_error("no ALPN"));
  return tls;
}

Ssl UpstreamTls::open(const std::string& host, int socket) const {
  Ssl ssl(SSL_new(context_.get()));
  if (!ssl) return nullptr;
  SSL_set_hostflags(ssl.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (SSL_set1_host(ssl.get(), host.c_str()) != 1 || !name_host(ssl.get(), host) ||
      SSL_set_fd(ssl.get(), socket) != 1)
    return nullptr;
  SSL_set_connect_state(ssl.get());
  return ssl;
}

std::string UpstreamTls::failure(const SSL* ssl) {
  const long verified = SSL_get_verify_result(ssl);
  if (verified != X509_V_OK)
    return std::string("its certificate is not accepted: ") +
           X509_verify_cert_error_string(verified);
  return "it does not speak TLS 1.2 or newer as it should";
}

bool UpstreamTls::speaks_http1(const SSL* ssl) {
  const unsigned char* chosen = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl, &chosen, &size);
  return size == 0 || std::string_view(reinterpret_cast<const char*>(chosen), size) == "http/1.1";
}

}  // namespace cordon::web
