// HttpTransport: the callbacks that the HTTP library makes for each connection and request, each on
// the connection's own thread.
#pragma once

#include <microhttpd.h>

#include <memory>

#include "mcp/http/head.h"
#include "mcp/http/patience.h"
#include "mcp/http/session_table.h"
#include "mcp/server.h"

namespace cordon::mcp {

class HttpTransport {
 public:
  HttpTransport(Server& server, HttpRules rules) : server_(server), rules_(std::move(rules)) {}

  static MHD_Result handle(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char* version, const char* data, size_t* size,
                           void** state);
  static void completed(void* self, MHD_Connection* connection, void** state,
                        MHD_RequestTerminationCode code);
  static void connection_changed(void* self, MHD_Connection* connection, void** state,
                                 MHD_ConnectionNotificationCode code);

  Patience& patience() { return patience_; }
  SessionTable& sessions() { return sessions_; }

 private:
  struct Incoming;   // a request while it comes in
  struct Streaming;  // a response whose answer is not there yet
  static ssize_t read_stream(void* state, std::uint64_t position, char* buffer, size_t most);
  static void end_stream(void* state);

  MHD_Result begin(MHD_Connection* connection, Incoming& incoming);
  MHD_Result serve(MHD_Connection* connection, const Incoming& incoming);
  MHD_Result serve_request(MHD_Connection* connection, const Incoming& incoming, RpcRequest request,
                           Wire wire);
  static MHD_Result queue_stream(MHD_Connection* connection, std::unique_ptr<Streaming> streaming);

  Server& server_;
  const HttpRules rules_;
  Patience patience_;
  SessionTable sessions_;
};

}  // namespace cordon::mcp
