// VerifiedExecutor: an executor whose bytes were compared with a pin, and those very bytes. Nothing
// else can be started (keeper.h asks for one), so no flag, variable or path goes round the pin.
#pragma once

#include <string>

#include "backend/mxc/pins.h"
#include "base/fd.h"
#include "base/result.h"

namespace cordon::mxc {

class VerifiedExecutor {
 public:
  // A sealed copy in memory. Whatever becomes of the file afterwards, this is what runs.
  [[nodiscard]] int descriptor() const { return copy_.get(); }

 private:
  friend Result<VerifiedExecutor> verify_executor(const std::string& path,
                                                  const std::string& sha256);
  explicit VerifiedExecutor(Fd copy) : copy_(std::move(copy)) {}
  Fd copy_;
};

// The file is read once: the bytes that are compared are the ones that are kept. Kind Untrusted if
// it is not there any more or is another one; the text then has both digests.
Result<VerifiedExecutor> verify_executor(const std::string& path, const std::string& sha256);

// The digest of a file, for an operator who is about to pin it.
Result<std::string> digest_of(const std::string& path);

// A descriptor of `bytes` in memory that nobody can change any more; readable from its beginning
// through /proc/self/fd by whoever inherits it.
Result<Fd> sealed_memory(const char* name, std::string_view bytes);

}  // namespace cordon::mxc
