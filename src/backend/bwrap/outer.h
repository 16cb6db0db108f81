// Bubblewrap as the outer layer of a sandbox whose first process and command are native's.
#pragma once

#include "backend/bwrap/program.h"
#include "backend/native/native_backend.h"
#include "base/fd.h"

namespace cordon::bwrap {

class Bubblewrap final : public native::Outer {
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

}  // namespace cordon::bwrap
