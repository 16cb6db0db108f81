// A message is refused with an error, or what is written of it is read as the same again.
#include <cstddef>
#include <cstdint>

#include "faces/mcp/envelope.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  using namespace cordon::mcp;
  const std::string text(data, data + size);
  const Envelope envelope = decode_envelope(text);
  if (const auto* refused = std::get_if<Refused>(&envelope)) {
    require_that(refused->error.code < 0 && !refused->error.message.empty());
    const std::string line = encode_error(refused->id, refused->error);
    require_that(line.find('\n') == std::string::npos);
    return 0;
  }
  if (const auto* response = std::get_if<Response>(&envelope)) {
    if (!response->result) return 0;
    const std::string line = encode_result(response->id, *response->result);
    const Envelope again = decode_envelope(line);
    require_that(std::holds_alternative<Response>(again));
    require_that(std::get<Response>(again).id == response->id);
    return 0;
  }
  const auto* request = std::get_if<RpcRequest>(&envelope);
  const auto* note = std::get_if<Notification>(&envelope);
  const Node& params = request != nullptr ? request->params : note->params;
  require_that(params.map() != nullptr);
  const std::string& method = request != nullptr ? request->method : note->method;
  const std::string line = encode_notification(method, params);
  require_that(line.find('\n') == std::string::npos);
  const Envelope again = decode_envelope(line);
  require_that(std::holds_alternative<Notification>(again));
  require_that(std::get<Notification>(again).method == method);
  require_that(encode_notification(method, std::get<Notification>(again).params) == line);
  return 0;
}
