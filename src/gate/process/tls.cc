#include "gate/process/tls.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sslerr.h>
#include <openssl/x509v3.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <climits>
#include <ctime>

namespace cordon::gate {
namespace {

using web::set_limits;
using web::tls_error;
using Bio = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
constexpr std::array<unsigned char, 9> kHttp1 = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

using OwnKey = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using OwnCertificate = std::unique_ptr<X509, FreeBy<X509_free>>;

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, FreeBy<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Without extensions and signature. Valid from yesterday, since clocks differ, for as long as any
// run lasts.
OwnCertificate begin_certificate(EVP_PKEY* key, const std::string& name) {
  constexpr long kDay = 86400;
  constexpr long kDays = 365;
  constexpr int kSerialBits = 127;
  OwnCertificate certificate(X509_new());
  const std::unique_ptr<BIGNUM, FreeBy<BN_free>> serial(BN_new());
  if (!certificate || !serial || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) != 1 ||
      !BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) ||
      !X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kDay) ||
      !X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kDays * kDay) ||
      X509_set_pubkey(certificate.get(), key) != 1)
    return nullptr;
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  if (X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1)
    return nullptr;
  return certificate;
}

std::string pem_of(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  char* text = nullptr;
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) return {};
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

// What a client called the host. It may be anything, and is not repeated unless it is a name.
std::string name_in_words(const SSL* ssl) {
  const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (!asked) return "no host";
  const std::string_view name(asked);
  const bool plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  return plain ? std::string(name) : "another host";
}

int take_name(SSL* ssl, int* alert, void* argument) {
  const char* asked = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
  if (asked && ::strcasecmp(asked, static_cast<const char*>(argument)) == 0)
    return SSL_TLSEXT_ERR_OK;
  *alert = SSL_AD_UNRECOGNIZED_NAME;
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int take_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                  const unsigned char* offered, unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, size, kHttp1.data(), kHttp1.size(), offered, offered_size) !=
      OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<RunAuthority> RunAuthority::make(const std::vector<std::string>& hosts) {
  RunAuthority authority;
  authority.key_.reset(EVP_EC_gen("P-256"));
  if (!authority.key_) return fail(tls_error("no key can be made"));
  authority.signer_ = begin_certificate(authority.key_.get(), "Cordon, for one run");
  X509* signer = authority.signer_.get();
  std::string names = "critical";
  for (const std::string& host : hosts) names += ",permitted;DNS:" + host;
  if (!signer || X509_set_issuer_name(signer, X509_get_subject_name(signer)) != 1 ||
      !add_extension(signer, signer, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(signer, signer, NID_key_usage, "critical,keyCertSign") ||
      !add_extension(signer, signer, NID_subject_key_identifier, "hash") ||
      (!hosts.empty() && !add_extension(signer, signer, NID_name_constraints, names)) ||
      X509_sign(signer, authority.key_.get(), EVP_sha256()) == 0)
    return fail(tls_error("the certificate of the run's authority cannot be made"));
  authority.certificate_ = pem_of(signer);
  return authority;
}

SSL_CTX* RunAuthority::context_of(const std::string& host) {
  const auto known = leaves_.find(host);
  if (known != leaves_.end()) return known->second.get();
  const OwnKey key(EVP_EC_gen("P-256"));
  const OwnCertificate leaf =
      key ? begin_certificate(key.get(), host.size() <= 64 ? host : "a host") : nullptr;
  SslContext context(SSL_CTX_new(TLS_server_method()));
  if (!leaf || !context || !set_limits(context.get()) ||
      X509_set_issuer_name(leaf.get(), X509_get_subject_name(signer_.get())) != 1 ||
      !add_extension(leaf.get(), signer_.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(leaf.get(), signer_.get(), NID_key_usage, "critical,digitalSignature") ||
      !add_extension(leaf.get(), signer_.get(), NID_ext_key_usage, "serverAuth") ||
      !add_extension(leaf.get(), signer_.get(), NID_subject_key_identifier, "hash") ||
      !add_extension(leaf.get(), signer_.get(), NID_authority_key_identifier, "keyid") ||
      !add_extension(leaf.get(), signer_.get(), NID_subject_alt_name, "DNS:" + host) ||
      X509_sign(leaf.get(), key_.get(), EVP_sha256()) == 0 ||
      SSL_CTX_use_certificate(context.get(), leaf.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    ERR_clear_error();
    return nullptr;
  }
  SSL_CTX_set_num_tickets(context.get(), 0);
  const auto added = leaves_.emplace(host, std::move(context)).first;
  SSL_CTX* made = added->second.get();
  // As the macros of OpenSSL do it, which cast as C does.
  SSL_CTX_callback_ctrl(made, SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                        reinterpret_cast<void (*)()>(take_name));
  SSL_CTX_ctrl(made, SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0,
               const_cast<char*>(added->first.c_str()));
  SSL_CTX_set_alpn_select_cb(made, take_protocol, nullptr);
  return made;
}

Ssl RunAuthority::open(const std::string& host, int socket) {
  SSL_CTX* context = context_of(host);
  Ssl ssl(context ? SSL_new(context) : nullptr);
  if (!ssl || SSL_set_fd(ssl.get(), socket) != 1) return nullptr;
  SSL_set_accept_state(ssl.get());
  return ssl;
}

std::optional<RunAuthority::Failure> RunAuthority::failure(const SSL* ssl,
                                                           const std::string& host) {
  const unsigned long first = ERR_peek_error();
  if (ERR_GET_LIB(first) != ERR_LIB_SSL) return std::nullopt;
  switch (ERR_GET_REASON(first)) {
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return std::nullopt;
    case SSL_R_HTTP_REQUEST:
      return Failure{"it is HTTP without TLS, and by its name the host is reached with TLS alone",
                     true};
    case SSL_R_CALLBACK_FAILED:
      return Failure{"its TLS names " + name_in_words(ssl) + ", and the rule is for " + host};
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return Failure{"it speaks no HTTP/1.1"};
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return Failure{
          "the program does not trust the authority of this run: it reads certificates "
          "from elsewhere than SSL_CERT_FILE and the other variables say"};
    default:
      return Failure{"it does not speak TLS 1.2 or newer as it should"};
  }
}

}  // namespace cordon::gate
