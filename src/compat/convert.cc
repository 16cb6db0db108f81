#include "compat/convert.h"

#include "compat/dialect/foreign_table.h"
#include "compat/mxc/mxc_document.h"
#include "config/node.h"

namespace cordon {
namespace {

Result<Imported> import_mxc(const Node& document, const std::string& file, const Places& places) {
  CORDON_TRY(request, read_mxc_request(document, file, places));
  request.losses.push_back({"process.commandLine", "a policy names no command"});
  if (!request.cwd.empty()) {
    request.losses.push_back({"process.cwd", "a policy names no directory to start in"});
  }
  return Imported{std::move(request.policy), std::move(request.losses)};
}

}  // namespace

Result<Imported> import_policy(Dialect dialect, const Node& document, const std::string& file,
                               const Places& places, std::span<const std::string> dropped) {
  Restrictions restrictions(dropped);
  const auto read = [&]() -> Result<Imported> {
    switch (dialect) {
      case Dialect::Mxc:
        return import_mxc(document, file, places);
      case Dialect::Srt:
        return import_srt(document, file, places);
      case Dialect::SafeClaw:
        return import_safeclaw(document, file, places, restrictions);
    }
    return fail(usage_error("unknown dialect"));
  };
  CORDON_TRY(imported, read());
  CORDON_TRY(given_up, restrictions.settle(name_of(dialect)));
  imported.losses.insert(imported.losses.end(), given_up.begin(), given_up.end());
  return imported;
}

Result<Exported> export_policy(Dialect dialect, const Policy& policy, const Places& places,
                               std::span<const std::string> dropped) {
  Restrictions restrictions(dropped);
  Exporter exporter{policy, places, restrictions, {}};
  const auto write = [&]() -> Result<Node> {
    switch (dialect) {
      case Dialect::Mxc:
        return export_mxc(exporter);
      case Dialect::Srt:
        return export_srt(exporter);
      case Dialect::SafeClaw:
        return export_safeclaw(exporter);
    }
    return fail(usage_error("unknown dialect"));
  };
  CORDON_TRY(document, write());
  CORDON_TRY(given_up, restrictions.settle(name_of(dialect)));
  exporter.losses.insert(exporter.losses.end(), given_up.begin(), given_up.end());
  return Exported{std::move(document), std::move(exporter.losses)};
}

}  // namespace cordon
