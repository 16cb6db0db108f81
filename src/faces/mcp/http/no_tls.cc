// Debian's static libmicrohttpd is built with TLS, and the static GnuTLS behind it cannot be
// linked: a library it needs exists as a shared one only. Cordon listens on loopback and Unix
// sockets and never asks for TLS, so the functions the archive names are given here, and all of
// them fail. Left in, GnuTLS would also run its start-up code in every process that merely holds
// it.
extern "C" {

#define CORDON_NO_TLS(name) \
  int gnutls_##name();      \
  int gnutls_##name() { return -1; }

CORDON_NO_TLS(alpn_set_protocols)
CORDON_NO_TLS(bye)
CORDON_NO_TLS(certificate_allocate_credentials)
CORDON_NO_TLS(certificate_free_credentials)
CORDON_NO_TLS(certificate_server_set_request)
CORDON_NO_TLS(certificate_set_dh_params)
CORDON_NO_TLS(certificate_set_retrieve_function2)
CORDON_NO_TLS(certificate_set_retrieve_function3)
CORDON_NO_TLS(certificate_set_x509_key_mem)
CORDON_NO_TLS(certificate_set_x509_key_mem2)
CORDON_NO_TLS(certificate_set_x509_trust_mem)
CORDON_NO_TLS(cipher_get)
CORDON_NO_TLS(credentials_set)
CORDON_NO_TLS(deinit)
CORDON_NO_TLS(dh_params_deinit)
CORDON_NO_TLS(dh_params_import_pkcs3)
CORDON_NO_TLS(dh_params_init)
CORDON_NO_TLS(global_deinit)
CORDON_NO_TLS(handshake)
CORDON_NO_TLS(init)
CORDON_NO_TLS(priority_deinit)
CORDON_NO_TLS(priority_init)
CORDON_NO_TLS(priority_set)
CORDON_NO_TLS(protocol_get_version)
CORDON_NO_TLS(psk_allocate_server_credentials)
CORDON_NO_TLS(psk_free_server_credentials)
CORDON_NO_TLS(psk_set_server_credentials_function)
CORDON_NO_TLS(record_check_pending)
CORDON_NO_TLS(record_get_direction)
CORDON_NO_TLS(record_recv)
CORDON_NO_TLS(record_send)
CORDON_NO_TLS(session_set_ptr)
CORDON_NO_TLS(transport_set_int2)

#undef CORDON_NO_TLS

// Called when the program starts; anything but success would end it.
int gnutls_global_init();
int gnutls_global_init() { return 0; }
void* gnutls_session_get_ptr();
void* gnutls_session_get_ptr() { return nullptr; }
const char* gnutls_strerror();
const char* gnutls_strerror() { return "TLS is not part of this program"; }
// A variable in the library: the function it allocates with.
void* (*gnutls_malloc)() = nullptr;
}
