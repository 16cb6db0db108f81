#include "ship/libpq.h"

#include <dlfcn.h>

#include <string>

#include "base/text.h"

namespace cordon::ship {
namespace {

constexpr const char* kLibrary = "libpq.so.5";

Error no_library(const std::string& why) {
  Error error = setup_error("cannot load " + std::string(kLibrary) +
                                ", PostgreSQL's client library (" + sanitize(why) + ")",
                            0, "install it: apt install libpq5, or dnf install libpq");
  error.kind = ErrorKind::Unavailable;
  return error;
}

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "no reason was given" : text;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

Result<Libpq> load() {
  void* library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return fail(no_library(loader_error()));
  Libpq pq{};
  const bool all =
      find(library, "PQconninfoParse", pq.parse) &&
      find(library, "PQconninfoFree", pq.free_settings) &&
      find(library, "PQfreemem", pq.free_memory) &&
      find(library, "PQconnectStartParams", pq.connect) &&
      find(library, "PQconnectPoll", pq.connect_poll) && find(library, "PQstatus", pq.status) &&
      find(library, "PQsocket", pq.socket) && find(library, "PQsslInUse", pq.ssl_in_use) &&
      find(library, "PQerrorMessage", pq.error_message) && find(library, "PQfinish", pq.finish) &&
      find(library, "PQsetNoticeProcessor", pq.set_notices) &&
      find(library, "PQsetnonblocking", pq.set_nonblocking) &&
      find(library, "PQsendQueryParams", pq.send) && find(library, "PQflush", pq.flush) &&
      find(library, "PQconsumeInput", pq.consume) && find(library, "PQisBusy", pq.is_busy) &&
      find(library, "PQgetResult", pq.result) && find(library, "PQclear", pq.clear) &&
      find(library, "PQresultStatus", pq.result_status) &&
      find(library, "PQresultErrorField", pq.result_field) &&
      find(library, "PQcmdTuples", pq.result_command) && find(library, "PQntuples", pq.rows) &&
      find(library, "PQgetisnull", pq.is_null) && find(library, "PQgetlength", pq.length) &&
      find(library, "PQgetvalue", pq.value);
  if (!all) return fail(no_library(loader_error()));
  return pq;
}

}  // namespace

Result<const Libpq*> load_libpq() {
  static const Result<Libpq> loaded = load();
  if (!loaded) return fail(loaded.error());
  return &*loaded;
}

}  // namespace cordon::ship
