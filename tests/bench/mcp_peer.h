// A client of `cordon mcp` on pipes, as thin as can be: what is timed is the server.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

class McpPeer {
 public:
  // Starts the server. Ends the program with an explanation if that fails.
  McpPeer(const std::string& cordon, const std::vector<std::string>& options,
          const std::string& directory, const std::string& home);
  ~McpPeer();
  McpPeer(const McpPeer&) = delete;
  McpPeer& operator=(const McpPeer&) = delete;

  // Sends one request and returns its id.
  unsigned begin(const std::string& method, const std::string& params);
  // One answer, of whichever request.
  std::string next();
  // One request and its answer, in microseconds. Ends the program if it is an error.
  double round_trip(const std::string& method, const std::string& params);

  // The parameters of a call of run_code with ["true"].
  static std::string run_true();

 private:
  pid_t pid_ = 0;
  int to_ = -1;
  int from_ = -1;
  unsigned last_id_ = 0;
  std::string read_;
};

// True if the answer is one of a command that ended with 0.
bool succeeded(const std::string& answer);

}  // namespace bench
