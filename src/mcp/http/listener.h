// Where the HTTP transport listens: loopback or a Unix socket, never further.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace cordon::mcp {

struct HttpAddress {
  enum class Kind { Unix, Loopback4, Loopback6 };
  Kind kind = Kind::Unix;
  std::uint16_t port = 0;  // 0: any that is free
  std::string path;        // of a Unix socket, absolute
  bool operator==(const HttpAddress&) const = default;
};
// "127.0.0.1:8080", "[::1]:8080", "localhost:8080" or "/run/user/1000/cordon/mcp.sock".
Result<HttpAddress> parse_http_address(std::string_view text);

class HttpListener {
 public:
  // A Unix socket's directory is made, or must belong to this user alone; the socket is 0600.
  static Result<HttpListener> open(const HttpAddress& address);
  HttpListener(HttpListener&&) = default;
  HttpListener& operator=(HttpListener&&) = delete;
  ~HttpListener();  // removes the socket's name

  [[nodiscard]] const Fd& socket() const { return socket_; }
  [[nodiscard]] std::optional<std::uint16_t> port() const { return port_; }

 private:
  HttpListener() = default;

  Fd socket_;
  Fd directory_;
  std::string name_;
  std::optional<std::uint16_t> port_;
};

// A secret of at least 32 visible characters from a file that its owner alone can read.
Result<std::string> read_token_file(const std::string& path);

}  // namespace cordon::mcp
