// A policy as settings of sandbox-runtime: the whole disk is closed for reading and the grants are
// opened again.
#include <algorithm>

#include "base/path.h"
#include "compat/dialect/foreign_table.h"
#include "config/node.h"

namespace cordon {
namespace {

bool inside_any(const std::vector<std::string>& roots, const std::string& path) {
  return std::any_of(roots.begin(), roots.end(),
                     [&](const std::string& root) { return contains(root, path); });
}

Result<std::vector<std::string>> looked_up(const std::vector<std::string>& paths,
                                           const Places& places) {
  std::vector<std::string> out;
  for (const std::string& path : paths) {
    CORDON_TRY(real, places.real(path));
    out.push_back(std::move(real));
  }
  return out;
}

}  // namespace

Result<Node> export_srt(Exporter& out) {
  CORDON_TRY(paths, plain_paths(out));
  for (const auto* list : {&paths.read, &paths.write}) {
    for (const std::string& path : *list) {
      if (is_glob(path)) return fail(policy_error("path " + shown(path) + " holds a wildcard"));
    }
  }
  out.restrictions.give_up("fs.scratch", "temporary files lie in the host's /tmp");
  out.restrictions.give_up("env", "the whole environment of the caller is passed on");
  give_up_limits(out, false);
  lose_what_is_ours(out);
  CORDON_TRY(writable, looked_up(paths.write, out.places));
  CORDON_TRY(readable, looked_up(paths.read, out.places));
  const bool whole_disk = std::find(readable.begin(), readable.end(), "/") != readable.end();
  std::vector<std::string> deny_read = paths.deny;
  std::vector<std::string> allow_read;
  if (!whole_disk) {
    deny_read.insert(deny_read.begin(), "/");
    // There the longer entry wins, and of two for one path the one that opens it; here a deny does.
    CORDON_TRY(denied, looked_up(paths.deny, out.places));
    const auto open = [&](const std::vector<std::string>& named,
                          const std::vector<std::string>& real) {
      for (std::size_t i = 0; i < named.size(); ++i) {
        if (!inside_any(denied, real[i])) allow_read.push_back(named[i]);
      }
    };
    open(paths.read, readable);
    open(paths.write, writable);
    out.lose("fs.read", "what programs need to start is left out: add it to allowRead");
  }
  std::vector<std::string> deny_write = paths.deny;
  for (std::size_t i = 0; i < paths.read.size(); ++i) {
    if (inside_any(writable, readable[i])) deny_write.push_back(paths.read[i]);
  }
  CORDON_TRY(unwritable, looked_up(deny_write, out.places));
  for (std::size_t i = 0; i < paths.write.size(); ++i) {
    if (inside_any(unwritable, writable[i])) {
      out.lose("fs.write", shown(paths.write[i]) + " lies in a path that must not be written");
    }
  }
  const Domains domains = to_domains(out);
  Node network;
  network.set("allowedDomains", text_nodes(domains.allowed))
      .set("deniedDomains", text_nodes(domains.denied))
      .set("strictAllowlist", Node(true));
  Node filesystem;
  filesystem.set("denyRead", text_nodes(deny_read))
      .set("allowRead", text_nodes(allow_read))
      .set("allowWrite", text_nodes(paths.write))
      .set("denyWrite", text_nodes(deny_write));
  Node document;
  document.set("network", std::move(network)).set("filesystem", std::move(filesystem));
  return document;
}

}  // namespace cordon
