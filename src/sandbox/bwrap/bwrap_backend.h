// The bwrap backend: the outer layer by the installed bubblewrap, everything inside by Cordon.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "sandbox/backend.h"
#include "sandbox/bwrap/program.h"
#include "sandbox/native/native_backend.h"

namespace cordon::bwrap {

// Content that nobody can change any more, whatever name or descriptor they have of it.

// A sealed memory file; its position is at the start.
Result<Fd> sealed_text(std::string_view content);

// The program that bubblewrap executes as the first process, copied into a sealed memory file: its
// name on disk does not matter from then on. Looked for beside this program, then in the libexec
// directory of its installation.
Result<Program> sealed_inside();

// Bubblewrap as the outer layer of a sandbox whose first process and command are native's.

class Bubblewrap final : public native::NamespaceLauncher {
 public:
  // `inside` is the sealed program that becomes the first process.
  static Result<Bubblewrap> make(Program program, Fd inside);

  [[nodiscard]] Result<native::Started> start(const native::Start& asked) const override;
  // With what bubblewrap itself said, if it said anything.
  [[nodiscard]] Error explain(Error error) const override;

 private:
  Bubblewrap(Program program, Fd inside, Fd said)
      : program_(std::move(program)), inside_(std::move(inside)), said_(std::move(said)) {}

  Program program_;
  Fd inside_;
  Fd said_;  // takes its standard error, without ever making it wait
};

std::unique_ptr<Backend> make_backend();

}  // namespace cordon::bwrap
