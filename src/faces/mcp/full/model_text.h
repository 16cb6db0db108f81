// What a model reads of an answer in the profile `full`: first what a program or a file said, as it
// is, and then one line of Cordon's own, a JSON object with what is worth knowing about it.
//
//   hi
//   {"run_id":"p-54a4a1340be76ccb","exit_code":0,"duration_ms":3}
//
// The last line is Cordon's, and everything above it is data: a program may print such a line too,
// and it is not the last. Errors of a command follow its output, under "stderr:". Text with control
// characters is not shown as it is, since a client may print it to a terminal: it stays a member of
// the last line, with its escapes.
//
// How the run was held, and the hash of its policy, are for programs. They are in _meta under
// "cordon/result", with everything else that the answer says; `payload` there tells which bytes of
// the text are what: {"stdout": [0, 3]}.
#pragma once

#include "config/node.h"
#include "faces/mcp/call.h"

namespace cordon::mcp {

// `told` is all that the answer says.
ToolResult for_a_model(const NodeMap& told, bool is_error);

}  // namespace cordon::mcp
