// What becomes of a request: what goes on of it, or why it is refused. A function of the request
// and the rule alone, so that everything an attacker can write in a head is judged without a
// socket.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/request_path.h"
#include "base/result.h"
#include "gate/protocol.h"
#include "web/message_reader.h"

namespace cordon::gate {

using web::ambiguity_of;
using web::Field;
using web::Framing;
using web::has_bare_line_end;
using web::Head;
using web::head_size;
using web::is_named;
using web::kMostHead;
using web::MessageReader;

struct CompiledMatch {
  std::string method;
  PathPattern path;
};
struct CompiledRule {
  Rule rule;
  std::vector<CompiledMatch> allow;
  std::vector<CompiledMatch> deny;
};
Result<CompiledRule> compile(const Rule& rule);

// What of the secrets a judge needs; none of them is a secret.
struct KnownPlaceholder {
  std::string secret;
  std::string header;
  std::string placeholder;
};

struct Refusal {
  unsigned status = 403;
  std::string reason;  // one clause
  std::string advice;  // what would change it, a sentence; may be empty
};

struct Judged {
  std::string method;
  std::string path;           // as rules read it
  std::string target;         // what is sent on: the same with the query
  std::vector<Field> fields;  // what goes on beside Host, framing and the secret
  bool websocket = false;
  bool keeps_alive = true;
};

// `judged` has the method and the path as far as they could be read, also where there is a refusal.
std::optional<Refusal> judge(const MessageReader& request, const CompiledRule& rule,
                             ClientMode mode, const std::vector<KnownPlaceholder>& placeholders,
                             Judged& judged);

// Fields of a response, or behind a body, that go on to the other side: nothing of the connection,
// of the framing or of routing, and nothing that `strip` of a rule names.
std::vector<Field> passing_response_fields(const Head& head);
std::vector<Field> passing_trailers(const std::vector<Field>& trailers,
                                    const std::vector<std::string>& strip,
                                    const std::vector<KnownPlaceholder>& placeholders);

// HOST, or HOST:PORT where it is not the one of HTTPS.
std::string authority_of(const Rule& rule);

// The body of a refusal, for a program or a model: what was asked, the rule and what would change
// it.
std::string refusal_body(const Refusal& refusal, const Rule& rule);

}  // namespace cordon::gate
