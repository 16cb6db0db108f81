// The account of a run: its report without the streams, kept for `cordon why`. The audit log tells
// that something was denied and shows nobody what; this tells the owner, and is the owner's alone.
//
// Only runs about which there is something to tell have one; of the newest run, whatever it was,
// the id is kept, so that `last` never means another one.
#pragma once

#include <optional>
#include <string>

#include "config/node.h"
#include "cordon/runner.h"

namespace cordon {

// What `last` means from now on: of a session its commands are asked about, not its own end. Of
// runs of Cordon's own nobody asks.
enum class AccountOf { Command, Session, Own };
// Who cannot write it loses nothing but the answer of `cordon why`.
void keep_account(const std::string& state_directory, const Report& report,
                  AccountOf of = AccountOf::Command);

struct KeptAccount {
  std::string run_id;
  std::optional<Node> report;  // cordon.report/1; absent: there is nothing to tell
};
// `run` is an id or "last". Nothing if that run is not known (any more).
Result<std::optional<KeptAccount>> read_account(const std::string& state_directory,
                                                const std::string& run);

}  // namespace cordon
