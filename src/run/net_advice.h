// Advice about the network: what to change so that a host or a local socket can be connected to, or
// a port be published. As for paths (run/advice.h), nothing is advised that was not tried. Each of
// these completes an answer that is no; Verdict::change is empty afterwards if nothing helps.
#pragma once

#include <functional>
#include <string>

#include "run/access.h"

namespace cordon {

// Judges a request.
using NetTry = std::function<Result<Verdict>(const RunInput&)>;

Result<void> advise_connect(const RunInput& input, const HostRule& host, const NetTry& connects,
                            Verdict& verdict);
// `path` is canonical.
void advise_socket(const RunInput& input, const std::string& path, const NetTry& connects,
                   Verdict& verdict);
// `pattern` is for that request alone.
void advise_request(const RunInput& input, const HostRule& endpoint, const RequestPattern& pattern,
                    const NetTry& sends, Verdict& verdict);
void advise_publish(const RunInput& input, const PublishRule& rule, const NetTry& publishes,
                    Verdict& verdict);

}  // namespace cordon
