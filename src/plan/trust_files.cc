#include "plan/trust_files.h"

#include <algorithm>
#include <array>

#include "base/path.h"

namespace cordon {
namespace {

struct TrustVariable {
  std::string_view name;
  std::string_view file;
};

// Most take the file in place of what they trust otherwise; Node and Deno add it to that.
constexpr std::array kTrustVariables{
    TrustVariable{"AWS_CA_BUNDLE", kTrustBundle},
    TrustVariable{"CARGO_HTTP_CAINFO", kTrustBundle},
    TrustVariable{"CURL_CA_BUNDLE", kTrustBundle},
    TrustVariable{"DENO_CERT", kRunAuthority},
    TrustVariable{"GIT_SSL_CAINFO", kTrustBundle},
    TrustVariable{"NODE_EXTRA_CA_CERTS", kRunAuthority},
    TrustVariable{"PIP_CERT", kTrustBundle},
    TrustVariable{"REQUESTS_CA_BUNDLE", kTrustBundle},
    TrustVariable{"SSL_CERT_FILE", kTrustBundle},
    TrustVariable{"npm_config_cafile", kTrustBundle},
};

}  // namespace

bool is_java_store(std::string_view path) { return path.ends_with("/cacerts"); }

void add_trust_variables(const std::string& directory, Plan& plan) {
  for (const TrustVariable& variable : kTrustVariables) {
    const std::string prefix = std::string(variable.name) + "=";
    const auto chosen = std::ranges::find_if(
        plan.environment, [&](const std::string& one) { return one.starts_with(prefix); });
    if (chosen == plan.environment.end()) {
      plan.environment.push_back(prefix + join(directory, variable.file));
    } else {
      plan.reductions.push_back({"trust", std::string(variable.name), chosen->substr(prefix.size()),
                                 Reduction::Because::Narrowed});
    }
  }
}

void note_missing_trust(const PlanRequest& request, Plan& plan) {
  if (!request.trust_source.empty()) return;
  plan.reductions.push_back(
      {"trust", "the host's certificates", std::nullopt, Reduction::Because::Nonexistent});
}

}  // namespace cordon
